//! Of up to eight bits the lowest that is set, alone: gates of two levels of tables, where `d & (!d + 1)` is a carry
//! chain.
//!
//! Contract: `q` is `d` without all but its lowest bit, in the same clock; zero of zero.
//!
//! Verified by `testbenches/tests/wire_cells.rs`, and wherever a turn is chosen.

use crate::prelude::*;

#[derive(LogicBlock)]
pub struct Lowest<const N: usize> {
    pub d: Signal<In, Bits<N>>,
    pub q: Signal<Out, Bits<N>>,
    /// Bits at and above one, two and four of `d`.
    one: Signal<Local, Bits<N>>,
    two: Signal<Local, Bits<N>>,
    four: Signal<Local, Bits<N>>,
}

impl<const N: usize> Default for Lowest<N> {
    fn default() -> Self {
        const { assert!(N <= 8, "eight bits at most") };
        Self {
            d: Default::default(),
            q: Default::default(),
            one: Default::default(),
            two: Default::default(),
            four: Default::default(),
        }
    }
}

impl<const N: usize> Logic for Lowest<N> {
    #[hdl_gen]
    fn update(&mut self) {
        self.one.next = self.d.val() | (self.d.val() << 1);
        self.two.next = self.one.val() | (self.one.val() << 2);
        self.four.next = self.two.val() | (self.two.val() << 4);
        self.q.next = self.d.val() & !(self.four.val() << 1);
    }
}
