//! Ended messages, older and newer ones of the same name, and the sweep: RO-2 to RO-5, RE-2, RL.

use super::*;

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

#[test]
fn a_tombstone_lives_over_a_carry_of_its_time() {
    // Its low part is compared a clock before its high part: time goes on in between, at every phase of the sweep.
    tb::run("lookup::carry", &design("lookup", &SMALL), |dut, rng| {
        let mut bench = Bench::new(dut, &SMALL, TIME_WAIT, 0x1_ffff, ALWAYS, rng);
        post_all(&mut bench, 1);
        one(&mut bench, 7, 0, rng);
        bench.retire(0, true, 0, true);
        bench.settle();
        for clock in 0..2000 {
            bench.now = 0x1_ffff + u64::from(clock % 7 < 3 || rng.chance(0.2));
            bench.clock();
            assert_eq!(bench.tombstones(), 1, "clock {clock}: units {:x}", bench.now >> 8);
        }
    });
}

#[test]
fn ends_and_a_sweep_are_counted_beside_each_other() {
    tb::run("lookup::counts", &design("lookup", &SMALL), |dut, rng| {
        let mut bench = small(dut, rng);
        for round in 0..40 {
            post_all(&mut bench, 2);
            let open = |bench: &mut Bench, slot: u128, rng: &mut Rng| {
                let packet = bench.some_packet((KEY.0, KEY.1, 8 * round + slot), 7, 0, rng);
                bench.offer(packet);
                bench.settle();
            };
            for slot in 0..3 {
                open(&mut bench, slot, rng);
            }
            for (context, _) in bench.contexts() {
                bench.retire(context, true, 0, true);
            }
            bench.settle();
            for slot in 3..6 {
                open(&mut bench, slot, rng);
            }
            // The first ones' time is over, and the others end while they are swept.
            bench.now += TIME_WAIT + 512;
            bench.reference.expire(bench.now);
            for (context, _) in bench.contexts() {
                for _ in 0..rng.below(12) {
                    bench.clock();
                }
                bench.retire(context, true, 0, true);
            }
            for _ in 0..100 {
                bench.clock();
            }
            bench.settle();
        }
    });
}

#[test]
fn the_longest_time_a_tombstone_can_live() {
    const LONGEST: u64 = (1 << 24) - 1;
    tb::run("lookup::longest", &design("lookup", &SMALL), |dut, rng| {
        for start in [0xff, 1 << 26, (1 << 32) - 1] {
            let mut bench = Bench::new(dut, &SMALL, LONGEST, start, ALWAYS, rng);
            post_all(&mut bench, 1);
            one(&mut bench, 7, 0, rng);
            bench.retire(0, true, 0, true);
            bench.settle();
            for (passed, left) in [(0, 1), (LONGEST / 2, 1), (LONGEST, 1), (LONGEST + 512, 0)] {
                bench.now = start + passed;
                // A sweep of eight sets, and some.
                for _ in 0..200 {
                    bench.clock();
                }
                assert_eq!(bench.tombstones(), left, "{passed} ticks behind {start:x}");
            }
            bench.reference.expire(bench.now);
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
            let mine: Vec<u64> = bench.reference.numbers_of(2);
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
