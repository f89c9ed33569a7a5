//! `host::CqWriter`: the entry written, its place and phase, turns, full rings.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use tessera_abi::params::NIC512;
use tessera_abi::queue::{self, done};
use tessera_abi::regs::{cq, endpoint, table};
use tessera_rtl::host::cq_writer::CqWriter;
use tessera_rtl::host::registers::DOORBELL_KIND_CQ;
use tessera_sim::tb::{self, cycle, Pattern, Rng, StreamDriver};
use tessera_sim::verilator::{Design, Dut, PortId};
use tessera_testbenches::host::{reset, Broadcast, DmaWriter, SharedMemory, Written};

/// Clocks from a completion's acceptance to its descriptor's.
const LATENCY: u64 = 3;
const STREAMS: [&str; 5] = ["done_rx", "done_tx", "done_sq", "done_rq", "done_match"];
/// The stream that comes before the others.
const MATCH: usize = 4;

fn design() -> Design {
    tessera_testbenches::design("cq_writer", || CqWriter::new(&NIC512))
}

#[derive(Clone, Debug)]
struct Done {
    receive: bool,
    own: bool,
    /// What the match table tells; 0 of other streams.
    event: u8,
    status: u8,
    has_imm: bool,
    write: bool,
    grh: bool,
    tagged: bool,
    endpoint: u8,
    entry: u16,
    length: u32,
    imm: u32,
    slot: u16,
    generation: u32,
    peer: u32,
    gid: [u8; 16],
}

impl Done {
    fn any(rng: &mut Rng, endpoint: u8) -> Self {
        Done {
            receive: rng.chance(0.5),
            own: rng.chance(0.3),
            event: 0,
            status: rng.bits(8) as u8,
            has_imm: rng.chance(0.5),
            write: rng.chance(0.5),
            grh: rng.chance(0.5),
            tagged: rng.chance(0.5),
            endpoint,
            entry: rng.bits(16) as u16,
            length: rng.bits(32) as u32,
            imm: rng.bits(32) as u32,
            slot: rng.bits(12) as u16,
            generation: rng.bits(20) as u32,
            peer: rng.bits(24) as u32,
            gid: rng.bytes(16).try_into().unwrap(),
        }
    }

    /// The entry in host memory but for phase and time.
    fn bytes(&self, tag: u64) -> [u8; queue::COMPLETION_LEN] {
        let mut out = [0; queue::COMPLETION_LEN];
        let mut put = |at: usize, bytes: &[u8]| out[at..at + bytes.len()].copy_from_slice(bytes);
        let events = [queue::DONE_RECV, queue::DONE_POSTED, queue::DONE_UNEXPECTED, queue::DONE_CANCEL];
        let of_receive = events[usize::from(self.event)];
        put(done::OPCODE, &[if self.receive { of_receive } else { queue::DONE_SEND }]);
        put(done::STATUS, &[self.status]);
        let flag = |set: bool, flag: u8| if set { flag } else { 0 };
        let flags = flag(self.has_imm, queue::DONE_IMM)
            | flag(self.write, queue::DONE_WRITE)
            | flag(self.grh, queue::DONE_GRH)
            | flag(self.tagged, queue::DONE_VLAN);
        put(done::FLAGS, &[flags]);
        put(done::ENDPOINT, &u16::from(self.endpoint).to_le_bytes());
        put(done::ENTRY, &self.entry.to_le_bytes());
        put(done::LENGTH, &self.length.to_le_bytes());
        put(done::IMMEDIATE, &self.imm.to_le_bytes());
        put(done::TAG, &tag.to_le_bytes());
        put(done::MESSAGE, &(u32::from(self.slot) << 20 | self.generation).to_le_bytes());
        put(done::PEER_ENDPOINT, &self.peer.to_le_bytes());
        put(done::PEER_GID, &self.gid);
        out
    }
}

struct Queue {
    base: u64,
    log2: u8,
    /// Entries written, and told to be consumed.
    produced: u16,
    consumed: u16,
}

struct Bench<'a> {
    dut: &'a mut Dut,
    host: Broadcast,
    dma: DmaWriter,
    streams: Vec<StreamDriver>,
    now: PortId,
    overrun: PortId,
    overruns: u64,
    dma_error: PortId,
    dma_errors: u64,
    queues: BTreeMap<u8, Queue>,
    /// Queues of an endpoint: sends, receives.
    routes: HashMap<u8, (u8, u8)>,
    /// Shared rings of those that use one.
    shared: HashMap<u8, u8>,
    /// By tag, which is unique: stream, what was sent.
    sent: HashMap<u64, (usize, Done)>,
    next_tag: u64,
    /// Tags written: stream by stream, the order must hold.
    last_of: [u64; 5],
    written: Vec<(u64, usize)>,
    /// Tags in the order of their streams; by the address of their entry; answered.
    order: [Vec<u64>; 5],
    at: HashMap<u64, u64>,
    answered: BTreeSet<u64>,
    memory: SharedMemory,
}

impl<'a> Bench<'a> {
    fn new(dut: &'a mut Dut, idle: Pattern, stall: Pattern, rng: &mut Rng) -> Self {
        let memory = SharedMemory::default();
        reset(dut);
        Bench {
            host: Broadcast::new(dut),
            dma: DmaWriter::new(dut, "write", memory.clone(), stall, stall, rng),
            streams: STREAMS.iter().map(|name| StreamDriver::new(dut, name, idle, rng).unwrap()).collect(),
            now: dut.port("now").unwrap(),
            overrun: dut.port("event_overrun").unwrap(),
            overruns: 0,
            dma_error: dut.port("event_dma_error").unwrap(),
            dma_errors: 0,
            queues: BTreeMap::new(),
            routes: HashMap::new(),
            shared: HashMap::new(),
            sent: HashMap::new(),
            next_tag: 1,
            last_of: [0; 5],
            written: Vec::new(),
            order: Default::default(),
            at: HashMap::new(),
            answered: BTreeSet::new(),
            memory,
            dut,
        }
    }

    fn queue(&mut self, index: u8, base: u64, log2: u8) {
        self.host.table(
            table::CQ,
            index.into(),
            &[(cq::VALID, 1), (cq::LOG2, log2.into()), (cq::BASE, base)],
        );
        self.queues.insert(index, Queue { base, log2, produced: 0, consumed: 0 });
    }

    fn endpoint(&mut self, index: u8, sends: u8, receives: u8) {
        self.host.table(
            table::ENDPOINT,
            index.into(),
            &[(endpoint::VALID, 1), (endpoint::SEND_CQ, sends.into()), (endpoint::RECV_CQ, receives.into())],
        );
        self.routes.insert(index, (sends, receives));
    }

    /// As `endpoint`, with receives from the ring of `ring`.
    fn sharing(&mut self, index: u8, sends: u8, receives: u8, ring: u8) {
        self.host.table(
            table::ENDPOINT,
            index.into(),
            &[
                (endpoint::VALID, 1),
                (endpoint::SEND_CQ, sends.into()),
                (endpoint::RECV_CQ, receives.into()),
                (endpoint::SHARES, 1),
                (endpoint::SHARED_RING, ring.into()),
            ],
        );
        self.routes.insert(index, (sends, receives));
        self.shared.insert(index, ring);
    }

    fn settle(&mut self) {
        while self.host.pending() > 0 {
            self.clock();
        }
        for _ in 0..6 {
            self.clock();
        }
    }

    fn route(&self, done: &Done) -> u8 {
        let (sends, receives) = self.routes[&done.endpoint];
        if done.receive {
            receives
        } else {
            sends
        }
    }

    fn send(&mut self, stream: usize, done: Done) {
        let tag = self.next_tag;
        self.next_tag += 1;
        let shape = self.streams[stream].shape().clone();
        let mut word = shape.pack(&[
            ("receive", done.receive.into()),
            ("own", done.own.into()),
            ("event", done.event.into()),
            ("status", done.status.into()),
            ("has_imm", done.has_imm.into()),
            ("write", done.write.into()),
            ("grh", done.grh.into()),
            ("vlan_valid", done.tagged.into()),
            ("endpoint", done.endpoint.into()),
            ("entry", done.entry.into()),
            ("length", done.length.into()),
            ("imm", done.imm.into()),
            ("tag", tag),
            ("slot", done.slot.into()),
            ("generation", done.generation.into()),
            ("peer_endpoint", done.peer.into()),
        ]);
        let gid = u128::from_be_bytes(done.gid);
        let lsb = shape.width() - 128;
        word.set_bits(lsb, 64, gid as u64);
        word.set_bits(lsb + 64, 64, (gid >> 64) as u64);
        self.streams[stream].send(word);
        self.order[stream].push(tag);
        self.sent.insert(tag, (stream, done));
    }

    fn pending(&self) -> usize {
        self.streams.iter().map(StreamDriver::pending).sum()
    }

    fn clock(&mut self) {
        self.dut.set(self.now, self.dut.cycles() & 0xFFFF_FFFF);
        let [rx, tx, sq, rq, of_match] = &mut self.streams[..] else { unreachable!("five streams") };
        cycle(self.dut, &mut [&mut self.host, &mut self.dma, rx, tx, sq, rq, of_match]);
        self.overruns += self.dut.sampled(self.overrun);
        self.dma_errors += self.dut.sampled(self.dma_error);
        if let Some(address) = self.dma.answered {
            self.answered.insert(self.at[&address]);
        }
        while let Some(written) = self.dma.log.pop_front() {
            self.check(&written);
        }
    }

    fn check(&mut self, written: &Written) {
        assert_eq!(written.bytes.len(), queue::COMPLETION_LEN);
        let field = |at: usize| u64::from_le_bytes(written.bytes[at..at + 8].try_into().unwrap());
        let tag = field(done::TAG);
        let (stream, meant) = self.sent.remove(&tag).expect("an entry written twice or never sent");
        assert!(tag > self.last_of[stream], "{} out of order", STREAMS[stream]);
        self.last_of[stream] = tag;
        let number = self.route(&meant);
        let queue = self.queues.get_mut(&number).unwrap();
        let place = u64::from(queue.produced) & ((1 << queue.log2) - 1);
        assert_eq!(written.address, queue.base + 64 * place, "place in queue {number}");
        let filled = queue.produced.wrapping_sub(queue.consumed);
        assert!(filled < 1 << queue.log2, "queue {number} is overwritten");
        let phase = (queue.produced >> queue.log2 & 1 ^ 1) as u8;
        queue.produced = queue.produced.wrapping_add(1);
        let time = field(done::TIMESTAMP) as u32;
        let age = (written.clock as u32).wrapping_sub(time);
        assert!(age < 200, "stamped {age} clocks before it was written");
        let mut expected = meant.bytes(tag);
        expected[done::TIMESTAMP..done::TIMESTAMP + 4].copy_from_slice(&time.to_le_bytes());
        expected[done::PHASE] = phase;
        if meant.receive {
            let shared = self.shared.get(&meant.endpoint).filter(|_| !meant.own);
            expected[done::RING] = *shared.unwrap_or(&meant.endpoint);
        }
        assert_eq!(written.bytes, expected, "{meant:x?}");
        self.written.push((written.clock, stream));
        self.at.insert(written.address, tag);
    }

    /// What is taken and not answered, and the next `offered` of every stream.
    fn under_way(&self, offered: usize) -> BTreeSet<u64> {
        let mut tags = BTreeSet::new();
        for (order, stream) in self.order.iter().zip(&self.streams) {
            let taken = order.len() - stream.pending();
            tags.extend(&order[..order.len().min(taken + offered)]);
        }
        &tags - &self.answered
    }

    /// Consumes `count` entries of a queue.
    fn consume(&mut self, number: u8, count: u16) {
        let queue = self.queues.get_mut(&number).unwrap();
        queue.consumed = queue.consumed.wrapping_add(count);
        let value = queue.consumed;
        self.host.ring(DOORBELL_KIND_CQ, number.into(), value);
    }
}

#[test]
fn every_completion_lands_whole_in_its_queue() {
    let design = design();
    for (idle, stall) in Pattern::matrix() {
        tb::run(&format!("cq_writer::random {idle:?} {stall:?}"), &design, |dut, rng| {
            let mut bench = Bench::new(dut, idle, stall, rng);
            let numbers: Vec<u8> = (0..5).map(|i| i * 50 + rng.below(50) as u8).collect();
            for (i, number) in numbers.iter().enumerate() {
                let base = 0x10_0000 * (i as u64 + 1) + 64 * rng.below(1000);
                bench.queue(*number, base, rng.range(1..6) as u8);
            }
            let endpoints: Vec<u8> = (0..8).map(|i| i * 32 + rng.below(32) as u8).collect();
            for index in &endpoints {
                let (sends, receives) = (*rng.pick(&numbers), *rng.pick(&numbers));
                if rng.chance(0.5) {
                    bench.sharing(*index, sends, receives, rng.bits(8) as u8);
                } else {
                    bench.endpoint(*index, sends, receives);
                }
            }
            bench.settle();
            // Room promised per queue: never more in flight than it holds.
            let mut free: HashMap<u8, i32> =
                numbers.iter().map(|n| (*n, 1 << bench.queues[n].log2)).collect();
            for _ in 0..3000 {
                let index = *rng.pick(&endpoints);
                let mut done = Done::any(rng, index);
                {
                    let stream = rng.below(5) as usize;
                    if stream == MATCH {
                        done = Done { receive: true, event: rng.below(4) as u8, ..done };
                    }
                    let number = bench.route(&done);
                    if free[&number] > 0 {
                        *free.get_mut(&number).unwrap() -= 1;
                        bench.send(stream, done);
                    }
                }
                if rng.chance(0.3) {
                    let number = *rng.pick(&numbers);
                    let queue = &bench.queues[&number];
                    let there = queue.produced.wrapping_sub(queue.consumed);
                    // Only one doorbell on its way, so that the room is real.
                    if there > 0 && bench.host.pending() == 0 {
                        let count = rng.range(1..u64::from(there) + 1) as u16;
                        bench.consume(number, count);
                        bench.settle();
                        *free.get_mut(&number).unwrap() += i32::from(count);
                    }
                }
                bench.clock();
            }
            for _ in 0..2000 {
                bench.clock();
            }
            assert_eq!((bench.pending(), bench.sent.len(), bench.overruns), (0, 0, 0));
            assert!(bench.written.len() > 500);
        });
    }
}

#[test]
fn what_the_match_table_tells_comes_first() {
    tb::run("cq_writer::match", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        bench.queue(3, 0x1000, 10);
        bench.endpoint(1, 3, 3);
        bench.settle();
        for _ in 0..40 {
            for stream in 0..5 {
                let event = if stream == MATCH { 2 } else { 0 };
                bench.send(stream, Done { receive: true, event, ..Done::any(rng, 1) });
            }
        }
        while bench.written.len() < 200 {
            bench.clock();
        }
        // The first may have been picked in the clock before.
        let early = bench.written[..41].iter().filter(|(_, stream)| *stream == MATCH).count();
        assert_eq!(early, 40);
        // The others take turns all the same.
        let rest: Vec<usize> = bench.written[60..].iter().map(|(_, stream)| *stream).collect();
        assert!(rest.windows(4).all(|four| (0..4).all(|stream| four.contains(&stream))), "{rest:?}");
    });
}

#[test]
fn a_full_or_missing_queue_loses_and_counts() {
    tb::run("cq_writer::overrun", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Random(0.5), rng);
        bench.queue(3, 0x1000, 2);
        bench.endpoint(1, 3, 3);
        bench.endpoint(2, 9, 9);
        bench.settle();
        for i in 0..20 {
            bench.send(i % 4, Done::any(rng, 1));
        }
        for _ in 0..400 {
            bench.clock();
        }
        assert_eq!((bench.written.len(), bench.overruns), (4, 16));
        // Two consumed: two more fit, and the phase has turned.
        bench.consume(3, 2);
        bench.settle();
        for i in 0..5 {
            bench.send(i % 4, Done::any(rng, 1));
        }
        for _ in 0..200 {
            bench.clock();
        }
        assert_eq!((bench.written.len(), bench.overruns), (6, 19));
        // A queue that does not exist takes nothing and keeps nobody waiting.
        for i in 0..5 {
            bench.send(i % 4, Done::any(rng, 2));
        }
        for _ in 0..200 {
            bench.clock();
        }
        assert_eq!((bench.pending(), bench.written.len(), bench.overruns), (0, 6, 24));
    });
}

#[test]
fn writing_the_queue_starts_it_anew() {
    tb::run("cq_writer::rewrite", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Random(0.5), rng);
        bench.endpoint(1, 3, 4);
        bench.queue(4, 0x8000, 5);
        for round in 0..200u64 {
            let log2 = rng.range(1..5) as u8;
            bench.queue(3, 0x10_0000 + 0x1000 * round, log2);
            bench.settle();
            for _ in 0..rng.below((1 << log2) + 1) {
                let done = Done { receive: false, ..Done::any(rng, 1) };
                bench.send(rng.below(4) as usize, done);
            }
            // Writes of other queues come at any moment and disturb nothing.
            while bench.pending() > 0 {
                if bench.host.pending() == 0 && rng.chance(0.3) {
                    bench.host.table(table::CQ, 200, &[(cq::VALID, 1)]);
                }
                bench.clock();
            }
            for _ in 0..40 {
                bench.clock();
            }
            assert_eq!((bench.sent.len(), bench.overruns), (0, 0));
        }
    });
}

#[test]
fn the_running_index_wraps_at_sixteen_bits() {
    for log2 in [1, 15] {
        tb::run(&format!("cq_writer::wrap {log2}"), &design(), |dut, rng| {
            let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
            bench.queue(0, 0x100_0000, log2);
            bench.endpoint(0, 0, 0);
            bench.settle();
            let mut total = 0;
            while total < 66_000 {
                let queue = &bench.queues[&0];
                if queue.produced != queue.consumed {
                    let count = queue.produced.wrapping_sub(queue.consumed);
                    bench.consume(0, count);
                    bench.settle();
                }
                let batch = if log2 == 1 { 2 } else { 3000 };
                for _ in 0..batch {
                    bench.send(total % 4, Done::any(rng, 0));
                    total += 1;
                }
                while bench.pending() > 0 {
                    bench.clock();
                }
                for _ in 0..6 {
                    bench.clock();
                }
            }
            assert_eq!((bench.overruns, bench.sent.len()), (0, 0));
        });
    }
}

#[test]
fn turns_are_fair_and_one_completion_takes_two_clocks() {
    tb::run("cq_writer::rate", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        bench.queue(0, 0x10_0000, 12);
        bench.endpoint(0, 0, 0);
        bench.settle();
        for i in 0..1600 {
            bench.send(i % 4, Done::any(rng, 0));
        }
        while bench.pending() > 0 {
            bench.clock();
        }
        for _ in 0..6 {
            bench.clock();
        }
        let clocks: Vec<u64> = bench.written.iter().map(|(clock, _)| *clock).collect();
        assert!(clocks.windows(2).all(|pair| pair[1] - pair[0] == 2), "one in two clocks");
        for turn in bench.written.windows(4) {
            let streams: std::collections::BTreeSet<usize> = turn.iter().map(|(_, stream)| *stream).collect();
            assert_eq!(streams.len(), 4, "each stream once in four");
        }
        // Two of four wanting share alike; one alone has it all.
        bench.written.clear();
        let begin = bench.dut.cycles();
        for i in 0..400 {
            bench.send(1 + 2 * (i % 2), Done::any(rng, 0));
        }
        let mut order = VecDeque::new();
        while bench.pending() > 0 {
            bench.clock();
        }
        for _ in 0..6 {
            bench.clock();
        }
        order.extend(bench.written.iter().map(|(_, stream)| *stream));
        assert!(order.make_contiguous().windows(2).all(|pair| pair[0] != pair[1]));
        assert!(bench.dut.cycles() - begin <= 400 * 3 + 12);
    });
}

/// RE-3: whoever frees a queue's memory must know that nothing is written there
/// any more, while others' completions come without a pause and statuses in any
/// order.
#[test]
fn drained_means_that_all_of_before_is_in_host_memory() {
    for latest_first in [false, true] {
        tb::run(&format!("cq_writer::drain {latest_first}"), &design(), |dut, rng| {
            let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
            let [drain, drained] = ["drain", "drained"].map(|name| bench.dut.port(name).unwrap());
            bench.dut.set(drain, 0u64);
            bench.dma.latest_first = latest_first;
            // No place is written twice.
            bench.queue(0, 0x10_0000, 14);
            bench.endpoint(0, 0, 0);
            bench.settle();
            for round in 0..48 {
                let (steady, given_up) = (round % 3 == 2, round % 4 == 3);
                let mut more = |bench: &mut Bench<'_>, least: usize| {
                    for stream in 0..MATCH {
                        while bench.streams[stream].pending() < least {
                            bench.send(stream, Done::any(rng, 0));
                        }
                    }
                };
                bench.dma.held = true;
                if round % 3 != 0 {
                    more(&mut bench, 1 + round % 4);
                    let told = Done { receive: true, event: 1, ..Done::any(&mut Rng::new(round as u64), 0) };
                    bench.send(MATCH, told);
                }
                for _ in 0..round {
                    if steady {
                        more(&mut bench, 4);
                    }
                    bench.clock();
                }
                if given_up {
                    bench.dut.set(drain, 1u64);
                    for _ in 0..round {
                        if steady {
                            more(&mut bench, 4);
                        }
                        bench.clock();
                    }
                    bench.dut.set(drain, 0u64);
                    bench.clock();
                }
                if steady {
                    more(&mut bench, 4);
                }
                // Of a stream that offers all the time, three words.
                let before = bench.under_way(3);
                bench.dut.set(drain, 1u64);
                let mut late = 0;
                for clocks in 0.. {
                    if steady {
                        more(&mut bench, 4);
                    }
                    bench.dma.held = clocks < 60;
                    let over = before.is_subset(&bench.answered);
                    bench.clock();
                    if bench.dut.sampled(drained) != 0 {
                        assert!(over, "round {round}: {:?} are not answered", &before - &bench.answered);
                        break;
                    }
                    late += u32::from(over && clocks >= 60);
                    assert!(late < 200, "round {round}: it is never over");
                }
                bench.dut.set(drain, 0u64);
                bench.clock();
                assert_eq!(steady, bench.pending() > 0, "round {round}: traffic that does not pause");
                while !(bench.sent.is_empty() && bench.under_way(0).is_empty()) {
                    bench.clock();
                }
                bench.clock();
                assert_eq!(bench.dut.sampled(drained), 0, "it is asked again");
            }
            assert_eq!(bench.overruns, 0);
        });
    }
}

#[test]
fn latency_and_failed_writes() {
    tb::run("cq_writer::latency", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        bench.queue(0, 0x10_0000, 8);
        bench.endpoint(0, 0, 0);
        bench.settle();
        let (valid, ready) =
            (bench.dut.port("done_sq_valid").unwrap(), bench.dut.port("done_sq_ready").unwrap());
        for _ in 0..20 {
            bench.send(2, Done::any(rng, 0));
            let mut accepted = 0;
            let before = bench.written.len();
            while bench.written.len() == before {
                bench.clock();
                if bench.dut.sampled(valid) != 0 && bench.dut.sampled(ready) != 0 {
                    accepted = bench.dut.cycles();
                }
            }
            assert_eq!(bench.written.last().unwrap().0 - accepted, LATENCY);
            for _ in 0..rng.below(8) {
                bench.clock();
            }
        }
        bench.memory.borrow_mut().poisoned.push(0..u64::MAX);
        for _ in 0..7 {
            bench.send(0, Done::any(rng, 0));
        }
        for _ in 0..60 {
            bench.clock();
        }
        assert_eq!(bench.dma_errors, 7);
    });
}
