//! How far two networks agree on when the messages of a plan were there.

use std::collections::BTreeMap;

use serde::Serialize;
use tessera_net::network::{MakeError, Network};
use tessera_net::traffic::List;
use tessera_net::Ps;

use crate::host::Host;
use crate::plan::{Plan, PlanError, Posted};

/// What a network made of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// When each message was at its receiver; none: never.
    #[serde(skip)]
    pub delivered: Vec<Option<Ps>>,
    /// What was counted.
    pub counts: BTreeMap<String, u64>,
}

/// Why a result file is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of ns-3's result is not understood: {text}")]
pub struct ParseError {
    line: usize,
    text: String,
}

impl Outcome {
    /// Reads what `main.cc` writes: `# name count`, then a line per message.
    ///
    /// # Errors
    /// If a line says anything else.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let mut outcome = Self::default();
        for (number, line) in text.lines().enumerate() {
            let refuse = || ParseError { line: number + 1, text: line.to_owned() };
            if line.starts_with("message,") {
                continue;
            }
            if let Some(count) = line.strip_prefix("# ") {
                let (name, count) = count.split_once(' ').ok_or_else(refuse)?;
                outcome.counts.insert(name.to_owned(), count.parse().map_err(|_| refuse())?);
                continue;
            }
            let fields: Vec<&str> = line.split(',').collect();
            let [message, delivered, _acknowledged, _failed] = fields[..] else { return Err(refuse()) };
            if message.parse() != Ok(outcome.delivered.len()) {
                return Err(refuse());
            }
            let at = match delivered {
                "" => None,
                at => Some(at.parse().map_err(|_| refuse())?),
            };
            outcome.delivered.push(at);
        }
        Ok(outcome)
    }

    /// Runs a plan on our network.
    ///
    /// # Errors
    /// If it makes no sense.
    pub fn of(plan: &Plan) -> Result<Self, PlanError> {
        let shape = plan.make().shape.ok_or(MakeError::Senseless("a network needs a shape"))?;
        let topology = tessera_net::topology::Topology::new(shape, plan.seed).map_err(MakeError::Shape)?;
        let mut network = Network::with_hosts(&plan.make(), plan.hosts(topology.hosts())?)?;
        let mut list = List::default();
        for &Posted { at, from, to, bytes } in &plan.messages {
            list.add(at, from, to, bytes);
        }
        network.run(&mut list, Ps::MAX, |_| true);
        let (tally, counts) = (network.tally(), network.counts());
        let counts = [
            ("sent", tally.sent),
            ("again", tally.again),
            ("control", tally.control),
            ("timeouts", tally.timeouts),
            ("lost", network.hosts().iter().map(Host::lost).sum()),
            ("marked", counts.marked),
            ("dropped", counts.dropped),
            ("hops", counts.hops),
            ("events", counts.events),
        ];
        Ok(Self {
            delivered: list.records.iter().map(|record| record.delivered).collect(),
            counts: counts.into_iter().map(|(name, count)| (name.to_owned(), count)).collect(),
        })
    }
}

/// Completion times of a plan's messages, picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Times {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: Ps,
    /// Of 99 % at most.
    pub p99: Ps,
    /// Of the last.
    pub max: Ps,
}

/// The value that a share of a sorted list does not exceed; of an empty list 0.
fn quantile<T: Copy + Default>(sorted: &[T], share: f64) -> T {
    let at = ((sorted.len() as f64 * share).ceil() as usize).max(1) - 1;
    sorted.get(at).copied().unwrap_or_default()
}

impl Times {
    fn of(mut times: Vec<Ps>) -> Self {
        times.sort_unstable();
        let sum: f64 = times.iter().map(|&time| time as f64).sum();
        Self {
            mean: sum / times.len().max(1) as f64,
            p50: quantile(&times, 0.5),
            p99: quantile(&times, 0.99),
            max: quantile(&times, 1.0),
        }
    }
}

/// ns-3's less ours, as a share of ours.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// Of the means.
    pub mean: f64,
    /// Of the medians.
    pub p50: f64,
    /// Of the 99th percentiles.
    pub p99: f64,
    /// Of the last ones.
    pub max: f64,
}

/// How far both agree.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The plan's name.
    pub name: String,
    /// Messages.
    pub messages: usize,
    /// Messages that one of the two never delivered.
    pub undelivered: usize,
    /// Packets that a device of ns-3's did not take.
    pub refused: u64,
    /// Ours.
    pub ours: Times,
    /// ns-3's.
    pub ns3: Times,
    /// Between the two distributions.
    pub difference: Difference,
    /// Messages that took equally long to the picosecond.
    pub equal: usize,
    /// Of each message by itself, either way: the median difference.
    pub each_p50: f64,
    /// And what 99 % differ by at most.
    pub each_p99: f64,
    /// What our network counted.
    pub our_counts: BTreeMap<String, u64>,
    /// What ns-3 and its hosts counted.
    pub ns3_counts: BTreeMap<String, u64>,
}

impl Comparison {
    /// Compares what became of a plan.
    pub fn new(plan: &Plan, ours: &Outcome, ns3: &Outcome) -> Self {
        let mut times = (Vec::new(), Vec::new());
        let mut each = Vec::new();
        for (number, message) in plan.messages.iter().enumerate() {
            let took = |outcome: &Outcome| Some(outcome.delivered.get(number).copied()?? - message.at);
            if let (Some(our), Some(their)) = (took(ours), took(ns3)) {
                times.0.push(our);
                times.1.push(their);
                each.push(relative(their as f64, our as f64).abs());
            }
        }
        each.sort_unstable_by(f64::total_cmp);
        let (undelivered, messages) = (plan.messages.len() - each.len(), plan.messages.len());
        let (our, their) = (Times::of(times.0), Times::of(times.1));
        let of = |value: fn(&Times) -> f64| relative(value(&their), value(&our));
        Self {
            name: plan.name.clone(),
            messages,
            undelivered,
            refused: ns3.counts.get("refused").copied().unwrap_or(0),
            ours: our,
            ns3: their,
            difference: Difference {
                mean: of(|times| times.mean),
                p50: of(|times| times.p50 as f64),
                p99: of(|times| times.p99 as f64),
                max: of(|times| times.max as f64),
            },
            equal: each.iter().filter(|&&difference| difference == 0.0).count(),
            each_p50: quantile(&each, 0.5),
            each_p99: quantile(&each, 0.99),
            our_counts: ours.counts.clone(),
            ns3_counts: ns3.counts.clone(),
        }
    }

    /// Whether median, 99th percentile and last differ by at most so much, and all arrived.
    pub fn agrees(&self, tolerance: f64) -> bool {
        let Difference { p50, p99, max, .. } = self.difference;
        let near = [p50, p99, max].iter().all(|difference| difference.abs() <= tolerance);
        near && self.undelivered == 0 && self.refused == 0
    }
}

fn relative(value: f64, reference: f64) -> f64 {
    if value == reference {
        return 0.0;
    }
    value / reference - 1.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases;

    const RESULT: &str = "# sent 7\n# dropped 0\nmessage,delivered,acknowledged,failed\n\
                          0,1500,,0\n1,,,1\n2,2500,3000,0\n";

    #[test]
    fn a_result_is_read_and_anything_else_refused() {
        let outcome = Outcome::parse(RESULT).unwrap();
        assert_eq!(outcome.delivered, [Some(1500), None, Some(2500)]);
        assert_eq!(outcome.counts["sent"], 7);
        for (wrong, line) in [
            ("# sent\n", 1),
            ("# sent many\n", 1),
            ("0,1,2,0\n2,1,2,0\n", 2),
            ("0,1,2\n", 1),
            ("0,soon,2,0\n", 1),
            ("0,1,2,0\n\n", 2),
        ] {
            assert_eq!(Outcome::parse(wrong).unwrap_err().line, line, "{wrong:?}");
        }
    }

    fn plan(count: usize) -> Plan {
        let mut plan = cases::plans(32, 1).unwrap().remove(0);
        plan.messages.truncate(count);
        plan
    }

    fn outcome(plan: &Plan, took: impl Fn(usize) -> Option<Ps>) -> Outcome {
        let at = |(number, message): (usize, &Posted)| Some(message.at + took(number)?);
        Outcome { delivered: plan.messages.iter().enumerate().map(at).collect(), ..Outcome::default() }
    }

    #[test]
    fn quantiles_are_of_what_is_there() {
        let hundred: Vec<u64> = (1..=100).collect();
        assert_eq!(quantile(&hundred, 0.5), 50);
        assert_eq!(quantile(&hundred, 0.99), 99);
        assert_eq!(quantile(&hundred, 1.0), 100);
        assert_eq!(quantile(&[7u64], 0.5), 7);
        assert_eq!(quantile::<u64>(&[], 0.5), 0);
    }

    #[test]
    fn only_what_is_within_the_tolerance_agrees() {
        let plan = plan(200);
        let ours = outcome(&plan, |number| Some(1000 * (number as u64 + 1)));
        let same = Comparison::new(&plan, &ours, &ours);
        assert!(same.agrees(0.0));
        assert_eq!((same.equal, same.undelivered), (200, 0));
        assert_eq!((same.ours.p50, same.ours.p99, same.ours.max), (100_000, 198_000, 200_000));

        // The last one alone is late.
        let late = outcome(&plan, |number| Some(1000 * (number as u64 + 1) + 6000 * (number as u64 / 199)));
        let late = Comparison::new(&plan, &ours, &late);
        assert!(late.agrees(0.031) && !late.agrees(0.029), "{:?}", late.difference);
        assert_eq!((late.difference.p50, late.difference.p99, late.equal), (0.0, 0.0, 199));

        // All are early.
        let early = outcome(&plan, |number| Some(970 * (number as u64 + 1)));
        let early = Comparison::new(&plan, &ours, &early);
        assert!(early.agrees(0.031) && !early.agrees(0.029), "{:?}", early.difference);
        assert!((early.each_p50 - 0.03).abs() < 1e-9 && early.difference.mean < -0.029);
    }

    #[test]
    fn what_never_arrived_or_was_refused_does_not_agree() {
        let plan = plan(200);
        let ours = outcome(&plan, |_| Some(1000));
        let gone = outcome(&plan, |number| (number != 5).then_some(1000));
        for (ours, theirs) in [(&ours, &gone), (&gone, &ours)] {
            let comparison = Comparison::new(&plan, ours, theirs);
            assert_eq!(comparison.undelivered, 1);
            assert!(!comparison.agrees(1.0));
        }
        let refused = Outcome { counts: [("refused".to_owned(), 1)].into(), ..ours.clone() };
        assert!(!Comparison::new(&plan, &ours, &refused).agrees(1.0));
    }

    #[test]
    fn our_network_delivers_what_is_lost_on_the_way() {
        let plans = cases::plans(32, 1).unwrap();
        let mut plan = plans.into_iter().find(|plan| plan.loss > 0.0).unwrap();
        plan.messages.truncate(300);
        let outcome = Outcome::of(&plan).unwrap();
        assert!(outcome.delivered.iter().all(Option::is_some));
        assert!(outcome.counts["lost"] > 0 && outcome.counts["again"] > 0, "{:?}", outcome.counts);
    }
}
