//! A verbs program with many RC connections of one NIC with itself, which `tessera bench`
//! runs and times: it says `ready` when they are joined, `done` when the messages are
//! through, and waits each time for a line.
//!
//! ```text
//! rc_connections CONNECTIONS MESSAGES own|shared
//! ```
//!
//! `own`: each connection posts a receive before it sends. `shared`: receives come from one
//! shared receive queue. Sixty-four messages are under way at a time, each on the next
//! connection. It calls the library as C programs do, without preloading.

use std::ffi::{c_int, c_void};
use std::io::{BufRead, Write};
use std::mem::zeroed;
use std::ptr::null_mut;

use tessera_verbs::ffi::{
    ibv_context, ibv_cq, ibv_device, ibv_gid, ibv_mr, ibv_pd, ibv_qp, ibv_qp_attr, ibv_qp_init_attr,
    ibv_recv_wr, ibv_send_wr, ibv_sge, ibv_srq, ibv_srq_init_attr, ibv_wc,
};

extern "C" {
    fn ibv_get_device_list(count: *mut c_int) -> *mut *mut ibv_device;
    fn ibv_open_device(device: *mut ibv_device) -> *mut ibv_context;
    fn ibv_query_gid(context: *mut ibv_context, port: u8, index: c_int, gid: *mut ibv_gid) -> c_int;
    fn ibv_alloc_pd(context: *mut ibv_context) -> *mut ibv_pd;
    fn ibv_reg_mr(pd: *mut ibv_pd, address: *mut c_void, length: usize, access: c_int) -> *mut ibv_mr;
    fn ibv_create_cq(
        context: *mut ibv_context,
        entries: c_int,
        of: *mut c_void,
        channel: *mut c_void,
        vector: c_int,
    ) -> *mut ibv_cq;
    fn ibv_create_srq(pd: *mut ibv_pd, init: *mut ibv_srq_init_attr) -> *mut ibv_srq;
    fn ibv_create_qp(pd: *mut ibv_pd, init: *mut ibv_qp_init_attr) -> *mut ibv_qp;
    fn ibv_modify_qp(qp: *mut ibv_qp, attr: *mut ibv_qp_attr, mask: c_int) -> c_int;
}

const UNDER_WAY: usize = 64;
const LEN: usize = 64;
const QPT_RC: u32 = 2;
const WC_RECV: u32 = 1 << 7;
const WR_SEND: u32 = 2;
const LOCAL_WRITE: c_int = 1;
/// State and port; address, path MTU and peer; all with the state.
const TO_INIT: c_int = 1 | 1 << 5;
const TO_RTR: c_int = 1 | 1 << 7 | 1 << 8 | 1 << 20;
const TO_RTS: c_int = 1 | 1 << 11;

type Failed = Box<dyn std::error::Error>;

fn made<T>(what: &str, object: *mut T) -> Result<*mut T, Failed> {
    if object.is_null() {
        return Err(format!("{what}: {}", std::io::Error::last_os_error()).into());
    }
    Ok(object)
}

fn done(what: &str, error: c_int) -> Result<(), Failed> {
    match error {
        0 => Ok(()),
        error => Err(format!("{what}: {}", std::io::Error::from_raw_os_error(error)).into()),
    }
}

/// Says a word and waits for a line.
fn say(word: &str) -> Result<(), Failed> {
    println!("{word}");
    std::io::stdout().flush()?;
    std::io::stdin().lock().read_line(&mut String::new())?;
    Ok(())
}

/// What all connections share.
struct Shared {
    pd: *mut ibv_pd,
    cq: *mut ibv_cq,
    gid: ibv_gid,
    region: *mut ibv_mr,
    srq: *mut ibv_srq,
    start: *mut u8,
}

impl Shared {
    unsafe fn create(&self, srq: *mut ibv_srq) -> Result<*mut ibv_qp, Failed> {
        // SAFETY: numbers and pointers, for which zero is good.
        let mut init: ibv_qp_init_attr = unsafe { zeroed() };
        (init.send_cq, init.recv_cq, init.srq, init.qp_type) = (self.cq, self.cq, srq, QPT_RC);
        init.sq_sig_all = 1;
        (init.cap.max_send_wr, init.cap.max_recv_wr) = (UNDER_WAY as u32, UNDER_WAY as u32);
        (init.cap.max_send_sge, init.cap.max_recv_sge) = (1, 1);
        // SAFETY: all of it lives.
        made("ibv_create_qp", unsafe { ibv_create_qp(self.pd, &mut init) })
    }

    unsafe fn join(&self, qp: *mut ibv_qp, peer: *mut ibv_qp) -> Result<(), Failed> {
        // SAFETY: numbers, for which zero is good; the pairs live.
        unsafe {
            let mut attr: ibv_qp_attr = zeroed();
            (attr.qp_state, attr.port_num) = (1, 1);
            done("to INIT", ibv_modify_qp(qp, &mut attr, TO_INIT))?;
            (attr.qp_state, attr.path_mtu, attr.dest_qp_num) = (2, 3, (*peer).qp_num);
            (attr.ah_attr.is_global, attr.ah_attr.grh.dgid) = (1, self.gid);
            done("to RTR", ibv_modify_qp(qp, &mut attr, TO_RTR))?;
            (attr.qp_state, attr.rnr_retry) = (3, 7);
            done("to RTS", ibv_modify_qp(qp, &mut attr, TO_RTS))
        }
    }

    fn part(&self, at: usize) -> ibv_sge {
        // SAFETY: the region lives.
        let lkey = unsafe { (*self.region).lkey };
        ibv_sge { addr: self.start as u64 + at as u64, length: LEN as u32, lkey }
    }

    /// A receive of a pair's own, or of the shared queue.
    unsafe fn receive(&self, qp: *mut ibv_qp, slot: usize) -> Result<(), Failed> {
        let mut part = self.part((UNDER_WAY + slot) * LEN);
        let mut wr = ibv_recv_wr { wr_id: slot as u64, next: null_mut(), sg_list: &mut part, num_sge: 1 };
        let mut bad = null_mut();
        // SAFETY: all of it lives; the device has both functions.
        unsafe {
            let ops = &(*(*self.cq).context).ops;
            let error = match (self.srq.is_null(), ops.post_srq_recv, ops.post_recv) {
                (false, Some(post), _) => post(self.srq, &mut wr, &mut bad),
                (true, _, Some(post)) => post(qp, &mut wr, &mut bad),
                _ => libc::ENOSYS,
            };
            done("a receive", error)
        }
    }

    unsafe fn send(&self, qp: *mut ibv_qp, slot: usize) -> Result<(), Failed> {
        let mut part = self.part(slot * LEN);
        // SAFETY: numbers and pointers, for which zero is good.
        let mut wr: ibv_send_wr = unsafe { zeroed() };
        (wr.wr_id, wr.sg_list, wr.num_sge, wr.opcode) = (slot as u64, &mut part, 1, WR_SEND);
        let mut bad = null_mut();
        // SAFETY: all of it lives.
        unsafe {
            let post = (*(*self.cq).context).ops.post_send.ok_or("no post_send")?;
            done("a send", post(qp, &mut wr, &mut bad))
        }
    }
}

fn main() -> Result<(), Failed> {
    let arguments: Vec<String> = std::env::args().collect();
    let usage = "usage: rc_connections CONNECTIONS MESSAGES own|shared";
    let [_, connections, messages, kind] = &arguments[..] else { return Err(usage.into()) };
    let (connections, messages): (usize, usize) = (connections.parse()?, messages.parse()?);
    let mut memory = vec![0x5Au8; 2 * UNDER_WAY * LEN];
    // SAFETY: verbs calls as their manual pages say; what they make lives to the end.
    unsafe {
        let list = made("ibv_get_device_list", ibv_get_device_list(null_mut()))?;
        let context = made("ibv_open_device", ibv_open_device(made("a device", *list)?))?;
        let mut gid = zeroed();
        done("ibv_query_gid", ibv_query_gid(context, 1, 0, &mut gid))?;
        let pd = made("ibv_alloc_pd", ibv_alloc_pd(context))?;
        let cq = made("ibv_create_cq", ibv_create_cq(context, 4096, null_mut(), null_mut(), 0))?;
        let start = memory.as_mut_ptr();
        let region = made("ibv_reg_mr", ibv_reg_mr(pd, start.cast(), memory.len(), LOCAL_WRITE))?;
        let srq = match kind.as_str() {
            "own" => null_mut(),
            "shared" => {
                let mut init: ibv_srq_init_attr = zeroed();
                (init.attr.max_wr, init.attr.max_sge) = (2 * UNDER_WAY as u32, 1);
                made("ibv_create_srq", ibv_create_srq(pd, &mut init))?
            }
            _ => return Err(usage.into()),
        };
        let shared = Shared { pd, cq, gid, region, srq, start };
        let mut pairs = Vec::with_capacity(connections);
        for _ in 0..connections {
            let (from, to) = (shared.create(null_mut())?, shared.create(srq)?);
            shared.join(from, to)?;
            shared.join(to, from)?;
            pairs.push((from, to));
        }
        say("ready")?;
        let (mut posted, mut ended, mut received) = (0, 0, 0);
        // Slots whose message is through; each has its receive posted with it.
        let mut free: Vec<usize> = (0..UNDER_WAY).collect();
        let poll = (*context).ops.poll_cq.ok_or("no poll_cq")?;
        while received < messages {
            while posted < messages && posted - ended < UNDER_WAY {
                let Some(slot) = free.pop() else { break };
                let (from, to) = pairs[posted % connections];
                shared.receive(to, slot)?;
                shared.send(from, slot)?;
                posted += 1;
            }
            let mut wc: [ibv_wc; 64] = zeroed();
            let got = poll(cq, wc.len() as c_int, wc.as_mut_ptr());
            let got = usize::try_from(got).map_err(|_| "ibv_poll_cq failed")?;
            for wc in &wc[..got] {
                if wc.status != 0 {
                    return Err(format!("request {} ended with status {}", wc.wr_id, wc.status).into());
                }
                if wc.opcode != WC_RECV {
                    ended += 1;
                } else if wc.byte_len as usize == LEN {
                    received += 1;
                    free.push(wc.wr_id as usize);
                }
            }
        }
        say("done")?;
        // The memory is there until the NIC is closed, which is when the process ends.
        std::mem::forget(memory);
    }
    Ok(())
}
