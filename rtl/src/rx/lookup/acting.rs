//! A packet's way, second part: its receive, what the judge is given, and what becomes of the
//! verdict.

use super::Lookup;
use crate::parts::Part;
use crate::prelude::*;

pub(super) struct Acting;

impl Part<Acting> for Lookup {
    #[hdl_gen]
    fn update(&mut self) {
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
    }
}
