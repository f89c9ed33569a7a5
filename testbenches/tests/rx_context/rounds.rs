//! Messages of one round: RD.

use super::*;

/// Ticks until the straggler of a round is asked for: 200 packets of which one
/// came, `together` with others of the round, all of which end 50 ticks later.
fn straggler(test: &str, registers: Registers, register: impl Fn(&mut Bench), together: u64, expected: u64) {
    straggler_beside(test, registers, register, 300, together, expected);
}

/// The same beside others of whichever round.
fn straggler_beside(
    test: &str,
    registers: Registers,
    register: impl Fn(&mut Bench),
    others: u64,
    together: u64,
    expected: u64,
) {
    run(test, Registers { gap0: 128, ..registers }, |bench, _| {
        bench.clocks_per_tick = 16;
        register(bench);
        let late = Packet { flags: ROUND, round: 300, ..message(9, 200 * 256, 200) };
        bench.data(&late, 0, 10, 0);
        let since = bench.now;
        bench.ticks(50);
        for context in 0..together {
            // Whole with its first packet, or not.
            let length = 64 + 256 * (context % 3);
            let other = Packet { flags: ROUND, round: others, ..message(context, length, 8) };
            bench.fill(&other, 0..1 + context % 3);
        }
        let waited = bench.next_nack(since);
        // A message pulled in is looked at every tail interval.
        let most = expected + REGISTERS.skew0 + REGISTERS.guard + LATE;
        assert!((expected..=most).contains(&waited), "{test}: {waited} of {expected} ticks");
        bench.fill(&late, 0..200);
        bench.settle(3000);
    });
}

/// LD-3 of that straggler, its interval halved so often.
fn of_straggler(halved: u64) -> u64 {
    REGISTERS.skew0 + (((199 * 128) >> 4) >> halved) + REGISTERS.guard
}

#[test]
fn rd4_a_round_pulls_its_stragglers_in() {
    straggler("seven of eight", REGISTERS, |bench| bench.register(300, 8), 7, of_straggler(3));
    straggler("five of eight", REGISTERS, |bench| bench.register(300, 8), 5, of_straggler(1));
    straggler("three of eight", REGISTERS, |bench| bench.register(300, 8), 3, of_straggler(0));
    // A late registration starts counting where it stands.
    let twice = |bench: &mut Bench| {
        bench.register(300, 8);
        bench.register(300, 4);
    };
    straggler("registered twice", REGISTERS, twice, 3, of_straggler(2));
}

/// LD-2, LD-4: what slower paths carry is not lost because the others have ended.
#[test]
fn rd4_spares_neither_skew_nor_tail() {
    let wide = Registers { skew0: 60, ..REGISTERS };
    run("round_tail", wide, |bench, _| {
        bench.clocks_per_tick = 16;
        bench.register(300, 8);
        let of_round = |context| Packet { flags: ROUND, round: 300, ..message(context, 8 * 256, 8) };
        for context in 0..7 {
            bench.fill(&of_round(context), 0..8);
        }
        // A hole, and the tail while it is still waited for.
        let late = of_round(9);
        for index in [0, 1, 3, 4, 5] {
            bench.data(&late, index, 10, RETX);
        }
        let since = bench.now;
        bench.ticks(40);
        assert!(bench.nacks().is_empty(), "a hole waits for the slowest path");
        bench.data(&late, 7, 10, RETX);
        let waited = bench.next_nack(since);
        let tail = bench.now - since;
        within("tail of a round", waited, 40 + wide.skew0 + wide.guard);
        assert!(tail >= waited);
        bench.fill(&late, 0..8);
        bench.settle(3000);
    });
}

#[test]
fn rd2_an_unknown_round_is_no_round() {
    straggler("unknown", REGISTERS, |_| {}, 7, of_straggler(0));
    straggler("another", REGISTERS, |bench| bench.register(301, 8), 7, of_straggler(0));
    // In the same place.
    let replaced = |bench: &mut Bench| {
        bench.register(300, 8);
        bench.register(300 + 256, 8);
    };
    straggler("replaced", REGISTERS, replaced, 7, of_straggler(0));
    // Whose messages end, which pull in nobody else's.
    straggler_beside("beside another", REGISTERS, replaced, 300 + 256, 7, of_straggler(0));
    // A number without its flag is none, and is judged again when the others have ended.
    run("no round", Registers { gap0: 128, ..REGISTERS }, |bench, _| {
        bench.clocks_per_tick = 16;
        bench.register(300, 8);
        let late = Packet { round: 300, ..message(9, 200 * 256, 200) };
        bench.data(&late, 0, 10, 0);
        for context in 0..7 {
            bench.data(&Packet { flags: ROUND, round: 300, ..message(context, 64, 8) }, 0, 10, 0);
        }
        bench.ticks(100);
        bench.data(&late, 1, 10, RETX);
        let since = bench.now;
        let interval = REGISTERS.skew0 + ((198 * 128) >> 4) + REGISTERS.guard;
        within("no round", bench.next_nack(since), interval);
        bench.fill(&late, 0..200);
        bench.settle(3000);
    });
    let forgotten = |bench: &mut Bench| {
        bench.register(300, 8);
        bench.register(300, 0);
    };
    straggler("forgotten", REGISTERS, forgotten, 7, of_straggler(0));
    let moving = Registers { ld_policy: 1, ..REGISTERS };
    straggler("not asked for", moving, |bench| bench.register(300, 8), 7, of_straggler(0));
}

#[test]
fn rd3_every_halving_counts_and_so_does_the_end() {
    run("halvings", REGISTERS, |bench, _| {
        bench.clocks_per_tick = 16;
        bench.register(0x1234, 7);
        let mut seen = Vec::new();
        for n in 0..9 {
            // Back to back in another endpoint's round of the same place: not counted.
            let of = |generation, endpoint, round| Packet {
                flags: ROUND,
                round,
                endpoint,
                generation,
                ..message(n % 12, 64, 8)
            };
            bench.data(&of(n, 7, 0x1234), 0, 10, 0);
            bench.ticks(30);
            bench.data(&of(100 + n, 8, 0x1234 ^ 15), 0, 10, 0);
            bench.ticks(30);
            seen.push((bench.event("round_pulls"), bench.event("rounds_done")));
        }
        let expected = [(0, 0), (0, 0), (0, 0), (1, 0), (1, 0), (2, 0), (3, 1), (3, 1), (3, 1)];
        assert_eq!(seen, expected);
        bench.settle(1000);
    });
}
