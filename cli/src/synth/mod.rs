//! `tessera synth`: what a configuration takes of an FPGA, by an open flow.

mod cells;
mod change;
mod netlist;
mod pairs;
mod report;
mod table;
mod target;
mod ways;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use serde::Serialize;
use tessera_sim::progress::Progress;
use tessera_sim::tools::{cache_dir, pinned_yosys, ToolOptions, Yosys};

use crate::foreign::{self, quoted, Foreign};
use crate::model::{self, Shell};
use crate::output::{self, Failure};
use change::{compare, Earlier};
use report::{Area, Block, Statistics};
use target::Target;
pub(crate) use target::{whole_ecp5, whole_gowin, whole_series7};
use ways::{Way, Ways};

/// Map a configuration, or any Verilog, to an FPGA's cells: area by block, longest way
#[derive(Args, Debug)]
pub struct SynthArgs {
    /// Configuration of the NIC; NAME_no_PART leaves a part out, NAME_plain all parts
    /// [default: nic512]
    #[arg(long, value_name = "NAME", conflicts_with = "verilog")]
    config: Option<String>,
    /// What the NIC is to be joined to
    #[arg(long, value_enum, default_value_t, conflicts_with = "verilog")]
    shell: Shell,
    /// Use no more than N UltraRAMs, as `export --ultra-ram` does [default: as many as are wanted]
    #[arg(long, value_name = "N", conflicts_with = "verilog")]
    ultra_ram: Option<usize>,
    #[command(flatten)]
    foreign: Foreign,
    /// Family of the FPGA
    #[arg(long, value_enum, default_value_t)]
    target: Target,
    /// The whole only, not block by block
    #[arg(long, conflicts_with = "quick")]
    whole: bool,
    /// Block by block only, without the ways: a fifth of the time
    #[arg(long)]
    quick: bool,
    /// Tell so many of the longest ways cell by cell, one for each register where they end
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with = "quick")]
    ways: usize,
    /// Result of an earlier run (`--json`), to print the change
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// Growth of LUTs, FFs or block RAMs against that, in percent, that is a failure
    #[arg(long, value_name = "PERCENT", requires = "against")]
    growth: Option<f64>,
    /// Write the result as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the tables as Markdown
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
}

/// A figure and what it should be at most.
#[derive(Debug, Serialize)]
struct Aim {
    what: &'static str,
    at_most: f64,
    is: f64,
    met: bool,
}

#[derive(Debug, Serialize)]
struct Synthesised {
    design: String,
    top: String,
    target: Target,
    yosys: String,
    /// Of the design as one, which is what a vendor's tool maps too. Not there after a quick run.
    total: Option<Area>,
    /// Tables of six inputs that its LUTs take, where two share one if they can.
    tables: Option<f64>,
    /// Of its blocks together, each mapped alone: what is optimised over their edges is not.
    sum: Option<Area>,
    /// The blocks.
    blocks: Vec<Block>,
    /// LUTs on the way that takes longest.
    lut_levels: Option<usize>,
    /// How long that takes in cells alone, without wires.
    logic_ps: Option<u64>,
    #[serde(flatten)]
    ways: Option<Ways>,
    aims: Vec<Aim>,
    seconds: f64,
}

/// One run of Yosys: the statistics, and the ways of the whole.
struct Mapped {
    stat: Statistics,
    ways: Option<Ways>,
}

/// Gates below which a module is no block of its own.
const SMALLEST: usize = 60;
/// Modules that are none either: the exporter's leaves, by what follows their prefix.
const LEAVES: [&str; 14] = [
    "dff_*",
    "byte_dff_*",
    "delay_*",
    "sdp_ram_*",
    "forward_ram_*",
    "slice_ram_*",
    "byte_ram_*",
    "lut_ram_*",
    "xor_*",
    "rom_*",
    "keep_*",
    "to_wire_*",
    "from_wire_*",
    "byte_reverse*",
];

/// Patterns of the leaves' names, in an export for mapping and in releases, whose modules begin with their top
/// ([`Edition`](tessera_rtl::export::Edition)): what begins the names of registers.
fn leaves(verilog: &str) -> Vec<String> {
    let modules = verilog.lines().filter_map(|line| line.strip_prefix("module "));
    let named = |module: &str| Some(module.split_once("_dff_")?.0.to_owned());
    let mut prefixes: BTreeSet<String> = modules.filter_map(named).collect();
    prefixes.insert("tessera".to_owned());
    prefixes.iter().flat_map(|prefix| LEAVES.map(|leaf| format!("{prefix}_{leaf}"))).collect()
}

struct Flow<'a> {
    yosys: &'a Yosys,
    folder: PathBuf,
    /// How Yosys reads it.
    read: String,
    top: String,
    target: Target,
    /// Modules that are part of the block that has them; none of a design that the exporter did not make.
    leaves: Option<Vec<String>>,
    /// So many ways are told in detail.
    details: usize,
}

impl Flow<'_> {
    /// Maps the design, as one or block by block.
    fn run(&self, flat: bool) -> Result<Mapped, Failure> {
        let kind = if flat { "whole" } else { "blocks" };
        let at = |name: &str| self.folder.join(format!("{kind}.{name}"));
        let mut script = self.read.clone();
        let _ = writeln!(script, "hierarchy -check -top {}", self.top);
        if flat {
            // As the flow does it next, but so that registers keep the names of their instances.
            if self.target.is_timed() {
                let _ = writeln!(script, "proc\nflatten -scopename");
            }
            let _ = writeln!(script, "{}", self.target.whole(&self.top));
        } else {
            // Registers, delays and memories are part of the block that has them.
            if let Some(leaves) = &self.leaves {
                let _ = writeln!(script, "proc\nkeep_hierarchy -min_cost {SMALLEST}");
                let _ = writeln!(script, "setattr -mod -unset keep_hierarchy {}", leaves.join(" "));
            } else {
                let _ = writeln!(script, "setattr -mod -set keep_hierarchy 1");
            }
            let _ = writeln!(script, "{}", self.target.blocks(&self.top));
        }
        let _ = writeln!(script, "tee -q -o {} stat -json", quoted(&at("stat"))?);
        if flat && self.target.is_timed() {
            // The top only: modules that Yosys made of cells have processes, which it cannot write.
            let netlist = at("netlist.json");
            let _ = writeln!(
                script,
                "select {}\nwrite_json -selected {}\nselect -clear",
                self.top,
                quoted(&netlist)?
            );
        }
        let file = at("ys");
        output::write(&file, &script)?;
        let log = at("log");
        let cannot = |error: std::io::Error| Failure::new(format!("cannot write {}: {error}", log.display()));
        let out = File::create(&log).map_err(cannot)?;
        let what = if flat { "the whole" } else { "block by block" };
        let _progress = Progress::start(format!("mapping {} to {}, {what}", self.top, self.target.name()));
        let errors = out.try_clone().map_err(cannot)?;
        let status = self.yosys.script(&file).stdout(out).stderr(errors).status();
        let status = status.map_err(|error| Failure::new(format!("cannot run Yosys: {error}")))?;
        if !status.success() {
            let text = std::fs::read_to_string(&log).unwrap_or_default();
            let said = text.lines().rev().find(|line| line.contains("ERROR")).unwrap_or("no message");
            return Err(Failure::new(format!(
                "Yosys refuses {}: {said}{}; its log is {}",
                self.top,
                foreign::remedy(said),
                log.display()
            )));
        }
        let read = |name: &str| std::fs::read_to_string(at(name)).unwrap_or_default();
        let stat = Statistics::parse(&read("stat")).map_err(|error| Failure::new(error.to_string()))?;
        let ways = (flat && self.target.is_timed()).then(|| self.ways(&at("netlist.json"))).transpose()?;
        Ok(Mapped { stat, ways })
    }
}

impl Flow<'_> {
    /// The ways of a netlist, which is not kept: it takes 140 MB for a NIC.
    fn ways(&self, netlist: &Path) -> Result<Ways, Failure> {
        let wrong = |error: String| Failure::new(format!("cannot tell the ways of {}: {error}", self.top));
        let text = std::fs::read_to_string(netlist)
            .map_err(|error| wrong(format!("cannot read {}: {error}", netlist.display())))?;
        let leaves: Vec<&str> = self.leaves.iter().flatten().map(String::as_str).collect();
        let ways = Ways::parse(&text, &self.top, &leaves, self.details)
            .map_err(|error| wrong(format!("{error}; the netlist is {}", netlist.display())))?;
        let _ = std::fs::remove_file(netlist);
        Ok(ways)
    }
}

/// What `nic512`, with all parts or without some, is to take at most: a tenth of an Alveo U55C's block RAMs, and a
/// clock of 250 MHz by the estimate (docs/fpga.md).
fn aims(config: &str, target: Target, total: &Area, tables: Option<f64>, way: Option<&Way>) -> Vec<Aim> {
    if config.split('_').next() != Some("nic512") || target != Target::UltrascalePlus {
        return Vec::new();
    }
    let aim = |what, at_most, is: f64| Aim { what, at_most, is, met: is <= at_most };
    let mut aims = vec![aim("LUT", 44_000.0, total.lut), aim("block RAM", 201.6, total.block_ram)];
    // What others say of theirs is a vendor's count.
    aims.extend(tables.map(|tables| aim("LUT as vendors count", 44_000.0, tables)));
    aims.extend(way.map(|way| aim("logic on the longest way, ps", 3_900.0, way.ps as f64)));
    aims.extend(way.map(|way| aim("LUTs on the longest way", 8.0, way.luts as f64)));
    aims
}

pub fn run(args: &SynthArgs) -> Result<(), Failure> {
    for file in args.json.iter().chain(&args.markdown) {
        output::check_writable(file)?;
    }
    args.foreign.check()?;
    let before = args.against.as_deref().map(Earlier::read).transpose()?;
    if let Some(before) = &before {
        before.check(args)?;
    }
    let begun = Instant::now();
    let folders = cache_dir().join("synth");
    let create = |folder: &Path| {
        std::fs::create_dir_all(folder)
            .map_err(|error| Failure::new(format!("cannot create {}: {error}", folder.display())))
    };
    let config = args.config.as_deref().unwrap_or("nic512");
    let (design, top, read, folder) = match &args.foreign.top {
        Some(top) => {
            let folder = folders.join(args.foreign.digest());
            create(&folder)?;
            let read = args.foreign.read(&folder)?;
            (args.foreign.design().unwrap_or_default(), top.clone(), read, folder)
        }
        None => {
            let export = model::export_named(model::config(config)?, args.shell)?;
            let export = model::within(export, args.ultra_ram);
            let folder = folders.join(&export.top);
            create(&folder)?;
            let file = folder.join("design.v");
            output::write(&file, &export.verilog)?;
            (config.to_owned(), export.top, foreign::read(&[file])?, folder)
        }
    };
    let folder = folder.join(args.target.name().replace(' ', "-"));
    create(&folder)?;
    let yosys = pinned_yosys(&ToolOptions::default())?;
    // An older export may be given as a file.
    let own = args.foreign.top.as_deref().is_none_or(|top| top.starts_with("tessera_"));
    let text = |file: &PathBuf| std::fs::read_to_string(file).unwrap_or_default();
    let leaves = own.then(|| leaves(&args.foreign.verilog.iter().map(text).collect::<String>()));
    let flow = Flow { yosys: &yosys, folder, read, top, target: args.target, leaves, details: args.ways };
    let wrong = |error: report::ReportError| Failure::new(error.to_string());
    let mut whole = if args.quick { None } else { Some(flow.run(true)?) };
    let ways = whole.as_mut().and_then(|whole| whole.ways.take());
    let longest = ways.as_ref().and_then(Ways::longest);
    let total = whole.as_ref().map(|whole| whole.stat.total(&flow.top)).transpose().map_err(wrong)?;
    let (mut blocks, mut sum) = (Vec::new(), None);
    if !args.whole {
        let stat = flow.run(false)?.stat;
        blocks = stat.blocks(&flow.top).map_err(wrong)?;
        sum = Some(stat.total(&flow.top).map_err(wrong)?);
    }
    let tables =
        total.as_ref().zip(ways.as_ref()).map(|(total, ways)| total.lut - (ways.pairs + ways.unread) as f64);
    let aims = match (&args.foreign.top, &total) {
        (None, Some(total)) => aims(config, args.target, total, tables, longest),
        _ => Vec::new(),
    };
    let result = Synthesised {
        design,
        top: flow.top.clone(),
        target: args.target,
        yosys: yosys.version().to_owned(),
        tables,
        total,
        sum,
        blocks,
        lut_levels: longest.map(|way| way.luts),
        logic_ps: longest.map(|way| way.ps),
        ways,
        aims,
        seconds: begun.elapsed().as_secs_f64(),
    };
    result.print();
    if let Some(file) = &args.markdown {
        output::write(file, result.markdown())?;
    }
    if let Some(file) = &args.json {
        output::write_json(file, &result)?;
    }
    match before {
        Some(before) => compare(&before, &result)?.judge(args.growth),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DESIGN: &str = "
        module leaf (input clk, input [7:0] a, input [7:0] b, output reg [7:0] y);
            always @(posedge clk) y <= a & b;
        endmodule
        module top (input clk, input [7:0] a, input [7:0] b, output [7:0] y);
            wire [7:0] m;
            leaf one (.clk(clk), .a(a), .b(b), .y(m));
            leaf two (.clk(clk), .a(m), .b(a), .y(y));
        endmodule
    ";

    fn args(folder: &Path, top: &str) -> SynthArgs {
        SynthArgs {
            config: None,
            shell: Shell::default(),
            ultra_ram: None,
            foreign: Foreign {
                verilog: vec![folder.join("design.v")],
                top: Some(top.into()),
                ..Foreign::default()
            },
            target: Target::Ecp5,
            whole: false,
            quick: false,
            ways: 0,
            against: None,
            growth: None,
            json: Some(folder.join("area.json")),
            markdown: Some(folder.join("area.md")),
        }
    }

    /// Somebody's Verilog, of which is known what it takes.
    #[test]
    fn a_design_is_mapped_whole_and_block_by_block() {
        let folder = std::env::temp_dir().join(format!("tessera-synth-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        assert!(run(&args(&folder, "top")).unwrap_err().to_string().contains("there is no file"));
        std::fs::write(folder.join("design.v"), DESIGN).unwrap();
        let refused = run(&args(&folder, "topp")).unwrap_err().to_string();
        assert!(refused.contains("Module `topp' not found") && refused.contains("its log is"), "{refused}");
        run(&args(&folder, "top")).unwrap();
        let json: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(folder.join("area.json")).unwrap()).unwrap();
        assert_eq!((&json["total"]["lut"], &json["total"]["ff"]), (&16.0.into(), &16.0.into()));
        assert_eq!((&json["blocks"][0]["module"], &json["blocks"][0]["count"]), (&"leaf".into(), &2.into()));
        let markdown = std::fs::read_to_string(folder.join("area.md")).unwrap();
        assert!(markdown.contains("| leaf x 2 | 16 | 0 | 16 | 0 | 0 | 0 | 0 |"), "{markdown}");
        // Against itself nothing has changed, against one that took less it has grown.
        let stored = folder.join("area.json");
        let quick = |growth| SynthArgs {
            quick: true,
            json: None,
            markdown: None,
            against: Some(stored.clone()),
            growth: Some(growth),
            ..args(&folder, "top")
        };
        run(&quick(0.0)).unwrap();
        let store = |change: &dyn Fn(&mut serde_json::Value)| {
            let mut less = json.clone();
            change(&mut less);
            std::fs::write(&stored, less.to_string()).unwrap();
        };
        store(&|json| json["sum"]["lut"] = 15.0.into());
        run(&quick(7.0)).unwrap();
        let refused = run(&quick(6.0)).unwrap_err().to_string();
        assert!(refused.contains("more than 6 %: LUT from 15 to 16."), "{refused}");
        for (key, value, says) in [
            ("sum", serde_json::Value::Null, "of a run of the whole only (--whole)"),
            ("target", "series7".into(), "is of 7 series"),
            ("design", "other".into(), "is of the design other"),
            ("blocks", 1.into(), "is no result of `tessera synth --json`"),
        ] {
            store(&|json| json[key] = value.clone());
            let refused = run(&quick(0.0)).unwrap_err().to_string();
            assert!(refused.contains(says), "{refused}");
        }
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn leaves_are_known_by_the_names_of_their_export() {
        let text = "module tessera_box (\nmodule tessera_nic64_axi_dff_12(\nmodule tessera_nic64_axi_fifo(\n";
        let patterns = leaves(text);
        assert_eq!(patterns.len(), 2 * LEAVES.len());
        for pattern in ["tessera_dff_*", "tessera_nic64_axi_dff_*", "tessera_nic64_axi_rom_*"] {
            assert!(patterns.iter().any(|one| one == pattern), "{patterns:?}");
        }
    }

    /// Files that include others, and want to be told a macro and a parameter.
    #[test]
    fn a_design_of_several_files_is_mapped() {
        let folder = std::env::temp_dir().join(format!("tessera-foreign-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("there")).unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
        write("beside.vh", "`define EDGE posedge\n");
        write("there/other.vh", "`define ZERO 1'b0\n");
        write("p.sv", "package p; localparam int ONE = 1; endpackage\n");
        write(
            "design.v",
            "`include \"beside.vh\"
            `include \"other.vh\"
            module top #(parameter W = 3, parameter K = 6, parameter integer S = 1)
                (input clk, input [W*`TIMES-1:0] a, output logic [W*`TIMES-1:0] y);
                generate if (K != 2 * W) $error(\"K does not fit W\"); endgenerate
                generate if (S < 0) $error(\"S is negative\"); endgenerate
                always_ff @(`EDGE clk) y <= a ^ {W*`TIMES{p::ONE[0] ^ `ZERO}};
            endmodule
            ",
        );
        let quick = args(&folder, "top");
        let said = |foreign: &Foreign| {
            run(&SynthArgs { foreign: foreign.clone(), quick: true, ..args(&folder, "top") })
                .map_err(|failure| failure.to_string())
        };
        let mut foreign =
            Foreign { verilog: vec![folder.join("p.sv"), folder.join("design.v")], ..quick.foreign };
        let refused = said(&foreign).unwrap_err();
        assert!(refused.contains("`other.vh'") && refused.contains("folder by --include"), "{refused}");
        foreign.include = vec![folder.join("there")];
        let refused = said(&foreign).unwrap_err();
        assert!(refused.contains("1-design.v") && refused.contains("by --define"), "{refused}");
        foreign.define = vec!["TIMES=2".into()];
        let ffs = || {
            let json = std::fs::read_to_string(folder.join("area.json")).unwrap();
            serde_json::from_str::<serde_json::Value>(&json).unwrap()["sum"]["ff"].as_f64().unwrap()
        };
        said(&foreign).unwrap();
        assert_eq!(ffs(), 6.0);
        // Each without the other makes no sense.
        foreign.parameter = vec!["W=5".into(), "K=10".into()];
        said(&foreign).unwrap();
        assert_eq!(ffs(), 10.0);
        foreign.parameter.push("S=-1".into());
        assert!(said(&foreign).unwrap_err().contains("S is negative"));
        foreign.parameter[2] = "Z=1".into();
        let refused = said(&foreign).unwrap_err();
        assert!(refused.contains("name a parameter of the top module"), "{refused}");
        // Another macro, another design.
        let stored = folder.join("stored.json");
        std::fs::copy(folder.join("area.json"), &stored).unwrap();
        foreign.parameter.truncate(0);
        let other = SynthArgs { foreign, quick: true, against: Some(stored), ..args(&folder, "top") };
        let refused = run(&other).unwrap_err().to_string();
        assert!(refused.contains("is of the design top TIMES=2 W=5 K=10"), "{refused}");
        std::fs::remove_dir_all(folder).unwrap();
    }

    /// What Yosys maps to a device of Xilinx's has ways, by block and in all.
    #[test]
    fn a_design_has_its_ways() {
        let folder = std::env::temp_dir().join(format!("tessera-ways-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("design.v"), DESIGN).unwrap();
        run(&SynthArgs { target: Target::UltrascalePlus, ways: 2, ..args(&folder, "top") }).unwrap();
        let json: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(folder.join("area.json")).unwrap()).unwrap();
        // Clock to output, and the slower or the faster input of a table of two.
        assert!([430, 541].contains(&json["logic_ps"].as_u64().unwrap()), "{json}");
        assert_eq!(json["lut_levels"], 1);
        // Eight registers of each block, and eight outputs, which have only registers before them.
        assert_eq!(
            (&json["ends"], &json["loops"], &json["unknown_cells"]),
            (&24.into(), &0.into(), &serde_json::json!({}))
        );
        let ways = json["ways"].as_array().unwrap();
        assert_eq!((ways.len(), &ways[0]["block"], &ways[0]["luts"]), (3, &"two".into(), &1.into()));
        let starts = |key: &str, with: &str| ways[0][key].as_str().unwrap().starts_with(with);
        assert!(starts("from", "one: m[") && starts("to", "two.y["), "{ways:?}");
        let markdown = std::fs::read_to_string(folder.join("area.md")).unwrap();
        let row = format!("| leaf x 2 | 16 | 0 | 16 | 0 | 0 | 0 | 0 | {} | 1 |", json["logic_ps"]);
        assert!(
            markdown.contains(&row) && markdown.contains("ends of ways: 24, 0 above 3.0 ns"),
            "{markdown}"
        );
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_is_aimed_at_is_judged() {
        let total = Area { lut: 44_001.0, block_ram: 201.5, ..Area::default() };
        let way = Way {
            block: "a".into(),
            from: "a.b".into(),
            to: "a.c".into(),
            ps: 3_900,
            luts: 9,
            carries: 0,
            ends_above_3000_ps: 0,
            ends_above_3900_ps: 0,
            modules: Vec::new(),
        };
        let met: Vec<bool> = aims("nic512", Target::UltrascalePlus, &total, Some(44_000.0), Some(&way))
            .iter()
            .map(|aim| aim.met)
            .collect();
        assert_eq!(met, [false, true, true, true, false]);
        let of = |config| aims(config, Target::UltrascalePlus, &total, None, None).len();
        assert_eq!((of("nic512_plain"), of("nic512_no_vlan"), of("nic256_plain"), of("tiny")), (2, 2, 0, 0));
    }

    #[test]
    fn names_that_scripts_cannot_have_are_refused() {
        assert!(quoted(Path::new("/a b/c.v")).is_err() && quoted(Path::new("/a;b.v")).is_err());
        assert_eq!(quoted(Path::new("/a/b.v")).ok().as_deref(), Some("/a/b.v"));
    }
}
