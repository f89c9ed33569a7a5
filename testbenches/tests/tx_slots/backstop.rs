//! Backstop timers: RD-6 and TX-9.

use crate::bench::{run, run_coarse, Feedback, Request};
use crate::sending::{complete, start};
use tessera_abi::status::Status;
use tessera_abi::wire::{fb, flag};

/// RD-6: the first backstop of a round's message has a register of its own.
#[test]
fn a_round_asks_sooner() {
    run("tx_round", |bench| {
        bench.set("rto_round", 20);
        let packet = start(bench, Request { round: Some(0xABCD), ..Request::packets(4, 1) })[0];
        let mut last = packet.tick;
        for interval in [20, 48, 96] {
            let probe = bench.packet(200 * 16);
            assert!(probe.probe && probe.has(flag::ROUND));
            let waited = probe.tick - last;
            assert!((interval..=interval + 5).contains(&waited), "{waited} for {interval}");
            last = probe.tick;
        }
        // Once it is heard of, it waits like any other.
        bench.answer(&packet, Feedback { grant: 1, sequence: 1, ..Feedback::default() });
        bench.clocks(30);
        let heard = bench.tick();
        let probe = bench.packet(110 * 16);
        assert!((98..=105).contains(&(probe.tick - heard)), "{}", probe.tick - heard);
        bench.answer(&packet, Feedback { flags: fb::ABORT, status: 2, ..Feedback::default() });
        bench.completion(100);
        bench.at_rest();
    });
}

/// TX-9: once all of a message is out that the receiver's software recovers,
/// and it was heard of, the longest interval is the first one too.
#[test]
fn software_is_asked_seldom() {
    run("tx_host_recovery", |bench| {
        bench.set("grant_wait", 1 << 20);
        let request = Request { host_recovery: true, ..Request::packets(4, 3) };
        let packets = start(bench, request);
        let packet = packets[0];
        // Unheard of, it waits like any other.
        let probe = bench.packet(60 * 16);
        assert!(probe.probe && probe.has(flag::HOST_RECOVERY) && !probe.has(flag::EST));
        // The last packet is not out yet: nor is the receiver's word.
        bench.answer(&packet, Feedback { grant: 3, sequence: 1, ..Feedback::default() });
        bench.clocks(30);
        let heard = bench.tick();
        let probe = bench.packet(110 * 16);
        assert!((98..=105).contains(&(probe.tick - heard)), "{}", probe.tick - heard);
        bench.answer(&packet, Feedback { grant: 4, sequence: 2, ..Feedback::default() });
        let last = bench.packet(100);
        assert!(last.index == 3 && !last.probe && last.has(flag::HOST_RECOVERY));
        bench.answer(&packet, Feedback { grant: 4, cumulative: 2, sequence: 3, ..Feedback::default() });
        bench.clocks(30);
        let mut since = bench.tick();
        for _ in 0..3 {
            let probe = bench.packet((100 << 5) * 16 + 4000);
            assert!(probe.probe && probe.index == 4);
            let waited = probe.tick - since;
            assert!(((100 << 5) - 4..=(100 << 5) + 105).contains(&waited), "{waited}");
            since = probe.tick;
        }
        bench.answer(&packet, Feedback { flags: fb::ABORT, status: 7, ..Feedback::default() });
        bench.completion(100);
        bench.at_rest();
    });
}

/// TX-9: RTT + 2 guards, every second PROBE doubling it up to 32 RTO; feedback
/// and emissions start it over, with RTO while more is to be granted.
#[test]
fn the_backstop_probes_at_doubling_intervals() {
    run("tx_backstop", |bench| {
        bench.set("max_retry", 19);
        bench.set("t_open", 1 << 20);
        let packet = start(bench, Request::packets(4, 1))[0];
        let mut last = packet.tick;
        for n in 0..19u32 {
            let interval = ((40 + 8) << (n / 2).min(8)).min(100 << 5);
            let probe = bench.packet(3300 * 16);
            assert_eq!((probe.probe, probe.index, probe.flags), (true, 1, 0));
            let waited = probe.tick - last;
            assert!((interval..=interval + 5).contains(&waited), "PROBE {n}: {waited} for {interval}");
            last = probe.tick;
        }
        assert_eq!(bench.event("backstop_expiries"), 19);
        // Feedback: RTO from now, whatever the node was linked for.
        bench.ticks(30);
        bench.answer(&packet, Feedback { grant: 1, sequence: 1, ..Feedback::default() });
        bench.clocks(30);
        let heard = bench.tick();
        let probe = bench.packet(110 * 16);
        assert!((98..=105).contains(&(probe.tick - heard)), "{}", probe.tick - heard);
        assert!(probe.has(flag::EST));
        // An emission: the same, or when the PROBE's own timer pops, because by
        // now both nodes are linked further out.
        bench.ticks(50);
        bench.answer(&packet, Feedback { grant: 2, sequence: 2, ..Feedback::default() });
        let new = bench.packet(100);
        let probe = bench.packet(210 * 16);
        assert!((98..=155).contains(&(probe.tick - new.tick)), "{}", probe.tick - new.tick);
        assert_eq!(probe.index, 2);
        bench.answer(&packet, Feedback { flags: fb::ABORT, status: 2, ..Feedback::default() });
        bench.completion(100);
        bench.at_rest();
    });
}

/// TX-9: with everything granted the only word to come is the answer to what was
/// sent last: it is missed after RTT + 2 guards, also behind other feedback.
#[test]
fn a_lost_completion_is_missed_after_a_round_trip() {
    run("tx_lost_complete", |bench| {
        let packet = start(bench, Request::packets(3, 2))[0];
        bench.answer(&packet, Feedback { grant: 3, cumulative: 2, sequence: 1, ..Feedback::default() });
        let last = bench.packet(100);
        assert_eq!(last.index, 2);
        let mut since = last.tick;
        for n in 0..4u32 {
            let probe = bench.packet(200 * 16);
            let (waited, interval) = (probe.tick - since, 48 << (n / 2));
            assert!(
                probe.probe && (interval..=interval + 5).contains(&waited),
                "{n}: {waited} for {interval}"
            );
            since = probe.tick;
        }
        bench.answer(&packet, Feedback { grant: 3, cumulative: 2, sequence: 2, ..Feedback::default() });
        bench.clocks(30);
        let heard = bench.tick();
        let probe = bench.packet(60 * 16);
        assert!((46..=53).contains(&(probe.tick - heard)), "{}", probe.tick - heard);
        bench.answer(&packet, complete(3));
        bench.completion(100);
        bench.at_rest();
    });
}

/// TX-9: RTT + 2 guards to the tick, whatever is carried from the lower byte of their sum.
#[test]
fn an_interval_begins_with_the_whole_sum() {
    run("tx_reach", |bench| {
        bench.set("t_open", 1 << 20);
        bench.set("rto", 1 << 12);
        let guards = [4, 0, 64, 30, 100, 127, 200];
        for (n, (guard, rtt)) in guards.into_iter().zip([150, 200, 128, 196, 56, 2, 500]).enumerate() {
            bench.set("guard", guard);
            let to =
                Request { dst_gid: Request::packets(3, 2).dst_gid + n as u128, ..Request::packets(3, 2) };
            let packet = start(bench, to)[0];
            bench.answer(
                &packet,
                Feedback { grant: 3, cumulative: 2, sequence: 1, sample: Some(rtt), ..Feedback::default() },
            );
            let last = bench.packet(200);
            let interval = rtt + 2 * guard;
            let probe = bench.packet(32 * (interval + 10));
            let waited = probe.tick - last.tick;
            assert!(
                probe.probe && (interval..=interval + 5).contains(&waited),
                "{rtt} and two of {guard}: {waited}"
            );
            bench.answer(&packet, complete(3));
            bench.completion(200);
        }
        bench.at_rest();
    });
}

/// TX-9: a packet that waits for its read and its turn has not been sent: the
/// silence begins when the last one leaves, and each PROBE waits for its own.
#[test]
fn the_backstop_counts_from_the_wire() {
    run("tx_wire_backstop", |bench| {
        for round in 0..6 {
            let waits = [3, 30, 47, 48, 200, 700][round];
            bench.sent_after = Some(waits * 16);
            let packet = start(bench, Request::packets(1, 1))[0];
            let mut left = packet.tick + waits;
            for n in 0..4u32 {
                let probe = bench.packet((waits + 400) * 16);
                let (quiet, interval) = (probe.tick as i64 - left as i64, 48 << (n / 2));
                assert!(
                    probe.probe && (interval - 1..=interval + 6).contains(&quiet),
                    "{waits}, PROBE {n}: {quiet} for {interval}"
                );
                left = probe.tick + waits;
            }
            bench.sent_after = Some(8);
            bench.release();
            bench.answer(&packet, complete(1));
            bench.completion(100);
        }
        bench.at_rest();
    });
}

/// TX-9: nor does a packet that never leaves draw a PROBE; bounds still hold.
#[test]
fn a_packet_that_does_not_leave_draws_no_probe() {
    run("tx_stuck", |bench| {
        bench.set("t_open", 3_000);
        bench.sent_after = None;
        start(bench, Request::packets(2, 1));
        bench.ticks(2_900);
        assert!(bench.packets.is_empty(), "{:?}", bench.packets);
        bench.ticks(600);
        bench.release();
        assert_eq!(bench.completion(400).status, Status::Unheard as u64);
        bench.at_rest();
    });
}

/// TX-9: no interval is too long to end, though the times of leaving are kept for
/// less; of what has not left none does.
#[test]
fn the_longest_interval_ends() {
    run_coarse("tx_longest", |bench| {
        let longest: u64 = 1 << 24;
        for (name, value) in [("rto", longest >> 5), ("max_retry", 0), ("grant_wait", longest - 1)] {
            bench.set(name, value);
        }
        for leaves in [true, false] {
            bench.sent_after = leaves.then_some(8);
            let request = Request { host_recovery: true, ..Request::packets(1, 1) };
            let packet = start(bench, request)[0];
            bench.ticks(4);
            bench.answer(&packet, Feedback { grant: 1, sequence: 1, ..Feedback::default() });
            bench.clocks(30);
            let heard = bench.tick();
            // 512 ticks per clock.
            bench.pace = 512 * 16;
            assert!(
                bench.until(40_000, |bench| bench.tick() - heard > longest + longest / 16),
                "time does not pass"
            );
            bench.pace = 1;
            assert_eq!(bench.done.is_empty(), !leaves);
            bench.release();
            // The interval and GRANT_WAIT end together: TX-10 names which comes first.
            let expected = if leaves { Status::RetryExceeded } else { Status::GrantTimeout };
            assert_eq!(bench.completion(400).status, expected as u64);
        }
        bench.at_rest();
    });
}

/// TX-9: the timers of a slot's last message do not hold up its next one.
#[test]
fn a_reused_slot_probes_in_time() {
    run("tx_reused_timer", |bench| {
        for round in 0..40 {
            let packet = start(bench, Request::packets(1, 1))[0];
            assert_eq!(packet.slot, 0);
            if round % 3 == 2 {
                let probe = bench.packet(60 * 16);
                let waited = probe.tick - packet.tick;
                assert!(probe.probe && (48..=53).contains(&waited), "round {round}: {waited}");
            } else {
                let pause = bench.rng.below(60);
                bench.ticks(pause.min(40));
            }
            bench.answer(&packet, complete(1));
            bench.completion(100);
        }
        assert_eq!(bench.event("wheel_late"), 0);
        bench.at_rest();
    });
}
