//! The queue, first part: a walk is compared with every key, its entry is found, and its sixteenths go there.

use super::{Intake, RetransmitQueue};
use crate::parts::Part;
use crate::prelude::*;

pub(super) struct Taking;

impl Part<Taking> for RetransmitQueue {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self,
            clk,
            intake,
            found,
            found_at,
            place,
            into_running,
            todo,
            old,
            row,
            row_valid,
            row_old,
            refused,
            free,
            free_at,
            head,
            tail,
            count,
            loading,
            next_at,
            running,
            fresh,
            run_at,
            slot,
            generation,
            block,
            left,
            part,
            part_at,
            fetching,
            step,
            step_held,
            queued
        );
        self.entries.clock.next = self.clk.val();
        self.marks.clock.next = self.clk.val();
        self.rows.clock.next = self.clk.val();
        self.order.clock.next = self.clk.val();
        for i in 0..8 {
            self.own[i].clock.next = self.clk.val();
        }
        for i in 0..32 {
            self.key_slot[i].clock.next = self.clk.val();
            self.key_block[i].clock.next = self.clk.val();
            self.used[i].clock.next = self.clk.val();
            self.waits[i].clock.next = self.clk.val();
            self.key_slot[i].d.next = self.key_slot[i].q.val();
            self.key_block[i].d.next = self.key_block[i].q.val();
            self.used[i].d.next = self.used[i].q.val();
            self.waits[i].d.next = self.waits[i].q.val();
        }

        self.match_any.next = false;
        self.match_at.next = 0.into();
        for i in 0..32 {
            if self.used[i].q.val()
                & (self.key_slot[i].q.val() == self.walk_data.val().slot)
                & (self.key_block[i].q.val() == self.walk_data.val().base.get_bits::<16>(8))
            {
                self.match_any.next = true;
                self.match_at.next = i.to_bits();
            }
        }
        for i in 0..32 {
            self.same[i].next =
                self.waits[i].q.val() & (self.key_slot[i].q.val() == self.walk_data.val().slot);
        }
        for i in 0..16 {
            self.one_of[i].next = self.same[2 * i].val() ^ self.same[2 * i + 1].val();
            self.two_of[i].next = self.same[2 * i].val() & self.same[2 * i + 1].val();
        }
        for i in 0..8 {
            self.own_sum[i].next = 0.into();
            if self.one_of[2 * i].val() ^ self.one_of[2 * i + 1].val() {
                self.own_sum[i].next = self.own_sum[i].val() | 1;
            }
            if (self.one_of[2 * i].val() & self.one_of[2 * i + 1].val())
                ^ self.two_of[2 * i].val()
                ^ self.two_of[2 * i + 1].val()
            {
                self.own_sum[i].next = self.own_sum[i].val() | 2;
            }
            if self.two_of[2 * i].val() & self.two_of[2 * i + 1].val() {
                self.own_sum[i].next = self.own_sum[i].val() | 4;
            }
            self.own[i].d.next = self.own_sum[i].val();
        }
        self.owned.next = 0.into();
        for i in 0..8 {
            self.owned.next = self.owned.val() + self.own[i].q.val();
        }
        //= TX-7
        self.refuses.next =
            !self.found.q.val() & (!self.free.q.val() | (self.owned.val() >= self.quarter.val()));

        // What its entry holds: nothing, if that is of another message.
        self.keeps.next =
            self.found.q.val() & (self.entries.read_data.val().generation == self.walk_data.val().generation);
        self.kept.next = 0.into();
        if self.keeps.val() {
            self.kept.next = self.marks.read_data.val();
            if self.into_running.q.val() {
                self.kept.next = self.left.q.val();
            }
        }
        self.merged.next = self.kept.val() | self.walk_data.val().marks;

        // The lowest sixteenth that is to be merged.
        self.next_row.next = 15.into();
        for i in 0..15 {
            if self.todo.q.val().get_bit(14 - i) {
                self.next_row.next = (14 - i).to_bits();
            }
        }
        self.walk_row.next = self.next_row.val();
        self.row.d.next = self.next_row.val();
        self.row_old.d.next = (self.old.q.val() & (self.one.val() << self.next_row.val())).any();
        self.row_valid.d.next = false;

        self.put.next = false;
        self.locked.next = false;
        self.refused.d.next = false;
        self.walk_ready.next = false;
        match self.intake.q.val() {
            Intake::Idle => {
                if self.walk_valid.val() {
                    self.intake.d.next = Intake::Compare;
                }
            }
            Intake::Compare => {
                self.locked.next = true;
                self.found.d.next = self.match_any.val();
                self.found_at.d.next = self.match_at.val();
                self.intake.d.next = Intake::Place;
            }
            Intake::Place => {
                self.locked.next = true;
                // Cut to the bits that a place has, so that nobody builds the others.
                self.place.d.next = self.free_at.q.val();
                if self.found.q.val() {
                    self.place.d.next = self.found_at.q.val() & self.last_place.val();
                }
                self.into_running.d.next = self.found.q.val()
                    & self.running.q.val()
                    & (self.found_at.q.val() == self.run_at.q.val());
                self.intake.d.next = Intake::Mark;
                if self.refuses.val() {
                    self.refused.d.next = true;
                    self.walk_ready.next = true;
                    self.intake.d.next = Intake::Idle;
                }
            }
            Intake::Mark => {
                self.locked.next = true;
                self.put.next = !self.found.q.val();
                self.todo.d.next = self.walk_data.val().marks;
                self.old.d.next = self.kept.val();
                self.intake.d.next = Intake::Rows;
            }
            Intake::Rows => {
                self.row_valid.d.next = self.todo.q.val().any();
                self.todo.d.next = self.todo.q.val() & !(self.one.val() << self.next_row.val());
                if !self.todo.q.val().any() {
                    self.walk_ready.next = true;
                    self.intake.d.next = Intake::Idle;
                }
            }
        }
        self.walk_refused.next = self.refused.q.val();
    }
}
