//! Test programs beside each other, one per processor, each with its tests one after the other: so that a
//! processor has work until the last program ends, and not only while one program has two tests left.

use std::collections::VecDeque;
use std::process::Command;
use std::sync::mpsc::channel;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use tessera_sim::progress::Progress;

use super::hear;
use super::tally::Tally;
use crate::programs::{cargo, Program};

/// Something to run: a program, or cargo with the tests in documentation.
pub struct Job {
    pub name: String,
    pub command: Command,
    /// Cargo, which goes on with its next program when one is ended.
    pub cargo: bool,
}

/// Programs that take the longest, the longest first: one of them begun last would run on alone. A name that is
/// missing here costs time and nothing else.
const LONG: &[&str] = &[
    "testbenches/bus_models",
    "testbenches/configs",
    "testbenches/corundum",
    "cli",
    "testbenches/nic_reset",
    "testbenches/tools",
    "testbenches/shells",
    "testbenches/rx_context",
    "testbenches/bug_classes",
    "testbenches/nic",
];

impl Job {
    pub fn of(program: &Program, filter: Option<&str>) -> Self {
        let mut command = Command::new(&program.path);
        // With one, libtest says a test's name before it runs it.
        command.args(["--test-threads", "1"]).args(filter).current_dir(&program.folder);
        command.env("CARGO_MANIFEST_DIR", &program.folder);
        Self { name: program.label(), command, cargo: false }
    }

    /// The tests in documentation, of all crates.
    pub fn documentation(filter: Option<&str>) -> Self {
        let mut command = cargo();
        command.args(["test", "--workspace", "--doc", "--no-fail-fast"]).args(filter);
        Self { name: "documentation".into(), command, cargo: true }
    }
}

/// In the order in which they are begun.
fn queue(jobs: Vec<Job>) -> VecDeque<Job> {
    let mut jobs = jobs;
    jobs.sort_by_key(|job| LONG.iter().position(|name| *name == job.name).unwrap_or(LONG.len()));
    jobs.into()
}

/// Runs them all, `workers` at a time. What one prints is said once it has ended, if a test of it was run.
pub fn run(jobs: Vec<Job>, workers: usize, patience: Duration, say: &mut dyn FnMut(&str)) -> Tally {
    let (total, begun) = (jobs.len(), Instant::now());
    let jobs = Mutex::new(queue(jobs));
    let progress = Progress::start("testing");
    let running = Mutex::new(Vec::new());
    let mut sum = Tally::default();
    let (send, ended) = channel();
    std::thread::scope(|scope| {
        for _ in 0..workers.clamp(1, total.max(1)) {
            let (send, jobs, running) = (send.clone(), &jobs, &running);
            scope.spawn(move || loop {
                let Some(job) = jobs.lock().ok().and_then(|mut jobs| jobs.pop_front()) else { break };
                let name = job.name.clone();
                if let Ok(mut running) = running.lock() {
                    running.push(name.clone());
                }
                let (at, mut lines) = (Instant::now(), Vec::new());
                let tally = hear(job.command, job.cargo, patience, &mut |line| lines.push(line.to_owned()));
                if let Ok(mut running) = running.lock() {
                    if let Some(at) = running.iter().position(|other| *other == name) {
                        running.swap_remove(at);
                    }
                }
                if send.send((name, at.elapsed(), lines, tally)).is_err() {
                    break;
                }
            });
        }
        drop(send);
        for (count, (name, took, lines, tally)) in ended.iter().enumerate() {
            if tally.as_ref().map_or(true, Tally::any) {
                let (took, since) = (took.as_secs_f64(), begun.elapsed().as_secs_f64());
                say(&format!("\n--- {name}: {took:.1} s, {since:.0} s after the first"));
                lines.iter().filter(|line| !line.is_empty()).for_each(|line| say(line));
            }
            match tally {
                Ok(mut tally) => {
                    tally.of(&name);
                    sum.add(tally);
                }
                Err(error) => sum.fail(format!("{name}: {error}")),
            }
            let now = running.lock().map(|running| running.join(", ")).unwrap_or_default();
            progress.detail(format!("{} of {total} programs done; {now}", count + 1));
        }
    });
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(name: &str, script: &str) -> Job {
        let mut command = Command::new("sh");
        command.arg("-c").arg(script);
        Job { name: name.into(), command, cargo: false }
    }

    const ONE_GOOD: &str = "echo running 1 test; printf 'test good ... '; sleep 0.4; echo ok; \
                            echo 'test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured'";

    #[test]
    fn long_programs_begin_first() {
        let jobs =
            ["abi", "testbenches/tools", "testbenches/configs", "sim"].map(|name| shell(name, "")).into();
        let order: Vec<_> = queue(jobs).into_iter().map(|job| job.name).collect();
        assert_eq!(order, ["testbenches/configs", "testbenches/tools", "abi", "sim"]);
    }

    #[test]
    fn programs_run_beside_each_other_and_add_up() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        // Each waits until the other has begun.
        let meet = |own: &str, other: &str| {
            format!("touch {}; while ! [ -e {} ]; do sleep 0.01; done; {ONE_GOOD}", at(own), at(other))
        };
        let jobs = vec![
            shell("a", &meet("a", "b")),
            shell("b", &meet("b", "a")),
            shell("c", ONE_GOOD),
            shell("none", "echo running 0 tests; echo 'test result: ok. 0 passed; 0 failed; 0 ignored'"),
        ];
        let mut said = Vec::new();
        let sum = run(jobs, 2, Duration::from_secs(30), &mut |line| said.push(line.to_owned()));
        assert_eq!([sum.passed, sum.failed, sum.skipped], [3, 0, 0], "{:?}", sum.failures);
        let heads: Vec<_> =
            said.iter().filter_map(|line| line.strip_prefix("\n--- ")?.split(':').next()).collect();
        assert_eq!(heads.len(), 3, "{said:?}");
        assert!(["a", "b", "c"].iter().all(|name| heads.contains(name)), "{said:?}");
        assert_eq!(said.iter().filter(|line| *line == "test good ... ok").count(), 3, "{said:?}");
        let mut timed: Vec<_> = sum.timed.iter().map(|test| test.name.as_str()).collect();
        timed.sort();
        assert_eq!(timed, ["a: good", "b: good", "c: good"]);
    }

    #[test]
    fn what_goes_wrong_is_told_with_its_program() {
        let crash = "echo running 2 tests; printf 'test one ... '; kill -9 $$";
        let waits = "echo running 2 tests; printf 'test two ... '; (sleep 600; true)";
        let fails = "echo running 1 test; echo 'test three ... FAILED'; \
                     echo 'test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured'; exit 101";
        let mute = "sleep 601; true";
        let absent = Job { name: "absent".into(), command: Command::new("/nowhere"), cargo: false };
        let jobs = vec![
            shell("crash", crash),
            shell("waits", waits),
            shell("fails", fails),
            shell("mute", mute),
            absent,
            shell("c", ONE_GOOD),
        ];
        let begun = Instant::now();
        let mut sum = run(jobs, 2, Duration::from_secs(1), &mut |_| ());
        assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
        assert_eq!([sum.passed, sum.failed], [1, 5], "{:?}", sum.failures);
        sum.failures.sort();
        let [absent, crash, fails, mute, waits] = &sum.failures[..] else { panic!("{:?}", sum.failures) };
        assert!(absent.starts_with("absent: ") && absent.contains("No such file"), "{absent}");
        assert!(crash.starts_with("crash: ended with signal: 9"), "{crash}");
        assert_eq!(fails, "fails: three");
        assert!(mute.starts_with("mute: a test: not ended"), "{mute}");
        assert!(waits.starts_with("waits: two: not ended, nor any other of its program, for 1 s"), "{waits}");
    }
}
