//! A DMA engine that moves bytes between host memory and a segmented RAM of its client, as
//! Corundum's do: descriptors in any order, a word of each segment per clock.

use std::collections::VecDeque;

use tessera_sim::tb::{Agent, Gate, Pattern, Rng};
use tessera_sim::verilator::{Dut, PortId};

use crate::host::SharedMemory;

/// Bytes of a segment's word; two of them make a line.
const WORD: usize = 64;
/// "Unsupported request", of the engine's errors.
const UNSUPPORTED: u64 = 10;

/// A descriptor that is taken and not ended.
struct Job {
    tag: u64,
    error: bool,
    /// Writes that were not told to be done.
    open: usize,
    /// When it may begin, and whether it did.
    due: u64,
    begun: bool,
    address: u64,
    line: u64,
    len: usize,
}

/// A word that goes into a segment.
struct Put {
    tag: u64,
    line: u64,
    enable: u64,
    bytes: [u8; WORD],
}

/// Reads host memory into the client's RAM.
pub struct SegmentReads {
    valid: PortId,
    ready: PortId,
    dma_addr: PortId,
    line: PortId,
    len: PortId,
    tag: PortId,
    status_valid: PortId,
    status_tag: PortId,
    status_error: PortId,
    cmd_valid: PortId,
    cmd_be: PortId,
    cmd_addr: [PortId; 2],
    cmd_data: PortId,
    done: PortId,
    memory: SharedMemory,
    accept: Gate,
    write: [Gate; 2],
    rng: Rng,
    /// Clocks from a descriptor to its first word, at least.
    pub latency: std::ops::Range<u64>,
    /// Begins descriptors in their order, at once.
    pub in_order: bool,
    jobs: Vec<Job>,
    puts: [VecDeque<Put>; 2],
    /// Whose words are not told to be done, by segment.
    awaited: [VecDeque<u64>; 2],
    statuses: VecDeque<(u64, u64, u64)>,
    /// Lines that descriptors under way lie in: first, count.
    pub held: Vec<(u64, u64, u64)>,
}

impl SegmentReads {
    /// Attaches to a `SegRead`.
    pub fn new(dut: &Dut, memory: SharedMemory, accept: Pattern, write: Pattern, rng: &mut Rng) -> Self {
        let port = |name: &str| dut.port(name).unwrap();
        SegmentReads {
            valid: port("read_desc_valid"),
            ready: port("read_desc_ready"),
            dma_addr: port("read_desc_dma_addr"),
            line: port("read_desc_line"),
            len: port("read_desc_len"),
            tag: port("read_desc_tag"),
            status_valid: port("read_status_valid"),
            status_tag: port("read_status_tag"),
            status_error: port("read_status_error"),
            cmd_valid: port("wr_cmd_valid"),
            cmd_be: port("wr_cmd_be"),
            cmd_addr: [port("wr_cmd_addr_0"), port("wr_cmd_addr_1")],
            cmd_data: port("wr_cmd_data"),
            done: port("wr_done"),
            memory,
            accept: accept.gate(rng.fork()),
            write: [write.gate(rng.fork()), write.gate(rng.fork())],
            rng: rng.fork(),
            latency: 1..60,
            in_order: false,
            jobs: Vec::new(),
            puts: Default::default(),
            awaited: Default::default(),
            statuses: VecDeque::new(),
            held: Vec::new(),
        }
    }

    /// Cuts a descriptor's bytes into words, and some of those in two.
    fn begin(&mut self, job: usize) {
        let (address, line, len, tag) = {
            let job = &self.jobs[job];
            (job.address, job.line, job.len, job.tag)
        };
        let bytes = self.memory.borrow().read(address, len);
        let mut count = 0;
        for (i, chunk) in bytes.chunks(WORD).enumerate() {
            // What it does not write is whatever was there.
            let mut word: [u8; WORD] = std::array::from_fn(|_| self.rng.bits(8) as u8);
            word[..chunk.len()].copy_from_slice(chunk);
            let all = u64::MAX >> (WORD - chunk.len());
            let cut = if self.rng.chance(0.3) { self.rng.below(WORD as u64) } else { 0 };
            let first = all & ((1 << cut) - 1);
            for enable in [first, all & !first].into_iter().filter(|&enable| enable != 0) {
                let put = Put { tag, line: line + i as u64 / 2, enable, bytes: word };
                self.puts[i % 2].push_back(put);
                count += 1;
            }
        }
        self.jobs[job].open = count;
        self.jobs[job].begun = true;
    }
}

impl Agent for SegmentReads {
    fn drive(&mut self, dut: &mut Dut) {
        let now = dut.cycles();
        dut.set(self.ready, self.accept.is_open());
        // Any that is due, not the first of them.
        let due: Vec<usize> =
            (0..self.jobs.len()).filter(|&job| !self.jobs[job].begun && self.jobs[job].due <= now).collect();
        if !due.is_empty() && (self.in_order || self.rng.chance(0.5)) {
            let job = if self.in_order { due[0] } else { *self.rng.pick(&due) };
            self.begin(job);
        }
        let (mut valid, mut enables, mut data) = (0u64, [0u64; 2], [0u64; 16]);
        for segment in 0..2 {
            if self.puts[segment].is_empty() || !self.write[segment].is_open() {
                continue;
            }
            let put = self.puts[segment].pop_front().unwrap();
            valid |= 1 << segment;
            enables[segment] = put.enable;
            for (i, bytes) in put.bytes.chunks(8).enumerate() {
                data[segment * 8 + i] = u64::from_le_bytes(bytes.try_into().unwrap());
            }
            dut.set(self.cmd_addr[segment], put.line);
            self.awaited[segment].push_back(put.tag);
        }
        dut.set(self.cmd_valid, valid);
        dut.set_wide(self.cmd_be, &enables);
        dut.set_wide(self.cmd_data, &data);
        let status = self.statuses.front().filter(|status| status.0 <= now).copied();
        dut.set(self.status_valid, status.is_some());
        if let Some((_, tag, error)) = status {
            self.statuses.pop_front();
            dut.set(self.status_tag, tag);
            dut.set(self.status_error, error);
        }
    }

    fn sample(&mut self, dut: &Dut) {
        let now = dut.cycles();
        if dut.sampled(self.valid) != 0 && dut.sampled(self.ready) != 0 {
            let (address, len) = (dut.sampled(self.dma_addr), dut.sampled(self.len) as usize);
            let (line, tag) = (dut.sampled(self.line), dut.sampled(self.tag));
            let lines = len.div_ceil(2 * WORD) as u64;
            assert!(self.held.iter().all(|held| held.2 != tag), "tag {tag} is under way");
            let poisoned = self.memory.borrow().poisoned.clone();
            let error = poisoned.iter().any(|bad| bad.start < address + len as u64 && address < bad.end);
            self.held.push((line, lines, tag));
            let due = now + self.rng.range(self.latency.clone());
            self.jobs.push(Job { tag, error, open: 0, due, begun: false, address, line, len });
        }
        let done = dut.sampled(self.done);
        for segment in (0..2).filter(|segment| done >> segment & 1 != 0) {
            let tag = self.awaited[segment].pop_front().expect("a word that nobody wrote is done");
            let job = self.jobs.iter_mut().find(|job| job.tag == tag).unwrap();
            job.open -= 1;
        }
        while let Some(job) = self.jobs.iter().position(|job| job.begun && job.open == 0) {
            let job = self.jobs.remove(job);
            self.held.retain(|held| held.2 != job.tag);
            let error = if job.error { UNSUPPORTED } else { 0 };
            self.statuses.push_back((now + self.rng.below(5), job.tag, error));
        }
    }
}

/// A write that is under way: what was asked for, and what came of it.
struct Fetch {
    tag: u64,
    address: u64,
    line: u64,
    len: usize,
    error: bool,
    due: u64,
    begun: bool,
    /// Words that came, by their number.
    words: Vec<Option<[u8; WORD]>>,
}

/// Writes from the client's RAM into host memory.
pub struct SegmentWrites {
    valid: PortId,
    ready: PortId,
    dma_addr: PortId,
    line: PortId,
    len: PortId,
    tag: PortId,
    status_valid: PortId,
    status_tag: PortId,
    status_error: PortId,
    cmd_valid: PortId,
    cmd_ready: PortId,
    cmd_addr: [PortId; 2],
    resp_data: PortId,
    resp_valid: PortId,
    resp_ready: PortId,
    memory: SharedMemory,
    accept: Gate,
    read: [Gate; 2],
    take: [Gate; 2],
    rng: Rng,
    /// Clocks from a descriptor to its first word, at least.
    pub latency: std::ops::Range<u64>,
    fetches: Vec<Fetch>,
    /// Words to ask for, and asked for: descriptor and number, by segment.
    wanted: [VecDeque<(u64, usize)>; 2],
    asked: [VecDeque<(u64, usize)>; 2],
    offering: [bool; 2],
    shown: [Option<Vec<u64>>; 2],
    statuses: Vec<(u64, u64, u64)>,
    /// Lines that descriptors under way lie in: first, count, tag.
    pub held: Vec<(u64, u64, u64)>,
}

impl SegmentWrites {
    /// Attaches to a `SegWrite`.
    pub fn new(dut: &Dut, memory: SharedMemory, accept: Pattern, read: Pattern, rng: &mut Rng) -> Self {
        let port = |name: &str| dut.port(name).unwrap();
        SegmentWrites {
            valid: port("write_desc_valid"),
            ready: port("write_desc_ready"),
            dma_addr: port("write_desc_dma_addr"),
            line: port("write_desc_line"),
            len: port("write_desc_len"),
            tag: port("write_desc_tag"),
            status_valid: port("write_status_valid"),
            status_tag: port("write_status_tag"),
            status_error: port("write_status_error"),
            cmd_valid: port("rd_cmd_valid"),
            cmd_ready: port("rd_cmd_ready"),
            cmd_addr: [port("rd_cmd_addr_0"), port("rd_cmd_addr_1")],
            resp_data: port("rd_resp_data"),
            resp_valid: port("rd_resp_valid"),
            resp_ready: port("rd_resp_ready"),
            memory,
            accept: accept.gate(rng.fork()),
            read: [read.gate(rng.fork()), read.gate(rng.fork())],
            take: [accept.gate(rng.fork()), accept.gate(rng.fork())],
            rng: rng.fork(),
            latency: 1..60,
            fetches: Vec::new(),
            wanted: Default::default(),
            asked: Default::default(),
            offering: [false; 2],
            shown: Default::default(),
            statuses: Vec::new(),
            held: Vec::new(),
        }
    }
}

impl Agent for SegmentWrites {
    fn drive(&mut self, dut: &mut Dut) {
        let now = dut.cycles();
        dut.set(self.ready, self.accept.is_open());
        let due = self.fetches.iter_mut().find(|fetch| !fetch.begun && fetch.due <= now);
        if let Some(fetch) = due {
            fetch.begun = true;
            for word in 0..fetch.len.div_ceil(WORD) {
                self.wanted[word % 2].push_back((fetch.tag, word));
            }
        }
        let (mut valid, mut ready) = (0u64, 0u64);
        for segment in 0..2 {
            // What is offered stays until it is taken.
            self.offering[segment] =
                !self.wanted[segment].is_empty() && (self.offering[segment] || self.read[segment].is_open());
            if self.offering[segment] {
                let (tag, word) = self.wanted[segment][0];
                let fetch = self.fetches.iter().find(|fetch| fetch.tag == tag).unwrap();
                dut.set(self.cmd_addr[segment], fetch.line + word as u64 / 2);
                valid |= 1 << segment;
            }
            ready |= u64::from(self.take[segment].is_open()) << segment;
        }
        dut.set(self.cmd_valid, valid);
        dut.set(self.resp_ready, ready);
        let due: Vec<usize> = (0..self.statuses.len()).filter(|&at| self.statuses[at].0 <= now).collect();
        dut.set(self.status_valid, !due.is_empty());
        if !due.is_empty() {
            let at = *self.rng.pick(&due);
            let (_, tag, error) = self.statuses.remove(at);
            self.held.retain(|held| held.2 != tag);
            dut.set(self.status_tag, tag);
            dut.set(self.status_error, error);
        }
    }

    fn sample(&mut self, dut: &Dut) {
        let now = dut.cycles();
        if dut.sampled(self.valid) != 0 && dut.sampled(self.ready) != 0 {
            let (address, len) = (dut.sampled(self.dma_addr), dut.sampled(self.len) as usize);
            let (line, tag) = (dut.sampled(self.line), dut.sampled(self.tag));
            assert!(self.held.iter().all(|held| held.2 != tag), "tag {tag} is under way");
            self.held.push((line, len.div_ceil(2 * WORD) as u64, tag));
            let poisoned = self.memory.borrow().poisoned.clone();
            let error = poisoned.iter().any(|bad| bad.start < address + len as u64 && address < bad.end);
            let due = now + self.rng.range(self.latency.clone());
            let words = vec![None; len.div_ceil(WORD)];
            self.fetches.push(Fetch { tag, address, line, len, error, due, begun: false, words });
        }
        let (cmd, taken) =
            (dut.sampled(self.cmd_valid) & dut.sampled(self.cmd_ready), dut.sampled(self.resp_ready));
        let there = dut.sampled(self.resp_valid);
        let mut data = [0; 16];
        dut.sampled_wide(self.resp_data, &mut data);
        for segment in 0..2 {
            let words = data[segment * 8..][..8].to_vec();
            if let Some(before) = self.shown[segment].take() {
                assert!(there >> segment & 1 != 0 && words == before, "a word that was shown changed");
            }
            if there >> segment & 1 != 0 {
                if taken >> segment & 1 != 0 {
                    let (tag, word) = self.asked[segment].pop_front().expect("a word nobody asked for");
                    let fetch = self.fetches.iter_mut().find(|fetch| fetch.tag == tag).unwrap();
                    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
                    fetch.words[word] = Some(bytes.try_into().unwrap());
                } else {
                    self.shown[segment] = Some(words);
                }
            }
            if cmd >> segment & 1 != 0 {
                self.offering[segment] = false;
                let wanted = self.wanted[segment].pop_front().unwrap();
                self.asked[segment].push_back(wanted);
            }
        }
        while let Some(at) = self.fetches.iter().position(|fetch| fetch.words.iter().all(Option::is_some)) {
            let fetch = self.fetches.remove(at);
            let bytes: Vec<u8> = fetch.words.into_iter().flatten().flatten().take(fetch.len).collect();
            self.memory.borrow_mut().write(fetch.address, &bytes);
            let error = if fetch.error { UNSUPPORTED } else { 0 };
            self.statuses.push((now + self.rng.below(40), fetch.tag, error));
        }
    }
}
