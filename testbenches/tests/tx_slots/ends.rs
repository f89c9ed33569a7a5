//! TX-10: every bound ends the message, with its status and in its time.

use crate::bench::{run, Bench, Completion, Feedback, Packet, Request};
use crate::sending::{complete, start};
use tessera_abi::status::Status;
use tessera_abi::wire::fb;

/// Waits for the end while nothing answers; the ticks since `start`.
fn end(bench: &mut Bench, start: u64, ticks: u64) -> (Completion, u64) {
    let done = bench.completion(ticks * 16);
    bench.packets.clear();
    (done, bench.tick() - start)
}

/// Four RTO late at most, and the wheel.
const LATE: u64 = 4 * 100 + 5;

#[test]
fn nothing_heard_at_all_is_unheard() {
    run("tx_unheard", |bench| {
        bench.set("t_open", 900);
        bench.set("max_retry", 9);
        let packet = start(bench, Request::packets(4, 2))[0];
        let (done, ticks) = end(bench, packet.tick, 2000);
        assert_eq!(done.status, Status::Unheard as u64);
        assert!((900..=900 + LATE).contains(&ticks), "{ticks}");
        bench.clocks(5);
        assert_eq!(bench.event("tx_failed"), 1);
        bench.at_rest();
    });
}

#[test]
fn busy_for_ever_is_receiver_not_ready() {
    run("tx_not_ready", |bench| {
        bench.set("t_open", 3000);
        let packet = start(bench, Request::packets(4, 2))[0];
        let busy = Feedback { flags: fb::BUSY, ..Feedback::default() };
        bench.answer(&packet, busy);
        while bench.done.is_empty() {
            assert!(bench.until(16 * 4000, |bench| !bench.done.is_empty()
                || bench.packets.pop_front().is_some_and(|p| p.probe)));
            bench.answer(&packet, busy);
        }
        let ticks = bench.tick() - packet.tick;
        assert_eq!(bench.done[0].status, Status::ReceiverNotReady as u64);
        assert!((3000..=3000 + LATE).contains(&ticks), "{ticks}");
        bench.done.clear();
        bench.packets.clear();
        bench.at_rest();
    });
}

/// TX-11: the wait is followed by its PROBE, however few MAX_RETRY allows: not it, but
/// silence after it, is the end.
//= TX-11 test
#[test]
fn a_refused_message_asks_again_whatever_the_retry_limit() {
    run("tx_busy_no_retry", |bench| {
        for max_retry in [0, 1] {
            bench.set("max_retry", max_retry);
            let packet = start(bench, Request::packets(4, 1))[0];
            let busy = Feedback { flags: fb::BUSY, ..Feedback::default() };
            for _ in 0..4 {
                bench.answer(&packet, busy);
                assert!(bench.packet(16 * 4000).probe);
            }
            let done = bench.completion(16 * 4000);
            assert_eq!(done.status, Status::RetryExceeded as u64);
        }
        bench.at_rest();
    });
}

#[test]
fn silence_is_retry_exceeded() {
    run("tx_retry", |bench| {
        let packet = start(bench, Request::packets(4, 2))[0];
        bench.answer(&packet, Feedback { grant: 2, sequence: 1, ..Feedback::default() });
        bench.clocks(30);
        let heard = bench.tick();
        let done = bench.completion(16 * 8000);
        let ticks = bench.tick() - heard;
        assert_eq!(done.status, Status::RetryExceeded as u64);
        // RTO around the first PROBE, every second one doubling it: four of them.
        assert_eq!(bench.packets.drain(..).filter(|p| p.probe).count(), 4);
        let bound = 100 * (1 + 1 + 2 + 2 + 4);
        assert!((bound - 5..=bound + 30).contains(&ticks), "{ticks} for {bound}");
        bench.at_rest();
    });
}

/// Any feedback starts the count of PROBEs over.
#[test]
fn feedback_starts_the_count_over() {
    run("tx_retry_reset", |bench| {
        bench.set("grant_wait", 1 << 23);
        let packet = start(bench, Request::packets(4, 2))[0];
        for sequence in 1..5 {
            bench.answer(&packet, Feedback { grant: 2, sequence, ..Feedback::default() });
            for _ in 0..4 {
                assert!(bench.packet(16 * 2000).probe);
            }
        }
        assert!(bench.done.is_empty());
        bench.answer(&packet, Feedback { flags: fb::ABORT, status: 2, ..Feedback::default() });
        assert_eq!(bench.completion(100).status, Status::NoContext as u64);
        bench.at_rest();
    });
}

/// T_OPEN counts from a message's first packet, however long that waits for its turn;
/// until then FEEDBACK can know nothing of it.
//= TX-10 test
//= TX-3 test
#[test]
fn what_was_never_sent_is_not_unheard() {
    run("tx_unsent", |bench| {
        bench.set("t_open", 900);
        bench.set("max_retry", 9);
        bench.set("grant_wait", 1 << 20);
        let before = [start(bench, Request::packets(1, 1))[0], start(bench, Request::packets(1, 1))[0]];
        for packet in before.iter().rev() {
            bench.answer(packet, complete(1));
            bench.completion(100);
        }
        // With 250 packets on their way no other is chosen.
        bench.sent_after = None;
        let long = start(bench, Request::packets(250, 250))[0];
        bench.answer(&long, Feedback { grant: 250, sequence: 1, ..Feedback::default() });
        let entry = bench.post(Request::packets(4, 2));
        bench.ticks(500);
        let generation = (before[1].generation + 1) & 0xF_FFFF;
        let waiting = Packet { generation, ..before[1] };
        let early = [
            Feedback { grant: 4, sequence: 1, ..Feedback::default() },
            Feedback { flags: fb::BUSY, ..Feedback::default() },
            Feedback { flags: fb::ABORT, status: 2, ..Feedback::default() },
            Feedback { flags: fb::NACK, grant: 4, limit: 2, sequence: 1, ..Feedback::default() },
            complete(0),
        ];
        for feedback in early {
            bench.answer(&waiting, feedback);
        }
        bench.ticks(1500);
        assert!(bench.packets.is_empty() && bench.done.is_empty(), "{:?}", bench.done);
        assert_eq!(bench.event("feedback_nonsense"), early.len() as u64);
        bench.release();
        let packet = bench.packet(400);
        assert_eq!((packet.entry, packet.slot, packet.generation), (entry, waiting.slot, generation));
        bench.answer(&long, complete(250));
        assert_eq!(bench.completion(400).status, 0);
        let (done, ticks) = end(bench, packet.tick, 2000);
        assert_eq!((done.entry, done.status), (entry, Status::Unheard as u64));
        assert!((900..=900 + LATE).contains(&ticks), "{ticks}");
        bench.at_rest();
    });
}

/// Answers that move nothing end as `grant_timeout`; any advance of cumulative
/// or grant starts the bound over.
#[test]
fn no_progress_is_grant_timeout() {
    run("tx_grant_wait", |bench| {
        bench.set("grant_wait", 1000);
        let packet = start(bench, Request::packets(20, 4))[0];
        let (mut sequence, mut advanced) = (0, 0);
        let mut say = |bench: &mut Bench, cumulative, grant| {
            sequence += 1;
            bench.answer(&packet, Feedback { cumulative, grant, sequence, ..Feedback::default() });
            bench.ticks(90);
        };
        for (cumulative, grant) in [(0, 4), (2, 4), (2, 9), (9, 9)] {
            advanced = bench.tick();
            for _ in 0..10 {
                say(bench, cumulative, grant);
                assert!(bench.done.is_empty(), "{cumulative} {grant}");
            }
        }
        while bench.done.is_empty() {
            say(bench, 9, 9);
            assert!(bench.tick() < advanced + 2000);
        }
        let ticks = bench.tick() - advanced;
        let done = bench.completion(1);
        assert_eq!(done.status, Status::GrantTimeout as u64);
        assert!((1000..=1000 + LATE + 90).contains(&ticks), "{ticks}");
        bench.packets.clear();
        bench.at_rest();
    });
}

/// Every status a receiver may give comes back as it is.
#[test]
fn aborts_carry_their_status() {
    run("tx_abort", |bench| {
        for status in 1..8 {
            let packet = start(bench, Request::packets(4, 2))[0];
            bench.answer(&packet, Feedback { flags: fb::ABORT, status, ..Feedback::default() });
            assert_eq!(bench.completion(100).status, status);
            bench.packets.clear();
        }
        bench.clocks(5);
        assert_eq!(bench.event("tx_failed"), 7);
        bench.at_rest();
    });
}

/// Disabled: nothing is sent or taken, messages end as flushed; enabled again,
/// it goes on where it was, with the next generations.
#[test]
fn disabling_flushes() {
    run("tx_flush", |bench| {
        let first = start(bench, Request::packets(4, 2))[0];
        bench.post(Request::packets(200, 200));
        bench.clocks(100);
        bench.set("enable", 0);
        bench.clocks(10);
        bench.packets.clear();
        bench.post(Request::packets(1, 1));
        let mut done: Vec<u64> = (0..2).map(|_| bench.completion(16 * 500).status).collect();
        done.dedup();
        assert_eq!(done, [Status::Flushed as u64]);
        bench.quiet(1000);
        bench.set("enable", 1);
        let packet = bench.packet(50);
        assert_eq!(packet.entry, 2);
        if packet.slot == first.slot {
            assert_eq!(packet.generation, (first.generation + 1) & 0xF_FFFF);
        }
        bench.answer(&packet, complete(1));
        assert_eq!(bench.completion(100).status, 0);
        bench.at_rest();
    });
}

/// COMPLETE that asks for a RELEASE.
fn wish(count: u64) -> Feedback {
    Feedback { flags: fb::COMPLETE | fb::RELEASE_REQ, ..complete(count) }
}

//= RL-1 test
#[test]
fn a_release_follows_the_last_packet() {
    run("tx_release", |bench| {
        // Ended here, with a packet still on its way.
        bench.set("t_open", 900);
        bench.sent_after = None;
        let packet = start(bench, Request::packets(4, 2))[0];
        bench.ticks(900 + LATE);
        assert!(bench.done.is_empty() && bench.releases.is_empty());
        bench.release();
        assert_eq!(bench.completion(100).status, Status::Unheard as u64);
        bench.clocks(10);
        assert_eq!(bench.releases.pop_front(), Some((packet.slot, packet.generation)));
        bench.packets.clear();
        // Ended by COMPLETE: only if it asks, and behind the packets again.
        let packet = start(bench, Request::packets(1, 2))[0];
        bench.answer(&packet, complete(1));
        assert_eq!(bench.completion(100).status, 0);
        bench.clocks(50);
        assert!(bench.releases.is_empty());
        bench.sent_after = None;
        let packet = start(bench, Request::packets(1, 2))[0];
        bench.answer(&packet, wish(1));
        bench.clocks(50);
        assert!(bench.done.is_empty() && bench.releases.is_empty());
        bench.release();
        assert_eq!(bench.completion(100).status, 0);
        bench.clocks(10);
        assert_eq!(bench.releases.pop_front(), Some((packet.slot, packet.generation)));
        // Ended by ABORT: the receiver has its tombstone and wants nothing.
        let packet = start(bench, Request::packets(2, 2))[0];
        let flags = fb::ABORT | fb::RELEASE_REQ;
        bench.answer(&packet, Feedback { flags, status: 2, ..Feedback::default() });
        assert_eq!(bench.completion(100).status, 2);
        bench.clocks(50);
        assert!(bench.releases.is_empty());
        bench.packets.clear();
        bench.at_rest();
    });
}

/// What was never sent needs no RELEASE.
#[test]
fn nothing_sent_is_not_released() {
    run("tx_release_unsent", |bench| {
        bench.set("enable", 0);
        bench.clocks(5);
        bench.set("enable", 1);
        bench.fail = Box::new(|packet| packet.entry == 0);
        let packet = start(bench, Request::packets(1, 1))[0];
        assert_eq!(bench.completion(200).status, Status::LocalDma as u64);
        bench.clocks(20);
        // It was decided on: that counts as sent, even if the read failed.
        assert_eq!(bench.releases.pop_front(), Some((packet.slot, packet.generation)));
        bench.at_rest();
    });
}

//= RL-4 test
#[test]
fn a_wish_for_what_is_over_is_granted_and_for_what_lives_is_not() {
    run("tx_release_stateless", |bench| {
        let old = start(bench, Request::packets(1, 2))[0];
        bench.answer(&old, complete(1));
        assert_eq!(bench.completion(100).status, 0);
        let id = |generation: u64| (old.slot, generation & 0xF_FFFF);
        let ask = |bench: &mut Bench, generation: u64, flags: u8| {
            if flags == fb::COMPLETE | fb::RELEASE_REQ {
                bench.answered.insert((old.slot, generation & 0xF_FFFF));
            }
            let packet = Packet { generation: generation & 0xF_FFFF, ..old };
            let word = bench.feedback_word(
                &packet,
                Feedback { flags, cumulative: 1, grant: 1, ..Feedback::default() },
                &Request::packets(1, 2),
            );
            bench.feedback.send(word);
            bench.clocks(40);
            bench.releases.pop_front()
        };
        let wishes = fb::COMPLETE | fb::RELEASE_REQ;
        // The slot is free: its last generation is over, those before too.
        for _ in 0..3 {
            assert_eq!(ask(bench, old.generation, wishes), Some(id(old.generation)));
        }
        assert_eq!(
            ask(bench, old.generation.wrapping_sub(1), wishes),
            Some(id(old.generation.wrapping_sub(1)))
        );
        assert_eq!(ask(bench, old.generation + 1, wishes), None, "may still be sent");
        let half = old.generation + (1 << 19);
        assert_eq!(ask(bench, half, wishes), Some(id(half)), "older, as generations compare");
        assert_eq!(ask(bench, old.generation, fb::COMPLETE), None);
        assert_eq!(ask(bench, old.generation, fb::RELEASE_REQ), None);
        let stale = bench.event("feedback_stale");
        assert_eq!(stale, 8, "each is dropped all the same");
        // The slot lives on: only older ones.
        let new = start(bench, Request::packets(3, 1))[0];
        assert_eq!((new.slot, new.generation), id(old.generation + 1));
        assert_eq!(ask(bench, old.generation, wishes), Some(id(old.generation)));
        assert_eq!(ask(bench, new.generation, wishes), None, "nonsense, it is not whole");
        bench.answered.remove(&(new.slot, new.generation));
        assert_eq!(bench.event("feedback_nonsense"), 1);
        bench.answer(&new, Feedback { grant: 3, sequence: 1, ..Feedback::default() });
        bench.take(2);
        // Ended, a packet on its way: not yet.
        bench.answer(&new, complete(3));
        assert_eq!(bench.completion(100).status, 0);
        bench.at_rest();
    });
}

/// Wishes as fast as they are taken, granted or not, or from peers that wish without a
/// COMPLETE: messages finish.
#[test]
fn a_flood_of_wishes_lets_messages_finish() {
    run("tx_wishes", |bench| {
        let over: Vec<_> = (0..4).map(|_| start(bench, Request::packets(1, 2))[0]).collect();
        for packet in over.iter().rev() {
            bench.answer(packet, complete(1));
            assert_eq!(bench.completion(100).status, 0);
        }
        let wishes = fb::COMPLETE | fb::RELEASE_REQ;
        for (ahead, flags, granted) in [
            (0, wishes, true),
            (100, wishes, false),
            (100, fb::RELEASE_REQ, false),
            (0, fb::RELEASE_REQ, false),
        ] {
            // Not those in use below.
            for packet in &over[2..] {
                let generation = (packet.generation + ahead) & 0xF_FFFF;
                bench.flood(&Packet { generation, ..*packet }, Feedback { flags, ..complete(1) });
                bench.answered.insert((packet.slot, packet.generation));
            }
            bench.releases.clear();
            for _ in 0..20 {
                let packets =
                    [start(bench, Request::packets(1, 2))[0], start(bench, Request::packets(1, 2))[0]];
                for packet in &packets {
                    bench.answer(packet, complete(1));
                }
                for _ in 0..2 {
                    assert_eq!(bench.completion(200).status, 0, "{flags:#x} {ahead}");
                }
            }
            bench.dry();
            assert_eq!(bench.releases.len() > 100, granted, "{} RELEASEs", bench.releases.len());
            assert!(granted || bench.releases.is_empty());
        }
        bench.at_rest();
    });
}

//= RE-1 test
#[test]
fn a_reclaimed_endpoints_messages_end_and_no_others() {
    run("tx_reclaim", |bench| {
        let of = |endpoint: u64, count: u64| Request { endpoint, ..Request::packets(count, 2) };
        let (mine, others): (Vec<u64>, Vec<u64>) = (0..24).partition(|entry| entry % 3 == 0);
        for entry in 0..24 {
            bench.post(of(if entry % 3 == 0 { 5 } else { 6 }, 4));
        }
        let packets = bench.take(40);
        bench.sent_after = None;
        let [active, at] = ["reclaim.active", "reclaim.endpoint"].map(|name| bench.dut.port(name).unwrap());
        bench.dut.set(at, 5u64);
        bench.dut.set(active, 1u64);
        // A request of it that is still on its way ends as well.
        let late = bench.post(of(5, 4));
        let mut ended = Vec::new();
        bench.release();
        for _ in 0..mine.len() + 1 {
            let done = bench.completion(2000);
            assert_eq!(done.status, Status::Flushed as u64, "entry {}", done.entry);
            ended.push(done.entry);
        }
        ended.sort_unstable();
        assert_eq!(ended, [&mine[..], &[late]].concat());
        bench.clocks(300);
        assert!(bench.done.is_empty());
        bench.dut.set(active, 0u64);
        // The others go on as if nothing had happened.
        for entry in others {
            let packet = packets.iter().find(|packet| packet.entry == entry).copied();
            let packet = packet.unwrap_or_else(|| {
                *bench.packets.iter().find(|packet| packet.entry == entry).expect("was sent")
            });
            bench.answer(&packet, Feedback { grant: 4, sequence: 1, ..Feedback::default() });
            bench.clocks(100);
            bench.answer(&packet, complete(4));
            let done = bench.completion(100);
            assert_eq!((done.entry, done.status), (entry, 0));
        }
        bench.packets.clear();
        bench.at_rest();
    });
}
