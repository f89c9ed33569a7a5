//! A placed design for tests, as nextpnr writes it: tables with their flip-flops, wide multiplexers, LUT RAMs, carry
//! chains and block RAMs, scattered.

use std::collections::BTreeMap;

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde_json::{json, Map, Value};

/// Where each cell is.
pub fn bels(design: &Value) -> BTreeMap<String, String> {
    let cells = design["modules"]["top"]["cells"].as_object().unwrap();
    let bel = |cell: &Value| cell["attributes"]["NEXTPNR_BEL"].as_str().unwrap().to_owned();
    cells.iter().map(|(name, cell)| (name.clone(), bel(cell))).collect()
}

struct Sample {
    random: Pcg64Mcg,
    cells: Map<String, Value>,
    /// Tiles that are free yet.
    tiles: Vec<(usize, usize)>,
    nets: u64,
    /// Nets that are there to be read.
    known: Vec<u64>,
}

const CLOCK: u64 = 2;
const RESET: u64 = 3;

impl Sample {
    fn net(&mut self) -> u64 {
        self.nets += 1;
        self.nets
    }

    fn any(&mut self) -> u64 {
        // Mostly of those that were made just before: what is near belongs together.
        let last = self.known.len();
        let from = if self.random.random_range(0..8) == 0 { 0 } else { last.saturating_sub(12) };
        self.known[self.random.random_range(from..last)]
    }

    fn cell(
        &mut self,
        name: String,
        what: &str,
        bel: String,
        parameters: Value,
        ins: &[(&str, u64)],
        outs: &[(&str, u64)],
    ) {
        let ports =
            |ports: &[(&str, u64)]| ports.iter().map(|(port, net)| ((*port).into(), json!([net]))).collect();
        let mut connections: Map<String, Value> = ports(ins);
        connections.extend(ports(outs));
        let direction = |of: &[(&str, u64)], is: &str| -> Map<String, Value> {
            of.iter().map(|(port, _)| ((*port).into(), is.into())).collect()
        };
        let mut directions = direction(ins, "input");
        directions.extend(direction(outs, "output"));
        let cell = json!({"type": what, "parameters": parameters, "attributes": {"NEXTPNR_BEL": bel},
                          "port_directions": directions, "connections": connections});
        self.cells.insert(name, cell);
    }

    fn table(
        &mut self,
        name: String,
        at: (usize, usize),
        place: usize,
        mode: &str,
        tied: &[(&str, u64)],
        out: &[(&str, u64)],
    ) {
        let (a, b) = (self.any(), self.any());
        let mut ins = vec![("A", a), ("B", b)];
        ins.extend(tied);
        self.cell(name, "TRELLIS_COMB", bel(at, place, "K"), json!({"MODE": mode}), &ins, out);
    }

    fn flip_flop(&mut self, name: String, at: (usize, usize), place: usize, data: (&str, u64)) -> u64 {
        let out = self.net();
        let enable = self.known[place / 2 % 2];
        let ins = [("CLK", CLOCK), ("LSR", RESET), ("CE", enable), data];
        self.cell(name, "TRELLIS_FF", bel(at, place, "FF"), json!({"CEMUX": "CE"}), &ins, &[("Q", out)]);
        out
    }
}

fn bel((x, y): (usize, usize), place: usize, what: &str) -> String {
    format!("X{x}/Y{y}/SLICE{}.{what}{}", ["A", "B", "C", "D"][place / 2], place % 2)
}

/// So many tables and flip-flops, and some of the rest.
pub fn sample(seed: u64, count: usize) -> Value {
    let side = (count as f64 / 3.0).sqrt() as usize + 8;
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    // Chains have the first row; every fourth has block RAMs.
    let mut tiles: Vec<_> =
        (3..side).filter(|y| y % 4 != 0).flat_map(|y| (1..side).map(move |x| (x, y))).collect();
    tiles.shuffle(&mut random);
    let mut made = Sample { random, cells: Map::new(), tiles, nets: 10, known: Vec::new() };
    made.cell("clock".into(), "DCCA", "X0/Y0/DCC".into(), json!({}), &[], &[("CLKO", CLOCK)]);
    for input in 0..4 {
        let net = if input == 0 { RESET } else { made.net() };
        made.cell(
            format!("in{input}"),
            "TRELLIS_IO",
            format!("X0/Y{}/PIOA", input + 1),
            json!({}),
            &[],
            &[("O", net)],
        );
        made.known.push(net);
    }
    for chain in 0..2 {
        let mut carry = made.net();
        for place in 0..8 * (chain + 2) {
            let (next, sum) = (made.net(), made.net());
            let at = (1 + 4 * chain + place / 8, 1);
            made.table(
                format!("carry{chain}_{place}"),
                at,
                place % 8,
                "CCU2",
                &[("FCI", carry)],
                &[("FCO", next), ("F", sum)],
            );
            made.known.push(sum);
            carry = next;
        }
    }
    for ram in 0..2 {
        let at = made.tiles.pop().unwrap();
        let (data, address, read, reads) = (made.net(), made.net(), made.any(), made.net());
        let outs = [("WDO0", data), ("WADO0", address)];
        made.cell(
            format!("write{ram}"),
            "TRELLIS_RAMW",
            format!("X{}/Y{}/SLICEC.RAMW", at.0, at.1),
            json!({}),
            &[("A0", read)],
            &outs,
        );
        let tied = [("WD", data), ("WAD0", address)];
        made.table(format!("ram{ram}"), at, 0, "DPRAM", &tied, &[("F", reads)]);
        for place in [4, 5] {
            made.table(format!("kept{ram}_{place}"), at, place, "RAMW_BLOCK", &[], &[]);
        }
        made.known.push(reads);
    }
    for wide in 0..6 {
        let at = made.tiles.pop().unwrap();
        let slices = if wide < 4 { 1 } else { 2 };
        let mut halves = Vec::new();
        for slice in 0..slices {
            let (below, out, select) = (made.net(), made.net(), made.any());
            let name = format!("wide{wide}_{slice}");
            let mut tied = Vec::new();
            let mut outs = vec![("F", below)];
            if slice == 1 {
                // Of the second table of the first slice nothing else is known than that it is one.
                tied.extend([("FXA", halves[0]), ("M", select)]);
                let end = made.net();
                outs.push(("OFX", end));
                made.known.push(end);
            }
            made.table(format!("{name}_1"), at, 2 * slice + 1, "LOGIC", &tied, &outs);
            made.table(
                format!("{name}_0"),
                at,
                2 * slice,
                "LOGIC",
                &[("F1", below), ("M", select)],
                &[("OFX", out)],
            );
            halves.push(out);
        }
        made.known.push(halves[0]);
    }
    for number in 0..count {
        if number % 2 == 0 || made.tiles.is_empty() {
            // Tiles are filled from both ends: crowded at one.
            let at = made.tiles.pop().unwrap_or((1, 3));
            made.tiles.insert(0, at);
        }
        let at = made.tiles[number % 3];
        let place = (0..8).find(|place| {
            let taken = |what| {
                made.cells.values().any(|cell| cell["attributes"]["NEXTPNR_BEL"] == bel(at, *place, what))
            };
            !taken("K") && !taken("FF")
        });
        let Some(place) = place.filter(|_| {
            made.cells.values().all(|cell| {
                cell["type"] != "TRELLIS_RAMW"
                    || !cell["attributes"]["NEXTPNR_BEL"]
                        .as_str()
                        .unwrap()
                        .starts_with(&format!("X{}/Y{}/", at.0, at.1))
            })
        }) else {
            continue;
        };
        let out = made.net();
        if number % 3 != 2 {
            made.table(format!("lut{number}"), at, place, "LOGIC", &[], &[("F", out)]);
            if number % 3 == 0 {
                let q = made.flip_flop(format!("ff{number}"), at, place, ("DI", out));
                made.known.push(q);
            } else {
                made.known.push(out);
            }
        } else {
            let data = made.any();
            let q = made.flip_flop(format!("ff{number}"), at, place, ("M", data));
            made.known.push(q);
        }
    }
    for ram in 0..4 {
        let (address, data) = (made.any(), made.net());
        made.cell(
            format!("block{ram}"),
            "DP16KD",
            format!("X{}/Y4/EBR{ram}", 2 + 3 * ram),
            json!({}),
            &[("ADA0", address)],
            &[("DOA0", data)],
        );
        made.known.push(data);
    }
    json!({"modules": {"top": {"cells": made.cells, "settings": {}}}})
}
