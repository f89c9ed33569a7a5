//! The engine, last part: the event that begins in the last clock of the one before, and what
//! is said of both.

use super::{Context, ContextEvent, ContextState};
use crate::parts::Part;
use crate::prelude::*;

pub(super) struct Begins;

impl Part<Begins> for Context {
    #[hdl_gen]
    fn update(&mut self) {
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
        // Of the events that another one may follow at once, those that end in these states store.
        self.restored.next = self.intake.same.val()
            & ((self.state.q.val() == ContextState::Commit) | (self.state.q.val() == ContextState::Answer));
        self.intake.store_live.next = self.store.val();
        self.next_packet.next = self.intake.packet.val();
        self.next_fixed.next = self.intake.fixed.val();
        self.next_live.next = self.intake.live.val();
        self.next_word.next = self.intake.live.val();
        if self.restored.val() {
            self.next_live.next = self.store.val();
            self.next_word.next = self.live.q.val();
            if self.opened.q.val() {
                self.next_fixed.next = self.fixed.q.val();
            }
        }
        // What is zero in every word, but goes round from word to register to word.
        if !self.has_v6.val() {
            self.next_fixed.next.src_gid =
                bit_cast::<128, 32>(self.next_fixed.val().src_gid.get_bits::<32>(0));
        }
        if !self.has_tags.val() {
            self.next_live.next.vlan = 0.into();
            self.next_live.next.vlan_valid = false;
        }
        if !self.has_rounds.val() {
            self.next_fixed.next.in_round = false;
            self.next_fixed.next.round = 0.into();
        }
        if !self.recovers.val() {
            self.next_fixed.next.host = false;
        }
        self.next_live.next.block0 = self.next_live.val().block0 & self.block_bits.val();
        self.next_live.next.block1 = self.next_live.val().block1 & self.block_bits.val();
        self.next_live.next.block2 = self.next_live.val().block2 & self.block_bits.val();
        self.next_live.next.block3 = self.next_live.val().block3 & self.block_bits.val();
        self.next_open.next =
            (self.next_word.val().state == 1) & !(self.restored.val() & self.complete.val());
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

        // In a state in which an event may begin the bitmap is asked for nothing else: what it
        // is asked does not wait for whether one does.
        if (self.state.q.val() == ContextState::Idle)
            | (self.state.q.val() == ContextState::Drop)
            | (self.state.q.val() == ContextState::Commit)
            | (self.state.q.val() == ContextState::Answer)
        {
            self.op.next.index = self.next_packet.val().index.get_bits::<8>(0);
            self.op.next.limit = self.next_limit.val();
            self.op.next.block = self.next_own.block.val();
            self.op.next.kind = 0.into();
            if self.next_sets.val() {
                self.op.next.kind = 1.into();
                self.op.next.block = self.next_other.block.val();
            }
        }

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
            self.is_empty.d.next = self.next_packet.val().payload_len == 0;
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
                                    self.op_valid.next = self.next_sets.val() | self.next_own.held.val();
                                    self.reading.d.next = self.next_own.held.val();
                                    self.own_done.d.next = !self.next_sets.val();
                                    self.state.d.next = ContextState::Wait;
                                    if self.next_sets.val() {
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
            if !self.job_full.q.val() {
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
        // A clock later: what goes up is a difference, and late. The next grant is looked at later still.
        self.total_up.d.next = self.credit_up.val();
        self.total_down.d.next = self.credit_down.val();
        self.total.d.next = self.total.q.val() + bit_cast::<36, 32>(self.total_up.q.val())
            - bit_cast::<36, 32>(self.total_down.q.val());
        self.grant.released.next = self.total_down.q.val().any();

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
            self.total_up.d.next = 0.into();
        }
        if self.rst.val() {
            self.total_down.d.next = 0.into();
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
