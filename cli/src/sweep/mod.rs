//! `tessera sweep`: the block's three services under every mix of loss,
//! reordering and message size, and sends next to go-back-N and selective repeat
//! on the same fabric.

mod beds;
mod datagrams;
mod document;
mod file;
mod grid;
mod html;
mod load;
mod targets;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;
use std::time::Instant;

use clap::Args;
use serde::{Deserialize, Serialize};
use tessera_abi::params::CLOCK_MHZ;
use tessera_abi::regs::Reg;
use tessera_sim::progress::Progress;
use tessera_sim::verilator::Model;

use crate::model::{self, ModelArgs};
use crate::output::{self, Failure, RunError};
use beds::{Block, Counterpart, Transport};
use datagrams::Datagrams;
use file::{Results, Setting};
use grid::{Extent, Point, Service};
use load::Outcome;

/// A counterpart is given this many times the block's time to deliver: one with
/// a path per connection, and one over all paths, of which go-back-N does not
/// end in any time.
const PATIENCE: [u64; 2] = [8, 4];

/// Measure goodput, completion times and retransmissions of sends, writes and
/// datagrams over loss, reordering and size; sends next to go-back-N and
/// IRN-style selective repeat.
#[derive(Args, Debug)]
pub struct SweepArgs {
    /// The smallest grid: half a minute on two cores
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// The whole matrix: 70 minutes on two cores, 47 of them sends [default: a small copy, two minutes]
    #[arg(long)]
    full: bool,
    /// Only points whose name contains this, such as "write 65536 B, 4 paths"
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// NICs, each sending to all others
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(2..=16))]
    nics: u16,
    /// Payload bytes per packet
    #[arg(long, default_value_t = 1024, value_parser = crate::demo::payload)]
    payload: u32,
    /// Seed of everything random
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Points measured at once [default: one per processor]
    #[arg(long, value_parser = crate::args::jobs)]
    jobs: Option<usize>,
    /// A register to set on every NIC, besides PATH_COUNT; may be given several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = tessera_driver::setting)]
    set: Vec<(Reg, u32)>,
    /// Write the result as JSON, after every point; what the file has already is not measured again
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Go on with a JSON file of another revision
    #[arg(long, requires = "json")]
    any_revision: bool,
    /// Measure nothing, report what the JSON file has
    #[arg(long, requires = "json")]
    report_only: bool,
    /// Write a report with plots
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write sweep.md and its plots into this folder
    #[arg(long, value_name = "FOLDER")]
    docs: Option<PathBuf>,
    #[command(flatten)]
    model: ModelArgs,
}

/// What all transports made of a point.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Measured {
    pub point: Point,
    pub block: Outcome,
    pub counterparts: Vec<(Transport, Outcome)>,
}

/// Gb/s of payload per NIC.
fn gbps(outcome: &Outcome) -> f64 {
    outcome.bytes_per_clock * 8.0 * f64::from(CLOCK_MHZ) / 1000.0
}

/// Million packets per second and NIC.
fn mpps(outcome: &Outcome) -> f64 {
    outcome.packets_per_clock * f64::from(CLOCK_MHZ)
}

/// A sweep to be run.
struct Sweep<'a> {
    model: &'a Model,
    nics: usize,
    payload: usize,
    seed: u64,
    jobs: usize,
    registers: &'a [(Reg, u32)],
}

impl Sweep<'_> {
    fn measure(&self, point: &Point) -> Result<Measured, RunError> {
        let Self { model, nics, payload, seed, registers, .. } = *self;
        let session = beds::open(model, point, nics, payload, seed, registers)?;
        let (block, faults) = match point.service {
            Service::Send | Service::Write => {
                let mut bed = Block::new(session, point, seed)?;
                (load::run(&mut bed, point, nics, payload, u64::MAX)?, bed.dma_faults())
            }
            Service::Datagram => {
                let mut bed = Datagrams::new(session, point, seed)?;
                (bed.run(point)?, bed.dma_faults())
            }
        };
        if faults > 0 {
            return Err(RunError::DmaFaults(faults));
        }
        let counterpart = |&transport: &Transport| {
            let mut bed = Counterpart::new(transport, point, nics, payload, seed);
            let patience = block.clocks * PATIENCE[usize::from(transport.is_sprayed())];
            Ok((transport, load::run(&mut bed, point, nics, payload, patience)?))
        };
        let beside = Transport::beside(point);
        let counterparts = beside.iter().map(counterpart).collect::<Result<_, RunError>>()?;
        Ok(Measured { point: *point, block, counterparts })
    }

    /// Measures all points, several at once, and tells of each in their order.
    fn run(
        &self,
        points: &[Point],
        mut tell: impl FnMut(&Measured) -> Result<(), Failure> + Send,
        progress: &Progress,
    ) -> Result<(), Failure> {
        let cost = |point: &Point| point.cost(self.nics, self.payload);
        let total: f64 = points.iter().map(cost).sum();
        let begun = Instant::now();
        let next = AtomicUsize::new(0);
        // Finished out of turn; cost of all finished; the error that ends it.
        let state = Mutex::new((BTreeMap::new(), 0, 0.0, None));
        let state = &state;
        let tell = Mutex::new(&mut tell);
        let work = || loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(point) = points.get(index) else { break };
            if lock(state).3.is_some() {
                break;
            }
            let measured = self.measure(point);
            let mut locked = lock(state);
            let (waiting, told, done, failed) = &mut *locked;
            match measured {
                Ok(measured) => {
                    waiting.insert(index, measured);
                }
                Err(error) => {
                    let text = format!("{error}\nat the point \"{point}\", seed {}", self.seed);
                    failed.get_or_insert(Failure::new(text));
                    break;
                }
            }
            *done += cost(point);
            while let Some(measured) = waiting.remove(told) {
                if let Err(error) = lock(&tell)(&measured) {
                    failed.get_or_insert(error);
                }
                *told += 1;
            }
            let left = begun.elapsed().as_secs_f64() * (total - *done) / *done;
            let finished = *told + waiting.len();
            progress.detail(format_args!(
                "{finished} of {} points, about {} left",
                points.len(),
                words(left)
            ));
        };
        std::thread::scope(|scope| {
            for _ in 0..self.jobs.clamp(1, points.len().max(1)) {
                // A cluster spreads its NICs over the threads of its pool: here over one.
                scope.spawn(|| match rayon::ThreadPoolBuilder::new().num_threads(1).build() {
                    Ok(pool) => pool.install(work),
                    Err(error) => {
                        lock(state).3.get_or_insert(Failure::from(error));
                    }
                });
            }
        });
        let failed = lock(state).3.take();
        failed.map_or(Ok(()), Err)
    }
}

pub fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// A duration for people.
pub fn words(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => format!("{s:.0} s"),
        s if s < 5400.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

fn print(measured: &Measured) {
    let Measured { point, block, counterparts } = measured;
    println!("{point}  ({} messages a NIC, {} open)", point.messages, point.open);
    let ours = std::iter::once((Transport::Block, block));
    for (transport, outcome) in ours.chain(counterparts.iter().map(|(t, o)| (*t, o))) {
        let came = match point.service {
            Service::Send | Service::Write => format!(
                "needed {:>6} spurious {:>6} of {:>7}",
                outcome.needed, outcome.spurious, outcome.data
            ),
            Service::Datagram => format!(
                "delivered {:>7} of {:>7} carried of {:>7}",
                outcome.messages, outcome.carried, outcome.data
            ),
        };
        println!(
            "  {:<18} {:>6.1} Gb/s {:>7.2} Mpkt/s   p50 {:>8.1} p99 {:>8.1} p99.9 {:>8.1} us   {came}{}",
            transport.name(),
            gbps(outcome),
            mpps(outcome),
            outcome.p50_us,
            outcome.p99_us,
            outcome.p999_us,
            if outcome.finished { "" } else { "  UNFINISHED" },
        );
    }
}

pub fn run(args: &SweepArgs) -> Result<(), Failure> {
    for path in [&args.json, &args.html].into_iter().flatten() {
        output::check_writable(path)?;
    }
    if let Some(folder) = &args.docs {
        document::check(folder)?;
    }
    let extent = match (args.quick, args.full) {
        (true, _) => Extent::Quick,
        (_, true) => Extent::Full,
        _ => Extent::Normal,
    };
    let config = args.model.config()?;
    let mut grid = grid::points(extent, args.payload as usize);
    grid.retain(|point| config.datagrams || point.service != Service::Datagram);
    let mut points = grid.clone();
    if let Some(only) = &args.only {
        points.retain(|point| point.to_string().contains(only.as_str()));
        if points.is_empty() {
            return Err(Failure::new(format!(
                "no point of this grid is named like \"{only}\"; names are such as \"{}\"",
                grid[0]
            )));
        }
    }
    let setting = Setting {
        configuration: config.name.to_owned(),
        revision: model::revision(),
        extent,
        nics: args.nics,
        payload_bytes: args.payload,
        seed: args.seed,
        registers: args.set.iter().map(|(reg, value)| (reg.name.to_owned(), *value)).collect(),
    };
    let mut results = match &args.json {
        Some(path) => Results::open(path, setting, args.any_revision)?,
        None => Results::none(setting),
    };
    let wanted = points.len();
    points.retain(|point| !results.has(point));
    if let (true, Some(path)) = (args.report_only, &args.json) {
        results.check_report(path)?;
        points.clear();
    }
    let title = format!(
        "{} at {CLOCK_MHZ} MHz, revision {}: {} NICs, {}-byte payloads, {wanted} points, seed {}",
        config.name, results.setting.revision, args.nics, args.payload, args.seed
    );
    println!("{title}");
    if points.len() < wanted {
        println!("{} of them are measured already", results.measured.len());
    }
    let begun = Instant::now();
    if !points.is_empty() {
        let model = args.model.build(&model::export(config)?)?;
        let jobs = args.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
        let sweep = Sweep {
            model: &model,
            nics: args.nics.into(),
            payload: args.payload as usize,
            seed: args.seed,
            jobs,
            registers: &args.set,
        };
        let progress = Progress::start("sweep");
        let mut left = points.len();
        let tell = |measured: &Measured| {
            print(measured);
            results.measured.push(measured.clone());
            left -= 1;
            match &args.json {
                Some(path) => results.write(path, begun.elapsed().as_secs_f64(), left),
                None => Ok(()),
            }
        };
        sweep.run(&points, tell, &progress)?;
    }
    results.wall_s += begun.elapsed().as_secs_f64();
    results.measured.sort_by_key(|m| grid.iter().position(|point| *point == m.point));
    let verdicts = targets::judge(&results.measured, args.payload as usize);
    let told = results.measured.iter().filter(|m| m.point.is_telling(args.payload as usize)).count();
    println!(
        "every message delivered once, byte for byte, and no datagram but those sent, at {} points; {}",
        results.measured.len(),
        words(results.wall_s)
    );
    println!("{told} of them send enough for their figures to be judged:");
    verdicts.print();
    if let Some(path) = &args.json {
        results.write(path, 0.0, grid.iter().filter(|point| !results.has(point)).count())?;
    }
    if let Some(path) = &args.html {
        output::write(path, html::page(&title, &results.measured, &verdicts)?)?;
    }
    if let Some(folder) = &args.docs {
        document::write(folder, &results, grid.len())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use tessera_abi::params::NIC512;

    use super::targets::Standing;
    use super::*;

    #[derive(Parser)]
    struct Alone {
        #[command(flatten)]
        args: SweepArgs,
    }

    /// A mistyped name is no empty sweep, and overwrites no report.
    #[test]
    fn a_report_of_nothing_is_refused() {
        let folder = std::env::temp_dir().join(format!("tessera-sweep-report-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (file, page) = (folder.join("typo.json"), folder.join("sweep.md"));
        std::fs::write(&page, "as it was").unwrap();
        let words = ["sweep", "--full", "--report-only", "--json"].map(std::ffi::OsString::from);
        let rest = [file.clone().into(), "--docs".into(), folder.clone().into()];
        let Alone { args } = Alone::parse_from(words.into_iter().chain(rest));
        let refused = run(&args).unwrap_err().to_string();
        assert!(refused.contains("typo.json does not exist"), "{refused}");
        assert!(refused.contains("without --report-only"), "{refused}");
        assert!(!file.exists());
        std::fs::write(&file, "").unwrap();
        assert!(run(&args).unwrap_err().to_string().contains("typo.json"));
        assert_eq!(std::fs::read_to_string(&page).unwrap(), "as it was");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 2);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    /// Delivery everywhere, and the targets that are met with room to spare.
    #[test]
    fn the_quick_grid_delivers() {
        let model = model::export(&NIC512).and_then(|export| {
            Ok(Model::build(&(&export).into(), &tessera_sim::verilator::BuildOptions::hurried())?)
        });
        let model = model.unwrap_or_else(|failure| panic!("{failure}"));
        let seed = tessera_sim::tb::seed("sweep::quick");
        let sweep = Sweep { model: &model, nics: 2, payload: 1024, seed, jobs: 2, registers: &[] };
        let points = grid::points(Extent::Quick, sweep.payload);
        let mut measured = Vec::new();
        let tell = |m: &Measured| {
            measured.push(m.clone());
            Ok(())
        };
        let done = sweep.run(&points, tell, &Progress::start("quick sweep"));
        done.unwrap_or_else(|failure| panic!("{failure}"));
        assert_eq!(measured.len(), points.len());
        for m in &measured {
            let sent = 2 * m.point.messages as u64;
            let to_come = if m.point.service == Service::Datagram { m.block.carried } else { sent };
            assert_eq!((m.block.messages, to_come <= sent), (to_come, true), "{}", m.point);
        }
        let verdicts = targets::judge(&measured, sweep.payload);
        let goodput: Vec<_> =
            verdicts.targets.iter().filter(|verdict| verdict.target.starts_with("goodput")).collect();
        assert_eq!(goodput.len(), 2);
        for verdict in goodput {
            assert!(verdict.met, "{verdict:?}");
        }
        let lossy: Vec<_> = verdicts.comparisons.iter().filter(|c| c.at.ends_with("1e-2")).collect();
        assert_eq!(lossy.len(), 4, "all counterparts beside one point");
        for comparison in lossy {
            assert_eq!(comparison.goodput.standing, Standing::Ahead, "{comparison:?}");
        }
    }
}
