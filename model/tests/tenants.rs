//! Shared receive rings, quotas and tags: endpoints that share, endpoints that
//! must not feel each other, and messages that look for their receive.

mod common;

use common::*;
use tessera_abi::queue::{DONE_CANCEL, DONE_POSTED, DONE_RECV, DONE_UNEXPECTED};
use tessera_abi::status::{Drop, Status};
use tessera_model::{Endpoint, RecvKind, Settings};

/// The shared ring's table index.
const RING: u16 = 200;

fn world(quota: u16) -> World {
    let mut world = World::new(2, &small(), Settings::default(), Faults::default(), 3);
    let nic = &mut world.nodes[1].nic;
    nic.set_shared_ring(RING, 1);
    for e in 0..2 {
        let shared_ring = Some(RING);
        nic.set_endpoint(Endpoint { shared_ring, rx_quota: quota, ..Endpoint::new(endpoint(1, e), QKEY) });
    }
    world
}

fn finish(world: &mut World) {
    let end = world.clock + ticks(20_000_000);
    assert!(world.run(end), "still busy at the end of time");
    world.assert_idle();
}

//= RO-10 test
#[test]
fn endpoints_that_share_a_ring_use_its_receives_and_say_so() {
    let mut world = world(0);
    for _ in 0..6 {
        world.shared_recv(1, RING, 5000);
    }
    // Its own ring is not looked at while it shares.
    world.recv(1, 0, 5000);
    for i in 0..6 {
        world.send(0, 1, i % 2, 4000, 8);
    }
    finish(&mut world);
    assert_eq!(world.delivered.len(), 6);
    let received: Vec<_> = world.nodes[1].done.iter().map(|(_, done)| (done.ring, done.entry)).collect();
    assert_eq!(received, (0..6).map(|entry| (RING, entry)).collect::<Vec<_>>());
    // Each endpoint is told of its own messages.
    let mut told: Vec<_> = world.nodes[1].done.iter().map(|(_, done)| done.endpoint).collect();
    told.sort_unstable();
    let indexes = [0, 1].map(|e| (endpoint(1, e) & 0xFF) as u16);
    assert_eq!(told, [[indexes[0]; 3], [indexes[1]; 3]].concat());
    // An empty shared ring is BUSY, though the own one has a receive.
    world.send(0, 1, 0, 100, 8);
    world.run(world.clock + ticks(1000));
    assert!(world.nodes[1].nic.counters().dropped(Drop::BusyReceive) > 0);
    world.shared_recv(1, RING, 5000);
    finish(&mut world);
    assert_eq!(world.delivered.len(), 7);
}

//= RO-11 test
#[test]
fn a_quota_holds_one_endpoint_and_no_other() {
    let mut world = world(2);
    for _ in 0..20 {
        world.shared_recv(1, RING, 60_000);
        world.recv(1, 2, 5000);
    }
    for _ in 0..10 {
        world.send(0, 1, 0, 60_000, 8);
    }
    for _ in 0..10 {
        world.send(0, 1, 2, 4000, 8);
    }
    let mut most = 0;
    for _ in 0..2000 {
        world.run(world.clock + 64);
        most = most.max(world.nodes[1].nic.receiver().contexts_of((endpoint(1, 0) & 0xFF) as u16));
    }
    finish(&mut world);
    assert_eq!(most, 2, "contexts of the endpoint with a quota");
    assert_eq!(world.delivered.len(), 20);
    assert!(world.nodes[0].done.iter().all(|(_, done)| done.status == Status::Success as u8));
    assert!(world.nodes[1].nic.counters().dropped(Drop::BusyQuota) > 0);
    assert_eq!(world.nodes[1].nic.counters().dropped(Drop::BusyResources), 0);
}

//= TX-15 test
#[test]
fn a_quota_holds_one_sender_and_no_other() {
    let mut world = World::new(2, &small(), Settings::default(), Faults::default(), 3);
    world.nodes[0].nic.set_endpoint(Endpoint { tx_quota: 2, ..Endpoint::new(endpoint(0, 0), QKEY) });
    let index = (endpoint(0, 0) & 0xFF) as u16;
    for e in [0, 2] {
        for _ in 0..10 {
            world.recv(1, e, 60_000);
            world.send(0, 1, e, 60_000, 8);
        }
    }
    assert_eq!(world.nodes[0].nic.sender().live(), 12.min(1 << small().tx_slots_log2));
    let mut most = 0;
    for _ in 0..2000 {
        world.run(world.clock + 64);
        most = most.max(world.nodes[0].nic.sender().held_by(index));
    }
    finish(&mut world);
    assert_eq!(most, 2, "requests of the endpoint with a quota");
    assert_eq!(world.delivered.len(), 20);
    assert!(world.nodes[0].done.iter().all(|(_, done)| done.status == Status::Success as u8));
}

//= TX-15 test
#[test]
fn a_quota_leaves_unasked_bytes_to_the_others() {
    for (tx_quota, delivered) in [(0, 0), (1, 1), (5, 1)] {
        let settings = Settings { unsolicited_limit: 1 << 16, initial_window: 255, ..Settings::default() };
        let mut world = World::new(2, &small(), settings, Faults::default(), 3);
        world.nodes[0].nic.set_endpoint(Endpoint { tx_quota, ..Endpoint::new(endpoint(0, 0), QKEY) });
        // Nobody has posted a receive for those, and they ask for all there is.
        for _ in 0..5 {
            world.send(0, 1, 0, 100_000, 8);
        }
        let held = tx_quota as u64 * (1 << 12);
        assert_eq!(world.nodes[0].nic.sender().unsolicited(), if tx_quota == 0 { 255 << 8 } else { held });
        world.recv(1, 2, 5000);
        world.send(0, 1, 2, 5000, 8);
        world.run(world.clock + ticks(2000));
        assert_eq!(world.delivered.len(), delivered, "beside a quota of {tx_quota}");
    }
}

//= RO-12 test
//= TM-1 test
//= TM-2 test
//= TM-6 test
#[test]
fn a_message_takes_the_oldest_receive_of_its_tag_and_is_unexpected_without() {
    let mut world = World::new(2, &small(), Settings::default(), Faults::default(), 3);
    let tags = Endpoint { tags: true, ..Endpoint::new(endpoint(1, 0), QKEY) };
    world.nodes[1].nic.set_endpoint(tags);
    // The tag of the first message to come, and of one that never does.
    let probe = world.send(0, 1, 2, 10, 8);
    world.recv(1, 2, 10);
    finish(&mut world);
    let first = probe + (1 << 8);
    for tag in [first, first + 100, first] {
        world.recv_kind(1, 0, 5000, RecvKind::Tagged(tag));
    }
    world.recv_kind(1, 0, 5000, RecvKind::Plain);
    assert_eq!(world.send(0, 1, 0, 4000, 8), first);
    finish(&mut world);
    world.send(0, 1, 0, 3000, 8);
    finish(&mut world);
    let told: Vec<_> = world.nodes[1].done[1..].iter().map(|(_, done)| (done.opcode, done.entry)).collect();
    let posted = [0, 1, 2].map(|entry| (DONE_POSTED, entry));
    assert_eq!(told, [posted.as_slice(), &[(DONE_RECV, 0), (DONE_UNEXPECTED, 3), (DONE_RECV, 3)]].concat());

    // Taken back once, and then it is not there; a new life forgets the rest.
    let handle = world.nodes[1].done[3].1.length as u16;
    for expected in [Status::Success, Status::NotPosted] {
        world.recv_kind(1, 0, 0, RecvKind::Cancel { tag: first, target: 2, handle });
        let (_, last) = world.nodes[1].done.last().expect("told");
        assert_eq!((last.opcode, last.status), (DONE_CANCEL, expected as u8));
    }
    world.nodes[1].nic.set_endpoint(tags);
    let handle = world.nodes[1].done[2].1.length as u16;
    world.recv_kind(1, 0, 0, RecvKind::Cancel { tag: first + 100, target: 1, handle });
    assert_eq!(world.nodes[1].done.last().expect("told").1.status, Status::NotPosted as u8);
}

//= TM-3 test
#[test]
fn tagged_receives_without_room_or_tags_end_at_once() {
    let mut world = World::new(2, &small(), Settings::default(), Faults::default(), 3);
    let tags = Endpoint { tags: true, rx_quota: 2, ..Endpoint::new(endpoint(1, 0), QKEY) };
    world.nodes[1].nic.set_endpoint(tags);
    for tag in 0..3 {
        world.recv_kind(1, 0, 100, RecvKind::Tagged(tag));
    }
    world.recv_kind(1, 1, 100, RecvKind::Tagged(0));
    let told: Vec<_> = world.nodes[1].done.iter().map(|(_, done)| (done.opcode, done.status)).collect();
    let posted = (DONE_POSTED, 0);
    let refused = [Status::NoTagSpace, Status::BadRequest].map(|status| (DONE_RECV, status as u8));
    assert_eq!(told, [posted, posted, refused[0], refused[1]]);
}

//= RE-1, RE-2 test
#[test]
fn a_destroyed_endpoint_leaves_nothing_and_the_other_goes_on() {
    let mut world = World::new(2, &small(), Settings::default(), Faults::default(), 7);
    for e in 0..2 {
        world.recv(1, e, 100_000);
        world.recv(0, e, 100_000);
        world.send(0, 1, e, 100_000, 8);
        world.send(1, 0, e, 100_000, 8);
    }
    world.run(world.clock + 3000);
    let now = world.now(0);
    let nic = &mut world.nodes[0].nic;
    assert!(nic.sender().live() == 2 && nic.receiver().open_contexts() == 2, "in the middle of it");
    nic.destroy_endpoint(now, endpoint(0, 0)).expect("exists");
    assert_eq!((nic.sender().live(), nic.receiver().open_contexts()), (1, 1));
    assert!(nic.destroy_endpoint(now, endpoint(0, 0)).is_err());
    finish(&mut world);
    // The other endpoint's two messages arrived; of this one's, both sides know.
    assert_eq!(world.delivered.len(), 2);
    let statuses = |node: usize| {
        let mut all: Vec<_> = world.nodes[node]
            .done
            .iter()
            .map(|(_, done)| (done.endpoint, Status::from_code(done.status).expect("known")))
            .filter(|(_, status)| *status != Status::Success)
            .collect();
        all.sort_unstable();
        all
    };
    let at = |node: usize| (endpoint(node, 0) & 0xFF) as u16;
    assert_eq!(statuses(0), [(at(0), Status::Destroyed), (at(0), Status::Flushed)]);
    assert_eq!(statuses(1), [(at(1), Status::Released), (at(1), Status::Destroyed)]);
}

//= RE-1, TX-15 test
#[test]
fn a_destroyed_endpoint_forgets_its_ring_and_gives_its_quota_back() {
    for (quota, began) in [(0, 20), (3, 3)] {
        let mut world = World::new(2, &small(), Settings::default(), Faults::default(), 7);
        let own = Endpoint { tx_quota: quota, ..Endpoint::new(endpoint(0, 0), QKEY) };
        world.nodes[0].nic.set_endpoint(own);
        // More than there are slots, and more than the quota.
        for _ in 0..20 {
            world.send(0, 1, 0, 1000, 8);
        }
        let now = world.now(0);
        let nic = &mut world.nodes[0].nic;
        nic.destroy_endpoint(now, endpoint(0, 0)).expect("exists");
        assert!(nic.sender().is_idle());
        assert_eq!(nic.sender().held_by(own.index()), 0);
        let ended: Vec<u8> = std::iter::from_fn(|| nic.poll_completion()).map(|done| done.status).collect();
        assert_eq!(ended, vec![Status::Flushed as u8; began], "quota {quota}");
    }
}
