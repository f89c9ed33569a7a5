//! The comparisons, third part: ages, what a slot has waited for, and the interval that starts now.

use super::Judge;
use crate::parts::Part;
use crate::prelude::*;

pub(super) struct Waits;

impl Part<Waits> for Judge {
    #[hdl_gen]
    fn update(&mut self) {
        // Ages.
        self.since_mark.next = self.now24.val() - self.state.val().mark_time;
        self.since_new.next = self.now24.val() - self.state.val().last_new;
        self.since_probe.next = self.now24.val() - self.state.val().probe_time;
        self.since.next = self.now.val() - self.state.val().since;
        self.half.next = bit_cast::<24, 23>(self.settles_in.val().get_bits::<23>(1));
        self.out.d.next.half_old = self.since_mark.val() >= self.half.val();
        self.out.d.next.old = self.since_new.val() >= self.settles_in.val();
        self.out.d.next.may_probe = self.since_probe.val() >= bit_cast::<24, 16>(self.rtt.val());
        // TX-10: from the first packet on.
        self.out.d.next.open_over = self.state.val().sent.any()
            & (self.since.val() >= bit_cast::<32, 24>(self.settings.val().t_open));
        self.out.d.next.grant_over = self.since.val() >= bit_cast::<32, 24>(self.settings.val().grant_wait);
        self.out.d.next.retries_over = self.state.val().probes >= self.settings.val().max_retry;
        self.out.d.next.left = self.state.val().deadline - self.now.val();
        self.out.d.next.first_left = self.state.val().linked_at - self.now.val();

        // Doublings, of the job that comes: they begin the shifts below.
        // Each by itself and in gates: the PROBEs come out of a memory.
        self.few_probes.next = self.next_probes.val().get_bits::<4>(4) == 0;
        self.halves.next = bit_cast::<4, 3>(self.next_probes.val().get_bits::<3>(1));
        // The interval that starts now, TX-9: of a pop it follows the PROBE it asks
        // for, of feedback the first, which finds the slot established.
        self.odd_pop.next = self.next_job.val().pop & self.next_probes.val().get_bit(0);
        self.one_more.d.next = self.odd_pop.val() & self.few_probes.val();
        self.waits.d.next = self.halves.val();
        self.carry1.next = self.odd_pop.val() & self.halves.val().get_bit(0);
        self.carry2.next = self.carry1.val() & self.halves.val().get_bit(1);
        self.doublings.d.next = self.halves.val()
            ^ bit_cast::<4, 1>(self.odd_pop.val().into())
            ^ (bit_cast::<4, 1>(self.carry1.val().into()) << 1)
            ^ (bit_cast::<4, 1>(self.carry2.val().into()) << 2)
            ^ (bit_cast::<4, 1>((self.carry2.val() & self.halves.val().get_bit(2)).into()) << 3);
        self.to_ceiling.d.next = self.halves.val().get_bits::<3>(0);
        self.more_to_ceiling.d.next = self.odd_pop.val();
        if self.halves.val().get_bit(2) & self.halves.val().get_bits::<2>(0).any() {
            self.to_ceiling.d.next = 5.into();
            self.more_to_ceiling.d.next = false;
        }
        self.to_longest.d.next = bit_cast::<2, 1>((self.odd_pop.val() | self.halves.val().get_bit(0)).into());
        if self.halves.val().get_bits::<2>(1).any() | self.carry1.val() {
            self.to_longest.d.next = 2.into();
        }
        if !self.few_probes.val() {
            self.waits.d.next = 8.into();
            self.doublings.d.next = 8.into();
            self.to_ceiling.d.next = 5.into();
            self.more_to_ceiling.d.next = false;
            self.to_longest.d.next = 2.into();
        }
        if self.next_job.val().feedback | self.next_job.val().accept {
            self.waits.d.next = 0.into();
            self.doublings.d.next = 0.into();
            self.to_ceiling.d.next = 0.into();
            self.more_to_ceiling.d.next = false;
            self.to_longest.d.next = 0.into();
        }

        // Intervals.
        // A state that is accepted into is still the last message's.
        self.granting.next = ((self.state.val().heard & !self.job.val().accept) | self.job.val().feedback)
            & self.bounded.val()
            & !(self.job.val().feedback & self.enough.val());
        self.watched.next = self.message.val().host_recovery
            & !self.unfinished.val()
            & ((self.state.val().heard & !self.job.val().accept) | self.job.val().feedback);
        self.rto.next = bit_cast::<32, 24>(self.settings.val().rto);
        self.round_wait.d.next = self.settings.val().rto_round;
        if self.settings.val().rto_round > self.settings.val().rto {
            self.round_wait.d.next = self.settings.val().rto;
        }
        self.ceiling.next = self.rto.val() << 5;
        self.longest.next = self.rto.val() << 2;
        self.wide_reach.next = bit_cast::<32, 18>(self.reach.val());
        self.parts[0].next = self.settings.val().rto;
        for i in 0..7 {
            self.parts[i + 1].next = self.parts[i].val() >> 1;
            self.beyond[i].next = bit_cast::<24, 18>(self.reach.val()) > self.parts[i].val();
        }
        self.from_rto.next = self.granting.val() | self.beyond[0].val();
        self.reach_waited.next = self.wide_reach.val() << self.waits.q.val();
        self.rto_waited.next = self.rto.val() << self.to_ceiling.q.val();
        // What a popped slot has waited for: its packets leave later than decided.
        self.limited_before.next = false;
        match self.waits.q.val().index() {
            6 => {
                self.limited_before.next = self.beyond[1].val();
            }
            7 => {
                self.limited_before.next = self.beyond[2].val();
            }
            8 => {
                self.limited_before.next = self.beyond[3].val();
            }
            _ => {}
        }
        // What is left of either, before it is known which counts.
        self.by_reach.next = !self.from_rto.val() & !self.limited_before.val();
        self.waited.next = self.rto_waited.val();
        if self.message.val().in_round & !self.state.val().heard & (self.state.val().probes == 0) {
            self.waited.next = bit_cast::<32, 24>(self.round_wait.q.val());
            self.by_reach.next = false;
        }
        if self.watched.val() {
            self.waited.next = self.ceiling.val();
            self.by_reach.next = false;
        }
        self.quiet.next = self.now24.val() - self.landed_at.val();
        if self.in_flight.val() {
            self.quiet.next = 0.into();
        }
        self.out.d.next.wire_left = self.waited.val() - bit_cast::<32, 24>(self.quiet.val());
        self.out.d.next.wire_long = !self.in_flight.val() & self.waited.val().get_bits::<9>(23).any();
        if self.by_reach.val() {
            // A sum's complement: of two differences from one a synthesiser makes one, behind the choice.
            self.out.d.next.wire_left = !(bit_cast::<32, 24>(self.quiet.val()) + !self.reach_waited.val());
            self.out.d.next.wire_long =
                !self.in_flight.val() & self.reach_waited.val().get_bits::<9>(23).any();
        }

        // The next one. One of a round is not doubled yet.
        self.of_round.next = self.message.val().in_round
            & !self.granting.val()
            & (self.job.val().accept
                | (self.job.val().turn & !self.state.val().heard & (self.state.val().probes == 0)));
        self.limited.next = false;
        match self.doublings.q.val().index() {
            6 => {
                self.limited.next = self.beyond[1].val();
            }
            7 => {
                self.limited.next = self.beyond[2].val();
            }
            8 => {
                self.limited.next = self.beyond[3].val();
            }
            _ => {}
        }
        self.linked_less.next = false;
        match self.doublings.q.val().index() {
            3 => {
                self.linked_less.next = self.beyond[1].val();
            }
            4 => {
                self.linked_less.next = self.beyond[2].val();
            }
            5 => {
                self.linked_less.next = self.beyond[3].val();
            }
            6 => {
                self.linked_less.next = self.beyond[4].val();
            }
            7 => {
                self.linked_less.next = self.beyond[5].val();
            }
            8 => {
                self.linked_less.next = self.beyond[6].val();
            }
            _ => {}
        }
        self.reach_next.next = self.reach_waited.val();
        if self.one_more.q.val() {
            self.reach_next.next = self.reach_waited.val() << 1;
        }
        self.rto_next.next = self.rto_waited.val();
        if self.more_to_ceiling.q.val() {
            self.rto_next.next = self.rto_waited.val() << 1;
        }
        self.rto_linked.next = self.rto.val() << self.to_longest.q.val();
        // Choices, not a shift: a synthesiser makes one of this and those above, behind what FEEDBACK says.
        self.busy_waits[0].next = bit_cast::<32, 24>(self.settings.val().busy_wait);
        self.busy_waits[1].next = self.busy_waits[0].val();
        if self.state.val().busy_count.get_bit(0) {
            self.busy_waits[1].next = self.busy_waits[0].val() << 1;
        }
        self.busy_waits[2].next = self.busy_waits[1].val();
        if self.state.val().busy_count.get_bit(1) {
            self.busy_waits[2].next = self.busy_waits[1].val() << 2;
        }
        self.busy_waits[3].next = self.busy_waits[2].val();
        if self.state.val().busy_count.get_bit(2) {
            self.busy_waits[3].next = self.busy_waits[2].val() << 4;
        }
        self.after_busy.next = self.busy_waits[3].val() + bit_cast::<32, 24>(self.jitter.val());
        if self.job.val().feedback & (self.feedback.val().flags & self.flag_busy.val()).any() {
            self.out.d.next.interval = self.after_busy.val();
            self.out.d.next.link = self.after_busy.val();
            if self.after_busy.val() > self.longest.val() {
                self.out.d.next.link = self.longest.val();
            }
        } else {
            if self.of_round.val() & !self.watched.val() {
                self.out.d.next.interval = bit_cast::<32, 24>(self.round_wait.q.val());
                self.out.d.next.link = bit_cast::<32, 24>(self.round_wait.q.val());
            } else {
                self.out.d.next.interval = self.reach_next.val();
                if self.from_rto.val() | self.limited.val() {
                    self.out.d.next.interval = self.rto_next.val();
                }
                self.out.d.next.link = self.reach_next.val();
                if self.from_rto.val() | self.linked_less.val() {
                    self.out.d.next.link = self.rto_linked.val();
                }
                if self.watched.val() {
                    self.out.d.next.interval = self.ceiling.val();
                    self.out.d.next.link = self.longest.val();
                }
            }
        }
    }
}
