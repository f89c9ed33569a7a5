//! All-reduce by recursive halving, then recursive doubling.
//!
//! ```text
//!   8 ranks, stage   1: r ^ 4, halves     4: r ^ 1, eighths
//!                    2: r ^ 2, quarters   5: r ^ 2, quarters
//!                    3: r ^ 1, eighths    6: r ^ 4, halves
//! ```
//!
//! Of ranks beyond the last power of two, each hands its data to a neighbour first
//! (stage 0) and gets the result last: of the first so many pairs, the even rank to the
//! odd one.

use std::ops::Range;

use super::super::plan::{check, cut, At, Plan, PlanError, Send};

/// Halves and doubles among any number of ranks.
#[derive(Clone, Debug)]
pub struct Halving {
    ranks: u32,
    bytes: u64,
    lanes: u32,
    /// log2 of the ranks that halve.
    log2: u32,
}

/// What a rank does at a stage: sends these blocks to this rank, or nothing.
enum Part {
    Idle,
    /// Hands in, or gives back, all.
    Folds {
        to: u32,
    },
    Awaits,
    Swaps {
        with: u32,
        blocks: Range<u32>,
    },
}

impl Halving {
    /// `bytes` of data, cut into lanes that go one behind another.
    ///
    /// # Errors
    /// If blocks would be empty or messages too long.
    pub fn new(ranks: u32, bytes: u64, lanes: u32) -> Result<Self, PlanError> {
        let log2 = ranks.checked_ilog2().unwrap_or(0);
        let folds = ranks > 1 << log2;
        let share = if folds { 1 } else { 2 };
        check(ranks, bytes, (lanes as u64) << log2, bytes.div_ceil(share * (lanes as u64).max(1)))?;
        Ok(Self { ranks, bytes, lanes, log2 })
    }

    fn part(&self, rank: u32, stage: u32) -> Part {
        let power = 1 << self.log2;
        let beyond = self.ranks - power;
        let paired = rank < 2 * beyond;
        let edge = stage == 0 || stage == 2 * self.log2 + 1;
        match (paired, rank % 2) {
            (true, even) if edge && (even == 0) == (stage == 0) => return Part::Folds { to: rank ^ 1 },
            (true, _) if edge => return Part::Awaits,
            (false, _) if edge => return Part::Idle,
            (true, 0) => return Part::Idle,
            _ => {}
        }
        let place = if paired { rank / 2 } else { rank - beyond };
        let halves = stage <= self.log2;
        let mask = if halves { power >> stage } else { 1 << (stage - 1 - self.log2) };
        let other = place ^ mask;
        // Halving, the blocks that the other will see to; doubling, those that one has.
        let first = (if halves { other } else { place }) & !(mask - 1);
        let with = if other < beyond { 2 * other + 1 } else { other + beyond };
        Part::Swaps { with, blocks: first..first + mask }
    }

    fn range(&self, lane: u32, blocks: Range<u32>) -> Range<u64> {
        let blocks_of = |block: u32| ((lane as u64) << self.log2) + block as u64;
        let pieces = (self.lanes as u64) << self.log2;
        cut(self.bytes, blocks_of(blocks.start), pieces)..cut(self.bytes, blocks_of(blocks.end), pieces)
    }

    fn message(&self, at: &At) -> Option<(u32, Range<u64>)> {
        match self.part(at.rank, at.stage) {
            Part::Folds { to } => Some((to, self.range(at.lane, 0..1 << self.log2))),
            Part::Swaps { with, blocks } => Some((with, self.range(at.lane, blocks))),
            Part::Idle | Part::Awaits => None,
        }
    }
}

impl Plan for Halving {
    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn lanes(&self) -> u32 {
        self.lanes
    }

    fn stages(&self) -> u32 {
        2 * self.log2 + 2
    }

    fn awaits(&self, at: &At) -> u32 {
        matches!(self.part(at.rank, at.stage), Part::Awaits | Part::Swaps { .. }).into()
    }

    fn send(&self, at: &At, index: u32) -> Option<Send> {
        let (to, range) = self.message(at).filter(|_| index == 0)?;
        Some(Send { to, bytes: (range.end - range.start) as u32, into: at.stage })
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::plan::tests::bytes_of;
    use super::super::tests::sums;
    use super::*;

    #[test]
    fn every_rank_ends_with_the_sum() {
        for ranks in [2, 3, 4, 5, 6, 7, 8, 13, 16, 31] {
            for lanes in [1, 3] {
                let plan = Halving::new(ranks, 101, lanes).unwrap();
                sums(&plan, 101, |at, _| plan.message(at).unwrap().1);
            }
        }
    }

    #[test]
    fn bytes_are_those_of_the_paper() {
        let plan = Halving::new(8, 8 * 1000, 2).unwrap();
        assert_eq!(bytes_of(&plan, 0), vec![(14_000, 14_000); 8]);
        // Six ranks: 0 and 2 hand all in and get all back; 4 halve and double.
        let bytes = bytes_of(&Halving::new(6, 4000, 1).unwrap(), 0);
        assert_eq!(bytes, [4000, 10_000, 4000, 10_000, 6000, 6000].map(|bytes| (bytes, bytes)));
    }

    #[test]
    fn messages_are_as_long_as_can_be() {
        assert!(Halving::new(2, (1 << 33) - 2, 1).is_ok());
        assert!(Halving::new(2, 1 << 33, 1).is_err());
        assert!(Halving::new(3, 1 << 32, 1).is_err());
        assert!(Halving::new(0, 1 << 32, 1).is_err());
    }
}
