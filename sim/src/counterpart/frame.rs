//! Frames of the counterparts: RoCEv2 reliable connection.
//!
//! ```text
//!  request  Eth 14 | IPv4 20 | UDP 8 | BTH 12 | [place 16] | payload, pad to 4 | ICRC 4
//!  reply    Eth 14 | IPv4 20 | UDP 8 | BTH 12 | AETH 4 | ICRC 4                = one beat
//! ```
//!
//! `place` says where a packet's bytes go, so that they can be stored out of
//! order; it is as long as an RETH, which is what selective repeat needs in
//! every packet instead of only in the first. Go-back-N takes packets in order
//! and needs none.
//!
//! Fields, opcodes and the ICRC are those of the InfiniBand Architecture
//! Specification (volume 1, release 1.4, 2020, chapter 9 and annex A17). Two
//! reserved bits of the BTH say whether a packet was sent before and whether a
//! place follows.

use tessera_abi::{icrc, wire};

use crate::cluster::addresses;
use crate::fabric::PacketClass;

/// First packet of a message of several.
const FIRST: u8 = 0x00;
/// Neither first nor last.
const MIDDLE: u8 = 0x01;
/// Last packet of a message of several.
const LAST: u8 = 0x02;
/// The only packet of its message.
const ONLY: u8 = 0x04;
/// Reply.
const ACKNOWLEDGE: u8 = 0x11;

/// AETH syndrome: positive, no credit count.
const SYNDROME_ACK: u8 = 0x1F;
/// AETH syndrome: PSN sequence error.
const SYNDROME_NAK: u8 = 0x60;
/// Top bit of BTH byte 8: answer at once.
const ACK_REQUEST: u8 = 0x80;
/// A reserved bit of BTH byte 8; see the module's page.
const AGAIN: u8 = 0x01;

/// Another: a place follows.
const PLACED: u8 = 0x02;

/// Offset of the AETH, the place or the payload.
const BODY_AT: usize = wire::BTH_AT + wire::BTH_LEN;
/// Bytes of a place.
const PLACE_LEN: usize = 16;
/// Bytes of a reply.
const REPLY_LEN: usize = BODY_AT + 4 + wire::ICRC_LEN;

/// Where a packet's bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Message of the connection, counted from 0.
    pub message: u32,
    /// Bytes of the message.
    pub length: u32,
    /// Packet of the message, counted from 0.
    pub index: u32,
}

/// A packet of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// Sequence number, 24 bits.
    pub psn: u32,
    /// Begins its message.
    pub first: bool,
    /// Ends its message.
    pub last: bool,
    /// To be answered at once.
    pub ack_request: bool,
    /// Sent before.
    pub again: bool,
    /// Where it goes; only selective repeat says so.
    pub place: Option<Place>,
    /// Its bytes.
    pub payload: &'a [u8],
}

/// An answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Go-back-N: the last PSN taken (ACK) or the one expected (NAK).
    /// Selective repeat: the one expected.
    pub psn: u32,
    /// A sequence error: something before is missing.
    pub nak: bool,
    /// Selective repeat's NAK: the PSN that arrived instead.
    pub selective: u32,
}

/// What a frame of a counterpart is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// A packet of a message.
    Request(Request<'a>),
    /// An answer.
    Reply(Reply),
}

fn put(bytes: &mut [u8], at: usize, what: &[u8]) {
    bytes[at..at + what.len()].copy_from_slice(what);
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// Length of a request's frame.
pub const fn request_len(payload: usize, place: bool) -> usize {
    BODY_AT + (place as usize) * PLACE_LEN + payload.next_multiple_of(4) + wire::ICRC_LEN
}

/// All but body and ICRC of a frame from NIC `from` to NIC `to`, whose queue
/// pair there is numbered after `from`.
fn headers(from: usize, to: usize, ev: u8, len: usize) -> Vec<u8> {
    let (src_mac, src_ip) = addresses(from);
    let (dst_mac, dst_ip) = addresses(to);
    let mut frame = vec![0; len];
    put(&mut frame, 0, &dst_mac);
    put(&mut frame, 6, &src_mac);
    put(&mut frame, 12, &wire::ETHERTYPE_IPV4.to_be_bytes());
    let ip_len = (len - wire::ETH_LEN) as u16;
    frame[wire::IP_AT] = 0x45;
    frame[wire::IP_AT + 1] = wire::TOS;
    put(&mut frame, wire::IP_AT + 2, &ip_len.to_be_bytes());
    put(&mut frame, wire::IP_AT + 6, &0x4000u16.to_be_bytes());
    frame[wire::IP_AT + 8] = wire::TTL;
    frame[wire::IP_AT + 9] = wire::IP_UDP;
    put(&mut frame, wire::IP_AT + 12, &src_ip);
    put(&mut frame, wire::IP_AT + 16, &dst_ip);
    let checksum = wire::ipv4_checksum(&frame[wire::IP_AT..wire::UDP_AT]);
    put(&mut frame, wire::IP_AT + 10, &checksum.to_be_bytes());
    put(&mut frame, wire::UDP_AT, &(wire::SPORT_BASE + u16::from(ev)).to_be_bytes());
    put(&mut frame, wire::UDP_AT + 2, &wire::UDP_PORT.to_be_bytes());
    put(&mut frame, wire::UDP_AT + 4, &(ip_len - wire::IPV4_LEN as u16).to_be_bytes());
    put(&mut frame, wire::BTH_AT + 2, &wire::DEFAULT_PKEY.to_be_bytes());
    put(&mut frame, wire::BTH_AT + 4, &(from as u32).to_be_bytes());
    frame
}

fn seal(mut frame: Vec<u8>) -> Vec<u8> {
    let end = frame.len() - wire::ICRC_LEN;
    let crc = icrc::rocev2(&frame[wire::IP_AT..end]);
    put(&mut frame, end, &crc);
    frame
}

impl Request<'_> {
    /// The frame.
    pub fn emit(&self, from: usize, to: usize, ev: u8) -> Vec<u8> {
        let mut frame = headers(from, to, ev, request_len(self.payload.len(), self.place.is_some()));
        frame[wire::BTH_AT] = match (self.first, self.last) {
            (true, true) => ONLY,
            (true, false) => FIRST,
            (false, true) => LAST,
            (false, false) => MIDDLE,
        };
        let pad = self.payload.len().next_multiple_of(4) - self.payload.len();
        frame[wire::BTH_AT + 1] = (pad as u8) << 4;
        put(&mut frame, wire::BTH_AT + 8, &(self.psn & 0xFF_FFFF).to_be_bytes());
        let bits = [(self.ack_request, ACK_REQUEST), (self.again, AGAIN), (self.place.is_some(), PLACED)];
        frame[wire::BTH_AT + 8] = bits.iter().filter(|(set, _)| *set).map(|(_, bit)| bit).sum();
        let mut at = BODY_AT;
        if let Some(place) = &self.place {
            put(&mut frame, at, &place.message.to_be_bytes());
            put(&mut frame, at + 4, &place.length.to_be_bytes());
            put(&mut frame, at + 8, &place.index.to_be_bytes());
            at += PLACE_LEN;
        }
        put(&mut frame, at, self.payload);
        seal(frame)
    }
}

impl Reply {
    /// The frame.
    pub fn emit(&self, from: usize, to: usize, ev: u8) -> Vec<u8> {
        let mut frame = headers(from, to, ev, REPLY_LEN);
        frame[wire::BTH_AT] = ACKNOWLEDGE;
        put(&mut frame, wire::BTH_AT + 8, &(self.psn & 0xFF_FFFF).to_be_bytes());
        put(&mut frame, BODY_AT, &(self.selective & 0xFF_FFFF).to_be_bytes());
        frame[BODY_AT] = if self.nak { SYNDROME_NAK } else { SYNDROME_ACK };
        seal(frame)
    }
}

/// The NIC that sent a frame, and what it is; `None` of a damaged one.
pub fn parse(frame: &[u8]) -> Option<(usize, Frame<'_>)> {
    let end = frame.len().checked_sub(wire::ICRC_LEN)?;
    class(frame)?;
    if icrc::rocev2(&frame[wire::IP_AT..end]) != frame[end..] {
        return None;
    }
    let from = (u32_at(frame, wire::BTH_AT + 4) & 0xFF_FFFF) as usize;
    let psn = u32_at(frame, wire::BTH_AT + 8) & 0xFF_FFFF;
    let opcode = frame[wire::BTH_AT];
    if opcode == ACKNOWLEDGE {
        let selective = u32_at(frame, BODY_AT) & 0xFF_FFFF;
        return Some((from, Frame::Reply(Reply { psn, nak: frame[BODY_AT] == SYNDROME_NAK, selective })));
    }
    let bits = frame[wire::BTH_AT + 8];
    let place = bits & PLACED != 0;
    let body = BODY_AT + usize::from(place) * PLACE_LEN;
    let pad = usize::from(frame[wire::BTH_AT + 1] >> 4 & 3);
    let payload = frame.get(body..end.checked_sub(pad)?)?;
    let place = place.then(|| Place {
        message: u32_at(frame, BODY_AT),
        length: u32_at(frame, BODY_AT + 4),
        index: u32_at(frame, BODY_AT + 8),
    });
    let request = Request {
        psn,
        first: matches!(opcode, FIRST | ONLY),
        last: matches!(opcode, LAST | ONLY),
        ack_request: bits & ACK_REQUEST != 0,
        again: bits & AGAIN != 0,
        place,
        payload,
    };
    Some((from, Frame::Request(request)))
}

/// What a frame is to the fabric's faults and counters; `None` when it is none
/// of ours.
pub(crate) fn class(frame: &[u8]) -> Option<PacketClass> {
    if frame.len() < request_len(0, false) || frame[wire::IP_AT] != 0x45 {
        return None;
    }
    match frame[wire::BTH_AT] {
        FIRST | MIDDLE | LAST | ONLY if frame[wire::BTH_AT + 8] & AGAIN != 0 => {
            Some(PacketClass::Retransmission)
        }
        FIRST | MIDDLE | LAST | ONLY => Some(PacketClass::Data),
        ACKNOWLEDGE if frame[BODY_AT] == SYNDROME_NAK => Some(PacketClass::Nack),
        ACKNOWLEDGE => Some(PacketClass::Feedback),
        _ => None,
    }
}

/// Destination queue pair and PSN of a request, which name one packet among
/// those of a source.
pub(crate) fn name(frame: &[u8]) -> Option<(u32, u32)> {
    match class(frame)? {
        PacketClass::Data | PacketClass::Retransmission => {
            let pair = (addressee(frame) as u32) << 24;
            Some((pair, u32_at(frame, wire::BTH_AT + 8) & 0xFF_FFFF))
        }
        _ => None,
    }
}

/// Bytes of a request's frame that are neither payload nor padding.
pub(crate) fn overhead(frame: &[u8]) -> Option<usize> {
    name(frame)?;
    Some(request_len(0, frame[wire::BTH_AT + 8] & PLACED != 0))
}

/// The receiving NIC, by the last bytes of its address.
fn addressee(frame: &[u8]) -> u16 {
    u16::from_be_bytes([frame[4], frame[5]])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_parse_back_and_damage_shows() {
        for (len, place) in [
            (0, None),
            (1, Some(Place { message: 7, length: 4097, index: 4 })),
            (1023, None),
            (4096, Some(Place { message: u32::MAX, length: 1 << 24, index: 9 })),
        ] {
            let payload: Vec<u8> = (0..len).map(|i| i as u8).collect();
            let request = Request {
                psn: 0xFF_FFFF,
                first: len == 1,
                last: len == 0,
                ack_request: len == 0,
                again: len == 1,
                place,
                payload: &payload,
            };
            let mut frame = request.emit(3, 1, 9);
            assert_eq!(frame.len(), request_len(len, place.is_some()));
            assert_eq!(parse(&frame), Some((3, Frame::Request(request.clone()))));
            assert_eq!(frame[..6], addresses(1).0);
            frame[BODY_AT] ^= 4;
            assert_eq!(parse(&frame), None);
        }
        // A full packet of go-back-N is one beat shorter than ours, of selective repeat equal.
        assert_eq!(request_len(4096, false).div_ceil(64), 65);
        assert_eq!(request_len(4096, true).div_ceil(64), 66);
    }

    #[test]
    fn replies_are_one_beat_and_parse_back() {
        for nak in [false, true] {
            let reply = Reply { psn: 5, nak, selective: 0xFF_FFFE };
            let frame = reply.emit(0, 2, 0);
            assert_eq!(frame.len(), 62);
            assert_eq!(parse(&frame), Some((0, Frame::Reply(reply))));
            let expected = if nak { PacketClass::Nack } else { PacketClass::Feedback };
            assert_eq!(class(&frame), Some(expected));
            assert_eq!(name(&frame), None);
        }
    }
}
