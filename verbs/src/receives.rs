//! Receives that are posted: of a queue pair, and of a queue that several share.

use std::ffi::c_int;
use std::sync::{Arc, Mutex, MutexGuard};

use tessera_abi::wire::{gid_ipv4, GRH_LEN};
use tessera_driver::{
    Access, CompletionQueue, DmaMemory, PostError, RecvRequest, SharedReceive, WorkCompletion,
};

use crate::ffi::{ibv_recv_wr, ibv_sge, ibv_srq};
use crate::memory::{check_writable, find, scatter, total, Domain, Member};
use crate::nic::{lock, Errno, Nic};
use crate::pair::{buffers, each, lost, MAX_SGE, MTU};
use crate::rc::shared::Reached;
use crate::slots::{ring, Request, Slots};

/// What receives are for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum For {
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

    /// Takes all that are outstanding out.
    pub fn take_all(&self) -> Vec<Request> {
        lock(&self.0).take_all()
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
    pub(crate) fn post(
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

/// A shared receive queue.
pub struct SharedQueue {
    /// By RC messages. Before the ring, which it uses.
    pub reached: Reached,
    inside: Mutex<SharedReceive>,
    pub receives: Arc<Receives>,
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
