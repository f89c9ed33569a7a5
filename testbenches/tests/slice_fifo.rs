//! `stream::SliceFifo`: order, loss, depth, latency and rate.

use tessera_rtl::prelude::Bits;
use tessera_rtl::stream::SliceFifo;
use tessera_sim::tb::{self, Pattern, StreamDriver};
use tessera_sim::verilator::Design;
use tessera_testbenches::fifos::{keeps_order, reset, Bench};

const DEPTH_LOG2: usize = 3;
/// In the RAM and behind it.
const CAPACITY: u64 = (1 << DEPTH_LOG2) + 1;
/// Clocks from a word's first to its offer when the FIFO is empty.
const LATENCY: u64 = 10;
/// Clocks from a word to the next, at best: in, out.
const APART: [u64; 2] = [4, 6];

/// One with an address bit more than its depth needs; slices of 12 bits.
fn design() -> Design {
    tessera_testbenches::design("slice_fifo", || SliceFifo::<Bits<46>, { DEPTH_LOG2 + 1 }>::new(DEPTH_LOG2))
}

#[test]
fn keeps_order_and_loses_nothing() {
    keeps_order("slice_fifo::order", &design(), 46, CAPACITY);
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
