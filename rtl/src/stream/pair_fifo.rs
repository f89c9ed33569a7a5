//! A [`LateFifo`](super::LateFifo) of words of which a part is decided by in the clock in which it comes out.
//!
//! ```text
//!  in_valid  ──>┌───────────────────────────┐──> out_valid
//!  in_data   ──>│ block RAM                 │──> out_data
//!  in_near   ──>│ LUT RAM beside it         │──> out_near
//!  in_ready  <──│                           │<── out_ready
//!               └───────────────────────────┘
//! ```
//!
//! A block RAM's output is there 2.3 ns later than a LUT RAM's: too late for what is decided by it and ends at
//! a memory again (decision 0081).
//!
//! Contract: as that of a `LateFifo`, for both parts; `in_data` in a block RAM from 32 words on.
//!
//! Verified by `testbenches/tests/late_fifo.rs`.

use super::late_control::LateControl;
use crate::prelude::*;

#[derive(LogicBlock)]
pub struct PairFifo<T: Synth, N: Synth, const A: usize> {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub in_valid: Signal<In, Bit>,
    pub in_data: Signal<In, T>,
    pub in_near: Signal<In, N>,
    pub in_ready: Signal<Out, Bit>,
    pub out_valid: Signal<Out, Bit>,
    pub out_data: Signal<Out, T>,
    pub out_near: Signal<Out, N>,
    pub out_ready: Signal<In, Bit>,
    wide: ForwardRam<T, A>,
    beside: ForwardRam<N, A>,
    control: LateControl<A>,
}

impl<T: Synth, N: Synth, const A: usize> PairFifo<T, N, A> {
    /// A FIFO of `2^depth_log2` words, `1 <= depth_log2 <= 6` and `<= A`: more are no LUT RAM.
    ///
    /// # Panics
    /// For more than 64 words.
    pub fn new(depth_log2: usize) -> Self {
        assert!(depth_log2 <= 6, "2^{depth_log2} words near by: there is LUT RAM for 64");
        Self {
            clk: Default::default(),
            rst: Default::default(),
            in_valid: Default::default(),
            in_data: Default::default(),
            in_near: Default::default(),
            in_ready: Default::default(),
            out_valid: Default::default(),
            out_data: Default::default(),
            out_near: Default::default(),
            out_ready: Default::default(),
            wide: ForwardRam::new(depth_log2).without_passing().in_block_from(5),
            beside: ForwardRam::new(depth_log2).without_passing(),
            control: LateControl::new(depth_log2),
        }
    }
}

impl<T: Synth, N: Synth, const A: usize> Logic for PairFifo<T, N, A> {
    #[hdl_gen]
    fn update(&mut self) {
        self.wide.clock.next = self.clk.val();
        self.beside.clock.next = self.clk.val();
        self.control.clk.next = self.clk.val();
        self.control.rst.next = self.rst.val();
        self.control.in_valid.next = self.in_valid.val();
        self.in_ready.next = self.control.in_ready.val();
        self.out_valid.next = self.control.out_valid.val();
        self.control.out_ready.next = self.out_ready.val();

        self.wide.write_enable.next = self.control.put.val();
        self.wide.write_address.next = self.control.put_at.val();
        self.wide.write_data.next = self.in_data.val();
        self.wide.read_address.next = self.control.next_at.val();
        self.out_data.next = self.wide.read_data.val();

        self.beside.write_enable.next = self.control.put.val();
        self.beside.write_address.next = self.control.put_at.val();
        self.beside.write_data.next = self.in_near.val();
        self.beside.read_address.next = self.control.next_at.val();
        self.out_near.next = self.beside.read_data.val();
    }
}
