//! Runs a test body on a fresh instance; a failing one runs once more with
//! waveforms.
//!
//! Tests run on models without tracing, at full speed. Everything a body does
//! follows from its seed, so a failure can be repeated exactly on a model that
//! traces.

use super::{seed, Rng};
use crate::mutate;
use crate::tools::{self, ToolOptions};
use crate::verilator::{BuildOptions, Design, Dut, InstanceOptions, Model, ModelError, PortId, Trace};
use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngSeed, TestCaseError, TestError, TestRunner};
use std::any::Any;
use std::cell::Cell;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::path::PathBuf;

/// Runs `body` on a new instance of `design`, with memories, a past of noise and
/// random numbers drawn from the test's seed. If it panics, it runs again with a trace, whose
/// path is printed, and the panic goes on.
///
/// # Panics
/// If `body` does, or `design` cannot be built.
pub fn run(test: &str, design: &Design, body: impl Fn(&mut Dut, &mut Rng)) {
    let seed = seed(test);
    let model = Model::build(design, &BuildOptions::hurried()).unwrap_or_else(|e| panic!("{test}: {e}"));
    let attempt = |dut: &mut Dut| body(dut, &mut Rng::new(seed));
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| attempt(&mut instance(&model, seed)))) {
        trace(test, design, seed, &attempt);
        resume_unwind(panic);
    }
}

/// Runs `body` on a new instance for each of `cases` values of `strategy`. The
/// first failing value is reduced to a small one, which is printed and run again
/// with a trace.
///
/// `TESSERA_CASES` multiplies the number of cases: 10 is a long soak.
///
/// # Panics
/// If `body` does, or `design` cannot be built.
pub fn check<S: Strategy>(
    test: &str,
    design: &Design,
    cases: u32,
    strategy: S,
    body: impl Fn(&mut Dut, &S::Value),
) where
    S::Value: Clone,
{
    let seed = seed(test);
    let model = Model::build(design, &BuildOptions::hurried()).unwrap_or_else(|e| panic!("{test}: {e}"));
    let factor = std::env::var("TESSERA_CASES").ok().and_then(|t| t.parse::<u32>().ok()).unwrap_or(1);
    let config = Config {
        cases: cases.saturating_mul(factor.max(1)),
        rng_seed: RngSeed::Fixed(seed),
        // The printed seed repeats the failure; files would be debris.
        failure_persistence: None,
        ..Config::default()
    };
    let result = TestRunner::new(config).run(&strategy, |value| {
        let attempt = || body(&mut instance(&model, seed), &value);
        quietly(|| catch_unwind(AssertUnwindSafe(attempt)))
            .map_err(|panic| TestCaseError::fail(text(&*panic)))
    });
    match result {
        Ok(()) => {}
        Err(TestError::Fail(reason, value)) => {
            trace(test, design, seed, &|dut| body(dut, &value));
            panic!("{test}: {reason}\nsmallest failing case: {value:#?}\nTESSERA_SEED={seed:#018x}");
        }
        Err(TestError::Abort(reason)) => panic!("{test}: gave up: {reason}"),
    }
}

/// Clocks of noise before a test.
const NOISE: u64 = 300;

/// A new instance. One with an input `rst` has a past: it has been clocked with
/// noise on its inputs, which are zero now. So a test that begins with a reset
/// finds out what the reset leaves behind.
fn instance(model: &Model, seed: u64) -> Dut {
    let options = InstanceOptions { random_init: Some(seed as u32), ..Default::default() };
    let mut dut = model.instance_with(&options).unwrap_or_else(|e| panic!("{e}"));
    if let Ok(rst) = dut.port("rst") {
        let mut rng = Rng::new(seed ^ 0x05ee_d0fa_9a57);
        let inputs: Vec<PortId> = model.inputs().filter(|port| *port != rst).collect();
        for _ in 0..NOISE {
            for port in &inputs {
                dut.set_wide(*port, &rng.wide(port.width()));
            }
            dut.clock();
        }
        for port in inputs {
            dut.set_wide(port, &vec![0; port.words()]);
        }
    }
    dut
}

/// Repeats a failed run with waveforms and says where they are.
fn trace(test: &str, design: &Design, seed: u64, attempt: &dyn Fn(&mut Dut)) {
    // A mutant is there to fail; nobody looks at how.
    if mutate::from_environment().is_some() {
        return;
    }
    match traced(test, design, seed, attempt) {
        Ok(path) => eprintln!("{test}: waveforms of the failure are in {}", path.display()),
        Err(error) => eprintln!("{test}: no waveforms of the failure: {error}"),
    }
}

fn traced(test: &str, design: &Design, seed: u64, attempt: &dyn Fn(&mut Dut)) -> Result<PathBuf, ModelError> {
    let verilator = tools::verilator(&ToolOptions::default())?;
    // A failing test is no occasion to install packages.
    let trace = if tools::has_fst_headers(&verilator) { Trace::Fst } else { Trace::Vcd };
    let options = BuildOptions { trace, ..BuildOptions::hurried() };
    let folder = options.tools.cache().join("waves");
    std::fs::create_dir_all(&folder).map_err(tools::io_error("create", &folder))?;
    let path = folder.join(format!("{}.{}", test.replace("::", "-"), trace.extension()));
    let model = Model::build(design, &options)?;
    let mut dut = instance(&model, seed);
    dut.open_trace(&path)?;
    let repeated = quietly(|| catch_unwind(AssertUnwindSafe(|| attempt(&mut dut))));
    dut.close_trace()?;
    if repeated.is_ok() {
        eprintln!("{test}: the failure did NOT repeat: the test depends on something besides its seed");
    }
    Ok(path)
}

fn text(panic: &(dyn Any + Send)) -> String {
    let known =
        panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    known.unwrap_or("panicked").to_string()
}

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Keeps panics of this thread from being printed while `body` runs: reducing a
/// case fails hundreds of times.
fn quietly<T>(body: impl FnOnce() -> T) -> T {
    static HOOK: std::sync::Once = std::sync::Once::new();
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                usual(info);
            }
        }));
    });
    QUIET.set(true);
    let result = body();
    QUIET.set(false);
    result
}
