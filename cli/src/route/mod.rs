//! `tessera route`: a block, or any Verilog, placed and routed in an ECP5, a Gowin or an Artix-7: its clock, by seeds.

mod device;
mod fit;
mod frames;
mod harness;
mod refine;
mod result;
mod xray;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use clap::{Args, ValueEnum};
use serde::Serialize;
use tessera_place::Effort;
use tessera_sim::progress::Progress;
use tessera_sim::tools::{cache_dir, pinned_yosys, placer, Family, Placer, ToolOptions};

use crate::foreign::{self, quoted, Foreign};
use crate::model::{self, Shell};
use crate::output::{self, Failure};
use device::{Device, Grade};
use fit::{excess, taken};
use harness::{harness, TOP};
use result::{hold_violations, median, Placed, Report, Routed, Run};
use xray::Xray;

/// Place and route a block, or any Verilog, in a Lattice ECP5, a Gowin GW5AST or an Artix-7: the clock it closes
#[derive(Args, Debug)]
pub struct RouteArgs {
    /// Configuration of the NIC; NAME_no_PART leaves a part out, NAME_plain all parts
    /// [default: tiny]
    #[arg(long, value_name = "NAME", conflicts_with = "verilog")]
    config: Option<String>,
    /// What the NIC is to be joined to
    #[arg(long, value_enum, default_value_t, conflicts_with = "verilog")]
    shell: Shell,
    /// A block of it, by its module's name, with or without `tessera_` [default: all of it]
    #[arg(long, value_name = "MODULE", conflicts_with = "verilog")]
    block: Option<String>,
    #[command(flatten)]
    foreign: Foreign,
    /// Its clock, unless it is clk, clock, aclk or i_clk; other clocks are taken for data
    #[arg(long, value_name = "PORT")]
    clock: Option<String>,
    /// The device
    #[arg(long, value_enum, default_value_t)]
    device: Device,
    /// A nextpnr of your own for the device's family, as Debian or OSS CAD Suite has it, in place of the pinned one,
    /// which is WebAssembly and takes two to three times as long [env: TESSERA_NEXTPNR]
    #[arg(long, value_name = "PROGRAM")]
    nextpnr: Option<PathBuf>,
    /// Where Project X-Ray is installed, for the bitstream of an Artix-7: its bin/xc7frames2bit and bin/bitread, and
    /// share/prjxray/database (Debian's packages prjxray and prjxray-database) [env: TESSERA_PRJXRAY] [default: /usr]
    #[arg(long, value_name = "FOLDER")]
    prjxray: Option<PathBuf>,
    /// Speed grade of an ECP5 [default: 6, the slowest]
    #[arg(long, value_name = "GRADE", value_enum)]
    speed: Option<Grade>,
    /// Clock to try for, MHz
    #[arg(long, value_name = "MHZ", default_value_t = 100.0)]
    frequency: f64,
    /// How to route: router1 by time, wire after wire; router2 all at once, for what is full
    #[arg(long, value_enum, default_value_t)]
    router: Router,
    /// How to place: heap in minutes; static, as charges that repel each other, takes several times as long for
    /// less wire
    #[arg(long, value_enum, default_value_t)]
    placer: Placing,
    /// For a design that fills an ECP5: map it with wide multiplexers, refine its placement by annealing before it is
    /// routed, so many moves a cell at each temperature (50: a quarter of an hour for 60,000 cells), and let router2
    /// take its time
    #[arg(long, value_name = "ROUNDS", value_parser = clap::value_parser!(u32).range(1..))]
    refine: Option<u32>,
    /// With --refine: what a tile of wire on the longest way costs beyond its wire, in what a tile of wire does (12: a
    /// fifth less time, a fortieth more wire); what is full may then not be routed to its end
    #[arg(long, value_name = "COST", default_value_t = 0.0)]
    mind_time: f32,
    /// Where placement begins
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u32,
    /// So many seeds, from that one on: best and median; with --refine all are placed, and the one with least wire is
    /// routed
    #[arg(long, value_name = "N", default_value_t = 1)]
    seeds: u32,
    /// Write the best of them as a bitstream; pins are where the tool puts them
    #[arg(long, value_name = "FILE")]
    bitstream: Option<PathBuf>,
    /// Write the result as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// nextpnr's routers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
enum Router {
    #[default]
    Router1,
    Router2,
}

impl Router {
    fn name(self) -> &'static str {
        match self {
            Self::Router1 => "router1",
            Self::Router2 => "router2",
        }
    }
}

/// nextpnr's placers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
enum Placing {
    #[default]
    Heap,
    Static,
}

impl Placing {
    fn name(self) -> &'static str {
        match self {
            Self::Heap => "heap",
            Self::Static => "static",
        }
    }
}

/// Runs a tool with its output in a log; its last words if it fails.
fn tool(what: &str, command: &mut Command, log: &Path) -> Result<(), Failure> {
    let cannot = |error: std::io::Error| Failure::new(format!("cannot write {}: {error}", log.display()));
    let out = File::create(log).map_err(cannot)?;
    let errors = out.try_clone().map_err(cannot)?;
    let status = command.stdout(out).stderr(errors).status();
    let status = status.map_err(|error| Failure::new(format!("cannot run {what}: {error}")))?;
    if status.success() {
        return Ok(());
    }
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let said = text.lines().rev().find(|line| line.contains("ERROR")).unwrap_or("no message");
    Err(Failure::new(format!(
        "{what} refuses: {said}{}; its log is {}",
        foreign::remedy(said),
        log.display()
    )))
}

/// What is placed: the folder with `mapped.json`.
struct Mapped<'a> {
    placer: &'a Placer,
    folder: &'a Path,
    args: &'a RouteArgs,
}

impl Mapped<'_> {
    /// nextpnr on a design in the folder. Names are relative: nextpnr sees its own folder.
    fn nextpnr(&self, design: &str, seed: u32) -> Command {
        let mut command = self.placer.nextpnr();
        command
            .current_dir(self.folder)
            .args(self.args.device.options(self.args.speed))
            .args(["--json", design, "--seed", &seed.to_string()])
            .args(["--placer", self.args.placer.name(), "--router", self.args.router.name()])
            .args(["--freq", &self.args.frequency.to_string(), "--timing-allow-fail"]);
        command
    }

    /// One placement, refined.
    fn place(&self, seed: u32, rounds: u32) -> Result<Placed, Failure> {
        let begun = Instant::now();
        let (placed, refined) = (format!("{seed}.placed.json"), format!("{seed}.refined.json"));
        {
            let _progress = Progress::start(format!("placing, seed {seed}"));
            let mut command = self.nextpnr("mapped.json", seed);
            command.args(["--no-route", "--write", &placed]);
            tool("nextpnr", &mut command, &self.folder.join(format!("{seed}.placing.log")))?;
        }
        let effort = Effort { rounds, seed: u64::from(seed), time: self.args.mind_time };
        let made =
            refine::refine(&self.folder.join(placed), &self.folder.join(&refined), effort, self.args.router)?;
        Ok(Placed { seed, design: refined, refined: made, seconds: begun.elapsed().as_secs_f64() })
    }

    fn route(&self, seed: u32, placed: Option<&Placed>) -> Result<(Run, Report), Failure> {
        let begun = Instant::now();
        let mut command = match placed {
            Some(placed) => {
                let mut command = self.nextpnr(&placed.design, seed);
                command.args(["--no-pack", "--no-place"]);
                command
            }
            None => self.nextpnr("mapped.json", seed),
        };
        command.args(self.args.device.result(seed)).args(["--report", &format!("{seed}.report")]);
        let what = if placed.is_some() { "routing" } else { "placing and routing" };
        let _progress = Progress::start(format!("{what}, seed {seed}"));
        let log = self.folder.join(format!("{seed}.log"));
        tool("nextpnr", &mut command, &log)?;
        let hold_violations = hold_violations(&std::fs::read_to_string(&log).unwrap_or_default());
        let file = self.folder.join(format!("{seed}.report"));
        let wrong = |error: String| Failure::new(format!("nextpnr's report {}: {error}", file.display()));
        let text = std::fs::read_to_string(&file).map_err(|error| wrong(error.to_string()))?;
        let report: Report = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        let mhz = report.fmax.values().map(|clock| clock.achieved).reduce(f64::min);
        let mhz = mhz.ok_or_else(|| wrong("there is no clock in it".into()))?;
        let refined = placed.map(|placed| placed.refined);
        let seconds = begun.elapsed().as_secs_f64() + placed.map_or(0.0, |placed| placed.seconds);
        Ok((Run { seed, mhz, hold_violations, refined, seconds }, report))
    }

    fn pack(&self, seed: u32, xray: Option<&Xray>, to: &Path) -> Result<(), Failure> {
        let made = self.folder.join("design.bit");
        if let Some(xray) = xray {
            let _progress = Progress::start("making the bitstream");
            xray.pack(&self.folder.join(format!("{seed}.config")), &made)?;
        } else {
            let mut command = self.placer.pack()?;
            command.current_dir(self.folder).args(self.args.device.pack(seed));
            tool("what makes bitstreams", &mut command, &self.folder.join("pack.log"))?;
        }
        let bytes = std::fs::read(&made)
            .map_err(|error| Failure::new(format!("cannot read {}: {error}", made.display())))?;
        output::write(to, bytes)
    }
}

/// What is placed, its top module, how Yosys reads it, and a folder for all that.
fn sources(args: &RouteArgs) -> Result<(String, String, String, PathBuf), Failure> {
    let folders = cache_dir().join("route");
    let create = |folder: &Path| {
        std::fs::create_dir_all(folder)
            .map_err(|error| Failure::new(format!("cannot create {}: {error}", folder.display())))
    };
    if let Some(top) = &args.foreign.top {
        let folder = folders.join(args.foreign.digest());
        create(&folder)?;
        let design = args.foreign.design().unwrap_or_default();
        return Ok((design, top.clone(), args.foreign.read(&folder)?, folder));
    }
    let config = args.config.as_deref().unwrap_or("tiny");
    let export = model::export_named(model::config(config)?, args.shell)?;
    let (design, top) = match &args.block {
        Some(block) => {
            let short = block.trim_start_matches("tessera_");
            (format!("{short} of {config}"), format!("tessera_{short}"))
        }
        None => (config.to_owned(), export.top.clone()),
    };
    let folder = folders.join(format!("{}-{top}", export.top));
    create(&folder)?;
    if !export.verilog.contains(&format!("module {top}("))
        && !export.verilog.contains(&format!("module {top} ("))
    {
        return Err(Failure::new(format!(
            "{config} has no block {top}: `cargo tessera synth --config {config} --quick` lists them"
        )));
    }
    let file = folder.join("design.v");
    output::write(&file, &export.verilog)?;
    Ok((design, top, foreign::read(&[file])?, folder))
}

pub fn run(args: &RouteArgs) -> Result<(), Failure> {
    for file in args.json.iter().chain(&args.bitstream) {
        output::check_writable(file)?;
    }
    args.foreign.check()?;
    if args.seeds == 0 || !args.frequency.is_finite() || args.frequency <= 0.0 {
        return Err(Failure::new("--seeds is at least 1, --frequency more than 0"));
    }
    if args.speed.is_some() && args.device.family() != Family::Ecp5 {
        return Err(Failure::new(format!(
            "--speed is a grade of an ECP5, the {} has one only: leave it out",
            args.device.name()
        )));
    }
    if !(0.0..=1e3).contains(&args.mind_time) || args.mind_time != 0.0 && args.refine.is_none() {
        return Err(Failure::new("--mind-time is from 0 to 1000, and part of --refine"));
    }
    if args.refine.is_some() && args.device.family() != Family::Ecp5 {
        return Err(Failure::new(format!(
            "--refine knows an ECP5's tiles only, not those of the {}: leave it out, or take --device 85k",
            args.device.name()
        )));
    }
    // Looked for before the hours that placing takes.
    let xray = match args.device.xray() {
        Some((family, part)) if args.bitstream.is_some() => {
            Some(Xray::find(args.prjxray.as_deref(), family, part)?)
        }
        _ => None,
    };
    let begun = Instant::now();
    let (design, top, read, folder) = sources(args)?;
    let options = ToolOptions { nextpnr: args.nextpnr.clone(), ..ToolOptions::default() };
    let yosys = pinned_yosys(&options)?;
    let placer = placer(args.device.family(), &options)?;
    let script = |name: &str, text: String, what: String| {
        let file = folder.join(format!("{name}.ys"));
        output::write(&file, text)?;
        let _progress = Progress::start(what);
        tool("Yosys", &mut yosys.script(&file), &folder.join(format!("{name}.log")))
    };
    let at = |name: &str| quoted(&folder.join(name));
    let text = |name: &str| {
        std::fs::read_to_string(folder.join(name))
            .map_err(|error| Failure::new(format!("cannot read {}: {error}", folder.join(name).display())))
    };
    let ports = format!(
        "{read}hierarchy -check -top {top}\nselect {top}\nproc\nwrite_json -selected {}\n",
        at("ports.json")?
    );
    script("ports", ports, format!("reading {top}"))?;
    let harness = harness(&top, &text("ports.json")?, args.clock.as_deref())
        .map_err(|error| Failure::new(error.to_string()))?;
    output::write(&folder.join("harness.v"), &harness.verilog)?;
    let device = args.device;
    if let Some((file, text)) = device.pins() {
        output::write(&folder.join(file), text)?;
    }
    let map = format!(
        "{read}read_verilog {}\n{}\ntee -q -o {} stat -json\n",
        at("harness.v")?,
        device.map(TOP, &at("mapped.json")?, args.refine.is_some()),
        at("mapped.stat")?
    );
    script("map", map, format!("mapping {top} to {}", device.name()))?;
    if let Some(excess) = excess(taken(device, &text("mapped.stat")?)?, device) {
        return Err(Failure::new(format!(
            "{design} does not fit in a device {}: it takes {excess}. Take a larger --device, a smaller --config, or a \
             --block of it",
            device.name()
        )));
    }
    let mapped = Mapped { placer: &placer, folder: &folder, args };
    let mut runs: Vec<Run> = Vec::new();
    let mut used = BTreeMap::new();
    let seeds = args.seed..args.seed.saturating_add(args.seeds);
    // Routing what is full takes as long as placing it three times, and more wire is the less likely to be routed.
    let placements = args
        .refine
        .map(|rounds| seeds.clone().map(|seed| mapped.place(seed, rounds)).collect::<Result<Vec<_>, _>>())
        .transpose()?
        .unwrap_or_default();
    let least = placements.iter().min_by_key(|placed| placed.refined.after.wire);
    let to_route = match least {
        Some(placed) => vec![(placed.seed, Some(placed))],
        None => seeds.map(|seed| (seed, None)).collect(),
    };
    for (seed, placed) in to_route {
        let (run, report) = mapped.route(seed, placed)?;
        for (what, cells) in device.resources().into_iter().zip(device.reported()) {
            let of = |(cell, each): &(&str, usize)| Some(report.utilization.get(*cell)?.used * each);
            used.insert(what, cells.iter().filter_map(of).sum());
        }
        runs.push(run);
    }
    let best = runs
        .iter()
        .max_by(|a, b| a.mhz.total_cmp(&b.mhz))
        .map_or((args.seed, 0.0), |run| (run.seed, run.mhz));
    if let Some(file) = &args.bitstream {
        mapped.pack(best.0, xray.as_ref(), file)?;
    }
    let result = Routed {
        design,
        top,
        device,
        speed_grade: device.speed(args.speed),
        yosys: yosys.version().to_owned(),
        nextpnr: placer.version().to_owned(),
        placer: args.placer,
        router: args.router,
        used,
        available: device.resources().into_iter().zip(device.has()).collect(),
        harness: harness.own,
        best_mhz: best.1,
        median_mhz: median(runs.iter().map(|run| run.mhz).collect()),
        runs,
        placements,
        seconds: begun.elapsed().as_secs_f64(),
    };
    result.print();
    if let Some(file) = &args.json {
        output::write_json(file, &result)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two stages of eight bits, and an output that nobody would miss but for the harness.
    const DESIGN: &str = "
        module pair (input clock, input [7:0] a, input [7:0] b, output reg [7:0] y, output reg z);
            reg [7:0] m;
            always @(posedge clock) begin
                m <= a & b;
                y <= m ^ b;
                z <= &a;
            end
        endmodule
    ";

    fn args(folder: &Path) -> RouteArgs {
        RouteArgs {
            config: None,
            shell: Shell::default(),
            block: None,
            foreign: Foreign {
                verilog: vec![folder.join("design.v")],
                top: Some("pair".into()),
                ..Foreign::default()
            },
            clock: None,
            device: Device::E25,
            speed: Some(Grade::Seven),
            nextpnr: None,
            prjxray: None,
            frequency: 100.0,
            placer: Placing::Static,
            router: Router::Router2,
            refine: None,
            mind_time: 0.0,
            seed: 3,
            seeds: 2,
            bitstream: Some(folder.join("pair.bit")),
            json: Some(folder.join("pair.json")),
        }
    }

    #[test]
    fn a_design_is_placed_and_routed() {
        let folder = std::env::temp_dir().join(format!("tessera-route-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        assert!(run(&args(&folder)).unwrap_err().to_string().contains("there is no file"));
        std::fs::write(folder.join("design.v"), DESIGN).unwrap();
        let refused = run(&RouteArgs { seeds: 0, ..args(&folder) }).unwrap_err().to_string();
        assert!(refused.contains("--seeds"), "{refused}");
        let refused = run(&RouteArgs { clock: Some("clk".into()), ..args(&folder) }).unwrap_err().to_string();
        assert!(refused.contains("no port clk: its inputs of one bit are clock"), "{refused}");
        run(&args(&folder)).unwrap();
        let json: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(folder.join("pair.json")).unwrap()).unwrap();
        // 17 of the design; 16 in, 9 out, then 3 and 1.
        assert_eq!((&json["used"]["FF"], &json["speed_grade"]), (&(17 + 16 + 9 + 3 + 1).into(), &"7".into()));
        assert_eq!(json["harness"], serde_json::json!({"lut": 3, "ff": 29}));
        let mhz: Vec<f64> =
            json["runs"].as_array().unwrap().iter().map(|run| run["mhz"].as_f64().unwrap()).collect();
        assert!(mhz.len() == 2 && mhz.iter().all(|mhz| (100.0..2000.0).contains(mhz)), "{mhz:?}");
        assert_eq!(json["best_mhz"].as_f64().unwrap(), mhz[0].max(mhz[1]));
        // Of a bitstream's beginning the tool says what it is.
        assert!(std::fs::metadata(folder.join("pair.bit")).unwrap().len() > 100_000);
        std::fs::remove_dir_all(folder).unwrap();
    }

    /// The same in a device of another maker's, by another tool.
    #[test]
    fn a_design_is_placed_and_routed_in_a_gowin() {
        let folder = std::env::temp_dir().join(format!("tessera-gowin-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("design.v"), DESIGN).unwrap();
        let (placer, router) = (Placing::Heap, Router::Router1);
        let gowin = RouteArgs { device: Device::Gw5ast138, seeds: 1, placer, router, ..args(&folder) };
        let refused = run(&gowin).unwrap_err().to_string();
        assert!(refused.contains("--speed") && refused.contains("GW5AST"), "{refused}");
        run(&RouteArgs { speed: None, ..gowin }).unwrap();
        let json: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(folder.join("pair.json")).unwrap()).unwrap();
        assert_eq!((&json["used"]["FF"], &json["available"]["LUT4"]), (&46.into(), &138_240.into()));
        assert_eq!((&json["device"], &json["speed_grade"]), (&"gw5ast-138".into(), &"C1/I0".into()));
        let mhz = json["best_mhz"].as_f64().unwrap();
        assert!((100.0..2000.0).contains(&mhz), "{mhz}");
        // A line of zeros and ones for each frame.
        let bits = std::fs::read_to_string(folder.join("pair.bit")).unwrap();
        assert!(bits.lines().filter(|line| line.bytes().all(|c| b"01".contains(&c))).count() > 1_000);
        std::fs::remove_dir_all(folder).unwrap();
    }

    /// Refined in between: nextpnr routes what it is given, and the rest is as without.
    #[test]
    fn a_placement_is_refined() {
        let folder = std::env::temp_dir().join(format!("tessera-refine-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("design.v"), DESIGN).unwrap();
        for (refine, mind_time) in [(None, 12.0), (Some(2), -1.0), (Some(2), f32::NAN)] {
            let refused = run(&RouteArgs { refine, mind_time, ..args(&folder) }).unwrap_err().to_string();
            assert!(refused.contains("--mind-time"), "{refused}");
        }
        let args = RouteArgs { refine: Some(2), mind_time: 12.0, seeds: 2, ..args(&folder) };
        let gowin =
            RouteArgs { device: Device::Gw5ast138, speed: None, ..RouteArgs { refine: Some(2), ..args } };
        let refused = run(&gowin).unwrap_err().to_string();
        assert!(refused.contains("--refine") && refused.contains("GW5AST"), "{refused}");
        run(&RouteArgs { device: Device::E25, ..gowin }).unwrap();
        let json: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(folder.join("pair.json")).unwrap()).unwrap();
        assert_eq!(json["used"]["FF"], 17 + 16 + 9 + 3 + 1);
        // Both are placed, the one with less wire is routed.
        let after = |placed: usize| json["placements"][placed]["refined"]["after"]["wire"].as_u64().unwrap();
        let (runs, refined) = (json["runs"].as_array().unwrap(), &json["runs"][0]["refined"]);
        let wire = |which: &str| refined[which]["wire"].as_u64().unwrap();
        assert_eq!((runs.len(), wire("after")), (1, after(0).min(after(1))));
        assert!(refined["units"].as_u64().unwrap() > 30 && wire("after") < 2 * wire("before"), "{refined}");
        assert!(std::fs::metadata(folder.join("pair.bit")).unwrap().len() > 100_000);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_bitstream_without_its_tools_is_refused_at_once() {
        let folder = std::env::temp_dir().join(format!("tessera-artix-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("design.v"), DESIGN).unwrap();
        let args = RouteArgs {
            device: Device::Xc7a200t,
            speed: None,
            prjxray: Some(folder.clone()),
            ..args(&folder)
        };
        let refused = run(&args).unwrap_err().to_string();
        assert!(refused.contains("bin/xc7frames2bit") && refused.contains("prjxray-database"), "{refused}");
        std::fs::remove_dir_all(folder).unwrap();
    }
}
