//! Completions of a Tessera NIC for programs on tokio.
//!
//! ```text
//!  task: completions.next().await ──> poll ── something? ── yes ──> completion
//!                                      ▲         │ no
//!                                      └── event ┴── arm, poll once more, sleep on the queue's descriptor
//! ```
//!
//! Posting needs nothing of this: it never waits for the NIC, and completions come here
//! whatever task posted. (Register accesses of a simulated NIC take as long as the
//! simulator lets them; of a board they are a store.)
//!
//! ```
#![doc = include_str!("../examples/ended.rs")]
//! ```
//!
//! It is run on Verilated NICs by `testbenches/tests/nic_examples.rs`.

use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::task::{ready, Context, Poll};

use futures_core::Stream;
use tessera_driver::{CompletionQueue, DeviceError, EventError, PollError, WorkCompletion};
use tokio::io::unix::AsyncFd;
use tokio::io::Interest;
use tokio::runtime::Handle;

/// Why no completion came.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompletionsError {
    /// The queue cannot be polled.
    #[error(transparent)]
    Poll(#[from] PollError),
    /// It gives no events; of a NIC that was reset: it gave all that it had.
    #[error(transparent)]
    Events(#[from] EventError),
    /// There is no runtime to wait with.
    #[error("no tokio runtime waits for descriptors here ({0}): call this inside one, with `enable_io`")]
    Runtime(String),
}

/// Completions taken from the NIC in one go.
const BATCH: usize = 32;

/// A completion queue whose completions are awaited.
///
/// Nothing is lost where a future of it is dropped: what was polled is kept here. It is a
/// [`Stream`] as well, that ends behind the first error.
#[derive(Debug)]
pub struct Completions {
    queue: CompletionQueue,
    fd: AsyncFd<OwnedFd>,
    taken: Box<[WorkCompletion; BATCH]>,
    /// Of these, which is next, and how many there are.
    next: usize,
    count: usize,
    /// As a stream, it has told of an error.
    ended: bool,
}

impl Completions {
    /// Takes a queue over: no poll of it lets device time run any more, the events' thread does.
    ///
    /// # Errors
    /// If there is no runtime here, or no descriptor is to be had.
    ///
    /// # Panics
    /// If the runtime was made without `enable_io`, as tokio's own types do.
    pub fn new(mut queue: CompletionQueue) -> Result<Self, CompletionsError> {
        queue.set_yielding(false);
        let runtime = |error: &dyn std::fmt::Display| CompletionsError::Runtime(error.to_string());
        Handle::try_current().map_err(|error| runtime(&error))?;
        let fd = queue.event_fd()?.try_clone_to_owned();
        let fd = fd.map_err(|error| EventError::Descriptor(error.to_string()))?;
        // SAFETY: the descriptor is its own, and closed when that is dropped.
        let fd = unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE) };
        let fd = fd.map_err(|error| runtime(&error))?;
        let taken = Box::new([WorkCompletion::default(); BATCH]);
        Ok(Self { queue, fd, taken, next: 0, count: 0, ended: false })
    }

    /// The queue, to create endpoints with.
    pub fn queue(&self) -> &CompletionQueue {
        &self.queue
    }

    /// Waits for the next completion.
    ///
    /// # Errors
    /// As [`CompletionQueue::poll`] and [`CompletionQueue::arm`] have it. Behind what a reset of the NIC
    /// flushed comes [`DeviceError::Reset`].
    pub async fn next(&mut self) -> Result<WorkCompletion, CompletionsError> {
        std::future::poll_fn(|cx| self.poll_completion(cx)).await
    }

    /// Takes what there is now, of no task's time.
    ///
    /// # Errors
    /// As [`CompletionQueue::poll`] has it.
    pub fn try_next(&mut self) -> Result<Option<WorkCompletion>, CompletionsError> {
        if self.next == self.count {
            (self.next, self.count) = (0, 0);
            self.count = self.queue.poll(&mut self.taken[..])?;
        }
        let done = self.taken[..self.count].get(self.next).copied();
        self.next += usize::from(done.is_some());
        Ok(done)
    }

    /// As [`next`](Self::next), for futures made by hand.
    pub fn poll_completion(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<WorkCompletion, CompletionsError>> {
        loop {
            if let Some(done) = self.try_next()? {
                return Poll::Ready(Ok(done));
            }
            let armed = self.queue.arm();
            // What came before that, and what a reset flushed.
            if let Some(done) = self.try_next()? {
                return Poll::Ready(Ok(done));
            }
            armed?;
            let mut ready = ready!(self.fd.poll_read_ready(cx))
                .map_err(|error| CompletionsError::Events(EventError::Descriptor(error.to_string())))?;
            self.queue.take_event()?;
            ready.clear_ready();
        }
    }
}

impl Stream for Completions {
    type Item = Result<WorkCompletion, CompletionsError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.ended {
            return Poll::Ready(None);
        }
        let next = ready!(self.poll_completion(cx));
        self.ended = next.is_err();
        Poll::Ready(Some(next))
    }
}

impl CompletionsError {
    /// Whether the NIC was reset, and all that comes of the queue has come.
    pub fn is_reset(&self) -> bool {
        let reset = |error: &DeviceError| *error == DeviceError::Reset;
        match self {
            Self::Events(EventError::Device(error)) | Self::Poll(PollError::Device(error)) => reset(error),
            _ => false,
        }
    }
}
