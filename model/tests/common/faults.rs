//! What the network does to frames, and to which.

use super::*;

/// Packet classes a fault can aim at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    Data,
    Again,
    Last,
    Probe,
    Ack,
    Nack,
    Grant,
    Busy,
    Complete,
    Abort,
    Release,
}

pub const FEEDBACK_CLASSES: [Class; 6] =
    [Class::Ack, Class::Nack, Class::Grant, Class::Busy, Class::Complete, Class::Abort];

pub fn class(frame: &[u8]) -> Class {
    match wire::parse(frame).expect("a model frame parses").trh {
        Trh::Data(header) if header.probe => Class::Probe,
        Trh::Data(header) if header.flags & wire::flag::RETX != 0 => Class::Again,
        Trh::Data(header) => {
            let count = wire::packet_count(header.length, header.payload_log2).expect("legal");
            if header.index + 1 == count {
                Class::Last
            } else {
                Class::Data
            }
        }
        Trh::Release(_) => Class::Release,
        Trh::Feedback(header) => {
            let table = [
                (fb::ABORT, Class::Abort),
                (fb::COMPLETE, Class::Complete),
                (fb::BUSY, Class::Busy),
                (fb::NACK, Class::Nack),
                (fb::GRANT, Class::Grant),
            ];
            table.iter().find(|(bit, _)| header.flags & bit != 0).map_or(Class::Ack, |&(_, class)| class)
        }
    }
}

/// What the network does to frames.
#[derive(Clone, Debug)]
pub struct Faults {
    /// Probability of loss, every class.
    pub loss: f64,
    /// Mean length of a loss burst in small packets; 1 = uniform.
    pub burst: f64,
    /// The first n frames of a class are lost.
    pub first: BTreeMap<Class, u32>,
    /// Probability that a frame is copied, and how often at most in all.
    pub duplicate: (f64, u64),
    /// Probability of a flipped bit.
    pub corrupt: f64,
    /// Delay of every path, clocks; the entropy value chooses.
    pub paths: Vec<u64>,
    /// Random extra delay, clocks.
    pub jitter: u64,
    /// Frames marked congestion-experienced.
    pub mark: f64,
    /// Bytes per clock of each NIC's link.
    pub rate: u64,
}

impl Default for Faults {
    fn default() -> Self {
        Self {
            loss: 0.0,
            burst: 1.0,
            first: BTreeMap::new(),
            duplicate: (0.0, 1),
            corrupt: 0.0,
            paths: vec![800],
            jitter: 0,
            mark: 0.0,
            rate: 16,
        }
    }
}
