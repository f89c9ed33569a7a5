//! How fast the network alone is, without any protocol.

use std::time::Instant;

use serde::Serialize;

use crate::network::{Make, MakeError, Network};
use crate::raw::Raw;
use crate::topology::Shape;
use crate::traffic::List;
use crate::Ps;

/// A measurement on one core.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Speed {
    /// Hosts.
    pub hosts: u32,
    /// Packets that came to the end of a link.
    pub hops: u64,
    /// Events.
    pub events: u64,
    /// Time that it took.
    pub seconds: f64,
    /// Hops in a second.
    pub hops_per_second: f64,
}

impl Speed {
    /// Of a fat tree whose switches have so many ports: every host sends so many packets, in
    /// messages of 16 to all others in turn, at four fifths of its link's rate.
    ///
    /// # Errors
    /// If there is no such tree.
    pub fn measure(ports: u32, packets: u32) -> Result<Self, MakeError> {
        const BYTES: u32 = 16 * 4096;
        let make = Make { shape: Some(Shape::FatTree { k: ports }), seed: 1, ..Make::default() };
        let mut network = Network::new(&make, |_| Raw::new(4096, 130, 16))?;
        let hosts = network.topology().hosts();
        let mut list = List::default();
        for number in 0..packets / 16 {
            for from in 0..hosts {
                let to = (from + 1 + number % (hosts - 1)) % hosts;
                list.add(number as Ps * BYTES as Ps * 25, from, to, BYTES);
            }
        }
        let begun = Instant::now();
        network.run(&mut list, Ps::MAX, |_| true);
        let seconds = begun.elapsed().as_secs_f64();
        let counts = network.counts();
        let hops_per_second = counts.hops as f64 / seconds;
        Ok(Self { hosts, hops: counts.hops, events: counts.events, seconds, hops_per_second })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_packet_goes_to_its_end() {
        let speed = Speed::measure(4, 32).unwrap();
        // 16 hosts send 32 packets each, over two, four or six links.
        assert!((2 * 512..=6 * 512).contains(&speed.hops) && speed.hops < speed.events, "{speed:?}");
        assert!(Speed::measure(3, 32).is_err());
    }
}
