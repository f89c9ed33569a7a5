//! Event and drop counters, indexed as the registers are.

use std::hash::{Hash, Hasher};

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

/// Counters count and decide nothing: NICs that differ in them alone behave the
/// same, and whoever explores states (crate `check`) need not tell them apart.
impl Hash for Counters {
    fn hash<H: Hasher>(&self, _: &mut H) {}
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
