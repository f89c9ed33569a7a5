//! libibverbs' functions, as far as they touch a device. The others (names of things,
//! conversions) are libibverbs' own.
//!
//! # Safety of all of them
//! A program hands in what it got from here, and not after it gave that back; pointers are
//! good for what the verbs say.

mod addresses;
mod completions;
mod devices;
mod memory;
mod pairs;
mod shared_receives;

pub use completions::{poll_cq, req_notify_cq};
pub use devices::query_port_extended;
pub use memory::{alloc_mw, bind_mw, dealloc_mw};
pub use pairs::{post_recv, post_send};
pub use shared_receives::post_srq_recv;

use std::ffi::c_int;

/// The default P_Key, in network order.
const PKEY: u16 = 0xFFFF;

/// Sets `errno`.
fn fail(error: c_int) {
    // SAFETY: the thread's own.
    unsafe { *libc::__errno_location() = error };
}

/// A pointer, or NULL with `errno`.
fn pointer<T>(result: Result<*mut T, c_int>) -> *mut T {
    result.unwrap_or_else(|error| {
        fail(error);
        std::ptr::null_mut()
    })
}

/// 0, or the error number, which is in `errno` too.
fn number(result: Result<(), c_int>) -> c_int {
    match result {
        Ok(()) => 0,
        Err(error) => {
            fail(error);
            error
        }
    }
}

/// 0, or -1 with `errno`.
fn minus(result: Result<(), c_int>) -> c_int {
    -c_int::from(number(result) != 0)
}

/// Stores what went wrong, as the post calls do.
unsafe fn posted<T>(result: Result<(), (*mut T, c_int)>, bad: *mut *mut T) -> c_int {
    match result {
        Ok(()) => 0,
        Err((request, error)) => {
            if !bad.is_null() {
                // SAFETY: the program gives a place for it.
                unsafe { *bad = request };
            }
            error
        }
    }
}
