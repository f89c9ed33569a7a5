//! Judges an arriving frame before anything changes (rules RX).
//!
//! ```text
//!  frame ─> form ─> address ─> lengths ─> ICRC ─> BTH ─> keys ─> TRH ─> fields ─> Inbound
//!              each step: the first reason that applies is the frame's only count
//! ```

use tessera_abi::icrc;
use tessera_abi::params::{MAX_FRAME, MAX_PAYLOAD_LOG2, MIN_PAYLOAD_LOG2};
use tessera_abi::status::Drop;
use tessera_abi::wire::{self, flag, DataHeader, FeedbackHeader, BTH_AT, DETH_AT, IP_AT, TRH_AT, UDP_AT};

use crate::settings::{Endpoint, Identity};

/// Shortest frame with a reason other than `frame`: Ethernet to DETH, and ICRC.
pub const MIN_FRAME: usize = TRH_AT + wire::ICRC_LEN;

/// What every accepted packet says about where it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Source MAC: replies go there.
    pub mac: [u8; 6],
    /// Source IPv4 address.
    pub ip: [u8; 4],
    /// Source endpoint.
    pub endpoint: u32,
    /// Local endpoint it is for.
    pub local: Endpoint,
    /// Congestion experienced.
    pub ce: bool,
}

/// A packet that passed every check of the RX rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inbound<'a> {
    /// DATA or PROBE, for the receiver.
    Data(Origin, DataHeader, &'a [u8]),
    /// FEEDBACK, for the sender.
    Feedback(Origin, FeedbackHeader),
}

fn u16_at(frame: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([frame[at], frame[at + 1]])
}
fn u24_at(frame: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([0, frame[at], frame[at + 1], frame[at + 2]])
}
fn u32_at(frame: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([frame[at], frame[at + 1], frame[at + 2], frame[at + 3]])
}

/// Judges `frame` (no FCS). `endpoint_of` looks a table index up.
//= RX-1
//= RX-2
pub fn judge<'a>(
    frame: &'a [u8],
    identity: &Identity,
    endpoint_of: impl Fn(u16) -> Option<Endpoint>,
) -> Result<Inbound<'a>, Drop> {
    if frame.len() < MIN_FRAME || frame.len() > MAX_FRAME {
        return Err(Drop::Frame);
    }
    if frame[..6] != identity.mac
        || u16_at(frame, 12) != wire::ETHERTYPE_IPV4
        || frame[IP_AT] >> 4 != 4
        || frame[IP_AT + 9] != wire::IP_UDP
        || frame[IP_AT + 16..IP_AT + 20] != identity.ip
        || u16_at(frame, UDP_AT + 2) != wire::UDP_PORT
    {
        return Err(Drop::NotOurs);
    }
    //= RX-3
    let ip: [u8; 4] = std::array::from_fn(|i| frame[IP_AT + 12 + i]);
    if frame[IP_AT] & 0xF != 5
        || u16_at(frame, IP_AT + 6) & 0x3FFF != 0
        || ip[0] >> 4 == 0xE
        || ip == [0; 4]
        || ip == [255; 4]
    {
        return Err(Drop::IpHeader);
    }
    let ip_len = u16_at(frame, IP_AT + 2) as usize;
    if ip_len + wire::ETH_LEN != frame.len() || u16_at(frame, UDP_AT + 4) as usize + wire::IPV4_LEN != ip_len
    {
        return Err(Drop::Length);
    }
    let (covered, crc) = frame.split_at(frame.len() - wire::ICRC_LEN);
    if icrc::ipv4(&covered[IP_AT..]) != crc {
        return Err(Drop::Icrc);
    }
    //= RX-4
    if frame[BTH_AT] == wire::OPCODE_CNP {
        return Err(Drop::Cnp);
    }
    if frame[BTH_AT] != wire::OPCODE_UD_SEND || frame[BTH_AT + 1] & 0xF != 0 {
        return Err(Drop::Bth);
    }
    let pkey = u16_at(frame, BTH_AT + 2);
    if (pkey ^ identity.pkey) & 0x7FFF != 0 || (pkey | identity.pkey) & 0x8000 == 0 {
        return Err(Drop::PKey);
    }
    //= RX-5
    let number = u24_at(frame, BTH_AT + 5);
    let local = endpoint_of((number & 0xFF) as u16)
        .filter(|endpoint| endpoint.number == number)
        .ok_or(Drop::Endpoint)?;
    if u32_at(frame, DETH_AT) != local.qkey {
        return Err(Drop::QKey);
    }
    let origin = Origin {
        mac: std::array::from_fn(|i| frame[6 + i]),
        ip,
        endpoint: u24_at(frame, DETH_AT + 5),
        local,
        ce: frame[IP_AT + 1] & wire::ECN_CE == wire::ECN_CE,
    };
    let trh = &covered[TRH_AT..];
    let (&[version_type], _) = trh.split_first_chunk().ok_or(Drop::Trh)?;
    if version_type >> 4 != wire::TRH_VERSION {
        return Err(Drop::Trh);
    }
    match version_type & 0xF {
        wire::TYPE_FEEDBACK => {
            let bytes = trh.first_chunk().ok_or(Drop::Trh)?;
            Ok(Inbound::Feedback(origin, FeedbackHeader::parse(bytes)))
        }
        wire::TYPE_DATA | wire::TYPE_PROBE => {
            let (bytes, rest) = trh.split_first_chunk().ok_or(Drop::Trh)?;
            let pad = (frame[BTH_AT + 1] >> 4 & 3) as usize;
            let header = DataHeader::parse(bytes);
            let payload = fields(&header, rest, pad)?;
            Ok(Inbound::Data(origin, header, payload))
        }
        _ => Err(Drop::Trh),
    }
}

//= RX-6
fn fields<'a>(header: &DataHeader, rest: &'a [u8], pad: usize) -> Result<&'a [u8], Drop> {
    if header.flags & flag::HOST_RECOVERY != 0 {
        return Err(Drop::Unsupported);
    }
    if !(MIN_PAYLOAD_LOG2..=MAX_PAYLOAD_LOG2).contains(&header.payload_log2) {
        return Err(Drop::Fields);
    }
    let count = wire::packet_count(header.length, header.payload_log2).ok_or(Drop::Fields)?;
    let expected = if header.probe {
        if header.index > count {
            return Err(Drop::Fields);
        }
        0
    } else {
        if header.index >= count {
            return Err(Drop::Fields);
        }
        wire::payload_len(header.length, header.payload_log2, header.index) as usize
    };
    let needed = expected.next_multiple_of(4) - expected;
    if pad != needed || rest.len() != expected + pad {
        return Err(Drop::Fields);
    }
    Ok(&rest[..expected])
}
