//! Exporting a configuration and compiling its model: common to the verbs.

use std::path::PathBuf;
use std::process::Command;

use clap::Args;
use sha2::{Digest, Sha256};
use tessera_abi::params::Config;
use tessera_rtl::emit::Export;
use tessera_sim::tools::ToolOptions;
use tessera_sim::verilator::{BuildOptions, Design, Model, Trace};

use crate::output::Failure;

/// Which hardware, and which Verilator compiles it.
#[derive(Args, Debug)]
pub struct ModelArgs {
    /// Configuration of the NIC; NAME_no_PART leaves a part out, NAME_plain all parts
    #[arg(long, default_value = "nic512", value_name = "NAME")]
    pub config: String,
    #[command(flatten)]
    pub tools: ToolArgs,
}

/// Which tools.
#[derive(Args, Debug)]
pub struct ToolArgs {
    /// Use this Verilator (5.006 or newer) instead of the pinned one
    #[arg(long, value_name = "PATH")]
    pub verilator: Option<PathBuf>,
}

impl ToolArgs {
    pub fn options(&self) -> ToolOptions {
        ToolOptions { verilator: self.verilator.clone(), ..ToolOptions::default() }
    }
}

/// A configuration by name.
pub fn config(name: &str) -> Result<&'static Config, Failure> {
    Ok(tessera_sim::exported::config(name)?)
}

impl ModelArgs {
    pub fn config(&self) -> Result<&'static Config, Failure> {
        config(&self.config)
    }

    /// Compiles the model, or loads it when it has been compiled before: for simulations of minutes and more.
    pub fn build(&self, export: &Export) -> Result<Model, Failure> {
        let options = BuildOptions { tools: self.tools.options(), ..BuildOptions::default() };
        Ok(Model::build(&Design::from(export), &options)?)
    }

    /// One that is there sooner and runs a sixth slower: for simulations of seconds.
    pub fn build_hurried(&self, export: &Export, trace: Trace) -> Result<Model, Failure> {
        let options = BuildOptions { trace, tools: self.tools.options(), ..BuildOptions::hurried() };
        Ok(Model::build(&Design::from(export), &options)?)
    }
}

/// The revision of this source tree, for the header of exported files.
pub fn revision() -> String {
    let git = |args: &[&str]| {
        let out = Command::new("git").args(args).current_dir(env!("CARGO_MANIFEST_DIR")).output().ok()?;
        out.status.success().then(|| String::from_utf8_lossy(&out.stdout).trim().to_owned())
    };
    match git(&["describe", "--always", "--dirty", "--abbrev=12"]) {
        Some(revision) => revision,
        None => concat!("version ", env!("CARGO_PKG_VERSION")).to_owned(),
    }
}

/// Exports a configuration for simulation: without a revision, so that the
/// compiled model stays good until the hardware changes.
pub fn export(config: &'static Config) -> Result<Export, Failure> {
    Ok(tessera_sim::exported::nic(config)?)
}

/// Names the hardware: equal for equal Verilog, whatever the revision.
pub fn digest(export: &Export) -> String {
    Sha256::digest(&export.verilog).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// What the NIC is to be joined to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Shell {
    /// Thin DMA ports, for adapters (docs/architecture.md)
    #[default]
    Thin,
    /// An AXI4 master for host memory
    Axi,
    /// Corundum's application block (docs/corundum.md)
    Corundum,
}

/// Exports a configuration for others, with the source revision.
pub fn export_release(config: &'static Config, shell: Shell) -> Result<Export, Failure> {
    Ok(match shell {
        Shell::Thin => tessera_rtl::export::nic(config, &revision())?,
        Shell::Axi => tessera_rtl::export::axi_nic(config, &revision())?,
        Shell::Corundum => tessera_rtl::export::corundum_nic(config, &revision())?,
    })
}
