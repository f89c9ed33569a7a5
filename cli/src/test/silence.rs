//! Lines of a program, and what happens when none comes: a test that waits for ever must not
//! take the tests behind it along.

use std::io::{ErrorKind, Read};
use std::process::Child;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use nix::sys::signal::{kill, Signal};

use crate::output::Failure;
use crate::run::orphans;

/// What came, or did not.
#[derive(Debug, PartialEq, Eq)]
pub enum Heard {
    Line(String),
    /// A test has begun, by libtest's word for one that runs alone.
    Begun(String),
    /// Nothing for the time that was given.
    Silence,
    End,
}

/// The lines of a program, read by a thread of their own.
pub struct Lines(Receiver<std::io::Result<Heard>>);

impl Lines {
    pub fn of(mut output: impl Read + Send + 'static) -> Self {
        let (send, receive) = mpsc::channel();
        // Ends with the program's output, or with who listens.
        std::thread::spawn(move || {
            let (mut splitter, mut bytes) = (Splitter::default(), vec![0; 1 << 16]);
            loop {
                let heard = match output.read(&mut bytes) {
                    Ok(0) => break send_all(&send, splitter.end()),
                    Ok(count) => splitter.take(&bytes[..count]),
                    Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                    Err(error) => break send.send(Err(error)).is_ok(),
                };
                if !send_all(&send, heard) {
                    break false;
                }
            }
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
            Ok(heard) => Ok(heard?),
            Err(RecvTimeoutError::Timeout) => Ok(Heard::Silence),
            Err(RecvTimeoutError::Disconnected) => Ok(Heard::End),
        }
    }
}

/// Whether there is anybody who listens.
fn send_all(send: &Sender<std::io::Result<Heard>>, heard: Vec<Heard>) -> bool {
    heard.into_iter().all(|heard| send.send(Ok(heard)).is_ok())
}

/// Bytes to lines. Of a test that runs alone libtest says the name when it begins and the rest of the line when it
/// ends, and what the test itself prints past libtest comes between the two.
#[derive(Default)]
struct Splitter {
    /// Of a line that has not ended.
    rest: Vec<u8>,
    /// The test whose end is still to be said.
    begun: Option<String>,
}

impl Splitter {
    fn take(&mut self, bytes: &[u8]) -> Vec<Heard> {
        let mut heard = Vec::new();
        for &byte in bytes {
            if byte == b'\n' {
                let line = std::mem::take(&mut self.rest);
                self.line(&String::from_utf8_lossy(&line), &mut heard);
            } else {
                self.rest.push(byte);
            }
        }
        if let Some(name) = begins(&self.rest).filter(|_| self.begun.is_none()) {
            self.rest.clear();
            self.begin(name, &mut heard);
        }
        heard
    }

    /// What is left when there is no more.
    fn end(&mut self) -> Vec<Heard> {
        let mut heard = Vec::new();
        if !self.rest.is_empty() {
            let line = std::mem::take(&mut self.rest);
            self.line(&String::from_utf8_lossy(&line), &mut heard);
        }
        heard
    }

    fn begin(&mut self, name: String, heard: &mut Vec<Heard>) {
        heard.push(Heard::Begun(name.clone()));
        self.begun = Some(name);
    }

    fn line(&mut self, line: &str, heard: &mut Vec<Heard>) {
        let mut line = line.to_owned();
        if let Some(name) = self.begun.take_if(|_| outcome(&line)) {
            line = format!("test {name} ... {line}");
        } else if let Some((name, said)) =
            line.strip_prefix("test ").and_then(|rest| rest.split_once(" ... "))
        {
            if !outcome(said) && self.begun.is_none() {
                let said = said.to_owned();
                self.begin(name.to_owned(), heard);
                line = said;
            }
        }
        heard.push(Heard::Line(line));
    }
}

/// The test of which libtest has said only the name so far.
fn begins(line: &[u8]) -> Option<String> {
    let name = std::str::from_utf8(line).ok()?.strip_prefix("test ")?.strip_suffix(" ... ")?;
    Some(name.to_owned())
}

/// What libtest closes a test's line with.
fn outcome(said: &str) -> bool {
    ["ok", "FAILED", "ignored"].contains(&said) || said.starts_with("ignored, ")
}

/// Ends what a program has started, and not the program: cargo goes on with the next test program.
pub fn end_started_by(program: &Child) {
    end_below(&program.id().to_string());
}

/// Ends a program and what it has started.
pub fn end(program: &mut Child) {
    end_started_by(program);
    let _ = program.kill();
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

    fn heard(parts: &[&str]) -> Vec<Heard> {
        let mut splitter = Splitter::default();
        let mut heard: Vec<_> = parts.iter().flat_map(|part| splitter.take(part.as_bytes())).collect();
        heard.extend(splitter.end());
        heard
    }

    fn line(text: &str) -> Heard {
        Heard::Line(text.into())
    }

    #[test]
    fn a_test_that_runs_alone_has_begun_before_its_line_ends() {
        let begun = || Heard::Begun("a::b".into());
        let parts = ["running 1 test\ntest a::b ... ", "ok\n", "\nend"];
        assert_eq!(
            heard(&parts),
            [line("running 1 test"), begun(), line("test a::b ... ok"), line(""), line("end")]
        );
        // In one piece, as several at once say it.
        assert_eq!(heard(&["test a::b ... FAILED\n"]), [line("test a::b ... FAILED")]);
        // What passes libtest by, as what a started program prints.
        let between = [begun(), line("SKIPPED b: none"), line("test x ... y"), line("test a::b ... ok")];
        assert_eq!(heard(&["test a::b ... ", "SKIPPED b: none\ntest x ... y\nok\n"]), between);
        assert_eq!(heard(&["test a::b ... SKIPPED b: none\ntest x ... y\nok\n"]), between);
        let left = "test a::b ... ignored, takes an hour";
        assert_eq!(heard(&[left, "\n"]), [line(left)]);
        assert_eq!(heard(&["test a::b ... ", "ignored, takes an hour\n"]), [begun(), line(left)]);
    }
}
