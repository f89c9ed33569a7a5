//! A program in Rust that knows ibverbs alone, by the bindings of `ibverbs-sys`: a datagram to
//! itself, over the fabric.
//!
//! `cargo build -p tessera-testbenches --features ibverbs-sys --example verbs_client`, then
//! `cargo tessera run --nics 1 -- target/debug/examples/verbs_client`.

use std::mem::zeroed;
use std::process::ExitCode;
use std::ptr::null_mut;

use ibverbs_sys::*;

const TEXT: &[u8] = b"a datagram from Rust";
const QKEY: u32 = 0x1111_1111;
/// In front of what a UD queue pair receives.
const GRH: usize = 40;

/// What verbs return as a pointer.
fn some<T>(what: &str, pointer: *mut T) -> Result<*mut T, String> {
    let error = std::io::Error::last_os_error();
    (!pointer.is_null()).then_some(pointer).ok_or_else(|| format!("{what}: {error}"))
}

/// What they return as a number.
fn well(what: &str, number: i32) -> Result<(), String> {
    let error = std::io::Error::from_raw_os_error(number.abs());
    (number == 0).then_some(()).ok_or_else(|| format!("{what}: {error}"))
}

/// From RESET to where it sends and receives.
///
/// # Safety
/// `qp` is a UD queue pair.
unsafe fn raise(qp: *mut ibv_qp) -> Result<(), String> {
    // SAFETY: zeros are valid for it.
    let mut attr: ibv_qp_attr = unsafe { zeroed() };
    (attr.qp_state, attr.port_num, attr.qkey) = (ibv_qp_state::IBV_QPS_INIT, 1, QKEY);
    let (state, sq) = (ibv_qp_attr_mask::IBV_QP_STATE, ibv_qp_attr_mask::IBV_QP_SQ_PSN);
    let (pkey, port) = (ibv_qp_attr_mask::IBV_QP_PKEY_INDEX, ibv_qp_attr_mask::IBV_QP_PORT);
    let init = state | pkey | port | ibv_qp_attr_mask::IBV_QP_QKEY;
    let steps = [
        (ibv_qp_state::IBV_QPS_INIT, init),
        (ibv_qp_state::IBV_QPS_RTR, state),
        (ibv_qp_state::IBV_QPS_RTS, state | sq),
    ];
    for (to, mask) in steps {
        attr.qp_state = to;
        // SAFETY: the caller's queue pair.
        well("ibv_modify_qp", unsafe { ibv_modify_qp(qp, &mut attr, mask.0 as i32) })?;
    }
    Ok(())
}

fn run() -> Result<(), String> {
    // SAFETY: verbs as their manual pages have them; every pointer is looked at before it is
    // used, and what is given lives until the end.
    unsafe {
        let list = some("ibv_get_device_list", ibv_get_device_list(null_mut()))?;
        let device = some("no device: run this by `cargo tessera run`", *list)?;
        let context = some("ibv_open_device", ibv_open_device(device))?;
        let pd = some("ibv_alloc_pd", ibv_alloc_pd(context))?;
        let mut memory = vec![0u8; 4096];
        let access = ibv_access_flags::IBV_ACCESS_LOCAL_WRITE.0 as i32;
        let mr = ibv_reg_mr(pd, memory.as_mut_ptr().cast(), memory.len(), access);
        let mr = some("ibv_reg_mr", mr)?;
        let cq = some("ibv_create_cq", ibv_create_cq(context, 16, null_mut(), null_mut(), 0))?;
        let mut init: ibv_qp_init_attr = zeroed();
        (init.send_cq, init.recv_cq, init.qp_type) = (cq, cq, ibv_qp_type::IBV_QPT_UD);
        (init.cap.max_send_wr, init.cap.max_recv_wr) = (4, 4);
        (init.cap.max_send_sge, init.cap.max_recv_sge) = (1, 1);
        let qp = some("ibv_create_qp", ibv_create_qp(pd, &mut init))?;
        raise(qp)?;
        let mut to: ibv_ah_attr = zeroed();
        (to.is_global, to.port_num) = (1, 1);
        well("ibv_query_gid", ibv_query_gid(context, 1, 0, &mut to.grh.dgid))?;
        let ah = some("ibv_create_ah", ibv_create_ah(pd, &mut to))?;

        let start = memory.as_mut_ptr();
        let mut into = ibv_sge { addr: start as u64, length: 1024, lkey: (*mr).lkey };
        let mut receive: ibv_recv_wr = zeroed();
        (receive.wr_id, receive.sg_list, receive.num_sge) = (1, &mut into, 1);
        let ops = &(*context).ops;
        let mut bad = null_mut();
        let post = ops.post_recv.ok_or("no post_recv")?;
        well("ibv_post_recv", post(qp, &mut receive, &mut bad))?;

        let source = start.add(2048);
        source.copy_from_nonoverlapping(TEXT.as_ptr(), TEXT.len());
        let mut from = ibv_sge { addr: source as u64, length: TEXT.len() as u32, lkey: (*mr).lkey };
        let mut send: ibv_send_wr = zeroed();
        (send.wr_id, send.sg_list, send.num_sge) = (2, &mut from, 1);
        (send.opcode, send.send_flags) = (ibv_wr_opcode::IBV_WR_SEND, ibv_send_flags::IBV_SEND_SIGNALED.0);
        send.wr.ud.ah = ah;
        send.wr.ud.remote_qpn = (*qp).qp_num;
        send.wr.ud.remote_qkey = QKEY;
        let mut bad = null_mut();
        let post = ops.post_send.ok_or("no post_send")?;
        well("ibv_post_send", post(qp, &mut send, &mut bad))?;

        let poll = ops.poll_cq.ok_or("no poll_cq")?;
        let mut ended = 0;
        while ended < 2 {
            let mut done = ibv_wc::default();
            match poll(cq, 1, &mut done) {
                0 => continue,
                1 if done.is_valid() => ended += 1,
                1 => return Err(format!("request {} ended: {:?}", done.wr_id(), done.error())),
                other => return Err(format!("ibv_poll_cq: {other}")),
            }
            if done.wr_id() == 1 && done.len() != GRH + TEXT.len() {
                return Err(format!("{} bytes came", done.len()));
            }
        }
        if memory[GRH..GRH + TEXT.len()] != *TEXT {
            return Err("other bytes came than were sent".into());
        }
        well("ibv_destroy_ah", ibv_destroy_ah(ah))?;
        well("ibv_destroy_qp", ibv_destroy_qp(qp))?;
        well("ibv_destroy_cq", ibv_destroy_cq(cq))?;
        well("ibv_dereg_mr", ibv_dereg_mr(mr))?;
        well("ibv_dealloc_pd", ibv_dealloc_pd(pd))?;
        well("ibv_close_device", ibv_close_device(context))?;
        ibv_free_device_list(list);
    }
    Ok(())
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => {
            println!("{} bytes there and back by ibverbs-sys: right", TEXT.len());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
