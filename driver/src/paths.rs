//! Paths: what became of each entropy value, and how packets are shared out.

use tessera_abi::regs::{self, path, sizes2, table, PathCounter};

use crate::context::{Context, Word};
use crate::device::DeviceError;
use crate::error::LeftOut;

/// What happened to one entropy value since reset (32 bits each, wrapping).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathUse {
    /// Packets of any kind that took it.
    pub sent: u32,
    /// Echoes of it without congestion. A path that works has some; one packet
    /// in sixteen or so is echoed.
    pub clean: u32,
    /// Echoes of it with congestion-experienced.
    pub ce: u32,
}

/// Why paths could not be weighted or looked at.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PathError {
    /// Nothing would be sent.
    #[error("no path has a weight above 0: give at least one")]
    NoWeight,
    /// There are not that many entropy values.
    #[error("{0} weights were given; a NIC has 256 paths at most")]
    TooMany(usize),
    /// The NIC has neither weights nor counters of paths.
    #[error(transparent)]
    LeftOut(#[from] LeftOut),
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// Shares the places of a round out by weight: each path gets its part to the
/// nearest place and at least one, and meets its turns evenly spread.
fn places(weights: &[u32]) -> [u8; path::PLACES] {
    let total: u64 = weights.iter().map(|&weight| u64::from(weight)).sum();
    let scaled = |weight: u32| u64::from(weight) * path::PLACES as u64;
    let mut shares: Vec<u64> =
        weights.iter().map(|&weight| if weight == 0 { 0 } else { (scaled(weight) / total).max(1) }).collect();
    // What rounding left over goes to, or is taken from, whom it moves least.
    while shares.iter().sum::<u64>() != path::PLACES as u64 {
        let excess = shares.iter().sum::<u64>() > path::PLACES as u64;
        let owed = |k: usize| scaled(weights[k]) as i128 - (shares[k] * total) as i128;
        let candidates = (0..weights.len()).filter(|&k| weights[k] > 0 && (!excess || shares[k] > 1));
        let chosen = candidates.max_by_key(|&k| if excess { -owed(k) } else { owed(k) });
        let Some(k) = chosen else { break };
        shares[k] = if excess { shares[k] - 1 } else { shares[k] + 1 };
    }
    let mut places = [0; path::PLACES];
    let mut due = vec![0i64; shares.len()];
    for place in &mut places {
        due.iter_mut().zip(&shares).for_each(|(due, &share)| *due += share as i64);
        let k = (0..due.len()).max_by_key(|&k| (due[k], std::cmp::Reverse(k))).unwrap_or(0);
        due[k] -= path::PLACES as i64;
        *place = k as u8;
    }
    places
}

impl Context {
    /// What happened to an entropy value.
    pub fn path_use(&self, ev: u8) -> Result<PathUse, PathError> {
        self.shared.has(sizes2::NO_PATH_TABLES)?;
        let read = |counter| self.shared.device.read(regs::path_counter(counter, ev));
        Ok(PathUse {
            sent: read(PathCounter::Sent)?,
            clean: read(PathCounter::Clean)?,
            ce: read(PathCounter::Ce)?,
        })
    }

    /// Sends packets over paths in proportion to `weights`: entry `k` is that of
    /// entropy value PATH_BASE + k, and 1/256 of all packets the finest share.
    /// Sets policy `weighted`; PATH_POLICY takes another one back.
    pub fn weight_paths(&self, weights: &[u32]) -> Result<(), PathError> {
        if weights.len() > path::PLACES {
            return Err(PathError::TooMany(weights.len()));
        }
        if weights.iter().all(|&weight| weight == 0) {
            return Err(PathError::NoWeight);
        }
        self.shared.has(sizes2::NO_PATH_TABLES)?;
        let life = self.shared.lives.now()?;
        for (index, k) in places(weights).into_iter().enumerate() {
            self.shared.write_table(life, table::PATH, index, Word::new().with(path::K, k.into()))?;
        }
        Ok(self.write(regs::PATH_POLICY, regs::PATH_WEIGHTED)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(weights: &[u32]) -> Vec<usize> {
        let places = places(weights);
        (0..weights.len()).map(|k| places.iter().filter(|&&place| place == k as u8).count()).collect()
    }

    #[test]
    fn places_follow_weights() {
        assert_eq!(shares(&[1, 1, 1, 1]), [64; 4]);
        assert_eq!(shares(&[0, 5]), [0, 256]);
        assert_eq!(shares(&[3, 1]), [192, 64]);
        let mut thirds = shares(&[1, 1, 1]);
        thirds.sort_unstable();
        assert_eq!(thirds, [85, 85, 86]);
        assert_eq!(shares(&[u32::MAX, 1]), [255, 1], "no weight is lost");
        assert_eq!(shares(&[1; 256]), [1; 256]);
        let many = shares(&[u32::MAX, u32::MAX, 1, 1, 1, 0, 1]);
        assert_eq!((many.iter().sum::<usize>(), many[5]), (256, 0));
        assert!(many[0].abs_diff(many[1]) <= 1 && [2, 3, 4, 6].iter().all(|&k| many[k] == 1));
    }

    #[test]
    fn turns_are_spread() {
        let places = places(&[3, 1]);
        assert!(places.chunks(4).all(|turn| turn.iter().filter(|&&k| k == 1).count() == 1));
    }
}
