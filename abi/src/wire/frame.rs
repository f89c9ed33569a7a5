//! Whole frames: addresses, RM packets, plain datagrams.

use super::bytes::{put, put24, u16_at, u24_at, u32_at};
use super::form::{gid_ipv4, ipv4_gid, Form, ETHERTYPE_IPV4, ETHERTYPE_IPV6, ETHERTYPE_VLAN};
use super::trh::{DataHeader, FeedbackHeader, ReleaseHeader, Trh};
use super::*;
use crate::icrc;

/// Addresses of one packet, from Ethernet to DETH.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// Destination MAC.
    pub dst_mac: [u8; 6],
    /// Source MAC.
    pub src_mac: [u8; 6],
    /// Tag control information of the 802.1Q tag, if there is one.
    pub vlan: Option<u16>,
    /// Source GID.
    pub src_gid: [u8; 16],
    /// Destination GID: an IPv4-mapped one makes the frame IPv4. Both GIDs are
    /// of one family.
    pub dst_gid: [u8; 16],
    /// TOS byte or IPv6 traffic class (DSCP and ECN).
    pub tos: u8,
    /// IPv4 time to live or IPv6 hop limit.
    pub hop_limit: u8,
    /// IPv6 flow label, 20 bits; 0 over IPv4.
    pub flow_label: u32,
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

impl Route {
    /// The form of the frame.
    pub const fn form(&self) -> Form {
        Form { tagged: self.vlan.is_some(), v6: gid_ipv4(&self.dst_gid).is_none() }
    }
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

/// A parsed plain UD packet. Every RM packet is one, too: which of the two a
/// frame is says the kind of the endpoint it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram<'a> {
    /// Addresses.
    pub route: Route,
    /// The immediate, if it has one.
    pub immediate: Option<u32>,
    /// Payload without pad.
    pub payload: &'a [u8],
    /// Whether the ICRC is right.
    pub icrc_ok: bool,
}

/// The frame is not an RM packet (or is cut short).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotRm;

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
pub const fn frame_len(form: Form, trh: &Trh, payload_len: usize) -> usize {
    let header = match trh {
        Trh::Data(_) | Trh::Release(_) => TRH_DATA_LEN,
        Trh::Feedback(_) => TRH_FEEDBACK_LEN,
    };
    form.trh_at() + header + payload_len.next_multiple_of(4) + ICRC_LEN
}

/// Length of the frame of a plain datagram, ICRC included.
pub const fn datagram_len(form: Form, immediate: bool, payload_len: usize) -> usize {
    let header = if immediate { IMM_LEN } else { 0 };
    form.trh_at() + header + payload_len.next_multiple_of(4) + ICRC_LEN
}

/// Writes everything but what follows the DETH into a zeroed frame.
fn emit_route(route: &Route, opcode: u8, payload_len: usize, frame: &mut [u8]) -> Option<()> {
    let form = route.form();
    let (len, ip, udp, bth, deth) = (frame.len(), form.ip_at(), form.udp_at(), form.bth_at(), form.deth_at());
    put(frame, 0, &route.dst_mac);
    put(frame, 6, &route.src_mac);
    if let Some(tci) = route.vlan {
        put(frame, 12, &ETHERTYPE_VLAN.to_be_bytes());
        put(frame, 14, &tci.to_be_bytes());
    }
    let udp_len = ((len - udp) as u16).to_be_bytes();
    match (gid_ipv4(&route.src_gid), gid_ipv4(&route.dst_gid)) {
        (Some(source), Some(destination)) => {
            put(frame, ip - 2, &ETHERTYPE_IPV4.to_be_bytes());
            frame[ip] = 0x45;
            frame[ip + 1] = route.tos;
            put(frame, ip + 2, &((len - ip) as u16).to_be_bytes());
            put(frame, ip + 6, &0x4000u16.to_be_bytes());
            frame[ip + 8] = route.hop_limit;
            frame[ip + 9] = IP_UDP;
            put(frame, ip + 12, &source);
            put(frame, ip + 16, &destination);
            let checksum = ipv4_checksum(&frame[ip..udp]);
            put(frame, ip + 10, &checksum.to_be_bytes());
        }
        (None, None) => {
            put(frame, ip - 2, &ETHERTYPE_IPV6.to_be_bytes());
            let word = 6 << 28 | u32::from(route.tos) << 20 | (route.flow_label & 0xF_FFFF);
            put(frame, ip, &word.to_be_bytes());
            put(frame, ip + 4, &udp_len);
            frame[ip + 6] = IP_UDP;
            frame[ip + 7] = route.hop_limit;
            put(frame, ip + 8, &route.src_gid);
            put(frame, ip + 24, &route.dst_gid);
        }
        _ => return None,
    }
    put(frame, udp, &route.sport.to_be_bytes());
    put(frame, udp + 2, &UDP_PORT.to_be_bytes());
    put(frame, udp + 4, &udp_len);
    let pad = payload_len.next_multiple_of(4) - payload_len;
    frame[bth] = opcode;
    frame[bth + 1] = (pad as u8) << 4;
    put(frame, bth + 2, &route.pkey.to_be_bytes());
    put24(frame, bth + 5, route.dst_endpoint);
    put24(frame, bth + 9, route.psn);
    put(frame, deth, &route.qkey.to_be_bytes());
    put24(frame, deth + 5, route.src_endpoint);
    Some(())
}

/// Writes a whole frame, checksums and ICRC included, and returns its length.
///
/// Returns `None` when `frame` is too short for it, or when the GIDs are of
/// different families.
pub fn emit(route: &Route, trh: &Trh, payload: &[u8], frame: &mut [u8]) -> Option<usize> {
    let form = route.form();
    let len = frame_len(form, trh, payload.len());
    let frame = frame.get_mut(..len)?;
    frame.fill(0);
    emit_route(route, OPCODE_UD_SEND, payload.len(), frame)?;
    let at = form.trh_at();
    let payload_at = match trh {
        Trh::Data(header) => {
            put(frame, at, &header.emit());
            at + TRH_DATA_LEN
        }
        Trh::Feedback(header) => {
            put(frame, at, &header.emit());
            at + TRH_FEEDBACK_LEN
        }
        Trh::Release(header) => {
            put(frame, at, &header.emit());
            at + TRH_DATA_LEN
        }
    };
    put(frame, payload_at, payload);
    reseal(frame);
    Some(len)
}

/// Writes the whole frame of a plain datagram and returns its length, or
/// `None` as [`emit`].
pub fn emit_datagram(
    route: &Route,
    immediate: Option<u32>,
    payload: &[u8],
    frame: &mut [u8],
) -> Option<usize> {
    let form = route.form();
    let len = datagram_len(form, immediate.is_some(), payload.len());
    let frame = frame.get_mut(..len)?;
    frame.fill(0);
    let opcode = if immediate.is_some() { OPCODE_UD_SEND_IMM } else { OPCODE_UD_SEND };
    emit_route(route, opcode, payload.len(), frame)?;
    let mut at = form.trh_at();
    if let Some(immediate) = immediate {
        put(frame, at, &immediate.to_be_bytes());
        at += IMM_LEN;
    }
    put(frame, at, payload);
    reseal(frame);
    Some(len)
}

/// Puts a right ICRC behind the frame, whatever it holds. A frame too short
/// for one, or whose EtherTypes are not those of a [`Form`], stays as it is.
pub fn reseal(frame: &mut [u8]) {
    let Some(form) = Form::of(frame) else { return };
    let Some(end) = frame.len().checked_sub(ICRC_LEN).filter(|&end| end >= form.ip_at()) else { return };
    let crc = icrc::rocev2(&frame[form.ip_at()..end]);
    put(frame, end, &crc);
}

/// What stands before and after the headers that all packets share.
struct Common<'a> {
    route: Route,
    opcode: u8,
    /// From behind the DETH to the end of the payload.
    rest: &'a [u8],
    icrc_ok: bool,
}

fn parse_route(frame: &[u8]) -> Option<Common<'_>> {
    let form = Form::of(frame)?;
    let (ip, udp, bth, deth) = (form.ip_at(), form.udp_at(), form.bth_at(), form.deth_at());
    if frame.len() < form.trh_at() + ICRC_LEN {
        return None;
    }
    let (right, total) = if form.v6 {
        (frame[ip] >> 4 == 6 && frame[ip + 6] == IP_UDP, u16_at(frame, ip + 4) as usize + IPV6_LEN)
    } else {
        (frame[ip] == 0x45 && frame[ip + 9] == IP_UDP, u16_at(frame, ip + 2) as usize)
    };
    let end = ip + total;
    if !right
        || u16_at(frame, udp + 2) != UDP_PORT
        || end > frame.len()
        || u16_at(frame, udp + 4) as usize + form.ip_len() != total
    {
        return None;
    }
    let pad = (frame[bth + 1] >> 4 & 3) as usize;
    let rest = frame.get(form.trh_at()..end.checked_sub(ICRC_LEN + pad)?)?;
    let array = |at: usize| -> [u8; 16] { core::array::from_fn(|i| frame[at + i]) };
    let mac = |at: usize| -> [u8; 6] { core::array::from_fn(|i| frame[at + i]) };
    let v4 = |at: usize| ipv4_gid([frame[at], frame[at + 1], frame[at + 2], frame[at + 3]]);
    let route = Route {
        dst_mac: mac(0),
        src_mac: mac(6),
        vlan: form.tagged.then(|| u16_at(frame, 14)),
        src_gid: if form.v6 { array(ip + 8) } else { v4(ip + 12) },
        dst_gid: if form.v6 { array(ip + 24) } else { v4(ip + 16) },
        tos: if form.v6 { (u16_at(frame, ip) >> 4) as u8 } else { frame[ip + 1] },
        hop_limit: frame[ip + if form.v6 { 7 } else { 8 }],
        flow_label: if form.v6 { u32_at(frame, ip) & 0xF_FFFF } else { 0 },
        sport: u16_at(frame, udp),
        pkey: u16_at(frame, bth + 2),
        dst_endpoint: u24_at(frame, bth + 5),
        psn: u24_at(frame, bth + 9),
        qkey: u32_at(frame, deth),
        src_endpoint: u24_at(frame, deth + 5),
    };
    let icrc_ok = icrc::rocev2(&frame[ip..end - ICRC_LEN]) == frame[end - ICRC_LEN..end];
    Some(Common { route, opcode: frame[bth], rest, icrc_ok })
}

/// Reads a frame. Only the *form* is judged (layers, lengths, versions); what a
/// receiver refuses beyond that is the protocol's business.
pub fn parse(frame: &[u8]) -> Result<Packet<'_>, NotRm> {
    let Common { route, opcode, rest, icrc_ok } = parse_route(frame).ok_or(NotRm)?;
    let version_type = *rest.first().ok_or(NotRm)?;
    if opcode != OPCODE_UD_SEND || version_type >> 4 != TRH_VERSION {
        return Err(NotRm);
    }
    let (trh, payload) = match version_type & 0xF {
        TYPE_DATA | TYPE_PROBE => {
            let (bytes, payload) = rest.split_first_chunk().ok_or(NotRm)?;
            (Trh::Data(DataHeader::parse(bytes)), payload)
        }
        TYPE_FEEDBACK => {
            let (bytes, payload) = rest.split_first_chunk().ok_or(NotRm)?;
            (Trh::Feedback(FeedbackHeader::parse(bytes)), payload)
        }
        TYPE_RELEASE => {
            let (bytes, payload) = rest.split_first_chunk().ok_or(NotRm)?;
            (Trh::Release(ReleaseHeader::parse(bytes)), payload)
        }
        _ => return Err(NotRm),
    };
    Ok(Packet { route, trh, payload, icrc_ok })
}

/// Reads a frame as a plain UD packet; `None` if it is none.
pub fn parse_datagram(frame: &[u8]) -> Option<Datagram<'_>> {
    let Common { route, opcode, rest, icrc_ok } = parse_route(frame)?;
    let (immediate, payload) = match opcode {
        OPCODE_UD_SEND => (None, rest),
        OPCODE_UD_SEND_IMM => {
            let (bytes, payload) = rest.split_first_chunk()?;
            (Some(u32::from_be_bytes(*bytes)), payload)
        }
        _ => return None,
    };
    Some(Datagram { route, immediate, payload, icrc_ok })
}

/// The 40 bytes in front of a plain datagram's payload: the IPv6 header, or
/// twenty zeros and the IPv4 header.
///
/// Returns `None` when the frame is too short for its form.
pub fn grh(frame: &[u8]) -> Option<[u8; GRH_LEN]> {
    let form = Form::of(frame)?;
    let header = frame.get(form.ip_at()..form.udp_at())?;
    let mut area = [0; GRH_LEN];
    area[GRH_LEN - header.len()..].copy_from_slice(header);
    Some(area)
}
