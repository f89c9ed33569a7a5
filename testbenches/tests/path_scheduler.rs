//! `multipath::PathScheduler` against section 6 of the specification.

use tessera_abi::params::LFSR_MASK;
use tessera_rtl::multipath::PathScheduler;
use tessera_sim::tb::{self, Rng};
use tessera_sim::verilator::{Design, Dut};

fn design() -> Design {
    tessera_testbenches::design("path_scheduler", PathScheduler::new)
}

fn set(dut: &mut Dut, name: &str, value: u64) {
    let port = dut.port(name).unwrap();
    dut.set(port, value);
}

/// Enables the block with a policy, and lets the first value settle in.
fn enable(dut: &mut Dut, policy: u64, count: u64, base: u64, seed: u64) {
    for (name, value) in [
        ("rst", 1),
        ("take", 0),
        ("settings.enable", 0),
        ("settings.path_policy", policy),
        ("settings.path_count", count),
        ("settings.path_base", base),
        ("settings.seed", seed),
    ] {
        set(dut, name, value);
    }
    dut.clock_by(2);
    set(dut, "rst", 0);
    dut.clock_by(2);
    set(dut, "settings.enable", 1);
    dut.clock_by(2);
}

/// Uses the value on offer; at least one clock passes before the next.
fn take(dut: &mut Dut, pause: u64) -> u64 {
    set(dut, "take", 1);
    dut.clock();
    let ev = dut.sampled(dut.port("ev").unwrap());
    set(dut, "take", 0);
    dut.clock_by(1 + pause);
    ev
}

fn pause(rng: &mut Rng) -> u64 {
    *rng.pick(&[0, 0, 0, 1, 5])
}

fn drawn(lfsr: u32, count: u64) -> u64 {
    (u64::from(lfsr & 0xFFFF) * count) >> 16
}

fn step(lfsr: u32) -> u32 {
    (lfsr >> 1) ^ if lfsr & 1 == 1 { LFSR_MASK } else { 0 }
}

#[test]
fn every_policy_gives_its_sequence() {
    tb::run("path_scheduler::policies", &design(), |dut, rng| {
        for count in [1, 2, 3, 4, 7, 100, 255, 256] {
            let (base, seed) = (rng.bits(8), rng.bits(32).max(1));
            enable(dut, 0, count, base, seed);
            (0..20).for_each(|_| assert_eq!(take(dut, pause(rng)), base, "single"));
            enable(dut, 1, count, base, seed);
            let (mut lfsr, mut offset) = (seed as u32, 0);
            for turn in 0..5 * count {
                let k = (turn + offset) % count;
                assert_eq!(take(dut, pause(rng)), (base + k) % 256, "turn {turn} of {count}");
                if turn % count == count - 1 {
                    offset = drawn(lfsr, count);
                }
                lfsr = step(lfsr);
            }
            enable(dut, 2, count, base, seed);
            let mut lfsr = seed as u32;
            for _ in 0..500 {
                let k = drawn(lfsr, count);
                assert_eq!(take(dut, pause(rng)), (base + k) % 256, "random of {count}");
                lfsr = step(lfsr);
            }
        }
    });
}

/// Tries that are whole rounds apart do not keep to one path.
#[test]
fn a_period_of_rounds_visits_every_path() {
    tb::run("path_scheduler::period", &design(), |dut, rng| {
        for count in [2, 4, 5] {
            enable(dut, 1, count, 0, rng.bits(32).max(1));
            let mut seen = [0; 5];
            for _ in 0..100 {
                seen[take(dut, 0) as usize] += 1;
                (1..count).for_each(|_| {
                    take(dut, 0);
                });
            }
            assert!(seen.iter().take(count as usize).all(|&times| times > 5), "{seen:?} of {count}");
        }
    });
}

/// A seed of 0 would be the end of randomness; 1 is taken instead.
#[test]
fn a_seed_of_zero_does_not_stick() {
    tb::run("path_scheduler::zero", &design(), |dut, _| {
        enable(dut, 2, 256, 0, 0);
        let drawn: std::collections::BTreeSet<u64> = (0..200).map(|_| take(dut, 0)).collect();
        assert!(drawn.len() > 50, "{} values", drawn.len());
    });
}

/// The policy and its numbers may change at any time.
#[test]
fn settings_change_in_flight() {
    tb::run("path_scheduler::change", &design(), |dut, rng| {
        enable(dut, 1, 200, 10, 1);
        (0..150).for_each(|_| {
            take(dut, 0);
        });
        set(dut, "settings.path_count", 8);
        set(dut, "settings.path_base", 40);
        dut.clock_by(2);
        for _ in 0..100 {
            let ev = take(dut, pause(rng));
            assert!((40..48).contains(&ev), "{ev} is no path of the new set");
        }
        set(dut, "settings.path_policy", 0);
        dut.clock_by(2);
        assert_eq!(take(dut, 0), 40);
    });
}
