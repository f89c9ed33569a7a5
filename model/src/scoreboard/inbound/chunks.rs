//! Host-recovered messages: what their areas say, and what the host orders (HR).
//!
//! Whether a message that asks for it is host-recovered depends on its receive.
//! That shows with the first of its writes: the header, or a payload, which goes
//! its own way to memory.

use std::collections::{BTreeMap, VecDeque};

use tessera_abi::params::BLOCK_PACKETS;
use tessera_abi::queue::area;
use tessera_abi::wire::{flag, FeedbackHeader, MessageId};

use super::super::{Bench, Fault};
use super::message::Message;
use super::{tenant, Receiving};
use crate::bitmap::Block;
use crate::chunks::{Area, Order};

/// What is known of a message since its receive was seen.
pub(super) struct Tracked {
    area: Area,
    /// As the header tells it, once that was seen.
    handle: Option<MessageId>,
    /// Bytes last written, by block.
    told: BTreeMap<u32, Vec<u8>>,
    /// NACKs ordered and not seen: clock and limit.
    orders: VecDeque<(u64, u32)>,
    /// The host has ended it.
    pub(super) partial: bool,
}

impl Tracked {
    pub(super) fn new(area: Area) -> Self {
        Self { area, handle: None, told: BTreeMap::new(), orders: VecDeque::new(), partial: false }
    }
}

impl Message {
    fn asks_the_host(&self) -> bool {
        self.count > 1 && !self.is_write() && self.opener.flags & flag::HOST_RECOVERY != 0
    }

    /// Beyond doubt recovered by the NIC.
    //= HR-1
    pub(super) fn by_hardware(&self) -> bool {
        !self.asks_the_host() || (self.recv.is_some() && self.tracked.is_none())
    }

    pub(super) fn ended_by_host(&self) -> bool {
        self.tracked.as_ref().is_some_and(|tracked| tracked.partial)
    }

    /// Host-recovered, and has not said so.
    //= HR-3
    pub(super) fn is_unannounced(&self) -> bool {
        self.tracked.as_ref().is_some_and(|tracked| tracked.handle.is_none())
    }

    fn placed_block(&self, block: u32) -> Block {
        let start = block * BLOCK_PACKETS;
        let mut bits = Block::new(self.count.saturating_sub(start).min(BLOCK_PACKETS));
        let there = |bit: &u32| self.placed.get((start + bit) as usize).is_some_and(|placed| *placed);
        (0..BLOCK_PACKETS).filter(there).for_each(|bit| {
            bits.set(bit);
        });
        bits
    }

    /// Blocks of which the area does not say all that is placed.
    //= HR-4
    pub(super) fn untold(&self) -> Option<u32> {
        let tracked = self.tracked.as_ref()?;
        (0..self.count.div_ceil(BLOCK_PACKETS)).find(|block| {
            let said = tracked.told.get(block);
            let due = tracked.area.told(*block, &self.placed_block(*block)).1;
            said.map_or(due != tracked.area.told(*block, &self.untouched(*block)).1, |said| *said != due)
        })
    }

    /// A block of which nothing has arrived.
    fn untouched(&self, block: u32) -> Block {
        Block::new((self.count - block * BLOCK_PACKETS).min(BLOCK_PACKETS))
    }
}

impl Receiving {
    /// A write into the area of receive `key`.
    pub(super) fn wrote_area(&mut self, bench: &mut Bench, key: (u16, u16), offset: u64, bytes: &[u8]) {
        let Some(recv) = self.recvs.get(&key) else { return };
        let entry = recv.entry;
        //= HR-3
        if offset == 0 {
            let opens = |message: &&Message| {
                let told = bench.area_of(&entry, &message.opener);
                (message.recv.is_none() || (message.recv == Some(key) && message.is_unannounced()))
                    && tenant(bench, message.local).0 == key.0
                    && bytes.len() == area::HEADER_LEN
                    && told.is_some_and(|told| {
                        let said = [bytes[0], bytes[1], bytes[2], bytes[3]];
                        let handle = MessageId(u32::from_le_bytes(said));
                        handle.generation() == message.opener.message.generation()
                            && told.header(handle, &message.opener).1 == bytes
                    })
            };
            let live = self.live.iter().filter_map(|name| self.messages.get(name));
            let name = live
                .filter(|m| recv.bound.is_none_or(|name| name == m.name))
                .find(opens)
                .map(|message| message.name);
            let Some(message) = name.and_then(|name| self.messages.get_mut(&name)) else {
                let fault = Fault::Unexplained { address: entry.address, length: bytes.len() };
                bench.fault(None, "HR-3", fault);
                return;
            };
            let said = [bytes[0], bytes[1], bytes[2], bytes[3]];
            let handle = MessageId(u32::from_le_bytes(said));
            message.recv = Some(key);
            if message.tracked.is_none() {
                message.tracked = bench.area_of(&entry, &message.opener).map(Tracked::new);
            }
            if let Some(tracked) = message.tracked.as_mut() {
                tracked.handle = Some(handle);
            }
            let name = message.name;
            if let Some(recv) = self.recvs.get_mut(&key) {
                recv.bound = Some(name);
            }
            self.clocks.set(name, None);
            return;
        }
        //= HR-4
        let message = recv.bound.and_then(|name| self.messages.get_mut(&name));
        let tracked = message.filter(|message| message.tracked.is_some() && !message.is_unannounced());
        let unexplained = Fault::Unexplained { address: entry.address + offset, length: bytes.len() };
        let Some(message) = tracked else {
            bench.fault(None, "HR-4", unexplained);
            return;
        };
        let id = message.name.2;
        let area = message.tracked.as_ref().map(|tracked| tracked.area);
        let blocks = message.count.div_ceil(BLOCK_PACKETS);
        let address = entry.address + offset;
        let place = |block: &u32| area.is_some_and(|area| area.place(*block) == (address, bytes.len()));
        let Some(block) = (0..blocks).find(place) else {
            bench.fault(Some(id), "HR-4", unexplained);
            return;
        };
        let most = area.map_or_else(Vec::new, |area| area.told(block, &message.placed_block(block)).1);
        let Some(tracked) = message.tracked.as_mut() else { return };
        let before = tracked.told.insert(block, bytes.to_vec());
        for (at, (&says, may)) in bytes.iter().zip(most).enumerate() {
            let had = before.as_ref().map_or(0, |before| before[at]);
            if says & !may != 0 || had & !says != 0 {
                bench.field(id, "HR-4", "chunk bits", says.into(), (may | had).into());
                return;
            }
        }
    }

    /// The host gave an order.
    //= HR-5
    pub(in super::super) fn ordered(&mut self, bench: &Bench, handle: u32, order: u32) {
        let meant = |message: &&mut Message| {
            message.done.is_none()
                && message.tracked.as_ref().is_some_and(|tracked| tracked.handle == Some(MessageId(handle)))
        };
        let Some(message) = self.messages.values_mut().find(meant) else { return };
        let count = message.count;
        let Some(tracked) = message.tracked.as_mut() else { return };
        match Order::of(order) {
            Order::Partial => tracked.partial = true,
            Order::Nack(limit) => tracked.orders.push_back((bench.clock, limit.min(count))),
        }
    }

    /// A NACK of a host-recovered message: only by order.
    //= HR-6
    //= HR-8
    pub(super) fn nack_by_order(bench: &mut Bench, message: &mut Message, header: &FeedbackHeader) {
        let lag = Self::lag(bench);
        let (id, clock) = (message.name.2, bench.clock);
        let Some(tracked) = message.tracked.as_mut() else { return };
        let asks = |&(at, limit): &(u64, u32)| {
            let base = limit.saturating_sub(1) / BLOCK_PACKETS * BLOCK_PACKETS;
            at <= clock && clock <= at + lag && header.base == base && header.limit == limit.min(header.grant)
        };
        match tracked.orders.iter().position(asks) {
            Some(at) => {
                tracked.orders.remove(at);
            }
            None => bench.fault(Some(id), "HR-8", Fault::Undue),
        }
        tracked.orders.retain(|&(at, _)| clock <= at + lag);
        let bits = Block::from_bytes(header.bitmap);
        if bits.zeros_below(header.limit.saturating_sub(header.base)) == 0 {
            bench.fault(Some(id), "HR-6", Fault::NackLimit { got: header.limit, most: header.grant });
        }
    }
}
