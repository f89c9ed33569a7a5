//! `rx::Receiver`: context, interval, grant and feedback blocks, the bitmap and
//! the wheel. The receiver's rules one by one, then whole messages over a
//! network that loses, repeats and reorders.

mod bench;
mod network;
mod reference;

use bench::{Bench, Registers, REGISTERS};
use reference::*;
use tessera_abi::params::{Config, NIC512};
use tessera_rtl::rx::Receiver;
use tessera_sim::tb::{self, Pattern, Rng};
use tessera_sim::verilator::{BuildOptions, Design, Dut, Model};

/// Small tables: they fill in a test, and clear in a moment.
const CONFIG: Config = Config {
    rx_contexts_log2: 4,
    bitmap_blocks_log2: 5,
    wheel_l0_log2: 7,
    wheel_l1_log2: 5,
    wheel_tick_log2: 1,
    ..NIC512
};
/// Ticks of four clocks by which a NACK is late: from the packet to its judgement,
/// rounding up to a wheel tick, the pop, its judgement, the walk over blocks.
const LATE: u64 = 16;
/// Clocks per packet of an open message, whose block is that of the lowest gap.
const PACKET_CLOCKS: u64 = 5;
/// Clocks from event to event; a message of one packet is two, its arrival and its fence.
const EVENT_CLOCKS: u64 = 2;

fn design() -> Design {
    tessera_testbenches::design("receiver", || Receiver::new(&CONFIG))
}

fn run(test: &str, registers: Registers, body: impl Fn(&mut Bench<'_>, &mut Rng)) {
    tb::run(&format!("rx_context::{test}"), &design(), |dut: &mut Dut, rng: &mut Rng| {
        let mut bench = Bench::new(dut, registers, Pattern::Always, rng);
        body(&mut bench, rng);
    });
}

/// The first packet of a message in a context, as lookup hands it over.
fn message(context: u64, length: u64, window: u64) -> Packet {
    Packet {
        verdict: 1,
        context,
        mac: 0x0200_0000_0000 + context,
        gid: [0x0123_4567_89AB_CDEF ^ context, 0xFEDC],
        src_endpoint: 0x12_3400 + context,
        endpoint: 7,
        flags: 0,
        ev: 5,
        log2: 8,
        slot: 100 + context,
        generation: 1000 + context,
        window,
        length,
        tag: 0xAAAA_BBBB_CCCC_DDDD,
        buffer: 0x10_0000 * (context + 1),
        entry: 40 + context,
        ..Packet::default()
    }
}

impl Bench<'_> {
    /// Packet `index` sent `delay` ticks ago, now.
    fn data(&mut self, of: &Packet, index: u64, delay: u64, flags: u64) {
        let packet = self.packet(of, index, delay, flags);
        self.give(&packet);
    }

    /// The same, without waiting for what becomes of it.
    fn passing(&mut self, of: &Packet, index: u64) {
        let packet = self.packet(of, index, 10, 0);
        self.pass(&packet);
    }

    fn packet(&self, of: &Packet, index: u64, delay: u64, flags: u64) -> Packet {
        let opened = self.messages.contains_key(&of.generation);
        Packet {
            verdict: u64::from(!opened),
            index,
            flags: of.flags | flags,
            timestamp: self.now - delay,
            arrival: self.now,
            ..of.clone()
        }
    }

    fn probe(&mut self, of: &Packet, index: u64) {
        let packet = Packet {
            verdict: 0,
            probe: true,
            index,
            timestamp: self.now - 10,
            arrival: self.now,
            ..of.clone()
        };
        self.give(&packet);
    }

    /// All packets of `range` that have not arrived.
    fn fill(&mut self, of: &Packet, range: std::ops::Range<u64>) {
        for index in range {
            if !self.messages.get(&of.generation).is_some_and(|m| m.arrived[index as usize]) {
                self.data(of, index, 10, RETX);
            }
        }
    }

    /// The ticks until something is asked for, from `since` on.
    fn next_nack(&mut self, since: u64) -> u64 {
        let before = self.nacks().len();
        let limit = self.now + 3000;
        while self.nacks().len() == before {
            self.clock();
            assert!(self.now < limit, "no NACK");
        }
        self.nacks()[before].tick - since
    }
}

#[track_caller]
fn within(what: &str, ticks: u64, expected: u64) {
    assert!(
        (expected..=expected + LATE).contains(&ticks),
        "{what}: after {ticks} ticks, {expected} ..= {} expected",
        expected + LATE
    );
}

#[test]
fn rc6_a_message_of_one_packet_ends_and_leaves_nothing() {
    run("single", REGISTERS, |bench, _| {
        let blocks = bench.free_blocks();
        for length in [0, 1, 256] {
            let first = message(3, length, 16);
            bench.data(&first, 0, 10, AR);
            bench.settle(100);
            let seen = bench.seen.last().unwrap();
            assert_eq!((seen.flags, seen.cumulative), (COMPLETE, 1));
            bench.messages.clear();
        }
        assert_eq!(bench.free_blocks(), blocks);
    });
}

#[test]
fn rc2_blocks_fill_free_and_move_on_in_any_order() {
    run("order", REGISTERS, |bench, rng| {
        let blocks = bench.free_blocks();
        let first = message(1, 600 * 256 - 100, 0);
        // Grants come as the first block fills; the second is filled backwards.
        bench.fill(&first, 0..255);
        bench.ticks(60);
        let granted = bench.messages[&first.generation].grant;
        assert_eq!(granted, 600, "GR-2: the whole message is within the window");
        for index in (256..512).rev() {
            bench.data(&first, index, 10, 0);
        }
        bench.data(&first, 255, 10, 0);
        assert_eq!(bench.messages[&first.generation].cumulative, 512);
        let mut rest: Vec<u64> = (512..600).collect();
        for i in 0..rest.len() {
            let j = i as u64 + rng.below((rest.len() - i) as u64);
            rest.swap(i, j as usize);
        }
        for index in rest {
            bench.data(&first, index, 10, 0);
        }
        bench.settle(3000);
        assert_eq!(bench.free_blocks(), blocks);
    });
}

#[test]
fn ro9_a_packet_that_differs_is_dropped() {
    run("mismatch", REGISTERS, |bench, _| {
        let first = message(2, 2000, 16);
        bench.data(&first, 0, 10, 0);
        let differing = [
            Packet { length: 2001, ..first.clone() },
            Packet { log2: 9, ..first.clone() },
            Packet { tag: first.tag ^ 1 << 63, ..first.clone() },
            Packet { flags: IMM, ..first.clone() },
            Packet { imm: 1, ..first.clone() },
            Packet { window: 17, ..first.clone() },
            Packet { endpoint: 8, ..first.clone() },
            Packet { flags: ROUND, ..first.clone() },
            Packet { src_endpoint: first.src_endpoint + 1, ..first.clone() },
        ];
        let count = differing.len() as u64;
        for packet in differing {
            bench.data(&packet, 1, 10, AR);
        }
        bench.fill(&first, 0..8);
        bench.settle(1000);
        assert_eq!(bench.event("mismatch"), count);
    });
}

#[test]
fn ro9_also_of_the_packet_right_behind_the_first() {
    run("mismatch at once", REGISTERS, |bench, _| {
        for context in 0..6 {
            let first = message(context, 2000, 16);
            let other = Packet { tag: first.tag ^ 1 << (10 * context), ..first.clone() };
            bench.passing(&first, 0);
            bench.passing(&other, 1);
            bench.passing(&first, 2);
        }
        bench.ticks(40);
        assert_eq!(bench.event("mismatch"), 6);
        for context in 0..6 {
            bench.fill(&message(context, 2000, 16), 0..8);
        }
        bench.settle(1000);
    });
}

#[test]
fn rc4_the_gap_is_per_packet_whatever_the_step() {
    for step in [1, 2, 4, 8, 16] {
        // Four ticks per packet, as `GAP0` says; the steps between those that come
        // must not change that.
        run("gap", Registers { gap0: 64, ..REGISTERS }, |bench, _| {
            let first = message(3, 250 * 256, 250);
            bench.data(&first, 0, 10, 0);
            let start = bench.now;
            let (mut index, mut hole_time) = (if step == 1 { 2 } else { step }, 0);
            while bench.nacks().is_empty() {
                if bench.now >= start + 4 * index && index < 249 {
                    bench.data(&first, index, 10, 0);
                    hole_time = if hole_time == 0 { bench.now } else { hole_time };
                    index += step;
                }
                bench.ticks(1);
                assert!(bench.now < start + 1500, "step {step}: no NACK");
            }
            let waited = bench.nacks()[0].tick - hole_time;
            // LD-2: what came while it waited is no longer missing. It is looked at
            // every tail interval.
            let left = 250 - (waited / (4 * step)).min(248 / step) - 2;
            let (rule, look) = (left * 4 + REGISTERS.skew0, REGISTERS.skew0 + REGISTERS.guard);
            assert!(
                waited + 48 >= rule && waited <= rule + 2 * look + 48,
                "step {step}: {waited}, not {rule} ticks"
            );
            bench.fill(&first, 0..250);
            bench.settle(3000);
        });
    }
}

#[test]
fn rc1_duplicates_answer_only_ar_and_ungranted_never() {
    // No credit for a grant before the first sixteen have come.
    run("duplicates", Registers { credit_limit: 16 * 256, ..REGISTERS }, |bench, _| {
        let first = message(2, 100 * 256, 16);
        for (index, flags) in [(3, 0), (3, 0), (3, AR), (0, 0), (0, AR), (40, AR), (99, AR)] {
            bench.data(&first, index, 10, flags);
        }
        bench.ticks(4);
        assert_eq!(bench.seen.iter().filter(|s| s.flags == 0).count(), 2);
        assert_eq!((bench.event("duplicate"), bench.event("not_granted")), (3, 2));
        while bench.messages[&first.generation].phase == Phase::Open {
            let grant = bench.messages[&first.generation].grant;
            bench.fill(&first, 0..grant);
            bench.ticks(10);
        }
        bench.settle(1000);
    });
}

#[test]
fn rc7_feedback_every_so_many_packets_and_at_once() {
    run("feedback", Registers { ack_every: 4, ..REGISTERS }, |bench, _| {
        let first = message(2, 30 * 256, 40);
        for index in 0..9 {
            bench.data(&first, index, 10, 0);
        }
        bench.ticks(4);
        assert_eq!(bench.seen.len(), 2);
        bench.data(&first, 9, 10, AR);
        let marked = Packet { ce: true, ..first.clone() };
        bench.data(&marked, 10, 10, 0);
        bench.probe(&first, 11);
        bench.ticks(4);
        assert_eq!(bench.seen.iter().map(|s| s.flags).collect::<Vec<_>>(), [0, 0, 0, CE, 0]);
        bench.fill(&first, 0..30);
        bench.settle(1000);
    });
}

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
    let fall = |skew: u64, sample: u32| skew - (skew >> if sample < 127 { 6 } else { 10 });
    (0..samples).fold(REGISTERS.skew0 << 8, fall) >> 8
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
    // Nothing but the answer's own time holds a NACK back.
    let registers = Registers { rtt_default: 1, answer0: 400, ..REGISTERS };
    run("answer", registers, |bench, _| {
        bench.clocks_per_tick = 16;
        let mut answer = 400;
        // One source: all messages say what the next waits for. The answer comes
        // after so many ticks; a second NACK is not waited for.
        for (context, takes) in [(0, 150), (1, 30), (2, 500)] {
            let first = asked(bench, context, 99);
            let tick = bench.nacks().last().unwrap().tick;
            if takes < answer {
                bench.ticks(takes);
                answer -= (answer - takes) >> 3;
            } else {
                within("until measured", bench.next_nack(tick), answer + REGISTERS.guard - 4);
            }
            bench.data(&first, 7, 10, RETX);
            bench.ticks(50);
        }
        let first = asked(bench, 3, 9);
        let tick = bench.nacks().last().unwrap().tick;
        within("after two samples", bench.next_nack(tick), answer + REGISTERS.guard - 8);
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
        within("after two repeats", bench.next_nack(tick), answer + REGISTERS.guard - 12);
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
        within("at most", bench.next_nack(tick), registers.rto + REGISTERS.guard);
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

#[test]
fn gr2_credit_is_shared_and_never_exceeded() {
    let registers = Registers { credit_limit: 24 * 256, ..REGISTERS };
    run("credit", registers, |bench, _| {
        let all: Vec<Packet> = (0..4).map(|context| message(context, 300 * 256, 8)).collect();
        for first in &all {
            bench.data(first, 0, 10, 0);
        }
        let mut rounds = 0;
        while bench.messages.values().any(|m| m.phase == Phase::Open) {
            for first in &all {
                let grant = bench.messages[&first.generation].grant;
                bench.fill(first, 0..grant);
            }
            bench.ticks(3);
            rounds += 1;
            assert!(rounds < 400, "grants dry up");
        }
        bench.settle(1500);
        assert!(bench.event("grants_sent") >= 4 * (300 - 8) / 16);
    });
}

#[test]
fn gr2_who_is_owed_nothing_gets_a_packet_without_credit() {
    // One message holds all credit, for longer than the give-up time: the other one
    // goes on, packet by packet.
    let registers = Registers { credit_limit: 16 * 256, rx_give_up: 600, ..REGISTERS };
    run("floor", registers, |bench, _| {
        let (hog, other) = (message(1, 20 * 256, 20), message(2, 40 * 256, 4));
        bench.data(&hog, 0, 10, 0);
        bench.fill(&other, 0..4);
        let (mut last, wait) = (bench.now, REGISTERS.rtt_default);
        for round in 0..20 {
            while bench.messages[&other.generation].grant == 4 + round {
                bench.ticks(1);
                bench.data(&hog, round % 2, 10, RETX);
                assert!(bench.now - last < 2 * wait, "no grant");
            }
            assert!(round == 0 || (wait - 2..wait + 10).contains(&(bench.now - last)), "RTT_DEFAULT apart");
            last = bench.now;
            bench.fill(&other, 0..5 + round);
        }
        bench.fill(&hog, 0..20);
        while bench.messages[&other.generation].phase == Phase::Open {
            let grant = bench.messages[&other.generation].grant;
            bench.fill(&other, 0..grant);
            bench.ticks(5);
        }
        bench.settle(1500);
    });
}

#[test]
fn gr2_credit_is_spent_to_the_last_byte() {
    let registers = Registers { credit_limit: 24 * 256, grant_quantum: 4, ..REGISTERS };
    run("all of it", registers, |bench, _| {
        let first = message(1, 100 * 256, 8);
        bench.data(&first, 0, 10, 0);
        bench.ticks(60);
        assert_eq!(bench.credit(), 23 * 256, "seven and four times four");
        bench.data(&first, 1, 10, 0);
        bench.data(&first, 2, 10, 0);
        bench.ticks(30);
        assert_eq!(bench.credit(), 21 * 256, "no room for four");
        bench.data(&first, 3, 10, 0);
        bench.ticks(30);
        assert_eq!(bench.credit(), 24 * 256, "room for just four");
        while bench.messages[&first.generation].phase == Phase::Open {
            let grant = bench.messages[&first.generation].grant;
            bench.fill(&first, 0..grant);
            bench.ticks(5);
        }
        bench.settle(1500);
    });
}

#[test]
fn gr5_a_silent_message_lends_its_credit() {
    for policy in [4, 0] {
        let registers = Registers { credit_limit: 64 * 256, credit_policy: policy, ..REGISTERS };
        run("lent", registers, |bench, _| {
            bench.clocks_per_tick = 16;
            let (silent, other) = (message(1, 60 * 256, 60), message(2, 500 * 256, 8));
            bench.data(&silent, 0, 10, 0);
            bench.fill(&other, 0..8);
            let owed = |bench: &Bench, of: &Packet| bench.messages[&of.generation].credit() / 256;
            let asked =
                |bench: &Bench| bench.nacks().iter().filter(|n| n.generation == silent.generation).count();
            // The other one answers each of its grants, so that nothing is asked of it.
            while asked(bench) < 2 {
                let grant = bench.messages[&other.generation].grant;
                assert!(owed(bench, &other) <= 5, "one message holds nearly all credit");
                bench.fill(&other, 0..grant);
                bench.ticks(8);
            }
            for _ in 0..4 {
                let grant = bench.messages[&other.generation].grant;
                bench.fill(&other, 0..grant - 1);
                bench.ticks(10);
            }
            let most = owed(bench, &other);
            let lent = policy != 0;
            assert!(if lent { (33..=64).contains(&most) } else { most <= 5 }, "{most} packets granted");
            // It comes back with the next new packet, even beyond the limit.
            bench.data(&silent, 0, 10, RETX);
            bench.ticks(10);
            let outstanding = |bench: &Bench| bench.dut.get(bench.dut.port("outstanding").unwrap());
            assert!(outstanding(bench) <= 64 * 256, "a copy brings nothing back");
            bench.data(&silent, 1, 10, RETX);
            bench.ticks(4);
            assert_eq!(outstanding(bench) > 64 * 256, lent);
            // While it is, others wait.
            let grant = bench.messages[&other.generation].grant;
            bench.fill(&other, 0..grant - 1);
            bench.ticks(20);
            assert!(owed(bench, &other) <= 6, "{} packets granted", owed(bench, &other));
            bench.fill(&silent, 0..60);
            while bench.messages[&other.generation].phase == Phase::Open {
                let grant = bench.messages[&other.generation].grant;
                bench.fill(&other, 0..grant);
                bench.ticks(5);
            }
            bench.settle(1500);
        });
    }
}

#[test]
fn gr4_congestion_shrinks_the_credit() {
    let whole = 256 * 256;
    let registers = Registers { credit_limit: whole, grant_quantum: 64, ..REGISTERS };
    let marks = |bench: &mut Bench, first: &Packet, packets: u64, ce: bool, delay: u64| {
        for _ in 0..packets / 8 {
            for _ in 0..8 {
                let packet = Packet { ce, ..first.clone() };
                let next = bench.messages.get(&first.generation).map_or(0, |m| m.cumulative);
                bench.data(&packet, next, delay, 0);
            }
            bench.ticks(4);
        }
        bench.credit()
    };
    for (policy, ce, delay) in [(1, true, 10), (2, false, 10 + REGISTERS.skew_max)] {
        run("congestion", Registers { credit_policy: policy, ..registers }, |bench, _| {
            let first = message(1, 8000 * 256, 255);
            let full = marks(bench, &first, 400, false, 10);
            assert!(full > whole - 72 * 256, "{full} of {whole} bytes out");
            let least = marks(bench, &first, 2000, ce, delay);
            assert!(least <= 8192, "{least} bytes out, a floor of two largest payloads");
            let again = marks(bench, &first, 3200, false, 10);
            assert!(again > whole - 72 * 256, "{again} of {whole} bytes out");
            while bench.messages[&first.generation].phase == Phase::Open {
                let grant = bench.messages[&first.generation].grant;
                bench.fill(&first, 0..grant);
            }
            bench.settle(1500);
        });
    }
    run("no policy", registers, |bench, _| {
        let first = message(1, 3000 * 256, 255);
        let full = marks(bench, &first, 2000, true, 10);
        assert!(full > whole - 72 * 256, "{full} of {whole} bytes out");
        while bench.messages[&first.generation].phase == Phase::Open {
            let grant = bench.messages[&first.generation].grant;
            bench.fill(&first, 0..grant);
        }
        bench.settle(1500);
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

/// Ticks until the straggler of a round is asked for: 200 packets of which one
/// came, `together` with others of the round, all of which end 50 ticks later.
fn straggler(test: &str, registers: Registers, register: impl Fn(&mut Bench), together: u64, expected: u64) {
    run(test, Registers { gap0: 128, ..registers }, |bench, _| {
        bench.clocks_per_tick = 16;
        register(bench);
        let of_round =
            |context, length, window| Packet { flags: ROUND, round: 300, ..message(context, length, window) };
        let late = of_round(9, 200 * 256, 200);
        bench.data(&late, 0, 10, 0);
        let since = bench.now;
        bench.ticks(50);
        for context in 0..together {
            // Whole with its first packet, or not.
            let other = of_round(context, 64 + 256 * (context % 3), 8);
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
    let whole = ((199 * 128) >> 4) + REGISTERS.skew0;
    REGISTERS.d_min + ((whole - REGISTERS.d_min) >> halved) + REGISTERS.guard
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

#[test]
fn clocks_per_packet() {
    run("rate", REGISTERS, |bench, _| {
        bench.clocks_per_tick = 16;
        let first = message(5, 200 * 256, 200);
        bench.data(&first, 0, 10, 0);
        let start = bench.last_taken;
        for index in 1..100 {
            bench.passing(&first, index);
        }
        let clocks = bench.last_taken - start;
        eprintln!("{} clocks for 99 packets", clocks);
        assert!(clocks <= 99 * PACKET_CLOCKS + 10, "{clocks} clocks for 99 packets");
        bench.fill(&first, 0..200);
        bench.settle(3000);
    });
}

#[test]
fn clocks_per_message_of_one_packet() {
    run("messages", REGISTERS, |bench, _| {
        bench.clocks_per_tick = 16;
        let mut taken = Vec::new();
        for context in 0..12 {
            bench.passing(&message(context, 64, 16), 0);
            taken.push(bench.last_taken);
        }
        let clocks = taken[11] - taken[0];
        // Fences may come back in between.
        assert!(clocks <= 11 * 2 * EVENT_CLOCKS, "{clocks} clocks for 11 messages");
        bench.settle(1000);
        assert_eq!(bench.event("rx_completed"), 12);
    });
}

#[test]
fn the_full_size_is_clean_verilog() {
    let design = tessera_testbenches::design("receiver_nic512", || Receiver::new(&NIC512));
    Model::build(&design, &BuildOptions::default()).unwrap();
}
