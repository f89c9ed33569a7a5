//! `host::RqFetch`: what it offers of posted receives, and at what pace.

mod bench;

use bench::{any, design, designs, plain, verdict, Bench, Recv, BASE, FOREIGN, LENGTH, READ_ONLY, WRITABLE};
use tessera_abi::params::NIC512;
use tessera_abi::queue;
use tessera_abi::regs::endpoint;
use tessera_abi::status::Status;
use tessera_sim::tb::{self, Pattern};

#[test]
fn every_entry_is_offered_in_order_or_refused() {
    let designs = designs();
    for ((idle, stall), design) in Pattern::matrix_of(&designs) {
        tb::run(&format!("rq_fetch::random {idle:?} {stall:?}"), design, |dut, rng| {
            let mut bench = Bench::new(dut, idle, stall, rng);
            bench.dma.latency = rng.pick(&[1..2, 1..20, 100..300]).clone();
            bench.asker.haste = *rng.pick(&[0.1, 0.5, 1.0]);
            let mut used = Vec::new();
            for i in 0..8u64 {
                let index = (i * 32 + rng.below(32)) as u8;
                let (base, log2) = (0x10_0000 * (i + 1) + 32 * rng.below(64), rng.range(1..9) as u8);
                let kind = if i % 2 == 0 { endpoint::VALID } else { endpoint::RING };
                bench.entry(index, kind, base, log2);
                used.push(index);
            }
            bench.asker.endpoints = used.clone();
            for _ in 0..300 {
                let index = *rng.pick(&used);
                for _ in 0..rng.below(bench.room(index) + 1) {
                    let entry = any(rng);
                    bench.post(index, entry, false);
                    // One by one, doorbells meet the visit of their endpoint.
                    if rng.chance(0.5) {
                        bench.ring(index);
                    }
                }
                bench.ring(index);
                for _ in 0..rng.below(100) {
                    bench.clock();
                }
            }
            bench.asker.take = 1.0;
            bench.drain(200_000);
            // All is consumed: every endpoint must now answer "none".
            let before = bench.offered;
            for _ in 0..2000 {
                bench.clock();
            }
            assert_eq!(bench.offered, before);
            // Rings of two entries make it few.
            assert!(bench.passed > 10, "{} tagged", bench.passed);
            assert!(bench.dma.is_idle());
        });
    }
}

#[test]
fn only_endpoints_and_shared_rings_are_read() {
    tb::run("rq_fetch::ring", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        for (index, kind, reads) in
            [(9, endpoint::SHARES, false), (10, endpoint::RING, true), (11, endpoint::SEND_ENABLE, false)]
        {
            bench.entry(index, kind, 0x10_0000, 4);
            let entry = plain(rng);
            bench.post(index, entry, false);
            bench.ring(index);
            bench.asker.endpoints = vec![index];
            bench.asker.take = 1.0;
            let before = bench.dma.log.len();
            for _ in 0..400 {
                bench.clock();
            }
            assert_eq!(bench.dma.log.len() > before, reads, "entry with bit {}", kind.0);
            assert_eq!(bench.rings[&index].due.is_empty(), reads);
        }
    });
}

#[test]
fn refusals_have_their_reason() {
    tb::run("rq_fetch::refusals", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        bench.endpoint(4, 0x1000, 6);
        bench.asker.endpoints = vec![4];
        bench.asker.take = 1.0;
        let good = Recv { address: BASE, length: LENGTH as u32, lkey: WRITABLE, tagged: None, area: None };
        let cases = [
            (good.clone(), Status::Success),
            (Recv { lkey: READ_ONLY, ..good.clone() }, Status::LocalProtection),
            (Recv { lkey: FOREIGN, ..good.clone() }, Status::LocalProtection),
            (Recv { lkey: WRITABLE ^ 1, ..good.clone() }, Status::LocalProtection),
            (Recv { lkey: WRITABLE ^ 1 << 8, ..good.clone() }, Status::LocalProtection),
            (Recv { length: LENGTH as u32 + 1, ..good.clone() }, Status::LocalProtection),
            (Recv { address: BASE - 1, length: 1, ..good.clone() }, Status::LocalProtection),
            (Recv { address: BASE + LENGTH - 1, length: 1, ..good.clone() }, Status::Success),
            (Recv { address: BASE + LENGTH, length: 1, ..good.clone() }, Status::LocalProtection),
            (Recv { address: u64::MAX, length: 1, ..good.clone() }, Status::LocalProtection),
            (Recv { address: 0, length: 0, lkey: 0, tagged: None, area: None }, Status::Success),
        ];
        let area = Recv { area: Some((5, 3)), length: 512, ..good.clone() };
        let areas = [
            (area.clone(), Status::Success),
            (Recv { length: 511, ..area.clone() }, Status::BadRequest),
            (Recv { address: BASE + 32, ..area.clone() }, Status::BadRequest),
            (Recv { area: Some((6, 0)), ..area.clone() }, Status::BadRequest),
            (Recv { tagged: Some((queue::RECV_TAGGED, 1, 0, 0)), ..area.clone() }, Status::BadRequest),
            (Recv { lkey: READ_ONLY, length: 511, ..area }, Status::LocalProtection),
        ];
        for (entry, status) in cases.into_iter().chain(areas) {
            assert_eq!(verdict(&entry), status, "the reference on {entry:x?}");
            bench.post(4, entry, false);
        }
        bench.ring(4);
        bench.drain(2000);
        assert_eq!(bench.taken.len(), 4);
    });
}

#[test]
fn a_failed_ring_read_refuses_exactly_its_entries() {
    tb::run("rq_fetch::dma_error", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        bench.endpoint(5, 0x10_0000, 5);
        bench.asker.endpoints = vec![5];
        bench.memory.borrow_mut().poisoned.push(0x10_0000 + 9 * 32..0x10_0000 + 9 * 32 + 1);
        for i in 0..32 {
            let entry = Recv { tagged: None, area: None, ..any(rng) };
            bench.post(5, entry, (8..16).contains(&i));
        }
        bench.ring(5);
        bench.drain(3000);
        assert_eq!(bench.dma.log.len(), 4);
    });
}

#[test]
fn an_entry_on_its_way_is_told() {
    tb::run("rq_fetch::coming", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        bench.dma.latency = 100..101;
        bench.endpoint(3, 0x10_0000, 8);
        bench.asker.endpoints = vec![3];
        (bench.asker.take, bench.asker.haste) = (1.0, 1.0);
        for _ in 0..50 {
            bench.clock();
        }
        let (nothing, coming, there) = ((false, false), (false, true), (true, false));
        assert_eq!(bench.asker.told, [nothing]);
        let good = plain(rng);
        bench.post(3, good, false);
        bench.ring(3);
        bench.drain(1000);
        for _ in 0..50 {
            bench.clock();
        }
        assert_eq!(bench.asker.told, [nothing, coming, there, nothing]);
        // One that is refused came in vain.
        bench.asker.told.clear();
        let refused = Recv { address: BASE, length: 1, lkey: READ_ONLY, tagged: None, area: None };
        bench.post(3, refused, false);
        bench.ring(3);
        bench.drain(1000);
        for _ in 0..50 {
            bench.clock();
        }
        assert_eq!(bench.asker.told, [nothing, coming, nothing]);
    });
}

/// So many reads are in flight that none can be begun for a ring: what is posted there is on its way all the same.
#[test]
fn an_entry_that_waits_to_be_read_is_told() {
    tb::run("rq_fetch::unread", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        bench.dma.latency = 2000..2001;
        let others = 10..20u8;
        bench.endpoint(3, 0x10_0000, 8);
        for other in others.clone() {
            bench.endpoint(other, 0x20_0000 + 0x1_0000 * u64::from(other), 8);
        }
        bench.asker.endpoints = vec![3];
        (bench.asker.take, bench.asker.haste) = (1.0, 1.0);
        for other in others.clone() {
            for _ in 0..64 {
                let entry = plain(rng);
                bench.post(other, entry, false);
            }
            bench.ring(other);
        }
        for _ in 0..800 {
            bench.clock();
        }
        let reads = bench.dma.log.len();
        let (nothing, coming) = ((false, false), (false, true));
        assert_eq!(bench.asker.told, [nothing]);
        let entry = plain(rng);
        bench.post(3, entry, false);
        bench.ring(3);
        for _ in 0..200 {
            bench.clock();
        }
        assert_eq!(bench.dma.log.len(), reads, "there was room for a read");
        assert_eq!(bench.asker.told, [nothing, coming]);
        bench.asker.endpoints = others.chain([3]).collect();
        bench.drain(50_000);
    });
}

#[test]
fn no_more_is_prefetched_than_there_are_places() {
    tb::run("rq_fetch::places", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        bench.endpoint(255, 0x10_0000, 8);
        for _ in 0..256 {
            let entry = plain(rng);
            bench.post(255, entry, false);
        }
        bench.ring(255);
        for _ in 0..3000 {
            bench.clock();
        }
        let read: usize = bench.dma.log.iter().map(|(_, length)| length / 32).sum();
        assert_eq!(read, 1 << NIC512.rq_prefetch_log2);
        assert!(bench.dma.log.iter().all(|(_, length)| *length == 256), "reads of eight");
        bench.asker.endpoints = vec![255];
        bench.drain(20_000);
    });
}

/// Fewer places are free than entries are posted at once: those that take none are
/// read all the same.
//= TM-1
#[test]
fn tagged_entries_pass_where_one_place_is_free() {
    tb::run("rq_fetch::tagged_pass", &design(), |dut, rng| {
        let places = 1u64 << NIC512.rq_prefetch_log2;
        for free in [1, 2, 7, 8] {
            let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
            bench.tags = true;
            bench.endpoint(9, 0x10_0000, 8);
            for _ in 0..places - free {
                let entry = Recv { area: None, ..plain(rng) };
                bench.post(9, entry, false);
            }
            bench.ring(9);
            for _ in 0..3000 {
                bench.clock();
            }
            for handle in 0..8 {
                let tagged = Some((queue::RECV_TAGGED, rng.next_u64(), 0, handle));
                let entry = Recv { tagged, ..plain(rng) };
                bench.post(9, entry, false);
            }
            bench.ring(9);
            for _ in 0..3000 {
                bench.clock();
            }
            assert_eq!((bench.passed, bench.due()), (8, (places - free) as usize), "{free} places");
        }
    });
}

/// The pace at a DMA latency of 250 clocks.
#[test]
fn one_endpoint_sustains_a_consume_in_six_clocks() {
    tb::run("rq_fetch::rate", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        bench.dma.latency = 250..251;
        bench.endpoint(0, 0x10_0000, 12);
        for _ in 0..3000 {
            let entry = plain(rng);
            bench.post(0, entry, false);
        }
        bench.ring(0);
        bench.asker.endpoints = vec![0];
        (bench.asker.take, bench.asker.haste) = (1.0, 1.0);
        bench.drain(40_000);
        let clocks = bench.taken[2500].0 - bench.taken[500].0;
        assert!(clocks <= 6 * 2000, "2000 entries took {clocks} clocks");
    });
}

#[test]
fn the_running_index_wraps_at_sixteen_bits() {
    tb::run("rq_fetch::wrap", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        bench.dma.latency = 1..4;
        bench.endpoint(77, 0x10_0000, 9);
        bench.asker.endpoints = vec![77];
        (bench.asker.take, bench.asker.haste) = (1.0, 1.0);
        let mut posted = 0u64;
        while posted < 66_000 {
            while bench.room(77) > 0 {
                let entry = plain(rng);
                bench.post(77, entry, false);
                posted += 1;
            }
            bench.ring(77);
            for _ in 0..1000 {
                bench.clock();
            }
        }
        bench.drain(10_000);
        assert!(bench.rings[&77].posted < 4096, "the index did not wrap");
    });
}

#[test]
fn writing_the_table_entry_empties_the_places() {
    let design = design();
    // Tagged ones only where they are taken at once: the offer of one ends with its endpoint's entry.
    let [stalls, never] = [Pattern::Random(0.5), Pattern::Always];
    for (haste, stall, tags) in [(0.2, stalls, 0.0), (1.0, stalls, 0.0), (1.0, never, 0.6)] {
        tb::run(&format!("rq_fetch::rewrite {haste} {tags}"), &design, |dut, rng| {
            let mut bench = Bench::new(dut, Pattern::Always, stall, rng);
            bench.dma.latency = 1..60;
            bench.tags = true;
            (bench.asker.take, bench.asker.haste) = (0.7, haste);
            bench.endpoint(6, 0x10_0000, 4);
            bench.endpoint(7, 0x20_0000, 4);
            bench.asker.endpoints = vec![6, 6, 7];
            for round in 0..600u64 {
                for index in [6, 7] {
                    for _ in 0..rng.below(1 + bench.room(index)) {
                        // A tagged one, too, is none any more once its endpoint is written, however
                        // late before it is handed over.
                        let tagged = (queue::RECV_TAGGED, rng.next_u64(), 0, rng.below(8) as u16);
                        let tagged = rng.chance(tags).then_some(tagged);
                        bench.post(index, Recv { tagged, ..plain(rng) }, false);
                    }
                    bench.ring(index);
                }
                for _ in 0..rng.below(150) {
                    bench.clock();
                }
                while bench.host.pending() > 0 {
                    bench.clock();
                }
                bench.endpoint(6, 0x10_0000 + 0x1_0000 * (round % 7), rng.range(1..6) as u8);
            }
            bench.drain(5000);
            let count = |index| bench.taken.iter().filter(|(_, at)| *at == index).count();
            let (six, seven) = if tags > 0.0 { (40, 100) } else { (100, 300) };
            assert!(count(6) > six && count(7) > seven, "{} and {}", count(6), count(7));
        });
    }
}
