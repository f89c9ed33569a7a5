//! The queue, last part: the walk that runs, bit by bit into the output, and who is queued.

use super::{Intake, RetransmitQueue};
use crate::parts::Part;
use crate::prelude::*;

pub(super) struct Running;

impl Part<Running> for RetransmitQueue {
    #[hdl_gen]
    fn update(&mut self) {
        // The lowest sixteenth that holds a bit.
        self.sixteenth.next = 15.into();
        for i in 0..15 {
            if self.left_any.q.val().get_bit(14 - i) {
                self.sixteenth.next = (14 - i).to_bits();
            }
        }
        self.shift.next = bit_cast::<8, 4>(self.sixteenth.val()) << 4;
        self.shifted.next = self.left.q.val() >> self.shift.val();

        // The lowest bit of the sixteenth at work.
        self.bit_at.next = 15.into();
        for i in 0..15 {
            if self.part.q.val().get_bit(14 - i) {
                self.bit_at.next = (14 - i).to_bits();
            }
        }
        self.one_bit.next = self.one.val() << self.bit_at.val();
        self.rest.next = self.part.q.val() & !self.one_bit.val();
        self.issue.next = self.part.q.val().any() & !self.step_held.q.val();
        self.spent.next = !self.part.q.val().any() | (self.issue.val() & !self.rest.val().any());
        //= TX-8
        self.yields.next = !self.fresh.q.val() & (self.count.q.val() != 0);
        self.fetch.next =
            self.left_any.q.val().any() & self.spent.val() & !self.yields.val() & !self.loading.q.val();
        self.load.next = (!self.running.q.val()
            | (self.left_any.q.val().any() & self.spent.val() & self.yields.val()))
            & !self.loading.q.val()
            & !self.held_valid.q.val()
            & (self.count.q.val() != 0);
        self.loading.d.next = self.load.val();

        // What a merge or a load adds, and what a fetch takes.
        self.added.next = 0.into();
        self.added_any.next = 0.into();
        if self.merging.val() {
            self.added.next = self.held.q.val().bits;
            self.added_any.next = self.held_any.q.val();
        }
        if self.loading.q.val() {
            self.added.next = self.entries.read_data.val().bits;
            self.added_any.next = self.marks.read_data.val();
        }
        self.replaced.next = self.merging.val() & (self.generation.q.val() != self.held.q.val().generation);
        self.stays.next = self.all_parts.val();
        if self.fetch.val() {
            self.stays.next = !(self.one.val() << self.sixteenth.val());
        }
        if self.replaced.val() | self.loading.q.val() {
            self.stays.next = 0.into();
        }
        self.mask[0].next = 0.into();
        for i in 0..16 {
            self.row.next = 0.into();
            if self.stays.val().get_bit(i) {
                self.row.next = self.all_parts.val();
            }
            self.mask[i + 1].next = (self.mask[i].val() >> 16) | (bit_cast::<256, 16>(self.row.val()) << 240);
        }
        self.left.d.next = (self.left.q.val() & self.mask[16].val()) | self.added.val();
        self.left_any.d.next = (self.left_any.q.val() & self.stays.val()) | self.added_any.val();
        if self.issue.val() {
            self.part.d.next = self.rest.val();
        }
        if self.fetch.val() {
            self.part.d.next = self.shifted.val().get_bits::<16>(0);
            self.part_at.d.next = self.sixteenth.val();
            self.fresh.d.next = false;
        }
        if self.replaced.val() {
            self.generation.d.next = self.held.q.val().generation;
            self.part.d.next = 0.into();
        }

        // The output. A walk ends when its last bit gets there, unless more
        // bits are merged in this very clock.
        self.offset.next =
            (bit_cast::<8, 4>(self.part_at.q.val()) << 4) | bit_cast::<8, 4>(self.bit_at.val());
        self.last.next = self.issue.val()
            & !self.rest.val().any()
            & !self.left_any.q.val().any()
            & !self.added_any.val().any();
        if self.step_ready.val() {
            self.step_held.d.next = false;
        }
        if self.issue.val() {
            self.step_held.d.next = true;
            self.step.d.next.slot = self.slot.q.val();
            self.step.d.next.generation = self.generation.q.val();
            self.step.d.next.index = self.base.q.val() | bit_cast::<24, 8>(self.offset.val());
            self.step.d.next.done = self.last.val();
        }
        if self.last.val()
            | (!self.part.q.val().any() & !self.left_any.q.val().any() & !self.added_any.val().any())
        {
            self.running.d.next = false;
        }
        self.step_valid.next = self.step_held.q.val();
        self.step_data.next = self.step.q.val();

        // The oldest entry starts to run.
        if self.loading.q.val() {
            self.running.d.next = true;
            self.fresh.d.next = true;
            self.slot.d.next = self.entries.read_data.val().slot;
            self.generation.d.next = self.entries.read_data.val().generation;
            self.base.d.next = self.entries.read_data.val().base;
        }

        self.queued.d.next = (self.held_valid.q.val() & (self.held.q.val().slot == self.query_slot.val()))
            | (self.running.q.val() & (self.slot.q.val() == self.query_slot.val()))
            | (self.step_held.q.val() & (self.step.q.val().slot == self.query_slot.val()));
        for i in 0..32 {
            if self.used[i].q.val() & (self.key_slot[i].q.val() == self.query_slot.val()) {
                self.queued.d.next = true;
            }
        }
        self.query_queued.next = self.queued.q.val();

        if self.rst.val() {
            self.held_valid.d.next = false;
            self.intake.d.next = Intake::Compare;
            self.refused.d.next = false;
            self.head.d.next = 0.into();
            self.tail.d.next = 0.into();
            self.count.d.next = 0.into();
            self.loading.d.next = false;
            self.running.d.next = false;
            self.left.d.next = 0.into();
            self.left_any.d.next = 0.into();
            self.part.d.next = 0.into();
            self.step_held.d.next = false;
        }
    }
}
