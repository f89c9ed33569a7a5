//! The exported Verilog computes what the rust-hdl kernels compute.
//!
//! Each test runs one stimulus through rust-hdl's simulator and through the
//! Verilated export and compares every output of every clock.

#[macro_use]
mod bench;
// Its text is what rtl/tests/emit looks at.
#[path = "../../../rtl/tests/emit/blocks.rs"]
mod blocks;
mod expressions;
mod kernels;
mod leaf;
mod random;
mod recipe;
mod sampler;
mod tree;
mod values;
