//! Cycle tests block by block and whole-NIC scenarios.
//!
//! The tests are in `testbenches/tests`, one file per block; here is what they
//! share.

pub mod host;
pub mod packets;

use tessera_rtl::emit;
use tessera_rtl::prelude::Block;
use tessera_sim::verilator::Design;

/// The exported Verilog of a block as a design to simulate. The block is made
/// where the stack is large enough for it.
///
/// # Panics
/// When the block cannot be exported.
pub fn design<B: Block>(top: &str, make: impl FnOnce() -> B + Send) -> Design {
    let export = emit::with_big_stack(|| emit::export(&mut make(), top));
    Design::from(&export.unwrap_or_else(|error| panic!("{top}: {error}")))
}
