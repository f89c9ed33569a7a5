//! The judgement's states, clock by clock; the picture is the module's.

use super::{Interval, IntervalState};
use crate::prelude::*;

impl Logic for Interval {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self,
            clk,
            state,
            pop_turn,
            popping,
            visiting,
            patient,
            in_ring,
            to_visit,
            halved,
            halves,
            job,
            handed,
            owner_before,
            node,
            owner,
            word,
            at,
            source,
            product,
            steps,
            steps_few,
            stamp,
            stamp_over,
            one_way,
            late,
            rtt_known,
            sample_valid,
            sample,
            new_skew,
            answer_valid,
            answer_again,
            waited,
            new_answer,
            unaware,
            new_gap,
            least,
            span,
            tail_span,
            hole_at,
            hole_tail_at,
            mark_tail_at,
            silent_at,
            give_up_at,
            mark_due,
            pause,
            clear_at,
            cleared
        );
        self.words.clk.next = self.clk.val();
        self.words.rst.next = self.rst.val();
        self.ring.clk.next = self.clk.val();
        self.ring.rst.next = self.rst.val();
        self.sources.clock.next = self.clk.val();
        self.aim.clk.next = self.clk.val();
        self.aim.rst.next = self.rst.val();
        self.ready.next = self.cleared.q.val() & self.words.ready.val();
        self.expiry_valid.next = self.aim.expiry_valid.val();
        self.expiry_data.next = self.aim.expiry_data.val();
        self.aim.expiry_ready.next = self.expiry_ready.val();
        self.freed_valid.next = self.aim.freed_valid.val();
        self.freed_data.next = self.aim.freed_data.val();
        self.aim.freed_ready.next = self.freed_ready.val();
        self.insert_valid.next = self.aim.insert_valid.val();
        self.insert_data.next = self.aim.insert_data.val();
        self.aim.insert_ready.next = self.insert_ready.val();
        self.expired.next = self.aim.expired.val();

        self.jobless.next = self.popping.q.val() | self.visiting.q.val();
        self.is_packet.next = !self.jobless.val() & (self.job.q.val().kind == 0);
        self.is_grant.next = !self.jobless.val() & (self.job.q.val().kind == 1);
        self.is_answer.next = !self.jobless.val() & (self.job.q.val().kind == 2);
        self.is_end.next = !self.jobless.val() & (self.job.q.val().kind == 3);
        self.tells.next = self.is_packet.val() | self.is_grant.val();
        self.samples.next = !self.jobless.val() & self.job.q.val().fresh;

        // Which comes next.
        self.hand.next = (self.state.q.val() == IntervalState::Choose) & self.aim.aim_ready.val();
        self.free.next = self.ready.val() & ((self.state.q.val() == IntervalState::Idle) | self.hand.val());
        // Messages of rounds are visited in gaps, and after three of the others.
        self.wants_visit.next = self.to_visit.q.val().any() & self.ring.out_valid.val();
        self.take_visit.next = self.free.val()
            & self.wants_visit.val()
            & ((self.patient.q.val() == 3) | (!self.job_valid.val() & !self.pop_valid.val()));
        self.take_pop.next = self.free.val()
            & !self.take_visit.val()
            & self.pop_valid.val()
            & self.aim.may_pop.val()
            & !(self.hand.val() & self.popping.q.val())
            & (self.pop_turn.q.val() | !self.job_valid.val());
        self.take_job.next =
            self.free.val() & self.job_valid.val() & !self.take_pop.val() & !self.take_visit.val();
        self.pop_ready.next = self.take_pop.val();
        self.job_ready.next = self.take_job.val();

        self.chosen.next = self.job_data.val().context & self.contexts_mask.val();
        if self.take_pop.val() {
            self.chosen.next = bit_cast::<12, 13>(self.pop_node.val()) & self.contexts_mask.val();
        }
        if self.take_visit.val() {
            self.chosen.next = self.ring.out_data.val();
        }
        self.words.read_address.next = self.chosen.val();
        self.words.write_enable.next = false;
        self.words.write_address.next = self.owner.q.val();
        self.fetched.next = self.words.read_data.val();
        // Seen behind the memory: who comes next comes out of one too.
        self.again.next = self.handed.q.val() & (self.owner_before.q.val() == self.owner.q.val());
        if self.again.val() {
            self.fetched.next = self.word.q.val();
        }
        if !self.has_rounds.val() {
            self.fetched.next.in_round = false;
            self.fetched.next.round = 0.into();
        }
        self.sources.read_address.next = self.fetched.val().hash;
        if self.job.q.val().opened {
            self.sources.read_address.next = self.job.q.val().hash;
        }
        self.query_endpoint.next = self.fetched.val().endpoint;
        self.query_round.next = self.fetched.val().round;
        if self.job.q.val().opened {
            self.query_endpoint.next = self.job.q.val().endpoint;
            self.query_round.next = self.job.q.val().round;
        }
        self.sources.write_enable.next = false;
        self.sources.write_address.next = self.word.q.val().hash;
        self.sources.write_data.next.valid = true;
        self.sources.write_data.next.skew = self.source.q.val().skew;
        self.sources.write_data.next.samples = self.source.q.val().samples;
        self.sources.write_data.next.answer = self.source.q.val().answer;
        // Estimate: products and distances of this clock's word.
        self.left16.next = bit_cast::<16, 9>(self.word.q.val().left);
        self.gap16.next = self.word.q.val().gap;
        self.below.next = self.one_way.q.val() - self.word.q.val().d_min;

        // The gap sample: timestamp difference in 1/16 tick, per packet.
        self.gap20.next = bit_cast::<20, 16>(self.word.q.val().gap);
        self.quarter.next = self.gap20.val() >> 2;
        self.fourfold.next = self.gap20.val() << 2;
        self.since_gap.next = self.job.q.val().timestamp - self.word.q.val().gap_time;
        self.stamp20.next = bit_cast::<20, 16>(self.stamp.q.val()) << 4;
        if self.stamp_over.q.val() {
            self.stamp20.next = self.sample_max.val();
        }
        // Only differences of 1, 2, 4, 8 and 16 divide by a shift. Of what any other gives no sample is made.
        self.gap_steps.next = self.job.q.val().index - self.word.q.val().gap_index;
        self.divided.next = self.stamp20.val();
        if self.steps.q.val().get_bit(1) {
            self.divided.next = self.stamp20.val() >> 1;
        }
        if self.steps.q.val().get_bit(2) {
            self.divided.next = self.stamp20.val() >> 2;
        }
        if self.steps.q.val().get_bit(3) {
            self.divided.next = self.stamp20.val() >> 3;
        }
        if self.steps.q.val().get_bit(4) {
            self.divided.next = self.stamp20.val() >> 4;
        }
        self.clamped.next = self.divided.val();
        if self.divided.val() < self.quarter.val() {
            self.clamped.next = self.quarter.val();
        }
        if self.divided.val() > self.fourfold.val() {
            self.clamped.next = self.fourfold.val();
        }
        // Away from zero: rounded down, no sample would raise a gap of 1 or 2. A fall is
        // rounded so as it stands: the sum counts modulo 2^20, and bits beyond are gone. What a
        // rise is rounded by comes as the carry from a bit below.
        self.apart.next = self.sample.q.val() - self.gap20.val();
        self.change.next = self.apart.val() >> 3;
        if self.apart.val().get_bit(19) {
            self.change.next = (self.apart.val() >> 3) | self.beyond.val();
        }
        self.rounds_up.next = !self.apart.val().get_bit(19) & self.apart.val().get_bits::<3>(0).any();
        self.moved_gap.next = ((bit_cast::<21, 20>(self.gap20.val()) << 1) | 1)
            + ((bit_cast::<21, 20>(self.change.val()) << 1) | bit_cast::<21, 1>(self.rounds_up.val().into()));

        self.late24.next = bit_cast::<24, 32>(self.late.q.val()) << 8;
        if (self.late.q.val() >> 16).any() {
            self.late24.next = self.late_max.val();
        }
        self.skew_most.next = bit_cast::<24, 16>(self.settings.val().skew_max) << 8;
        // What it starts from is a guess, soon forgotten.
        self.skew_fall.next = (self.source.q.val().skew - self.late24.val()) >> 10;
        if self.source.q.val().samples != 127 {
            self.skew_fall.next = (self.source.q.val().skew - self.late24.val()) >> 6;
        }
        // The answer's time, RC-10.
        self.answer_most.next = bit_cast::<16, 24>(self.settings.val().rto);
        if (self.settings.val().rto >> 16).any() {
            self.answer_most.next = self.answer_max.val();
        }
        self.answer_fall.next = (self.source.q.val().answer - self.waited.q.val()) >> 3;
        self.answer_rise.next = bit_cast::<17, 16>(self.source.q.val().answer)
            + bit_cast::<17, 16>(self.source.q.val().answer >> 2);
        self.answer_up.next = self.waited.q.val();
        if self.answer_again.q.val() {
            self.answer_up.next = self.answer_rise.val().get_bits::<16>(0);
            if self.answer_rise.val().get_bit(16) {
                self.answer_up.next = self.answer_max.val();
            }
        }

        self.guard32.next = bit_cast::<32, 16>(self.settings.val().guard);
        self.d_min32.next = bit_cast::<32, 16>(self.settings.val().d_min);
        self.skew32.next = bit_cast::<32, 24>(self.source.q.val().skew >> 8);
        self.answer32.next = bit_cast::<32, 16>(self.source.q.val().answer);
        self.fixed32.next = bit_cast::<32, 16>(self.settings.val().ld_fixed);
        self.in_ticks.next = self.product.q.val() >> 4;
        self.from_gap.next = self.in_ticks.val() + self.skew32.val();
        self.rtt32.next = bit_cast::<32, 16>(self.settings.val().rtt_default);
        if self.rtt_known.q.val() {
            self.rtt32.next = bit_cast::<32, 16>(self.word.q.val().rtt);
        }
        self.spread_guard.next = self.in_ticks.val() + self.guard32.val();
        self.way.next = self.rtt32.val() + self.skew32.val();
        self.rtt_guard.next = self.rtt32.val() + self.guard32.val();
        self.round_trip.next = self.rtt_guard.val() + self.skew32.val();
        // LD-5: answers spread as far as skew says, to both sides of what was seen last.
        self.answer_way.next = self.answer32.val() + (self.skew32.val() >> 1);
        // Both sums stand beside the comparison, of other halves: one sum of what is chosen comes late.
        self.paused.next = self.from_gap.val() + self.rtt_guard.val();
        if self.way.val() < self.answer_way.val() {
            self.paused.next = self.answer_way.val() + self.spread_guard.val();
        }

        self.eased.next = self.span.q.val() >> self.halved.q.val();
        self.since_mark.next = self.at.q.val() - self.word.q.val().mark_time;
        self.answered_at.next = self.at.q.val() + self.pause.q.val();
        self.hold_sooner.next = self.answered_at.val() - self.word.q.val().hold;
        self.probe_at.next = self.at.q.val() + self.tail_span.q.val();
        self.hold_to_probe.next = self.probe_at.val() - self.word.q.val().hold;
        self.probe_sooner.next = self.probe_at.val() - self.word.q.val().probe_time;
        self.silence.next = self.at.q.val() - self.silent_at.q.val();
        self.marks_tail.next = self.word.q.val().tail & self.is_packet.val();
        self.sees_tail.next = self.marks_tail.val() & (self.job.q.val().highest != self.word.q.val().mark0);

        // Choose: LD-2, LD-3.
        self.base.next = self.silent_at.q.val();
        if self.word.q.val().hole {
            self.base.next = self.hole_at.q.val();
            if self.word.q.val().tail & (self.settings.val().ld_policy != 0) {
                self.base.next = self.mark_tail_at.q.val();
                if self.sees_tail.val() {
                    self.base.next = self.probe_at.val();
                }
            }
        }
        // What the timer is aimed by.
        self.aim.aim_valid.next = self.state.q.val() == IntervalState::Choose;
        self.aim.aim_data.next.context = self.owner.q.val();
        self.aim.aim_data.next.popping = self.popping.q.val();
        self.aim.aim_data.next.node = self.node.q.val();
        self.aim.aim_data.next.opened = self.job.q.val().opened;
        self.aim.aim_data.next.answer = self.is_answer.val();
        self.aim.aim_data.next.ends = self.is_end.val();
        self.aim.aim_data.next.open = self.word.q.val().open;
        self.aim.aim_data.next.missing = self.word.q.val().missing;
        self.aim.aim_data.next.hole = self.word.q.val().hole;
        // Until then some of what is missing may be on a slower path than the last.
        self.aim.aim_data.next.tail = self.word.q.val().tail
            & ((self.settings.val().ld_policy == 0) | (self.mark_due.q.val() & !self.sees_tail.val()));
        self.aim.aim_data.next.silent = !self.word.q.val().hole | !self.silence.val().get_bit(31);
        self.aim.aim_data.next.probed = self.word.q.val().probed;
        self.aim.aim_data.next.probe_armed = self.word.q.val().probe_armed;
        self.aim.aim_data.next.probe_time = self.word.q.val().probe_time;
        self.aim.aim_data.next.probe_limit = self.word.q.val().probe_limit;
        self.aim.aim_data.next.halved = self.halved.q.val().any();
        self.aim.aim_data.next.holding = self.word.q.val().holding;
        self.aim.aim_data.next.hold = self.word.q.val().hold;
        self.aim.aim_data.next.recent = self.word.q.val().mark1;
        if self.mark_due.q.val() {
            self.aim.aim_data.next.recent = self.word.q.val().mark0;
        }
        self.aim.aim_data.next.at = self.at.q.val();
        self.aim.aim_data.next.tail_span = self.tail_span.q.val();
        self.aim.aim_data.next.look_at = self.probe_at.val();
        self.aim.aim_data.next.deadline = self.base.val();
        self.aim.aim_data.next.hole_tail_at = self.hole_tail_at.q.val();
        self.aim.aim_data.next.give_up_at = self.give_up_at.q.val();

        self.late_sample.next = (self.state.q.val() == IntervalState::Times)
            & self.samples.val()
            & self.word.q.val().sampled
            & (self.late.q.val() > bit_cast::<32, 16>(self.settings.val().credit_delay));
        self.store.next = self.word.q.val();
        // A message of a round is in the ring once, until a visit finds it ended.
        self.rings.next = self.word.q.val().open
            & self.word.q.val().in_round
            & (self.visiting.q.val() | !self.word.q.val().in_ring);
        if self.rings.val() {
            self.store.next.in_ring = true;
        }
        if self.visiting.q.val() & !self.rings.val() {
            self.store.next.in_ring = false;
        }
        self.leaves.next = false;
        self.ring.in_valid.next = false;
        self.ring.in_data.next = self.owner.q.val();
        self.ring.out_ready.next = self.take_visit.val();
        match self.state.q.val() {
            IntervalState::Idle => {}
            IntervalState::Fetch => {
                self.word.d.next = self.fetched.val();
                if !self.jobless.val() {
                    if self.job.q.val().opened {
                        self.word.d.next.open = true;
                        self.word.d.next.hash = self.job.q.val().hash;
                        self.word.d.next.endpoint = self.job.q.val().endpoint;
                        self.word.d.next.in_round = self.job.q.val().in_round;
                        self.word.d.next.round = self.job.q.val().round;
                        self.word.d.next.gap = self.settings.val().gap0;
                        self.word.d.next.sampled = false;
                        self.word.d.next.hole = false;
                        self.word.d.next.mark0 = 0.into();
                        self.word.d.next.mark1 = 0.into();
                        self.word.d.next.mark_time = self.at.q.val();
                        self.word.d.next.probe_limit = 0.into();
                        self.word.d.next.probed = false;
                        self.word.d.next.probe_armed = false;
                        self.word.d.next.hold_limit = 0.into();
                        self.word.d.next.holding = false;
                        self.word.d.next.backoff = 0.into();
                    }
                    if self.tells.val() {
                        self.word.d.next.left = self.job.q.val().left;
                    }
                }
                self.state.d.next = IntervalState::Estimate;
            }
            IntervalState::Estimate => {
                self.product.d.next = self.left16.val() * self.gap16.val();
                self.source.d.next = self.sources.read_data.val();
                if !self.sources.read_data.val().valid {
                    self.source.d.next.skew = bit_cast::<24, 16>(self.settings.val().skew0) << 8;
                    self.source.d.next.samples = 0.into();
                    self.source.d.next.answer = self.settings.val().answer0;
                }
                // Out of a memory: what is 0 otherwise would be reset behind it.
                self.halved.d.next = self.halvings.val();
                self.halves.d.next = self.registered.val()
                    & self.word.q.val().in_round
                    & (self.settings.val().ld_policy.get_bit(1));
                // After a second NACK nobody knows which one is answered.
                self.answer_again.d.next = !self.jobless.val() & self.job.q.val().repeated;
                self.answer_valid.d.next = !self.jobless.val()
                    & (self.job.q.val().repeated
                        | (self.job.q.val().repaired
                            & (self.word.q.val().backoff == 1)
                            & (self.job.q.val().index < self.word.q.val().hold_limit)));
                self.waited.d.next = self.at.q.val().get_bits::<16>(0) - self.word.q.val().asked_at;
                self.rtt_known.d.next = self.word.q.val().rtt.any();
                self.steps.d.next = self.gap_steps.val().get_bits::<5>(0);
                self.steps_few.d.next = !self.gap_steps.val().get_bits::<19>(5).any();
                self.stamp.d.next = self.since_gap.val().get_bits::<16>(0);
                self.stamp_over.d.next = self.since_gap.val().get_bits::<16>(16).any();
                self.one_way.d.next = self.job.q.val().arrival - self.job.q.val().timestamp;
                self.sample_valid.d.next = self.samples.val()
                    & self.word.q.val().sampled
                    & (self.job.q.val().index > self.word.q.val().gap_index);
                if self.tells.val() {
                    self.word.d.next.tail = self.job.q.val().tail;
                    self.word.d.next.missing = self.job.q.val().missing;
                    self.word.d.next.hole = self.job.q.val().hole;
                    self.word.d.next.holding = self.job.q.val().cumulative < self.word.q.val().hold_limit;
                    self.word.d.next.probed = self.job.q.val().cumulative < self.word.q.val().probe_limit;
                    if self.job.q.val().hole & (self.job.q.val().moved | !self.word.q.val().hole) {
                        self.word.d.next.hole_time = self.at.q.val();
                    }
                    if self.job.q.val().moved {
                        self.word.d.next.backoff = 0.into();
                    }
                }
                // What was withheld until now counts as silence from now on.
                if self.is_grant.val() & !self.word.q.val().missing {
                    self.word.d.next.last_heard = self.at.q.val();
                }
                if self.is_packet.val() {
                    self.word.d.next.last_heard = self.at.q.val();
                    self.word.d.next.rtt = self.job.q.val().rtt;
                    self.rtt_known.d.next = self.job.q.val().rtt.any();
                    if self.job.q.val().probe & (self.job.q.val().limit > self.word.q.val().probe_limit) {
                        self.word.d.next.probe_limit = self.job.q.val().limit;
                        self.word.d.next.probed = self.job.q.val().cumulative < self.job.q.val().limit;
                    }
                }
                if self.is_answer.val() {
                    self.word.d.next.probe_armed = false;
                }
                if self.is_end.val() {
                    self.word.d.next.open = false;
                }
                self.state.d.next = IntervalState::Span;
            }
            IntervalState::Span => {
                if !self.halves.q.val() {
                    self.halved.d.next = 0.into();
                }
                // RD-4: what only the gap asks for can be spared, not the paths' skew.
                self.least.d.next = self.d_min32.val();
                self.span.d.next = 0.into();
                if self.from_gap.val() > self.d_min32.val() {
                    self.span.d.next = self.from_gap.val() - self.d_min32.val();
                }
                if self.skew32.val() > self.d_min32.val() {
                    self.least.d.next = self.skew32.val();
                    self.span.d.next = self.in_ticks.val();
                }
                self.tail_span.d.next = self.skew32.val() + self.guard32.val();
                self.pause.d.next = self.paused.val();
                self.unaware.d.next = bit_cast::<32, 16>(self.waited.q.val()) < self.round_trip.val();
                // LD-8: to compare with.
                if self.settings.val().ld_policy == 0 {
                    self.least.d.next = 0.into();
                    self.span.d.next = self.fixed32.val();
                    self.pause.d.next = self.fixed32.val();
                }
                self.give_up_at.d.next =
                    self.word.q.val().last_heard + bit_cast::<32, 24>(self.settings.val().rx_give_up);
                self.sample.d.next = self.clamped.val();
                self.sample_valid.d.next = self.sample_valid.q.val()
                    & self.steps_few.q.val()
                    & ((self.steps.q.val() == 1)
                        | (self.steps.q.val() == 2)
                        | (self.steps.q.val() == 4)
                        | (self.steps.q.val() == 8)
                        | (self.steps.q.val() == 16));
                if self.samples.val()
                    & (!self.word.q.val().sampled | (self.job.q.val().index > self.word.q.val().gap_index))
                {
                    self.word.d.next.gap_index = self.job.q.val().index;
                    self.word.d.next.gap_time = self.job.q.val().timestamp;
                }
                self.late.d.next = self.below.val();
                if self.below.val().get_bit(31) {
                    self.late.d.next = self.word.q.val().d_min - self.one_way.q.val();
                }
                if self.samples.val() & (!self.word.q.val().sampled | self.below.val().get_bit(31)) {
                    self.word.d.next.d_min = self.one_way.q.val();
                }
                self.state.d.next = IntervalState::Times;
            }
            IntervalState::Times => {
                // RD-4. Each a sum of its own, that begins with what stands: a shared one comes before both.
                self.hole_at.d.next = self.word.q.val().hole_time + self.least.q.val() + self.eased.val();
                self.hole_tail_at.d.next = self.word.q.val().hole_time + self.tail_span.q.val();
                self.mark_tail_at.d.next = self.word.q.val().mark_time + self.tail_span.q.val();
                self.silent_at.d.next =
                    self.word.q.val().last_heard + self.guard32.val() + self.least.q.val() + self.eased.val();
                self.mark_due.d.next = self.since_mark.val() >= self.tail_span.q.val();
                // LD-5, or the wait after an expiry that found nothing to ask for.
                if self.is_answer.val() {
                    self.word.d.next.holding = true;
                    if self.job.q.val().sent {
                        self.word.d.next.hold =
                            self.at.q.val() + (self.pause.q.val() << (self.word.q.val().backoff >> 1));
                        self.word.d.next.hold_limit = self.job.q.val().limit;
                        self.word.d.next.asked_at = self.at.q.val().get_bits::<16>(0);
                        if self.word.q.val().backoff != 10 {
                            self.word.d.next.backoff = self.word.q.val().backoff + 1;
                        }
                    } else {
                        self.word.d.next.hold = self.at.q.val() + self.tail_span.q.val();
                        self.word.d.next.hold_limit = self.job.q.val().cumulative + 1;
                    }
                }
                // The NACKs get through: the next hole waits for one answer only.
                if self.is_packet.val() & self.job.q.val().moved & self.hold_sooner.val().get_bit(31) {
                    self.word.d.next.hold = self.answered_at.val();
                }
                if self.is_packet.val() & self.job.q.val().probe & self.word.q.val().probed {
                    if !self.word.q.val().probe_armed | self.probe_sooner.val().get_bit(31) {
                        self.word.d.next.probe_time = self.probe_at.val();
                    }
                    // Nothing is on its way to be waited for but what came before it,
                    // unless it left before the NACK came.
                    if self.hold_to_probe.val().get_bit(31) & !self.unaware.q.val() {
                        self.word.d.next.hold = self.probe_at.val();
                    }
                    self.word.d.next.probe_armed = true;
                }
                if !self.word.q.val().probed {
                    self.word.d.next.probe_armed = false;
                }
                self.new_gap.d.next = self.moved_gap.val().get_bits::<20>(1);
                self.new_skew.d.next = self.source.q.val().skew - self.skew_fall.val();
                if self.late24.val() >= self.source.q.val().skew {
                    self.new_skew.d.next = self.late24.val();
                    if self.late24.val() > self.skew_most.val() {
                        self.new_skew.d.next = self.skew_most.val();
                    }
                }
                self.new_answer.d.next = self.source.q.val().answer - self.answer_fall.val();
                if self.answer_again.q.val() | (self.waited.q.val() >= self.source.q.val().answer) {
                    self.new_answer.d.next = self.answer_up.val();
                    if self.answer_up.val() > self.answer_most.val() {
                        self.new_answer.d.next = self.answer_most.val();
                    }
                }
                self.state.d.next = IntervalState::Choose;
            }
            IntervalState::Choose => {
                if self.mark_due.q.val() & self.is_packet.val() {
                    self.store.next.mark1 = self.word.q.val().mark0;
                }
                // The mark of the tail stays.
                if self.sees_tail.val()
                    | (self.mark_due.q.val() & self.is_packet.val() & !self.marks_tail.val())
                {
                    self.store.next.mark0 = self.job.q.val().highest;
                    self.store.next.mark_time = self.at.q.val();
                }
                if self.sample_valid.q.val() {
                    self.store.next.gap = bit_cast::<16, 20>(self.new_gap.q.val());
                    if self.new_gap.q.val() > self.gap_max.val() {
                        self.store.next.gap = bit_cast::<16, 20>(self.gap_max.val());
                    }
                    if self.new_gap.q.val() == 0 {
                        self.store.next.gap = 1.into();
                    }
                }
                if self.samples.val() {
                    self.store.next.sampled = true;
                }
                if self.hand.val() {
                    self.leaves.next = self.visiting.q.val() & !self.rings.val();
                    self.ring.in_valid.next = self.rings.val();
                    // A context's first sample only sets its smallest one-way time.
                    self.sources.write_enable.next =
                        (self.samples.val() & self.word.q.val().sampled) | self.answer_valid.q.val();
                    if self.samples.val() & self.word.q.val().sampled {
                        self.sources.write_data.next.skew = self.new_skew.q.val();
                        if self.source.q.val().samples != 127 {
                            self.sources.write_data.next.samples = self.source.q.val().samples + 1;
                        }
                    }
                    if self.answer_valid.q.val() {
                        self.sources.write_data.next.answer = self.new_answer.q.val();
                    }
                    self.words.write_enable.next = true;
                    self.word.d.next = self.store.val();
                    self.state.d.next = IntervalState::Idle;
                }
            }
        }
        self.words.write_data.next = self.store.val();

        // The next is taken in the last clock of the one before.
        if self.take_pop.val() | self.take_job.val() | self.take_visit.val() {
            self.at.d.next = self.now.val();
            self.popping.d.next = self.take_pop.val();
            self.visiting.d.next = self.take_visit.val();
            if self.patient.q.val() != 3 {
                self.patient.d.next = self.patient.q.val() + 1;
            }
            if self.take_visit.val() {
                self.patient.d.next = 0.into();
            }
            self.job.d.next = self.job_data.val();
            self.node.d.next = self.pop_node.val().get_bit(12);
            self.owner.d.next = self.chosen.val();
            self.owner_before.d.next = self.owner.q.val();
            self.handed.d.next = self.hand.val();
            if !self.take_job.val() {
                self.job.d.next.opened = false;
            }
            self.pop_turn.d.next = self.take_job.val();
            self.state.d.next = IntervalState::Fetch;
        }

        // How many stand in the ring, and how many of them this sweep has left.
        if self.ring.in_valid.val() & !self.visiting.q.val() {
            self.in_ring.d.next = self.in_ring.q.val() + 1;
        }
        if self.leaves.val() {
            self.in_ring.d.next = self.in_ring.q.val() - 1;
        }
        if self.take_visit.val() {
            self.to_visit.d.next = self.to_visit.q.val() - 1;
        }
        if self.advanced.val() {
            self.to_visit.d.next = self.in_ring.q.val();
        }

        if !self.cleared.q.val() {
            self.sources.write_enable.next = true;
            self.sources.write_address.next = bit_cast::<8, 9>(self.clear_at.q.val());
            self.sources.write_data.next.valid = false;
            self.clear_at.d.next = self.clear_at.q.val() + 1;
            self.cleared.d.next = (self.clear_at.q.val() + 1).get_bit(8);
        }

        if self.rst.val() {
            self.state.d.next = IntervalState::Idle;
            self.pop_turn.d.next = false;
            self.in_ring.d.next = 0.into();
            self.to_visit.d.next = 0.into();
            self.clear_at.d.next = 0.into();
            self.cleared.d.next = false;
            // What the words are cleared with.
            self.word.d.next = self.no_word.val();
        }
    }
}
