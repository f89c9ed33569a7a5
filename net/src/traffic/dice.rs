//! Draws: the few that traffic needs.

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

#[derive(Clone, Debug)]
pub(crate) struct Dice(Pcg64Mcg);

impl Dice {
    /// Draws of one seed; `salt` keeps those of one purpose from those of another.
    pub fn new(seed: u64, salt: u64) -> Self {
        Self(Pcg64Mcg::seed_from_u64(seed ^ salt))
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u32) -> u32 {
        ((self.0.next_u32() as u64 * end as u64) >> 32) as u32
    }

    /// From 0 to below 1.
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Exponential, of this mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        // Above 0, so that its logarithm is finite.
        -(1.0 - self.unit()).ln() * mean
    }

    /// Any order, all as likely (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u32 + 1) as usize);
        }
    }

    /// A number below `end` (two at least) that is not `other`.
    pub fn other_than(&mut self, other: u32, end: u32) -> u32 {
        (other + 1 + self.below(end - 1)) % end
    }
}
