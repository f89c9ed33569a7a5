//! UD queue pairs, shared receive queues, address handles.

use std::ffi::{c_int, c_uint};
use std::sync::{Arc, Mutex, MutexGuard};

use tessera_abi::wire::{gid_ipv4, GRH_LEN};
use tessera_driver::{
    Access, AddressHandle, CompletionQueue, DatagramRequest, DeviceError, DmaMemory, Endpoint, EndpointKind,
    EndpointOptions, MemoryRegion, PostError, RecvRequest, SendRequest, SharedReceive, WorkCompletion,
};

use crate::ffi::{ibv_ah, ibv_qp, ibv_qp_attr, ibv_qp_cap, ibv_recv_wr, ibv_send_wr, ibv_sge, ibv_srq};
use crate::memory::{check, check_writable, find, gather, scatter, total, Domain, Member};
use crate::nic::{lock, say, Errno, Nic};
use crate::queue::{flushed, Queue, WC_RECV, WC_SEND};
use crate::rc::shared::Reached;
use crate::rc::RcPair;
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

/// What receives are for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum For {
    /// Datagrams, none longer than the MTU.
    Datagrams,
    /// Datagrams or messages of RC queue pairs, of any length.
    Shared,
    /// Messages that are told of as datagrams: with a GRH area.
    Messages,
}

/// Where receives come from, and what is outstanding there.
pub struct Receives(Mutex<Slots>);

impl Receives {
    pub fn new(entries: usize) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Slots::new(entries, GRH_LEN + MTU))))
    }

    /// A receive has ended: its number, its bytes being where the program wants them.
    pub fn ended(&self, nic: &Nic, done: &WorkCompletion) -> Option<u64> {
        let mut slots = lock(&self.0);
        let slot = u32::try_from(done.work_id).ok()?;
        let request = slots.take(done.work_id)?;
        if request.bounced {
            let (memory, at) = match &request.own {
                Some(own) => (own.memory().clone(), 0),
                None => (slots.bounced()?.memory().clone(), slots.bounce_at(slot)),
            };
            let mut len = done.len as usize;
            if request.fills_grh {
                memory.write(at, &grh(nic, done));
                len += GRH_LEN;
            }
            // SAFETY: the program said so when it posted the receive; nobody else has the
            // slot until the next post, for which the lock is held.
            unsafe { scatter(&request.scatter, &memory, at, len) };
        } else if let (true, Some((registered, range))) = (request.fills_grh, &request.there) {
            registered.region.memory().write(range.start, &grh(nic, done));
        }
        Some(request.wr_id)
    }

    /// Posts one.
    fn post(
        &self,
        (nic, domain): (&Nic, &Arc<Domain>),
        (wr_id, list, what): (u64, &[ibv_sge], For),
        post: impl FnOnce(&RecvRequest<'_>) -> Result<(), PostError>,
    ) -> Result<(), c_int> {
        let mut slots = lock(&self.0);
        let put = |slots: &mut Slots, request: Request| {
            slots.put(Request { wr_id, signaled: true, ..request }).ok_or(libc::ENOMEM)
        };
        // The area is in front of what the NIC receives.
        let fills_grh = what == For::Messages;
        let skip = if fills_grh { GRH_LEN } else { 0 };
        if total(list) < skip {
            return Err(libc::EINVAL);
        }
        let scattered = || Request { scatter: list.to_vec(), bounced: true, fills_grh, ..Request::default() };
        let (slot, posted) = match list {
            [one] => {
                let (region, range) = find(nic, domain, one)?;
                let there = (what != For::Datagrams).then(|| (region.clone(), range.clone()));
                let slot = put(&mut slots, Request { there, fills_grh, ..Request::default() })?;
                let range = range.start + skip..range.end;
                (slot, post(&RecvRequest { work_id: slot.into(), region: &region.region, range }))
            }
            list if what != For::Datagrams && total(list) > slots.bounce_len() => {
                check_writable(nic, domain, list)?;
                let memory = DmaMemory::new(total(list));
                let region =
                    domain.pd.register(&memory, Access::LOCAL_WRITE).map_err(|error| error.errno())?;
                let own = Arc::new(region);
                let slot = put(&mut slots, Request { own: Some(own.clone()), ..scattered() })?;
                (slot, post(&RecvRequest { work_id: slot.into(), region: &own, range: skip..own.len() }))
            }
            list => {
                check_writable(nic, domain, list)?;
                let len = total(list).min(slots.bounce_len());
                let region = slots.bounce(&domain.pd).map_err(|error| error.errno())?;
                let slot = put(&mut slots, scattered())?;
                let at = slots.bounce_at(slot);
                (
                    slot,
                    post(&RecvRequest { work_id: slot.into(), region: &region, range: at + skip..at + len }),
                )
            }
        };
        posted.map_err(|error| {
            slots.take(slot.into());
            error.errno()
        })
    }
}

/// The IP header that a datagram would have had, as in the area in front of it.
fn grh(nic: &Nic, done: &WorkCompletion) -> [u8; GRH_LEN] {
    let mut area = [0; GRH_LEN];
    let from = gid_ipv4(&done.peer_gid);
    let own = nic.context.gids().into_iter().find(|gid| gid_ipv4(gid).is_some() == from.is_some());
    let (len, to) = (done.len as u16, own.unwrap_or_default());
    match (from, gid_ipv4(&to)) {
        (Some(from), Some(to)) => {
            let header = &mut area[GRH_LEN - 20..];
            (header[0], header[8], header[9]) = (0x45, 64, 17);
            header[2..4].copy_from_slice(&len.to_be_bytes());
            header[12..16].copy_from_slice(&from);
            header[16..20].copy_from_slice(&to);
        }
        _ => {
            (area[0], area[6], area[7]) = (0x60, 17, 64);
            area[4..6].copy_from_slice(&len.to_be_bytes());
            area[8..24].copy_from_slice(&done.peer_gid);
            area[24..40].copy_from_slice(&to);
        }
    }
    area
}

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

/// A shared receive queue.
pub struct SharedQueue {
    /// By RC messages. Before the ring, which it uses.
    pub reached: Reached,
    inside: Mutex<SharedReceive>,
    receives: Arc<Receives>,
    /// Where receives end that no message took: nobody hears of them.
    _errors: CompletionQueue,
    pub entries: usize,
    domain: Arc<Domain>,
    /// Until it is destroyed, which those outlast who look after it.
    pub member: Mutex<Option<Member>>,
    pub users: std::sync::atomic::AtomicUsize,
}

/// What a program has an `ibv_srq` of.
#[repr(C)]
pub struct SharedObject {
    pub ibv: ibv_srq,
    pub shared: Arc<SharedQueue>,
}

impl SharedQueue {
    pub fn new(nic: &Nic, domain: &Arc<Domain>, requests: u32) -> Result<Self, c_int> {
        let entries = ring(requests).map_err(|error| error.errno())?;
        let errors = nic.context.create_cq(entries).map_err(|error| error.errno())?;
        let ring = domain.pd.create_shared_receive(entries, &errors).map_err(|error| error.errno())?;
        Ok(Self {
            reached: Reached::default(),
            inside: Mutex::new(ring),
            receives: Receives::new(entries),
            _errors: errors,
            entries,
            domain: domain.clone(),
            member: Mutex::new(Some(Member::of(domain))),
            users: Default::default(),
        })
    }

    /// Posts a list of receives.
    ///
    /// # Safety
    /// The list is what verbs say.
    pub unsafe fn post(&self, nic: &Nic, first: *mut ibv_recv_wr) -> Result<(), (*mut ibv_recv_wr, c_int)> {
        let mut ring = lock(&self.inside);
        let domain = &self.domain;
        let posted = ring.batch(|ring| {
            // SAFETY: as the caller says.
            unsafe {
                each(
                    first,
                    |wr| &*wr,
                    |wr| {
                        let list = buffers(wr.sg_list, wr.num_sge, MAX_SGE)?;
                        let request = (wr.wr_id, list, For::Shared);
                        self.receives.post((nic, domain), request, |request| ring.post_recv(request))
                    },
                )
            }
        });
        posted.map_err(|error| (first, lost(nic, &error)))?
    }

    pub fn domain(&self) -> &Domain {
        &self.domain
    }

    pub fn ring(&self) -> MutexGuard<'_, SharedReceive> {
        lock(&self.inside)
    }

    /// A receive has ended: its number.
    pub fn ended(&self, nic: &Nic, done: &WorkCompletion) -> Option<u64> {
        self.receives.ended(nic, done)
    }

    /// Posts a receive anew that a message took of which nobody hears.
    pub fn post_again(&self, nic: &Nic, done: &WorkCompletion) {
        let mut ring = self.ring();
        let mut slots = lock(&self.receives.0);
        let Some(request) = slots.get(done.work_id) else { return };
        let work_id = done.work_id;
        let at = slots.bounce_at(work_id as u32);
        let posted = match (&request.there, &request.own, slots.bounced()) {
            (Some((registered, range)), ..) => {
                ring.post_recv(&RecvRequest { work_id, region: &registered.region, range: range.clone() })
            }
            (None, Some(own), _) => {
                ring.post_recv(&RecvRequest { work_id, region: own, range: 0..own.len() })
            }
            (None, None, Some(bounce)) => {
                let len = total(&request.scatter).min(slots.bounce_len());
                ring.post_recv(&RecvRequest { work_id, region: bounce, range: at..at + len })
            }
            (None, None, None) => return,
        };
        if let Err(error) = posted {
            // Its memory is gone: so is the receive.
            slots.take(work_id);
            if let PostError::Device(error) = error {
                nic.lost(&error);
            }
        }
    }
}

fn lost(nic: &Nic, error: &DeviceError) -> c_int {
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
            Some(shared) => {
                domain.pd.create_sharing_endpoint(&options, sent, received, &lock(&shared.inside))
            }
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
                let ends = lock(&self.receives.0).take_all();
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
