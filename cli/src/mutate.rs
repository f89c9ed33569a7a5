//! `tessera mutate`: does a testbench notice when its block is broken?

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use clap::Args;
use serde::Serialize;
use serde_json::Value;
use tessera_sim::mutate::{self, Chosen, Ready, JUDGES};
use tessera_sim::tools::cache_dir;

use crate::output::{self, Failure};
use crate::test::cargo;

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
    #[arg(long, default_value_t = 4, value_name = "N")]
    mutants: usize,
    /// Seed of the choice of mutants, and of the testbenches
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// Testbenches to run at once
    #[arg(long, default_value_t = 2, value_name = "N")]
    jobs: usize,
    /// Fail unless this share of the mutants is killed
    #[arg(long, value_name = "PERCENT")]
    require: Option<f64>,
    /// Write the result as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// What became of a mutant.
#[derive(Serialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Fate {
    /// The testbench failed.
    Killed,
    /// The testbench did not come to an end in time.
    Hung,
    /// The testbench passed.
    Survived,
}

#[derive(Serialize, Clone)]
struct Row {
    block: String,
    testbench: &'static str,
    mutant: String,
    operator: &'static str,
    module: String,
    design: PathBuf,
    line: usize,
    before: String,
    after: String,
    fate: Fate,
    /// The test that failed first.
    test: Option<String>,
    wall_s: f64,
}

#[derive(Serialize)]
struct BlockRow {
    block: String,
    testbench: &'static str,
    mutants: usize,
    killed: usize,
    hung: usize,
    survived: usize,
}

#[derive(Serialize)]
struct Report {
    seed: u64,
    wall_s: f64,
    killed_percent: f64,
    blocks: Vec<BlockRow>,
    mutants: Vec<Row>,
    errors: Vec<String>,
}

/// A folder that goes when the tool does: models with mutants are of no use to
/// anybody else.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// One testbench and the blocks of it that were asked for.
struct Bench {
    test: &'static str,
    blocks: Vec<&'static str>,
    bench: mutate::Bench,
}

enum Task {
    /// Builds the mutants of a testbench, and sees it pass without them.
    Prepare(Box<Bench>),
    Try(&'static str, Arc<Ready>, Box<Chosen>),
}

pub fn run(args: &MutateArgs) -> Result<(), Failure> {
    if let Some(path) = &args.json {
        output::check_writable(path)?;
    }
    let begun = Instant::now();
    let wanted = wanted(&args.block, &args.except)?;
    let scratch = Scratch(cache_dir().join("mutants").join(format!("run-{}", std::process::id())));
    let programs = programs(wanted.keys().copied())?;
    let mut tasks = VecDeque::new();
    for (test, blocks) in wanted {
        let program = programs
            .get(test)
            .cloned()
            .ok_or_else(|| Failure::new(format!("cargo built no test program {test}")))?;
        // A copy, so that a build meanwhile does not change what is running.
        let folder = scratch.0.join(test);
        std::fs::create_dir_all(&folder)?;
        let copy = scratch.0.join(format!("{test}.program"));
        std::fs::copy(&program, &copy)?;
        let bench = mutate::Bench {
            program: copy,
            arguments: Vec::new(),
            directory: testbenches(),
            folder,
            seed: args.seed,
        };
        tasks.push_back(Task::Prepare(Box::new(Bench { test, blocks, bench })));
    }
    let work = Work {
        args,
        tasks: Mutex::new(tasks),
        busy: AtomicUsize::new(0),
        done: AtomicU64::new(0),
        rows: Mutex::new(Vec::new()),
        errors: Mutex::new(Vec::new()),
        begun,
    };
    std::thread::scope(|scope| {
        for _ in 0..args.jobs.max(1) {
            scope.spawn(|| work.drain());
        }
    });
    let mut rows = work.rows.into_inner().map_err(|_| Failure::new("a worker panicked"))?;
    let errors = work.errors.into_inner().map_err(|_| Failure::new("a worker panicked"))?;
    rows.sort_by(|a, b| (&a.block, &a.design, a.line).cmp(&(&b.block, &b.design, b.line)));
    let report = report(args.seed, begun.elapsed().as_secs_f64(), rows, errors);
    print(&report);
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

/// Blocks to break, by the testbench that judges them.
fn wanted(
    blocks: &[String],
    except: &[String],
) -> Result<BTreeMap<&'static str, Vec<&'static str>>, Failure> {
    for name in blocks.iter().chain(except) {
        if mutate::judges_of(name).next().is_none() {
            let known: Vec<&str> = JUDGES.iter().flat_map(|judge| judge.blocks).copied().collect();
            return Err(Failure::new(format!("there is no block {name}; there is {}", known.join(", "))));
        }
    }
    let mut wanted: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for judge in JUDGES {
        let chosen = judge.blocks.iter().copied().filter(|block| {
            (blocks.is_empty() || blocks.iter().any(|name| name == block))
                && !except.iter().any(|name| name == block)
        });
        for block in chosen {
            wanted.entry(judge.test).or_default().push(block);
        }
    }
    Ok(wanted)
}

/// Builds the test programs and says where they are.
fn programs(tests: impl Iterator<Item = &'static str>) -> Result<BTreeMap<String, PathBuf>, Failure> {
    let mut command = cargo();
    command.args(["test", "--package", "tessera-testbenches", "--no-run"]);
    command.arg("--message-format=json-render-diagnostics");
    for test in tests {
        command.args(["--test", test]);
    }
    let built = command.stderr(Stdio::inherit()).output()?;
    if !built.status.success() {
        return Err(Failure::new("the testbenches do not compile"));
    }
    let mut found = BTreeMap::new();
    for line in String::from_utf8_lossy(&built.stdout).lines() {
        let Ok(message) = serde_json::from_str::<Value>(line) else { continue };
        if let (Some(name), Some(path)) = (message["target"]["name"].as_str(), message["executable"].as_str())
        {
            found.insert(name.to_owned(), PathBuf::from(path));
        }
    }
    Ok(found)
}

/// What the workers share.
struct Work<'a> {
    args: &'a MutateArgs,
    tasks: Mutex<VecDeque<Task>>,
    /// Workers that may still add tasks.
    busy: AtomicUsize,
    done: AtomicU64,
    rows: Mutex<Vec<Row>>,
    errors: Mutex<Vec<String>>,
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
            if let Ok(mut errors) = self.errors.lock() {
                errors.push(error);
            }
        }
    }

    fn say(&self, text: &str) {
        let left = self.tasks.lock().map_or(0, |tasks| tasks.len());
        eprintln!("[{:5.0} s, {left:3} to do] {text}", self.begun.elapsed().as_secs_f64());
    }

    fn prepare(&self, task: &Bench) -> Result<(), String> {
        self.say(&format!("{}: drawing and building mutants", task.test));
        let designs = cache_dir().join("mutants").join("designs").join(task.test);
        let ready = Arc::new(task.bench.prepare(&task.blocks, self.args.mutants, &designs)?);
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
            testbench,
            mutant: site.name(),
            operator: site.operator.name(),
            module: site.module.clone(),
            design: mutant.design.clone(),
            line: site.line,
            before: site.before(),
            after: site.after(),
            fate,
            test,
            wall_s: begun.elapsed().as_secs_f64(),
        };
        let done = self.done.fetch_add(1, Ordering::SeqCst) + 1;
        self.say(&format!("mutant {done}: {} {} {fate:?}", row.mutant, row.operator));
        if let Ok(mut rows) = self.rows.lock() {
            rows.push(row);
        }
        Ok(())
    }
}

/// Cargo runs tests in the folder of their crate.
fn testbenches() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("testbenches")
}

fn report(seed: u64, wall_s: f64, rows: Vec<Row>, errors: Vec<String>) -> Report {
    let names: BTreeSet<(&str, &'static str)> = rows.iter().map(|row| (&*row.block, row.testbench)).collect();
    let blocks: Vec<BlockRow> = names
        .into_iter()
        .map(|(block, testbench)| {
            let of = |row: &&Row| row.block == block && row.testbench == testbench;
            let count = |fate| rows.iter().filter(of).filter(|row| row.fate == fate).count();
            let (killed, hung, survived) = (count(Fate::Killed), count(Fate::Hung), count(Fate::Survived));
            let mutants = killed + hung + survived;
            BlockRow { block: block.to_owned(), testbench, mutants, killed, hung, survived }
        })
        .collect();
    let survived = rows.iter().filter(|row| row.fate == Fate::Survived).count();
    let killed_percent = 100.0 * (rows.len() - survived) as f64 / rows.len().max(1) as f64;
    Report { seed, wall_s, killed_percent, blocks, mutants: rows, errors }
}

fn print(report: &Report) {
    println!(
        "{:<18} {:<18} {:>7} {:>7} {:>6} {:>8}",
        "block", "testbench", "mutants", "killed", "hung", "survived"
    );
    for row in &report.blocks {
        println!(
            "{:<18} {:<18} {:>7} {:>7} {:>6} {:>8}",
            row.block, row.testbench, row.mutants, row.killed, row.hung, row.survived
        );
    }
    for row in report.mutants.iter().filter(|row| row.fate == Fate::Survived) {
        let testbench = row.testbench;
        println!("\nsurvived: {} ({}) at {}:{}", row.mutant, row.operator, row.design.display(), row.line);
        println!("  - {}\n  + {}", row.before, row.after);
        println!(
            "  again: {}={} cargo test -p tessera-testbenches --test {testbench}",
            mutate::MUTANT,
            row.mutant
        );
    }
    for error in &report.errors {
        println!("\nERROR {error}");
    }
    println!(
        "\n{} mutants, {:.1}% killed, seed {}, {:.0} s",
        report.mutants.len(),
        report.killed_percent,
        report.seed,
        report.wall_s
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_go_to_their_testbench() {
        let all = wanted(&[], &[]).unwrap();
        assert_eq!(all.len(), JUDGES.len());
        let some = wanted(&["rx_judge".into(), "fifo".into(), "rx_parse".into()], &["fifo".into()]).unwrap();
        assert_eq!(some, BTreeMap::from([("rx_parse", vec!["rx_parse", "rx_judge"])]));
        let error = wanted(&["fido".into()], &[]).unwrap_err().to_string();
        assert!(error.contains("fido") && error.contains("fifo"), "{error}");
    }

    #[test]
    fn hung_mutants_count_as_noticed() {
        let row = |fate| Row {
            block: "fifo".into(),
            testbench: "fifo",
            mutant: String::new(),
            operator: "sum",
            module: String::new(),
            design: PathBuf::new(),
            line: 1,
            before: String::new(),
            after: String::new(),
            fate,
            test: None,
            wall_s: 0.0,
        };
        let rows = vec![row(Fate::Killed), row(Fate::Hung), row(Fate::Survived), row(Fate::Survived)];
        let report = report(1, 0.0, rows, Vec::new());
        assert_eq!(report.killed_percent, 50.0);
        assert_eq!((report.blocks[0].mutants, report.blocks[0].survived), (4, 2));
    }
}
