//! Decides what becomes of a slot: the sender's rules.
//!
//! ```text
//!  job, state, verdict ──> ends? ──> new state, action
//!                      ──> sends?
//!                      ──> when next?
//! ```
//!
//! Every live slot keeps its first timer node linked, for at most four RTO: so
//! a slot can be late with a deadline that became shorter, or with a bound, by
//! four RTO at most, and it can never be forgotten. A deadline shorter than
//! what the first node is linked for links the second.
//!
//! Contract: `action` and `new_state` follow the inputs by one clock; without a
//! job `action.valid` is low and `new_state` zero, as it is a clock after a reset.
//!
//! Verified as part of `testbenches/tests/tx_slots/`.

use super::words::{Action, Job, SlotState, Verdict};
use crate::prelude::*;
use crate::types::{RxFeedback, Settings};
use tessera_abi::status::Status;

#[derive(LogicBlock)]
pub struct Act {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub settings: Signal<In, Settings>,
    pub now: Signal<In, Bits<32>>,
    pub job: Signal<In, Job>,
    pub state: Signal<In, SlotState>,
    pub verdict: Signal<In, Verdict>,
    pub feedback: Signal<In, RxFeedback>,
    /// Retransmissions of this slot wait.
    pub queued: Signal<In, Bit>,
    pub action: Signal<Out, Action>,
    pub new_state: Signal<Out, SlotState>,
    /// Of a time for a timer node, its distance: it is added up behind the register.
    out: Dff<Action>,
    changed: Dff<SlotState>,
    /// The first node is linked; when that was decided.
    relinked: Dff<Bit>,
    moment: Dff<Bits<32>>,
    /// There is a job.
    works: Signal<Local, Bit>,
    blank: Constant<SlotState>,

    // What the job amounts to.
    waits: Signal<Local, Bit>,
    /// Means something while `wire_waits`.
    wire_left: Signal<Local, Bits<32>>,
    wire_over: Signal<Local, Bit>,
    wire_waits: Signal<Local, Bit>,
    due: Signal<Local, Bit>,
    heard: Signal<Local, Bit>,
    ended_by_peer: Signal<Local, Bit>,
    refused: Signal<Local, Bit>,
    news: Signal<Local, Bit>,
    has_work: Signal<Local, Bit>,
    live_pop: Signal<Local, Bit>,
    timed_out: Signal<Local, Bit>,
    timeout_status: Signal<Local, Bits<8>>,
    postpone: Signal<Local, Bit>,
    probe: Signal<Local, Bit>,
    early: Signal<Local, Bit>,
    read_failed: Signal<Local, Bit>,
    ends: Signal<Local, Bit>,
    send_probe: Signal<Local, Bit>,
    send_new: Signal<Local, Bit>,
    send_again: Signal<Local, Bit>,
    sends: Signal<Local, Bit>,
    ask_again: Signal<Local, Bit>,
    acts_on_nack: Signal<Local, Bit>,
    wants_turn: Signal<Local, Bit>,
    settled: Signal<Local, Bits<24>>,
    known: Signal<Local, Bits<24>>,

    // When it is to be woken.
    arm: Signal<Local, Bit>,
    arm_at: Signal<Local, Bits<32>>,
    arm_in: Signal<Local, Bits<32>>,
    by_wire: Signal<Local, Bit>,
    too_long: Signal<Local, Bit>,
    /// Before the first node pops.
    sooner: Signal<Local, Bit>,
    first: Signal<Local, Bit>,
    second: Signal<Local, Bit>,
    rto: Signal<Local, Bits<32>>,
    longest: Signal<Local, Bits<32>>,
    now24: Signal<Local, Bits<24>>,

    nothing: Constant<Action>,
    opening: Constant<SlotState>,
    unheard: Constant<Bits<8>>,
    not_ready: Constant<Bits<8>>,
    retry_exceeded: Constant<Bits<8>>,
    grant_timeout: Constant<Bits<8>>,
    local_dma: Constant<Bits<8>>,
    flushed: Constant<Bits<8>>,
}

impl Act {
    pub fn new() -> Self {
        let status = |status: Status| Constant::new((status as u64).into());
        Self {
            clk: Default::default(),
            rst: Default::default(),
            settings: Default::default(),
            now: Default::default(),
            job: Default::default(),
            state: Default::default(),
            verdict: Default::default(),
            feedback: Default::default(),
            queued: Default::default(),
            action: Default::default(),
            new_state: Default::default(),
            out: Default::default(),
            changed: Default::default(),
            relinked: Default::default(),
            moment: Default::default(),
            works: Default::default(),
            blank: Constant::new(SlotState::default()),
            waits: Default::default(),
            wire_left: Default::default(),
            wire_over: Default::default(),
            wire_waits: Default::default(),
            due: Default::default(),
            heard: Default::default(),
            ended_by_peer: Default::default(),
            refused: Default::default(),
            news: Default::default(),
            has_work: Default::default(),
            live_pop: Default::default(),
            timed_out: Default::default(),
            timeout_status: Default::default(),
            postpone: Default::default(),
            probe: Default::default(),
            early: Default::default(),
            read_failed: Default::default(),
            ends: Default::default(),
            send_probe: Default::default(),
            send_new: Default::default(),
            send_again: Default::default(),
            sends: Default::default(),
            ask_again: Default::default(),
            acts_on_nack: Default::default(),
            wants_turn: Default::default(),
            settled: Default::default(),
            known: Default::default(),
            arm: Default::default(),
            arm_at: Default::default(),
            arm_in: Default::default(),
            by_wire: Default::default(),
            too_long: Default::default(),
            sooner: Default::default(),
            first: Default::default(),
            second: Default::default(),
            rto: Default::default(),
            longest: Default::default(),
            now24: Default::default(),
            nothing: Constant::new(Action::default()),
            opening: Constant::new(SlotState {
                phase: 1u64.into(),
                nack_behind: 127u64.into(),
                ..SlotState::default()
            }),
            unheard: status(Status::Unheard),
            not_ready: status(Status::ReceiverNotReady),
            retry_exceeded: status(Status::RetryExceeded),
            grant_timeout: status(Status::GrantTimeout),
            local_dma: status(Status::LocalDma),
            flushed: status(Status::Flushed),
        }
    }
}

impl Logic for Act {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, out, changed, relinked, moment);
        self.arm_at.next = self.moment.q.val() + self.out.q.val().insert_at;
        self.action.next = self.out.q.val();
        self.action.next.insert_at = self.arm_at.val();
        self.new_state.next = self.changed.q.val();
        if self.relinked.q.val() {
            self.new_state.next.linked_at = self.arm_at.val();
        }
        self.moment.d.next = self.now.val();
        self.now24.next = self.now.val().get_bits::<24>(0);
        self.rto.next = bit_cast::<32, 24>(self.settings.val().rto);
        self.longest.next = bit_cast::<32, 24>(self.settings.val().rto) << 2;

        // What the job amounts to.
        self.heard.next = self.job.val().feedback
            & self.verdict.val().ours
            & !self.verdict.val().forged
            & !self.verdict.val().nonsense;
        self.ended_by_peer.next =
            self.heard.val() & (self.verdict.val().complete | self.verdict.val().aborted);
        // TX-11: late BUSYs of the packets before the wait change nothing.
        self.refused.next = self.heard.val()
            & !self.ended_by_peer.val()
            & self.verdict.val().busy
            & !self.state.val().heard
            & (self.state.val().busy != 1);
        self.news.next = self.heard.val() & !self.ended_by_peer.val() & !self.verdict.val().busy;

        self.live_pop.next = self.job.val().pop & self.verdict.val().live;
        self.waits.next = (self.verdict.val().left != 0) & !self.verdict.val().left.get_bit(31);
        self.wire_left.next = self.verdict.val().wire_left;
        self.wire_over.next = self.verdict.val().wire_left.get_bit(31);
        if self.verdict.val().wire_long {
            self.wire_left.next = bit_cast::<32, 23>(self.verdict.val().wire_left.get_bits::<23>(0));
            self.wire_over.next = self.verdict.val().wire_left.get_bit(23);
        }
        self.wire_waits.next =
            (self.wire_left.val() != 0) & !self.wire_over.val() & (self.state.val().busy != 1);
        self.due.next = !self.waits.val() & !self.wire_waits.val();
        self.has_work.next = self.state.val().in_ring | self.queued.val();
        // TX-10, first that holds.
        self.timed_out.next = self.live_pop.val();
        self.timeout_status.next = self.flushed.val();
        if self.settings.val().enable {
            if !self.state.val().heard & self.verdict.val().open_over {
                if self.state.val().was_busy {
                    self.timeout_status.next = self.not_ready.val();
                } else {
                    self.timeout_status.next = self.unheard.val();
                }
            } else {
                // TX-11: the PROBE at the end of a wait is owed however many went before.
                if self.due.val()
                    & self.verdict.val().retries_over
                    & !self.has_work.val()
                    & (self.state.val().busy != 1)
                {
                    self.timeout_status.next = self.retry_exceeded.val();
                } else {
                    if self.state.val().heard & self.verdict.val().grant_over {
                        self.timeout_status.next = self.grant_timeout.val();
                    } else {
                        self.timed_out.next = false;
                    }
                }
            }
        }
        self.postpone.next =
            self.live_pop.val() & !self.timed_out.val() & self.due.val() & self.has_work.val();
        self.probe.next = self.live_pop.val() & !self.timed_out.val() & self.due.val() & !self.has_work.val();
        self.early.next = self.live_pop.val() & !self.timed_out.val() & !self.due.val();
        self.read_failed.next = self.job.val().fail & self.verdict.val().live;
        self.ends.next = self.ended_by_peer.val()
            | self.timed_out.val()
            | self.read_failed.val()
            | self.verdict.val().reclaimed;

        self.send_probe.next = self.job.val().turn & self.verdict.val().live & self.state.val().probe;
        self.send_new.next = self.job.val().turn
            & self.verdict.val().live
            & !self.state.val().probe
            & self.verdict.val().unsent
            & (self.state.val().busy == 0);
        self.send_again.next = self.job.val().step & self.verdict.val().ours & self.verdict.val().again;
        self.ask_again.next = self.job.val().idle_nack
            & self.verdict.val().ours
            & self.verdict.val().may_probe
            & !self.verdict.val().starved
            & !self.state.val().probe;
        self.acts_on_nack.next = self.news.val() & self.verdict.val().heeds;

        // Defaults: the state stays, nothing is done.
        self.changed.d.next = self.state.val();
        self.out.d.next = self.nothing.val();
        self.out.d.next.slot = self.job.val().slot;
        self.works.next = self.job.val().accept
            | self.job.val().feedback
            | self.job.val().pop
            | self.job.val().turn
            | self.job.val().step
            | self.job.val().finish
            | self.job.val().fail
            | self.job.val().reclaim
            | self.job.val().idle_nack;
        self.out.d.next.valid = self.works.val();
        self.out.d.next.feedback = self.job.val().feedback;
        self.out.d.next.release =
            self.job.val().feedback & self.verdict.val().release_asked & self.verdict.val().past;
        self.out.d.next.finish = self.job.val().finish;
        self.out.d.next.may_insert = self.job.val().accept | self.job.val().feedback | self.job.val().pop;
        self.sends.next = self.send_probe.val() | self.send_new.val() | self.send_again.val();
        self.out.d.next.tried = self.job.val().turn | self.job.val().step;
        self.out.d.next.send = self.sends.val();
        self.out.d.next.down = self.job.val().fail;
        self.out.d.next.opened = self.job.val().accept;
        self.out.d.next.completed = self.job.val().finish & (self.state.val().status == 0);
        self.out.d.next.failed = self.job.val().finish & (self.state.val().status != 0);
        self.out.d.next.expired = self.probe.val();
        self.out.d.next.stale = self.job.val().feedback & !self.verdict.val().ours;
        self.out.d.next.forged =
            self.job.val().feedback & self.verdict.val().ours & self.verdict.val().forged;
        self.out.d.next.nonsense = self.job.val().feedback
            & self.verdict.val().ours
            & !self.verdict.val().forged
            & self.verdict.val().nonsense;

        // TX-1.
        if self.job.val().accept {
            self.changed.d.next = self.opening.val();
            self.changed.d.next.generation = self.state.val().generation + 1;
            self.changed.d.next.limit = self.verdict.val().grant;
            self.changed.d.next.srtt = self.verdict.val().srtt;
            self.changed.d.next.mark_time = self.now24.val();
            self.changed.d.next.last_new = self.now24.val();
            self.changed.d.next.probe_time = self.now24.val();
            self.changed.d.next.since = self.now.val();
            self.changed.d.next.linked_at = self.state.val().linked_at;
        }

        // TX-4, TX-5.
        if self.news.val() {
            self.changed.d.next.heard = true;
            self.changed.d.next.busy = 0.into();
            self.changed.d.next.busy_count = 0.into();
            self.changed.d.next.probes = 0.into();
            if self.verdict.val().cumulative_up {
                self.changed.d.next.cumulative = self.feedback.val().cumulative;
            }
            if self.verdict.val().limit_up {
                self.changed.d.next.limit = self.verdict.val().grant;
            }
            if !self.state.val().heard | self.verdict.val().cumulative_up | self.verdict.val().limit_up {
                self.changed.d.next.since = self.now.val();
            }
            self.changed.d.next.nack_behind = self.verdict.val().nack_behind;
            if self.verdict.val().fresh {
                self.changed.d.next.last_sequence = self.feedback.val().sequence;
                self.changed.d.next.sequenced = true;
            }
        }
        if (self.ended_by_peer.val() | self.refused.val() | self.news.val())
            & self.verdict.val().fresh
            & self.verdict.val().sampled
        {
            self.changed.d.next.srtt = self.verdict.val().srtt;
            self.out.d.next.learn_rtt = true;
        }
        self.out.d.next.rtt = self.verdict.val().srtt;
        // TX-13.
        self.out.d.next.echo = self.heard.val() & self.verdict.val().echoes;
        // TX-14.
        self.out.d.next.window_halve = (self.heard.val() & self.verdict.val().congested) | self.refused.val();
        self.out.d.next.window_grow = self.heard.val()
            & !self.state.val().heard
            & !self.verdict.val().busy
            & !self.verdict.val().aborted;

        // TX-11.
        if self.refused.val() {
            self.changed.d.next.busy = 1.into();
            self.changed.d.next.was_busy = true;
            self.changed.d.next.probes = 0.into();
            if self.state.val().busy_count != 5 {
                self.changed.d.next.busy_count = self.state.val().busy_count + 1;
            }
        }

        // TX-6: the marks as they stand before this emission or NACK.
        self.settled.next = self.state.val().settled;
        if self.verdict.val().half_old {
            self.settled.next = self.state.val().mark1;
        }
        if self.verdict.val().old {
            self.settled.next = self.state.val().sent;
        }
        if self.send_new.val() | self.send_again.val() | self.acts_on_nack.val() {
            self.changed.d.next.settled = self.settled.val();
            if self.verdict.val().half_old {
                self.changed.d.next.mark1 = self.state.val().mark0;
                self.changed.d.next.mark0 = self.state.val().sent;
                self.changed.d.next.mark_time = self.now24.val();
            }
            if self.verdict.val().old {
                self.changed.d.next.mark1 = self.state.val().sent;
                self.changed.d.next.mark0 = self.state.val().sent;
                self.changed.d.next.mark_time = self.now24.val();
            }
        }

        // TX-7. What is settled was sent.
        self.out.d.next.nack = self.acts_on_nack.val();
        // One that was overtaken left long ago: it can have heard of less.
        self.known.next = self.settled.val();
        if !self.verdict.val().fresh {
            self.known.next = self.state.val().settled;
        }
        self.out.d.next.nack_below = self.known.val();
        self.out.d.next.nack_limit = self.state.val().sent;
        if self.feedback.val().limit < self.state.val().sent {
            self.out.d.next.nack_limit = self.feedback.val().limit;
        }

        // Emissions.
        if self.send_new.val() {
            self.changed.d.next.sent = self.state.val().sent + 1;
            self.changed.d.next.last_new = self.now24.val();
            if self.state.val().sent == 0 {
                self.changed.d.next.since = self.now.val();
            }
        }
        if self.send_probe.val() {
            self.changed.d.next.probe = false;
            self.changed.d.next.probe_time = self.now24.val();
        }
        // TX-11: a PROBE that waited for its turn when BUSY came shortens no wait.
        if self.sends.val() & (self.state.val().busy != 1) {
            self.changed.d.next.deadline = self.now.val() + self.verdict.val().interval;
        }

        // TX-9.
        if self.probe.val() {
            self.changed.d.next.probe = true;
            if self.state.val().probes != 255 {
                self.changed.d.next.probes = self.state.val().probes + 1;
            }
            if self.state.val().busy == 1 {
                self.changed.d.next.busy = 2.into();
            }
        }
        if self.ask_again.val() {
            self.changed.d.next.probe = true;
        }

        // Its turn, TX-8 and TX-17.
        self.wants_turn.next = self.job.val().accept
            | self.probe.val()
            | self.ask_again.val()
            | (self.news.val() & self.verdict.val().unsent_then)
            | (self.send_new.val() & self.verdict.val().unsent_after)
            | (self.send_probe.val() & self.verdict.val().unsent & (self.state.val().busy == 0));
        self.out.d.next.push = self.wants_turn.val() & (self.job.val().turn | !self.state.val().in_ring);
        self.out.d.next.push_list = self.verdict.val().list;
        self.out.d.next.push_on = self.send_probe.val()
            | (self.send_new.val() & self.verdict.val().unsent_after & self.verdict.val().few_after);
        if self.job.val().turn | self.job.val().accept {
            self.changed.d.next.in_ring = false;
        }
        if self.wants_turn.val() | (self.job.val().accept & self.state.val().in_ring) {
            self.changed.d.next.in_ring = true;
        }

        // TX-12 and the unasked bytes of TX-1.
        if self.ends.val() {
            self.changed.d.next.phase = 2.into();
            self.out.d.next.end = true;
            if self.ended_by_peer.val() & self.verdict.val().complete {
                self.changed.d.next.status = 0.into();
                self.changed.d.next.release_asked = self.verdict.val().release_asked;
            }
            if self.ended_by_peer.val() & self.verdict.val().aborted {
                self.changed.d.next.status = self.feedback.val().status;
            }
            if self.timed_out.val() {
                self.changed.d.next.status = self.timeout_status.val();
            }
            if self.read_failed.val() {
                self.changed.d.next.status = self.local_dma.val();
            }
            if self.verdict.val().reclaimed {
                self.changed.d.next.status = self.flushed.val();
            }
        }
        if (self.ends.val() | self.news.val()) & !self.state.val().heard {
            self.out.d.next.give_back = self.verdict.val().unasked;
        }
        if self.job.val().finish {
            self.changed.d.next.phase = 0.into();
        }

        // When next. A node that popped is free to be linked again.
        self.arm.next = self.job.val().accept
            | self.news.val()
            | self.refused.val()
            | self.postpone.val()
            | self.probe.val()
            | self.early.val();
        self.arm_in.next = self.verdict.val().link;
        if self.postpone.val() {
            self.arm_in.next = self.rto.val();
        }
        // The later of two times, at most so far: each compared with all others at once.
        self.by_wire.next =
            self.wire_waits.val() & (!self.waits.val() | (self.verdict.val().left < self.wire_left.val()));
        self.too_long.next = self.verdict.val().left > self.longest.val();
        self.sooner.next = self.verdict.val().link < self.verdict.val().first_left;
        if self.postpone.val() {
            self.sooner.next = self.rto.val() < self.verdict.val().first_left;
        }
        if self.by_wire.val() {
            self.too_long.next = self.wire_left.val() > self.longest.val();
        }
        if self.early.val() {
            self.arm_in.next = self.verdict.val().left;
            self.sooner.next = self.verdict.val().left < self.verdict.val().first_left;
            if self.by_wire.val() {
                self.arm_in.next = self.wire_left.val();
                self.sooner.next = self.wire_left.val() < self.verdict.val().first_left;
            }
            if self.too_long.val() {
                self.arm_in.next = self.longest.val();
                self.sooner.next = self.longest.val() < self.verdict.val().first_left;
            }
        }
        if self.postpone.val() {
            self.changed.d.next.deadline = self.now.val() + self.rto.val();
        } else {
            if self.arm.val() & !self.early.val() {
                self.changed.d.next.deadline = self.now.val() + self.verdict.val().interval;
            }
        }
        self.first.next = self.state.val().first_linked & !(self.job.val().pop & !self.job.val().second);
        self.second.next = self.state.val().second_linked & !(self.job.val().pop & self.job.val().second);
        self.changed.d.next.first_linked = self.first.val();
        self.changed.d.next.second_linked = self.second.val();
        self.out.d.next.insert_at = self.arm_in.val();
        self.relinked.d.next = self.arm.val() & !self.first.val();
        if self.arm.val() {
            if !self.first.val() {
                self.out.d.next.insert = true;
                self.changed.d.next.first_linked = true;
            } else {
                if !self.second.val() & !self.verdict.val().first_left.get_bit(31) & self.sooner.val() {
                    self.out.d.next.insert = true;
                    self.out.d.next.insert_second = true;
                    self.changed.d.next.second_linked = true;
                }
            }
        }

        // So that the words of slots are cleared by what is wired to them.
        if self.rst.val() | !self.works.val() {
            self.changed.d.next = self.blank.val();
            self.relinked.d.next = false;
        }
        if self.rst.val() {
            self.out.d.next.valid = false;
            self.out.d.next.send = false;
        }
    }
}
