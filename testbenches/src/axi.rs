//! Memory behind an AXI4 bus, as blocks see it: any order of handshakes that the standard
//! permits, and what it forbids noticed.

use std::collections::VecDeque;
use std::ops::Range;

use tessera_sim::tb::{Agent, Gate, Pattern, Rng};
use tessera_sim::verilator::{Dut, PortId};

use crate::host::SharedMemory;

/// RRESP and BRESP of what failed.
const SLAVE_ERROR: u64 = 2;

/// A channel's handshake.
struct Channel {
    valid: PortId,
    ready: PortId,
}

impl Channel {
    fn new(dut: &Dut, name: &str) -> Self {
        let port = |what: &str| dut.port(&format!("{name}{what}")).unwrap();
        Channel { valid: port("valid"), ready: port("ready") }
    }

    fn moved(&self, dut: &Dut) -> bool {
        dut.sampled(self.valid) != 0 && dut.sampled(self.ready) != 0
    }

    fn waits(&self, dut: &Dut) -> bool {
        dut.sampled(self.valid) != 0 && dut.sampled(self.ready) == 0
    }
}

/// An address channel, and what it offered without being taken.
struct Addresses {
    channel: Channel,
    address: PortId,
    length: PortId,
    bytes: u64,
    waiting: Option<(u64, u64)>,
}

impl Addresses {
    fn new(dut: &Dut, name: &str, bytes: u64) -> Self {
        let port = |what: &str| dut.port(&format!("{name}{what}")).unwrap();
        let (address, length) = (port("addr"), port("len"));
        Addresses { channel: Channel::new(dut, name), address, length, bytes, waiting: None }
    }

    /// A burst that was taken: first byte and beats.
    fn taken(&mut self, dut: &Dut) -> Option<(u64, u64)> {
        let burst = (dut.sampled(self.address), dut.sampled(self.length) + 1);
        if let Some(before) = self.waiting.take() {
            assert!(dut.sampled(self.channel.valid) != 0, "an address was withdrawn");
            assert_eq!(burst, before, "an address that was offered changed");
        }
        if self.channel.waits(dut) {
            self.waiting = Some(burst);
        }
        let (address, beats) = self.channel.moved(dut).then_some(burst)?;
        assert_eq!(address % self.bytes, 0, "a burst begins inside a beat");
        assert_eq!(address >> 12, (address + beats * self.bytes - 1) >> 12, "a burst crosses 4 KiB");
        Some(burst)
    }
}

fn failed(memory: &SharedMemory, address: u64, len: u64) -> bool {
    memory.borrow().poisoned.iter().any(|range| range.start < address + len && address < range.end)
}

/// Answers reads.
pub struct AxiReads {
    addresses: Addresses,
    data: Channel,
    rdata: PortId,
    rresp: PortId,
    memory: SharedMemory,
    accept: Gate,
    deliver: Gate,
    rng: Rng,
    /// Clocks from an address to its first beat, at least.
    pub latency: Range<u64>,
    /// When, address and beats left.
    bursts: VecDeque<(u64, u64, u64)>,
    offering: bool,
    /// Every burst: address and beats.
    pub log: Vec<(u64, u64)>,
}

impl AxiReads {
    /// Attaches to `ar*` and `r*` with so many bytes to a beat.
    pub fn new(
        dut: &Dut,
        bytes: u64,
        memory: SharedMemory,
        accept: Pattern,
        deliver: Pattern,
        rng: &mut Rng,
    ) -> Self {
        AxiReads {
            addresses: Addresses::new(dut, "ar", bytes),
            data: Channel::new(dut, "r"),
            rdata: dut.port("rdata").unwrap(),
            rresp: dut.port("rresp").unwrap(),
            memory,
            accept: accept.gate(rng.fork()),
            deliver: deliver.gate(rng.fork()),
            rng: rng.fork(),
            latency: 1..40,
            bursts: VecDeque::new(),
            offering: false,
            log: Vec::new(),
        }
    }
}

impl Agent for AxiReads {
    fn drive(&mut self, dut: &mut Dut) {
        dut.set(self.addresses.channel.ready, self.accept.is_open());
        let due = self.bursts.front().is_some_and(|burst| burst.0 <= dut.cycles());
        let open = self.deliver.is_open();
        self.offering = due && (self.offering || open);
        dut.set(self.data.valid, self.offering);
        if let Some(&(_, address, _)) = self.bursts.front().filter(|_| self.offering) {
            let bytes = self.memory.borrow().read(address, self.addresses.bytes as usize);
            let words: Vec<u64> =
                bytes.chunks(8).map(|b| u64::from_le_bytes(b.try_into().unwrap())).collect();
            dut.set_wide(self.rdata, &words);
            let wrong = failed(&self.memory, address, self.addresses.bytes);
            dut.set(self.rresp, if wrong { SLAVE_ERROR } else { self.rng.below(2) });
        }
    }

    fn sample(&mut self, dut: &Dut) {
        if let Some((address, beats)) = self.addresses.taken(dut) {
            self.log.push((address, beats));
            let due = dut.cycles() + self.rng.range(self.latency.clone());
            self.bursts.push_back((due, address, beats));
        }
        if self.data.moved(dut) {
            self.offering = false;
            let burst = self.bursts.front_mut().unwrap();
            burst.1 += self.addresses.bytes;
            burst.2 -= 1;
            if burst.2 == 0 {
                self.bursts.pop_front();
            }
        }
    }
}

/// Takes writes.
pub struct AxiWrites {
    addresses: Addresses,
    data: Channel,
    wdata: PortId,
    wstrb: PortId,
    wlast: PortId,
    answer: Channel,
    bresp: PortId,
    memory: SharedMemory,
    accept: Gate,
    take: Gate,
    rng: Rng,
    /// Clocks from the last beat to its answer, at least.
    pub latency: Range<u64>,
    /// Whether addresses are taken only when their data is offered, as the standard permits.
    pub data_first: bool,
    /// Address and beats left, of bursts whose data is not all there.
    bursts: VecDeque<(u64, u64)>,
    /// The present burst has failed.
    wrong: bool,
    /// When, and how.
    answers: VecDeque<(u64, u64)>,
    offering: bool,
    waiting: Option<(Vec<u64>, u64, u64)>,
    /// Every burst: address and beats.
    pub log: Vec<(u64, u64)>,
    /// Beats taken, and the clock of the last.
    pub beats: (u64, u64),
}

impl AxiWrites {
    /// Attaches to `aw*`, `w*` and `b*` with so many bytes to a beat.
    pub fn new(
        dut: &Dut,
        bytes: u64,
        memory: SharedMemory,
        accept: Pattern,
        take: Pattern,
        rng: &mut Rng,
    ) -> Self {
        let port = |name: &str| dut.port(name).unwrap();
        AxiWrites {
            addresses: Addresses::new(dut, "aw", bytes),
            data: Channel::new(dut, "w"),
            wdata: port("wdata"),
            wstrb: port("wstrb"),
            wlast: port("wlast"),
            answer: Channel::new(dut, "b"),
            bresp: port("bresp"),
            memory,
            accept: accept.gate(rng.fork()),
            take: take.gate(rng.fork()),
            rng: rng.fork(),
            latency: 1..40,
            data_first: false,
            bursts: VecDeque::new(),
            wrong: false,
            answers: VecDeque::new(),
            offering: false,
            waiting: None,
            log: Vec::new(),
            beats: (0, 0),
        }
    }
}

impl Agent for AxiWrites {
    fn drive(&mut self, dut: &mut Dut) {
        let data_offered = dut.is_high(self.data.valid);
        let address = self.accept.is_open() && (!self.data_first || data_offered);
        dut.set(self.addresses.channel.ready, address);
        // Data is taken of a burst whose address was taken, so that it is known where it goes.
        let data = self.take.is_open() && !self.bursts.is_empty();
        dut.set(self.data.ready, data);
        let due = self.answers.front().is_some_and(|answer| answer.0 <= dut.cycles());
        self.offering = due && (self.offering || self.rng.chance(0.7));
        dut.set(self.answer.valid, self.offering);
        if let Some(&(_, response)) = self.answers.front().filter(|_| self.offering) {
            dut.set(self.bresp, response);
        }
    }

    fn sample(&mut self, dut: &Dut) {
        let mut words = vec![0; (self.addresses.bytes as usize).div_ceil(8)];
        dut.sampled_wide(self.wdata, &mut words);
        let beat = || (words.clone(), dut.sampled(self.wstrb), dut.sampled(self.wlast));
        if let Some(before) = self.waiting.take() {
            assert!(dut.sampled(self.data.valid) != 0, "a beat was withdrawn");
            assert!(beat() == before, "a beat that was offered changed");
        }
        if self.data.waits(dut) {
            self.waiting = Some(beat());
        }
        if self.data.moved(dut) {
            self.beats = (self.beats.0 + 1, dut.cycles());
            let (words, strobes, last) = beat();
            let burst = self.bursts.front_mut().unwrap();
            let address = burst.0;
            self.wrong |= failed(&self.memory, address, self.addresses.bytes);
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            for (i, &byte) in bytes.iter().take(self.addresses.bytes as usize).enumerate() {
                if strobes >> i & 1 != 0 {
                    self.memory.borrow_mut().write(address + i as u64, &[byte]);
                }
            }
            burst.0 += self.addresses.bytes;
            burst.1 -= 1;
            assert_eq!(burst.1 == 0, last != 0, "wlast, with {} beats to come", burst.1);
            if burst.1 == 0 {
                self.bursts.pop_front();
                let response = if self.wrong { SLAVE_ERROR } else { self.rng.below(2) };
                self.answers.push_back((dut.cycles() + self.rng.range(self.latency.clone()), response));
                self.wrong = false;
            }
        }
        if self.answer.moved(dut) {
            self.offering = false;
            self.answers.pop_front();
        }
        if let Some((address, beats)) = self.addresses.taken(dut) {
            self.log.push((address, beats));
            self.bursts.push_back((address, beats));
        }
    }
}
