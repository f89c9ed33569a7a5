//! All kinds of traffic over the model, on networks that lose.

use std::collections::BTreeMap;

use tessera_abi::params::NIC128;
use tessera_abi::regs::Counter;
use tessera_net::counterpart::ideal::Ideal;
use tessera_net::fabric::{Losses, Rate};
use tessera_net::network::{Make, Network};
use tessera_net::stats;
use tessera_net::tessera::{Options as Speech, Tessera};
use tessera_net::topology::Shape;
use tessera_net::traffic::allreduce::{Halving, Ring, Tree};
use tessera_net::traffic::alltoall::{AllToAll, Experts, Mixture};
use tessera_net::traffic::both::Both;
use tessera_net::traffic::copies::Copies;
use tessera_net::traffic::course::{Between, Course, Options};
use tessera_net::traffic::pairs::{self, Pairs, Turn};
use tessera_net::traffic::patterns::{permutation, Incast, Receiver};
use tessera_net::traffic::plan::{Group, Plan};
use tessera_net::traffic::poisson::{self, Poisson};
use tessera_net::traffic::replay::Replay;
use tessera_net::traffic::sizes::Published;
use tessera_net::traffic::trace::Trace;
use tessera_net::traffic::{Act, Traffic};
use tessera_net::transport::{Done, End, Message};
use tessera_net::Ps;

/// Eight hosts on two tiers that lose one packet of a hundred.
fn lossy() -> Make {
    let losses = Losses { uniform: 0.01, ..Losses::default() };
    Make {
        shape: Some(Shape::LeafSpine { leaves: 2, hosts: 4, spines: 2 }),
        losses,
        seed: 3,
        ..Make::default()
    }
}

fn run(make: &Make, traffic: &mut impl Traffic) -> Network<Tessera> {
    let speech = Speech::for_network(&NIC128, Rate::of_gbps(400).unwrap(), 5_000_000);
    let mut network = Network::new(make, |host| Tessera::new(host, &speech).unwrap()).unwrap();
    assert!(network.run(traffic, 1_000_000_000_000, |_| true), "it ends");
    network
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Post(Message),
    Round(u32, u16, u16),
    Done(Done),
}

/// Traffic, and what it did and heard.
struct Watched<T> {
    inner: T,
    log: Vec<Event>,
}

impl<T: Traffic> Traffic for Watched<T> {
    fn next_at(&mut self) -> Option<Ps> {
        self.inner.next_at()
    }

    fn next(&mut self) -> Option<Act> {
        let act = self.inner.next();
        self.log.extend(act.map(|act| match act {
            Act::Post(message) => Event::Post(message),
            Act::Round { host, id, messages } => Event::Round(host, id, messages),
        }));
        act
    }

    fn done(&mut self, now: Ps, done: &Done) {
        self.log.push(Event::Done(*done));
        self.inner.done(now, done);
    }
}

fn watched<P: Plan>(plan: P, options: Options) -> (Watched<Course<P>>, Network<Tessera>) {
    let group = Group::all(plan.ranks());
    let inner = Course::new(plan, group, options).unwrap();
    let mut watched = Watched { inner, log: Vec::new() };
    let network = run(&lossy(), &mut watched);
    (watched, network)
}

/// It ends, each message is delivered once, and each host has sent and received so much.
fn ends<P: Plan>(plan: P, options: Options, bytes: &[(u64, u64)]) {
    let (Watched { inner: course, log }, _) = watched(plan, options);
    assert!(course.is_over());
    let book = &course.book;
    assert_eq!((book.delivered, book.failed, book.twice), (book.posted(), 0, 0));
    let found: Vec<(u64, u64)> = book.sent.iter().copied().zip(book.received.iter().copied()).collect();
    assert_eq!(found, bytes);
    let delivered =
        log.iter().filter(|event| matches!(event, Event::Done(done) if done.end == End::Delivered));
    assert_eq!(delivered.count() as u64, book.posted());
    // Rounds: told with the number of messages that come, before the first of them.
    let mut left = BTreeMap::new();
    for event in &log {
        match *event {
            Event::Round(host, id, messages) => assert!(left.insert((host, id), messages).is_none()),
            Event::Post(message) => {
                *left.get_mut(&(message.to, message.round.unwrap())).expect("told of it") -= 1;
            }
            Event::Done(_) => {}
        }
    }
    assert!(left.values().all(|&left| left == 0), "{left:?}");
}

#[test]
fn collectives_end_and_every_host_has_its_bytes() {
    for window in [None, Some(2)] {
        for between in [Between::Own, Between::Barrier] {
            let options = Options { iterations: 2, window, between, jitter: 1_000_000, ..Options::default() };
            // Twice 2 B (n - 1) / n.
            let even = vec![(2 * 14 * 10_000, 2 * 14 * 10_000); 8];
            ends(Ring::new(8, 80_000, 2).unwrap(), options, &even);
            ends(Halving::new(8, 80_000, 2).unwrap(), options, &even);
            ends(AllToAll::new(8, 10_000).unwrap(), options, &[(140_000, 140_000); 8]);
            // A rank's degree in the tree: root 1, 4 has two children and a parent, ...
            let degrees = [1, 1, 3, 1, 3, 1, 3, 1].map(|degree| (degree * 60_000, degree * 60_000));
            ends(Tree::new(8, 30_000, 3, false).unwrap(), options, &degrees);
        }
    }
    // Two rings of four.
    let rings = Copies::new(Ring::new(4, 40_000, 1).unwrap(), 2).unwrap();
    ends(rings, Options::default(), &[(60_000, 60_000); 8]);
    let incast = Incast::new(8, 7, 20_000, Receiver::Fixed(3), 1, 1).unwrap();
    let mut bytes = [(60_000, 0); 8];
    bytes[3] = (0, 420_000);
    let options = Options { iterations: 3, between: Between::Barrier, ..Options::default() };
    ends(incast, options, &bytes);
}

#[test]
fn a_step_of_a_ring_is_posted_after_the_one_before_has_come() {
    let options = Options { iterations: 2, ..Options::default() };
    let (Watched { log, .. }, _) = watched(Ring::new(8, 400_000, 3).unwrap(), options);
    let (mut messages, mut come, mut sent) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
    for event in log {
        match event {
            Event::Post(message) => {
                let step = message.round.unwrap();
                let sent = sent.entry((message.from, step)).or_insert(0);
                *sent += 1;
                let before =
                    step.checked_sub(1).map(|step| come.get(&(message.from, step)).copied().unwrap_or(0));
                assert!(before.is_none_or(|before| *sent <= before), "{message:?}: {sent} of {before:?}");
                messages.push(message);
            }
            Event::Done(done) if done.end == End::Delivered => {
                let message: Message = messages[done.id as usize];
                *come.entry((message.to, message.round.unwrap())).or_insert(0) += 1;
            }
            _ => {}
        }
    }
}

#[test]
fn layers_of_experts_end_and_depend() {
    let mixture = Mixture {
        experts: 2,
        top_k: 2,
        tokens: 64,
        skew: 1.0,
        dispatch_bytes: 700,
        combine_bytes: 1400,
        compute: 20_000,
        routings: 2,
        seed: 4,
    };
    let options = Options { iterations: 4, between: Between::Barrier, ..Options::default() };
    let (Watched { inner: course, .. }, _) = watched(Experts::new(8, &mixture).unwrap(), options);
    assert!(course.is_over());
    let (sent, received): (u64, u64) = (course.book.sent.iter().sum(), course.book.received.iter().sum());
    assert!(sent == received && course.book.failed == 0);
    for (record, mark) in course.book.records().zip(course.book.marks()) {
        let into = course.book.records().zip(course.book.marks());
        // A rank combines when all dispatched to it has come, and dispatches when all are through.
        let before = into.filter(|(_, other)| {
            if mark.into % 2 == 1 {
                other.into + 1 == mark.into && other.to == mark.from
            } else {
                other.into < mark.into
            }
        });
        let latest = before.filter_map(|(record, _)| record.delivered).max().unwrap_or(0);
        assert!(record.posted >= latest, "{record:?} {mark:?}");
    }
}

#[test]
fn rounds_pull_stragglers_in() {
    let pulls = |rounds| {
        let options = Options { iterations: 4, rounds, ..Options::default() };
        let (watched, network) = watched(AllToAll::new(8, 30_000).unwrap(), options);
        assert!(watched.inner.is_over());
        network.hosts().iter().map(|host| host.nic().counters().of(Counter::RoundPulls)).sum::<u32>()
    };
    assert!(pulls(true) > 0);
    assert_eq!(pulls(false), 0);
}

#[test]
fn a_seed_says_everything() {
    let times = |seed, network| {
        let options = Options { iterations: 2, jitter: 3_000_000, seed, ..Options::default() };
        let mut course = Course::new(Ring::new(8, 80_000, 1).unwrap(), Group::all(8), options).unwrap();
        run(&Make { seed: network, ..lossy() }, &mut course);
        course.book.records().copied().collect::<Vec<_>>()
    };
    let first = times(1, 1);
    assert_eq!(first, times(1, 1));
    assert_ne!(first, times(2, 1));
    assert_ne!(first, times(1, 2));
}

#[test]
fn an_open_loop_is_carried_and_nothing_is_faster_than_it_can_be() {
    let make = Make { losses: Losses::default(), ..lossy() };
    let sizes = Published::Hadoop.sizes().unwrap();
    let until = 4_000_000_000;
    let options = poisson::Options { load: 0.3, until, ..poisson::Options::default() };
    let mut poisson = Poisson::new(8, sizes, options).unwrap();
    run(&make, &mut poisson);
    let book = &poisson.book;
    assert_eq!((book.delivered, book.failed, book.open()), (book.posted(), 0, 0));
    let offered: u64 = book.records().map(|record| record.message.bytes as u64).sum();
    let carried = stats::goodput(book.records(), 0, until);
    assert!((carried / stats::gbps(offered, until) - 1.0).abs() < 0.05, "{carried}");
    let ideal = Ideal::new(&make).unwrap();
    let least = |message: &Message| ideal.message(message);
    for record in book.records() {
        let took = record.delivered.unwrap() - record.posted;
        assert!(took >= least(&record.message), "{record:?} takes {} at least", least(&record.message));
    }
    let classes = stats::slowdowns(book.records(), &[1000, 100_000, 10_000_000], least);
    let counts: Vec<u64> = classes.iter().map(|class| class.slowdown.map_or(0, |slow| slow.count)).collect();
    assert_eq!(counts.iter().sum::<u64>(), book.posted());
    let share = counts[0] as f64 / book.posted() as f64;
    assert!((share - 0.6).abs() < 0.03 && counts[3] == 0, "{counts:?}");
    let short = classes[0].slowdown.unwrap();
    assert!(short.p50 < 2.0 && short.p50 <= short.p99 && short.p99 <= short.max, "{short:?}");
    assert_eq!(book.times.count(), book.posted());
}

#[test]
fn very_many_peers_are_talked_to_in_turn() {
    for (peers, turn) in [(16, Turn::InTurn), (100_000, Turn::InTurn), (1000, Turn::AtRandom)] {
        let options =
            pairs::Options { peers, turn, messages: 4000, keep: false, ..pairs::Options::default() };
        let mut pairs = Pairs::new(8, &Group::of(vec![2, 6], 8).unwrap(), options).unwrap();
        run(&lossy(), &mut pairs);
        assert!(pairs.is_over());
        assert_eq!((pairs.book.delivered, pairs.book.failed), (8000, 0));
        assert_eq!(pairs.book.sent, [0, 0, 4000 * 4096, 0, 0, 0, 4000 * 4096, 0]);
        // Each of the two keeps its link busy.
        let goodput = stats::gbps(8000 * 4096, pairs.book.last);
        assert!(goodput > 100.0, "{peers}: {goodput} Gb/s");
    }
}

#[test]
fn the_traces_that_come_with_it_are_replayed() {
    let traces = [
        (include_str!("../traces/pipeline.csv"), "opt"),
        (include_str!("../traces/data_parallel.csv"), "step.3"),
    ];
    for (text, last) in traces {
        let mut replay = Replay::new(Trace::parse(text, 8).unwrap(), 1_000_000);
        run(&lossy(), &mut replay);
        let ended = replay.ended().expect("all nodes are over");
        let nodes = replay.trace().nodes();
        let place = nodes.iter().position(|node| node.id == last).unwrap();
        // Others may end after it, such as messages that nothing waits for.
        assert!(nodes.iter().all(|node| !node.after.contains(&(place as u32))), "{last} is waited for");
        assert!(replay.times[place].ended <= Some(ended));
        for (node, times) in nodes.iter().zip(&replay.times) {
            for &before in &node.after {
                assert!(times.began >= replay.times[before as usize].ended, "{node:?}");
            }
            assert!(times.ended.unwrap() >= times.began.unwrap() + node.delay);
        }
        let bytes: u64 = replay.book.received.iter().sum();
        assert!(bytes > 0 && bytes == replay.book.sent.iter().sum() && replay.book.failed == 0);
    }
}

#[test]
fn a_collective_among_others_traffic_ends_later() {
    let ring = || {
        let options = Options { iterations: 3, ..Options::default() };
        Course::new(Ring::new(8, 800_000, 1).unwrap(), Group::all(8), options).unwrap()
    };
    let mut alone = ring();
    run(&lossy(), &mut alone);
    let mut both = Both { first: ring(), second: permutation(8, 1 << 20, 16, 0, 5).unwrap() };
    run(&lossy(), &mut both);
    assert!(both.first.is_over() && both.second.open() == 0);
    let last = |course: &Course<Ring>| course.iterations.last().unwrap().ended.unwrap();
    assert!(last(&both.first) > last(&alone));
}
