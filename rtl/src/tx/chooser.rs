//! Lets one job a clock into the pipeline.
//!
//! ```text
//!  wants, slots ──> not for a slot in the pipeline ──> first in order ──> chosen, slot
//!                                     the last two alternate ──┘
//! ```
//!
//! Sources 0 to 5 go in this order, then 6 and 7 take turns while both wait
//! and neither waits for the other. A source whose slot is in the pipeline lets
//! the ones behind it pass. While it `yields`, source 0 goes behind all others: a
//! slot that it names again and again is in the pipeline in every clock but one,
//! which is then the others'.
//!
//! Sources 6 and 7 need room for a packet. Room that comes in the turn of one of
//! them while FEEDBACK has its slot in the pipeline stays until it is not.
//!
//! Contract: combinational but for the memory of who of the last two went.
//!
//! Verified by `testbenches/tests/chooser.rs`, and as part of `testbenches/tests/tx_slots`, rule TX-8.

use crate::prelude::*;

#[derive(LogicBlock)]
pub struct Chooser {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    /// Nothing is chosen while low.
    pub open: Signal<In, Bit>,
    pub wants: [Signal<In, Bit>; 8],
    pub slots: [Signal<In, Bits<12>>; 8],
    /// Source 0 goes only while none of the others may.
    pub yields: Signal<In, Bit>,
    /// Sources 6 and 7 have something for that room.
    pub waits: [Signal<In, Bit>; 2],
    /// Stages of the pipeline that hold a job, and its slot.
    pub busy: [Signal<In, Bit>; 4],
    pub busy_slots: [Signal<In, Bits<12>>; 4],
    /// Those that are FEEDBACK.
    pub busy_feedback: [Signal<In, Bit>; 4],
    /// At most one is high.
    pub chosen: [Signal<Out, Bit>; 8],
    pub any: Signal<Out, Bit>,
    pub slot: Signal<Out, Bits<12>>,
    may: [Signal<Local, Bit>; 8],
    /// This source or one before it may go.
    taken: [Signal<Local, Bit>; 6],
    others: Signal<Local, Bit>,
    /// Sources 6 and 7: named by FEEDBACK at work; may go, and nothing is kept from them.
    named: [Signal<Local, Bit>; 2],
    may_new: Signal<Local, Bit>,
    may_again: Signal<Local, Bit>,
    /// The slots of sources 0 and 1, 2 and 3, 4 and 5, 2 to 5, and of a packet or the source that yields.
    first: Signal<Local, Bits<12>>,
    early: Signal<Local, Bits<12>>,
    late: Signal<Local, Bits<12>>,
    middle: Signal<Local, Bits<12>>,
    packet: Signal<Local, Bits<12>>,
    last_next: Dff<Bit>,
}

impl Chooser {
    pub fn new() -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            open: Default::default(),
            wants: Default::default(),
            slots: Default::default(),
            yields: Default::default(),
            waits: Default::default(),
            busy: Default::default(),
            busy_slots: Default::default(),
            busy_feedback: Default::default(),
            chosen: Default::default(),
            any: Default::default(),
            slot: Default::default(),
            may: Default::default(),
            taken: Default::default(),
            others: Default::default(),
            named: Default::default(),
            may_new: Default::default(),
            may_again: Default::default(),
            first: Default::default(),
            early: Default::default(),
            late: Default::default(),
            middle: Default::default(),
            packet: Default::default(),
            last_next: Default::default(),
        }
    }
}

impl Logic for Chooser {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, last_next);
        for i in 0..8 {
            self.may[i].next = self.open.val()
                & self.wants[i].val()
                & !((self.busy[0].val() & (self.busy_slots[0].val() == self.slots[i].val()))
                    | (self.busy[1].val() & (self.busy_slots[1].val() == self.slots[i].val()))
                    | (self.busy[2].val() & (self.busy_slots[2].val() == self.slots[i].val()))
                    | (self.busy[3].val() & (self.busy_slots[3].val() == self.slots[i].val())));
        }
        self.taken[0].next = self.may[0].val() & !self.yields.val();
        for i in 1..6 {
            self.taken[i].next = self.may[i].val() | self.taken[i - 1].val();
            self.chosen[i].next = self.may[i].val() & !self.taken[i - 1].val();
        }
        for i in 0..2 {
            self.named[i].next = self.waits[i].val()
                & ((self.busy_feedback[0].val() & (self.busy_slots[0].val() == self.slots[i + 6].val()))
                    | (self.busy_feedback[1].val() & (self.busy_slots[1].val() == self.slots[i + 6].val()))
                    | (self.busy_feedback[2].val() & (self.busy_slots[2].val() == self.slots[i + 6].val()))
                    | (self.busy_feedback[3].val() & (self.busy_slots[3].val() == self.slots[i + 6].val())));
        }
        self.may_new.next = self.may[6].val() & !(self.named[1].val() & self.last_next.q.val());
        self.may_again.next = self.may[7].val() & !(self.named[0].val() & !self.last_next.q.val());
        self.chosen[6].next =
            self.may_new.val() & !(self.may_again.val() & self.last_next.q.val()) & !self.taken[5].val();
        self.chosen[7].next =
            self.may_again.val() & !(self.may_new.val() & !self.last_next.q.val()) & !self.taken[5].val();
        self.others.next = self.taken[5].val() | self.may_new.val() | self.may_again.val();
        self.chosen[0].next = self.may[0].val() & (!self.yields.val() | !self.others.val());
        self.any.next = self.others.val() | self.may[0].val();
        // Two by two, beside who is chosen: behind it, it would be late at the memories. Without
        // anybody chosen it is that of source 0 or 6, and means nothing.
        self.first.next = self.slots[1].val();
        if self.may[0].val() & !self.yields.val() {
            self.first.next = self.slots[0].val();
        }
        self.early.next = self.slots[3].val();
        if self.may[2].val() {
            self.early.next = self.slots[2].val();
        }
        self.late.next = self.slots[5].val();
        if self.may[4].val() {
            self.late.next = self.slots[4].val();
        }
        self.packet.next = self.slots[6].val();
        if self.may_again.val() & !(self.may_new.val() & !self.last_next.q.val()) {
            self.packet.next = self.slots[7].val();
        } else if self.yields.val() & !self.may_new.val() {
            self.packet.next = self.slots[0].val();
        }
        self.middle.next = self.late.val();
        if self.may[2].val() | self.may[3].val() {
            self.middle.next = self.early.val();
        }
        self.slot.next = self.packet.val();
        if self.may[2].val() | self.may[3].val() | self.may[4].val() | self.may[5].val() {
            self.slot.next = self.middle.val();
        }
        if self.taken[0].val() | self.may[1].val() {
            self.slot.next = self.first.val();
        }
        if self.chosen[6].val() {
            self.last_next.d.next = true;
        }
        if self.chosen[7].val() {
            self.last_next.d.next = false;
        }
        if self.rst.val() {
            self.last_next.d.next = false;
        }
    }
}
