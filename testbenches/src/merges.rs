//! What the testbenches of blocks that join streams share.

use tessera_sim::tb::{self, cycle, Pattern, Rng, StreamDriver, StreamMonitor};
use tessera_sim::verilator::{Design, Dut};

/// Words carry their stream's number from this bit on.
pub const STREAM: u32 = 20;

/// A block of `N` inputs between drivers and a monitor.
pub struct Bench<'a, const N: usize> {
    dut: &'a mut Dut,
    /// What goes in.
    pub inputs: [StreamDriver; N],
    output: StreamMonitor,
}

impl<'a, const N: usize> Bench<'a, N> {
    /// One after a reset.
    pub fn new(dut: &'a mut Dut, idle: Pattern, stall: Pattern, rng: &mut Rng) -> Self {
        let inputs = std::array::from_fn(|of| StreamDriver::new(dut, &format!("in{of}"), idle, rng).unwrap());
        let output = StreamMonitor::new(dut, "out", stall, rng).unwrap();
        let rst = dut.port("rst").unwrap();
        dut.reset(rst, 2);
        Bench { dut, inputs, output }
    }

    /// Words for a stream.
    pub fn send(&mut self, stream: usize, words: std::ops::Range<u64>) {
        for word in words {
            self.inputs[stream].send((stream as u64) << STREAM | word);
        }
    }

    /// Runs until `count` words came out; returns them with the clocks taken.
    pub fn collect(&mut self, count: usize) -> (Vec<u64>, usize) {
        let mut words = Vec::new();
        let mut clocks = 0;
        while words.len() < count {
            let mut parts: Vec<&mut dyn tb::Agent> =
                self.inputs.iter_mut().map(|input| input as &mut dyn tb::Agent).collect();
            parts.push(&mut self.output);
            cycle(self.dut, &mut parts);
            words.extend(self.output.take().map(|transfer| transfer.word.0[0]));
            clocks += 1;
            assert!(clocks < 20 * count + 100, "only {} of {count} words came out", words.len());
        }
        (words, clocks)
    }
}

/// Which stream a word is of.
pub fn stream_of(word: u64) -> usize {
    (word >> STREAM) as usize
}

/// Each stream's words come in order, and all of them, whoever waits.
pub fn keeps_order_and_loses_nothing<const N: usize>(name: &str, design: &Design) {
    for (idle, stall) in Pattern::matrix() {
        tb::run(&format!("{name}::order {idle:?} {stall:?}"), design, |dut, rng| {
            let mut bench = Bench::<N>::new(dut, idle, stall, rng);
            for stream in 0..N {
                bench.send(stream, 0..1000);
            }
            let (words, _) = bench.collect(1000 * N);
            for stream in 0..N {
                let own: Vec<u64> = words
                    .iter()
                    .filter(|word| stream_of(**word) == stream)
                    .map(|word| word & ((1 << STREAM) - 1))
                    .collect();
                assert_eq!(own, (0..1000).collect::<Vec<_>>(), "stream {stream}");
            }
        });
    }
}
