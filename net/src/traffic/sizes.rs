//! How long messages are: distributions that have been published.
//!
//! ```text
//!   100 % ┤                  ╭─────  knots: (bytes, per cent that are at most so long)
//!         │          ╭───────╯       between two knots every length is as likely
//!         │     ╭────╯
//!     0 % ┼─────┴──────────────────  bytes
//! ```
//!
//! A length is drawn by its inverse: between knots at `a` and `b` bytes each of
//! `a + 1, ..., b` is as likely, so that no message is empty and the mean is exact.
//!
//! Tables are in `net/sizes`, their sources at their heads; all have been compared with
//! the files named there. How sure they are: all but storage were read off a figure
//! with a logarithmic axis by those who published the file. Web search is the table that
//! most have used since pFabric, which counts 6, 13, 19, 33, ... packets of about 1.5 KB
//! at the same shares. Of Hadoop there are two readings, which agree within a few per
//! cent of flows; their means are 120 and 135 KB. (Homa's own figure of 194 KB is that of
//! lengths drawn from the knots alone, never between them.) Storage is the file that
//! came with HPCC's simulator; we know of no figure to compare it with.

use serde::{Deserialize, Serialize};

/// Tables that come with this crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Published {
    /// Web search (DCTCP, 2010).
    WebSearch,
    /// Hadoop (Facebook, 2015), as read for HPCC.
    Hadoop,
    /// Hadoop, as read for Homa.
    HadoopHoma,
    /// Storage (Alibaba, 2019).
    AliStorage,
}

impl Published {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::WebSearch, Self::Hadoop, Self::HadoopHoma, Self::AliStorage];

    /// The table's text.
    pub fn table(self) -> &'static str {
        match self {
            Self::WebSearch => include_str!("../../sizes/web_search.txt"),
            Self::Hadoop => include_str!("../../sizes/hadoop.txt"),
            Self::HadoopHoma => include_str!("../../sizes/hadoop_homa.txt"),
            Self::AliStorage => include_str!("../../sizes/ali_storage.txt"),
        }
    }

    /// The distribution.
    ///
    /// # Errors
    /// If a table is none.
    pub fn sizes(self) -> Result<Sizes, SizesError> {
        Sizes::parse(self.table())
    }
}

/// Why a table is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SizesError {
    /// Not two numbers.
    #[error("line {0}: write bytes and per cent, two numbers with a space in between")]
    Knot(usize),
    /// A knot that is below the one before.
    #[error("line {0}: bytes and per cent must not fall, and per cent must end at 100")]
    Falls(usize),
    /// No beginning or end.
    #[error("a table begins with a line of 0 per cent and ends with one of 100 per cent")]
    Open,
}

/// A distribution of lengths.
#[derive(Clone, Debug, PartialEq)]
pub struct Sizes {
    /// Bytes, and which share is at most so long: from 0 to 1.
    knots: Vec<(u32, f64)>,
}

impl Sizes {
    /// All alike, of at least a byte.
    pub fn fixed(bytes: u32) -> Self {
        let bytes = bytes.max(1);
        Self { knots: vec![(bytes - 1, 0.0), (bytes, 1.0)] }
    }

    /// Reads a table: a knot per line, bytes and per cent; `#` begins a comment.
    ///
    /// # Errors
    /// If it is none.
    pub fn parse(text: &str) -> Result<Self, SizesError> {
        let mut knots: Vec<(u32, f64)> = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.split('#').next().unwrap_or("").trim();
            if line.is_empty() {
                continue;
            }
            let mut words = line.split_whitespace();
            let (bytes, percent) = (words.next(), words.next());
            let bytes = bytes.and_then(|word| word.parse().ok());
            let percent = percent.and_then(|word| word.parse::<f64>().ok()).filter(|share| share.is_finite());
            let (Some(bytes), Some(percent), None) = (bytes, percent, words.next()) else {
                return Err(SizesError::Knot(number));
            };
            let knot = (bytes, percent / 100.0);
            let falls = knots.last().is_some_and(|last| knot.0 <= last.0 || knot.1 < last.1);
            if falls || !(0.0..=1.0).contains(&knot.1) {
                return Err(SizesError::Falls(number));
            }
            knots.push(knot);
        }
        let ends = knots.first().zip(knots.last());
        if ends.is_none_or(|(first, last)| first.1 != 0.0 || last.1 != 1.0) {
            return Err(SizesError::Open);
        }
        Ok(Self { knots })
    }

    /// The length of which `share`, from 0 to below 1, are shorter.
    pub fn at(&self, share: f64) -> u32 {
        let above = self.knots.partition_point(|knot| knot.1 <= share).clamp(1, self.knots.len() - 1);
        let ((a, low), (b, high)) = (self.knots[above - 1], self.knots[above]);
        let within = (share - low) / (high - low);
        a + 1 + ((within * (b - a) as f64) as u32).min(b - a - 1)
    }

    /// The mean length.
    pub fn mean(&self) -> f64 {
        self.mean_of(|bytes| (bytes as u128 * (bytes as u128 + 1) / 2) as f64)
    }

    /// The mean length on the wire: each packet of at most `payload` bytes has `overhead`
    /// bytes more.
    pub fn mean_wire(&self, payload: u32, overhead: u32) -> f64 {
        let payload = payload.max(1) as u128;
        let packets = self.mean_of(|bytes| {
            let (whole, rest) = (bytes as u128 / payload, bytes as u128 % payload);
            (payload * whole * (whole + 1) / 2 + rest * (whole + 1)) as f64
        });
        self.mean() + packets * overhead as f64
    }

    /// The mean of what `sum` sums over lengths from 1.
    fn mean_of(&self, sum: impl Fn(u32) -> f64) -> f64 {
        let pairs = self.knots.iter().zip(&self.knots[1..]);
        pairs.map(|(&(a, low), &(b, high))| (high - low) * (sum(b) - sum(a)) / (b - a) as f64).sum()
    }

    /// The longest.
    pub fn longest(&self) -> u32 {
        self.knots[self.knots.len() - 1].0
    }
}

#[cfg(test)]
mod tests {
    use super::super::dice::Dice;
    use super::*;

    #[test]
    fn tables_have_the_means_of_their_literature() {
        // Computed from the tables by other means.
        let means = [1_711_250.5, 120_421.25, 134_854.366_95, 40_870.3];
        for (published, expected) in Published::ALL.into_iter().zip(means) {
            let mean = published.sizes().unwrap().mean();
            assert!((mean / expected - 1.0).abs() < 1e-9, "{published:?} {mean}");
        }
        // Homa's file says so at its head, of the knots alone.
        let knots = Published::HadoopHoma.sizes().unwrap().knots;
        let shares = knots.iter().zip(&knots[1..]).map(|(a, b)| (b.1 - a.1) * b.0 as f64);
        assert!((shares.sum::<f64>() - 194_330.9).abs() < 0.1);
    }

    #[test]
    fn drawn_means_are_the_exact_ones() {
        for published in Published::ALL {
            let sizes = published.sizes().unwrap();
            // Evenly, so that the test says nothing about the generator.
            let shares = (0..400_000).map(|n| (n as f64 + 0.5) / 400_000.0);
            let drawn: Vec<u32> = shares.map(|share| sizes.at(share)).collect();
            let mean = drawn.iter().map(|&bytes| bytes as f64).sum::<f64>() / drawn.len() as f64;
            assert!((mean / sizes.mean() - 1.0).abs() < 1e-3, "{published:?} {mean}");
            let wire = |bytes: u32| bytes as f64 + bytes.div_ceil(4096) as f64 * 100.0;
            let mean = drawn.iter().map(|&bytes| wire(bytes)).sum::<f64>() / drawn.len() as f64;
            assert!((mean / sizes.mean_wire(4096, 100) - 1.0).abs() < 1e-3, "{published:?} {mean}");
            // At random: the widest of them deviates by 0.4 % with so many.
            let mut dice = Dice::new(1, 2);
            let random = (0..2_000_000).map(|_| sizes.at(dice.unit()) as f64).sum::<f64>() / 2e6;
            assert!((random / sizes.mean() - 1.0).abs() < 0.015, "{published:?} {random}");
        }
    }

    #[test]
    fn every_length_between_knots_is_as_likely() {
        let sizes = Sizes::parse("0 0\n4 50 # a comment\n\n6 100").unwrap();
        let drawn: Vec<u32> = (0..16).map(|n| sizes.at(n as f64 / 16.0)).collect();
        assert_eq!(drawn, [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 5, 5, 6, 6, 6, 6]);
        assert_eq!(sizes.mean(), (2.5 + 5.5) / 2.0);
        assert_eq!(sizes.mean_wire(4, 10), 4.0 + 0.5 * 10.0 + 0.5 * 20.0);
        assert_eq!((sizes.at(1.0), sizes.longest()), (6, 6));
        let fixed = Sizes::fixed(1000);
        assert_eq!((fixed.at(0.0), fixed.at(0.999), fixed.mean()), (1000, 1000, 1000.0));
    }

    #[test]
    fn a_share_of_nothing_is_skipped() {
        let sizes = Sizes::parse("10 0\n20 50\n100 50\n110 100").unwrap();
        assert!((0..100).all(|n| !(21..101).contains(&sizes.at(n as f64 / 100.0))));
    }

    #[test]
    fn bad_tables_say_which_line() {
        assert_eq!(Sizes::parse("0 0\n10"), Err(SizesError::Knot(2)));
        assert_eq!(Sizes::parse("0 0\n10 x"), Err(SizesError::Knot(2)));
        assert_eq!(Sizes::parse("0 0\n10 50 3"), Err(SizesError::Knot(2)));
        assert_eq!(Sizes::parse("0 0\n\n10 50\n10 60\n"), Err(SizesError::Falls(4)));
        assert_eq!(Sizes::parse("0 0\n10 50\n20 40"), Err(SizesError::Falls(3)));
        assert_eq!(Sizes::parse("0 0\n10 101"), Err(SizesError::Falls(2)));
        assert_eq!(Sizes::parse("0 0\n10 nan"), Err(SizesError::Knot(2)));
        assert_eq!(Sizes::parse("0 0\n10 99"), Err(SizesError::Open));
        assert_eq!(Sizes::parse("# nothing"), Err(SizesError::Open));
        assert_eq!(Sizes::parse("10 100"), Err(SizesError::Open));
    }
}
