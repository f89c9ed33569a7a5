//! Compares a job with its slot: everything that needs an adder, one clock
//! before `act` decides.
//!
//! ```text
//!  job, state, message, FEEDBACK ──> comparisons, intervals ──> verdict
//! ```
//!
//! Contract: `verdict` follows its inputs by one clock; of a job's kind and its slot's PROBEs
//! it hears a clock before. FEEDBACK must stand two
//! clocks longer, because its round-trip sample takes them.
//!
//! Verified as part of `testbenches/tests/tx_slots/`: TX-3 to TX-6, TX-9, TX-10.

mod feedback;
mod sending;
mod waits;

use super::words::{Job, SlotState, Verdict};
use super::Unasked;
use crate::kernel_of_parts;
use crate::prelude::*;
use crate::types::{Reclaim, RxFeedback, Settings, TxRequest};
use tessera_abi::wire::{fb, NO_SAMPLE};

#[derive(LogicBlock)]
pub struct Judge {
    pub clk: Signal<In, Clock>,
    pub settings: Signal<In, Settings>,
    pub now: Signal<In, Bits<32>>,
    pub job: Signal<In, Job>,
    /// The job that is here in the next clock, and its slot's PROBEs.
    pub next_job: Signal<In, Job>,
    pub next_probes: Signal<In, Bits<8>>,
    pub state: Signal<In, SlotState>,
    pub message: Signal<In, TxRequest>,
    pub feedback: Signal<In, RxFeedback>,
    /// It names a slot beyond the last: the job's is another.
    pub outside: Signal<In, Bit>,
    /// Round-trip time a new message starts from, 0 = unknown.
    pub known_rtt: Signal<In, Bits<16>>,
    /// The same or the slot's own, or the default.
    pub rtt: Signal<In, Bits<16>>,
    /// That and twice the guard.
    pub reach: Signal<In, Bits<18>>,
    /// How long after a packet was chosen a word about it has come, ticks.
    pub settles_in: Signal<In, Bits<24>>,
    /// 0..=BUSY_WAIT, random.
    pub jitter: Signal<In, Bits<24>>,
    /// Whether packets of the slot are on their way, and when the last left.
    pub in_flight: Signal<In, Bit>,
    pub landed_at: Signal<In, Bits<24>>,
    pub reclaim: Signal<In, Reclaim>,
    pub verdict: Signal<Out, Verdict>,
    out: Dff<Verdict>,

    // The round-trip sample.
    age: Dff<Bits<32>>,
    trip: Signal<Local, Bits<32>>,
    sample: Dff<Bits<16>>,
    sampled: Dff<Bit>,
    step_wide: Signal<Local, Bits<17>>,
    step: Signal<Local, Bits<16>>,

    unasked: Unasked,
    window: Signal<Local, Bits<24>>,
    asked: Signal<Local, Bits<24>>,
    /// All the message has.
    enough: Signal<Local, Bit>,
    unfinished: Signal<Local, Bit>,
    /// The limit is not the message's end.
    bounded: Signal<Local, Bit>,
    /// From what was sent to the limit.
    room: Signal<Local, Bits<25>>,
    unsent: Signal<Local, Bit>,
    /// Packets never sent, after this job; those sent before it.
    left: Signal<Local, Bits<24>>,
    gone: Signal<Local, Bits<24>>,
    stays: Signal<Local, Bit>,
    ahead: Signal<Local, Bits<8>>,
    behind: Signal<Local, Bits<8>>,
    fresh: Signal<Local, Bit>,
    heeds: Signal<Local, Bit>,
    fallen: Signal<Local, Bits<8>>,
    elsewhere: Signal<Local, Bit>,
    ends: Signal<Local, Bit>,
    bad_abort: Signal<Local, Bit>,
    newer_by: Signal<Local, Bits<20>>,
    since_mark: Signal<Local, Bits<24>>,
    since_new: Signal<Local, Bits<24>>,
    since_probe: Signal<Local, Bits<24>>,
    since: Signal<Local, Bits<32>>,
    half: Signal<Local, Bits<24>>,
    now24: Signal<Local, Bits<24>>,
    /// Doublings of the wait that is over: one per two PROBEs; those of the next.
    waits: Dff<Bits<4>>,
    doublings: Dff<Bits<4>>,
    /// The first, as far as RTO comes to its ceiling; one more follows, not beyond it.
    to_ceiling: Dff<Bits<3>>,
    one_more: Dff<Bit>,
    more_to_ceiling: Dff<Bit>,
    /// The second, as far as RTO comes to the longest link.
    to_longest: Dff<Bits<2>>,
    halves: Signal<Local, Bits<4>>,
    /// A pop that finds an odd number of PROBEs.
    odd_pop: Signal<Local, Bit>,
    /// What one more doubling carries into the second bit and the third.
    carry1: Signal<Local, Bit>,
    carry2: Signal<Local, Bit>,
    few_probes: Signal<Local, Bit>,
    waited: Signal<Local, Bits<32>>,
    quiet: Signal<Local, Bits<24>>,
    /// More is to be granted: the receiver speaks next.
    granting: Signal<Local, Bit>,
    /// Software at the receiver answers, in its own time.
    watched: Signal<Local, Bit>,
    wide_reach: Signal<Local, Bits<32>>,
    /// An interval begins with the round trip, or with RTO.
    from_rto: Signal<Local, Bit>,
    /// One of a round, RD-6.
    of_round: Signal<Local, Bit>,
    /// What the settings alone say.
    rto: Signal<Local, Bits<32>>,
    round_wait: Dff<Bits<24>>,
    ceiling: Signal<Local, Bits<32>>,
    longest: Signal<Local, Bits<32>>,
    /// RTO halved so often, and whether a round trip is longer: compared beside the shift
    /// that doubles the round trip, not behind it. The ceiling is RTO doubled five times,
    /// the longest link RTO doubled twice.
    parts: [Signal<Local, Bits<24>>; 8],
    beyond: [Signal<Local, Bit>; 7],
    limited: Signal<Local, Bit>,
    limited_before: Signal<Local, Bit>,
    /// A popped slot has waited for round trips.
    by_reach: Signal<Local, Bit>,
    linked_less: Signal<Local, Bit>,
    reach_waited: Signal<Local, Bits<32>>,
    rto_waited: Signal<Local, Bits<32>>,
    reach_next: Signal<Local, Bits<32>>,
    rto_next: Signal<Local, Bits<32>>,
    rto_linked: Signal<Local, Bits<32>>,
    busy_waits: [Signal<Local, Bits<32>>; 4],
    after_busy: Signal<Local, Bits<32>>,
    flag_complete: Constant<Bits<8>>,
    flag_release: Constant<Bits<8>>,
    flag_nack: Constant<Bits<8>>,
    flag_busy: Constant<Bits<8>>,
    flag_ce: Constant<Bits<8>>,
    flag_abort: Constant<Bits<8>>,
    no_sample: Constant<Bits<16>>,
}

impl Judge {
    pub fn new() -> Self {
        Self {
            clk: Default::default(),
            settings: Default::default(),
            now: Default::default(),
            job: Default::default(),
            next_job: Default::default(),
            next_probes: Default::default(),
            state: Default::default(),
            message: Default::default(),
            feedback: Default::default(),
            outside: Default::default(),
            known_rtt: Default::default(),
            rtt: Default::default(),
            reach: Default::default(),
            settles_in: Default::default(),
            jitter: Default::default(),
            in_flight: Default::default(),
            landed_at: Default::default(),
            reclaim: Default::default(),
            verdict: Default::default(),
            out: Default::default(),
            age: Default::default(),
            trip: Default::default(),
            sample: Default::default(),
            sampled: Default::default(),
            step_wide: Default::default(),
            step: Default::default(),
            unasked: Unasked::new(),
            window: Default::default(),
            asked: Default::default(),
            enough: Default::default(),
            unfinished: Default::default(),
            bounded: Default::default(),
            room: Default::default(),
            unsent: Default::default(),
            left: Default::default(),
            gone: Default::default(),
            stays: Default::default(),
            ahead: Default::default(),
            behind: Default::default(),
            fresh: Default::default(),
            heeds: Default::default(),
            fallen: Default::default(),
            elsewhere: Default::default(),
            ends: Default::default(),
            bad_abort: Default::default(),
            newer_by: Default::default(),
            since_mark: Default::default(),
            since_new: Default::default(),
            since_probe: Default::default(),
            since: Default::default(),
            half: Default::default(),
            now24: Default::default(),
            waits: Default::default(),
            doublings: Default::default(),
            to_ceiling: Default::default(),
            one_more: Default::default(),
            more_to_ceiling: Default::default(),
            to_longest: Default::default(),
            halves: Default::default(),
            odd_pop: Default::default(),
            carry1: Default::default(),
            carry2: Default::default(),
            few_probes: Default::default(),
            waited: Default::default(),
            quiet: Default::default(),
            granting: Default::default(),
            watched: Default::default(),
            wide_reach: Default::default(),
            from_rto: Default::default(),
            of_round: Default::default(),
            rto: Default::default(),
            round_wait: Default::default(),
            ceiling: Default::default(),
            longest: Default::default(),
            parts: Default::default(),
            beyond: Default::default(),
            limited: Default::default(),
            limited_before: Default::default(),
            by_reach: Default::default(),
            linked_less: Default::default(),
            reach_waited: Default::default(),
            rto_waited: Default::default(),
            reach_next: Default::default(),
            rto_next: Default::default(),
            rto_linked: Default::default(),
            busy_waits: Default::default(),
            after_busy: Default::default(),
            flag_complete: Constant::new(u64::from(fb::COMPLETE).into()),
            flag_release: Constant::new(u64::from(fb::RELEASE_REQ).into()),
            flag_nack: Constant::new(u64::from(fb::NACK).into()),
            flag_busy: Constant::new(u64::from(fb::BUSY).into()),
            flag_ce: Constant::new(u64::from(fb::CE).into()),
            flag_abort: Constant::new(u64::from(fb::ABORT).into()),
            no_sample: Constant::new(u64::from(NO_SAMPLE).into()),
        }
    }
}

kernel_of_parts!(Judge: feedback::Feedback, sending::Sending, waits::Waits);
