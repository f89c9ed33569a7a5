//! Breaks a design on purpose, to see whether its testbench notices.
//!
//! ```text
//!   Verilog ── sites ──> every small mistake ── choose ──> a few per block
//!                                                             │ all at once, asleep
//!                                                             v
//!   test program ── Model::build ── apply ──> one model ── number ──> one wakes up
//! ```
//!
//! All mutants of a run are compiled into one model, each behind
//! `(selected == number) ? wrong : right`, and the environment of the test
//! program says which one acts. So a mutant costs a run of its testbench up to
//! the first failure, and no compiling. Number 0 is the design as it is: it has
//! to pass first.
//!
//! The test program knows nothing of it. [`crate::verilator::Model::build`] asks
//! [`from_environment`] once:
//!
//! | variable | meaning |
//! |---|---|
//! | `TESSERA_MUTANT=block:id` | this mutant acts; a name that does not exist is an error |
//! | `TESSERA_MUTANTS=FOLDER` | the folder of a run: its file `mutants` names what is compiled in, models are kept in it and not in the cache. Without that file designs are written there and not built |
//!
//! `cargo tessera mutate` is the tool around it. Verified by the unit tests
//! here and by `testbenches/tests/mutants.rs`.

mod judges;
mod run;
mod sites;

pub use judges::{judges_of, Judge, JUDGES};
pub use run::{Bench, Fate, Ready};
pub use sites::{block_of, modules, sites, Operator, Site};

use crate::tools::{cache_dir, io_error};
use crate::verilator::{Design, ModelError};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Names the mutant that acts.
pub const MUTANT: &str = "TESSERA_MUTANT";
/// Names the folder of a run.
pub const MUTANTS: &str = "TESSERA_MUTANTS";
/// The file of a run's folder with the mutants to compile in, one name a line.
pub const LIST: &str = "mutants";

/// The C++ beside a mutated design.
pub(crate) const CPP: &str = include_str!("mutant.cpp");

/// What the environment asks for.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Where designs and models go.
    folder: PathBuf,
    /// Names of what to compile in; `None` only writes the designs down.
    list: Option<Vec<String>>,
    /// Which of them acts; 0 is none.
    number: usize,
}

/// A design with mutants in it.
pub(crate) struct Mutated {
    pub design: Design,
    /// Where its model is kept.
    pub folder: PathBuf,
    /// What to give to `tessera_mutant_select`.
    pub number: usize,
}

/// The plan of this process, read once; `None` for ordinary runs.
///
/// # Panics
/// If the variables contradict each other: a run with another mutant than the
/// one asked for would look like a survivor.
pub fn from_environment() -> Option<&'static Plan> {
    static PLAN: OnceLock<Option<Plan>> = OnceLock::new();
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let read = || {
        let mutant = variable(MUTANT).map(|name| name.to_string_lossy().into_owned());
        let folder = variable(MUTANTS).map(PathBuf::from);
        Plan::read(mutant, folder).unwrap_or_else(|error| {
            // Past the capture of test output: whoever runs the program reads it.
            let _ = writeln!(std::io::stderr(), "{error}");
            panic!("{error}")
        })
    };
    PLAN.get_or_init(read).as_ref()
}

impl Plan {
    fn read(mutant: Option<String>, folder: Option<PathBuf>) -> Result<Option<Plan>, String> {
        let list = match &folder {
            Some(folder) => std::fs::read_to_string(folder.join(LIST))
                .ok()
                .map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>()),
            None => mutant.clone().map(|mutant| vec![mutant]),
        };
        if mutant.is_none() && folder.is_none() {
            return Ok(None);
        }
        let number = match &mutant {
            None => 0,
            Some(name) => {
                let block = name.split(':').next().unwrap_or_default();
                if judges_of(block).next().is_none() {
                    return Err(format!(
                        "{MUTANT}={name}: there is no block {block}\n  remedy: name one of sim/src/mutate/judges.rs"
                    ));
                }
                let at = list.iter().flatten().position(|known| known == name);
                at.ok_or_else(|| format!("{MUTANT}={name} is not in the list of {MUTANTS}"))? + 1
            }
        };
        let folder = folder.unwrap_or_else(|| cache_dir().join("mutants").join("by-hand"));
        Ok(Some(Plan { folder, list, number }))
    }

    /// `design` with the mutants of the plan that it has; `None` when it has
    /// none of their blocks.
    pub(crate) fn apply(&self, design: &Design) -> Result<Option<Mutated>, ModelError> {
        let refuse = |detail: String| ModelError::Mutant { top: design.top.clone(), detail };
        std::fs::create_dir_all(&self.folder).map_err(io_error("create", &self.folder))?;
        let Some(list) = &self.list else {
            let file = self.folder.join(format!("{}-{}.v", design.top, short_hash(&design.verilog)));
            std::fs::write(&file, &design.verilog).map_err(io_error("write", &file))?;
            return Err(refuse("only the design was wanted, not its model".into()));
        };
        let blocks: BTreeSet<String> =
            list.iter().filter_map(|name| Some(name.split_once(':')?.0.to_owned())).collect();
        if !modules(&design.verilog).any(|module| blocks.contains(&block_of(module))) {
            return Ok(None);
        }
        let found = sites(&design.verilog, &blocks);
        let number_of: BTreeMap<&str, usize> = list.iter().map(String::as_str).zip(1..).collect();
        let chosen: Vec<(usize, &Site)> =
            found.iter().filter_map(|site| Some((*number_of.get(&*site.name())?, site))).collect();
        if let ([wanted], true) = (&list[..], chosen.is_empty()) {
            return Err(refuse(format!(
                "{MUTANT}: there is no mutant {wanted} in it\n  remedy: `cargo tessera mutate --block {}` names some",
                blocks.first().map_or("NAME", String::as_str)
            )));
        }
        let design = Design { verilog: sites::instrument(&design.verilog, &chosen), ..design.clone() };
        Ok(Some(Mutated { design, folder: self.folder.clone(), number: self.number }))
    }
}

fn short_hash(text: &str) -> String {
    Sha256::digest(text).iter().take(4).map(|byte| format!("{byte:02x}")).collect()
}

/// A mutant to run, and the design its line numbers are of.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// The mistake.
    pub site: Site,
    /// File of the design.
    pub design: PathBuf,
}

/// How many mutants of a block to draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// This many, and up to four times as many if it has many statements.
    BySize(usize),
    /// This many, however large it is.
    Exactly(usize),
}

impl Count {
    fn of(self, mistakes: usize) -> usize {
        match self {
            Count::BySize(count) => count * (1 + mistakes / 250).min(4),
            Count::Exactly(count) => count,
        }
    }
}

/// A number that only depends on `seed` and `text`.
fn draw(seed: u64, text: &str) -> u64 {
    let digest = Sha256::digest(format!("{seed} {text}"));
    digest.iter().take(8).fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

/// Shares of `total` mutants for `blocks`, in their order: as even as can be,
/// and which get one more than others is drawn. So with fewer mutants than
/// blocks no block has two, and with more none is without.
pub fn shares(blocks: &[&str], total: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..blocks.len()).collect();
    order.sort_by_key(|at| draw(seed, blocks[*at]));
    let mut shares = vec![0; blocks.len()];
    for (turn, at) in order.iter().enumerate() {
        shares[*at] = (total + blocks.len() - 1 - turn) / blocks.len();
    }
    shares
}

/// Draws mutants of `block` from the designs in `folder`: as many kinds of
/// mistake as possible, one per line; those that every design with the block
/// has come first. The same for the same seed.
///
/// # Errors
/// When the folder cannot be read.
pub fn choose(folder: &Path, block: &str, count: Count, seed: u64) -> std::io::Result<Vec<Chosen>> {
    let mut designs = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == "v") {
            designs.push((std::fs::read_to_string(&path)?, path));
        }
    }
    designs.sort_by(|a, b| a.1.cmp(&b.1));
    let blocks = BTreeSet::from([block.to_owned()]);
    let mut found: Vec<Vec<Site>> = designs.iter().map(|(text, _)| sites(text, &blocks)).collect();
    let mut paths: Vec<&PathBuf> = designs.iter().map(|(_, path)| path).collect();
    let mut at = 0;
    found.retain(|sites| {
        if sites.is_empty() {
            paths.remove(at);
        } else {
            at += 1;
        }
        !sites.is_empty()
    });
    // Per mistake: in how many designs it is, and where to read it.
    let mut known: BTreeMap<&str, (usize, &Site, &PathBuf)> = BTreeMap::new();
    for (sites, path) in found.iter().zip(&paths) {
        let ids: BTreeMap<&str, &Site> = sites.iter().map(|site| (&*site.id, site)).collect();
        for (id, site) in ids {
            known.entry(id).or_insert((0, site, path)).0 += 1;
        }
    }
    let mut kinds: BTreeMap<Operator, Vec<(usize, u64, &Site, &PathBuf)>> = BTreeMap::new();
    for (id, (designs, site, path)) in &known {
        kinds.entry(site.operator).or_default().push((found.len() - designs, draw(seed, id), site, path));
    }
    let mut kinds: Vec<(u64, Vec<_>)> = kinds
        .into_iter()
        .map(|(operator, mut sites)| {
            // The first is taken from the end.
            sites.sort_by_key(|(missing, drawn, ..)| std::cmp::Reverse((*missing, *drawn)));
            (draw(seed, &format!("{block} {operator}")), sites)
        })
        .collect();
    kinds.sort_by_key(|(drawn, _)| *drawn);
    let wanted = count.of(known.len());
    let mut taken: BTreeSet<(usize, usize)> = BTreeSet::new();
    let mut chosen = Vec::new();
    while chosen.len() < wanted && kinds.iter().any(|(_, sites)| !sites.is_empty()) {
        for (_, sites) in &mut kinds {
            let free = |taken: &BTreeSet<(usize, usize)>, id: &str| {
                let mut lines = lines_of(&found, id);
                lines.all(|line| !taken.contains(&line))
            };
            while let Some((_, _, site, path)) = sites.pop() {
                if chosen.len() < wanted && free(&taken, &site.id) {
                    taken.extend(lines_of(&found, &site.id));
                    chosen.push(Chosen { site: site.clone(), design: path.to_path_buf() });
                    break;
                }
            }
        }
    }
    Ok(chosen)
}

/// The lines, as (design, line), that have a mistake of this name.
fn lines_of<'a>(found: &'a [Vec<Site>], id: &'a str) -> impl Iterator<Item = (usize, usize)> + 'a {
    found.iter().enumerate().flat_map(move |(design, sites)| {
        sites.iter().filter(move |site| site.id == id).map(move |site| (design, site.line))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_exist_is_refused() {
        let read = |mutant: &str| Plan::read(Some(mutant.into()), None);
        assert!(read("fido:00000000").unwrap_err().contains("no block fido"));
        let plan = read("fifo:00000000").unwrap().expect("a plan");
        let verilog = "module fifo (\n  input  wire a\n);\n  assign b = a;\nendmodule\n";
        let design = Design::new("fifo", verilog, Vec::new());
        let error = plan.apply(&design).err().expect("there is no such mutant").to_string();
        assert!(error.contains("no mutant fifo:00000000"), "{error}");
        let other = Design::new("other", verilog.replace("fifo", "other"), Vec::new());
        assert!(plan.apply(&other).unwrap().is_none(), "designs without the block stay as they are");
        assert!(Plan::read(None, None).unwrap().is_none());
    }

    #[test]
    fn judges_name_blocks() {
        for judge in JUDGES {
            let mut blocks = judge.blocks.to_vec();
            blocks.sort_unstable();
            blocks.dedup();
            assert_eq!(blocks.len(), judge.blocks.len(), "{}", judge.test);
            assert!(blocks
                .iter()
                .all(|block| block_of(block) == *block || ["nic512", "tessera_nic"].contains(block)));
        }
        assert_eq!((judges_of("intake").count(), judges_of("request_intake").count()), (1, 1));
    }

    #[test]
    fn a_total_is_spread_evenly() {
        let blocks = ["a", "b", "c", "d", "e"];
        for total in 0..17 {
            for seed in 1..20 {
                let shares = shares(&blocks, total, seed);
                assert_eq!(shares.iter().sum::<usize>(), total);
                assert!(
                    shares.iter().all(|share| [total / 5, total.div_ceil(5)].contains(share)),
                    "{shares:?}"
                );
            }
        }
        let first = |seed| shares(&blocks, 1, seed).iter().position(|share| *share == 1);
        assert_eq!(first(3), first(3));
        assert_eq!((1..40).map(first).collect::<BTreeSet<_>>().len(), 5, "any block may be the one");
        assert!(shares(&[], 4, 1).is_empty());
    }

    #[test]
    fn large_blocks_may_get_more() {
        assert_eq!([0, 249, 250, 5000].map(|size| Count::BySize(3).of(size)), [3, 3, 6, 12]);
        assert_eq!(Count::Exactly(3).of(5000), 3);
    }

    #[test]
    fn the_same_seed_draws_the_same() {
        let folder = std::env::temp_dir().join(format!("tessera-mutate-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let lines: String = (0..40).map(|n| format!("  assign s{n} = a{n} + b{n};\n")).collect();
        std::fs::write(
            folder.join("box.v"),
            format!("module box (\n  input  wire a\n);\n{lines}endmodule\n"),
        )
        .unwrap();
        let names = |seed| -> Vec<String> {
            choose(&folder, "box", Count::Exactly(5), seed)
                .unwrap()
                .iter()
                .map(|chosen| chosen.site.name())
                .collect()
        };
        assert_eq!(names(1), names(1));
        assert_ne!(names(1), names(2));
        assert_eq!(names(1).len(), 5);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
