//! What is missing, and when it is asked for: LD, RC-5, RC-9, RC-10.

use super::*;

#[test]
fn ld2_a_hole_is_asked_for_when_its_block_had_its_time() {
    run("hole", REGISTERS, |bench, _| {
        let first = message(4, 100 * 256, 64);
        for index in 0..10 {
            bench.passing(&first, index);
            bench.ticks(2);
        }
        bench.passing(&first, 11);
        let (hole_time, mut index) = (bench.now, 12);
        // Packets go on, so it is neither silence nor tail.
        while bench.nacks().is_empty() {
            bench.passing(&first, index);
            bench.ticks(2);
            index += 1;
            assert!(index < 100, "no NACK before the tail");
        }
        let nack = &bench.nacks()[0];
        let waited = nack.tick - hole_time;
        // All granted packets are of this block; the gap is what it takes to give one.
        let (left, gap) = (100 - (index - 1), waited / (index - 12));
        let interval = left * gap + REGISTERS.skew0;
        let near = REGISTERS.skew0 + REGISTERS.guard;
        assert!((interval - 40..=interval + 2 * near + 40).contains(&waited), "{waited} of {interval} ticks");
        assert_eq!(nack.base, 0);
        assert!(nack.limit > 10 && nack.limit <= index, "LD-4: limit {}, highest {index}", nack.limit);
        bench.fill(&first, 0..64);
        bench.ticks(100);
        while bench.messages[&first.generation].phase == Phase::Open {
            let grant = bench.messages[&first.generation].grant;
            bench.fill(&first, 0..grant);
            bench.ticks(10);
        }
        bench.settle(1000);
    });
}

/// RC-5: the skew in whole ticks of a source of which so many samples came, all 0.
fn skew_after(samples: u32) -> u64 {
    skew_from(REGISTERS.skew0, samples)
}

/// The same of a source that was taken for `skew0`.
fn skew_from(skew0: u64, samples: u32) -> u64 {
    let fall = |skew: u64, sample: u32| skew - (skew >> if sample < 127 { 6 } else { 10 });
    (0..samples).fold(skew0 << 8, fall) >> 8
}

/// RC-5: what a source's skew starts from is forgotten within 127 samples, what
/// was measured within thousands.
#[test]
fn rc5_the_skew_of_a_new_source_is_soon_known() {
    let asked = |registers: Registers, late: u64| {
        let waits = std::cell::RefCell::new(Vec::new());
        run("new source", registers, |bench, _| {
            bench.clocks_per_tick = 16;
            let source = message(0, 0, 1).gid;
            let mut waited = Vec::new();
            for context in 1..5 {
                let first = Packet { gid: source, ..message(context, 240 * 256, 240) };
                let mut hole_time = 0;
                for index in (0..240).filter(|i| *i != 238) {
                    bench.data(&first, index, 10 + if index == 1 { late } else { 0 }, 0);
                    // As fast as `gap0` expects them: no timer is linked far ahead.
                    if index == 239 {
                        hole_time = bench.now;
                    } else {
                        bench.ticks(4);
                    }
                }
                waited.push(bench.next_nack(hole_time));
                bench.data(&first, 238, 10, RETX);
                bench.settle(3000);
            }
            waits.borrow_mut().push(waited);
        });
        waits.into_inner()
    };
    for waits in asked(Registers { skew0: 160, ..REGISTERS }, 0) {
        // 127 of 238 samples at a 64th: 160 * e^-2 is left, and little less at the end.
        let known = 20 + REGISTERS.guard;
        assert!((known - 8..=known + LATE).contains(&waits[0]), "{waits:?}");
        assert!(waits.windows(2).all(|pair| pair[1] <= pair[0] + LATE), "{waits:?}");
    }
    for waits in asked(REGISTERS, 120) {
        // The first message's late packet is forgotten as fast; later ones are not.
        assert!(waits[0] < 80, "{waits:?}");
        assert!(waits[1] > 80 && waits[3] > 80, "{waits:?}");
    }
}

/// RC-4, RC-5: what is no property of the way moves no estimate far. Silence
/// tells them both: (left * gap >> 4) + skew + GUARD.
#[test]
fn rc4_and_rc5_stalls_and_retransmissions_spoil_nothing() {
    let registers = Registers { credit_limit: 32 * 256, ..REGISTERS };
    // One sample of four times the gap at most, an eighth of it taken.
    let gap = REGISTERS.gap0 + ((3 * REGISTERS.gap0) >> 3);
    let end = |bench: &mut Bench, first: &Packet| {
        bench.fill(first, 0..32);
        bench.ticks(40);
        bench.fill(first, 32..50);
        bench.settle(1500);
    };
    run("stall", registers, |bench, _| {
        let first = message(5, 50 * 256, 32);
        bench.data(&first, 0, 500, 0);
        // The sender pauses for thirty packets' time.
        bench.ticks(60);
        bench.data(&first, 1, 500, 0);
        bench.ticks(60);
        // A retransmission: how long it took, and since when, says nothing.
        bench.data(&first, 2, 10, RETX);
        let since = bench.now;
        let interval = ((29 * gap) >> 4) + skew_after(1) + REGISTERS.guard;
        within("a stall", bench.next_nack(since), interval);
        end(bench, &first);
    });
    // Of more ticks than 16 bits hold: a sample like any other of a stall. Of more steps than
    // five bits hold: none.
    let slow = Registers { gap0: 640, ..REGISTERS };
    for (step, gap) in [(1, slow.gap0 + ((3 * slow.gap0) >> 3)), (33, slow.gap0)] {
        run("long stall", slow, |bench, _| {
            let first = message(5, 50 * 256, 40);
            let mut early = bench.packet(&first, 0, 0, 0);
            // Its low bits are those of a short while.
            early.timestamp = (bench.now + (1 << 32) - 0x1_0000 - 10) & 0xFFFF_FFFF;
            early.arrival = (early.timestamp + 10) & 0xFFFF_FFFF;
            bench.give(&early);
            bench.data(&first, step, 10, 0);
            bench.fill(&first, 1..step);
            bench.data(&first, step + 1, 10, RETX);
            let since = bench.now;
            let left = 50 - (step + 2);
            within(
                "a long stall",
                bench.next_nack(since),
                ((left * gap) >> 4) + skew_after(1) + REGISTERS.guard,
            );
            bench.fill(&first, 0..50);
            bench.settle(1500);
        });
    }
    run("detour", registers, |bench, _| {
        let first = message(5, 50 * 256, 32);
        let start = bench.now;
        bench.data(&first, 0, 510, 0);
        bench.ticks(2);
        // Two ticks or three.
        let step = bench.now - start;
        bench.data(&first, 1, 510, 0);
        bench.ticks(2);
        // From another way, 500 ticks shorter: SKEW_MAX is what one may cost.
        bench.data(&first, 2, 10, 0);
        bench.data(&first, 3, 10, RETX);
        let since = bench.now;
        let known = REGISTERS.gap0 + ((step << 4) - REGISTERS.gap0).div_ceil(8);
        let gap = known + (3 * known).div_ceil(8);
        let interval = ((28 * gap) >> 4) + REGISTERS.skew_max + REGISTERS.guard;
        within("a detour", bench.next_nack(since), interval);
        end(bench, &first);
    });
}

/// LD-2: whatever was sent before the tail may come a skew later than it, however
/// long ago the lowest hole was seen.
//= LD-2 test
#[test]
fn ld2_with_the_tail_seen_what_a_slower_path_carries_is_waited_for() {
    run("slow_tail", REGISTERS, |bench, _| {
        let first = message(4, 20 * 256, 20);
        bench.clocks_per_tick = 16;
        let (fast, slow) = (10, 70);
        let mut hole_time = 0;
        for index in (0..16).filter(|i| *i != 3) {
            bench.data(&first, index, if index == 2 { slow } else { fast }, 0);
            if index == 4 {
                hole_time = bench.now;
            }
        }
        while bench.now < hole_time + 35 {
            bench.clock();
        }
        bench.data(&first, 19, fast, 0);
        let tail_time = bench.now;
        while bench.now < tail_time + 30 {
            bench.clock();
        }
        for index in 16..19 {
            bench.data(&first, index, slow, 0);
        }
        assert!(bench.nacks().is_empty(), "it asks for what is on its way");
        let waited = bench.next_nack(tail_time);
        let tail = slow - fast + REGISTERS.guard;
        assert!((tail - 8..=tail + LATE).contains(&waited), "{waited} of {tail} ticks");
        assert_eq!((bench.nacks()[0].base, bench.nacks()[0].limit), (0, 20));
        assert_eq!(!bench.nacks()[0].bits[0] & 0xF_FFFF, 1 << 3, "only what was lost");
        bench.fill(&first, 0..20);
        bench.settle(1000);
    });
}

#[test]
fn ld2_with_the_tail_seen_a_hole_waits_for_skew_and_guard() {
    run("tail", REGISTERS, |bench, _| {
        let first = message(4, 20 * 256, 20);
        bench.clocks_per_tick = 16;
        let mut hole_time = 0;
        for index in (0..20).filter(|i| *i != 7) {
            bench.data(&first, index, 10, 0);
            if index == 8 {
                hole_time = bench.now;
            }
        }
        let waited = bench.next_nack(hole_time);
        let tail = skew_after(18) + REGISTERS.guard;
        assert!((skew_after(18)..=tail + LATE).contains(&waited), "{waited} ticks");
        assert_eq!((bench.nacks()[0].base, bench.nacks()[0].limit), (0, 20));
        // LD-5: rtt + skew + guard, every second NACK doubling it.
        let hold = REGISTERS.rtt_default + skew_after(18) + REGISTERS.guard;
        for n in 0..8 {
            let (last, hold) = (bench.nacks().last().unwrap().tick, hold << (n / 2).min(5));
            let waited = bench.next_nack(last);
            assert!((hold - 32..=hold + LATE).contains(&waited), "{n}: {waited} of {hold} ticks");
        }
        bench.data(&first, 7, 10, RETX);
        bench.settle(4500);
    });
}

/// The gap starts far too long and shrinks with every packet, and the silence
/// with it: no node may stay with what the deadline was before.
#[test]
fn ld2_silence_that_shrinks_leaves_a_hole_its_time() {
    run("shrinking", Registers { gap0: 864, ..REGISTERS }, |bench, _| {
        let first = message(4, 48 * 256, 48);
        for index in (0..48).filter(|i| *i != 40) {
            bench.passing(&first, index);
            bench.ticks(2);
        }
        assert!(bench.nacks().is_empty(), "asked before its time");
        let since = bench.now;
        let waited = bench.next_nack(since);
        // Its time, and the tail interval that both nodes may stand for.
        let tail = REGISTERS.skew0 + REGISTERS.guard;
        assert!(waited <= 2 * tail + LATE, "{waited} of {} ticks", 2 * tail + LATE);
        assert_eq!((bench.nacks()[0].base, bench.nacks()[0].limit), (0, 48));
        bench.fill(&first, 40..41);
        bench.settle(4500);
    });
}

#[test]
fn ld5_an_answered_nack_ends_the_backoff() {
    run("answered", REGISTERS, |bench, _| {
        let first = message(4, 20 * 256, 20);
        bench.clocks_per_tick = 16;
        for index in (0..20).filter(|i| *i != 7 && *i != 9) {
            bench.data(&first, index, 10, 0);
        }
        for _ in 0..7 {
            bench.next_nack(0);
        }
        // Held for eight answers; the first packet that fills the hole cuts that to one.
        bench.ticks(20);
        bench.data(&first, 7, 10, RETX);
        let filled = bench.now;
        let hold = REGISTERS.rtt_default + skew_after(18) + REGISTERS.guard;
        within("LD-5", bench.next_nack(filled), hold);
        let last = bench.nacks().last().unwrap().tick;
        within("again", bench.next_nack(last), hold - 1);
        bench.data(&first, 9, 10, RETX);
        bench.settle(4500);
    });
}

#[test]
fn ld5_a_probe_ends_the_hold() {
    run("probe hold", REGISTERS, |bench, _| {
        let first = message(4, 20 * 256, 20);
        bench.clocks_per_tick = 16;
        for index in (0..20).filter(|i| *i != 7) {
            bench.data(&first, index, 10, 0);
        }
        for _ in 0..6 {
            bench.next_nack(0);
        }
        // One that left before the NACK came does not.
        let round_trip = REGISTERS.rtt_default + skew_after(18) + REGISTERS.guard;
        let asked = bench.nacks().last().unwrap().tick;
        bench.ticks(20);
        bench.probe(&first, 20);
        bench.ticks(round_trip - 20 + LATE / 2);
        assert_eq!(bench.nacks().last().unwrap().tick, asked, "RC-9");
        bench.probe(&first, 20);
        let since = bench.now;
        within("LD-5", bench.next_nack(since), skew_after(18) + REGISTERS.guard);
        bench.data(&first, 7, 10, RETX);
        bench.settle(4500);
    });
}

/// Opens a message of the one source, of 20 packets without 7 and `also`, and
/// waits for its NACK.
fn asked(bench: &mut Bench, context: u64, also: u64) -> Packet {
    let first = Packet { gid: message(0, 0, 1).gid, ..message(context, 20 * 256, 20) };
    let all: Vec<u64> = (0..20).filter(|i| *i != 7 && *i != also).collect();
    for index in all {
        bench.data(&first, index, 10, 0);
    }
    bench.next_nack(0);
    first
}

#[test]
fn rc10_the_time_of_answers_is_measured() {
    // Nothing but the answer's own time holds a NACK back, and half the skew.
    let registers = Registers { rtt_default: 1, answer0: 400, skew0: 160, ..REGISTERS };
    run("answer", registers, |bench, _| {
        bench.clocks_per_tick = 16;
        let mut answer = 400;
        let half_skew = |samples| skew_from(registers.skew0, samples) >> 1;
        // One source: all messages say what the next waits for. The answer comes
        // after so many ticks; a second NACK is not waited for.
        for (context, takes) in [(0, 150), (1, 30), (2, 500)] {
            let first = asked(bench, context, 99);
            let tick = bench.nacks().last().unwrap().tick;
            if takes < answer {
                bench.ticks(takes);
                answer -= (answer - takes) >> 3;
            } else {
                let wait = answer + half_skew(54) + REGISTERS.guard - 4;
                within("until measured", bench.next_nack(tick), wait);
            }
            bench.data(&first, 7, 10, RETX);
            bench.ticks(50);
        }
        let first = asked(bench, 3, 9);
        let tick = bench.nacks().last().unwrap().tick;
        within("after two samples", bench.next_nack(tick), answer + half_skew(71) + REGISTERS.guard - 8);
        // What was here already was asked for too early: a quarter more each time.
        let retx = Packet { verdict: 0, ..first.clone() };
        bench.data(&retx, 3, 10, RETX);
        bench.data(&retx, 3, 10, RETX);
        answer += answer >> 2;
        answer += answer >> 2;
        bench.data(&first, 7, 10, RETX);
        bench.data(&first, 9, 10, RETX);
        let first = asked(bench, 4, 99);
        let tick = bench.nacks().last().unwrap().tick;
        within("after two repeats", bench.next_nack(tick), answer + half_skew(89) + REGISTERS.guard - 12);
        bench.data(&first, 7, 10, RETX);
        // Not beyond the sender's backstop.
        let first = asked(bench, 5, 9);
        bench.next_nack(0);
        for _ in 0..6 {
            bench.data(&first, 3, 10, RETX);
        }
        bench.data(&first, 7, 10, RETX);
        bench.data(&first, 9, 10, RETX);
        let first = asked(bench, 6, 99);
        let tick = bench.nacks().last().unwrap().tick;
        within("at most", bench.next_nack(tick), registers.rto + half_skew(124) + REGISTERS.guard);
        bench.data(&first, 7, 10, RETX);
        bench.settle(4500);
    });
}

#[test]
fn ld8_a_fixed_interval_looks_at_nothing() {
    let registers = Registers { ld_policy: 0, ld_fixed: 300, ..REGISTERS };
    run("fixed", registers, |bench, _| {
        bench.clocks_per_tick = 16;
        let first = message(4, 200 * 256, 200);
        for index in (0..20).filter(|i| *i != 7) {
            bench.data(&first, index, 10, 0);
        }
        let since = bench.now;
        let waited = bench.next_nack(since);
        // Nothing had come for long enough to be asked for: a tail interval more.
        let tail = REGISTERS.skew0 + REGISTERS.guard;
        assert!((280..=300 + tail + LATE).contains(&waited), "{waited}");
        let last = bench.nacks().last().unwrap().tick;
        within("again", bench.next_nack(last), 300);
        bench.fill(&first, 0..200);
        bench.settle(4500);
    });
}

#[test]
fn ld5_other_messages_do_not_shorten_the_hold() {
    run("hold", REGISTERS, |bench, _| {
        let (first, other) = (message(4, 20 * 256, 20), message(6, 250 * 256, 250));
        bench.clocks_per_tick = 16;
        for index in (0..20).filter(|i| *i != 7) {
            bench.data(&first, index, 10, 0);
        }
        bench.next_nack(0);
        let hold = REGISTERS.rtt_default + skew_after(18) + REGISTERS.guard;
        for n in 0..6 {
            let hold = hold << (n / 2);
            // The last packet judged before the NACK is one of another message.
            let last = bench.nacks().last().unwrap().tick;
            while bench.nacks().last().unwrap().tick == last {
                let next = bench.messages.get(&other.generation).map_or(0, |m| m.cumulative);
                bench.data(&other, next, 10, 0);
                bench.ticks(hold / 8);
            }
            let waited = bench.nacks().last().unwrap().tick - last;
            assert!((hold - 4..=hold + LATE).contains(&waited), "{n}: {waited} of {hold} ticks");
        }
        bench.data(&first, 7, 10, RETX);
        bench.fill(&other, 0..250);
        bench.settle(5000);
    });
}

#[test]
fn ld3_silence_asks_up_to_the_grant() {
    run("silence", Registers { credit_limit: 32 * 256, ..REGISTERS }, |bench, _| {
        let first = message(5, 50 * 256, 32);
        bench.data(&first, 0, 10, 0);
        let since = bench.now;
        let left = 31;
        let interval =
            REGISTERS.d_min.max(((left * REGISTERS.gap0) >> 4) + REGISTERS.skew0) + REGISTERS.guard;
        within("LD-3", bench.next_nack(since), interval);
        let nack = bench.nacks()[0].clone();
        assert_eq!((nack.base, nack.limit, nack.bits[0]), (0, 32, u64::MAX << 50 | 1));
        bench.fill(&first, 0..32);
        bench.ticks(40);
        bench.fill(&first, 32..50);
        bench.settle(1500);
    });
}

#[test]
fn ld4_one_expiry_asks_for_every_block_up_to_the_burst() {
    run("burst", Registers { nack_burst: 2, ..REGISTERS }, |bench, _| {
        let first = message(6, 900 * 256, 0);
        bench.fill(&first, 0..250);
        assert_eq!(bench.messages[&first.generation].grant, 900);
        bench.next_nack(0);
        bench.ticks(20);
        let bases: Vec<u64> = bench.nacks().iter().map(|n| n.base).collect();
        assert_eq!(bases, [0, 256]);
        assert!(bench.nacks().iter().all(|n| n.limit == 900));
        bench.fill(&first, 0..900);
        bench.settle(3000);
    });
}

#[test]
fn rc9_a_probe_is_answered_and_arms_the_tail() {
    run("probe", REGISTERS, |bench, _| {
        let first = message(5, 200 * 256, 200);
        bench.data(&first, 0, 10, 0);
        bench.data(&first, 3, 10, 0);
        bench.ticks(3);
        bench.probe(&first, 6);
        let since = bench.now;
        within("RC-9", bench.next_nack(since), REGISTERS.skew0 + REGISTERS.guard);
        assert_eq!(bench.seen[0].flags, 0);
        assert_eq!((bench.nacks()[0].base, bench.nacks()[0].limit), (0, 6));
        bench.fill(&first, 0..200);
        bench.settle(3000);
    });
}

#[test]
fn ld7_a_silent_sender_is_given_up() {
    run("give up", Registers { rx_give_up: 1500, nack_burst: 1, ..REGISTERS }, |bench, _| {
        let blocks = bench.free_blocks();
        let first = message(5, 50 * 256, 32);
        bench.data(&first, 0, 10, 0);
        let since = bench.now;
        bench.settle(3000);
        let end = bench.seen.last().unwrap();
        assert_eq!((end.flags, end.status), (ABORT, GAVE_UP));
        assert!((1500..1500 + 60).contains(&(end.tick - since)), "{}", end.tick - since);
        assert_eq!(bench.free_blocks(), blocks);
    });
}

#[test]
fn reordering_within_the_skew_asks_for_nothing() {
    run("reorder", REGISTERS, |bench, rng| {
        let first = message(5, 240 * 256, 240);
        bench.data(&first, 0, 10, 0);
        let mut order: Vec<(u64, u64)> = (1..240).map(|i| (2 * i + rng.below(18), i)).collect();
        order.sort_unstable();
        bench.clocks_per_tick = 8;
        let start = bench.now;
        for (at, index) in order {
            while bench.now - start < at {
                bench.clock();
            }
            let delay = 10 + at - 2 * index;
            bench.data(&first, index, delay, 0);
        }
        bench.settle(1500);
        assert_eq!(bench.nacks().len(), 0);
    });
}
