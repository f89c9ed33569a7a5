//! `stream::Fifo`: order, loss, depth, latency and rate.

use std::sync::atomic::{AtomicUsize, Ordering};
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

#[test]
fn a_design_is_made_once_for_each_size_and_closure() {
    static MADE: AtomicUsize = AtomicUsize::new(0);
    type Small = Fifo<Bits<8>, 4>;
    let make = |depth_log2: usize| {
        MADE.fetch_add(1, Ordering::Relaxed);
        Small::new(depth_log2)
    };
    let texts = [2, 3, 2].map(|size| tessera_testbenches::design_for("made", size, make).verilog);
    assert!(texts[0] == texts[2] && texts[0] != texts[1]);
    assert_eq!(MADE.load(Ordering::Relaxed), 2);
    // Another closure of the same size is not it, nor is one that knows of something else.
    let other = tessera_testbenches::design_for("made", 2, |size: usize| Small::new(size + 1)).verilog;
    assert_eq!(other, texts[1]);
    let knows = [2, 3].map(|more| tessera_testbenches::design("made", move || Small::new(more)).verilog);
    assert!(knows == texts[..2]);
}
