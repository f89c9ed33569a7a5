//! The bench of `host::RqFetch`: rings, the host's DMA, who asks and who is told.

use std::collections::{BTreeMap, VecDeque};
use tessera_abi::params::{Config, NIC512};
use tessera_abi::queue::{self, recv};
use tessera_abi::regs::{endpoint, mr, table};
use tessera_abi::status::Status;
use tessera_rtl::host::registers::DOORBELL_KIND_RQ;
use tessera_rtl::host::rq_fetch::{RqFetch, ANSWER_LATENCY};
use tessera_sim::tb::{cycle, Agent, Pattern, Rng, StreamMonitor};
use tessera_sim::verilator::{Design, Dut, PortId};
use tessera_testbenches::host::{reset, Broadcast, DmaReader, Pulse, SharedMemory};

pub fn design() -> Design {
    tessera_testbenches::design("rq_fetch", || RqFetch::new(&NIC512))
}

/// At each number of beats in flight that is special: as many as are counted, those of a
/// small FPGA, and as few as may be.
pub fn designs() -> [Design; 3] {
    [8, 4, 2].map(|ring_beats_log2| {
        let config = Config { ring_beats_log2, ..NIC512 };
        tessera_testbenches::design_for(&format!("rq_fetch_{ring_beats_log2}"), &config, RqFetch::new)
    })
}

/// A receive entry as the host means it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recv {
    pub address: u64,
    pub length: u32,
    pub lkey: u32,
    /// Tagged or cancel: flags, tag, target and handle.
    pub tagged: Option<(u8, u64, u16, u16)>,
    /// With a chunk area: log2 of its packets per chunk, and of its bytes in units of 64.
    pub area: Option<(u8, u8)>,
}

impl Recv {
    pub fn bytes(&self) -> [u8; queue::RECV_ENTRY_LEN] {
        let mut out = [0xEE; queue::RECV_ENTRY_LEN];
        let mut put = |at: usize, bytes: &[u8]| out[at..at + bytes.len()].copy_from_slice(bytes);
        put(recv::ADDRESS, &self.address.to_le_bytes());
        put(recv::LENGTH, &self.length.to_le_bytes());
        put(recv::LKEY, &self.lkey.to_le_bytes());
        let (flags, tag, target, handle) = self.tagged.unwrap_or_default();
        put(recv::FLAGS, &[flags | if self.area.is_some() { queue::RECV_CHUNKS } else { 0 }]);
        if let Some((n, k)) = self.area {
            put(recv::AREA, &[n | k << 4]);
        }
        put(recv::TAG, &tag.to_le_bytes());
        put(recv::TARGET, &target.to_le_bytes());
        put(recv::HANDLE, &handle.to_le_bytes());
        out
    }
}

pub const BASE: u64 = 0x7000_0000;
pub const LENGTH: u64 = 0x1000_0000;
pub const WRITABLE: u32 = 0x123456 << 8 | 20;
pub const READ_ONLY: u32 = 0x654321 << 8 | 21;
/// As the first, but of a protection domain that no endpoint here is of.
pub const FOREIGN: u32 = 0x123456 << 8 | 22;
pub const DOMAIN: u64 = 0xC077;

/// How an entry must end, worked out from the contract alone.
pub fn verdict(entry: &Recv) -> Status {
    let inside = entry.address >= BASE
        && u128::from(entry.address) + u128::from(entry.length) <= u128::from(BASE + LENGTH);
    let cancel = entry.tagged.is_some_and(|(flags, ..)| flags & queue::RECV_CANCEL != 0);
    if cancel || entry.length == 0 || (entry.lkey == WRITABLE && inside) {
        //= HR-2 test
        match entry.area.filter(|_| !cancel) {
            Some((n, k))
                if n > 5
                    || !entry.address.is_multiple_of(64)
                    || u64::from(entry.length) < 64 << k
                    || entry.tagged.is_some() =>
            {
                Status::BadRequest
            }
            _ => Status::Success,
        }
    } else {
        Status::LocalProtection
    }
}

/// What is told of a longer one.
const LONGEST: u64 = (1 << 13) - 1;

pub fn plain(rng: &mut Rng) -> Recv {
    let longest = *rng.pick(&[1 << 20, 1 << 14, 100]);
    let length = rng.below(longest) as u32;
    let address = BASE + rng.below(LENGTH - u64::from(length) + 1);
    Recv { address, length, lkey: WRITABLE, tagged: None, area: None }
}

/// One entry in four has something wrong with it.
pub fn any(rng: &mut Rng) -> Recv {
    let mut entry = plain(rng);
    if rng.chance(0.2) {
        let flags = *rng.pick(&[queue::RECV_TAGGED, queue::RECV_CANCEL]);
        entry.tagged = Some((flags, rng.next_u64(), rng.bits(16) as u16, rng.bits(16) as u16));
    }
    if rng.chance(0.3) {
        entry.area = Some((rng.below(6) as u8, rng.below(16) as u8));
        if rng.chance(0.7) {
            entry.address &= !63;
        }
        if rng.chance(0.1) {
            entry.area = Some((rng.range(6..8) as u8, 0));
        }
    }
    if rng.chance(0.75) {
        return entry;
    }
    match rng.below(5) {
        0 => entry.lkey = *rng.pick(&[READ_ONLY, FOREIGN]),
        1 => entry.lkey ^= 1 << rng.below(32),
        2 => entry.address = BASE - rng.range(1..100),
        3 => entry.address = BASE + LENGTH - u64::from(entry.length) + rng.range(1..100),
        _ => (entry.length, entry.lkey) = (0, rng.bits(32) as u32),
    }
    entry
}

#[derive(Clone, Copy, Debug)]
pub struct Answer {
    pub asked: u64,
    pub endpoint: u8,
    pub available: bool,
    pub address: u64,
    pub length: u64,
    pub entry: u16,
    /// Whether it has an area, its shape, what it leaves, and for how many blocks it is.
    pub area: [u64; 5],
}

#[derive(Clone, Copy, Debug)]
pub enum Phase {
    Idle,
    Asked(u64, u8),
    /// The answer will be consumed after so many clocks.
    Holding(Answer, u64),
}

/// Plays `rx/lookup`: asks, waits, consumes.
pub struct Asker {
    pub ask: PortId,
    pub ask_ring: PortId,
    pub consume: PortId,
    pub answer_valid: PortId,
    pub fields: [PortId; 5],
    pub area: [PortId; 5],
    pub rng: Rng,
    pub endpoints: Vec<u8>,
    /// Chance that an answer is consumed, and that there is no pause.
    pub take: f64,
    pub haste: f64,
    pub phase: Phase,
    pub answers: VecDeque<Answer>,
    /// (available, coming) of every answer, repetitions left out.
    pub told: Vec<(bool, bool)>,
    /// (clock of the pulse, what it took).
    pub consumed: VecDeque<(u64, Answer)>,
}

impl Asker {
    pub fn new(dut: &Dut, rng: &mut Rng) -> Self {
        let port = |name: &str| dut.port(name).unwrap();
        Asker {
            ask: port("ask_valid"),
            ask_ring: port("ask_ring"),
            consume: port("consume"),
            answer_valid: port("answer_valid"),
            fields: ["available", "address", "length", "entry", "coming"]
                .map(|f| port(&format!("answer.{f}"))),
            area: ["chunks", "chunk_log2", "area_log2", "room", "capacity"]
                .map(|f| port(&format!("answer.{f}"))),
            rng: rng.fork(),
            endpoints: Vec::new(),
            take: 0.8,
            haste: 0.5,
            phase: Phase::Idle,
            answers: VecDeque::new(),
            told: Vec::new(),
            consumed: VecDeque::new(),
        }
    }
}

impl Agent for Asker {
    fn drive(&mut self, dut: &mut Dut) {
        let clock = dut.cycles() + 1;
        let (mut consume, mut may_ask) = (false, false);
        match &mut self.phase {
            Phase::Idle => may_ask = true,
            Phase::Asked(..) => {}
            Phase::Holding(answer, 0) => {
                self.consumed.push_back((clock, *answer));
                (consume, may_ask) = (true, true);
                self.phase = Phase::Idle;
            }
            Phase::Holding(_, wait) => *wait -= 1,
        }
        let ask = may_ask && !self.endpoints.is_empty() && self.rng.chance(self.haste);
        if ask {
            let index = *self.rng.pick(&self.endpoints);
            dut.set(self.ask_ring, index);
            self.phase = Phase::Asked(clock, index);
        }
        dut.set(self.ask, ask);
        dut.set(self.consume, consume);
    }

    fn sample(&mut self, dut: &Dut) {
        let answered = dut.sampled(self.answer_valid) != 0;
        let Phase::Asked(asked, endpoint) = self.phase else {
            assert!(!answered, "an answer to no question");
            return;
        };
        assert_eq!(answered, dut.cycles() == asked + ANSWER_LATENCY, "asked in clock {asked}");
        if answered {
            let [available, address, length, entry, coming] = self.fields.map(|port| dut.sampled(port));
            let area = self.area.map(|port| dut.sampled(port));
            self.told.push((available != 0, coming != 0));
            self.told.dedup();
            let answer = Answer {
                asked,
                endpoint,
                available: available != 0,
                address,
                length,
                entry: entry as u16,
                area,
            };
            self.answers.push_back(answer);
            self.phase = Phase::Idle;
            if answer.available && self.rng.chance(self.take) {
                let wait = if self.rng.chance(self.haste) { 0 } else { self.rng.below(10) };
                self.phase = Phase::Holding(answer, wait);
            }
        }
    }
}

pub struct Ring {
    pub base: u64,
    log2: u8,
    pub posted: u16,
    /// Not yet consumed or refused: (index, entry, its read fails).
    pub due: VecDeque<(u16, Recv, bool)>,
    /// Clock of the table write this life began with.
    pub born: u64,
}

impl Ring {
    pub fn status(item: &(u16, Recv, bool)) -> Status {
        if item.2 {
            Status::LocalDma
        } else {
            verdict(&item.1)
        }
    }

    /// The entry that an answer must show.
    pub fn next_good(&self) -> Option<usize> {
        self.due.iter().position(|item| Ring::status(item) == Status::Success && item.1.tagged.is_none())
    }

    pub fn next_tagged(&self) -> Option<usize> {
        self.due.iter().position(|item| Ring::status(item) == Status::Success && item.1.tagged.is_some())
    }

    pub fn next_bad(&self) -> Option<usize> {
        self.due.iter().position(|item| Ring::status(item) != Status::Success)
    }
}

pub struct Bench<'a> {
    pub dut: &'a mut Dut,
    pub dma: DmaReader,
    pub host: Broadcast,
    pub asker: Asker,
    pub refusals: StreamMonitor,
    pub tagged: StreamMonitor,
    pub memory: SharedMemory,
    pub rings: BTreeMap<u8, Ring>,
    pub handled: usize,
    pub taken: Vec<(u64, u8)>,
    pub offered: u64,
    pub passed: u64,
    /// Endpoints are made with TAGS.
    pub tags: bool,
}

impl<'a> Bench<'a> {
    pub fn new(dut: &'a mut Dut, idle: Pattern, stall: Pattern, rng: &mut Rng) -> Self {
        let memory = SharedMemory::default();
        let mut dma = DmaReader::new(dut, "read", memory.clone(), stall, idle, rng);
        dma.never_stalls = true;
        reset(dut);
        let mut bench = Bench {
            dma,
            host: Broadcast::new(dut),
            asker: Asker::new(dut, rng),
            refusals: StreamMonitor::new(dut, "refused", stall, rng).unwrap(),
            tagged: StreamMonitor::new(dut, "tagged", stall, rng).unwrap(),
            memory,
            rings: BTreeMap::new(),
            handled: 0,
            taken: Vec::new(),
            offered: 0,
            passed: 0,
            tags: false,
            dut,
        };
        for (lkey, write, domain) in [(WRITABLE, 1, DOMAIN), (READ_ONLY, 0, DOMAIN), (FOREIGN, 1, DOMAIN ^ 1)]
        {
            bench.host.table(
                table::MR,
                (lkey & 0xFF).into(),
                &[
                    (mr::VALID, 1),
                    (mr::LOCAL_WRITE, write),
                    (mr::REMOTE_WRITE, 1),
                    (mr::KEY_HI, (lkey >> 8).into()),
                    (mr::PD, domain),
                    (mr::BASE, BASE),
                    (mr::LENGTH, LENGTH),
                ],
            );
        }
        bench
    }

    /// Writes the endpoint's table entry and waits until it is made.
    pub fn endpoint(&mut self, index: u8, base: u64, log2: u8) {
        self.entry(index, endpoint::VALID, base, log2);
    }

    /// An endpoint, or a shared ring alone.
    pub fn entry(&mut self, index: u8, kind: (usize, usize), base: u64, log2: u8) {
        self.host.table(
            table::ENDPOINT,
            index.into(),
            &[
                (kind, 1),
                (endpoint::RQ_BASE, base),
                (endpoint::RQ_LOG2, log2.into()),
                (endpoint::SQ_BASE, !0),
                (endpoint::PD, DOMAIN),
                (endpoint::TAGS, self.tags.into()),
            ],
        );
        while self.host.pending() > 0 {
            self.clock();
        }
        let born = self.host.made.last().unwrap().0;
        self.rings.insert(index, Ring { base, log2, posted: 0, due: VecDeque::new(), born });
    }

    pub fn room(&self, index: u8) -> u64 {
        let ring = &self.rings[&index];
        let oldest = ring.due.front().map_or(ring.posted, |item| item.0);
        (1 << ring.log2) - u64::from(ring.posted.wrapping_sub(oldest))
    }

    pub fn post(&mut self, index: u8, entry: Recv, fails: bool) {
        assert!(self.room(index) > 0, "the bench overruns the ring");
        let ring = self.rings.get_mut(&index).unwrap();
        let place = u64::from(ring.posted) & ((1 << ring.log2) - 1);
        let at = ring.base + place * queue::RECV_ENTRY_LEN as u64;
        self.memory.borrow_mut().write(at, &entry.bytes());
        ring.due.push_back((ring.posted, entry, fails));
        ring.posted = ring.posted.wrapping_add(1);
    }

    pub fn ring(&mut self, index: u8) {
        self.host.ring(DOORBELL_KIND_RQ, index.into(), self.rings[&index].posted);
    }

    pub fn due(&self) -> usize {
        self.rings.values().map(|ring| ring.due.len()).sum()
    }

    pub fn clock(&mut self) {
        cycle(
            self.dut,
            &mut [&mut self.dma, &mut self.host, &mut self.asker, &mut self.refusals, &mut self.tagged],
        );
        // A life ends in the clock of its table write.
        for (clock, pulse) in &self.host.made[self.handled..] {
            if let Pulse::Table { table: table::ENDPOINT, index, .. } = pulse {
                if let Some(ring) = self.rings.get_mut(&(*index as u8)) {
                    (ring.born, ring.posted) = (*clock, 0);
                    ring.due.clear();
                }
            }
        }
        self.handled = self.host.made.len();
        while let Some((clock, answer)) = self.asker.consumed.pop_front() {
            let ring = self.rings.get_mut(&answer.endpoint).unwrap();
            // What was answered in an earlier life takes nothing of this one.
            if answer.asked > ring.born {
                let at = ring.next_good().expect("consumed what was not there");
                assert_eq!(ring.due.remove(at).unwrap().0, answer.entry);
                self.taken.push((clock, answer.endpoint));
            }
        }
        while let Some(answer) = self.asker.answers.pop_front() {
            let ring = &self.rings[&answer.endpoint];
            if answer.asked <= ring.born || !answer.available {
                continue;
            }
            self.offered += 1;
            let at = ring.next_good().unwrap_or_else(|| panic!("{answer:x?} was not posted"));
            let (index, meant, _) = &ring.due[at];
            assert_eq!(
                (answer.entry, answer.address, answer.length),
                (*index, meant.address, u64::from(meant.length).min(LONGEST)),
                "endpoint {}",
                answer.endpoint
            );
            let [chunks, n, k, room, capacity] = answer.area;
            match meant.area {
                None => assert_eq!((chunks, room), (0, meant.length.into())),
                Some((log2, area_log2)) => {
                    assert_eq!((chunks, n, k), (1, log2.into(), area_log2.into()));
                    assert_eq!(room, u64::from(meant.length) - (64 << k));
                    assert_eq!(capacity, ((64 << k) - 32) / (32 >> n));
                }
            }
        }
        while let Some(transfer) = self.tagged.take() {
            let shape = self.tagged.shape().clone();
            let get = |name: &str| shape.get(&transfer.word, name);
            let ring = self.rings.get_mut(&(get("endpoint") as u8)).unwrap();
            // A table write shows two clocks later.
            if self.dut.cycles() <= ring.born + 1 {
                continue;
            }
            let at = ring.next_tagged().expect("an entry is passed on that is plain or not there");
            let (index, meant, _) = ring.due.remove(at).unwrap();
            let (flags, tag, target, handle) = meant.tagged.unwrap();
            let cancel = u64::from(flags & queue::RECV_CANCEL != 0);
            assert_eq!((get("entry") as u16, get("tag"), get("cancel")), (index, tag, cancel));
            assert_eq!((get("address"), get("length")), (meant.address, meant.length.into()));
            assert_eq!((get("target"), get("handle")), (target.into(), handle.into()));
            self.passed += 1;
        }
        while let Some(transfer) = self.refusals.take() {
            let shape = self.refusals.shape().clone();
            let get = |name: &str| shape.get(&transfer.word, name);
            let index = get("endpoint") as u8;
            let ring = self.rings.get_mut(&index).unwrap();
            let at = ring.next_bad().expect("an entry was refused that is right or not there");
            let item = ring.due.remove(at).unwrap();
            assert_eq!((get("entry") as u16, get("receive")), (item.0, 1), "endpoint {index}");
            assert_eq!(get("status"), Ring::status(&item) as u64, "endpoint {index} {item:x?}");
        }
    }

    pub fn drain(&mut self, limit: u64) {
        let begin = self.dut.cycles();
        while self.due() > 0 || self.host.pending() > 0 {
            self.clock();
            let waited = self.dut.cycles() - begin;
            assert!(waited < limit, "{} entries are missing after {waited} clocks", self.due());
        }
    }
}
