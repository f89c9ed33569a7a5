//! Processes that outlive who started them: of a launcher that is killed the ranks, in groups or
//! sessions of their own.
//!
//! This process takes them in, in place of the system's first process, and ends them.

use std::time::{Duration, Instant};

use nix::sys::prctl::set_child_subreaper;
use nix::sys::signal::{kill, Signal};
use nix::sys::wait::{waitpid, WaitPidFlag, WaitStatus};
use nix::unistd::Pid;

use super::LOOK;

/// How long they may take to end when they are asked to, and when they are not asked.
const ASKED: Duration = Duration::from_secs(2);
const KILLED: Duration = Duration::from_secs(4);

/// Ends those that are left when this is dropped.
#[derive(Debug)]
pub struct Orphans(());

/// Forgets children that have ended: of a group those of -its number, of -1 all.
pub fn reap(which: Pid) {
    while waitpid(which, Some(WaitPidFlag::WNOHANG)).is_ok_and(|status| status != WaitStatus::StillAlive) {}
}

/// Processes that are this one's children now.
pub fn children() -> Vec<Pid> {
    children_of("self")
}

/// Those of a process, by its name under /proc.
pub fn children_of(process: &str) -> Vec<Pid> {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    let numbers = lists.flat_map(|list| list.split_whitespace().map(str::parse).collect::<Vec<_>>());
    numbers.filter_map(|number| number.ok().map(Pid::from_raw)).collect()
}

impl Orphans {
    /// From now on they come here.
    pub fn adopt() -> Self {
        // Of a system that cannot, they stay where they are.
        let _ = set_child_subreaper(true);
        Self(())
    }
}

impl Drop for Orphans {
    fn drop(&mut self) {
        let begun = Instant::now();
        let mut asked = Vec::new();
        loop {
            reap(Pid::from_raw(-1));
            // Whom an end sets free comes here as well.
            let left = children();
            if left.is_empty() || begun.elapsed() > KILLED {
                break;
            }
            for process in left {
                if begun.elapsed() > ASKED {
                    let _ = kill(process, Signal::SIGKILL);
                } else if !asked.contains(&process) {
                    let _ = kill(process, Signal::SIGTERM);
                    asked.push(process);
                }
            }
            std::thread::sleep(LOOK);
        }
        let _ = set_child_subreaper(false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use std::process::{Command, Stdio};

    /// Starts some that go, and one of those does not listen; started by the test below.
    #[test]
    #[ignore = "started by the other tests"]
    fn family() {
        let orphans = Orphans::adopt();
        let script = "setsid sleep 600 & echo gone $!; \
                      setsid sh -c 'trap \"\" TERM; sleep 601; sleep 602' & echo gone $!; sleep 0.2";
        let status = Command::new("sh").args(["-c", script]).status().unwrap();
        assert!(status.success() && children().len() >= 2, "{:?}", children());
        drop(orphans);
        println!("left {:?}", children());
    }

    #[test]
    fn who_outlives_its_parent_is_ended() {
        let run = Command::new(std::env::current_exe().unwrap())
            .args(["run::orphans::tests::family", "--exact", "--ignored", "--nocapture"])
            .stderr(Stdio::inherit())
            .output()
            .unwrap();
        let said = String::from_utf8(run.stdout).unwrap();
        assert!(run.status.success() && said.contains("left []"), "{said}");
        let gone: Vec<_> = said.lines().filter_map(|line| line.split_once("gone ")).collect();
        assert_eq!(gone.len(), 2, "{said}");
        assert!(gone.iter().all(|(_, number)| !Path::new("/proc").join(number).exists()), "{said}");
    }
}
