//! The host as blocks see it: memory behind DMA ports, table writes, doorbells.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::rc::Rc;
use tessera_abi::regs;
use tessera_sim::tb::{Agent, Gate, Pattern, Rng};
use tessera_sim::verilator::{Dut, PortId};

/// Host memory: any address, zero until written, with regions that fail.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// By the upper bits of the address.
    pages: HashMap<u64, Box<[u8; PAGE]>>,
    /// Accesses that touch one of these end in an error.
    pub poisoned: Vec<Range<u64>>,
}

/// Bytes that are kept together.
const PAGE: usize = 4096;

/// Memory that the bench and its DMA agents share.
pub type SharedMemory = Rc<RefCell<Memory>>;

/// An access page by page: which page, where in it, and which of the access's bytes. Behind the last address comes
/// the first.
fn pieces(address: u64, length: usize) -> impl Iterator<Item = (u64, usize, Range<usize>)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let here = address.wrapping_add(at as u64);
        let offset = (here % PAGE as u64) as usize;
        let range = at..length.min(at + PAGE - offset);
        at = range.end;
        (!range.is_empty()).then_some((here / PAGE as u64, offset, range))
    })
}

impl Memory {
    /// `length` bytes from `address` on.
    pub fn read(&self, address: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        for (page, offset, range) in pieces(address, length) {
            if let Some(page) = self.pages.get(&page) {
                bytes[range.clone()].copy_from_slice(&page[offset..offset + range.len()]);
            }
        }
        bytes
    }

    /// Stores `bytes` from `address` on.
    pub fn write(&mut self, address: u64, bytes: &[u8]) {
        for (page, offset, range) in pieces(address, bytes.len()) {
            let page = self.pages.entry(page).or_insert_with(|| Box::new([0; PAGE]));
            page[offset..offset + range.len()].copy_from_slice(&bytes[range]);
        }
    }

    fn fails(&self, address: u64, length: usize) -> bool {
        self.poisoned.iter().any(|r| r.start < address + length as u64 && address < r.end)
    }
}

struct Descriptor {
    valid: PortId,
    ready: PortId,
    address: PortId,
    length: PortId,
    tag: PortId,
}

impl Descriptor {
    fn new(dut: &Dut, prefix: &str) -> Self {
        let port = |name: &str| dut.port(&format!("{prefix}_desc_{name}")).unwrap();
        Descriptor {
            valid: port("valid"),
            ready: port("ready"),
            address: port("data.address"),
            length: port("data.length"),
            tag: port("data.tag"),
        }
    }

    fn taken(&self, dut: &Dut) -> Option<(u64, usize, u64)> {
        let moved = dut.sampled(self.valid) != 0 && dut.sampled(self.ready) != 0;
        moved.then(|| (dut.sampled(self.address), dut.sampled(self.length) as usize, dut.sampled(self.tag)))
    }
}

struct Beats {
    valid: PortId,
    ready: PortId,
    tdata: PortId,
    tkeep: PortId,
    tlast: PortId,
}

impl Beats {
    fn new(dut: &Dut, prefix: &str) -> Self {
        let port = |name: &str| dut.port(&format!("{prefix}_beat_{name}")).unwrap();
        Beats {
            valid: port("valid"),
            ready: port("ready"),
            tdata: port("data.tdata"),
            tkeep: port("data.tkeep"),
            tlast: port("data.tlast"),
        }
    }
}

/// A read under way.
struct Read {
    due: u64,
    address: u64,
    length: usize,
    tag: u64,
    /// Bytes delivered.
    at: usize,
}

/// Answers `<prefix>_desc` with `<prefix>_beat` and `<prefix>_status`, in order.
pub struct DmaReader {
    desc: Descriptor,
    beats: Beats,
    status_valid: PortId,
    status_tag: PortId,
    status_error: PortId,
    memory: SharedMemory,
    accept: Gate,
    deliver: Gate,
    rng: Rng,
    /// Clocks from a descriptor to its first beat, at least.
    pub latency: Range<u64>,
    /// Whether a status may come in the clock of its last beat. Off where the
    /// ready of beats depends on what other agents drive in that clock.
    pub prompt: bool,
    /// The block must take every beat at once.
    pub never_stalls: bool,
    reads: VecDeque<Read>,
    offering: bool,
    /// (clock from which it may be sent, tag, error).
    statuses: VecDeque<(u64, u64, bool)>,
    early_status: bool,
    /// Every descriptor taken: (address, length).
    pub log: Vec<(u64, usize)>,
}

impl DmaReader {
    /// Attaches to the ports of `prefix`.
    pub fn new(
        dut: &Dut,
        prefix: &str,
        memory: SharedMemory,
        accept: Pattern,
        deliver: Pattern,
        rng: &mut Rng,
    ) -> Self {
        let port = |name: &str| dut.port(&format!("{prefix}_status_{name}")).unwrap();
        DmaReader {
            desc: Descriptor::new(dut, prefix),
            beats: Beats::new(dut, prefix),
            status_valid: port("valid"),
            status_tag: port("data.tag"),
            status_error: port("data.error"),
            memory,
            accept: accept.gate(rng.fork()),
            deliver: deliver.gate(rng.fork()),
            rng: rng.fork(),
            latency: 1..40,
            prompt: true,
            never_stalls: false,
            reads: VecDeque::new(),
            offering: false,
            statuses: VecDeque::new(),
            early_status: false,
            log: Vec::new(),
        }
    }

    /// Whether every descriptor taken is answered.
    pub fn is_idle(&self) -> bool {
        self.reads.is_empty() && self.statuses.is_empty()
    }
}

impl Agent for DmaReader {
    fn drive(&mut self, dut: &mut Dut) {
        let now = dut.cycles();
        dut.set(self.desc.ready, self.accept.is_open());
        let open = self.deliver.is_open();
        let due = self.reads.front().is_some_and(|read| read.due <= now);
        self.offering = due && (self.offering || open);
        dut.set(self.beats.valid, self.offering);
        let mut status = None;
        self.early_status = false;
        if let Some(read) = self.reads.front().filter(|_| self.offering) {
            let memory = self.memory.borrow();
            let failed = memory.fails(read.address, read.length);
            let rest = (read.length - read.at).min(64);
            let mut bytes = memory.read(read.address + read.at as u64, rest);
            if failed {
                bytes.fill(0);
            }
            bytes.resize(64, 0);
            let words: Vec<u64> =
                bytes.chunks(8).map(|b| u64::from_le_bytes(b.try_into().unwrap())).collect();
            dut.set_wide(self.beats.tdata, &words);
            dut.set(self.beats.tkeep, u64::MAX >> (64 - rest));
            let last = read.at + rest == read.length;
            dut.set(self.beats.tlast, last);
            // A status may come in the very clock of the last beat.
            let prompt = self.prompt && dut.is_high(self.beats.ready);
            if last && prompt && self.statuses.is_empty() && self.rng.chance(0.5) {
                status = Some((read.tag, failed));
                self.early_status = true;
            }
        }
        if let Some((_, tag, error)) = self.statuses.front().filter(|(from, ..)| *from <= now).copied() {
            status = Some((tag, error));
            self.statuses.pop_front();
        }
        dut.set(self.status_valid, status.is_some());
        if let Some((tag, error)) = status {
            dut.set(self.status_tag, tag);
            dut.set(self.status_error, error);
        }
    }

    fn sample(&mut self, dut: &Dut) {
        let now = dut.cycles();
        if let Some((address, length, tag)) = self.desc.taken(dut) {
            assert!((1..=4096).contains(&length), "a read of {length} bytes");
            self.log.push((address, length));
            let due = now + self.rng.range(self.latency.clone());
            self.reads.push_back(Read { due, address, length, tag, at: 0 });
        }
        let moved = dut.sampled(self.beats.valid) != 0 && dut.sampled(self.beats.ready) != 0;
        if moved {
            self.offering = false;
            let read = self.reads.front_mut().unwrap();
            read.at += 64;
            if read.at >= read.length {
                let read = self.reads.pop_front().unwrap();
                if !self.early_status {
                    let failed = self.memory.borrow().fails(read.address, read.length);
                    self.statuses.push_back((now + self.rng.below(6), read.tag, failed));
                }
            }
        } else {
            let stalled = dut.sampled(self.beats.valid) != 0;
            assert!(!(stalled && self.never_stalls), "a beat was held back in clock {now}");
            assert!(!self.early_status, "the last beat was refused though ready was high before");
        }
    }
}

/// A write that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// First byte's address.
    pub address: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Clock of the descriptor.
    pub clock: u64,
}

/// Takes `<prefix>_desc` and `<prefix>_beat`, answers `<prefix>_status`.
pub struct DmaWriter {
    desc: Descriptor,
    beats: Beats,
    status_valid: PortId,
    status_tag: PortId,
    status_error: PortId,
    memory: SharedMemory,
    accept: Gate,
    take: Gate,
    open: VecDeque<(u64, usize, u64, u64)>,
    data: VecDeque<u8>,
    /// (tag, error, address).
    statuses: VecDeque<(u64, bool, u64)>,
    /// No write is answered.
    pub held: bool,
    /// The write that came last is answered first.
    pub latest_first: bool,
    /// The address of the write that is answered in this clock.
    pub answered: Option<u64>,
    /// What was written, oldest first.
    pub log: VecDeque<Written>,
}

impl DmaWriter {
    /// Attaches to the ports of `prefix`.
    pub fn new(
        dut: &Dut,
        prefix: &str,
        memory: SharedMemory,
        accept: Pattern,
        take: Pattern,
        rng: &mut Rng,
    ) -> Self {
        let port = |name: &str| dut.port(&format!("{prefix}_status_{name}")).unwrap();
        DmaWriter {
            desc: Descriptor::new(dut, prefix),
            beats: Beats::new(dut, prefix),
            status_valid: port("valid"),
            status_tag: port("data.tag"),
            status_error: port("data.error"),
            memory,
            accept: accept.gate(rng.fork()),
            take: take.gate(rng.fork()),
            open: VecDeque::new(),
            data: VecDeque::new(),
            statuses: VecDeque::new(),
            held: false,
            latest_first: false,
            answered: None,
            log: VecDeque::new(),
        }
    }
}

impl Agent for DmaWriter {
    fn drive(&mut self, dut: &mut Dut) {
        dut.set(self.desc.ready, self.accept.is_open());
        dut.set(self.beats.ready, self.take.is_open());
        let status = match (self.held, self.latest_first) {
            (true, _) => None,
            (false, true) => self.statuses.pop_back(),
            (false, false) => self.statuses.pop_front(),
        };
        dut.set(self.status_valid, status.is_some());
        self.answered = None;
        if let Some((tag, error, address)) = status {
            dut.set(self.status_tag, tag);
            dut.set(self.status_error, error);
            self.answered = Some(address);
        }
    }

    fn sample(&mut self, dut: &Dut) {
        if let Some((address, length, tag)) = self.desc.taken(dut) {
            self.open.push_back((address, length, tag, dut.cycles()));
        }
        if dut.sampled(self.beats.valid) != 0 && dut.sampled(self.beats.ready) != 0 {
            let mut words = [0u64; 8];
            dut.sampled_wide(self.beats.tdata, &mut words);
            let keep = dut.sampled(self.beats.tkeep);
            assert!(keep != 0 && keep & keep.wrapping_add(1) == 0, "tkeep {keep:#x} has a hole");
            let bytes = words.iter().flat_map(|word| word.to_le_bytes());
            self.data.extend(bytes.take(keep.count_ones() as usize));
        }
        while let Some(&(address, length, tag, clock)) = self.open.front() {
            if self.data.len() < length {
                break;
            }
            self.open.pop_front();
            let bytes: Vec<u8> = self.data.drain(..length).collect();
            let mut memory = self.memory.borrow_mut();
            let failed = memory.fails(address, length);
            if !failed {
                memory.write(address, &bytes);
            }
            self.statuses.push_back((tag, failed, address));
            self.log.push_back(Written { address, bytes, clock });
        }
    }
}

/// Something the registers broadcast.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pulse {
    /// A doorbell.
    Doorbell {
        /// `Doorbell::kind`.
        kind: u64,
        /// Endpoint or completion queue.
        index: u64,
        /// Running index.
        value: u16,
    },
    /// A table entry.
    Table {
        /// `abi::regs::table`.
        table: u32,
        /// Which entry.
        index: u64,
        /// The entry.
        entry: [u64; 8],
    },
}

/// Clocks between two broadcasts at least.
const SPACING: u64 = 4;

/// Plays `host/registers` towards a block: doorbells and table writes.
pub struct Broadcast {
    table: [PortId; 4],
    /// Blocks without doorbells have no such port.
    bell: Option<[PortId; 4]>,
    queue: VecDeque<Pulse>,
    wait: u64,
    /// Every broadcast made, with the clock it was sampled in.
    pub made: Vec<(u64, Pulse)>,
}

impl Broadcast {
    /// Attaches to `table_write` and, where there is one, `doorbell`.
    pub fn new(dut: &Dut) -> Self {
        let port = |name: &str| dut.port(name).unwrap();
        Broadcast {
            table: ["valid", "table", "index", "entry"].map(|f| port(&format!("table_write.{f}"))),
            bell: dut
                .port("doorbell.valid")
                .is_ok()
                .then(|| ["valid", "kind", "index", "value"].map(|f| port(&format!("doorbell.{f}")))),
            queue: VecDeque::new(),
            wait: 0,
            made: Vec::new(),
        }
    }

    /// Queues a broadcast.
    pub fn send(&mut self, pulse: Pulse) {
        self.queue.push_back(pulse);
    }

    /// Queues a table entry given by its fields.
    pub fn table(&mut self, table: u32, index: u64, fields: &[((usize, usize), u64)]) {
        self.send(Pulse::Table { table, index, entry: entry(fields) });
    }

    /// Queues a doorbell.
    pub fn ring(&mut self, kind: u64, index: u64, value: u16) {
        self.send(Pulse::Doorbell { kind, index, value });
    }

    /// Broadcasts not made yet.
    pub fn pending(&self) -> usize {
        self.queue.len()
    }
}

impl Agent for Broadcast {
    fn drive(&mut self, dut: &mut Dut) {
        dut.set(self.table[0], 0u64);
        // As `host/registers` has it from a reset on.
        dut.set_wide(self.table[3], &[0; 8]);
        if let Some([valid, ..]) = self.bell {
            dut.set(valid, 0u64);
        }
        self.wait = self.wait.saturating_sub(1);
        if self.wait > 0 {
            return;
        }
        let Some(pulse) = self.queue.pop_front() else { return };
        self.made.push((dut.cycles() + 1, pulse.clone()));
        match pulse {
            Pulse::Doorbell { kind, index, value } => {
                let bell = self.bell.expect("a doorbell for a block that has none");
                for (port, value) in bell.into_iter().zip([1, kind, index, value.into()]) {
                    dut.set(port, value);
                }
            }
            Pulse::Table { table, index, entry } => {
                for (port, value) in self.table.iter().zip([1, table.into(), index]) {
                    dut.set(*port, value);
                }
                dut.set_wide(self.table[3], &entry);
            }
        }
        self.wait = SPACING;
    }

    fn sample(&mut self, _dut: &Dut) {}
}

/// A table entry from its fields.
pub fn entry(fields: &[((usize, usize), u64)]) -> [u64; 8] {
    let mut words = [0u64; 8];
    for ((lsb, width), value) in fields {
        assert!(*width == 64 || value >> width == 0, "{value:#x} does not fit {width} bits");
        assert!(lsb + width <= 32 * regs::TABLE_WORDS && lsb % 64 + width <= 64);
        words[lsb / 64] |= value << (lsb % 64);
    }
    words
}

/// Resets the block and waits until its tables are cleared.
///
/// # Panics
/// When `ready` does not come within 2000 clocks.
pub fn reset(dut: &mut Dut) {
    let rst = dut.port("rst").unwrap();
    if let Ok(entry) = dut.port("table_write.entry") {
        dut.set_wide(entry, &[0; 8]);
    }
    dut.set(rst, 1u64);
    dut.clock_by(2);
    dut.set(rst, 0u64);
    dut.clock();
    cleared(dut);
}

/// Waits until a block's tables are cleared.
///
/// # Panics
/// When `ready` does not come within 2000 clocks.
pub fn cleared(dut: &mut Dut) {
    let (ready, begin) = (dut.port("ready").unwrap(), dut.cycles());
    while !dut.is_high(ready) {
        dut.clock();
        assert!(dut.cycles() - begin < 2000, "the tables are never cleared");
    }
}
