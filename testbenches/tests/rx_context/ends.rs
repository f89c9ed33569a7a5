//! Messages that end other than by their last packet (RO-4, RL, RE), and writes (WR).

use super::*;

#[test]
fn ro4_a_replaced_message_gives_everything_back_silently() {
    run("replaced", REGISTERS, |bench, _| {
        let blocks = bench.free_blocks();
        let first = message(5, 700 * 256, 0);
        bench.fill(&first, 0..256);
        bench.ticks(60);
        assert!(bench.free_blocks() < blocks);
        let newer = Packet { verdict: 3, generation: first.generation, index: 1, ..first.clone() };
        bench.give(&newer);
        bench.settle(2000);
        assert_eq!(bench.free_blocks(), blocks);
        assert_eq!(bench.event("rx_aborted"), 1);
    });
}

//= RL-2 test
#[test]
fn rl2_a_released_message_gives_everything_back_silently() {
    run("released", REGISTERS, |bench, _| {
        let blocks = bench.free_blocks();
        let first = message(5, 700 * 256, 0);
        bench.fill(&first, 0..256);
        bench.ticks(60);
        assert!(bench.free_blocks() < blocks);
        let release = Packet { verdict: 3, released: true, probe: true, ..first.clone() };
        bench.give(&release);
        // A copy of it, and what comes late of the message, change nothing.
        bench.give(&release);
        bench.settle(2000);
        assert_eq!(bench.free_blocks(), blocks);
        assert_eq!(bench.event("rx_aborted"), 1);
        // Too late: the message is whole, its last writes are on their way.
        let whole = message(6, 100, 8);
        bench.data(&whole, 0, 10, 0);
        bench.give(&Packet { verdict: 3, released: true, probe: true, ..whole.clone() });
        bench.settle(2000);
        assert_eq!((bench.event("rx_aborted"), bench.event("rx_completed")), (1, 1));
    });
}

//= RE-2 test
#[test]
fn re2_a_destroyed_endpoints_message_is_aborted_and_told() {
    run("destroyed", REGISTERS, |bench, _| {
        let blocks = bench.free_blocks();
        let first = message(5, 700 * 256, 0);
        bench.fill(&first, 0..256);
        bench.ticks(60);
        // A word about the context, of no packet: it does not say where replies go.
        let word = Packet {
            verdict: 3,
            destroyed: true,
            probe: true,
            mac: 0xDEAD_BEEF,
            generation: first.generation,
            context: first.context,
            ..message(9, 5, 0)
        };
        bench.give(&word);
        bench.settle(2000);
        assert_eq!(bench.free_blocks(), blocks);
        assert_eq!(bench.event("rx_aborted"), 1);
        let end = bench.seen.last().unwrap();
        assert_eq!((end.flags, end.status, end.generation), (ABORT, DESTROYED, first.generation));
        assert_eq!(bench.last_mac, first.mac);
    });
}

//= RL-3 test
#[test]
fn rl3_complete_asks_for_a_release_while_places_are_few() {
    run("low", REGISTERS, |bench, _| {
        for (context, low) in [(3, false), (4, true), (5, false)] {
            bench.set_low(low);
            let first = message(context, 3 * 256, 8);
            bench.fill(&first, 0..3);
            bench.settle(2000);
            let flags = bench.seen.last().unwrap().flags;
            assert_eq!(flags, COMPLETE | if low { RELEASE_REQ } else { 0 });
        }
    });
}

/// The first packet of a write.
fn write(context: u64, length: u64, flags: u64) -> Packet {
    let tag = 0x7_7000_0000 + (context << 24);
    Packet { flags: WRITE | flags, tag, buffer: tag, rkey: 0xABCD_0123, ..message(context, length, 0) }
}

//= WR-1 test
#[test]
fn wr1_a_write_goes_to_its_address_and_reports_only_an_immediate() {
    run("write", REGISTERS, |bench, _| {
        for (context, length, flags) in [(1, 700 * 256 + 3, 0), (2, 900, IMM), (3, 100, 0), (4, 0, IMM)] {
            let first = write(context, length, flags);
            bench.fill(&first, 0..first.count());
            bench.settle(3000);
            let end = bench.seen.last().unwrap();
            assert_eq!((end.generation, end.flags), (first.generation, COMPLETE));
        }
        assert_eq!(bench.event("rx_completed"), 4);
    });
}

//= RO-9 test
//= WR-1 test
#[test]
fn wr1_rights_that_go_end_the_message_and_others_packets_do_not() {
    run("denied", REGISTERS, |bench, _| {
        let blocks = bench.free_blocks();
        for (context, flags) in [(1, 0), (2, IMM)] {
            let first = write(context, 700 * 256, flags);
            bench.fill(&first, 0..200);
            let aborted = bench.event("rx_aborted");
            let strange = [
                Packet { rkey: first.rkey ^ 1 << 31, ..first.clone() },
                Packet { rkey: first.rkey ^ 1, denied: true, ..first.clone() },
                Packet { flags: first.flags & !WRITE, ..first.clone() },
                Packet { tag: first.tag + 256, ..first.clone() },
            ];
            for packet in strange {
                bench.data(&packet, 200, 10, AR);
            }
            assert_eq!((bench.event("mismatch") % 4, bench.event("rx_aborted")), (0, aborted));
            // A copy, a PROBE or what was not granted: whatever shows it.
            let shows = Packet { denied: true, ..first.clone() };
            match flags {
                0 => bench.probe(&shows, 200),
                _ => bench.data(&shows, 5, 10, 0),
            }
            bench.settle(2000);
            let end = bench.seen.last().unwrap();
            assert_eq!((end.generation, end.flags, end.status), (first.generation, ABORT, REMOTE_ACCESS));
            assert_eq!(bench.free_blocks(), blocks);
        }
        // Counted for lookup, which has told the sender.
        bench.pass(&Packet { verdict: 2, denied: true, probe: true, ..write(9, 100, 0) });
        bench.pass(&Packet { verdict: 2, denied: true, ..write(9, 100, 0) });
        bench.settle(100);
        assert_eq!(bench.event("remote_access"), 4);
        // Of a send the key means nothing.
        let first = message(3, 3 * 256, 8);
        bench.data(&first, 0, 10, 0);
        bench.data(&Packet { rkey: 77, ..first.clone() }, 1, 10, 0);
        bench.fill(&first, 0..3);
        bench.settle(1000);
        assert_eq!(bench.seen.last().unwrap().flags, COMPLETE);
    });
}

#[test]
fn a_failed_write_is_told_on_both_sides() {
    run("dma error", REGISTERS, |bench, _| {
        bench.fence_error = 1.0;
        let first = message(5, 3 * 256, 32);
        bench.fill(&first, 0..3);
        bench.settle(1000);
        let end = bench.seen.last().unwrap();
        assert_eq!((end.flags, end.status), (ABORT, REMOTE_DMA));
    });
}

/// A context that is over keeps its number while the wheel names it, twice if
/// need be: the next message in it would meet the old one's timers.
//= RO-11 test
#[test]
fn ro11_a_number_waits_for_both_of_its_timer_nodes() {
    run("nodes", Registers { gap0: 4000, ..REGISTERS }, |bench, _| {
        bench.clocks_per_tick = 16;
        // Silence is far away, the tail that a PROBE arms is near.
        let first = message(4, 3 * 256, 3);
        bench.data(&first, 0, 10, 0);
        bench.ticks(4);
        bench.probe(&first, 3);
        bench.ticks(4);
        assert_eq!(bench.nodes_linked(4), 2);
        bench.fill(&first, 1..3);
        let limit = bench.now + 100;
        while bench.messages[&first.generation].phase != Phase::Buried {
            bench.clock();
            assert!(bench.now < limit, "the message does not end");
        }
        let over = bench.now;
        assert!(bench.nodes_linked(4) > 0, "both popped before its end: nothing was shown");
        while bench.owners.contains_key(&4) {
            bench.clock();
            assert!(bench.now < over + 2000, "the number never comes back");
        }
        assert_eq!(bench.nodes_linked(4), 0);
        assert!(bench.now > over + 300, "the far node was given up after {} ticks", bench.now - over);
        bench.settle(100);
    });
}
