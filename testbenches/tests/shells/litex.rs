//! `fpga/shells/litex_soc.py`, made by LiteX itself on each of its buses: registers through the bus, and
//! messages between two of the SoC.
//!
//! ```text
//!             soc.v, LiteX's                                 the NIC
//!   AxiLite ─> pins ─> bus ─> Tessera ─> Instance() ─> its block of registers, alone    each bus, one model
//!   driver  ─> pins ─> bus ─> Tessera ─> Instance() ─> all of it <─> memory, fabric     the bus LiteX has by itself
//! ```

use std::fmt::Write as _;
use std::io::Write as _;

use tessera_abi::params::NIC512;
use tessera_abi::regs::{self, Access as May, Counter};
use tessera_rtl::emit::Export;
use tessera_rtl::host::registers::{Registers, DOORBELL_KIND_CQ, DOORBELL_KIND_SQ};
use tessera_sim::cluster::{Cluster, SharedCluster};
use tessera_sim::fabric::{FabricOptions, Faults, Loss};
use tessera_sim::nic::{DmaOptions, NicOptions};
use tessera_sim::session::Session;
use tessera_sim::tb::{self, cycle, Agent, AxiLite, BusError, Clocked, Rng};
use tessera_sim::tools::{self, LiteX, ToolOptions};
use tessera_sim::verilator::{BuildOptions, Design, Direction, Dut, Model, Port, PortId};
use tessera_testbenches::exchange::Exchange;

use super::{axi, folder, LITEX};

const EXAMPLE: &str = include_str!("../../../fpga/shells/litex_soc.py");

/// By LiteX's names, and whether refusals get through: LiteX's adapters between buses answer OKAY themselves.
const BUSES: [(&str, bool); 3] = [("wishbone", false), ("axi-lite", true), ("axi", false)];

/// Where the example has the NIC.
const ORIGIN: u32 = 0x4000_0000;
const WINDOW: u32 = 1 << regs::ADDRESS_BITS;
/// A register of LiteX's own, and what it holds after a reset.
const SCRATCH: (u32, u32) = (0x0000_0004, 0x1234_5678);

/// What Verilator says of LiteX's Verilog, whoever's modules are in it; and of benches, which leave outputs open.
const WAIVED: &str = "CASEINCOMPLETE COMBDLY PROCASSINIT UNUSEDSIGNAL UNUSEDPARAM WIDTH PINMISSING";

/// Runs a test with LiteX; or says why not, past the capture of test output: `cargo tessera test` counts
/// these lines.
fn with(test: &str, run: impl FnOnce(&LiteX)) {
    match tools::litex(&ToolOptions::default()) {
        Ok(litex) => run(&litex),
        Err(error) => {
            let _ = write!(std::io::stdout(), "\nSKIPPED {test}: {error}\n");
        }
    }
}

/// The name of a bus in Verilog.
fn module(bus: &str) -> String {
    bus.replace('-', "_")
}

/// The example's Verilog, a module by the bus's name.
fn soc(litex: &LiteX, test: &str, bus: &str, config: &str) -> String {
    let folder = folder(&format!("{test}-{bus}-{config}"));
    for (name, text) in [("litex_soc.py", EXAMPLE), ("tessera_litex.py", LITEX)] {
        std::fs::write(folder.join(name), text).expect("the folder was just made");
    }
    let run = || {
        let mut script = litex.script("litex_soc.py", &folder);
        script.args(["--bus", bus, "--config", config, "--name", &module(bus)]);
        script.output().unwrap_or_else(|error| panic!("{error}"))
    };
    let refused = run();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    let export = format!("tessera_{config}_axi.v");
    assert!(!refused.status.success() && said.contains(&format!("there is no {export}: cargo")), "{said}");
    // LiteX does not read it.
    std::fs::write(folder.join(export), "").expect("the folder was just made");
    let output = run();
    assert!(output.status.success(), "{bus}: {}", String::from_utf8_lossy(&output.stderr));
    std::fs::read_to_string(folder.join("soc.v")).expect("the example writes it")
}

/// The head of a module.
fn head(name: &str, ports: &[Port]) -> String {
    let way = |port: &Port| if port.direction == Direction::In { "input" } else { "output" };
    let port = |port: &Port| format!("    {} wire [{}:0] {}", way(port), port.width - 1, port.name);
    format!("module {name} (\n{}\n);\n", ports.iter().map(port).collect::<Vec<_>>().join(",\n"))
}

/// An instance of a module, its pins as they are told, and none left out but outputs.
fn instance(of: &str, name: &str, pins: &[(String, String)]) -> String {
    let pins: Vec<String> = pins.iter().map(|(pin, wire)| format!("        .{pin}({wire})")).collect();
    format!("    {of} {name} (\n{}\n    );\n", pins.join(",\n"))
}

/// Inputs of the SoC that are beside what the NIC has.
const MORE: [&str; 4] = ["m_axi_buser", "m_axi_ruser", "s_axil_arprot", "s_axil_awprot"];

/// The wires at the SoC's pins: those of the NIC's names by `wire`, and what is beside them.
fn pins(nic: &Export, wire: impl Fn(&str) -> Option<String>) -> Vec<(String, String)> {
    let own = nic.ports.iter().map(|port| port.name.as_str());
    let wired = own.filter_map(|name| wire(name).map(|wire| (name.to_owned(), wire)));
    wired.chain(MORE.map(|name| (name.to_owned(), "'b0".to_owned()))).collect()
}

fn is_input(nic: &Export, pin: &str) -> bool {
    Design::from(nic).ports.iter().any(|port| port.name == pin && port.direction == Direction::In)
}

/// In place of a NIC: its block of registers, and nothing behind; `m_axis_tdata` shows doorbells.
fn registers_alone(nic: &Export, registers: &Design) -> String {
    let design = Design::from(nic);
    let mut text = head(&nic.top, &design.ports);
    let pin = |name: &str| design.ports.iter().any(|port| port.name == name);
    let wires = registers.ports.iter().filter_map(|port| {
        let wire = match port.name.as_str() {
            "doorbell" => "m_axis_tdata".to_owned(),
            "ready" => "1'b1".to_owned(),
            name if pin(name) => name.to_owned(),
            _ if port.direction == Direction::In => format!("{}'b0", port.width),
            _ => return None,
        };
        Some((port.name.clone(), wire))
    });
    text += &instance(&registers.top, "registers", &wires.collect::<Vec<_>>());
    for port in design.ports.iter().filter(|port| port.direction == Direction::Out) {
        if port.name != "m_axis_tdata" && registers.ports.iter().all(|of| of.name != port.name) {
            let _ = writeln!(text, "    assign {} = 0;", port.name);
        }
    }
    text + "endmodule\n"
}

/// Verilog of which Verilator tells mistakes only.
fn waived(text: &str) -> String {
    let off: String = WAIVED.split(' ').map(|of| format!("/* verilator lint_off {of} */\n")).collect();
    off + text
}

/// Doorbells that rang: kind, index, value.
struct Bells {
    ports: [PortId; 4],
    rang: Vec<(u64, u64, u64)>,
}

impl Agent for Bells {
    fn drive(&mut self, _: &mut Dut) {}

    fn sample(&mut self, dut: &Dut) {
        let [valid, kind, index, value] = self.ports.map(|port| dut.sampled(port));
        if valid != 0 {
            self.rang.push((kind, index, value));
        }
    }
}

/// One of the SoCs, as its master sees it.
struct Bus<'a> {
    dut: &'a mut Dut,
    master: AxiLite,
    bells: Bells,
    /// Whether it tells of refusals.
    tells: bool,
}

struct Inner<'b>(&'b mut Dut, &'b mut Bells);

impl Clocked for Inner<'_> {
    fn clock_with(&mut self, agent: &mut dyn Agent) {
        cycle(self.0, &mut [agent, self.1]);
    }
}

impl Bus<'_> {
    fn read(&mut self, address: u32) -> Result<u32, BusError> {
        let mut inner = Inner(self.dut, &mut self.bells);
        self.master.read(&mut inner, address.into()).map(|data| data as u32)
    }

    fn write(&mut self, address: u32, data: u32, strobes: u64) -> Result<(), BusError> {
        let mut inner = Inner(self.dut, &mut self.bells);
        self.master.write_bytes(&mut inner, address.into(), data.into(), strobes)
    }

    /// The NIC's register at an offset.
    fn get(&mut self, offset: u32) -> u32 {
        self.read(ORIGIN + offset).unwrap_or_else(|error| panic!("{error}"))
    }

    fn set(&mut self, offset: u32, data: u32) {
        self.write(ORIGIN + offset, data, 0xF).unwrap_or_else(|error| panic!("{error}"));
    }

    /// What the NIC answers with SLVERR.
    fn refused<T: PartialEq + std::fmt::Debug>(&self, answer: Result<T, BusError>, nothing: T, what: &str) {
        match answer {
            Ok(answer) => assert!(!self.tells && answer == nothing, "{what}: {answer:?}"),
            Err(BusError::Refused { response: 2, .. }) => assert!(self.tells, "{what} was told"),
            Err(error) => panic!("{what}: {error}"),
        }
    }

    /// The map through the bus; and around the window nothing of it.
    fn check(&mut self, rng: &mut Rng) {
        let sizes = NIC512.sizes();
        let fixed = [regs::MAGIC, regs::ABI_VERSION, regs::SIZES0, regs::SIZES1, regs::SIZES2];
        let values = [regs::MAGIC_VALUE, regs::ABI_VERSION_VALUE, sizes[0], sizes[1], sizes[2]];
        for (reg, value) in fixed.into_iter().zip(values) {
            assert_eq!(self.get(reg.offset), value, "{}", reg.name);
        }
        assert!((0..2000).any(|_| self.get(regs::STATUS.offset) == 1), "STATUS.ready does not rise");
        let written = |reg: &&regs::Reg| reg.access == May::Rw && **reg != regs::TABLE_COMMAND;
        let mut held = Vec::new();
        for reg in regs::MAP.iter().filter(written) {
            assert_eq!(self.get(reg.offset), reg.reset, "{} after a reset", reg.name);
            let value = rng.bits(32) as u32;
            self.set(reg.offset, value);
            held.push((reg, value & u32::MAX >> (32 - reg.width)));
        }
        // Some of a word, what hardware writes, and what nobody has.
        let part = 1 + rng.below(14);
        let answer = self.write(ORIGIN + regs::LOCAL_IP.offset, 0x0BAD_0BAD, part);
        self.refused(answer, (), "a part of a register");
        let answer = self.write(ORIGIN + regs::MAGIC.offset, 0, 0xF);
        self.refused(answer, (), "MAGIC written");
        for offset in [0x2000, WINDOW - 4, regs::doorbell_page(255) + 0x10] {
            let answer = self.read(ORIGIN + offset);
            self.refused(answer, 0, "what is not mapped");
        }
        // Doorbells are the upper half, to its end.
        for page in [0, 1, rng.below(256) as u32, 255] {
            let value = rng.bits(16) as u32;
            assert_eq!(self.get(regs::doorbell_page(page)), 0, "a doorbell");
            self.set(regs::doorbell_page(page) + regs::DOORBELL_SQ, value);
            self.set(regs::doorbell_page(page) + regs::DOORBELL_CQ, value ^ 0xFFFF);
            // A write may be answered before it arrives.
            (0..16).for_each(|_| cycle(self.dut, &mut [&mut self.bells]));
            let (index, value) = (page.into(), value.into());
            let due = [(DOORBELL_KIND_SQ, index, value), (DOORBELL_KIND_CQ, index, value ^ 0xFFFF)];
            assert_eq!(std::mem::take(&mut self.bells.rang), due, "page {page}");
        }
        // Neighbours of the window have the addresses of its ends but for bits that the bus decodes.
        let beside =
            [WINDOW, WINDOW + regs::LOCAL_IP.offset, WINDOW + regs::doorbell_page(0), WINDOW.wrapping_neg()];
        for offset in beside {
            let address = ORIGIN.wrapping_add(offset);
            // Nobody answers there but LiteX, after a while: with an error, or ones.
            let answer = self.read(address);
            assert!(
                matches!(answer, Ok(u32::MAX) | Err(BusError::Refused { .. })),
                "{address:#x}: {answer:x?}"
            );
            let _ = self.write(address, 0x0BAD_0BAD, 0xF);
        }
        assert_eq!(self.read(SCRATCH.0), Ok(SCRATCH.1), "the register of LiteX");
        assert_eq!(self.write(SCRATCH.0, 0x0BAD_0BAD, 0xF), Ok(()));
        assert_eq!(self.read(SCRATCH.0), Ok(0x0BAD_0BAD));
        // None of that has moved a register of the NIC.
        assert_eq!(self.get(regs::MAGIC.offset), regs::MAGIC_VALUE);
        for (reg, value) in held {
            assert_eq!(self.get(reg.offset), value, "{}", reg.name);
        }
        assert_eq!(self.bells.rang, [], "doorbells that nobody rang");
    }
}

#[test]
fn litex_has_the_registers_where_they_are_said_to_be() {
    with("litex_has_the_registers_where_they_are_said_to_be", |litex| {
        let nic = axi("nic64");
        // Of a NIC to which all pages of doorbells belong.
        let registers = tessera_testbenches::design("registers", || Registers::new(&NIC512));
        let bell = registers.ports.iter().find(|port| port.name == "doorbell").expect("it has doorbells");
        let mut ports = vec![Port::clock("clk"), Port::input("rst", 1)];
        let alone = registers_alone(&nic, &registers);
        let (mut socs, mut inside) = (String::new(), String::new());
        for (bus, _) in BUSES {
            socs += &soc(litex, "litex-registers", bus, "nic64");
            let name = module(bus);
            let own = |port: &str| port.strip_prefix("s_axil_").map(|of| format!("{name}_{of}"));
            for port in Design::from(&nic).ports {
                if let Some(name) = own(&port.name) {
                    let width = if name.ends_with("addr") { 32 } else { port.width };
                    ports.push(Port { name, width, ..port });
                }
            }
            ports.push(Port { name: format!("{name}_bell"), ..bell.clone() });
            let pins = pins(&nic, |pin| match pin {
                "clk" | "rst" => Some(pin.to_owned()),
                "m_axis_tdata" => Some(format!("{name}_bell")),
                _ if pin.starts_with("s_axil_") => own(pin),
                _ => is_input(&nic, pin).then(|| "'b0".to_owned()),
            });
            inside += &instance(&name, &format!("soc_{name}"), &pins);
        }
        let text = socs + &alone + &head("bench", &ports) + &inside + "endmodule\n";
        let text = registers.verilog + &waived(&text);
        let design = Design::new("bench", text, ports);
        tb::run("shells::litex_registers", &design, |dut, rng| {
            let rst = dut.port("rst").unwrap();
            dut.reset(rst, 2);
            for (bus, tells) in BUSES {
                let name = module(bus);
                let ports = ["valid", "kind", "index", "value"]
                    .map(|of| dut.port(&format!("{name}_bell.{of}")).unwrap());
                let master = AxiLite::new(dut, &name).unwrap();
                // Printed when it fails.
                println!("on {bus}:");
                Bus { dut, master, bells: Bells { ports, rang: Vec::new() }, tells }.check(rng);
            }
        });
    });
}

/// The model of a whole NIC wants ready to be of registers: its hosts look at it before they offer.
const SLICE: &str = "
module slice #(parameter W = 1) (
    input wire clk, input wire rst,
    input wire [W-1:0] from, input wire from_valid, output wire from_ready,
    output reg [W-1:0] to, output reg to_valid, input wire to_ready
);
    assign from_ready = !to_valid;
    always @(posedge clk) begin
        if (from_valid && from_ready) to <= from;
        to_valid <= !rst && (to_valid ? !to_ready : from_valid);
    end
endmodule
";

/// A SoC with the ports of its NIC, whose registers are the window.
fn as_nic(nic: &Export, name: &str, soc: &str) -> Design {
    let ports = Design::from(nic).ports;
    let mut inside = String::new();
    for (channel, fields, sent) in [
        ("aw", ["addr", ""], true),
        ("w", ["data", "strb"], true),
        ("b", ["resp", ""], false),
        ("ar", ["addr", ""], true),
        ("r", ["data", "resp"], false),
    ] {
        let width = |of: &str| {
            ports
                .iter()
                .find(|port| port.name == format!("s_axil_{channel}{of}"))
                .map_or(0, |port| port.width)
        };
        let fields = fields.into_iter().filter(|of| !of.is_empty());
        for of in fields.clone().chain(["valid", "ready"]) {
            let _ = writeln!(inside, "    wire [{}:0] soc_{channel}{of};", width(of) - 1);
        }
        let word = |side: &str| {
            let wires: Vec<String> = fields.clone().map(|of| format!("{side}_{channel}{of}")).collect();
            format!("{{{}}}", wires.join(", "))
        };
        let (from, to) = if sent { ("s_axil", "soc") } else { ("soc", "s_axil") };
        let mut pins = vec![("clk".to_owned(), "clk".to_owned()), ("rst".to_owned(), "rst".to_owned())];
        for (pin, side) in [("from", from), ("to", to)] {
            pins.push((pin.to_owned(), word(side)));
            pins.extend(
                ["valid", "ready"].map(|of| (format!("{pin}_{of}"), format!("{side}_{channel}{of}"))),
            );
        }
        let bits: usize = fields.clone().map(width).sum();
        inside += &instance(&format!("slice #({bits})"), channel, &pins);
    }
    let pins = pins(nic, |pin| {
        let own = pin.strip_prefix("s_axil_");
        Some(match own {
            Some("awaddr" | "araddr") => format!("32'h{ORIGIN:08x} | soc_{}", own.unwrap_or_default()),
            Some(own) => format!("soc_{own}"),
            None => pin.to_owned(),
        })
    });
    inside += &instance(name, "soc", &pins);
    let bench = format!("{soc}{SLICE}{}{inside}endmodule\n", head("bench", &ports));
    Design::new("bench", nic.verilog.clone() + &waived(&bench), ports)
}

const SIZES: [usize; 5] = [0, 1, 255, 4097, 70_000];

/// The driver at the pins of two SoCs: messages both ways, of which some packets are lost.
#[test]
fn two_of_litex_exchange_messages() {
    with("two_of_litex_exchange_messages", |litex| {
        let seed = tessera_testbenches::seed("shells::litex");
        let nic = axi("nic64");
        let (bus, _) = BUSES[0];
        let design = as_nic(&nic, &module(bus), &soc(litex, "litex-messages", bus, "nic64"));
        let model = Model::build(&design, &BuildOptions::hurried()).unwrap_or_else(|error| panic!("{error}"));
        let dma = DmaOptions { read_delay: (150, 350), write_delay: (50, 250), ready: 0.7 };
        let options = NicOptions { dma_ctrl: dma, dma_data: dma, tx_stall: 0.1, seed };
        let faults = Faults { loss: Loss::Uniform(0.02), ..Faults::default() };
        let fabric = FabricOptions { faults, ..FabricOptions::new(1, 250, 0, seed) };
        let cluster = SharedCluster::new(Cluster::new(&model, 2, &options, fabric).unwrap());
        let mut session = Session::open(cluster, 2, seed, 1024, &[]).unwrap();
        let mut exchange = Exchange::post(&mut session, &SIZES);
        while exchange.goes_on(&session) {
            exchange.take(&mut session);
        }
        // The interrupt reaches its pin: high while there is what its host has not seen.
        for nic in 0..2 {
            let context = session.hosts[nic].context.clone();
            let irq = || session.cluster.lock().nics()[nic].irq();
            assert_eq!(irq(), Some(false));
            let unseen = context.read(regs::INTERRUPT_COUNT).unwrap() ^ 1;
            context.write(regs::INTERRUPT_SEEN, regs::INTERRUPT_ENABLE | unseen).unwrap();
            (0..4).for_each(|_| context.wait().unwrap());
            assert_eq!(irq(), Some(true));
            assert!(context.counter(Counter::RxData).unwrap() > 0);
            let cluster = session.cluster.lock();
            let nic = &cluster.nics()[nic];
            assert_eq!((nic.dma_faults(), nic.offers_taken_back()), (0, 0), "of DMA, of offers");
        }
    });
}

/// What Verilator says of the pins of the NIC in a SoC.
fn said_of_pins(soc: &str, bus: &str, config: &str, ports: &[Port]) -> Vec<String> {
    let verilator =
        tools::pinned_verilator(&ToolOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let folder = folder(&format!("litex-pins-{config}"));
    // Without what is inside, which takes Verilator seconds.
    let text = format!("{soc}{}endmodule\n", head(&axi(config).top, ports));
    std::fs::write(folder.join("soc.v"), text).expect("the folder was just made");
    let mut command = verilator.command();
    let command = command.args(["--lint-only", "-Wall", "--top-module", &module(bus), "soc.v"]);
    let output = command.current_dir(&folder).output().unwrap_or_else(|error| panic!("{error}"));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("COMBDLY"), "LiteX has another manner: {said}");
    // And errors, but for the last, which counts.
    let pin = |line: &&str| {
        let error = line.starts_with("%Error") && !line.contains("Exiting");
        error || line.starts_with('%') && (line.contains("port connection") || line.contains("PIN"))
    };
    said.lines().filter(pin).map(str::to_owned).collect()
}

#[test]
fn the_pins_of_a_litex_instance_are_as_wide_as_the_ports() {
    with("the_pins_of_a_litex_instance_are_as_wide_as_the_ports", |litex| {
        for (bus, config) in [("wishbone", "nic64"), ("axi", "nic256")] {
            let soc = soc(litex, "litex-pins", bus, config);
            let mut ports = Design::from(&axi(config)).ports;
            assert_eq!(said_of_pins(&soc, bus, config, &ports), [""; 0], "{config}");
            // One that is another is told of, and it alone.
            let other = ports.iter_mut().find(|port| port.name == "m_axi_wdata").expect("it has memory");
            other.width /= 2;
            let said = said_of_pins(&soc, bus, config, &ports);
            assert!(matches!(&said[..], [one] if one.contains("m_axi_wdata")), "{said:?}");
        }
    });
}
