//! `stream::LateFifo`: order, loss, depth, latency and rate, in LUT RAM and in a block RAM.

use tessera_rtl::prelude::Bits;
use tessera_rtl::stream::LateFifo;
use tessera_sim::verilator::Design;
use tessera_testbenches::fifos;

const DEPTH_LOG2: usize = 3;
const CAPACITY: u64 = 1 << DEPTH_LOG2;
/// Clocks from a word's acceptance to its offer when the FIFO is empty.
const LATENCY: u64 = 2;

type Tested = LateFifo<Bits<48>, { DEPTH_LOG2 + 1 }>;

/// One of each kind, with one address bit more than its depth needs. A block RAM's reads that meet a write are
/// useless under Verilator.
fn each(check: impl Fn(&str, &Design)) {
    check("lut", &tessera_testbenches::design("late_fifo", || Tested::new(DEPTH_LOG2)));
    check("block", &tessera_testbenches::design("late_fifo_block", || Tested::new(DEPTH_LOG2).in_block()));
}

#[test]
fn keeps_order_and_loses_nothing() {
    each(|kind, design| fifos::keeps_order(&format!("late_fifo::order {kind}"), design, 48, CAPACITY));
}

#[test]
fn holds_its_full_depth_and_no_more() {
    each(|kind, design| fifos::holds_its_depth(&format!("late_fifo::depth {kind}"), design, CAPACITY));
}

#[test]
fn moves_a_word_per_clock_two_clocks_behind() {
    each(|kind, design| fifos::moves_a_word_per_clock(&format!("late_fifo::rate {kind}"), design, LATENCY));
}

#[test]
fn a_full_fifo_still_moves_a_word_per_clock() {
    each(|kind, design| {
        fifos::moves_a_word_per_clock_when_full(&format!("late_fifo::full_rate {kind}"), design, CAPACITY);
    });
}

#[test]
fn reset_empties_it() {
    each(|kind, design| fifos::is_emptied_by_reset(&format!("late_fifo::reset {kind}"), design, CAPACITY));
}
