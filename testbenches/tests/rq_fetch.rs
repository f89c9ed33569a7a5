//! `host::RqFetch`: what it offers of posted receives, and at what pace.

use std::collections::{BTreeMap, VecDeque};
use tessera_abi::params::NIC512;
use tessera_abi::queue::{self, recv};
use tessera_abi::regs::{endpoint, mr, table};
use tessera_abi::status::Status;
use tessera_rtl::host::registers::DOORBELL_KIND_RQ;
use tessera_rtl::host::rq_fetch::{RqFetch, ANSWER_LATENCY};
use tessera_sim::tb::{self, cycle, Agent, Pattern, Rng, StreamMonitor};
use tessera_sim::verilator::{Design, Dut, PortId};
use tessera_testbenches::host::{reset, Broadcast, DmaReader, Pulse, SharedMemory};

fn design() -> Design {
    tessera_testbenches::design("rq_fetch", || RqFetch::new(&NIC512))
}

/// A receive entry as the host means it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Recv {
    address: u64,
    length: u32,
    lkey: u32,
    /// Tagged or cancel: flags, tag, target and handle.
    tagged: Option<(u8, u64, u16, u16)>,
    /// With a chunk area: log2 of its packets per chunk, and of its bytes in units of 64.
    area: Option<(u8, u8)>,
}

impl Recv {
    fn bytes(&self) -> [u8; queue::RECV_ENTRY_LEN] {
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

const BASE: u64 = 0x7000_0000;
const LENGTH: u64 = 0x1000_0000;
const WRITABLE: u32 = 0x123456 << 8 | 20;
const READ_ONLY: u32 = 0x654321 << 8 | 21;
/// As the first, but of a protection domain that no endpoint here is of.
const FOREIGN: u32 = 0x123456 << 8 | 22;
const DOMAIN: u64 = 0xC077;

/// How an entry must end, worked out from the contract alone.
fn verdict(entry: &Recv) -> Status {
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

fn plain(rng: &mut Rng) -> Recv {
    let length = rng.below(1 << 20) as u32;
    let address = BASE + rng.below(LENGTH - u64::from(length) + 1);
    Recv { address, length, lkey: WRITABLE, tagged: None, area: None }
}

/// One entry in four has something wrong with it.
fn any(rng: &mut Rng) -> Recv {
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
struct Answer {
    asked: u64,
    endpoint: u8,
    available: bool,
    address: u64,
    length: u64,
    entry: u16,
    /// Whether it has an area, its shape, what it leaves, and for how many blocks it is.
    area: [u64; 5],
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    Idle,
    Asked(u64, u8),
    /// The answer will be consumed after so many clocks.
    Holding(Answer, u64),
}

/// Plays `rx/lookup`: asks, waits, consumes.
struct Asker {
    ask: PortId,
    ask_ring: PortId,
    consume: PortId,
    answer_valid: PortId,
    fields: [PortId; 5],
    area: [PortId; 5],
    rng: Rng,
    endpoints: Vec<u8>,
    /// Chance that an answer is consumed, and that there is no pause.
    take: f64,
    haste: f64,
    phase: Phase,
    answers: VecDeque<Answer>,
    /// (available, coming) of every answer, repetitions left out.
    told: Vec<(bool, bool)>,
    /// (clock of the pulse, what it took).
    consumed: VecDeque<(u64, Answer)>,
}

impl Asker {
    fn new(dut: &Dut, rng: &mut Rng) -> Self {
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

struct Ring {
    base: u64,
    log2: u8,
    posted: u16,
    /// Not yet consumed or refused: (index, entry, its read fails).
    due: VecDeque<(u16, Recv, bool)>,
    /// Clock of the table write this life began with.
    born: u64,
}

impl Ring {
    fn status(item: &(u16, Recv, bool)) -> Status {
        if item.2 {
            Status::LocalDma
        } else {
            verdict(&item.1)
        }
    }

    /// The entry that an answer must show.
    fn next_good(&self) -> Option<usize> {
        self.due.iter().position(|item| Ring::status(item) == Status::Success && item.1.tagged.is_none())
    }

    fn next_tagged(&self) -> Option<usize> {
        self.due.iter().position(|item| Ring::status(item) == Status::Success && item.1.tagged.is_some())
    }

    fn next_bad(&self) -> Option<usize> {
        self.due.iter().position(|item| Ring::status(item) != Status::Success)
    }
}

struct Bench<'a> {
    dut: &'a mut Dut,
    dma: DmaReader,
    host: Broadcast,
    asker: Asker,
    refusals: StreamMonitor,
    tagged: StreamMonitor,
    memory: SharedMemory,
    rings: BTreeMap<u8, Ring>,
    handled: usize,
    taken: Vec<(u64, u8)>,
    offered: u64,
    passed: u64,
    /// Endpoints are made with TAGS.
    tags: bool,
}

impl<'a> Bench<'a> {
    fn new(dut: &'a mut Dut, idle: Pattern, stall: Pattern, rng: &mut Rng) -> Self {
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
    fn endpoint(&mut self, index: u8, base: u64, log2: u8) {
        self.entry(index, endpoint::VALID, base, log2);
    }

    /// An endpoint, or a shared ring alone.
    fn entry(&mut self, index: u8, kind: (usize, usize), base: u64, log2: u8) {
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

    fn room(&self, index: u8) -> u64 {
        let ring = &self.rings[&index];
        let oldest = ring.due.front().map_or(ring.posted, |item| item.0);
        (1 << ring.log2) - u64::from(ring.posted.wrapping_sub(oldest))
    }

    fn post(&mut self, index: u8, entry: Recv, fails: bool) {
        assert!(self.room(index) > 0, "the bench overruns the ring");
        let ring = self.rings.get_mut(&index).unwrap();
        let place = u64::from(ring.posted) & ((1 << ring.log2) - 1);
        let at = ring.base + place * queue::RECV_ENTRY_LEN as u64;
        self.memory.borrow_mut().write(at, &entry.bytes());
        ring.due.push_back((ring.posted, entry, fails));
        ring.posted = ring.posted.wrapping_add(1);
    }

    fn ring(&mut self, index: u8) {
        self.host.ring(DOORBELL_KIND_RQ, index.into(), self.rings[&index].posted);
    }

    fn due(&self) -> usize {
        self.rings.values().map(|ring| ring.due.len()).sum()
    }

    fn clock(&mut self) {
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
                (*index, meant.address, u64::from(meant.length)),
                "endpoint {}",
                answer.endpoint
            );
            let [chunks, n, k, room, capacity] = answer.area;
            match meant.area {
                None => assert_eq!((chunks, room), (0, answer.length)),
                Some((log2, area_log2)) => {
                    assert_eq!((chunks, n, k), (1, log2.into(), area_log2.into()));
                    assert_eq!(room, answer.length - (64 << k));
                    assert_eq!(capacity, ((64 << k) - 32) / (32 >> n));
                }
            }
        }
        while let Some(transfer) = self.tagged.take() {
            let shape = self.tagged.shape().clone();
            let get = |name: &str| shape.get(&transfer.word, name);
            let ring = self.rings.get_mut(&(get("endpoint") as u8)).unwrap();
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

    fn drain(&mut self, limit: u64) {
        let begin = self.dut.cycles();
        while self.due() > 0 || self.host.pending() > 0 {
            self.clock();
            let waited = self.dut.cycles() - begin;
            assert!(waited < limit, "{} entries are missing after {waited} clocks", self.due());
        }
    }
}

#[test]
fn every_entry_is_offered_in_order_or_refused() {
    let design = design();
    for (idle, stall) in Pattern::matrix() {
        tb::run(&format!("rq_fetch::random {idle:?} {stall:?}"), &design, |dut, rng| {
            let mut bench = Bench::new(dut, idle, stall, rng);
            bench.dma.latency = rng.pick(&[1..2, 1..20, 100..300]).clone();
            bench.asker.haste = *rng.pick(&[0.1, 0.5, 1.0]);
            let mut used = Vec::new();
            for i in 0..8u64 {
                let index = (i * 32 + rng.below(32)) as u8;
                let (base, log2) = (0x10_0000 * (i + 1) + 32 * rng.below(64), rng.range(1..9) as u8);
                let kind = if i % 2 == 0 { endpoint::VALID } else { endpoint::RING };
                bench.entry(index, kind, base, log2);
                used.push(index);
            }
            bench.asker.endpoints = used.clone();
            for _ in 0..300 {
                let index = *rng.pick(&used);
                for _ in 0..rng.below(bench.room(index) + 1) {
                    let entry = any(rng);
                    bench.post(index, entry, false);
                    // One by one, doorbells meet the visit of their endpoint.
                    if rng.chance(0.5) {
                        bench.ring(index);
                    }
                }
                bench.ring(index);
                for _ in 0..rng.below(100) {
                    bench.clock();
                }
            }
            bench.asker.take = 1.0;
            bench.drain(200_000);
            // All is consumed: every endpoint must now answer "none".
            let before = bench.offered;
            for _ in 0..2000 {
                bench.clock();
            }
            assert_eq!(bench.offered, before);
            // Rings of two entries make it few.
            assert!(bench.passed > 10, "{} tagged", bench.passed);
            assert!(bench.dma.is_idle());
        });
    }
}

#[test]
fn only_endpoints_and_shared_rings_are_read() {
    tb::run("rq_fetch::ring", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        for (index, kind, reads) in
            [(9, endpoint::SHARES, false), (10, endpoint::RING, true), (11, endpoint::SEND_ENABLE, false)]
        {
            bench.entry(index, kind, 0x10_0000, 4);
            let entry = plain(rng);
            bench.post(index, entry, false);
            bench.ring(index);
            bench.asker.endpoints = vec![index];
            bench.asker.take = 1.0;
            let before = bench.dma.log.len();
            for _ in 0..400 {
                bench.clock();
            }
            assert_eq!(bench.dma.log.len() > before, reads, "entry with bit {}", kind.0);
            assert_eq!(bench.rings[&index].due.is_empty(), reads);
        }
    });
}

#[test]
fn refusals_have_their_reason() {
    tb::run("rq_fetch::refusals", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        bench.endpoint(4, 0x1000, 6);
        bench.asker.endpoints = vec![4];
        bench.asker.take = 1.0;
        let good = Recv { address: BASE, length: LENGTH as u32, lkey: WRITABLE, tagged: None, area: None };
        let cases = [
            (good.clone(), Status::Success),
            (Recv { lkey: READ_ONLY, ..good.clone() }, Status::LocalProtection),
            (Recv { lkey: FOREIGN, ..good.clone() }, Status::LocalProtection),
            (Recv { lkey: WRITABLE ^ 1, ..good.clone() }, Status::LocalProtection),
            (Recv { lkey: WRITABLE ^ 1 << 8, ..good.clone() }, Status::LocalProtection),
            (Recv { length: LENGTH as u32 + 1, ..good.clone() }, Status::LocalProtection),
            (Recv { address: BASE - 1, length: 1, ..good.clone() }, Status::LocalProtection),
            (Recv { address: BASE + LENGTH - 1, length: 1, ..good.clone() }, Status::Success),
            (Recv { address: BASE + LENGTH, length: 1, ..good.clone() }, Status::LocalProtection),
            (Recv { address: u64::MAX, length: 1, ..good.clone() }, Status::LocalProtection),
            (Recv { address: 0, length: 0, lkey: 0, tagged: None, area: None }, Status::Success),
        ];
        let area = Recv { area: Some((5, 3)), length: 512, ..good.clone() };
        let areas = [
            (area.clone(), Status::Success),
            (Recv { length: 511, ..area.clone() }, Status::BadRequest),
            (Recv { address: BASE + 32, ..area.clone() }, Status::BadRequest),
            (Recv { area: Some((6, 0)), ..area.clone() }, Status::BadRequest),
            (Recv { tagged: Some((queue::RECV_TAGGED, 1, 0, 0)), ..area.clone() }, Status::BadRequest),
            (Recv { lkey: READ_ONLY, length: 511, ..area }, Status::LocalProtection),
        ];
        for (entry, status) in cases.into_iter().chain(areas) {
            assert_eq!(verdict(&entry), status, "the reference on {entry:x?}");
            bench.post(4, entry, false);
        }
        bench.ring(4);
        bench.drain(2000);
        assert_eq!(bench.taken.len(), 4);
    });
}

#[test]
fn a_failed_ring_read_refuses_exactly_its_entries() {
    tb::run("rq_fetch::dma_error", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        bench.endpoint(5, 0x10_0000, 5);
        bench.asker.endpoints = vec![5];
        bench.memory.borrow_mut().poisoned.push(0x10_0000 + 9 * 32..0x10_0000 + 9 * 32 + 1);
        for i in 0..32 {
            let entry = Recv { tagged: None, area: None, ..any(rng) };
            bench.post(5, entry, (8..16).contains(&i));
        }
        bench.ring(5);
        bench.drain(3000);
        assert_eq!(bench.dma.log.len(), 4);
    });
}

#[test]
fn an_entry_on_its_way_is_told() {
    tb::run("rq_fetch::coming", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        bench.dma.latency = 100..101;
        bench.endpoint(3, 0x10_0000, 8);
        bench.asker.endpoints = vec![3];
        (bench.asker.take, bench.asker.haste) = (1.0, 1.0);
        for _ in 0..50 {
            bench.clock();
        }
        let (nothing, coming, there) = ((false, false), (false, true), (true, false));
        assert_eq!(bench.asker.told, [nothing]);
        let good = plain(rng);
        bench.post(3, good, false);
        bench.ring(3);
        bench.drain(1000);
        for _ in 0..50 {
            bench.clock();
        }
        assert_eq!(bench.asker.told, [nothing, coming, there, nothing]);
        // One that is refused came in vain.
        bench.asker.told.clear();
        let refused = Recv { address: BASE, length: 1, lkey: READ_ONLY, tagged: None, area: None };
        bench.post(3, refused, false);
        bench.ring(3);
        bench.drain(1000);
        for _ in 0..50 {
            bench.clock();
        }
        assert_eq!(bench.asker.told, [nothing, coming, nothing]);
    });
}

#[test]
fn no_more_is_prefetched_than_there_are_places() {
    tb::run("rq_fetch::places", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        bench.endpoint(255, 0x10_0000, 8);
        for _ in 0..256 {
            let entry = plain(rng);
            bench.post(255, entry, false);
        }
        bench.ring(255);
        for _ in 0..3000 {
            bench.clock();
        }
        let read: usize = bench.dma.log.iter().map(|(_, length)| length / 32).sum();
        assert_eq!(read, 1 << NIC512.rq_prefetch_log2);
        assert!(bench.dma.log.iter().all(|(_, length)| *length == 256), "reads of eight");
        bench.asker.endpoints = vec![255];
        bench.drain(20_000);
    });
}

/// Fewer places are free than entries are posted at once: those that take none are
/// read all the same.
//= TM-1
#[test]
fn tagged_entries_pass_where_one_place_is_free() {
    tb::run("rq_fetch::tagged_pass", &design(), |dut, rng| {
        let places = 1u64 << NIC512.rq_prefetch_log2;
        for free in [1, 2, 7, 8] {
            let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
            bench.tags = true;
            bench.endpoint(9, 0x10_0000, 8);
            for _ in 0..places - free {
                let entry = Recv { area: None, ..plain(rng) };
                bench.post(9, entry, false);
            }
            bench.ring(9);
            for _ in 0..3000 {
                bench.clock();
            }
            for handle in 0..8 {
                let tagged = Some((queue::RECV_TAGGED, rng.next_u64(), 0, handle));
                let entry = Recv { tagged, ..plain(rng) };
                bench.post(9, entry, false);
            }
            bench.ring(9);
            for _ in 0..3000 {
                bench.clock();
            }
            assert_eq!((bench.passed, bench.due()), (8, (places - free) as usize), "{free} places");
        }
    });
}

/// The pace at a DMA latency of 250 clocks.
#[test]
fn one_endpoint_sustains_a_consume_in_six_clocks() {
    tb::run("rq_fetch::rate", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        bench.dma.latency = 250..251;
        bench.endpoint(0, 0x10_0000, 12);
        for _ in 0..3000 {
            let entry = plain(rng);
            bench.post(0, entry, false);
        }
        bench.ring(0);
        bench.asker.endpoints = vec![0];
        (bench.asker.take, bench.asker.haste) = (1.0, 1.0);
        bench.drain(40_000);
        let clocks = bench.taken[2500].0 - bench.taken[500].0;
        assert!(clocks <= 6 * 2000, "2000 entries took {clocks} clocks");
    });
}

#[test]
fn the_running_index_wraps_at_sixteen_bits() {
    tb::run("rq_fetch::wrap", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        bench.dma.latency = 1..4;
        bench.endpoint(77, 0x10_0000, 9);
        bench.asker.endpoints = vec![77];
        (bench.asker.take, bench.asker.haste) = (1.0, 1.0);
        let mut posted = 0u64;
        while posted < 66_000 {
            while bench.room(77) > 0 {
                let entry = plain(rng);
                bench.post(77, entry, false);
                posted += 1;
            }
            bench.ring(77);
            for _ in 0..1000 {
                bench.clock();
            }
        }
        bench.drain(10_000);
        assert!(bench.rings[&77].posted < 4096, "the index did not wrap");
    });
}

#[test]
fn writing_the_table_entry_empties_the_places() {
    let design = design();
    for haste in [0.2, 1.0] {
        tb::run(&format!("rq_fetch::rewrite {haste}"), &design, |dut, rng| {
            let mut bench = Bench::new(dut, Pattern::Always, Pattern::Random(0.5), rng);
            bench.dma.latency = 1..60;
            (bench.asker.take, bench.asker.haste) = (0.7, haste);
            bench.endpoint(6, 0x10_0000, 4);
            bench.endpoint(7, 0x20_0000, 4);
            bench.asker.endpoints = vec![6, 6, 7];
            for round in 0..600u64 {
                for index in [6, 7] {
                    for _ in 0..rng.below(1 + bench.room(index)) {
                        let entry = plain(rng);
                        bench.post(index, entry, false);
                    }
                    bench.ring(index);
                }
                for _ in 0..rng.below(150) {
                    bench.clock();
                }
                while bench.host.pending() > 0 {
                    bench.clock();
                }
                bench.endpoint(6, 0x10_0000 + 0x1_0000 * (round % 7), rng.range(1..6) as u8);
            }
            bench.drain(5000);
            let count = |index| bench.taken.iter().filter(|(_, at)| *at == index).count();
            assert!(count(6) > 100 && count(7) > 300, "{} and {}", count(6), count(7));
        });
    }
}
