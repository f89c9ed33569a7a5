//! `tessera soak`: random everything beside the scoreboard, for as long as one
//! likes.

mod draw;
mod file;
mod host;
mod recovery;
mod round;
mod strays;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use clap::Args;
use tessera_abi::params::Config;
use tessera_sim::progress::Progress;
use tessera_sim::verilator::Model;

use crate::model::{self, ModelArgs};
use crate::output::{self, Failure};
use crate::sweep::words;
use draw::Round;
use file::{Broken, Report};
use round::Totals;

/// Judge random traffic under random settings and faults until so many packets
/// have been sent or a rule is broken.
#[derive(Args, Debug)]
pub struct SoakArgs {
    /// Packets of any kind that the NICs send, about
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..))]
    packets: u64,
    /// Seed of the first round; the others count up from it
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Rounds at once [default: one per processor]
    #[arg(long, value_parser = crate::args::jobs)]
    jobs: Option<usize>,
    /// Go on when a rule is broken, and name every round that broke one at the end
    #[arg(long)]
    keep_going: bool,
    /// Write the result as JSON, after every round; a run that was stopped goes on
    /// from there with the same hardware
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    #[command(flatten)]
    model: ModelArgs,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A soak under way.
struct Soak<'a> {
    model: &'a Model,
    config: &'static Config,
    packets: u64,
    jobs: usize,
    keep_going: bool,
    json: Option<&'a Path>,
}

impl Soak<'_> {
    /// Goes on from `report`, which may hold rounds of runs before this one. Those that
    /// broke a rule are judged anew: the scoreboard may have been wrong.
    fn run(&self, report: Report, progress: &Progress) -> Result<Report, Failure> {
        let again: Vec<u64> = report.broken.iter().map(|broken| broken.seed).collect();
        let (again, unsure) = (Mutex::new(again.clone()), Mutex::new(again));
        let next = AtomicU64::new(report.next_seed);
        let (before, known) = (report.wall_s, report.totals.frames);
        let state = Mutex::new((report, None::<Failure>));
        let begun = Instant::now();
        let work = || loop {
            {
                let (report, failure) = &*lock(&state);
                let unsure = lock(&unsure);
                let broken = report.broken.iter().any(|broken| !unsure.contains(&broken.seed));
                let enough = report.totals.frames >= self.packets && lock(&again).is_empty();
                if enough || (broken && !self.keep_going) || failure.is_some() {
                    break;
                }
            }
            let old = lock(&again).pop();
            let seed = old.unwrap_or_else(|| next.fetch_add(1, Ordering::Relaxed));
            let round = Round::draw(seed);
            let outcome = round.run(self.model, self.config);
            let (report, failure) = &mut *lock(&state);
            if old.is_some() {
                report.broken.retain(|broken| broken.seed != seed);
                lock(&unsure).retain(|&other| other != seed);
            }
            match outcome {
                Ok(totals) => report.totals.add(&totals),
                Err(what) => {
                    let name = self.config.name;
                    let command =
                        format!("cargo tessera soak --config {name} --packets 1 --jobs 1 --seed {seed}");
                    let (what, round) = (what.to_string(), round.to_string());
                    report.take(Broken { seed, what, round, command });
                }
            }
            let (done, elapsed) = (report.totals.frames, begun.elapsed().as_secs_f64());
            let pace = (done - known) as f64 / elapsed;
            let left = self.packets.saturating_sub(done) as f64 / pace.max(1.0);
            progress.detail(format_args!(
                "{done} of {} packets in {} rounds, {pace:.0}/s, about {} left",
                self.packets,
                report.totals.rounds,
                words(left)
            ));
            report.next_seed = next.load(Ordering::Relaxed);
            report.wall_s = before + elapsed;
            report.packets_per_s = done as f64 / report.wall_s;
            report.ok = report.broken.is_empty() && done >= self.packets;
            if let Some(Err(error)) = self.json.map(|path| report.write(path)) {
                *failure = Some(error);
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..self.jobs.max(1) {
                // A cluster spreads its NICs over the threads of its pool: here over one.
                scope.spawn(|| match rayon::ThreadPoolBuilder::new().num_threads(1).build() {
                    Ok(pool) => pool.install(work),
                    Err(error) => lock(&state).1 = Some(error.into()),
                });
            }
        });
        let (report, failed) = state.into_inner().unwrap_or_else(PoisonError::into_inner);
        failed.map_or(Ok(report), Err)
    }
}

fn print(totals: &Totals) {
    let Totals { rounds, frames, data, needed, spurious, probes, feedbacks, nacks, datagrams, .. } = totals;
    println!(
        "  {rounds} rounds, {frames} packets: {data} data first, {needed} again and needed, {spurious} again"
    );
    println!("  and not, {probes} probes, {feedbacks} feedbacks ({nacks} with NACK), {datagrams} datagrams");
    let Totals { messages, writes, bytes, cancels, busy, overflows, .. } = totals;
    println!("  {messages} messages ({writes} of them writes) of {bytes} bytes delivered once and as sent;");
    println!(
        "  {busy} answers of BUSY, {overflows} frames without buffer, {cancels} tagged receives taken back"
    );
    let Totals { by_host, partly, orders, strays, lenient, .. } = totals;
    println!("  {by_host} messages recovered by software with {orders} orders, {partly} of them in part;");
    println!("  {strays} stray frames;");
    if *lenient > 0 {
        println!(
            "  {lenient} rounds judged without what frames dropped for want of buffer should have caused;"
        );
    }
    let Totals { lost, duplicated, corrupted, marked, clocks, judged, .. } = totals;
    println!("  the fabric lost {lost}, copied {duplicated}, damaged {corrupted}, marked {marked}");
    println!("  {judged} frames, writes and completions judged in {clocks} clocks of NICs");
}

pub fn run(args: &SoakArgs) -> Result<(), Failure> {
    if let Some(path) = &args.json {
        output::check_writable(path)?;
    }
    let config = args.model.config()?;
    if 1 << config.endpoints_log2 < host::ENTRIES_NEEDED {
        return Err(Failure::new(format!(
            "{} has {} endpoints and a soak needs {}: choose another with --config",
            config.name,
            1 << config.endpoints_log2,
            host::ENTRIES_NEEDED
        )));
    }
    let export = model::export(config)?;
    let model = args.model.build(&export)?;
    let jobs = args.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let new = Report::none(config.name, model::revision(), model::digest(&export), args.seed);
    let report = match &args.json {
        Some(path) => Report::open(path, new)?,
        None => new,
    };
    println!("{}, revision {}: {} packets, seed {}", config.name, report.revision, args.packets, args.seed);
    if report.totals.rounds > 0 {
        println!("  {} of them in {} rounds before", report.totals.frames, report.totals.rounds);
    }
    let progress = Progress::start("soak");
    let soak = Soak {
        model: &model,
        config,
        packets: args.packets,
        jobs,
        keep_going: args.keep_going,
        json: args.json.as_deref(),
    };
    let Report { totals, broken, wall_s, packets_per_s, .. } = soak.run(report, &progress)?;
    drop(progress);
    print(&totals);
    println!("  {} at {packets_per_s:.0} packets/s; 10^7 take {}", words(wall_s), words(1e7 / packets_per_s));
    let Some(last) = broken.last() else {
        println!("no rule was broken");
        return Ok(());
    };
    for Broken { seed, what, round, command } in &broken[..broken.len() - 1] {
        eprintln!("the round of seed {seed}: {what}\n{round}\nrepeat it with: {command}\n");
    }
    let Broken { seed, what, round, command } = last;
    let count = broken.len();
    Err(Failure::new(format!(
        "the round of seed {seed}: {what}\n{round}\nrepeat it with: {command}\n{count} rounds broke a rule"
    )))
}

#[cfg(test)]
mod tests {
    use tessera_abi::params::NIC512;
    use tessera_sim::verilator::BuildOptions;

    use super::*;

    #[test]
    fn a_round_is_run_judged_and_counted() {
        let model = model::export(&NIC512)
            .and_then(|export| Ok(Model::build(&(&export).into(), &BuildOptions::hurried())?))
            .unwrap_or_else(|failure| panic!("{failure}"));
        // Fixed: this is about the soak itself; what fresh seeds find, it says when it is run.
        // In this one, frames overflowed behind packets that waited for receives (RO-13).
        let soak =
            Soak { model: &model, config: &NIC512, packets: 10_000, jobs: 1, keep_going: false, json: None };
        // It broke a rule before, and is judged anew.
        let mut new = Report::none(NIC512.name, String::new(), String::new(), 9);
        (new.next_seed, new.broken) = (10, vec![Broken { seed: 9, ..Broken::default() }]);
        let Report { totals, next_seed, broken, ok, .. } =
            soak.run(new, &Progress::start("soak")).unwrap_or_else(|failure| panic!("{failure}"));
        if let [Broken { what, round, command, .. }, ..] = &broken[..] {
            panic!("{what}\n{round}\n{command}");
        }
        assert!(ok && totals.frames >= 10_000 && next_seed == 10);
        assert!(totals.judged > 2 * totals.data && totals.messages > 0);
    }
}
