//! Paths by their round trips: the faster of two drawn.
//!
//! ```text
//!   round trip by path   [12] [9] [-] [31] ...
//!                          └──┬──┘ drawn: the second one goes, for a chunk
//! ```
//!
//! Source: UCCL-Tran, OSDI 2026 (256 paths, power-of-two choice on path RTT; uccl-project/uccl).
//! The paper gives the choice alone. Added in its favour, for links that fail: a path
//! that lost a packet counts as slow, and one that is passed over counts as a little
//! faster each time, so that it is tried again.

use rand::Rng;
use rand_pcg::Pcg64Mcg;

use super::spread::Spread;
use crate::Ps;

/// Unit of a path's round trip: 65,535 of it are a millisecond.
const UNIT: Ps = 16_000;
/// A path that has lost a packet counts as so slow at least: 200 us, in units.
const SLOW: u16 = 12_500;

/// See the module's page.
#[derive(Clone, Debug)]
pub struct TwoChoices {
    paths: u16,
    /// Packets that take one path in a row.
    chunk: u16,
    left: u16,
    path: u16,
    /// By path, in units; 0: not known. Made with the first packet.
    trips: Box<[u16]>,
}

impl TwoChoices {
    /// Choices among so many paths, each for so many packets.
    pub fn new(paths: u16, chunk: u16) -> Self {
        Self { paths: paths.max(1), chunk: chunk.max(1), left: 0, path: 0, trips: Box::default() }
    }
}

impl Spread for TwoChoices {
    #[inline]
    fn path(&mut self, _now: Ps, rng: &mut Pcg64Mcg) -> u16 {
        if self.left > 0 {
            self.left -= 1;
            return self.path;
        }
        if self.trips.is_empty() {
            self.trips = vec![0; self.paths as usize].into();
        }
        let mut draw = || ((rng.next_u32() as u64 * self.paths as u64) >> 32) as u16;
        let (one, other) = (draw(), draw());
        let one_is_faster = self.trips[one as usize] <= self.trips[other as usize];
        let (fast, slow) = if one_is_faster { (one, other) } else { (other, one) };
        self.trips[slow as usize] -= self.trips[slow as usize] / 64;
        self.left = self.chunk - 1;
        self.path = fast;
        fast
    }

    #[inline]
    fn heard(&mut self, _now: Ps, path: u16, _ce: bool, rtt: Ps) {
        let Some(trip) = self.trips.get_mut(path as usize) else { return };
        let new = (rtt / UNIT).min(u16::MAX as u64) as u16;
        *trip = if *trip == 0 { new } else { *trip - *trip / 4 + new / 4 };
    }

    fn failed(&mut self, _now: Ps, path: u16) {
        if let Some(trip) = self.trips.get_mut(path as usize) {
            *trip = (*trip).max(SLOW);
        }
        self.left = 0;
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    fn paths(spread: &mut TwoChoices, count: usize, rng: &mut Pcg64Mcg) -> Vec<u16> {
        (0..count).map(|_| spread.path(0, rng)).collect()
    }

    #[test]
    fn the_faster_is_taken_and_the_slow_one_is_tried_again() {
        let mut rng = Pcg64Mcg::seed_from_u64(1);
        let mut spread = TwoChoices::new(2, 1);
        assert_eq!(paths(&mut spread, 1, &mut rng).len(), 1);
        spread.heard(0, 0, false, 10_000_000);
        spread.heard(0, 1, false, 20_000_000);
        let slow = paths(&mut spread, 40, &mut rng).iter().filter(|&&path| path == 1).count();
        assert!((2..20).contains(&slow), "only when both draws are of it: {slow}");
        spread.failed(0, 0);
        let fast = paths(&mut spread, 40, &mut rng).iter().filter(|&&path| path == 0).count();
        assert!((2..20).contains(&fast), "{fast}");
        let later = paths(&mut spread, 1000, &mut rng);
        let fast = later[500..].iter().filter(|&&path| path == 0).count();
        assert!((150..350).contains(&fast), "passed over so often, it is as good: {fast}");
    }

    #[test]
    fn a_chunk_stays_together_until_its_path_fails() {
        let mut rng = Pcg64Mcg::seed_from_u64(1);
        let mut spread = TwoChoices::new(256, 8);
        let drawn = paths(&mut spread, 16, &mut rng);
        assert!(drawn[..8].iter().all(|&path| path == drawn[0]));
        assert!(drawn[8..].iter().all(|&path| path == drawn[8]));
        assert_ne!(drawn[0], drawn[8]);
        let before = paths(&mut spread, 2, &mut rng);
        spread.failed(0, before[0]);
        assert_ne!(paths(&mut spread, 1, &mut rng)[0], before[0]);
    }
}
