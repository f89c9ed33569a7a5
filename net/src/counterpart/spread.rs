//! By which path a packet goes: what switches hash differs from path to path.
//!
//! ```text
//!   ecmp      a a a a a a a a        one per connection
//!   flowlets  a a a  ..gap..  b b b  another after a pause
//!   spray     c a d b a d c b        any, at random
//!   recycle   c a d | a d a d        at random until answers come without a mark,
//!                                    then the paths of those
//! ```
//!
//! Flowlets: E. Vanini et al., *Let It Flow*, NSDI 2017: any gap above the spread of
//! path delays keeps order. There the switch draws, here the host: so all switches on
//! the way draw together. Recycling: T. Bonato et al., *REPS*, EuroSys 2026, algorithms
//! 1 and 2: a ring of 8 entropies whose answers came without a mark; while a failure is
//! suspected no other is tried.

use rand::Rng;
use rand_pcg::Pcg64Mcg;

use crate::Ps;

/// Entropies of the ring: section 3 of the paper.
const RING: usize = 8;
/// How long only known paths are used after a failure. Our choice: some ten round
/// trips; routes are mended in that time or were not broken.
const FROZEN: Ps = 100_000_000;

/// A connection's choice of paths.
pub trait Spread: Clone {
    /// The path of the packet that leaves now.
    fn path(&mut self, now: Ps, rng: &mut Pcg64Mcg) -> u16;

    /// A packet that took this path has been answered.
    fn heard(&mut self, _now: Ps, _path: u16, _ce: bool, _rtt: Ps) {}

    /// Packets have been found lost.
    fn lost(&mut self, _now: Ps) {}

    /// A packet that took this path is one of them.
    fn failed(&mut self, _now: Ps, _path: u16) {}
}

/// The four of the module's page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Balance {
    /// One path.
    Ecmp,
    /// See the module's page.
    Flowlets {
        /// Pause after which another path is drawn.
        gap: Ps,
        /// Path of now.
        path: u16,
        /// When the last packet left.
        last: Ps,
    },
    /// See the module's page.
    Spray {
        /// Paths to draw from.
        paths: u16,
    },
    /// See the module's page.
    Recycle(Recycled),
}

/// State of recycling: 8 paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recycled {
    paths: u16,
    ring: [u16; RING],
    /// Where the next path is put.
    head: u8,
    /// Paths in front of `head` that have not been used since.
    valid: u8,
    /// Entries that have ever been written.
    known: u8,
    frozen_until: Ps,
}

impl Balance {
    /// Flowlets apart by so much.
    pub fn flowlets(gap: Ps) -> Self {
        Self::Flowlets { gap, path: 0, last: 0 }
    }

    /// Recycling of so many paths.
    pub fn recycle(paths: u16) -> Self {
        let ring = [0; RING];
        Self::Recycle(Recycled { paths, ring, head: 0, valid: 0, known: 0, frozen_until: 0 })
    }
}

/// A number below `end`.
fn draw(rng: &mut Pcg64Mcg, end: u16) -> u16 {
    ((rng.next_u32() as u64 * end as u64) >> 32) as u16
}

impl Recycled {
    fn path(&mut self, now: Ps, rng: &mut Pcg64Mcg) -> u16 {
        let len = RING as u8;
        if self.valid > 0 {
            let at = (self.head + len - self.valid) % len;
            self.valid -= 1;
            return self.ring[at as usize];
        }
        if now < self.frozen_until && self.known == len {
            let at = self.head;
            self.head = (at + 1) % len;
            return self.ring[at as usize];
        }
        draw(rng, self.paths)
    }

    fn heard(&mut self, path: u16, ce: bool) {
        if ce {
            return;
        }
        let len = RING as u8;
        self.ring[self.head as usize] = path;
        self.head = (self.head + 1) % len;
        self.valid = (self.valid + 1).min(len);
        self.known = (self.known + 1).min(len);
    }
}

impl Spread for Balance {
    #[inline]
    fn path(&mut self, now: Ps, rng: &mut Pcg64Mcg) -> u16 {
        match self {
            Self::Ecmp => 0,
            Self::Flowlets { gap, path, last } => {
                if now > *last + *gap {
                    *path = draw(rng, u16::MAX);
                }
                *last = now;
                *path
            }
            Self::Spray { paths } => draw(rng, *paths),
            Self::Recycle(recycled) => recycled.path(now, rng),
        }
    }

    #[inline]
    fn heard(&mut self, _now: Ps, path: u16, ce: bool, _rtt: Ps) {
        if let Self::Recycle(recycled) = self {
            recycled.heard(path, ce);
        }
    }

    fn lost(&mut self, now: Ps) {
        match self {
            Self::Recycle(recycled) => recycled.frozen_until = now + FROZEN,
            // What may be broken is left.
            Self::Flowlets { last, .. } => *last = 0,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    fn paths(balance: &mut Balance, times: impl Iterator<Item = Ps>) -> Vec<u16> {
        let mut rng = Pcg64Mcg::seed_from_u64(1);
        times.map(|now| balance.path(now, &mut rng)).collect()
    }

    #[test]
    fn flowlets_change_path_only_after_a_pause() {
        let mut balance = Balance::flowlets(100);
        let drawn = paths(&mut balance, [1000, 1100, 1200, 1301, 1302].into_iter());
        assert_eq!((drawn[0], drawn[3]), (drawn[2], drawn[4]));
        assert_ne!(drawn[2], drawn[3]);
        assert_eq!(paths(&mut Balance::Ecmp, 0..3), [0; 3]);
    }

    #[test]
    fn spraying_takes_all_paths() {
        let drawn = paths(&mut Balance::Spray { paths: 4 }, 0..400);
        for path in 0..4 {
            let times = drawn.iter().filter(|&&other| other == path).count();
            assert!((60..140).contains(&times), "{path}: {times}");
        }
    }

    #[test]
    fn clean_paths_come_again_once_each_and_in_order() {
        let mut balance = Balance::recycle(1000);
        for (path, ce) in [(7, false), (8, true), (9, false)] {
            balance.heard(0, path, ce, 0);
        }
        let drawn = paths(&mut balance, 0..3);
        assert_eq!(drawn[..2], [7, 9]);
        assert!(![7, 8, 9].contains(&drawn[2]), "drawn anew");
        for path in 10..20 {
            balance.heard(0, path, false, 0);
        }
        balance.lost(50);
        let known: Vec<u16> = (12..20).chain(12..20).collect();
        assert_eq!(paths(&mut balance, 50..66), known, "what has worked lately, while frozen");
    }
}
