//! Two streams into one, taking turns.
//!
//! ```text
//!  in0 ──>┌───────────────┐
//!  in1 ──>│ alternate ──> │──> out (registered)
//!         └───────────────┘
//! ```
//!
//! Contract: one word in two clocks, one clock of latency. When both wait, they
//! alternate. `in*_ready` depends on the valids, and not on `out_ready`, so that who
//! waits for whom does not become one way through all blocks in a row.
//!
//! Verified by `testbenches/tests/merge.rs`.

use crate::prelude::*;

#[derive(LogicBlock)]
pub struct Merge<T: Synth> {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub in0_valid: Signal<In, Bit>,
    pub in0_data: Signal<In, T>,
    pub in0_ready: Signal<Out, Bit>,
    pub in1_valid: Signal<In, Bit>,
    pub in1_data: Signal<In, T>,
    pub in1_ready: Signal<Out, Bit>,
    pub out_valid: Signal<Out, Bit>,
    pub out_data: Signal<Out, T>,
    pub out_ready: Signal<In, Bit>,
    word: Dff<T>,
    full: Dff<Bit>,
    /// Stream 1 goes first when both wait.
    one_first: Dff<Bit>,
    room: Signal<Local, Bit>,
    choose_one: Signal<Local, Bit>,
}

impl<T: Synth> Default for Merge<T> {
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
            out_valid: Default::default(),
            out_data: Default::default(),
            out_ready: Default::default(),
            word: Default::default(),
            full: Default::default(),
            one_first: Default::default(),
            room: Default::default(),
            choose_one: Default::default(),
        }
    }
}

impl<T: Synth> Logic for Merge<T> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, word, full, one_first);
        self.out_valid.next = self.full.q.val();
        self.out_data.next = self.word.q.val();
        self.room.next = !self.full.q.val();
        if self.out_ready.val() {
            self.full.d.next = false;
        }
        self.choose_one.next = self.in1_valid.val() & (self.one_first.q.val() | !self.in0_valid.val());
        self.in0_ready.next = self.room.val() & !self.choose_one.val();
        self.in1_ready.next = self.room.val() & self.choose_one.val();
        if self.room.val() {
            self.full.d.next = self.in0_valid.val() | self.in1_valid.val();
            if self.choose_one.val() {
                self.word.d.next = self.in1_data.val();
                self.one_first.d.next = false;
            } else {
                self.word.d.next = self.in0_data.val();
                if self.in0_valid.val() {
                    self.one_first.d.next = true;
                }
            }
        }
        if self.rst.val() {
            self.full.d.next = false;
            self.one_first.d.next = false;
        }
    }
}
