//! When a driver idles and when a receiver stalls: the standard matrix.

use super::Rng;

/// In which clocks something is willing: a source to offer, a sink to accept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pattern {
    /// In every one.
    Always,
    /// In every other one.
    Alternate,
    /// In one of so many.
    Every(u64),
    /// In each with this probability.
    Random(f64),
    /// In runs: willing for up to 32 clocks, then unwilling for up to 32.
    Bursty,
}

impl Pattern {
    /// One of each kind.
    pub const ALL: [Pattern; 4] =
        [Pattern::Always, Pattern::Alternate, Pattern::Random(0.5), Pattern::Bursty];

    /// Every (idle, back-pressure) pair of [`Pattern::ALL`]: what each block
    /// is tested under.
    pub fn matrix() -> impl Iterator<Item = (Pattern, Pattern)> {
        Pattern::ALL.into_iter().flat_map(|idle| Pattern::ALL.into_iter().map(move |stall| (idle, stall)))
    }

    /// The same for each of these.
    pub fn matrix_of<T>(these: &[T]) -> impl Iterator<Item = ((Pattern, Pattern), &T)> {
        Pattern::matrix().flat_map(move |patterns| these.iter().map(move |one| (patterns, one)))
    }

    /// Starts the pattern; `rng` serves it alone.
    pub fn gate(self, rng: Rng) -> Gate {
        Gate { pattern: self, rng, willing: false, left: 0 }
    }
}

/// A running [`Pattern`].
#[derive(Clone, Debug)]
pub struct Gate {
    pattern: Pattern,
    rng: Rng,
    willing: bool,
    /// Clocks left of the present run.
    left: u64,
}

/// Longest run of [`Pattern::Bursty`], in clocks: past the depth of small FIFOs,
/// so that they are seen full and empty.
const LONGEST_RUN: u64 = 32;

impl Gate {
    /// Whether it is willing in the next clock.
    pub fn is_open(&mut self) -> bool {
        match self.pattern {
            Pattern::Always => true,
            Pattern::Random(p) => self.rng.chance(p),
            Pattern::Alternate => {
                self.willing = !self.willing;
                self.willing
            }
            Pattern::Every(clocks) => {
                self.left = if self.left == 0 { clocks } else { self.left } - 1;
                self.left == 0
            }
            Pattern::Bursty => {
                if self.left == 0 {
                    self.willing = !self.willing;
                    self.left = self.rng.range(1..LONGEST_RUN + 1);
                }
                self.left -= 1;
                self.willing
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(pattern: Pattern, clocks: usize) -> Vec<bool> {
        let mut gate = pattern.gate(Rng::new(3));
        (0..clocks).map(|_| gate.is_open()).collect()
    }

    #[test]
    fn patterns_are_what_they_are_called() {
        assert!(drawn(Pattern::Always, 50).iter().all(|w| *w));
        assert_eq!(drawn(Pattern::Alternate, 4), [true, false, true, false]);
        assert_eq!(drawn(Pattern::Every(3), 7), [false, false, true, false, false, true, false]);
        let open = drawn(Pattern::Random(0.9), 10_000).into_iter().filter(|w| *w).count();
        assert!((8800..9200).contains(&open), "{open}");
        let bursty = drawn(Pattern::Bursty, 10_000);
        let runs: Vec<usize> = bursty.chunk_by(|a, b| a == b).map(<[bool]>::len).collect();
        assert!(runs.iter().all(|r| *r <= 32) && runs.iter().any(|r| *r > 24), "{runs:?}");
        assert!((300..1500).contains(&runs.len()), "{}", runs.len());
        assert_eq!(Pattern::matrix().count(), 16);
    }
}
