//! What a sweep is measured against.

use serde::Serialize;
use tessera_abi::wire;
use tessera_sim::counterpart::Parameters;

use super::beds::Transport;
use super::grid::{LossRate, Point, Reordering, Service};
use super::load::Outcome;
use super::Measured;

/// Within this much of a counterpart's figure nobody is ahead.
const EVEN: f64 = 0.03;
/// Of fewer messages the 99th percentile is little more than the longest time.
const TIMED: u64 = 100;
/// Of fewer retransmissions that were needed the share of others says little.
const NEEDED: u64 = 50;

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
    pub service: Service,
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

/// A figure of ours beside a counterpart's: above 1 ours is better.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Figure {
    pub ratio: f64,
    pub standing: Standing,
}

impl Figure {
    fn of(ratio: f64, excused: f64) -> Self {
        Self { ratio, standing: Standing::of(ratio, excused) }
    }
}

/// We and a counterpart at one point.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    pub at: String,
    pub with: Transport,
    /// Our goodput over theirs.
    pub goodput: Figure,
    /// Their p99 over ours, where both timed enough messages.
    pub p99: Option<Figure>,
}

/// Whether a p99 is one.
pub fn has_p99(outcome: &Outcome) -> bool {
    outcome.timed >= TIMED
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
            let (service, at, met) = (point.service, point.to_string(), value >= limit);
            verdicts.push(Verdict { service, target, at, value, limit, met });
        }
    }
}

/// Spurious retransmissions, of the needed and where nothing was lost.
const SPURIOUS: [(&str, f64); 3] = [
    ("spurious of all packets, reordering without loss", 1e-3),
    ("spurious of the needed, 1 % loss", 2e-2),
    ("spurious of the needed, 1 % loss, sizes with fewer than 50 together", 2e-2),
];

/// Judges each point; those with few losses together, by kind of reordering.
fn spurious(measured: &[&Measured], verdicts: &mut Vec<Verdict>) {
    let [clean, lossy, together] = SPURIOUS;
    let mut add = |(target, limit): (&'static str, f64), service, at: String, value: f64| {
        verdicts.push(Verdict { service, target, at, value, limit, met: value < limit });
    };
    let mut few: Vec<((Service, Reordering), [u64; 3])> = Vec::new();
    for Measured { point, block, .. } in measured {
        if point.loss == LossRate::NONE && point.reordering.paths > 1 {
            add(clean, point.service, point.to_string(), block.spurious as f64 / block.data.max(1) as f64);
        } else if point.loss != (LossRate { rate: 1e-2, bursty: false }) {
            continue;
        } else if block.needed >= NEEDED {
            add(lossy, point.service, point.to_string(), block.spurious as f64 / block.needed as f64);
        } else {
            let of = (point.service, point.reordering);
            let index = few.iter().position(|(known, _)| *known == of).unwrap_or_else(|| {
                few.push((of, [0; 3]));
                few.len() - 1
            });
            let [sizes, needed, spurious] = &mut few[index].1;
            (*sizes, *needed, *spurious) = (*sizes + 1, *needed + block.needed, *spurious + block.spurious);
        }
    }
    for ((service, reordering), [sizes, needed, spurious]) in few {
        if needed + spurious > 0 {
            let at = format!("{service}, {reordering}, {sizes} sizes");
            add(together, service, at, spurious as f64 / needed.max(1) as f64);
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
            let goodput = block.packets_per_clock / theirs.packets_per_clock.max(1e-9);
            let p99 = theirs.p99_us / block.p99_us.max(1e-9);
            verdicts.comparisons.push(Comparison {
                at: point.to_string(),
                with: *with,
                goodput: Figure::of(goodput, excused),
                p99: (has_p99(block) && has_p99(theirs)).then(|| Figure::of(p99, excused)),
            });
        }
    }
    verdicts
}

/// Takes a figure of a comparison that has it.
pub type Take = fn(&Comparison) -> Option<Figure>;

/// What is compared with counterparts.
pub const FIGURES: [(&str, Take); 2] =
    [("goodput", |comparison| Some(comparison.goodput)), ("p99", |comparison| comparison.p99)];

/// Most places named per target or counterpart.
const NAMED: usize = 12;

impl Verdicts {
    /// The verdicts of each target and service, in the order they are first met.
    pub fn by_target(&self) -> Vec<Vec<&Verdict>> {
        let mut all: Vec<Vec<&Verdict>> = Vec::new();
        for verdict in &self.targets {
            let alike = |of: &&mut Vec<&Verdict>| {
                of.iter().any(|other| (other.service, other.target) == (verdict.service, verdict.target))
            };
            match all.iter_mut().find(alike) {
                Some(of) => of.push(verdict),
                None => all.push(vec![verdict]),
            }
        }
        all
    }

    /// Points of a target, and how many of them fall short.
    fn print_target(of: &[&Verdict]) {
        let Some(Verdict { service, target, .. }) = of.first() else { return };
        let short: Vec<_> = of.iter().filter(|verdict| !verdict.met).collect();
        let mark = if short.is_empty() { "PASS " } else { "SHORT" };
        println!("{mark} {service}: {target}: met at {} of {} judged", of.len() - short.len(), of.len());
        for verdict in short.iter().take(NAMED) {
            println!("        {:.4} instead of {:.4}: {}", verdict.value, verdict.limit, verdict.at);
        }
        if short.len() > NAMED {
            println!("        and {} more (--json has them all)", short.len() - NAMED);
        }
    }

    /// Figures beside a counterpart at all points that have them.
    pub fn figures(&self, with: Transport, figure: Take) -> Vec<(&Comparison, Figure)> {
        let of = self.comparisons.iter().filter(|comparison| comparison.with == with);
        of.filter_map(|comparison| Some((comparison, figure(comparison)?))).collect()
    }

    fn print_comparison(&self, with: Transport) {
        for (name, figure) in FIGURES {
            let of = self.figures(with, figure);
            let count = |standing| of.iter().filter(|(_, figure)| figure.standing == standing).count();
            let behind = count(Standing::Behind);
            println!(
                "{} ahead of {} in {name}: {} of {} judged, even at {}, behind at {behind}",
                if behind == 0 { "PASS " } else { "SHORT" },
                with.name(),
                count(Standing::Ahead),
                of.len(),
                count(Standing::Even),
            );
            let short = of.iter().filter(|(_, figure)| figure.standing == Standing::Behind);
            for (comparison, figure) in short.take(NAMED) {
                println!("        {:.2} of theirs: {}", figure.ratio, comparison.at);
            }
            if behind > NAMED {
                println!("        and {} more (--json has them all)", behind - NAMED);
            }
        }
    }

    /// Prints every target and every counterpart.
    pub fn print(&self) {
        for of in self.by_target() {
            Self::print_target(&of);
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
        Outcome { packets_per_clock, p99_us, needed, spurious, data: 1000, timed: 100, ..Outcome::default() }
    }

    fn at(size: usize, m: &Measured) -> Measured {
        Measured { point: Point { size, ..m.point }, ..m.clone() }
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
        let standings: Vec<_> =
            comparisons.iter().map(|c| (c.goodput.standing, c.p99.map(|p99| p99.standing))).collect();
        use Standing::{Ahead, Behind, Even};
        assert_eq!(standings, [(Even, Some(Behind)), (Ahead, Some(Ahead)), (Ahead, Some(Ahead))]);
        assert_eq!(judge(&all, 100).targets.len(), 4);
        let few = |m: &Measured| Measured { point: Point { messages: 3, ..m.point }, ..m.clone() };
        assert!(judge(&[few(&all[0])], 1024).comparisons.is_empty());
    }

    #[test]
    fn no_size_hides_behind_another() {
        let lossy =
            |needed, spurious| measured(1e-2, outcome(0.05, 9.0, needed, spurious), Outcome::default());
        let all = [
            at(1000, &lossy(1000, 2)),
            at(2000, &lossy(50, 2)),
            at(3000, &lossy(49, 2)),
            at(4000, &lossy(49, 0)),
            at(1000, &measured(0.0, outcome(0.05, 9.0, 0, 0), Outcome::default())),
            at(2000, &measured(0.0, outcome(0.05, 9.0, 0, 1), Outcome::default())),
        ];
        let mut met: Vec<(&str, bool)> =
            judge(&all, 1024).targets.iter().map(|v| (v.target, v.met)).collect();
        met.retain(|(target, _)| target.starts_with("spurious"));
        let [clean, lossy, together] = SPURIOUS.map(|(target, _)| target);
        let wanted = [(lossy, true), (lossy, false), (clean, true), (clean, false), (together, false)];
        assert_eq!(met, wanted);
    }

    #[test]
    fn a_p99_of_few_messages_is_not_judged() {
        for (ours, theirs) in [(99, 100), (100, 99)] {
            let of = |timed| Outcome { timed, ..outcome(0.05, 9.0, 0, 0) };
            let verdicts = judge(&[measured(0.0, of(ours), of(theirs))], 1024);
            assert!(verdicts.comparisons[0].p99.is_none());
            assert!(verdicts.figures(Transport::GoBackN, FIGURES[1].1).is_empty());
            assert_eq!(verdicts.figures(Transport::GoBackN, FIGURES[0].1).len(), 1);
        }
    }

    #[test]
    fn datagrams_have_no_targets() {
        let all = [0.0, 1e-3].map(|rate| measured(rate, outcome(0.05, 9.0, 0, 0), Outcome::default()));
        let all = all.map(|m| Measured { point: Point { service: Service::Datagram, ..m.point }, ..m });
        assert!(judge(&all, 1024).targets.is_empty());
    }
}
