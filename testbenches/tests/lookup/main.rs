//! `rx::Lookup`: rules RO-1 to RO-8 against an independent reference.

mod bench;
mod record;
mod reference;

use std::cell::RefCell;
use std::collections::BTreeMap;

use bench::{design, Bench, SMALL, TIGHT, WIDE};
use reference::{Held, Posted};
use tessera_abi::params::NIC512;
use tessera_abi::status::Status;
use tessera_abi::wire::{fb, flag};
use tessera_rtl::rx::Lookup;
use tessera_sim::tb::{self, Pattern, Rng};
use tessera_sim::verilator::{BuildOptions, Dut, Model};

const ALWAYS: [Pattern; 3] = [Pattern::Always; 3];
const TIME_WAIT: u64 = 5000;
const KEY: (u128, u128, u128) = (0xffff_0a00_0001, 0x12_3456, 0x789);
/// Shortly before time wraps.
const START: u64 = 0xffff_f000;

fn small<'a>(dut: &'a mut Dut, rng: &mut Rng) -> Bench<'a> {
    Bench::new(dut, &SMALL, TIME_WAIT, START, ALWAYS, rng)
}

fn post_all(bench: &mut Bench, count: u16) {
    for endpoint in 0..4 {
        for entry in 0..count {
            let address = u64::from(entry) << 20 | u64::from(endpoint);
            bench.post(endpoint, Posted { address, length: 1 << 20, entry, area: None });
        }
    }
}

/// One packet, alone; returns the event it counts as.
fn one(bench: &mut Bench, generation: u32, flags: u8, rng: &mut Rng) -> Option<&'static str> {
    let packet = bench.some_packet(KEY, generation, flags, rng);
    bench.offer(packet);
    bench.settle();
    bench.last.event
}

#[test]
fn ro_6_back_to_back_first_packets_open_once() {
    tb::run("lookup::first", &design("lookup", &SMALL), |dut, rng| {
        let mut bench = small(dut, rng);
        post_all(&mut bench, 8);
        for message in 0..8 {
            for _ in 0..5 {
                let packet = bench.some_packet((1, 2, message), 9, 0, rng);
                bench.offer(packet);
            }
        }
        bench.settle();
        assert_eq!(bench.reference.events["opened"], 8);
        assert_eq!(bench.reference.free.len(), 8);
    });
}

#[test]
fn ro_2_and_ro_3_tombstones_repeat_and_older_is_stale() {
    tb::run("lookup::repeat", &design("lookup", &SMALL), |dut, rng| {
        for status in [Status::Success, Status::GaveUp, Status::RemoteDma] {
            let mut bench = small(dut, rng);
            post_all(&mut bench, 1);
            assert_eq!(one(&mut bench, 7, 0, rng), Some("opened"));
            assert_eq!(one(&mut bench, 7, 0, rng), None);
            assert_eq!(one(&mut bench, 6, 0, rng), Some("stale"));
            bench.retire(0, true, status as u8, false);
            bench.settle();
            assert_eq!(one(&mut bench, 7, 0, rng), Some("finished"));
            assert_eq!(one(&mut bench, 7, flag::EST, rng), Some("finished"));
            assert_eq!(one(&mut bench, 6, 0, rng), Some("stale"));
            assert_eq!(one(&mut bench, 6, flag::EST, rng), Some("stale"));
        }
    });
}

#[test]
fn ro_4_newer_generation_waits_for_the_unfinished_one() {
    tb::run("lookup::replace", &design("lookup", &SMALL), |dut, rng| {
        let mut bench = small(dut, rng);
        post_all(&mut bench, 2);
        assert_eq!(one(&mut bench, 7, 0, rng), Some("opened"));
        // The first newer packet sends it away, the next ones only wait.
        for _ in 0..3 {
            assert_eq!(one(&mut bench, 8, 0, rng), Some("busy_resources"));
        }
        assert_eq!(bench.reference.contexts(), [(0, true)]);
        assert_eq!(one(&mut bench, 7, 0, rng), None, "the old one is still found");
        bench.retire(0, true, Status::Replaced as u8, true);
        bench.settle();
        assert_eq!(one(&mut bench, 7, 0, rng), Some("finished"));
        assert_eq!(one(&mut bench, 8, 0, rng), Some("opened"));
        assert_eq!(one(&mut bench, 7, 0, rng), Some("stale"));
        assert_eq!(bench.tombstones(), 0);
    });
}

#[test]
fn ro_4_a_tombstone_stays_while_the_newer_one_is_refused() {
    tb::run("lookup::stays", &design("lookup", &SMALL), |dut, rng| {
        let mut bench = small(dut, rng);
        bench.post(0, Posted { address: 0, length: 1 << 20, entry: 0, area: None });
        let mut packet = bench.some_packet(KEY, 7, 0, rng);
        packet.set("endpoint", 0);
        bench.offer(packet);
        bench.settle();
        bench.retire(0, true, 0, true);
        bench.settle();
        assert_eq!(one(&mut bench, 8, 0, rng), Some("busy_receive"));
        assert_eq!(one(&mut bench, 7, 0, rng), Some("finished"));
        assert_eq!(one(&mut bench, 8, flag::EST, rng), Some("no_context"));
        assert_eq!(one(&mut bench, 7, 0, rng), Some("finished"));
    });
}

#[test]
fn ro_6_every_refusal_in_its_order() {
    tb::run("lookup::refusals", &design("lookup", &SMALL), |dut, rng| {
        let mut bench = small(dut, rng);
        assert_eq!(one(&mut bench, 1, flag::EST, rng), Some("no_context"));
        assert_eq!(one(&mut bench, 1, 0, rng), Some("busy_receive"));
        // No block comes before no receive. The input counts from the packet after.
        bench.reference.block_available = false;
        one(&mut bench, 1, flag::EST, rng);
        assert_eq!(one(&mut bench, 1, 0, rng), Some("busy_resources"));
        bench.reference.block_available = true;
        one(&mut bench, 1, flag::EST, rng);
        // Too short: not consumed, and remembered.
        for endpoint in 0..4 {
            bench.post(endpoint, Posted { address: 1, length: 99, entry: 3, area: None });
        }
        let mut long = bench.some_packet(KEY, 1, 0, rng);
        long.set("length", 100);
        bench.offer(long);
        bench.settle();
        assert_eq!(bench.last.event, None);
        assert_eq!(bench.tombstones(), 1);
        assert_eq!(one(&mut bench, 1, 0, rng), Some("finished"));
        // The receive is still there, and exactly long enough for this one.
        let mut fits = bench.some_packet(KEY, 2, 0, rng);
        fits.set("length", 99);
        bench.offer(fits);
        bench.settle();
        assert_eq!(bench.last.event, Some("opened"));
        assert_eq!(bench.tombstones(), 0);
    });
}

//= HR-1 test
//= HR-2 test
#[test]
fn hr_2_an_area_takes_part_of_the_receive() {
    tb::run("lookup::areas", &design("lookup", &SMALL), |dut, rng| {
        let mut bench = small(dut, rng);
        let mut slot = 0;
        // Packets, length, flags, and what becomes of it: its status, or whether it is host-recovered.
        const HOST: u8 = flag::HOST_RECOVERY;
        let cases = [
            (1, 100, HOST, Ok(0)),
            (256, 1000, HOST, Ok(1)),
            (256, 1000, 0, Ok(0)),
            (257, 1000, HOST, Err(())),
            (257, 1000, 0, Ok(0)),
            (2, 1001, 0, Err(())),
            (2, 1001, HOST, Err(())),
            (300, 5000, HOST | flag::WRITE | flag::IMM, Ok(0)),
        ];
        for (count, length, flags, expected) in cases {
            slot += 1;
            // One block of bits for chunks of one packet.
            let area = Some((0, 0));
            bench.post(2, Posted { address: 1 << 12, length: 1064, entry: slot as u16, area });
            let mut packet = bench.some_packet((3, 3, slot), 5, flags, rng);
            for (field, value) in [("endpoint", 2), ("count", count), ("length", length), ("denied", 0)] {
                packet.set(field, value);
            }
            bench.offer(packet);
            bench.settle();
            let seen = bench.last.work.as_ref().filter(|work| work.get("verdict") == 1);
            match (expected, seen) {
                (Ok(host), Some(work)) => assert_eq!(work.get("host"), host, "{count} packets"),
                (Err(()), None) => {
                    let answer = bench.last.feedback.as_ref().expect("it is told");
                    assert_eq!(answer.get("status"), tessera_abi::status::Status::Length as u128);
                    // It is still there, for who fits.
                    let mut fits = bench.some_packet((4, 4, slot), 5, 0, rng);
                    for (field, value) in [("endpoint", 2), ("count", 1), ("length", 10)] {
                        fits.set(field, value);
                    }
                    bench.offer(fits);
                    bench.settle();
                    assert_eq!(bench.last.event, Some("opened"));
                }
                other => panic!("{count} packets of {length} bytes: {other:?}"),
            }
        }
    });
}

//= WR-1 test
#[test]
fn wr_1_writes_open_without_a_receive_and_denied_ones_are_barred() {
    tb::run("lookup::writes", &design("lookup", &SMALL), |dut, rng| {
        let mut bench = small(dut, rng);
        let mut write = |bench: &mut Bench, slot: u128, flags: u8, denied: u128, payload: bool| {
            let mut packet = bench.some_packet((3, 3, slot), 5, flags | flag::WRITE, rng);
            packet.set("denied", denied);
            packet.set("endpoint", 1);
            if !payload {
                packet.set("payload_len", 0);
            }
            bench.offer(packet);
            bench.settle();
            bench.last.event
        };
        assert_eq!(write(&mut bench, 1, 0, 0, true), Some("opened"));
        // With an immediate a receive is needed, but no room in it.
        assert_eq!(write(&mut bench, 2, flag::IMM, 0, true), Some("busy_receive"));
        bench.post(1, Posted { address: 0, length: 0, entry: 9, area: None });
        assert_eq!(write(&mut bench, 2, flag::IMM, 0, true), Some("opened"));
        assert_eq!(write(&mut bench, 3, flag::IMM, 0, true), Some("busy_receive"), "it was consumed");
        // Not permitted: for good, whatever is posted; it comes before the receive.
        for (slot, payload) in [(4, true), (5, false)] {
            assert_eq!(write(&mut bench, slot, flag::IMM, 1, payload), None);
            assert_eq!(write(&mut bench, slot, flag::IMM, 0, true), Some("finished"));
        }
        assert_eq!(bench.tombstones(), 2);
        // An open one is found, and told that its rights are gone.
        assert_eq!(write(&mut bench, 1, 0, 1, true), None);
        assert_eq!(
            bench.last.work.as_ref().map(|work| (work.get("verdict"), work.get("denied"))),
            Some((0, 1))
        );
        // Without room it is BUSY as others are, and counted as that.
        bench.reference.block_available = false;
        write(&mut bench, 6, flag::EST, 1, true);
        assert_eq!(write(&mut bench, 6, 0, 1, true), Some("busy_resources"));
    });
}

#[test]
fn ro_6_contexts_and_tombstone_places_run_out() {
    tb::run("lookup::places", &design("lookup", &SMALL), |dut, rng| {
        let mut bench = small(dut, rng);
        post_all(&mut bench, 100);
        for slot in 0..17 {
            let packet = bench.some_packet((5, 5, slot), 0, 0, rng);
            bench.offer(packet);
        }
        bench.settle();
        // Places in the tables permitting: sixteen contexts, the 17th waits.
        assert_eq!(bench.reference.events["opened"] + bench.reference.events["busy_conflict"], 16);
        assert!(bench.reference.events["busy_resources"] >= 1);
        let mut slot = 100;
        while bench.reference.tombstones() < SMALL.tombstones {
            for (context, _) in bench.reference.contexts() {
                bench.retire(context, true, 0, true);
            }
            bench.settle();
            for _ in 0..4 {
                let packet = bench.some_packet((6, 6, slot), 0, 0, rng);
                slot += 1;
                bench.offer(packet);
            }
            bench.settle();
            assert!(slot < 1000, "the tombstone limit is never met");
            assert!(bench.reference.tombstones() + bench.reference.contexts().len() <= SMALL.tombstones);
        }
        let refused = bench.reference.events["busy_resources"];
        let packet = bench.some_packet((6, 6, 2000), 0, 0, rng);
        bench.offer(packet);
        bench.settle();
        let conflict = bench.last.event == Some("busy_conflict");
        assert!(conflict || bench.reference.events["busy_resources"] == refused + 1);
        bench.expire(SMALL.table_sets_log2);
        assert_eq!(bench.tombstones(), 0);
        assert_eq!(bench.reference.free.len(), 16);
    });
}

#[test]
fn generations_compare_modulo_two_to_the_twenty() {
    const TOP: u32 = (1 << 20) - 1;
    tb::run("lookup::generation", &design("lookup", &SMALL), |dut, rng| {
        for (held, next, newer) in [
            (TOP, 0, true),
            (0, TOP, false),
            (5, 5 + (1 << 19) - 1, true),
            (5, 5 + (1 << 19), false),
            (TOP - 3, (1 << 19) - 5, true),
            (TOP - 3, (1 << 19) - 4, false),
            (1 << 19, 0, false),
            (1 << 19, TOP, true),
        ] {
            let mut bench = small(dut, rng);
            post_all(&mut bench, 2);
            one(&mut bench, held, 0, rng);
            bench.retire(0, true, 0, true);
            bench.settle();
            let event = one(&mut bench, next, 0, rng);
            assert_eq!(event, Some(if newer { "opened" } else { "stale" }), "{held:x} then {next:x}");
        }
    });
}

#[test]
fn tombstones_live_their_time() {
    tb::run("lookup::time", &design("lookup", &SMALL), |dut, rng| {
        for start in [1000, START, (1 << 32) - TIME_WAIT - 100] {
            let mut bench = Bench::new(dut, &SMALL, TIME_WAIT, start, ALWAYS, rng);
            post_all(&mut bench, 4);
            one(&mut bench, 7, 0, rng);
            bench.retire(0, true, 0, true);
            bench.settle();
            let buried = bench.now;
            let mut gone_after = None;
            // Eight clocks per tick; a sweep of eight sets takes fewer than 64.
            while gone_after.is_none() {
                for _ in 0..8 {
                    bench.clock();
                }
                bench.now += 1;
                if bench.tombstones() == 0 {
                    gone_after = Some(bench.now - buried);
                }
                assert!(bench.now - buried < 2 * TIME_WAIT, "the tombstone stays");
            }
            let gone_after = gone_after.unwrap();
            assert!((TIME_WAIT..TIME_WAIT + 256 + 16).contains(&gone_after), "{gone_after} ticks");
            bench.reference.expire(bench.now + TIME_WAIT);
            assert_eq!(one(&mut bench, 7, flag::EST, rng), Some("no_context"));
            assert_eq!(one(&mut bench, 7, 0, rng), Some("opened"), "forgotten, so it opens again");
        }
    });
}

/// One RELEASE, alone.
fn released(bench: &mut Bench, generation: u32, rng: &mut Rng) -> Option<&'static str> {
    let packet = bench.some_release(KEY, generation, rng);
    bench.offer(packet);
    bench.settle();
    bench.last.event
}

/// Ticks from now on until no tombstone is left.
fn gone_after(bench: &mut Bench) -> u64 {
    let start = bench.now;
    while bench.tombstones() != 0 {
        for _ in 0..8 {
            bench.clock();
        }
        bench.now += 1;
        assert!(bench.now - start < 2 * TIME_WAIT, "the tombstone stays");
    }
    let passed = bench.now - start;
    bench.reference.expire(bench.now + 2 * TIME_WAIT);
    passed
}

//= RL-2 test
#[test]
fn rl_2_a_release_shortens_a_tombstone_to_mpl() {
    const MPL: u64 = 700;
    const LATE: u64 = 256 + 16;
    tb::run("lookup::release", &design("lookup", &SMALL), |dut, rng| {
        for start in [1000, START, (1 << 32) - 100] {
            let mut bench = Bench::new(dut, &SMALL, TIME_WAIT, start, ALWAYS, rng);
            bench.releases(MPL, 0);
            post_all(&mut bench, 8);
            let mut generation = 7;
            let mut ended = |bench: &mut Bench, status: Status, rng: &mut Rng| {
                generation += 1;
                assert_eq!(one(bench, generation, 0, rng), Some("opened"));
                let context = bench.contexts()[0].0;
                bench.retire(context, true, status as u8, true);
                bench.settle();
                generation
            };
            // Released at once: it lives MPL, and repeats its status as long.
            let same = ended(&mut bench, Status::GaveUp, rng);
            assert_eq!(released(&mut bench, same, rng), None);
            assert_eq!(one(&mut bench, same, 0, rng), Some("finished"));
            let lived = gone_after(&mut bench);
            assert!((MPL - 16..MPL + LATE).contains(&lived), "{lived} ticks");
            // Of another generation: stale, or nothing at all.
            let same = ended(&mut bench, Status::Success, rng);
            assert_eq!(released(&mut bench, same - 1, rng), Some("stale"));
            assert_eq!(released(&mut bench, same + 1, rng), None);
            // Shortly before its time: not lengthened, however often it is said.
            let mut waited = 0;
            while waited < TIME_WAIT - MPL / 2 {
                for _ in 0..8 {
                    bench.clock();
                }
                bench.now += 1;
                waited += 1;
            }
            assert_eq!(released(&mut bench, same, rng), None);
            assert_eq!(released(&mut bench, same, rng), None);
            let lived = waited + gone_after(&mut bench);
            assert!((TIME_WAIT..TIME_WAIT + LATE).contains(&lived), "{lived} ticks");
            // An open message is sent away, once; what ends so lives MPL.
            generation = same;
            generation += 1;
            assert_eq!(one(&mut bench, generation, 0, rng), Some("opened"));
            assert_eq!(released(&mut bench, generation - 1, rng), Some("stale"));
            assert_eq!(released(&mut bench, generation + 1, rng), None);
            assert!(bench.last.work.is_none());
            assert_eq!(released(&mut bench, generation, rng), None);
            assert!(bench.last.work.is_some());
            assert_eq!(released(&mut bench, generation, rng), None);
            assert!(bench.last.work.is_none(), "once");
            assert_eq!(one(&mut bench, generation + 1, 0, rng), Some("busy_resources"));
            let context = bench.contexts()[0].0;
            bench.retire(context, true, Status::Released as u8, true);
            bench.settle();
            assert_eq!(one(&mut bench, generation, 0, rng), Some("finished"));
            let lived = gone_after(&mut bench);
            assert!((MPL - 16..MPL + LATE).contains(&lived), "{lived} ticks");
            // Of a message that nobody knows: nothing, and it may still open.
            assert_eq!(released(&mut bench, generation + 5, rng), None);
            assert_eq!(one(&mut bench, generation + 5, 0, rng), Some("opened"));
        }
    });
}

//= RE-2 test
#[test]
fn re_2_a_reclaimed_endpoints_contexts_are_sent_away_and_no_others() {
    tb::run("lookup::reclaim", &design("lookup", &SMALL), |dut, rng| {
        let mut bench = small(dut, rng);
        post_all(&mut bench, 20);
        // Contexts of four endpoints, some of them used before.
        for round in 0..3u128 {
            for slot in 0..12 {
                let mut packet = bench.some_packet((4 + round, 4, slot), 1, 0, rng);
                packet.set("endpoint", slot % 4);
                bench.offer(packet);
            }
            bench.settle();
            let mine: Vec<u64> = bench
                .reference
                .owners
                .iter()
                .filter(|(_, owner)| **owner == 2)
                .map(|(number, _)| *number)
                .collect();
            assert!(!mine.is_empty());
            let others = bench.reference.contexts().len() - mine.len();
            let mut sent_away = bench.reclaim(2);
            sent_away.sort_unstable();
            assert_eq!(sent_away, mine, "each once, and nobody else's");
            assert_eq!(bench.reference.contexts().len(), others);
            // It opens again afterwards, its old messages are remembered.
            let mut packet = bench.some_packet((4 + round, 4, 2), 1, 0, rng);
            packet.set("endpoint", 2);
            bench.offer(packet);
            bench.settle();
            assert_eq!(bench.last.event, Some("finished"));
            assert_eq!(bench.reclaim(2), Vec::<u64>::new(), "nothing is left");
            for (context, _) in bench.contexts() {
                bench.retire(context, true, 0, true);
            }
            bench.settle();
        }
    });
}

//= RL-3 test
#[test]
fn rl_3_copies_are_answered_with_the_wish_while_places_are_few() {
    tb::run("lookup::low", &design("lookup", &SMALL), |dut, rng| {
        for low in 0..=7 {
            let mut bench = small(dut, rng);
            bench.releases(700, low);
            post_all(&mut bench, 100);
            assert_eq!(one(&mut bench, 7, 0, rng), Some("opened"));
            bench.retire(0, true, 0, true);
            bench.settle();
            let mut wished = 0;
            for slot in 0..39u128 {
                let packet = bench.some_packet((1000 + slot, 6, 1 + slot), 3, 0, rng);
                bench.offer(packet);
                bench.settle();
                for (context, _) in bench.contexts() {
                    bench.retire(context, true, 0, true);
                }
                bench.settle();
                assert_eq!(one(&mut bench, 7, 0, rng), Some("finished"));
                let flags = bench.last.feedback.as_ref().map_or(0, |word| word.get("flags"));
                wished += u32::from(flags as u8 & fb::RELEASE_REQ != 0);
            }
            let few = SMALL.tombstones >> low;
            let possible = low != 0 && few > 0;
            assert!(possible || wished == 0, "{wished} of 39 at {low}");
            // Conflicts may keep the last places free.
            assert!(!possible || few < 3 || wished > 0, "never at {low}");
        }
    });
}

#[test]
fn conflicts_are_refused_and_lose_nobody() {
    tb::run("lookup::conflict", &design("lookup_tight", &TIGHT), |dut, rng| {
        for round in 0..20 {
            let mut bench = Bench::new(dut, &TIGHT, TIME_WAIT, START, ALWAYS, rng);
            post_all(&mut bench, 100);
            let keys: Vec<_> = (0..40)
                .map(|slot| (u128::from(rng.next_u64()), u128::from(rng.below(1 << 24)), slot + round))
                .collect();
            for key in &keys {
                let packet = bench.some_packet(*key, 1, 0, rng);
                bench.offer(packet);
            }
            bench.settle();
            let opened = bench.reference.events["opened"];
            let conflicts = bench.reference.events["busy_conflict"];
            // Two sets of four ways in each table; the fewer-filled set first.
            assert_eq!(opened + conflicts, 40);
            assert!((12..=16).contains(&opened), "{opened} opened");
            // All that opened are found again, by all of their key.
            for key in &keys {
                for wrong in [
                    (key.0 ^ 1 << 127, key.1, key.2),
                    (key.0, key.1 ^ 1, key.2),
                    (key.0, key.1, key.2 ^ 1 << 11),
                ] {
                    let packet = bench.some_packet(wrong, 1, flag::EST, rng);
                    bench.offer(packet);
                }
                let packet = bench.some_packet(*key, 1, flag::EST, rng);
                bench.offer(packet);
            }
            bench.settle();
            assert_eq!(bench.reference.events["no_context"], 120 + conflicts);
        }
    });
}

/// Keys that share most of their bits, some of them all but one.
fn keys(count: u64, rng: &mut Rng) -> Vec<(u128, u128, u128)> {
    let base = (
        u128::from(rng.next_u64()) << 64 | u128::from(rng.next_u64()),
        rng.below(1 << 24),
        rng.below(1 << 12),
    );
    (0..count)
        .map(|i| match rng.below(4) {
            0 => (base.0 ^ 1 << rng.below(128), u128::from(base.1), u128::from(base.2)),
            1 => (base.0, u128::from(base.1 ^ 1 << rng.below(24)), u128::from(base.2)),
            2 => (base.0, u128::from(base.1), u128::from(i)),
            _ => (u128::from(rng.next_u64()), u128::from(rng.below(1 << 24)), u128::from(rng.below(1 << 12))),
        })
        .collect()
}

/// Random packets, posts and ends; how often what happened.
fn random(dut: &mut Dut, patterns: [Pattern; 3], rng: &mut Rng) -> BTreeMap<&'static str, u64> {
    let mut bench = Bench::new(dut, &SMALL, TIME_WAIT, START, patterns, rng);
    bench.releases(300, 1);
    // Two with a quota, two with one ring between them and a third endpoint.
    for (index, ring, quota) in [(0, 0, 5), (1, 1, 2), (2, 200, 0), (3, 200, 9)] {
        bench.tenant(index, ring, quota);
    }
    // One that matches tags.
    bench.tags(0);
    bench.reference.tenants.insert(0, (0, 0));
    let keys = keys(50, rng);
    let mut generations: Vec<u32> = keys.iter().map(|_| rng.below(1 << 20) as u32).collect();
    // Contexts that were buried and whose number is still out.
    let mut held: Vec<u64> = Vec::new();
    let mut ending: Vec<u64> = Vec::new();
    let mut offered = 0;
    let mut entry = 0;
    while offered < 3000 {
        if bench.pending() < 3 {
            let i = rng.below(keys.len() as u64) as usize;
            let generation = match rng.below(20) {
                0 | 1 => {
                    generations[i] = generations[i].wrapping_add(1 + rng.below(3) as u32) & 0xf_ffff;
                    generations[i]
                }
                2 => generations[i].wrapping_sub(1 + rng.below(1 << 18) as u32) & 0xf_ffff,
                3 => rng.below(1 << 20) as u32,
                _ => generations[i],
            };
            let est = if rng.chance(0.2) { flag::EST } else { 0 };
            let flags = est | (rng.next_u64() as u8 & !flag::EST);
            let mut packet = bench.some_packet(keys[i], generation, flags, rng);
            if rng.chance(0.08) {
                packet = bench.some_release(keys[i], generation, rng);
            } else if flags & flag::WRITE != 0 && rng.chance(0.2) {
                packet.set("denied", 1);
            } else if rng.chance(0.1) {
                packet.set("ud", 1);
                packet.set("flags", u128::from(flags & flag::IMM));
                packet.set("payload_len", u128::from(40 + rng.below(4097)));
            }
            bench.offer(packet);
            offered += 1;
        }
        if bench.clock() {
            // The ring, the blocks and the ends move between packets.
            if rng.chance(0.36) {
                let short = *rng.pick(&[1 << 12, 1 << 20]);
                let area = rng.chance(0.3).then(|| (rng.below(6) as u8, rng.below(9) as u8));
                let least = area.map_or(0, |(_, k)| 64 << k);
                let length = if rng.chance(0.15) { least + rng.below(short) } else { 1 << 20 } as u32;
                let ring = *rng.pick(&[0, 1, 200, 200]);
                bench.post(ring, Posted { address: rng.next_u64(), length, entry, area });
                entry = entry.wrapping_add(1);
            }
            bench.reference.block_available = rng.chance(0.95);
        }
        // Mostly there in time; at times given up.
        if bench.late == 0 && rng.chance(0.02) {
            bench.late = if rng.chance(0.1) { 150 } else { rng.below(8) };
        }
        if rng.chance(0.01) {
            let length = if rng.chance(0.1) { rng.below(1 << 20) } else { 1 << 20 } as u32;
            bench.post_tagged(
                0,
                rng.below(3) << 40,
                Posted { address: rng.next_u64(), length, entry, area: None },
            );
            entry = entry.wrapping_add(1);
        }
        if bench.retiring() == 0 {
            ending.clear();
        }
        if rng.chance(0.03) {
            let contexts = bench.contexts();
            if let Some((context, away)) = contexts.get(rng.below(contexts.len().max(1) as u64) as usize) {
                if !ending.contains(context) {
                    let status =
                        if *away { *rng.pick(&[4, Status::Released as u8]) } else { rng.below(6) as u8 };
                    let free = rng.chance(0.5);
                    bench.retire(*context, true, status, free);
                    ending.push(*context);
                    if !free {
                        held.push(*context);
                    }
                }
            }
        }
        if rng.chance(0.02) && bench.retiring() == 0 {
            if let Some(context) = held.pop() {
                bench.retire(context, false, 0, true);
            }
        }
        if rng.chance(0.0005) {
            bench.expire(SMALL.table_sets_log2);
        }
    }
    bench.settle();
    // Everything comes back.
    for (context, _) in bench.reference.contexts() {
        bench.retire(context, true, 0, true);
    }
    for context in held {
        bench.retire(context, false, 0, true);
    }
    bench.expire(SMALL.table_sets_log2);
    assert_eq!(bench.reference.free.len(), 16);
    assert_eq!(bench.tombstones(), 0);
    std::mem::take(&mut bench.reference.events)
}

#[test]
fn random_packets_match_the_reference() {
    let design = design("lookup", &SMALL);
    let events = RefCell::new(BTreeMap::new());
    for (idle, stall) in Pattern::matrix() {
        tb::run(&format!("lookup::random {idle:?} {stall:?}"), &design, |dut, rng| {
            for (event, count) in random(dut, [idle, stall, Pattern::Random(0.3)], rng) {
                *events.borrow_mut().entry(event).or_insert(0) += count;
            }
        });
    }
    // Conflicts are rare here and have a test of their own.
    for (event, count) in events.borrow().iter().filter(|(event, _)| **event != "busy_conflict") {
        assert!(*count > 0, "{event} never happened: {:?}", events.borrow());
    }
}

#[test]
fn ro_13_a_receive_on_its_way_is_waited_for() {
    tb::run("lookup::coming", &design("lookup", &SMALL), |dut, rng| {
        let mut bench = small(dut, rng);
        post_all(&mut bench, 2);
        bench.late = 20;
        assert_eq!(one(&mut bench, 1, 0, rng), Some("opened"));
        assert_eq!(bench.late, 0);
        // Whose receive never comes is refused in the end.
        bench.late = 0;
        bench.tenant(77, 77, 0);
        let mut other = bench.some_packet((9, 9, 9), 1, 0, rng);
        other.set("endpoint", 77);
        bench.late = u64::MAX;
        let start = bench.dut.cycles();
        bench.offer(other);
        while bench.last.event != Some("busy_receive") {
            bench.clock();
            assert!(bench.dut.cycles() < start + 600, "waits for ever");
        }
        assert!(bench.dut.cycles() > start + 500, "waits too short");
        bench.late = 0;
        bench.settle();
    });
}

/// Offers a packet that opens nothing and one of an endpoint whose receives do
/// not come, so many times; clocks until all are judged.
fn pressed(bench: &mut Bench, pairs: u32, rng: &mut Rng) -> u64 {
    bench.late_ring = Some(77);
    bench.late = u64::MAX;
    for slot in 0..u128::from(pairs) {
        let mut starved = bench.some_packet((9, 9, slot), 1, 0, rng);
        starved.set("endpoint", 77);
        bench.offer(starved);
        let copy = bench.some_packet(KEY, 1, flag::EST, rng);
        bench.offer(copy);
    }
    let start = bench.dut.cycles();
    let before = bench.reference.events["busy_receive"];
    bench.settle();
    bench.late = 0;
    assert_eq!(bench.reference.events["busy_receive"] - before, u64::from(pairs));
    bench.dut.cycles() - start
}

#[test]
fn ro_13_an_endpoint_without_receives_does_not_hold_up_the_others() {
    tb::run("lookup::pressed", &design("lookup", &SMALL), |dut, rng| {
        let mut bench = small(dut, rng);
        bench.tenant(77, 77, 0);
        post_all(&mut bench, 2);
        assert_eq!(one(&mut bench, 1, 0, rng), Some("opened"));
        for _ in 0..63 * 16 {
            bench.clock();
        }
        // Four clocks each and a turn of the sweep in 64, the budget, a quarter of the time.
        let judging = 2 * 200 * 4 * 16 / 15;
        let clocks = pressed(&mut bench, 200, rng);
        println!("200 that wait and 200 that do not: {clocks} clocks");
        assert!(clocks > judging + 252, "{clocks} clocks: nobody waited");
        assert!(clocks < (judging + 252) * 4 / 3 + 100, "{clocks} clocks");
        // The budget is spent, so another packet behind ends the wait.
        let clocks = pressed(&mut bench, 2, rng);
        assert!(clocks < 120, "{clocks} clocks");
        for _ in 0..63 * 16 {
            bench.clock();
        }
        let clocks = pressed(&mut bench, 2, rng);
        assert!((260..400).contains(&clocks), "{clocks} clocks: the budget did not come back");
    });
}

#[test]
fn ro_13_a_burst_waits_for_its_receives() {
    tb::run("lookup::burst", &design("lookup", &SMALL), |dut, rng| {
        let mut bench = small(dut, rng);
        post_all(&mut bench, 16);
        for _ in 0..63 * 16 {
            bench.clock();
        }
        // A ring that gives an entry every other time it is asked.
        for slot in 0..16 {
            bench.late = 1;
            let packet = bench.some_packet((5, 5, slot), 1, 0, rng);
            bench.offer(packet);
            let behind = bench.some_packet((5, 5, slot), 1, 0, rng);
            bench.offer(behind);
            bench.settle();
        }
        assert_eq!(bench.reference.events["busy_receive"], 0);
        assert_eq!(bench.reference.events["opened"], 16);
    });
}

#[test]
fn ro_12_a_tagged_receive_comes_before_the_ring() {
    tb::run("lookup::tags", &design("lookup", &SMALL), |dut, rng| {
        let mut bench = small(dut, rng);
        bench.tags(2);
        let posted =
            |entry: u16, length: u32| Posted { address: u64::from(entry) << 32, length, entry, area: None };
        for entry in 0..2 {
            bench.post(2, posted(entry, 1 << 20));
            bench.post_tagged(2, 5, posted(10 + entry, 1 << 20));
        }
        bench.post_tagged(2, 6, posted(20, 99));
        let mut one = |bench: &mut Bench, slot: u128, tag: u128, length: u128| {
            let mut packet = bench.some_packet((4, 4, slot), 0, 0, rng);
            for (field, value) in [("endpoint", 2), ("tag", tag), ("length", length)] {
                packet.set(field, value);
            }
            bench.offer(packet);
            bench.settle();
            let entry = bench
                .last
                .work
                .as_ref()
                .filter(|work| work.get("verdict") == 1)
                .map(|work| work.get("entry"));
            (entry, bench.last.unexpected)
        };
        assert_eq!(one(&mut bench, 0, 7, 50), (Some(0), true), "no such tag");
        assert_eq!(one(&mut bench, 1, 5, 50), (Some(10), false));
        // Too long for the receive that matches: the ring does not help it out.
        assert_eq!(one(&mut bench, 2, 6, 100), (None, false));
        assert_eq!(one(&mut bench, 3, 6, 99), (Some(20), false));
        assert_eq!(one(&mut bench, 4, 5, 50), (Some(11), false));
        assert_eq!(one(&mut bench, 5, 5, 50), (Some(1), true), "none is left");
        assert_eq!(one(&mut bench, 6, 5, 50), (None, false));
        assert_eq!(bench.last.event, Some("busy_receive"));
        // While one of the ring is on its way the table is let go, and asked again.
        bench.late = 10;
        bench.post(2, posted(2, 1 << 20));
        assert_eq!(one(&mut bench, 7, 5, 50), (Some(2), true));
    });
}

/// A sweep step behind a packet reads the set before the packet's entry is written:
/// what the packet makes of an expired tombstone must not be swept with it. And a
/// packet that is read while its tombstone goes finds it or does not.
#[test]
fn what_replaces_an_expired_tombstone_is_not_swept() {
    const KEYS: u128 = 12;
    tb::run("lookup::swept", &design("lookup", &SMALL), |dut, rng| {
        let mut bench = small(dut, rng);
        let mut entry = 0;
        let mut generation = 0;
        let mut offer_all = |bench: &mut Bench, generation, posts: bool, rng: &mut Rng| {
            for slot in 0..KEYS {
                if posts {
                    bench.post(
                        0,
                        Posted { address: u64::from(entry) << 21, length: 1 << 20, entry, area: None },
                    );
                    entry = entry.wrapping_add(1);
                }
                let mut packet = bench.some_packet((9, 9, slot), generation, 0, rng);
                packet.set("endpoint", 0);
                bench.offer(packet);
            }
        };
        for _ in 0..60 {
            offer_all(&mut bench, generation, true, rng);
            bench.settle();
            for (context, _) in bench.contexts() {
                bench.retire(context, true, 0, true);
            }
            bench.settle();
            // Too late for the tombstones, too soon for a sweep of them.
            bench.now += TIME_WAIT + 512;
            offer_all(&mut bench, generation + 1, true, rng);
            offer_all(&mut bench, generation + 1, false, rng);
            bench.settle();
            for (context, _) in bench.contexts() {
                bench.retire(context, true, 0, true);
            }
            bench.settle();
            generation += 2;
        }
        assert_eq!(bench.reference.events["opened"], 120 * KEYS as u64);
    });
}

#[test]
fn ro_6_endpoints_that_share_a_ring_take_its_receives_in_order() {
    tb::run("lookup::shared", &design("lookup", &SMALL), |dut, rng| {
        let mut bench = small(dut, rng);
        for index in [1, 2, 3] {
            bench.tenant(index, 200, 0);
        }
        for entry in 0..9 {
            bench.post(
                200,
                Posted { address: 1 << 32 | u64::from(entry), length: 1 << 20, entry, area: None },
            );
        }
        // Their own rings are not looked at.
        bench.post(1, Posted { address: 7, length: 1 << 20, entry: 700, area: None });
        for slot in 0..12u128 {
            let mut packet = bench.some_packet((4, 4, slot), 0, 0, rng);
            packet.set("endpoint", slot % 4);
            bench.offer(packet);
        }
        bench.settle();
        assert_eq!(bench.reference.events["opened"], 9, "of the sharing ones, all");
        assert_eq!(bench.reference.events["busy_receive"], 3, "endpoint 0 has none");
        assert!(bench.reference.receives[&200].is_empty());
        // Back to its own.
        bench.tenant(1, 1, 0);
        let mut packet = bench.some_packet((4, 4, 100), 0, 0, rng);
        packet.set("endpoint", 1);
        bench.offer(packet);
        bench.settle();
        assert_eq!(bench.last.event, Some("opened"));
    });
}

#[test]
fn ro_6_a_quota_stops_one_endpoint_and_no_other() {
    tb::run("lookup::quota", &design("lookup_wide", &WIDE), |dut, rng| {
        let mut bench = Bench::new(dut, &WIDE, TIME_WAIT, START, ALWAYS, rng);
        let quota = |index: u8| u16::from(index % 3) + 1;
        for index in 0..=255 {
            bench.tenant(index, index, quota(index));
            for entry in 0..6 {
                bench.post(index, Posted { address: 0, length: 1 << 20, entry, area: None });
            }
        }
        // The flood first, then everyone, twice as much as they may.
        let flood = (0..600).map(|slot| (77, slot));
        let others = (0..256 * 6).map(|i| (i % 256, 1000 + i / 256));
        for (endpoint, slot) in flood.chain(others) {
            let mut packet = bench.some_packet((endpoint, 3, slot), 0, 0, rng);
            packet.set("endpoint", endpoint);
            bench.offer(packet);
        }
        bench.settle();
        for index in 0..=255 {
            assert_eq!(bench.reference.held_by(index), usize::from(quota(index)), "endpoint {index}");
        }
        assert_eq!(bench.reference.events["busy_receive"], 0);
        assert_eq!(bench.reference.events["busy_resources"], 0);
        // An end alone gives nothing back, the number does, and to its endpoint.
        let mine: Vec<u64> = bench
            .reference
            .owners
            .iter()
            .filter(|(_, owner)| **owner == 77)
            .map(|(number, _)| *number)
            .collect();
        let mut open = |bench: &mut Bench, slot: u128| {
            let mut packet = bench.some_packet((77, 3, slot), 0, 0, rng);
            packet.set("endpoint", 77);
            bench.offer(packet);
            bench.settle();
            bench.last.event
        };
        bench.retire(mine[0], true, 0, false);
        bench.settle();
        assert_eq!(open(&mut bench, 2000), Some("busy_quota"));
        bench.retire(mine[0], false, 0, true);
        assert_eq!(open(&mut bench, 2001), Some("opened"));
        assert_eq!(open(&mut bench, 2002), Some("busy_quota"));
        // Writing the entry anew changes the quota and forgets no context.
        bench.tenant(77, 77, quota(77) + 1);
        assert_eq!(open(&mut bench, 2003), Some("opened"));
        assert_eq!(open(&mut bench, 2004), Some("busy_quota"));
        bench.tenant(77, 77, 1);
        assert_eq!(open(&mut bench, 2005), Some("busy_quota"));
    });
}

#[test]
fn a_sweep_of_some_tombstones_counts_the_rest() {
    tb::run("lookup::some", &design("lookup", &SMALL), |dut, rng| {
        let mut bench = small(dut, rng);
        post_all(&mut bench, 8);
        for age in 0..2 {
            for slot in 0..5 {
                let packet = bench.some_packet((3, age, slot), 1, 0, rng);
                bench.offer(packet);
            }
            bench.settle();
            for (context, _) in bench.reference.contexts() {
                bench.retire(context, true, 0, true);
            }
            bench.settle();
            bench.now += TIME_WAIT / 2;
        }
        // The first five are past their time, the others not yet.
        bench.now += 600;
        for _ in 0..200 {
            bench.clock();
        }
        bench.reference.expire(bench.now);
        assert_eq!(bench.reference.tombstones(), 5);
        bench.settle();
        assert_eq!(bench.tombstones(), 5);
    });
}

#[test]
fn four_clocks_per_packet() {
    tb::run("lookup::rate", &design("lookup", &SMALL), |dut, rng| {
        let mut bench = small(dut, rng);
        post_all(&mut bench, 16);
        for slot in 0..12 {
            let packet = bench.some_packet((8, 8, slot), 3, 0, rng);
            bench.offer(packet);
        }
        bench.settle();
        let opening = bench.taken_at[11] - bench.taken_at[0];
        println!("12 openings: {} clocks from the first to the last", opening);
        // A sweep step of four clocks comes at least once in 64.
        assert!(opening <= 11 * 4 + 2 * 4, "{opening} clocks");
        assert_eq!(bench.reference.events["opened"], 12);
        bench.taken_at.clear();
        for i in 0..1000 {
            let mut packet = bench.some_packet((8, 8, i % 12), 3, 0, rng);
            packet.set("payload_len", 64);
            bench.offer(packet);
        }
        bench.settle();
        let hits = bench.taken_at[999] - bench.taken_at[0];
        println!("1000 hits: {hits} clocks from the first to the last");
        assert!(hits <= 999 * 43 / 10, "{hits} clocks");
        assert!(matches!(bench.reference.entry((8, 8, 0)).unwrap().held, Held::Context { .. }));
    });
}

#[test]
fn the_full_size_elaborates_and_clears() {
    let design = tessera_testbenches::design("lookup_nic512", || Lookup::new(&NIC512));
    let model = Model::build(&design, &BuildOptions::default()).unwrap();
    let mut dut = model.instance().unwrap();
    let [rst, ready, free] = ["rst", "ready", "free_contexts"].map(|name| dut.port(name).unwrap());
    dut.set(rst, 1u64);
    dut.clock();
    dut.set(rst, 0u64);
    let start = dut.cycles();
    while dut.sampled(ready) == 0 {
        dut.clock();
        assert!(dut.cycles() < start + (1 << NIC512.table_sets_log2) + 8);
    }
    assert_eq!(dut.sampled(free), 1 << NIC512.rx_contexts_log2);
}
