//! A socket at which programs call.

use std::io::{Error, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use nix::sys::socket::{shutdown, Shutdown};

use super::PAUSE;

/// How long the first word may take.
const FIRST: Duration = Duration::from_secs(10);

/// Listens until it is dropped.
pub(super) struct Door {
    path: PathBuf,
    listener: UnixListener,
    stopped: Arc<AtomicBool>,
    accepts: Option<JoinHandle<()>>,
}

fn listen(path: &Path) -> Result<UnixListener, Error> {
    // The socket of a server that was killed is in the way; a living one, or another file, not.
    if let Ok(file) = std::fs::symlink_metadata(path) {
        if !file.file_type().is_socket() {
            let why = format!("{} is there and no socket: name another, or remove it", path.display());
            return Err(Error::new(ErrorKind::AlreadyExists, why));
        }
        if UnixStream::connect(path).is_err() {
            std::fs::remove_file(path)?;
        }
    }
    UnixListener::bind(path)
}

impl Door {
    /// Listens at `path`, and serves each who calls in a thread of that name. Reads of the
    /// stream end after a while, until `serve` takes that limit away.
    ///
    /// # Errors
    /// If the socket cannot be made, or somebody listens there already.
    pub(super) fn open(
        path: &Path,
        name: &'static str,
        serve: impl Fn(UnixStream) + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        let listener = listen(path)?;
        let (accepting, stopped) = (listener.try_clone()?, Arc::new(AtomicBool::new(false)));
        let mut door = Self { path: path.to_owned(), listener, stopped, accepts: None };
        let (stopped, serve) = (door.stopped.clone(), Arc::new(serve));
        door.accepts = Some(Builder::new().name(format!("{name}s")).spawn(move || loop {
            let stream = accepting.accept();
            if stopped.load(Ordering::Acquire) {
                return;
            }
            let Ok((stream, _)) = stream else {
                // For want of descriptors, most likely, which others give back.
                std::thread::sleep(PAUSE);
                continue;
            };
            // Who calls and says nothing is not waited for; afterwards all have their time.
            let _ = stream.set_read_timeout(Some(FIRST));
            let serve = serve.clone();
            // Who cannot be served finds the connection closed.
            let _ = Builder::new().name(name.into()).spawn(move || serve(stream));
        })?);
        Ok(door)
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Release);
        // Wakes who accepts, also where somebody has removed the socket's file.
        let _ = shutdown(self.listener.as_raw_fd(), Shutdown::Both);
        if let Some(accepts) = self.accepts.take() {
            let _ = accepts.join();
        }
        let _ = std::fs::remove_file(&self.path);
    }
}
