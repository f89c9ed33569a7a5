//! The exported Verilog among bus models that others wrote: cocotbext-axi and cocotbext-eth under
//! cocotb, with the pinned Verilator and, signals having four states, with Icarus Verilog. The benches themselves are `testbenches/cocotb/*.py`.
//!
//! ```text
//!  exported Verilog ─> wrapper, with wires that can be broken ─> simulator ─> cocotb ─> axi_top.py
//!  abi ─────────────> facts.json: offsets, codes ──────────────────────────────────────> corundum_block.py
//! ```
//!
//! `cargo test -p tessera-testbenches --test bus_models`; docs/verification.md has what is checked.

mod facts;
mod faults;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use tessera_abi::params::{Config, TINY};
use tessera_sim::corundum::{design, Board};
use tessera_sim::exported;
use tessera_sim::tools::{self, Cocotb, ToolError, ToolOptions};
use tessera_sim::verilator::{Design, Direction};

use faults::{Fault, AXI_FAULTS, CORUNDUM_FAULTS, CORUNDUM_UNKNOWNS};

/// The smallest NIC, with streams and memory of 64 bits.
static TINY64: Config = Config { name: "tiny64", data_bits: 64, ..TINY };

/// A compiled simulation with its Python.
struct Bench {
    folder: PathBuf,
    cocotb: Cocotb,
    module: &'static str,
    /// The interpreter of Icarus Verilog, in place of a program of Verilator's.
    icarus: Option<PathBuf>,
}

/// Which simulator.
#[derive(Clone, Copy, PartialEq)]
enum By {
    /// Two states.
    Verilator,
    /// Four: what nobody has written is `x`. Corundum's own benches run in it.
    Icarus,
}

/// What became of the tests of a run, name and what failed; and all that was said.
struct Outcome {
    tests: Vec<(String, Option<String>)>,
    said: String,
}

/// The design in a module whose outputs are broken while `fault` says so.
fn wrap(design: &Design, faults: &[Fault]) -> String {
    let mut text = format!("{}\nmodule bench (\n    input wire [7:0] fault", design.verilog);
    let width = |bits: usize| if bits == 1 { String::new() } else { format!("[{}:0] ", bits - 1) };
    for port in &design.ports {
        let way = if port.direction == Direction::In { "input" } else { "output" };
        let _ = write!(text, ",\n    {way} wire {}{}", width(port.width), port.name);
    }
    text += "\n);\n";
    let mut wires = Vec::new();
    for port in &design.ports {
        let mut broken = faults.iter().zip(1..).filter(|(fault, _)| fault.output == port.name).peekable();
        if broken.peek().is_none() {
            wires.push(format!("        .{0}({0})", port.name));
            continue;
        }
        assert_eq!(port.direction, Direction::Out, "{} is no output", port.name);
        let _ = writeln!(text, "    wire {}true_{};", width(port.width), port.name);
        let _ = write!(text, "    assign {} =", port.name);
        for (fault, number) in broken {
            let _ = write!(text, " fault == {number} ? {} :", fault.broken);
        }
        let _ = writeln!(text, " true_{};", port.name);
        wires.push(format!("        .{0}(true_{0})", port.name));
    }
    let _ = write!(text, "    {} dut (\n{}\n    );\nendmodule\n", design.top, wires.join(",\n"));
    text
}

/// Runs a test's benches; or says why not, past the capture of test output: `cargo tessera test` counts
/// these lines.
fn with(test: &str, bench: &Result<Bench, ToolError>, run: impl FnOnce(&Bench)) {
    match bench {
        Ok(bench) => run(bench),
        Err(error) => {
            let _ = write!(std::io::stdout(), "\nSKIPPED {test}: {error}\n");
        }
    }
}

fn finish(command: &mut Command, log: &Path) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = [output.stdout, output.stderr].concat();
    let _ = std::fs::write(log, &said);
    assert!(output.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&said));
}

impl Bench {
    /// Compiled, unless a tool is not to be had.
    fn new(
        name: &str,
        module: &'static str,
        design: &Design,
        faults: &[Fault],
        by: By,
    ) -> Result<Self, ToolError> {
        let options = ToolOptions::default();
        let cocotb = tools::cocotb_models(&options)?;
        let folder = tools::cache_dir().join("cocotb").join(name);
        std::fs::create_dir_all(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        // Verilator builds again what is newer.
        let keep = |file: &str, text: &str| {
            if std::fs::read_to_string(folder.join(file)).ok().as_deref() != Some(text) {
                std::fs::write(folder.join(file), text).expect("the folder was just made");
            }
        };
        keep("bench.v", &wrap(design, faults));
        keep("facts.json", &facts::json(design));
        let file = ("bench", "bench.v");
        if by == By::Icarus {
            let icarus = tools::icarus("a NIC is simulated with it in which signals have four states")?;
            let log = folder.join("compile.log");
            finish(&mut cocotb.elaborate(&icarus, file, &folder), &log);
            let said = std::fs::read_to_string(&log).unwrap_or_default();
            assert!(said.is_empty(), "{name}: {said}");
            return Ok(Self { folder, cocotb, module, icarus: Some(icarus) });
        }
        let verilator = tools::pinned_verilator(&options)?;
        let make = tools::system_program("make", "make", "a simulation under cocotb is built with it")?;
        // Python takes most of the time: a better compiled model is not worth its compilation. In one piece, the
        // model's header is read once.
        let settings = ["OPT_FAST=-O0", "OPT_GLOBAL=-O0", "VM_PARALLEL_BUILDS=0"];
        let commands = cocotb.verilate(&verilator, &make, file, &folder, &settings);
        for (mut command, log) in commands.into_iter().zip(["translate.log", "compile.log"]) {
            finish(&mut command, &folder.join(log));
        }
        Ok(Self { folder, cocotb, module, icarus: None })
    }

    /// Runs the tests whose name is matched, with a broken wire or none (0).
    fn run(&self, tests: &str, fault: usize, limit: usize) -> Outcome {
        let name = format!("{}-{}-{fault}", self.module, tests.replace('|', "-"));
        let results = self.folder.join(format!("{name}.xml"));
        let _ = std::fs::remove_file(&results);
        let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("cocotb");
        let mut simulator = match &self.icarus {
            Some(icarus) => self.cocotb.interpreter(icarus),
            None => {
                let mut simulator = Command::new(self.folder.join("verilator/sim"));
                // As cocotb's own runner has it for Verilator.
                simulator.env("COCOTB_TRUST_INERTIAL_WRITES", "1");
                simulator
            }
        };
        self.cocotb.run(&mut simulator, "bench", self.module, &python);
        let seed = tessera_testbenches::seed(&format!("bus_models::{name}"));
        let output = simulator
            .env("COCOTB_TEST_FILTER", format!("\\.({tests})$"))
            .env("COCOTB_RANDOM_SEED", (seed & 0x7FFF_FFFF).to_string())
            .env("COCOTB_LOG_LEVEL", "WARNING")
            .env("COCOTB_RESULTS_FILE", &results)
            .env("PYTHONWARNINGS", "ignore::DeprecationWarning")
            // No folders of bytecode among the sources.
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("TESSERA_FACTS", self.folder.join("facts.json"))
            .env("TESSERA_SEED", seed.to_string())
            .env("TESSERA_FAULT", fault.to_string())
            .env("TESSERA_LIMIT", limit.to_string())
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .output()
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let said = [output.stdout, output.stderr].concat();
        let _ = std::fs::write(self.folder.join(format!("{name}.log")), &said);
        let said = String::from_utf8_lossy(&said).into_owned();
        // The simulator ends well though a test has failed: what became of it is in the results.
        let Ok(xml) = std::fs::read_to_string(&results) else { panic!("{name} has no results:\n{said}") };
        Outcome { tests: outcomes(&xml), said }
    }

    /// All tests of these names pass, and there are as many.
    fn passes(&self, tests: &[&str]) {
        let outcome = self.run(&tests.join("|"), 0, 2000);
        for (name, failed) in &outcome.tests {
            assert!(failed.is_none(), "{name}: {}\n{}", failed.as_deref().unwrap_or_default(), outcome.said);
        }
        let mut names: Vec<&str> = outcome.tests.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        let mut wanted = tests.to_vec();
        wanted.sort_unstable();
        assert_eq!(names, wanted, "which tests ran");
    }

    /// Each broken wire fails the short test, for its own reason; as it is, the test passes.
    fn notices(&self, faults: &[Fault]) {
        self.passes(&["short"]);
        for (fault, number) in faults.iter().zip(1..) {
            let Outcome { tests, said } = self.run("short", number, 300);
            let [(_, Some(failed))] = &tests[..] else { panic!("{} is not noticed:\n{said}", fault.name) };
            // An assertion of the models has no words of its own: it is its line that is printed.
            let known = fault.said.iter().any(|words| failed.contains(words) || said.contains(words));
            assert!(known, "{}: not what was to be said: {failed}\n{said}", fault.name);
            eprintln!("{}: {failed}", fault.name);
        }
    }
}

/// The tests of a results file, and what is said of those that failed.
fn outcomes(xml: &str) -> Vec<(String, Option<String>)> {
    let attribute = |of: &str, name: &str| -> Option<String> {
        let (_, rest) = of.split_once(&format!(" {name}=\""))?;
        let escaped = [("&gt;", ">"), ("&lt;", "<"), ("&quot;", "\""), ("&#10;", "\n"), ("&amp;", "&")];
        let text = rest.split_once('"')?.0.to_owned();
        Some(escaped.iter().fold(text, |text, (from, to)| text.replace(from, to)))
    };
    let cases = xml.split("<testcase").skip(1);
    cases
        .filter(|case| !case.contains("<skipped"))
        .map(|case| {
            let name = attribute(case, "name").expect("a test has a name");
            let failed = case.split_once("<failure").or_else(|| case.split_once("<error"));
            let why = |rest: &str| {
                let kind = attribute(rest, "error_type").unwrap_or_default();
                format!("{kind}: {}", attribute(rest, "error_msg").unwrap_or_default())
            };
            (name, failed.map(|(_, rest)| why(rest)))
        })
        .collect()
}

fn axi_top(name: &str, config: &'static Config, faults: &[Fault], by: By) -> Result<Bench, ToolError> {
    let export = exported::axi_nic(config).unwrap_or_else(|error| panic!("{error}"));
    Bench::new(name, "axi_top", &Design::from(&export), faults, by)
}

fn axi() -> &'static Result<Bench, ToolError> {
    static BENCH: OnceLock<Result<Bench, ToolError>> = OnceLock::new();
    BENCH.get_or_init(|| axi_top("axi", &TINY, &AXI_FAULTS, By::Verilator))
}

/// Registers, host memory, frames and the interrupt, by AxiLiteMaster, AxiRam, AxiSlave, AxiStreamSource
/// and AxiStreamSink.
#[test]
fn axi_buses_carry_messages() {
    with("axi_buses_carry_messages", axi(), |bench| bench.passes(&["registers", "messages", "errors"]));
}

/// Beats of 8 bytes, so that bursts of 256 are half a page.
#[test]
fn axi_buses_of_64_bits_carry_messages() {
    with("axi_buses_of_64_bits_carry_messages", &axi_top("axi64", &TINY64, &[], By::Verilator), |bench| {
        bench.passes(&["registers", "messages", "errors"])
    });
}

#[test]
fn a_broken_axi_bus_is_noticed() {
    with("a_broken_axi_bus_is_noticed", axi(), |bench| bench.notices(&AXI_FAULTS));
}

/// Without all that can be left out: what is constant then has a value too.
fn plain() -> &'static Config {
    static PLAIN: OnceLock<Config> = OnceLock::new();
    PLAIN.get_or_init(|| Config::named("tiny_plain").unwrap_or_else(|error| panic!("{error}")))
}

/// Nothing that was never written reaches a bus, nor decides anything.
#[test]
fn axi_buses_have_no_unknown_bits() {
    with("axi_buses_have_no_unknown_bits", &axi_top("axi-icarus", plain(), &[], By::Icarus), |bench| {
        // Some of the registers that `registers` writes are left out of it.
        bench.passes(&["short"])
    });
}

fn block(name: &str, board: &Board, faults: &[Fault], by: By) -> Result<Bench, ToolError> {
    let export = exported::corundum_nic(&TINY).unwrap_or_else(|error| panic!("{error}"));
    Bench::new(name, "corundum_block", &design(&export, board), faults, by)
}

/// One interface, times of day.
fn board() -> Board {
    Board { interfaces: 1, port: 0, ..Board::default() }.with("PTP_TS_FMT_TOD", 1)
}

fn corundum() -> &'static Result<Bench, ToolError> {
    static BENCH: OnceLock<Result<Bench, ToolError>> = OnceLock::new();
    BENCH.get_or_init(|| block("corundum", &board(), &CORUNDUM_FAULTS, By::Verilator))
}

/// BAR 2, DMA, frames, completions, times and statistics, by models of cocotbext-axi and cocotbext-eth.
#[test]
fn the_block_of_a_corundum_carries_messages() {
    with("the_block_of_a_corundum_carries_messages", corundum(), |bench| {
        bench.passes(&["registers", "messages"])
    });
}

/// As at a 10G board, whose streams and DMA RAM are narrower than the NIC; with the largest BAR that there is.
fn narrow() -> Board {
    board().streams(64, 64).ram(2, 256).with("AXIL_APP_CTRL_ADDR_WIDTH", 25)
}

#[test]
fn the_block_of_a_corundum_of_64_bits_carries_messages() {
    with(
        "the_block_of_a_corundum_of_64_bits_carries_messages",
        &block("corundum64", &narrow(), &[], By::Verilator),
        |bench| bench.passes(&["registers", "messages"]),
    );
}

#[test]
fn a_broken_block_of_a_corundum_is_noticed() {
    with("a_broken_block_of_a_corundum_is_noticed", corundum(), |bench| bench.notices(&CORUNDUM_FAULTS));
}

/// In the simulator of Corundum's own benches: a word that nobody has written stops them.
#[test]
fn the_block_of_a_corundum_has_no_unknown_bits() {
    with(
        "the_block_of_a_corundum_has_no_unknown_bits",
        &block("corundum-icarus", &board(), &CORUNDUM_UNKNOWNS, By::Icarus),
        |bench| bench.notices(&CORUNDUM_UNKNOWNS),
    );
}

#[test]
fn the_block_of_a_corundum_of_64_bits_has_no_unknown_bits() {
    with(
        "the_block_of_a_corundum_of_64_bits_has_no_unknown_bits",
        &block("corundum64-icarus", &narrow(), &[], By::Icarus),
        |bench| bench.passes(&["registers", "short"]),
    );
}
