//! A packet's way through the tables, clock by clock; the picture is the module's.

use super::{Lookup, State};
use crate::prelude::*;

impl Logic for Lookup {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self,
            clk,
            state,
            was_enabled,
            want_key,
            clear_at,
            cleared,
            packet,
            set0,
            set1,
            answered,
            receive,
            is_consume,
            is_settle,
            is_take,
            is_unexpected,
            is_stale,
            is_busy_receive,
            is_busy_resources,
            is_busy_conflict,
            is_busy_quota,
            is_no_context,
            is_finished,
            is_opened,
            is_ud_receive,
            disturbed,
            tries,
            budget,
            pressed,
            sweep_set,
            sweep_in,
            sweep_due,
            sweep_first,
            behind,
            has_judged,
            has_buried,
            is_low,
            reclaim_at,
            reclaim_way,
            reclaim_of,
            reclaim_turn,
            lives_to,
            released_to,
            is_tagged,
            has_opened
        );
        self.ends.clk.next = self.clk.val();
        self.ends.rst.next = self.rst.val();
        self.tally.clk.next = self.clk.val();
        self.tally.rst.next = self.rst.val();
        self.tenants.clk.next = self.clk.val();
        self.tenants.rst.next = self.rst.val();
        self.numbers.clk.next = self.clk.val();
        self.numbers.rst.next = self.rst.val();
        self.reply.clk.next = self.clk.val();
        self.reply.rst.next = self.rst.val();
        self.hash.clk.next = self.clk.val();
        self.hash.rst.next = self.rst.val();

        // What state we are in.
        self.in_act.next = self.state.q.val() == State::Act;
        self.in_clear.next = self.state.q.val() == State::SweepClear;
        self.sweeping.next = (self.state.q.val() == State::SweepRead)
            | (self.state.q.val() == State::SweepCompare)
            | self.in_clear.val();
        self.ask_valid.next =
            (self.state.q.val() == State::Read) & ((self.packet.q.val().flags & self.est_flag.val()) == 0);
        self.ask_ring.next = self.tenants.ring.val();
        self.looking.next = (self.state.q.val() == State::Read)
            | (self.state.q.val() == State::ReadAgain)
            | (self.state.q.val() == State::Compare)
            | (self.state.q.val() == State::Choose)
            | self.in_act.val();
        // The tag of a write is an address; a datagram and a RELEASE have none.
        self.by_tag.next = self.tenants.tags.val()
            & !self.packet.q.val().ud
            & !self.packet.q.val().release
            & ((self.packet.q.val().flags & self.write_flag.val()) == 0);
        self.match_ask.next =
            self.looking.val() & self.by_tag.val() & ((self.packet.q.val().flags & self.est_flag.val()) == 0);
        self.match_endpoint.next = self.packet.q.val().endpoint;
        self.match_tag.next = self.packet.q.val().tag;

        // The hash of the packet on offer, which comes out of a memory: made while it stands there. (Also in the
        // clock in which the tables are filled to the end: the last word is of no key, which has 164 bits of 165.)
        self.hash.seed.next = self.settings.val().seed;
        self.hash.gid.next = self.packet_data.val().src_gid;
        self.hash.endpoint.next = self.packet_data.val().src_endpoint;
        self.hash.slot.next = self.packet_data.val().slot;

        // The tables: the sets of the packet, or of the sweep, which comes once
        // what was read for the packet has been compared.
        self.clears.next = self.in_clear.val() | self.behind.q.val();
        if self.sweeping.val() | (self.state.q.val() == State::Choose) | self.in_act.val() {
            self.tables.set0.next = self.sweep_set.q.val();
            self.tables.set1.next = self.sweep_set.q.val();
        } else {
            self.tables.set0.next = self.set0.q.val();
            self.tables.set1.next = self.set1.q.val();
        }
        self.reclaim_chooses.next = self.state.q.val() == State::ReclaimChoose;
        self.reclaim_acts.next = self.state.q.val() == State::ReclaimAct;
        self.reclaim_reads.next =
            (self.state.q.val() == State::ReclaimRead) | self.reclaim_chooses.val() | self.reclaim_acts.val();
        self.tables.way.next = self.reclaim_way.q.val();
        self.ends.look_at.next = self.reclaim_at.q.val();
        // The entry is judged out of the register that a packet's is in.
        self.reclaimable.next = self.reclaim_acts.val()
            & self.reclaim.val().active
            & (self.tables.found_held.val().state == 1)
            & (self.tables.found_held.val().value.get_bits::<12>(0) == self.reclaim_at.q.val())
            & (self.reclaim_of.q.val() == self.reclaim.val().endpoint);
        self.reclaims.next = self.reclaimable.val() & self.reply.free.val();
        self.tables.clk.next = self.clk.val();
        self.tables.present.next = self.now.val().get_bits::<18>(8);
        self.tables.choose.next = self.state.q.val() == State::Choose;
        self.tables.choose_way.next = self.reclaim_chooses.val();
        self.tables.key.next.gid = self.packet.q.val().src_gid;
        self.tables.key.next.endpoint = self.packet.q.val().src_endpoint;
        self.tables.key.next.slot = self.packet.q.val().slot;
        self.tables.key.next.generation = self.packet.q.val().generation;

        // The receive on offer.
        if self.answer_valid.val() {
            self.answered.d.next = true;
            self.receive.d.next = self.answer.val();
        }

        self.posted.next = self.receive.q.val();
        if self.answer_valid.val() {
            self.posted.next = self.answer.val();
        }

        // A tagged receive comes before those of the ring.
        self.is_tagged.d.next = self.by_tag.val();
        self.unmatched.next = self.is_tagged.q.val() & !self.match_known.val();
        self.is_match.next =
            self.is_tagged.q.val() & self.match_known.val() & self.match_answer.val().available;
        if self.is_match.val() {
            self.posted.next = self.match_answer.val();
        }

        // Act.
        self.awaits.next = self.judge.asks.val()
            & !self.posted.val().available
            & !self.unmatched.val()
            & self.posted.val().coming
            & (self.tries.q.val() != 0)
            & (!self.pressed.q.val() | (self.budget.q.val() != 0));
        self.retries.next = self.in_act.val()
            & !self.disturbed.q.val()
            & self.awaits.val()
            & (self.answered.q.val() | self.answer_valid.val());
        self.has_answer.next = (self.answered.q.val() | self.answer_valid.val()) & !self.unmatched.val();
        self.may_act.next = self.in_act.val() & !self.disturbed.q.val() & self.reply.free.val();
        self.act.next =
            self.may_act.val() & !self.awaits.val() & (self.has_answer.val() | !self.judge.asks.val());
        // One try of 4 clocks in 16, and the turns of the sweep tell the time.
        self.pressed.d.next = self.packet_valid.val();
        self.earns.next = (self.sweep_in.q.val().get_bits::<4>(0) == 0) & !self.budget.q.val().all();
        self.spends.next = self.retries.val() & self.pressed.q.val();
        if self.earns.val() & !self.spends.val() {
            self.budget.d.next = self.budget.q.val() + 1;
        }
        if self.spends.val() & !self.earns.val() {
            self.budget.d.next = self.budget.q.val() - 1;
        }
        self.judge.act.next = self.act.val();
        self.judge.may_act.next = self.may_act.val();
        self.judge.answered.next = self.has_answer.val();
        self.judge.packet.next = self.packet.q.val();
        self.judge.found.next = self.tables.found.val().any();
        self.judge.generation.next = self.tables.found_generation.val();
        self.judge.held.next = self.tables.found_held.val();
        self.judge.vacancy.next = self.tables.vacancy.val().any();
        self.judge.context_available.next = self.numbers.available.val();
        self.judge.block_available.next = self.block_available.val();
        self.judge.below.next = self.tally.below.val();
        self.judge.used_up.next = self.tenants.used_up.val();
        self.judge.low.next = self.is_low.q.val();
        self.judge.receive.next = self.posted.val();
        self.has_opened.d.next = self.judge.open.val();
        self.numbers.take.next = self.has_opened.q.val();
        if self.judge.replaces.val() {
            self.place.next = self.tables.found.val();
        } else {
            self.place.next = self.tables.vacancy.val();
        }
        self.reply.act.next = self.act.val() | self.reclaims.val();
        self.reply.destroyed.next = self.reclaims.val();
        self.reply.packet.next = self.packet.q.val();
        self.reply.receive.next = self.posted.val();
        self.reply.host.next = self.judge.host.val();
        self.reply.own.next = self.is_match.val();
        self.reply.work.next = self.judge.work.val() | self.reclaims.val();
        self.reply.verdict.next = self.judge.verdict.val();
        if self.reclaims.val() {
            self.reply.verdict.next = 3.into();
        }
        self.reply.deliver.next = self.judge.deliver.val();
        self.reply.replies.next = self.judge.replies.val();
        self.reply.flags.next = self.judge.flags.val();
        self.reply.status.next = self.judge.status.val();
        self.reply.all.next = self.judge.all.val();
        self.reply.denied.next = self.judge.denied.val();
        if self.judge.open.val() {
            self.reply.number.next = self.numbers.number.val();
        } else {
            self.reply.number.next =
                self.tables.found_held.val().value.get_bits::<12>(0) & self.last_context.val();
        }
        self.work_valid.next = self.reply.work_valid.val();
        self.work_data.next = self.reply.work_data.val();
        self.reply.work_ready.next = self.work_ready.val();
        self.feedback_valid.next = self.reply.feedback_valid.val();
        self.feedback_data.next = self.reply.feedback_data.val();
        self.reply.feedback_ready.next = self.feedback_ready.val();

        self.is_consume.d.next =
            (self.judge.consumes.val() & !self.is_match.val()) | self.judge.deliver.val();
        self.is_ud_receive.d.next = self.judge.ud_receive.val();
        self.ud_receive.next = self.is_ud_receive.q.val();
        // While a receive of the ring is on its way, others may be posted.
        self.is_settle.d.next = self.act.val() | self.retries.val();
        self.match_settle.next = self.is_settle.q.val();
        self.is_take.d.next = self.judge.open.val() & self.is_match.val();
        self.match_take.next = self.is_take.q.val();
        self.is_unexpected.d.next = self.judge.open.val() & !self.is_match.val() & self.is_tagged.q.val();
        self.match_unexpected.next = self.is_unexpected.q.val();
        self.consume.next = self.is_consume.q.val();
        self.is_stale.d.next = self.judge.stale.val();
        self.stale.next = self.is_stale.q.val();
        self.is_busy_receive.d.next = self.judge.busy_receive.val();
        self.busy_receive.next = self.is_busy_receive.q.val();
        self.is_busy_resources.d.next = self.judge.busy_resources.val();
        self.busy_resources.next = self.is_busy_resources.q.val();
        self.is_busy_conflict.d.next = self.judge.busy_conflict.val();
        self.busy_conflict.next = self.is_busy_conflict.q.val();
        self.is_busy_quota.d.next = self.judge.busy_quota.val();
        self.busy_quota.next = self.is_busy_quota.q.val();
        self.is_no_context.d.next = self.judge.no_context.val();
        self.no_context.next = self.is_no_context.q.val();
        self.is_finished.d.next = self.judge.finished.val();
        self.finished.next = self.is_finished.q.val();
        self.is_opened.d.next = self.judge.opened.val();
        self.opened.next = self.is_opened.q.val();

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
