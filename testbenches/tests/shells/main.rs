//! `fpga/shells`: the NIC in the box of an OpenNIC, linted and its own logic simulated; its
//! ports as LiteX has them, compared; and in SoCs that LiteX makes, simulated. `cargo test -p tessera-testbenches --test shells`; docs/shells.md.

mod litex;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use tessera_abi::params::Config;
use tessera_rtl::emit::{Direction, Export};
use tessera_sim::exported;
use tessera_sim::tb::{self, cycle, Agent, AxisDriver, AxisMonitor, Pattern};
use tessera_sim::tools::{self, ToolOptions};
use tessera_sim::verilator::{Design, Dut, Port, PortId};

const BOX: &str = include_str!("../../../fpga/shells/opennic_box.v");
const LITEX: &str = include_str!("../../../fpga/shells/tessera_litex.py");

fn axi(name: &str) -> Export {
    let config = Config::by_name(name).unwrap_or_else(|| panic!("there is no {name}"));
    exported::axi_nic(config).unwrap_or_else(|error| panic!("{error}"))
}

fn folder(test: &str) -> PathBuf {
    let folder = tools::cache_dir().join("checks").join(format!("shells-{test}"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    folder
}

#[test]
fn the_box_of_an_opennic_is_linted_with_the_nic() {
    let folder = folder("opennic");
    let verilator =
        tools::pinned_verilator(&ToolOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let whole = axi("nic512");
    // Its ports, for what is wrong at them: nothing in it reads or drives them.
    let ports = whole.verilog.find(&format!("module {} (", whole.top)).expect("the top is there");
    let ports = whole.verilog[ports..].split_inclusive("\n);\n").next().expect("its ports end");
    let hollow = format!("{ports}endmodule\n");
    let lint = |nic: &str, text: &str, loose: &[&str]| {
        std::fs::write(folder.join("nic.v"), nic).expect("the folder was just made");
        std::fs::write(folder.join("box.v"), text).expect("the folder was just made");
        let output = verilator
            .command()
            .args(["--lint-only", "-Wall", "-Wno-DECLFILENAME"])
            .args(loose)
            .args(["--top-module", "tessera_opennic_box", "nic.v", "box.v"])
            .current_dir(&folder)
            .output()
            .unwrap_or_else(|error| panic!("{error}"));
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (ok, said) = lint(&whole.verilog, BOX, &[]);
    assert!(ok, "{said}");
    // What is wired wrong is said: a width, and a port left out.
    let at_ports =
        |text: &str| lint(&hollow, text, &["-Wno-UNUSEDSIGNAL", "-Wno-UNDRIVEN", "-Wno-TIMESCALEMOD"]);
    let (ok, said) = at_ports(BOX);
    assert!(ok, "{said}");
    let narrow = "    input  wire [1:0] m_axi_rresp,";
    assert!(BOX.contains(narrow));
    let (ok, said) = at_ports(&BOX.replace(narrow, "    input  wire [0:0] m_axi_rresp,"));
    assert!(!ok && said.contains("WIDTH"), "{said}");
    let (ok, said) = at_ports(&BOX.replace("        .m_axi_wstrb(m_axi_wstrb),\n", ""));
    assert!(!ok && said.contains("PINMISSING"), "{said}");
}

/// The size that is said beside each beat, and whether the beat is a frame's last.
struct Sizes {
    valid: PortId,
    ready: PortId,
    last: PortId,
    size: PortId,
    said: Vec<(u64, bool)>,
}

impl Agent for Sizes {
    fn drive(&mut self, _: &mut Dut) {}

    fn sample(&mut self, dut: &Dut) {
        if dut.sampled(self.valid) != 0 && dut.sampled(self.ready) != 0 {
            self.said.push((dut.sampled(self.size), dut.sampled(self.last) != 0));
        }
    }
}

#[test]
fn frames_leave_whole_and_with_their_size() {
    // The wrapper's own logic, without the NIC.
    let text = BOX.split_once("module tessera_opennic_size").expect("the module is there").1;
    let ports = vec![
        Port::clock("clk"),
        Port::input("rst", 1),
        Port::input("s_tdata", 512),
        Port::input("s_tkeep", 64),
        Port::input("s_tvalid", 1),
        Port::output("s_tready", 1),
        Port::input("s_tlast", 1),
        Port::output("m_tdata", 512),
        Port::output("m_tkeep", 64),
        Port::output("m_tvalid", 1),
        Port::input("m_tready", 1),
        Port::output("m_tlast", 1),
        Port::output("m_size", 16),
    ];
    let design = Design::new("tessera_opennic_size", format!("module tessera_opennic_size{text}"), ports);
    tb::run("shells::opennic_size", &design, |dut, rng| {
        for (idle, stall) in Pattern::matrix() {
            let rst = dut.port("rst").unwrap();
            dut.reset(rst, 2);
            let mut input = AxisDriver::new(dut, "s", idle, rng).unwrap();
            let mut output = AxisMonitor::new(dut, "m", stall, rng).unwrap();
            let port = |name: &str| dut.port(name).unwrap();
            let mut sizes = Sizes {
                valid: port("m_tvalid"),
                ready: port("m_tready"),
                last: port("m_tlast"),
                size: port("m_size"),
                said: Vec::new(),
            };
            let mut frames = Vec::new();
            for round in 0..120 {
                // The longest that the NIC sends; many short ones, more than sizes are kept.
                let len = match round % 4 {
                    0 => rng.range(4200..4400),
                    1 => 64 * rng.range(1..4),
                    _ => rng.range(1..200),
                };
                let frame = rng.bytes(len as usize);
                input.send(frame.clone());
                frames.push(frame);
            }
            let mut got = Vec::new();
            for _ in 0..40_000 {
                cycle(dut, &mut [&mut input, &mut output, &mut sizes]);
                got.extend(std::iter::from_fn(|| output.take()).map(|frame| frame.bytes));
                if got.len() == frames.len() {
                    break;
                }
            }
            assert!(got == frames, "{idle:?}/{stall:?}: {} of {} frames", got.len(), frames.len());
            let due = frames.iter().flat_map(|frame| {
                let beats = frame.len().div_ceil(64);
                (1..=beats).map(move |beat| (frame.len() as u64, beat == beats))
            });
            assert!(sizes.said.iter().copied().eq(due), "{idle:?}/{stall:?}: a size is another");
        }
    });
}

/// LiteX's classes as far as `tessera_litex.py` uses them: names of its interfaces, and no others.
const STAND_IN: &str = r#"
import sys, types

class Named:
    def __init__(self, name): self.name = name
    def __getitem__(self, bits): return Named(f"{self.name}[{bits.start or 0}:{bits.stop}]")

class Channel:
    def __init__(self, *fields): self.__dict__.update({f: Named(f) for f in ("valid", "ready", "first", "last") + fields})

class AXILiteInterface:
    def __init__(self, data_width, address_width):
        # LiteX's own adapters between its buses compare widths.
        assert (data_width, address_width) == (32, 32)
        self.aw, self.ar = Channel("addr", "prot"), Channel("addr", "prot")
        self.w, self.b, self.r = Channel("data", "strb"), Channel("resp"), Channel("resp", "data")

class AXIInterface:
    def __init__(self, data_width, address_width, id_width):
        a = ("addr", "burst", "len", "size", "lock", "prot", "cache", "qos", "region", "id", "dest", "user")
        self.aw, self.ar = Channel(*a), Channel(*a)
        self.w = Channel("data", "strb", "id", "dest", "user")
        self.b, self.r = Channel("resp", "id", "dest", "user"), Channel("resp", "data", "id", "dest", "user")

class Specials(list):
    def __iadd__(self, special): self.append(special); return self

class LiteXModule:
    def __init_subclass__(cls): cls.specials = Specials()

def Instance(of, **ports):
    print(f"of {of}")
    for name in ports: print(name)
    for way in "aw", "ar": assert ports[f"i_s_axil_{way}addr"].name == "addr[0:21]", "the window is 2 MiB"
    return of

def module(name, **content):
    made = types.ModuleType(name)
    made.__dict__.update(content)
    sys.modules[name] = made
    return made

module("migen", ClockSignal=Named, ResetSignal=Named, Signal=lambda: Named("signal"), Instance=Instance)
module("litex"); module("litex.soc"); module("litex.gen", LiteXModule=LiteXModule)
interfaces = types.SimpleNamespace(AXILiteInterface=AXILiteInterface, AXIInterface=AXIInterface)
def endpoint(layout):
    made = Channel(*[field for field, _ in layout])
    made.layout = layout
    return made
streams = types.SimpleNamespace(Endpoint=endpoint)
module("litex.soc.interconnect", axi=interfaces, stream=streams)

sys.path.insert(0, ".")
from tessera_litex import Tessera

class Platform:
    def add_source(self, file): print(f"source {file}")

for config, width in (("nic64", 64), ("nic256", 256)):
    tessera = Tessera(Platform(), f"{config}.v", config=config)
    assert tessera.sink.layout[0] == ("data", width)
try: Tessera(Platform(), "tiny.v", config="tiny")
except ValueError as error: assert "data_width" in str(error)
else: raise AssertionError("nobody knows how wide it is")
"#;

#[test]
fn a_litex_instance_has_the_ports_of_the_export() {
    let test = "a_litex_instance_has_the_ports_of_the_export";
    let python = match tools::system_program("python3", "python3", "the LiteX description is run by it") {
        Ok(python) => python,
        Err(error) => {
            let _ = write!(std::io::stdout(), "\nSKIPPED {test}: {error}\n");
            return;
        }
    };
    let folder = folder("litex");
    for (name, text) in [("tessera_litex.py", LITEX), ("run.py", STAND_IN)] {
        std::fs::write(folder.join(name), text).expect("the folder was just made");
    }
    let output =
        Command::new(python).args(["-B", "run.py"]).current_dir(&folder).output().expect("python runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut lines = said.lines();
    for config in ["nic64", "nic256"] {
        let export = axi(config);
        assert_eq!(lines.next(), Some(format!("of {}", export.top).as_str()));
        let source = format!("source {config}.v");
        let given: BTreeMap<&str, &str> = lines
            .by_ref()
            .take_while(|line| *line != source)
            .map(|line| line.split_once('_').expect("i_ or o_ and a name"))
            .map(|(way, name)| (name, way))
            .collect();
        let way = |port: &tessera_rtl::emit::Port| if port.direction == Direction::In { "i" } else { "o" };
        let due: BTreeMap<&str, &str> =
            export.ports.iter().map(|port| (port.name.as_str(), way(port))).collect();
        assert_eq!(given, due, "{config}");
    }
    assert_eq!(lines.next(), None);
}
