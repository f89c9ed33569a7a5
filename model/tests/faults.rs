//! Named faults: each class of packet lost, refusals, full tables, wraps.

mod common;

use std::collections::BTreeMap;

use common::*;
use tessera_abi::params::Config;
use tessera_abi::regs::Counter;
use tessera_abi::status::{Drop, Status};
use tessera_abi::wire;
use tessera_model::{SendEntry, Settings};

fn long(settings: &Settings) -> u64 {
    ticks(8 * (settings.t_open + settings.rx_give_up + settings.time_wait) as u64)
}

fn world(faults: Faults) -> World {
    World::new(2, &small(), Settings::default(), faults, seed())
}

fn finish(world: &mut World) {
    let end = world.clock + long(&world.settings);
    assert!(world.run(end), "still busy at the end of time");
    world.assert_idle();
}

fn statuses(world: &World, node: usize) -> Vec<Status> {
    world.nodes[node].done.iter().map(|(_, done)| Status::from_code(done.status).expect("known")).collect()
}

//= §7.7 test
#[test]
fn the_first_packets_of_any_class_may_be_lost() {
    let classes = [Class::Data, Class::Again, Class::Last, Class::Probe];
    for class in classes.into_iter().chain(FEEDBACK_CLASSES) {
        for lost in [1, 2, 3] {
            for length in [0, 200, 5000, 100_000] {
                let faults = Faults { first: [(class, lost)].into(), loss: 0.01, ..Faults::default() };
                let mut world = world(faults);
                world.send(0, 1, 0, length, 8);
                world.wake(ticks(500), 1);
                world.run_with(ticks(1000), |world, _| world.recv(1, 0, 100_000));
                finish(&mut world);
                assert!(world.errors.is_empty(), "{class:?} x{lost}, {length} bytes: {:?}", world.errors);
                assert_eq!(world.delivered.len(), 1);
            }
        }
    }
}

//= §7.7 test
//= TX-10 test
#[test]
fn a_class_lost_for_ever_still_ends_every_message() {
    let classes = [Class::Data, Class::Again, Class::Last, Class::Probe];
    for class in classes.into_iter().chain(FEEDBACK_CLASSES) {
        for loss in [0.0, 0.02] {
            let mut world = world(Faults { first: [(class, u32::MAX)].into(), loss, ..Faults::default() });
            for length in [100, 100_000, 40_000] {
                world.recv(1, 0, 100_000);
                world.send(0, 1, 0, length, 8);
            }
            finish(&mut world);
            assert_eq!(world.nodes[0].done.len(), 3, "{class:?}");
        }
    }
}

//= TX-10 test
#[test]
fn a_dead_network_is_reported() {
    let mut world = world(Faults { loss: 1.0, ..Faults::default() });
    world.send(0, 1, 0, 5000, 8);
    finish(&mut world);
    assert_eq!(statuses(&world, 0), [Status::RetryExceeded]);
    let settings = &world.settings;
    let (answer, longest) = ((settings.rtt_default + 2 * settings.guard) as u64, (settings.rto as u64) << 5);
    let silence: u64 = (0..=settings.max_retry).map(|n| (answer << (n / 2).min(8)).min(longest)).sum();
    assert!(world.nodes[0].done[0].0 > ticks(silence - 1), "ended early");
    assert!(world.nodes[0].done[0].0 < ticks(silence + 1000), "ended late");
    assert_eq!(world.count(Counter::TxProbe), world.settings.max_retry as u64);
}

//= LD-7 test
#[test]
fn a_receiver_whose_sender_died_lets_go() {
    let mut world = world(Faults::default());
    world.recv(1, 0, 1 << 20);
    world.send(0, 1, 0, 1 << 20, 8);
    world.run(3000);
    assert_eq!(world.nodes[1].nic.receiver().open_contexts(), 1);
    world.faults.loss = 1.0;
    finish(&mut world);
    assert_eq!(statuses(&world, 0), [Status::RetryExceeded]);
    assert_eq!(statuses(&world, 1), [Status::GaveUp]);
    assert_eq!(world.nodes[1].nic.receiver().tombstones(), 0);
}

//= TX-11 test
//= RO-6 test
#[test]
fn refused_for_want_of_a_receive_then_delivered() {
    for wait in [100, 2_000, 20_000, 300_000] {
        let mut world = world(Faults { loss: 0.02, ..Faults::default() });
        for length in [0, 300, 9000] {
            world.send(0, 1, 0, length, 8);
        }
        world.run(ticks(wait));
        assert_eq!(world.nodes[1].nic.receiver().open_contexts(), 0);
        for _ in 0..3 {
            world.recv(1, 0, 9000);
        }
        finish(&mut world);
        assert!(world.errors.is_empty(), "{wait}: {:?}", world.errors);
        let busy = world.nodes[1].nic.counters().dropped(Drop::BusyReceive) as u64;
        // The initial windows, then one PROBE per wait that doubles to 32 times.
        let most = 3 * (16 + 8 + wait / (16 * world.settings.busy_wait as u64));
        assert!(busy > 0 && busy <= most, "{busy} refusals in {wait} ticks, at most {most}");
    }
}

//= TX-10 test
#[test]
fn never_a_receive_is_receiver_not_ready() {
    let mut world = world(Faults::default());
    world.send(0, 1, 0, 300, 8);
    finish(&mut world);
    assert_eq!(statuses(&world, 0), [Status::ReceiverNotReady]);
    let at = world.nodes[0].done[0].0;
    assert!(at >= ticks(world.settings.t_open as u64) && at < ticks(world.settings.t_open as u64 + 100));
}

//= RO-6 test
#[test]
fn a_receive_too_short_is_kept_for_the_next() {
    let mut world = world(Faults::default());
    world.recv(1, 0, 999);
    world.send(0, 1, 0, 1000, 8);
    finish(&mut world);
    world.send(0, 1, 0, 999, 8);
    finish(&mut world);
    assert_eq!(statuses(&world, 0), [Status::Length, Status::Success]);
    assert_eq!(statuses(&world, 1), [Status::Success]);
}

//= §7.1 test
//= RO-4 test
#[test]
fn complete_lost_then_the_slot_used_again() {
    let settings = Settings { max_retry: 1, ..Settings::default() };
    let tiny = Config { tx_slots_log2: 0, ..small() };
    let faults = Faults { first: [(Class::Complete, 3)].into(), ..Faults::default() };
    let mut world = World::new(2, &tiny, settings, faults, seed());
    world.kept = Some(Vec::new());
    for _ in 0..3 {
        world.recv(1, 0, 100);
        world.send(0, 1, 0, 100, 8);
    }
    finish(&mut world);
    let all: Vec<Status> = statuses(&world, 0);
    assert_eq!(all.iter().filter(|&&status| status == Status::RetryExceeded).count(), 1, "{all:?}");
    assert_eq!(world.delivered.len(), 3);
}

//= RO-3 test
//= §7.6 test
#[test]
fn late_copies_after_reuse_change_nothing() {
    let tiny = Config { tx_slots_log2: 0, ..small() };
    let mut world = World::new(2, &tiny, Settings::default(), Faults::default(), seed());
    world.kept = Some(Vec::new());
    for _ in 0..3 {
        world.recv(1, 0, 5000);
        world.send(0, 1, 0, 5000, 8);
    }
    world.recv(1, 0, 5000);
    world.run(ticks(5000));
    assert_eq!(world.delivered.len(), 3);
    let frames = world.kept.take().expect("kept");
    let before = world.nodes[1].nic.counters().dropped(Drop::Stale);
    let sent: Vec<_> = frames.into_iter().filter(|(from, _)| *from == 0).collect();
    for (i, (_, frame)) in sent.iter().enumerate() {
        world.inject(1, world.clock + i as u64 * 7, frame.clone());
    }
    finish(&mut world);
    assert_eq!(world.delivered.len(), 3, "a late copy opened a message again");
    assert_eq!(world.nodes[1].nic.counters().dropped(Drop::Stale) - before, 40);
    assert!(world.errors.is_empty());
}

// The tombstone must outlive a refusal of the newer message (decision 0011).
//= RO-4 test
#[test]
fn a_refused_newer_message_leaves_the_tombstone() {
    let tiny = Config { tx_slots_log2: 0, ..small() };
    let mut world = World::new(2, &tiny, Settings::default(), Faults::default(), seed());
    world.kept = Some(Vec::new());
    world.recv(1, 0, 100);
    world.send(0, 1, 0, 100, 8);
    world.run(ticks(300));
    let old = world.kept.take().expect("kept")[0].1.clone();
    world.send(0, 1, 0, 100, 8);
    world.run(ticks(600));
    assert!(world.nodes[1].nic.counters().dropped(Drop::BusyReceive) > 0);
    world.recv(1, 0, 100);
    world.inject(1, world.clock + 1, old);
    finish(&mut world);
    assert_eq!(world.nodes[1].done.len(), 2);
    assert!(world.errors.is_empty());
    assert_eq!(world.delivered.values().sum::<u32>(), 2);
}

//= RO-4 test
#[test]
fn a_newer_message_replaces_one_its_sender_gave_up() {
    let settings = Settings { max_retry: 1, ..Settings::default() };
    let tiny = Config { tx_slots_log2: 0, ..small() };
    let faults = Faults { first: [(Class::Last, 50), (Class::Again, 50)].into(), ..Faults::default() };
    let mut world = World::new(2, &tiny, settings, faults, seed());
    world.recv(1, 0, 5000);
    world.recv(1, 0, 5000);
    world.send(0, 1, 0, 5000, 8);
    world.run(2000);
    world.faults.loss = 1.0;
    world.run(ticks(4000));
    assert_eq!(statuses(&world, 0), [Status::RetryExceeded]);
    world.faults = Faults::default();
    world.send(0, 1, 0, 4000, 8);
    finish(&mut world);
    assert_eq!(statuses(&world, 0), [Status::RetryExceeded, Status::Success]);
    assert_eq!(statuses(&world, 1), [Status::Replaced, Status::Success]);
}

// Decision 0013: what was sent away stays known until the newer one opens.
//= RO-4 test
#[test]
fn a_late_copy_of_a_replaced_message_opens_nothing() {
    let settings = Settings { max_retry: 1, ..Settings::default() };
    let tiny = Config { tx_slots_log2: 0, ..small() };
    let mut world = World::new(2, &tiny, settings, Faults::default(), seed());
    world.kept = Some(Vec::new());
    world.recv(1, 0, 50_000);
    world.send(0, 1, 0, 50_000, 8);
    world.run(1000);
    world.faults.loss = 1.0;
    world.run(ticks(4000));
    let old = world.kept.take().expect("kept")[0].1.clone();
    world.faults = Faults::default();
    world.send(0, 1, 0, 4000, 8);
    world.run(world.clock + ticks(150));
    assert_eq!(statuses(&world, 1), [Status::Replaced]);
    world.inject(1, world.clock + 1, old);
    world.run(world.clock + 2);
    world.recv(1, 0, 4000);
    finish(&mut world);
    assert_eq!(statuses(&world, 1), [Status::Replaced, Status::Success]);
    assert_eq!(world.nodes[1].nic.counters().dropped(Drop::Finished), 1);
}

//= TX-1 test
#[test]
fn generations_wrap() {
    let tiny = Config { tx_slots_log2: 0, ..small() };
    let mut world =
        World::new(2, &tiny, Settings::default(), Faults { loss: 0.02, ..Faults::default() }, seed());
    world.nodes[0].nic.sender_mut().set_generation(0, 0xF_FFFC);
    for _ in 0..8 {
        world.recv(1, 0, 3000);
        world.send(0, 1, 0, 3000, 8);
    }
    finish(&mut world);
    assert!(world.errors.is_empty());
    assert_eq!(world.delivered.len(), 8);
    assert_eq!(world.nodes[0].done[7].1.message.generation(), 4);
}

/// Sequence numbers, blocks and the window pass their edges in one long message.
//= RC-8 test
//= GR-2 test
#[test]
fn a_long_message_passes_every_edge() {
    for loss in [0.0, 0.01] {
        let mut world = world(Faults { loss, rate: 64, ..Faults::default() });
        world.recv(1, 0, 3_000_000);
        world.send(0, 1, 0, 3_000_000, 8);
        finish(&mut world);
        assert!(world.errors.is_empty());
        assert!(world.count(Counter::TxFeedback) > 600);
    }
}

//= GR-8 test
#[test]
fn one_message_is_owed_no_more_than_its_share() {
    // Packets of 256 bytes: the grant that goes beyond it is of four.
    for (each, most) in [(1 << 12, (1 << 12) + 4 * 256), (0, 4 * 256), (0xFF_FFFF, 1 << 16)] {
        let settings = Settings {
            credit_limit: 1 << 16,
            credit_each: each,
            grant_quantum: 4,
            initial_window: 2,
            ..Settings::default()
        };
        let mut world = World::new(2, &small(), settings, Faults::default(), seed());
        world.recv(1, 0, 300_000);
        world.send(0, 1, 0, 300_000, 8);
        let mut highest = 0;
        for until in (0..4_000_000).step_by(16) {
            if world.run(until) {
                break;
            }
            highest = highest.max(world.nodes[1].nic.receiver().outstanding());
        }
        assert!(highest <= most && highest > most - 4 * 256, "{highest} bytes of {most}");
        finish(&mut world);
    }
}

//= §7.7 test
#[test]
fn every_table_full_and_nothing_hangs() {
    let tiny = Config {
        tx_slots_log2: 2,
        rx_contexts_log2: 1,
        bitmap_blocks_log2: 1,
        tombstones: 40,
        table_sets_log2: 2,
        retransmit_entries_log2: 0,
        ..small()
    };
    let settings = Settings { credit_limit: 4096, unsolicited_limit: 6000, ..Settings::default() };
    let mut world =
        World::new(3, &tiny, settings, Faults { loss: 0.03, jitter: 500, ..Faults::default() }, seed());
    for i in 0..30 {
        world.recv(i % 3, 0, 300_000);
        world.send(i % 3, (i + 1) % 3, 0, if i % 7 == 0 { 300_000 } else { 6_000 }, 8);
    }
    finish(&mut world);
    assert!(world.errors.is_empty(), "{:?}", world.errors);
    assert_eq!(world.delivered.len(), 30);
    let refused: u32 = world.nodes.iter().map(|n| n.nic.counters().dropped(Drop::BusyResources)).sum();
    assert!(refused > 0, "the tables were never full");
}

//= RO-5 test
#[test]
fn a_receiver_that_forgot_aborts_the_message() {
    let mut world = world(Faults::default());
    world.recv(1, 0, 1 << 20);
    world.send(0, 1, 0, 1 << 20, 8);
    world.run(6000);
    assert_eq!(world.nodes[1].nic.receiver().open_contexts(), 1);
    let fresh = World::new(2, &small(), Settings::default(), Faults::default(), 9);
    world.nodes[1].nic = fresh.nodes.into_iter().nth(1).expect("two").nic;
    finish(&mut world);
    assert_eq!(statuses(&world, 0), [Status::NoContext]);
}

//= TX-10 test
#[test]
fn local_errors_complete_and_free_the_slot() {
    let mut world = world(Faults::default());
    world.scribble = false;
    world.recv(1, 0, 10_000);
    let template = SendEntry {
        opcode: 1,
        immediate: None,
        round: None,
        payload_log2: 8,
        traffic_class: 0,
        length: 1000,
        address: BASE,
        lkey: KEY,
        initial_window: 0,
        tag: 1,
        rkey: 0,
        qkey: QKEY,
        endpoint: endpoint(1, 0),
        mac: world.nodes[1].identity.mac,
        gid: world.gid_of(1),
        host_recovery: false,
        hop_limit: 0,
        vlan: None,
    };
    let cases = [
        (SendEntry { lkey: KEY ^ 0x100, ..template }, Status::LocalProtection),
        (SendEntry { address: BASE - 1, ..template }, Status::LocalProtection),
        (SendEntry { opcode: 9, ..template }, Status::BadRequest),
        (SendEntry { payload_log2: 13, ..template }, Status::BadRequest),
        (SendEntry { length: u32::MAX, ..template }, Status::BadRequest),
        // The key covers it, the host has no memory there: the read fails.
        (SendEntry { address: BASE + (1 << 30), ..template }, Status::LocalDma),
    ];
    for (entry, expected) in cases {
        let nic = &mut world.nodes[0].nic;
        let index = nic.post_send(1 << 33, endpoint(0, 0), entry).expect("posted");
        world.nodes[0].sends.insert((0, index), entry);
        world.run(world.clock + ticks(100));
        assert_eq!(statuses(&world, 0).last(), Some(&expected));
    }
    assert!(world.nodes[0].nic.post_send(0, 0x99, template).is_err());
    finish(&mut world);
}

/// Bytes of node 0's packets at any moment whose message has not heard anything
/// but BUSY, from what was on the wire: the most there were.
fn most_unasked(seen: &[(usize, u64, Seen)]) -> u64 {
    let mut messages: BTreeMap<u32, Option<u64>> = BTreeMap::new();
    let mut most = 0;
    for (_, _, seen) in seen.iter().filter(|(node, ..)| *node == 0) {
        let (Seen::FrameIn(frame) | Seen::FrameOut(frame)) = seen else { continue };
        let packet = wire::parse(frame).expect("nothing is damaged");
        match packet.trh {
            wire::Trh::Data(header) if header.flags & wire::flag::RETX == 0 => {
                let unasked = messages.entry(header.message.0).or_insert(Some(0));
                unasked.iter_mut().for_each(|bytes| *bytes += packet.payload.len() as u64);
            }
            wire::Trh::Feedback(header) if header.flags & wire::fb::BUSY == 0 => {
                messages.insert(header.message.0, None);
            }
            _ => {}
        }
        most = most.max(messages.values().flatten().sum());
    }
    most
}

//= TX-1 test
#[test]
fn unasked_bytes_stay_below_their_limit() {
    const LIMIT: u32 = 8192;
    for loss in [0.0, 0.05] {
        let settings = Settings { unsolicited_limit: LIMIT, ..Settings::default() };
        let mut world = World::new(2, &small(), settings, Faults { loss, ..Faults::default() }, seed());
        world.watch = Some(Vec::new());
        for _ in 0..12 {
            world.recv(1, 0, 20_000);
            world.send(0, 1, 0, 20_000, 8);
        }
        assert_eq!(world.nodes[0].nic.sender().live(), 2);
        // The sender's own account at every clock, the wire's of every frame.
        let (mut most, end) = (0, long(&world.settings));
        while world.delivered.len() < 12 {
            world.run(world.clock + 1);
            most = most.max(world.nodes[0].nic.sender().unsolicited());
            assert!(world.clock < end, "still busy at the end of time");
        }
        finish(&mut world);
        assert_eq!(most, LIMIT.into(), "two messages of 16 packets go unasked at once");
        let on_the_wire = most_unasked(&world.watch.take().expect("watched"));
        assert!(on_the_wire > LIMIT as u64 / 2 && on_the_wire <= LIMIT.into(), "{on_the_wire} bytes unasked");
    }
}

//= §7.3 test
#[test]
fn one_messages_loss_does_not_hold_another() {
    let time_of_second = |lossy: bool| {
        let mut world = World::new(3, &small(), Settings::default(), Faults::default(), 5);
        world.recv(1, 0, 400_000);
        world.recv(2, 0, 400_000);
        // What goes to NIC 1 loses its last packet and every repair for long.
        if lossy {
            world.faults.first = [(Class::Last, 1), (Class::Again, 3)].into();
        }
        world.send(0, 1, 0, 200_000, 8);
        world.send(0, 2, 0, 400_000, 8);
        finish(&mut world);
        assert_eq!(world.delivered.len(), 2);
        let done = world.nodes[2].done.last().expect("delivered").0;
        done
    };
    let (clean, lossy) = (time_of_second(false), time_of_second(true));
    assert!(lossy <= clean + clean / 20, "{lossy} clocks instead of {clean}");
}

//= RD-2, RD-3, RD-4, RD-5 test
#[test]
fn the_last_message_of_a_round_is_asked_for_sooner() {
    let seed = seed();
    let time_of_last = |ld_policy, messages| {
        // The last packet of the first message is lost, and so are the PROBEs that would tell.
        let faults = Faults { first: [(Class::Last, 1), (Class::Probe, 9)].into(), ..Faults::default() };
        // Being judged anew shall not tell of a skew that is still being learned.
        let settings = Settings { ld_policy, gap0: 4000, skew0: 16, rto: 50_000, ..Settings::default() };
        let mut world = World::new(2, &small(), settings, faults, seed);
        world.round = Some(9);
        if messages > 0 {
            world.nodes[1].nic.register_round(0, endpoint(1, 0), 9, messages).expect("endpoint exists");
        }
        for _ in 0..4 {
            world.recv(1, 0, 1000);
        }
        for length in [300, 700, 700, 700] {
            world.send(0, 1, 0, length, 8);
        }
        finish(&mut world);
        assert_eq!(world.delivered.len(), 4);
        world.nodes[1].done.iter().map(|done| done.0).max().expect("delivered")
    };
    let alone = time_of_last(1, 4);
    assert!(time_of_last(2, 0).abs_diff(alone) < ticks(5), "an unknown round is no round");
    assert!(time_of_last(2, 400).abs_diff(alone) < ticks(5), "three of 400 are nothing yet");
    let near = time_of_last(2, 4);
    assert!(near + ticks(100) < alone, "{near} clocks with the round, {alone} without");
}

//= RC-7 test
#[test]
fn congestion_marks_are_echoed() {
    let mut world = world(Faults { mark: 1.0, ..Faults::default() });
    world.kept = Some(Vec::new());
    world.recv(1, 0, 20_000);
    world.send(0, 1, 0, 20_000, 8);
    finish(&mut world);
    let answers =
        world.kept.take().expect("kept").into_iter().filter_map(|(from, frame)| {
            match wire::parse(&frame).expect("parses").trh {
                wire::Trh::Feedback(header) if from == 1 && header.delay != wire::NO_SAMPLE => Some(header),
                _ => None,
            }
        });
    let answers: Vec<_> = answers.collect();
    assert!(answers.len() >= 79, "each marked packet is answered");
    assert!(answers.iter().all(|header| header.flags & wire::fb::CE != 0));
}
