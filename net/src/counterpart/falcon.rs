//! Falcon-like: the sender finds losses by time, and asks after tails.
//!
//! ```text
//!   sent before what has come, and a trip plus `reorder` ago: lost        (RACK)
//!   nothing heard for 2 trips: the first missing packet goes again        (TLP)
//!   still nothing for 4: all that is under way is lost                    (RTO)
//! ```
//!
//! Rules: A. Singhvi et al., *Falcon*, SIGCOMM 2025, and its authors' simulator
//! (falcon-transport/isekai, `gen3/rack_retransmission_policy.cc`,
//! `tlp_retransmission_policy.cc`, `default_config_generator.cc`); where they leave
//! something open RFC 8985 (sections 6.2 and 7). Bitmaps of 256 packets are those of
//! its second generation; where a network needs 512, those of the third. Congestion
//! control: Swift per connection, which a loss that is found in time does not lower
//! (`max_decrease_on_eack_nack_drop` is off there). Several flows per connection, each
//! with its own label and window, packets shared out by window: see
//! [`flows`](super::flows).
//!
//! Chosen in its favour: the reordering window grows with needless repetitions and shrinks
//! again (RFC 8985, section 6.2.4; isekai's is fixed at a quarter of a trip); a trip is
//! what one takes at most as they vary, if that is longer than the last one, for queues
//! and the paths of flows differ (without that a twentieth of an incast went again for
//! nothing); a probe needs no 50 us at least, a timeout no 250, but 2 such trips and
//! 4; messages end in any order, as Falcon's unordered connections let them; answers come
//! every 4 packets or 2 us, not every 10 or 8; 64 flows, for with 16 labels a hash
//! leaves a third of 16 paths unused and others overloaded.

use super::flight::Flight;
use super::flows::Flows;
use super::go_back_n::CONTEXT;
use super::qp_cache::QpCache;
use super::told::{self, Told};
use super::trips::Trips;
use super::{Heard, Host, Options, OptionsError, Parts, Pick, Recovery, Reply, Setup, Wire};
use crate::congestion::swift::Swift;
use crate::Ps;

/// Flows of a connection.
const FLOWS: u16 = 64;
/// Recoveries after which a grown reordering window is as at first (RFC 8985, 6.2.4).
const PERSIST: u32 = 16;
/// Doublings of the timeout.
const DOUBLINGS: u32 = 6;

/// A host that speaks it.
pub type Falcon = Host<Rack, Told, Swift, Flows>;

/// Host `number`. Of the options it leaves timeouts, control and paths: it has its own.
///
/// # Errors
/// If the options make no sense.
pub fn host(number: u32, options: &Options) -> Result<Falcon, OptionsError> {
    let parameters = options.swift(0)?;
    let bits = told::bits(parameters.first)?;
    let parts = Parts {
        recovery: Rack::new(options.round_trip, told::DELAY, bits),
        responder: Told::new(told::EVERY, told::DELAY),
        congestion: Swift::new(parameters),
        spread: Flows::new(FLOWS, &parameters),
    };
    let wire = Wire { placed: true, answer: told::bytes(bits) };
    // Bitmaps at either end, a label, a window and a round trip per flow.
    let context = CONTEXT + 2 * bits / 8 + FLOWS as u32 * 8;
    let setup = Setup { wire, cnp_every: None, context, seed: options.seed };
    Ok(Host::new(number, setup, parts, options.cache.map(QpCache::new)))
}

/// Sends. See the module's page.
#[derive(Clone, Debug)]
pub struct Rack {
    flight: Flight,
    trips: Trips,
    /// How long an answer may be held back.
    answer_delay: Ps,
    /// When the youngest packet that has come left, and what its trip took.
    newest: Ps,
    newest_trip: Ps,
    /// Quarters of the shortest trip that reordering may take.
    quarters: u32,
    /// When that last grew.
    grown: Ps,
    /// When the last recovery began, and how many since it grew.
    recovered: Ps,
    recoveries: u32,
    /// Since when nothing has been sent or heard.
    since: Ps,
    probed: bool,
    probe_due: bool,
    expiries: u32,
}

impl Rack {
    /// A connection over such a round trip without queues; answers may be held back for
    /// so long and tell of so many packets.
    pub fn new(round_trip: Ps, answer_delay: Ps, told: u32) -> Self {
        Self {
            flight: Flight::new(told),
            trips: Trips::new(round_trip),
            answer_delay,
            newest: 0,
            newest_trip: round_trip,
            quarters: 1,
            grown: 0,
            recovered: 0,
            recoveries: 0,
            since: 0,
            probed: false,
            probe_due: false,
            expiries: 0,
        }
    }

    /// RFC 8985, section 6.2, step 4.
    fn reorder(&self) -> Ps {
        (self.trips.least() / 4 * self.quarters as Ps).min(self.trips.smoothed())
    }

    /// When the oldest packet under way is lost, if younger ones have come.
    fn overdue_at(&self) -> Option<Ps> {
        let oldest = self.flight.oldest().filter(|&at| at < self.newest)?;
        Some(oldest + self.newest_trip.max(self.trips.most()) + self.reorder())
    }

    /// RFC 8985, section 7.2; the timeout behind it.
    fn silent_until(&self) -> Ps {
        let times = if self.probed { 2 << self.expiries.min(DOUBLINGS) } else { 1 };
        let two = (2 * self.trips.smoothed()).max(self.trips.most());
        self.since + times * two + self.answer_delay
    }

    /// Finds what is overdue; whether anything is.
    fn detect(&mut self, now: Ps) -> bool {
        let mut found = false;
        while self.overdue_at().is_some_and(|at| at <= now) {
            self.flight.lose();
            found = true;
        }
        if found && now >= self.recovered + self.trips.smoothed() {
            self.recovered = now;
            self.recoveries += 1;
            if self.recoveries > PERSIST {
                self.quarters = 1;
            }
        }
        found
    }

    fn repeated_for_nothing(&mut self, now: Ps) {
        if now >= self.grown + self.trips.smoothed() {
            self.quarters += 1;
            self.grown = now;
            self.recoveries = 0;
        }
    }
}

impl Recovery for Rack {
    fn offer(&mut self, packets: u32) {
        self.flight.offer(packets);
    }

    #[inline]
    fn next(&mut self, now: Ps, window: u32) -> Option<Pick> {
        let pick = if std::mem::take(&mut self.probe_due) {
            self.flight.probe(now)
        } else {
            self.flight.next(now, window)
        };
        if pick.is_some() {
            self.since = now;
        }
        pick
    }

    #[inline]
    fn heard(&mut self, now: Ps, reply: &Reply) -> Heard {
        let news = self.flight.heard(reply);
        let trip = now - reply.sent_at.min(now);
        self.trips.add(trip);
        if reply.sent_at >= self.newest {
            (self.newest, self.newest_trip) = (reply.sent_at, trip);
        }
        if news.spurious {
            self.repeated_for_nothing(now);
        }
        if news.packets > 0 {
            self.since = now;
            self.probed = false;
            self.expiries = 0;
        }
        Heard { packets: news.packets, lost: self.detect(now) }
    }

    fn deadline(&self) -> Option<Ps> {
        if self.flight.flying() == 0 {
            return None;
        }
        Some(self.overdue_at().map_or(self.silent_until(), |at| at.min(self.silent_until())))
    }

    fn expire(&mut self, now: Ps) -> bool {
        if self.detect(now) || self.flight.flying() == 0 || now < self.silent_until() {
            return false;
        }
        self.since = now;
        if !self.probed {
            self.probed = true;
            self.probe_due = true;
            return false;
        }
        self.expiries += 1;
        while self.flight.flying() > 0 {
            self.flight.lose();
        }
        true
    }

    #[inline]
    fn took(&mut self, psn: u32, path: u16) {
        self.flight.took(psn, path);
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
    const LOST: Ps = TRIP + TRIP / 4;

    /// So many packets, one per unit of time, of which the first leaves at 0. Round trips
    /// have been alike for long.
    fn rack(packets: u32) -> Rack {
        let mut rack = Rack::new(TRIP, 100, 256);
        for _ in 0..64 {
            rack.trips.add(TRIP);
        }
        rack.offer(packets);
        for now in 0..packets as Ps {
            assert_eq!(rack.next(now, now as u32 + 1), Some(Pick { psn: now as u32, again: false }));
        }
        rack
    }

    #[test]
    fn what_left_before_something_that_has_come_is_lost_a_quarter_trip_later() {
        let mut rack = rack(10);
        let heard = rack.heard(TRIP + 4, &came(0, &[4], 4, 4));
        assert_eq!(heard, Heard { packets: 1, lost: false });
        // 0 left 4 before and should have come as fast.
        assert_eq!(rack.deadline(), Some(LOST));
        assert!(!rack.expire(LOST), "no timeout");
        assert_eq!(sent(&mut rack, LOST, 100), [(0, true)]);
        assert_eq!(rack.deadline(), Some(LOST + 1), "then 1");
        // What left after it is not lost by it.
        rack.expire(LOST + 100);
        assert_eq!(sent(&mut rack, 2 * TRIP, 100), [(1, true), (2, true), (3, true)]);
        assert_eq!(rack.deadline(), Some(4 * TRIP + 100));
    }

    #[test]
    fn trips_that_vary_give_more_time() {
        let mut rack = rack(10);
        rack.trips.add(TRIP * 2);
        rack.heard(TRIP + 4, &came(0, &[4], 4, 4));
        assert!(rack.overdue_at() > Some(2 * TRIP));
    }

    #[test]
    fn needless_repetition_widens_the_window_of_reordering_and_recoveries_narrow_it() {
        let mut rack = rack(3);
        rack.heard(TRIP + 2, &came(0, &[2], 2, 2));
        rack.expire(LOST + 2);
        assert_eq!(sent(&mut rack, 2 * TRIP, 100), [(0, true), (1, true)]);
        // The first 0 comes: it was only late.
        rack.heard(2 * TRIP + 10, &came(1, &[2], 0, 0));
        assert_eq!(rack.reorder(), TRIP / 2);
        for _ in 0..100 {
            rack.repeated_for_nothing(2 * TRIP + 11);
        }
        assert_eq!(rack.reorder(), TRIP / 2, "once per round trip");
        for round in 1..100 {
            rack.repeated_for_nothing(round * 10 * TRIP);
        }
        assert_eq!(rack.reorder(), rack.trips.smoothed(), "at most a round trip");
        rack.recoveries = PERSIST;
        rack.offer(2);
        assert_eq!(sent(&mut rack, 2000 * TRIP, 100).len(), 2);
        rack.heard(2001 * TRIP, &came(3, &[4], 4, 2000 * TRIP));
        rack.newest += 1;
        assert!(rack.detect(3000 * TRIP));
        assert_eq!(rack.quarters, 1);
    }

    #[test]
    fn a_tail_is_probed_and_then_taken_for_lost() {
        let mut rack = rack(3);
        rack.heard(TRIP, &came(1, &[], 0, 0));
        let probe = TRIP + 2 * TRIP + 100;
        assert_eq!(rack.deadline(), Some(probe));
        assert!(!rack.expire(probe));
        assert_eq!(sent(&mut rack, probe, 0), [(1, true)], "whatever the window");
        let timeout = probe + 4 * TRIP + 100;
        assert_eq!(rack.deadline(), Some(timeout));
        assert!(rack.expire(timeout));
        assert_eq!(sent(&mut rack, timeout, 100), [(2, true), (1, true)]);
        assert_eq!(rack.deadline(), Some(timeout + 8 * TRIP + 100), "twice as long");
        rack.heard(timeout + TRIP, &came(3, &[], 1, timeout));
        assert_eq!((rack.deadline(), rack.acknowledged()), (None, 3));
    }

    #[test]
    fn an_answer_to_a_probe_tells_what_else_is_lost() {
        let mut rack = rack(3);
        let probe = 2 + 2 * TRIP + 100;
        rack.expire(probe);
        assert_eq!(sent(&mut rack, probe, 0), [(0, true)]);
        assert!(rack.heard(probe + TRIP, &came(1, &[], 0, probe)).lost);
        assert_eq!(sent(&mut rack, probe + TRIP, 100), [(1, true), (2, true)]);
    }
}
