//! The packets: offsets, flags, and a parse/emit pair for every layer.
//!
//! ```text
//! Eth 14 [VLAN 4] | IPv4 20 or IPv6 40 | UDP 8 | BTH 12 | DETH 8 | TRH 40 or 60   | payload, pad to 4 | ICRC 4   RM
//!                                                              | [immediate 4]  | payload, pad to 4 | ICRC 4   plain UD
//! ```
//!
//! Multi-byte fields are big-endian, bit 0 is the least significant. What can
//! be constructed here can be emitted, and what is emitted parses back.

mod bytes;
mod form;
mod frame;
mod trh;

pub use form::{
    gid_ipv4, ipv4_gid, Form, ETHERTYPE_IPV4, ETHERTYPE_IPV6, ETHERTYPE_VLAN, IPV6_EXTENSIONS, VLAN_ID,
};
pub use frame::{
    datagram_len, emit, emit_datagram, frame_len, grh, ipv4_checksum, parse, parse_datagram, reseal,
    Datagram, NotRm, Packet, Route,
};
pub use trh::{
    data, fb, feedback, flag, DataHeader, FeedbackHeader, ReleaseHeader, Trh, NO_SAMPLE, TRH_VERSION,
    TYPE_DATA, TYPE_FEEDBACK, TYPE_PROBE, TYPE_RELEASE,
};

/// Ethernet header without tag, bytes.
pub const ETH_LEN: usize = 14;
/// An 802.1Q tag, bytes.
pub const VLAN_LEN: usize = 4;
/// IPv4 header without options, bytes.
pub const IPV4_LEN: usize = 20;
/// IPv6 header, bytes.
pub const IPV6_LEN: usize = 40;
/// UDP header, bytes.
pub const UDP_LEN: usize = 8;
/// Base transport header, bytes.
pub const BTH_LEN: usize = 12;
/// Datagram extended transport header, bytes.
pub const DETH_LEN: usize = 8;
/// Immediate of a plain datagram, bytes.
pub const IMM_LEN: usize = 4;
/// Area in front of a plain datagram's payload that holds its IP header, bytes.
pub const GRH_LEN: usize = 40;
/// Tessera reliability header of DATA, PROBE and RELEASE, bytes.
pub const TRH_DATA_LEN: usize = 40;
/// Tessera reliability header of FEEDBACK, bytes.
pub const TRH_FEEDBACK_LEN: usize = 60;
/// Invariant CRC, bytes.
pub const ICRC_LEN: usize = 4;

/// Offset of the IP header in a frame without tag.
pub const IP_AT: usize = ETH_LEN;
/// Offset of the UDP header in an IPv4 frame without tag.
pub const UDP_AT: usize = IP_AT + IPV4_LEN;
/// Offset of the BTH in an IPv4 frame without tag.
pub const BTH_AT: usize = UDP_AT + UDP_LEN;
/// Offset of the DETH in an IPv4 frame without tag.
pub const DETH_AT: usize = BTH_AT + BTH_LEN;
/// Offset of the TRH in an IPv4 frame without tag.
pub const TRH_AT: usize = DETH_AT + DETH_LEN;
/// Bytes before the payload of DATA over IPv4 without tag.
pub const DATA_HEADER_LEN: usize = TRH_AT + TRH_DATA_LEN;
/// Bytes of a FEEDBACK frame over IPv4 without tag, ICRC included: two 64-byte beats.
pub const FEEDBACK_FRAME_LEN: usize = TRH_AT + TRH_FEEDBACK_LEN + ICRC_LEN;

/// IP protocol number of UDP.
pub const IP_UDP: u8 = 17;
/// UDP destination port of RoCEv2.
pub const UDP_PORT: u16 = 4791;
/// Base of the UDP source ports; the entropy value is added to it. The sum is
/// the IPv6 flow label too.
pub const SPORT_BASE: u16 = 0xC000;
/// BTH opcode UD SEND_ONLY: every RM packet, and plain UD without immediate.
pub const OPCODE_UD_SEND: u8 = 0x64;
/// BTH opcode UD SEND_ONLY with immediate: plain UD only.
pub const OPCODE_UD_SEND_IMM: u8 = 0x65;
/// BTH opcode of a congestion notification packet.
pub const OPCODE_CNP: u8 = 0x81;
/// Default partition key: full member of the default partition.
pub const DEFAULT_PKEY: u16 = 0xFFFF;
/// Of a work request's Q_Key: the endpoint's own Q_Key is sent instead.
pub const QKEY_OWN: u32 = 1 << 31;
/// IPv4 time to live and IPv6 hop limit that senders write.
pub const TTL: u8 = 64;
/// DSCP/ECN byte that senders write: ECN-capable transport (ECT(0)), DSCP 0.
pub const TOS: u8 = 0x02;
/// ECN code point "congestion experienced" (low two bits of the TOS byte).
pub const ECN_CE: u8 = 0x03;

/// A message's number: 12-bit slot and 20-bit generation of its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MessageId(pub u32);

impl MessageId {
    /// Joins a slot (12 bits) and a generation (20 bits).
    pub const fn new(slot: u16, generation: u32) -> Self {
        Self(((slot as u32 & 0xFFF) << 20) | (generation & 0xF_FFFF))
    }
    /// The slot.
    pub const fn slot(self) -> u16 {
        (self.0 >> 20) as u16
    }
    /// The generation.
    pub const fn generation(self) -> u32 {
        self.0 & 0xF_FFFF
    }
}

/// How two generations compare, modulo 2^20.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Age {
    /// The same.
    Same,
    /// `a` is newer: difference 1 ..= 2^19 - 1.
    Newer,
    /// `a` is older.
    Older,
}

/// Compares generation `a` with `held`.
pub const fn generation_age(a: u32, held: u32) -> Age {
    let difference = a.wrapping_sub(held) & 0xF_FFFF;
    match difference {
        0 => Age::Same,
        1..=0x7_FFFF => Age::Newer,
        _ => Age::Older,
    }
}

/// Longest that a receiver may hold on to a message that its sender has let go of
/// ([`RX_GIVE_UP`](crate::regs::RX_GIVE_UP), then [`TIME_WAIT`](crate::regs::TIME_WAIT)
/// or [`MPL`](crate::regs::MPL)), ticks. A slot's messages start six ticks apart at
/// the least, so it has fewer than 2^19 of them meanwhile, and no newer one is taken
/// for an older one, or for the same.
pub const MAX_REMEMBERED: u32 = 6 << 19;

/// Packets of a message, or `None` when it has more than a message may.
pub const fn packet_count(length: u32, payload_log2: u8) -> Option<u32> {
    let count = (length as u64 + (1 << payload_log2) - 1) >> payload_log2;
    if count > crate::params::MAX_PACKETS as u64 {
        None
    } else if count == 0 {
        Some(1)
    } else {
        Some(count as u32)
    }
}

/// Payload bytes of packet `index` of a message.
pub const fn payload_len(length: u32, payload_log2: u8, index: u32) -> u32 {
    let start = (index as u64) << payload_log2;
    if start >= length as u64 {
        return 0;
    }
    let rest = length as u64 - start;
    if rest < 1 << payload_log2 {
        rest as u32
    } else {
        1 << payload_log2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generations_compare_modulo_2_20() {
        assert_eq!(generation_age(0, 0xF_FFFF), Age::Newer);
        assert_eq!(generation_age(0x7_FFFF, 0), Age::Newer);
        assert_eq!(generation_age(0x8_0000, 0), Age::Older);
        assert_eq!(generation_age(5, 5), Age::Same);
    }

    #[test]
    fn counts_cover_the_edges() {
        assert_eq!(packet_count(0, 12), Some(1));
        assert_eq!(packet_count(4096, 12), Some(1));
        assert_eq!(packet_count(4097, 12), Some(2));
        assert_eq!(packet_count(u32::MAX, 8), None);
        assert_eq!(packet_count(u32::MAX - 511, 8), Some(0xFF_FFFE));
        assert_eq!(payload_len(4097, 12, 1), 1);
        assert_eq!(payload_len(0, 12, 0), 0);
    }
}
