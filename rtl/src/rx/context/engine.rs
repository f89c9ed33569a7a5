//! The engine's states, clock by clock; the picture is the module's.

use super::{Context, ContextEvent, ContextState};
use crate::prelude::*;

impl Logic for Context {
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
            step,
            nacks,
            nack_limit,
            room,
            pause,
            quota,
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

        // Registered outputs.
        self.place_valid.next = self.place_full.q.val();
        self.place_data.next = self.place.q.val();
        self.place_room.next = !self.place_full.q.val() | self.place_ready.val();
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
        self.chunk_room.next = !self.chunk_full.q.val() | self.chunk_ready.val();
        if self.chunk_ready.val() {
            self.chunk_full.d.next = false;
        }
        self.host.next = self.recovers.val() & self.fixed.q.val().host;
        self.by_order.next = self.cause.q.val() == ContextEvent::Order;
        self.job_room.next = !self.job_full.q.val() | self.interval.job_ready.val();
        if self.interval.job_ready.val() {
            self.job_full.d.next = false;
        }
        self.done_valid.next = self.done_full.q.val();
        self.done_data.next = self.done.q.val();
        self.done_now.next = self.done_full.q.val() & self.done_ready.val();
        if self.done_now.val() {
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
        self.answer.next = self.packet.q.val().probe | (self.is_again.q.val() & self.wants_answer.q.val());
        if self.is_new.q.val() {
            self.answer.next = self.wants_answer.q.val()
                | self.packet.q.val().ce
                | (self.since.val() >= self.settings.val().ack_every);
        }
        self.commit.next =
            self.place_room.val() & self.job_room.val() & self.feedback.room.val() & self.chunk_room.val();

        self.answers.next = (self.state.q.val() == ContextState::Answer)
            & (!self.done_full.q.val() | self.done_now.val())
            & self.feedback.room.val()
            & !self.retire_full.q.val();

        // The next event begins in the last clock of most events.
        self.ends.next = (self.state.q.val() == ContextState::Idle)
            | self.answers.val()
            | ((self.state.q.val() == ContextState::Commit) & self.commit.val())
            | ((self.state.q.val() == ContextState::Drop)
                & (self.place_room.val() | (self.packet.q.val().payload_len == 0)));
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
        self.enters.next = self.may_grant.val() & !self.live.q.val().queued;
        self.grant.enter.next = false;
        self.grant.enter_data.next.context = self.owner.q.val();
        self.grant.enter_data.next.in_round = self.fixed.q.val().in_round;
        self.grant.enter_data.next.endpoint = self.fixed.q.val().endpoint;
        self.grant.enter_data.next.round = self.fixed.q.val().round;
        self.ran_leave.next = false;
        self.grant.hold_off.next = false;
        self.grant.room.next = self.room.q.val();
        self.grant.payload_log2.next = self.fixed.q.val().payload_log2;
        self.grant.outstanding.next = self.total.q.val();
        self.grant.idle.next = self.live.q.val().credit == 0;
        self.grant.congested.next =
            self.interval.late_sample.val() & self.settings.val().credit_policy.get_bit(1);
        self.to_edge.next = bits::<9>(256) - bit_cast::<9, 8>(self.granted.val().get_bits::<8>(0));
        self.crosses.next = ((self.new_grant.val() >> 8) != (self.granted.val() >> 8))
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
        self.order_ahead.next = (self.order_last.val() >> 8) - (self.cumulative.val() >> 8);
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

        match self.state.q.val() {
            ContextState::Idle => {}
            ContextState::Drop => {
                self.place.d.next.kind = 0.into();
                self.place.d.next.ud = self.packet.q.val().ud;
                self.place.d.next.area = false;
                self.place.d.next.chunk = false;
                self.place.d.next.more = false;
                if self.packet.q.val().ud {
                    // No context has a part in a datagram.
                    self.place.d.next.kind = 3.into();
                    self.place.d.next.address = self.packet.q.val().buffer;
                    self.place.d.next.length = self.packet.q.val().payload_len;
                }
                if (self.packet.q.val().payload_len == 0) | self.place_room.val() {
                    self.place_full.d.next = self.place_waits.val() | (self.packet.q.val().payload_len != 0);
                    // Behind an abort it was judged before.
                    self.ran_pulse.next.judged = self.step.q.val() == 0;
                    self.ran_pulse.next.duplicate = self.late.q.val();
                    self.ran_state.next = ContextState::Idle;
                }
            }
            ContextState::Open => {
                // Its first block, and the credit of its first grant.
                self.ran_op_valid.next = true;
                self.ran_op.next.kind = 2.into();
                if (self.count.val() >> 8) != 0 {
                    self.ran_op.next.limit = 256.into();
                } else {
                    self.ran_op.next.limit = bit_cast::<9, 8>(self.count.val().get_bits::<8>(0));
                }
                self.credit_up.next =
                    bit_cast::<32, 24>(self.granted.val()) << self.fixed.q.val().payload_log2;
                if self.granted.val() == self.count.val() {
                    self.credit_up.next = self.fixed.q.val().length;
                }
                self.ran_live.next.credit = bit_cast::<24, 32>(self.credit_up.val());
                // A message may open with a packet beyond its grant, and waits for the others then.
                self.ran_pulse.next.not_granted =
                    self.is_data.val() & (self.index.val() >= self.granted.val());
                self.sets.d.next = self.is_data.val() & self.in_window.val();
                self.ran_state.next = ContextState::Ask;
                if self.host.val() {
                    self.ran_state.next = ContextState::Header;
                }
            }
            ContextState::Header => {
                if !self.header_full.q.val() {
                    self.header_full.d.next = true;
                    self.header.d.next.buffer = self.fixed.q.val().buffer;
                    self.header.d.next.area_log2 = self.fixed.q.val().area_log2;
                    self.header.d.next.chunk_log2 = self.fixed.q.val().chunk_log2;
                    self.header.d.next.context = self.owner.q.val();
                    self.header.d.next.generation = self.fixed.q.val().generation;
                    self.header.d.next.count = self.count.val();
                    self.header.d.next.length = self.fixed.q.val().length;
                    self.header.d.next.payload_log2 = self.fixed.q.val().payload_log2;
                    self.header.d.next.tag = self.fixed.q.val().tag;
                    self.ran_state.next = ContextState::Ask;
                }
            }
            ContextState::Ask => {
                self.ran_reading.next = self.own.held.val();
                if self.sets.q.val() {
                    self.ran_op_valid.next = true;
                    self.ran_op.next.kind = 1.into();
                    self.ran_op.next.block = self.other.block.val();
                    self.ran_reading.next = !self.same_block.val();
                    self.ran_state.next = ContextState::Wait;
                    if !self.same_block.val() {
                        self.ran_state.next = ContextState::AskSecond;
                    }
                } else {
                    self.ran_op_valid.next = true;
                    self.ran_own_done.next = true;
                    self.ran_state.next = ContextState::Wait;
                }
            }
            ContextState::AskSecond => {
                // Packets above `cumulative` exist only with its block in use.
                self.ran_op_valid.next = true;
                self.ran_state.next = ContextState::Wait;
            }
            ContextState::Wait => {
                if self.result_valid.val() {
                    if self.expected.val() {
                        if !self.own_done.q.val() {
                            self.ran_own_done.next = true;
                            self.ran_is_new.next = !self.result.val().was_set;
                            self.ran_is_again.next = self.result.val().was_set;
                            self.chunk_bits.d.next = self.result.val().bits;
                            if !self.result.val().was_set {
                                if self.past_index.val() > self.live.q.val().highest {
                                    self.ran_live.next.highest = self.past_index.val();
                                }
                                self.credit_down.next = bit_cast::<32, 13>(self.packet.q.val().payload_len);
                                // What was lent is its own again.
                                self.ran_live.next.nacked = false;
                                self.ran_live.next.lent = false;
                                if self.live.q.val().lent {
                                    self.credit_up.next = bit_cast::<32, 24>(self.live.q.val().credit);
                                }
                                self.ran_live.next.credit = self.live.q.val().credit
                                    - bit_cast::<24, 13>(self.packet.q.val().payload_len);
                                if self.result.val().full {
                                    self.free_valid.next = true;
                                    self.ran_live.next.held = self.live.q.val().held & !self.other.mask.val();
                                    if !self.same_block.val() {
                                        self.ran_live.next.full =
                                            self.live.q.val().full | self.other.mask.val();
                                    }
                                }
                            }
                            if self.same_block.val() {
                                self.ran_bits.next = self.result.val().bits;
                                self.ran_left.next = self.result.val().missing;
                                self.ran_live.next.cumulative = self.first_gap.val();
                                self.ran_state.next = ContextState::Commit;
                                if self.result.val().full {
                                    self.ran_live.next.cumulative = self.window.next_base.val();
                                    self.ran_state.next = ContextState::Advance;
                                }
                            }
                        } else {
                            self.ran_bits.next = self.result.val().bits;
                            self.ran_left.next = self.result.val().missing;
                            self.ran_state.next = ContextState::Commit;
                        }
                    }
                }
            }
            ContextState::Advance => {
                // Over blocks that filled cumulative_then, to the first with a gap.
                self.ran_bits.next = self.nothing.val();
                self.ran_left.next = 0.into();
                self.ran_state.next = ContextState::Commit;
                if self.cumulative.val() != self.count.val() {
                    if self.own.full.val() {
                        self.ran_live.next.full = self.live.q.val().full & !self.own.mask.val();
                        self.ran_live.next.cumulative = self.window.next_base.val();
                        self.ran_state.next = ContextState::Advance;
                    } else {
                        if self.own.held.val() {
                            self.ran_op_valid.next = true;
                            self.ran_state.next = ContextState::Reread;
                        }
                    }
                }
            }
            ContextState::Reread => {
                if self.result_valid.val() {
                    if self.flying.q.val() == 1 {
                        self.ran_bits.next = self.result.val().bits;
                        self.ran_left.next = self.result.val().missing;
                        self.ran_live.next.cumulative = self.first_gap.val();
                        self.ran_state.next = ContextState::Commit;
                        if self.cause.q.val() == ContextEvent::Grant {
                            self.ran_state.next = ContextState::Granted;
                        }
                    }
                }
            }
            ContextState::Chunk => {
                self.ran_chunk_done.next = self.is_new.q.val() & self.whole_chunk.whole.val();
                self.ran_state.next = ContextState::Commit;
            }
            ContextState::Commit => {
                self.place.d.next.kind = 0.into();
                self.place.d.next.ud = false;
                self.place.d.next.area = self.host.val();
                self.place.d.next.chunk = self.chunk_done.q.val();
                self.place.d.next.more = self.host.val() & !self.complete.val();
                if self.is_new.q.val() {
                    self.place.d.next.kind = 1.into();
                }
                if self.chunk_done.q.val() {
                    self.place.d.next.kind = 3.into();
                }
                if self.chunk_room.val() {
                    self.chunk.d.next.buffer = self.fixed.q.val().buffer;
                    self.chunk.d.next.area_log2 = self.fixed.q.val().area_log2;
                    self.chunk.d.next.chunk_log2 = self.fixed.q.val().chunk_log2;
                    self.chunk.d.next.block = self.index.val().get_bits::<16>(8);
                    self.chunk.d.next.bits = self.chunk_bits.q.val();
                }
                if self.complete.val() {
                    self.place.d.next.kind = 3.into();
                    if self.packet.q.val().payload_len == 0 {
                        self.place.d.next.kind = 2.into();
                    }
                }
                self.place.d.next.address = self.address.q.val();
                self.place.d.next.length = self.packet.q.val().payload_len;
                self.place.d.next.context = self.owner.q.val();
                self.job.d.next.kind = 0.into();
                if self.complete.val() {
                    self.job.d.next.kind = 3.into();
                }
                self.job.d.next.opened = self.opened.q.val();
                self.job.d.next.fresh = self.is_new.q.val() & !self.retx.q.val();
                // HR-8: software asked for it, in its own time.
                self.job.d.next.repaired = self.is_new.q.val() & self.retx.q.val() & !self.host.val();
                self.job.d.next.repeated = self.is_again.q.val() & self.retx.q.val() & !self.host.val();
                self.job.d.next.probe = self.packet.q.val().probe;
                self.job.d.next.limit = self.index.val();
                if self.granted.val() < self.index.val() {
                    self.job.d.next.limit = self.granted.val();
                }
                self.store.next.since = self.since.val();
                if self.is_again.q.val() & (self.live.q.val().duplicates != 255) {
                    self.store.next.duplicates = self.live.q.val().duplicates + 1;
                }
                self.feedback.live.next = self.store.val();
                self.feedback.request.next.sample = true;
                if self.packet.q.val().ce {
                    self.feedback.request.next.flags = self.say_ce.val();
                }
                if self.complete.val() {
                    self.store.next.state = 2.into();
                    self.store.next.last_ce = self.packet.q.val().ce;
                    self.store.next.last_ev = self.packet.q.val().ev;
                    self.store.next.last_timestamp = self.packet.q.val().timestamp;
                    self.store.next.last_arrival = self.packet.q.val().arrival;
                } else {
                    self.store.next.timed = true;
                    if self.answer.val() {
                        self.store.next.since = 0.into();
                        self.store.next.sequence = self.live.q.val().sequence + 1;
                    }
                    if self.enters.val() {
                        self.store.next.queued = true;
                    }
                }
                if self.commit.val() {
                    self.feedback.make.next = self.answer.val() & !self.complete.val();
                    self.grant.enter.next = self.enters.val() & !self.complete.val();
                    self.place_full.d.next = self.complete.val() | (self.packet.q.val().payload_len != 0);
                    if self.chunk_done.q.val() {
                        self.chunk_full.d.next = true;
                    }
                    // A message that arrived whole with its first packet was never timed.
                    self.job_full.d.next = !self.complete.val() | self.live.q.val().timed;
                    self.intake.store.next = true;
                    if self.packet.q.val().ce & self.settings.val().credit_policy.get_bit(0) {
                        self.grant.congested.next = true;
                    }
                    self.ran_pulse.next.judged = true;
                    self.ran_pulse.next.rx_new = self.is_new.q.val();
                    self.ran_pulse.next.duplicate = self.is_again.q.val();
                    self.ran_state.next = ContextState::Idle;
                }
            }

            ContextState::Release => {
                self.free_valid.next = self.other.held.val();
                self.ran_pulse.next.judged =
                    (self.step.q.val() == 0) & (self.cause.q.val() == ContextEvent::Packet);
                self.ran_live.next.held = self.live.q.val().held & !self.other.mask.val();
                self.ran_step.next = self.step.q.val() + 1;
                if self.step.q.val() == 3 {
                    self.ran_state.next = ContextState::Abort;
                }
            }
            ContextState::Abort => {
                self.place.d.next.kind = 2.into();
                self.place.d.next.ud = false;
                self.place.d.next.area = self.host.val();
                self.place.d.next.chunk = false;
                self.place.d.next.more = false;
                self.place.d.next.context = self.owner.q.val();
                self.job.d.next.kind = 3.into();
                self.job.d.next.opened = false;
                self.job.d.next.fresh = false;
                self.job.d.next.repaired = false;
                self.job.d.next.repeated = false;
                self.store.next.state = 2.into();
                self.store.next.credit = 0.into();
                if self.place_room.val() & self.job_room.val() {
                    self.place_full.d.next = true;
                    self.job_full.d.next = true;
                    if !self.live.q.val().lent {
                        self.credit_down.next = bit_cast::<32, 24>(self.live.q.val().credit);
                    }
                    self.intake.store.next = true;
                    self.ran_pulse.next.rx_aborted = true;
                    self.ran_state.next = ContextState::Idle;
                    // The packet that replaces it is not for this message.
                    if self.cause.q.val() == ContextEvent::Packet {
                        self.ran_state.next = ContextState::Drop;
                    }
                }
            }

            ContextState::Report => {
                self.done.d.next = self.ending.done.val();
                self.ran_live.next.status = self.ending.status.val();
                self.done_full.d.next = self.ending.reports.val();
                self.ran_state.next = ContextState::Answer;
            }
            ContextState::Answer => {
                // COMPLETE is never said before the completion is handed over.
                self.feedback.request.next = self.ending.request.val();
                self.store.next.state = 3.into();
                self.store.next.sequence = self.live.q.val().sequence + 1;
                if !self.retire_full.q.val() {
                    self.retire.d.next.bury = true;
                }
                if self.answers.val() {
                    self.feedback.make.next = self.ending.told.val();
                    self.intake.store.next = true;
                    self.retire_full.d.next = true;
                    self.rounds.done_valid.next =
                        self.fixed.q.val().in_round & (self.live.q.val().status == 0);
                    self.ran_pulse.next.rx_completed = self.live.q.val().status == 0;
                    self.ran_pulse.next.rx_aborted = self.ending.broke.val();
                    self.ran_state.next = ContextState::Idle;
                }
            }
            ContextState::Bury => {
                // Of a freed context, or a queue's stale head: its number may be free now.
                if !self.retire_full.q.val() {
                    self.retire.d.next.bury = false;
                    self.intake.store.next = true;
                    self.retire_full.d.next = self.loose.val() & (self.live.q.val().state == 3);
                    self.ran_state.next = ContextState::Idle;
                }
            }

            ContextState::Nack => {
                self.ran_op.next.block = self.other.block.val();
                self.ran_op.next.limit = self.nack_ask.val();
                if self.nack_more.val() {
                    if self.other.held.val() {
                        self.ran_op_valid.next = true;
                        self.ran_state.next = ContextState::NackWait;
                    } else {
                        self.ran_step.next = self.step.q.val() + 1;
                    }
                } else {
                    self.ran_state.next = ContextState::NackDone;
                }
            }
            ContextState::NackWait => {
                if self.result_valid.val() {
                    self.ran_bits.next = self.result.val().bits;
                    self.ran_step.next = self.step.q.val() + 1;
                    self.ran_state.next = ContextState::Nack;
                    if self.result.val().missing != 0 {
                        self.ran_step.next = self.step.q.val();
                        self.ran_state.next = ContextState::NackSend;
                    }
                }
            }
            ContextState::NackSend => {
                self.feedback.request.next.flags = self.say_nack.val();
                self.feedback.request.next.base = self.window.at.val();
                self.feedback.request.next.limit = self.nack_limit.q.val();
                if self.feedback.room.val() {
                    // HR-8: what hardware finds missing the host is not asked for.
                    self.feedback.make.next = !self.host.val() | self.by_order.val();
                    if !self.host.val() | self.by_order.val() {
                        self.ran_live.next.sequence = self.live.q.val().sequence + 1;
                        self.ran_live.next.since = 0.into();
                    }
                    self.ran_nacks.next = self.nacks.q.val() + 1;
                    self.ran_step.next = self.step.q.val() + 1;
                    self.ran_state.next = ContextState::Nack;
                }
            }
            ContextState::NackDone => {
                // The status was prepared for a give-up.
                self.store.next.status = 0.into();
                self.job.d.next.kind = 2.into();
                self.job.d.next.opened = false;
                self.job.d.next.fresh = false;
                self.job.d.next.repaired = false;
                self.job.d.next.repeated = false;
                self.job.d.next.probe = false;
                self.job.d.next.sent = self.nacks.q.val() != 0;
                self.job.d.next.limit = self.nack_limit.q.val();
                // GR-5.
                self.lends.next = (self.nacks.q.val() != 0)
                    & !self.by_order.val()
                    & self.live.q.val().nacked
                    & !self.live.q.val().lent
                    & self.settings.val().credit_policy.get_bit(2);
                self.store.next.nacked =
                    self.live.q.val().nacked | ((self.nacks.q.val() != 0) & !self.by_order.val());
                self.store.next.lent = self.live.q.val().lent | self.lends.val();
                if self.job_room.val() {
                    if self.lends.val() {
                        self.credit_down.next = bit_cast::<32, 24>(self.live.q.val().credit);
                    }
                    // HR-6: an order changes no timer.
                    self.job_full.d.next = !self.by_order.val();
                    self.intake.store.next = true;
                    self.ran_state.next = ContextState::Idle;
                }
            }

            ContextState::OrderBlock => {
                self.ran_state.next = ContextState::NackDone;
                if (self.nack_limit.q.val() != 0) & (self.order_ahead.val() < 4) {
                    self.ran_step.next = self.order_ahead.val().get_bits::<3>(0);
                    if self.granted.val() < self.nack_limit.q.val() {
                        self.ran_nack_limit.next = self.granted.val();
                    }
                    self.ran_state.next = ContextState::Nack;
                }
            }

            ContextState::Room => {
                self.room.d.next = self.window.gap.val();
                self.pause.d.next = 0.into();
                self.ran_state.next = ContextState::Quota;
                // Who lends is granted nothing; its next packet brings it back.
                if !self.may_grant.val() | self.live.q.val().lent {
                    self.ran_leave.next = true;
                    self.store.next.queued = false;
                    self.intake.store.next = true;
                    self.ran_state.next = ContextState::Idle;
                }
            }
            ContextState::Quota => {
                self.pause.d.next = self.pause.q.val() + 1;
                if self.pause.q.val() == 2 {
                    self.ran_state.next = ContextState::Judge;
                }
            }
            ContextState::Judge => {
                self.quota.d.next = bit_cast::<9, 8>(self.grant.quota.val());
                self.ran_state.next = ContextState::FirstBlock;
                if !self.grant.allowed.val() {
                    self.grant.hold_off.next = true;
                    self.ran_state.next = ContextState::Idle;
                }
            }
            ContextState::FirstBlock => {
                self.ran_op.next.kind = 2.into();
                self.ran_op.next.block = self.alloc_block.val();
                self.ran_op.next.limit = 256.into();
                if (self.count.val() >> 8) == (self.granted.val() >> 8) {
                    self.ran_op.next.limit = bit_cast::<9, 8>(self.count.val().get_bits::<8>(0));
                }
                self.ran_state.next = ContextState::SecondBlock;
                if self.granted.val().get_bits::<8>(0) == 0 {
                    if self.pool_for_grants.val() {
                        self.pool_take.next = true;
                        self.ran_op_valid.next = true;
                        self.set_slot.next = true;
                    } else {
                        self.quota.d.next = 0.into();
                    }
                }
            }
            ContextState::SecondBlock => {
                self.ran_op.next.kind = 2.into();
                self.ran_op.next.block = self.alloc_block.val();
                self.ran_op.next.limit = 256.into();
                if (self.count.val() >> 8) == (self.new_grant.val() >> 8) {
                    self.ran_op.next.limit = bit_cast::<9, 8>(self.count.val().get_bits::<8>(0));
                }
                self.ran_state.next = ContextState::Bytes;
                if self.crosses.val() {
                    if self.pool_for_grants.val() {
                        self.pool_take.next = true;
                        self.ran_op_valid.next = true;
                        self.set_slot.next = true;
                    } else {
                        self.quota.d.next = self.to_edge.val();
                    }
                }
            }
            ContextState::Bytes => {
                self.bytes_from.d.next =
                    bit_cast::<32, 24>(self.granted.val()) << self.fixed.q.val().payload_log2;
                self.bytes_to.d.next =
                    bit_cast::<32, 24>(self.new_grant.val()) << self.fixed.q.val().payload_log2;
                if self.new_grant.val() == self.count.val() {
                    self.bytes_to.d.next = self.fixed.q.val().length;
                }
                self.ran_state.next = ContextState::Apply;
                if self.quota.q.val() == 0 {
                    // No block: to the tail, and not again before something moves.
                    self.ran_leave.next = true;
                    self.grant.enter.next = true;
                    self.grant.hold_off.next = true;
                    self.ran_state.next = ContextState::Idle;
                }
            }
            ContextState::Apply => {
                self.ran_live.next.grant = self.new_grant.val();
                self.ran_live.next.credit =
                    self.live.q.val().credit + bit_cast::<24, 32>(self.granted_bytes.val());
                self.credit_up.next = self.granted_bytes.val();
                self.ran_cumulative_then.next = self.cumulative.val();
                self.quota.d.next = 0.into();
                self.ran_state.next = ContextState::Granted;
                if self.own.held.val() {
                    self.pause.d.next = 0.into();
                    self.ran_state.next = ContextState::Advance;
                }
            }
            ContextState::Granted => {
                self.job.d.next.kind = 1.into();
                self.job.d.next.opened = false;
                self.job.d.next.fresh = false;
                self.job.d.next.repaired = false;
                self.job.d.next.repeated = false;
                self.job.d.next.probe = false;
                self.store.next.since = 0.into();
                self.store.next.sequence = self.live.q.val().sequence + 1;
                self.store.next.queued = self.may_grant.val();
                self.feedback.request.next.flags = self.say_grant.val();
                if self.job_room.val() & self.feedback.room.val() {
                    self.feedback.make.next = true;
                    self.job_full.d.next = true;
                    self.ran_leave.next = true;
                    self.grant.enter.next = self.may_grant.val();
                    self.intake.store.next = true;
                    self.ran_pulse.next.grants_sent = true;
                    self.ran_state.next = ContextState::Idle;
                }
            }
        }

        // One clock more for what its host is told.
        if self.host.val()
            & (self.ran_state.val() == ContextState::Commit)
            & (self.state.q.val() != ContextState::Commit)
            & (self.state.q.val() != ContextState::Chunk)
        {
            self.ran_state.next = ContextState::Chunk;
        }

        self.bits.d.next = self.ran_bits.val();
        self.chunk_done.d.next = self.ran_chunk_done.val();
        self.nack_limit.d.next = self.ran_nack_limit.val();
        self.cumulative_then.d.next = self.ran_cumulative_then.val();
        self.is_again.d.next = self.ran_is_again.val();
        self.is_new.d.next = self.ran_is_new.val();
        self.left.d.next = self.ran_left.val();
        self.live.d.next = self.ran_live.val();
        self.nacks.d.next = self.ran_nacks.val();
        self.own_done.d.next = self.ran_own_done.val();
        self.pulse.d.next = self.ran_pulse.val();
        self.reading.d.next = self.ran_reading.val();
        self.state.d.next = self.ran_state.val();
        self.step.d.next = self.ran_step.val();
        self.op.next = self.ran_op.val();
        self.op_valid.next = self.ran_op_valid.val();
        self.grant.leave.next = self.ran_leave.val();
        self.stock.take.next = self.ran_take.val();

        // The words in the registers are those stored.
        if self.intake.store.val() {
            self.live.d.next = self.store.val();
        }
        self.start.next = self.fixed.q.val().buffer;
        if self.fixed.q.val().write {
            self.start.next = self.fixed.q.val().tag;
        }
        self.address.d.next = self.start.val() + bit_cast::<64, 32>(self.offset.q.val());

        // The next event's words; what it is judged by is not of what this clock's store changes.
        self.intake.store_live.next = self.store.val();
        self.next_packet.next = self.intake.packet.val();
        self.next_fixed.next = self.intake.fixed.val();
        self.next_live.next = self.intake.live.val();
        self.next_word.next = self.intake.live.val();
        if self.intake.same.val() {
            self.next_live.next = self.store.val();
            self.next_word.next = self.live.q.val();
            if self.opened.q.val() {
                self.next_fixed.next = self.fixed.q.val();
            }
        }
        self.next_open.next =
            (self.next_word.val().state == 1) & !(self.intake.same.val() & self.complete.val());
        self.next_own.live.next = self.next_word.val();
        self.next_own.slot.next = self.next_word.val().cumulative.get_bits::<2>(8);
        self.next_other.live.next = self.next_word.val();
        self.next_other.slot.next = self.next_packet.val().index.get_bits::<2>(8);
        self.next_same_block.next =
            (self.next_packet.val().index >> 8) == (self.next_word.val().cumulative >> 8);
        self.next_beyond.next = self.next_packet.val().index >= self.next_word.val().grant;
        self.next_sets.next = !self.next_packet.val().probe
            & (self.next_packet.val().index >= self.next_word.val().cumulative)
            & !self.next_beyond.val()
            & self.next_other.held.val();
        self.next_limit.next = 256.into();
        if (self.next_word.val().grant >> 8) == (self.next_word.val().cumulative >> 8) {
            self.next_limit.next = bit_cast::<9, 8>(self.next_word.val().grant.get_bits::<8>(0));
        }
        self.arrival.packet.next = self.next_packet.val();
        self.arrival.fixed.next = self.next_fixed.val();
        // HR-5
        self.order.next = self.order_data.val();
        self.meets.next = self.next_open.val()
            & self.recovers.val()
            & self.next_fixed.val().host
            & (self.order.val().handle.get_bits::<12>(20) == self.intake.owner.val())
            & (self.order.val().handle.get_bits::<20>(0) == self.next_fixed.val().generation);

        // An event begins.
        if self.starts.val() {
            self.cause.d.next = self.intake.cause.val();
            self.owner.d.next = self.intake.owner.val();
            self.packet.d.next = self.next_packet.val();
            self.expiry.d.next = self.intake.expiry.val();
            self.fence_failed.d.next = self.intake.fence_failed.val();
            self.fixed.d.next = self.next_fixed.val();
            self.live.d.next = self.next_live.val();
            self.hash.d.next = self.arrival.hash.val();
            self.wants_answer.d.next = self.arrival.wants_answer.val();
            self.retx.d.next = self.arrival.retx.val();
            self.offset.d.next =
                bit_cast::<32, 24>(self.next_packet.val().index) << self.next_packet.val().payload_log2;
            self.cumulative_then.d.next = self.next_word.val().cumulative;
            self.opened.d.next = false;
            self.late.d.next = false;
            self.own_done.d.next = false;
            self.is_new.d.next = false;
            self.is_again.d.next = false;
            self.step.d.next = 0.into();
            self.nacks.d.next = 0.into();
            self.bits.d.next = self.nothing.val();
            self.left.d.next = 0.into();
            self.chunk_done.d.next = false;
            match self.intake.cause.val() {
                ContextEvent::Packet => {
                    // Verdict 3 is not this message's packet.
                    if self.next_packet.val().verdict != 3 {
                        self.live.d.next.src_mac = self.next_packet.val().src_mac;
                        self.live.d.next.vlan = self.next_packet.val().vlan;
                        self.live.d.next.vlan_valid = self.next_packet.val().vlan_valid;
                    }
                    self.state.d.next = ContextState::Drop;
                    if self.next_packet.val().verdict == 0 {
                        if self.arrival.differs.val() {
                            self.pulse.d.next.mismatch = true;
                        } else {
                            if !self.next_open.val() {
                                self.late.d.next = !self.next_packet.val().probe;
                            } else if self.next_packet.val().denied {
                                // WR-1: its rights are gone since it opened.
                                self.pulse.d.next.remote_access = true;
                                self.live.d.next.status = self.remote_access_status.val();
                                self.state.d.next = ContextState::Release;
                            } else {
                                if !self.next_packet.val().probe & self.next_beyond.val() {
                                    self.pulse.d.next.not_granted = true;
                                } else {
                                    self.op.next.index = self.next_packet.val().index.get_bits::<8>(0);
                                    self.op.next.limit = self.next_limit.val();
                                    self.op.next.block = self.next_own.block.val();
                                    self.op.next.kind = 0.into();
                                    self.op_valid.next = self.next_sets.val() | self.next_own.held.val();
                                    self.reading.d.next = self.next_own.held.val();
                                    self.own_done.d.next = !self.next_sets.val();
                                    self.state.d.next = ContextState::Wait;
                                    if self.next_sets.val() {
                                        self.op.next.kind = 1.into();
                                        self.op.next.block = self.next_other.block.val();
                                        self.reading.d.next = !self.next_same_block.val();
                                        if !self.next_same_block.val() {
                                            self.state.d.next = ContextState::AskSecond;
                                        }
                                    } else {
                                        self.is_again.d.next = !self.next_packet.val().probe;
                                        if !self.next_own.held.val() {
                                            self.state.d.next = ContextState::Commit;
                                        }
                                    }
                                }
                            }
                        }
                    }
                    if self.next_packet.val().verdict == 1 {
                        self.opened.d.next = true;
                        self.cumulative_then.d.next = 0.into();
                        self.fixed.d.next = self.arrival.opened_fixed.val();
                        self.live.d.next = self.arrival.opened_live.val();
                        self.live.d.next.block0 = self.stock.block.val();
                        self.state.d.next = ContextState::Open;
                        if self.arrival.whole.val() {
                            // It never needs its block, nor its bit.
                            self.live.d.next.cumulative = 1.into();
                            self.live.d.next.highest = 1.into();
                            self.is_new.d.next = true;
                            self.address.d.next = self.next_packet.val().buffer;
                            self.state.d.next = ContextState::Commit;
                        } else {
                            self.stock.take.next = true;
                        }
                    }
                    if (self.next_packet.val().verdict == 2) & self.next_packet.val().denied {
                        self.pulse.d.next.remote_access = true;
                    }
                    if self.next_packet.val().verdict == 3 {
                        self.live.d.next.status = self.replaced.val();
                        if self.next_packet.val().released {
                            self.live.d.next.status = self.released.val();
                        }
                        if self.next_packet.val().destroyed {
                            self.live.d.next.status = self.destroyed.val();
                        }
                        if self.next_open.val() {
                            self.state.d.next = ContextState::Release;
                        }
                    }
                }
                ContextEvent::Fence => {
                    self.state.d.next = ContextState::Report;
                }
                ContextEvent::Expiry => {
                    self.live.d.next.status = self.gave_up.val();
                    self.state.d.next = ContextState::Idle;
                    if self.next_open.val() {
                        self.state.d.next = ContextState::Nack;
                        if self.intake.expiry.val().gave_up {
                            self.state.d.next = ContextState::Release;
                        }
                    }
                    // The limit never exceeds the grant: LD-4.
                    self.nack_limit.d.next = self.next_word.val().grant;
                    if !self.intake.expiry.val().to_grant
                        & (self.intake.expiry.val().limit < self.next_word.val().grant)
                    {
                        self.nack_limit.d.next = self.intake.expiry.val().limit;
                    }
                }
                ContextEvent::Order => {
                    self.ordered.d.next = true;
                    self.met.d.next = self.meets.val();
                    self.state.d.next = ContextState::Idle;
                    self.nack_limit.d.next = self.order.val().value.get_bits::<24>(0);
                    if self.next_fixed.val().count < self.order.val().value.get_bits::<24>(0) {
                        self.nack_limit.d.next = self.next_fixed.val().count;
                    }
                    if self.meets.val() {
                        self.state.d.next = ContextState::OrderBlock;
                        if self.order.val().value.get_bit(31) {
                            self.live.d.next.status = self.partial.val();
                            self.state.d.next = ContextState::Release;
                        }
                    }
                }
                ContextEvent::Freed => {
                    self.live.d.next.untied = true;
                    self.state.d.next = ContextState::Bury;
                }
                ContextEvent::Grant => {
                    self.state.d.next = ContextState::Room;
                    if !self.next_open.val() {
                        self.grant.leave.next = true;
                        self.live.d.next.queued = false;
                        self.state.d.next = ContextState::Bury;
                    }
                }
            }
        }

        if self.set_slot.val() {
            self.live.d.next.held = self.live.q.val().held | self.other.mask.val();
            if self.other.slot.val() == 0 {
                self.live.d.next.block0 = self.alloc_block.val();
            }
            if self.other.slot.val() == 1 {
                self.live.d.next.block1 = self.alloc_block.val();
            }
            if self.other.slot.val() == 2 {
                self.live.d.next.block2 = self.alloc_block.val();
            }
            if self.other.slot.val() == 3 {
                self.live.d.next.block3 = self.alloc_block.val();
            }
        }

        // What every job says.
        if (self.state.q.val() == ContextState::Commit)
            | (self.state.q.val() == ContextState::Granted)
            | (self.state.q.val() == ContextState::NackDone)
            | (self.state.q.val() == ContextState::Abort)
        {
            if !self.job_full.q.val() | self.interval.job_ready.val() {
                self.job.d.next.context = self.owner.q.val();
                self.job.d.next.hash = self.hash.q.val();
                self.job.d.next.endpoint = self.fixed.q.val().endpoint;
                self.job.d.next.in_round = self.fixed.q.val().in_round;
                self.job.d.next.round = self.fixed.q.val().round;
                self.job.d.next.index = self.index.val();
                self.job.d.next.timestamp = self.packet.q.val().timestamp;
                self.job.d.next.arrival = self.packet.q.val().arrival;
                self.job.d.next.rtt = self.packet.q.val().rtt;
                self.job.d.next.cumulative = self.cumulative.val();
                self.job.d.next.highest = self.live.q.val().highest;
                self.job.d.next.left = self.left.q.val();
                self.job.d.next.moved = self.cumulative.val() != self.cumulative_then.q.val();
                self.job.d.next.hole = self.cumulative.val() < self.live.q.val().highest;
                self.job.d.next.tail = self.live.q.val().highest == self.granted.val();
                self.job.d.next.missing = self.cumulative.val() < self.granted.val();
            } else {
                self.job.d.next = self.job.q.val();
            }
        }
        if self.place_full.q.val() & !self.place_ready.val() {
            self.place.d.next = self.place.q.val();
        }

        if self.op_valid.val() & !self.result_valid.val() {
            self.flying.d.next = self.flying.q.val() + 1;
        }
        if !self.op_valid.val() & self.result_valid.val() {
            self.flying.d.next = self.flying.q.val() - 1;
        }
        self.total.d.next = self.total.q.val() + bit_cast::<36, 32>(self.credit_up.val())
            - bit_cast::<36, 32>(self.credit_down.val());
        self.grant.released.next = self.credit_down.val().any();

        self.alloc_take.next = self.pool_take.val() | self.stock.fill.val();

        // Statements of their own, for the same reason.
        if self.rst.val() {
            self.state.d.next = ContextState::Idle;
        }
        if self.rst.val() {
            // What the words are cleared with.
            self.live.d.next = self.no_live.val();
        }
        if self.rst.val() {
            self.ordered.d.next = false;
        }
        if self.rst.val() {
            self.flying.d.next = 0.into();
        }
        if self.rst.val() {
            self.total.d.next = 0.into();
        }
        if self.rst.val() {
            self.retire_full.d.next = false;
            self.place_full.d.next = false;
            self.job_full.d.next = false;
            self.header_full.d.next = false;
            self.chunk_full.d.next = false;
            self.done_full.d.next = false;
        }
    }
}
