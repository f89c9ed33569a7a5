//! What the headline says: tables on the terminal, JSON, a page with plots.

mod page;

use std::path::Path;

use serde::Serialize;
use tessera_net::case::headline::peers_of;
use tessera_net::case::results::{OverSeeds, Results, Run, Standing};
use tessera_net::case::Protocol;
use tessera_net::stats::Spread;

use crate::output::{self, Failure};

/// By which p99 is to be below every counterpart's, and the aim.
const BAR: f64 = 0.3;
const AIM: f64 = 0.6;
/// How far a round may be above the ideal at a loss of a thousandth.
const OVER_IDEAL: f64 = 1.3;
/// By how much goodput may differ over the number of peers.
const FLAT: f64 = 0.02;

fn spread(spread: Option<Spread<f64>>, digits: usize) -> String {
    spread.map_or_else(
        || "-".into(),
        |s| format!("{:.digits$} / {:.digits$} / {:.digits$}", s.p50, s.p99, s.p999),
    )
}

/// A median and, of several seeds, its range.
fn over_seeds(over: &OverSeeds, digits: usize) -> String {
    let OverSeeds { median, least, most, seeds } = *over;
    if seeds == 1 {
        return format!("{median:.digits$}");
    }
    format!("{median:.digits$} ({least:.digits$} to {most:.digits$})")
}

/// How far ours is below another's.
fn below(below: &OverSeeds, above: &str) -> String {
    let OverSeeds { median, least, most, seeds } = *below;
    let share = |part: f64| format!("{:.0} %", 100.0 * part);
    let word = if median >= 0.0 { "below" } else { above };
    let range = format!(" ({} to {})", share(least), share(most));
    format!("{} {word}{}", share(median.abs()), if seeds == 1 { "" } else { &range })
}

/// One run on the terminal.
pub fn line(run: &Run) {
    let Run { case, outcome } = run;
    println!(
        "{:<34} {:<20} seed {:<3} slowdown {:>22}  {:>6.1} Gb/s per host  {}{}",
        case.group,
        case.protocol.name(),
        case.make.seed,
        spread(outcome.slowdown, 1),
        outcome.goodput,
        outcome.iterations.map_or_else(String::new, |times| format!("iteration {:.1} us  ", times.mean)),
        if outcome.finished { "" } else { "UNFINISHED" },
    );
}

/// A demand and whether it is met.
#[derive(Serialize)]
struct Verdict {
    demand: String,
    value: String,
    met: bool,
}

fn verdicts(results: &Results) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    for standing in results.standings() {
        let Standing { group, figure, ours, best, below: by, over_ideal } = &standing;
        if let (Some((protocol, theirs)), Some(by), true) = (best, by, figure.starts_with("p99")) {
            verdicts.push(Verdict {
                demand: format!("{group}: {figure} at least 30 % below the best counterpart's (aim: 60 %)"),
                value: format!(
                    "{}, {} {}: {}{}",
                    over_seeds(ours, 2),
                    protocol.name(),
                    over_seeds(theirs, 2),
                    below(by, "above"),
                    if by.median >= AIM { ", the aim" } else { "" }
                ),
                met: by.median >= BAR,
            });
        }
        if let (Some(over), true) = (over_ideal, group.ends_with("loss 0.1 %")) {
            verdicts.push(Verdict {
                demand: format!("{group}: at most {OVER_IDEAL} of the ideal"),
                value: over_seeds(over, 2),
                met: over.median <= OVER_IDEAL,
            });
        }
    }
    let peers = results.by_peers(Protocol::Tessera);
    if let (Some(first), true) = (peers.first(), peers.len() > 1) {
        let of = |(_, goodput): &(u32, OverSeeds)| (goodput.median / first.1.median - 1.0).abs();
        let off = peers.iter().map(of).fold(0.0, f64::max);
        let (least, most) = (first.0, peers[peers.len() - 1].0);
        verdicts.push(Verdict {
            demand: format!("goodput the same from {least} to {most} peers, within 2 %"),
            value: format!("{:.2} %", 100.0 * off),
            met: off <= FLAT,
        });
    }
    verdicts
}

/// Who was run at different numbers of peers.
fn at_peers(results: &Results) -> Vec<Protocol> {
    let mut who: Vec<Protocol> = Vec::new();
    for run in results.runs.iter().filter(|run| peers_of(&run.case.group).is_some()) {
        if !who.contains(&run.case.protocol) {
            who.push(run.case.protocol);
        }
    }
    who
}

/// All of it on the terminal.
pub fn print(results: &Results) {
    println!();
    for group in results.groups().into_iter().filter(|group| peers_of(group).is_none()) {
        let (name, figure) = results.figure(group);
        let protocols = results.protocols(group);
        if protocols.len() < 2 && results.runs.len() < 2 {
            continue;
        }
        println!("{group}: {name}");
        for protocol in protocols {
            let over = results.over_seeds(group, protocol, figure);
            let over = over.map_or_else(|| "not ended".into(), |over| over_seeds(&over, 2));
            println!("  {:<34} {over}", protocol.name());
        }
    }
    println!();
    for Standing { group, figure, ours, best, below: by, over_ideal } in results.standings() {
        let against = match (best, by) {
            (Some((protocol, theirs)), Some(by)) => {
                let (name, theirs) = (protocol.name(), over_seeds(&theirs, 2));
                format!("best counterpart {name} {theirs}: ours {}", below(&by, "ABOVE"))
            }
            _ => "no counterpart ended".into(),
        };
        let of_ideal = |over: OverSeeds| format!("; {} of the ideal", over_seeds(&over, 2));
        let ideal = over_ideal.map_or_else(String::new, of_ideal);
        println!("{group}: {figure} {}; {against}{ideal}", over_seeds(&ours, 2));
    }
    for protocol in at_peers(results) {
        let figures = results.by_peers(protocol);
        let figures: Vec<_> =
            figures.iter().map(|(peers, goodput)| format!("{peers}: {}", over_seeds(goodput, 1))).collect();
        println!("Gb/s of one host by peers, {}: {}", protocol.name(), figures.join(", "));
    }
    for verdict in verdicts(results) {
        let mark = if verdict.met { "PASS " } else { "SHORT" };
        println!("{mark} {}: {}", verdict.demand, verdict.value);
    }
}

/// Results with what they come to. Who reads them back takes the runs.
#[derive(Serialize)]
struct Told<'a> {
    #[serde(flatten)]
    results: &'a Results,
    standings: Vec<Standing>,
    verdicts: Vec<Verdict>,
}

/// Writes the results as JSON, with what they come to over seeds.
pub fn write_json(path: &Path, results: &Results) -> Result<(), Failure> {
    let told = Told { results, standings: results.standings(), verdicts: verdicts(results) };
    output::write_json(path, &told)
}

/// Writes what is asked for.
pub fn write(results: &Results, json: Option<&Path>, html: Option<&Path>) -> Result<(), Failure> {
    if let Some(path) = json {
        write_json(path, results)?;
    }
    if let Some(path) = html {
        output::write(path, page::page(results)?)?;
    }
    Ok(())
}
