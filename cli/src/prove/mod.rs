//! `tessera prove`: properties of single blocks, for every input there is, and of the
//! protocol, for every order of events within bounds.
//!
//! ```text
//!   block ──export──> block.v ──┐
//!   formal/BLOCK.sv ────────────┴──> SymbiYosys ──> holds, or a trace
//!   scenario ── model ─────────────> stateright ──> holds, or a trace
//! ```
//!
//! What is proved is said in the harnesses; docs/proofs.md has the table.

mod blocks;
mod harness;
mod protocol;
mod sby;

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use rayon::prelude::*;
use serde::Serialize;
use tessera_sim::tools::{self, Prover};

use self::harness::{Broken, Depth, Harness, Proof};
use self::sby::{Mode, Ran, Task, Verdict};
use crate::args;
use crate::model::ToolArgs;
use crate::output::{self, Failure};
use crate::run::orphans::Orphans;
use crate::stop::Stop;

/// Prove properties of single blocks on their exported Verilog, and of the protocol
#[derive(Args, Debug)]
pub struct ProveArgs {
    /// Blocks, or with --protocol scenarios [default: all blocks, and of the protocol what is quick]
    #[arg(value_name = "BLOCK")]
    blocks: Vec<String>,
    /// The protocol alone: every order of events of the model, within small bounds
    #[arg(long)]
    protocol: bool,
    /// Only what takes seconds
    #[arg(long)]
    quick: bool,
    /// Instead break each block and the protocol, one mistake at a time, which must be noticed
    #[arg(long)]
    broken: bool,
    /// List what would be proved
    #[arg(long, conflicts_with_all = ["json", "jobs"])]
    list: bool,
    /// Write the result as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Proofs at once, and threads of a scenario [default: one per processor]
    #[arg(long, value_name = "N", value_parser = args::jobs)]
    jobs: Option<usize>,
    /// Seconds that a proof or a scenario may take
    #[arg(long, value_name = "SECONDS", default_value = "1800", value_parser = args::seconds)]
    timeout: usize,
}

/// What a row of the table is of.
#[derive(Clone, Copy)]
enum What<'a> {
    Proof(&'a Proof),
    Broken(&'a Broken),
    Cover,
}

struct Work<'a> {
    harness: &'a Harness,
    verilog: &'a str,
    what: What<'a>,
}

/// One row of the result.
#[derive(Serialize)]
struct Row {
    block: String,
    of: String,
    name: String,
    says: String,
    /// `proved by induction`, `checked to depth N`, `reached`, `noticed`, or what went wrong.
    result: String,
    good: bool,
    depth: usize,
    seconds: f64,
    trace: Option<PathBuf>,
}

#[derive(Serialize)]
struct Report {
    /// What proved the blocks, if any did.
    tools: Option<String>,
    rows: Vec<Row>,
    protocol: Vec<protocol::Row>,
}

impl Work<'_> {
    fn name(&self) -> String {
        match self.what {
            What::Proof(proof) => proof.name.clone(),
            What::Broken(broken) => format!("{} broken", broken.proof),
            What::Cover => "cover".into(),
        }
    }

    fn says(&self) -> &str {
        match self.what {
            What::Proof(proof) => &proof.says,
            What::Broken(broken) => &broken.what,
            What::Cover => "the states that the proofs are about are reached",
        }
    }

    fn depth(&self) -> usize {
        match self.what {
            What::Proof(Proof { depth: Depth::Induction(depth) | Depth::Bounded(depth), .. }) => *depth,
            What::Broken(broken) => broken.within,
            What::Cover => self.harness.cover,
        }
    }

    /// What it is called where nothing has been run yet.
    fn how(&self) -> String {
        match self.what {
            What::Proof(Proof { depth: Depth::Induction(depth), .. }) => format!("by induction over {depth}"),
            What::Proof(_) => format!("to depth {}", self.depth()),
            What::Broken(_) => format!("noticed within {}", self.depth()),
            What::Cover => format!("reached within {}", self.depth()),
        }
    }

    fn run(&self, prover: &Prover, timeout: Duration, index: usize) -> Result<Row, Failure> {
        let (mode, define, text) = match self.what {
            What::Proof(proof) => {
                let mode = match proof.depth {
                    Depth::Induction(_) => Mode::Induction,
                    Depth::Bounded(_) => Mode::Bounded,
                };
                (mode, format!("PROVE_{}", proof.name), self.verilog.to_owned())
            }
            // Found from power-up on, or it is none.
            What::Broken(broken) => {
                let text = self.harness.broken(self.verilog, broken)?;
                (Mode::Bounded, format!("PROVE_{}", broken.proof), text)
            }
            What::Cover => (Mode::Cover, "COVER".into(), self.verilog.to_owned()),
        };
        let part = match self.what {
            What::Broken(_) => format!("{}-{index}", self.name().replace(' ', "-")),
            _ => self.name(),
        };
        let task = Task {
            folder: tools::cache_dir().join("proofs").join(&self.harness.block).join(part),
            verilog: &text,
            harness: self.harness.text,
            define,
            mode,
            depth: self.depth(),
            timeout,
        };
        let ran = sby::run(prover, &task)?;
        Ok(self.row(ran))
    }

    fn row(&self, ran: Ran) -> Row {
        let depth = self.depth();
        let (good, result, trace) = match (self.what, ran.verdict) {
            (What::Broken(_), Verdict::Fails { trace, .. }) => (true, "noticed".into(), trace),
            (What::Broken(_), Verdict::Holds) => (false, format!("NOT NOTICED within {depth} clocks"), None),
            (What::Cover, Verdict::Holds) => (true, "reached".into(), None),
            (What::Cover, Verdict::Fails { what, .. }) => {
                (false, format!("NOT REACHED within {depth} clocks: {what}"), None)
            }
            (What::Proof(Proof { depth: Depth::Induction(_), .. }), Verdict::Holds) => {
                (true, "proved by induction".into(), None)
            }
            (What::Proof(_), Verdict::Holds) => (true, format!("checked to depth {depth}"), None),
            (What::Proof(_), Verdict::Fails { what, trace }) => (false, format!("FAILED: {what}"), trace),
            (_, Verdict::Open { what }) => {
                (false, format!("NOT PROVED, induction does not reach: {what}"), None)
            }
            (_, Verdict::TimedOut) => {
                (false, "NOT DECIDED in time; give it more with --timeout".into(), None)
            }
        };
        Row {
            block: self.harness.block.clone(),
            of: self.harness.of.clone(),
            name: self.name(),
            says: self.says().to_owned(),
            result,
            good,
            depth,
            seconds: ran.took.as_secs_f64(),
            trace,
        }
    }
}

/// The harnesses of the blocks of these names; of all where none is named.
fn chosen(names: &[String]) -> Result<Vec<(&'static blocks::Entry, Harness)>, Failure> {
    for name in names {
        if !blocks::BLOCKS.iter().any(|entry| entry.name == name) {
            let known: Vec<_> = blocks::BLOCKS.iter().map(|entry| entry.name).collect();
            return Err(Failure::new(format!(
                "there is no harness of a block {name}; there is one of {}",
                known.join(", ")
            )));
        }
    }
    let wanted = |entry: &&blocks::Entry| names.is_empty() || names.iter().any(|name| entry.name == name);
    let parsed = |entry: &'static blocks::Entry| {
        let file = format!("formal/{}.sv", entry.name);
        let harness = Harness::parse(&file, entry.harness)?;
        match harness.block == entry.name {
            true => Ok((entry, harness)),
            false => Err(Failure::new(format!("{file} is of block {}", harness.block))),
        }
    };
    blocks::BLOCKS.iter().filter(wanted).map(parsed).collect()
}

/// What is to be done of a harness.
fn parts(harness: &Harness, quick: bool, broken: bool) -> Vec<What<'_>> {
    let proofs = harness.proofs.iter().filter(|proof| proof.quick || !quick);
    if broken {
        let of = |proof: &'_ Proof| {
            harness.broken.iter().filter({
                let name = proof.name.clone();
                move |broken| broken.proof == name
            })
        };
        return proofs.flat_map(of).map(What::Broken).collect();
    }
    let mut parts: Vec<What> = proofs.map(What::Proof).collect();
    if !parts.is_empty() {
        parts.push(What::Cover);
    }
    parts
}

fn line(row: &Row) -> String {
    format!("{:<12} {:<16} {:>6.1} s  {}", row.block, row.name, row.seconds, row.result)
}

/// Proves all that is to be proved of blocks; by what, and what came of it.
fn prove(works: &[Work], args: &ProveArgs) -> Result<(Option<String>, Vec<Row>), Failure> {
    let prover = tools::prover(&ToolArgs { verilator: None }.options())?;
    let timeout = Duration::from_secs(args.timeout as u64);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(args.jobs.unwrap_or(0)).build()?;
    let done = AtomicUsize::new(0);
    let rows: Result<Vec<Row>, Failure> = pool.install(|| {
        let each = |(index, work): (usize, &Work)| {
            let row = work.run(&prover, timeout, index)?;
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            eprintln!("[{done}/{}] {}", works.len(), line(&row));
            Ok(row)
        };
        works.par_iter().enumerate().map(each).collect()
    });
    Ok((Some(prover.versions().to_owned()), rows?))
}

pub fn run(args: &ProveArgs) -> Result<(), Failure> {
    if let Some(path) = &args.json {
        output::check_writable(path)?;
    }
    let scenarios = protocol::chosen(args)?;
    let chosen = if args.protocol { Vec::new() } else { chosen(&args.blocks)? };
    let mut exports = Vec::new();
    for (entry, harness) in &chosen {
        exports.push(if args.list { String::new() } else { harness.probed(&entry.export()?.verilog)? });
    }
    let works: Vec<Work> = chosen
        .iter()
        .zip(&exports)
        .flat_map(|((_, harness), verilog)| {
            let parts = parts(harness, args.quick, args.broken);
            parts.into_iter().map(move |what| Work { harness, verilog, what })
        })
        .collect();
    if args.list {
        for work in &works {
            println!("{:<12} {:<16} {:<24} {}", work.harness.block, work.name(), work.how(), work.says());
        }
        protocol::list(&scenarios);
        return Ok(());
    }
    if works.is_empty() && scenarios.is_empty() {
        return Err(Failure::new("none of these blocks has a quick proof; leave --quick out"));
    }
    // SymbiYosys starts others, which an interrupt ends as well.
    let _adopted = Orphans::adopt();
    let _stop = Stop::watch()?;
    let begun = Instant::now();
    let protocol = protocol::explore(&scenarios, args)?;
    let (tools, rows) = if works.is_empty() { (None, Vec::new()) } else { prove(&works, args)? };
    protocol::print(&protocol, &scenarios);
    if let Some(tools) = &tools {
        println!("{tools}");
    }
    for (entry, harness) in &chosen {
        let mut of_block = rows.iter().filter(|row| row.block == entry.name).peekable();
        if of_block.peek().is_some() {
            println!("{}: {}", entry.name, harness.of);
        }
        for row in of_block {
            println!("  {:<16} {:>7.1} s  {:<22} {}", row.name, row.seconds, row.result, row.says);
            if let (false, Some(trace)) = (row.good, &row.trace) {
                println!("    trace: {}", trace.display());
            }
        }
    }
    let all = rows.iter().map(|row| row.good).chain(protocol.iter().map(|row| row.good));
    let (good, bad): (Vec<bool>, Vec<bool>) = all.partition(|good| *good);
    let (good, bad) = (good.len(), bad.len());
    println!("{good} good, {bad} bad, {:.0} s", begun.elapsed().as_secs_f64());
    if let Some(path) = &args.json {
        output::write_json(path, &Report { tools, rows, protocol })?;
    }
    match bad {
        0 => Ok(()),
        _ => Err(Failure::new(format!("{bad} of the proofs above are bad"))),
    }
}

#[cfg(test)]
mod tests;
