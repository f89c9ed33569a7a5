//! The writer, last part: its steps, clock by clock, and which writes the host still owes a status.

use super::{CqWriter, Step};
use crate::parts::Part;
use crate::prelude::*;

pub(super) struct Writing;

impl Part<Writing> for CqWriter {
    #[hdl_gen]
    fn update(&mut self) {
        self.writes.next = self.ends.val() & !self.lost.val();
        self.wrote.d.next = self.writes.val();
        if self.write_desc_ready.val() {
            self.desc_valid.d.next = false;
        }
        if self.write_beat_ready.val() {
            self.beat_valid.d.next = false;
        }
        self.overrun.d.next = self.ends.val() & self.lost.val();
        self.tails.write_enable.next = self.queue_write.val() | self.writes.val();
        self.tails.write_address.next = self.number.q.val();
        self.tails.write_data.next = self.tails.read_data.val() + 1;
        if self.queue_write.val() {
            self.tails.write_address.next = self.table_write.val().index;
            self.tails.write_data.next = 0.into();
        }
        match self.state.q.val() {
            Step::Pick => {}
            Step::Route => {
                self.number.d.next = self.route.val();
                self.ring.d.next = 0.into();
                if self.word.q.val().receive {
                    self.ring.d.next = self.word.q.val().endpoint;
                    if self.endpoints.read_data.val().shares & !self.word.q.val().own {
                        self.ring.d.next = self.endpoints.read_data.val().shared;
                    }
                }
                self.state.d.next = Step::Write;
            }
            Step::Write => {
                // What is lost is put there too, and never valid: how full the ring is,
                // is known late.
                if self.free.val() {
                    // Added behind the registers: the base comes out of a memory.
                    self.desc.d.next.address = self.bases.read_data.val();
                    self.offset.d.next = bit_cast::<32, 16>(self.place.val()) << self.entry_log2.val();
                    self.desc.d.next.length = self.entry_bytes.val();
                    self.desc.d.next.tag = bit_cast::<8, 1>(self.side.q.val().into());
                    self.beat.d.next = self.lower.val() | self.upper.val();
                }
                if self.ends.val() {
                    self.state.d.next = Step::Pick;
                }
                if self.writes.val() {
                    self.desc_valid.d.next = true;
                    self.beat_valid.d.next = true;
                }
            }
        }
        if self.pick.val() {
            self.word.d.next = self.picked.val();
            if self.turn.val() {
                self.last.d.next = self.choice.val();
            }
            self.state.d.next = Step::Route;
        }
        self.write_desc_valid.next = self.desc_valid.q.val();
        self.write_desc_data.next = self.desc.q.val();
        self.write_desc_data.next.address =
            self.desc.q.val().address + bit_cast::<64, 32>(self.offset.q.val());
        self.write_beat_valid.next = self.beat_valid.q.val();
        self.write_beat_data.next.tdata = self.beat.q.val();
        self.write_beat_data.next.tkeep = self.ones.val();
        self.write_beat_data.next.tlast = true;

        // What was begun before the tag changed is over when its last status is there.
        self.answered.next = self.write_status_valid.val();
        // Counted a clock late: before the tag changes, all that was offered when `drain` rose
        // is counted, for a turn or a pause came behind it.
        self.tag.next = self.desc.q.val().tag.get_bit(0);
        self.more[0].next = self.wrote.q.val() & !self.tag.val();
        self.more[1].next = self.wrote.q.val() & self.tag.val();
        self.less[0].next = self.answered.val() & !self.write_status_data.val().tag.get_bit(0);
        self.less[1].next = self.answered.val() & self.write_status_data.val().tag.get_bit(0);
        for i in 0..2 {
            self.owed[i].d.next = self.owed[i].q.val();
            if self.more[i].val() & !self.less[i].val() {
                self.owed[i].d.next = self.owed[i].q.val() + 1;
            }
            if self.less[i].val() & !self.more[i].val() {
                self.owed[i].d.next = self.owed[i].q.val() - 1;
            }
        }
        self.others_owed.next = self.owed[1].q.val().any();
        if self.side.q.val() {
            self.others_owed.next = self.owed[0].q.val().any();
        }
        if !self.drain.val() {
            self.turns.d.next = 0.into();
            self.changed.d.next = false;
        } else if !self.changed.q.val() {
            if self.turn.val() & (self.turns.q.val() != self.last_turn.val()) {
                self.turns.d.next = self.turns.q.val() + 1;
            }
            if (self.state.q.val() == Step::Pick) & !self.wanted.val() {
                self.turns.d.next = self.last_turn.val();
            }
            // A wait that was given up may have left some of the tag that comes next.
            if (self.turns.q.val() == self.last_turn.val()) & !self.others_owed.val() {
                self.side.d.next = !self.side.q.val();
                self.changed.d.next = true;
            }
        }
        self.drained.next = self.changed.q.val() & !self.others_owed.val();

        self.dma_error.d.next = self.write_status_valid.val() & self.write_status_data.val().error;
        self.event_overrun.next = self.overrun.q.val();
        self.event_dma_error.next = self.dma_error.q.val();

        if self.rst.val() {
            self.state.d.next = Step::Pick;
            self.last.d.next = 3.into();
            self.desc_valid.d.next = false;
            self.beat_valid.d.next = false;
            self.wrote.d.next = false;
            self.overrun.d.next = false;
            self.dma_error.d.next = false;
            self.side.d.next = false;
            self.owed[0].d.next = 0.into();
            self.owed[1].d.next = 0.into();
            self.turns.d.next = 0.into();
            self.changed.d.next = false;
        }
    }
}
