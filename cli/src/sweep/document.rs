//! A sweep's page under docs/: what was asked for and what came out, as tables
//! of size and reordering against loss, and two plots.

use std::fmt::Write;
use std::path::Path;

use super::beds::Transport;
use super::file::Results;
use super::grid::{Extent, LossRate, Point};
use super::html::{plot, Series, ZERO};
use super::load::Outcome;
use super::targets::{self, Standing, Verdicts};
use super::Measured;
use crate::output::{self, Failure};

/// Files of the two plots.
const PLOTS: [&str; 2] = ["sweep-goodput.svg", "sweep-p99.svg"];

/// Different values of points, in the order they are first met.
fn distinct<T: PartialEq>(measured: &[Measured], of: impl Fn(&Point) -> T) -> Vec<T> {
    let mut all = Vec::new();
    for m in measured {
        let value = of(&m.point);
        if !all.contains(&value) {
            all.push(value);
        }
    }
    all
}

/// A table of size and reordering against loss.
fn table(page: &mut String, measured: &[Measured], cell: impl Fn(&Measured) -> String) {
    let losses = distinct(measured, |point| point.loss);
    page.push_str("| bytes | reordering |");
    for loss in &losses {
        let _ = write!(page, " {loss} |");
    }
    let _ = writeln!(page, "\n|---|---|{}", "---|".repeat(losses.len()));
    for (size, reordering) in distinct(measured, |point| (point.size, point.reordering)) {
        let _ = write!(page, "| {size} | {reordering} |");
        for &loss in &losses {
            let here =
                |m: &&Measured| (m.point.size, m.point.reordering, m.point.loss) == (size, reordering, loss);
            let text = measured.iter().find(here).map_or_else(|| "-".to_owned(), &cell);
            let _ = write!(page, " {text} |");
        }
        page.push('\n');
    }
    page.push('\n');
}

/// Geometric mean over all points of one loss of what a transport reaches of what
/// our block does without loss at the same size and reordering.
fn plotted(measured: &[Measured], figure: fn(&Outcome) -> f64) -> Vec<Series> {
    let clean = |of: &Measured| {
        let clean = |m: &&Measured| m.point.loss == LossRate::NONE && m.point.same_but_loss(&of.point);
        measured.iter().find(clean).map(|m| figure(&m.block)).filter(|&value| value > 0.0)
    };
    let all = std::iter::once(Transport::Block).chain(Transport::counterparts(usize::MAX).iter().copied());
    let mut lines = Vec::new();
    for transport in all {
        let mut points = Vec::new();
        for loss in distinct(measured, |point| point.loss).into_iter().filter(|loss| !loss.bursty) {
            let (mut sum, mut count) = (0.0, 0u32);
            for m in measured.iter().filter(|m| m.point.loss == loss) {
                let outcome = match transport {
                    Transport::Block => Some(&m.block),
                    other => m.counterparts.iter().find(|(with, _)| *with == other).map(|(_, o)| o),
                };
                if let (Some(outcome), Some(clean)) = (outcome, clean(m)) {
                    sum += (figure(outcome).max(1e-9) / clean).ln();
                    count += 1;
                }
            }
            if count > 0 {
                points.push((loss.rate.max(ZERO), (sum / f64::from(count)).exp()));
            }
        }
        if !points.is_empty() {
            lines.push((transport, points));
        }
    }
    lines
}

fn ratio(verdicts: &Verdicts, m: &Measured, of: fn(&targets::Comparison) -> (f64, Standing)) -> String {
    let at = m.point.to_string();
    let here: Vec<_> = verdicts.comparisons.iter().filter(|c| c.at == at).map(of).collect();
    match here.iter().min_by(|a, b| a.0.total_cmp(&b.0)) {
        None => "-".into(),
        Some((ratio, _)) if here.iter().any(|(_, standing)| *standing == Standing::Behind) => {
            format!("**{ratio:.2}**")
        }
        Some((ratio, _)) => format!("{ratio:.2}"),
    }
}

fn page(results: &Results, verdicts: &Verdicts, wanted: usize) -> String {
    let Results { setting, date, wall_s, measured } = results;
    let payload = setting.payload_bytes as usize;
    let telling: Vec<Measured> = measured.iter().filter(|m| m.point.is_telling(payload)).cloned().collect();
    let extent = match setting.extent {
        Extent::Quick => " --quick",
        Extent::Normal => "",
        Extent::Full => " --full",
    };
    let registers: String =
        setting.registers.iter().map(|(name, value)| format!(" --set {name}={value}")).collect();
    let mut page = format!(
        "# Sweep\n\n\
         Written by `cargo tessera sweep{extent} --nics {} --payload {} --seed {}{registers} --json FILE --docs docs`: {} of {wanted} points\n\
         of `{}` at {}, begun {date}, {}. Every message of every point was delivered once, byte for byte. How it is measured:\n\
         [verification.md](verification.md). In the tables a column is a loss rate; figures are of points that send enough\n\
         ({} of them).\n\n## Targets\n\n| target | met at | worst | limit |\n|---|---|---|---|\n",
        setting.nics,
        setting.payload_bytes,
        setting.seed,
        measured.len(),
        setting.configuration,
        setting.revision,
        super::words(*wall_s),
        telling.len(),
    );
    let mut seen: Vec<&str> = Vec::new();
    for verdict in &verdicts.targets {
        if seen.contains(&verdict.target) {
            continue;
        }
        seen.push(verdict.target);
        let of: Vec<_> = verdicts.targets.iter().filter(|v| v.target == verdict.target).collect();
        let met = of.iter().filter(|v| v.met).count();
        let values = of.iter().map(|v| v.value);
        // A share of goodput is to be high, one of retransmissions low.
        let worst = if verdict.target.starts_with("goodput") {
            values.fold(f64::MAX, f64::min)
        } else {
            values.fold(f64::MIN, f64::max)
        };
        let _ = writeln!(
            page,
            "| {} | {met} of {} places | {worst:.4} | {} |",
            verdict.target,
            of.len(),
            verdict.limit
        );
    }
    page.push_str("\n| beside | goodput: ahead | even | behind | p99: ahead | even | behind |\n|---|---|---|---|---|---|---|\n");
    for &with in Transport::counterparts(usize::MAX) {
        let of: Vec<_> = verdicts.comparisons.iter().filter(|c| c.with == with).collect();
        let count = |figure: fn(&targets::Comparison) -> Standing, standing| {
            of.iter().filter(|c| figure(c) == standing).count()
        };
        let _ = write!(page, "| {} |", with.name());
        for figure in
            [(|c: &targets::Comparison| c.goodput) as fn(&targets::Comparison) -> Standing, |c| c.p99]
        {
            for standing in [Standing::Ahead, Standing::Even, Standing::Behind] {
                let _ = write!(page, " {} |", count(figure, standing));
            }
        }
        page.push('\n');
    }
    let _ = write!(
        page,
        "\nEven is within 3 %, and as much as our longer headers explain.\n\n\
         ![Goodput over loss, of our own without loss]({})\n\n![p99 over loss, of our own without loss]({})\n\n\
         Geometric means over sizes and reorderings. Colours: ours blue, go-back-N orange, IRN green, the same over all paths\n\
         in turn pink and violet.\n\n",
        PLOTS[0], PLOTS[1]
    );
    page.push_str("## Goodput, million packets per second and NIC\n\n");
    table(&mut page, &telling, |m| format!("{:.2}", super::mpps(&m.block)));
    page.push_str("## Goodput over that of the best counterpart\n\nBold where we are behind one.\n\n");
    table(&mut page, &telling, |m| ratio(verdicts, m, |c| (c.goodput_ratio, c.goodput)));
    page.push_str("## p99 of a message, microseconds\n\n");
    table(&mut page, &telling, |m| format!("{:.1}", m.block.p99_us));
    page.push_str("## p99 of the best counterpart over ours\n\nAbove 1 ours is shorter; bold where we are behind one.\n\n");
    table(&mut page, &telling, |m| ratio(verdicts, m, |c| (c.p99_ratio, c.p99)));
    page.push_str("## Retransmissions: needed + spurious\n\nNeeded: a copy of the packet was lost and none has made up for it yet. All else is spurious, whatever was lost\nbesides, for all transports alike.\n\n");
    table(&mut page, &telling, |m| format!("{} + {}", m.block.needed, m.block.spurious));
    page.truncate(page.trim_end().len());
    page.push('\n');
    page
}

/// Writes `sweep.md` and its plots into `folder`; `wanted` points would be all.
pub fn write(folder: &Path, results: &Results, wanted: usize) -> Result<(), Failure> {
    let verdicts = targets::judge(&results.measured, results.setting.payload_bytes as usize);
    let payload = results.setting.payload_bytes as usize;
    let telling: Vec<Measured> =
        results.measured.iter().filter(|m| m.point.is_telling(payload)).cloned().collect();
    let goodput = plotted(&telling, |outcome| outcome.packets_per_clock);
    let p99 = plotted(&telling, |outcome| outcome.p99_us);
    output::write(&folder.join(PLOTS[0]), plot(&goodput, "goodput, of ours without loss", true)?)?;
    output::write(&folder.join(PLOTS[1]), plot(&p99, "p99, of ours without loss", true)?)?;
    output::write(&folder.join("sweep.md"), page(results, &verdicts, wanted))
}

#[cfg(test)]
mod tests {
    use super::super::file::Setting;
    use super::super::grid::{self};
    use super::*;

    #[test]
    fn the_page_says_what_was_measured() {
        let setting = Setting {
            configuration: "nic512".into(),
            revision: "abc".into(),
            extent: Extent::Quick,
            nics: 2,
            payload_bytes: 1024,
            seed: 9,
            registers: Vec::new(),
        };
        let outcome = |rate: f64, p99_us| Outcome { packets_per_clock: rate, p99_us, ..Outcome::default() };
        let mut results = Results::none(setting);
        results.measured = grid::points(Extent::Quick, 1024)[..3]
            .iter()
            .map(|&point| Measured {
                point,
                block: outcome(0.05 - point.loss.rate, 10.0),
                counterparts: vec![(Transport::GoBackN, outcome(0.025, 9.0))],
            })
            .collect();
        let verdicts = targets::judge(&results.measured, 1024);
        let page = page(&results, &verdicts, 40);
        assert!(page.contains("3 of 40 points") && page.contains("--quick --nics 2 --payload 1024 --seed 9"));
        assert!(
            page.contains("| goodput at 1 % loss, of lossless | 0 of 1 places | 0.8000 | 0.9 |"),
            "{page}"
        );
        assert!(page.contains("| go-back-N | 3 | 0 | 0 | 0 | 0 | 3 |"), "{page}");
        assert!(page.contains("| 65536 | 4 paths skew 2x | 2.00 | 1.96 | 1.60 |"), "{page}");
        assert!(page.contains("| 65536 | 4 paths skew 2x | **0.90** | **0.90** | **0.90** |"), "{page}");
        let lines = plotted(&results.measured, |outcome| outcome.packets_per_clock);
        assert_eq!(lines.len(), 2);
        assert!((lines[0].1[2].1 - 0.8).abs() < 1e-9 && (lines[1].1[0].1 - 0.5).abs() < 1e-9);
    }
}
