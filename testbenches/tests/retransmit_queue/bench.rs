//! What drives the queue, and what it says.

use std::collections::VecDeque;
use tessera_abi::params::{Config, NIC512};
use tessera_rtl::recovery::RetransmitQueue;
use tessera_sim::tb::{cycle, Pattern, Rng, StreamDriver, StreamMonitor, Word};
use tessera_sim::verilator::{Design, Dut, PortId};

pub const NEVER: Pattern = Pattern::Random(0.0);

/// Four entries: full at once.
pub const SMALL: Config = Config { retransmit_entries_log2: 2, ..NIC512 };

pub fn design(top: &str, config: &'static Config) -> Design {
    tessera_testbenches::design_for(top, config, RetransmitQueue::new)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub slot: u64,
    pub generation: u64,
    pub index: u64,
    pub done: bool,
}

pub struct Bench {
    pub walks: StreamDriver,
    pub steps: StreamMonitor,
    pub refused: PortId,
    pub full: PortId,
    pub query_slot: PortId,
    pub query_queued: PortId,
    pub walk_row: PortId,
    pub walk_bits: PortId,
    /// Of the walks offered, from the one that is looked at on.
    pub offered: VecDeque<[u64; 4]>,
    /// Walks of which it is known that they were taken.
    pub taken: u64,
    pub refusals: u64,
}

impl Bench {
    pub fn new(dut: &mut Dut, idle: Pattern, stall: Pattern, rng: &mut Rng) -> Self {
        let port = |name: &str| dut.port(name).unwrap();
        let bench = Bench {
            walks: StreamDriver::new(dut, "walk", idle, rng).unwrap(),
            steps: StreamMonitor::new(dut, "step", stall, rng).unwrap(),
            refused: port("walk_refused"),
            full: port("full"),
            query_slot: port("query_slot"),
            query_queued: port("query_queued"),
            walk_row: port("walk_row"),
            walk_bits: port("walk_bits"),
            offered: VecDeque::new(),
            taken: 0,
            refusals: 0,
        };
        let (rst, walk_valid, step_ready) = (port("rst"), port("walk_valid"), port("step_ready"));
        dut.set(bench.query_slot, 0u64);
        dut.set(walk_valid, 0u64);
        dut.set(step_ready, 0u64);
        dut.set(bench.walk_bits, 0u64);
        dut.reset(rst, 2);
        bench
    }

    pub fn offer(&mut self, slot: u64, generation: u64, base: u64, bits: [u64; 4]) {
        let marks = (0..16).fold(0, |marks, row| marks | u64::from(sixteenth(&bits, row) != 0) << row);
        let shape = self.walks.shape();
        let word: Word =
            shape.pack(&[("slot", slot), ("generation", generation), ("base", base), ("marks", marks)]);
        self.walks.send(word);
        self.offered.push_back(bits);
    }

    /// The sixteenth that was asked for in the clock before is there, in that one only.
    pub fn clock(&mut self, dut: &mut Dut) {
        cycle(dut, &mut [&mut self.walks, &mut self.steps]);
        self.refusals += dut.sampled(self.refused);
        let row = dut.sampled(self.walk_row);
        let bits = self.offered.front().map_or(0xDEAD, |bits| sixteenth(bits, row));
        dut.set(self.walk_bits, bits);
        for _ in self.taken..self.walks.sent() {
            self.offered.pop_front();
        }
        self.taken = self.walks.sent();
    }

    pub fn clocks(&mut self, dut: &mut Dut, count: u64) {
        for _ in 0..count {
            self.clock(dut);
        }
    }

    pub fn step(&mut self) -> Option<(u64, Step)> {
        let (clock, transfer) = self.steps.take_timed()?;
        let get = |name| self.steps.shape().get(&transfer.word, name);
        Some((
            clock,
            Step {
                slot: get("slot"),
                generation: get("generation"),
                index: get("index"),
                done: get("done") != 0,
            },
        ))
    }

    pub fn all_steps(&mut self) -> Vec<Step> {
        std::iter::from_fn(|| self.step().map(|(_, step)| step)).collect()
    }
}

pub fn sixteenth(bits: &[u64; 4], row: u64) -> u64 {
    bits[row as usize / 4] >> (16 * (row % 4)) & 0xFFFF
}

pub fn bits(list: &[u64]) -> [u64; 4] {
    let mut bits = [0; 4];
    for &bit in list {
        bits[bit as usize / 64] |= 1 << (bit % 64);
    }
    bits
}

pub fn steps(slot: u64, generation: u64, base: u64, list: &[u64]) -> Vec<Step> {
    let last = list.len() - 1;
    list.iter()
        .enumerate()
        .map(|(i, bit)| Step { slot, generation, index: base + bit, done: i == last })
        .collect()
}
