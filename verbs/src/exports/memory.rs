//! Protection domains, memory regions; memory windows are refused.

use super::{fail, number, pointer};

use std::ffi::{c_int, c_uint, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use libc::size_t;

use crate::device::nic_of;
use crate::ffi::*;
use crate::memory::{self, Domain, DomainObject, RegionObject};
use crate::nic::lock;

#[no_mangle]
pub unsafe extern "C" fn ibv_alloc_pd(context: *mut ibv_context) -> *mut ibv_pd {
    // SAFETY: see the module's page.
    let pd = unsafe { nic_of(context) }.context.alloc_pd();
    let domain = Arc::new(Domain { pd, objects: AtomicUsize::new(0), carrier: Mutex::default() });
    Box::into_raw(Box::new(DomainObject { ibv: ibv_pd { context, handle: 0 }, domain })).cast()
}

#[no_mangle]
pub unsafe extern "C" fn ibv_dealloc_pd(pd: *mut ibv_pd) -> c_int {
    // SAFETY: see the module's page.
    unsafe {
        if domain(pd).objects.load(Ordering::Relaxed) != 0 {
            return number(Err(libc::EBUSY));
        }
        drop(Box::from_raw(pd.cast::<DomainObject>()));
    }
    0
}

pub(super) unsafe fn domain<'a>(pd: *mut ibv_pd) -> &'a Arc<Domain> {
    // SAFETY: see the module's page.
    unsafe { &(*pd.cast::<DomainObject>()).domain }
}

#[no_mangle]
pub unsafe extern "C" fn ibv_reg_mr(
    pd: *mut ibv_pd,
    addr: *mut c_void,
    length: size_t,
    access: c_int,
) -> *mut ibv_mr {
    // SAFETY: see the module's page.
    pointer(unsafe {
        let context = (*pd).context;
        memory::register(nic_of(context), context, (pd, domain(pd)), (addr, length), access as c_uint)
    })
}

#[no_mangle]
pub unsafe extern "C" fn ibv_reg_mr_iova2(
    pd: *mut ibv_pd,
    addr: *mut c_void,
    length: size_t,
    iova: u64,
    access: c_uint,
) -> *mut ibv_mr {
    if iova != addr as u64 {
        return pointer(Err(libc::EOPNOTSUPP));
    }
    // SAFETY: see the module's page.
    unsafe { ibv_reg_mr(pd, addr, length, access as c_int) }
}

#[no_mangle]
pub unsafe extern "C" fn ibv_reg_mr_iova(
    pd: *mut ibv_pd,
    addr: *mut c_void,
    length: size_t,
    iova: u64,
    access: c_int,
) -> *mut ibv_mr {
    // SAFETY: see the module's page.
    unsafe { ibv_reg_mr_iova2(pd, addr, length, iova, access as c_uint) }
}

#[no_mangle]
pub extern "C" fn ibv_reg_dmabuf_mr(
    _: *mut ibv_pd,
    _: u64,
    _: size_t,
    _: u64,
    _: c_int,
    _: c_int,
) -> *mut ibv_mr {
    pointer(Err(libc::EOPNOTSUPP))
}

#[no_mangle]
pub extern "C" fn ibv_rereg_mr(
    _: *mut ibv_mr,
    _: c_int,
    _: *mut ibv_pd,
    _: *mut c_void,
    _: size_t,
    _: c_int,
) -> c_int {
    fail(libc::EOPNOTSUPP);
    // Of this call's numbers: the input is wrong, and the region as it was.
    -1
}

#[no_mangle]
pub unsafe extern "C" fn ibv_dereg_mr(mr: *mut ibv_mr) -> c_int {
    // SAFETY: see the module's page.
    unsafe {
        let object = Box::from_raw(mr.cast::<RegionObject>());
        if let Some(region) = nic_of(object.ibv.context).remove_region(object.ibv.lkey) {
            lock(&region.member).take();
        }
    }
    0
}

pub unsafe extern "C" fn alloc_mw(_: *mut ibv_pd, _: c_uint) -> *mut c_void {
    pointer(Err(libc::EOPNOTSUPP))
}

pub unsafe extern "C" fn bind_mw(_: *mut ibv_qp, _: *mut c_void, _: *mut c_void) -> c_int {
    libc::EOPNOTSUPP
}

pub unsafe extern "C" fn dealloc_mw(_: *mut c_void) -> c_int {
    libc::EOPNOTSUPP
}
