//! The judgement, first part: what is joined to what, which job, pop or visit comes next, and
//! what is read for it.

use super::{Interval, IntervalState};
use crate::parts::Part;
use crate::prelude::*;

pub(super) struct Wires;

impl Part<Wires> for Interval {
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
    }
}
