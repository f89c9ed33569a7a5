//! `shell::SegRead` and `shell::SegWrite`: bytes, errors and order, whatever order the engine has.

use std::collections::VecDeque;

use tessera_rtl::shell::seg_read::SegRead;
use tessera_rtl::shell::seg_write::SegWrite;
use tessera_sim::tb::{self, cycle, Agent, Pattern, Rng, Shape, StreamDriver, StreamMonitor};
use tessera_sim::verilator::{Design, Dut, PortId};
use tessera_testbenches::host::SharedMemory;
use tessera_testbenches::segments::{SegmentReads, SegmentWrites};

/// A descriptor: address, length, tag.
type Task = (u64, usize, u64);

fn reads(depth_log2: usize) -> Design {
    tessera_testbenches::design_for("seg_read", depth_log2, SegRead::<9>::new)
}

fn writes(depth_log2: usize) -> Design {
    tessera_testbenches::design_for("seg_write", depth_log2, SegWrite::<9>::new)
}

/// Lines of two descriptors under way are not the same, and none crosses the end.
fn lines_are_apart(held: &[(u64, u64, u64)], depth_log2: usize) {
    for (i, a) in held.iter().enumerate() {
        assert!(a.0 + a.1 <= 1 << depth_log2, "lines {} and {} more: over the end", a.0, a.1);
        for b in &held[..i] {
            assert!(a.0 + a.1 <= b.0 || b.0 + b.1 <= a.0, "lines that two have: {a:?}, {b:?}");
        }
    }
}

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

/// Every length up to two lines and a bit, the longest, others; apart from each other with a
/// line between, so that an error, or a byte behind the end, is one descriptor's.
fn tasks(longest: usize, rng: &mut Rng) -> Vec<Task> {
    let lengths =
        (1..=300).chain([longest; 20]).chain((0..120).map(|_| rng.range(1..longest as u64 + 1) as usize));
    let mut lengths: Vec<usize> = lengths.collect();
    for i in (1..lengths.len()).rev() {
        lengths.swap(i, rng.below(i as u64 + 1) as usize);
    }
    const APART: u64 = 1 << 13;
    let offsets = APART - 64 - longest as u64 + 1;
    lengths
        .iter()
        .enumerate()
        .map(|(i, &len)| (i as u64 * APART + rng.below(offsets), len, i as u64 & 0xFF))
        .collect()
}

fn reset(dut: &mut Dut) {
    let rst = dut.port("rst").unwrap();
    dut.reset(rst, 2);
}

#[test]
fn what_is_read_is_what_is_there_in_the_order_asked_for() {
    // The smallest ring, in which nearly every descriptor waits for lines, and one with room.
    for depth_log2 in [7, 9] {
        let design = reads(depth_log2);
        for (idle, stall) in Pattern::matrix() {
            tb::run(&format!("segments::read {depth_log2} {idle:?} {stall:?}"), &design, |dut, rng| {
                let memory = SharedMemory::default();
                let tasks = tasks(4096, rng);
                let mut errors = Vec::new();
                for &(address, length, _) in &tasks {
                    memory.borrow_mut().write(address, &rng.bytes(length));
                    let fails = rng.chance(0.1);
                    errors.push(fails);
                    if fails {
                        let at = address + rng.below(length as u64);
                        memory.borrow_mut().poisoned.push(at..at + 1);
                    }
                }
                let mut descs = descriptors(dut, &tasks, idle, rng);
                let shape = Shape::of_ports(dut.model(), "data", &["tdata", "tlast"]).unwrap();
                let mut monitor = StreamMonitor::with_shape(dut, "data", shape, stall, rng).unwrap();
                let mut engine = SegmentReads::new(dut, memory.clone(), stall, idle, rng);
                engine.latency = rng.pick(&[1..2, 1..60, 200..400]).clone();
                let mut statuses = Statuses::new(dut);
                reset(dut);
                let (mut done, mut clocks) = (0, 0);
                while done < tasks.len() {
                    cycle(dut, &mut [&mut descs, &mut monitor, &mut engine, &mut statuses]);
                    clocks += 1;
                    assert!(clocks < 1_000_000, "{done} of {} descriptors are done", tasks.len());
                    lines_are_apart(&engine.held, depth_log2);
                    while let Some((tag, error)) = statuses.came.pop_front() {
                        let (address, length, expected) = tasks[done];
                        assert_eq!((tag, error), (expected, errors[done]), "status of descriptor {done}");
                        let mut wanted = memory.borrow().read(address, length);
                        if error {
                            wanted.fill(0);
                        }
                        let count = length.div_ceil(64);
                        wanted.resize(count * 64, 0);
                        for i in 0..count {
                            let beat = monitor.take().expect("data of the descriptor").word;
                            assert_eq!(beat.bits(512, 1) != 0, i + 1 == count, "tlast of beat {i}");
                            let came: Vec<u8> = (0..64).map(|byte| beat.bits(byte * 8, 8) as u8).collect();
                            assert!(came == wanted[i * 64..][..64], "beat {i} of {length} bytes");
                        }
                        done += 1;
                    }
                }
                assert!(monitor.take().is_none(), "data that nobody asked for");
            });
        }
    }
}

/// Lines that are given back are lent and written at once, while the last beats out of them wait for a taker.
#[test]
fn beats_that_wait_are_not_written_over() {
    for slow in [2, 40, 150] {
        tb::run(&format!("segments::waiting {slow}"), &reads(7), |dut, rng| {
            let memory = SharedMemory::default();
            let tasks: Vec<Task> = (0..12).map(|i| (i << 12, 4096 - 65 * (i as usize % 3), i)).collect();
            let wanted: Vec<Vec<u8>> = tasks.iter().map(|&(_, length, _)| rng.bytes(length)).collect();
            tasks.iter().zip(&wanted).for_each(|(task, bytes)| memory.borrow_mut().write(task.0, bytes));
            let mut descs = descriptors(dut, &tasks, Pattern::Always, rng);
            let shape = Shape::of_ports(dut.model(), "data", &["tdata", "tlast"]).unwrap();
            let mut monitor =
                StreamMonitor::with_shape(dut, "data", shape, Pattern::Every(slow), rng).unwrap();
            let mut engine = SegmentReads::new(dut, memory, Pattern::Always, Pattern::Always, rng);
            (engine.latency, engine.in_order) = (1..2, true);
            let mut statuses = Statuses::new(dut);
            reset(dut);
            while statuses.came.len() < tasks.len() {
                cycle(dut, &mut [&mut descs, &mut monitor, &mut engine, &mut statuses]);
                assert!(dut.cycles() < 1_000_000, "no end");
            }
            for (task, bytes) in wanted.iter().enumerate() {
                for (i, wanted) in bytes.chunks(64).enumerate() {
                    let beat = monitor.take().expect("a beat").word;
                    let came: Vec<u8> = (0..wanted.len()).map(|byte| beat.bits(byte * 8, 8) as u8).collect();
                    assert!(came == wanted, "beat {i} of descriptor {task}");
                }
            }
        });
    }
}

/// Clocks until all are read, by an engine that keeps pace.
fn clocks_of_reads(dut: &mut Dut, tasks: &[Task], rng: &mut Rng) -> u64 {
    let mut descs = descriptors(dut, tasks, Pattern::Always, rng);
    let shape = Shape::of_ports(dut.model(), "data", &["tdata", "tlast"]).unwrap();
    let mut monitor = StreamMonitor::with_shape(dut, "data", shape, Pattern::Always, rng).unwrap();
    let memory = SharedMemory::default();
    let mut engine = SegmentReads::new(dut, memory, Pattern::Always, Pattern::Always, rng);
    (engine.latency, engine.in_order) = (1..2, true);
    let mut statuses = Statuses::new(dut);
    reset(dut);
    let begun = dut.cycles();
    while statuses.came.len() < tasks.len() {
        cycle(dut, &mut [&mut descs, &mut monitor, &mut engine, &mut statuses]);
        assert!(dut.cycles() < begun + 100_000, "no end");
    }
    dut.cycles() - begun
}

/// With an engine that keeps pace, a beat leaves in nearly every clock.
#[test]
fn a_beat_leaves_in_every_clock() {
    tb::run("segments::rate", &reads(9), |dut, rng| {
        let tasks: Vec<Task> = (0..64).map(|i| (i << 12, 4096, i)).collect();
        let (clocks, beats) = (clocks_of_reads(dut, &tasks, rng), 64 * 64);
        // The first descriptor's way there and back.
        assert!(clocks <= beats + beats / 50 + 150, "{clocks} clocks for {beats} beats");
    });
}

/// Drives a descriptor's data behind it.
fn data_of(dut: &Dut, frames: &[Vec<u8>], idle: Pattern, rng: &mut Rng) -> StreamDriver {
    let shape = Shape::of_ports(dut.model(), "data", &["tdata"]).unwrap();
    let mut source = StreamDriver::with_shape(dut, "data", shape, idle, rng).unwrap();
    for beat in frames.iter().flat_map(|bytes| bytes.chunks(64)) {
        let mut beat = beat.to_vec();
        // What is behind the end is nothing.
        beat.extend(rng.bytes(64 - beat.len()));
        let words: Vec<u64> = beat.chunks(8).map(|b| u64::from_le_bytes(b.try_into().unwrap())).collect();
        source.send(words);
    }
    source
}

#[test]
fn what_is_written_is_there_when_its_status_comes() {
    for depth_log2 in [7, 9] {
        let design = writes(depth_log2);
        for (idle, stall) in Pattern::matrix() {
            tb::run(&format!("segments::write {depth_log2} {idle:?} {stall:?}"), &design, |dut, rng| {
                let memory = SharedMemory::default();
                let tasks = tasks(4136, rng);
                let mut errors = Vec::new();
                let frames: Vec<Vec<u8>> = tasks.iter().map(|task| rng.bytes(task.1)).collect();
                for &(address, length, _) in &tasks {
                    let fails = rng.chance(0.1);
                    errors.push(fails);
                    if fails {
                        let at = address + rng.below(length as u64);
                        memory.borrow_mut().poisoned.push(at..at + 1);
                    }
                    memory.borrow_mut().write(address + length as u64, &[0xEE; 64]);
                }
                let mut descs = descriptors(dut, &tasks, idle, rng);
                let mut source = data_of(dut, &frames, stall, rng);
                let mut engine = SegmentWrites::new(dut, memory.clone(), stall, idle, rng);
                engine.latency = rng.pick(&[1..2, 1..60, 200..400]).clone();
                let mut statuses = Statuses::new(dut);
                reset(dut);
                let (mut open, mut clocks): (Vec<usize>, _) = ((0..tasks.len()).collect(), 0);
                while !open.is_empty() {
                    cycle(dut, &mut [&mut descs, &mut source, &mut engine, &mut statuses]);
                    clocks += 1;
                    assert!(clocks < 1_000_000, "{} of {} descriptors are left", open.len(), tasks.len());
                    lines_are_apart(&engine.held, depth_log2);
                    while let Some((tag, error)) = statuses.came.pop_front() {
                        // Of those under way no two have the same tag.
                        let found = open.iter().position(|&task| tasks[task].2 == tag);
                        let task = open.remove(found.expect("a status of nobody's"));
                        let (address, length, _) = tasks[task];
                        assert_eq!(error, errors[task], "status of descriptor {task}");
                        assert!(memory.borrow().read(address, length) == frames[task], "{length} bytes");
                        assert_eq!(
                            memory.borrow().read(address + length as u64, 1),
                            [0xEE],
                            "behind the end"
                        );
                    }
                }
            });
        }
    }
}

/// Clocks until all data has been taken, with an engine that keeps pace.
fn clocks_of_writes(dut: &mut Dut, tasks: &[Task], rng: &mut Rng) -> u64 {
    let frames: Vec<Vec<u8>> = tasks.iter().map(|task| vec![7; task.1]).collect();
    let mut descs = descriptors(dut, tasks, Pattern::Always, rng);
    let mut source = data_of(dut, &frames, Pattern::Always, rng);
    let memory = SharedMemory::default();
    let mut engine = SegmentWrites::new(dut, memory, Pattern::Always, Pattern::Always, rng);
    engine.latency = 1..2;
    let mut statuses = Statuses::new(dut);
    reset(dut);
    let begun = dut.cycles();
    while source.pending() > 0 {
        cycle(dut, &mut [&mut descs, &mut source, &mut engine, &mut statuses]);
        assert!(dut.cycles() < begun + 100_000, "no end");
    }
    dut.cycles() - begun
}

#[test]
fn a_beat_is_taken_in_every_clock() {
    tb::run("segments::write rate", &writes(9), |dut, rng| {
        let tasks: Vec<Task> = (0..64).map(|i| (i << 12, 4096, i)).collect();
        let (clocks, beats) = (clocks_of_writes(dut, &tasks, rng), 64 * 64);
        assert!(clocks <= beats + beats / 50 + 20, "{clocks} clocks for {beats} beats");
    });
}

/// All lines are used, but for those that the longest would not fit in, before a descriptor waits.
#[test]
fn every_line_is_lent() {
    let tasks: Vec<Task> = (0..5).map(|i| (i << 12, 4096, i)).collect();
    tb::run("segments::lent reads", &reads(7), |dut, rng| {
        let memory = SharedMemory::default();
        let mut descs = descriptors(dut, &tasks, Pattern::Always, rng);
        let mut engine = SegmentReads::new(dut, memory, Pattern::Always, Pattern::Always, rng);
        engine.latency = 5000..5001;
        reset(dut);
        (0..1000).for_each(|_| cycle(dut, &mut [&mut descs, &mut engine]));
        assert_eq!(engine.held.len(), 4, "of 32 lines each, of 128");
    });
    tb::run("segments::lent writes", &writes(7), |dut, rng| {
        let memory = SharedMemory::default();
        let mut descs = descriptors(dut, &tasks, Pattern::Always, rng);
        let mut source = data_of(dut, &vec![vec![1; 4096]; 5], Pattern::Always, rng);
        let mut engine = SegmentWrites::new(dut, memory, Pattern::Always, Pattern::Always, rng);
        engine.latency = 5000..5001;
        reset(dut);
        (0..1000).for_each(|_| cycle(dut, &mut [&mut descs, &mut source, &mut engine]));
        assert_eq!(engine.held.len(), 3, "of 32 lines each, of 128: a fourth may be of 33");
    });
}

/// Short ones: as many as the ring lets, which asks its room anew behind each, and once more at its end.
#[test]
fn a_descriptor_is_taken_in_two_clocks() {
    const COUNT: u64 = 300;
    // Of a line each, so that the ring of 128 begins again as soon as 32, or 33, are not left.
    let tasks: Vec<Task> = (0..COUNT).map(|i| (i << 12, 64, i & 0xFF)).collect();
    let at_most = |longest: u64| 2 * COUNT + COUNT.div_ceil(128 - longest) + 60;
    tb::run("segments::short reads", &reads(7), |dut, rng| {
        let clocks = clocks_of_reads(dut, &tasks, rng);
        assert!(clocks <= at_most(32), "{clocks} clocks for {COUNT} descriptors");
    });
    tb::run("segments::short writes", &writes(7), |dut, rng| {
        let clocks = clocks_of_writes(dut, &tasks, rng);
        assert!(clocks <= at_most(33), "{clocks} clocks for {COUNT} descriptors");
    });
}

/// With a request on offer that nobody has taken, and words of a descriptor half way.
#[test]
fn a_reset_forgets_what_was_under_way() {
    let tasks: Vec<Task> = (0..6).map(|i| (i << 12, 200, i)).collect();
    let silent = |dut: &mut Dut, ports: &[&str]| {
        let ports: Vec<PortId> = ports.iter().map(|port| dut.port(port).unwrap()).collect();
        for clock in 0..20 {
            cycle(dut, &mut []);
            for &port in &ports {
                assert_eq!(dut.sampled(port), 0, "clock {clock} behind the reset");
            }
        }
    };
    tb::run("segments::reset reads", &reads(7), |dut, rng| {
        let memory = SharedMemory::default();
        let mut descs = descriptors(dut, &tasks, Pattern::Always, rng);
        let mut engine = SegmentReads::new(dut, memory, Pattern::Always, Pattern::Always, rng);
        (engine.latency, engine.in_order) = (1..2, true);
        reset(dut);
        // Nobody takes data: what has been read stands at the output.
        let data_valid = dut.port("data_valid").unwrap();
        (0..100).for_each(|_| cycle(dut, &mut [&mut descs, &mut engine]));
        assert_ne!(dut.sampled(data_valid), 0);
        let (descs, engine, write) = ("desc_valid", "read_desc_ready", "wr_cmd_valid");
        for port in [descs, engine, write, "read_status_valid"] {
            let port = dut.port(port).unwrap();
            dut.set(port, 0u64);
        }
        reset(dut);
        silent(dut, &["read_desc_valid", "data_valid", "status_valid", "wr_done"]);
    });
    tb::run("segments::reset writes", &writes(7), |dut, rng| {
        let mut descs = descriptors(dut, &tasks, Pattern::Always, rng);
        let mut source = data_of(dut, &vec![vec![1; 200]; 3], Pattern::Always, rng);
        reset(dut);
        // No engine: the first descriptor is asked for, and stays.
        (0..100).for_each(|_| cycle(dut, &mut [&mut descs, &mut source]));
        let asks = dut.port("write_desc_valid").unwrap();
        assert_ne!(dut.sampled(asks), 0);
        for port in ["desc_valid", "data_valid"] {
            let port = dut.port(port).unwrap();
            dut.set(port, 0u64);
        }
        reset(dut);
        silent(dut, &["write_desc_valid", "rd_resp_valid", "status_valid"]);
    });
}
