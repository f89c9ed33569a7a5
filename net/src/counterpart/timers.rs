//! When a host's connections want to be called.
//!
//! A heap with one entry per connection that counts, the earliest that it asked for. A
//! deadline that moves back leaves its entry where it is: when that comes up, the
//! connection says what it wants now. So an answer costs nothing here.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::Ps;

/// No time.
pub const NEVER: Ps = Ps::MAX;

/// See the module's page.
#[derive(Clone, Debug)]
pub struct Timers {
    /// When the first entry is due.
    next: Ps,
    heap: BinaryHeap<Reverse<(Ps, u32)>>,
    /// By connection: its entry that counts.
    alarms: Vec<Ps>,
}

impl Default for Timers {
    fn default() -> Self {
        Self { next: NEVER, heap: BinaryHeap::new(), alarms: Vec::new() }
    }
}

impl Timers {
    /// A connection wants to be called at `at`, or later.
    #[inline]
    pub fn set(&mut self, connection: u32, at: Ps) {
        let index = connection as usize;
        if self.alarms.len() <= index {
            self.alarms.resize(index + 1, NEVER);
        }
        if at < self.alarms[index] {
            self.alarms[index] = at;
            self.heap.push(Reverse((at, connection)));
            self.next = self.next.min(at);
        }
    }

    /// When the next one is to be asked, or [`NEVER`].
    #[inline]
    pub fn next_at(&self) -> Ps {
        self.next
    }

    /// A connection that is to be asked by `now`; it has no entry then.
    pub fn pop(&mut self, now: Ps) -> Option<u32> {
        while self.next <= now {
            let Reverse((at, connection)) = self.heap.pop()?;
            self.next = self.heap.peek().map_or(NEVER, |&Reverse((at, _))| at);
            let alarm = &mut self.alarms[connection as usize];
            if *alarm == at {
                *alarm = NEVER;
                return Some(connection);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_counts_and_later_ones_cost_nothing() {
        let mut timers = Timers::default();
        timers.set(3, 100);
        timers.set(3, 200);
        assert_eq!(timers.heap.len(), 1);
        timers.set(3, 50);
        timers.set(1, 70);
        assert_eq!((timers.next_at(), timers.pop(49)), (50, None));
        assert_eq!((timers.pop(60), timers.pop(60)), (Some(3), None));
        assert_eq!((timers.pop(100), timers.pop(100)), (Some(1), None), "3 has been asked");
        timers.set(3, 200);
        assert_eq!(timers.pop(200), Some(3));
    }
}
