//! `stream::Fifo`: order, loss, depth, latency and rate.

use std::collections::VecDeque;
use tessera_rtl::prelude::Bits;
use tessera_rtl::stream::Fifo;
use tessera_sim::tb::{self, cycle, Pattern, Rng, StreamDriver, StreamMonitor};
use tessera_sim::verilator::{Design, Dut};

const DEPTH_LOG2: usize = 3;
const CAPACITY: u64 = 1 << DEPTH_LOG2;
/// Clocks from a word's acceptance to its offer when the FIFO is empty.
const LATENCY: u64 = 1;

/// A FIFO with one address bit more than its depth needs, as most users have.
fn design() -> Design {
    tessera_testbenches::design("fifo", || Fifo::<Bits<48>, { DEPTH_LOG2 + 1 }>::new(DEPTH_LOG2))
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
}

fn reset(dut: &mut Dut) {
    let (rst, valid) = (dut.port("rst").unwrap(), dut.port("in_valid").unwrap());
    dut.set(valid, 0u64);
    dut.set(rst, 1u64);
    // One clock is enough.
    dut.clock();
    dut.set(rst, 0u64);
}

#[test]
fn keeps_order_and_loses_nothing() {
    let design = design();
    for (idle, stall) in Pattern::matrix() {
        tb::run(&format!("fifo::order {idle:?} {stall:?}"), &design, |dut, rng| {
            let mut bench = Bench::new(dut, idle, stall, rng);
            let words: VecDeque<u64> = (0..2000).map(|_| rng.range(0..1 << 48)).collect();
            for word in &words {
                bench.input.send(*word);
            }
            let mut expected = words;
            let mut clocks = 0;
            while let Some(next) = expected.front() {
                bench.clock();
                clocks += 1;
                assert!(clocks < 30_000, "{} words did not come out", expected.len());
                // Everything inside is counted: nothing is invented or held back for ever.
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
    tb::run("fifo::depth", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        let ready = bench.dut.port("out_ready").unwrap();
        for word in 0..2 * CAPACITY {
            bench.input.send(word);
        }
        // Only the driver acts: nobody takes a word.
        for _ in 0..4 * CAPACITY {
            bench.dut.set(ready, 0u64);
            cycle(bench.dut, &mut [&mut bench.input]);
        }
        assert_eq!(bench.input.sent(), CAPACITY);
        for _ in 0..4 * CAPACITY {
            bench.clock();
        }
        let words: Vec<u64> = std::iter::from_fn(|| bench.output.take()).map(|t| t.word.0[0]).collect();
        assert_eq!(words, (0..2 * CAPACITY).collect::<Vec<_>>());
    });
}

#[test]
fn moves_a_word_per_clock_a_clock_behind() {
    tb::run("fifo::rate", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        let start = bench.dut.cycles();
        for word in 0..500u64 {
            bench.input.send(word);
        }
        for _ in 0..500 + LATENCY {
            bench.clock();
        }
        for word in 0..500 {
            let (clock, transfer) = bench.output.take_timed().expect("a word per clock");
            assert_eq!(transfer.word.0, [word]);
            assert_eq!(clock, start + 1 + LATENCY + word, "word {word}");
        }
    });
}

#[test]
fn a_full_fifo_still_moves_a_word_per_clock() {
    tb::run("fifo::full_rate", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        let ready = bench.dut.port("out_ready").unwrap();
        for word in 0..1000u64 {
            bench.input.send(word);
        }
        for _ in 0..2 * CAPACITY {
            bench.dut.set(ready, 0u64);
            cycle(bench.dut, &mut [&mut bench.input]);
        }
        for _ in 0..300 {
            bench.clock();
        }
        assert_eq!(bench.output.total(), 300);
        // The place freed by the first word taken is seen a clock later.
        assert_eq!(bench.input.sent(), CAPACITY + 299);
    });
}

#[test]
fn reset_empties_it() {
    tb::run("fifo::reset", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        let (ready, valid) = (bench.dut.port("out_ready").unwrap(), bench.dut.port("out_valid").unwrap());
        for fill in 1..=CAPACITY {
            for word in 0..fill {
                bench.input.send(word);
            }
            for _ in 0..fill {
                bench.dut.set(ready, 0u64);
                cycle(bench.dut, &mut [&mut bench.input]);
            }
            reset(bench.dut);
            bench.input = StreamDriver::new(bench.dut, "in", Pattern::Always, rng).unwrap();
            for _ in 0..2 * CAPACITY {
                bench.dut.clock();
                assert_eq!(bench.dut.sampled(valid), 0, "a word survived after {fill}");
            }
        }
    });
}
