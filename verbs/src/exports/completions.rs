//! Completion queues and their channels.

use super::{minus, number, pointer};

use std::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;

use crate::device::nic_of;
use crate::ffi::*;
use crate::queue::{Channel, ChannelObject, Queue, QueueObject, MOST_ENTRIES};

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

pub(super) unsafe fn queue_of<'a>(cq: *mut ibv_cq) -> &'a Arc<Queue> {
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
