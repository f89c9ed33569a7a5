//! Which memories lie in UltraRAM where a device has fewer of them than the design would take.

use std::collections::BTreeMap;

use super::{expand, modules, Memory, STYLE};

/// A design whose memories take no more UltraRAM than it was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UltraRams {
    /// The same Verilog but for `ram_style`.
    pub verilog: String,
    /// UltraRAMs that it took as it was.
    pub wanted: usize,
    /// And takes now.
    pub used: usize,
    /// Block RAMs of 18 kbit that it takes now and did not take before.
    pub moved: usize,
}

/// The memories of one module, which all lie in the same kind of RAM: its text is there once.
#[derive(Default)]
struct Kind {
    ultra_rams: usize,
    /// Of 18 kbit, if they lay there.
    block_rams: usize,
}

/// Leaves at most `limit` UltraRAMs to the design below module `top`: those memories that save the most block RAM stay
/// there, the others become `block`. Which words are where is all that changes; no clock and no value does.
pub fn within_ultra_rams(verilog: &str, top: &str, limit: usize) -> UltraRams {
    let mut kinds: BTreeMap<&str, Kind> = BTreeMap::new();
    expand(&modules(verilog), top, "", &mut |_, module, (style, width, depth)| {
        let mut memory = Memory { path: String::new(), style: style.to_owned(), width, depth };
        if memory.ultra_rams() > 0 {
            let kind = kinds.entry(module).or_default();
            kind.ultra_rams += memory.ultra_rams();
            "block".clone_into(&mut memory.style);
            kind.block_rams += memory.block_rams();
        }
    });
    let stay = chosen(&kinds, limit);
    let (mut text, mut name) = (String::with_capacity(verilog.len()), "");
    for line in verilog.split_inclusive('\n') {
        if let Some(rest) = line.strip_prefix("module ") {
            name = rest.split([' ', '(', '\n']).next().unwrap_or_default();
        }
        if kinds.contains_key(name) && !stay.contains(&name) {
            text += &line.replacen(&format!("{STYLE}ultra\""), &format!("{STYLE}block\""), 1);
        } else {
            text += line;
        }
    }
    let sum = |of: fn(&Kind) -> usize, stays: bool| {
        kinds.iter().filter(|(name, _)| stay.contains(name) == stays).map(|(_, kind)| of(kind)).sum::<usize>()
    };
    let used = sum(|kind| kind.ultra_rams, true);
    let wanted = used + sum(|kind| kind.ultra_rams, false);
    UltraRams { verilog: text, wanted, used, moved: sum(|kind| kind.block_rams, false) }
}

/// Of the modules those that stay, with the most block RAM saved in all: a knapsack, filled module by module.
fn chosen<'a>(kinds: &BTreeMap<&'a str, Kind>, limit: usize) -> Vec<&'a str> {
    let limit = limit.min(kinds.values().map(|kind| kind.ultra_rams).sum());
    // The best of the modules so far within each number of UltraRAMs.
    let mut best = vec![(0, Vec::new()); limit + 1];
    for (&name, kind) in kinds {
        for within in (kind.ultra_rams..=limit).rev() {
            let (saved, before) = &best[within - kind.ultra_rams];
            if saved + kind.block_rams > best[within].0 {
                let mut stay = before.clone();
                stay.push(name);
                best[within] = (saved + kind.block_rams, stay);
            }
        }
    }
    best.pop().map(|(_, stay)| stay).unwrap_or_default()
}
