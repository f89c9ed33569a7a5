//! TX-3 to TX-5: which FEEDBACK counts, and for what.

use crate::bench::{run, run_slow, Bench, Feedback, Packet, Request};
use crate::sending::{complete, start};
use tessera_abi::status::Status;
use tessera_abi::wire::{fb, flag};

/// TX-3: another slot, generation or a message that has ended.
#[test]
fn stale_feedback_is_counted_and_changes_nothing() {
    run("tx_stale", |bench| {
        let packet = start(bench, Request::packets(4, 2))[0];
        let stale = [
            Packet { generation: (packet.generation + 1) & 0xF_FFFF, ..packet },
            Packet { generation: packet.generation.wrapping_sub(1) & 0xF_FFFF, ..packet },
            Packet { slot: 5, ..packet },
            Packet { slot: 63, generation: 0, ..packet },
            // There are 64 slots; the field has twelve bits.
            Packet { slot: 64 + packet.slot, ..packet },
            Packet { slot: 0x800 + packet.slot, ..packet },
            Packet { slot: 0xFC0 + packet.slot, ..packet },
            Packet { slot: 0xFFF, generation: 0, ..packet },
        ];
        for (i, other) in stale.iter().enumerate() {
            bench.answer(other, Feedback { grant: 4, sequence: 1, ..Feedback::default() });
            bench.answer(other, Feedback { flags: fb::ABORT, status: 2, ..Feedback::default() });
            bench.quiet(60);
            assert_eq!(bench.event("feedback_stale"), 2 * (i as u64 + 1));
        }
        bench.answer(&packet, Feedback { grant: 4, sequence: 1, ..Feedback::default() });
        assert_eq!(bench.take(2)[1].index, 3);
        bench.answer(&packet, complete(4));
        bench.completion(100);
        bench.answer(&packet, complete(4));
        bench.quiet(60);
        assert_eq!(bench.event("feedback_stale"), 2 * stale.len() as u64 + 1);
        bench.at_rest();
    });
}

/// TX-3: a slot that this NIC has not, whose low bits are those of one at work, in any
/// clock beside any kind of job for that one.
#[test]
fn feedback_for_a_slot_beyond_the_last_touches_none() {
    run("tx_outside", |bench| {
        let first = start(bench, Request::packets(1, 1))[0];
        bench.answer(&first, complete(1));
        bench.completion(100);
        let mut generation = first.generation;
        for phase in 0..8 {
            // Pops come in steps of the wheel: the rounds begin alike, a clock apart from
            // what comes beside them.
            bench.until(64, |bench| bench.clocks_run() % 64 == phase);
            bench.flood_every = 8;
            for kind in 0..4 {
                generation = (generation + 1) & 0xF_FFFF;
                bench.flood.clear();
                for slot in [64, 0x7C0, 0xFC0] {
                    let beyond = Packet { slot: slot + first.slot, generation, ..first };
                    // What would end it, and what would open it.
                    let all = Feedback { flags: fb::ABORT, status: 2, ..Feedback::default() };
                    bench.flood(&beyond, all);
                    let wish = Feedback { flags: fb::COMPLETE | fb::RELEASE_REQ, ..complete(4) };
                    bench.flood(&beyond, wish);
                }
                life(bench, &first, generation, kind);
            }
            bench.dry();
            assert_eq!(bench.event("feedback_stale"), bench.flooded(), "phase {phase}");
        }
        assert_eq!(bench.event("feedback_forged") + bench.event("feedback_nonsense"), 0);
        bench.releases.clear();
        bench.at_rest();
    });
}

/// A message in the slot of `first` that sees every kind of job and ends in one of four
/// ways.
fn life(bench: &mut Bench, first: &Packet, generation: u64, kind: u64) {
    let reads_fail = kind == 1;
    let entry = bench.posted.len() as u64;
    bench.fail = Box::new(move |packet| reads_fail && packet.entry == entry && packet.index == 3);
    let packet = start(bench, Request::packets(4, 2))[1];
    assert_eq!((packet.slot, packet.generation, packet.entry), (first.slot, generation, entry));
    let nack = |sequence| Feedback {
        flags: fb::NACK,
        grant: 2,
        limit: 2,
        sequence,
        bitmap: [1, 0, 0, 0],
        ..Feedback::default()
    };
    bench.ticks(42);
    bench.answer(&packet, nack(1));
    assert!(bench.packet(100).probe, "nothing is settled yet");
    bench.ticks(50);
    bench.answer(&packet, nack(2));
    let again = bench.packet(100);
    assert!(again.has(flag::RETX) && again.index == 1, "{again:?}");
    assert!(bench.packet(16 * 120).probe, "the backstop");
    if kind == 3 {
        let [active, at] = ["reclaim.active", "reclaim.endpoint"].map(|name| bench.dut.port(name).unwrap());
        bench.dut.set(at, 3u64);
        bench.dut.set(active, 1u64);
        assert_eq!(bench.completion(400).status, Status::Flushed as u64);
        bench.dut.set(active, 0u64);
        return;
    }
    bench.answer(&packet, Feedback { grant: 4, cumulative: 2, sequence: 3, ..Feedback::default() });
    let rest = bench.take(2);
    assert_eq!((rest[0].index, rest[1].index), (2, 3));
    let status = match kind {
        1 => Status::LocalDma as u64,
        2 => {
            bench.answer(&packet, Feedback { flags: fb::ABORT, status: 3, ..Feedback::default() });
            3
        }
        _ => {
            bench.answer(&packet, complete(4));
            0
        }
    };
    let done = bench.completion(200);
    assert_eq!((done.entry, done.status), (entry, status));
}

/// FEEDBACK for one slot as fast as it is taken leaves every other job its turn,
/// those of that slot and those that stand behind them.
#[test]
fn a_flood_for_one_slot_starves_nobody() {
    run("tx_one_slot_flood", |bench| {
        bench.set("max_retry", 200);
        for (round, beyond) in [0, 64, 0xFC0].into_iter().enumerate() {
            let named = start(bench, Request::packets(200, 1))[0];
            let old = Packet { generation: named.generation.wrapping_sub(3) & 0xF_FFFF, ..named };
            bench.flood(&old, Feedback { grant: 200, sequence: 1, ..Feedback::default() });
            bench.flood(&Packet { slot: old.slot + beyond, ..old }, complete(200));
            // Turns: of the slot itself, and behind it.
            bench.answer(&named, Feedback { grant: 200, sequence: 1, ..Feedback::default() });
            let other = bench.post(Request::packets(20, 20));
            assert!(
                bench.until(4000, |bench| bench.packets.len() == 199 + 20),
                "round {round}: {} packets",
                bench.packets.len()
            );
            let one = *bench.packets.iter().find(|packet| packet.entry == other).unwrap();
            // Steps, and walks that reach nothing.
            bench.ticks(60);
            bench.packets.clear();
            let nack = Feedback { flags: fb::NACK, grant: 200, limit: 32, ..Feedback::default() };
            bench.answer(&named, Feedback { sequence: 2, ..nack });
            bench.answer(&one, Feedback { limit: 16, grant: 20, sequence: 2, ..nack });
            assert!(
                bench.until(1500, |bench| bench.packets.iter().filter(|p| p.has(flag::RETX)).count() == 48)
            );
            bench.packets.clear();
            bench.answer(&named, Feedback { sequence: 3, bitmap: [u64::MAX; 4], ..nack });
            bench.answer(&one, Feedback { grant: 20, limit: 20, sequence: 3, bitmap: [u64::MAX; 4], ..nack });
            // Pops: the backstops of both.
            let mut probes = [0, 0];
            assert!(bench.until(16 * 300, |bench| {
                while let Some(packet) = bench.packets.pop_front() {
                    probes[usize::from(packet.entry == other)] += u64::from(packet.probe);
                }
                probes[0] >= 2 && probes[1] >= 2
            }));
            // Ends, and the slot's next message.
            bench.answer(&named, complete(200));
            bench.answer(&one, complete(20));
            for _ in 0..2 {
                assert_eq!(bench.completion(400).status, 0);
            }
            bench.packets.clear();
            // The reclaim looks at every slot.
            let last = start(bench, Request { endpoint: 5, ..Request::packets(1, 1) })[0];
            let [active, at] =
                ["reclaim.active", "reclaim.endpoint"].map(|name| bench.dut.port(name).unwrap());
            bench.dut.set(at, 5u64);
            bench.dut.set(active, 1u64);
            let done = bench.completion(1000);
            assert_eq!((done.entry, done.status), (last.entry, Status::Flushed as u64));
            bench.dut.set(active, 0u64);
            bench.dry();
        }
        bench.at_rest();
    });
}

/// Where the wire takes a packet every few clocks, in step with the flood: the named
/// slots' retransmissions go, and new packets, in turns.
#[test]
fn a_flood_in_step_with_the_wire_starves_nobody() {
    for clocks in [5, 10, 15, 20] {
        run_slow("tx_flood_in_step", clocks, |bench| {
            bench.set("max_retry", 200);
            for phase in 0..10 {
                in_step(bench, clocks, phase);
            }
            bench.at_rest();
        });
    }
}

fn in_step(bench: &mut Bench, clocks: u64, phase: u64) {
    let named: Vec<Packet> = (0..2)
        .map(|_| {
            let packet = start(bench, Request::packets(32, 32))[0];
            bench.answer(&packet, Feedback { grant: 32, sequence: 1, ..Feedback::default() });
            packet
        })
        .collect();
    bench.ticks(60);
    // Its turn comes for as long as this lasts.
    let other = bench.post(Request::packets(250, 250));
    bench.clocks(100 + phase);
    // FEEDBACK names one of the two, both in turn, and the one whose turn it is.
    let one = *bench.packets.iter().find(|packet| packet.entry == other).expect("begun");
    for (round, floods) in [vec![named[0]], named.clone(), vec![one]].into_iter().enumerate() {
        for packet in floods {
            let generation = packet.generation.wrapping_sub(3) & 0xF_FFFF;
            bench.flood(&Packet { generation, ..packet }, Feedback { grant: 32, ..Feedback::default() });
        }
        bench.clocks(40);
        bench.packets.clear();
        let sequence = 2 + round as u64;
        let nack = Feedback { flags: fb::NACK, grant: 32, limit: 16, sequence, ..Feedback::default() };
        bench.answer(&named[0], nack);
        let again = |bench: &Bench| bench.packets.iter().filter(|p| p.has(flag::RETX)).count();
        let came = bench.until(100 * clocks, |bench| again(bench) == 16);
        assert!(came, "round {round}, phase {phase} of {clocks}: {} retransmissions", again(bench));
        let new = bench.packets.iter().filter(|p| p.entry == other).count();
        assert!(new > 10, "round {round}, phase {phase} of {clocks}: {new} new packets went beside them");
        bench.dry();
    }
    assert!(
        bench.until(300 * clocks, |bench| bench.packets.iter().any(|p| p.entry == other && p.index == 249))
    );
    for (packet, count) in [(named[0], 32), (named[1], 32), (one, 250)] {
        bench.answer(&packet, complete(count));
        assert_eq!(bench.completion(400).status, 0);
    }
    bench.packets.clear();
}

/// FEEDBACK for slots in turn is taken in every fifth clock.
#[test]
fn feedback_for_other_slots_waits_for_nobody() {
    run("tx_feedback_rate", |bench| {
        let packets: Vec<Packet> = (0..3).map(|_| start(bench, Request::packets(4, 1))[0]).collect();
        for packet in &packets {
            bench.flood(packet, Feedback { grant: 1, sequence: 1, ..Feedback::default() });
        }
        bench.clocks(20);
        let (before, clocks) = (bench.flooded(), 1000);
        bench.clocks(clocks);
        assert!(
            bench.flooded() - before >= clocks / 5 - 1,
            "{} in {clocks} clocks",
            bench.flooded() - before
        );
    });
}

/// TX-3: from anywhere but the message's destination, or to another endpoint.
#[test]
fn forged_feedback_is_counted_and_changes_nothing() {
    run("tx_forged", |bench| {
        let request = Request::packets(4, 2);
        let packet = start(bench, request)[0];
        let forgers = [
            Request { dst_gid: request.dst_gid ^ 1, ..request },
            Request { dst_gid: request.dst_gid ^ 1 << 127, ..request },
            Request { dst_gid: request.dst_gid ^ 1 << 64, ..request },
            Request { dst_endpoint: request.dst_endpoint ^ 1 << 23, ..request },
            Request { endpoint: request.endpoint ^ 0x80, ..request },
        ];
        for (i, forger) in forgers.iter().enumerate() {
            for feedback in [
                Feedback { grant: 4, sequence: 1, ..Feedback::default() },
                Feedback { flags: fb::ABORT, status: 2, ..Feedback::default() },
                complete(4),
            ] {
                let word = bench.feedback_word(&packet, feedback, forger);
                bench.feedback.send(word);
            }
            bench.quiet(60);
            assert_eq!(bench.event("feedback_forged"), 3 * (i as u64 + 1), "{forger:?}");
        }
        bench.answer(&packet, Feedback { grant: 4, sequence: 1, ..Feedback::default() });
        bench.take(2);
        bench.answer(&packet, complete(4));
        bench.completion(100);
        bench.at_rest();
    });
}

/// TX-3: numbers that cannot be.
#[test]
fn nonsense_is_counted_and_changes_nothing() {
    run("tx_nonsense", |bench| {
        let packet = start(bench, Request::packets(600, 4))[0];
        let fine = Feedback { grant: 8, sequence: 1, ..Feedback::default() };
        let nonsense = [
            Feedback { cumulative: 5, ..fine },
            Feedback { flags: fb::COMPLETE, cumulative: 4, grant: 600, ..fine },
            Feedback { base: 1, ..fine },
            Feedback { base: 0x80, ..fine },
            Feedback { flags: fb::NACK, base: 768, limit: 4, ..fine },
            Feedback { flags: fb::NACK, limit: 601, ..fine },
            Feedback { flags: fb::ABORT, status: 0, ..fine },
            Feedback { flags: fb::ABORT | fb::COMPLETE, status: 0, ..fine },
            Feedback { flags: fb::ABORT, status: Status::Unheard as u64, ..fine },
        ];
        for (i, feedback) in nonsense.iter().enumerate() {
            bench.answer(&packet, *feedback);
            bench.quiet(40);
            assert_eq!(bench.event("feedback_nonsense"), i as u64 + 1, "{feedback:?}");
        }
        // The same numbers at their edges are fine, and only a NACK's base has to
        // lie in the message; an ABORT may come any time.
        bench.answer(&packet, Feedback { cumulative: 4, base: 768, limit: 600, ..fine });
        bench.take(4);
        bench.answer(&packet, Feedback { flags: fb::ABORT | fb::COMPLETE, status: 5, ..fine });
        assert_eq!(bench.completion(60).status, Status::RemoteDma as u64);
        assert_eq!(bench.event("feedback_nonsense"), nonsense.len() as u64);
        assert_eq!(bench.event("feedback_stale") + bench.event("feedback_forged"), 0);
        bench.at_rest();
    });
}

/// TX-4: cumulative and grant are maxima whatever the order; samples count from a
/// newer sequence only, serially modulo 256, and a NACK unless a later one did.
//= TX-4 test
#[test]
fn feedback_may_be_reordered() {
    run("tx_reorder", |bench| {
        let packet = start(bench, Request::packets(100, 4))[0];
        let at = |sequence, grant| Feedback { grant, sequence, ..Feedback::default() };
        bench.answer(&packet, at(3, 20));
        bench.take(16);
        bench.answer(&packet, at(1, 6));
        bench.answer(&packet, at(2, 24));
        assert_eq!(bench.take(4)[3].index, 23);
        bench.quiet(100);
        bench.ticks(50);
        // One that others overtook left long ago: nothing was settled by then.
        let nack =
            |sequence| Feedback { flags: fb::NACK, grant: 24, limit: 2, sequence, ..Feedback::default() };
        bench.answer(&packet, nack(2));
        assert!(bench.packet(100).probe, "where is it");
        bench.answer(&packet, nack(4));
        assert!(bench.take(2).iter().all(|p| p.has(flag::RETX)));
        // Now it is; a copy of it, older ones, and one that may as well be newer.
        bench.answer(&packet, at(7, 24));
        bench.answer(&packet, nack(6));
        assert!(bench.take(2).iter().all(|p| p.has(flag::RETX)));
        for sequence in [6, 5, 4, 0x87] {
            bench.answer(&packet, nack(sequence));
        }
        bench.quiet(100);
        bench.answer(&packet, nack(7));
        assert!(bench.take(2).iter().all(|p| p.has(flag::RETX)));
        // Up to 127 ahead, and over the wrap.
        for sequence in [100, 200, 255, 10] {
            bench.ticks(10);
            bench.answer(&packet, nack(sequence));
            assert_eq!(bench.take(2)[1].index, 1, "sequence {sequence}");
        }
        bench.answer(&packet, nack(255));
        bench.quiet(100);
        // What was acted on falls behind as others come, and in the end out of sight.
        bench.answer(&packet, at(130, 24));
        for (sequence, acts) in [(20, true), (15, false), (20, false), (21, true)] {
            bench.answer(&packet, nack(sequence));
            match acts {
                true => assert_eq!(bench.take(2)[1].index, 1, "sequence {sequence}"),
                false => bench.quiet(100),
            };
        }
        bench.answer(&packet, at(240, 24));
        bench.answer(&packet, nack(113));
        bench.quiet(100);
        bench.answer(&packet, nack(114));
        assert_eq!(bench.take(2)[1].index, 1);
        // The sample of an old one does not count.
        bench.answer(&packet, Feedback { sample: Some(9), ..at(241, 25) });
        assert_eq!(bench.packet(60).rtt, 9);
        bench.answer(&packet, Feedback { sample: Some(900), ..at(239, 26) });
        assert_eq!(bench.packet(60).rtt, 9);
        // COMPLETE and ABORT count whatever the sequence.
        bench.answer(&packet, Feedback { flags: fb::ABORT, status: 3, ..at(5, 26) });
        assert_eq!(bench.completion(60).status, Status::GaveUp as u64);
        bench.at_rest();
    });
}

/// TX-5: the smoothed round-trip time, in the slot and for the next message to
/// the same destination.
#[test]
fn round_trips_are_smoothed_and_remembered() {
    run("tx_rtt", |bench| {
        let request = Request::packets(100, 1);
        let packet = start(bench, request)[0];
        assert_eq!(packet.rtt, 0);
        let mut expected: i64 = 0;
        let samples = [800, 808, 900, 100, 0, 70_000, 5, 1, 1, 1, 1, 1];
        for (i, &sample) in samples.iter().enumerate() {
            let sequence = 1 + i as u64;
            bench.answer(
                &packet,
                Feedback { grant: 1 + sequence, sequence, sample: Some(sample), ..Feedback::default() },
            );
            let sample = (sample as i64).clamp(1, 65_535);
            expected = if i == 0 { sample } else { expected + ((sample - expected) >> 3) };
            assert_eq!(bench.packet(100).rtt as i64, expected, "sample {i}");
        }
        // A packet from the future gives no sample.
        bench.answer(
            &packet,
            Feedback { grant: 50, sequence: 40, sample: Some(0xFFFF_FFF0), ..Feedback::default() },
        );
        assert_eq!(bench.packet(100).rtt as i64, expected);
        bench.clocks(400);
        bench.packets.clear();
        let other = Request { dst_gid: request.dst_gid + 1, ..request };
        assert_eq!(start(bench, other)[0].rtt, 0, "another destination");
        assert_eq!(start(bench, request)[0].rtt as i64, expected);
        let folded = Request { dst_gid: request.dst_gid ^ (1 << 10 | 1), ..request };
        assert_eq!(start(bench, folded)[0].rtt as i64, expected, "the same place of the table");
    });
}
