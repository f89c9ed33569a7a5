//! Linux guests: Debian's kernel with a few programs, under QEMU without acceleration.
//!
//! ```text
//!   Kernel::get() ── downloaded once ──┐
//!   Image::new(..).programs(..) ── initramfs ──> Qemu::start(..) ── console ──> run("command")
//! ```
//!
//! Nothing is installed but Debian's packages in [`NEEDS`], and nothing needs rights or KVM.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::output::Failure;

pub mod command;
mod image;
mod qemu;

pub use image::{Image, Kernel, SERVE};
pub use qemu::{tail, Options, Qemu};

/// What every guest needs of the host: a file, and the Debian package that brings it.
pub const NEEDS: [(&str, &str); 2] =
    [("/usr/bin/qemu-system-x86_64", "qemu-system-x86"), ("/bin/busybox", "busybox-static")];

/// What a command prints; an error with its last words if it fails.
pub fn output(command: &mut Command) -> Result<String, Failure> {
    Ok(String::from_utf8_lossy(&bytes(command)?).into_owned())
}

fn bytes(command: &mut Command) -> Result<Vec<u8>, Failure> {
    let program = command.get_program().to_string_lossy().into_owned();
    let out = command.stdin(Stdio::null()).output();
    let out = out.map_err(|error| Failure::new(format!("cannot start {program}: {error}")))?;
    if !out.status.success() {
        let said = String::from_utf8_lossy(&out.stderr);
        return Err(Failure::new(format!("{program} ended with {}: {}", out.status, said.trim())));
    }
    Ok(out.stdout)
}

/// The file below a folder that `wanted` takes by its name.
pub fn find(folder: &Path, wanted: &dyn Fn(&str) -> bool) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let mut folders = Vec::new();
    for path in entries.map(|entry| entry.path()) {
        // Not where links lead.
        if path.is_dir() && !path.is_symlink() {
            folders.push(path);
        } else if path.file_name().and_then(|name| name.to_str()).is_some_and(wanted) {
            return Some(path);
        }
    }
    folders.iter().find_map(|folder| find(folder, wanted))
}
