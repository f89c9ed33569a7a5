//! How many tables of a Xilinx slice the LUTs of a mapped design take: a table of six inputs is two of five as
//! well, where both have no more than five inputs between them.
//!
//! A vendor's tool puts two LUTs into one table where it places them, and its reports count tables. Yosys counts
//! LUTs, and of a memory in LUTs all tables of its cell. Who compares the two must know how many could share one,
//! and how many nobody reads.

use std::collections::{BTreeMap, BTreeSet};

use super::cells;
use super::netlist::{Cell, Module};

/// Inputs that two LUTs in a table may have between them.
const TOGETHER: usize = 5;
/// LUTs that are looked at for each input of one: nets that select go to thousands.
const LOOKED_AT: usize = 64;

/// Pairs of LUTs that can share a table, chosen one after another, so that there may be more of them. Only those
/// that have an input in common: others can share one too, but are then drawn to one place by nothing else.
/// What a carry chain or a multiplexer behind tables takes stays alone: it takes all of its table.
pub fn pairs(module: &Module) -> usize {
    let alone: BTreeSet<u32> = module
        .cells
        .values()
        .filter_map(|cell| {
            let kind = cells::plain(&cell.kind);
            let inputs: &[&str] = match kind {
                "CARRY4" | "CARRY8" => &["S", "DI"],
                _ if kind.starts_with("MUXF") => &["I0", "I1"],
                _ => return None,
            };
            Some(inputs.iter().filter_map(|port| cell.connections.get(*port)).flatten())
        })
        .flatten()
        .filter_map(|bit| bit.0)
        .collect();
    let mut luts: Vec<Vec<u32>> = Vec::new();
    for cell in module.cells.values() {
        let kind = cells::plain(&cell.kind);
        if kind.strip_prefix("LUT").is_none_or(|size| size.parse::<u8>().is_err()) {
            continue;
        }
        let output = cell.connections.get("O").and_then(|bits| bits.first()?.0);
        let inputs: BTreeSet<u32> = cell
            .connections
            .iter()
            .filter(|(port, _)| port.starts_with('I'))
            .flat_map(|(_, bits)| bits)
            .filter_map(|bit| bit.0)
            .collect();
        if inputs.len() <= TOGETHER && output.is_some_and(|net| !alone.contains(&net)) {
            luts.push(inputs.into_iter().collect());
        }
    }
    // Those with most inputs have the fewest to choose among.
    luts.sort_by_key(|inputs| std::cmp::Reverse(inputs.len()));
    let mut by_net: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (lut, inputs) in luts.iter().enumerate() {
        for net in inputs {
            by_net.entry(*net).or_default().push(lut);
        }
    }
    let mut taken = vec![false; luts.len()];
    let mut pairs = 0;
    for lut in 0..luts.len() {
        if taken[lut] {
            continue;
        }
        taken[lut] = true;
        let mut best: Option<(usize, usize, usize)> = None;
        for net in &luts[lut] {
            let Some(others) = by_net.get_mut(net) else { continue };
            // Not for each LUT: those of a net that selects are thousands.
            if others.iter().take(2 * LOOKED_AT).filter(|other| taken[**other]).count() > LOOKED_AT {
                others.retain(|other| !taken[*other]);
            }
            for other in others.iter().filter(|other| !taken[**other]).take(LOOKED_AT) {
                let common = luts[*other].iter().filter(|input| luts[lut].contains(input)).count();
                if luts[lut].len() + luts[*other].len() - common > TOGETHER {
                    continue;
                }
                let score = (common, luts[*other].len(), *other);
                if best.is_none_or(|best| (score.0, score.1) > (best.0, best.1)) {
                    best = Some(score);
                }
            }
        }
        if let Some((.., other)) = best {
            taken[other] = true;
            pairs += 1;
        }
    }
    pairs
}

/// Tables of memories of which nobody reads: Yosys takes a cell of seven read ports for one bit too, and a vendor's
/// tool the tables that are read. The last one is written by and stays.
pub fn unread(module: &Module) -> usize {
    let mut read: BTreeSet<u32> = module
        .ports
        .values()
        .filter(|port| port.direction != "input")
        .flat_map(|port| &port.bits)
        .filter_map(|bit| bit.0)
        .collect();
    for cell in module.cells.values() {
        for (port, bits) in &cell.connections {
            if cell.port_directions.get(port).is_none_or(|direction| direction != "output") {
                read.extend(bits.iter().filter_map(|bit| bit.0));
            }
        }
    }
    let of_cell = |cell: &Cell| {
        let ports: &[&str] = match cells::plain(&cell.kind) {
            "RAM32M16" | "RAM64M8" => &["DOA", "DOB", "DOC", "DOD", "DOE", "DOF", "DOG"],
            "RAM32M" | "RAM64M" => &["DOA", "DOB", "DOC"],
            _ => return 0,
        };
        let is_read = |port: &&&str| {
            let mut bits = cell.connections.get(**port).into_iter().flatten();
            bits.any(|bit| bit.0.is_some_and(|net| read.contains(&net)))
        };
        ports.iter().filter(|port| !is_read(port)).count()
    };
    module.cells.values().map(of_cell).sum()
}

#[cfg(test)]
mod tests {
    use super::super::netlist::Netlist;
    use super::*;

    /// Pairs of LUTs, given by their inputs, and of what stands beside them. A LUT's output is 100 and its place.
    fn of(luts: &[&[u32]], more: &[String]) -> usize {
        pairs(&module(luts, more))
    }

    fn module(luts: &[&[u32]], more: &[String]) -> Module {
        let cells = luts.iter().enumerate().map(|(at, inputs)| {
            let ports =
                inputs.iter().enumerate().map(|(i, net)| format!("\"I{i}\":[{net}],")).collect::<String>();
            format!(
                "\"l{at}\":{{\"type\":\"LUT{}\",\"connections\":{{{ports}\"O\":[{}]}}}}",
                inputs.len(),
                100 + at
            )
        });
        let cells: Vec<String> = cells.chain(more.iter().cloned()).collect();
        let text = format!("{{\"modules\":{{\"top\":{{\"cells\":{{{}}}}}}}}}", cells.join(","));
        let mut netlist: Netlist = serde_json::from_str(&text).unwrap();
        netlist.modules.remove("top").unwrap()
    }

    #[test]
    fn two_share_a_table_with_five_inputs_at_most() {
        // Two ways of choosing by the same net; then one input too many.
        assert_eq!(of(&[&[2, 3, 4], &[2, 5, 6]], &[]), 1);
        assert_eq!(of(&[&[2, 3, 4, 7], &[2, 5, 6]], &[]), 0);
        // Five inputs and some of them; six are a table of their own.
        assert_eq!(of(&[&[2, 3, 4, 5, 6], &[6, 3]], &[]), 1);
        assert_eq!(of(&[&[2, 3, 4, 5, 6, 7], &[2, 3]], &[]), 0);
        // Nothing in common.
        assert_eq!(of(&[&[2, 3], &[4, 5]], &[]), 0);
        // Each is in one pair only.
        assert_eq!(of(&[&[2, 3], &[2, 4], &[2, 5]], &[]), 1);
        assert_eq!(of(&[&[2, 3], &[2, 4], &[2, 5], &[2, 6]], &[]), 2);
    }

    #[test]
    fn the_one_with_most_in_common_is_chosen() {
        // Five inputs can only have the last; the two others have each other.
        assert_eq!(of(&[&[2, 7, 8], &[2, 3, 4, 5, 6], &[2, 9, 8], &[4, 5, 6]], &[]), 2);
    }

    #[test]
    fn what_a_carry_or_a_multiplexer_takes_is_alone() {
        let carry =
            "\"c\":{\"type\":\"CARRY4\",\"connections\":{\"S\":[100,\"0\"],\"DI\":[9,\"0\"]}}".to_owned();
        let choice = "\"m\":{\"type\":\"MUXF7\",\"connections\":{\"I0\":[9],\"I1\":[101]}}".to_owned();
        let luts: [&[u32]; 2] = [&[2, 3], &[2, 4]];
        assert_eq!(of(&luts, &[]), 1);
        assert_eq!(of(&luts, &[carry]), 0);
        assert_eq!(of(&luts, &[choice]), 0);
    }

    #[test]
    fn tables_of_a_memory_count_where_they_are_read() {
        let memory = |kind: &str, outputs: &str| {
            format!(
                "\"{kind}\":{{\"type\":\"{kind}\",\"port_directions\":{{{}\"DIA\":\"input\"}},\
                 \"connections\":{{\"DIA\":[50],{outputs}}}}}",
                ["DOA", "DOB", "DOC", "DOD", "DOE", "DOF", "DOG", "DOH"]
                    .map(|port| format!("\"{port}\":\"output\","))
                    .concat()
            )
        };
        // One bit of seven is read; that written by is no matter.
        let seven = memory("RAM64M8", "\"DOA\":[2],\"DOB\":[60],\"DOH\":[61]");
        assert_eq!(unread(&module(&[&[2, 3]], &[seven])), 6);
        // Of two bits a table one is enough, and a memory may read another.
        let two = memory("RAM32M16", "\"DOA\":[60,2],\"DOB\":[50,61],\"DOC\":[62,63]");
        assert_eq!(unread(&module(&[&[2, 3]], &[two])), 5);
        let three = memory("RAM32M", "\"DOA\":[2],\"DOB\":[3],\"DOC\":[60],\"DOD\":[61]");
        assert_eq!(unread(&module(&[&[2, 3]], &[three])), 1);
        // Each of its tables is read.
        assert_eq!(unread(&module(&[&[2, 3]], &[memory("SRL16E", "\"DOA\":[60]")])), 0);
    }
}
