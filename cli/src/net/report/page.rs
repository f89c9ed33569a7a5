//! The page: demands, plots, all figures.

use std::collections::BTreeSet;
use std::fmt::Write;

use plotters::prelude::*;
use tessera_net::case::headline::peers_of;
use tessera_net::case::results::{OverSeeds, Results};
use tessera_net::case::{Outcome, Protocol};
use tessera_net::stats::Spread;

use super::{at_peers, over_seeds, verdicts};
use crate::output::Failure;

/// Bars on a logarithmic scale, one per protocol: the median, and over it the range of
/// seeds as a line.
fn bars(title: &str, rows: &[(&str, OverSeeds, bool)]) -> String {
    const LEFT: f64 = 150.0;
    const WIDTH: f64 = 260.0;
    let least = rows.iter().map(|row| row.1.least).fold(f64::MAX, f64::min).max(1e-3);
    let most = rows.iter().map(|row| row.1.most).fold(least, f64::max);
    // From a little below the least one, so that it is seen.
    let from = least / 1.5;
    let scale = |value: f64| WIDTH * (value / from).ln() / (most / from).ln().max(1e-9);
    let height = 34 + 20 * rows.len();
    let mut svg = format!(
        "<svg width=\"470\" height=\"{height}\" viewBox=\"0 0 470 {height}\" font-family=\"sans-serif\" font-size=\"12\">\
         <text x=\"4\" y=\"16\" font-weight=\"600\">{title}</text>\n"
    );
    for (number, &(name, OverSeeds { median, least, most, .. }, ours)) in rows.iter().enumerate() {
        let y = 26 + 20 * number;
        let (colour, length) = (if ours { "#1b6ca8" } else { "#b8b8b8" }, scale(median).max(1.0));
        let (low, high) = (LEFT + scale(least).max(1.0), LEFT + scale(most).max(1.0));
        let text = high + 5.0;
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{name}</text>\
             <rect x=\"{LEFT}\" y=\"{y}\" width=\"{length:.0}\" height=\"14\" fill=\"{colour}\"/>\
             <path d=\"M{low:.0} {}H{high:.0}\" stroke=\"#222\" stroke-width=\"2\"/>\
             <text x=\"{text:.0}\" y=\"{}\">{median:.1}</text>",
            LEFT - 6.0,
            y + 11,
            y + 7,
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
    let Some(most) = points().map(|point| point.1.median).max_by(f64::total_cmp) else {
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
            let places = points.iter().map(|&(peers, goodput)| (peers as f64, goodput.median));
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

/// Medians of a spread over seeds.
fn spreads(
    results: &Results,
    group: &str,
    protocol: Protocol,
    of: fn(&Outcome) -> Option<Spread<f64>>,
) -> String {
    let median = |figure: fn(&Spread<f64>) -> f64| {
        results.over_seeds(group, protocol, |outcome| of(outcome).as_ref().map(figure))
    };
    match (median(|s| s.p50), median(|s| s.p99), median(|s| s.p999)) {
        (Some(p50), Some(p99), Some(p999)) => {
            format!("{:.2} / {:.2} / {:.2}", p50.median, p99.median, p999.median)
        }
        _ => "-".into(),
    }
}

/// A row of the table: a load and a protocol, all seeds.
fn row(results: &Results, group: &str, protocol: Protocol) -> String {
    let median = |figure: fn(&Outcome) -> f64, digits: usize| {
        let over = results.over_seeds(group, protocol, |outcome| Some(figure(outcome)));
        over.map_or_else(|| "-".into(), |over| format!("{:.digits$}", over.median))
    };
    let (_, figure) = results.figure(group);
    let compared = results.over_seeds(group, protocol, figure);
    let ideal = results.over_seeds(group, protocol, |outcome| outcome.ideal);
    let unfinished = results.of(group, protocol).filter(|run| !run.outcome.finished).count();
    let cells = [
        group.into(),
        format!("{}{}", protocol.name(), if unfinished > 0 { " (unfinished)" } else { "" }),
        compared.map_or_else(|| "-".into(), |over| over_seeds(&over, 2)),
        spreads(results, group, protocol, |outcome| outcome.times),
        spreads(results, group, protocol, |outcome| outcome.slowdown),
        spreads(results, group, protocol, |outcome| outcome.rounds),
        ideal.map_or_else(|| "-".into(), |ideal| format!("{:.1}", ideal.median)),
        median(|outcome| outcome.goodput, 1),
        median(|outcome| 100.0 * outcome.spurious, 3),
        median(|outcome| outcome.counts.dropped as f64, 0),
        median(|outcome| outcome.tally.state as f64, 0),
        median(|outcome| outcome.tally.misses as f64, 0),
    ];
    format!("<tr><td>{}</td></tr>\n", cells.join("</td><td>"))
}

pub fn page(results: &Results) -> Result<String, Failure> {
    let mut plots = String::new();
    for group in results.groups().into_iter().filter(|group| peers_of(group).is_none()) {
        let (what, figure) = results.figure(group);
        let bar = |protocol: Protocol| {
            let over = results.over_seeds(group, protocol, figure)?;
            Some((protocol.name(), over, protocol == Protocol::Tessera))
        };
        let rows: Vec<_> = results.protocols(group).into_iter().filter_map(bar).collect();
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
    let rows_of = |group: &str| -> String {
        results.protocols(group).into_iter().map(|protocol| row(results, group, protocol)).collect()
    };
    let rows: String = results.groups().into_iter().map(rows_of).collect();
    let seeds: BTreeSet<u64> = results.runs.iter().map(|run| run.case.make.seed).collect();
    let seeds: Vec<String> = seeds.into_iter().map(|seed| seed.to_string()).collect();
    let seeds = seeds.join(", ");
    let peers = peers(results)?;
    Ok(format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Tessera at scale</title>\n\
         <style>body{{font:15px/1.5 system-ui,sans-serif;max-width:1440px;margin:2em auto;padding:0 1em;color:#222}}\
         table{{border-collapse:collapse;font-size:13px}}td,th{{text-align:left;padding:.1em 1em .1em 0;\
         font-variant-numeric:tabular-nums}}.row{{display:flex;flex-wrap:wrap;gap:8px}}</style></head><body>\n\
         <h1>Tessera at scale</h1>\n<p>Packet-level simulation, 400 Gb/s. Figures are medians over the seeds {seeds}, ranges in brackets. Ours is blue; bars are logarithmic, shorter is better, lines over them the range.</p>\n\
         <h2>Demands</h2>\n<table>{demands}</table>\n<h2>Times</h2>\n<div class=\"row\">{plots}</div>\n\
         <h2>Peers</h2>\n{peers}\n<h2>All figures</h2>\n<p>p50 / p99 / p99.9; times in microseconds.</p>\n\
         <table><tr><th>load</th><th>protocol</th><th>compared</th><th>message</th><th>slowdown</th><th>round</th><th>ideal</th>\
         <th>Gb/s per host</th><th>needless, %</th><th>dropped</th><th>state, bytes</th><th>misses</th></tr>\n{rows}</table>\n</body></html>\n"
    ))
}
