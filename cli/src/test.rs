//! `tessera test`: everything that must hold before a change lands.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use clap::Args;
use serde::Serialize;
use serde_json::Value;

use crate::coverage;
use crate::output::{self, Failure};
use crate::peers;

mod silence;
use silence::{Heard, Lines};

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
}

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

/// The cargo that runs this program, or the one on the path.
pub fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
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

/// Numbers of a libtest closing line: passed, failed, ignored.
fn closing_line(line: &str) -> Option<[u64; 3]> {
    let rest = line.strip_prefix("test result: ")?;
    let number = |what: &str| {
        let before = rest.split(what).next()?.trim_end();
        before.rsplit([' ', '.']).next()?.parse().ok()
    };
    Some([number(" passed")?, number(" failed")?, number(" ignored")?])
}

/// How libtest says that a test is left to others, by the reason given where it is ignored.
const STARTED_BY_OTHERS: &str = " ... ignored, started by the other tests";

/// What the lines of `cargo test` add up to.
#[derive(Default)]
struct Tally {
    /// Passed, failed and skipped by the programs that have closed.
    passed: u64,
    failed: u64,
    skipped: u64,
    /// Checks that the program which runs has said it could not do: each is a
    /// test that passes for libtest.
    undone: u64,
    /// Tests of that program that are parts of others, which start them.
    parts: u64,
    /// Programs that have closed.
    closed: u64,
    /// One has begun and not closed.
    open: bool,
    /// Its tests that have run for a minute, by libtest's word.
    long: Vec<String>,
    failures: Vec<String>,
}

impl Tally {
    fn line(&mut self, line: &str) {
        if let Some(ended) = silence::ended(line) {
            self.long.retain(|name| name != ended);
        }
        if let Some([passed, failed, ignored]) = closing_line(line) {
            self.passed += passed.saturating_sub(self.undone);
            self.failed += failed;
            self.skipped += ignored.saturating_sub(self.parts);
            (self.undone, self.parts) = (0, 0);
            self.closed += 1;
            self.open = false;
            self.long.clear();
        } else if line.starts_with("running ") {
            self.open = true;
        } else if let Some(name) = silence::running(line) {
            self.long.push(name.to_owned());
        } else if line.starts_with("test ") && line.ends_with(STARTED_BY_OTHERS) {
            self.parts += 1;
        } else if line.starts_with("SKIPPED ") {
            self.skipped += 1;
            self.undone += 1;
        } else if let Some(name) =
            line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED"))
        {
            self.failures.push(name.to_owned());
        }
    }

    /// The program was ended because it had said nothing for so long.
    fn silent(&mut self, patience: Duration) {
        let names = if self.long.is_empty() { "a test".to_owned() } else { self.long.join(", ") };
        let failure =
            format!("{names}: not ended, nor any other of its program, for {} s", patience.as_secs());
        println!("test {failure}: the program is ended; --patience SECONDS waits longer");
        self.failures.push(failure);
        self.failed += (self.long.len() as u64).max(1);
        (self.undone, self.parts, self.open) = (0, 0, false);
        self.long.clear();
    }

    /// An error if all went well because there was nothing that could go wrong.
    fn matched(&self, filter: &str) -> Result<(), Failure> {
        if self.passed + self.failed + self.skipped > 0 {
            return Ok(());
        }
        Err(Failure::new(format!(
            "no test's name contains `{filter}`; `cargo test --workspace -- --list` prints the names"
        )))
    }
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

fn cargo_test(
    outcome: &mut Outcome,
    mut command: Command,
    filter: Option<&str>,
    patience: u64,
) -> Result<(), Failure> {
    command.args(filter);
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let lines = Lines::of(child.stdout.take().ok_or_else(|| Failure::new("no output of cargo test"))?);
    let patience = Duration::from_secs(patience);
    let mut tally = Tally::default();
    loop {
        // Between programs cargo compiles, for as long as that takes.
        match lines.next((tally.open && !patience.is_zero()).then_some(patience))? {
            Heard::Line(line) => {
                tally.line(&line);
                println!("{line}");
            }
            Heard::Silence => {
                tally.silent(patience);
                silence::end_started_by(&child);
            }
            Heard::End => break,
        }
    }
    let status = child.wait()?;
    if let (true, Some(filter)) = (status.success(), filter) {
        tally.matched(filter)?;
    }
    outcome.passed += tally.passed;
    outcome.failed += tally.failed;
    outcome.skipped += tally.skipped;
    outcome.failures.append(&mut tally.failures);
    if !status.success() && (outcome.failures.is_empty() || tally.closed == 0) {
        // A build error or a crash prints no closing line of its own.
        record(outcome, "cargo test", false);
    }
    Ok(())
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
        if !args.no_lints {
            check(&mut outcome, "formatting", "fmt", &["fmt", "--all", "--check"])?;
            let clippy = ["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"];
            check(&mut outcome, "clippy", "clippy", &clippy)?;
        }
    }
    let command = if args.sanitize {
        sanitized()?
    } else {
        let mut command = cargo();
        command.args(["test", "--workspace", "--no-fail-fast"]);
        command
    };
    cargo_test(&mut outcome, command, args.filter.as_deref(), args.patience)?;
    outcome.wall_s = begun.elapsed().as_secs_f64();
    outcome.ok = outcome.failed == 0;
    for name in &outcome.failures {
        println!("failed: {name}");
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
    fn closing_lines_are_understood() {
        let line =
            "test result: ok. 12 passed; 3 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.1s";
        assert_eq!(closing_line(line), Some([12, 3, 1]));
        assert_eq!(
            closing_line("test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured"),
            Some([1, 1, 0])
        );
        assert_eq!(closing_line("test a ... ok"), None);
    }

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
        let mut outcome = Outcome::default();
        cargo_test(&mut outcome, command, None, 1).unwrap();
        assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
        assert_eq!([outcome.passed, outcome.failed], [1, 2]);
        let [first, last] = &outcome.failures[..] else { panic!("{:?}", outcome.failures) };
        assert!(
            first.starts_with("waits: not ended") && last.starts_with("a test: not ended"),
            "{first}; {last}"
        );
    }

    fn tally(lines: &[&str]) -> Tally {
        let mut tally = Tally::default();
        lines.iter().for_each(|line| tally.line(line));
        tally
    }

    #[test]
    fn a_check_that_was_not_done_did_not_pass() {
        // Said before the program closes, and so before anything has passed.
        let only = tally(&[
            "running 1 test",
            "SKIPPED yosys: it is not here",
            "test yosys ... ok",
            "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 9 filtered out",
        ]);
        assert_eq!([only.passed, only.failed, only.skipped], [0, 0, 1]);
        assert!(only.matched("yosys").is_ok());
        // A failing test has passed nothing that could be taken back.
        let failed = tally(&[
            "SKIPPED yosys: it is not here",
            "test yosys ... FAILED",
            "test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured",
            "test result: ok. 3 passed; 0 failed; 2 ignored; 0 measured",
        ]);
        assert_eq!([failed.passed, failed.failed, failed.skipped], [3, 1, 3]);
        assert_eq!(failed.failures, ["yosys"]);
    }

    #[test]
    fn a_part_of_other_tests_is_not_skipped() {
        let closing = "test result: ok. 2 passed; 0 failed; 2 ignored; 0 measured";
        let all = tally(&[
            "test child ... ignored, started by the other tests",
            "test slow ... ignored, takes an hour",
            closing,
            closing,
        ]);
        assert_eq!([all.passed, all.failed, all.skipped], [4, 0, 3]);
    }

    #[test]
    fn a_filter_that_matches_nothing_is_an_error() {
        let none = "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 31 filtered out";
        let error = tally(&[none, none]).matched("TYPO").unwrap_err().to_string();
        assert!(error.contains("`TYPO`") && error.contains("--list"), "{error}");
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
