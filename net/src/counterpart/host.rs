//! One host: its connections, made when first needed, served in turn.
//!
//! ```text
//!   transmit: answers first, then packets whose context has been fetched, then the ring
//!     ring ─> gap over? ─> packet within the window? ─> context here? ─> sent, back of ring
//!               │no: clock     │no: until it hears        │no: fetch
//! ```
//!
//! Only connections with something to do are looked at: in the ring, in the heap of
//! [`Timers`] or in a fetch. So thousands of idle ones cost memory and no time.

use std::collections::VecDeque;

use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

use super::connection::{Connections, Echo};
use super::qp_cache::QpCache;
use super::spread::Spread;
use super::timers::{Timers, NEVER};
use super::{Answer, Data, Header, Pick, Recovery, Reply, Responder, Wire, CNP};
use crate::congestion::{Congestion, Sample};
use crate::topology::mix;
use crate::transport::{Arrived, Departing, Done, End, Message, Tally, Transport, DATA};
use crate::Ps;

/// Of all hosts.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// Sizes of packets.
    pub wire: Wire,
    /// A connection whose packets are marked says so in a packet of its own, at most
    /// this often; none: answers say it.
    pub cnp_every: Option<Ps>,
    /// Bytes of a connection's state in a NIC.
    pub context: u32,
    /// Of paths.
    pub seed: u64,
}

/// What each connection gets a copy of.
#[derive(Clone, Copy, Debug)]
pub struct Parts<R, A, C, S> {
    /// Sending end.
    pub recovery: R,
    /// Receiving end.
    pub responder: A,
    /// How fast.
    pub congestion: C,
    /// By which path.
    pub spread: S,
}

impl<R: Recovery, A, C, S: Spread> Parts<R, A, C, S> {
    /// Tells the choice of paths which have lost packets.
    #[inline]
    fn blame(&mut self, now: Ps) {
        while let Some(path) = self.recovery.take_lost_path() {
            self.spread.failed(now, path);
        }
    }
}

/// See the module's page.
pub struct Host<R, A, C, S> {
    number: u32,
    setup: Setup,
    parts: Parts<R, A, C, S>,
    connections: Connections<R, A, C, S>,
    ring: VecDeque<u32>,
    /// Those whose context has come for a packet that waits for it.
    fetched: VecDeque<u32>,
    replies: VecDeque<(u32, Header)>,
    timers: Timers,
    /// Of those that have left the ring because of their gap.
    gaps: Timers,
    cache: Option<QpCache>,
    ended: VecDeque<Done>,
    rng: Pcg64Mcg,
    tally: Tally,
}

impl<R: Recovery, A: Responder, C: Congestion, S: Spread> Host<R, A, C, S> {
    /// Host `number`; `cache` bounds how many contexts its NIC holds.
    pub fn new(number: u32, setup: Setup, parts: Parts<R, A, C, S>, cache: Option<QpCache>) -> Self {
        Self {
            number,
            setup,
            parts,
            connections: Connections::new(),
            ring: VecDeque::new(),
            fetched: VecDeque::new(),
            replies: VecDeque::new(),
            timers: Timers::default(),
            gaps: Timers::default(),
            cache,
            ended: VecDeque::new(),
            rng: Pcg64Mcg::seed_from_u64(setup.seed ^ mix(number as u64) as u64),
            tally: Tally::default(),
        }
    }

    /// Connections so far.
    pub fn connections(&self) -> usize {
        self.connections.len()
    }

    fn connection(&mut self, peer: u32, process: u32) -> u32 {
        if let Some(index) = self.connections.find(peer, process) {
            return index;
        }
        let index = self.connections.make(peer, process, &self.parts);
        let held = self.cache.as_ref().map_or(u32::MAX, QpCache::contexts).min(index + 1);
        self.tally.state = held as u64 * self.setup.context as u64;
        index
    }

    /// It may have something to send.
    #[inline]
    fn activate(&mut self, index: u32) {
        let connection = &mut self.connections[index];
        if !connection.queued {
            connection.queued = true;
            self.ring.push_back(index);
        }
    }

    /// Asks to be called when the connection wants it.
    #[inline]
    fn arm(&mut self, index: u32) {
        let connection = &self.connections[index];
        let recovery = connection.parts.recovery.deadline().unwrap_or(NEVER);
        let responder = connection.parts.responder.deadline().unwrap_or(NEVER);
        let due = recovery.min(responder);
        if due < NEVER {
            self.timers.set(index, due);
        }
    }

    fn reply(&mut self, index: u32, answer: Answer) {
        let connection = &self.connections[index];
        let Echo { path, sent_at, ce } = connection.echo;
        let reply = Reply { process: connection.process, answer, path, sent_at, ce };
        self.replies.push_back((connection.peer, Header::Reply(reply)));
    }

    /// A packet of a connection whose context is here.
    fn take(&mut self, now: Ps, index: u32, packet: &Arrived<Header>) {
        match packet.header {
            Header::Data(ref data) => self.take_data(now, index, data, packet.ce),
            Header::Reply(ref reply) => self.take_reply(now, index, reply),
            Header::Congested(_) => self.connections[index].parts.congestion.on_congested(now),
        }
        self.arm(index);
    }

    fn take_data(&mut self, now: Ps, index: u32, data: &Data, ce: bool) {
        let connection = &mut self.connections[index];
        connection.echo = Echo { path: data.path, sent_at: data.sent_at, ce };
        let taken = connection.parts.responder.arrived(now, data);
        if taken.fresh {
            let whole = connection.incoming.take(data);
            if A::IN_ORDER {
                let expected = connection.parts.responder.expected();
                while let Some(id) = connection.incoming.take_in_order(expected) {
                    self.ended.push_back(Done { id, end: End::Delivered });
                }
            } else if let Some(id) = whole {
                connection.incoming.end(id);
                self.ended.push_back(Done { id, end: End::Delivered });
            }
        } else {
            self.tally.twice += 1;
        }
        if let Some(every) = self.setup.cnp_every {
            if ce && now >= connection.cnp_at {
                connection.cnp_at = now + every;
                let header = Header::Congested(connection.process);
                self.replies.push_back((connection.peer, header));
            }
        }
        if let Some(answer) = taken.answer {
            self.reply(index, answer);
        }
    }

    fn take_reply(&mut self, now: Ps, index: u32, reply: &Reply) {
        let connection = &mut self.connections[index];
        let parts = &mut connection.parts;
        let rtt = now.saturating_sub(reply.sent_at);
        let heard = parts.recovery.heard(now, reply);
        parts.congestion.on_ack(now, &Sample { packets: heard.packets, rtt, ce: reply.ce });
        parts.spread.heard(now, reply.path, reply.ce, rtt);
        if heard.lost {
            parts.congestion.on_loss(now, false);
            parts.spread.lost(now);
        }
        parts.blame(now);
        let acknowledged = parts.recovery.acknowledged();
        while let Some(id) = connection.outgoing.take_acknowledged(acknowledged) {
            self.ended.push_back(Done { id, end: End::Acknowledged });
        }
        self.activate(index);
    }

    /// The packet that a connection of the ring sends now; none: it leaves the ring.
    #[inline]
    fn serve(&mut self, now: Ps, index: u32) -> Option<Departing<Header>> {
        let connection = &mut self.connections[index];
        if connection.pending.is_some() {
            return None;
        }
        if connection.next_at > now {
            let at = connection.next_at;
            self.gaps.set(index, at);
            return None;
        }
        let parts = &mut connection.parts;
        let pick = parts.recovery.next(now, parts.congestion.window())?;
        if self.cache.as_mut().is_some_and(|cache| !cache.has(now, index)) {
            connection.pending = Some(pick);
            self.arm(index);
            return None;
        }
        self.depart(now, index, pick)
    }

    /// Fetches contexts of those next in the ring, while packets whose contexts have
    /// come are sent.
    fn prefetch(&mut self, now: Ps) {
        while let (Some(cache), Some(&index)) = (&self.cache, self.ring.front()) {
            if cache.is_busy() || cache.holds(index) || self.fetched.len() >= cache.at_once() {
                return;
            }
            self.ring.pop_front();
            self.connections[index].queued = false;
            // Without its context it sends nothing.
            let _ = self.serve(now, index);
        }
    }

    /// The packet that was picked, if it is still wanted.
    fn depart(&mut self, now: Ps, index: u32, pick: Pick) -> Option<Departing<Header>> {
        let connection = &mut self.connections[index];
        let parts = &mut connection.parts;
        // Acknowledged while it waited for the context.
        let message = *connection.outgoing.of(pick.psn)?;
        let number = pick.psn - message.first;
        let last = number + 1 == message.packets;
        let path = parts.spread.path(now, &mut self.rng);
        parts.recovery.took(pick.psn, path);
        let bytes = self.setup.wire.data(number, message.payload(number));
        parts.congestion.on_sent(now, bytes);
        connection.next_at = now + parts.congestion.gap(bytes);
        let header = Header::Data(Data {
            process: connection.process,
            psn: pick.psn,
            message: message.id,
            index: number,
            packets: message.packets,
            ask: last,
            path,
            sent_at: now,
        });
        let to = connection.peer;
        let label = self.label(to, connection_process(&header), path);
        self.tally.sent += 1;
        self.tally.again += u64::from(pick.again);
        self.arm(index);
        Some(Departing { to, bytes, label, class: DATA, payload: true, trimmable: false, header })
    }

    /// What switches hash: differs from path to path.
    fn label(&self, to: u32, process: u32, path: u16) -> u32 {
        let pair = mix((self.number as u64) << 32 | to as u64);
        mix((pair as u64) << 32 | (process as u64) << 16 ^ path as u64)
    }
}

/// Process of the connection that a packet is of.
fn connection_process(header: &Header) -> u32 {
    match *header {
        Header::Data(ref data) => data.process,
        Header::Reply(ref reply) => reply.process,
        Header::Congested(process) => process,
    }
}

impl<R: Recovery, A: Responder, C: Congestion, S: Spread> Transport for Host<R, A, C, S> {
    type Header = Header;

    fn post(&mut self, _now: Ps, message: &Message) {
        let index = self.connection(message.to, message.process);
        let connection = &mut self.connections[index];
        let packets = connection.outgoing.post(message.id, message.bytes);
        connection.parts.recovery.offer(packets);
        self.activate(index);
    }

    fn receive(&mut self, now: Ps, packet: &Arrived<Header>) {
        let process = connection_process(&packet.header);
        let index = match packet.header {
            Header::Data(_) => self.connection(packet.from, process),
            // Answers to a connection that was never made are nobody's.
            _ => match self.connections.find(packet.from, process) {
                Some(index) => index,
                None => return,
            },
        };
        if self.cache.as_mut().is_some_and(|cache| !cache.has(now, index)) {
            return self.connections[index].held.push_back(*packet);
        }
        self.take(now, index, packet);
    }

    fn expire(&mut self, now: Ps) {
        while let Some(index) = self.cache.as_mut().and_then(|cache| cache.pop(now)) {
            while let Some(packet) = self.connections[index].held.pop_front() {
                self.take(now, index, &packet);
            }
            if self.connections[index].pending.is_some() {
                self.fetched.push_back(index);
            }
        }
        while let Some(index) = self.gaps.pop(now) {
            self.activate(index);
        }
        while let Some(index) = self.timers.pop(now) {
            let connection = &mut self.connections[index];
            let parts = &mut connection.parts;
            if parts.recovery.deadline().is_some_and(|due| due <= now) {
                self.tally.timeouts += 1;
                if parts.recovery.expire(now) {
                    parts.congestion.on_loss(now, true);
                    parts.spread.lost(now);
                }
                parts.blame(now);
                self.activate(index);
            }
            let responder = &mut self.connections[index].parts.responder;
            if responder.deadline().is_some_and(|due| due <= now) {
                if let Some(answer) = responder.expire(now) {
                    self.reply(index, answer);
                }
            }
            self.arm(index);
        }
    }

    fn deadline(&self) -> Option<Ps> {
        let fetch = self.cache.as_ref().and_then(QpCache::deadline).unwrap_or(NEVER);
        let due = self.timers.next_at().min(self.gaps.next_at()).min(fetch);
        (due < NEVER).then_some(due)
    }

    fn transmit(&mut self, now: Ps) -> Option<Departing<Header>> {
        if let Some((to, header)) = self.replies.pop_front() {
            let (bytes, path) = match header {
                Header::Reply(ref reply) => (self.setup.wire.reply(), reply.path),
                _ => (CNP, 0),
            };
            let label = self.label(to, connection_process(&header), path);
            self.tally.control += 1;
            return Some(Departing {
                to,
                bytes,
                label,
                class: DATA,
                payload: false,
                trimmable: false,
                header,
            });
        }
        self.prefetch(now);
        while let Some(index) = self.fetched.pop_front() {
            self.activate(index);
            let pick = self.connections[index].pending.take();
            if let Some(departing) = pick.and_then(|pick| self.depart(now, index, pick)) {
                return Some(departing);
            }
        }
        // With no fetch to spare nobody is asked who might need one.
        while !self.cache.as_ref().is_some_and(QpCache::is_busy) {
            let index = self.ring.pop_front()?;
            self.connections[index].queued = false;
            if let Some(departing) = self.serve(now, index) {
                self.activate(index);
                return Some(departing);
            }
        }
        None
    }

    fn take_done(&mut self) -> Option<Done> {
        self.ended.pop_front()
    }

    fn tally(&self) -> Tally {
        let misses = self.cache.as_ref().map_or(0, QpCache::misses);
        Tally { misses, ..self.tally }
    }
}

#[cfg(test)]
mod tests {
    use super::super::go_back_n::{self, GoBackN};
    use super::super::qp_cache::Size;
    use super::super::{ControlKind, Options};
    use super::*;

    fn host(options: Options) -> GoBackN {
        go_back_n::host(0, &options).unwrap()
    }

    fn options() -> Options {
        Options::for_network(400, 8_000_000)
    }

    fn message(id: u32, to: u32, process: u32, bytes: u32) -> Message {
        Message { id, from: 0, to, bytes, round: None, process }
    }

    fn sent(host: &mut GoBackN, now: Ps) -> Option<(u32, Data)> {
        match host.transmit(now)? {
            Departing { to, header: Header::Data(data), .. } => Some((to, data)),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn connections_take_turns_and_messages_of_one_do_not() {
        let mut host = host(options());
        for (id, to, process) in [(0, 1, 0), (1, 1, 0), (2, 2, 0), (3, 1, 7)] {
            host.post(0, &message(id, to, process, 8192));
        }
        assert_eq!(host.connections(), 3);
        let order: Vec<_> = std::iter::from_fn(|| sent(&mut host, 0)).map(|(_, data)| data.message).collect();
        assert_eq!(order, [0, 2, 3, 0, 2, 3, 1, 1]);
    }

    #[test]
    fn answers_go_before_payload_and_name_the_packet_they_are_for() {
        let mut host = host(options());
        host.post(0, &message(0, 1, 0, 4096));
        let data =
            Data { process: 3, psn: 0, message: 9, index: 0, packets: 1, ask: true, path: 5, sent_at: 77 };
        host.receive(100, &Arrived { from: 2, ce: true, trimmed: false, header: Header::Data(data) });
        assert_eq!(host.take_done(), Some(Done { id: 9, end: End::Delivered }));
        let leaving: Vec<_> = std::iter::from_fn(|| host.transmit(100)).collect();
        assert_eq!((leaving[0].header, leaving[0].payload), (Header::Congested(3), false));
        let Header::Reply(reply) = leaving[1].header else { panic!("{:?}", leaving[1]) };
        assert_eq!((reply.answer.expected, reply.path, reply.sent_at, reply.ce), (1, 5, 77, true));
        assert_eq!((leaving[1].to, leaving[2].to, leaving.len()), (2, 1, 3));
        assert_eq!(leaving[1].bytes, 14 + 20 + 8 + 12 + 4 + 4 + 24);
        assert_eq!(leaving[2].bytes, 14 + 20 + 8 + 12 + 16 + 4096 + 4 + 24);
    }

    #[test]
    fn a_gap_is_waited_for_by_the_clock() {
        let mut host = host(Options { control: ControlKind::Dcqcn, ..options() });
        host.post(0, &message(0, 1, 0, 1 << 20));
        assert!(sent(&mut host, 0).is_some());
        let congested = Arrived { from: 1, ce: false, trimmed: false, header: Header::Congested(0) };
        host.receive(1, &congested);
        assert!(sent(&mut host, 84_000).is_some(), "what went before the mark has no gap behind it");
        assert_eq!(host.transmit(168_000), None);
        // 4178 bytes at half of 400 Gb/s.
        let due = 84_000 + 4178 * 40;
        assert!(host.deadline().is_some_and(|at| at.abs_diff(due) < 1000), "{:?} {due}", host.deadline());
        host.expire(due + 1000);
        assert!(sent(&mut host, due + 1000).is_some());
    }

    #[test]
    fn what_is_sent_and_what_comes_waits_for_its_context() {
        let cache = Some(Size { contexts: 8, latency: 1000, at_once: 1 });
        let mut host = host(Options { cache, ..options() });
        host.post(0, &message(0, 1, 0, 4096));
        host.post(0, &message(1, 2, 0, 4096));
        assert_eq!((host.transmit(0), host.deadline()), (None, Some(1000)));
        host.expire(1000);
        assert!(sent(&mut host, 1000).is_some_and(|(to, _)| to == 1));
        assert_eq!(host.transmit(1100), None);
        // A packet for the first goes on; one of an unknown peer waits behind the second.
        let data =
            Data { process: 0, psn: 0, message: 9, index: 0, packets: 1, ask: true, path: 0, sent_at: 0 };
        for from in [1, 3] {
            host.receive(1200, &Arrived { from, ce: false, trimmed: false, header: Header::Data(data) });
        }
        assert_eq!((host.take_done().is_some(), host.take_done()), (true, None));
        host.expire(2100);
        let reply = host.transmit(2100).unwrap();
        assert!(matches!(reply.header, Header::Reply(_)) && reply.to == 1);
        assert_eq!(sent(&mut host, 2100).map(|(to, _)| to), Some(2));
        host.expire(3100);
        assert!(host.take_done().is_some());
        assert_eq!((host.tally().misses, host.tally().state), (3, 3 * 407));
    }
}
