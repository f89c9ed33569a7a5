//! Which of the numbers ahead have come.
//!
//! ```text
//!            base                      base + 512
//!   ######### . # # . . # . . . . . . . |
//!   all come  └ a ring of bits
//! ```
//!
//! As NICs keep it, a bit per packet, not a set: 512 packets of 4 KiB are what
//! 400 Gb/s send in 42 us.

/// Numbers that a window can tell apart.
pub const SPAN: u32 = 512;
const WORDS: usize = SPAN as usize / 64;
/// Bits of as many numbers, the lowest first.
pub type Bits = [u64; WORDS];

/// See the module's page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    base: u32,
    /// One past the highest set.
    end: u32,
    /// By number modulo the span; clear below base.
    bits: [u64; WORDS],
}

impl Window {
    /// The lowest number that is not set.
    #[inline]
    pub fn base(&self) -> u32 {
        self.base
    }

    /// One past the highest number set; the base if none above it is.
    #[inline]
    pub fn end(&self) -> u32 {
        self.end.max(self.base)
    }

    /// Whether a number is set, as all below the base are.
    #[inline]
    pub fn has(&self, number: u32) -> bool {
        number < self.base || (number < self.end && self.word(number) >> (number % 64) & 1 == 1)
    }

    #[inline]
    fn word(&self, number: u32) -> u64 {
        self.bits[(number / 64) as usize % WORDS]
    }

    /// Sets a number and moves the base past all that are set; whether it was not set
    /// before. One beyond the span stays clear.
    #[inline]
    pub fn set(&mut self, number: u32) -> bool {
        if self.has(number) || number - self.base >= SPAN {
            return false;
        }
        self.end = self.end.max(number + 1);
        if number != self.base {
            self.bits[(number / 64) as usize % WORDS] |= 1 << (number % 64);
            return true;
        }
        self.base += 1;
        while self.base < self.end {
            let at = self.base % 64;
            let ones = (!(self.word(self.base) >> at)).trailing_zeros().min(64 - at);
            self.clear(self.base, ones);
            self.base += ones;
            if at + ones < 64 {
                break;
            }
        }
        true
    }

    /// Sets all below a number.
    pub fn advance(&mut self, base: u32) {
        if base <= self.base {
            return;
        }
        if base - self.base >= SPAN {
            self.bits = [0; WORDS];
            self.base = base;
            return;
        }
        while self.base < base {
            let count = (64 - self.base % 64).min(base - self.base);
            self.clear(self.base, count);
            self.base += count;
        }
        // What follows without a gap has come too.
        if self.has(self.base) {
            self.clear(self.base, 1);
            self.set(self.base);
        }
    }

    /// Clears bits of one word.
    #[inline]
    fn clear(&mut self, from: u32, count: u32) {
        let ones = if count == 64 { u64::MAX } else { (1 << count) - 1 };
        self.bits[(from / 64) as usize % WORDS] &= !(ones << (from % 64));
    }

    /// The first clear number from `from` on and below `until`.
    #[inline]
    pub fn next_clear(&self, from: u32, until: u32) -> Option<u32> {
        let mut number = from.max(self.base);
        while number < until {
            if number >= self.end {
                return Some(number);
            }
            let at = number % 64;
            let ones = (!(self.word(number) >> at)).trailing_zeros().min(64 - at);
            number += ones;
            if at + ones < 64 {
                break;
            }
        }
        (number < until).then_some(number)
    }

    /// Of the numbers from the base on, which are set.
    pub fn ahead(&self) -> Bits {
        let at = self.base % 64;
        let mut ahead = Bits::default();
        for (word, bits) in ahead.iter_mut().enumerate() {
            let first = self.base / 64 + word as u32;
            let low = self.bits[first as usize % WORDS] >> at;
            let high = self.bits[(first + 1) as usize % WORDS];
            *bits = if at == 0 { low } else { low | high << (64 - at) };
        }
        ahead
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against a set.
        #[test]
        fn a_window_is_a_set_of_numbers(
            start in prop::sample::select(vec![0u32, 60, 511, 100_000]),
            steps in prop::collection::vec((0u8..4, 0u32..600), 1..300),
        ) {
            let mut window = Window::default();
            window.advance(start);
            let mut base = start;
            let mut set = BTreeSet::new();
            for (kind, ahead) in steps {
                let number = match kind {
                    0 => base,
                    1 => base + ahead % 8,
                    _ => (base + ahead).saturating_sub(20),
                };
                if kind == 3 {
                    let to = base + ahead % 40;
                    window.advance(to);
                    base = base.max(to);
                } else {
                    let fresh = number >= base && number - base < SPAN && set.insert(number);
                    prop_assert_eq!(window.set(number), fresh, "{}", number);
                }
                set.retain(|&number| number >= base);
                while set.remove(&base) {
                    base += 1;
                }
                prop_assert_eq!(window.base(), base);
                prop_assert_eq!(window.end(), set.last().map_or(base, |&last| last + 1));
                let holes = (number..number + 100).find(|&at| at >= base && !set.contains(&at));
                prop_assert_eq!(window.next_clear(number, number + 100), holes);
                let bits = window.ahead();
                for at in 0..SPAN as usize {
                    let bit = bits[at / 64] >> (at % 64) & 1 == 1;
                    prop_assert_eq!(bit, set.contains(&(base + at as u32)));
                }
            }
        }
    }
}
