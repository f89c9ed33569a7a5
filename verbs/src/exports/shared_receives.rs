//! Shared receive queues.

use super::memory::domain;
use super::{number, pointer, posted};

use std::ffi::c_int;
use std::sync::atomic::Ordering;
use std::sync::Arc;

use crate::device::nic_of;
use crate::ffi::*;
use crate::nic::lock;
use crate::pair::{MAX_REQUESTS, MAX_SGE};
use crate::receives::{SharedObject, SharedQueue};

#[no_mangle]
pub unsafe extern "C" fn ibv_create_srq(pd: *mut ibv_pd, init: *mut ibv_srq_init_attr) -> *mut ibv_srq {
    // SAFETY: see the module's page.
    pointer(unsafe {
        let attr = &mut (*init).attr;
        if attr.max_wr == 0 || attr.max_wr > MAX_REQUESTS || attr.max_sge > MAX_SGE {
            return pointer(Err(libc::EINVAL));
        }
        SharedQueue::new(nic_of((*pd).context), domain(pd), attr.max_wr).map(|shared| {
            (attr.max_wr, attr.max_sge) = (shared.entries as u32, MAX_SGE);
            let mut ibv: ibv_srq = std::mem::zeroed();
            (ibv.context, ibv.srq_context, ibv.pd) = ((*pd).context, (*init).srq_context, pd);
            Box::into_raw(Box::new(SharedObject { ibv, shared: Arc::new(shared) })).cast()
        })
    })
}

pub(super) unsafe fn shared_of<'a>(srq: *mut ibv_srq) -> &'a Arc<SharedQueue> {
    // SAFETY: see the module's page.
    unsafe { &(*srq.cast::<SharedObject>()).shared }
}

/// Neither size nor limit: the NIC has no event for the latter.
#[no_mangle]
pub extern "C" fn ibv_modify_srq(_: *mut ibv_srq, _: *mut ibv_srq_attr, mask: c_int) -> c_int {
    match mask {
        0 => 0,
        _ => number(Err(libc::EOPNOTSUPP)),
    }
}

#[no_mangle]
pub unsafe extern "C" fn ibv_query_srq(srq: *mut ibv_srq, attr: *mut ibv_srq_attr) -> c_int {
    // SAFETY: see the module's page.
    unsafe {
        let max_wr = shared_of(srq).entries as u32;
        *attr = ibv_srq_attr { max_wr, max_sge: MAX_SGE, srq_limit: 0 };
    }
    0
}

#[no_mangle]
pub unsafe extern "C" fn ibv_destroy_srq(srq: *mut ibv_srq) -> c_int {
    // SAFETY: see the module's page.
    unsafe {
        if shared_of(srq).users.load(Ordering::Relaxed) != 0 {
            return number(Err(libc::EBUSY));
        }
        let object = Box::from_raw(srq.cast::<SharedObject>());
        lock(&object.shared.member).take();
    }
    0
}

pub unsafe extern "C" fn post_srq_recv(
    srq: *mut ibv_srq,
    wr: *mut ibv_recv_wr,
    bad: *mut *mut ibv_recv_wr,
) -> c_int {
    // SAFETY: see the module's page.
    unsafe { posted(shared_of(srq).post(nic_of((*srq).context), wr), bad) }
}
