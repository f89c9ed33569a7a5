//! `tessera mutate`: does a testbench notice when its block is broken?

mod report;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use clap::Args;
use tessera_sim::mutate::{self, Chosen, Count, Judge, Ready, JUDGES};
use tessera_sim::tools::cache_dir;

use crate::args;
use crate::output::{self, Failure};
use crate::programs;
use report::{Fate, Results, Row, Setting};

/// Break blocks on purpose, one small mistake at a time, and see whether their
/// testbenches fail.
#[derive(Args, Debug)]
pub struct MutateArgs {
    /// Only this block; may be given several times [default: all]
    #[arg(long, value_name = "NAME")]
    block: Vec<String>,
    /// Not this block; may be given several times
    #[arg(long, value_name = "NAME")]
    except: Vec<String>,
    /// Mutants per block; blocks with many statements get up to four times as many
    #[arg(long, default_value_t = 4, value_name = "N", value_parser = args::count)]
    mutants: usize,
    /// Mutants of all these blocks together, drawn by the seed and spread evenly:
    /// with fewer than blocks, no block has two
    #[arg(long, conflicts_with = "mutants", value_name = "N", value_parser = args::count)]
    total: Option<usize>,
    /// Seed of the choice of mutants, and of the testbenches
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// Testbenches to run at once
    #[arg(long, default_value_t = 2, value_name = "N", value_parser = args::jobs)]
    jobs: usize,
    /// Fail unless this share of the mutants is killed
    #[arg(long, value_name = "PERCENT", value_parser = args::percent)]
    require: Option<f64>,
    /// Write the result as JSON, after every mutant; the same command goes on where
    /// it was stopped
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Go on with a JSON file of another revision of the sources
    #[arg(long, requires = "json")]
    any_revision: bool,
}

/// A folder that goes when the tool does: models with mutants are of no use to
/// anybody else.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Per testbench: its blocks to break, and how often.
type Wanted = BTreeMap<&'static str, Vec<(&'static str, Count)>>;

/// One testbench and the blocks of it that were asked for.
struct Bench {
    test: &'static str,
    blocks: Vec<(&'static str, Count)>,
}

enum Task {
    /// Builds a testbench and its mutants, and sees it pass without them.
    Prepare(Box<Bench>),
    Try(&'static str, Arc<Ready>, Box<Chosen>),
}

pub fn run(args: &MutateArgs) -> Result<(), Failure> {
    if let Some(path) = &args.json {
        output::check_writable(path)?;
    }
    let mut wanted = wanted(args)?;
    let results = match &args.json {
        Some(path) => Results::open(path, setting(args), args.any_revision)?,
        None => Results::none(setting(args)),
    };
    leave_out(&mut wanted, &results.rows);
    let mut tasks: VecDeque<Task> =
        wanted.into_iter().map(|(test, blocks)| Task::Prepare(Box::new(Bench { test, blocks }))).collect();
    // Whole NICs take the longest.
    tasks
        .make_contiguous()
        .sort_by_key(|task| matches!(task, Task::Prepare(bench) if ["nic", "configs"].contains(&bench.test)));
    let scratch = cache_dir().join("mutants").join(format!("run-{}", std::process::id()));
    let work = Work {
        args,
        scratch: Scratch(scratch),
        tasks: Mutex::new(tasks),
        busy: AtomicUsize::new(0),
        known: results.rows.iter().map(|row| row.mutant.clone()).collect(),
        results: Mutex::new(results),
        begun: Instant::now(),
    };
    std::thread::scope(|scope| {
        for _ in 0..args.jobs {
            scope.spawn(|| work.drain());
        }
    });
    let mut results = work.results.into_inner().map_err(|_| Failure::new("a worker panicked"))?;
    results.complete = results.errors.is_empty();
    let report = results.report(work.begun.elapsed().as_secs_f64());
    report.print();
    if let Some(path) = &args.json {
        output::write_json(path, &report)?;
    }
    if !report.errors.is_empty() {
        return Err(Failure::new(format!("{} testbenches could not be judged", report.errors.len())));
    }
    match args.require {
        Some(percent) if report.killed_percent < percent => Err(Failure::new(format!(
            "{:.1}% of the mutants were killed, {percent}% are required",
            report.killed_percent
        ))),
        _ => Ok(()),
    }
}

fn setting(args: &MutateArgs) -> Setting {
    Setting {
        revision: crate::model::revision(),
        seed: args.seed,
        mutants_per_block: args.total.is_none().then_some(args.mutants),
        mutants_in_all: args.total,
        only: args.block.clone(),
        except: args.except.clone(),
    }
}

/// Blocks to break and how often, by the testbench that judges them.
fn wanted(args: &MutateArgs) -> Result<Wanted, Failure> {
    for name in args.block.iter().chain(&args.except) {
        if mutate::judges_of(name).next().is_none() {
            let known: Vec<&str> = JUDGES.iter().flat_map(|judge| judge.blocks).copied().collect();
            return Err(Failure::new(format!("there is no block {name}; there is {}", known.join(", "))));
        }
    }
    let chosen = |block: &&str| {
        (args.block.is_empty() || args.block.iter().any(|name| name == block))
            && !args.except.iter().any(|name| name == block)
    };
    let of = |judge: &'static Judge| judge.blocks.iter().copied().filter(chosen);
    let blocks: Vec<_> = JUDGES.iter().flat_map(|judge| of(judge).map(|block| (judge.test, block))).collect();
    let counts: Vec<Count> = match args.total {
        None => vec![Count::BySize(args.mutants); blocks.len()],
        Some(total) => {
            let names: Vec<&str> = blocks.iter().map(|(_, block)| *block).collect();
            mutate::shares(&names, total, args.seed).into_iter().map(Count::Exactly).collect()
        }
    };
    let mut wanted = Wanted::new();
    for ((test, block), count) in blocks.into_iter().zip(counts) {
        if count != Count::Exactly(0) {
            wanted.entry(test).or_default().push((block, count));
        }
    }
    if wanted.is_empty() {
        return Err(Failure::new("--except leaves no block to break; leave it out, or name another --block"));
    }
    Ok(wanted)
}

/// Leaves out blocks of which an earlier run has tried enough mutants: their
/// testbenches need not even be built.
fn leave_out(wanted: &mut Wanted, rows: &[Row]) {
    wanted.retain(|test, blocks| {
        let tried =
            |block: &str| rows.iter().filter(|row| row.testbench == *test && row.block == block).count();
        blocks.retain(|(block, count)| !matches!(count, Count::Exactly(count) if tried(block) >= *count));
        !blocks.is_empty()
    });
}

/// Builds a test program and says where it is.
fn program(test: &str) -> Result<PathBuf, String> {
    let built = programs::build(&["--package", "tessera-testbenches", "--test", test]);
    let built = built.map_err(|error| error.to_string())?;
    let found = built.into_iter().find(|program| program.name == test);
    found.map(|program| program.path).ok_or_else(|| "cargo built no program of that name".into())
}

/// What the workers share.
struct Work<'a> {
    args: &'a MutateArgs,
    scratch: Scratch,
    tasks: Mutex<VecDeque<Task>>,
    /// Workers that may still add tasks.
    busy: AtomicUsize,
    /// Mutants whose fate an earlier run has found.
    known: BTreeSet<String>,
    results: Mutex<Results>,
    begun: Instant,
}

impl Work<'_> {
    fn drain(&self) {
        loop {
            let task = {
                let Ok(mut tasks) = self.tasks.lock() else { return };
                let task = tasks.pop_front();
                if task.is_some() {
                    self.busy.fetch_add(1, Ordering::SeqCst);
                } else if self.busy.load(Ordering::SeqCst) == 0 {
                    return;
                }
                task
            };
            match task {
                Some(task) => {
                    self.perform(task);
                    self.busy.fetch_sub(1, Ordering::SeqCst);
                }
                None => std::thread::sleep(Duration::from_millis(100)),
            }
        }
    }

    fn perform(&self, task: Task) {
        let result = match task {
            Task::Prepare(bench) => self.prepare(&bench).map_err(|e| format!("{}: {e}", bench.test)),
            Task::Try(test, ready, mutant) => {
                self.attempt(test, &ready, &mutant).map_err(|e| format!("{}: {e}", mutant.site.name()))
            }
        };
        if let Err(error) = result {
            self.say(&format!("ERROR {error}"));
            if let Ok(mut results) = self.results.lock() {
                results.errors.push(error);
            }
        }
    }

    fn say(&self, text: &str) {
        let left = self.tasks.lock().map_or(0, |tasks| tasks.len());
        eprintln!("[{:5.0} s, {left:3} to do] {text}", self.begun.elapsed().as_secs_f64());
    }

    fn prepare(&self, task: &Bench) -> Result<(), String> {
        self.say(&format!("{}: building it, and its mutants", task.test));
        let text = |error: std::io::Error| format!("{}: {error}", self.scratch.0.display());
        let folder = self.scratch.0.join(task.test);
        std::fs::create_dir_all(&folder).map_err(text)?;
        // A copy, so that a build meanwhile does not change what is running.
        let copy = self.scratch.0.join(format!("{}.program", task.test));
        std::fs::copy(program(task.test)?, &copy).map_err(text)?;
        let bench = mutate::Bench {
            program: copy,
            arguments: Vec::new(),
            directory: testbenches(),
            folder,
            seed: self.args.seed,
        };
        let designs = cache_dir().join("mutants").join("designs").join(task.test);
        let ready = Arc::new(bench.prepare(&task.blocks, &self.known, &designs)?);
        if ready.mutants.is_empty() {
            self.say(&format!("{}: all mutants are known", task.test));
            return Ok(());
        }
        self.say(&format!("{}: passes in {:.1} s without a mutant", task.test, ready.takes.as_secs_f64()));
        if let Ok(mut tasks) = self.tasks.lock() {
            for mutant in ready.mutants.iter().rev() {
                tasks.push_front(Task::Try(task.test, ready.clone(), Box::new(mutant.clone())));
            }
        }
        Ok(())
    }

    fn attempt(&self, testbench: &'static str, ready: &Ready, mutant: &Chosen) -> Result<(), String> {
        let site = &mutant.site;
        let begun = Instant::now();
        let fate = ready.attempt(mutant)?;
        let (fate, test) = match fate {
            mutate::Fate::Killed(test) => (Fate::Killed, Some(test)),
            mutate::Fate::Hung => (Fate::Hung, None),
            mutate::Fate::Survived => (Fate::Survived, None),
        };
        let row = Row {
            block: site.block.clone(),
            testbench: testbench.to_owned(),
            mutant: site.name(),
            operator: site.operator.name().to_owned(),
            module: site.module.clone(),
            design: mutant.design.clone(),
            line: site.line,
            before: site.before(),
            after: site.after(),
            fate,
            test,
            wall_s: begun.elapsed().as_secs_f64(),
        };
        let Ok(mut results) = self.results.lock() else { return Err("a worker panicked".into()) };
        let text = format!("mutant {}: {} {} {fate:?}", results.rows.len() + 1, row.mutant, row.operator);
        results.rows.push(row);
        if let Some(path) = &self.args.json {
            let report = results.report(self.begun.elapsed().as_secs_f64());
            output::write_json(path, &report).map_err(|error| error.to_string())?;
        }
        drop(results);
        self.say(&text);
        Ok(())
    }
}

/// Cargo runs tests in the folder of their crate.
fn testbenches() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("testbenches")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        args: MutateArgs,
    }

    fn args(words: &[&str]) -> MutateArgs {
        Cli::try_parse_from(["mutate"].iter().chain(words)).unwrap_or_else(|error| panic!("{error}")).args
    }

    #[test]
    fn blocks_go_to_their_testbench() {
        let all = wanted(&args(&[])).unwrap();
        assert_eq!(all.len(), JUDGES.len());
        let some = ["--block", "rx_judge", "--block", "fifo", "--block", "rx_parse", "--except", "fifo"];
        let by_size = |name| (name, Count::BySize(4));
        let expected = BTreeMap::from([("rx_parse", vec![by_size("rx_parse"), by_size("rx_judge")])]);
        assert_eq!(wanted(&args(&some)).unwrap(), expected);
        let error = wanted(&args(&["--block", "fido"])).unwrap_err().to_string();
        assert!(error.contains("fido") && error.contains("fifo"), "{error}");
        let error = wanted(&args(&["--block", "fifo", "--except", "fifo"])).unwrap_err().to_string();
        assert!(error.contains("--except"), "{error}");
    }

    #[test]
    fn numbers_that_make_no_sense_are_refused() {
        for words in [
            ["--mutants", "0"],
            ["--total", "0"],
            ["--jobs", "0"],
            ["--jobs", "1000000"],
            ["--require", "NaN"],
        ] {
            let refused = Cli::try_parse_from(["mutate"].iter().chain(&words)).map(|_| ()).unwrap_err();
            assert!(refused.to_string().contains(words[0]), "{refused}");
        }
    }

    #[test]
    fn what_is_known_is_not_built_again() {
        let mut wanted = BTreeMap::from([
            ("fifo", vec![("fifo", Count::Exactly(1))]),
            ("bitmap", vec![("bitmap", Count::Exactly(2)), ("zero_scan", Count::Exactly(1))]),
            ("round_robin", vec![("round_robin", Count::BySize(1))]),
        ]);
        let row = |test: &str, block: &str| Row::example(test, block, Fate::Killed);
        leave_out(&mut wanted, &[row("fifo", "fifo"), row("bitmap", "bitmap"), row("bitmap", "zero_scan")]);
        let expected = BTreeMap::from([
            ("bitmap", vec![("bitmap", Count::Exactly(2))]),
            ("round_robin", vec![("round_robin", Count::BySize(1))]),
        ]);
        assert_eq!(wanted, expected);
    }

    #[test]
    fn a_total_counts_over_all_testbenches() {
        let drawn = |seed| {
            let wanted = wanted(&args(&["--total", "40", "--seed", seed])).unwrap();
            wanted.into_values().flatten().collect::<Vec<_>>()
        };
        assert_eq!(drawn("1").len(), 40, "one each, as there are more blocks");
        assert!(drawn("1").iter().all(|(_, count)| *count == Count::Exactly(1)));
        assert_ne!(drawn("1"), drawn("2"));
        let blocks = JUDGES.iter().map(|judge| judge.blocks.len()).sum::<usize>();
        let twice = (2 * blocks).to_string();
        let all = wanted(&args(&["--total", &twice])).unwrap();
        assert_eq!(all.values().flatten().filter(|(_, count)| *count == Count::Exactly(2)).count(), blocks);
        assert!(Cli::try_parse_from(["mutate", "--total", "3", "--mutants", "4"]).is_err());
    }
}
