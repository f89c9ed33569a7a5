//! A fabric from a file: what options of `run` do not say.

use std::path::Path;

use serde::{Deserialize, Serialize};
use tessera_abi::params::CLOCK_MHZ;
use tessera_sim::fabric::{DeadPath, FabricOptions, Faults, Loss};

use crate::output::Failure;

/// Most paths: as many as there are entropy values.
const MAX_PATHS: usize = 256;
/// Longest time that a file may name, microseconds.
const MAX_US: f64 = 1e9;

/// How frames are lost.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum LossEntry {
    /// Each with this probability.
    Uniform(f64),
    /// In bursts of so many frames on average.
    Bursts { mean: f64, burst: f64 },
}

/// A path that loses everything for a while.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Dead {
    path: usize,
    from_us: f64,
    until_us: f64,
}

/// The file, as JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entries {
    /// Of each path, microseconds.
    path_delays_us: Vec<f64>,
    loss: Option<LossEntry>,
    /// Probabilities, 0 to 0.5.
    duplicate: Option<f64>,
    corrupt: Option<f64>,
    mark: Option<f64>,
    dead_paths: Option<Vec<Dead>>,
    /// Speeds of links, Gb/s.
    path_gbps: Option<f64>,
    port_gbps: Option<f64>,
    /// Bytes waiting for a NIC's link: at most, and from which frames are marked.
    queue_bytes: Option<usize>,
    mark_above_bytes: Option<usize>,
}

fn probability(name: &str, value: Option<f64>) -> Result<f64, String> {
    match value.unwrap_or(0.0) {
        value if (0.0..=0.5).contains(&value) => Ok(value),
        value => Err(format!("{name} is {value}: a probability from 0 to 0.5 is needed")),
    }
}

fn clocks(name: &str, us: f64) -> Result<u64, String> {
    match us {
        us if (0.0..=MAX_US).contains(&us) => Ok((us * f64::from(CLOCK_MHZ)).round() as u64),
        us => Err(format!("{name} is {us}: microseconds from 0 to {MAX_US} are needed")),
    }
}

/// Bytes per clock.
fn rate(name: &str, gbps: f64) -> Result<f64, String> {
    match gbps {
        gbps if (0.1..=10_000.0).contains(&gbps) => Ok(gbps * 1000.0 / 8.0 / f64::from(CLOCK_MHZ)),
        gbps => Err(format!("{name} is {gbps}: 0.1 to 10000 Gb/s are needed")),
    }
}

impl Entries {
    fn options(&self, seed: u64) -> Result<FabricOptions, String> {
        let paths = self.path_delays_us.len();
        if !(1..=MAX_PATHS).contains(&paths) {
            return Err(format!("path_delays_us names {paths} paths: 1 to {MAX_PATHS} are needed"));
        }
        let mut options = FabricOptions::new(paths, 1, 0, seed);
        for (place, &us) in options.path_delays.iter_mut().zip(&self.path_delays_us) {
            *place = clocks("a delay of path_delays_us", us)?.max(1);
        }
        let loss = match self.loss {
            None => Loss::None,
            Some(LossEntry::Uniform(loss)) => Loss::Uniform(probability("loss", Some(loss))?),
            Some(LossEntry::Bursts { mean, burst }) => {
                if !(1.0..=1e6).contains(&burst) {
                    return Err(format!("burst is {burst}: at least 1 frame, at most a million"));
                }
                Loss::Bursty { mean: probability("mean", Some(mean))?, burst }
            }
        };
        let dead = |dead: &Dead| {
            if dead.path >= paths {
                return Err(format!("dead_paths names path {}: there are 0 to {}", dead.path, paths - 1));
            }
            let (from, until) = (clocks("from_us", dead.from_us)?, clocks("until_us", dead.until_us)?);
            Ok(DeadPath { path: dead.path, from, until })
        };
        options.faults = Faults {
            loss,
            duplicate: probability("duplicate", self.duplicate)?,
            max_copies: 1,
            corrupt: probability("corrupt", self.corrupt)?,
            mark: probability("mark", self.mark)?,
            dead_paths: self.dead_paths.iter().flatten().map(dead).collect::<Result<_, _>>()?,
            ..Faults::default()
        };
        options.path_rate = self.path_gbps.map(|gbps| rate("path_gbps", gbps)).transpose()?;
        if let Some(gbps) = self.port_gbps {
            options.port_rate = rate("port_gbps", gbps)?;
        }
        options.queue_limit = self.queue_bytes.unwrap_or(options.queue_limit);
        options.mark_above = self.mark_above_bytes;
        Ok(options)
    }
}

/// The fabric that a file describes.
pub fn read(path: &Path, seed: u64) -> Result<FabricOptions, Failure> {
    let refused = |why: String| {
        Failure::new(format!(
            "the fabric {}: {why} (docs/co-verification.md has the entries)",
            path.display()
        ))
    };
    let text = std::fs::read_to_string(path).map_err(|error| refused(error.to_string()))?;
    let entries: Entries = serde_json::from_str(&text).map_err(|error| refused(error.to_string()))?;
    entries.options(seed).map_err(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<FabricOptions, String> {
        let entries: Entries = serde_json::from_str(text).map_err(|error| error.to_string())?;
        entries.options(1)
    }

    #[test]
    fn a_file_says_it_all() {
        let options = parsed(
            r#"{ "path_delays_us": [1, 2.5], "loss": { "mean": 0.01, "burst": 4 }, "duplicate": 0.1,
                "corrupt": 0.02, "mark": 0.03, "dead_paths": [{ "path": 1, "from_us": 10, "until_us": 20 }],
                "path_gbps": 100, "port_gbps": 50, "queue_bytes": 65536, "mark_above_bytes": 30000 }"#,
        )
        .unwrap();
        assert_eq!(options.path_delays, [250, 625]);
        assert_eq!(options.faults.loss, Loss::Bursty { mean: 0.01, burst: 4.0 });
        assert_eq!(
            (options.faults.duplicate, options.faults.corrupt, options.faults.mark),
            (0.1, 0.02, 0.03)
        );
        assert_eq!(options.faults.dead_paths, [DeadPath { path: 1, from: 2500, until: 5000 }]);
        assert_eq!((options.path_rate, options.port_rate), (Some(50.0), 25.0));
        assert_eq!((options.queue_limit, options.mark_above), (65536, Some(30000)));
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        for (text, why) in [
            (r#"{ "path_delays_us": [] }"#, "path_delays_us names 0 paths"),
            (r#"{ "path_delays_us": [-1] }"#, "is -1: microseconds"),
            (r#"{ "path_delays_us": [1], "loss": 0.6 }"#, "loss is 0.6"),
            (r#"{ "path_delays_us": [1], "loss": { "mean": 0.1, "burst": 0 } }"#, "burst is 0"),
            (
                r#"{ "path_delays_us": [1], "dead_paths": [{ "path": 1, "from_us": 0, "until_us": 1 }] }"#,
                "path 1",
            ),
            (r#"{ "path_delays_us": [1], "port_gbps": 0 }"#, "port_gbps is 0"),
            (r#"{ "path_delays_us": [1], "los": 0.1 }"#, "unknown field `los`"),
            (r#"{ "loss": 0.1 }"#, "missing field `path_delays_us`"),
        ] {
            let error = parsed(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
