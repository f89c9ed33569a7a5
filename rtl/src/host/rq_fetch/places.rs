//! Receives, third part: what is written into the places, and the counts of what is in them.

use super::RqFetch;
use crate::parts::Part;
use crate::prelude::*;

pub(super) struct Places;

impl Part<Places> for RqFetch {
    #[hdl_gen]
    fn update(&mut self) {
        self.puts_store.read_address.next = self.reader.record_data.val().endpoint;
        self.skips_store.read_address.next = self.reader.record_data.val().endpoint;
        self.next_put.next = self.puts_store.read_data.val() + 1;
        self.next_skip.next = self.skips_store.read_data.val() + 1;
        self.place_put.next = self.puts_store.read_data.val() & self.place_mask.val();
        self.entries.write_enable.next = self.store.val();
        self.entries.write_address.next = (bit_cast::<14, 8>(self.reader.record_data.val().endpoint)
            << self.place_log2.val())
            | bit_cast::<14, 8>(self.place_put.val());
        self.entries.write_data.next.address = self.address.val();
        self.entries.write_data.next.length = self.short_len.val();
        // A place is read in the clock in which its answer must be there: nothing is left to be added.
        self.entries.write_data.next.room = self.length.val() - self.kept_len.val();
        self.entries.write_data.next.entry = self.index.val();
        self.entries.write_data.next.chunks = self.has_chunks.val();
        self.entries.write_data.next.chunk_log2 = self.shape.val().get_bits::<3>(0);
        self.entries.write_data.next.area_log2 = self.shape.val().get_bits::<4>(4);
        self.entries.write_data.next.top = bit_cast::<5, 4>(self.shape.val().get_bits::<4>(4))
            + bit_cast::<5, 3>(self.shape.val().get_bits::<3>(0));
        self.blocks.next =
            !(self.no_unit.val() << self.shape.val().get_bits::<4>(4)) << self.shape.val().get_bits::<3>(0);
        self.entries.write_data.next.low = self.blocks.val().get_bits::<5>(0);
        self.puts_store.write_enable.next = self.store.val() | self.wipe_now.val();
        self.puts_store.write_address.next = self.reader.record_data.val().endpoint;
        self.puts_store.write_data.next = self.next_put.val();
        self.puts_ask.write_enable.next = self.store.val() | self.wipe_now.val();
        self.puts_ask.write_address.next = self.reader.record_data.val().endpoint;
        self.puts_ask.write_data.next = self.next_put.val();
        self.skips_store.write_enable.next = self.pass.val() | self.wipe_now.val();
        self.skips_store.write_address.next = self.reader.record_data.val().endpoint;
        self.skips_store.write_data.next = self.next_skip.val();
        self.skips_visit.write_enable.next = self.pass.val() | self.wipe_now.val();
        self.skips_visit.write_address.next = self.reader.record_data.val().endpoint;
        self.skips_visit.write_data.next = self.next_skip.val();
        self.skips_ask.write_enable.next = self.pass.val() | self.wipe_now.val();
        self.skips_ask.write_address.next = self.reader.record_data.val().endpoint;
        self.skips_ask.write_data.next = self.next_skip.val();
        self.takes_ask.write_enable.next = self.taken.val() | self.wipe_now.val();
        self.takes_ask.write_address.next = self.last_at.q.val();
        self.takes_ask.write_data.next = self.next_take.val();
        self.takes_visit.write_enable.next = self.taken.val() | self.wipe_now.val();
        self.takes_visit.write_address.next = self.last_at.q.val();
        self.takes_visit.write_data.next = self.next_take.val();
        if self.wipe_now.val() {
            self.puts_store.write_address.next = self.wiped.q.val();
            self.puts_store.write_data.next = 0.into();
            self.puts_ask.write_address.next = self.wiped.q.val();
            self.puts_ask.write_data.next = 0.into();
            self.skips_store.write_address.next = self.wiped.q.val();
            self.skips_store.write_data.next = 0.into();
            self.skips_visit.write_address.next = self.wiped.q.val();
            self.skips_visit.write_data.next = 0.into();
            self.skips_ask.write_address.next = self.wiped.q.val();
            self.skips_ask.write_data.next = 0.into();
            self.takes_ask.write_address.next = self.wiped.q.val();
            self.takes_ask.write_data.next = 0.into();
            self.takes_visit.write_address.next = self.wiped.q.val();
            self.takes_visit.write_data.next = 0.into();
        }

        // Room for the reader, and what tells it to look again.
        self.takes_visit.read_address.next = self.reader.visit_index.val();
        self.skips_visit.read_address.next = self.reader.visit_index.val();
        self.reader.freed.next = self.takes_visit.read_data.val() + self.skips_visit.read_data.val();
        self.reader.held_now.next = 0.into();
        self.reader.most_held.next = 0.into();
        self.reader.poke_valid.next = self.taken.val();
        self.reader.poke_index.next = self.last_at.q.val();
        self.reader.skip_valid.next = self.pass.val();
        self.reader.skip_index.next = self.reader.record_data.val().endpoint;
    }
}
