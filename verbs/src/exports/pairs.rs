//! Queue pairs and what is posted to them.

use super::completions::queue_of;
use super::memory::domain;
use super::shared_receives::shared_of;
use super::{number, pointer, posted};

use std::ffi::{c_int, c_uint, c_void};
use std::sync::atomic::Ordering;
use std::sync::Arc;

use crate::device::nic_of;
use crate::ffi::*;
use crate::nic::{lock, Nic};
use crate::pair::{Kind, Pair, PairObject, Wanted};
use crate::rc::{self, RcPair};

const QPT_RC: c_uint = 2;
const QPT_UD: c_uint = 4;

#[no_mangle]
pub unsafe extern "C" fn ibv_create_qp(pd: *mut ibv_pd, init: *mut ibv_qp_init_attr) -> *mut ibv_qp {
    // SAFETY: see the module's page.
    pointer(unsafe { create_qp(pd, &mut *init) })
}

unsafe fn create_qp(pd: *mut ibv_pd, init: &mut ibv_qp_init_attr) -> Result<*mut ibv_qp, c_int> {
    if ![QPT_RC, QPT_UD].contains(&init.qp_type) {
        return Err(libc::EOPNOTSUPP);
    }
    if init.send_cq.is_null() || init.recv_cq.is_null() {
        return Err(libc::EINVAL);
    }
    // SAFETY: see the module's page.
    unsafe {
        let nic = nic_of((*pd).context);
        let queues = [queue_of(init.send_cq), queue_of(init.recv_cq)];
        let (cap, all_signaled) = (init.cap, init.sq_sig_all != 0);
        let shared = (!init.srq.is_null()).then(|| shared_of(init.srq));
        let pair = if init.qp_type == QPT_RC {
            let wanted = rc::Wanted { queues, shared, cap, all_signaled };
            Kind::Rc(RcPair::create(nic, domain(pd), &wanted)?)
        } else {
            Kind::Ud(Pair::create(nic, domain(pd), &Wanted { queues, shared, cap, all_signaled })?)
        };
        if let Some(shared) = shared {
            shared.users.fetch_add(1, Ordering::Relaxed);
        }
        init.cap = pair.attr().cap;
        let mut ibv: ibv_qp = std::mem::zeroed();
        (ibv.context, ibv.qp_context, ibv.pd) = ((*pd).context, init.qp_context, pd);
        (ibv.send_cq, ibv.recv_cq, ibv.srq) = (init.send_cq, init.recv_cq, init.srq);
        let number = pair.number();
        (ibv.handle, ibv.qp_num, ibv.qp_type) = (number, number, init.qp_type);
        Ok(Box::into_raw(Box::new(PairObject { ibv, pair })).cast())
    }
}

impl Kind {
    fn number(&self) -> u32 {
        match self {
            Self::Ud(pair) => pair.number,
            Self::Rc(pair) => pair.number,
        }
    }

    fn attr(&self) -> ibv_qp_attr {
        match self {
            Self::Ud(pair) => lock(&pair.inside).attr,
            Self::Rc(pair) => pair.attr(),
        }
    }

    fn all_signaled(&self) -> bool {
        match self {
            Self::Ud(pair) => lock(&pair.inside).all_signaled,
            Self::Rc(pair) => pair.all_signaled(),
        }
    }
}

unsafe fn pair_of<'a>(qp: *mut ibv_qp) -> (&'a Arc<Nic>, &'a Kind) {
    // SAFETY: see the module's page.
    unsafe { (nic_of((*qp).context), &(*qp.cast::<PairObject>()).pair) }
}

/// None has more to say than verbs had at first.
#[no_mangle]
pub extern "C" fn ibv_qp_to_qp_ex(_: *mut ibv_qp) -> *mut c_void {
    std::ptr::null_mut()
}

#[no_mangle]
pub unsafe extern "C" fn ibv_modify_qp(qp: *mut ibv_qp, attr: *mut ibv_qp_attr, mask: c_int) -> c_int {
    // SAFETY: see the module's page.
    unsafe {
        let (nic, pair) = pair_of(qp);
        let done = match pair {
            Kind::Ud(pair) => pair.modify(nic, &*attr, mask),
            Kind::Rc(pair) => pair.modify(nic, &*attr, mask),
        };
        (*qp).state = pair.attr().qp_state;
        number(done)
    }
}

#[no_mangle]
pub unsafe extern "C" fn ibv_query_qp(
    qp: *mut ibv_qp,
    attr: *mut ibv_qp_attr,
    _mask: c_int,
    init: *mut ibv_qp_init_attr,
) -> c_int {
    // SAFETY: see the module's page.
    unsafe {
        let (_, pair) = pair_of(qp);
        *attr = pair.attr();
        *init = ibv_qp_init_attr {
            qp_context: (*qp).qp_context,
            send_cq: (*qp).send_cq,
            recv_cq: (*qp).recv_cq,
            srq: (*qp).srq,
            cap: (*attr).cap,
            qp_type: (*qp).qp_type,
            sq_sig_all: pair.all_signaled().into(),
        };
        (*qp).state = (*attr).qp_state;
    }
    0
}

#[no_mangle]
pub unsafe extern "C" fn ibv_destroy_qp(qp: *mut ibv_qp) -> c_int {
    // SAFETY: see the module's page.
    unsafe {
        let (nic, pair) = pair_of(qp);
        match pair {
            Kind::Ud(pair) => pair.destroy(nic),
            Kind::Rc(pair) => pair.destroy(nic),
        }
        if !(*qp).srq.is_null() {
            shared_of((*qp).srq).users.fetch_sub(1, Ordering::Relaxed);
        }
        drop(Box::from_raw(qp.cast::<PairObject>()));
    }
    0
}

pub unsafe extern "C" fn post_send(
    qp: *mut ibv_qp,
    wr: *mut ibv_send_wr,
    bad: *mut *mut ibv_send_wr,
) -> c_int {
    // SAFETY: see the module's page.
    unsafe {
        let (nic, pair) = pair_of(qp);
        let done = match pair {
            Kind::Ud(pair) => pair.post_sends(nic, wr),
            Kind::Rc(pair) => pair.post_sends(nic, wr),
        };
        posted(done, bad)
    }
}

pub unsafe extern "C" fn post_recv(
    qp: *mut ibv_qp,
    wr: *mut ibv_recv_wr,
    bad: *mut *mut ibv_recv_wr,
) -> c_int {
    // SAFETY: see the module's page.
    unsafe {
        let (nic, pair) = pair_of(qp);
        let done = match pair {
            Kind::Ud(pair) => pair.post_receives(nic, wr),
            Kind::Rc(pair) => pair.post_receives(nic, wr),
        };
        posted(done, bad)
    }
}

#[no_mangle]
pub extern "C" fn ibv_attach_mcast(_: *mut ibv_qp, _: *const ibv_gid, _: u16) -> c_int {
    number(Err(libc::EOPNOTSUPP))
}

#[no_mangle]
pub extern "C" fn ibv_detach_mcast(_: *mut ibv_qp, _: *const ibv_gid, _: u16) -> c_int {
    number(Err(libc::EOPNOTSUPP))
}

#[no_mangle]
pub extern "C" fn ibv_query_ece(_: *mut ibv_qp, _: *mut c_void) -> c_int {
    number(Err(libc::EOPNOTSUPP))
}

#[no_mangle]
pub extern "C" fn ibv_set_ece(_: *mut ibv_qp, _: *mut c_void) -> c_int {
    number(Err(libc::EOPNOTSUPP))
}

#[no_mangle]
pub extern "C" fn ibv_query_qp_data_in_order(_: *mut ibv_qp, _: c_uint, _: u32) -> c_int {
    0
}
