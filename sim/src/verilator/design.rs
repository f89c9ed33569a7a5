//! Verilog text with its ports described: what a model is built from.

use super::ModelError;

/// Which way a port's value travels, seen from the design.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Driven by the testbench.
    In,
    /// Driven by the design.
    Out,
}

/// Some bits of a port that carry a meaning of their own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Field {
    /// Name, reached as `port.name`.
    pub name: String,
    /// Lowest bit within the port.
    pub lsb: usize,
    /// Width in bits.
    pub width: usize,
}

/// One port of the top module.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Port {
    /// Name in the Verilog.
    pub name: String,
    /// Which way it goes.
    pub direction: Direction,
    /// Width in bits.
    pub width: usize,
    /// The one clock, moved by [`super::Dut::clock`] and by nothing else.
    pub is_clock: bool,
    /// What its bits mean; empty for a plain number.
    pub fields: Vec<Field>,
}

impl Port {
    fn new(name: &str, direction: Direction, width: usize) -> Self {
        Port { name: name.into(), direction, width, is_clock: false, fields: Vec::new() }
    }

    /// An input of `width` bits.
    pub fn input(name: &str, width: usize) -> Self {
        Port::new(name, Direction::In, width)
    }

    /// An output of `width` bits.
    pub fn output(name: &str, width: usize) -> Self {
        Port::new(name, Direction::Out, width)
    }

    /// The clock.
    pub fn clock(name: &str) -> Self {
        Port { is_clock: true, ..Port::input(name, 1) }
    }

    /// The same port with one more field.
    pub fn with_field(mut self, name: &str, lsb: usize, width: usize) -> Self {
        self.fields.push(Field { name: name.into(), lsb, width });
        self
    }
}

impl From<&tessera_rtl::emit::Export> for Design {
    fn from(export: &tessera_rtl::emit::Export) -> Self {
        let port = |port: &tessera_rtl::emit::Port| Port {
            name: port.name.clone(),
            direction: match port.direction {
                tessera_rtl::emit::Direction::In => Direction::In,
                tessera_rtl::emit::Direction::Out => Direction::Out,
            },
            width: port.width,
            is_clock: port.is_clock,
            fields: port
                .fields
                .iter()
                .map(|field| Field { name: field.name.clone(), lsb: field.lsb, width: field.width })
                .collect(),
        };
        Design::new(&export.top, export.verilog.as_str(), export.ports.iter().map(port).collect())
    }
}

/// A Verilog design to simulate.
#[derive(Clone, Debug)]
pub struct Design {
    /// Name of the top module.
    pub top: String,
    /// The whole design as one text.
    pub verilog: String,
    /// Every port of the top module, in any order.
    pub ports: Vec<Port>,
}

impl Design {
    /// A design from its parts.
    pub fn new(top: &str, verilog: impl Into<String>, ports: Vec<Port>) -> Self {
        Design { top: top.into(), verilog: verilog.into(), ports }
    }

    /// The one clock.
    pub(super) fn clock(&self) -> Result<&Port, ModelError> {
        let clocks: Vec<&Port> = self.ports.iter().filter(|p| p.is_clock).collect();
        match clocks[..] {
            [clock] if clock.direction == Direction::In && clock.width == 1 => Ok(clock),
            [clock] => Err(self.bad_ports(format!("the clock {} must be a one-bit input", clock.name))),
            [] => Err(self.bad_ports("no port is marked as the clock".into())),
            _ => {
                let names: Vec<&str> = clocks.iter().map(|p| p.name.as_str()).collect();
                Err(self.bad_ports(format!(
                    "{} clocks ({}), one is supported",
                    clocks.len(),
                    names.join(", ")
                )))
            }
        }
    }

    /// The text without the comments that stand alone, which tell the reader
    /// things such as the revision: they make no other model. Line numbers stay,
    /// and so do comments that instruct a tool.
    pub(super) fn essence(&self) -> String {
        let idle = |line: &str| line.starts_with("//") && !line.contains("verilator");
        self.verilog
            .lines()
            .flat_map(|line| [if idle(line.trim_start()) { "" } else { line }, "\n"])
            .collect()
    }

    pub(super) fn bad_ports(&self, detail: String) -> ModelError {
        ModelError::Ports { top: self.top.clone(), detail }
    }
}

/// Where a port's bits lie in the buffer shared with the model: whole 64-bit
/// words each, inputs first.
pub(super) struct Slot<'a> {
    pub port: &'a Port,
    pub word: usize,
}

/// Gives every port but the clock its words; returns them and the total.
pub(super) fn slots(design: &Design) -> (Vec<Slot<'_>>, usize) {
    let mut word = 0;
    let mut slots = Vec::new();
    for direction in [Direction::In, Direction::Out] {
        for port in design.ports.iter().filter(|p| p.direction == direction && !p.is_clock) {
            slots.push(Slot { port, word });
            word += port.width.div_ceil(64);
        }
    }
    (slots, word)
}
