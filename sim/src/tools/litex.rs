//! LiteX, which makes SoCs of Python; fetched on first use.

use super::python::{python, Pinned};
use super::{ToolError, ToolOptions};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const PINNED: Pinned = Pinned {
    name: "litex",
    requirements: include_str!("../../tools/litex.txt"),
    instead: "leave the SoCs of LiteX out",
};

/// A LiteX in a folder of its own.
#[derive(Clone, Debug)]
pub struct LiteX {
    site: PathBuf,
    python: OsString,
}

/// Fetches LiteX, if it is not there.
///
/// # Errors
/// [`ToolError`] saying what is missing or unreachable, and the remedy.
pub fn litex(options: &ToolOptions) -> Result<LiteX, ToolError> {
    let site = PINNED.fetch(&options.cache())?;
    Ok(LiteX { site, python: python("LiteX is a Python package")? })
}

impl LiteX {
    /// A command that runs a script in `folder`, whose modules it can import; arguments follow.
    pub fn script(&self, script: &str, folder: &Path) -> Command {
        let mut command = Command::new(&self.python);
        // The script's folder comes before these by itself. No folders of bytecode.
        command.args(["-B", script]).env("PYTHONPATH", &self.site).current_dir(folder).stdin(Stdio::null());
        command
    }
}
