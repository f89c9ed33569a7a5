//! Receives, second part: an entry is read, weighed, and goes where it belongs, clock by clock.

use super::{RqFetch, Step};
use crate::parts::Part;
use crate::prelude::*;

pub(super) struct Storing;

impl Part<Storing> for RqFetch {
    #[hdl_gen]
    fn update(&mut self) {
        // Storing: entry by entry, two to a beat.
        self.length.next = self.raw.q.val().get_bits::<32>(self.at_length.val().index());
        self.address.next = self.raw.q.val().get_bits::<64>(self.at_address.val().index());
        self.keys.endpoint.next = self.reader.record_data.val().endpoint;
        self.keys.key.next = self.raw.q.val().get_bits::<32>(self.at_lkey.val().index());
        self.keys.length.next = self.length.val();
        self.keys.address.next = self.address.val();
        self.index.next = self.reader.record_data.val().index + bit_cast::<16, 4>(self.step.q.val());
        self.last_of_record.next = (self.step.q.val() + 1) == self.reader.record_data.val().count;
        self.flags.next = self.raw.q.val().get_bits::<8>(self.at_flags.val().index());
        self.cancel.next = (self.flags.val() & self.cancel_flag.val()) != 0;
        self.is_tagged.next = (self.flags.val() & self.tagged_flags.val()) != 0;
        // HR-2
        self.has_chunks.next = (self.flags.val() & self.chunks_flag.val()) != 0;
        self.shape.next = self.raw.q.val().get_bits::<8>(self.at_shape.val().index());
        self.area_len.next = self.smallest_area.val() << self.shape.val().get_bits::<4>(4);
        self.kept_len.next = 0.into();
        if self.has_chunks.val() {
            self.kept_len.next = self.area_len.val();
        }
        self.misfit.d.next = self.has_chunks.val()
            & !self.cancel.val()
            & (self.is_tagged.val()
                | (self.shape.val().get_bits::<3>(0) > self.most_chunk_log2.val())
                | (self.address.val().get_bits::<6>(0) != 0)
                | (self.length.val() < self.kept_len.val()));
        self.short_len.next = self.length.val().get_bits::<13>(0) & self.longest.val();
        if (self.length.val() >> 13).any() {
            self.short_len.next = self.longest.val();
        }
        // A cancel names no memory. What a key permits comes late: it is looked at last.
        self.sound.next = !self.reader.failed.val() & !self.misfit.q.val();
        self.good.next = self.sound.val() & (self.keys.permitted.val() | self.cancel.val());
        self.may_refuse.next = !self.out_valid.q.val() & self.reader.skip_ready.val();
        if self.refused_ready.val() {
            self.out_valid.d.next = false;
        }
        // While a wipe waits and in the clock behind it, `stale` may not show it yet. These are no
        // part of the match below: what waits for ready there would seem to decide valid.
        self.wiping.d.next = self.wipe.q.val();
        self.stale.d.next = self.reader.stale.val();
        self.decides.next = (self.state.q.val() == Step::Decide) & !self.wipe.q.val() & !self.wiping.q.val();
        // A tagged one gives its place back at once, as a refused one does. By the time it is
        // offered its endpoint may have been written anew.
        self.hands.next = (self.state.q.val() == Step::Hand) & !self.wipe.q.val() & !self.wiping.q.val();
        self.tagged_valid.next = self.hands.val() & !self.stale.q.val() & self.reader.skip_ready.val();
        self.pushed.next = self.tagged_valid.val() & self.tagged_ready.val();
        self.store.next = self.decides.val()
            & self.sound.val()
            & !self.is_tagged.val()
            & !self.stale.q.val()
            & self.keys.permitted.val();
        self.refuse.next =
            self.decides.val() & self.may_refuse.val() & !self.stale.q.val() & !self.good.val();
        self.commit.next = self.pushed.val()
            | self.store.val()
            | self.refuse.val()
            | ((self.decides.val() | self.hands.val()) & self.stale.q.val());
        match self.state.q.val() {
            Step::Gather => {
                self.raw.d.next = self.reader.beat_data.val().get_bits::<256>(0);
                if self.upper.q.val() {
                    self.raw.d.next = self.reader.beat_data.val().get_bits::<256>(256);
                }
                if self.reader.beat_valid.val() & self.reader.record_valid.val() {
                    self.state.d.next = Step::Key;
                }
            }
            Step::Key => {
                self.state.d.next = Step::Weigh;
            }
            Step::Weigh => {
                self.state.d.next = Step::Decide;
            }
            Step::Decide => {
                if self.commit.val() {
                    self.state.d.next = Step::Gather;
                }
                if self.decides.val() & !self.stale.q.val() & self.is_tagged.val() & self.good.val() {
                    self.state.d.next = Step::Hand;
                }
            }
            Step::Hand => {
                if self.commit.val() {
                    self.state.d.next = Step::Gather;
                }
            }
        }
        self.reader.record_ready.next = self.commit.val() & self.last_of_record.val();
        self.reader.beat_ready.next = self.commit.val() & (self.last_of_record.val() | self.upper.q.val());
        if self.commit.val() {
            self.upper.d.next = !self.upper.q.val();
            self.step.d.next = self.step.q.val() + 1;
            if self.last_of_record.val() {
                self.upper.d.next = false;
                self.step.d.next = 0.into();
            }
        }
        self.pass.next = self.refuse.val() | self.pushed.val();
        self.tagged_data.next.cancel = self.cancel.val();
        self.tagged_data.next.endpoint = self.reader.record_data.val().endpoint;
        self.tagged_data.next.entry = self.index.val();
        self.tagged_data.next.tag = self.raw.q.val().get_bits::<64>(self.at_tag.val().index());
        self.tagged_data.next.address = self.address.val();
        self.tagged_data.next.length = self.length.val();
        self.tagged_data.next.handle = self.raw.q.val().get_bits::<16>(self.at_handle.val().index());
        self.tagged_data.next.target = self.raw.q.val().get_bits::<16>(self.at_target.val().index());
    }
}
