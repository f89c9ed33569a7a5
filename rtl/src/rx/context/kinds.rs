//! What the engine tells apart: its states, what it handles in them, and what is counted.

use crate::prelude::*;

#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum ContextState {
    Idle,
    /// Throw the payload of the packet away.
    Drop,
    // A packet.
    Open,
    /// Its first block is on its way to the bitmap's RAM.
    Settle,
    Ask,
    AskSecond,
    Wait,
    Advance,
    Commit,
    // Of a host-recovered message: it opens; is the packet's chunk complete?
    Header,
    Chunk,
    // Reading the block of `cumulative` anew, for a packet or a grant.
    Reread,
    // An abort: its blocks go back one per clock.
    Release,
    Abort,
    // A fence came back.
    Report,
    Answer,
    Bury,
    // An expiry.
    Nack,
    NackWait,
    NackSend,
    NackDone,
    /// The host orders a NACK: of which block?
    OrderBlock,
    // The head of the grant queue.
    Room,
    Quota,
    Judge,
    FirstBlock,
    SecondBlock,
    Bytes,
    Apply,
    Granted,
}

/// What is being handled.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum ContextEvent {
    Packet,
    Fence,
    Expiry,
    Freed,
    Grant,
    Order,
}

/// What is counted, one pulse each.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct ContextPulses {
    pub not_granted: Bit,
    pub duplicate: Bit,
    pub mismatch: Bit,
    pub rx_new: Bit,
    pub rx_completed: Bit,
    pub rx_aborted: Bit,
    pub remote_access: Bit,
    pub grants_sent: Bit,
    pub judged: Bit,
}
