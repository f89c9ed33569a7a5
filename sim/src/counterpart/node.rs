//! A counterpart's NIC: host delays, link, one connection per peer.
//!
//! ```text
//!  post ─read entry─> connection ─pick─> read payload (in order, prefetched) ─┐
//!                         ▲  │                                               ├─> link, a beat per clock
//!  frames in ─> ICRC ─────┘  └ replies ──────────────────────── first ───────┘
//!                └> bytes, after write of payload and of completion ─> done
//! ```
//!
//! Delays and prefetch are those of `nic`'s default host and of `nic512`'s
//! transmit buffer. A packet occupies the node for some clocks at its start,
//! processing takes no time otherwise.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::frame::{self, Frame, Place, Reply, Request};
use super::{go_back_n, selective_repeat, Kind, Parameters, Requester, Responder};

/// Bytes per clock of the link.
const BEAT: usize = 64;
/// Bytes being read or waiting for the link: `nic512`'s buffer.
const PREFETCH: usize = 512 * BEAT;
/// Clocks that these take.
pub(super) const PREFETCH_CLOCKS: u64 = (PREFETCH / BEAT) as u64;

/// A message's bytes: part of a buffer that many may share.
#[derive(Clone, Debug)]
pub struct Content {
    /// The buffer.
    pub buffer: Arc<Vec<u8>>,
    /// Which part.
    pub range: Range<usize>,
}

/// A message delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// Who sent it.
    pub from: usize,
    /// Which of that node's messages to this one, from 0.
    pub number: u64,
    /// Clock of its completion.
    pub at: u64,
    /// What arrived.
    pub bytes: Vec<u8>,
}

/// A message being sent.
struct Outgoing {
    first: u64,
    packets: u64,
    number: u32,
    content: Content,
}

/// A message being received.
struct Incoming {
    /// PSN of its last packet.
    last: u64,
    bytes: Vec<u8>,
}

/// The connection with one peer.
struct Peer {
    requester: Box<dyn Requester>,
    responder: Box<dyn Responder>,
    /// Messages not acknowledged whole, oldest first.
    outgoing: VecDeque<Outgoing>,
    /// Messages posted, and PSNs given to them.
    posted: u32,
    offered: u64,
    /// Bytes so far of a message taken in order.
    current: Vec<u8>,
    /// Messages taken out of order, by number.
    incoming: BTreeMap<u32, Incoming>,
    received: u64,
    /// Clock of the latest completion.
    completed: u64,
    ev: u8,
}

/// A frame whose payload is being read.
struct Prefetch {
    ready: u64,
    bytes: Vec<u8>,
}

/// See the module's page.
pub struct Node {
    number: usize,
    parameters: Parameters,
    rng: Pcg64Mcg,
    clock: u64,
    peers: Vec<Peer>,
    /// Posted entries on their way: when read, for whom.
    entries: VecDeque<(u64, usize, Content)>,
    arrivals: VecDeque<(u64, Vec<u8>)>,
    replies: VecDeque<Vec<u8>>,
    prefetches: VecDeque<Prefetch>,
    prefetched: usize,
    /// The peer that is asked first for a packet.
    turn: usize,
    sprayed: u64,
    link_free: u64,
    /// When the next packet may be started.
    start_free: u64,
    sent: Vec<(u64, Vec<u8>)>,
    /// Delivered, to be seen by the host at its time.
    pending: Vec<Done>,
    done: Vec<Done>,
    timeouts: u64,
}

impl Node {
    pub(super) fn new(number: usize, nodes: usize, parameters: &Parameters) -> Self {
        let mut rng = Pcg64Mcg::seed_from_u64(parameters.seed.wrapping_mul(31).wrapping_add(number as u64));
        let peer = |_| {
            let (requester, responder): (Box<dyn Requester>, Box<dyn Responder>) = match parameters.kind {
                Kind::GoBackN => (
                    Box::new(go_back_n::Sender::new(parameters)),
                    Box::new(go_back_n::Receiver::new(parameters)),
                ),
                Kind::SelectiveRepeat => (
                    Box::new(selective_repeat::Sender::new(parameters)),
                    Box::new(selective_repeat::Receiver::new(parameters)),
                ),
            };
            Peer {
                requester,
                responder,
                outgoing: VecDeque::new(),
                posted: 0,
                offered: 0,
                current: Vec::new(),
                incoming: BTreeMap::new(),
                received: 0,
                completed: 0,
                ev: rng.random_range(0..parameters.paths.clamp(1, 256)) as u8,
            }
        };
        let peers = (0..nodes).map(peer).collect();
        Self {
            number,
            parameters: *parameters,
            rng,
            clock: 0,
            peers,
            entries: VecDeque::new(),
            arrivals: VecDeque::new(),
            replies: VecDeque::new(),
            prefetches: VecDeque::new(),
            prefetched: 0,
            turn: 0,
            sprayed: 0,
            link_free: 0,
            start_free: 0,
            sent: Vec::new(),
            pending: Vec::new(),
            done: Vec::new(),
            timeouts: 0,
        }
    }

    /// A frame of the path that the connection with `to` keeps.
    pub(super) fn sample(&self, to: usize) -> Vec<u8> {
        Reply { psn: 0, nak: false, selective: 0 }.emit(self.number, to, self.peers[to].ev)
    }

    /// Timeouts, low and high, of the connection with `to`.
    pub(super) fn set_timeouts(&mut self, to: usize, timeouts: [u64; 2]) {
        self.peers[to].requester.set_timeouts(timeouts);
    }

    fn delay(&mut self, (least, most): (u64, u64)) -> u64 {
        self.rng.random_range(least..=most)
    }

    pub(super) fn timeouts(&self) -> u64 {
        self.timeouts
    }

    pub(super) fn post(&mut self, to: usize, content: Content) {
        let ready = self.clock + self.delay(self.parameters.read_delay);
        let ready = self.entries.back().map_or(ready, |&(before, ..)| before.max(ready));
        self.entries.push_back((ready, to, content));
    }

    /// A frame whose first beat comes at clock `at`.
    pub(super) fn receive(&mut self, at: u64, bytes: Vec<u8>) {
        let end = at + bytes.len().div_ceil(BEAT) as u64;
        self.arrivals.push_back((end, bytes));
    }

    /// Frames that left, with the clock of their last beat.
    pub(super) fn take_sent(&mut self) -> Vec<(u64, Vec<u8>)> {
        std::mem::take(&mut self.sent)
    }

    /// Messages whose completion the host has seen.
    pub(super) fn take_done(&mut self) -> Vec<Done> {
        std::mem::take(&mut self.done)
    }

    pub(super) fn run(&mut self, until: u64) {
        while self.clock < until {
            self.step();
            self.clock = self.next_event().clamp(self.clock + 1, until);
        }
        let (done, pending) = std::mem::take(&mut self.pending).into_iter().partition(|d| d.at < until);
        (self.done, self.pending) = (done, pending);
    }

    fn next_event(&self) -> u64 {
        let link = match self.replies.is_empty() {
            false => Some(self.link_free),
            true => self.prefetches.front().map(|prefetch| prefetch.ready.max(self.link_free)),
        };
        let arrival = self.arrivals.front().map(|&(at, _)| at);
        let entry = self.entries.front().map(|&(ready, ..)| ready);
        let start = (self.start_free > self.clock && self.prefetched < PREFETCH).then_some(self.start_free);
        let deadline = self.peers.iter().filter_map(|peer| peer.requester.deadline()).min();
        [link, arrival, entry, start, deadline].into_iter().flatten().min().unwrap_or(u64::MAX)
    }

    fn step(&mut self) {
        let now = self.clock;
        while self.arrivals.front().is_some_and(|&(at, _)| at <= now) {
            if let Some((at, bytes)) = self.arrivals.pop_front() {
                self.arrived(at, &bytes);
            }
        }
        for peer in &mut self.peers {
            if peer.requester.deadline().is_some_and(|deadline| deadline <= now) {
                peer.requester.expire(now);
                self.timeouts += 1;
            }
        }
        while self.entries.front().is_some_and(|&(ready, ..)| ready <= now) {
            if let Some((_, to, content)) = self.entries.pop_front() {
                let packets = content.range.len().div_ceil(self.parameters.payload).max(1) as u64;
                let peer = &mut self.peers[to];
                let (first, number) = (peer.offered, peer.posted);
                peer.outgoing.push_back(Outgoing { first, packets, number, content });
                peer.offered += packets;
                peer.posted = peer.posted.wrapping_add(1);
                peer.requester.offer(packets);
            }
        }
        self.transmit(now);
        self.prefetch(now);
    }

    fn transmit(&mut self, now: u64) {
        if self.link_free > now {
            return;
        }
        let ready = self.prefetches.front().is_some_and(|prefetch| prefetch.ready <= now);
        let bytes = match self.replies.pop_front() {
            Some(reply) => reply,
            None if ready => {
                let Some(prefetch) = self.prefetches.pop_front() else { return };
                self.prefetched -= prefetch.bytes.len();
                prefetch.bytes
            }
            None => return,
        };
        self.link_free = now + bytes.len().div_ceil(BEAT) as u64;
        self.sent.push((self.link_free - 1, bytes));
    }

    /// Entropy value of a frame to `to`.
    fn ev(&mut self, to: usize) -> u8 {
        match self.parameters.spray {
            Some(paths) => {
                self.sprayed += 1;
                (self.sprayed % u64::from(paths.max(1))) as u8
            }
            None => self.peers[to].ev,
        }
    }

    /// Starts reads of payload while there is room for it.
    fn prefetch(&mut self, now: u64) {
        let peers = self.peers.len();
        let mut idle = 0;
        while idle < peers && self.prefetched < PREFETCH && self.start_free <= now {
            let to = self.turn;
            self.turn = (self.turn + 1) % peers;
            let Some(pick) = self.peers[to].requester.next(now) else {
                idle += 1;
                continue;
            };
            idle = 0;
            self.start_free = now + self.parameters.packet_clocks;
            let ev = self.ev(to);
            let ready = now + self.delay(self.parameters.read_delay);
            let ready = self.prefetches.back().map_or(ready, |before| before.ready.max(ready));
            let size = self.parameters.payload;
            let placed = self.parameters.kind == Kind::SelectiveRepeat;
            let peer = &mut self.peers[to];
            let acknowledged = peer.requester.acknowledged();
            while peer.outgoing.front().is_some_and(|old| old.first + old.packets <= acknowledged) {
                peer.outgoing.pop_front();
            }
            let at = peer.outgoing.partition_point(|message| message.first + message.packets <= pick.psn);
            let Some(message) = peer.outgoing.get(at) else { continue };
            let index = pick.psn - message.first;
            let Range { start, end } = message.content.range;
            let from = start + index as usize * size;
            let payload = &message.content.buffer[from..end.min(from + size)];
            let last = index + 1 == message.packets;
            let place = Place { message: message.number, length: (end - start) as u32, index: index as u32 };
            let request = Request {
                psn: pick.psn as u32,
                first: index == 0,
                last,
                ack_request: last,
                again: pick.again,
                place: placed.then_some(place),
                payload,
            };
            let bytes = request.emit(self.number, to, ev);
            self.prefetched += bytes.len();
            self.prefetches.push_back(Prefetch { ready, bytes });
        }
    }

    fn arrived(&mut self, at: u64, bytes: &[u8]) {
        let Some((from, frame)) = frame::parse(bytes) else { return };
        let Some(peer) = self.peers.get_mut(from) else { return };
        let request = match frame {
            Frame::Reply(reply) => return peer.requester.heard(at, reply),
            Frame::Request(request) => request,
        };
        let taken = peer.responder.arrived(request.psn, request.ack_request);
        if taken.fresh {
            self.keep(from, at, &request);
        }
        if let Some(reply) = taken.reply {
            let ev = self.ev(from);
            self.replies.push_back(reply.emit(self.number, from, ev));
        }
    }

    /// Stores a packet's bytes; messages that are whole end in posting order.
    fn keep(&mut self, from: usize, at: u64, request: &Request<'_>) {
        let mut whole = Vec::new();
        let size = self.parameters.payload;
        let peer = &mut self.peers[from];
        match request.place {
            None => {
                peer.current.extend_from_slice(request.payload);
                if request.last {
                    whole.push(std::mem::take(&mut peer.current));
                }
            }
            Some(Place { message, length, index }) => {
                let psn = super::sequence::extend(request.psn, peer.responder.expected());
                let packets = u64::from(length).div_ceil(size as u64).max(1);
                let last = (psn + packets).saturating_sub(1 + u64::from(index));
                let fresh = || Incoming { last, bytes: vec![0; length as usize] };
                let message = peer.incoming.entry(message).or_insert_with(fresh);
                let start = index as usize * size;
                if let Some(place) = message.bytes.get_mut(start..start + request.payload.len()) {
                    place.copy_from_slice(request.payload);
                }
                while let Some(entry) = peer.incoming.first_entry() {
                    if entry.get().last >= peer.responder.expected() {
                        break;
                    }
                    whole.push(entry.remove().bytes);
                }
            }
        }
        for bytes in whole {
            // The payload's last write, then the completion's, behind those before.
            let at = at + self.delay(self.parameters.write_delay) + self.delay(self.parameters.write_delay);
            let peer = &mut self.peers[from];
            let number = peer.received;
            peer.received += 1;
            let at = at.max(peer.completed);
            peer.completed = at;
            self.pending.push(Done { from, number, at, bytes });
        }
    }
}
