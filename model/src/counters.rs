//! Event and drop counters, indexed as the registers are.

use tessera_abi::regs::{self, Counter};
use tessera_abi::status::Drop;

/// The 32-bit wrapping counters of one NIC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counters([u32; regs::COUNTER_COUNT as usize]);

impl Default for Counters {
    fn default() -> Self {
        Self([0; regs::COUNTER_COUNT as usize])
    }
}

impl Counters {
    /// Adds one to an event.
    pub fn event(&mut self, counter: Counter) {
        self.add(counter as usize);
    }

    /// Adds one to a drop reason.
    pub fn drop(&mut self, reason: Drop) {
        self.add(reason as usize);
    }

    fn add(&mut self, index: usize) {
        self.0[index] = self.0[index].wrapping_add(1);
    }

    /// An event's count.
    pub fn of(&self, counter: Counter) -> u32 {
        self.0[counter as usize]
    }

    /// A drop reason's count.
    pub fn dropped(&self, reason: Drop) -> u32 {
        self.0[reason as usize]
    }

    /// Every counter, by register index.
    pub fn all(&self) -> &[u32] {
        &self.0
    }
}
