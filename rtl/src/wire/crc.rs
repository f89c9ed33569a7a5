//! CRC-32 as linear algebra over GF(2), evaluated while a block is built.
//!
//! One bit of reflected CRC is `s' = (s >> 1) ^ (P if s & 1)`, a linear and
//! invertible map Z of the 32-bit state. Feeding a word of n bits is
//! `s' = Z^n s + sum over bits j of word[j] * Z^(n-j) e0`, so a whole beat is
//! two matrices: one for the data (no feedback, can be pipelined) and one for
//! the state. Zero bytes in front or behind are powers of Z alone, and can be
//! taken back with powers of its inverse.
//!
//! Blocks keep the state in a basis of its own (decision 0090): bit k is bit 0 of what the state was 4k bytes before,
//! had these been zeros. With T = Z^-32 that is `y[k] = e0 T^k s`, so that four bytes back are a shift by a bit:
//!
//! ```text
//!  y[0] <- y[1] <- y[2] ... y[30] <- y[31] <- y[32], the sum of some of y[0 .. 32]
//! ```
//!
//! and n times four bytes back are a window on `y[n .. n + 32]`. A dense matrix for each number of bytes would be a
//! hundred tables; beats forward, 4 or 16 steps of T, have as many dense rows and no more. What leaves the chip, and
//! nothing else, is turned into the CRC again ([`ended_rows`]).

use super::xor::{self, Rows};
use tessera_abi::icrc::{POLYNOMIAL, RESIDUE, STATE_AFTER_PREFIX};
use tessera_abi::wire::IP_AT;

/// Feeds one zero bit.
fn forward(state: u32) -> u32 {
    (state >> 1) ^ if state & 1 == 1 { POLYNOMIAL } else { 0 }
}

/// Takes one zero bit back. The polynomial has its top bit set, so the top bit
/// of the result tells whether it was applied.
fn backward(state: u32) -> u32 {
    if state >> 31 == 1 {
        (state ^ POLYNOMIAL) << 1 | 1
    } else {
        state << 1
    }
}

fn repeat(step: fn(u32) -> u32, times: usize, state: u32) -> u32 {
    (0..times).fold(state, |state, _| step(state))
}

/// Transposes the images of the unit vectors to the rows of their matrix.
fn rows_of(columns: &[u32]) -> Rows {
    (0..32).map(|bit| (0..columns.len()).filter(|at| columns[*at] >> bit & 1 == 1).collect()).collect()
}

/// Four zero bytes taken back.
fn four_back(state: u32) -> u32 {
    repeat(backward, 32, state)
}

/// A state in the basis of the blocks.
fn turned(state: u32) -> u32 {
    let bit = |(turned, state): (u32, u32), k| (turned | (state & 1) << k, four_back(state));
    (0..32).fold((0, state), bit).0
}

/// The states whose `turned` are the unit vectors.
fn units() -> [u32; 32] {
    // Pairs of a state and what it turns into, eliminated until the latter are units.
    let mut pairs: [(u32, u32); 32] = core::array::from_fn(|bit| (1 << bit, turned(1 << bit)));
    for k in 0..32 {
        let pivot = (k..32).find(|&at| pairs[at].1 >> k & 1 == 1).expect("Z^-32 generates the field");
        pairs.swap(k, pivot);
        let (state, turned) = pairs[k];
        for (at, pair) in pairs.iter_mut().enumerate() {
            if at != k && pair.1 >> k & 1 == 1 {
                *pair = (pair.0 ^ state, pair.1 ^ turned);
            }
        }
    }
    pairs.map(|(state, _)| state)
}

/// Rows of a map of states, from the basis of the blocks to what `to` makes of it.
fn map_rows(map: impl Fn(u32) -> u32) -> Rows {
    rows_of(&units().map(map))
}

/// The state after a beat of `beat` zero bits.
pub fn state_rows(beat: usize) -> Rows {
    map_rows(|state| turned(repeat(forward, beat, state)))
}

/// The state, and behind it the bits that come in where four zero bytes are taken back `most` times: what the state
/// was n times four bytes before is in bits `n .. n + 32`.
pub fn back_rows(most: usize) -> Rows {
    let before = |words| map_rows(|state| turned(repeat(four_back, words, state)));
    let comes_in = (1..=most).filter_map(|words| before(words).pop());
    state_rows(0).into_iter().chain(comes_in).collect()
}

/// The CRC state, as the standard has it, before two zero bytes.
pub fn ended_rows() -> Rows {
    map_rows(|state| repeat(backward, 16, state))
}

/// What each bit of a beat adds to the state at the beat's end.
fn data_columns(beat: usize) -> Vec<u32> {
    (0..beat).map(|bit| turned(repeat(forward, beat - bit, 1))).collect()
}

/// What a beat adds to the state at its end.
pub fn beat_rows(beat: usize) -> Rows {
    rows_of(&data_columns(beat))
}

/// Bits of the state that are added up together: fewest tables for beats of 512 bits.
const GROUPS: [usize; 7] = [5, 5, 5, 5, 4, 4, 4];

/// Parts of what a wide beat adds to the state: fifteen or 31 of each group.
pub const PARTS: usize = 4 * 31 + 3 * 15;

/// The same in two steps: the parts, each of some of the beat's bits, and of which parts each bit is the sum.
pub fn beat_parts(beat: usize) -> (Rows, Rows) {
    xor::in_two_steps(&beat_rows(beat), beat, &GROUPS)
}

/// The state after a first beat of `beat` zero bits. The ICRC begins at the IP header, so
/// the Ethernet header is fed as zeros from the state that they turn into
/// `STATE_AFTER_PREFIX`.
pub fn first_beat_state(beat: usize) -> u32 {
    let start = repeat(backward, 8 * IP_AT, STATE_AFTER_PREFIX);
    turned(repeat(forward, beat, start))
}

/// The state behind a correct frame whose last beat, of `beat` bytes, was filled
/// up with zeros; indexed by the bytes of the frame modulo 64.
pub fn residues(beat: usize) -> Vec<u64> {
    let missing = |bytes: usize| (beat - bytes % beat) % beat;
    (0..64).map(|bytes| u64::from(turned(repeat(forward, 8 * missing(bytes), RESIDUE)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tessera_abi::icrc::step;

    fn times(rows: &Rows, bit: impl Fn(usize) -> bool) -> u32 {
        let mut state = 0;
        for (at, row) in rows.iter().enumerate() {
            state |= u32::from(row.iter().filter(|j| bit(**j)).count() % 2 == 1) << (at % 32);
        }
        state
    }

    #[test]
    fn a_beat_equals_its_bytes() {
        let beat: [u8; 64] = core::array::from_fn(|i| (i as u8).wrapping_mul(73) ^ 0x5A);
        let start = 0x1234_5678;
        let serial = beat.iter().fold(start, |state, byte| step(state, *byte));
        let bit = |j: usize| beat[j / 8] >> (j % 8) & 1 == 1;
        let data = times(&beat_rows(512), bit);
        assert_eq!(data ^ times(&state_rows(512), |j| turned(start) >> j & 1 == 1), turned(serial));
        let (parts, sums) = beat_parts(512);
        assert_eq!(parts.len(), PARTS);
        let parts: Vec<bool> =
            parts.iter().map(|row| row.iter().filter(|j| bit(**j)).count() % 2 == 1).collect();
        assert_eq!(times(&sums, |j| parts[j]), data);
    }

    #[test]
    fn four_narrow_beats_are_a_wide_one() {
        let beat: [u8; 64] = core::array::from_fn(|i| (i as u8).wrapping_mul(31) ^ 0xC3);
        let bit = |j: usize| beat[j / 8] >> (j % 8) & 1 == 1;
        let narrow = (0..4).fold(0u32, |state, i| {
            let data = times(&beat_rows(128), |j| bit(128 * i + j));
            data ^ times(&state_rows(128), |j| state >> j & 1 == 1)
        });
        assert_eq!(narrow, times(&beat_rows(512), bit));
    }

    #[test]
    fn rewinding_undoes_zero_bytes() {
        let rows = back_rows(15);
        for words in 0..=15 {
            let end = (0..4 * words + 2).fold(0xDEAD_BEEF, |state, _| step(state, 0));
            let window: Vec<bool> = rows[words..words + 32]
                .iter()
                .map(|row| row.iter().filter(|k| turned(end) >> **k & 1 == 1).count() % 2 == 1)
                .collect();
            assert_eq!(times(&ended_rows(), |k| window[k]), 0xDEAD_BEEF, "{words}");
        }
    }

    #[test]
    fn steps_are_shifts_with_few_dense_rows() {
        assert!(back_rows(0).iter().enumerate().all(|(k, row)| *row == [k]));
        for (beat, dense) in [(512, 16), (128, 4)] {
            assert_eq!(state_rows(beat).iter().filter(|row| row.len() > 1).count(), dense);
        }
    }

    #[test]
    fn the_ethernet_header_is_neutral() {
        let fifty = (0..50).fold(STATE_AFTER_PREFIX, |state, _| step(state, 0));
        assert_eq!(first_beat_state(512), turned(fifty));
        assert_eq!(first_beat_state(128), turned((0..2).fold(STATE_AFTER_PREFIX, |state, _| step(state, 0))));
    }
}
