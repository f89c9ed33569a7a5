//! How fast a connection may send: congestion controls of the counterparts.
//!
//! ```text
//!   connection ──sent, acked (rtt, marks), congested, lost──> control
//!              <── window: bytes that may be unanswered, gap: from packet to packet ──
//! ```
//!
//! A control has a window, a rate, or both. It reads no clock and sets no timer: what
//! a NIC does by timer it catches up with when it is next asked, so that idle
//! connections cost nothing.
//!
//! | file | what it is | of |
//! |---|---|---|
//! | `fixed` | a window of one bandwidth-delay product | IRN's BDP-FC |
//! | `dcqcn` | a rate that marks lower | RoCEv2 NICs |
//! | `swift` | a window that follows delay | Falcon, UCCL; stands in for SRD's |

mod dcqcn;
mod fixed;
pub mod swift;

pub use dcqcn::Dcqcn;
pub use fixed::Fixed;

use crate::Ps;

/// What an answer says of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Packets that it is the first to acknowledge.
    pub packets: u32,
    /// Since the packet it answers was sent.
    pub rtt: Ps,
    /// That packet was marked.
    pub ce: bool,
}

/// A connection's control: a copy of one that has seen nothing is made for each.
pub trait Congestion: Clone {
    /// A packet of so many bytes begins to leave.
    fn on_sent(&mut self, _now: Ps, _bytes: u32) {}

    /// An answer has come.
    fn on_ack(&mut self, now: Ps, sample: &Sample);

    /// The receiver says that packets are marked: a CNP.
    fn on_congested(&mut self, _now: Ps) {}

    /// Packets have been found lost; of a timeout or not.
    fn on_loss(&mut self, _now: Ps, _timeout: bool) {}

    /// Packets that may be sent and not acknowledged, at least 1. Less than one packet
    /// is a matter of [`gap`](Self::gap).
    fn window(&self) -> u32;

    /// From the start of a packet of so many bytes to that of the next one, at least.
    fn gap(&self, _bytes: u32) -> Ps {
        0
    }
}

/// Any of them, chosen when a run begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Control {
    /// See [`Fixed`].
    Fixed(Fixed),
    /// See [`Dcqcn`].
    Dcqcn(Dcqcn),
}

impl Congestion for Control {
    #[inline]
    fn on_sent(&mut self, now: Ps, bytes: u32) {
        match self {
            Self::Fixed(control) => control.on_sent(now, bytes),
            Self::Dcqcn(control) => control.on_sent(now, bytes),
        }
    }

    #[inline]
    fn on_ack(&mut self, now: Ps, sample: &Sample) {
        match self {
            Self::Fixed(control) => control.on_ack(now, sample),
            Self::Dcqcn(control) => control.on_ack(now, sample),
        }
    }

    fn on_congested(&mut self, now: Ps) {
        match self {
            Self::Fixed(control) => control.on_congested(now),
            Self::Dcqcn(control) => control.on_congested(now),
        }
    }

    fn on_loss(&mut self, now: Ps, timeout: bool) {
        match self {
            Self::Fixed(control) => control.on_loss(now, timeout),
            Self::Dcqcn(control) => control.on_loss(now, timeout),
        }
    }

    #[inline]
    fn window(&self) -> u32 {
        match self {
            Self::Fixed(control) => control.window(),
            Self::Dcqcn(control) => control.window(),
        }
    }

    #[inline]
    fn gap(&self, bytes: u32) -> Ps {
        match self {
            Self::Fixed(control) => control.gap(bytes),
            Self::Dcqcn(control) => control.gap(bytes),
        }
    }
}
