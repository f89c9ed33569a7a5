//! Writes on model NICs over a faulty network: WR-1 to WR-4.

mod common;

use common::*;
use tessera_abi::queue::DONE_RECV;
use tessera_abi::status::{Drop, Status};
use tessera_abi::wire::{self, data, flag, IP_AT, TRH_AT};
use tessera_model::{Endpoint, MemoryKey, SendEntry, Settings};

fn world(nics: usize, faults: Faults) -> World {
    World::new(nics, &small(), Settings::default(), faults, seed())
}

fn statuses(world: &World, node: usize) -> Vec<u8> {
    world.nodes[node].done.iter().map(|(_, done)| done.status).collect()
}

//= WR-2 test
#[test]
fn writes_arrive_whole_and_only_an_immediate_is_told() {
    let faults =
        Faults { loss: 0.03, duplicate: (0.05, 4), paths: vec![800, 900, 1500], ..Faults::default() };
    let mut world = world(3, faults);
    let lengths = [0u32, 1, 255, 256, 257, 5000, 70_000, 200_001];
    let mut targets = Vec::new();
    for (i, &length) in lengths.iter().enumerate() {
        let (from, to) = (i % 3, (i + 1) % 3);
        let immediate = (i % 2 == 1).then_some(0xBEEF + i as u32);
        if immediate.is_some() {
            // Its room does not matter.
            world.recv(to, i % 4, 3);
        }
        targets.push((to, world.write((from, to, i % 4), length, immediate, |_| {}), immediate));
    }
    assert!(world.run(ticks(4_000_000)));
    world.assert_idle();
    assert!(world.errors.is_empty(), "{:?}", world.errors);
    for &(to, target, immediate) in &targets {
        assert!(world.written(to, target).0, "write to {target:#x} is damaged");
        let told: Vec<_> = world.nodes[to]
            .done
            .iter()
            .map(|(_, done)| done)
            .filter(|done| done.opcode == DONE_RECV && done.write && done.tag == target)
            .collect();
        assert_eq!(told.len(), immediate.iter().len());
        assert!(told.iter().all(|done| done.immediate == immediate));
    }
}

/// A change to a request.
type Edit = fn(&mut SendEntry);

//= WR-1 test
//= WR-4 test
#[test]
fn what_is_not_permitted_ends_in_remote_access_and_writes_nothing() {
    let mut world = world(2, Faults::default());
    let nic = &mut world.nodes[1].nic;
    let key = |index: u32| 0x7700 | index;
    let all = MemoryKey { key: 0, base: BASE, length: 1 << 40, pd: 1, local_write: true, remote_write: true };
    nic.set_key(MemoryKey { key: key(2), pd: 2, ..all });
    nic.set_key(MemoryKey { key: key(3), remote_write: false, ..all });
    nic.set_key(MemoryKey { key: key(4), length: 100, ..all });
    nic.set_key(MemoryKey { key: key(5), base: u64::MAX - 99, length: 200, ..all });
    let cases: &[Edit] = &[
        |entry| entry.rkey = 0x7702,
        |entry| entry.rkey = 0x7703,
        |entry| entry.rkey = 0x7704,
        |entry| (entry.rkey, entry.tag) = (0x7705, u64::MAX - 99),
        |entry| entry.rkey = 0x7706,
        |entry| entry.rkey ^= 0x100,
        |entry| entry.tag = BASE - 1,
        |entry| entry.tag = u64::MAX - 50,
    ];
    for (i, edit) in cases.iter().enumerate() {
        world.recv(1, 0, 1000);
        let immediate = (i % 2 == 0).then_some(1);
        let target = world.write((0, 1, 0), 300, immediate, |entry| {
            entry.immediate = immediate;
            edit(entry);
        });
        assert!(world.run(world.clock + ticks(4_000_000)), "case {i}");
        assert!(world.written(1, target).1, "case {i} wrote");
        assert_eq!(statuses(&world, 0).last(), Some(&(Status::RemoteAccess as u8)), "case {i}");
    }
    assert!(world.nodes[1].done.is_empty(), "no receive was consumed");
    assert!(world.nodes[1].nic.counters().dropped(Drop::RemoteAccess) >= cases.len() as u32);
    // No bytes, no key; and what is permitted is.
    world.write((0, 1, 0), 0, None, |entry| (entry.rkey, entry.tag) = (0, 0));
    let target = world.write((0, 1, 0), 300, None, |_| {});
    assert!(world.run(world.clock + ticks(4_000_000)));
    assert!(world.written(1, target).0);
    // An endpoint of another domain is no door to this one's memory.
    world.nodes[1].nic.set_endpoint(Endpoint { pd: 9, ..Endpoint::new(endpoint(1, 1), QKEY) });
    let target = world.write((0, 1, 1), 300, None, |_| {});
    assert!(world.run(world.clock + ticks(4_000_000)));
    assert!(world.written(1, target).1);
    assert_eq!(statuses(&world, 0).last(), Some(&(Status::RemoteAccess as u8)));
    world.assert_idle();
}

//= WR-1 test
#[test]
fn rights_that_go_end_the_message_for_both() {
    for immediate in [None, Some(5)] {
        let mut world = world(2, Faults { paths: vec![900], ..Faults::default() });
        world.recv(1, 0, 10);
        let target = world.write((0, 1, 0), 400_000, immediate, |_| {});
        world.wake(world.clock + ticks(600), 0);
        assert!(world.run_with(ticks(4_000_000), |world, _| world.nodes[1].nic.revoke_key(KEY)));
        let (all, none) = world.written(1, target);
        assert!(!all && !none, "revoked in the middle");
        assert_eq!(statuses(&world, 0), [Status::RemoteAccess as u8]);
        let told = if immediate.is_some() { vec![Status::RemoteAccess as u8] } else { Vec::new() };
        assert_eq!(statuses(&world, 1), told);
        world.assert_idle();
    }
}

//= RO-9 test
//= WR-1 test
#[test]
fn a_packet_with_another_key_is_no_packet_of_the_message() {
    let mut world = world(2, Faults { paths: vec![900], ..Faults::default() });
    world.kept = Some(Vec::new());
    let target = world.write((0, 1, 0), 400_000, None, |_| {});
    world.wake(world.clock + ticks(400), 0);
    let done = world.run_with(ticks(4_000_000), |world, _| {
        let frames = world.kept.take().expect("kept");
        let big = |(from, frame): &&(usize, Vec<u8>)| *from == 0 && frame.len() > 300;
        let sample = frames.iter().find(big).expect("a packet was sent").1.clone();
        let edits: [fn(&mut [u8]); 3] = [
            |f| f[TRH_AT + data::RKEY + 3] ^= 0x80,
            |f| f[TRH_AT + 1] &= !flag::WRITE,
            |f| f[TRH_AT + data::TAG + 6] ^= 1,
        ];
        for edit in edits {
            let mut forged = sample.clone();
            edit(&mut forged);
            let end = forged.len() - wire::ICRC_LEN;
            let crc = tessera_abi::icrc::rocev2(&forged[IP_AT..end]);
            forged[end..].copy_from_slice(&crc);
            let now = world.now(1);
            assert_eq!(world.nodes[1].nic.handle_frame(now, &forged), Err(Drop::Mismatch));
        }
    });
    assert!(done);
    assert!(world.written(1, target).0, "the message goes on");
    assert_eq!(statuses(&world, 0), [Status::Success as u8]);
}
