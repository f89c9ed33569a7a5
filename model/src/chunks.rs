//! Host recovery: what a message tells of itself in the area in front of its
//! buffer (HR).
//!
//! ```text
//!  opens ──────────────────> header   ┐
//!  packet completes a chunk ─> bits   ├─ writes into the area, behind the payload
//!  order of the host ──> NACK, or the end as it is
//! ```
//!
//! Pure functions of a message and its bits; who calls them when is
//! [`crate::receiver`].

use tessera_abi::queue::area;
use tessera_abi::regs::ORDER_PARTIAL;
use tessera_abi::wire::{self, flag, DataHeader, MessageId};

use crate::bitmap::Block;
use crate::queue::{RecvEntry, RecvKind, Shape};

/// A host-recovered message's area.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Area {
    /// First address.
    pub address: u64,
    /// Its sizes.
    pub shape: Shape,
}

/// Bytes of a receive in front of a send's payload.
//= HR-2
pub fn offset(entry: &RecvEntry) -> u64 {
    match entry.kind {
        RecvKind::Chunks(shape) => area::len(shape.area_log2),
        _ => 0,
    }
}

/// Whether a receive may be posted as it is.
//= HR-2
pub fn well_formed(entry: &RecvEntry) -> bool {
    match entry.kind {
        RecvKind::Chunks(shape) => {
            shape.chunk_log2 <= area::MAX_CHUNK_LOG2
                && entry.address.is_multiple_of(area::ALIGN)
                && entry.length as u64 >= offset(entry)
        }
        RecvKind::Senseless => false,
        _ => true,
    }
}

/// The area of the message that `packet` is of, if it is host-recovered in
/// this receive; a NIC that lets no host recover has none such.
//= HR-1
pub fn area_of(entry: &RecvEntry, packet: &DataHeader, recovers: bool) -> Option<Area> {
    if !recovers {
        return None;
    }
    let RecvKind::Chunks(shape) = entry.kind else { return None };
    let count = wire::packet_count(packet.length, packet.payload_log2)?;
    let asked = packet.flags & (flag::HOST_RECOVERY | flag::WRITE) == flag::HOST_RECOVERY;
    (asked && count > 1).then_some(Area { address: entry.address, shape })
}

/// Whether a send does not fit into a receive.
//= RO-6
//= HR-2
pub fn too_short(entry: &RecvEntry, packet: &DataHeader, recovers: bool) -> bool {
    let count = wire::packet_count(packet.length, packet.payload_log2).unwrap_or(1);
    let untold = |area: Area| area::needed(count, area.shape.chunk_log2) > offset(entry);
    (entry.length as u64) < offset(entry) + packet.length as u64
        || area_of(entry, packet, recovers).is_some_and(untold)
}

impl Area {
    /// The header, at its address.
    //= HR-3
    pub fn header(&self, handle: MessageId, opener: &DataHeader) -> (u64, Vec<u8>) {
        let count = wire::packet_count(opener.length, opener.payload_log2).unwrap_or(1);
        let mut bytes = vec![0; area::HEADER_LEN];
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        put(area::HANDLE, &handle.0.to_le_bytes());
        put(area::PACKETS, &count.to_le_bytes());
        put(area::LENGTH, &opener.length.to_le_bytes());
        put(area::CHUNK_LOG2, &[self.shape.chunk_log2]);
        put(area::PAYLOAD_LOG2, &[opener.payload_log2]);
        put(area::TAG, &opener.tag.to_le_bytes());
        put(area::OPEN, &[1]);
        (self.address, bytes)
    }

    /// Where a block's bytes are, and how many.
    pub fn place(&self, block: u32) -> (u64, usize) {
        let len = area::block_len(self.shape.chunk_log2);
        (self.address + area::HEADER_LEN as u64 + block as u64 * len as u64, len)
    }

    /// Whether all packets of the chunk of packet `bit` of a block are there.
    pub fn complete(&self, bits: &Block, bit: u32) -> bool {
        let log2 = self.shape.chunk_log2 as u32;
        let first = bit >> log2 << log2;
        (first..first + (1 << log2)).all(|bit| bits.get(bit))
    }

    /// The write that tells of the chunks of a block.
    //= HR-4
    pub fn told(&self, block: u32, bits: &Block) -> (u64, Vec<u8>) {
        let (address, len) = self.place(block);
        let mut bytes = vec![0; len];
        for chunk in 0..len as u32 * 8 {
            let complete = self.complete(bits, chunk << self.shape.chunk_log2);
            bytes[chunk as usize / 8] |= (complete as u8) << (chunk % 8);
        }
        (address, bytes)
    }
}

/// What the host orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// End the message as it is.
    Partial,
    /// Ask for what is missing below this index, in the block in front of it.
    Nack(u32),
}

impl Order {
    /// The order of a value of RECOVER_ORDER.
    pub fn of(value: u32) -> Self {
        if value & ORDER_PARTIAL != 0 {
            Self::Partial
        } else {
            Self::Nack(value & 0xFF_FFFF)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn area(chunk_log2: u8) -> Area {
        Area { address: 0x1000, shape: Shape { chunk_log2, area_log2: 3 } }
    }

    //= HR-4 test
    #[test]
    fn a_bit_stands_for_every_packet_of_its_chunk() {
        let mut bits = Block::new(21);
        (0..9).for_each(|bit| assert!(bits.set(bit)));
        let (address, bytes) = area(2).told(3, &bits);
        assert_eq!(address, 0x1000 + 32 + 3 * 8);
        // Packets 0..8 make two chunks; 9..21 miss some; from 24 on there are none.
        assert_eq!(bytes, [0b1100_0011, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]);
        assert_eq!(area(5).told(1, &bits), (0x1000 + 32 + 1, vec![0xFE]));
        assert_eq!(area(0).told(0, &bits).1[..3], [0xFF, 0x01, 0xE0]);
    }

    //= HR-2 test
    #[test]
    fn an_area_takes_part_of_the_receive() {
        let shape = Shape { chunk_log2: 0, area_log2: 0 };
        let entry = RecvEntry { kind: RecvKind::Chunks(shape), ..RecvEntry::new(64, 64 + 600, 1) };
        let packet = |length: u32, flags: u8| DataHeader {
            probe: false,
            flags,
            ev: 0,
            payload_log2: 8,
            traffic_class: 0,
            message: MessageId(0),
            index: 0,
            initial_window: 1,
            length,
            tag: 0,
            rkey: 0,
            immediate: 0,
            round: 0,
            rtt: 0,
            timestamp: 0,
        };
        let recovered = flag::HOST_RECOVERY;
        assert!(!too_short(&entry, &packet(600, 0), true) && too_short(&entry, &packet(601, 0), true));
        assert!(area_of(&entry, &packet(600, recovered), true).is_some());
        assert!(area_of(&entry, &packet(256, recovered), true).is_none(), "one packet");
        assert!(area_of(&entry, &packet(600, recovered | flag::WRITE), true).is_none());
        // One block of bits fits behind the header, a second does not.
        let large = RecvEntry { length: 1 << 20, ..entry };
        assert!(!too_short(&large, &packet(256 * 256, recovered), true));
        assert!(too_short(&large, &packet(256 * 256 + 1, recovered), true));
        assert!(!too_short(&large, &packet(256 * 256 + 1, 0), true), "bits are nobody's then");
        assert!(!well_formed(&RecvEntry { address: 32, ..entry }));
        assert!(well_formed(&RecvEntry { length: 64, ..entry }));
        assert!(!well_formed(&RecvEntry { length: 63, ..entry }));
        let wide = Shape { chunk_log2: 6, area_log2: 0 };
        assert!(!well_formed(&RecvEntry { kind: RecvKind::Chunks(wide), ..entry }));
    }
}
