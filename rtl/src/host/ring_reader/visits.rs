//! The reader, second part: a visit, clock by clock, and the read it issues; the picture is the
//! module's.

use super::{RingReader, Visit};
use crate::parts::Part;
use crate::prelude::*;

pub(super) struct Visits;

impl Part<Visits> for RingReader {
    #[hdl_gen]
    fn update(&mut self) {
        // A visit. The tables show the endpoint that waits, a clock later: in `Idle` already if it stood there in
        // the clock before, in `Look` if not. That is late in the clock where they are block RAMs, so all that is
        // made of them is made in the next.
        self.rings.read_address.next = self.work.visit_index.val();
        self.tails.read_address.next = self.work.visit_index.val();
        self.heads.read_address.next = self.work.visit_index.val();
        self.mask.next = !(self.ones.val() << self.log2.q.val());
        self.holds.next =
            bit_cast::<16, 8>(self.head.q.val().get_bits::<8>(0) - self.held.q.val().get_bits::<8>(0));
        if self.owner_counts.val() {
            self.holds.next = self.held.q.val();
        }
        // The least of three, each by itself up to a visit's most before they are compared.
        self.reach.next = self.most.val();
        if self.rest.q.val() < bit_cast::<16, 4>(self.most.val()) {
            self.reach.next = self.rest.q.val().get_bits::<4>(0) + 1;
        }
        self.over.next = self.pending.q.val() > bit_cast::<16, 4>(self.most.val());
        self.wanted.next = self.pending.q.val().get_bits::<4>(0);
        if self.over.val() {
            self.wanted.next = self.most.val();
        }
        self.space.next = self.room.q.val().get_bits::<4>(0);
        if self.room.q.val().get_bits::<16>(0) >= bit_cast::<16, 4>(self.most.val()) {
            self.space.next = self.most.val();
        }
        if self.room.q.val().get_bit(16) {
            self.space.next = 0.into();
        }
        // A quota may be smaller than a read; prefetched places wait for a whole one.
        self.parted.next = (self.owner_counts.val() | self.parts.q.val()) & self.limited.q.val();
        self.wanted_fits.next = self.wanted.val() <= self.space.val();
        self.reach_fits.next = self.reach.val() <= self.space.val();
        self.bounded.next = self.wanted.val();
        if self.parted.val() & !self.wanted_fits.val() {
            self.bounded.next = self.space.val();
        }
        self.chunk.next = self.bounded.val();
        if self.reach.val() < self.bounded.val() {
            self.chunk.next = self.reach.val();
        }
        self.bytes.next = bit_cast::<13, 4>(self.count.q.val()) << self.entry_log2.val();
        self.span.next = (self.bytes.val() + self.beat_rest.val()) >> 6;
        self.cost.next = self.span.val().get_bits::<9>(0);

        self.visited.next = self.current.q.val();
        if self.state.q.val() == Visit::Idle {
            self.visited.next = self.work.visit_index.val();
        }
        self.visit_index.next = self.work.visit_index.val();
        self.issued_index.next = self.current.q.val();
        self.looks.next = (self.state.q.val() == Visit::Idle) | (self.state.q.val() == Visit::Look);
        self.stood.d.next = self.work.stands.val()
            & !((self.state.q.val() == Visit::Idle) & self.enable.val() & self.work.visit_valid.val())
            & !self.endpoint_write.val();
        if self.looks.val() {
            self.live.d.next = self.rings.read_data.val().live;
            self.base.d.next = self.rings.read_data.val().base;
            self.stamp.d.next = self.rings.read_data.val().stamp;
            self.parts.d.next = self.rings.read_data.val().parts;
            self.log2.d.next = self.rings.read_data.val().log2;
            self.head.d.next = self.heads.read_data.val();
            self.tail.d.next = self.tails.read_data.val();
            self.held.d.next = bit_cast::<16, 8>(self.freed.val());
            self.may_hold.d.next = self.capacity.val();
            if self.owner_counts.val() {
                self.held.d.next = self.held_now.val();
                self.may_hold.d.next = self.most_held.val();
            }
        }
        self.hit.next = self.endpoint_write.val() & (self.table_write.val().index == self.visited.val());
        self.work.visit_ready.next = false;
        self.work.finish_valid.next = false;
        self.work.finish_again.next = self.more.q.val();
        self.issue.next = false;
        match self.state.q.val() {
            Visit::Idle => {
                if self.enable.val() {
                    self.work.visit_ready.next = true;
                    self.current.d.next = self.work.visit_index.val();
                    if self.work.visit_valid.val() {
                        self.state.d.next = Visit::Look;
                        if self.stood.q.val() {
                            self.state.d.next = Visit::Weigh;
                        }
                    }
                }
            }
            Visit::Look => {
                self.state.d.next = Visit::Weigh;
            }
            Visit::Weigh => {
                self.place.d.next = self.head.q.val() & self.mask.val();
                self.pending.d.next = self.tail.q.val() - self.head.q.val();
                self.rest.d.next = !self.head.q.val() & self.mask.val();
                self.room.d.next =
                    bit_cast::<17, 16>(self.may_hold.q.val()) - bit_cast::<17, 16>(self.holds.val());
                self.limited.d.next = self.may_hold.q.val().any();
                self.state.d.next = Visit::Size;
            }
            Visit::Size => {
                self.count.d.next = self.chunk.val();
                self.address.d.next =
                    self.base.q.val() + (bit_cast::<64, 16>(self.place.q.val()) << self.entry_log2.val());
                self.go.d.next = self.live.q.val()
                    & self.pending.q.val().any()
                    & (!self.limited.q.val()
                        | (self.parted.val() & (self.space.val() != 0))
                        | self.wanted_fits.val()
                        | self.reach_fits.val());
                self.more.d.next = self.over.val()
                    | (self.reach.val() < self.wanted.val())
                    | (self.parted.val() & !self.wanted_fits.val());
                self.state.d.next = Visit::Issue;
            }
            Visit::Issue => {
                // A table write needs the port of the heads; if it is of this endpoint, the next
                // clock knows.
                if !self.endpoint_write.val() {
                    if self.rewritten.q.val() | !self.go.q.val() {
                        self.work.finish_valid.next = true;
                        self.work.finish_again.next = self.rewritten.q.val();
                        if self.work.finish_ready.val() {
                            self.state.d.next = Visit::Idle;
                        }
                    } else {
                        self.issue.next = !self.desc_valid.q.val()
                            & self.records.in_ready.val()
                            & (self.credit.q.val() >= self.dearest.val())
                            & self.work.finish_ready.val();
                        self.work.finish_valid.next = self.issue.val();
                        if self.issue.val() {
                            self.state.d.next = Visit::Idle;
                        }
                    }
                }
            }
        }
        self.rewritten.d.next = self.hit.val();
        if self.state.q.val() != Visit::Idle {
            self.rewritten.d.next = self.rewritten.q.val() | self.hit.val();
        }

        self.heads.write_enable.next = self.endpoint_write.val() | self.issue.val();
        self.heads.write_address.next = self.current.q.val();
        self.heads.write_data.next = self.head.q.val() + bit_cast::<16, 4>(self.count.q.val());
        if self.endpoint_write.val() {
            self.heads.write_address.next = self.table_write.val().index;
            self.heads.write_data.next = 0.into();
        }
        self.heads_look.write_enable.next = self.endpoint_write.val() | self.issue.val();
        self.heads_look.write_address.next = self.current.q.val();
        self.heads_look.write_data.next = self.head.q.val() + bit_cast::<16, 4>(self.count.q.val());
        if self.endpoint_write.val() {
            self.heads_look.write_address.next = self.table_write.val().index;
            self.heads_look.write_data.next = 0.into();
        }
        self.issued.next = self.issue.val();
        self.issued_count.next = self.count.q.val();
        self.records.in_valid.next = self.issue.val();
        self.records.in_data.next.endpoint = self.current.q.val();
        self.records.in_data.next.index = self.head.q.val();
        self.records.in_data.next.count = self.count.q.val();
        self.records.in_data.next.stamp = self.stamp.q.val();

        self.read_desc_valid.next = self.desc_valid.q.val();
        self.read_desc_data.next = self.desc.q.val();
        if self.read_desc_ready.val() {
            self.desc_valid.d.next = false;
        }
        if self.issue.val() {
            self.desc_valid.d.next = true;
            self.desc.d.next.address = self.address.q.val();
            self.desc.d.next.length = self.bytes.val();
            self.desc.d.next.tag = 0.into();
        }
    }
}
