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

/// As many words as it has places, and no more, in order.
pub fn holds_its_depth(test: &str, design: &Design, capacity: u64) {
    tb::run(test, design, |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        for word in 0..2 * capacity {
            bench.input.send(word);
        }
        bench.stuck(4 * capacity);
        assert_eq!(bench.input.sent(), capacity);
        for _ in 0..4 * capacity {
            bench.clock();
        }
        let words: Vec<u64> = std::iter::from_fn(|| bench.output.take()).map(|t| t.word.0[0]).collect();
        assert_eq!(words, (0..2 * capacity).collect::<Vec<_>>());
    });
}

/// A word per clock, each so many clocks after it came.
pub fn moves_a_word_per_clock(test: &str, design: &Design, latency: u64) {
    tb::run(test, design, |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        let start = bench.dut.cycles();
        for word in 0..500u64 {
            bench.input.send(word);
        }
        for _ in 0..500 + latency {
            bench.clock();
        }
        for word in 0..500 {
            let (clock, transfer) = bench.output.take_timed().expect("a word per clock");
            assert_eq!(transfer.word.0, [word]);
            assert_eq!(clock, start + 1 + latency + word, "word {word}");
        }
    });
}

/// A full one too.
pub fn moves_a_word_per_clock_when_full(test: &str, design: &Design, capacity: u64) {
    tb::run(test, design, |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        for word in 0..1000u64 {
            bench.input.send(word);
        }
        bench.stuck(2 * capacity);
        for _ in 0..300 {
            bench.clock();
        }
        assert_eq!(bench.output.total(), 300);
        // The place freed by the first word taken is seen a clock later.
        assert_eq!(bench.input.sent(), capacity + 299);
    });
}

/// Nothing survives a reset, however much there was and wherever it was.
pub fn is_emptied_by_reset(test: &str, design: &Design, capacity: u64) {
    tb::run(test, design, |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        let valid = bench.dut.port("out_valid").unwrap();
        for fill in 1..=capacity {
            for word in 0..fill {
                bench.input.send(word);
            }
            bench.stuck(fill);
            reset(bench.dut);
            bench.input = StreamDriver::new(bench.dut, "in", Pattern::Always, rng).unwrap();
            for _ in 0..2 * capacity {
                bench.dut.clock();
                assert_eq!(bench.dut.sampled(valid), 0, "a word survived after {fill}");
            }
        }
    });
}
