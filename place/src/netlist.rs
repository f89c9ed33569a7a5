//! What nextpnr says of a placed design: units, which move as one, the nets between them, and where they lie.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value};

use crate::tile::{Kind, Slot, NONE};
use crate::time::{self, Arc, Ways};

/// A design that is not what nextpnr writes for an ECP5.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The JSON lacks what every design has.
    #[error("this is no placed design of nextpnr's: it has no {0}")]
    Missing(&'static str),
    /// A cell without a place.
    #[error("cell {0} is not placed: let nextpnr place the design first (--no-route --write FILE)")]
    NotPlaced(String),
    /// A cell where none can be.
    #[error("cell {cell} is placed at {bel}, which is no place for it in an ECP5")]
    Place {
        /// Its name.
        cell: String,
        /// Where it is said to be.
        bel: String,
    },
    /// Cells in several tiles that are wired as if they were in one.
    #[error("what must lie in one tile does not: cell {0}")]
    Apart(String),
    /// Two in one place, or neighbours that cannot be.
    #[error(
        "the tile at X{x}/Y{y} is not as nextpnr allows it, or not as it was known when this was written"
    )]
    Tile {
        /// Its column.
        x: i16,
        /// Its row.
        y: i16,
    },
}

/// Where a unit is: its tile, and by how many places it lies higher than where it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    pub x: i16,
    pub y: i16,
    pub shift: i8,
}

/// A table or a flip-flop of a unit: its cell, and the place it was read at.
#[derive(Clone, Debug)]
pub struct Part {
    pub cell: usize,
    pub kind: Kind,
    pub place: u8,
    pub slot: Slot,
}

/// Cells that stay together: a table and its flip-flop, a wide multiplexer, a LUT RAM; in one tile.
#[derive(Clone, Debug)]
pub struct Unit {
    pub parts: Vec<Part>,
    /// By how many places it may move inside a tile: a multiple of this. All eight: not at all.
    pub step: i8,
    pub low: i8,
    pub high: i8,
    /// Of which chain it is, if that lies in several tiles.
    pub chain: Option<usize>,
}

/// A block RAM's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RamSite {
    pub x: i16,
    pub y: i16,
    pub rest: String,
}

/// A net that costs something: units in it (block RAMs behind the others), and what does not move.
#[derive(Clone, Debug, Default)]
pub struct Net {
    pub units: Vec<u32>,
    pub fixed: Vec<(i16, i16)>,
}

/// A placed design.
pub struct Netlist {
    module: String,
    /// Names of cells in tiles, and of block RAMs.
    names: Vec<String>,
    rams: Vec<String>,
    /// What a table's place is called: `K`, or `COMB`.
    stem: String,
    pub units: Vec<Unit>,
    pub sites: Vec<Site>,
    /// Units of each chain, in one row of tiles.
    pub chains: Vec<Vec<u32>>,
    pub ram_sites: Vec<RamSite>,
    /// What does not move and is wired.
    pub fixed_sites: Vec<(i16, i16)>,
    pub nets: Vec<Net>,
    /// Ways between units, block RAMs and what does not move, numbered in this order.
    pub ways: Ways,
}

/// What is known of a cell in a tile.
struct Cell<'a> {
    name: &'a str,
    kind: Kind,
    x: i16,
    y: i16,
    place: u8,
    slot: Slot,
    wide: bool,
}

/// What is known of a net.
#[derive(Default)]
struct Wire {
    driven: bool,
    /// A clock's, which has wires of its own, or a constant.
    apart: bool,
    driver: Option<usize>,
    cells: Vec<usize>,
    rams: Vec<usize>,
    fixed: Vec<(i16, i16)>,
}

/// A cell's pins, for its times.
struct Pins<'a> {
    what: &'a str,
    owner: Owner,
    ins: Vec<(&'a str, u64)>,
    outs: Vec<(&'a str, u64)>,
}

/// Where a cell's place is written.
#[derive(Clone, Copy)]
enum Owner {
    Cell(usize),
    Ram(usize),
    Fixed(usize),
}

/// The ways through cells, by wires that have a driver and are none of a clock.
fn ways(all: &[Pins], wires: &BTreeMap<u64, Wire>, unit_of: &[u32], units: usize, rams: usize) -> Ways {
    let of = |owner| match owner {
        Owner::Cell(cell) => unit_of[cell],
        Owner::Ram(ram) => (units + ram) as u32,
        Owner::Fixed(fixed) => (units + rams + fixed) as u32,
    };
    let mut made = Ways::default();
    let mut nets: HashMap<u64, (u32, u32)> = HashMap::new();
    for pins in all {
        for (_, net) in pins.outs.iter().filter(|(_, net)| wires.get(net).is_some_and(|wire| !wire.apart)) {
            let number = made.nets as u32;
            nets.insert(*net, (number, of(pins.owner)));
            made.nets += 1;
            if let Some(at) = time::clocked(pins.what) {
                made.starts.push((number, at));
            }
        }
    }
    for pins in all {
        let sink = of(pins.owner);
        for (port, net) in &pins.ins {
            let Some((from, source)) = nets.get(net).copied() else { continue };
            let tied = match pins.what {
                "TRELLIS_COMB" => is_tied(Kind::Comb, port),
                "TRELLIS_FF" => is_tied(Kind::Ff, port),
                _ => false,
            };
            let arc = |to, own| Arc { from, to, source, sink, own, tied };
            let mut ends = true;
            for (output, behind) in &pins.outs {
                let (Some(own), Some((to, _))) = (time::through(pins.what, port, output), nets.get(behind))
                else {
                    continue;
                };
                made.arcs.push(arc(*to, own));
                ends = false;
            }
            if ends {
                made.arcs.push(arc(NONE, time::setup(pins.what, port)));
            }
        }
    }
    made.sort();
    made
}

/// `X12/Y34/SLICEA.K0` as its parts.
fn bel(text: &str) -> Option<(i16, i16, &str)> {
    let mut parts = text.splitn(3, '/');
    let x = parts.next()?.strip_prefix('X')?.parse().ok()?;
    let y = parts.next()?.strip_prefix('Y')?.parse().ok()?;
    (0..128).contains(&x).then_some(())?;
    (0..128).contains(&y).then_some((x, y, parts.next()?))
}

/// The place of eight, and what it is called, of `SLICEA.K0`.
fn place(rest: &str) -> Option<(u8, &str)> {
    let (slice, within) = rest.strip_prefix("SLICE")?.split_once('.')?;
    let slice = slice.bytes().next()?.checked_sub(b'A').filter(|slice| *slice < 4)?;
    let half = within.bytes().next_back()?;
    match half {
        b'0' | b'1' => Some((slice * 2 + half - b'0', &within[..within.len() - 1])),
        // What writes LUT RAM is the slice's own.
        _ => Some((slice * 2, within)),
    }
}

/// Inputs whose driver lies in the same slice, tile or chain, by wires that go nowhere else.
fn is_tied(kind: Kind, port: &str) -> bool {
    match kind {
        Kind::Ff => port == "DI",
        Kind::Comb => {
            ["F1", "FXA", "FXB", "FCI"].contains(&port) || port.starts_with("WD") || port.starts_with("WAD")
        }
        Kind::Write => false,
    }
}

/// Numbers for words.
#[derive(Default)]
struct Keys(HashMap<String, u32>);

impl Keys {
    fn of(&mut self, word: String) -> u32 {
        let next = self.0.len() as u32;
        *self.0.entry(word).or_insert(next)
    }
}

/// Sets of cells, joined.
struct Joined(Vec<usize>);

impl Joined {
    fn root(&mut self, mut of: usize) -> usize {
        while self.0[of] != of {
            self.0[of] = self.0[self.0[of]];
            of = self.0[of];
        }
        of
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a] = b;
    }
}

fn object<'a>(of: &'a Value, what: &'static str) -> Result<&'a Map<String, Value>, Error> {
    of.as_object().ok_or(Error::Missing(what))
}

/// The net at a port of one bit.
fn bit(connections: &Map<String, Value>, port: &str) -> Option<u64> {
    connections.get(port)?.as_array()?.first()?.as_u64()
}

fn slot(cell: &Value, kind: Kind, connections: &Map<String, Value>, keys: &mut Keys) -> Slot {
    let parameter = |name: &str| cell["parameters"][name].as_str().unwrap_or_default().trim();
    let inverted = |clock: &str, reset: &str| {
        u8::from(parameter(clock) == "INV") | u8::from(parameter(reset) == "INV") << 1
    };
    let has = |port: &str| bit(connections, port).is_some();
    match kind {
        Kind::Comb => Slot {
            uses_m: has("F1") || has("FXA"),
            carry: parameter("MODE") == "CCU2",
            ram: parameter("MODE") == "DPRAM",
            writes: parameter("MODE") == "RAMW_BLOCK",
            inverts: inverted("WCKMUX", "WREMUX"),
            ..Slot::EMPTY
        },
        Kind::Ff => {
            let enable = bit(connections, "CE");
            let (clock, reset) = (bit(connections, "CLK"), bit(connections, "LSR"));
            Slot {
                uses_m: has("M"),
                inverts: inverted("CLKMUX", "LSRMUX"),
                slice_key: keys.of(format!("{} {} {enable:?}", parameter("GSR"), parameter("CEMUX"))),
                tile_key: keys.of(format!(
                    "{} {} {} {clock:?} {reset:?}",
                    parameter("CLKMUX"),
                    parameter("LSRMUX"),
                    parameter("SRMODE")
                )),
                ..Slot::EMPTY
            }
        }
        Kind::Write => Slot::EMPTY,
    }
}

/// A unit of cells in one tile.
fn unit(number: u32, members: &[usize], cells: &[Cell], chain: Option<usize>) -> Unit {
    let parts: Vec<Part> = members
        .iter()
        .map(|&cell| {
            let of = &cells[cell];
            Part { cell, kind: of.kind, place: of.place, slot: Slot { unit: number, ..of.slot } }
        })
        .collect();
    let places = || parts.iter().map(|part| part.place as i8);
    let (low, high) = (places().min().unwrap_or(0), places().max().unwrap_or(0));
    let stays = |part: &Part| {
        part.slot.carry || part.slot.ram || part.slot.writes || part.kind == Kind::Write || chain.is_some()
    };
    let wide = members.iter().any(|&cell| cells[cell].wide);
    let selects = parts.iter().any(|part| part.kind == Kind::Comb && part.slot.uses_m);
    let step = match high - low {
        _ if parts.iter().any(stays) => 8,
        0 if !selects => 1,
        1 if !wide && low % 2 == 0 => 2,
        1..4 if low / 4 == high / 4 => 4,
        _ => 8,
    };
    Unit { parts, step, low, high, chain }
}

impl Netlist {
    /// Of the JSON that nextpnr writes.
    pub fn read(design: &Value) -> Result<Self, Error> {
        let modules = object(&design["modules"], "modules")?;
        let (module, top) = modules.iter().next().ok_or(Error::Missing("module"))?;
        let mut cells: Vec<Cell> = Vec::new();
        let mut wires: BTreeMap<u64, Wire> = BTreeMap::new();
        let (mut rams, mut ram_sites) = (Vec::new(), Vec::new());
        let mut tied: Vec<(usize, u64)> = Vec::new();
        let mut stem = String::from("K");
        let mut keys = Keys::default();
        let (mut pins, mut fixed_sites) = (Vec::new(), Vec::new());
        for (name, cell) in object(&top["cells"], "cells")? {
            let what = cell["type"].as_str().unwrap_or_default();
            let at = cell["attributes"]["NEXTPNR_BEL"].as_str();
            let at = at.ok_or_else(|| Error::NotPlaced(name.clone()))?;
            let wrong = || Error::Place { cell: name.clone(), bel: at.to_owned() };
            let (x, y, rest) = bel(at).ok_or_else(wrong)?;
            let kind = match what {
                "TRELLIS_COMB" => Some(Kind::Comb),
                "TRELLIS_FF" => Some(Kind::Ff),
                "TRELLIS_RAMW" => Some(Kind::Write),
                _ => None,
            };
            let connections = object(&cell["connections"], "connections")?;
            let is_ram = what == "DP16KD";
            let owner = match kind {
                Some(_) => Owner::Cell(cells.len()),
                None if is_ram => Owner::Ram(rams.len()),
                None => {
                    fixed_sites.push((x, y));
                    Owner::Fixed(fixed_sites.len() - 1)
                }
            };
            let (mut ins, mut outs) = (Vec::new(), Vec::new());
            for (port, bits) in connections {
                let output = cell["port_directions"][port] == "output";
                for net in bits.as_array().into_iter().flatten().filter_map(Value::as_u64) {
                    if output { &mut outs } else { &mut ins }.push((port.as_str(), net));
                    let wire = wires.entry(net).or_default();
                    wire.driven |= output;
                    wire.apart |= output && (what == "DCCA" || what.contains("VCC") || what.contains("GND"));
                    match kind {
                        Some(kind) => {
                            if output {
                                wire.driver = Some(cells.len());
                            } else if is_tied(kind, port) {
                                tied.push((cells.len(), net));
                            }
                            wire.cells.push(cells.len());
                        }
                        None if is_ram => wire.rams.push(rams.len()),
                        None => wire.fixed.push((x, y)),
                    }
                }
            }
            pins.push(Pins { what, owner, ins, outs });
            if is_ram {
                rams.push(name.clone());
                ram_sites.push(RamSite { x, y, rest: rest.to_owned() });
            }
            if let Some(kind) = kind {
                let (place, called) = place(rest).ok_or_else(wrong)?;
                if kind == Kind::Comb {
                    called.clone_into(&mut stem);
                }
                let slot = slot(cell, kind, connections, &mut keys);
                let wide = bit(connections, "FXA").is_some();
                cells.push(Cell { name, kind, x, y, place, slot, wide });
            }
        }
        let (units, sites, chains, unit_of) = units(&cells, &wires, &tied)?;
        let ways = ways(&pins, &wires, &unit_of, units.len(), rams.len());
        let mut nets = Vec::new();
        for wire in wires.into_values().filter(|wire| wire.driven && !wire.apart) {
            let mut of: Vec<u32> = wire.cells.iter().map(|&cell| unit_of[cell]).collect();
            of.extend(wire.rams.iter().map(|&ram| (units.len() + ram) as u32));
            of.sort_unstable();
            of.dedup();
            let mut fixed = wire.fixed;
            fixed.sort_unstable();
            fixed.dedup();
            if of.len() + fixed.len() > 1 {
                nets.push(Net { units: of, fixed });
            }
        }
        let names = cells.iter().map(|cell| cell.name.to_owned()).collect();
        let module = module.clone();
        Ok(Self { module, names, rams, stem, units, sites, chains, ram_sites, fixed_sites, nets, ways })
    }

    /// Puts cells where they are now.
    pub fn write(&self, design: &mut Value, sites: &[Site], rams: &[RamSite]) -> Result<(), Error> {
        let cells =
            design["modules"][&self.module]["cells"].as_object_mut().ok_or(Error::Missing("cells"))?;
        let mut put = |name: &str, bel: String| {
            if let Some(cell) = cells.get_mut(name) {
                cell["attributes"]["NEXTPNR_BEL"] = Value::String(bel);
            }
        };
        for (unit, site) in self.units.iter().zip(sites) {
            let Site { x, y, shift } = site;
            for part in &unit.parts {
                let place = (part.place as i8 + shift) as u8;
                let (slice, half) = (char::from(b'A' + place / 2), place % 2);
                let within = match part.kind {
                    Kind::Comb => format!("{}{half}", self.stem),
                    Kind::Ff => format!("FF{half}"),
                    Kind::Write => "RAMW".into(),
                };
                put(&self.names[part.cell], format!("X{x}/Y{y}/SLICE{slice}.{within}"));
            }
        }
        for (name, site) in self.rams.iter().zip(rams) {
            put(name, format!("X{}/Y{}/{}", site.x, site.y, site.rest));
        }
        Ok(())
    }
}

/// Units, where they are, chains of them over several tiles, and the unit of each cell.
type Units = (Vec<Unit>, Vec<Site>, Vec<Vec<u32>>, Vec<u32>);

fn units(cells: &[Cell], wires: &BTreeMap<u64, Wire>, tied: &[(usize, u64)]) -> Result<Units, Error> {
    let mut joined = Joined((0..cells.len()).collect());
    for (cell, net) in tied {
        if let Some(driver) = wires.get(net).and_then(|wire| wire.driver) {
            joined.join(*cell, driver);
        }
    }
    // Places kept for what writes LUT RAM have no wire to it.
    let write = |cell: &&Cell| cell.kind == Kind::Write;
    let writers: HashMap<(i16, i16), usize> = cells
        .iter()
        .enumerate()
        .filter(|(_, cell)| write(cell))
        .map(|(at, cell)| ((cell.x, cell.y), at))
        .collect();
    for (at, cell) in cells.iter().enumerate().filter(|(_, cell)| cell.slot.writes) {
        let writer = writers.get(&(cell.x, cell.y)).ok_or_else(|| Error::Apart(cell.name.into()))?;
        joined.join(at, *writer);
    }
    let mut members: BTreeMap<usize, BTreeMap<(i16, i16), Vec<usize>>> = BTreeMap::new();
    for (at, cell) in cells.iter().enumerate() {
        members.entry(joined.root(at)).or_default().entry((cell.y, cell.x)).or_default().push(at);
    }
    let (mut units, mut sites, mut chains) = (Vec::new(), Vec::new(), Vec::new());
    let mut unit_of = vec![NONE; cells.len()];
    for by_tile in members.into_values() {
        let chain = (by_tile.len() > 1).then_some(chains.len());
        let mut of = Vec::new();
        let row = by_tile.keys().next().map(|(y, _)| *y);
        for ((y, x), members) in by_tile {
            // Only a carry chain goes on in the next tile.
            let carries = members.iter().any(|&cell| cells[cell].slot.carry);
            if chain.is_some() && (Some(y) != row || !carries) {
                return Err(Error::Apart(cells[members[0]].name.into()));
            }
            let number = units.len() as u32;
            members.iter().for_each(|&cell| unit_of[cell] = number);
            units.push(unit(number, &members, cells, chain));
            sites.push(Site { x, y, shift: 0 });
            of.push(number);
        }
        if chain.is_some() {
            chains.push(of);
        }
    }
    Ok((units, sites, chains, unit_of))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::sample;

    #[test]
    fn what_is_wired_in_a_slice_is_a_unit() {
        let netlist = Netlist::read(&sample(1, 60)).unwrap();
        let steps = |step| netlist.units.iter().filter(|unit| unit.step == step).count();
        // A wide multiplexer is a slice, one of four tables half a tile; LUT RAM and chains keep their places.
        assert!(steps(1) > 20 && steps(2) == 4 && steps(4) == 2, "{} {} {}", steps(1), steps(2), steps(4));
        assert_eq!(steps(8), 2 + netlist.chains.iter().map(Vec::len).sum::<usize>());
        assert_eq!(netlist.chains.iter().map(Vec::len).collect::<Vec<_>>(), [2, 3]);
        let paired = netlist.units.iter().filter(|unit| unit.step == 1 && unit.parts.len() == 2).count();
        assert!(paired > 5, "{paired}");
        // The clock has wires of its own.
        assert!(netlist.nets.iter().all(|net| net.units.len() < 60));
    }

    #[test]
    fn what_belongs_together_and_does_not_lie_so_is_refused() {
        let apart = |cell: &str, bel: &str| {
            let mut design = sample(1, 60);
            design["modules"]["top"]["cells"][cell]["attributes"]["NEXTPNR_BEL"] = bel.into();
            matches!(Netlist::read(&design), Err(Error::Apart(_)))
        };
        // A flip-flop not with its table, half of a multiplexer, what writes LUT RAM, a carry in another row.
        assert!(apart("ff0", "X40/Y3/SLICEA.FF0") && apart("wide0_0_1", "X40/Y3/SLICEA.K1"));
        assert!(apart("write0", "X40/Y3/SLICEC.RAMW") && apart("carry0_12", "X2/Y3/SLICEC.K0"));
        assert!(!apart("ff2", "X40/Y3/SLICEA.FF0"));
        // In the same row it is no chain either.
        let ff = crate::sample::bels(&sample(1, 60))["ff0"].clone();
        let row = ff.split('/').nth(1).unwrap();
        assert!(apart("ff0", &format!("X40/{row}/SLICEA.FF0")));
    }

    #[test]
    fn ways_go_through_cells() {
        let netlist = Netlist::read(&sample(1, 60)).unwrap();
        let (units, rams) = (netlist.units.len() as u32, netlist.ram_sites.len() as u32);
        let arcs = &netlist.ways.arcs;
        let count = |of: &dyn Fn(&Arc) -> bool| arcs.iter().filter(|arc| of(arc)).count();
        // Carries: two chains of 16 and 24, each from the one before it and from two more inputs, to the next and the sum.
        assert_eq!(count(&|arc| arc.own == 0.071), 38);
        assert_eq!(count(&|arc| arc.own == 0.447), 80);
        let chained = |unit: &u32| netlist.chains.iter().flatten().any(|of| of == unit);
        assert_eq!(count(&|arc| arc.to == NONE && chained(&arc.sink)), 0);
        // Data of flip-flops by the wire from their own table; block RAMs begin ways and end them.
        assert!(count(&|arc| arc.tied && arc.to == NONE && arc.source == arc.sink) > 10);
        assert_eq!(count(&|arc| arc.to == NONE && (units..units + rams).contains(&arc.sink)), 4);
        assert_eq!(netlist.ways.starts.iter().filter(|(_, at)| *at == 5.83).count(), 4);
        // Four pins, which do not move, and the clock's source; the clock itself is on no way.
        assert_eq!(netlist.fixed_sites.len(), 5);
        assert!(
            count(&|arc| arc.source >= units + rams) > 0 && count(&|arc| arc.source == units + rams) == 0
        );
    }

    #[test]
    fn places_are_read_as_they_are_written() {
        assert_eq!(bel("X12/Y7/SLICEC.K1"), Some((12, 7, "SLICEC.K1")));
        assert_eq!((bel("X12/Y200/SLICEC.K1"), bel("12/7")), (None, None));
        assert_eq!(place("SLICEC.K1"), Some((5, "K")));
        assert_eq!(place("SLICEC.RAMW"), Some((4, "RAMW")));
        assert_eq!(place("SLICEA.FF0"), Some((0, "FF")));
        assert_eq!((place("EBR0"), place("SLICEE.K0")), (None, None));
        let mut design = sample(1, 60);
        design["modules"]["top"]["cells"]["ff2"]["attributes"]["NEXTPNR_BEL"] = "X1/Y1/IO0".into();
        let said = Netlist::read(&design).err().unwrap().to_string();
        assert!(said.contains("ff2") && said.contains("X1/Y1/IO0"), "{said}");
    }
}
