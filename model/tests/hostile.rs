//! Malformed, forged, stale and replayed frames change one counter (spec §7.6).

mod common;

use common::*;
use tessera_abi::icrc;
use tessera_abi::status::Drop;
use tessera_abi::wire::{self, data, fb, feedback, flag, Trh, BTH_AT, DETH_AT, IP_AT, TRH_AT, UDP_AT};
use tessera_model::Settings;

/// A world stopped in the middle of a message, and the frames so far.
fn midway() -> (World, Vec<(usize, Vec<u8>)>) {
    let faults = Faults { paths: vec![800, 6000], rate: 8, ..Faults::default() };
    let mut world = World::new(2, &small(), Settings::default(), faults, seed());
    world.kept = Some(Vec::new());
    world.recv(1, 0, 100);
    world.send(0, 1, 0, 100, 8);
    world.run(9000);
    world.recv(1, 0, 2_000_001);
    world.send(0, 1, 0, 2_000_001, 8);
    world.run(40_000);
    assert_eq!(world.nodes[1].nic.receiver().open_contexts(), 1);
    let frames = world.kept.take().expect("kept");
    (world, frames)
}

fn seal(frame: &mut [u8]) {
    let end = frame.len() - wire::ICRC_LEN;
    let crc = icrc::rocev2(&frame[IP_AT..end]);
    frame[end..].copy_from_slice(&crc);
}

fn state(world: &World, node: usize) -> String {
    let nic = &world.nodes[node].nic;
    format!("{:?}\n{:?}", nic.receiver(), nic.sender())
}

/// Hands `frame` to `node` and demands `reason` and no other change.
#[track_caller]
fn refuse(world: &mut World, node: usize, frame: &[u8], reason: Drop) {
    let before = state(world, node);
    let counters = world.nodes[node].nic.counters().clone();
    let now = world.now(node);
    let nic = &mut world.nodes[node].nic;
    assert_eq!(nic.handle_frame(now, frame), Err(reason));
    assert!(nic.poll_write().is_none() && nic.poll_completion().is_none());
    assert_eq!(before, state(world, node), "{reason:?} changed something");
    let after = world.nodes[node].nic.counters();
    for drop in Drop::ALL {
        let expected = (*drop == reason) as u32;
        assert_eq!(after.dropped(*drop) - counters.dropped(*drop), expected, "{drop:?}");
    }
}

type Change = fn(&mut Vec<u8>);

//= RX-1 test
//= RX-2 test
//= RX-3 test
//= RX-4 test
//= RX-5 test
//= RX-6 test
#[test]
fn every_reason_has_its_frame() {
    let (mut world, frames) = midway();
    let is_data = |frame: &[u8]| matches!(class(frame), Class::Data) && frame.len() > 300;
    let open =
        frames.iter().rev().find(|(from, frame)| *from == 0 && is_data(frame)).expect("data").1.clone();
    let cases: &[(&str, Change, Drop)] = &[
        ("short", |f| f.truncate(65), Drop::Frame),
        ("long", |f| f.resize(4300, 0), Drop::Frame),
        ("mac", |f| f[5] ^= 1, Drop::NotOurs),
        ("ethertype", |f| f[13] = 6, Drop::NotOurs),
        ("address", |f| f[IP_AT + 19] ^= 1, Drop::NotOurs),
        ("tcp", |f| f[IP_AT + 9] = 6, Drop::NotOurs),
        ("port", |f| f[UDP_AT + 3] ^= 1, Drop::NotOurs),
        ("options", |f| f[IP_AT] = 0x46, Drop::IpHeader),
        ("more fragments", |f| f[IP_AT + 6] |= 0x20, Drop::IpHeader),
        ("fragment", |f| f[IP_AT + 7] = 1, Drop::IpHeader),
        ("multicast", |f| f[IP_AT + 12] = 0xE1, Drop::IpHeader),
        ("no source", |f| f[IP_AT + 12..IP_AT + 16].fill(0), Drop::IpHeader),
        ("ip length", |f| f[IP_AT + 3] ^= 4, Drop::Length),
        ("udp length", |f| f[UDP_AT + 5] ^= 4, Drop::Length),
        ("trailer", |f| f.push(0), Drop::Length),
        ("payload", |f| f[150] ^= 1, Drop::Icrc),
        ("index", |f| f[TRH_AT + data::INDEX + 2] ^= 1, Drop::Icrc),
        (
            "cnp",
            |f| {
                f[BTH_AT] = 0x81;
                seal(f)
            },
            Drop::Cnp,
        ),
        (
            "opcode",
            |f| {
                f[BTH_AT] = 0x04;
                seal(f)
            },
            Drop::Bth,
        ),
        (
            "transport version",
            |f| {
                f[BTH_AT + 1] |= 1;
                seal(f)
            },
            Drop::Bth,
        ),
        (
            "partition",
            |f| {
                f[BTH_AT + 3] ^= 1;
                seal(f)
            },
            Drop::PKey,
        ),
        (
            "endpoint",
            |f| {
                f[BTH_AT + 5] ^= 1;
                seal(f)
            },
            Drop::Endpoint,
        ),
        (
            "endpoint index",
            |f| {
                f[BTH_AT + 7] = 77;
                seal(f)
            },
            Drop::Endpoint,
        ),
        (
            "q_key",
            |f| {
                f[DETH_AT] ^= 1;
                seal(f)
            },
            Drop::QKey,
        ),
        (
            "trh version",
            |f| {
                f[TRH_AT] ^= 0x30;
                seal(f)
            },
            Drop::Trh,
        ),
        (
            "release",
            |f| {
                f[TRH_AT] = 0x15;
                seal(f)
            },
            Drop::Trh,
        ),
        (
            "payload size",
            |f| {
                f[TRH_AT + data::SIZE_CLASS] = 0x72;
                seal(f)
            },
            Drop::Fields,
        ),
        (
            "beyond count",
            |f| {
                f[TRH_AT + data::INDEX + 1] = 0xFF;
                seal(f)
            },
            Drop::Fields,
        ),
        (
            "shorter",
            |f| {
                f[TRH_AT + data::LENGTH..][..4].fill(0);
                seal(f)
            },
            Drop::Fields,
        ),
        (
            "pad",
            |f| {
                f[BTH_AT + 1] |= 0x10;
                seal(f)
            },
            Drop::Fields,
        ),
        (
            "older",
            |f| {
                older(f, 5);
                seal(f)
            },
            Drop::Stale,
        ),
        (
            "tag",
            |f| {
                f[TRH_AT + data::TAG] ^= 1;
                seal(f)
            },
            Drop::Mismatch,
        ),
        (
            "window",
            |f| {
                f[TRH_AT + data::INITIAL_WINDOW] ^= 1;
                seal(f)
            },
            Drop::Mismatch,
        ),
        (
            "immediate",
            |f| {
                f[TRH_AT + 1] ^= flag::IMM;
                seal(f)
            },
            Drop::Mismatch,
        ),
        (
            "write of a send",
            |f| {
                f[TRH_AT + 1] |= flag::WRITE;
                seal(f)
            },
            Drop::Mismatch,
        ),
        (
            "not granted",
            |f| {
                f[TRH_AT + data::INDEX + 1] = 0x1E;
                seal(f)
            },
            Drop::NotGranted,
        ),
    ];
    for (name, change, reason) in cases {
        let mut frame = open.clone();
        change(&mut frame);
        eprintln!("{name}");
        refuse(&mut world, 1, &frame, *reason);
    }
    let mut cut = open.clone();
    cut.truncate(100);
    let length = (100 - 14) as u16;
    cut[IP_AT + 2..IP_AT + 4].copy_from_slice(&length.to_be_bytes());
    cut[UDP_AT + 4..UDP_AT + 6].copy_from_slice(&(length - 20).to_be_bytes());
    seal(&mut cut);
    refuse(&mut world, 1, &cut, Drop::Trh);
    world.nodes[1].nic.set_enabled(false);
    refuse(&mut world, 1, &open, Drop::Disabled);
    let mut not_ours = open.clone();
    not_ours[0] ^= 4;
    refuse(&mut world, 1, &not_ours, Drop::NotOurs);
}

/// Takes `by` off the generation.
fn older(frame: &mut [u8], by: u32) {
    let at = TRH_AT + data::MESSAGE;
    let id = u32::from_be_bytes([frame[at], frame[at + 1], frame[at + 2], frame[at + 3]]);
    let id = (id & 0xFFF0_0000) | (id.wrapping_sub(by) & 0xF_FFFF);
    frame[at..at + 4].copy_from_slice(&id.to_be_bytes());
}

//= TX-3 test
#[test]
fn forged_feedback_is_refused() {
    let (mut world, frames) = midway();
    let open = frames.iter().rev().find(|(from, _)| *from == 1).expect("feedback").1.clone();
    let put24 = |frame: &mut Vec<u8>, at: usize, value: u32| {
        frame[TRH_AT + at..TRH_AT + at + 3].copy_from_slice(&value.to_be_bytes()[1..]);
    };
    let header = |frame: &[u8]| match wire::parse(frame).expect("parses").trh {
        Trh::Feedback(header) => header,
        other => panic!("{other:?}, feedback expected"),
    };
    assert!(header(&open).cumulative > 0);
    let mut change = |reason: Drop, edit: &dyn Fn(&mut Vec<u8>)| {
        let mut frame = open.clone();
        edit(&mut frame);
        seal(&mut frame);
        refuse(&mut world, 0, &frame, reason);
    };
    change(Drop::FeedbackStale, &|f| older(f, 1));
    change(Drop::FeedbackStale, &|f| older(f, u32::MAX));
    change(Drop::FeedbackStale, &|f| f[TRH_AT + feedback::MESSAGE] ^= 0x80);
    change(Drop::FeedbackForged, &|f| f[IP_AT + 15] ^= 0x10);
    change(Drop::FeedbackForged, &|f| f[DETH_AT + 7] ^= 1);
    change(Drop::FeedbackForged, &|f| f[BTH_AT + 7] ^= 1);
    change(Drop::FeedbackNonsense, &|f| put24(f, feedback::CUMULATIVE, 7812));
    change(Drop::FeedbackNonsense, &|f| put24(f, feedback::BASE, 255));
    change(Drop::FeedbackNonsense, &|f| f[TRH_AT + 1] |= fb::COMPLETE);
    change(Drop::FeedbackNonsense, &|f| {
        f[TRH_AT + 1] |= fb::NACK;
        put24(f, feedback::BASE, 8192);
    });
    change(Drop::FeedbackNonsense, &|f| {
        f[TRH_AT + 1] |= fb::NACK;
        put24(f, feedback::LIMIT, 7814);
    });
    change(Drop::QKey, &|f| f[DETH_AT + 3] ^= 1);
    // A grant beyond the message is clamped, not refused.
    let mut frame = open.clone();
    put24(&mut frame, feedback::GRANT, 0xFF_FFFF);
    seal(&mut frame);
    let now = world.now(0);
    assert_eq!(world.nodes[0].nic.handle_frame(now, &frame), Ok(()));
    let slot = header(&open).message.slot();
    assert_eq!(world.nodes[0].nic.sender().slot(slot).expect("live").grant, 7813);
}

/// Bits no check covers: Ethernet source, and what the ICRC masks.
fn uncovered(byte: usize) -> bool {
    (6..12).contains(&byte)
        || [IP_AT + 1, IP_AT + 8, IP_AT + 10, IP_AT + 11, UDP_AT + 6, UDP_AT + 7, BTH_AT + 4].contains(&byte)
}

//= §7.6 test
#[test]
fn flipped_bits_never_get_in() {
    let (mut world, frames) = midway();
    let mut rng = Rng(seed());
    let mut reasons = std::collections::BTreeSet::new();
    for _ in 0..3000 {
        let (from, whole) = &frames[rng.below(frames.len() as u64) as usize];
        let mut frame = whole.clone();
        for _ in 0..1 + rng.below(3) {
            let bit = rng.below(frame.len() as u64 * 8) as usize;
            frame[bit / 8] ^= 1 << (bit % 8);
        }
        if (0..frame.len()).all(|byte| uncovered(byte) || frame[byte] == whole[byte]) {
            continue;
        }
        let to = 1 - from;
        let before = (state(&world, to), world.nodes[to].nic.counters().clone());
        let now = world.now(to);
        let reason = world.nodes[to].nic.handle_frame(now, &frame).expect_err("a damaged frame was accepted");
        assert!(reason <= Drop::Icrc, "{reason:?}");
        assert_eq!(before.0, state(&world, to));
        assert_eq!(world.nodes[to].nic.counters().dropped(reason), before.1.dropped(reason) + 1);
        reasons.insert(reason);
    }
    assert!(reasons.len() >= 4, "{reasons:?}");
}

//= RC-1 test
//= RO-2 test
#[test]
fn replays_move_no_byte() {
    let (mut world, frames) = midway();
    for (_, frame) in frames.iter().filter(|(from, _)| *from == 0) {
        let now = world.now(1);
        let nic = &mut world.nodes[1].nic;
        match nic.handle_frame(now, frame) {
            Ok(()) => {
                // Still in flight when the world stopped: not a replay yet.
                while nic.poll_write().is_some() {}
            }
            Err(reason) => {
                assert!(matches!(reason, Drop::Duplicate | Drop::Finished | Drop::Stale), "{reason:?}");
                assert!(nic.poll_write().is_none());
            }
        }
        assert!(nic.poll_completion().is_none());
    }
}
