//! Blocks at hand for messages to open, so that a grant never takes the block a
//! message on its way was promised.
//!
//! ```text
//!  pool ──offered──> 4 registers ──block──> the message that opens
//! ```
//!
//! Contract: `fill` takes `offered` in this clock; `block` is valid while any is
//! there and is removed by `take`, not in the clock of a `fill`. `enough` leaves
//! room for two opened messages on their way besides the one asking; `full` lets
//! grants take from the pool.
//!
//! Verified by `testbenches/tests/rx_context/`.

use crate::prelude::*;

#[derive(LogicBlock)]
pub struct Stock {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub available: Signal<In, Bit>,
    pub offered: Signal<In, Bits<13>>,
    pub fill: Signal<Out, Bit>,
    pub take: Signal<In, Bit>,
    pub block: Signal<Out, Bits<13>>,
    pub enough: Signal<Out, Bit>,
    pub full: Signal<Out, Bit>,
    block0: Dff<Bits<13>>,
    block1: Dff<Bits<13>>,
    block2: Dff<Bits<13>>,
    block3: Dff<Bits<13>>,
    count: Dff<Bits<3>>,
}

impl Stock {
    /// An empty stock; it fills from the pool by itself.
    pub fn new() -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            available: Default::default(),
            offered: Default::default(),
            fill: Default::default(),
            take: Default::default(),
            block: Default::default(),
            enough: Default::default(),
            full: Default::default(),
            block0: Default::default(),
            block1: Default::default(),
            block2: Default::default(),
            block3: Default::default(),
            count: Default::default(),
        }
    }
}

impl Logic for Stock {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, block0, block1, block2, block3, count);
        self.block.next = self.block0.q.val();
        self.full.next = self.count.q.val() == 4;
        self.enough.next = self.count.q.val() >= 3;
        self.fill.next = self.available.val() & (self.count.q.val() != 4) & !self.take.val();
        if self.take.val() {
            self.block0.d.next = self.block1.q.val();
            self.block1.d.next = self.block2.q.val();
            self.block2.d.next = self.block3.q.val();
            self.count.d.next = self.count.q.val() - 1;
        }
        if self.fill.val() {
            self.count.d.next = self.count.q.val() + 1;
            if self.count.q.val() == 0 {
                self.block0.d.next = self.offered.val();
            }
            if self.count.q.val() == 1 {
                self.block1.d.next = self.offered.val();
            }
            if self.count.q.val() == 2 {
                self.block2.d.next = self.offered.val();
            }
            if self.count.q.val() == 3 {
                self.block3.d.next = self.offered.val();
            }
        }
        if self.rst.val() {
            self.count.d.next = 0.into();
        }
    }
}
