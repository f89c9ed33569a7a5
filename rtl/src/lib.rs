//! The Tessera transport as rust-hdl blocks, and their export to Verilog.

pub mod leaf;
pub mod prelude;
