//! Host recovery on whole NICs beside the scoreboard: what areas say is true
//! whenever it is read, and the host has the last word.

use std::sync::Arc;

use tessera_abi::params::BLOCK_PACKETS;
use tessera_abi::regs::{self, Counter, Reg};
use tessera_abi::wire;
use tessera_driver::{
    Access, ChunkOptions, ChunkWatch, ChunkedMessage, DmaMemory, MemoryRegion, RecvRequest, SendRequest,
    Status, WorkCompletion,
};
use tessera_model::scoreboard::Tolerance;
use tessera_sim::fabric::{FabricOptions, Faults, Loss, Verdict};
use tessera_sim::judged::Judged;
use tessera_sim::nic::{DmaOptions, NicOptions};
use tessera_testbenches::pair::Pair;
use tessera_testbenches::pressed::{model, CONFIG};

const PACKET: usize = 1024;

/// Two NICs, their hosts and the scoreboard.
struct World {
    pair: Pair,
    judged: Judged,
    done: [Vec<WorkCompletion>; 2],
}

/// A chunked receive and what was found in it.
struct Expected {
    id: u64,
    content: Vec<u8>,
    memory: Arc<DmaMemory>,
    watch: ChunkWatch,
    chunk: u32,
    /// Chunks whose bytes were compared.
    seen: Vec<bool>,
    _region: MemoryRegion,
}

fn content(len: usize, id: u64) -> Vec<u8> {
    (0..len as u64).map(|i| (i * 31 + i / 251 + id * 13 + 1) as u8).collect()
}

impl Expected {
    fn message(&self) -> Option<ChunkedMessage> {
        self.watch.message()
    }

    fn payload(&self) -> Vec<u8> {
        self.memory.to_vec(self.watch.payload(), self.content.len())
    }

    /// Every chunk that the area says is there is there, whenever one looks.
    //= HR-4 test
    #[track_caller]
    fn check(&mut self) {
        let Some(message) = self.message() else { return };
        //= HR-3 test
        assert_eq!((message.len as usize, message.tag), (self.content.len(), self.id));
        assert_eq!(message.packets as usize, self.content.len().div_ceil(PACKET));
        assert_eq!(message.payload_size as usize, PACKET);
        for (at, seen) in self.seen.iter_mut().enumerate() {
            let first = at as u32 * self.chunk;
            if *seen || !self.watch.has(first) {
                assert!(!*seen || self.watch.has(first), "chunk {at} was taken back");
                continue;
            }
            let from = first as usize * PACKET;
            let to = self.content.len().min(from + self.chunk as usize * PACKET);
            let bytes = self.memory.to_vec(self.watch.payload() + from, to - from);
            assert!(bytes == self.content[from..to], "chunk {at} is told of and not there");
            *seen = true;
        }
    }

    fn told(&self) -> usize {
        self.seen.iter().filter(|seen| **seen).count()
    }
}

impl World {
    fn new(seed: u64, faults: Faults, settings: &[(Reg, u32)]) -> Self {
        Self::with_areas_in(seed, faults, settings, (20, 300))
    }

    /// With the clocks that a write into an area takes, least and most.
    fn with_areas_in(seed: u64, faults: Faults, settings: &[(Reg, u32)], clocks: (u64, u64)) -> Self {
        let fabric = FabricOptions { faults, ..FabricOptions::new(4, 250, 500, seed) };
        // Payload is slower than what is told of it.
        let dma_data = DmaOptions { write_delay: (100, 900), ..NicOptions::default().dma_data };
        let dma_ctrl = DmaOptions { write_delay: clocks, ..NicOptions::default().dma_ctrl };
        let nic = NicOptions { seed, dma_data, dma_ctrl, ..NicOptions::default() };
        let mut judged = Judged::new(model(), CONFIG, 2, (&nic, fabric), Tolerance::default()).unwrap();
        let settings: Vec<_> = [(regs::PATH_COUNT, 4)].iter().chain(settings).copied().collect();
        let pair = Pair::on(judged.cluster().clone(), &settings);
        judged.begin();
        Self { pair, judged, done: [Vec::new(), Vec::new()] }
    }

    /// One window; completions are taken.
    fn pass(&mut self) {
        self.pair.pass(1);
        self.judged.judge();
        for (side, done) in [&mut self.pair.a, &mut self.pair.b].into_iter().zip(&mut self.done) {
            while let Some(next) = side.next(0) {
                done.push(next);
            }
        }
    }

    fn ended(&mut self, nic: usize, receive: bool, id: u64) -> Option<WorkCompletion> {
        let at = self.done[nic].iter().position(|done| (done.receive, done.work_id) == (receive, id))?;
        Some(self.done[nic].remove(at))
    }

    /// Both ends of a message.
    #[track_caller]
    fn ends(&mut self, id: u64) -> (Status, Status) {
        for _ in 0..60_000 {
            let over = |nic: usize, receive| {
                self.done[nic].iter().any(|done| (done.receive, done.work_id) == (receive, id))
            };
            if over(1, true) && over(0, false) {
                break;
            }
            self.pass();
        }
        let (received, sent) = (self.ended(1, true, id), self.ended(0, false, id));
        (received.expect("the receive ends").status, sent.expect("the send ends").status)
    }

    /// Posts a chunked receive at `b` for a message that `a` will send.
    fn expect(&mut self, id: u64, len: usize, chunk: u32) -> Expected {
        let packets = len.div_ceil(PACKET) as u32;
        let options = ChunkOptions { packets_per_chunk: chunk, most_packets: packets };
        let whole = options.area_len().unwrap() + len;
        let memory = DmaMemory::new(whole);
        let region = self.pair.b.register(&memory, Access::LOCAL_WRITE);
        let request = RecvRequest { work_id: id, region: &region, range: 0..whole };
        let watch = self.pair.b.endpoint.post_chunked_recv(&request, &options).unwrap();
        let seen = vec![false; packets.div_ceil(chunk) as usize];
        Expected { id, content: content(len, id), memory, watch, chunk, seen, _region: region }
    }

    fn send(&mut self, id: u64, bytes: &[u8]) -> MemoryRegion {
        let region = self.pair.a.register(&DmaMemory::from_slice(bytes), Access::READ);
        let request = SendRequest {
            work_id: id,
            region: &region,
            range: 0..bytes.len(),
            to: self.pair.b.endpoint.address(),
            tag: id,
            immediate: None,
            round: None,
            payload_size: PACKET as u32,
        };
        self.pair.a.endpoint.post_recoverable_send(&request).unwrap();
        region
    }

    /// Software that asks for what is missing, block by block, whenever nothing
    /// has come for a while; until the message has ended. Orders that met it.
    fn recover(&mut self, expected: &mut Expected) -> (Status, Status, u32) {
        let (mut last, mut quiet, mut met) = (0, 0, 0);
        for _ in 0..4000 {
            self.pass();
            expected.check();
            if self.done[1].iter().any(|done| done.receive && done.work_id == expected.id) {
                break;
            }
            quiet = if expected.told() == last { quiet + 1 } else { 0 };
            last = expected.told();
            let Some(message) = expected.message().filter(|_| quiet >= 20) else { continue };
            quiet = 0;
            let mut asked = None;
            for run in expected.watch.missing(&message) {
                for packet in run {
                    let block = packet / BLOCK_PACKETS;
                    if asked != Some(block) {
                        asked = Some(block);
                        let limit = (block + 1) * BLOCK_PACKETS;
                        met +=
                            u32::from(self.pair.b.context.request_retransmission(&message, limit).unwrap());
                    }
                }
            }
        }
        expected.check();
        let (received, sent) = self.ends(expected.id);
        (received, sent, met)
    }

    /// Nothing is left over.
    #[track_caller]
    fn assert_returned(&mut self) {
        let contexts = [self.pair.a.context.clone(), self.pair.b.context.clone()];
        let kept = self.judged.kept(&contexts).unwrap();
        assert!(kept.is_empty(), "{kept:?}");
        assert!(self.done.iter().all(Vec::is_empty), "{:?}", self.done);
    }

    /// Nor has the scoreboard anything to say.
    #[track_caller]
    fn finish(mut self) {
        self.assert_returned();
        let (summary, violations) = self.judged.finish();
        println!("{summary:?}");
        assert!(violations.is_empty(), "{violations:#?}");
    }
}

//= HR-1 test
//= HR-6 test
//= HR-8 test
#[test]
fn software_recovers_what_the_network_loses() {
    let seed = tessera_testbenches::seed("nic_host_recovery::loss");
    let faults = Faults { loss: Loss::Uniform(0.03), duplicate: 0.02, max_copies: 2, ..Faults::default() };
    let mut world = World::new(seed, faults, &[]);
    for (id, (chunk, len)) in [
        (1, 700 * PACKET),
        (4, 300 * PACKET - 5),
        (32, 1000 * PACKET + 1),
        (2, 2 * PACKET),
        (16, 40 * PACKET),
    ]
    .into_iter()
    .enumerate()
    {
        let id = id as u64;
        let mut expected = world.expect(id, len, chunk);
        let before = world.pair.b.count(Counter::TxNack);
        let sent = content(len, id);
        let _region = world.send(id, &sent);
        let (received, ended, met) = world.recover(&mut expected);
        let nacks = world.pair.b.count(Counter::TxNack) - before;
        println!("message {id}: {received:?}, {ended:?}, {met} orders, {nacks} NACKs");
        assert_eq!((received, ended), (Status::Success, Status::Success));
        assert!(expected.payload() == sent, "message {id} is not what was sent");
        assert!(expected.watch.missing(&expected.message().unwrap()).is_empty(), "bits are missing");
        assert!(nacks <= met, "{nacks} NACKs and {met} orders");
    }
    assert!(world.pair.b.count(Counter::TxNack) > 0, "nothing was asked for");
    assert!(world.pair.a.count(Counter::TxRetransmitted) > 0, "nothing was sent again");
    world.finish();
}

/// Several at once, beside messages that hardware recovers.
#[test]
fn others_go_on_beside_them() {
    let seed = tessera_testbenches::seed("nic_host_recovery::beside");
    let faults = Faults { loss: Loss::Uniform(0.02), ..Faults::default() };
    let mut world = World::new(seed, faults, &[]);
    // Receives are taken in the order of the ring: all are chunked, and large enough.
    let len = 200 * PACKET - 100;
    let mut all: Vec<Expected> = (0..6).map(|_| world.expect(77, len, 4)).collect();
    let bytes: Vec<Vec<u8>> = (0..6).map(|id| content(len, id)).collect();
    let mut regions = Vec::new();
    for id in 0..6u64 {
        if id % 2 == 0 {
            regions.push(world.send(id, &bytes[id as usize]));
        } else {
            let to = world.pair.b.endpoint.address();
            world.pair.a.send_packets(to, &bytes[id as usize], id, PACKET as u32);
        }
    }
    for turn in 0..6000u32 {
        world.pass();
        for expected in &mut all {
            let Some(message) = expected.message() else { continue };
            expected.id = message.tag;
            expected.content.clone_from(&bytes[message.tag as usize]);
            expected.check();
        }
        for expected in &all {
            let Some(message) = expected.message() else { continue };
            let missing = expected.watch.missing(&message);
            if let Some(run) = missing.first().filter(|_| turn.is_multiple_of(7)) {
                world.pair.b.context.request_retransmission(&message, run.end).unwrap();
            }
        }
        if world.done.iter().all(|done| done.len() == 6) {
            break;
        }
    }
    assert!(world.done.iter().all(|done| done.len() == 6), "{:?}", world.done);
    for done in world.done.iter().flatten() {
        assert_eq!(done.status, Status::Success, "{done:?}");
    }
    // Half of them told of themselves, in the order of their opening.
    assert_eq!(all.iter().filter(|expected| expected.message().is_some()).count(), 3);
    for expected in &all {
        let found = expected.payload();
        assert!(bytes.contains(&found), "a receive holds none of the messages");
    }
    world.done = [Vec::new(), Vec::new()];
    world.finish();
}

/// Ends wait for a host that is slow to take what is told; nothing waits for good.
#[test]
fn a_slow_host_stops_nobody() {
    let mut world = World::with_areas_in(6, Faults::default(), &[], (3000, 6000));
    let len = 12 * PACKET - 100;
    let all: Vec<Expected> = (0..14).map(|id| world.expect(id, len, 1)).collect();
    let bytes: Vec<Vec<u8>> = (0..14).map(|id| content(len, id)).collect();
    let regions: Vec<_> = (0..14).map(|id| world.send(id, &bytes[id as usize])).collect();
    for turn in 0..20_000u32 {
        if world.done.iter().all(|done| done.len() == 14) {
            break;
        }
        world.pass();
        // Frames that found no room while the host was slow are lost, as any.
        for expected in all.iter().filter(|_| turn.is_multiple_of(100)) {
            let Some(message) = expected.message() else { continue };
            if let Some(run) = expected.watch.missing(&message).last() {
                world.pair.b.context.request_retransmission(&message, run.end).unwrap();
            }
        }
    }
    assert!(world.done.iter().all(|done| done.len() == 14), "not all end");
    for done in world.done.iter().flatten() {
        assert_eq!(done.status, Status::Success, "{done:?}");
    }
    for expected in &all {
        let message = expected.message().expect("it told of itself");
        assert!(expected.watch.missing(&message).is_empty());
        assert!(expected.payload() == bytes[message.tag as usize]);
    }
    drop(regions);
    world.done = [Vec::new(), Vec::new()];
    // What waits so long before it is judged, or is dropped, is not as the scoreboard has it.
    world.assert_returned();
}

/// The index of a DATA packet that is sent for the first time.
fn first_copy(frame: &[u8]) -> Option<u32> {
    let trh = frame.get(wire::TRH_AT..)?;
    let again = trh[1] & wire::flag::RETX != 0;
    let index = u32::from_be_bytes([0, trh[8], trh[9], trh[10]]);
    (trh[0] & 0xF == wire::TYPE_DATA && !again).then_some(index)
}

//= HR-5 test
//= HR-7 test
#[test]
fn the_host_ends_a_message_as_it_is() {
    let mut world = World::new(3, Faults::default(), &[]);
    let len = 400 * PACKET;
    let lost = [3, 130, 257];
    world.pair.script(Box::new(move |_, from, frame| match first_copy(frame) {
        Some(index) if from == 0 && lost.contains(&index) => Verdict::Lose,
        _ => Verdict::Pass,
    }));
    let mut expected = world.expect(9, len, 8);
    let sent = content(len, 9);
    let _region = world.send(9, &sent);
    for _ in 0..1500 {
        world.pass();
        expected.check();
    }
    // All but the chunks of three packets are there, and nobody asks for those.
    let message = expected.message().expect("it has opened");
    assert_eq!(expected.watch.missing(&message), [0..8, 128..136, 256..264]);
    assert_eq!(world.pair.b.count(Counter::TxNack), 0);
    let wrong = ChunkedMessage { handle: message.handle ^ 1, ..message };
    let elsewhere = ChunkedMessage { handle: message.handle ^ 1 << 20, ..message };
    let outside = ChunkedMessage { handle: message.handle ^ 1 << 31, ..message };
    for nobody in [wrong, elsewhere, outside] {
        assert!(!world.pair.b.context.complete_partially(&nobody).unwrap());
        assert!(!world.pair.b.context.request_retransmission(&nobody, 400).unwrap());
    }
    // An order for nothing that is missing, or for nothing at all, sends nothing.
    assert!(world.pair.b.context.request_retransmission(&message, 3).unwrap());
    assert!(world.pair.b.context.request_retransmission(&message, 0).unwrap());
    for _ in 0..40 {
        world.pass();
    }
    assert_eq!(world.pair.b.count(Counter::TxNack), 0);
    // The last block comes back, the first stays as it is.
    assert!(world.pair.b.context.request_retransmission(&message, 400).unwrap());
    for _ in 0..200 {
        world.pass();
        expected.check();
    }
    assert_eq!(expected.watch.missing(&message), [0..8, 128..136]);
    assert_eq!(world.pair.b.count(Counter::TxNack), 1);
    assert!(world.pair.b.context.complete_partially(&message).unwrap());
    assert_eq!(world.ends(9), (Status::Partial, Status::Partial));
    assert_eq!(expected.watch.missing(&message), [0..8, 128..136]);
    assert!(!world.pair.b.context.complete_partially(&message).unwrap(), "it has ended");
    let found = expected.payload();
    for (packet, bytes) in sent.chunks(PACKET).enumerate() {
        let there = found[packet * PACKET..][..bytes.len()] == *bytes;
        assert_eq!(there, ![3, 130].contains(&packet), "packet {packet}");
    }
    world.finish();
}

/// A host that never answers costs its message and nothing else (§7.7).
//= HR-8 test
#[test]
fn a_host_that_never_answers_costs_one_message() {
    let short = [(regs::RX_GIVE_UP, 20_000), (regs::GRANT_WAIT, 200_000)];
    let mut world = World::new(4, Faults::default(), &short);
    world.pair.script(Box::new(|_, from, frame| match first_copy(frame) {
        Some(5) if from == 0 => Verdict::Lose,
        _ => Verdict::Pass,
    }));
    let mut expected = world.expect(1, 30 * PACKET, 1);
    let sent = content(30 * PACKET, 1);
    let _region = world.send(1, &sent);
    for _ in 0..100 {
        world.pass();
        expected.check();
    }
    world.pair.no_script();
    let (received, ended) = world.ends(1);
    println!("{received:?}, {ended:?}, {} probes", world.pair.a.count(Counter::TxProbe));
    assert_ne!(received, Status::Success);
    assert_ne!(ended, Status::Success);
    assert_eq!(world.pair.b.count(Counter::TxNack), 0);
    let message = expected.message().unwrap();
    assert!(!world.pair.b.context.request_retransmission(&message, 30).unwrap());
    let mut next = world.expect(2, 30 * PACKET, 1);
    let _second = world.send(2, &next.content.clone());
    let (received, ended, _) = world.recover(&mut next);
    assert_eq!((received, ended), (Status::Success, Status::Success));
    world.finish();
}

/// A receive too small for its area or the message ends the send, and stays.
//= HR-2 test
#[test]
fn what_does_not_fit_is_too_long() {
    let mut world = World::new(5, Faults::default(), &[]);
    let expected = world.expect(1, 256 * PACKET, 1);
    // One packet more than its bits are for, one byte more than its room.
    for (id, len) in [(2, 256 * PACKET + 1), (3, 257 * PACKET)] {
        let region = world.send(id, &content(len, id));
        for _ in 0..4000 {
            if !world.done[0].is_empty() {
                break;
            }
            world.pass();
        }
        assert_eq!(world.ended(0, false, id).expect("the send ends").status, Status::Length);
        drop(region);
    }
    assert!(expected.message().is_none());
    // A message of one packet is nobody's but hardware's, and lies behind the area too.
    let region = world.send(1, &content(100, 1));
    assert_eq!(world.ends(1), (Status::Success, Status::Success));
    assert!(expected.message().is_none());
    assert_eq!(expected.memory.to_vec(expected.watch.payload(), 100), content(100, 1));
    drop(region);
    world.finish();
}
