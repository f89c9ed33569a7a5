//! `rx::Access` and `rx::RxFence`: which writes may write, at every packet, and
//! when what was allowed before is out of the NIC.

use std::collections::VecDeque;
use tessera_abi::params::{Config, NIC512};
use tessera_abi::regs::{endpoint, mr, table};
use tessera_abi::wire::flag;
use tessera_rtl::rx::{Access, RxFence};
use tessera_sim::tb::{self, cycle, Pattern, Rng, StreamDriver};
use tessera_sim::verilator::{Design, Dut, PortId};
use tessera_testbenches::host::{entry, reset};

/// Clocks from a packet at the front to its verdict.
const CHECK: u64 = 2;
/// Clocks from a table write until verdicts follow it.
const FOLLOWS: u64 = 3;

fn access() -> Design {
    tessera_testbenches::design("access", || {
        Access::new(&Config { mrs_log2: 4, endpoints_log2: 3, ..NIC512 })
    })
}

fn fence() -> Design {
    tessera_testbenches::design("rx_fence", RxFence::new)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key {
    valid: bool,
    remote_write: bool,
    local_write: bool,
    hi: u32,
    domain: u16,
    base: u64,
    length: u64,
}

/// The tables as the host wrote them.
#[derive(Clone, Debug, Default)]
struct Tables {
    keys: [Option<Key>; 16],
    domains: [u16; 8],
}

/// A packet as far as the check cares.
#[derive(Clone, Copy, Debug)]
struct Packet {
    flags: u8,
    endpoint: u8,
    rkey: u32,
    address: u64,
    length: u32,
    payload_len: u64,
}

impl Packet {
    fn checked(&self) -> bool {
        self.flags & flag::WRITE != 0 && self.length != 0
    }
}

//= WR-1 test
impl Tables {
    /// Whether the rule denies a packet, in arithmetic that cannot overflow.
    fn denies(&self, packet: &Packet) -> bool {
        if !packet.checked() {
            return false;
        }
        let index = (packet.rkey & 0xFF) as usize;
        let Some(Some(key)) = self.keys.get(index) else { return true };
        let (from, to) = (u128::from(packet.address), u128::from(packet.address) + u128::from(packet.length));
        let (base, end) = (u128::from(key.base), u128::from(key.base) + u128::from(key.length));
        !(key.valid
            && key.remote_write
            && key.hi == packet.rkey >> 8
            && key.domain == self.domains[packet.endpoint as usize]
            && from >= base
            && to <= end
            && end <= 1 << 64)
    }
}

struct Bench<'a> {
    dut: &'a mut Dut,
    packets: StreamDriver,
    stall: tessera_sim::tb::Gate,
    write: [PortId; 4],
    tables: Tables,
    /// What the tables were before the last write, and when that was.
    before: Tables,
    written: u64,
    due: VecDeque<Packet>,
    /// Clocks at which packets left, with `denied`.
    left: Vec<(u64, bool)>,
    entered: u64,
    expect_entered: u64,
    /// What stood at `checked_data` a clock ago, and before that.
    stood: [[u64; 3]; 2],
}

impl<'a> Bench<'a> {
    fn new(dut: &'a mut Dut, idle: Pattern, stall: Pattern, rng: &mut Rng) -> Self {
        reset(dut);
        Self {
            packets: StreamDriver::new(dut, "packet", idle, rng).unwrap(),
            stall: stall.gate(rng.fork()),
            write: ["valid", "table", "index", "entry"]
                .map(|field| dut.port(&format!("table_write.{field}")).unwrap()),
            tables: Tables::default(),
            before: Tables::default(),
            written: 0,
            due: VecDeque::new(),
            left: Vec::new(),
            entered: 0,
            expect_entered: 0,
            stood: [[0; 3]; 2],
            dut,
        }
    }

    /// One clock in which a table entry is written.
    fn table(&mut self, number: u32, index: usize, fields: &[((usize, usize), u64)]) {
        self.before = self.tables.clone();
        for (port, value) in self.write.iter().zip([1, u64::from(number), index as u64]) {
            self.dut.set(*port, value);
        }
        self.dut.set_wide(self.write[3], &entry(fields));
        self.clock();
        self.written = self.dut.cycles();
        self.dut.set(self.write[0], 0u64);
    }

    fn key(&mut self, index: usize, key: Key) {
        let fields = [
            (mr::VALID, key.valid.into()),
            (mr::REMOTE_WRITE, key.remote_write.into()),
            (mr::LOCAL_WRITE, key.local_write.into()),
            (mr::KEY_HI, key.hi.into()),
            (mr::PD, key.domain.into()),
            (mr::BASE, key.base),
            (mr::LENGTH, key.length),
        ];
        self.table(table::MR, index, &fields);
        self.tables.keys[index] = Some(key);
    }

    fn domain(&mut self, index: usize, domain: u16) {
        self.table(table::ENDPOINT, index, &[(endpoint::VALID, 1), (endpoint::PD, domain.into())]);
        self.tables.domains[index] = domain;
    }

    fn send(&mut self, packet: Packet) {
        self.packets.send_fields(&[
            ("flags", packet.flags.into()),
            ("endpoint", packet.endpoint.into()),
            ("rkey", packet.rkey.into()),
            ("tag", packet.address),
            ("length", packet.length.into()),
            ("payload_len", packet.payload_len),
        ]);
        self.due.push_back(packet);
    }

    fn clock(&mut self) {
        let port = |name: &str| self.dut.port(name).unwrap();
        let (ready, valid, denied) =
            (port("checked_ready"), port("checked_valid"), port("checked_data.denied"));
        let (rkey, entered) = (port("checked_data.rkey"), port("entered"));
        let fields = ["rkey", "endpoint", "tag"].map(|field| port(&format!("checked_data.{field}")));
        let open = self.stall.is_open();
        self.dut.set(ready, u64::from(open));
        cycle(self.dut, &mut [&mut self.packets]);
        self.entered += self.dut.sampled(entered);
        let stands = fields.map(|port| self.dut.sampled(port));
        let stood = self.stood;
        self.stood = [stands, stood[0]];
        if self.dut.sampled(valid) == 0 || !open {
            return;
        }
        assert_eq!([stands; 2], stood, "a packet is offered before it has stood for two clocks");
        let packet = self.due.pop_front().expect("a packet nobody sent");
        let says = self.dut.sampled(denied) != 0;
        let at = self.dut.cycles();
        assert_eq!(self.dut.sampled(rkey) as u32, packet.rkey, "out of order");
        let young = at - self.written <= FOLLOWS;
        let legal = says == self.tables.denies(&packet) || (young && says == self.before.denies(&packet));
        assert!(legal, "denied is {says} for {packet:x?}");
        self.expect_entered += u64::from(packet.payload_len != 0);
        self.left.push((at, says));
    }

    fn drain(&mut self) {
        for _ in 0..10_000 {
            if self.due.is_empty() {
                self.clock();
                self.clock();
                assert_eq!(self.entered, self.expect_entered, "payloads entered");
                return;
            }
            self.clock();
        }
        panic!("{} packets never left", self.due.len());
    }
}

const KEY: Key = Key {
    valid: true,
    remote_write: true,
    local_write: false,
    hi: 0xABCDE,
    domain: 0x8003,
    base: 0x10_0000,
    length: 0x1000,
};

const GOOD: Packet = Packet {
    flags: flag::WRITE,
    endpoint: 2,
    rkey: 0xABCDE << 8 | 5,
    address: 0x10_0000,
    length: 0x1000,
    payload_len: 256,
};

//= WR-1 test
#[test]
fn every_condition_counts() {
    tb::run("access::directed", &access(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        bench.key(5, KEY);
        bench.domain(2, KEY.domain);
        bench.domain(3, KEY.domain ^ 1);
        let top = Key { base: u64::MAX - 0xFFF, ..KEY };
        bench.key(6, top);
        bench.key(7, Key { length: 0x1001, ..top });
        bench.key(8, Key { remote_write: false, local_write: true, ..KEY });
        bench.key(9, Key { valid: false, ..KEY });
        bench.key(10, Key { base: 0, length: u64::MAX, ..KEY });
        let wide = Key { base: 0x4444_4444_4444_4444, length: 0x8888_8888_8888_8888, ..KEY };
        bench.key(12, wide);
        let key = |index: u32| KEY.hi << 8 | index;
        let cases = [
            (GOOD, false),
            (Packet { address: GOOD.address - 1, ..GOOD }, true),
            (Packet { address: GOOD.address + 1, ..GOOD }, true),
            (Packet { length: 0x1001, ..GOOD }, true),
            (Packet { address: GOOD.address + 0xFFF, length: 1, ..GOOD }, false),
            (Packet { address: GOOD.address + 0x1000, length: 1, ..GOOD }, true),
            (Packet { address: u64::MAX, length: 2, ..GOOD }, true),
            // Zero length checks nothing, a send neither.
            (Packet { address: u64::MAX, length: 0, rkey: 0, ..GOOD }, false),
            (Packet { flags: !flag::WRITE, rkey: 0, ..GOOD }, false),
            (Packet { rkey: GOOD.rkey ^ 1 << 31, ..GOOD }, true),
            (Packet { rkey: GOOD.rkey ^ 1 << 8, ..GOOD }, true),
            // Index bits that this size does not have.
            (Packet { rkey: GOOD.rkey ^ 0x10, ..GOOD }, true),
            (Packet { endpoint: 3, ..GOOD }, true),
            (Packet { rkey: key(6), address: top.base, ..GOOD }, false),
            (Packet { rkey: key(6), address: top.base, length: 0x1001, ..GOOD }, true),
            // A region that runs over the end of the address space permits nothing.
            (Packet { rkey: key(7), address: top.base, length: 1, ..GOOD }, true),
            (Packet { rkey: key(8), ..GOOD }, true),
            (Packet { rkey: key(9), ..GOOD }, true),
            (Packet { rkey: key(10), address: 0, length: u32::MAX, ..GOOD }, false),
            (Packet { rkey: key(10), address: u64::MAX - 2, length: 2, ..GOOD }, false),
            (Packet { rkey: key(10), address: u64::MAX - 1, length: 2, ..GOOD }, true),
            (Packet { rkey: key(11), ..GOOD }, true),
            (Packet { payload_len: 0, ..GOOD }, false),
        ];
        // Above the base by one quarter of the address, below it by all that are less; and the other way round.
        let quarters = [16, 32, 48].into_iter().flat_map(|bits| {
            let packet = |address| Packet { rkey: key(12), address, length: 1, ..GOOD };
            let below = wide.base >> bits << bits;
            [(packet(below + (1 << bits)), false), (packet(below - 1), true)]
        });
        for (packet, denied) in cases.into_iter().chain(quarters) {
            assert_eq!(bench.tables.denies(&packet), denied, "the reference on {packet:x?}");
            bench.send(packet);
        }
        bench.drain();
    });
}

#[test]
fn packets_pass_in_two_clocks() {
    tb::run("access::latency", &access(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        bench.key(5, KEY);
        bench.domain(2, KEY.domain);
        bench.left.clear();
        for packet in [Packet { flags: 0, ..GOOD }, GOOD, Packet { length: 0, ..GOOD }, GOOD] {
            let begin = bench.dut.cycles();
            bench.send(packet);
            bench.drain();
            let (at, denied) = bench.left[bench.left.len() - 1];
            assert_eq!((at - begin, denied), (1 + CHECK, false), "{packet:x?}");
        }
        // Behind a busy lookup the check is hidden: four clocks a packet stay four.
        let slow = bench.left.len();
        for _ in 0..20 {
            bench.send(GOOD);
        }
        bench.drain();
        let spread = bench.left[bench.left.len() - 1].0 - bench.left[slow].0;
        assert_eq!(spread, 19 * (2 + CHECK), "four clocks a write, the last one to go");
    });
}

//= WR-1 test
#[test]
fn a_packet_that_waits_is_still_denied_when_its_key_goes() {
    tb::run("access::revoked", &access(), |dut, rng| {
        for wait in 0..12 {
            let mut bench = Bench::new(&mut *dut, Pattern::Always, Pattern::Random(0.0), rng);
            bench.key(5, KEY);
            bench.domain(2, KEY.domain);
            bench.send(GOOD);
            for _ in 0..wait {
                bench.clock();
            }
            bench.key(5, Key { valid: false, ..KEY });
            for _ in 0..FOLLOWS {
                bench.clock();
            }
            bench.stall = Pattern::Always.gate(rng.fork());
            bench.drain();
            assert_eq!(bench.left.last().map(|(_, denied)| *denied), Some(true), "after {wait} clocks");
        }
    });
}

#[test]
fn random_packets_and_tables() {
    let design = access();
    for (idle, stall) in Pattern::matrix() {
        tb::run(&format!("access::random {idle:?} {stall:?}"), &design, |dut, rng| {
            let mut bench = Bench::new(dut, idle, stall, rng);
            let mut denied = 0;
            for round in 0..600 {
                if round < 24 || rng.chance(0.1) {
                    let (index, domain) = (rng.below(16) as usize, rng.below(3) as u16);
                    if rng.chance(0.3) {
                        bench.domain(rng.below(8) as usize, domain);
                    } else {
                        let base = *rng.pick(&[0, 0x1000, 0x5000, u64::MAX - 0xFFF]);
                        bench.key(
                            index,
                            Key {
                                valid: rng.chance(0.9),
                                remote_write: rng.chance(0.8),
                                local_write: rng.chance(0.5),
                                hi: rng.below(2) as u32,
                                domain,
                                base,
                                length: rng.below(0x1002),
                            },
                        );
                    }
                    // The previous write has settled before the next one.
                    for _ in 0..FOLLOWS + 1 {
                        bench.clock();
                    }
                }
                let mut packet = Packet {
                    flags: rng.bits(8) as u8,
                    endpoint: rng.below(8) as u8,
                    rkey: (rng.below(2) << 8 | rng.below(16)) as u32,
                    address: rng.below(0x7000),
                    length: rng.below(0x1001) as u32,
                    payload_len: *rng.pick(&[0, 256, 4096]),
                };
                let held = bench.tables.keys[(packet.rkey & 15) as usize];
                if let Some(key) = held.filter(|_| rng.chance(0.7)) {
                    packet.rkey = key.hi << 8 | packet.rkey & 15;
                    packet.length = rng.below(key.length + 2) as u32;
                    let room = key.length.saturating_sub(packet.length.into());
                    packet.address = key.base.wrapping_add(rng.below(room + 2)).wrapping_sub(rng.below(2));
                    let of_domain = (0..8).find(|&e| bench.tables.domains[e] == key.domain);
                    packet.endpoint = of_domain.unwrap_or(0) as u8;
                }
                bench.send(packet);
                while bench.due.len() > 3 {
                    bench.clock();
                }
            }
            bench.drain();
            denied += bench.left.iter().filter(|(_, denied)| *denied).count();
            let allowed = bench.left.len() - denied;
            assert!(denied > 50 && allowed > 50, "{denied} denied, {allowed} allowed: no test of either");
        });
    }
}

/// A frame on its way through lookup, context and placement.
#[derive(Clone, Copy, Debug)]
struct Frame {
    serial: u64,
    written: bool,
}

//= WR-2 test
#[test]
fn a_fence_waits_for_what_entered_before_it_and_no_longer() {
    tb::run("rx_fence::random", &fence(), |dut, rng| {
        let port = |dut: &Dut, name: &str| dut.port(name).unwrap();
        let rst = port(dut, "rst");
        dut.reset(rst, 2);
        let [begin, entered, issued, head_at, tail_at, busy] =
            ["start", "entered", "issued", "ring_head", "ring_tail", "busy"].map(|name| port(dut, name));
        // Frames not issued; the ring of those issued, with fences that have no frame.
        let (mut ahead, mut ring) = (VecDeque::<Frame>::new(), VecDeque::<Option<Frame>>::new());
        let (mut head, mut tail, mut serial, mut fences) = (0u64, 0u64, 0u64, 0);
        // The last frame entered before the last `start`; clocks since all up to it are out.
        let mut goal: Option<u64> = None;
        let (mut idle_for, mut retired) = (0, 0);
        let (mut enter, mut issue, mut retire) = (0.5, 0.5, 0.5);
        for clock in 0..60_000u64 {
            if clock % 500 == 0 {
                let chance = |rng: &mut Rng| *rng.pick(&[0.02, 0.3, 0.6, 0.95]);
                (enter, issue, retire) = (chance(rng), chance(rng), chance(rng));
            }
            let begins = rng.chance(0.02);
            let enters = rng.chance(enter) && ahead.len() < 300;
            let mut issues = false;
            let mut new_head = head;
            if rng.chance(issue) && ring.len() < 64 {
                if rng.chance(0.2) {
                    ring.push_back(None);
                    new_head += 1;
                } else if let Some(frame) = ahead.pop_front() {
                    issues = true;
                    if frame.written {
                        ring.push_back(Some(frame));
                        new_head += 1;
                    }
                }
            }
            let mut new_tail = tail;
            let retires = rng.chance(retire) && tail < head;
            if retires {
                ring.pop_front();
                new_tail += 1;
            }
            // The pulse comes with the head that its entry has moved.
            (head, tail) = (new_head, new_tail);
            let pulses = [(begin, begins), (entered, enters), (issued, issues)];
            for (port, value) in pulses {
                dut.set(port, u64::from(value));
            }
            dut.set(head_at, head % 128);
            dut.set(tail_at, tail % 128);
            dut.clock();
            if enters {
                ahead.push_back(Frame { serial, written: rng.chance(0.8) });
                serial += 1;
            }
            if begins {
                goal = Some(serial);
                fences += 1;
            }
            let is_busy = dut.get(busy) != 0;
            let before =
                |goal: u64| ahead.iter().chain(ring.iter().flatten()).any(|frame| frame.serial < goal);
            let Some(end) = goal else {
                assert!(!is_busy, "clock {clock}: busy without a fence");
                continue;
            };
            if !is_busy {
                assert!(!before(end), "clock {clock}: over with frames before {end} on their way");
                (goal, idle_for) = (None, 0);
            } else if begins || before(end) {
                (idle_for, retired) = (0, 0);
            } else {
                // The ring's end as it was read may hold later frames than the goal.
                retired += u64::from(retires);
                idle_for = if ring.is_empty() { idle_for + 1 } else { 0 };
                assert!(
                    idle_for < 6 && retired <= 66,
                    "clock {clock}: nothing is ahead for {idle_for} clocks, {retired} more left, still busy"
                );
            }
        }
        assert!(fences > 500, "{fences} fences");
    });
}
