//! One run of SymbiYosys, and what came of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tessera_sim::tools::Prover;

use crate::output::Failure;

/// What a run looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Induction,
    Bounded,
    Cover,
}

/// What a run is of.
pub struct Task<'a> {
    /// Where its files go.
    pub folder: PathBuf,
    pub verilog: &'a str,
    pub harness: &'a str,
    /// Defined in the harness.
    pub define: String,
    pub mode: Mode,
    pub depth: usize,
    pub timeout: Duration,
}

/// What SymbiYosys found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It holds; or all covers were reached.
    Holds,
    /// What failed, or was not reached, and where the trace is, if there is one.
    Fails {
        what: String,
        trace: Option<PathBuf>,
    },
    /// Neither was found: held so far, but not by induction.
    Open {
        what: String,
    },
    TimedOut,
}

/// A verdict and how long it took.
pub struct Ran {
    pub verdict: Verdict,
    pub took: Duration,
}

fn script(task: &Task) -> String {
    let mode = match task.mode {
        Mode::Induction => "prove",
        Mode::Bounded => "bmc",
        Mode::Cover => "cover",
    };
    // Invariants are for induction: what a mistake breaks is the property itself.
    let defines = match task.mode {
        Mode::Induction => format!("-D {} -D INDUCTION", task.define),
        Mode::Bounded | Mode::Cover => format!("-D {}", task.define),
    };
    format!(
        "[options]\nmode {mode}\ndepth {}\ntimeout {}\n\n[engines]\nsmtbmc yices\n\n[script]\n\
         read_verilog block.v\nread_verilog -formal -sv {defines} harness.sv\nprep -flatten -top proof\n\n\
         [files]\nblock.v\nharness.sv\n",
        task.depth,
        task.timeout.as_secs()
    )
}

/// The last word of SymbiYosys: `status` is its file of that name, `log` all it said.
fn verdict(status: &str, log: &str, folder: &Path) -> Result<Verdict, String> {
    let about = |key: &str| log.lines().find_map(|line| line.split_once(key)).map(|(_, rest)| rest.trim());
    match status.split_whitespace().next() {
        Some("PASS") => Ok(Verdict::Holds),
        Some("FAIL") => {
            let what = about("failed assertion ").or_else(|| about("Unreached cover statement at "));
            let trace = about("counterexample trace: ").map(|file| match file.split_once('/') {
                // Named by the work folder's own name.
                Some((_, file)) => folder.join("work").join(file),
                None => folder.join(file),
            });
            Ok(Verdict::Fails { what: what.unwrap_or("a property").to_owned(), trace })
        }
        Some("UNKNOWN") => {
            Ok(Verdict::Open { what: about("failed assertion ").unwrap_or("no induction step").to_owned() })
        }
        Some("TIMEOUT") => Ok(Verdict::TimedOut),
        _ => {
            let line = |line: &&str| line.contains("ERROR") || line.contains("Error");
            Err(log.lines().find(line).or_else(|| log.lines().last()).unwrap_or("no word").trim().to_owned())
        }
    }
}

/// Runs `task`.
pub fn run(prover: &Prover, task: &Task) -> Result<Ran, Failure> {
    let begun = Instant::now();
    let folder = &task.folder;
    let cannot = |what: &str, path: &Path, error: std::io::Error| {
        Failure::new(format!("cannot {what} {}: {error}", path.display()))
    };
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(|error| cannot("empty", folder, error))?;
    }
    fs::create_dir_all(folder).map_err(|error| cannot("create", folder, error))?;
    for (name, text) in [("block.v", task.verilog), ("harness.sv", task.harness), ("work.sby", &script(task))]
    {
        let file = folder.join(name);
        fs::write(&file, text).map_err(|error| cannot("write", &file, error))?;
    }
    let output = prover.command(folder)?.args(["-f", "work.sby"]).output();
    let output = output.map_err(|error| Failure::new(format!("SymbiYosys did not start: {error}")))?;
    let log = [output.stdout, output.stderr].concat();
    let log = String::from_utf8_lossy(&log);
    let status = fs::read_to_string(folder.join("work/status")).unwrap_or_default();
    let verdict = verdict(&status, &log, folder).map_err(|why| {
        Failure::new(format!(
            "SymbiYosys could not do its work: {why}\n  see {}",
            folder.join("work").display()
        ))
    })?;
    Ok(Ran { verdict, took: begun.elapsed() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(status: &str, log: &str) -> Result<Verdict, String> {
        verdict(status, log, Path::new("/t"))
    }

    #[test]
    fn a_log_is_read_for_what_failed_and_where_its_trace_is() {
        let log = "SBY 17:20:01 [work] engine_0: ##   0:00:00  BMC failed!\n\
             SBY 17:20:01 [work] engine_0: ##   0:00:00  Assert failed in proof: harness.sv:44.7-44.50 (order)\n\
             SBY 17:20:02 [work] summary: engine_0 (smtbmc yices) returned FAIL\n\
             SBY 17:20:02 [work] summary: counterexample trace: work/engine_0/trace.vcd\n\
             SBY 17:20:02 [work] summary:   failed assertion proof.order at harness.sv:44.7-44.50 in step 5\n";
        let trace = Some(["/t", "work", "engine_0", "trace.vcd"].iter().collect());
        let what = "proof.order at harness.sv:44.7-44.50 in step 5".into();
        assert_eq!(said("FAIL 2 3\n", log), Ok(Verdict::Fails { what, trace }));
        let log = "SBY [work] summary:   Unreached cover statement at harness.sv:61.7-61.30\n";
        let what = "harness.sv:61.7-61.30".into();
        assert_eq!(said("FAIL 2 3", log), Ok(Verdict::Fails { what, trace: None }));
        assert_eq!(said("PASS 0 9", ""), Ok(Verdict::Holds));
        assert_eq!(said("TIMEOUT 8 600", ""), Ok(Verdict::TimedOut));
        let log = "SBY [work] summary:   failed assertion proof.counts at harness.sv:9.1-9.2 in step 3\n";
        let what = "proof.counts at harness.sv:9.1-9.2 in step 3".into();
        assert_eq!(said("UNKNOWN 4 2", log), Ok(Verdict::Open { what }));
        let log = "SBY [work] base: harness.sv:3: ERROR: syntax error, unexpected TOK_ID\nSBY [work] DONE\n";
        assert!(said("ERROR 16 0", log).unwrap_err().contains("harness.sv:3: ERROR: syntax error"));
        assert_eq!(said("", ""), Err("no word".into()));
    }
}
