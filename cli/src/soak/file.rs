//! A soak's JSON file: written after every round, and what a run that was
//! stopped goes on from, as long as it is the same hardware.
//!
//! The hardware is named by its Verilog, not by the revision: what changes in
//! documents, driver or scoreboard leaves what has been judged as it was.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::round::Totals;
use crate::output::{self, Failure};

/// A round that broke a rule.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Broken {
    pub seed: u64,
    pub what: String,
    /// What was drawn.
    pub round: String,
    /// Repeats this round and no other.
    pub command: String,
}

/// The file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Enough packets, and no rule broken.
    pub ok: bool,
    pub configuration: String,
    /// Of the last run.
    pub revision: String,
    /// [`digest`](crate::model::digest) of the hardware.
    pub verilog: String,
    pub seed: u64,
    /// First seed that no run has begun. One that was stopped leaves out those
    /// of the rounds it was in.
    pub next_seed: u64,
    /// Seconds of all runs together.
    pub wall_s: f64,
    pub packets_per_s: f64,
    pub totals: Totals,
    /// Rounds that broke a rule, by seed; nothing of them is in the totals.
    pub broken: Vec<Broken>,
}

impl Report {
    /// Nothing yet.
    pub fn none(configuration: &str, revision: String, verilog: String, seed: u64) -> Self {
        Self {
            ok: false,
            configuration: configuration.into(),
            revision,
            verilog,
            seed,
            next_seed: seed,
            wall_s: 0.0,
            packets_per_s: 0.0,
            totals: Totals::default(),
            broken: Vec::new(),
        }
    }

    /// What `path` holds, which is nothing when there is no such file.
    ///
    /// # Errors
    /// If the file is none of a soak, or of another one than `new` says.
    pub fn open(path: &Path, new: Self) -> Result<Self, Failure> {
        let name = path.display();
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(new),
            Err(error) => return Err(Failure::new(format!("cannot read {name}: {error}"))),
        };
        let saved: Self = serde_json::from_str(&text).map_err(|error| {
            Failure::new(format!("{name} exists and is no result of a soak ({error}); name another file"))
        })?;
        let same = |report: &Self| (report.configuration.clone(), report.verilog.clone(), report.seed);
        if same(&saved) != same(&new) {
            let Self { configuration, verilog, seed, revision, .. } = saved;
            return Err(Failure::new(format!(
                "{name} is of another soak ({configuration} of revision {revision}, hardware {verilog}, seed {seed}; \
                 here hardware {}, seed {}): name another file",
                new.verilog, new.seed
            )));
        }
        Ok(Self { revision: new.revision, ..saved })
    }

    /// Takes the outcome of the round of `seed`.
    pub fn take(&mut self, broken: Broken) {
        let at = self.broken.partition_point(|known| known.seed < broken.seed);
        self.broken.insert(at, broken);
    }

    pub fn write(&self, path: &Path) -> Result<(), Failure> {
        output::write_json(path, self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_goes_on_where_it_was_left_with_the_same_hardware_only() {
        let folder = std::env::temp_dir().join(format!("tessera-soak-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap_or_else(|error| panic!("{error}"));
        let path = folder.join("soak.json");
        let new = |revision: &str, verilog: &str, seed| {
            Report::none("nic512", revision.into(), verilog.into(), seed)
        };
        let open = |new: Report| Report::open(&path, new).map_err(|failure| failure.to_string());
        assert_eq!(open(new("a", "v", 7)), Ok(new("a", "v", 7)));
        let mut report = new("a", "v", 7);
        (report.next_seed, report.totals.frames, report.wall_s) = (9, 25_000, 11.5);
        report.take(Broken { seed: 8, what: "it".into(), round: "so".into(), command: "again".into() });
        report.write(&path).unwrap_or_else(|failure| panic!("{failure}"));
        assert_eq!(open(new("b", "v", 7)), Ok(Report { revision: "b".into(), ..report }));
        for other in [new("a", "w", 7), new("a", "v", 8)] {
            let refused = open(other).expect_err("another soak");
            assert!(refused.contains("is of another soak") && refused.contains("name another file"));
        }
        std::fs::write(&path, "{}").unwrap_or_else(|error| panic!("{error}"));
        assert!(open(new("a", "v", 7)).is_err_and(|refused| refused.contains("no result of a soak")));
        std::fs::remove_dir_all(&folder).unwrap_or_else(|error| panic!("{error}"));
    }
}
