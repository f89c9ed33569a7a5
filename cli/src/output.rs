//! Results and failures, as every verb gives them.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use serde::Serialize;
use tessera_sim::cluster::ClusterError;
use tessera_sim::fabric::CaptureError;
use tessera_sim::session::SessionError;

/// Why a verb failed; its text names the thing and the remedy.
#[derive(Debug)]
pub struct Failure(String);

impl Failure {
    /// A failure with this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// A plot could not be drawn.
    pub fn plot(error: impl Display) -> Self {
        Self(format!("cannot draw a plot: {error}"))
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

/// What stops a run on simulated NICs.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("cannot read {}: {error}", path.display())]
    Unreadable { path: PathBuf, error: std::io::Error },
    #[error("{} has {len} bytes; at most {max} are possible", path.display())]
    TooLarge { path: PathBuf, len: u64, max: u64 },
    #[error("--dead-path {dead}: there are only the paths 0 to {last}")]
    NoSuchPath { dead: u16, last: u16 },
    #[error("--dead-path needs --paths 2 or more: with one path dead nothing can arrive")]
    OnlyPath,
    #[error("--wave {}: the name must end in .fst or .vcd", .0.display())]
    WaveName(PathBuf),
    #[error("{what} is not what was sent")]
    Corrupt { what: String },
    #[error("{what} was delivered twice")]
    Twice { what: String },
    #[error("NIC {nic} received a message nobody sent (tag {tag:#x})")]
    Unexpected { nic: usize, tag: u64 },
    #[error("{0} DMA accesses outside mapped memory or unlike their descriptor")]
    DmaFaults(u64),
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    #[error(transparent)]
    Capture(#[from] CaptureError),
}

fn failed(what: &str, path: &Path, error: &std::io::Error) -> Failure {
    Failure(format!("cannot {what} {}: {error}", path.display()))
}

/// Fails now rather than after a long run when a result could not be written.
pub fn check_writable(path: &Path) -> Result<(), Failure> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let meta = std::fs::metadata(parent).map_err(|error| failed("write into", parent, &error))?;
    if !meta.is_dir() || path.is_dir() {
        return Err(Failure(format!("cannot write {}: not a file's name", path.display())));
    }
    Ok(())
}

/// Writes a file whole or not at all.
pub fn write(path: &Path, contents: impl AsRef<[u8]>) -> Result<(), Failure> {
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    let partial = PathBuf::from(partial);
    std::fs::write(&partial, contents).map_err(|error| failed("write", &partial, &error))?;
    std::fs::rename(&partial, path).map_err(|error| failed("write", path, &error))
}

/// Writes a result as JSON.
pub fn write_json(path: &Path, result: &impl Serialize) -> Result<(), Failure> {
    let mut text = serde_json::to_string_pretty(result)?;
    text.push('\n');
    write(path, text)
}
