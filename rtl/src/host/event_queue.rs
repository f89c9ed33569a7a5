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
    /// Of the first three pulses, then with the other two: whether they are odd, whether two or more.
    odd: Signal<Local, Bit>,
    pair: Signal<Local, Bit>,
    odd_in_all: Signal<Local, Bit>,
    other_pair: Signal<Local, Bit>,
    number: Signal<Local, Bits<10>>,
}

impl EventQueue {
    pub fn new() -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            pulses: Default::default(),
            told: Default::default(),
            waiting: Default::default(),
            odd: Default::default(),
            pair: Default::default(),
            odd_in_all: Default::default(),
            other_pair: Default::default(),
            number: Default::default(),
        }
    }
}

impl Logic for EventQueue {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, waiting);
        self.told.next = self.waiting.q.val().any();
        // Counted first and added at once: a sum for each would be one behind the other.
        self.odd.next =
            self.pulses.val().get_bit(0) ^ self.pulses.val().get_bit(1) ^ self.pulses.val().get_bit(2);
        self.pair.next = (self.pulses.val().get_bit(0) & self.pulses.val().get_bit(1))
            | (self.pulses.val().get_bit(0) & self.pulses.val().get_bit(2))
            | (self.pulses.val().get_bit(1) & self.pulses.val().get_bit(2));
        self.odd_in_all.next = self.odd.val() ^ self.pulses.val().get_bit(3) ^ self.pulses.val().get_bit(4);
        self.other_pair.next = (self.odd.val() & self.pulses.val().get_bit(3))
            | (self.odd.val() & self.pulses.val().get_bit(4))
            | (self.pulses.val().get_bit(3) & self.pulses.val().get_bit(4));
        self.number.next = bit_cast::<10, 1>(self.odd_in_all.val().into())
            | (bit_cast::<10, 1>((self.pair.val() ^ self.other_pair.val()).into()) << 1)
            | (bit_cast::<10, 1>((self.pair.val() & self.other_pair.val()).into()) << 2);
        self.waiting.d.next = self.number.val();
        if self.waiting.q.val().any() {
            self.waiting.d.next = self.waiting.q.val() + self.number.val() - 1;
        }

        if self.rst.val() {
            self.waiting.d.next = 0.into();
        }
    }
}
