//! Runs the headline's cases, several at once.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;
use std::time::Instant;

use tessera_net::case::headline::cases_of_seeds;
use tessera_net::case::results::{Results, Run};
use tessera_net::case::Case;
use tessera_sim::progress::Progress;

use super::{report, HeadlineArgs};
use crate::output::{self, Failure};
use crate::sweep::{lock, words};

pub fn run(args: &HeadlineArgs) -> Result<(), Failure> {
    let all = cases_of_seeds(args.extent(), args.seed, args.seeds);
    let mut wanted = all.clone();
    if !args.only.is_empty() {
        wanted.retain(|case| args.only.iter().any(|only| case.name().contains(only.as_str())));
        if wanted.is_empty() {
            let (only, example) = (args.only.join("\" or \""), all[0].name());
            return Err(Failure::new(format!(
                "no case is named like \"{only}\"; names are such as \"{example}\""
            )));
        }
    }
    if let Some(shard) = args.shard {
        wanted = shard.of(wanted);
    }
    if args.list {
        for (number, case) in wanted.iter().enumerate() {
            let (name, seed) = case.id();
            println!("{:>4}  {name}  ({} hosts, seed {seed})", number + 1, case.hosts());
        }
        return Ok(());
    }
    for path in [&args.json, &args.html].into_iter().flatten() {
        output::check_writable(path)?;
    }
    let mut results = match &args.json {
        Some(path) if path.metadata().is_ok_and(|file| file.len() > 0) => super::read(path)?,
        _ => Results::default(),
    };
    let revision = crate::model::revision();
    if let (Some(path), false) = (&args.json, results.runs.is_empty() || results.revision == revision) {
        return Err(Failure::new(format!(
            "{} has results of revision {}, and this is {revision}: give another file",
            path.display(),
            results.revision
        )));
    }
    results.revision = revision;
    let before = results.runs.len();
    wanted.retain(|case| !results.has(case));
    let last = args.seed.wrapping_add(u64::from(args.seeds) - 1);
    let seeds =
        if args.seeds == 1 { format!("seed {last}") } else { format!("seeds {} to {last}", args.seed) };
    println!("{} cases to run, {before} in the file already, {seeds}", wanted.len());
    let jobs = args.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    run_all(&wanted, jobs, |run| {
        report::line(&run);
        results.runs.push(run);
        results.sort_like(&all);
        match &args.json {
            Some(path) => report::write_json(path, &results),
            None => Ok(()),
        }
    })?;
    report::print(&results);
    report::write(&results, None, args.html.as_deref())
}

/// Runs cases, and tells of each as soon as it has been run.
fn run_all(
    cases: &[Case],
    jobs: usize,
    tell: impl FnMut(Run) -> Result<(), Failure> + Send,
) -> Result<(), Failure> {
    let total: f64 = cases.iter().map(Case::cost).sum();
    let begun = Instant::now();
    let next = AtomicUsize::new(0);
    let progress = Progress::start("networks");
    // Who is told; what has been done; the error that ends it.
    let state = Mutex::new((tell, 0.0, 0, None));
    let work = || loop {
        let index = next.fetch_add(1, Ordering::Relaxed);
        let Some(case) = cases.get(index) else { break };
        if lock(&state).3.is_some() {
            break;
        }
        let outcome = case.run(&mut |look| {
            let locked = lock(&state);
            let simulated = look.now / 1_000_000;
            progress.detail(format_args!(
                "{} of {} cases, at {simulated} us of \"{}\"{}",
                locked.2,
                cases.len(),
                case.name(),
                left(begun, locked.1, total)
            ));
            locked.3.is_none()
        });
        let mut locked = lock(&state);
        let (tell, done, count, failed) = &mut *locked;
        let told = match outcome {
            Ok(outcome) => tell(Run { case: case.clone(), outcome }),
            Err(error) => Err(Failure::new(format!("{error}\nat the case \"{}\"", case.name()))),
        };
        *done += case.cost();
        *count += 1;
        if let Err(error) = told {
            failed.get_or_insert(error);
        }
        progress.detail(format_args!("{count} of {} cases{}", cases.len(), left(begun, *done, total)));
    };
    std::thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, cases.len().max(1)) {
            scope.spawn(work);
        }
    });
    let failed = lock(&state).3.take();
    failed.map_or(Ok(()), Err)
}

/// How long the rest will take, if it goes on as it has.
pub fn left(begun: Instant, done: f64, total: f64) -> String {
    if done == 0.0 {
        return String::new();
    }
    format!(", about {} left", words(begun.elapsed().as_secs_f64() * (total - done).max(0.0) / done))
}
