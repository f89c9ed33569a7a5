//! The reader, first part: what is joined to what, and what table writes and doorbells change.

use super::RingReader;
use crate::parts::Part;
use crate::prelude::*;

pub(super) struct Tables;

impl Part<Tables> for RingReader {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self, clk, state, current, rewritten, live, base, stamp, parts, log2, head, tail, held, may_hold
        );
        dff_setup!(self, clk, place, pending, rest, stood);
        dff_setup!(
            self, clk, room, limited, address, count, go, more, desc, desc_valid, credit, writes, settled
        );
        self.work.clk.next = self.clk.val();
        self.work.rst.next = self.rst.val();
        self.rings.clk.next = self.clk.val();
        self.rings.rst.next = self.rst.val();
        self.stamps.clk.next = self.clk.val();
        self.stamps.rst.next = self.rst.val();
        self.tails.clk.next = self.clk.val();
        self.tails.rst.next = self.rst.val();
        self.heads.clk.next = self.clk.val();
        self.heads.rst.next = self.rst.val();
        self.tails_look.clk.next = self.clk.val();
        self.tails_look.rst.next = self.rst.val();
        self.heads_look.clk.next = self.clk.val();
        self.heads_look.rst.next = self.rst.val();
        self.records.clk.next = self.clk.val();
        self.records.rst.next = self.rst.val();
        self.beats.clk.next = self.clk.val();
        self.beats.rst.next = self.rst.val();
        self.errors.clk.next = self.clk.val();
        self.errors.rst.next = self.rst.val();
        self.ready.next = self.rings.ready.val()
            & self.stamps.ready.val()
            & self.tails.ready.val()
            & self.heads.ready.val()
            & self.tails_look.ready.val()
            & self.heads_look.ready.val()
            & self.work.ready.val();

        // Tables and doorbells.
        self.endpoint_write.next =
            self.table_write.val().valid & (self.table_write.val().table == self.this_table.val());
        self.tail_ring.next =
            self.doorbell.val().valid & (self.doorbell.val().kind == self.this_doorbell.val());
        if self.endpoint_write.val() {
            self.writes.d.next = self.writes.q.val() + 1;
        }
        self.rings.write_enable.next = self.endpoint_write.val();
        self.rings.write_address.next = self.table_write.val().index;
        self.enabled.next = self.table_write.val().entry.get_bit(self.at_enable.val().index());
        self.other.next = self.table_write.val().entry.get_bit(self.at_other.val().index());
        self.rings.write_data.next.live = (self.enabled.val() & self.other.val())
            | (!self.both.val() & (self.enabled.val() | self.other.val()));
        self.rings.write_data.next.log2 =
            self.table_write.val().entry.get_bits::<4>(self.at_log2.val().index());
        self.rings.write_data.next.base =
            self.table_write.val().entry.get_bits::<64>(self.at_base.val().index());
        self.rings.write_data.next.stamp = self.writes.q.val();
        self.rings.write_data.next.parts = self.table_write.val().entry.get_bit(self.at_parts.val().index());
        self.stamps.write_enable.next = self.endpoint_write.val();
        self.stamps.write_address.next = self.table_write.val().index;
        self.stamps.write_data.next = self.writes.q.val();
        self.tails.write_enable.next = self.endpoint_write.val() | self.tail_ring.val();
        self.tails.write_address.next = self.table_write.val().index;
        self.tails.write_data.next = 0.into();
        if self.tail_ring.val() {
            self.tails.write_address.next = self.doorbell.val().index;
            self.tails.write_data.next = self.doorbell.val().value;
        }
        self.tails_look.write_enable.next = self.endpoint_write.val() | self.tail_ring.val();
        self.tails_look.write_address.next = self.table_write.val().index;
        self.tails_look.write_data.next = 0.into();
        if self.tail_ring.val() {
            self.tails_look.write_address.next = self.doorbell.val().index;
            self.tails_look.write_data.next = self.doorbell.val().value;
        }
        self.tails_look.read_address.next = self.look_index.val();
        self.heads_look.read_address.next = self.look_index.val();
        self.unread.next = self.tails_look.read_data.val() != self.heads_look.read_data.val();
        self.read_to.next = self.heads_look.read_data.val().get_bits::<8>(0);
        self.work.ring_valid.next = self.tail_ring.val();
        self.work.ring_index.next = self.doorbell.val().index;
        self.work.poke_valid.next = self.poke_valid.val();
        self.work.poke_index.next = self.poke_index.val();
        self.work.skip_valid.next = self.skip_valid.val();
        self.work.skip_index.next = self.skip_index.val();
        self.skip_ready.next = self.work.skip_ready.val();
    }
}
