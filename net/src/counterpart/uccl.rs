//! UCCL-like: a transport in software over unreliable datagrams.
//!
//! ```text
//!   NIC ─ packets ─> latency ─> cores ─> dup-ACKs, paths, Swift     (`software`)
//!   overtaken by 64 others: lost       nothing heard for 4 trips: all lost
//! ```
//!
//! Source: *UCCL-Tran: An Extensible Software Transport Layer for GPU Networking*, OSDI
//! 2026, and its code (uccl-project/uccl, `collective/rdma/transport_config.h`): 256
//! paths, the faster of two drawn for each chunk; answers by bitmap, every 4; losses by
//! duplicate acknowledgements, more than 3 of them because of spraying: 32 chunks on
//! RoCE, 128 packets on EFA; a timeout of 500 us, or 4 round trips.
//!
//! Costs of software: a core drives 400 Gb/s in chunks of 32 KiB (the paper), so a chunk
//! costs it 655 ns, sent or received; 4 cores per NIC (`NUM_ENGINES`). From a packet at
//! the NIC to a decision there takes a PCIe crossing each way, a microsecond for both
//! (R. Neugebauer et al., *Understanding PCIe performance*, SIGCOMM 2018, section 6).
//!
//! Congestion control is Swift, which the code offers beside Timely, for it is the stronger
//! one; losses found in time leave its window as it is.
//!
//! Chosen in its favour: chunks of 16 KiB, whose paths are spread more finely and whose
//! work 4 cores can still do at twice the line's rate; half a bandwidth-delay product of
//! duplicates, from 64 to 128, the fewest that spraying alone hardly causes here (32
//! repeat 4 % of a permutation's packets for nothing, more leave more losses to the
//! timeout); that timeout is 4 round trips without a floor, and
//! takes all that is under way for lost (the code repeats one chunk); losses are seen and
//! repeated by packet, not by chunk; sending and receiving share cores without getting
//! in each other's way; answers cost a core nothing; bitmaps tell of 256 packets, or
//! 512 where a network needs them (the code: 128 chunks, or 1024).

use super::flight::Flight;
use super::software::{Costs, Software};
use super::told::{self, Told};
use super::trips::Trips;
use super::two_choices::TwoChoices;
use super::{Heard, Host, Options, OptionsError, Parts, Pick, Recovery, Reply, Setup, Wire};
use crate::congestion::swift::Swift;
use crate::Ps;

/// Packets of a chunk.
pub const CHUNK: u16 = 4;
/// Paths.
pub const PATHS: u16 = 256;
/// Duplicate acknowledgements that tell of a loss: on short ways, and at most.
const DUPLICATES: [u32; 2] = [64, 128];
/// Doublings of the timeout.
const DOUBLINGS: u32 = 6;
/// Of software: see the module's page.
pub const COSTS: Costs = Costs { chunk: 655_000 / 4, packets: CHUNK as u32, latency: 1_000_000 };

/// A host that speaks it.
pub type Uccl = Software<Host<Duplicates, Told, Swift, TwoChoices>>;

/// Host `number`, whose software costs so much: [`COSTS`], or others. Of the options
/// it leaves timeouts, control, paths and cache: it has its own, and no queue pairs.
///
/// # Errors
/// If the options make no sense.
pub fn host(number: u32, options: &Options, costs: Costs) -> Result<Uccl, OptionsError> {
    let software = 2 * costs.latency;
    let parameters = options.swift(software)?;
    let bits = told::bits(parameters.first)?;
    let [few, many] = DUPLICATES;
    let duplicates = ((parameters.first / 2.0) as u32).clamp(few, many);
    let parts = Parts {
        recovery: Duplicates::new(options.round_trip + software, bits, duplicates),
        responder: Told::new(told::EVERY, told::DELAY),
        congestion: Swift::new(parameters),
        spread: TwoChoices::new(PATHS, CHUNK),
    };
    let wire = Wire { placed: false, answer: told::bytes(bits) };
    // What a connection keeps is in the host's memory.
    let setup = Setup { wire, cnp_every: None, context: 0, seed: options.seed };
    Ok(Software::new(Host::new(number, setup, parts, None), costs))
}

/// Sends. See the module's page.
#[derive(Clone, Debug)]
pub struct Duplicates {
    flight: Flight,
    trips: Trips,
    /// Packets that overtake a lost one.
    duplicates: u32,
    since: Ps,
    expiries: u32,
}

impl Duplicates {
    /// A connection over such a round trip without queues, whose answers tell of so many
    /// packets, and where a packet that so many have overtaken is lost.
    pub fn new(round_trip: Ps, told: u32, duplicates: u32) -> Self {
        Self { flight: Flight::new(told), trips: Trips::new(round_trip), duplicates, since: 0, expiries: 0 }
    }
}

impl Recovery for Duplicates {
    fn offer(&mut self, packets: u32) {
        self.flight.offer(packets);
    }

    #[inline]
    fn next(&mut self, now: Ps, window: u32) -> Option<Pick> {
        if self.flight.flying() == 0 {
            self.since = now;
        }
        self.flight.next(now, window)
    }

    #[inline]
    fn took(&mut self, psn: u32, path: u16) {
        self.flight.took(psn, path);
    }

    #[inline]
    fn heard(&mut self, now: Ps, reply: &Reply) -> Heard {
        let packets = self.flight.heard(reply).packets;
        self.trips.add(now - reply.sent_at.min(now));
        if packets > 0 {
            self.since = now;
            self.expiries = 0;
        }
        let mut lost = false;
        while self.flight.overtaken() >= self.duplicates && self.flight.flying() > 0 {
            self.flight.lose();
            lost = true;
        }
        Heard { packets, lost }
    }

    fn deadline(&self) -> Option<Ps> {
        let timeout = (4 * self.trips.smoothed()) << self.expiries.min(DOUBLINGS);
        (self.flight.flying() > 0).then_some(self.since + timeout)
    }

    fn expire(&mut self, now: Ps) -> bool {
        self.since = now;
        self.expiries += 1;
        while self.flight.flying() > 0 {
            self.flight.lose();
        }
        true
    }

    fn take_lost_path(&mut self) -> Option<u16> {
        self.flight.take_lost_path()
    }

    fn acknowledged(&self) -> u32 {
        self.flight.una()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{came, sent};
    use super::*;

    const TRIP: Ps = 8000;

    fn duplicates() -> Duplicates {
        let mut duplicates = Duplicates::new(TRIP, 256, 64);
        duplicates.offer(100);
        assert_eq!(sent(&mut duplicates, 0, 100).len(), 100);
        duplicates
    }

    #[test]
    fn what_enough_others_have_overtaken_is_lost_and_no_more() {
        let mut duplicates = duplicates();
        let kept: Vec<u32> = (1..10).chain(11..65).collect();
        assert!(!duplicates.heard(TRIP, &came(0, &kept, 64, 0)).lost, "63 of them");
        let kept: Vec<u32> = (1..10).chain(11..66).collect();
        assert!(duplicates.heard(TRIP, &came(0, &kept, 65, 0)).lost);
        assert_eq!(sent(&mut duplicates, TRIP, 100), [(0, true)], "10 has 55 behind it");
        let kept: Vec<u32> = (1..10).chain(11..75).collect();
        assert!(duplicates.heard(TRIP, &came(0, &kept, 74, 0)).lost);
        assert_eq!(sent(&mut duplicates, TRIP, 100), [(10, true)]);
        // Sent again, they are the youngest.
        let kept: Vec<u32> = (1..10).chain(11..100).collect();
        assert!(!duplicates.heard(2 * TRIP, &came(0, &kept, 99, 0)).lost);
    }

    #[test]
    fn silence_of_four_trips_loses_all_and_the_next_one_is_longer() {
        let mut duplicates = duplicates();
        duplicates.heard(TRIP, &came(98, &[], 97, 0));
        assert_eq!(duplicates.deadline(), Some(5 * TRIP));
        assert!(duplicates.expire(5 * TRIP));
        assert_eq!(sent(&mut duplicates, 5 * TRIP, 100), [(98, true), (99, true)]);
        assert_eq!(duplicates.deadline(), Some(13 * TRIP));
        duplicates.heard(6 * TRIP, &came(100, &[], 99, 5 * TRIP));
        assert_eq!(duplicates.deadline(), None);
    }
}
