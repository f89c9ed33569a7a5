//! Who goes next, by what is left of him (rules TX-17, GR-7).
//!
//! ```text
//!  push ──> list by what is left: 0, 1, .. 7 ──> the lowest three times, then one of the others
//! ```

use std::collections::VecDeque;

/// Number of lists.
pub const LISTS: usize = 8;
/// Heads of the lowest list for one of the others.
const ROW: u32 = 3;

/// The list of who has so many packets left: half the binary logarithm.
//= TX-17
//= GR-7
pub fn list_of(left: u32) -> usize {
    ((left.max(1).ilog2() >> 1) as usize).min(LISTS - 1)
}

/// Those that wait.
#[derive(Clone, Debug, Hash)]
pub struct Turns<T> {
    lists: [VecDeque<T>; LISTS],
    /// Heads of the lowest list in a row, up to [`ROW`].
    row: u32,
    /// The last of the others.
    last: usize,
}

impl<T> Default for Turns<T> {
    fn default() -> Self {
        Self { lists: std::array::from_fn(|_| VecDeque::new()), row: 0, last: 0 }
    }
}

impl<T: Copy + PartialEq> Turns<T> {
    /// Somebody comes to wait.
    pub fn push(&mut self, list: usize, who: T) {
        self.lists[list.min(LISTS - 1)].push_back(who);
    }

    /// The list whose head is next, as things are.
    pub fn next(&self) -> Option<usize> {
        let lowest = self.lowest()?;
        let mut others = (self.last + 1..LISTS).chain(0..=self.last).filter(|list| *list != lowest);
        let other = others.find(|list| !self.lists[*list].is_empty()).filter(|_| self.row == ROW);
        Some(other.unwrap_or(lowest))
    }

    /// The same; the list has its turn with that, whoever comes or goes until the head
    /// is taken.
    pub fn choose(&mut self) -> Option<usize> {
        let list = self.next()?;
        if self.lowest() == Some(list) {
            self.row = ROW.min(self.row + 1);
        } else {
            (self.row, self.last) = (0, list);
        }
        Some(list)
    }

    fn lowest(&self) -> Option<usize> {
        self.lists.iter().position(|list| !list.is_empty())
    }

    /// The head of a list.
    pub fn head(&self, list: usize) -> Option<T> {
        self.lists[list].front().copied()
    }

    /// Takes the head of a list.
    pub fn pop(&mut self, list: usize) -> Option<T> {
        self.lists[list].pop_front()
    }

    /// Takes somebody out.
    pub fn forget(&mut self, who: T) {
        for list in &mut self.lists {
            list.retain(|&other| other != who);
        }
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.lists.iter().map(VecDeque::len).sum()
    }

    /// Nobody waits.
    pub fn is_empty(&self) -> bool {
        self.lists.iter().all(VecDeque::is_empty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    //= TX-17 test
    //= GR-7 test
    #[test]
    fn lists_go_by_half_the_logarithm() {
        let lists = [0, 1, 3, 4, 15, 16, 63, 64, 255, 256, 16_383, 16_384, 1 << 23].map(list_of);
        assert_eq!(lists, [0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 6, 7, 7]);
    }

    //= TX-17 test
    //= GR-7 test
    #[test]
    fn the_lowest_has_three_turns_of_four_and_the_others_go_round() {
        let mut turns = Turns::default();
        for who in [30, 10, 11, 50, 70] {
            turns.push(who / 10, who);
        }
        let mut order = Vec::new();
        for _ in 0..16 {
            let list = turns.choose().unwrap();
            let who = turns.pop(list).unwrap();
            order.push(who);
            turns.push(list, who);
        }
        assert_eq!(order, [10, 11, 10, 30, 11, 10, 11, 50, 10, 11, 10, 70, 11, 10, 11, 30]);
        turns.forget(10);
        turns.forget(11);
        // The lowest is another now, and its row begins.
        let next = |turns: &mut Turns<usize>| turns.choose().and_then(|list| turns.pop(list)).unwrap();
        assert_eq!([next(&mut turns), turns.len()], [30, 2]);
        // Alone it has all turns, and who comes then has not waited for the others' in vain.
        assert_eq!([next(&mut turns), next(&mut turns)], [50, 70]);
        assert!(turns.is_empty() && turns.choose().is_none());
        turns.push(2, 20);
        turns.push(6, 60);
        assert_eq!([next(&mut turns), next(&mut turns)], [60, 20]);
    }
}
