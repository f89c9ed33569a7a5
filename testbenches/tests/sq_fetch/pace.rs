//! How fast entries become requests, and that all endpoints have their turn.

use crate::bench::{design, plain, Bench, KEY};
use tessera_sim::tb::{self, Pattern};

/// Clocks from the last beat and status to the request, at best.
const LATENCY: u64 = 4;

/// Reads and work of the longest latency the block is built for.
fn far(bench: &mut Bench) {
    bench.dma.latency = 250..251;
}

#[test]
fn one_endpoint_sustains_an_entry_in_three_clocks() {
    tb::run("sq_fetch::rate", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        far(&mut bench);
        bench.key(KEY);
        bench.endpoint(1, 0x100_0000, 12, true);
        for _ in 0..3000 {
            let entry = plain(rng);
            bench.post(1, entry, false);
        }
        bench.ring(1);
        bench.drain(20_000);
        let clocks = bench.seen[2500].0 - bench.seen[500].0;
        assert!(clocks <= 3 * 2000 + 30, "2000 entries took {clocks} clocks");
    });
}

#[test]
fn single_entries_of_many_endpoints_sustain_one_in_four_clocks() {
    tb::run("sq_fetch::many", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        far(&mut bench);
        bench.key(KEY);
        for i in 0..=255u8 {
            bench.endpoint(i, 0x10_0000 * (u64::from(i) + 1), 4, true);
        }
        // The NIC is held back until every doorbell is rung, or the doorbells'
        // own pace would be measured.
        let enable = bench.dut.port("settings.enable").unwrap();
        bench.dut.set(enable, 0u64);
        for i in 0..=255u8 {
            let entry = plain(rng);
            bench.post(i, entry, false);
            bench.ring(i);
        }
        for _ in 0..3000 {
            bench.clock();
        }
        assert!(bench.dma.log.is_empty(), "a read while the NIC is disabled");
        bench.dut.set(enable, 1u64);
        bench.drain(5000);
        let clocks = bench.seen[255].0 - bench.seen[10].0;
        assert!(clocks <= 4 * 245 + 20, "245 entries took {clocks} clocks");
    });
}

#[test]
fn latency_from_the_status_to_the_request() {
    tb::run("sq_fetch::latency", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        bench.dma.latency = 30..31;
        bench.key(KEY);
        bench.endpoint(1, 0x1000, 4, true);
        bench.drain(100);
        let valid = bench.dut.port("read_status_valid").unwrap();
        let mut fastest = u64::MAX;
        for _ in 0..50 {
            let entry = plain(rng);
            bench.post(1, entry, false);
            bench.ring(1);
            let mut status = 0;
            while bench.due() > 0 {
                bench.clock();
                if bench.dut.sampled(valid) != 0 {
                    status = bench.dut.cycles();
                }
            }
            let request = bench.seen.last().unwrap().0;
            fastest = fastest.min(request - status);
        }
        assert_eq!(fastest, LATENCY);
    });
}

#[test]
fn a_busy_endpoint_does_not_keep_the_others_waiting() {
    tb::run("sq_fetch::turns", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        bench.dma.latency = 5..6;
        bench.key(KEY);
        bench.endpoint(1, 0x100_0000, 12, true);
        bench.endpoint(2, 0x200_0000, 4, true);
        for _ in 0..3000 {
            let entry = plain(rng);
            bench.post(1, entry, false);
        }
        bench.ring(1);
        for _ in 0..1000 {
            bench.clock();
        }
        let entry = plain(rng);
        bench.post(2, entry, false);
        bench.ring(2);
        let rung = bench.dut.cycles();
        bench.drain(20_000);
        let served = bench.seen.iter().find(|(_, index)| *index == 2).unwrap().0;
        // What was read before fills the beat FIFO: 128 entries of three clocks.
        assert!(served - rung < 128 * 3 + 60, "served after {} clocks", served - rung);
    });
}
