//! What a sweep is measured against.

use serde::Serialize;
use tessera_abi::wire;
use tessera_sim::counterpart::Parameters;

use super::beds::Transport;
use super::grid::{LossRate, Point, Reordering};
use super::Measured;

/// Within this much of a counterpart's figure nobody is ahead.
const EVEN: f64 = 0.03;

/// How much longer our full packets are than a counterpart's, whose headers say
/// less: at line rate nobody can make up for that. 1 where packets are not full.
fn longer(point: &Point, with: Transport, payload: usize) -> f64 {
    if point.size < payload {
        return 1.0;
    }
    let ours = (payload.next_multiple_of(4) + wire::DATA_HEADER_LEN + wire::ICRC_LEN).div_ceil(64);
    ours as f64 / Parameters::beats(with.kind(), payload) as f64
}

/// A target at one place.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    pub target: &'static str,
    /// Where it was looked at.
    pub at: String,
    pub value: f64,
    pub limit: f64,
    pub met: bool,
}

/// How we stand to a counterpart in one figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    Ahead,
    Even,
    Behind,
}

impl Standing {
    /// Of a ratio in which more is better; as much as `excused` less is even.
    fn of(ratio: f64, excused: f64) -> Self {
        match ratio {
            ratio if ratio > 1.0 + EVEN => Self::Ahead,
            ratio if ratio * excused >= 1.0 - EVEN => Self::Even,
            _ => Self::Behind,
        }
    }
}

/// We and a counterpart at one point.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    pub at: String,
    pub with: Transport,
    /// Our goodput over theirs.
    pub goodput_ratio: f64,
    pub goodput: Standing,
    /// Their p99 over ours.
    pub p99_ratio: f64,
    pub p99: Standing,
}

/// What there is to say about a sweep.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Verdicts {
    pub targets: Vec<Verdict>,
    pub comparisons: Vec<Comparison>,
}

/// Goodput under loss over goodput without.
const GOODPUT: [(&str, f64, f64); 2] =
    [("goodput at 0.1 % loss, of lossless", 1e-3, 0.97), ("goodput at 1 % loss, of lossless", 1e-2, 0.90)];

fn goodput(measured: &[&Measured], verdicts: &mut Vec<Verdict>) {
    for (target, rate, limit) in GOODPUT {
        let wanted = LossRate { rate, bursty: false };
        for Measured { point, block, .. } in measured.iter().filter(|m| m.point.loss == wanted) {
            let clean = |m: &&&Measured| m.point.loss == LossRate::NONE && m.point.same_but_loss(point);
            let Some(clean) = measured.iter().find(clean) else { continue };
            // Packets, so that it also works for messages without bytes.
            let value = block.packets_per_clock / clean.block.packets_per_clock.max(1e-9);
            verdicts.push(Verdict { target, at: point.to_string(), value, limit, met: value >= limit });
        }
    }
}

/// Sums over the sizes of each kind of reordering.
fn spurious(measured: &[&Measured], verdicts: &mut Vec<Verdict>) {
    let mut reorderings: Vec<Reordering> = Vec::new();
    for m in measured {
        if !reorderings.contains(&m.point.reordering) {
            reorderings.push(m.point.reordering);
        }
    }
    for reordering in reorderings {
        let of = |loss: LossRate| -> Vec<&Measured> {
            let of = measured.iter().filter(|m| m.point.reordering == reordering && m.point.loss == loss);
            of.copied().collect()
        };
        let sum =
            |of: &[&Measured], what: fn(&Measured) -> u64| of.iter().map(|m| what(m)).sum::<u64>() as f64;
        let mut add = |target, sizes: usize, value: f64, limit| {
            let at = format!("{reordering}, {sizes} sizes");
            verdicts.push(Verdict { target, at, value, limit, met: value < limit });
        };
        let clean = of(LossRate::NONE);
        if reordering.paths > 1 && !clean.is_empty() {
            let value = sum(&clean, |m| m.block.spurious) / sum(&clean, |m| m.block.data).max(1.0);
            add("spurious of all packets, reordering without loss", clean.len(), value, 1e-3);
        }
        let lossy = of(LossRate { rate: 1e-2, bursty: false });
        if sum(&lossy, |m| m.block.needed) > 0.0 {
            let value = sum(&lossy, |m| m.block.spurious) / sum(&lossy, |m| m.block.needed);
            add("spurious of the needed, 1 % loss", lossy.len(), value, 2e-2);
        }
    }
}

/// Judges a sweep.
pub fn judge(all: &[Measured], payload: usize) -> Verdicts {
    let measured: Vec<&Measured> = all.iter().filter(|m| m.point.is_telling(payload)).collect();
    let mut verdicts = Verdicts::default();
    goodput(&measured, &mut verdicts.targets);
    spurious(&measured, &mut verdicts.targets);
    for Measured { point, block, counterparts } in measured {
        for (with, theirs) in counterparts {
            let excused = longer(point, *with, payload);
            // Equal payloads per packet: packets tell the same as bytes.
            let goodput_ratio = block.packets_per_clock / theirs.packets_per_clock.max(1e-9);
            let p99_ratio = theirs.p99_us / block.p99_us.max(1e-9);
            verdicts.comparisons.push(Comparison {
                at: point.to_string(),
                with: *with,
                goodput_ratio,
                goodput: Standing::of(goodput_ratio, excused),
                p99_ratio,
                p99: Standing::of(p99_ratio, excused),
            });
        }
    }
    verdicts
}

/// Most places named per target or counterpart.
const NAMED: usize = 12;

impl Verdicts {
    /// Points of a target, and how many of them fall short.
    fn print_target(&self, target: &str) {
        let of: Vec<_> = self.targets.iter().filter(|verdict| verdict.target == target).collect();
        let short: Vec<_> = of.iter().filter(|verdict| !verdict.met).collect();
        let mark = if short.is_empty() { "PASS " } else { "SHORT" };
        println!("{mark} {target}: {} of {} places", of.len() - short.len(), of.len());
        for verdict in short.iter().take(NAMED) {
            println!("        {:.4} instead of {:.4}: {}", verdict.value, verdict.limit, verdict.at);
        }
        if short.len() > NAMED {
            println!("        and {} more (--json has them all)", short.len() - NAMED);
        }
    }

    fn print_comparison(&self, with: Transport) {
        let of: Vec<_> = self.comparisons.iter().filter(|comparison| comparison.with == with).collect();
        let count = |standing, figure: fn(&Comparison) -> Standing| {
            of.iter().filter(|comparison| figure(comparison) == standing).count()
        };
        for (name, figure) in [
            ("goodput", (|c: &Comparison| c.goodput) as fn(&Comparison) -> Standing),
            ("p99", |c: &Comparison| c.p99),
        ] {
            let behind = count(Standing::Behind, figure);
            println!(
                "{} ahead of {} in {name}: {} of {} points, even at {}, behind at {behind}",
                if behind == 0 { "PASS " } else { "SHORT" },
                with.name(),
                count(Standing::Ahead, figure),
                of.len(),
                count(Standing::Even, figure),
            );
            for comparison in of.iter().filter(|c| figure(c) == Standing::Behind).take(NAMED) {
                let ratio = if name == "p99" { comparison.p99_ratio } else { comparison.goodput_ratio };
                println!("        {ratio:.2} of theirs: {}", comparison.at);
            }
            if behind > NAMED {
                println!("        and {} more (--json has them all)", behind - NAMED);
            }
        }
    }

    /// Prints every target and every counterpart.
    pub fn print(&self) {
        let mut targets: Vec<&str> = self.targets.iter().map(|verdict| verdict.target).collect();
        targets.dedup();
        let mut seen: Vec<&str> = Vec::new();
        for target in targets {
            if !seen.contains(&target) {
                seen.push(target);
                self.print_target(target);
            }
        }
        for &with in Transport::counterparts(usize::MAX) {
            if self.comparisons.iter().any(|comparison| comparison.with == with) {
                self.print_comparison(with);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::grid::{Point, Service};
    use super::super::load::Outcome;
    use super::*;

    fn measured(rate: f64, block: Outcome, theirs: Outcome) -> Measured {
        let point = Point {
            service: Service::Send,
            size: 1000,
            reordering: Reordering { paths: 4, skew: 2 },
            loss: LossRate { rate, bursty: false },
            messages: 4000,
            open: 2,
        };
        Measured { point, block, counterparts: vec![(Transport::GoBackN, theirs)] }
    }

    fn outcome(packets_per_clock: f64, p99_us: f64, needed: u64, spurious: u64) -> Outcome {
        Outcome { packets_per_clock, p99_us, needed, spurious, data: 1000, ..Outcome::default() }
    }

    #[test]
    fn targets_are_met_or_named() {
        let all = [
            measured(0.0, outcome(0.05, 10.0, 0, 2), outcome(0.0505, 9.0, 0, 0)),
            measured(1e-3, outcome(0.049, 12.0, 1, 0), outcome(0.04, 50.0, 1, 30)),
            measured(1e-2, outcome(0.044, 20.0, 100, 1), outcome(0.02, 99.0, 10, 300)),
        ];
        let Verdicts { targets, comparisons } = judge(&all, 1024);
        let met: Vec<(f64, bool)> = targets.iter().map(|v| ((v.value * 1000.0).round(), v.met)).collect();
        assert_eq!(met, [(980.0, true), (880.0, false), (2.0, false), (10.0, true)]);
        let standings: Vec<_> = comparisons.iter().map(|c| (c.goodput, c.p99)).collect();
        use Standing::{Ahead, Behind, Even};
        assert_eq!(standings, [(Even, Behind), (Ahead, Ahead), (Ahead, Ahead)]);
        assert_eq!(judge(&all, 100).targets.len(), 4);
        assert!(judge(
            &all[..1]
                .iter()
                .map(|m| Measured { point: Point { messages: 3, ..m.point }, ..m.clone() })
                .collect::<Vec<_>>(),
            1024
        )
        .comparisons
        .is_empty());
    }
}
