//! The protocol beside the blocks: scenarios of crate `check`, explored to their end.

use std::time::{Duration, Instant};

use serde::Serialize;
use tessera_check::{Outcome, Progress, Scenario, Verdict};

use super::ProveArgs;
use crate::output::Failure;

/// How often an exploration tells how far it is.
const TOLD: Duration = Duration::from_secs(10);

/// One row of the result.
#[derive(Serialize)]
pub struct Row {
    /// What is explored, and how far.
    pub bounds: String,
    /// What the scenario is about.
    pub about: &'static str,
    /// What is to come of it has come.
    pub good: bool,
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// The scenarios that the arguments ask for. With blocks named there are none; with
/// neither blocks nor the protocol asked for, the quick ones go along.
pub fn chosen(args: &ProveArgs) -> Result<Vec<Scenario>, Failure> {
    let all = if args.broken { tessera_check::seeded() } else { tessera_check::scenarios() };
    if !args.protocol {
        let goes = |scenario: &Scenario| scenario.quick && args.blocks.is_empty();
        return Ok(all.into_iter().filter(goes).collect());
    }
    for name in &args.blocks {
        if !all.iter().any(|scenario| scenario.name == *name) {
            let known: Vec<_> = all.iter().map(|scenario| scenario.name.as_str()).collect();
            return Err(Failure::new(format!(
                "there is no scenario {name}; there is one of {}",
                known.join(", ")
            )));
        }
    }
    let wanted = |scenario: &Scenario| {
        (scenario.quick || !args.quick) && (args.blocks.is_empty() || args.blocks.contains(&scenario.name))
    };
    let chosen: Vec<Scenario> = all.into_iter().filter(wanted).collect();
    match chosen.is_empty() {
        true => Err(Failure::new("none of these scenarios is a quick one; leave --quick out")),
        false => Ok(chosen),
    }
}

/// What would be explored.
pub fn list(scenarios: &[Scenario]) {
    for scenario in scenarios {
        println!("{:<12} {:<18} {:<56} {}", "protocol", scenario.name, scenario.bounds(), scenario.about);
    }
}

fn result(outcome: &Outcome, scenario: &Scenario) -> String {
    match (&outcome.verdict, scenario.breaks) {
        (Verdict::Holds, None) => "holds".into(),
        (Verdict::Holds, Some(_)) => "NOT NOTICED".into(),
        (Verdict::Broken(rule), Some(expected)) if *rule == expected => {
            format!("noticed in {} steps: {}", outcome.steps, rule.says())
        }
        (Verdict::Broken(rule), _) => format!("BROKEN: {}", rule.says()),
        (Verdict::Unreached(name), _) => format!("SHOWS NOTHING: {name} never occurred"),
        (Verdict::Unfinished, _) => "NOT DECIDED in time; give it more with --timeout".into(),
    }
}

fn line(row: &Row, scenario: &Scenario) -> String {
    let Outcome { states, unique, depth, seconds, .. } = row.outcome;
    let size = format!("{unique} states by {states} ways, depth {depth}");
    format!("{:<18} {seconds:>6.1} s  {size:<44} {}", row.outcome.scenario, result(&row.outcome, scenario))
}

/// Explores them one after the other, each on all processors.
pub fn explore(scenarios: &[Scenario], args: &ProveArgs) -> Result<Vec<Row>, Failure> {
    let threads =
        args.jobs.or_else(|| std::thread::available_parallelism().ok().map(usize::from)).unwrap_or(1);
    let limit = Duration::from_secs(args.timeout as u64);
    let mut rows = Vec::new();
    for (index, scenario) in scenarios.iter().enumerate() {
        let mut told = Instant::now();
        let progress = |Progress { unique, depth, .. }: Progress| {
            if told.elapsed() >= TOLD {
                told = Instant::now();
                eprintln!("      {}: {unique} states so far, depth {depth}", scenario.name);
            }
        };
        let outcome = tessera_check::check(scenario, threads, limit, progress)?;
        let good = outcome.is_good(scenario);
        let row = Row { bounds: scenario.bounds(), about: scenario.about, good, outcome };
        eprintln!("[{}/{}] protocol: {}", index + 1, scenarios.len(), line(&row, scenario));
        rows.push(row);
    }
    Ok(rows)
}

/// The table, with the way to what was found.
pub fn print(rows: &[Row], scenarios: &[Scenario]) {
    if rows.is_empty() {
        return;
    }
    println!("protocol: the model, every order of events within bounds");
    for (row, scenario) in rows.iter().zip(scenarios) {
        println!("  {}", line(row, scenario));
        println!("    {}: {}", row.about, row.bounds);
        row.outcome.trace.iter().for_each(|line| println!("    {line}"));
    }
}
