//! The comparisons, first part: the round-trip sample, whether a job is its slot's, and what
//! FEEDBACK is worth.

use super::Judge;
use crate::parts::Part;
use crate::prelude::*;

pub(super) struct Feedback;

impl Part<Feedback> for Judge {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, out, age, sample, sampled, round_wait);
        dff_setup!(self, clk, waits, doublings, to_ceiling, one_more, more_to_ceiling, to_longest);
        self.verdict.next = self.out.q.val();
        self.now24.next = self.now.val().get_bits::<24>(0);

        // The sample, ready when its FEEDBACK's job is here.
        self.age.d.next = self.feedback.val().arrival - self.feedback.val().echo;
        self.trip.next = self.age.q.val() - bit_cast::<32, 16>(self.feedback.val().delay);
        self.sampled.d.next =
            (self.feedback.val().delay != self.no_sample.val()) & !self.trip.val().get_bit(31);
        if self.trip.val().get_bits::<16>(16).any() {
            self.sample.d.next = 0xFFFF.into();
        } else {
            if self.trip.val() == 0 {
                self.sample.d.next = 1.into();
            } else {
                self.sample.d.next = self.trip.val().get_bits::<16>(0);
            }
        }
        self.step_wide.next =
            bit_cast::<17, 16>(self.sample.q.val()) - bit_cast::<17, 16>(self.state.val().srtt);
        self.step.next = bit_cast::<16, 14>(self.step_wide.val().get_bits::<14>(3));
        if self.step_wide.val().get_bit(16) {
            self.step.next = bit_cast::<16, 14>(self.step_wide.val().get_bits::<14>(3)) | 0xC000;
        }
        self.out.d.next.echoes = self.feedback.val().delay != self.no_sample.val();
        self.out.d.next.sampled = self.sampled.q.val();
        if self.state.val().srtt == 0 {
            self.out.d.next.srtt = self.sample.q.val();
        } else {
            self.out.d.next.srtt = self.state.val().srtt + self.step.val();
        }
        if self.job.val().accept {
            self.out.d.next.srtt = self.known_rtt.val();
        }

        // Is it ours, and does it make sense?
        self.out.d.next.live = self.state.val().phase == 1;
        self.elsewhere.next = self.job.val().feedback & self.outside.val();
        self.out.d.next.ours = (self.state.val().phase == 1)
            & (self.state.val().generation == self.job.val().generation)
            & !self.elsewhere.val();
        self.out.d.next.reclaimed = self.job.val().reclaim
            & (self.state.val().phase == 1)
            & self.reclaim.val().active
            & (self.message.val().endpoint == self.reclaim.val().endpoint);
        // RL-4: what is over stays over; what ends waits for its own end.
        self.newer_by.next = self.job.val().generation - self.state.val().generation;
        self.out.d.next.past = !self.elsewhere.val()
            & (self.newer_by.val().get_bit(19)
                | ((self.newer_by.val() == 0) & (self.state.val().phase == 0)));
        self.out.d.next.release_asked = (self.feedback.val().flags & self.flag_complete.val()).any()
            & (self.feedback.val().flags & self.flag_release.val()).any();
        self.out.d.next.forged = (self.feedback.val().src_gid != self.message.val().dst_gid)
            | (self.feedback.val().src_endpoint != self.message.val().dst_endpoint)
            | (self.feedback.val().endpoint != self.message.val().endpoint);
        self.ends.next = (self.feedback.val().flags & self.flag_complete.val()).any()
            & !(self.feedback.val().flags & self.flag_abort.val()).any();
        // An ABORT can neither say "delivered" nor speak for this NIC.
        self.bad_abort.next = (self.feedback.val().flags & self.flag_abort.val()).any()
            & ((self.feedback.val().status == 0) | (self.feedback.val().status >= 16));
        // Of what was never sent nobody can know.
        self.unfinished.next = self.state.val().sent < self.message.val().count;
        self.out.d.next.nonsense = (self.state.val().sent == 0)
            | (self.feedback.val().cumulative > self.state.val().sent)
            | (self.ends.val() & self.unfinished.val())
            | self.bad_abort.val()
            | self.feedback.val().base.get_bits::<8>(0).any()
            | ((self.feedback.val().flags & self.flag_nack.val()).any()
                & ((self.feedback.val().base >= self.message.val().count)
                    | (self.feedback.val().limit > self.message.val().count)));
        self.out.d.next.complete = self.ends.val();
        self.out.d.next.aborted = (self.feedback.val().flags & self.flag_abort.val()).any();
        self.out.d.next.busy = (self.feedback.val().flags & self.flag_busy.val()).any();
        self.out.d.next.congested = (self.feedback.val().flags & self.flag_ce.val()).any();
        self.ahead.next = self.feedback.val().sequence - self.state.val().last_sequence;
        self.fresh.next =
            !self.state.val().sequenced | ((self.ahead.val() != 0) & !self.ahead.val().get_bit(7));
        self.out.d.next.fresh = self.fresh.val();
        // Others may have overtaken a NACK on paths of their own: it counts unless it
        // lies at or behind the latest one that did.
        self.behind.next = self.state.val().last_sequence - self.feedback.val().sequence;
        self.heeds.next = (self.feedback.val().flags & self.flag_nack.val()).any()
            & (self.fresh.val()
                | (!self.behind.val().get_bit(7)
                    & (self.behind.val().get_bits::<7>(0) < self.state.val().nack_behind)));
        self.out.d.next.heeds = self.heeds.val();
        self.fallen.next = bit_cast::<8, 7>(self.state.val().nack_behind) + self.ahead.val();
        self.out.d.next.nack_behind = self.state.val().nack_behind;
        if self.fresh.val() {
            if self.heeds.val() {
                self.out.d.next.nack_behind = 0.into();
            } else {
                if self.fallen.val().get_bit(7) | !self.state.val().sequenced {
                    self.out.d.next.nack_behind = 127.into();
                } else {
                    self.out.d.next.nack_behind = self.fallen.val().get_bits::<7>(0);
                }
            }
        } else {
            if self.heeds.val() {
                self.out.d.next.nack_behind = self.behind.val().get_bits::<7>(0);
            }
        }
    }
}
