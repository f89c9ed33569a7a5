//! When two NICs count as the same, and the tables that keep one of each.
//!
//! A value's *canonical form* is the string of bytes that its `Hash` feeds to a
//! hasher. Lengths and discriminants are in it, so different values have
//! different forms; and what decides nothing about the future is left out of the
//! model's `Hash` (counters, and of path policy `single` how many packets there
//! were). Forms are compared whole: nothing here rests on hashes not colliding.
//!
//! Deadlines stay absolute. Two histories that differ by a shift in time alone
//! are kept apart, which costs states and loses none.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, RwLock};

/// Records what is hashed.
#[derive(Default)]
struct Recorder(Vec<u8>);

impl Hasher for Recorder {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn finish(&self) -> u64 {
        0
    }
}

/// The canonical form of a value.
pub fn form(value: &impl Hash) -> Box<[u8]> {
    let mut recorder = Recorder::default();
    value.hash(&mut recorder);
    recorder.0.into()
}

struct Held<T> {
    numbers: HashMap<Box<[u8]>, u32>,
    values: Vec<Arc<T>>,
}

/// One of each value, numbered as they come.
pub struct Table<T>(RwLock<Held<T>>);

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self(RwLock::new(Held { numbers: HashMap::new(), values: Vec::new() }))
    }
}

impl<T> Table<T> {
    /// The number of the value with this form, which is made if it is the first.
    pub fn number(&self, form: Box<[u8]>, value: impl FnOnce() -> T) -> u32 {
        if let Some(&number) = self.read().numbers.get(&form) {
            return number;
        }
        let value = Arc::new(value());
        let mut held = self.0.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        let Held { numbers, values } = &mut *held;
        *numbers.entry(form).or_insert_with(|| {
            values.push(value);
            values.len() as u32 - 1
        })
    }

    /// The value of a number that this table has given.
    pub fn get(&self, number: u32) -> Arc<T> {
        self.read().values[number as usize].clone()
    }

    /// Values held.
    pub fn count(&self) -> usize {
        self.read().values.len()
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, Held<T>> {
        self.0.read().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::{Host, Input};
    use crate::sets;

    /// Counters decide nothing: a NIC that refused a frame is the one it was.
    #[test]
    fn what_decides_nothing_is_not_in_the_form() {
        let scenario = &sets::scenarios()[0];
        let host = Host::new(scenario, 1).expect("legal settings");
        let after = host.step(scenario, 3, Input::Frame(0), &[0; 80]);
        assert_eq!(after.reached, ["not_ours"], "it was counted");
        // Asked for a frame twice: whose turn it is to send is as before.
        let after = after.host.step(scenario, 3, Input::Frame(0), &[0; 80]);
        assert!(form(&after.host) == form(&host));
    }

    #[test]
    fn what_decides_is_in_the_form() {
        let scenario = &sets::scenarios()[0];
        let host = Host::new(scenario, 1).expect("legal settings");
        let posted = host.step(scenario, 3, Input::Receive(0), &[]).host;
        assert!(form(&posted) != form(&host));
        assert!(form(&host.step(scenario, 3, Input::Reset, &[]).host) != form(&host), "another endpoint");
        let other = Host::new(scenario, 0).expect("legal settings");
        assert!(form(&other) != form(&host), "another address");
    }

    #[test]
    fn a_form_has_one_number() {
        let table = Table::default();
        let numbers =
            [form(&(1u8, "a")), form(&(2u8, "a")), form(&(1u8, "a"))].map(|form| table.number(form, || ()));
        assert_eq!((numbers, table.count()), ([0, 1, 0], 2));
        assert_ne!(form(&("ab", "c")), form(&("a", "bc")), "where one ends and the next begins");
    }
}
