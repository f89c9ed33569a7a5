//! What the driver needs of a device: registers, memory it can reach, and a
//! way to let its time run.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use crate::memory::DmaMemory;

/// A device access failed. Nothing can be said about the device's state.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// A register access drew no answer or an error response.
    #[error("register access at {offset:#x} failed: {reason}")]
    Register {
        /// Byte address.
        offset: u32,
        /// What the bus said.
        reason: String,
    },
    /// The device cannot reach this memory.
    #[error("cannot map {len} bytes for DMA: {reason}")]
    Map {
        /// Bytes asked for.
        len: usize,
        /// Why not.
        reason: String,
    },
    /// The NIC was reset since this object was made.
    #[error("the NIC was reset since this was made: drop it and make it anew")]
    Reset,
    /// A reset of the NIC has begun and not ended.
    #[error("the NIC is in the middle of a reset: call Context::reset again")]
    Resetting,
    /// The device is gone (its simulator stopped, the board was removed).
    #[error("the device is gone: {0}")]
    Gone(String),
}

/// Registers, DMA-able memory and time.
///
/// Methods take `&self`: a device is shared by its contexts and serialises
/// accesses itself. A register write is posted: it may take effect after the
/// call returns, but in order with later accesses of any thread that come after it, and
/// after every read and write of mapped memory that came before it: the device may write
/// what was read, and reads what was written.
pub trait Device: Send + Sync {
    /// Reads a 32-bit register at a byte address.
    fn read(&self, offset: u32) -> Result<u32, DeviceError>;

    /// Writes a 32-bit register at a byte address.
    fn write(&self, offset: u32, value: u32) -> Result<(), DeviceError>;

    /// Makes memory reachable and returns the address the device uses for its
    /// first byte. The device keeps the `Arc` until [`unmap`](Device::unmap),
    /// so it can never reach freed memory. The same memory may be mapped several
    /// times: each `unmap` undoes one `map`.
    fn map(&self, memory: &Arc<DmaMemory>) -> Result<u64, DeviceError>;

    /// Takes memory away from the device, where it was mapped once more than unmapped.
    /// It may be called from a poll, with locks of the driver held: it must not wait
    /// for another call of the driver.
    fn unmap(&self, address: u64);

    /// Called when the host has nothing to do: lets device time run (a
    /// simulator runs some clocks, a board yields the processor).
    fn wait(&self) -> Result<(), DeviceError>;

    /// Whether its time passes only while somebody waits, so that a poll that finds nothing is
    /// to [wait](Self::wait): a program that does nothing but poll would never see an end. Not
    /// of boards, nor where who made the device lets time pass (several NICs in lockstep).
    fn yields(&self) -> bool {
        false
    }

    /// A descriptor that becomes readable when the NIC's interrupt rises, and again from time to
    /// time while it is high; what is read from it means nothing. It does not block. `None`
    /// where no interrupt reaches the driver: then a thread that waits for completions has to look
    /// for them all the time.
    fn interrupt(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}
