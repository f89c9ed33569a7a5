//! What test programs print, added up.

use std::time::{Duration, Instant};

use serde::Serialize;

use super::silence;
use crate::output::Failure;

/// Numbers of a libtest closing line: passed, failed, ignored.
pub fn closing_line(line: &str) -> Option<[u64; 3]> {
    let rest = line.strip_prefix("test result: ")?;
    let number = |what: &str| {
        let before = rest.split(what).next()?.trim_end();
        before.rsplit([' ', '.']).next()?.parse().ok()
    };
    Some([number(" passed")?, number(" failed")?, number(" ignored")?])
}

/// How libtest says that a test is left to others, by the reason given where it is ignored.
const STARTED_BY_OTHERS: &str = " ... ignored, started by the other tests";

/// A test that has ended, and how long it took.
#[derive(Serialize, Clone, Debug, PartialEq)]
pub struct Timed {
    pub name: String,
    pub seconds: f64,
}

/// What the lines of test programs add up to.
#[derive(Default)]
pub struct Tally {
    /// Passed, failed and skipped by the programs that have closed.
    pub passed: u64,
    pub failed: u64,
    pub skipped: u64,
    /// Checks that the program which runs has said it could not do: each is a
    /// test that passes for libtest.
    undone: u64,
    /// Tests of that program that are parts of others, which start them.
    parts: u64,
    /// Programs that have closed.
    pub closed: u64,
    /// One has begun and not closed.
    pub open: bool,
    /// Its tests that run: those that have for a minute, or the one that runs alone.
    running: Vec<String>,
    /// Since when the one that runs alone does.
    since: Option<Instant>,
    /// Those that ran alone, but for what began and ended in one breath.
    pub timed: Vec<Timed>,
    pub failures: Vec<String>,
}

impl Tally {
    pub fn line(&mut self, line: &str) {
        if let Some(ended) = silence::ended(line) {
            if let Some(since) = self.since.take_if(|_| self.running.iter().any(|name| name == ended)) {
                self.timed.push(Timed { name: ended.to_owned(), seconds: since.elapsed().as_secs_f64() });
            }
            self.running.retain(|name| name != ended);
        }
        if let Some([passed, failed, ignored]) = closing_line(line) {
            self.passed += passed.saturating_sub(self.undone);
            self.failed += failed;
            self.skipped += ignored.saturating_sub(self.parts);
            (self.undone, self.parts) = (0, 0);
            self.closed += 1;
            self.open = false;
            self.running.clear();
        } else if line.starts_with("running ") {
            self.open = true;
        } else if let Some(name) = silence::running(line) {
            self.running.push(name.to_owned());
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

    /// A test has begun, and is the only one that runs.
    pub fn begun(&mut self, name: String) {
        self.running.push(name);
        self.since = Some(Instant::now());
    }

    /// Something went wrong besides the tests.
    pub fn fail(&mut self, what: String) {
        self.failed += 1;
        self.failures.push(what);
    }

    /// What other programs added up to.
    pub fn add(&mut self, mut other: Tally) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
        self.timed.append(&mut other.timed);
        self.failures.append(&mut other.failures);
    }

    /// All that this says was said by this program.
    pub fn of(&mut self, program: &str) {
        self.timed.iter_mut().for_each(|test| test.name = format!("{program}: {}", test.name));
        self.failures.iter_mut().for_each(|failure| *failure = format!("{program}: {failure}"));
    }

    /// The program is ended because it has said nothing for so long; what there is to say of it.
    pub fn silent(&mut self, patience: Duration) -> String {
        let names = if self.running.is_empty() { "a test".to_owned() } else { self.running.join(", ") };
        let failure =
            format!("{names}: not ended, nor any other of its program, for {} s", patience.as_secs());
        let said = format!("test {failure}: the program is ended; --patience SECONDS waits longer");
        self.failures.push(failure);
        self.failed += (self.running.len() as u64).max(1);
        (self.undone, self.parts, self.open, self.since) = (0, 0, false, None);
        self.running.clear();
        said
    }

    /// Whether there was a test at all.
    pub fn any(&self) -> bool {
        self.passed + self.failed + self.skipped > 0
    }

    /// An error if all went well because there was nothing that could go wrong.
    pub fn matched(&self, filter: &str) -> Result<(), Failure> {
        if self.any() {
            return Ok(());
        }
        Err(Failure::new(format!(
            "no test's name contains `{filter}`; `cargo test --workspace -- --list` prints the names"
        )))
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
    fn a_test_that_ran_alone_is_timed() {
        let mut tally = tally(&["test before ... ok"]);
        tally.begun("one".into());
        std::thread::sleep(Duration::from_millis(20));
        // What it prints is no end of it.
        ["test x ... y", "test one ... ok", "test two ... ok"].iter().for_each(|line| tally.line(line));
        tally.begun("three".into());
        tally.line("test three ... FAILED");
        tally.of("program");
        let names: Vec<_> = tally.timed.iter().map(|test| test.name.as_str()).collect();
        assert_eq!(names, ["program: one", "program: three"]);
        assert_eq!(tally.failures, ["program: three"]);
        assert!(
            tally.timed[0].seconds >= 0.02 && tally.timed[1].seconds < tally.timed[0].seconds,
            "{:?}",
            tally.timed
        );
    }

    #[test]
    fn a_filter_that_matches_nothing_is_an_error() {
        let none = "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 31 filtered out";
        let error = tally(&[none, none]).matched("TYPO").unwrap_err().to_string();
        assert!(error.contains("`TYPO`") && error.contains("--list"), "{error}");
    }
}
