//! The queue, last part: what is written into the entries, their keys, who waits, and which are free.

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

        self.order.read_address.next = self.head.q.val();
        self.entries.read_address.next = self.order.read_data.val();
        if self.intake.q.val() == Intake::Place {
            self.entries.read_address.next = self.found_at.q.val();
        }
        self.marks.read_address.next = self.entries.read_address.val();
        self.entries.write_enable.next = self.intake.q.val() == Intake::Mark;
        self.entries.write_address.next = self.place.q.val();
        self.entries.write_data.next.slot = self.walk_data.val().slot;
        self.entries.write_data.next.generation = self.walk_data.val().generation;
        self.entries.write_data.next.block = self.walk_data.val().base.get_bits::<16>(8);
        self.marks.write_enable.next = (self.intake.q.val() == Intake::Mark) | self.returns.val();
        self.marks.write_address.next = self.place.q.val();
        self.marks.write_data.next = self.merged.val();
        if self.returns.val() {
            self.marks.write_address.next = self.run_at.q.val();
            self.marks.write_data.next = self.left.q.val();
        }

        // A row, and a clock later what is added.
        self.rows.read_address.next =
            (bit_cast::<9, 5>(self.run_at.q.val()) << 4) | bit_cast::<9, 4>(self.sixteenth.val());
        if self.intake.q.val() == Intake::Rows {
            self.rows.read_address.next =
                (bit_cast::<9, 5>(self.place.q.val()) << 4) | bit_cast::<9, 4>(self.next_row.val());
        }
        self.rows.write_enable.next = self.row_valid.q.val();
        self.rows.write_address.next =
            (bit_cast::<9, 5>(self.place.q.val()) << 4) | bit_cast::<9, 4>(self.row.q.val());
        self.rows.write_data.next = self.walk_bits.val();
        if self.row_old.q.val() {
            self.rows.write_data.next = self.walk_bits.val() | self.rows.read_data.val();
        }

        self.order.write_enable.next = self.put.val() | self.returns.val();
        self.order.write_address.next = self.tail.q.val();
        self.order.write_data.next = self.place.q.val();
        if self.returns.val() {
            self.order.write_data.next = self.run_at.q.val();
        }
        self.free_any.next = false;
        self.free_first.next = 0.into();
        for i in 0..32 {
            if !self.used[31 - i].q.val() & self.exists[31 - i].val() {
                self.free_any.next = true;
                self.free_first.next = (31 - i).to_bits();
            }
            if self.loading.q.val() & (self.next_at.q.val() == i.to_bits()) {
                self.waits[i].d.next = false;
            }
            if self.returns.val() & (self.run_at.q.val() == i.to_bits()) {
                self.waits[i].d.next = true;
            }
            if self.ends.val() & (self.run_at.q.val() == i.to_bits()) {
                self.used[i].d.next = false;
            }
            if self.put.val() & (self.place.q.val() == i.to_bits()) {
                self.key_slot[i].d.next = self.walk_data.val().slot;
                self.key_block[i].d.next = self.walk_data.val().base.get_bits::<16>(8);
                self.used[i].d.next = true;
                self.waits[i].d.next = true;
            }
            if self.rst.val() {
                self.used[i].d.next = false;
                self.waits[i].d.next = false;
            }
        }
        self.free.d.next = self.free_any.val();
        self.free_at.d.next = self.free_first.val();
        self.full.next = !self.free.q.val();
        if self.put.val() | self.returns.val() {
            self.tail.d.next = (self.tail.q.val() + 1) & self.last_place.val();
            self.count.d.next = self.count.q.val() + 1;
        }
        self.next_at.d.next = self.order.read_data.val() & self.last_place.val();
        if self.load.val() {
            self.head.d.next = (self.head.q.val() + 1) & self.last_place.val();
            self.count.d.next = self.count.q.val() - 1;
        }
        if self.rst.val() {
            self.free.d.next = false;
            self.head.d.next = 0.into();
            self.tail.d.next = 0.into();
            self.count.d.next = 0.into();
        }
    }
}
