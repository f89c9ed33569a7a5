//! `lookup` between a packet source, a receive ring, a context block and a
//! feedback sink, beside the reference.

use super::record::{Layout, Record};
use super::reference::{Held, Outcome, Posted, Reference, EVENTS};
use std::collections::{BTreeMap, VecDeque};
use tessera_abi::params::{Config, NIC512};
use tessera_abi::regs::{endpoint, table};
use tessera_abi::status::Status;
use tessera_rtl::rx::Lookup;
use tessera_sim::tb::{cycle, Pattern, Rng, StreamDriver, StreamMonitor};
use tessera_sim::verilator::{Design, Dut, PortId};
use tessera_testbenches::host::Broadcast;

/// Clocks from `ask_valid` to `answer_valid`, as of `host/rq_fetch`.
const ANSWER_LATENCY: usize = 3;
/// Clocks of the expansion of a seed, and of the steps around it.
const KEYING: u64 = 1130;
pub const SEED: u32 = 0x9abc_def1;

/// Sixteen contexts, 64 places, 40 tombstones.
pub const SMALL: Config = Config { rx_contexts_log2: 4, table_sets_log2: 3, tombstones: 40, ..NIC512 };
/// The same, and no host recovers.
pub const BY_ITSELF: Config = Config { host_recovery: false, ..SMALL };
/// Sixteen places: conflicts come before anything else runs out.
pub const TIGHT: Config = Config { rx_contexts_log2: 6, table_sets_log2: 1, ..NIC512 };

/// Room for all endpoints at once.
pub const WIDE: Config = Config { rx_contexts_log2: 10, table_sets_log2: 8, tombstones: 1024, ..NIC512 };

pub fn design(top: &str, config: &'static Config) -> Design {
    tessera_testbenches::design_for(top, config, Lookup::new)
}

pub struct Bench<'a> {
    pub dut: &'a mut Dut,
    pub reference: Reference,
    host: Broadcast,
    packets: StreamDriver,
    retires: StreamDriver,
    works: StreamMonitor,
    feedbacks: StreamMonitor,
    layout: Layout,
    work_layout: Layout,
    feedback_layout: Layout,
    retire_layout: Layout,
    /// Offered and not yet taken.
    offered: VecDeque<Record>,
    /// Taken and not yet judged.
    in_hand: VecDeque<Record>,
    /// Offered and not yet in the tables.
    retiring: VecDeque<(u64, bool, u8, bool)>,
    reclaiming: bool,
    /// Contexts sent away for an endpoint that is reclaimed.
    away: Vec<u64>,
    expected_works: VecDeque<Record>,
    expected_feedbacks: VecDeque<Record>,
    /// The ring as `rq_fetch` has it: consumed a little after the reference.
    ring: BTreeMap<u8, VecDeque<Posted>>,
    posted: Vec<(u8, Posted)>,
    /// As the match table has them, and those to come.
    tagged: BTreeMap<(u8, u64), VecDeque<Posted>>,
    posted_tagged: Vec<((u8, u64), Posted)>,
    /// Clocks the ask at hand has waited, and must.
    match_wait: (u64, u64),
    /// Key of the answer that stands.
    match_key: Option<(u8, u64)>,
    match_rng: Rng,
    unexpected: [u64; 2],
    answers: VecDeque<Option<u8>>,
    last_answered: u8,
    seen_events: BTreeMap<&'static str, u64>,
    ports: Ports,
    pub now: u64,
    /// Answers that call the receive coming before it is there, of one ring or of all.
    pub late: u64,
    pub late_ring: Option<u8>,
    /// Clocks in which a packet was taken.
    pub taken_at: Vec<u64>,
    /// What the last packet judged causes.
    pub last: Outcome,
}

struct Ports {
    now: PortId,
    ask_valid: PortId,
    ask_ring: PortId,
    answer_valid: PortId,
    available: PortId,
    coming: PortId,
    address: PortId,
    length: PortId,
    room: PortId,
    chunks: PortId,
    chunk_log2: PortId,
    area_log2: PortId,
    capacity: PortId,
    entry: PortId,
    consume: PortId,
    match_ask: PortId,
    match_endpoint: PortId,
    match_tag: PortId,
    match_known: PortId,
    match_answer: [PortId; 6],
    match_settle: PortId,
    match_take: PortId,
    match_unexpected: PortId,
    block_available: PortId,
    judged: PortId,
    buried: PortId,
    free_contexts: PortId,
    tombstones: PortId,
    events: Vec<(&'static str, PortId)>,
}

impl<'a> Bench<'a> {
    pub fn new(
        dut: &'a mut Dut,
        config: &Config,
        time_wait: u64,
        now: u64,
        [idle, stall, retire]: [Pattern; 3],
        rng: &mut Rng,
    ) -> Self {
        let port = |name: &str| dut.port(name).unwrap();
        let ports = Ports {
            now: port("now"),
            ask_valid: port("ask_valid"),
            ask_ring: port("ask_ring"),
            answer_valid: port("answer_valid"),
            available: port("answer.available"),
            coming: port("answer.coming"),
            address: port("answer.address"),
            length: port("answer.length"),
            room: port("answer.room"),
            chunks: port("answer.chunks"),
            chunk_log2: port("answer.chunk_log2"),
            area_log2: port("answer.area_log2"),
            capacity: port("answer.capacity"),
            entry: port("answer.entry"),
            consume: port("consume"),
            match_ask: port("match_ask"),
            match_endpoint: port("match_endpoint"),
            match_tag: port("match_tag"),
            match_known: port("match_known"),
            match_answer: ["available", "coming", "address", "length", "entry", "room"]
                .map(|f| port(&format!("match_answer.{f}"))),
            match_settle: port("match_settle"),
            match_take: port("match_take"),
            match_unexpected: port("match_unexpected"),
            block_available: port("block_available"),
            judged: port("judged"),
            buried: port("buried"),
            free_contexts: port("free_contexts"),
            tombstones: port("tombstones"),
            events: EVENTS.iter().map(|event| (*event, port(event))).collect(),
        };
        let settings = [
            "settings.enable",
            "settings.seed",
            "settings.time_wait",
            "settings.mpl",
            "settings.release_low",
        ]
        .map(port);
        let (rst, ready) = (port("rst"), port("ready"));
        let layout = |name: &str| Layout::new(dut.model(), name);
        let layouts = ["packet_data", "work_data", "feedback_data", "retire_data"].map(layout);
        let [layout, work_layout, feedback_layout, retire_layout] = layouts;
        for name in [
            "packet_valid",
            "retire_valid",
            "answer_valid",
            "match_known",
            "work_ready",
            "feedback_ready",
            "reclaim.active",
        ] {
            let port = dut.port(name).unwrap();
            dut.set(port, 0u64);
        }
        dut.set(ports.block_available, 1u64);
        dut.set(settings[0], 0u64);
        dut.set(settings[1], u64::from(SEED));
        dut.set(settings[2], time_wait);
        dut.set(settings[3], time_wait);
        dut.set(settings[4], 0u64);
        dut.set(rst, 1u64);
        dut.clock();
        dut.clock();
        dut.set(rst, 0u64);
        let [sets, contexts, endpoints] =
            [config.table_sets_log2, config.rx_contexts_log2, config.endpoints_log2].map(|log2| 1u64 << log2);
        let clocks = sets.max(contexts).max(endpoints) + 4;
        for _ in 0..clocks {
            dut.clock();
        }
        assert_eq!(dut.sampled(ready), 1, "not ready {clocks} clocks after reset");
        dut.set(settings[0], 1u64);
        for _ in 0..KEYING {
            dut.clock();
        }
        // The seed is taken when enable rises, and only then.
        dut.set(settings[1], 1u64);
        let mut bench = Bench {
            reference: Reference::new(config, SEED, time_wait),
            host: Broadcast::new(dut),
            packets: StreamDriver::new(dut, "packet", idle, rng).unwrap().ahead(2),
            retires: StreamDriver::new(dut, "retire", retire, rng).unwrap(),
            works: StreamMonitor::new(dut, "work", stall, rng).unwrap(),
            feedbacks: StreamMonitor::new(dut, "feedback", stall, rng).unwrap(),
            layout,
            work_layout,
            feedback_layout,
            retire_layout,
            offered: VecDeque::new(),
            retiring: VecDeque::new(),
            reclaiming: false,
            away: Vec::new(),
            expected_works: VecDeque::new(),
            expected_feedbacks: VecDeque::new(),
            ring: BTreeMap::new(),
            in_hand: VecDeque::new(),
            posted: Vec::new(),
            tagged: BTreeMap::new(),
            posted_tagged: Vec::new(),
            match_wait: (0, 5),
            match_key: None,
            match_rng: rng.fork(),
            unexpected: [0; 2],
            answers: VecDeque::from(vec![None; ANSWER_LATENCY - 1]),
            last_answered: 0,
            seen_events: EVENTS.iter().map(|event| (*event, 0)).collect(),
            ports,
            now,
            late: 0,
            late_ring: None,
            taken_at: Vec::new(),
            last: Outcome::default(),
            dut,
        };
        for index in 0..4 {
            bench.tenant(index, index, 0);
        }
        bench
    }

    /// A packet with random fields but for its name.
    pub fn some_packet(&self, key: (u128, u128, u128), generation: u32, flags: u8, rng: &mut Rng) -> Record {
        let mut packet = self.layout.random(rng);
        packet.set("src_gid", key.0);
        packet.set("src_endpoint", key.1);
        packet.set("slot", key.2);
        packet.set("ud", 0);
        packet.set("release", 0);
        packet.set("generation", u128::from(generation));
        packet.set("flags", u128::from(flags));
        packet.set("denied", 0);
        packet.set("endpoint", u128::from(rng.below(4)));
        packet.set("length", u128::from(rng.below(1 << 20)));
        packet.set("tag", u128::from(rng.below(3)) << 40);
        if rng.chance(0.3) {
            packet.set("payload_len", 0);
        }
        packet
    }

    /// A RELEASE, as `rx_parse` hands it over.
    pub fn some_release(&self, key: (u128, u128, u128), generation: u32, rng: &mut Rng) -> Record {
        let mut release = self.some_packet(key, generation, 0, rng);
        release.set("release", 1);
        release.set("probe", 0);
        release.set("payload_len", 0);
        release
    }

    /// Sets MPL, ticks, and RELEASE_LOW.
    pub fn releases(&mut self, mpl: u64, low: u32) {
        self.settle();
        for (name, value) in [("mpl", mpl), ("release_low", low.into())] {
            let port = self.dut.port(&format!("settings.{name}")).unwrap();
            self.dut.set(port, value);
        }
        (self.reference.mpl, self.reference.low) = (mpl, low);
        self.clock();
        self.clock();
    }

    /// Reclaims an endpoint until it holds no context; ends that come of it are
    /// given. Returns the contexts sent away.
    pub fn reclaim(&mut self, endpoint: u8) -> Vec<u64> {
        self.settle();
        let [active, at, left] =
            ["reclaim.active", "reclaim.endpoint", "contexts_left"].map(|name| self.dut.port(name).unwrap());
        self.dut.set(at, u64::from(endpoint));
        self.dut.set(active, 1u64);
        let mut sent_away = Vec::new();
        for _ in 0..100_000 {
            self.clock_with(&mut sent_away);
            if self.retiring() == 0 && self.dut.sampled(left) == 0 && self.reference.held_by(endpoint) == 0 {
                break;
            }
        }
        self.dut.set(active, 0u64);
        assert_eq!(self.reference.held_by(endpoint), 0, "endpoint {endpoint} keeps contexts");
        sent_away
    }

    /// One clock in which contexts of the endpoint that is reclaimed may be sent
    /// away: what `context` does then follows at once.
    fn clock_with(&mut self, sent_away: &mut Vec<u64>) {
        self.reclaiming = true;
        self.clock();
        self.reclaiming = false;
        for context in std::mem::take(&mut self.away) {
            for entry in self.reference.tables.iter_mut().flatten().flatten().flatten() {
                if matches!(entry.held, Held::Context { number, .. } if number == context) {
                    entry.held = Held::Context { number: context, away: true };
                }
            }
            self.retire(context, true, Status::Destroyed as u8, true);
            sent_away.push(context);
        }
    }

    pub fn offer(&mut self, packet: Record) {
        self.packets.send(self.layout.pack(&packet));
        self.offered.push_back(packet);
    }

    pub fn pending(&self) -> usize {
        self.offered.len()
    }

    /// Writes an endpoint's table entry: the ring its receives come from, and
    /// its quota of contexts.
    pub fn tenant(&mut self, index: u8, ring: u8, quota: u16) {
        self.settle();
        let shares = u64::from(ring != index);
        self.host.table(
            table::ENDPOINT,
            index.into(),
            &[
                (endpoint::VALID, 1),
                (endpoint::SHARES, shares),
                // Without SHARES it means nothing.
                (endpoint::SHARED_RING, if shares == 1 { ring.into() } else { 255 }),
                (endpoint::RX_QUOTA, quota.into()),
            ],
        );
        while self.host.pending() > 0 {
            self.clock();
        }
        self.clock();
        self.reference.tenants.insert(index, (ring, quota.into()));
    }

    /// Makes an endpoint match tags.
    pub fn tags(&mut self, index: u8) {
        self.settle();
        self.host.table(table::ENDPOINT, index.into(), &[(endpoint::VALID, 1), (endpoint::TAGS, 1)]);
        while self.host.pending() > 0 {
            self.clock();
        }
        self.clock();
        self.reference.tenants.remove(&index);
        self.reference.tags.push(index);
    }

    /// Posts a tagged receive, as `post`.
    pub fn post_tagged(&mut self, endpoint: u8, tag: u64, receive: Posted) {
        self.posted_tagged.push(((endpoint, tag), receive));
    }

    /// Posts a receive: the next packet taken is the first to see it.
    pub fn post(&mut self, ring: u8, receive: Posted) {
        self.posted.push((ring, receive));
    }

    pub fn retire(&mut self, context: u64, bury: bool, status: u8, free: bool) {
        let mut record = Record::default();
        record.set("context", u128::from(context));
        record.set("bury", u128::from(bury));
        record.set("status", u128::from(status));
        record.set("free", u128::from(free));
        self.retires.send(self.retire_layout.pack(&record));
        self.retiring.push_back((context, bury, status, free));
    }

    /// Contexts that have been handed over, and whether they were sent away.
    pub fn contexts(&self) -> Vec<(u64, bool)> {
        let on_its_way = |number: u64| {
            let mut openings = self.expected_works.iter().filter(|work| work.get("verdict") == 1);
            openings.any(|work| work.get("context") == u128::from(number))
        };
        self.reference.contexts().into_iter().filter(|(number, _)| !on_its_way(*number)).collect()
    }

    pub fn retiring(&self) -> usize {
        self.retiring.len()
    }

    /// One clock. Returns whether a packet was judged; `reference` then knows it.
    pub fn clock(&mut self) -> bool {
        self.dut.set(self.ports.now, self.now & 0xffff_ffff);
        self.dut.set(self.ports.block_available, self.reference.block_available);
        let before = self.packets.sent();
        let agents: &mut [&mut dyn tessera_sim::tb::Agent] =
            &mut [&mut self.host, &mut self.packets, &mut self.retires, &mut self.works, &mut self.feedbacks];
        cycle(self.dut, agents);

        for (event, port) in &self.ports.events {
            *self.seen_events.get_mut(event).unwrap() += self.dut.sampled(*port);
        }
        self.serve_receives();
        self.serve_matches();
        // Packets and ends are told when they are in the tables: they overlap.
        let judged = self.dut.sampled(self.ports.judged) != 0;
        let buried = self.dut.sampled(self.ports.buried) != 0;
        assert!(!(judged && buried), "a packet and an end in one clock");
        if judged {
            let packet = self.in_hand.pop_front().expect("a packet is judged before it is taken");
            self.last = self.reference.packet(self.now, &packet);
            self.unexpected[0] += u64::from(self.last.unexpected);
            self.expected_works.extend(self.last.work.clone());
            self.expected_feedbacks.extend(self.last.feedback.clone());
        }
        if buried {
            let (context, bury, status, free) = self.retiring.pop_front().expect("an end taken");
            self.reference.retire(self.now, context, bury, status, free);
        }
        let taken = self.packets.sent() != before;
        if taken {
            self.in_hand.push_back(self.offered.pop_front().unwrap());
            self.taken_at.push(self.dut.cycles());
        }
        // Posted before the packet at hand asks: it was taken in this clock or the last.
        if (judged || taken) && self.in_hand.len() == 1 {
            for (ring, receive) in self.posted.drain(..) {
                self.reference.receives.entry(ring).or_default().push_back(receive);
                self.ring.entry(ring).or_default().push_back(receive);
            }
            for (key, receive) in self.posted_tagged.drain(..) {
                self.reference.tagged.entry(key).or_default().push_back(receive);
                self.tagged.entry(key).or_default().push_back(receive);
            }
        }
        while let Some(work) = self.works.take() {
            let got = self.work_layout.unpack(&work.word);
            if self.reclaiming && got.get("destroyed") != 0 {
                assert_eq!((got.get("verdict"), got.get("payload_len"), got.get("ud")), (3, 0, 0));
                self.away.push(got.get("context") as u64);
                continue;
            }
            assert_eq!(got.get("destroyed"), 0);
            let Some(expected) = self.expected_works.pop_front() else {
                panic!("work for nothing: {got:x?}")
            };
            expected.assert_within(&got, "work");
        }
        while let Some(feedback) = self.feedbacks.take() {
            let got = self.feedback_layout.unpack(&feedback.word);
            let Some(expected) = self.expected_feedbacks.pop_front() else {
                panic!("feedback for nothing: {got:x?}")
            };
            expected.assert_within(&got, "feedback");
        }
        judged
    }

    /// `rq_fetch` with its fixed latency.
    fn serve_receives(&mut self) {
        if self.dut.sampled(self.ports.consume) != 0 {
            let ring = self.ring.get_mut(&self.last_answered).expect("an answered endpoint");
            ring.pop_front().expect("something to consume");
        }
        let asked = self.dut.sampled(self.ports.ask_valid) != 0;
        self.answers.push_back(asked.then(|| self.dut.sampled(self.ports.ask_ring) as u8));
        let answer = self.answers.pop_front().unwrap();
        self.dut.set(self.ports.answer_valid, answer.is_some());
        if let Some(endpoint) = answer {
            self.last_answered = endpoint;
            let head = self.ring.entry(endpoint).or_default().front().copied();
            let late = self.late > 0 && self.late_ring.is_none_or(|ring| ring == endpoint);
            self.late -= u64::from(late);
            self.reference.late = late;
            self.dut.set(self.ports.coming, late);
            self.dut.set(self.ports.available, head.is_some() && !late);
            let head = head.unwrap_or(Posted { address: 0, length: 0, entry: 0, area: None });
            self.dut.set(self.ports.address, head.address);
            self.dut.set(self.ports.length, u64::from(head.length));
            self.dut.set(self.ports.room, head.room());
            let (n, k) = head.area.unwrap_or_default();
            self.dut.set(self.ports.chunks, head.area.is_some());
            self.dut.set(self.ports.chunk_log2, n);
            self.dut.set(self.ports.area_log2, k);
            self.dut.set(self.ports.capacity, ((64u64 << k) - 32) / (32 >> n));
            self.dut.set(self.ports.entry, u64::from(head.entry));
        }
    }

    /// The match table with some latency.
    fn serve_matches(&mut self) {
        if self.dut.sampled(self.ports.match_settle) != 0 {
            if self.dut.sampled(self.ports.match_take) != 0 {
                let key = self.match_key.expect("a take without an answer");
                self.tagged.get_mut(&key).unwrap().pop_front().expect("something to take");
            }
            let unexpected = self.dut.sampled(self.ports.match_unexpected);
            assert!(unexpected == 0 || self.match_key.is_some(), "unexpected without an answer");
            self.unexpected[1] += unexpected;
            self.match_key = None;
            self.match_wait = (0, 5 + self.match_rng.below(2) * self.match_rng.below(12));
            self.dut.set(self.ports.match_known, 0u64);
            return;
        }
        if self.match_key.is_some() || self.dut.sampled(self.ports.match_ask) == 0 {
            return;
        }
        self.match_wait.0 += 1;
        if self.match_wait.0 >= self.match_wait.1 {
            let endpoint = self.dut.sampled(self.ports.match_endpoint) as u8;
            let key = (endpoint, self.dut.sampled(self.ports.match_tag));
            self.match_key = Some(key);
            let oldest = self.tagged.get(&key).and_then(|list| list.front()).copied();
            let found = oldest.unwrap_or(Posted { address: 77, length: 0, entry: 0, area: None });
            let length = u64::from(found.length);
            let answer = [oldest.is_some().into(), 0, found.address, length, found.entry.into(), length];
            for (port, value) in self.ports.match_answer.iter().zip(answer) {
                self.dut.set(*port, value);
            }
            self.dut.set(self.ports.match_known, 1u64);
        }
    }

    /// Clocks until everything offered is done, then compares all counts.
    pub fn settle(&mut self) {
        let mut clocks = 0;
        while !self.offered.is_empty()
            || !self.in_hand.is_empty()
            || !self.retiring.is_empty()
            || !self.expected_works.is_empty()
            || !self.expected_feedbacks.is_empty()
        {
            self.clock();
            clocks += 1;
            assert!(
                clocks < 200_000,
                "{} packets, {} works wait",
                self.offered.len(),
                self.expected_works.len()
            );
        }
        for _ in 0..16 {
            self.clock();
        }
        assert_eq!(self.seen_events, self.reference.events);
        assert_eq!(self.unexpected[0], self.unexpected[1], "unexpected messages");
        assert_eq!(self.tagged, self.reference.tagged);
        assert_eq!(self.dut.sampled(self.ports.free_contexts), self.reference.free.len() as u64);
        assert_eq!(self.dut.sampled(self.ports.tombstones), self.reference.tombstones() as u64);
    }

    /// Moves time past every tombstone and waits for two sweeps.
    pub fn expire(&mut self, sets_log2: usize) {
        self.settle();
        self.now += self.reference.time_wait + 512;
        for _ in 0..(8 << sets_log2) + 16 {
            self.clock();
        }
        self.reference.expire(self.now);
        self.settle();
    }

    pub fn tombstones(&self) -> u64 {
        self.dut.sampled(self.ports.tombstones)
    }
}
