//! Plain UD endpoints (rules UD): a datagram is one packet, sent once.
//!
//! ```text
//!  post_send ─> queue ─> frame, completion        nothing is kept
//!  frame ─> the endpoint's first receive ─> GRH area and payload, completion
//! ```

use std::collections::{BTreeMap, VecDeque};

use tessera_abi::queue::{self, DONE_RECV};
use tessera_abi::regs::Counter;
use tessera_abi::status::{Drop, Status};
use tessera_abi::wire::{self, MessageId, GRH_LEN};

use crate::io::{Output, Write};
use crate::queue::{Completion, RecvEntry, SendEntry};
use crate::rx_parse::{Datagram, Origin};
use crate::settings::Endpoint;
use crate::Ticks;

/// A checked send of a plain UD endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Outbound {
    /// The entry.
    pub entry: SendEntry,
    /// Who sends.
    pub local: Endpoint,
    /// Its running index.
    pub index: u16,
}

impl Outbound {
    /// The Q_Key on the wire.
    //= UD-4
    pub fn qkey(&self) -> u32 {
        if self.entry.qkey & wire::QKEY_OWN != 0 {
            self.local.qkey
        } else {
            self.entry.qkey
        }
    }

    /// The hop limit on the wire.
    pub fn hop_limit(&self) -> u8 {
        match self.entry.hop_limit {
            0 => wire::TTL,
            given => given,
        }
    }
}

/// What waits to be sent, and the packet numbers.
#[derive(Clone, Debug, Default, Hash)]
pub struct Datagrams {
    /// In the order of their posts.
    pub waiting: VecDeque<Outbound>,
    numbers: BTreeMap<u16, u32>,
}

impl Datagrams {
    /// The next packet number of an endpoint, 24 bits, from 0.
    //= UD-4
    pub fn next_number(&mut self, endpoint: u16) -> u32 {
        let number = self.numbers.entry(endpoint).or_default();
        let taken = *number;
        *number = (taken + 1) & 0xFF_FFFF;
        taken
    }
}

/// Whether an entry is one of a plain UD endpoint.
//= UD-4
pub fn well_formed(entry: &SendEntry) -> bool {
    entry.opcode == queue::OP_UD
        && (tessera_abi::params::MIN_PAYLOAD_LOG2..=tessera_abi::params::MAX_PAYLOAD_LOG2)
            .contains(&entry.payload_log2)
        && entry.length <= 1 << entry.payload_log2
}

/// The completion of a receive that `datagram` fills.
//= UD-3
pub fn received(now: Ticks, index: u16, origin: &Origin, datagram: &Datagram<'_>) -> Completion {
    let mut tag = [0; 8];
    tag[..6].copy_from_slice(&origin.mac);
    tag[6..].copy_from_slice(&origin.vlan.unwrap_or(0).to_le_bytes());
    Completion {
        opcode: DONE_RECV,
        status: Status::Success as u8,
        immediate: datagram.immediate,
        write: false,
        grh: true,
        tagged: origin.vlan.is_some(),
        endpoint: origin.local.index(),
        ring: origin.local.ring(),
        entry: index,
        length: (datagram.payload.len() + GRH_LEN) as u32,
        tag: u64::from_le_bytes(tag),
        message: MessageId(0),
        peer_endpoint: origin.endpoint,
        peer_gid: origin.gid,
        timestamp: now as u32,
    }
}

/// Whether a receive holds a datagram.
//= UD-3
pub fn fits(entry: &RecvEntry, datagram: &Datagram<'_>) -> bool {
    entry.length as usize >= datagram.payload.len() + GRH_LEN
}

/// A verified datagram meets the receives of its endpoint.
//= UD-3
pub fn deliver(
    now: Ticks,
    origin: &Origin,
    datagram: &Datagram<'_>,
    posted: Option<&mut VecDeque<(u16, RecvEntry)>>,
    out: &mut Output,
) -> Result<(), Drop> {
    let posted = posted.ok_or(Drop::UdReceive)?;
    posted.front().filter(|(_, entry)| fits(entry, datagram)).ok_or(Drop::UdReceive)?;
    let Some((index, entry)) = posted.pop_front() else { return Err(Drop::UdReceive) };
    let bytes = [&datagram.grh[..], datagram.payload].concat();
    out.writes.push_back(Write { address: entry.address, bytes });
    out.completions.push_back(received(now, index, origin, datagram));
    Ok(())
}

/// The completion of a send of a plain UD endpoint, which has no tag.
pub fn ended(now: Ticks, entry: &SendEntry, local: &Endpoint, index: u16, status: u8) -> Completion {
    Completion { tag: 0, ..crate::sender::completion(now, entry, local.number, index, status) }
}

/// Counts and completes a datagram that has left.
pub fn sent(now: Ticks, outbound: &Outbound, out: &mut Output) {
    out.counters.event(Counter::TxUd);
    let Outbound { entry, local, index } = outbound;
    let status = Status::Success as u8;
    out.completions.push_back(ended(now, entry, local, *index, status));
}
