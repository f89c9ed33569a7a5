//! Events of several sources that one counter counts.
//!
//! ```text
//!  pulses ──> + ──> waiting ──> one at a time ──> told
//! ```
//!
//! Contract: every pulse makes one clock of `told`, the first of them a clock
//! later; the sources pulse no more than once per clock in the long run, and
//! 1023 of them at most wait.
//!
//! Verified by `testbenches/tests/event_queue.rs`.

use crate::prelude::*;

#[derive(LogicBlock)]
pub struct EventQueue {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    /// One bit per source.
    pub pulses: Signal<In, Bits<5>>,
    pub told: Signal<Out, Bit>,
    waiting: Dff<Bits<10>>,
    sums: [Signal<Local, Bits<10>>; 6],
}

impl EventQueue {
    pub fn new() -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            pulses: Default::default(),
            told: Default::default(),
            waiting: Default::default(),
            sums: Default::default(),
        }
    }
}

impl Logic for EventQueue {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, waiting);
        self.told.next = self.waiting.q.val().any();
        self.sums[0].next = self.waiting.q.val();
        if self.waiting.q.val().any() {
            self.sums[0].next = self.waiting.q.val() - 1;
        }
        for i in 0..5 {
            self.sums[i + 1].next = self.sums[i].val();
            if self.pulses.val().get_bit(i) {
                self.sums[i + 1].next = self.sums[i].val() + 1;
            }
        }
        self.waiting.d.next = self.sums[5].val();

        if self.rst.val() {
            self.waiting.d.next = 0.into();
        }
    }
}
