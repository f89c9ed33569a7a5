//! A design for a device that has few pins: whatever ports the block has.
//!
//! ```text
//!   in ──> shift register, a bit for each input ──> block ──> register for each output ──> XOR tree ──> out
//! ```
//!
//! Nothing of the block can be optimised away: every input may be anything, every output is seen. All
//! ways into the block and out of it begin and end at registers, so that the clock is that of the block.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

/// The harness's own module.
pub const TOP: &str = "tessera_route_harness";
/// Names that a clock has, unless another is given.
const CLOCKS: [&str; 4] = ["clk", "clock", "aclk", "i_clk"];
/// Registers that one of the tree takes: what a LUT of ECP5 joins.
const JOINS: usize = 4;

#[derive(Deserialize)]
struct Design {
    modules: BTreeMap<String, Module>,
}

#[derive(Deserialize)]
struct Module {
    #[serde(default)]
    ports: BTreeMap<String, Port>,
}

#[derive(Deserialize)]
struct Port {
    direction: String,
    bits: Vec<serde_json::Value>,
}

/// What cannot have a harness, and what to do.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum HarnessError {
    #[error("what Yosys writes of ports is not what it was: {0}")]
    Ports(String),
    #[error("{module} has no port {name}: its inputs of one bit are {inputs}")]
    Clock { module: String, name: String, inputs: String },
    #[error("{0} has no outputs: nothing of it would be left")]
    NoOutputs(String),
    #[error("the port {1} of {0} goes both ways, which has no sense inside a device: split it")]
    Inout(String, String),
}

/// See the module's page.
#[derive(Debug, PartialEq)]
pub struct Harness {
    pub verilog: String,
    pub own: Own,
}

/// What it takes itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Own {
    pub lut: usize,
    pub ff: usize,
}

/// For a module, by the ports that Yosys's `write_json` has of it.
pub fn harness(module: &str, json: &str, clock: Option<&str>) -> Result<Harness, HarnessError> {
    let design: Design =
        serde_json::from_str(json).map_err(|error| HarnessError::Ports(error.to_string()))?;
    let found = design.modules.get(module);
    let ports = &found.ok_or_else(|| HarnessError::Ports(format!("no module {module}")))?.ports;
    if let Some((name, _)) = ports.iter().find(|(_, port)| port.direction == "inout") {
        return Err(HarnessError::Inout(module.into(), name.clone()));
    }
    let is_input = |port: &Port| port.direction == "input";
    let one_bit = |name: &str| ports.get(name).is_some_and(|port| is_input(port) && port.bits.len() == 1);
    let clock = match clock {
        Some(name) if !one_bit(name) => {
            let inputs = ports.iter().filter(|(_, port)| is_input(port) && port.bits.len() == 1);
            let inputs: Vec<&str> = inputs.map(|(name, _)| name.as_str()).collect();
            return Err(HarnessError::Clock {
                module: module.into(),
                name: name.into(),
                inputs: inputs.join(", "),
            });
        }
        Some(name) => Some(name),
        // What has none is logic between the harness's registers.
        None => CLOCKS.into_iter().find(|name| one_bit(name)),
    };
    let (mut inputs, mut outputs, mut wires) = (0, 0, String::new());
    for (name, port) in ports {
        let width = port.bits.len();
        let (from, at) = if is_input(port) { ("in_q", &mut inputs) } else { ("outputs", &mut outputs) };
        let comma = if wires.is_empty() { "" } else { ",\n" };
        if Some(name.as_str()) == clock {
            let _ = write!(wires, "{comma}    .\\{name} (clk)");
        } else if width > 0 {
            let _ = write!(wires, "{comma}    .\\{name} ({from}[{at} +: {width}])");
            *at += width;
        }
    }
    if outputs == 0 {
        return Err(HarnessError::NoOutputs(module.into()));
    }
    let mut own = Own { lut: 0, ff: inputs + outputs };
    let mut text = format!("module {TOP} (input clk, input in, output out);\n");
    if inputs > 0 {
        let _ = writeln!(text, "  reg [{}:0] in_q;", inputs - 1);
        let _ = writeln!(text, "  always @(posedge clk) in_q <= {{in_q, in}};");
    }
    let _ = writeln!(text, "  wire [{}:0] outputs;\n  \\{module} block (\n{wires}\n  );", outputs - 1);
    let _ = writeln!(text, "  reg [{}:0] level_0;", outputs - 1);
    let _ = writeln!(text, "  always @(posedge clk) level_0 <= outputs;");
    let (mut level, mut width) = (0, outputs);
    while width > 1 {
        let next = width.div_ceil(JOINS);
        let _ = writeln!(text, "  reg [{}:0] level_{};", next - 1, level + 1);
        let _ = writeln!(text, "  always @(posedge clk) begin");
        for at in 0..next {
            let of = at * JOINS;
            let bits = JOINS.min(width - of);
            let _ = writeln!(text, "    level_{}[{at}] <= ^level_{level}[{of} +: {bits}];", level + 1);
            own.lut += usize::from(bits > 1);
        }
        let _ = writeln!(text, "  end");
        own.ff += next;
        (level, width) = (level + 1, next);
    }
    let _ = writeln!(text, "  assign out = level_{level};\nendmodule");
    Ok(Harness { verilog: text, own })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(ports: &[(&str, &str, usize)]) -> String {
        let ports: Vec<String> = ports
            .iter()
            .map(|(name, way, width)| {
                format!("\"{name}\":{{\"direction\":\"{way}\",\"bits\":{:?}}}", vec![2; *width])
            })
            .collect();
        format!("{{\"modules\":{{\"m\":{{\"ports\":{{{}}}}}}}}}", ports.join(","))
    }

    #[test]
    fn every_bit_has_a_register() {
        let made = harness(
            "m",
            &json(&[("clk", "input", 1), ("a", "input", 7), ("b", "input", 1), ("y", "output", 9)]),
            None,
        );
        let made = made.unwrap();
        // 8 in, 9 out, then 3 and 1; the last of three takes a single one.
        assert_eq!(made.own, Own { lut: 3, ff: 8 + 9 + 3 + 1 });
        for wire in [".\\a (in_q[0 +: 7])", ".\\b (in_q[7 +: 1])", ".\\clk (clk)", ".\\y (outputs[0 +: 9])"] {
            assert!(made.verilog.contains(wire), "{wire}: {}", made.verilog);
        }
        // Another clock, and none at all.
        let ports = [("phi", "input", 1), ("a", "input", 2), ("y", "output", 1)];
        assert_eq!(harness("m", &json(&ports), Some("phi")).unwrap().own, Own { lut: 0, ff: 3 });
        assert_eq!(harness("m", &json(&ports), None).unwrap().own, Own { lut: 0, ff: 4 });
    }

    #[test]
    fn what_has_none_is_named() {
        let refused =
            |ports: &[(&str, &str, usize)], clock| harness("m", &json(ports), clock).unwrap_err().to_string();
        let said = refused(&[("a", "input", 1), ("b", "input", 2), ("y", "output", 1)], Some("b"));
        assert!(said.contains("no port b") && said.ends_with("one bit are a"), "{said}");
        assert!(refused(&[("clk", "input", 1)], None).contains("no outputs"));
        assert!(refused(&[("pad", "inout", 1), ("y", "output", 1)], None).contains("port pad of m"));
        assert!(harness("n", &json(&[]), None).unwrap_err().to_string().contains("no module n"));
    }
}
