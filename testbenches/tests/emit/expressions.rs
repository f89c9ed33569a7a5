//! Random expressions: rust-hdl's arithmetic against the Verilated export.
//!
//! A batch of expressions is one module, each with an output of its own, so
//! that compiling is paid once. An expression that fails is simplified alone,
//! in modules of one expression, and not for ever.

use crate::bench::{corner_or_random, input_widths, lint, Verilated};
use crate::random::RandomKernel;
use crate::recipe::{expressions, Recipe};
use num_bigint::BigUint;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngSeed, TestCaseError, TestError, TestRunner};
use tessera_rtl::emit::{export, with_big_stack};
use tessera_sim::tb::{seed, Rng};
use tessera_sim::verilator::Lint;

/// Batches, times `TESSERA_CASES`.
const BATCHES: u32 = 2;
/// Expressions of a batch.
const EXPRESSIONS: usize = 150;
/// Input vectors of an expression.
const VECTORS: usize = 60;
/// Modules compiled to simplify an expression that fails.
const SIMPLIFICATIONS: u32 = 60;

/// The first of `expressions` that the two disagree about, and how.
fn disagreement(expressions: &[(usize, Recipe)], seed: u64) -> Option<(usize, String)> {
    let mut kernel = RandomKernel::of(expressions);
    let export = export(&mut kernel, "expressions").unwrap_or_else(|error| panic!("{error}"));
    // Random expressions contain `x ^ x` and the like, which Verilator folds
    // and then calls constant or unused. Widths must be right all the same.
    if let Err(said) = lint(&export, &["UNUSEDSIGNAL", "UNSIGNED", "CMPCONST"]) {
        let first = said.lines().find_map(|line| {
            let (_, rest) = line.split_once("'e")?;
            rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
        });
        return Some((first.unwrap_or_default(), said));
    }
    let mut verilated = Verilated::with_lint(&export, Lint::ErrorsOnly);
    let widths = input_widths(&export);
    let mut rng = Rng::new(seed);
    for _ in 0..VECTORS {
        let inputs: Vec<BigUint> = widths.iter().map(|width| corner_or_random(&mut rng, *width)).collect();
        let expected = kernel.evaluate(&inputs);
        verilated.apply(&inputs);
        verilated.dut.settle();
        for (at, ((name, port), expected)) in verilated.outputs.iter().zip(expected).enumerate() {
            let verilog = verilated.read(*port);
            if expected != verilog {
                let about = kernel.lines_about(&export, name);
                let inputs = kernel.inputs().zip(&inputs).map(|(name, value)| format!("{name}={value:#x}"));
                let inputs: Vec<String> = inputs.collect();
                return Some((
                    at,
                    format!(
                        "rust-hdl says {expected:#x}, Verilog {verilog:#x}\n{about}\nwith {}",
                        inputs.join(" ")
                    ),
                ));
            }
        }
    }
    None
}

#[test]
fn random_expressions_compute_the_same() {
    let test = "random_expressions_compute_the_same";
    let seed = seed(test);
    let factor = std::env::var("TESSERA_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let mut runner = TestRunner::new(Config {
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: None,
        max_shrink_iters: SIMPLIFICATIONS,
        ..Config::default()
    });
    let strategy = expressions(6);
    for _ in 0..BATCHES * factor {
        let mut batch: Vec<_> =
            (0..EXPRESSIONS).map(|_| strategy.new_tree(&mut runner).expect("a recipe")).collect();
        let values: Vec<_> = batch.iter().map(ValueTree::current).collect();
        let Some((failing, said)) = with_big_stack(|| disagreement(&values, seed)) else { continue };
        let alone = |expression: (usize, Recipe)| match with_big_stack(|| disagreement(&[expression], seed)) {
            None => Ok(()),
            Some((_, said)) => Err(TestCaseError::fail(said)),
        };
        match runner.run_one(batch.swap_remove(failing), alone) {
            Err(TestError::Fail(reason, (width, recipe))) => {
                panic!("{reason}\nsmallest failing expression, {width} bits: {recipe:?}\nTESSERA_SEED={seed:#018x}")
            }
            _ => panic!("expression {failing} fails, but not alone:\n{said}\nTESSERA_SEED={seed:#018x}"),
        }
    }
}
