//! Which addresses are free: of a device, in a file.

use std::collections::BTreeMap;

/// Free addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranges {
    /// First and length; no two touch.
    free: BTreeMap<u64, u64>,
}

impl Ranges {
    /// All from the first to the last of each range.
    pub fn new(of: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let mut ranges = Self::default();
        for (first, last) in of {
            if let Some(len) = last.checked_sub(first).and_then(|len| len.checked_add(1)) {
                ranges.give_back(first, len);
            }
        }
        ranges
    }

    /// Takes the lowest that are long enough.
    pub fn take(&mut self, len: u64) -> Option<u64> {
        let (at, free) = self.free.iter().find(|(_, &free)| free >= len).map(|(&at, &free)| (at, free))?;
        self.free.remove(&at);
        if free > len {
            self.free.insert(at + len, free - len);
        }
        Some(at)
    }

    /// Makes them free again.
    pub fn give_back(&mut self, mut at: u64, mut len: u64) {
        if let Some((&before, &free)) = self.free.range(..at).next_back() {
            if before + free == at {
                self.free.remove(&before);
                (at, len) = (before, free + len);
            }
        }
        if let Some(free) = at.checked_add(len).and_then(|end| self.free.remove(&end)) {
            len += free;
        }
        self.free.insert(at, len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_given_out_once() {
        let mut ranges = Ranges::new([(0x1000, 0x2FFF), (0x8000, 0xFFFF), (9, 8)]);
        assert_eq!(ranges.take(0x3000), Some(0x8000));
        assert_eq!(ranges.take(0x1000), Some(0x1000));
        assert_eq!(ranges.take(0x1000), Some(0x2000));
        assert_eq!(ranges.take(0x6000), None);
        ranges.give_back(0x8000, 0x3000);
        ranges.give_back(0x2000, 0x1000);
        ranges.give_back(0x1000, 0x1000);
        assert_eq!(ranges, Ranges::new([(0x1000, 0x2FFF), (0x8000, 0xFFFF)]));
    }
}
