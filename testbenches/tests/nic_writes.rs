//! Writes between whole NICs: the driver over the exported Verilog.
//! Rules WR-1 and WR-2, and what of RO and RC differs for a write.

use tessera_abi::regs::{self, Counter, Reg};
use tessera_abi::status::Drop as DropReason;
use tessera_abi::wire::{self, flag, Trh};
use tessera_driver::{Access, DmaMemory, MemoryRegion, RemoteMemory, Status, WriteRequest};
use tessera_sim::fabric::{FabricOptions, Faults, Loss};
use tessera_sim::nic::{DmaOptions, NicEvent, NicOptions};
use tessera_testbenches::nic_model;
use tessera_testbenches::pair::Pair;

fn pair_with(faults: Faults, nic: &NicOptions, settings: &[(Reg, u32)], seed: u64) -> Pair {
    let fabric = FabricOptions { faults, ..FabricOptions::new(4, 250, 500, seed) };
    Pair::new(nic_model(), nic, fabric, settings)
}

fn pair() -> Pair {
    pair_with(Faults::default(), &NicOptions::default(), &[], 1)
}

/// Posts a write of a whole region of `a`, in packets of `payload_size`.
fn write_packets(
    pair: &mut Pair,
    id: u64,
    source: &MemoryRegion,
    remote: RemoteMemory,
    immediate: Option<u32>,
    payload_size: u32,
) {
    let request = WriteRequest {
        work_id: id,
        region: source,
        range: 0..source.len(),
        to: pair.b.endpoint.address(),
        remote,
        immediate,
        round: None,
        payload_size,
    };
    pair.a.endpoint.post_write(&request).unwrap();
}

fn write(pair: &mut Pair, id: u64, source: &MemoryRegion, remote: RemoteMemory, immediate: Option<u32>) {
    write_packets(pair, id, source, remote, immediate, 4096);
}

fn refused(pair: &Pair) -> u32 {
    pair.b.dropped(DropReason::RemoteAccess)
}

/// Everything a finished run must have given back, and no answer went astray.
#[track_caller]
fn assert_clean(pair: &mut Pair) {
    pair.assert_returned();
    for (name, side) in [("a", &pair.a), ("b", &pair.b)] {
        assert_eq!(side.dropped(DropReason::FeedbackNonsense), 0, "{name}: nonsense");
        assert_eq!(side.count(Counter::CqOverrun), 0, "{name}: completions lost");
    }
}

fn content(number: usize, len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 31 + i / 251 + number * 13 + 1) as u8).collect()
}

const SIZES: [usize; 11] = [0, 1, 3, 63, 256, 257, 4096, 4097, 65_537, 300_001, 1 << 20];

/// Room between two targets; nothing may write there.
const GUARD: usize = 64;

//= WR-1 test
#[test]
fn writes_of_every_size_arrive_under_loss_and_the_peer_is_not_asked() {
    let seed = tessera_testbenches::seed("nic_writes::sizes");
    for (payload_size, loss) in [(256, 0.0), (1024, 0.02), (4096, 0.02)] {
        let faults =
            Faults { loss: Loss::Uniform(loss), duplicate: 0.02, max_copies: 3, ..Faults::default() };
        let dma = DmaOptions { read_delay: (50, 800), write_delay: (20, 900), ready: 0.8 };
        let nic = NicOptions { dma_data: dma, ..NicOptions::default() };
        let mut pair = pair_with(faults, &nic, &[(regs::PATH_COUNT, 4)], seed);
        let sizes = if payload_size == 256 { &SIZES[..10] } else { &SIZES[..] };
        let total: usize = sizes.iter().map(|len| len + GUARD).sum();
        let target = DmaMemory::from_slice(&vec![0xA5; total]);
        let window = pair.b.register(&target, Access::REMOTE_WRITE);
        let mut offset = 0;
        let mut sources = Vec::new();
        for (number, &len) in sizes.iter().enumerate() {
            let memory = DmaMemory::from_slice(&content(number, len));
            let source = pair.a.register(&memory, Access::READ);
            // An odd place now and then: bytes go to any address.
            write_packets(&mut pair, number as u64, &source, window.remote(offset), None, payload_size);
            sources.push((offset, source));
            offset += len + GUARD;
        }
        for _ in sizes {
            let done = pair.a.next(60_000).expect("every write ends");
            assert_eq!((done.status, done.write, done.receive), (Status::Success, true, false));
            assert_eq!(done.len as usize, sizes[done.work_id as usize]);
            // RC-6: the bytes are there before the sender hears of it.
            let (at, len) = (sources[done.work_id as usize].0, done.len as usize);
            let bytes = target.to_vec(at, len + GUARD);
            assert!(bytes[..len] == content(done.work_id as usize, len), "write {} is damaged", done.work_id);
            assert!(bytes[len..].iter().all(|&byte| byte == 0xA5), "write {} ran over", done.work_id);
        }
        assert!(pair.b.next(0).is_none(), "a write without immediate completes nothing at its target");
        assert_eq!(pair.b.count(Counter::RxCompleted) as usize, sizes.len());
        assert_eq!(refused(&pair), 0);
        assert_clean(&mut pair);
    }
}

//= WR-1 test
#[test]
fn what_the_key_does_not_permit_ends_in_remote_access_and_changes_nothing() {
    let mut pair = pair();
    let target = DmaMemory::from_slice(&[0xA5; 8192]);
    let window = pair.b.register(&target, Access::REMOTE_WRITE);
    let local = pair.b.register(&target, Access::LOCAL_WRITE);
    let foreign = pair.b.context.alloc_pd().register(&target, Access::REMOTE_WRITE).unwrap();
    let scratch = pair.b.register(&DmaMemory::new(64), Access::REMOTE_WRITE);
    let old = scratch.remote(0);
    drop(scratch);
    let here = window.remote(0);
    let source = pair.a.register(&DmaMemory::from_slice(&content(1, 5000)), Access::READ);
    let cases = [
        ("a key that never was", RemoteMemory { rkey: here.rkey ^ 0x40, ..here }),
        ("the key of an earlier life", RemoteMemory { rkey: here.rkey ^ 0x100, ..here }),
        ("a key that was revoked", old),
        ("a key for local writes", local.remote(0)),
        ("a key of another domain", foreign.remote(0)),
        ("one byte below", RemoteMemory { address: here.address - 1, ..here }),
        ("one byte beyond", window.remote(8192 - 4999)),
        ("around the end of the address space", RemoteMemory { address: u64::MAX - 100, ..here }),
    ];
    let count = cases.len() as u32;
    for (immediate, (what, remote)) in [None, Some(7)].iter().cycle().zip(cases) {
        let before = refused(&pair);
        write(&mut pair, 1, &source, remote, *immediate);
        let done = pair.a.next(3000).unwrap_or_else(|| panic!("{what}: the write ends"));
        assert_eq!(done.status, Status::RemoteAccess, "{what}");
        assert!(refused(&pair) > before, "{what}: counted");
    }
    // No receive was posted, and none was asked for: access is judged first.
    assert_eq!(pair.b.dropped(DropReason::BusyReceive), 0);
    assert!(pair.b.next(0).is_none());
    assert!(target.to_vec(0, 8192).iter().all(|&byte| byte == 0xA5));
    assert_eq!(pair.b.count(Counter::RxNew), 0);
    // What the key does permit goes through beside all that, to the last byte.
    write(&mut pair, 2, &source, window.remote(8192 - 5000), None);
    assert_eq!(pair.a.next(3000).expect("the write ends").status, Status::Success);
    assert!(target.to_vec(3192, 5000) == content(1, 5000));
    // A write of no bytes needs no key.
    let nothing = pair.a.register(&DmaMemory::new(0), Access::READ);
    write(&mut pair, 3, &nothing, RemoteMemory { address: 0, rkey: 0 }, None);
    assert_eq!(pair.a.next(3000).expect("the write ends").status, Status::Success);
    assert!(refused(&pair) >= count);
    assert_clean(&mut pair);
}

//= WR-1 test
#[test]
fn an_immediate_takes_a_receive_and_leaves_its_buffer() {
    let mut pair = pair();
    let target = DmaMemory::from_slice(&[0; 10_000]);
    let window = pair.b.register(&target, Access::REMOTE_WRITE);
    // Shorter than the message: its room does not matter.
    let small = DmaMemory::from_slice(&[0x77; 16]);
    let buffer = pair.b.register(&small, Access::LOCAL_WRITE);
    let source = pair.a.register(&DmaMemory::from_slice(&content(2, 10_000)), Access::READ);
    write(&mut pair, 5, &source, window.remote(0), Some(0xFEED_BEEF));
    assert!(pair.a.next(300).is_none(), "BUSY until a receive is there");
    assert!(pair.b.dropped(DropReason::BusyReceive) > 0);
    pair.b.post(31, &buffer);
    let sent = pair.a.next(5000).expect("the write ends");
    assert_eq!((sent.status, sent.work_id, sent.write), (Status::Success, 5, true));
    let told = pair.b.next(100).expect("the receive ends");
    assert_eq!((told.status, told.work_id, told.receive, told.write), (Status::Success, 31, true, true));
    assert_eq!((told.immediate, told.len), (Some(0xFEED_BEEF), 10_000));
    assert_eq!(told.peer_endpoint, pair.a.endpoint.number());
    assert_eq!(small.to_vec(0, 16), [0x77; 16]);
    assert!(target.to_vec(0, 10_000) == content(2, 10_000));
    // Of no bytes it is a doorbell.
    let nothing = pair.a.register(&DmaMemory::new(0), Access::READ);
    pair.b.post(32, &buffer);
    write(&mut pair, 6, &nothing, RemoteMemory { address: 0, rkey: 0 }, Some(1));
    let told = pair.b.next(3000).expect("the receive ends");
    assert_eq!((told.work_id, told.immediate, told.len, told.write), (32, Some(1), 0, true));
    assert_eq!(pair.a.next(3000).expect("the write ends").status, Status::Success);
    assert_clean(&mut pair);
}

//= WR-1 test
//= WR-2 test
#[test]
fn a_revoked_key_ends_the_message_and_no_byte_comes_after() {
    let seed = tessera_testbenches::seed("nic_writes::revoked");
    for (round, immediate) in [None, Some(3), None, Some(4)].into_iter().enumerate() {
        // Slow host memory: much is between its check and its place.
        let dma = DmaOptions { read_delay: (50, 200), write_delay: (500, 3000), ready: 0.7 };
        let nic = NicOptions { dma_data: dma, ..NicOptions::default() };
        let mut pair = pair_with(Faults::default(), &nic, &[], seed + round as u64);
        let target = DmaMemory::new(1 << 20);
        let window = pair.b.register(&target, Access::REMOTE_WRITE);
        let buffer = pair.b.register(&DmaMemory::new(16), Access::LOCAL_WRITE);
        if immediate.is_some() {
            pair.b.post(8, &buffer);
        }
        let source = pair.a.register(&DmaMemory::from_slice(&content(3, 1 << 20)), Access::READ);
        write(&mut pair, 1, &source, window.remote(0), immediate);
        let begun = 20 + 37 * round as u32;
        while pair.b.count(Counter::RxNew) < begun {
            pair.a.context.wait().unwrap();
        }
        drop(window);
        // From here on the memory is the program's again: whatever is in it stays.
        let held = target.to_vec(0, 1 << 20);
        let done = pair.a.next(20_000).expect("the write ends");
        assert_eq!(done.status, Status::RemoteAccess);
        if immediate.is_some() {
            let told = pair.b.next(3000).expect("the receive ends");
            assert_eq!((told.status, told.work_id, told.write), (Status::RemoteAccess, 8, true));
        }
        for _ in 0..200 {
            pair.b.context.wait().unwrap();
        }
        assert!(pair.b.next(0).is_none());
        assert!(held == target.to_vec(0, 1 << 20), "bytes came after the region was given back");
        assert!(held[..4096] == content(3, 4096), "the first packet was placed: the test revoked too early");
        assert!(held[held.len() - 4096..].iter().all(|&byte| byte == 0), "revoked too late");
        assert!(refused(&pair) >= 1);
        assert_eq!(pair.b.count(Counter::RxAborted), 1);
        assert_clean(&mut pair);
    }
}

/// RO-9 for writes: a packet of another key, or without the flag, is not of the
/// message, whatever it would be allowed to write.
//= RO-9 test
#[test]
fn a_forged_packet_in_the_middle_is_dropped_and_the_message_goes_on() {
    let mut pair = pair();
    pair.cluster.lock().nic_mut(0).observe();
    let target = DmaMemory::new(400_000);
    let window = pair.b.register(&target, Access::REMOTE_WRITE);
    let other = pair.b.register(&target, Access::REMOTE_WRITE);
    let source = pair.a.register(&DmaMemory::from_slice(&content(4, 400_000)), Access::READ);
    write(&mut pair, 1, &source, window.remote(0), None);
    let mut seen = None;
    while seen.is_none() {
        pair.a.context.wait().unwrap();
        let events = pair.cluster.lock().nic_mut(0).take_events();
        seen = events.into_iter().find_map(|event| match event {
            NicEvent::Sent(frame) if frame.bytes.len() > 4096 => Some(frame.bytes),
            _ => None,
        });
    }
    while pair.b.count(Counter::RxNew) < 4 {
        pair.a.context.wait().unwrap();
    }
    let frame = seen.expect("a packet was sent");
    let packet = wire::parse(&frame).expect("one of ours");
    let Trh::Data(header) = packet.trh else { panic!("not DATA") };
    assert_eq!((header.rkey, header.tag), (window.rkey(), window.address()));
    assert_ne!(header.flags & flag::WRITE, 0);
    let forgeries = [
        wire::DataHeader { rkey: other.rkey(), ..header },
        wire::DataHeader { rkey: header.rkey ^ 0x1000, ..header },
        wire::DataHeader { flags: header.flags & !flag::WRITE, ..header },
        wire::DataHeader { tag: header.tag + 4096, ..header },
    ];
    let mismatches = |pair: &Pair| pair.b.dropped(DropReason::Mismatch);
    for (i, forged) in forgeries.into_iter().enumerate() {
        let forged = wire::DataHeader { index: 90, ..forged };
        let mut bytes = vec![0; 8192];
        let length = wire::emit(&packet.route, &Trh::Data(forged), &[0xEE; 4096], &mut bytes).expect("fits");
        bytes.truncate(length);
        let mut cluster = pair.cluster.lock();
        let at = cluster.clock() + 1;
        cluster.nic_mut(1).receive(at, bytes);
        drop(cluster);
        // A narrow NIC takes longer over a frame.
        for _ in 0..40 {
            if mismatches(&pair) as usize > i {
                break;
            }
            pair.b.context.wait().unwrap();
        }
        assert_eq!(mismatches(&pair) as usize, i + 1, "forgery {i}");
    }
    assert_eq!(pair.a.next(20_000).expect("the write ends").status, Status::Success);
    assert!(target.to_vec(0, 400_000) == content(4, 400_000));
    assert_eq!(refused(&pair), 0);
    assert_clean(&mut pair);
}
