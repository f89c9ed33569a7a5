//! The queue, second part: what is written into the entries, their keys, and how many there are.

use super::{Intake, RetransmitQueue};
use crate::parts::Part;
use crate::prelude::*;

pub(super) struct Entries;

impl Part<Entries> for RetransmitQueue {
    #[hdl_gen]
    fn update(&mut self) {
        // A walk that runs while another is loaded has had its turn. Nothing is placed
        // or merged meanwhile.
        self.returns.next = self.loading.q.val() & self.running.q.val();
        self.entries.write_enable.next =
            self.put.val() | self.returns.val() | (self.intake.q.val() == Intake::Merge);
        self.entries.write_address.next = self.tail.q.val();
        self.entries.write_data.next = self.held.q.val();
        self.marks.write_data.next = self.held_any.q.val();
        if self.returns.val() {
            self.entries.write_data.next.slot = self.slot.q.val();
            self.entries.write_data.next.generation = self.generation.q.val();
            self.entries.write_data.next.base = self.base.q.val();
            self.entries.write_data.next.bits = self.left.q.val();
            self.marks.write_data.next = self.left_any.q.val();
        }
        if self.intake.q.val() == Intake::Merge {
            self.entries.write_address.next = self.found_at.q.val();
            if self.entries.read_data.val().generation == self.held.q.val().generation {
                self.entries.write_data.next.bits =
                    self.entries.read_data.val().bits | self.held.q.val().bits;
                self.marks.write_data.next = self.marks.read_data.val() | self.held_any.q.val();
            }
        }
        self.marks.read_address.next = self.entries.read_address.val();
        self.marks.write_enable.next = self.entries.write_enable.val();
        self.marks.write_address.next = self.entries.write_address.val();
        for i in 0..32 {
            if self.loading.q.val() & (self.head.q.val() == i.to_bits()) {
                self.used[i].d.next = false;
            }
            // Of a full queue the tail is the place that becomes free.
            if (self.put.val() | self.returns.val()) & (self.tail.q.val() == i.to_bits()) {
                self.key_slot[i].d.next = self.entries.write_data.val().slot;
                self.key_block[i].d.next = self.entries.write_data.val().base.get_bits::<16>(8);
                self.used[i].d.next = true;
            }
            if self.rst.val() {
                self.used[i].d.next = false;
            }
        }
        if self.put.val() | self.returns.val() {
            self.tail.d.next = (self.tail.q.val() + 1) & self.last_place.val();
        }
        if self.loading.q.val() {
            self.head.d.next = (self.head.q.val() + 1) & self.last_place.val();
        }
        if self.put.val() & !self.loading.q.val() {
            self.count.d.next = self.count.q.val() + 1;
        }
        if !self.put.val() & self.loading.q.val() & !self.running.q.val() {
            self.count.d.next = self.count.q.val() - 1;
        }
    }
}
