//! `tessera test`: everything that must hold before a change lands.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use clap::Args;
use serde::Serialize;
use serde_json::Value;

use crate::coverage;
use crate::output::{self, Failure};
use crate::peers;
use crate::programs::{self, cargo};

mod side_by_side;
mod silence;
mod tally;
use side_by_side::Job;
use silence::{Heard, Lines};
use tally::{Tally, Timed};

/// Run the test suite: dependency rules, formatting, lints, all tests.
#[derive(Args, Debug)]
pub struct TestArgs {
    /// Only tests whose name contains this, and nothing else; that there is none
    /// is an error
    filter: Option<String>,
    /// Run the block testbenches only (those whose name contains the filter) and
    /// print what each reaches of its block: lines, branches, toggled bits. The
    /// JSON has every place that is not reached
    #[arg(long)]
    coverage: bool,
    /// Run programs that nobody here wrote instead, on simulated NICs: verbs tools,
    /// UCX, MPI, soft-RoCE in a guest, and one whose VFIO the driver uses (Debian packages). Only those whose name
    /// contains the filter
    #[arg(long, conflicts_with = "coverage")]
    peers: bool,
    /// Run the driver's own tests compiled with AddressSanitizer instead: accesses outside memory or
    /// to memory that is gone, and memory that is lost
    #[arg(long, conflicts_with_all = ["coverage", "peers"])]
    sanitize: bool,
    /// Write what programs of others printed as a page, as docs/peers.md is
    #[arg(long, value_name = "FILE", requires = "peers", conflicts_with = "filter")]
    markdown: Option<PathBuf>,
    /// Leave out formatting and lints
    #[arg(long)]
    no_lints: bool,
    /// End a test program in which no test ends for this many seconds, call its tests failed and go
    /// on with the next; 0 waits for ever
    #[arg(long, value_name = "SECONDS", default_value_t = 900, conflicts_with_all = ["coverage", "peers"])]
    patience: u64,
    /// Write the result as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Serialize, Default)]
struct Outcome {
    ok: bool,
    passed: u64,
    failed: u64,
    skipped: u64,
    wall_s: f64,
    failures: Vec<String>,
    /// How long each test ran, the longest first.
    tests: Vec<Timed>,
}

impl Outcome {
    fn add(&mut self, mut tally: Tally) {
        self.passed += tally.passed;
        self.failed += tally.failed;
        self.skipped += tally.skipped;
        self.failures.append(&mut tally.failures);
        self.tests.append(&mut tally.timed);
        self.tests.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    }

    /// Those that took longest, and long.
    fn longest(&self) -> impl Iterator<Item = &Timed> {
        self.tests.iter().take(MOST_LONG).filter(|test| test.seconds >= LONG)
    }
}

/// Of so many of the longest tests it is said how long they took, if that was so many seconds.
const MOST_LONG: usize = 20;
const LONG: f64 = 5.0;

/// Which of our crates each may use; docs/architecture.md says why.
const RULES: &[(&str, &[&str])] = &[
    ("abi", &[]),
    ("model", &["abi"]),
    ("check", &["abi", "model"]),
    ("place", &[]),
    ("net", &["abi", "model"]),
    ("ns3", &["model", "net"]),
    ("rtl", &["abi"]),
    ("driver", &["abi"]),
    ("driver-tokio", &["driver"]),
    ("verbs", &["abi", "driver"]),
    ("sim", &["abi", "rtl", "driver", "model"]),
    ("testbenches", &["abi", "rtl", "driver", "driver-tokio", "model", "net", "sim", "verbs"]),
    ("cli", &["abi", "rtl", "driver", "model", "net", "sim", "check", "place"]),
];

/// Edges between our crates that [`RULES`] does not allow. `dev` edges count:
/// a test that sees the other side of a contract is no witness.
fn forbidden_edges(metadata: &Value) -> Vec<String> {
    let rules: BTreeMap<&str, &[&str]> = RULES.iter().copied().collect();
    let ours = |name: &Value| name.as_str().and_then(|name| name.strip_prefix("tessera-")).map(str::to_owned);
    let mut wrong = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let Some(from) = ours(&package["name"]) else { continue };
        let Some(allowed) = rules.get(from.as_str()) else {
            wrong.push(format!("crate {from} has no row in the dependency table"));
            continue;
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            match ours(&dependency["name"]) {
                Some(to) if !allowed.contains(&to.as_str()) => {
                    wrong.push(format!("{from} must not use {to}"))
                }
                Some(_) => {}
                None if dependency["name"] == "rust-hdl"
                    && !["rtl", "testbenches"].contains(&from.as_str()) =>
                {
                    wrong.push(format!("{from} must not use rust-hdl"));
                }
                None => {}
            }
        }
    }
    wrong
}

fn dependency_rules(outcome: &mut Outcome) -> Result<(), Failure> {
    let out = cargo().args(["metadata", "--format-version", "1", "--no-deps", "--offline"]).output()?;
    if !out.status.success() {
        return Err(Failure::new(format!(
            "cargo metadata failed:\n{}",
            String::from_utf8_lossy(&out.stderr)
        )));
    }
    let wrong = forbidden_edges(&serde_json::from_slice(&out.stdout)?);
    record(outcome, "dependency rules", wrong.is_empty());
    for edge in wrong {
        println!("  {edge}");
    }
    Ok(())
}

/// Crates as cargo would compile them for the command or, with `tests`, for everything: name, version, features.
fn crates(tests: bool) -> Result<BTreeSet<String>, Failure> {
    let mut command = cargo();
    command.args(["tree", "--quiet", "--prefix", "none", "--format", "{p} [{f}]", "--no-dedupe"]);
    command.args(match tests {
        true => ["--workspace", "--edges", "normal,build,dev"].as_slice(),
        false => &["--package", "tessera-cli", "--edges", "normal,build"],
    });
    let out = command.output()?;
    if !out.status.success() {
        return Err(Failure::new(format!("cargo tree failed:\n{}", String::from_utf8_lossy(&out.stderr))));
    }
    Ok(String::from_utf8_lossy(&out.stdout).lines().map(str::to_owned).collect())
}

/// What is compiled for the command and, with other features, once more for all, which has the command in it.
fn compiled_twice(command: &BTreeSet<String>, all: &BTreeSet<String>) -> Vec<String> {
    let name = |one: &str| one.split(' ').next().unwrap_or_default().to_owned();
    let others = |one: &str| all.iter().filter(|other| name(other) == name(one)).cloned().collect::<Vec<_>>();
    let twice = command.difference(all);
    twice.map(|one| format!("{one} for the command, {} for the tests", others(one).join(", "))).collect()
}

/// Nothing that the command stands on is compiled once more for the tests.
fn compiled_once(outcome: &mut Outcome) -> Result<(), Failure> {
    let twice = compiled_twice(&crates(false)?, &crates(true)?);
    record(outcome, "compiled once", twice.is_empty());
    for one in twice {
        println!("  {one}: see cli/Cargo.toml");
    }
    Ok(())
}

fn record(outcome: &mut Outcome, name: &str, ok: bool) {
    println!("{} {name}", if ok { "ok    " } else { "FAILED" });
    if ok {
        outcome.passed += 1;
    } else {
        outcome.failed += 1;
        outcome.failures.push(name.to_owned());
    }
}

/// Runs a cargo command as one check; a component that is not installed is
/// said and counted as skipped.
fn check(outcome: &mut Outcome, name: &str, component: &str, args: &[&str]) -> Result<(), Failure> {
    let present = cargo().args([component, "--version"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !present.is_ok_and(|status| status.success()) {
        println!("SKIPPED {name}: cargo {component} is not installed (rustup component add {component})");
        outcome.skipped += 1;
        return Ok(());
    }
    let status = cargo().args(args).status()?;
    record(outcome, name, status.success());
    Ok(())
}

/// What is lost on purpose: memory that a NIC did not let go of, in the tests of that.
const LOST: &str = "leak:stays_mapped\n";

/// The driver's own tests, compiled with AddressSanitizer, which the compiler has for this
/// target (and calls unstable); the standard library is as it is.
fn sanitized() -> Result<Command, Failure> {
    let target = "x86_64-unknown-linux-gnu";
    if !cfg!(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu")) {
        return Err(Failure::new(format!("--sanitize is for {target}: run it on such a machine")));
    }
    let folder = tessera_sim::tools::cache_dir().join("sanitize");
    std::fs::create_dir_all(&folder)?;
    let lost = folder.join("lost.txt");
    output::write(&lost, LOST)?;
    let mut command = cargo();
    command.args(["test", "--no-fail-fast", "--target", target, "--lib", "--tests"]);
    command.args(["--package", "tessera-driver", "--package", "tessera-driver-tokio"]);
    command.env("CARGO_TARGET_DIR", &folder).env("RUSTC_BOOTSTRAP", "1");
    command.env("RUSTFLAGS", "-Zsanitizer=address");
    command.env("LSAN_OPTIONS", format!("suppressions={}", lost.display()));
    Ok(command)
}

/// Runs test programs, whose lines are said as they come, and adds up what they say. One in which no test ends for
/// so long is ended.
fn hear(
    mut command: Command,
    by_cargo: bool,
    patience: Duration,
    say: &mut dyn FnMut(&str),
) -> Result<Tally, Failure> {
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let lines = Lines::of(child.stdout.take().ok_or_else(|| Failure::new("its output cannot be had"))?);
    let (mut tally, mut ended) = (Tally::default(), false);
    loop {
        // Between programs cargo compiles, for as long as that takes.
        let compiles = by_cargo && !tally.open;
        match lines.next((!compiles && !patience.is_zero()).then_some(patience))? {
            Heard::Line(line) => {
                tally.line(&line);
                say(&line);
            }
            Heard::Begun(name) => tally.begun(name),
            Heard::Silence => {
                say(&tally.silent(patience));
                // Cargo goes on with its next program.
                match by_cargo {
                    true => silence::end_started_by(&child),
                    false => silence::end(&mut child),
                }
                ended = true;
            }
            Heard::End => break,
        }
    }
    let status = child.wait()?;
    if !status.success() && (tally.failures.is_empty() || tally.closed == 0 && !ended) {
        // A build error or a crash prints no closing line of its own.
        tally.fail(format!("ended with {status}"));
    }
    Ok(tally)
}

/// All tests, and those in documentation; or those whose name contains the filter.
fn all_tests(filter: Option<&str>, patience: Duration) -> Result<Tally, Failure> {
    let programs = programs::build(&["--workspace"])?;
    let mut jobs: Vec<_> = programs.iter().map(|program| Job::of(program, filter)).collect();
    jobs.push(Job::documentation(filter));
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    Ok(side_by_side::run(jobs, workers, patience, &mut |line| println!("{line}")))
}

pub fn run(args: &TestArgs) -> Result<(), Failure> {
    if let Some(path) = &args.json {
        output::check_writable(path)?;
    }
    if args.coverage {
        return coverage::run(args.filter.as_deref(), args.json.as_deref());
    }
    if args.peers {
        return peers::run(args.filter.as_deref(), args.json.as_deref(), args.markdown.as_deref());
    }
    let begun = Instant::now();
    let mut outcome = Outcome::default();
    if args.filter.is_none() && !args.sanitize {
        dependency_rules(&mut outcome)?;
        compiled_once(&mut outcome)?;
        if !args.no_lints {
            check(&mut outcome, "formatting", "fmt", &["fmt", "--all", "--check"])?;
            let clippy = ["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"];
            check(&mut outcome, "clippy", "clippy", &clippy)?;
        }
    }
    let patience = Duration::from_secs(args.patience);
    let filter = args.filter.as_deref();
    let tally = if args.sanitize {
        let mut command = sanitized()?;
        command.args(filter);
        hear(command, true, patience, &mut |line| println!("{line}"))?
    } else {
        all_tests(filter, patience)?
    };
    if let Some(filter) = filter {
        tally.matched(filter)?;
    }
    outcome.add(tally);
    outcome.wall_s = begun.elapsed().as_secs_f64();
    outcome.ok = outcome.failed == 0;
    for name in &outcome.failures {
        println!("failed: {name}");
    }
    for test in outcome.longest() {
        println!("{:6.1} s for {}", test.seconds, test.name);
    }
    println!("wall time {:.0} s", outcome.wall_s);
    println!("{} passed, {} failed, {} skipped", outcome.passed, outcome.failed, outcome.skipped);
    if let Some(path) = &args.json {
        output::write_json(path, &outcome)?;
    }
    if outcome.ok {
        Ok(())
    } else {
        Err(Failure::new(format!("{} of the tests failed", outcome.failed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_says_nothing_is_ended_and_the_next_runs() {
        // In cargo's place a shell: its first and its last program wait for ever, the last for one of its
        // own, which holds its output.
        let mut command = Command::new("sh");
        command.arg("-c").arg(
            "echo running 2 tests; echo test quick ... ok; \
             echo test waits has been running for over 60 seconds; sleep 600; \
             echo running 1 test; echo test next ... ok; \
             echo 'test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured'; \
             echo running 1 test; (sleep 601; true); exit 1",
        );
        let begun = Instant::now();
        let tally = hear(command, true, Duration::from_secs(1), &mut |_| ()).unwrap();
        assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
        assert_eq!([tally.passed, tally.failed], [1, 2]);
        let [first, last] = &tally.failures[..] else { panic!("{:?}", tally.failures) };
        assert!(
            first.starts_with("waits: not ended") && last.starts_with("a test: not ended"),
            "{first}; {last}"
        );
    }

    #[test]
    fn the_longest_tests_are_said_first() {
        let timed = |seconds: f64| Timed { name: format!("{seconds}"), seconds };
        let mut outcome = Outcome::default();
        let tally = |times: &[f64]| {
            let mut tally = Tally::default();
            tally.timed.extend(times.iter().map(|&time| timed(time)));
            tally
        };
        outcome.add(tally(&[1.0, 7.0, 5.0]));
        outcome.add(tally(&[9.0]));
        assert_eq!(outcome.longest().cloned().collect::<Vec<_>>(), [timed(9.0), timed(7.0), timed(5.0)]);
        outcome.add(tally(&[6.0; 40]));
        assert_eq!(outcome.longest().count(), MOST_LONG);
        assert_eq!(outcome.tests.len(), 44);
    }

    #[test]
    fn what_is_compiled_twice_is_found() {
        let set = |crates: &[&str]| crates.iter().map(|one| one.to_string()).collect::<BTreeSet<_>>();
        let command = set(&["either v1 []", "syn v2 [full]", "syn v3 [full]"]);
        let all = set(&["either v1 [use_std]", "syn v2 [full]", "syn v3 [full]", "tokio v1 []"]);
        let said = "either v1 [] for the command, either v1 [use_std] for the tests";
        assert_eq!(compiled_twice(&command, &all), [said]);
        assert!(compiled_twice(&set(&["syn v2 [full]"]), &all).is_empty());
    }

    #[test]
    fn a_forbidden_edge_is_found() {
        let metadata = serde_json::json!({ "packages": [
            { "name": "tessera-model", "dependencies": [{ "name": "tessera-abi" }, { "name": "tessera-rtl" }] },
            { "name": "tessera-sim", "dependencies": [{ "name": "rust-hdl" }, { "name": "tessera-rtl" }] },
            { "name": "tessera-new", "dependencies": [] },
        ]});
        let wrong = forbidden_edges(&metadata);
        assert_eq!(
            wrong,
            [
                "model must not use rtl",
                "sim must not use rust-hdl",
                "crate new has no row in the dependency table",
            ]
        );
    }
}
