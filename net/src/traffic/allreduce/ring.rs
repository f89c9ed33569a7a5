//! All-reduce round a ring: a reduce-scatter, then an all-gather.
//!
//! ```text
//!   stage k:  rank r ── chunk r - k ──> rank r + 1        n - 1 times to sum,
//!                                                          n - 1 times to spread
//! ```

use std::ops::Range;

use super::super::plan::{check, cut, At, Plan, PlanError, Send};

/// Round a ring of ranks, in their order.
#[derive(Clone, Debug)]
pub struct Ring {
    ranks: u32,
    bytes: u64,
    lanes: u32,
}

impl Ring {
    /// `bytes` of data, cut into lanes that go round one behind another.
    ///
    /// # Errors
    /// If chunks would be empty or too long.
    pub fn new(ranks: u32, bytes: u64, lanes: u32) -> Result<Self, PlanError> {
        let pieces = ranks as u64 * lanes as u64;
        check(ranks, bytes, pieces, bytes.div_ceil(pieces.max(1)))?;
        Ok(Self { ranks, bytes, lanes })
    }

    fn range(&self, at: &At) -> Range<u64> {
        let ranks = self.ranks as u64;
        // A rank sends a chunk on as it came: the one it got in the stage before.
        let chunk = (at.rank as u64 + 2 * ranks - at.stage as u64) % ranks;
        let piece = at.lane as u64 * ranks + chunk;
        let pieces = ranks * self.lanes as u64;
        cut(self.bytes, piece, pieces)..cut(self.bytes, piece + 1, pieces)
    }
}

impl Plan for Ring {
    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn lanes(&self) -> u32 {
        self.lanes
    }

    fn stages(&self) -> u32 {
        2 * (self.ranks - 1)
    }

    fn awaits(&self, _at: &At) -> u32 {
        1
    }

    fn send(&self, at: &At, index: u32) -> Option<Send> {
        let range = self.range(at);
        let send =
            Send { to: (at.rank + 1) % self.ranks, bytes: (range.end - range.start) as u32, into: at.stage };
        (index == 0).then_some(send)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::plan::tests::bytes_of;
    use super::super::tests::sums;
    use super::*;

    #[test]
    fn every_rank_ends_with_the_sum() {
        for (ranks, bytes, lanes) in [(2, 5, 1), (3, 10, 1), (8, 67, 2), (13, 40, 3)] {
            let ring = Ring::new(ranks, bytes, lanes).unwrap();
            sums(&ring, bytes, |at, _| ring.range(at));
        }
    }

    #[test]
    fn every_rank_sends_all_chunks_but_one_twice() {
        let ring = Ring::new(8, 8 * 1000, 4).unwrap();
        assert_eq!(bytes_of(&ring, 0), vec![(14_000, 14_000); 8]);
        let all: u64 = bytes_of(&Ring::new(7, 1003, 2).unwrap(), 0).iter().map(|bytes| bytes.0).sum();
        assert_eq!(all, 2 * 6 * 1003);
    }

    #[test]
    fn empty_and_endless_chunks_are_refused() {
        assert_eq!(Ring::new(1, 5, 1).err(), Some(PlanError::TooFew(1)));
        assert_eq!(Ring::new(4, 7, 2).err(), Some(PlanError::TooSmall { bytes: 7, pieces: 8 }));
        assert_eq!(Ring::new(2, 1 << 33, 1).err(), Some(PlanError::TooLarge(1 << 32)));
        assert!(Ring::new(2, 1 << 33, 2).is_ok());
        assert!(Ring::new(2, 1 << 33, 0).is_err());
    }
}
