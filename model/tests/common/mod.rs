//! Several model NICs on one virtual clock, a faulty network between them, and
//! a ledger of what must come out.
//!
//! Time runs in clocks (16 to a tick); each NIC's own time is shifted by its
//! own offset, so nothing may depend on clocks that agree.
#![allow(dead_code)] // each test binary uses its part

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use tessera_abi::params::{Config, CLOCKS_PER_TICK, NIC512};
use tessera_abi::queue::{
    area, DONE_CANCEL, DONE_POSTED, DONE_RECV, DONE_SEND, DONE_UNEXPECTED, OP_SEND, OP_WRITE,
};
use tessera_abi::regs::Counter;
use tessera_abi::status::Status;
use tessera_abi::wire::{self, fb, Trh};
use tessera_model::{
    chunks, Completion, Endpoint, Identity, MemoryKey, Nic, ReadError, RecvEntry, RecvKind, SendEntry,
    Settings, Shape, Ticks,
};

/// The seed of this run: `TESSERA_SEED`, else a fixed one. Printed, so a red
/// run tells how to repeat it.
pub fn seed() -> u64 {
    let seed = std::env::var("TESSERA_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(0x7E55_E2A1);
    eprintln!("TESSERA_SEED={seed}");
    seed
}

/// SplitMix64: faults and payloads.
#[derive(Clone, Debug)]
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }
    pub fn chance(&mut self, probability: f64) -> bool {
        ((self.next() >> 11) as f64) < probability * (1u64 << 53) as f64
    }
}

/// Packet classes a fault can aim at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    Data,
    Again,
    Last,
    Probe,
    Ack,
    Nack,
    Grant,
    Busy,
    Complete,
    Abort,
    Release,
}

pub const FEEDBACK_CLASSES: [Class; 6] =
    [Class::Ack, Class::Nack, Class::Grant, Class::Busy, Class::Complete, Class::Abort];

pub fn class(frame: &[u8]) -> Class {
    match wire::parse(frame).expect("a model frame parses").trh {
        Trh::Data(header) if header.probe => Class::Probe,
        Trh::Data(header) if header.flags & wire::flag::RETX != 0 => Class::Again,
        Trh::Data(header) => {
            let count = wire::packet_count(header.length, header.payload_log2).expect("legal");
            if header.index + 1 == count {
                Class::Last
            } else {
                Class::Data
            }
        }
        Trh::Release(_) => Class::Release,
        Trh::Feedback(header) => {
            let table = [
                (fb::ABORT, Class::Abort),
                (fb::COMPLETE, Class::Complete),
                (fb::BUSY, Class::Busy),
                (fb::NACK, Class::Nack),
                (fb::GRANT, Class::Grant),
            ];
            table.iter().find(|(bit, _)| header.flags & bit != 0).map_or(Class::Ack, |&(_, class)| class)
        }
    }
}

/// What the network does to frames.
#[derive(Clone, Debug)]
pub struct Faults {
    /// Probability of loss, every class.
    pub loss: f64,
    /// Mean length of a loss burst in small packets; 1 = uniform.
    pub burst: f64,
    /// The first n frames of a class are lost.
    pub first: BTreeMap<Class, u32>,
    /// Probability that a frame is copied, and how often at most in all.
    pub duplicate: (f64, u64),
    /// Probability of a flipped bit.
    pub corrupt: f64,
    /// Delay of every path, clocks; the entropy value chooses.
    pub paths: Vec<u64>,
    /// Random extra delay, clocks.
    pub jitter: u64,
    /// Frames marked congestion-experienced.
    pub mark: f64,
    /// Bytes per clock of each NIC's link.
    pub rate: u64,
}

impl Default for Faults {
    fn default() -> Self {
        Self {
            loss: 0.0,
            burst: 1.0,
            first: BTreeMap::new(),
            duplicate: (0.0, 1),
            corrupt: 0.0,
            paths: vec![800],
            jitter: 0,
            mark: 0.0,
            rate: 16,
        }
    }
}

/// A posted receive.
#[derive(Clone, Copy, Debug)]
pub struct Buffer {
    pub entry: RecvEntry,
    pub open: bool,
}

/// What happened, for whoever watches (the scoreboard's tests).
#[derive(Clone, Debug)]
pub enum Seen {
    FrameIn(Vec<u8>),
    FrameOut(Vec<u8>),
    Send {
        endpoint: u32,
        index: u16,
        entry: SendEntry,
        payload: Vec<u8>,
    },
    Recv {
        endpoint: u32,
        index: u16,
        entry: RecvEntry,
    },
    Write {
        address: u64,
        bytes: Vec<u8>,
    },
    Ordered {
        handle: u32,
        order: u32,
    },
    Done(Completion),
    /// The NIC was reset, and has this endpoint now.
    Reset(Endpoint),
}

pub struct Node {
    pub nic: Nic,
    pub identity: Identity,
    pub memory: Vec<u8>,
    pub offset: Ticks,
    pub settings: Settings,
    pub recvs: BTreeMap<(u16, u16), Buffer>,
    pub sends: BTreeMap<(u16, u16), SendEntry>,
    pub done: Vec<(u64, Completion)>,
    /// Where peers may write: address -> length, and whose bytes ([`byte`]).
    pub windows: BTreeMap<u64, (u32, u64)>,
    link_free: u64,
    burst_until: u64,
}

enum Event {
    Arrive(usize, Vec<u8>),
    LinkFree(usize),
    Custom(u64),
}

pub const KEY: u32 = 0x5501;
pub const QKEY: u32 = 0x1111_2222;
/// The key of all of a host's memory.
pub const ALL: MemoryKey =
    MemoryKey { key: KEY, base: BASE, length: 1 << 40, pd: 1, local_write: true, remote_write: true };
/// The host buffers start here, so that address 0 is never legal.
pub const BASE: u64 = 0x10_0000;

pub struct World {
    pub nodes: Vec<Node>,
    pub clock: u64,
    pub faults: Faults,
    pub rng: Rng,
    pub settings: Settings,
    pub sent_by_class: BTreeMap<Class, u64>,
    pub watch: Option<Vec<(usize, u64, Seen)>>,
    /// Frames the network carried, when kept.
    pub kept: Option<Vec<(usize, Vec<u8>)>>,
    /// The round of what is sent from now on.
    pub round: Option<u16>,
    /// Overwrite source buffers once their send completed.
    pub scribble: bool,
    /// Sends go to IPv6 addresses, carry this tag.
    pub v6: bool,
    /// What is sent from now on asks for recovery by the host.
    pub host_recovery: bool,
    pub vlan: Option<u16>,
    events: BinaryHeap<Reverse<(u64, u64)>>,
    pending: BTreeMap<u64, Event>,
    serial: u64,
    next_tag: u64,
    pub delivered: BTreeMap<u64, u32>,
    pub errors: Vec<(usize, Completion)>,
}

/// Payload byte `i` of the message with this tag.
pub fn byte(tag: u64, i: u64) -> u8 {
    let mut z = tag.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (i >> 3).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    z ^= z >> 29;
    (z.wrapping_mul(0xBF58_476D_1CE4_E5B9) >> (8 * (i & 7))) as u8
}

/// A small NIC whose tables fill quickly.
pub fn small() -> Config {
    Config {
        tx_slots_log2: 4,
        rx_contexts_log2: 4,
        tombstones: 64,
        table_sets_log2: 6,
        bitmap_blocks_log2: 5,
        ..NIC512
    }
}

/// IPv6 address of a node.
pub fn ip6(node: usize) -> [u8; 16] {
    [0x20, 0x01, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, node as u8]
}

impl World {
    pub fn new(count: usize, config: &Config, settings: Settings, faults: Faults, seed: u64) -> Self {
        let nodes = (0..count).map(|i| {
            let identity = Identity {
                mac: [2, 0, 0, 0, 0, i as u8],
                ip: [10, 0, 0, i as u8 + 1],
                ip6: ip6(i),
                vlan: 0x123,
                pkey: wire::DEFAULT_PKEY,
            };
            let settings = Settings { seed: (seed as u32 ^ 0x1357 << i).max(1), ..settings };
            let mut nic = Nic::new(config, identity, settings).expect("legal settings");
            for e in 0..4 {
                nic.set_endpoint(Endpoint::new(endpoint(i, e), QKEY));
            }
            nic.set_key(ALL);
            Node {
                nic,
                identity,
                settings,
                memory: Vec::new(),
                // One NIC's time wraps 32 bits early in the run.
                offset: (1u64 << 32) - 3000 + 77_777 * i as u64,
                recvs: BTreeMap::new(),
                sends: BTreeMap::new(),
                done: Vec::new(),
                windows: BTreeMap::new(),
                link_free: 0,
                burst_until: 0,
            }
        });
        Self {
            nodes: nodes.collect(),
            clock: 0,
            faults,
            rng: Rng(seed),
            settings,
            sent_by_class: BTreeMap::new(),
            watch: None,
            kept: None,
            round: None,
            scribble: true,
            v6: false,
            host_recovery: false,
            vlan: None,
            events: BinaryHeap::new(),
            pending: BTreeMap::new(),
            serial: 0,
            next_tag: 1,
            delivered: BTreeMap::new(),
            errors: Vec::new(),
        }
    }

    /// The address that sends to `node` go to.
    pub fn gid_of(&self, node: usize) -> [u8; 16] {
        let identity = &self.nodes[node].identity;
        if self.v6 {
            identity.ip6
        } else {
            wire::ipv4_gid(identity.ip)
        }
    }

    pub fn now(&self, node: usize) -> Ticks {
        self.nodes[node].offset + self.clock / CLOCKS_PER_TICK as u64
    }

    fn see(&mut self, node: usize, seen: impl FnOnce() -> Seen) {
        let clock = self.clock;
        if let Some(watch) = self.watch.as_mut() {
            watch.push((node, clock, seen()));
        }
    }

    /// Room in a host's memory, with guard bytes behind it.
    fn allocate(&mut self, node: usize, length: u32) -> u64 {
        let memory = &mut self.nodes[node].memory;
        let address = BASE + memory.len() as u64;
        memory.resize(memory.len() + length as usize + 64, 0xA5);
        address
    }

    /// Posts a message of `length` bytes; returns its tag.
    pub fn send(&mut self, from: usize, to: usize, e: usize, length: u32, payload_log2: u8) -> u64 {
        self.send_with(from, to, e, length, payload_log2, 0)
    }

    pub fn send_with(
        &mut self,
        from: usize,
        to: usize,
        e: usize,
        length: u32,
        payload_log2: u8,
        window: u8,
    ) -> u64 {
        let tag = self.next_tag << 8 | from as u64;
        self.next_tag += 1;
        let address = self.allocate(from, length);
        let at = (address - BASE) as usize;
        let payload: Vec<u8> = (0..length as u64).map(|i| byte(tag, i)).collect();
        self.nodes[from].memory[at..at + length as usize].copy_from_slice(&payload);
        let entry = SendEntry {
            opcode: OP_SEND,
            round: self.round,
            immediate: (tag >> 8).is_multiple_of(2).then_some(tag as u32),
            payload_log2,
            traffic_class: 2,
            length,
            address,
            lkey: KEY,
            initial_window: window,
            tag,
            rkey: 0,
            qkey: QKEY,
            endpoint: endpoint(to, e),
            mac: self.nodes[to].identity.mac,
            gid: self.gid_of(to),
            host_recovery: self.host_recovery,
            hop_limit: 0,
            vlan: self.vlan,
        };
        let number = endpoint(from, e);
        let now = self.now(from);
        let index = self.nodes[from].nic.post_send(now, number, entry).expect("endpoint exists");
        self.nodes[from].sends.insert(((number & 0xFF) as u16, index), entry);
        self.see(from, || Seen::Send { endpoint: number, index, entry, payload });
        self.drain(from);
        self.pump(from);
        tag
    }

    /// Posts a write into fresh memory of `to`, changed by `edit`; returns where
    /// it goes and the number of its bytes, see [`World::written`].
    pub fn write(
        &mut self,
        (from, to, e): (usize, usize, usize),
        length: u32,
        immediate: Option<u32>,
        edit: impl FnOnce(&mut SendEntry),
    ) -> u64 {
        let number = self.next_tag << 8 | from as u64;
        self.next_tag += 1;
        let target = self.allocate(to, length);
        self.nodes[to].windows.insert(target, (length, number));
        let address = self.allocate(from, length);
        let at = (address - BASE) as usize;
        let payload: Vec<u8> = (0..length as u64).map(|i| byte(number, i)).collect();
        self.nodes[from].memory[at..at + length as usize].copy_from_slice(&payload);
        let mut entry = SendEntry {
            opcode: OP_WRITE,
            immediate,
            payload_log2: 8,
            traffic_class: 1,
            length,
            address,
            lkey: KEY,
            initial_window: 0,
            tag: target,
            rkey: KEY,
            round: None,
            qkey: QKEY,
            endpoint: endpoint(to, e),
            mac: self.nodes[to].identity.mac,
            gid: self.gid_of(to),
            host_recovery: false,
            hop_limit: 0,
            vlan: self.vlan,
        };
        edit(&mut entry);
        let local = endpoint(from, e);
        let now = self.now(from);
        let index = self.nodes[from].nic.post_send(now, local, entry).expect("endpoint exists");
        self.nodes[from].sends.insert(((local & 0xFF) as u16, index), entry);
        self.see(from, || Seen::Send { endpoint: local, index, entry, payload });
        self.drain(from);
        self.pump(from);
        target
    }

    /// Whether a window holds all of its bytes, and whether it holds none.
    pub fn written(&self, node: usize, target: u64) -> (bool, bool) {
        let (length, number) = self.nodes[node].windows[&target];
        let at = (target - BASE) as usize;
        let bytes = &self.nodes[node].memory[at..at + length as usize];
        let guard = &self.nodes[node].memory[at + length as usize..][..64];
        assert!(guard.iter().all(|&byte| byte == 0xA5), "guard bytes behind {target:#x} changed");
        (
            bytes.iter().enumerate().all(|(i, &b)| b == byte(number, i as u64)),
            bytes.iter().all(|&b| b == 0xA5),
        )
    }

    /// Posts a receive of `length` bytes.
    pub fn recv(&mut self, node: usize, e: usize, length: u32) {
        let address = self.allocate(node, length);
        let entry = RecvEntry::new(address, length, KEY);
        let number = endpoint(node, e);
        let now = self.now(node);
        let index = self.nodes[node].nic.post_recv(now, number, entry).expect("endpoint exists");
        self.nodes[node].recvs.insert(((number & 0xFF) as u16, index), Buffer { entry, open: true });
        self.see(node, || Seen::Recv { endpoint: number, index, entry });
    }

    /// Posts a receive of this kind to an endpoint's own ring.
    pub fn recv_kind(&mut self, node: usize, e: usize, length: u32, kind: RecvKind) {
        let address = self.allocate(node, length);
        let entry = RecvEntry { kind, ..RecvEntry::new(address, length, KEY) };
        let number = endpoint(node, e);
        let now = self.now(node);
        let index = self.nodes[node].nic.post_recv(now, number, entry).expect("endpoint exists");
        self.nodes[node].recvs.insert(((number & 0xFF) as u16, index), Buffer { entry, open: true });
        self.see(node, || Seen::Recv { endpoint: number, index, entry });
        self.drain(node);
    }

    /// Posts a receive of `length` bytes behind a cleared chunk area; returns
    /// its address and running index.
    pub fn recv_chunks(&mut self, node: usize, e: usize, length: u32, shape: Shape) -> (u64, u16) {
        let area = area::len(shape.area_log2) as u32;
        let free = self.nodes[node].memory.len();
        self.nodes[node].memory.resize(free.next_multiple_of(area::ALIGN as usize), 0xA5);
        let address = self.allocate(node, area + length);
        let at = (address - BASE) as usize;
        self.nodes[node].memory[at..at + area as usize].fill(0);
        let kind = RecvKind::Chunks(shape);
        let entry = RecvEntry { kind, ..RecvEntry::new(address, area + length, KEY) };
        let number = endpoint(node, e);
        let now = self.now(node);
        let index = self.nodes[node].nic.post_recv(now, number, entry).expect("endpoint exists");
        self.nodes[node].recvs.insert(((number & 0xFF) as u16, index), Buffer { entry, open: true });
        self.see(node, || Seen::Recv { endpoint: number, index, entry });
        self.drain(node);
        (address, index)
    }

    /// The host's order for a host-recovered message; whether it met it.
    pub fn order(&mut self, node: usize, handle: u32, order: u32) -> bool {
        let now = self.now(node);
        self.see(node, || Seen::Ordered { handle, order });
        let met = self.nodes[node].nic.recover(now, handle, order);
        self.drain(node);
        self.pump(node);
        met
    }

    /// Bytes of a node's memory.
    pub fn bytes(&self, node: usize, address: u64, length: usize) -> &[u8] {
        &self.nodes[node].memory[(address - BASE) as usize..][..length]
    }

    /// Posts a receive of `length` bytes to a shared ring.
    pub fn shared_recv(&mut self, node: usize, ring: u16, length: u32) {
        let address = self.allocate(node, length);
        let entry = RecvEntry::new(address, length, KEY);
        let now = self.now(node);
        let index = self.nodes[node].nic.post_shared_recv(now, ring, entry).expect("ring exists");
        self.nodes[node].recvs.insert((ring, index), Buffer { entry, open: true });
        self.see(node, || Seen::Recv { endpoint: ring.into(), index, entry });
    }

    /// Resets a node's NIC at work. Its host goes on with endpoint `e` alone.
    pub fn reset(&mut self, node: usize, e: usize) {
        let this = &mut self.nodes[node];
        this.nic.reset();
        this.nic.set_enabled(true);
        let new = Endpoint::new(endpoint(node, e), QKEY);
        this.nic.set_endpoint(new);
        this.nic.set_key(ALL);
        this.sends.clear();
        // Buffers of before are closed: a write there is a fault.
        this.recvs.clear();
        this.windows.clear();
        self.see(node, || Seen::Reset(new));
        self.drain(node);
    }

    fn schedule(&mut self, at: u64, event: Event) {
        self.serial += 1;
        self.events.push(Reverse((at, self.serial)));
        self.pending.insert(self.serial, event);
    }

    /// Puts a frame on the wire towards `node`, arriving at `at`.
    pub fn inject(&mut self, node: usize, at: u64, frame: Vec<u8>) {
        self.schedule(at, Event::Arrive(node, frame));
    }

    /// Asks `run` to hand `id` back at `at`.
    pub fn wake(&mut self, at: u64, id: u64) {
        self.schedule(at, Event::Custom(id));
    }

    fn drain(&mut self, node: usize) {
        while let Some(write) = self.nodes[node].nic.poll_write() {
            self.see(node, || Seen::Write { address: write.address, bytes: write.bytes.clone() });
            let this = &mut self.nodes[node];
            let end = write.address + write.bytes.len() as u64;
            let inside = this.recvs.values().any(|buffer| {
                buffer.open
                    && write.address >= buffer.entry.address
                    && end <= buffer.entry.address + buffer.entry.length as u64
            });
            let window = this.windows.range(..=write.address).next_back();
            let inside = inside || window.is_some_and(|(start, (len, _))| end <= start + *len as u64);
            assert!(
                inside,
                "write of {} bytes at {:#x} outside every open buffer",
                write.bytes.len(),
                write.address
            );
            let at = (write.address - BASE) as usize;
            this.memory[at..at + write.bytes.len()].copy_from_slice(&write.bytes);
        }
        while let Some(done) = self.nodes[node].nic.poll_completion() {
            self.see(node, || Seen::Done(done));
            self.complete(node, done);
        }
        let receiver = self.nodes[node].nic.receiver();
        assert_eq!(receiver.outstanding(), receiver.outstanding_by_context(), "GR-1: credit disagrees");
    }

    fn complete(&mut self, node: usize, done: Completion) {
        let clock = self.clock;
        self.nodes[node].done.push((clock, done));
        if done.status != Status::Success as u8 {
            self.errors.push((node, done));
        }
        let this = &mut self.nodes[node];
        match done.opcode {
            DONE_SEND => {
                let entry = this.sends.remove(&(done.endpoint, done.entry)).expect("one completion per send");
                assert_eq!(
                    (done.tag, done.length, done.immediate),
                    (entry.tag, entry.length, entry.immediate)
                );
                if self.scribble {
                    let at = (entry.address - BASE) as usize;
                    this.memory[at..at + entry.length as usize].fill(0xEE);
                }
            }
            DONE_RECV => {
                let buffer = this.recvs.get_mut(&(done.ring, done.entry)).expect("a posted receive");
                assert!(buffer.open, "one completion per receive");
                buffer.open = false;
                if done.write {
                    assert!(done.immediate.is_some(), "a write without immediate takes no receive");
                } else if done.status == Status::Success as u8 {
                    let start = (buffer.entry.address - BASE) as usize;
                    let at = start + chunks::offset(&buffer.entry) as usize;
                    let good =
                        (0..done.length as u64).all(|i| this.memory[at + i as usize] == byte(done.tag, i));
                    assert!(good, "message {:#x} arrived damaged", done.tag);
                    let guard = &this.memory[start + buffer.entry.length as usize..][..64];
                    assert!(guard.iter().all(|&b| b == 0xA5), "guard bytes behind {:#x} changed", done.tag);
                    *self.delivered.entry(done.tag).or_default() += 1;
                    assert_eq!(self.delivered[&done.tag], 1, "message {:#x} delivered twice", done.tag);
                }
            }
            DONE_POSTED | DONE_UNEXPECTED | DONE_CANCEL => {}
            other => panic!("completion opcode {other}"),
        }
    }

    fn pump(&mut self, node: usize) {
        if self.nodes[node].link_free > self.clock {
            return;
        }
        let now = self.now(node);
        let this = &mut self.nodes[node];
        let memory = &this.memory;
        let mut read = |address: u64, bytes: &mut [u8]| {
            let at = address.checked_sub(BASE).map(|at| at as usize);
            let source = at.and_then(|at| memory.get(at..at + bytes.len()));
            bytes.copy_from_slice(source.ok_or(ReadError { address, length: bytes.len() })?);
            Ok(())
        };
        let frame = this.nic.poll_transmit(now, &mut read);
        if let Some(frame) = frame {
            let clocks = (frame.len() as u64 + 24).div_ceil(self.faults.rate);
            self.nodes[node].link_free = self.clock + clocks;
            self.schedule(self.clock + clocks, Event::LinkFree(node));
            self.see(node, || Seen::FrameOut(frame.clone()));
            self.carry(node, frame, self.clock + clocks);
        }
        self.drain(node);
    }

    fn carry(&mut self, from: usize, mut frame: Vec<u8>, left: u64) {
        let class = class(&frame);
        *self.sent_by_class.entry(class).or_default() += 1;
        if let Some(kept) = self.kept.as_mut() {
            kept.push((from, frame.clone()));
        }
        if let Some(rest) = self.faults.first.get_mut(&class).filter(|rest| **rest > 0) {
            *rest -= 1;
            return;
        }
        // Bursts last in time, as a full queue does: a sparse PROBE must not
        // find the burst where the last packet left it.
        let Faults { loss, burst, rate, .. } = self.faults;
        let in_burst = self.clock < self.nodes[from].burst_until;
        if burst > 1.0 && !in_burst && self.rng.chance(loss / burst) {
            let packets = 1 + self.rng.below(2 * burst as u64);
            self.nodes[from].burst_until = left + packets * (300 / rate);
            return;
        }
        if in_burst || (burst <= 1.0 && self.rng.chance(loss)) {
            return;
        }
        let Some(to) = self.nodes.iter().position(|node| node.identity.mac[..] == frame[..6]) else { return };
        if self.rng.chance(self.faults.mark) {
            let form = wire::Form::of(&frame).expect("a model frame is IP");
            let (at, shift) = if form.v6 { (form.ip_at() + 1, 4) } else { (form.ip_at() + 1, 0) };
            frame[at] |= wire::ECN_CE << shift;
        }
        if self.rng.chance(self.faults.corrupt) {
            let bit = self.rng.below(frame.len() as u64 * 8) as usize;
            frame[bit / 8] ^= 1 << (bit % 8);
        }
        let udp_at = wire::Form::of(&frame).map_or(wire::UDP_AT, wire::Form::udp_at);
        let ev = frame[udp_at + 1] as usize;
        let delay = self.faults.paths[ev % self.faults.paths.len()];
        let copies = if self.rng.chance(self.faults.duplicate.0) {
            1 + self.rng.below(self.faults.duplicate.1)
        } else {
            1
        };
        for _ in 0..copies {
            let extra = if self.faults.jitter > 0 { self.rng.below(self.faults.jitter) } else { 0 };
            self.schedule(left + delay + extra, Event::Arrive(to, frame.clone()));
        }
    }

    fn next_time(&self) -> Option<u64> {
        let event = self.events.peek().map(|Reverse((at, _))| *at);
        let timers = self.nodes.iter().filter_map(|node| {
            let due = node.nic.poll_timeout()?;
            Some(due.saturating_sub(node.offset) * CLOCKS_PER_TICK as u64)
        });
        timers.chain(event).min().map(|at| at.max(self.clock))
    }

    /// Runs to `until` or until nothing is left to happen; `true` when idle.
    pub fn run(&mut self, until: u64) -> bool {
        self.run_with(until, |_, _| {})
    }

    pub fn run_with(&mut self, until: u64, mut custom: impl FnMut(&mut Self, u64)) -> bool {
        for node in 0..self.nodes.len() {
            self.drain(node);
            self.pump(node);
        }
        loop {
            let Some(at) = self.next_time() else { return true };
            if at > until {
                self.clock = until;
                return false;
            }
            self.clock = at;
            while self.events.peek().is_some_and(|Reverse((due, _))| *due <= at) {
                let Some(Reverse((_, serial))) = self.events.pop() else { break };
                match self.pending.remove(&serial).expect("scheduled") {
                    Event::Arrive(node, frame) => {
                        self.see(node, || Seen::FrameIn(frame.clone()));
                        let now = self.now(node);
                        let _counted = self.nodes[node].nic.handle_frame(now, &frame);
                        self.drain(node);
                    }
                    Event::LinkFree(_) => {}
                    Event::Custom(id) => custom(self, id),
                }
            }
            for node in 0..self.nodes.len() {
                let now = self.now(node);
                if self.nodes[node].nic.poll_timeout().is_some_and(|due| due <= now) {
                    self.nodes[node].nic.handle_timeout(now);
                }
                self.drain(node);
                self.pump(node);
            }
        }
    }

    /// Everything that was lent is back, apart from tombstones.
    pub fn assert_idle(&self) {
        for (i, node) in self.nodes.iter().enumerate() {
            assert!(
                node.nic.sender().is_idle(),
                "NIC {i}: sender holds something: {} live",
                node.nic.sender().live()
            );
            assert!(
                node.nic.receiver().is_idle(),
                "NIC {i}: receiver holds {} contexts",
                node.nic.receiver().open_contexts()
            );
            assert!(node.sends.is_empty(), "NIC {i}: {} sends never completed", node.sends.len());
        }
    }

    pub fn count(&self, counter: Counter) -> u64 {
        self.nodes.iter().map(|node| node.nic.counters().of(counter) as u64).sum()
    }
}

/// Number of endpoint `e` of node `node`.
pub fn endpoint(node: usize, e: usize) -> u32 {
    0x51_0000 + ((node as u32) << 12) + e as u32
}

pub fn ticks(ticks: u64) -> u64 {
    ticks * CLOCKS_PER_TICK as u64
}
