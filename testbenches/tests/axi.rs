//! `shell::AxiRead` and `shell::AxiWrite`: bytes, bursts, errors and rate at every width.

use std::collections::VecDeque;

use tessera_rtl::shell::axi_read::AxiRead;
use tessera_rtl::shell::axi_write::AxiWrite;
use tessera_sim::tb::{self, cycle, Agent, Pattern, Rng, Shape, StreamDriver, StreamMonitor};
use tessera_sim::verilator::{Design, Dut, PortId};
use tessera_testbenches::axi::{AxiReads, AxiWrites};
use tessera_testbenches::host::SharedMemory;

struct Port {
    name: String,
    design: Design,
    bytes: usize,
}

fn reads() -> Vec<Port> {
    fn port<const W: usize, const K: usize>() -> Port {
        let design = tessera_testbenches::design("axi_read", AxiRead::<W, K>::new);
        Port { name: format!("read{W}"), design, bytes: K }
    }
    vec![port::<512, 64>(), port::<256, 32>(), port::<128, 16>(), port::<64, 8>()]
}

fn writes() -> Vec<Port> {
    fn port<const W: usize, const K: usize>() -> Port {
        let design = tessera_testbenches::design("axi_write", AxiWrite::<W, K>::new);
        Port { name: format!("write{W}"), design, bytes: K }
    }
    vec![port::<512, 64>(), port::<256, 32>(), port::<128, 16>(), port::<64, 8>()]
}

/// A descriptor: address, length, tag.
type Task = (u64, usize, u64);

/// Every place in a beat with lengths around a beat and two, ends at 4 KiB and behind it, the
/// longest, and others.
fn tasks(bytes: usize, longest: usize, rng: &mut Rng) -> Vec<Task> {
    let mut tasks = Vec::new();
    let k = bytes as u64;
    for offset in 0..k {
        for length in [1, bytes - 1, bytes, bytes + 1, 2 * bytes, rng.range(1..4 * k) as usize] {
            tasks.push((rng.below(1 << 20) * k + offset, length.max(1)));
        }
    }
    for _ in 0..40 {
        let before = rng.range(1..4096);
        tasks.push((((rng.below(1 << 20) + 1) << 12) - before, rng.range(1..longest as u64 + 1) as usize));
        tasks.push(((rng.below(1 << 20) << 12) + rng.below(k), longest));
    }
    // Behind the first 4 GiB, and nearly at the end.
    tasks.push(((1 << 40) + 5, 3000));
    tasks.push((u64::MAX - 8191, 4096));
    tasks.iter().enumerate().map(|(i, &(address, length))| (address, length, i as u64 & 0xFF)).collect()
}

/// What reaches beyond 4 KiB, or 256 beats, is cut there and nowhere else.
fn bursts(tasks: &[Task], bytes: usize) -> Vec<(u64, u64)> {
    let k = bytes as u64;
    let window = (256 * k).min(4096);
    let mut bursts = Vec::new();
    for &(address, length, _) in tasks {
        let (mut at, last) = (address / k * k, address + (length as u64 - 1));
        loop {
            let end = (at | (window - 1)).min(last);
            bursts.push((at, (end - at) / k + 1));
            if end == last {
                break;
            }
            at = end + 1;
        }
    }
    bursts
}

/// Statuses as they come.
struct Statuses {
    valid: PortId,
    tag: PortId,
    error: PortId,
    came: VecDeque<(u64, bool)>,
}

impl Statuses {
    fn new(dut: &Dut) -> Self {
        let port = |name: &str| dut.port(&format!("status_{name}")).unwrap();
        Self { valid: port("valid"), tag: port("tag"), error: port("error"), came: VecDeque::new() }
    }
}

impl Agent for Statuses {
    fn drive(&mut self, _: &mut Dut) {}

    fn sample(&mut self, dut: &Dut) {
        if dut.sampled(self.valid) != 0 {
            self.came.push_back((dut.sampled(self.tag), dut.sampled(self.error) != 0));
        }
    }
}

fn descriptors(dut: &Dut, tasks: &[Task], idle: Pattern, rng: &mut Rng) -> StreamDriver {
    let shape = Shape::of_ports(dut.model(), "desc", &["address", "length", "tag"]).unwrap();
    let mut driver = StreamDriver::with_shape(dut, "desc", shape, idle, rng).unwrap();
    for &(address, length, tag) in tasks {
        driver.send_fields(&[("address", address), ("length", length as u64), ("tag", tag)]);
    }
    driver
}

/// Some of the memory that descriptors name: reading or writing it fails. Which of them, is told.
fn poison(memory: &SharedMemory, tasks: &[Task], bytes: usize, rng: &mut Rng) -> Vec<bool> {
    let beats = |&(address, length, _): &Task| {
        let k = bytes as u64;
        let (first, last) = (address / k * k, (address + (length as u64 - 1)) / k * k);
        first..last.saturating_add(k)
    };
    for task in tasks {
        if rng.chance(0.1) {
            let range = beats(task);
            // In one of its beats, wherever.
            let at = range.start + rng.below((range.end - range.start).min(5000));
            memory.borrow_mut().poisoned.push(at..at.saturating_add(1));
        }
    }
    let poisoned = memory.borrow().poisoned.clone();
    let hit = |task| {
        let range = beats(task);
        poisoned.iter().any(|bad| bad.start < range.end && range.start < bad.end)
    };
    tasks.iter().map(hit).collect()
}

fn reset(dut: &mut Dut) {
    let rst = dut.port("rst").unwrap();
    dut.reset(rst, 2);
}

fn data(dut: &Dut) -> Shape {
    Shape::of_ports(dut.model(), "data", &["tdata", "tlast"]).unwrap()
}

#[test]
fn what_is_read_is_what_is_there() {
    for port in reads() {
        for (idle, stall) in Pattern::matrix() {
            tb::run(&format!("axi::{} {idle:?} {stall:?}", port.name), &port.design, |dut, rng| {
                let memory = SharedMemory::default();
                let tasks = tasks(port.bytes, 4096, rng);
                for &(address, length, _) in &tasks {
                    // What lies around is no zero either.
                    let start = address.saturating_sub(64);
                    let len = (length + 128).min((u64::MAX - start) as usize);
                    memory.borrow_mut().write(start, &rng.bytes(len));
                }
                let errors = poison(&memory, &tasks, port.bytes, rng);
                let mut descs = descriptors(dut, &tasks, idle, rng);
                let mut monitor = StreamMonitor::with_shape(dut, "data", data(dut), stall, rng).unwrap();
                let mut bus = AxiReads::new(dut, port.bytes as u64, memory.clone(), stall, idle, rng);
                bus.latency = rng.pick(&[1..2, 1..40, 100..200]).clone();
                let mut statuses = Statuses::new(dut);
                reset(dut);
                let mut done = 0;
                let mut clocks = 0;
                while done < tasks.len() {
                    cycle(dut, &mut [&mut descs, &mut monitor, &mut bus, &mut statuses]);
                    clocks += 1;
                    assert!(clocks < 2_000_000, "{done} of {} descriptors are done", tasks.len());
                    while let Some((tag, error)) = statuses.came.pop_front() {
                        let (address, length, expected) = tasks[done];
                        assert_eq!((tag, error), (expected, errors[done]), "status of descriptor {done}");
                        let wanted = memory.borrow().read(address, length);
                        let count = length.div_ceil(port.bytes);
                        for i in 0..count {
                            // The status is not before its data.
                            let beat = monitor.take().expect("data of the descriptor").word;
                            let last = beat.bits(port.bytes * 8, 1) != 0;
                            assert_eq!(last, i + 1 == count, "tlast of beat {i}");
                            let mut bytes = wanted[i * port.bytes..].to_vec();
                            bytes.resize(bytes.len().max(port.bytes), 0);
                            let came: Vec<u8> =
                                (0..port.bytes).map(|byte| beat.bits(byte * 8, 8) as u8).collect();
                            assert!(
                                came == bytes[..port.bytes],
                                "beat {i} of {length} bytes at {address:#x}"
                            );
                        }
                        done += 1;
                    }
                }
                assert!(monitor.take().is_none(), "data that nobody asked for");
                assert_eq!(bus.log, bursts(&tasks, port.bytes));
            });
        }
    }
}

#[test]
fn what_is_written_is_there_and_nothing_else() {
    for port in writes() {
        for (idle, stall) in Pattern::matrix() {
            tb::run(&format!("axi::{} {idle:?} {stall:?}", port.name), &port.design, |dut, rng| {
                let (memory, expected) = (SharedMemory::default(), SharedMemory::default());
                let tasks = tasks(port.bytes, 4136, rng);
                let mut frames = Vec::new();
                for &(address, length, _) in &tasks {
                    let bytes = rng.bytes(length);
                    let around = rng.bytes(64);
                    for memory in [&memory, &expected] {
                        memory.borrow_mut().write(address.saturating_sub(64), &around);
                        memory
                            .borrow_mut()
                            .write(address.saturating_add(length as u64).min(u64::MAX - 64), &around);
                    }
                    frames.push(bytes);
                }
                for (&(address, ..), bytes) in tasks.iter().zip(&frames) {
                    for (i, &byte) in bytes.iter().enumerate() {
                        expected.borrow_mut().write(address.wrapping_add(i as u64), &[byte]);
                    }
                }
                let errors = poison(&memory, &tasks, port.bytes, rng);
                let mut descs = descriptors(dut, &tasks, idle, rng);
                let shape = Shape::of_ports(dut.model(), "data", &["tdata"]).unwrap();
                let mut source = StreamDriver::with_shape(dut, "data", shape, stall, rng).unwrap();
                for bytes in &frames {
                    for beat in bytes.chunks(port.bytes) {
                        let mut beat = beat.to_vec();
                        // What is behind the end is nothing.
                        beat.extend(rng.bytes(port.bytes - beat.len()));
                        let words: Vec<u64> =
                            beat.chunks(8).map(|b| u64::from_le_bytes(b.try_into().unwrap())).collect();
                        source.send(words);
                    }
                }
                let mut bus = AxiWrites::new(dut, port.bytes as u64, memory.clone(), idle, stall, rng);
                bus.latency = rng.pick(&[1..2, 1..40, 100..200]).clone();
                bus.data_first = rng.chance(0.3);
                let mut statuses = Statuses::new(dut);
                reset(dut);
                let mut clocks = 0;
                while statuses.came.len() < tasks.len() {
                    cycle(dut, &mut [&mut descs, &mut source, &mut bus, &mut statuses]);
                    clocks += 1;
                    let done = statuses.came.len();
                    assert!(clocks < 2_000_000, "{done} of {} descriptors are done", tasks.len());
                }
                for (i, ((tag, error), &(_, _, expected))) in statuses.came.iter().zip(&tasks).enumerate() {
                    assert_eq!((*tag, *error), (expected, errors[i]), "status of descriptor {i}");
                }
                assert_eq!(bus.log, bursts(&tasks, port.bytes));
                for &(address, length, _) in &tasks {
                    let start = address.saturating_sub(64);
                    let len = (length + 128).min((u64::MAX - start) as usize);
                    let (is, wanted) = (memory.borrow().read(start, len), expected.borrow().read(start, len));
                    assert!(is == wanted, "{length} bytes at {address:#x}, or around");
                }
            });
        }
    }
}

/// Statuses tell of what is in memory already: none comes before its answers.
#[test]
fn no_status_comes_before_the_last_answer() {
    let port = &writes()[0];
    tb::run("axi::answers", &port.design, |dut, rng| {
        let memory = SharedMemory::default();
        let tasks = [(4096 - 64, 128, 7)];
        let mut descs = descriptors(dut, &tasks, Pattern::Always, rng);
        let shape = Shape::of_ports(dut.model(), "data", &["tdata"]).unwrap();
        let mut source = StreamDriver::with_shape(dut, "data", shape, Pattern::Always, rng).unwrap();
        source.send(vec![1; 8]);
        source.send(vec![2; 8]);
        let mut bus = AxiWrites::new(dut, 64, memory, Pattern::Always, Pattern::Always, rng);
        bus.latency = 50..51;
        let mut statuses = Statuses::new(dut);
        reset(dut);
        let mut clock_of_status = 0;
        for _ in 0..200 {
            cycle(dut, &mut [&mut descs, &mut source, &mut bus, &mut statuses]);
            if clock_of_status == 0 && !statuses.came.is_empty() {
                clock_of_status = dut.cycles();
            }
        }
        assert_eq!(bus.log.len(), 2, "two bursts");
        assert_eq!(statuses.came, [(7, false)], "and one status");
        assert!(clock_of_status > bus.beats.1 + 50, "at {clock_of_status}, the last beat at {}", bus.beats.1);
    });
}

/// Clocks for `count` descriptors of `length` bytes at every `stride`.
fn clocks_of_reads(port: &Port, (length, stride, count): (usize, u64, u64)) -> u64 {
    let mut clocks = 0;
    let result = std::cell::Cell::new(0);
    tb::run(&format!("axi::rate {} {length} {stride}", port.name), &port.design, |dut, rng| {
        let tasks: Vec<Task> = (0..count).map(|i| (1 << 20 | (i * stride), length, i & 0xFF)).collect();
        let mut descs = descriptors(dut, &tasks, Pattern::Always, rng);
        let mut monitor = StreamMonitor::with_shape(dut, "data", data(dut), Pattern::Always, rng).unwrap();
        let memory = SharedMemory::default();
        let mut bus = AxiReads::new(dut, port.bytes as u64, memory, Pattern::Always, Pattern::Always, rng);
        bus.latency = 1..2;
        let mut statuses = Statuses::new(dut);
        reset(dut);
        let begun = dut.cycles();
        while statuses.came.len() < count as usize {
            cycle(dut, &mut [&mut descs, &mut monitor, &mut bus, &mut statuses]);
            assert!(dut.cycles() < begun + 1_000_000, "no end");
        }
        result.set(dut.cycles() - begun);
    });
    clocks += result.get();
    clocks
}

#[test]
fn a_beat_moves_in_every_clock() {
    for port in reads() {
        let k = port.bytes as u64;
        // Whole beats; in the middle of beats, so that each descriptor has a beat more.
        assert!(clocks_of_reads(&port, (4096, 4096, 32)) <= 32 * 4096 / k + 12, "{}", port.name);
        assert!(
            clocks_of_reads(&port, (4096, 4096 + k / 2, 32)) <= 32 * (4096 / k + 1) + 12,
            "{}",
            port.name
        );
        // One every two clocks.
        assert!(clocks_of_reads(&port, (port.bytes, k, 200)) <= 2 * 200 + 12, "{}", port.name);
    }
    for port in writes() {
        for (length, stride) in
            [(4096, 4096), (4096, 4096 + port.bytes as u64 / 2), (port.bytes, port.bytes as u64)]
        {
            tb::run(&format!("axi::rate {} {length} {stride}", port.name), &port.design, |dut, rng| {
                let tasks: Vec<Task> = (0..32).map(|i| (1 << 20 | (i * stride), length, i)).collect();
                let mut descs = descriptors(dut, &tasks, Pattern::Always, rng);
                let shape = Shape::of_ports(dut.model(), "data", &["tdata"]).unwrap();
                let mut source = StreamDriver::with_shape(dut, "data", shape, Pattern::Always, rng).unwrap();
                (0..32 * length / port.bytes).for_each(|_| source.send(vec![5; port.bytes / 8]));
                let memory = SharedMemory::default();
                let (open, k) = (Pattern::Always, port.bytes as u64);
                let mut bus = AxiWrites::new(dut, k, memory, open, open, rng);
                let mut statuses = Statuses::new(dut);
                reset(dut);
                let begun = dut.cycles();
                while statuses.came.len() < 32 {
                    cycle(dut, &mut [&mut descs, &mut source, &mut bus, &mut statuses]);
                    assert!(dut.cycles() < begun + 1_000_000, "no end");
                }
                let beats: u64 = bus.log.iter().map(|burst| burst.1).sum();
                let clocks = bus.beats.1 - begun;
                assert!(clocks <= beats.max(64) + 12, "{clocks} clocks for {beats} beats of {}", port.name);
            });
        }
    }
}
