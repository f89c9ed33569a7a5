//! Round trips, as a sender measures them.
//!
//! RFC 6298 (section 2): smoothed, and how much they vary. Every answer brings the time
//! at which its packet left, so packets sent again are no special case.

use crate::Ps;

/// See the module's page.
#[derive(Clone, Copy, Debug)]
pub struct Trips {
    smoothed: Ps,
    variation: Ps,
    least: Ps,
    known: bool,
}

impl Trips {
    /// None measured; until then they are taken for `guess`.
    pub fn new(guess: Ps) -> Self {
        Self { smoothed: guess, variation: guess / 2, least: guess, known: false }
    }

    /// One more.
    #[inline]
    pub fn add(&mut self, trip: Ps) {
        if !self.known {
            *self = Self { smoothed: trip, variation: trip / 2, least: trip, known: true };
            return;
        }
        self.variation = (self.variation * 3 + trip.abs_diff(self.smoothed)) / 4;
        self.smoothed = (self.smoothed * 7 + trip) / 8;
        self.least = self.least.min(trip);
    }

    /// Smoothed.
    #[inline]
    pub fn smoothed(&self) -> Ps {
        self.smoothed
    }

    /// The shortest.
    #[inline]
    pub fn least(&self) -> Ps {
        self.least
    }

    /// What one takes at most, as good as always: RFC 6298's timeout without its floor.
    #[inline]
    pub fn most(&self) -> Ps {
        self.smoothed + 4 * self.variation
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_counts_whole_and_later_ones_by_an_eighth() {
        let mut trips = Trips::new(5);
        assert_eq!(trips.smoothed(), 5);
        trips.add(8000);
        assert_eq!((trips.smoothed(), trips.least(), trips.most()), (8000, 8000, 24_000));
        trips.add(16_000);
        assert_eq!((trips.smoothed(), trips.least()), (9000, 8000));
        for _ in 0..100 {
            trips.add(8000);
        }
        assert!((8000..8010).contains(&trips.smoothed()) && trips.most() < 8100);
    }
}
