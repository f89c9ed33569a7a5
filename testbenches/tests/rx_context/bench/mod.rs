//! Drives the receiver and checks everything it says against the reference.
//!
//! The engine judges one event at a time and says when it judged a packet, and
//! its feedback is taken at once while a packet is on its way, so the order of
//! what is seen here is the order in which it happened inside: expectations are
//! exact, not windows.

mod seen;

use super::reference::*;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use tessera_sim::tb::{Agent, Pattern, Rng, StreamDriver, StreamMonitor, Word};
use tessera_sim::verilator::{Dut, PortId};

/// Registers, in ticks, packets and bytes as in `Settings`.
#[derive(Clone, Copy, Debug)]
pub struct Registers {
    pub gap0: u64,
    pub skew0: u64,
    pub skew_max: u64,
    pub guard: u64,
    pub d_min: u64,
    pub rtt_default: u64,
    pub ld_policy: u64,
    pub ld_fixed: u64,
    pub answer0: u64,
    pub rto: u64,
    pub rx_give_up: u64,
    pub nack_burst: u64,
    pub ack_every: u64,
    pub credit_limit: u64,
    pub credit_each: u64,
    pub credit_policy: u64,
    pub credit_delay: u64,
    pub grant_quantum: u64,
    pub turn_policy: u64,
}

pub const REGISTERS: Registers = Registers {
    gap0: 32,
    skew0: 20,
    skew_max: 200,
    guard: 8,
    d_min: 16,
    rtt_default: 60,
    ld_policy: 2,
    ld_fixed: 500,
    answer0: 0,
    rto: 800,
    rx_give_up: 4000,
    nack_burst: 4,
    ack_every: 16,
    credit_limit: 1 << 19,
    credit_each: 0xFF_FFFF,
    credit_policy: 0,
    credit_delay: 100,
    grant_quantum: 16,
    turn_policy: 0,
};

/// A place command to come.
#[derive(Clone, Debug, PartialEq)]
enum Place {
    Drop,
    Write {
        address: u64,
        length: u64,
        context: u64,
    },
    Fence {
        context: u64,
    },
    /// A fence of a chunk, behind which the message goes on.
    Chunk {
        context: u64,
    },
}

/// Feedback as it was seen.
#[derive(Clone, Debug)]
pub struct Seen {
    pub tick: u64,
    pub generation: u64,
    pub flags: u64,
    pub status: u64,
    pub cumulative: u64,
    pub grant: u64,
    pub base: u64,
    pub limit: u64,
    pub bits: [u64; 4],
}

/// Name, port, pulses seen, pulses expected.
type Event = (&'static str, PortId, u64, u64);

fn expect(events: &mut [Event], name: &str) {
    events.iter_mut().find(|event| event.0 == name).expect("an event").3 += 1;
}

pub struct Bench<'a> {
    pub dut: &'a mut Dut,
    pub registers: Registers,
    pub clocks_per_tick: u64,
    pub now: u64,
    clock_in_tick: u64,
    work: StreamDriver,
    fence: StreamDriver,
    place: StreamMonitor,
    feedback: StreamMonitor,
    done: StreamMonitor,
    retire: StreamMonitor,
    header: StreamMonitor,
    chunk: StreamMonitor,
    place_ready: PortId,
    feedback_ready: PortId,
    now_port: PortId,
    judged: PortId,
    outstanding: PortId,
    gid_lsb: usize,
    bitmap_lsb: usize,
    mac_lsb: usize,
    peer_lsb: usize,
    events: Vec<Event>,
    watch: [PortId; 4],
    linked: BTreeMap<u64, u64>,
    pub messages: BTreeMap<u64, Message>,
    /// Generation of the message in a context.
    pub owners: BTreeMap<u64, u64>,
    places: VecDeque<Place>,
    offered: Option<Packet>,
    /// Taken and not judged yet.
    taken: VecDeque<Packet>,
    /// Fences to answer: tick, context, error.
    fences: Vec<(u64, u64, bool)>,
    fence_delay: u64,
    pub fence_error: f64,
    /// Places for messages are few.
    pub low: bool,
    rng: Rng,
    pub seen: Vec<Seen>,
    /// Where the last feedback went.
    pub last_mac: u64,
    pub last_taken: u64,
    /// Clocks in a row, while idle, that the credit was not as expected.
    unequal: u64,
    /// Tick of the last grant seen.
    granted_at: u64,
    /// Messages whose header was seen; generation, block and bits to be told of.
    announced: BTreeSet<u64>,
    told: VecDeque<(u64, u64, [u64; 4])>,
    chunk_words: u64,
    chunk_fences: u64,
    /// The limit last ordered, until its NACK is seen.
    pub ordered: Option<u64>,
}

/// Ticks a grant may wait for the monitor of `feedback`.
const GRANT_SLACK: u64 = 24;

/// The fence is back: what the host is told, and the sender next.
fn over(message: &mut Message, error: bool) -> u64 {
    let mut status = message.status;
    if error && status == SUCCESS {
        (message.status, status) = (REMOTE_DMA, LOCAL_DMA);
    }
    message.phase = if [REPLACED, RELEASED].contains(&status) { Phase::Answered } else { Phase::Told };
    status
}

/// A write without immediate goes on without a completion.
fn unreported(message: &mut Message) {
    if let (Phase::Fenced { error }, false) = (message.phase, message.first.reports()) {
        over(message, error);
    }
}

impl<'a> Bench<'a> {
    pub fn new(dut: &'a mut Dut, registers: Registers, stall: Pattern, rng: &mut Rng) -> Self {
        let lsb = |dut: &Dut, port: &str, field: &str| {
            let fields = dut.model().fields(port);
            fields.into_iter().find(|(name, ..)| name == field).expect("the field").1
        };
        let port = |dut: &Dut, name: &str| dut.port(name).unwrap();
        let work = StreamDriver::new(dut, "work", Pattern::Always, rng).unwrap();
        let fence = StreamDriver::new(dut, "fence", Pattern::Always, rng).unwrap();
        let place = StreamMonitor::new(dut, "place", stall, rng).unwrap();
        let feedback = StreamMonitor::new(dut, "feedback", stall, rng).unwrap();
        let done = StreamMonitor::new(dut, "done", stall, rng).unwrap();
        let retire = StreamMonitor::new(dut, "retire", stall, rng).unwrap();
        let header = StreamMonitor::new(dut, "header", stall, rng).unwrap();
        let chunk = StreamMonitor::new(dut, "chunk", stall, rng).unwrap();
        let names = [
            "not_granted",
            "duplicate",
            "mismatch",
            "rx_new",
            "rx_completed",
            "rx_aborted",
            "remote_access",
            "nack_expiries",
            "grants_sent",
            "rounds_done",
            "round_pulls",
        ];
        let mut bench = Bench {
            place_ready: port(dut, "place_ready"),
            feedback_ready: port(dut, "feedback_ready"),
            now_port: port(dut, "now"),
            judged: port(dut, "judged"),
            outstanding: port(dut, "outstanding"),
            gid_lsb: lsb(dut, "work_data", "src_gid"),
            bitmap_lsb: lsb(dut, "feedback_data", "bitmap"),
            mac_lsb: lsb(dut, "feedback_data", "dst_gid"),
            peer_lsb: lsb(dut, "done_data", "peer_gid"),
            events: names.map(|name| (name, port(dut, name), 0, 0)).to_vec(),
            watch: ["linked", "linked_data.node", "popped", "popped_node"].map(|name| port(dut, name)),
            dut,
            registers,
            clocks_per_tick: 4,
            now: 1000,
            clock_in_tick: 0,
            work,
            fence,
            place,
            feedback,
            done,
            retire,
            header,
            chunk,
            linked: BTreeMap::new(),
            messages: BTreeMap::new(),
            owners: BTreeMap::new(),
            places: VecDeque::new(),
            offered: None,
            taken: VecDeque::new(),
            fences: Vec::new(),
            fence_delay: 20,
            granted_at: 0,
            fence_error: 0.0,
            low: false,
            rng: rng.fork(),
            seen: Vec::new(),
            last_mac: 0,
            last_taken: 0,
            unequal: 0,
            announced: BTreeSet::new(),
            told: VecDeque::new(),
            chunk_words: 0,
            chunk_fences: 0,
            ordered: None,
        };
        bench.reset();
        bench
    }

    fn reset(&mut self) {
        let r = self.registers;
        for (name, value) in [
            ("gap0", r.gap0),
            ("skew0", r.skew0),
            ("skew_max", r.skew_max),
            ("guard", r.guard),
            ("d_min", r.d_min),
            ("rtt_default", r.rtt_default),
            ("ld_policy", r.ld_policy),
            ("ld_fixed", r.ld_fixed),
            ("answer0", r.answer0),
            ("rto", r.rto),
            ("rx_give_up", r.rx_give_up),
            ("nack_burst", r.nack_burst),
            ("ack_every", r.ack_every),
            ("credit_limit", r.credit_limit),
            ("credit_each", r.credit_each),
            ("credit_policy", r.credit_policy),
            ("credit_delay", r.credit_delay),
            ("grant_quantum", r.grant_quantum),
            ("turn_policy", r.turn_policy),
        ] {
            let port = self.dut.port(&format!("settings.{name}")).unwrap();
            self.dut.set(port, value);
        }
        let rst = self.dut.port("rst").unwrap();
        for name in ["work_valid", "fence_valid", "order_valid", "doorbell.valid"] {
            let port = self.dut.port(name).unwrap();
            self.dut.set(port, 0u64);
        }
        for name in ["low", "crowded"] {
            let port = self.dut.port(name).unwrap();
            self.dut.set(port, 0u64);
        }
        self.dut.set(self.now_port, self.now);
        self.dut.set(rst, 1u64);
        self.dut.clock_by(2);
        self.dut.set(rst, 0u64);
        self.dut.clock_by(700);
        assert!(self.dut.is_high(self.dut.port("ready").unwrap()), "not ready 700 clocks after reset");
    }

    /// Resets the block at work, and forgets what was expected of it.
    pub fn restart(&mut self) {
        self.reset();
        assert!(self.offered.is_none() && self.taken.is_empty(), "a packet on its way");
        self.messages.clear();
        self.owners.clear();
        self.places.clear();
        self.fences.clear();
        self.linked.clear();
        self.announced.clear();
        self.told.clear();
        self.seen.clear();
        (self.ordered, self.unequal, self.chunk_words, self.chunk_fences) = (None, 0, 0, 0);
        for (_, _, seen, expected) in &mut self.events {
            (*seen, *expected) = (0, 0);
        }
    }

    /// Registers a round of endpoint 7.
    pub fn register(&mut self, id: u64, messages: u64) {
        for (name, value) in [("valid", 1), ("kind", 3), ("index", 7), ("value", id), ("more", messages)] {
            let port = self.dut.port(&format!("doorbell.{name}")).unwrap();
            self.dut.set(port, value);
        }
        self.clock();
        let valid = self.dut.port("doorbell.valid").unwrap();
        self.dut.set(valid, 0u64);
        for _ in 0..4 {
            self.clock();
        }
    }

    /// Tells that places for messages are few, or not.
    pub fn set_low(&mut self, low: bool) {
        let port = self.dut.port("low").unwrap();
        self.dut.set(port, low);
        self.low = low;
    }

    /// Tells that many fences wait, or not.
    pub fn set_crowded(&mut self, crowded: bool) {
        let port = self.dut.port("crowded").unwrap();
        self.dut.set(port, crowded);
    }

    pub fn free_blocks(&self) -> u64 {
        self.dut.get(self.dut.port("free_blocks").unwrap())
    }

    pub fn block_ready(&self) -> bool {
        self.dut.is_high(self.dut.port("block_ready").unwrap())
    }

    /// Every packet offered is judged.
    pub fn idle(&self) -> bool {
        self.offered.is_none() && self.taken.is_empty()
    }

    /// A packet may be offered.
    pub fn open(&self) -> bool {
        self.offered.is_none()
    }

    /// Offers a packet; one at a time.
    pub fn offer(&mut self, packet: &Packet) {
        assert!(self.offered.is_none());
        if packet.verdict == 1 {
            let before = self.owners.insert(packet.context, packet.generation);
            assert!(before.is_none(), "the test opened context {} twice", packet.context);
            self.messages.insert(packet.generation, Message::open(packet));
        }
        let narrow = [
            ("verdict", packet.verdict),
            ("released", u64::from(packet.released)),
            ("destroyed", u64::from(packet.destroyed)),
            ("context", packet.context),
            ("buffer", packet.buffer),
            ("entry", packet.entry),
            ("own", packet.entry & 1),
            ("host", u64::from(packet.host)),
            ("chunk_log2", packet.chunk_log2),
            ("area_log2", packet.area_log2),
            ("src_mac", packet.mac),
            ("src_endpoint", packet.src_endpoint),
            ("endpoint", packet.endpoint),
            ("ce", u64::from(packet.ce)),
            ("probe", u64::from(packet.probe)),
            ("flags", packet.flags),
            ("ev", packet.ev),
            ("payload_log2", packet.log2),
            ("slot", packet.slot),
            ("generation", packet.generation),
            ("index", packet.index),
            ("initial_window", packet.window),
            ("length", packet.length),
            ("count", packet.count()),
            ("tag", packet.tag),
            ("rkey", packet.rkey),
            ("denied", u64::from(packet.denied)),
            ("imm", packet.imm),
            ("round", packet.round),
            ("rtt", packet.rtt),
            ("timestamp", packet.timestamp & 0xFFFF_FFFF),
            ("arrival", packet.arrival & 0xFFFF_FFFF),
            ("payload_len", packet.payload()),
        ];
        let mut word = self.work.shape().pack(&narrow);
        word.set_bits(self.gid_lsb, 64, packet.gid[0]);
        word.set_bits(self.gid_lsb + 64, 64, packet.gid[1]);
        self.work.send(word);
        self.offered = Some(packet.clone());
    }

    /// Offers a packet and waits until it is judged.
    pub fn give(&mut self, packet: &Packet) {
        self.pass(packet);
        let start = self.dut.cycles();
        while !self.idle() {
            self.clock();
            assert!(self.dut.cycles() < start + 20_000, "a packet is not judged");
        }
    }

    /// Offers a packet and waits until it is taken.
    pub fn pass(&mut self, packet: &Packet) {
        let start = self.dut.cycles();
        self.offer(packet);
        while !self.open() {
            self.clock();
            assert!(self.dut.cycles() < start + 20_000, "a packet is not taken");
        }
    }

    pub fn ticks(&mut self, ticks: u64) {
        for _ in 0..ticks * self.clocks_per_tick {
            self.clock();
        }
    }

    fn each_agent(&mut self, act: impl Fn(&mut dyn Agent, &mut Dut)) {
        for agent in [
            &mut self.work as &mut dyn Agent,
            &mut self.fence,
            &mut self.place,
            &mut self.feedback,
            &mut self.done,
            &mut self.retire,
            &mut self.header,
            &mut self.chunk,
        ] {
            act(agent, self.dut);
        }
    }

    pub fn clock(&mut self) {
        self.clock_in_tick += 1;
        if self.clock_in_tick >= self.clocks_per_tick {
            self.clock_in_tick = 0;
            self.now += 1;
        }
        self.dut.set(self.now_port, self.now & 0xFFFF_FFFF);
        if self.fence.pending() == 0 {
            let due = self.fences.iter().position(|(tick, ..)| *tick <= self.now);
            if let Some(at) = due {
                let (_, context, error) = self.fences.remove(at);
                self.fence.send_fields(&[("context", context), ("error", u64::from(error))]);
                let message = self.messages.get_mut(&self.owners[&context]).unwrap();
                assert_eq!(message.phase, Phase::Fencing);
                message.phase = Phase::Fenced { error };
            }
        }
        self.each_agent(|agent, dut| agent.drive(dut));
        // See the module's comment.
        if self.offered.is_some() || !self.taken.is_empty() {
            self.dut.set(self.place_ready, 1u64);
            self.dut.set(self.feedback_ready, 1u64);
        }
        self.dut.clock();
        self.each_agent(|agent, dut| agent.sample(dut));
        for (_, port, seen, _) in &mut self.events {
            *seen += self.dut.sampled(*port);
        }
        self.watch_nodes();
        if self.dut.sampled(self.judged) != 0 {
            let packet = self.taken.pop_front().expect("a packet is judged before it is taken");
            self.on_packet(&packet);
        }
        while let Some(place) = self.place.take() {
            self.on_place(&place.word);
        }
        while let Some(feedback) = self.feedback.take() {
            self.on_feedback(&feedback.word);
        }
        while let Some(done) = self.done.take() {
            self.on_done(&done.word);
        }
        while let Some(retire) = self.retire.take() {
            self.on_retire(&retire.word);
        }
        while let Some(header) = self.header.take() {
            self.on_header(&header.word);
        }
        while let Some(chunk) = self.chunk.take() {
            self.on_chunk(&chunk.word);
        }
        if self.offered.is_some() && self.work.pending() == 0 {
            let packet = self.offered.take().unwrap();
            self.last_taken = self.dut.cycles();
            self.taken.push_back(packet);
        }
        // GR-1. A grant and a give-up show some clocks after they count, however
        // long nothing was heard: only a difference that stays is one.
        if self.idle() {
            let (seen, expected) = (self.dut.sampled(self.outstanding), self.credit());
            self.unequal = if seen == expected { 0 } else { self.unequal + 1 };
            assert!(self.unequal < 300, "outstanding {seen}, not {expected}");
        }
    }

    pub fn event(&self, name: &str) -> u64 {
        self.events.iter().find(|event| event.0 == name).expect("an event").2
    }

    pub fn credit(&self) -> u64 {
        let lending = self.registers.credit_policy & 4 != 0;
        let counts = |message: &&Message| !(lending && message.unanswered >= 2);
        self.messages.values().filter(counts).map(Message::credit).sum()
    }

    /// The credit that is certainly out: a message that gave up has returned its
    /// own some clocks before its fence shows that it did.
    fn least_credit(&self) -> u64 {
        let giving_up = |message: &Message| {
            message.phase == Phase::Open && self.now - message.last_heard >= self.registers.rx_give_up
        };
        let lending = self.registers.credit_policy & 4 != 0;
        let lends = |message: &Message| lending && message.unanswered >= 2;
        self.messages.values().filter(|m| !giving_up(m) && !lends(m)).map(Message::credit).sum()
    }

    fn watch_nodes(&mut self) {
        let [linked, linked_node, popped, popped_node] = self.watch.map(|port| self.dut.sampled(port));
        if popped != 0 {
            assert!(self.linked.remove(&popped_node).is_some(), "node {popped_node:#x} popped unlinked");
        }
        if linked != 0 {
            assert!(
                self.linked.insert(linked_node, self.now).is_none(),
                "node {linked_node:#x} linked twice"
            );
        }
    }

    /// Gives an order; whether it met its message.
    pub fn order(&mut self, context: u64, generation: u64, value: u64) -> bool {
        let port = |dut: &Dut, name: &str| dut.port(name).unwrap();
        let [valid, handle, order, ready, met] =
            ["order_valid", "order_data.handle", "order_data.value", "order_ready", "order_met"]
                .map(|name| port(self.dut, name));
        self.dut.set(handle, context << 20 | generation);
        self.dut.set(order, value);
        self.dut.set(valid, 1u64);
        let start = self.dut.cycles();
        loop {
            self.clock();
            if self.dut.sampled(ready) != 0 {
                break;
            }
            assert!(self.dut.cycles() < start + 200, "an order is not taken");
        }
        self.dut.set(valid, 0u64);
        let met = self.dut.sampled(met) != 0;
        if met && value >> 31 != 0 {
            let message = self.messages.get_mut(&generation).unwrap();
            (message.phase, message.status) = (Phase::Fencing, PARTIAL);
            self.places.push_back(Place::Fence { context });
            expect(&mut self.events, "rx_aborted");
        } else if met {
            self.ordered = Some(value);
        }
        met
    }

    /// Runs until every message has ended and every context is free.
    pub fn settle(&mut self, ticks: u64) {
        let limit = self.now + ticks;
        while !(self.owners.is_empty() && self.idle() && self.places.is_empty()) {
            self.clock();
            assert!(self.now < limit, "contexts {:?} do not come back", self.owners);
        }
        self.ticks(40);
        for (name, _, seen, expected) in &self.events {
            if !["nack_expiries", "rounds_done", "round_pulls"].contains(name) {
                assert_eq!(seen, expected, "{name}");
            }
        }
        assert_eq!(self.dut.sampled(self.outstanding), 0);
        assert!(self.linked.is_empty());
        assert!(self.told.is_empty(), "bits that are not told of");
        assert_eq!(self.chunk_fences, self.chunk_words, "each with its fence");
        let hosted = self.messages.values().filter(|message| message.first.host).count();
        assert_eq!(self.announced.len(), hosted, "HR-3");
    }

    /// Timer nodes of a context that are linked.
    pub fn nodes_linked(&self, context: u64) -> usize {
        [context, context | 0x1000].iter().filter(|node| self.linked.contains_key(node)).count()
    }

    pub fn nacks(&self) -> Vec<Seen> {
        self.seen.iter().filter(|seen| seen.flags & NACK != 0).cloned().collect()
    }
}
