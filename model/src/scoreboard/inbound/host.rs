//! Judges what a NIC writes to host memory: payload, areas and completions of
//! receives (RC-2, RC-6, RO-6, HR, WR-2).

use tessera_abi::status::Status;
use tessera_abi::wire::flag;

use super::super::{Bench, Fault};
use super::chunks::Tracked;
use super::message::Message;
use super::{tenant, Receiving, Recv};
use crate::chunks::{offset, well_formed};
use crate::queue::Completion;

impl Receiving {
    pub(in super::super) fn wrote(&mut self, bench: &mut Bench, address: u64, bytes: &[u8]) {
        if self.wrote_remotely(bench, address, bytes) {
            return;
        }
        let end = address + bytes.len() as u64;
        let covers = |recv: &Recv| {
            address >= recv.entry.address && end <= recv.entry.address + recv.entry.length as u64
        };
        // Buffers may overlap: look at a few below the address.
        let below = self.buffers.range(..=(address, (u16::MAX, u16::MAX))).rev().take(16);
        let keys: Vec<_> =
            below.map(|&(_, key)| key).filter(|key| self.recvs.get(key).is_some_and(covers)).collect();
        if keys.is_empty() {
            bench.fault(None, "§7.2", Fault::OutsideBuffer { address, length: bytes.len() });
            return;
        }
        for key in &keys {
            let Some(recv) = self.recvs.get(key) else { continue };
            //= HR-2
            let payload_at = offset(&recv.entry);
            let offset = address - recv.entry.address;
            if offset < payload_at {
                self.wrote_area(bench, *key, offset, bytes);
                return;
            }
            let (offset, entry) = (offset - payload_at, recv.entry);
            let fits = |message: &Message| {
                let index = offset >> message.opener.payload_log2;
                index < message.count as u64
                    && index << message.opener.payload_log2 == offset
                    && message.payload_len(index as u32) as usize == bytes.len()
                    && message.payloads.contains_key(&(index as u32))
                    && !message.placed[index as usize]
                    && tenant(bench, message.local).0 == key.0
                    && !bench.too_short(&entry, &message.opener)
                    && !message.is_write()
                    && recv.suits(message)
            };
            let live = self.live.iter().filter_map(|name| self.messages.get(name));
            let name = match recv.bound {
                Some(name) => {
                    self.messages.get(&name).filter(|message| fits(message)).map(|message| message.name)
                }
                None => {
                    // Bytes decide between messages that could have opened it.
                    let mut could = live.filter(|m| m.recv.is_none() && fits(m));
                    let same = |m: &&Message| {
                        m.payloads
                            .get(&((offset >> m.opener.payload_log2) as u32))
                            .is_some_and(|p| p.bytes == bytes)
                    };
                    let first = could.clone().find(same);
                    first.or_else(|| could.next()).map(|message| message.name)
                }
            };
            let Some(name) = name else { continue };
            if let Some(recv) = self.recvs.get_mut(key) {
                recv.bound = Some(name);
            }
            let Some(message) = self.messages.get_mut(&name) else { continue };
            if message.recv.is_none() {
                message.tracked = bench.area_of(&entry, &message.opener).map(Tracked::new);
            }
            message.recv = Some(*key);
            let index = (offset >> message.opener.payload_log2) as u32;
            message.placed.set(index as usize, true);
            bench.summary.writes += 1;
            //= RC-2
            if message.payloads.get(&index).is_some_and(|payload| payload.bytes != bytes) {
                bench.fault(Some(name.2), "RC-2", Fault::Misplaced(index));
            }
            message.payloads.remove(&index);
            return;
        }
        bench.fault(None, "RC-2", Fault::Unexplained { address, length: bytes.len() });
    }

    pub(in super::super) fn completed(&mut self, bench: &mut Bench, done: &Completion) {
        let key = (done.ring, done.entry);
        let Some(recv) = self.recvs.get_mut(&key).filter(|recv| recv.open) else {
            let fault = Fault::UnknownCompletion { endpoint: done.endpoint, entry: done.entry };
            bench.fault(Some(done.message), "RC-6", fault);
            return;
        };
        recv.open = false;
        recv.ended = Some(bench.clock);
        self.buffers.remove(&(recv.entry.address, key));
        let id = done.message;
        //= TM-1
        //= TM-3
        let tagged = recv.tag().is_some();
        if tagged && [Status::NoTagSpace as u8, Status::BadRequest as u8].contains(&done.status) {
            recv.refused = true;
            let tags = bench.setup.endpoints.iter().any(|e| e.index() == key.0 && e.tags);
            let legal = if done.status == Status::BadRequest as u8 {
                !tags
            } else {
                tags && self.may_be_refused(bench, key)
            };
            if !legal {
                bench.fault(None, "TM-3", Fault::Status(done.status));
            }
            return;
        }
        if done.status == Status::LocalProtection as u8 {
            let setup = &bench.setup;
            let entry = recv.entry;
            let mut keys = setup.keys.iter().filter(|k| k.key == entry.lkey && k.local_write);
            if keys.any(|k| k.covers(entry.address, entry.length)) {
                bench.fault(None, "RO-6", Fault::Status(done.status));
            }
            recv.bound.get_or_insert(([0; 16], 0, id));
            return;
        }
        //= HR-2
        if done.status == Status::BadRequest as u8 && !well_formed(&recv.entry) {
            recv.bound.get_or_insert(([0; 16], 0, id));
            return;
        }
        let name = (done.peer_gid, done.peer_endpoint, id);
        let Some(message) =
            self.messages.get_mut(&name).filter(|m| m.recv.is_none_or(|own| own == key) && recv.suits(m))
        else {
            bench.fault(Some(id), "RC-6", Fault::UnknownMessage(0));
            return;
        };
        if recv.bound.is_some_and(|bound| bound != name) || message.done.is_some() {
            let fault = Fault::UnknownCompletion { endpoint: done.endpoint, entry: done.entry };
            bench.fault(Some(id), "RC-6", fault);
            return;
        }
        recv.bound = Some(name);
        message.recv = Some(key);
        message.done = Some((bench.clock, done.status));
        self.live.remove(&name);
        message.open_since.get_or_insert(bench.clock);
        self.clocks.set(name, None);
        let opener = message.opener;
        let immediate = (opener.flags & flag::IMM != 0).then_some(opener.immediate);
        bench.field(id, "RC-6", "length", done.length as u64, opener.length as u64);
        bench.field(id, "RC-6", "tag", done.tag, opener.tag);
        let value = |immediate: Option<u32>| immediate.map_or(u64::MAX, |value| value as u64);
        bench.field(id, "RC-6", "immediate", value(done.immediate), value(immediate));
        bench.field(id, "WR-2", "write flag", done.write as u64, message.is_write() as u64);
        if !message.takes_receive() {
            bench.fault(Some(id), "WR-2", Fault::Undue);
        }
        bench.field(id, "RC-6", "endpoint", done.endpoint as u64, (message.local & 0xFF) as u64);
        let ring = tenant(bench, message.local).0;
        bench.field(id, "RO-10", "ring", done.ring as u64, ring as u64);
        let settings = &bench.setup.settings;
        let give_up = message.last_heard + settings.rx_give_up as u64;
        let legal = match Status::from_code(done.status) {
            Ok(Status::Success) => {
                message.believe_all(bench.clock);
                let missing = message.count - message.distinct;
                let unwritten = message.unwritten();
                let short = bench.too_short(&recv.entry, &opener) && !message.is_write();
                //= HR-3
                if message.is_unannounced() {
                    bench.fault(Some(id), "HR-3", Fault::Early { missing: 0, unwritten: 1 });
                }
                //= HR-4
                if let Some(block) = message.untold() {
                    bench.field(id, "HR-4", "block told whole", 0, block.into());
                }
                if missing + unwritten > 0 || short {
                    bench.fault(Some(id), "RC-6", Fault::Early { missing, unwritten });
                }
                true
            }
            Ok(Status::GaveUp) => bench.now() + bench.tolerance.timer as u64 >= give_up,
            Ok(Status::Replaced) => message.replaced,
            Ok(Status::Released) => {
                message.let_go || (bench.tolerance.overflow && message.released.is_some())
            }
            Ok(Status::RemoteAccess) => message.denied,
            Ok(Status::RemoteDma) => bench.tolerance.dma_faults,
            //= HR-7
            Ok(Status::Partial) => message.ended_by_host(),
            _ => false,
        };
        if !legal {
            bench.fault(Some(id), "RC-6", Fault::Status(done.status));
        }
    }
}
