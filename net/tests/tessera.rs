//! The model on networks that lose, reorder and fail.

use tessera_abi::params::NIC128;
use tessera_net::fabric::{Faults, Losses, Rate, Switching};
use tessera_net::network::{Counts, Make, Network};
use tessera_net::tessera::{Options, Tessera};
use tessera_net::topology::Shape;
use tessera_net::traffic::{List, Record};
use tessera_net::transport::Tally;
use tessera_net::Ps;

fn options() -> Options {
    Options::for_network(&NIC128, Rate::of_gbps(400).unwrap(), 7_500_000)
}

fn run(make: &Make, list: &mut List) -> (Counts, Tally) {
    run_with(&options(), make, list)
}

fn run_with(options: &Options, make: &Make, list: &mut List) -> (Counts, Tally) {
    let mut network = Network::new(make, |host| Tessera::new(host, options).unwrap()).unwrap();
    assert!(network.run(list, Ps::MAX, |_| true));
    assert_eq!(list.open(), 0, "every message is delivered or given up");
    assert!(list.records.iter().all(|record| !record.failed), "none is given up");
    assert!(list.records.iter().all(|record| record.acknowledged.is_some()), "every sender knows");
    for host in network.hosts() {
        assert!(host.nic().receiver().is_idle() && host.nic().sender().open_slots() == 0);
    }
    (network.counts(), network.tally())
}

fn all_to_all(hosts: u32, bytes: u32) -> List {
    let mut list = List::default();
    for step in 1..hosts {
        for from in 0..hosts {
            list.add(0, from, (from + step) % hosts, bytes);
        }
    }
    list
}

fn fat_tree(losses: Losses) -> Make {
    Make { shape: Some(Shape::FatTree { k: 4 }), losses, seed: 5, ..Make::default() }
}

fn last(list: &List) -> Ps {
    list.records.iter().filter_map(|record| record.delivered).max().unwrap_or(0)
}

#[test]
fn everything_arrives_whatever_is_lost() {
    let mut lossless = 0;
    for losses in [
        Losses::default(),
        Losses { uniform: 0.001, ..Losses::default() },
        Losses { uniform: 0.05, ..Losses::default() },
        Losses { bursts: 0.002, burst_len: 8.0, ..Losses::default() },
    ] {
        let mut list = all_to_all(16, 65536);
        let (counts, tally) = run(&fat_tree(losses), &mut list);
        let spurious = tally.again.saturating_sub(counts.gone) as f64 / tally.sent as f64;
        println!("{losses:?}: {} us, {tally:?}, {counts:?}", last(&list) / 1_000_000);
        assert!(spurious < 0.01, "{spurious}");
        if lossless == 0 {
            lossless = last(&list);
            assert_eq!(counts.gone, 0);
        }
        // Nothing waits for a bound that ends messages: a backstop or two at the most.
        assert!(last(&list) < lossless + 200_000_000, "{losses:?}");
    }
}

#[test]
fn small_buffers_and_a_flapping_link_are_lived_through() {
    let switching = Switching { buffer: 400_000, ..Switching::default() };
    // The first edge switch's first way up: down for 100 us of every 300.
    let faults = Faults::flapping(18, 5_000_000, 2_000_000_000, 300_000_000, 100_000_000, 20_000_000);
    let make = Make { switching, faults, ..fat_tree(Losses::default()) };
    let mut list = all_to_all(16, 1 << 20);
    let (counts, tally) = run(&make, &mut list);
    println!("{counts:?} {tally:?}");
    assert!(counts.severed > 0 && counts.dropped > 0, "{counts:?}");
}

#[test]
fn a_seed_says_everything() {
    let losses = Losses { uniform: 0.01, ..Losses::default() };
    let times = |seed| {
        let mut list = all_to_all(16, 20_000);
        run(&Make { seed, ..fat_tree(losses) }, &mut list);
        list.records
    };
    let first: Vec<Record> = times(1);
    assert_eq!(first, times(1));
    assert_ne!(first, times(2));
}

/// Times of short messages beside long ones, in units of the time that one takes alone.
fn beside(options: &Options) -> [f64; 2] {
    let make = Make { shape: Some(Shape::Star { hosts: 8 }), seed: 1, ..Make::default() };
    let alone = {
        let mut list = List::default();
        list.add(0, 1, 0, 1000);
        run_with(options, &make, &mut list);
        list.records[0].delivered.unwrap()
    };
    let mut list = List::default();
    // Six long ones to host 0; short ones to it from a host that sends nothing else, and from
    // one of the six.
    for from in 2..8 {
        list.add(0, from, 0, 4 << 20);
    }
    let short = [1, 2].map(|from| list.add(100_000_000, from, 0, 1000));
    run_with(options, &make, &mut list);
    short.map(|id| {
        let record = list.records[id as usize];
        (record.delivered.unwrap() - record.posted) as f64 / alone as f64
    })
}

//= TX-16 test
//= TX-17 test
#[test]
fn short_messages_pass_long_ones() {
    let whole = options();
    let with = |dscp, turn_policy| {
        let mut options = whole;
        (options.settings.dscp, options.settings.turn_policy) = (dscp, turn_policy);
        beside(&options)
    };
    let both = beside(&whole);
    let neither = with(0, 0);
    println!("{both:?}, without classes and turns {neither:?}");
    // At the switch a packet that is being sent is waited for, at the sender a turn too.
    assert!(both[0] < 1.3 && both[1] < 1.6, "{both:?}");
    assert!(neither[0] > 2.0 && neither[1] > 2.0, "{neither:?}");
}
