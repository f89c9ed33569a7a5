//! `rx::MatchTable`: which receive a tag matches, in which order, and what is
//! told of it. Rules TM-1 to TM-6.

mod bench;
mod hashes;

use std::collections::VecDeque;

use bench::{design, Ask, Bench, Held, CANCELLED, ENDED, NONE, POSTED, SMALL, TINY, UNEXPECTED};
use tessera_abi::params::NIC512;
use tessera_abi::status::Status;
use tessera_rtl::rx::MatchTable;
use tessera_sim::tb::{self, Pattern, Rng};

//= TM-2 test
#[test]
fn equal_tags_match_in_the_order_posted() {
    tb::run("match_table::order", &design("match_table", &SMALL), |dut, rng| {
        let mut bench = Bench::new(dut, &SMALL, Pattern::Always, Pattern::Always, rng);
        for entry in 0..12 {
            bench.receive(entry as u8 % 2, 5 + u64::from(entry / 6), entry);
        }
        bench.rest();
        for (endpoint, tag, expected) in [(0, 5, [0, 2, 4]), (1, 5, [1, 3, 5]), (1, 6, [7, 9, 11])] {
            for entry in expected {
                assert_eq!(bench.answer(endpoint, tag).map(|held| held.entry), Some(entry));
                bench.settle(true, 0);
            }
            assert_eq!(bench.answer(endpoint, tag), None);
            bench.settle(false, 0);
        }
        // All 64 bits of the tag count, and the endpoint.
        for bit in 0..64 {
            assert_eq!(bench.answer(0, 6 ^ 1 << bit), None);
            bench.settle(false, 0);
        }
        assert_eq!(bench.answer(2, 6), None);
        bench.settle(true, 77);
        bench.rest();
        assert_eq!(bench.told.last(), Some(&(UNEXPECTED, 0)));
        // What is answered and not opened stays.
        for _ in 0..3 {
            assert_eq!(bench.answer(0, 6).map(|held| held.entry), Some(6));
            bench.settle(false, 0);
        }
        // Six of them the ask's own, the others a sweep step's.
        assert!(bench.slowest <= 15, "{} clocks to an answer", bench.slowest);
    });
}

//= TM-4 test
#[test]
fn a_cancel_takes_exactly_its_receive() {
    tb::run("match_table::cancel", &design("match_table", &SMALL), |dut, rng| {
        for first in [0usize, 2, 4] {
            let mut bench = Bench::new(dut, &SMALL, Pattern::Always, Pattern::Always, rng);
            for entry in 0..5 {
                bench.receive(1, 9, entry);
            }
            bench.rest();
            let list: Vec<Held> = bench.held[&(1, 9)].iter().copied().collect();
            let cancelled = list[first];
            // Another endpoint's, another tag's, another entry's: none of its business.
            for (endpoint, tag, target) in
                [(2, 9, cancelled.entry), (1, 8, cancelled.entry), (1, 9, cancelled.entry + 1)]
            {
                bench.cancel(endpoint, tag, 100, cancelled.handle, target);
            }
            bench.cancel(1, 9, 101, cancelled.handle, cancelled.entry);
            bench.cancel(1, 9, 102, cancelled.handle, cancelled.entry);
            bench.rest();
            let ends: Vec<u64> = bench.told[5..].iter().map(|told| told.1).collect();
            let missed = Status::NotPosted as u64;
            assert_eq!(ends, [missed, missed, missed, 0, missed]);
            // The list is whole around the gap, and goes on.
            bench.receive(1, 9, 5);
            bench.rest();
            let order: Vec<u16> = (0..6).filter(|entry| *entry != first as u16).collect();
            for entry in order {
                assert_eq!(bench.answer(1, 9).map(|held| held.entry), Some(entry));
                bench.settle(true, 0);
            }
            assert_eq!(bench.answer(1, 9), None);
            bench.settle(false, 0);
        }
    });
}

/// A table for no receives still answers, settles and refuses, and tells of what is unexpected.
#[test]
fn without_a_table_every_post_is_refused() {
    let design = design("match_table_none", &NONE);
    for (idle, stall) in Pattern::matrix() {
        tb::run(&format!("match_table::none {idle:?} {stall:?}"), &design, |dut, rng| {
            let mut bench = Bench::new(dut, &NONE, idle, stall, rng);
            let mut fulls = 0;
            for entry in 0..200 {
                let endpoint = rng.range(0..4) as u8;
                match rng.below(5) {
                    0 => {
                        bench.receive(endpoint, 9, entry);
                        fulls += 1;
                    }
                    1 => bench.cancel(endpoint, 9, entry, rng.bits(16) as u16, entry),
                    2 => bench.endpoint(endpoint, true, rng.below(3) as usize),
                    _ => {
                        assert_eq!(bench.answer(endpoint, 9), None);
                        bench.settle(rng.chance(0.5), entry);
                    }
                }
            }
            bench.rest();
            assert_eq!(bench.fulls, fulls);
            for (event, status) in &bench.told {
                let refused = (*event, *status) == (ENDED, Status::NoTagSpace as u64);
                let missed = (*event, *status) == (CANCELLED, Status::NotPosted as u64);
                assert!(refused || missed || *event == UNEXPECTED, "{event} {status}");
            }
        });
    }
}

/// Node memories are as deep as the table, handles 16 bits wide.
//= TM-4 test
#[test]
fn a_handle_beyond_the_table_names_no_receive() {
    for (config, name) in [(&SMALL, "match_table"), (&TINY, "match_table_tiny")] {
        tb::run(&format!("match_table::beyond {name}"), &design(name, config), |dut, rng| {
            let mut bench = Bench::new(dut, config, Pattern::Always, Pattern::Always, rng);
            // Alone under its key, and one of three.
            for (entry, tag) in [(0, 4), (1, 9), (2, 9), (3, 9)] {
                bench.receive(1, tag, entry);
            }
            bench.rest();
            for (tag, at) in [(4, 0), (9, 0), (9, 1), (9, 2)] {
                let held = bench.held[&(1, tag)][at];
                for bit in config.tagged_log2..16 {
                    bench.cancel(1, tag, 100 + bit as u16, held.handle | 1 << bit, held.entry);
                }
            }
            bench.rest();
            let missed = (CANCELLED, Status::NotPosted as u64);
            assert!(bench.told[4..].iter().all(|told| *told == missed), "{:?}", bench.told);
            // Nothing has changed: each matches in its turn, and there are as many numbers as places.
            for (tag, entry) in [(4, 0), (9, 1)] {
                assert_eq!(bench.answer(1, tag).map(|held| held.entry), Some(entry));
                bench.settle(true, 0);
            }
            for entry in 0..bench.capacity as u16 - 1 {
                bench.receive(2, 9, 200 + entry);
            }
            bench.rest();
            let refused = bench.told.iter().filter(|told| told.0 == ENDED).count();
            assert_eq!(refused, 1);
            for (endpoint, entries) in [(1, 2..4), (2, 200..200 + bench.capacity as u16 - 2)] {
                for entry in entries {
                    assert_eq!(bench.answer(endpoint, 9).map(|held| held.entry), Some(entry));
                    bench.settle(true, 0);
                }
                assert_eq!(bench.answer(endpoint, 9), None);
                bench.settle(false, 0);
            }
        });
    }
}

/// The node that a cancel names is compared in parts, and its key is found whoever's node that is.
//= TM-4 test
#[test]
fn a_cancel_under_another_key_takes_nothing() {
    tb::run("match_table::another_key", &design("match_table", &SMALL), |dut, rng| {
        let mut bench = Bench::new(dut, &SMALL, Pattern::Always, Pattern::Always, rng);
        let others: Vec<(u8, u64)> =
            [0, 31, 32, 63].iter().map(|bit| (1, 9 ^ 1 << bit)).chain([(2, 9)]).collect();
        // All of one entry number, so that the key alone tells them apart.
        bench.receive(1, 9, 7);
        for (endpoint, tag) in &others {
            bench.receive(*endpoint, *tag, 7);
        }
        bench.rest();
        let named = bench.held[&(1, 9)][0];
        for (endpoint, tag) in &others {
            bench.cancel(*endpoint, *tag, 100, named.handle, named.entry);
        }
        bench.rest();
        let missed = (CANCELLED, Status::NotPosted as u64);
        assert_eq!(bench.told[1 + others.len()..], vec![missed; others.len()]);
        bench.cancel(1, 9, 101, named.handle, named.entry);
        bench.rest();
        assert_eq!(bench.told.last(), Some(&(CANCELLED, 0)));
    });
}

//= TM-3 test
#[test]
fn without_room_or_quota_a_post_is_refused_and_counted() {
    tb::run("match_table::full", &design("match_table_tiny", &TINY), |dut, rng| {
        let mut bench = Bench::new(dut, &TINY, Pattern::Always, Pattern::Always, rng);
        bench.endpoint(1, true, 2);
        bench.endpoint(3, false, 0);
        for entry in 0..3 {
            bench.receive(1, u64::from(entry), entry);
        }
        bench.receive(3, 1, 3);
        for entry in 4..11 {
            bench.receive(0, 1 << entry, entry);
        }
        bench.rest();
        let (posted, refused, odd) =
            ((POSTED, 0), (ENDED, Status::NoTagSpace as u64), (ENDED, Status::BadRequest as u64));
        assert_eq!(bench.told[..4], [posted, posted, refused, odd]);
        assert_eq!(bench.told[4..], [[posted; 6].as_slice(), &[refused]].concat());
        assert_eq!(bench.fulls, 2);
        // One taken gives room again, to its endpoint's quota too.
        assert!(bench.answer(1, 0).is_some());
        bench.settle(true, 0);
        bench.receive(1, 50, 20);
        bench.receive(1, 51, 21);
        bench.rest();
        assert_eq!(bench.told[11..], [posted, refused]);
    });
}

//= TM-5 test
#[test]
fn a_new_life_finds_nothing_of_the_last() {
    tb::run("match_table::life", &design("match_table", &SMALL), |dut, rng| {
        let mut bench = Bench::new(dut, &SMALL, Pattern::Always, Pattern::Always, rng);
        for entry in 0..20 {
            bench.receive(entry as u8 % 2, u64::from(entry / 4), entry);
        }
        bench.rest();
        let old = bench.held[&(0, 0)][0];
        bench.endpoint(0, true, 0);
        assert_eq!(bench.dut.sampled(bench.ports.purging), 1);
        assert_eq!(bench.answer(0, 0), None, "at once");
        bench.settle(false, 0);
        bench.cancel(0, 0, 90, old.handle, old.entry);
        bench.receive(0, 0, 91);
        bench.rest();
        assert_eq!(bench.told[20..], [(CANCELLED, Status::NotPosted as u64), (POSTED, 0)]);
        let begin = bench.dut.cycles();
        while bench.dut.sampled(bench.ports.purging) != 0 {
            bench.clock();
            assert!(bench.dut.cycles() < begin + 600, "the sweep never ends");
        }
        // Every place is back but those of the living.
        let living: usize = bench.held.values().map(VecDeque::len).sum();
        assert_eq!(living, 11);
        for entry in 0..(bench.capacity - living) as u16 + 1 {
            bench.receive(2, 7, 200 + entry);
        }
        bench.rest();
        let refused = bench.told.iter().filter(|told| told.0 == ENDED).count();
        assert_eq!(refused, 1);
        assert_eq!(bench.answer(0, 0).map(|held| held.entry), Some(91));
        bench.settle(true, 0);
        assert_eq!(bench.answer(1, 0).map(|held| held.entry), Some(1), "the other endpoint lives on");
        bench.settle(true, 0);
    });
}

/// With the same seed, and lives counted from the start again, anything that a
/// reset left in the tables would be found.
#[test]
fn a_reset_forgets_every_receive() {
    tb::run("match_table::reset", &design("match_table", &SMALL), |dut, rng| {
        let mut again = rng.clone();
        let mut bench = Bench::new(dut, &SMALL, Pattern::Always, Pattern::Always, rng);
        for entry in 0..28 {
            bench.receive(entry as u8 % 4, entry.into(), entry);
        }
        bench.rest();
        assert!(bench.told.iter().filter(|told| told.0 == POSTED).count() > 20);
        let mut bench = Bench::new(dut, &SMALL, Pattern::Always, Pattern::Always, &mut again);
        for entry in 0..28u64 {
            assert_eq!(bench.answer(entry as u8 % 4, entry), None);
            bench.settle(false, 0);
        }
    });
}

fn random(bench: &mut Bench, rng: &mut Rng, rounds: u64) {
    bench.endpoint(1, true, 3);
    bench.endpoint(3, false, 0);
    let mut entry = 0u16;
    let mut known: Vec<(u8, u64, Held)> = Vec::new();
    for _ in 0..rounds {
        if bench.offered.len() < 3 && rng.chance(0.3) {
            let (endpoint, tag) = (rng.below(4) as u8, 1 << rng.below(6));
            entry = entry.wrapping_add(1);
            if rng.chance(0.3) && !known.is_empty() {
                let (endpoint, tag, held) = *rng.pick(&known);
                // Some name a place that no table of this size has.
                let beyond =
                    if rng.chance(0.3) { (rng.bits(16) as u16) & !(bench.capacity as u16 - 1) } else { 0 };
                bench.cancel(endpoint, tag, entry, held.handle | beyond, held.entry);
            } else {
                bench.receive(endpoint, tag, entry);
            }
        }
        match bench.ask {
            Ask::Idle if rng.chance(0.3) => bench.ask(rng.below(3) as u8, 1 << rng.below(6)),
            Ask::Idle if rng.chance(0.01) => {
                let index = rng.below(3) as u8;
                let quota = bench.quotas[&index];
                bench.endpoint(index, true, quota);
            }
            Ask::Known(..) if rng.chance(0.5) => {
                let open = rng.chance(0.7);
                bench.settle(open, entry);
            }
            // Judged without its answer.
            Ask::Open(..) if rng.chance(0.05) => bench.settle(false, 0),
            _ => {}
        }
        bench.clock();
        if rng.chance(0.05) {
            let all = bench.held.iter().flat_map(|((e, t), list)| list.iter().map(|held| (*e, *t, *held)));
            known = all.collect();
        }
    }
    if let Ask::Open(..) | Ask::Known(..) = bench.ask {
        bench.settle(false, 0);
    }
    bench.rest();
}

//= TM-1 test
#[test]
fn random_posts_asks_and_cancels_match_the_reference() {
    for (config, name) in [(&SMALL, "match_table"), (&TINY, "match_table_tiny")] {
        let design = design(name, config);
        for (idle, stall) in Pattern::matrix() {
            tb::run(&format!("match_table::random {name} {idle:?} {stall:?}"), &design, |dut, rng| {
                let mut bench = Bench::new(dut, config, idle, stall, rng);
                random(&mut bench, rng, 6000);
                for event in [ENDED, POSTED, UNEXPECTED, CANCELLED] {
                    assert!(bench.told.iter().any(|told| told.0 == event), "event {event} never came");
                }
                for status in [Status::Success, Status::NotPosted] {
                    assert!(bench.told.contains(&(CANCELLED, status as u64)));
                }
            });
        }
    }
}

#[test]
fn the_full_size_elaborates_and_clears() {
    let design = tessera_testbenches::design("match_table_nic512", || MatchTable::new(&NIC512));
    tb::run("match_table::full_size", &design, |dut, _| {
        let [rst, ready] = ["rst", "ready"].map(|name| dut.port(name).unwrap());
        dut.set(rst, 1u64);
        dut.clock_by(2);
        dut.set(rst, 0u64);
        let start = dut.cycles();
        while dut.sampled(ready) == 0 {
            dut.clock();
            assert!(dut.cycles() < start + (1 << NIC512.tagged_log2) + 8);
        }
    });
}
