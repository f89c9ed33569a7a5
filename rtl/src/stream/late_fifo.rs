//! A FIFO as [`Fifo`](super::Fifo), a clock later: nothing goes past its RAM.
//!
//! ```text
//!  in_valid  ──>┌──────────────────────────┐──> out_valid
//!  in_data   ──>│ RAM, read where the next │──> out_data
//!  in_ready  <──│     word in front is     │<── out_ready
//!               └──────────────────────────┘
//! ```
//!
//! For wide words in a block RAM that are in no hurry: `Fifo` needs two registers and a multiplexer for each
//! bit, so that a word may be read in the clock in which it is written. Here the reader hears of a word a
//! clock after that.
//!
//! Contract: one word in and one word out per clock, sustained; two clocks from
//! input to output when empty. `2^depth_log2` words. `in_ready` and `out_valid`
//! are registers; `out_data` is the RAM's output, of a block RAM or LUT RAM.
//!
//! Verified by `testbenches/tests/late_fifo.rs`.

use super::late_control::LateControl;
use crate::prelude::*;

#[derive(LogicBlock)]
pub struct LateFifo<T: Synth, const A: usize> {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub in_valid: Signal<In, Bit>,
    pub in_data: Signal<In, T>,
    pub in_ready: Signal<Out, Bit>,
    pub out_valid: Signal<Out, Bit>,
    pub out_data: Signal<Out, T>,
    pub out_ready: Signal<In, Bit>,
    ram: ForwardRam<T, A>,
    control: LateControl<A>,
}

impl<T: Synth, const A: usize> LateFifo<T, A> {
    /// A FIFO of `2^depth_log2` words, `1 <= depth_log2 <= A`.
    pub fn new(depth_log2: usize) -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            in_valid: Default::default(),
            in_data: Default::default(),
            in_ready: Default::default(),
            out_valid: Default::default(),
            out_data: Default::default(),
            out_ready: Default::default(),
            ram: ForwardRam::new(depth_log2).without_passing(),
            control: LateControl::new(depth_log2),
        }
    }

    /// The same with its words in a block RAM, however few: for wide ones where LUTs are scarce.
    pub fn in_block(mut self) -> Self {
        self.ram = self.ram.in_block();
        self
    }

    /// The same for words of hundreds of bits: in a block RAM from 32 of them on. Sixteen take a LUT RAM of the
    /// least depth there is, and a small FPGA's block RAMs are few and far between.
    pub fn of_wide_words(mut self) -> Self {
        self.ram = self.ram.in_block_from(5);
        self
    }
}

impl<T: Synth, const A: usize> Logic for LateFifo<T, A> {
    #[hdl_gen]
    fn update(&mut self) {
        self.ram.clock.next = self.clk.val();
        self.control.clk.next = self.clk.val();
        self.control.rst.next = self.rst.val();
        self.control.in_valid.next = self.in_valid.val();
        self.in_ready.next = self.control.in_ready.val();
        self.out_valid.next = self.control.out_valid.val();
        self.control.out_ready.next = self.out_ready.val();

        self.ram.write_enable.next = self.control.put.val();
        self.ram.write_address.next = self.control.put_at.val();
        self.ram.write_data.next = self.in_data.val();
        self.ram.read_address.next = self.control.next_at.val();
        self.out_data.next = self.ram.read_data.val();
    }
}
