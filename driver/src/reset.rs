//! Reset of a NIC that is at work, and what becomes of what was made before it.
//!
//! ```text
//!  Context::reset ── RESET ──> drained ──> a new life ── settings, enable
//!                                             └─> objects of the life before: posts are refused,
//!                                                 queues give back what was outstanding, drops are free
//! ```
//!
//! A reset begins a new *life* of the NIC. Queues, endpoints, shared rings and
//! memory regions belong to the life they were made in. Whoever writes to the
//! device on account of an object holds the life, so a reset waits for it and it
//! never meets a NIC in reset.

use std::sync::atomic::{fence, AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, Weak};
use std::time::{Duration, Instant};

use tessera_abi::regs;

use crate::context::{Context, Shared, READY_WAITS};
use crate::device::DeviceError;
use crate::error::ResetError;

/// How long a NIC may take to let go of memory.
const PATIENCE: Duration = Duration::from_secs(1);

/// Has a NIC that is one part of a shell end what it does with memory, by its own reset, where no reset of a function
/// does; waits no longer than [`PATIENCE`].
pub(crate) fn end_dma(
    read: &dyn Fn(u32) -> Result<u32, DeviceError>,
    write: &dyn Fn(u32, u32) -> Result<(), DeviceError>,
    wait: &dyn Fn() -> Result<(), DeviceError>,
) -> Result<(), DeviceError> {
    let control = read(regs::CONTROL.offset)?;
    // Off, or gone.
    if control & 1 == 0 || control == u32::MAX {
        return Ok(());
    }
    fence(Ordering::SeqCst);
    write(regs::RESET.offset, 1)?;
    let begun = Instant::now();
    while read(regs::RESET_STATUS.offset)? & 1 == 1 && begun.elapsed() < PATIENCE {
        wait()?;
    }
    Ok(())
}

/// The lives of a NIC.
#[derive(Debug, Default)]
pub(crate) struct Lives {
    /// Which life it is, and in the lowest bit whether a reset was begun and not ended.
    word: AtomicU64,
    /// Held for as long as the life is to last; by a reset alone.
    held: RwLock<()>,
    /// The same without a lock, for what is done often.
    gates: Mutex<Vec<Weak<Gate>>>,
}

/// What can be done with an object of a NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// All that it is for.
    Ready,
    /// Nothing: a reset of the NIC has begun and not ended.
    Resetting,
    /// The NIC was reset since it was made: it can be polled and dropped.
    Over,
}

/// A life that lasts as long as this is held.
#[derive(Debug)]
pub(crate) struct Alive<'a> {
    number: u32,
    _held: RwLockReadGuard<'a, ()>,
}

impl Alive<'_> {
    pub(crate) fn number(&self) -> u32 {
        self.number
    }
}

/// Where one thread at a time writes doorbells of an object.
///
/// ```text
///  doorbell: inside = true ── life as it was? ── write ── inside = false
///  reset:    life = another ── nobody inside? ── RESET
/// ```
///
/// Both sides write one word and then read the other's, in the one order of all such
/// accesses (`SeqCst`): at least one of them sees the other.
#[derive(Debug)]
pub(crate) struct Gate {
    life: u32,
    inside: AtomicBool,
}

/// One who is inside a gate.
#[derive(Debug)]
pub(crate) struct Inside<'a>(&'a Gate);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.inside.store(false, Ordering::Release);
    }
}

impl Gate {
    pub(crate) fn life(&self) -> u32 {
        self.life
    }

    /// Holds the NIC as it is, for a moment: a reset waits without sleeping.
    pub(crate) fn enter(&self, lives: &Lives) -> Result<Inside<'_>, DeviceError> {
        self.inside.store(true, Ordering::SeqCst);
        let inside = Inside(self);
        lives.check(self.life).map(|()| inside)
    }
}

impl Lives {
    fn read(&self) -> (u32, bool) {
        let word = self.word.load(Ordering::SeqCst);
        ((word >> 1) as u32, word & 1 == 1)
    }

    fn set(&self, number: u32, resetting: bool) {
        self.word.store(u64::from(number) << 1 | u64::from(resetting), Ordering::SeqCst);
    }

    /// Whether an object of this life may use the NIC. One of a life that is over is
    /// told so even while the next has not begun: the NIC has let go of it.
    pub(crate) fn check(&self, number: u32) -> Result<(), DeviceError> {
        match self.read() {
            (now, _) if now != number => Err(DeviceError::Reset),
            (_, true) => Err(DeviceError::Resetting),
            _ => Ok(()),
        }
    }

    /// The same as a state.
    pub(crate) fn state(&self, number: u32) -> State {
        match self.read() {
            (now, _) if now != number => State::Over,
            (_, true) => State::Resetting,
            _ => State::Ready,
        }
    }

    /// Holds the NIC as it is, unless a reset was begun and not ended.
    pub(crate) fn whole(&self) -> Result<Alive<'_>, DeviceError> {
        let held = self.held.read().unwrap_or_else(PoisonError::into_inner);
        match self.read() {
            (_, true) => Err(DeviceError::Resetting),
            (number, false) => Ok(Alive { number, _held: held }),
        }
    }

    /// The same for an object of this life.
    pub(crate) fn alive(&self, number: u32) -> Result<Alive<'_>, DeviceError> {
        let held = self.held.read().unwrap_or_else(PoisonError::into_inner);
        self.check(number).map(|()| Alive { number, _held: held })
    }

    /// The life that an object made now belongs to.
    pub(crate) fn now(&self) -> Result<u32, DeviceError> {
        Ok(self.whole()?.number)
    }

    /// Whether the NIC has forgotten all of this life. Then all that it wrote is seen.
    pub(crate) fn is_over(&self, number: u32) -> bool {
        self.read().0 != number
    }

    /// A gate for an object of this life.
    pub(crate) fn gate(&self, life: u32) -> Arc<Gate> {
        let gate = Arc::new(Gate { life, inside: AtomicBool::new(false) });
        let mut gates = self.gates.lock().unwrap_or_else(PoisonError::into_inner);
        gates.retain(|gate| gate.strong_count() > 0);
        gates.push(Arc::downgrade(&gate));
        gate
    }

    /// Returns when nobody is inside a gate; who comes later sees that a reset has begun.
    fn wait_at_gates(&self) {
        let gates = self.gates.lock().unwrap_or_else(PoisonError::into_inner);
        for gate in gates.iter().filter_map(Weak::upgrade) {
            while gate.inside.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
        }
    }
}

impl Shared {
    /// Has the NIC end what it does and forget what it holds; else what it waits for.
    pub(crate) fn stop(&self) -> Result<Option<u32>, DeviceError> {
        self.device.write(regs::RESET.offset, 1)?;
        let mut status = 0;
        let done = self.wait_until(|| {
            status = self.device.read(regs::RESET_STATUS.offset)?;
            Ok(status & 1 == 0)
        })?;
        Ok(done.is_none().then_some(status))
    }
}

impl Context {
    /// Resets the NIC, whatever it is doing, and sets it up again as it was opened.
    ///
    /// It ends every access to host memory and the frame it is sending, then
    /// forgets all it holds; counters and TIME go on. Completion queues, endpoints,
    /// shared rings and memory regions made before are of no more use than to be
    /// dropped, and [polled](crate::CompletionQueue::poll): what the NIC had completed
    /// is there, and every other request has ended with
    /// [`Status::Flushed`](crate::Status). (Verbs call that a flush error.) A send that
    /// ended so may have been delivered. Protection domains stay.
    ///
    /// Peers are not told. New endpoints have other numbers, so that no packet of
    /// before reaches them; what peers were sending to old ones ends there when
    /// their own bounds pass, what they were receiving from them too.
    ///
    /// # Errors
    /// If the device fails, or host memory or the MAC does not let go of the NIC in
    /// time ([`ResetError::Held`]): then nothing has ended, and the NIC may still write.
    /// What is dropped meanwhile stays mapped, for good.
    ///
    /// If the NIC has let go and then does not become ready ([`ResetError::NotReady`])
    /// or the device fails: then all that was made before has ended as if the reset had
    /// succeeded, and polling flushes it.
    ///
    /// Either way every other call is refused, and this one may be repeated.
    //= RS-1
    //= RS-4
    pub fn reset(&self) -> Result<(), ResetError> {
        let shared = &self.shared;
        let lives = &shared.lives;
        let _alone = lives.held.write().unwrap_or_else(PoisonError::into_inner);
        let (number, _) = lives.read();
        lives.set(number, true);
        lives.wait_at_gates();
        if let Some(status) = shared.stop()? {
            return Err(ResetError::Held { status, waits: READY_WAITS });
        }
        // From here on nothing of before is read or written any more.
        let number = number.wrapping_add(1);
        lives.set(number, true);
        shared.forget();
        // What was outstanding has ended.
        shared.watcher.tell_all();
        if !shared.set_up()? {
            return Err(ResetError::NotReady { waits: READY_WAITS });
        }
        lives.set(number, false);
        Ok(())
    }
}
