//! Spec §7 on two and three NICs over a faulty network.

mod common;

use common::*;
use proptest::prelude::*;
use proptest::test_runner::{Config as RunConfig, RngAlgorithm, TestRng, TestRunner};
use tessera_abi::regs::Counter;
use tessera_model::Settings;

/// Longest a message may take: whatever the faults, every bound has passed.
fn end_of_time(settings: &Settings) -> u64 {
    ticks(
        4 * (settings.t_open as u64
            + settings.grant_wait as u64
            + settings.rx_give_up as u64
            + settings.time_wait as u64),
    )
}

fn runner(cases: u32) -> TestRunner {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed().to_le_bytes());
    let config = RunConfig { cases, failure_persistence: None, ..RunConfig::default() };
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
}

fn faults() -> impl Strategy<Value = Faults> {
    (
        prop_oneof![Just(0.0), Just(1e-3), Just(1e-2), Just(5e-2), Just(0.1)],
        prop_oneof![Just(1.0), Just(4.0), Just(12.0)],
        prop_oneof![Just((0.0, 1)), Just((0.05, 2)), Just((0.2, 16))],
        prop_oneof![Just(0.0), Just(0.01)],
        prop_oneof![
            Just(vec![800]),
            Just(vec![800, 900, 1000, 1500]),
            Just(vec![800, 8000, 2000, 5000, 900, 3000, 800, 1200])
        ],
        prop_oneof![Just(0), Just(400), Just(4000)],
        prop_oneof![Just(0.0), Just(0.05)],
        prop_oneof![Just(4u64), Just(16), Just(64)],
    )
        .prop_map(|(loss, burst, duplicate, corrupt, paths, jitter, mark, rate)| Faults {
            loss,
            burst,
            duplicate,
            corrupt,
            paths,
            jitter,
            mark,
            rate,
            ..Faults::default()
        })
}

/// Messages of every awkward length.
fn lengths() -> impl Strategy<Value = Vec<u32>> {
    let length = prop_oneof![
        Just(0u32),
        Just(1),
        Just(255),
        Just(256),
        Just(257),
        4095u32..4098,
        Just(16 * 256),
        1u32..20_000,
        Just(65_536),
        Just(300_001),
    ];
    prop::collection::vec(length, 1..10)
}

//= §7.1, §7.2, §7.7 test
#[test]
fn whatever_the_network_does_messages_arrive_once_and_whole_or_end() {
    for nics in [2, 3] {
        runner(40)
            .run(&(faults(), lengths(), any::<u64>()), |(faults, mut lengths, seed)| {
                lengths.iter_mut().for_each(|length| *length = (*length).min(300_001));
                let total = lengths.len() as u64;
                let largest = *lengths.iter().max().expect("one at least");
                let settings = Settings::default();
                let mut world = World::new(nics, &small(), settings, faults, seed);
                for i in 0..lengths.len() {
                    world.recv((i + 1) % nics, i % 4, largest + i as u32 % 3);
                }
                for (i, &length) in lengths.iter().enumerate() {
                    world.send(i % nics, (i + 1) % nics, i % 4, length, if i % 5 == 4 { 12 } else { 8 });
                }
                prop_assert!(world.run(end_of_time(&settings)), "still busy at the end of time");
                world.assert_idle();
                // These faults leave every bound far away: nothing may fail.
                prop_assert_eq!(world.errors.len(), 0, "{:?}", world.errors);
                prop_assert_eq!(world.delivered.len() as u64, total);
                Ok(())
            })
            .expect("property holds");
    }
}

/// Once a source's skew is known. Before that (`SKEW0`), whatever is later than
/// SKEW0 + GUARD is asked for once: the first message may cost its window.
//= §7.4 test
#[test]
fn reordering_alone_causes_no_retransmissions() {
    let base = seed();
    let (mut sent, mut again) = (0, 0);
    let sets = [
        vec![800, 900, 1000, 1500],
        vec![800, 1600, 2400, 8000],
        vec![800, 8000],
        vec![800, 1000, 1500, 2000, 3000, 4000, 6000, 8000],
    ];
    for (case, paths) in sets.into_iter().enumerate() {
        for rate in [8, 64] {
            for payload_log2 in [8, 12] {
                let faults = Faults { paths: paths.clone(), rate, jitter: 100, ..Faults::default() };
                let settings = Settings { path_count: 8, ..Settings::default() };
                let mut world = World::new(2, &small(), settings, faults, base + case as u64);
                let mut cold = (0, 0);
                for round in 0..2 {
                    for _ in 0..4 {
                        world.recv(1, 0, 2 << 20);
                        world.send(0, 1, 0, 1_000_000, payload_log2);
                    }
                    assert!(world.run(world.clock + end_of_time(&settings)));
                    world.assert_idle();
                    if round == 0 {
                        cold = (world.count(Counter::TxData), world.count(Counter::TxRetransmitted));
                    }
                }
                assert_eq!(world.delivered.len(), 8);
                assert!(cold.1 <= 4 * 64, "{} retransmissions before the skew was known", cold.1);
                sent += world.count(Counter::TxData) - cold.0;
                let here = world.count(Counter::TxRetransmitted) - cold.1;
                eprintln!("paths {case} rate {rate} payload 2^{payload_log2}: {here} again, {} cold", cold.1);
                again += here;
            }
        }
    }
    assert!(again * 1000 < sent, "{again} retransmissions of {sent} packets without any loss");
}
