//! Contexts of queue pairs that fit the NIC, and the wait for those that do not.
//!
//! ```text
//!   packet of QP ─> in its set of 8? ─yes─> goes on
//!                          │no
//!                   fetches under way: at most `at_once`, `latency` each
//!                          │ the rest waits in line
//!                          └──> replaces the one of the set that was used longest ago
//! ```
//!
//! What is known: NICs hold the contexts of "only a few thousand QPs"; each further one
//! costs PCIe round trips (research on the QP-scalability of RC: CSA-UD, arXiv
//! 2606.20582, abstract; SRNIC, NSDI 2023). A commercial NIC lost 23 % of its bandwidth
//! from 256 to 512 QPs and 46 % at 16,384 (SRNIC's measurement, as cited by UCCL-Tran,
//! OSDI 2026). A DMA read of 64 bytes takes 0.55 to 1 us from NIC to memory and back
//! (R. Neugebauer et al., *Understanding PCIe performance*, SIGCOMM 2018, section 6).
//!
//! UCCL's own measurement, of a NIC of 400 Gb/s, is 17 % from 60 to 60,000.
//!
//! [`Size::COMMERCIAL`] and [`Size::RECENT`] are chosen so that packets of 4 KiB to so
//! many QPs in turn cost a port of 400 Gb/s 46 and 17 %: 2048 contexts, and 6 or 9
//! fetches at once of 0.86 or 0.83 us. That is kinder than the measurement at 512 QPs,
//! all of which fit here, and by a hit that costs nothing.

use std::collections::VecDeque;

use crate::topology::mix;
use crate::Ps;

const WAYS: usize = 8;
const NONE: u32 = u32::MAX;

/// Of the cache, and of what lies behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Contexts that fit; a multiple of 8 at least 8.
    pub contexts: u32,
    /// From a miss to the context.
    pub latency: Ps,
    /// Fetches under way at most.
    pub at_once: u32,
}

impl Size {
    /// See the module's page.
    pub const COMMERCIAL: Self = Self { contexts: 2048, latency: 860_000, at_once: 6 };
    /// See the module's page.
    pub const RECENT: Self = Self { contexts: 2048, latency: 830_000, at_once: 9 };
}

/// See the module's page.
#[derive(Clone, Debug)]
pub struct QpCache {
    size: Size,
    /// By set: connection, and when it was last used.
    ways: Vec<[(u32, u64); WAYS]>,
    used: u64,
    /// Fetches under way, the first done first, and connections in line.
    under_way: VecDeque<(Ps, u32)>,
    line: VecDeque<u32>,
    /// By connection: it is being fetched, or in line.
    wanted: Vec<bool>,
    misses: u64,
}

impl QpCache {
    /// An empty one.
    pub fn new(size: Size) -> Self {
        let sets = (size.contexts as usize / WAYS).max(1);
        Self {
            size: Size { at_once: size.at_once.max(1), ..size },
            ways: vec![[(NONE, 0); WAYS]; sets],
            used: 0,
            under_way: VecDeque::new(),
            line: VecDeque::new(),
            wanted: Vec::new(),
            misses: 0,
        }
    }

    /// Contexts that fit.
    pub fn contexts(&self) -> u32 {
        self.size.contexts
    }

    /// Fetches under way at most.
    pub fn at_once(&self) -> usize {
        self.size.at_once as usize
    }

    /// Misses so far.
    pub fn misses(&self) -> u64 {
        self.misses
    }

    #[inline]
    fn set_of(&self, connection: u32) -> usize {
        ((mix(connection as u64) as u64 * self.ways.len() as u64) >> 32) as usize
    }

    /// Whether a connection's context is here.
    #[inline]
    pub fn holds(&self, connection: u32) -> bool {
        self.ways[self.set_of(connection)].iter().any(|way| way.0 == connection)
    }

    /// Uses a connection's context, if it is here; if not it will be: see [`pop`](Self::pop).
    #[inline]
    pub fn has(&mut self, now: Ps, connection: u32) -> bool {
        self.used += 1;
        let used = self.used;
        let set = self.set_of(connection);
        if let Some(way) = self.ways[set].iter_mut().find(|way| way.0 == connection) {
            way.1 = used;
            return true;
        }
        let index = connection as usize;
        if self.wanted.len() <= index {
            self.wanted.resize(index + 1, false);
        }
        if !std::mem::replace(&mut self.wanted[index], true) {
            self.misses += 1;
            self.line.push_back(connection);
            self.fetch(now);
        }
        false
    }

    /// Whether another fetch would have to wait in line.
    #[inline]
    pub fn is_busy(&self) -> bool {
        self.under_way.len() >= self.size.at_once as usize
    }

    fn fetch(&mut self, now: Ps) {
        while self.under_way.len() < self.size.at_once as usize {
            let Some(connection) = self.line.pop_front() else { return };
            self.under_way.push_back((now + self.size.latency, connection));
        }
    }

    /// When the next context is here.
    #[inline]
    pub fn deadline(&self) -> Option<Ps> {
        self.under_way.front().map(|&(at, _)| at)
    }

    /// A connection whose context is here by now.
    pub fn pop(&mut self, now: Ps) -> Option<u32> {
        let &(at, connection) = self.under_way.front()?;
        if at > now {
            return None;
        }
        self.under_way.pop_front();
        self.fetch(at);
        self.wanted[connection as usize] = false;
        self.used += 1;
        let used = self.used;
        let set = self.set_of(connection);
        if let Some(oldest) = self.ways[set].iter_mut().min_by_key(|way| way.1) {
            *oldest = (connection, used);
        }
        Some(connection)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Size = Size { contexts: 8, latency: 1000, at_once: 2 };

    #[test]
    fn a_miss_takes_a_round_trip_and_few_go_at_once() {
        let mut cache = QpCache::new(SMALL);
        for connection in 0..3 {
            assert!(!cache.has(10, connection));
        }
        assert!(!cache.has(20, 0), "already asked for");
        assert_eq!((cache.misses(), cache.deadline(), cache.pop(1009)), (3, Some(1010), None));
        assert_eq!((cache.pop(1010), cache.pop(1010), cache.pop(1010)), (Some(0), Some(1), None));
        assert_eq!((cache.deadline(), cache.has(1011, 0)), (Some(2010), true));
        assert_eq!(cache.pop(2010), Some(2));
    }

    #[test]
    fn the_one_used_longest_ago_goes() {
        let mut cache = QpCache::new(SMALL);
        let mut now = 0;
        let mut load = |cache: &mut QpCache, connection| {
            now += 1000;
            cache.has(now, connection) || cache.pop(now + 1000) != Some(connection)
        };
        for connection in 0..8 {
            assert!(!load(&mut cache, connection));
        }
        assert!(load(&mut cache, 0), "all eight fit");
        assert!(!load(&mut cache, 8));
        assert!(load(&mut cache, 0) && !load(&mut cache, 1));
    }

    #[test]
    fn as_many_in_turn_as_fit_hit_and_four_times_as_many_miss() {
        let mut rates = Vec::new();
        for connections in [1024u32, 2048, 8192] {
            let mut cache = QpCache::new(Size::COMMERCIAL);
            let mut now = 0;
            let mut warm = 0;
            for packet in 0..connections * 4 {
                now += 2_000_000;
                cache.has(now, packet % connections);
                cache.pop(now + 1_000_000);
                if packet == connections {
                    warm = cache.misses();
                }
            }
            rates.push((cache.misses() - warm) as f64 / (connections * 3) as f64);
        }
        assert!(rates[0] < 0.1, "{rates:?}");
        assert!(rates[1] > 0.1 && rates[1] < 0.9, "sets fill unevenly: {rates:?}");
        assert!(rates[2] > 0.99, "{rates:?}");
    }
}
