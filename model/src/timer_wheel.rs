//! Timers as a sorted sweep: the oracle of the hardware's wheel.
//!
//! A key has at most one deadline; setting it again moves it. Expiries come in
//! deadline order, ties in key order.

use std::collections::{BTreeMap, BTreeSet};

use crate::Ticks;

/// Deadlines by key.
#[derive(Clone, Debug, Hash)]
pub struct TimerWheel<K> {
    by_time: BTreeSet<(Ticks, K)>,
    by_key: BTreeMap<K, Ticks>,
}

impl<K: Ord + Copy> Default for TimerWheel<K> {
    fn default() -> Self {
        Self { by_time: BTreeSet::new(), by_key: BTreeMap::new() }
    }
}

impl<K: Ord + Copy> TimerWheel<K> {
    /// Sets, moves or (`None`) removes the deadline of `key`.
    pub fn set(&mut self, key: K, deadline: Option<Ticks>) {
        if let Some(old) = self.by_key.remove(&key) {
            self.by_time.remove(&(old, key));
        }
        if let Some(deadline) = deadline {
            self.by_key.insert(key, deadline);
            self.by_time.insert((deadline, key));
        }
    }

    /// The deadline of a key.
    pub fn deadline(&self, key: K) -> Option<Ticks> {
        self.by_key.get(&key).copied()
    }

    /// Removes and returns the earliest entry due at `now`.
    pub fn pop(&mut self, now: Ticks) -> Option<K> {
        let &(deadline, key) = self.by_time.first()?;
        if deadline > now {
            return None;
        }
        self.set(key, None);
        Some(key)
    }

    /// The earliest deadline.
    pub fn next(&self) -> Option<Ticks> {
        self.by_time.first().map(|&(deadline, _)| deadline)
    }

    /// Entries linked.
    pub fn len(&self) -> usize {
        self.by_key.len()
    }

    /// Whether nothing is linked.
    pub fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moving_a_deadline_leaves_one_entry() {
        let mut wheel = TimerWheel::default();
        wheel.set('a', Some(10));
        wheel.set('b', Some(5));
        wheel.set('a', Some(3));
        assert_eq!(wheel.len(), 2);
        assert_eq!(wheel.pop(2), None);
        assert_eq!(wheel.pop(20), Some('a'));
        assert_eq!(wheel.pop(20), Some('b'));
        assert!(wheel.pop(20).is_none() && wheel.is_empty());
    }
}
