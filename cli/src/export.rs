//! `tessera export`: a configuration as one Verilog file.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use crate::model;
use crate::output::{self, Failure};

/// Export a configuration as Verilog.
#[derive(Args, Debug)]
pub struct ExportArgs {
    /// Configuration of the NIC
    #[arg(long, default_value = "nic512", value_name = "NAME")]
    config: String,
    /// The file to write [default: target/verilog/NAME.v]
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write the port list as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Serialize)]
struct PortRow {
    name: String,
    direction: &'static str,
    width: usize,
    doc: Option<String>,
}

#[derive(Serialize)]
struct Exported {
    top: String,
    file: PathBuf,
    lines: usize,
    modules: usize,
    ports: Vec<PortRow>,
}

pub fn run(args: &ExportArgs) -> Result<(), Failure> {
    let config = model::config(&args.config)?;
    let file = args.out.clone().unwrap_or_else(|| {
        tessera_sim::tools::cache_dir().join("verilog").join(format!("{}.v", config.name))
    });
    if args.out.is_none() {
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder)
                .map_err(|error| Failure::new(format!("cannot create {}: {error}", folder.display())))?;
        }
    }
    output::check_writable(&file)?;
    let export = model::export_release(config)?;
    output::write(&file, &export.verilog)?;
    let modules = export.verilog.lines().filter(|line| line.starts_with("module ")).count();
    let lines = export.verilog.lines().count();
    println!("{}: {lines} lines, {modules} modules, top {}", file.display(), export.top);
    if let Some(path) = &args.json {
        let ports = export.ports.iter().map(|port| PortRow {
            name: port.name.clone(),
            direction: if port.direction == tessera_rtl::emit::Direction::In { "input" } else { "output" },
            width: port.width,
            doc: port.doc.clone(),
        });
        output::write_json(
            path,
            &Exported { top: export.top.clone(), file, lines, modules, ports: ports.collect() },
        )?;
    }
    Ok(())
}
