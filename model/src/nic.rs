//! A whole NIC without I/O.
//!
//! Calls fall in four groups, in the manner of sans-io protocol crates:
//!
//! | group | calls |
//! |---|---|
//! | set-up | [`Nic::new`], [`Nic::set_endpoint`], [`Nic::set_key`] |
//! | inputs, with the time | [`Nic::post_send`], [`Nic::post_recv`], [`Nic::handle_frame`] or [`Nic::handle_packet`], [`Nic::handle_timeout`] |
//! | outputs | [`Nic::poll_transmit`] or [`Nic::poll_packet`], [`Nic::poll_write`], [`Nic::poll_completion`], [`Nic::poll_timeout`] |
//! | gauges | [`Nic::counters`], [`Nic::receiver`], [`Nic::sender`] |
//!
//! After any input, drain the outputs; call [`Nic::poll_transmit`] as often as
//! the link has room. Of things due at one tick the order is arrival, host,
//! timer, and it is the caller who keeps it.

use std::collections::BTreeMap;

use tessera_abi::params::{Config, MAX_FRAME};
use tessera_abi::queue::DONE_RECV;
use tessera_abi::regs::Counter;
use tessera_abi::status::{Drop, Status};
use tessera_abi::wire::{self, fb, flag, MessageId, ReleaseHeader, Route, Trh, SPORT_BASE};

use crate::chunks::Order;
use crate::counters::Counters;
use crate::datagram::{self, Datagrams, Outbound};
use crate::feedback::{Outgoing, Releasing};
use crate::io::{Bare, Header, Leaving, Memory, Output, Reading, Write};
use crate::path_scheduler::{PacketKind, PathScheduler};
use crate::queue::{Completion, RecvEntry, RecvKind, SendEntry};
use crate::receiver::{Packet, Receiver};
use crate::rx_parse::{self, Inbound};
use crate::sender::{self, Chosen, Request, Sender};
use crate::settings::{Endpoint, Identity, MemoryKey, Right, Settings, SettingsError};
use crate::Ticks;

/// Why a post was refused before it became an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PostError {
    /// No such endpoint.
    #[error("endpoint {0:#08x} does not exist; create it first")]
    NoEndpoint(u32),
    /// No such ring.
    #[error("shared ring {0} does not exist; create it first")]
    NoRing(u16),
}

/// The model of one NIC.
#[derive(Clone, Debug, Hash)]
pub struct Nic {
    sizes: Config,
    settings: Settings,
    identity: Identity,
    enabled: bool,
    endpoints: BTreeMap<u16, Endpoint>,
    /// Destroyed ones, whose last words still name them.
    gone: BTreeMap<u16, Endpoint>,
    shared_rings: BTreeMap<u16, u16>,
    keys: BTreeMap<u8, MemoryKey>,
    sends: BTreeMap<u16, u16>,
    recvs: BTreeMap<u16, u16>,
    receiver: Receiver,
    sender: Sender,
    datagrams: Datagrams,
    /// The next packet is a datagram's, if one waits.
    datagram_turn: bool,
    paths: PathScheduler,
    out: Output,
}

impl Nic {
    /// An enabled NIC of the given sizes.
    pub fn new(config: &Config, identity: Identity, settings: Settings) -> Result<Self, SettingsError> {
        settings.check()?;
        let settings = settings.as_taken_by(config);
        Ok(Self {
            sizes: *config,
            settings,
            identity,
            enabled: true,
            endpoints: BTreeMap::new(),
            gone: BTreeMap::new(),
            shared_rings: BTreeMap::new(),
            keys: BTreeMap::new(),
            sends: BTreeMap::new(),
            recvs: BTreeMap::new(),
            receiver: Receiver::new(config, &settings),
            sender: Sender::new(config, &settings),
            datagrams: Datagrams::default(),
            datagram_turn: false,
            paths: PathScheduler::new(&settings),
            out: Output::default(),
        })
    }

    /// CONTROL.enable: while false every packet is refused as `disabled`.
    pub fn set_enabled(&mut self, enabled: bool) {
        self.enabled = enabled;
    }

    /// Resets the NIC at work. It is disabled and has no table entries afterwards;
    /// settings are taken as written again, as they were. What it has written and
    /// completed stays to be polled.
    //= RS-1
    //= RS-2
    pub fn reset(&mut self) {
        self.sender.reset(&self.sizes);
        self.receiver = Receiver::new(&self.sizes, &self.settings);
        self.datagrams = Datagrams::default();
        self.datagram_turn = false;
        self.paths = PathScheduler::new(&self.settings);
        self.enabled = false;
        self.endpoints.clear();
        self.gone.clear();
        self.shared_rings.clear();
        self.keys.clear();
        self.sends.clear();
        self.recvs.clear();
        self.out.feedback.clear();
        self.out.releases.clear();
        self.out.echoes.clear();
    }

    /// Writes an endpoint table entry.
    pub fn set_endpoint(&mut self, endpoint: Endpoint) {
        let endpoint = endpoint.as_taken_by(&self.sizes);
        self.receiver.set_tenant(&endpoint);
        self.sender.set_quota(endpoint.index(), endpoint.tx_quota);
        self.endpoints.insert(endpoint.index(), endpoint);
    }

    /// Destroys endpoint `number`: what it sends and receives ends.
    //= RE-1
    //= RE-2
    pub fn destroy_endpoint(&mut self, now: Ticks, number: u32) -> Result<(), PostError> {
        let endpoint = self.endpoint(number)?;
        let index = endpoint.index();
        self.endpoints.remove(&index);
        self.gone.insert(index, endpoint);
        self.sends.remove(&index);
        self.recvs.remove(&index);
        self.sender.flush(now, number, &mut self.out);
        self.receiver.destroy(now, index, &mut self.out);
        Ok(())
    }

    /// Writes an endpoint table entry that is a shared ring and nothing else.
    //= RO-10
    pub fn set_shared_ring(&mut self, index: u16, pd: u16) {
        self.shared_rings.insert(index, pd);
    }

    /// Writes a key table entry.
    pub fn set_key(&mut self, key: MemoryKey) {
        self.keys.insert((key.key & 0xFF) as u8, key);
    }

    /// Writes a place of path policy `weighted`.
    pub fn set_path_place(&mut self, place: u8, k: u8) {
        self.paths.set_place(place, k);
    }

    /// Clears a key table entry: a region is deregistered.
    pub fn revoke_key(&mut self, key: u32) {
        self.keys.remove(&((key & 0xFF) as u8));
    }

    fn permits(&self, pd: u16, key: u32, (address, length): (u64, u32), right: Right) -> bool {
        let held = self.keys.get(&((key & 0xFF) as u8)).filter(|held| held.key == key && held.pd == pd);
        length == 0 || held.is_some_and(|held| held.covers(address, length) && held.has(right))
    }

    fn endpoint(&self, number: u32) -> Result<Endpoint, PostError> {
        let index = (number & 0xFF) as u16;
        let endpoint = self.endpoints.get(&index).filter(|endpoint| endpoint.number == number);
        endpoint.copied().ok_or(PostError::NoEndpoint(number))
    }

    /// Posts a send entry of endpoint `number`; returns its running index. A
    /// refused entry ends in a completion, as from hardware.
    pub fn post_send(&mut self, now: Ticks, number: u32, entry: SendEntry) -> Result<u16, PostError> {
        let endpoint = self.endpoint(number)?;
        let entry = entry.as_taken_by(&self.sizes);
        let next = self.sends.entry(endpoint.index()).or_default();
        let index = *next;
        *next = next.wrapping_add(1);
        let count =
            if endpoint.datagram { datagram::well_formed(&entry).then_some(1) } else { entry.count() };
        let permitted = self.permits(endpoint.pd, entry.lkey, (entry.address, entry.length), Right::Any);
        let refused = match count {
            None => Some(Status::BadRequest),
            Some(_) if !permitted => Some(Status::LocalProtection),
            Some(_) => None,
        };
        if let Some(status) = refused {
            let done = if endpoint.datagram {
                datagram::ended(now, &entry, &endpoint, index, status as u8)
            } else {
                sender::completion(now, &entry, number, index, status as u8)
            };
            self.out.completions.push_back(done);
            return Ok(index);
        }
        let count = count.unwrap_or(1);
        if endpoint.datagram {
            self.datagrams.waiting.push_back(Outbound { entry, local: endpoint, index });
            return Ok(index);
        }
        self.sender.post(now, Request { entry, local: number, index, count }, &mut self.out);
        Ok(index)
    }

    /// Posts a receive entry of endpoint `number`; returns its running index.
    pub fn post_recv(&mut self, now: Ticks, number: u32, entry: RecvEntry) -> Result<u16, PostError> {
        let endpoint = self.endpoint(number)?;
        Ok(self.post_to_ring(now, (endpoint.index(), endpoint.pd), entry))
    }

    /// Posts a receive entry to a shared ring; returns its running index.
    //= RO-10
    pub fn post_shared_recv(&mut self, now: Ticks, ring: u16, entry: RecvEntry) -> Result<u16, PostError> {
        let pd = *self.shared_rings.get(&ring).ok_or(PostError::NoRing(ring))?;
        Ok(self.post_to_ring(now, (ring, pd), entry))
    }

    fn post_to_ring(&mut self, now: Ticks, (ring, pd): (u16, u16), entry: RecvEntry) -> u16 {
        let next = self.recvs.entry(ring).or_default();
        let index = *next;
        *next = next.wrapping_add(1);
        let cancels = matches!(entry.kind, RecvKind::Cancel { .. });
        if cancels || self.permits(pd, entry.lkey, (entry.address, entry.length), Right::LocalWrite) {
            self.receiver.post(now, ring, index, entry, &mut self.out);
        } else {
            let status = Status::LocalProtection;
            self.out.completions.push_back(Completion::of_entry(now, DONE_RECV, status, ring, index));
        }
        index
    }

    /// Registers a round of endpoint `number` that needs so many messages.
    pub fn register_round(
        &mut self,
        now: Ticks,
        number: u32,
        id: u16,
        messages: u16,
    ) -> Result<(), PostError> {
        let endpoint = self.endpoint(number)?;
        if self.sizes.rounds {
            self.receiver.register_round(now, (endpoint.index() as u8, id), messages);
        }
        Ok(())
    }

    /// The host's order for a host-recovered message: RECOVER_MESSAGE and the value
    /// of RECOVER_ORDER. Whether it met its message.
    //= HR-5
    pub fn recover(&mut self, now: Ticks, handle: u32, order: u32) -> bool {
        self.receiver.recover(now, MessageId(handle), Order::of(order), &mut self.out)
    }

    /// A frame (without FCS) whose last byte arrived at `now`. `Err` names the
    /// one reason it was counted under.
    //= RX-7
    pub fn handle_frame(&mut self, now: Ticks, frame: &[u8]) -> Result<(), Drop> {
        self.out.counters.event(Counter::RxFrames);
        let find = |index| self.endpoints.get(&index).copied();
        let judged = rx_parse::judge(frame, &self.sizes, &self.identity, find);
        self.take(now, judged)
    }

    /// A packet of a reliable message that arrived at `now` as another NIC's
    /// [`poll_packet`](Self::poll_packet) gave it, with or without a mark of congestion.
    /// What only damage on the way could make wrong is not looked at.
    pub fn handle_packet(&mut self, now: Ticks, packet: &Bare, ce: bool) -> Result<(), Drop> {
        self.out.counters.event(Counter::RxFrames);
        let judged = rx_parse::judge_bare(packet, ce, |index| self.endpoints.get(&index).copied());
        self.take(now, judged)
    }

    fn take(&mut self, now: Ticks, judged: Result<Inbound, Drop>) -> Result<(), Drop> {
        let result = match judged {
            Err(reason) => Err(reason),
            Ok(_) if !self.enabled => Err(Drop::Disabled),
            Ok(Inbound::Data(origin, header, payload)) => {
                //= WR-1
                let permitted = header.flags & flag::WRITE == 0
                    || self.permits(
                        origin.local.pd,
                        header.rkey,
                        (header.tag, header.length),
                        Right::RemoteWrite,
                    );
                self.out.counters.event(if header.probe { Counter::RxProbe } else { Counter::RxData });
                let packet = Packet { origin, header, payload, permitted };
                self.receiver.handle(now, &packet, &mut self.out)
            }
            Ok(Inbound::Feedback(origin, header)) => {
                self.out.counters.event(Counter::RxFeedback);
                self.sender.handle(now, &origin, &header, &mut self.out)
            }
            Ok(Inbound::Release(origin, header)) => {
                self.out.counters.event(Counter::RxRelease);
                self.receiver.release(now, &origin, header.message, &mut self.out)
            }
            Ok(Inbound::Datagram(origin, datagram)) => {
                self.out.counters.event(Counter::RxUd);
                self.receiver.deliver(now, &origin, &datagram, &mut self.out)
            }
        };
        while let Some((gid, ev, ce)) = self.out.echoes.pop_front() {
            self.paths.echo(gid, ev, ce);
        }
        if let Err(reason) = result {
            self.out.counters.drop(reason);
        }
        result
    }

    /// Everything due at `now`.
    pub fn handle_timeout(&mut self, now: Ticks) {
        self.receiver.handle_timeout(now, &mut self.out);
        self.sender.handle_timeout(now, &mut self.out);
    }

    /// When [`Nic::handle_timeout`] wants to be called.
    pub fn poll_timeout(&self) -> Option<Ticks> {
        [self.receiver.next_timeout(), self.sender.next_timeout()].into_iter().flatten().min()
    }

    /// The next frame, leaving at `now`.
    pub fn poll_transmit(&mut self, now: Ticks, memory: &mut impl Memory) -> Option<Vec<u8>> {
        let mut payload = Vec::new();
        let mut read = |address, length| {
            payload.resize(length, 0);
            length == 0 || memory.read(address, &mut payload).is_ok()
        };
        let leaving = self.next_leaving(now, &mut read)?;
        let mut bytes = vec![0; MAX_FRAME];
        let length = match &leaving.header {
            Header::Message(trh) => wire::emit(&leaving.route, trh, &payload, &mut bytes),
            Header::Datagram(immediate) => {
                wire::emit_datagram(&leaving.route, *immediate, &payload, &mut bytes)
            }
        }?;
        bytes.truncate(length);
        Some(bytes)
    }

    /// The next packet, leaving at `now`, where nobody wants its bytes: memory is
    /// not read. For NICs without plain UD endpoints, whose datagrams are passed over.
    pub fn poll_packet(&mut self, now: Ticks) -> Option<Bare> {
        loop {
            let leaving = self.next_leaving(now, &mut |_, _| true)?;
            if let Header::Message(trh) = leaving.header {
                return Some(Bare { route: leaving.route, trh, payload: leaving.payload });
            }
        }
    }

    /// `read`: whether so many bytes from an address on could be read.
    //= TX-8
    fn next_leaving(&mut self, now: Ticks, read: &mut Reading) -> Option<Leaving> {
        if let Some(outgoing) = self.out.feedback.pop_front() {
            return Some(self.transmit_feedback(now, &outgoing));
        }
        if let Some(releasing) = self.out.releases.pop_front() {
            return self.transmit_release(now, &releasing);
        }
        //= UD-5
        loop {
            self.datagram_turn = !self.datagram_turn;
            let mut outbound = None;
            if self.datagram_turn {
                outbound = self.datagrams.waiting.pop_front();
            }
            let chosen = if outbound.is_none() { self.sender.choose() } else { None };
            let leaving = match (outbound, chosen) {
                (Some(outbound), _) => self.transmit_datagram(now, &outbound, read),
                (None, Some(chosen)) => self.transmit_data(now, &chosen, read),
                (None, None) => {
                    let outbound = self.datagrams.waiting.pop_front()?;
                    self.transmit_datagram(now, &outbound, read)
                }
            };
            if leaving.is_some() {
                return leaving;
            }
        }
    }

    //= §6
    fn route(&mut self, mac: [u8; 6], vlan: Option<u16>, gid: [u8; 16], ev: u8) -> Route {
        let sport = SPORT_BASE + ev as u16;
        Route {
            dst_mac: mac,
            src_mac: self.identity.mac,
            vlan,
            src_gid: self.identity.gid_towards(&gid),
            dst_gid: gid,
            //= TX-16
            tos: self.settings.tos(None),
            hop_limit: wire::TTL,
            flow_label: if wire::gid_ipv4(&gid).is_some() { 0 } else { sport as u32 },
            sport,
            pkey: self.identity.pkey,
            dst_endpoint: 0,
            psn: 0,
            qkey: 0,
            src_endpoint: 0,
        }
    }

    /// The entropy value of a packet, and whether it is to carry AR.
    fn path(&mut self, gid: [u8; 16], kind: PacketKind) -> (u8, bool) {
        let chosen = self.paths.take(gid, kind);
        if chosen.recycled {
            self.out.counters.event(Counter::TxRecycled);
        }
        (chosen.ev, chosen.asks)
    }

    fn transmit_feedback(&mut self, now: Ticks, outgoing: &Outgoing) -> Leaving {
        let reply = outgoing.reply;
        let ev = self.path(reply.gid, PacketKind::Feedback).0;
        let mut route = self.route(reply.mac, reply.vlan, reply.gid, ev);
        route.dst_endpoint = reply.endpoint;
        route.src_endpoint = reply.local;
        route.qkey = reply.qkey;
        let header = outgoing.at(now);
        self.out.counters.event(Counter::TxFeedback);
        if header.flags & fb::NACK != 0 {
            self.out.counters.event(Counter::TxNack);
        }
        Leaving { route, header: Header::Message(Trh::Feedback(header)), payload: 0 }
    }

    //= RL-1
    fn transmit_release(&mut self, now: Ticks, releasing: &Releasing) -> Option<Leaving> {
        let Releasing { mac, vlan, gid, endpoint, local, message } = *releasing;
        let ev = self.path(gid, PacketKind::Feedback).0;
        let mut route = self.route(mac, vlan, gid, ev);
        route.dst_endpoint = endpoint;
        route.src_endpoint = local;
        let index = (local & 0xFF) as u16;
        let known = [self.endpoints.get(&index), self.gone.get(&index)];
        route.qkey = known.into_iter().flatten().find(|endpoint| endpoint.number == local)?.qkey;
        self.out.counters.event(Counter::TxRelease);
        let trh = Trh::Release(ReleaseHeader { ev, message, timestamp: now as u32 });
        Some(Leaving { route, header: Header::Message(trh), payload: 0 })
    }

    fn transmit_data(&mut self, now: Ticks, chosen: &Chosen, read: &mut Reading) -> Option<Leaving> {
        let slot = self.sender.slot(chosen.slot)?;
        let (entry, local) = (slot.entry, slot.local);
        let payload = if chosen.probe {
            0
        } else {
            wire::payload_len(entry.length, entry.payload_log2, chosen.index) as usize
        };
        let address = entry.address + ((chosen.index as u64) << entry.payload_log2);
        if !read(address, payload) {
            self.out.counters.event(Counter::DmaErrors);
            self.sender.end(now, chosen.slot, Status::LocalDma as u8, &mut self.out);
            return None;
        }
        let kind = match (chosen.probe, chosen.again) {
            (true, _) => PacketKind::Probe,
            (_, true) => PacketKind::Retransmission,
            _ => PacketKind::New,
        };
        let (ev, asks) = self.path(entry.gid, kind);
        let mut header = self.sender.emit(now, chosen, ev, &mut self.out)?;
        //= TX-2
        if asks {
            header.flags |= flag::AR;
        }
        let mut route = self.route(entry.mac, entry.vlan, entry.gid, ev);
        route.dst_endpoint = entry.endpoint;
        route.src_endpoint = local;
        route.qkey = entry.qkey;
        route.psn = header.index;
        route.tos = self.settings.tos(Some(entry.length));
        Some(Leaving { route, header: Header::Message(Trh::Data(header)), payload })
    }

    //= UD-4
    fn transmit_datagram(&mut self, now: Ticks, outbound: &Outbound, read: &mut Reading) -> Option<Leaving> {
        let entry = &outbound.entry;
        let payload = entry.length as usize;
        if !read(entry.address, payload) {
            self.out.counters.event(Counter::DmaErrors);
            let status = Status::LocalDma as u8;
            let done = datagram::ended(now, entry, &outbound.local, outbound.index, status);
            self.out.completions.push_back(done);
            return None;
        }
        // Nothing of a datagram comes back.
        let ev = self.path(entry.gid, PacketKind::Feedback).0;
        let route = Route {
            tos: entry.traffic_class,
            hop_limit: outbound.hop_limit(),
            dst_endpoint: entry.endpoint,
            src_endpoint: outbound.local.number,
            qkey: outbound.qkey(),
            psn: self.datagrams.next_number(outbound.local.index()),
            ..self.route(entry.mac, entry.vlan, entry.gid, ev)
        };
        datagram::sent(now, outbound, &mut self.out);
        Some(Leaving { route, header: Header::Datagram(entry.immediate), payload })
    }

    /// The next payload write.
    pub fn poll_write(&mut self) -> Option<Write> {
        self.out.writes.pop_front()
    }

    /// The next completion; every write of its message was handed out before,
    /// provided writes are drained first.
    pub fn poll_completion(&mut self) -> Option<Completion> {
        self.out.completions.pop_front()
    }

    /// Counters.
    pub fn counters(&self) -> &Counters {
        &self.out.counters
    }

    /// The receiving half, for its gauges.
    pub fn receiver(&self) -> &Receiver {
        &self.receiver
    }

    /// The sending half, for its gauges.
    pub fn sender(&self) -> &Sender {
        &self.sender
    }

    /// The sending half, for tests that set generations.
    pub fn sender_mut(&mut self) -> &mut Sender {
        &mut self.sender
    }
}
