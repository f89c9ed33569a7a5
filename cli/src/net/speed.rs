//! `tessera net speed`: what the simulator makes of this machine.

use std::path::PathBuf;

use clap::Args;
use tessera_net::speed::Speed;

use crate::output::{self, Failure};

/// Measure packet-hops per second of the network alone, on one core
#[derive(Args, Debug)]
pub struct SpeedArgs {
    /// Ports of a fat tree's switches: 8 for 128 hosts, 16 for 1,024
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(2..=32))]
    ports: u32,
    /// Packets from each host
    #[arg(long, default_value_t = 20_000)]
    packets: u32,
    /// Write the result as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub fn run(args: &SpeedArgs) -> Result<(), Failure> {
    if let Some(path) = &args.json {
        output::check_writable(path)?;
    }
    let speed = Speed::measure(args.ports, args.packets)?;
    println!(
        "{} hosts: {:.1} million packet-hops per second on one core, {:.1} million events ({} hops in {:.2} s)",
        speed.hosts,
        speed.hops_per_second / 1e6,
        speed.events as f64 / speed.seconds / 1e6,
        speed.hops,
        speed.seconds
    );
    match &args.json {
        Some(path) => output::write_json(path, &speed),
        None => Ok(()),
    }
}
