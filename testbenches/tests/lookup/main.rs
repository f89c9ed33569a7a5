//! `rx::Lookup`: rules RO-1 to RO-8 against an independent reference.

mod bench;
mod hashes;
mod opening;
mod record;
mod reference;
mod tombstones;
mod waits;

use std::cell::RefCell;
use std::collections::BTreeMap;

use bench::{design, Bench, BY_ITSELF, SMALL, TIGHT, WIDE};
use reference::{Held, Posted};
use tessera_abi::params::{Config, NIC512};
use tessera_abi::status::Status;
use tessera_abi::wire::{fb, flag};
use tessera_rtl::rx::Lookup;
use tessera_sim::tb::{self, Pattern, Rng};
use tessera_sim::verilator::{BuildOptions, Dut, Model};

const ALWAYS: [Pattern; 3] = [Pattern::Always; 3];
const TIME_WAIT: u64 = 5000;
const KEY: (u128, u128, u128) = (0xffff_0a00_0001, 0x12_3456, 0x789);
/// Shortly before time wraps.
const START: u64 = 0xffff_f000;

fn small<'a>(dut: &'a mut Dut, rng: &mut Rng) -> Bench<'a> {
    Bench::new(dut, &SMALL, TIME_WAIT, START, ALWAYS, rng)
}

fn post_all(bench: &mut Bench, count: u16) {
    for endpoint in 0..4 {
        for entry in 0..count {
            let address = u64::from(entry) << 20 | u64::from(endpoint);
            bench.post(endpoint, Posted { address, length: 1 << 20, entry, area: None });
        }
    }
}

/// One packet, alone; returns the event it counts as.
fn one(bench: &mut Bench, generation: u32, flags: u8, rng: &mut Rng) -> Option<&'static str> {
    let packet = bench.some_packet(KEY, generation, flags, rng);
    bench.offer(packet);
    bench.settle();
    bench.last.event
}

#[test]
fn ro_6_back_to_back_first_packets_open_once() {
    tb::run("lookup::first", &design("lookup", &SMALL), |dut, rng| {
        let mut bench = small(dut, rng);
        post_all(&mut bench, 8);
        for message in 0..8 {
            for _ in 0..5 {
                let packet = bench.some_packet((1, 2, message), 9, 0, rng);
                bench.offer(packet);
            }
        }
        bench.settle();
        assert_eq!(bench.reference.events["opened"], 8);
        assert_eq!(bench.reference.free.len(), 8);
    });
}

#[test]
fn conflicts_are_refused_and_lose_nobody() {
    tb::run("lookup::conflict", &design("lookup_tight", &TIGHT), |dut, rng| {
        for round in 0..20 {
            let mut bench = Bench::new(dut, &TIGHT, TIME_WAIT, START, ALWAYS, rng);
            post_all(&mut bench, 100);
            let keys: Vec<_> = (0..40)
                .map(|slot| (u128::from(rng.next_u64()), u128::from(rng.below(1 << 24)), slot + round))
                .collect();
            for key in &keys {
                let packet = bench.some_packet(*key, 1, 0, rng);
                bench.offer(packet);
            }
            bench.settle();
            let opened = bench.reference.events["opened"];
            let conflicts = bench.reference.events["busy_conflict"];
            // Two sets of four ways in each table; the fewer-filled set first.
            assert_eq!(opened + conflicts, 40);
            assert!((12..=16).contains(&opened), "{opened} opened");
            // All that opened are found again, by all of their key.
            for key in &keys {
                for wrong in [
                    (key.0 ^ 1 << 127, key.1, key.2),
                    (key.0, key.1 ^ 1, key.2),
                    (key.0, key.1, key.2 ^ 1 << 11),
                ] {
                    let packet = bench.some_packet(wrong, 1, flag::EST, rng);
                    bench.offer(packet);
                }
                let packet = bench.some_packet(*key, 1, flag::EST, rng);
                bench.offer(packet);
            }
            bench.settle();
            assert_eq!(bench.reference.events["no_context"], 120 + conflicts);
        }
    });
}

/// Keys that share most of their bits, some of them all but one.
fn keys(count: u64, rng: &mut Rng) -> Vec<(u128, u128, u128)> {
    let base = (
        u128::from(rng.next_u64()) << 64 | u128::from(rng.next_u64()),
        rng.below(1 << 24),
        rng.below(1 << 12),
    );
    (0..count)
        .map(|i| match rng.below(4) {
            0 => (base.0 ^ 1 << rng.below(128), u128::from(base.1), u128::from(base.2)),
            1 => (base.0, u128::from(base.1 ^ 1 << rng.below(24)), u128::from(base.2)),
            2 => (base.0, u128::from(base.1), u128::from(i)),
            _ => (u128::from(rng.next_u64()), u128::from(rng.below(1 << 24)), u128::from(rng.below(1 << 12))),
        })
        .collect()
}

/// Random packets, posts and ends; how often what happened.
fn random(dut: &mut Dut, patterns: [Pattern; 3], rng: &mut Rng) -> BTreeMap<&'static str, u64> {
    let mut bench = Bench::new(dut, &SMALL, TIME_WAIT, START, patterns, rng);
    bench.releases(300, 1);
    // Two with a quota, two with one ring between them and a third endpoint.
    for (index, ring, quota) in [(0, 0, 5), (1, 1, 2), (2, 200, 0), (3, 200, 9)] {
        bench.tenant(index, ring, quota);
    }
    // One that matches tags.
    bench.tags(0);
    bench.reference.tenants.insert(0, (0, 0));
    let keys = keys(50, rng);
    let mut generations: Vec<u32> = keys.iter().map(|_| rng.below(1 << 20) as u32).collect();
    // Contexts that were buried and whose number is still out.
    let mut held: Vec<u64> = Vec::new();
    let mut ending: Vec<u64> = Vec::new();
    let mut offered = 0;
    let mut entry = 0;
    while offered < 3000 {
        if bench.pending() < 3 {
            let i = rng.below(keys.len() as u64) as usize;
            let generation = match rng.below(20) {
                0 | 1 => {
                    generations[i] = generations[i].wrapping_add(1 + rng.below(3) as u32) & 0xf_ffff;
                    generations[i]
                }
                2 => generations[i].wrapping_sub(1 + rng.below(1 << 18) as u32) & 0xf_ffff,
                3 => rng.below(1 << 20) as u32,
                _ => generations[i],
            };
            let est = if rng.chance(0.2) { flag::EST } else { 0 };
            let flags = est | (rng.next_u64() as u8 & !flag::EST);
            let mut packet = bench.some_packet(keys[i], generation, flags, rng);
            if rng.chance(0.08) {
                packet = bench.some_release(keys[i], generation, rng);
            } else if flags & flag::WRITE != 0 && rng.chance(0.2) {
                packet.set("denied", 1);
            } else if rng.chance(0.1) {
                packet.set("ud", 1);
                packet.set("flags", u128::from(flags & flag::IMM));
                packet.set("payload_len", u128::from(40 + rng.below(4097)));
            }
            bench.offer(packet);
            offered += 1;
        }
        if bench.clock() {
            // The ring, the blocks and the ends move between packets.
            if rng.chance(0.36) {
                let short = *rng.pick(&[1 << 12, 1 << 20]);
                let area = rng.chance(0.3).then(|| (rng.below(6) as u8, rng.below(9) as u8));
                let least = area.map_or(0, |(_, k)| 64 << k);
                let length = if rng.chance(0.15) { least + rng.below(short) } else { 1 << 20 } as u32;
                let ring = *rng.pick(&[0, 1, 200, 200]);
                bench.post(ring, Posted { address: rng.next_u64(), length, entry, area });
                entry = entry.wrapping_add(1);
            }
            bench.reference.block_available = rng.chance(0.95);
        }
        // Mostly there in time; at times given up.
        if bench.late == 0 && rng.chance(0.02) {
            bench.late = if rng.chance(0.1) { 150 } else { rng.below(8) };
        }
        if rng.chance(0.01) {
            let length = if rng.chance(0.1) { rng.below(1 << 20) } else { 1 << 20 } as u32;
            bench.post_tagged(
                0,
                rng.below(3) << 40,
                Posted { address: rng.next_u64(), length, entry, area: None },
            );
            entry = entry.wrapping_add(1);
        }
        if bench.retiring() == 0 {
            ending.clear();
        }
        if rng.chance(0.03) {
            let contexts = bench.contexts();
            if let Some((context, away)) = contexts.get(rng.below(contexts.len().max(1) as u64) as usize) {
                if !ending.contains(context) {
                    let status =
                        if *away { *rng.pick(&[4, Status::Released as u8]) } else { rng.below(6) as u8 };
                    let free = rng.chance(0.5);
                    bench.retire(*context, true, status, free);
                    ending.push(*context);
                    if !free {
                        held.push(*context);
                    }
                }
            }
        }
        if rng.chance(0.02) && bench.retiring() == 0 {
            if let Some(context) = held.pop() {
                bench.retire(context, false, 0, true);
            }
        }
        if rng.chance(0.0005) {
            bench.expire(SMALL.table_sets_log2);
        }
    }
    bench.settle();
    // Everything comes back.
    for (context, _) in bench.reference.contexts() {
        bench.retire(context, true, 0, true);
    }
    for context in held {
        bench.retire(context, false, 0, true);
    }
    bench.expire(SMALL.table_sets_log2);
    assert_eq!(bench.reference.free.len(), 16);
    assert_eq!(bench.tombstones(), 0);
    std::mem::take(&mut bench.reference.events)
}

#[test]
fn random_packets_match_the_reference() {
    let design = design("lookup", &SMALL);
    let events = RefCell::new(BTreeMap::new());
    for (idle, stall) in Pattern::matrix() {
        tb::run(&format!("lookup::random {idle:?} {stall:?}"), &design, |dut, rng| {
            for (event, count) in random(dut, [idle, stall, Pattern::Random(0.3)], rng) {
                *events.borrow_mut().entry(event).or_insert(0) += count;
            }
        });
    }
    // Conflicts are rare here and have a test of their own.
    for (event, count) in events.borrow().iter().filter(|(event, _)| **event != "busy_conflict") {
        assert!(*count > 0, "{event} never happened: {:?}", events.borrow());
    }
}

#[test]
fn four_clocks_per_packet() {
    tb::run("lookup::rate", &design("lookup", &SMALL), |dut, rng| {
        let mut bench = small(dut, rng);
        post_all(&mut bench, 16);
        for slot in 0..12 {
            let packet = bench.some_packet((8, 8, slot), 3, 0, rng);
            bench.offer(packet);
        }
        bench.settle();
        let opening = bench.taken_at[11] - bench.taken_at[0];
        println!("12 openings: {} clocks from the first to the last", opening);
        // A sweep step of four clocks comes at least once in 64.
        assert!(opening <= 11 * 4 + 2 * 4, "{opening} clocks");
        assert_eq!(bench.reference.events["opened"], 12);
        bench.taken_at.clear();
        for i in 0..1000 {
            let mut packet = bench.some_packet((8, 8, i % 12), 3, 0, rng);
            packet.set("payload_len", 64);
            bench.offer(packet);
        }
        bench.settle();
        let hits = bench.taken_at[999] - bench.taken_at[0];
        println!("1000 hits: {hits} clocks from the first to the last");
        assert!(hits <= 999 * 43 / 10, "{hits} clocks");
        assert!(matches!(bench.reference.entry((8, 8, 0)).unwrap().held, Held::Context { .. }));
    });
}

#[test]
fn the_full_size_elaborates_and_clears() {
    let design = tessera_testbenches::design("lookup_nic512", || Lookup::new(&NIC512));
    let model = Model::build(&design, &BuildOptions::hurried()).unwrap();
    let mut dut = model.instance().unwrap();
    let [rst, ready, free] = ["rst", "ready", "free_contexts"].map(|name| dut.port(name).unwrap());
    dut.set(rst, 1u64);
    dut.clock();
    dut.set(rst, 0u64);
    let start = dut.cycles();
    while dut.sampled(ready) == 0 {
        dut.clock();
        assert!(dut.cycles() < start + (1 << NIC512.table_sets_log2) + 8);
    }
    assert_eq!(dut.sampled(free), 1 << NIC512.rx_contexts_log2);
}
