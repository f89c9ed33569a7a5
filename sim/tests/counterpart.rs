//! The counterparts on the fabric: everything arrives as posted whatever the
//! fabric does, go-back-N repeats windows, selective repeat repeats holes.

use std::sync::Arc;

use tessera_sim::counterpart::{Content, Kind, Network, Parameters};
use tessera_sim::fabric::{FabricOptions, Faults, Loss, PacketClass, Verdict};
use tessera_sim::tb::Rng;

const KINDS: [Kind; 2] = [Kind::GoBackN, Kind::SelectiveRepeat];
const SIZES: [usize; 9] = [0, 1, 1023, 1024, 1025, 5000, 40_000, 100_000, 3];
/// Longer than any of these runs needs.
const PATIENCE: u64 = 40_000_000;

fn content(from: usize, to: usize, number: usize, len: usize) -> Content {
    let bytes = (0..len).map(|i| (i * 31 + i / 251 + from * 7 + to * 3 + number * 13) as u8).collect();
    Content { buffer: Arc::new(bytes), range: 0..len }
}

struct Figures {
    data: u64,
    needed: u64,
    spurious: u64,
    timeouts: u64,
    clocks: u64,
}

/// Every node sends every size `rounds` times to every other.
fn exchange(nodes: usize, parameters: &Parameters, fabric: FabricOptions, rounds: usize) -> Figures {
    let mut network = Network::new(nodes, parameters, fabric);
    let sizes: Vec<usize> = SIZES.iter().copied().cycle().take(SIZES.len() * rounds).collect();
    for from in 0..nodes {
        for to in (0..nodes).filter(|&to| to != from) {
            for (number, &len) in sizes.iter().enumerate() {
                network.post(from, to, content(from, to, number, len));
            }
        }
    }
    let mut left = nodes * (nodes - 1) * sizes.len();
    let mut next = vec![vec![0; nodes]; nodes];
    while left > 0 {
        assert!(network.clock() < PATIENCE, "{left} messages have not arrived");
        for (to, done) in network.advance().unwrap() {
            let number = next[done.from][to];
            assert_eq!(done.number, number as u64, "messages of a connection end in order");
            let wanted = content(done.from, to, number, sizes[number]);
            assert!(done.bytes == *wanted.buffer, "{}->{to} #{number} is not what was sent", done.from);
            next[done.from][to] += 1;
            left -= 1;
        }
    }
    let tracker = network.fabric().tracker();
    Figures {
        data: tracker.data,
        needed: tracker.needed,
        spurious: tracker.spurious,
        timeouts: network.timeouts(),
        clocks: network.clock(),
    }
}

fn run(kind: Kind, spray: bool, fabric: FabricOptions, rounds: usize) -> Figures {
    let paths = fabric.path_delays.len() as u16;
    let fitting = Parameters::for_fabric(kind, &fabric, 2, 1024, 100_000);
    exchange(2, &Parameters { spray: spray.then_some(paths), ..fitting }, fabric, rounds)
}

#[test]
fn everything_arrives_as_posted_whatever_the_fabric_does() {
    let mut rng = Rng::for_test("counterpart::faults");
    for kind in KINDS {
        for spray in [false, true] {
            let loss = [Loss::None, Loss::Uniform(0.05), Loss::Bursty { mean: 0.05, burst: 4.0 }];
            for loss in loss {
                let faults =
                    Faults { loss, duplicate: 0.02, max_copies: 3, corrupt: 0.01, ..Faults::default() };
                let fabric = FabricOptions { faults, ..FabricOptions::new(4, 250, 700, rng.next_u64()) };
                let fitting = Parameters::for_fabric(kind, &fabric, 3, 1024, 100_000);
                let parameters = Parameters { spray: spray.then_some(4), ..fitting };
                let figures = exchange(3, &parameters, fabric, 2);
                assert!(figures.needed > 0, "{kind:?}: damage and no retransmission");
            }
        }
    }
}

#[test]
fn nothing_is_sent_twice_on_one_path_without_faults() {
    for kind in KINDS {
        let figures = run(kind, false, FabricOptions::new(1, 250, 0, 1), 10);
        assert_eq!((figures.needed, figures.spurious, figures.timeouts), (0, 0, 0), "{kind:?}");
        // The link is kept busy: packets of 18 or 19 beats, and what opening and ending take.
        let beats = figures.data as f64 / 2.0 * 18.5;
        assert!((figures.clocks as f64) < beats * 1.1 + 3000.0, "{kind:?}: {} clocks", figures.clocks);
    }
}

#[test]
fn reordering_looks_like_loss_to_both() {
    for kind in KINDS {
        let figures = run(kind, true, FabricOptions::new(4, 250, 1000, 3), 10);
        assert_eq!(figures.needed, 0);
        let share = figures.spurious as f64 / figures.data as f64;
        assert!(share > 0.05, "{kind:?} repeats {share} of its packets");
    }
}

#[test]
fn a_loss_costs_go_back_n_a_window_and_selective_repeat_a_packet() {
    let lossy = || {
        let faults = Faults { class_loss: vec![(PacketClass::Data, 0.01)], ..Faults::default() };
        FabricOptions { faults, ..FabricOptions::new(1, 250, 0, 7) }
    };
    let [back, selective] = KINDS.map(|kind| run(kind, false, lossy(), 20));
    assert!(back.needed > 20 && selective.needed > 20);
    // A window is about 70 packets here.
    assert!(back.spurious > 20 * back.needed, "{} for {}", back.spurious, back.needed);
    assert!(selective.spurious * 5 < selective.needed, "{} for {}", selective.spurious, selective.needed);
}

#[test]
fn a_lost_tail_waits_for_the_timeout() {
    // The first copy of a message's only packet is lost more often than not.
    for kind in KINDS {
        let faults = Faults { class_loss: vec![(PacketClass::Data, 0.6)], ..Faults::default() };
        let fabric = FabricOptions { faults, ..FabricOptions::new(1, 250, 0, 5) };
        let parameters = Parameters { rto_low: 3000, rto_high: 9000, ..Parameters::bare(kind, 1024) };
        let mut network = Network::new(2, &parameters, fabric);
        let mut waits = Vec::new();
        for number in 0..40 {
            let posted = network.clock();
            network.post(0, 1, content(0, 1, number, 100));
            loop {
                assert!(network.clock() < PATIENCE);
                if let Some((_, done)) = network.advance().unwrap().pop() {
                    waits.push(done.at - posted);
                    break;
                }
            }
        }
        let rto = if kind == Kind::GoBackN { parameters.rto_high } else { parameters.rto_low };
        let late = waits.iter().filter(|&&wait| wait > rto).count();
        assert!((15..35).contains(&late), "{kind:?}: {late} of 40 waited for the timeout");
        assert!(waits.iter().all(|&wait| wait < 2000 || (rto..rto + 2000).contains(&wait)), "{waits:?}");
    }
}

/// A message whose only packet is lost the first time ends one timeout later:
/// short where the connection drew fast paths, though there are slow ones.
#[test]
fn timeouts_follow_the_path_that_was_drawn() {
    let wait = |seed| {
        let fabric = FabricOptions::new(4, 250, 2500, seed);
        let fitting = Parameters::for_fabric(Kind::SelectiveRepeat, &fabric, 2, 1024, 100);
        let mut network = Network::new(2, &fitting, fabric);
        let mut lost = false;
        network.fabric_mut().set_script(Some(Box::new(move |_, _, _: &[u8]| {
            match std::mem::replace(&mut lost, true) {
                false => Verdict::Lose,
                true => Verdict::Pass,
            }
        })));
        network.post(0, 1, content(0, 1, 0, 100));
        loop {
            assert!(network.clock() < PATIENCE);
            if let Some((_, done)) = network.advance().unwrap().pop() {
                return done.at;
            }
        }
    };
    let waits: Vec<u64> = (1..20).map(wait).collect();
    let (least, most) = (waits.iter().min().unwrap(), waits.iter().max().unwrap());
    // Paths of 250 both ways, and of 2750: 100 / 24 of their trips, then the packet's own.
    assert!((3000..6000).contains(least), "{waits:?}");
    assert!((20_000..30_000).contains(most), "{waits:?}");
}

#[test]
fn no_timeout_ends_too_early_among_many() {
    for kind in KINDS {
        for paths in [1, 4] {
            let fabric = FabricOptions::new(paths, 250, 2500, 9);
            let fitting = Parameters::for_fabric(kind, &fabric, 5, 1024, 100_000);
            let figures = exchange(5, &fitting, fabric, 3);
            assert_eq!((figures.timeouts, figures.spurious), (0, 0), "{kind:?} over {paths} paths");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let fabric = || {
        let faults = Faults { loss: Loss::Uniform(0.02), ..Faults::default() };
        FabricOptions { faults, ..FabricOptions::new(4, 250, 500, 11) }
    };
    for kind in KINDS {
        let [first, second] = [(); 2].map(|()| run(kind, true, fabric(), 3));
        assert_eq!(
            (first.clocks, first.needed, first.spurious),
            (second.clocks, second.needed, second.spurious)
        );
    }
}
