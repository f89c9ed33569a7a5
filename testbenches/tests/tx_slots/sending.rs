//! TX-1, TX-2, TX-8, TX-12 and the contract's clocks.

use crate::bench::{run, Bench, Feedback, Packet, Request, SMALL};
use tessera_abi::params::NIC512;
use tessera_abi::status::Status;
use tessera_abi::wire::{fb, flag};
use tessera_rtl::tx::Sender;
use tessera_sim::tb::{self, Pattern};
use tessera_sim::verilator::{BuildOptions, Model};

pub fn complete(count: u64) -> Feedback {
    Feedback { flags: fb::COMPLETE, cumulative: count, sequence: 1, grant: count, ..Feedback::default() }
}

/// Sends `request` and takes its unasked packets.
#[track_caller]
pub fn start(bench: &mut Bench, request: Request) -> Vec<Packet> {
    bench.post(request);
    bench.take(request.count().min(request.window) as usize)
}

/// TX-1: slots last freed first, generation + 1, unless never used: random.
#[test]
fn slots_are_reused_last_freed_first_with_the_next_generation() {
    run("tx_reuse", |bench| {
        let first: Vec<Packet> = (0..3).map(|_| start(bench, Request::packets(1, 4))[0]).collect();
        assert_eq!(first.iter().map(|p| p.slot).collect::<Vec<_>>(), [0, 1, 2]);
        let generations: Vec<u64> = first.iter().map(|p| p.generation).collect();
        assert!(generations[0] != generations[1] && generations[1] != generations[2]);
        for packet in [first[0], first[2], first[1]] {
            bench.answer(&packet, complete(1));
            let done = bench.completion(100);
            assert_eq!((done.entry, done.status), (packet.entry, Status::Success as u64));
            assert_eq!((done.slot, done.generation), (packet.slot, packet.generation));
        }
        let again: Vec<Packet> = (0..4).map(|_| start(bench, Request::packets(1, 4))[0]).collect();
        assert_eq!(again.iter().map(|p| p.slot).collect::<Vec<_>>(), [1, 2, 0, 3]);
        for packet in &again {
            if packet.slot != 3 {
                let before = generations[packet.slot as usize];
                assert_eq!(packet.generation, (before + 1) & 0xF_FFFF, "slot {}", packet.slot);
            }
            bench.answer(packet, complete(1));
        }
        bench.clocks(100);
        bench.done.clear();
        assert_eq!((bench.event("tx_opened"), bench.event("tx_completed")), (7, 7));
        assert_eq!(bench.event("tx_failed"), 0);
        bench.at_rest();
    });
}

/// TX-1: generations follow the seed, and wrap at 20 bits.
#[test]
fn generations_are_drawn_from_the_seed_and_wrap() {
    tb::run("tx_generation", &crate::bench::design(), |dut, rng| {
        let mut bench = Bench::new(dut, rng, Pattern::Always, Pattern::Always);
        // The last slot is cleared first, so it starts from the seed itself.
        bench.set("seed", 0x00AF_FFFE);
        bench.set("rtt_default", 8000);
        bench.enable();
        let packets: Vec<Packet> = (0..64).map(|_| start(&mut bench, Request::packets(1, 1))[0]).collect();
        assert_eq!((packets[63].slot, packets[63].generation), (63, 0xF_FFFF));
        bench.answer(&packets[63], complete(1));
        bench.completion(100);
        let again = start(&mut bench, Request::packets(1, 1))[0];
        assert_eq!((again.slot, again.generation), (63, 0));
        // The old generation's answer is nobody's.
        bench.answer(&packets[63], complete(1));
        bench.quiet(60);
        assert_eq!(bench.event("feedback_stale"), 1);
        bench.answer(&again, complete(1));
        assert_eq!(bench.completion(100).generation, 0);
        let distinct: std::collections::BTreeSet<u64> = packets.iter().map(|p| p.generation).collect();
        assert!(distinct.len() > 60, "{} of 64 generations differ", distinct.len());
    });
}

/// A reset that is not that of power-on: nothing is left but the generations, and
/// they go on, those of messages under way and of slots never used too.
//= RS-2 test
#[test]
fn generations_outlive_a_reset_that_keeps_them() {
    tb::run("tx_keeps", &crate::bench::design(), |dut, rng| {
        let mut bench = Bench::new(dut, rng, Pattern::Always, Pattern::Always);
        bench.set("seed", 0x00AF_FFF0);
        // No PROBE in between.
        bench.set("rtt_default", 8000);
        bench.set("rto", 9000);
        // Before any was drawn, there is nothing to keep.
        bench.restart(true, 8);
        bench.enable();
        let all = |bench: &mut Bench| -> Vec<Packet> {
            (0..64).map(|_| start(bench, Request::packets(3, 1))[0]).collect()
        };
        let first = all(&mut bench);
        assert_eq!((first[63].slot, first[63].generation), (63, 0xF_FFF1), "drawn from the seed");
        let mut last: Vec<u64> = first.iter().map(|packet| packet.generation).collect();
        for (round, clocks) in [(0, 8), (1, 2), (2, 9)] {
            // Some end, some are taken again, the rest is in the middle.
            for packet in first.iter().filter(|_| round == 0).take(5) {
                bench.answer(packet, Feedback { flags: fb::ABORT, status: 1, ..complete(0) });
                bench.completion(200);
            }
            if round == 0 {
                let again = start(&mut bench, Request::packets(3, 1))[0];
                assert_eq!(again.slot, first[4].slot);
                last[again.slot as usize] = again.generation;
            }
            bench.restart(true, clocks);
            if round == 1 {
                // And once more in the middle of clearing.
                bench.clocks(40);
                bench.restart(true, clocks);
            }
            bench.enable();
            assert_eq!((bench.free_slots(), bench.unsolicited()), (64, 0), "nothing else is left");
            bench.quiet(300);
            let stale = bench.event("feedback_stale");
            bench.answer(&first[40], complete(3));
            bench.quiet(60);
            assert_eq!(bench.event("feedback_stale"), stale + 1, "an answer to before");
            for (slot, packet) in all(&mut bench).iter().enumerate() {
                assert_eq!((packet.slot, packet.index), (slot as u64, 0), "the free list begins anew");
                assert_eq!(packet.generation, (last[slot] + 1) & 0xF_FFFF, "slot {slot}, round {round}");
                last[slot] = packet.generation;
            }
        }
        // Power-on draws again.
        bench.restart(false, 2);
        bench.enable();
        assert_eq!(all(&mut bench)[63].generation, 0xF_FFF1);
    });
}

/// TX-1: beyond the window only below the grant.
#[test]
fn the_window_goes_unasked_the_rest_below_the_grant() {
    run("tx_window", |bench| {
        let request = Request::packets(40, 6);
        let packets = start(bench, request);
        assert_eq!(packets.iter().map(|p| p.index).collect::<Vec<_>>(), (0..6).collect::<Vec<_>>());
        bench.quiet(400);
        let mut next = 6;
        // A grant below the window gives nothing; one above the count is cut.
        for (sequence, cumulative, grant, until) in
            [(1, 1, 3, 6), (2, 2, 8, 8), (3, 3, 8, 8), (4, 8, 21, 21), (5, 21, 999, 40)]
        {
            bench.answer(&packets[0], Feedback { cumulative, grant, sequence, ..Feedback::default() });
            bench.clocks(300);
            let more: Vec<Packet> = bench.packets.drain(..).collect();
            assert_eq!(more.iter().map(|p| p.index).collect::<Vec<_>>(), (next..until).collect::<Vec<_>>());
            assert!(more.iter().all(|p| p.is_new()));
            next = until;
        }
        bench.answer(&packets[0], complete(40));
        assert_eq!(bench.completion(100).status, 0);
        bench.at_rest();
    });
}

/// TX-1: unasked bytes are limited, given back at the first answer or the end,
/// and one message always may go.
#[test]
fn unasked_bytes_are_limited() {
    run("tx_unsolicited", |bench| {
        bench.set("unsolicited_limit", 3000);
        let large = Request { length: 100_000, payload_log2: 12, window: 3, ..Request::packets(1, 1) };
        let small = Request { dst_gid: large.dst_gid ^ 1 << 50, ..Request::packets(4, 4) };
        bench.post(large);
        bench.post(small);
        bench.post(small);
        let first = bench.take(3);
        assert!(first.iter().all(|p| p.entry == 0));
        assert_eq!(bench.unsolicited(), 3 * 4096);
        bench.quiet(200);
        // BUSY is not an answer, anything else is.
        bench.answer(&first[0], Feedback { flags: fb::BUSY, ..Feedback::default() });
        bench.quiet(100);
        bench.answer(&first[0], Feedback { grant: 3, sequence: 1, ..Feedback::default() });
        let second = bench.take(8);
        assert!(second[..4].iter().all(|p| p.entry == 1) || second[0].entry == 1);
        assert_eq!(bench.unsolicited(), 2048);
        bench.post(small);
        bench.quiet(200);
        bench.answer(&second[0], complete(4));
        assert_eq!(bench.completion(100).entry, 1);
        let third = bench.take(4);
        assert!(third.iter().all(|p| p.entry == 3));
        assert_eq!(bench.unsolicited(), 2048);
        // Nothing at all is asked for a message without bytes.
        bench.set("unsolicited_limit", 2048);
        let empty = start(bench, Request { length: 0, ..Request::packets(0, 1) });
        assert_eq!((empty[0].payload_len, empty[0].has(flag::AR)), (0, true));
        for (packet, count) in
            [(second.iter().find(|p| p.entry == 2).unwrap(), 4), (&third[0], 4), (&empty[0], 1)]
        {
            bench.answer(packet, complete(count));
            bench.completion(100);
        }
        bench.answer(&first[0], Feedback { flags: fb::ABORT, status: 1, ..Feedback::default() });
        assert_eq!(bench.completion(100).status, Status::Length as u64);
        bench.at_rest();
    });
}

/// TX-1: a message shorter than its window has only its own bytes unasked.
#[test]
fn a_short_message_has_only_its_bytes_unasked() {
    run("tx_unsolicited_short", |bench| {
        bench.set("unsolicited_limit", 250);
        let short = Request { length: 100, payload_log2: 12, window: 16, ..Request::packets(1, 1) };
        for _ in 0..3 {
            bench.post(short);
        }
        let first = bench.take(2);
        assert_eq!(bench.unsolicited(), 200);
        bench.quiet(200);
        bench.answer(&first[0], complete(1));
        let third = bench.packet(100);
        assert_eq!((third.entry, bench.unsolicited()), (2, 200));
        for packet in [first[1], third] {
            bench.answer(&packet, complete(1));
        }
        for _ in 0..3 {
            bench.completion(100);
        }
        bench.at_rest();
    });
}

/// TX-12: what failed is on its way no longer, however often that happens.
#[test]
fn failed_reads_leave_nothing_on_their_way() {
    run("tx_many_failures", |bench| {
        // More than may be on their way at once.
        for _ in 0..300 {
            bench.fail = Box::new(|_| true);
            start(bench, Request::packets(1, 1));
            assert_eq!(bench.completion(300).status, Status::LocalDma as u64);
        }
        bench.fail = Box::new(|_| false);
        let packet = start(bench, Request::packets(1, 1))[0];
        bench.answer(&packet, complete(1));
        assert_eq!(bench.completion(100).status, 0);
        bench.at_rest();
    });
}

/// TX-12: reads that fail one clock after the other all end their messages.
#[test]
fn failures_in_a_row_are_all_told() {
    run("tx_failures_in_a_row", |bench| {
        const MESSAGES: usize = 24;
        bench.fail = Box::new(|_| true);
        bench.sent_after = Some(10_000);
        for _ in 0..MESSAGES {
            start(bench, Request::packets(1, 1));
        }
        bench.hurry();
        for message in 0..MESSAGES {
            assert_eq!(bench.completion(300).status, Status::LocalDma as u64, "message {message}");
        }
        bench.sent_after = Some(8);
        bench.fail = Box::new(|_| false);
        bench.at_rest();
    });
}

/// A completion that nobody took is gone with a reset.
#[test]
fn a_reset_takes_a_waiting_completion_away() {
    tb::run("tx_reset", &crate::bench::design(), |dut, rng| {
        let mut bench = Bench::new(dut, rng, Pattern::Always, Pattern::Always);
        bench.enable();
        let packet = start(&mut bench, Request::packets(1, 1))[0];
        bench.clocks(20);
        bench.answer(&packet, complete(1));
        bench.clocks(2);
        let port = |name| bench.dut.port(name).unwrap();
        let (ready, valid) = (port("done_ready"), port("done_valid"));
        bench.dut.set(ready, 0u64);
        bench.dut.clock_by(100);
        assert!(bench.dut.is_high(valid), "no completion waits");
        drop(bench);
        let mut bench = Bench::new(dut, rng, Pattern::Always, Pattern::Always);
        bench.enable();
        bench.quiet(300);
        bench.at_rest();
    });
}

/// TX-2: AR, EST, RETX, IMM and the lengths at the edges.
#[test]
fn flags_say_what_the_packet_is() {
    run("tx_flags", |bench| {
        let request = Request { length: 5 * 256 + 1, imm: Some(0xCAFE_F00D), ..Request::packets(0, 4) };
        let packets = start(bench, request);
        for (i, packet) in packets.iter().enumerate() {
            let ar = if i == 3 { flag::AR } else { 0 };
            assert_eq!(packet.flags, flag::IMM | ar, "index {i}");
        }
        bench.answer(&packets[0], Feedback { grant: 6, sequence: 1, ..Feedback::default() });
        let more = bench.take(2);
        assert_eq!(more[0].flags, flag::IMM | flag::EST);
        assert_eq!(more[1].flags, flag::IMM | flag::EST | flag::AR);
        assert_eq!(more[1].payload_len, 1);
        // A retransmission of the last index below the limit asks as well.
        // Once it is old enough the backstop has asked too.
        bench.ticks(52);
        assert!(bench.packets.drain(..).all(|p| p.probe));
        bench.answer(
            &packets[0],
            Feedback { flags: fb::NACK, grant: 6, limit: 6, sequence: 2, ..Feedback::default() },
        );
        let again = bench.take(6);
        for (i, packet) in again.iter().enumerate() {
            let ar = if i == 5 { flag::AR } else { 0 };
            assert_eq!(packet.flags, flag::IMM | flag::EST | flag::RETX | ar, "index {i}");
            assert_eq!(packet.index, i as u64);
        }
        bench.answer(&packets[0], complete(6));
        bench.completion(100);
        bench.at_rest();
    });
}

/// TX-8: slots take turns packet by packet; the last packets of a message, four at
/// most besides the one that is taken, go before all others, whatever else
/// concerns the slots meanwhile.
#[test]
fn the_last_packets_go_in_one_turn() {
    tb::run("tx_last_few", &crate::bench::design(), |dut, rng| {
        // So a slot comes back before, when and after the next one is chosen.
        let mut bench = Bench::new(dut, rng, Pattern::Always, Pattern::Random(0.5));
        bench.enable();
        // The short ones end when all have long begun: until then a packet may leave
        // before the one behind it is back in line.
        let counts = [40, 40, 26, 26, 26, 40];
        for count in counts {
            bench.post(Request::packets(count, count));
        }
        let total: u64 = counts.iter().sum();
        // Whatever a receiver says takes clocks from the turns.
        let mut taken: Vec<Packet> = Vec::new();
        let mut sequence = 0;
        let mut gaps = rng.fork();
        while taken.len() < total as usize {
            bench.clocks(5 + gaps.below(20));
            taken.extend(bench.packets.drain(..));
            if !taken.is_empty() {
                let packet = taken[gaps.below(taken.len() as u64) as usize];
                sequence = (sequence + 1) & 0xFF;
                bench.answer(&packet, Feedback { grant: 40, sequence, ..Feedback::default() });
            }
            assert!(bench.clocks_run() < 20_000, "{} of {total}", taken.len());
        }
        let order: Vec<(u64, u64)> =
            taken.iter().filter(|p| p.is_new()).map(|p| (p.entry, p.index)).collect();
        let goes_on = |pair: &[(u64, u64)]| pair[0].0 == pair[1].0;
        let few = |&(entry, index): &(u64, u64)| {
            let left = counts[entry as usize] - (index + 1);
            (1..=4).contains(&left)
        };
        // Not before all of them have begun, nor once only one of them is left.
        let begun = order.iter().position(|&(entry, _)| entry == 5).unwrap();
        let end = order.iter().position(|&(_, index)| index == 39).unwrap();
        let (last, earlier): (Vec<_>, Vec<_>) = order[..end].windows(2).partition(|pair| few(&pair[0]));
        assert!(last.len() >= 12);
        // One that was chosen before may go between, or one with few left too.
        for (i, at) in order[..end].iter().enumerate().filter(|(_, at)| few(at)) {
            let next = (at.0, at.1 + 1);
            assert!(order[i + 1..].iter().take(2).any(|&other| other == next), "{next:?}: {order:?}");
        }
        let (first, _) = order[begun..end].split_at(80);
        let apart = first.windows(2).filter(|pair| !few(&pair[0]) && goes_on(pair)).count();
        assert_eq!(apart, 0, "{order:?}");
        assert!(earlier.len() > 60);
    });
}

/// TX-8: slots take turns packet by packet; retransmissions and new packets
/// alternate while both wait.
#[test]
fn turns_are_fair() {
    run("tx_turns", |bench| {
        let a = start(bench, Request::packets(200, 8));
        let b = start(bench, Request::packets(200, 8));
        bench.ticks(60);
        bench.packets.clear();
        let news = Feedback { grant: 60, sequence: 1, ..Feedback::default() };
        bench.answer(&a[0], news);
        bench.answer(&b[0], news);
        bench.clocks(300);
        let order: Vec<u64> = bench.packets.drain(..).map(|p| p.entry).collect();
        let both = &order[order.iter().position(|&entry| entry == 1).unwrap()..order.len() - 8];
        assert!(both.windows(2).all(|pair| pair[0] != pair[1]), "{order:?}");
        bench.ticks(60);
        bench.packets.clear();
        // All of a again, and new packets of b.
        bench.answer(
            &a[0],
            Feedback { flags: fb::NACK, grant: 60, limit: 60, sequence: 2, ..Feedback::default() },
        );
        bench.clocks(40);
        bench.answer(&b[0], Feedback { grant: 160, sequence: 2, ..Feedback::default() });
        bench.clocks(1200);
        let packets: Vec<Packet> = bench.packets.drain(..).collect();
        let again: Vec<bool> = packets.iter().map(|p| p.has(flag::RETX)).collect();
        let first_new = again.iter().position(|retx| !retx).unwrap();
        let last_retx = again.iter().rposition(|retx| *retx).unwrap();
        let mixed = &again[first_new..=last_retx];
        // A timer's job on the slot may make it miss a turn.
        let same = mixed.windows(2).filter(|pair| pair[0] == pair[1]).count();
        assert!(mixed.len() > 40 && same <= 4, "{again:?}");
        assert_eq!(again.iter().filter(|retx| **retx).count(), 60);
        assert_eq!(again.len(), 160);
    });
}

/// TX-12: the completion waits for packets on their way; nothing is sent after
/// the end; the slot is not reused before.
#[test]
fn a_completion_waits_for_packets_on_their_way() {
    run("tx_outstanding", |bench| {
        bench.sent_after = None;
        let packets = start(bench, Request::packets(30, 10));
        bench.answer(&packets[0], Feedback { grant: 20, sequence: 1, ..Feedback::default() });
        bench.clocks(30);
        bench.answer(&packets[0], Feedback { flags: fb::ABORT, status: 4, ..Feedback::default() });
        bench.clocks(30);
        let sent = 10 + bench.packets.drain(..).count();
        assert!(sent < 20, "the end stops what was still to be sent");
        let other = start(bench, Request::packets(1, 1))[0];
        assert_eq!(other.slot, 1, "slot 0 is not free yet");
        bench.quiet(500);
        assert_eq!(bench.on_their_way(), sent + 1);
        bench.release();
        let done = bench.completion(200);
        assert_eq!((done.entry, done.status), (0, Status::Replaced as u64));
        bench.answer(&other, complete(1));
        bench.completion(100);
        bench.at_rest();
    });
}

/// TX-12 with a failed read: `local_dma`, once, after the others are away.
#[test]
fn a_failed_read_ends_the_message() {
    run("tx_local_dma", |bench| {
        bench.fail = Box::new(|packet| packet.entry == 0 && packet.index >= 3);
        bench.post(Request::packets(40, 12));
        let packets = bench.take(4);
        let done = bench.completion(300);
        assert_eq!((done.entry, done.status), (0, Status::LocalDma as u64));
        bench.packets.clear();
        bench.quiet(200);
        bench.answer(&packets[0], complete(40));
        bench.quiet(100);
        assert_eq!(bench.event("feedback_stale"), 1);
        assert_eq!(bench.event("tx_failed"), 1);
        // A failure after COMPLETE changes nothing.
        bench.fail = Box::new(|_| true);
        bench.sent_after = Some(100);
        let packet = start(bench, Request::packets(1, 1))[0];
        bench.answer(&packet, complete(1));
        assert_eq!(bench.completion(300).status, 0);
        bench.at_rest();
    });
}

/// The contract: clocks per single-packet message, per packet of one message,
/// from a request to its packet.
#[test]
fn clocks_are_as_documented() {
    tb::run("tx_clocks", &crate::bench::design(), |dut, rng| {
        let mut bench = Bench::new(dut, rng, Pattern::Always, Pattern::Always);
        bench.enable();
        bench.sent_after = Some(6);
        bench.post(Request::packets(1, 1));
        let before = bench.clocks_run();
        let packet = bench.packet(50);
        println!("request offered to packet taken: {} clocks", packet.clock - before);
        assert!(packet.clock - before <= 14);
        bench.clocks(20);
        bench.answer(&packet, complete(1));
        let before = bench.clocks_run();
        let done = bench.completion(50);
        println!("feedback offered to completion taken: {} clocks", done.clock - before);
        assert!(done.clock - before <= 18);

        // Single-packet messages, answered 100 clocks after they leave.
        const MESSAGES: u64 = 2000;
        let mut answers: std::collections::VecDeque<(u64, Packet)> = Default::default();
        for _ in 0..MESSAGES {
            bench.post(Request::packets(1, 1));
        }
        let before = bench.clocks_run();
        while (bench.done.len() as u64) < MESSAGES {
            bench.clock();
            while let Some(packet) = bench.packets.pop_front() {
                answers.push_back((packet.clock + 100, packet));
            }
            while answers.front().is_some_and(|a| a.0 <= bench.clocks_run()) {
                let (_, packet) = answers.pop_front().unwrap();
                bench.answer(&packet, complete(1));
            }
            assert!(bench.clocks_run() - before < 20 * MESSAGES, "{} done", bench.done.len());
        }
        let per_message = (bench.clocks_run() - before) as f64 / MESSAGES as f64;
        println!("single-packet messages: {per_message:.2} clocks each");
        assert!(per_message <= 6.2, "{per_message}");
        assert!(bench.done.iter().all(|done| done.status == 0));
        bench.done.clear();

        // One message alone.
        let packets = start(&mut bench, Request::packets(250, 250));
        let clocks = packets[249].clock - packets[0].clock;
        println!("one message: {:.2} clocks per packet", clocks as f64 / 249.0);
        // A timer's job on the slot now and then.
        assert!(clocks <= 5 * 249 + 20);
        bench.answer(&packets[0], complete(250));
        bench.completion(50);
        bench.at_rest();
    });
}

/// The full size: lint, clearing, a message through the last slot but none.
#[test]
fn nic512_elaborates_and_sends() {
    let design = tessera_testbenches::design("sender_nic512", || Sender::new(&NIC512));
    let model = Model::build(&design, &BuildOptions::hurried()).unwrap();
    let mut dut = model.instance().unwrap();
    let (rst, ready) = (dut.port("rst").unwrap(), dut.port("ready").unwrap());
    let (free, enable) = (dut.port("free_slots").unwrap(), dut.port("settings.enable").unwrap());
    for name in
        ["request_valid", "feedback_valid", "packet_ready", "done_ready", "sent.valid", "failed.valid", "now"]
    {
        let port = dut.port(name).unwrap();
        dut.set(port, 0u64);
    }
    dut.set(enable, 0u64);
    dut.reset(rst, 2);
    for _ in 0..2 {
        let mut clocks = 0;
        while dut.sampled(ready) == 0 {
            dut.clock();
            clocks += 1;
            assert!(clocks < 4200, "tables are cleared one place per clock");
        }
        dut.clock_by(4);
        assert_eq!(dut.sampled(free), 4096);
        dut.set(enable, 1u64);
        dut.clock_by(3);
    }
    assert_eq!(SMALL.tx_slots_log2, 6);
}
