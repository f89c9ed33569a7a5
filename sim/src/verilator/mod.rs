//! Compiles Verilog to a native library at run time and clocks it.
//!
//! ```text
//!   Design ──> hash ──> <cache>/verilated/<hash>/model.so ── there ──> load
//!                              │ absent
//!                              v
//!              verilator --cc ──> C++ ──> c++ in parallel ──> rename into place
//!
//!   Model ──instance()──> Dut ──set── u64 buffer ──get──>     any number, independent
//!                                │    ^
//!                     clock()    v    │     one foreign call
//!                          load, low, high, store
//! ```
//!
//! Contract, in clocks:
//! - [`Dut::set`] and [`Dut::get`] touch only the buffer.
//! - [`Dut::settle`] lets combinational outputs follow the inputs as they are
//!   now. It moves no clock: registers keep their values.
//! - [`Dut::clock`] is one rising edge. Registers sample the inputs as they
//!   were set before the call; outputs read after it are those *after* the
//!   edge, with the same inputs still applied. So an output that depends
//!   combinationally on an input set *after* the clock shows it only after the
//!   next `settle` or `clock`.
//! - [`Dut::sampled`] is what a port, input or output, was *at* that edge: the
//!   outputs before it, settled on the inputs. Handshakes are read from it.
//! - A falling edge happens at the start of each `clock`, with the new inputs.
//! - Before the first clock, outputs show the `initial` values.
//!
//! Verified by `sim/tests/verilator.rs`.

mod build;
mod compile;
mod design;
mod dut;
mod glue;
mod library;

pub use build::{BuildOptions, Lint, Trace};
pub use design::{Design, Direction, Field, Port};
pub use dut::{Dut, PortId};
pub use library::{InstanceOptions, Model};

use crate::tools::ToolError;
use std::path::PathBuf;

/// Why a design cannot be simulated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// Verilator or the C++ compiler is missing.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// Verilator refused the Verilog; its warnings count as errors.
    #[error("Verilator refuses {top}:\n{messages}\n  the Verilog is kept in {}", kept.display())]
    Verilog {
        /// The top module.
        top: String,
        /// Verilator's messages.
        messages: String,
        /// Folder with the text it was given.
        kept: PathBuf,
    },
    /// The C++ compiler failed.
    #[error("the C++ of {top} does not compile; last lines of {command}:\n{messages}\n  the sources are kept in {}", kept.display())]
    Compile {
        /// The top module.
        top: String,
        /// The compiler and the file.
        command: String,
        /// Its last lines.
        messages: String,
        /// Folder with the sources.
        kept: PathBuf,
    },
    /// The described ports are not those of the Verilog.
    #[error("the ports of {top} are described wrongly: {detail}")]
    Ports {
        /// The top module.
        top: String,
        /// Which and how.
        detail: String,
    },
    /// The mutant that the environment asks for cannot be made.
    #[error("{top} with a mutant: {detail}")]
    Mutant {
        /// The top module.
        top: String,
        /// Why.
        detail: String,
    },
    /// The compiled model does not load.
    #[error("{} does not load: {detail}\n  remedy: remove its folder to have it compiled again", path.display())]
    Load {
        /// The library.
        path: PathBuf,
        /// What the loader said.
        detail: String,
    },
    /// A port or field that the design does not have.
    #[error("{top} has no port {name}; it has {known}")]
    NoSuchPort {
        /// The top module.
        top: String,
        /// What was asked for.
        name: String,
        /// The names there are.
        known: String,
    },
    /// The model was built without what is asked of it.
    #[error("{top} was built without {what}; set BuildOptions::{option}")]
    NotBuilt {
        /// The top module.
        top: String,
        /// What is missing.
        what: &'static str,
        /// The option that adds it.
        option: &'static str,
    },
    /// A trace or coverage file cannot be written.
    #[error("cannot write {}: {detail}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        detail: String,
    },
    /// The simulation itself gave up: an assertion, `$stop`, `$finish`, or a
    /// combinational loop that does not settle.
    #[error("{top} stopped in clock {cycle}: {detail}")]
    Stopped {
        /// The top module.
        top: String,
        /// Clocks completed before.
        cycle: u64,
        /// What happened and where in the Verilog, and what it printed then.
        detail: String,
    },
}
