//! Host recovery (HR): small pieces of host software bring messages home over
//! a lossy network, or end them as they are; without them nothing happens.

mod common;

use common::*;
use tessera_abi::params::BLOCK_PACKETS;
use tessera_abi::queue::{area, DONE_RECV, DONE_SEND};
use tessera_abi::regs::{Counter, ORDER_PARTIAL};
use tessera_abi::status::Status;
use tessera_abi::wire;
use tessera_model::{RecvEntry, RecvKind, Settings, Shape};

/// What a host reads of a chunk area.
struct Header {
    handle: u32,
    packets: u32,
    chunk_log2: u8,
}

impl Header {
    /// `None`: no message has taken the receive.
    fn read(world: &World, node: usize, at: u64) -> Option<Self> {
        let bytes = world.bytes(node, at, area::HEADER_LEN);
        let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        let header = Self {
            handle: word(area::HANDLE),
            packets: word(area::PACKETS),
            chunk_log2: bytes[area::CHUNK_LOG2],
        };
        (bytes[area::OPEN] == 1).then_some(header)
    }

    fn blocks(&self) -> u32 {
        self.packets.div_ceil(BLOCK_PACKETS)
    }

    /// Whether the chunk of a packet is in the buffer.
    fn has(&self, world: &World, node: usize, at: u64, packet: u32) -> bool {
        let block_len = area::block_len(self.chunk_log2);
        let block = (packet / BLOCK_PACKETS) as usize;
        let chunk = ((packet % BLOCK_PACKETS) >> self.chunk_log2) as usize;
        let place = at + (area::HEADER_LEN + block * block_len + chunk / 8) as u64;
        world.bytes(node, place, 1)[0] >> (chunk % 8) & 1 == 1
    }

    fn missing(&self, world: &World, node: usize, at: u64, block: u32) -> bool {
        let start = block * BLOCK_PACKETS;
        (start..self.packets.min(start + BLOCK_PACKETS)).any(|packet| !self.has(world, node, at, packet))
    }
}

fn shape(chunk_log2: u8) -> Shape {
    Shape { chunk_log2, area_log2: 3 }
}

fn lossy(loss: f64) -> Faults {
    Faults { loss, ..Faults::default() }
}

/// Orders NACKs for what an area says is missing; how many.
fn recover(world: &mut World, node: usize, at: u64) -> u64 {
    let Some(header) = Header::read(world, node, at) else { return 0 };
    let mut orders = 0;
    // What was not granted cannot be missing: blocks in flight only.
    let first = (0..header.blocks()).find(|&block| header.missing(world, node, at, block));
    for block in first.into_iter().flat_map(|first| first..header.blocks().min(first + 4)) {
        if header.missing(world, node, at, block) {
            let limit = header.packets.min((block + 1) * BLOCK_PACKETS);
            orders += u64::from(world.order(node, header.handle, limit));
        }
    }
    orders
}

//= HR-4 test
//= HR-6 test
//= HR-8 test
#[test]
fn software_brings_messages_home() {
    let base = seed();
    for case in 0..24u64 {
        let n = (case % 6) as u8;
        let settings = Settings::default();
        let mut world = World::new(2, &small(), settings, lossy(0.03), base.wrapping_add(case));
        world.host_recovery = true;
        let lengths = [2_000, 60_000, 256 * 700 + 13, 256 * 1400];
        let areas: Vec<u64> = lengths
            .iter()
            .enumerate()
            .map(|(e, &length)| world.recv_chunks(1, e, length, shape(n)).0)
            .collect();
        for (e, &length) in lengths.iter().enumerate() {
            world.send(0, 1, e, length, 8);
        }
        (1..400).for_each(|i| world.wake(ticks(500 * i), 0));
        let mut orders = 0;
        assert!(world.run_with(ticks(1 << 24), |world, _| {
            orders += areas.iter().map(|&at| recover(world, 1, at)).sum::<u64>();
        }));
        world.assert_idle();
        assert!(world.errors.is_empty(), "case {case}: {:?}", world.errors);
        assert_eq!(world.delivered.len(), lengths.len(), "case {case}");
        assert!(orders > 0 && world.count(Counter::TxNack) <= orders, "case {case}: {orders}");
        for (&at, &length) in areas.iter().zip(&lengths) {
            let header = Header::read(&world, 1, at).expect("opened");
            assert_eq!(header.packets, wire::packet_count(length, 8).unwrap());
            assert_eq!(header.chunk_log2, n);
            assert!((0..header.blocks()).all(|block| !header.missing(&world, 1, at, block)), "case {case}");
            // Behind the bits of the last block the area is as the host left it.
            let used = area::needed(header.packets, n) as usize;
            let rest = world.bytes(1, at + used as u64, area::len(3) as usize - used);
            assert!(rest.iter().all(|&byte| byte == 0), "case {case}");
        }
    }
}

//= HR-7 test
#[test]
fn software_ends_a_message_as_it_is() {
    let base = seed();
    for case in 0..24u64 {
        let n = (case % 6) as u8;
        let mut world = World::new(2, &small(), Settings::default(), lossy(0.05), base.wrapping_add(case));
        world.host_recovery = true;
        let length = 256 * 300;
        let (at, _) = world.recv_chunks(1, 0, length, shape(n));
        let tag = world.send(0, 1, 0, length, 8);
        world.wake(ticks(4000), 0);
        let mut told = Vec::new();
        assert!(world.run_with(ticks(1 << 24), |world, _| {
            let header = Header::read(world, 1, at).expect("opened");
            told = (0..header.packets).filter(|&packet| header.has(world, 1, at, packet)).collect();
            assert!(world.order(1, header.handle, ORDER_PARTIAL));
            assert!(!world.order(1, header.handle, ORDER_PARTIAL), "it is over");
            assert!(!world.order(1, header.handle, 300), "it is over");
        }));
        world.assert_idle();
        let statuses: Vec<_> =
            world.errors.iter().map(|(node, done)| (*node, done.opcode, done.status)).collect();
        let partial = Status::Partial as u8;
        assert_eq!(statuses, [(1, DONE_RECV, partial), (0, DONE_SEND, partial)], "case {case}");
        assert!(world.errors.iter().all(|(_, done)| (done.tag, done.length) == (tag, length)));
        assert!(n > 3 || (!told.is_empty() && told.len() < 300), "case {case}: {}", told.len());
        for packet in told {
            let at = at + area::len(3) + u64::from(packet) * 256;
            let there = world.bytes(1, at, 256);
            let good = |(i, &b): (usize, &u8)| b == byte(tag, u64::from(packet) * 256 + i as u64);
            assert!(there.iter().enumerate().all(good), "case {case}: packet {packet}");
        }
    }
}

//= HR-8 test
//= TX-9 test
#[test]
fn nobody_asks_while_software_thinks() {
    let settings = Settings::default();
    let mut world = World::new(2, &small(), settings, Faults::default(), seed());
    world.host_recovery = true;
    world.faults.first.insert(Class::Data, 1);
    let (at, _) = world.recv_chunks(1, 0, 50_000, shape(1));
    world.send(0, 1, 0, 50_000, 8);
    // Twenty of the sender's waits.
    let thinks = 20 * u64::from(settings.rto << 5);
    world.wake(ticks(thinks), 0);
    let mut probes = 0;
    assert!(world.run_with(ticks(1 << 24), |world, _| {
        probes = world.count(Counter::TxProbe);
        assert_eq!(world.count(Counter::TxNack), 0);
        assert_eq!(world.count(Counter::TxRetransmitted), 0);
        assert_eq!(recover(world, 1, at), 1);
    }));
    assert!((18..=22).contains(&probes), "{probes} PROBEs");
    assert_eq!(world.delivered.len(), 1);
    assert_eq!(world.count(Counter::TxRetransmitted), 1);
    world.assert_idle();
}

//= HR-8 test
#[test]
fn a_host_that_never_answers_costs_one_message() {
    let mut world = World::new(2, &small(), Settings::default(), Faults::default(), seed());
    world.host_recovery = true;
    world.faults.first.insert(Class::Last, 1);
    world.recv_chunks(1, 0, 50_000, shape(0));
    world.send(0, 1, 0, 50_000, 8);
    assert!(world.run(ticks(1 << 24)));
    let mut statuses: Vec<_> = world.errors.iter().map(|(node, done)| (*node, done.status)).collect();
    statuses.sort();
    assert_eq!(statuses, [(0, Status::GrantTimeout as u8), (1, Status::Released as u8)]);
    world.assert_idle();
}

//= HR-1 test
//= HR-2 test
#[test]
fn the_receiver_alone_decides_who_recovers() {
    let mut world = World::new(2, &small(), Settings::default(), lossy(0.03), seed());
    // Asked for, but met by a receive without an area, by one packet, by a write.
    world.host_recovery = true;
    world.recv(1, 0, 90_000);
    world.send(0, 1, 0, 90_000, 8);
    let (single, _) = world.recv_chunks(1, 1, 256, shape(0));
    world.send(0, 1, 1, 256, 8);
    let (written, _) = world.recv_chunks(1, 2, 10, shape(0));
    let target = world.write((0, 1, 2), 40_000, Some(5), |entry| entry.host_recovery = true);
    // Not asked for, and met by a receive with one.
    world.host_recovery = false;
    let (plain, _) = world.recv_chunks(1, 3, 90_000, shape(0));
    world.send(0, 1, 3, 90_000, 8);
    assert!(world.run(ticks(1 << 24)));
    world.assert_idle();
    assert!(world.errors.is_empty(), "{:?}", world.errors);
    assert_eq!(world.delivered.len(), 3);
    assert!(world.written(1, target).0);
    for at in [single, written, plain] {
        assert!(world.bytes(1, at, area::len(3) as usize).iter().all(|&byte| byte == 0));
    }
}

//= HR-2 test
#[test]
fn receives_that_make_no_sense_are_refused() {
    let mut world = World::new(2, &small(), Settings::default(), Faults::default(), seed());
    let post = |world: &mut World, entry: RecvEntry| {
        let now = world.now(1);
        let nic = &mut world.nodes[1].nic;
        nic.post_recv(now, endpoint(1, 0), entry).expect("endpoint exists");
        nic.poll_completion().map(|done| (done.opcode, done.status))
    };
    let refused = Some((DONE_RECV, Status::BadRequest as u8));
    let entry = |kind| RecvEntry { kind, ..RecvEntry::new(BASE, 4096, KEY) };
    assert_eq!(post(&mut world, entry(RecvKind::Senseless)), refused);
    assert_eq!(post(&mut world, entry(RecvKind::Chunks(shape(6)))), refused);
    let crooked = RecvEntry { address: BASE + 32, ..entry(RecvKind::Chunks(shape(0))) };
    assert_eq!(post(&mut world, crooked), refused);
    assert_eq!(post(&mut world, entry(RecvKind::Chunks(shape(5)))), None);
}

//= HR-2 test
//= RO-6 test
#[test]
fn an_area_too_small_is_a_receive_too_short() {
    let mut world = World::new(2, &small(), Settings::default(), Faults::default(), seed());
    world.host_recovery = true;
    let tight = Shape { chunk_log2: 0, area_log2: 0 };
    world.recv_chunks(1, 0, 256 * 300, tight);
    world.send(0, 1, 0, 256 * 300, 8);
    assert!(world.run(ticks(1 << 24)));
    let statuses: Vec<_> = world.errors.iter().map(|(node, done)| (*node, done.status)).collect();
    assert_eq!(statuses, [(0, Status::Length as u8)]);
    // The receive is there for the next one.
    world.send(0, 1, 0, 256 * 256, 8);
    assert!(world.run(ticks(1 << 25)));
    assert_eq!(world.delivered.len(), 1);
    world.assert_idle();
}

//= HR-5 test
#[test]
fn strange_orders_do_nothing() {
    let mut world = World::new(2, &small(), Settings::default(), Faults::default(), seed());
    world.host_recovery = true;
    world.faults.first.insert(Class::Data, 1);
    let (at, _) = world.recv_chunks(1, 0, 50_000, shape(0));
    world.send(0, 1, 0, 50_000, 8);
    world.wake(ticks(3000), 0);
    assert!(world.run_with(ticks(1 << 24), |world, _| {
        let header = Header::read(world, 1, at).expect("opened");
        for handle in [header.handle ^ 1, header.handle ^ 1 << 20, header.handle ^ 1 << 31, !0] {
            assert!(!world.order(1, handle, ORDER_PARTIAL));
        }
        let before = world.count(Counter::TxNack);
        // Met, but there is nothing to ask for.
        assert!(world.order(1, header.handle, 0));
        assert_eq!(world.count(Counter::TxNack), before);
        // A limit beyond the message is its end.
        assert!(world.order(1, header.handle, 0xFF_FFFF));
        assert_eq!(world.count(Counter::TxNack), before + 1);
    }));
    assert_eq!(world.delivered.len(), 1);
    world.assert_idle();
}
