//! Endpoints: where messages are posted and received.

mod inline;

use std::ops::Range;
use std::sync::Arc;

use tessera_abi::queue::{self, send};
use tessera_abi::regs::{self, sizes2, table};
use tessera_abi::wire::{gid_ipv4, packet_count};

use crate::completion::CompletionQueue;
use crate::context::{Shared, Word};
use crate::device::DeviceError;
use crate::error::{CreateError, DestroyError, PostError};
use crate::memory::MemoryRegion;
use crate::outstanding::Outstanding;
use crate::queue::Queue;
use crate::reclaim::Leaving;
use crate::recovery::{ChunkOptions, ChunkWatch};
use crate::request::{
    checked, AddressHandle, DatagramRequest, RecvRequest, SendEntry, SendRequest, WriteRequest,
};
use crate::reset::State;
use crate::ring::{ring_log2, Ring};
use crate::shared_receive::{SharedReceive, SharedRing};

/// What an endpoint speaks. Fixed at creation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum EndpointKind {
    /// Reliable messages.
    #[default]
    Messages,
    /// Plain UD datagrams, as any RoCEv2 NIC sends and takes them, if this one has
    /// [them](crate::DeviceAttributes::datagrams).
    Datagrams,
}

/// How to create an endpoint.
#[derive(Clone, Copy, Debug)]
pub struct EndpointOptions {
    /// What it speaks.
    pub kind: EndpointKind,
    /// Q_Key: what a packet must carry to reach this endpoint. Feedback carries
    /// that of the message, so both ends of a conversation use the same one.
    pub qkey: u32,
    /// Send ring size, a power of two.
    pub send_entries: usize,
    /// Receive ring size, a power of two. Without meaning for an endpoint that
    /// uses a shared ring.
    pub recv_entries: usize,
    /// Messages it may be receiving at a time; further ones wait at their
    /// senders. 0: as many as the NIC holds, so that one endpoint may take all.
    pub rx_quota: u16,
    /// Requests it may have under way at a time, 0 = any number. Further ones wait
    /// in the send ring and delay nobody else's. With a quota each message sends at most
    /// a sixteenth of UNSOLICITED_LIMIT, or one packet, before its receiver answers. What
    /// quotas that add up to less than 16 leave of it is there for the others, however
    /// many messages to silent peers are posted with them.
    pub tx_quota: u16,
    /// Match messages with tagged receives before the receives of the ring;
    /// `rx_quota` bounds the tagged receives too. Both kinds are read in one
    /// order, and only so many receives of the ring ahead as the NIC prefetches
    /// (SIZES1): with more of them waiting, the tagged ones behind are not in place.
    pub tags: bool,
}

impl Default for EndpointOptions {
    fn default() -> Self {
        Self {
            kind: EndpointKind::Messages,
            qkey: 0,
            send_entries: 64,
            recv_entries: 64,
            rx_quota: 0,
            tx_quota: 0,
            tags: false,
        }
    }
}

/// Where an endpoint's receives are posted.
#[derive(Debug)]
enum Receives {
    Own(Ring),
    Shared(Arc<SharedRing>),
}

impl Receives {
    fn outstanding(&self) -> &Arc<Outstanding> {
        match self {
            Receives::Own(ring) => &ring.outstanding,
            Receives::Shared(ring) => ring.outstanding(),
        }
    }
}

/// What verbs call a UD queue pair: a number with rings, owned by one process.
/// It has no peer; every request names its own.
///
/// Dropping it destroys it as [`Endpoint::destroy`] does; what the NIC does not let go
/// of then stays mapped until it does.
#[derive(Debug)]
pub struct Endpoint {
    shared: Arc<Shared>,
    life: u32,
    index: usize,
    number: u32,
    options: EndpointOptions,
    pd: u16,
    sends: Ring,
    recvs: Receives,
    /// Table index of the ring its receives come from.
    ring_index: u16,
    /// Where its sends and its receives complete: held until the NIC has let go of it.
    queues: [Arc<Queue>; 2],
    /// Bytes of inline requests, so many for each place of the send ring. It goes behind all
    /// that the NIC does for the endpoint.
    inline: Option<(MemoryRegion, usize)>,
    destroyed: bool,
}

impl Endpoint {
    pub(crate) fn create(
        shared: &Arc<Shared>,
        pd: u16,
        options: &EndpointOptions,
        send_cq: &CompletionQueue,
        recv_cq: &CompletionQueue,
        shared_ring: Option<&SharedReceive>,
    ) -> Result<Self, CreateError> {
        if shared_ring.is_some_and(|ring| !Arc::ptr_eq(shared, &ring.ring.shared)) {
            return Err(CreateError::ForeignRing);
        }
        if options.tags && options.kind == EndpointKind::Datagrams {
            return Err(CreateError::DatagramTags);
        }
        if options.kind == EndpointKind::Datagrams {
            shared.has(sizes2::NO_DATAGRAMS)?;
        }
        if options.tags && !shared.tags {
            return Err(CreateError::NoTags);
        }
        if shared_ring.is_some() && options.tags {
            return Err(CreateError::SharedTags);
        }
        if !Arc::ptr_eq(shared, &send_cq.shared) || !Arc::ptr_eq(shared, &recv_cq.shared) {
            return Err(CreateError::ForeignQueue);
        }
        let (send_queue, recv_queue) = (&send_cq.queue, &recv_cq.queue);
        let life = send_queue.life;
        let alive = shared.lives.alive(life)?;
        if recv_queue.life != life || shared_ring.is_some_and(|ring| ring.ring.life != life) {
            return Err(DeviceError::Reset.into());
        }
        ring_log2(options.send_entries)?;
        if shared_ring.is_none() {
            ring_log2(options.recv_entries)?;
        }
        let sends = Ring::map(shared, life, options.send_entries, queue::SEND_ENTRY_LEN)?;
        let recvs = match shared_ring {
            Some(ring) => Receives::Shared(ring.ring.clone()),
            None => Ring::map(shared, life, options.recv_entries, queue::RECV_ENTRY_LEN)
                .map(Receives::Own)
                .inspect_err(|_| shared.device.unmap(sends.address))?,
        };
        let own_base = match &recvs {
            Receives::Own(ring) => Some(ring.address),
            Receives::Shared(_) => None,
        };
        let (index, reuse) = shared.take_endpoint().inspect_err(|_| {
            shared.device.unmap(sends.address);
            own_base.into_iter().for_each(|base| shared.device.unmap(base));
        })?;
        let hi = reuse & 0xFFFF;
        let ring_index = shared_ring.map_or(index, |ring| ring.ring.index) as u16;
        [send_cq, recv_cq].into_iter().for_each(|cq| cq.disown(index));
        send_queue.attached.attach(index as u16, None, &sends.outstanding);
        recv_queue.attached.attach(index as u16, Some(ring_index), recvs.outstanding());
        let endpoint = Self {
            shared: shared.clone(),
            life,
            index,
            number: hi << 8 | index as u32,
            options: *options,
            pd,
            sends,
            recvs,
            ring_index,
            queues: [send_queue.hold(), recv_queue.hold()],
            inline: None,
            destroyed: false,
        };
        // From here on dropping `endpoint` gives everything back.
        let written = shared.write_table_now(table::ENDPOINT, index, endpoint.entry());
        drop(alive);
        written?;
        Ok(endpoint)
    }

    /// Its table entry, open for all.
    fn entry(&self) -> Word {
        let options = &self.options;
        let (rq_base, rq_log2, shared_ring) = match &self.recvs {
            Receives::Own(ring) => (ring.address, options.recv_entries.trailing_zeros(), None),
            Receives::Shared(_) => (0, 0, Some(self.ring_index)),
        };
        let [send_queue, recv_queue] = &self.queues;
        Word::new()
            .with(regs::endpoint::VALID, 1)
            .with(regs::endpoint::SEND_ENABLE, 1)
            .with(regs::endpoint::DATAGRAM, (options.kind == EndpointKind::Datagrams).into())
            .with(regs::endpoint::NUMBER_HI, (self.number >> 8).into())
            .with(regs::endpoint::QKEY, options.qkey.into())
            .with(regs::endpoint::SQ_BASE, self.sends.address)
            .with(regs::endpoint::RQ_BASE, rq_base)
            .with(regs::endpoint::SQ_LOG2, options.send_entries.trailing_zeros().into())
            .with(regs::endpoint::RQ_LOG2, rq_log2.into())
            .with(regs::endpoint::SEND_CQ, send_queue.index as u64)
            .with(regs::endpoint::RECV_CQ, recv_queue.index as u64)
            .with(regs::endpoint::RX_QUOTA, options.rx_quota.into())
            .with(regs::endpoint::TX_QUOTA, options.tx_quota.into())
            .with(regs::endpoint::TAGS, options.tags.into())
            .with(regs::endpoint::SHARES, shared_ring.is_some().into())
            .with(regs::endpoint::SHARED_RING, shared_ring.unwrap_or(0).into())
            .with(regs::endpoint::PD, self.pd.into())
    }

    /// Gives the endpoint another Q_Key, before anything is posted to it.
    ///
    /// # Errors
    /// [`PostError::Used`] if something has been: create another endpoint then.
    pub fn set_qkey(&mut self, qkey: u32) -> Result<(), PostError> {
        let own = match &self.recvs {
            Receives::Own(ring) => ring.outstanding.is_unused(),
            Receives::Shared(_) => true,
        };
        if !self.sends.outstanding.is_unused() || !own {
            return Err(PostError::Used);
        }
        let before = std::mem::replace(&mut self.options.qkey, qkey);
        let written = self.shared.write_table(self.life, table::ENDPOINT, self.index, self.entry());
        Ok(written.inspect_err(|_| self.options.qkey = before)?)
    }

    /// This endpoint's 24-bit number, which peers address it by.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// How peers reach this endpoint, over IPv4.
    pub fn address(&self) -> AddressHandle {
        let options = &self.shared.options;
        AddressHandle::ipv4(options.mac, options.ip, self.number, self.options.qkey)
    }

    /// How peers reach this endpoint by the GID of this number, if there is one.
    pub fn address_at(&self, gid: usize) -> Option<AddressHandle> {
        let gid = self.shared.gids().nth(gid)?;
        Some(AddressHandle::new(self.shared.options.mac, gid, self.number, self.options.qkey))
    }

    /// What can be done with it.
    pub fn state(&self) -> State {
        self.shared.lives.state(self.life)
    }

    /// Sends not yet ended.
    pub fn sends_outstanding(&self) -> usize {
        self.shared.read_abandoned();
        self.sends.outstanding.len()
    }

    /// Receives not yet ended, those of a shared ring for all that use it.
    pub fn recvs_outstanding(&self) -> usize {
        self.shared.read_abandoned();
        self.recvs.outstanding().len()
    }

    /// Work ids of the oldest receives that have not ended, no more than `most`. Places of a
    /// ring come back in the order of posts: an old receive that no message comes for
    /// keeps what is behind it, until it is [cancelled](Self::cancel) and posted anew.
    pub fn oldest_recvs(&self, most: usize) -> Vec<u64> {
        self.recvs.outstanding().oldest(most)
    }

    /// Posts a tagged send. The bytes must stay as they are until its completion.
    pub fn post_send(&mut self, request: &SendRequest<'_>) -> Result<(), PostError> {
        self.post_send_with(request, 0)
    }

    /// Posts a tagged send that the receiver's software recovers, if it takes a
    /// receive of [`post_chunked_recv`](Self::post_chunked_recv); else it is an
    /// ordinary one. Lost packets are sent again when that software asks for them.
    /// It may end the message as it is: then this send completes with
    /// [`Status::Partial`](crate::Status). The bounds of a message whose receiver
    /// is silent hold for software too (GRANT_WAIT).
    pub fn post_recoverable_send(&mut self, request: &SendRequest<'_>) -> Result<(), PostError> {
        self.post_send_with(request, queue::SEND_HOST_RECOVERY)
    }

    fn post_send_with(&mut self, request: &SendRequest<'_>, flags: u8) -> Result<(), PostError> {
        let SendRequest { work_id, region, range, to, tag, immediate, round, payload_size } = request;
        let (address, length) = self.check_message(region, range, to, *payload_size)?;
        let mut entry = SendEntry::new(self.sends.entry(&self.shared)?, queue::OP_SEND, flags);
        entry.payload(*payload_size, region, address, length);
        entry.to(to);
        entry.put(send::TAG, &tag.to_le_bytes());
        entry.immediate(*immediate);
        entry.round(*round);
        self.submit(*work_id, region)
    }

    /// Posts a write. It ends in [`Status::RemoteAccess`](crate::Status) unless the
    /// key permits the whole of it, from its first packet to its last. Writes
    /// have no order among each other or with sends: to tell the peer that the
    /// bytes are there, use the immediate, or wait for the completion.
    pub fn post_write(&mut self, request: &WriteRequest<'_>) -> Result<(), PostError> {
        let WriteRequest { work_id, region, range, to, remote, immediate, round, payload_size } = request;
        let (address, length) = self.check_message(region, range, to, *payload_size)?;
        let mut entry = SendEntry::new(self.sends.entry(&self.shared)?, queue::OP_WRITE, 0);
        entry.payload(*payload_size, region, address, length);
        entry.to(to);
        entry.put(send::RKEY, &remote.rkey.to_le_bytes());
        entry.put(send::REMOTE_ADDRESS, &remote.address.to_le_bytes());
        entry.immediate(*immediate);
        entry.round(*round);
        self.submit(*work_id, region)
    }

    /// What sends and writes have in common: device address and length.
    #[inline]
    fn check_message(
        &self,
        region: &MemoryRegion,
        range: &Range<usize>,
        to: &AddressHandle,
        payload_size: u32,
    ) -> Result<(u64, u32), PostError> {
        if self.options.kind != EndpointKind::Messages {
            return Err(PostError::Kind { own: "plain datagrams", call: "post_datagram" });
        }
        let (address, len) = checked(self.of(), region, range)?;
        if !payload_size.is_power_of_two() || !(256..=4096).contains(&payload_size) {
            return Err(PostError::PayloadSize(payload_size));
        }
        if to.qkey != self.options.qkey {
            return Err(PostError::QKey { own: self.options.qkey, peer: to.qkey });
        }
        self.check_destination(to)?;
        let payload_log2 = payload_size.trailing_zeros() as u8;
        let length = u32::try_from(len).ok().filter(|&len| packet_count(len, payload_log2).is_some());
        let length = length.ok_or(PostError::TooLong { len: len as u64, payload: payload_size })?;
        Ok((address, length))
    }

    #[inline]
    fn submit(&mut self, work_id: u64, region: &MemoryRegion) -> Result<(), PostError> {
        let doorbell = self.doorbell(regs::DOORBELL_SQ);
        self.sends.post(&self.shared, doorbell, (work_id, Some(region), None))
    }

    /// Posts a plain datagram; the bytes must stay as they are until its
    /// completion, which comes when it is on its way. Nobody tells whether it arrived.
    pub fn post_datagram(&mut self, request: &DatagramRequest<'_>) -> Result<(), PostError> {
        if self.options.kind != EndpointKind::Datagrams {
            return Err(PostError::Kind { own: "reliable messages", call: "post_send" });
        }
        let (address, len) = checked(self.of(), request.region, &request.range)?;
        let mtu = request.path_mtu;
        if !mtu.is_power_of_two() || !(256..=4096).contains(&mtu) {
            return Err(PostError::PayloadSize(mtu));
        }
        if len > mtu as usize {
            return Err(PostError::TooLongForMtu { len, mtu });
        }
        self.check_destination(&request.to)?;
        let mut entry = SendEntry::new(self.sends.entry(&self.shared)?, queue::OP_UD, 0);
        entry.payload(mtu, request.region, address, len as u32);
        entry.to(&request.to);
        entry.immediate(request.immediate);
        entry.put(send::TRAFFIC_CLASS, &[request.to.traffic_class]);
        entry.put(send::HOP_LIMIT, &[request.to.hop_limit]);
        self.submit(request.work_id, request.region)
    }

    /// Posts several requests with one doorbell, which tells the NIC of them: each is a
    /// write to the device. What is posted in `posts`, of any kind, begins when that
    /// returns.
    ///
    /// # Errors
    /// If the device fails or the NIC was reset meanwhile. Whether the NIC knows of the
    /// requests nobody can say then: they stay outstanding, and end after a reset.
    pub fn batch<R>(&mut self, posts: impl FnOnce(&mut Self) -> R) -> Result<R, DeviceError> {
        /// Lets the doorbells go, also where `posts` panics.
        struct Held<'a>(&'a mut Endpoint, [u16; 2]);
        impl Held<'_> {
            fn release(&mut self) -> Result<(), DeviceError> {
                let Self(endpoint, [sends, receives]) = self;
                let page = regs::doorbell_page(endpoint.index as u32);
                let sent = endpoint.sends.release(&endpoint.shared, page + regs::DOORBELL_SQ, *sends);
                // Not again when this is dropped.
                *sends = endpoint.sends.outstanding.tail();
                let Receives::Own(ring) = &mut endpoint.recvs else { return sent };
                let received = ring.release(&endpoint.shared, page + regs::DOORBELL_RQ, *receives);
                *receives = ring.outstanding.tail();
                sent.and(received)
            }
        }
        impl Drop for Held<'_> {
            fn drop(&mut self) {
                // Who is not told of an error here panics.
                let _ = self.release();
            }
        }
        let tails = [
            self.sends.hold(),
            match &mut self.recvs {
                Receives::Own(ring) => ring.hold(),
                Receives::Shared(_) => 0,
            },
        ];
        let mut held = Held(self, tails);
        let result = posts(held.0);
        held.release()?;
        Ok(result)
    }

    fn check_destination(&self, to: &AddressHandle) -> Result<(), PostError> {
        if to.endpoint >> 24 != 0 {
            return Err(PostError::EndpointNumber(to.endpoint));
        }
        if gid_ipv4(&to.gid).is_none() && self.shared.options.ip6.is_none() {
            return Err(PostError::NoIp6);
        }
        if to.vlan.is_some() {
            self.shared.has(sizes2::NO_VLAN)?;
        }
        Ok(())
    }

    /// Posts a receive. Receives are taken in the order they were posted, by
    /// messages in the order they begin to arrive. Those of an endpoint with a
    /// shared ring are posted to the ring.
    pub fn post_recv(&mut self, request: &RecvRequest<'_>) -> Result<(), PostError> {
        match &mut self.recvs {
            Receives::Own(ring) => ring.post_recv(&self.shared, self.index, request, None),
            Receives::Shared(_) => Err(PostError::SharedRing),
        }
    }

    /// Posts a receive whose buffer begins with a chunk area, which tells how a
    /// message posted with [`post_recoverable_send`](Self::post_recoverable_send)
    /// comes in. The range has to begin at a multiple of 64 and holds the area
    /// ([`ChunkOptions::area_len`]) and the message behind it.
    pub fn post_chunked_recv(
        &mut self,
        request: &RecvRequest<'_>,
        options: &ChunkOptions,
    ) -> Result<ChunkWatch, PostError> {
        if self.options.kind != EndpointKind::Messages {
            return Err(PostError::Kind { own: "plain datagrams", call: "post_recv" });
        }
        match &mut self.recvs {
            Receives::Own(ring) => ring.post_chunked_recv(&self.shared, self.index, request, options),
            Receives::Shared(_) => Err(PostError::SharedRing),
        }
    }

    /// Tells the NIC that step `id` of a collective ends here with so many
    /// messages: the fewer are left, the sooner it asks for what they miss. To be
    /// said before the step begins. The last 256 ids are remembered, fewer when
    /// endpoints share a place; 0 messages forgets the step. Nothing but the time
    /// of retransmissions depends on it.
    pub fn register_round(&self, id: u16, messages: u16) -> Result<(), PostError> {
        self.shared.has(sizes2::NO_ROUNDS)?;
        let _alive = self.shared.lives.alive(self.life)?;
        let value = u32::from(messages) << 16 | u32::from(id);
        Ok(self.shared.device.write(self.doorbell(regs::DOORBELL_ROUND), value)?)
    }

    /// Posts a receive for a message of exactly this tag. Among equal tags the
    /// receive posted first is taken first.
    ///
    /// [`CompletionEvent::Posted`](crate::CompletionEvent) tells that it is in
    /// place. A message of that tag told of as `Unexpected` *before* came first:
    /// it is that receive's, which is to be [cancelled](Self::cancel). Without
    /// room in the NIC the receive ends with [`Status::NoTagSpace`](crate::Status).
    pub fn post_tagged_recv(&mut self, tag: u64, request: &RecvRequest<'_>) -> Result<(), PostError> {
        match &mut self.recvs {
            Receives::Own(ring) if self.options.tags => {
                ring.post_recv(&self.shared, self.index, request, Some(tag))
            }
            _ => Err(PostError::NoTags),
        }
    }

    /// Takes back the tagged receive of this work id, once its `Posted` has been
    /// polled. The end is told as [`CompletionEvent::Cancelled`](crate::CompletionEvent):
    /// with success the NIC will never touch the buffer; else a message has
    /// matched, and its end comes as always.
    ///
    /// It takes a place of the ring, as a receive does: who posts as many receives as
    /// the ring has places can cancel none.
    pub fn cancel(&mut self, tag: u64, work_id: u64) -> Result<(), PostError> {
        match &mut self.recvs {
            Receives::Own(ring) if self.options.tags => ring.cancel(&self.shared, self.index, (tag, work_id)),
            _ => Err(PostError::NoTags),
        }
    }

    fn of(&self) -> (&Shared, u32) {
        (&self.shared, self.life)
    }

    fn doorbell(&self, register: u32) -> u32 {
        regs::doorbell_page(self.index as u32) + register
    }
}

impl Endpoint {
    /// Destroys the endpoint: its sends end, their receivers are told, messages it
    /// was receiving are aborted, and receives not taken are forgotten. Returns when
    /// the NIC holds nothing of it: from then on no memory that only its requests
    /// named is read or written, and may be deregistered. What ends so completes
    /// for nobody: [`CompletionQueue::poll`] skips it. That goes for receives of a
    /// shared ring too, if messages of this endpoint had taken them.
    ///
    /// # Errors
    /// If the device fails, or does not let go of something in time: the memory that
    /// its requests named must then stay as it is until the NIC is reset. Its number and
    /// rings come back as soon as the NIC is found to have let go, when something is
    /// created or destroyed.
    pub fn destroy(mut self) -> Result<(), DestroyError> {
        self.give_back()
    }

    fn give_back(&mut self) -> Result<(), DestroyError> {
        self.destroyed = true;
        let [send_queue, recv_queue] = &self.queues;
        send_queue.attached.detach(self.index as u16, None);
        match &self.recvs {
            Receives::Own(_) => recv_queue.attached.detach(self.index as u16, Some(self.ring_index)),
            Receives::Shared(ring) => {
                recv_queue.attached.leave(self.index as u16, self.ring_index, ring.outstanding());
            }
        }
        // What is said to peers at the end still carries its number and Q_Key, and
        // completions their queue and ring. What still comes in takes no more than before.
        let (own_ring, shared_ring) = match &self.recvs {
            Receives::Own(ring) => (Some(ring.leaving()), None),
            Receives::Shared(_) => (None, Some(self.ring_index)),
        };
        let closed = Word::new()
            .with(regs::endpoint::DATAGRAM, (self.options.kind == EndpointKind::Datagrams).into())
            .with(regs::endpoint::NUMBER_HI, (self.number >> 8).into())
            .with(regs::endpoint::QKEY, self.options.qkey.into())
            .with(regs::endpoint::SEND_CQ, send_queue.index as u64)
            .with(regs::endpoint::RECV_CQ, recv_queue.index as u64)
            .with(regs::endpoint::RX_QUOTA, self.options.rx_quota.into())
            .with(regs::endpoint::SHARES, shared_ring.is_some().into())
            .with(regs::endpoint::SHARED_RING, shared_ring.unwrap_or(0).into());
        let rings = [Some(self.sends.leaving()), own_ring];
        let queues = self.queues.to_vec();
        let leaving = Leaving { index: self.index, rings, queues, shared_ring };
        self.shared.reclaim(self.life, leaving, self.number, closed)
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        if !self.destroyed {
            // What stays in the NIC stays mapped: nobody is there to be told.
            let _ = self.give_back();
        }
    }
}
