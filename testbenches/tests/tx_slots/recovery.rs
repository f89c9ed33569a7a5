//! TX-6, TX-7, TX-11: what is sent again, and how long a BUSY receiver is left alone.

use crate::bench::{run, Bench, Feedback, Packet, Request};
use crate::sending::{complete, start};
use tessera_abi::wire::{fb, flag};

pub fn nack(sequence: u64, base: u64, limit: u64, bitmap: [u64; 4]) -> Feedback {
    Feedback { flags: fb::NACK, grant: 600, sequence, base, limit, bitmap, ..Feedback::default() }
}

fn retransmitted(packets: &[Packet]) -> Vec<u64> {
    assert!(packets.iter().all(|p| p.has(flag::RETX)), "{packets:?}");
    packets.iter().map(|p| p.index).collect()
}

/// A message of 600 packets, all sent, all settled.
pub fn all_sent(bench: &mut Bench) -> Packet {
    all_sent_of(bench, 600)
}

/// The same of so many.
pub fn all_sent_of(bench: &mut Bench, count: u64) -> Packet {
    let packet = start(bench, Request::packets(count, 255))[0];
    bench.answer(&packet, Feedback { grant: count, sequence: 1, ..Feedback::default() });
    let rest = count as usize - 255;
    assert!(bench.until(12 * count, |bench| {
        bench.packets.iter().filter(|p| p.entry == packet.entry && p.is_new()).count() == rest
    }));
    bench.ticks(50);
    bench.packets.clear();
    packet
}

/// TX-7: exactly the zeros below the limit, of the block named.
#[test]
fn a_nack_brings_back_its_zeros_below_the_limit() {
    run("tx_nack", |bench| {
        let packet = all_sent(bench);
        bench.answer(&packet, nack(2, 256, 300, [!0b1011_0000, u64::MAX, 0, 0]));
        bench.clocks(400);
        let first: Vec<Packet> = bench.packets.drain(..).collect();
        assert_eq!(retransmitted(&first), [260, 261, 263]);
        // The limit may lie in a later block, or end the message.
        bench.answer(&packet, nack(3, 0, 600, [u64::MAX, u64::MAX, u64::MAX, u64::MAX >> 1]));
        bench.clocks(100);
        bench.answer(&packet, nack(4, 512, 600, [0, !(1 << 23 | 1 << 24), 0, 0]));
        bench.clocks(800);
        let packets: Vec<Packet> = bench.packets.drain(..).collect();
        let expected: Vec<u64> = [255].into_iter().chain(512..576).chain([599]).collect();
        assert_eq!(retransmitted(&packets), expected);
        // What has arrived meanwhile is not sent again.
        bench.answer(&packet, Feedback { cumulative: 20, ..nack(5, 0, 24, [0; 4]) });
        bench.clocks(300);
        let packets: Vec<Packet> = bench.packets.drain(..).collect();
        assert_eq!(retransmitted(&packets), [20, 21, 22, 23]);
        bench.answer(&packet, complete(600));
        bench.completion(100);
        bench.at_rest();
    });
}

/// TX-6: a NACK reaches only what was sent a round trip and two guards ago; TX-7: one
/// that reaches nothing is answered by a PROBE, at most one per round trip.
#[test]
fn what_was_sent_just_now_is_not_sent_again() {
    run("tx_settled", |bench| {
        // No PROBE but the one the NACK asks for: while more is to be granted the
        // backstop waits for RTO.
        bench.set("rto", 1000);
        bench.set("guard", 10);
        let packet = start(bench, Request::packets(600, 8))[0];
        bench.ticks(30);
        bench.answer(&packet, Feedback { grant: 8, sequence: 1, ..Feedback::default() });
        bench.ticks(33);
        assert!(bench.packets.is_empty());
        // All eight are older than RTT_DEFAULT (40) and two guards; the next ones are not.
        bench.answer(&packet, Feedback { grant: 20, sequence: 2, ..Feedback::default() });
        bench.take(12);
        bench.answer(&packet, nack(3, 0, 20, [0; 4]));
        bench.clocks(300);
        let all: Vec<Packet> = bench.packets.drain(..).collect();
        let (new, again): (Vec<Packet>, Vec<Packet>) = all.iter().partition(|p| p.is_new());
        assert_eq!(retransmitted(&again), (0..8).collect::<Vec<_>>());
        bench.until(6000, |bench| bench.packets.len() == 580 - new.len());
        bench.packets.clear();
        // Nothing of the last block is old enough: a PROBE, and one only.
        bench.answer(&packet, nack(4, 512, 600, [0; 4]));
        bench.answer(&packet, nack(5, 512, 600, [0; 4]));
        let probe = bench.packet(200);
        assert!(probe.probe && probe.index == 600 && probe.has(flag::EST));
        bench.quiet(100);
        // A round trip later still nothing, two guards after that all of it is.
        bench.ticks(42);
        bench.answer(&packet, nack(6, 512, 600, [0; 4]));
        bench.clocks(300);
        assert!(bench.packets.drain(..).all(|p| p.probe));
        bench.ticks(22);
        bench.packets.clear();
        bench.answer(&packet, nack(7, 512, 600, [0; 4]));
        bench.clocks(600);
        let packets: Vec<Packet> = bench.packets.drain(..).filter(|p| !p.probe).collect();
        assert_eq!(retransmitted(&packets), (512..600).collect::<Vec<_>>());
        // And a NACK without a zero asks for nothing: a PROBE again.
        bench.ticks(45);
        bench.packets.clear();
        bench.answer(&packet, nack(8, 512, 600, [u64::MAX, u64::MAX, 0, 0]));
        assert!(bench.packet(200).probe);
        bench.answer(&packet, complete(600));
        bench.completion(100);
        bench.at_rest();
    });
}

/// TX-7: what a packet that arrived has overtaken is sent again whatever its age; what
/// nothing is known of is not.
//= TX-7 test
#[test]
fn what_was_overtaken_is_sent_again_at_once() {
    run("tx_overtaken", |bench| {
        bench.set("rto", 1000);
        // Nothing settles.
        bench.set("guard", 2000);
        let packet = start(bench, Request::packets(600, 255))[0];
        bench.answer(&packet, Feedback { grant: 600, sequence: 1, ..Feedback::default() });
        bench.until(6000, |bench| bench.packets.len() == 599);
        bench.packets.clear();
        let last = |highest: u64| {
            let mut bitmap = [0; 4];
            bitmap[highest as usize / 64] = 1 << (highest % 64);
            bitmap
        };
        let mut sequence = 1;
        // In one word of the bitmap and over all of them, at every edge, below the limit.
        for (base, limit, highest) in [
            (0, 600, 1),
            (0, 2, 1),
            (0, 600, 63),
            (0, 600, 64),
            (0, 131, 130),
            (256, 600, 255),
            (512, 600, 87),
        ] {
            sequence += 1;
            bench.answer(&packet, nack(sequence, base, limit, last(highest)));
            bench.clocks(200 + 8 * highest);
            let packets: Vec<Packet> = bench.packets.drain(..).filter(|p| !p.probe).collect();
            let below = limit.min(base + highest);
            assert_eq!(
                retransmitted(&packets),
                (base..below).collect::<Vec<_>>(),
                "below {highest} of {base}"
            );
        }
        // A block is full of ones behind the message's end: they overtake nothing.
        bench.answer(&packet, nack(30, 512, 600, [0, u64::MAX << 24, u64::MAX, u64::MAX]));
        bench.answer(&packet, nack(31, 512, 520, [0, u64::MAX << 24, u64::MAX, u64::MAX]));
        bench.clocks(400);
        assert!(bench.packets.drain(..).all(|p| p.probe));
        bench.answer(&packet, nack(32, 512, 600, [1 << 9, u64::MAX << 24, u64::MAX, u64::MAX]));
        bench.clocks(400);
        let packets: Vec<Packet> = bench.packets.drain(..).filter(|p| !p.probe).collect();
        assert_eq!(retransmitted(&packets), (512..521).collect::<Vec<_>>());
        // Of two holes the one that is overtaken; nothing of a block where nothing came.
        bench.answer(&packet, nack(40, 256, 600, [!(1 << 9), u64::MAX >> 1, 0, 0]));
        bench.clocks(300);
        let packets: Vec<Packet> = bench.packets.drain(..).filter(|p| !p.probe).collect();
        assert_eq!(retransmitted(&packets), [265]);
        bench.answer(&packet, nack(41, 512, 600, [0; 4]));
        bench.clocks(400);
        assert!(bench.packets.drain(..).all(|p| p.probe));
        bench.answer(&packet, complete(600));
        bench.completion(100);
        bench.at_rest();
    });
}

/// TX-7: the round trip between PROBEs counts from the message's opening on.
#[test]
fn a_nack_that_comes_too_soon_draws_no_probe() {
    run("tx_probe_after_opening", |bench| {
        bench.set("rto", 1000);
        bench.set("guard", 1000);
        let packet = start(bench, Request::packets(4, 4))[0];
        // RTT_DEFAULT is 40 ticks: nothing is old enough, nor may be asked about.
        bench.ticks(20);
        bench.answer(&packet, Feedback { grant: 4, ..nack(1, 0, 4, [0; 4]) });
        bench.quiet(100);
        bench.ticks(30);
        bench.answer(&packet, Feedback { grant: 4, ..nack(2, 0, 4, [0xF, 0, 0, 0]) });
        assert!(bench.packet(200).probe);
        bench.answer(&packet, complete(4));
        bench.completion(100);
        bench.at_rest();
    });
}

/// TX-6 with packets flowing: the mark is between 1 and 1.5 times as old as a
/// word about a packet may be, counted from when the packet left.
#[test]
fn settled_follows_a_flowing_message() {
    for (name, lag) in [("tx_marks", 0), ("tx_marks_lag", 13)] {
        run(name, |bench| settled_follows(bench, lag));
    }
}

fn settled_follows(bench: &mut Bench, lag: u64) {
    bench.sent_after = Some(lag * 16 + 8);
    let packet = start(bench, Request::packets(4000, 1))[0];
    // RTT 40 ticks and two guards of four. A packet every four ticks.
    let word = 48 + lag;
    let mut times = vec![packet.tick];
    let (mut sequence, mut checked) = (0, 0);
    for index in 1..120u64 {
        sequence += 1;
        bench.ticks(4);
        let packets: Vec<Packet> = bench.packets.drain(..).collect();
        assert!(packets.iter().all(|p| p.has(flag::RETX) || p.probe), "{packets:?}");
        bench.answer(&packet, Feedback { grant: index + 1, sequence, ..Feedback::default() });
        let new = bench.packet(100);
        assert_eq!((new.index, new.is_new()), (index, true));
        times.push(new.tick);
        if index > 40 && index % 7 == 0 {
            sequence += 1;
            bench.answer(&packet, nack(sequence, 0, index + 1, [0; 4]).with_grant(index + 1));
            bench.clocks(60);
            let now = bench.tick();
            let again = bench.packets.iter().filter(|p| p.has(flag::RETX)).count();
            assert!(again > 0);
            bench.until(2000, |bench| {
                bench.packets.back().is_some_and(|last| bench.clocks_run() > last.clock + 40)
            });
            let last = bench.packets.drain(..).map(|p| p.index).max().unwrap();
            let age = now - times[last as usize];
            let younger = now - times[last as usize + 1];
            assert!(age >= word, "index {last} was chosen {age} ticks ago");
            assert!(younger <= word * 3 / 2 + 14, "index {} was chosen {younger} ticks ago", last + 1);
            checked += 1;
        }
    }
    assert!(checked > 5);
}

/// The first packet of a message whose second one cannot go yet; `cumulative` of it
/// has arrived, and three messages have not begun.
fn held_up(bench: &mut Bench, cumulative: u64) -> Packet {
    bench.sent_after = None;
    // With 250 packets on their way no other is chosen.
    let long = start(bench, Request::packets(249, 249))[0];
    let packet = start(bench, Request::packets(2, 1))[0];
    bench.answer(&packet, Feedback { grant: 2, cumulative, sequence: 1, ..Feedback::default() });
    for _ in 0..3 {
        bench.post(Request::packets(40, 40));
    }
    bench.answer(&long, Feedback { grant: 249, cumulative: 249, sequence: 1, ..Feedback::default() });
    bench.ticks(60);
    assert!(bench.packets.is_empty());
    packet
}

/// TX-7: a NACK that asks for what is about to be sent is answered by that.
#[test]
fn a_nack_that_waits_for_what_is_new_draws_no_probe() {
    run("tx_starved", |bench| {
        let packet = held_up(bench, 1);
        bench.answer(&packet, Feedback { cumulative: 1, ..nack(2, 0, 2, [1, 0, 0, 0]).with_grant(2) });
        bench.ticks(5);
        bench.release();
        let own: Vec<Packet> = bench
            .take(20)
            .into_iter()
            .filter(|p| (p.slot, p.generation) == (packet.slot, packet.generation))
            .collect();
        assert_eq!(own.len(), 1, "{own:?}");
        assert!(own[0].is_new() && own[0].index == 1);
    });
}

/// TX-8: a PROBE is no turn. The new packet behind it goes before others.
#[test]
fn a_probe_takes_no_turn() {
    run("tx_probe_turn", |bench| {
        let packet = held_up(bench, 0);
        // Index 0 is missing, and so young that nothing but a PROBE can answer.
        bench.set("guard", 5000);
        bench.answer(&packet, nack(2, 0, 2, [0; 4]).with_grant(2));
        bench.ticks(5);
        bench.release();
        let taken = bench.take(20);
        let own = |p: &Packet| (p.slot, p.generation) == (packet.slot, packet.generation);
        let at: Vec<usize> = (0..taken.len()).filter(|&i| own(&taken[i])).collect();
        assert_eq!(at.len(), 2, "{taken:?}");
        assert!(taken[at[0]].probe && taken[at[1]].is_new());
        assert!(at[1] <= at[0] + 2, "one that was chosen before may go between: {taken:?}");
    });
}

impl Feedback {
    fn with_grant(self, grant: u64) -> Self {
        Feedback { grant, ..self }
    }
}

/// TX-7: what waits in the queue is dropped when its message ends, and never
/// reaches the slot's next message.
#[test]
fn walks_die_with_their_message() {
    run("tx_walk_dies", |bench| {
        let packet = all_sent(bench);
        bench.answer(&packet, nack(2, 0, 256, [0; 4]));
        bench.take(10);
        bench.answer(&packet, complete(600));
        bench.completion(200);
        bench.packets.clear();
        let next = start(bench, Request::packets(300, 255));
        assert!(next.iter().all(|p| p.slot == packet.slot && p.is_new()));
        assert_eq!(next[0].generation, (packet.generation + 1) & 0xF_FFFF);
        bench.quiet(400);
        bench.answer(&next[0], Feedback { flags: fb::ABORT, status: 2, ..Feedback::default() });
        bench.completion(100);
        bench.at_rest();
    });
}

/// TX-7: more walks than entries: the NACK is counted, later ones work.
#[test]
fn a_full_queue_drops_the_nack() {
    run("tx_overflow", |bench| {
        // No PROBEs, but while NACKs come their packets are old enough.
        bench.set("rto", 5000);
        bench.set("guard", 5000);
        let packets: Vec<Packet> = (0..6).map(|_| all_sent(bench)).collect();
        bench.set("guard", 4);
        for packet in &packets {
            for (sequence, base) in [(2, 0), (3, 256), (4, 512)] {
                bench.answer(packet, nack(sequence, base, 600, [0; 4]));
            }
        }
        bench.clocks(400);
        assert!(bench.event("nack_overflow") > 0);
        bench.set("guard", 5000);
        assert!(bench.until(60_000, |bench| {
            bench.packets.back().is_some_and(|last| bench.clocks_run() > last.clock + 400)
        }));
        let sent = bench.packets.len() as u64;
        assert!(sent < 6 * 600, "{sent} of 3600 were asked for and refused in part");
        bench.packets.clear();
        for packet in &packets {
            bench.answer(packet, complete(600));
            bench.completion(100);
        }
        bench.packets.clear();
        bench.at_rest();
    });
}

/// TX-11: BUSY stops new packets for BUSY_WAIT, doubling, then a PROBE; the
/// first other answer starts sending; once established it is ignored.
#[test]
fn busy_backs_off() {
    run("tx_busy", |bench| {
        bench.set("t_open", 1 << 20);
        let busy = Feedback { flags: fb::BUSY, ..Feedback::default() };
        let packets = start(bench, Request::packets(20, 4));
        for n in 0..7u32 {
            bench.answer(&packets[0], busy);
            bench.clocks(30);
            let at = bench.tick();
            // Those of the other packets come a little later and change nothing.
            bench.answer(&packets[1], busy);
            bench.answer(&packets[2], busy);
            let wait = 60u64 << n.min(5);
            let probe = bench.packet(3000 * 16);
            let waited = probe.tick - at;
            assert!(probe.probe && !probe.has(flag::EST));
            // Jitter below the power of two below BUSY_WAIT; the wheel; a clock or two.
            assert!((wait - 2..=wait + 32 + 5).contains(&waited), "wait {n}: {waited} for {wait}");
        }
        bench.answer(&packets[0], Feedback { grant: 6, sequence: 1, ..Feedback::default() });
        let more = bench.take(2);
        assert_eq!((more[0].index, more[1].index), (4, 5));
        assert!(more.iter().all(|p| p.has(flag::EST)));
        // Established: BUSY means nothing now.
        bench.answer(&packets[0], busy);
        bench.answer(&packets[0], Feedback { grant: 8, sequence: 2, ..Feedback::default() });
        assert_eq!(bench.take(2)[1].index, 7);
        bench.answer(&packets[0], Feedback { flags: fb::ABORT, status: 2, ..Feedback::default() });
        bench.completion(100);
        bench.at_rest();
    });
}

/// TX-11: a PROBE that waited for its turn when BUSY came leaves, and shortens nothing.
//= TX-11 test
#[test]
fn a_probe_on_its_way_does_not_shorten_the_wait() {
    run("tx_busy_probe", |bench| {
        for (name, value) in [("t_open", 1 << 20), ("rtt_default", 200), ("rto", 300), ("busy_wait", 2048)] {
            bench.set(name, value);
        }
        let packet = start(bench, Request::packets(4, 1))[0];
        bench.ticks(1);
        // With 250 packets on their way no other is chosen.
        bench.sent_after = None;
        let long = start(bench, Request::packets(250, 250))[0];
        bench.answer(&long, Feedback { grant: 250, sequence: 1, ..Feedback::default() });
        assert!(bench.until(16 * 300, |bench| bench.event("backstop_expiries") == 1));
        bench.ticks(5);
        assert!(bench.packets.is_empty(), "the PROBE has no turn yet");
        bench.answer(&packet, Feedback { flags: fb::BUSY, ..Feedback::default() });
        bench.clocks(30);
        let at = bench.tick();
        bench.ticks(20);
        bench.release();
        let probe = bench.packet(400);
        assert!(probe.probe && probe.entry == packet.entry);
        bench.answer(&long, complete(250));
        assert_eq!(bench.completion(400).status, 0);
        bench.packets.clear();
        let again = bench.packet(16 * 4500);
        let waited = again.tick - at;
        assert!(again.probe && (2046..=4096 + 5).contains(&waited), "{waited}");
        bench.answer(&packet, Feedback { flags: fb::ABORT, status: 2, ..Feedback::default() });
        bench.completion(100);
        bench.at_rest();
    });
}

/// TX-11: an answer during the wait ends it, and packets of the window that
/// had not gone yet do not go while it lasts.
#[test]
fn busy_holds_back_the_rest_of_the_window() {
    run("tx_busy_window", |bench| {
        bench.post(Request::packets(200, 200));
        let packet = bench.packet(50);
        bench.answer(&packet, Feedback { flags: fb::BUSY, ..Feedback::default() });
        bench.clocks(60);
        let sent = bench.packets.len();
        assert!(sent < 30);
        bench.packets.clear();
        bench.quiet(300);
        bench.answer(&packet, Feedback { grant: 200, sequence: 1, ..Feedback::default() });
        let rest = bench.take(199 - sent);
        assert_eq!(rest.last().unwrap().index, 199);
        bench.answer(&packet, complete(200));
        bench.completion(100);
        bench.at_rest();
    });
}
