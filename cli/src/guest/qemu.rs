//! QEMU with a guest: its console is read from the start, and it ends with us.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::signal::{kill, Signal};
use nix::unistd::Pid;

use super::Kernel;
use crate::output::Failure;

/// How often somebody looks whether it is to end.
const LOOK: Duration = Duration::from_millis(100);

/// What a guest's machine is.
pub struct Options<'a> {
    /// QEMU's `-machine`.
    pub machine: &'a str,
    /// MiB of memory.
    pub memory: u32,
    /// Words of the kernel's command line, besides the console.
    pub append: &'a str,
    /// Further arguments: devices.
    pub arguments: Vec<OsString>,
    /// When it is ended at the latest.
    pub limit: Duration,
}

/// What the guest and QEMU have said so far.
#[derive(Default)]
struct Said {
    text: String,
    over: bool,
}

/// A running guest. Dropping it ends it.
pub struct Qemu {
    child: Child,
    console: ChildStdin,
    said: Arc<(Mutex<Said>, Condvar)>,
    /// What of the console has been taken.
    taken: usize,
    until: Instant,
    /// Whether somebody wants it ended.
    stopped: Arc<AtomicBool>,
}

impl Qemu {
    /// Starts a guest.
    ///
    /// # Errors
    /// If QEMU cannot be started.
    pub fn start(kernel: &Kernel, initial: &Path, options: &Options<'_>) -> Result<Self, Failure> {
        // `timeout` ends it also when we are killed.
        let seconds = options.limit.as_secs().max(1).to_string();
        let mut qemu = Command::new("timeout");
        qemu.args(["--foreground", "-k", "5", &seconds, "qemu-system-x86_64"]);
        qemu.args(["-machine", options.machine, "-accel", "tcg", "-m", &options.memory.to_string()]);
        qemu.args(["-nodefaults", "-nographic", "-no-reboot", "-serial", "stdio"]);
        qemu.args(["-append", &format!("console=ttyS0 quiet panic=-1 {}", options.append)]);
        qemu.arg("-kernel").arg(kernel.vmlinux()).arg("-initrd").arg(initial);
        qemu.args(&options.arguments);
        qemu.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child =
            qemu.spawn().map_err(|error| Failure::new(format!("cannot start timeout: {error}")))?;
        let (Some(console), Some(out), Some(error)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(Failure::new("QEMU has no pipes"));
        };
        let said = Arc::new((Mutex::new(Said::default()), Condvar::new()));
        listen(out, said.clone(), true);
        listen(error, said.clone(), false);
        Ok(Self {
            child,
            console,
            said,
            taken: 0,
            until: Instant::now() + options.limit,
            stopped: Arc::default(),
        })
    }

    /// What ends every wait for the guest, when it is set.
    pub fn stop(&self) -> Arc<AtomicBool> {
        self.stopped.clone()
    }

    /// Waits until the guest's console has these words; what came before them, since the
    /// last call.
    ///
    /// # Errors
    /// If they do not come in time: what it said instead.
    pub fn wait_for(&mut self, words: &str, limit: Duration) -> Result<String, Failure> {
        let mut before = String::new();
        match self.follow(words, limit, &mut |text| before += text) {
            Ok(()) => Ok(before),
            Err(error) => Err(Failure::new(format!("{error}:\n{}", tail(&before)))),
        }
    }

    /// The same, and shows what comes before them as it comes.
    ///
    /// # Errors
    /// If they do not come in time.
    pub fn follow(
        &mut self,
        words: &str,
        limit: Duration,
        show: &mut dyn FnMut(&str),
    ) -> Result<(), Failure> {
        let until = self.until.min(Instant::now() + limit);
        let (said, news) = &*self.said;
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let rest = &said.text[self.taken..];
            if let Some(at) = rest.find(words) {
                show(&rest[..at]);
                self.taken += at + words.len();
                return Ok(());
            }
            let left = until.saturating_duration_since(Instant::now());
            let stopped = self.stopped.load(Ordering::Relaxed);
            let over = said.over || left.is_zero() || stopped;
            // The end of it may be the beginning of the words.
            let begun = (1..words.len()).rev().find(|&len| rest.ends_with(&words[..len]));
            let len = rest.len() - begun.filter(|_| !over).unwrap_or(0);
            show(&rest[..len]);
            self.taken += len;
            if stopped {
                return Err(Failure::new("stopped"));
            }
            if over {
                let why = if said.over { "ended" } else { "takes too long" };
                return Err(Failure::new(format!("the guest {why} before it says `{words}`")));
            }
            let left = left.min(LOOK);
            said = news.wait_timeout(said, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Has an init that ends in [`SERVE`](super::SERVE) do a line, and shows what it prints
    /// as it comes; its exit code.
    ///
    /// # Errors
    /// If the guest does not come back in time.
    pub fn show(&mut self, line: &str, limit: Duration, show: &mut dyn FnMut(&str)) -> Result<i32, Failure> {
        writeln!(self.console, "{line}").and_then(|()| self.console.flush()).map_err(deaf)?;
        self.follow("@ ended with ", limit, show)?;
        let code = self.wait_for("\n", limit)?;
        code.trim().parse().map_err(|_| Failure::new(format!("`{code}` is no exit code")))
    }

    /// What the guest reads, for somebody else to write to.
    ///
    /// # Errors
    /// If the system has no descriptors left.
    pub fn console(&self) -> Result<File, Failure> {
        Ok(File::from(self.console.as_fd().try_clone_to_owned()?))
    }

    /// Has an init that ends in [`SERVE`](super::SERVE) do a line; what it printed, and
    /// its exit code.
    ///
    /// # Errors
    /// If the guest does not come back in time.
    pub fn run(&mut self, line: &str, limit: Duration) -> Result<(String, i32), Failure> {
        let mut printed = String::new();
        match self.show(line, limit, &mut |text| printed += text) {
            Ok(code) => Ok((printed, code)),
            Err(error) => Err(Failure::new(format!("{error}:\n{}", tail(&printed)))),
        }
    }

    /// Waits until the guest has powered itself off; all that it said since the last call.
    pub fn finish(mut self) -> String {
        let (said, news) = &*self.said;
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        while !said.over && Instant::now() < self.until {
            let left = self.until.saturating_duration_since(Instant::now());
            said = news.wait_timeout(said, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        let text = said.text[self.taken..].to_owned();
        drop(said);
        let _ = self.child.try_wait();
        text
    }
}

impl Drop for Qemu {
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            // To QEMU by `timeout`.
            let _ = kill(Pid::from_raw(self.child.id() as i32), Signal::SIGTERM);
            let _ = self.child.wait();
        }
    }
}

fn deaf(error: std::io::Error) -> Failure {
    Failure::new(format!("the guest does not listen: {error}"))
}

/// The last lines.
pub fn tail(text: &str) -> String {
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(40)..].join("\n")
}

/// Adds what comes to what was said, by a thread.
fn listen(mut from: impl Read + Send + 'static, said: Arc<(Mutex<Said>, Condvar)>, last: bool) {
    std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        loop {
            let len = from.read(&mut bytes).unwrap_or(0);
            let mut heard = said.0.lock().unwrap_or_else(PoisonError::into_inner);
            heard.text += &String::from_utf8_lossy(&bytes[..len]).replace('\r', "");
            heard.over |= len == 0 && last;
            said.1.notify_all();
            if len == 0 {
                return;
            }
        }
    });
}
