//! `stream::Merge`: order per stream, loss, fairness and rate.

use tessera_rtl::prelude::Bits;
use tessera_rtl::stream::Merge;
use tessera_sim::tb::{self, cycle, Pattern, Rng, StreamDriver, StreamMonitor};
use tessera_sim::verilator::{Design, Dut};

/// Words of stream 1 carry this bit.
const ONE: u64 = 1 << 20;

fn design() -> Design {
    tessera_testbenches::design("merge", Merge::<Bits<24>>::default)
}

struct Bench<'a> {
    dut: &'a mut Dut,
    inputs: [StreamDriver; 2],
    output: StreamMonitor,
}

impl<'a> Bench<'a> {
    fn new(dut: &'a mut Dut, idle: Pattern, stall: Pattern, rng: &mut Rng) -> Self {
        let inputs = ["in0", "in1"].map(|name| StreamDriver::new(dut, name, idle, rng).unwrap());
        let output = StreamMonitor::new(dut, "out", stall, rng).unwrap();
        let rst = dut.port("rst").unwrap();
        dut.reset(rst, 2);
        Bench { dut, inputs, output }
    }

    /// Runs until `count` words came out; returns them with the clocks taken.
    fn collect(&mut self, count: usize) -> (Vec<u64>, usize) {
        let mut words = Vec::new();
        let mut clocks = 0;
        while words.len() < count {
            let [a, b] = &mut self.inputs;
            cycle(self.dut, &mut [a, b, &mut self.output]);
            words.extend(self.output.take().map(|transfer| transfer.word.0[0]));
            clocks += 1;
            assert!(clocks < 20 * count + 100, "only {} of {count} words came out", words.len());
        }
        (words, clocks)
    }
}

#[test]
fn keeps_the_order_of_each_stream_and_loses_nothing() {
    let design = design();
    for (idle, stall) in Pattern::matrix() {
        tb::run(&format!("merge::order {idle:?} {stall:?}"), &design, |dut, rng| {
            let mut bench = Bench::new(dut, idle, stall, rng);
            for word in 0..1000 {
                bench.inputs[0].send(word);
                bench.inputs[1].send(ONE | word);
            }
            let (words, _) = bench.collect(2000);
            for (tag, name) in [(0, "stream 0"), (ONE, "stream 1")] {
                let own: Vec<u64> = words.iter().filter(|w| **w & ONE == tag).map(|w| w & !ONE).collect();
                assert_eq!(own, (0..1000).collect::<Vec<_>>(), "{name}");
            }
        });
    }
}

#[test]
fn takes_turns_at_a_word_in_two_clocks() {
    tb::run("merge::turns", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        for word in 0..100 {
            bench.inputs[0].send(word);
            bench.inputs[1].send(ONE | word);
        }
        let (words, clocks) = bench.collect(200);
        assert!((399..=403).contains(&clocks), "{clocks} clocks for 200 words");
        for pair in words.windows(2) {
            assert_ne!(pair[0] & ONE, pair[1] & ONE, "one stream twice in a row while both wait");
        }
    });
}
