//! Files that programs look for, which no kernel has made.
//!
//! UCX uses a device only if its node under `/dev/infiniband` is a character device that
//! may be read and written. For our node these calls tell of `/dev/null`.

use std::ffi::{c_char, c_int, CStr};

use libc::{stat as Stat, AT_FDCWD};

/// Name of the node.
pub const NODE: &str = "tessera_uverbs0";

/// What to look at in place of a path.
unsafe fn real(path: *const c_char) -> *const c_char {
    if path.is_null() {
        return path;
    }
    // SAFETY: the caller gives a path, as the C library wants it.
    let bytes = unsafe { CStr::from_ptr(path) }.to_bytes();
    match bytes.strip_prefix(b"/dev/infiniband/") {
        Some(name) if name == NODE.as_bytes() => c"/dev/null".as_ptr(),
        _ => path,
    }
}

#[no_mangle]
pub unsafe extern "C" fn access(path: *const c_char, mode: c_int) -> c_int {
    // SAFETY: the kernel checks the path.
    unsafe { libc::syscall(libc::SYS_faccessat, AT_FDCWD, real(path), mode) as c_int }
}

#[no_mangle]
pub unsafe extern "C" fn stat(path: *const c_char, out: *mut Stat) -> c_int {
    // SAFETY: the kernel checks both; on 64-bit Linux its structure is the C library's.
    unsafe { libc::syscall(libc::SYS_newfstatat, AT_FDCWD, real(path), out, 0) as c_int }
}

#[no_mangle]
pub unsafe extern "C" fn stat64(path: *const c_char, out: *mut Stat) -> c_int {
    // SAFETY: as above: both structures are one.
    unsafe { stat(path, out) }
}
