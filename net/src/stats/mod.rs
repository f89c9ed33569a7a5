//! What a run has come to: times, slowdowns, goodput.
//!
//! ```text
//!   records ─┬─ times ────────────> Spread: mean, p50, p99, p99.9, most
//!            ├─ / least ─ by size ─> Class: the same of slowdowns
//!            └─ bytes / window ───> goodput
//!   very many: Histogram, which shards merge ─> Spread, to half a per cent
//! ```
//!
//! Percentiles are nearest rank: the p-th is the smallest that at least p per cent are
//! not above. So each is one that was measured, and the 99.9th of a hundred is the
//! largest. A slowdown is the time that a message took over the least that it can take
//! in an idle network, as in most evaluations since pFabric (SIGCOMM 2013).

mod histogram;

pub use histogram::Histogram;

use serde::{Deserialize, Serialize};

use crate::traffic::Record;
use crate::transport::Message;
use crate::Ps;

/// How a quantity is spread.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread<T> {
    /// How many there are.
    pub count: u64,
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: T,
    /// 99th percentile.
    pub p99: T,
    /// 99.9th percentile.
    pub p999: T,
    /// Largest.
    pub max: T,
}

/// Which of `count` in order, from 0, is the nearest rank of so many per mille.
pub fn rank(count: u64, per_mille: u64) -> u64 {
    let rank = (count as u128 * per_mille.min(1000) as u128).div_ceil(1000) as u64;
    rank.clamp(1, count.max(1)) - 1
}

fn spread<T: Copy>(sorted: &[T], mean: f64) -> Option<Spread<T>> {
    let count = sorted.len() as u64;
    let at = |per_mille| sorted.get(rank(count, per_mille) as usize).copied();
    Some(Spread { count, mean, p50: at(500)?, p99: at(990)?, p999: at(999)?, max: at(1000)? })
}

impl Spread<Ps> {
    /// Of times; none of none.
    pub fn of(mut times: Vec<Ps>) -> Option<Self> {
        times.sort_unstable();
        let sum: u128 = times.iter().map(|&time| time as u128).sum();
        spread(&times, sum as f64 / times.len() as f64)
    }
}

impl Spread<f64> {
    /// Of ratios; none of none.
    pub fn of(mut ratios: Vec<f64>) -> Option<Self> {
        ratios.sort_unstable_by(f64::total_cmp);
        let sum: f64 = ratios.iter().sum();
        spread(&ratios, sum / ratios.len() as f64)
    }
}

/// How long messages took until they were delivered; of those that were.
pub fn times<'a>(records: impl IntoIterator<Item = &'a Record>) -> Option<Spread<Ps>> {
    Spread::<Ps>::of(records.into_iter().filter_map(took).collect())
}

fn took(record: &Record) -> Option<Ps> {
    Some(record.delivered? - record.posted)
}

/// Slowdowns of the messages of a range of lengths.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Class {
    /// Longer than that.
    pub above: u32,
    /// At most so long.
    pub most: u32,
    /// Slowdowns; none if there are no such messages.
    pub slowdown: Option<Spread<f64>>,
}

/// Slowdowns by length: up to the first of `lengths`, from there to the second, and so
/// on, and beyond the last. `bound` says what a message takes at least. Lengths must rise.
pub fn slowdowns<'a>(
    records: impl IntoIterator<Item = &'a Record>,
    lengths: &[u32],
    bound: impl Fn(&Message) -> Ps,
) -> Vec<Class> {
    let mut ratios = vec![Vec::new(); lengths.len() + 1];
    for record in records {
        let Some(took) = took(record) else { continue };
        let class = lengths.partition_point(|&length| length < record.message.bytes);
        ratios[class].push(took as f64 / bound(&record.message).max(1) as f64);
    }
    let ends = lengths.iter().copied().chain([u32::MAX]);
    let mut above = 0;
    ends.zip(ratios)
        .map(|(most, ratios)| {
            let class = Class { above, most, slowdown: Spread::<f64>::of(ratios) };
            above = most;
            class
        })
        .collect()
}

/// Bits per second, in Gb/s, of the payload of messages that were delivered after `from`
/// and not after `until`.
///
/// A message counts when all of it is there: choose a window of many messages' time.
pub fn goodput<'a>(records: impl IntoIterator<Item = &'a Record>, from: Ps, until: Ps) -> f64 {
    let within = |record: &&Record| record.delivered.is_some_and(|at| at > from && at <= until);
    let bytes: u64 = records.into_iter().filter(within).map(|record| record.message.bytes as u64).sum();
    gbps(bytes, until.saturating_sub(from))
}

/// So many bytes in so long, in Gb/s.
pub fn gbps(bytes: u64, time: Ps) -> f64 {
    if time == 0 {
        return 0.0;
    }
    bytes as f64 * 8000.0 / time as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_ranks() {
        let spread = Spread::<Ps>::of((1..=100).rev().collect()).unwrap();
        assert_eq!((spread.count, spread.mean), (100, 50.5));
        assert_eq!((spread.p50, spread.p99, spread.p999, spread.max), (50, 99, 100, 100));
        let spread = Spread::<f64>::of(vec![2.0, 1.0, 4.0]).unwrap();
        assert_eq!((spread.p50, spread.p99, spread.max, spread.mean), (2.0, 4.0, 4.0, 7.0 / 3.0));
        assert_eq!(Spread::<Ps>::of(vec![]), None);
        // The definition, of all counts: at least so many are not above, one rank less is too few.
        for count in 1..2000 {
            for per_mille in [1, 500, 990, 999, 1000] {
                let below = rank(count, per_mille) + 1;
                assert!(below * 1000 >= count * per_mille && (below - 1) * 1000 < count * per_mille);
            }
        }
        assert_eq!((rank(5, 0), rank(0, 500)), (0, 0));
    }

    fn record(bytes: u32, posted: Ps, delivered: Option<Ps>) -> Record {
        let message = Message { id: 0, from: 0, to: 1, bytes, round: None, process: 0 };
        Record { message, posted, delivered, acknowledged: None, failed: false }
    }

    #[test]
    fn slowdowns_are_sorted_by_length() {
        let records = [
            record(100, 10, Some(30)),
            record(101, 0, Some(404)),
            record(1, 0, Some(7)),
            record(5000, 0, None),
        ];
        let classes = slowdowns(&records, &[100, 1000], |message| message.bytes as Ps);
        let short = |class: &Class| class.slowdown.map(|slow| (slow.count, slow.p50, slow.max));
        assert_eq!(short(&classes[0]), Some((2, 0.2, 7.0)));
        assert_eq!(short(&classes[1]), Some((1, 4.0, 4.0)));
        assert_eq!(short(&classes[2]), None);
        assert_eq!((classes[1].above, classes[1].most, classes[2].most), (100, 1000, u32::MAX));
        assert_eq!(times(&records).map(|spread| spread.max), Some(404));
    }

    #[test]
    fn goodput_counts_what_was_delivered_in_the_window() {
        let records =
            [record(1000, 0, Some(10)), record(500, 0, Some(20)), record(7, 0, Some(21)), record(9, 0, None)];
        // 500 bytes in 10 ps are 400 Tb/s.
        assert_eq!(goodput(&records, 10, 20), 400_000.0);
        assert_eq!(goodput(&records, 20, 20), 0.0);
        assert_eq!(gbps(50, 1000), 400.0);
    }
}
