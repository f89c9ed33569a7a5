//! `stream::SliceFifo`: order, loss, depth, latency and rate.

use std::collections::VecDeque;
use tessera_rtl::prelude::Bits;
use tessera_rtl::stream::SliceFifo;
use tessera_sim::tb::{self, cycle, Pattern, Rng, StreamDriver, StreamMonitor};
use tessera_sim::verilator::{Design, Dut};

const DEPTH_LOG2: usize = 3;
/// In the RAM, before it and behind it.
const CAPACITY: u64 = (1 << DEPTH_LOG2) + 2;
/// Clocks from a word's acceptance to its offer when the FIFO is empty.
const LATENCY: u64 = 11;
/// Clocks from a word to the next, at best: in, out.
const APART: [u64; 2] = [5, 6];

/// One with an address bit more than its depth needs; slices of 12 bits.
fn design() -> Design {
    tessera_testbenches::design("slice_fifo", || SliceFifo::<Bits<46>, { DEPTH_LOG2 + 1 }>::new(DEPTH_LOG2))
}

struct Bench<'a> {
    dut: &'a mut Dut,
    input: StreamDriver,
    output: StreamMonitor,
}

impl<'a> Bench<'a> {
    fn new(dut: &'a mut Dut, idle: Pattern, stall: Pattern, rng: &mut Rng) -> Self {
        let input = StreamDriver::new(dut, "in", idle, rng).unwrap();
        let output = StreamMonitor::new(dut, "out", stall, rng).unwrap();
        reset(dut);
        Bench { dut, input, output }
    }

    fn clock(&mut self) {
        cycle(self.dut, &mut [&mut self.input, &mut self.output]);
    }

    /// Clocks in which nobody takes a word.
    fn stuck(&mut self, clocks: u64) {
        let ready = self.dut.port("out_ready").unwrap();
        for _ in 0..clocks {
            self.dut.set(ready, 0u64);
            cycle(self.dut, &mut [&mut self.input]);
        }
    }
}

fn reset(dut: &mut Dut) {
    let (rst, valid) = (dut.port("rst").unwrap(), dut.port("in_valid").unwrap());
    dut.set(valid, 0u64);
    dut.set(rst, 1u64);
    dut.clock();
    dut.set(rst, 0u64);
}

#[test]
fn keeps_order_and_loses_nothing() {
    for (idle, stall) in Pattern::matrix() {
        tb::run(&format!("slice_fifo::order {idle:?} {stall:?}"), &design(), |dut, rng| {
            let mut bench = Bench::new(dut, idle, stall, rng);
            let words: VecDeque<u64> = (0..1000).map(|_| rng.range(0..1 << 46)).collect();
            for word in &words {
                bench.input.send(*word);
            }
            let mut expected = words;
            let mut clocks = 0;
            while let Some(next) = expected.front() {
                bench.clock();
                clocks += 1;
                assert!(clocks < 40_000, "{} words did not come out", expected.len());
                assert!(bench.input.sent() - bench.output.total() <= CAPACITY);
                if let Some(transfer) = bench.output.take() {
                    assert_eq!(transfer.word.0, [*next]);
                    expected.pop_front();
                }
            }
        });
    }
}

#[test]
fn holds_its_full_depth_and_no_more() {
    tb::run("slice_fifo::depth", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        for word in 0..3 * CAPACITY {
            bench.input.send(word);
        }
        bench.stuck(20 * CAPACITY);
        assert_eq!(bench.input.sent(), CAPACITY);
        // Full, and each word that leaves makes room for one.
        while bench.output.total() < CAPACITY / 2 {
            bench.clock();
        }
        bench.stuck(20 * CAPACITY);
        assert_eq!(bench.input.sent(), CAPACITY + CAPACITY / 2);
        for _ in 0..20 * CAPACITY {
            bench.clock();
        }
        let words: Vec<u64> = std::iter::from_fn(|| bench.output.take()).map(|t| t.word.0[0]).collect();
        assert_eq!(words, (0..3 * CAPACITY).collect::<Vec<_>>());
    });
}

#[test]
fn a_word_takes_its_time() {
    tb::run("slice_fifo::latency", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        for word in 0..20 {
            let start = bench.dut.cycles();
            bench.input.send(word);
            while bench.output.available() == 0 {
                bench.clock();
            }
            let (clock, transfer) = bench.output.take_timed().unwrap();
            assert_eq!(transfer.word.0, [word]);
            assert_eq!(clock - start, 1 + LATENCY);
        }
    });
}

#[test]
fn words_move_as_often_as_promised() {
    tb::run("slice_fifo::rate", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        for word in 0..200u64 {
            bench.input.send(word);
        }
        // Until it is full the input is alone.
        bench.stuck(APART[0] * 4);
        assert_eq!(bench.input.sent(), 4);
        let mut times = Vec::new();
        while times.len() < 200 {
            bench.clock();
            times.extend(bench.output.take_timed().map(|(clock, _)| clock));
        }
        assert!(times.windows(2).all(|pair| pair[1] - pair[0] == APART[1]), "{times:?}");
    });
}

#[test]
fn reset_empties_it() {
    tb::run("slice_fifo::reset", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        let valid = bench.dut.port("out_valid").unwrap();
        // In every clock of a word's way, and with more words behind it.
        for clocks in 1..80 {
            for word in 0..CAPACITY {
                bench.input.send(word);
            }
            bench.stuck(clocks);
            reset(bench.dut);
            bench.input = StreamDriver::new(bench.dut, "in", Pattern::Always, rng).unwrap();
            for _ in 0..20 {
                bench.dut.clock();
                assert_eq!(bench.dut.sampled(valid), 0, "a word survived after {clocks} clocks");
            }
            // And works again.
            bench.input.send(clocks);
            while bench.output.available() == 0 {
                bench.clock();
            }
            assert_eq!(bench.output.take().unwrap().word.0, [clocks]);
        }
    });
}
