//! Results of many runs: kept, joined, and judged over seeds.

use serde::{Deserialize, Serialize};

use super::headline::peers_of;
use super::{Case, Outcome, Protocol};

/// A run that has been made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// What was run.
    pub case: Case,
    /// What it came to.
    pub outcome: Outcome,
}

/// All runs of a file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// Revision of the program that made them.
    #[serde(default)]
    pub revision: String,
    /// In the order of their cases.
    pub runs: Vec<Run>,
}

/// Why results cannot be joined.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JoinError {
    /// Not what another file has of the same name.
    #[error("\"{0}\" of seed {1} is in two files and was run differently; take results of one extent")]
    Differs(String, u64),
    /// Protocols may have changed in between.
    #[error("results of revision {0} and of {1} do not go together; run those of one again")]
    Revision(String, String),
}

/// A figure over seeds: of one seed all three are the same.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OverSeeds {
    /// Median; of an even number the mean of the two in the middle.
    pub median: f64,
    /// Least.
    pub least: f64,
    /// Most.
    pub most: f64,
    /// Seeds.
    pub seeds: u32,
}

impl OverSeeds {
    /// Of a figure per seed; none of none.
    pub fn of(figures: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut figures: Vec<f64> = figures.into_iter().collect();
        figures.sort_unstable_by(f64::total_cmp);
        let (least, most, count) = (*figures.first()?, *figures.last()?, figures.len());
        let median = (figures[(count - 1) / 2] + figures[count / 2]) / 2.0;
        Some(Self { median, least, most, seeds: count as u32 })
    }
}

/// How we stand in a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Standing {
    /// Group.
    pub group: String,
    /// What is compared: `p99 slowdown` or `iteration, us`.
    pub figure: String,
    /// Ours.
    pub ours: OverSeeds,
    /// The counterpart whose median is the best, and its figure.
    pub best: Option<(Protocol, OverSeeds)>,
    /// How far ours is below the best one's, seed by seed: 0.3 is 30 %, negative where
    /// we lose.
    pub below: Option<OverSeeds>,
    /// Ours over the ideal, where that is known.
    pub over_ideal: Option<OverSeeds>,
}

impl Results {
    /// What has been run of a group by a protocol, a run per seed.
    pub fn of<'a>(&'a self, group: &'a str, protocol: Protocol) -> impl Iterator<Item = &'a Run> {
        self.runs.iter().filter(move |run| run.case.group == group && run.case.protocol == protocol)
    }

    /// A figure of a group and a protocol over the seeds; none if a seed has none, such as
    /// one that has not ended.
    pub fn over_seeds(
        &self,
        group: &str,
        protocol: Protocol,
        figure: impl Fn(&Outcome) -> Option<f64>,
    ) -> Option<OverSeeds> {
        let figures: Option<Vec<f64>> = self.of(group, protocol).map(|run| figure(&run.outcome)).collect();
        OverSeeds::of(figures?)
    }

    /// Whether iterations are what a group is compared by, else slowdowns.
    pub fn by_iteration(&self, group: &str) -> bool {
        let mut runs = self.runs.iter().filter(|run| run.case.group == group);
        runs.any(|run| run.outcome.iterations.is_some())
    }

    /// What a group is compared by: its name, and its value of a run that has ended.
    pub fn figure(&self, group: &str) -> (&'static str, fn(&Outcome) -> Option<f64>) {
        // Who has not ended has no figure that could be compared.
        fn iteration(outcome: &Outcome) -> Option<f64> {
            outcome.iterations.filter(|_| outcome.finished).map(|times| times.mean)
        }
        fn p99(outcome: &Outcome) -> Option<f64> {
            outcome.slowdown.filter(|_| outcome.finished).map(|slowdown| slowdown.p99)
        }
        if self.by_iteration(group) {
            ("iteration, us", iteration)
        } else {
            ("p99 slowdown", p99)
        }
    }

    /// Protocols of a group, in order.
    pub fn protocols(&self, group: &str) -> Vec<Protocol> {
        let mut protocols = Vec::new();
        for run in self.runs.iter().filter(|run| run.case.group == group) {
            if !protocols.contains(&run.case.protocol) {
                protocols.push(run.case.protocol);
            }
        }
        protocols
    }

    /// Whether a case has been run.
    pub fn has(&self, case: &Case) -> bool {
        self.runs.iter().any(|run| run.case == *case)
    }

    /// Groups, in order.
    pub fn groups(&self) -> Vec<&str> {
        let mut groups: Vec<&str> = Vec::new();
        for run in &self.runs {
            if !groups.contains(&run.case.group.as_str()) {
                groups.push(&run.case.group);
            }
        }
        groups
    }

    /// Adds what another file has.
    ///
    /// # Errors
    /// If both have a case of a seed and it is not the same, or they are of different revisions.
    pub fn join(&mut self, other: Self) -> Result<(), JoinError> {
        if self.runs.is_empty() {
            self.revision.clone_from(&other.revision);
        } else if self.revision != other.revision {
            return Err(JoinError::Revision(self.revision.clone(), other.revision));
        }
        for run in other.runs {
            let named = |known: &&Run| known.case.id() == run.case.id();
            match self.runs.iter().find(named) {
                Some(known) if known.case != run.case => {
                    let (name, seed) = run.case.id();
                    return Err(JoinError::Differs(name, seed));
                }
                Some(_) => {}
                None => self.runs.push(run),
            }
        }
        Ok(())
    }

    /// In the order of these cases; others behind.
    pub fn sort_like(&mut self, cases: &[Case]) {
        let place = |run: &Run| cases.iter().position(|case| *case == run.case).unwrap_or(usize::MAX);
        self.runs.sort_by_key(place);
    }

    /// How we stand where messages or rounds are timed: p99 of slowdowns where they arrive
    /// at random, iterations where one waits for all.
    pub fn standings(&self) -> Vec<Standing> {
        self.groups().into_iter().filter_map(|group| self.standing(group)).collect()
    }

    fn standing(&self, group: &str) -> Option<Standing> {
        if peers_of(group).is_some() {
            return None;
        }
        let (name, figure) = self.figure(group);
        let of = |protocol| self.over_seeds(group, protocol, figure);
        let ours = of(Protocol::Tessera)?;
        let theirs = Protocol::COUNTERPARTS.iter().filter(|protocol| !protocol.is_ours());
        let theirs = theirs.filter_map(|&protocol| Some((protocol, of(protocol)?)));
        let best = theirs.min_by(|a, b| a.1.median.total_cmp(&b.1.median));
        let below = best.and_then(|(protocol, _)| {
            OverSeeds::of(self.of(group, Protocol::Tessera).filter_map(|mine| {
                let same = |run: &&Run| run.case.make.seed == mine.case.make.seed;
                let other = self.of(group, protocol).find(same)?;
                Some(1.0 - figure(&mine.outcome)? / figure(&other.outcome)?)
            }))
        });
        let over_ideal = |outcome: &Outcome| outcome.iterations.and(Some(figure(outcome)? / outcome.ideal?));
        let over_ideal = self.over_seeds(group, Protocol::Tessera, over_ideal);
        Some(Standing { group: group.into(), figure: name.into(), ours, best, below, over_ideal })
    }

    /// Goodput by number of peers, Gb/s, over the seeds.
    pub fn by_peers(&self, protocol: Protocol) -> Vec<(u32, OverSeeds)> {
        let of = |group: &str| {
            let peers = peers_of(group)?;
            let runs = self.of(group, protocol);
            // One host sends, and goodput is per host.
            let goodput = OverSeeds::of(runs.map(|run| run.outcome.goodput * run.case.hosts() as f64))?;
            Some((peers, goodput))
        };
        self.groups().into_iter().filter_map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::headline::{cases, Extent};
    use super::super::shard::Shard;
    use super::*;

    fn outcome(finished: bool) -> Outcome {
        let json = serde_json::json!({
            "finished": finished, "messages": 1, "open": 0, "failed": 0, "times": null, "slowdown":
            { "count": 1, "mean": 2.0, "p50": 2.0, "p99": 2.0, "p999": 2.0, "max": 2.0 }, "classes": [],
            "rounds": null, "iterations": null, "ideal": null, "goodput": 1.0, "spurious": 0.0,
            "tally": crate::transport::Tally::default(), "counts": crate::network::Counts::default(),
            "simulated": 1.0, "seconds": 1.0,
        });
        serde_json::from_value(json).expect("an outcome")
    }

    #[test]
    fn parts_are_all_there_is_and_meet_nowhere() {
        let all = cases(Extent::QUICK, 1);
        let mut joined = Results::default();
        for part in 1..=3 {
            let shard: Shard = format!("{part}/3").parse().unwrap();
            let runs = shard.of(all.clone()).into_iter();
            let runs = runs.map(|case| Run { case, outcome: outcome(true) }).collect();
            joined.join(Results { runs, ..Results::default() }).unwrap();
        }
        assert_eq!(joined.runs.len(), all.len());
        joined.sort_like(&all);
        assert!(joined.runs.iter().map(|run| &run.case).eq(all.iter()));
        // Another seed's go beside them; those of one seed that differ do not.
        let second = cases(Extent::QUICK, 2).swap_remove(0);
        let runs = vec![Run { case: second.clone(), outcome: outcome(true) }];
        let mut both = joined.clone();
        both.join(Results { runs, ..Results::default() }).unwrap();
        assert_eq!(both.of(&second.group, second.protocol).count(), 2);
        let other = Case { until: None, ..all[0].clone() };
        let name = other.name();
        let runs = vec![Run { case: other, outcome: outcome(true) }];
        let other = Results { runs, ..Results::default() };
        assert_eq!(joined.join(other.clone()), Err(JoinError::Differs(name, 1)));
        let newer = Results { revision: "newer".into(), ..other };
        assert_eq!(joined.join(newer), Err(JoinError::Revision(String::new(), "newer".into())));
        for text in ["", "0/3", "4/3", "a/b", "1"] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }

    #[test]
    fn medians_are_of_the_middle() {
        assert_eq!(OverSeeds::of([]), None);
        let of = |figures: &[f64]| {
            let over = OverSeeds::of(figures.iter().copied()).unwrap();
            (over.median, over.least, over.most, over.seeds)
        };
        assert_eq!(of(&[3.0]), (3.0, 3.0, 3.0, 1));
        assert_eq!(of(&[9.0, 1.0, 2.0]), (2.0, 1.0, 9.0, 3));
        assert_eq!(of(&[9.0, 1.0, 2.0, 4.0]), (3.0, 1.0, 9.0, 4));
    }

    /// A run of the first group with such a p99.
    fn run(protocol: Protocol, seed: u64, p99: f64, finished: bool) -> Run {
        let all = cases(Extent::QUICK, seed);
        let mut cases = all.iter().filter(|case| case.group == all[0].group);
        let case = cases.find(|case| case.protocol == protocol).expect("a case").clone();
        let mut outcome = outcome(finished);
        if let Some(slowdown) = &mut outcome.slowdown {
            slowdown.p99 = p99;
        }
        Run { case, outcome }
    }

    #[test]
    fn who_does_not_end_is_not_the_best() {
        let runs = vec![
            run(Protocol::Tessera, 1, 6.0, true),
            run(Protocol::Rc, 1, 12.0, true),
            run(Protocol::Irn, 1, 2.0, false),
            run(Protocol::Srd, 1, 8.0, true),
            // Ours without its interval is no counterpart.
            run(Protocol::FixedInterval, 1, 1.0, true),
        ];
        let standings = Results { runs, ..Results::default() }.standings();
        assert_eq!(standings.len(), 1);
        assert_eq!(standings[0].best, Some((Protocol::Srd, OverSeeds::of([8.0]).unwrap())));
        assert_eq!(standings[0].below, OverSeeds::of([0.25]));
    }

    #[test]
    fn one_seed_decides_nothing() {
        let of = |protocol, figures: [f64; 3]| {
            let seeds = figures.into_iter().zip(1..);
            seeds.map(move |(p99, seed)| run(protocol, seed, p99, !(protocol == Protocol::Irn && seed == 2)))
        };
        let mut runs: Vec<Run> = of(Protocol::Tessera, [4.0, 6.0, 9.0]).collect();
        runs.extend(of(Protocol::Srd, [16.0, 8.0, 10.0]));
        // The best once and the worst twice; and one that does not end once.
        runs.extend(of(Protocol::Rc, [5.0, 20.0, 20.0]));
        runs.extend(of(Protocol::Irn, [1.0, 1.0, 1.0]));
        let standings = Results { runs, ..Results::default() }.standings();
        let (best, theirs) = standings[0].best.unwrap();
        assert_eq!((best, theirs.median, standings[0].ours.median), (Protocol::Srd, 10.0, 6.0));
        // Of one seed each: 0.75, 0.25, 0.1.
        let below = standings[0].below.unwrap();
        assert!((below.median - 0.25).abs() + (below.least - 0.1).abs() + (below.most - 0.75).abs() < 1e-9);
    }
}
