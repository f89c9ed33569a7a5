//! What placing and routing came to, as JSON and as it is printed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tessera_place::Refined;

use super::device::Device;
use super::harness::Own;
use super::{Placing, Router};

/// nextpnr's report, as far as it is read.
#[derive(Deserialize)]
pub struct Report {
    pub fmax: BTreeMap<String, Clock>,
    pub utilization: BTreeMap<String, Used>,
}

#[derive(Deserialize)]
pub struct Clock {
    pub achieved: f64,
}

#[derive(Deserialize)]
pub struct Used {
    pub used: usize,
}

/// A placement that was refined.
#[derive(Debug, Serialize)]
pub struct Placed {
    pub seed: u32,
    /// The design as it is to be routed, in the folder.
    #[serde(skip)]
    pub design: String,
    pub refined: Refined,
    pub seconds: f64,
}

#[derive(Debug, Serialize)]
pub struct Run {
    pub seed: u32,
    pub mhz: f64,
    /// Ends whose data comes too early for them, at any clock: nextpnr reports and does not mend them.
    pub hold_violations: usize,
    /// What annealing made of the placement.
    pub refined: Option<Refined>,
    pub seconds: f64,
}

#[derive(Debug, Serialize)]
pub struct Routed {
    pub design: String,
    pub top: String,
    pub device: Device,
    pub speed_grade: &'static str,
    pub yosys: String,
    pub nextpnr: String,
    pub placer: Placing,
    pub router: Router,
    /// With the harness: tables (with RAM and carries, as placed), FF, block RAM, multipliers.
    pub used: BTreeMap<&'static str, usize>,
    pub available: BTreeMap<&'static str, usize>,
    /// Of that, what the harness takes.
    pub harness: Own,
    /// After routing, register to register.
    pub runs: Vec<Run>,
    /// Where all were placed before one of them was routed.
    pub placements: Vec<Placed>,
    pub best_mhz: f64,
    pub median_mhz: f64,
    pub seconds: f64,
}

pub fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    let middle = of.len() / 2;
    match of.len() {
        0 => 0.0,
        len if len % 2 == 1 => of[middle],
        _ => (of[middle - 1] + of[middle]) / 2.0,
    }
}

/// How many ends nextpnr's log says have their data too early.
pub fn hold_violations(log: &str) -> usize {
    let line = |line: &str| {
        let (said, _) = line.split_once(" Hold/min time violation")?;
        said.rsplit(' ').next()?.parse().ok()
    };
    // It says so at each of its steps: after routing, last.
    log.lines().filter_map(line).next_back().unwrap_or(0)
}

impl Routed {
    pub fn print(&self) {
        println!(
            "{} in {}, speed {} ({:.0} s)",
            self.design,
            self.device.name(),
            self.speed_grade,
            self.seconds
        );
        println!("  {}, {}", self.yosys, self.nextpnr);
        for (what, used) in &self.used {
            let has = self.available[what];
            let share = 100.0 * *used as f64 / has as f64;
            println!("  {what:<26} {used:>7} of {has:>6}, {share:.0} %");
        }
        let tables = self.device.resources()[0];
        println!("  of these the harness: {} {tables}, {} FF", self.harness.lut, self.harness.ff);
        for placed in &self.placements {
            let Refined { before, after, shortest, .. } = placed.refined;
            println!(
                "  seed {:<3} placed with {before}; refined to {after}  {:.0} s",
                placed.seed, placed.seconds
            );
            println!(
                "           its longest way {:.1} ns by estimate at speed grade 6; {shortest:.1} if every wire were as short as \
                 one can be, {:.0} MHz",
                after.longest,
                1e3 / shortest
            );
        }
        for run in &self.runs {
            println!("  seed {:<3} {:>7.1} MHz  {:.0} s", run.seed, run.mhz, run.seconds);
            if run.hold_violations != 0 {
                println!(
                    "           {} ends have their data too early (hold), see its log",
                    run.hold_violations
                );
            }
        }
        if self.runs.len() > 1 {
            println!("  best {:.1} MHz, median {:.1} MHz", self.best_mhz, self.median_mhz);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_that_hold_too_short_are_counted() {
        let log = "Info: 3 Hold/min time violations (showing 10 worst paths):\nWarning: Hold/min time violation for \
                   clock 'posedge clk':\nInfo: 78 Hold/min time violations (showing 10 worst paths):\n";
        assert_eq!((hold_violations(log), hold_violations("Info: Program finished normally.\n")), (78, 0));
    }

    #[test]
    fn the_median_is_between() {
        assert_eq!((median(vec![3.0, 1.0, 2.0]), median(vec![4.0, 1.0])), (2.0, 2.5));
    }
}
