//! What others do, on the same network: transports that keep a connection per pair of
//! processes.
//!
//! ```text
//!  post ─> Host ── connection ── Recovery: which packet goes, which is lost   (rules)
//!           │ ring of those      Congestion: window, gap                      (crate::congestion)
//!           │ that may send      Spread: by which path                        (spread)
//!  packet ─>│     └───────────── Answer: what is answered                     (rules)
//!           │                    Assembly: which messages are whole           (assembly)
//!           └─ QpCache: contexts that do not fit the NIC
//! ```
//!
//! | file | what it is |
//! |---|---|
//! | `host` | one host: connections made on demand, served in turn; clocks |
//! | `connection` | the connections of a host, by name |
//! | `options` | what follows from the network's rate and round trip |
//! | `window` | which of the numbers ahead have come |
//! | `assembly` | messages of a connection, sent and received |
//! | `spread` | ECMP, flowlets, spraying, recycled paths |
//! | `qp_cache` | what does not fit the NIC costs a PCIe round trip |
//! | `go_back_n`, `irn`, `falcon`, `srd`, `uccl` | rules, each with its source |
//! | `flight`, `trips`, `told` | what the last three have in common: what is under way, round trips, answers |
//! | `flows`, `two_choices` | their paths: weighted flows, the faster of two |
//! | `software` | what cores of the host cost and delay |
//! | `ideal` | what none of them can beat |
//!
//! Messages are cut into packets of [`PAYLOAD`] bytes, numbered through per connection.
//! Numbers are as long as a run needs; on a wire they have 24 bits, which no window
//! here comes near to. All packets are RoCEv2's in size ([`Wire`]).
//!
//! What is not modelled favours them: connections cost no handshake, a NIC answers and
//! turns round in no time but what the link's delay has in it, and nobody gives up:
//! RC would break a connection after 7 timeouts in a row.

mod assembly;
mod connection;
pub mod falcon;
pub mod flight;
pub mod flows;
pub mod go_back_n;
mod host;
pub mod ideal;
pub mod irn;
mod options;
pub mod qp_cache;
pub mod software;
pub mod spread;
pub mod srd;
#[cfg(test)]
mod testing;
mod timers;
pub mod told;
pub mod trips;
pub mod two_choices;
pub mod uccl;
pub mod window;

pub use host::{Host, Parts, Setup};
pub use options::{ControlKind, Options, OptionsError};

use crate::transport::FRAMING;
use crate::Ps;

/// Bytes of a full packet's payload.
pub const PAYLOAD: u32 = 4096;
/// Packets that may be in flight per connection, at most: see [`window::Window`].
pub const MOST: u32 = window::SPAN;

/// Eth, IPv4, UDP, BTH and ICRC.
const HEADERS: u32 = 14 + 20 + 8 + 12 + 4;
/// Bytes of an RETH: what a write's first packet has, or every packet where each
/// says for itself where it goes.
const PLACE: u32 = 16;
/// Bytes of a CNP: 16 reserved ones (annex A17.9.3 of the InfiniBand specification).
pub(crate) const CNP: u32 = HEADERS + 16 + FRAMING;

/// Sizes of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wire {
    /// Every packet has an RETH, not only the first of a message.
    pub placed: bool,
    /// Bytes of an answer behind the BTH: an AETH has 4.
    pub answer: u32,
}

impl Wire {
    /// Of packet `index` of a message, with so much payload, framing included.
    #[inline]
    pub fn data(&self, index: u32, payload: u32) -> u32 {
        let place = if self.placed || index == 0 { PLACE } else { 0 };
        HEADERS + place + payload.next_multiple_of(4) + FRAMING
    }

    /// Of an answer.
    #[inline]
    pub fn reply(&self) -> u32 {
        HEADERS + self.answer + FRAMING
    }
}

/// A packet with payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// Process: with the other host it names the connection.
    pub process: u32,
    /// Its number within the connection.
    pub psn: u32,
    /// Its message.
    pub message: u32,
    /// Its number within the message.
    pub index: u32,
    /// Packets of the message.
    pub packets: u32,
    /// To be answered at once.
    pub ask: bool,
    /// Path it takes.
    pub path: u16,
    /// When it was sent; comes back with the answer.
    pub sent_at: Ps,
}

/// What an answer says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// All before this one have come.
    pub expected: u32,
    /// Something is missing.
    pub nak: bool,
    /// The number that drew the answer.
    pub came: u32,
    /// Which have come from `expected` on, if these rules tell.
    pub bits: window::Bits,
}

/// An answer on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Process: with the other host it names the connection.
    pub process: u32,
    /// What it says.
    pub answer: Answer,
    /// Of the packet that it answers: its path, when it was sent, whether it was marked.
    pub path: u16,
    /// See `path`.
    pub sent_at: Ps,
    /// See `path`.
    pub ce: bool,
}

/// What a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// With payload.
    Data(Data),
    /// An answer.
    Reply(Reply),
    /// Packets of the connection of this process are marked.
    Congested(u32),
}

/// A packet to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pick {
    /// Its number.
    pub psn: u32,
    /// It has been sent before.
    pub again: bool,
}

/// What an answer has changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    /// Packets acknowledged for the first time.
    pub packets: u32,
    /// Packets have been found lost.
    pub lost: bool,
}

/// What becomes of an arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// Its bytes are wanted.
    pub fresh: bool,
    /// What is answered.
    pub answer: Option<Answer>,
}

/// The sending end of a connection: what goes when, what is lost. A copy of one that
/// has sent nothing is made for each.
pub trait Recovery: Clone {
    /// There are so many more packets to send.
    fn offer(&mut self, packets: u32);

    /// The packet to send now, if any, with at most `window` unanswered.
    fn next(&mut self, now: Ps, window: u32) -> Option<Pick>;

    /// An answer has come.
    fn heard(&mut self, now: Ps, reply: &Reply) -> Heard;

    /// When to call [`expire`](Self::expire), unless something is heard.
    fn deadline(&self) -> Option<Ps>;

    /// The deadline has passed; whether packets are taken for lost.
    fn expire(&mut self, now: Ps) -> bool;

    /// A packet that was picked takes this path.
    fn took(&mut self, _psn: u32, _path: u16) {}

    /// A path on which a packet has been found lost since this was last asked.
    fn take_lost_path(&mut self) -> Option<u16> {
        None
    }

    /// All before this one have been acknowledged.
    fn acknowledged(&self) -> u32;
}

/// The receiving end. A copy of one that has received nothing is made for each.
pub trait Responder: Clone {
    /// Messages end in the order in which they were posted.
    const IN_ORDER: bool;

    /// A packet has come.
    fn arrived(&mut self, now: Ps, data: &Data) -> Taken;

    /// All before this one have come.
    fn expected(&self) -> u32;

    /// When to call [`expire`](Self::expire): an answer is being held back.
    fn deadline(&self) -> Option<Ps> {
        None
    }

    /// The answer that was held back.
    fn expire(&mut self, _now: Ps) -> Option<Answer> {
        None
    }
}
