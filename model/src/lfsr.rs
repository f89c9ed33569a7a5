//! The one source of pseudo-random numbers: a 32-bit Galois LFSR.

use tessera_abi::params::LFSR_MASK;

/// The LFSR; state 0 cannot occur.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lfsr(u32);

impl Lfsr {
    /// Starts from `seed`; 0 is taken as 1, it would never move.
    pub fn new(seed: u32) -> Self {
        Self(if seed == 0 { 1 } else { seed })
    }

    /// One step; returns the new state.
    pub fn step(&mut self) -> u32 {
        self.0 = (self.0 >> 1) ^ if self.0 & 1 == 1 { LFSR_MASK } else { 0 };
        self.0
    }

    /// The state.
    pub fn state(&self) -> u32 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn does_not_repeat_early() {
        let mut lfsr = Lfsr::new(1);
        assert!((0..1_000_000).all(|_| lfsr.step() != 1));
    }
}
