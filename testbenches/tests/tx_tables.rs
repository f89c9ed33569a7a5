//! `tx::RttTable` and `tx::Flight`: what is asked in the clock in which it is written is what
//! was there before or what is written, never anything else (decision 0064).

use std::collections::VecDeque;
use tessera_abi::params::{Config, NIC512};
use tessera_rtl::tx::{Flight, RttTable};
use tessera_sim::tb;

/// TX-5: a time is the one learned last, also for who asks while the next one is.
//= TX-5 test
#[test]
fn a_time_is_asked_while_it_is_learned() {
    let design = tessera_testbenches::design("rtt_table", RttTable::new);
    tb::run("tx_tables::rtt", &design, |dut, rng| {
        let port = |name: &str| dut.port(name).unwrap();
        let [clear, ask, known] = ["clear", "ask", "known"].map(port);
        let [learn, learn_gid, learn_rtt, clear_at] =
            ["learn", "learn_gid", "learn_rtt", "clear_at"].map(port);
        dut.set(learn, 0u64);
        dut.set(clear, 1u64);
        for place in 0..1024u64 {
            dut.set(clear_at, place);
            dut.clock();
        }
        dut.set(clear, 0u64);
        // One destination, so that every change meets a question.
        dut.set_wide(ask, &[7, 9]);
        dut.set_wide(learn_gid, &[7, 9]);
        let (mut held, mut due) = (0, None);
        for _ in 0..2000 {
            let learns = rng.chance(0.5);
            let rtt = rng.bits(16);
            dut.set(learn, u64::from(learns));
            dut.set(learn_rtt, rtt);
            dut.clock();
            if let Some(due) = due {
                assert_eq!(dut.sampled(known), due);
            }
            due = Some(held);
            if learns {
                held = rtt;
            }
        }
    });
}

/// TX-9: whether packets of a slot are on their way, and when the last one left, is right in
/// the clocks in which they leave too.
//= TX-9 test
#[test]
fn a_slot_is_asked_about_while_its_packets_leave() {
    const SMALL: Config = Config { tx_slots_log2: 3, ..NIC512 };
    // Clocks after which an answer knows of what was said of a slot. What has landed waits while
    // packets set out, which one clock in ten does.
    const KNOWN: usize = 24;
    let design = tessera_testbenches::design("flight", || Flight::new(SMALL.tx_slots_log2));
    tb::run("tx_tables::flight", &design, |dut, rng| {
        let port = |name: &str| dut.port(name).unwrap();
        let [rst, clear, clear_slot, op_slot, op_up] =
            ["rst", "clear", "clear_slot", "op_slot", "op_up"].map(port);
        let [op_end, op_down, landed, landed_slot] = ["op_end", "op_down", "landed", "landed_slot"].map(port);
        let [now, query, in_flight, landed_at] = ["now", "query_slot", "in_flight", "landed_at"].map(port);
        for port in [clear, op_slot, op_up, op_end, op_down, landed, landed_slot, now, query] {
            dut.set(port, 0u64);
        }
        dut.reset(rst, 2);
        dut.set(clear, 1u64);
        for slot in 0..8u64 {
            dut.set(clear_slot, slot);
            dut.clock();
        }
        dut.set(clear, 0u64);
        let mut counts = [0u64; 8];
        // Whether any were on their way, and when one landed last, clock by clock.
        let mut past: VecDeque<[bool; 8]> = VecDeque::new();
        let mut lands: [VecDeque<u64>; 8] = Default::default();
        // An answer comes two clocks after its question.
        let mut asked: VecDeque<usize> = VecDeque::new();
        let (mut judged, mut times) = ([0; 2], 0);
        for clock in 1..60_000u64 {
            let up = rng.chance(0.1).then(|| rng.below(2));
            let down = rng.chance(0.15).then(|| rng.below(2)).filter(|slot| counts[*slot as usize] > 0);
            dut.set(op_up, u64::from(up.is_some()));
            dut.set(op_slot, up.unwrap_or(0));
            dut.set(landed, u64::from(down.is_some()));
            dut.set(landed_slot, down.unwrap_or(0));
            dut.set(now, clock & 0xFF_FFFF);
            let slot = rng.below(2);
            dut.set(query, slot);
            dut.clock();
            asked.push_back(slot as usize);
            if asked.len() > 2 {
                let slot = asked.pop_front().expect("there are three");
                let settled = past.len() == KNOWN && past.iter().all(|was| was[slot] == past[0][slot]);
                if settled {
                    let flies = dut.sampled(in_flight) == 1;
                    assert_eq!(flies, past[0][slot], "clock {clock}, slot {slot}");
                    judged[usize::from(flies)] += 1;
                }
                // It is stored a while after it was said: one of the last few clocks. While others are on
                // their way it means nothing.
                let at = dut.sampled(landed_at);
                if settled && !past[0][slot] && lands[slot].len() > 20 {
                    assert!(at < clock && lands[slot][0] <= at, "clock {clock}, slot {slot}: {at}");
                    times += 1;
                }
            }
            if let Some(slot) = up {
                counts[slot as usize] += 1;
            }
            if let Some(slot) = down {
                counts[slot as usize] -= 1;
                lands[slot as usize].push_back(clock);
                if lands[slot as usize].len() > 40 {
                    lands[slot as usize].pop_front();
                }
            }
            past.push_back(counts.map(|count| count > 0));
            if past.len() > KNOWN {
                past.pop_front();
            }
        }
        assert!(judged.iter().all(|&times| times > 500) && times > 5_000, "{judged:?} {times}");
    });
}
