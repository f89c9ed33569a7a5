//! Struct ports as maps from field name to value.

use std::collections::BTreeMap;
use tessera_sim::tb::{Rng, Word};
use tessera_sim::verilator::Model;

/// Field values; a field that is absent is not looked at.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record(BTreeMap<String, u128>);

impl Record {
    pub fn get(&self, field: &str) -> u128 {
        *self.0.get(field).unwrap_or_else(|| panic!("no field {field}"))
    }

    pub fn set(&mut self, field: &str, value: u128) {
        self.0.insert(field.to_string(), value);
    }

    pub fn without(&self, field: &str) -> Record {
        let mut rest = self.clone();
        rest.0.remove(field);
        rest
    }

    /// Whether every field of `self` has this value in `other`.
    pub fn assert_within(&self, other: &Record, what: &str) {
        for (field, value) in &self.0 {
            assert_eq!(other.get(field), *value, "{what}: {field}\nexpected {self:x?}\ngot {other:x?}");
        }
    }
}

/// Where the fields of a struct port lie.
pub struct Layout(Vec<(String, usize, usize)>);

impl Layout {
    pub fn new(model: &Model, port: &str) -> Self {
        Layout(model.fields(port))
    }

    pub fn random(&self, rng: &mut Rng) -> Record {
        let value = |width: usize| {
            let wide = u128::from(rng.next_u64()) << 64 | u128::from(rng.next_u64());
            wide >> (128 - width.min(128))
        };
        let mut value = value;
        Record(self.0.iter().map(|(name, _, width)| (name.clone(), value(*width))).collect())
    }

    pub fn pack(&self, record: &Record) -> Word {
        let mut word = Word::default();
        for (name, lsb, width) in &self.0 {
            let value = record.get(name);
            for at in (0..*width).step_by(64) {
                word.set_bits(lsb + at, (width - at).min(64), (value >> at) as u64);
            }
        }
        word
    }

    /// Fields wider than 128 bits must be zero above.
    pub fn unpack(&self, word: &Word) -> Record {
        let mut record = Record::default();
        for (name, lsb, width) in &self.0 {
            let mut value = 0;
            for at in (0..*width).step_by(64) {
                let bits = u128::from(word.bits(lsb + at, (width - at).min(64)));
                assert!(at < 128 || bits == 0, "{name} is not zero above its first 128 bits");
                value |= if at < 128 { bits << at } else { 0 };
            }
            record.set(name, value);
        }
        record
    }
}
