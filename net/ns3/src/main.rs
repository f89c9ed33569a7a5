//! `tessera-ns3`: runs the same hosts on our network and on one of ns-3, and compares.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use clap::Parser;
use serde::Serialize;
use tessera_ns3::cases;
use tessera_ns3::compare::{Comparison, Outcome};
use tessera_ns3::plan::Plan;
use tessera_ns3::tool::{self, Ns3};

type Failure = Box<dyn std::error::Error>;

/// Run the same hosts on our network and on one that ns-3 simulates, and compare when
/// messages arrive.
#[derive(Parser, Debug)]
#[command(name = "tessera-ns3", version)]
struct Args {
    /// Numbers of hosts: of 32, 64, 128, 256
    #[arg(long, value_delimiter = ',', default_values_t = cases::HOSTS)]
    hosts: Vec<u32>,
    /// Seeds; each is a run of every case
    #[arg(long, value_delimiter = ',', default_values_t = [1])]
    seeds: Vec<u64>,
    /// Only cases whose name contains this
    #[arg(long, value_name = "TEXT", default_value = "")]
    case: String,
    /// Greatest difference of median, 99th percentile and last, percent
    #[arg(long, value_name = "PERCENT", default_value_t = 2.0)]
    tolerance: f64,
    /// Write the result as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// A folder with include/ns3 and libraries (also TESSERA_NS3) instead of the pinned one
    #[arg(long, value_name = "FOLDER", env = "TESSERA_NS3")]
    ns3: Option<PathBuf>,
}

#[derive(Serialize)]
struct Case {
    hosts: u32,
    seed: u64,
    agrees: bool,
    our_seconds: f64,
    ns3_seconds: f64,
    #[serde(flatten)]
    comparison: Comparison,
}

#[derive(Serialize)]
struct Report {
    tolerance_percent: f64,
    agrees: bool,
    cases: Vec<Case>,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &Args) -> Result<bool, Failure> {
    let mut plans = Vec::new();
    for &hosts in &args.hosts {
        for &seed in &args.seeds {
            let sizes = cases::HOSTS.map(|hosts| hosts.to_string()).join(", ");
            let of_hosts = cases::plans(hosts, seed)
                .ok_or_else(|| format!("no network of {hosts} hosts; there are those of {sizes}"))?;
            plans.extend(of_hosts.into_iter().map(|plan| (hosts, plan)));
        }
    }
    plans.retain(|(_, plan)| plan.name.contains(&args.case));
    if plans.is_empty() {
        return Err(format!("no case has {:?} in its name", args.case).into());
    }
    if let Some(path) = &args.json {
        // Now, and not after minutes.
        let file = std::fs::File::options().create(true).append(true).open(path);
        file.map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    let program = std::env::current_exe()?;
    let beside = program.parent().unwrap_or(Path::new("."));
    let cache = tool::cache(&program);
    let ns3 = Ns3::find(args.ns3.as_deref(), &cache)?;
    let library = beside.join("libtessera_ns3.a");
    let program = ns3.program(Path::new(env!("CARGO_MANIFEST_DIR")), &library, &cache)?;

    let mut cases = Vec::new();
    println!("{:>30}  {:^27}  {:^31}  {:^21}  wall s", "", "ours, us", "ns-3 less ours, %", "each, %");
    println!(
        "{:>5} {:24}  {:>8} {:>8} {:>8}   {:>7} {:>7} {:>7} {:>7}  {:>6} {:>6} {:>7}  ours  ns-3",
        "hosts", "case", "p50", "p99", "max", "mean", "p50", "p99", "max", "p50", "p99", "equal"
    );
    for (hosts, plan) in plans {
        let case = compare(&program, &cache, hosts, &plan, args.tolerance / 100.0)?;
        row(&case);
        cases.push(case);
    }
    let apart = cases.iter().filter(|case| !case.agrees).count();
    let agrees = apart == 0;
    match agrees {
        true => println!("PASS: all {} cases agree within {} %", cases.len(), args.tolerance),
        false => println!("FAIL: {apart} of {} cases do not agree within {} %", cases.len(), args.tolerance),
    }
    if let Some(path) = &args.json {
        let report = Report { tolerance_percent: args.tolerance, agrees, cases };
        let text = serde_json::to_string_pretty(&report)?;
        std::fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    Ok(agrees)
}

fn compare(program: &Path, cache: &Path, hosts: u32, plan: &Plan, tolerance: f64) -> Result<Case, Failure> {
    let began = Instant::now();
    let ours = Outcome::of(plan)?;
    let our_seconds = began.elapsed().as_secs_f64();

    let named = |kind: &str| cache.join("ns3").join(format!("{}.{kind}", std::process::id()));
    let (input, output) = (named("json"), named("csv"));
    std::fs::write(&input, serde_json::to_vec(plan)?)?;
    let began = Instant::now();
    let status = Command::new(program).arg(&input).arg(&output).stdin(Stdio::null()).status()?;
    let ns3_seconds = began.elapsed().as_secs_f64();
    let text = std::fs::read_to_string(&output);
    for file in [&input, &output] {
        let _ = std::fs::remove_file(file);
    }
    if !status.success() {
        return Err(format!("{} failed on {:?}: {status}", program.display(), plan.name).into());
    }
    let ns3 = Outcome::parse(&text?)?;
    let comparison = Comparison::new(plan, &ours, &ns3);
    let agrees = comparison.agrees(tolerance);
    Ok(Case { hosts, seed: plan.seed, agrees, our_seconds, ns3_seconds, comparison })
}

fn row(case: &Case) {
    let Comparison { name, messages, undelivered, refused, ours, difference, equal, .. } = &case.comparison;
    let us = |time: u64| time as f64 / 1e6;
    let percent = |share: f64| share * 100.0;
    println!(
        "{:>5} {:24}  {:>8.2} {:>8.2} {:>8.2}   {:>+7.3} {:>+7.3} {:>+7.3} {:>+7.3}  {:>6.2} {:>6.2} {:>6.1}%  {:>4.1}  {:>4.1}{}",
        case.hosts,
        name,
        us(ours.p50),
        us(ours.p99),
        us(ours.max),
        percent(difference.mean),
        percent(difference.p50),
        percent(difference.p99),
        percent(difference.max),
        percent(case.comparison.each_p50),
        percent(case.comparison.each_p99),
        percent(*equal as f64 / *messages as f64),
        case.our_seconds,
        case.ns3_seconds,
        if case.agrees { "" } else { "  APART" },
    );
    if *undelivered + *refused as usize > 0 {
        println!("      {undelivered} messages did not arrive, ns-3's devices refused {refused} packets");
    }
}
