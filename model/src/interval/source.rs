//! What a receiver knows of the ways from its sources: how late packets come, and how
//! long answers take.

use std::collections::BTreeMap;

use super::TICKS_MAX;
use crate::settings::Settings;

/// Fraction bits of the skew.
const SKEW_FRACTION: u32 = 8;

/// What a receiver knows of the way from a source and back, ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Source {
    /// How late packets come behind the fastest.
    pub skew: u32,
    /// From a NACK to the retransmission it drew.
    pub answer: u32,
}

impl Source {
    /// The lower of each.
    pub fn least(self, other: Self) -> Self {
        Self { skew: self.skew.min(other.skew), answer: self.answer.min(other.answer) }
    }
}

/// Samples from which a source's skew counts as known.
const SKEW_KNOWN: u8 = 127;

/// The same per source hash.
#[derive(Clone, Debug, Hash)]
pub struct SourceTable {
    /// Of a source that nothing is known of.
    start: Known,
    /// Of the 256 hashes those that something is known of.
    known: BTreeMap<u8, Known>,
}

/// A source's, the skew with its fraction.
#[derive(Clone, Copy, Debug, Hash)]
struct Known {
    source: Source,
    /// Skew samples so far, as far as they are counted.
    samples: u8,
}

impl SourceTable {
    /// Every source starts at `SKEW0` and `ANSWER0`.
    pub fn new(settings: &Settings) -> Self {
        let source = Source { skew: settings.skew0 << SKEW_FRACTION, answer: settings.answer0 };
        Self { start: Known { source, samples: 0 }, known: BTreeMap::new() }
    }

    /// XOR of the GID's bytes.
    pub fn hash(gid: &[u8; 16]) -> u8 {
        gid.iter().fold(0, |hash, byte| hash ^ byte)
    }

    /// What is known of a source.
    pub fn of(&self, hash: u8) -> Source {
        let Source { skew, answer } = self.known.get(&hash).unwrap_or(&self.start).source;
        Source { skew: skew >> SKEW_FRACTION, answer }
    }

    fn of_mut(&mut self, hash: u8) -> &mut Known {
        self.known.entry(hash).or_insert(self.start)
    }

    /// Takes a skew sample: up at once, down slowly, but from `SKEW0` soon.
    //= RC-5
    pub fn late(&mut self, hash: u8, sample: u32, settings: &Settings) {
        let Known { source: Source { skew, .. }, samples } = self.of_mut(hash);
        let shift = if *samples < SKEW_KNOWN { 6 } else { 10 };
        *samples = (*samples + 1).min(SKEW_KNOWN);
        let sample = sample.min(TICKS_MAX) << SKEW_FRACTION;
        if sample >= *skew {
            *skew = sample.min(settings.skew_max << SKEW_FRACTION);
        } else {
            *skew -= (*skew - sample) >> shift;
        }
    }

    /// Takes what a retransmission says of the answer's time.
    //= RC-10
    pub fn answered(&mut self, hash: u8, answered: Answered, settings: &Settings) {
        let answer = &mut self.of_mut(hash).source.answer;
        let most = settings.rto.min(TICKS_MAX);
        match answered {
            Answered::After(sample) if sample >= *answer => *answer = sample.min(most),
            Answered::After(sample) => *answer -= (*answer - sample) >> 3,
            Answered::Again => *answer = (*answer + (*answer >> 2)).min(most),
        }
    }
}

/// What a retransmission says of the time answers take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answered {
    /// So long after the NACK that asked for it.
    After(u32),
    /// It was here already: asked for too early.
    Again,
}
