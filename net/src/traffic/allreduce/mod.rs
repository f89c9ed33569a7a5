//! All-reduce: every rank ends with the sum of what all had.
//!
//! ```text
//!                      stages           bytes a rank sends, of B
//!   ring               2 (n - 1)        2 B (n - 1) / n       in chunks of B / n
//!   tree               up, down         B up, B per child     latency of log n
//!   halving-doubling   2 log n          2 B (n - 1) / n       in chunks of B / 2, B / 4, ...
//! ```
//!
//! Sources: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective
//! Communication Operations in MPICH", IJHPCA 2005, section 4.5 (halving-doubling, and
//! what becomes of ranks beyond a power of two); P. Patarasuk, X. Yuan, "Bandwidth
//! optimal all-reduce algorithms for clusters of workstations", JPDC 2009 (ring);
//! P. Sanders, J. Speck, J. L. Träff, "Two-tree algorithms for full bandwidth
//! broadcast, reduction and scan", Parallel Computing 2009 (two trees).

mod halving;
mod ring;
mod tree;

pub use halving::Halving;
pub use ring::Ring;
pub use tree::Tree;

#[cfg(test)]
pub(crate) mod tests {
    use std::ops::Range;

    use super::super::plan::tests::messages;
    use super::super::plan::{At, Plan, Send};

    /// Does the sums, byte by byte, as sets of the ranks whose share is in: every rank
    /// must end with all shares of all bytes, and none may be added twice.
    pub fn sums(plan: &impl Plan, bytes: u64, range: impl Fn(&At, &Send) -> Range<u64>) {
        let ranks = plan.ranks() as usize;
        assert!(ranks <= 64);
        let mut shares: Vec<Vec<u64>> = (0..ranks).map(|rank| vec![1 << rank; bytes as usize]).collect();
        let mut left = messages(plan, 0);
        let mut got = std::collections::BTreeMap::new();
        while !left.is_empty() {
            // All that may go now goes at once, with what its sender has now.
            let (ready, rest): (Vec<_>, Vec<_>) = left.into_iter().partition(|(at, _)| {
                (0..at.stage).all(|stage| {
                    let at = At { stage, ..*at };
                    got.get(&(at.rank, at.lane, stage)).copied().unwrap_or(0) == plan.awaits(&at)
                })
            });
            assert!(!ready.is_empty(), "stuck with {rest:?}");
            left = rest;
            let carried: Vec<_> = ready
                .iter()
                .map(|(at, send)| {
                    let range = range(at, send);
                    assert_eq!(range.end - range.start, send.bytes as u64);
                    let own = &shares[at.rank as usize];
                    (at, send, range.start, own[range.start as usize..range.end as usize].to_vec())
                })
                .collect();
            for (at, send, start, carried) in carried {
                *got.entry((send.to, at.lane, send.into)).or_insert(0) += 1;
                for (byte, shares_in) in (start as usize..).zip(carried) {
                    let own = &mut shares[send.to as usize][byte];
                    assert!(
                        *own & shares_in == 0 || *own & !shares_in == 0,
                        "{at:?}: neither other shares nor a result"
                    );
                    *own |= shares_in;
                }
            }
        }
        let all = u64::MAX >> (64 - ranks);
        for (rank, own) in shares.iter().enumerate() {
            assert!(own.iter().all(|&shares| shares == all), "rank {rank} has {own:x?}");
        }
    }
}
