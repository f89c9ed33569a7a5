//! The scoreboard on model NICs: a clean run is clean, and each seeded
//! falsification of what was seen is caught.

#[path = "../common/mod.rs"]
mod common;

mod answers;
mod areas;
mod datagrams;

mod host;
mod resets;
mod sending;
mod tags;

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

/// A model reacts at once: only what waits for the wire is late.
const AT_ONCE: Tolerance =
    Tolerance { pipeline: 64, host: 8, timer: 16, stamp: 8, overflow: false, dma_faults: false };

fn judge(setups: &[NicSetup], log: &Log, end: u64) -> (Summary, Vec<Violation>) {
    judge_by(AT_ONCE, setups, log, end)
}

fn judge_by(tolerance: Tolerance, setups: &[NicSetup], log: &Log, end: u64) -> (Summary, Vec<Violation>) {
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

/// Packets more that a grant before a NACK is made to add.
const MORE: u8 = 60;
