//! Receives, first part: what is joined to what, and the table write that empties places.

use super::RqFetch;
use crate::parts::Part;
use crate::prelude::*;

pub(super) struct Wires;

impl Part<Wires> for RqFetch {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, wipe, wiped, state, raw, misfit, upper, step, out, out_valid, asked, asked_at);
        dff_setup!(self, clk, asked_dead, ahead, ahead_take, looked, looked_at, looked_dead, looked_take);
        dff_setup!(
            self, clk, there, unread, held_back, answered, given, last_at, last_take, last_valid, wiping,
            stale
        );
        self.reader.clk.next = self.clk.val();
        self.reader.rst.next = self.rst.val();
        self.keys.clk.next = self.clk.val();
        self.keys.rst.next = self.rst.val();
        self.entries.clock.next = self.clk.val();
        self.puts_store.clk.next = self.clk.val();
        self.puts_store.rst.next = self.rst.val();
        self.puts_ask.clk.next = self.clk.val();
        self.puts_ask.rst.next = self.rst.val();
        self.takes_visit.clk.next = self.clk.val();
        self.takes_visit.rst.next = self.rst.val();
        self.takes_ask.clk.next = self.clk.val();
        self.takes_ask.rst.next = self.rst.val();
        self.skips_visit.clk.next = self.clk.val();
        self.skips_visit.rst.next = self.rst.val();
        self.skips_store.clk.next = self.clk.val();
        self.skips_store.rst.next = self.rst.val();
        self.skips_ask.clk.next = self.clk.val();
        self.skips_ask.rst.next = self.rst.val();
        self.ready.next = self.reader.ready.val()
            & self.keys.ready.val()
            & self.puts_store.ready.val()
            & self.puts_ask.ready.val()
            & self.takes_visit.ready.val()
            & self.takes_ask.ready.val()
            & self.skips_visit.ready.val()
            & self.skips_store.ready.val()
            & self.skips_ask.ready.val();

        self.reader.enable.next = true;
        self.reader.doorbell.next = self.doorbell.val();
        self.reader.table_write.next = self.table_write.val();
        self.keys.table_write.next = self.table_write.val();
        self.read_desc_valid.next = self.reader.read_desc_valid.val();
        self.read_desc_data.next = self.reader.read_desc_data.val();
        self.reader.read_desc_ready.next = self.read_desc_ready.val();
        self.reader.read_beat_valid.next = self.read_beat_valid.val();
        self.reader.read_beat_data.next = self.read_beat_data.val();
        self.read_beat_ready.next = self.reader.read_beat_ready.val();
        self.reader.read_status_valid.next = self.read_status_valid.val();
        self.reader.read_status_data.next = self.read_status_data.val();

        // A table write empties the endpoint's places, one clock later, or two
        // when `consume` needs the port of the takes.
        self.endpoint_write.next =
            self.table_write.val().valid & (self.table_write.val().table == self.this_table.val());
        self.next_take.next = self.last_take.q.val() + 1;
        self.taken.next = self.consume.val() & self.last_valid.q.val();
        self.wipe_now.next = self.wipe.q.val() & !self.taken.val();
        if self.wipe_now.val() {
            self.wipe.d.next = false;
        }
        if self.endpoint_write.val() {
            self.wipe.d.next = true;
            self.wiped.d.next = self.table_write.val().index;
        }
    }
}
