//! Drives the receiver and checks everything it says against the reference.
//!
//! The engine judges one event at a time and says when it judged a packet, and
//! its feedback is taken at once while a packet is on its way, so the order of
//! what is seen here is the order in which it happened inside: expectations are
//! exact, not windows.

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
    pub credit_policy: u64,
    pub credit_delay: u64,
    pub grant_quantum: u64,
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
    credit_policy: 0,
    credit_delay: 100,
    grant_quantum: 16,
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
            ("credit_policy", r.credit_policy),
            ("credit_delay", r.credit_delay),
            ("grant_quantum", r.grant_quantum),
        ] {
            let port = self.dut.port(&format!("settings.{name}")).unwrap();
            self.dut.set(port, value);
        }
        let rst = self.dut.port("rst").unwrap();
        for name in ["work_valid", "fence_valid", "order_valid", "doorbell.valid"] {
            let port = self.dut.port(name).unwrap();
            self.dut.set(port, 0u64);
        }
        let low = self.dut.port("low").unwrap();
        self.dut.set(low, 0u64);
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
            agent.drive(self.dut);
        }
        // See the module's comment.
        if self.offered.is_some() || !self.taken.is_empty() {
            self.dut.set(self.place_ready, 1u64);
            self.dut.set(self.feedback_ready, 1u64);
        }
        self.dut.clock();
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
            agent.sample(self.dut);
        }
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

    fn on_packet(&mut self, packet: &Packet) {
        let has_payload = packet.payload() != 0;
        match packet.verdict {
            2 => {
                if packet.denied {
                    expect(&mut self.events, "remote_access");
                }
                if has_payload {
                    self.places.push_back(Place::Drop);
                }
                return;
            }
            3 => {
                let message = self.messages.get_mut(&packet.generation).unwrap();
                if message.phase == Phase::Open {
                    message.phase = Phase::Fencing;
                    message.status = match (packet.released, packet.destroyed) {
                        (_, true) => DESTROYED,
                        (true, _) => RELEASED,
                        _ => REPLACED,
                    };
                    self.places.push_back(Place::Fence { context: packet.context });
                    expect(&mut self.events, "rx_aborted");
                }
                if has_payload {
                    self.places.push_back(Place::Drop);
                }
                return;
            }
            _ => {}
        }
        let message = self.messages.get_mut(&packet.generation).unwrap();
        message.begun = true;
        let was_open = message.phase == Phase::Open;
        let verdict = message.packet(packet, self.now, self.registers.ack_every);
        let complete = was_open && message.phase == Phase::Fencing && verdict != Verdict::Denied;
        if verdict == Verdict::Denied {
            self.places.push_back(Place::Fence { context: packet.context });
            expect(&mut self.events, "rx_aborted");
            expect(&mut self.events, "remote_access");
        }
        if has_payload {
            self.places.push_back(if verdict == Verdict::New {
                let address = message.first.buffer.wrapping_add(packet.index << packet.log2);
                Place::Write { address, length: packet.payload(), context: packet.context }
            } else {
                Place::Drop
            });
        }
        if verdict == Verdict::New && message.first.host && message.chunk_is_whole(packet.index) {
            let block = packet.index >> 8;
            self.told.push_back((packet.generation, block, message.bits(block << 8)));
            if !complete {
                self.places.push_back(Place::Chunk { context: packet.context });
            }
        }
        if complete {
            self.places.push_back(Place::Fence { context: packet.context });
        }
        match verdict {
            Verdict::New => expect(&mut self.events, "rx_new"),
            Verdict::Duplicate => expect(&mut self.events, "duplicate"),
            Verdict::NotGranted => expect(&mut self.events, "not_granted"),
            Verdict::Mismatch => expect(&mut self.events, "mismatch"),
            Verdict::Nothing | Verdict::Denied => {}
        }
    }

    fn on_place(&mut self, word: &Word) {
        let shape = self.place.shape().clone();
        let get = |name: &str| shape.get(word, name);
        let (kind, context) = (get("kind"), get("context"));
        match kind {
            0 => self.placed(Place::Drop),
            2 => {}
            _ => self.placed(Place::Write { address: get("address"), length: get("length"), context }),
        }
        if kind >= 2 {
            let (chunk, more) = (get("chunk"), get("more"));
            assert_eq!(get("area") != 0, self.messages[&self.owners[&context]].first.host);
            self.chunk_fences += chunk;
            assert!(chunk != 0 || more == 0, "a fence for nothing");
            self.placed(if more != 0 { Place::Chunk { context } } else { Place::Fence { context } });
        }
    }

    fn placed(&mut self, place: Place) {
        if let Place::Fence { context } = place {
            let message = self.messages.get_mut(&self.owners[&context]).unwrap();
            // Nobody told it to end: it gave up (LD-7).
            if message.phase == Phase::Open {
                let silence = self.now - message.last_heard;
                let before = message.last_heard - message.heard_before;
                assert!(message.cumulative < message.grant, "gave up though nothing is missing");
                // A packet may have come while the give-up was on its way.
                let enough = self.registers.rx_give_up;
                let late = silence < 20 && before >= enough;
                assert!(silence >= enough || late, "gave up after {silence} ticks");
                message.phase = Phase::Fencing;
                message.status = GAVE_UP;
                self.places.push_back(place.clone());
                expect(&mut self.events, "rx_aborted");
            }
            let delay = self.rng.below(self.fence_delay + 1);
            let error = self.rng.chance(self.fence_error);
            self.fences.push((self.now + delay, context, error));
        }
        let expected = self.places.pop_front();
        assert_eq!(expected.as_ref(), Some(&place), "placement");
    }

    fn on_feedback(&mut self, word: &Word) {
        let shape = self.feedback.shape().clone();
        let get = |name: &str| shape.get(word, name);
        let bits: [u64; 4] = std::array::from_fn(|i| word.bits(self.bitmap_lsb + 64 * i, 64));
        let gid = [word.bits(self.mac_lsb, 64), word.bits(self.mac_lsb + 64, 64)];
        let total = self.least_credit();
        let r = self.registers;
        let message = self.messages.get_mut(&get("generation")).expect("feedback of a message");
        let first = message.first.clone();
        assert_eq!(gid, first.gid);
        assert_eq!(
            (get("dst_endpoint"), get("endpoint"), get("slot")),
            (first.src_endpoint, first.endpoint, first.slot)
        );
        message.sequence += 1;
        assert_eq!(get("sequence"), message.sequence & 0xFF, "sequence");
        assert_eq!(get("cumulative"), message.cumulative, "cumulative");
        assert_eq!(get("duplicates"), message.duplicates, "duplicates");
        let flags = get("flags");
        let own_base = message.cumulative.min(message.count() - 1) >> 8 << 8;
        self.last_mac = get("dst_mac");
        let before = self.seen.last();
        let goes_on = before.is_some_and(|s| s.generation == first.generation && s.flags & NACK != 0);
        self.seen.push(Seen {
            tick: self.now,
            generation: first.generation,
            flags,
            status: get("status"),
            cumulative: get("cumulative"),
            grant: get("grant"),
            base: get("base"),
            limit: get("limit"),
            bits,
        });
        // RC-8: a sample only of a packet, and of the right one.
        let sampled = (get("sample"), get("ev_echo"), get("arrival"), get("echo"));
        let sample_of = |p: &Packet| (1, p.ev, p.arrival & 0xFFFF_FFFF, p.timestamp & 0xFFFF_FFFF);
        if flags & (COMPLETE | ABORT) != 0 {
            unreported(message);
            assert_eq!(message.phase, Phase::Told, "an end is told before its completion");
            message.phase = Phase::Answered;
            let status = get("status");
            assert_eq!(get("base"), own_base);
            if flags & COMPLETE != 0 {
                assert_eq!((message.status, status), (SUCCESS, SUCCESS));
                //= RL-3 test
                assert_eq!(flags & !CE, COMPLETE | if self.low { RELEASE_REQ } else { 0 });
                assert_eq!(flags & CE != 0, message.last.ce);
                assert_eq!(sampled, sample_of(&message.last));
                assert_eq!(bits, [u64::MAX; 4]);
                expect(&mut self.events, "rx_completed");
            } else {
                assert_eq!((flags, status), (ABORT, message.status));
                assert_ne!(status, REPLACED, "RO-4: no feedback");
                assert_ne!(status, RELEASED, "RL-2: no feedback");
                assert_eq!(sampled, (0, 0, 0, 0));
                if status == REMOTE_DMA {
                    expect(&mut self.events, "rx_aborted");
                }
            }
            return;
        }
        assert_eq!(message.phase, Phase::Open, "feedback {flags:#x} of a message that is ending");
        assert_eq!(get("dst_mac"), message.last.mac, "RC-3");
        assert_eq!(get("status"), 0);
        if flags & NACK != 0 {
            assert_eq!(flags, NACK);
            assert_eq!(sampled, (0, 0, 0, 0), "LD-6");
            let (base, limit) = (get("base"), get("limit"));
            assert!(limit <= message.grant && base < limit && base % 256 == 0, "base {base} limit {limit}");
            assert_eq!(bits, message.bits(base));
            let asks = (base..limit.min(base + 256)).any(|i| !message.arrived[i as usize]);
            assert!(asks, "LD-4: a NACK that asks for nothing");
            if first.host {
                //= HR-8 test
                let ordered = self.ordered.take().expect("HR-8: a NACK that nobody ordered");
                assert_eq!((base, limit), ((ordered - 1) >> 8 << 8, ordered.min(message.grant)));
                message.since = 0;
                assert_eq!(get("grant"), message.grant);
                return;
            }
            // The NACKs of one expiry come one after the other, oldest block first.
            let same =
                goes_on && message.last_nack.is_some_and(|(_, c, b)| c == message.cumulative && base > b);
            if !same {
                if let Some((tick, cumulative, _)) = message.last_nack {
                    if cumulative == message.cumulative {
                        let apart = self.now - tick;
                        let rtt = if first.rtt == 0 { r.rtt_default } else { first.rtt };
                        // A PROBE ends the hold.
                        let probed = message.probed.filter(|probed| *probed >= tick);
                        let least = probed.map_or(rtt, |probed| probed - tick) + r.guard;
                        assert!(apart >= least.min(rtt + r.guard), "LD-5: {apart} ticks apart");
                    }
                }
                message.nacks = 0;
                message.unanswered += 1;
            }
            message.last_nack = Some((self.now, message.cumulative, base));
            message.nacks += 1;
            assert!(message.nacks <= r.nack_burst, "NACK_BURST");
            message.since = 0;
        } else if flags & GRANT != 0 {
            assert_eq!(flags, GRANT);
            assert_eq!(sampled, (0, 0, 0, 0));
            let grant = get("grant");
            assert!(grant > message.grant && grant <= message.reach(), "GR-2: {} -> {grant}", message.grant);
            assert!(r.credit_policy & 4 == 0 || message.unanswered < 2, "GR-5: a grant to who lends");
            let quota = grant - message.grant;
            assert!(quota <= r.grant_quantum);
            let asked = r.grant_quantum.min(message.reach() - message.grant);
            // Without credit a message that is owed nothing gets one packet all the same,
            // when nobody got anything for a while.
            let still = self.now.saturating_sub(self.granted_at) + GRANT_SLACK >= r.rtt_default;
            let single = quota == 1 && message.credit() == 0 && still;
            self.granted_at = self.now;
            assert!(quota == asked || grant % 256 == 0 || single, "cut to {quota} of {asked} inside a block");
            assert!(
                total == 0 || single || total + (quota << first.log2) <= r.credit_limit,
                "GR-2: {total} outstanding"
            );
            message.grant = grant;
            message.since = 0;
            assert_eq!(get("base"), own_base);
            assert_eq!(bits, message.bits(own_base));
            expect(&mut self.events, "grants_sent");
        } else {
            let reply = message.replies.pop_front().expect("feedback for nothing");
            assert_eq!(flags, if reply.packet.ce { CE } else { 0 });
            assert_eq!(sampled, sample_of(&reply.packet));
            assert_eq!((get("cumulative"), get("duplicates")), (reply.cumulative, reply.duplicates));
            assert_eq!((get("base"), get("limit")), (own_base, 0));
            assert_eq!(bits, reply.bits);
        }
        assert_eq!(get("grant"), message.grant);
    }

    fn on_done(&mut self, word: &Word) {
        let shape = self.done.shape().clone();
        let get = |name: &str| shape.get(word, name);
        let message = self.messages.get_mut(&get("generation")).expect("a completion of a message");
        let Phase::Fenced { error } = message.phase else {
            panic!("a completion in phase {:?}", message.phase);
        };
        assert!(message.first.reports(), "WR-1: a completion that ends no receive");
        let status = over(message, error);
        let first = &message.first;
        let gid = [word.bits(self.peer_lsb, 64), word.bits(self.peer_lsb + 64, 64)];
        assert_eq!(gid, first.gid);
        assert_eq!((get("receive"), get("status")), (1, status));
        assert_eq!(get("write") != 0, first.flags & WRITE != 0);
        assert_eq!((get("has_imm") != 0, get("imm")), (first.flags & IMM != 0, first.imm));
        assert_eq!(
            (get("endpoint"), get("entry"), get("own"), get("length")),
            (first.endpoint, first.entry, first.entry & 1, first.length)
        );
        assert_eq!(
            (get("tag"), get("slot"), get("peer_endpoint")),
            (first.tag, first.slot, first.src_endpoint)
        );
    }

    fn on_retire(&mut self, word: &Word) {
        let shape = self.retire.shape().clone();
        let get = |name: &str| shape.get(word, name);
        let context = get("context");
        let message = self.messages.get_mut(&self.owners[&context]).unwrap();
        if get("bury") != 0 {
            unreported(message);
            // The feedback may still be in its register: told, not seen here.
            assert!(matches!(message.phase, Phase::Answered | Phase::Told), "{:?}", message.phase);
            assert_eq!(get("status"), message.status);
            if message.phase == Phase::Answered {
                message.phase = Phase::Buried;
            }
            message.freed = false;
        }
        if get("free") != 0 {
            assert!(!message.freed, "context {context} freed twice");
            message.freed = true;
            assert!(message.replies.is_empty());
            for node in [context, context | 0x1000] {
                assert!(!self.linked.contains_key(&node), "node {node:#x} is linked in a free context");
            }
            self.owners.remove(&context);
        }
    }

    //= HR-3 test
    fn on_header(&mut self, word: &Word) {
        let shape = self.header.shape().clone();
        let get = |name: &str| shape.get(word, name);
        let message = self.messages.get(&get("generation")).expect("a header of a message");
        let first = &message.first;
        assert!(first.host && self.announced.insert(first.generation), "a second header, or of no area");
        assert_eq!((get("context"), get("buffer")), (first.context, first.buffer));
        assert_eq!((get("area_log2"), get("chunk_log2")), (first.area_log2, first.chunk_log2));
        assert_eq!((get("count"), get("length")), (first.count(), first.length));
        assert_eq!((get("payload_log2"), get("tag")), (first.log2, first.tag));
    }

    //= HR-4 test
    fn on_chunk(&mut self, word: &Word) {
        let shape = self.chunk.shape().clone();
        let get = |name: &str| shape.get(word, name);
        let (generation, block, bits) = self.told.pop_front().expect("bits that no packet completed");
        let first = &self.messages[&generation].first;
        assert!(self.announced.contains(&generation), "bits before the header");
        assert_eq!((get("buffer"), get("block")), (first.buffer, block));
        assert_eq!((get("area_log2"), get("chunk_log2")), (first.area_log2, first.chunk_log2));
        let fields = self.dut.model().fields("chunk_data");
        let lsb = fields.into_iter().find(|(name, ..)| name == "bits").expect("the field").1;
        let seen: [u64; 4] = std::array::from_fn(|i| word.bits(lsb + 64 * i, 64));
        assert_eq!(seen, bits);
        self.chunk_words += 1;
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
