//! Finding the context or tombstone of a packet: whole keys in two tables.
//!
//! ```text
//!   key ──hash 0──> table 0: set of 4 ways     fewer-filled set first,
//!    └────hash 1──> table 1: set of 4 ways     table 0 on a tie
//! ```

use crate::settings::Settings;

/// Ways of a set.
const WAYS: usize = 4;

/// Names a message up to its generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// Source GID.
    pub gid: [u8; 16],
    /// Source endpoint.
    pub endpoint: u32,
    /// Sender's slot.
    pub slot: u16,
}

/// Where an entry lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    table: usize,
    set: usize,
    way: usize,
}

/// What is held of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Held {
    /// It is open.
    Context(u32),
    /// It ended so.
    Tombstone(u8),
}

/// An entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    /// Key, compared whole.
    pub key: Key,
    /// Generation.
    pub generation: u32,
    /// Context or tombstone.
    pub held: Held,
}

type Set = [Option<Entry>; WAYS];

/// The two tables.
#[derive(Clone, Debug, Hash)]
pub struct Lookup {
    tables: [Vec<Set>; 2],
    seeds: [u64; 2],
    len: usize,
}

impl Lookup {
    /// Two empty tables of `1 << sets_log2` sets, hashes seeded.
    //= RO-1
    pub fn new(sets_log2: usize, settings: &Settings) -> Self {
        let seed = settings.seed as u64;
        Self {
            tables: [vec![[None; WAYS]; 1 << sets_log2], vec![[None; WAYS]; 1 << sets_log2]],
            seeds: [seed, seed ^ 0x9E37_79B9_7F4A_7C15],
            len: 0,
        }
    }

    fn set_of(&self, table: usize, key: &Key) -> usize {
        let mut hash = self.seeds[table] | 1;
        let words = key.gid.chunks_exact(8).map(|half| half.iter().fold(0, |w, &b| w << 8 | b as u64));
        for word in words.chain([(key.endpoint as u64) << 16 | key.slot as u64]) {
            hash = (hash ^ word).wrapping_mul(0xD6E8_FEB8_6659_FD93);
            hash ^= hash >> 32;
        }
        hash as usize & (self.tables[table].len() - 1)
    }

    /// The entry of a key.
    pub fn find(&self, key: &Key) -> Option<(Place, Entry)> {
        (0..2).find_map(|table| {
            let set = self.set_of(table, key);
            let ways = &self.tables[table][set];
            let way = ways.iter().position(|entry| entry.is_some_and(|entry| entry.key == *key))?;
            Some((Place { table, set, way }, ways[way]?))
        })
    }

    /// A free place for a key, or `None` when both sets are full.
    //= RO-6
    pub fn vacancy(&self, key: &Key) -> Option<Place> {
        let filled = |table: usize| {
            let set = self.set_of(table, key);
            (self.tables[table][set].iter().flatten().count(), table, set)
        };
        let (count, table, set) = filled(0).min(filled(1));
        if count == WAYS {
            return None;
        }
        let way = self.tables[table][set].iter().position(Option::is_none)?;
        Some(Place { table, set, way })
    }

    /// Writes or clears a place.
    pub fn put(&mut self, place: Place, entry: Option<Entry>) {
        let cell = &mut self.tables[place.table][place.set][place.way];
        self.len = self.len + entry.is_some() as usize - cell.is_some() as usize;
        *cell = entry;
    }

    /// Contexts and tombstones held.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_sets_leave_no_vacancy_and_whole_keys_are_compared() {
        let mut lookup = Lookup::new(0, &Settings::default());
        let key = |slot| Key { gid: [0; 16], endpoint: 1, slot };
        for slot in 0..8 {
            let place = lookup.vacancy(&key(slot)).expect("eight ways");
            lookup.put(
                place,
                Some(Entry { key: key(slot), generation: slot as u32, held: Held::Tombstone(0) }),
            );
        }
        assert_eq!(lookup.vacancy(&key(8)), None);
        assert!(lookup.find(&key(8)).is_none());
        for slot in 0..8 {
            let (place, entry) = lookup.find(&key(slot)).expect("was put");
            assert_eq!(entry.generation, slot as u32);
            lookup.put(place, None);
        }
        assert!(lookup.is_empty());
    }
}
