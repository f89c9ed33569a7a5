//! Results of many runs: kept, sharded, joined, and judged.

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
    #[error("\"{0}\" is in two files and was run differently; take results of one seed and extent")]
    Differs(String),
    /// Protocols may have changed in between.
    #[error("results of revision {0} and of {1} do not go together; run those of one again")]
    Revision(String, String),
}

/// Which part of the cases to run: `1/4` to `4/4`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// From 1.
    pub part: u32,
    /// Parts in all.
    pub of: u32,
}

/// No such part.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no part; write i/n with i from 1 to n, such as 2/8")]
pub struct ShardError(String);

impl std::str::FromStr for Shard {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Self, ShardError> {
        let parsed = text.split_once('/').and_then(|(part, of)| Some((part.parse().ok()?, of.parse().ok()?)));
        match parsed {
            Some((part, of)) if (1..=of).contains(&part) => Ok(Self { part, of }),
            _ => Err(ShardError(text.into())),
        }
    }
}

impl Shard {
    /// The cases of this part: every n-th, so that parts cost alike.
    pub fn of<T>(self, cases: Vec<T>) -> Vec<T> {
        let mine = |&(number, _): &(usize, T)| number as u32 % self.of == self.part - 1;
        cases.into_iter().enumerate().filter(mine).map(|(_, case)| case).collect()
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
    pub ours: f64,
    /// The best counterpart and its figure.
    pub best: Option<(Protocol, f64)>,
    /// How far ours is below the best one's: 0.3 is 30 %, negative where we lose.
    pub below: Option<f64>,
    /// Ours over the ideal, where that is known.
    pub over_ideal: Option<f64>,
}

impl Results {
    /// What has been run of a group by a protocol.
    pub fn find(&self, group: &str, protocol: Protocol) -> Option<&Outcome> {
        let run = self.runs.iter().find(|run| run.case.group == group && run.case.protocol == protocol)?;
        Some(&run.outcome)
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
    /// If both have a case and it is not the same, or they are of different revisions.
    pub fn join(&mut self, other: Self) -> Result<(), JoinError> {
        if self.runs.is_empty() {
            self.revision.clone_from(&other.revision);
        } else if self.revision != other.revision {
            return Err(JoinError::Revision(self.revision.clone(), other.revision));
        }
        for run in other.runs {
            match self.runs.iter().find(|known| known.case.name() == run.case.name()) {
                Some(known) if known.case != run.case => return Err(JoinError::Differs(run.case.name())),
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
        let ours = self.find(group, Protocol::Tessera)?;
        let by_iteration = ours.iterations.is_some();
        let figure = |outcome: &Outcome| {
            // Who has not ended has no figure that could be compared.
            if !outcome.finished {
                None
            } else if by_iteration {
                outcome.iterations.map(|times| times.mean)
            } else {
                outcome.slowdown.map(|slowdown| slowdown.p99)
            }
        };
        let mine = figure(ours)?;
        let theirs = Protocol::COUNTERPARTS.iter().filter(|protocol| !protocol.is_ours());
        let theirs = theirs.filter_map(|&protocol| Some((protocol, figure(self.find(group, protocol)?)?)));
        let best = theirs.min_by(|a, b| a.1.total_cmp(&b.1));
        Some(Standing {
            group: group.into(),
            figure: if by_iteration { "iteration, us" } else { "p99 slowdown" }.into(),
            ours: mine,
            best,
            below: best.map(|(_, theirs)| 1.0 - mine / theirs),
            over_ideal: ours.ideal.filter(|_| by_iteration).map(|ideal| mine / ideal),
        })
    }

    /// Goodput by number of peers, Gb/s.
    pub fn by_peers(&self, protocol: Protocol) -> Vec<(u32, f64)> {
        let of = |run: &Run| {
            let peers = peers_of(&run.case.group)?;
            // One host sends, and goodput is per host.
            let goodput = run.outcome.goodput * run.case.hosts() as f64;
            (run.case.protocol == protocol).then_some((peers, goodput))
        };
        self.runs.iter().filter_map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::headline::{cases, Extent};
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
        let all = cases(Extent::Quick, 1);
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
        let other = cases(Extent::Quick, 2).swap_remove(0);
        let name = other.name();
        let runs = vec![Run { case: other, outcome: outcome(true) }];
        let other = Results { runs, ..Results::default() };
        assert_eq!(joined.join(other.clone()), Err(JoinError::Differs(name)));
        let newer = Results { revision: "newer".into(), ..other };
        assert_eq!(joined.join(newer), Err(JoinError::Revision(String::new(), "newer".into())));
        for text in ["", "0/3", "4/3", "a/b", "1"] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }

    #[test]
    fn who_does_not_end_is_not_the_best() {
        let all = cases(Extent::Quick, 1);
        let group = all[0].group.clone();
        let of = |protocol, slow: f64, finished| {
            let case = all.iter().find(|case| case.group == group && case.protocol == protocol).unwrap();
            let mut outcome = outcome(finished);
            if let Some(slowdown) = &mut outcome.slowdown {
                slowdown.p99 = slow;
            }
            Run { case: case.clone(), outcome }
        };
        let runs = vec![
            of(Protocol::Tessera, 6.0, true),
            of(Protocol::Rc, 12.0, true),
            of(Protocol::Irn, 2.0, false),
            of(Protocol::Srd, 8.0, true),
            // Ours without its interval is no counterpart.
            of(Protocol::FixedInterval, 1.0, true),
        ];
        let standings = Results { runs, ..Results::default() }.standings();
        assert_eq!(standings.len(), 1);
        assert_eq!(standings[0].best, Some((Protocol::Srd, 8.0)));
        assert_eq!(standings[0].below, Some(0.25));
    }
}
