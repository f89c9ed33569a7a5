//! `tessera setup`: fetch the pinned tools now instead of on first use.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use tessera_sim::tools;

use crate::model::ToolArgs;
use crate::output::{self, Failure};

/// Fetch the pinned tools into target/tools and say what is there.
#[derive(Args, Debug)]
pub struct SetupArgs {
    /// Write the result as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    #[command(flatten)]
    tools: ToolArgs,
}

#[derive(Serialize)]
struct Tools {
    verilator: String,
    yosys: String,
    cxx: PathBuf,
    fst_headers: bool,
    cache: PathBuf,
}

pub fn run(args: &SetupArgs) -> Result<(), Failure> {
    if let Some(path) = &args.json {
        output::check_writable(path)?;
    }
    let options = args.tools.options();
    let verilator = tools::verilator(&options)?;
    let yosys = tools::yosys(&options)?;
    let found = Tools {
        verilator: verilator.version().to_owned(),
        yosys: yosys.version().to_owned(),
        cxx: tools::cxx()?.into(),
        fst_headers: tools::has_fst_headers(&verilator),
        cache: options.cache(),
    };
    println!("verilator    {}", found.verilator);
    println!("yosys        {}", found.yosys);
    println!("c++          {}", found.cxx.display());
    println!(
        "FST headers  {}",
        if found.fst_headers { "found" } else { "missing (only --wave FILE.fst needs them)" }
    );
    println!("cache        {}", found.cache.display());
    if let Some(path) = &args.json {
        output::write_json(path, &found)?;
    }
    Ok(())
}
