//! The sender under test with its surroundings: what it sends is recorded and
//! reported as sent, what it is told is written as the rules name it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use tessera_abi::params::{Config, CLOCKS_PER_TICK, NIC512};
use tessera_abi::status::Status;
use tessera_abi::wire::{fb, flag};
use tessera_rtl::tx::Sender;
use tessera_sim::tb::{self, cycle, Pattern, Rng, StreamDriver, StreamMonitor, Word};
use tessera_sim::verilator::{Design, Dut, PortId};

/// 64 slots and a wheel that wakes within two ticks.
pub const SMALL: Config = Config {
    name: "small",
    tx_slots_log2: 6,
    retransmit_entries_log2: 3,
    wheel_l0_log2: 8,
    wheel_l1_log2: 4,
    wheel_tick_log2: 1,
    ..NIC512
};

pub fn design() -> Design {
    tessera_testbenches::design("sender_small", || Sender::new(&SMALL))
}

/// The same with a wheel of large steps, in which time may pass quickly.
pub const COARSE: Config = Config { name: "coarse", wheel_tick_log2: 12, ..SMALL };

/// Runs `body` on a bench in the state after enabling.
pub fn run(test: &str, body: impl Fn(&mut Bench)) {
    run_on(test, &design(), body);
}

/// The same where packets are taken in one of so many clocks.
pub fn run_slow(test: &str, clocks: u64, body: impl Fn(&mut Bench)) {
    tb::run(test, &design(), |dut, rng| {
        let mut bench = Bench::new(dut, rng, Pattern::Always, Pattern::Every(clocks));
        bench.enable();
        body(&mut bench);
    });
}

/// The same with [`COARSE`].
pub fn run_coarse(test: &str, body: impl Fn(&mut Bench)) {
    run_on(test, &tessera_testbenches::design("sender_coarse", || Sender::new(&COARSE)), body);
}

fn run_on(test: &str, design: &Design, body: impl Fn(&mut Bench)) {
    tb::run(test, design, |dut, rng| {
        let mut bench = Bench::new(dut, rng, Pattern::Always, Pattern::Always);
        bench.enable();
        body(&mut bench);
    });
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    pub clock: u64,
    pub tick: u64,
    pub slot: u64,
    pub generation: u64,
    pub index: u64,
    pub probe: bool,
    pub flags: u8,
    pub rtt: u64,
    pub window: u64,
    pub payload_len: u64,
    pub address: u64,
    /// Entry of the request it belongs to.
    pub entry: u64,
}

impl Packet {
    pub fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    pub fn is_new(&self) -> bool {
        !self.probe && !self.has(flag::RETX)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    pub clock: u64,
    pub entry: u64,
    pub status: u64,
    pub slot: u64,
    pub generation: u64,
}

#[derive(Clone, Copy, Debug)]
pub struct Request {
    pub length: u64,
    pub payload_log2: u64,
    pub window: u64,
    pub endpoint: u64,
    pub dst_gid: u128,
    pub dst_endpoint: u64,
    pub address: u64,
    pub imm: Option<u64>,
    pub round: Option<u64>,
    pub host_recovery: bool,
}

impl Request {
    pub fn packets(count: u64, window: u64) -> Self {
        Request {
            length: count * 256,
            payload_log2: 8,
            window,
            endpoint: 3,
            dst_gid: 0xFFFF_0A00_0001,
            dst_endpoint: 0x12_3456,
            address: 0x1_0000_0000,
            imm: None,
            round: None,
            host_recovery: false,
        }
    }

    pub fn count(&self) -> u64 {
        self.length.div_ceil(1 << self.payload_log2).max(1)
    }
}

/// FEEDBACK as the rules speak of it. `bitmap` holds what has arrived.
#[derive(Clone, Copy, Debug, Default)]
pub struct Feedback {
    pub flags: u8,
    pub status: u64,
    pub cumulative: u64,
    pub sequence: u64,
    pub grant: u64,
    pub base: u64,
    pub limit: u64,
    pub bitmap: [u64; 4],
    /// Round-trip time of the sample, ticks.
    pub sample: Option<u64>,
    pub ev: u64,
}

/// Every third request is a write, with this key.
fn rkey(entry: u64) -> Option<u64> {
    (entry % 3 == 1).then_some(0x2222_0000 | entry & 0xFFFF)
}

pub struct Bench<'a> {
    pub dut: &'a mut Dut,
    pub rng: Rng,
    pub requests: StreamDriver,
    pub feedback: StreamDriver,
    pub packets: VecDeque<Packet>,
    pub done: VecDeque<Completion>,
    /// (entropy value, congestion, destination) of every echo.
    pub echoes: VecDeque<(u64, bool, u128)>,
    /// Initial windows, by entry.
    windows: BTreeMap<u64, u64>,
    /// Requests by entry, and the entry of every (slot, generation).
    pub posted: Vec<Request>,
    pub owner: BTreeMap<(u64, u64), u64>,
    /// Pulses counted, by port name.
    pub events: BTreeMap<&'static str, u64>,
    /// Clocks between a packet and its `sent`; None: they stay on their way.
    pub sent_after: Option<u64>,
    /// Packets whose reads are to fail.
    pub fail: Box<dyn FnMut(&Packet) -> bool>,
    /// (clock due, slot, generation, its read fails).
    on_their_way: VecDeque<(u64, u64, u64, bool)>,
    packet_stream: StreamMonitor,
    done_stream: StreamMonitor,
    release_stream: StreamMonitor,
    release_fields: BTreeMap<String, usize>,
    /// RELEASEs taken, by slot and generation.
    pub releases: VecDeque<(u64, u64)>,
    released: BTreeSet<(u64, u64)>,
    /// Messages that ended, and whose COMPLETE asked for a RELEASE.
    over: BTreeMap<(u64, u64), u64>,
    pub answered: BTreeSet<(u64, u64)>,
    now: PortId,
    time: u64,
    /// Clocks of time that pass per clock.
    pub pace: u64,
    /// FEEDBACK that comes beside what a test says, in turn: in every so many clocks at
    /// most, and while none waits.
    pub flood: Vec<Word>,
    pub flood_every: u64,
    flooded: u64,
    sent: [PortId; 2],
    failed: [PortId; 2],
    echo: [PortId; 4],
    unsolicited: PortId,
    free_slots: PortId,
    fb_fields: BTreeMap<String, usize>,
    request_fields: BTreeMap<String, usize>,
    packet_fields: BTreeMap<String, usize>,
}

const EVENTS: [&str; 10] = [
    "feedback_stale",
    "feedback_forged",
    "feedback_nonsense",
    "nack_overflow",
    "tx_opened",
    "tx_completed",
    "tx_failed",
    "backstop_expiries",
    "wheel_pop",
    "wheel_late",
];

/// Ticks at the start: soon wrapping.
const START: u64 = 0xFFFF_FE00;

impl<'a> Bench<'a> {
    pub fn new(dut: &'a mut Dut, rng: &mut Rng, idle: Pattern, stall: Pattern) -> Self {
        let port = |name: &str| dut.port(name).unwrap();
        let fields = |name: &str| {
            let fields = dut.model().fields(name);
            fields.into_iter().map(|(name, lsb, _)| (name, lsb)).collect::<BTreeMap<_, _>>()
        };
        let settings = [
            ("seed", 0x1234_5678),
            ("guard", 4),
            ("rtt_default", 40),
            ("rto", 100),
            ("rto_round", 30),
            ("max_retry", 4),
            ("t_open", 20_000),
            ("grant_wait", 5_000),
            ("busy_wait", 60),
            ("unsolicited_limit", 1 << 20),
        ];
        let settings: Vec<_> =
            settings.iter().map(|(name, value)| (port(&format!("settings.{name}")), *value)).collect();
        let zero = ["settings.enable", "request_valid", "feedback_valid", "packet_ready", "done_ready"];
        let zero: Vec<_> = zero
            .iter()
            .chain(&["sent.valid", "failed.valid", "reclaim.active", "keeps"])
            .map(|name| port(name))
            .collect();
        let rst = port("rst");
        let bench = Bench {
            release_fields: fields("release_data"),
            requests: StreamDriver::new(dut, "request", idle, rng).unwrap(),
            feedback: StreamDriver::new(dut, "feedback", idle, rng).unwrap(),
            packet_stream: StreamMonitor::new(dut, "packet", stall, rng).unwrap(),
            done_stream: StreamMonitor::new(dut, "done", stall, rng).unwrap(),
            release_stream: StreamMonitor::new(dut, "release", stall, rng).unwrap(),
            now: port("now"),
            sent: [port("sent.valid"), port("sent.slot")],
            failed: [port("failed.valid"), port("failed.slot")],
            unsolicited: port("unsolicited"),
            free_slots: port("free_slots"),
            fb_fields: fields("feedback_data"),
            request_fields: fields("request_data"),
            packet_fields: fields("packet_data"),
            packets: VecDeque::new(),
            done: VecDeque::new(),
            releases: VecDeque::new(),
            over: BTreeMap::new(),
            released: BTreeSet::new(),
            answered: BTreeSet::new(),
            echoes: VecDeque::new(),
            windows: BTreeMap::new(),
            echo: ["valid", "ce", "ev", "gid"].map(|name| port(&format!("echo.{name}"))),
            posted: Vec::new(),
            owner: BTreeMap::new(),
            events: EVENTS.iter().map(|name| (*name, 0)).collect(),
            sent_after: Some(8),
            fail: Box::new(|_| false),
            on_their_way: VecDeque::new(),
            pace: 1,
            flood: Vec::new(),
            flood_every: 1,
            flooded: 0,
            time: START * u64::from(CLOCKS_PER_TICK),
            rng: rng.fork(),
            dut,
        };
        for (port, value) in settings {
            bench.dut.set(port, value as u64);
        }
        for port in zero {
            bench.dut.set(port, 0u64);
        }
        bench.dut.set(bench.now, START & 0xFFFF_FFFF);
        bench.dut.reset(rst, 2);
        bench
    }

    pub fn set(&mut self, setting: &str, value: u64) {
        let port = self.dut.port(&format!("settings.{setting}")).unwrap();
        self.dut.set(port, value);
    }

    pub fn enable(&mut self) {
        let ready = self.dut.port("ready").unwrap();
        assert!(self.until(3000, |bench| bench.dut.sampled(ready) == 1), "ready after reset");
        self.set("enable", 1);
        self.clocks(3);
        assert!(self.until(3000, |bench| bench.dut.sampled(ready) == 1), "ready after enabling");
    }

    /// Resets the block at work, with `keeps` as given, and everything beside it.
    pub fn restart(&mut self, keeps: bool, clocks: u64) {
        let [rst, keeps_port] = ["rst", "keeps"].map(|name| self.dut.port(name).unwrap());
        self.set("enable", 0);
        self.dut.set(keeps_port, keeps);
        self.dut.set(rst, 1u64);
        self.on_their_way.clear();
        self.clocks(clocks);
        self.dut.set(rst, 0u64);
        self.packets.clear();
        if !keeps {
            self.owner.clear();
        }
    }

    /// Ticks since the start.
    pub fn tick(&self) -> u64 {
        self.time / u64::from(CLOCKS_PER_TICK) - START
    }

    pub fn clocks_run(&self) -> u64 {
        self.time - START * u64::from(CLOCKS_PER_TICK)
    }

    pub fn now(&self) -> u64 {
        (self.time / u64::from(CLOCKS_PER_TICK)) & 0xFFFF_FFFF
    }

    pub fn unsolicited(&self) -> u64 {
        self.dut.sampled(self.unsolicited)
    }

    pub fn free_slots(&self) -> u64 {
        self.dut.sampled(self.free_slots)
    }

    /// Posts a request and returns its entry.
    pub fn post(&mut self, request: Request) -> u64 {
        let entry = self.posted.len() as u64;
        let mut word = self.requests.shape().pack(&[
            ("endpoint", request.endpoint),
            ("entry", entry & 0xFFFF),
            ("dst_mac", 0x0200_0000_0000 | entry & 0xFF),
            ("dst_endpoint", request.dst_endpoint),
            ("qkey", 0x1111_0000 | entry & 0xFFFF),
            ("address", request.address),
            ("length", request.length),
            ("count", request.count()),
            ("payload_log2", request.payload_log2),
            ("traffic_class", entry & 15),
            ("initial_window", request.window & 255),
            ("tag", entry.wrapping_mul(0x9E37_79B9_7F4A_7C15)),
            ("rkey", rkey(entry).unwrap_or(0)),
            ("write", u64::from(rkey(entry).is_some())),
            ("imm", request.imm.unwrap_or(0)),
            ("has_imm", u64::from(request.imm.is_some())),
            ("round", request.round.unwrap_or(0)),
            ("in_round", u64::from(request.round.is_some())),
            ("host_recovery", u64::from(request.host_recovery)),
        ]);
        set_gid(&mut word, self.request_fields["dst_gid"], request.dst_gid);
        self.requests.send(word);
        self.posted.push(request);
        entry
    }

    /// FEEDBACK from where the message of `packet` went.
    pub fn answer(&mut self, packet: &Packet, feedback: Feedback) {
        let request = self.posted[packet.entry as usize];
        if feedback.flags & (fb::COMPLETE | fb::RELEASE_REQ) == fb::COMPLETE | fb::RELEASE_REQ {
            self.answered.insert((packet.slot, packet.generation));
        }
        let word = self.feedback_word(packet, feedback, &request);
        self.feedback.send(word);
    }

    /// The same word in every so many clocks, again and again.
    pub fn flood(&mut self, packet: &Packet, feedback: Feedback) {
        let word = self.feedback_word(packet, feedback, &self.posted[packet.entry as usize].clone());
        self.flood.push(word);
    }

    /// No more of that, and nothing of it still waits.
    pub fn dry(&mut self) {
        self.flood.clear();
        self.flood_every = 1;
        self.clocks(20);
    }

    /// Words of the flood so far.
    pub fn flooded(&self) -> u64 {
        self.flooded
    }

    pub fn feedback_word(&self, packet: &Packet, feedback: Feedback, from: &Request) -> Word {
        let arrival = self.now();
        // The echo is that of a packet sent `sample` and some delay ago.
        let (delay, echo) = match feedback.sample {
            Some(rtt) => (5, arrival.wrapping_sub(5 + rtt) & 0xFFFF_FFFF),
            None => (0xFFFF, 0),
        };
        let mut word = self.feedback.shape().pack(&[
            ("src_mac", 0x0200_0000_0000 | packet.entry & 0xFF),
            ("src_endpoint", from.dst_endpoint),
            ("endpoint", from.endpoint),
            ("flags", u64::from(feedback.flags)),
            ("ev", feedback.ev),
            ("status", feedback.status),
            ("slot", packet.slot),
            ("generation", packet.generation),
            ("cumulative", feedback.cumulative),
            ("sequence", feedback.sequence & 255),
            ("grant", feedback.grant),
            ("base", feedback.base),
            ("limit", feedback.limit),
            ("delay", delay),
            ("echo", echo),
            ("arrival", arrival),
        ]);
        set_gid(&mut word, self.fb_fields["src_gid"], from.dst_gid);
        for (i, part) in feedback.bitmap.iter().enumerate() {
            word.set_bits(self.fb_fields["bitmap"] + 64 * i, 64, *part);
        }
        word
    }

    /// Whatever is on its way leaves or fails from now on, one in each clock.
    pub fn hurry(&mut self) {
        let now = self.time;
        self.on_their_way.iter_mut().for_each(|packet| packet.0 = now);
    }

    pub fn clock(&mut self) {
        let moved = self.on_their_way.front().filter(|front| front.0 <= self.time).copied();
        self.dut.set(self.sent[0], moved.is_some_and(|m| !m.3));
        self.dut.set(self.failed[0], moved.is_some_and(|m| m.3));
        if let Some((_, slot, ..)) = moved {
            self.on_their_way.pop_front();
            self.dut.set(self.sent[1], slot);
            self.dut.set(self.failed[1], slot);
        }
        self.dut.set(self.now, self.now());
        let due = self.clocks_run().is_multiple_of(self.flood_every) && self.feedback.pending() == 0;
        if due && !self.flood.is_empty() {
            self.feedback.send(self.flood[self.flooded as usize % self.flood.len()].clone());
            self.flooded += 1;
        }
        cycle(
            self.dut,
            &mut [
                &mut self.requests,
                &mut self.feedback,
                &mut self.packet_stream,
                &mut self.done_stream,
                &mut self.release_stream,
            ],
        );
        self.time += self.pace;
        for (name, count) in &mut self.events {
            let port = self.dut.port(name).unwrap();
            *count += self.dut.sampled(port);
        }
        let [valid, ce, ev, gid] = self.echo;
        if self.dut.is_high(valid) {
            let mut words = [0; 2];
            self.dut.sampled_wide(gid, &mut words);
            let gid = u128::from(words[1]) << 64 | u128::from(words[0]);
            self.echoes.push_back((self.dut.sampled(ev), self.dut.is_high(ce), gid));
        }
        while let Some(transfer) = self.packet_stream.take() {
            self.take_packet(&transfer.word);
        }
        while let Some(transfer) = self.done_stream.take() {
            let get = |name| self.done_stream.shape().get(&transfer.word, name);
            let (slot, generation) = (get("slot"), get("generation"));
            let completion = Completion {
                clock: self.clocks_run(),
                entry: get("entry"),
                status: get("status"),
                slot,
                generation,
            };
            if let Some(&entry) = self.owner.get(&(slot, generation)) {
                let request = &self.posted[entry as usize];
                assert_eq!(completion.entry, entry & 0xFFFF);
                assert_eq!(get("receive"), 0);
                assert_eq!(get("endpoint"), request.endpoint);
                assert_eq!(get("length"), request.length);
                assert_eq!(get("tag"), entry.wrapping_mul(0x9E37_79B9_7F4A_7C15));
                assert_eq!(get("peer_endpoint"), request.dst_endpoint);
                assert_eq!(get("has_imm"), u64::from(request.imm.is_some()));
                assert_eq!(get("write"), u64::from(rkey(entry).is_some()));
            }
            assert!(
                !self.on_their_way.iter().any(|p| (p.1, p.2) == (slot, generation)),
                "TX-12: {completion:?} with packets on their way"
            );
            if self.owner.contains_key(&(slot, generation)) {
                self.over.insert((slot, generation), completion.status);
            }
            self.done.push_back(completion);
        }
        while let Some(transfer) = self.release_stream.take() {
            self.take_release(&transfer.word);
        }
    }

    /// RL-1, RL-4: what is released has nothing on its way, and has a reason.
    fn take_release(&mut self, word: &Word) {
        let get = |name: &str| self.release_stream.shape().get(word, name);
        assert_eq!(get("release"), 1);
        let id = (get("slot"), get("generation"));
        let at = self.release_fields["dst_gid"];
        let gid = u128::from(word.bits(at + 64, 64)) << 64 | u128::from(word.bits(at, 64));
        let to = (gid, get("dst_endpoint"), get("endpoint"));
        if let Some(&entry) = self.owner.get(&id) {
            let request = &self.posted[entry as usize];
            assert_eq!(to, (request.dst_gid, request.dst_endpoint, request.endpoint));
            assert!(!self.on_their_way.iter().any(|p| (p.1, p.2) == id), "RELEASE {id:?} before its packets");
        }
        self.released.insert(id);
        self.releases.push_back(id);
    }

    fn take_packet(&mut self, word: &Word) {
        let get = |name: &str| self.packet_stream.shape().get(word, name);
        // The tag says which request it is; everything constant must be its.
        let entry = get("tag").wrapping_mul(0xF1DE_83E1_9937_733D);
        let request = self.posted[entry as usize];
        let (slot, generation, index) = (get("slot"), get("generation"), get("index"));
        let probe = get("probe") != 0;
        let at = self.packet_fields["dst_gid"];
        let gid = u128::from(word.bits(at + 64, 64)) << 64 | u128::from(word.bits(at, 64));
        assert_eq!(gid, request.dst_gid);
        assert_eq!(get("dst_mac"), 0x0200_0000_0000 | entry & 0xFF);
        assert_eq!(get("dst_endpoint"), request.dst_endpoint);
        assert_eq!(get("qkey"), 0x1111_0000 | entry & 0xFFFF);
        assert_eq!(get("endpoint"), request.endpoint);
        assert_eq!(get("payload_log2"), request.payload_log2);
        assert_eq!(get("traffic_class"), entry & 15);
        // TX-14 may shorten it; the same in every packet of the message.
        let window = *self.windows.entry(entry).or_insert(get("initial_window"));
        assert_eq!(get("initial_window"), window);
        assert!(window <= request.window);
        assert_eq!(get("length"), request.length);
        assert_eq!(get("imm"), request.imm.unwrap_or(0));
        let flags = get("flags") as u8;
        assert_eq!(flags & flag::IMM != 0, request.imm.is_some());
        assert_eq!(get("round"), request.round.unwrap_or(0));
        assert_eq!(flags & flag::ROUND != 0, request.round.is_some());
        assert_eq!(flags & flag::WRITE != 0, rkey(entry).is_some());
        assert_eq!(flags & flag::HOST_RECOVERY != 0, request.host_recovery);
        assert_eq!(get("rkey"), rkey(entry).unwrap_or(0));
        let known = flag::AR | flag::RETX | flag::EST | flag::IMMUTABLE;
        assert_eq!(flags & !known, 0);
        let offset = index << request.payload_log2;
        if probe {
            assert_eq!(get("payload_len"), 0);
            assert_eq!(flags & (flag::AR | flag::RETX), 0);
        } else {
            assert!(index < request.count());
            assert_eq!(get("payload_len"), (request.length - offset).min(1 << request.payload_log2));
            assert_eq!(get("address"), request.address.wrapping_add(offset));
        }
        assert!(
            !self.released.contains(&(slot, generation)),
            "a packet of {slot} {generation:#x} after its RELEASE"
        );
        let known = self.owner.entry((slot, generation)).or_insert(entry);
        assert_eq!(*known, entry, "slot {slot} generation {generation:#x} belongs to two messages");
        let packet = Packet {
            clock: self.clocks_run(),
            tick: self.tick(),
            slot,
            generation,
            index,
            probe,
            flags,
            rtt: get("rtt"),
            window: get("initial_window"),
            payload_len: get("payload_len"),
            address: get("address"),
            entry,
        };
        let fails = (self.fail)(&packet);
        let due = self.sent_after.map_or(u64::MAX, |after| self.time + after);
        self.on_their_way.push_back((due, slot, generation, fails));
        self.packets.push_back(packet);
    }

    /// Lets everything that is on its way be sent from now on.
    pub fn release(&mut self) {
        for packet in &mut self.on_their_way {
            packet.0 = self.time;
        }
        self.sent_after = Some(8);
    }

    pub fn on_their_way(&self) -> usize {
        self.on_their_way.len()
    }

    pub fn clocks(&mut self, count: u64) {
        for _ in 0..count {
            self.clock();
        }
    }

    pub fn ticks(&mut self, count: u64) {
        self.clocks(count * u64::from(CLOCKS_PER_TICK));
    }

    /// Clocks until `condition` holds, at most `limit`; whether it did.
    pub fn until(&mut self, limit: u64, mut condition: impl FnMut(&mut Self) -> bool) -> bool {
        for _ in 0..limit {
            self.clock();
            if condition(self) {
                return true;
            }
        }
        false
    }

    /// The next packet, which must come within `limit` clocks.
    #[track_caller]
    pub fn packet(&mut self, limit: u64) -> Packet {
        if self.packets.is_empty() {
            let came = self.until(limit, |bench| !bench.packets.is_empty());
            assert!(came, "no packet in {limit} clocks, tick {}", self.tick());
        }
        self.packets.pop_front().unwrap()
    }

    /// The next `count` packets.
    #[track_caller]
    pub fn take(&mut self, count: usize) -> Vec<Packet> {
        let mut packets = Vec::with_capacity(count);
        for _ in 0..count {
            packets.push(self.packet(200));
        }
        packets
    }

    /// The next completion, which must come within `limit` clocks.
    #[track_caller]
    pub fn completion(&mut self, limit: u64) -> Completion {
        if self.done.is_empty() {
            assert!(self.until(limit, |bench| !bench.done.is_empty()), "no completion in {limit} clocks");
        }
        self.done.pop_front().unwrap()
    }

    pub fn event(&self, name: &str) -> u64 {
        self.events[name]
    }

    #[track_caller]
    pub fn quiet(&mut self, clocks: u64) {
        self.clocks(clocks);
        assert!(self.packets.is_empty(), "{:?}", self.packets);
        assert!(self.done.is_empty(), "{:?}", self.done);
    }

    /// Nothing is left behind.
    #[track_caller]
    pub fn at_rest(&mut self) {
        self.clocks(60);
        // RL-1: what was sent and ended here was released, what the peer ended was
        // not unless it asked.
        for (id, status) in &self.over {
            let asked = self.answered.contains(id);
            let expected = asked || *status >= u64::from(Status::FIRST_LOCAL);
            assert_eq!(self.released.contains(id), expected, "RELEASE of {id:?}, status {status}");
        }
        assert_eq!(self.free_slots(), 1 << SMALL.tx_slots_log2);
        assert_eq!(self.unsolicited(), 0);
        assert!(self.packets.is_empty() && self.done.is_empty());
    }
}

fn set_gid(word: &mut Word, lsb: usize, gid: u128) {
    word.set_bits(lsb, 64, gid as u64);
    word.set_bits(lsb + 64, 64, (gid >> 64) as u64);
}
