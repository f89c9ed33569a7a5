//! The writer, first part: what is joined to what, and the copies of the tables.

use super::CqWriter;
use crate::parts::Part;
use crate::prelude::*;

pub(super) struct Tables;

impl Part<Tables> for CqWriter {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, state, last, word, number, ring, rewritten, desc, desc_valid, beat, beat_valid);
        dff_setup!(self, clk, wrote, overrun, dma_error, side, turns, changed, offset);
        self.owed[0].clock.next = self.clk.val();
        self.owed[1].clock.next = self.clk.val();
        self.endpoints.clk.next = self.clk.val();
        self.endpoints.rst.next = self.rst.val();
        self.rings.clk.next = self.clk.val();
        self.rings.rst.next = self.rst.val();
        self.bases.clock.next = self.clk.val();
        self.heads.clk.next = self.clk.val();
        self.heads.rst.next = self.rst.val();
        self.tails.clk.next = self.clk.val();
        self.tails.rst.next = self.rst.val();
        self.ready.next = self.endpoints.ready.val()
            & self.rings.ready.val()
            & self.heads.ready.val()
            & self.tails.ready.val();

        // Copies of the tables.
        self.endpoint_write.next =
            self.table_write.val().valid & (self.table_write.val().table == self.endpoint_table.val());
        self.queue_write.next =
            self.table_write.val().valid & (self.table_write.val().table == self.queue_table.val());
        self.head_ring.next =
            self.doorbell.val().valid & (self.doorbell.val().kind == self.this_doorbell.val());
        self.endpoints.write_enable.next = self.endpoint_write.val();
        self.endpoints.write_address.next = self.table_write.val().index;
        self.endpoints.write_data.next.of_sends =
            self.table_write.val().entry.get_bits::<8>(self.at_send_cq.val().index());
        self.endpoints.write_data.next.of_receives =
            self.table_write.val().entry.get_bits::<8>(self.at_recv_cq.val().index());
        self.endpoints.write_data.next.shares =
            self.table_write.val().entry.get_bit(self.at_shares.val().index());
        self.endpoints.write_data.next.shared =
            self.table_write.val().entry.get_bits::<8>(self.at_shared.val().index());
        self.rings.write_enable.next = self.queue_write.val();
        self.rings.write_address.next = self.table_write.val().index;
        self.rings.write_data.next.exists =
            self.table_write.val().entry.get_bit(self.at_exists.val().index());
        self.rings.write_data.next.log2 =
            self.table_write.val().entry.get_bits::<4>(self.at_log2.val().index());
        self.bases.write_enable.next = self.queue_write.val();
        self.bases.write_address.next = self.table_write.val().index;
        self.bases.write_data.next = self.table_write.val().entry.get_bits::<64>(self.at_base.val().index());
        self.heads.write_enable.next = self.queue_write.val() | self.head_ring.val();
        self.heads.write_address.next = self.table_write.val().index;
        self.heads.write_data.next = 0.into();
        if self.head_ring.val() {
            self.heads.write_address.next = self.doorbell.val().index;
            self.heads.write_data.next = self.doorbell.val().value;
        }
        self.rewritten.d.next = self.queue_write.val();
    }
}
