//! The Yosys that maps whole designs: one version for everybody, so that figures compare.

use super::python::{python, Pinned};
use super::yosys::yosys;
use super::{ToolError, ToolOptions};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const PINNED: Pinned = Pinned {
    name: "pyosys",
    requirements: include_str!("../../tools/pyosys.txt"),
    instead: "the pinned WebAssembly Yosys does the same in more than twice the time",
};

/// Runs a script as `yosys -s` does.
const ENTRY: &str =
    "import sys\nfrom pyosys import libyosys as ys\nys.run_pass('script ' + sys.argv[1], ys.Design())";

/// A Yosys for scripts.
#[derive(Clone, Debug)]
pub struct Synthesis {
    /// The module of machine code: Python, and its folder.
    native: Option<(OsString, PathBuf)>,
    options: ToolOptions,
    version: String,
}

/// Fetches it, if it is not there. Where there is none of machine code, the one of
/// [`yosys`](super::yosys()) is used, of the same version.
///
/// # Errors
/// [`ToolError`] saying what is missing or unreachable, and the remedy.
pub fn synthesis(options: &ToolOptions) -> Result<Synthesis, ToolError> {
    let options = ToolOptions { yosys: Some("pinned".into()), ..options.clone() };
    let runs = |site: &Path, python: &OsString| {
        let script = "from pyosys import libyosys as ys; print(ys.yosys_maybe_version())";
        let mut command = Command::new(python);
        let said = command.args(["-c", script]).env("PYTHONPATH", site).stdin(Stdio::null()).output().ok()?;
        let text = String::from_utf8_lossy(&said.stdout).trim().to_owned();
        said.status.success().then_some(text).filter(|text| !text.is_empty())
    };
    if let (Ok(site), Ok(python)) = (PINNED.fetch(&options.cache()), python("it runs the pinned Yosys")) {
        if let Some(version) = runs(&site, &python) {
            return Ok(Synthesis { native: Some((python, site)), options, version });
        }
    }
    let version = yosys(&options)?.version().to_owned();
    Ok(Synthesis { native: None, options, version })
}

impl Synthesis {
    /// What it says of itself, in one line.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// A command that runs the script in a file. It prints what Yosys does.
    ///
    /// # Errors
    /// As [`synthesis`].
    pub fn script(&self, script: &Path) -> Result<Command, ToolError> {
        Ok(match &self.native {
            Some((python, site)) => {
                let mut command = Command::new(python);
                command.args(["-c", ENTRY]).arg(script).env("PYTHONPATH", site).stdin(Stdio::null());
                command
            }
            None => {
                let mut command = yosys(&self.options)?.command();
                command.arg("-s").arg(script);
                command
            }
        })
    }
}
