//! `tessera synth`: what a configuration takes of an FPGA, by an open flow.

mod report;

use std::fmt::Write as _;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::{Args, ValueEnum};
use serde::Serialize;
use sha2::{Digest, Sha256};
use tessera_sim::progress::Progress;
use tessera_sim::tools::{cache_dir, synthesis, Synthesis, ToolOptions};

use crate::model::{self, Shell};
use crate::output::{self, Failure};
use report::{latest_arrival, levels, Area, Block, Statistics};

/// Map a configuration, or any Verilog, to an FPGA's cells: area by block, longest way
#[derive(Args, Debug)]
pub struct SynthArgs {
    /// Configuration of the NIC [default: nic512]
    #[arg(long, value_name = "NAME", conflicts_with = "verilog")]
    config: Option<String>,
    /// What the NIC is to be joined to
    #[arg(long, value_enum, default_value_t, conflicts_with = "verilog")]
    shell: Shell,
    /// Verilog of somebody else's, through the same flow; may be given several times
    #[arg(long, value_name = "FILE", requires = "top")]
    verilog: Vec<PathBuf>,
    /// Its top module
    #[arg(long, value_name = "MODULE", requires = "verilog")]
    top: Option<String>,
    /// Family of the FPGA
    #[arg(long, value_enum, default_value_t)]
    target: Target,
    /// The whole only, not block by block: half the time
    #[arg(long)]
    whole: bool,
    /// Write the result as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the tables as Markdown
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
}

/// Families of FPGAs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Target {
    /// AMD UltraScale+: Alveo, VCU118
    #[default]
    #[value(name = "ultrascale+")]
    UltrascalePlus,
    /// AMD 7 series
    #[value(name = "7series")]
    Series7,
    /// Lattice ECP5
    Ecp5,
}

impl Target {
    fn name(self) -> &'static str {
        match self {
            Self::UltrascalePlus => "UltraScale+",
            Self::Series7 => "7 series",
            Self::Ecp5 => "ECP5",
        }
    }

    fn pass(self, top: &str, flat: bool) -> String {
        let xilinx = |family: &str| {
            let flatten = if flat { " -flatten" } else { "" };
            format!("synth_xilinx -family {family} -top {top} -noclkbuf -noiopad{flatten}")
        };
        match self {
            Self::UltrascalePlus => xilinx("xcup"),
            Self::Series7 => xilinx("xc7"),
            Self::Ecp5 => format!("synth_ecp5 -top {top}{}", if flat { "" } else { " -noflatten" }),
        }
    }

    /// Whether Yosys knows how long its cells take.
    fn is_timed(self) -> bool {
        self != Self::Ecp5
    }
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
    /// Of the design as one, which is what a vendor's tool maps too.
    total: Area,
    /// Of its blocks, each mapped alone: what is optimised over their edges is not.
    blocks: Vec<Block>,
    /// LUTs on the way that takes longest.
    lut_levels: Option<usize>,
    /// How long that takes in cells alone, without wires.
    logic_ps: Option<u64>,
    aims: Vec<Aim>,
    seconds: f64,
}

/// One run of Yosys: the statistics, and what it says of ways.
struct Mapped {
    stat: Statistics,
    levels: Option<usize>,
    arrival: Option<u64>,
}

struct Flow<'a> {
    yosys: &'a Synthesis,
    folder: PathBuf,
    sources: Vec<PathBuf>,
    top: String,
    target: Target,
}

/// A file name as Yosys's scripts take it.
fn quoted(path: &Path) -> Result<String, Failure> {
    let text = path.to_string_lossy();
    if text.contains(['"', '\n', ' ', ';', '#']) {
        return Err(Failure::new(format!(
            "Yosys's scripts cannot name {}: move it to a path without spaces and quotes",
            path.display()
        )));
    }
    Ok(text.into_owned())
}

impl Flow<'_> {
    fn run(&self, flat: bool) -> Result<Mapped, Failure> {
        let kind = if flat { "whole" } else { "blocks" };
        let at = |name: &str| self.folder.join(format!("{kind}.{name}"));
        let mut script = String::new();
        for source in &self.sources {
            let _ = writeln!(script, "read_verilog -sv {}", quoted(source)?);
        }
        let _ = writeln!(script, "hierarchy -check -top {}", self.top);
        let _ = writeln!(script, "{}", self.target.pass(&self.top, flat));
        let _ = writeln!(script, "tee -q -o {} stat -json", quoted(&at("stat"))?);
        if flat && self.target.is_timed() {
            let _ = writeln!(script, "tee -q -o {} sta", quoted(&at("sta"))?);
        }
        let file = at("ys");
        output::write(&file, &script)?;
        let log = at("log");
        let cannot = |error: std::io::Error| Failure::new(format!("cannot write {}: {error}", log.display()));
        let out = File::create(&log).map_err(cannot)?;
        let what = if flat { "the whole" } else { "block by block" };
        let _progress = Progress::start(format!("mapping {} to {}, {what}", self.top, self.target.name()));
        let errors = out.try_clone().map_err(cannot)?;
        let status = self.yosys.script(&file)?.stdout(out).stderr(errors).status();
        let status = status.map_err(|error| Failure::new(format!("cannot run Yosys: {error}")))?;
        if !status.success() {
            let text = std::fs::read_to_string(&log).unwrap_or_default();
            let said = text.lines().rev().find(|line| line.contains("ERROR")).unwrap_or("no message");
            return Err(Failure::new(format!(
                "Yosys refuses {}: {said}; its log is {}",
                self.top,
                log.display()
            )));
        }
        let read = |name: &str| std::fs::read_to_string(at(name)).unwrap_or_default();
        let stat = Statistics::parse(&read("stat")).map_err(|error| Failure::new(error.to_string()))?;
        let sta = read("sta");
        Ok(Mapped { stat, levels: levels(&sta), arrival: latest_arrival(&sta) })
    }
}

/// What `nic512` is to take at most: a tenth of an Alveo U55C's block RAMs, and a clock of 250 MHz by
/// the estimate (docs/fpga.md).
fn aims(config: &str, target: Target, total: &Area, whole: &Mapped) -> Vec<Aim> {
    if config != "nic512" || target != Target::UltrascalePlus {
        return Vec::new();
    }
    let aim = |what, at_most, is: f64| Aim { what, at_most, is, met: is <= at_most };
    let mut aims = vec![aim("LUT", 44_000.0, total.lut), aim("block RAM", 201.6, total.block_ram)];
    aims.extend(whole.arrival.map(|ps| aim("logic on the longest way, ps", 3_900.0, ps as f64)));
    aims.extend(whole.levels.map(|levels| aim("LUTs on the longest way", 8.0, levels as f64)));
    aims
}

fn row(name: &str, area: &Area) -> [String; 8] {
    let n = |value: f64| if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.1}") };
    [
        name.into(),
        n(area.lut),
        n(area.lut_ram),
        n(area.ff),
        n(area.block_ram),
        n(area.ultra_ram),
        n(area.dsp),
        n(area.carry),
    ]
}

const HEAD: [&str; 8] = ["", "LUT", "as RAM", "FF", "block RAM", "UltraRAM", "DSP", "carry"];

impl Synthesised {
    fn rows(&self) -> Vec<[String; 8]> {
        let name = |block: &Block| match block.count {
            1 => block.module.clone(),
            count => format!("{} x {count}", block.module),
        };
        let mut rows = vec![row("all", &self.total)];
        rows.extend(self.blocks.iter().map(|block| row(&name(block), &block.area)));
        rows
    }

    fn way(&self) -> String {
        let way = self.lut_levels.map(|luts| format!("longest way: {luts} LUTs"));
        let time = self.logic_ps.map(|ps| format!("{:.2} ns of logic", ps as f64 / 1000.0));
        way.into_iter().chain(time).collect::<Vec<_>>().join(", ")
    }

    fn print(&self) {
        println!("{} on {}, {} ({:.0} s)", self.design, self.target.name(), self.yosys, self.seconds);
        let rows = self.rows();
        let width = rows.iter().map(|row| row[0].len()).max().unwrap_or(0);
        for row in std::iter::once(&HEAD.map(String::from)).chain(&rows) {
            let cells: Vec<String> = row[1..].iter().map(|cell| format!("{cell:>9}")).collect();
            println!("  {:<width$}{}", row[0], cells.join(" "));
        }
        println!("  {}", self.way());
        for aim in &self.aims {
            let verdict = if aim.met { "met" } else { "not met" };
            println!("  {}: {} of {} at most, {verdict}", aim.what, aim.is, aim.at_most);
        }
    }

    fn markdown(&self) -> String {
        let mut text = format!("### {} on {}\n\n", self.design, self.target.name());
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        text += &line(&HEAD.map(String::from));
        text += &line(&HEAD.map(|_| "---".to_string()));
        self.rows().iter().for_each(|row| text += &line(row));
        let _ = write!(text, "\n{}. {}, {:.0} s.", self.way(), self.yosys, self.seconds);
        for aim in &self.aims {
            let verdict = if aim.met { "met" } else { "**not met**" };
            let _ = write!(text, " {}: {} of {} at most, {verdict}.", aim.what, aim.is, aim.at_most);
        }
        text + "\n"
    }
}

pub fn run(args: &SynthArgs) -> Result<(), Failure> {
    for file in args.json.iter().chain(&args.markdown) {
        output::check_writable(file)?;
    }
    for file in &args.verilog {
        if !file.is_file() {
            return Err(Failure::new(format!("there is no file {}", file.display())));
        }
    }
    let begun = Instant::now();
    let folders = cache_dir().join("synth");
    let create = |folder: &Path| {
        std::fs::create_dir_all(folder)
            .map_err(|error| Failure::new(format!("cannot create {}: {error}", folder.display())))
    };
    let config = args.config.as_deref().unwrap_or("nic512");
    let (design, top, sources, folder) = match &args.top {
        Some(top) => {
            let names: Vec<_> = args.verilog.iter().map(|file| file.to_string_lossy()).collect();
            let digest = Sha256::digest(names.join("\n"));
            let name: String = digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
            // Beside the script: the pinned Yosys does not see every folder.
            let folder = folders.join(name);
            create(&folder)?;
            let copy = |(number, file): (usize, &PathBuf)| {
                let to = folder.join(format!("{number}.v"));
                let copied = std::fs::copy(file, &to);
                copied
                    .map(|_| to)
                    .map_err(|error| Failure::new(format!("cannot read {}: {error}", file.display())))
            };
            let sources = args.verilog.iter().enumerate().map(copy).collect::<Result<Vec<_>, _>>()?;
            (top.clone(), top.clone(), sources, folder)
        }
        None => {
            let export = model::export_release(model::config(config)?, args.shell)?;
            let folder = folders.join(&export.top);
            create(&folder)?;
            let file = folder.join("design.v");
            output::write(&file, &export.verilog)?;
            (config.to_owned(), export.top, vec![file], folder)
        }
    };
    let folder = folder.join(args.target.name().replace(' ', "-"));
    create(&folder)?;
    let yosys = synthesis(&ToolOptions::default())?;
    let flow = Flow { yosys: &yosys, folder, sources, top, target: args.target };
    let whole = flow.run(true)?;
    let wrong = |error: report::ReportError| Failure::new(error.to_string());
    let total = whole.stat.total(&flow.top).map_err(wrong)?;
    let mut blocks = Vec::new();
    if !args.whole {
        blocks = flow.run(false)?.stat.blocks(&flow.top).map_err(wrong)?;
    }
    let aims = match args.top {
        Some(_) => Vec::new(),
        None => aims(config, args.target, &total, &whole),
    };
    let result = Synthesised {
        design,
        top: flow.top.clone(),
        target: args.target,
        yosys: yosys.version().to_owned(),
        total,
        blocks,
        lut_levels: whole.levels,
        logic_ps: whole.arrival,
        aims,
        seconds: begun.elapsed().as_secs_f64(),
    };
    result.print();
    if let Some(file) = &args.markdown {
        output::write(file, result.markdown())?;
    }
    args.json.as_ref().map_or(Ok(()), |file| output::write_json(file, &result))
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
            verilog: vec![folder.join("design.v")],
            top: Some(top.into()),
            target: Target::Ecp5,
            whole: false,
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
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_is_aimed_at_is_judged() {
        let total = Area { lut: 44_001.0, block_ram: 201.5, ..Area::default() };
        let whole = Mapped {
            stat: Statistics::parse("{\"modules\":{}}").unwrap(),
            levels: Some(9),
            arrival: Some(3_900),
        };
        let met: Vec<bool> =
            aims("nic512", Target::UltrascalePlus, &total, &whole).iter().map(|aim| aim.met).collect();
        assert_eq!(met, [false, true, true, false]);
        assert!(aims("tiny", Target::UltrascalePlus, &total, &whole).is_empty());
    }

    #[test]
    fn names_that_scripts_cannot_have_are_refused() {
        assert!(quoted(Path::new("/a b/c.v")).is_err() && quoted(Path::new("/a;b.v")).is_err());
        assert_eq!(quoted(Path::new("/a/b.v")).ok().as_deref(), Some("/a/b.v"));
    }
}
