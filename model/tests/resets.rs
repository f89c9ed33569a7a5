//! A NIC that is reset at work: what its own host and its peers see of it.

mod common;

use common::*;
use tessera_abi::status::{Drop, Status};
use tessera_abi::wire::{self, Trh};
use tessera_model::Settings;

fn statuses(world: &World, node: usize) -> Vec<Status> {
    world.nodes[node].done.iter().map(|(_, done)| Status::from_code(done.status).expect("known")).collect()
}

/// Hosts whose bounds pass soon.
fn hasty() -> Settings {
    Settings {
        rx_give_up: 60_000,
        t_open: 40_000,
        grant_wait: 40_000,
        time_wait: 60_000,
        ..Settings::default()
    }
}

/// The sender of many messages begins again, under the name it had: its peer knows
/// the old ones, and takes none of the new ones for one of them.
//= RS-2 test
#[test]
fn new_messages_are_not_taken_for_old_ones() {
    for (case, pause) in [0u64, 40, 90, 150, 400, 3000].into_iter().enumerate() {
        let mut world = World::new(2, &small(), hasty(), Faults::default(), seed().wrapping_add(case as u64));
        world.kept = Some(Vec::new());
        let post = |world: &mut World| {
            [300, 40_000, 0, 9000].map(|length| {
                world.recv(1, 0, 40_000);
                world.send(0, 1, 0, length, 8)
            })
        };
        for _ in 0..3 {
            post(&mut world);
            world.run(world.clock + ticks(pause));
            world.reset(0, 0);
        }
        let last = post(&mut world);
        assert!(world.run(ticks(20_000_000)), "still busy at the end of time");
        world.assert_idle();
        assert!(last.iter().all(|tag| world.delivered.get(tag) == Some(&1)), "{:?}", world.delivered);
        // No name is given twice, on the wire.
        let mut names = std::collections::BTreeMap::new();
        for (from, frame) in world.kept.take().expect("kept").iter().filter(|(from, _)| *from == 0) {
            if let Trh::Data(header) = wire::parse(frame).expect("a model frame").trh {
                let tag = *names.entry(header.message.0).or_insert(header.tag);
                assert_eq!(tag, header.tag, "NIC {from}: {:?} names two messages", header.message);
            }
        }
    }
}

/// The peer's sends to an endpoint of before end by its own bounds, its receives
/// from there as given up.
//= RS-4 test
//= RS-5 test
#[test]
fn peers_end_by_their_own_bounds() {
    for pause in [60, 200] {
        let mut world = World::new(2, &small(), hasty(), Faults::default(), seed());
        for length in [100_000, 200_000] {
            for (from, to) in [(0, 1), (1, 0)] {
                world.recv(to, 0, 200_000);
                world.send(from, to, 0, length, 8);
            }
        }
        world.run(world.clock + ticks(pause));
        world.reset(0, 1);
        assert!(world.run(ticks(20_000_000)), "still busy at the end of time");
        world.assert_idle();
        assert_eq!(statuses(&world, 0), [], "its host is told by the driver");
        let ended = statuses(&world, 1);
        let bound = |status: &&Status| {
            matches!(status, Status::RetryExceeded | Status::GrantTimeout | Status::Unheard)
        };
        assert_eq!(ended.iter().filter(bound).count(), 2, "{ended:?}");
        assert!(ended.iter().filter(|status| **status == Status::GaveUp).count() > 0, "{ended:?}");
        let dropped = world.nodes[0].nic.counters().dropped(Drop::Endpoint);
        assert!(dropped > 2, "{dropped} packets were for the endpoint of before");
    }
}

/// Resets of both at random moments, both ways, under loss and copies that come
/// late: nothing is delivered twice or wrong (the ledger looks), everything ends,
/// and all arrives once it is quiet.
//= RS-1 test
#[test]
fn resets_at_any_moment_do_no_harm() {
    let base = seed();
    for case in 0..40 {
        let faults = Faults {
            loss: 0.03,
            duplicate: (0.05, 8),
            jitter: 4000,
            paths: vec![800, 1500, 2500],
            ..Faults::default()
        };
        let mut world = World::new(2, &small(), hasty(), faults, base.wrapping_add(case));
        let mut lives = [0, 0];
        for _ in 0..3 {
            // Each to the endpoint that the other has now.
            if lives[0] == lives[1] {
                for length in [300, 40_000, 0, 9000] {
                    for (from, to) in [(0, 1), (1, 0)] {
                        world.recv(to, lives[to], 40_000);
                        world.send(from, to, lives[to], length, 8);
                    }
                }
            }
            let pause = world.rng.below(900);
            world.run(world.clock + ticks(pause));
            let node = world.rng.below(2) as usize;
            for node in [node, 1 - node] {
                lives[node] += 1;
                world.reset(node, lives[node]);
                let pause = world.rng.below(300);
                world.run(world.clock + ticks(pause));
            }
        }
        let tags: Vec<u64> = [(0, 1), (1, 0)]
            .into_iter()
            .flat_map(|(from, to)| {
                [40_000, 0, 700].map(|length| {
                    world.recv(to, lives[to], 40_000);
                    world.send(from, to, lives[to], length, 8)
                })
            })
            .collect();
        assert!(world.run(ticks(40_000_000)), "case {case}: still busy at the end of time");
        world.assert_idle();
        assert!(
            tags.iter().all(|tag| world.delivered.get(tag) == Some(&1)),
            "case {case}: {:?}",
            world.delivered
        );
    }
}
