//! The judgement, last part: its states, clock by clock, and the ring of messages of rounds; the
//! picture is the module's.

use super::{Interval, IntervalState};
use crate::parts::Part;
use crate::prelude::*;

pub(super) struct States;

impl Part<States> for Interval {
    #[hdl_gen]
    fn update(&mut self) {
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
