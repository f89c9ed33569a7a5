//! Counterparts that spray, on whole networks: every message once, whatever is lost, and as
//! fast as the links allow.

use std::fmt::Debug;

use tessera_net::counterpart::ideal::Ideal;
use tessera_net::counterpart::{falcon, srd, uccl, Options, OptionsError};
use tessera_net::fabric::{Faults, Losses, Switching};
use tessera_net::network::{Counts, Make, Network};
use tessera_net::topology::Shape;
use tessera_net::traffic::{Act, List, Traffic};
use tessera_net::transport::{Done, End, Tally, Transport};
use tessera_net::Ps;

const US: Ps = 1_000_000;
/// Hosts of the fat tree of 8 ports per switch.
const HOSTS: u32 = 128;
/// Picoseconds that a byte takes at 400 Gb/s.
const PER_BYTE: Ps = 20;

/// A list that counts how often each message has been delivered.
struct Counted {
    list: List,
    delivered: Vec<u32>,
}

impl Traffic for Counted {
    fn next_at(&mut self) -> Option<Ps> {
        self.list.next_at()
    }

    fn next(&mut self) -> Option<Act> {
        self.list.next()
    }

    fn done(&mut self, now: Ps, done: &Done) {
        if done.end == End::Delivered {
            self.delivered[done.id as usize] += 1;
        }
        self.list.done(now, done);
    }
}

/// What a run came to.
#[derive(Debug)]
struct Outcome {
    name: &'static str,
    /// When the last message was delivered.
    end: Ps,
    counts: Counts,
    tally: Tally,
}

fn run<T: Transport, E: Debug>(
    name: &'static str,
    make: &Make,
    list: List,
    mut host: impl FnMut(u32) -> Result<T, E>,
) -> Outcome {
    let ideal = Ideal::new(make).unwrap();
    let mut traffic = Counted { delivered: vec![0; list.records.len()], list };
    let mut network = Network::new(make, |number| host(number).unwrap()).unwrap();
    assert!(network.run(&mut traffic, 1_000_000 * US, |_| true), "{name}: still at it after a second");
    assert_eq!((traffic.list.open(), network.under_way()), (0, 0), "{name}");
    assert!(traffic.delivered.iter().all(|&times| times == 1), "{name}: not once each");
    let mut end = 0;
    for record in &traffic.list.records {
        let delivered = record.delivered.expect("none is open");
        let took = delivered - record.posted;
        assert!(took >= ideal.message(&record.message), "{name}: {record:?} is faster than can be");
        assert!(record.acknowledged >= record.delivered, "{name}: {record:?}");
        end = end.max(delivered);
    }
    Outcome { name, end, counts: network.counts(), tally: network.tally() }
}

/// All of them on the same network with the same messages.
fn each(make: &Make, list: &List) -> [Outcome; 3] {
    let options = Options::for_network(400, make.round_trip(4226, 126).unwrap());
    [
        run("falcon", make, list.clone(), |number| falcon::host(number, &options)),
        run("uccl", make, list.clone(), |number| uccl::host(number, &options, uccl::COSTS)),
        run("srd", make, list.clone(), |number| srd::host(number, &options)),
    ]
}

fn tree() -> Make {
    Make { shape: Some(Shape::FatTree { k: 8 }), seed: 1, ..Make::default() }
}

fn lossy(losses: Losses) -> Make {
    Make { losses, ..tree() }
}

/// One message from the first host to the last.
fn lone(bytes: u32) -> List {
    let mut list = List::default();
    list.add(0, 0, HOSTS - 1, bytes);
    list
}

/// Each host sends one message to a host of another pod and receives one.
fn permutation(bytes: u32) -> List {
    let mut list = List::default();
    for from in 0..HOSTS {
        list.add(0, from, (from + 67) % HOSTS, bytes);
    }
    list
}

/// Time that so many payload bytes take at least.
fn ideal(bytes: u32) -> Ps {
    bytes as Ps * PER_BYTE
}

/// All of them reach so much of the line's rate, of payload, in per cent, until the last
/// message is there.
fn reach(outcomes: &[Outcome; 3], bytes: u32, least: [Ps; 3]) {
    for (outcome, least) in outcomes.iter().zip(least) {
        let share = 100 * ideal(bytes) / outcome.end;
        assert!(share >= least, "{share} %: {outcome:?}");
    }
}

#[test]
fn a_lone_flow_has_the_line() {
    let bytes = 16 << 20;
    let outcomes = each(&tree(), &lone(bytes));
    reach(&outcomes, bytes, [95; 3]);
    for outcome in outcomes {
        assert_eq!((outcome.tally.again, outcome.tally.timeouts), (0, 0), "{outcome:?}");
    }
}

#[test]
fn a_lone_flow_keeps_the_line_while_packets_are_lost() {
    let bytes = 16 << 20;
    for (uniform, least) in [(0.001, [93, 85, 93]), (0.01, [88, 70, 88])] {
        let outcomes = each(&lossy(Losses { uniform, ..Losses::default() }), &lone(bytes));
        reach(&outcomes, bytes, least);
        for outcome in outcomes {
            // What is lost goes again, and hardly anything else.
            let lost = outcome.counts.lost;
            assert!(lost > 0 && outcome.tally.again <= lost + 5, "{outcome:?}");
        }
    }
}

#[test]
fn a_permutation_repeats_little_for_nothing() {
    let bytes = 2 << 20;
    let outcomes = each(&tree(), &permutation(bytes));
    reach(&outcomes, bytes, [60; 3]);
    for outcome in outcomes {
        assert_eq!(outcome.counts.gone, 0, "{outcome:?}");
        assert!(outcome.tally.again * 100 < outcome.tally.sent, "{outcome:?}");
    }
}

/// 21 us of payload: a loss in one of 128 tails is what the last message waits for.
#[test]
fn a_permutation_survives_loss_one_by_one_and_in_bursts() {
    let bytes = 1 << 20;
    let uniform = |uniform| Losses { uniform, ..Losses::default() };
    let bursts = Losses { bursts: 0.0005, burst_len: 20.0, ..Losses::default() };
    let cases = [(uniform(0.001), [36, 16, 32]), (uniform(0.01), [26, 10, 28]), (bursts, [14, 14, 14])];
    for (losses, least) in cases {
        let outcomes = each(&lossy(losses), &permutation(bytes));
        reach(&outcomes, bytes, least);
        assert!(outcomes.iter().all(|outcome| outcome.counts.lost > 0));
    }
}

#[test]
fn thirty_two_to_one_keeps_the_last_link_busy() {
    let bytes = 256 << 10;
    let mut list = List::default();
    for sender in 1..=32 {
        list.add(0, sender * 3 + 16, 0, bytes);
    }
    let outcomes = each(&tree(), &list);
    reach(&outcomes, 32 * bytes, [90; 3]);
    for outcome in outcomes {
        assert!(outcome.tally.again * 100 < outcome.tally.sent, "{outcome:?}");
    }
    // With a buffer that does not hold the first windows of all.
    let small = Switching { buffer: 2 << 20, ..Switching::default() };
    let outcomes = each(&Make { switching: small, ..tree() }, &list);
    reach(&outcomes, 32 * bytes, [50, 32, 26]);
    assert!(outcomes.iter().all(|outcome| outcome.counts.gone > 0));
}

#[test]
fn a_link_that_flaps_is_left_for_others() {
    let bytes = 1 << 20;
    // The first link up of the first edge switch, whose four hosts' ports come first.
    let port = HOSTS + 4;
    let faults = Faults::flapping(port, 5 * US, 2000 * US, 40 * US, 20 * US, 1000 * US);
    let outcomes = each(&Make { faults, ..tree() }, &permutation(bytes));
    reach(&outcomes, bytes, [40, 9, 38]);
    assert!(outcomes.iter().all(|outcome| outcome.counts.severed > 0));
}

#[test]
fn short_messages_of_many_pairs_all_come() {
    let mut list = List::default();
    for step in 1..HOSTS {
        for from in 0..HOSTS {
            list.add((step / 16) as Ps * US, from, (from + step) % HOSTS, 1 + 700 * (step % 13));
        }
    }
    for losses in [Losses::default(), Losses { uniform: 0.01, ..Losses::default() }] {
        for outcome in each(&lossy(losses), &list) {
            assert!(outcome.end < 500 * US, "{}: {outcome:?}", outcome.name);
        }
    }
}

#[test]
fn networks_too_long_for_a_bitmap_are_refused() {
    let of = |round_trip| {
        let options = Options::for_network(400, round_trip);
        [
            falcon::host(0, &options).err(),
            uccl::host(0, &options, uccl::COSTS).err(),
            srd::host(0, &options).err(),
        ]
    };
    assert_eq!(of(20 * US), [None; 3]);
    assert!(of(50 * US).iter().all(|error| matches!(error, Some(OptionsError::Window(_)))));
    assert_eq!(of(0), [Some(OptionsError::Zero); 3]);
}

#[test]
fn a_seed_gives_one_outcome() {
    let outcomes = || each(&lossy(Losses { uniform: 0.01, ..Losses::default() }), &permutation(64 << 10));
    for (one, other) in outcomes().iter().zip(&outcomes()) {
        assert_eq!((one.end, one.counts, one.tally), (other.end, other.counts, other.tally));
    }
}
