//! The demo's report: one self-contained page with three plots.

use plotters::prelude::*;
use tessera_abi::params::CLOCK_MHZ;
use tessera_sim::fabric::{Fabric, BIN_CLOCKS};

use super::report::{us, Report};
use crate::output::Failure;
use tessera_sim::session::Sample;

const SIZE: (u32, u32) = (880, 380);
/// Most points drawn of one message.
const MAX_POINTS: usize = 20_000;

/// Colour of a path; repeats after eight.
fn path_colour(path: usize) -> RGBColor {
    const COLOURS: [RGBColor; 8] = [
        RGBColor(0x1b, 0x6c, 0xa8),
        RGBColor(0xd9, 0x5f, 0x02),
        RGBColor(0x1b, 0x9e, 0x77),
        RGBColor(0x75, 0x70, 0xb3),
        RGBColor(0xe7, 0x29, 0x8a),
        RGBColor(0x66, 0xa6, 0x1e),
        RGBColor(0xb0, 0x85, 0x00),
        RGBColor(0x55, 0x55, 0x55),
    ];
    COLOURS[path % COLOURS.len()]
}

fn plot(
    draw: impl FnOnce(&DrawingArea<SVGBackend<'_>, plotters::coord::Shift>) -> Result<(), Failure>,
) -> Result<String, Failure> {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        area.fill(&WHITE).map_err(Failure::plot)?;
        draw(&area)?;
        area.present().map_err(Failure::plot)?;
    }
    Ok(svg)
}

/// Packet index against time, coloured by path; repeats as crosses.
fn arrival_map(fabric: &Fabric) -> Result<String, Failure> {
    let arrivals = fabric.tracker().arrivals();
    let arrivals = &arrivals[..arrivals.len().min(MAX_POINTS)];
    let (Some(first), Some(last)) = (arrivals.first(), arrivals.last()) else {
        return Ok("<p>No packet of the watched message arrived.</p>".into());
    };
    let start = first.at;
    let most = arrivals.iter().map(|a| a.index).max().unwrap_or(0);
    plot(|area| {
        let mut chart = ChartBuilder::on(area)
            .margin(12)
            .x_label_area_size(36)
            .y_label_area_size(56)
            .build_cartesian_2d(0.0..us(last.at - start).max(0.1), 0..most + 1)
            .map_err(Failure::plot)?;
        chart
            .configure_mesh()
            .x_desc("time since its first packet, us")
            .y_desc("packet index")
            .light_line_style(WHITE)
            .draw()
            .map_err(Failure::plot)?;
        for path in 0..fabric.paths() {
            let colour = path_colour(path);
            let of_path = || arrivals.iter().filter(move |a| a.path == path);
            let at = |a: &tessera_sim::fabric::Arrival| (us(a.at - start), a.index);
            chart
                .draw_series(of_path().filter(|a| !a.repeat).map(|a| Circle::new(at(a), 2, colour.filled())))
                .map_err(Failure::plot)?
                .label(format!("path {path}"))
                .legend(move |(x, y)| Circle::new((x + 8, y), 4, colour.filled()));
            chart
                .draw_series(
                    of_path().filter(|a| a.repeat).map(|a| Cross::new(at(a), 5, colour.stroke_width(2))),
                )
                .map_err(Failure::plot)?;
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::LowerRight)
            .background_style(WHITE.mix(0.8))
            .border_style(BLACK.mix(0.3))
            .draw()
            .map_err(Failure::plot)
    })
}

/// Share of messages done within a time.
fn completion_cdf(samples: &[Sample]) -> Result<String, Failure> {
    let mut times: Vec<f64> = samples.iter().map(|sample| us(sample.done - sample.posted)).collect();
    times.sort_unstable_by(f64::total_cmp);
    let most = times.last().copied().unwrap_or(1.0).max(0.1);
    let count = times.len() as f64;
    let steps =
        times.iter().enumerate().flat_map(|(i, &t)| [(t, i as f64 / count), (t, (i + 1) as f64 / count)]);
    plot(|area| {
        let mut chart = ChartBuilder::on(area)
            .margin(12)
            .x_label_area_size(36)
            .y_label_area_size(56)
            .build_cartesian_2d(0.0..most * 1.02, 0.0..1.0)
            .map_err(Failure::plot)?;
        chart
            .configure_mesh()
            .x_desc("post to receive completion, us")
            .y_desc("share of messages")
            .light_line_style(WHITE)
            .draw()
            .map_err(Failure::plot)?;
        chart.draw_series(LineSeries::new(steps, path_colour(0).stroke_width(2))).map_err(Failure::plot)?;
        Ok(())
    })
}

/// Payload that reached the NICs, per NIC, against time.
fn goodput(fabric: &Fabric, nics: u16, first: u64) -> Result<String, Failure> {
    let skip = (first / BIN_CLOCKS) as usize;
    let bins = fabric.tracker().payload_bins();
    let bins = &bins[skip.min(bins.len())..];
    // At most about 600 points: neighbours are averaged.
    let group = bins.len().div_ceil(600).max(1);
    let gbps = |bytes: u64, bins: usize| {
        bytes as f64 * 8.0 * f64::from(CLOCK_MHZ)
            / 1000.0
            / (bins as u64 * BIN_CLOCKS) as f64
            / f64::from(nics)
    };
    let points: Vec<(f64, f64)> = bins
        .chunks(group)
        .enumerate()
        .map(|(i, chunk)| (us((i * group) as u64 * BIN_CLOCKS), gbps(chunk.iter().sum(), chunk.len())))
        .collect();
    let most = points.iter().map(|p| p.1).fold(1.0, f64::max);
    let end = points.last().map_or(1.0, |p| p.0).max(0.1);
    plot(|area| {
        let mut chart = ChartBuilder::on(area)
            .margin(12)
            .x_label_area_size(36)
            .y_label_area_size(56)
            .build_cartesian_2d(0.0..end, 0.0..most * 1.05)
            .map_err(Failure::plot)?;
        chart
            .configure_mesh()
            .x_desc("time, us")
            .y_desc("payload arriving per NIC, Gb/s")
            .light_line_style(WHITE)
            .draw()
            .map_err(Failure::plot)?;
        chart.draw_series(LineSeries::new(points, path_colour(2).stroke_width(2))).map_err(Failure::plot)?;
        Ok(())
    })
}

/// The whole page.
pub fn page(report: &Report, samples: &[Sample], fabric: &Fabric, first: u64) -> Result<String, Failure> {
    let rows: String = report
        .rows()
        .iter()
        .map(|(label, value)| format!("<tr><th>{label}</th><td>{value}</td></tr>\n"))
        .collect();
    let (map, cdf, rate) =
        (arrival_map(fabric)?, completion_cdf(samples)?, goodput(fabric, report.nics, first)?);
    Ok(format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Tessera demo</title>\n\
         <style>body{{font:15px/1.5 system-ui,sans-serif;max-width:920px;margin:2em auto;padding:0 1em;color:#222}}\
         table{{border-collapse:collapse}}th{{text-align:left;font-weight:normal;color:#555;padding:.15em 1.5em .15em 0}}\
         td{{font-variant-numeric:tabular-nums}}svg{{max-width:100%;height:auto}}</style></head><body>\n\
         <h1>Tessera demo</h1>\n<p>{nics} Verilated NICs, {paths} paths with {skew} us of skew, {loss} % loss, seed {seed}.</p>\n\
         <table>\n{rows}</table>\n\
         <h2>Arrivals of one message</h2>\n<p>The largest file on its way from NIC 0. A dot is a packet's first sending, a cross a retransmission; colours are paths.</p>\n{map}\n\
         <h2>Completion times</h2>\n{cdf}\n<h2>Goodput over time</h2>\n{rate}\n</body></html>\n",
        nics = report.nics,
        paths = report.paths,
        skew = report.skew_us,
        loss = 100.0 * report.loss,
        seed = report.seed,
    ))
}
