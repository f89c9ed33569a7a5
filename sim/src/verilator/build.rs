//! From Verilog to a cached library: the key, the lock, the steps.

use super::compile::{self, Compiler};
use super::design::Design;
use super::glue;
use super::ModelError;
use crate::mutate::{self, Mutated};
use crate::progress::Progress;
use crate::tools::{self, io_error, ToolOptions, Verilator};
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};

/// Which waveforms an instance of the model can write. Even while no file is
/// open, a model that can trace runs at about half the speed of one that
/// cannot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Trace {
    /// None.
    #[default]
    Off,
    /// Text; large, needs nothing on the host.
    Vcd,
    /// Compressed, about a tenth of the size; needs zlib and lz4 headers.
    Fst,
}

impl Trace {
    /// The usual file name extension; empty for [`Trace::Off`].
    pub fn extension(self) -> &'static str {
        match self {
            Trace::Off => "",
            Trace::Vcd => "vcd",
            Trace::Fst => "fst",
        }
    }
}

/// What Verilator may complain about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Lint {
    /// Every warning is an error. For our own Verilog.
    #[default]
    Strict,
    /// Only errors. For Verilog that others wrote.
    ErrorsOnly,
}

/// How to build a model. Each combination is a model of its own in the cache.
#[derive(Clone, Debug)]
pub struct BuildOptions {
    /// Waveforms.
    pub trace: Trace,
    /// Levels of hierarchy to trace; `None` is all.
    pub trace_depth: Option<u32>,
    /// Count executed lines and toggled bits; about halves the speed.
    pub coverage: bool,
    /// Compile in half the time, for a model that runs up to a quarter slower.
    pub hurried: bool,
    /// What Verilator may complain about.
    pub lint: Lint,
    /// Threads of one instance. More than one pays only for large designs.
    pub threads: usize,
    /// Compilers to run at once; 0 is one per processor.
    pub jobs: usize,
    /// Which Verilator, and where the cache is.
    pub tools: ToolOptions,
}

impl Default for BuildOptions {
    fn default() -> Self {
        BuildOptions {
            trace: Trace::Off,
            trace_depth: None,
            coverage: false,
            hurried: false,
            lint: Lint::Strict,
            threads: 1,
            jobs: 0,
            tools: ToolOptions::default(),
        }
    }
}

impl BuildOptions {
    /// For models that run for seconds, as those of most tests do: compiling them is most of a test's time.
    pub fn hurried() -> Self {
        BuildOptions { hurried: true, ..BuildOptions::default() }
    }

    /// Verilator's arguments, besides the files.
    fn verilator_arguments(&self, top: &str) -> Vec<String> {
        // Verilator 5.48 turns (x >> a) >> b into x >> (a + b) with the sum cut
        // to the width of the amounts, across wires too.
        let fixed = "-fno-dfg-peephole-replace-shiftr-shiftr -fno-dfg-peephole-replace-shiftl-shiftl \
                     --cc -O3 --x-assign fast --x-initial unique --assert --no-timing \
                     --timescale-override 1ps/1ps --prefix Vdut --Mdir cpp --output-split 20000";
        let mut arguments: Vec<String> = fixed.split_whitespace().map(String::from).collect();
        let mut add = |argument: &str| arguments.push(argument.into());
        add("--threads");
        add(&self.threads.max(1).to_string());
        add("--top-module");
        add(top);
        match self.lint {
            // One text holds all modules, so file names cannot match them.
            Lint::Strict => ["-Wall", "-Wno-DECLFILENAME"].map(&mut add),
            Lint::ErrorsOnly => ["-Wno-lint", "-Wno-fatal"].map(&mut add),
        };
        match self.trace {
            Trace::Off => {}
            Trace::Vcd => add("--trace"),
            Trace::Fst => add("--trace-fst"),
        }
        if let Some(depth) = self.trace_depth.filter(|_| self.trace != Trace::Off) {
            add("--trace-depth");
            add(&depth.max(1).to_string());
        }
        if self.coverage {
            // Bits of wide words are data: tests compare them, and counting them
            // takes a compiler minutes.
            for argument in ["--coverage-line", "--coverage-toggle", "--coverage-max-width", "64"] {
                add(argument);
            }
        }
        arguments
    }
}

/// What a build leaves behind.
pub(super) struct Built {
    /// Hash of everything that went in.
    pub key: String,
    pub object: PathBuf,
}

/// Name of the library in a model's folder.
const LIBRARY: &str = "model.so";

/// The library of `design`, from the cache if it is there. One with mutants is
/// built from `mutated` instead, and kept where that says: it is of no use to
/// anybody else.
pub(super) fn build(
    design: &Design,
    mutated: Option<&Mutated>,
    options: &BuildOptions,
) -> Result<Built, ModelError> {
    let runtime = options.tools.cache().join("verilated");
    // A mistake may leave something constant or unused.
    let tolerant = BuildOptions { lint: Lint::ErrorsOnly, ..options.clone() };
    let (design, root, options) = match mutated {
        Some(mutated) => (&mutated.design, mutated.folder.clone(), &tolerant),
        None => (design, runtime.clone(), options),
    };
    let verilator = tools::verilator(&options.tools)?;
    let ports = glue::ports_header(design)?;
    let arguments = options.verilator_arguments(&design.top);
    let compiler_flags = compile::flags(options);
    let mut hash = Sha256::new();
    for part in [
        verilator.version(),
        glue::SHIM,
        glue::PRINT,
        &ports,
        &design.essence(),
        &arguments.join(" "),
        &compiler_flags.join(" "),
        if options.hurried { "hurried" } else { "" },
    ] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let key: String = hash.finalize().iter().take(16).map(|b| format!("{b:02x}")).collect();
    let folder = root.join(&key);
    let library = folder.join(LIBRARY);
    if library.is_file() {
        return Ok(Built { key, object: library });
    }
    let lock_file = root.join(format!("{key}.lock"));
    let lock = tools::lock(&lock_file)?;
    if !library.is_file() {
        let partial = root.join(format!("{key}.partial"));
        remove(&partial)?;
        let work = Work {
            design,
            extra: mutated.map(|_| mutate::CPP),
            options,
            verilator: &verilator,
            ports: &ports,
            folder: &partial,
            runtime: &runtime,
        };
        work.run(&arguments)?;
        remove(&folder)?;
        fs::rename(&partial, &folder).map_err(io_error("create", &folder))?;
    }
    drop(lock);
    let _ = fs::remove_file(lock_file);
    Ok(Built { key, object: library })
}

fn remove(folder: &Path) -> Result<(), ModelError> {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(io_error("remove", folder))?;
    }
    Ok(())
}

/// One build in a folder of its own. When a step fails the folder stays, for
/// the reader of the error message.
struct Work<'a> {
    design: &'a Design,
    /// C++ that its Verilog calls.
    extra: Option<&'a str>,
    options: &'a BuildOptions,
    verilator: &'a Verilator,
    ports: &'a str,
    folder: &'a Path,
    /// Where the objects of Verilator's run-time are kept.
    runtime: &'a Path,
}

impl Work<'_> {
    fn run(&self, arguments: &[String]) -> Result<(), ModelError> {
        if self.options.trace == Trace::Fst {
            tools::require_fst_headers(self.verilator)?;
        }
        let progress = Progress::start(format!("building the model of {}", self.design.top));
        let cpp = self.folder.join("cpp");
        fs::create_dir_all(&cpp).map_err(io_error("create", &cpp))?;
        let source = format!("{}.v", self.design.top);
        self.write(&self.folder.join(&source), &self.design.verilog)?;
        progress.detail("verilating");
        self.verilate(arguments, &source)?;
        let class = cpp.join("Vdut.h");
        glue::check_ports(self.design, &fs::read_to_string(&class).map_err(io_error("read", &class))?)?;
        self.write(&cpp.join("ports.h"), self.ports)?;
        self.write(&cpp.join("shim.cpp"), glue::SHIM)?;
        self.write(&cpp.join("print.h"), glue::PRINT)?;
        if let Some(text) = self.extra {
            self.write(&cpp.join("extra.cpp"), text)?;
        }
        Compiler {
            top: &self.design.top,
            cxx: tools::cxx()?,
            options: self.options,
            verilator: self.verilator,
            cpp: &cpp,
            runtime: self.runtime,
        }
        .run(&self.folder.join(LIBRARY), &progress)?;
        fs::remove_dir_all(&cpp).map_err(io_error("remove", &cpp))?;
        Ok(())
    }

    fn write(&self, path: &Path, text: &str) -> Result<(), ModelError> {
        fs::write(path, text).map_err(io_error("write", path))?;
        Ok(())
    }

    fn verilate(&self, arguments: &[String], source: &str) -> Result<(), ModelError> {
        let output = self
            .verilator
            .command()
            .args(arguments)
            .arg(source)
            .current_dir(self.folder)
            .output()
            .map_err(io_error("run Verilator in", self.folder))?;
        if output.status.success() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&output.stderr);
        let mut messages: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).take(40).collect();
        if messages.is_empty() {
            messages.push("(no message)");
        }
        Err(ModelError::Verilog {
            top: self.design.top.clone(),
            messages: messages.join("\n"),
            kept: self.folder.to_path_buf(),
        })
    }
}
