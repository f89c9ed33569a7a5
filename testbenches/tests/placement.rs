//! `rx::Placement` and its narrow sibling: bytes to their places, drops, fences behind every write.

use std::collections::{HashMap, VecDeque};
use tessera_abi::params::{Config, NIC512};
use tessera_rtl::rx::{NarrowPlacement, Placement};
use tessera_sim::tb::{self, cycle, Pattern, Rng, StreamDriver, StreamMonitor, Word};
use tessera_sim::verilator::{BuildOptions, Design, Dut, Model};
use tessera_testbenches::packets::{self, WIDE};

const DROP: u64 = 0;
const WRITE: u64 = 1;
const FENCE: u64 = 2;
const LAST: u64 = 3;
/// Write and fence of a datagram.
const DATAGRAM: u64 = 4;
/// Write and fence of a chunk, behind which its message goes on.
const CHUNK: u64 = 5;
/// Contexts from here on are none: one for each datagram.
const NOBODY: u64 = 1 << 32;
/// Clocks from a command taken to its first beat on offer.
const FIRST_BEAT: u64 = 4;
/// Clocks from a status to the fence that waits for it, without a place of its own.
const STATUS_TO_FENCE: u64 = 2;

fn design(size: usize, tags_log2: usize) -> Design {
    let config = Config { write_tags_log2: tags_log2, rx_contexts_log2: 4, ..NIC512 };
    match size {
        WIDE => tessera_testbenches::design_for("placement", &config, Placement::new),
        _ => tessera_testbenches::design_for("narrow_placement", &config, NarrowPlacement::new),
    }
}

/// On the block with beats of this size.
fn on(size: usize, name: &str, tags_log2: usize, test: impl Fn(&mut Dut, &mut Rng)) {
    tb::run(&format!("placement::{name} {size}"), &design(size, tags_log2), test);
}

tessera_testbenches::both_widths!(
    every_byte_every_fence_under_every_pattern,
    a_beat_per_clock_across_frames,
    first_beat_after_the_stated_clocks,
    writes_stop_when_all_tags_are_open,
    a_failed_write_marks_its_context_until_its_fence,
    failures_are_kept_while_fences_wait_and_the_ring_is_full,
    a_fence_in_two_clocks_leaves_the_ring,
);

/// A descriptor to come.
#[derive(Clone, Debug)]
struct Write {
    address: u64,
    length: u64,
    context: u64,
}

/// A write whose status is still to come.
struct Open {
    tag: u64,
    context: u64,
    serial: u64,
}

struct Bench<'a> {
    dut: &'a mut Dut,
    size: u64,
    place: StreamDriver,
    payload: StreamDriver,
    descriptors: StreamMonitor,
    beats: StreamMonitor,
    fences: StreamMonitor,
    rng: Rng,
    /// Chance in a clock that a status comes, and that it is an error.
    status: f64,
    error: f64,
    /// Descriptors and beats to come, in order.
    due: VecDeque<Write>,
    due_beats: VecDeque<Word>,
    open: Vec<Open>,
    /// Fences to come: context, how many writes precede, whether its message goes on.
    due_fences: VecDeque<(u64, u64, bool)>,
    failed: HashMap<u64, Vec<u64>>,
    issued: u64,
    written: u64,
    errors: u64,
    error_pulses: u64,
}

impl<'a> Bench<'a> {
    fn new(dut: &'a mut Dut, idle: Pattern, stall: Pattern, rng: &mut Rng) -> Self {
        let place = StreamDriver::new(dut, "place", idle, rng).unwrap();
        let payload = StreamDriver::new(dut, "payload", idle, rng).unwrap();
        let descriptors = StreamMonitor::new(dut, "write_desc", stall, rng).unwrap();
        let beats = StreamMonitor::new(dut, "write_beat", stall, rng).unwrap();
        let fences = StreamMonitor::new(dut, "fence", stall, rng).unwrap();
        let rst = dut.port("rst").unwrap();
        for name in ["place_valid", "payload_valid", "write_status_valid"] {
            let port = dut.port(name).unwrap();
            dut.set(port, 0u64);
        }
        dut.set(rst, 1u64);
        dut.clock_by(2);
        dut.set(rst, 0u64);
        dut.clock_by(20);
        assert!(dut.is_high(dut.port("ready").unwrap()), "the marks of 16 contexts take 16 clocks");
        Bench {
            size: packets::beat_size(dut, "payload_data") as u64,
            dut,
            place,
            payload,
            descriptors,
            beats,
            fences,
            rng: rng.fork(),
            status: 0.3,
            error: 0.05,
            due: VecDeque::new(),
            due_beats: VecDeque::new(),
            open: Vec::new(),
            due_fences: VecDeque::new(),
            failed: HashMap::new(),
            issued: 0,
            written: 0,
            errors: 0,
            error_pulses: 0,
        }
    }

    /// Queues a command and its frame.
    fn command(&mut self, kind: u64, context: u64, length: u64) {
        let beats = if kind == FENCE { 0 } else { length.div_ceil(self.size) };
        let (bits, bytes) = (8 * self.size as usize, self.size as usize);
        let beats: Vec<Word> = (0..beats)
            .map(|i| {
                let mut word = Word(self.rng.wide(bits));
                let valid = (length - self.size * i).min(self.size);
                word.set_bits(bits, bytes, u64::MAX >> (64 - valid));
                word.set_bits(bits + bytes, 1, u64::from(i + 1 == beats));
                word
            })
            .collect();
        let address = self.rng.next_u64();
        let ud = kind == DATAGRAM;
        self.place.send_fields(&[
            ("kind", if ud || kind == CHUNK { LAST } else { kind }),
            ("area", u64::from(kind == CHUNK)),
            ("chunk", u64::from(kind == CHUNK)),
            ("more", u64::from(kind == CHUNK)),
            ("ud", ud.into()),
            ("address", address),
            ("length", length),
            ("context", context),
        ]);
        // A datagram answers for nothing but itself, whatever its context says.
        let context = if ud { NOBODY + self.written } else { context };
        for beat in &beats {
            self.payload.send(beat.clone());
        }
        match kind {
            WRITE | LAST | DATAGRAM | CHUNK => {
                self.due_beats.extend(beats);
                self.due.push_back(Write { address, length, context });
                self.written += 1;
                if kind != WRITE {
                    self.due_fences.push_back((context, self.written, kind == CHUNK));
                }
            }
            FENCE => self.due_fences.push_back((context, self.written, false)),
            _ => {}
        }
    }

    fn clock(&mut self) {
        let valid = self.dut.port("write_status_valid").unwrap();
        let (tag, error) =
            (self.dut.port("write_status.tag").unwrap(), self.dut.port("write_status.error").unwrap());
        self.dut.set(valid, 0u64);
        if !self.open.is_empty() && self.rng.chance(self.status) {
            let open = self.open.swap_remove(self.rng.below(self.open.len() as u64) as usize);
            let fails = self.rng.chance(self.error);
            self.dut.set(valid, 1u64);
            self.dut.set(tag, open.tag);
            self.dut.set(error, fails);
            if fails {
                self.errors += 1;
                self.failed.entry(open.context).or_default().push(open.serial);
            }
        }
        cycle(
            self.dut,
            &mut [
                &mut self.place,
                &mut self.payload,
                &mut self.descriptors,
                &mut self.beats,
                &mut self.fences,
            ],
        );
        self.error_pulses += u64::from(self.dut.is_high(self.dut.port("dma_error").unwrap()));
        while let Some(got) = self.descriptors.take() {
            let shape = self.descriptors.shape();
            let expected = self.due.pop_front().expect("a descriptor nobody asked for");
            let tag = shape.get(&got.word, "tag");
            assert_eq!(shape.get(&got.word, "address"), expected.address);
            assert_eq!(shape.get(&got.word, "length"), expected.length);
            assert!(self.open.iter().all(|open| open.tag != tag), "tag {tag} is in use");
            self.open.push(Open { tag, context: expected.context, serial: self.issued });
            self.issued += 1;
        }
        while let Some(got) = self.beats.take() {
            let expected = self.due_beats.pop_front().expect("a beat nobody asked for");
            assert_eq!(got.word, expected);
        }
        while let Some(got) = self.fences.take() {
            let shape = self.fences.shape();
            let (context, writes, more) = self.due_fences.pop_front().expect("a fence nobody asked for");
            assert_eq!(shape.get(&got.word, "ud"), u64::from(context >= NOBODY));
            assert!(context >= NOBODY || shape.get(&got.word, "context") == context);
            assert!(self.issued >= writes, "a fence passed a write that was not even issued");
            if let Some(open) = self.open.iter().find(|open| open.serial < writes) {
                panic!("a fence passed write {} of tag {}", open.serial, open.tag);
            }
            let failed = self.failed.entry(context).or_default();
            let error = failed.iter().any(|serial| *serial < writes);
            // A message that goes on keeps its mark (HR-4).
            failed.retain(|serial| more || *serial >= writes);
            for name in ["area", "chunk", "more"] {
                assert_eq!(shape.get(&got.word, name), u64::from(more), "{name}");
            }
            assert_eq!(shape.get(&got.word, "error") != 0, error, "context {context}");
        }
    }

    fn drain(&mut self) {
        let limit = self.dut.cycles() + 200_000;
        while !(self.due.is_empty()
            && self.due_beats.is_empty()
            && self.due_fences.is_empty()
            && self.open.is_empty()
            && self.place.pending() == 0
            && self.payload.pending() == 0)
        {
            self.clock();
            assert!(
                self.dut.cycles() < limit,
                "stuck: {} descriptors, {} beats, {} fences to come",
                self.due.len(),
                self.due_beats.len(),
                self.due_fences.len()
            );
        }
        for _ in 0..8 {
            self.clock();
        }
        assert_eq!(self.error_pulses, self.errors);
    }
}

fn every_byte_every_fence_under_every_pattern(size: usize) {
    for (idle, stall) in Pattern::matrix() {
        on(size, &format!("random {idle:?} {stall:?}"), 3, |dut, rng| {
            let mut bench = Bench::new(dut, idle, stall, rng);
            bench.status = *rng.pick(&[0.02, 0.3, 1.0]);
            for _ in 0..400 {
                let kind = *rng.pick(&[DROP, WRITE, WRITE, WRITE, FENCE, LAST, DATAGRAM, CHUNK, CHUNK]);
                let length = if rng.chance(0.1) { rng.range(1..4097) } else { rng.range(1..200) };
                bench.command(kind, rng.below(16), length);
            }
            bench.drain();
        });
    }
}

fn a_beat_per_clock_across_frames(size: usize) {
    on(size, "rate", 6, |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        bench.status = 1.0;
        bench.error = 0.0;
        let start = bench.dut.cycles();
        for _ in 0..200 {
            bench.command(WRITE, 1, 256);
        }
        bench.drain();
        // The drain looks on for some clocks after the end.
        let clocks = bench.dut.cycles() - start;
        let beats = 200 * 256 / bench.size;
        assert!(clocks <= beats + FIRST_BEAT + 16, "{clocks} clocks for {beats} beats");
    });
}

fn first_beat_after_the_stated_clocks(size: usize) {
    on(size, "latency", 6, |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        bench.command(WRITE, 1, 64);
        bench.clock();
        let taken = bench.dut.cycles();
        while !bench.dut.is_high(bench.dut.port("write_beat_valid").unwrap()) {
            bench.clock();
        }
        assert_eq!(bench.dut.cycles() + 1 - taken, FIRST_BEAT);
        bench.drain();
    });
}

fn writes_stop_when_all_tags_are_open(size: usize) {
    on(size, "tags", 3, |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        bench.status = 0.0;
        for _ in 0..12 {
            bench.command(WRITE, 1, 64);
        }
        for _ in 0..200 {
            bench.clock();
        }
        assert_eq!(bench.issued, 8, "2^write_tags_log2 writes are open at most");
        bench.status = 0.5;
        bench.drain();
    });
}

fn a_failed_write_marks_its_context_until_its_fence(size: usize) {
    on(size, "marks", 6, |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        bench.error = 1.0;
        bench.command(WRITE, 3, 100);
        // Others' fences neither report nor remove it; after its own it is gone.
        for context in [4, 2, 3, 3] {
            bench.command(FENCE, context, 0);
        }
        bench.drain();
        assert_eq!(bench.errors, 1);
        // Its own write is of a fence's business too, and one right before it.
        bench.command(LAST, 5, 64);
        bench.command(FENCE, 5, 0);
        bench.command(WRITE, 6, 64);
        bench.command(LAST, 6, 64);
        bench.command(LAST, 6, 64);
        bench.drain();
        assert_eq!(bench.errors, 5);
        // A chunk's fence reports what failed, its own write too, and the message's last one does.
        bench.command(WRITE, 7, 64);
        bench.error = 0.0;
        for kind in [CHUNK, CHUNK, FENCE, CHUNK, FENCE] {
            bench.command(kind, 7, 64);
        }
        bench.drain();
    });
}

fn failures_are_kept_while_fences_wait_and_the_ring_is_full(size: usize) {
    on(size, "full", 3, |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Random(0.2), rng);
        (bench.status, bench.error) = (1.0, 1.0);
        for context in 0..60 {
            bench.command(LAST, context % 16, 64);
        }
        bench.drain();
        assert_eq!(bench.errors, 60);
    });
}

fn a_fence_in_two_clocks_leaves_the_ring(size: usize) {
    on(size, "retire", 6, |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        bench.error = 0.0;
        bench.status = 0.0;
        for _ in 0..20 {
            bench.command(LAST, 1, 64);
        }
        for _ in 0..100 {
            bench.clock();
        }
        // One status per clock, the oldest last: then a fence in every other clock.
        let valid = bench.dut.port("write_status_valid").unwrap();
        let tag = bench.dut.port("write_status.tag").unwrap();
        let fence = bench.dut.port("fence_valid").unwrap();
        bench.open.clear();
        bench.due_fences.clear();
        let (mut at, mut fences) = (Vec::new(), 0);
        for clock in 0..80u64 {
            bench.dut.set(valid, u64::from(clock < 20));
            bench.dut.set(tag, 19u64.saturating_sub(clock));
            bench.dut.set(bench.dut.port("fence_ready").unwrap(), 1u64);
            bench.dut.clock();
            if bench.dut.sampled(fence) != 0 {
                fences += 1;
                at.push(clock);
            }
        }
        assert_eq!(fences, 20);
        assert_eq!((at[0], at[19] - at[0]), (19 + STATUS_TO_FENCE, 2 * 19));
    });
}

#[test]
fn the_full_size_is_clean_verilog() {
    let design = tessera_testbenches::design("placement", || Placement::new(&NIC512));
    Model::build(&design, &BuildOptions::hurried()).unwrap();
}
