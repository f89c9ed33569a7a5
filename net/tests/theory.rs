//! Cases with a known answer, within a hundredth of it or exactly.

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tessera_net::fabric::{Latency, Links, Losses, Switching};
use tessera_net::network::{Make, Network};
use tessera_net::raw::Raw;
use tessera_net::topology::Shape;
use tessera_net::traffic::{Act, List, Traffic};
use tessera_net::transport::{Done, Message};
use tessera_net::Ps;

const PAYLOAD: u32 = 4096;
const OVERHEAD: u32 = 104;
/// Of a packet at 400 Gb/s.
const SERIALISED: Ps = (PAYLOAD + OVERHEAD) as Ps * 20;

fn plenty() -> Switching {
    Switching { buffer: 1 << 40, ecn: None, ..Switching::default() }
}

/// Single packets at random times, from any host but host 0 to host 0.
struct Poisson {
    rng: Pcg64Mcg,
    hosts: u32,
    /// Mean time between two.
    gap: f64,
    left: u32,
    at: Ps,
    posted: Vec<Ps>,
    waited: f64,
    ended: u32,
    unloaded: Ps,
}

impl Poisson {
    fn draw(&mut self) -> f64 {
        (self.rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }
}

impl Traffic for Poisson {
    fn next_at(&mut self) -> Option<Ps> {
        (self.left > 0).then_some(self.at)
    }

    fn next(&mut self) -> Option<Act> {
        self.left -= 1;
        let id = self.posted.len() as u32;
        self.posted.push(self.at);
        let from = 1 + (self.draw() * (self.hosts - 1) as f64) as u32;
        self.at += (-(1.0 - self.draw()).ln() * self.gap) as Ps;
        Some(Act::Post(Message { id, from, to: 0, bytes: PAYLOAD, round: None, process: 0 }))
    }

    fn done(&mut self, now: Ps, done: &Done) {
        self.waited += (now - self.posted[done.id as usize] - self.unloaded) as f64;
        self.ended += 1;
    }
}

/// A queue of Poisson arrivals and a constant service time (M/D/1): the mean wait is
/// load / (2 (1 - load)) service times.
#[test]
fn the_wait_at_a_port_is_that_of_m_d_1() {
    let hosts = 513;
    for (load, packets) in [(0.5, 3_000_000), (0.8, 3_000_000)] {
        let seed = 7;
        let make = Make { shape: Some(Shape::Star { hosts }), switching: plenty(), seed, ..Make::default() };
        let links = Links::default();
        let mut network = Network::new(&make, |_| Raw::new(PAYLOAD, OVERHEAD, 1)).unwrap();
        let mut poisson = Poisson {
            rng: Pcg64Mcg::seed_from_u64(seed),
            hosts,
            gap: SERIALISED as f64 / load,
            left: packets,
            at: 0,
            posted: Vec::new(),
            waited: 0.0,
            ended: 0,
            unloaded: 2 * (SERIALISED + links.host_delay),
        };
        assert!(network.run(&mut poisson, Ps::MAX, |_| true));
        assert_eq!(poisson.ended, packets);
        let measured = poisson.waited / packets as f64 / SERIALISED as f64;
        let expected = load / (2.0 * (1.0 - load));
        println!("load {load}: {measured:.4} service times, {expected:.4} by theory, seed {seed}");
        assert!((measured / expected - 1.0).abs() < 0.01, "{measured} for {expected}");
    }
}

/// Store and forward in a pipeline: the packets one behind the other over the first
/// link, the last one's way over the others, and the delays.
#[test]
fn a_message_alone_takes_its_pipelined_time() {
    let links = Links { fabric_delay: 700_000, ..Links::default() };
    for (shape, to) in [
        (Shape::Star { hosts: 2 }, 1),
        (Shape::LeafSpine { leaves: 2, hosts: 2, spines: 2 }, 3),
        (Shape::FatTree { k: 4 }, 15),
    ] {
        for packets in [1, 2, 100] {
            let latency = Latency { post: 1_000_000, read: 234_567, tell: 345_678 };
            let make = Make { shape: Some(shape), links, latency, switching: plenty(), ..Make::default() };
            let mut network = Network::new(&make, |_| Raw::new(PAYLOAD, OVERHEAD, 1)).unwrap();
            let mut list = List::default();
            list.add(12_345, 0, to, packets * PAYLOAD);
            assert!(network.run(&mut list, Ps::MAX, |_| true));
            let hops = network.topology().hops(0, to) as Ps;
            let delays = 2 * links.host_delay + (hops - 2) * links.fabric_delay;
            let expected = 12_345 + 1_345_678 + 234_567 + (packets as Ps + hops - 1) * SERIALISED + delays;
            assert_eq!(list.records[0].delivered, Some(expected), "{shape:?}, {packets} packets");
        }
    }
}

/// There with a full packet, back with a short one, by the longest way.
#[test]
fn a_round_trip_is_what_two_messages_take() {
    let links = Links { fabric_delay: 700_000, skew: 90_000, ..Links::default() };
    for shape in [
        Shape::Star { hosts: 2 },
        Shape::LeafSpine { leaves: 2, hosts: 1, spines: 1 },
        Shape::LeafSpine { leaves: 2, hosts: 1, spines: 2 },
        Shape::FatTree { k: 4 },
    ] {
        let make = Make { shape: Some(shape), links, switching: plenty(), seed: 1, ..Make::default() };
        let mut network = Network::new(&make, |_| Raw::new(PAYLOAD, OVERHEAD, 1)).unwrap();
        let mut list = List::default();
        let to = network.topology().hosts() - 1;
        // So many that some take the slowest way.
        for number in 0..64 {
            list.add(number * 100_000_000, 0, to, PAYLOAD);
            list.add(number * 100_000_000 + 50_000_000, to, 0, 60);
        }
        assert!(network.run(&mut list, Ps::MAX, |_| true));
        let took = |bytes| {
            let times = list.records.iter().filter(|record| record.message.bytes == bytes);
            times.map(|record| record.delivered.unwrap() - record.posted).max().unwrap()
        };
        let most = took(PAYLOAD) + took(60);
        let expected = make.round_trip((PAYLOAD + OVERHEAD) as u64, (60 + OVERHEAD) as u64).unwrap();
        // A single way has no skew.
        let single = matches!(shape, Shape::LeafSpine { spines: 1, .. });
        assert_eq!(most, if single { expected - 4 * links.skew } else { expected }, "{shape:?}");
    }
}

/// As often as asked for, in bursts as long as asked for.
#[test]
fn losses_are_as_many_as_asked_for() {
    let shape = Shape::Star { hosts: 2 };
    for losses in [
        Losses { uniform: 0.01, ..Losses::default() },
        Losses { bursts: 0.002, burst_len: 5.0, ..Losses::default() },
    ] {
        let make = Make { shape: Some(shape), switching: plenty(), losses, seed: 3, ..Make::default() };
        let mut network = Network::new(&make, |_| Raw::new(PAYLOAD, OVERHEAD, 1)).unwrap();
        let mut list = List::default();
        let packets = 400_000u32;
        for _ in 0..packets {
            list.add(0, 0, 1, PAYLOAD);
        }
        network.run(&mut list, Ps::MAX, |_| true);
        let share = network.counts().lost as f64 / packets as f64;
        assert!((share / 0.01 - 1.0).abs() < 0.06, "{losses:?}: {share}");
        assert_eq!(list.open() as u64, network.counts().lost);
        let lost: Vec<bool> = list.records.iter().map(|record| record.delivered.is_none()).collect();
        let bursts = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
        let mean = network.counts().lost as f64 / bursts;
        let expected = if losses.bursts > 0.0 { 5.0 } else { 1.01 };
        assert!((mean / expected - 1.0).abs() < 0.06, "{losses:?}: bursts of {mean}");
    }
}
