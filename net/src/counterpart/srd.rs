//! SRD-like: datagrams sprayed over many paths, repeated by the NIC within round trips.
//!
//! ```text
//!   each packet: a path of 64, a clock of its own
//!   not acknowledged for a trip and what it varies by: again, by another path
//! ```
//!
//! Public (L. Shalev et al., *A Cloud-Optimized Transport Protocol for Elastic and Scalable
//! HPC*, IEEE Micro 2020; AWS on ENA Express): packets are sprayed over up to 64 paths,
//! away from those whose round trips are long; they are delivered in any order; the
//! Nitro card repeats what is lost at the scale of a round trip, below a millisecond;
//! congestion control bounds what is under way and follows delay.
//!
//! Guessed, each time what favours it: the choice of a path is the faster of two
//! drawn, per packet; a packet's timeout is RFC 6298's without its floor but at least one
//! and a half round trips, and doubles as long as nothing is heard; control is Swift; answers
//! are bitmaps, every 4 packets; messages end in any order.

use super::flight::Flight;
use super::told::{self, Told};
use super::trips::Trips;
use super::two_choices::TwoChoices;
use super::{Heard, Host, Options, OptionsError, Parts, Pick, Recovery, Reply, Setup, Wire};
use crate::congestion::swift::Swift;
use crate::Ps;

/// Paths.
pub const PATHS: u16 = 64;
/// Doublings of the timeout.
const DOUBLINGS: u32 = 6;

/// A host that speaks it.
pub type Srd = Host<Clocks, Told, Swift, TwoChoices>;

/// Host `number`. Of the options it leaves timeouts, control, paths and cache: it has its
/// own, and one queue pair for all peers.
///
/// # Errors
/// If the options make no sense.
pub fn host(number: u32, options: &Options) -> Result<Srd, OptionsError> {
    let parameters = options.swift(0)?;
    let bits = told::bits(parameters.first)?;
    let parts = Parts {
        recovery: Clocks::new(options.round_trip, told::DELAY, bits),
        responder: Told::new(told::EVERY, told::DELAY),
        congestion: Swift::new(parameters),
        spread: TwoChoices::new(PATHS, 1),
    };
    let wire = Wire { placed: true, answer: told::bytes(bits) };
    // Guessed: bitmaps at either end, a time per packet under way, two bytes per path.
    let context = 2 * bits / 8 + bits * 4 + PATHS as u32 * 2;
    let setup = Setup { wire, cnp_every: None, context, seed: options.seed };
    Ok(Host::new(number, setup, parts, None))
}

/// Sends. See the module's page.
#[derive(Clone, Debug)]
pub struct Clocks {
    flight: Flight,
    trips: Trips,
    answer_delay: Ps,
    /// Nothing heard since so many expiries.
    expiries: u32,
    /// When the last of them was.
    since: Ps,
}

impl Clocks {
    /// A connection over such a round trip without queues; answers may be held back for
    /// so long and tell of so many packets.
    pub fn new(round_trip: Ps, answer_delay: Ps, told: u32) -> Self {
        let trips = Trips::new(round_trip);
        Self { flight: Flight::new(told), trips, answer_delay, expiries: 0, since: 0 }
    }

    fn timeout(&self) -> Ps {
        let least = self.trips.smoothed() * 3 / 2;
        (self.trips.most().max(least) + self.answer_delay) << self.expiries.min(DOUBLINGS)
    }
}

impl Recovery for Clocks {
    fn offer(&mut self, packets: u32) {
        self.flight.offer(packets);
    }

    #[inline]
    fn next(&mut self, now: Ps, window: u32) -> Option<Pick> {
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
            self.expiries = 0;
        }
        Heard { packets, lost: false }
    }

    #[inline]
    fn deadline(&self) -> Option<Ps> {
        self.flight.oldest().map(|at| at + self.timeout())
    }

    fn expire(&mut self, now: Ps) -> bool {
        let timeout = self.timeout();
        while self.flight.oldest().is_some_and(|at| at + timeout <= now) {
            self.flight.lose();
        }
        // One loss among many that come is no sign of a network at a standstill.
        let silent = now >= self.since + timeout;
        if silent {
            self.since = now;
            self.expiries += 1;
        }
        silent && self.expiries > 1
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

    /// Packets that leave at 0, and know their round trip well.
    fn clocks(packets: u32) -> Clocks {
        let mut clocks = Clocks::new(TRIP, 0, 256);
        for _ in 0..64 {
            clocks.trips.add(TRIP);
        }
        clocks.offer(packets);
        assert_eq!(sent(&mut clocks, 0, 100).len() as u32, packets);
        clocks
    }

    #[test]
    fn each_packet_has_a_clock_of_its_own() {
        let mut clocks = clocks(2);
        clocks.offer(1);
        assert_eq!(sent(&mut clocks, 500, 100), [(2, false)]);
        clocks.heard(TRIP, &came(1, &[], 0, 0));
        assert_eq!(clocks.deadline(), Some(TRIP * 3 / 2));
        assert!(!clocks.expire(TRIP * 3 / 2), "a single loss is no timeout");
        assert_eq!(sent(&mut clocks, TRIP * 3 / 2, 100), [(1, true)]);
        assert!(clocks.deadline().is_some_and(|at| at > TRIP * 3 / 2));
    }

    #[test]
    fn clocks_grow_longer_while_nothing_is_heard() {
        let mut clocks = clocks(1);
        assert!(!clocks.expire(TRIP * 3 / 2));
        assert_eq!(sent(&mut clocks, TRIP * 3 / 2, 100), [(0, true)]);
        assert_eq!(clocks.deadline(), Some(TRIP * 3 / 2 * 3), "twice as long");
        assert!(clocks.expire(TRIP * 3 / 2 * 3));
        assert_eq!(sent(&mut clocks, TRIP * 5, 100), [(0, true)]);
        clocks.heard(TRIP * 6, &came(1, &[], 0, TRIP * 5));
        assert_eq!((clocks.deadline(), clocks.acknowledged(), clocks.expiries), (None, 1, 0));
    }
}
