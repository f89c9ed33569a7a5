//! What a NIC does with plain UD (rules UD): sends each post once and in
//! order, delivers what arrives or drops it without a word.
//!
//! Which datagrams are dropped is the NIC's to say, as long as each had no
//! receive to go to: one posted for longer than the host's tolerance before it
//! came, and long enough as all before it were, must not be passed over.

use std::collections::{BTreeMap, VecDeque};

use tessera_abi::status::Status;
use tessera_abi::wire::{self, MessageId};

use super::{Bench, Fault};
use crate::datagram::{self, Outbound};
use crate::queue::{Completion, RecvEntry, SendEntry};
use crate::rx_parse::{Datagram, Origin};
use crate::settings::Endpoint;

struct Sent {
    outbound: Outbound,
    payload: Vec<u8>,
    /// Its packet has left.
    left: bool,
    /// When its completion showed before it had.
    completed: Option<u64>,
}

struct Receive {
    index: u16,
    entry: RecvEntry,
    posted: u64,
    /// The datagram written into it.
    filled: Option<Completion>,
}

struct Arrived {
    at: u64,
    bytes: Vec<u8>,
    /// Its completion but for entry and time.
    done: Completion,
}

/// One plain UD endpoint.
#[derive(Default)]
struct Port {
    sends: VecDeque<Sent>,
    number: u32,
    recvs: VecDeque<Receive>,
    /// The shortest of all receives posted so far.
    shortest: Option<u32>,
    /// Came and went nowhere yet; the oldest first.
    arrived: VecDeque<Arrived>,
}

/// The plain UD endpoints of one NIC.
#[derive(Default)]
pub(super) struct Datagrams {
    ports: BTreeMap<u16, Port>,
}

impl Datagrams {
    /// The endpoint of a number, if it is a plain UD one.
    pub(super) fn endpoint(bench: &Bench, number: u32) -> Option<Endpoint> {
        bench.setup.endpoints.iter().copied().find(|e| e.datagram && e.number == number)
    }

    pub(super) fn posted_send(&mut self, local: Endpoint, index: u16, entry: &SendEntry, payload: &[u8]) {
        let outbound = Outbound { entry: *entry, local, index };
        let sent = Sent { outbound, payload: payload.to_vec(), left: false, completed: None };
        self.ports.entry(local.index()).or_default().sends.push_back(sent);
    }

    pub(super) fn posted_recv(&mut self, bench: &Bench, local: Endpoint, index: u16, entry: &RecvEntry) {
        let receive = Receive { index, entry: *entry, posted: bench.clock, filled: None };
        let port = self.ports.entry(local.index()).or_default();
        port.shortest = Some(port.shortest.map_or(entry.length, |shortest| shortest.min(entry.length)));
        port.recvs.push_back(receive);
    }

    /// A frame of a plain UD endpoint.
    //= UD-4
    pub(super) fn sent(&mut self, bench: &mut Bench, datagram: &wire::Datagram<'_>) {
        const NONE: MessageId = MessageId(0);
        let route = &datagram.route;
        let endpoint = (route.src_endpoint & 0xFF) as u16;
        let port = self.ports.entry(endpoint).or_default();
        // Entries that are refused, or whose bytes cannot be read, send nothing.
        let good = |sent: &Sent| !sent.left && datagram::well_formed(&sent.outbound.entry);
        let fits = |sent: &Sent| good(sent) && sent.payload == datagram.payload;
        let skips = bench.tolerance.dma_faults;
        let found = port.sends.iter().position(|sent| if skips { fits(sent) } else { good(sent) });
        let Some((at, sent)) = found.and_then(|at| Some((at, port.sends.get_mut(at)?))) else {
            bench.fault(None, "UD-4", Fault::UnknownMessage(route.psn));
            return;
        };
        sent.left = true;
        let Outbound { entry, .. } = &sent.outbound;
        let mac = |bytes: [u8; 6]| bytes.iter().fold(0u64, |word, &byte| word << 8 | byte as u64);
        let vlan = |tci: Option<u16>| tci.map_or(1 << 16, u64::from);
        let imm = |immediate: Option<u32>| immediate.map_or(1 << 32, u64::from);
        for (field, got, want) in [
            ("destination MAC", mac(route.dst_mac), mac(entry.mac)),
            ("destination GID", (route.dst_gid == entry.gid).into(), 1),
            ("VLAN tag", vlan(route.vlan), vlan(entry.vlan)),
            ("traffic class", route.tos.into(), entry.traffic_class.into()),
            ("hop limit", route.hop_limit.into(), sent.outbound.hop_limit().into()),
            ("destination endpoint", route.dst_endpoint.into(), entry.endpoint.into()),
            ("Q_Key", route.qkey.into(), sent.outbound.qkey().into()),
            ("PSN", route.psn.into(), port.number.into()),
            ("immediate", imm(datagram.immediate), imm(entry.immediate)),
            ("payload", (datagram.payload == sent.payload).into(), 1),
        ] {
            bench.field(NONE, "UD-4", field, got, want);
        }
        port.number = (port.number + 1) & 0xFF_FFFF;
        // Its bytes were the NIC's own when it was completed, but not for long.
        if let Some(completed) = sent.completed {
            let most = completed + Bench::clocks(bench.tolerance.pipeline);
            if bench.clock > most {
                let fault = Fault::UnknownCompletion { endpoint, entry: sent.outbound.index };
                bench.fault(None, "UD-4", fault);
            }
            port.sends.remove(at);
        }
    }

    //= UD-2
    pub(super) fn arrived(&mut self, bench: &mut Bench, origin: &Origin, datagram: &Datagram<'_>) {
        let bytes = [&datagram.grh[..], datagram.payload].concat();
        let done = datagram::received(bench.now(), 0, origin, datagram);
        let port = self.ports.entry(origin.local.index()).or_default();
        port.arrived.push_back(Arrived { at: bench.clock, bytes, done });
        self.expire(bench, origin.local.index());
    }

    /// Datagrams too old to be delivered any more: none of them may have had a
    /// receive.
    fn expire(&mut self, bench: &mut Bench, endpoint: u16) {
        let lag = Bench::clocks(bench.tolerance.pipeline + bench.tolerance.host);
        let Some(port) = self.ports.get_mut(&endpoint) else { return };
        while port.arrived.front().is_some_and(|arrived| arrived.at + 4 * lag < bench.clock) {
            let Some(gone) = port.arrived.pop_front() else { return };
            Self::passed_over(bench, port, &gone);
        }
    }

    fn passed_over(bench: &mut Bench, port: &Port, gone: &Arrived) {
        let lag = Bench::clocks(bench.tolerance.pipeline + bench.tolerance.host);
        let head = port.recvs.iter().find(|receive| receive.filled.is_none());
        // Which receive was the first when it came is the NIC's secret: where one
        // was too short for it, that may have been the one.
        let could = head.is_some_and(|receive| receive.posted + lag < gone.at)
            && port.shortest.is_some_and(|shortest| shortest as usize >= gone.bytes.len());
        if could && !bench.tolerance.overflow {
            bench.fault(None, "UD-3", Fault::MissingWrite(0));
        }
    }

    /// Whether the write is one of a datagram.
    //= UD-3
    pub(super) fn wrote(&mut self, bench: &mut Bench, address: u64, bytes: &[u8]) -> bool {
        for port in self.ports.values_mut() {
            let inside = |r: &Receive| {
                address >= r.entry.address && address < r.entry.address + u64::from(r.entry.length)
            };
            if !port.recvs.iter().any(inside) {
                continue;
            }
            // Writes become visible in any order, and so do their completions.
            let open = |receive: &Receive| receive.filled.is_none() && receive.entry.address == address;
            let at = port.recvs.iter().position(open);
            let found = port.arrived.iter().position(|arrived| arrived.bytes == bytes);
            let (Some(at), Some(found)) = (at, found) else {
                bench.fault(None, "UD-3", Fault::Unexplained { address, length: bytes.len() });
                return true;
            };
            let receive = &mut port.recvs[at];
            if (receive.entry.length as usize) < bytes.len() {
                bench.fault(None, "UD-3", Fault::OutsideBuffer { address, length: bytes.len() });
            }
            let arrived = port.arrived.remove(found);
            receive.filled = arrived.map(|arrived| Completion { entry: receive.index, ..arrived.done });
            bench.summary.writes += 1;
            return true;
        }
        false
    }

    /// Whether the completion is one of a plain UD endpoint.
    pub(super) fn completed(&mut self, bench: &mut Bench, done: &Completion, receive: bool) -> bool {
        let ours = bench.setup.endpoints.iter().any(|e| e.datagram && e.index() == done.endpoint);
        if ours {
            let port = self.ports.entry(done.endpoint).or_default();
            let legal =
                if receive { Self::received(bench, port, done) } else { Self::left(bench, port, done) };
            if !legal {
                let fault = Fault::UnknownCompletion { endpoint: done.endpoint, entry: done.entry };
                bench.fault(None, if receive { "UD-3" } else { "UD-4" }, fault);
            }
        }
        ours
    }

    fn received(bench: &Bench, port: &mut Port, done: &Completion) -> bool {
        let Some(at) = port.recvs.iter().position(|receive| receive.index == done.entry) else {
            return false;
        };
        let Some(receive) = port.recvs.remove(at) else { return false };
        match (Status::from_code(done.status), receive.filled) {
            (Ok(Status::Success), Some(filled)) => {
                *done == Completion { timestamp: done.timestamp, ..filled }
            }
            (Ok(Status::LocalProtection), None) => !bench.setup.keys.iter().any(|key| {
                key.key == receive.entry.lkey
                    && key.local_write
                    && key.covers(receive.entry.address, receive.entry.length)
            }),
            (Ok(Status::LocalDma), _) => bench.tolerance.dma_faults,
            _ => false,
        }
    }

    fn left(bench: &Bench, port: &mut Port, done: &Completion) -> bool {
        let open = |sent: &Sent| sent.outbound.index == done.entry && sent.completed.is_none();
        let Some(at) = port.sends.iter().position(open) else { return false };
        let Some(sent) = port.sends.get_mut(at) else { return false };
        let Outbound { entry, .. } = &sent.outbound;
        let permitted = entry.length == 0
            || bench.setup.keys.iter().any(|k| k.key == entry.lkey && k.covers(entry.address, entry.length));
        let same =
            (done.length, done.peer_endpoint, done.peer_gid) == (entry.length, entry.endpoint, entry.gid);
        let status = Status::from_code(done.status);
        let legal = same
            && match status {
                Ok(Status::Success) => datagram::well_formed(entry),
                Ok(Status::BadRequest) => !datagram::well_formed(entry),
                Ok(Status::LocalProtection) => !permitted,
                Ok(Status::LocalDma) => bench.tolerance.dma_faults,
                _ => false,
            };
        if status == Ok(Status::Success) && !sent.left {
            // It is read and on its way to the wire.
            sent.completed = Some(bench.clock);
        } else {
            port.sends.remove(at);
        }
        legal
    }

    pub(super) fn finish(&mut self, bench: &mut Bench) {
        for port in self.ports.values_mut() {
            for gone in std::mem::take(&mut port.arrived) {
                Self::passed_over(bench, port, &gone);
            }
            for sent in &port.sends {
                bench.fault(None, "§7.7", Fault::NeverEnded(sent.outbound.index));
            }
            if port.recvs.iter().any(|receive| receive.filled.is_some()) {
                bench.fault(None, "UD-3", Fault::MissingCompletion);
            }
        }
    }
}
