//! The judgement, second part: the sums behind gap, skew, answer and pauses.

use super::Interval;
use crate::parts::Part;
use crate::prelude::*;

pub(super) struct Estimates;

impl Part<Estimates> for Interval {
    #[hdl_gen]
    fn update(&mut self) {
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
    }
}
