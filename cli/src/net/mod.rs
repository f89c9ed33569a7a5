//! `tessera net`: networks of up to thousands of hosts, packet by packet.

mod headline;
mod report;
mod single;
mod speed;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use tessera_net::case::headline::Extent;
use tessera_net::case::results::Results;
use tessera_net::case::shard::Shard;

use crate::output::{self, Failure};

/// Simulate networks of up to thousands of hosts packet by packet: the model of the
/// NIC next to what it is compared with
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct NetArgs {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    headline: HeadlineArgs,
}

#[derive(Subcommand, Debug)]
enum Verb {
    Headline(HeadlineArgs),
    Run(single::RunArgs),
    Merge(MergeArgs),
    Speed(speed::SpeedArgs),
}

/// Completion and round times, goodput, needless retransmissions and state of our NIC
/// beside each counterpart
#[derive(Args, Debug)]
pub struct HeadlineArgs {
    /// 32 hosts instead of 128, and fewer loads: minutes. With --full all cases on 32 hosts
    #[arg(long)]
    quick: bool,
    /// More loads and losses, and our NIC less one of its mechanisms each
    #[arg(long)]
    full: bool,
    /// Print the cases, which are independent of each other, and run none
    #[arg(long)]
    list: bool,
    /// Run only a part of the cases, such as 2/8
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// Only cases whose name contains this, such as "web search" or "SRD"; given again, that too
    #[arg(long, value_name = "TEXT")]
    only: Vec<String>,
    /// Seed of everything random
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// So many seeds, from that on: figures are medians over them, with the range
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    seeds: u32,
    /// Cases run at once [default: one per processor]
    #[arg(long, value_parser = crate::args::jobs)]
    jobs: Option<usize>,
    /// Write the results as JSON, after every case; what the file has already is not run again
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write a report with plots
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

impl HeadlineArgs {
    fn extent(&self) -> Extent {
        Extent { quick: self.quick, full: self.full }
    }
}

/// Join the JSON files of parts, and report them
#[derive(Args, Debug)]
pub struct MergeArgs {
    /// Files of parts
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Write all results as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write a report with plots
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// Results of a file.
fn read(path: &std::path::Path) -> Result<Results, Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::new(format!("cannot read {}: {error}", path.display())))?;
    serde_json::from_str(&text).map_err(|error| {
        Failure::new(format!("{} has no results of `tessera net headline`: {error}", path.display()))
    })
}

fn merge(args: &MergeArgs) -> Result<(), Failure> {
    for path in [&args.json, &args.html].into_iter().flatten() {
        output::check_writable(path)?;
    }
    let mut all = Results::default();
    for path in &args.files {
        all.join(read(path)?)?;
    }
    report::print(&all);
    report::write(&all, args.json.as_deref(), args.html.as_deref())
}

pub fn run(args: &NetArgs) -> Result<(), Failure> {
    match &args.verb {
        None => headline::run(&args.headline),
        Some(Verb::Headline(args)) => headline::run(args),
        Some(Verb::Run(args)) => single::run(args),
        Some(Verb::Merge(args)) => merge(args),
        Some(Verb::Speed(args)) => speed::run(args),
    }
}
