//! Random walks.

use crate::bench::{design, Bench, SMALL};
use std::collections::{BTreeMap, BTreeSet};
use tessera_abi::params::NIC512;
use tessera_sim::tb::{self, Pattern, Rng};
use tessera_sim::verilator::Dut;

/// Random walks over few keys. Whatever merges with what in which clock:
/// nothing leaves that was not asked for, nothing more often than asked for,
/// everything at least once after it was asked for last; every walk ends.
#[test]
fn nothing_is_lost_or_invented() {
    for (i, (idle, stall)) in Pattern::matrix().enumerate() {
        let config = if i % 2 == 0 { &SMALL } else { &NIC512 };
        let top = if i % 2 == 0 { "retransmit_queue_small" } else { "retransmit_queue" };
        tb::run(&format!("retransmit_random {idle:?} {stall:?}"), &design(top, config), |dut, rng| {
            random(dut, rng, idle, stall);
        });
    }
}

/// How often a packet was asked for and sent, and by which walks since then.
#[derive(Default)]
struct Ledger {
    asked: u64,
    sent: u64,
    open: Vec<usize>,
}

fn random(dut: &mut Dut, rng: &mut Rng, idle: Pattern, stall: Pattern) {
    let mut bench = Bench::new(dut, idle, stall, rng);
    let mut ledger: BTreeMap<(u64, u64), Ledger> = BTreeMap::new();
    let mut walks: Vec<Vec<(u64, u64)>> = Vec::new();
    let mut running: BTreeSet<(u64, u64)> = BTreeSet::new();
    let mut refused = 0;
    let (mut clock, mut last_step) = (0u64, 0);
    while clock < 16_000 || clock < last_step + 300 {
        clock += 1;
        if clock < 16_000 && bench.walks.pending() == 0 && rng.chance(0.3) {
            let (slot, base) = (rng.below(7), 256 * rng.below(2));
            let mut part = [0u64; 4];
            let density = rng.below(3);
            for word in &mut part {
                let few = rng.next_u64() & rng.next_u64() & rng.next_u64() & rng.next_u64();
                *word = [0, few, few | rng.next_u64() & rng.next_u64()][density as usize];
            }
            if part == [0; 4] {
                part[rng.below(4) as usize] = 1 << rng.below(64);
            }
            bench.offer(slot, 5, base, part);
            let mut asked = Vec::new();
            for bit in (0..256).filter(|bit| part[bit / 64] >> (bit % 64) & 1 == 1) {
                let packet = (slot, base + bit as u64);
                let entry = ledger.entry(packet).or_default();
                entry.asked += 1;
                entry.open.push(walks.len());
                asked.push(packet);
            }
            walks.push(asked);
        }
        let taken = bench.walks.sent();
        bench.clock(dut);
        if bench.refusals > refused {
            refused = bench.refusals;
            // The next walk is taken no sooner than this one's fate is known.
            let walk = taken as usize - 1;
            for packet in &walks[walk] {
                let entry = ledger.get_mut(packet).unwrap();
                entry.asked -= 1;
                entry.open.retain(|&open| open != walk);
            }
        }
        while let Some((_, step)) = bench.step() {
            last_step = clock;
            let block = (step.slot, step.index & !255);
            if step.done {
                running.remove(&block);
            } else {
                running.insert(block);
            }
            let entry = ledger.get_mut(&(step.slot, step.index)).expect("asked for");
            entry.sent += 1;
            entry.open.clear();
            assert!(entry.sent <= entry.asked, "{step:?} was sent more often than asked for");
        }
    }
    assert!(walks.len() > 30, "{} walks", walks.len());
    assert_eq!(bench.walks.pending(), 0);
    assert!(running.is_empty(), "walks that did not end: {running:?}");
    let open: Vec<_> =
        ledger.iter().filter(|(_, entry)| !entry.open.is_empty()).map(|(key, _)| key).collect();
    assert!(open.is_empty(), "never sent after they were asked for: {open:?}");
}
