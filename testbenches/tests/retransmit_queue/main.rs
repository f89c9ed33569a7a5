//! `recovery::RetransmitQueue` against what was asked of it.

mod bench;
mod random;

use bench::{bits, design, steps, Bench, Step, NEVER, SMALL};
use tessera_abi::params::{Config, NIC512};
use tessera_sim::tb::{self, Pattern, StreamMonitor};
use tessera_sim::verilator::Dut;

/// TX-7: every bit of a walk leaves once, lowest first, one in two clocks.
#[test]
fn a_walk_leaves_in_order_at_a_step_in_two_clocks() {
    tb::run("retransmit_order", &design("retransmit_queue", &NIC512), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        let all: Vec<u64> = (0..256).collect();
        bench.offer(7, 0xABCDE, 0x12_3400, [u64::MAX; 4]);
        bench.clocks(dut, 600);
        let timed: Vec<(u64, Step)> = std::iter::from_fn(|| bench.step()).collect();
        assert_eq!(timed.iter().map(|t| t.1).collect::<Vec<_>>(), steps(7, 0xABCDE, 0x12_3400, &all));
        assert_eq!(timed[255].0 - timed[0].0, 2 * 255, "a step in two clocks");
        // One bit per sixteenth: the next sixteenth is fetched meanwhile.
        let sparse: Vec<u64> = (0..16).map(|i| 16 * i + (i * 5) % 16).collect();
        bench.offer(4095, 1, 0, bits(&sparse));
        bench.clocks(dut, 60);
        let timed: Vec<(u64, Step)> = std::iter::from_fn(|| bench.step()).collect();
        assert_eq!(timed.iter().map(|t| t.1).collect::<Vec<_>>(), steps(4095, 1, 0, &sparse));
        assert!(timed[15].0 - timed[0].0 <= 30, "at most two clocks per step");
    });
}

/// The contract's clocks from one walk to the next, and from a walk to its step.
#[test]
fn walks_of_one_packet_follow_each_other() {
    tb::run("retransmit_single", &design("retransmit_queue", &NIC512), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        bench.offer(1, 1, 0, bits(&[3]));
        let start = dut.cycles();
        bench.clocks(dut, 20);
        let (clock, _) = bench.step().unwrap();
        assert_eq!(clock - start, LATENCY, "from a walk offered to its step taken");
        for slot in 0..20 {
            bench.offer(slot, 1, 0, bits(&[slot]));
        }
        bench.clocks(dut, 200);
        let timed: Vec<(u64, Step)> = std::iter::from_fn(|| bench.step()).collect();
        assert_eq!(timed.iter().map(|t| t.1.slot).collect::<Vec<_>>(), (0..20).collect::<Vec<_>>());
        assert!(timed.iter().all(|t| t.1.done));
        let gaps: Vec<u64> = timed.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
        assert!(gaps.iter().all(|&gap| gap <= BETWEEN_WALKS), "{gaps:?}");
    });
}

/// How long a walk has to stay: as long as it has sixteenths, and no longer when it is refused.
#[test]
fn a_walk_is_taken_as_its_last_sixteenth_is() {
    tb::run("retransmit_taken", &design("retransmit_queue_small", &SMALL), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, NEVER, rng);
        let taken = |bench: &mut Bench, dut: &mut Dut, slot, list: &[u64]| {
            let (start, before) = (dut.cycles(), bench.walks.sent());
            bench.offer(slot, 1, 0, bits(list));
            while bench.walks.sent() == before && dut.cycles() < start + 40 {
                bench.clock(dut);
            }
            let clocks = dut.cycles() - start;
            bench.clocks(dut, 10);
            clocks
        };
        assert_eq!(taken(&mut bench, dut, 1, &[200]), 6);
        // It merges.
        assert_eq!(taken(&mut bench, dut, 1, &[0, 1, 16, 255]), 8);
        assert_eq!(taken(&mut bench, dut, 2, &(0..256).collect::<Vec<_>>()), 21);
        assert_eq!(taken(&mut bench, dut, 3, &[7]), 6);
        assert_eq!(taken(&mut bench, dut, 4, &[7]), 6);
        assert_eq!(bench.refusals, 0);
        assert_eq!(taken(&mut bench, dut, 5, &[7, 99]), 3);
        assert_eq!(taken(&mut bench, dut, 6, &[7]), 3);
        assert_eq!(bench.refusals, 2);
    });
}

/// Clocks from the first clock of a walk's offer to the edge its step moves at.
const LATENCY: u64 = 10;
/// Most clocks between the steps of two walks of one packet each.
const BETWEEN_WALKS: u64 = 6;
/// Most clocks without a step between two turns.
const BETWEEN_TURNS: u64 = 4;

/// One walk per (slot, block): the second one merges, wherever the first is.
#[test]
fn walks_of_one_block_merge() {
    tb::run("retransmit_merge", &design("retransmit_queue_small", &SMALL), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, NEVER, rng);
        // Running: its first step stands at the output, untaken.
        bench.offer(1, 9, 256, bits(&[2, 40, 200]));
        bench.clocks(dut, 12);
        // Waiting.
        bench.offer(2, 9, 256, bits(&[7]));
        bench.offer(1, 9, 512, bits(&[1]));
        bench.offer(2, 9, 256, bits(&[3, 255]));
        bench.offer(1, 9, 256, bits(&[41, 201]));
        bench.clocks(dut, 40);
        assert_eq!(bench.walks.sent(), 5);
        assert_eq!(bench.refusals, 0);
        bench.steps = StreamMonitor::new(dut, "step", Pattern::Always, rng).unwrap();
        bench.clocks(dut, 60);
        // The sixteenths in turns; that of 40 had been fetched before any other walk came.
        let step = |slot, index, done| Step { slot, generation: 9, index, done };
        let expected = [
            step(1, 256 + 2, false),
            step(1, 256 + 40, false),
            step(2, 256 + 3, false),
            step(2, 256 + 7, false),
            step(1, 512 + 1, true),
            step(1, 256 + 41, false),
            step(2, 256 + 255, true),
            step(1, 256 + 200, false),
            step(1, 256 + 201, true),
        ];
        assert_eq!(bench.all_steps(), expected);
    });
}

/// A walk comes as the one it is to merge with has its last step, in whichever clock: what it asks for
/// goes, once, and each walk ends.
#[test]
fn a_walk_meets_one_that_ends() {
    tb::run("retransmit_meets", &design("retransmit_queue_small", &SMALL), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, NEVER, rng);
        for generation in [9, 10] {
            for delay in 0..20 {
                bench.steps = StreamMonitor::new(dut, "step", NEVER, rng).unwrap();
                // The first step stands at the output, behind it the last waits.
                bench.offer(1, 9, 256, bits(&[2, 40]));
                bench.clocks(dut, 20);
                bench.offer(1, generation, 256, bits(&[40, 41, 200]));
                bench.clocks(dut, delay);
                bench.steps = StreamMonitor::new(dut, "step", Pattern::Always, rng).unwrap();
                bench.clocks(dut, 60);
                let all = bench.all_steps();
                let told = format!("delay {delay}, generation {generation}: {all:?}");
                let count = |index: u64| all.iter().filter(|step| step.index == 256 + index).count();
                assert_eq!((count(2), count(41), count(200)), (1, 1, 1), "{told}");
                assert!((1..=2).contains(&count(40)), "{told}");
                assert!(all.last().is_some_and(|step| step.done), "{told}");
                let new: Vec<_> = all.iter().filter(|step| step.index > 256 + 40).collect();
                assert!(new.iter().all(|step| step.generation == generation), "{told}");
            }
        }
    });
}

/// TX-8: a walk that is asked for anew before it can end keeps nobody waiting.
//= TX-8 test
#[test]
fn a_walk_without_end_lets_the_others_go() {
    tb::run("retransmit_endless", &design("retransmit_queue", &NIC512), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        let sixteen: Vec<u64> = (0..16).collect();
        for other in 2..12 {
            for round in 0..10 {
                bench.offer(1, 1, 0, bits(&sixteen));
                if round == 2 {
                    bench.offer(other, 1, 256, bits(&[other]));
                }
                bench.clocks(dut, 12);
            }
            let steps = bench.all_steps();
            let others: Vec<_> = steps.iter().filter(|step| step.slot != 1).collect();
            let step = Step { slot: other, generation: 1, index: 256 + other, done: true };
            assert_eq!(others, [&step], "beside {} steps of the endless one", steps.len());
            assert!(steps.len() > 40, "{} steps in 120 clocks", steps.len());
        }
    });
}

/// TX-8: of a walk at most sixteen packets go while another waits, and nothing is lost
/// where its rest goes back, into a full queue too; alone it goes on as it is.
//= TX-8 test
#[test]
fn walks_take_turns() {
    for (top, config) in [("retransmit_queue_small", &SMALL), ("retransmit_queue", &NIC512)] {
        tb::run("retransmit_turns", &design(top, config), |dut, rng| {
            let mut bench = Bench::new(dut, Pattern::Always, NEVER, rng);
            // The places are full, one of them with the walk that runs.
            let walks = 1u64 << config.retransmit_entries_log2;
            let all: Vec<u64> = (0..256).collect();
            for slot in 0..walks {
                bench.offer(slot, 1, 512, [u64::MAX; 4]);
                bench.clocks(dut, 24);
            }
            assert_eq!((dut.sampled(bench.full), bench.refusals), (1, 0));
            bench.steps = StreamMonitor::new(dut, "step", Pattern::Always, rng).unwrap();
            bench.clocks(dut, walks * 600);
            let timed: Vec<(u64, Step)> = std::iter::from_fn(|| bench.step()).collect();
            assert_eq!(timed.len() as u64, walks * 256);
            for slot in 0..walks {
                let own: Vec<Step> = timed.iter().map(|t| t.1).filter(|step| step.slot == slot).collect();
                assert_eq!(own, steps(slot, 1, 512, &all));
            }
            for (turn, sixteen) in timed.chunks(16).enumerate() {
                let slot = turn as u64 % walks;
                assert!(sixteen.iter().all(|t| t.1.slot == slot), "turn {turn} is not that of {slot}");
                assert_eq!(sixteen[15].0 - sixteen[0].0, 30, "a step in two clocks inside a turn");
            }
            let between: Vec<u64> = timed.chunks(16).map(|turn| turn[0].0).collect();
            assert!(between.windows(2).all(|pair| pair[1] - pair[0] <= 32 + BETWEEN_TURNS), "{between:?}");
        });
    }
}

/// TX-7: a slot has a quarter of the places, at least one; the others are there for the
/// others.
//= TX-7 test
#[test]
fn a_slot_has_a_quarter_of_the_places() {
    for log2 in [1, 2, 3, 5] {
        let config: &'static Config = match log2 {
            1 => &Config { retransmit_entries_log2: 1, ..NIC512 },
            2 => &SMALL,
            3 => &Config { retransmit_entries_log2: 3, ..NIC512 },
            _ => &NIC512,
        };
        let top = ["", "_two", "_small", "_eight", "", ""][log2];
        tb::run(
            &format!("retransmit_quarter_{log2}"),
            &design(&format!("retransmit_queue{top}"), config),
            |dut, rng| {
                let mut bench = Bench::new(dut, Pattern::Always, NEVER, rng);
                let (places, quarter) = (1u64 << log2, (1u64 << log2 >> 2).max(1));
                // One runs, as many as may wait do, and further ones are refused.
                for block in 0..places + 3 {
                    bench.offer(1, 1, 256 * block, bits(&[0, 77]));
                    bench.clocks(dut, 12);
                    assert_eq!(
                        bench.refusals,
                        (block).saturating_sub(quarter),
                        "block {block} of {places} places"
                    );
                }
                // What merges is none.
                let refused = bench.refusals;
                for block in 0..=quarter {
                    bench.offer(1, 1, 256 * block, bits(&[99]));
                    bench.clocks(dut, 12);
                }
                assert_eq!(bench.refusals, refused);
                // The other places are the others'.
                for slot in 0..places - quarter - 1 {
                    assert_eq!(dut.sampled(bench.full), 0);
                    bench.offer(2 + slot, 1, 0, bits(&[slot]));
                    bench.clocks(dut, 12);
                }
                assert_eq!((dut.sampled(bench.full), bench.refusals), (1, refused));
                bench.steps = StreamMonitor::new(dut, "step", Pattern::Always, rng).unwrap();
                bench.clocks(dut, 20 * places + 80);
                let all = bench.all_steps();
                assert_eq!(all.len() as u64, 3 * (quarter + 1) + places - quarter - 1);
                assert!(all.iter().all(|step| step.slot > 1 || step.index < 256 * (quarter + 1)));
                // And none of it is taken for ever.
                bench.offer(1, 1, 1024, bits(&[5]));
                bench.clocks(dut, 30);
                assert_eq!(bench.all_steps(), steps(1, 1, 1024, &[5]));
            },
        );
    }
}

/// A walk of the slot's next message takes the place of the dead one's.
#[test]
fn another_generation_replaces() {
    tb::run("retransmit_generation", &design("retransmit_queue_small", &SMALL), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, NEVER, rng);
        bench.offer(1, 9, 0, bits(&[2, 40, 41, 200]));
        bench.clocks(dut, 12);
        bench.offer(2, 9, 0, bits(&[5, 6]));
        bench.clocks(dut, 12);
        bench.offer(1, 10, 0, bits(&[77]));
        bench.offer(2, 10, 0, bits(&[8]));
        bench.clocks(dut, 40);
        bench.steps = StreamMonitor::new(dut, "step", Pattern::Always, rng).unwrap();
        bench.clocks(dut, 60);
        let mut expected = vec![Step { slot: 1, generation: 9, index: 2, done: false }];
        expected.extend(steps(1, 10, 0, &[77]));
        expected.extend(steps(2, 10, 0, &[8]));
        assert_eq!(bench.all_steps(), expected);
    });
}

/// Full: a walk that does not merge is refused, one that merges is not.
#[test]
fn full_refuses_what_does_not_merge() {
    tb::run("retransmit_full", &design("retransmit_queue_small", &SMALL), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, NEVER, rng);
        // One stands at the output, one runs, three wait.
        for slot in 0..5 {
            bench.offer(slot, 1, 0, bits(&[1]));
            bench.clocks(dut, 12);
        }
        assert_eq!(dut.sampled(bench.full), 1);
        assert_eq!(bench.refusals, 0);
        bench.offer(9, 1, 0, bits(&[1]));
        bench.offer(3, 1, 256, bits(&[1]));
        bench.clocks(dut, 20);
        assert_eq!(bench.refusals, 2);
        bench.offer(3, 1, 0, bits(&[9]));
        bench.clocks(dut, 20);
        assert_eq!(bench.refusals, 2, "it merges");
        for slot in 0..12u64 {
            dut.set(bench.query_slot, slot);
            bench.clocks(dut, 2);
            assert_eq!(dut.sampled(bench.query_queued), u64::from(slot < 5), "slot {slot}");
        }
        bench.steps = StreamMonitor::new(dut, "step", Pattern::Always, rng).unwrap();
        bench.clocks(dut, 80);
        let mut expected = Vec::new();
        for slot in 0..5 {
            expected.extend(steps(slot, 1, 0, if slot == 3 { &[1, 9] } else { &[1] }));
        }
        assert_eq!(bench.all_steps(), expected);
        assert_eq!(dut.sampled(bench.full), 0);
        for slot in 0..12u64 {
            dut.set(bench.query_slot, slot);
            bench.clocks(dut, 2);
            assert_eq!(dut.sampled(bench.query_queued), 0, "slot {slot}");
        }
    });
}

/// Every place of the full size: filled, found for merging and for the query,
/// told from other blocks and slots, and empty afterwards.
#[test]
fn every_place_of_the_full_size_is_found() {
    let places = 1u64 << NIC512.retransmit_entries_log2;
    tb::run("retransmit_places", &design("retransmit_queue", &NIC512), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, NEVER, rng);
        for round in 0..3u64 {
            let base = 256 * round;
            bench.steps = StreamMonitor::new(dut, "step", NEVER, rng).unwrap();
            // One stands at the output, one runs, the places are full.
            for slot in 0..places + 1 {
                bench.offer(slot, 1, base, bits(&[1]));
                bench.clocks(dut, 12);
            }
            assert_eq!((dut.sampled(bench.full), bench.refusals), (1, 0));
            for slot in 2..places + 1 {
                bench.offer(slot, 1, base, bits(&[9]));
                bench.clocks(dut, 12);
            }
            assert_eq!(bench.refusals, 0, "they merge");
            for slot in 2..places + 1 {
                bench.offer(slot, 1, base + 256, bits(&[1]));
                bench.offer(slot + 64, 1, base, bits(&[1]));
                bench.clocks(dut, 24);
            }
            assert_eq!(std::mem::take(&mut bench.refusals), 2 * (places - 1), "they do not");
            for slot in 0..2 * places {
                dut.set(bench.query_slot, slot);
                bench.clocks(dut, 2);
                assert_eq!(dut.sampled(bench.query_queued), u64::from(slot < places + 1), "slot {slot}");
            }
            bench.steps = StreamMonitor::new(dut, "step", Pattern::Always, rng).unwrap();
            bench.clocks(dut, 20 * places);
            let mut expected = Vec::new();
            for slot in 0..places + 1 {
                expected.extend(steps(slot, 1, base, if slot < 2 { &[1] } else { &[1, 9] }));
            }
            assert_eq!(bench.all_steps(), expected);
            for slot in 0..2 * places {
                dut.set(bench.query_slot, slot);
                bench.clocks(dut, 2);
                assert_eq!(dut.sampled(bench.query_queued), 0, "slot {slot}");
            }
            // Another place is the first one next time.
            for slot in 0..5 {
                bench.offer(slot, 1, 0, bits(&[0]));
            }
            bench.clocks(dut, 100);
            assert_eq!(bench.all_steps().len(), 5);
        }
    });
}
