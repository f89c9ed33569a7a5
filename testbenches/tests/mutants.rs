//! The way of a mutant, from the text to the failing test.
//!
//! `cargo tessera mutate` breaks every block; here a FIFO is broken, and this
//! very program runs as its testbench.

use std::collections::{BTreeSet, VecDeque};
use tessera_rtl::prelude::Bits;
use tessera_rtl::stream::Fifo;
use tessera_sim::mutate::{Bench, Count, Fate};
use tessera_sim::tb::{self, cycle, Pattern, StreamDriver, StreamMonitor};
use tessera_sim::tools::cache_dir;

/// Mutants to try; the choice is the same every time.
const MUTANTS: usize = 6;

/// The testbench: order, depth, and nothing left over after a reset.
#[test]
fn a_fifo_keeps_its_words() {
    let design = tessera_testbenches::design("fifo", || Fifo::<Bits<16>, 4>::new(3));
    for (idle, stall) in Pattern::matrix() {
        tb::run(&format!("mutants::fifo {idle:?} {stall:?}"), &design, |dut, rng| {
            let mut input = StreamDriver::new(dut, "in", idle, rng).unwrap();
            let mut output = StreamMonitor::new(dut, "out", stall, rng).unwrap();
            let (rst, ready) = (dut.port("rst").unwrap(), dut.port("out_ready").unwrap());
            dut.reset(rst, 1);
            let mut expected: VecDeque<u64> = (0..400).map(|_| rng.bits(16)).collect();
            expected.iter().for_each(|word| input.send(*word));
            for _ in 0..100 {
                dut.set(ready, 0u64);
                cycle(dut, &mut [&mut input]);
            }
            assert_eq!(input.sent(), 8, "eight words");
            let mut clocks = 0;
            while let Some(next) = expected.front() {
                cycle(dut, &mut [&mut input, &mut output]);
                clocks += 1;
                assert!(clocks < 10_000, "{} words did not come out", expected.len());
                if let Some(transfer) = output.take() {
                    assert_eq!(transfer.word.0, [*next]);
                    expected.pop_front();
                }
            }
        });
    }
}

#[test]
fn every_mutant_of_a_fifo_is_noticed() {
    let folder = cache_dir().join("mutants").join(format!("fifo-{}", std::process::id()));
    let bench = Bench {
        program: std::env::current_exe().unwrap(),
        arguments: ["a_fifo_keeps_its_words", "--exact"].map(String::from).into(),
        directory: env!("CARGO_MANIFEST_DIR").into(),
        folder: folder.join("run"),
        // With another, one of those that change nothing may be drawn.
        seed: 6,
    };
    let prepare = |known: &BTreeSet<String>| {
        let ready = bench.prepare(&[("fifo", Count::Exactly(MUTANTS))], known, &folder.join("designs"));
        ready.unwrap_or_else(|error| panic!("{error}"))
    };
    let ready = prepare(&BTreeSet::new());
    assert_eq!(ready.mutants.len(), MUTANTS);
    for mutant in &ready.mutants {
        let fate = ready.attempt(mutant).unwrap_or_else(|error| panic!("{error}"));
        let site = &mutant.site;
        assert_ne!(
            fate,
            Fate::Survived,
            "{} ({}) at line {}:\n- {}\n+ {}",
            site.name(),
            site.operator,
            site.line,
            site.before(),
            site.after()
        );
    }
    // What does not exist is an error, and neither killed nor survived.
    let mut nobody = ready.mutants[0].clone();
    nobody.site.id = "nobody".into();
    assert!(ready.attempt(&nobody).unwrap_err().contains("fifo:nobody"));
    // Whose fate is known is not tried again.
    let names: BTreeSet<String> = ready.mutants.iter().map(|mutant| mutant.site.name()).collect();
    let but_one: BTreeSet<String> = names.iter().skip(1).cloned().collect();
    assert!(prepare(&names).mutants.is_empty());
    assert_eq!(prepare(&but_one).mutants[0].site.name(), *names.first().unwrap());
    std::fs::remove_dir_all(folder).unwrap();
}
