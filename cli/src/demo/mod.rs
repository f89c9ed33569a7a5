//! `tessera demo`: several Verilated NICs carry files and collectives over a
//! lossy multipath fabric, each driven by the real host driver.

pub mod collectives;
mod files;
mod html;
pub mod report;

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::{Args, ValueEnum};
use serde::Serialize;
use sha2::{Digest, Sha256};
use tessera_abi::params::{Config, CLOCK_MHZ};
use tessera_abi::regs::{self, Counter};
use tessera_abi::status::Drop as DropReason;
use tessera_driver::{PathError, PathUse};
use tessera_sim::cluster::{Cluster, SharedCluster};
use tessera_sim::fabric::{Capture, DeadPath, FabricOptions, Faults, Loss};
use tessera_sim::nic::NicOptions;
use tessera_sim::progress::Progress;
use tessera_sim::verilator::{Model, Trace};

use crate::args;
use crate::model::{self, ModelArgs};
use crate::output::{self, Failure, RunError};
pub use report::{quantile, us};
use report::{PathShare, Report};
use tessera_sim::session::Session;

/// Shortest path's delay, clocks: 1 us.
const BASE_DELAY: u64 = CLOCK_MHZ as u64;
/// f32 elements of the collectives' tensors, before rounding down to the NICs.
const TENSOR_ELEMENTS: usize = 1 << 16;
/// Largest input file, bytes.
pub const MAX_FILE: u64 = 64 << 20;

/// Carry files and collectives between Verilated NICs over a lossy fabric.
#[derive(Args, Debug)]
pub struct DemoArgs {
    /// Files that every NIC sends to every other, 0 bytes to 64 MiB each
    /// [default: the exported Verilog and a tensor made of this program's bytes]
    pub files: Vec<PathBuf>,
    /// NICs
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u16).range(2..=64))]
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
    /// A path that loses everything from the start (0 is the fastest)
    #[arg(long, value_name = "PATH")]
    pub dead_path: Option<u16>,
    /// How NICs choose among paths
    #[arg(long, value_enum, default_value_t = PathPolicy::Recycle)]
    pub path_policy: PathPolicy,
    /// Weights of the entropy values for policy `weighted`, one for each, such as
    /// 3,2,1,1: a value of weight 0 is not sent. Which path a value takes differs
    /// from one pair of NICs to the next [default: 1 each]
    #[arg(long, value_name = "N,..", value_delimiter = ',')]
    pub path_weights: Vec<u32>,
    /// Speak IPv6
    #[arg(long)]
    pub ipv6: bool,
    /// Tag frames with this VLAN
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=4094))]
    pub vlan: Option<u16>,
    /// Payload bytes per packet
    #[arg(long, default_value_t = 4096, value_parser = payload)]
    pub payload: u32,
    /// Seed of everything random
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Write the result as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write a report with plots
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write every frame as pcapng, for Wireshark
    #[arg(long, value_name = "FILE")]
    pub pcap: Option<PathBuf>,
    /// Write NIC 0's waveforms: .fst or .vcd (large: about 100 kB per 1000 clocks)
    #[arg(long, value_name = "FILE")]
    pub wave: Option<PathBuf>,
    #[command(flatten)]
    pub model: ModelArgs,
}

/// What `--path-policy` takes: values of the register PATH_POLICY.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum PathPolicy {
    /// One path for all
    Single,
    /// One after the other
    RoundRobin,
    /// At random
    Random,
    /// Those whose packets arrived
    Recycle,
    /// By --path-weights
    Weighted,
}

pub fn payload(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(value @ (256 | 512 | 1024 | 2048 | 4096)) => Ok(value),
        _ => Err("use 256, 512, 1024, 2048 or 4096".into()),
    }
}

/// A file to carry.
pub struct Input {
    pub name: String,
    pub bytes: Vec<u8>,
    pub sha256: [u8; 32],
}

impl Input {
    fn new(name: impl Into<String>, bytes: Vec<u8>) -> Self {
        let sha256 = Sha256::digest(&bytes).into();
        Self { name: name.into(), bytes, sha256 }
    }

    fn read(path: &Path) -> Result<Self, RunError> {
        let unreadable = |error| RunError::Unreadable { path: path.to_owned(), error };
        let len = std::fs::metadata(path).map_err(unreadable)?.len();
        if len > MAX_FILE {
            return Err(RunError::TooLarge { path: path.to_owned(), len, max: MAX_FILE });
        }
        Ok(Self::new(path.display().to_string(), std::fs::read(path).map_err(unreadable)?))
    }
}

/// f32 values made of this program's own bytes: ordinary numbers in [-1, 1).
fn own_tensor(elements: usize) -> Vec<f32> {
    let program = std::env::current_exe().and_then(std::fs::read).unwrap_or_else(|_| (0..=255).collect());
    let bytes = program.iter().cycle().skip(4096 % program.len().max(1));
    bytes.take(elements).map(|&byte| (f32::from(byte) - 128.0) / 128.0).collect()
}

/// Every NIC's tensor: the program's, turned by the NIC's number and scaled so
/// that sums round.
fn tensors(nics: usize) -> Vec<Vec<f32>> {
    let elements = TENSOR_ELEMENTS / nics * nics;
    let base = own_tensor(elements);
    let value = |nic: usize, i: usize| base[(i + 977 * nic) % elements] * (1.0 + nic as f32 / 3.0);
    (0..nics).map(|nic| (0..elements).map(|i| value(nic, i)).collect()).collect()
}

fn check(args: &DemoArgs) -> Result<Trace, RunError> {
    if let Some(dead) = args.dead_path {
        if args.paths == 1 {
            return Err(RunError::OnlyPath);
        }
        if dead >= args.paths {
            return Err(RunError::NoSuchPath { dead, last: args.paths - 1 });
        }
    }
    let weighted = args.path_policy == PathPolicy::Weighted;
    match args.path_weights.len() {
        0 => {}
        _ if !weighted => return Err(RunError::Unweighted),
        given if given != usize::from(args.paths) => {
            return Err(RunError::Weights { given, paths: args.paths });
        }
        _ if args.path_weights.iter().all(|&weight| weight == 0) => return Err(RunError::NoWeight),
        _ => {}
    }
    match &args.wave {
        None => Ok(Trace::Off),
        Some(path) => match path.extension().and_then(|e| e.to_str()) {
            Some("fst") => Ok(Trace::Fst),
            Some("vcd") => Ok(Trace::Vcd),
            _ => Err(RunError::WaveName(path.clone())),
        },
    }
}

/// Weights of the paths when they are weighted.
fn weights(args: &DemoArgs) -> Vec<u32> {
    match &args.path_weights[..] {
        [] => vec![1; args.paths.into()],
        given => given.to_vec(),
    }
}

fn cluster(args: &DemoArgs, model: &Model) -> Result<SharedCluster, RunError> {
    let skew = (args.skew_us * f64::from(CLOCK_MHZ)).round() as u64;
    let mut fabric = FabricOptions::new(args.paths.into(), BASE_DELAY, skew, args.seed);
    let loss = if args.loss > 0.0 { Loss::Uniform(args.loss) } else { Loss::None };
    let dead = args.dead_path.map(|path| DeadPath { path: path.into(), from: 0, until: u64::MAX });
    fabric.faults = Faults { loss, dead_paths: dead.into_iter().collect(), ..Faults::default() };
    let nic = NicOptions { seed: args.seed, ..NicOptions::default() };
    let mut cluster = Cluster::new(model, args.nics.into(), &nic, fabric)?;
    if let Some(path) = &args.wave {
        cluster.open_trace(0, path)?;
    }
    if let Some(path) = &args.pcap {
        cluster.fabric_mut().start_capture(Capture::create(path, args.nics.into())?);
    }
    Ok(SharedCluster::new(cluster))
}

/// What became of an entropy value at all NICs together.
fn paths_of(session: &Session, ev: u8) -> Result<PathShare, PathError> {
    let mut all = PathShare { ev, ..PathShare::default() };
    for host in &session.hosts {
        let PathUse { sent, clean, ce } = host.context.path_use(ev)?;
        all.sent += u64::from(sent);
        all.clean += u64::from(clean);
        all.ce += u64::from(ce);
    }
    Ok(all)
}

/// Runs the demo and prints its table.
pub fn run(args: &DemoArgs) -> Result<(), Failure> {
    let trace = check(args)?;
    let mut inputs = args.files.iter().map(|path| Input::read(path)).collect::<Result<Vec<_>, _>>()?;
    for path in [&args.json, &args.html, &args.pcap, &args.wave].into_iter().flatten() {
        output::check_writable(path)?;
    }
    let config: &'static Config = args.model.config()?;
    let export = model::export(config)?;
    if inputs.is_empty() {
        inputs.push(Input::new(format!("{}.v", config.name), export.verilog.clone().into_bytes()));
        let tensor = own_tensor(TENSOR_ELEMENTS);
        inputs.push(Input::new("tensor.f32", tensor.iter().flat_map(|v| v.to_le_bytes()).collect()));
    }
    let model = args.model.build_hurried(&export, trace)?;
    let progress = Progress::start("demo");
    let begun = Instant::now();
    let cluster = cluster(args, &model)?;
    let settings = [(regs::PATH_COUNT, u32::from(args.paths)), (regs::PATH_POLICY, args.path_policy as u32)];
    let mut session = Session::open(cluster, args.nics.into(), args.seed, args.payload, &settings)?;
    session.speak(args.ipv6, args.vlan)?;
    if args.path_policy == PathPolicy::Weighted {
        let weights = weights(args);
        for host in &session.hosts {
            host.context.weight_paths(&weights)?;
        }
    }
    // The first large message of NIC 0 is the one whose arrivals are plotted.
    let watched = inputs.iter().map(|input| input.bytes.len() as u32).max().unwrap_or(0);
    session.cluster.lock().fabric_mut().tracker_mut().watch(session.address(0).gid, watched);
    let first = session.clock();
    files::run(&mut session, &inputs, &progress)?;
    let tensors = tensors(args.nics.into());
    collectives::all_reduce(&mut session, &tensors, &progress)?;
    collectives::all_to_all(&mut session, &tensors, &progress)?;
    let last = session.clock();
    let mut expiries = [0; 2];
    for (sum, counter) in expiries.iter_mut().zip([Counter::NackExpiries, Counter::BackstopExpiries]) {
        *sum = session.sum(regs::counter(counter as u32))?;
    }
    let overflow = session.sum(regs::counter(DropReason::Overflow as u32))?;
    let counted = if session.hosts[0].context.attributes()?.path_tables { args.paths as u8 } else { 0 };
    let paths = (0..counted).map(|ev| paths_of(&session, ev)).collect::<Result<Vec<_>, _>>()?;
    let mut locked = session.cluster.lock();
    locked.fabric_mut().finish_capture()?;
    let faults: u64 = locked.nics().iter().map(|nic| nic.dma_faults()).sum();
    if faults > 0 {
        return Err(RunError::DmaFaults(faults).into());
    }
    let clocks = locked.clock();
    let wall_s = begun.elapsed().as_secs_f64();
    drop(progress);
    let report = Report::new(
        args,
        &session.samples,
        locked.fabric(),
        (first, last),
        clocks,
        wall_s,
        expiries,
        overflow,
        paths,
    );
    report.print(&inputs);
    if let Some(path) = &args.json {
        output::write_json(path, &report)?;
    }
    if let Some(path) = &args.html {
        output::write(path, html::page(&report, &session.samples, locked.fabric(), first)?)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        args: DemoArgs,
    }

    fn refused(words: &str) -> String {
        let words = ["demo"].into_iter().chain(words.split(' '));
        let cli = Cli::try_parse_from(words).unwrap_or_else(|error| panic!("{error}"));
        check(&cli.args).map_or_else(|error| error.to_string(), |_| String::new())
    }

    #[test]
    fn weights_suit_paths_and_policy() {
        assert_eq!(refused("--path-policy weighted"), "");
        assert_eq!(refused("--path-policy weighted --paths 3 --path-weights 3,1,0"), "");
        assert!(refused("--path-weights 1,1,1,1").contains("--path-policy weighted"));
        assert!(refused("--path-policy weighted --path-weights 1,2").contains("2 weights for 4 paths"));
        assert!(refused("--path-policy weighted --path-weights 0,0,0,0").contains("above 0"));
    }
}
