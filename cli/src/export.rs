//! `tessera export`: a configuration as one Verilog file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use tessera_abi::params::{Config, CONFIGS};
use tessera_rtl::memories::{memories, Memory};

use crate::export_template;
use crate::model::{self, Shell};
use crate::output::{self, Failure};

/// Export a configuration as Verilog.
#[derive(Args, Debug)]
pub struct ExportArgs {
    /// Configuration of the NIC; NAME_no_PART leaves a part out, NAME_plain all parts
    /// [default: nic512]
    #[arg(long, value_name = "NAME")]
    config: Option<String>,
    /// What host memory is behind
    #[arg(long, value_enum, default_value_t, conflicts_with = "sizes")]
    shell: Shell,
    /// The file to write [default: target/verilog/NAME.v, of AXI NAME_axi.v,
    /// of Corundum NAME_corundum/tessera_corundum.v]
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write the port list and the memories as JSON; with --sizes the memories of
    /// each configuration
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write beside it an instance to copy (TOP_instance.v) and a FuseSoC core (TOP.core), TOP being the
    /// top module: tessera_NAME, of AXI tessera_NAME_axi, of Corundum tessera_corundum
    #[arg(long, conflicts_with = "sizes")]
    project: bool,
    /// Use no more than N UltraRAMs, for a device with few or none: memories that are left over lie in block
    /// RAM, those first that fill UltraRAM least [default: as many as are wanted]
    #[arg(long, value_name = "N", conflicts_with = "sizes")]
    ultra_ram: Option<usize>,
    /// Print how much memory each block declares; without --config, of every
    /// configuration
    #[arg(long, conflicts_with = "out")]
    sizes: bool,
}

#[derive(Serialize)]
struct PortRow {
    name: String,
    direction: &'static str,
    width: usize,
    doc: Option<String>,
}

#[derive(Serialize)]
struct Exported {
    top: String,
    file: PathBuf,
    lines: usize,
    modules: usize,
    ports: Vec<PortRow>,
    memories: Vec<MemoryRow>,
}

/// What `--sizes` writes of a configuration.
#[derive(Serialize)]
struct Sizes {
    configuration: &'static str,
    memories: Vec<MemoryRow>,
}

#[derive(Serialize)]
struct MemoryRow {
    path: String,
    style: String,
    width: usize,
    depth: usize,
    bits: usize,
    block_rams: usize,
}

/// Kinds of memory, in columns.
const STYLES: [&str; 3] = ["block", "ultra", "distributed"];

fn kbit(bits: usize) -> f64 {
    bits as f64 / 1024.0
}

fn print_sums(name: &str, found: &[&Memory]) {
    let bits = |style: &str| found.iter().filter(|m| m.style == style).map(|m| m.bits()).sum::<usize>();
    let [block, ultra, lut] = STYLES.map(bits).map(kbit);
    let blocks: usize = found.iter().map(|memory| memory.block_rams()).sum();
    println!("  {name:<18} {block:>10.1} {ultra:>10.1} {lut:>10.1} {blocks:>8}");
}

/// The block that holds a memory: the first instance on its way that is no more than wiring.
fn block(path: &str) -> &str {
    path.split('.').find(|name| !["nic", "core", "path"].contains(name)).unwrap_or_default()
}

/// Prints the memory of one configuration, by block of core and path.
fn sizes(config: &'static Config) -> Result<Sizes, Failure> {
    let export = model::export(config)?;
    let found = memories(&export.verilog, &export.top);
    let mut blocks: BTreeMap<&str, Vec<&Memory>> = BTreeMap::new();
    for memory in &found {
        blocks.entry(block(&memory.path)).or_default().push(memory);
    }
    println!("{}", config.name);
    println!("  {:<18} {:>10} {:>10} {:>10} {:>8}", "kbit of", "block", "ultra", "LUT", "RAMs");
    for (name, found) in &blocks {
        print_sums(name, found);
    }
    print_sums("all", &found.iter().collect::<Vec<_>>());
    Ok(Sizes { configuration: config.name, memories: rows(&found) })
}

fn rows(found: &[Memory]) -> Vec<MemoryRow> {
    let row = |memory: &Memory| MemoryRow {
        path: memory.path.clone(),
        style: memory.style.clone(),
        width: memory.width,
        depth: memory.depth,
        bits: memory.bits(),
        block_rams: memory.block_rams(),
    };
    found.iter().map(row).collect()
}

/// That all can be written, and no two are one.
fn check_files(files: &[(&str, Option<&PathBuf>)]) -> Result<(), Failure> {
    let mut seen: Vec<(&str, PathBuf)> = Vec::new();
    for (what, path) in files.iter().filter_map(|(what, path)| path.map(|path| (*what, path))) {
        output::check_writable(path)?;
        if path.to_str().is_none() {
            return Err(Failure::new(format!("{}: name a file in UTF-8", path.display())));
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new(".")).canonicalize();
        let whole = folder.unwrap_or_default().join(path.file_name().unwrap_or_default());
        if let Some((other, _)) = seen.iter().find(|(_, there)| *there == whole) {
            let path = path.display();
            return Err(Failure::new(format!("{path} would be both {other} and {what}; name another file")));
        }
        seen.push((what, whole));
    }
    Ok(())
}

pub fn run(args: &ExportArgs) -> Result<(), Failure> {
    if let Some(path) = &args.json {
        output::check_writable(path)?;
    }
    if args.sizes {
        let configs: Vec<&'static Config> = match &args.config {
            Some(name) => vec![model::config(name)?],
            None => CONFIGS.iter().collect(),
        };
        println!("Memory declared by the exported Verilog; RAMs: 18-kbit block RAMs of an ECP5-class FPGA.");
        let found = configs.into_iter().map(sizes).collect::<Result<Vec<_>, _>>()?;
        return args.json.as_ref().map_or(Ok(()), |path| output::write_json(path, &found));
    }
    let config = model::config(args.config.as_deref().unwrap_or("nic512"))?;
    let file = args.out.clone().unwrap_or_else(|| {
        let name = match args.shell {
            Shell::Thin => format!("{}.v", config.name),
            Shell::Axi => format!("{}_axi.v", config.name),
            Shell::Corundum => format!("{}_corundum/tessera_corundum.v", config.name),
        };
        tessera_sim::tools::cache_dir().join("verilog").join(name)
    });
    if args.out.is_none() {
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder)
                .map_err(|error| Failure::new(format!("cannot create {}: {error}", folder.display())))?;
        }
    }
    let top = match args.shell {
        Shell::Thin => format!("tessera_{}", config.name),
        Shell::Axi => format!("tessera_{}_axi", config.name),
        Shell::Corundum => "tessera_corundum".to_owned(),
    };
    let block = (args.shell == Shell::Corundum).then(|| file.with_file_name("mqnic_app_block.v"));
    let instance = args.project.then(|| file.with_file_name(format!("{top}_instance.v")));
    let core = args.project.then(|| file.with_file_name(format!("{top}.core")));
    check_files(&[
        ("the Verilog", Some(&file)),
        ("Corundum's block", block.as_ref()),
        ("the instance", instance.as_ref()),
        ("the FuseSoC core", core.as_ref()),
        ("the JSON", args.json.as_ref()),
    ])?;
    let export = model::within(model::export_release(config, args.shell)?, args.ultra_ram);
    assert_eq!(export.top, top, "files are named after it");
    output::write(&file, &export.verilog)?;
    if let Some(block) = &block {
        output::write(block, tessera_rtl::export::MQNIC_APP_BLOCK)?;
        println!("{}: the block that Corundum instantiates", block.display());
    }
    if let (Some(instance), Some(core)) = (instance, core) {
        output::write(&instance, export_template::instance(&export, args.shell))?;
        println!("{}: an instance to copy", instance.display());
        let name = match args.shell {
            Shell::Thin => config.name.to_owned(),
            Shell::Axi => format!("{}_axi", config.name),
            Shell::Corundum => format!("{}_corundum", config.name),
        };
        let files: Vec<_> = std::iter::once(file.as_path()).chain(block.as_deref()).collect();
        // Corundum's block is around what is exported.
        let outermost = if block.is_some() { "mqnic_app_block" } else { &export.top };
        output::write(&core, export_template::core(&name, outermost, &files))?;
        println!("{}: a FuseSoC core", core.display());
    }
    let modules = export.verilog.lines().filter(|line| line.starts_with("module ")).count();
    let lines = export.verilog.lines().count();
    println!("{}: {lines} lines, {modules} modules, top {}", file.display(), export.top);
    if let Some(path) = &args.json {
        let ports = export.ports.iter().map(|port| PortRow {
            name: port.name.clone(),
            direction: if port.direction == tessera_rtl::emit::Direction::In { "input" } else { "output" },
            width: port.width,
            doc: port.doc.clone(),
        });
        output::write_json(
            path,
            &Exported {
                top: export.top.clone(),
                file,
                lines,
                modules,
                ports: ports.collect(),
                memories: rows(&memories(&export.verilog, &export.top)),
            },
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a project is given for Corundum: what lints is the block that Corundum instantiates, and it is clean.
    #[test]
    fn a_core_for_corundum_lints_its_block() {
        let folder = tempfile::tempdir().unwrap();
        let args = ExportArgs {
            config: Some("tiny".into()),
            shell: Shell::Corundum,
            out: Some(folder.path().join("tessera_corundum.v")),
            json: None,
            project: true,
            ultra_ram: None,
            sizes: false,
        };
        run(&args).unwrap_or_else(|failure| panic!("{failure}"));
        let core = std::fs::read_to_string(folder.path().join("tessera_corundum.core")).unwrap();
        let (_, rest) = core.split_once("toplevel: ").unwrap();
        let top = rest.lines().next().unwrap();
        assert_eq!(top, "mqnic_app_block");
        let files: Vec<_> = core.lines().filter_map(|line| line.trim().strip_prefix("- '")).collect();
        assert_eq!(files, ["tessera_corundum.v'", "mqnic_app_block.v'"]);
        let options = tessera_sim::tools::ToolOptions::default();
        let mut lint = tessera_sim::tools::pinned_verilator(&options).unwrap().command();
        lint.args(["--lint-only", "-Wall", "-Wno-DECLFILENAME", "--top-module", top]);
        lint.args(files.iter().map(|file| file.trim_end_matches('\'')));
        let output = lint.current_dir(folder.path()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// A device with less UltraRAM, or none, is given the same Verilog in other memories.
    #[test]
    fn an_export_keeps_within_a_devices_ultra_ram() {
        let folder = tempfile::tempdir().unwrap();
        let exported = |limit: Option<usize>| {
            let file = folder.path().join(format!("{limit:?}.v"));
            let args = ExportArgs {
                config: Some("tiny".into()),
                shell: Shell::Corundum,
                out: Some(file.clone()),
                json: None,
                project: false,
                ultra_ram: limit,
                sizes: false,
            };
            run(&args).unwrap_or_else(|failure| panic!("{failure}"));
            std::fs::read_to_string(file).unwrap()
        };
        let used =
            |text: &str| -> usize { memories(text, "tessera_corundum").iter().map(Memory::ultra_rams).sum() };
        let whole = exported(None);
        assert_eq!(used(&whole), 64, "the adapters' eight memories");
        for (limit, left) in [(64, 64), (63, 32), (32, 32), (31, 0), (0, 0)] {
            let text = exported(Some(limit));
            assert_eq!(used(&text), left, "{limit}");
            assert_eq!(
                text.replace("\"ultra\"", "\"block\""),
                whole.replace("\"ultra\"", "\"block\""),
                "{limit}"
            );
        }
    }

    #[test]
    fn no_file_is_written_over_another() {
        let folder = std::env::temp_dir().join(format!("tessera-export-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("taken")).unwrap();
        let [nic, same, taken] = [folder.join("nic.v"), folder.join("taken/../nic.v"), folder.join("taken")];
        let said = |other: &PathBuf| {
            let files = [("the Verilog", Some(&nic)), ("nothing", None), ("the instance", Some(other))];
            check_files(&files).map_err(|failure| failure.to_string())
        };
        assert_eq!(said(&folder.join("nic_instance.v")), Ok(()));
        let refused = said(&same).unwrap_err();
        assert!(refused.contains("both the Verilog and the instance; name another file"), "{refused}");
        assert!(said(&taken).unwrap_err().contains("is not a file"));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
