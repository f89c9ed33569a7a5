//! CRC-32 as linear algebra over GF(2), evaluated while a block is built.
//!
//! One bit of reflected CRC is `s' = (s >> 1) ^ (P if s & 1)`, a linear and
//! invertible map Z of the 32-bit state. Feeding a word of n bits is
//! `s' = Z^n s + sum over bits j of word[j] * Z^(n-j) e0`, so a whole beat is
//! two matrices: one for the data (no feedback, can be pipelined) and one for
//! the state. Zero bytes in front or behind are powers of Z alone, and can be
//! taken back with powers of its inverse.

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

fn map_rows(step: fn(u32) -> u32, times: usize) -> Rows {
    let columns: Vec<u32> = (0..32).map(|bit| repeat(step, times, 1 << bit)).collect();
    rows_of(&columns)
}

/// The state after a beat of `beat` zero bits.
pub fn state_rows(beat: usize) -> Rows {
    map_rows(forward, beat)
}

/// The state before `bytes` zero bytes, from the one after them.
pub fn rewind_rows(bytes: usize) -> Rows {
    map_rows(backward, 8 * bytes)
}

/// What each bit of a beat adds to the state at the beat's end.
fn data_columns(beat: usize) -> Vec<u32> {
    (0..beat).map(|bit| repeat(forward, beat - bit, 1)).collect()
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
    repeat(forward, beat, start)
}

/// The state behind a correct frame whose last beat, of `beat` bytes, was filled
/// up with zeros; indexed by the bytes of the frame modulo 64.
pub fn residues(beat: usize) -> Vec<u64> {
    let missing = |bytes: usize| (beat - bytes % beat) % beat;
    (0..64).map(|bytes| u64::from(repeat(forward, 8 * missing(bytes), RESIDUE))).collect()
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
        assert_eq!(data ^ times(&state_rows(512), |j| start >> j & 1 == 1), serial);
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
        for bytes in [1usize, 2, 4, 32] {
            let end = (0..bytes).fold(0xDEAD_BEEF, |state, _| step(state, 0));
            assert_eq!(times(&rewind_rows(bytes), |j| end >> j & 1 == 1), 0xDEAD_BEEF);
        }
    }

    #[test]
    fn the_ethernet_header_is_neutral() {
        let fifty = (0..50).fold(STATE_AFTER_PREFIX, |state, _| step(state, 0));
        assert_eq!(first_beat_state(512), fifty);
        assert_eq!(first_beat_state(128), (0..2).fold(STATE_AFTER_PREFIX, |state, _| step(state, 0)));
    }
}
