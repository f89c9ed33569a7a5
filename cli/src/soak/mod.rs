//! `tessera soak`: random everything beside the scoreboard, for as long as one
//! likes.

mod draw;
mod host;
mod recovery;
mod round;
mod strays;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use clap::Args;
use serde::Serialize;
use tessera_abi::params::Config;
use tessera_sim::progress::Progress;
use tessera_sim::verilator::{Model, Trace};

use crate::model::{self, ModelArgs};
use crate::output::{self, Failure};
use crate::sweep::words;
use draw::Round;
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
    #[arg(long)]
    jobs: Option<usize>,
    /// Go on when a rule is broken, and name every round that broke one at the end
    #[arg(long)]
    keep_going: bool,
    /// Write the result as JSON, after every round
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    #[command(flatten)]
    model: ModelArgs,
}

/// A round that broke a rule.
#[derive(Clone, Debug, Serialize)]
struct Broken {
    seed: u64,
    what: String,
    /// What was drawn.
    round: String,
    /// Repeats this round and no other.
    command: String,
}

/// The JSON file.
#[derive(Serialize)]
struct Report<'a> {
    ok: bool,
    configuration: &'a str,
    revision: String,
    seed: u64,
    /// First seed that was not run.
    next_seed: u64,
    wall_s: f64,
    packets_per_s: f64,
    totals: &'a Totals,
    /// Rounds that broke a rule, by seed; nothing of them is in the totals.
    broken: &'a [Broken],
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A soak under way.
struct Soak<'a> {
    model: &'a Model,
    config: &'static Config,
    packets: u64,
    seed: u64,
    revision: String,
    jobs: usize,
    keep_going: bool,
    json: Option<&'a Path>,
}

impl Soak<'_> {
    /// Totals, the first seed that was not run, and the broken rounds by seed.
    fn run(&self, progress: &Progress) -> Result<(Totals, u64, Vec<Broken>), Failure> {
        let next = AtomicU64::new(self.seed);
        let state = Mutex::new((Totals::default(), Vec::<Broken>::new(), None::<Failure>));
        let begun = Instant::now();
        let work = || loop {
            {
                let locked = lock(&state);
                let broken = !locked.1.is_empty() && !self.keep_going;
                if locked.0.frames >= self.packets || broken || locked.2.is_some() {
                    break;
                }
            }
            let seed = next.fetch_add(1, Ordering::Relaxed);
            let round = Round::draw(seed);
            let outcome = round.run(self.model, self.config);
            let mut locked = lock(&state);
            match outcome {
                Ok(totals) => locked.0.add(&totals),
                Err(what) => {
                    let command = format!("cargo tessera soak --packets 1 --jobs 1 --seed {seed}");
                    let (what, round) = (what.to_string(), round.to_string());
                    let broken = Broken { seed, what, round, command };
                    let at = locked.1.partition_point(|known| known.seed < seed);
                    locked.1.insert(at, broken);
                }
            }
            let (done, elapsed) = (locked.0.frames, begun.elapsed().as_secs_f64());
            let left = self.packets.saturating_sub(done) as f64 * elapsed / done.max(1) as f64;
            progress.detail(format_args!(
                "{done} of {} packets in {} rounds, {:.0}/s, about {} left",
                self.packets,
                locked.0.rounds,
                done as f64 / elapsed,
                words(left)
            ));
            let (totals, broken, _) = &*locked;
            if let Err(failure) = self.write(totals, next.load(Ordering::Relaxed), broken, elapsed) {
                locked.2 = Some(failure);
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..self.jobs.max(1) {
                // A cluster spreads its NICs over the threads of its pool: here over one.
                scope.spawn(|| match rayon::ThreadPoolBuilder::new().num_threads(1).build() {
                    Ok(pool) => pool.install(work),
                    Err(error) => lock(&state).2 = Some(error.into()),
                });
            }
        });
        let (totals, broken, failed) = std::mem::take(&mut *lock(&state));
        failed.map_or(Ok((totals, next.into_inner(), broken)), Err)
    }

    fn write(&self, totals: &Totals, next_seed: u64, broken: &[Broken], wall_s: f64) -> Result<(), Failure> {
        let Some(path) = self.json else { return Ok(()) };
        let report = Report {
            ok: broken.is_empty() && totals.frames >= self.packets,
            configuration: self.config.name,
            revision: self.revision.clone(),
            seed: self.seed,
            next_seed,
            wall_s,
            packets_per_s: totals.frames as f64 / wall_s,
            totals,
            broken,
        };
        output::write_json(path, &report)
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
    let Totals { by_host, partly, orders, strays, .. } = totals;
    println!("  {by_host} messages recovered by software with {orders} orders, {partly} of them in part;");
    println!("  {strays} stray frames;");
    let Totals { lost, duplicated, corrupted, marked, clocks, judged, .. } = totals;
    println!("  the fabric lost {lost}, copied {duplicated}, damaged {corrupted}, marked {marked}");
    println!("  {judged} frames, writes and completions judged in {clocks} clocks of NICs");
}

pub fn run(args: &SoakArgs) -> Result<(), Failure> {
    if let Some(path) = &args.json {
        output::check_writable(path)?;
    }
    let config = args.model.config()?;
    let model = args.model.build(&model::export(config)?, Trace::Off)?;
    let jobs = args.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let revision = model::revision();
    println!("{}, revision {revision}: {} packets, seed {}", config.name, args.packets, args.seed);
    let begun = Instant::now();
    let progress = Progress::start("soak");
    let soak = Soak {
        model: &model,
        config,
        packets: args.packets,
        seed: args.seed,
        revision,
        jobs,
        keep_going: args.keep_going,
        json: args.json.as_deref(),
    };
    let (totals, next_seed, broken) = soak.run(&progress)?;
    drop(progress);
    let wall_s = begun.elapsed().as_secs_f64();
    let packets_per_s = totals.frames as f64 / wall_s;
    print(&totals);
    println!("  {} at {packets_per_s:.0} packets/s; 10^7 take {}", words(wall_s), words(1e7 / packets_per_s));
    soak.write(&totals, next_seed, &broken, wall_s)?;
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
            .and_then(|export| Ok(Model::build(&(&export).into(), &BuildOptions::default())?))
            .unwrap_or_else(|failure| panic!("{failure}"));
        // Fixed: this is about the soak itself; what fresh seeds find, it says when it is run.
        // In this one, frames overflowed behind packets that waited for receives (RO-13).
        let soak = Soak {
            model: &model,
            config: &NIC512,
            packets: 10_000,
            seed: 9,
            revision: String::new(),
            jobs: 1,
            keep_going: false,
            json: None,
        };
        let (totals, next, broken) =
            soak.run(&Progress::start("soak")).unwrap_or_else(|failure| panic!("{failure}"));
        if let [Broken { what, round, command, .. }, ..] = &broken[..] {
            panic!("{what}\n{round}\n{command}");
        }
        assert!(totals.frames >= 10_000 && next == 10);
        assert!(totals.judged > 2 * totals.data && totals.messages > 0);
    }
}
