//! `stream::LateFifo`, in LUT RAM and in a block RAM, and `stream::PairFifo`: order, loss, depth, latency and rate.

use tessera_rtl::emit;
use tessera_rtl::prelude::*;
use tessera_rtl::stream::{LateFifo, PairFifo};
use tessera_sim::verilator::Design;
use tessera_testbenches::fifos;

const DEPTH_LOG2: usize = 3;
/// Of the pair with a block RAM, which it takes from 32 words on.
const DEEP_LOG2: usize = 5;
/// Clocks from a word's acceptance to its offer when the FIFO is empty.
const LATENCY: u64 = 2;

type Tested = LateFifo<Bits<48>, { DEPTH_LOG2 + 1 }>;

/// A `PairFifo` of words in two parts, which come out as they went in together only if both are counted alike.
#[derive(LogicBlock)]
struct Joined {
    clk: Signal<In, Clock>,
    rst: Signal<In, Bit>,
    in_valid: Signal<In, Bit>,
    in_data: Signal<In, Bits<48>>,
    in_ready: Signal<Out, Bit>,
    out_valid: Signal<Out, Bit>,
    out_data: Signal<Out, Bits<48>>,
    out_ready: Signal<In, Bit>,
    pair: PairFifo<Bits<40>, Bits<8>, 6>,
}

impl Joined {
    fn new(depth_log2: usize) -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            in_valid: Default::default(),
            in_data: Default::default(),
            in_ready: Default::default(),
            out_valid: Default::default(),
            out_data: Default::default(),
            out_ready: Default::default(),
            pair: PairFifo::new(depth_log2),
        }
    }
}

impl Logic for Joined {
    #[hdl_gen]
    fn update(&mut self) {
        self.pair.clk.next = self.clk.val();
        self.pair.rst.next = self.rst.val();
        self.pair.in_valid.next = self.in_valid.val();
        self.pair.in_data.next = self.in_data.val().get_bits::<40>(0);
        self.pair.in_near.next = self.in_data.val().get_bits::<8>(40);
        self.in_ready.next = self.pair.in_ready.val();
        self.out_valid.next = self.pair.out_valid.val();
        self.out_data.next = bit_cast::<48, 40>(self.pair.out_data.val())
            | (bit_cast::<48, 8>(self.pair.out_near.val()) << 40);
        self.pair.out_ready.next = self.out_ready.val();
    }
}

/// One of each kind, with an address bit more than its depth needs, and how many words it holds. A block RAM's
/// reads that meet a write are useless under Verilator.
fn each(check: impl Fn(&str, &Design, u64)) {
    let few = 1 << DEPTH_LOG2;
    check("lut", &tessera_testbenches::design("late_fifo", || Tested::new(DEPTH_LOG2)), few);
    check(
        "block",
        &tessera_testbenches::design("late_fifo_block", || Tested::new(DEPTH_LOG2).in_block()),
        few,
    );
    check("pair", &tessera_testbenches::design("pair_fifo", || Joined::new(DEPTH_LOG2)), few);
    check(
        "deep pair",
        &tessera_testbenches::design("pair_fifo_block", || Joined::new(DEEP_LOG2)),
        1 << DEEP_LOG2,
    );
}

#[test]
fn keeps_order_and_loses_nothing() {
    each(|kind, design, holds| fifos::keeps_order(&format!("late_fifo::order {kind}"), design, 48, holds));
}

#[test]
fn holds_its_full_depth_and_no_more() {
    each(|kind, design, holds| fifos::holds_its_depth(&format!("late_fifo::depth {kind}"), design, holds));
}

#[test]
fn moves_a_word_per_clock_two_clocks_behind() {
    each(|kind, design, _| {
        fifos::moves_a_word_per_clock(&format!("late_fifo::rate {kind}"), design, LATENCY)
    });
}

#[test]
fn a_full_fifo_still_moves_a_word_per_clock() {
    each(|kind, design, holds| {
        fifos::moves_a_word_per_clock_when_full(&format!("late_fifo::full_rate {kind}"), design, holds);
    });
}

#[test]
fn reset_empties_it() {
    each(|kind, design, holds| {
        fifos::is_emptied_by_reset(&format!("late_fifo::reset {kind}"), design, holds)
    });
}

/// A small FPGA has no block RAMs to spare for sixteen words, and what is near by is there in no other.
#[test]
fn wide_words_lie_in_a_block_ram_from_32_on() {
    let lies_in = |kind: &str, words: usize, bits: usize, export: &str| {
        let line =
            format!("(* ram_style = \"{kind}\", no_rw_check *) reg [{}:0] mem [0:{}];", bits - 1, words - 1);
        let plain = line.replace(", no_rw_check", "");
        assert!(
            export.contains(&line) || export.contains(&plain),
            "{words} words of {bits} bits in {kind} RAM:\n{export}"
        );
    };
    for (depth_log2, wide) in [(4, "distributed"), (5, "block"), (6, "block")] {
        let words = 1 << depth_log2;
        let fifo =
            emit::export(&mut LateFifo::<Bits<400>, 6>::new(depth_log2).of_wide_words(), "fifo").unwrap();
        lies_in(wide, words, 400, &fifo.verilog);
        let pair = emit::export(&mut Joined::new(depth_log2), "pair").unwrap();
        lies_in(wide, words, 40, &pair.verilog);
        lies_in("distributed", words, 8, &pair.verilog);
    }
}
