//! `rx::GrantOrder`: who is next to be granted more packets. Rules GR-6, GR-7.

mod bench;

use bench::*;
use std::collections::VecDeque;
use tessera_sim::tb::{self, Rng};

#[test]
fn gr6_the_oldest_round_has_three_turns_of_four() {
    tb::run("grant_order::three_of_four", &design(), |dut, _| {
        let bench = &mut Bench::new(dut);
        let rounds = [(5, 900), (5, 901), (9, 3)];
        // The second one was registered first.
        for round in [1, 0, 2] {
            bench.register(rounds[round], 100);
        }
        let name = |context: u64| rounds.get(context as usize % 4).copied();
        for context in 0..12 {
            bench.enters(context, name(context));
            bench.clocks(6);
        }
        bench.clocks(SETTLED);
        // The first is offered before anybody else has come.
        bench.leaves(Some(name(0)));
        let order: Vec<u64> = (0..24)
            .map(|_| {
                let head = bench.head.unwrap_or_else(|| {
                    bench.clocks(20);
                    bench.head.unwrap()
                });
                bench.leaves(Some(name(head))) % 4
            })
            .collect();
        let of_oldest = order.iter().filter(|list| **list == 1).count();
        assert_eq!(of_oldest, 18, "{order:?}");
        for run in order.chunks(4) {
            assert_eq!(run.iter().filter(|list| **list == 1).count(), 3, "{order:?}");
        }
        // The others take turns among each other, list by list.
        let others: Vec<u64> = order.iter().copied().filter(|list| *list != 1).collect();
        for three in others.windows(3) {
            assert!(three[0] != three[1] && three[1] != three[2] && three[0] != three[2], "{others:?}");
        }
    });
}

#[test]
fn gr6_the_next_oldest_follows_and_nobody_waits_for_it() {
    tb::run("grant_order::next", &design(), |dut, _| {
        let bench = &mut Bench::new(dut);
        let rounds: Vec<Name> = (0..8u16).map(|i| (i as u8 * 16, 300 + i)).collect();
        for round in &rounds {
            bench.register(*round, 1);
        }
        // The youngest first; the very first is offered at once.
        for (context, round) in rounds.iter().enumerate().rev() {
            bench.enters(context as u64, Some(*round));
            bench.clocks(6);
        }
        assert_eq!(bench.leaves(None), 7);
        bench.clocks(SETTLED);
        let mut order = Vec::new();
        for _ in 0..7 {
            bench.clocks(SETTLED);
            order.push(bench.leaves(None));
        }
        // Offered in the very turn that the search begins: the first one is not the oldest.
        assert_eq!(order.iter().filter(|c| **c == 0).count(), 1);
        assert_eq!(bench.lists.values().map(VecDeque::len).sum::<usize>(), 0);
    });
}

/// The search for the oldest comes by a place while somebody leaves it.
#[test]
fn gr6_the_search_sees_a_place_that_is_worked_on() {
    tb::run("grant_order::met", &design(), |dut, _| {
        for delay in 0..64 {
            let bench = &mut Bench::new(dut);
            let (old, young) = ((0, 0x300), (12, 0x400));
            bench.register(old, 1);
            bench.register(young, 1);
            bench.enters(0, Some(old));
            for context in 1..7 {
                bench.enters(context, Some(young));
                bench.clocks(6);
            }
            for context in 20..24 {
                bench.enters(context, None);
                bench.clocks(6);
            }
            assert_eq!(bench.leaves(None), 0);
            while bench.head.is_none() {
                bench.clock();
            }
            bench.clocks(delay);
            assert_eq!(bench.leaves(None), 1);
            // The others' turn, then that of the oldest, three times.
            bench.clocks(SETTLED);
            while bench.leaves(None) < 20 {}
            let three: Vec<u64> = (0..3).map(|_| bench.leaves(None)).collect();
            assert!(three.iter().all(|context| *context < 7), "{delay}: {three:?}");
        }
    });
}

#[test]
fn gr6_a_forgotten_round_is_none_and_a_registered_anew_the_youngest() {
    tb::run("grant_order::forgotten", &design(), |dut, _| {
        let bench = &mut Bench::new(dut);
        let (old, young) = ((1, 10), (1, 11));
        bench.register(old, 1);
        bench.register(young, 1);
        let fill = |bench: &mut Bench<'_>| {
            bench.enters(50, None);
            bench.clocks(20);
            for (i, name) in [old, young].iter().enumerate() {
                for copy in 0..3 {
                    bench.enters(10 * i as u64 + copy, Some(*name));
                    bench.clocks(6);
                }
            }
            bench.clocks(SETTLED);
            assert_eq!(bench.leaves(None), 50);
            let three: Vec<u64> = (0..3).map(|_| bench.leaves(None) / 10).collect();
            while bench.lists.values().any(|list| !list.is_empty()) {
                bench.leaves(None);
            }
            bench.clocks(SETTLED);
            three
        };
        assert_eq!(fill(bench), [0, 0, 0]);
        bench.register(old, 1);
        assert_eq!(fill(bench), [1, 1, 1], "registered anew: the youngest");
        bench.register(young, 0);
        assert_eq!(fill(bench), [0, 0, 0], "forgotten: of no round");
        // Another name of the same place is no name at all.
        bench.register((old.0 ^ 2, old.1 ^ 2), 1);
        assert_eq!(place((old.0 ^ 2, old.1 ^ 2)), place(old));
        assert_eq!(fill(bench).len(), 3);
        assert!(!bench.lists.contains_key(&List::Round(place((7, 99)))));
    });
}

/// A bell is heard in the last clock of an entry too: the name it is about is read then.
#[test]
fn gr6_a_bell_beside_an_entry_keeps_the_age() {
    tb::run("grant_order::beside", &design(), |dut, _| {
        for delay in 0..12 {
            let bench = &mut Bench::new(dut);
            let (first, old, young) = ((1, 0x300), (3, 0x400), (5, 0x500));
            for round in [first, old, young] {
                bench.register(round, 1);
            }
            for (context, round) in [(0, first), (10, old), (11, old), (20, young), (21, young)] {
                bench.enters(context, Some(round));
                bench.clocks(8);
            }
            bench.clocks(SETTLED);
            bench.enters(1, Some(first));
            bench.clocks(delay);
            // Those who wait keep their list, and it stays the youngest.
            bench.register(young, 0);
            bench.clocks(SETTLED);
            let mut order = Vec::new();
            for _ in 0..6 {
                order.push(bench.leaves(None) / 10);
                bench.clocks(SETTLED);
            }
            let at = |round: u64| order.iter().rposition(|of| *of == round);
            assert!(at(1) < at(2), "{delay}: {order:?}");
        }
    });
}

/// A round that the search has just looked at is registered anew.
#[test]
fn gr6_the_search_sees_a_round_that_is_registered_anew() {
    tb::run("grant_order::anew", &design(), |dut, _| {
        for delay in 0..64 {
            let bench = &mut Bench::new(dut);
            let rounds = [(1, 0x300), (16, 0x400), (40, 0x500)];
            let name = |context: u64| Some(rounds[context as usize / 10]);
            for round in rounds {
                bench.register(round, 1);
            }
            for context in [0, 10, 11, 12, 20, 21, 22] {
                bench.enters(context, name(context));
                bench.clocks(8);
            }
            bench.clocks(SETTLED);
            // The oldest one's list goes empty, and the next oldest becomes the youngest.
            assert_eq!(bench.leaves(None), 0);
            bench.clocks(delay);
            bench.register(rounds[1], 1);
            bench.clocks(SETTLED);
            let seen = order(bench, 9, name);
            let of_oldest = seen[1..].iter().filter(|context| **context >= 20).count();
            assert_eq!(of_oldest, 6, "{delay}: {seen:?}");
        }
    });
}

#[test]
fn gr6_random_messages_come_and_go() {
    come_and_go("grant_order::random", 1);
}

//= GR-7 test
#[test]
fn gr7_random_messages_of_any_length_come_and_go() {
    come_and_go("grant_order::random_lengths", 8);
}

/// Contexts of rounds and of none, which go to one of so many lists.
fn come_and_go(test: &str, lists: u64) {
    tb::run(test, &design(), |dut, rng: &mut Rng| {
        let bench = &mut Bench::new(dut);
        let names: Vec<Name> = (0..12).map(|_| (rng.bits(2) as u8, 500 + rng.below(6) as u16)).collect();
        let mut outside: Vec<u64> = (0..64).collect();
        let draw = |rng: &mut Rng| rng.chance(0.75).then(|| *rng.pick(&names));
        for _ in 0..6000 {
            for left in &mut bench.left {
                *left = rng.below(lists);
            }
            match rng.below(20) {
                0 => {
                    let name = *rng.pick(&names);
                    let messages = rng.below(3);
                    // A place that changes hands while somebody waits there keeps its list.
                    bench.register(name, messages);
                }
                1..=9 if !outside.is_empty() => {
                    let context = outside.swap_remove(rng.below(outside.len() as u64) as usize);
                    let name = draw(rng);
                    bench.enters(context, name);
                    let pause = rng.range(3..12);
                    bench.clocks(pause);
                }
                10 => bench.clocks(SETTLED + 10),
                11 => {
                    // Four in a row.
                    for _ in 0..4 {
                        let Some(context) = outside.pop() else { break };
                        let name = draw(rng);
                        bench.enters(context, name);
                    }
                    bench.clocks(16);
                }
                _ if bench.lists.values().any(|list| !list.is_empty()) => {
                    let again = rng.chance(0.6).then(|| draw(rng));
                    let context = bench.leaves(again);
                    if again.is_none() {
                        outside.push(context);
                    }
                    let pause = rng.range(8..30);
                    bench.clocks(pause);
                }
                _ => bench.clock(),
            }
        }
        while bench.lists.values().any(|list| !list.is_empty()) {
            bench.leaves(None);
            bench.clocks(8);
        }
        assert!(bench.served.len() == 64, "everybody was served: {}", bench.served.len());
        bench.clocks(SETTLED);
        assert!(bench.head.is_none(), "nobody is left");
    });
}

#[test]
fn gr6_a_round_alone_has_every_turn() {
    tb::run("grant_order::alone", &design(), |dut, _| {
        let bench = &mut Bench::new(dut);
        let rounds = [(5, 900), (5, 901)];
        for round in rounds {
            bench.register(round, 100);
        }
        // Others come and go first.
        for _ in 0..3 {
            for (context, round) in [(1, None), (2, Some(rounds[1])), (3, Some(rounds[0]))] {
                bench.enters(context, round);
                bench.clocks(6);
            }
            for _ in 0..3 {
                bench.leaves(None);
                bench.clocks(8);
            }
        }
        for context in [10, 11] {
            bench.enters(context, Some(rounds[1]));
            bench.clocks(6);
        }
        for turn in 0..12 {
            assert_eq!(bench.leaves(Some(Some(rounds[1]))), 10 + turn % 2);
            bench.clocks(if turn < 6 { SETTLED } else { 12 });
        }
    });
}

#[test]
fn gr6_only_a_rounds_doorbell_registers() {
    tb::run("grant_order::bells", &design(), |dut, _| {
        let bench = &mut Bench::new(dut);
        bench.register((1, 10), 1);
        for kind in 0..3u64 {
            for (port, value) in bench.bell.into_iter().zip([1, kind, 1, 20 + kind, 7]) {
                bench.dut.set(port, value);
            }
            bench.clock();
            bench.dut.set(bench.bell[0], 0u64);
            bench.clocks(10);
        }
        // Were they rounds, the one of kind 0 would be older than the others.
        for (context, round) in [(1, None), (4, Some((1, 22))), (3, Some((1, 21))), (2, Some((1, 20)))] {
            bench.enters(context, round);
            bench.clocks(6);
        }
        assert_eq!(bench.lists[&List::Rest(0)].len(), 4);
        bench.enters(5, Some((1, 10)));
        bench.clocks(SETTLED);
        for expected in [1, 5, 4, 3, 2] {
            assert_eq!(bench.leaves(None), expected);
            bench.clocks(SETTLED);
        }
    });
}

/// `turns` heads one after the other, each of which waits again at once.
fn order(bench: &mut Bench<'_>, turns: u64, name: impl Fn(u64) -> Option<Name>) -> Vec<u64> {
    let serve = |_| {
        while bench.head.is_none() {
            bench.clock();
        }
        let name = name(bench.head.unwrap());
        let context = bench.leaves(Some(name));
        bench.clocks(20);
        context
    };
    (0..turns).map(serve).collect()
}

//= GR-7 test
#[test]
fn gr7_the_lowest_list_has_three_turns_of_four() {
    tb::run("grant_order::lowest", &design(), |dut, _| {
        let bench = &mut Bench::new(dut);
        for (context, list) in [(10, 1), (11, 1), (50, 5), (30, 3), (60, 7)] {
            bench.left[context as usize] = list;
            bench.enters(context, None);
            bench.clocks(SEEN);
        }
        let seen = order(bench, 17, |_| None);
        assert_eq!(seen, [10, 11, 10, 30, 11, 10, 11, 50, 10, 11, 10, 60, 11, 10, 11, 30, 10]);
        // Who comes lower goes first, and whoever is on offer stays.
        bench.enters(0, None);
        bench.clocks(SEEN);
        assert_eq!(order(bench, 9, |_| None), [11, 0, 50, 0, 0, 0, 60, 0, 0]);
        // One goes over to another list as it waits again.
        bench.left[0] = 6;
        assert_eq!(order(bench, 13, |_| None), [0, 30, 10, 11, 10, 50, 11, 10, 11, 0, 10, 11, 10]);
    });
}

//= GR-7 test
#[test]
fn gr7_the_lists_of_no_round_have_one_turn_together() {
    tb::run("grant_order::together", &design(), |dut, _| {
        let bench = &mut Bench::new(dut);
        let name =
            |context: u64| [Some((2, 40)), Some((2, 41))].get(context as usize / 10).copied().flatten();
        bench.register((2, 40), 1);
        bench.register((2, 41), 1);
        for (context, list) in [(0, 6), (10, 5), (20, 1), (21, 1), (30, 3), (40, 7)] {
            bench.left[context as usize] = list;
            bench.enters(context, name(context));
            bench.clocks(SETTLED);
        }
        let seen = order(bench, 64, name);
        let of = |decade: u64| seen.iter().filter(|context| **context / 10 == decade).count();
        assert_eq!((of(0), of(1)), (48, 8), "{seen:?}");
        let rest: Vec<u64> = seen.iter().copied().filter(|context| *context >= 20).collect();
        assert_eq!(rest, [20, 21, 20, 30, 21, 20, 21, 40], "{seen:?}");
        // One of them that goes empty takes no turn from the others, and when all have, the
        // oldest round is alone.
        let mut left = Vec::new();
        for _ in 0..40 {
            while bench.head.is_none() {
                bench.clock();
            }
            let again = bench.head.filter(|head| *head < 10).map(name);
            let context = bench.leaves(again);
            if again.is_none() {
                left.push(context);
            }
            bench.clocks(20);
        }
        left.retain(|context| *context != 10);
        assert_eq!((left, bench.served[&10]), (vec![20, 21, 30, 40], 9));
    });
}

//= GR-7 test
#[test]
fn gr7_nobody_starves() {
    tb::run("grant_order::starve_lists", &design(), |dut, _| {
        let bench = &mut Bench::new(dut);
        for context in 0..40 {
            bench.left[context as usize] = context % 8;
            bench.enters(context, None);
            bench.clocks(6);
        }
        order(bench, 2000, |_| None);
        for list in 0..8 {
            let of_list = |(context, _): &(&u64, &u64)| *context % 8 == list;
            let turns: u64 = bench.served.iter().filter(of_list).map(|(_, turns)| turns).sum();
            let expected = if list == 0 { 1500 } else { 500 / 7 };
            assert!(turns.abs_diff(expected) <= 2, "list {list}: {turns} of {expected}");
        }
        let least = bench.served.values().min();
        assert!(bench.served.len() == 40 && *least.unwrap() >= 500 / 7 / 5, "{least:?}");
    });
}

#[test]
fn gr6_nobody_starves() {
    tb::run("grant_order::starve", &design(), |dut, _| {
        let bench = &mut Bench::new(dut);
        let name = |context: u64| match context {
            0..=9 => Some((2, 40)),
            10..=19 => Some((2, 41)),
            _ => None,
        };
        bench.register((2, 40), 1);
        bench.register((2, 41), 1);
        for context in 0..40 {
            bench.enters(context, name(context));
            bench.clocks(6);
        }
        // Whoever is served waits again, at once.
        for _ in 0..2000 {
            let head = loop {
                if let Some(head) = bench.head {
                    break head;
                }
                bench.clock();
            };
            bench.leaves(Some(name(head)));
            bench.clocks(4);
        }
        for context in 0..40 {
            // Turns of 4 x 2 lists x at most 20 in a list.
            let least = 2000 / (4 * 2 * 20) - 1;
            assert!(bench.served[&context] >= least, "{context}: {}", bench.served[&context]);
        }
        let of = |range: std::ops::Range<u64>| range.map(|c| bench.served[&c]).sum::<u64>();
        assert!((1490..=1510).contains(&of(0..10)), "{}", of(0..10));
        assert!((240..=260).contains(&of(10..20)), "{}", of(10..20));
    });
}
