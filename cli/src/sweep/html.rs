//! A sweep's report: one self-contained page, three plots per size and kind of
//! reordering, every figure in a table below.

use std::fmt::Write;

use plotters::prelude::*;

use super::beds::Transport;
use super::grid::Point;
use super::load::Outcome;
use super::targets::{Standing, Verdicts};
use super::Measured;
use crate::output::Failure;

const SIZE: (u32, u32) = (430, 300);
/// Where a loss of 0 stands on the logarithmic axis.
pub const ZERO: f64 = 3e-5;

fn colour(transport: Transport) -> RGBColor {
    match transport {
        Transport::Block => RGBColor(0x1b, 0x6c, 0xa8),
        Transport::GoBackN => RGBColor(0xd9, 0x5f, 0x02),
        Transport::SelectiveRepeat => RGBColor(0x1b, 0x9e, 0x77),
        Transport::GoBackNSprayed => RGBColor(0xe7, 0x29, 0x8a),
        Transport::SelectiveRepeatSprayed => RGBColor(0x75, 0x70, 0xb3),
    }
}

/// A transport's figure over loss.
pub type Series = (Transport, Vec<(f64, f64)>);

/// One figure of all transports at points that differ in loss only.
fn series(of: &[&Measured], figure: fn(&Outcome) -> f64) -> Vec<Series> {
    let mut all: Vec<Series> = Vec::new();
    for m in of {
        let x = m.point.loss.rate.max(ZERO);
        let ours = std::iter::once((Transport::Block, &m.block));
        for (transport, outcome) in ours.chain(m.counterparts.iter().map(|(t, o)| (*t, o))) {
            match all.iter_mut().find(|(known, _)| *known == transport) {
                Some((_, points)) => points.push((x, figure(outcome))),
                None => all.push((transport, vec![(x, figure(outcome))])),
            }
        }
    }
    for (_, points) in &mut all {
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    all
}

/// Draws figures over loss.
pub fn plot(all: &[Series], name: &str, logarithmic: bool) -> Result<String, Failure> {
    let values = || all.iter().flat_map(|(_, points)| points.iter().map(|point| point.1));
    let most = values().fold(0.0, f64::max).max(1e-3);
    let least = values().filter(|&value| value > 0.0).fold(most, f64::min);
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        area.fill(&WHITE).map_err(Failure::plot)?;
        let x = (ZERO * 0.8..0.13).log_scale();
        let label = |x: &f64| if *x < 8e-5 { "0".into() } else { format!("{:.0e}", x) };
        macro_rules! draw {
            ($y:expr) => {{
                let mut chart = ChartBuilder::on(&area)
                    .margin(8)
                    .caption(name, ("sans-serif", 13))
                    .x_label_area_size(28)
                    .y_label_area_size(48)
                    .build_cartesian_2d(x, $y)
                    .map_err(Failure::plot)?;
                chart
                    .configure_mesh()
                    .x_desc("loss")
                    .x_label_formatter(&label)
                    .light_line_style(WHITE)
                    .draw()
                    .map_err(Failure::plot)?;
                for (transport, points) in all {
                    let colour = colour(*transport);
                    let width = if *transport == Transport::Block { 3 } else { 1 };
                    chart
                        .draw_series(LineSeries::new(points.iter().copied(), colour.stroke_width(width)))
                        .map_err(Failure::plot)?;
                    let dots = points.iter().map(|&point| Circle::new(point, 3, colour.filled()));
                    chart.draw_series(dots).map_err(Failure::plot)?;
                }
            }};
        }
        if logarithmic {
            draw!((least * 0.8..most * 1.3).log_scale());
        } else {
            draw!(0.0..most * 1.08);
        }
        area.present().map_err(Failure::plot)?;
    }
    Ok(svg)
}

fn row(point: &Point, transport: Transport, outcome: &Outcome) -> String {
    let partly = if outcome.finished { "" } else { " (unfinished)" };
    format!(
        "<tr><td>{point}</td><td>{}{partly}</td><td>{:.1}</td><td>{:.2}</td><td>{:.1}</td><td>{:.1}</td>\
         <td>{:.1}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
        transport.name(),
        super::gbps(outcome),
        super::mpps(outcome),
        outcome.p50_us,
        outcome.p99_us,
        outcome.p999_us,
        outcome.messages,
        outcome.data,
        outcome.needed,
        outcome.spurious,
    )
}

fn plots(measured: &[Measured]) -> Result<String, Failure> {
    let mut page = String::new();
    let mut done: Vec<&Point> = Vec::new();
    for m in measured {
        if done.iter().any(|point| point.same_but_loss(&m.point)) {
            continue;
        }
        done.push(&m.point);
        for bursty in [false, true] {
            let of: Vec<&Measured> = measured
                .iter()
                .filter(|other| other.point.same_but_loss(&m.point))
                .filter(|other| other.point.loss.rate == 0.0 || other.point.loss.bursty == bursty)
                .collect();
            if of.len() < 3 {
                continue;
            }
            let kind = if bursty { ", losses in bursts" } else { "" };
            let Point { service, size, reordering, .. } = m.point;
            let _ = writeln!(page, "<h3>{service}, {size} bytes, {reordering}{kind}</h3><div class=\"row\">");
            page += &plot(&series(&of, super::mpps), "packets per NIC arriving first, M/s", false)?;
            page += &plot(&series(&of, |o| o.p99_us.max(0.01)), "p99 completion, us", true)?;
            let share = |outcome: &Outcome| 100.0 * outcome.spurious_share();
            page += &plot(&series(&of, share), "spurious, % of packets", false)?;
            page += "</div>\n";
        }
    }
    Ok(page)
}

/// The whole page.
pub fn page(title: &str, measured: &[Measured], verdicts: &Verdicts) -> Result<String, Failure> {
    let legend: String = std::iter::once(Transport::Block)
        .chain(Transport::counterparts(usize::MAX).iter().copied())
        .map(|transport| {
            let RGBColor(r, g, b) = colour(transport);
            format!("<span style=\"color:#{r:02x}{g:02x}{b:02x}\">&#9679; {}</span> ", transport.name())
        })
        .collect();
    let targets: String = verdicts
        .targets
        .iter()
        .map(|verdict| {
            let mark = if verdict.met { "PASS" } else { "SHORT" };
            format!(
                "<tr><td>{mark}</td><td>{}</td><td>{}</td><td>{:.4}</td><td>{}</td></tr>\n",
                verdict.target, verdict.at, verdict.value, verdict.limit
            )
        })
        .collect();
    let behind: String = verdicts
        .comparisons
        .iter()
        .filter(|c| {
            let mut figures = std::iter::once(c.goodput).chain(c.p99);
            figures.any(|figure| figure.standing == Standing::Behind)
        })
        .map(|c| {
            format!(
                "<tr><td>{}</td><td>{}</td><td>{:.2}</td><td>{}</td></tr>\n",
                c.at,
                c.with.name(),
                c.goodput.ratio,
                c.p99.map_or_else(|| "-".into(), |p99| format!("{:.2}", p99.ratio)),
            )
        })
        .collect();
    let rows: String = measured
        .iter()
        .flat_map(|m| {
            let ours = std::iter::once((Transport::Block, &m.block));
            ours.chain(m.counterparts.iter().map(|(t, o)| (*t, o))).map(|(t, o)| row(&m.point, t, o))
        })
        .collect();
    Ok(format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Tessera sweep</title>\n\
         <style>body{{font:15px/1.5 system-ui,sans-serif;max-width:1320px;margin:2em auto;padding:0 1em;color:#222}}\
         table{{border-collapse:collapse;font-size:13px}}td,th{{text-align:left;padding:.1em 1em .1em 0;\
         font-variant-numeric:tabular-nums}}.row{{display:flex;flex-wrap:wrap}}svg{{height:auto}}</style></head><body>\n\
         <h1>Tessera sweep</h1>\n<p>{title}</p>\n<p>{legend}</p>\n\
         <h2>Targets</h2>\n<table><tr><th></th><th>target</th><th>at</th><th>value</th><th>limit</th></tr>\n{targets}</table>\n\
         <h2>Behind a counterpart</h2>\n<p>Ratios above 1 are in our favour; within 3 % counts as even.</p>\n\
         <table><tr><th>point</th><th>counterpart</th><th>goodput</th><th>p99</th></tr>\n{behind}</table>\n\
         <h2>Figures over loss</h2>\n{plots}\n\
         <h2>All figures</h2>\n<table><tr><th>point</th><th>transport</th><th>Gb/s</th><th>Mpackets/s</th><th>p50 us</th>\
         <th>p99 us</th><th>p99.9 us</th><th>messages</th><th>packets</th><th>needed</th><th>spurious</th></tr>\n{rows}</table>\n</body></html>\n",
        plots = plots(measured)?,
    ))
}
