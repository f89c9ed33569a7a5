//! When what happens next: a timing wheel of 2 ns buckets, exact to the picosecond.
//!
//! ```text
//!                  now
//!   buckets  . . . [#] [ ] [# #] [ ] [#] . . .   16,384 of 2,048 ps: 33 us
//!                   │ sorted when it is reached       ▲ when its turn comes
//!                   └─> events in order of time       │
//!   later: a heap, of timers mostly ──────────────────┘
//! ```
//!
//! Events of one picosecond come in the order in which they were put in, so a run
//! is the same whenever it is repeated. Putting in and taking out cost the same
//! however many events there are, as long as they are near: a network's are, for a
//! packet is on a link for a microsecond. Memory of buckets that are over is used
//! first, so that what is touched stays in the cache.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::Ps;

/// log2 of a bucket's width, picoseconds.
const WIDTH_LOG2: u32 = 11;
/// Buckets.
const BUCKETS: usize = 1 << 14;
/// An event beyond the buckets: when, which one of its time, what.
#[derive(Clone, Copy, Debug)]
struct Far<E> {
    time: Ps,
    order: u64,
    event: E,
}

impl<E> PartialEq for Far<E> {
    fn eq(&self, other: &Self) -> bool {
        (self.time, self.order) == (other.time, other.order)
    }
}

impl<E> Eq for Far<E> {}

impl<E> PartialOrd for Far<E> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Far<E> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.time, self.order).cmp(&(other.time, other.order))
    }
}

/// Events in order of time.
#[derive(Clone, Debug)]
pub struct Wheel<E> {
    /// In the order of putting.
    buckets: Vec<Vec<(Ps, E)>>,
    /// A bit per bucket that holds something.
    occupied: Vec<u64>,
    /// Number of the bucket at work, counted from time 0.
    current: u64,
    /// Its events, in order.
    sorted: Vec<(Ps, E)>,
    /// How many of them have been taken.
    taken: usize,
    /// Buckets' memory for others to use: latest used first, so that it is in the cache.
    spare: Vec<Vec<(Ps, E)>>,
    far: BinaryHeap<Reverse<Far<E>>>,
    /// Far ones of the bucket at work; empty in between.
    came: Vec<(Ps, E)>,
    put: u64,
    len: usize,
}

impl<E: Copy> Default for Wheel<E> {
    fn default() -> Self {
        Self {
            buckets: vec![Vec::new(); BUCKETS],
            occupied: vec![0; BUCKETS / 64],
            current: 0,
            sorted: Vec::new(),
            taken: 0,
            spare: Vec::new(),
            far: BinaryHeap::new(),
            came: Vec::new(),
            put: 0,
            len: 0,
        }
    }
}

impl<E: Copy> Wheel<E> {
    /// Puts an event in at `time`; of the past: at once.
    #[inline]
    pub fn put(&mut self, time: Ps, event: E) {
        self.len += 1;
        let bucket = time >> WIDTH_LOG2;
        if bucket <= self.current {
            // Behind all of the same time.
            let left = &self.sorted[self.taken..];
            let at = self.taken + left.partition_point(|&(other, _)| other <= time);
            self.sorted.insert(at, (time, event));
        } else if bucket < self.current + BUCKETS as u64 {
            let slot = bucket as usize % BUCKETS;
            let events = &mut self.buckets[slot];
            if events.is_empty() {
                self.occupied[slot / 64] |= 1 << (slot % 64);
                if let Some(spare) = self.spare.pop() {
                    *events = spare;
                }
            }
            events.push((time, event));
        } else {
            self.put += 1;
            self.far.push(Reverse(Far { time, order: self.put, event }));
        }
    }

    /// Takes the earliest event out.
    #[inline]
    pub fn pop(&mut self) -> Option<(Ps, E)> {
        loop {
            if let Some(&event) = self.sorted.get(self.taken) {
                self.taken += 1;
                self.len -= 1;
                return Some(event);
            }
            if !self.advance() {
                return None;
            }
        }
    }

    /// Turns to the next bucket that holds something; false without any.
    fn advance(&mut self) -> bool {
        let near = self.next_occupied();
        let far = self.far.peek().map(|Reverse(far)| far.time >> WIDTH_LOG2);
        let Some(bucket) = near.into_iter().chain(far).min() else { return false };
        self.current = bucket;
        self.taken = 0;
        self.sorted.clear();
        if near == Some(bucket) {
            let slot = bucket as usize % BUCKETS;
            self.occupied[slot / 64] &= !(1 << (slot % 64));
            let events = std::mem::take(&mut self.buckets[slot]);
            self.spare.push(std::mem::replace(&mut self.sorted, events));
        }
        // What was far was put in before all that is near, and comes before it.
        while let Some(Reverse(far)) = self.far.peek().copied() {
            if far.time >> WIDTH_LOG2 != bucket {
                break;
            }
            self.far.pop();
            self.came.push((far.time, far.event));
        }
        self.sorted.splice(0..0, self.came.drain(..));
        // Stable: those of one time stand in their order already.
        self.sorted.sort_by_key(|&(time, _)| time);
        true
    }

    fn next_occupied(&self) -> Option<u64> {
        let start = (self.current + 1) as usize % BUCKETS;
        let words = BUCKETS / 64;
        let mut mask = u64::MAX << (start % 64);
        for step in 0..=words {
            let word = (start / 64 + step) % words;
            let bits = self.occupied[word] & mask;
            if bits != 0 {
                let slot = word * 64 + bits.trailing_zeros() as usize;
                let ahead = (slot + BUCKETS - start) % BUCKETS;
                return Some(self.current + 1 + ahead as u64);
            }
            mask = if step + 1 == words { !(u64::MAX << (start % 64)) } else { u64::MAX };
        }
        None
    }

    /// Events in it.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing will happen.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against a list that is sorted whole: puts and takes at random, near, far and
        /// at once.
        #[test]
        fn events_come_in_order_of_time_and_then_of_putting(
            steps in prop::collection::vec((0u8..4, 0u64..1 << 13, 0u64..1 << 27), 1..400),
        ) {
            let mut wheel = Wheel::default();
            let mut list: Vec<(Ps, u32)> = Vec::new();
            let mut now = 0;
            for (number, &(kind, near, far)) in steps.iter().enumerate() {
                let number = number as u32;
                match kind {
                    0 => {
                        let next = list.iter().enumerate().min_by_key(|&(at, &(time, _))| (time, at));
                        let expected = next.map(|(at, &event)| (at, event));
                        prop_assert_eq!(wheel.pop(), expected.map(|(_, event)| event));
                        if let Some((at, (time, _))) = expected {
                            now = time;
                            list.remove(at);
                        }
                    }
                    // Times that meet often, within a bucket or two.
                    1 => {
                        wheel.put(now + near / 512, number);
                        list.push((now + near / 512, number));
                    }
                    2 => {
                        wheel.put(now + near, number);
                        list.push((now + near, number));
                    }
                    _ => {
                        // Far ones meet too: a multiple of some size.
                        let time = (now + far) & !0xF_FFFF | 0x1234;
                        let time = time.max(now);
                        wheel.put(time, number);
                        list.push((time, number));
                    }
                }
                prop_assert_eq!(wheel.len(), list.len());
            }
            while let Some(event) = wheel.pop() {
                let next = list.iter().enumerate().min_by_key(|&(at, &(time, _))| (time, at));
                let (at, expected) = next.map(|(at, &event)| (at, event)).expect("as many");
                prop_assert_eq!(event, expected);
                list.remove(at);
            }
            prop_assert!(list.is_empty() && wheel.is_empty());
        }
    }

    #[test]
    fn what_is_far_keeps_its_turn_beside_what_is_put_near() {
        let mut wheel = Wheel::default();
        let horizon = (BUCKETS as u64) << WIDTH_LOG2;
        let time = horizon + 5;
        wheel.put(time, 1);
        wheel.put(time, 2);
        wheel.put(horizon / 2, 0);
        assert_eq!(wheel.pop(), Some((horizon / 2, 0)));
        wheel.put(time, 3);
        wheel.put(time - 1, 4);
        let order: Vec<_> = std::iter::from_fn(|| wheel.pop()).map(|(_, event)| event).collect();
        assert_eq!(order, [4, 1, 2, 3]);
    }
}
