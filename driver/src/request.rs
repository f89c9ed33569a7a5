//! What is posted: addresses, requests, and the send queue entry that is made of one.

use std::ops::Range;
use std::sync::Arc;

use tessera_abi::queue::{self, send};
use tessera_abi::wire::ipv4_gid;

use crate::context::Shared;
use crate::device::DeviceError;
use crate::error::PostError;
use crate::memory::{MemoryRegion, RemoteMemory};

/// Whom to send to. A plain value: the NIC keeps no state for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AddressHandle {
    /// Next hop's MAC address.
    pub mac: [u8; 6],
    /// Destination GID.
    pub gid: [u8; 16],
    /// Destination endpoint number, 24 bits; others are refused.
    pub endpoint: u32,
    /// Destination's Q_Key. Of datagrams: with bit 31 set, the sender's own is
    /// sent instead.
    pub qkey: u32,
    /// Tag control information (priority and VLAN) of the 802.1Q tag of frames
    /// there, if they are to have one. Replies come back under the same.
    pub vlan: Option<u16>,
    /// Of datagrams: TOS byte or IPv6 traffic class.
    pub traffic_class: u8,
    /// Of datagrams: time to live or hop limit; 0 = 64.
    pub hop_limit: u8,
}

impl AddressHandle {
    /// An endpoint behind an IPv4 address.
    pub fn ipv4(mac: [u8; 6], ip: [u8; 4], endpoint: u32, qkey: u32) -> Self {
        Self::new(mac, ipv4_gid(ip), endpoint, qkey)
    }

    /// An endpoint behind an IPv6 address.
    pub fn ipv6(mac: [u8; 6], ip: [u8; 16], endpoint: u32, qkey: u32) -> Self {
        Self::new(mac, ip, endpoint, qkey)
    }

    /// An endpoint behind a GID of either family.
    pub fn new(mac: [u8; 6], gid: [u8; 16], endpoint: u32, qkey: u32) -> Self {
        Self { mac, gid, endpoint, qkey, vlan: None, traffic_class: 0, hop_limit: 0 }
    }

    /// The same, on a VLAN.
    pub fn on_vlan(self, tci: u16) -> Self {
        Self { vlan: Some(tci), ..self }
    }
}

/// A tagged send.
#[derive(Clone, Debug)]
pub struct SendRequest<'a> {
    /// Returned in the completion.
    pub work_id: u64,
    /// Memory to send from.
    pub region: &'a MemoryRegion,
    /// Bytes of it. They must not change until the completion.
    pub range: Range<usize>,
    /// Whom to.
    pub to: AddressHandle,
    /// Reported to the receiver.
    pub tag: u64,
    /// Reported to the receiver.
    pub immediate: Option<u32>,
    /// The collective's round it is part of, if the receiver
    /// [registered](crate::Endpoint::register_round) that; else it means nothing.
    pub round: Option<u16>,
    /// Payload bytes per packet: 256, 512, 1024, 2048 or 4096.
    pub payload_size: u32,
}

/// A write into a peer's memory.
#[derive(Clone, Debug)]
pub struct WriteRequest<'a> {
    /// Returned in the completion.
    pub work_id: u64,
    /// Memory to write from.
    pub region: &'a MemoryRegion,
    /// Bytes of it. They must not change until the completion.
    pub range: Range<usize>,
    /// An endpoint of the protection domain that the peer's memory belongs to.
    pub to: AddressHandle,
    /// Where the bytes go.
    pub remote: RemoteMemory,
    /// Reported to the peer in a completion that takes one of its receives,
    /// whose buffer is not touched. Without it the peer is told nothing.
    pub immediate: Option<u32>,
    /// The peer's round that this message is of, see [`crate::Endpoint::register_round`].
    pub round: Option<u16>,
    /// Payload bytes per packet: 256, 512, 1024, 2048 or 4096.
    pub payload_size: u32,
}

/// A plain datagram.
#[derive(Clone, Debug)]
pub struct DatagramRequest<'a> {
    /// Returned in the completion.
    pub work_id: u64,
    /// Memory to send from.
    pub region: &'a MemoryRegion,
    /// Bytes of it. They must not change until the completion.
    pub range: Range<usize>,
    /// Whom to.
    pub to: AddressHandle,
    /// Sent along.
    pub immediate: Option<u32>,
    /// Most bytes of a datagram there: 256, 512, 1024, 2048 or 4096.
    pub path_mtu: u32,
}

/// What an [inline request](crate::Endpoint::post_inline) does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inline {
    /// A tagged send.
    Send {
        /// Reported to the receiver.
        tag: u64,
    },
    /// A write into a peer's memory.
    Write {
        /// Where the bytes go.
        remote: RemoteMemory,
    },
    /// A plain datagram.
    Datagram,
}

/// A request whose bytes are copied when it is posted.
#[derive(Clone, Copy, Debug)]
pub struct InlineRequest<'a> {
    /// Returned in the completion.
    pub work_id: u64,
    /// What is sent: the caller's again as soon as it is posted.
    pub bytes: &'a [u8],
    /// Whom to.
    pub to: AddressHandle,
    /// Reported to the peer.
    pub immediate: Option<u32>,
    /// As in [`SendRequest`]; without meaning for datagrams.
    pub round: Option<u16>,
    /// Payload bytes per packet, of datagrams the path's MTU: 256, 512, 1024, 2048 or 4096.
    pub payload_size: u32,
    /// What it does.
    pub what: Inline,
}

/// A receive.
#[derive(Clone, Debug)]
pub struct RecvRequest<'a> {
    /// Returned in the completion.
    pub work_id: u64,
    /// Memory to receive into; needs [`Access::local_write`](crate::Access).
    pub region: &'a MemoryRegion,
    /// Bytes of it. The NIC may write them until the completion. A datagram's
    /// payload comes behind [`GRH_LEN`](tessera_abi::wire::GRH_LEN) bytes for its
    /// IP header.
    pub range: Range<usize>,
}

/// A send queue entry in the making, where the NIC will read it.
pub(crate) struct SendEntry<'a>(&'a mut [u8; queue::SEND_ENTRY_LEN]);

impl<'a> SendEntry<'a> {
    #[inline]
    pub(crate) fn new(entry: &'a mut [u8; queue::SEND_ENTRY_LEN], opcode: u8, flags: u8) -> Self {
        entry.fill(0);
        entry[send::OPCODE] = opcode;
        entry[send::FLAGS] = flags;
        Self(entry)
    }

    #[inline]
    pub(crate) fn payload(&mut self, size: u32, region: &MemoryRegion, address: u64, length: u32) {
        self.put(send::PAYLOAD_LOG2, &[size.trailing_zeros() as u8]);
        self.put(send::LENGTH, &length.to_le_bytes());
        self.put(send::ADDRESS, &address.to_le_bytes());
        self.put(send::LKEY, &region.lkey().to_le_bytes());
    }

    #[inline]
    pub(crate) fn put(&mut self, at: usize, bytes: &[u8]) {
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
    }

    #[inline]
    pub(crate) fn immediate(&mut self, immediate: Option<u32>) {
        if let Some(immediate) = immediate {
            self.0[send::FLAGS] |= queue::SEND_IMM;
            self.put(send::IMMEDIATE, &immediate.to_le_bytes());
        }
    }

    #[inline]
    pub(crate) fn round(&mut self, round: Option<u16>) {
        if let Some(round) = round {
            self.0[send::FLAGS] |= queue::SEND_ROUND;
            self.put(send::ROUND, &round.to_le_bytes());
        }
    }

    #[inline]
    pub(crate) fn to(&mut self, to: &AddressHandle) {
        self.put(send::QKEY, &to.qkey.to_le_bytes());
        self.put(send::ENDPOINT, &to.endpoint.to_le_bytes());
        self.put(send::MAC, &to.mac);
        self.put(send::GID, &to.gid);
        if let Some(tci) = to.vlan {
            self.0[send::FLAGS] |= queue::SEND_VLAN;
            self.put(send::VLAN, &tci.to_le_bytes());
        }
    }
}

/// Device address and length of a range of a region of this NIC and life.
pub(crate) fn checked(
    (shared, life): (&Shared, u32),
    region: &MemoryRegion,
    range: &Range<usize>,
) -> Result<(u64, usize), PostError> {
    if !std::ptr::eq(Arc::as_ptr(&region.shared), shared) {
        return Err(PostError::ForeignRegion);
    }
    if region.life != life {
        return Err(DeviceError::Reset.into());
    }
    let len = range.end.saturating_sub(range.start);
    if range.start > range.end || range.end > region.len() {
        return Err(PostError::OutOfRegion { offset: range.start, len, region: region.len() });
    }
    Ok((region.address() + range.start as u64, len))
}
