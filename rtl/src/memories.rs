//! What memory an exported design declares: read from the Verilog itself, so
//! that no figure of state per message is made by hand.

use std::collections::BTreeMap;

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

    /// Whether one of the path's names is `instance`.
    pub fn is_in(&self, instance: &str) -> bool {
        self.path.split('.').any(|name| name == instance)
    }
}

/// Memories and instances that a module declares itself.
#[derive(Default)]
struct Module<'a> {
    memories: Vec<(&'a str, usize, usize)>,
    instances: Vec<(&'a str, &'a str)>,
}

/// Every memory below module `top`, once per instance. Only what the emitter
/// writes is understood.
pub fn memories(verilog: &str, top: &str) -> Vec<Memory> {
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
    let mut found = Vec::new();
    expand(&modules, top, "", &mut found);
    found
}

fn expand(modules: &BTreeMap<&str, Module>, name: &str, path: &str, found: &mut Vec<Memory>) {
    let Some(module) = modules.get(name) else { return };
    for &(style, width, depth) in &module.memories {
        found.push(Memory { path: path.to_owned(), style: style.to_owned(), width, depth });
    }
    for (of, instance) in &module.instances {
        let path = if path.is_empty() { (*instance).to_owned() } else { format!("{path}.{instance}") };
        expand(modules, of, &path, found);
    }
}

/// Style, width and depth of `(* ram_style = "block" *) reg [7:0] mem [0:63];`.
fn declaration(line: &str) -> Option<(&str, usize, usize)> {
    let (style, rest) = line.trim_start().strip_prefix("(* ram_style = \"")?.split_once('"')?;
    let mut numbers = rest.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok());
    let [msb, 0, 0, last]: [usize; 4] = [numbers.next()?, numbers.next()?, numbers.next()?, numbers.next()?]
    else {
        return None;
    };
    Some((style, msb + 1, last + 1))
}
