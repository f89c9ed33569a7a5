//! Writes: which the keys permit, and where their bytes go (WR-1, WR-2).
//!
//! The scoreboard is told when a key table entry is written; around that moment
//! it does not know by which of the two a packet was judged.

use std::collections::BTreeMap;

use tessera_abi::wire::{flag, DataHeader};

use super::super::{Bench, Fault};
use super::message::Message;
use super::Receiving;
use crate::rx_parse::Origin;
use crate::settings::{MemoryKey, Right};

/// A key table entry, what it was before, and when it changed.
#[derive(Clone, Copy, Default)]
struct Entry {
    now: Option<MemoryKey>,
    before: Option<MemoryKey>,
    changed: u64,
}

/// The key table as the host wrote it.
#[derive(Default)]
pub(super) struct Keys(BTreeMap<u8, Entry>);

/// What a NIC must make of a packet's rights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rights {
    Permitted,
    Denied,
    /// The key has just changed.
    Either,
}

impl Keys {
    /// The keys that were there before the run.
    pub(super) fn new(keys: &[MemoryKey]) -> Self {
        let entry = |key: &MemoryKey| {
            ((key.key & 0xFF) as u8, Entry { now: Some(*key), before: Some(*key), changed: 0 })
        };
        Self(keys.iter().map(entry).collect())
    }

    /// An entry was written.
    pub(super) fn set(&mut self, clock: u64, index: u8, key: Option<MemoryKey>) {
        let entry = self.0.entry(index).or_default();
        *entry = Entry { now: key, before: entry.now, changed: clock };
    }

    /// Whether a packet may write, judged at most `lag` clocks from now.
    pub(super) fn judge(&self, clock: u64, lag: u64, origin: &Origin, packet: &DataHeader) -> Rights {
        if packet.flags & flag::WRITE == 0 || packet.length == 0 {
            return Rights::Permitted;
        }
        let entry = self.0.get(&((packet.rkey & 0xFF) as u8)).copied().unwrap_or_default();
        let permits = |key: Option<MemoryKey>| {
            key.is_some_and(|key| {
                key.key == packet.rkey
                    && key.pd == origin.local.pd
                    && key.has(Right::RemoteWrite)
                    && key.covers(packet.tag, packet.length)
            })
        };
        let (now, before) = (permits(entry.now), permits(entry.before));
        if now != before && clock <= entry.changed + lag {
            Rights::Either
        } else if now {
            Rights::Permitted
        } else {
            Rights::Denied
        }
    }
}

impl Message {
    pub(super) fn is_write(&self) -> bool {
        self.opener.flags & flag::WRITE != 0
    }

    /// A receive is taken for it, and ends in a completion.
    pub(super) fn takes_receive(&self) -> bool {
        !self.is_write() || self.opener.flags & flag::IMM != 0
    }
}

impl Receiving {
    /// A key table entry was written. What had been permitted may be denied from
    /// now on, whatever of it is on its way in.
    pub(in super::super) fn key(&mut self, bench: &Bench, index: u8, key: Option<MemoryKey>) {
        self.keys.set(bench.clock, index, key);
        let revoked = |message: &&mut Message| {
            message.is_write()
                && message.opener.length != 0
                && (message.opener.rkey & 0xFF) as u8 == index
                && key.is_none_or(|key| key.key != message.opener.rkey)
        };
        for message in self.messages.values_mut().filter(revoked) {
            message.denied = true;
        }
    }

    /// Whether bytes written at `address` are those of a write; then they are noted.
    //= WR-2
    pub(super) fn wrote_remotely(&mut self, bench: &mut Bench, address: u64, bytes: &[u8]) -> bool {
        let place = |message: &Message| {
            let offset = address.wrapping_sub(message.opener.tag);
            let index = offset >> message.opener.payload_log2;
            let fits = message.is_write()
                && index < message.count as u64
                && index << message.opener.payload_log2 == offset
                && message.payload_len(index as u32) as usize == bytes.len()
                && message.payloads.contains_key(&(index as u32))
                && !message.placed[index as usize];
            fits.then_some(index as u32)
        };
        let live = self.live.iter().filter_map(|name| self.messages.get(name));
        let mut could = live.filter_map(|message| place(message).map(|index| (message, index)));
        // Windows may overlap: bytes decide.
        let same = |(message, index): &(&Message, u32)| {
            message.payloads.get(index).is_some_and(|p| p.bytes == bytes)
        };
        let first = could.clone().find(same);
        let Some((name, index)) =
            first.or_else(|| could.next()).map(|(message, index)| (message.name, index))
        else {
            return false;
        };
        let Some(message) = self.messages.get_mut(&name) else { return false };
        message.placed.set(index as usize, true);
        bench.summary.writes += 1;
        if message.payloads.remove(&index).is_some_and(|payload| payload.bytes != bytes) {
            bench.fault(Some(name.2), "WR-2", Fault::Misplaced(index));
        }
        true
    }
}
