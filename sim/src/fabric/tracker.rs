//! Which retransmissions were needed, seen from outside the NICs.
//!
//! A retransmission is *needed* when an earlier copy of the same packet was
//! dropped (or corrupted) on the way and no other retransmission has made up
//! for it yet; otherwise it is *spurious*.

use std::collections::HashMap;

use tessera_abi::wire::{self, data, flag, MessageId};

use super::PacketClass;

/// (source address, source endpoint, message, index): one packet.
type Key = ([u8; 4], u32, u32, u32);

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
    /// The message being watched: source address and length in bytes; the first
    /// that matches is followed to its end.
    watch: Option<([u8; 4], u32)>,
    watched: Option<MessageId>,
    arrivals: Vec<Arrival>,
    /// DATA payload that reached a NIC, bytes per [`BIN_CLOCKS`].
    payload_bins: Vec<u64>,
}

/// Clocks per entry of [`Tracker::payload_bins`].
pub const BIN_CLOCKS: u64 = 1024;

fn key(frame: &[u8]) -> Option<Key> {
    let trh = frame.get(wire::TRH_AT..wire::TRH_AT + wire::TRH_DATA_LEN)?;
    let u32_at = |at: usize| u32::from_be_bytes([trh[at], trh[at + 1], trh[at + 2], trh[at + 3]]);
    let ip = frame.get(wire::IP_AT + 12..wire::IP_AT + 16)?.try_into().ok()?;
    let endpoint = u32::from_be_bytes(frame.get(wire::DETH_AT + 4..wire::DETH_AT + 8)?.try_into().ok()?);
    Some((ip, endpoint & 0xFF_FFFF, u32_at(data::MESSAGE), u32_at(data::INDEX) >> 8))
}

impl Tracker {
    /// Follows the first message of `length` bytes that `source` sends.
    pub fn watch(&mut self, source: [u8; 4], length: u32) {
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
            PacketClass::Other => {}
        }
    }

    pub(super) fn dropped(&mut self, frame: &[u8], class: PacketClass) {
        if matches!(class, PacketClass::Data | PacketClass::Retransmission) {
            if let Some(key) = key(frame) {
                *self.owed.entry(key).or_default() += 1;
            }
        }
    }

    pub(super) fn arrived(&mut self, frame: &[u8], path: usize, at: u64) {
        let class = PacketClass::of(frame);
        if !matches!(class, PacketClass::Data | PacketClass::Retransmission) {
            return;
        }
        let bin = (at / BIN_CLOCKS) as usize;
        if self.payload_bins.len() <= bin {
            self.payload_bins.resize(bin + 1, 0);
        }
        self.payload_bins[bin] += frame.len().saturating_sub(wire::DATA_HEADER_LEN + wire::ICRC_LEN) as u64;
        let Some((source, length)) = self.watch else { return };
        let Some((ip, _, message, index)) = key(frame) else { return };
        let at_length = wire::TRH_AT + data::LENGTH;
        let len = u32::from_be_bytes([
            frame[at_length],
            frame[at_length + 1],
            frame[at_length + 2],
            frame[at_length + 3],
        ]);
        if ip != source || len != length || self.watched.is_some_and(|watched| watched.0 != message) {
            return;
        }
        self.watched = Some(MessageId(message));
        let repeat = frame[wire::TRH_AT + data::FLAGS] & flag::RETX != 0;
        self.arrivals.push(Arrival { at, index, path, repeat });
    }
}
