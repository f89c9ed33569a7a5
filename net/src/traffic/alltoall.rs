//! All to all: the same for every pair, or as the experts of a mixture are liked.
//!
//! ```text
//!   uniform   rank r sends to r + 1, r + 2, ..., so that all receive at once
//!   experts   stage 0  dispatch: tokens to the ranks of their experts
//!             (pause)  the experts compute, the longer the more they got
//!             stage 1  combine: results to where the tokens came from
//! ```
//!
//! Experts: a token is for `top_k` different experts. A rank gets a token once, however
//! many of its experts are meant, and what is meant for a rank's own experts stays with
//! it. An iteration is a layer's dispatch and combine; iteration `i` takes routing `i`
//! modulo their number. Sizes are those of the DeepSeek-V3 technical report (2024,
//! section 3.2.2 and table of the model's make). That some experts are liked much more
//! than others, and others from one iteration to the next, is shown in J. He et al.,
//! "FasterMoE", PPoPP 2022; that they are liked by Zipf's law is our choice, as it
//! takes one number: 0 is even, 0.5 to 1.2 give a fullest rank of a few times the mean.

use serde::{Deserialize, Serialize};

use super::dice::Dice;
use super::plan::{At, Plan, PlanError, Send};
use crate::Ps;

/// Every rank sends the same to every other.
#[derive(Clone, Debug)]
pub struct AllToAll {
    ranks: u32,
    bytes: u32,
}

impl AllToAll {
    /// `bytes` from each to each.
    ///
    /// # Errors
    /// If there is nobody to send to, or nothing.
    pub fn new(ranks: u32, bytes: u32) -> Result<Self, PlanError> {
        super::plan::check(ranks, bytes as u64, 1, bytes as u64)?;
        Ok(Self { ranks, bytes })
    }
}

impl Plan for AllToAll {
    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn stages(&self) -> u32 {
        1
    }

    fn awaits(&self, _at: &At) -> u32 {
        self.ranks - 1
    }

    fn send(&self, at: &At, index: u32) -> Option<Send> {
        let to = ((at.rank as u64 + 1 + index as u64) % self.ranks as u64) as u32;
        (index < self.ranks - 1).then_some(Send { to, bytes: self.bytes, into: 0 })
    }
}

/// What tokens there are, and which experts they like.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mixture {
    /// Experts of a rank.
    pub experts: u32,
    /// Experts that a token is for.
    pub top_k: u32,
    /// Tokens of a rank in one iteration.
    pub tokens: u32,
    /// Exponent of Zipf's law: 0 for experts that are all liked alike.
    pub skew: f64,
    /// Bytes of a token on its way to an expert.
    pub dispatch_bytes: u32,
    /// Bytes of what comes back.
    pub combine_bytes: u32,
    /// How long a rank's experts compute for a token.
    pub compute: Ps,
    /// Different routings.
    pub routings: u32,
    /// Seed of what is liked, and by which token.
    pub seed: u64,
}

impl Default for Mixture {
    /// Tokens of 7168 one-byte values to 8 of 256 experts on 32 ranks, two-byte values
    /// back, as in DeepSeek-V3; moderately skewed.
    fn default() -> Self {
        Self {
            experts: 8,
            top_k: 8,
            tokens: 128,
            skew: 0.6,
            dispatch_bytes: 7168,
            combine_bytes: 14_336,
            compute: 0,
            routings: 4,
            seed: 1,
        }
    }
}

/// Tokens from rank to rank.
#[derive(Clone, Debug)]
struct Routing {
    /// By sender and receiver, and what stays.
    tokens: Vec<u32>,
    /// Tokens that each rank's experts get.
    load: Vec<u32>,
    /// Ranks that each gets tokens from.
    senders: Vec<u32>,
    /// Ranks that each sends tokens to.
    receivers: Vec<u32>,
}

/// Dispatch and combine: see the module's page.
#[derive(Clone, Debug)]
pub struct Experts {
    ranks: u32,
    mixture: Mixture,
    routings: Vec<Routing>,
}

/// Entries of all routings together, at most: 1 GiB of them.
const ENTRIES: u64 = 1 << 28;

impl Experts {
    /// Draws the routings.
    ///
    /// # Errors
    /// If counts make no sense, or the tables would not fit.
    pub fn new(ranks: u32, mixture: &Mixture) -> Result<Self, PlanError> {
        let Mixture { experts, top_k, tokens, skew, routings, .. } = *mixture;
        let longest = mixture.dispatch_bytes.max(mixture.combine_bytes) as u64 * tokens as u64;
        super::plan::check(ranks, longest, 1, longest)?;
        let all = experts as u64 * ranks as u64;
        if top_k == 0 || top_k as u64 > all || all > ENTRIES {
            return Err(PlanError::Senseless(
                "a token is for at least one expert and at most all there are, of which there may be 2^28",
            ));
        }
        if !(0.0..=8.0).contains(&skew) {
            return Err(PlanError::Senseless("an exponent of Zipf's law must be from 0 to 8"));
        }
        if mixture.dispatch_bytes == 0 || mixture.combine_bytes == 0 || routings == 0 {
            return Err(PlanError::Senseless("tokens have bytes, and there is at least one routing"));
        }
        if routings as u64 * ranks as u64 * ranks as u64 > ENTRIES {
            return Err(PlanError::Senseless(
                "routings times the square of ranks must be at most 2^28; draw fewer routings",
            ));
        }
        let mut dice = Dice::new(mixture.seed, 0x0E0E);
        let routings = (0..routings).map(|_| Routing::draw(ranks, mixture, &mut dice)).collect();
        Ok(Self { ranks, mixture: *mixture, routings })
    }

    fn routing(&self, at: &At) -> &Routing {
        &self.routings[at.iteration as usize % self.routings.len()]
    }

    /// Tokens of the fullest rank over those of the mean one, of an iteration.
    pub fn imbalance(&self, iteration: u32) -> f64 {
        let load = &self.routing(&At { rank: 0, lane: 0, iteration, stage: 0 }).load;
        let (most, sum) = load.iter().fold((0, 0), |(most, sum), &n| (n.max(most), sum + n as u64));
        most as f64 * self.ranks as f64 / sum as f64
    }
}

impl Routing {
    fn draw(ranks: u32, mixture: &Mixture, dice: &mut Dice) -> Self {
        let experts = (mixture.experts * ranks) as usize;
        // Experts by how much they are liked, and the sums of their chances.
        let mut liked: Vec<u32> = (0..experts as u32).collect();
        dice.shuffle(&mut liked);
        let mut sum = 0.0;
        let sums: Vec<f64> = (1..=experts)
            .map(|place| {
                sum += (place as f64).powf(-mixture.skew);
                sum
            })
            .collect();
        let (n, mut chosen) = (ranks as usize, Vec::new());
        let mut routing =
            Self { tokens: vec![0; n * n], load: vec![0; n], senders: vec![0; n], receivers: vec![0; n] };
        for from in 0..n {
            for _ in 0..mixture.tokens {
                choose(&mut chosen, mixture.top_k, &sums, dice);
                // From here on ranks, each once.
                chosen.iter_mut().for_each(|place| *place = liked[*place as usize] / mixture.experts);
                chosen.sort_unstable();
                chosen.dedup();
                for &to in &chosen {
                    routing.tokens[from * n + to as usize] += 1;
                    routing.load[to as usize] += 1;
                }
            }
            for to in (0..n).filter(|&to| to != from && routing.tokens[from * n + to] > 0) {
                routing.senders[to] += 1;
                routing.receivers[from] += 1;
            }
        }
        routing
    }
}

/// `count` different places, each as likely as its chance.
fn choose(chosen: &mut Vec<u32>, count: u32, sums: &[f64], dice: &mut Dice) {
    chosen.clear();
    let (all, mut tries) = (sums[sums.len() - 1], 0);
    while (chosen.len() as u32) < count {
        let drawn = dice.unit() * all;
        let mut place = sums.partition_point(|&sum| sum <= drawn) as u32;
        tries += 1;
        // Of very few that are liked the same come again and again: then the next ones.
        while tries > 16 * count && chosen.contains(&place) {
            place = (place + 1) % sums.len() as u32;
        }
        if !chosen.contains(&place) {
            chosen.push(place);
        }
    }
}

impl Plan for Experts {
    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn stages(&self) -> u32 {
        2
    }

    fn awaits(&self, at: &At) -> u32 {
        let routing = self.routing(at);
        let by_rank = if at.stage == 0 { &routing.senders } else { &routing.receivers };
        by_rank[at.rank as usize]
    }

    fn send(&self, at: &At, index: u32) -> Option<Send> {
        if index >= self.ranks - 1 {
            return None;
        }
        let to = ((at.rank as u64 + 1 + index as u64) % self.ranks as u64) as u32;
        let entry =
            |from: u32, to: u32| self.routing(at).tokens[from as usize * self.ranks as usize + to as usize];
        let bytes = match at.stage {
            0 => entry(at.rank, to) * self.mixture.dispatch_bytes,
            _ => entry(to, at.rank) * self.mixture.combine_bytes,
        };
        Some(Send { to, bytes, into: at.stage })
    }

    fn pause(&self, at: &At) -> Ps {
        if at.stage == 0 {
            return 0;
        }
        self.mixture.compute.saturating_mul(self.routing(at).load[at.rank as usize] as Ps)
    }
}

#[cfg(test)]
mod tests {
    use super::super::plan::tests::bytes_of;
    use super::*;

    #[test]
    fn every_pair_has_its_bytes() {
        assert_eq!(bytes_of(&AllToAll::new(5, 100).unwrap(), 0), vec![(400, 400); 5]);
        assert!(AllToAll::new(5, 0).is_err());
    }

    fn mixture(skew: f64) -> Mixture {
        Mixture {
            skew,
            tokens: 500,
            top_k: 2,
            experts: 2,
            dispatch_bytes: 10,
            combine_bytes: 20,
            ..Mixture::default()
        }
    }

    #[test]
    fn what_is_dispatched_comes_back() {
        let plan = Experts::new(8, &mixture(1.0)).unwrap();
        for iteration in 0..6 {
            let bytes = bytes_of(&plan, iteration);
            let routing = &plan.routings[iteration as usize % 4];
            for (rank, bytes) in bytes.iter().enumerate() {
                let own = routing.tokens[rank * 9];
                let out: u32 = routing.tokens[rank * 8..rank * 8 + 8].iter().sum::<u32>() - own;
                let taken = routing.load[rank] - own;
                assert_eq!(*bytes, ((out * 10 + taken * 20) as u64, (taken * 10 + out * 20) as u64));
            }
            let load: u32 = routing.load.iter().sum();
            assert!((8 * 500..=8 * 1000).contains(&load), "one or two ranks per token");
        }
    }

    #[test]
    fn the_more_skewed_the_fuller_is_the_fullest() {
        let of = |skew| Experts::new(16, &mixture(skew)).unwrap().imbalance(0);
        let (even, some, much) = (of(0.0), of(0.6), of(1.2));
        assert!(even < 1.1 && some > 1.3 && much > 2.0 * some / 1.3, "{even} {some} {much}");
    }

    #[test]
    fn seeds_draw_and_routings_differ() {
        let of = |seed| Experts::new(8, &Mixture { seed, ..mixture(0.6) }).unwrap();
        assert_eq!(of(1).routings[0].tokens, of(1).routings[0].tokens);
        assert_ne!(of(1).routings[0].tokens, of(2).routings[0].tokens);
        assert_ne!(of(1).routings[0].tokens, of(1).routings[1].tokens);
    }

    #[test]
    fn experts_compute_for_what_they_got() {
        let plan = Experts::new(8, &Mixture { compute: 7, ..mixture(1.0) }).unwrap();
        let at = At { rank: 3, lane: 0, iteration: 1, stage: 1 };
        assert_eq!(plan.pause(&at), 7 * plan.routings[1].load[3] as Ps);
        assert_eq!(plan.pause(&At { stage: 0, ..at }), 0);
    }

    #[test]
    fn senseless_mixtures_are_refused() {
        let refused = |change: fn(&mut Mixture)| {
            let mut mixture = mixture(0.5);
            change(&mut mixture);
            Experts::new(8, &mixture).is_err()
        };
        assert!(refused(|mixture| mixture.top_k = 17));
        assert!(refused(|mixture| mixture.top_k = 0));
        assert!(refused(|mixture| mixture.skew = f64::NAN));
        assert!(refused(|mixture| mixture.tokens = u32::MAX));
        assert!(refused(|mixture| mixture.routings = u32::MAX));
        assert!(refused(|mixture| mixture.experts = u32::MAX));
        assert!(!refused(|mixture| mixture.skew = 8.0), "takes the next ones");
    }
}
