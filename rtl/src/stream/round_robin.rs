//! Three streams into one, in turn, where a register or a FIFO follows; two, where the third never has a word.
//!
//! ```text
//!  in0 ──>┌──────┐
//!  in1 ──>│ turn │──> out
//!  in2 ──>└──────┘
//! ```
//!
//! Contract: a word in every clock while more than one stream has some or none waits elsewhere; it
//! comes out in the clock in which it goes in, at the earliest in the clock after it came to a
//! stream whose turn it was not. A stream is passed by each of the others once at most. Which one is
//! shown is a register: `in*_ready` is that and `out_ready`, `out_valid` and `out_data` stay until
//! `out_ready`.
//!
//! No word stands in it: a register with what chooses for each bit lies in front already, and
//! memory or another one behind.
//!
//! Verified by `testbenches/tests/round_robin.rs`.

use crate::prelude::*;

#[derive(LogicBlock)]
pub struct RoundRobin<T: Synth> {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub in0_valid: Signal<In, Bit>,
    pub in0_data: Signal<In, T>,
    pub in0_ready: Signal<Out, Bit>,
    pub in1_valid: Signal<In, Bit>,
    pub in1_data: Signal<In, T>,
    pub in1_ready: Signal<Out, Bit>,
    pub in2_valid: Signal<In, Bit>,
    pub in2_data: Signal<In, T>,
    pub in2_ready: Signal<Out, Bit>,
    pub out_valid: Signal<Out, Bit>,
    pub out_data: Signal<Out, T>,
    pub out_ready: Signal<In, Bit>,
    /// It is the turn of stream 1, of stream 2; else of stream 0.
    one: Dff<Bit>,
    two: Dff<Bit>,
    shown: Signal<Local, Bit>,
}

impl<T: Synth> Default for RoundRobin<T> {
    fn default() -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            in0_valid: Default::default(),
            in0_data: Default::default(),
            in0_ready: Default::default(),
            in1_valid: Default::default(),
            in1_data: Default::default(),
            in1_ready: Default::default(),
            in2_valid: Default::default(),
            in2_data: Default::default(),
            in2_ready: Default::default(),
            out_valid: Default::default(),
            out_data: Default::default(),
            out_ready: Default::default(),
            one: Default::default(),
            two: Default::default(),
            shown: Default::default(),
        }
    }
}

impl<T: Synth> Logic for RoundRobin<T> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, one, two);
        self.shown.next = self.in0_valid.val();
        self.out_data.next = self.in0_data.val();
        if self.one.q.val() {
            self.shown.next = self.in1_valid.val();
            self.out_data.next = self.in1_data.val();
        }
        if self.two.q.val() {
            self.shown.next = self.in2_valid.val();
            self.out_data.next = self.in2_data.val();
        }
        self.out_valid.next = self.shown.val();
        self.in0_ready.next = self.out_ready.val() & !self.one.q.val() & !self.two.q.val();
        self.in1_ready.next = self.out_ready.val() & self.one.q.val();
        self.in2_ready.next = self.out_ready.val() & self.two.q.val();

        // What is shown stays until it is taken; then, and while nothing is, the next that waits is.
        if self.out_ready.val() | !self.shown.val() {
            if self.two.q.val() {
                self.one.d.next = self.in1_valid.val() & !self.in0_valid.val();
                self.two.d.next = !self.in0_valid.val() & !self.in1_valid.val();
            } else if self.one.q.val() {
                self.one.d.next = !self.in2_valid.val() & !self.in0_valid.val();
                self.two.d.next = self.in2_valid.val();
            } else {
                self.one.d.next = self.in1_valid.val();
                self.two.d.next = self.in2_valid.val() & !self.in1_valid.val();
            }
        }
        if self.rst.val() {
            self.one.d.next = false;
            self.two.d.next = false;
        }
    }
}
