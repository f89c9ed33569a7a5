//! What became of the mutants, as text and as a file that a run goes on with.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tessera_sim::mutate;

use crate::output::Failure;

/// What became of a mutant.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// The testbench failed.
    Killed,
    /// The testbench did not come to an end in time.
    Hung,
    /// The testbench passed.
    Survived,
}

/// What was asked for.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Of the sources.
    pub revision: String,
    /// Of the choice of mutants, and of the testbenches.
    pub seed: u64,
    /// One of these two is set.
    pub mutants_per_block: Option<usize>,
    pub mutants_in_all: Option<usize>,
    /// Blocks; none are all.
    pub only: Vec<String>,
    pub except: Vec<String>,
}

#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct Row {
    pub block: String,
    pub testbench: String,
    pub mutant: String,
    pub operator: String,
    pub module: String,
    pub design: PathBuf,
    pub line: usize,
    pub before: String,
    pub after: String,
    pub fate: Fate,
    /// The test that failed first.
    pub test: Option<String>,
    pub wall_s: f64,
}

#[derive(Serialize)]
struct BlockRow {
    block: String,
    testbench: String,
    mutants: usize,
    killed: usize,
    hung: usize,
    survived: usize,
}

#[derive(Serialize)]
pub struct Report {
    #[serde(flatten)]
    setting: Setting,
    /// Nothing is left to try.
    complete: bool,
    wall_s: f64,
    pub killed_percent: f64,
    blocks: Vec<BlockRow>,
    mutants: Vec<Row>,
    pub errors: Vec<String>,
}

/// What a report holds that cannot be worked out anew.
#[derive(Deserialize)]
struct Saved {
    #[serde(flatten)]
    setting: Setting,
    wall_s: f64,
    mutants: Vec<Row>,
}

/// What is known so far.
#[derive(Debug)]
pub struct Results {
    setting: Setting,
    /// Seconds of the runs before this one.
    wall_s: f64,
    pub complete: bool,
    pub rows: Vec<Row>,
    pub errors: Vec<String>,
}

impl Results {
    /// Nothing yet.
    pub fn none(setting: Setting) -> Self {
        Self { setting, wall_s: 0.0, complete: false, rows: Vec::new(), errors: Vec::new() }
    }

    /// What `path` holds, which is nothing when there is no such file.
    ///
    /// # Errors
    /// If the file is none of this verb's, or another choice than `setting` says.
    pub fn open(path: &Path, setting: Setting, any_revision: bool) -> Result<Self, Failure> {
        let name = path.display();
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::none(setting)),
            Err(error) => return Err(Failure::new(format!("cannot read {name}: {error}"))),
        };
        let saved: Saved = serde_json::from_str(&text).map_err(|error| {
            Failure::new(format!("{name} exists and tells of no mutants ({error}); name another file"))
        })?;
        if (Setting { revision: setting.revision.clone(), ..saved.setting.clone() }) != setting {
            return Err(Failure::new(format!(
                "{name} is of other mutants ({}): name another file, or ask for the same",
                serde_json::to_string(&saved.setting)?
            )));
        }
        if saved.setting.revision != setting.revision && !any_revision {
            return Err(Failure::new(format!(
                "{name} is of {}, this is {}: name another file, or go on all the same with --any-revision",
                saved.setting.revision, setting.revision
            )));
        }
        Ok(Self { wall_s: saved.wall_s, rows: saved.mutants, ..Self::none(saved.setting) })
    }

    /// The report, `wall_s` seconds after the run began.
    pub fn report(&self, wall_s: f64) -> Report {
        let mut rows = self.rows.clone();
        rows.sort_by(|a, b| (&a.block, &a.design, a.line).cmp(&(&b.block, &b.design, b.line)));
        let names: BTreeSet<(&str, &str)> = rows.iter().map(|row| (&*row.block, &*row.testbench)).collect();
        let blocks: Vec<BlockRow> = names
            .into_iter()
            .map(|(block, testbench)| {
                let of = |row: &&Row| row.block == block && row.testbench == testbench;
                let count = |fate| rows.iter().filter(of).filter(|row| row.fate == fate).count();
                let (killed, hung, survived) =
                    (count(Fate::Killed), count(Fate::Hung), count(Fate::Survived));
                let mutants = killed + hung + survived;
                let (block, testbench) = (block.to_owned(), testbench.to_owned());
                BlockRow { block, testbench, mutants, killed, hung, survived }
            })
            .collect();
        let survived = rows.iter().filter(|row| row.fate == Fate::Survived).count();
        Report {
            setting: self.setting.clone(),
            complete: self.complete,
            wall_s: self.wall_s + wall_s,
            killed_percent: 100.0 * (rows.len() - survived) as f64 / rows.len().max(1) as f64,
            blocks,
            mutants: rows,
            errors: self.errors.clone(),
        }
    }
}

impl Report {
    pub fn print(&self) {
        println!(
            "{:<18} {:<18} {:>7} {:>7} {:>6} {:>8}",
            "block", "testbench", "mutants", "killed", "hung", "survived"
        );
        for row in &self.blocks {
            println!(
                "{:<18} {:<18} {:>7} {:>7} {:>6} {:>8}",
                row.block, row.testbench, row.mutants, row.killed, row.hung, row.survived
            );
        }
        for row in self.mutants.iter().filter(|row| row.fate == Fate::Survived) {
            let testbench = &row.testbench;
            println!(
                "\nsurvived: {} ({}) at {}:{}",
                row.mutant,
                row.operator,
                row.design.display(),
                row.line
            );
            println!("  - {}\n  + {}", row.before, row.after);
            println!(
                "  again: {}={} cargo test -p tessera-testbenches --test {testbench}",
                mutate::MUTANT,
                row.mutant
            );
        }
        for error in &self.errors {
            println!("\nERROR {error}");
        }
        println!(
            "\n{} mutants, {:.1}% killed, seed {}, {:.0} s",
            self.mutants.len(),
            self.killed_percent,
            self.setting.seed,
            self.wall_s
        );
    }
}

#[cfg(test)]
impl Row {
    pub fn example(testbench: &str, block: &str, fate: Fate) -> Self {
        Self {
            block: block.into(),
            testbench: testbench.into(),
            mutant: String::new(),
            operator: "sum".into(),
            module: String::new(),
            design: PathBuf::new(),
            line: 1,
            before: String::new(),
            after: String::new(),
            fate,
            test: None,
            wall_s: 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting() -> Setting {
        Setting {
            revision: "here".into(),
            seed: 1,
            mutants_per_block: None,
            mutants_in_all: Some(4),
            only: Vec::new(),
            except: vec!["nic512".into()],
        }
    }

    fn row(mutant: &str, fate: Fate) -> Row {
        Row { mutant: mutant.into(), ..Row::example("fifo", "fifo", fate) }
    }

    #[test]
    fn hung_mutants_count_as_noticed() {
        let mut results = Results::none(setting());
        results.rows =
            [Fate::Killed, Fate::Hung, Fate::Survived, Fate::Survived].map(|fate| row("", fate)).into();
        let report = results.report(0.0);
        assert_eq!(report.killed_percent, 50.0);
        assert_eq!((report.blocks[0].mutants, report.blocks[0].survived), (4, 2));
    }

    #[test]
    fn a_file_is_gone_on_with_when_it_is_of_the_same_choice() {
        let path = std::env::temp_dir().join(format!("tessera-mutants-{}.json", std::process::id()));
        let mut results = Results::open(&path, setting(), false).unwrap();
        assert!(results.rows.is_empty(), "there is no file yet");
        results.rows = vec![row("fifo:1", Fate::Killed), row("fifo:2", Fate::Survived)];
        crate::output::write_json(&path, &results.report(3.0)).unwrap();
        let again = Results::open(&path, setting(), false).unwrap();
        let fates: Vec<_> = again.rows.iter().map(|row| (&*row.mutant, row.fate)).collect();
        assert_eq!(fates, [("fifo:1", Fate::Killed), ("fifo:2", Fate::Survived)]);
        assert_eq!(again.report(1.0).wall_s, 4.0);
        let refused = |setting, any| Results::open(&path, setting, any).unwrap_err().to_string();
        assert!(refused(Setting { seed: 2, ..setting() }, true).contains("other mutants"));
        assert!(refused(Setting { except: Vec::new(), ..setting() }, true).contains("other mutants"));
        let later = Setting { revision: "later".into(), ..setting() };
        assert!(refused(later.clone(), false).contains("--any-revision"));
        assert_eq!(Results::open(&path, later, true).unwrap().rows.len(), 2);
        std::fs::write(&path, "{}").unwrap();
        assert!(refused(setting(), false).contains("name another file"));
        std::fs::remove_file(&path).unwrap();
    }
}
