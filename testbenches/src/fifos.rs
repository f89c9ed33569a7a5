//! What the testbenches of FIFOs share.

use std::collections::VecDeque;

use tessera_sim::tb::{self, cycle, Pattern, Rng, StreamDriver, StreamMonitor};
use tessera_sim::verilator::{Design, Dut};

/// A FIFO between a driver and a monitor.
pub struct Bench<'a> {
    /// The FIFO.
    pub dut: &'a mut Dut,
    /// What goes in.
    pub input: StreamDriver,
    /// What comes out.
    pub output: StreamMonitor,
}

impl<'a> Bench<'a> {
    /// One after a reset.
    pub fn new(dut: &'a mut Dut, idle: Pattern, stall: Pattern, rng: &mut Rng) -> Self {
        let input = StreamDriver::new(dut, "in", idle, rng).unwrap();
        let output = StreamMonitor::new(dut, "out", stall, rng).unwrap();
        reset(dut);
        Bench { dut, input, output }
    }

    /// A clock.
    pub fn clock(&mut self) {
        cycle(self.dut, &mut [&mut self.input, &mut self.output]);
    }

    /// So many clocks in which nobody takes a word.
    pub fn stuck(&mut self, clocks: u64) {
        let ready = self.dut.port("out_ready").unwrap();
        for _ in 0..clocks {
            self.dut.set(ready, 0u64);
            cycle(self.dut, &mut [&mut self.input]);
        }
    }
}

/// A reset of one clock, which is enough.
pub fn reset(dut: &mut Dut) {
    let (rst, valid) = (dut.port("rst").unwrap(), dut.port("in_valid").unwrap());
    dut.set(valid, 0u64);
    dut.set(rst, 1u64);
    dut.clock();
    dut.set(rst, 0u64);
}

/// Random words in any pattern of both ends: they come out in order, none is invented and none is held
/// back for ever. At most `capacity` of `bits` bits are inside.
pub fn keeps_order(test: &str, design: &Design, bits: u32, capacity: u64) {
    for (idle, stall) in Pattern::matrix() {
        tb::run(&format!("{test} {idle:?} {stall:?}"), design, |dut, rng| {
            let mut bench = Bench::new(dut, idle, stall, rng);
            let words: VecDeque<u64> = (0..1000).map(|_| rng.range(0..1 << bits)).collect();
            for word in &words {
                bench.input.send(*word);
            }
            let mut expected = words;
            let mut clocks = 0;
            while let Some(next) = expected.front() {
                bench.clock();
                clocks += 1;
                assert!(clocks < 40_000, "{} words did not come out", expected.len());
                assert!(bench.input.sent() - bench.output.total() <= capacity);
                if let Some(transfer) = bench.output.take() {
                    assert_eq!(transfer.word.0, [*next]);
                    expected.pop_front();
                }
            }
        });
    }
}
