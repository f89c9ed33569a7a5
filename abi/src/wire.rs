//! The packets: offsets, flags, and a parse/emit pair for every layer.
//!
//! `Eth 14 | IPv4 20 | UDP 8 | BTH 12 | DETH 8 | TRH 40 or 60 | payload, pad to 4 | ICRC 4`
//!
//! Multi-byte fields are big-endian, bit 0 is the least significant. What can
//! be constructed here can be emitted, and what is emitted parses back.

use crate::icrc;

/// Ethernet header, bytes.
pub const ETH_LEN: usize = 14;
/// IPv4 header without options, bytes.
pub const IPV4_LEN: usize = 20;
/// UDP header, bytes.
pub const UDP_LEN: usize = 8;
/// Base transport header, bytes.
pub const BTH_LEN: usize = 12;
/// Datagram extended transport header, bytes.
pub const DETH_LEN: usize = 8;
/// Tessera reliability header of DATA and PROBE, bytes.
pub const TRH_DATA_LEN: usize = 40;
/// Tessera reliability header of FEEDBACK, bytes.
pub const TRH_FEEDBACK_LEN: usize = 60;
/// Invariant CRC, bytes.
pub const ICRC_LEN: usize = 4;

/// Offset of the IP header in a frame.
pub const IP_AT: usize = ETH_LEN;
/// Offset of the UDP header in an IPv4 frame.
pub const UDP_AT: usize = IP_AT + IPV4_LEN;
/// Offset of the BTH in an IPv4 frame.
pub const BTH_AT: usize = UDP_AT + UDP_LEN;
/// Offset of the DETH in an IPv4 frame.
pub const DETH_AT: usize = BTH_AT + BTH_LEN;
/// Offset of the TRH in an IPv4 frame.
pub const TRH_AT: usize = DETH_AT + DETH_LEN;
/// Bytes before the payload of DATA over IPv4.
pub const DATA_HEADER_LEN: usize = TRH_AT + TRH_DATA_LEN;
/// Bytes of a FEEDBACK frame over IPv4, ICRC included: two 64-byte beats.
pub const FEEDBACK_FRAME_LEN: usize = TRH_AT + TRH_FEEDBACK_LEN + ICRC_LEN;

/// EtherType of IPv4.
pub const ETHERTYPE_IPV4: u16 = 0x0800;
/// IP protocol number of UDP.
pub const IP_UDP: u8 = 17;
/// UDP destination port of RoCEv2.
pub const UDP_PORT: u16 = 4791;
/// Base of the UDP source ports; the entropy value is added to it.
pub const SPORT_BASE: u16 = 0xC000;
/// BTH opcode UD SEND_ONLY: every RM packet.
pub const OPCODE_UD_SEND: u8 = 0x64;
/// BTH opcode UD SEND_ONLY with immediate: plain UD only.
pub const OPCODE_UD_SEND_IMM: u8 = 0x65;
/// BTH opcode of a congestion notification packet.
pub const OPCODE_CNP: u8 = 0x81;
/// Default partition key: full member of the default partition.
pub const DEFAULT_PKEY: u16 = 0xFFFF;
/// IPv4 time to live that senders write.
pub const TTL: u8 = 64;
/// DSCP/ECN byte that senders write: ECN-capable transport (ECT(0)), DSCP 0.
pub const TOS: u8 = 0x02;
/// ECN code point "congestion experienced" (low two bits of the TOS byte).
pub const ECN_CE: u8 = 0x03;

/// TRH version.
pub const TRH_VERSION: u8 = 1;
/// TRH type DATA.
pub const TYPE_DATA: u8 = 1;
/// TRH type FEEDBACK.
pub const TYPE_FEEDBACK: u8 = 2;
/// TRH type PROBE.
pub const TYPE_PROBE: u8 = 3;
/// TRH type RELEASE; reserved in this version of the hardware.
pub const TYPE_RELEASE: u8 = 4;

/// DATA/PROBE flags.
pub mod flag {
    /// Acknowledge at once.
    pub const AR: u8 = 1 << 0;
    /// A retransmission.
    pub const RETX: u8 = 1 << 1;
    /// A write (else a tagged send).
    pub const WRITE: u8 = 1 << 2;
    /// Recovered by host software.
    pub const HOST_RECOVERY: u8 = 1 << 3;
    /// The round id is valid.
    pub const ROUND: u8 = 1 << 4;
    /// The immediate is valid.
    pub const IMM: u8 = 1 << 5;
    /// Established: the sender has heard non-BUSY feedback for this generation.
    pub const EST: u8 = 1 << 6;
    /// Flags that never change within a message.
    pub const IMMUTABLE: u8 = WRITE | HOST_RECOVERY | ROUND | IMM;
}

/// FEEDBACK flags.
pub mod fb {
    /// The message ended; the status byte says how.
    pub const COMPLETE: u8 = 1 << 0;
    /// Zeros of the bitmap below the NACK limit ask for retransmission.
    pub const NACK: u8 = 1 << 1;
    /// The grant advanced.
    pub const GRANT: u8 = 1 << 2;
    /// No room: nothing was kept.
    pub const BUSY: u8 = 1 << 3;
    /// The message ended in an error; the status byte says which.
    pub const ABORT: u8 = 1 << 4;
    /// The packet answered carried congestion-experienced.
    pub const CE: u8 = 1 << 5;
    /// The receiver runs low on tombstones; reserved in this version.
    pub const RELEASE_REQ: u8 = 1 << 6;
}

/// Byte offsets inside a DATA or PROBE TRH.
pub mod data {
    /// Version (high nibble) and type (low nibble).
    pub const VERSION_TYPE: usize = 0;
    /// [`flag`](super::flag)s.
    pub const FLAGS: usize = 1;
    /// Entropy value.
    pub const EV: usize = 2;
    /// log2 payload size (high nibble), traffic class (low nibble).
    pub const SIZE_CLASS: usize = 3;
    /// Message id, u32: slot 12, generation 20.
    pub const MESSAGE: usize = 4;
    /// Packet index (PROBE: next index), 24 bits.
    pub const INDEX: usize = 8;
    /// Initial window in packets, 0 = 256.
    pub const INITIAL_WINDOW: usize = 11;
    /// Message length in bytes, u32.
    pub const LENGTH: usize = 12;
    /// Tag, or remote address of the message's first byte, u64.
    pub const TAG: usize = 16;
    /// Remote key, u32.
    pub const RKEY: usize = 24;
    /// Immediate, u32.
    pub const IMMEDIATE: usize = 28;
    /// Round id, u16.
    pub const ROUND: usize = 32;
    /// Sender's smoothed round-trip time, ticks, 0 = unknown, u16.
    pub const RTT: usize = 34;
    /// Send timestamp, ticks, u32.
    pub const TIMESTAMP: usize = 36;
}

/// Byte offsets inside a FEEDBACK TRH.
pub mod feedback {
    /// Version (high nibble) and type (low nibble).
    pub const VERSION_TYPE: usize = 0;
    /// [`fb`](super::fb) flags.
    pub const FLAGS: usize = 1;
    /// Entropy value of the packet answered.
    pub const EV: usize = 2;
    /// [`Status`](crate::status::Status) of COMPLETE and ABORT.
    pub const STATUS: usize = 3;
    /// Message id, u32.
    pub const MESSAGE: usize = 4;
    /// Every index below has arrived, 24 bits.
    pub const CUMULATIVE: usize = 8;
    /// Feedback sequence of the context, serial modulo 256.
    pub const SEQUENCE: usize = 11;
    /// The sender may send indexes below, 24 bits.
    pub const GRANT: usize = 12;
    /// Duplicates seen in all, saturating.
    pub const DUPLICATES: usize = 15;
    /// Bitmap base, a multiple of 256, 24 bits.
    pub const BASE: usize = 16;
    /// NACK limit, 24 bits.
    pub const LIMIT: usize = 19;
    /// Feedback delay, ticks, 0xFFFF = no sample, u16.
    pub const DELAY: usize = 22;
    /// Echo of the send timestamp, 0 with delay 0xFFFF = no sample, u32.
    pub const ECHO: usize = 24;
    /// Bitmap, 32 bytes; index base + i is bit i % 8 of byte i / 8.
    pub const BITMAP: usize = 28;
}

/// Delay of a feedback that carries no round-trip sample.
pub const NO_SAMPLE: u16 = 0xFFFF;

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

/// A GID that holds an IPv4 address (`::ffff:a.b.c.d`).
pub const fn ipv4_gid(address: [u8; 4]) -> [u8; 16] {
    let [a, b, c, d] = address;
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, a, b, c, d]
}

/// Addresses of one packet, from Ethernet to DETH.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// Destination MAC.
    pub dst_mac: [u8; 6],
    /// Source MAC.
    pub src_mac: [u8; 6],
    /// Source IPv4 address.
    pub src_ip: [u8; 4],
    /// Destination IPv4 address.
    pub dst_ip: [u8; 4],
    /// TOS byte (DSCP and ECN).
    pub tos: u8,
    /// UDP source port.
    pub sport: u16,
    /// Partition key.
    pub pkey: u16,
    /// Destination endpoint, 24 bits.
    pub dst_endpoint: u32,
    /// Packet sequence number, 24 bits: the packet index, ignored by receivers.
    pub psn: u32,
    /// Q_Key.
    pub qkey: u32,
    /// Source endpoint, 24 bits.
    pub src_endpoint: u32,
}

/// TRH of DATA and PROBE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataHeader {
    /// A PROBE (else DATA).
    pub probe: bool,
    /// [`flag`]s.
    pub flags: u8,
    /// Entropy value.
    pub ev: u8,
    /// log2 payload size.
    pub payload_log2: u8,
    /// Traffic class.
    pub traffic_class: u8,
    /// Message.
    pub message: MessageId,
    /// Packet index (PROBE: next index).
    pub index: u32,
    /// Initial window on the wire (0 = 256).
    pub initial_window: u8,
    /// Message length, bytes.
    pub length: u32,
    /// Tag or remote address.
    pub tag: u64,
    /// Remote key.
    pub rkey: u32,
    /// Immediate.
    pub immediate: u32,
    /// Round id.
    pub round: u16,
    /// Sender's smoothed RTT, ticks.
    pub rtt: u16,
    /// Send timestamp, ticks.
    pub timestamp: u32,
}

/// TRH of FEEDBACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeedbackHeader {
    /// [`fb`] flags.
    pub flags: u8,
    /// Entropy value of the packet answered.
    pub ev: u8,
    /// Status code.
    pub status: u8,
    /// Message.
    pub message: MessageId,
    /// Every index below has arrived.
    pub cumulative: u32,
    /// Feedback sequence.
    pub sequence: u8,
    /// The sender may send indexes below.
    pub grant: u32,
    /// Duplicates seen, saturating.
    pub duplicates: u8,
    /// Bitmap base.
    pub base: u32,
    /// NACK limit.
    pub limit: u32,
    /// Feedback delay, ticks.
    pub delay: u16,
    /// Echo of the send timestamp, ticks.
    pub echo: u32,
    /// Arrival bitmap from `base`.
    pub bitmap: [u8; 32],
}

/// A Tessera packet's TRH.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trh {
    /// DATA or PROBE.
    Data(DataHeader),
    /// FEEDBACK.
    Feedback(FeedbackHeader),
}

/// A parsed RM packet; `payload` borrows from the frame, pad removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Addresses.
    pub route: Route,
    /// Reliability header.
    pub trh: Trh,
    /// Payload without pad.
    pub payload: &'a [u8],
    /// Whether the ICRC is right.
    pub icrc_ok: bool,
}

/// The frame is not an RM packet over IPv4 (or is cut short).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotRm;

fn u16_at(b: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([b[at], b[at + 1]])
}
fn u24_at(b: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([0, b[at], b[at + 1], b[at + 2]])
}
fn u32_at(b: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([b[at], b[at + 1], b[at + 2], b[at + 3]])
}
fn put(b: &mut [u8], at: usize, bytes: &[u8]) {
    b[at..at + bytes.len()].copy_from_slice(bytes);
}
fn put24(b: &mut [u8], at: usize, value: u32) {
    put(b, at, &value.to_be_bytes()[1..]);
}

impl DataHeader {
    /// The round it is part of.
    pub fn round(&self) -> Option<u16> {
        (self.flags & flag::ROUND != 0).then_some(self.round)
    }

    /// Reads a 40-byte TRH.
    pub fn parse(b: &[u8; TRH_DATA_LEN]) -> Self {
        let mut tag = [0; 8];
        tag.copy_from_slice(&b[data::TAG..data::TAG + 8]);
        Self {
            probe: b[data::VERSION_TYPE] & 0xF == TYPE_PROBE,
            flags: b[data::FLAGS],
            ev: b[data::EV],
            payload_log2: b[data::SIZE_CLASS] >> 4,
            traffic_class: b[data::SIZE_CLASS] & 0xF,
            message: MessageId(u32_at(b, data::MESSAGE)),
            index: u24_at(b, data::INDEX),
            initial_window: b[data::INITIAL_WINDOW],
            length: u32_at(b, data::LENGTH),
            tag: u64::from_be_bytes(tag),
            rkey: u32_at(b, data::RKEY),
            immediate: u32_at(b, data::IMMEDIATE),
            round: u16_at(b, data::ROUND),
            rtt: u16_at(b, data::RTT),
            timestamp: u32_at(b, data::TIMESTAMP),
        }
    }

    /// Writes a 40-byte TRH.
    pub fn emit(&self) -> [u8; TRH_DATA_LEN] {
        let mut b = [0; TRH_DATA_LEN];
        b[data::VERSION_TYPE] = (TRH_VERSION << 4) | if self.probe { TYPE_PROBE } else { TYPE_DATA };
        b[data::FLAGS] = self.flags;
        b[data::EV] = self.ev;
        b[data::SIZE_CLASS] = (self.payload_log2 << 4) | (self.traffic_class & 0xF);
        put(&mut b, data::MESSAGE, &self.message.0.to_be_bytes());
        put24(&mut b, data::INDEX, self.index);
        b[data::INITIAL_WINDOW] = self.initial_window;
        put(&mut b, data::LENGTH, &self.length.to_be_bytes());
        put(&mut b, data::TAG, &self.tag.to_be_bytes());
        put(&mut b, data::RKEY, &self.rkey.to_be_bytes());
        put(&mut b, data::IMMEDIATE, &self.immediate.to_be_bytes());
        put(&mut b, data::ROUND, &self.round.to_be_bytes());
        put(&mut b, data::RTT, &self.rtt.to_be_bytes());
        put(&mut b, data::TIMESTAMP, &self.timestamp.to_be_bytes());
        b
    }

    /// Packets sent unasked: the wire value 0 means 256.
    pub const fn initial_window_packets(&self) -> u32 {
        if self.initial_window == 0 {
            256
        } else {
            self.initial_window as u32
        }
    }
}

impl FeedbackHeader {
    /// Reads a 60-byte TRH.
    pub fn parse(b: &[u8; TRH_FEEDBACK_LEN]) -> Self {
        let mut bitmap = [0; 32];
        bitmap.copy_from_slice(&b[feedback::BITMAP..]);
        Self {
            flags: b[feedback::FLAGS],
            ev: b[feedback::EV],
            status: b[feedback::STATUS],
            message: MessageId(u32_at(b, feedback::MESSAGE)),
            cumulative: u24_at(b, feedback::CUMULATIVE),
            sequence: b[feedback::SEQUENCE],
            grant: u24_at(b, feedback::GRANT),
            duplicates: b[feedback::DUPLICATES],
            base: u24_at(b, feedback::BASE),
            limit: u24_at(b, feedback::LIMIT),
            delay: u16_at(b, feedback::DELAY),
            echo: u32_at(b, feedback::ECHO),
            bitmap,
        }
    }

    /// Writes a 60-byte TRH.
    pub fn emit(&self) -> [u8; TRH_FEEDBACK_LEN] {
        let mut b = [0; TRH_FEEDBACK_LEN];
        b[feedback::VERSION_TYPE] = (TRH_VERSION << 4) | TYPE_FEEDBACK;
        b[feedback::FLAGS] = self.flags;
        b[feedback::EV] = self.ev;
        b[feedback::STATUS] = self.status;
        put(&mut b, feedback::MESSAGE, &self.message.0.to_be_bytes());
        put24(&mut b, feedback::CUMULATIVE, self.cumulative);
        b[feedback::SEQUENCE] = self.sequence;
        put24(&mut b, feedback::GRANT, self.grant);
        b[feedback::DUPLICATES] = self.duplicates;
        put24(&mut b, feedback::BASE, self.base);
        put24(&mut b, feedback::LIMIT, self.limit);
        put(&mut b, feedback::DELAY, &self.delay.to_be_bytes());
        put(&mut b, feedback::ECHO, &self.echo.to_be_bytes());
        put(&mut b, feedback::BITMAP, &self.bitmap);
        b
    }
}

/// The one's complement checksum of an IPv4 header whose checksum field is 0.
pub fn ipv4_checksum(header: &[u8]) -> u16 {
    let mut sum: u32 =
        header.chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(*w.get(1).unwrap_or(&0))).sum();
    while sum >> 16 != 0 {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    !(sum as u16)
}

/// Length of the frame that carries `trh` and `payload_len` bytes, ICRC included.
pub const fn frame_len(trh: &Trh, payload_len: usize) -> usize {
    let header = match trh {
        Trh::Data(_) => TRH_DATA_LEN,
        Trh::Feedback(_) => TRH_FEEDBACK_LEN,
    };
    TRH_AT + header + payload_len.next_multiple_of(4) + ICRC_LEN
}

/// Writes a whole frame, checksums and ICRC included, and returns its length.
///
/// Returns `None` when `frame` is too short for it.
pub fn emit(route: &Route, trh: &Trh, payload: &[u8], frame: &mut [u8]) -> Option<usize> {
    let len = frame_len(trh, payload.len());
    let frame = frame.get_mut(..len)?;
    frame.fill(0);
    put(frame, 0, &route.dst_mac);
    put(frame, 6, &route.src_mac);
    put(frame, 12, &ETHERTYPE_IPV4.to_be_bytes());
    let ip_len = (len - ETH_LEN) as u16;
    frame[IP_AT] = 0x45;
    frame[IP_AT + 1] = route.tos;
    put(frame, IP_AT + 2, &ip_len.to_be_bytes());
    put(frame, IP_AT + 6, &0x4000u16.to_be_bytes());
    frame[IP_AT + 8] = TTL;
    frame[IP_AT + 9] = IP_UDP;
    put(frame, IP_AT + 12, &route.src_ip);
    put(frame, IP_AT + 16, &route.dst_ip);
    let checksum = ipv4_checksum(&frame[IP_AT..UDP_AT]);
    put(frame, IP_AT + 10, &checksum.to_be_bytes());
    put(frame, UDP_AT, &route.sport.to_be_bytes());
    put(frame, UDP_AT + 2, &UDP_PORT.to_be_bytes());
    put(frame, UDP_AT + 4, &(ip_len - IPV4_LEN as u16).to_be_bytes());
    let pad = payload.len().next_multiple_of(4) - payload.len();
    frame[BTH_AT] = OPCODE_UD_SEND;
    frame[BTH_AT + 1] = (pad as u8) << 4;
    put(frame, BTH_AT + 2, &route.pkey.to_be_bytes());
    put24(frame, BTH_AT + 5, route.dst_endpoint);
    put24(frame, BTH_AT + 9, route.psn);
    put(frame, DETH_AT, &route.qkey.to_be_bytes());
    put24(frame, DETH_AT + 5, route.src_endpoint);
    let payload_at = match trh {
        Trh::Data(header) => {
            put(frame, TRH_AT, &header.emit());
            TRH_AT + TRH_DATA_LEN
        }
        Trh::Feedback(header) => {
            put(frame, TRH_AT, &header.emit());
            TRH_AT + TRH_FEEDBACK_LEN
        }
    };
    put(frame, payload_at, payload);
    let crc = icrc::ipv4(&frame[IP_AT..len - ICRC_LEN]);
    put(frame, len - ICRC_LEN, &crc);
    Some(len)
}

/// Reads a frame. Only the *form* is judged (layers, lengths, versions); what a
/// receiver refuses beyond that is the protocol's business.
pub fn parse(frame: &[u8]) -> Result<Packet<'_>, NotRm> {
    if frame.len() < TRH_AT + TRH_DATA_LEN + ICRC_LEN
        || u16_at(frame, 12) != ETHERTYPE_IPV4
        || frame[IP_AT] != 0x45
        || frame[IP_AT + 9] != IP_UDP
        || u16_at(frame, UDP_AT + 2) != UDP_PORT
        || frame[BTH_AT] != OPCODE_UD_SEND
        || frame[TRH_AT] >> 4 != TRH_VERSION
    {
        return Err(NotRm);
    }
    let ip_len = u16_at(frame, IP_AT + 2) as usize;
    let end = IP_AT + ip_len;
    let pad = (frame[BTH_AT + 1] >> 4 & 3) as usize;
    if end > frame.len() || u16_at(frame, UDP_AT + 4) as usize + IPV4_LEN != ip_len {
        return Err(NotRm);
    }
    let (trh, payload_at) = match frame[TRH_AT] & 0xF {
        TYPE_DATA | TYPE_PROBE => {
            let bytes = frame[TRH_AT..].first_chunk().ok_or(NotRm)?;
            (Trh::Data(DataHeader::parse(bytes)), TRH_AT + TRH_DATA_LEN)
        }
        TYPE_FEEDBACK => {
            let bytes = frame[TRH_AT..].first_chunk().ok_or(NotRm)?;
            (Trh::Feedback(FeedbackHeader::parse(bytes)), TRH_AT + TRH_FEEDBACK_LEN)
        }
        _ => return Err(NotRm),
    };
    let payload = frame.get(payload_at..(end.checked_sub(ICRC_LEN + pad).ok_or(NotRm)?)).ok_or(NotRm)?;
    let mac =
        |at: usize| [frame[at], frame[at + 1], frame[at + 2], frame[at + 3], frame[at + 4], frame[at + 5]];
    let ip = |at: usize| [frame[at], frame[at + 1], frame[at + 2], frame[at + 3]];
    Ok(Packet {
        route: Route {
            dst_mac: mac(0),
            src_mac: mac(6),
            src_ip: ip(IP_AT + 12),
            dst_ip: ip(IP_AT + 16),
            tos: frame[IP_AT + 1],
            sport: u16_at(frame, UDP_AT),
            pkey: u16_at(frame, BTH_AT + 2),
            dst_endpoint: u24_at(frame, BTH_AT + 5),
            psn: u24_at(frame, BTH_AT + 9),
            qkey: u32_at(frame, DETH_AT),
            src_endpoint: u24_at(frame, DETH_AT + 5),
        },
        trh,
        payload,
        icrc_ok: icrc::ipv4(&frame[IP_AT..end - ICRC_LEN]) == frame[end - ICRC_LEN..end],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route() -> Route {
        Route {
            dst_mac: [2, 0, 0, 0, 0, 1],
            src_mac: [2, 0, 0, 0, 0, 2],
            src_ip: [10, 0, 0, 2],
            dst_ip: [10, 0, 0, 1],
            tos: TOS,
            sport: SPORT_BASE + 7,
            pkey: DEFAULT_PKEY,
            dst_endpoint: 0x12_3456,
            psn: 9,
            qkey: 0x1111_2222,
            src_endpoint: 0x65_4321,
        }
    }

    fn data() -> DataHeader {
        DataHeader {
            probe: false,
            flags: flag::AR | flag::IMM,
            ev: 7,
            payload_log2: 12,
            traffic_class: 3,
            message: MessageId::new(0xABC, 0xF_1234),
            index: 0x01_0203,
            initial_window: 16,
            length: 123_456_789,
            tag: 0x0102_0304_0506_0708,
            rkey: 5,
            immediate: 6,
            round: 7,
            rtt: 8,
            timestamp: 9,
        }
    }

    #[test]
    fn emitted_data_parses_back() {
        for payload_len in [0usize, 1, 2, 3, 4, 61, 4096] {
            let payload: [u8; 4096] = core::array::from_fn(|i| i as u8);
            let mut frame = [0; crate::params::MAX_FRAME];
            let len = emit(&route(), &Trh::Data(data()), &payload[..payload_len], &mut frame).unwrap();
            assert_eq!(len, DATA_HEADER_LEN + payload_len.next_multiple_of(4) + ICRC_LEN);
            let packet = parse(&frame[..len]).unwrap();
            assert_eq!(packet.route, route());
            assert_eq!(packet.trh, Trh::Data(data()));
            assert_eq!(packet.payload, &payload[..payload_len]);
            assert!(packet.icrc_ok);
            assert_eq!(ipv4_checksum(&frame[IP_AT..UDP_AT]), 0);
            frame[len - 9] ^= 1;
            assert!(!parse(&frame[..len]).is_ok_and(|packet| packet.icrc_ok));
        }
    }

    #[test]
    fn feedback_is_two_beats_and_parses_back() {
        let header = FeedbackHeader {
            flags: fb::NACK | fb::GRANT,
            ev: 1,
            status: 2,
            message: MessageId::new(1, 2),
            cumulative: 3,
            sequence: 4,
            grant: 5,
            duplicates: 6,
            base: 256,
            limit: 300,
            delay: NO_SAMPLE,
            echo: 0,
            bitmap: core::array::from_fn(|i| i as u8),
        };
        let mut frame = [0; 128];
        let len = emit(&route(), &Trh::Feedback(header), &[], &mut frame).unwrap();
        assert_eq!(len, FEEDBACK_FRAME_LEN);
        assert_eq!(len, 126);
        assert_eq!(parse(&frame[..len]).unwrap().trh, Trh::Feedback(header));
    }

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
