//! What the headline says: tables on the terminal, a page with plots.

use std::fmt::Write;
use std::path::Path;

use plotters::prelude::*;
use serde::Serialize;
use tessera_net::case::headline::peers_of;
use tessera_net::case::results::{Results, Run, Standing};
use tessera_net::case::{Outcome, Protocol};
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

/// One run on the terminal.
pub fn line(run: &Run) {
    let Run { case, outcome } = run;
    println!(
        "{:<34} {:<20} slowdown {:>22}  {:>6.1} Gb/s per host  {}{}",
        case.group,
        case.protocol.name(),
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
        let Standing { group, figure, ours, best, below, over_ideal } = &standing;
        if let (Some((protocol, theirs)), Some(below)) = (best, below) {
            if figure.starts_with("p99") {
                verdicts.push(Verdict {
                    demand: format!(
                        "{group}: {figure} at least 30 % below the best counterpart's (aim: 60 %)"
                    ),
                    value: format!(
                        "{ours:.2}, {} {theirs:.2}: {:.0} % {}{}",
                        protocol.name(),
                        100.0 * below.abs(),
                        if *below >= 0.0 { "below" } else { "above" },
                        if *below >= AIM { ", the aim" } else { "" }
                    ),
                    met: *below >= BAR,
                });
            }
        }
        if let (Some(over), true) = (over_ideal, group.ends_with("loss 0.1 %")) {
            verdicts.push(Verdict {
                demand: format!("{group}: at most {OVER_IDEAL} of the ideal"),
                value: format!("{over:.2}"),
                met: *over <= OVER_IDEAL,
            });
        }
    }
    let peers = results.by_peers(Protocol::Tessera);
    if let (Some(first), true) = (peers.first(), peers.len() > 1) {
        let off = peers.iter().map(|(_, goodput)| (goodput / first.1 - 1.0).abs()).fold(0.0, f64::max);
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
    for standing in results.standings() {
        let Standing { group, figure, ours, best, below, over_ideal } = standing;
        let against = match (best, below) {
            (Some((protocol, theirs)), Some(below)) => {
                let (word, share) = if below >= 0.0 { ("below", below) } else { ("ABOVE", -below) };
                format!(
                    "best counterpart {} {theirs:.2}: ours {:.0} % {word}",
                    protocol.name(),
                    100.0 * share
                )
            }
            _ => "no counterpart ended".into(),
        };
        let ideal = over_ideal.map_or_else(String::new, |over| format!("; {over:.2} of the ideal"));
        println!("{group}: {figure} {ours:.2}; {against}{ideal}");
    }
    for protocol in at_peers(results) {
        let figures = results.by_peers(protocol);
        let figures: Vec<_> =
            figures.iter().map(|(peers, goodput)| format!("{peers}: {goodput:.1}")).collect();
        println!("Gb/s of one host by peers, {}: {}", protocol.name(), figures.join(", "));
    }
    for verdict in verdicts(results) {
        let mark = if verdict.met { "PASS " } else { "SHORT" };
        println!("{mark} {}: {}", verdict.demand, verdict.value);
    }
}

/// Writes what is asked for.
pub fn write(results: &Results, json: Option<&Path>, html: Option<&Path>) -> Result<(), Failure> {
    if let Some(path) = json {
        output::write_json(path, results)?;
    }
    if let Some(path) = html {
        output::write(path, page(results)?)?;
    }
    Ok(())
}

/// Bars on a logarithmic scale, one per protocol.
fn bars(title: &str, rows: &[(&str, f64, bool)]) -> String {
    const LEFT: f64 = 150.0;
    const WIDTH: f64 = 260.0;
    let least = rows.iter().map(|row| row.1).fold(f64::MAX, f64::min).max(1e-3);
    let most = rows.iter().map(|row| row.1).fold(least, f64::max);
    // From a little below the least one, so that it is seen.
    let from = least / 1.5;
    let scale = |value: f64| WIDTH * (value / from).ln() / (most / from).ln().max(1e-9);
    let height = 34 + 20 * rows.len();
    let mut svg = format!(
        "<svg width=\"470\" height=\"{height}\" viewBox=\"0 0 470 {height}\" font-family=\"sans-serif\" font-size=\"12\">\
         <text x=\"4\" y=\"16\" font-weight=\"600\">{title}</text>\n"
    );
    for (number, &(name, value, ours)) in rows.iter().enumerate() {
        let y = 26 + 20 * number;
        let (colour, length) = (if ours { "#1b6ca8" } else { "#b8b8b8" }, scale(value).max(1.0));
        let text = LEFT + length + 5.0;
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{name}</text>\
             <rect x=\"{LEFT}\" y=\"{y}\" width=\"{length:.0}\" height=\"14\" fill=\"{colour}\"/>\
             <text x=\"{text:.0}\" y=\"{}\">{value:.1}</text>",
            LEFT - 6.0,
            y + 11,
            y + 11,
        );
    }
    svg + "</svg>"
}

/// Goodput over the number of peers.
fn peers(results: &Results) -> Result<String, Failure> {
    const COLOURS: [RGBColor; 5] = [
        RGBColor(0x1b, 0x6c, 0xa8),
        RGBColor(0xd9, 0x5f, 0x02),
        RGBColor(0x1b, 0x9e, 0x77),
        RGBColor(0xe7, 0x29, 0x8a),
        RGBColor(0x75, 0x70, 0xb3),
    ];
    let series: Vec<_> =
        at_peers(results).into_iter().map(|protocol| (protocol, results.by_peers(protocol))).collect();
    let points = || series.iter().flat_map(|(_, points)| points.iter());
    let Some(most) = points().map(|point| point.1).max_by(f64::total_cmp) else {
        return Ok(String::new());
    };
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (640, 360)).into_drawing_area();
        area.fill(&WHITE).map_err(Failure::plot)?;
        let mut chart = ChartBuilder::on(&area)
            .margin(10)
            .caption("goodput of one host, Gb/s", ("sans-serif", 14))
            .x_label_area_size(32)
            .y_label_area_size(48)
            .build_cartesian_2d((12.0..130_000.0).log_scale(), 0.0..most * 1.1)
            .map_err(Failure::plot)?;
        let mesh = &mut chart.configure_mesh();
        mesh.x_label_formatter(&|peers| format!("{peers:.0}"));
        mesh.y_label_formatter(&|goodput| format!("{goodput:.0}"));
        mesh.x_desc("peers (128 messages of 4 KiB under way)")
            .light_line_style(WHITE)
            .draw()
            .map_err(Failure::plot)?;
        for ((protocol, points), colour) in series.iter().zip(COLOURS.iter().cycle()) {
            let places = points.iter().map(|&(peers, goodput)| (peers as f64, goodput));
            let width = if *protocol == Protocol::Tessera { 3 } else { 1 };
            let colour = *colour;
            chart
                .draw_series(LineSeries::new(places.clone(), colour.stroke_width(width)))
                .map_err(Failure::plot)?
                .label(protocol.name())
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2)));
            let dots = places.map(|place| Circle::new(place, 3, colour.filled()));
            chart.draw_series(dots).map_err(Failure::plot)?;
        }
        let labels = &mut chart.configure_series_labels();
        labels
            .position(SeriesLabelPosition::LowerLeft)
            .background_style(WHITE.mix(0.8))
            .draw()
            .map_err(Failure::plot)?;
        area.present().map_err(Failure::plot)?;
    }
    Ok(svg)
}

fn row(run: &Run) -> String {
    let Outcome { times, slowdown, rounds, iterations, ideal, goodput, spurious, tally, counts, .. } =
        run.outcome.clone();
    format!(
        "<tr><td>{}</td><td>{}{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{:.1}</td>\
         <td>{:.3}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
        run.case.group,
        run.case.protocol.name(),
        if run.outcome.finished { "" } else { " (unfinished)" },
        spread(times, 1),
        spread(slowdown, 2),
        spread(rounds, 1),
        iterations.map_or_else(|| "-".into(), |times| format!("{:.1}", times.mean)),
        ideal.map_or_else(|| "-".into(), |ideal| format!("{ideal:.1}")),
        goodput,
        100.0 * spurious,
        counts.dropped,
        tally.state,
        tally.misses,
    )
}

fn page(results: &Results) -> Result<String, Failure> {
    let mut plots = String::new();
    for group in results.groups().into_iter().filter(|group| peers_of(group).is_none()) {
        let by_iteration =
            results.find(group, Protocol::Tessera).is_some_and(|outcome| outcome.iterations.is_some());
        let of = |run: &&Run| run.case.group == group && run.outcome.finished;
        let rows: Vec<(&str, f64, bool)> = results
            .runs
            .iter()
            .filter(of)
            .filter_map(|run| {
                let outcome = &run.outcome;
                let value = if by_iteration { outcome.iterations?.mean } else { outcome.slowdown?.p99 };
                Some((run.case.protocol.name(), value, run.case.protocol == Protocol::Tessera))
            })
            .collect();
        let what = if by_iteration { "iteration, us" } else { "p99 slowdown" };
        if !rows.is_empty() {
            plots += &bars(&format!("{group}: {what}"), &rows);
            plots.push('\n');
        }
    }
    let mut demands = String::new();
    for verdict in verdicts(results) {
        let mark = if verdict.met { "PASS" } else { "SHORT" };
        let _ = writeln!(
            demands,
            "<tr><td>{mark}</td><td>{}</td><td>{}</td></tr>",
            verdict.demand, verdict.value
        );
    }
    let rows: String = results.runs.iter().map(row).collect();
    let peers = peers(results)?;
    Ok(format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Tessera at scale</title>\n\
         <style>body{{font:15px/1.5 system-ui,sans-serif;max-width:1440px;margin:2em auto;padding:0 1em;color:#222}}\
         table{{border-collapse:collapse;font-size:13px}}td,th{{text-align:left;padding:.1em 1em .1em 0;\
         font-variant-numeric:tabular-nums}}.row{{display:flex;flex-wrap:wrap;gap:8px}}</style></head><body>\n\
         <h1>Tessera at scale</h1>\n<p>Packet-level simulation, 400 Gb/s. Ours is blue; bars are logarithmic, shorter is better.</p>\n\
         <h2>Demands</h2>\n<table>{demands}</table>\n<h2>Times</h2>\n<div class=\"row\">{plots}</div>\n\
         <h2>Peers</h2>\n{peers}\n<h2>All figures</h2>\n<p>p50 / p99 / p99.9; times in microseconds.</p>\n\
         <table><tr><th>load</th><th>protocol</th><th>message</th><th>slowdown</th><th>round</th><th>iteration</th><th>ideal</th>\
         <th>Gb/s per host</th><th>needless, %</th><th>dropped</th><th>state, bytes</th><th>misses</th></tr>\n{rows}</table>\n</body></html>\n"
    ))
}
