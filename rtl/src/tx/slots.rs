//! The messages being sent: a slot for each, and the pipeline that everything
//! about them goes through.
//!
//! ```text
//!  FEEDBACK ─────┐
//!  failed reads,─┤  choose       read        compare     decide       write back
//!  idle NACKs ───┤  a job  ───>  two RAMs ─> judge  ───> act    ───>  state RAM, walks,
//!  finished ─────┤  (S0)         (S1)        (S2)        (S3)         ring, timers, packet,
//!  timer pops ───┤                 ^                                  flight, events (S4)
//!  requests ─────┤                 │ constant part written once
//!  turns/steps ──┘                 └ request
//! ```
//!
//! Everything that concerns a slot is a *job*. One job enters per clock; a job
//! for a slot that is still in the pipeline waits, and lets the others pass.
//! Packets come last: there is always a next one, and what goes before them is
//! what ends messages; it cannot keep them out, because without packets it ends.
//! Slots with something to send stand in a ring and send one packet a turn, at the end
//! of a message what is left of it;
//! retransmissions come from the retransmit queue, alternating with turns.
//! Packets on their way are counted apart (`flight`), so a packet costs its
//! slot one job.
//!
//! Contract:
//! - a request takes at least 4 clocks, FEEDBACK 5 (and lets others go first, until one
//!   of them was of its slot, if it names that of the FEEDBACK before it), a packet 5; a single-packet
//!   message costs four jobs and one every 6 clocks is sustained;
//! - from a request taken to its first packet offered: 13 clocks; from a step
//!   offered to its packet: 5;
//! - one slot sends a packet every 5 clocks;
//! - while an endpoint is reclaimed every slot is looked at in turn, in every
//!   second clock at best, and ends if it is that endpoint's;
//! - a RELEASE is offered 4 clocks after the job that leads to it was chosen; until
//!   it is taken no message finishes, and no FEEDBACK that asks for one is taken; then
//!   the two take turns while both wait;
//! - `sent` and `failed` are never refused: at most 252 packets are on their way;
//! - a deadline or bound may be late by four RTO after it was shortened while
//!   both nodes were linked further out, else by the wheel only;
//! - `enable` low: no request is taken, nothing sent, and every message ends as
//!   `flushed` at its next timer pop, at most four RTO later;
//! - `ready` rises when the tables are clear, and is low once more for that long
//!   after the first `enable`.
//!
//! Verified by `testbenches/tests/tx_slots/`.

use super::words::{Job, SlotState};
use super::{
    Act, Chooser, Completer, Flight, FreeList, Judge, Nack, Outlet, PacketMaker, Releaser, RequestIntake,
    RttTable, SlotRing, Starter, Timers, WindowTable,
};
use crate::prelude::*;
use crate::stream::Fifo;
use crate::types::{
    Done, PathEcho, Reclaim, RxFeedback, Settings, TimerInsert, TxFeedback, TxPacket, TxRequest, TxSent,
    Walk, WalkStep,
};
use tessera_abi::params::Config;
use tessera_abi::wire::fb;

#[derive(LogicBlock)]
pub struct Slots {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    /// With `rst`: slots keep their generations.
    pub keeps: Signal<In, Bit>,
    pub settings: Signal<In, Settings>,
    pub now: Signal<In, Bits<32>>,
    /// Its messages end as `flushed`.
    pub reclaim: Signal<In, Reclaim>,
    pub request_valid: Signal<In, Bit>,
    pub request_data: Signal<In, TxRequest>,
    pub request_ready: Signal<Out, Bit>,
    pub feedback_valid: Signal<In, Bit>,
    pub feedback_data: Signal<In, RxFeedback>,
    pub feedback_ready: Signal<Out, Bit>,
    pub walk_valid: Signal<Out, Bit>,
    pub walk_data: Signal<Out, Walk>,
    pub walk_ready: Signal<In, Bit>,
    pub walk_refused: Signal<In, Bit>,
    pub step_valid: Signal<In, Bit>,
    pub step_data: Signal<In, WalkStep>,
    pub step_ready: Signal<Out, Bit>,
    /// The retransmit queue answers one clock later.
    pub query_slot: Signal<Out, Bits<12>>,
    pub query_queued: Signal<In, Bit>,
    pub insert_valid: Signal<Out, Bit>,
    pub insert_data: Signal<Out, TimerInsert>,
    pub insert_ready: Signal<In, Bit>,
    pub pop_valid: Signal<In, Bit>,
    pub pop_node: Signal<In, Bits<13>>,
    pub pop_ready: Signal<Out, Bit>,
    pub packet_valid: Signal<Out, Bit>,
    pub packet_data: Signal<Out, TxPacket>,
    pub packet_ready: Signal<In, Bit>,
    /// Packets that left.
    pub sent: Signal<In, TxSent>,
    /// Packets dropped because their read failed.
    pub failed: Signal<In, TxSent>,
    /// Entropy values that came back.
    pub echo: Signal<Out, PathEcho>,
    pub done_valid: Signal<Out, Bit>,
    pub done_data: Signal<Out, Done>,
    pub done_ready: Signal<In, Bit>,
    /// RELEASEs.
    pub release_valid: Signal<Out, Bit>,
    pub release_data: Signal<Out, TxFeedback>,
    pub release_ready: Signal<In, Bit>,
    /// Unasked bytes in flight.
    pub unsolicited: Signal<Out, Bits<32>>,
    pub free_slots: Signal<Out, Bits<13>>,
    pub ready: Signal<Out, Bit>,
    /// FEEDBACK that was taken is dealt with.
    pub heard: Signal<Out, Bit>,
    pub feedback_stale: Signal<Out, Bit>,
    pub feedback_forged: Signal<Out, Bit>,
    pub feedback_nonsense: Signal<Out, Bit>,
    pub nack_overflow: Signal<Out, Bit>,
    pub tx_opened: Signal<Out, Bit>,
    pub tx_completed: Signal<Out, Bit>,
    pub tx_failed: Signal<Out, Bit>,
    pub backstop_expiries: Signal<Out, Bit>,

    starter: Starter,
    chooser: Chooser,
    completer: Completer,
    releaser: Releaser,
    outlet: Outlet,
    intake: RequestIntake,
    free: FreeList,
    ring: SlotRing,
    finished: SlotRing,
    failures: Fifo<Bits<12>, 8>,
    flight: Flight,
    timers: Timers,
    rtt: RttTable,
    windows: WindowTable,
    messages: SdpRam<TxRequest, 12>,
    states: SdpRam<SlotState, 12>,
    judge: Judge,
    act: Act,
    maker: PacketMaker,
    nack: Nack,

    // FEEDBACK at work.
    feedback: Dff<RxFeedback>,
    feedback_held: Dff<Bit>,
    feedback_started: Dff<Bit>,
    /// Its slot, as this NIC numbers them: the memories would see no more of it.
    feedback_slot: Signal<Local, Bits<12>>,
    /// No other job of that slot came since it was at work.
    feedback_last: Dff<Bit>,
    feedback_follows: Signal<Local, Bit>,
    /// The FEEDBACK before it named the same one, and no job of that slot came since.
    feedback_again: Dff<Bit>,
    has_nack: Signal<Local, Bit>,
    asks_release: Signal<Local, Bit>,
    may_finish: Signal<Local, Bit>,

    packet_room: Signal<Local, Bit>,

    // S1 to S3.
    job1: Dff<Job>,
    job2: Dff<Job>,
    job3: Dff<Job>,
    valid1: Dff<Bit>,
    valid2: Dff<Bit>,
    valid3: Dff<Bit>,
    state2: Dff<SlotState>,
    state3: Dff<SlotState>,
    message2: Dff<TxRequest>,
    window3: Dff<Bits<8>>,
    window4: Dff<Bits<8>>,
    known2: Dff<Bits<16>>,
    rtt2: Dff<Bits<16>>,
    /// What a word about a packet takes beyond the round trip; with that of the job's slot.
    beyond: Dff<Bits<24>>,
    age2: Dff<Bits<24>>,
    rtt1: Signal<Local, Bits<16>>,

    // Outputs.
    bytes: Dff<Bits<32>>,
    /// The slot to look at next for who is reclaimed.
    reclaim_at: Dff<Bits<12>>,
    added: Signal<Local, Bits<32>>,
    flag_nack: Constant<Bits<8>>,
    flag_ce: Constant<Bits<8>>,
    flag_complete: Constant<Bits<8>>,
    flag_release: Constant<Bits<8>>,
    blank: Constant<SlotState>,
    idle: Constant<Job>,
    last_slot: Constant<Bits<12>>,
}

impl Slots {
    /// A sender of `2^tx_slots_log2` slots.
    pub fn new(config: &Config) -> Self {
        let log2 = config.tx_slots_log2;
        Self {
            clk: Default::default(),
            rst: Default::default(),
            keeps: Default::default(),
            settings: Default::default(),
            now: Default::default(),
            reclaim: Default::default(),
            request_valid: Default::default(),
            request_data: Default::default(),
            request_ready: Default::default(),
            feedback_valid: Default::default(),
            feedback_data: Default::default(),
            feedback_ready: Default::default(),
            walk_valid: Default::default(),
            walk_data: Default::default(),
            walk_ready: Default::default(),
            walk_refused: Default::default(),
            step_valid: Default::default(),
            step_data: Default::default(),
            step_ready: Default::default(),
            query_slot: Default::default(),
            query_queued: Default::default(),
            insert_valid: Default::default(),
            insert_data: Default::default(),
            insert_ready: Default::default(),
            pop_valid: Default::default(),
            pop_node: Default::default(),
            pop_ready: Default::default(),
            packet_valid: Default::default(),
            packet_data: Default::default(),
            packet_ready: Default::default(),
            sent: Default::default(),
            failed: Default::default(),
            echo: Default::default(),
            done_valid: Default::default(),
            done_data: Default::default(),
            done_ready: Default::default(),
            release_valid: Default::default(),
            release_data: Default::default(),
            release_ready: Default::default(),
            unsolicited: Default::default(),
            free_slots: Default::default(),
            ready: Default::default(),
            heard: Default::default(),
            feedback_stale: Default::default(),
            feedback_forged: Default::default(),
            feedback_nonsense: Default::default(),
            nack_overflow: Default::default(),
            tx_opened: Default::default(),
            tx_completed: Default::default(),
            tx_failed: Default::default(),
            backstop_expiries: Default::default(),
            starter: Starter::new(config),
            chooser: Chooser::new(),
            completer: Completer::new(),
            releaser: Releaser::new(),
            outlet: Outlet::new(),
            intake: RequestIntake::new(),
            free: FreeList::new(log2),
            ring: SlotRing::new(log2),
            finished: SlotRing::new(log2),
            failures: Fifo::new(8),
            flight: Flight::new(log2),
            timers: Timers::new(),
            rtt: RttTable::new(),
            windows: WindowTable::new(),
            messages: SdpRam::new(log2),
            states: SdpRam::new(log2),
            judge: Judge::new(),
            act: Act::new(),
            maker: PacketMaker::new(),
            nack: Nack::new(),
            feedback: Default::default(),
            feedback_held: Default::default(),
            feedback_started: Default::default(),
            feedback_slot: Default::default(),
            feedback_last: Default::default(),
            feedback_follows: Default::default(),
            feedback_again: Default::default(),
            has_nack: Default::default(),
            asks_release: Default::default(),
            may_finish: Default::default(),
            packet_room: Default::default(),
            job1: Default::default(),
            job2: Default::default(),
            job3: Default::default(),
            valid1: Default::default(),
            valid2: Default::default(),
            valid3: Default::default(),
            state2: Default::default(),
            state3: Default::default(),
            message2: Default::default(),
            window3: Default::default(),
            window4: Default::default(),
            known2: Default::default(),
            rtt2: Default::default(),
            beyond: Default::default(),
            age2: Default::default(),
            rtt1: Default::default(),
            bytes: Default::default(),
            reclaim_at: Default::default(),
            added: Default::default(),
            flag_nack: Constant::new(u64::from(fb::NACK).into()),
            flag_ce: Constant::new(u64::from(fb::CE).into()),
            flag_complete: Constant::new(u64::from(fb::COMPLETE).into()),
            flag_release: Constant::new(u64::from(fb::RELEASE_REQ).into()),
            blank: Constant::new(SlotState::default()),
            idle: Constant::new(Job::default()),
            last_slot: Constant::new(((1u64 << log2) - 1).into()),
        }
    }
}

impl Logic for Slots {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self,
            clk,
            feedback,
            feedback_held,
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
            rtt2,
            beyond,
            age2,
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
        if self.failures.out_valid.val() {
            self.chooser.slots[1].next = self.failures.out_data.val();
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
            self.failures.out_valid.val() | (self.reclaim.val().active & !self.job1.q.val().reclaim);
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
        self.job1.d.next.fail = self.chooser.chosen[1].val() & self.failures.out_valid.val();
        self.job1.d.next.reclaim = self.chooser.chosen[1].val() & !self.failures.out_valid.val();
        if self.chooser.chosen[1].val() & !self.failures.out_valid.val() {
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
        self.job1.d.next.slot = self.chooser.slot.val();
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
        self.failures.out_ready.next = self.chooser.chosen[1].val();
        self.judge.reclaim.next = self.reclaim.val();
        self.nack.idle_ready.next = self.chooser.chosen[2].val();
        self.ring.take.next = self.chooser.chosen[6].val();
        self.step_ready.next = self.chooser.chosen[7].val();
        self.finished.take.next = self.chooser.chosen[3].val();
        self.free.take.next = self.chooser.chosen[5].val();
        self.timers.take.next = self.chooser.chosen[4].val();
        self.timers.starts.next =
            self.chooser.chosen[0].val() | self.chooser.chosen[5].val() | self.chooser.chosen[4].val();
        self.states.read_address.next = self.chooser.slot.val();
        if !self.starter.ready.val() {
            self.states.read_address.next = self.starter.next_slot.val();
        }
        self.messages.read_address.next = self.chooser.slot.val();

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
            self.rtt1.next = self.rtt.known.val();
        } else {
            self.message2.d.next = self.messages.read_data.val();
            self.rtt1.next = self.states.read_data.val().srtt;
        }
        self.known2.d.next = self.rtt.known.val();
        if self.rtt1.val() == 0 {
            self.rtt2.d.next = self.settings.val().rtt_default;
            self.age2.d.next = self.beyond.q.val() + bit_cast::<24, 16>(self.settings.val().rtt_default);
        } else {
            self.rtt2.d.next = self.rtt1.val();
            self.age2.d.next = self.beyond.q.val() + bit_cast::<24, 16>(self.rtt1.val());
        }
        // TX-6.
        self.beyond.d.next = self.outlet.lag.val() + (bit_cast::<24, 16>(self.settings.val().guard) << 1);
        self.state2.d.next = self.states.read_data.val();
        self.job2.d.next = self.job1.q.val();
        self.valid2.d.next = self.valid1.q.val();

        // S2.
        self.judge.settings.next = self.settings.val();
        self.judge.now.next = self.now.val();
        self.judge.job.next = self.job2.q.val();
        self.judge.state.next = self.state2.q.val();
        self.judge.message.next = self.message2.q.val();
        self.judge.feedback.next = self.feedback.q.val();
        self.judge.outside.next = self.feedback_slot.val() != self.feedback.q.val().slot;
        self.judge.known_rtt.next = self.known2.q.val();
        self.judge.rtt.next = self.rtt2.q.val();
        self.judge.settles_in.next = self.age2.q.val();
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
            self.states.write_data.next = self.blank.val();
            self.states.write_data.next.generation = self.starter.generation.val();
            if self.starter.writes_back.val() {
                self.states.write_data.next.generation = self.states.read_data.val().generation;
            }
        }
        self.ring.push.next = self.act.action.val().push;
        self.ring.push_slot.next = self.act.action.val().slot;
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

        // Packets on their way.
        self.flight.now.next = self.now.val().get_bits::<24>(0);
        self.flight.query_slot.next = self.job1.q.val().slot;
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
        self.finished.push_on.next = false;
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
