//! A sweep's JSON file: written after every point, and what a run that was
//! interrupted goes on from.
//!
//! ```text
//!  --json F ── points measured so far ──> left out ──> the rest is measured ──┐
//!        ^                                                                    │
//!        └──────────── whole file, by renaming, after each point ─────────────┘
//! ```
//!
//! A file of other settings is refused, one of another revision too unless asked for.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::grid::{Extent, Point};
use super::targets::{self, Verdicts};
use super::Measured;
use crate::output::{self, Failure};

/// What all points of a file have in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    pub configuration: String,
    pub revision: String,
    pub extent: Extent,
    pub nics: u16,
    pub payload_bytes: u32,
    pub seed: u64,
    /// Registers that are not at their reset value, besides PATH_COUNT.
    #[serde(default)]
    pub registers: Vec<(String, u32)>,
}

/// A file as it is read.
#[derive(Deserialize)]
struct Saved {
    #[serde(flatten)]
    setting: Setting,
    #[serde(default)]
    date: String,
    wall_s: f64,
    points: Vec<Measured>,
}

/// A file as it is written.
#[derive(Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    setting: &'a Setting,
    /// Day of the first point, UTC.
    date: &'a str,
    /// Seconds of all runs together.
    wall_s: f64,
    /// Points of the grid that are still to be measured.
    left: usize,
    points: &'a [Measured],
    #[serde(flatten)]
    verdicts: &'a Verdicts,
}

/// What has been measured.
#[derive(Clone, Debug)]
pub struct Results {
    pub setting: Setting,
    pub date: String,
    pub wall_s: f64,
    pub measured: Vec<Measured>,
}

/// Days since 1970 as a date: the calendar repeats every 400 years, which
/// are counted from a 1st of March, so that a leap day ends a year.
fn date_of(days: u64) -> String {
    const ERA: u64 = 146_097;
    let since = days + 719_468;
    let (era, day) = (since / ERA, since % ERA);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, wrap) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    format!("{:04}-{month:02}-{day:02}", era * 400 + year + wrap)
}

fn today() -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    date_of(since.map_or(0, |since| since.as_secs() / 86_400))
}

impl Results {
    /// Nothing yet.
    pub fn none(setting: Setting) -> Self {
        Self { setting, date: today(), wall_s: 0.0, measured: Vec::new() }
    }

    /// What `path` holds, which is nothing when there is no such file.
    ///
    /// # Errors
    /// If the file is none of a sweep, or of another one than `setting` says.
    pub fn open(path: &Path, setting: Setting, any_revision: bool) -> Result<Self, Failure> {
        let name = path.display();
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::none(setting)),
            Err(error) => return Err(Failure::new(format!("cannot read {name}: {error}"))),
        };
        let Saved { setting: saved, date, wall_s, points: measured } =
            serde_json::from_str(&text).map_err(|error| {
                Failure::new(format!(
                    "{name} exists and is no result of a sweep ({error}); name another file"
                ))
            })?;
        let alike = Setting { revision: setting.revision.clone(), ..saved.clone() };
        if alike != setting {
            return Err(Failure::new(format!(
                "{name} is of another sweep ({} of {}, {} NICs, payload {}, seed {}, registers {:?}): name another file, \
                 or ask for the same",
                serde_json::to_string(&saved.extent)?,
                saved.configuration,
                saved.nics,
                saved.payload_bytes,
                saved.seed,
                saved.registers
            )));
        }
        if saved.revision != setting.revision && !any_revision {
            return Err(Failure::new(format!(
                "{name} was measured at {}, this is {}: name another file, or go on all the same with --any-revision",
                saved.revision, setting.revision
            )));
        }
        Ok(Self { setting: saved, date, wall_s, measured })
    }

    /// Fails when the file `path` has nothing to report without measuring.
    pub fn check_report(&self, path: &Path) -> Result<(), Failure> {
        if !self.measured.is_empty() {
            return Ok(());
        }
        let what = if path.exists() { "has no points" } else { "does not exist" };
        Err(Failure::new(format!(
            "{} {what}: name the file of a sweep, or measure one without --report-only",
            path.display()
        )))
    }

    pub fn has(&self, point: &Point) -> bool {
        self.measured.iter().any(|m| m.point == *point)
    }

    /// Writes the file; `wall_s` seconds more than when it was read, `left` points to go.
    pub fn write(&self, path: &Path, wall_s: f64, left: usize) -> Result<(), Failure> {
        let verdicts = targets::judge(&self.measured, self.setting.payload_bytes as usize);
        let report = Report {
            setting: &self.setting,
            date: &self.date,
            wall_s: self.wall_s + wall_s,
            left,
            points: &self.measured,
            verdicts: &verdicts,
        };
        output::write_json(path, &report)
    }
}

#[cfg(test)]
mod tests {
    use super::super::grid;
    use super::super::load::Outcome;
    use super::*;

    fn setting() -> Setting {
        Setting {
            configuration: "nic512".into(),
            revision: "one".into(),
            extent: Extent::Quick,
            nics: 2,
            payload_bytes: 1024,
            seed: 1,
            registers: vec![("GUARD".into(), 20)],
        }
    }

    #[test]
    fn days_are_dates() {
        for (days, date) in
            [(0, "1970-01-01"), (59, "1970-03-01"), (11_016, "2000-02-29"), (20_778, "2026-11-21")]
        {
            assert_eq!(date_of(days), date);
        }
    }

    #[test]
    fn a_file_is_gone_on_from_or_refused() {
        let path = std::env::temp_dir().join(format!("tessera-sweep-{}.json", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let mut results = Results::open(&path, setting(), false).unwrap();
        let points = grid::points(Extent::Quick, 1024);
        let outcome = Outcome { p99_us: 1.0 / 3.0, needed: 7, ..Outcome::default() };
        let measured = Measured { point: points[1], block: outcome, counterparts: Vec::new() };
        results.measured.push(measured);
        results.write(&path, 2.5, points.len() - 1).unwrap();
        let again = Results::open(&path, setting(), false).unwrap();
        assert!(again.has(&points[1]) && !again.has(&points[0]));
        assert_eq!((again.wall_s, again.measured[0].block.needed), (2.5, 7));
        assert_eq!(again.measured[0].block.p99_us, 1.0 / 3.0);
        let other = Setting { revision: "two".into(), ..setting() };
        let refused = Results::open(&path, other.clone(), false).unwrap_err().to_string();
        assert!(refused.contains("--any-revision"), "{refused}");
        assert_eq!(Results::open(&path, other, true).unwrap().setting.revision, "one");
        for other in [Setting { seed: 2, ..setting() }, Setting { registers: Vec::new(), ..setting() }] {
            assert!(Results::open(&path, other, true).is_err());
        }
        std::fs::write(&path, "{}").unwrap();
        assert!(Results::open(&path, setting(), true).is_err());
        std::fs::remove_file(&path).unwrap();
    }
}
