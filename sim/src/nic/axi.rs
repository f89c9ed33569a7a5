//! Host memory behind an AXI4 bus: bursts of two IDs, answered after a delay.
//!
//! Reads of an ID come back in its order, those of the two in any, beat by beat. Writes land
//! when their answer is due, in the order of an ID. Whole beats are read, of which the NIC may
//! have asked for a byte: a beat fails when none of its bytes is mapped.

use std::collections::VecDeque;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::dma::{DmaHold, DmaOptions};
use super::memory::HostMemory;
use super::MAX_BEAT;
use crate::verilator::{Dut, ModelError, PortId};

/// Response of an access that reaches nothing.
const SLAVE_ERROR: u64 = 2;
/// Bytes that a burst must not cross a multiple of.
const BOUNDARY: u64 = 4096;

struct Addresses {
    valid: PortId,
    ready: PortId,
    id: PortId,
    address: PortId,
    length: PortId,
}

impl Addresses {
    fn new(dut: &Dut, name: &str) -> Result<Self, ModelError> {
        let port = |what: &str| dut.port(&format!("m_axi_{name}{what}"));
        Ok(Self {
            valid: port("valid")?,
            ready: port("ready")?,
            id: port("id")?,
            address: port("addr")?,
            length: port("len")?,
        })
    }
}

struct Ports {
    ar: Addresses,
    rvalid: PortId,
    rready: PortId,
    rid: PortId,
    rdata: PortId,
    rresp: PortId,
    rlast: PortId,
    aw: Addresses,
    wvalid: PortId,
    wready: PortId,
    wdata: PortId,
    wstrb: PortId,
    wlast: PortId,
    bvalid: PortId,
    bready: PortId,
    bid: PortId,
    bresp: PortId,
}

/// A burst that is read.
struct Read {
    due: u64,
    address: u64,
    beats: u64,
}

/// A burst that is written: address and strobed bytes of each beat.
struct Write {
    due: u64,
    beats: Vec<(u64, u64, [u8; MAX_BEAT])>,
}

/// One ID.
struct Class {
    options: DmaOptions,
    hold: DmaHold,
    reads: VecDeque<Read>,
    writes: VecDeque<Write>,
}

/// See the module's page.
pub(super) struct AxiHost {
    ports: Ports,
    beat: usize,
    rng: Pcg64Mcg,
    classes: [Class; 2],
    /// Bursts of writes whose data has not come: ID, address, beats to come.
    addressed: VecDeque<(usize, u64, u64)>,
    coming: Vec<(u64, u64, [u8; MAX_BEAT])>,
    /// ID of the beat or answer on the port.
    reading: Option<usize>,
    answering: Option<usize>,
    taking: bool,
    /// Address of a read, of a write, and beat, that were shown and not taken.
    refused: [bool; 3],
    taken_back: u64,
    faults: u64,
}

impl AxiHost {
    pub(super) fn new(dut: &Dut, options: [DmaOptions; 2], seed: u64) -> Result<Self, ModelError> {
        let port = |name: &str| dut.port(&format!("m_axi_{name}"));
        let ports = Ports {
            ar: Addresses::new(dut, "ar")?,
            rvalid: port("rvalid")?,
            rready: port("rready")?,
            rid: port("rid")?,
            rdata: port("rdata")?,
            rresp: port("rresp")?,
            rlast: port("rlast")?,
            aw: Addresses::new(dut, "aw")?,
            wvalid: port("wvalid")?,
            wready: port("wready")?,
            wdata: port("wdata")?,
            wstrb: port("wstrb")?,
            wlast: port("wlast")?,
            bvalid: port("bvalid")?,
            bready: port("bready")?,
            bid: port("bid")?,
            bresp: port("bresp")?,
        };
        let class = |options| Class {
            options,
            hold: DmaHold::default(),
            reads: VecDeque::new(),
            writes: VecDeque::new(),
        };
        Ok(Self {
            beat: ports.rdata.width() / 8,
            ports,
            rng: Pcg64Mcg::seed_from_u64(seed.wrapping_mul(2)),
            classes: options.map(class),
            addressed: VecDeque::new(),
            coming: Vec::new(),
            reading: None,
            answering: None,
            taking: false,
            refused: [false; 3],
            taken_back: 0,
            faults: 0,
        })
    }

    pub(super) fn faults(&self) -> u64 {
        self.faults
    }

    pub(super) fn taken_back(&self) -> u64 {
        self.taken_back
    }

    pub(super) fn hold(&mut self, holds: [DmaHold; 2]) {
        self.classes.iter_mut().zip(holds).for_each(|(class, hold)| class.hold = hold);
    }

    /// Bursts that are taken and not answered.
    pub(super) fn open(&self) -> usize {
        let classes = self.classes.iter().map(|class| class.reads.len() + class.writes.len());
        classes.sum::<usize>() + self.addressed.len()
    }

    fn delay(&mut self, (least, most): (u64, u64)) -> u64 {
        if most > least {
            self.rng.random_range(least..=most)
        } else {
            least
        }
    }

    fn willing(&mut self) -> bool {
        let ready = self.classes[0].options.ready.min(self.classes[1].options.ready);
        ready >= 1.0 || self.rng.random::<f64>() < ready
    }

    pub(super) fn before_clock(&mut self, dut: &mut Dut, now: u64, memory: &HostMemory) {
        let taking = self.willing();
        if taking != self.taking {
            self.taking = taking;
            for ready in [self.ports.ar.ready, self.ports.aw.ready, self.ports.wready] {
                dut.set(ready, taking);
            }
        }
        let shown = [self.ports.ar.valid, self.ports.aw.valid, self.ports.wvalid];
        for (port, refused) in shown.into_iter().zip(&mut self.refused) {
            let shown = dut.is_high(port);
            self.taken_back += u64::from(*refused && !shown);
            *refused = shown && !taking;
        }
        if taking {
            self.take_addresses(dut, now);
            self.take_beat(dut, now);
        }
        self.offer_read(dut, now, memory);
        self.answer_write(dut, now, memory);
    }

    /// A burst on a channel of addresses: ID, address, beats.
    fn burst(&mut self, dut: &Dut, read: bool) -> Option<(usize, u64, u64)> {
        let from = if read { &self.ports.ar } else { &self.ports.aw };
        if !dut.is_high(from.valid) {
            return None;
        }
        let (id, address, beats) =
            (usize::from(dut.is_high(from.id)), dut.get(from.address), dut.get(from.length) + 1);
        let bytes = beats * self.beat as u64;
        // What no bus could carry is a fault of the NIC.
        let whole = address.is_multiple_of(self.beat as u64) && address % BOUNDARY + bytes <= BOUNDARY;
        self.faults += u64::from(!whole);
        Some((id, address, beats))
    }

    fn take_addresses(&mut self, dut: &Dut, now: u64) {
        if let Some((id, address, beats)) = self.burst(dut, true) {
            let due = now + self.delay(self.classes[id].options.read_delay);
            self.classes[id].reads.push_back(Read { due, address, beats });
        }
        if let Some(burst) = self.burst(dut, false) {
            self.addressed.push_back(burst);
        }
    }

    fn take_beat(&mut self, dut: &Dut, now: u64) {
        if !dut.is_high(self.ports.wvalid) {
            return;
        }
        let Some((id, address, beats)) = self.addressed.front_mut() else {
            // Data without an address: the NIC offers none.
            self.faults += 1;
            return;
        };
        let mut words = [0; MAX_BEAT / 8];
        dut.get_wide(self.ports.wdata, &mut words[..self.beat / 8]);
        let mut bytes = [0; MAX_BEAT];
        for (bytes, word) in bytes.chunks_exact_mut(8).zip(words) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        self.coming.push((*address, dut.get(self.ports.wstrb), bytes));
        *address += self.beat as u64;
        *beats -= 1;
        let (id, ends) = (*id, *beats == 0);
        self.faults += u64::from(ends != dut.is_high(self.ports.wlast));
        if ends {
            self.addressed.pop_front();
            let beats = std::mem::take(&mut self.coming);
            let due = now + self.delay(self.classes[id].options.write_delay);
            self.classes[id].writes.push_back(Write { due, beats });
        }
    }

    /// One of the IDs that have something to say, by chance.
    fn pick(&mut self, ready: [bool; 2]) -> Option<usize> {
        match ready {
            [true, true] => Some(usize::from(self.rng.random::<bool>())),
            [true, false] => Some(0),
            [false, true] => Some(1),
            _ => None,
        }
    }

    fn offer_read(&mut self, dut: &mut Dut, now: u64, memory: &HostMemory) {
        if self.reading.is_none() {
            let ready = [0, 1].map(|id| {
                let class: &Class = &self.classes[id];
                !class.hold.reads && class.reads.front().is_some_and(|read| read.due <= now)
            });
            let willing = self.willing();
            self.reading = self.pick(ready).filter(|_| willing);
            dut.set(self.ports.rvalid, self.reading.is_some());
            if let Some(id) = self.reading {
                self.show(dut, id, memory);
            }
        }
        let Some(id) = self.reading.filter(|_| dut.is_high(self.ports.rready)) else { return };
        self.reading = None;
        let reads = &mut self.classes[id].reads;
        if let Some(read) = reads.front_mut() {
            read.address += self.beat as u64;
            read.beats -= 1;
            if read.beats == 0 {
                reads.pop_front();
            }
        }
    }

    /// Puts the next beat of an ID on the port.
    fn show(&mut self, dut: &mut Dut, id: usize, memory: &HostMemory) {
        let Some(&Read { address, beats, .. }) = self.classes[id].reads.front() else { return };
        let mut bytes = [0; MAX_BEAT];
        let mut there = memory.read(address, &mut bytes[..self.beat]);
        if !there {
            for (i, byte) in bytes[..self.beat].iter_mut().enumerate() {
                there |= memory.read(address + i as u64, std::slice::from_mut(byte));
            }
        }
        self.faults += u64::from(!there);
        let mut words = [0; MAX_BEAT / 8];
        for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
        }
        dut.set_wide(self.ports.rdata, &words[..self.beat / 8]);
        dut.set(self.ports.rid, id as u64);
        dut.set(self.ports.rresp, if there { 0 } else { SLAVE_ERROR });
        dut.set(self.ports.rlast, beats == 1);
    }

    fn answer_write(&mut self, dut: &mut Dut, now: u64, memory: &HostMemory) {
        if self.answering.is_none() {
            let ready = [0, 1].map(|id| {
                let class: &Class = &self.classes[id];
                !class.hold.writes && class.writes.front().is_some_and(|write| write.due <= now)
            });
            self.answering = self.pick(ready);
            dut.set(self.ports.bvalid, self.answering.is_some());
            if let Some(id) = self.answering {
                let there = self.classes[id].writes.front().is_some_and(|write| self.land(write, memory));
                self.faults += u64::from(!there);
                dut.set(self.ports.bid, id as u64);
                dut.set(self.ports.bresp, if there { 0 } else { SLAVE_ERROR });
            }
        }
        if let Some(id) = self.answering.filter(|_| dut.is_high(self.ports.bready)) {
            self.answering = None;
            self.classes[id].writes.pop_front();
        }
    }

    /// Writes what the strobes say, each run of bytes at once.
    fn land(&self, write: &Write, memory: &HostMemory) -> bool {
        let mut there = true;
        for (address, strobes, bytes) in &write.beats {
            let strobe = |i: usize| i < self.beat && strobes >> i & 1 != 0;
            let mut at = 0;
            while at < self.beat {
                let end = (at..).find(|&i| !strobe(i)).unwrap_or(at);
                if end > at {
                    there &= memory.write(address + at as u64, &bytes[at..end]);
                }
                at = end + 1;
            }
        }
        there
    }
}
