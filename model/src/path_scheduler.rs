//! Which path a packet takes: an entropy value per packet of any kind.

use crate::lfsr::Lfsr;
use crate::settings::{PathPolicy, Settings};

/// The scheduler of one NIC.
#[derive(Clone, Debug)]
pub struct PathScheduler {
    policy: PathPolicy,
    count: u32,
    base: u8,
    turn: u32,
    /// Where the present round starts.
    offset: u32,
    lfsr: Lfsr,
}

impl PathScheduler {
    /// Starts at the first path, the LFSR at the seed.
    pub fn new(settings: &Settings) -> Self {
        Self {
            policy: settings.path_policy,
            count: settings.path_count,
            base: settings.path_base,
            turn: 0,
            offset: 0,
            lfsr: Lfsr::new(settings.seed),
        }
    }

    /// The entropy value of the next packet.
    pub fn take(&mut self) -> u8 {
        let drawn = ((self.lfsr.state() & 0xFFFF) * self.count) >> 16;
        self.lfsr.step();
        let k = match self.policy {
            PathPolicy::Single => 0,
            PathPolicy::RoundRobin => {
                let k = (self.turn + self.offset) % self.count;
                self.turn += 1;
                if self.turn == self.count {
                    (self.turn, self.offset) = (0, drawn);
                }
                k
            }
            PathPolicy::Random => drawn,
        };
        self.base.wrapping_add(k as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_stays_in_its_range() {
        for policy in [PathPolicy::Single, PathPolicy::RoundRobin, PathPolicy::Random] {
            let settings =
                Settings { path_policy: policy, path_count: 5, path_base: 254, ..Settings::default() };
            let mut paths = PathScheduler::new(&settings);
            let mut seen = [0u32; 256];
            (0..5000).for_each(|_| seen[paths.take() as usize] += 1);
            let legal: Vec<usize> =
                if policy == PathPolicy::Single { vec![254] } else { vec![254, 255, 0, 1, 2] };
            assert_eq!(legal.iter().map(|&ev| seen[ev]).sum::<u32>(), 5000);
            assert!(legal.iter().all(|&ev| seen[ev] > 800));
        }
    }
}
