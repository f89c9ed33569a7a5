//! RC connections of a verbs program: what of the NIC they take, and at what pace messages
//! pass over few and over very many of them.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use tessera_abi::params::Config;
use tessera_abi::regs;
use tessera_sim::cluster::{Cluster, SharedCluster};
use tessera_sim::fabric::FabricOptions;
use tessera_sim::nic::NicOptions;
use tessera_sim::serve::{MemoryWay, Server};
use tessera_sim::verilator::Model;

use crate::output::Failure;
use crate::run;

/// Messages of a run.
pub const MESSAGES: u64 = 2_000;
/// Clocks of delay, one way.
const DELAY: u64 = 250;

/// Where receives come from.
#[derive(Clone, Copy)]
pub enum Receives {
    Own,
    Shared,
}

/// What one run tells.
pub struct Run {
    /// Clocks per message, there and ended.
    pub clocks: f64,
    /// Slots and contexts that are not free while all connections are open and idle.
    pub idle: u32,
    /// Bytes of the program's memory that the NIC may reach then.
    pub host_bytes: usize,
}

/// The program, which ends with this.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Messages of 64 bytes, 64 under way at a time, over so many connections of a NIC with itself.
pub fn run(
    model: &Model,
    config: &Config,
    (count, receives): (u32, Receives),
    seed: u64,
) -> Result<Run, Failure> {
    let program = run::build(&["--example", "rc_connections"], "rc_connections")?;
    let nic = NicOptions { seed, ..NicOptions::default() };
    let cluster = SharedCluster::new(Cluster::new(model, 1, &nic, FabricOptions::new(1, DELAY, 0, seed))?);
    let folder = tempfile::Builder::new().prefix("tessera-bench-").tempdir()?;
    let server = Server::bind(&folder.path().join("nic"), cluster.clone(), 1, MemoryWay::Found)?;
    let kind = match receives {
        Receives::Own => "own",
        Receives::Shared => "shared",
    };
    let mut child = Program(
        Command::new(program)
            .args([count.to_string(), MESSAGES.to_string(), kind.to_owned()])
            .env("TESSERA_DEVICE", server.address(0))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?,
    );
    let ended = || Failure::new("the program with RC connections ended: see above");
    let mut words = BufReader::new(child.0.stdout.take().ok_or_else(ended)?).lines();
    let mut go_on = child.0.stdin.take().ok_or_else(ended)?;
    let mut hear = |word: &str| -> Result<(), Failure> {
        match words.next() {
            Some(Ok(said)) if said == word => Ok(()),
            _ => Err(ended()),
        }
    };
    hear("ready")?;
    let device = cluster.device(0);
    let read = |reg: regs::Reg| device.read(reg.offset);
    let idle = (1 << config.tx_slots_log2) - read(regs::FREE_SLOTS)? + (1 << config.rx_contexts_log2)
        - read(regs::FREE_CONTEXTS)?;
    let host_bytes = cluster.lock().nics()[0].memory().mapped();
    let begun = cluster.lock().clock();
    writeln!(go_on)?;
    hear("done")?;
    let clocks = cluster.lock().clock() - begun;
    writeln!(go_on)?;
    Ok(Run { clocks: clocks as f64 / MESSAGES as f64, idle, host_bytes })
}
