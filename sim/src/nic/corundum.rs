//! What surrounds Corundum's application block: a DMA engine that moves bytes between host memory
//! and the block's segmented RAM, and the host's own frames and their completions.
//!
//! Descriptors of a class end in any order, reads and writes do not wait for each other, and the
//! class of rings overtakes that of payload as chance will have it.

use std::collections::VecDeque;
use tessera_abi::corundum::EVENT_TYPE;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::dma::{DmaClass, DmaHold, DmaOptions};
use super::memory::HostMemory;
use super::Axis;
use crate::verilator::{Dut, ModelError, PortId};

/// Bytes of the largest word of a segment.
const WORD: usize = 64;
/// Bytes of a line of the NIC's.
const LINE: u64 = 128;
/// The engine's read errors: time over, those of AXI, function reset, poisoned, unsupported request, completer abort.
const READ_ERRORS: [u64; 7] = [1, 4, 5, 8, 9, 10, 11];
/// Its write errors: time over, those of AXI, function reset.
const WRITE_ERRORS: [u64; 4] = [1, 6, 7, 8];

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

/// A port of all segments, one by one.
fn segments(port: PortId, count: usize) -> Vec<PortId> {
    let width = port.width() / count;
    (0..count).map(|segment| port.bits(segment * width, width)).collect()
}

/// A descriptor under way.
struct Job {
    tag: u64,
    due: u64,
    address: u64,
    /// Where in the RAM, in bytes.
    at: u64,
    len: usize,
    begun: bool,
    error: bool,
    /// Words of a read that are not written yet.
    open: usize,
    /// Words of a write that came, and that all of them did.
    words: Vec<Option<Vec<u8>>>,
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
    /// Descriptors until the one that fails.
    fails: Option<usize>,
}

impl Queue {
    fn new(desc: Desc) -> Self {
        Self { desc, jobs: Vec::new(), ends: Vec::new(), refused: false, fails: None }
    }

    /// Whether the next one is to fail.
    fn failing(&mut self) -> bool {
        let left = self.fails.take();
        self.fails = left.and_then(|left| left.checked_sub(1));
        left == Some(0)
    }
}

/// A word for the RAM, or one that is asked for.
#[derive(Clone, Copy)]
enum Command {
    Put(Put),
    Get { tag: u64, word: usize, at: u64 },
}

/// A segment's commands of one kind, of which the first is shown until it is taken.
struct Lane {
    valid: PortId,
    ready: PortId,
    addr: PortId,
    waiting: VecDeque<Command>,
    shown: bool,
    refused: bool,
}

impl Lane {
    fn all(valid: &[PortId], ready: &[PortId], addr: &[PortId]) -> Vec<Self> {
        let ports = valid.iter().zip(ready).zip(addr);
        let new = |((&valid, &ready), &addr)| Self {
            valid,
            ready,
            addr,
            waiting: VecDeque::new(),
            shown: false,
            refused: false,
        };
        ports.map(new).collect()
    }

    /// Shows the next one, if it is time, or it has been shown.
    fn show(&mut self, dut: &mut Dut, willing: bool) -> Option<Command> {
        let next = self.waiting.front().copied().filter(|_| willing || self.refused);
        self.shown = next.is_some();
        dut.set(self.valid, self.shown);
        next
    }

    /// What is taken in this clock, all inputs being known.
    fn taken(&mut self, dut: &Dut) -> Option<Command> {
        self.refused = self.shown && !dut.is_high(self.ready);
        if self.shown && !self.refused {
            self.waiting.pop_front()
        } else {
            None
        }
    }
}

struct Class {
    options: DmaOptions,
    hold: DmaHold,
    /// Bytes of a segment's word.
    word: usize,
    reads: Queue,
    /// The RAM's side of reads, segment by segment: words to write, and tags of those written and not
    /// confirmed.
    puts: Vec<Lane>,
    put_done: Vec<PortId>,
    put_be: Vec<PortId>,
    put_data: Vec<PortId>,
    unconfirmed: Vec<VecDeque<u64>>,
    writes: Queue,
    /// The RAM's side of writes: words to ask for, and asked for.
    gets: Vec<Lane>,
    got_valid: Vec<PortId>,
    got_data: Vec<PortId>,
    got_ready: Vec<PortId>,
    asked: Vec<VecDeque<(u64, usize)>>,
}

fn words(bytes: &[u8]) -> Vec<u64> {
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
    bytes.chunks(8).map(word).collect()
}

impl Class {
    fn new(dut: &Dut, name: &str, options: DmaOptions) -> Result<Self, ModelError> {
        let valid = dut.port(&format!("{name}_dma_ram_wr_cmd_valid"))?;
        let count = valid.width();
        let ram = |port: &str| -> Result<Vec<PortId>, ModelError> {
            Ok(segments(dut.port(&format!("{name}_dma_ram_{port}"))?, count))
        };
        let put_data = ram("wr_cmd_data")?;
        Ok(Self {
            options,
            hold: DmaHold::default(),
            word: put_data[0].width() / 8,
            reads: Queue::new(Desc::new(dut, name, "read")?),
            puts: Lane::all(&ram("wr_cmd_valid")?, &ram("wr_cmd_ready")?, &ram("wr_cmd_addr")?),
            put_done: ram("wr_done")?,
            put_be: ram("wr_cmd_be")?,
            put_data,
            unconfirmed: vec![VecDeque::new(); count],
            writes: Queue::new(Desc::new(dut, name, "write")?),
            gets: Lane::all(&ram("rd_cmd_valid")?, &ram("rd_cmd_ready")?, &ram("rd_cmd_addr")?),
            got_valid: ram("rd_resp_valid")?,
            got_data: ram("rd_resp_data")?,
            got_ready: ram("rd_resp_ready")?,
            asked: vec![VecDeque::new(); count],
        })
    }

    fn segments(&self) -> usize {
        self.puts.len()
    }

    /// Segment and address of a descriptor's word.
    fn place(&self, at: u64, word: usize) -> (usize, u64) {
        let line = (self.segments() * self.word) as u64;
        (word % self.segments(), at / line + (word / self.segments()) as u64)
    }

    /// What the RAM has taken in this clock.
    fn shake(&mut self, dut: &Dut) {
        for segment in 0..self.segments() {
            if let Some(Command::Put((tag, ..))) = self.puts[segment].taken(dut) {
                self.unconfirmed[segment].push_back(tag);
            }
            if let Some(Command::Get { tag, word, .. }) = self.gets[segment].taken(dut) {
                self.asked[segment].push_back((tag, word));
            }
        }
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
    rx_user: PortId,
    last_user: u64,
    /// A beat of the frame that is coming has nothing beside it.
    bare: bool,
    events: Vec<Vec<u8>>,
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
    /// The relative time, of which the MAC's stamps are the lower bits.
    time: PortId,
}

/// What stands in the relative time above the bits that stamps have.
const EARLIER: u64 = 0xABCD << 48;

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
            rx_user: Axis::lane(dut, "m_axis_sync_rx_tuser", lane)?,
            last_user: 0,
            bare: false,
            events: Vec::new(),
            coming: Vec::new(),
            received: Vec::new(),
            rx_ready: false,
            from_mac: cpl("s")?,
            to_host: cpl("m")?,
            sent: VecDeque::new(),
            completed: Vec::new(),
            stat: [stat("tdata")?, stat("tid")?, stat("tvalid")?],
            statistics: Default::default(),
            time: dut.port("ptp_sync_ts_rel")?,
        })
    }

    /// Ports that never change.
    pub(super) fn tie(&self, dut: &mut Dut) -> Result<(), ModelError> {
        let ready = dut.port("m_axis_stat_tready")?;
        dut.set(ready, 1u64);
        dut.set(self.to_host[1], 1u64);
        // A time of day that is no time of a stamp.
        dut.set_wide(dut.port("ptp_sync_ts_tod")?, &[u64::MAX, u64::MAX >> 32]);
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

    /// Frames of the block itself that came to the host since the last call: there are completions.
    pub fn take_events(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.events)
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

    /// Makes a read or write fail that is no fault of the NIC's: behind so many others of its class.
    pub fn fail(&mut self, class: DmaClass, reads: bool, behind: usize) {
        let class = &mut self.classes[class as usize];
        let queue = if reads { &mut class.reads } else { &mut class.writes };
        queue.fails = Some(behind);
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
        // Which of them are taken may depend on the others.
        if self.classes.iter().any(|class| class.puts.iter().chain(&class.gets).any(|lane| lane.shown)) {
            dut.settle();
        }
        self.classes.iter_mut().for_each(|class| class.shake(dut));
        dut.set(self.time, EARLIER | now);
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
                && at.is_multiple_of(LINE)
                && dut.get(desc.ram_sel) == 0
                && queue.jobs.iter().all(|job| job.tag != tag)
                && queue.ends.iter().all(|end| end.1 != tag);
            self.faults += u64::from(!right);
            job = Some(Job {
                tag,
                due: 0,
                address: dut.get(desc.dma_addr),
                at,
                len,
                begun: false,
                error: false,
                open: 0,
                words: vec![None; len.div_ceil(class.word)],
                ended: false,
            });
        }
        if let Some(job) = &mut job {
            job.due = now + self.delay(delays);
        }
        self.taken_back += u64::from(taken_back);
        let class = &mut self.classes[id];
        let queue = if reads { &mut class.reads } else { &mut class.writes };
        job.iter_mut().for_each(|job| job.error = queue.failing());
        queue.refused = shown && !willing;
        queue.jobs.extend(job);
    }

    /// Words that are in the RAM.
    fn confirm(&mut self, dut: &Dut, id: usize, now: u64) {
        let class = &mut self.classes[id];
        for segment in 0..class.segments() {
            if dut.is_high(class.put_done[segment]) {
                let Some(tag) = class.unconfirmed[segment].pop_front() else {
                    self.faults += 1;
                    continue;
                };
                class.reads.jobs.iter_mut().filter(|job| job.tag == tag).for_each(|job| job.open -= 1);
            }
        }
        while let Some(at) = class.reads.jobs.iter().position(|job| job.begun && job.open == 0) {
            let job = class.reads.jobs.remove(at);
            let wait = self.rng.random_range(0..5);
            let error = if job.error { READ_ERRORS[self.rng.random_range(0..READ_ERRORS.len())] } else { 0 };
            class.reads.ends.push((now + wait, job.tag, error));
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
            if !job.error {
                job.error = !memory.read(job.address, &mut bytes);
                self.faults += u64::from(job.error);
            }
            let (tag, base, bytes_of) = (job.tag, job.at, class.word);
            for (i, chunk) in bytes.chunks(bytes_of).enumerate() {
                // What is not enabled is not written, whatever it is.
                let mut word = [0xEE; WORD];
                word[..chunk.len()].copy_from_slice(chunk);
                let all = u64::MAX >> (64 - chunk.len());
                let cut = if self.rng.random::<f64>() < 0.2 { self.rng.random_range(0..bytes_of) } else { 0 };
                let first = all & ((1u64 << cut) - 1);
                let (segment, address) = class.place(base, i);
                for enable in [first, all & !first].into_iter().filter(|&enable| enable != 0) {
                    class.puts[segment].waiting.push_back(Command::Put((tag, address, enable, word)));
                    class.reads.jobs[at].open += 1;
                }
            }
        }
        for segment in 0..self.classes[id].segments() {
            let willing = self.chance(id);
            let class = &mut self.classes[id];
            if let Some(Command::Put((_, address, enable, word))) = class.puts[segment].show(dut, willing) {
                dut.set(class.puts[segment].addr, address);
                dut.set(class.put_be[segment], enable);
                dut.set_wide(class.put_data[segment], &words(&word[..class.word]));
            }
        }
    }

    /// Asks the RAM for the words of writes.
    fn read_ram(&mut self, dut: &mut Dut, id: usize, now: u64) {
        let class = &mut self.classes[id];
        if let Some(job) = class.writes.jobs.iter_mut().find(|job| !job.begun && job.due <= now) {
            job.begun = true;
            let (tag, base, count) = (job.tag, job.at, job.words.len());
            for word in 0..count {
                let (segment, at) = class.place(base, word);
                class.gets[segment].waiting.push_back(Command::Get { tag, word, at });
            }
        }
        for segment in 0..self.classes[id].segments() {
            let willing = self.chance(id);
            let lane = &mut self.classes[id].gets[segment];
            if let Some(Command::Get { at, .. }) = lane.show(dut, willing) {
                dut.set(lane.addr, at);
            }
        }
    }

    /// Takes the words that come.
    fn collect(&mut self, dut: &mut Dut, id: usize, now: u64) {
        for segment in 0..self.classes[id].segments() {
            // Offers stay until they are taken.
            let takes = self.chance(id);
            let class = &mut self.classes[id];
            dut.set(class.got_ready[segment], takes);
            if !dut.is_high(class.got_valid[segment]) || !takes {
                continue;
            }
            let Some((tag, word)) = class.asked[segment].pop_front() else {
                self.faults += 1;
                continue;
            };
            let mut data = vec![0; class.word / 8];
            dut.get_wide(class.got_data[segment], &mut data);
            let bytes: Vec<u8> = data.iter().flat_map(|word| word.to_le_bytes()).collect();
            for job in class.writes.jobs.iter_mut().filter(|job| job.tag == tag) {
                job.words[word] = Some(bytes.clone());
            }
        }
        let class = &mut self.classes[id];
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
        let (_, tag, mut error) = queue.ends.remove(at);
        if let Some(at) = queue.jobs.iter().position(|job| !reads && job.tag == tag) {
            let job = queue.jobs.remove(at);
            let bytes: Vec<u8> = job.words.into_iter().flatten().flatten().take(job.len).collect();
            let there = job.error || memory.write(job.address, &bytes);
            self.faults += u64::from(!there);
            if job.error || !there {
                error = WRITE_ERRORS[self.rng.random_range(0..WRITE_ERRORS.len())];
            }
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
                self.offset += rest.min(self.tx.tdata.width() / 8);
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
            super::take_beat(dut, &self.rx, self.rx.tdata.width() / 8, &mut self.coming);
            // Beside each beat, when it came: no two are alike.
            let user = dut.get(self.rx_user.bits(0, self.rx_user.width().min(64)));
            let timed = self.rx_user.width() > 1;
            // Only the block's own frames have nothing beside them.
            let event = self.coming.get(12..14) == Some(&EVENT_TYPE.to_be_bytes());
            if user == 0 && timed {
                self.bare = true;
            } else {
                self.faults += u64::from(timed && (user <= self.last_user || user & 1 != 0));
                self.last_user = user;
            }
            if dut.is_high(self.rx.tlast) {
                let frame = std::mem::take(&mut self.coming);
                self.faults += u64::from(timed && self.bare != event);
                self.bare = false;
                if event {
                    self.events.push(frame);
                } else {
                    self.received.push(frame);
                }
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
