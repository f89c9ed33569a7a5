//! What a network is made of, and what it counts.

use serde::{Deserialize, Serialize};

use crate::fabric::{Faults, Latency, Links, Losses, Rate, Switching, LARGEST};
use crate::topology::{Shape, ShapeError, Topology};
use crate::Ps;

/// A network's make.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Make {
    /// Shape.
    pub shape: Option<Shape>,
    /// Rates and delays.
    pub links: Links,
    /// Hosts.
    pub latency: Latency,
    /// Buffers and what is done with them.
    pub switching: Switching,
    /// Loss.
    pub losses: Losses,
    /// Failures.
    pub faults: Faults,
    /// Seed of every choice.
    pub seed: u64,
}

impl Make {
    /// How long a packet and its answer of so many bytes take between the hosts furthest
    /// apart, by the slowest way, while nothing waits.
    ///
    /// # Errors
    /// If there are no links of such rates.
    pub fn round_trip(&self, packet: u64, answer: u64) -> Result<Ps, MakeError> {
        let (host, fabric) = self.links.rates()?;
        let between = match self.shape {
            Some(Shape::FatTree { .. }) => 4,
            Some(Shape::LeafSpine { .. }) => 2,
            _ => 0,
        };
        let way = |bytes| {
            let edge = 2 * (host.time_of(bytes) + self.links.host_delay);
            edge + between * (fabric.time_of(bytes) + self.links.fabric_delay + self.links.skew)
        };
        Ok(way(packet) + way(answer))
    }

    /// Bytes that came in by a port at which the other end is paused, by switch. A port's
    /// share of the buffer, less what comes while the pause is on its way.
    pub(super) fn stops(&self, topology: &Topology, links: &[(Rate, Ps)]) -> Result<Vec<u32>, MakeError> {
        let mut stops = vec![u32::MAX; topology.switches() as usize];
        if !self.switching.pfc {
            return Ok(stops);
        }
        for switch in 0..topology.switches() {
            let range = topology.ports_of(switch);
            let ports = range.end - range.start;
            let headroom = range
                .map(|port| {
                    let (rate, delay) = links[port as usize];
                    rate.bytes_in(2 * delay) + 3 * LARGEST as u64
                })
                .max()
                .unwrap_or(0);
            let share = self.switching.buffer / ports as u64;
            if share < headroom + 2 * LARGEST as u64 {
                return Err(MakeError::Headroom { buffer: self.switching.buffer, ports, headroom });
            }
            stops[switch as usize] = (share - headroom) as u32;
        }
        Ok(stops)
    }
}

/// Why there is no network of this make.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MakeError {
    /// No shape.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// No such port.
    #[error("fault at port {0}; the network has {1} ports")]
    NoPort(u32, u32),
    /// The buffer has no room for what comes while a pause is on its way.
    #[error("a switch buffer of {buffer} bytes is too small for PFC at {ports} ports: each needs {headroom} bytes of headroom and two packets")]
    Headroom {
        /// Given.
        buffer: u64,
        /// Ports of the largest switch.
        ports: u32,
        /// Bytes that come in while a pause is on its way.
        headroom: u64,
    },
    /// Senseless.
    #[error("{0}")]
    Senseless(&'static str),
}

/// What the network has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Events.
    pub events: u64,
    /// Packets that came to the end of a link.
    pub hops: u64,
    /// Packets dropped for want of buffer.
    pub dropped: u64,
    /// Payloads cut off for want of buffer.
    pub trimmed: u64,
    /// Packets lost on purpose.
    pub lost: u64,
    /// Packets lost at links that are down, or without a way.
    pub severed: u64,
    /// Packets with payload among all those, and among the trimmed: what has to be sent again.
    pub gone: u64,
    /// Packets marked.
    pub marked: u64,
    /// Pauses sent.
    pub pauses: u64,
    /// Most bytes in one switch's buffer.
    pub fullest: u64,
}
