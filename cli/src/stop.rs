//! Interrupts (Ctrl-C, SIGTERM, SIGHUP): whenever one comes, nothing is left behind.
//!
//! Until somebody looks whether one came, an interrupt ends this process's children and then
//! itself, without its temporary folders.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::signal::{kill, Signal};
use nix::unistd::Pid;
use tempfile::TempDir;

use crate::output::Failure;
use crate::run::orphans;

/// How long children may take to end, and how often they are told to.
const PATIENCE: Duration = Duration::from_secs(10);
const AGAIN: Duration = Duration::from_millis(200);

/// What an interrupt does.
enum Answer {
    /// Ends all, and removes these.
    Ends(Vec<PathBuf>),
    /// Tells who looks.
    Tells(Arc<AtomicBool>),
}

/// The interrupts of this process.
#[derive(Clone)]
pub struct Stop(Arc<Mutex<Answer>>);

impl Stop {
    /// Begins to see to them. Once in a process.
    pub fn watch() -> Result<Self, Failure> {
        let stop = Self(Arc::new(Mutex::new(Answer::Ends(Vec::new()))));
        let seen = stop.clone();
        ctrlc::set_handler(move || seen.interrupted())?;
        Ok(stop)
    }

    fn locked(&self) -> MutexGuard<'_, Answer> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn interrupted(&self) {
        // Kept to the end: nobody makes a folder any more.
        let answer = self.locked();
        let paths = match &*answer {
            Answer::Tells(flag) => return flag.store(true, Ordering::Relaxed),
            Answer::Ends(paths) => paths,
        };
        let begun = Instant::now();
        loop {
            orphans::reap(Pid::from_raw(-1));
            let left = orphans::children();
            if left.is_empty() || begun.elapsed() > PATIENCE {
                break;
            }
            for child in left {
                let _ = kill(child, Signal::SIGTERM);
            }
            std::thread::sleep(AGAIN);
        }
        for path in paths {
            let _ = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
        }
        eprintln!("tessera: stopped");
        std::process::exit(1);
    }

    /// An interrupt removes this file as well.
    pub fn removes(&self, path: PathBuf) {
        if let Answer::Ends(paths) = &mut *self.locked() {
            paths.push(path);
        }
    }

    /// A temporary folder that an interrupt removes.
    pub fn folder(&self, prefix: &str) -> Result<TempDir, Failure> {
        let mut answer = self.locked();
        let folder = tempfile::Builder::new().prefix(prefix).tempdir()?;
        if let Answer::Ends(paths) = &mut *answer {
            paths.push(folder.path().into());
        }
        Ok(folder)
    }

    /// From now on somebody looks at this.
    pub fn tells(&self, flag: Arc<AtomicBool>) {
        *self.locked() = Answer::Tells(flag);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::path::Path;
    use std::process::{Command, Stdio};

    /// Has a folder, a file and a child; started by the test below.
    #[test]
    #[ignore = "started by the other tests"]
    fn working() {
        let stop = Stop::watch().unwrap();
        let folder = stop.folder("tessera-stop-").unwrap();
        let file = folder.path().with_extension("file");
        std::fs::write(&file, "").unwrap();
        stop.removes(file.clone());
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        println!("left {}", folder.path().display());
        println!("left {}", file.display());
        println!("left /proc/{}", child.id());
        let _ = child.wait();
        std::thread::sleep(PATIENCE);
    }

    #[test]
    fn an_interrupt_leaves_nothing_behind() {
        let mut working = Command::new(std::env::current_exe().unwrap())
            .args(["stop::tests::working", "--exact", "--ignored", "--nocapture"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(working.stdout.take().unwrap()).lines().map(Result::unwrap);
        let left = lines.filter_map(|line| Some(line.split_once("left ")?.1.to_owned()));
        let left: Vec<String> = left.take(3).collect();
        assert!(left.len() == 3 && left.iter().all(|path| Path::new(path).exists()), "{left:?}");
        kill(Pid::from_raw(working.id() as i32), Signal::SIGTERM).unwrap();
        assert_eq!(working.wait().unwrap().code(), Some(1));
        assert!(!left.iter().any(|path| Path::new(path).exists()), "{left:?}");
    }
}
