//! Several model NICs on one virtual clock, a faulty network between them, and
//! a ledger of what must come out.
//!
//! Time runs in clocks (16 to a tick); each NIC's own time is shifted by its
//! own offset, so nothing may depend on clocks that agree.
#![allow(dead_code, unused_imports)] // each test binary uses its part

mod faults;
mod network;

pub use faults::{class, Class, Faults, FEEDBACK_CLASSES};

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
    let seed = match std::env::var("TESSERA_SEED") {
        Err(_) => 0x7E55_E2A1,
        Ok(text) => {
            let parsed =
                text.strip_prefix("0x").map_or_else(|| text.parse(), |hex| u64::from_str_radix(hex, 16));
            parsed.unwrap_or_else(|_| panic!("TESSERA_SEED={text} is no number"))
        }
    };
    eprintln!("TESSERA_SEED={seed:#x}");
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

/// Who a node is.
pub fn identity(node: usize) -> Identity {
    Identity {
        mac: [2, 0, 0, 0, 0, node as u8],
        ip: [10, 0, 0, node as u8 + 1],
        ip6: ip6(node),
        vlan: 0x123,
        pkey: wire::DEFAULT_PKEY,
    }
}

impl World {
    pub fn new(count: usize, config: &Config, settings: Settings, faults: Faults, seed: u64) -> Self {
        let nodes = (0..count).map(|i| {
            let identity = identity(i);
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
