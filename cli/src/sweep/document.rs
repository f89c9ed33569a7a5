//! A sweep's page under docs/: what was asked for and what came out, as tables
//! of size and reordering against loss, and two plots. What was written by hand
//! between its two marks is kept when it is written again.

use std::fmt::Write;
use std::path::Path;

use super::beds::Transport;
use super::file::Results;
use super::grid::{Extent, LossRate, Point, Service};
use super::html::{plot, Series, ZERO};
use super::load::Outcome;
use super::targets::{self, Figure, Standing, Verdict, Verdicts, FIGURES};
use super::Measured;
use crate::output::{self, Failure};

/// Files of the two plots.
const PLOTS: [&str; 2] = ["sweep-goodput.svg", "sweep-p99.svg"];
/// What a hand wrote stands between these.
const MARKS: [&str; 2] = ["<!-- by hand, kept -->", "<!-- end of by hand -->"];

/// What stands between the marks of a page: nothing in one without them.
fn by_hand(page: &str) -> Result<&str, Failure> {
    let [begin, end] = MARKS;
    let Some((_, behind)) = page.split_once(begin) else { return Ok("\n") };
    let Some((kept, _)) = behind.split_once(end) else {
        return Err(Failure::new(format!(
            "sweep.md has \"{begin}\" without \"{end}\" behind it: mend it first"
        )));
    };
    Ok(kept)
}

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

/// A table of size and reordering against loss, of points of one service.
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

fn ratio(verdicts: &Verdicts, m: &Measured, of: targets::Take) -> String {
    let at = m.point.to_string();
    let here: Vec<Figure> = verdicts.comparisons.iter().filter(|c| c.at == at).filter_map(of).collect();
    match here.iter().map(|figure| figure.ratio).min_by(f64::total_cmp) {
        None => "-".into(),
        Some(ratio) if here.iter().any(|figure| figure.standing == Standing::Behind) => {
            format!("**{ratio:.2}**")
        }
        Some(ratio) => format!("{ratio:.2}"),
    }
}

/// The targets, and how we stand to the counterparts.
fn verdict_tables(page: &mut String, verdicts: &Verdicts) {
    page.push_str("## Targets\n\n| service | target | met at | worst | limit |\n|---|---|---|---|---|\n");
    for of in verdicts.by_target() {
        let Some(Verdict { service, target, limit, .. }) = of.first() else { continue };
        let met = of.iter().filter(|v| v.met).count();
        let values = of.iter().map(|v| v.value);
        // A share of goodput is to be high, one of retransmissions low.
        let worst = if target.starts_with("goodput") {
            values.fold(f64::MAX, f64::min)
        } else {
            values.fold(f64::MIN, f64::max)
        };
        let _ =
            writeln!(page, "| {service} | {target} | {met} of {} judged | {worst:.4} | {limit} |", of.len());
    }
    page.push_str(
        "\n| sends beside | goodput: judged | ahead | even | behind | p99: judged | ahead | even | behind |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    for &with in Transport::counterparts(usize::MAX) {
        let _ = write!(page, "| {} |", with.name());
        for (_, figure) in FIGURES {
            let of = verdicts.figures(with, figure);
            let _ = write!(page, " {} |", of.len());
            for standing in [Standing::Ahead, Standing::Even, Standing::Behind] {
                let count = of.iter().filter(|(_, figure)| figure.standing == standing).count();
                let _ = write!(page, " {count} |");
            }
        }
        page.push('\n');
    }
    page.push_str(
        "\nEvery point stands for itself; sizes with fewer than 50 retransmissions needed are judged together. Even is within 3 %, and\n\
         as much as our longer headers explain. A p99 is judged where both sides timed 100 messages or more.\n\n",
    );
}

/// The figures of one service, of points that send enough.
fn service_tables(page: &mut String, service: Service, telling: &[Measured], verdicts: &Verdicts) {
    let name = match service {
        Service::Send => "Sends",
        Service::Write => "Writes",
        Service::Datagram => return,
    };
    let of: Vec<Measured> = telling.iter().filter(|m| m.point.service == service).cloned().collect();
    if of.is_empty() {
        return;
    }
    let compared = of.iter().any(|m| !m.counterparts.is_empty());
    let _ = writeln!(page, "## {name}: goodput, million packets per second and NIC\n");
    table(page, &of, |m| format!("{:.2}", super::mpps(&m.block)));
    if compared {
        let _ = writeln!(
            page,
            "## {name}: goodput over that of the best counterpart\n\nBold where we are behind one.\n"
        );
        table(page, &of, |m| ratio(verdicts, m, FIGURES[0].1));
    }
    let _ = writeln!(
        page,
        "## {name}: p99 of a message, microseconds\n\nIn brackets: the longest time, of fewer than 100 messages.\n"
    );
    table(page, &of, |m| match targets::has_p99(&m.block) {
        true => format!("{:.1}", m.block.p99_us),
        false => format!("({:.1})", m.block.p99_us),
    });
    if compared {
        let _ = writeln!(
            page,
            "## {name}: p99 of the best counterpart over ours\n\nAbove 1 ours is shorter; bold where we are behind one.\n"
        );
        table(page, &of, |m| ratio(verdicts, m, FIGURES[1].1));
    }
    let _ = writeln!(
        page,
        "## {name}: retransmissions, needed + spurious\n\nNeeded: a copy of the packet was lost and none has made up for it \
         yet. All else is spurious, whatever was lost\nbesides, for all transports alike.\n"
    );
    table(page, &of, |m| format!("{} + {}", m.block.needed, m.block.spurious));
}

fn datagram_tables(page: &mut String, measured: &[Measured]) {
    let of: Vec<Measured> =
        measured.iter().filter(|m| m.point.service == Service::Datagram).cloned().collect();
    if of.is_empty() {
        return;
    }
    page.push_str(
        "## Datagrams: delivered, % of those sent\n\nNobody recovers them. Behind a stroke, where a NIC dropped some: \
         % of those that the fabric brought.\n\n",
    );
    let share = |part: u64, whole: u64| 100.0 * part as f64 / whole.max(1) as f64;
    table(page, &of, |Measured { block, .. }| {
        let delivered = format!("{:.2}", share(block.messages, block.data));
        match block.messages == block.carried {
            true => delivered,
            false => format!("{delivered} / {:.2}", share(block.messages, block.carried)),
        }
    });
    page.push_str("## Datagrams: goodput, million per second and NIC\n\n");
    table(page, &of, |m| format!("{:.2}", super::mpps(&m.block)));
}

fn page(results: &Results, verdicts: &Verdicts, wanted: usize, by_hand: &str) -> String {
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
    let [begin, end] = MARKS;
    let mut page = format!(
        "# Sweep\n\n\
         Generated by `cargo tessera sweep{extent} --nics {} --payload {} --seed {}{registers} --json FILE --docs docs`, all but what is marked as by hand.\n\n\
         {} of {wanted} points of `{}` at {}, begun {date}, {}. Every message of every point was delivered once, byte for byte, and of\n\
         datagrams none but what was sent. How it is measured: [verification.md](verification.md). In the tables a column is a loss rate;\n\
         figures of sends and writes are of points that send enough ({} of them).\n\n\
         {begin}{by_hand}{end}\n\n",
        setting.nics,
        setting.payload_bytes,
        setting.seed,
        measured.len(),
        setting.configuration,
        setting.revision,
        super::words(*wall_s),
        telling.len(),
    );
    verdict_tables(&mut page, verdicts);
    let _ = write!(
        page,
        "![Goodput over loss, of our own without loss]({})\n\n![p99 over loss, of our own without loss]({})\n\n\
         Sends: geometric means over sizes and reorderings. Colours: ours blue, go-back-N orange, IRN green, the same over all paths\n\
         in turn pink and violet.\n\n",
        PLOTS[0], PLOTS[1]
    );
    for service in Service::ALL {
        service_tables(&mut page, service, &telling, verdicts);
    }
    datagram_tables(&mut page, measured);
    page.truncate(page.trim_end().len());
    page.push('\n');
    page
}

/// Fails when a page in `folder` could not be written again without loss.
pub fn check(folder: &Path) -> Result<(), Failure> {
    let path = folder.join("sweep.md");
    output::check_writable(&path)?;
    by_hand(&existing(&path)?).map(drop)
}

fn existing(path: &Path) -> Result<String, Failure> {
    match std::fs::read_to_string(path) {
        Ok(page) => Ok(page),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(Failure::new(format!("cannot read {}: {error}", path.display()))),
    }
}

/// Writes `sweep.md` and its plots into `folder`; `wanted` points would be all.
pub fn write(folder: &Path, results: &Results, wanted: usize) -> Result<(), Failure> {
    let path = folder.join("sweep.md");
    let old = existing(&path)?;
    let by_hand = by_hand(&old)?;
    let payload = results.setting.payload_bytes as usize;
    let verdicts = targets::judge(&results.measured, payload);
    let sends = |m: &&Measured| m.point.is_telling(payload) && m.point.service == Service::Send;
    let sends: Vec<Measured> = results.measured.iter().filter(sends).cloned().collect();
    let goodput = plotted(&sends, |outcome| outcome.packets_per_clock);
    let timed: Vec<Measured> = sends.into_iter().filter(|m| targets::has_p99(&m.block)).collect();
    let p99 = plotted(&timed, |outcome| outcome.p99_us);
    output::write(&folder.join(PLOTS[0]), plot(&goodput, "goodput, of ours without loss", true)?)?;
    output::write(&folder.join(PLOTS[1]), plot(&p99, "p99, of ours without loss", true)?)?;
    output::write(&path, page(results, &verdicts, wanted, by_hand))
}

#[cfg(test)]
mod tests {
    use super::super::file::Setting;
    use super::super::grid::{self};
    use super::*;

    fn results() -> Results {
        let setting = Setting {
            configuration: "nic512".into(),
            revision: "abc".into(),
            extent: Extent::Quick,
            nics: 2,
            payload_bytes: 1024,
            seed: 9,
            registers: Vec::new(),
        };
        let outcome = |rate: f64, p99_us| Outcome {
            packets_per_clock: rate,
            p99_us,
            timed: 100,
            data: 1000,
            carried: 990,
            messages: 980,
            ..Outcome::default()
        };
        let points = grid::points(Extent::Quick, 1024);
        let of = |service: Service| points.iter().filter(move |point| point.service == service).copied();
        let writes = of(Service::Write).next().map(|point| Point { messages: 4000, ..point });
        let mut results = Results::none(setting);
        results.measured = points[..3]
            .iter()
            .copied()
            .chain(writes)
            .chain(of(Service::Datagram).next())
            .map(|point| Measured {
                point,
                block: outcome(0.05 - point.loss.rate, 10.0),
                counterparts: match point.service {
                    Service::Send => vec![(Transport::GoBackN, outcome(0.025, 9.0))],
                    _ => Vec::new(),
                },
            })
            .collect();
        results
    }

    #[test]
    fn the_page_says_what_was_measured() {
        let results = results();
        let verdicts = targets::judge(&results.measured, 1024);
        let page = page(&results, &verdicts, 40, "\n");
        assert!(
            page.contains("\n5 of 40 points") && page.contains("--quick --nics 2 --payload 1024 --seed 9")
        );
        assert!(
            page.contains("| send | goodput at 1 % loss, of lossless | 0 of 1 judged | 0.8000 | 0.9 |"),
            "{page}"
        );
        assert!(page.contains("| go-back-N | 3 | 3 | 0 | 0 | 3 | 0 | 0 | 3 |"), "{page}");
        assert!(page.contains("| 65536 | 4 paths skew 2x | 2.00 | 1.96 | 1.60 |"), "{page}");
        assert!(page.contains("| 65536 | 4 paths skew 2x | **0.90** | **0.90** | **0.90** |"), "{page}");
        assert!(page.contains("## Writes: goodput") && !page.contains("## Writes: goodput over"), "{page}");
        assert!(page.contains("| 1 | 8 paths skew 10x | 98.00 / 98.99 |"), "{page}");
        let lines = plotted(&results.measured[..3], |outcome| outcome.packets_per_clock);
        assert_eq!(lines.len(), 2);
        assert!((lines[0].1[2].1 - 0.8).abs() < 1e-9 && (lines[1].1[0].1 - 0.5).abs() < 1e-9);
    }

    #[test]
    fn what_a_hand_wrote_outlives_the_figures() {
        let folder = std::env::temp_dir().join(format!("tessera-sweep-docs-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("sweep.md");
        let mut results = results();
        write(&folder, &results, 40).unwrap();
        let [begin, end] = MARKS;
        let page = std::fs::read_to_string(&path).unwrap();
        let written = page.replace(begin, &format!("{begin}\n\nSkew is what costs.\n"));
        std::fs::write(&path, written.replace("Generated", "Written")).unwrap();
        results.setting.seed = 10;
        for _ in 0..2 {
            write(&folder, &results, 40).unwrap();
        }
        let page = std::fs::read_to_string(&path).unwrap();
        assert!(page.contains(&format!("{begin}\n\nSkew is what costs.\n\n{end}\n\n## Targets")), "{page}");
        assert!(page.contains("--seed 10") && page.contains("Generated") && page.matches(begin).count() == 1);
        std::fs::write(&path, page.replace(end, "")).unwrap();
        assert!(check(&folder).is_err() && write(&folder, &results, 40).is_err());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
