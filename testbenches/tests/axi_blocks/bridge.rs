//! Four DMA ports, one bus, memory behind it.

use std::collections::VecDeque;

use tessera_rtl::shell::axi_bridge::AxiBridge;
use tessera_sim::tb::{self, cycle, Agent, Gate, Pattern, Rng, Shape, StreamDriver, StreamMonitor};
use tessera_sim::verilator::{Design, Dut, PortId};
use tessera_testbenches::host::SharedMemory;

use super::{port, reset, Address, Burst, Hand, CLASSES};

/// A descriptor: address, bytes, tag.
type Task = (u64, usize, u64);

/// Short and long ones at any place of a beat, about and over 4 KiB. Each port has memory of its own.
fn tasks(space: u64, bytes: usize, longest: u64, rng: &mut Rng) -> Vec<Task> {
    let base = (space + 1) << 44;
    let mut tasks = Vec::new();
    for _ in 0..20 {
        let anywhere = base + rng.below(1 << 30);
        tasks.push((anywhere, rng.range(1..3 * bytes as u64) as usize));
        // From before a page's end, to it, and over it.
        let before = rng.range(1..200);
        let page = base + (rng.range(1..1 << 18) << 12);
        let any = rng.range(1..longest + 1);
        let length = *rng.pick(&[before, before + 1, longest.min(before + 4096), any]);
        tasks.push((page - before, length as usize));
    }
    tasks.push((base, longest as usize));
    tasks.iter().enumerate().map(|(i, &(address, length))| (address, length, i as u64 ^ space << 6)).collect()
}

/// The bursts of a descriptor: whole beats, cut at 4 KiB and after 256.
fn cut(&(address, length, _): &Task, bytes: u64) -> Vec<Burst> {
    let window = (256 * bytes).min(4096);
    let (mut at, last) = (address / bytes * bytes, address + length as u64 - 1);
    let mut bursts = Vec::new();
    while at <= last {
        let end = (at | (window - 1)).min(last);
        bursts.push((at, (end - at) / bytes));
        at = end + 1;
    }
    bursts
}

/// Memory behind the bridge's bus: beats of the two IDs mixed, answers in any order between them.
struct Bus {
    memory: SharedMemory,
    bytes: u64,
    ar: Address,
    aw: Address,
    fixed: Vec<(PortId, u64)>,
    ids: [PortId; 2],
    r: (Hand, PortId, PortId, PortId, PortId),
    w: (Hand, PortId, PortId, PortId),
    b: (Hand, PortId, PortId),
    accept: Gate,
    offer: Gate,
    rng: Rng,
    /// Bursts to be read, by ID, with the clock from which on.
    reads: [VecDeque<(u64, Burst)>; 2],
    reading: Option<usize>,
    writes: VecDeque<(usize, Burst)>,
    wrong: bool,
    answers: [VecDeque<(u64, u64)>; 2],
    answering: Option<usize>,
    /// Bursts asked for and answers taken, by direction and ID.
    log: [[Vec<Burst>; 2]; 2],
    answered: [usize; 2],
    /// How often a beat or an answer was of the other ID than the one before.
    mixed: usize,
    before: usize,
}

impl Bus {
    fn new(
        dut: &Dut,
        bytes: usize,
        memory: SharedMemory,
        stall: Pattern,
        idle: Pattern,
        rng: &mut Rng,
    ) -> Self {
        let p = |name: &str| port(dut, &format!("m_axi_{name}"));
        let hand = |name: &str| Hand::new(dut, &format!("m_axi_{name}"));
        let mut fixed = Vec::new();
        for way in ["ar", "aw"] {
            let size = u64::from(bytes.ilog2());
            let values = [("size", size), ("burst", 1), ("lock", 0), ("cache", 3), ("prot", 0)];
            fixed.extend(values.map(|(what, value)| (p(&format!("{way}{what}")), value)));
        }
        Bus {
            memory,
            bytes: bytes as u64,
            ar: Address::new(dut, "m_axi_ar"),
            aw: Address::new(dut, "m_axi_aw"),
            fixed,
            ids: [p("arid"), p("awid")],
            r: (hand("r"), p("rid"), p("rdata"), p("rresp"), p("rlast")),
            w: (hand("w"), p("wdata"), p("wstrb"), p("wlast")),
            b: (hand("b"), p("bid"), p("bresp")),
            accept: stall.gate(rng.fork()),
            offer: idle.gate(rng.fork()),
            rng: rng.fork(),
            reads: Default::default(),
            reading: None,
            writes: VecDeque::new(),
            wrong: false,
            answers: Default::default(),
            answering: None,
            log: Default::default(),
            answered: [0; 2],
            mixed: 0,
            before: 0,
        }
    }

    fn fails(&self, address: u64) -> bool {
        let memory = self.memory.borrow();
        memory.poisoned.iter().any(|bad| bad.start < address + self.bytes && address < bad.end)
    }

    /// One of the IDs that have something due.
    fn pick<T>(rng: &mut Rng, queues: &[VecDeque<(u64, T)>; 2], now: u64) -> Option<usize> {
        let any = rng.below(2) as usize;
        [any, 1 - any].into_iter().find(|&id| queues[id].front().is_some_and(|first| first.0 <= now))
    }

    fn asked(&mut self, dut: &Dut, write: bool) -> Option<(usize, Burst)> {
        let channel = if write { &self.aw } else { &self.ar };
        if channel.hand.offered(dut) {
            for &(field, value) in &self.fixed {
                assert_eq!(dut.sampled(field), value, "{field:?}");
            }
        }
        let (address, length) = channel.hand.moved(dut).then(|| channel.burst(dut))?;
        let last = address + (length + 1) * self.bytes - 1;
        assert_eq!(address % self.bytes, 0, "a burst begins inside a beat");
        assert_eq!(address >> 12, last >> 12, "a burst crosses 4 KiB");
        let id = dut.sampled(self.ids[usize::from(write)]) as usize;
        self.log[usize::from(write)][id].push((address, length));
        Some((id, (address, length)))
    }
}

impl Agent for Bus {
    fn drive(&mut self, dut: &mut Dut) {
        let now = dut.cycles();
        // Each gate is asked once a clock: one that alternates would else always be shut for one of them.
        let (accepts, offers) = (self.accept.is_open(), self.offer.is_open());
        dut.set(self.ar.hand.ready, accepts);
        dut.set(self.aw.hand.ready, accepts);
        dut.set(self.w.0.ready, accepts && !self.writes.is_empty());
        if self.reading.is_none() && offers {
            self.reading = Self::pick(&mut self.rng, &self.reads, now);
        }
        let (hand, id, data, response, last) = self.r;
        dut.set(hand.valid, self.reading.is_some());
        // Nobody needs it.
        dut.set(last, self.rng.chance(0.5));
        if let Some(whose) = self.reading {
            let (_, (address, _)) = self.reads[whose][0];
            let bytes = self.memory.borrow().read(address, self.bytes as usize);
            let words: Vec<u64> =
                bytes.chunks(8).map(|b| u64::from_le_bytes(b.try_into().unwrap())).collect();
            dut.set_wide(data, &words);
            dut.set(id, whose as u64);
            dut.set(response, if self.fails(address) { 2 + address % 2 } else { 0 });
        }
        if self.answering.is_none() && offers {
            self.answering = Self::pick(&mut self.rng, &self.answers, now);
        }
        let (hand, id, response) = self.b;
        dut.set(hand.valid, self.answering.is_some());
        if let Some(whose) = self.answering {
            dut.set(id, whose as u64);
            dut.set(response, self.answers[whose][0].1);
        }
    }

    fn sample(&mut self, dut: &Dut) {
        let now = dut.cycles();
        if let Some(id) = self.reading.filter(|_| self.r.0.moved(dut)) {
            self.reading = None;
            self.mixed += usize::from(id != self.before);
            self.before = id;
            let first = &mut self.reads[id][0];
            first.1 .0 += self.bytes;
            if first.1 .1 == 0 {
                self.reads[id].pop_front();
            } else {
                first.1 .1 -= 1;
            }
        }
        if let Some(id) = self.answering.filter(|_| self.b.0.moved(dut)) {
            self.answering = None;
            self.answers[id].pop_front();
            self.answered[id] += 1;
        }
        if self.w.0.moved(dut) {
            let (id, (address, left)) = self.writes[0];
            let mut words = vec![0; self.bytes as usize / 8];
            dut.sampled_wide(self.w.1, &mut words);
            let strobes = dut.sampled(self.w.2);
            for (i, byte) in words.iter().flat_map(|word| word.to_le_bytes()).enumerate() {
                if strobes >> i & 1 != 0 {
                    self.memory.borrow_mut().write(address + i as u64, &[byte]);
                }
            }
            self.wrong |= self.fails(address);
            assert_eq!(dut.sampled(self.w.3) != 0, left == 0, "wlast");
            if left == 0 {
                self.writes.pop_front();
                let due = now + self.rng.range(1..60);
                let response = if self.wrong { 2 + address % 2 } else { 0 };
                self.answers[id].push_back((due, response));
                self.wrong = false;
            } else {
                self.writes[0].1 = (address + self.bytes, left - 1);
            }
        }
        if let Some((id, burst)) = self.asked(dut, false) {
            let due = now + self.rng.range(1..60);
            self.reads[id].push_back((due, burst));
        }
        if let Some(asked) = self.asked(dut, true) {
            self.writes.push_back(asked);
        }
    }
}

/// Statuses of a port.
struct Statuses {
    ports: [PortId; 3],
    came: Vec<(u64, bool)>,
}

impl Statuses {
    fn new(dut: &Dut, name: &str) -> Self {
        let ports = ["valid", "tag", "error"].map(|what| port(dut, &format!("{name}_status_{what}")));
        Statuses { ports, came: Vec::new() }
    }
}

impl Agent for Statuses {
    fn drive(&mut self, _: &mut Dut) {}

    fn sample(&mut self, dut: &Dut) {
        if dut.sampled(self.ports[0]) != 0 {
            self.came.push((dut.sampled(self.ports[1]), dut.sampled(self.ports[2]) != 0));
        }
    }
}

/// One in eight descriptors has a byte that fails. Which of all are hit, is told.
fn poison(memory: &SharedMemory, tasks: &[Task], bytes: u64, rng: &mut Rng) -> Vec<bool> {
    for &(address, length, _) in tasks {
        if rng.chance(0.125) {
            let at = address + rng.below(length as u64);
            memory.borrow_mut().poisoned.push(at..at + 1);
        }
    }
    let bad = memory.borrow().poisoned.clone();
    let hit = |&(address, length, _): &Task| {
        let (first, end) = (address / bytes * bytes, (address + length as u64).next_multiple_of(bytes));
        bad.iter().any(|range| range.start < end && first < range.end)
    };
    tasks.iter().map(hit).collect()
}

fn bridges() -> Vec<(usize, Design)> {
    vec![
        (8, tessera_testbenches::design("axi_bridge", AxiBridge::<64, 8>::new)),
        (64, tessera_testbenches::design("axi_bridge", AxiBridge::<512, 64>::new)),
    ]
}

/// A read port and a write port of a class, with what is asked of them.
struct Class {
    reads: Vec<Task>,
    writes: Vec<Task>,
    read_errors: Vec<bool>,
    write_errors: Vec<bool>,
    read_descs: StreamDriver,
    write_descs: StreamDriver,
    source: StreamDriver,
    monitor: StreamMonitor,
    read_statuses: Statuses,
    write_statuses: Statuses,
}

impl Class {
    fn new(
        dut: &Dut,
        (number, bytes): (usize, usize),
        (memory, expected): (&SharedMemory, &SharedMemory),
        (idle, stall): (Pattern, Pattern),
        rng: &mut Rng,
    ) -> Self {
        let name = |what: &str| format!("dma_{}_{what}", CLASSES[number]);
        let reads = tasks(2 * number as u64, bytes, 4096, rng);
        let writes = tasks(2 * number as u64 + 1, bytes, 4136, rng);
        for &(address, length, _) in &reads {
            memory.borrow_mut().write(address - 64, &rng.bytes(length + 128));
        }
        let descs = |what: &str, tasks: &[Task], rng: &mut Rng| {
            let prefix = format!("{}_desc", name(what));
            let shape = Shape::of_ports(dut.model(), &prefix, &["address", "length", "tag"]).unwrap();
            let mut driver = StreamDriver::with_shape(dut, &prefix, shape, idle, rng).unwrap();
            for &(address, length, tag) in tasks {
                driver.send_fields(&[("address", address), ("length", length as u64), ("tag", tag)]);
            }
            driver
        };
        let (read_descs, write_descs) = (descs("read", &reads, rng), descs("write", &writes, rng));
        let prefix = name("write_data");
        let shape = Shape::of_ports(dut.model(), &prefix, &["tdata"]).unwrap();
        let mut source = StreamDriver::with_shape(dut, &prefix, shape, idle, rng).unwrap();
        for &(address, length, _) in &writes {
            let content = rng.bytes(length);
            expected.borrow_mut().write(address, &content);
            for beat in content.chunks(bytes) {
                let mut beat = beat.to_vec();
                beat.extend(rng.bytes(bytes - beat.len()));
                let words = beat.chunks(8).map(|b| u64::from_le_bytes(b.try_into().unwrap()));
                source.send(words.collect::<Vec<u64>>());
            }
        }
        let prefix = name("read_data");
        let shape = Shape::of_ports(dut.model(), &prefix, &["tdata", "tlast"]).unwrap();
        let monitor = StreamMonitor::with_shape(dut, &prefix, shape, stall, rng).unwrap();
        let read_errors = poison(memory, &reads, bytes as u64, rng);
        let write_errors = poison(memory, &writes, bytes as u64, rng);
        let (read_statuses, write_statuses) =
            (Statuses::new(dut, &name("read")), Statuses::new(dut, &name("write")));
        Class {
            reads,
            writes,
            read_errors,
            write_errors,
            read_descs,
            write_descs,
            source,
            monitor,
            read_statuses,
            write_statuses,
        }
    }

    fn agents(&mut self) -> [&mut dyn Agent; 6] {
        [
            &mut self.read_descs,
            &mut self.write_descs,
            &mut self.source,
            &mut self.monitor,
            &mut self.read_statuses,
            &mut self.write_statuses,
        ]
    }

    fn is_done(&self) -> bool {
        self.read_statuses.came.len() >= self.reads.len()
            && self.write_statuses.came.len() >= self.writes.len()
    }

    /// Every status, every byte read.
    fn check(&mut self, memory: &SharedMemory, bytes: usize) {
        for (tasks, errors, statuses) in [
            (&self.reads, &self.read_errors, &self.read_statuses),
            (&self.writes, &self.write_errors, &self.write_statuses),
        ] {
            let due: Vec<_> = tasks.iter().zip(errors).map(|(task, &error)| (task.2, error)).collect();
            assert_eq!(statuses.came, due, "statuses, in order, with their errors");
        }
        for &(address, length, _) in &self.reads {
            let wanted = memory.borrow().read(address, length);
            let beats = length.div_ceil(bytes);
            for i in 0..beats {
                let beat = self.monitor.take().expect("data of the descriptor").word;
                assert_eq!(beat.bits(bytes * 8, 1) != 0, i + 1 == beats, "tlast of beat {i}");
                let part = &wanted[i * bytes..length.min((i + 1) * bytes)];
                let came: Vec<u8> = (0..part.len()).map(|byte| beat.bits(byte * 8, 8) as u8).collect();
                assert!(came == part, "beat {i} of {length} bytes at {address:#x}");
            }
        }
        assert!(self.monitor.take().is_none(), "data that nobody asked for");
    }
}

#[test]
fn four_ports_over_one_bus() {
    for (bytes, design) in bridges() {
        for (idle, stall) in Pattern::matrix() {
            tb::run(&format!("axi_blocks::bridge{} {idle:?} {stall:?}", bytes * 8), &design, |dut, rng| {
                let (memory, expected) = (SharedMemory::default(), SharedMemory::default());
                let mut classes =
                    [0, 1].map(|i| Class::new(dut, (i, bytes), (&memory, &expected), (idle, stall), rng));
                let mut bus = Bus::new(dut, bytes, memory.clone(), stall, idle, rng);
                reset(dut);
                let mut clocks = 0;
                while !classes.iter().all(Class::is_done) {
                    let [ctrl, data] = &mut classes;
                    let mut agents: Vec<&mut dyn Agent> = vec![&mut bus];
                    agents.extend(ctrl.agents());
                    agents.extend(data.agents());
                    cycle(dut, &mut agents);
                    for (id, class) in classes.iter().enumerate() {
                        // A status says that the bytes are there: its answers have come.
                        let told = class.write_statuses.came.len().min(class.writes.len());
                        let due: usize =
                            class.writes[..told].iter().map(|task| cut(task, bytes as u64).len()).sum();
                        assert!(bus.answered[id] >= due, "a status before its answer");
                    }
                    clocks += 1;
                    if clocks == 400_000 {
                        let left = classes.map(|class| {
                            [
                                class.reads.len() - class.read_statuses.came.len(),
                                class.writes.len() - class.write_statuses.came.len(),
                            ]
                        });
                        panic!("no end: reads and writes left {left:?}");
                    }
                }
                for (id, class) in classes.iter_mut().enumerate() {
                    class.check(&memory, bytes);
                    for (log, tasks) in [(&bus.log[0][id], &class.reads), (&bus.log[1][id], &class.writes)] {
                        let due: Vec<Burst> = tasks.iter().flat_map(|task| cut(task, bytes as u64)).collect();
                        assert_eq!(log, &due, "bursts of ID {id}, in order");
                    }
                    for &(address, length, _) in &class.writes {
                        let around = |memory: &SharedMemory| memory.borrow().read(address - 64, length + 128);
                        assert!(
                            around(&memory) == around(&expected),
                            "{length} bytes at {address:#x}, or around"
                        );
                    }
                }
                assert!(bus.mixed > 40, "beats of the two IDs came mixed {} times only", bus.mixed);
            });
        }
    }
}
