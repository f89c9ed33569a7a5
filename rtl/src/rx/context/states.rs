//! The engine, second part: the running event's states, clock by clock; the picture is the module's.

use super::{Context, ContextEvent, ContextState};
use crate::parts::Part;
use crate::prelude::*;

pub(super) struct States;

impl Part<States> for Context {
    #[hdl_gen]
    fn update(&mut self) {
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
                if self.is_empty.q.val() | self.place_room.val() {
                    self.place_full.d.next = self.place_waits.val() | !self.is_empty.q.val();
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
                self.pause.d.next = 0.into();
                self.ran_state.next = ContextState::Settle;
                if self.host.val() {
                    self.ran_state.next = ContextState::Header;
                }
            }
            ContextState::Settle => {
                self.pause.d.next = 1.into();
                if self.pause.q.val() == 1 {
                    self.ran_state.next = ContextState::Ask;
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
                    self.ran_state.next = ContextState::Settle;
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
                self.ran_chunk_done.next =
                    self.recovers.val() & self.is_new.q.val() & self.whole_chunk.whole.val();
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
                    if self.is_empty.q.val() {
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
                    self.place_full.d.next = self.complete.val() | !self.is_empty.q.val();
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
                // Which block that is takes a clock.
                if self.order_stood.q.val() {
                    self.ran_state.next = ContextState::NackDone;
                    if (self.nack_limit.q.val() != 0) & (self.order_ahead.q.val() < 4) {
                        self.ran_step.next = self.order_ahead.q.val().get_bits::<3>(0);
                        if self.granted.val() < self.nack_limit.q.val() {
                            self.ran_nack_limit.next = self.granted.val();
                        }
                        self.ran_state.next = ContextState::Nack;
                    }
                }
            }

            ContextState::Room => {
                self.room.d.next = self.window.gap.val();
                self.pause.d.next = 0.into();
                self.ran_state.next = ContextState::Quota;
                // Who lends, or is owed enough, is granted nothing; its next packet brings it back.
                if !self.may_grant.val() | self.live.q.val().lent | self.ample.val() {
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
                if self.crosses.q.val() {
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
    }
}
