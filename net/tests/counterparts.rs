//! Transports with connections, on whole networks: everything is delivered once, none is
//! faster than can be, and each rule costs what its papers say it does.

use tessera_net::counterpart::ideal::Ideal;
use tessera_net::counterpart::spread::Balance;
use tessera_net::counterpart::{go_back_n, irn, qp_cache};
use tessera_net::counterpart::{ControlKind, Options};
use tessera_net::fabric::{Ecn, Faults, Links, Losses, Rate, Switching};
use tessera_net::network::{Counts, Make, Network};
use tessera_net::tessera::{self, Tessera};
use tessera_net::topology::Shape;
use tessera_net::traffic::{Act, List, Traffic};
use tessera_net::transport::{Done, End, Tally, Transport};
use tessera_net::Ps;

const US: Ps = 1_000_000;

/// A list that counts how often each message has ended, of so many processes in turn.
struct Counted {
    list: List,
    processes: u32,
    delivered: Vec<u32>,
    acknowledged: Vec<u32>,
}

impl Traffic for Counted {
    fn next_at(&mut self) -> Option<Ps> {
        self.list.next_at()
    }

    fn next(&mut self) -> Option<Act> {
        let mut act = self.list.next()?;
        if let Act::Post(message) = &mut act {
            message.process = message.id % self.processes;
        }
        Some(act)
    }

    fn done(&mut self, now: Ps, done: &Done) {
        match done.end {
            End::Delivered => self.delivered[done.id as usize] += 1,
            End::Acknowledged => self.acknowledged[done.id as usize] += 1,
            End::Failed => panic!("nobody gives up"),
        }
        self.list.done(now, done);
    }
}

struct Outcome {
    counts: Counts,
    tally: Tally,
    list: List,
    end: Ps,
}

/// Runs a list to its end; all of it must end once, and none too early.
fn run<T: Transport>(make: &Make, list: List, processes: u32, mut host: impl FnMut(u32) -> T) -> Outcome {
    let ideal = Ideal::new(make).unwrap();
    let bound = ideal.all(list.records.iter().map(|record| (record.posted, record.message)));
    let messages = list.records.len();
    let mut traffic =
        Counted { list, processes, delivered: vec![0; messages], acknowledged: vec![0; messages] };
    let mut network = Network::new(make, &mut host).unwrap();
    assert!(network.run(&mut traffic, 1_000_000 * US, |_| true), "still at it after a second");
    assert_eq!(network.under_way(), 0);
    assert!(traffic.delivered.iter().all(|&times| times == 1), "each delivered once");
    assert!(traffic.acknowledged.iter().all(|&times| times == 1), "each acknowledged once");
    let list = traffic.list;
    for record in &list.records {
        let took = record.delivered.unwrap() - record.posted;
        assert!(took >= ideal.message(&record.message), "{record:?} is faster than can be");
        assert!(record.acknowledged >= record.delivered, "{record:?}");
    }
    let end = list.records.iter().filter_map(|record| record.delivered).max().unwrap();
    assert!(end >= bound, "{end} is before {bound}");
    Outcome { counts: network.counts(), tally: network.tally(), list, end }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    GoBackN,
    Irn,
}

fn run_kind(kind: Kind, make: &Make, list: List, options: &Options) -> Outcome {
    match kind {
        Kind::GoBackN => run(make, list, 1, |host| go_back_n::host(host, options).unwrap()),
        Kind::Irn => run(make, list, 1, |host| irn::host(host, options).unwrap()),
    }
}

fn options(make: &Make) -> Options {
    Options::for_network(make.links.host_gbps, make.round_trip(4200, 90).unwrap())
}

fn make(shape: Shape) -> Make {
    Make { shape: Some(shape), seed: 5, ..Make::default() }
}

const LEAF_SPINE: Shape = Shape::LeafSpine { leaves: 4, hosts: 4, spines: 4 };

/// Everybody to everybody, of all sizes around that of a packet.
fn all_to_all(hosts: u32, bytes: u32) -> List {
    let mut list = List::default();
    for step in 1..hosts {
        for from in 0..hosts {
            let to = (from + step) % hosts;
            let odd = [0, 1, 4095, 4096, 4097][(from + step) as usize % 5];
            list.add(step as Ps * 200_000, from, to, odd);
            list.add(step as Ps * 200_000, from, to, bytes + odd);
        }
    }
    list
}

fn lossy() -> [Losses; 3] {
    [
        Losses::default(),
        Losses { uniform: 0.01, ..Losses::default() },
        Losses { bursts: 0.002, burst_len: 8.0, ..Losses::default() },
    ]
}

#[test]
fn every_message_is_delivered_once() {
    for kind in [Kind::GoBackN, Kind::Irn] {
        for shape in [Shape::Star { hosts: 5 }, LEAF_SPINE, Shape::FatTree { k: 4 }] {
            for losses in lossy() {
                let few = qp_cache::Size { contexts: 8, latency: US, at_once: 2 };
                for (control, cache) in [
                    (ControlKind::Window, None),
                    (ControlKind::Dcqcn, None),
                    (ControlKind::Window, Some(few)),
                ] {
                    let make = Make { losses, ..make(shape) };
                    let hosts = Network::new(&make, |_| idle()).unwrap().topology().hosts();
                    let options = Options { control, cache, ..options(&make) };
                    let outcome = run_kind(kind, &make, all_to_all(hosts, 40_000), &options);
                    let Outcome { counts, tally, .. } = outcome;
                    assert!(tally.again >= counts.gone, "{kind:?} {shape:?} {losses:?} {control:?}");
                    assert!(tally.again == 0 || losses != Losses::default());
                    assert_eq!(tally.misses > 0, cache.is_some());
                }
            }
        }
    }
}

fn idle() -> go_back_n::GoBackN {
    go_back_n::host(0, &Options::for_network(400, 8 * US)).unwrap()
}

/// Ours is held to the same bounds.
#[test]
fn our_own_is_not_faster_than_can_be_either() {
    let config = &tessera_abi::params::NIC256;
    for shape in [Shape::Star { hosts: 5 }, LEAF_SPINE] {
        let make = make(shape);
        let trip = make.round_trip(4200, 120).unwrap();
        let options = tessera::Options::for_network(config, Rate::of_gbps(400).unwrap(), trip);
        let hosts = Network::new(&make, |_| idle()).unwrap().topology().hosts();
        let outcome = run(&make, all_to_all(hosts, 40_000), 1, |host| Tessera::new(host, &options).unwrap());
        assert_eq!(outcome.list.open(), 0);
    }
}

/// The same again is the same to the picosecond.
#[test]
fn a_run_is_repeated_exactly() {
    let make = Make { losses: lossy()[1], ..make(LEAF_SPINE) };
    let balance = Balance::Spray { paths: 64 };
    let options = Options { balance, control: ControlKind::Dcqcn, ..options(&make) };
    for kind in [Kind::GoBackN, Kind::Irn] {
        let [a, b] = [0; 2].map(|_| run_kind(kind, &make, all_to_all(16, 100_000), &options));
        assert_eq!((a.counts, a.tally, a.list.records), (b.counts, b.tally, b.list.records));
    }
}

/// With pauses nothing is dropped, nothing is sent twice, and the end comes: no circle of
/// buffers waits for itself.
#[test]
fn pauses_lose_nothing_and_end() {
    let switching = Switching { buffer: 2 << 20, ecn: None, pfc: true, ..Switching::default() };
    for shape in [LEAF_SPINE, Shape::FatTree { k: 4 }] {
        for control in [ControlKind::Window, ControlKind::Dcqcn] {
            let ecn = (control == ControlKind::Dcqcn).then_some(Ecn { least: 100_000, most: 400_000 });
            let make = Make { switching: Switching { ecn, ..switching }, ..make(shape) };
            let options = Options { control, timeouts: [10_000 * US; 2], ..options(&make) };
            let mut list = List::default();
            // All to all, and all to one beside it.
            for step in 1..16 {
                for from in 0..16 {
                    list.add(0, from, (from + step) % 16, 200_000);
                }
            }
            for from in 1..16 {
                list.add(50 * US, from, 0, 1_000_000);
            }
            for kind in [Kind::GoBackN, Kind::Irn] {
                let Outcome { counts, tally, .. } = run_kind(kind, &make, list.clone(), &options);
                assert!(counts.pauses > 0, "{counts:?}");
                assert_eq!((counts.dropped, tally.again, tally.twice, tally.timeouts), (0, 0, 0, 0));
            }
        }
    }
}

/// One in a hundred lost: most of what go-back-N sends is sent in vain.
#[test]
fn go_back_n_pays_for_a_loss_with_a_window_and_irn_with_a_packet() {
    let bytes = 64 << 20;
    let alone = bytes as f64 * 8000.0 / 400.0;
    let mut shares = Vec::new();
    for kind in [Kind::GoBackN, Kind::Irn] {
        for uniform in [0.0, 0.01] {
            let losses = Losses { uniform, ..Losses::default() };
            let make = Make { losses, ..make(LEAF_SPINE) };
            let mut list = List::default();
            list.add(0, 0, 15, bytes);
            let outcome = run_kind(kind, &make, list, &options(&make));
            let goodput = alone / outcome.end as f64;
            let again = outcome.tally.again as f64 / outcome.tally.sent as f64;
            println!("{kind:?} at {uniform} lost: goodput {goodput:.3}, again {again:.3}");
            shares.push((goodput, again));
        }
    }
    let [(gbn, _), (gbn_lossy, gbn_again), (irn, _), (irn_lossy, irn_again)] = shares[..] else { panic!() };
    assert!(gbn > 0.95 && irn > 0.95, "{shares:?}");
    assert!(gbn_lossy < 0.6 && gbn_again > 0.3, "{shares:?}");
    assert!(irn_lossy > 0.75 && irn_again < 0.03, "{shares:?}");
}

/// Ways of different length: spraying reorders, and both take that for loss.
#[test]
fn spraying_is_loss_to_rules_that_expect_order() {
    let links = Links { skew: 2 * US, ..Links::default() };
    let make = Make { links, ..make(LEAF_SPINE) };
    let mut again = Vec::new();
    for kind in [Kind::GoBackN, Kind::Irn] {
        let balances =
            [Balance::Ecmp, Balance::flowlets(10 * US), Balance::Spray { paths: 64 }, Balance::recycle(64)];
        for balance in balances {
            let mut list = List::default();
            for from in 0..4 {
                list.add(0, from, from + 12, 4 << 20);
            }
            let options = Options { balance, ..options(&make) };
            let outcome = run_kind(kind, &make, list, &options);
            println!("{kind:?} {balance:?}: {} us, {:?}", outcome.end / US, outcome.tally);
            again.push(outcome.tally.again as f64 / outcome.tally.sent as f64);
        }
    }
    let [_, _, gbn_spray, ..] = again[..] else { panic!() };
    assert_eq!((again[0], again[1], again[4], again[5]), (0.0, 0.0, 0.0, 0.0), "{again:?}");
    assert!(gbn_spray > 0.5, "{again:?}");
    assert!(again[6] > 0.2 && again[6] < gbn_spray, "{again:?}");
}

/// DCQCN is marked far less than windows that fill the queue, for a little of the rate.
#[test]
fn marks_slow_an_incast_down_and_it_finds_back() {
    let make = make(Shape::Star { hosts: 9 });
    let bytes = 16 << 20;
    let mut outcomes = Vec::new();
    for control in [ControlKind::Window, ControlKind::Dcqcn] {
        let mut list = List::default();
        for from in 1..9 {
            list.add(0, from, 0, bytes);
        }
        let options = Options { control, ..options(&make) };
        let Outcome { counts, tally, end, .. } = run_kind(Kind::GoBackN, &make, list, &options);
        println!("{control:?}: {} us, {} marked of {}", end / US, counts.marked, tally.sent);
        assert_eq!(tally.again, 0, "nothing is taken for lost");
        outcomes.push((counts.marked, end));
    }
    let alone = 8 * bytes as Ps * 20;
    assert!(outcomes[0].1 < alone * 21 / 20, "{outcomes:?}");
    assert!(outcomes[1].1 < alone * 14 / 10 && outcomes[1].0 < outcomes[0].0 / 3, "{outcomes:?}");
}

/// More queue pairs in turn than a NIC holds cost what was measured, see `qp_cache`.
#[test]
fn contexts_that_do_not_fit_cost_what_was_measured() {
    let make = make(Shape::Star { hosts: 2 });
    let rate = |cache, pairs: u32| {
        let mut list = List::default();
        let messages = 100_000;
        for _ in 0..messages {
            list.add(0, 0, 1, 4096);
        }
        let options = Options { cache: Some(cache), ..options(&make) };
        let Outcome { tally, end, .. } =
            run(&make, list, pairs, |host| go_back_n::host(host, &options).unwrap());
        let rate = messages as f64 * 4096.0 * 8000.0 / end as f64;
        println!("{pairs} pairs: {rate:.0} Gb/s, {} misses, {} bytes", tally.misses, tally.state);
        assert!(tally.state <= 2048 * 407);
        if pairs <= 512 {
            assert_eq!(tally.misses, 2 * pairs as u64, "one each at either end");
        }
        rate
    };
    use qp_cache::Size;
    for (cache, few, many, measured) in
        [(Size::COMMERCIAL, 64, 16_384, 0.46), (Size::RECENT, 60, 60_000, 0.17)]
    {
        let alone = rate(cache, few);
        let lost = 1.0 - rate(cache, many) / alone;
        assert!((lost - measured).abs() < 0.03, "{cache:?}: {lost:.3} lost");
        assert!(rate(cache, 512) > alone * 0.95);
    }
}

/// A link that comes and goes: whoever went by it finds another way, or waits.
#[test]
fn a_flapping_link_delays_but_loses_nothing() {
    let mut base = make(LEAF_SPINE);
    let leaf = Network::new(&base, |_| idle()).unwrap().topology().ports_up(0).start;
    base.faults = Faults::flapping(leaf, 5 * US, 400 * US, 50 * US, 20 * US, 10 * US);
    for kind in [Kind::GoBackN, Kind::Irn] {
        for balance in [Balance::Ecmp, Balance::flowlets(20 * US), Balance::recycle(64)] {
            let options = Options { balance, ..options(&base) };
            let outcome = run_kind(kind, &base, all_to_all(16, 400_000), &options);
            assert!(outcome.counts.severed > 0 && outcome.tally.again > 0, "{kind:?} {balance:?}");
        }
    }
}
