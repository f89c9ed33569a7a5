//! Decides when a receiver asks for what is missing: one deadline per message,
//! moving with what has arrived, kept in the timer wheel.
//!
//! ```text
//!              ┌──────────── skew, answer by source hash; halvings by round
//!  job ──> fetch ──> estimate ──> span ──> times ──> choose ──> aim: hold ──> arm ──> insert
//!            ^  word of the message: gap, marks, probe, hold ┘         ^ nodes │
//!  pop ──────┤                                                         └───────┼──> expiry
//!  ring ─────┘                                                                 └──> freed
//! ```
//!
//! The context block reports what a packet did (`IntervalJob`), this block
//! keeps the times and asks back with an `Expiry` when a deadline or the
//! give-up time has come (LD-1..LD-8, RC-4, RC-5, RC-9, RC-10, RD-4, RD-5). It owns both timer
//! nodes of a message: the first stands for the earliest of deadline and
//! give-up and is judged anew when it pops, the second is linked when the
//! deadline becomes earlier than the first. With both linked a still earlier
//! deadline takes effect at the earlier pop, so a node linked beside another is
//! set no further than a tail interval ahead: a gap that starts too long makes
//! silence shrink with every packet, and a hole that comes then finds no node.
//! Likewise a hole is armed for its tail interval first: until then it cannot be
//! due. From then on its deadline comes nearer with what arrives, and it is looked
//! at every tail interval until it is asked for. Silence shortened by less than a
//! tail interval leaves the second node for a hole or a PROBE.
//!
//! Messages of rounds stand in a ring. When what is left of some round has halved,
//! all of the ring are judged anew, in gaps and after every third job or pop; and
//! from then on, while nothing else wakes it, such a message is looked at every
//! tail interval.
//!
//! So a NACK comes at the rule's time, rounded up to the wheel's tick, if a node is
//! free when its deadline becomes the earliest. With both linked it may be late by
//! a tail interval, when the earlier of them pops. Silence may be late by a tail
//! interval more. The scoreboard bounds the lateness of whole NICs
//! (docs/verification.md).
//!
//! The estimates of a packet count from the next judgement on: product and
//! skew of a judgement are read before its packet's samples are added, so that
//! both run in parallel.
//!
//! Contract:
//! - one job or pop per 5 clocks, of one message or of many, in turn when both
//!   wait; longer by the clocks `insert_ready` is low;
//! - an `Expiry` of kind 0 is followed by a job of kind 2 or 3 of that context;
//!   until then nothing is armed. `expiry_ready` may stay low for any time: pops
//!   wait then, jobs do not, so the two blocks cannot lock each other;
//! - after a job of kind 3, `freed` tells once that no node of the context is
//!   linked. It never waits for room: one entry per context fits;
//! - after reset the tables are cleared, a clock per message, 256 at least, until
//!   `ready`.
//!
//! Verified by `testbenches/tests/rx_context/`.

mod aim;
mod deadlines;
mod estimates;
mod states;
mod wires;
mod words;

pub use aim::{Aim, AimState, IntervalAim, IntervalNodes};
pub use words::{Expiry, IntervalJob, IntervalState, IntervalWord, SourceEntry};

use crate::host::cleared_ram::ClearedRam;
use crate::kernel_of_parts;
use crate::prelude::*;
use crate::stream::Fifo;
use crate::types::{Settings, TimerInsert};
use tessera_abi::params::Config;

#[derive(LogicBlock)]
pub struct Interval {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub settings: Signal<In, Settings>,
    /// Ticks.
    pub now: Signal<In, Bits<32>>,
    pub job_valid: Signal<In, Bit>,
    pub job_data: Signal<In, IntervalJob>,
    pub job_ready: Signal<Out, Bit>,
    pub expiry_valid: Signal<Out, Bit>,
    pub expiry_data: Signal<Out, Expiry>,
    pub expiry_ready: Signal<In, Bit>,
    pub freed_valid: Signal<Out, Bit>,
    pub freed_data: Signal<Out, Bits<12>>,
    pub freed_ready: Signal<In, Bit>,
    pub insert_valid: Signal<Out, Bit>,
    pub insert_data: Signal<Out, TimerInsert>,
    pub insert_ready: Signal<In, Bit>,
    pub pop_valid: Signal<In, Bit>,
    pub pop_node: Signal<In, Bits<13>>,
    pub pop_ready: Signal<Out, Bit>,
    /// How far a round has come, answered a clock later.
    pub query_endpoint: Signal<Out, Bits<8>>,
    pub query_round: Signal<Out, Bits<16>>,
    pub halvings: Signal<In, Bits<4>>,
    pub registered: Signal<In, Bit>,
    /// A packet came later than `CREDIT_DELAY`.
    pub late_sample: Signal<Out, Bit>,
    /// What is left of some round has halved.
    pub advanced: Signal<In, Bit>,
    /// A loss-detection deadline fired.
    pub expired: Signal<Out, Bit>,
    pub ready: Signal<Out, Bit>,

    words: ClearedRam<IntervalWord, 12>,
    /// Messages of rounds, to be visited when one advances.
    ring: Fifo<Bits<12>, 12>,
    sources: SdpRam<SourceEntry, 8>,
    aim: Aim,

    state: Dff<IntervalState>,
    /// The pop's turn.
    pop_turn: Dff<Bit>,
    popping: Dff<Bit>,
    /// A message of a round is judged anew; neither job nor pop.
    visiting: Dff<Bit>,
    /// Jobs and pops since the last visit.
    patient: Dff<Bits<2>>,
    in_ring: Dff<Bits<13>>,
    to_visit: Dff<Bits<13>>,
    /// How often what is left of the round has halved; whether that counts, told a clock later.
    halved: Dff<Bits<4>>,
    halves: Dff<Bit>,
    job: Dff<IntervalJob>,
    /// The last job was of the same message: its word is in the register.
    again: Signal<Local, Bit>,
    /// The job was taken in the last clock of the one before, and whose that one was.
    handed: Dff<Bit>,
    owner_before: Dff<Bits<12>>,
    node: Dff<Bit>,
    owner: Dff<Bits<12>>,
    word: Dff<IntervalWord>,
    /// Time of this judgement.
    at: Dff<Bits<32>>,
    source: Dff<SourceEntry>,
    product: Dff<Bits<32>>,
    /// Index and timestamp from the sample point; one-way time and its distance from the smallest.
    /// The index's low bits; the upper are 0.
    steps: Dff<Bits<5>>,
    steps_few: Dff<Bit>,
    /// The timestamp's low half; the upper is not 0.
    stamp: Dff<Bits<16>>,
    stamp_over: Dff<Bit>,
    one_way: Dff<Bits<32>>,
    late: Dff<Bits<32>>,
    /// The path's round trip has been told.
    rtt_known: Dff<Bit>,
    sample_valid: Dff<Bit>,
    sample: Dff<Bits<20>>,
    new_skew: Dff<Bits<24>>,
    /// A sample of the answer, and what becomes of it.
    answer_valid: Dff<Bit>,
    answer_again: Dff<Bit>,
    waited: Dff<Bits<16>>,
    new_answer: Dff<Bits<16>>,
    /// A PROBE that left before the NACK came.
    unaware: Dff<Bit>,
    new_gap: Dff<Bits<20>>,
    /// D_MIN; how far left * gap + skew exceeds it; skew + guard.
    least: Dff<Bits<32>>,
    span: Dff<Bits<32>>,
    tail_span: Dff<Bits<32>>,
    hole_at: Dff<Bits<32>>,
    hole_tail_at: Dff<Bits<32>>,
    /// A tail interval after the mark, which is when the tail was seen once it is.
    mark_tail_at: Dff<Bits<32>>,
    silent_at: Dff<Bits<32>>,
    give_up_at: Dff<Bits<32>>,
    mark_due: Dff<Bit>,
    pause: Dff<Bits<32>>,
    clear_at: Dff<Bits<9>>,
    cleared: Dff<Bit>,

    chosen: Signal<Local, Bits<12>>,
    take_pop: Signal<Local, Bit>,
    take_job: Signal<Local, Bit>,
    take_visit: Signal<Local, Bit>,
    wants_visit: Signal<Local, Bit>,
    jobless: Signal<Local, Bit>,
    rings: Signal<Local, Bit>,
    leaves: Signal<Local, Bit>,
    eased: Signal<Local, Bits<32>>,
    fetched: Signal<Local, IntervalWord>,
    is_packet: Signal<Local, Bit>,
    is_grant: Signal<Local, Bit>,
    is_answer: Signal<Local, Bit>,
    is_end: Signal<Local, Bit>,
    /// The judgement is handed over in this clock.
    hand: Signal<Local, Bit>,
    free: Signal<Local, Bit>,
    store: Signal<Local, IntervalWord>,
    tells: Signal<Local, Bit>,
    samples: Signal<Local, Bit>,
    left16: Signal<Local, Bits<16>>,
    gap16: Signal<Local, Bits<16>>,
    below: Signal<Local, Bits<32>>,
    since_gap: Signal<Local, Bits<32>>,
    gap_steps: Signal<Local, Bits<24>>,
    stamp20: Signal<Local, Bits<20>>,
    gap20: Signal<Local, Bits<20>>,
    quarter: Signal<Local, Bits<20>>,
    fourfold: Signal<Local, Bits<20>>,
    divided: Signal<Local, Bits<20>>,
    clamped: Signal<Local, Bits<20>>,
    apart: Signal<Local, Bits<20>>,
    change: Signal<Local, Bits<20>>,
    rounds_up: Signal<Local, Bit>,
    moved_gap: Signal<Local, Bits<21>>,
    late24: Signal<Local, Bits<24>>,
    skew_most: Signal<Local, Bits<24>>,
    skew_fall: Signal<Local, Bits<24>>,
    answer_most: Signal<Local, Bits<16>>,
    answer_fall: Signal<Local, Bits<16>>,
    answer_rise: Signal<Local, Bits<17>>,
    answer_up: Signal<Local, Bits<16>>,
    way: Signal<Local, Bits<32>>,
    rtt_guard: Signal<Local, Bits<32>>,
    round_trip: Signal<Local, Bits<32>>,
    answer32: Signal<Local, Bits<32>>,
    answer_way: Signal<Local, Bits<32>>,
    paused: Signal<Local, Bits<32>>,
    spread_guard: Signal<Local, Bits<32>>,
    fixed32: Signal<Local, Bits<32>>,
    in_ticks: Signal<Local, Bits<32>>,
    from_gap: Signal<Local, Bits<32>>,
    guard32: Signal<Local, Bits<32>>,
    skew32: Signal<Local, Bits<32>>,
    d_min32: Signal<Local, Bits<32>>,
    rtt32: Signal<Local, Bits<32>>,
    since_mark: Signal<Local, Bits<32>>,
    answered_at: Signal<Local, Bits<32>>,
    hold_sooner: Signal<Local, Bits<32>>,
    hold_to_probe: Signal<Local, Bits<32>>,
    probe_at: Signal<Local, Bits<32>>,
    probe_sooner: Signal<Local, Bits<32>>,
    silence: Signal<Local, Bits<32>>,
    sees_tail: Signal<Local, Bit>,
    marks_tail: Signal<Local, Bit>,
    base: Signal<Local, Bits<32>>,

    no_word: Constant<IntervalWord>,
    /// The highest bits of a fall.
    beyond: Constant<Bits<20>>,
    gap_max: Constant<Bits<20>>,
    sample_max: Constant<Bits<20>>,
    late_max: Constant<Bits<24>>,
    answer_max: Constant<Bits<16>>,
    contexts_mask: Constant<Bits<12>>,
    has_rounds: Constant<Bit>,
}

impl Interval {
    /// Intervals of `2^rx_contexts_log2` messages.
    ///
    /// # Panics
    /// When the configuration asks for more than 4096 contexts.
    pub fn new(config: &Config) -> Self {
        let contexts = config.rx_contexts_log2;
        assert!((1..=12).contains(&contexts), "2^{contexts} receive contexts: 2..=4096 are supported");
        Self {
            clk: Default::default(),
            rst: Default::default(),
            settings: Default::default(),
            now: Default::default(),
            job_valid: Default::default(),
            job_data: Default::default(),
            job_ready: Default::default(),
            expiry_valid: Default::default(),
            expiry_data: Default::default(),
            expiry_ready: Default::default(),
            freed_valid: Default::default(),
            freed_data: Default::default(),
            freed_ready: Default::default(),
            insert_valid: Default::default(),
            insert_data: Default::default(),
            insert_ready: Default::default(),
            pop_valid: Default::default(),
            pop_node: Default::default(),
            pop_ready: Default::default(),
            expired: Default::default(),
            ready: Default::default(),
            query_endpoint: Default::default(),
            query_round: Default::default(),
            halvings: Default::default(),
            registered: Default::default(),
            late_sample: Default::default(),
            advanced: Default::default(),
            words: ClearedRam::new(contexts, "block").fed_zeros(),
            ring: Fifo::new(contexts),
            sources: SdpRam::new(8),
            aim: Aim::new(config),
            state: Default::default(),
            pop_turn: Default::default(),
            popping: Default::default(),
            visiting: Default::default(),
            patient: Default::default(),
            in_ring: Default::default(),
            to_visit: Default::default(),
            halved: Default::default(),
            halves: Default::default(),
            job: Default::default(),
            again: Default::default(),
            handed: Default::default(),
            owner_before: Default::default(),
            node: Default::default(),
            owner: Default::default(),
            word: Default::default(),
            at: Default::default(),
            source: Default::default(),
            product: Default::default(),
            steps: Default::default(),
            stamp: Default::default(),
            stamp_over: Default::default(),
            steps_few: Default::default(),
            one_way: Default::default(),
            late: Default::default(),
            rtt_known: Default::default(),
            sample_valid: Default::default(),
            sample: Default::default(),
            new_skew: Default::default(),
            answer_valid: Default::default(),
            answer_again: Default::default(),
            waited: Default::default(),
            new_answer: Default::default(),
            unaware: Default::default(),
            new_gap: Default::default(),
            least: Default::default(),
            span: Default::default(),
            tail_span: Default::default(),
            hole_at: Default::default(),
            hole_tail_at: Default::default(),
            mark_tail_at: Default::default(),
            silent_at: Default::default(),
            give_up_at: Default::default(),
            mark_due: Default::default(),
            pause: Default::default(),
            clear_at: Default::default(),
            cleared: Default::default(),
            chosen: Default::default(),
            take_pop: Default::default(),
            take_job: Default::default(),
            take_visit: Default::default(),
            wants_visit: Default::default(),
            jobless: Default::default(),
            rings: Default::default(),
            leaves: Default::default(),
            eased: Default::default(),
            fetched: Default::default(),
            is_packet: Default::default(),
            is_grant: Default::default(),
            is_answer: Default::default(),
            is_end: Default::default(),
            hand: Default::default(),
            free: Default::default(),
            store: Default::default(),
            tells: Default::default(),
            samples: Default::default(),
            left16: Default::default(),
            gap16: Default::default(),
            below: Default::default(),
            since_gap: Default::default(),
            gap_steps: Default::default(),
            stamp20: Default::default(),
            gap20: Default::default(),
            quarter: Default::default(),
            fourfold: Default::default(),
            divided: Default::default(),
            clamped: Default::default(),
            apart: Default::default(),
            change: Default::default(),
            rounds_up: Default::default(),
            moved_gap: Default::default(),
            late24: Default::default(),
            skew_most: Default::default(),
            skew_fall: Default::default(),
            answer_most: Default::default(),
            answer_fall: Default::default(),
            answer_rise: Default::default(),
            answer_up: Default::default(),
            way: Default::default(),
            rtt_guard: Default::default(),
            round_trip: Default::default(),
            answer32: Default::default(),
            answer_way: Default::default(),
            paused: Default::default(),
            spread_guard: Default::default(),
            fixed32: Default::default(),
            in_ticks: Default::default(),
            from_gap: Default::default(),
            guard32: Default::default(),
            skew32: Default::default(),
            d_min32: Default::default(),
            rtt32: Default::default(),
            since_mark: Default::default(),
            answered_at: Default::default(),
            hold_sooner: Default::default(),
            hold_to_probe: Default::default(),
            probe_at: Default::default(),
            probe_sooner: Default::default(),
            silence: Default::default(),
            sees_tail: Default::default(),
            marks_tail: Default::default(),
            base: Default::default(),
            no_word: Constant::new(IntervalWord::default()),
            beyond: Constant::new(0xE_0000u64.into()),
            gap_max: Constant::new(0xFFFFu64.into()),
            sample_max: Constant::new(0xF_FFFFu64.into()),
            late_max: Constant::new(0xFF_FF00u64.into()),
            answer_max: Constant::new(0xFFFFu64.into()),
            has_rounds: Constant::new(config.rounds),
            contexts_mask: Constant::new(((1u64 << contexts) - 1).into()),
        }
    }
}

kernel_of_parts!(Interval: wires::Wires, estimates::Estimates, deadlines::Deadlines, states::States);
