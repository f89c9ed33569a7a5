//! libibverbs' functions, as far as they touch a device. The others (names of things,
//! conversions) are libibverbs' own.
//!
//! # Safety of all of them
//! A program hands in what it got from here, and not after it gave that back; pointers are
//! good for what the verbs say.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use libc::{size_t, ssize_t};
use tessera_abi::wire::{ipv4_gid, GRH_LEN};
use tessera_driver::AddressHandle;

use crate::device::{self, nic_of};
use crate::ffi::*;
use crate::memory::{self, Domain, DomainObject, Member, RegionObject};
use crate::nic::{lock, nic, say, Nic};
use crate::pair::{
    HandleObject, Kind, Pair, PairObject, SharedObject, SharedQueue, Wanted, MAX_REQUESTS, MAX_SGE,
};
use crate::queue::{Channel, ChannelObject, Queue, QueueObject, MOST_ENTRIES};
use crate::rc::{self, RcPair};

const QPT_RC: c_uint = 2;
const QPT_UD: c_uint = 4;
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

// ---- devices

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

// ---- memory

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

unsafe fn domain<'a>(pd: *mut ibv_pd) -> &'a Arc<Domain> {
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

// ---- completion queues

#[no_mangle]
pub unsafe extern "C" fn ibv_create_comp_channel(context: *mut ibv_context) -> *mut ibv_comp_channel {
    use std::os::fd::AsRawFd;
    let made = Channel::new().map(|channel| {
        let ibv = ibv_comp_channel { context, fd: channel.read.as_raw_fd(), refcnt: 0 };
        Box::into_raw(Box::new(ChannelObject { ibv, channel: Arc::new(channel) })).cast()
    });
    pointer(made)
}

#[no_mangle]
pub unsafe extern "C" fn ibv_destroy_comp_channel(channel: *mut ibv_comp_channel) -> c_int {
    // SAFETY: see the module's page.
    unsafe {
        if (*channel.cast::<ChannelObject>()).channel.users() != 0 {
            return number(Err(libc::EBUSY));
        }
        drop(Box::from_raw(channel.cast::<ChannelObject>()));
    }
    0
}

#[no_mangle]
pub unsafe extern "C" fn ibv_create_cq(
    context: *mut ibv_context,
    cqe: c_int,
    cq_context: *mut c_void,
    channel: *mut ibv_comp_channel,
    comp_vector: c_int,
) -> *mut ibv_cq {
    if !(1..=MOST_ENTRIES as c_int).contains(&cqe) || comp_vector != 0 {
        return pointer(Err(libc::EINVAL));
    }
    // SAFETY: see the module's page.
    pointer(unsafe {
        let events = (!channel.is_null()).then(|| (*channel.cast::<ChannelObject>()).channel.clone());
        Queue::new(nic_of(context), cqe as usize, events).map(|queue| {
            // Numbers, pointers, a mutex and a condition, for which zero is good.
            let mut ibv: ibv_cq = std::mem::zeroed();
            (ibv.context, ibv.channel, ibv.cq_context, ibv.cqe) = (context, channel, cq_context, cqe);
            let object: *mut ibv_cq =
                Box::into_raw(Box::new(QueueObject { ibv, queue: Arc::new(queue) })).cast();
            queue_of(object).known_as(object);
            object
        })
    })
}

unsafe fn queue_of<'a>(cq: *mut ibv_cq) -> &'a Arc<Queue> {
    // SAFETY: see the module's page.
    unsafe { &(*cq.cast::<QueueObject>()).queue }
}

/// A queue has room for all that its queue pairs may ask of it: the program's number is
/// noted, and no more.
#[no_mangle]
pub unsafe extern "C" fn ibv_resize_cq(cq: *mut ibv_cq, cqe: c_int) -> c_int {
    if !(1..=MOST_ENTRIES as c_int).contains(&cqe) {
        return number(Err(libc::EINVAL));
    }
    // SAFETY: see the module's page.
    unsafe { (*cq).cqe = cqe };
    0
}

#[no_mangle]
pub unsafe extern "C" fn ibv_destroy_cq(cq: *mut ibv_cq) -> c_int {
    // SAFETY: see the module's page.
    unsafe {
        let queue = queue_of(cq);
        if queue.promised() != 0 {
            return number(Err(libc::EBUSY));
        }
        queue.forgotten();
        nic_of((*cq).context).forget_queue(queue);
        drop(Box::from_raw(cq.cast::<QueueObject>()));
    }
    0
}

pub unsafe extern "C" fn poll_cq(cq: *mut ibv_cq, most: c_int, out: *mut ibv_wc) -> c_int {
    let Ok(most) = usize::try_from(most) else { return -libc::EINVAL };
    if most == 0 {
        return 0;
    }
    // SAFETY: the program has room for so many.
    let (nic, queue, out) =
        unsafe { (nic_of((*cq).context), queue_of(cq), std::slice::from_raw_parts_mut(out, most)) };
    match nic.progress().and_then(|()| queue.poll(nic, out)) {
        // What the program waits for may need the device's time, or another process's.
        Ok(0) if !nic.wait() => -libc::EIO,
        Ok(count) => count as c_int,
        Err(error) => -error,
    }
}

pub unsafe extern "C" fn req_notify_cq(cq: *mut ibv_cq, _solicited_only: c_int) -> c_int {
    // SAFETY: see the module's page.
    let (nic, queue) = unsafe { (nic_of((*cq).context), queue_of(cq)) };
    queue.set_awaited();
    match queue.channel {
        Some(_) => number(nic.await_queue(queue)),
        None => 0,
    }
}

#[no_mangle]
pub unsafe extern "C" fn ibv_get_cq_event(
    channel: *mut ibv_comp_channel,
    cq: *mut *mut ibv_cq,
    cq_context: *mut *mut c_void,
) -> c_int {
    // SAFETY: see the module's page.
    minus(unsafe {
        let events = (*channel.cast::<ChannelObject>()).channel.clone();
        events.next().map(|queue| {
            *cq = queue;
            *cq_context = (*queue).cq_context;
        })
    })
}

#[no_mangle]
pub unsafe extern "C" fn ibv_ack_cq_events(cq: *mut ibv_cq, events: c_uint) {
    // SAFETY: see the module's page.
    unsafe { (*cq).comp_events_completed = (*cq).comp_events_completed.wrapping_add(events) };
}

// ---- queue pairs

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

// ---- shared receive queues

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

unsafe fn shared_of<'a>(srq: *mut ibv_srq) -> &'a Arc<SharedQueue> {
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

// ---- address handles

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
