//! NICs on a fabric that other processes have: what `run` and `guest` share.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use serde::Serialize;
use tessera_abi::params::{Config, CLOCK_MHZ};
use tessera_abi::regs::{self, Reg};
use tessera_sim::cluster::{addresses, Cluster, SharedCluster};
use tessera_sim::ethernet::Ethernet;
use tessera_sim::fabric::{Capture, FabricOptions, Faults, Loss};
use tessera_sim::nic::NicOptions;
use tessera_sim::serve::{MemoryWay, Server};
use tessera_sim::verilator::Trace;

use crate::args;
use crate::fabric;
use crate::model::{self, ModelArgs};
use crate::output::{self, Failure};

/// Shortest path's delay, clocks: 1 us.
const BASE_DELAY: u64 = CLOCK_MHZ as u64;

/// What is simulated.
#[derive(Args, Debug)]
pub struct FabricArgs {
    /// NICs
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub nics: u16,
    /// Paths of the fabric: with more than one, datagrams may overtake each other
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub paths: u16,
    /// Probability that a frame is lost, 0 to 0.5
    #[arg(long, default_value_t = 0.0, value_parser = args::probability)]
    pub loss: f64,
    /// Delay of the slowest path beyond the fastest, microseconds
    #[arg(long, default_value_t = 0.0, value_parser = args::skew)]
    pub skew_us: f64,
    /// A fabric from a JSON file: delays of its paths, bursts of loss, copies, damage, marks,
    /// dead paths, speeds of links (docs/co-verification.md)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["paths", "loss", "skew_us"])]
    pub fabric: Option<PathBuf>,
    /// Seed of everything random
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// A register to set on every NIC, besides PATH_COUNT; may be given several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = tessera_driver::setting)]
    pub set: Vec<(Reg, u32)>,
    /// Write every frame as pcapng, for Wireshark
    #[arg(long, value_name = "FILE")]
    pub pcap: Option<PathBuf>,
    #[command(flatten)]
    pub model: ModelArgs,
}

/// A running simulation.
pub struct Simulated {
    pub server: Server<Cluster>,
    /// What programs set: `NAME=VALUE,...`.
    pub settings: String,
    cluster: SharedCluster,
    config: &'static Config,
    paths: usize,
    begun: Instant,
}

/// What happened, as JSON.
#[derive(Serialize)]
pub struct Happened {
    configuration: &'static str,
    revision: String,
    nics: u16,
    paths: usize,
    fabric: Option<String>,
    loss: f64,
    skew_us: f64,
    seed: u64,
    frames: u64,
    bytes: u64,
    lost: u64,
    clocks: u64,
    wall_s: f64,
    visits: Vec<Visit>,
}

/// What a NIC did for a process.
#[derive(Serialize)]
struct Visit {
    nic: usize,
    process: i32,
    counters: std::collections::BTreeMap<&'static str, u32>,
}

impl FabricArgs {
    /// Refuses what cannot be written, before anything is built.
    pub fn check(&self) -> Result<(), Failure> {
        self.pcap.as_deref().map_or(Ok(()), output::check_writable)
    }

    /// Simulates, and serves at a socket.
    pub fn serve(
        &self,
        socket: &Path,
        way: MemoryWay,
        ethernet: Option<&Arc<Ethernet>>,
    ) -> Result<Simulated, Failure> {
        let options = match &self.fabric {
            Some(path) => fabric::read(path, self.seed)?,
            None => {
                let skew = (self.skew_us * f64::from(CLOCK_MHZ)).round() as u64;
                let loss = if self.loss > 0.0 { Loss::Uniform(self.loss) } else { Loss::None };
                let options = FabricOptions::new(self.paths.into(), BASE_DELAY, skew, self.seed);
                FabricOptions { faults: Faults { loss, ..Faults::default() }, ..options }
            }
        };
        let paths = options.path_delays.len();
        let config = self.model.config()?;
        let model = self.model.build_hurried(&model::export(config)?, Trace::Off)?;
        let nic = NicOptions { seed: self.seed, ..NicOptions::default() };
        let mut cluster = Cluster::new(&model, self.nics.into(), &nic, options)?;
        if let Some(path) = &self.pcap {
            let mut capture = Capture::create(path, self.nics.into())?;
            if ethernet.is_some() {
                capture.interface("ethernet".into())?;
            }
            cluster.fabric_mut().start_capture(capture);
        }
        if let Some(ethernet) = ethernet {
            cluster.connect(ethernet.clone());
        }
        let cluster = SharedCluster::new(cluster);
        let server = Server::bind(socket, cluster.clone(), self.nics.into(), way)?;
        let path_count = (regs::PATH_COUNT, paths as u32);
        let settings = std::iter::once(&path_count).chain(&self.set);
        let settings: Vec<_> = settings.map(|(reg, value)| format!("{}={value}", reg.name)).collect();
        let begun = Instant::now();
        Ok(Simulated { server, settings: settings.join(","), cluster, config, paths, begun })
    }
}

impl Simulated {
    /// Ends it.
    pub fn finish(self, args: &FabricArgs) -> Result<Happened, Failure> {
        let visits = self.server.visits();
        drop(self.server);
        let mut locked = self.cluster.lock();
        locked.fabric_mut().finish_capture()?;
        let stats = locked.fabric().stats();
        Ok(Happened {
            configuration: self.config.name,
            revision: model::revision(),
            nics: args.nics,
            paths: self.paths,
            fabric: args.fabric.as_ref().map(|path| path.display().to_string()),
            loss: args.loss,
            skew_us: args.skew_us,
            seed: args.seed,
            frames: stats.frames,
            bytes: stats.bytes,
            lost: stats.dropped(),
            clocks: locked.clock(),
            wall_s: self.begun.elapsed().as_secs_f64(),
            visits: visits
                .into_iter()
                .map(|visit| Visit {
                    nic: visit.nic,
                    process: visit.process,
                    counters: visit.counters.into_iter().collect(),
                })
                .collect(),
        })
    }
}

impl Happened {
    /// Frames, bytes, and so on.
    pub fn print_fabric(&self) {
        println!(
            "fabric   {} frames, {} bytes, {} lost; {} clocks of {} NICs in {:.1} s",
            self.frames, self.bytes, self.lost, self.clocks, self.nics, self.wall_s
        );
    }

    /// Who had which NIC, and what it did.
    pub fn print_visits(&self) {
        for Visit { nic, process, counters } in &self.visits {
            let [a, b, c, d] = addresses(*nic).1;
            let counters: Vec<_> = counters.iter().map(|(name, value)| format!("{name} {value}")).collect();
            println!("NIC {nic}    {a}.{b}.{c}.{d}, process {process}: {}", counters.join(", "));
        }
    }
}
