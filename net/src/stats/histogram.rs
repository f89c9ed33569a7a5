//! A histogram that never grows: for runs of more messages than can be kept.
//!
//! ```text
//!   0, 1, ..., 255 │ 256, 258, ..., 510 │ 512, 516, ... │     128 buckets per octave,
//!     exact        │   2 wide           │   4 wide      │     each 1/128 of it or less
//! ```
//!
//! A percentile is the middle of its bucket: off by 1/256 (0.4 %) at most. Count, mean,
//! least and most are exact. Two histograms added are that of both.

use serde::Serialize;

use super::{rank, Spread};

/// log2 of the buckets of an octave.
const FINE: u32 = 7;
/// Buckets for all 64-bit numbers.
const BUCKETS: usize = ((64 - FINE as usize) + 1) << FINE;

/// See the module's page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Histogram {
    /// As many as the largest so far needs.
    buckets: Vec<u64>,
    count: u64,
    sum: u128,
    least: u64,
    most: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { buckets: Vec::new(), count: 0, sum: 0, least: u64::MAX, most: 0 }
    }
}

/// How far numbers of a bucket are shifted to find it.
fn shift(value: u64) -> u32 {
    (u64::BITS - 1 - FINE).saturating_sub((value | 1).leading_zeros())
}

fn bucket(value: u64) -> usize {
    let shift = shift(value);
    ((shift as usize) << FINE) + (value >> shift) as usize
}

/// The middle of a bucket.
fn middle(bucket: usize) -> u64 {
    let shift = (bucket >> FINE).saturating_sub(1) as u32;
    let first = ((bucket - ((shift as usize) << FINE)) as u64) << shift;
    first + ((1u64 << shift) - 1) / 2
}

impl Histogram {
    /// Adds a number.
    #[inline]
    pub fn add(&mut self, value: u64) {
        let bucket = bucket(value);
        debug_assert!(bucket < BUCKETS);
        if self.buckets.len() <= bucket {
            self.buckets.resize(bucket + 1, 0);
        }
        self.buckets[bucket] += 1;
        self.count += 1;
        self.sum += value as u128;
        self.least = self.least.min(value);
        self.most = self.most.max(value);
    }

    /// Adds all of another.
    pub fn merge(&mut self, other: &Self) {
        if self.buckets.len() < other.buckets.len() {
            self.buckets.resize(other.buckets.len(), 0);
        }
        self.buckets.iter_mut().zip(&other.buckets).for_each(|(own, others)| *own += others);
        self.count += other.count;
        self.sum += other.sum;
        self.least = self.least.min(other.least);
        self.most = self.most.max(other.most);
    }

    /// Numbers in it.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The nearest rank of so many per mille, about; none of none.
    pub fn percentile(&self, per_mille: u64) -> Option<u64> {
        let rank = rank(self.count, per_mille);
        let mut below = 0;
        let bucket = self.buckets.iter().position(|&count| {
            below += count;
            below > rank
        })?;
        Some(middle(bucket).clamp(self.least, self.most))
    }

    /// How the numbers are spread; none of none.
    pub fn spread(&self) -> Option<Spread<u64>> {
        Some(Spread {
            count: self.count,
            mean: self.sum as f64 / self.count as f64,
            p50: self.percentile(500)?,
            p99: self.percentile(990)?,
            p999: self.percentile(999)?,
            max: self.most,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn buckets_follow_one_another_and_hold_their_middles() {
        assert_eq!(bucket(u64::MAX) + 1, BUCKETS);
        let mut last = 0;
        for octave in 0..64 {
            for step in 0..300 {
                let value = (1u64 << octave) + (step * (1u128 << octave) / 300) as u64;
                let own = bucket(value);
                assert!(own == last || own == last + 1 || own - last < 4 && octave > 7, "{value}");
                assert_eq!(bucket(middle(own)), own);
                last = own;
            }
        }
        assert!((0..256).all(|value| middle(bucket(value)) == value));
    }

    /// Numbers of all magnitudes.
    fn numbers() -> impl Strategy<Value = Vec<u64>> {
        prop::collection::vec((any::<u64>(), 0u32..64).prop_map(|(value, shift)| value >> shift), 0..400)
    }

    proptest! {
        #[test]
        fn percentiles_are_those_of_sorting_to_half_a_per_cent(values in numbers()) {
            let mut histogram = Histogram::default();
            values.iter().for_each(|&value| histogram.add(value));
            let exact = Spread::<u64>::of(values.clone());
            let about = histogram.spread();
            prop_assert_eq!(exact.is_none(), about.is_none());
            let Some((exact, about)) = exact.zip(about) else { return Ok(()) };
            prop_assert_eq!((exact.count, exact.mean, exact.max), (about.count, about.mean, about.max));
            for (exact, about) in [(exact.p50, about.p50), (exact.p99, about.p99), (exact.p999, about.p999)] {
                prop_assert!(exact.abs_diff(about) as f64 <= exact as f64 / 255.0, "{} {}", exact, about);
            }
        }

        #[test]
        fn merged_is_as_if_added_to_one(values in numbers(), at in 0usize..400) {
            let (mut left, mut right, mut all) = (Histogram::default(), Histogram::default(), Histogram::default());
            for (place, &value) in values.iter().enumerate() {
                all.add(value);
                if place < at { left.add(value) } else { right.add(value) }
            }
            left.merge(&right);
            prop_assert_eq!(left, all);
        }
    }
}
