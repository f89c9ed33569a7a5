//! `tessera interval`: what the loss-detection interval is worth. The same
//! all-to-alls over the same lossy fabric with a fixed interval, with the moving
//! one, and with the moving one that rounds pull in.

use std::path::PathBuf;

use clap::Args;
use plotters::prelude::*;
use serde::Serialize;
use tessera_abi::params::CLOCK_MHZ;
use tessera_abi::regs::{self, Reg};
use tessera_sim::cluster::{Cluster, SharedCluster};
use tessera_sim::fabric::{FabricOptions, Faults, Loss};
use tessera_sim::nic::NicOptions;
use tessera_sim::progress::Progress;
use tessera_sim::session::Session;
use tessera_sim::verilator::Model;

use crate::args;
use crate::demo::collectives;
use crate::demo::report::{quantile, us};
use crate::model::{self, ModelArgs};
use crate::output::{self, Failure, RunError};

/// Shortest path's delay, clocks: 1 us.
const BASE_DELAY: u64 = CLOCK_MHZ as u64;
/// Payload bytes per packet.
const PAYLOAD: u32 = 4096;
const SIZE: (u32, u32) = (880, 400);
/// Files of the plots.
const PLOTS: [&str; 2] = ["interval-messages.svg", "interval-rounds.svg"];

/// Compare loss-detection intervals: fixed, moving, pulled in by rounds.
#[derive(Args, Debug)]
pub struct IntervalArgs {
    /// NICs
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u16).range(2..=64))]
    pub nics: u16,
    /// Paths of the fabric
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub paths: u16,
    /// Probability that a frame is lost, 0 to 0.5
    #[arg(long, default_value_t = 0.01, value_parser = args::probability)]
    pub loss: f64,
    /// Delay of the slowest path beyond the fastest, microseconds
    #[arg(long, default_value_t = 2.0, value_parser = args::skew)]
    pub skew_us: f64,
    /// All-to-alls, one after the other
    #[arg(long, default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub rounds: u32,
    /// Bytes that each NIC sends to each other in an all-to-all
    #[arg(long, default_value_t = 32_768, value_parser = clap::value_parser!(u32).range(4..=1 << 20))]
    pub bytes: u32,
    /// Fixed intervals to compare with, ticks of 64 ns
    #[arg(long, value_delimiter = ',', default_values_t = [200u16, 400, 800, 1600])]
    pub fixed: Vec<u16>,
    /// Seed of everything random
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Write the result as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write the plots into this folder: interval-messages.svg, interval-rounds.svg
    #[arg(long, value_name = "FOLDER")]
    pub svg: Option<PathBuf>,
    #[command(flatten)]
    pub model: ModelArgs,
}

/// What one policy did. Field names are those of the JSON file.
#[derive(Debug, Serialize)]
struct Measured {
    policy: String,
    /// Post to receive completion of a message, microseconds.
    message_p50_us: f64,
    message_p99_us: f64,
    message_max_us: f64,
    /// First post to last completion of an all-to-all, microseconds.
    round_p50_us: f64,
    round_p99_us: f64,
    round_mean_us: f64,
    /// DATA packets, first time; retransmissions that made up for a loss; others.
    packets: u64,
    needed: u64,
    spurious: u64,
    clocks: u64,
    #[serde(skip)]
    messages: Vec<u64>,
    #[serde(skip)]
    rounds: Vec<u64>,
}

#[derive(Serialize)]
struct Report<'a> {
    nics: u16,
    paths: u16,
    loss: f64,
    skew_us: f64,
    rounds: u32,
    bytes: u32,
    seed: u64,
    policies: &'a [Measured],
}

/// Registers and name of every policy, worst first.
fn policies(fixed: &[u16]) -> Vec<(String, Vec<(Reg, u32)>)> {
    let name = |ticks: u16| format!("fixed {:.1} us", us(16 * u64::from(ticks)));
    let mut all: Vec<_> = fixed
        .iter()
        .map(|&ticks| (name(ticks), vec![(regs::LD_POLICY, 0), (regs::LD_FIXED, ticks.into())]))
        .collect();
    all.push(("moving".into(), vec![(regs::LD_POLICY, 1)]));
    all.push(("round-aware".into(), vec![(regs::LD_POLICY, 2)]));
    all
}

fn measure(
    args: &IntervalArgs,
    model: &Model,
    (policy, registers): &(String, Vec<(Reg, u32)>),
    progress: &Progress,
) -> Result<Measured, RunError> {
    let skew = (args.skew_us * f64::from(CLOCK_MHZ)).round() as u64;
    let mut fabric = FabricOptions::new(args.paths.into(), BASE_DELAY, skew, args.seed);
    let loss = if args.loss > 0.0 { Loss::Uniform(args.loss) } else { Loss::None };
    fabric.faults = Faults { loss, ..Faults::default() };
    let nic = NicOptions { seed: args.seed, ..NicOptions::default() };
    let nics = usize::from(args.nics);
    let cluster = SharedCluster::new(Cluster::new(model, nics, &nic, fabric)?);
    let mut settings = vec![(regs::PATH_COUNT, u32::from(args.paths)), (regs::PATH_POLICY, 1)];
    settings.extend_from_slice(registers);
    let mut session = Session::open(cluster, nics, args.seed, PAYLOAD, &settings)?;
    let elements = args.bytes as usize / 4 * nics;
    let tensors: Vec<Vec<f32>> =
        (0..nics).map(|nic| (0..elements).map(|i| (i * 7 + nic) as f32).collect()).collect();
    let mut rounds = Vec::new();
    for round in 0..args.rounds {
        progress.detail(format_args!("{policy}: all-to-all {round} of {}", args.rounds));
        let before = session.samples.len();
        collectives::all_to_all(&mut session, &tensors, progress)?;
        let of_round = &session.samples[before..];
        let first = of_round.iter().map(|sample| sample.posted).min().unwrap_or(0);
        rounds.push(of_round.iter().map(|sample| sample.done - first).max().unwrap_or(0));
    }
    let mut messages: Vec<u64> = session.samples.iter().map(|sample| sample.done - sample.posted).collect();
    messages.sort_unstable();
    rounds.sort_unstable();
    let locked = session.cluster.lock();
    let tracker = locked.fabric().tracker();
    Ok(Measured {
        policy: policy.clone(),
        message_p50_us: us(quantile(&messages, 0.5)),
        message_p99_us: us(quantile(&messages, 0.99)),
        message_max_us: us(quantile(&messages, 1.0)),
        round_p50_us: us(quantile(&rounds, 0.5)),
        round_p99_us: us(quantile(&rounds, 0.99)),
        round_mean_us: us(rounds.iter().sum()) / rounds.len() as f64,
        packets: tracker.data,
        needed: tracker.needed,
        spurious: tracker.spurious,
        clocks: locked.clock(),
        messages,
        rounds,
    })
}

/// Of the policies that move the last two, of fixed ones a grey that darkens with the
/// interval.
fn colour(nth: usize, count: usize) -> RGBColor {
    match count - 1 - nth {
        0 => RGBColor(0x1b, 0x6c, 0xa8),
        1 => RGBColor(0xd9, 0x5f, 0x02),
        darker => {
            let grey = 0x22 + (0x99 * (darker - 2) / (count - 3).max(1)) as u8;
            RGBColor(grey, grey, grey)
        }
    }
}

/// Share of `values` not done yet against time, a line per policy.
fn plot(
    all: &[Measured],
    what: &str,
    caption: &str,
    of: impl Fn(&Measured) -> &[u64],
) -> Result<String, Failure> {
    let most = all.iter().filter_map(|m| of(m).last()).copied().max().unwrap_or(1);
    let least = all.iter().map(|m| 0.5 / of(m).len().max(1) as f64).fold(1.0, f64::min);
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        area.fill(&WHITE).map_err(Failure::plot)?;
        let mut chart = ChartBuilder::on(&area)
            .caption(caption, ("sans-serif", 14))
            .margin(12)
            .x_label_area_size(36)
            .y_label_area_size(64)
            .build_cartesian_2d(0.0..us(most) * 1.02, (least..1.0).log_scale())
            .map_err(Failure::plot)?;
        chart
            .configure_mesh()
            .x_desc(what)
            .y_desc("share that takes longer")
            .light_line_style(WHITE)
            .draw()
            .map_err(Failure::plot)?;
        for (nth, measured) in all.iter().enumerate() {
            let colour = colour(nth, all.len());
            let values = of(measured);
            let count = values.len() as f64;
            let left = |i: usize| ((values.len() - i) as f64 / count).max(least);
            let steps =
                values.iter().enumerate().flat_map(|(i, &t)| [(us(t), left(i)), (us(t), left(i + 1))]);
            let line: Vec<(f64, f64)> = std::iter::once((0.0, 1.0)).chain(steps).collect();
            chart
                .draw_series(LineSeries::new(line, colour.stroke_width(2)))
                .map_err(Failure::plot)?
                .label(measured.policy.clone())
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], colour.stroke_width(3)));
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperRight)
            .background_style(WHITE.mix(0.8))
            .border_style(BLACK.mix(0.3))
            .draw()
            .map_err(Failure::plot)?;
        area.present().map_err(Failure::plot)?;
    }
    Ok(svg)
}

/// Runs the comparison and prints its table.
pub fn run(args: &IntervalArgs) -> Result<(), Failure> {
    if let Some(path) = &args.json {
        output::check_writable(path)?;
    }
    for name in args.svg.iter().flat_map(|folder| PLOTS.map(|name| folder.join(name))) {
        output::check_writable(&name)?;
    }
    let model = args.model.build(&model::export(args.model.config()?)?)?;
    let progress = Progress::start("interval");
    let all = policies(&args.fixed);
    let all =
        all.iter().map(|policy| measure(args, &model, policy, &progress)).collect::<Result<Vec<_>, _>>()?;
    drop(progress);
    println!(
        "{} NICs, {} all-to-alls of {} bytes per pair, {} paths, skew {} us, loss {} %, seed {}",
        args.nics,
        args.rounds,
        args.bytes,
        args.paths,
        args.skew_us,
        100.0 * args.loss,
        args.seed
    );
    println!(
        "  policy         message p50 /   p99 /   max us   all-to-all mean /   p99 us   needed  spurious"
    );
    for m in &all {
        println!(
            "  {:<14} {:>11.1} / {:>5.1} / {:>5.1} {:>20.1} / {:>5.1} {:>11} {:>9}",
            m.policy,
            m.message_p50_us,
            m.message_p99_us,
            m.message_max_us,
            m.round_mean_us,
            m.round_p99_us,
            m.needed,
            m.spurious
        );
    }
    if let Some(path) = &args.json {
        let report = Report {
            nics: args.nics,
            paths: args.paths,
            loss: args.loss,
            skew_us: args.skew_us,
            rounds: args.rounds,
            bytes: args.bytes,
            seed: args.seed,
            policies: &all,
        };
        output::write_json(path, &report)?;
    }
    if let Some(folder) = &args.svg {
        let caption = format!(
            "{} NICs, {} all-to-alls, {} bytes per pair, loss {} %, skew {} us, {}, seed {}",
            args.nics,
            args.rounds,
            args.bytes,
            100.0 * args.loss,
            args.skew_us,
            model::revision(),
            args.seed
        );
        let messages = plot(&all, "post to receive completion of a message, us", &caption, |m| &m.messages)?;
        let rounds =
            plot(&all, "first post to last completion of an all-to-all, us", &caption, |m| &m.rounds)?;
        for (name, plot) in PLOTS.into_iter().zip([messages, rounds]) {
            output::write(&folder.join(name), plot)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_has_its_colour() {
        for count in 2..12 {
            let of = |nth| {
                let RGBColor(red, green, blue) = colour(nth, count);
                (red, green, blue)
            };
            for nth in 1..count {
                assert!((0..nth).all(|other| of(other) != of(nth)), "{nth} of {count}");
            }
        }
    }
}
