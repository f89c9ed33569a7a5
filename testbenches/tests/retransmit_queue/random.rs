//! Random walks.

use crate::bench::{bits, design, Bench, NEVER, SMALL};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use tessera_abi::params::NIC512;
use tessera_sim::tb::{self, Pattern, Rng, StreamMonitor};
use tessera_sim::verilator::Dut;

/// What is known of the queue while its output is stalled: walks of one or two sixteenths with a packet each.
#[derive(Default)]
struct Places {
    /// Slot and block of the step at the output, of the walk that runs and of those that wait, and how many
    /// sixteenths these have.
    held: Option<(u64, u64)>,
    running: Option<(u64, u64, u64)>,
    waiting: VecDeque<(u64, u64, u64)>,
}

impl Places {
    /// The step that can go to the output has gone there, and its walk to the tail if it has more and others wait.
    fn settle(&mut self) {
        self.running = self.running.or_else(|| self.waiting.pop_front());
        let (None, Some((slot, block, parts))) = (self.held, self.running) else { return };
        self.held = Some((slot, block));
        self.running = (parts > 1).then_some((slot, block, parts - 1));
        if !self.waiting.is_empty() {
            self.waiting.extend(self.running.take());
            self.running = self.waiting.pop_front();
        }
    }
}

/// TX-7, whichever places the walks of a slot lie in, and wherever they went when they had a turn.
//= TX-7 test
#[test]
fn a_quarter_is_counted_over_all_places() {
    for (top, config) in [("retransmit_queue_small", &SMALL), ("retransmit_queue", &NIC512)] {
        tb::run(&format!("retransmit_counted {top}"), &design(top, config), |dut, rng| {
            let places = 1usize << config.retransmit_entries_log2;
            let mut bench = Bench::new(dut, Pattern::Always, NEVER, rng);
            let mut inside = Places::default();
            let (mut block, mut refused) = (0, 0);
            for _ in 0..150 {
                // Few slots come to their quarters, many to the last place.
                let slots = 2 + rng.below(8);
                for _ in 0..rng.below(2 * places as u64) {
                    let (slot, parts) = (rng.below(slots), 1 + rng.below(2));
                    let low = rng.below(128);
                    bench.offer(slot, 1, 256 * block, bits(&[low, low + 100][..parts as usize]));
                    bench.clocks(dut, 16);
                    let own = inside.waiting.iter().filter(|walk| walk.0 == slot).count();
                    let used = inside.waiting.len() + usize::from(inside.running.is_some());
                    if used == places || own >= places / 4 {
                        refused += 1;
                    } else {
                        inside.waiting.push_back((slot, block, parts));
                        inside.settle();
                        inside.settle();
                    }
                    assert_eq!(bench.refusals, refused, "{own} of slot {slot} wait, {used} places");
                    block += 1;
                }
                bench.steps = StreamMonitor::new(dut, "step", Pattern::Always, rng).unwrap();
                bench.clocks(dut, rng.below(8 * places as u64));
                let gone = bench.all_steps();
                bench.steps = StreamMonitor::new(dut, "step", NEVER, rng).unwrap();
                bench.clocks(dut, 16);
                for step in gone {
                    assert_eq!(inside.held.take(), Some((step.slot, step.index / 256)));
                    inside.settle();
                }
            }
            assert!(refused > 20, "{refused} refused of {block}");
        });
    }
}

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
