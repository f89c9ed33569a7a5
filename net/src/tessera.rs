//! Our own end: the model of the NIC, as the hardware is judged by.
//!
//! Nothing of the protocol is here. Messages become send entries and a ring keeps
//! receives; packets go without bytes ([`Nic::poll_packet`]); time is cut into the
//! NIC's ticks of 64 ns.
//!
//! What a library does that cuts a transfer into messages is here too: of those between the
//! same two processes it has two under way, or as many as fill the link, in order. The NIC
//! would carry all at once, as it knows no peers, and the first would come with the last.

use std::collections::{BTreeMap, VecDeque};

use tessera_abi::params::Config;
use tessera_abi::queue::{DONE_RECV, DONE_SEND, OP_SEND};
use tessera_abi::regs::{self, Counter};
use tessera_abi::status::{Drop, Status};
use tessera_abi::wire;
use tessera_model::settings::SettingsError;
use tessera_model::settings::{Endpoint, Identity, MemoryKey};
use tessera_model::{Bare, Nic, PathPolicy, RecvEntry, SendEntry, Settings};

use crate::fabric::Rate;
use crate::topology::mix;
use crate::transport::{Arrived, Departing, Done, End, Message, Tally, Transport, DATA, FRAMING, QUEUES};
use crate::Ps;

/// Picoseconds of a tick.
pub const TICK: Ps = 64_000;
/// The one endpoint of a host: table index 1.
const ENDPOINT: u32 = 1;
/// Class selectors (RFC 2474) of what is no DATA, and of DATA from the shortest messages to
/// the longest.
const SELECTORS: [u32; 5] = [6, 5, 4, 3, 2];
const QKEY: u32 = 0x7E55;
const KEY: u32 = 0x101;

/// Bytes that the hardware holds per message being sent, being received, and ended
/// (`cargo tessera bench state`).
const STATE: [f64; 3] = [139.4, 181.4, 27.25];

/// What a host speaks besides its own number.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Sizes.
    pub config: &'static Config,
    /// Registers.
    pub settings: Settings,
    /// log2 of the payload of a packet.
    pub payload_log2: u8,
    /// Bytes between the same two processes, from two messages on, beyond which the next waits.
    pub stream_bytes: u64,
}

impl Options {
    /// Registers that suit a network of such a rate and round trip.
    ///
    /// Windows and credit are in bandwidth-delay products: an initial window of one
    /// and a half at most, credit of four, one and a half of it for a message, all that is sent
    /// unasked of four (decisions 0070, 0071).
    pub fn for_network(config: &'static Config, rate: Rate, round_trip: Ps) -> Self {
        let payload_log2 = 12;
        let packets_log2 = |packets: u32| u32::from(payload_log2) + packets;
        let packet = (1u64 << payload_log2) + 150;
        let product = rate.bytes_in(round_trip);
        let ticks = (round_trip / TICK) as u32 + 1;
        let settings = Settings {
            gap0: ((rate.time_of(packet) * 16).div_ceil(TICK) as u32).max(1),
            // What queues add that nobody has measured yet.
            skew0: ticks,
            guard: (ticks / 4).max(8),
            d_min: ticks / 2,
            rtt_default: ticks,
            answer0: ticks * 2,
            // More ways than a large fat tree has between two hosts, in turn: those that came back
            // clean are few, and many senders meet on them.
            path_policy: PathPolicy::RoundRobin,
            path_count: 256,
            initial_window: (product * 3 / 2 / packet).clamp(8, 255) as u32,
            // Of many short messages twice that is stuck in queues here and there.
            unsolicited_limit: (product * 4) as u32,
            // More than fills the link: some of those who are granted are busy with others.
            credit_limit: (product * 4) as u32,
            // Of those that are busy none holds more of it than fills the link once.
            credit_each: (product * 3 / 2).min(regs::CREDIT_EACH.reset.into()) as u32,
            grant_quantum: 4,
            // Spraying leaves few marks but those of the receiver's own link. What waits there is what
            // the credit is for, and is bounded by it.
            credit_policy: 4,
            // Short messages first: at senders, receivers and switches.
            turn_policy: 3,
            dscp: SELECTORS.iter().rev().fold(0, |all, selector| all << 6 | selector << 3),
            class_sizes: packets_log2(0) | packets_log2(4) << 5 | packets_log2(8) << 10,
            ..Settings::default()
        };
        // As much as is sent unasked to all.
        Self { config, settings, payload_log2, stream_bytes: product * 4 }
    }
}

/// Messages between two processes.
#[derive(Default)]
struct Stream {
    under_way: u32,
    bytes: u64,
    waiting: VecDeque<Message>,
}

impl Stream {
    /// Whether one more of so many bytes may be under way.
    fn takes(&self, bytes: u64, most: u64) -> bool {
        self.under_way < 2 || self.bytes + bytes <= most
    }
}

/// One host.
pub struct Tessera {
    nic: Nic,
    payload_log2: u8,
    stream_bytes: u64,
    /// By the other host and the process.
    streams: BTreeMap<(u32, u32), Stream>,
    /// Posted to the NIC and not ended.
    under_way: BTreeMap<u32, Message>,
    ended: VecDeque<Done>,
    /// Most messages being sent, being received, and ended but remembered, so far.
    most: [usize; 3],
}

impl Tessera {
    /// Host number `host`.
    ///
    /// # Errors
    /// If a register has a value that no NIC accepts.
    pub fn new(host: u32, options: &Options) -> Result<Self, SettingsError> {
        let mac = mac(host);
        let identity = Identity { mac, ip: address(host), ip6: [0; 16], vlan: 0, pkey: 0xFFFF };
        // Every NIC draws its own: as many that draw alike would meet on the same paths.
        let seed = (options.settings.seed ^ mix(host as u64)).max(1);
        let settings = Settings { seed, ..options.settings };
        let mut nic = Nic::new(options.config, identity, settings)?;
        nic.set_endpoint(Endpoint::new(ENDPOINT, QKEY));
        let everything =
            MemoryKey { key: KEY, base: 0, length: 1 << 40, pd: 1, local_write: true, remote_write: true };
        nic.set_key(everything);
        let mut host = Self {
            nic,
            payload_log2: options.payload_log2,
            stream_bytes: options.stream_bytes,
            streams: BTreeMap::new(),
            under_way: BTreeMap::new(),
            ended: VecDeque::new(),
            most: [0; 3],
        };
        for _ in 0..1 << options.config.rx_contexts_log2 {
            host.post_receive(0);
        }
        Ok(host)
    }

    /// The NIC.
    pub fn nic(&self) -> &Nic {
        &self.nic
    }

    fn post_receive(&mut self, now: u64) {
        // Refused only for an endpoint that does not exist.
        let _ = self.nic.post_recv(now, ENDPOINT, RecvEntry::new(0, u32::MAX, KEY));
    }

    /// A message of a stream has ended: others of it may go.
    fn next_of(&mut self, now: u64, id: u32) {
        let Some(ended) = self.under_way.remove(&id) else { return };
        let name = (ended.to, ended.process);
        let Some(stream) = self.streams.get_mut(&name) else { return };
        stream.under_way -= 1;
        stream.bytes -= u64::from(ended.bytes);
        if stream.under_way == 0 && stream.waiting.is_empty() {
            self.streams.remove(&name);
        }
        while let Some(stream) = self.streams.get_mut(&name) {
            let Some(next) = stream.waiting.front().copied() else { return };
            if !stream.takes(next.bytes.into(), self.stream_bytes) {
                return;
            }
            stream.waiting.pop_front();
            self.hand_over(now, &next);
        }
    }

    /// To the NIC.
    fn hand_over(&mut self, now: u64, message: &Message) {
        let stream = self.streams.entry((message.to, message.process)).or_default();
        stream.under_way += 1;
        stream.bytes += u64::from(message.bytes);
        self.under_way.insert(message.id, *message);
        let entry = SendEntry {
            opcode: OP_SEND,
            immediate: None,
            round: message.round,
            payload_log2: self.payload_log2,
            traffic_class: 0,
            length: message.bytes,
            address: 0,
            lkey: KEY,
            initial_window: 0,
            host_recovery: false,
            hop_limit: 0,
            vlan: None,
            tag: message.id as u64,
            rkey: 0,
            qkey: QKEY,
            endpoint: ENDPOINT,
            mac: mac(message.to),
            gid: gid(message.to),
        };
        if self.nic.post_send(now, ENDPOINT, entry).is_err() {
            self.ended.push_back(Done { id: message.id, end: End::Failed });
            self.next_of(now, message.id);
        }
    }

    /// Takes what the NIC has written and completed.
    fn collect(&mut self, now: u64) {
        while self.nic.poll_write().is_some() {}
        while let Some(done) = self.nic.poll_completion() {
            let success = done.status == Status::Success as u8;
            let end = match done.opcode {
                DONE_RECV => {
                    self.post_receive(now);
                    if !success {
                        continue;
                    }
                    End::Delivered
                }
                DONE_SEND if success => End::Acknowledged,
                _ => End::Failed,
            };
            let id = done.tag as u32;
            self.ended.push_back(Done { id, end });
            if end != End::Delivered {
                self.next_of(now, id);
            }
        }
        let now = [
            self.nic.sender().open_slots(),
            self.nic.receiver().open_contexts(),
            self.nic.receiver().tombstones(),
        ];
        for (most, now) in self.most.iter_mut().zip(now) {
            *most = now.max(*most);
        }
    }
}

impl Transport for Tessera {
    type Header = Bare;

    fn post(&mut self, now: Ps, message: &Message) {
        let now = ticks(now);
        let stream = self.streams.entry((message.to, message.process)).or_default();
        if stream.waiting.is_empty() && stream.takes(message.bytes.into(), self.stream_bytes) {
            self.hand_over(now, message);
            self.collect(now);
        } else {
            stream.waiting.push_back(*message);
        }
    }

    fn round(&mut self, now: Ps, id: u16, messages: u16) {
        // Refused only for an endpoint that does not exist.
        let _ = self.nic.register_round(ticks(now), ENDPOINT, id, messages);
    }

    fn receive(&mut self, now: Ps, packet: &Arrived<Bare>) {
        // Without its payload a packet is none: switches here cut nothing that may not be.
        if packet.trimmed {
            return;
        }
        let now = ticks(now);
        // Why it was dropped is counted.
        let _ = self.nic.handle_packet(now, &packet.header, packet.ce);
        self.collect(now);
    }

    fn expire(&mut self, now: Ps) {
        let now = ticks(now);
        self.nic.handle_timeout(now);
        self.collect(now);
    }

    fn deadline(&self) -> Option<Ps> {
        self.nic.poll_timeout().map(|tick| tick.saturating_mul(TICK))
    }

    fn transmit(&mut self, now: Ps) -> Option<Departing<Bare>> {
        let now = ticks(now);
        let header = self.nic.poll_packet(now)?;
        self.collect(now);
        let to = host_of(&header.route.dst_gid);
        let from = host_of(&header.route.src_gid);
        Some(Departing {
            to,
            bytes: header.frame_len() as u32 + FRAMING,
            label: mix((from as u64) << 40 | (to as u64) << 16 | header.route.sport as u64),
            class: class(header.route.tos),
            payload: header.payload > 0,
            trimmable: false,
            header,
        })
    }

    fn take_done(&mut self) -> Option<Done> {
        self.ended.pop_front()
    }

    fn tally(&self) -> Tally {
        let counters = self.nic.counters();
        let of = |counter| counters.of(counter) as u64;
        let bytes = STATE.iter().zip(self.most).map(|(bytes, most)| bytes * most as f64);
        Tally {
            sent: of(Counter::TxData) + of(Counter::TxRetransmitted),
            again: of(Counter::TxRetransmitted),
            twice: counters.dropped(Drop::Duplicate) as u64,
            control: of(Counter::TxFeedback) + of(Counter::TxProbe) + of(Counter::TxRelease),
            timeouts: of(Counter::NackExpiries) + of(Counter::BackstopExpiries),
            misses: 0,
            state: bytes.sum::<f64>() as u64,
        }
    }
}

/// The queue of a DSCP: of classes of messages, the one of the shortest first.
fn class(tos: u8) -> u8 {
    let selector = u32::from(tos >> 5);
    let place = SELECTORS[1..].iter().position(|&other| selector >= other);
    DATA + place.map_or(QUEUES - 1, |place| place as u8)
}

fn mac(host: u32) -> [u8; 6] {
    let [a, b, c, d] = host.to_be_bytes();
    [2, 0, a, b, c, d]
}

fn ticks(now: Ps) -> u64 {
    now / TICK
}

fn gid(host: u32) -> [u8; 16] {
    wire::ipv4_gid(address(host))
}

fn address(host: u32) -> [u8; 4] {
    let [_, high, middle, low] = (host + 1).to_be_bytes();
    [10, high, middle, low]
}

fn host_of(gid: &[u8; 16]) -> u32 {
    u32::from_be_bytes([0, gid[13], gid[14], gid[15]]) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_stream_two_are_under_way_or_what_fills_the_link() {
        let options =
            Options::for_network(&tessera_abi::params::NIC128, Rate::of_gbps(400).unwrap(), 7_500_000);
        // 375,000 bytes on their way at most, four times.
        assert_eq!(options.stream_bytes, 1_500_000);
        let mut host = Tessera::new(0, &options).unwrap();
        let mut id = 0;
        let mut post = |host: &mut Tessera, to: u32, process: u32, bytes: u32| {
            id += 1;
            host.post(0, &Message { id, from: 0, to, bytes, round: None, process });
            host.under_way.len()
        };
        let long = 1 << 20;
        assert_eq!([1, 2, 3, 4].map(|_| post(&mut host, 1, 0, long)), [1, 2, 2, 2]);
        // Others do not wait for them, but those behind them do, however short.
        assert_eq!(post(&mut host, 1, 1, long), 3);
        assert_eq!(post(&mut host, 2, 0, long), 4);
        assert_eq!(post(&mut host, 1, 0, 100), 4);
        assert_eq!([1, 2, 3, 4].map(|_| post(&mut host, 3, 0, 400_000)), [5, 6, 7, 7]);
        // In the order of their posts, as others end: the short one with the fourth.
        host.next_of(0, 2);
        assert_eq!(host.under_way.keys().copied().collect::<Vec<_>>(), [1, 3, 5, 6, 8, 9, 10]);
        host.next_of(0, 1);
        host.next_of(0, 3);
        assert_eq!(host.under_way.keys().copied().collect::<Vec<_>>(), [4, 5, 6, 7, 8, 9, 10]);
        for id in [4, 7, 5] {
            host.next_of(0, id);
        }
        assert_eq!(
            host.streams.keys().copied().collect::<Vec<_>>(),
            [(2, 0), (3, 0)],
            "what is over is forgotten"
        );
    }

    #[test]
    fn queues_go_by_class_selector() {
        let options =
            Options::for_network(&tessera_abi::params::NIC128, Rate::of_gbps(400).unwrap(), 7_500_000);
        let tos = |length| options.settings.tos(length);
        let lengths = [0, 4096, 4097, 1 << 16, 1 << 17, 1 << 20, 1 << 21];
        assert_eq!(lengths.map(|length| class(tos(Some(length)))), [1, 1, 2, 2, 3, 3, 4]);
        assert_eq!(class(tos(None)), DATA);
        // Without classes all share the last.
        assert_eq!(class(0x02), DATA + QUEUES - 1);
    }
}
