//! `stream::Merge`: order per stream, loss, fairness and rate.

use tessera_rtl::prelude::Bits;
use tessera_rtl::stream::Merge;
use tessera_sim::tb::{self, Pattern};
use tessera_sim::verilator::Design;
use tessera_testbenches::merges::{self, stream_of, Bench};

fn design() -> Design {
    tessera_testbenches::design("merge", Merge::<Bits<24>>::default)
}

#[test]
fn keeps_the_order_of_each_stream_and_loses_nothing() {
    merges::keeps_order_and_loses_nothing::<2>("merge", &design());
}

#[test]
fn takes_turns_at_a_word_in_two_clocks() {
    tb::run("merge::turns", &design(), |dut, rng| {
        let mut bench = Bench::<2>::new(dut, Pattern::Always, Pattern::Always, rng);
        for stream in 0..2 {
            bench.send(stream, 0..100);
        }
        let (words, clocks) = bench.collect(200);
        assert!((399..=403).contains(&clocks), "{clocks} clocks for 200 words");
        for pair in words.windows(2) {
            assert_ne!(stream_of(pair[0]), stream_of(pair[1]), "one stream twice in a row while both wait");
        }
    });
}
