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

use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use tessera_abi::regs;

use crate::context::{Context, READY_WAITS};
use crate::device::DeviceError;
use crate::error::ResetError;

/// Which life it is, and whether a reset is under way.
#[derive(Debug, Default)]
pub(crate) struct Life {
    number: u32,
    resetting: bool,
}

impl Life {
    pub(crate) fn number(&self) -> u32 {
        self.number
    }
}

/// The lives of a NIC.
#[derive(Debug, Default)]
pub(crate) struct Lives(RwLock<Life>);

impl Lives {
    /// Holds the NIC as it is, unless a reset was begun and not ended.
    pub(crate) fn whole(&self) -> Result<RwLockReadGuard<'_, Life>, DeviceError> {
        let life = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if life.resetting {
            return Err(DeviceError::Resetting);
        }
        Ok(life)
    }

    /// The same for an object of this life. One of a life that is over is told so
    /// even while the next has not begun: the NIC has let go of it.
    pub(crate) fn alive(&self, number: u32) -> Result<RwLockReadGuard<'_, Life>, DeviceError> {
        let life = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if life.number != number {
            return Err(DeviceError::Reset);
        }
        if life.resetting {
            return Err(DeviceError::Resetting);
        }
        Ok(life)
    }

    /// The life that an object made now belongs to.
    pub(crate) fn now(&self) -> Result<u32, DeviceError> {
        Ok(self.whole()?.number)
    }

    /// Whether the NIC has forgotten all of this life.
    pub(crate) fn is_over(&self, number: u32) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).number != number
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
        let mut life = shared.lives.0.write().unwrap_or_else(PoisonError::into_inner);
        life.resetting = true;
        shared.device.write(regs::RESET.offset, 1)?;
        let mut status = 0;
        let done = shared.wait_until(|| {
            status = shared.device.read(regs::RESET_STATUS.offset)?;
            Ok(status & 1 == 0)
        })?;
        if done.is_none() {
            return Err(ResetError::Held { status, waits: READY_WAITS });
        }
        // From here on nothing of before is read or written any more.
        life.number = life.number.wrapping_add(1);
        shared.forget();
        if !shared.set_up()? {
            return Err(ResetError::NotReady { waits: READY_WAITS });
        }
        life.resetting = false;
        Ok(())
    }
}
