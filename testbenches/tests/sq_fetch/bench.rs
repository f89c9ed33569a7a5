//! The block with its surroundings: entries in their rings, and what must
//! become of each, worked out from the contract alone.

use std::collections::{BTreeMap, VecDeque};
use tessera_abi::params::{Config, MAX_PACKETS, NIC512};
use tessera_abi::queue::{self, send};
use tessera_abi::regs::{endpoint, mr, table};
use tessera_abi::status::Status;
use tessera_abi::wire;
use tessera_rtl::host::registers::DOORBELL_KIND_SQ;
use tessera_rtl::host::sq_fetch::SqFetch;
use tessera_sim::tb::{cycle, Pattern, Rng, Shape, StreamMonitor, Word};
use tessera_sim::verilator::{Design, Dut, PortId};
use tessera_testbenches::host::{reset, Broadcast, DmaReader, SharedMemory};

pub const DEFAULT_WINDOW: u64 = 16;
/// A sixteenth of it is 16 packets of the largest size, 256 of the smallest.
pub const UNSOLICITED_LIMIT: u64 = 1 << 20;
/// Lowest bit of `dst_gid` in a request: behind endpoint, kind, entry, MAC and tag.
pub const GID_LSB: usize = 8 + 1 + 16 + 48 + 16 + 1;

pub fn design() -> Design {
    tessera_testbenches::design("sq_fetch", || SqFetch::new(&NIC512))
}

/// At each number of beats in flight that is special: as many as are counted, those of a
/// small FPGA, and as few as may be.
pub fn designs() -> [Design; 3] {
    [8, 4, 2].map(|ring_beats_log2| {
        let config = Config { ring_beats_log2, ..NIC512 };
        tessera_testbenches::design_for(&format!("sq_fetch_{ring_beats_log2}"), &config, SqFetch::new)
    })
}

/// Of a NIC without IPv6, tags, rounds and datagrams.
pub fn small() -> Design {
    let config = Config { ipv6: false, vlan: false, rounds: false, datagrams: false, ..NIC512 };
    tessera_testbenches::design_for("sq_fetch_small", &config, SqFetch::new)
}

/// A send entry as the host means it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Send {
    pub opcode: u8,
    pub flags: u8,
    pub payload_log2: u8,
    pub class: u8,
    pub length: u32,
    pub address: u64,
    pub lkey: u32,
    pub window: u8,
    pub tag: u64,
    pub imm: u32,
    pub round: u16,
    pub qkey: u32,
    pub to: u32,
    pub mac: [u8; 6],
    pub vlan: u16,
    pub hops: u8,
    pub gid: [u8; 16],
    pub rkey: u32,
    pub remote: u64,
}

impl Send {
    pub fn is_write(&self) -> bool {
        self.opcode == queue::OP_WRITE
    }

    /// What the message carries where a send has its tag.
    pub fn name(&self) -> u64 {
        if self.is_write() {
            self.remote
        } else {
            self.tag
        }
    }

    pub fn bytes(&self) -> [u8; queue::SEND_ENTRY_LEN] {
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
pub struct Key {
    pub index: u8,
    pub hi: u32,
    pub base: u64,
    pub length: u64,
    pub domain: u16,
}

impl Key {
    pub fn lkey(self) -> u32 {
        self.hi << 8 | u32::from(self.index)
    }
}

/// What must become of an entry, worked out from the contract alone.
pub fn verdict(entry: &Send, keys: &[Key], domain: u16, datagrams: bool) -> Status {
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

pub struct Ring {
    /// Of a plain UD endpoint.
    pub datagrams: bool,
    pub base: u64,
    pub log2: u8,
    pub domain: u16,
    /// It has a quota.
    pub limited: bool,
    pub posted: u16,
    /// Entries whose outcome is still to come: (index, entry, its read fails).
    pub due: VecDeque<(u16, Send, bool)>,
}

pub struct Bench<'a> {
    pub dut: &'a mut Dut,
    pub dma: DmaReader,
    pub host: Broadcast,
    pub requests: StreamMonitor,
    pub refusals: StreamMonitor,
    pub memory: SharedMemory,
    pub keys: Vec<Key>,
    /// Of endpoints that are written next.
    pub domain: u16,
    pub rings: BTreeMap<u8, Ring>,
    /// Outcomes seen: (clock, endpoint).
    pub seen: Vec<(u64, u8)>,
    /// TX_QUOTA of endpoints that are written next.
    pub quota: u16,
    unsolicited_limit: u64,
    /// The NIC has neither IPv6 nor tags nor rounds.
    pub small: bool,
    pub ended: [PortId; 2],
    /// Ends to be told, and when one was.
    pub ends: VecDeque<u8>,
    pub ended_at: u64,
    /// When one was refused last.
    pub refused_at: u64,
    /// Requests handed over and not ended, by endpoint.
    pub held: BTreeMap<u8, u64>,
}

impl<'a> Bench<'a> {
    pub fn new(dut: &'a mut Dut, idle: Pattern, stall: Pattern, rng: &mut Rng) -> Self {
        let memory = SharedMemory::default();
        let mut dma = DmaReader::new(dut, "read", memory.clone(), stall, idle, rng);
        dma.never_stalls = true;
        let enable = dut.port("settings.enable").unwrap();
        let window = dut.port("settings.initial_window").unwrap();
        let limit = dut.port("settings.unsolicited_limit").unwrap();
        let ended = ["ended", "ended_endpoint"].map(|name| dut.port(name).unwrap());
        dut.set(limit, UNSOLICITED_LIMIT);
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
            unsolicited_limit: UNSOLICITED_LIMIT,
            small: false,
            ended,
            ends: VecDeque::new(),
            ended_at: 0,
            refused_at: 0,
            held: BTreeMap::new(),
            dut,
        }
    }

    pub fn key(&mut self, key: Key) {
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
    pub fn endpoint(&mut self, index: u8, base: u64, log2: u8, send_enable: bool) {
        self.endpoint_of_kind(index, base, log2, send_enable, false);
    }

    pub fn endpoint_of_kind(&mut self, index: u8, base: u64, log2: u8, send_enable: bool, datagrams: bool) {
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
            Ring {
                datagrams: datagrams && !self.small,
                base,
                log2,
                domain: self.domain,
                limited: self.quota != 0,
                posted: 0,
                due: VecDeque::new(),
            },
        );
    }

    /// While nothing is on its way.
    pub fn limit(&mut self, bytes: u64) {
        let port = self.dut.port("settings.unsolicited_limit").unwrap();
        self.dut.set(port, bytes);
        self.unsolicited_limit = bytes;
    }

    /// Puts an entry in the ring; `ring` tells the NIC.
    pub fn post(&mut self, index: u8, entry: Send, fails: bool) {
        let ring = self.rings.get_mut(&index).unwrap();
        assert!(ring.due.len() < 1 << ring.log2, "the bench overruns the ring");
        let place = u64::from(ring.posted) & ((1 << ring.log2) - 1);
        let at = ring.base + place * queue::SEND_ENTRY_LEN as u64;
        self.memory.borrow_mut().write(at, &entry.bytes());
        ring.due.push_back((ring.posted, entry, fails));
        ring.posted = ring.posted.wrapping_add(1);
    }

    pub fn ring(&mut self, index: u8) {
        self.host.ring(DOORBELL_KIND_SQ, index.into(), self.rings[&index].posted);
    }

    pub fn room(&self, index: u8) -> usize {
        let ring = &self.rings[&index];
        (1 << ring.log2) - ring.due.len()
    }

    pub fn due(&self) -> usize {
        self.rings.values().map(|ring| ring.due.len()).sum()
    }

    pub fn clock(&mut self) {
        self.dut.set(self.ended[0], 0u64);
        // One writer takes ends and refusals, one in two clocks.
        let now = self.dut.cycles();
        if now - self.ended_at >= 6 && now - self.refused_at >= 2 {
            if let Some(index) = self.ends.pop_front() {
                self.dut.set(self.ended[0], 1u64);
                self.dut.set(self.ended[1], u64::from(index));
                self.ended_at = now;
                self.refusals.close(2);
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
            self.refused_at = now;
            self.refusals.close(1);
        }
    }

    pub fn judge(&mut self, clock: u64, shape: &Shape, word: &Word, sent: bool) {
        let get = |name: &str| shape.get(word, name);
        let index = get("endpoint") as u8;
        let ring = self.rings.get_mut(&index).unwrap_or_else(|| panic!("nothing was posted at {index}"));
        let (entry, meant, fails) = ring.due.pop_front().expect("an entry that was not posted");
        assert_eq!(get("entry") as u16, entry, "endpoint {index} out of order");
        let reached = wire::gid_ipv4(&meant.gid).is_some() && meant.flags & queue::SEND_VLAN == 0;
        let status = match (fails, self.small && !reached) {
            (true, _) => Status::LocalDma,
            (false, true) => Status::BadRequest,
            _ => verdict(&meant, &self.keys, ring.domain, ring.datagrams),
        };
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
        let mut window = if meant.window == 0 { DEFAULT_WINDOW } else { meant.window.into() };
        if ring.limited {
            window = window.min((self.unsolicited_limit >> (4 + meant.payload_log2)).max(1));
        }
        let count = u64::from(meant.length).div_ceil(1 << meant.payload_log2).max(1);
        let hops = if meant.hops == 0 { 64 } else { u64::from(meant.hops) };
        let tag = if ring.datagrams { u64::from(meant.class) | hops << 8 } else { meant.name() };
        let expected = [
            ("ud", ring.datagrams.into()),
            ("vlan", if self.small { 0 } else { meant.vlan.into() }),
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
            ("round", if self.small { 0 } else { meant.round.into() }),
            ("in_round", u64::from(!self.small && meant.flags & queue::SEND_ROUND != 0)),
            ("host_recovery", u64::from(meant.flags & queue::SEND_HOST_RECOVERY != 0)),
        ];
        for (name, value) in expected {
            assert_eq!(get(name), value, "{name} of endpoint {index} entry {entry}");
        }
        let gid = u128::from(word.bits(GID_LSB + 64, 64)) << 64 | u128::from(word.bits(GID_LSB, 64));
        let meant_gid = u128::from_be_bytes(meant.gid);
        let inside = if self.small { meant_gid & u128::from(u32::MAX) } else { meant_gid };
        assert_eq!(gid, inside, "dst_gid of endpoint {index} entry {entry}");
    }

    /// A request of the endpoint ends.
    pub fn end(&mut self, index: u8) {
        *self.held.get_mut(&index).unwrap() -= 1;
        self.ends.push_back(index);
    }

    /// Clocks until every outcome has come.
    pub fn drain(&mut self, limit: u64) {
        let begin = self.dut.cycles();
        while self.due() > 0 || self.host.pending() > 0 {
            self.clock();
            let waited = self.dut.cycles() - begin;
            assert!(waited < limit, "{} outcomes are missing after {waited} clocks", self.due());
        }
    }
}

pub const KEY: Key = Key { index: 7, hi: 0xABCDEF, base: 0x10_0000, length: 0x1_0000_0000, domain: 0x9051 };

pub fn plain(rng: &mut Rng) -> Send {
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
pub fn any(rng: &mut Rng) -> Send {
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
