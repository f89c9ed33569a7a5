//! What memory an exported design declares: read from the Verilog itself, so
//! that no figure of state per message is made by hand.

use std::collections::BTreeMap;

mod ultra;

pub use ultra::{within_ultra_rams, UltraRams};

/// One memory of a design, with the instance that holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Instance names from below the top to the memory, joined by dots.
    pub path: String,
    /// Its `ram_style`: `block`, `ultra` or `distributed`.
    pub style: String,
    /// Bits of a word.
    pub width: usize,
    /// Words.
    pub depth: usize,
}

impl Memory {
    /// Bits it holds.
    pub fn bits(&self) -> usize {
        self.width * self.depth
    }

    /// 18-kbit block RAMs of an ECP5-class FPGA, one write and one read port
    /// each (512x36 to 16384x1); 0 for a memory that is not to lie in them.
    pub fn block_rams(&self) -> usize {
        const SHAPES: [(usize, usize); 6] =
            [(512, 36), (1024, 18), (2048, 9), (4096, 4), (8192, 2), (16384, 1)];
        if self.style == "distributed" {
            return 0;
        }
        let cells =
            |(depth, width): &(usize, usize)| self.width.div_ceil(*width) * self.depth.div_ceil(*depth);
        SHAPES.iter().map(cells).min().unwrap_or_default()
    }

    /// UltraRAMs of UltraScale+ (4096 words of 72 bits) that it fills; 0 for a memory that is not to lie in them.
    pub fn ultra_rams(&self) -> usize {
        if self.style == "ultra" {
            self.width.div_ceil(72) * self.depth.div_ceil(4096)
        } else {
            0
        }
    }

    /// Whether one of the path's names is `instance`.
    pub fn is_in(&self, instance: &str) -> bool {
        self.path.split('.').any(|name| name == instance)
    }
}

/// What begins a memory's declaration.
const STYLE: &str = "(* ram_style = \"";

/// Memories and instances that a module declares itself.
#[derive(Default)]
struct Module<'a> {
    memories: Vec<Declared<'a>>,
    instances: Vec<(&'a str, &'a str)>,
}

/// Every memory below module `top`, once per instance. Only what the emitter
/// writes is understood.
pub fn memories(verilog: &str, top: &str) -> Vec<Memory> {
    let mut found = Vec::new();
    expand(&modules(verilog), top, "", &mut |path, _, (style, width, depth)| {
        found.push(Memory { path: path.to_owned(), style: style.to_owned(), width, depth });
    });
    found
}

fn modules(verilog: &str) -> BTreeMap<&str, Module<'_>> {
    let mut modules: BTreeMap<&str, Module> = BTreeMap::new();
    let mut name = "";
    for line in verilog.lines() {
        if let Some(rest) = line.strip_prefix("module ") {
            name = rest.split([' ', '(']).next().unwrap_or_default();
        }
        let module = modules.entry(name).or_default();
        if let Some(memory) = declaration(line) {
            module.memories.push(memory);
        } else if let Some(instance) = line.strip_suffix(" (").and_then(|text| text.trim().split_once(' ')) {
            module.instances.push(instance);
        }
    }
    modules
}

/// Style, width and depth.
type Declared<'a> = (&'a str, usize, usize);

/// Tells `found` of each memory below module `name`: its path, its module, what is declared.
fn expand<'a>(
    modules: &BTreeMap<&'a str, Module<'a>>,
    name: &str,
    path: &str,
    found: &mut dyn FnMut(&str, &'a str, Declared<'a>),
) {
    let Some((name, module)) = modules.get_key_value(name) else { return };
    for &memory in &module.memories {
        found(path, name, memory);
    }
    for (of, instance) in &module.instances {
        let path = if path.is_empty() { (*instance).to_owned() } else { format!("{path}.{instance}") };
        expand(modules, of, &path, found);
    }
}

/// Style, width and depth of `(* ram_style = "block" *) reg [7:0] mem [0:63];`.
fn declaration(line: &str) -> Option<Declared<'_>> {
    let (style, rest) = line.trim_start().strip_prefix(STYLE)?.split_once('"')?;
    let mut numbers = rest.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok());
    let [msb, 0, 0, last]: [usize; 4] = [numbers.next()?, numbers.next()?, numbers.next()?, numbers.next()?]
    else {
        return None;
    };
    Some((style, msb + 1, last + 1))
}
