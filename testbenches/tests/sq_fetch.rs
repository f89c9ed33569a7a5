//! `host::SqFetch`: what it makes of send entries, in turn, under every load.

use std::collections::{BTreeMap, VecDeque};
use tessera_abi::params::{MAX_PACKETS, NIC512};
use tessera_abi::queue::{self, send};
use tessera_abi::regs::{endpoint, mr, table};
use tessera_abi::status::Status;
use tessera_rtl::host::registers::DOORBELL_KIND_SQ;
use tessera_rtl::host::sq_fetch::SqFetch;
use tessera_sim::tb::{self, cycle, Pattern, Rng, Shape, StreamMonitor, Word};
use tessera_sim::verilator::{Design, Dut, PortId};
use tessera_testbenches::host::{reset, Broadcast, DmaReader, SharedMemory};

/// Clocks from the last beat and status to the request, at best.
const LATENCY: u64 = 4;
const DEFAULT_WINDOW: u64 = 16;
/// Lowest bit of `dst_gid` in a request: behind endpoint, kind, entry, MAC and tag.
const GID_LSB: usize = 8 + 1 + 16 + 48 + 16 + 1;

fn design() -> Design {
    tessera_testbenches::design("sq_fetch", || SqFetch::new(&NIC512))
}

/// A send entry as the host means it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Send {
    opcode: u8,
    flags: u8,
    payload_log2: u8,
    class: u8,
    length: u32,
    address: u64,
    lkey: u32,
    window: u8,
    tag: u64,
    imm: u32,
    round: u16,
    qkey: u32,
    to: u32,
    mac: [u8; 6],
    vlan: u16,
    hops: u8,
    gid: [u8; 16],
    rkey: u32,
    remote: u64,
}

impl Send {
    fn is_write(&self) -> bool {
        self.opcode == queue::OP_WRITE
    }

    /// What the message carries where a send has its tag.
    fn name(&self) -> u64 {
        if self.is_write() {
            self.remote
        } else {
            self.tag
        }
    }

    fn bytes(&self) -> [u8; queue::SEND_ENTRY_LEN] {
        let mut out = [0xEE; queue::SEND_ENTRY_LEN];
        let mut put = |at: usize, bytes: &[u8]| out[at..at + bytes.len()].copy_from_slice(bytes);
        put(send::OPCODE, &[self.opcode]);
        put(send::FLAGS, &[self.flags]);
        put(send::PAYLOAD_LOG2, &[self.payload_log2]);
        put(send::TRAFFIC_CLASS, &[self.class]);
        put(send::LENGTH, &self.length.to_le_bytes());
        put(send::ADDRESS, &self.address.to_le_bytes());
        put(send::LKEY, &self.lkey.to_le_bytes());
        put(send::INITIAL_WINDOW, &[self.window]);
        put(send::TAG, &self.tag.to_le_bytes());
        put(send::IMMEDIATE, &self.imm.to_le_bytes());
        put(send::ROUND, &self.round.to_le_bytes());
        put(send::QKEY, &self.qkey.to_le_bytes());
        put(send::ENDPOINT, &self.to.to_le_bytes());
        put(send::MAC, &self.mac);
        put(send::VLAN, &self.vlan.to_le_bytes());
        put(send::HOP_LIMIT, &[self.hops]);
        put(send::GID, &self.gid);
        put(send::RKEY, &self.rkey.to_le_bytes());
        put(send::REMOTE_ADDRESS, &self.remote.to_le_bytes());
        out
    }
}

/// A memory key.
#[derive(Clone, Copy, Debug)]
struct Key {
    index: u8,
    hi: u32,
    base: u64,
    length: u64,
    domain: u16,
}

impl Key {
    fn lkey(self) -> u32 {
        self.hi << 8 | u32::from(self.index)
    }
}

/// What must become of an entry, worked out from the contract alone.
fn verdict(entry: &Send, keys: &[Key], domain: u16, datagrams: bool) -> Status {
    let size = 1u64.checked_shl(entry.payload_log2.into()).unwrap_or(0);
    let known = if datagrams {
        entry.opcode == queue::OP_UD
    } else {
        matches!(entry.opcode, queue::OP_SEND | queue::OP_WRITE)
    };
    if !known || !(8..=12).contains(&entry.payload_log2) {
        return Status::BadRequest;
    }
    let most = if datagrams { 1 } else { MAX_PACKETS };
    if u64::from(entry.length).div_ceil(size) > u64::from(most) {
        return Status::BadRequest;
    }
    let inside = |key: &Key| {
        let (from, to) = (u128::from(entry.address), u128::from(entry.address) + u128::from(entry.length));
        let (base, end) = (u128::from(key.base), u128::from(key.base) + u128::from(key.length));
        key.lkey() == entry.lkey && key.domain == domain && from >= base && to <= end
    };
    if entry.length == 0 || keys.iter().any(inside) {
        Status::Success
    } else {
        Status::LocalProtection
    }
}

struct Ring {
    /// Of a plain UD endpoint.
    datagrams: bool,
    base: u64,
    log2: u8,
    domain: u16,
    posted: u16,
    /// Entries whose outcome is still to come: (index, entry, its read fails).
    due: VecDeque<(u16, Send, bool)>,
}

struct Bench<'a> {
    dut: &'a mut Dut,
    dma: DmaReader,
    host: Broadcast,
    requests: StreamMonitor,
    refusals: StreamMonitor,
    memory: SharedMemory,
    keys: Vec<Key>,
    /// Of endpoints that are written next.
    domain: u16,
    rings: BTreeMap<u8, Ring>,
    /// Outcomes seen: (clock, endpoint).
    seen: Vec<(u64, u8)>,
    /// TX_QUOTA of endpoints that are written next.
    quota: u16,
    ended: [PortId; 2],
    /// Ends to be told, and when one was.
    ends: VecDeque<u8>,
    ended_at: u64,
    /// Requests handed over and not ended, by endpoint.
    held: BTreeMap<u8, u64>,
}

impl<'a> Bench<'a> {
    fn new(dut: &'a mut Dut, idle: Pattern, stall: Pattern, rng: &mut Rng) -> Self {
        let memory = SharedMemory::default();
        let mut dma = DmaReader::new(dut, "read", memory.clone(), stall, idle, rng);
        dma.never_stalls = true;
        let enable = dut.port("settings.enable").unwrap();
        let window = dut.port("settings.initial_window").unwrap();
        let ended = ["ended", "ended_endpoint"].map(|name| dut.port(name).unwrap());
        dut.set(ended[0], 0u64);
        dut.set(enable, 1u64);
        dut.set(window, DEFAULT_WINDOW);
        reset(dut);
        Bench {
            dma,
            host: Broadcast::new(dut),
            requests: StreamMonitor::new(dut, "request", stall, rng).unwrap(),
            refusals: StreamMonitor::new(dut, "refused", stall, rng).unwrap(),
            memory,
            keys: Vec::new(),
            domain: KEY.domain,
            rings: BTreeMap::new(),
            seen: Vec::new(),
            quota: 0,
            ended,
            ends: VecDeque::new(),
            ended_at: 0,
            held: BTreeMap::new(),
            dut,
        }
    }

    fn key(&mut self, key: Key) {
        self.host.table(
            table::MR,
            key.index.into(),
            &[
                (mr::VALID, 1),
                (mr::KEY_HI, key.hi.into()),
                (mr::BASE, key.base),
                (mr::LENGTH, key.length),
                (mr::PD, key.domain.into()),
            ],
        );
        self.keys.retain(|k| k.index != key.index);
        self.keys.push(key);
    }

    /// Writes the endpoint's table entry; what is in flight is forgotten.
    fn endpoint(&mut self, index: u8, base: u64, log2: u8, send_enable: bool) {
        self.endpoint_of_kind(index, base, log2, send_enable, false);
    }

    fn endpoint_of_kind(&mut self, index: u8, base: u64, log2: u8, send_enable: bool, datagrams: bool) {
        self.host.table(
            table::ENDPOINT,
            index.into(),
            &[
                (endpoint::VALID, 1),
                (endpoint::SEND_ENABLE, send_enable.into()),
                (endpoint::DATAGRAM, datagrams.into()),
                (endpoint::SQ_BASE, base),
                (endpoint::SQ_LOG2, log2.into()),
                (endpoint::RQ_BASE, !0),
                (endpoint::PD, self.domain.into()),
                (endpoint::TX_QUOTA, self.quota.into()),
            ],
        );
        self.rings.insert(
            index,
            Ring { datagrams, base, log2, domain: self.domain, posted: 0, due: VecDeque::new() },
        );
    }

    /// Puts an entry in the ring; `ring` tells the NIC.
    fn post(&mut self, index: u8, entry: Send, fails: bool) {
        let ring = self.rings.get_mut(&index).unwrap();
        assert!(ring.due.len() < 1 << ring.log2, "the bench overruns the ring");
        let place = u64::from(ring.posted) & ((1 << ring.log2) - 1);
        let at = ring.base + place * queue::SEND_ENTRY_LEN as u64;
        self.memory.borrow_mut().write(at, &entry.bytes());
        ring.due.push_back((ring.posted, entry, fails));
        ring.posted = ring.posted.wrapping_add(1);
    }

    fn ring(&mut self, index: u8) {
        self.host.ring(DOORBELL_KIND_SQ, index.into(), self.rings[&index].posted);
    }

    fn room(&self, index: u8) -> usize {
        let ring = &self.rings[&index];
        (1 << ring.log2) - ring.due.len()
    }

    fn due(&self) -> usize {
        self.rings.values().map(|ring| ring.due.len()).sum()
    }

    fn clock(&mut self) {
        self.dut.set(self.ended[0], 0u64);
        // One writer takes ends and refusals, one in two clocks.
        if self.dut.cycles() - self.ended_at >= 6 {
            if let Some(index) = self.ends.pop_front() {
                self.dut.set(self.ended[0], 1u64);
                self.dut.set(self.ended[1], u64::from(index));
                self.ended_at = self.dut.cycles();
            }
        }
        cycle(self.dut, &mut [&mut self.dma, &mut self.host, &mut self.requests, &mut self.refusals]);
        while let Some((clock, transfer)) = self.requests.take_timed() {
            let shape = self.requests.shape().clone();
            self.judge(clock, &shape, &transfer.word, true);
        }
        while let Some((clock, transfer)) = self.refusals.take_timed() {
            let shape = self.refusals.shape().clone();
            self.judge(clock, &shape, &transfer.word, false);
        }
    }

    fn judge(&mut self, clock: u64, shape: &Shape, word: &Word, sent: bool) {
        let get = |name: &str| shape.get(word, name);
        let index = get("endpoint") as u8;
        let ring = self.rings.get_mut(&index).unwrap_or_else(|| panic!("nothing was posted at {index}"));
        let (entry, meant, fails) = ring.due.pop_front().expect("an entry that was not posted");
        assert_eq!(get("entry") as u16, entry, "endpoint {index} out of order");
        let status =
            if fails { Status::LocalDma } else { verdict(&meant, &self.keys, ring.domain, ring.datagrams) };
        assert_eq!(sent, status == Status::Success, "endpoint {index} entry {entry}: {meant:x?} {status:?}");
        self.seen.push((clock, index));
        if sent {
            *self.held.entry(index).or_default() += 1;
        }
        if !sent {
            assert_eq!(get("status"), status as u64, "endpoint {index} entry {entry}: {meant:x?}");
            assert_eq!((get("receive"), get("has_imm")), (0, 0));
            if !fails {
                let name = if ring.datagrams { 0 } else { meant.name() };
                assert_eq!((get("tag"), get("length")), (name, meant.length.into()));
                assert_eq!(get("write"), u64::from(meant.is_write()));
            }
            return;
        }
        let window = if meant.window == 0 { DEFAULT_WINDOW } else { meant.window.into() };
        let count = u64::from(meant.length).div_ceil(1 << meant.payload_log2).max(1);
        let hops = if meant.hops == 0 { 64 } else { u64::from(meant.hops) };
        let tag = if ring.datagrams { u64::from(meant.class) | hops << 8 } else { meant.name() };
        let expected = [
            ("ud", ring.datagrams.into()),
            ("vlan", meant.vlan.into()),
            ("vlan_valid", u64::from(meant.flags & queue::SEND_VLAN != 0)),
            (
                "dst_mac",
                u64::from_be_bytes([
                    0,
                    0,
                    meant.mac[0],
                    meant.mac[1],
                    meant.mac[2],
                    meant.mac[3],
                    meant.mac[4],
                    meant.mac[5],
                ]),
            ),
            ("dst_endpoint", u64::from(meant.to & 0xFF_FFFF)),
            ("qkey", meant.qkey.into()),
            ("address", meant.address),
            ("length", meant.length.into()),
            ("count", count),
            ("payload_log2", meant.payload_log2.into()),
            ("traffic_class", u64::from(meant.class & 0xF)),
            ("initial_window", window),
            ("tag", tag),
            ("rkey", if meant.is_write() { meant.rkey.into() } else { 0 }),
            ("write", u64::from(meant.is_write())),
            ("imm", meant.imm.into()),
            ("has_imm", u64::from(meant.flags & queue::SEND_IMM)),
            ("round", meant.round.into()),
            ("in_round", u64::from(meant.flags & queue::SEND_ROUND != 0)),
        ];
        for (name, value) in expected {
            assert_eq!(get(name), value, "{name} of endpoint {index} entry {entry}");
        }
        let gid = u128::from(word.bits(GID_LSB + 64, 64)) << 64 | u128::from(word.bits(GID_LSB, 64));
        assert_eq!(gid, u128::from_be_bytes(meant.gid), "dst_gid of endpoint {index} entry {entry}");
    }

    /// A request of the endpoint ends.
    fn end(&mut self, index: u8) {
        *self.held.get_mut(&index).unwrap() -= 1;
        self.ends.push_back(index);
    }

    /// Clocks until every outcome has come.
    fn drain(&mut self, limit: u64) {
        let begin = self.dut.cycles();
        while self.due() > 0 || self.host.pending() > 0 {
            self.clock();
            let waited = self.dut.cycles() - begin;
            assert!(waited < limit, "{} outcomes are missing after {waited} clocks", self.due());
        }
    }
}

const KEY: Key = Key { index: 7, hi: 0xABCDEF, base: 0x10_0000, length: 0x1_0000_0000, domain: 0x9051 };

fn plain(rng: &mut Rng) -> Send {
    let payload_log2 = rng.range(8..13) as u8;
    let length = match rng.below(4) {
        0 => rng.below(3),
        1 => (1 << payload_log2) + rng.below(3) - 1,
        2 => rng.below(1 << 16),
        _ => rng.below(1 << 31),
    } as u32;
    Send {
        opcode: *rng.pick(&[queue::OP_SEND, queue::OP_WRITE]),
        flags: rng.bits(8) as u8,
        payload_log2,
        class: rng.bits(8) as u8,
        length,
        address: KEY.base + rng.below(KEY.length - u64::from(length) + 1),
        lkey: KEY.lkey(),
        window: if rng.chance(0.3) { 0 } else { rng.bits(8) as u8 },
        tag: rng.next_u64(),
        imm: rng.bits(32) as u32,
        round: rng.bits(16) as u16,
        qkey: rng.bits(32) as u32,
        to: rng.bits(32) as u32,
        mac: rng.bytes(6).try_into().unwrap(),
        vlan: rng.bits(16) as u16,
        hops: if rng.chance(0.3) { 0 } else { rng.bits(8) as u8 },
        gid: rng.bytes(16).try_into().unwrap(),
        rkey: rng.bits(32) as u32,
        remote: rng.next_u64(),
    }
}

/// One entry in four has something wrong with it.
fn any(rng: &mut Rng) -> Send {
    let mut entry = plain(rng);
    if rng.chance(0.75) {
        return entry;
    }
    match rng.below(8) {
        0 => entry.opcode = rng.bits(8) as u8,
        1 => entry.payload_log2 = rng.bits(8) as u8,
        2 => (entry.payload_log2, entry.length) = (8, u32::MAX - rng.below(600) as u32),
        3 => entry.lkey ^= 1 << rng.below(32),
        4 => entry.address = KEY.base.wrapping_sub(rng.range(1..3)),
        5 => entry.address = KEY.base + KEY.length - u64::from(entry.length) + rng.range(1..3),
        6 => entry.address = u64::MAX - rng.below(4),
        _ => (entry.length, entry.lkey) = (0, rng.bits(32) as u32),
    }
    entry
}

#[test]
fn an_entry_becomes_a_request_with_every_field() {
    tb::run("sq_fetch::fields", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        bench.dma.latency = 20..21;
        bench.key(KEY);
        bench.endpoint(200, 0x4000, 4, true);
        for _ in 0..40 {
            let entry = Send { length: 5000, address: KEY.base, ..plain(rng) };
            bench.post(200, entry, false);
            bench.ring(200);
            bench.drain(200);
            let quiet = bench.dma.is_idle();
            assert!(quiet, "a request before its status");
        }
        assert_eq!(bench.dma.log.len(), 40);
        assert_eq!(bench.dma.log[17], (0x4000 + 128, 128), "the ring wraps at sixteen entries");
    });
}

/// UD-4: opcodes keep to the kind of their endpoint; a datagram is one packet.
#[test]
fn datagrams_are_requests_of_their_own_kind() {
    tb::run("sq_fetch::datagrams", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        bench.key(KEY);
        bench.endpoint_of_kind(5, 0x4000, 6, true, true);
        bench.endpoint(6, 0x1_4000, 6, true);
        for _ in 0..30 {
            for index in [5, 6] {
                let mut entry = Send { address: KEY.base, ..plain(rng) };
                entry.opcode = *rng.pick(&[queue::OP_UD, queue::OP_UD, queue::OP_SEND]);
                let size = 1u32 << entry.payload_log2;
                entry.length = *rng.pick(&[0, 1, size - 1, size, size, size + 1, 2 * size]);
                bench.post(index, entry, false);
                bench.ring(index);
            }
            bench.drain(500);
        }
        // The kind is the table's: written anew it is the other one.
        bench.endpoint(5, 0x4000, 6, true);
        bench.post(5, Send { opcode: queue::OP_UD, length: 9, address: KEY.base, ..plain(rng) }, false);
        bench.post(5, Send { length: 9, address: KEY.base, ..plain(rng) }, false);
        bench.ring(5);
        bench.drain(500);
    });
}

#[test]
fn refusals_have_their_status_and_order() {
    tb::run("sq_fetch::refusals", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        bench.key(KEY);
        // A region that ends at the top of the address space is whole; one
        // that runs over it is not.
        let top = Key { index: 8, hi: 1, base: u64::MAX - 0xFFF, length: 0x1000, ..KEY };
        let over = Key { index: 9, hi: 2, base: u64::MAX - 0xFFF, length: 0x1001, ..KEY };
        let foreign = Key { index: 10, hi: 3, domain: KEY.domain ^ 0x8000, ..KEY };
        bench.key(top);
        bench.key(over);
        bench.key(foreign);
        bench.endpoint(3, 0x8000, 6, true);
        let good = Send { length: 100, payload_log2: 10, address: KEY.base, ..plain(rng) };
        let cases = [
            (good.clone(), Status::Success),
            (Send { opcode: 0, ..good.clone() }, Status::BadRequest),
            (Send { payload_log2: 7, ..good.clone() }, Status::BadRequest),
            (Send { payload_log2: 13, ..good.clone() }, Status::BadRequest),
            (Send { payload_log2: 8 + 16, ..good.clone() }, Status::BadRequest),
            (Send { payload_log2: 8, length: MAX_PACKETS << 8, ..good.clone() }, Status::Success),
            (Send { payload_log2: 8, length: (MAX_PACKETS << 8) + 1, ..good.clone() }, Status::BadRequest),
            (Send { lkey: good.lkey ^ 1, ..good.clone() }, Status::LocalProtection),
            (Send { lkey: good.lkey ^ 1 << 31, ..good.clone() }, Status::LocalProtection),
            (Send { address: KEY.base - 1, ..good.clone() }, Status::LocalProtection),
            (Send { address: KEY.base + KEY.length - 100, ..good.clone() }, Status::Success),
            (Send { address: KEY.base + KEY.length - 99, ..good.clone() }, Status::LocalProtection),
            (Send { address: u64::MAX - 10, ..good.clone() }, Status::LocalProtection),
            (Send { lkey: foreign.lkey(), ..good.clone() }, Status::LocalProtection),
            (Send { opcode: queue::OP_WRITE, ..good.clone() }, Status::Success),
            (Send { opcode: 4, ..good.clone() }, Status::BadRequest),
            (Send { length: 0, lkey: 0, address: u64::MAX, ..good.clone() }, Status::Success),
            (Send { opcode: 9, lkey: 0, ..good.clone() }, Status::BadRequest),
            (Send { lkey: top.lkey(), address: top.base, length: 0x1000, ..good.clone() }, Status::Success),
            (
                Send { lkey: top.lkey(), address: top.base, length: 0x1001, ..good.clone() },
                Status::LocalProtection,
            ),
            (
                Send { lkey: over.lkey(), address: over.base, length: 1, ..good.clone() },
                Status::LocalProtection,
            ),
        ];
        bench.keys.retain(|key| key.index != over.index);
        for (entry, status) in cases {
            assert_eq!(
                verdict(&entry, &bench.keys, KEY.domain, false),
                status,
                "the reference on {entry:x?}"
            );
            bench.post(3, entry, false);
        }
        bench.ring(3);
        bench.drain(2000);
    });
}

#[test]
fn every_entry_comes_out_once_and_in_its_order() {
    let design = design();
    for (idle, stall) in Pattern::matrix() {
        tb::run(&format!("sq_fetch::random {idle:?} {stall:?}"), &design, |dut, rng| {
            let mut bench = Bench::new(dut, idle, stall, rng);
            bench.dma.latency = rng.pick(&[1..2, 1..20, 100..300]).clone();
            bench.key(KEY);
            let mut used = Vec::new();
            for i in 0..12u64 {
                let index = (i * 21 + rng.below(21)) as u8;
                let log2 = rng.range(1..6) as u8;
                bench.domain = KEY.domain ^ u16::from(rng.chance(0.15));
                bench.endpoint(index, 0x10_0000 * (i + 1) + 64 * rng.below(64), log2, true);
                used.push(index);
            }
            // One ring whose reads fail for a while.
            let broken = *rng.pick(&used);
            let base = bench.rings[&broken].base;
            bench.memory.borrow_mut().poisoned.push(base..base + 1);
            bench.drain(1000);
            for _ in 0..400 {
                let index = *rng.pick(&used);
                let room = bench.room(index) as u64;
                if room > 0 {
                    for _ in 0..rng.range(1..room + 1) {
                        if index == broken {
                            // Entry by entry, so that it is known which read covers it.
                            let first =
                                bench.rings[&index].posted & ((1 << bench.rings[&index].log2) - 1) == 0;
                            if bench.due() > 0 && !bench.rings[&index].due.is_empty() {
                                break;
                            }
                            let entry = any(rng);
                            bench.post(index, entry, first);
                            break;
                        }
                        let entry = any(rng);
                        bench.post(index, entry, false);
                        // One by one, doorbells meet the visit of their endpoint.
                        if rng.chance(0.5) {
                            bench.ring(index);
                        }
                    }
                    bench.ring(index);
                }
                for _ in 0..rng.below(60) {
                    bench.clock();
                }
            }
            bench.drain(60_000);
            for _ in 0..600 {
                bench.clock();
            }
            assert!(bench.dma.is_idle());
        });
    }
}

#[test]
fn reads_are_contiguous_and_stay_in_the_ring() {
    tb::run("sq_fetch::reads", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        bench.key(KEY);
        bench.endpoint(9, 0x1_2340, 5, true);
        for _ in 0..100 {
            for _ in 0..rng.range(1..33) {
                if bench.room(9) > 0 {
                    let entry = plain(rng);
                    bench.post(9, entry, false);
                }
            }
            bench.ring(9);
            bench.drain(3000);
        }
        let mut at = 0x1_2340;
        for (address, length) in &bench.dma.log {
            assert_eq!(*address, at, "every entry is read once, in order");
            assert!(length % 128 == 0 && *length <= 1024, "{length}");
            at += *length as u64;
            assert!(at <= 0x1_2340 + 32 * 128, "a read runs over the end of the ring");
            if at == 0x1_2340 + 32 * 128 {
                at = 0x1_2340;
            }
        }
        assert!(bench.dma.log.iter().any(|(_, length)| *length == 1024), "never eight in one read");
    });
}

#[test]
fn the_running_index_wraps_at_sixteen_bits() {
    tb::run("sq_fetch::wrap", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        bench.key(KEY);
        bench.endpoint(0, 0x100_0000, 9, true);
        let entry = plain(rng);
        let mut posted = 0;
        while posted < 66_000 {
            while bench.room(0) > 0 {
                let entry = Send { tag: posted, ..entry.clone() };
                bench.post(0, entry, false);
                posted += 1;
            }
            bench.ring(0);
            bench.drain(3000);
        }
        assert!(bench.rings[&0].posted < 4096, "the index did not wrap");
    });
}

/// Reads and work of the longest latency the block is built for.
fn far(bench: &mut Bench) {
    bench.dma.latency = 250..251;
}

#[test]
fn one_endpoint_sustains_an_entry_in_three_clocks() {
    tb::run("sq_fetch::rate", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        far(&mut bench);
        bench.key(KEY);
        bench.endpoint(1, 0x100_0000, 12, true);
        for _ in 0..3000 {
            let entry = plain(rng);
            bench.post(1, entry, false);
        }
        bench.ring(1);
        bench.drain(20_000);
        let clocks = bench.seen[2500].0 - bench.seen[500].0;
        assert!(clocks <= 3 * 2000 + 30, "2000 entries took {clocks} clocks");
    });
}

#[test]
fn single_entries_of_many_endpoints_sustain_one_in_four_clocks() {
    tb::run("sq_fetch::many", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        far(&mut bench);
        bench.key(KEY);
        for i in 0..=255u8 {
            bench.endpoint(i, 0x10_0000 * (u64::from(i) + 1), 4, true);
        }
        // The NIC is held back until every doorbell is rung, or the doorbells'
        // own pace would be measured.
        let enable = bench.dut.port("settings.enable").unwrap();
        bench.dut.set(enable, 0u64);
        for i in 0..=255u8 {
            let entry = plain(rng);
            bench.post(i, entry, false);
            bench.ring(i);
        }
        for _ in 0..3000 {
            bench.clock();
        }
        assert!(bench.dma.log.is_empty(), "a read while the NIC is disabled");
        bench.dut.set(enable, 1u64);
        bench.drain(5000);
        let clocks = bench.seen[255].0 - bench.seen[10].0;
        assert!(clocks <= 4 * 245 + 20, "245 entries took {clocks} clocks");
    });
}

#[test]
fn latency_from_the_status_to_the_request() {
    tb::run("sq_fetch::latency", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        bench.dma.latency = 30..31;
        bench.key(KEY);
        bench.endpoint(1, 0x1000, 4, true);
        bench.drain(100);
        let valid = bench.dut.port("read_status_valid").unwrap();
        let mut fastest = u64::MAX;
        for _ in 0..50 {
            let entry = plain(rng);
            bench.post(1, entry, false);
            bench.ring(1);
            let mut status = 0;
            while bench.due() > 0 {
                bench.clock();
                if bench.dut.sampled(valid) != 0 {
                    status = bench.dut.cycles();
                }
            }
            let request = bench.seen.last().unwrap().0;
            fastest = fastest.min(request - status);
        }
        assert_eq!(fastest, LATENCY);
    });
}

#[test]
fn a_busy_endpoint_does_not_keep_the_others_waiting() {
    tb::run("sq_fetch::turns", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        bench.dma.latency = 5..6;
        bench.key(KEY);
        bench.endpoint(1, 0x100_0000, 12, true);
        bench.endpoint(2, 0x200_0000, 4, true);
        for _ in 0..3000 {
            let entry = plain(rng);
            bench.post(1, entry, false);
        }
        bench.ring(1);
        for _ in 0..1000 {
            bench.clock();
        }
        let entry = plain(rng);
        bench.post(2, entry, false);
        bench.ring(2);
        let rung = bench.dut.cycles();
        bench.drain(20_000);
        let served = bench.seen.iter().find(|(_, index)| *index == 2).unwrap().0;
        // What was read before fills the beat FIFO: 128 entries of three clocks.
        assert!(served - rung < 128 * 3 + 60, "served after {} clocks", served - rung);
    });
}

#[test]
fn a_failed_ring_read_refuses_exactly_its_entries() {
    tb::run("sq_fetch::dma_error", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        bench.key(KEY);
        bench.endpoint(5, 0x10_0000, 5, true);
        bench.drain(100);
        // Reads of a ring of 32 posted at once: 8 entries each. The second fails.
        bench.memory.borrow_mut().poisoned.push(0x10_0000 + 9 * 128..0x10_0000 + 9 * 128 + 1);
        for i in 0..32 {
            let entry = plain(rng);
            bench.post(5, entry, (8..16).contains(&i));
        }
        bench.ring(5);
        bench.drain(2000);
        assert_eq!(bench.dma.log.len(), 4);
    });
}

#[test]
fn writing_the_table_entry_forgets_what_was_read() {
    let design = design();
    tb::run("sq_fetch::rewrite", &design, |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Random(0.3), rng);
        bench.dma.latency = 1..60;
        bench.key(KEY);
        bench.endpoint(6, 0x10_0000, 4, true);
        bench.endpoint(7, 0x20_0000, 4, true);
        for round in 0..400u64 {
            for index in [6, 7] {
                for _ in 0..rng.below(1 + bench.room(index) as u64) {
                    let entry = any(rng);
                    bench.post(index, entry, false);
                }
                bench.ring(index);
            }
            for _ in 0..rng.below(150) {
                bench.clock();
            }
            // Broadcasts still queued belong to the old life.
            while bench.host.pending() > 0 {
                bench.clock();
            }
            let held: Vec<_> = bench.rings[&6].due.iter().map(|(i, entry, _)| (*i, entry.clone())).collect();
            bench.endpoint(6, 0x10_0000 + 0x1_0000 * (round % 7), rng.range(1..5) as u8, true);
            // At most the entry that stands at the output still comes; the
            // reference takes it as the first of its list.
            let fresh = std::mem::take(&mut bench.rings.get_mut(&6).unwrap().due);
            assert!(fresh.is_empty());
            let mut late = 0;
            bench.rings.get_mut(&6).unwrap().due = held.into_iter().map(|(i, e)| (i, e, false)).collect();
            let before = bench.rings[&6].due.len();
            while bench.host.pending() > 0 {
                bench.clock();
            }
            let until_write = before - bench.rings[&6].due.len();
            for _ in 0..30 {
                bench.clock();
            }
            late += before - until_write - bench.rings[&6].due.len();
            assert!(late <= 2, "{late} entries of the old ring came after the write");
            let ring = bench.rings.get_mut(&6).unwrap();
            ring.due.clear();
            ring.posted = 0;
            // What was in flight must not come out later either.
            for _ in 0..80 {
                bench.clock();
            }
        }
        bench.drain(3000);
        assert!(bench.seen.iter().filter(|(_, index)| *index == 7).count() > 1000);
    });
}

/// A visit takes four clocks from looking up head and tail to asking for the
/// entries and moving the head: a table write beside any of them starts the ring
/// at index 0 all the same, of the endpoint visited and of no other.
#[test]
fn a_table_write_beside_any_clock_of_a_visit_starts_the_ring_over() {
    tb::run("sq_fetch::beside", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        // What is read of the old ring comes back behind the write.
        bench.dma.latency = 60..61;
        bench.key(KEY);
        let enable = bench.dut.port("settings.enable").unwrap();
        let settle = |bench: &mut Bench, clocks: u64| {
            while bench.host.pending() > 0 {
                bench.clock();
            }
            for _ in 0..clocks {
                bench.clock();
            }
        };
        for (phase, index) in (0..16).flat_map(|phase| [(phase, 6), (phase, 7)]) {
            bench.endpoint(6, 0x10_0000, 4, true);
            bench.endpoint(7, 0x20_0000, 4, true);
            // No visit before the doorbell and the queue behind it are done.
            settle(&mut bench, 10);
            bench.dut.set(enable, 0u64);
            for _ in 0..5 {
                let entry = plain(rng);
                bench.post(6, entry, false);
            }
            bench.ring(6);
            settle(&mut bench, 10);
            bench.dut.set(enable, 1u64);
            for _ in 0..phase {
                bench.clock();
            }
            bench.endpoint(index, 0x30_0000, 4, true);
            settle(&mut bench, 200);
            let left = bench.rings[&6].due.len();
            assert_eq!(left, 0, "{left} entries are missing with a write of {index} at clock {phase}");
            for _ in 0..3 {
                let entry = plain(rng);
                bench.post(6, entry, false);
            }
            bench.ring(6);
            bench.drain(300);
        }
    });
}

#[test]
fn an_endpoint_that_may_not_send_is_not_read() {
    tb::run("sq_fetch::disabled", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        bench.key(KEY);
        bench.endpoint(6, 0x10_0000, 4, false);
        bench.host.ring(DOORBELL_KIND_SQ, 6, 5);
        bench.host.ring(DOORBELL_KIND_SQ, 7, 5);
        // A receive queue's doorbell means nothing here.
        bench.host.ring(DOORBELL_KIND_SQ + 1, 8, 5);
        bench.endpoint(8, 0x30_0000, 4, true);
        for _ in 0..300 {
            bench.clock();
        }
        assert!(bench.dma.log.is_empty());
        // Written anew, it starts at index 0.
        bench.endpoint(6, 0x10_0000, 4, true);
        let entry = plain(rng);
        bench.post(6, entry, false);
        bench.ring(6);
        bench.drain(300);
    });
}

//= TX-15 test
#[test]
fn a_quota_holds_its_endpoint_and_nobody_else() {
    tb::run("sq_fetch::quota", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        bench.dma.latency = 100..101;
        bench.key(KEY);
        for (index, quota) in [(3, 3), (4, 0), (5, 11)] {
            bench.quota = quota;
            bench.endpoint(index, 0x10_0000 * (u64::from(index) + 1), 6, true);
        }
        for index in [3, 4, 5] {
            for _ in 0..40 {
                let entry = plain(rng);
                bench.post(index, entry, false);
            }
            bench.ring(index);
        }
        for _ in 0..3000 {
            bench.clock();
        }
        assert_eq!((bench.held[&3], bench.held[&4], bench.held[&5]), (3, 40, 11));
        // Each end lets one more in, as long as there are any.
        for step in 1..=37 {
            bench.end(3);
            for _ in 0..200 {
                bench.clock();
            }
            assert_eq!(bench.held[&3], 3, "after {step} ends");
            assert_eq!(bench.held[&5], 11, "another's end");
        }
        bench.end(3);
        for _ in 0..200 {
            bench.clock();
        }
        assert_eq!(bench.held[&3], 2, "there were forty");
        for _ in 0..29 {
            bench.end(5);
            for _ in 0..30 {
                bench.clock();
            }
        }
        bench.drain(3000);
        assert_eq!(bench.held[&5], 11);
    });
}

//= TX-15 test
#[test]
fn what_is_refused_or_forgotten_is_not_held() {
    tb::run("sq_fetch::quota_back", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        bench.dma.latency = 200..201;
        bench.key(KEY);
        bench.quota = 4;
        bench.endpoint(7, 0x1000, 6, true);
        // Twelve that end as they are refused, then good ones.
        for _ in 0..12 {
            let entry = Send { opcode: 77, ..plain(rng) };
            bench.post(7, entry, false);
        }
        for _ in 0..6 {
            let entry = plain(rng);
            bench.post(7, entry, false);
        }
        bench.ring(7);
        for _ in 0..4000 {
            bench.clock();
        }
        assert_eq!((bench.held[&7], bench.due()), (4, 2));
        // A table write while reads are on their way: they are dropped, the four stay held.
        for _ in 0..3 {
            bench.end(7);
            for _ in 0..40 {
                bench.clock();
            }
            bench.quota = 6;
            bench.endpoint(7, 0x1000, 6, true);
            while bench.host.pending() > 0 {
                bench.clock();
            }
            for _ in 0..20 {
                let entry = plain(rng);
                bench.post(7, entry, false);
            }
            bench.ring(7);
            for _ in 0..2000 {
                bench.clock();
            }
            assert_eq!(bench.held[&7], 6);
        }
        // A quota below what is held takes nothing back and lets nothing in.
        bench.quota = 2;
        bench.endpoint(7, 0x1000, 6, true);
        for _ in 0..10 {
            let entry = plain(rng);
            bench.post(7, entry, false);
        }
        bench.ring(7);
        for expected in [5, 4, 3, 2, 2, 2] {
            bench.end(7);
            for _ in 0..800 {
                bench.clock();
            }
            assert_eq!(bench.held[&7], expected);
        }
    });
}

//= TX-15 test
#[test]
fn quotas_hold_whatever_comes() {
    let design = design();
    for (idle, stall) in [(Pattern::Always, Pattern::Always), (Pattern::Random(0.5), Pattern::Random(0.5))] {
        tb::run(&format!("sq_fetch::quotas {idle:?} {stall:?}"), &design, |dut, rng| {
            let mut bench = Bench::new(dut, idle, stall, rng);
            bench.dma.latency = 1..120;
            bench.key(KEY);
            let mut quotas = BTreeMap::new();
            for i in 0..10u8 {
                bench.quota = rng.below(5) as u16 * rng.range(1..4) as u16;
                bench.endpoint(i * 9, 0x10_0000 * (u64::from(i) + 1), 5, true);
                quotas.insert(i * 9, u64::from(bench.quota));
            }
            bench.drain(1000);
            let used: Vec<u8> = quotas.keys().copied().collect();
            let step = |bench: &mut Bench<'_>, rng: &mut Rng| {
                bench.clock();
                for (index, held) in bench.held.clone() {
                    assert!(quotas[&index] == 0 || held <= quotas[&index], "{index}: {held}");
                    if held > 0 && rng.chance(0.01) {
                        bench.end(index);
                    }
                }
            };
            for _ in 0..300 {
                let index = *rng.pick(&used);
                for _ in 0..rng.below(bench.room(index) as u64 + 1) {
                    let entry = any(rng);
                    bench.post(index, entry, false);
                }
                bench.ring(index);
                for _ in 0..rng.below(60) {
                    step(&mut bench, rng);
                }
            }
            for _ in 0..100_000 {
                if bench.due() == 0 {
                    break;
                }
                step(&mut bench, rng);
            }
            assert_eq!(bench.due(), 0, "entries are left in their rings");
        });
    }
}
