//! What the host must bring: a C++ compiler and, for FST traces, two headers.

use super::{ToolError, Verilator};
use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The C++ compiler to call: `CXX`, else the first of `c++`, `g++`, `clang++`.
///
/// # Errors
/// [`ToolError::Missing`] when there is none.
pub fn cxx() -> Result<OsString, ToolError> {
    if let Some(named) = std::env::var_os("CXX").filter(|v| !v.is_empty()) {
        return Ok(named);
    }
    for name in ["c++", "g++", "clang++"] {
        if runs(name) {
            return Ok(name.into());
        }
    }
    if install(&["g++"]) && runs("g++") {
        return Ok("g++".into());
    }
    Err(ToolError::Missing {
        program: "a C++ compiler (c++, g++ or clang++)".into(),
        purpose: "Verilator's output is C++".into(),
        remedy: "apt-get install g++  (or name one with CXX)".into(),
    })
}

/// A program of the system's own, `program` of Debian's `package`; installed
/// where nobody could type the command (root, no terminal).
///
/// # Errors
/// [`ToolError::Missing`] naming the package.
pub fn system_program(program: &str, package: &str, purpose: &str) -> Result<PathBuf, ToolError> {
    if let Some(file) = find_on_path(program) {
        return Ok(file);
    }
    if install(&[package]) {
        if let Some(file) = find_on_path(program) {
            return Ok(file);
        }
    }
    Err(ToolError::Missing {
        program: program.into(),
        purpose: purpose.into(),
        remedy: format!("apt-get install {package}"),
    })
}

fn runs(program: &str) -> bool {
    Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|s| s.success())
}

/// Whether the compression headers of `verilator`'s FST writer are here.
pub fn has_fst_headers(verilator: &Verilator) -> bool {
    cxx().is_ok_and(|cxx| absent_fst_packages(&cxx, verilator).is_empty())
}

/// Checks for the compression headers that `verilator`'s FST writer includes,
/// and installs them where nobody could type the command (root, no terminal).
///
/// VCD traces need nothing.
///
/// # Errors
/// [`ToolError::Missing`] naming the packages.
pub fn require_fst_headers(verilator: &Verilator) -> Result<(), ToolError> {
    let cxx = cxx()?;
    let mut packages = absent_fst_packages(&cxx, verilator);
    if !packages.is_empty() && install(&packages) {
        packages = absent_fst_packages(&cxx, verilator);
    }
    if packages.is_empty() {
        return Ok(());
    }
    Err(ToolError::Missing {
        program: format!("the header of {}", packages.join(" and ")),
        purpose: "FST traces are compressed".into(),
        remedy: format!("apt-get install {}  (or trace as VCD, which needs nothing)", packages.join(" ")),
    })
}

fn absent_fst_packages(cxx: &OsString, verilator: &Verilator) -> Vec<&'static str> {
    let mut needed = vec![("zlib.h", "zlib1g-dev")];
    if verilator.fst_uses_system_lz4() {
        needed.push(("lz4.h", "liblz4-dev"));
    }
    needed.into_iter().filter(|(header, _)| !has_header(cxx, header)).map(|(_, package)| package).collect()
}

fn has_header(cxx: &OsString, header: &str) -> bool {
    let child = Command::new(cxx)
        .args(["-E", "-x", "c++", "-o", "/dev/null", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = child else { return false };
    if let Some(stdin) = child.stdin.as_mut() {
        let _ = writeln!(stdin, "#include <{header}>");
    }
    child.wait().is_ok_and(|s| s.success())
}

/// Checks for files that Debian packages bring (`(file, package)`), and installs those
/// where nobody could type the command (root, no terminal).
///
/// # Errors
/// [`ToolError::Missing`] naming the packages.
pub fn require_packages(purpose: &str, files: &[(&str, &str)]) -> Result<(), ToolError> {
    let absent = || -> Vec<&str> {
        let mut absent: Vec<&str> = Vec::new();
        for (_, package) in files.iter().filter(|(file, _)| !Path::new(file).exists()) {
            if !absent.contains(package) {
                absent.push(package);
            }
        }
        absent
    };
    let mut packages = absent();
    if !packages.is_empty() && install(&packages) {
        packages = absent();
    }
    if packages.is_empty() {
        return Ok(());
    }
    Err(ToolError::Missing {
        program: packages.join(" and "),
        purpose: purpose.into(),
        remedy: format!("apt-get install {}", packages.join(" ")),
    })
}

/// Installs system packages when this is an unattended root (CI): a person
/// is told the command instead. Reports whether apt-get succeeded.
pub(super) fn install(packages: &[&str]) -> bool {
    let attended = std::io::stdin().is_terminal() || std::io::stderr().is_terminal();
    if attended || !is_root() || find_on_path("apt-get").is_none() {
        return false;
    }
    eprintln!("tessera: apt-get install {} (root without a terminal)", packages.join(" "));
    let apt = |args: &[&str]| {
        Command::new("apt-get")
            .args(args)
            .env("DEBIAN_FRONTEND", "noninteractive")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|s| s.success())
    };
    let install: Vec<&str> = ["install", "-y", "-q", "--no-install-recommends"]
        .into_iter()
        .chain(packages.iter().copied())
        .collect();
    // A fresh image has no package lists, a used one need not refresh them.
    apt(&install) || (apt(&["update", "-q"]) && apt(&install))
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|o| o.stdout.trim_ascii() == b"0")
}

/// The file that `program` would run, if it is on `PATH`.
pub(super) fn find_on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(program)).find(|file| file.is_file())
}
