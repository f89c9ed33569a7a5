//! What other tools say about the whole exported NIC: `nic512`, or what
//! `TESSERA_CONFIG` names.
//!
//! `cargo test -p tessera-testbenches --test tools`. What is decided where is
//! in docs/verification.md.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use tessera_abi::params::CORE_BITS;
use tessera_rtl::emit::Export;
use tessera_sim::mutate;
use tessera_sim::tools::{self, ToolError, ToolOptions};
use tessera_testbenches::config;

fn export() -> &'static Export {
    static EXPORT: OnceLock<Export> = OnceLock::new();
    EXPORT.get_or_init(|| tessera_sim::exported::nic(config()).unwrap_or_else(|error| panic!("{error}")))
}

/// An empty folder for one test, with the NIC in it as `nic.v`.
fn folder(test: &str) -> PathBuf {
    let folder = tools::cache_dir().join("checks").join(test);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    std::fs::write(folder.join("nic.v"), &export().verilog).expect("the folder was just made");
    folder
}

/// Says that a check did not take place, past the capture of test output;
/// `cargo tessera test` counts these lines.
fn skipped(test: &str, error: &ToolError) {
    let _ = write!(std::io::stdout(), "\nSKIPPED {test}: {error}\n");
}

/// What the blocks around a configuration's core are called: by its streams.
fn kind() -> &'static str {
    match (config().data_bits, config().path_bits()) {
        (CORE_BITS, _) => "",
        (_, CORE_BITS) => "geared_",
        _ => "narrow_",
    }
}

#[test]
fn every_block_has_a_testbench() {
    let mut missing = BTreeMap::new();
    let axi = tessera_sim::exported::axi_nic(config()).unwrap_or_else(|error| panic!("{error}"));
    for module in mutate::modules(&export().verilog).chain(mutate::modules(&axi.verilog)) {
        let block = match module {
            // The block that wires a configuration is the same for all of a kind.
            top if top == axi.top => format!("{}axi_nic", kind()),
            top if top == export().top && kind().is_empty() => "nic512".to_owned(),
            top if top == export().top => format!("{}nic", kind()),
            _ => mutate::block_of(module),
        };
        if mutate::judges_of(&block).next().is_none() {
            missing.insert(block.clone(), module);
        }
        for judge in mutate::judges_of(&block) {
            let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(judge.test);
            assert!(
                source.with_extension("rs").is_file() || source.join("main.rs").is_file(),
                "{} is to judge {block}, but does not exist",
                source.display()
            );
        }
    }
    assert!(
        missing.is_empty(),
        "no testbench answers for these blocks: {missing:?}\n  \
         remedy: write one, and name it in sim/src/mutate/judges.rs"
    );
}

/// What `verilator --lint-only -Wall` says about the whole NIC.
fn lint(mut verilator: Command, test: &str) -> String {
    let output = verilator
        .args(["--lint-only", "-Wall", "--top-module", &export().top, "nic.v"])
        .current_dir(folder(test))
        .output()
        .unwrap_or_else(|error| panic!("{test}: {error}"));
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&said));
    // Newer ones say how long it took.
    let report = |line: &&str| line.starts_with("- V e r i l") || line.starts_with("- Verilator: ");
    let said = String::from_utf8_lossy(&said);
    said.lines().filter(|line| !report(line)).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_pinned_verilator_has_nothing_to_say() {
    // Not the one that TESSERA_VERILATOR may name.
    let verilator = tools::pinned_verilator(&ToolOptions::default()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(lint(verilator.command(), "lint-pinned"), "", "{}", verilator.version());
}

#[test]
fn the_oldest_verilator_has_nothing_to_say() {
    let purpose = "the NIC is linted with the Verilator of Debian 12 as well";
    match tools::system_program("verilator", "verilator", purpose) {
        Ok(program) => assert_eq!(lint(Command::new(program), "lint-system"), ""),
        Err(error) => skipped("the_oldest_verilator_has_nothing_to_say", &error),
    }
}

/// Reads the NIC, checks it, and maps its memories for UltraScale+.
const SCRIPT: &str = "\
read_verilog nic.v
hierarchy -check -top TOP
proc
opt_expr
opt_clean
check -assert
opt_dff
memory -nomap
opt_clean
synth_xilinx -family xcup -top TOP -run map_memory:map_ffram
tee -o block select -list t:RAMB*
tee -o ultra select -list t:URAM*
tee -o distributed select -list t:RAM32* t:RAM64* t:RAM128* t:RAM256*
tee -o left select -list t:$mem*
";

/// A memory of the text: its style, and how many bits it holds.
fn memories(verilog: &str) -> BTreeMap<&str, (&str, usize)> {
    let mut module = "";
    let mut found = BTreeMap::new();
    for line in verilog.lines() {
        if let Some(rest) = line.strip_prefix("module ") {
            module = rest.split_whitespace().next().unwrap_or_default();
        }
        let Some((_, rest)) = line.split_once("(* ram_style = \"") else { continue };
        let (style, rest) = rest.split_once('"').expect("the style is quoted");
        // `*) reg [msb:0] mem [0:last];`
        let numbers: Vec<usize> = rest
            .split(|c: char| !c.is_ascii_digit())
            .filter(|digits| !digits.is_empty())
            .map(|digits| digits.parse().expect("digits"))
            .collect();
        let [msb, 0, 0, last] = numbers[..] else { panic!("{module}: not a memory of ours: {line}") };
        found.insert(module, (style, (msb + 1) * (last + 1)));
    }
    found
}

/// How many cells of a `select -list` file each module has.
fn cells(file: &Path) -> BTreeMap<String, usize> {
    let text = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let mut count = BTreeMap::new();
    for module in text.lines().filter_map(|line| line.split_once('/')).map(|(module, _)| module) {
        *count.entry(module.to_owned()).or_default() += 1;
    }
    count
}

#[test]
fn yosys_maps_every_memory_as_it_is_marked() {
    let yosys = match tools::yosys(&ToolOptions::default()) {
        Ok(yosys) => yosys,
        Err(error) => return skipped("yosys_maps_every_memory_as_it_is_marked", &error),
    };
    let folder = folder("yosys");
    let script = SCRIPT.replace("TOP", &export().top);
    std::fs::write(folder.join("check.ys"), script).expect("the folder was just made");
    let mut command = yosys.command();
    command.args(["-q", "-l", "yosys.log", "check.ys"]).current_dir(&folder);
    let output = command.output().unwrap_or_else(|error| panic!("{error}"));
    let log = std::fs::read_to_string(folder.join("yosys.log")).unwrap_or_default();
    let warnings: Vec<&str> =
        log.lines().filter(|line| line.contains("Warning:") || line.contains("ERROR:")).collect();
    assert!(
        output.status.success() && warnings.is_empty(),
        "{}: {}\n{}\n{}\n  everything is in {}",
        yosys.version(),
        output.status,
        warnings.join("\n"),
        String::from_utf8_lossy(&output.stderr),
        folder.display()
    );
    let memories = memories(&export().verilog);
    let kinds = ["block", "ultra", "distributed"];
    let mapped: BTreeMap<&str, _> = kinds.iter().map(|kind| (*kind, cells(&folder.join(kind)))).collect();
    for (module, (style, bits)) in &memories {
        // What one cell of the kind can hold at most.
        let size = match *style {
            "block" => 36 * 1024,
            "ultra" => 288 * 1024,
            "distributed" => 512,
            other => panic!("{module}: no such style: {other}"),
        };
        let cells = mapped[style].get(*module).copied().unwrap_or_default();
        assert!(
            cells * size >= *bits,
            "{module}: {bits} bits marked {style} became {cells} cells of it; see {}",
            folder.display()
        );
    }
    for (module, _) in cells(&folder.join("left")) {
        assert_eq!(mutate::block_of(&module), "rom", "{module}: its array became registers");
    }
    let cells = |kind| mapped[kind].values().sum::<usize>();
    assert_eq!(mapped.values().map(|modules| modules.len()).sum::<usize>(), memories.len());
    eprintln!("block {}, ultra {}, distributed {}", cells("block"), cells("ultra"), cells("distributed"));
}
