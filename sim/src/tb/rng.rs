//! Seeded randomness, the same on every platform.

use rand_pcg::rand_core::{Rng as _, SeedableRng};
use rand_pcg::Pcg64Mcg;
use sha2::{Digest, Sha256};
use std::hash::{BuildHasher, RandomState};

/// The seed of a test: `TESSERA_SEED` (decimal or 0x hexadecimal); else, with a text in
/// `TESSERA_SEEDS`, what that text and the name of the test make; else a fresh one. Prints it
/// with the name of the test.
///
/// # Panics
/// If `TESSERA_SEED` is not a number: running with another seed than the one
/// asked for would look like a passing replay.
pub fn seed(test: &str) -> u64 {
    let seed = match std::env::var("TESSERA_SEED") {
        Ok(text) if !text.is_empty() => {
            parse(&text).unwrap_or_else(|| panic!("TESSERA_SEED={text} is not a number of 64 bits"))
        }
        _ => match std::env::var("TESSERA_SEEDS") {
            Ok(text) if !text.is_empty() => of_text(&text, test),
            _ => RandomState::new().hash_one(std::time::SystemTime::now()),
        },
    };
    eprintln!("{test}: TESSERA_SEED={seed:#018x}");
    seed
}

/// The same in every version and on every platform.
fn of_text(text: &str, test: &str) -> u64 {
    let digest = Sha256::new().chain_update(text).chain_update([0]).chain_update(test).finalize();
    u64::from_le_bytes(digest[..8].try_into().expect("32 bytes"))
}

fn parse(text: &str) -> Option<u64> {
    let text = text.trim().replace('_', "");
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

/// The random numbers of a test.
#[derive(Clone, Debug)]
pub struct Rng(Pcg64Mcg);

impl Rng {
    /// The numbers that belong to `seed`.
    pub fn new(seed: u64) -> Self {
        Rng(Pcg64Mcg::seed_from_u64(seed))
    }

    /// The numbers of a test: [`seed`] prints the seed or takes it back.
    pub fn for_test(test: &str) -> Self {
        Rng::new(seed(test))
    }

    /// An independent sequence, so that what one part draws does not depend on
    /// how much another has drawn.
    pub fn fork(&mut self) -> Rng {
        Rng::new(self.next_u64())
    }

    /// 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `bound`, which must not be 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "there is no number below 0");
        // The top of a 128-bit product: even to 2^-64 times the bound.
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// A number of a range such as `3..10` (3 to 9).
    pub fn range(&mut self, range: std::ops::Range<u64>) -> u64 {
        range.start + self.below(range.end - range.start)
    }

    /// True with probability `p`.
    pub fn chance(&mut self, p: f64) -> bool {
        // 53 bits are what a double holds.
        ((self.next_u64() >> 11) as f64) < p * (1u64 << 53) as f64
    }

    /// One of `choices`.
    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len() as u64) as usize]
    }

    /// `width` random bits (1 to 64) as a number.
    pub fn bits(&mut self, width: usize) -> u64 {
        self.next_u64() >> (64 - width)
    }

    /// `width` random bits, least significant word first.
    pub fn wide(&mut self, width: usize) -> Vec<u64> {
        (0..width.div_ceil(64)).map(|i| self.bits((width - 64 * i).min(64))).collect()
    }

    /// `count` random bytes.
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.0.fill_bytes(&mut bytes);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_means_the_same_numbers_everywhere() {
        let mut rng = Rng::new(1);
        // Worked out once and kept: a change would silently void every seed
        // that was ever printed.
        assert_eq!([rng.next_u64(), rng.next_u64()], EXPECTED);
        let mut rng = Rng::new(1);
        assert_eq!(rng.bits(8), EXPECTED[0] >> 56);
    }

    const EXPECTED: [u64; 2] = [15_803_641_690_485_367_939, 2_537_432_388_316_380_799];

    #[test]
    fn a_text_and_a_name_are_a_seed() {
        // The first eight bytes of SHA-256 of "tree\0test", as `sha256sum` gives them.
        assert_eq!(of_text("tree", "test"), EXPECTED_OF_TEXT);
        assert_ne!(of_text("tree", "tests"), of_text("treet", "ests"));
    }

    const EXPECTED_OF_TEXT: u64 = u64::from_be_bytes([0xc5, 0x6c, 0x30, 0xef, 0x89, 0x50, 0x86, 0x2f]);

    #[test]
    fn draws_stay_in_their_range_and_reach_its_ends() {
        let mut rng = Rng::new(7);
        let drawn: Vec<u64> = (0..1000).map(|_| rng.range(3..7)).collect();
        assert_eq!((drawn.iter().min(), drawn.iter().max()), (Some(&3), Some(&6)));
        let heads = (0..10_000).filter(|_| rng.chance(0.25)).count();
        assert!((2200..2800).contains(&heads), "{heads}");
        assert!((0..100).all(|_| !rng.chance(0.0) && rng.chance(1.0)));
        assert_eq!(rng.wide(70).len(), 2);
        assert!((0..100).all(|_| rng.wide(70)[1] < 64));
    }

    #[test]
    fn seeds_parse_as_they_are_printed() {
        assert_eq!(parse("0x00000000000000ff"), Some(255));
        assert_eq!(parse("255"), Some(255));
        assert_eq!(parse("seed"), None);
    }
}
