//! Tagged receives: exact matches of (endpoint, tag), oldest first.

use std::collections::{BTreeMap, VecDeque};

use crate::queue::RecvEntry;

/// A tagged receive in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tagged {
    /// Running index of its entry.
    pub index: u16,
    /// The entry.
    pub entry: RecvEntry,
    /// What a cancel names it by.
    pub handle: u16,
}

/// The table.
#[derive(Clone, Debug, Hash)]
pub struct MatchTable {
    lists: BTreeMap<(u16, u64), VecDeque<Tagged>>,
    free: Vec<u16>,
}

impl MatchTable {
    /// Room for so many receives.
    pub fn new(receives: usize) -> Self {
        Self { lists: BTreeMap::new(), free: (0..receives as u16).rev().collect() }
    }

    /// Puts a receive in place and tells its handle, or `None` without room.
    //= TM-3
    pub fn post(&mut self, endpoint: u16, tag: u64, quota: u16, index: u16, entry: RecvEntry) -> Option<u16> {
        let lists = self.lists.iter().filter(|((of, _), _)| *of == endpoint);
        let held: usize = lists.map(|(_, list)| list.len()).sum();
        if quota != 0 && held >= quota as usize {
            return None;
        }
        let handle = self.free.pop()?;
        self.lists.entry((endpoint, tag)).or_default().push_back(Tagged { index, entry, handle });
        Some(handle)
    }

    /// The receive a message of this tag would take.
    //= TM-2
    pub fn find(&self, endpoint: u16, tag: u64) -> Option<Tagged> {
        self.lists.get(&(endpoint, tag))?.front().copied()
    }

    /// Takes it.
    pub fn take(&mut self, endpoint: u16, tag: u64) {
        if let Some(taken) = self.lists.get_mut(&(endpoint, tag)).and_then(VecDeque::pop_front) {
            self.free.push(taken.handle);
        }
    }

    /// Takes a receive back; whether it was there.
    //= TM-4
    pub fn cancel(&mut self, endpoint: u16, tag: u64, target: u16, handle: u16) -> bool {
        let Some(list) = self.lists.get_mut(&(endpoint, tag)) else { return false };
        let named = |held: &Tagged| (held.index, held.handle) == (target, handle);
        let Some(place) = list.iter().position(named) else { return false };
        list.remove(place);
        self.free.push(handle);
        true
    }

    /// Forgets what an endpoint has posted.
    //= TM-5
    pub fn forget(&mut self, endpoint: u16) {
        for (_, list) in self.lists.iter_mut().filter(|((of, _), _)| *of == endpoint) {
            self.free.extend(list.drain(..).map(|held| held.handle));
        }
    }

    /// Whether no receive is held.
    pub fn is_empty(&self) -> bool {
        self.lists.values().all(VecDeque::is_empty)
    }
}
