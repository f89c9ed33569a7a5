//! cocotb, with which Tessera compares itself, and bus models that others wrote for it; fetched on
//! first use.

use super::python::{python, Pinned};
use super::{system_program, ToolError, ToolOptions, Verilator};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const PINNED: Pinned = Pinned {
    name: "cocotb",
    requirements: include_str!("../../tools/cocotb.txt"),
    instead: "leave the comparison out",
};

const MODELS: Pinned = Pinned {
    name: "cocotb-models",
    requirements: include_str!("../../tools/cocotb-models.txt"),
    instead: "leave the benches of other people's bus models out",
};

/// A cocotb in a folder of its own.
#[derive(Clone, Debug)]
pub struct Cocotb {
    site: PathBuf,
    python: OsString,
    /// The interpreter as a shared library, which simulators load.
    libpython: String,
}

/// Fetches cocotb, if it is not there.
///
/// # Errors
/// [`ToolError`] saying what is missing or unreachable, and the remedy.
pub fn cocotb(options: &ToolOptions) -> Result<Cocotb, ToolError> {
    find(&PINNED, options)
}

/// The same in another folder, beside the bus models of cocotbext-axi and cocotbext-eth.
///
/// # Errors
/// As [`cocotb`].
pub fn cocotb_models(options: &ToolOptions) -> Result<Cocotb, ToolError> {
    find(&MODELS, options)
}

/// `iverilog` of this machine, a simulator whose signals have four states.
///
/// # Errors
/// [`ToolError::Missing`] naming the package.
pub fn icarus(purpose: &str) -> Result<PathBuf, ToolError> {
    system_program("iverilog", "iverilog", purpose)
}

fn find(pinned: &Pinned, options: &ToolOptions) -> Result<Cocotb, ToolError> {
    let site = pinned.fetch(&options.cache())?;
    let python = python("cocotb is a Python package")?;
    let script = "import find_libpython; print(find_libpython.find_libpython() or '')";
    let mut command = Command::new(&python);
    command.args(["-c", script]).env("PYTHONPATH", &site).stdin(Stdio::null());
    let said = command.output().map(|output| output.stdout).unwrap_or_default();
    let libpython = String::from_utf8_lossy(&said).trim().to_owned();
    if libpython.is_empty() {
        return Err(ToolError::Missing {
            program: "libpython".into(),
            purpose: "simulators load Python as a shared library".into(),
            remedy: "apt-get install libpython3-dev".into(),
        });
    }
    Ok(Cocotb { site, python, libpython })
}

impl Cocotb {
    /// Folder of the libraries that simulators load.
    pub fn libraries(&self) -> PathBuf {
        self.site.join("cocotb/libs")
    }

    /// Commands that make `verilator/sim` in `folder` of a Verilog file there: Verilator, and a make.
    /// Only the ports of `top` are open to Python. `settings` are those of Verilator's makefile: `OPT_FAST=-O3`.
    pub fn verilate(
        &self,
        verilator: &Verilator,
        make: &Path,
        (top, file): (&str, &str),
        folder: &Path,
        settings: &[&str],
    ) -> [Command; 2] {
        let libraries = self.libraries().display().to_string();
        let mut translate = verilator.command();
        translate
            .args(["--cc", "--exe", "--vpi", "--public-depth", "1", "--prefix", "Vtop", "-o", "sim"])
            // As our own models, whose reasons are in sim/src/verilator/build.rs.
            .args(["-O3", "--x-assign", "fast", "--x-initial", "unique", "--assert", "--no-timing"])
            .args(["-fno-dfg-peephole-replace-shiftr-shiftr", "-fno-dfg-peephole-replace-shiftl-shiftl"])
            .args(["-Wno-lint", "-Wno-fatal", "-Mdir", "verilator", "--top-module", top])
            .arg("-LDFLAGS")
            .arg(format!("-Wl,-rpath,{libraries} -L{libraries} -lcocotbvpi_verilator"))
            .arg(self.site.join("cocotb/share/lib/verilator/verilator.cpp"))
            .arg(file)
            .current_dir(folder);
        let mut compile = Command::new(make);
        compile
            .args(["-j", "2", "-C", "verilator", "-f", "Vtop.mk"])
            .args(settings)
            // What the pinned one, which was not configured here, leaves empty.
            .args([
                "CFG_CXXFLAGS_STD=-std=c++17",
                "CFG_CXXFLAGS_PCH_I=-include",
                "CFG_LDLIBS_THREADS=-pthread",
            ])
            .env("VERILATOR_ROOT", verilator.root())
            .current_dir(folder);
        [translate, compile]
    }

    /// Command by which `icarus` makes `icarus.vvp` in `folder` of a Verilog file there.
    pub fn elaborate(&self, icarus: &Path, (top, file): (&str, &str), folder: &Path) -> Command {
        let mut command = Command::new(icarus);
        command.args(["-g2012", "-o", "icarus.vvp", "-s", top, file]).current_dir(folder);
        command
    }

    /// What simulates that: `vvp`, which is beside `icarus`.
    pub fn interpreter(&self, icarus: &Path) -> Command {
        let mut simulator = Command::new(icarus.with_file_name("vvp"));
        simulator.arg("-M").arg(self.libraries());
        simulator.args(["-m", "libcocotbvpi_icarus", "icarus.vvp", "-none"]);
        simulator
    }

    /// Has `simulator` run the tests of Python module `module` in `folder` on
    /// `top`.
    pub fn run(&self, simulator: &mut Command, top: &str, module: &str, folder: &Path) {
        let path = std::env::join_paths([self.site.as_path(), folder]).unwrap_or_default();
        let mut libraries = self.libraries().into_os_string();
        if let Some(others) = std::env::var_os("LD_LIBRARY_PATH").filter(|others| !others.is_empty()) {
            libraries.push(":");
            libraries.push(others);
        }
        simulator
            .env("PYTHONPATH", path)
            .env("LIBPYTHON_LOC", &self.libpython)
            .env("PYGPI_PYTHON_BIN", python_path(&self.python))
            .env("LD_LIBRARY_PATH", libraries)
            .env("COCOTB_TOPLEVEL", top)
            .env("COCOTB_TEST_MODULES", module)
            .env("TOPLEVEL_LANG", "verilog")
            .stdin(Stdio::null());
    }
}

/// The interpreter's own file: cocotb wants no name to look up.
fn python_path(python: &OsString) -> OsString {
    let script = "import sys; print(sys.executable)";
    let output = Command::new(python).args(["-c", script]).stdin(Stdio::null()).output();
    let said = output.map(|output| output.stdout).unwrap_or_default();
    match String::from_utf8_lossy(&said).trim() {
        "" => python.clone(),
        path => path.into(),
    }
}
