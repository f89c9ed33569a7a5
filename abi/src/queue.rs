//! Queue entries in host memory. All integers are little-endian; addresses
//! inside are in network byte order, as on the wire.
//!
//! Rings hold a power of two of entries. A doorbell carries the 16-bit running
//! index one past the last entry posted; an entry's place is that index modulo
//! the ring size. A completion entry is new when its phase bit differs from the
//! pass before: the first pass writes 1.

/// Bytes of a send queue entry.
pub const SEND_ENTRY_LEN: usize = 128;
/// Bytes of a receive queue entry.
pub const RECV_ENTRY_LEN: usize = 32;
/// Bytes of a completion queue entry.
pub const COMPLETION_LEN: usize = 64;

/// Send opcode: a tagged send to a reliable endpoint.
pub const OP_SEND: u8 = 1;
/// Send opcode: a plain UD datagram, of plain UD endpoints only.
pub const OP_UD: u8 = 3;

/// Send opcode: a write to a reliable endpoint's memory.
pub const OP_WRITE: u8 = 2;

/// Send flag: `immediate` is valid.
pub const SEND_IMM: u8 = 1 << 0;
/// Send flag: packets carry HOST_RECOVERY; for sends only.
pub const SEND_HOST_RECOVERY: u8 = 1 << 1;
/// Send flag: frames carry the 802.1Q tag of `VLAN`.
pub const SEND_VLAN: u8 = 1 << 3;

/// Send flag: `round` is valid.
pub const SEND_ROUND: u8 = 1 << 2;

/// Byte offsets inside a send queue entry.
pub mod send {
    /// Opcode, u8.
    pub const OPCODE: usize = 0;
    /// Flags, u8.
    pub const FLAGS: usize = 1;
    /// log2 of the payload size (of a datagram: of the path MTU) in bytes, u8, 8..=12.
    pub const PAYLOAD_LOG2: usize = 2;
    /// Traffic class, u8: low four bits, for the receiver to read; of a datagram
    /// the TOS byte or IPv6 traffic class of its frame.
    pub const TRAFFIC_CLASS: usize = 3;
    /// Message length in bytes, u32.
    pub const LENGTH: usize = 4;
    /// Local address, u64.
    pub const ADDRESS: usize = 8;
    /// Local key, u32.
    pub const LKEY: usize = 16;
    /// Initial window in packets, u8; 0 = the NIC's default.
    pub const INITIAL_WINDOW: usize = 20;
    /// Of a datagram: time to live or hop limit, u8; 0 = 64.
    pub const HOP_LIMIT: usize = 21;
    /// Tag of a send, u64; of a write it is not read.
    pub const TAG: usize = 24;
    /// Immediate, u32.
    pub const IMMEDIATE: usize = 32;
    /// Destination's Q_Key, u32. Of a datagram, when bit 31 is set, the
    /// endpoint's own is sent instead.
    pub const QKEY: usize = 36;
    /// Destination endpoint number, u32, 24 bits.
    pub const ENDPOINT: usize = 40;
    /// Round id, u16.
    pub const ROUND: usize = 44;
    /// Destination MAC address, six bytes in wire order.
    pub const MAC: usize = 48;
    /// Tag control information of the 802.1Q tag, u16.
    pub const VLAN: usize = 54;
    /// Destination GID, sixteen bytes in wire order.
    pub const GID: usize = 64;
    /// Remote key of a write, u32.
    pub const RKEY: usize = 80;
    /// Remote address of a write's first byte, u64.
    pub const REMOTE_ADDRESS: usize = 88;
}

/// Receive flag: only for a message of the same tag, on an endpoint with TAGS.
pub const RECV_TAGGED: u8 = 1 << 0;
/// Receive flag: no receive, but takes a tagged one back.
pub const RECV_CANCEL: u8 = 1 << 1;

/// Receive flag: the buffer begins with a [chunk area](area), of the size that
/// AREA tells; not together with [`RECV_TAGGED`].
pub const RECV_CHUNKS: u8 = 1 << 2;

/// Byte offsets inside a receive queue entry.
pub mod recv {
    /// Buffer address, u64.
    pub const ADDRESS: usize = 0;
    /// Buffer length in bytes, u32.
    pub const LENGTH: usize = 8;
    /// Local key, u32.
    pub const LKEY: usize = 12;
    /// Tag to match, u64; of a tagged receive or a cancel.
    pub const TAG: usize = 16;
    /// Flags, u8.
    pub const FLAGS: usize = 24;
    /// With a chunk area: log2 of the packets per chunk in bits 0..3, at most
    /// [`MAX_CHUNK_LOG2`](super::area::MAX_CHUNK_LOG2); its bytes are
    /// `64 << k`, k in bits 4..8. u8.
    pub const AREA: usize = 25;
    /// Of a cancel: running index of the tagged receive, u16.
    pub const TARGET: usize = 26;
    /// Of a cancel: the handle that its POSTED completion told, u16.
    pub const HANDLE: usize = 28;
}

/// Completion opcode: a send request ended.
pub const DONE_SEND: u8 = 1;
/// Completion opcode: a message arrived, or a receive ended in error.
pub const DONE_RECV: u8 = 2;

/// Completion opcode: a tagged receive is in place; it has not ended. LENGTH is
/// its handle.
pub const DONE_POSTED: u8 = 3;
/// Completion opcode: a message begins to arrive that matched no tagged receive
/// and took entry ENTRY of ring RING. Its end follows as `DONE_RECV`.
pub const DONE_UNEXPECTED: u8 = 4;
/// Completion opcode: the cancel of running index ENTRY is done. With `success`
/// the tagged receive it names has ended too.
pub const DONE_CANCEL: u8 = 5;

/// Completion flag: `immediate` is valid.
pub const DONE_IMM: u8 = 1 << 0;
/// Completion flag: the message was a write. A receive with it was used up by a
/// write with immediate and its buffer was not touched.
pub const DONE_WRITE: u8 = 1 << 1;
/// Completion flag: a datagram; the first 40 bytes of the buffer are its GRH
/// area, and `LENGTH` counts them.
pub const DONE_GRH: u8 = 1 << 2;
/// Completion flag: the datagram came with the 802.1Q tag in `VLAN`.
pub const DONE_VLAN: u8 = 1 << 3;

/// Byte offsets inside a completion queue entry.
pub mod done {
    /// Opcode, u8.
    pub const OPCODE: usize = 0;
    /// [`Status`](crate::status::Status), u8.
    pub const STATUS: usize = 1;
    /// Flags, u8.
    pub const FLAGS: usize = 2;
    /// Local endpoint's table index, u16.
    pub const ENDPOINT: usize = 4;
    /// Running index of the send or receive entry this ends, u16.
    pub const ENTRY: usize = 6;
    /// Message length in bytes, u32.
    pub const LENGTH: usize = 8;
    /// Immediate, u32.
    pub const IMMEDIATE: usize = 12;
    /// Tag, u64; of a write, the remote address of its first byte; of a datagram
    /// received its source MAC address and tag:
    pub const TAG: usize = 16;
    /// Of a datagram received: source MAC address, six bytes in wire order.
    pub const MAC: usize = 16;
    /// Of a datagram received: tag control information, u16.
    pub const VLAN: usize = 22;
    /// Message id: slot in the upper 12 bits, generation in the lower 20, u32.
    pub const MESSAGE: usize = 24;
    /// Peer's endpoint number, u32, 24 bits.
    pub const PEER_ENDPOINT: usize = 28;
    /// Peer's GID, sixteen bytes in wire order.
    pub const PEER_GID: usize = 32;
    /// NIC time when the entry was written, ticks, u32.
    pub const TIMESTAMP: usize = 48;
    /// Of a receive: table index of the endpoint or shared ring whose receive
    /// ring holds the entry, u16; of a send 0.
    pub const RING: usize = 52;
    /// Bit 0: phase. The last byte of the entry, u8.
    pub const PHASE: usize = 63;
}

/// The chunk area in front of the payload of a receive with [`RECV_CHUNKS`]:
/// what a host-recovered message tells of itself while it arrives.
///
/// ```text
///  0           32                                            64 << k
///  [ header    ][ block 0 ][ block 1 ] ...                   ][ payload
///                 32 >> n bytes each, a bit per 2^n packets
/// ```
///
/// The host clears it before it posts the receive. The header is written when
/// the message opens, a block's bytes when a chunk of it is complete.
pub mod area {
    /// Alignment of the buffer, and the smallest area, bytes.
    pub const ALIGN: u64 = 64;
    /// Most packets of a chunk, log2.
    pub const MAX_CHUNK_LOG2: u8 = 5;
    /// Bytes of the header: where the bits begin.
    pub const HEADER_LEN: usize = 32;
    /// Handle of the message: its context in the upper 12 bits, its generation in
    /// the lower 20, u32.
    pub const HANDLE: usize = 0;
    /// Packets of the message, u32; never less than 2.
    pub const PACKETS: usize = 4;
    /// Message length in bytes, u32.
    pub const LENGTH: usize = 8;
    /// log2 of the packets per chunk, u8.
    pub const CHUNK_LOG2: usize = 12;
    /// log2 of the payload size, u8.
    pub const PAYLOAD_LOG2: usize = 13;
    /// The message's tag, u64.
    pub const TAG: usize = 16;
    /// 1 once the header is there: its last byte, u8.
    pub const OPEN: usize = 31;

    /// Bytes of an area.
    pub const fn len(k: u8) -> u64 {
        ALIGN << k
    }

    /// Bytes of a block of 256 packets.
    pub const fn block_len(chunk_log2: u8) -> usize {
        32 >> chunk_log2
    }

    /// Bytes that a message of so many packets needs.
    pub const fn needed(packets: u32, chunk_log2: u8) -> u64 {
        let blocks = packets.div_ceil(crate::params::BLOCK_PACKETS) as u64;
        HEADER_LEN as u64 + blocks * block_len(chunk_log2) as u64
    }
}
