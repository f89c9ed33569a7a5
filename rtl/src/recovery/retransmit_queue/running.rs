//! The queue, second part: the walk that runs, bit by bit into the output, and who is queued.

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
            if self.left.q.val().get_bit(14 - i) {
                self.sixteenth.next = (14 - i).to_bits();
            }
        }

        // The lowest bit of the sixteenth at work. The walk ends with its last bit, unless more may be
        // on their way to it.
        self.bit_at.next = 15.into();
        for i in 0..15 {
            if self.part.q.val().get_bit(14 - i) {
                self.bit_at.next = (14 - i).to_bits();
            }
        }
        self.one_bit.next = self.one.val() << self.bit_at.val();
        self.rest.next = self.part.q.val() & !self.one_bit.val();
        self.only.next = !self.rest.val().any() & !self.left.q.val().any();
        self.issue.next =
            self.part.q.val().any() & !self.step_held.q.val() & !(self.locked.val() & self.only.val());
        self.last.next = self.issue.val() & self.only.val();
        self.spent.next =
            (!self.part.q.val().any() & !self.fetching.q.val()) | (self.issue.val() & !self.rest.val().any());
        self.ends.next = self.last.val()
            | (self.running.q.val()
                & !self.part.q.val().any()
                & !self.left.q.val().any()
                & !self.fetching.q.val()
                & !self.locked.val());
        //= TX-8
        self.yields.next = !self.fresh.q.val() & (self.count.q.val() != 0);
        self.fetch.next = self.left.q.val().any()
            & self.spent.val()
            & !self.yields.val()
            & !self.loading.q.val()
            & (self.intake.q.val() != Intake::Mark)
            & (self.intake.q.val() != Intake::Rows);
        self.load.next = (!self.running.q.val()
            | self.ends.val()
            | (self.left.q.val().any() & self.spent.val() & self.yields.val()))
            & !self.loading.q.val()
            & !self.locked.val()
            & (self.count.q.val() != 0);
        self.loading.d.next = self.load.val();
        self.fetching.d.next = self.fetch.val();

        if self.issue.val() {
            self.part.d.next = self.rest.val();
        }
        if self.fetch.val() {
            self.left.d.next = self.left.q.val() & !(self.one.val() << self.sixteenth.val());
            self.part_at.d.next = self.sixteenth.val();
            self.fresh.d.next = false;
        }
        if self.fetching.q.val() {
            self.part.d.next = self.rows.read_data.val();
        }
        if (self.intake.q.val() == Intake::Mark) & self.into_running.q.val() {
            self.left.d.next = self.merged.val();
            self.generation.d.next = self.walk_data.val().generation;
            if !self.keeps.val() {
                self.part.d.next = 0.into();
            }
        }

        // The output.
        if self.step_ready.val() {
            self.step_held.d.next = false;
        }
        if self.issue.val() {
            self.step_held.d.next = true;
            self.step.d.next.slot = self.slot.q.val();
            self.step.d.next.generation = self.generation.q.val();
            self.step.d.next.index = (bit_cast::<24, 16>(self.block.q.val()) << 8)
                | (bit_cast::<24, 4>(self.part_at.q.val()) << 4)
                | bit_cast::<24, 4>(self.bit_at.val());
            self.step.d.next.done = self.last.val();
        }
        if self.ends.val() {
            self.running.d.next = false;
        }
        self.step_valid.next = self.step_held.q.val();
        self.step_data.next = self.step.q.val();

        // The oldest entry starts to run.
        if self.loading.q.val() {
            self.running.d.next = true;
            self.fresh.d.next = true;
            self.run_at.d.next = self.next_at.q.val();
            self.slot.d.next = self.entries.read_data.val().slot;
            self.generation.d.next = self.entries.read_data.val().generation;
            self.block.d.next = self.entries.read_data.val().block;
            self.left.d.next = self.marks.read_data.val();
        }

        self.queued.d.next = self.step_held.q.val() & (self.step.q.val().slot == self.query_slot.val());
        for i in 0..32 {
            if self.used[i].q.val() & (self.key_slot[i].q.val() == self.query_slot.val()) {
                self.queued.d.next = true;
            }
        }
        self.query_queued.next = self.queued.q.val();

        if self.rst.val() {
            self.intake.d.next = Intake::Idle;
            self.row_valid.d.next = false;
            self.refused.d.next = false;
            self.loading.d.next = false;
            self.running.d.next = false;
            self.left.d.next = 0.into();
            self.part.d.next = 0.into();
            self.fetching.d.next = false;
            self.step_held.d.next = false;
        }
    }
}
