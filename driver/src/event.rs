//! Events of completion queues: a descriptor to sleep on, instead of polling.
//!
//! ```text
//!  program: arm ──> poll once more ──> sleep on event_fd (poll, epoll, an async runtime) ──> take_event ──> poll
//!            │                             ▲ readable
//!            └──> list ──> one thread ─────┘ looks at armed queues, lets device time run in between
//! ```
//!
//! One thread of the context looks, begun with the first [`arm`](CompletionQueue::arm). While none
//! is armed it sleeps. While a queue is armed and has nothing:
//!
//! - where the NIC's interrupt reaches the driver ([`Device::interrupt`]: Corundum's kernel hands
//!   a frame on) it sleeps until that rises. It reads how many entries there are, looks once more,
//!   says how many it has seen, and sleeps if there are still as many: one that comes later raises
//!   the interrupt;
//! - elsewhere it calls [`Device::wait`] and looks again: of a simulator that is what lets time
//!   pass, of a board it costs the time of a processor.
//!
//! An event costs two system calls and a change of threads beside the poll it announces, some 27 us
//! on two busy cores (`cargo bench -p tessera-driver --bench post_poll`); a program that has a
//! processor for it polls faster.
//!
//! Every queue has a descriptor of its own: who waits for several gives them all to one `epoll`.
//! Any completion is an event; messages do not say that they want one.

use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use nix::poll::{poll, PollFd, PollFlags};
use tessera_abi::regs::{INTERRUPT_COUNT, INTERRUPT_ENABLE, INTERRUPT_SEEN};

use crate::completion::CompletionQueue;
use crate::device::{Device, DeviceError};
use crate::queue::Queue;

/// Why there are no events of a completion queue.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EventError {
    /// The descriptor could not be made, or waited on.
    #[error("no descriptor for the events of a completion queue ({0}): see how many files may be open (`ulimit -n`), or poll")]
    Descriptor(String),
    /// Nobody can look for completions.
    #[error("no thread to look for completions can be begun ({0}): end others, or poll")]
    Thread(String),
    /// The device failed; or the NIC was reset since the queue was made
    /// ([`DeviceError::Reset`]), and all that comes of it is there for a poll.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

fn descriptor(error: std::io::Error) -> EventError {
    EventError::Descriptor(error.to_string())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How many looks in a row at one queue find nothing before the program is woken to look
/// whether anything can come: see [`PollError::Lost`](crate::PollError).
const EMPTY_LOOKS: u32 = 1024;
/// How long the thread sleeps at most before it looks all the same, milliseconds: an interrupt that
/// got lost (an interface that is down, say) makes events late, but takes none away.
const LONGEST_SLEEP: u16 = 100;

/// A queue as the thread sees it.
#[derive(Debug)]
struct Watch {
    queue: Arc<Queue>,
    /// It is in the list.
    armed: AtomicBool,
    /// A byte is in the socket, or about to be.
    told: AtomicBool,
    write: UnixStream,
}

impl Watch {
    fn tell(&self) {
        self.armed.store(false, Ordering::Release);
        if !self.told.swap(true, Ordering::AcqRel) {
            // One byte, into a socket that is empty.
            let _ = (&self.write).write(&[1]);
        }
    }
}

/// A completion queue's end of its events.
#[derive(Debug)]
pub(crate) struct Events {
    watch: Arc<Watch>,
    read: UnixStream,
}

#[derive(Debug, Default)]
struct List {
    /// Armed, with how often each was looked at.
    watches: Vec<(Arc<Watch>, u32)>,
    /// There is a thread.
    begun: bool,
    /// The context is gone.
    closed: bool,
    /// The thread sleeps until an interrupt; what is written here wakes it.
    asleep: Option<UnixStream>,
    /// The interrupt is enabled.
    enabled: bool,
    /// Why the thread could not go on, for the next who arms.
    failed: Option<DeviceError>,
}

/// What a context and its thread share.
#[derive(Debug, Default)]
struct Board {
    list: Mutex<List>,
    changed: Condvar,
}

/// The queues of a context that are armed. The thread ends with it.
#[derive(Debug, Default)]
pub(crate) struct Watcher(Arc<Board>);

impl Watcher {
    /// The context goes: the thread ends, and no interrupt is left on.
    pub(crate) fn close(&self, device: &dyn Device) {
        let mut list = lock(&self.0.list);
        list.closed = true;
        list.wake();
        list.quiet(device);
        self.0.changed.notify_all();
    }

    fn arm(&self, watch: &Arc<Watch>, device: &Arc<dyn Device>) -> Result<(), EventError> {
        let mut list = lock(&self.0.list);
        if let Some(failed) = list.failed.take() {
            return Err(failed.into());
        }
        if watch.armed.load(Ordering::Acquire) {
            return Ok(());
        }
        if !list.begun {
            let (board, device) = (self.0.clone(), Arc::downgrade(device));
            let thread = std::thread::Builder::new().name("tessera-events".into());
            let begun = thread.spawn(move || board.run(&device));
            begun.map_err(|error| EventError::Thread(error.to_string()))?;
            list.begun = true;
        }
        watch.armed.store(true, Ordering::Release);
        list.watches.push((watch.clone(), 0));
        list.wake();
        drop(list);
        self.0.changed.notify_one();
        Ok(())
    }

    /// Nobody waits for this one any more. When this returns, the thread knows nothing of it.
    fn disarm(&self, watch: &Arc<Watch>) {
        lock(&self.0.list).watches.retain(|(other, _)| !Arc::ptr_eq(other, watch));
        watch.armed.store(false, Ordering::Release);
    }

    /// Something happened that concerns all.
    pub(crate) fn tell_all(&self) {
        lock(&self.0.list).tell_all();
    }
}

impl List {
    fn tell_all(&mut self) {
        self.watches.drain(..).for_each(|(watch, _)| watch.tell());
    }

    /// The thread is to look: something changed that no interrupt tells of.
    fn wake(&mut self) {
        if let Some(asleep) = self.asleep.take() {
            // One byte, into a socket that is empty.
            let _ = (&asleep).write(&[1]);
        }
    }

    /// Nobody sleeps any more: no interrupt either.
    fn quiet(&mut self, device: &dyn Device) {
        if std::mem::take(&mut self.enabled) {
            // A device that fails says so to the next who asks it for something.
            let _ = device.write(INTERRUPT_SEEN.offset, 0);
        }
    }

    /// Tells of the queues that have something; whether any had. With `doubts` it also looks for
    /// what is overdue, which it else does now and then.
    fn look(&mut self, doubts: bool) -> bool {
        let before = self.watches.len();
        self.watches.retain_mut(|(watch, looks)| {
            *looks = looks.wrapping_add(1);
            let queue = &watch.queue;
            // The program's poll finds out what it means.
            let behind = (doubts || looks.is_multiple_of(EMPTY_LOOKS.max(16 * queue.entries())))
                && queue.is_written_behind(queue.head());
            if behind {
                queue.suspect();
            }
            let due = behind || queue.written(queue.head());
            if due {
                watch.tell();
            }
            !due
        });
        self.watches.len() < before
    }
}

/// What the thread sleeps on.
struct Alarm {
    interrupt: OwnedFd,
    /// Ends of a socket pair, of which `List::asleep` has the other side.
    woken: UnixStream,
    wake: UnixStream,
}

impl Alarm {
    /// Of a device with an interrupt. Without it, or without descriptors, the thread looks.
    fn new(device: &dyn Device) -> Option<Self> {
        let interrupt = device.interrupt()?.try_clone_to_owned().ok()?;
        let (woken, wake) = UnixStream::pair().ok()?;
        woken.set_nonblocking(true).ok()?;
        Some(Self { interrupt, woken, wake })
    }

    /// Sleeps until the interrupt has risen, somebody wrote to `wake`, or it is enough.
    fn sleep(&self) {
        let mut both = [
            PollFd::new(self.interrupt.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.woken.as_fd(), PollFlags::POLLIN),
        ];
        // Whatever it says: the thread looks.
        let _ = poll(&mut both, LONGEST_SLEEP);
        let mut bytes = [0; 64];
        while nix::unistd::read(&self.interrupt, &mut bytes).is_ok_and(|len| len > 0) {}
        while (&self.woken).read(&mut bytes).is_ok_and(|len| len > 0) {}
    }
}

impl Board {
    fn run(&self, device: &Weak<dyn Device>) {
        let alarm = device.upgrade().and_then(|device| Alarm::new(&*device));
        let mut list = lock(&self.list);
        while !list.closed {
            if list.watches.is_empty() {
                if let Some(device) = device.upgrade() {
                    list.quiet(&*device);
                }
                list = self.changed.wait(list).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            if list.look(false) {
                continue;
            }
            let Some(device) = device.upgrade() else { return };
            // Who arms or drops a queue meanwhile does not wait for device time.
            drop(list);
            let passed = match &alarm {
                Some(alarm) => self.sleep(alarm, device),
                None => device.wait(),
            };
            list = lock(&self.list);
            if let Err(error) = passed {
                list.failed = Some(error);
                list.tell_all();
            }
        }
    }

    /// Sleeps until there may be something, unless there is already.
    fn sleep(&self, alarm: &Alarm, device: Arc<dyn Device>) -> Result<(), DeviceError> {
        let count = device.read(INTERRUPT_COUNT.offset)?;
        let mut list = lock(&self.list);
        // What is counted is in memory: either this look finds it, or it is overdue. So is what does not
        // come while it sleeps.
        let doubts = list.enabled;
        if list.look(doubts) || list.watches.is_empty() || list.closed {
            return Ok(());
        }
        // Even a write that failed may have reached the device.
        list.enabled = true;
        device.write(INTERRUPT_SEEN.offset, INTERRUPT_ENABLE | count)?;
        // One that came before that write raises nothing anew: the level never fell.
        if device.read(INTERRUPT_COUNT.offset)? != count {
            return Ok(());
        }
        list.asleep = alarm.wake.try_clone().ok();
        drop(list);
        // The context may go meanwhile, and the device with it.
        drop(device);
        alarm.sleep();
        lock(&self.list).asleep = None;
        Ok(())
    }
}

impl Events {
    fn new(queue: &Arc<Queue>) -> Result<Self, EventError> {
        let (read, write) = UnixStream::pair().map_err(descriptor)?;
        for end in [&read, &write] {
            end.set_nonblocking(true).map_err(descriptor)?;
        }
        let (armed, told) = Default::default();
        Ok(Self { watch: Arc::new(Watch { queue: queue.clone(), armed, told, write }), read })
    }

    /// Takes the byte, if there is one or comes in time.
    fn take(&self) -> Result<bool, EventError> {
        loop {
            return match (&self.read).read(&mut [0]) {
                Ok(_) => {
                    self.watch.told.store(false, Ordering::Release);
                    Ok(true)
                }
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock | ErrorKind::TimedOut => Ok(false),
                    ErrorKind::Interrupted => continue,
                    _ => Err(descriptor(error)),
                },
            };
        }
    }
}

impl CompletionQueue {
    fn events(&mut self) -> Result<&Events, EventError> {
        if self.events.is_none() {
            self.events = Some(Events::new(&self.queue)?);
        }
        self.events.as_ref().ok_or_else(|| EventError::Descriptor("it is gone".into()))
    }

    /// The descriptor that becomes readable with an event. It is made with the first call,
    /// does not block and stays the same; give it to `poll`, `epoll` or an async runtime, and
    /// leave reading it to [`take_event`](Self::take_event).
    ///
    /// # Errors
    /// If no descriptor is to be had.
    pub fn event_fd(&mut self) -> Result<BorrowedFd<'_>, EventError> {
        Ok(self.events()?.read.as_fd())
    }

    /// Asks for one event, with the next completion that is not polled yet: what verbs call
    /// `ibv_req_notify_cq`. One that is in the queue already counts too, so nothing is
    /// missed; but who polls behind this call, as verbs programs do, sleeps less. To ask
    /// again before the event came changes nothing.
    ///
    /// An event may also come without a completion: when the device fails, when the NIC is
    /// reset, or when one that is overdue is to be looked for. So poll, and arm again.
    ///
    /// # Errors
    /// If the device failed since the last call, or the NIC was reset since the queue was
    /// made: poll it then until it gives nothing. If no thread or descriptor is to be had.
    pub fn arm(&mut self) -> Result<(), EventError> {
        self.events()?;
        let Self { shared, events, queue, .. } = self;
        let Some(Events { watch, .. }) = events else { return Ok(()) };
        shared.watcher.arm(watch, &shared.device)?;
        // Behind the list: a reset that comes later finds it there.
        if shared.lives.is_over(queue.life) {
            shared.watcher.disarm(watch);
            return Err(DeviceError::Reset.into());
        }
        Ok(())
    }

    /// Asks for no event any more. One that was told of stays to be
    /// [taken](Self::take_event).
    pub fn disarm(&mut self) {
        if let Some(Events { watch, .. }) = &self.events {
            self.shared.watcher.disarm(watch);
        }
    }

    /// Takes the event, so that the descriptor is not readable any more; whether there was
    /// one. What `ibv_get_cq_event` and `ibv_ack_cq_events` do, without sleeping.
    ///
    /// # Errors
    /// If no descriptor is to be had.
    pub fn take_event(&mut self) -> Result<bool, EventError> {
        self.events()?.take()
    }

    /// Sleeps until there is an event, and takes it; `false` if the time passed first.
    ///
    /// # Errors
    /// If no descriptor is to be had.
    pub fn wait_event(&mut self, timeout: Option<Duration>) -> Result<bool, EventError> {
        let events = self.events()?;
        if timeout == Some(Duration::ZERO) {
            return events.take();
        }
        let read = &events.read;
        read.set_read_timeout(timeout).and_then(|()| read.set_nonblocking(false)).map_err(descriptor)?;
        let taken = events.take();
        read.set_nonblocking(true).map_err(descriptor)?;
        taken
    }

    /// The queue goes.
    pub(crate) fn end_events(&mut self) {
        self.disarm();
        self.events = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::DmaMemory;
    use tessera_abi::queue::COMPLETION_LEN;

    /// A board's queue is looked at some ten million times a second, for days if need be.
    #[test]
    fn looks_are_counted_for_ever() {
        let memory = DmaMemory::new(16 * COMPLETION_LEN);
        let events = Events::new(&Queue::new(0, 0, memory, 0)).unwrap();
        let mut list = List { watches: vec![(events.watch.clone(), u32::MAX)], ..List::default() };
        assert!(!list.look(false) && !list.look(false));
        assert_eq!(list.watches[0].1, 1);
    }
}
