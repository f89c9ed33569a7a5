//! `rx::Receiver`: context, interval, grant and feedback blocks, the bitmap and
//! the wheel. The receiver's rules one by one, then whole messages over a
//! network that loses, repeats and reorders.

mod bench;
mod credit;
mod ends;
mod host;
mod loss;
mod network;
mod reference;
mod rounds;
mod window;

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

/// Others may need the room in placement that fences wait to give back.
#[test]
fn while_many_fences_wait_only_those_are_taken() {
    run("crowded", REGISTERS, |bench, _| {
        let (whole, lost) = (message(3, 100, 16), message(4, 10 * 256, 16));
        bench.data(&lost, 0, 10, 0);
        bench.data(&whole, 0, 10, AR);
        bench.set_crowded(true);
        let next = message(5, 100, 16);
        bench.offer(&next);
        // The fence comes back, but neither is the packet judged nor a NACK sent.
        bench.ticks(1000);
        assert_eq!(bench.seen.last().map(|seen| seen.flags), Some(COMPLETE));
        assert!(!bench.idle(), "a packet is taken");
        assert!(bench.nacks().is_empty(), "an expiry is taken");
        bench.set_crowded(false);
        bench.ticks(100);
        assert!(bench.idle());
        assert!(!bench.nacks().is_empty());
        for index in 1..10 {
            bench.data(&lost, index, 10, 0);
        }
        bench.settle(2000);
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
        // Nor is one that does not differ held against what the context held before.
        for context in 6..12 {
            let first = message(context, 2000, 16);
            bench.passing(&first, 0);
            bench.passing(&first, 1);
        }
        bench.ticks(40);
        assert_eq!(bench.event("mismatch"), 6);
        assert_eq!(bench.event("rx_new"), 6 * 2 + 6 * 2);
        for context in 0..12 {
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

/// From the shortest gaps there are it comes up to what the packets say.
//= RC-4 test
#[test]
fn rc4_the_gap_grows_from_next_to_nothing() {
    for gap0 in [1, 2, 3] {
        run("gap grows", Registers { gap0, ..REGISTERS }, |bench, _| {
            let first = message(3, 250 * 256, 250);
            bench.data(&first, 0, 10, 0);
            let start = bench.now;
            let mut index = 1;
            while bench.nacks().is_empty() {
                if bench.now >= start + 4 * index && index < 250 {
                    bench.data(&first, index, 10, 0);
                    // One is missing when the gap has long been learned.
                    index += if index == 99 { 2 } else { 1 };
                }
                bench.ticks(1);
                assert!(bench.now < start + 1500, "GAP0 {gap0}: no NACK");
            }
            // LD-2: it waits for the rest of the block, four ticks for each packet.
            let waited = bench.nacks()[0].tick - start - 4 * 101;
            let (all, look) = (4 * 148, REGISTERS.skew0 + REGISTERS.guard);
            assert!(2 * waited >= all && waited <= all + 2 * look, "GAP0 {gap0}: {waited} of {all} ticks");
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

/// What the first packet of a message takes more, whose first block it waits for.
#[test]
fn clocks_per_message_that_opens() {
    run("opened", REGISTERS, |bench, _| {
        bench.clocks_per_tick = 16;
        let messages: Vec<_> = (0..4).map(|context| message(context, 512, 16)).collect();
        let mut taken = Vec::new();
        for first in &messages {
            bench.passing(first, 0);
            taken.push(bench.last_taken);
        }
        let apart: Vec<u64> = taken.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(apart.iter().all(|&clocks| clocks <= PACKET_CLOCKS + 4), "{apart:?} clocks apart");
        for first in &messages {
            bench.passing(first, 1);
        }
        bench.settle(3000);
        assert_eq!(bench.event("rx_completed"), 4);
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
    Model::build(&design, &BuildOptions::hurried()).unwrap();
}
