//! What the pipeline does in a clock; the picture is the module's.

use super::Slots;
use crate::prelude::*;

impl Logic for Slots {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self,
            clk,
            feedback,
            feedback_held,
            fails,
            fails_slot,
            feedback_started,
            feedback_last,
            feedback_again,
            job1,
            job2,
            job3,
            valid1,
            valid2,
            valid3,
            state2,
            state3,
            message2,
            window3,
            window4,
            known2,
            known_rtt2,
            unknown2,
            beyond,
            low2,
            high2,
            carried2,
            known1,
            reach_unknown,
            bytes,
            reclaim_at
        );
        self.messages.clock.next = self.clk.val();
        self.states.clock.next = self.clk.val();
        self.starter.clk.next = self.clk.val();
        self.starter.rst.next = self.rst.val();
        self.intake.clk.next = self.clk.val();
        self.intake.rst.next = self.rst.val();
        self.free.clk.next = self.clk.val();
        self.free.rst.next = self.rst.val() | self.starter.restart.val();
        self.ring.clk.next = self.clk.val();
        self.ring.rst.next = self.rst.val();
        self.finished.clk.next = self.clk.val();
        self.finished.rst.next = self.rst.val();
        self.failures.clk.next = self.clk.val();
        self.failures.rst.next = self.rst.val();
        self.flight.clk.next = self.clk.val();
        self.flight.rst.next = self.rst.val();
        self.timers.clk.next = self.clk.val();
        self.timers.rst.next = self.rst.val();
        self.rtt.clk.next = self.clk.val();
        self.windows.clk.next = self.clk.val();
        self.judge.clk.next = self.clk.val();
        self.act.clk.next = self.clk.val();
        self.act.rst.next = self.rst.val();
        self.maker.clk.next = self.clk.val();
        self.nack.clk.next = self.clk.val();
        self.nack.rst.next = self.rst.val();

        self.starter.keeps.next = self.keeps.val();
        self.starter.enable.next = self.settings.val().enable;
        self.starter.seed.next = self.settings.val().seed;
        self.starter.busy_wait.next = self.settings.val().busy_wait;
        self.starter.idle.next =
            !self.valid1.q.val() & !self.valid2.q.val() & !self.valid3.q.val() & !self.act.action.val().valid;
        self.ready.next = self.starter.ready.val();

        // What wants to go.
        self.feedback_slot.next = self.feedback.q.val().slot & self.last_slot.val();
        self.feedback_ready.next = !self.feedback_held.q.val() | self.act.action.val().feedback;
        self.feedback_follows.next = self.feedback_last.q.val() | self.act.action.val().feedback;
        // Another job of that slot has had its turn.
        if self.valid1.q.val()
            & !self.job1.q.val().feedback
            & (self.job1.q.val().slot == self.feedback_slot.val())
        {
            self.feedback_follows.next = false;
            self.feedback_last.d.next = false;
            self.feedback_again.d.next = false;
        }
        if self.act.action.val().feedback {
            self.feedback_held.d.next = false;
            self.feedback_started.d.next = false;
            self.feedback_last.d.next = true;
        }
        if self.feedback_valid.val() & (!self.feedback_held.q.val() | self.act.action.val().feedback) {
            self.feedback.d.next = self.feedback_data.val();
            self.feedback_held.d.next = true;
            self.feedback_again.d.next = self.feedback_follows.val()
                & ((self.feedback_data.val().slot & self.last_slot.val()) == self.feedback_slot.val());
        }
        self.has_nack.next = (self.feedback.q.val().flags & self.flag_nack.val()).any();
        // RL-3: only a COMPLETE can.
        self.asks_release.next = (self.feedback.q.val().flags & self.flag_release.val()).any()
            & (self.feedback.q.val().flags & self.flag_complete.val()).any();
        self.may_finish.next =
            self.finished.head_valid.val() & self.completer.free.val() & self.releaser.free.val();
        self.packet_room.next = self.settings.val().enable & self.outlet.room.val();
        self.chooser.yields.next = self.feedback_again.q.val();
        self.chooser.slots[0].next = self.feedback_slot.val();
        self.chooser.slots[1].next = self.reclaim_at.q.val();
        if self.fails.q.val() {
            self.chooser.slots[1].next = self.fails_slot.q.val();
        }
        self.chooser.slots[2].next = self.nack.idle_slot.val();
        self.chooser.slots[3].next = self.finished.head_slot.val();
        self.chooser.slots[4].next = self.timers.held_node.val().get_bits::<12>(0);
        self.chooser.slots[5].next = self.free.top_slot.val();
        self.chooser.slots[6].next = self.ring.head_slot.val();
        self.chooser.slots[7].next = self.step_data.val().slot;
        self.chooser.wants[0].next = self.feedback_held.q.val()
            & !self.feedback_started.q.val()
            & self.timers.room.val()
            & (self.nack.free.val() | !self.has_nack.val())
            & ((self.releaser.free.val() & !(self.releaser.was_answer.val() & self.may_finish.val()))
                | !self.asks_release.val());
        self.chooser.wants[1].next =
            self.fails.q.val() | (self.reclaim.val().active & !self.job1.q.val().reclaim);
        self.chooser.wants[2].next = self.nack.idle_valid.val();
        self.chooser.wants[3].next = self.may_finish.val();
        // Every other clock is left to the others, however many timers pop.
        self.chooser.wants[4].next = self.timers.held.val() & self.timers.room.val() & !self.job1.q.val().pop;
        self.chooser.wants[5].next = self.intake.open.val()
            & self.free.top_valid.val()
            & self.settings.val().enable
            & self.starter.seeded.val()
            & self.timers.room.val()
            & !self.job1.q.val().accept;
        self.chooser.wants[6].next = self.ring.head_valid.val() & self.packet_room.val();
        self.chooser.waits[0].next = self.ring.head_valid.val();
        self.chooser.waits[1].next = self.step_valid.val();
        self.chooser.wants[7].next = self.step_valid.val() & self.packet_room.val();
        self.chooser.clk.next = self.clk.val();
        self.chooser.rst.next = self.rst.val();
        self.chooser.open.next = self.starter.ready.val();
        self.chooser.busy[0].next = self.valid1.q.val();
        self.chooser.busy_slots[0].next = self.job1.q.val().slot;
        self.chooser.busy_feedback[0].next = self.valid1.q.val() & self.job1.q.val().feedback;
        self.chooser.busy_feedback[1].next = self.valid2.q.val() & self.job2.q.val().feedback;
        self.chooser.busy_feedback[2].next = self.valid3.q.val() & self.job3.q.val().feedback;
        self.chooser.busy_feedback[3].next = self.act.action.val().feedback;
        self.chooser.busy[1].next = self.valid2.q.val();
        self.chooser.busy_slots[1].next = self.job2.q.val().slot;
        self.chooser.busy[2].next = self.valid3.q.val();
        self.chooser.busy_slots[2].next = self.job3.q.val().slot;
        self.chooser.busy[3].next = self.act.action.val().valid;
        self.chooser.busy_slots[3].next = self.act.action.val().slot;

        // S0.
        self.valid1.d.next = self.chooser.any.val();
        self.job1.d.next.feedback = self.chooser.chosen[0].val();
        self.job1.d.next.fail = self.chooser.chosen[1].val() & self.fails.q.val();
        self.job1.d.next.reclaim = self.chooser.chosen[1].val() & !self.fails.q.val();
        if self.chooser.chosen[1].val() & !self.fails.q.val() {
            self.reclaim_at.d.next = self.reclaim_at.q.val() + 1;
            if self.reclaim_at.q.val() == self.last_slot.val() {
                self.reclaim_at.d.next = 0.into();
            }
        }
        self.job1.d.next.idle_nack = self.chooser.chosen[2].val();
        self.job1.d.next.turn = self.chooser.chosen[6].val();
        self.job1.d.next.step = self.chooser.chosen[7].val();
        self.job1.d.next.finish = self.chooser.chosen[3].val();
        self.job1.d.next.accept = self.chooser.chosen[5].val();
        self.job1.d.next.pop = self.chooser.chosen[4].val();
        // Of the bits a slot has here; no register or memory behind keeps the others.
        self.at_slot.next = self.chooser.slot.val() & self.last_slot.val();
        self.job1.d.next.slot = self.at_slot.val();
        self.job1.d.next.generation = self.step_data.val().generation;
        if self.chooser.chosen[0].val() {
            self.job1.d.next.generation = self.feedback.q.val().generation;
        }
        if self.chooser.chosen[2].val() {
            self.job1.d.next.generation = self.nack.idle_generation.val();
        }
        self.job1.d.next.index = self.step_data.val().index;
        self.job1.d.next.second = self.timers.held_node.val().get_bit(12);
        if self.chooser.chosen[0].val() {
            self.feedback_started.d.next = true;
        }
        // The oldest failed read in registers: what comes out of a memory is late for a choice.
        self.failures.out_ready.next = !self.fails.q.val();
        if self.chooser.chosen[1].val() {
            self.fails.d.next = false;
        }
        if self.failures.out_valid.val() & !self.fails.q.val() {
            self.fails.d.next = true;
            self.fails_slot.d.next = self.failures.out_data.val();
        }
        self.judge.reclaim.next = self.reclaim.val();
        self.nack.idle_ready.next = self.chooser.chosen[2].val();
        self.ring.take.next = self.chooser.chosen[6].val();
        self.step_ready.next = self.chooser.chosen[7].val();
        self.finished.take.next = self.chooser.chosen[3].val();
        self.free.take.next = self.chooser.chosen[5].val();
        self.timers.take.next = self.chooser.chosen[4].val();
        self.timers.starts.next =
            self.job1.q.val().feedback | self.job1.q.val().accept | self.job1.q.val().pop;
        self.states.read_address.next = self.at_slot.val();
        if !self.starter.ready.val() {
            self.states.read_address.next = self.starter.next_slot.val();
        }
        self.messages.read_address.next = self.at_slot.val();

        // S1: a request becomes the slot's constant part.
        self.intake.request_valid.next = self.request_valid.val();
        self.intake.request_data.next = self.request_data.val();
        self.request_ready.next = self.intake.request_ready.val();
        self.intake.unsolicited.next = self.bytes.q.val();
        self.intake.unsolicited_limit.next = self.settings.val().unsolicited_limit;
        self.intake.take.next = self.job1.q.val().accept;
        self.windows.ask.next = self.request_data.val().dst_gid;
        self.intake.cap.next = self.windows.cap.val();
        self.messages.write_enable.next = self.job1.q.val().accept;
        self.messages.write_address.next = self.job1.q.val().slot;
        self.messages.write_data.next = self.intake.request.val();
        self.rtt.ask.next = self.intake.request.val().dst_gid;
        if self.job1.q.val().accept {
            self.message2.d.next = self.intake.request.val();
            self.rtt1.next = self.known1.q.val();
        } else {
            self.message2.d.next = self.messages.read_data.val();
            self.rtt1.next = self.states.read_data.val().srtt;
        }
        // Out of a memory; the request has stood for clocks before it is accepted.
        self.known1.d.next = self.rtt.known.val();
        self.known2.d.next = self.known1.q.val();
        // The round trip comes out of UltraRAM: its sum is of two parts, the upper one with and without
        // what the lower one carries, and which it is and whether it is known is decided a clock later.
        self.reach_unknown.d.next = bit_cast::<18, 16>(self.settings.val().rtt_default)
            + (bit_cast::<18, 16>(self.settings.val().guard) << 1);
        self.guard2.next = bit_cast::<18, 16>(self.settings.val().guard) << 1;
        self.low2.d.next = bit_cast::<9, 8>(self.guard2.val().get_bits::<8>(0))
            + bit_cast::<9, 8>(self.rtt1.val().get_bits::<8>(0));
        self.high2.d.next =
            self.guard2.val().get_bits::<10>(8) + bit_cast::<10, 8>(self.rtt1.val().get_bits::<8>(8));
        self.carried2.d.next =
            self.guard2.val().get_bits::<10>(8) - !bit_cast::<10, 8>(self.rtt1.val().get_bits::<8>(8));
        self.unknown2.d.next = self.rtt1.val() == 0;
        self.known_rtt2.d.next = self.rtt1.val();
        self.rtt2.next = self.known_rtt2.q.val();
        self.reach2.next = (bit_cast::<18, 10>(self.high2.q.val()) << 8)
            | bit_cast::<18, 8>(self.low2.q.val().get_bits::<8>(0));
        if self.low2.q.val().get_bit(8) {
            self.reach2.next = (bit_cast::<18, 10>(self.carried2.q.val()) << 8)
                | bit_cast::<18, 8>(self.low2.q.val().get_bits::<8>(0));
        }
        if self.unknown2.q.val() {
            self.rtt2.next = self.settings.val().rtt_default;
            self.reach2.next = self.reach_unknown.q.val();
        }
        // TX-6.
        self.beyond.d.next = self.outlet.lag.val() + (bit_cast::<24, 16>(self.settings.val().guard) << 1);
        self.state2.d.next = self.states.read_data.val();
        self.job2.d.next = self.job1.q.val();
        self.valid2.d.next = self.valid1.q.val();

        self.judge.next_job.next = self.job1.q.val();
        self.judge.next_probes.next = self.states.read_data.val().probes;

        // S2.
        self.judge.settings.next = self.settings.val();
        self.judge.now.next = self.now.val();
        self.judge.job.next = self.job2.q.val();
        self.judge.state.next = self.state2.q.val();
        self.judge.message.next = self.message2.q.val();
        self.judge.feedback.next = self.feedback.q.val();
        self.judge.outside.next = self.feedback_slot.val() != self.feedback.q.val().slot;
        self.judge.known_rtt.next = self.known2.q.val();
        self.judge.rtt.next = self.rtt2.val();
        self.judge.reach.next = self.reach2.val();
        self.judge.settles_in.next = self.beyond.q.val() + bit_cast::<24, 16>(self.rtt2.val());
        self.judge.jitter.next = self.starter.jitter.val();
        self.maker.job.next = self.job2.q.val();
        self.maker.state.next = self.state2.q.val();
        self.maker.message.next = self.message2.q.val();
        self.query_slot.next = self.job2.q.val().slot;
        self.state3.d.next = self.state2.q.val();
        self.job3.d.next = self.job2.q.val();
        self.valid3.d.next = self.valid2.q.val();
        self.completer.clk.next = self.clk.val();
        self.completer.rst.next = self.rst.val();
        self.completer.start.next = self.chooser.chosen[3].val();
        self.completer.job.next = self.job2.q.val();
        self.completer.state.next = self.state2.q.val();
        self.completer.message.next = self.message2.q.val();
        self.done_valid.next = self.completer.done_valid.val();
        self.done_data.next = self.completer.done_data.val();
        self.completer.done_ready.next = self.done_ready.val();
        self.releaser.clk.next = self.clk.val();
        self.releaser.rst.next = self.rst.val();
        self.releaser.begin_finish.next = self.chooser.chosen[3].val();
        self.releaser.begin_answer.next = self.chooser.chosen[0].val() & self.asks_release.val();
        self.releaser.job.next = self.job2.q.val();
        self.releaser.state.next = self.state2.q.val();
        self.releaser.message.next = self.message2.q.val();
        self.releaser.answered.next = self.act.action.val().feedback;
        self.releaser.answers.next = self.act.action.val().release;
        self.releaser.feedback.next = self.feedback.q.val();
        self.release_valid.next = self.releaser.release_valid.val();
        self.release_data.next = self.releaser.release_data.val();
        self.releaser.release_ready.next = self.release_ready.val();

        // S3.
        self.act.settings.next = self.settings.val();
        self.act.now.next = self.now.val();
        self.act.job.next = self.job3.q.val();
        self.act.state.next = self.state3.q.val();
        self.act.verdict.next = self.judge.verdict.val();
        self.act.feedback.next = self.feedback.q.val();
        self.act.queued.next = self.query_queued.val();

        // S4.
        self.states.write_enable.next = self.act.action.val().valid;
        self.states.write_address.next = self.act.action.val().slot;
        self.states.write_data.next = self.act.new_state.val();
        if self.starter.clear_give.val() {
            self.states.write_enable.next = true;
            self.states.write_address.next = self.starter.clear_slot.val();
            // Zeros otherwise: there is no job.
            self.states.write_data.next.generation = self.starter.generation.val();
            if self.starter.writes_back.val() {
                self.states.write_data.next.generation = self.states.read_data.val().generation;
            }
        }
        self.ring.push.next = self.act.action.val().push;
        self.ring.push_slot.next = self.act.action.val().slot;
        self.ring.push_list.next = self.act.action.val().push_list;
        self.ring.push_on.next = self.act.action.val().push_on;
        self.free.give.next = self.act.action.val().finish | self.starter.clear_give.val();
        self.free.give_slot.next = self.act.action.val().slot;
        if self.starter.clear_give.val() {
            self.free.give_slot.next = self.starter.clear_slot.val();
        }
        self.timers.finished.next = self.act.action.val().may_insert;
        self.timers.insert.next = self.act.action.val().insert;
        self.timers.insert_node.next = bit_cast::<13, 12>(self.act.action.val().slot)
            | (bit_cast::<13, 1>(self.act.action.val().insert_second.into()) << 12);
        self.timers.insert_at.next = self.act.action.val().insert_at;
        self.insert_valid.next = self.timers.insert_valid.val();
        self.insert_data.next = self.timers.insert_data.val();
        self.timers.insert_ready.next = self.insert_ready.val();
        self.timers.pop_valid.next = self.pop_valid.val();
        self.timers.pop_node.next = self.pop_node.val();
        self.pop_ready.next = self.timers.pop_ready.val();
        self.rtt.clear.next = self.starter.clear.val();
        self.rtt.clear_at.next = self.starter.clear_at.val().get_bits::<10>(0);
        self.rtt.learn.next = self.act.action.val().learn_rtt;
        self.rtt.learn_gid.next = self.feedback.q.val().src_gid;
        self.rtt.learn_rtt.next = self.act.action.val().rtt;
        self.echo.next.valid = self.act.action.val().echo;
        self.echo.next.ce = (self.feedback.q.val().flags & self.flag_ce.val()).any();
        self.echo.next.ev = self.feedback.q.val().ev;
        self.echo.next.gid = self.feedback.q.val().src_gid;
        self.window3.d.next = self.message2.q.val().initial_window;
        self.window4.d.next = self.window3.q.val();
        self.windows.clear.next = self.starter.clear.val();
        self.windows.clear_at.next = self.starter.clear_at.val().get_bits::<10>(0);
        self.windows.gid.next = self.feedback.q.val().src_gid;
        self.windows.halve.next = self.act.action.val().window_halve;
        self.windows.window.next = self.window4.q.val();
        self.windows.grow.next = self.act.action.val().window_grow;
        self.nack.launch.next = self.act.action.val().nack;
        self.nack.slot.next = self.act.action.val().slot;
        self.nack.generation.next = self.feedback.q.val().generation;
        self.nack.base.next = self.feedback.q.val().base;
        self.nack.limit.next = self.act.action.val().nack_limit;
        self.nack.below.next = self.act.action.val().nack_below;
        self.nack.bitmap.next = self.feedback.q.val().bitmap;
        self.walk_valid.next = self.nack.walk_valid.val();
        self.walk_data.next = self.nack.walk_data.val();
        self.nack.walk_ready.next = self.walk_ready.val();
        self.nack.walk_row.next = self.walk_row.val();
        self.walk_bits.next = self.nack.walk_bits.val();

        // Packets on their way.
        self.flight.now.next = self.now.val().get_bits::<24>(0);
        self.flight.query_slot.next = self.at_slot.val();
        self.judge.in_flight.next = self.flight.in_flight.val();
        self.judge.landed_at.next = self.flight.landed_at.val();
        self.flight.clear.next = self.starter.clear.val();
        self.flight.clear_slot.next = self.starter.clear_slot.val();
        self.flight.op_slot.next = self.act.action.val().slot;
        self.flight.op_up.next = self.act.action.val().send;
        self.flight.op_end.next = self.act.action.val().end;
        self.flight.op_down.next = self.act.action.val().down;
        self.flight.landed.next = self.sent.val().valid;
        self.flight.landed_slot.next = self.sent.val().slot;
        self.finished.push.next = self.flight.done.val();
        self.finished.push_slot.next = self.flight.done_slot.val();
        self.failures.in_valid.next = self.failed.val().valid;
        self.failures.in_data.next = self.failed.val().slot;
        self.outlet.clk.next = self.clk.val();
        self.outlet.rst.next = self.rst.val();
        self.outlet.start.next = self.chooser.chosen[6].val() | self.chooser.chosen[7].val();
        self.outlet.tried.next = self.act.action.val().tried;
        self.outlet.send.next = self.act.action.val().send;
        self.outlet.now.next = self.now.val().get_bits::<24>(0);
        self.outlet.landed.next = self.flight.counted.val();
        self.outlet.failed.next = self.act.action.val().down;
        self.outlet.packet_ready.next = self.packet_ready.val();
        self.packet_valid.next = self.outlet.packet_valid.val();
        self.packet_data.next = self.maker.packet.val();

        // Unasked bytes.
        self.added.next = 0.into();
        if self.job1.q.val().accept {
            self.added.next = self.intake.bytes.val();
        }
        self.bytes.d.next = self.bytes.q.val() + self.added.val() - self.act.action.val().give_back;
        self.unsolicited.next = self.bytes.q.val();
        self.free_slots.next = self.free.count.val();

        self.heard.next = self.act.action.val().feedback;
        self.feedback_stale.next = self.act.action.val().stale;
        self.feedback_forged.next = self.act.action.val().forged;
        self.feedback_nonsense.next = self.act.action.val().nonsense;
        self.nack_overflow.next = self.walk_refused.val();
        self.tx_opened.next = self.act.action.val().opened;
        self.tx_completed.next = self.act.action.val().completed;
        self.tx_failed.next = self.act.action.val().failed;
        self.backstop_expiries.next = self.act.action.val().expired;

        if self.rst.val() {
            self.fails.d.next = false;
            self.feedback_held.d.next = false;
            self.feedback_started.d.next = false;
            self.feedback_last.d.next = false;
            self.feedback_again.d.next = false;
            self.valid1.d.next = false;
            self.valid2.d.next = false;
            self.valid3.d.next = false;
            self.job1.d.next = self.idle.val();
            self.job2.d.next = self.idle.val();
            self.job3.d.next = self.idle.val();
            self.bytes.d.next = 0.into();
            self.reclaim_at.d.next = 0.into();
        }
    }
}
