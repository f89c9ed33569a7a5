//! Host recovery: messages that the NIC places and software recovers, in the
//! manner of SDR-RDMA.
//!
//! ```text
//!  sender: post_recoverable_send ──packets──> NIC ──payload──> buffer
//!                                              └──header, bits──> chunk area ──> ChunkWatch
//!  receiver's software: poll the watch ──> Context::request_retransmission, complete_partially
//! ```
//!
//! Verbs have no word for it: the work requests are an ordinary send and an
//! ordinary receive, whose buffer begins with an area of bits. A bit stands for
//! a *chunk* of packets and is set when all of its bytes are in the buffer, so
//! data may be used, or rebuilt from parity that travels in messages of its own,
//! before the message has ended. A message of one packet, or one not sent with
//! [`Endpoint::post_recoverable_send`](crate::Endpoint::post_recoverable_send),
//! is recovered by the NIC; its payload lies behind the area all the same, and
//! the area stays empty.

use std::ops::Range;
use std::sync::{Arc, PoisonError};

use tessera_abi::params::{BLOCK_PACKETS, MAX_PACKETS};
use tessera_abi::queue::{self, area, recv};
use tessera_abi::regs;

use crate::context::{Context, Shared};
use crate::device::DeviceError;
use crate::error::PostError;
use crate::memory::DmaMemory;
use crate::request::RecvRequest;

/// How a receive is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkOptions {
    /// Packets per chunk: 1, 2, 4, 8, 16 or 32.
    pub packets_per_chunk: u32,
    /// Most packets of a message that the area tells of. A longer one is refused
    /// with [`Status::Length`](crate::Status) at its sender.
    pub most_packets: u32,
}

impl ChunkOptions {
    fn log2s(&self) -> Option<(u8, u8)> {
        let chunk_log2 = self.packets_per_chunk.trailing_zeros() as u8;
        if !self.packets_per_chunk.is_power_of_two() || chunk_log2 > area::MAX_CHUNK_LOG2 {
            return None;
        }
        let needed = area::needed(self.most_packets, chunk_log2);
        (0..16).find(|&k| area::len(k) >= needed).map(|k| (chunk_log2, k))
    }

    /// Bytes of a receive in front of the payload, or `None` where no area is
    /// large enough or the chunk is of another size than those above.
    pub fn area_len(&self) -> Option<usize> {
        self.log2s().map(|(_, k)| area::len(k) as usize)
    }
}

/// A message as its chunk area tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkedMessage {
    /// Names the message in orders.
    pub handle: u32,
    /// Packets of it.
    pub packets: u32,
    /// Bytes of it.
    pub len: u32,
    /// The sender's tag.
    pub tag: u64,
    /// Payload bytes per packet; the last one may have fewer.
    pub payload_size: u32,
    /// How often the NIC had been [reset](Context::reset) when its receive was posted.
    /// A reset ends the message, and gives its handle to others.
    pub life: u32,
}

/// The chunk area of one receive, to be polled.
#[derive(Clone, Debug)]
pub struct ChunkWatch {
    memory: Arc<DmaMemory>,
    life: u32,
    offset: usize,
    chunk_log2: u8,
    area: usize,
}

impl ChunkWatch {
    /// Where the payload begins in the region.
    pub fn payload(&self) -> usize {
        self.offset + self.area
    }

    /// The message that is arriving here under the host's recovery, if any yet. One of
    /// more packets than the area tells of is none: no NIC opens it.
    pub fn message(&self) -> Option<ChunkedMessage> {
        if self.memory.load_published(self.offset + area::OPEN) == 0 {
            return None;
        }
        let mut bytes = [0; area::HEADER_LEN];
        self.memory.get(self.offset, &mut bytes);
        let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        let packets = word(area::PACKETS);
        if area::needed(packets, self.chunk_log2) > self.area as u64 {
            return None;
        }
        Some(ChunkedMessage {
            handle: word(area::HANDLE),
            packets,
            len: word(area::LENGTH),
            tag: u64::from_le_bytes(std::array::from_fn(|i| bytes[area::TAG + i])),
            payload_size: 1 << (bytes[area::PAYLOAD_LOG2] & 0xF),
            life: self.life,
        })
    }

    /// Whether the bytes of the chunk that a packet is in are in the buffer.
    /// Bits are never taken back.
    ///
    /// # Panics
    /// When the area has no bit for that packet.
    pub fn has(&self, packet: u32) -> bool {
        let found = self.look(packet);
        found.unwrap_or_else(|| panic!("packet {packet} is outside the area's {} bytes", self.area))
    }

    fn look(&self, packet: u32) -> Option<bool> {
        let block = (packet / BLOCK_PACKETS) as usize * area::block_len(self.chunk_log2);
        let chunk = (packet % BLOCK_PACKETS) >> self.chunk_log2;
        let at = area::HEADER_LEN + block + chunk as usize / 8;
        let byte = (at < self.area).then(|| self.memory.load_published(self.offset + at))?;
        Some(byte >> (chunk % 8) & 1 == 1)
    }

    /// Packets of chunks that are not complete, in runs, lowest first; of a message of
    /// another receive only what this area has a bit for.
    pub fn missing(&self, message: &ChunkedMessage) -> Vec<Range<u32>> {
        self.holes(message).collect()
    }

    /// The same one by one, without a list of them.
    pub fn holes(&self, message: &ChunkedMessage) -> impl Iterator<Item = Range<u32>> + '_ {
        let packets = message.packets;
        let chunks = move |from: u32| (from..packets).step_by(1 << self.chunk_log2);
        let mut next = 0;
        std::iter::from_fn(move || {
            // None behind the last that the area has a bit for.
            let start = chunks(next).find_map(|at| match self.look(at) {
                Some(true) => None,
                Some(false) => Some(Some(at)),
                None => Some(None),
            })??;
            let end = chunks(start).find(|&at| self.look(at) != Some(false)).unwrap_or(packets);
            next = end;
            Some(start..end)
        })
    }
}

/// Fills in a receive entry's area, and clears that.
pub(crate) fn watch(
    request: &RecvRequest<'_>,
    options: &ChunkOptions,
    entry: &mut [u8; queue::RECV_ENTRY_LEN],
) -> Result<ChunkWatch, PostError> {
    let refused = PostError::Chunks { packets: options.packets_per_chunk, most: options.most_packets };
    let (chunk_log2, k) = options.log2s().ok_or(refused)?;
    let area = area::len(k) as usize;
    let address = request.region.address() + request.range.start as u64;
    let len = request.range.len();
    if !address.is_multiple_of(area::ALIGN) || len < area {
        return Err(PostError::ChunkArea { offset: request.range.start, len, area });
    }
    entry[recv::FLAGS] = queue::RECV_CHUNKS;
    entry[recv::AREA] = chunk_log2 | k << 4;
    let memory = request.region.memory().clone();
    memory.clear(request.range.start, area);
    Ok(ChunkWatch { memory, life: request.region.life, offset: request.range.start, chunk_log2, area })
}

impl Shared {
    /// An order and what became of it.
    fn order(&self, message: &ChunkedMessage, order: u32) -> Result<bool, DeviceError> {
        let _alive = match self.lives.alive(message.life) {
            Ok(alive) => alive,
            // It has ended, and its handle may be another message's by now.
            Err(DeviceError::Reset) => return Ok(false),
            Err(error) => return Err(error),
        };
        let _one_at_a_time = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
        let status = || self.device.read(regs::RECOVER_STATUS.offset);
        let idle = || Ok(status()? & regs::ORDER_BUSY == 0);
        let stuck = || DeviceError::Gone("an order for a message was never taken".into());
        self.wait_until(idle)?.ok_or_else(stuck)?;
        self.device.write(regs::RECOVER_MESSAGE.offset, message.handle)?;
        self.device.write(regs::RECOVER_ORDER.offset, order)?;
        self.wait_until(idle)?.ok_or_else(stuck)?;
        Ok(status()? & regs::ORDER_MET != 0)
    }
}

impl Context {
    /// Asks the sender of a host-recovered message for what it has sent and this
    /// NIC lacks of one block of 256 packets: the packets below `limit` in the
    /// block of packet `limit - 1`. What the sender has only just sent it sends
    /// once. `false`: the message has ended.
    pub fn request_retransmission(&self, message: &ChunkedMessage, limit: u32) -> Result<bool, DeviceError> {
        self.shared.order(message, limit.min(message.packets).min(MAX_PACKETS))
    }

    /// Ends a host-recovered message as it is. Its receive and its send complete
    /// with [`Status::Partial`](crate::Status) and the length of the whole message;
    /// chunks whose bit is set by the completion are in the buffer, of the others
    /// nothing is said. `false`: it has ended before.
    pub fn complete_partially(&self, message: &ChunkedMessage) -> Result<bool, DeviceError> {
        self.shared.order(message, regs::ORDER_PARTIAL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_are_as_large_as_their_bits() {
        let area =
            |packets_per_chunk, most_packets| ChunkOptions { packets_per_chunk, most_packets }.area_len();
        // A header and 32 bytes of bits; one packet more needs another 32.
        assert_eq!((area(1, 256), area(1, 257)), (Some(64), Some(128)));
        assert_eq!((area(32, 32 * 256), area(32, 33 * 256)), (Some(64), Some(128)));
        assert_eq!(area(3, 10), None);
        assert_eq!(area(64, 10), None);
        assert_eq!(area(1, 1 << 24), None, "the header does not fit beside two MiB of bits");
        assert_eq!(area(2, (1 << 24) - 1), Some(2 << 20));
    }
}
