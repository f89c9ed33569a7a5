//! What a collective is: stages, and what lets a host go on to the next.
//!
//! ```text
//!   stage 0         stage 1                     last stage
//!   sends, awaits ─> (pause) sends, awaits ─> ... ─> this iteration is over
//!            ▲ messages into this stage, delivered to this host
//! ```
//!
//! A rank posts what a stage sends as soon as it is in it, and leaves it when all
//! messages *into* it have been delivered. A message may go into any stage of its
//! receiver: up a tree it meets an earlier one than it left. Lanes are cuts of the
//! data that go through the stages each at its own pace, as a library's channels and
//! chunks do. Plans answer by arithmetic, so that thousands of hosts cost nothing
//! before they send.

use crate::Ps;

/// Where a rank's lane is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    /// Rank.
    pub rank: u32,
    /// Lane.
    pub lane: u32,
    /// Iteration.
    pub iteration: u32,
    /// Stage of it.
    pub stage: u32,
}

/// A message of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Send {
    /// Rank it is for.
    pub to: u32,
    /// Length; of 0 there is no message.
    pub bytes: u32,
    /// Stage of the receiver that it goes into, of the same lane and iteration.
    pub into: u32,
}

/// A collective: see the module's page.
pub trait Plan {
    /// Ranks that take part.
    fn ranks(&self) -> u32;

    /// Lanes of each.
    fn lanes(&self) -> u32 {
        1
    }

    /// Stages of an iteration.
    fn stages(&self) -> u32;

    /// Messages that come into this stage.
    fn awaits(&self, at: &At) -> u32;

    /// The `index`-th message of this stage; none: that was all.
    fn send(&self, at: &At, index: u32) -> Option<Send>;

    /// How long the rank computes between what it awaited and what it sends.
    fn pause(&self, _at: &At) -> Ps {
        0
    }
}

/// Why there is no such plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// Nobody to talk to.
    #[error("{0} hosts take part; a collective needs two or more")]
    TooFew(u32),
    /// Pieces of nothing.
    #[error(
        "{bytes} bytes cannot be cut into {pieces} pieces; give at least a byte to each, or use fewer lanes"
    )]
    TooSmall {
        /// Given.
        bytes: u64,
        /// Ranks times lanes, or the like.
        pieces: u64,
    },
    /// A message is longer than messages can be.
    #[error("a message would have {0} bytes; the longest has {max}: use more lanes", max = u32::MAX)]
    TooLarge(u64),
    /// A count or chance that makes no sense.
    #[error("{0}")]
    Senseless(&'static str),
    /// A group names a host that there is not.
    #[error("host {host} of the group is not one of the network's {hosts}")]
    NoHost {
        /// Named.
        host: u32,
        /// There are.
        hosts: u32,
    },
    /// A group names a host twice.
    #[error("host {0} is in the group twice")]
    Twice(u32),
}

/// Which hosts the ranks are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group(Vec<u32>);

impl Group {
    /// All hosts of a network, in order.
    pub fn all(hosts: u32) -> Self {
        Self((0..hosts).collect())
    }

    /// Some hosts of a network of so many, rank by rank.
    ///
    /// # Errors
    /// If one is not there, or twice.
    pub fn of(ranks: Vec<u32>, hosts: u32) -> Result<Self, PlanError> {
        let mut seen = vec![false; hosts as usize];
        for &host in &ranks {
            let seen = seen.get_mut(host as usize).ok_or(PlanError::NoHost { host, hosts })?;
            if std::mem::replace(seen, true) {
                return Err(PlanError::Twice(host));
            }
        }
        Ok(Self(ranks))
    }

    /// Their number.
    pub fn len(&self) -> u32 {
        self.0.len() as u32
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The host of a rank.
    pub fn host(&self, rank: u32) -> u32 {
        self.0[rank as usize]
    }
}

/// Where piece `piece` of `pieces` begins in `bytes`: pieces differ by a byte at most.
pub(crate) fn cut(bytes: u64, piece: u64, pieces: u64) -> u64 {
    (bytes as u128 * piece as u128 / pieces as u128) as u64
}

/// Refuses what cannot be cut into that many pieces, or of which the largest, of so many
/// bytes, is too long.
pub(crate) fn check(ranks: u32, bytes: u64, pieces: u64, largest: u64) -> Result<(), PlanError> {
    if ranks < 2 {
        return Err(PlanError::TooFew(ranks));
    }
    if pieces == 0 {
        return Err(PlanError::Senseless("a collective needs at least one lane"));
    }
    if bytes < pieces {
        return Err(PlanError::TooSmall { bytes, pieces });
    }
    if largest > u32::MAX as u64 {
        return Err(PlanError::TooLarge(largest));
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// All messages of an iteration of a plan: at, message.
    pub fn messages(plan: &impl Plan, iteration: u32) -> Vec<(At, Send)> {
        let mut all = Vec::new();
        for rank in 0..plan.ranks() {
            for lane in 0..plan.lanes() {
                for stage in 0..plan.stages() {
                    let at = At { rank, lane, iteration, stage };
                    let sends = (0..).map_while(|index| plan.send(&at, index));
                    all.extend(sends.filter(|send| send.bytes > 0).map(|send| (at, send)));
                }
            }
        }
        all
    }

    /// Whether as many messages come into every stage as it awaits, and nobody sends to
    /// itself; the bytes that each rank sends and receives.
    pub fn bytes_of(plan: &impl Plan, iteration: u32) -> Vec<(u64, u64)> {
        let mut into = BTreeMap::new();
        let mut bytes = vec![(0, 0); plan.ranks() as usize];
        for (at, send) in messages(plan, iteration) {
            assert_ne!(at.rank, send.to);
            *into.entry((send.to, at.lane, send.into)).or_insert(0) += 1;
            bytes[at.rank as usize].0 += send.bytes as u64;
            bytes[send.to as usize].1 += send.bytes as u64;
        }
        for rank in 0..plan.ranks() {
            for lane in 0..plan.lanes() {
                for stage in 0..plan.stages() {
                    let awaited = plan.awaits(&At { rank, lane, iteration, stage });
                    let come = into.remove(&(rank, lane, stage)).unwrap_or(0);
                    assert_eq!(come, awaited, "rank {rank}, lane {lane}, stage {stage}");
                }
            }
        }
        assert!(into.is_empty(), "into stages that there are not: {into:?}");
        bytes
    }

    #[test]
    fn groups_name_hosts_that_there_are_once() {
        assert_eq!(Group::of(vec![1, 4], 4), Err(PlanError::NoHost { host: 4, hosts: 4 }));
        assert_eq!(Group::of(vec![1, 3, 1], 4), Err(PlanError::Twice(1)));
        let group = Group::of(vec![3, 1], 4).unwrap();
        assert_eq!((group.len(), group.host(0), group.host(1)), (2, 3, 1));
    }

    #[test]
    fn pieces_are_all_of_it_and_alike() {
        for (bytes, pieces) in [(10, 3), (7, 7), (u64::MAX, 5), (4096, 64)] {
            let sizes: Vec<u64> =
                (0..pieces).map(|n| cut(bytes, n + 1, pieces) - cut(bytes, n, pieces)).collect();
            assert_eq!(sizes.iter().sum::<u64>(), bytes);
            assert!(sizes.iter().all(|&size| size - bytes / pieces <= 1));
        }
    }
}
