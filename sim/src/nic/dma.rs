//! One class of DMA: takes descriptors, moves bytes after a delay.
//!
//! Reads come back in descriptor order, each after a random delay. Writes
//! become visible after a random delay of their own, so in any order; their
//! status comes with that. The two classes know nothing of each other.

use std::collections::VecDeque;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::memory::HostMemory;
use super::MAX_BEAT;
use crate::verilator::{Dut, ModelError, PortId};

/// Which class of accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DmaClass {
    /// Rings.
    Ctrl,
    /// Payload.
    Data,
}

/// How a class behaves.
#[derive(Clone, Copy, Debug)]
pub struct DmaOptions {
    /// Clocks from a read descriptor to its first beat, least and most.
    pub read_delay: (u64, u64),
    /// Clocks from a write's last beat to its visibility, least and most.
    pub write_delay: (u64, u64),
    /// Probability that a descriptor or beat is taken, or a beat offered, in a
    /// clock.
    pub ready: f64,
}

/// What a host can make wait for ever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DmaHold {
    /// No read is answered.
    pub reads: bool,
    /// No write becomes visible.
    pub writes: bool,
}

/// A read that was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DmaRead {
    /// Clock of its last beat.
    pub at: u64,
    /// Clock at which its descriptor was taken.
    pub asked: u64,
    /// Class.
    pub class: DmaClass,
    /// First byte.
    pub address: u64,
    /// Bytes.
    pub length: usize,
}

/// A write that became visible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DmaWrite {
    /// Clock at which it became visible.
    pub at: u64,
    /// Clock of its last beat.
    pub taken: u64,
    /// Class.
    pub class: DmaClass,
    /// First byte.
    pub address: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
}

struct Desc {
    valid: PortId,
    ready: PortId,
    address: PortId,
    length: PortId,
    tag: PortId,
}

struct Status {
    valid: PortId,
    tag: PortId,
    error: PortId,
}

struct Ports {
    read: Desc,
    read_valid: PortId,
    read_ready: PortId,
    read_tdata: PortId,
    read_tlast: PortId,
    read_status: Status,
    write: Desc,
    write_valid: PortId,
    write_ready: PortId,
    write_tdata: PortId,
    write_tkeep: PortId,
    write_tlast: PortId,
    write_status: Status,
}

struct Read {
    asked: u64,
    due: u64,
    address: u64,
    length: usize,
    tag: u64,
}

/// A read being answered.
struct Answer {
    asked: u64,
    address: u64,
    bytes: Vec<u8>,
    offset: usize,
    tag: u64,
    error: bool,
}

struct Write {
    taken: u64,
    due: u64,
    address: u64,
    tag: u64,
    bytes: Vec<u8>,
}

/// See the module's page.
pub(super) struct DmaPort {
    class: DmaClass,
    options: DmaOptions,
    ports: Ports,
    /// Bytes of a beat.
    beat: usize,
    rng: Pcg64Mcg,
    reads: VecDeque<Read>,
    answer: Option<Answer>,
    /// Whether the answer's present beat is on the port.
    offered: bool,
    read_statuses: VecDeque<(u64, bool)>,
    write_descs: VecDeque<(u64, usize, u64)>,
    write_bytes: Vec<u8>,
    complete: VecDeque<Vec<u8>>,
    writes: Vec<Write>,
    write_statuses: VecDeque<(u64, bool)>,
    /// What the port shows for its descriptor and beat inputs this clock.
    taking: bool,
    /// Read descriptor, write descriptor and beat that were shown and not taken.
    refused: [bool; 3],
    /// Of these, taken back by the NIC.
    taken_back: u64,
    hold: DmaHold,
    faults: u64,
    observe: bool,
    seen: Vec<DmaWrite>,
    seen_reads: Vec<DmaRead>,
}

fn desc(dut: &Dut, prefix: &str) -> Result<Desc, ModelError> {
    let port = |name: &str| dut.port(&format!("{prefix}_{name}"));
    Ok(Desc {
        valid: port("valid")?,
        ready: port("ready")?,
        address: port("address")?,
        length: port("length")?,
        tag: port("tag")?,
    })
}

fn status(dut: &Dut, prefix: &str) -> Result<Status, ModelError> {
    let port = |name: &str| dut.port(&format!("{prefix}_{name}"));
    Ok(Status { valid: port("valid")?, tag: port("tag")?, error: port("error")? })
}

impl DmaPort {
    pub(super) fn new(
        dut: &Dut,
        class: DmaClass,
        options: DmaOptions,
        seed: u64,
    ) -> Result<Self, ModelError> {
        let prefix = match class {
            DmaClass::Ctrl => "dma_ctrl",
            DmaClass::Data => "dma_data",
        };
        let port = |name: &str| dut.port(&format!("{prefix}_{name}"));
        let ports = Ports {
            read: desc(dut, &format!("{prefix}_read_desc"))?,
            read_valid: port("read_data_valid")?,
            read_ready: port("read_data_ready")?,
            read_tdata: port("read_data_tdata")?,
            read_tlast: port("read_data_tlast")?,
            read_status: status(dut, &format!("{prefix}_read_status"))?,
            write: desc(dut, &format!("{prefix}_write_desc"))?,
            write_valid: port("write_data_valid")?,
            write_ready: port("write_data_ready")?,
            write_tdata: port("write_data_tdata")?,
            write_tkeep: port("write_data_tkeep")?,
            write_tlast: port("write_data_tlast")?,
            write_status: status(dut, &format!("{prefix}_write_status"))?,
        };
        Ok(Self {
            class,
            options,
            beat: ports.read_tdata.width() / 8,
            ports,
            rng: Pcg64Mcg::seed_from_u64(seed.wrapping_mul(2).wrapping_add(class as u64)),
            reads: VecDeque::new(),
            answer: None,
            offered: false,
            read_statuses: VecDeque::new(),
            write_descs: VecDeque::new(),
            write_bytes: Vec::new(),
            complete: VecDeque::new(),
            writes: Vec::new(),
            write_statuses: VecDeque::new(),
            taking: false,
            refused: [false; 3],
            taken_back: 0,
            hold: DmaHold::default(),
            faults: 0,
            observe: false,
            seen: Vec::new(),
            seen_reads: Vec::new(),
        })
    }

    pub(super) fn faults(&self) -> u64 {
        self.faults
    }

    pub(super) fn taken_back(&self) -> u64 {
        self.taken_back
    }

    pub(super) fn hold(&mut self, hold: DmaHold) {
        self.hold = hold;
    }

    /// Descriptors that are taken and not answered, and beats of none of them.
    pub(super) fn open(&self) -> usize {
        self.reads.len()
            + usize::from(self.answer.is_some())
            + self.read_statuses.len()
            + self.write_descs.len()
            + self.complete.len()
            + usize::from(!self.write_bytes.is_empty())
            + self.writes.len()
            + self.write_statuses.len()
    }

    pub(super) fn observe(&mut self) {
        self.observe = true;
    }

    pub(super) fn take_writes(&mut self) -> Vec<DmaWrite> {
        std::mem::take(&mut self.seen)
    }

    pub(super) fn take_reads(&mut self) -> Vec<DmaRead> {
        std::mem::take(&mut self.seen_reads)
    }

    fn delay(&mut self, (least, most): (u64, u64)) -> u64 {
        if most > least {
            self.rng.random_range(least..=most)
        } else {
            least
        }
    }

    fn willing(&mut self) -> bool {
        self.options.ready >= 1.0 || self.rng.random::<f64>() < self.options.ready
    }

    pub(super) fn before_clock(&mut self, dut: &mut Dut, now: u64, memory: &HostMemory) {
        let taking = self.willing();
        if taking != self.taking {
            self.taking = taking;
            dut.set(self.ports.read.ready, taking);
            dut.set(self.ports.write.ready, taking);
            dut.set(self.ports.write_ready, taking);
        }
        for (port, refused) in [self.ports.read.valid, self.ports.write.valid, self.ports.write_valid]
            .into_iter()
            .zip(&mut self.refused)
        {
            let shown = dut.is_high(port);
            self.taken_back += u64::from(*refused && !shown);
            *refused = shown && !taking;
        }
        if taking {
            self.take_read_desc(dut, now);
            self.take_write(dut, now);
        }
        self.offer_read(dut, now, memory);
        self.land_writes(dut, now, memory);
    }

    fn take_read_desc(&mut self, dut: &Dut, now: u64) {
        let desc = &self.ports.read;
        if dut.is_high(desc.valid) {
            let (address, length, tag) = (dut.get(desc.address), dut.get(desc.length), dut.get(desc.tag));
            let due = now + self.delay(self.options.read_delay);
            self.reads.push_back(Read { asked: now, due, address, length: length as usize, tag });
        }
    }

    fn take_write(&mut self, dut: &Dut, now: u64) {
        let desc = &self.ports.write;
        if dut.is_high(desc.valid) {
            let length = dut.get(desc.length) as usize;
            self.write_descs.push_back((dut.get(desc.address), length, dut.get(desc.tag)));
        }
        if dut.is_high(self.ports.write_valid) {
            let mut words = [0; MAX_BEAT / 8];
            let words = &mut words[..self.ports.write_tdata.words()];
            dut.get_wide(self.ports.write_tdata, words);
            let len = dut.get(self.ports.write_tkeep).trailing_ones() as usize;
            let start = self.write_bytes.len();
            self.write_bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
            self.write_bytes.truncate(start + len);
            if dut.is_high(self.ports.write_tlast) {
                self.complete.push_back(std::mem::take(&mut self.write_bytes));
            }
        }
        while !self.write_descs.is_empty() && !self.complete.is_empty() {
            let (Some((address, length, tag)), Some(bytes)) =
                (self.write_descs.pop_front(), self.complete.pop_front())
            else {
                break;
            };
            if bytes.len() != length {
                // A NIC that breaks its own descriptor: seen as a fault, nothing is written.
                self.faults += 1;
                self.write_statuses.push_back((tag, true));
                continue;
            }
            let due = now + self.delay(self.options.write_delay);
            self.writes.push(Write { taken: now, due, address, tag, bytes });
        }
    }

    fn offer_read(&mut self, dut: &mut Dut, now: u64, memory: &HostMemory) {
        let status = self.read_statuses.pop_front();
        dut.set(self.ports.read_status.valid, status.is_some());
        if let Some((tag, error)) = status {
            dut.set(self.ports.read_status.tag, tag);
            dut.set(self.ports.read_status.error, error);
        }
        if self.answer.is_none() {
            if self.hold.reads || self.reads.front().is_none_or(|read| read.due > now) {
                dut.set(self.ports.read_valid, 0u64);
                return;
            }
            let Some(read) = self.reads.pop_front() else { return };
            let mut bytes = vec![0; read.length];
            let error = !memory.read(read.address, &mut bytes);
            self.faults += u64::from(error);
            let Read { asked, address, tag, .. } = read;
            self.answer = Some(Answer { asked, address, bytes, offset: 0, tag, error });
        }
        if !self.offered && !self.willing() {
            dut.set(self.ports.read_valid, 0u64);
            return;
        }
        let Some(answer) = &mut self.answer else { return };
        if !self.offered {
            let rest = answer.bytes.len() - answer.offset;
            let mut beat = [0; MAX_BEAT];
            let len = rest.min(self.beat);
            beat[..len].copy_from_slice(&answer.bytes[answer.offset..answer.offset + len]);
            let mut words = [0; MAX_BEAT / 8];
            for (word, bytes) in words.iter_mut().zip(beat.chunks_exact(8)) {
                *word = bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
            }
            dut.set(self.ports.read_valid, 1u64);
            dut.set_wide(self.ports.read_tdata, &words[..self.beat / 8]);
            dut.set(self.ports.read_tlast, rest <= self.beat);
            self.offered = true;
        }
        if dut.is_high(self.ports.read_ready) {
            self.offered = false;
            answer.offset += self.beat;
            if answer.offset >= answer.bytes.len() {
                self.read_statuses.push_back((answer.tag, answer.error));
                if self.observe {
                    let Answer { asked, address, ref bytes, .. } = *answer;
                    let length = bytes.len();
                    self.seen_reads.push(DmaRead { at: now, asked, class: self.class, address, length });
                }
                self.answer = None;
            }
        }
    }

    fn land_writes(&mut self, dut: &mut Dut, now: u64, memory: &HostMemory) {
        let mut at = 0;
        while at < self.writes.len() {
            if self.hold.writes || self.writes[at].due > now {
                at += 1;
                continue;
            }
            // Keeps the order of those that wait, so that equal delays keep theirs.
            let write = self.writes.remove(at);
            let ok = memory.write(write.address, &write.bytes);
            self.faults += u64::from(!ok);
            self.write_statuses.push_back((write.tag, !ok));
            if self.observe {
                let Write { taken, address, bytes, .. } = write;
                self.seen.push(DmaWrite { at: now, taken, class: self.class, address, bytes });
            }
        }
        let status = self.write_statuses.pop_front();
        dut.set(self.ports.write_status.valid, status.is_some());
        if let Some((tag, error)) = status {
            dut.set(self.ports.write_status.tag, tag);
            dut.set(self.ports.write_status.error, error);
        }
    }
}
