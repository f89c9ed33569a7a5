//! A mapped design, as Yosys's `write_json` has it, and the names in it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use serde::de::{Deserializer, Visitor};
use serde::Deserialize;

/// One bit of a connection: a net's number, or a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bit(pub Option<u32>);

impl<'de> Deserialize<'de> for Bit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Of;
        impl Visitor<'_> for Of {
            type Value = Bit;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("the number of a net, or a constant")
            }

            fn visit_u64<E: serde::de::Error>(self, net: u64) -> Result<Bit, E> {
                u32::try_from(net)
                    .map(|net| Bit(Some(net)))
                    .map_err(|_| E::custom("a net's number is too large"))
            }

            fn visit_str<E: serde::de::Error>(self, _: &str) -> Result<Bit, E> {
                Ok(Bit(None))
            }
        }
        deserializer.deserialize_any(Of)
    }
}

/// A parameter: text, or a number, which Yosys writes as text of bits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Parameter(pub String);

impl<'de> Deserialize<'de> for Parameter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        Ok(Self(value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
    }
}

impl Parameter {
    /// Whether it is a number that is not nought, or true.
    pub fn is_set(&self) -> bool {
        self.0.trim() == "TRUE"
            || (self.0.chars().all(|c| c.is_ascii_digit()) && self.0.contains(|c| c != '0'))
    }
}

/// Those that times depend on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(default, rename_all = "UPPERCASE")]
pub struct Parameters {
    pub doa_reg: Parameter,
    pub dob_reg: Parameter,
    pub oreg_a: Parameter,
    pub oreg_b: Parameter,
    pub areg: Parameter,
    pub adreg: Parameter,
    pub breg: Parameter,
    pub creg: Parameter,
    pub dreg: Parameter,
    pub mreg: Parameter,
    pub preg: Parameter,
    pub use_mult: Parameter,
    pub use_dport: Parameter,
    pub amultsel: Parameter,
    pub use_pattern_detect: Parameter,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Attributes {
    /// The instance that it was in.
    pub scopename: String,
    /// Of what remains of an instance: its module.
    pub module: String,
}

#[derive(Debug, Deserialize)]
pub struct Port {
    pub direction: String,
    pub bits: Vec<Bit>,
}

#[derive(Debug, Deserialize)]
pub struct Cell {
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(default)]
    pub parameters: Parameters,
    #[serde(default)]
    pub attributes: Attributes,
    #[serde(default)]
    pub port_directions: BTreeMap<String, String>,
    #[serde(default)]
    pub connections: BTreeMap<String, Vec<Bit>>,
}

#[derive(Debug, Deserialize)]
pub struct Net {
    #[serde(default)]
    hide_name: u8,
    bits: Vec<Bit>,
}

/// A module whose instances are all cells.
#[derive(Debug, Deserialize)]
pub struct Module {
    #[serde(default)]
    pub ports: BTreeMap<String, Port>,
    pub cells: BTreeMap<String, Cell>,
    #[serde(default)]
    pub netnames: BTreeMap<String, Net>,
}

#[derive(Debug, Deserialize)]
pub struct Netlist {
    pub modules: BTreeMap<String, Module>,
}

/// Which block something is of, and what it is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Path of the instance; the top's is its module's name.
    pub block: String,
    /// What the block is an instance of, from the top's down; none if it is not known.
    pub modules: Vec<String>,
    /// The whole name, without the bit.
    pub name: String,
    pub bit: Option<usize>,
}

/// What the block of a cell is called of which all names are gone.
const NO_NAME: &str = "(no name)";

/// Names of what a design was made of.
pub struct Names<'a> {
    top: &'a str,
    /// Paths of the instances that were, before all became one, with their modules.
    scopes: HashMap<&'a str, &'a str>,
    /// Nets' numbers with their names and the place in those, and how wide those are.
    nets: Vec<(u32, &'a str, usize, usize)>,
    /// Beginnings of names of modules that are no blocks.
    leaves: &'a [&'a str],
}

/// What the Verilog added to a register's name.
fn without_noise(name: &str) -> &str {
    let mut name = name;
    while let Some(rest) = [".q", "_q", ".value"].iter().find_map(|end| name.strip_suffix(end)) {
        if rest.is_empty() || rest.ends_with('.') {
            break;
        }
        name = rest;
    }
    name
}

impl<'a> Names<'a> {
    /// `leaves` are names of modules, or beginnings of those with a star behind.
    pub fn new(top: &'a str, module: &'a Module, leaves: &'a [&'a str]) -> Self {
        let scopes = module.cells.iter().filter(|(_, cell)| cell.kind == "$scopeinfo");
        let scopes = scopes.map(|(path, cell)| (path.as_str(), cell.attributes.module.as_str()));
        let mut nets = Vec::new();
        for (name, net) in module.netnames.iter().filter(|(_, net)| net.hide_name == 0) {
            let width = net.bits.len();
            let named = net.bits.iter().enumerate();
            nets.extend(named.filter_map(|(at, bit)| bit.0.map(|bit| (bit, name.as_str(), at, width))));
        }
        nets.sort_unstable();
        Self { top, scopes: scopes.collect(), nets, leaves }
    }

    fn of_net(&self, net: u32) -> &[(u32, &'a str, usize, usize)] {
        let first = self.nets.partition_point(|(number, ..)| *number < net);
        let count = self.nets[first..].partition_point(|(number, ..)| *number == net);
        &self.nets[first..first + count]
    }

    /// The instances that a name is inside of, from the outermost.
    fn scopes_of<'b>(&'b self, name: &'b str) -> Vec<(&'b str, &'a str)> {
        let ends = name.match_indices('.').map(|(at, _)| at).chain([name.len()]);
        ends.filter_map(|end| Some((&name[..end], *self.scopes.get(&name[..end])?))).collect()
    }

    fn is_leaf(&self, module: &str) -> bool {
        self.leaves.iter().any(|leaf| match leaf.strip_suffix('*') {
            Some(begin) => module.starts_with(begin),
            None => module == *leaf,
        })
    }

    fn place(&self, name: &str, bit: Option<usize>) -> Place {
        let mut block = self.top;
        let mut modules = vec![self.top.to_owned()];
        for (path, module) in self.scopes_of(name) {
            if self.is_leaf(module) {
                break;
            }
            block = path;
            modules.push(module.into());
        }
        Place { block: block.into(), modules, name: without_noise(name).into(), bit }
    }

    /// A register by its output, in the instance that it was in (`flatten -scopename`; with spaces), with a
    /// name of that; of several the longest. A register of the top's has no instance, nor has one that
    /// the mapper made, such as a shift register.
    pub fn register(&self, cell: &str, instance: &str, output: Option<u32>) -> Place {
        let names = output.map_or(&[][..], |net| self.of_net(net));
        let instance = instance.replace(' ', ".");
        let is_there = |name: &str| self.scopes_of(name).pop().map_or("", |(path, _)| path) == instance;
        let best = names.iter().max_by_key(|(_, name, ..)| (is_there(name), name.len(), Reverse(*name)));
        let bit = |width: usize, at: usize| (width > 1).then_some(at);
        match best {
            Some((_, name, at, width)) if instance.is_empty() || is_there(name) => {
                self.place(name, bit(*width, *at))
            }
            // Its name is gone: what remains is the instance's, or that of a net behind it.
            found if !instance.is_empty() => {
                let place = self.place(&instance, None);
                let net = found.filter(|_| place.block == instance);
                match net {
                    Some((_, name, at, width)) => {
                        let name = format!("{instance}: {}", without_noise(name));
                        Place { name, bit: bit(*width, *at), ..place }
                    }
                    None => place,
                }
            }
            _ => self.cell(cell),
        }
    }

    /// A memory or multiplier by the name of its cell.
    pub fn cell(&self, cell: &str) -> Place {
        if let Some(hidden) = cell.strip_prefix("$flatten") {
            // `$flatten\a.\b.$mul$design.v:12$34` is in a.b.
            let name = hidden.replace('\\', "");
            let path = name.split(".$").next().unwrap_or(&name);
            return Place { name: format!("{path}.{}", self.kind_of(hidden)), ..self.place(path, None) };
        }
        if cell.starts_with('$') {
            return Place { block: NO_NAME.into(), modules: Vec::new(), name: cell.into(), bit: None };
        }
        let numbers = |end: &str| end.bytes().all(|c| c.is_ascii_digit());
        let mut name = cell;
        while let Some((rest, _)) = name.rsplit_once('.').filter(|(_, end)| numbers(end)) {
            name = rest;
        }
        let name = name.strip_suffix(".mem").unwrap_or(name);
        Place { name: name.into(), ..self.place(name, None) }
    }

    /// What the part behind `$` of a hidden cell's name says that it was.
    fn kind_of(&self, hidden: &str) -> String {
        hidden.split('$').nth(1).unwrap_or("cell").into()
    }

    pub fn port(&self, name: &str, bit: Option<usize>) -> Place {
        Place { name: name.into(), ..self.place("", bit) }
    }

    /// A net's shortest name, if it has one.
    pub fn net(&self, net: u32) -> Option<String> {
        let best = self.of_net(net).iter().min_by_key(|(_, name, ..)| (name.len(), *name));
        best.map(|(_, name, at, width)| if *width > 1 { format!("{name}[{at}]") } else { (*name).to_owned() })
    }
}
