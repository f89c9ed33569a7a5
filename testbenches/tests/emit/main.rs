//! The exported Verilog computes what the rust-hdl kernels compute.
//!
//! Each test runs one stimulus through rust-hdl's simulator and through the
//! Verilated export and compares every output of every clock.

#[macro_use]
mod bench;
mod blocks;
mod expressions;
mod kernels;
mod leaf;
mod random;
mod recipe;
mod tree;
mod values;
