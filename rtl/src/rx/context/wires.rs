//! The engine, first part: what is joined to what, and what holds in every state.
//!
//! Of a beginning event only the last part speaks ([`Begins`](super::begins::Begins)); what the
//! running one does to the same registers is put into `ran_*` here and in the second.

use super::{Context, ContextEvent, ContextState};
use crate::parts::Part;
use crate::prelude::*;

pub(super) struct Wires;

impl Part<Wires> for Context {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self,
            clk,
            state,
            cause,
            owner,
            packet,
            fixed,
            live,
            expiry,
            fence_failed,
            opened,
            hash,
            wants_answer,
            is_empty,
            retx,
            is_new,
            is_again,
            late,
            sets,
            flying,
            own_done,
            reading,
            cumulative_then,
            offset,
            address,
            bits,
            left,
            chunk_bits,
            chunk_done,
            header,
            header_full,
            chunk,
            chunk_full,
            ordered,
            met,
            ack_behind,
            step,
            nacks,
            nack_limit,
            order_ahead,
            order_stood,
            room,
            pause,
            quota,
            crosses,
            bytes_to,
            bytes_from,
            place,
            place_full,
            job,
            job_full,
            done,
            done_full,
            retire,
            retire_full,
            total,
            total_up,
            total_down,
            pulse
        );
        // What the running event does to what a beginning one may change in the
        // same clock: apart, so that no value seems to depend on itself.
        self.ran_bits.next = self.bits.q.val();
        self.ran_chunk_done.next = self.chunk_done.q.val();
        self.ran_nack_limit.next = self.nack_limit.q.val();
        self.ran_cumulative_then.next = self.cumulative_then.q.val();
        self.ran_is_again.next = self.is_again.q.val();
        self.ran_is_new.next = self.is_new.q.val();
        self.ran_left.next = self.left.q.val();
        self.ran_live.next = self.live.q.val();
        self.ran_nacks.next = self.nacks.q.val();
        self.ran_own_done.next = self.own_done.q.val();
        self.ran_pulse.next = self.pulse.q.val();
        self.ran_reading.next = self.reading.q.val();
        self.ran_state.next = self.state.q.val();
        self.ran_step.next = self.step.q.val();
        self.intake.clk.next = self.clk.val();
        self.intake.rst.next = self.rst.val();
        self.intake.run.next = self.interval.ready.val() & self.intake.ready.val();
        self.rounds.clk.next = self.clk.val();
        self.rounds.rst.next = self.rst.val();
        self.rounds.doorbell.next = self.doorbell.val();
        self.rounds.done_valid.next = false;
        self.rounds.done_endpoint.next = self.fixed.q.val().endpoint;
        self.rounds.done_id.next = self.fixed.q.val().round;
        self.rounds.query_endpoint.next = self.interval.query_endpoint.val();
        self.rounds.query_id.next = self.interval.query_round.val();
        self.interval.halvings.next = self.rounds.halvings.val();
        self.interval.registered.next = self.rounds.registered.val();
        self.interval.advanced.next = self.rounds.advanced.val();
        self.rounds_done.next = self.rounds.finished.val();
        self.round_pulls.next = self.rounds.advanced.val();
        self.intake.work_valid.next = self.work_valid.val();
        self.intake.work_data.next = self.work_data.val();
        self.work_ready.next = self.intake.work_ready.val();
        self.intake.fence_valid.next = self.fence_valid.val();
        self.intake.fence_data.next = self.fence_data.val();
        self.fence_ready.next = self.intake.fence_ready.val();
        self.intake.crowded.next = self.crowded.val();
        self.intake.expiry_valid.next = self.interval.expiry_valid.val();
        self.intake.expiry_data.next = self.interval.expiry_data.val();
        self.interval.expiry_ready.next = self.intake.expiry_ready.val();
        // The order stays on offer until it is answered.
        self.intake.order_valid.next = self.order_valid.val() & !self.ordered.q.val();
        self.intake.order_data.next = self.order_data.val();
        self.order_ready.next = self.ordered.q.val();
        self.order_met.next = self.met.q.val();
        self.ordered.d.next = false;
        self.intake.freed_valid.next = self.interval.freed_valid.val();
        self.intake.freed_data.next = self.interval.freed_data.val();
        self.interval.freed_ready.next = self.intake.freed_ready.val();
        self.intake.grant_valid.next = self.grant.head_valid.val();
        self.intake.grant_context.next = self.grant.head_context.val();
        self.intake.granting.next =
            (self.state.q.val() != ContextState::Idle) & (self.cause.q.val() == ContextEvent::Grant);
        self.intake.store_at.next = self.owner.q.val();
        self.intake.store_opened.next = self.opened.q.val();
        self.intake.store_fixed.next = self.fixed.q.val();
        self.interval.clk.next = self.clk.val();
        self.interval.rst.next = self.rst.val();
        self.interval.settings.next = self.settings.val();
        self.interval.now.next = self.now.val();
        self.insert_valid.next = self.interval.insert_valid.val();
        self.insert_data.next = self.interval.insert_data.val();
        self.interval.insert_ready.next = self.insert_ready.val();
        self.interval.pop_valid.next = self.pop_valid.val();
        self.interval.pop_node.next = self.pop_node.val();
        self.pop_ready.next = self.interval.pop_ready.val();
        self.nack_expiries.next = self.interval.expired.val();
        self.ready.next = self.interval.ready.val()
            & self.intake.ready.val()
            & self.rounds.ready.val()
            & self.grant.ready.val();
        self.grant.clk.next = self.clk.val();
        self.grant.rst.next = self.rst.val();
        self.grant.settings.next = self.settings.val();
        self.grant.doorbell.next = self.doorbell.val();
        self.grant.tick.next = self.now.val().get_bit(0);
        self.feedback.clk.next = self.clk.val();
        self.feedback.rst.next = self.rst.val();
        self.feedback_valid.next = self.feedback.feedback_valid.val();
        self.feedback_data.next = self.feedback.feedback_data.val();
        self.feedback.feedback_ready.next = self.feedback_ready.val();

        self.stock.clk.next = self.clk.val();
        self.stock.rst.next = self.rst.val();
        self.ending.fixed.next = self.fixed.q.val();
        self.ending.live.next = self.live.q.val();
        self.ending.failed.next = self.fence_failed.q.val();
        self.ending.low.next = self.low.val();

        // Registered outputs. There is room where nothing stands, whoever takes it now: else what
        // all of those behind do would be part of what this one may do in the same clock.
        self.place_valid.next = self.place_full.q.val();
        self.place_data.next = self.place.q.val();
        self.place_room.next = !self.place_full.q.val();
        self.place_waits.next = self.place_full.q.val() & !self.place_ready.val();
        self.place_full.d.next = self.place_waits.val();
        self.interval.job_valid.next = self.job_full.q.val();
        self.interval.job_data.next = self.job.q.val();
        self.header_valid.next = self.header_full.q.val();
        self.header_data.next = self.header.q.val();
        if self.header_ready.val() {
            self.header_full.d.next = false;
        }
        self.chunk_valid.next = self.chunk_full.q.val();
        self.chunk_data.next = self.chunk.q.val();
        self.chunk_room.next = !self.chunk_full.q.val();
        if self.chunk_ready.val() {
            self.chunk_full.d.next = false;
        }
        self.host.next = self.recovers.val() & self.fixed.q.val().host;
        self.by_order.next = self.cause.q.val() == ContextEvent::Order;
        self.job_room.next = !self.job_full.q.val();
        if self.interval.job_ready.val() {
            self.job_full.d.next = false;
        }
        self.done_valid.next = self.done_full.q.val();
        self.done_data.next = self.done.q.val();
        if self.done_ready.val() {
            self.done_full.d.next = false;
        }
        self.retire_valid.next = self.retire_full.q.val();
        if self.retire_ready.val() {
            self.retire_full.d.next = false;
        }
        self.retire_data.next = self.retire.q.val();
        self.outstanding.next = self.total.q.val().get_bits::<32>(0);
        if self.total.q.val().get_bits::<4>(32).any() {
            self.outstanding.next = 0xffff_ffff_u64.into();
        }
        self.not_granted.next = self.pulse.q.val().not_granted;
        self.duplicate.next = self.pulse.q.val().duplicate;
        self.mismatch.next = self.pulse.q.val().mismatch;
        self.rx_new.next = self.pulse.q.val().rx_new;
        self.rx_completed.next = self.pulse.q.val().rx_completed;
        self.rx_aborted.next = self.pulse.q.val().rx_aborted;
        self.remote_access.next = self.pulse.q.val().remote_access;
        self.grants_sent.next = self.pulse.q.val().grants_sent;
        self.judged.next = self.pulse.q.val().judged;
        self.ran_pulse.next.not_granted = false;
        self.ran_pulse.next.duplicate = false;
        self.ran_pulse.next.mismatch = false;
        self.ran_pulse.next.rx_new = false;
        self.ran_pulse.next.rx_completed = false;
        self.ran_pulse.next.rx_aborted = false;
        self.ran_pulse.next.remote_access = false;
        self.ran_pulse.next.grants_sent = false;
        self.ran_pulse.next.judged = false;

        self.cumulative.next = self.live.q.val().cumulative;
        self.granted.next = self.live.q.val().grant;
        self.count.next = self.fixed.q.val().count;
        self.index.next = self.packet.q.val().index;
        self.is_data.next = !self.packet.q.val().probe;

        // What a packet leads to.
        self.complete.next = self.is_new.q.val() & (self.cumulative.val() == self.count.val());
        self.since.next = self.live.q.val().since;
        if self.is_new.q.val() & (self.live.q.val().since != 255) {
            self.since.next = self.live.q.val().since + 1;
        }
        // In a register, one less: not what `since` comes to is compared, but what it is.
        self.ack_behind.d.next = self.settings.val().ack_every;
        if self.settings.val().ack_every.any() {
            self.ack_behind.d.next = self.settings.val().ack_every - 1;
        }
        self.answer.next = self.packet.q.val().probe | (self.is_again.q.val() & self.wants_answer.q.val());
        if self.is_new.q.val() {
            self.answer.next = self.wants_answer.q.val()
                | self.packet.q.val().ce
                | (self.live.q.val().since >= self.ack_behind.q.val());
        }
        self.commit.next =
            self.place_room.val() & self.job_room.val() & self.feedback.room.val() & self.chunk_room.val();

        self.answers.next = (self.state.q.val() == ContextState::Answer)
            & !self.done_full.q.val()
            & self.feedback.room.val()
            & !self.retire_full.q.val();

        // The next event begins in the last clock of most events.
        self.ends.next = (self.state.q.val() == ContextState::Idle)
            | self.answers.val()
            | ((self.state.q.val() == ContextState::Commit) & self.commit.val())
            | ((self.state.q.val() == ContextState::Drop) & (self.place_room.val() | self.is_empty.q.val()));
        self.starts.next = self.ends.val() & self.intake.event_valid.val();
        self.intake.take.next = self.starts.val();

        // Blocks at hand.
        self.ran_take.next = false;
        self.stock.available.next = self.alloc_available.val();
        self.stock.offered.next = self.alloc_block.val();
        self.pool_take.next = false;
        self.pool_for_grants.next = self.alloc_available.val() & self.stock.full.val();
        self.block_ready.next = self.stock.enough.val();

        // The words of the event.
        self.intake.store.next = false;
        self.store.next = self.live.q.val();

        // The block of `cumulative`.
        self.window.cumulative.next = self.cumulative.val();
        self.window.granted.next = self.granted.val();
        self.window.count.next = self.count.val();
        self.window.step.next = self.step.q.val();
        self.window.limit.next = self.nack_limit.q.val();
        self.first_gap.next = self.window.base.val() | bit_cast::<24, 8>(self.result.val().first_zero);
        self.past_index.next = self.index.val() + 1;
        self.own_limit.next = 256.into();
        if (self.granted.val() >> 8) == (self.cumulative.val() >> 8) {
            self.own_limit.next = bit_cast::<9, 8>(self.granted.val().get_bits::<8>(0));
        }
        self.own.live.next = self.live.q.val();
        self.own.slot.next = self.cumulative.val().get_bits::<2>(8);

        // Another block: of the packet, of a NACK, of an abort, of a grant.
        self.other.live.next = self.live.q.val();
        self.new_grant.next = self.granted.val() + bit_cast::<24, 9>(self.quota.q.val());
        self.other.slot.next = self.index.val().get_bits::<2>(8);
        if (self.state.q.val() == ContextState::Nack) | (self.state.q.val() == ContextState::NackWait) {
            self.other.slot.next = self.window.at.val().get_bits::<2>(8);
        }
        if self.state.q.val() == ContextState::Release {
            self.other.slot.next = bit_cast::<2, 3>(self.step.q.val());
        }
        if self.state.q.val() == ContextState::FirstBlock {
            self.other.slot.next = self.granted.val().get_bits::<2>(8);
        }
        if self.state.q.val() == ContextState::SecondBlock {
            self.other.slot.next = self.new_grant.val().get_bits::<2>(8);
        }
        self.same_block.next = (self.index.val() >> 8) == (self.cumulative.val() >> 8);
        self.in_window.next = (self.index.val() >= self.cumulative.val())
            & (self.index.val() < self.granted.val())
            & self.other.held.val();
        self.expected.next = (self.flying.q.val() == 1)
            | ((self.flying.q.val() == 2) & self.reading.q.val() & !self.own_done.q.val());
        self.set_slot.next = false;

        self.ran_op_valid.next = false;
        self.ran_op.next.kind = 0.into();
        self.ran_op.next.block = self.own.block.val();
        self.ran_op.next.index = self.packet.q.val().index.get_bits::<8>(0);
        self.ran_op.next.limit = self.own_limit.val();
        self.free_valid.next = false;
        self.free_block.next = self.other.block.val();

        // Grants: how far this message may be granted, and whether it waits.
        self.may_grant.next = self.window.may_grant.val();
        // GR-8.
        self.ample.next = self.live.q.val().credit > self.settings.val().credit_each;
        self.enters.next = self.may_grant.val() & !self.live.q.val().queued;
        self.grant.enter.next = false;
        self.grant.enter_data.next.context = self.owner.q.val();
        self.grant.enter_data.next.in_round = self.fixed.q.val().in_round;
        self.grant.enter_data.next.endpoint = self.fixed.q.val().endpoint;
        self.grant.enter_data.next.round = self.fixed.q.val().round;
        // GR-7: all in the first list, or by what is left.
        self.grant.enter_data.next.rest_list = 0.into();
        if self.settings.val().turn_policy.get_bit(1) {
            self.grant.enter_data.next.rest_list = self.window.rest_list.val();
        }
        self.ran_leave.next = false;
        self.grant.hold_off.next = false;
        self.grant.room.next = self.room.q.val();
        self.grant.payload_log2.next = self.fixed.q.val().payload_log2;
        self.grant.outstanding.next = self.total.q.val();
        self.grant.idle.next = self.live.q.val().credit == 0;
        self.grant.congested.next =
            self.interval.late_sample.val() & self.settings.val().credit_policy.get_bit(1);
        self.to_edge.next = bits::<9>(256) - bit_cast::<9, 8>(self.granted.val().get_bits::<8>(0));
        // As it was in the clock before. A quota that went since, for want of a first block, began at an
        // edge and could not have reached the next.
        self.crosses.d.next = ((self.new_grant.val() >> 8) != (self.granted.val() >> 8))
            & (self.new_grant.val().get_bits::<8>(0) != 0);
        self.granted_bytes.next = self.bytes_to.q.val() - self.bytes_from.q.val();
        self.credit_up.next = 0.into();
        self.credit_down.next = 0.into();

        self.feedback.fixed.next = self.fixed.q.val();
        self.feedback.live.next = self.live.q.val();
        self.feedback.make.next = false;
        self.feedback.request.next.flags = 0.into();
        self.feedback.request.next.status = 0.into();
        self.feedback.request.next.base = self.window.base.val();
        self.feedback.request.next.limit = 0.into();
        self.feedback.request.next.bitmap = self.bits.q.val();
        self.feedback.request.next.sample = false;
        self.feedback.request.next.ev = self.packet.q.val().ev;
        self.feedback.request.next.arrival = self.packet.q.val().arrival;
        self.feedback.request.next.timestamp = self.packet.q.val().timestamp;

        // A NACK stops at its limit, at the burst, and at the first block unless the expiry says more;
        // one that the host ordered is of one block.
        self.nack_more.next = self.window.asked.val()
            & (self.step.q.val() < 4)
            & ((self.nacks.q.val() < self.settings.val().nack_burst) | self.by_order.val())
            & ((self.step.q.val() == 0) | self.expiry.q.val().burst | self.by_order.val());
        self.order_last.next = self.nack_limit.q.val() - 1;
        self.order_ahead.d.next = (self.order_last.val() >> 8) - (self.cumulative.val() >> 8);
        self.order_stood.d.next = self.state.q.val() == ContextState::OrderBlock;
        self.whole_chunk.arrived.next = self.chunk_bits.q.val();
        self.whole_chunk.index.next = self.packet.q.val().index.get_bits::<8>(0);
        self.whole_chunk.chunk_log2.next = self.fixed.q.val().chunk_log2;
        self.nack_ask.next = 256.into();
        if (self.nack_limit.q.val() >> 8) == (self.window.at.val() >> 8) {
            self.nack_ask.next = bit_cast::<9, 8>(self.nack_limit.q.val().get_bits::<8>(0));
        }
        self.lends.next = false;
        self.loose.next = (!self.live.q.val().timed | self.live.q.val().untied) & !self.live.q.val().queued;

        if !self.retire_full.q.val() {
            self.retire.d.next.context = self.owner.q.val();
            self.retire.d.next.status = self.live.q.val().status;
            self.retire.d.next.free = self.loose.val();
        }
    }
}
