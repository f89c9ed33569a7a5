//! TX-15: entries of an endpoint under way, and those that stay in its ring.

use crate::bench::{any, design, plain, Bench, Send, KEY};
use std::collections::BTreeMap;
use tessera_sim::tb::{self, Pattern, Rng};

//= TX-15 test
#[test]
fn a_quota_holds_its_endpoint_and_nobody_else() {
    tb::run("sq_fetch::quota", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        bench.dma.latency = 100..101;
        bench.key(KEY);
        for (index, quota) in [(3, 3), (4, 0), (5, 11)] {
            bench.quota = quota;
            bench.endpoint(index, 0x10_0000 * (u64::from(index) + 1), 6, true);
        }
        for index in [3, 4, 5] {
            for _ in 0..40 {
                let entry = plain(rng);
                bench.post(index, entry, false);
            }
            bench.ring(index);
        }
        for _ in 0..3000 {
            bench.clock();
        }
        assert_eq!((bench.held[&3], bench.held[&4], bench.held[&5]), (3, 40, 11));
        // Each end lets one more in, as long as there are any.
        for step in 1..=37 {
            bench.end(3);
            for _ in 0..200 {
                bench.clock();
            }
            assert_eq!(bench.held[&3], 3, "after {step} ends");
            assert_eq!(bench.held[&5], 11, "another's end");
        }
        bench.end(3);
        for _ in 0..200 {
            bench.clock();
        }
        assert_eq!(bench.held[&3], 2, "there were forty");
        for _ in 0..29 {
            bench.end(5);
            for _ in 0..30 {
                bench.clock();
            }
        }
        bench.drain(3000);
        assert_eq!(bench.held[&5], 11);
    });
}

/// The bench holds every initial window to its share, at every payload size.
//= TX-15 test
#[test]
fn a_window_is_a_sixteenth_of_the_unasked_bytes_at_most() {
    tb::run("sq_fetch::quota_window", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        bench.key(KEY);
        for (index, quota) in [(3, 1), (4, 0), (255, u16::MAX)] {
            bench.quota = quota;
            bench.endpoint(index, 0x10_0000 * (u64::from(index) + 1), 6, true);
        }
        for bytes in [1 << 20, 0, 1 << 15, (1 << 16) - 1, 1 << 16, (1 << 20) - 1, 1 << 24, 0xFFFF_FFFF] {
            bench.limit(bytes);
            for payload_log2 in 8..13 {
                for (i, window) in [0, 1, 15, 16, 255].into_iter().enumerate() {
                    let index = [3, 4, 255][i % 3];
                    for index in [index, 3] {
                        let entry = Send { payload_log2, window, length: 1 << 16, ..plain(rng) };
                        let entry = Send { address: KEY.base, ..entry };
                        bench.post(index, entry, false);
                        bench.ring(index);
                        bench.drain(1000);
                        bench.end(index);
                    }
                }
            }
            for _ in 0..20 {
                bench.clock();
            }
        }
    });
}

//= TX-15 test
#[test]
fn what_is_refused_or_forgotten_is_not_held() {
    tb::run("sq_fetch::quota_back", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        bench.dma.latency = 200..201;
        bench.key(KEY);
        bench.quota = 4;
        bench.endpoint(7, 0x1000, 6, true);
        // Twelve that end as they are refused, then good ones.
        for _ in 0..12 {
            let entry = Send { opcode: 77, ..plain(rng) };
            bench.post(7, entry, false);
        }
        for _ in 0..6 {
            let entry = plain(rng);
            bench.post(7, entry, false);
        }
        bench.ring(7);
        for _ in 0..4000 {
            bench.clock();
        }
        assert_eq!((bench.held[&7], bench.due()), (4, 2));
        // A table write while reads are on their way: they are dropped, the four stay held.
        for _ in 0..3 {
            bench.end(7);
            for _ in 0..40 {
                bench.clock();
            }
            bench.quota = 6;
            bench.endpoint(7, 0x1000, 6, true);
            while bench.host.pending() > 0 {
                bench.clock();
            }
            for _ in 0..20 {
                let entry = plain(rng);
                bench.post(7, entry, false);
            }
            bench.ring(7);
            for _ in 0..2000 {
                bench.clock();
            }
            assert_eq!(bench.held[&7], 6);
        }
        // A quota below what is held takes nothing back and lets nothing in.
        bench.quota = 2;
        bench.endpoint(7, 0x1000, 6, true);
        for _ in 0..10 {
            let entry = plain(rng);
            bench.post(7, entry, false);
        }
        bench.ring(7);
        for expected in [5, 4, 3, 2, 2, 2] {
            bench.end(7);
            for _ in 0..800 {
                bench.clock();
            }
            assert_eq!(bench.held[&7], expected);
        }
    });
}

//= TX-15 test
#[test]
fn quotas_hold_whatever_comes() {
    let design = design();
    for (idle, stall) in [(Pattern::Always, Pattern::Always), (Pattern::Random(0.5), Pattern::Random(0.5))] {
        tb::run(&format!("sq_fetch::quotas {idle:?} {stall:?}"), &design, |dut, rng| {
            let mut bench = Bench::new(dut, idle, stall, rng);
            bench.dma.latency = 1..120;
            bench.key(KEY);
            let mut quotas = BTreeMap::new();
            for i in 0..10u8 {
                bench.quota = rng.below(5) as u16 * rng.range(1..4) as u16;
                bench.endpoint(i * 9, 0x10_0000 * (u64::from(i) + 1), 5, true);
                quotas.insert(i * 9, u64::from(bench.quota));
            }
            bench.drain(1000);
            let used: Vec<u8> = quotas.keys().copied().collect();
            let step = |bench: &mut Bench<'_>, rng: &mut Rng| {
                bench.clock();
                for (index, held) in bench.held.clone() {
                    assert!(quotas[&index] == 0 || held <= quotas[&index], "{index}: {held}");
                    if held > 0 && rng.chance(0.01) {
                        bench.end(index);
                    }
                }
            };
            for _ in 0..300 {
                let index = *rng.pick(&used);
                for _ in 0..rng.below(bench.room(index) as u64 + 1) {
                    let entry = any(rng);
                    bench.post(index, entry, false);
                }
                bench.ring(index);
                for _ in 0..rng.below(60) {
                    step(&mut bench, rng);
                }
            }
            for _ in 0..100_000 {
                if bench.due() == 0 {
                    break;
                }
                step(&mut bench, rng);
            }
            assert_eq!(bench.due(), 0, "entries are left in their rings");
        });
    }
}
