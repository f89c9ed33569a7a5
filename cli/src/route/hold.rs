//! A table between a flip-flop and a block RAM's data input right behind it, for nextpnr does not lengthen a wire whose
//! data comes too early.
//!
//! A 7-series block RAM wants its data 0.67 ns after the clock still (nextpnr's times), its addresses and enables for
//! less. A flip-flop beside it has changed them after 0.6 ns; with one more wire and table that is a nanosecond.

use std::collections::BTreeSet;
use std::io::BufReader;
use std::path::Path;

use serde_json::{json, Map, Value};

use super::harness::TOP;
use crate::output::{self, Failure};

/// Whether a port of a block RAM is data to be written.
fn data(port: &str) -> bool {
    port.starts_with("DI")
}

/// Puts the tables into the mapped design in a file, and says how many.
pub fn delay(file: &Path) -> Result<usize, Failure> {
    let wrong = |error: String| Failure::new(format!("Yosys's design {}: {error}", file.display()));
    let opened = std::fs::File::open(file).map_err(|error| wrong(error.to_string()))?;
    let mut design: Value =
        serde_json::from_reader(BufReader::new(opened)).map_err(|error| wrong(error.to_string()))?;
    let tables = pad(&mut design).map_err(wrong)?;
    output::write(file, design.to_string())?;
    Ok(tables)
}

/// The same in a design (Yosys's JSON).
fn pad(design: &mut Value) -> Result<usize, String> {
    // Names are kept of nets that have no cell any more: their numbers are not free.
    let names = design["modules"][TOP]["netnames"].as_object().into_iter().flat_map(|names| names.values());
    let named =
        names.flat_map(|name| name["bits"].as_array().into_iter().flatten()).filter_map(Value::as_u64);
    let mut last = named.max().unwrap_or(0);
    let cells = &mut design["modules"][TOP]["cells"];
    let cells = cells.as_object_mut().ok_or_else(|| format!("no cells of {TOP} in it"))?;
    let bits = |cell: &Value| -> Vec<(String, usize, u64)> {
        let ports = cell["connections"].as_object().into_iter().flatten();
        ports
            .flat_map(|(port, bits)| {
                let bits = bits.as_array().into_iter().flatten().enumerate();
                bits.filter_map(|(at, bit)| Some((port.clone(), at, bit.as_u64()?)))
            })
            .collect()
    };
    let is = |cell: &Value, what: &str| cell["type"].as_str().is_some_and(|of| of.starts_with(what));
    let mut flip_flops = BTreeSet::new();
    for cell in cells.values() {
        for (port, _, bit) in bits(cell) {
            last = last.max(bit);
            if port == "Q" && is(cell, "FD") {
                flip_flops.insert(bit);
            }
        }
    }
    let mut tables = Map::new();
    for (name, cell) in cells.iter_mut().filter(|(_, cell)| is(cell, "RAMB")) {
        for (port, at, bit) in bits(cell) {
            if !data(&port) || !flip_flops.contains(&bit) {
                continue;
            }
            last += 1;
            cell["connections"][&port][at] = json!(last);
            tables.insert(
                format!("{name}.{port}{at}.later"),
                json!({
                    "hide_name": 1,
                    "type": "LUT1",
                    "parameters": {"INIT": "10"},
                    "attributes": {},
                    "port_directions": {"I0": "input", "O": "output"},
                    "connections": {"I0": [bit], "O": [last]},
                }),
            );
        }
    }
    let count = tables.len();
    cells.extend(tables);
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_stands_where_a_flip_flop_feeds_a_block_ram() {
        let mut design = json!({"modules": {TOP: {"cells": {
            "f": {"type": "FDRE", "connections": {"D": [2], "Q": [3]}},
            "l": {"type": "LUT2", "connections": {"I0": [3], "I1": [2], "O": [4]}},
            "r": {"type": "RAMB18E1", "connections": {"DIADI": [3, 4, "0"], "ADDRARDADDR": [3], "DOADO": [9]}},
            "s": {"type": "RAMB36E1", "connections": {"DIPBDIP": ["x", 3]}},
        }, "netnames": {"gone": {"bits": [20, "x", 7]}}}}});
        assert_eq!(pad(&mut design), Ok(2));
        let cells = &design["modules"][TOP]["cells"];
        assert_eq!(
            cells["r"]["connections"],
            json!({"DIADI": [21, 4, "0"], "ADDRARDADDR": [3], "DOADO": [9]})
        );
        assert_eq!(cells["s"]["connections"], json!({"DIPBDIP": ["x", 22]}));
        assert_eq!(cells["r.DIADI0.later"]["connections"], json!({"I0": [3], "O": [21]}));
        assert_eq!(cells["s.DIPBDIP1.later"]["connections"], json!({"I0": [3], "O": [22]}));
        // A table that passes on what it sees.
        assert_eq!(cells["s.DIPBDIP1.later"]["parameters"]["INIT"], "10");
        assert_eq!(cells.as_object().unwrap().len(), 6);
    }

    #[test]
    fn what_is_no_mapped_design_is_refused() {
        assert!(pad(&mut json!({"modules": {}})).unwrap_err().contains("no cells"));
    }
}
