//! Rings that begin anew, fail, or are not read at all.

use crate::bench::{any, design, plain, Bench, KEY};
use tessera_rtl::host::registers::DOORBELL_KIND_SQ;
use tessera_sim::tb::{self, Pattern};

#[test]
fn a_failed_ring_read_refuses_exactly_its_entries() {
    tb::run("sq_fetch::dma_error", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        bench.key(KEY);
        bench.endpoint(5, 0x10_0000, 5, true);
        bench.drain(100);
        // Reads of a ring of 32 posted at once: 8 entries each. The second fails.
        bench.memory.borrow_mut().poisoned.push(0x10_0000 + 9 * 128..0x10_0000 + 9 * 128 + 1);
        for i in 0..32 {
            let entry = plain(rng);
            bench.post(5, entry, (8..16).contains(&i));
        }
        bench.ring(5);
        bench.drain(2000);
        assert_eq!(bench.dma.log.len(), 4);
    });
}

#[test]
fn writing_the_table_entry_forgets_what_was_read() {
    let design = design();
    tb::run("sq_fetch::rewrite", &design, |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Random(0.3), rng);
        bench.dma.latency = 1..60;
        bench.key(KEY);
        bench.endpoint(6, 0x10_0000, 4, true);
        bench.endpoint(7, 0x20_0000, 4, true);
        for round in 0..400u64 {
            for index in [6, 7] {
                for _ in 0..rng.below(1 + bench.room(index) as u64) {
                    let entry = any(rng);
                    bench.post(index, entry, false);
                }
                bench.ring(index);
            }
            for _ in 0..rng.below(150) {
                bench.clock();
            }
            // Broadcasts still queued belong to the old life.
            while bench.host.pending() > 0 {
                bench.clock();
            }
            let held: Vec<_> = bench.rings[&6].due.iter().map(|(i, entry, _)| (*i, entry.clone())).collect();
            bench.endpoint(6, 0x10_0000 + 0x1_0000 * (round % 7), rng.range(1..5) as u8, true);
            // At most the entry that stands at the output still comes; the
            // reference takes it as the first of its list.
            let fresh = std::mem::take(&mut bench.rings.get_mut(&6).unwrap().due);
            assert!(fresh.is_empty());
            let mut late = 0;
            bench.rings.get_mut(&6).unwrap().due = held.into_iter().map(|(i, e)| (i, e, false)).collect();
            let before = bench.rings[&6].due.len();
            while bench.host.pending() > 0 {
                bench.clock();
            }
            let until_write = before - bench.rings[&6].due.len();
            for _ in 0..30 {
                bench.clock();
            }
            late += before - until_write - bench.rings[&6].due.len();
            assert!(late <= 2, "{late} entries of the old ring came after the write");
            let ring = bench.rings.get_mut(&6).unwrap();
            ring.due.clear();
            ring.posted = 0;
            // What was in flight must not come out later either.
            for _ in 0..80 {
                bench.clock();
            }
        }
        bench.drain(3000);
        assert!(bench.seen.iter().filter(|(_, index)| *index == 7).count() > 1000);
    });
}

/// A visit takes five clocks from looking up head and tail, of which the first may be that before it begins, to
/// asking for the entries and moving the head: a table write beside any of them starts the ring at index 0 all the
/// same, of the endpoint visited and of no other.
#[test]
fn a_table_write_beside_any_clock_of_a_visit_starts_the_ring_over() {
    tb::run("sq_fetch::beside", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        // What is read of the old ring comes back behind the write.
        bench.dma.latency = 60..61;
        bench.key(KEY);
        let enable = bench.dut.port("settings.enable").unwrap();
        let settle = |bench: &mut Bench, clocks: u64| {
            while bench.host.pending() > 0 {
                bench.clock();
            }
            for _ in 0..clocks {
                bench.clock();
            }
        };
        let phases = (0..16).flat_map(|phase| [(phase, 6), (phase, 7)]);
        for (first, phase, index) in [true, false]
            .into_iter()
            .flat_map(|first| phases.clone().map(move |(phase, index)| (first, phase, index)))
        {
            bench.endpoint(6, 0x10_0000, 4, true);
            bench.endpoint(7, 0x20_0000, 4, true);
            // No visit before the doorbell and the queue behind it are done.
            settle(&mut bench, 10);
            bench.dut.set(enable, 0u64);
            for _ in 0..5 {
                let entry = plain(rng);
                bench.post(6, entry, false);
            }
            bench.ring(6);
            settle(&mut bench, 10);
            // The visit begins as soon as the NIC is enabled: so many clocks before the write, or behind it.
            if first {
                bench.dut.set(enable, 1u64);
            } else {
                bench.endpoint(index, 0x30_0000, 4, true);
            }
            for _ in 0..phase {
                bench.clock();
            }
            if first {
                bench.endpoint(index, 0x30_0000, 4, true);
            } else {
                bench.dut.set(enable, 1u64);
            }
            settle(&mut bench, 200);
            let left = bench.rings[&6].due.len();
            assert_eq!(
                left, 0,
                "{left} entries are missing with a write of {index} at clock {phase}, visit first: {first}"
            );
            for _ in 0..3 {
                let entry = plain(rng);
                bench.post(6, entry, false);
            }
            bench.ring(6);
            bench.drain(300);
        }
    });
}

#[test]
fn an_endpoint_that_may_not_send_is_not_read() {
    tb::run("sq_fetch::disabled", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        bench.key(KEY);
        bench.endpoint(6, 0x10_0000, 4, false);
        bench.host.ring(DOORBELL_KIND_SQ, 6, 5);
        bench.host.ring(DOORBELL_KIND_SQ, 7, 5);
        // A receive queue's doorbell means nothing here.
        bench.host.ring(DOORBELL_KIND_SQ + 1, 8, 5);
        bench.endpoint(8, 0x30_0000, 4, true);
        for _ in 0..300 {
            bench.clock();
        }
        assert!(bench.dma.log.is_empty());
        // Written anew, it starts at index 0.
        bench.endpoint(6, 0x10_0000, 4, true);
        let entry = plain(rng);
        bench.post(6, entry, false);
        bench.ring(6);
        bench.drain(300);
    });
}
