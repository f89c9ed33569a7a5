//! Exporting a configuration and compiling its model: common to the verbs.

use std::path::PathBuf;
use std::process::Command;

use clap::Args;
use sha2::{Digest, Sha256};
use tessera_abi::params::Config;
use tessera_rtl::emit::Export;
use tessera_rtl::export::{self, Edition};
use tessera_rtl::memories::within_ultra_rams;
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

/// Exports a configuration for others: with the source revision, and names of modules that no other export has.
pub fn export_release(config: &'static Config, shell: Shell) -> Result<Export, Failure> {
    edition(config, shell, true)
}

/// The same under the names by which blocks are known here.
pub fn export_named(config: &'static Config, shell: Shell) -> Result<Export, Failure> {
    edition(config, shell, false)
}

fn edition(config: &'static Config, shell: Shell, own_names: bool) -> Result<Export, Failure> {
    let edition = Edition { revision: &revision(), own_names };
    Ok(match shell {
        Shell::Thin => export::nic(config, edition)?,
        Shell::Axi => export::axi_nic(config, edition)?,
        Shell::Corundum => export::corundum_nic(config, edition)?,
    })
}

/// The same export with no more UltraRAM than a device has to give, and says what that takes.
pub fn within(mut export: Export, ultra_rams: Option<usize>) -> Export {
    if let Some(limit) = ultra_rams {
        let made = within_ultra_rams(&export.verilog, &export.top, limit);
        let blocks = made.moved as f64 / 2.0;
        println!("{}: {} of {} UltraRAMs, {blocks} more block RAMs", export.top, made.used, made.wanted);
        export.verilog = made.verilog;
    }
    export
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use tessera_abi::params::{NIC64, TINY};
    use tessera_sim::exported;

    fn modules(verilog: &str) -> impl Iterator<Item = &str> {
        verilog.lines().filter_map(|line| line.strip_prefix("module ")?.split([' ', '(', '#']).next())
    }

    /// What others get is what is simulated here, but for names of modules; and no name of a module is in two exports,
    /// so that one project may hold them all.
    #[test]
    fn a_release_is_what_is_tested_under_names_of_its_own() {
        let mut owner: HashMap<String, String> = HashMap::new();
        for (config, shell, tested) in [
            (&TINY, Shell::Thin, exported::nic(&TINY)),
            (&TINY, Shell::Axi, exported::axi_nic(&TINY)),
            (&TINY, Shell::Corundum, exported::corundum_nic(&TINY)),
            (&NIC64, Shell::Axi, exported::axi_nic(&NIC64)),
        ] {
            let (tested, release) = (tested.unwrap(), export_release(config, shell).unwrap());
            assert_eq!((&tested.top, &tested.ports), (&release.top, &release.ports));
            let revision = |line: &&str| !line.starts_with("// Source revision: ");
            let text = release.verilog.replace(&format!("{}_", release.top), "tessera_");
            assert!(text.lines().filter(revision).eq(tested.verilog.lines()), "{}", release.top);
            assert_eq!(release.verilog.lines().filter(|line| !revision(line)).count(), 1);
            for module in modules(&release.verilog) {
                if let Some(other) = owner.insert(module.to_owned(), release.top.clone()) {
                    panic!("{module} is in {other} and in {}", release.top);
                }
            }
        }
        assert!(owner.len() > 800, "{} modules", owner.len());
    }
}
