//! Messages that the host recovers (HR).

use super::*;

/// The first packet of a host-recovered message with chunks of `2^chunk_log2`.
fn hosted(context: u64, packets: u64, chunk_log2: u64) -> Packet {
    let area_log2 = 4 + context;
    Packet {
        flags: HOST,
        host: true,
        chunk_log2,
        area_log2,
        buffer: (0x10_0000 * (context + 1)) + (64 << area_log2),
        ..message(context, packets * 256 - 3, 0)
    }
}

fn shuffled(range: std::ops::Range<u64>, rng: &mut Rng) -> Vec<u64> {
    let mut all: Vec<u64> = range.collect();
    for at in (1..all.len()).rev() {
        all.swap(at, rng.below(at as u64 + 1) as usize);
    }
    all
}

//= HR-4 test
#[test]
fn hr4_every_chunk_is_told_with_its_last_packet() {
    run("chunks", REGISTERS, |bench, rng| {
        let blocks = bench.free_blocks();
        for chunk_log2 in 0..6 {
            let first = hosted(chunk_log2, 300 + 7 * chunk_log2, chunk_log2);
            for index in shuffled(0..256, rng) {
                bench.data(&first, index, 10, if rng.chance(0.3) { AR } else { 0 });
                if rng.chance(0.1) {
                    bench.data(&first, index, 10, RETX);
                }
            }
            bench.ticks(200);
            for index in shuffled(256..first.count(), rng) {
                bench.data(&first, index, 10, 0);
            }
            bench.settle(2000);
            assert_eq!(bench.seen.last().unwrap().flags, COMPLETE);
        }
        assert_eq!(bench.free_blocks(), blocks);
        assert_eq!((bench.nacks().len(), bench.event("rx_completed")), (0, 6));
    });
}

/// Beside messages that hardware recovers, packet by packet in turn.
#[test]
fn hr1_others_are_as_they_were() {
    run("beside", REGISTERS, |bench, rng| {
        let one = hosted(2, 90, 2);
        let two = Packet { flags: HOST, ..message(4, 90 * 256, 0) };
        let three = hosted(6, 90, 0);
        let mut all: Vec<(usize, u64)> = (0..270).map(|i| (i % 3, i as u64 / 3)).collect();
        for at in (1..all.len()).rev() {
            all.swap(at, rng.below(at as u64 + 1).max(at.saturating_sub(40) as u64) as usize);
        }
        for (which, index) in all {
            let of = [&one, &two, &three][which];
            bench.data(of, index, 10, 0);
        }
        bench.settle(3000);
        assert_eq!(bench.event("rx_completed"), 3);
        //= RO-9 test
        let first = hosted(3, 20, 1);
        bench.fill(&first, 0..10);
        bench.data(&Packet { flags: 0, ..first.clone() }, 11, 10, AR);
        assert_eq!(bench.event("mismatch"), 1);
        bench.fill(&first, 0..20);
        bench.settle(2000);
    });
}

//= HR-5 test
//= HR-6 test
//= HR-8 test
#[test]
fn hr6_only_orders_ask_and_only_for_what_is_missing() {
    run("orders", REGISTERS, |bench, _| {
        let first = hosted(5, 800, 3);
        bench.fill(&first, 0..256);
        bench.ticks(200);
        // The first block is full and passed; of the second two packets are missing.
        let granted = bench.messages[&first.generation].grant;
        assert!(granted > 400, "granted {granted}");
        for index in (256..400).filter(|index| ![300, 399].contains(index)) {
            bench.data(&first, index, 10, 0);
        }
        bench.ticks(1500);
        assert_eq!(bench.nacks().len(), 0, "hardware asks");
        let (context, generation) = (first.context, first.generation);
        // Nobody's: another generation, context, or one outside the table.
        for (context, generation) in [(5, 1), (4, generation), (5 | 1 << 8, generation)] {
            assert!(!bench.order(context, generation, 400) && !bench.order(context, generation, 1 << 31));
        }
        // Nothing is missing there, nothing is there, or nothing was granted.
        for limit in [0, 1, 256, 300, 257, 800] {
            if limit != 800 || granted <= 768 {
                assert!(bench.order(context, generation, limit));
                bench.ticks(20);
                bench.ordered = None;
            }
        }
        assert_eq!(bench.nacks().len(), 0);
        for limit in [301, 400, 512] {
            assert!(bench.order(context, generation, limit));
            bench.ticks(20);
            assert!(bench.ordered.is_none(), "no NACK for {limit}");
        }
        assert_eq!(bench.nacks().len(), 3);
        // Each for its own block, whichever the order before was for.
        for index in (512..620).filter(|index| *index != 600) {
            bench.data(&first, index, 10, 0);
        }
        for (limit, base) in [(601, 512), (301, 256), (620, 512), (400, 256)] {
            assert!(bench.order(context, generation, limit));
            bench.ticks(20);
            assert!(bench.ordered.is_none(), "no NACK for {limit}");
            assert_eq!(bench.nacks().last().unwrap().base, base, "ordered up to {limit}");
        }
        bench.data(&first, 300, 10, RETX);
        bench.data(&first, 399, 10, RETX);
        assert!(bench.order(context, generation, 1 << 31));
        bench.settle(2000);
        let end = bench.seen.last().unwrap();
        assert_eq!((end.flags, end.status), (ABORT, PARTIAL));
        assert!(!bench.order(context, generation, 1 << 31) && !bench.order(context, generation, 400));
    });
}

//= HR-7 test
#[test]
fn hr7_a_partial_end_gives_everything_back() {
    run("partial", REGISTERS, |bench, _| {
        let blocks = bench.free_blocks();
        let first = hosted(1, 700, 5);
        bench.fill(&first, 0..250);
        assert!(bench.free_blocks() < blocks);
        assert!(bench.order(1, first.generation, 1 << 31));
        // What comes late changes nothing.
        bench.data(&first, 251, 10, 0);
        bench.settle(2000);
        assert_eq!(bench.free_blocks(), blocks);
        assert_eq!((bench.event("rx_aborted"), bench.event("rx_completed")), (1, 0));
        // Ordinary messages obey nobody.
        let plain = message(2, 20 * 256, 0);
        bench.fill(&plain, 0..10);
        assert!(!bench.order(2, plain.generation, 1 << 31) && !bench.order(2, plain.generation, 20));
        bench.fill(&plain, 0..20);
        bench.settle(2000);
        assert_eq!(bench.event("rx_completed"), 1);
    });
}

/// A reset forgets every message, also towards a host that remembers its handle.
//= HR-5 test
//= RS-1 test
#[test]
fn hr5_an_order_finds_nothing_of_before_a_reset() {
    run("reset", REGISTERS, |bench, rng| {
        let blocks = bench.free_blocks();
        let old = [hosted(5, 300, 3), hosted(9, 40, 0), hosted(11, 2, 1)];
        for first in &old {
            bench.fill(first, 0..first.count() / 2);
        }
        bench.ticks(100);
        assert!(bench.free_blocks() < blocks);
        bench.restart();
        assert_eq!(bench.free_blocks(), blocks);
        for first in &old {
            for order in [first.count(), 1, 1 << 31] {
                let met = bench.order(first.context, first.generation, order);
                assert!(!met, "order {order:#x} met a message of before in context {}", first.context);
            }
        }
        bench.ticks(100);
        assert_eq!((bench.free_blocks(), bench.event("rx_aborted")), (blocks, 0));
        // Of the next messages in these contexts nothing is touched.
        let next = old.clone().map(|first| Packet { generation: first.generation + 500, ..first });
        for first in &next {
            for index in shuffled(0..first.count().min(256), rng) {
                bench.data(first, index, 10, 0);
            }
        }
        for first in &old {
            assert!(!bench.order(first.context, first.generation, 1 << 31));
        }
        bench.ticks(200);
        bench.fill(&next[0], 256..300);
        bench.settle(2000);
        assert_eq!((bench.free_blocks(), bench.event("rx_completed")), (blocks, 3));
    });
}

/// Nobody watches: the receiver's own bound ends it (LD-7).
#[test]
fn hr8_a_silent_host_costs_the_message() {
    run("silent host", REGISTERS, |bench, _| {
        let first = hosted(3, 60, 0);
        bench.fill(&first, 0..59);
        bench.settle(6000);
        assert_eq!(bench.nacks().len(), 0);
        assert_eq!(bench.seen.last().unwrap().status, GAVE_UP);
    });
}
