//! What libraries tell each other about RC pairs, in messages of their own: what a receiver
//! of messages and writes alone cannot do for them.

/// Bytes of a note.
pub const NOTE_LEN: usize = 64;
/// Of this layout.
const LAYOUT: u8 = 1;

/// What is asked for, or told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Send `len` bytes of `address`.
    Read,
    /// If the eight bytes at `address` are `compare`, make them `value`; send what was there.
    CompareSwap,
    /// Add `value` to the eight bytes at `address`; send what was there.
    FetchAdd,
    /// The message of this number was a write with immediate of `len` bytes: they are there.
    Written,
    /// The message of this number waits for its receive.
    Waits,
}

impl Kind {
    const ALL: [Self; 5] = [Self::Read, Self::CompareSwap, Self::FetchAdd, Self::Written, Self::Waits];
}

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note {
    pub kind: Kind,
    /// The pair it is to, and the one it is from.
    pub to: u32,
    pub from: u32,
    /// Of the request at `from`, or of the message at `to`.
    pub number: u32,
    pub address: u64,
    pub rkey: u32,
    pub len: u32,
    /// Of an atomic; of a write the immediate.
    pub value: u64,
    pub compare: u64,
}

impl Note {
    /// One that says nothing yet.
    pub fn new(kind: Kind, to: u32, from: u32, number: u32) -> Self {
        Self { kind, to, from, number, address: 0, rkey: 0, len: 0, value: 0, compare: 0 }
    }

    pub fn bytes(&self) -> [u8; NOTE_LEN] {
        let mut bytes = [0; NOTE_LEN];
        let kind = Kind::ALL.iter().position(|&kind| kind == self.kind).unwrap_or(0) as u8;
        (bytes[0], bytes[1]) = (LAYOUT, kind);
        let words = [self.to, self.from, self.number, self.rkey, self.len];
        for (place, word) in bytes[4..24].chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        for (place, long) in bytes[24..48].chunks_exact_mut(8).zip([self.address, self.value, self.compare]) {
            place.copy_from_slice(&long.to_le_bytes());
        }
        bytes
    }

    /// `None`: another library's, or nonsense.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; NOTE_LEN] = bytes.try_into().ok()?;
        let kind = *Kind::ALL.get(usize::from(bytes[1])).filter(|_| bytes[0] == LAYOUT)?;
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
        Some(Self {
            kind,
            to: word(4),
            from: word(8),
            number: word(12),
            rkey: word(16),
            len: word(20),
            address: long(24),
            value: long(32),
            compare: long(40),
        })
    }
}
