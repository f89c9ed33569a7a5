//! Refines where nextpnr has placed a design in a Lattice ECP5, by simulated annealing, before it is routed.
//!
//! ```text
//!  nextpnr --no-route --write placed.json ──> refine ──> nextpnr --no-pack --no-place --json placed.json
//!     netlist: cells that must stay together are one unit, what they are wired to
//!     tile:    what may lie in one tile of eight tables and eight flip-flops
//!     wires:   what a placement costs, and what a move changes of it
//!     anneal:  the moves
//! ```
//!
//! nextpnr's own refinement takes only what is better at once (its temperature is zero), three tiles around each cell,
//! and minds wire and time alone. Designs that fill two thirds of a device and more are then too crowded in its middle
//! to be routed: see docs/decisions/0086. What is minded here, in lengths of a tile:
//!
//! - the half perimeter of each net's box, by a factor for the number of tiles it reaches (Cheng's, as VPR has it);
//! - how much wire there is in that box: the same length counts more where the mean of all nets' wire is high;
//! - in how many tiles a net arrives, and the square of how many nets reach into a tile.
//!
//! Time is not minded. Seeds make it repeatable: the same placement, rounds and seed give the same.

mod anneal;
mod netlist;
#[cfg(test)]
mod sample;
mod tile;
mod wires;

use std::fmt;

use serde::Serialize;
use serde_json::Value;

pub use netlist::Error;

use anneal::Annealer;
use netlist::Netlist;

/// How long, and from which seed.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Moves tried for each unit at each of [`STAGES`] temperatures.
    pub rounds: u32,
    /// Where chance begins: the same gives the same.
    pub seed: u64,
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
}

impl fmt::Display for Figures {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { wire, arrivals, crowd, pins } = self;
        write!(to, "wire {wire}, {arrivals} arrivals, crowds {crowd:.2}, {pins} pins")
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
}

/// Refines a placed design, the JSON that nextpnr writes, in place; what is not understood is an error, and leaves it
/// as it was. `progress` hears of each temperature.
pub fn refine(
    design: &mut Value,
    effort: Effort,
    mut progress: impl FnMut(u32, Figures),
) -> Result<Refined, Error> {
    let netlist = Netlist::read(design)?;
    let mut annealer = Annealer::new(&netlist, effort.seed)?;
    let before = annealer.figures();
    for stage in 0..STAGES {
        annealer.stage(stage, STAGES, effort.rounds);
        progress(stage, annealer.figures());
    }
    let (units, chains) = (netlist.units.len(), netlist.chains.len());
    let refined = Refined { before, after: annealer.figures(), units, chains };
    netlist.write(design, annealer.sites(), annealer.ram_sites())?;
    Ok(refined)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{bels, sample};

    #[test]
    fn a_placement_gets_better_and_stays_legal() {
        let placed = sample(7, 400);
        let mut design = placed.clone();
        let mut heard = 0;
        let refined = refine(&mut design, Effort { rounds: 20, seed: 1 }, |_, _| heard += 1).unwrap();
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
        assert_eq!(Annealer::new(&netlist, 3).unwrap().figures(), refined.after);
    }

    #[test]
    fn the_same_seed_gives_the_same() {
        let refined = |seed| {
            let mut design = sample(3, 200);
            refine(&mut design, Effort { rounds: 3, seed }, |_, _| ()).unwrap();
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
        let said = refine(&mut design, Effort { rounds: 1, seed: 1 }, |_, _| ()).unwrap_err().to_string();
        assert!(said.contains("ff3") && said.contains("placed"), "{said}");
        assert_eq!(design, before);
        let said = refine(&mut serde_json::json!({}), Effort { rounds: 1, seed: 1 }, |_, _| ()).unwrap_err();
        assert!(said.to_string().contains("modules"), "{said}");
    }
}
