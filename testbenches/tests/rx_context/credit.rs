//! Who may send how much: GR.

use super::*;
use tessera_sim::tb::{cycle, StreamDriver};

/// The rest of `of`, as far and as fast as it is granted; then nothing is left.
fn end(bench: &mut Bench<'_>, of: &Packet) {
    while bench.messages[&of.generation].phase == Phase::Open {
        let grant = bench.messages[&of.generation].grant;
        bench.fill(of, 0..grant);
        bench.ticks(5);
    }
    bench.settle(1500);
}

#[test]
fn gr2_credit_is_shared_and_never_exceeded() {
    let registers = Registers { credit_limit: 24 * 256, ..REGISTERS };
    run("credit", registers, |bench, _| {
        let all: Vec<Packet> = (0..4).map(|context| message(context, 300 * 256, 8)).collect();
        for first in &all {
            bench.data(first, 0, 10, 0);
        }
        let mut rounds = 0;
        while bench.messages.values().any(|m| m.phase == Phase::Open) {
            for first in &all {
                let grant = bench.messages[&first.generation].grant;
                bench.fill(first, 0..grant);
            }
            bench.ticks(3);
            rounds += 1;
            assert!(rounds < 400, "grants dry up");
        }
        bench.settle(1500);
        assert!(bench.event("grants_sent") >= 4 * (300 - 8) / 16);
    });
}

#[test]
fn gr2_who_is_owed_nothing_gets_a_packet_without_credit() {
    // One message holds all credit, for longer than the give-up time: the other one
    // goes on, packet by packet.
    let registers = Registers { credit_limit: 16 * 256, rx_give_up: 600, ..REGISTERS };
    run("floor", registers, |bench, _| {
        let (hog, other) = (message(1, 20 * 256, 20), message(2, 40 * 256, 4));
        bench.data(&hog, 0, 10, 0);
        bench.fill(&other, 0..4);
        let (mut last, wait) = (bench.now, REGISTERS.rtt_default);
        for round in 0..20 {
            while bench.messages[&other.generation].grant == 4 + round {
                bench.ticks(1);
                bench.data(&hog, round % 2, 10, RETX);
                assert!(bench.now - last < 2 * wait, "no grant");
            }
            assert!(round == 0 || (wait - 2..wait + 10).contains(&(bench.now - last)), "RTT_DEFAULT apart");
            last = bench.now;
            bench.fill(&other, 0..5 + round);
        }
        bench.fill(&hog, 0..20);
        end(bench, &other);
    });
}

#[test]
fn gr2_credit_is_spent_to_the_last_byte() {
    let registers = Registers { credit_limit: 24 * 256, grant_quantum: 4, ..REGISTERS };
    run("all of it", registers, |bench, _| {
        let first = message(1, 100 * 256, 8);
        bench.data(&first, 0, 10, 0);
        bench.ticks(60);
        assert_eq!(bench.credit(), 23 * 256, "seven and four times four");
        bench.data(&first, 1, 10, 0);
        bench.data(&first, 2, 10, 0);
        bench.ticks(30);
        assert_eq!(bench.credit(), 21 * 256, "no room for four");
        bench.data(&first, 3, 10, 0);
        bench.ticks(30);
        assert_eq!(bench.credit(), 24 * 256, "room for just four");
        end(bench, &first);
    });
}

/// Where nothing is outstanding, a quantum is granted at once however small the credit is.
#[test]
fn gr2_with_nothing_outstanding_a_quantum_goes_beyond_the_credit() {
    let registers = Registers { credit_limit: 2 * 256, grant_quantum: 4, ..REGISTERS };
    run("nothing outstanding", registers, |bench, _| {
        let first = message(1, 100 * 256, 1);
        bench.data(&first, 0, 10, 0);
        bench.ticks(20);
        assert_eq!(bench.credit(), 4 * 256);
        bench.fill(&first, 1..4);
        bench.ticks(20);
        assert_eq!(bench.credit(), 256, "what is outstanding counts");
        bench.fill(&first, 4..5);
        bench.ticks(20);
        assert_eq!(bench.credit(), 4 * 256, "and nothing again");
        end(bench, &first);
    });
}

#[test]
fn gr5_a_silent_message_lends_its_credit() {
    for policy in [4, 0] {
        let registers = Registers { credit_limit: 64 * 256, credit_policy: policy, ..REGISTERS };
        run("lent", registers, |bench, _| {
            bench.clocks_per_tick = 16;
            let (silent, other) = (message(1, 60 * 256, 60), message(2, 500 * 256, 8));
            bench.data(&silent, 0, 10, 0);
            bench.fill(&other, 0..8);
            let owed = |bench: &Bench, of: &Packet| bench.messages[&of.generation].credit() / 256;
            let asked =
                |bench: &Bench| bench.nacks().iter().filter(|n| n.generation == silent.generation).count();
            // The other one answers each of its grants, so that nothing is asked of it.
            while asked(bench) < 2 {
                let grant = bench.messages[&other.generation].grant;
                assert!(owed(bench, &other) <= 5, "one message holds nearly all credit");
                bench.fill(&other, 0..grant);
                bench.ticks(8);
            }
            for _ in 0..4 {
                let grant = bench.messages[&other.generation].grant;
                bench.fill(&other, 0..grant - 1);
                bench.ticks(10);
            }
            let most = owed(bench, &other);
            let lent = policy != 0;
            assert!(if lent { (33..=64).contains(&most) } else { most <= 5 }, "{most} packets granted");
            // It comes back with the next new packet, even beyond the limit.
            bench.data(&silent, 0, 10, RETX);
            bench.ticks(10);
            let outstanding = |bench: &Bench| bench.dut.get(bench.dut.port("outstanding").unwrap());
            assert!(outstanding(bench) <= 64 * 256, "a copy brings nothing back");
            bench.data(&silent, 1, 10, RETX);
            bench.ticks(4);
            assert_eq!(outstanding(bench) > 64 * 256, lent);
            // While it is, others wait.
            let grant = bench.messages[&other.generation].grant;
            bench.fill(&other, 0..grant - 1);
            bench.ticks(20);
            assert!(owed(bench, &other) <= 6, "{} packets granted", owed(bench, &other));
            bench.fill(&silent, 0..60);
            end(bench, &other);
        });
    }
}

//= GR-8 test
#[test]
fn gr8_who_is_owed_enough_leaves_the_rest_to_others() {
    let each = 20 * 256;
    let registers = Registers { credit_limit: 80 * 256, credit_each: each, grant_quantum: 4, ..REGISTERS };
    run("each", registers, |bench, _| {
        bench.clocks_per_tick = 16;
        let all: Vec<Packet> = (0..3).map(|context| message(context, 300 * 256, 8)).collect();
        let owed = |bench: &Bench, of: &Packet| bench.messages[&of.generation].credit() / 256;
        for first in &all {
            bench.data(first, 0, 10, 0);
            bench.ticks(6);
            // Of eight one came; four at a time, until it is more than twenty.
            assert_eq!(owed(bench, first), 23);
        }
        // Two come: 21 is still more.
        bench.data(&all[0], 1, 10, 0);
        bench.data(&all[0], 2, 10, 0);
        bench.data(&all[0], 2, 10, 0);
        bench.ticks(6);
        assert_eq!(owed(bench, &all[0]), 21, "who is owed more than enough was granted more");
        // With just as much it waits again, and is granted before anything else comes.
        bench.data(&all[0], 3, 10, 0);
        bench.ticks(6);
        assert_eq!(owed(bench, &all[0]), 24);
        assert_eq!([1, 2].map(|other| owed(bench, &all[other])), [23, 23]);
        while bench.messages.values().any(|m| m.phase == Phase::Open) {
            for first in &all {
                let grant = bench.messages[&first.generation].grant;
                bench.fill(first, 0..grant);
            }
            bench.ticks(3);
        }
        bench.settle(1500);
    });
}

//= GR-8 test
#[test]
fn gr8_nothing_owed_is_never_too_much() {
    // Each packet is granted once the one before has come.
    let registers = Registers { credit_each: 0, grant_quantum: 1, ..REGISTERS };
    run("one", registers, |bench, _| {
        let first = message(3, 20 * 256, 1);
        bench.data(&first, 0, 10, 0);
        end(bench, &first);
        assert_eq!(bench.event("grants_sent"), 19);
    });
}

#[test]
fn gr4_congestion_shrinks_the_credit() {
    let whole = 256 * 256;
    let registers = Registers { credit_limit: whole, grant_quantum: 64, ..REGISTERS };
    let marks = |bench: &mut Bench, first: &Packet, packets: u64, ce: bool, delay: u64| {
        for _ in 0..packets / 8 {
            for _ in 0..8 {
                let packet = Packet { ce, ..first.clone() };
                let next = bench.messages.get(&first.generation).map_or(0, |m| m.cumulative);
                bench.data(&packet, next, delay, 0);
            }
            bench.ticks(4);
        }
        bench.credit()
    };
    for (policy, ce, delay) in [(1, true, 10), (2, false, 10 + REGISTERS.skew_max)] {
        run("congestion", Registers { credit_policy: policy, ..registers }, |bench, _| {
            let first = message(1, 8000 * 256, 255);
            let full = marks(bench, &first, 400, false, 10);
            assert!(full > whole - 72 * 256, "{full} of {whole} bytes out");
            let least = marks(bench, &first, 2000, ce, delay);
            assert!(least <= 8192, "{least} bytes out, a floor of two largest payloads");
            let again = marks(bench, &first, 3200, false, 10);
            assert!(again > whole - 72 * 256, "{again} of {whole} bytes out");
            while bench.messages[&first.generation].phase == Phase::Open {
                let grant = bench.messages[&first.generation].grant;
                bench.fill(&first, 0..grant);
            }
            bench.settle(1500);
        });
    }
    run("no policy", registers, |bench, _| {
        let first = message(1, 3000 * 256, 255);
        let full = marks(bench, &first, 2000, true, 10);
        assert!(full > whole - 72 * 256, "{full} of {whole} bytes out");
        while bench.messages[&first.generation].phase == Phase::Open {
            let grant = bench.messages[&first.generation].grant;
            bench.fill(&first, 0..grant);
        }
        bench.settle(1500);
    });
}

/// Messages of so many packets, in contexts 0, 1 .. : by which of them each grant was.
/// There is credit for one grant at a time, and all of it is sent before the next. The first
/// is to want all of the credit, so that it is granted none before all have come.
fn order(test: &str, turn_policy: u64, counts: &[u64]) -> Vec<u64> {
    assert!(counts[0] >= 2 + 16);
    // Nobody gets a packet beyond the credit.
    let registers = Registers { credit_limit: 16 * 256, rtt_default: 1000, turn_policy, ..REGISTERS };
    let order = std::cell::RefCell::new(Vec::new());
    run(test, registers, |bench, _| {
        let all: Vec<Packet> = (0..).zip(counts).map(|(c, count)| message(c, count * 256, 2)).collect();
        for index in 0..2 {
            for of in &all {
                bench.data(of, index, 10, 0);
            }
        }
        let mut granted = Vec::new();
        let mut looked = 0;
        let mut since = bench.now;
        while bench.messages.values().any(|m| m.phase == Phase::Open) {
            bench.clock();
            let seen = bench.seen.get(looked).cloned();
            let Some(seen) = seen else {
                assert!(bench.now < since + 400, "grants dry up");
                continue;
            };
            looked += 1;
            if seen.flags == GRANT {
                let of = all[seen.generation as usize - 1000].clone();
                granted.push(of.context);
                bench.fill(&of, 0..seen.grant);
            }
            since = bench.now;
        }
        bench.settle(5000);
        *order.borrow_mut() = granted;
    });
    order.into_inner()
}

/// What the rules say of that.
fn ruled(turn_policy: u64, counts: &[u64]) -> Vec<u64> {
    let list_of = |left| if turn_policy & 2 != 0 { list_of(left) as usize } else { 0 };
    let mut turns = Turns::default();
    let mut granted = vec![2; counts.len()];
    let mut order = Vec::new();
    let mut chosen = None;
    for (context, count) in counts.iter().enumerate() {
        turns.lists[list_of(count - 2)].push_back(context as u64);
        // The first one is on offer before the others come.
        chosen.get_or_insert_with(|| turns.choose());
    }
    while let Some(list) = chosen {
        let context = turns.lists[list].pop_front().unwrap();
        order.push(context);
        let (granted, count) = (&mut granted[context as usize], counts[context as usize]);
        *granted = (*granted + 16).min(count);
        if *granted < count {
            turns.lists[list_of(count - *granted)].push_back(context);
        }
        chosen = turns.lists.iter().any(|list| !list.is_empty()).then(|| turns.choose());
    }
    order
}

//= GR-7 test
#[test]
fn gr7_who_has_least_left_is_granted_first() {
    // 18, 198, 62, 50 and 4198 packets are left: lists 2, 3, 2, 2 and 6.
    let counts = [20, 200, 64, 52, 4200];
    let seen = order("least left", 2, &counts);
    assert_eq!(seen, ruled(2, &counts));
    // The first comes into list 0 with 2 left; then 2 and 3 take turns in list 2, until 2 goes
    // before 3 with 14 left. Every fourth turn is that of list 3, of 6, of 3.
    assert_eq!(seen[..12], [0, 0, 2, 1, 3, 2, 3, 4, 2, 2, 3, 1]);
}

//= GR-7 test
#[test]
fn gr7_without_the_policy_all_take_turns() {
    let counts = [20, 200, 64, 52, 300];
    for policy in [0, 1] {
        let seen = order("in turn", policy, &counts);
        assert_eq!(seen, ruled(policy, &counts));
        assert_eq!(seen[..12], [0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 1, 2]);
    }
}

//= GR-7 test
#[test]
fn gr7_messages_of_any_length_go_by_what_is_left() {
    let rng = &mut Rng::for_test("rx_context::any_length");
    for _ in 0..4 {
        let mut counts: Vec<u64> = (0..14).map(|_| 3 + (rng.below(16) << rng.below(8))).collect();
        counts[0] += 15;
        let policy = 2 + rng.below(2);
        assert_eq!(order("any length", policy, &counts), ruled(policy, &counts), "{counts:?}");
    }
}

//= GR-7 test
#[test]
fn gr7_a_long_message_is_not_starved_by_short_ones() {
    let registers = Registers { credit_limit: 16 * 256, rtt_default: 1000, turn_policy: 2, ..REGISTERS };
    run("starved", registers, |bench, rng| {
        let long = message(15, 1000 * 256, 2);
        bench.fill(&long, 0..2);
        let (mut looked, mut grants, mut last, mut short, mut granted) = (0, 0u64, 0, 0, 2);
        let mut of_context = vec![long.clone(); 16];
        let mut generation = 2000;
        while bench.messages[&long.generation].phase == Phase::Open {
            // Short ones come as others end, and wait before any grant of the long one.
            for context in 0..8 {
                if !bench.owners.contains_key(&context) {
                    let first = message(context, (3 + rng.below(40)) * 256, 2);
                    let first = Packet { generation, ..first };
                    generation += 1;
                    bench.fill(&first, 0..2);
                    of_context[context as usize] = first;
                }
            }
            bench.clock();
            while let Some(seen) = bench.seen.get(looked).cloned() {
                looked += 1;
                if seen.flags == GRANT {
                    grants += 1;
                    let of = bench.messages[&seen.generation].first.clone();
                    if of.context == long.context {
                        // The short ones are in lists 0 to 2, two of which may have turns before; at its
                        // own end it is in one of those itself, and each of them may be in front.
                        let turns = if list_of(1000 - granted) > 2 { 1 } else { 1 + 8 };
                        assert!(
                            grants - last <= turns * 4 * 3,
                            "{} of others, {granted} to {}",
                            grants - last,
                            seen.grant
                        );
                        (last, granted) = (grants, seen.grant);
                    } else {
                        short += 1;
                    }
                    bench.fill(&of, 0..seen.grant);
                }
            }
            assert!(bench.now < 200_000, "the long one starves");
        }
        assert!(short > 150, "{short} grants of short ones");
        for first in &of_context[..8] {
            while bench.messages[&first.generation].phase == Phase::Open {
                let grant = bench.messages[&first.generation].grant;
                bench.fill(first, 0..grant);
                bench.ticks(5);
            }
        }
        bench.settle(5000);
    });
}

/// GR-1: as many messages as there are contexts, each of the largest window that
/// a packet can ask for: 4 GiB, which are not nothing.
#[test]
fn gr1_four_gibibytes_outstanding_are_not_nothing() {
    let design = tessera_testbenches::design("receiver_nic512", || Receiver::new(&NIC512));
    tb::run("rx_context::four_gib", &design, |dut, rng| {
        let port = |name: &str| dut.port(name).unwrap();
        let streams = ["place", "feedback", "done", "retire", "header", "chunk"];
        let readies: Vec<_> = streams.iter().map(|stream| port(&format!("{stream}_ready"))).collect();
        let (now, outstanding, grants) = (port("now"), port("outstanding"), port("grants_sent"));
        let [rst, ready] = ["rst", "ready"].map(port);
        for input in ["work_valid", "fence_valid", "order_valid", "doorbell.valid", "low"].map(port) {
            dut.set(input, 0u64);
        }
        for (name, value) in [
            ("gap0", 32),
            ("skew0", 60_000),
            ("skew_max", 65_535),
            ("guard", 60_000),
            ("d_min", 60_000),
            ("rtt_default", 65_535),
            ("rto", 0xFF_FFFF),
            ("rx_give_up", 0xFF_FFFF),
            ("nack_burst", 4),
            ("ack_every", 16),
            ("credit_limit", 1 << 19),
            ("grant_quantum", 16),
        ] {
            dut.set(dut.port(&format!("settings.{name}")).unwrap(), value as u64);
        }
        readies.iter().for_each(|port| dut.set(*port, 1u64));
        dut.reset(rst, 2);
        while dut.get(ready) == 0 {
            dut.clock();
        }
        let mut work = StreamDriver::new(dut, "work", Pattern::Always, rng).unwrap();
        let contexts = 1u64 << NIC512.rx_contexts_log2;
        for context in 0..contexts {
            // The grant of a window of 0 is 256 packets; ten more are wanted.
            work.send_fields(&[
                ("verdict", 1),
                ("context", context),
                ("probe", 1),
                ("endpoint", 7),
                ("payload_log2", 12),
                ("slot", context),
                ("generation", 1),
                ("length", 266 << 12),
                ("count", 266),
            ]);
        }
        let mut granted = 0;
        let mut clock = 0u64;
        let mut quiet = 0;
        while quiet < 20_000 {
            dut.set(now, clock / 16);
            cycle(dut, &mut [&mut work]);
            granted += dut.sampled(grants);
            clock += 1;
            quiet = if work.pending() == 0 { quiet + 1 } else { 0 };
        }
        assert_eq!(granted, 0, "granted beyond the credit");
        assert_eq!(dut.get(outstanding), ((contexts * 256) << 12).min(u64::from(u32::MAX)));
    });
}
