//! Refines where nextpnr has placed a design in a Lattice ECP5, by simulated annealing, before it is routed.
//!
//! ```text
//!  nextpnr --no-route --write placed.json ──> refine ──> nextpnr --no-pack --no-place --json placed.json
//!     netlist: cells that must stay together are one unit, what they are wired to
//!     tile:    what may lie in one tile of eight tables and eight flip-flops
//!     wires:   what a placement costs, and what a move changes of it
//!     time:    which wires are on long ways
//!     anneal:  the moves
//! ```
//!
//! nextpnr's own refinement takes only what is better at once (its temperature is zero), three tiles around each cell,
//! and minds wire and time alone. Designs that fill two thirds of a device and more are then too crowded in its middle
//! to be routed: see docs/decisions/0086. What is minded here, in lengths of a tile:
//!
//! - the half perimeter of each net's box, by a factor for the number of tiles it reaches (Cheng's, as VPR has it);
//! - how much wire there is in that box: the same length counts more where the mean of all nets' wire is high;
//! - in how many tiles a net arrives, and the square of how many nets reach into a tile;
//! - if wanted, the wires of ways that are nearly as long as the longest, by estimate, anew at each temperature.
//!
//! Seeds make it repeatable: the same placement, rounds and seed give the same.

mod anneal;
mod netlist;
#[cfg(test)]
mod sample;
mod tile;
mod time;
mod wires;

use std::fmt;

use serde::Serialize;
use serde_json::Value;

pub use netlist::Error;

use anneal::Annealer;
use netlist::Netlist;

/// How long, and from which seed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Effort {
    /// Moves tried for each unit at each of [`STAGES`] temperatures.
    pub rounds: u32,
    /// Where chance begins: the same gives the same.
    pub seed: u64,
    /// What a tile of a wire on the longest way costs beyond its wire, in what a tile of wire does; 0: time is not minded.
    pub time: f32,
}

/// Temperatures, the last of them zero.
pub const STAGES: u32 = 61;

/// What a placement is like.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// Half perimeters of all nets' boxes, tiles: what nextpnr calls the wire length.
    pub wire: u64,
    /// In how many tiles nets arrive, over all nets.
    pub arrivals: u64,
    /// Wire in the tile that has more than all but a hundredth, to the mean.
    pub crowd: f32,
    /// Nets that reach into the tile that has more than all but a hundredth.
    pub pins: u32,
    /// The longest way by estimate, ns at speed grade 6.
    pub longest: f32,
}

impl fmt::Display for Figures {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { wire, arrivals, crowd, pins, longest } = self;
        write!(to, "wire {wire}, {arrivals} arrivals, crowds {crowd:.2}, {pins} pins, {longest:.1} ns")
    }
}

/// What refining came to.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Refined {
    /// As nextpnr placed it.
    pub before: Figures,
    /// As it is now.
    pub after: Figures,
    /// What moves as one.
    pub units: usize,
    /// Carry chains over several tiles, whose units move together.
    pub chains: usize,
    /// The longest way if each wire were as short as a wire can be, ns: no placement has a shorter one by this estimate, at speed
    /// grade 6. What is routed can be a little shorter than estimated.
    pub shortest: f32,
}

/// Refines a placed design, the JSON that nextpnr writes, in place; what is not understood is an error, and leaves it
/// as it was. `progress` hears of each temperature.
pub fn refine(
    design: &mut Value,
    effort: Effort,
    mut progress: impl FnMut(u32, Figures),
) -> Result<Refined, Error> {
    let netlist = Netlist::read(design)?;
    let mut annealer = Annealer::new(&netlist, effort.seed, effort.time)?;
    let before = annealer.figures();
    for stage in 0..STAGES {
        annealer.stage(stage, STAGES, effort.rounds);
        progress(stage, annealer.figures());
    }
    let (units, chains) = (netlist.units.len(), netlist.chains.len());
    let refined = Refined { before, after: annealer.figures(), units, chains, shortest: annealer.shortest() };
    netlist.write(design, annealer.sites(), annealer.ram_sites())?;
    Ok(refined)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::sample::{bels, sample};

    #[test]
    fn a_placement_gets_better_and_stays_legal() {
        let placed = sample(7, 400);
        let mut design = placed.clone();
        let mut heard = 0;
        let refined =
            refine(&mut design, Effort { rounds: 20, seed: 1, time: 12.0 }, |_, _| heard += 1).unwrap();
        assert_eq!(heard, STAGES);
        assert!(refined.after.wire * 10 < refined.before.wire * 7, "{refined:?}");
        assert!(refined.chains == 2 && refined.units > 300, "{refined:?}");
        // Each cell at a place of its own, of its own kind; nothing but places has changed.
        let (old, new) = (bels(&placed), bels(&design));
        let mut places: Vec<_> = new.values().collect();
        places.sort();
        places.dedup();
        assert_eq!(places.len(), old.len());
        let kind =
            |bel: &str| bel.rsplit(['/', '.']).next().unwrap().trim_end_matches(char::is_numeric).to_owned();
        assert!(old.iter().all(|(name, bel)| kind(bel) == kind(&new[name])));
        // What is read of it again is as legal as before, and costs what was said.
        let netlist = Netlist::read(&design).unwrap();
        assert_eq!(Annealer::new(&netlist, 3, 0.0).unwrap().figures(), refined.after);
    }

    /// A table at the end of many wires and on one long way: where the wires are shorter it makes the way longer.
    #[test]
    fn a_long_way_is_worth_some_wire() {
        let io = |x: usize, y: usize, ports: Value, directions: Value| {
            json!({"type": "TRELLIS_IO", "parameters": {}, "attributes": {"NEXTPNR_BEL": format!("X{x}/Y{y}/PIOA")},
                   "port_directions": directions, "connections": ports})
        };
        let mut cells = serde_json::Map::new();
        for (input, x) in [("A", 1), ("B", 60), ("C", 60), ("D", 60)] {
            let net = 10 + cells.len();
            cells.insert(input.into(), io(x, cells.len(), json!({"O": [net]}), json!({"O": "output"})));
        }
        cells.insert("end".into(), io(1, 9, json!({"I": [20]}), json!({"I": "input"})));
        // As much wire everywhere, so that none is dear.
        for (x, y) in (1..60).flat_map(|x| (0..24).map(move |y| (x, y))) {
            let net = 2000 + 100 * x + y;
            let ports = |x, y, port: &str, is: &str| io(x, y, json!({port: [net]}), json!({port: is}));
            cells.insert(format!("from{net}"), ports(x, y, "O", "output"));
            cells.insert(format!("to{net}"), ports(x + 1, y, "I", "input"));
        }
        // Somewhere to go: a row of tables that are wired to nothing.
        let table = |x: usize, y: usize, ports: Value| {
            let is = |(port, _): (&String, &Value)| {
                (port.clone(), json!(if port == "F" { "output" } else { "input" }))
            };
            let directions: Value = ports.as_object().unwrap().iter().map(is).collect();
            json!({"type": "TRELLIS_COMB", "parameters": {"MODE": "LOGIC"}, "port_directions": directions,
                   "attributes": {"NEXTPNR_BEL": format!("X{x}/Y{y}/SLICEA.K0")}, "connections": ports})
        };
        for x in 1..61 {
            cells.insert(format!("other{x}"), table(x, 20, json!({"F": [1000 + x]})));
        }
        let wired = json!({"A": [10], "B": [11], "C": [12], "D": [13], "F": [20]});
        cells.insert("table".into(), table(30, 3, wired));
        let refined = |time| {
            let mut design = json!({"modules": {"top": {"cells": cells, "settings": {}}}});
            let refined = refine(&mut design, Effort { rounds: 20, seed: 1, time }, |_, _| ()).unwrap();
            let at = bels(&design)["table"].clone();
            (at[1..at.find('/').unwrap()].parse::<usize>().unwrap(), refined)
        };
        // Three wires come from the right, two go to the left: by wire alone it goes to the right, and the way from the
        // left and back takes 12.8 ns.
        let (column, by_wire) = refined(0.0);
        assert!(column > 55 && by_wire.after.longest > 12.0, "{column}, {by_wire:?}");
        // In the middle all ways are as long.
        let (column, by_time) = refined(12.0);
        assert!((20..45).contains(&column) && by_time.after.longest < 10.0, "{column}, {by_time:?}");
        // By two wires of 0.48 ns and a table.
        assert!((by_time.shortest - 1.196).abs() < 1e-3, "{by_time:?}");
    }

    #[test]
    fn the_same_seed_gives_the_same() {
        let refined = |seed| {
            let mut design = sample(3, 200);
            refine(&mut design, Effort { rounds: 3, seed, time: 12.0 }, |_, _| ()).unwrap();
            bels(&design)
        };
        assert_eq!(refined(1), refined(1));
        assert_ne!(refined(1), refined(2));
    }

    #[test]
    fn what_is_not_placed_is_refused_and_left() {
        let mut design = sample(7, 50);
        let cells = design["modules"]["top"]["cells"].as_object_mut().unwrap();
        cells["ff3"]["attributes"].as_object_mut().unwrap().remove("NEXTPNR_BEL");
        let before = design.clone();
        let said =
            refine(&mut design, Effort { rounds: 1, seed: 1, time: 0.0 }, |_, _| ()).unwrap_err().to_string();
        assert!(said.contains("ff3") && said.contains("placed"), "{said}");
        assert_eq!(design, before);
        let said = refine(&mut serde_json::json!({}), Effort { rounds: 1, seed: 1, time: 0.0 }, |_, _| ())
            .unwrap_err();
        assert!(said.to_string().contains("modules"), "{said}");
    }
}
