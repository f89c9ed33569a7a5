//! Where fetched tools and compiled models live, and who may write there.

use super::ToolError;
use std::fs::{create_dir_all, File, OpenOptions};
use std::path::{Path, PathBuf};

/// The folder for tools and compiled models: Cargo's `target`, unless
/// `TESSERA_CACHE` says otherwise.
///
/// Order: `TESSERA_CACHE`; the marked target folder this program was built
/// into; `CARGO_TARGET_DIR`; `target` of the workspace around the working
/// folder; the user's cache folder (an installed `tessera`).
pub fn cache_dir() -> PathBuf {
    let variable = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    if let Some(dir) = variable("TESSERA_CACHE") {
        return std::path::absolute(&dir).unwrap_or(dir);
    }
    // Cargo marks its target folder; the mark is found however the folder was
    // renamed or moved by configuration.
    if let Ok(exe) = std::env::current_exe() {
        if let Some(target) = exe.ancestors().skip(1).find(|d| d.join("CACHEDIR.TAG").is_file()) {
            return target.to_path_buf();
        }
    }
    if let Some(dir) = variable("CARGO_TARGET_DIR") {
        return std::path::absolute(&dir).unwrap_or(dir);
    }
    if let Ok(cwd) = std::env::current_dir() {
        if let Some(root) = cwd.ancestors().find(|d| is_workspace(d)) {
            return root.join("target");
        }
    }
    variable("XDG_CACHE_HOME")
        .or_else(|| variable("HOME").map(|home| home.join(".cache")))
        .unwrap_or_else(std::env::temp_dir)
        .join("tessera")
}

fn is_workspace(dir: &Path) -> bool {
    std::fs::read_to_string(dir.join("Cargo.toml"))
        .is_ok_and(|text| text.lines().any(|line| line.trim() == "[workspace]"))
}

/// Names the file in an I/O error.
pub(crate) fn io_error(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> ToolError {
    let path = path.to_path_buf();
    move |source| ToolError::Io { action, path, source }
}

/// Holds the lock file `path` until dropped; waits for another process.
pub(crate) fn lock(path: &Path) -> Result<File, ToolError> {
    if let Some(parent) = path.parent() {
        create_dir_all(parent).map_err(io_error("create", parent))?;
    }
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)
        .map_err(io_error("open", path))?;
    file.lock().map_err(io_error("lock", path))?;
    Ok(file)
}
