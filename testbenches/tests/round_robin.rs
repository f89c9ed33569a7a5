//! `stream::RoundRobin`: order per stream, loss, turns and rate; that what is shown stays is the monitor's rule.

use tessera_rtl::prelude::Bits;
use tessera_rtl::stream::RoundRobin;
use tessera_sim::tb::{self, Pattern};
use tessera_sim::verilator::Design;
use tessera_testbenches::merges::{self, stream_of, Bench};

fn design() -> Design {
    tessera_testbenches::design("round_robin", RoundRobin::<Bits<24>>::default)
}

#[test]
fn keeps_the_order_of_each_stream_and_loses_nothing() {
    merges::keeps_order_and_loses_nothing::<3>("round_robin", &design());
}

#[test]
fn takes_turns_at_a_word_in_a_clock() {
    tb::run("round_robin::turns", &design(), |dut, rng| {
        let mut bench = Bench::<3>::new(dut, Pattern::Always, Pattern::Always, rng);
        for stream in 0..3 {
            bench.send(stream, 0..100);
        }
        let (words, clocks) = bench.collect(300);
        assert!((300..=303).contains(&clocks), "{clocks} clocks for 300 words");
        for three in words.windows(3) {
            let mut of: Vec<usize> = three.iter().map(|word| stream_of(*word)).collect();
            of.sort_unstable();
            assert_eq!(of, [0, 1, 2], "each has its turn while all wait");
        }
    });
}

#[test]
fn those_that_wait_are_served_without_a_gap() {
    // One alone, and every two, have every clock but those in which their turn begins.
    for with in [vec![0], vec![1], vec![2], vec![0, 1], vec![1, 2], vec![2, 0]] {
        tb::run(&format!("round_robin::alone {with:?}"), &design(), |dut, rng| {
            let mut bench = Bench::<3>::new(dut, Pattern::Always, Pattern::Always, rng);
            for stream in &with {
                bench.send(*stream, 0..100);
            }
            let count = 100 * with.len();
            let (_, clocks) = bench.collect(count);
            assert!((count..=count + 3).contains(&clocks), "{clocks} clocks for {count} words");
        });
    }
}
