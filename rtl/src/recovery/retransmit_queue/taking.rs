//! The queue, first part: a walk is taken and compared with every key, and its place is found.

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
            held,
            held_valid,
            held_any,
            intake,
            found,
            found_at,
            found_running,
            refused,
            head,
            tail,
            count,
            loading,
            running,
            fresh,
            slot,
            generation,
            base,
            left,
            left_any,
            part,
            part_at,
            step,
            step_held,
            queued
        );
        self.entries.clock.next = self.clk.val();
        self.marks.clock.next = self.clk.val();
        for i in 0..8 {
            self.own[i].clock.next = self.clk.val();
        }
        for i in 0..32 {
            self.key_slot[i].clock.next = self.clk.val();
            self.key_block[i].clock.next = self.clk.val();
            self.used[i].clock.next = self.clk.val();
            self.key_slot[i].d.next = self.key_slot[i].q.val();
            self.key_block[i].d.next = self.key_block[i].q.val();
            self.used[i].d.next = self.used[i].q.val();
        }

        // Take a walk and look for its key. Not while an entry is being loaded:
        // the comparison would find it in the place it is leaving.
        self.walk_ready.next = !self.held_valid.q.val();
        self.taken.next = self.walk_data.val().bits;
        self.taken_any[0].next = 0.into();
        for i in 0..16 {
            self.taken_any[i + 1].next = self.taken_any[i].val() >> 1;
            if self.taken.val().get_bits::<16>(16 * i).any() {
                self.taken_any[i + 1].next = (self.taken_any[i].val() >> 1) | 0x8000;
            }
        }
        if self.walk_valid.val() & !self.held_valid.q.val() {
            self.held.d.next = self.walk_data.val();
            self.held_any.d.next = self.taken_any[16].val();
            self.held_valid.d.next = true;
        }
        self.match_any.next = false;
        self.match_at.next = 0.into();
        for i in 0..32 {
            if self.used[i].q.val()
                & (self.key_slot[i].q.val() == self.held.q.val().slot)
                & (self.key_block[i].q.val() == self.held.q.val().base.get_bits::<16>(8))
            {
                self.match_any.next = true;
                self.match_at.next = i.to_bits();
            }
        }
        for i in 0..32 {
            self.same[i].next = self.used[i].q.val() & (self.key_slot[i].q.val() == self.held.q.val().slot);
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
        self.put.next = false;
        self.merging.next = false;
        self.refused.d.next = false;
        self.entries.read_address.next = self.head.q.val();
        match self.intake.q.val() {
            Intake::Compare => {
                self.found.d.next = self.match_any.val();
                self.found_at.d.next = self.match_at.val();
                self.found_running.d.next = self.running.q.val()
                    & (self.slot.q.val() == self.held.q.val().slot)
                    & (self.base.q.val() == self.held.q.val().base);
                if self.held_valid.q.val() & !self.loading.q.val() {
                    self.intake.d.next = Intake::Place;
                }
            }
            Intake::Place => {
                self.entries.read_address.next = self.found_at.q.val();
                if self.found.q.val() {
                    self.intake.d.next = Intake::Merge;
                } else {
                    self.intake.d.next = Intake::Compare;
                    self.held_valid.d.next = false;
                    // The walk it was to merge into may have ended just now.
                    if self.found_running.q.val() & self.running.q.val() {
                        self.merging.next = true;
                    } else {
                        //= TX-7
                        if (self.count.q.val() == self.depth.val()) | (self.owned.val() >= self.quarter.val())
                        {
                            self.refused.d.next = true;
                        } else {
                            self.put.next = true;
                        }
                    }
                }
            }
            Intake::Merge => {
                self.intake.d.next = Intake::Compare;
                self.held_valid.d.next = false;
            }
        }
        self.walk_refused.next = self.refused.q.val();
        self.full.next = self.count.q.val() == self.depth.val();
    }
}
