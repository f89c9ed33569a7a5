//! `stream::Fifo`: order, loss, depth, latency and rate.

use tessera_rtl::prelude::Bits;
use tessera_rtl::stream::Fifo;
use tessera_sim::verilator::Design;
use tessera_testbenches::fifos;

const DEPTH_LOG2: usize = 3;
const CAPACITY: u64 = 1 << DEPTH_LOG2;
/// Clocks from a word's acceptance to its offer when the FIFO is empty.
const LATENCY: u64 = 1;

/// A FIFO with one address bit more than its depth needs, as most users have.
fn design() -> Design {
    tessera_testbenches::design("fifo", || Fifo::<Bits<48>, { DEPTH_LOG2 + 1 }>::new(DEPTH_LOG2))
}

#[test]
fn keeps_order_and_loses_nothing() {
    fifos::keeps_order("fifo::order", &design(), 48, CAPACITY);
}

#[test]
fn holds_its_full_depth_and_no_more() {
    fifos::holds_its_depth("fifo::depth", &design(), CAPACITY);
}

#[test]
fn moves_a_word_per_clock_a_clock_behind() {
    fifos::moves_a_word_per_clock("fifo::rate", &design(), LATENCY);
}

#[test]
fn a_full_fifo_still_moves_a_word_per_clock() {
    fifos::moves_a_word_per_clock_when_full("fifo::full_rate", &design(), CAPACITY);
}

#[test]
fn reset_empties_it() {
    fifos::is_emptied_by_reset("fifo::reset", &design(), CAPACITY);
}
