//! UD queue pairs, address handles; what requests of all kinds are made of.

use std::ffi::{c_int, c_uint};
use std::sync::{Arc, Mutex};

use tessera_driver::{
    Access, AddressHandle, CompletionQueue, DatagramRequest, DeviceError, DmaMemory, Endpoint, EndpointKind,
    EndpointOptions, MemoryRegion, PostError, RecvRequest, SendRequest,
};

use crate::ffi::{ibv_ah, ibv_qp, ibv_qp_attr, ibv_qp_cap, ibv_recv_wr, ibv_send_wr, ibv_sge};
use crate::memory::{check, find, gather, total, Domain, Member};
use crate::nic::{lock, say, Errno, Nic};
use crate::queue::{flushed, Queue, WC_RECV, WC_SEND};
use crate::rc::RcPair;
use crate::receives::{For, Receives, SharedQueue};
use crate::slots::{ring, Request, Slots};

/// Most buffers of a request.
pub const MAX_SGE: u32 = 16;
/// Most bytes of a request that are taken at once.
pub const MAX_INLINE: u32 = 1024;
/// Most requests of a ring.
pub const MAX_REQUESTS: u32 = 0x4000;
/// Bytes of a datagram.
pub const MTU: usize = 4096;

pub const WR_SEND: c_uint = 2;
pub const WR_SEND_WITH_IMM: c_uint = 3;

pub const SEND_SIGNALED: c_uint = 1 << 1;
pub const SEND_INLINE: c_uint = 1 << 3;

pub const QPS_RESET: c_uint = 0;
pub const QPS_INIT: c_uint = 1;
pub const QPS_RTR: c_uint = 2;
pub const QPS_RTS: c_uint = 3;
pub const QPS_ERR: c_uint = 6;

pub const QP_STATE: c_int = 1;
pub const QP_QKEY: c_int = 1 << 6;

/// An address handle, and what a program has an `ibv_ah` of.
#[repr(C)]
pub struct HandleObject {
    pub ibv: ibv_ah,
    pub to: AddressHandle,
    pub member: Member,
}

/// Asks for reliable messages under UD queue pairs.
const UD: &str = "TESSERA_UD";

/// A queue pair.
pub struct Pair {
    pub number: u32,
    pub sends: Mutex<Slots>,
    pub receives: Arc<Receives>,
    pub queues: [Arc<Queue>; 2],
    /// Room that it takes in them.
    promised: [usize; 2],
    pub shared: bool,
    /// Its datagrams are reliable messages, as long as there is memory for them.
    pub reliable: bool,
    pub inside: Mutex<Inside>,
    member: Member,
}

/// What changes of a queue pair.
pub struct Inside {
    /// Gone in the error state.
    endpoint: Option<Endpoint>,
    pub attr: ibv_qp_attr,
    pub all_signaled: bool,
}

/// What a program has an `ibv_qp` of.
#[repr(C)]
pub struct PairObject {
    pub ibv: ibv_qp,
    pub pair: Kind,
}

/// Of either kind.
pub enum Kind {
    Ud(Arc<Pair>),
    Rc(Arc<RcPair>),
}

pub(crate) fn lost(nic: &Nic, error: &DeviceError) -> c_int {
    nic.lost(error);
    error.errno()
}

/// Something that is linked to the next of its kind.
pub trait Linked {
    fn next(&self) -> *mut Self;
}

impl Linked for ibv_recv_wr {
    fn next(&self) -> *mut Self {
        self.next
    }
}

impl Linked for ibv_send_wr {
    fn next(&self) -> *mut Self {
        self.next
    }
}

/// Does something for each request of a list, until one fails.
///
/// # Safety
/// The list is what verbs say.
pub unsafe fn each<'a, T: Linked + 'a>(
    first: *mut T,
    see: impl Fn(*mut T) -> &'a T,
    mut act: impl FnMut(&'a T) -> Result<(), c_int>,
) -> Result<(), (*mut T, c_int)> {
    let mut next = first;
    while !next.is_null() {
        let request = see(next);
        act(request).map_err(|error| (next, error))?;
        next = request.next();
    }
    Ok(())
}

/// The buffers of a request.
///
/// # Safety
/// So many are at the pointer.
pub unsafe fn buffers<'a>(list: *const ibv_sge, count: c_int, most: u32) -> Result<&'a [ibv_sge], c_int> {
    match count {
        0 => Ok(&[]),
        1.. if count as u32 <= most && !list.is_null() => {
            // SAFETY: as the caller says.
            Ok(unsafe { std::slice::from_raw_parts(list, count as usize) })
        }
        _ => Err(libc::EINVAL),
    }
}

/// How to create a queue pair.
pub struct Wanted<'a> {
    pub queues: [&'a Arc<Queue>; 2],
    pub shared: Option<&'a Arc<SharedQueue>>,
    pub cap: ibv_qp_cap,
    pub all_signaled: bool,
}

impl Pair {
    /// Creates one and puts it in its place. What it can hold is in its attributes.
    pub fn create(nic: &Nic, domain: &Arc<Domain>, wanted: &Wanted<'_>) -> Result<Arc<Self>, c_int> {
        let mut cap = wanted.cap;
        let too_many = cap.max_send_wr > MAX_REQUESTS
            || cap.max_recv_wr > MAX_REQUESTS
            || cap.max_send_sge > MAX_SGE
            || cap.max_recv_sge > MAX_SGE
            || cap.max_inline_data > MAX_INLINE;
        if too_many {
            return Err(libc::EINVAL);
        }
        let reliable = match std::env::var(UD).as_deref() {
            Err(_) | Ok("" | "plain") => false,
            Ok("reliable") => true,
            Ok(other) => {
                say(format_args!("{UD} is {other}: it may be plain or reliable"));
                return Err(libc::EINVAL);
            }
        };
        if reliable && wanted.shared.is_some() {
            // Its receives would be those of datagrams too.
            return Err(libc::EOPNOTSUPP);
        }
        let send_entries = ring(cap.max_send_wr).map_err(|error| error.errno())?;
        let recv_entries = match wanted.shared {
            Some(_) => 2,
            None => ring(cap.max_recv_wr).map_err(|error| error.errno())?,
        };
        cap.max_send_wr = send_entries as u32;
        cap.max_recv_wr = if wanted.shared.is_some() { 0 } else { recv_entries as u32 };
        (cap.max_send_sge, cap.max_recv_sge) = (cap.max_send_sge.max(1), cap.max_recv_sge.max(1));
        let options = EndpointOptions {
            kind: if reliable { EndpointKind::Messages } else { EndpointKind::Datagrams },
            send_entries,
            recv_entries,
            ..EndpointOptions::default()
        };
        let [sent, received] = wanted.queues;
        let promised = [send_entries, wanted.shared.map_or(recv_entries, |shared| shared.entries)];
        sent.promise(promised[0])?;
        received.promise(promised[1]).inspect_err(|_| sent.give_back(promised[0]))?;
        let _changing = nic.changing();
        let create = |sent: &CompletionQueue, received: &CompletionQueue| match wanted.shared {
            Some(shared) => domain.pd.create_sharing_endpoint(&options, sent, received, &shared.ring()),
            None => domain.pd.create_endpoint(&options, sent, received),
        };
        // Two queues are held at once here alone, by one thread at a time.
        let created = if Arc::ptr_eq(sent, received) {
            sent.with(|queue| create(queue, queue))
        } else {
            sent.with(|sent| received.with(|received| create(sent, received)))
        };
        let endpoint = created.map_err(|error| {
            sent.give_back(promised[0]);
            received.give_back(promised[1]);
            error.errno()
        })?;
        let number = endpoint.number();
        // SAFETY: all of it is numbers, for which zero is good.
        let mut attr: ibv_qp_attr = unsafe { std::mem::zeroed() };
        (attr.cap, attr.path_mtu, attr.port_num) = (cap, 5, 1);
        let pair = Arc::new(Self {
            number,
            sends: Mutex::new(Slots::new(send_entries, MTU)),
            receives: wanted
                .shared
                .map_or_else(|| Receives::new(recv_entries), |shared| shared.receives.clone()),
            queues: [sent.clone(), received.clone()],
            promised,
            shared: wanted.shared.is_some(),
            reliable,
            inside: Mutex::new(Inside { endpoint: Some(endpoint), attr, all_signaled: wanted.all_signaled }),
            member: Member::of(domain),
        });
        nic.add_pair(pair.clone());
        Ok(pair)
    }

    /// Lets go of everything.
    pub fn destroy(&self, nic: &Nic) {
        // The next of this index is not made before what this one leaves is seen to.
        // The receives of a shared queue that came here are free again: of what is left of
        // an endpoint that is gone, the driver tells nobody.
        for queue in &self.queues {
            queue.settle(nic);
        }
        let endpoint = lock(&self.inside).endpoint.take();
        let _changing = nic.changing();
        drop(endpoint);
        nic.remove_pair(self.number);
        for (queue, promised) in self.queues.iter().zip(self.promised) {
            queue.purge(self.number);
            queue.give_back(promised);
        }
    }

    /// Moves to another state.
    pub fn modify(&self, nic: &Nic, wanted: &ibv_qp_attr, mask: c_int) -> Result<(), c_int> {
        let mut inside = lock(&self.inside);
        let inside = &mut *inside;
        let now = inside.attr.qp_state;
        let next = if mask & QP_STATE != 0 { wanted.qp_state } else { now };
        let possible = match next {
            QPS_RESET => true,
            QPS_INIT => now <= QPS_INIT,
            QPS_RTR => now == QPS_INIT || now == QPS_RTR,
            QPS_RTS => now == QPS_RTR || now == QPS_RTS,
            QPS_ERR => now != QPS_RESET,
            _ => false,
        };
        if !possible {
            return Err(libc::EINVAL);
        }
        if now == QPS_RESET && next == QPS_INIT && mask & QP_QKEY == 0 {
            return Err(libc::EINVAL);
        }
        if next == QPS_RESET && now != QPS_RESET {
            // Its number is the endpoint's, which a used one cannot keep.
            let endpoint = inside.endpoint.as_mut().ok_or(libc::EOPNOTSUPP)?;
            endpoint.set_qkey(0).map_err(|_| libc::EOPNOTSUPP)?;
        }
        if next == QPS_ERR && now != QPS_ERR {
            let _changing = nic.changing();
            drop(inside.endpoint.take());
            // What the NIC had ended before it is in the queues, and comes first.
            for queue in &self.queues {
                queue.settle(nic);
            }
            let ends = lock(&self.sends).take_all();
            self.queues[0].push(ends.iter().map(|request| flushed(request.wr_id, self.number, WC_SEND)));
            if !self.shared {
                let ends = self.receives.take_all();
                self.queues[1].push(ends.iter().map(|request| flushed(request.wr_id, self.number, WC_RECV)));
            }
            // Its place is the next one's.
            nic.remove_pair(self.number);
        }
        if mask & QP_QKEY != 0 && next != QPS_ERR {
            let endpoint = inside.endpoint.as_mut().ok_or(libc::EINVAL)?;
            if inside.attr.qkey != wanted.qkey || now == QPS_RESET {
                endpoint.set_qkey(wanted.qkey).map_err(|error| match error {
                    PostError::Used => libc::EOPNOTSUPP,
                    error => error.errno(),
                })?;
            }
            inside.attr.qkey = wanted.qkey;
        }
        let attr = &mut inside.attr;
        let given = |bit: c_int| mask & 1 << bit != 0;
        if given(4) {
            attr.pkey_index = wanted.pkey_index;
        }
        if given(5) {
            attr.port_num = wanted.port_num;
        }
        if given(16) {
            attr.sq_psn = wanted.sq_psn;
        }
        (attr.qp_state, attr.cur_qp_state) = (next, next);
        Ok(())
    }

    /// Posts a list of sends.
    ///
    /// # Safety
    /// The list is what verbs say.
    pub unsafe fn post_sends(
        &self,
        nic: &Nic,
        first: *mut ibv_send_wr,
    ) -> Result<(), (*mut ibv_send_wr, c_int)> {
        let mut inside = lock(&self.inside);
        let Inside { endpoint: Some(endpoint), attr, all_signaled } = &mut *inside else {
            let flush = |wr: &ibv_send_wr| {
                self.queues[0].push([flushed(wr.wr_id, self.number, WC_SEND)]);
                Ok(())
            };
            // SAFETY: as the caller says.
            return unsafe { each(first, |wr| &*wr, flush) };
        };
        if attr.qp_state != QPS_RTS {
            return Err((first, libc::EINVAL));
        }
        let (cap, all_signaled, qkey) = (attr.cap, *all_signaled, attr.qkey);
        let posted = endpoint.batch(|endpoint| {
            // SAFETY: as the caller says.
            unsafe {
                each(first, |wr| &*wr, |wr| self.post_send(nic, endpoint, (&cap, all_signaled, qkey), wr))
            }
        });
        posted.map_err(|error| (first, lost(nic, &error)))?
    }

    unsafe fn post_send(
        &self,
        nic: &Nic,
        endpoint: &mut Endpoint,
        (cap, all_signaled, attr_qkey): (&ibv_qp_cap, bool, u32),
        wr: &ibv_send_wr,
    ) -> Result<(), c_int> {
        let immediate = match wr.opcode {
            WR_SEND => None,
            WR_SEND_WITH_IMM => Some(u32::from_be(wr.imm_data)),
            _ => return Err(libc::EINVAL),
        };
        // SAFETY: as the caller says; of UD queue pairs the union is this.
        let (list, ud) = unsafe { (buffers(wr.sg_list, wr.num_sge, cap.max_send_sge)?, wr.wr.ud) };
        if ud.ah.is_null() {
            return Err(libc::EINVAL);
        }
        // SAFETY: handles are given out by this library alone.
        let handle = unsafe { &*ud.ah.cast::<HandleObject>() };
        let len = total(list);
        let inline = wr.send_flags & SEND_INLINE != 0;
        if len > MTU && !self.reliable || inline && len > cap.max_inline_data as usize {
            return Err(libc::EINVAL);
        }
        // Of messages the driver refuses any Q_Key but the own.
        let qkey = match ud.remote_qkey >> 31 {
            1 if self.reliable => attr_qkey,
            _ => ud.remote_qkey,
        };
        let to = AddressHandle { endpoint: ud.remote_qpn, qkey, ..handle.to };
        let domain = &self.member.0;
        let mut slots = lock(&self.sends);
        let signaled = all_signaled || wr.send_flags & SEND_SIGNALED != 0;
        let request = Request { wr_id: wr.wr_id, signaled, ..Request::default() };
        let post = |endpoint: &mut Endpoint, slot: u32, region: &MemoryRegion, range| {
            let work_id = slot.into();
            if self.reliable {
                let (tag, round, payload_size) = (0, None, MTU as u32);
                return endpoint.post_send(&SendRequest {
                    work_id,
                    region,
                    range,
                    to,
                    tag,
                    immediate,
                    round,
                    payload_size,
                });
            }
            endpoint.post_datagram(&DatagramRequest {
                work_id,
                region,
                range,
                to,
                immediate,
                path_mtu: MTU as u32,
            })
        };
        let (slot, posted) = match list {
            [one] if !inline && len > 0 => {
                let (region, range) = find(nic, domain, one)?;
                let slot = slots.put(request).ok_or(libc::ENOMEM)?;
                (slot, post(endpoint, slot, &region.region, range))
            }
            list if len > MTU => {
                check(nic, domain, list)?;
                let memory = DmaMemory::new(len);
                let region = domain.pd.register(&memory, Access::READ).map_err(|error| error.errno())?;
                let own = Arc::new(region);
                let slot = slots.put(Request { own: Some(own.clone()), ..request }).ok_or(libc::ENOMEM)?;
                // SAFETY: the program's buffers are to be read, by what it says.
                unsafe { gather(list, own.memory(), 0) };
                (slot, post(endpoint, slot, &own, 0..len))
            }
            list => {
                if !inline {
                    check(nic, domain, list)?;
                }
                let region = slots.bounce(&domain.pd).map_err(|error| error.errno())?;
                let slot = slots.put(request).ok_or(libc::ENOMEM)?;
                let at = slots.bounce_at(slot);
                // SAFETY: the program's buffers are to be read, by what it says.
                unsafe { gather(list, region.memory(), at) };
                (slot, post(endpoint, slot, &region, at..at + len))
            }
        };
        posted.map_err(|error| {
            slots.take(slot.into());
            error.errno()
        })
    }

    /// Posts a list of receives.
    ///
    /// # Safety
    /// The list is what verbs say.
    pub unsafe fn post_receives(
        &self,
        nic: &Nic,
        first: *mut ibv_recv_wr,
    ) -> Result<(), (*mut ibv_recv_wr, c_int)> {
        let mut inside = lock(&self.inside);
        if self.shared {
            return Err((first, libc::EINVAL));
        }
        let Inside { endpoint: Some(endpoint), attr, .. } = &mut *inside else {
            let flush = |wr: &ibv_recv_wr| {
                self.queues[1].push([flushed(wr.wr_id, self.number, WC_RECV)]);
                Ok(())
            };
            // SAFETY: as the caller says.
            return unsafe { each(first, |wr| &*wr, flush) };
        };
        if attr.qp_state == QPS_RESET {
            return Err((first, libc::EINVAL));
        }
        let most = attr.cap.max_recv_sge;
        let what = if self.reliable { For::Messages } else { For::Datagrams };
        let posted = endpoint.batch(|endpoint| {
            // SAFETY: as the caller says.
            unsafe {
                each(
                    first,
                    |wr| &*wr,
                    |wr| {
                        let list = buffers(wr.sg_list, wr.num_sge, most)?;
                        let post = |request: &RecvRequest<'_>| endpoint.post_recv(request);
                        self.receives.post((nic, &self.member.0), (wr.wr_id, list, what), post)
                    },
                )
            }
        });
        posted.map_err(|error| (first, lost(nic, &error)))?
    }
}
