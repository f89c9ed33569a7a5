//! The device, its contexts and what can be asked of them.

use std::ffi::{c_char, c_int, c_void};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::{Arc, OnceLock};

use libc::size_t;
use tessera_abi::regs;

use crate::exports;
use crate::ffi::{
    ibv_context, ibv_context_ops, ibv_device, ibv_device_attr, ibv_gid, ibv_gid_entry, ibv_port_attr,
    verbs_context,
};
use crate::nic::{identity, Nic};
use crate::pair::{MAX_REQUESTS, MAX_SGE};
use crate::paths::NODE;
use crate::queue::MOST_ENTRIES;
use crate::rc::READS;

const NAME: &str = "tessera0";

const NODE_CA: c_int = 1;
const TRANSPORT_IB: c_int = 0;
const PORT_ACTIVE: u32 = 4;
const MTU_4096: u32 = 5;
const PORT_IP_BASED_GIDS: u32 = 1 << 26;
const WIDTH_4X: u8 = 2;
/// 25 Gb/s a lane: the nearest to the 128 Gb/s of nic512 that verbs have a number for.
const SPEED_EDR: u8 = 32;
const PHYS_LINK_UP: u8 = 5;
/// Atomic among those that come by this NIC.
const ATOMIC_HCA: u32 = 1;
const LINK_LAYER_ETHERNET: u8 = 2;
pub const GID_TYPE_ROCE_V2: u32 = 2;

/// Providers keep structures of their own behind this one: libraries that look for theirs
/// (`mlx5dv_is_supported`) find nothing.
#[repr(C)]
struct Padded {
    device: ibv_device,
    nothing: [u8; 1024],
}

struct Only(Box<Padded>);

// SAFETY: nobody writes it once it is made.
unsafe impl Send for Only {}
// SAFETY: as above.
unsafe impl Sync for Only {}

fn text<const N: usize>(text: &str) -> [c_char; N] {
    let mut chars = [0; N];
    for (place, byte) in chars[..N - 1].iter_mut().zip(text.bytes()) {
        *place = byte as c_char;
    }
    chars
}

/// The only device.
pub fn device() -> *mut ibv_device {
    static DEVICE: OnceLock<Only> = OnceLock::new();
    let make = || {
        let device = ibv_device {
            _ops: [std::ptr::null_mut(); 2],
            node_type: NODE_CA,
            transport_type: TRANSPORT_IB,
            name: text(NAME),
            dev_name: text(NODE),
            dev_path: text(&format!("/sys/class/infiniband_verbs/{NODE}")),
            ibdev_path: text(&format!("/sys/class/infiniband/{NAME}")),
        };
        Only(Box::new(Padded { device, nothing: [0; 1024] }))
    };
    std::ptr::from_ref(&DEVICE.get_or_init(make).0.device).cast_mut()
}

/// The GUID of a NIC, in network order: its MAC address as an EUI-64.
pub fn guid() -> u64 {
    let [a, b, c, d, e, f] = identity().map_or([0; 6], |identity| identity.mac);
    u64::from_ne_bytes([a ^ 2, b, c, 0xFF, 0xFE, d, e, f])
}

/// An open device: what a program has an `ibv_context` of, at its end.
#[repr(C)]
pub struct ContextObject {
    nic: Arc<Nic>,
    _events: OwnedFd,
    verbs: verbs_context,
}

/// The context that a program opens.
pub fn open(nic: Arc<Nic>) -> Result<*mut ibv_context, c_int> {
    // SAFETY: makes a descriptor.
    let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) };
    if fd < 0 {
        return Err(libc::EMFILE);
    }
    // SAFETY: just made, and nobody else's.
    let events = unsafe { OwnedFd::from_raw_fd(fd) };
    // SAFETY: pointers, numbers and absent functions, for which zero is good, and a mutex,
    // which is unlocked then.
    let mut verbs: verbs_context = unsafe { std::mem::zeroed() };
    verbs.query_port = Some(exports::query_port_extended);
    verbs.sz = size_of::<verbs_context>();
    let context = &mut verbs.context;
    context.device = device();
    // SAFETY: as above.
    let mut ops: ibv_context_ops = unsafe { std::mem::zeroed() };
    ops.alloc_mw = Some(exports::alloc_mw);
    ops.bind_mw = Some(exports::bind_mw);
    ops.dealloc_mw = Some(exports::dealloc_mw);
    ops.poll_cq = Some(exports::poll_cq);
    ops.req_notify_cq = Some(exports::req_notify_cq);
    ops.post_srq_recv = Some(exports::post_srq_recv);
    ops.post_send = Some(exports::post_send);
    ops.post_recv = Some(exports::post_recv);
    context.ops = ops;
    context.cmd_fd = -1;
    context.async_fd = events.as_raw_fd();
    context.num_comp_vectors = 1;
    // Says that the context is the end of a verbs_context.
    context.abi_compat = usize::MAX as *mut c_void;
    let object = Box::into_raw(Box::new(ContextObject { nic, _events: events, verbs }));
    // SAFETY: just made.
    Ok(unsafe { &raw mut (*object).verbs.context })
}

/// Where a context's object begins.
fn object(context: *mut ibv_context) -> *mut ContextObject {
    let offset = std::mem::offset_of!(ContextObject, verbs) + std::mem::offset_of!(verbs_context, context);
    context.cast::<u8>().wrapping_sub(offset).cast()
}

/// The NIC of a context.
///
/// # Safety
/// The context is one of [`open`]'s.
pub unsafe fn nic_of<'a>(context: *mut ibv_context) -> &'a Arc<Nic> {
    // SAFETY: as the caller says.
    unsafe { &(*object(context)).nic }
}

/// Closes one.
///
/// # Safety
/// The context is one of [`open`]'s, and nobody uses it any more.
pub unsafe fn close(context: *mut ibv_context) {
    // SAFETY: as the caller says.
    drop(unsafe { Box::from_raw(object(context)) });
}

/// What the device can do.
pub fn attributes(nic: &Nic) -> ibv_device_attr {
    // SAFETY: numbers, for which zero is good.
    let mut attr: ibv_device_attr = unsafe { std::mem::zeroed() };
    let version = regs::ABI_VERSION_VALUE;
    attr.fw_ver = text(&format!("{}.{}", version >> 16, version & 0xFFFF));
    (attr.node_guid, attr.sys_image_guid) = (guid(), guid());
    attr.max_mr_size = 1 << 47;
    attr.page_size_cap = 0xFFFF_F000;
    attr.hw_ver = version;
    attr.max_qp = nic.sizes.endpoints as c_int;
    attr.max_qp_wr = MAX_REQUESTS as c_int;
    (attr.max_sge, attr.max_sge_rd, attr.max_srq_sge) =
        (MAX_SGE as c_int, MAX_SGE as c_int, MAX_SGE as c_int);
    (attr.max_qp_rd_atom, attr.max_qp_init_rd_atom) = (READS.into(), READS.into());
    attr.max_res_rd_atom = MAX_REQUESTS as c_int;
    attr.atomic_cap = ATOMIC_HCA;
    attr.max_cq = nic.sizes.cqs as c_int;
    attr.max_cqe = MOST_ENTRIES as c_int;
    attr.max_mr = nic.sizes.keys as c_int;
    attr.max_pd = 0xFFFF;
    attr.max_ah = c_int::MAX;
    attr.max_srq = nic.sizes.endpoints as c_int / 2;
    attr.max_srq_wr = MAX_REQUESTS as c_int;
    attr.max_pkeys = 1;
    attr.phys_port_cnt = 1;
    attr
}

/// What a port is like.
pub fn port(nic: &Nic) -> ibv_port_attr {
    // SAFETY: numbers, for which zero is good.
    let mut attr: ibv_port_attr = unsafe { std::mem::zeroed() };
    attr.state = PORT_ACTIVE;
    (attr.max_mtu, attr.active_mtu) = (MTU_4096, MTU_4096);
    attr.gid_tbl_len = nic.context.gids().len() as c_int;
    attr.port_cap_flags = PORT_IP_BASED_GIDS;
    // Of RC; a datagram has the MTU at most.
    attr.max_msg_sz = 1 << 30;
    attr.pkey_tbl_len = 1;
    attr.max_vl_num = 1;
    (attr.active_width, attr.active_speed) = (WIDTH_4X, SPEED_EDR);
    attr.phys_state = PHYS_LINK_UP;
    attr.link_layer = LINK_LAYER_ETHERNET;
    attr
}

/// A port's GID.
pub fn gid(nic: &Nic, port: u32, index: usize) -> Result<ibv_gid, c_int> {
    let raw = *nic.context.gids().get(index).filter(|_| port == 1).ok_or(libc::EINVAL)?;
    Ok(ibv_gid { raw })
}

/// The same, with what else there is to say.
pub fn gid_entry(nic: &Nic, port: u32, index: u32) -> Result<ibv_gid_entry, c_int> {
    let gid = gid(nic, port, index as usize).map_err(|_| libc::ENODATA)?;
    Ok(ibv_gid_entry { gid, gid_index: index, port_num: port, gid_type: GID_TYPE_ROCE_V2, ndev_ifindex: 0 })
}

/// Copies as much of an entry as a program has room for.
///
/// # Safety
/// There are `room` bytes.
pub unsafe fn put<T: Copy>(value: &T, place: *mut c_void, room: size_t) {
    let len = room.min(size_of::<T>());
    // SAFETY: as the caller says.
    unsafe {
        place.cast::<u8>().copy_from_nonoverlapping(std::ptr::from_ref(value).cast::<u8>(), len);
        place.cast::<u8>().add(len).write_bytes(0, room - len);
    }
}
