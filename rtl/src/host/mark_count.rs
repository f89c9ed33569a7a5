//! Tells when all that was on its way at a mark has left.
//!
//! ```text
//!  enter ──> count ──mark──> awaited ──> left
//!  leave ──> count, awaited
//! ```
//!
//! Things leave in the order they came, or are overtaken by a few that came later:
//! so many more than were there have to leave. What comes after the mark is not
//! waited for, however steadily it comes; and when nothing is there, nothing is left.
//!
//! Contract: a thing leaves later than it enters. `left` follows `mark` by a clock.
//!
//! Verified by `testbenches/tests/reclaim_marks.rs`.

use crate::prelude::*;

#[derive(LogicBlock)]
pub struct MarkCount {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    /// One bit per thing that comes.
    pub enter: Signal<In, Bits<3>>,
    pub leave: Signal<In, Bit>,
    pub mark: Signal<In, Bit>,
    pub left: Signal<Out, Bit>,
    count: Dff<Bits<16>>,
    awaited: Dff<Bits<16>>,
    /// How many more there are after this clock, two's complement.
    change: Signal<Local, Bits<4>>,
    counts: [Signal<Local, Bits<4>>; 3],
    wide: Signal<Local, Bits<16>>,
    none: Signal<Local, Bit>,
    overtakers: Constant<Bits<16>>,
}

impl MarkCount {
    /// One may be overtaken by so many.
    pub fn new(overtakers: u64) -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            enter: Default::default(),
            leave: Default::default(),
            mark: Default::default(),
            left: Default::default(),
            count: Default::default(),
            awaited: Default::default(),
            change: Default::default(),
            counts: Default::default(),
            wide: Default::default(),
            none: Default::default(),
            overtakers: Constant::new(overtakers.into()),
        }
    }
}

impl Logic for MarkCount {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, count, awaited);
        self.counts[0].next = bit_cast::<4, 1>(self.enter.val().get_bits::<1>(0));
        self.counts[1].next = bit_cast::<4, 1>(self.enter.val().get_bits::<1>(1));
        self.counts[2].next = bit_cast::<4, 1>(self.enter.val().get_bits::<1>(2));
        self.change.next = self.counts[0].val() + self.counts[1].val() + self.counts[2].val();
        if self.leave.val() {
            self.change.next = self.counts[0].val() + self.counts[1].val() + self.counts[2].val() + 15;
        }
        self.wide.next = bit_cast::<16, 4>(self.change.val());
        if self.change.val().get_bit(3) {
            self.wide.next = bit_cast::<16, 4>(self.change.val()) | 0xFFF0;
        }
        self.count.d.next = self.count.q.val() + self.wide.val();
        // Beside the sum, which comes late.
        self.none.next = ((self.count.q.val() == 0) & (self.change.val() == 0))
            | ((self.count.q.val() == 1) & (self.change.val() == 15));
        if self.leave.val() & self.awaited.q.val().any() {
            self.awaited.d.next = self.awaited.q.val() - 1;
        }
        if self.mark.val() {
            self.awaited.d.next = self.count.q.val() + self.overtakers.val() + self.wide.val();
        }
        if self.none.val() {
            self.awaited.d.next = 0.into();
        }
        self.left.next = self.awaited.q.val().any();

        if self.rst.val() {
            self.count.d.next = 0.into();
            self.awaited.d.next = 0.into();
        }
    }
}
