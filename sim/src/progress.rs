//! Says on stderr what is being waited for, once it takes over two seconds.
//!
//! A terminal gets one line that is rewritten in place; a log gets one line
//! when the wait becomes noticeable and one when it is over.

use std::io::{IsTerminal, Write};
use std::sync::mpsc::{channel, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Shorter waits are not worth a line.
const NOTICEABLE: Duration = Duration::from_secs(2);
/// How often a terminal is redrawn.
const REDRAW: Duration = Duration::from_millis(250);

/// A wait with a name; the line disappears (terminal) or is closed (log) on
/// drop.
pub struct Progress {
    detail: Arc<Mutex<String>>,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// Starts waiting for `what`, for example `building the model of nic512`.
    pub fn start(what: impl Into<String>) -> Self {
        let what = what.into();
        let detail = Arc::new(Mutex::new(String::new()));
        let shown = detail.clone();
        let (stop, stopped) = channel::<()>();
        let thread = std::thread::spawn(move || {
            let begun = Instant::now();
            if stopped.recv_timeout(NOTICEABLE) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let mut err = std::io::stderr();
            let terminal = err.is_terminal();
            if !terminal {
                let _ = writeln!(err, "tessera: {what} ...");
            }
            loop {
                if terminal {
                    let detail = shown.lock().map(|d| d.clone()).unwrap_or_default();
                    let _ = write!(err, "\r\x1b[Ktessera: {what}{detail} ({} s)", begun.elapsed().as_secs());
                    let _ = err.flush();
                }
                if stopped.recv_timeout(REDRAW) != Err(RecvTimeoutError::Timeout) {
                    break;
                }
            }
            let _ = match terminal {
                true => write!(err, "\r\x1b[K").and_then(|()| err.flush()),
                false => writeln!(err, "tessera: {what}: {:.1} s", begun.elapsed().as_secs_f64()),
            };
        });
        Progress { detail, stop: Some(stop), thread: Some(thread) }
    }

    /// Shows how far the wait has come, for example `3 of 17 files`.
    pub fn detail(&self, text: impl std::fmt::Display) {
        if let Ok(mut detail) = self.detail.lock() {
            *detail = format!(": {text}");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
