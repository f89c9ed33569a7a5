//! The scoreboard on model NICs: a clean run is clean, and each seeded
//! falsification of what was seen is caught.

mod common;

use common::*;
use tessera_abi::icrc;
use tessera_abi::params::{Config, CLOCKS_PER_TICK};
use tessera_abi::queue::{DONE_CANCEL, DONE_POSTED, DONE_RECV, DONE_UNEXPECTED};
use tessera_abi::status::Status;
use tessera_abi::wire::{self, data, fb, feedback, flag, FeedbackHeader, Trh, IP_AT, TRH_AT};
use tessera_model::queue::RecvKind;
use tessera_model::scoreboard::{Event, Fault, NicSetup, Scoreboard, Summary, Tolerance, Violation};
use tessera_model::{Completion, Endpoint, PathPolicy, Settings, Shape};

type Log = Vec<(usize, u64, Seen)>;

fn setups(world: &World, config: &Config) -> Vec<NicSetup> {
    let each = world.nodes.iter().enumerate().map(|(i, node)| NicSetup {
        config: *config,
        identity: node.identity,
        settings: node.settings,
        endpoints: (0..4).map(|e| Endpoint::new(endpoint(i, e), QKEY)).collect(),
        keys: vec![ALL],
        places: Vec::new(),
        time_at_zero: node.offset * CLOCKS_PER_TICK as u64,
    });
    each.collect()
}

fn judge(setups: &[NicSetup], log: &Log, end: u64) -> (Summary, Vec<Violation>) {
    // A model reacts at once: only what waits for the wire is late.
    let tolerance = Tolerance { pipeline: 64, host: 8, timer: 16, stamp: 8, ..Tolerance::default() };
    let mut board = Scoreboard::new(setups.to_vec(), tolerance);
    for (nic, clock, seen) in log {
        let done;
        let event = match seen {
            Seen::FrameIn(frame) => Event::Received(frame),
            Seen::FrameOut(frame) => Event::Sent(frame),
            Seen::Send { endpoint, index, entry, payload } => {
                Event::PostedSend { endpoint: *endpoint, index: *index, entry, payload }
            }
            Seen::Recv { endpoint, index, entry } => {
                Event::PostedRecv { endpoint: *endpoint, index: *index, entry }
            }
            Seen::Ordered { handle, order } => Event::Ordered { handle: *handle, order: *order },
            Seen::Write { address, bytes } => Event::Wrote { address: *address, bytes },
            Seen::Done(completion) => {
                done = completion.emit(true);
                Event::Completed(&done)
            }
            Seen::Reset(new) => {
                let (index, key) = ((KEY & 0xFF) as u8, Some(&ALL));
                board.observe(*clock, *nic, Event::Resetting);
                board.observe(*clock, *nic, Event::Reset);
                board.observe(*clock, *nic, Event::Endpoint { index: new.index(), endpoint: Some(new) });
                Event::Key { index, key }
            }
        };
        board.observe(*clock, *nic, event);
    }
    board.finish(end)
}

struct Run {
    log: Log,
    setups: Vec<NicSetup>,
    end: u64,
}

/// Messages of many sizes, one posted late so that BUSY occurs.
fn run(nics: usize, faults: Faults, settings: Settings, seed: u64) -> Run {
    run_as(wire::Form::ALL[0], nics, faults, settings, seed)
}

fn run_as(form: wire::Form, nics: usize, faults: Faults, settings: Settings, seed: u64) -> Run {
    let config = small();
    let mut world = World::new(nics, &config, settings, faults, seed);
    (world.v6, world.vlan) = (form.v6, form.tagged.then_some(0xE123));
    world.watch = Some(Vec::new());
    let lengths = [0u32, 1, 255, 4096, 5000, 70_000, 200_001];
    for (i, &length) in lengths.iter().enumerate() {
        let (from, to) = (i % nics, (i + 1) % nics);
        if i != 3 {
            world.recv(to, i % 4, 200_001);
        }
        world.send(from, to, i % 4, length, if i == 4 { 12 } else { 8 });
    }
    world.recv(1, 2, 200_001);
    world.write((0, 1, 2), 30_001, Some(77), |_| {});
    world.write((1, 0, 1), 70_000, None, |_| {});
    world.wake(ticks(1500), 0);
    let end = ticks(8 * settings.time_wait as u64);
    assert!(world.run_with(end, |world, _| world.recv(4 % nics, 3, 200_001)));
    world.assert_idle();
    assert!(world.errors.is_empty(), "{:?}", world.errors);
    Run {
        setups: setups(&world, &config),
        log: world.watch.take().expect("kept"),
        end: world.clock + 100_000,
    }
}

#[track_caller]
fn clean(run: &Run) -> Summary {
    let (summary, violations) = judge(&run.setups, &run.log, run.end);
    for violation in violations.iter().take(12) {
        eprintln!("{violation}");
    }
    assert!(violations.is_empty(), "{} violations in a clean run", violations.len());
    summary
}

/// Messages both ways, and resets in the middle of them; the host goes on with
/// another endpoint.
fn run_reset(seed: u64) -> Run {
    let config = small();
    let settings =
        Settings { rx_give_up: 100_000, t_open: 60_000, grant_wait: 60_000, ..Settings::default() };
    let faults = Faults { loss: 0.02, paths: vec![800, 1100], ..Faults::default() };
    let mut world = World::new(2, &config, settings, faults, seed);
    world.watch = Some(Vec::new());
    for life in 0..4 {
        for length in [70_000, 300, 5000, 40_000] {
            for (from, to) in [(0, 1), (1, 0)] {
                world.recv(to, life, 70_000);
                world.send(from, to, life, length, 8);
            }
        }
        if life < 3 {
            let pause = world.rng.below(1200);
            world.run(world.clock + ticks(pause));
            world.reset(0, life + 1);
        }
    }
    assert!(world.run(ticks(40_000_000)), "still busy at the end of time");
    world.assert_idle();
    Run {
        setups: setups(&world, &config),
        log: world.watch.take().expect("kept"),
        end: world.clock + 100_000,
    }
}

//= RS-1 test
//= RS-2 test
#[test]
fn a_reset_ends_every_duty_and_no_generation() {
    let base = seed();
    for case in 0..20 {
        clean(&run_reset(base.wrapping_add(case)));
    }
    // A NIC that draws its generations again.
    let mut run = run_reset(base);
    let resets: Vec<usize> =
        (0..run.log.len()).filter(|&at| matches!(run.log[at].2, Seen::Reset(_))).collect();
    let name = |seen: &Seen| match seen {
        Seen::FrameOut(frame) => match wire::parse(frame).expect("a model frame").trh {
            Trh::Data(header) => Some(header.message),
            _ => None,
        },
        _ => None,
    };
    let sent = |at: &usize| run.log[*at].0 == 0;
    let first = (0..resets[0]).filter(sent).find_map(|at| name(&run.log[at].2)).expect("something was sent");
    let slot = first.slot();
    let again: Vec<usize> = (resets[0]..resets[1])
        .filter(sent)
        .filter(|&at| name(&run.log[at].2).is_some_and(|id| id.slot() == slot))
        .collect();
    assert!(!again.is_empty(), "slot {slot} is not used again");
    for at in again {
        let Seen::FrameOut(frame) = &mut run.log[at].2 else { unreachable!() };
        let at = wire::Form::of(frame).expect("a model frame").trh_at() + data::MESSAGE;
        frame[at..at + 4].copy_from_slice(&first.0.to_be_bytes());
        seal(frame);
    }
    let (_, violations) = judge(&run.setups, &run.log, run.end);
    assert!(violations.iter().any(|violation| violation.rule == "RS-2"), "{violations:?}");
}

#[test]
fn model_nics_are_clean() {
    let base = seed();
    let mut total = Summary::default();
    for case in 0..40 {
        let mut rng = Rng(base.wrapping_add(case));
        let pick = |rng: &mut Rng, of: &[f64]| of[rng.below(of.len() as u64) as usize];
        let faults = Faults {
            loss: pick(&mut rng, &[0.0, 0.001, 0.01, 0.05]),
            burst: pick(&mut rng, &[1.0, 6.0]),
            duplicate: (pick(&mut rng, &[0.0, 0.1]), 8),
            corrupt: pick(&mut rng, &[0.0, 0.01]),
            paths: [vec![800], vec![800, 900, 1500], vec![800, 4000, 8000]][rng.below(3) as usize].clone(),
            jitter: [0, 300][rng.below(2) as usize],
            mark: pick(&mut rng, &[0.0, 0.1]),
            rate: [16, 64][rng.below(2) as usize],
            ..Faults::default()
        };
        eprintln!("case {case}: {faults:?}");
        let form = wire::Form::ALL[case as usize / 2 % 4];
        let nics = 2 + case as usize % 2;
        let summary = clean(&run_as(form, nics, faults, Settings::default(), base ^ case));
        total.writes += summary.writes;
        total.completions += summary.completions;
        total.feedbacks += summary.feedbacks;
        total.retransmissions += summary.retransmissions;
    }
    assert_eq!(total.completions, 40 * 17);
    assert!(
        total.writes > 40 * 1000 && total.feedbacks > 40 * 60 && total.retransmissions > 200,
        "{total:?}"
    );
}

fn lossy() -> Run {
    let faults = Faults { loss: 0.01, paths: vec![800, 1000, 1400], ..Faults::default() };
    run(2, faults, Settings::default(), seed())
}

/// Messages that the host recovers: whatever it finds missing it asks for.
fn recovered() -> Run {
    let (config, settings) = (small(), Settings::default());
    let mut world = World::new(2, &config, settings, Faults { loss: 0.02, ..Faults::default() }, seed());
    world.watch = Some(Vec::new());
    world.host_recovery = true;
    let lengths = [60_000, 256 * 700];
    let shape = Shape { chunk_log2: 1, area_log2: 2 };
    let areas: Vec<u64> =
        lengths.iter().enumerate().map(|(e, &length)| world.recv_chunks(1, e, length, shape).0).collect();
    for (e, &length) in lengths.iter().enumerate() {
        world.send(0, 1, e, length, 8);
    }
    (1..200).for_each(|i| world.wake(ticks(700 * i), 0));
    let end = ticks(8 * settings.time_wait as u64);
    assert!(world.run_with(end, |world, _| {
        for (&at, &length) in areas.iter().zip(&lengths) {
            let handle = u32::from_le_bytes(world.bytes(1, at, 4).try_into().expect("four"));
            for block in 0..(length / 256u32).div_ceil(256) {
                let bits = world.bytes(1, at + 32 + block as u64 * 16, 16);
                if bits.iter().any(|&byte| byte != 0xFF) {
                    world.order(1, handle, (block + 1) * 256);
                }
            }
        }
    }));
    world.assert_idle();
    assert!(world.errors.is_empty(), "{:?}", world.errors);
    let log = world.watch.take().expect("kept");
    Run { setups: setups(&world, &config), log, end: world.clock + 100_000 }
}

//= HR-3 test
//= HR-4 test
//= HR-8 test
#[test]
fn areas_and_orders_are_held_to_what_is_placed() {
    let run = recovered();
    let summary = clean(&run);
    assert!(summary.retransmissions > 10, "{summary:?}");
    let write = |len: usize| move |seen: &Seen| matches!(seen, Seen::Write { address, bytes } if bytes.len() == len && address % 16 == 0);
    let field =
        |name: &'static str| move |f: &Fault| matches!(f, Fault::Field { field, .. } if *field == name);
    for n in 0..2 {
        let header = nth(&run.log, n, write(32));
        for at in [0, 5, 12, 31] {
            let edited = edit(&run.log, header, |bytes| bytes[at] ^= 1);
            caught("a wrong header", &run, edited, |f| matches!(f, Fault::Unexplained { .. } | Fault::Undue));
        }
        caught("a repeated header", &run, repeated(&run.log, header, 1), |f| {
            matches!(f, Fault::Unexplained { .. })
        });
    }
    for n in [0, 7, 31] {
        let bits = nth(&run.log, n, write(16));
        let Seen::Write { bytes, .. } = &run.log[bits].2 else { continue };
        let clear = bytes.iter().position(|&byte| byte != 0xFF);
        if let Some(at) = clear {
            let early = edit(&run.log, bits, |bytes| bytes[at] |= bytes[at] + 1);
            caught("a bit too early", &run, early, field("chunk bits"));
        }
        let empty = edit(&run.log, bits, |bytes| bytes.fill(0));
        if n > 0 {
            caught("bits taken back", &run, empty, field("chunk bits"));
        }
        // The payload that a bit tells of comes only behind it.
        let payload = (0..bits)
            .rev()
            .find(|&at| matches!(&run.log[at].2, Seen::Write { bytes, .. } if bytes.len() == 256));
        let late = moved(&run.log, payload.expect("placed"), bits + 1);
        caught("bits before their payload", &run, late, field("chunk bits"));
    }
    let last = (0..run.log.len()).rev().find(|&at| write(16)(&run.log[at].2)).expect("bits");
    caught("bits never told", &run, without(&run.log, last), field("block told whole"));
    let order = nth(&run.log, 0, |seen| matches!(seen, Seen::Ordered { .. }));
    caught("a NACK without order", &run, without(&run.log, order), |f| matches!(f, Fault::Undue));
}

fn seal(frame: &mut [u8]) {
    let end = frame.len() - wire::ICRC_LEN;
    let crc = icrc::rocev2(&frame[IP_AT..end]);
    frame[end..].copy_from_slice(&crc);
}

fn feedback_of(seen: &Seen) -> Option<FeedbackHeader> {
    let Seen::FrameOut(frame) = seen else { return None };
    match wire::parse(frame).ok()?.trh {
        Trh::Feedback(header) => Some(header),
        Trh::Data(_) | Trh::Release(_) => None,
    }
}

fn is_data(seen: &Seen, want: impl Fn(&wire::DataHeader) -> bool) -> bool {
    let Seen::FrameOut(frame) = seen else { return false };
    matches!(wire::parse(frame).map(|packet| packet.trh), Ok(Trh::Data(header)) if want(&header))
}

fn done_of(seen: &Seen, opcode: u8) -> Option<Completion> {
    match seen {
        Seen::Done(done) if done.opcode == opcode => Some(*done),
        _ => None,
    }
}

/// Position of the `n`-th event that fits, counted from the middle on.
#[track_caller]
fn nth(log: &Log, n: usize, fits: impl Fn(&Seen) -> bool) -> usize {
    let all: Vec<usize> = (0..log.len()).filter(|&at| fits(&log[at].2)).collect();
    assert!(!all.is_empty(), "no such event in the run");
    all[n % all.len()]
}

#[track_caller]
fn caught(name: &str, run: &Run, log: Log, expected: impl Fn(&Fault) -> bool) {
    let (_, violations) = judge(&run.setups, &log, run.end);
    let hit = violations.iter().any(|violation| expected(&violation.fault));
    let seen: Vec<String> = violations.iter().take(5).map(ToString::to_string).collect();
    assert!(hit, "{name} was not caught as expected; seen: {seen:#?}");
}

fn edit(log: &Log, at: usize, change: impl Fn(&mut Vec<u8>)) -> Log {
    let mut log = log.clone();
    match &mut log[at].2 {
        Seen::FrameOut(frame) => {
            change(frame);
            seal(frame);
        }
        Seen::Write { bytes, .. } => change(bytes),
        other => panic!("cannot edit {other:?}"),
    }
    log
}

fn without(log: &Log, at: usize) -> Log {
    let mut log = log.clone();
    log.remove(at);
    log
}

/// Event `at` happens `clocks` later.
fn delayed(log: &Log, at: usize, clocks: u64) -> Log {
    let mut log = log.clone();
    let mut event = log.remove(at);
    event.1 += clocks;
    let to = log.iter().position(|(_, clock, _)| *clock > event.1).unwrap_or(log.len());
    log.insert(to, event);
    log
}

/// Event `at` happens just before event `to`, at its clock.
fn moved(log: &Log, at: usize, to: usize) -> Log {
    let mut log = log.clone();
    let mut event = log.remove(at);
    event.1 = log[to].1;
    log.insert(to, event);
    log
}

fn repeated(log: &Log, at: usize, after: u64) -> Log {
    let mut more = log.clone();
    let event = log[at].clone();
    let clock = event.1 + after;
    let to = more.iter().position(|(_, c, _)| *c > clock).unwrap_or(more.len());
    more.insert(to, (event.0, clock, event.2));
    more
}

/// Event `at` happens twice, at `at` and `at + 1`.
fn twice(log: &Log, at: usize) -> Log {
    let mut log = log.clone();
    log.insert(at + 1, log[at].clone());
    log
}

#[test]
fn writes_are_held_to_what_arrived() {
    let run = lossy();
    clean(&run);
    for n in [3, 50, 200, 500] {
        let write = nth(&run.log, n, |seen| matches!(seen, Seen::Write { .. }));
        caught("a dropped write", &run, without(&run.log, write), |f| {
            matches!(f, Fault::MissingWrite(_) | Fault::Early { .. })
        });
        let flipped = edit(&run.log, write, |bytes| bytes[0] ^= 1);
        caught("a flipped byte", &run, flipped, |f| matches!(f, Fault::Misplaced(_)));
        caught("a repeated write", &run, repeated(&run.log, write, 1), |f| {
            matches!(f, Fault::Unexplained { .. } | Fault::OutsideBuffer { .. })
        });
        let mut shifted = run.log.clone();
        if let Seen::Write { address, .. } = &mut shifted[write].2 {
            *address += 4;
        }
        caught("a write four bytes off", &run, shifted, |f| {
            matches!(f, Fault::Unexplained { .. } | Fault::OutsideBuffer { .. })
        });
        let mut wild = run.log.clone();
        if let Seen::Write { address, .. } = &mut wild[write].2 {
            *address += 1 << 36;
        }
        caught("a wild write", &run, wild, |f| matches!(f, Fault::OutsideBuffer { .. }));
        let late = delayed(&run.log, write, 40_000_000);
        caught("a write after completion", &run, late, |f| {
            matches!(f, Fault::OutsideBuffer { .. } | Fault::MissingWrite(_))
        });
    }
}

#[test]
fn completions_are_held_to_their_messages() {
    let run = lossy();
    for n in 0..7 {
        for opcode in [tessera_abi::queue::DONE_SEND, DONE_RECV] {
            let done = nth(&run.log, n, |seen| done_of(seen, opcode).is_some());
            caught("a lost completion", &run, without(&run.log, done), |f| {
                matches!(f, Fault::MissingCompletion | Fault::NeverEnded(_))
            });
            caught("a doubled completion", &run, repeated(&run.log, done, 1), |f| {
                matches!(f, Fault::UnknownCompletion { .. })
            });
            let change = |edit: fn(&mut Completion)| {
                let mut log = run.log.clone();
                if let Seen::Done(completion) = &mut log[done].2 {
                    edit(completion);
                }
                log
            };
            caught("a wrong status", &run, change(|c| c.status = 3), |f| matches!(f, Fault::Status(3)));
            caught("a wrong length", &run, change(|c| c.length ^= 8), |f| matches!(f, Fault::Field { .. }));
            caught("a wrong tag", &run, change(|c| c.tag ^= 8), |f| matches!(f, Fault::Field { .. }));
            caught("a wrong kind", &run, change(|c| c.write ^= true), |f| matches!(f, Fault::Field { .. }));
            caught("a wrong entry", &run, change(|c| c.entry ^= 0x4000), |f| {
                matches!(f, Fault::UnknownCompletion { .. })
            });
        }
    }
    // Early: before the last write of its message, or before COMPLETE came.
    let done = nth(&run.log, 5, |seen| done_of(seen, DONE_RECV).is_some_and(|d| d.length > 5000));
    let node = run.log[done].0;
    let write =
        (0..done).rev().find(|&at| run.log[at].0 == node && matches!(run.log[at].2, Seen::Write { .. }));
    let early = moved(&run.log, done, write.expect("written"));
    caught("an early completion", &run, early, |f| matches!(f, Fault::Early { .. }));
    let sent = nth(&run.log, 5, |seen| done_of(seen, 1).is_some_and(|d| d.length > 5000));
    let early = moved(&run.log, sent, sent - 40);
    caught("an early send completion", &run, early, |f| matches!(f, Fault::Status(0)));
}

#[test]
fn feedback_is_held_to_arrivals_and_timers() {
    let run = lossy();
    let plain = |header: &FeedbackHeader| header.flags & !fb::CE == 0 && header.cumulative % 256 > 3;
    for n in [2, 9, 20] {
        let ack = nth(&run.log, n, |seen| feedback_of(seen).as_ref().is_some_and(plain));
        caught("a missing answer", &run, without(&run.log, ack), |f| {
            matches!(f, Fault::Unanswered(_) | Fault::Field { field: "sequence", .. })
        });
        let at = TRH_AT + feedback::CUMULATIVE + 2;
        caught("cumulative too high", &run, edit(&run.log, ack, |f| f[at] = f[at].wrapping_add(1)), |f| {
            matches!(f, Fault::Cumulative { .. })
        });
        caught("cumulative too low", &run, edit(&run.log, ack, |f| f[at] = f[at].wrapping_sub(1)), |f| {
            matches!(f, Fault::Cumulative { .. })
        });
        let hole = feedback_of(&run.log[ack].2).expect("feedback").cumulative as usize % 256;
        let flip =
            |bit: usize| edit(&run.log, ack, |f| f[TRH_AT + feedback::BITMAP + bit / 8] ^= 1 << (bit % 8));
        for (name, bit) in [("a bit too many", hole), ("a bit too few", hole - 1)] {
            caught(name, &run, flip(bit), |f| matches!(f, Fault::Bitmap(_) | Fault::Cumulative { .. }));
        }
        let sequence = TRH_AT + feedback::SEQUENCE;
        caught(
            "a skipped sequence",
            &run,
            edit(&run.log, ack, |f| f[sequence] = f[sequence].wrapping_add(1)),
            |f| matches!(f, Fault::Field { field: "sequence", .. }),
        );
        let grant = TRH_AT + feedback::GRANT;
        caught("a grant too far", &run, edit(&run.log, ack, |f| f[grant + 1] = 0x7F), |f| {
            matches!(f, Fault::Grant { .. })
        });
        let echo = TRH_AT + feedback::ECHO + 3;
        caught("an echo of nothing", &run, edit(&run.log, ack, |f| f[echo] ^= 0x40), |f| {
            matches!(f, Fault::Undue)
        });
        let delay = TRH_AT + feedback::DELAY + 1;
        caught("a delay of another time", &run, edit(&run.log, ack, |f| f[delay] ^= 0x80), |f| {
            matches!(f, Fault::Field { field: "delay", .. })
        });
        caught("a doubled answer", &run, repeated(&run.log, ack, 1), |f| matches!(f, Fault::Undue));
        let status = TRH_AT + feedback::STATUS;
        caught("a status in an answer", &run, edit(&run.log, ack, |f| f[status] = 4), |f| {
            matches!(f, Fault::Field { field: "status", .. })
        });
    }
    let nack = nth(&run.log, 1, |seen| feedback_of(seen).is_some_and(|h| h.flags & fb::NACK != 0));
    let limit = TRH_AT + feedback::LIMIT;
    caught("a NACK beyond the grant", &run, edit(&run.log, nack, |f| f[limit + 1] = 0x7F), |f| {
        matches!(f, Fault::NackLimit { .. })
    });
    caught("a NACK of nothing", &run, edit(&run.log, nack, |f| f[limit..limit + 3].fill(0)), |f| {
        matches!(f, Fault::NackLimit { .. })
    });
    let bitmap = TRH_AT + feedback::BITMAP;
    caught("a NACK of what is there", &run, edit(&run.log, nack, |f| f[bitmap..bitmap + 32].fill(0)), |f| {
        matches!(f, Fault::Bitmap(_) | Fault::Cumulative { .. })
    });
    // A NACK soon after another of the same block is before its hold.
    caught("an extra NACK", &run, repeated(&run.log, nack, 64), |f| matches!(f, Fault::EarlyNack(_)));
    let complete = nth(&run.log, 5, |seen| feedback_of(seen).is_some_and(|h| h.flags & fb::COMPLETE != 0));
    caught("COMPLETE too early", &run, moved(&run.log, complete, complete - 60), |f| {
        matches!(f, Fault::Early { .. } | Fault::Undue)
    });
    caught("COMPLETE never sent", &run, without(&run.log, complete), |f| matches!(f, Fault::Unanswered(_)));
    let busy = nth(&run.log, 0, |seen| feedback_of(seen).is_some_and(|h| h.flags & fb::BUSY != 0));
    caught("BUSY never sent", &run, without(&run.log, busy), |f| {
        matches!(f, Fault::Unanswered(_) | Fault::MissingWrite(_))
    });
    let grant = nth(&run.log, 3, |seen| feedback_of(seen).is_some_and(|h| h.flags & fb::GRANT != 0));
    caught("a doubled grant", &run, repeated(&run.log, grant, 1), |f| matches!(f, Fault::Grant { .. }));
}

/// Node 1 matches tags: of entries 0 and 1 with the tag of the first message, 2
/// with one that never comes, and 3 of the ring, the first message takes 0, the
/// second 3; 2 is taken back.
fn tagged() -> Run {
    let config = small();
    let mut world = World::new(2, &config, Settings::default(), Faults::default(), 3);
    let mut setups = setups(&world, &config);
    setups[1].endpoints[0].tags = true;
    world.nodes[1].nic.set_endpoint(setups[1].endpoints[0]);
    world.watch = Some(Vec::new());
    world.recv(1, 2, 10);
    let first = world.send(0, 1, 2, 10, 8) + (1 << 8);
    for tag in [first, first, u64::MAX] {
        world.recv_kind(1, 0, 5000, RecvKind::Tagged(tag));
    }
    world.recv_kind(1, 0, 5000, RecvKind::Plain);
    for length in [3000, 4000] {
        world.send(0, 1, 0, length, 8);
        let later = world.clock + ticks(10_000);
        world.run(later);
    }
    let third = |done: &&Completion| (done.opcode, done.entry) == (DONE_POSTED, 2);
    let handle =
        world.nodes[1].done.iter().map(|(_, done)| done).find(third).expect("in place").length as u16;
    world.recv_kind(1, 0, 0, RecvKind::Cancel { tag: u64::MAX, target: 2, handle });
    let end = world.clock + ticks(10_000);
    world.run(end);
    Run { log: world.watch.take().expect("kept"), setups, end: world.clock + 100_000 }
}

//= RO-12 test
//= TM-2 test
//= TM-3 test
//= TM-4 test
//= TM-6 test
#[test]
fn tagged_receives_are_held_to_their_tags() {
    let run = tagged();
    assert_eq!(clean(&run).completions, 3 + 8);
    let told = |opcode: u8, entry: u16| {
        nth(&run.log, 0, |seen| {
            done_of(seen, opcode).is_some_and(|done| done.entry == entry && done.ring != 2)
        })
    };
    let [posted, unexpected] = [told(DONE_POSTED, 0), told(DONE_UNEXPECTED, 3)];
    for (name, at) in [("POSTED", posted), ("UNEXPECTED", unexpected)] {
        caught(name, &run, without(&run.log, at), |f| matches!(f, Fault::MissingCompletion));
        caught(name, &run, repeated(&run.log, at, 1), |f| matches!(f, Fault::UnknownCompletion { .. }));
    }
    let of_tag = |index: u16, tag: u64| {
        let mut log = run.log.clone();
        for (node, _, seen) in &mut log {
            match seen {
                Seen::Recv { index: of, entry, .. } if (*node, *of) == (1, index) && entry.length == 5000 => {
                    entry.kind = RecvKind::Tagged(tag);
                }
                _ => {}
            }
        }
        log
    };
    let Some(second) = done_of(&run.log[unexpected].2, DONE_UNEXPECTED) else { unreachable!() };
    caught("a receive of its tag passed over", &run, of_tag(1, second.tag), |f| {
        matches!(f, Fault::ReceiveSkipped(3))
    });
    caught("a receive of another tag", &run, of_tag(0, 99), |f| {
        matches!(f, Fault::Unexplained { .. } | Fault::UnknownMessage(_))
    });
    let change = |at: usize, edit: fn(&mut Completion)| {
        let mut log = run.log.clone();
        if let Seen::Done(done) = &mut log[at].2 {
            edit(done);
        }
        log
    };
    let refused = change(told(DONE_POSTED, 1), |done| {
        (done.opcode, done.status) = (DONE_RECV, Status::NoTagSpace as u8);
    });
    caught("no_tag_space with room", &run, refused, |f| *f == Fault::Status(Status::NoTagSpace as u8));
    let cancel = told(DONE_CANCEL, 4);
    caught("a lost cancel", &run, without(&run.log, cancel), |f| matches!(f, Fault::NeverEnded(4)));
    let untaken = change(cancel, |done| done.status = Status::NotPosted as u8);
    caught("a cancel that nobody forestalled", &run, untaken, |f| {
        *f == Fault::Status(Status::NotPosted as u8)
    });
}

#[test]
fn every_nack_has_to_come() {
    // One hole, seen clearly: everything behind it arrives.
    let faults = Faults { first: [(Class::Last, 1)].into(), ..Faults::default() };
    let run = run(2, faults, Settings::default(), seed());
    clean(&run);
    let nacks: Vec<usize> = (0..run.log.len())
        .filter(|&at| feedback_of(&run.log[at].2).is_some_and(|h| h.flags & fb::NACK != 0))
        .collect();
    assert!(!nacks.is_empty());
    // The run stops at the first NACK, which never leaves.
    let log = run.log[..nacks[0]].to_vec();
    caught("a NACK that never comes", &run, log, |f| matches!(f, Fault::MissingNack(_)));
}

/// A NACK that was decided when all that was granted had been seen asks for what a
/// grant just before it added; one long after the grant may not.
//= LD-4 test
#[test]
fn a_nack_may_cross_a_grant() {
    let settings = Settings { credit_limit: 2048, grant_quantum: 4, ..Settings::default() };
    let (base, mut shown) = (seed(), 0);
    for case in 0..8 {
        let run = run(2, Faults { loss: 0.1, ..Faults::default() }, settings, base ^ case);
        for nack in (0..run.log.len()).filter(|&at| asks_for_the_tail(&run.log[at].2)) {
            if goes_beyond(&run, nack, 100) {
                shown += 1;
                assert!(!goes_beyond(&run, nack, 2), "case {case}, event {nack}");
            }
        }
    }
    assert!(shown > 0, "no NACK of which it shows");
}

/// Packets more that a grant before a NACK is made to add.
const MORE: u8 = 60;

/// A NACK when the last packet granted is there.
fn asks_for_the_tail(seen: &Seen) -> bool {
    feedback_of(seen).is_some_and(|h| {
        let last = h.grant.wrapping_sub(h.base + 1) as usize;
        let tail = h.bitmap.get(last / 8).is_some_and(|byte| byte >> (last % 8) & 1 != 0);
        h.flags & fb::NACK != 0 && tail && h.grant <= u32::from(u8::MAX - MORE)
    })
}

/// Whether a NACK, made to ask for what a grant added so many ticks before, is found
/// to ask for too much, though the message has as many.
fn goes_beyond(run: &Run, nack: usize, apart: u64) -> bool {
    let mut log = edit(&run.log, nack, |f| {
        f[TRH_AT + feedback::GRANT + 2] += MORE;
        f[TRH_AT + feedback::LIMIT + 2] += MORE;
    });
    let mut grant = edit(&log, nack, |f| {
        f[TRH_AT + feedback::FLAGS] = fb::GRANT;
        f[TRH_AT + feedback::LIMIT..][..3].fill(0);
    })[nack]
        .clone();
    let clock = log[nack].1;
    grant.1 = clock - ticks(apart);
    let at = log.iter().position(|(_, clock, _)| *clock > grant.1).expect("the NACK is later");
    log.insert(at, grant);
    log.truncate(nack + 2);
    let (_, violations) = judge(&run.setups, &log, clock);
    let whole = violations.iter().all(|v| !matches!(v.fault, Fault::Grant { .. }));
    whole && violations.iter().any(|v| v.clock == clock && matches!(v.fault, Fault::NackLimit { .. }))
}

/// A value drawn where another is due, one recycled that never came back, and
/// one that goes on being used after its echoes have ended.
#[test]
fn paths_are_held_to_their_policy() {
    let data = |header: &wire::DataHeader| !header.probe;
    for policy in [PathPolicy::Single, PathPolicy::RoundRobin, PathPolicy::Random] {
        let settings = Settings { path_policy: policy, ..Settings::default() };
        let faults = Faults { loss: 0.01, paths: vec![800, 1000, 1400], ..Faults::default() };
        let run = run(2, faults, settings, seed());
        let packet = nth(&run.log, 200, |seen| is_data(seen, data));
        caught("a path out of turn", &run, edit(&run.log, packet, |f| f[wire::UDP_AT + 1] ^= 1), |f| {
            matches!(f, Fault::Path { .. })
        });
    }
    let settings = Settings { path_count: 64, ..Settings::default() };
    let faults = Faults { paths: vec![800, 1000, 1400], ..Faults::default() };
    let run = run(2, faults, settings, seed());
    let first = nth(&run.log, 1, |seen| is_data(seen, data));
    caught("a value never proven", &run, edit(&run.log, first, |f| f[wire::UDP_AT + 1] ^= 1), |f| {
        matches!(f, Fault::Path { .. })
    });
    let silent = |f: &mut Vec<u8>| f[TRH_AT + data::FLAGS] &= !flag::AR;
    caught("an unproven value that does not ask", &run, edit(&run.log, first, silent), |f| {
        matches!(f, Fault::Flag("AR", _))
    });
    // Deaf to every echo, the scoreboard must find recycled values unfounded.
    let (nic, _, _) = run.log[first];
    let deaf = |(of, _, seen): &(usize, u64, Seen)| {
        let Seen::FrameIn(frame) = seen else { return true };
        let feedback = matches!(wire::parse(frame).map(|p| p.trh), Ok(Trh::Feedback(_)));
        *of != nic || !feedback
    };
    caught("echoes unheard", &run, run.log.iter().filter(|seen| deaf(seen)).cloned().collect(), |f| {
        matches!(f, Fault::Path { .. })
    });
}

#[test]
fn data_is_held_to_posts_grants_and_nacks() {
    let run = lossy();
    let new = |header: &wire::DataHeader| !header.probe && header.flags & flag::RETX == 0;
    for n in [30, 100, 700] {
        let packet = nth(&run.log, n, |seen| is_data(seen, new));
        let payload = TRH_AT + wire::TRH_DATA_LEN;
        caught("a flipped payload bit", &run, edit(&run.log, packet, |f| f[payload] ^= 1), |f| {
            matches!(f, Fault::Payload(_))
        });
        caught("a packet sent twice", &run, repeated(&run.log, packet, 1), |f| {
            matches!(f, Fault::OutOfOrder { .. })
        });
        caught("a packet left out", &run, without(&run.log, packet), |f| {
            matches!(f, Fault::OutOfOrder { .. })
        });
        let retx = |f: &mut Vec<u8>| f[TRH_AT + data::FLAGS] |= flag::RETX;
        caught("an unasked retransmission", &run, edit(&twice(&run.log, packet), packet + 1, retx), |f| {
            matches!(f, Fault::Unasked(_))
        });
        for (name, at) in
            [("tag", data::TAG + 3), ("length", data::LENGTH + 3), ("window", data::INITIAL_WINDOW)]
        {
            caught(name, &run, edit(&run.log, packet, |f| f[TRH_AT + at] ^= 4), |f| {
                matches!(f, Fault::Field { .. })
            });
        }
        let stamp = TRH_AT + data::TIMESTAMP + 2;
        caught("timestamp", &run, edit(&run.log, packet, |f| f[stamp] ^= 1), |f| {
            matches!(f, Fault::Field { field: "timestamp", .. })
        });
        caught("path", &run, edit(&run.log, packet, |f| f[wire::UDP_AT + 1] ^= 0x40), |f| {
            matches!(f, Fault::Path { .. })
        });
        caught("PSN", &run, edit(&run.log, packet, |f| f[wire::BTH_AT + 11] ^= 1), |f| {
            matches!(f, Fault::Field { field: "PSN", .. })
        });
        caught("MAC", &run, edit(&run.log, packet, |f| f[5] ^= 4), |f| matches!(f, Fault::Field { .. }));
        let mut torn = run.log.clone();
        if let Seen::FrameOut(frame) = &mut torn[packet].2 {
            frame[payload] ^= 1;
        }
        caught("ICRC", &run, torn, |f| matches!(f, Fault::Icrc));
    }
    let flags = TRH_AT + data::FLAGS;
    let est = |want: u8| move |header: &wire::DataHeader| new(header) && header.flags & flag::EST == want;
    let first = nth(&run.log, 0, |seen| is_data(seen, est(0)));
    caught("EST before any answer", &run, edit(&run.log, first, |f| f[flags] |= flag::EST), |f| {
        matches!(f, Fault::Flag("EST", _))
    });
    let early = |header: &wire::DataHeader| new(header) && header.index == 5;
    let last = |header: &wire::DataHeader| new(header) && (header.index + 1) << 8 >= header.length;
    for (name, at) in [
        ("AR inside the window", nth(&run.log, 0, |seen| is_data(seen, early))),
        ("AR missing on the last", nth(&run.log, 3, |seen| is_data(seen, last))),
    ] {
        let log = edit(&run.log, at, |f| f[flags] ^= flag::AR);
        caught(name, &run, log, |f| matches!(f, Fault::Flag("AR", _)));
    }
    let late = (0..run.log.len()).rev().find(|&at| is_data(&run.log[at].2, est(flag::EST))).expect("some");
    caught("EST forgotten", &run, edit(&run.log, late, |f| f[flags] &= !flag::EST), |f| {
        matches!(f, Fault::Flag("EST", _))
    });
    // Without the feedback that granted it, a packet is beyond the grant.
    let grants: Vec<usize> = (0..run.log.len())
        .filter(|&at| {
            matches!(&run.log[at].2, Seen::FrameIn(frame)
                if matches!(wire::parse(frame).map(|p| p.trh), Ok(Trh::Feedback(_))))
        })
        .collect();
    let mut deaf = run.log.clone();
    let end = grants.len() / 2;
    grants[..end].iter().rev().for_each(|&at| {
        deaf.remove(at);
    });
    caught("packets never asked for", &run, deaf, |f| matches!(f, Fault::BeyondGrant { .. }));
    let probe = nth(&run.log, 0, |seen| is_data(seen, |header| header.probe));
    caught("an undue PROBE", &run, repeated(&run.log, probe, 1), |f| matches!(f, Fault::UndueProbe(_)));
    let done = nth(&run.log, 3, |seen| done_of(seen, 1).is_some_and(|d| d.length > 0));
    let id = done_of(&run.log[done].2, 1).expect("a send").message;
    let last = nth(&run.log, 0, |seen| is_data(seen, |header| header.message == id));
    let after = repeated(&run.log, last, run.log[done].1 - run.log[last].1 + ticks(2000));
    caught("a packet after its completion", &run, after, |f| matches!(f, Fault::AfterEnd(_)));
    let stray = twice(&run.log, last);
    let stray = edit(&stray, last + 1, |f| f[TRH_AT + data::MESSAGE + 3] ^= 0x55);
    caught("a message nobody posted", &run, stray, |f| matches!(f, Fault::UnknownMessage(_)));
}
