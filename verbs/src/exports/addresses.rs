//! Address handles.

use super::memory::domain;
use super::{minus, pointer};

use std::ffi::c_int;

use tessera_abi::wire::{ipv4_gid, GRH_LEN};
use tessera_driver::AddressHandle;

use crate::device::nic_of;
use crate::ffi::*;
use crate::memory::Member;
use crate::nic::say;
use crate::pair::HandleObject;

#[no_mangle]
pub unsafe extern "C" fn ibv_create_ah(pd: *mut ibv_pd, attr: *mut ibv_ah_attr) -> *mut ibv_ah {
    // SAFETY: see the module's page.
    pointer(unsafe { create_ah(pd, &*attr) })
}

unsafe fn create_ah(pd: *mut ibv_pd, attr: &ibv_ah_attr) -> Result<*mut ibv_ah, c_int> {
    let gid = attr.grh.dgid.raw;
    // An Ethernet network has nothing but GIDs.
    if attr.is_global == 0 || attr.port_num != 1 {
        return Err(libc::EINVAL);
    }
    let multicast = gid[0] == 0xFF || gid[..12] == ipv4_gid([0; 4])[..12] && gid[12] >> 4 == 0xE;
    if multicast {
        return Err(libc::EOPNOTSUPP);
    }
    // SAFETY: see the module's page.
    let (nic, domain) = unsafe { (nic_of((*pd).context), domain(pd)) };
    let mac = match nic.remote.resolve(gid) {
        Ok(mac) => mac.ok_or(libc::ENETUNREACH)?,
        Err(error) => {
            say(error);
            return Err(libc::EIO);
        }
    };
    let to = AddressHandle {
        traffic_class: attr.grh.traffic_class,
        hop_limit: attr.grh.hop_limit,
        ..AddressHandle::new(mac, gid, 0, 0)
    };
    // SAFETY: see the module's page.
    let ibv = ibv_ah { context: unsafe { (*pd).context }, pd, handle: 0 };
    Ok(Box::into_raw(Box::new(HandleObject { ibv, to, member: Member::of(domain) })).cast())
}

/// The address that a datagram came from: of what is in front of it.
#[no_mangle]
pub unsafe extern "C" fn ibv_init_ah_from_wc(
    _: *mut ibv_context,
    port: u8,
    wc: *mut ibv_wc,
    grh: *mut ibv_grh,
    attr: *mut ibv_ah_attr,
) -> c_int {
    // SAFETY: see the module's page; what is in front of a datagram is forty bytes.
    let (header, flags) = unsafe { (*grh.cast::<[u8; GRH_LEN]>(), (*wc).wc_flags) };
    if flags & 1 == 0 {
        return minus(Err(libc::EINVAL));
    }
    let mut gid = [0; 16];
    let traffic_class;
    if header[0] >> 4 == 6 {
        gid.copy_from_slice(&header[8..24]);
        traffic_class = header[0] << 4 | header[1] >> 4;
    } else {
        gid = ipv4_gid(std::array::from_fn(|i| header[32 + i]));
        traffic_class = header[21];
    }
    // SAFETY: numbers, for which zero is good; the program's place.
    unsafe {
        let mut made: ibv_ah_attr = std::mem::zeroed();
        made.grh.dgid.raw = gid;
        (made.grh.hop_limit, made.grh.traffic_class) = (64, traffic_class);
        made.grh.sgid_index = u8::from(header[0] >> 4 == 6);
        (made.is_global, made.port_num) = (1, port);
        *attr = made;
    }
    0
}

#[no_mangle]
pub unsafe extern "C" fn ibv_create_ah_from_wc(
    pd: *mut ibv_pd,
    wc: *mut ibv_wc,
    grh: *mut ibv_grh,
    port: u8,
) -> *mut ibv_ah {
    // SAFETY: see the module's page.
    unsafe {
        let mut attr: ibv_ah_attr = std::mem::zeroed();
        if ibv_init_ah_from_wc((*pd).context, port, wc, grh, &raw mut attr) != 0 {
            return std::ptr::null_mut();
        }
        ibv_create_ah(pd, &raw mut attr)
    }
}

#[no_mangle]
pub unsafe extern "C" fn ibv_destroy_ah(ah: *mut ibv_ah) -> c_int {
    // SAFETY: see the module's page.
    drop(unsafe { Box::from_raw(ah.cast::<HandleObject>()) });
    0
}

/// Programs that resolve for themselves get what [`ibv_create_ah`] takes.
#[no_mangle]
pub unsafe extern "C" fn ibv_resolve_eth_l2_from_gid(
    context: *mut ibv_context,
    attr: *mut ibv_ah_attr,
    mac: *mut u8,
    vid: *mut u16,
) -> c_int {
    // SAFETY: see the module's page.
    minus(unsafe {
        match nic_of(context).remote.resolve((*attr).grh.dgid.raw) {
            Ok(Some(found)) => {
                mac.copy_from_nonoverlapping(found.as_ptr(), found.len());
                if !vid.is_null() {
                    *vid = 0xFFFF;
                }
                Ok(())
            }
            Ok(None) => Err(libc::ENETUNREACH),
            Err(_) => Err(libc::EIO),
        }
    })
}
