//! `stream::LateFifo`: order, loss, depth, latency and rate, in LUT RAM and in a block RAM.

use tessera_rtl::prelude::Bits;
use tessera_rtl::stream::LateFifo;
use tessera_sim::tb::{self, Pattern, StreamDriver};
use tessera_sim::verilator::Design;
use tessera_testbenches::fifos::{keeps_order, reset, Bench};

const DEPTH_LOG2: usize = 3;
const CAPACITY: u64 = 1 << DEPTH_LOG2;
/// Clocks from a word's acceptance to its offer when the FIFO is empty.
const LATENCY: u64 = 2;

type Tested = LateFifo<Bits<48>, { DEPTH_LOG2 + 1 }>;

/// One of each kind, with one address bit more than its depth needs. A block RAM's reads that meet a write are
/// useless under Verilator.
fn designs() -> [(&'static str, Design); 2] {
    [
        ("lut", tessera_testbenches::design("late_fifo", || Tested::new(DEPTH_LOG2))),
        ("block", tessera_testbenches::design("late_fifo_block", || Tested::new(DEPTH_LOG2).in_block())),
    ]
}

#[test]
fn keeps_order_and_loses_nothing() {
    for (kind, design) in designs() {
        keeps_order(&format!("late_fifo::order {kind}"), &design, 48, CAPACITY);
    }
}

#[test]
fn holds_its_full_depth_and_no_more() {
    for (kind, design) in designs() {
        tb::run(&format!("late_fifo::depth {kind}"), &design, |dut, rng| {
            let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
            for word in 0..2 * CAPACITY {
                bench.input.send(word);
            }
            bench.stuck(4 * CAPACITY);
            assert_eq!(bench.input.sent(), CAPACITY);
            for _ in 0..4 * CAPACITY {
                bench.clock();
            }
            let words: Vec<u64> = std::iter::from_fn(|| bench.output.take()).map(|t| t.word.0[0]).collect();
            assert_eq!(words, (0..2 * CAPACITY).collect::<Vec<_>>());
        });
    }
}

#[test]
fn moves_a_word_per_clock_two_clocks_behind() {
    for (kind, design) in designs() {
        tb::run(&format!("late_fifo::rate {kind}"), &design, |dut, rng| {
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
}

#[test]
fn a_full_fifo_still_moves_a_word_per_clock() {
    for (kind, design) in designs() {
        tb::run(&format!("late_fifo::full_rate {kind}"), &design, |dut, rng| {
            let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
            for word in 0..1000u64 {
                bench.input.send(word);
            }
            bench.stuck(2 * CAPACITY);
            for _ in 0..300 {
                bench.clock();
            }
            assert_eq!(bench.output.total(), 300);
            // The place freed by the first word taken is seen a clock later.
            assert_eq!(bench.input.sent(), CAPACITY + 299);
        });
    }
}

#[test]
fn reset_empties_it() {
    for (kind, design) in designs() {
        tb::run(&format!("late_fifo::reset {kind}"), &design, |dut, rng| {
            let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
            let valid = bench.dut.port("out_valid").unwrap();
            for fill in 1..=CAPACITY {
                for word in 0..fill {
                    bench.input.send(word);
                }
                // The last word is on its way from the RAM, or was stored in the clock before.
                bench.stuck(fill);
                reset(bench.dut);
                bench.input = StreamDriver::new(bench.dut, "in", Pattern::Always, rng).unwrap();
                for _ in 0..2 * CAPACITY {
                    bench.dut.clock();
                    assert_eq!(bench.dut.sampled(valid), 0, "a word survived after {fill}");
                }
            }
        });
    }
}
