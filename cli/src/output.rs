//! Results and failures, as every verb gives them.

use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::ErrorKind;
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
    #[error("--path-weights are those of policy weighted: add --path-policy weighted")]
    Unweighted,
    #[error("--path-weights has {given} weights for {paths} paths: give one for each")]
    Weights { given: usize, paths: u16 },
    #[error("--path-weights: all are 0, so nothing could be sent; give one above 0")]
    NoWeight,
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

/// What a file is called until it is whole.
fn partial(path: &Path) -> PathBuf {
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    partial.into()
}

/// Fails now rather than after a long run when a result could not be written.
/// Only trying tells: rights, a read-only mount and a full table of files show
/// in no other way. Nothing stays of it.
pub fn check_writable(path: &Path) -> Result<(), Failure> {
    let cannot = |why: String| Err(Failure(format!("cannot write {}: {why}", path.display())));
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = parent.display();
    match std::fs::metadata(parent) {
        Ok(meta) if meta.is_dir() => {}
        Ok(_) => return cannot(format!("{folder} is not a folder; name a file in one")),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return cannot(format!(
                "there is no folder {folder}; create it (mkdir -p {folder}) or name a file elsewhere"
            ));
        }
        Err(error) => return cannot(format!("{folder}: {error}; name a file elsewhere")),
    }
    if path.exists() && !path.is_file() {
        return cannot("what has this name is not a file; name a file".into());
    }
    let partial = partial(path);
    let tried = OpenOptions::new().write(true).create(true).truncate(false).open(&partial);
    match tried.and_then(|_| std::fs::remove_file(&partial)) {
        Ok(()) => Ok(()),
        Err(error) => cannot(format!(
            "no file can be made in {folder} ({error}); change the folder's rights or name a file elsewhere"
        )),
    }
}

/// Writes a file whole or not at all.
pub fn write(path: &Path, contents: impl AsRef<[u8]>) -> Result<(), Failure> {
    let partial = partial(path);
    let written = std::fs::write(&partial, contents).and_then(|()| std::fs::rename(&partial, path));
    written.map_err(|error| {
        let _ = std::fs::remove_file(&partial);
        failed("write", path, &error)
    })
}

/// Writes a result as JSON.
pub fn write_json(path: &Path, result: &impl Serialize) -> Result<(), Failure> {
    let mut text = serde_json::to_string_pretty(result)?;
    text.push('\n');
    write(path, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An empty folder that goes with the test.
    struct Folder(PathBuf);

    impl Folder {
        fn new(test: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("tessera-{test}-{}", std::process::id()));
            std::fs::create_dir_all(&folder).unwrap();
            Self(folder)
        }

        fn names(&self) -> Vec<std::ffi::OsString> {
            std::fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name()).collect()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn what_cannot_be_written_is_said_at_once_with_the_remedy() {
        let folder = Folder::new("writable");
        let refused = |path: PathBuf, says: &str| {
            let message = check_writable(&path).unwrap_err().to_string();
            assert!(message.contains(says) && message.contains(&path.display().to_string()), "{message}");
        };
        refused(folder.0.join("absent/result.json"), "mkdir -p");
        refused(folder.0.clone(), "not a file");
        refused("/dev/null".into(), "not a file");
        // Root may write anywhere, but nobody a name as long as this.
        refused(folder.0.join("x".repeat(250)), "no file can be made");
        assert!(folder.names().is_empty());

        check_writable(&folder.0.join("result.json")).unwrap();
        assert!(folder.names().is_empty(), "trying leaves nothing");
        std::fs::write(folder.0.join("result.json"), "of before").unwrap();
        check_writable(&folder.0.join("result.json")).unwrap();
        assert_eq!(std::fs::read(folder.0.join("result.json")).unwrap(), b"of before");
        refused(folder.0.join("result.json/other.json"), "not a folder");
    }

    #[test]
    fn a_file_that_cannot_be_written_leaves_nothing() {
        let folder = Folder::new("partial");
        std::fs::create_dir(folder.0.join("taken")).unwrap();
        assert!(write(&folder.0.join("taken"), "text").is_err());
        assert_eq!(folder.names(), ["taken"]);
    }
}
