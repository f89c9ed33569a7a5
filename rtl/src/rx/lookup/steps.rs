//! A packet's way, last part: the states, clock by clock, those of the sweep among them; the
//! picture is the module's.

use super::{Lookup, State};
use crate::parts::Part;
use crate::prelude::*;

pub(super) struct Steps;

impl Part<Steps> for Lookup {
    #[hdl_gen]
    fn update(&mut self) {
        // What a packet may have made of the set that was read is not cleared.
        self.behind.d.next = self.act.val() & !self.judge.replaces.val();

        // What comes next.
        self.pick.next = self.cleared.q.val()
            & ((self.state.q.val() == State::Idle) | self.act.val() | self.in_clear.val());
        self.yields.next = self.sweeping.val() & !self.in_clear.val() & !self.sweep_first.q.val();
        self.was_enabled.d.next = self.settings.val().enable;
        if self.settings.val().enable & !self.was_enabled.q.val() {
            self.want_key.d.next = true;
        }
        self.hash.load.next = false;
        self.packet_ready.next = (self.pick.val() | self.yields.val())
            & self.hash.keyed.val()
            & !self.want_key.q.val()
            & !self.sweep_due.q.val();
        self.accept.next = self.packet_ready.val() & self.packet_valid.val();
        self.tenants.next_endpoint.next = self.packet_data.val().endpoint;
        self.tenants.advance.next = self.accept.val();
        self.tenants.endpoint.next = self.packet.q.val().endpoint;
        self.sweep_in.d.next = self.sweep_in.q.val() - 1;
        if self.sweep_in.q.val() == 0 {
            self.sweep_due.d.next = true;
        }
        match self.state.q.val() {
            State::Idle => {}
            State::Read => {
                self.state.d.next = State::Compare;
            }
            State::ReadAgain => {
                self.state.d.next = State::Compare;
            }
            State::Compare => {
                self.state.d.next = State::Choose;
            }
            State::Choose => {
                self.state.d.next = State::Act;
            }
            State::Act => {
                if self.disturbed.q.val() {
                    self.state.d.next = State::ReadAgain;
                } else {
                    if self.retries.val() {
                        self.tries.d.next = self.tries.q.val() - 1;
                        self.answered.d.next = false;
                        self.state.d.next = State::Read;
                    }
                }
            }
            State::ReclaimPlace => {
                if !self.ends.busy.val() {
                    self.state.d.next = State::ReclaimTake;
                }
            }
            State::ReclaimTake => {
                // No packet is at hand: its place is another's.
                self.set0.d.next = self.ends.looked_at.val().set_at;
                self.set1.d.next = self.ends.looked_at.val().set_at;
                self.reclaim_way.d.next = self.ends.looked_at.val().way;
                self.reclaim_of.d.next = self.ends.looked_at.val().endpoint;
                self.state.d.next = State::ReclaimRead;
            }
            State::ReclaimRead => {
                self.state.d.next = State::ReclaimChoose;
            }
            State::ReclaimChoose => {
                self.state.d.next = State::ReclaimAct;
            }
            State::ReclaimAct => {
                if self.reclaims.val() | !self.reclaimable.val() {
                    self.reclaim_at.d.next = self.reclaim_at.q.val() + 1;
                    if self.reclaim_at.q.val() == self.last_context.val() {
                        self.reclaim_at.d.next = 0.into();
                    }
                    self.state.d.next = State::Idle;
                }
            }
            State::SweepRead => {
                // The set to read is the one behind that which is cleared now.
                if !self.behind.q.val() {
                    self.state.d.next = State::SweepCompare;
                }
            }
            State::SweepCompare => {
                self.state.d.next = State::SweepClear;
            }
            State::SweepClear => {
                self.state.d.next = State::Idle;
            }
            _ => {
                self.state.d.next = State::Idle;
            }
        }
        if self.pick.val() {
            self.state.d.next = State::SweepRead;
            self.sweep_first.d.next = self.sweep_due.q.val();
            // Every second step of the sweep is one of these.
            self.reclaim_turn.d.next = !self.reclaim_turn.q.val();
            if self.reclaim.val().active & self.reclaim_turn.q.val() {
                self.state.d.next = State::ReclaimPlace;
            }
            if self.sweep_due.q.val() {
                self.sweep_due.d.next = false;
            } else {
                // What this clock's packet leaves is not in `remembered` yet.
                if self.want_key.q.val() & !self.act.val() {
                    self.want_key.d.next = false;
                    self.hash.load.next = self.tally.remembered.val() == 0;
                    self.state.d.next = State::Idle;
                }
            }
        }
        if self.clears.val() {
            self.sweep_set.d.next = self.sweep_set.q.val() + 1;
        }
        // Four ways of each set are swept at once: to which of the two sets the
        // way belongs would cost more than a second look now and then.
        self.clears_here.next = self.behind.q.val()
            & self.tables.expired.val().any()
            & ((((self.sweep_set.q.val() ^ self.set0.q.val()) & self.set_bits.val()) == 0)
                | (((self.sweep_set.q.val() ^ self.set1.q.val()) & self.set_bits.val()) == 0));
        // Where the end's entry is comes late, so nothing is chosen behind it.
        // (At a new packet a set of the last one's may be taken for one of its own: it is read twice.)
        self.stays.next =
            !self.accept.val() & (self.clears_here.val() | (self.disturbed.q.val() & !self.in_act.val()));
        self.disturbed.d.next = self.stays.val() | (self.buries.val() & self.disturbs.val());
        if self.accept.val() {
            self.state.d.next = State::Read;
            self.answered.d.next = false;
            self.tries.d.next = 127.into();
        }
        if self.accept.val() {
            self.packet.d.next = self.packet_data.val();
            self.packet.d.next.ud = self.has_datagrams.val() & self.packet_data.val().ud;
            self.set0.d.next = self.hash.hash0.val();
            self.set1.d.next = self.hash.hash1.val();
        }

        if self.clear_at.q.val() != self.sets.val() {
            self.clear_at.d.next = self.clear_at.q.val() + 1;
        }
        if (self.clear_at.q.val() == self.sets.val()) & self.numbers.ready.val() & self.tenants.ready.val() {
            self.cleared.d.next = true;
        }
        self.ready.next = self.cleared.q.val();

        if self.rst.val() {
            self.state.d.next = State::Idle;
            self.was_enabled.d.next = false;
            self.want_key.d.next = false;
            self.clear_at.d.next = 0.into();
            self.cleared.d.next = false;
            self.answered.d.next = false;
            self.is_consume.d.next = false;
            self.is_settle.d.next = false;
            self.is_take.d.next = false;
            self.is_unexpected.d.next = false;
            self.has_judged.d.next = false;
            self.has_buried.d.next = false;
            self.is_low.d.next = false;
            self.reclaim_at.d.next = 0.into();
            self.reclaim_turn.d.next = false;
            self.has_opened.d.next = false;
            self.disturbed.d.next = false;
            self.budget.d.next = 0x3f.into();
            self.pressed.d.next = false;
            self.sweep_first.d.next = false;
            self.behind.d.next = false;
            self.sweep_set.d.next = 0.into();
            self.sweep_in.d.next = 0.into();
            self.sweep_due.d.next = false;
        }
    }
}
