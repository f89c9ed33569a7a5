//! The Tessera transport as rust-hdl blocks, and their export to Verilog.
//!
//! Folders follow the picture in docs/architecture.md: `stream`, `wire`,
//! `host`, `tx`, `rx`, `recovery`, `multipath`, then the top and the export.

// A kernel is hardware: its fields are ports and registers, documented where a
// name does not say it, and `new` needs no `Default` beside it.
#![allow(missing_docs, clippy::new_without_default)]
// `#[hdl_gen]` turns these forms into Verilog; the simpler Rust would not translate.
#![allow(
    clippy::collapsible_else_if,
    clippy::collapsible_if,
    clippy::bool_comparison,
    clippy::nonminimal_bool
)]

pub mod emit;
pub mod export;
pub mod host;
pub mod leaf;
pub mod memories;
pub mod multipath;
pub mod parts;
pub mod prelude;
pub mod recovery;
pub mod rx;
pub mod shell;
pub mod stream;
pub mod top;
pub mod tx;
pub mod types;
pub mod wire;
