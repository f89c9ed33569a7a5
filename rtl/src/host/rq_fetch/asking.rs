//! Receives, fourth part: the answer to `lookup`.

use super::RqFetch;
use crate::parts::Part;
use crate::prelude::*;

pub(super) struct Asking;

impl Part<Asking> for RqFetch {
    #[hdl_gen]
    fn update(&mut self) {
        // Asking: counts, then the place, then the answer.
        self.puts_ask.read_address.next = self.ask_ring.val();
        self.takes_ask.read_address.next = self.ask_ring.val();
        self.skips_ask.read_address.next = self.ask_ring.val();
        self.reader.look_index.next = self.ask_ring.val();
        self.asked.d.next = self.ask_valid.val();
        self.asked_at.d.next = self.ask_ring.val();
        self.asked_dead.d.next = (self.endpoint_write.val()
            & (self.table_write.val().index == self.ask_ring.val()))
            | (self.wipe.q.val() & (self.wiped.q.val() == self.ask_ring.val()));
        self.ahead.d.next = self.taken.val() & (self.last_at.q.val() == self.ask_ring.val());
        self.ahead_take.d.next = self.next_take.val();

        self.take.next = self.takes_ask.read_data.val();
        if self.ahead.q.val() {
            self.take.next = self.ahead_take.q.val();
        }
        self.place_take.next = self.take.val() & self.place_mask.val();
        self.entries.read_address.next = (bit_cast::<14, 8>(self.asked_at.q.val()) << self.place_log2.val())
            | bit_cast::<14, 8>(self.place_take.val());
        self.there.d.next = self.puts_ask.read_data.val() != self.take.val();
        self.freed_ask.next = self.take.val() + self.skips_ask.read_data.val();
        self.unread.d.next = self.reader.unread.val();
        self.held_back.d.next = self.reader.read_to.val() != self.freed_ask.val();
        self.looked.d.next = self.asked.q.val();
        self.looked_at.d.next = self.asked_at.q.val();
        self.looked_take.d.next = self.take.val();
        self.looked_dead.d.next = self.asked_dead.q.val()
            | (self.endpoint_write.val() & (self.table_write.val().index == self.asked_at.q.val()));

        // How many blocks of packets the area has bits for.
        self.held.next = self.entries.read_data.val();
        self.units.next = !(self.no_unit.val() << self.held.val().top);
        self.answered.d.next = self.looked.q.val();
        if self.taken.val() {
            self.last_valid.d.next = false;
        }
        if self.looked.q.val() {
            self.given.d.next.available = self.there.q.val()
                & !self.looked_dead.q.val()
                & !(self.endpoint_write.val() & (self.table_write.val().index == self.looked_at.q.val()));
            self.given.d.next.coming = (self.unread.q.val() | self.held_back.q.val())
                & !self.there.q.val()
                & !self.looked_dead.q.val();
            self.given.d.next.address = self.held.val().address;
            self.given.d.next.length = bit_cast::<32, 13>(self.held.val().length);
            self.given.d.next.entry = self.held.val().entry;
            self.given.d.next.chunks = self.held.val().chunks;
            self.given.d.next.chunk_log2 = self.held.val().chunk_log2;
            self.given.d.next.area_log2 = self.held.val().area_log2;
            self.given.d.next.capacity =
                (self.units.val() & self.above_low.val()) | bit_cast::<21, 5>(self.held.val().low);
            self.given.d.next.room = self.held.val().room;
            self.last_valid.d.next = self.there.q.val()
                & !self.looked_dead.q.val()
                & !(self.endpoint_write.val() & (self.table_write.val().index == self.looked_at.q.val()));
            self.last_at.d.next = self.looked_at.q.val();
            self.last_take.d.next = self.looked_take.q.val();
        } else {
            if self.endpoint_write.val() & (self.table_write.val().index == self.last_at.q.val()) {
                self.last_valid.d.next = false;
            }
        }
        self.answer_valid.next = self.answered.q.val();
        self.answer.next = self.given.q.val();
    }
}
