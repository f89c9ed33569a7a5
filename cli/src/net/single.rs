//! `tessera net run`: one load on one network, as the options say.

use std::path::PathBuf;
use std::time::Instant;

use clap::{Args, ValueEnum};
use tessera_net::case::results::{Results, Run};
use tessera_net::case::{Case, Load, Protocol};
use tessera_net::fabric::{Ecn, Links, Losses, Switching};
use tessera_net::network::Make;
use tessera_net::topology::Shape;
use tessera_net::traffic::sizes::Published;
use tessera_sim::progress::Progress;

use super::{headline, report};
use crate::output::{self, Failure};

/// Run one load on one network
#[derive(Args, Debug)]
pub struct RunArgs {
    /// fat-tree:K, leaf-spine:LEAVESxHOSTSxSPINES (hosts per leaf) or star:HOSTS
    #[arg(long, default_value = "fat-tree:8", value_parser = shape)]
    shape: Shape,
    /// Protocols, separated by commas: tessera, rc, rc-lossy, rc-window, rc-flowlets, irn, falcon, uccl, srd, fixed-interval, ...; `all` for ours and every counterpart
    #[arg(long, default_value = "tessera", value_parser = protocols)]
    protocol: Protocols,
    /// What is carried
    #[arg(long, value_enum, default_value_t = Kind::AllToAll)]
    load: Kind,
    /// Bytes per message or pair, or that are reduced [default: 64 KiB; all-reduce: 64 MiB]
    #[arg(long)]
    bytes: Option<u32>,
    /// Iterations, or how often
    #[arg(long, default_value_t = 1)]
    iterations: u32,
    /// Messages of loads that arrive at random, and to peers
    #[arg(long, default_value_t = 10_000)]
    messages: u32,
    /// Per cent of hosts' links, of loads that arrive at random
    #[arg(long, default_value_t = 80, value_parser = clap::value_parser!(u32).range(1..=99))]
    percent: u32,
    /// Senders of an incast
    #[arg(long, default_value_t = 32)]
    fan_in: u32,
    /// Peers that one host talks to
    #[arg(long, default_value_t = 1024)]
    peers: u32,
    /// A trace to replay, instead of a load: lines of id,host,peer,bytes,after,delay
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Gb/s of every link
    #[arg(long, default_value_t = 400)]
    gbps: u32,
    /// Delay of every link, nanoseconds
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    delay: u64,
    /// Most that the ways up of a switch differ by, nanoseconds
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=1_000_000))]
    skew: u64,
    /// Chance that a packet is lost
    #[arg(long, default_value_t = 0.0, value_parser = crate::args::probability)]
    loss: f64,
    /// Bytes of a switch's buffer
    #[arg(long, default_value_t = 16 << 20)]
    buffer: u64,
    /// Switches do not mark
    #[arg(long)]
    no_ecn: bool,
    /// Seed of everything random
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write the results as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write a report with plots
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// Loads by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    AllToAll,
    Experts,
    Ring,
    Tree,
    Halving,
    Incast,
    Permutation,
    WebSearch,
    Hadoop,
    Storage,
    Peers,
}

/// Who is to run.
#[derive(Clone, Debug)]
struct Protocols(Vec<Protocol>);

fn protocols(text: &str) -> Result<Protocols, String> {
    if text == "all" {
        return Ok(Protocols([Protocol::Tessera].into_iter().chain(Protocol::COUNTERPARTS).collect()));
    }
    let parse = |name: &str| {
        let name = serde_json::Value::String(name.trim().replace('-', "_"));
        serde_json::from_value(name).map_err(|error| error.to_string())
    };
    text.split(',').map(parse).collect::<Result<_, _>>().map(Protocols)
}

fn shape(text: &str) -> Result<Shape, String> {
    let wrong = || format!("`{text}` is no shape; write fat-tree:8, leaf-spine:16x16x16 or star:32");
    let (kind, numbers) = text.split_once(':').ok_or_else(wrong)?;
    let numbers: Vec<u32> =
        numbers.split('x').map(str::parse).collect::<Result<_, _>>().map_err(|_| wrong())?;
    match (kind, numbers[..].as_ref()) {
        ("fat-tree", &[k]) => Ok(Shape::FatTree { k }),
        ("leaf-spine", &[leaves, hosts, spines]) => Ok(Shape::LeafSpine { leaves, hosts, spines }),
        ("star", &[hosts]) => Ok(Shape::Star { hosts }),
        _ => Err(wrong()),
    }
}

impl RunArgs {
    fn load(&self) -> Result<Load, Failure> {
        let (iterations, messages, percent) = (self.iterations, self.messages, self.percent);
        if let Some(path) = &self.trace {
            let text = std::fs::read_to_string(path)
                .map_err(|error| Failure::new(format!("cannot read {}: {error}", path.display())))?;
            return Ok(Load::Trace { text });
        }
        let bytes = self.bytes.unwrap_or(65_536);
        let reduced = self.bytes.map_or(64 << 20, u64::from);
        let at_random = |sizes| Load::Poisson { sizes, percent, messages };
        Ok(match self.load {
            Kind::AllToAll => Load::AllToAll { bytes, iterations },
            Kind::Experts => Load::Experts { mixture: Default::default(), iterations },
            Kind::Ring => Load::Ring { bytes: reduced, lanes: 1, iterations },
            Kind::Tree => Load::Tree { bytes: reduced, chunks: 64, iterations },
            Kind::Halving => Load::Halving { bytes: reduced, iterations },
            Kind::Incast => Load::Incast { fan_in: self.fan_in, bytes, times: iterations },
            Kind::Permutation => Load::Permutation { bytes, messages: iterations },
            Kind::WebSearch => at_random(Published::WebSearch),
            Kind::Hadoop => at_random(Published::Hadoop),
            Kind::Storage => at_random(Published::AliStorage),
            Kind::Peers => Load::Peers { peers: self.peers, bytes, under_way: 64, messages },
        })
    }
}

pub fn run(args: &RunArgs) -> Result<(), Failure> {
    for path in [&args.json, &args.html].into_iter().flatten() {
        output::check_writable(path)?;
    }
    let ns = 1000;
    let links = Links {
        host_gbps: args.gbps,
        fabric_gbps: args.gbps,
        host_delay: args.delay * ns,
        fabric_delay: args.delay * ns,
        skew: args.skew * ns,
    };
    let ecn = (!args.no_ecn).then_some(Ecn { least: 100 << 10, most: 400 << 10 });
    let make = Make {
        shape: Some(args.shape),
        links,
        switching: Switching { buffer: args.buffer, ecn, ..Switching::default() },
        losses: Losses { uniform: args.loss, ..Losses::default() },
        seed: args.seed,
        ..Make::default()
    };
    let load = args.load()?;
    let group = match &args.trace {
        Some(path) => path.display().to_string(),
        None => args.load.to_possible_value().map_or_else(String::new, |value| value.get_name().into()),
    };
    let mut results = Results { revision: crate::model::revision(), ..Results::default() };
    for &protocol in &args.protocol.0 {
        let case =
            Case { group: group.clone(), protocol, make: make.clone(), load: load.clone(), until: None };
        let total = case.load.messages(case.hosts());
        let progress = Progress::start(format!("{} on {} hosts", protocol.name(), case.hosts()));
        let begun = Instant::now();
        let outcome = case.run(&mut |look| {
            progress.detail(format_args!(
                ", {} us simulated, {} of about {total} messages, {:.1} million events{}",
                look.now / 1_000_000,
                look.delivered,
                look.events as f64 / 1e6,
                headline::left(begun, look.delivered as f64, total as f64)
            ));
            true
        })?;
        drop(progress);
        let run = Run { case, outcome };
        report::line(&run);
        let outcome = &run.outcome;
        println!(
            "  {} messages, {} open, {} given up; {:.1} Gb/s per host; packets {} + {} again ({:.3} % needless), {} dropped, {} lost",
            outcome.messages,
            outcome.open,
            outcome.failed,
            outcome.goodput,
            outcome.tally.sent - outcome.tally.again,
            outcome.tally.again,
            100.0 * outcome.spurious,
            outcome.counts.dropped,
            outcome.counts.lost,
        );
        println!(
            "  {:.0} us simulated in {:.1} s: {:.2} million packet-hops per second",
            outcome.simulated,
            outcome.seconds,
            outcome.counts.hops as f64 / outcome.seconds / 1e6,
        );
        results.runs.push(run);
    }
    report::write(&results, args.json.as_deref(), args.html.as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_and_protocols_are_read_or_refused_with_an_example() {
        assert_eq!(shape("fat-tree:4"), Ok(Shape::FatTree { k: 4 }));
        let leaf_spine = Shape::LeafSpine { leaves: 2, hosts: 3, spines: 4 };
        assert_eq!(shape("leaf-spine:2x3x4"), Ok(leaf_spine));
        assert_eq!(shape("star:9"), Ok(Shape::Star { hosts: 9 }));
        for text in ["", "star", "star:x", "leaf-spine:2x3", "torus:4"] {
            assert!(shape(text).unwrap_err().contains("fat-tree:8"), "{text}");
        }
        let read = protocols("tessera,rc-lossy").unwrap().0;
        assert_eq!(read, [Protocol::Tessera, Protocol::RcLossy]);
        assert_eq!(protocols("all").unwrap().0.len(), 10);
        assert!(protocols("tcp").unwrap_err().contains("tcp"));
    }
}
