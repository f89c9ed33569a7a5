//! What the tables of a hash hold for a seed, bit by bit: the reference for
//! `rx::LookupHash` and `rx::TagHash`.

/// Bits of a word.
const WORD: usize = 26;
/// Steps that are dropped.
const MIXED: usize = 64 * WORD;

/// Trivium's generator: state bits `s[1]` to `s[288]`, as it is specified.
struct Trivium([bool; 289]);

impl Trivium {
    /// With a key and an initialisation vector of zeros.
    fn new(key: u128) -> Self {
        let mut s = [false; 289];
        for bit in 0..80 {
            s[1 + bit] = key >> bit & 1 != 0;
        }
        s[286..].fill(true);
        Self(s)
    }

    fn step(&mut self) -> bool {
        let s = &mut self.0;
        let (t1, t2, t3) = (s[66] ^ s[93], s[162] ^ s[177], s[243] ^ s[288]);
        let next1 = t1 ^ (s[91] & s[92]) ^ s[171];
        let next2 = t2 ^ (s[175] & s[176]) ^ s[264];
        let next3 = t3 ^ (s[286] & s[287]) ^ s[69];
        s.copy_within(1..288, 2);
        (s[1], s[94], s[178]) = (next3, next1, next2);
        t1 ^ t2 ^ t3
    }
}

/// So many tables of 32 words.
pub fn tables(seed: u32, count: usize) -> Vec<[u32; 32]> {
    let mut trivium = Trivium::new(u128::from(seed) << 26);
    for _ in 0..MIXED {
        trivium.step();
    }
    let mut word = || (0..WORD).fold(0, |word, _| word << 1 | u32::from(trivium.step()));
    (0..count).map(|_| std::array::from_fn(|_| word())).collect()
}

/// The sum of the words that a key's pieces of five bits name; the lowest piece
/// is the first table's.
pub fn hash(tables: &[[u32; 32]], piece: impl Fn(usize) -> usize) -> u32 {
    tables.iter().enumerate().fold(0, |sum, (at, table)| sum ^ table[piece(at)])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The published stream of the key and the vector that are zero.
    #[test]
    fn the_generator_is_triviums() {
        let mut trivium = Trivium::new(0);
        for _ in 0..1152 {
            trivium.step();
        }
        let mut byte = || (0..8).fold(0, |byte, bit| byte | u8::from(trivium.step()) << bit);
        let stream: Vec<u8> = (0..8).map(|_| byte()).collect();
        assert_eq!(stream, [0xFB, 0xE0, 0xBF, 0x26, 0x58, 0x59, 0x05, 0x1B]);
    }
}
