//! `tx::PayloadReader` and its narrow sibling against a host memory that is late and fails at times.

use std::collections::VecDeque;
use tessera_abi::params::{Config, NIC512};
use tessera_abi::wire::Form;
use tessera_rtl::tx::{NarrowPayloadReader, PayloadReader};
use tessera_sim::tb::{self, cycle, Gate, Pattern, Rng, StreamDriver, StreamMonitor, Word};
use tessera_sim::verilator::{Design, Dut, PortId};
use tessera_testbenches::packets::{self, Layout, HERE, THERE, WIDE};

/// Clocks from a packet's acceptance to `built` when there is nothing to read.
const EMPTY_LATENCY: u64 = 3;
/// Clocks from the last beat and its status to `built`.
const READ_LATENCY: u64 = 1;
/// Wide beats of the smallest buffer, and of the largest.
const SMALL_LOG2: usize = 6;
const LARGE_LOG2: usize = 9;
fn design(size: usize, buffer_log2: usize) -> Design {
    let config = Config { tx_buffer_beats_log2: buffer_log2, ..NIC512 };
    match size {
        WIDE => tessera_testbenches::design_for("payload_reader", &config, PayloadReader::new),
        _ => tessera_testbenches::design_for("narrow_payload_reader", &config, NarrowPayloadReader::new),
    }
}

tessera_testbenches::both_widths!(
    packets_keep_their_order_and_their_bytes,
    failures_drop_their_packet_only,
    many_reads_are_outstanding,
    payload_flows_at_a_beat_per_clock,
);

/// What a packet was given and must become.
struct Due {
    word: Word,
    slot: u64,
    payload: Vec<u8>,
    fails: bool,
}

/// The host: answers descriptors in order, each status with the last beat or
/// some clocks after it.
struct Host {
    reads: VecDeque<(Vec<u8>, bool)>,
    beats: VecDeque<(Word, Option<bool>)>,
    statuses: VecDeque<(u64, bool)>,
    gate: Gate,
    delay: u64,
    late: u64,
    wait_until: u64,
    offering: bool,
}

struct Bench<'a> {
    dut: &'a mut Dut,
    size: usize,
    rng: Rng,
    packet: StreamDriver,
    desc: StreamMonitor,
    built: StreamMonitor,
    payload: StreamMonitor,
    layout: Layout,
    desc_layout: Layout,
    host: Host,
    ports: Ports,
    /// Packets accepted by nobody yet, in order: those built, those failed.
    due: VecDeque<Due>,
    reads_due: VecDeque<(u64, Vec<u8>, bool)>,
    payload_due: VecDeque<Vec<u8>>,
    bytes: Vec<u8>,
    reserved: u64,
    most_reserved: u64,
    finished: usize,
    last_beat_at: u64,
    built_at: Vec<u64>,
    payload_at: Vec<u64>,
    tag: u64,
}

struct Ports {
    beat: PortId,
    beat_valid: PortId,
    beat_ready: PortId,
    status_valid: PortId,
    error: PortId,
    failed: PortId,
    failed_slot: PortId,
    failed_error: PortId,
}

impl<'a> Bench<'a> {
    fn new(dut: &'a mut Dut, idle: Pattern, stall: Pattern, rng: &mut Rng) -> Self {
        let packet = StreamDriver::new(dut, "packet", idle, rng).unwrap();
        let monitor = |name: &str, rng: &mut Rng| StreamMonitor::new(dut, name, stall, rng).unwrap();
        let (desc, built, payload) =
            (monitor("read_desc", rng), monitor("built", rng), monitor("payload", rng));
        let port = |name: &str| dut.port(name).unwrap();
        let ports = Ports {
            beat: port("read_beat_data"),
            beat_valid: port("read_beat_valid"),
            beat_ready: port("read_beat_ready"),
            status_valid: port("read_status_valid"),
            error: port("read_status.error"),
            failed: port("failed.valid"),
            failed_slot: port("failed.slot"),
            failed_error: port("failed.error"),
        };
        let (rst, valid) = (port("rst"), port("packet_valid"));
        for port in [valid, ports.beat_valid, ports.status_valid] {
            dut.set(port, 0u64);
        }
        dut.reset(rst, 3);
        let (layout, desc_layout) = (Layout::of(dut, "packet_data"), Layout::of(dut, "read_desc_data"));
        Bench {
            packet,
            desc,
            built,
            payload,
            layout,
            desc_layout,
            host: Host {
                reads: VecDeque::new(),
                beats: VecDeque::new(),
                statuses: VecDeque::new(),
                gate: idle.gate(rng.fork()),
                delay: 0,
                late: 0,
                wait_until: 0,
                offering: false,
            },
            ports,
            due: VecDeque::new(),
            reads_due: VecDeque::new(),
            payload_due: VecDeque::new(),
            bytes: Vec::new(),
            reserved: 0,
            most_reserved: 0,
            finished: 0,
            last_beat_at: 0,
            built_at: Vec::new(),
            payload_at: Vec::new(),
            tag: 0,
            rng: rng.fork(),
            size: packets::beat_size(dut, "payload_data"),
            dut,
        }
    }

    fn send(&mut self, length: Option<usize>, fails: bool) {
        let packet = match length {
            None => packets::probe(&mut self.rng),
            Some(length) => packets::data(&mut self.rng, length),
        };
        let mut word = packets::tx_packet(&self.layout, Form::ALL[0], &THERE, &HERE, &packet);
        let address = self.rng.next_u64();
        self.layout.put(&mut word, "address", address);
        // Where it goes is stored beside the word: each packet goes elsewhere, or a mix-up would not show.
        let gid = [self.rng.next_u64().to_be_bytes(), self.rng.next_u64().to_be_bytes()].concat();
        self.layout.put_bytes(&mut word, "dst_gid", &gid);
        self.packet.send(word.clone());
        let fails = fails && !packet.payload.is_empty();
        if !packet.payload.is_empty() {
            self.reads_due.push_back((address, packet.payload.clone(), fails));
        }
        let slot = self.layout.get(&word, "slot");
        self.due.push_back(Due { word, slot, payload: packet.payload, fails });
    }

    fn clock(&mut self) {
        let now = self.dut.cycles();
        // The host's side: beats in order, then statuses in order.
        let open = self.host.gate.is_open();
        self.host.offering =
            (self.host.offering || (open && now >= self.host.wait_until)) && !self.host.beats.is_empty();
        self.dut.set(self.ports.beat_valid, self.host.offering);
        let mut with_beat = false;
        if let Some((word, end)) = self.host.beats.front().filter(|_| self.host.offering) {
            self.dut.set_wide(self.ports.beat, &word.0);
            with_beat = end.is_some() && self.host.late == 0 && self.host.statuses.is_empty();
            if let (true, Some(error)) = (with_beat, end) {
                self.dut.set(self.ports.error, *error);
            }
        }
        let due_status = self.host.statuses.front().filter(|(at, _)| *at <= now).copied();
        if let Some((_, error)) = due_status {
            self.dut.set(self.ports.error, error);
        }
        // A status beside a beat that is refused would come too early: the
        // contract is that beats are never refused.
        self.dut.set(self.ports.status_valid, with_beat || due_status.is_some());
        cycle(self.dut, &mut [&mut self.packet, &mut self.desc, &mut self.built, &mut self.payload]);
        if due_status.is_some() {
            self.host.statuses.pop_front();
        }
        if self.host.offering {
            assert_eq!(self.dut.sampled(self.ports.beat_ready), 1, "a beat was refused");
            let (_, end) = self.host.beats.pop_front().unwrap();
            self.host.offering = false;
            if let Some(error) = end {
                self.last_beat_at = self.dut.cycles();
                if !with_beat {
                    self.host.statuses.push_back((now + 1 + self.host.late, error));
                }
            }
        }
        self.descriptors();
        self.outputs();
    }

    fn descriptors(&mut self) {
        while let Some(transfer) = self.desc.take() {
            let (address, payload, fails) = self.reads_due.pop_front().expect("a read nobody asked for");
            let word = transfer.word;
            assert_eq!(self.desc_layout.get(&word, "address"), address);
            assert_eq!(self.desc_layout.get(&word, "length"), payload.len() as u64);
            assert_eq!(self.desc_layout.get(&word, "tag"), self.tag, "tags count up");
            self.tag = (self.tag + 1) % 256;
            self.reserved += payload.len().div_ceil(self.size) as u64;
            // The beats of a failed read go one by one before `failed` tells.
            let going = self.due.front().filter(|due| due.fails);
            let going = going.map_or(0, |due| due.payload.len().div_ceil(self.size) as u64);
            self.most_reserved = self.most_reserved.max(self.reserved - going);
            if self.host.beats.is_empty() {
                self.host.wait_until = self.dut.cycles() + 3 + self.host.delay;
            }
            // The host knows no lengths in bytes: every beat is full of something.
            let beats = packets::beats_of(&payload, self.size);
            let count = beats.len();
            for (i, mut beat) in beats.into_iter().enumerate() {
                packets::fill(&mut beat, || 0x5A);
                beat.set_bits(8 * self.size, self.size, self.rng.next_u64());
                self.host.beats.push_back((beat, (i + 1 == count).then_some(fails)));
            }
            self.host.reads.push_back((payload, fails));
        }
    }

    fn outputs(&mut self) {
        if self.dut.sampled(self.ports.failed) == 1 {
            let due = self.due.pop_front().expect("a packet");
            assert!(due.fails, "a good read failed");
            assert_eq!(self.dut.sampled(self.ports.failed_slot), due.slot);
            assert_eq!(self.dut.sampled(self.ports.failed_error), 1);
            self.reserved -= due.payload.len().div_ceil(self.size) as u64;
            self.finished += 1;
        }
        while let Some((at, transfer)) = self.built.take_timed() {
            let due = self.due.pop_front().expect("a packet");
            assert!(!due.fails, "a failed packet was handed on");
            assert_eq!(transfer.word, due.word);
            self.built_at.push(at);
            if due.payload.is_empty() {
                self.finished += 1;
            } else {
                self.payload_due.push_back(due.payload);
            }
        }
        while let Some((at, transfer)) = self.payload.take_timed() {
            self.payload_at.push(at);
            let payload = self.payload_due.front().expect("payload before its packet");
            let (bytes, last) = packets::beat_bytes(&transfer.word);
            self.bytes.extend(bytes);
            self.reserved -= 1;
            if last {
                assert_eq!(self.bytes, *payload);
                self.bytes.clear();
                self.payload_due.pop_front();
                self.finished += 1;
            }
        }
    }

    fn run(&mut self, packets: usize) {
        let mut clocks = 0;
        while self.finished < packets {
            self.clock();
            clocks += 1;
            assert!(
                clocks < 3000 + packets * 1200 * WIDE / self.size,
                "{} of {packets} packets",
                self.finished
            );
        }
        for _ in 0..20 {
            self.clock();
        }
        assert_eq!((self.finished, self.reserved), (packets, 0));
    }
}

fn packets_keep_their_order_and_their_bytes(size: usize) {
    for log2 in [SMALL_LOG2, LARGE_LOG2] {
        let design = design(size, log2);
        for (idle, stall) in Pattern::matrix() {
            tb::run(
                &format!("payload_reader::order {size} {log2} {idle:?} {stall:?}"),
                &design,
                |dut, rng| {
                    let mut bench = Bench::new(dut, idle, stall, rng);
                    bench.host.delay = *rng.pick(&[0, 5, 60]);
                    bench.host.late = *rng.pick(&[0, 1, 7, 40]);
                    for _ in 0..120 {
                        let length = if rng.chance(0.15) { None } else { Some(packets::any_length(rng)) };
                        bench.send(length, rng.chance(0.2));
                    }
                    bench.run(120);
                    let places = ((WIDE << log2) / size) as u64;
                    assert!(bench.most_reserved <= places, "{} beats promised", bench.most_reserved);
                },
            );
        }
    }
}

/// A run of failures, each in its turn, between packets that are untouched.
fn failures_drop_their_packet_only(size: usize) {
    tb::run(&format!("payload_reader::failures {size}"), &design(size, SMALL_LOG2), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        for i in 0..60 {
            let length = [4096, 1, 64, 65][i % 4];
            bench.send(Some(length), i % 3 != 0);
            bench.send(None, false);
        }
        bench.run(120);
    });
}

/// Reads run ahead of packets as far as the buffer goes.
fn many_reads_are_outstanding(size: usize) {
    tb::run(&format!("payload_reader::outstanding {size}"), &design(size, LARGE_LOG2), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        bench.host.delay = 100_000;
        (0..70).for_each(|_| bench.send(Some(300), false));
        for _ in 0..300 {
            bench.clock();
        }
        // The order FIFO has 64 words.
        assert_eq!(bench.host.reads.len(), 64);
        bench.host.wait_until = 0;
        bench.run(70);
        assert!(bench.most_reserved >= 64 * 300_u64.div_ceil(size as u64));
    });
}

/// 4096 bytes take 64 clocks (narrow 256), whatever the distance of the memory.
fn payload_flows_at_a_beat_per_clock(size: usize) {
    tb::run(&format!("payload_reader::rate {size}"), &design(size, LARGE_LOG2), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        bench.host.delay = 50;
        (0..40).for_each(|_| bench.send(Some(4096), false));
        bench.run(40);
        let (first, last) = (bench.payload_at[0], *bench.payload_at.last().unwrap());
        assert_eq!(last - first + 1, 40 * 4096 / size as u64, "beats without a gap");

        let mut bench = Bench::new(bench.dut, Pattern::Always, Pattern::Always, rng);
        (0..100).for_each(|_| bench.send(None, false));
        let start = bench.dut.cycles();
        bench.run(100);
        assert_eq!(bench.built_at[0] - (start + 1), EMPTY_LATENCY);
        assert_eq!(bench.built_at[99] - bench.built_at[0], 2 * 99, "a packet in two clocks");

        bench.built_at.clear();
        bench.send(Some(200), false);
        bench.run(101);
        assert_eq!(bench.built_at[0] - bench.last_beat_at, READ_LATENCY);
    });
}
