//! Which retransmissions were needed, seen from outside the NICs.
//!
//! A retransmission is *needed* when an earlier copy of the same packet was
//! dropped (or corrupted) on the way and no other retransmission has made up
//! for it yet; otherwise it is *spurious*.

use std::collections::{HashMap, HashSet};

use tessera_abi::wire::{self, data, flag, Form, MessageId};

use super::PacketClass;
use crate::counterpart::frame as counterpart;

/// (source address, source endpoint, message, index): one packet.
type Key = ([u8; 16], u32, u32, u32);

/// An arrival of the watched message's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Clock of the first beat.
    pub at: u64,
    /// Packet index.
    pub index: u32,
    /// Path it took.
    pub path: usize,
    /// A retransmission.
    pub repeat: bool,
}

/// The first whole copy of a packet to reach its port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fresh {
    /// Clock of the first beat.
    pub at: u64,
    /// Which port.
    pub port: usize,
}

/// Counts retransmissions and watches one message. See the module's page.
#[derive(Debug, Default)]
pub struct Tracker {
    /// Copies dropped and not yet made up for.
    owed: HashMap<Key, u32>,
    /// DATA packets sent, first time.
    pub data: u64,
    /// Retransmissions that made up for a drop.
    pub needed: u64,
    /// Retransmissions that did not.
    pub spurious: u64,
    /// PROBE packets sent.
    pub probes: u64,
    /// FEEDBACK packets sent.
    pub feedbacks: u64,
    /// FEEDBACK packets that asked for retransmissions.
    pub nacks: u64,
    /// FEEDBACK packets that reached their port whole, copies too.
    pub feedbacks_arrived: u64,
    /// The message being watched: source address and length in bytes; the first
    /// that matches is followed to its end.
    watch: Option<([u8; 16], u32)>,
    watched: Option<MessageId>,
    arrivals: Vec<Arrival>,
    /// DATA payload that reached a NIC, bytes per [`BIN_CLOCKS`].
    payload_bins: Vec<u64>,
    /// Packets that have arrived, if goodput is measured.
    known: Option<HashSet<Key>>,
    fresh: Vec<Fresh>,
}

/// Clocks per entry of [`Tracker::payload_bins`].
pub const BIN_CLOCKS: u64 = 1024;

fn key(frame: &[u8]) -> Option<Key> {
    let form = Form::of(frame)?;
    let (ip, deth, trh) = (form.ip_at(), form.deth_at(), form.trh_at());
    let gid = if form.v6 {
        frame.get(ip + 8..ip + 24)?.try_into().ok()?
    } else {
        wire::ipv4_gid(frame.get(ip + 12..ip + 16)?.try_into().ok()?)
    };
    if let Some((pair, psn)) = counterpart::name(frame) {
        return Some((gid, pair, 0, psn));
    }
    let trh = frame.get(trh..trh + wire::TRH_DATA_LEN)?;
    let u32_at = |at: usize| u32::from_be_bytes([trh[at], trh[at + 1], trh[at + 2], trh[at + 3]]);
    let endpoint = u32::from_be_bytes(frame.get(deth + 4..deth + 8)?.try_into().ok()?);
    Some((gid, endpoint & 0xFF_FFFF, u32_at(data::MESSAGE), u32_at(data::INDEX) >> 8))
}

/// Payload of a DATA packet, bytes, with its padding.
fn payload_len(frame: &[u8]) -> usize {
    let headers = Form::of(frame).map_or(wire::TRH_AT, Form::trh_at) + wire::TRH_DATA_LEN;
    let around = counterpart::overhead(frame).unwrap_or(headers + wire::ICRC_LEN);
    frame.len().saturating_sub(around)
}

impl Tracker {
    /// Remembers every packet from here on, to tell first arrivals from others:
    /// see [`fresh`](Self::fresh).
    pub fn measure_goodput(&mut self) {
        self.known.get_or_insert_default();
    }

    /// First arrivals since [`measure_goodput`](Self::measure_goodput), in order
    /// of time at each port.
    pub fn fresh(&self) -> &[Fresh] {
        &self.fresh
    }

    /// Follows the first message of `length` bytes that `source` sends.
    pub fn watch(&mut self, source: [u8; 16], length: u32) {
        self.watch = Some((source, length));
        self.watched = None;
        self.arrivals.clear();
    }

    /// Arrivals of the watched message, in order.
    pub fn arrivals(&self) -> &[Arrival] {
        &self.arrivals
    }

    /// Payload bytes that reached NICs, per [`BIN_CLOCKS`] since reset, every
    /// copy counted.
    pub fn payload_bins(&self) -> &[u64] {
        &self.payload_bins
    }

    pub(super) fn sent(&mut self, frame: &[u8], class: PacketClass) {
        match class {
            PacketClass::Data => self.data += 1,
            PacketClass::Retransmission => {
                let owed = key(frame).and_then(|key| self.owed.get_mut(&key)).filter(|owed| **owed > 0);
                match owed {
                    Some(owed) => {
                        *owed -= 1;
                        self.needed += 1;
                    }
                    None => self.spurious += 1,
                }
            }
            PacketClass::Probe => self.probes += 1,
            PacketClass::Nack => {
                self.feedbacks += 1;
                self.nacks += 1;
            }
            PacketClass::Complete | PacketClass::Busy | PacketClass::Feedback => self.feedbacks += 1,
            PacketClass::Release | PacketClass::Other => {}
        }
    }

    pub(super) fn dropped(&mut self, frame: &[u8], class: PacketClass) {
        if matches!(class, PacketClass::Data | PacketClass::Retransmission) {
            if let Some(key) = key(frame) {
                *self.owed.entry(key).or_default() += 1;
            }
        }
    }

    /// A frame enters port `port`; `whole` unless it was damaged on the way.
    pub(super) fn arrived(&mut self, frame: &[u8], port: usize, path: usize, at: u64, whole: bool) {
        use PacketClass::{Busy, Complete, Data, Feedback, Nack, Retransmission};
        let class = PacketClass::of(frame);
        self.feedbacks_arrived += u64::from(whole && matches!(class, Busy | Complete | Feedback | Nack));
        if !matches!(class, Data | Retransmission) {
            return;
        }
        let bin = (at / BIN_CLOCKS) as usize;
        if self.payload_bins.len() <= bin {
            self.payload_bins.resize(bin + 1, 0);
        }
        self.payload_bins[bin] += payload_len(frame) as u64;
        if let (true, Some(known), Some(key)) = (whole, &mut self.known, key(frame)) {
            if known.insert(key) {
                self.fresh.push(Fresh { at, port });
            }
        }
        let Some(trh_at) = Form::of(frame).map(Form::trh_at) else { return };
        let Some((source, length)) = self.watch else { return };
        let Some((gid, _, message, index)) = key(frame) else { return };
        let at_length = trh_at + data::LENGTH;
        let len = u32::from_be_bytes([
            frame[at_length],
            frame[at_length + 1],
            frame[at_length + 2],
            frame[at_length + 3],
        ]);
        if gid != source || len != length || self.watched.is_some_and(|watched| watched.0 != message) {
            return;
        }
        self.watched = Some(MessageId(message));
        let repeat = frame[trh_at + data::FLAGS] & flag::RETX != 0;
        self.arrivals.push(Arrival { at, index, path, repeat });
    }
}
