//! What surrounds Corundum's application block: a DMA engine that moves bytes between host memory
//! and the block's segmented RAM, and the host's own frames and their completions.
//!
//! Descriptors of a class end in any order, reads and writes do not wait for each other, and the
//! class of rings overtakes that of payload as chance will have it.

use std::collections::VecDeque;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::dma::{DmaHold, DmaOptions};
use super::memory::HostMemory;
use super::Axis;
use crate::verilator::{Dut, ModelError, PortId};

/// Bytes of a segment's word; two segments make a line.
const WORD: usize = 64;
/// "Unsupported request", of the engine's read errors.
const UNSUPPORTED: u64 = 10;

struct Desc {
    valid: PortId,
    ready: PortId,
    dma_addr: PortId,
    ram_sel: PortId,
    ram_addr: PortId,
    len: PortId,
    tag: PortId,
    status_valid: PortId,
    status_tag: PortId,
    status_error: PortId,
}

impl Desc {
    fn new(dut: &Dut, class: &str, what: &str) -> Result<Self, ModelError> {
        let port = |name: &str| dut.port(&format!("m_axis_{class}_dma_{what}_desc_{name}"));
        let status = |name: &str| dut.port(&format!("s_axis_{class}_dma_{what}_desc_status_{name}"));
        Ok(Self {
            valid: port("valid")?,
            ready: port("ready")?,
            dma_addr: port("dma_addr")?,
            ram_sel: port("ram_sel")?,
            ram_addr: port("ram_addr")?,
            len: port("len")?,
            tag: port("tag")?,
            status_valid: status("valid")?,
            status_tag: status("tag")?,
            status_error: status("error")?,
        })
    }
}

/// A port of both segments, in two.
fn halves(port: PortId) -> [PortId; 2] {
    let width = port.width() / 2;
    [port.bits(0, width), port.bits(width, width)]
}

/// A descriptor under way.
struct Job {
    tag: u64,
    due: u64,
    address: u64,
    line: u64,
    len: usize,
    begun: bool,
    error: bool,
    /// Words of a read that are not written yet.
    open: usize,
    /// Words of a write that came, and that all of them did.
    words: Vec<Option<[u8; WORD]>>,
    ended: bool,
}

/// A word for the RAM: whose, where, which bytes of it.
type Put = (u64, u64, u64, [u8; WORD]);

/// What both directions of a class have.
struct Queue {
    desc: Desc,
    jobs: Vec<Job>,
    /// When which tag ends, and how.
    ends: Vec<(u64, u64, u64)>,
    /// A descriptor was shown and not taken.
    refused: bool,
}

impl Queue {
    fn new(desc: Desc) -> Self {
        Self { desc, jobs: Vec::new(), ends: Vec::new(), refused: false }
    }
}

struct Class {
    options: DmaOptions,
    hold: DmaHold,
    reads: Queue,
    /// The RAM's side of reads: words to write, and tags of those written and not confirmed.
    put_valid: [PortId; 2],
    put_ready: [PortId; 2],
    put_done: [PortId; 2],
    put_be: [PortId; 2],
    put_addr: [PortId; 2],
    put_data: [PortId; 2],
    puts: [VecDeque<Put>; 2],
    unconfirmed: [VecDeque<u64>; 2],
    writes: Queue,
    /// The RAM's side of writes: words to ask for, and asked for.
    get_valid: [PortId; 2],
    get_ready: [PortId; 2],
    get_addr: [PortId; 2],
    got_valid: [PortId; 2],
    got_data: [PortId; 2],
    got_ready: PortId,
    gets: [VecDeque<(u64, usize)>; 2],
    asked: [VecDeque<(u64, usize)>; 2],
}

fn words(bytes: &[u8; WORD]) -> [u64; 8] {
    std::array::from_fn(|i| {
        bytes[i * 8..][..8].iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
    })
}

impl Class {
    fn new(dut: &Dut, name: &str, options: DmaOptions) -> Result<Self, ModelError> {
        let ram = |port: &str| dut.port(&format!("{name}_dma_ram_{port}"));
        Ok(Self {
            options,
            hold: DmaHold::default(),
            reads: Queue::new(Desc::new(dut, name, "read")?),
            put_valid: halves(ram("wr_cmd_valid")?),
            put_ready: halves(ram("wr_cmd_ready")?),
            put_done: halves(ram("wr_done")?),
            put_be: halves(ram("wr_cmd_be")?),
            put_addr: halves(ram("wr_cmd_addr")?),
            put_data: halves(ram("wr_cmd_data")?),
            puts: Default::default(),
            unconfirmed: Default::default(),
            writes: Queue::new(Desc::new(dut, name, "write")?),
            get_valid: halves(ram("rd_cmd_valid")?),
            get_ready: halves(ram("rd_cmd_ready")?),
            get_addr: halves(ram("rd_cmd_addr")?),
            got_valid: halves(ram("rd_resp_valid")?),
            got_data: halves(ram("rd_resp_data")?),
            got_ready: ram("rd_resp_ready")?,
            gets: Default::default(),
            asked: Default::default(),
        })
    }

    fn open(&self) -> usize {
        [&self.reads, &self.writes].map(|queue| queue.jobs.len() + queue.ends.len()).iter().sum()
    }
}

/// See the module's page.
pub struct CorundumHost {
    classes: [Class; 2],
    rng: Pcg64Mcg,
    faults: u64,
    taken_back: u64,
    /// Frames of the host to the block: bytes and tag; the first from `offset` on.
    tx: Axis,
    tx_user: PortId,
    sending: VecDeque<(Vec<u8>, u64)>,
    offset: usize,
    /// Frames from the block to the host.
    rx: Axis,
    coming: Vec<u8>,
    received: Vec<Vec<u8>>,
    rx_ready: bool,
    /// Completions: from the MAC when due, and to the host.
    from_mac: [PortId; 4],
    to_host: [PortId; 4],
    sent: VecDeque<(u64, u64)>,
    completed: Vec<(u64, u64)>,
    /// The statistics stream: count, counter, valid.
    stat: [PortId; 3],
    statistics: std::collections::BTreeMap<u64, u64>,
}

impl CorundumHost {
    pub(super) fn new(dut: &Dut, options: [DmaOptions; 2], seed: u64) -> Result<Self, ModelError> {
        let [ctrl, data] = options;
        let lane = Axis::lanes(dut)? - 1;
        let cpl = |side: &str| -> Result<[PortId; 4], ModelError> {
            let port = |name: &str| Axis::lane(dut, &format!("{side}_axis_sync_tx_cpl_{name}"), lane);
            Ok([port("valid")?, port("ready")?, port("tag")?, port("ts")?])
        };
        let stat = |name: &str| dut.port(&format!("m_axis_stat_{name}"));
        Ok(Self {
            classes: [Class::new(dut, "ctrl", ctrl)?, Class::new(dut, "data", data)?],
            rng: Pcg64Mcg::seed_from_u64(seed.wrapping_mul(2)),
            faults: 0,
            taken_back: 0,
            tx: Axis::at_lane(dut, "s_axis_sync_tx", lane)?,
            tx_user: Axis::lane(dut, "s_axis_sync_tx_tuser", lane)?,
            sending: VecDeque::new(),
            offset: 0,
            rx: Axis::at_lane(dut, "m_axis_sync_rx", lane)?,
            coming: Vec::new(),
            received: Vec::new(),
            rx_ready: false,
            from_mac: cpl("s")?,
            to_host: cpl("m")?,
            sent: VecDeque::new(),
            completed: Vec::new(),
            stat: [stat("tdata")?, stat("tid")?, stat("tvalid")?],
            statistics: Default::default(),
        })
    }

    /// Ports that never change.
    pub(super) fn tie(&self, dut: &mut Dut) -> Result<(), ModelError> {
        let ready = dut.port("m_axis_stat_tready")?;
        dut.set(ready, 1u64);
        dut.set(self.to_host[1], 1u64);
        for class in &self.classes {
            // A word that is asked for has its place.
            dut.set(class.got_ready, 3u64);
        }
        Ok(())
    }

    /// Hands the host's network stack's frame to the block, with its tag; the top bit is set.
    pub fn send(&mut self, bytes: Vec<u8>, tag: u64) {
        self.sending.push_back((bytes, tag | 1 << (self.from_mac[2].width() - 1)));
    }

    /// Frames of the host that the block has not taken whole.
    pub fn sending(&self) -> usize {
        self.sending.len()
    }

    /// Frames that came to the host's network stack since the last call.
    pub fn take_received(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.received)
    }

    /// Completions that came to the host since the last call: tag, and clock in which it was sent.
    pub fn take_completed(&mut self) -> Vec<(u64, u64)> {
        std::mem::take(&mut self.completed)
    }

    /// What was added to a statistics counter.
    pub fn statistic(&self, counter: u64) -> u64 {
        self.statistics.get(&counter).copied().unwrap_or_default()
    }

    /// The MAC has sent a frame with this side band.
    pub(super) fn sent(&mut self, now: u64, user: u64) {
        self.sent.push_back((user >> 1, now));
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

    pub(super) fn open(&self) -> usize {
        self.classes.iter().map(Class::open).sum::<usize>() + usize::from(!self.coming.is_empty())
    }

    pub(super) fn before_clock(&mut self, dut: &mut Dut, now: u64, memory: &HostMemory) {
        for id in 0..2 {
            self.confirm(dut, id, now);
            self.collect(dut, id, now);
            for reads in [true, false] {
                self.take(dut, id, now, reads);
                self.end(dut, id, now, reads, memory);
            }
            self.write_ram(dut, id, now, memory);
            self.read_ram(dut, id, now);
        }
        self.frames(dut);
        self.completions(dut);
        if dut.is_high(self.stat[2]) {
            *self.statistics.entry(dut.get(self.stat[1])).or_default() += dut.get(self.stat[0]);
        }
    }

    fn chance(&mut self, id: usize) -> bool {
        let ready = self.classes[id].options.ready;
        ready >= 1.0 || self.rng.random::<f64>() < ready
    }

    fn delay(&mut self, (least, most): (u64, u64)) -> u64 {
        if most > least {
            self.rng.random_range(least..=most)
        } else {
            least
        }
    }

    fn take(&mut self, dut: &mut Dut, id: usize, now: u64, reads: bool) {
        let willing = self.chance(id);
        let class = &self.classes[id];
        let (queue, delays) = match reads {
            true => (&class.reads, class.options.read_delay),
            false => (&class.writes, class.options.write_delay),
        };
        let desc = &queue.desc;
        dut.set(desc.ready, willing);
        let shown = dut.is_high(desc.valid);
        let taken_back = queue.refused && !shown;
        let mut job = None;
        if shown && willing {
            let (tag, len) = (dut.get(desc.tag), dut.get(desc.len) as usize);
            let at = dut.get(desc.ram_addr);
            // What no engine could do is a fault of the NIC.
            let right = len > 0
                && at.is_multiple_of(2 * WORD as u64)
                && dut.get(desc.ram_sel) == 0
                && queue.jobs.iter().all(|job| job.tag != tag)
                && queue.ends.iter().all(|end| end.1 != tag);
            self.faults += u64::from(!right);
            job = Some(Job {
                tag,
                due: 0,
                address: dut.get(desc.dma_addr),
                line: at / (2 * WORD as u64),
                len,
                begun: false,
                error: false,
                open: 0,
                words: vec![None; len.div_ceil(WORD)],
                ended: false,
            });
        }
        if let Some(job) = &mut job {
            job.due = now + self.delay(delays);
        }
        self.taken_back += u64::from(taken_back);
        let class = &mut self.classes[id];
        let queue = if reads { &mut class.reads } else { &mut class.writes };
        queue.refused = shown && !willing;
        queue.jobs.extend(job);
    }

    /// Words that are in the RAM.
    fn confirm(&mut self, dut: &Dut, id: usize, now: u64) {
        let class = &mut self.classes[id];
        for segment in 0..2 {
            if dut.is_high(class.put_done[segment]) {
                let Some(tag) = class.unconfirmed[segment].pop_front() else {
                    self.faults += 1;
                    continue;
                };
                class.reads.jobs.iter_mut().filter(|job| job.tag == tag).for_each(|job| job.open -= 1);
            }
        }
        let mut wait = || self.rng.random_range(0..5);
        while let Some(at) = class.reads.jobs.iter().position(|job| job.begun && job.open == 0) {
            let job = class.reads.jobs.remove(at);
            class.reads.ends.push((now + wait(), job.tag, if job.error { UNSUPPORTED } else { 0 }));
        }
    }

    /// One of the descriptors that are due, by chance, becomes words; some words are cut in two.
    fn write_ram(&mut self, dut: &mut Dut, id: usize, now: u64, memory: &HostMemory) {
        let due = |class: &Class| -> Vec<usize> {
            let jobs = class.reads.jobs.iter().enumerate();
            jobs.filter(|(_, job)| !job.begun && job.due <= now && !class.hold.reads)
                .map(|(i, _)| i)
                .collect()
        };
        let due = due(&self.classes[id]);
        if !due.is_empty() {
            let at = due[self.rng.random_range(0..due.len())];
            let class = &mut self.classes[id];
            let job = &mut class.reads.jobs[at];
            job.begun = true;
            let mut bytes = vec![0; job.len];
            job.error = !memory.read(job.address, &mut bytes);
            self.faults += u64::from(job.error);
            for (i, chunk) in bytes.chunks(WORD).enumerate() {
                // What is not enabled is not written, whatever it is.
                let mut word = [0xEE; WORD];
                word[..chunk.len()].copy_from_slice(chunk);
                let all = u64::MAX >> (WORD - chunk.len());
                let cut = if self.rng.random::<f64>() < 0.2 { self.rng.random_range(0..64) } else { 0 };
                let first = all & ((1u64 << cut) - 1);
                for enable in [first, all & !first].into_iter().filter(|&enable| enable != 0) {
                    class.puts[i % 2].push_back((job.tag, job.line + i as u64 / 2, enable, word));
                    job.open += 1;
                }
            }
        }
        for segment in 0..2 {
            let willing = self.chance(id);
            let class = &mut self.classes[id];
            let ready = dut.is_high(class.put_ready[segment]);
            self.faults += u64::from(!ready);
            let put = if willing { class.puts[segment].pop_front() } else { None };
            dut.set(class.put_valid[segment], put.is_some());
            if let Some((tag, line, enable, word)) = put {
                dut.set(class.put_addr[segment], line);
                dut.set(class.put_be[segment], enable);
                dut.set_wide(class.put_data[segment], &words(&word));
                class.unconfirmed[segment].push_back(tag);
            }
        }
    }

    /// Asks the RAM for the words of writes.
    fn read_ram(&mut self, dut: &mut Dut, id: usize, now: u64) {
        let class = &mut self.classes[id];
        if let Some(job) = class.writes.jobs.iter_mut().find(|job| !job.begun && job.due <= now) {
            job.begun = true;
            for word in 0..job.words.len() {
                class.gets[word % 2].push_back((job.tag, word));
            }
        }
        for segment in 0..2 {
            let willing = self.chance(id);
            let class = &mut self.classes[id];
            let there = dut.is_high(class.get_ready[segment]);
            // The block takes a word in every clock as long as its own are taken.
            self.faults += u64::from(!there);
            let get = if willing { class.gets[segment].pop_front() } else { None };
            dut.set(class.get_valid[segment], get.is_some());
            if let Some((tag, word)) = get {
                let line = class.writes.jobs.iter().find(|job| job.tag == tag).map_or(0, |job| job.line);
                dut.set(class.get_addr[segment], line + word as u64 / 2);
                class.asked[segment].push_back((tag, word));
            }
        }
    }

    /// Takes the words that come.
    fn collect(&mut self, dut: &Dut, id: usize, now: u64) {
        let class = &mut self.classes[id];
        for segment in 0..2 {
            if !dut.is_high(class.got_valid[segment]) {
                continue;
            }
            let Some((tag, word)) = class.asked[segment].pop_front() else {
                self.faults += 1;
                continue;
            };
            let mut data = [0; 8];
            dut.get_wide(class.got_data[segment], &mut data);
            let mut bytes = [0; WORD];
            bytes
                .chunks_mut(8)
                .zip(data)
                .for_each(|(bytes, word)| bytes.copy_from_slice(&word.to_le_bytes()));
            for job in class.writes.jobs.iter_mut().filter(|job| job.tag == tag) {
                job.words[word] = Some(bytes);
            }
        }
        // It is written when it ends, so that nobody sees it before.
        let most = class.options.write_delay.1.max(2);
        let whole = |job: &&mut Job| !job.ended && job.words.iter().all(Option::is_some);
        for job in class.writes.jobs.iter_mut().filter(whole) {
            job.ended = true;
            class.writes.ends.push((now + self.rng.random_range(1..most), job.tag, 0));
        }
    }

    fn end(&mut self, dut: &mut Dut, id: usize, now: u64, reads: bool, memory: &HostMemory) {
        let class = &mut self.classes[id];
        let held = if reads { class.hold.reads } else { class.hold.writes };
        let queue = if reads { &mut class.reads } else { &mut class.writes };
        let due: Vec<usize> = (0..queue.ends.len()).filter(|&at| !held && queue.ends[at].0 <= now).collect();
        dut.set(queue.desc.status_valid, !due.is_empty());
        if due.is_empty() {
            return;
        }
        let at = due[self.rng.random_range(0..due.len())];
        let (_, tag, error) = queue.ends.remove(at);
        if let Some(at) = queue.jobs.iter().position(|job| !reads && job.tag == tag) {
            let job = queue.jobs.remove(at);
            let bytes: Vec<u8> = job.words.into_iter().flatten().flatten().take(job.len).collect();
            self.faults += u64::from(!memory.write(job.address, &bytes));
        }
        dut.set(queue.desc.status_tag, tag);
        dut.set(queue.desc.status_error, error);
    }

    /// The host's frames, one beat each way.
    fn frames(&mut self, dut: &mut Dut) {
        if let Some((bytes, tag)) = self.sending.front() {
            let rest = bytes.len() - self.offset;
            let last = super::show_beat(dut, &self.tx, &bytes[self.offset..]);
            dut.set(self.tx_user, tag << 1);
            if dut.is_high(self.tx.tready) {
                self.offset += rest.min(WORD);
                if last {
                    self.sending.pop_front();
                    self.offset = 0;
                }
            }
        } else {
            dut.set(self.tx.tvalid, 0u64);
        }
        let shown = dut.is_high(self.rx.tvalid);
        self.rx_ready = self.chance(1);
        dut.set(self.rx.tready, self.rx_ready);
        if shown && self.rx_ready {
            super::take_beat(dut, &self.rx, WORD, &mut self.coming);
            if dut.is_high(self.rx.tlast) {
                self.received.push(std::mem::take(&mut self.coming));
            }
        }
    }

    fn completions(&mut self, dut: &mut Dut) {
        let [valid, _, tag, time] = self.to_host;
        let [mac_valid, mac_ready, mac_tag, mac_time] = self.from_mac;
        dut.set(mac_valid, !self.sent.is_empty());
        let Some(&(sent_tag, at)) = self.sent.front() else { return };
        dut.set(mac_tag, sent_tag);
        dut.set(mac_time, at);
        // They go on in the same clock.
        dut.settle();
        if dut.is_high(mac_ready) && self.sent.pop_front().is_some() && dut.is_high(valid) {
            self.completed.push((dut.get(tag), dut.get(time)));
        }
    }
}
