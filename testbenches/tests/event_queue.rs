//! `host::EventQueue`: as many clocks of the event as there were pulses.

use tessera_rtl::host::event_queue::EventQueue;
use tessera_sim::tb;

#[test]
fn pulses_that_coincide_count_each() {
    let design = tessera_testbenches::design("event_queue", EventQueue::new);
    tb::run("event_queue::random", &design, |dut, rng| {
        let port = |name: &str| dut.port(name).unwrap();
        let (pulses, told, rst) = (port("pulses"), port("told"), port("rst"));
        dut.set(pulses, 0u64);
        dut.reset(rst, 2);
        let (mut came, mut seen) = (0u64, 0u64);
        for round in 0..200 {
            let odds = *rng.pick(&[0.0, 0.1, 0.9, 1.0]);
            for _ in 0..rng.below(80) {
                let word = (0..5).fold(0, |word, bit| word | u64::from(rng.chance(odds)) << bit);
                dut.set(pulses, word);
                dut.clock();
                // What pulses in a clock is told in later ones, the first in the next.
                assert!(dut.sampled(told) == u64::from(came > seen), "round {round}");
                seen += dut.sampled(told);
                came += u64::from(word.count_ones());
            }
            dut.set(pulses, 0u64);
            while came > seen {
                dut.clock();
                assert_eq!(dut.sampled(told), 1, "round {round}");
                seen += 1;
            }
            dut.clock();
            assert_eq!(dut.sampled(told), 0);
        }
        assert!(came > 5000);
    });
}
