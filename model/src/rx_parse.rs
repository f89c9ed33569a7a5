//! Judges an arriving frame before anything changes (rules RX).
//!
//! ```text
//!  frame ─> form ─> address ─> lengths ─> ICRC ─> BTH ─> keys ─┬─> TRH ─> fields ─> Inbound
//!              each step: the first reason that applies is the  └─> datagram ─────>
//!              frame's only count
//! ```

use tessera_abi::icrc;
use tessera_abi::params::{Config, MAX_PAYLOAD_LOG2, MAX_UNTAGGED_FRAME, MIN_PAYLOAD_LOG2};
use tessera_abi::status::Drop;
use tessera_abi::wire::{self, DataHeader, FeedbackHeader, Form, ReleaseHeader, Trh};

use crate::io::Bare;
use crate::settings::{Endpoint, Identity};

/// What every accepted packet says about where it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Source MAC: replies go there.
    pub mac: [u8; 6],
    /// Tag control information of its tag, which replies carry, too.
    pub vlan: Option<u16>,
    /// Source GID.
    pub gid: [u8; 16],
    /// Source endpoint.
    pub endpoint: u32,
    /// Local endpoint it is for.
    pub local: Endpoint,
    /// Congestion experienced.
    pub ce: bool,
}

/// A plain UD packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram<'a> {
    /// The area in front of the payload.
    pub grh: [u8; wire::GRH_LEN],
    /// The immediate, if it has one.
    pub immediate: Option<u32>,
    /// Payload without pad.
    pub payload: &'a [u8],
}

/// A packet that passed every check of the RX rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inbound<'a> {
    /// DATA or PROBE, for the receiver.
    Data(Origin, DataHeader, &'a [u8]),
    /// FEEDBACK, for the sender.
    Feedback(Origin, FeedbackHeader),
    /// RELEASE, for the receiver.
    Release(Origin, ReleaseHeader),
    /// For a plain UD endpoint.
    Datagram(Origin, Datagram<'a>),
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
fn gid_at(frame: &[u8], at: usize) -> [u8; 16] {
    std::array::from_fn(|i| frame[at + i])
}

/// The IP header, as far as it says whether the frame is for us at all.
struct Ip {
    ours: bool,
    odd: bool,
    source: [u8; 16],
    /// From the IP header to the end of the ICRC.
    total: usize,
    class: u8,
}

//= RX-3
fn ipv4(ip: &[u8], identity: &Identity) -> Ip {
    let source: [u8; 4] = std::array::from_fn(|i| ip[12 + i]);
    Ip {
        ours: ip[0] >> 4 == 4 && ip[9] == wire::IP_UDP && ip[16..20] == identity.ip,
        odd: ip[0] & 0xF != 5
            || u16_at(ip, 6) & 0x3FFF != 0
            || source[0] >> 4 == 0xE
            || source == [0; 4]
            || source == [255; 4],
        source: wire::ipv4_gid(source),
        total: u16_at(ip, 2) as usize,
        class: ip[1],
    }
}

//= RX-8
fn ipv6(ip: &[u8], identity: &Identity) -> Ip {
    let source = gid_at(ip, 8);
    let extended = wire::IPV6_EXTENSIONS.contains(&ip[6]);
    Ip {
        ours: ip[0] >> 4 == 6
            && (ip[6] == wire::IP_UDP || extended)
            && ip[24..40] == identity.ip6
            && identity.ip6 != [0; 16],
        odd: extended || source[0] == 0xFF || source == [0; 16] || wire::gid_ipv4(&source).is_some(),
        source,
        total: u16_at(ip, 4) as usize + wire::IPV6_LEN,
        class: (u16_at(ip, 0) >> 4) as u8,
    }
}

/// Judges `frame` (no FCS) as a NIC of `sizes` does. `endpoint_of` looks a table index up.
//= RX-1
//= RX-2
pub fn judge<'a>(
    frame: &'a [u8],
    sizes: &Config,
    identity: &Identity,
    endpoint_of: impl Fn(u16) -> Option<Endpoint>,
) -> Result<Inbound<'a>, Drop> {
    let tagged = sizes.vlan && frame.len() >= 18 && u16_at(frame, 12) == wire::ETHERTYPE_VLAN;
    let tag = if tagged { wire::VLAN_LEN } else { 0 };
    let ethertype = if frame.len() >= 18 { u16_at(frame, 12 + tag) } else { 0 };
    let form = Form { tagged, v6: sizes.ipv6 && ethertype == wire::ETHERTYPE_IPV6 };
    let (ip_at, udp_at, bth_at, deth_at) = (form.ip_at(), form.udp_at(), form.bth_at(), form.deth_at());
    if frame.len() < form.trh_at() + wire::ICRC_LEN || frame.len() - tag > MAX_UNTAGGED_FRAME {
        return Err(Drop::Frame);
    }
    //= RX-9
    let vlan = tagged.then(|| u16_at(frame, 14));
    let ip = if form.v6 { ipv6(&frame[ip_at..], identity) } else { ipv4(&frame[ip_at..], identity) };
    if frame[..6] != identity.mac
        || !vlan.is_none_or(|tci| identity.accepts_vlan(tci))
        || !(form.v6 || ethertype == wire::ETHERTYPE_IPV4)
        || !ip.ours
        || (!(form.v6 && ip.odd && frame[ip_at + 6] != wire::IP_UDP)
            && u16_at(frame, udp_at + 2) != wire::UDP_PORT)
    {
        return Err(Drop::NotOurs);
    }
    if ip.odd {
        return Err(Drop::IpHeader);
    }
    if ip_at + ip.total != frame.len() || u16_at(frame, udp_at + 4) as usize + form.ip_len() != ip.total {
        return Err(Drop::Length);
    }
    let (covered, crc) = frame.split_at(frame.len() - wire::ICRC_LEN);
    if icrc::rocev2(&covered[ip_at..]) != crc {
        return Err(Drop::Icrc);
    }
    //= RX-4
    let opcode = frame[bth_at];
    if opcode == wire::OPCODE_CNP {
        return Err(Drop::Cnp);
    }
    if !matches!(opcode, wire::OPCODE_UD_SEND | wire::OPCODE_UD_SEND_IMM) || frame[bth_at + 1] & 0xF != 0 {
        return Err(Drop::Bth);
    }
    let pkey = u16_at(frame, bth_at + 2);
    if (pkey ^ identity.pkey) & 0x7FFF != 0 || (pkey | identity.pkey) & 0x8000 == 0 {
        return Err(Drop::PKey);
    }
    //= RX-5
    let number = u24_at(frame, bth_at + 5);
    let local = endpoint_of((number & 0xFF) as u16)
        .filter(|endpoint| endpoint.number == number)
        .filter(|endpoint| endpoint.datagram || opcode == wire::OPCODE_UD_SEND)
        .ok_or(Drop::Endpoint)?;
    if u32_at(frame, deth_at) != local.qkey {
        return Err(Drop::QKey);
    }
    let origin = Origin {
        mac: std::array::from_fn(|i| frame[6 + i]),
        vlan,
        gid: ip.source,
        endpoint: u24_at(frame, deth_at + 5),
        local,
        ce: ip.class & wire::ECN_CE == wire::ECN_CE,
    };
    let rest = &covered[form.trh_at()..];
    let pad = (frame[bth_at + 1] >> 4 & 3) as usize;
    if local.datagram {
        let grh = wire::grh(frame).ok_or(Drop::Frame)?;
        return datagram(grh, opcode, rest, pad).map(|datagram| Inbound::Datagram(origin, datagram));
    }
    let (&[version_type], _) = rest.split_first_chunk().ok_or(Drop::Trh)?;
    if version_type >> 4 != wire::TRH_VERSION {
        return Err(Drop::Trh);
    }
    match version_type & 0xF {
        wire::TYPE_FEEDBACK => {
            let bytes = rest.first_chunk().ok_or(Drop::Trh)?;
            Ok(Inbound::Feedback(origin, FeedbackHeader::parse(bytes)))
        }
        wire::TYPE_RELEASE => {
            let (bytes, rest) = rest.split_first_chunk().ok_or(Drop::Trh)?;
            //= RX-6
            if pad != 0 || !rest.is_empty() {
                return Err(Drop::Fields);
            }
            Ok(Inbound::Release(origin, ReleaseHeader::parse(bytes)))
        }
        wire::TYPE_DATA | wire::TYPE_PROBE => {
            let (bytes, rest) = rest.split_first_chunk().ok_or(Drop::Trh)?;
            let mut header = DataHeader::parse(bytes);
            let payload = fields(&header, rest, pad)?;
            if !sizes.rounds {
                header.flags &= !wire::flag::ROUND;
                header.round = 0;
            }
            Ok(Inbound::Data(origin, header, payload))
        }
        _ => Err(Drop::Trh),
    }
}

/// Judges what the network has not damaged: endpoint and Q_Key.
pub fn judge_bare(
    packet: &Bare,
    ce: bool,
    endpoint_of: impl Fn(u16) -> Option<Endpoint>,
) -> Result<Inbound<'static>, Drop> {
    let route = &packet.route;
    let local = endpoint_of((route.dst_endpoint & 0xFF) as u16)
        .filter(|endpoint| endpoint.number == route.dst_endpoint && !endpoint.datagram)
        .ok_or(Drop::Endpoint)?;
    if route.qkey != local.qkey {
        return Err(Drop::QKey);
    }
    let origin = Origin {
        mac: route.src_mac,
        vlan: route.vlan,
        gid: route.src_gid,
        endpoint: route.src_endpoint,
        local,
        ce,
    };
    Ok(match packet.trh {
        Trh::Data(header) => Inbound::Data(origin, header, &[]),
        Trh::Feedback(header) => Inbound::Feedback(origin, header),
        Trh::Release(header) => Inbound::Release(origin, header),
    })
}

//= UD-2
fn datagram(grh: [u8; wire::GRH_LEN], opcode: u8, rest: &[u8], pad: usize) -> Result<Datagram<'_>, Drop> {
    let (immediate, padded) = if opcode == wire::OPCODE_UD_SEND_IMM {
        let (bytes, padded) = rest.split_first_chunk().ok_or(Drop::Fields)?;
        (Some(u32::from_be_bytes(*bytes)), padded)
    } else {
        (None, rest)
    };
    let length = padded.len().checked_sub(pad).ok_or(Drop::Fields)?;
    if !padded.len().is_multiple_of(4) || length > 1 << MAX_PAYLOAD_LOG2 {
        return Err(Drop::Fields);
    }
    Ok(Datagram { grh, immediate, payload: &padded[..length] })
}

//= RX-6
fn fields<'a>(header: &DataHeader, rest: &'a [u8], pad: usize) -> Result<&'a [u8], Drop> {
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
