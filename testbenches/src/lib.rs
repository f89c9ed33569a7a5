//! Cycle tests block by block and whole-NIC scenarios.
//!
//! The tests are in `testbenches/tests`, one file per block; here is what they
//! share.

pub mod host;
pub mod packets;

use tessera_rtl::emit;
use tessera_rtl::prelude::Block;
use tessera_sim::verilator::Design;

/// The seed of a whole-NIC test: `TESSERA_SEED`, or the same number every time.
/// Such a run depends on every clock of several NICs, so CI repeats one that is
/// known; other seeds are for soaks.
pub fn seed(test: &str) -> u64 {
    match std::env::var_os("TESSERA_SEED") {
        Some(_) => tessera_sim::tb::seed(test),
        None => {
            eprintln!("{test}: TESSERA_SEED=1");
            1
        }
    }
}

/// The exported Verilog of a block as a design to simulate. The block is made
/// where the stack is large enough for it.
///
/// # Panics
/// When the block cannot be exported.
pub fn design<B: Block>(top: &str, make: impl FnOnce() -> B + Send) -> Design {
    let export = emit::with_big_stack(|| emit::export(&mut make(), top));
    Design::from(&export.unwrap_or_else(|error| panic!("{top}: {error}")))
}
