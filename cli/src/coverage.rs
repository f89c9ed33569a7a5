//! `tessera test --coverage`: what each block's testbench reaches of it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde::Serialize;
use tessera_sim::coverage::{Coverage, ModuleCoverage, Reached, FOLDER_VARIABLE};
use tessera_sim::progress::Progress;
use tessera_sim::tools::cache_dir;

use crate::output::{self, Failure};
use crate::programs::{self, Program};

#[derive(Serialize)]
struct Outcome {
    ok: bool,
    testbenches: Vec<String>,
    failed: Vec<String>,
    modules: Vec<ModuleCoverage>,
}

/// The testbenches but those of whole NICs by name, which are slow with counting and
/// show nothing about a block's own test, those of the exporter and of mutants,
/// whose modules are no blocks, and the one that has other people's simulations.
fn testbenches() -> Result<Vec<Program>, Failure> {
    let mut found = programs::build(&["--package", "tessera-testbenches", "--tests"])?;
    found.retain(|Program { name, integration, .. }| {
        *integration
            && !name.starts_with("nic")
            && !["bus_models", "emit", "mutants"].contains(&name.as_str())
    });
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// Adds the counts that a testbench left in `folder`, and removes them.
fn gather(folder: &Path, cache: &Path, coverage: &mut Coverage) -> Result<(), Failure> {
    let mut sources: BTreeMap<String, String> = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some(key) = name.split('-').next().filter(|_| name.ends_with(".dat")) else { continue };
        let source = match sources.get(key) {
            Some(source) => source,
            None => sources.entry(key.to_owned()).or_insert(verilog_of(&cache.join("verilated").join(key))?),
        };
        coverage.add(&fs::read_to_string(&path)?, source)?;
        fs::remove_file(&path)?;
    }
    Ok(())
}

/// The Verilog kept beside a model.
fn verilog_of(folder: &Path) -> Result<String, Failure> {
    let unreadable =
        |error| Failure::new(format!("cannot read the model's folder {}: {error}", folder.display()));
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "v") {
            return Ok(fs::read_to_string(path)?);
        }
    }
    Err(Failure::new(format!(
        "{}: the model has no Verilog; remove the folder and run again",
        folder.display()
    )))
}

fn print(modules: &[ModuleCoverage]) {
    let percent = |reached: Reached| match reached.of {
        0 => "-".to_owned(),
        _ => format!("{:.1} %", reached.percent()),
    };
    println!("{:<24} {:>9} {:>9} {:>9}   not reached", "module", "lines", "branches", "toggles");
    for module in modules {
        println!(
            "{:<24} {:>9} {:>9} {:>9}   {}",
            module.module,
            percent(module.lines),
            percent(module.branches),
            percent(module.toggles),
            module.missed.len(),
        );
    }
}

/// Runs the block testbenches, counting.
pub fn run(filter: Option<&str>, json: Option<&Path>) -> Result<(), Failure> {
    let cache = cache_dir();
    let folder = cache.join("coverage");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let chosen: Vec<Program> = testbenches()?
        .into_iter()
        .filter(|bench| filter.is_none_or(|part| bench.name.contains(part)))
        .collect();
    if chosen.is_empty() {
        return Err(Failure::new(format!(
            "no block testbench's name contains `{}`: see testbenches/tests",
            filter.unwrap_or_default()
        )));
    }
    let mut coverage = Coverage::new();
    let mut failed = Vec::new();
    for (at, bench) in chosen.iter().enumerate() {
        let progress = Progress::start(format!("testbench {} of {}: {}", at + 1, chosen.len(), bench.name));
        let status = Command::new(&bench.path)
            .current_dir(&bench.folder)
            .env(FOLDER_VARIABLE, &folder)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()?;
        if !status.success() {
            failed.push(bench.name.clone());
        }
        gather(&folder, &cache, &mut coverage)?;
        drop(progress);
    }
    fs::remove_dir_all(&folder)?;
    let modules = coverage.modules();
    print(&modules);
    for name in &failed {
        println!("failed: {name} (cargo test -p tessera-testbenches --test {name})");
    }
    if let Some(path) = json {
        let testbenches = chosen.into_iter().map(|bench| bench.name).collect();
        let outcome = Outcome { ok: failed.is_empty(), testbenches, failed: failed.clone(), modules };
        output::write_json(path, &outcome)?;
    }
    match failed.len() {
        0 => Ok(()),
        count => Err(Failure::new(format!("{count} testbenches failed"))),
    }
}
