//! What is told to the block and by it, what it remembers of a message and of a source, and its
//! states.

use crate::prelude::*;

/// What happened to a message, from its context.
///
/// Jobs of a message come in the order of its events: an answer finds the word
/// as the message stands and brings only `sent`, `limit` and `cumulative`.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct IntervalJob {
    /// 0 a packet, 1 a grant, 2 the answer to an expiry, 3 the end.
    pub kind: Bits<2>,
    pub context: Bits<12>,
    /// The packet opened the message: its word starts anew.
    pub opened: Bit,
    pub hash: Bits<8>,
    /// Its local endpoint and round.
    pub endpoint: Bits<8>,
    pub in_round: Bit,
    pub round: Bits<16>,
    /// A new DATA packet that is no retransmission: gap and skew samples.
    pub fresh: Bit,
    /// A retransmission, new or of a packet that was here: samples of the answer.
    pub repaired: Bit,
    pub repeated: Bit,
    /// A PROBE; `limit` is what it names, at most the grant.
    pub probe: Bit,
    /// Answer: a NACK went out, up to `limit`.
    pub sent: Bit,
    pub limit: Bits<24>,
    pub index: Bits<24>,
    pub timestamp: Bits<32>,
    pub arrival: Bits<32>,
    pub rtt: Bits<16>,
    pub cumulative: Bits<24>,
    pub highest: Bits<24>,
    /// Missing granted packets of the block of `cumulative`.
    pub left: Bits<9>,
    /// `cumulative` advanced.
    pub moved: Bit,
    /// `cumulative` < `highest`.
    pub hole: Bit,
    /// `highest` = grant.
    pub tail: Bit,
    /// `cumulative` < grant.
    pub missing: Bit,
}

/// A message's time has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct Expiry {
    pub context: Bits<12>,
    /// `RX_GIVE_UP` passed: abort. Else NACK.
    pub gave_up: Bit,
    /// Following blocks too.
    pub burst: Bit,
    /// The NACK limit is the grant, else `limit`.
    pub to_grant: Bit,
    pub limit: Bits<24>,
}

/// A message's times. Times in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct IntervalWord {
    pub open: Bit,
    /// Stands in the ring of messages of rounds, whatever became of it.
    pub in_ring: Bit,
    pub hash: Bits<8>,
    pub endpoint: Bits<8>,
    pub in_round: Bit,
    pub round: Bits<16>,
    pub rtt: Bits<16>,
    /// 1/16 tick.
    pub gap: Bits<16>,
    /// The sample point is set.
    pub sampled: Bit,
    pub gap_index: Bits<24>,
    pub gap_time: Bits<32>,
    pub d_min: Bits<32>,
    pub last_heard: Bits<32>,
    pub left: Bits<9>,
    pub hole: Bit,
    pub tail: Bit,
    pub missing: Bit,
    pub hole_time: Bits<32>,
    /// `highest` at `mark_time` and at least one tail interval before it.
    pub mark0: Bits<24>,
    pub mark1: Bits<24>,
    pub mark_time: Bits<32>,
    pub probe_limit: Bits<24>,
    /// `cumulative` < `probe_limit`.
    pub probed: Bit,
    pub probe_armed: Bit,
    pub probe_time: Bits<32>,
    pub hold: Bits<32>,
    pub hold_limit: Bits<24>,
    /// `cumulative` < `hold_limit`.
    pub holding: Bit,
    /// NACKs of the present hole; every second one doubles the wait.
    pub backoff: Bits<4>,
    /// When the latest of them left, modulo 2^16.
    pub asked_at: Bits<16>,
}

/// A source's skew, 1/256 tick, and how long its answers take, ticks; the
/// first use starts from the registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct SourceEntry {
    pub valid: Bit,
    pub skew: Bits<24>,
    /// Samples of the skew, up to the number from which it is known.
    pub samples: Bits<7>,
    pub answer: Bits<16>,
}

#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum IntervalState {
    Idle,
    Fetch,
    Estimate,
    Span,
    Times,
    Choose,
}
