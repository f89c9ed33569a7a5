//! What a host speaks: the contract between a protocol and the network.
//!
//! A transport is one host's end of all its messages. It does no I/O and reads no
//! clock: the network calls it with the time, then takes what it has to say.
//!
//! ```text
//!   post, round ──┐            ┌─> transmit   a packet, whenever the link is free
//!   receive ──────┼─ transport ┼─> take_done  what has ended
//!   expire ───────┘            └─> deadline   when to call expire
//! ```

use serde::{Deserialize, Serialize};

use crate::Ps;

/// Bytes of a frame that its buffer does not see: preamble, start of frame, gap, FCS.
pub const FRAMING: u32 = 7 + 1 + 12 + 4;

/// A message to carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its number, different from that of any other of a run.
    pub id: u32,
    /// Host that sends.
    pub from: u32,
    /// Host that receives.
    pub to: u32,
    /// Length.
    pub bytes: u32,
    /// Which of the receiving host's rounds it is part of, if of any.
    pub round: Option<u16>,
    /// Which process of either host it is between: connections are per pair of these.
    pub process: u32,
}

/// What a protocol says to the network about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departing<H> {
    /// Host it is for.
    pub to: u32,
    /// Length on the wire, with [`FRAMING`].
    pub bytes: u32,
    /// What switches choose a way by.
    pub label: u32,
    /// Queue: [`DATA`] or one of the [`QUEUES`] - 1 behind it.
    pub class: u8,
    /// It has payload: else it may go in front of all that has ([`Switching::control_first`]).
    ///
    /// [`Switching::control_first`]: crate::fabric::Switching::control_first
    pub payload: bool,
    /// Switches may cut it to its headers instead of dropping it.
    pub trimmable: bool,
    /// The protocol's own.
    pub header: H,
}

/// A packet that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived<H> {
    /// Host it is from.
    pub from: u32,
    /// A switch's queue was long.
    pub ce: bool,
    /// Its payload was cut off.
    pub trimmed: bool,
    /// The protocol's own.
    pub header: H,
}

/// The queue in front of all others, of what is answered or asked, where there is one.
pub const CONTROL: u8 = 0;
/// The first queue; those of higher numbers wait for it.
pub const DATA: u8 = 1;
/// Queues at a port but for [`CONTROL`].
pub const QUEUES: u8 = 4;

/// How a message ended, and where that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// All of it is at the receiver, and its host knows.
    Delivered,
    /// The sender's host knows that it has been delivered.
    Acknowledged,
    /// The sender has given it up.
    Failed,
}

/// A message's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// [`Message::id`].
    pub id: u32,
    /// How.
    pub end: End,
}

/// What a host has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Packets with payload sent, all of them.
    pub sent: u64,
    /// Of those, sent again.
    pub again: u64,
    /// Packets with payload that were there already.
    pub twice: u64,
    /// Packets without payload sent.
    pub control: u64,
    /// Expiries that asked for, or sent, something again.
    pub timeouts: u64,
    /// Times that state had to be fetched from the host.
    pub misses: u64,
    /// Bytes of protocol state that a NIC would hold, at most so far.
    pub state: u64,
}

impl Tally {
    /// Both together; of state the larger, for it is per NIC.
    pub fn and(self, other: Self) -> Self {
        Self {
            sent: self.sent + other.sent,
            again: self.again + other.again,
            twice: self.twice + other.twice,
            control: self.control + other.control,
            timeouts: self.timeouts + other.timeouts,
            misses: self.misses + other.misses,
            state: self.state.max(other.state),
        }
    }
}

/// One host's end of a protocol: see the module's page.
pub trait Transport {
    /// What its packets carry.
    type Header: Copy;

    /// Takes a message to send.
    fn post(&mut self, now: Ps, message: &Message);

    /// Messages of round `id` that this host will receive, so many in all. Who does not
    /// know rounds does nothing.
    fn round(&mut self, _now: Ps, _id: u16, _messages: u16) {}

    /// Takes a packet that is whole at `now`, or its headers.
    fn receive(&mut self, now: Ps, packet: &Arrived<Self::Header>);

    /// Does what is due at `now`.
    fn expire(&mut self, now: Ps);

    /// When [`expire`](Self::expire) wants to be called next.
    fn deadline(&self) -> Option<Ps>;

    /// The next packet, which begins to leave at `now`.
    fn transmit(&mut self, now: Ps) -> Option<Departing<Self::Header>>;

    /// The next message that has ended.
    fn take_done(&mut self) -> Option<Done>;

    /// What has been counted.
    fn tally(&self) -> Tally;
}
