//! TX-13, TX-14: what FEEDBACK tells of paths, and of windows to begin with.

use crate::bench::{run, Bench, Feedback, Packet, Request};
use crate::sending::{complete, start};
use tessera_abi::status::Status;
use tessera_abi::wire::{fb, flag};

/// TX-13: every accepted FEEDBACK with a sample echoes its value, whatever its
/// sequence and flags; no other does.
#[test]
fn accepted_samples_are_echoes() {
    run("tx_echoes", |bench| {
        let request = Request::packets(600, 4);
        let packet = start(bench, request)[0];
        let base = Feedback { grant: 8, sequence: 5, sample: Some(30), ev: 7, ..Feedback::default() };
        let mut expected = Vec::new();
        let mut told = |bench: &mut Bench, feedback: Feedback, echo: bool| {
            bench.answer(&packet, feedback);
            bench.clocks(40);
            if echo {
                expected.push((feedback.ev, feedback.flags & fb::CE != 0, request.dst_gid));
            }
            assert_eq!(bench.echoes, expected, "{feedback:?}");
        };
        told(bench, base, true);
        told(bench, Feedback { sample: None, ev: 9, sequence: 6, ..base }, false);
        told(bench, Feedback { sequence: 3, ev: 255, ..base }, true);
        told(bench, Feedback { flags: fb::CE, sequence: 7, ev: 1, ..base }, true);
        told(bench, Feedback { flags: fb::BUSY, sequence: 0, ev: 2, ..base }, true);
        told(bench, Feedback { base: 1, ev: 3, ..base }, false);
        for (forged, feedback) in [
            (Request { dst_gid: request.dst_gid ^ 1 << 80, ..request }, Feedback { ev: 4, ..base }),
            (Request { dst_endpoint: 1, ..request }, Feedback { ev: 4, ..base }),
        ] {
            let word = bench.feedback_word(&packet, feedback, &forged);
            bench.feedback.send(word);
            bench.clocks(40);
        }
        let stale = Packet { generation: packet.generation ^ 1, ..packet };
        bench.answer(&stale, Feedback { ev: 5, ..base });
        bench.clocks(40);
        assert_eq!(bench.echoes.len(), 4);
        let abort = Feedback { flags: fb::ABORT, status: Status::Length as u64, ev: 6, ..base };
        bench.answer(&packet, abort);
        bench.completion(200);
        assert_eq!(bench.echoes.pop_back(), Some((6, false, request.dst_gid)));
        bench.answer(&packet, Feedback { ev: 8, ..abort });
        bench.clocks(40);
        assert_eq!(bench.echoes.len(), 4, "the message has ended");
    });
}

/// A message of `request`'s, sent as far as its window and ended by `answer`;
/// returns the window its packets carried, which must be what it sends unasked.
fn window_of(bench: &mut Bench, request: Request, answer: Feedback) -> u64 {
    let others = bench.unsolicited();
    bench.post(request);
    let first = bench.packet(200);
    let window = if first.window == 0 { 256 } else { first.window };
    let count = window.min(request.count());
    assert_eq!(bench.unsolicited() - others, count * 256, "unasked bytes");
    for index in 1..count {
        let packet = bench.packet(200);
        assert_eq!((packet.index, packet.is_new()), (index, true));
        assert_eq!(packet.has(flag::AR), index + 1 == count || index + 1 == request.count());
    }
    bench.clocks(40);
    assert!(bench.packets.is_empty(), "beyond its window: {:?}", bench.packets);
    bench.answer(&first, answer);
    // COMPLETE needs every packet sent; an ABORT ends the rest.
    bench.answer(&first, Feedback { flags: fb::ABORT, status: Status::Length as u64, ..Feedback::default() });
    bench.completion(400);
    assert_eq!(bench.unsolicited(), others);
    bench.clocks(30);
    bench.packets.clear();
    window
}

/// TX-14: congestion halves the message's own window for those after it; every
/// first answer that is clean gives a packet back.
#[test]
fn congestion_halves_the_window_of_those_that_follow() {
    run("tx_window", |bench| {
        let request = Request::packets(600, 20);
        let clean = Feedback { sequence: 1, sample: Some(30), ..Feedback::default() };
        let marked = Feedback { flags: fb::CE, ..clean };
        assert_eq!(window_of(bench, request, clean), 20);
        assert_eq!(window_of(bench, request, marked), 20);
        assert_eq!(window_of(bench, request, clean), 10);
        assert_eq!(window_of(bench, request, clean), 11);
        // No answer but the ABORT: neither better nor worse.
        assert_eq!(window_of(bench, request, Feedback { base: 1, ..clean }), 12);
        assert_eq!(window_of(bench, request, marked), 12);
        assert_eq!(window_of(bench, request, marked), 6);
        assert_eq!(window_of(bench, request, clean), 3);
        // Others are not concerned, nor is one that asks for less.
        let elsewhere = Request { dst_gid: request.dst_gid ^ 1 << 70, ..request };
        assert_eq!(window_of(bench, elsewhere, clean), 20);
        assert_eq!(window_of(bench, Request { window: 2, ..request }, clean), 2);
        assert_eq!(window_of(bench, request, marked), 5);
        // One packet at least, and 256 (written 0) halves to 128.
        assert_eq!(window_of(bench, Request { window: 1, ..request }, marked), 1);
        assert_eq!(window_of(bench, request, clean), 1);
        let widest = Request { window: 256, dst_gid: request.dst_gid ^ 1 << 100, ..request };
        assert_eq!(window_of(bench, widest, marked), 256);
        assert_eq!(window_of(bench, widest, clean), 128);
        assert_eq!(window_of(bench, widest, clean), 129);
    });
}

/// TX-14: so does a BUSY that is heeded, once; a second answer is no first one.
#[test]
fn refusal_halves_the_window_once() {
    run("tx_window_busy", |bench| {
        let request = Request::packets(600, 16);
        let first = start(bench, request)[0];
        let busy = Feedback { flags: fb::BUSY, sample: Some(30), ..Feedback::default() };
        for _ in 0..3 {
            bench.answer(&first, busy);
        }
        bench.clocks(60);
        let clean = Feedback { sequence: 1, sample: Some(30), ..Feedback::default() };
        assert_eq!(window_of(bench, request, clean), 8);
        for sequence in 1..4 {
            bench.answer(&first, Feedback { sequence, ..clean });
        }
        bench.clocks(60);
        assert_eq!(window_of(bench, request, clean), 10, "one for each message");
        bench.answer(&first, busy);
        bench.clocks(60);
        assert_eq!(window_of(bench, request, clean), 11, "established: BUSY says nothing");
    });
}

/// TX-14: what counts is the window when the request becomes the first of those that
/// wait, not when it opens.
//= TX-14 test
#[test]
fn a_request_that_waits_keeps_its_window() {
    run("tx_window_waits", |bench| {
        bench.set("unsolicited_limit", 20 * 256);
        let request = Request::packets(20, 20);
        let first = start(bench, request)[0];
        let [second, third] = [bench.post(request), bench.post(request)];
        bench.quiet(60);
        let clean = Feedback { sequence: 1, grant: 20, ..Feedback::default() };
        bench.answer(&first, Feedback { flags: fb::CE, ..clean });
        let packets = bench.take(20);
        assert!(packets.iter().all(|packet| (packet.entry, packet.window) == (second, 20)), "{packets:?}");
        // A packet more for those who become the first from now on.
        bench.answer(&packets[0], clean);
        let packets = bench.take(10);
        assert!(packets.iter().all(|packet| (packet.entry, packet.window) == (third, 10)), "{packets:?}");
        bench.answer(&packets[0], clean);
        bench.take(10);
        for packet in [first, packets[0]] {
            bench.answer(&packet, complete(20));
            bench.completion(100);
        }
    });
}

/// TX-14: a request that comes while the window of its destination is written has the one
/// before or the one after, in whichever clock it comes.
//= TX-14 test
#[test]
fn a_request_beside_a_change_has_one_of_the_two_windows() {
    run("tx_window_meets", |bench| {
        let (mut before, mut after) = (0, 0);
        for clocks in 0..40u64 {
            // Another destination each time, so that nothing is left of the last.
            let request = Request { dst_gid: 1 << 90 | u128::from(clocks) << 20, ..Request::packets(24, 24) };
            let marked = Feedback { flags: fb::CE, sequence: 1, sample: Some(30), ..Feedback::default() };
            // None at all before would be as good as any that is too long.
            assert_eq!(window_of(bench, request, marked), 24);
            bench.post(request);
            let first = bench.take(12)[0];
            bench.clocks(60);
            bench.answer(&first, marked);
            bench.clocks(clocks);
            bench.post(request);
            let second = bench.packet(60);
            match second.window {
                12 => before += 1,
                6 => after += 1,
                window => panic!("{window} packets, {clocks} clocks behind the answer"),
            }
            bench.take(second.window as usize - 1);
            bench.clocks(60);
            // COMPLETE needs every packet sent.
            let abort = Feedback { flags: fb::ABORT, status: Status::Length as u64, ..Feedback::default() };
            for packet in [first, second] {
                bench.answer(&packet, abort);
                bench.completion(100);
            }
        }
        assert!(before > 3 && after > 3, "{before} before, {after} after");
    });
}

/// TX-14: a window that grew to 255 stays there, and a short message that ends
/// with its first answer counts as well.
#[test]
fn a_window_grows_back() {
    run("tx_window_grows", |bench| {
        let request = Request::packets(600, 255);
        let marked = Feedback { flags: fb::CE, sequence: 1, sample: Some(30), ..Feedback::default() };
        assert_eq!(window_of(bench, Request { window: 250, ..request }, marked), 250);
        for _ in 0..140 {
            bench.post(Request::packets(1, 16));
            let packet = bench.packet(200);
            bench.answer(&packet, complete(1));
            bench.completion(200);
        }
        assert_eq!(window_of(bench, request, marked), 255);
        assert_eq!(window_of(bench, request, marked), 127);
    });
}
