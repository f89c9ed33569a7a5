//! Open loop: messages that arrive whatever has become of those before.
//!
//! ```text
//!   ──┬────┬─┬──────────┬───┬─> time     sender, receiver: any two
//!     ·    · ·          ·   ·            length: drawn from sizes
//!     exponential gaps
//! ```
//!
//! The gaps are those of all hosts together: senders drawn evenly from one Poisson
//! process are a Poisson process each. Load is a share of what the links of the hosts
//! carry one way, counted in bytes of payload or of the wire: a load of payload leaves out
//! headers, of which the protocols here have different ones, so it offers all the same.

use serde::{Deserialize, Serialize};

use super::book::Book;
use super::dice::Dice;
use super::plan::PlanError;
use super::sizes::Sizes;
use super::{Act, Traffic};
use crate::transport::{Done, Message};
use crate::Ps;

/// Which bytes a load counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counted {
    /// Those of messages.
    #[default]
    Payload,
    /// Those of links: each packet of at most `payload` bytes has `overhead` more, with
    /// [`FRAMING`](crate::transport::FRAMING).
    Wire {
        /// Bytes.
        payload: u32,
        /// Bytes.
        overhead: u32,
    },
}

/// How much, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Options {
    /// Share of the hosts' links, above 0; from 1 on queues grow for ever.
    pub load: f64,
    /// Of what.
    pub counted: Counted,
    /// Rate of hosts' links, Gb/s.
    pub gbps: u32,
    /// No message arrives after that.
    pub until: Ps,
    /// Nor more than so many.
    pub messages: u32,
    /// Processes of each host that messages are of in turn: who keeps connections has as many per
    /// pair of hosts.
    pub processes: u32,
    /// Whether every message's record is kept.
    pub keep: bool,
    /// Seed of what is drawn.
    pub seed: u64,
}

impl Default for Options {
    /// Half of 400 Gb/s in payload for a millisecond, records kept.
    fn default() -> Self {
        Self {
            load: 0.5,
            counted: Counted::Payload,
            gbps: 400,
            until: 1_000_000_000,
            messages: u32::MAX,
            processes: 1,
            keep: true,
            seed: 1,
        }
    }
}

/// See the module's page.
#[derive(Clone, Debug)]
pub struct Poisson {
    hosts: u32,
    sizes: Sizes,
    options: Options,
    /// Picoseconds between arrivals, in the mean.
    gap: f64,
    /// When the next one is due: exact, as gaps of a large network are not much longer than
    /// a picosecond's thousandfold.
    next: f64,
    dice: Dice,
    /// Messages.
    pub book: Book<()>,
}

impl Poisson {
    /// Messages of `sizes` between `hosts`.
    ///
    /// # Errors
    /// If there are fewer than two hosts, or the load or rate is none.
    pub fn new(hosts: u32, sizes: Sizes, options: Options) -> Result<Self, PlanError> {
        if hosts < 2 {
            return Err(PlanError::TooFew(hosts));
        }
        if !(options.load > 0.0 && options.load.is_finite()) || options.gbps == 0 {
            return Err(PlanError::Senseless("a load must be above 0, and links must have a rate"));
        }
        let bytes = match options.counted {
            Counted::Payload => sizes.mean(),
            Counted::Wire { payload: 0, .. } => {
                return Err(PlanError::Senseless("a load of the wire needs packets with payload"))
            }
            Counted::Wire { payload, overhead } => sizes.mean_wire(payload, overhead),
        };
        let ps_per_byte = 8000.0 / options.gbps as f64;
        let gap = bytes * ps_per_byte / (options.load * hosts as f64);
        let mut dice = Dice::new(options.seed, 0x9015);
        let next = dice.exponential(gap);
        Ok(Self { hosts, sizes, options, gap, next, dice, book: Book::new(options.keep) })
    }

    /// Time between arrivals, in the mean.
    pub fn gap(&self) -> f64 {
        self.gap
    }
}

impl Traffic for Poisson {
    fn next_at(&mut self) -> Option<Ps> {
        let at = self.next as Ps;
        (at <= self.options.until && self.book.posted() < self.options.messages as u64).then_some(at)
    }

    fn next(&mut self) -> Option<Act> {
        let at = self.next_at()?;
        self.next += self.dice.exponential(self.gap);
        let from = self.dice.below(self.hosts);
        let to = self.dice.other_than(from, self.hosts);
        let bytes = self.sizes.at(self.dice.unit());
        // In turn over all of a host's messages, so that those of a pair seldom share one.
        let process = self.book.next_id() % self.options.processes.max(1);
        let message = Message { id: 0, from, to, bytes, round: None, process };
        Some(Act::Post(self.book.post(at, message, ())))
    }

    fn done(&mut self, now: Ps, done: &Done) {
        // Nothing follows from it.
        let _ = self.book.done(now, done);
    }
}

#[cfg(test)]
mod tests {
    use super::super::sizes::Published;
    use super::*;

    fn drawn(hosts: u32, sizes: &Sizes, options: Options) -> Vec<(Ps, Message)> {
        let mut poisson = Poisson::new(hosts, sizes.clone(), options).unwrap();
        let mut all = Vec::new();
        while let Some(at) = poisson.next_at() {
            let Some(Act::Post(message)) = poisson.next() else { panic!("it is due") };
            all.push((at, message));
        }
        all
    }

    #[test]
    fn the_load_is_what_was_asked_for() {
        for published in Published::ALL {
            let sizes = published.sizes().unwrap();
            for load in [0.3, 0.9] {
                for counted in [Counted::Payload, Counted::Wire { payload: 4096, overhead: 102 }] {
                    let options =
                        Options { load, counted, until: Ps::MAX, messages: 400_000, ..Options::default() };
                    let all = drawn(64, &sizes, options);
                    let bytes: u64 = all
                        .iter()
                        .map(|(_, message)| match counted {
                            Counted::Payload => message.bytes as u64,
                            Counted::Wire { payload, overhead } => {
                                (message.bytes + message.bytes.div_ceil(payload) * overhead) as u64
                            }
                        })
                        .sum();
                    let time = all[all.len() - 1].0;
                    let offered = bytes as f64 * 20.0 / (time as f64 * 64.0);
                    assert!((offered / load - 1.0).abs() < 0.02, "{published:?} {load}: {offered}");
                }
            }
        }
    }

    #[test]
    fn gaps_are_exponential_and_pairs_even() {
        let options = Options { until: Ps::MAX, messages: 100_000, ..Options::default() };
        let sizes = Sizes::fixed(100_000);
        let gap = Poisson::new(10, sizes.clone(), options).unwrap().gap();
        assert_eq!(gap, 100_000.0 * 20.0 / 5.0);
        let all = drawn(10, &sizes, options);
        let gaps: Vec<f64> = all.windows(2).map(|pair| (pair[1].0 - pair[0].0) as f64 / gap).collect();
        let mean = |of: &dyn Fn(f64) -> f64| gaps.iter().map(|&gap| of(gap)).sum::<f64>() / gaps.len() as f64;
        // Mean and deviation alike, and a share of e^-2 that is longer than two means.
        let variance = mean(&|gap| gap * gap) - mean(&|gap| gap).powi(2);
        assert!((mean(&|gap| gap) - 1.0).abs() < 0.02 && (variance - 1.0).abs() < 0.05);
        assert!((mean(&|gap| f64::from(gap > 2.0)) - 0.1353).abs() < 0.01);
        let mut pairs = [[0; 10]; 10];
        all.iter().for_each(|(_, m)| pairs[m.from as usize][m.to as usize] += 1);
        for (from, row) in pairs.iter().enumerate() {
            assert!(row.iter().enumerate().all(|(to, n)| (from == to && *n == 0) || (950..1270).contains(n)));
        }
    }

    #[test]
    fn it_ends_when_told_and_seeds_differ() {
        let of = |seed, until| {
            let options = Options { seed, until, ..Options::default() };
            drawn(8, &Sizes::fixed(10_000), options)
        };
        let all = of(1, 10_000_000);
        assert!(all.len() > 100 && all.iter().all(|&(at, _)| at <= 10_000_000));
        assert_eq!(all, of(1, 10_000_000));
        assert_ne!(all, of(2, 10_000_000));
    }

    #[test]
    fn senseless_loads_are_refused() {
        for load in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Poisson::new(4, Sizes::fixed(1), Options { load, ..Options::default() }).is_err());
        }
        let counted = Counted::Wire { payload: 0, overhead: 1 };
        assert!(Poisson::new(4, Sizes::fixed(1), Options { counted, ..Options::default() }).is_err());
        assert!(Poisson::new(1, Sizes::fixed(1), Options::default()).is_err());
    }
}
