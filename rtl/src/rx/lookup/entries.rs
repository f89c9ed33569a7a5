//! A packet's way, third part: what is written into the tables, numbers of contexts, and counts.

use super::Lookup;
use crate::parts::Part;
use crate::prelude::*;

pub(super) struct Entries;

impl Part<Entries> for Lookup {
    #[hdl_gen]
    fn update(&mut self) {
        // Entries: opened, sent away, too short; buried; swept; cleared.
        // Kept ready from the clock before, so a tick more: a + b + 1 is a - !b.
        self.lives.next = self.now.val() - !bit_cast::<32, 24>(self.settings.val().time_wait);
        self.lives_to.d.next = self.lives.val().get_bits::<18>(8);
        self.released.next = self.now.val() - !bit_cast::<32, 24>(self.settings.val().mpl);
        self.released_to.d.next = self.released.val().get_bits::<18>(8);
        self.sooner.next = self.released_to.q.val() - self.tables.found_held.val().value.get_bits::<18>(0);
        self.bury_set.next = self.ends.place.val().set_at;
        // An end is written when nothing else is, also while a packet is looked up.
        self.ends.enable.next = self.cleared.q.val();
        self.ends.retire_valid.next = self.retire_valid.val();
        self.ends.retire_data.next = self.retire_data.val();
        self.retire_ready.next = self.ends.retire_ready.val();
        // Whether the packet acts is known late: it is enough that it may.
        self.ends.hold.next =
            self.may_act.val() | self.clears.val() | self.reclaim_reads.val() | self.tally.settling.val();
        self.buries.next = self.ends.go.val();
        self.disturbs.next = (self.ends.place.val().way.get_bits::<4>(0).any()
            & (self.bury_set.val() == self.set0.q.val()))
            | (self.ends.place.val().way.get_bits::<4>(4).any() & (self.bury_set.val() == self.set1.q.val()));
        self.write_set0.next = self.set0.q.val();
        self.write_set1.next = self.set1.q.val();
        self.write_held.next.state = 2.into();
        self.write_held.next.value = bit_cast::<24, 18>(self.lives_to.q.val());
        // Whether anything is written is known late, so what it would be is not chosen by that.
        self.write_held.next.status = self.length.val();
        if self.packet.q.val().denied {
            self.write_held.next.status = self.remote_access.val();
        }
        // One of an OR each, for at most one of them is in a clock, and what is decided is late.
        self.new_hot.next = 0.into();
        if self.judge.enters.val() {
            self.new_hot.next = self.tables.vacancy.val();
        }
        self.found_hot.next = 0.into();
        if self.judge.enters_found.val()
            | self.judge.shorten.val()
            | self.judge.away.val()
            | self.reclaims.val()
        {
            self.found_hot.next = self.tables.found.val();
        }
        if self.packet.q.val().release {
            self.write_held.next.state = 2.into();
            self.write_held.next.status = self.tables.found_held.val().status;
            // A RELEASE that comes late, or again, lengthens nothing.
            self.write_held.next.value = self.tables.found_held.val().value;
            if self.sooner.val().get_bit(17) {
                self.write_held.next.value = bit_cast::<24, 18>(self.released_to.q.val());
            }
        }
        self.goes_away.next = self.tables.found_held.val().state == 1;
        if self.goes_away.val() {
            self.write_held.next.state = 3.into();
            self.write_held.next.value = self.tables.found_held.val().value;
        }
        self.bury_hot.next = 0.into();
        if self.buries.val() & self.ends.word.val().bury {
            self.bury_hot.next = self.ends.place.val().way;
        }
        if self.buries.val() {
            self.write_held.next.state = 2.into();
            self.write_held.next.value = bit_cast::<24, 18>(self.lives_to.q.val());
            self.write_held.next.status = self.ends.word.val().status;
            if self.ends.word.val().status == self.released_status.val() {
                self.write_held.next.value = bit_cast::<24, 18>(self.released_to.q.val());
            }
            self.write_set0.next = self.bury_set.val();
            self.write_set1.next = self.bury_set.val();
        }
        self.clear_hot.next = 0.into();
        if self.clears.val() {
            self.clear_hot.next = self.tables.expired.val();
            self.write_held.next.state = 0.into();
            self.write_set0.next = self.sweep_set.q.val();
            self.write_set1.next = self.sweep_set.q.val();
        }
        if !self.cleared.q.val() {
            self.clear_hot.next = 0xff.into();
            self.write_held.next.state = 0.into();
            self.write_set0.next = self.clear_at.q.val().get_bits::<13>(0);
            self.write_set1.next = self.clear_at.q.val().get_bits::<13>(0);
        }
        // Whether it has room in its receive is known last.
        self.may_open.next = self.may_act.val()
            & !self.packet.q.val().denied
            & !self.packet.q.val().release
            & !self.goes_away.val();
        if self.may_open.val() & self.judge.fits.val() {
            self.write_held.next.state = 1.into();
            self.write_held.next.value = bit_cast::<24, 12>(self.numbers.number.val());
        }
        self.tables.write.next =
            self.new_hot.val() | self.found_hot.val() | self.bury_hot.val() | self.clear_hot.val();
        // Of what opens or is barred; if anything is written, that is.
        self.tables.write_names.next =
            self.may_act.val() & !self.packet.q.val().release & !self.goes_away.val();
        self.tables.write_set0.next = self.write_set0.val();
        self.tables.write_set1.next = self.write_set1.val();
        self.tables.new_held.next = self.write_held.val();
        self.ends.open.next = self.judge.open.val();
        self.ends.number.next = self.numbers.number.val();
        self.ends.opened_at.next.way = self.place.val();
        self.ends.opened_at.next.endpoint = self.packet.q.val().endpoint;
        if self.place.val().get_bits::<4>(0).any() {
            self.ends.opened_at.next.set_at = self.set0.q.val();
        } else {
            self.ends.opened_at.next.set_at = self.set1.q.val();
        }

        // Context numbers, and whose they are.
        self.numbers.give.next = self.buries.val() & self.ends.word.val().free;
        self.numbers.given.next = self.ends.word.val().context;
        self.free_contexts.next = self.numbers.free.val();
        self.tenants.table_write.next = self.table_write.val();
        self.tenants.take.next = self.judge.open.val();
        self.tenants.watched.next = self.reclaim.val().endpoint;
        self.contexts_left.next = self.tenants.holds.val();
        self.tenants.give.next = self.buries.val() & self.ends.word.val().free;
        self.tenants.given.next = self.ends.place.val().endpoint;

        // Counts. A sweep step, a packet and an end are never in one clock.
        self.tally.open.next = self.judge.open.val();
        self.tally.barred.next = self.judge.barred.val();
        self.tally.replaces.next = self.judge.replaces.val();
        self.tally.bury.next = self.buries.val() & self.ends.word.val().bury;
        self.tally.sweep.next = self.clears.val();
        self.tally.expired.next = self.tables.expired.val();
        self.tombstones.next = self.tally.tombstones.val();
        self.places_left.next = self.limit.val() - self.tally.remembered.val();
        self.too_few.next = self.limit.val() >> self.settings.val().release_low;
        self.is_low.d.next =
            self.settings.val().release_low.any() & (self.places_left.val() < self.too_few.val());
        self.low.next = self.is_low.q.val();
        self.has_judged.d.next = self.act.val();
        self.judged.next = self.has_judged.q.val();
        self.has_buried.d.next = self.buries.val();
        self.buried.next = self.has_buried.q.val();
    }
}
