//! Devices, ports, GIDs and keys.

use super::{minus, number, pointer, PKEY};

use std::ffi::{c_char, c_int, c_uint};

use libc::{size_t, ssize_t};

use crate::device::{self, nic_of};
use crate::ffi::*;
use crate::nic::nic;

#[no_mangle]
pub unsafe extern "C" fn ibv_get_device_list(count: *mut c_int) -> *mut *mut ibv_device {
    let found = crate::nic::identity().is_some();
    if !count.is_null() {
        // SAFETY: the program's number.
        unsafe { *count = c_int::from(found) };
    }
    // SAFETY: two places, both written.
    unsafe {
        let list = libc::calloc(2, size_of::<*mut ibv_device>()).cast::<*mut ibv_device>();
        if !list.is_null() && found {
            *list = device::device();
        }
        list
    }
}

#[no_mangle]
pub unsafe extern "C" fn ibv_free_device_list(list: *mut *mut ibv_device) {
    // SAFETY: made above.
    unsafe { libc::free(list.cast()) };
}

#[no_mangle]
pub unsafe extern "C" fn ibv_get_device_name(device: *mut ibv_device) -> *const c_char {
    // SAFETY: the only device.
    unsafe { (*device).name.as_ptr() }
}

#[no_mangle]
pub extern "C" fn ibv_get_device_index(_: *mut ibv_device) -> c_int {
    -1
}

#[no_mangle]
pub extern "C" fn ibv_get_device_guid(_: *mut ibv_device) -> u64 {
    device::guid()
}

#[no_mangle]
pub extern "C" fn ibv_fork_init() -> c_int {
    0
}

/// No page is pinned or moved: a fork does no harm.
#[no_mangle]
pub extern "C" fn ibv_is_fork_initialized() -> c_uint {
    2
}

#[no_mangle]
pub extern "C" fn ibv_open_device(_: *mut ibv_device) -> *mut ibv_context {
    pointer(nic().and_then(device::open))
}

#[no_mangle]
pub unsafe extern "C" fn ibv_close_device(context: *mut ibv_context) -> c_int {
    // SAFETY: see the module's page.
    unsafe { device::close(context) };
    0
}

#[no_mangle]
pub extern "C" fn ibv_import_device(_: c_int) -> *mut ibv_context {
    pointer(Err(libc::EOPNOTSUPP))
}

#[no_mangle]
pub extern "C" fn ibv_import_pd(_: *mut ibv_context, _: u32) -> *mut ibv_pd {
    pointer(Err(libc::EOPNOTSUPP))
}

#[no_mangle]
pub extern "C" fn ibv_import_mr(_: *mut ibv_pd, _: u32) -> *mut ibv_mr {
    pointer(Err(libc::EOPNOTSUPP))
}

#[no_mangle]
pub unsafe extern "C" fn ibv_query_device(context: *mut ibv_context, attr: *mut ibv_device_attr) -> c_int {
    // SAFETY: see the module's page.
    unsafe { *attr = device::attributes(nic_of(context)) };
    0
}

/// Where a program was built for a shorter structure than today's.
#[no_mangle]
pub unsafe extern "C" fn ibv_query_port(
    context: *mut ibv_context,
    port: u8,
    attr: *mut ibv_port_attr,
) -> c_int {
    let known = std::mem::offset_of!(ibv_port_attr, flags);
    // SAFETY: see the module's page; what is behind `link_layer` may not be there.
    unsafe { query_port_extended(context, port, attr, known) }
}

pub unsafe extern "C" fn query_port_extended(
    context: *mut ibv_context,
    port: u8,
    attr: *mut ibv_port_attr,
    room: size_t,
) -> c_int {
    if port != 1 {
        return number(Err(libc::EINVAL));
    }
    // SAFETY: see the module's page.
    unsafe { device::put(&device::port(nic_of(context)), attr.cast(), room) };
    0
}

#[no_mangle]
pub unsafe extern "C" fn ibv_query_gid(
    context: *mut ibv_context,
    port: u8,
    index: c_int,
    out: *mut ibv_gid,
) -> c_int {
    let index = usize::try_from(index).unwrap_or(usize::MAX);
    // SAFETY: see the module's page.
    minus(unsafe { device::gid(nic_of(context), port.into(), index).map(|gid| *out = gid) })
}

#[no_mangle]
pub unsafe extern "C" fn _ibv_query_gid_ex(
    context: *mut ibv_context,
    port: u32,
    index: u32,
    out: *mut ibv_gid_entry,
    flags: u32,
    room: size_t,
) -> c_int {
    if flags != 0 {
        return number(Err(libc::EOPNOTSUPP));
    }
    // SAFETY: see the module's page.
    number(unsafe {
        device::gid_entry(nic_of(context), port, index).map(|entry| device::put(&entry, out.cast(), room))
    })
}

#[no_mangle]
pub unsafe extern "C" fn _ibv_query_gid_table(
    context: *mut ibv_context,
    out: *mut ibv_gid_entry,
    most: size_t,
    flags: u32,
    room: size_t,
) -> ssize_t {
    if flags != 0 {
        return -(libc::EOPNOTSUPP as ssize_t);
    }
    // SAFETY: see the module's page.
    let nic = unsafe { nic_of(context) };
    let count = nic.context.gids().len();
    if count > most {
        return -(libc::EINVAL as ssize_t);
    }
    for index in 0..count {
        let Ok(entry) = device::gid_entry(nic, 1, index as u32) else { continue };
        // SAFETY: there is room for so many of this size.
        unsafe { device::put(&entry, out.cast::<u8>().add(index * room).cast(), room) };
    }
    count as ssize_t
}

/// Of sysfs' types, RoCE v2 is number 1.
#[no_mangle]
pub unsafe extern "C" fn ibv_query_gid_type(
    context: *mut ibv_context,
    port: u8,
    index: c_uint,
    out: *mut c_uint,
) -> c_int {
    // SAFETY: see the module's page.
    minus(unsafe { device::gid(nic_of(context), port.into(), index as usize).map(|_| *out = 1) })
}

#[no_mangle]
pub unsafe extern "C" fn ibv_query_pkey(_: *mut ibv_context, port: u8, index: c_int, out: *mut u16) -> c_int {
    if port != 1 || index != 0 {
        return minus(Err(libc::EINVAL));
    }
    // SAFETY: see the module's page.
    unsafe { *out = PKEY.to_be() };
    0
}

#[no_mangle]
pub extern "C" fn ibv_get_pkey_index(_: *mut ibv_context, port: u8, pkey: u16) -> c_int {
    if port == 1 && pkey == PKEY.to_be() {
        0
    } else {
        minus(Err(libc::EINVAL))
    }
}

/// Nothing happens to this device that programs could be told of: it waits for good.
#[no_mangle]
pub unsafe extern "C" fn ibv_get_async_event(context: *mut ibv_context, _: *mut ibv_async_event) -> c_int {
    let mut count = 0u64;
    // SAFETY: the descriptor is the context's; eight bytes' place.
    unsafe { libc::read((*context).async_fd, (&raw mut count).cast(), size_of::<u64>()) };
    -1
}

#[no_mangle]
pub extern "C" fn ibv_ack_async_event(_: *mut ibv_async_event) {}
