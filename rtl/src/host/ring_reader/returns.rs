//! The reader, last part: beats and statuses that come back, and the record they belong to.

use super::{RingReader, Visit};
use crate::parts::Part;
use crate::prelude::*;

pub(super) struct Returns;

impl Part<Returns> for RingReader {
    #[hdl_gen]
    fn update(&mut self) {
        // What comes back.
        self.beats.in_valid.next = self.read_beat_valid.val();
        self.beats.in_data.next = self.read_beat_data.val().tdata;
        self.read_beat_ready.next = self.beats.in_ready.val();
        self.beat_valid.next = self.beats.out_valid.val();
        self.beat_data.next = self.beats.out_data.val();
        self.beats.out_ready.next = self.beat_ready.val();
        self.beat_taken.next = self.beats.out_valid.val() & self.beat_ready.val();
        if self.issue.val() {
            if self.beat_taken.val() {
                self.credit.d.next = self.credit.q.val() - self.cost.val() + 1;
            } else {
                self.credit.d.next = self.credit.q.val() - self.cost.val();
            }
        } else {
            if self.beat_taken.val() {
                self.credit.d.next = self.credit.q.val() + 1;
            }
        }

        self.errors.in_valid.next = self.read_status_valid.val();
        self.errors.in_data.next = self.read_status_data.val().error;
        self.record_there.next =
            self.records.out_valid.val() & self.errors.out_valid.val() & self.settled.q.val();
        self.record_taken.next = self.record_there.val() & self.record_ready.val();
        self.settled.d.next = self.records.out_valid.val() & !self.record_taken.val();
        self.record_valid.next = self.record_there.val();
        self.record_stands.next = self.settled.q.val() & !self.record_taken.val();
        self.record_data.next = self.records.out_data.val();
        self.failed.next = self.errors.out_data.val();
        self.records.out_ready.next = self.record_taken.val();
        self.errors.out_ready.next = self.record_taken.val();
        self.stamps.read_address.next = self.records.out_data.val().endpoint;
        self.stale.next = self.stamps.read_data.val() != self.records.out_data.val().stamp;

        if self.rst.val() {
            self.state.d.next = Visit::Idle;
            self.desc_valid.d.next = false;
            self.credit.d.next = self.all_credit.val();
            self.writes.d.next = 0.into();
            self.settled.d.next = false;
        }
    }
}
