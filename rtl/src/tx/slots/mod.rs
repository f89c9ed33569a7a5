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
//! Slots with something to send stand in lists and send one packet a turn, at the end
//! of a message what is left of it;
//! retransmissions come from the retransmit queue, alternating with turns.
//! Packets on their way are counted apart (`flight`), so a packet costs its
//! slot one job.
//!
//! Contract:
//! - a request takes at least 4 clocks, FEEDBACK 5 (and lets others go first, until one
//!   of them was of its slot, if it names that of the FEEDBACK before it), a packet 5; a single-packet
//!   message costs four jobs and one every 6 clocks is sustained;
//! - from a request taken to its first packet offered: 14 clocks; from a step
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

mod engine;

use super::words::{Job, SlotState};
use super::{
    Act, Chooser, Completer, Flight, FreeList, Judge, Nack, Outlet, PacketMaker, Releaser, RequestIntake,
    RttTable, SlotRing, Starter, Timers, TurnLists, WindowTable,
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
    /// The sixteenth of it that is wanted in the next clock.
    pub walk_row: Signal<In, Bits<4>>,
    pub walk_bits: Signal<Out, Bits<16>>,
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
    ring: TurnLists,
    finished: SlotRing,
    failures: Fifo<Bits<12>, 8>,
    fails: Dff<Bit>,
    fails_slot: Dff<Bits<12>>,
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
    known_rtt2: Dff<Bits<16>>,
    unknown2: Dff<Bit>,
    rtt2: Signal<Local, Bits<16>>,
    /// What a word about a packet takes beyond the round trip.
    beyond: Dff<Bits<24>>,
    /// What an interval begins with, in parts: the lower one, the upper one without and with its carry.
    low2: Dff<Bits<9>>,
    high2: Dff<Bits<10>>,
    carried2: Dff<Bits<10>>,
    reach2: Signal<Local, Bits<18>>,
    /// What is known of the way of the request on offer.
    known1: Dff<Bits<16>>,
    /// What it begins with where no round trip is known.
    reach_unknown: Dff<Bits<18>>,
    rtt1: Signal<Local, Bits<16>>,
    guard2: Signal<Local, Bits<18>>,

    // Outputs.
    bytes: Dff<Bits<32>>,
    /// The slot to look at next for who is reclaimed.
    reclaim_at: Dff<Bits<12>>,
    added: Signal<Local, Bits<32>>,
    flag_nack: Constant<Bits<8>>,
    flag_ce: Constant<Bits<8>>,
    flag_complete: Constant<Bits<8>>,
    flag_release: Constant<Bits<8>>,
    idle: Constant<Job>,
    /// The slot chosen.
    at_slot: Signal<Local, Bits<12>>,
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
            walk_row: Default::default(),
            walk_bits: Default::default(),
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
            ring: TurnLists::new(log2, config.classes),
            finished: SlotRing::new(log2),
            failures: Fifo::new(8),
            fails: Default::default(),
            fails_slot: Default::default(),
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
            known_rtt2: Default::default(),
            unknown2: Default::default(),
            rtt2: Default::default(),
            beyond: Default::default(),
            low2: Default::default(),
            high2: Default::default(),
            carried2: Default::default(),
            reach2: Default::default(),
            known1: Default::default(),
            reach_unknown: Default::default(),
            rtt1: Default::default(),
            guard2: Default::default(),
            bytes: Default::default(),
            reclaim_at: Default::default(),
            added: Default::default(),
            flag_nack: Constant::new(u64::from(fb::NACK).into()),
            flag_ce: Constant::new(u64::from(fb::CE).into()),
            flag_complete: Constant::new(u64::from(fb::COMPLETE).into()),
            flag_release: Constant::new(u64::from(fb::RELEASE_REQ).into()),
            idle: Constant::new(Job::default()),
            at_slot: Default::default(),
            last_slot: Constant::new(((1u64 << log2) - 1).into()),
        }
    }
}
