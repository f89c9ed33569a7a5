//! What the sender keeps of a message, and what its stages hand to each other.
//!
//! The constant part of a slot is the [`TxRequest`](crate::types::TxRequest)
//! it came from (558 bits); the part that changes is [`SlotState`] (394 bits).
//! No state exists per packet or per peer, but for the table of round-trip
//! times.

use crate::prelude::*;

/// The part of a slot that changes. Times are in ticks; those of 24 bits are
/// only compared with round-trip times (16 bits), where a wrap makes them look
/// younger and so errs on the careful side.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct SlotState {
    /// 0 free, 1 live, 2 ended: its completion waits for packets on their way.
    pub phase: Bits<2>,
    /// How it ended.
    pub status: Bits<8>,
    pub generation: Bits<20>,
    /// Indexes below were sent at least once: the specification's `next`.
    pub sent: Bits<24>,
    /// Indexes below may be sent: the larger of window and grant.
    pub limit: Bits<24>,
    /// Indexes below have arrived.
    pub cumulative: Bits<24>,
    /// Indexes below were sent so long ago that a NACK can have heard of them.
    pub settled: Bits<24>,
    /// `sent` at the last shift of the marks, and at the one before.
    pub mark0: Bits<24>,
    pub mark1: Bits<24>,
    pub mark_time: Bits<24>,
    /// When the last new packet was sent.
    pub last_new: Bits<24>,
    /// When the last PROBE was sent.
    pub probe_time: Bits<24>,
    /// Smoothed round-trip time, 0 = unknown.
    pub srtt: Bits<16>,
    /// When the backstop, or the wait after BUSY, is over.
    pub deadline: Bits<32>,
    /// What the first timer node is linked for.
    pub linked_at: Bits<32>,
    /// Until anything but BUSY is heard: when the first packet was sent. Then:
    /// the last advance.
    pub since: Bits<32>,
    pub last_sequence: Bits<8>,
    /// A sequence was seen.
    pub sequenced: Bit,
    /// How far behind `last_sequence` the latest NACK lies that was acted on; 127 is
    /// none, or too far to tell.
    pub nack_behind: Bits<7>,
    /// Feedback other than BUSY was seen: packets carry EST.
    pub heard: Bit,
    pub was_busy: Bit,
    /// The COMPLETE that ended it asked for a RELEASE.
    pub release_asked: Bit,
    /// 0 no, 1 waiting, 2 the PROBE after the wait is out.
    pub busy: Bits<2>,
    /// Waits in a row, at most 5.
    pub busy_count: Bits<3>,
    /// PROBEs of the backstop in a row.
    pub probes: Bits<8>,
    /// A PROBE is to be sent.
    pub probe: Bit,
    /// The slot waits for its turn, whatever became of its message.
    pub in_ring: Bit,
    pub first_linked: Bit,
    pub second_linked: Bit,
}

/// One thing that happens to one slot. At most one of the flags is set.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct Job {
    /// A request takes the slot.
    pub accept: Bit,
    /// FEEDBACK names the slot.
    pub feedback: Bit,
    /// A timer node popped.
    pub pop: Bit,
    /// The slot's turn has come.
    pub turn: Bit,
    /// A retransmission is due.
    pub step: Bit,
    /// None of its packets is on its way any more.
    pub finish: Bit,
    /// A host read failed.
    pub fail: Bit,
    /// A NACK asked for nothing that may be sent again.
    pub idle_nack: Bit,
    /// The slot is looked at for an endpoint that is reclaimed.
    pub reclaim: Bit,
    pub slot: Bits<12>,
    /// Of `feedback`, `step` and `idle_nack`.
    pub generation: Bits<20>,
    /// Of `step`.
    pub index: Bits<24>,
    /// Of `pop`: the second node.
    pub second: Bit,
}

/// What `judge` found about a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct Verdict {
    /// The slot is live.
    pub live: Bit,
    /// ... in the generation that the job names.
    pub ours: Bit,
    pub forged: Bit,
    pub nonsense: Bit,
    pub complete: Bit,
    pub aborted: Bit,
    pub busy: Bit,
    /// The packet answered met congestion.
    pub congested: Bit,
    /// COMPLETE with the wish for a RELEASE; of a generation that is over.
    pub release_asked: Bit,
    pub past: Bit,
    /// A live message of the endpoint that is reclaimed.
    pub reclaimed: Bit,
    pub cumulative_up: Bit,
    /// Of FEEDBACK, as is `unsent_then`.
    pub limit_up: Bit,
    /// The grant, at most the message's count.
    pub grant: Bits<24>,
    /// The sequence is newer than any before.
    pub fresh: Bit,
    /// A NACK, and none from behind it was acted on.
    pub heeds: Bit,
    /// The slot's, after this FEEDBACK.
    pub nack_behind: Bits<7>,
    /// A packet below the limit was never sent.
    pub unsent: Bit,
    /// ... below the limit or the new grant.
    pub unsent_then: Bit,
    /// ... after the one now sent.
    pub unsent_after: Bit,
    /// At most four packets of the message are left after this job.
    pub few_after: Bit,
    /// The list that the slot waits in after this job.
    pub list: Bits<3>,
    /// All that was sent has arrived, and the next packet may be sent.
    pub starved: Bit,
    /// The index of a step may be sent again.
    pub again: Bit,
    /// Half of what a word about a packet takes since the marks were shifted.
    pub half_old: Bit,
    /// All of that since the last new packet.
    pub old: Bit,
    /// A round trip since the last PROBE.
    pub may_probe: Bit,
    /// The FEEDBACK answers a packet.
    pub echoes: Bit,
    /// There is a sample; the smoothed value with it.
    pub sampled: Bit,
    pub srtt: Bits<16>,
    /// Time until the slot's deadline: not positive = due.
    pub left: Bits<32>,
    /// The same of the wait that began when its last packet left; with `wire_long` its
    /// lowest 24 bits, signed.
    pub wire_left: Bits<32>,
    /// A wait so long that landings are not told apart in it: all that shows is how far
    /// from its end the slot popped. The deadline saw to the rest.
    pub wire_long: Bit,
    /// Time until the first timer node pops, signed.
    pub first_left: Bits<32>,
    /// New interval of the slot's deadline, and for how long a node is linked.
    pub interval: Bits<32>,
    pub link: Bits<32>,
    pub open_over: Bit,
    pub grant_over: Bit,
    pub retries_over: Bit,
    /// Unasked bytes of the slot.
    pub unasked: Bits<32>,
}

/// What `act` decided, besides the slot's new state.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct Action {
    pub slot: Bits<12>,
    /// There is an action. Its slot's new state is written.
    pub valid: Bit,
    /// The job was one of these.
    pub feedback: Bit,
    /// The FEEDBACK draws a RELEASE.
    pub release: Bit,
    pub finish: Bit,
    /// It could have linked a timer node.
    pub may_insert: Bit,
    /// To those that wait for their turn; with `push_on` its turn goes on.
    pub push: Bit,
    pub push_list: Bits<3>,
    pub push_on: Bit,
    /// The job was one that may send.
    pub tried: Bit,
    /// The packet prepared for this job goes out.
    pub send: Bit,
    /// Nothing more will be sent for this message.
    pub end: Bit,
    /// A packet of the slot is no longer on its way.
    pub down: Bit,
    pub insert: Bit,
    pub insert_second: Bit,
    pub insert_at: Bits<32>,
    /// Unasked bytes to give back.
    pub give_back: Bits<32>,
    pub learn_rtt: Bit,
    /// The FEEDBACK tells of its packet's path.
    pub echo: Bit,
    /// Later messages to this destination begin with half this one's window,
    /// or with one packet more than the last.
    pub window_halve: Bit,
    pub window_grow: Bit,
    pub rtt: Bits<16>,
    /// A NACK is to be turned into a walk: of what was overtaken below its limit, and
    /// of the rest below what is settled.
    pub nack: Bit,
    pub nack_limit: Bits<24>,
    pub nack_below: Bits<24>,
    pub stale: Bit,
    pub forged: Bit,
    pub nonsense: Bit,
    pub opened: Bit,
    pub completed: Bit,
    pub failed: Bit,
    pub expired: Bit,
}
