//! `rx::Chunks`: areas say what is in memory and no more, and nothing is written
//! behind a message's last fence.

use std::collections::{BTreeMap, VecDeque};
use tessera_abi::params::{Config, NIC512, NIC64};
use tessera_abi::queue::area;
use tessera_rtl::rx::{Chunks, AREA_TAG};
use tessera_sim::tb::{self, cycle, Agent, Pattern, Rng, StreamDriver, StreamMonitor};
use tessera_sim::verilator::{Design, Dut};

/// Clocks from a chunk's fence on offer, taken a clock later, to its write on offer, for chunks of one packet.
const FENCE_TO_WRITE: u64 = 7;
/// Words of bits that wait at most: more than placement has entries and commands.
const WAITING: u64 = 128;

fn design() -> Design {
    sized("chunks", &NIC512)
}

fn sized(top: &str, config: &'static Config) -> Design {
    tessera_testbenches::design_for(top, config, Chunks::new)
}

#[derive(Clone, Debug)]
struct Message {
    context: u64,
    generation: u64,
    buffer: u64,
    chunk_log2: u8,
    area_log2: u8,
    /// Its header was written; writes of it without a status.
    announced: bool,
    open: usize,
    failed: bool,
}

impl Message {
    fn any(rng: &mut Rng, context: u64) -> Self {
        let (chunk_log2, area_log2) = (rng.below(6) as u8, rng.range(2..16) as u8);
        Self {
            context,
            generation: rng.bits(20),
            buffer: (rng.bits(40) << 6) + area::len(area_log2),
            chunk_log2,
            area_log2,
            announced: false,
            open: 0,
            failed: false,
        }
    }

    fn area(&self) -> u64 {
        self.buffer.wrapping_sub(area::len(self.area_log2))
    }
}

/// A write to come.
#[derive(Clone, Debug)]
struct Write {
    message: usize,
    address: u64,
    bytes: Vec<u8>,
}

/// A fence to give.
#[derive(Clone, Copy, Debug)]
struct Fence {
    /// Of a host-recovered message; else the number alone tells it.
    message: Option<usize>,
    number: u64,
    chunk: bool,
    more: bool,
    error: bool,
    /// Headers and chunk words sent before it.
    behind: [u64; 2],
}

struct Bench<'a> {
    dut: &'a mut Dut,
    headers: StreamDriver,
    chunks: StreamDriver,
    placed: StreamDriver,
    fences: StreamMonitor,
    descriptors: StreamMonitor,
    beats: StreamMonitor,
    rng: Rng,
    /// Chance in a clock that a status comes, that it fails, that a fence comes.
    status: f64,
    error: f64,
    fence: f64,
    messages: Vec<Message>,
    /// Packets by message and block.
    arrived: BTreeMap<(usize, u64), [u64; 4]>,
    to_fence: VecDeque<Fence>,
    words: VecDeque<Write>,
    due_headers: Vec<Write>,
    /// Snapshots of blocks whose fences were given: the newest of an address is to
    /// be written, and any before it may be.
    due_bits: Vec<Write>,
    due_beats: VecDeque<(bool, Write)>,
    passing: VecDeque<u64>,
    ending: VecDeque<(usize, bool)>,
    /// Tag, message and address of writes without a status; tags of those without
    /// a beat.
    open: Vec<(u64, usize, u64)>,
    beats_due: Vec<u64>,
    /// No fence is taken.
    engine_stuck: bool,
    /// A message whose statuses do not come.
    withheld: Option<usize>,
    numbers: u64,
    written: usize,
    errors: [u64; 2],
}

impl<'a> Bench<'a> {
    fn new(dut: &'a mut Dut, idle: Pattern, stall: Pattern, rng: &mut Rng) -> Self {
        let headers = StreamDriver::new(dut, "header", idle, rng).unwrap();
        let chunks = StreamDriver::new(dut, "chunk", idle, rng).unwrap();
        let placed = StreamDriver::new(dut, "placed", idle, rng).unwrap();
        let fences = StreamMonitor::new(dut, "fence", stall, rng).unwrap();
        let descriptors = StreamMonitor::new(dut, "write_desc", stall, rng).unwrap();
        let beats = StreamMonitor::new(dut, "write_beat", stall, rng).unwrap();
        let rst = dut.port("rst").unwrap();
        for name in ["header_valid", "chunk_valid", "placed_valid", "write_status_valid"] {
            let port = dut.port(name).unwrap();
            dut.set(port, 0u64);
        }
        dut.set(rst, 1u64);
        dut.clock_by(2);
        dut.set(rst, 0u64);
        Bench {
            dut,
            headers,
            chunks,
            placed,
            fences,
            descriptors,
            beats,
            rng: rng.fork(),
            status: 0.3,
            error: 0.05,
            fence: 0.3,
            messages: Vec::new(),
            arrived: BTreeMap::new(),
            to_fence: VecDeque::new(),
            words: VecDeque::new(),
            due_headers: Vec::new(),
            due_bits: Vec::new(),
            due_beats: VecDeque::new(),
            passing: VecDeque::new(),
            ending: VecDeque::new(),
            open: Vec::new(),
            beats_due: Vec::new(),
            engine_stuck: false,
            withheld: None,
            numbers: 0,
            written: 0,
            errors: [0; 2],
        }
    }

    //= HR-3 test
    fn opens(&mut self, message: Message) -> usize {
        let [count, length, tag] = [24, 32, 64].map(|width| self.rng.bits(width));
        let payload_log2 = self.rng.range(8..13);
        self.headers.send_fields(&[
            ("buffer", message.buffer),
            ("area_log2", message.area_log2.into()),
            ("chunk_log2", message.chunk_log2.into()),
            ("context", message.context),
            ("generation", message.generation),
            ("count", count),
            ("length", length),
            ("payload_log2", payload_log2),
            ("tag", tag),
        ]);
        let mut bytes = vec![0; area::HEADER_LEN];
        let handle = (message.context << 20 | message.generation) as u32;
        bytes[area::HANDLE..][..4].copy_from_slice(&handle.to_le_bytes());
        bytes[area::PACKETS..][..4].copy_from_slice(&(count as u32).to_le_bytes());
        bytes[area::LENGTH..][..4].copy_from_slice(&(length as u32).to_le_bytes());
        bytes[area::CHUNK_LOG2] = message.chunk_log2;
        bytes[area::PAYLOAD_LOG2] = payload_log2 as u8;
        bytes[area::TAG..][..8].copy_from_slice(&tag.to_le_bytes());
        bytes[area::OPEN] = 1;
        let at = self.messages.len();
        self.due_headers.push(Write { message: at, address: message.area(), bytes });
        self.messages.push(message);
        at
    }

    /// A chunk of a block is complete, its payload still on its way.
    //= HR-4 test
    fn completes(&mut self, at: usize, more: bool, error: bool) {
        let message = self.messages[at].clone();
        // Often a block that has a write under way, of which another chunk is complete now.
        let chunks = 256 >> message.chunk_log2;
        let whole = |bits: &[u64; 4], chunk: usize| {
            let mut packets = (chunk << message.chunk_log2)..((chunk + 1) << message.chunk_log2);
            packets.all(|bit| bits[bit / 64] >> (bit % 64) & 1 != 0)
        };
        let (block, chunk, mut bits) = loop {
            let block = if self.rng.chance(0.8) { self.rng.below(3) } else { self.rng.bits(16) };
            let bits = *self.arrived.entry((at, block)).or_default();
            let missing: Vec<_> = (0..chunks).filter(|&chunk| !whole(&bits, chunk)).collect();
            if !missing.is_empty() {
                break (block, *self.rng.pick(&missing), bits);
            }
        };
        let own = (chunk << message.chunk_log2)..((chunk + 1) << message.chunk_log2);
        let others = self.rng.below(40);
        let others: Vec<_> = (0..others).map(|_| self.rng.below(256) as usize).collect();
        for bit in own.chain(others) {
            bits[bit / 64] |= 1 << (bit % 64);
        }
        self.arrived.insert((at, block), bits);
        let mut word = self.chunks.shape().pack(&[
            ("buffer", message.buffer),
            ("area_log2", message.area_log2.into()),
            ("chunk_log2", message.chunk_log2.into()),
            ("block", block),
        ]);
        let fields = self.dut.model().fields("chunk_data");
        let lsb = fields.into_iter().find(|(name, ..)| name == "bits").expect("the field").1;
        for (i, part) in bits.iter().enumerate() {
            word.set_bits(lsb + 64 * i, 64, *part);
        }
        self.chunks.send(word);
        let len = area::block_len(message.chunk_log2);
        let mut bytes = vec![0u8; len];
        for chunk in (0..chunks).filter(|&chunk| whole(&bits, chunk)) {
            bytes[chunk / 8] |= 1 << (chunk % 8);
        }
        let address = message.area() + (area::HEADER_LEN + block as usize * len) as u64;
        self.words.push_back(Write { message: at, address, bytes });
        self.messages[at].failed |= error;
        self.ends_or_goes_on(at, true, more);
    }

    fn ends_or_goes_on(&mut self, at: usize, chunk: bool, more: bool) {
        let behind = [&self.headers, &self.chunks].map(|driver| driver.sent() + driver.pending() as u64);
        let error = self.messages[at].failed;
        self.to_fence.push_back(Fence { message: Some(at), number: 0, chunk, more, error, behind });
    }

    /// A fence of a message that hardware recovers.
    fn other(&mut self) {
        self.numbers += 1;
        let number = self.numbers & 0xFFF;
        let fence = Fence { message: None, number, chunk: false, more: false, error: false, behind: [0; 2] };
        self.to_fence.push_back(fence);
    }

    fn clock(&mut self) {
        let port = |name: &str| self.dut.port(name).unwrap();
        let (valid, tag, error) =
            (port("write_status_valid"), port("write_status_data.tag"), port("write_status_data.error"));
        self.dut.set(valid, 0u64);
        let may = |at: &usize| {
            let (tag, message, _) = self.open[*at];
            Some(message) != self.withheld && !self.beats_due.contains(&tag)
        };
        let may: Vec<_> = (0..self.open.len()).filter(may).collect();
        if !may.is_empty() && self.rng.chance(self.status) {
            let (of, message, _) = self.open.swap_remove(*self.rng.pick(&may));
            let fails = self.rng.chance(self.error);
            self.dut.set(valid, 1u64);
            self.dut.set(tag, of);
            self.dut.set(error, fails);
            self.errors[0] += u64::from(fails);
            self.messages[message].open -= 1;
        }
        let may = self.to_fence.front().is_some_and(|fence| {
            fence.behind[0] <= self.headers.sent() && fence.behind[1] <= self.chunks.sent()
        });
        if may && self.placed.pending() < 2 && self.rng.chance(self.fence) {
            let fence = self.to_fence.pop_front().unwrap();
            let context = fence.message.map_or(fence.number, |at| self.messages[at].context);
            self.placed.send_fields(&[
                ("context", context),
                ("area", fence.message.is_some().into()),
                ("chunk", fence.chunk.into()),
                ("more", fence.more.into()),
                ("error", fence.error.into()),
            ]);
            let write = if fence.chunk { self.words.pop_front() } else { None };
            self.due_bits.extend(write.filter(|_| !fence.error));
            match fence.message {
                None => self.passing.push_back(fence.number),
                Some(at) if !fence.more => self.ending.push_back((at, fence.error)),
                Some(_) => {}
            }
        }
        let mut agents: Vec<&mut dyn Agent> = vec![
            &mut self.headers,
            &mut self.chunks,
            &mut self.placed,
            &mut self.descriptors,
            &mut self.beats,
        ];
        if self.engine_stuck {
            let ready = self.dut.port("fence_ready").unwrap();
            self.dut.set(ready, 0u64);
        } else {
            agents.push(&mut self.fences);
        }
        cycle(self.dut, &mut agents);
        self.errors[1] += u64::from(self.dut.is_high(self.dut.port("dma_error").unwrap()));
        while let Some(got) = self.descriptors.take() {
            let shape = self.descriptors.shape();
            let (address, length, tag) = (
                shape.get(&got.word, "address"),
                shape.get(&got.word, "length"),
                shape.get(&got.word, "tag"),
            );
            let header = self.due_headers.iter().position(|write| write.address == address);
            let is_header = header.is_some();
            let write = if let Some(at) = header {
                self.due_headers.remove(at)
            } else {
                // The beat tells which of the snapshots it is.
                let first = self.due_bits.iter().find(|write| write.address == address);
                first.expect("a write of nothing").clone()
            };
            assert_eq!((address, length), (write.address, write.bytes.len() as u64));
            assert_eq!(tag & !7, AREA_TAG, "tag {tag} is another client's");
            assert!(self.open.iter().all(|open| open.0 != tag), "tag {tag} is in use");
            assert!(self.open.iter().all(|open| open.2 != address), "two writes of one block");
            let message = &mut self.messages[write.message];
            assert_eq!(is_header, !message.announced, "the header is not the first");
            let bare = self.open.iter().any(|open| open.2 == message.area());
            assert!(is_header || !bare, "bits may be seen before the header");
            message.announced = true;
            message.open += 1;
            self.open.push((tag, write.message, address));
            self.beats_due.push(tag);
            self.due_beats.push_back((is_header, write));
            self.written += 1;
        }
        // A beat may be taken before its descriptor.
        while !self.due_beats.is_empty() && self.beats.available() > 0 {
            let got = self.beats.take().unwrap();
            let (is_header, write) = self.due_beats.pop_front().unwrap();
            self.beats_due.remove(0);
            let keep = (1u64 << write.bytes.len()) - 1;
            assert_eq!((got.word.bits(512, 64), got.word.bits(576, 1)), (keep, 1));
            let seen: Vec<u8> = (0..write.bytes.len()).map(|i| got.word.bits(8 * i, 8) as u8).collect();
            if is_header {
                assert_eq!(seen, write.bytes);
                continue;
            }
            let same = |due: &Write| due.address == write.address && due.bytes == seen;
            let at = self.due_bits.iter().rposition(same).expect("bits that nobody told");
            let mut place = 0;
            self.due_bits.retain(|due| {
                place += 1;
                due.address != write.address || place > at + 1
            });
        }
        while let Some(got) = self.fences.take() {
            let shape = self.fences.shape();
            let get = |name: &str| shape.get(&got.word, name);
            if get("area") == 0 {
                assert_eq!(Some(get("context")), self.passing.pop_front());
                continue;
            }
            let (at, error) = self.ending.pop_front().expect("an end of nothing");
            let message = &self.messages[at];
            assert_eq!((get("context"), get("error")), (message.context, error.into()));
            assert!(message.announced, "the end came before the header");
            assert_eq!(message.open, 0, "an end passed a write");
            let late = self.due_bits.iter().any(|write| write.message == at);
            assert!(!late, "an end passed bits that wait");
        }
    }

    fn drain(&mut self) {
        let limit = self.dut.cycles() + 100_000;
        while !(self.to_fence.is_empty()
            && self.due_headers.is_empty()
            && self.due_bits.is_empty()
            && self.due_beats.is_empty()
            && self.passing.is_empty()
            && self.ending.is_empty()
            && self.open.is_empty())
        {
            self.clock();
            assert!(
                self.dut.cycles() < limit,
                "stuck: {} fences, {} headers, {} bits, {} ends to come",
                self.to_fence.len(),
                self.due_headers.len(),
                self.due_bits.len(),
                self.ending.len()
            );
        }
        for _ in 0..4 {
            self.clock();
        }
        assert_eq!(self.errors[0], self.errors[1], "failed writes");
        assert_eq!(self.beats.available(), 0, "a beat without a descriptor");
    }
}

#[test]
fn areas_are_written_under_every_pattern() {
    let design = design();
    for (idle, stall) in Pattern::matrix() {
        tb::run(&format!("chunks::random {idle:?} {stall:?}"), &design, |dut, rng| {
            let mut bench = Bench::new(dut, idle, stall, rng);
            bench.status = *rng.pick(&[0.05, 0.3, 1.0]);
            bench.fence = *rng.pick(&[0.1, 0.5, 1.0]);
            let mut living: BTreeMap<u64, usize> = BTreeMap::new();
            for _ in 0..500 {
                let context = rng.below(6);
                let ends = bench.ending.iter().map(|(at, _)| *at);
                let leaving = ends.chain(bench.to_fence.iter().filter_map(|fence| fence.message));
                let over = !leaving.into_iter().any(|at| bench.messages[at].context == context);
                match living.get(&context) {
                    // A context is used again when its end is told.
                    None if over => {
                        living.insert(context, bench.opens(Message::any(rng, context)));
                    }
                    None => bench.other(),
                    Some(&at) if rng.chance(0.05) => {
                        bench.completes(at, false, false);
                        living.remove(&context);
                    }
                    Some(&at) if rng.chance(0.03) => {
                        bench.ends_or_goes_on(at, false, false);
                        living.remove(&context);
                    }
                    Some(_) if rng.chance(0.2) => bench.other(),
                    Some(&at) => bench.completes(at, true, rng.chance(0.03)),
                }
                for _ in 0..rng.below(8) {
                    bench.clock();
                }
                while bench.chunks.pending() + bench.headers.pending() > 4 || bench.to_fence.len() > 90 {
                    bench.clock();
                }
            }
            for (_, at) in living {
                bench.ends_or_goes_on(at, false, false);
            }
            bench.drain();
            assert!(bench.written > 30, "{} writes", bench.written);
        });
    }
}

/// A slow host holds up the messages it is slow for.
#[test]
fn others_overtake_an_end_that_waits() {
    tb::run("chunks::aside", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        bench.fence = 1.0;
        let first = bench.opens(Message::any(rng, 1));
        bench.status = 1.0;
        for _ in 0..30 {
            bench.clock();
        }
        bench.withheld = Some(first);
        bench.completes(first, false, false);
        let second = bench.opens(Message::any(rng, 2));
        for _ in 0..40 {
            bench.other();
            bench.completes(second, true, false);
        }
        for _ in 0..1500 {
            bench.clock();
        }
        // All the others' fences passed and all bits are written; the end is aside.
        assert_eq!((bench.passing.len(), bench.due_bits.len(), bench.ending.len()), (0, 0, 1));
        assert_eq!(bench.open.len(), 1);
        // Its own status is all it waits for.
        bench.withheld = Some(second);
        bench.completes(second, true, false);
        for _ in 0..30 {
            bench.clock();
        }
        assert!(bench.ending.is_empty(), "it waits for others' writes");
        bench.withheld = None;
        bench.ends_or_goes_on(second, false, false);
        bench.drain();
    });
}

/// The engine may be waiting for placement, which waits for its fences to be taken.
#[test]
fn placement_is_never_held_up_by_the_engine() {
    tb::run("chunks::stuck", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        (bench.engine_stuck, bench.fence) = (true, 1.0);
        for context in 0..24 {
            let at = bench.opens(Message::any(rng, context));
            bench.completes(at, true, false);
            bench.other();
            bench.completes(at, false, false);
            bench.other();
        }
        for _ in 0..3000 {
            bench.clock();
        }
        assert_eq!((bench.to_fence.len(), bench.placed.pending()), (0, 0), "fences that are not taken");
        assert_eq!((bench.due_bits.len(), bench.due_headers.len()), (0, 0));
        bench.engine_stuck = false;
        bench.drain();
    });
}

/// The sizes of the smallest, with a host that recovers.
const SMALL: Config = Config { host_recovery: true, ..NIC64 };

/// Nor by ends that waited aside for one slow status, and then go on all at once.
#[test]
fn ends_that_waited_leave_room_for_what_placement_has() {
    // Of others, or last ones of messages with an area behind as many as wait aside at most.
    let all = [
        ("chunks", &NIC512, 120, false),
        ("chunks", &NIC512, 128, true),
        ("chunks_nic64", &SMALL, 60, false),
    ];
    for (name, config, asides, last) in all {
        tb::run(&format!("chunks::crowd {name} {asides}"), &sized(name, config), |dut, rng| {
            let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
            (bench.fence, bench.status) = (1.0, 1.0);
            let slow = bench.opens(Message::any(rng, 1));
            for _ in 0..30 {
                bench.clock();
            }
            bench.withheld = Some(slow);
            bench.completes(slow, false, false);
            for context in 2..2 + asides {
                let at = bench.opens(Message::any(rng, context));
                bench.ends_or_goes_on(at, false, false);
            }
            for _ in 0..3000 {
                bench.clock();
            }
            assert_eq!((bench.to_fence.len(), bench.open.len()), (0, 1));
            assert_eq!(bench.ending.len() as u64, asides + 1);
            let most = (1 << config.write_tags_log2) + 34 + 4;
            if last {
                for context in 2 + asides..2 + asides + most {
                    let at = bench.opens(Message::any(rng, context));
                    bench.ends_or_goes_on(at, false, false);
                }
                for _ in 0..3000 {
                    bench.clock();
                }
                assert!(bench.placed.pending() > 0, "there was room aside");
            }
            (bench.withheld, bench.engine_stuck) = (None, true);
            for _ in 0..300 {
                bench.clock();
            }
            assert!(bench.dut.is_high(bench.dut.port("crowded").unwrap()));
            // Its ring full of fences, its commands, and its registers and the engine's.
            for _ in 0..if last { 0 } else { most } {
                bench.other();
            }
            for _ in 0..300 {
                bench.clock();
            }
            assert_eq!((bench.to_fence.len(), bench.placed.pending()), (0, 0), "fences that are not taken");
            bench.engine_stuck = false;
            bench.drain();
            assert!(!bench.dut.is_high(bench.dut.port("crowded").unwrap()));
        });
    }
}

/// Where no host recovers, all fences are of others: each comes out once, in order, however long the engine waits.
#[test]
fn without_areas_fences_wait_for_the_engine() {
    const { assert!(!NIC64.host_recovery) };
    for stall in [Pattern::Always, Pattern::Random(0.3)] {
        tb::run(&format!("chunks::none {stall:?}"), &sized("chunks_none", &NIC64), |dut, rng| {
            let mut bench = Bench::new(dut, Pattern::Always, stall, rng);
            for turn in 0..200 {
                bench.engine_stuck = turn % 5 == 4;
                for _ in 0..turn % 30 {
                    bench.other();
                    bench.clock();
                }
                for _ in 0..20 {
                    bench.clock();
                }
                if bench.engine_stuck && stall == Pattern::Always {
                    assert_eq!(bench.placed.pending(), 0, "placement waits for the engine");
                }
            }
            bench.engine_stuck = false;
            bench.drain();
        });
    }
}

#[test]
fn bits_never_stall_and_go_soon() {
    tb::run("chunks::depth", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        bench.fence = 0.0;
        let small = Message { chunk_log2: 0, ..Message::any(rng, 3) };
        let at = bench.opens(small);
        for _ in 0..WAITING {
            bench.completes(at, true, false);
        }
        for _ in 0..WAITING + 2 {
            bench.clock();
        }
        assert_eq!(bench.chunks.sent(), WAITING, "bits wait for room");
        while !bench.open.is_empty() {
            bench.clock();
        }
        bench.fence = 1.0;
        bench.clock();
        bench.fence = 0.0;
        let given = bench.dut.cycles();
        while bench.written < 2 {
            bench.clock();
        }
        assert_eq!(bench.dut.cycles() - given, FENCE_TO_WRITE);
        bench.fence = 1.0;
        bench.ends_or_goes_on(at, false, false);
        bench.drain();
    });
}
