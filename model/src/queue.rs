//! Queue entries as values; the layout is that of [`tessera_abi::queue`].

use tessera_abi::params::Config;
use tessera_abi::queue::{self, done, recv, send};
use tessera_abi::wire::{self, MessageId};

fn le<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    std::array::from_fn(|i| bytes[at + i])
}
fn le16(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(le(bytes, at))
}
fn le32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(le(bytes, at))
}
fn le64(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(le(bytes, at))
}
fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

/// A send queue entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SendEntry {
    /// Opcode.
    pub opcode: u8,
    /// The immediate, when given.
    pub immediate: Option<u32>,
    /// The round it is part of.
    pub round: Option<u16>,
    /// log2 of the payload size.
    pub payload_log2: u8,
    /// Traffic class; of a datagram all eight bits count.
    pub traffic_class: u8,
    /// Message length, bytes.
    pub length: u32,
    /// Local address.
    pub address: u64,
    /// Local key.
    pub lkey: u32,
    /// Initial window, packets; 0 = the NIC's default.
    pub initial_window: u8,
    /// Packets ask for recovery by the host.
    pub host_recovery: bool,
    /// Hop limit of a datagram; 0 = the default.
    pub hop_limit: u8,
    /// Tag control information, if frames are to be tagged.
    pub vlan: Option<u16>,
    /// Tag of a send; of a write, the remote address of its first byte.
    pub tag: u64,
    /// Remote key of a write, else 0.
    pub rkey: u32,
    /// Destination's Q_Key.
    pub qkey: u32,
    /// Destination endpoint number.
    pub endpoint: u32,
    /// Destination MAC address.
    pub mac: [u8; 6],
    /// Destination GID.
    pub gid: [u8; 16],
}

impl SendEntry {
    /// Reads an entry.
    pub fn parse(b: &[u8; queue::SEND_ENTRY_LEN]) -> Self {
        let write = b[send::OPCODE] == queue::OP_WRITE;
        Self {
            opcode: b[send::OPCODE],
            immediate: (b[send::FLAGS] & queue::SEND_IMM != 0).then(|| le32(b, send::IMMEDIATE)),
            round: (b[send::FLAGS] & queue::SEND_ROUND != 0).then(|| le16(b, send::ROUND)),
            payload_log2: b[send::PAYLOAD_LOG2],
            traffic_class: b[send::TRAFFIC_CLASS],
            length: le32(b, send::LENGTH),
            address: le64(b, send::ADDRESS),
            lkey: le32(b, send::LKEY),
            initial_window: b[send::INITIAL_WINDOW],
            host_recovery: b[send::FLAGS] & queue::SEND_HOST_RECOVERY != 0,
            hop_limit: b[send::HOP_LIMIT],
            vlan: (b[send::FLAGS] & queue::SEND_VLAN != 0).then(|| le16(b, send::VLAN)),
            tag: le64(b, if write { send::REMOTE_ADDRESS } else { send::TAG }),
            rkey: if write { le32(b, send::RKEY) } else { 0 },
            qkey: le32(b, send::QKEY),
            endpoint: le32(b, send::ENDPOINT) & 0xFF_FFFF,
            mac: le(b, send::MAC),
            gid: le(b, send::GID),
        }
    }

    /// Writes an entry.
    pub fn emit(&self) -> [u8; queue::SEND_ENTRY_LEN] {
        let mut b = [0; queue::SEND_ENTRY_LEN];
        b[send::OPCODE] = self.opcode;
        b[send::FLAGS] = if self.immediate.is_some() { queue::SEND_IMM } else { 0 }
            | if self.vlan.is_some() { queue::SEND_VLAN } else { 0 }
            | if self.host_recovery { queue::SEND_HOST_RECOVERY } else { 0 };
        if let Some(round) = self.round {
            b[send::FLAGS] |= queue::SEND_ROUND;
            put(&mut b, send::ROUND, &round.to_le_bytes());
        }
        b[send::PAYLOAD_LOG2] = self.payload_log2;
        b[send::TRAFFIC_CLASS] = self.traffic_class;
        put(&mut b, send::LENGTH, &self.length.to_le_bytes());
        put(&mut b, send::ADDRESS, &self.address.to_le_bytes());
        put(&mut b, send::LKEY, &self.lkey.to_le_bytes());
        b[send::INITIAL_WINDOW] = self.initial_window;
        b[send::HOP_LIMIT] = self.hop_limit;
        put(&mut b, send::VLAN, &self.vlan.unwrap_or(0).to_le_bytes());
        if self.is_write() {
            put(&mut b, send::RKEY, &self.rkey.to_le_bytes());
            put(&mut b, send::REMOTE_ADDRESS, &self.tag.to_le_bytes());
        } else {
            put(&mut b, send::TAG, &self.tag.to_le_bytes());
        }
        put(&mut b, send::IMMEDIATE, &self.immediate.unwrap_or(0).to_le_bytes());
        put(&mut b, send::QKEY, &self.qkey.to_le_bytes());
        put(&mut b, send::ENDPOINT, &self.endpoint.to_le_bytes());
        put(&mut b, send::MAC, &self.mac);
        put(&mut b, send::GID, &self.gid);
        b
    }

    /// What a NIC of `sizes` makes of it: a round means nothing to one without rounds, and an address
    /// of a kind that it does not have makes no sense.
    pub fn as_taken_by(self, sizes: &Config) -> Self {
        let reached =
            (sizes.ipv6 || wire::gid_ipv4(&self.gid).is_some()) && (sizes.vlan || self.vlan.is_none());
        Self {
            payload_log2: if reached { self.payload_log2 } else { 0 },
            round: self.round.filter(|_| sizes.rounds),
            ..self
        }
    }

    /// A write, else a send.
    pub fn is_write(&self) -> bool {
        self.opcode == queue::OP_WRITE
    }

    /// Packets of the message, or `None` when the entry makes no sense.
    pub fn count(&self) -> Option<u32> {
        let size = tessera_abi::params::MIN_PAYLOAD_LOG2..=tessera_abi::params::MAX_PAYLOAD_LOG2;
        if !matches!(self.opcode, queue::OP_SEND | queue::OP_WRITE) || !size.contains(&self.payload_log2) {
            return None;
        }
        wire::packet_count(self.length, self.payload_log2)
    }
}

/// A receive queue entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RecvEntry {
    /// Buffer address.
    pub address: u64,
    /// Buffer length, bytes.
    pub length: u32,
    /// Local key.
    pub lkey: u32,
    /// What kind of receive it is.
    pub kind: RecvKind,
}

/// Kinds of receive entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RecvKind {
    /// For any message.
    #[default]
    Plain,
    /// Only for a message of this tag.
    Tagged(u64),
    /// Takes a tagged receive back.
    Cancel {
        /// Its tag.
        tag: u64,
        /// Its running index.
        target: u16,
        /// What its POSTED completion told.
        handle: u16,
    },
    /// For any message, and begins with a chunk area.
    Chunks(Shape),
    /// Flags that exclude each other.
    Senseless,
}

/// Sizes of a chunk area.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// log2 of the packets per chunk; 0..=7, more than 5 is refused.
    pub chunk_log2: u8,
    /// log2 of its bytes in units of 64; 0..=15.
    pub area_log2: u8,
}

impl RecvEntry {
    /// A receive for any message.
    pub fn new(address: u64, length: u32, lkey: u32) -> Self {
        Self { address, length, lkey, kind: RecvKind::Plain }
    }

    /// Reads an entry.
    pub fn parse(b: &[u8; queue::RECV_ENTRY_LEN]) -> Self {
        let tag = le64(b, recv::TAG);
        let kind = match b[recv::FLAGS] {
            flags if flags & queue::RECV_CANCEL != 0 => {
                RecvKind::Cancel { tag, target: le16(b, recv::TARGET), handle: le16(b, recv::HANDLE) & 0xFFF }
            }
            flags if flags & queue::RECV_TAGGED != 0 && flags & queue::RECV_CHUNKS != 0 => {
                RecvKind::Senseless
            }
            flags if flags & queue::RECV_CHUNKS != 0 => {
                RecvKind::Chunks(Shape { chunk_log2: b[recv::AREA] & 7, area_log2: b[recv::AREA] >> 4 })
            }
            flags if flags & queue::RECV_TAGGED != 0 => RecvKind::Tagged(tag),
            _ => RecvKind::Plain,
        };
        Self {
            address: le64(b, recv::ADDRESS),
            length: le32(b, recv::LENGTH),
            lkey: le32(b, recv::LKEY),
            kind,
        }
    }

    /// Writes an entry.
    pub fn emit(&self) -> [u8; queue::RECV_ENTRY_LEN] {
        let mut b = [0; queue::RECV_ENTRY_LEN];
        put(&mut b, recv::ADDRESS, &self.address.to_le_bytes());
        put(&mut b, recv::LENGTH, &self.length.to_le_bytes());
        put(&mut b, recv::LKEY, &self.lkey.to_le_bytes());
        match self.kind {
            RecvKind::Plain => {}
            RecvKind::Senseless => b[recv::FLAGS] = queue::RECV_TAGGED | queue::RECV_CHUNKS,
            RecvKind::Chunks(Shape { chunk_log2, area_log2 }) => {
                b[recv::FLAGS] = queue::RECV_CHUNKS;
                b[recv::AREA] = chunk_log2 | area_log2 << 4;
            }
            RecvKind::Tagged(tag) => {
                b[recv::FLAGS] = queue::RECV_TAGGED;
                put(&mut b, recv::TAG, &tag.to_le_bytes());
            }
            RecvKind::Cancel { tag, target, handle } => {
                b[recv::FLAGS] = queue::RECV_CANCEL;
                put(&mut b, recv::TAG, &tag.to_le_bytes());
                put(&mut b, recv::TARGET, &target.to_le_bytes());
                put(&mut b, recv::HANDLE, &handle.to_le_bytes());
            }
        }
        b
    }
}

/// A completion queue entry; the phase bit belongs to the ring, not to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Completion {
    /// [`queue::DONE_SEND`] or [`queue::DONE_RECV`].
    pub opcode: u8,
    /// Status code, raw: a peer's ABORT may carry any byte.
    pub status: u8,
    /// The immediate, when the message has one.
    pub immediate: Option<u32>,
    /// The message was a write.
    pub write: bool,
    /// A datagram: the buffer begins with its GRH area.
    pub grh: bool,
    /// The datagram was tagged.
    pub tagged: bool,
    /// Local endpoint's table index.
    pub endpoint: u16,
    /// Running index of the entry this ends.
    pub entry: u16,
    /// Message length, bytes.
    pub length: u32,
    /// Tag; of a write, the remote address of its first byte.
    pub tag: u64,
    /// Message.
    pub message: MessageId,
    /// Peer's endpoint number.
    pub peer_endpoint: u32,
    /// Peer's GID.
    pub peer_gid: [u8; 16],
    /// NIC time, ticks.
    pub timestamp: u32,
    /// Table index of the ring of a receive; 0 of a send.
    pub ring: u16,
}

impl Completion {
    /// Of a receive entry that no message took.
    pub fn of_entry(
        now: crate::Ticks,
        opcode: u8,
        status: tessera_abi::status::Status,
        ring: u16,
        entry: u16,
    ) -> Self {
        Self {
            opcode,
            status: status as u8,
            immediate: None,
            write: false,
            grh: false,
            tagged: false,
            endpoint: ring,
            entry,
            length: 0,
            tag: 0,
            message: MessageId(0),
            peer_endpoint: 0,
            peer_gid: [0; 16],
            timestamp: now as u32,
            ring,
        }
    }

    /// Reads an entry.
    pub fn parse(b: &[u8; queue::COMPLETION_LEN]) -> Self {
        Self {
            opcode: b[done::OPCODE],
            status: b[done::STATUS],
            immediate: (b[done::FLAGS] & queue::DONE_IMM != 0).then(|| le32(b, done::IMMEDIATE)),
            write: b[done::FLAGS] & queue::DONE_WRITE != 0,
            grh: b[done::FLAGS] & queue::DONE_GRH != 0,
            tagged: b[done::FLAGS] & queue::DONE_VLAN != 0,
            endpoint: le16(b, done::ENDPOINT),
            entry: le16(b, done::ENTRY),
            length: le32(b, done::LENGTH),
            tag: le64(b, done::TAG),
            message: MessageId(le32(b, done::MESSAGE)),
            peer_endpoint: le32(b, done::PEER_ENDPOINT),
            peer_gid: le(b, done::PEER_GID),
            timestamp: le32(b, done::TIMESTAMP),
            ring: le16(b, done::RING),
        }
    }

    /// Writes an entry with the given phase bit.
    pub fn emit(&self, phase: bool) -> [u8; queue::COMPLETION_LEN] {
        let mut b = [0; queue::COMPLETION_LEN];
        b[done::OPCODE] = self.opcode;
        b[done::STATUS] = self.status;
        b[done::FLAGS] = if self.immediate.is_some() { queue::DONE_IMM } else { 0 }
            | if self.write { queue::DONE_WRITE } else { 0 }
            | if self.grh { queue::DONE_GRH } else { 0 }
            | if self.tagged { queue::DONE_VLAN } else { 0 };
        put(&mut b, done::ENDPOINT, &self.endpoint.to_le_bytes());
        put(&mut b, done::ENTRY, &self.entry.to_le_bytes());
        put(&mut b, done::LENGTH, &self.length.to_le_bytes());
        put(&mut b, done::IMMEDIATE, &self.immediate.unwrap_or(0).to_le_bytes());
        put(&mut b, done::TAG, &self.tag.to_le_bytes());
        put(&mut b, done::MESSAGE, &self.message.0.to_le_bytes());
        put(&mut b, done::PEER_ENDPOINT, &self.peer_endpoint.to_le_bytes());
        put(&mut b, done::PEER_GID, &self.peer_gid);
        put(&mut b, done::TIMESTAMP, &self.timestamp.to_le_bytes());
        put(&mut b, done::RING, &self.ring.to_le_bytes());
        b[done::PHASE] = phase as u8;
        b
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_emit_and_parse_back() {
        let entry = SendEntry {
            opcode: queue::OP_SEND,
            immediate: Some(7),
            round: Some(0xBEEF),
            payload_log2: 12,
            traffic_class: 3,
            length: 9_999_999,
            address: 0x1234_5678_9ABC,
            lkey: 0x501,
            initial_window: 8,
            host_recovery: true,
            hop_limit: 3,
            vlan: Some(0x6123),
            tag: 0xFEED_FACE_CAFE_BEEF,
            rkey: 0,
            qkey: 0x8001_0203,
            endpoint: 0x12_3456,
            mac: [1, 2, 3, 4, 5, 6],
            gid: wire::ipv4_gid([10, 0, 0, 1]),
        };
        assert_eq!(SendEntry::parse(&entry.emit()), entry);
        let write = SendEntry { opcode: queue::OP_WRITE, rkey: 0x1234_5678, ..entry };
        assert_eq!(SendEntry::parse(&write.emit()), write);
        let cancel = RecvKind::Cancel { tag: 1 << 63, target: 0xABCD, handle: 0xFED };
        let chunks = RecvKind::Chunks(Shape { chunk_log2: 7, area_log2: 15 });
        let kinds = [RecvKind::Plain, RecvKind::Tagged(u64::MAX - 1), cancel, chunks, RecvKind::Senseless];
        for kind in kinds {
            let recv = RecvEntry { kind, ..RecvEntry::new(u64::MAX - 5, 17, 0xAB) };
            assert_eq!(RecvEntry::parse(&recv.emit()), recv);
        }
        let done = Completion {
            opcode: queue::DONE_RECV,
            status: 3,
            immediate: None,
            write: true,
            grh: true,
            tagged: true,
            endpoint: 5,
            entry: 0xFFFF,
            length: 1,
            tag: 2,
            message: MessageId::new(9, 10),
            peer_endpoint: 0xAB_CDEF,
            peer_gid: entry.gid,
            timestamp: 77,
            ring: 0xFE,
        };
        assert_eq!(Completion::parse(&done.emit(true)), done);
        assert_eq!(done.emit(true)[done::PHASE], 1);
    }
}
