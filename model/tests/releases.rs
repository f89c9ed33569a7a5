//! RELEASE: who ends a message says so, and nobody waits for what is over.

mod common;

use common::*;
use tessera_abi::params::Config;
use tessera_abi::regs::Counter;
use tessera_abi::status::{Drop, Status};
use tessera_abi::wire::{self, fb, Trh};
use tessera_model::Settings;

fn finish(world: &mut World, limit: u64) {
    let end = world.clock + ticks(limit);
    assert!(world.run(end), "still busy at the end of time");
    world.assert_idle();
}

/// Every FEEDBACK class is lost for ever.
fn deaf() -> Faults {
    let first = FEEDBACK_CLASSES.into_iter().map(|class| (class, u32::MAX)).collect();
    Faults { first, ..Faults::default() }
}

//= RL-1 test
//= RL-2 test
#[test]
fn who_gives_up_releases_the_receiver() {
    for lost in [0, u32::MAX] {
        let mut faults = deaf();
        faults.first.insert(Class::Release, lost);
        let settings = Settings { rto: 200, max_retry: 4, ..Settings::default() };
        let mut world = World::new(2, &small(), settings, faults, seed());
        world.recv(1, 0, 100_000);
        world.send(0, 1, 0, 100_000, 8);
        // Long before RX_GIVE_UP, if it is told.
        world.run(ticks(settings.rx_give_up as u64 / 2));
        let status = |world: &World, node: usize| {
            world.nodes[node].done.first().map(|(_, done)| Status::from_code(done.status).expect("known"))
        };
        assert_eq!(status(&world, 0), Some(Status::RetryExceeded));
        let receiver = world.nodes[1].nic.receiver();
        if lost == 0 {
            assert_eq!((receiver.outstanding(), receiver.open_contexts()), (0, 0));
            assert_eq!(status(&world, 1), Some(Status::Released));
        } else {
            assert_eq!(receiver.open_contexts(), 1);
            assert_eq!(status(&world, 1), None);
        }
        finish(&mut world, 4 * settings.rx_give_up as u64);
        let end = if lost == 0 { Status::Released } else { Status::GaveUp };
        assert_eq!(status(&world, 1), Some(end));
        assert_eq!(world.count(Counter::TxRelease), 1);
        assert_eq!(world.count(Counter::RxRelease), u64::from(lost == 0));
    }
}

/// Few tombstones, many messages: how long they take.
fn pressure(release_low: u32) -> (u64, u64) {
    // Sixteen slots, which are sixteen names, and fewer places.
    let config = Config { tombstones: 8, ..small() };
    let settings = Settings { time_wait: 20_000, mpl: 500, release_low, ..Settings::default() };
    let mut world = World::new(2, &config, settings, Faults::default(), seed());
    for _ in 0..80 {
        world.recv(1, 0, 1000);
        world.send(0, 1, 0, 300, 8);
    }
    let start = world.clock;
    while world.delivered.len() < 80 {
        world.run(world.clock + ticks(50));
        assert!(world.clock < ticks(1_000_000), "{} of 80 delivered", world.delivered.len());
    }
    let took = world.clock - start;
    finish(&mut world, 1_000_000);
    assert_eq!(world.count(Counter::TxRelease), world.count(Counter::RxRelease));
    assert_eq!(world.count(Counter::TxRelease) > 0, release_low > 0);
    (took, world.count(Counter::RxRelease))
}

//= RL-3 test
#[test]
fn busy_for_want_of_tombstones_ends_sooner() {
    let (without, _) = pressure(0);
    let (with, _) = pressure(2);
    assert!(without > ticks(20_000), "{without} clocks: the places never ran out");
    assert!(with * 4 < without, "{with} clocks with RELEASE, {without} without");
}

//= RL-4 test
#[test]
fn a_wish_is_granted_for_what_is_over_only() {
    let settings = Settings { release_low: 1, ..Settings::default() };
    let config = Config { tombstones: 2, ..small() };
    let mut world = World::new(2, &config, settings, Faults::default(), seed());
    world.kept = Some(Vec::new());
    for _ in 0..2 {
        world.recv(1, 0, 1000);
        world.send(0, 1, 0, 300, 8);
    }
    world.run(ticks(2000));
    assert_eq!(world.delivered.len(), 2);
    let frames = world.kept.take().expect("kept");
    let wish = |frame: &[u8]| match wire::parse(frame).expect("parses").trh {
        Trh::Feedback(header) => header.flags & fb::RELEASE_REQ != 0,
        _ => false,
    };
    let asked = frames.iter().find(|(from, frame)| *from == 1 && wish(frame)).expect("a wish").1.clone();
    let Trh::Feedback(header) = wire::parse(&asked).expect("parses").trh else { unreachable!() };
    let before = world.count(Counter::TxRelease);
    let with_generation = |step: u32| {
        let mut frame = asked.clone();
        let id = wire::MessageId::new(header.message.slot(), header.message.generation().wrapping_add(step));
        let at = wire::TRH_AT + wire::feedback::MESSAGE;
        frame[at..at + 4].copy_from_slice(&id.0.to_be_bytes());
        wire::reseal(&mut frame);
        frame
    };
    // Its own generation and older ones (half the circle is), each time; never one to come.
    for (step, released) in [(0, 1), (0, 2), (u32::MAX, 3), (1, 3), (1 << 19, 4)] {
        let now = world.now(0);
        let nic = &mut world.nodes[0].nic;
        assert_eq!(nic.handle_frame(now, &with_generation(step)), Err(Drop::FeedbackStale));
        world.run(world.clock + ticks(200));
        assert_eq!(world.count(Counter::TxRelease) - before, released, "generation {step:+}");
    }
}

//= RL-2 test
#[test]
fn a_release_ends_its_own_generation_and_no_other() {
    let mut world = World::new(2, &small(), Settings::default(), deaf(), seed());
    world.kept = Some(Vec::new());
    world.recv(1, 0, 100_000);
    world.send(0, 1, 0, 100_000, 8);
    world.run(ticks(300));
    assert_eq!(world.nodes[1].nic.receiver().open_contexts(), 1);
    let frames = world.kept.take().expect("kept");
    let first = wire::parse(&frames[0].1).expect("parses");
    let Trh::Data(header) = first.trh else { panic!("DATA first") };
    let release = |step: u32| {
        let message =
            wire::MessageId::new(header.message.slot(), header.message.generation().wrapping_add(step));
        let trh = Trh::Release(wire::ReleaseHeader { ev: 0, message, timestamp: 0 });
        let mut frame = vec![0; tessera_abi::params::MAX_FRAME];
        let length = wire::emit(&first.route, &trh, &[], &mut frame).expect("fits");
        frame.truncate(length);
        frame
    };
    let mut say = |step: u32| {
        let now = world.now(1);
        let nic = &mut world.nodes[1].nic;
        let judged = nic.handle_frame(now, &release(step));
        (judged, nic.receiver().open_contexts(), nic.receiver().tombstones())
    };
    assert_eq!(say(u32::MAX), (Err(Drop::Stale), 1, 0));
    assert_eq!(say(1), (Ok(()), 1, 0));
    assert_eq!(say(0), (Ok(()), 0, 1));
    assert_eq!(say(0), (Ok(()), 0, 1));
    // Its tombstone lives MPL, not longer for being told again.
    let mpl = Settings::default().mpl as u64;
    world.run(world.clock + ticks(mpl / 2));
    let now = world.now(1);
    assert_eq!(world.nodes[1].nic.handle_frame(now, &release(0)), Ok(()));
    assert_eq!(world.nodes[1].nic.receiver().tombstones(), 1);
    world.run(world.clock + ticks(mpl / 2 + 10));
    assert_eq!(world.nodes[1].nic.receiver().tombstones(), 0);
}
