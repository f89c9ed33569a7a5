//! Runs a test program with one mutant after the other.

use super::{choose, Chosen, Count, LIST, MUTANT, MUTANTS};
use std::collections::{BTreeSet, VecDeque};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Time for anything that compiles.
const PATIENCE: Duration = Duration::from_secs(3600);

/// What became of a mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The testbench failed, in this test first.
    Killed(String),
    /// The testbench did not come to an end in ten times its usual time.
    Hung,
    /// The testbench passed.
    Survived,
}

/// A test program made by libtest, and a folder for its models with mutants.
#[derive(Clone, Debug)]
pub struct Bench {
    /// The program.
    pub program: PathBuf,
    /// Arguments besides those of this module: which tests.
    pub arguments: Vec<String>,
    /// The folder it runs in.
    pub directory: PathBuf,
    /// A folder of its own, to be removed by its owner.
    pub folder: PathBuf,
    /// `TESSERA_SEED` of its runs, and seed of the choice of mutants.
    pub seed: u64,
}

/// A test program that passes with its mutants asleep.
#[derive(Clone, Debug)]
pub struct Ready {
    bench: Bench,
    /// The mutants compiled into its models; without any there are no models.
    pub mutants: Vec<Chosen>,
    /// How long it takes without a mutant.
    pub takes: Duration,
}

/// How a run of a test program ended.
enum End {
    Passed,
    Failed { test: String, said: String },
    Late,
}

impl Bench {
    /// Draws mutants of each of `blocks` from the designs that the program
    /// builds, builds those whose names are not `known`, and sees it pass
    /// without any. The designs stay in `designs`, for the reader.
    ///
    /// # Errors
    /// Says why the program cannot judge: a block that it does not build, a
    /// test that fails without a mutant, a model that cannot be built.
    pub fn prepare(
        &self,
        blocks: &[(&str, Count)],
        known: &BTreeSet<String>,
        designs: &Path,
    ) -> Result<Ready, String> {
        let text = |error: std::io::Error| format!("{}: {error}", self.folder.display());
        std::fs::create_dir_all(&self.folder).map_err(text)?;
        let _ = std::fs::remove_file(self.folder.join(LIST));
        // Without a list, the program only writes its designs down, and fails.
        self.start(None, PATIENCE, true).map_err(|error| error.to_string())?;
        let _ = std::fs::remove_dir_all(designs);
        std::fs::create_dir_all(designs).map_err(text)?;
        for entry in std::fs::read_dir(&self.folder).map_err(text)? {
            let from = entry.map_err(text)?.path();
            if let Some(name) = from.file_name().filter(|_| from.is_file()) {
                std::fs::rename(&from, designs.join(name)).map_err(text)?;
            }
        }
        let mut mutants = Vec::new();
        for (block, count) in blocks {
            let chosen = choose(designs, block, *count, self.seed).map_err(text)?;
            if chosen.is_empty() {
                return Err(format!("none of its designs has a block {block} with a statement"));
            }
            mutants.extend(chosen);
        }
        mutants.retain(|chosen| !known.contains(&chosen.site.name()));
        if mutants.is_empty() {
            return Ok(Ready { bench: self.clone(), mutants, takes: Duration::ZERO });
        }
        let list: String = mutants.iter().map(|chosen| chosen.site.name() + "\n").collect();
        std::fs::write(self.folder.join(LIST), list).map_err(text)?;
        self.pass()?;
        // Once more with everything built, to know how long it takes.
        let begun = Instant::now();
        self.pass()?;
        Ok(Ready { bench: self.clone(), mutants, takes: begun.elapsed() })
    }

    fn pass(&self) -> Result<(), String> {
        match self.start(None, PATIENCE, false).map_err(|error| error.to_string())? {
            End::Passed => Ok(()),
            End::Late => Err("does not come to an end without a mutant".into()),
            End::Failed { test, said } => Err(format!("{test} fails without a mutant:\n{said}")),
        }
    }

    /// Runs the program up to its first failure, or to its end if `whole`.
    fn start(&self, mutant: Option<&str>, limit: Duration, whole: bool) -> std::io::Result<End> {
        let mut child = Command::new(&self.program)
            .args(["--test-threads", "1"])
            .args(&self.arguments)
            .current_dir(&self.directory)
            .env(MUTANTS, &self.folder)
            .env(MUTANT, mutant.unwrap_or_default())
            .env("TESSERA_SEED", self.seed.to_string())
            // Nobody reads the smallest failing case.
            .env("PROPTEST_MAX_SHRINK_ITERS", "0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let said = tail(child.stderr.take());
        let failed = Arc::new(Mutex::new(None));
        let lines = child.stdout.take().map(|out| {
            let failed = failed.clone();
            std::thread::spawn(move || first_failure(out, &failed))
        });
        let begun = Instant::now();
        let end = loop {
            if let Some(status) = child.try_wait()? {
                break Some(status);
            }
            let seen = failed.lock().is_ok_and(|failed| failed.is_some());
            if (seen && !whole) || begun.elapsed() > limit {
                stop(&mut child);
                break None;
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        if let Some(lines) = lines {
            let _ = lines.join();
        }
        let test = failed.lock().ok().and_then(|mut failed| failed.take());
        let said = said.join().unwrap_or_default();
        Ok(match (test, end) {
            (Some(test), _) => End::Failed { test, said },
            (None, Some(status)) if status.success() => End::Passed,
            (None, Some(status)) => End::Failed { test: format!("the program ({status})"), said },
            (None, None) => End::Late,
        })
    }
}

impl Ready {
    /// Wakes one of its mutants.
    ///
    /// # Errors
    /// When the program cannot be run, or refuses the mutant.
    pub fn attempt(&self, mutant: &Chosen) -> Result<Fate, String> {
        let limit = self.takes * 10 + Duration::from_secs(60);
        let name = mutant.site.name();
        match self.bench.start(Some(&name), limit, false).map_err(|error| error.to_string())? {
            End::Passed => Ok(Fate::Survived),
            End::Late => Ok(Fate::Hung),
            End::Failed { said, .. } if said.contains(MUTANT) => Err(said),
            End::Failed { test, .. } => Ok(Fate::Killed(test)),
        }
    }
}

fn stop(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

/// Reads what a test program says until its end; keeps the last lines.
fn tail(from: Option<impl Read + Send + 'static>) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut last = VecDeque::new();
        for line in from.into_iter().flat_map(|from| BufReader::new(from).lines()).map_while(Result::ok) {
            last.push_back(line);
            if last.len() > 40 {
                last.pop_front();
            }
        }
        Vec::from(last).join("\n")
    })
}

/// Notes the name of the first test that libtest calls failed.
fn first_failure(from: impl Read, failed: &Mutex<Option<String>>) {
    for line in BufReader::new(from).lines().map_while(Result::ok) {
        if let Some(name) = failed_test(&line) {
            if let Ok(mut failed) = failed.lock() {
                failed.get_or_insert(name);
            }
        }
    }
}

fn failed_test(line: &str) -> Option<String> {
    line.strip_prefix("test ")?.strip_suffix(" ... FAILED").map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_failure_is_found() {
        let failed = Mutex::new(None);
        let said = "running 3 tests\ntest a ... ok\ntest b::c ... FAILED\ntest d ... FAILED\n";
        first_failure(said.as_bytes(), &failed);
        assert_eq!(failed.into_inner().unwrap().as_deref(), Some("b::c"));
        assert_eq!(failed_test("test result: FAILED. 1 passed"), None);
    }
}
