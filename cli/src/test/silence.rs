//! Lines of a program, and what happens when none comes: a test that waits for ever must not
//! take the tests behind it along.

use std::io::{BufRead, BufReader, Read};
use std::process::Child;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use nix::sys::signal::{kill, Signal};

use crate::output::Failure;
use crate::run::orphans;

/// What came, or did not.
pub enum Heard {
    Line(String),
    /// Nothing for the time that was given.
    Silence,
    End,
}

/// The lines of a program, read by a thread of their own.
pub struct Lines(Receiver<std::io::Result<String>>);

impl Lines {
    pub fn of(output: impl Read + Send + 'static) -> Self {
        let (send, receive) = mpsc::channel();
        // Ends with the program's output, or with who listens.
        std::thread::spawn(move || {
            BufReader::new(output)
                .lines()
                .map(|line| send.send(line))
                .take_while(Result::is_ok)
                .for_each(drop)
        });
        Self(receive)
    }

    /// The next of them; without `patience` however long it takes.
    pub fn next(&self, patience: Option<Duration>) -> Result<Heard, Failure> {
        let heard = match patience {
            Some(patience) => self.0.recv_timeout(patience),
            None => self.0.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match heard {
            Ok(line) => Ok(Heard::Line(line?)),
            Err(RecvTimeoutError::Timeout) => Ok(Heard::Silence),
            Err(RecvTimeoutError::Disconnected) => Ok(Heard::End),
        }
    }
}

/// Ends what a program has started, and not the program: cargo goes on with the next test program.
pub fn end_started_by(program: &Child) {
    end_below(&program.id().to_string());
}

/// With all that those have started, which would keep the output open.
fn end_below(process: &str) {
    for started in orphans::children_of(process) {
        end_below(&started.to_string());
        let _ = kill(started, Signal::SIGKILL);
    }
}

/// The test that libtest says has not ended.
pub fn running(line: &str) -> Option<&str> {
    line.strip_prefix("test ")?
        .strip_suffix(" seconds")?
        .split_once(" has been running for over ")
        .map(|(name, _)| name)
}

/// The test that libtest says has ended.
pub fn ended(line: &str) -> Option<&str> {
    line.strip_prefix("test ")?.split_once(" ... ").map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_from_libtests_lines() {
        assert_eq!(running("test a::b has been running for over 60 seconds"), Some("a::b"));
        assert_eq!(running("test a::b ... ok"), None);
        assert_eq!(ended("test a::b ... FAILED"), Some("a::b"));
        assert_eq!(ended("test result: ok. 1 passed"), None);
    }
}
