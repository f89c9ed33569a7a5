//! Send entries, first part: what is joined to what, and the entries that an endpoint has in the NIC.

use super::SqFetch;
use crate::parts::Part;
use crate::prelude::*;

pub(super) struct Wires;

impl Part<Wires> for SqFetch {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self,
            clk,
            state,
            first,
            first_valid,
            second,
            endpoint,
            entry,
            failed,
            step,
            malformed,
            is_write
        );
        dff_setup!(self, clk, count, out, out_status, out_good, out_valid, is_datagram);
        dff_setup!(self, clk, is_limited, share);
        dff_setup!(self, clk, over, over_at, refusal, refusal_at, dropped, dropped_at, counting);
        dff_setup!(self, clk, counted_at, has_read, stale, known, renewed);
        self.reads.clk.next = self.clk.val();
        self.reads.rst.next = self.rst.val();
        self.ends_visit.clk.next = self.clk.val();
        self.ends_visit.rst.next = self.rst.val();
        self.ends_count.clk.next = self.clk.val();
        self.ends_count.rst.next = self.rst.val();
        self.quotas.clk.next = self.clk.val();
        self.quotas.rst.next = self.rst.val();
        self.reader.clk.next = self.clk.val();
        self.reader.rst.next = self.rst.val();
        self.keys.clk.next = self.clk.val();
        self.keys.rst.next = self.rst.val();
        self.ready.next = self.reader.ready.val()
            & self.keys.ready.val()
            & self.reads.ready.val()
            & self.ends_visit.ready.val()
            & self.ends_count.ready.val()
            & self.quotas.ready.val();

        self.reader.enable.next = self.settings.val().enable;
        self.reader.doorbell.next = self.doorbell.val();
        self.reader.table_write.next = self.table_write.val();
        self.keys.table_write.next = self.table_write.val();
        self.endpoint_write.next =
            self.table_write.val().valid & (self.table_write.val().table == self.endpoint_table.val());
        self.quota.next = self.table_write.val().entry.get_bits::<16>(self.at_quota.val().index());
        self.quotas.write_enable.next = self.endpoint_write.val();
        self.quotas.write_address.next = self.table_write.val().index;
        self.quotas.write_data.next = self.quota.val();
        self.limited.clock.next = self.clk.val();
        self.limited.write_enable.next = self.endpoint_write.val();
        self.limited.write_address.next = self.table_write.val().index;
        self.limited.write_data.next = self.quota.val().any();
        self.limited.read_address.next = self.reader.record_data.val().endpoint & self.reach.val();
        self.ends_limited.clock.next = self.clk.val();
        self.ends_limited.write_enable.next = self.endpoint_write.val();
        self.ends_limited.write_address.next = self.table_write.val().index;
        self.ends_limited.write_data.next = self.quota.val().any();
        self.ends_limited.read_address.next = self.counted_at.q.val() & self.reach.val();
        self.datagrams.clock.next = self.clk.val();
        self.datagrams.write_enable.next = self.endpoint_write.val();
        self.datagrams.write_address.next = self.table_write.val().index;
        self.datagrams.write_data.next = self.table_write.val().entry.get_bit(2);
        self.datagrams.read_address.next = self.reader.record_data.val().endpoint & self.reach.val();
        // Send entries free their room in the beat FIFO, and in the quota.
        self.reader.look_index.next = 0.into();
        self.reader.freed.next = 0.into();
        self.reads.read_address.next = self.reader.visit_index.val();
        self.ends_visit.read_address.next = self.reader.visit_index.val();
        self.quotas.read_address.next = self.reader.visit_index.val();
        self.reader.held_now.next = self.reads.read_data.val() - self.ends_visit.read_data.val();
        self.reader.most_held.next = self.quotas.read_data.val();
        self.reads.write_enable.next = self.reader.issued.val();
        self.reads.write_address.next = self.reader.issued_index.val();
        if self.reader.looks.val() {
            self.has_read.d.next = self.reads.read_data.val();
        }
        self.reads.write_data.next =
            self.has_read.q.val() + bit_cast::<16, 4>(self.reader.issued_count.val());
        // One end is counted in two clocks: read, write.
        self.counting.d.next = false;
        self.counts.next = self.dropped_at.q.val();
        if self.refusal.q.val() {
            self.counts.next = self.refusal_at.q.val();
        }
        if self.over.q.val() {
            self.counts.next = self.over_at.q.val();
        }
        if !self.counting.q.val() {
            self.counting.d.next = self.over.q.val() | self.refusal.q.val() | self.dropped.q.val();
            self.counted_at.d.next = self.counts.val();
            if self.over.q.val() {
                self.over.d.next = false;
            } else if self.refusal.q.val() {
                self.refusal.d.next = false;
            } else {
                self.dropped.d.next = false;
            }
        }
        if self.ended.val() {
            self.over.d.next = true;
            self.over_at.d.next = self.ended_endpoint.val();
        }
        self.ends_count.read_address.next = self.counts.val();
        self.ends_count.write_enable.next = self.counting.q.val();
        self.ends_count.write_address.next = self.counted_at.q.val();
        self.ends_count.write_data.next = self.ends_count.read_data.val() + 1;
        self.ends_visit.write_enable.next = self.counting.q.val();
        self.ends_visit.write_address.next = self.counted_at.q.val();
        self.ends_visit.write_data.next = self.ends_count.read_data.val() + 1;
        // Who has no quota waits for nothing.
        self.reader.poke_valid.next = self.counting.q.val() & self.ends_limited.read_data.val();
        self.reader.poke_index.next = self.counted_at.q.val();
        self.reader.skip_valid.next = false;
        self.reader.skip_index.next = 0.into();
        self.read_desc_valid.next = self.reader.read_desc_valid.val();
        self.read_desc_data.next = self.reader.read_desc_data.val();
        self.reader.read_desc_ready.next = self.read_desc_ready.val();
        self.reader.read_beat_valid.next = self.read_beat_valid.val();
        self.reader.read_beat_data.next = self.read_beat_data.val();
        self.read_beat_ready.next = self.reader.read_beat_ready.val();
        self.reader.read_status_valid.next = self.read_status_valid.val();
        self.reader.read_status_data.next = self.read_status_data.val();
    }
}
