//! Broken rules as values.

use tessera_abi::wire::MessageId;

/// What was wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// A sent frame is no RM packet.
    #[error("a frame of {0} bytes that is no RM packet")]
    NotRm(usize),
    /// A sent frame's ICRC is wrong.
    #[error("wrong ICRC")]
    Icrc,
    /// A field has a value the rule does not give.
    #[error("{field} is {got:#x}, must be {want:#x}")]
    Field {
        /// Field.
        field: &'static str,
        /// Value seen.
        got: u64,
        /// Value demanded.
        want: u64,
    },
    /// A flag is set or clear against the rule.
    #[error("flag {0} is wrong in packet {1}")]
    Flag(&'static str, u32),
    /// A packet of a message nobody posted.
    #[error("packet {0} of a message that was never posted, or is not begun at 0")]
    UnknownMessage(u32),
    /// A slot was used again before its message ended.
    #[error("slot used again while its message {0:#010x} lives")]
    SlotReused(u32),
    /// A new packet out of index order.
    #[error("new packet {got}, next is {want}")]
    OutOfOrder {
        /// Index sent.
        got: u32,
        /// Index due.
        want: u32,
    },
    /// A new packet the receiver did not ask for.
    #[error("packet {index} sent, limit is {limit}")]
    BeyondGrant {
        /// Index sent.
        index: u32,
        /// Limit by window and grant as received.
        limit: u32,
    },
    /// Bytes sent differ from bytes posted.
    #[error("payload of packet {0} differs from what was posted")]
    Payload(u32),
    /// A retransmission no NACK asked for.
    #[error("packet {0} sent again, though no NACK received asks for it")]
    Unasked(u32),
    /// A new packet while refused by BUSY.
    #[error("new packet {0} during a BUSY wait")]
    SentWhileBusy(u32),
    /// A PROBE without a reason.
    #[error("PROBE of {0} without NACK, BUSY or silence")]
    UndueProbe(u32),
    /// A packet of a message that had ended.
    #[error("packet {0} of a message that had ended")]
    AfterEnd(u32),
    /// A RELEASE of a message that is still being sent, or nobody let go of.
    #[error("RELEASE of a message that did not end here and whose RELEASE nobody asked for")]
    UndueRelease,
    /// A message ended here, or its RELEASE was asked for, and nothing was said.
    #[error("no RELEASE within the tolerance after the end of the message")]
    MissingRelease,
    /// A completion nobody waits for, or the second of one entry.
    #[error("completion of endpoint {endpoint} entry {entry} which is not outstanding")]
    UnknownCompletion {
        /// Endpoint index.
        endpoint: u16,
        /// Running index.
        entry: u16,
    },
    /// A status that nothing justifies.
    #[error("completion with status {0} which nothing received or elapsed justifies")]
    Status(u8),
    /// A completion is missing.
    #[error("no completion within the tolerance after the end of the message")]
    MissingCompletion,
    /// A posted send never ended.
    #[error("send entry {0} never ended")]
    NeverEnded(u16),
    /// Bytes written where no open receive is.
    #[error("{length} bytes written at {address:#x}, outside every open receive")]
    OutsideBuffer {
        /// First address.
        address: u64,
        /// Bytes.
        length: usize,
    },
    /// Bytes written that no packet brought there, or a second time.
    #[error("{length} bytes written at {address:#x} that no arrived packet explains")]
    Unexplained {
        /// First address.
        address: u64,
        /// Bytes.
        length: usize,
    },
    /// Bytes written differ from those received.
    #[error("bytes written for packet {0} differ from those received")]
    Misplaced(u32),
    /// An arrived packet's payload was not written.
    #[error("payload of packet {0} was never written")]
    MissingWrite(u32),
    /// Receives were not used in order.
    #[error("receive entry {0} was passed over")]
    ReceiveSkipped(u16),
    /// A completion before the message is whole.
    #[error("reported whole with {missing} packets missing and {unwritten} unwritten")]
    Early {
        /// Packets that had not arrived.
        missing: u32,
        /// Packets whose payload was not visible.
        unwritten: u32,
    },
    /// Feedback that no rule calls for.
    #[error("feedback that no packet, grant or timer calls for")]
    Undue,
    /// BUSY though there was room.
    #[error("BUSY with a receive posted and tables far from full, or for an open message")]
    UndueBusy,
    /// Feedback that a packet must draw did not come.
    #[error("no answer to packet {0}")]
    Unanswered(u32),
    /// Feedback reports what never was.
    #[error("cumulative {got}, was between {low} and {high}")]
    Cumulative {
        /// Value seen.
        got: u32,
        /// Least legal.
        low: u32,
        /// Most legal.
        high: u32,
    },
    /// The bitmap shows a packet that has not arrived, or misses one long there.
    #[error("bitmap wrong at packet {0}")]
    Bitmap(u32),
    /// A grant beyond window, credit or count.
    #[error("grant {got}, at most {most}")]
    Grant {
        /// Value seen.
        got: u32,
        /// Most legal.
        most: u32,
    },
    /// Granted bytes exceed the credit.
    #[error("{outstanding} bytes outstanding, limit {limit}")]
    Credit {
        /// At least so many bytes are outstanding.
        outstanding: u64,
        /// CREDIT_LIMIT.
        limit: u64,
    },
    /// A grant to a message that is owed enough.
    #[error("a grant to a message that is owed {owed} bytes, more than {most}")]
    Ample {
        /// At least so many bytes are.
        owed: u64,
        /// CREDIT_EACH.
        most: u64,
    },
    /// A NACK before its time.
    #[error("NACK {0} ticks before its rule and tolerance")]
    EarlyNack(u64),
    /// A NACK asks for what it may not.
    #[error("NACK limit {got}, at most {most}")]
    NackLimit {
        /// Value seen.
        got: u32,
        /// Most legal.
        most: u32,
    },
    /// A NACK did not come.
    #[error("hole at {0}: no NACK within the tolerance")]
    MissingNack(u32),
    /// The wrong path.
    #[error("entropy value {got}, policy gives {want}")]
    Path {
        /// Value seen.
        got: u8,
        /// Value of the policy.
        want: u8,
    },
}

/// A broken rule: when, where, which message, which rule, what.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("clock {clock}: NIC {nic}: message {}: {rule}: {fault}", .message.map_or("-".into(), |m| format!("{:#010x}", m.0)))]
pub struct Violation {
    /// Clock of the event that showed it.
    pub clock: u64,
    /// NIC.
    pub nic: usize,
    /// Message, where one is concerned.
    pub message: Option<MessageId>,
    /// Rule of `docs/spec`.
    pub rule: &'static str,
    /// What was wrong.
    pub fault: Fault,
}
