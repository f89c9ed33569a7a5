//! Simple patterns: many to one, a permutation, pairs at random.
//!
//! ```text
//!   incast        s s s s        permutation   a ─> b ─> c ─> ... ─> a
//!                  ╲╲╱╱          pairs         any ─> any other
//!                   r  (then again, to another or the same)
//! ```

use super::dice::Dice;
use super::plan::{At, Plan, PlanError, Send};
use super::List;
use crate::Ps;

/// Who receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Receiver {
    /// Always this rank.
    Fixed(u32),
    /// One after another.
    InTurn,
    /// Any.
    AtRandom,
}

/// `fan_in` ranks, drawn anew every time, send to one: a plan of one stage, to be run
/// with [`Between::Barrier`](super::course::Between) so that one follows another.
#[derive(Clone, Debug)]
pub struct Incast {
    ranks: u32,
    bytes: u32,
    /// Receiver and senders, in order, of each time.
    times: Vec<(u32, Vec<u32>)>,
}

impl Incast {
    /// `bytes` from each; the draws of `times` iterations, after which they come again.
    ///
    /// # Errors
    /// If there are not so many senders, or nothing to send.
    pub fn new(
        ranks: u32,
        fan_in: u32,
        bytes: u32,
        receiver: Receiver,
        times: u32,
        seed: u64,
    ) -> Result<Self, PlanError> {
        super::plan::check(ranks, bytes as u64, 1, bytes as u64)?;
        if fan_in == 0 || fan_in >= ranks || times == 0 {
            return Err(PlanError::Senseless(
                "an incast is of one sender at least and of one fewer than ranks at most, and once at least",
            ));
        }
        if matches!(receiver, Receiver::Fixed(rank) if rank >= ranks) {
            return Err(PlanError::Senseless("an incast's receiver must be one of the ranks"));
        }
        let mut dice = Dice::new(seed, 0x14CA);
        let draw = |time| {
            let receiver = match receiver {
                Receiver::Fixed(rank) => rank,
                Receiver::InTurn => time % ranks,
                Receiver::AtRandom => dice.below(ranks),
            };
            let mut senders: Vec<u32> = (0..ranks).filter(|&rank| rank != receiver).collect();
            dice.shuffle(&mut senders);
            senders.truncate(fan_in as usize);
            senders.sort_unstable();
            (receiver, senders)
        };
        Ok(Self { ranks, bytes, times: (0..times).map(draw).collect() })
    }

    fn time(&self, at: &At) -> &(u32, Vec<u32>) {
        &self.times[at.iteration as usize % self.times.len()]
    }
}

impl Plan for Incast {
    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn stages(&self) -> u32 {
        1
    }

    fn awaits(&self, at: &At) -> u32 {
        let (receiver, senders) = self.time(at);
        if at.rank == *receiver {
            senders.len() as u32
        } else {
            0
        }
    }

    fn send(&self, at: &At, index: u32) -> Option<Send> {
        let (receiver, senders) = self.time(at);
        let sends = index == 0 && senders.binary_search(&at.rank).is_ok();
        sends.then_some(Send { to: *receiver, bytes: self.bytes, into: 0 })
    }
}

/// Every host sends `messages` to one other and receives from one other: one cycle of
/// all, drawn (Sattolo), all of it posted at `at`.
///
/// # Errors
/// If there are fewer than two hosts.
pub fn permutation(hosts: u32, bytes: u32, messages: u32, at: Ps, seed: u64) -> Result<List, PlanError> {
    super::plan::check(hosts, bytes as u64, 1, bytes as u64)?;
    let mut dice = Dice::new(seed, 0x9E21);
    let mut to: Vec<u32> = (0..hosts).collect();
    for last in (1..hosts).rev() {
        to.swap(last as usize, dice.below(last) as usize);
    }
    let mut list = List::default();
    for _ in 0..messages {
        for from in 0..hosts {
            list.add(at, from, to[from as usize], bytes);
        }
    }
    Ok(list)
}

/// `messages` between hosts drawn at random, one every `every`.
///
/// # Errors
/// If there are fewer than two hosts.
pub fn random_pairs(hosts: u32, bytes: u32, messages: u32, every: Ps, seed: u64) -> Result<List, PlanError> {
    super::plan::check(hosts, bytes as u64, 1, bytes as u64)?;
    let mut dice = Dice::new(seed, 0x9A12);
    let mut list = List::default();
    for number in 0..messages {
        let from = dice.below(hosts);
        list.add((number as Ps).saturating_mul(every), from, dice.other_than(from, hosts), bytes);
    }
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::super::plan::tests::bytes_of;
    use super::*;

    #[test]
    fn an_incast_is_from_so_many_to_one() {
        let plan = Incast::new(10, 6, 100, Receiver::InTurn, 3, 1).unwrap();
        let mut senders = Vec::new();
        for iteration in 0..4 {
            let bytes = bytes_of(&plan, iteration);
            assert_eq!(bytes[iteration as usize % 3].1, 600);
            senders.push(bytes.iter().map(|bytes| bytes.0).collect::<Vec<_>>());
            assert_eq!(senders[iteration as usize].iter().sum::<u64>(), 600);
        }
        assert_ne!(senders[0], senders[1], "others every time");
        assert_eq!(senders[0], senders[3], "and from the beginning");
        let all = Incast::new(4, 3, 10, Receiver::Fixed(2), 1, 1).unwrap();
        assert_eq!(bytes_of(&all, 7), [(10, 0), (10, 0), (0, 30), (10, 0)]);
        assert!(Incast::new(4, 4, 10, Receiver::AtRandom, 1, 1).is_err());
        assert!(Incast::new(4, 2, 10, Receiver::Fixed(4), 1, 1).is_err());
    }

    #[test]
    fn a_permutation_gives_each_host_one_other() {
        for hosts in 2..40 {
            let list = permutation(hosts, 10, 2, 5, 3).unwrap();
            assert_eq!(list.records.len() as u32, 2 * hosts);
            let mut to: Vec<u32> = list.records[..hosts as usize].iter().map(|r| r.message.to).collect();
            assert!(list.records.iter().all(|r| r.message.to != r.message.from && r.posted == 5));
            to.sort_unstable();
            assert!(to.into_iter().eq(0..hosts));
        }
        let of = |seed| permutation(30, 10, 1, 0, seed).unwrap().records;
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
    }

    #[test]
    fn pairs_are_even() {
        let list = random_pairs(4, 10, 12_000, 7, 1).unwrap();
        let mut pairs = [[0; 4]; 4];
        for record in &list.records {
            pairs[record.message.from as usize][record.message.to as usize] += 1;
        }
        for (from, row) in pairs.iter().enumerate() {
            assert_eq!(row[from], 0);
            assert!(
                row.iter().enumerate().all(|(to, &n)| to == from || (850..1150).contains(&n)),
                "{pairs:?}"
            );
        }
        assert_eq!(list.records[5].posted, 35);
        assert!(random_pairs(1, 10, 1, 0, 1).is_err());
    }
}
