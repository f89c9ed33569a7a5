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
    sums: [Signal<Local, Bits<16>>; 4],
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
            sums: Default::default(),
            overtakers: Constant::new(overtakers.into()),
        }
    }
}

impl Logic for MarkCount {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, count, awaited);
        self.sums[0].next = self.count.q.val();
        if self.leave.val() {
            self.sums[0].next = self.count.q.val() - 1;
        }
        for i in 0..3 {
            self.sums[i + 1].next = self.sums[i].val();
            if self.enter.val().get_bit(i) {
                self.sums[i + 1].next = self.sums[i].val() + 1;
            }
        }
        self.count.d.next = self.sums[3].val();
        if self.leave.val() & self.awaited.q.val().any() {
            self.awaited.d.next = self.awaited.q.val() - 1;
        }
        if self.mark.val() {
            self.awaited.d.next = self.sums[3].val() + self.overtakers.val();
        }
        if self.sums[3].val() == 0 {
            self.awaited.d.next = 0.into();
        }
        self.left.next = self.awaited.q.val().any();

        if self.rst.val() {
            self.count.d.next = 0.into();
            self.awaited.d.next = 0.into();
        }
    }
}
