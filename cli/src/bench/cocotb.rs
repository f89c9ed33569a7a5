//! Simulation speed: the same Verilog and the same stimulus, played by this
//! harness, by cocotb over Verilator and by cocotb over Icarus Verilog.
//!
//! A run of two NICs is recorded at one of them, port by port and clock by
//! clock. All three drive it again and compare what comes out; each is timed
//! from the end of the reset to the last clock, without building or loading, in
//! time of its processor, so that what else the machine does is not in it.
//!
//! cocotb's Verilator is compiled with the options of our own models, and only
//! the ports of the top are open to it: it needs no more, and what its own
//! runner asks for (`--public-flat-rw`) is slower.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde::Deserialize;
use sha2::{Digest, Sha256};
use tessera_sim::nic::Record;
use tessera_sim::progress::Progress;
use tessera_sim::tools::{self, Cocotb, ToolError, ToolOptions};
use tessera_sim::verilator::Model;

use crate::output::Failure;

/// The test that cocotb runs.
const REPLAY: &str = include_str!("../../../sim/cocotb/replay.py");
/// Times that this harness plays the record: once takes too short to measure.
const ROUNDS: u32 = 10;

/// What was measured of one, or why nothing was.
pub enum Speed {
    Measured {
        /// Clocks per second.
        clocks: f64,
        /// Bits of valid outputs that had no value, since a memory was read
        /// that nothing was written to.
        unknown: u64,
    },
    /// It was stopped before its end.
    Cut {
        /// Clocks that it had come to, of so many.
        reached: f64,
        of: usize,
        /// Processor time that they took: all of them take longer.
        seconds: f64,
    },
    Skipped(String),
}

#[derive(Deserialize)]
struct Told {
    clocks: f64,
    seconds: f64,
    unknown: u64,
}

/// Files of one comparison. They stay, so that what is compiled is compiled
/// once.
pub struct Bench {
    folder: PathBuf,
    top: String,
    cocotb: Cocotb,
    /// Clocks of the record.
    clocks: usize,
    /// Processor time after which a simulator is stopped.
    limit: Duration,
}

fn io(what: &Path) -> impl Fn(std::io::Error) -> Failure + '_ {
    move |error| Failure::new(format!("{}: {error}", what.display()))
}

/// Runs a command to its end; what it said is in `log`.
fn finish(command: &mut Command, log: &Path) -> Result<(), Failure> {
    within(command, log, Duration::MAX).map(|_| ())
}

/// Runs a command to its end, or until it has taken `limit` of processor time, or
/// ten times as long by the clock: whether it came to its end.
fn within(command: &mut Command, log: &Path, limit: Duration) -> Result<bool, Failure> {
    let name = command.get_program().to_string_lossy().into_owned();
    let failed = |error| Failure::new(format!("{name}: {error}"));
    let file = std::fs::File::create(log).map_err(io(log))?;
    let again = file.try_clone().map_err(io(log))?;
    let mut child = command.stdin(Stdio::null()).stdout(file).stderr(again).spawn().map_err(failed)?;
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().map_err(failed)? {
            break status;
        }
        let elapsed = begun.elapsed();
        if spent(child.id()).unwrap_or(elapsed) > limit || elapsed > limit.saturating_mul(10) {
            child.kill().map_err(failed)?;
            child.wait().map_err(failed)?;
            return Ok(false);
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    if status.success() {
        return Ok(true);
    }
    Err(Failure::new(format!("{name}: {status}; what it said is in {}", log.display())))
}

/// Processor time that a process's first thread has taken; simulators have no other.
fn spent(process: u32) -> Option<Duration> {
    let text = std::fs::read_to_string(format!("/proc/{process}/schedstat")).ok()?;
    text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

impl Bench {
    /// Runs the compiled simulation and reads what the test measured.
    fn measure(&self, simulator: &mut Command, name: &str) -> Result<Speed, Failure> {
        let result = self.folder.join(format!("{name}.json"));
        let progress = self.folder.join(format!("{name}-progress.json"));
        for file in [&result, &progress] {
            let _ = std::fs::remove_file(file);
        }
        self.cocotb.run(simulator, &self.top, "replay", &self.folder);
        simulator
            .env("TESSERA_RECORD", self.folder.join("record.json"))
            .env("TESSERA_RESULT", &result)
            .env("TESSERA_PROGRESS", &progress)
            .env("COCOTB_RESULTS_FILE", self.folder.join(format!("{name}.xml")))
            .current_dir(&self.folder);
        let log = self.folder.join(format!("{name}.log"));
        if !within(simulator, &log, self.limit)? {
            if !progress.exists() {
                let limit = self.limit.as_secs();
                return Ok(Speed::Skipped(format!(
                    "it simulated nothing within {limit} s; see --cocotb-limit"
                )));
            }
            let Told { clocks: reached, seconds, .. } = told(&progress)?;
            return Ok(Speed::Cut { reached, of: self.clocks, seconds });
        }
        // The simulator ends well though the test has failed; only a test that passed tells.
        if !result.exists() {
            return Err(Failure::new(format!("the test failed under {name}: see {}", log.display())));
        }
        let Told { clocks, seconds, unknown } = told(&result)?;
        Ok(Speed::Measured { clocks: clocks / seconds, unknown })
    }

    /// The same under cocotb with Verilator, compiled first.
    pub fn verilator(&self, options: &ToolOptions) -> Result<Speed, Failure> {
        let _progress = Progress::start("building and running cocotb with Verilator");
        let verilator = tools::pinned_verilator(options)?;
        let make = match tools::system_program("make", "make", "cocotb's model is built with it") {
            Ok(make) => make,
            Err(error) => return Ok(skipped(&error)),
        };
        let [mut translate, mut compile] =
            self.cocotb.verilate(&verilator, &make, (&self.top, "nic.v"), &self.folder, &["OPT_FAST=-O3"]);
        finish(&mut translate, &self.folder.join("verilator-build.log"))?;
        finish(&mut compile, &self.folder.join("verilator-make.log"))?;
        let mut simulator = Command::new(self.folder.join("verilator/sim"));
        // As cocotb's own runner has it for Verilator.
        simulator.env("COCOTB_TRUST_INERTIAL_WRITES", "1");
        self.measure(&mut simulator, "cocotb-verilator")
    }

    /// The same under cocotb with Icarus Verilog.
    pub fn icarus(&self) -> Result<Speed, Failure> {
        let _progress = Progress::start("running cocotb with Icarus Verilog");
        let purpose = "cocotb is measured with Icarus Verilog too";
        let icarus = match tools::icarus(purpose) {
            Ok(icarus) => icarus,
            Err(error) => return Ok(skipped(&error)),
        };
        let mut command = self.cocotb.elaborate(&icarus, (&self.top, "nic.v"), &self.folder);
        finish(&mut command, &self.folder.join("icarus-build.log"))?;
        self.measure(&mut self.cocotb.interpreter(&icarus), "cocotb-icarus")
    }
}

/// What the test has written.
fn told(file: &Path) -> Result<Told, Failure> {
    let text = std::fs::read(file).map_err(io(file))?;
    serde_json::from_slice(&text).map_err(|error| Failure::new(format!("{}: {error}", file.display())))
}

fn skipped(error: &ToolError) -> Speed {
    Speed::Skipped(error.to_string())
}

/// Writes a file unless it is there: Verilator builds again what is newer.
fn keep(file: &Path, bytes: &[u8]) -> Result<(), Failure> {
    match std::fs::read(file) {
        Ok(there) if there == bytes => Ok(()),
        _ => std::fs::write(file, bytes).map_err(io(file)),
    }
}

/// Plays `record` to `model`: clocks per second of this harness.
pub fn own(record: &Record, model: &Model) -> Result<f64, Failure> {
    let mut spent = Duration::ZERO;
    for _ in 0..ROUNDS {
        spent += record.replay(model).map_err(|error| Failure::new(error.to_string()))?;
    }
    Ok(record.steps.len() as f64 * f64::from(ROUNDS) / spent.as_secs_f64())
}

impl Bench {
    /// Lays out what the others need to play `record` to `verilog`, whose top is
    /// `top`; or says why there is no cocotb.
    pub fn new(
        record: &Record,
        top: &str,
        verilog: &str,
        options: &ToolOptions,
        limit: Duration,
    ) -> Result<Result<Self, ToolError>, Failure> {
        let cocotb = match tools::cocotb(options) {
            Ok(cocotb) => cocotb,
            Err(error) => return Ok(Err(error)),
        };
        let top = top.to_owned();
        let digest: String = Sha256::digest(verilog).iter().take(6).map(|b| format!("{b:02x}")).collect();
        let folder = options.cache().join("cocotb").join(format!("{top}-{digest}"));
        std::fs::create_dir_all(&folder).map_err(io(&folder))?;
        let json = serde_json::to_vec(record).map_err(|error| Failure::new(error.to_string()))?;
        for (name, bytes) in
            [("nic.v", verilog.as_bytes()), ("record.json", &json), ("replay.py", REPLAY.as_bytes())]
        {
            keep(&folder.join(name), bytes)?;
        }
        Ok(Ok(Self { folder, top, cocotb, clocks: record.steps.len(), limit }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_too_long_is_stopped() {
        let log = std::env::temp_dir().join(format!("tessera-limit-{}.log", std::process::id()));
        let run = |script: &str, millis| {
            within(Command::new("sh").args(["-c", script]), &log, Duration::from_millis(millis))
        };
        assert!(run("exit 0", 60_000).is_ok_and(|ended| ended));
        assert!(run("exit 1", 60_000).is_err());
        assert!(run("while :; do :; done", 50).is_ok_and(|ended| !ended), "by its processor time");
        assert!(run("exec sleep 600", 20).is_ok_and(|ended| !ended), "by the clock");
        let _ = std::fs::remove_file(&log);
    }
}
