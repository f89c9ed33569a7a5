//! Buffers, marks, trimming, pauses and failures, by packets that nobody repeats.

use tessera_net::fabric::{Ecn, Fault, Faults, Links, Switching};
use tessera_net::network::{Counts, Make, MakeError, Network};
use tessera_net::raw::Raw;
use tessera_net::topology::Shape;
use tessera_net::traffic::List;
use tessera_net::Ps;

const OVERHEAD: u32 = 104;

fn run(make: &Make, list: &mut List) -> Counts {
    let mut network = Network::new(make, |_| Raw::new(4096, OVERHEAD, 8)).unwrap();
    assert!(network.run(list, Ps::MAX, |_| true));
    assert_eq!(network.under_way(), 0, "every packet has come to an end");
    network.counts()
}

/// `senders` hosts send host 0 a message of 100 packets each, all at once.
fn incast(senders: u32) -> List {
    let mut list = List::default();
    for from in 1..=senders {
        list.add(0, from, 0, 100 * 4096);
    }
    list
}

fn star(switching: Switching) -> Make {
    Make { shape: Some(Shape::Star { hosts: 17 }), switching, seed: 1, ..Make::default() }
}

#[test]
fn without_room_packets_are_dropped_and_a_buffer_is_never_overfull() {
    let buffer = 1 << 20;
    let switching = Switching { buffer, alpha: 1e9, ecn: None, ..Switching::default() };
    let mut list = incast(16);
    let counts = run(&star(switching), &mut list);
    assert!(counts.dropped > 0 && counts.gone == counts.dropped, "{counts:?}");
    assert!(counts.fullest <= buffer && counts.fullest > buffer - 4200, "{counts:?}");
    // All that came in while the port sent one in sixteen, less what the buffer holds at the end.
    let kept = 1600 - counts.dropped;
    let expected = 100 + buffer / 4200;
    assert!(kept.abs_diff(expected) <= 3, "{kept} of 1600 kept, {expected} expected");
}

#[test]
fn a_queue_has_its_share_of_what_is_free() {
    let buffer = 1 << 20;
    let switching = Switching { buffer, alpha: 0.25, ecn: None, ..Switching::default() };
    let counts = run(&star(switching), &mut incast(16));
    // q = (buffer - q) / 4.
    let share = buffer / 5;
    assert!(counts.fullest.abs_diff(share) <= 4200, "{counts:?}, share {share}");
}

#[test]
fn a_pause_keeps_everything() {
    for (shape, senders) in [
        (Shape::Star { hosts: 17 }, 16),
        (Shape::FatTree { k: 4 }, 15),
        (Shape::LeafSpine { leaves: 4, hosts: 4, spines: 4 }, 15),
    ] {
        let switching = Switching { buffer: 4 << 20, ecn: None, pfc: true, ..Switching::default() };
        let make = Make { shape: Some(shape), switching, seed: 1, ..Make::default() };
        let mut list = incast(senders);
        let counts = run(&make, &mut list);
        assert_eq!((counts.dropped, list.open()), (0, 0), "{shape:?}");
        assert!(counts.pauses > 0, "{shape:?}: {counts:?}");
    }
}

#[test]
fn a_buffer_too_small_for_pauses_is_refused() {
    let switching = Switching { buffer: 100_000, pfc: true, ..Switching::default() };
    let error = Network::new(&star(switching), |_| Raw::new(4096, OVERHEAD, 1)).err();
    assert!(matches!(error, Some(MakeError::Headroom { ports: 17, .. })), "{error:?}");
}

#[test]
fn marks_follow_the_queue() {
    let ecn = Some(Ecn { least: 100_000, most: 300_000 });
    let few = run(&star(Switching { ecn, ..Switching::default() }), &mut incast(1));
    assert_eq!(few.marked, 0, "nothing waits");
    let many = run(&star(Switching { ecn, ..Switching::default() }), &mut incast(16));
    // In the time of a packet 16 come and one goes. Marks begin at 24 that wait and are certain
    // at 72, so that all are marked but some 48 and the three that went meanwhile.
    assert!(many.marked.abs_diff(1600 - 51) <= 8, "{many:?}");
}

#[test]
fn payload_is_cut_off_where_it_has_no_room() {
    let switching = Switching { buffer: 1 << 20, alpha: 0.1, trim: true, ecn: None, ..Switching::default() };
    let mut list = incast(16);
    let counts = run(&star(switching), &mut list);
    assert_eq!(counts.dropped, 0);
    assert!(counts.trimmed > 1000 && counts.gone == counts.trimmed, "{counts:?}");
}

#[test]
fn control_goes_in_front_where_it_may() {
    let took = |control_first| {
        let mut list = incast(15);
        // When a thousand packets wait for host 0's port, from a host with nothing else to send.
        let late = list.add(6_000_000, 16, 0, 0);
        let switching = Switching { control_first, ecn: None, ..Switching::default() };
        run(&star(switching), &mut list);
        let record = list.records[late as usize];
        record.delivered.unwrap() - record.posted
    };
    let (first, last) = (took(true), took(false));
    // In front it waits for the packet that is being sent at most, twice.
    assert!(first < 2 * 500_000 + 4 * 84_000, "{first}");
    assert!(last > 10 * first, "{last} behind all that waits");
}

#[test]
fn a_dead_link_loses_packets_until_it_is_known_and_again_not_after() {
    let shape = Shape::LeafSpine { leaves: 2, hosts: 1, spines: 2 };
    // Port 3: the first leaf's way to the first spine.
    let at = 1_000_000_000;
    let known_after = 50_000_000;
    let list = vec![Fault { at, port: 3, up: false }, Fault { at: 2 * at, port: 3, up: true }];
    let faults = Faults { list, known_after };
    let make = Make { shape: Some(shape), faults, seed: 1, ..Make::default() };
    let mut list = List::default();
    for number in 0..30_000 {
        list.add(number * 100_000, 0, 1, 4096);
    }
    let counts = run(&make, &mut list);
    let lost: Vec<Ps> =
        list.records.iter().filter(|record| record.delivered.is_none()).map(|record| record.posted).collect();
    assert_eq!(lost.len() as u64, counts.severed);
    // About half of what was sent in the 50 us.
    assert!((200..300).contains(&lost.len()), "{}", lost.len());
    let way = Links::default().host_delay + Links::default().fabric_delay;
    assert!(lost.iter().all(|&posted| posted + 2 * way > at && posted < at + known_after), "{lost:?}");
}

#[test]
fn a_flapping_link_is_a_list_of_faults() {
    let faults = Faults::flapping(7, 100, 1000, 400, 50, 10);
    let ups: Vec<_> = faults.list.iter().map(|fault| (fault.at, fault.up)).collect();
    assert_eq!(ups, [(100, false), (150, true), (500, false), (550, true), (900, false), (950, true)]);
}

#[test]
fn faults_at_ports_that_are_not_there_are_refused() {
    let faults = Faults { list: vec![Fault { at: 0, port: 99, up: false }], known_after: 0 };
    let make = Make { faults, ..star(Switching::default()) };
    let error = Network::new(&make, |_| Raw::new(4096, OVERHEAD, 1)).err();
    assert_eq!(error, Some(MakeError::NoPort(99, 34)));
}
