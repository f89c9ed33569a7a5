//! `recovery::Bitmap`: every answer against a reference, and the block pool.

use std::collections::{BTreeSet, VecDeque};
use tessera_abi::params::{Config, NIC512};
use tessera_rtl::recovery::Bitmap;
use tessera_sim::tb::{self, Pattern, Rng};
use tessera_sim::verilator::{BuildOptions, Design, Dut, Model, PortId};

/// Clocks from an operation to its result.
const LATENCY: usize = 4;
/// Clocks between two operations of a block.
const APART: u64 = 3;
const BLOCKS_LOG2: usize = 5;
const BLOCKS: u64 = 1 << BLOCKS_LOG2;

fn design() -> Design {
    tessera_testbenches::design("bitmap", || {
        Bitmap::new(&Config { bitmap_blocks_log2: BLOCKS_LOG2, ..NIC512 })
    })
}

const READ: u64 = 0;
const SET: u64 = 1;
const INITIALISE: u64 = 2;

#[derive(Clone, Copy, Debug)]
struct Op {
    kind: u64,
    block: u64,
    index: u64,
    limit: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Answer {
    was_set: bool,
    bits: [u64; 4],
    first_zero: u64,
    full: bool,
    missing: u64,
}

/// The block memory as plain arrays of bits.
struct Reference(Vec<[bool; 256]>);

impl Reference {
    fn apply(&mut self, op: Op) -> Answer {
        let block = &mut self.0[op.block as usize];
        let was_set = block[op.index as usize];
        match op.kind {
            SET => block[op.index as usize] = true,
            INITIALISE => *block = std::array::from_fn(|i| i as u64 >= op.limit),
            _ => {}
        }
        let mut bits = [0u64; 4];
        for (i, bit) in block.iter().enumerate() {
            bits[i / 64] |= u64::from(*bit) << (i % 64);
        }
        Answer {
            // An initialisation does not look at what the block held.
            was_set: was_set && op.kind != INITIALISE,
            bits,
            first_zero: block.iter().position(|bit| !bit).unwrap_or(0) as u64,
            full: block.iter().all(|bit| *bit),
            missing: block[..op.limit as usize].iter().filter(|bit| !**bit).count() as u64,
        }
    }
}

struct Bench<'a> {
    dut: &'a mut Dut,
    reference: Reference,
    /// What each of the last clocks must answer, oldest first.
    due: VecDeque<Option<(Op, Answer)>>,
    ports: [PortId; 11],
    bits: PortId,
}

impl<'a> Bench<'a> {
    fn new(dut: &'a mut Dut) -> Self {
        let names = [
            "op_valid",
            "op.kind",
            "op.block",
            "op.index",
            "op.limit",
            "result_valid",
            "result.was_set",
            "result.first_zero",
            "result.full",
            "result.missing",
            "ready",
        ];
        let ports = names.map(|name| dut.port(name).unwrap());
        let bits = dut.port("result.bits").unwrap();
        reset(dut);
        let due = VecDeque::from(vec![None; LATENCY]);
        Bench { dut, reference: Reference(vec![[false; 256]; BLOCKS as usize]), due, ports, bits }
    }

    /// One clock with or without an operation; checks the answer to the one
    /// `LATENCY` clocks ago.
    fn clock(&mut self, op: Option<Op>) {
        self.dut.set(self.ports[0], op.is_some());
        if let Some(op) = op {
            for (port, value) in self.ports[1..5].iter().zip([op.kind, op.block, op.index, op.limit]) {
                self.dut.set(*port, value);
            }
        }
        self.due.push_back(op.map(|op| (op, self.reference.apply(op))));
        self.dut.clock();
        let expected = self.due.pop_front().unwrap();
        let got = |i: usize| self.dut.sampled(self.ports[i]);
        assert_eq!(got(5) != 0, expected.is_some(), "an answer where none was due, or the reverse");
        if let Some((op, expected)) = expected {
            let mut bits = [0u64; 4];
            self.dut.sampled_wide(self.bits, &mut bits);
            let answer =
                Answer { was_set: got(6) != 0, bits, first_zero: got(7), full: got(8) != 0, missing: got(9) };
            assert_eq!(answer, expected, "{op:?}");
        }
    }

    /// An operation, and nothing until another one of its block may follow.
    fn alone(&mut self, op: Op) {
        self.clock(Some(op));
        for _ in 1..APART {
            self.clock(None);
        }
    }

    fn initialise_all(&mut self) {
        for block in 0..BLOCKS {
            self.clock(Some(Op { kind: INITIALISE, block, index: 0, limit: 256 }));
        }
        self.drain();
    }

    fn drain(&mut self) {
        for _ in 0..LATENCY {
            self.clock(None);
        }
    }
}

fn reset(dut: &mut Dut) {
    let (rst, ready) = (dut.port("rst").unwrap(), dut.port("ready").unwrap());
    for name in ["op_valid", "alloc_take", "free_valid"] {
        let port = dut.port(name).unwrap();
        dut.set(port, 0u64);
    }
    dut.set(rst, 1u64);
    dut.clock();
    dut.clock();
    dut.set(rst, 0u64);
    for _ in 0..BLOCKS + 8 {
        dut.clock();
    }
    assert_eq!(dut.sampled(ready), 1, "not ready {} clocks after reset", BLOCKS + 8);
}

#[test]
fn a_duplicate_soon_after_counts_once() {
    tb::run("bitmap::duplicate", &design(), |dut, _| {
        let mut bench = Bench::new(dut);
        bench.initialise_all();
        // Distances 3, 4, .. between operations of one block, others between.
        for distance in APART..APART + 6 {
            for index in [0, 1, 63, 64, 127, 128, 254, 255] {
                for _ in 0..2 {
                    bench.clock(Some(Op { kind: SET, block: distance, index, limit: 256 }));
                    for other in 1..distance {
                        bench.clock(Some(Op { kind: SET, block: 16 + other, index: 3, limit: 256 }));
                    }
                }
            }
        }
        bench.drain();
    });
}

#[test]
fn fills_a_block_in_256_operations() {
    tb::run("bitmap::fill", &design(), |dut, rng| {
        let mut bench = Bench::new(dut);
        for limit in [256, 255, 129, 128, 17, 16, 1] {
            for block in 7..7 + APART {
                bench.clock(Some(Op { kind: INITIALISE, block, index: 0, limit }));
            }
            let mut order: Vec<u64> = (0..limit).collect();
            for i in (1..order.len()).rev() {
                order.swap(i, rng.below(i as u64 + 1) as usize);
            }
            for index in order {
                for block in 7..7 + APART {
                    bench.clock(Some(Op { kind: SET, block, index, limit }));
                }
            }
            for block in 7..7 + APART {
                bench.clock(Some(Op { kind: READ, block, index: 0, limit }));
                assert!(bench.reference.0[block as usize].iter().all(|bit| *bit));
            }
            bench.drain();
        }
    });
}

#[test]
fn every_limit_and_first_zero() {
    tb::run("bitmap::limits", &design(), |dut, _| {
        let mut bench = Bench::new(dut);
        for limit in 0..=256 {
            bench.alone(Op { kind: INITIALISE, block: 1, index: 0, limit });
            bench.alone(Op { kind: READ, block: 1, index: 255, limit: 256 - limit });
        }
        bench.alone(Op { kind: INITIALISE, block: 2, index: 0, limit: 256 });
        for index in 0..256 {
            bench.alone(Op { kind: SET, block: 2, index, limit: 256 - index });
        }
        bench.drain();
    });
}

#[test]
fn random_operations_match_the_reference() {
    let design = design();
    for (idle, blocks) in Pattern::ALL.into_iter().zip([1, 2, 4, BLOCKS]) {
        tb::run(&format!("bitmap::random {idle:?} {blocks}"), &design, |dut, rng| {
            let mut bench = Bench::new(dut);
            bench.initialise_all();
            let mut gate = idle.gate(rng.fork());
            // Blocks of the last clocks' operations.
            let mut recent = VecDeque::from(vec![None; APART as usize - 1]);
            for _ in 0..10_000 {
                let kind = match rng.range(0..400) {
                    0 => INITIALISE,
                    1..60 => READ,
                    _ => SET,
                };
                let op = Op {
                    kind,
                    block: rng.range(0..blocks),
                    index: rng.range(0..256),
                    limit: rng.range(0..257),
                };
                let op = (gate.is_open() && !recent.contains(&Some(op.block))).then_some(op);
                bench.clock(op);
                recent.pop_front();
                recent.push_back(op.map(|op| op.block));
            }
            bench.drain();
        });
    }
}

#[test]
fn blocks_are_handed_out_once() {
    let design = design();
    for (take, give) in Pattern::matrix() {
        tb::run(&format!("bitmap::pool {take:?} {give:?}"), &design, |dut, rng| {
            pool(dut, take, give, rng);
        });
    }
}

fn pool(dut: &mut Dut, take: Pattern, give: Pattern, rng: &mut Rng) {
    reset(dut);
    let [available, block, taking, freeing, freed, count] =
        ["alloc_available", "alloc_block", "alloc_take", "free_valid", "free_block", "free_count"]
            .map(|name| dut.port(name).unwrap());
    let mut free: BTreeSet<u64> = (0..BLOCKS).collect();
    let mut held: Vec<u64> = Vec::new();
    let (mut take, mut give) = (take.gate(rng.fork()), give.gate(rng.fork()));
    let (mut taken, mut dry) = (0, 0);
    let mut were = free.len() as u64;
    for clock in 0..6000 {
        // Mostly takes for a while, then mostly frees, so that both ends are met.
        let phase = clock / 200 % 3;
        let wants = take.is_open() && phase != 1;
        let gives = give.is_open() && phase != 0 && !held.is_empty();
        dut.set(taking, wants);
        dut.set(freeing, gives);
        let returned = gives.then(|| held.swap_remove(rng.range(0..held.len() as u64) as usize));
        if let Some(block) = returned {
            dut.set(freed, block);
        }
        dut.clock();
        assert_eq!(dut.sampled(count), were, "gauge in clock {clock}");
        were = free.len() as u64;
        if dut.sampled(available) != 0 {
            assert!(!free.is_empty());
            if wants {
                let block = dut.sampled(block);
                assert!(free.remove(&block), "block {block} handed out twice");
                held.push(block);
                taken += 1;
            }
            dry = 0;
        } else {
            // Three clocks inside the ring, no more.
            dry = if free.is_empty() { 0 } else { dry + 1 };
            assert!(dry <= 3, "{} blocks free, none offered", free.len());
        }
        free.extend(returned);
    }
    assert!(taken > 200, "only {taken} taken");
    dut.set(taking, 0u64);
    for block in held.drain(..) {
        dut.set(freeing, 1u64);
        dut.set(freed, block);
        dut.clock();
    }
    dut.set(freeing, 0u64);
    dut.clock();
    dut.clock();
    assert_eq!(dut.sampled(count), BLOCKS, "all blocks are back");
}

#[test]
fn the_full_size_elaborates_and_fills() {
    let design = tessera_testbenches::design("bitmap_nic512", || Bitmap::new(&NIC512));
    let model = Model::build(&design, &BuildOptions::hurried()).unwrap();
    let mut dut = model.instance().unwrap();
    let [rst, ready, count] = ["rst", "ready", "free_count"].map(|name| dut.port(name).unwrap());
    dut.set(rst, 1u64);
    dut.clock();
    dut.set(rst, 0u64);
    let blocks = 1u64 << NIC512.bitmap_blocks_log2;
    let start = dut.cycles();
    while dut.sampled(ready) == 0 {
        dut.clock();
        assert!(dut.cycles() < start + blocks + 8);
    }
    assert_eq!(dut.sampled(count), blocks);
}
