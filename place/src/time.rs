//! How long signals take by where their cells lie, and which of them are on long ways.

use crate::netlist::Site;
use crate::tile::NONE;

/// What the shortest wire between two cells takes, ns, and each tile of its way; twice that each of the first five in a
/// direction. It is how nextpnr 0.11 estimates (`predictDelay` in its `ecp5/arch.cc`), at speed grade 6.
const WIRE: f32 = 0.48;
const TILE: f32 = 0.08;
const NEAR: i32 = 5;

/// Wires of ways that are not the longest cost by this power of their share of its length.
const POWER: i32 = 8;
/// How much of what wires cost at a temperature stays at the next: else two ways take turns at being the longest.
const STAYS: f32 = 0.8;
/// Less than this is not minded.
const LEAST: f32 = 0.02;

/// What a cell adds, ns, from an input to an output; as nextpnr's SDF has it for speed grade 6. `None`: no way.
pub fn through(what: &str, input: &str, output: &str) -> Option<f32> {
    let table = ["A", "B", "C", "D"].contains(&input);
    match (what, input, output) {
        ("TRELLIS_COMB", _, "F") if table => Some(0.236),
        ("TRELLIS_COMB", "FCI", "F") => Some(0.443),
        ("TRELLIS_COMB", _, "FCO") if table => Some(0.447),
        ("TRELLIS_COMB", "FCI", "FCO") => Some(0.071),
        ("TRELLIS_COMB", _, "OFX") if table => Some(0.401),
        ("TRELLIS_COMB", "M", "OFX") => Some(0.256),
        ("TRELLIS_COMB", "F1", "OFX") => Some(0.165),
        ("TRELLIS_COMB", "FXA" | "FXB", "OFX") => Some(0.242),
        ("MULT18X18D", _, _) if output.starts_with('P') && input.starts_with(['A', 'B']) => Some(3.927),
        _ => None,
    }
}

/// When an output comes by the clock, ns behind it.
pub fn clocked(what: &str) -> Option<f32> {
    match what {
        "TRELLIS_FF" => Some(0.525),
        "DP16KD" => Some(5.83),
        "TRELLIS_IO" => Some(0.0),
        _ => None,
    }
}

/// How long before the clock an input must stand, ns.
pub fn setup(what: &str, input: &str) -> f32 {
    match (what, input) {
        ("TRELLIS_FF", "LSR") => 0.424,
        ("TRELLIS_COMB", "WRE") => 0.392,
        ("DP16KD", _) => 0.251,
        _ => 0.0,
    }
}

/// A wire to an input of a cell, and the cell from there to an output or, at its end, to the clock.
#[derive(Clone, Copy, Debug)]
pub struct Arc {
    /// The net, and the one behind the cell: none if it ends there.
    pub from: u32,
    pub to: u32,
    /// Who drives it, and whose input it is.
    pub source: u32,
    pub sink: u32,
    /// What the cell takes, ns.
    pub own: f32,
    /// By a wire inside a tile.
    pub tied: bool,
}

/// The ways of a design.
#[derive(Clone, Debug, Default)]
pub struct Ways {
    pub nets: usize,
    /// Nets that come by the clock, ns behind it.
    pub starts: Vec<(u32, f32)>,
    pub arcs: Vec<Arc>,
}

impl Ways {
    /// In the order in which signals come; what goes in a circle has none, and is left out.
    pub fn sort(&mut self) {
        let mut into = vec![0u32; self.nets];
        let mut out = vec![Vec::new(); self.nets];
        for (number, arc) in self.arcs.iter().enumerate() {
            out[arc.from as usize].push(number);
            if arc.to != NONE {
                into[arc.to as usize] += 1;
            }
        }
        let mut ready: Vec<usize> = (0..self.nets).filter(|net| into[*net] == 0).collect();
        let mut sorted = Vec::with_capacity(self.arcs.len());
        while let Some(net) = ready.pop() {
            for &number in &out[net] {
                let arc = self.arcs[number];
                sorted.push(arc);
                if arc.to != NONE {
                    into[arc.to as usize] -= 1;
                    if into[arc.to as usize] == 0 {
                        ready.push(arc.to as usize);
                    }
                }
            }
        }
        self.arcs = sorted;
    }
}

/// What a direction adds to a wire, in tiles.
fn tiles(of: i16, to: i16) -> f32 {
    let far = (i32::from(of) - i32::from(to)).abs();
    (far + far.min(NEAR)) as f32
}

fn distance(a: Site, b: Site) -> f32 {
    tiles(a.x, b.x) + tiles(a.y, b.y)
}

/// What the ways cost as units lie.
pub struct Times {
    ways: Ways,
    /// What a tile of a wire on the longest way costs.
    dearest: f32,
    /// What a tile of each arc's wire costs.
    costs: Vec<f32>,
    /// Of each unit those it is wired to on long ways, and what a tile between them costs.
    beside: Vec<Vec<(u32, f32)>>,
    /// In which move a unit was last, and where it was before.
    was: Vec<(u32, Site)>,
    now: u32,
    longest: f32,
    shortest: f32,
}

impl Times {
    pub fn new(ways: Ways, dearest: f32, sites: &[Site]) -> Self {
        let mut times = Self {
            costs: vec![0.0; ways.arcs.len()],
            ways,
            dearest,
            beside: vec![Vec::new(); sites.len()],
            was: sites.iter().map(|site| (0, *site)).collect(),
            now: 0,
            longest: 0.0,
            shortest: 0.0,
        };
        let together = vec![Site { x: 0, y: 0, shift: 0 }; sites.len()];
        times.shortest = times.lengths(&together).0;
        times.weigh(sites);
        times
    }

    /// The longest way when [`Times::weigh`] looked last, ns.
    pub fn longest(&self) -> f32 {
        self.longest
    }

    /// The longest way if each wire were as short as a wire can be, ns.
    pub fn shortest(&self) -> f32 {
        self.shortest
    }

    /// The longest way, and for each arc the longest of those through it, ns. Of what never changes, less than zero.
    fn lengths(&self, sites: &[Site]) -> (f32, Vec<f32>) {
        let Ways { nets, starts, arcs } = &self.ways;
        let takes = |arc: &Arc| {
            let far = distance(sites[arc.source as usize], sites[arc.sink as usize]);
            arc.own + if arc.tied { 0.0 } else { WIRE + TILE * far }
        };
        let mut before = vec![f32::NEG_INFINITY; *nets];
        starts.iter().for_each(|(net, at)| before[*net as usize] = *at);
        for arc in arcs.iter().filter(|arc| arc.to != NONE) {
            let at = before[arc.from as usize] + takes(arc);
            before[arc.to as usize] = before[arc.to as usize].max(at);
        }
        let mut behind = vec![0.0f32; *nets];
        let mut through = vec![0.0f32; arcs.len()];
        for (arc, through) in arcs.iter().zip(&mut through).rev() {
            let rest = takes(arc) + if arc.to == NONE { 0.0 } else { behind[arc.to as usize] };
            behind[arc.from as usize] = behind[arc.from as usize].max(rest);
            *through = before[arc.from as usize] + rest;
        }
        (through.iter().copied().fold(0.0, f32::max), through)
    }

    /// Which ways are long as units lie now, and what their wires cost from here on.
    pub fn weigh(&mut self, sites: &[Site]) {
        let (longest, through) = self.lengths(sites);
        self.longest = longest;
        let mut wires: Vec<(u32, u32, f32)> = Vec::new();
        for ((arc, costs), through) in self.ways.arcs.iter().zip(&mut self.costs).zip(through) {
            let share = (through / longest).max(0.0);
            *costs = *costs * STAYS + self.dearest * share.powi(POWER) * (1.0 - STAYS);
            if *costs >= LEAST && !arc.tied && arc.source != arc.sink {
                wires.push((arc.source.min(arc.sink), arc.source.max(arc.sink), *costs));
            }
        }
        // Of several between the same two the dearest counts.
        wires.sort_unstable_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)).then(b.2.total_cmp(&a.2)));
        wires.dedup_by_key(|wire| (wire.0, wire.1));
        self.beside.iter_mut().for_each(Vec::clear);
        for (a, b, costs) in wires {
            self.beside[a as usize].push((b, costs));
            self.beside[b as usize].push((a, costs));
        }
    }

    /// One of those that a unit is wired to on long ways.
    pub fn beside(&self, unit: u32, which: usize) -> Option<u32> {
        let beside = &self.beside[unit as usize];
        beside.get(which % beside.len().max(1)).map(|(other, _)| *other)
    }

    /// What changes in cost, units having gone to other sites: `moved` has the old ones. Nothing to take back, if the
    /// move is not made.
    pub fn moved(&mut self, moved: &[(u32, Site)], sites: &[Site]) -> f32 {
        self.now += 1;
        for (unit, old) in moved {
            self.was[*unit as usize] = (self.now, *old);
        }
        let mut change = 0.0;
        for (unit, old) in moved {
            let new = sites[*unit as usize];
            for (other, costs) in &self.beside[*unit as usize] {
                let there = sites[*other as usize];
                // Between two that move it is met twice.
                let (was, costs) = match self.was[*other as usize] {
                    (then, was) if then == self.now => (was, costs / 2.0),
                    _ => (there, *costs),
                };
                change += costs * (distance(new, there) - distance(*old, was));
            }
        }
        change
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;

    const DEAREST: f32 = 12.0;

    fn at(x: i16, y: i16) -> Site {
        Site { x, y, shift: 0 }
    }

    fn arc(from: u32, to: u32, source: u32, sink: u32, own: f32) -> Arc {
        Arc { from, to, source, sink, own, tied: false }
    }

    /// A flip-flop, two tables, a flip-flop; the second table has a second way to it, and a wire of its own.
    fn chain() -> Ways {
        let mut ways = Ways {
            nets: 4,
            starts: vec![(0, 0.525), (3, 0.525)],
            arcs: vec![
                Arc { tied: true, ..arc(2, NONE, 2, 2, 0.0) },
                arc(1, 2, 1, 2, 0.236),
                arc(3, 2, 3, 2, 0.236),
                arc(0, 1, 0, 1, 0.236),
            ],
        };
        ways.sort();
        ways
    }

    #[test]
    fn ways_are_as_long_as_their_wires() {
        let times = Times::new(chain(), DEAREST, &[at(1, 1), at(3, 1), at(3, 11), at(3, 11)]);
        // Two tiles are as four, ten are as fifteen.
        let wires = 0.48 + 4.0 * 0.08 + 0.48 + 15.0 * 0.08;
        assert!((times.longest() - (0.525 + wires + 2.0 * 0.236)).abs() < 1e-4, "{}", times.longest());
        assert!((times.shortest() - (0.525 + 2.0 * 0.48 + 2.0 * 0.236)).abs() < 1e-4);
        // What lies on the longest costs most, what is beside it less.
        let costs = |of: u32, to: u32| {
            times.beside[of as usize].iter().find(|(other, _)| *other == to).map_or(0.0, |(_, costs)| *costs)
        };
        assert!((costs(0, 1) - DEAREST * (1.0 - STAYS)).abs() < 1e-3 && costs(0, 1) == costs(1, 2));
        assert!(costs(3, 2) < costs(1, 2) / 100.0, "{}", costs(3, 2));
        assert_eq!(times.beside(1, 5), Some(2));
        let unminded = Times::new(chain(), 0.0, &[at(1, 1), at(3, 1), at(3, 11), at(3, 11)]);
        assert!(unminded.longest() == times.longest() && unminded.beside(1, 5).is_none());
    }

    #[test]
    fn what_never_changes_is_on_no_way() {
        let far = [at(1, 1), at(90, 1), at(1, 1), at(1, 1)];
        let ways = Ways { starts: vec![(3, 0.525)], ..chain() };
        let times = Times::new(ways, DEAREST, &far);
        assert!((times.longest() - (0.525 + 0.48 + 0.236)).abs() < 1e-4, "{}", times.longest());
        assert!(times.beside[0].is_empty() && times.beside[1].is_empty());
    }

    #[test]
    fn a_circle_is_left_out() {
        let mut ways = chain();
        ways.arcs.extend([arc(1, 0, 1, 0, 0.236)]);
        ways.sort();
        assert_eq!(ways.arcs.len(), 1, "{:?}", ways.arcs);
    }

    /// What cells do to a signal, as nextpnr's SDF of a design has it.
    #[test]
    fn cells_take_their_time() {
        assert_eq!(through("TRELLIS_COMB", "C", "F"), Some(0.236));
        assert_eq!(through("TRELLIS_COMB", "FCI", "FCO"), Some(0.071));
        assert_eq!((through("TRELLIS_COMB", "WD", "F"), through("TRELLIS_FF", "DI", "Q")), (None, None));
        assert_eq!((clocked("DP16KD"), clocked("TRELLIS_COMB")), (Some(5.83), None));
        assert_eq!((setup("TRELLIS_FF", "LSR"), setup("TRELLIS_FF", "DI")), (0.424, 0.0));
    }

    /// What moves change, summed up, is what the whole costs anew.
    #[test]
    fn moves_are_counted_as_the_whole_is() {
        let mut random = Pcg64Mcg::seed_from_u64(5);
        let arcs = (0..200).map(|_| {
            arc(random.random_range(0..20), NONE, random.random_range(0..40), random.random_range(0..40), 1.0)
        });
        let ways = Ways { nets: 20, starts: (0..20).map(|net| (net, 1.0)).collect(), arcs: arcs.collect() };
        let mut place = || at(random.random_range(1..60), random.random_range(1..60));
        let mut sites: Vec<Site> = (0..40).map(|_| place()).collect();
        let mut times = Times::new(ways, DEAREST, &sites);
        let total = |times: &Times, sites: &[Site]| -> f64 {
            let all = times.beside.iter().enumerate();
            all.flat_map(|(unit, beside)| {
                beside.iter().map(move |(other, costs)| (unit, *other as usize, costs))
            })
            .map(|(unit, other, costs)| f64::from(costs * distance(sites[unit], sites[other])) / 2.0)
            .sum()
        };
        for step in 0..300 {
            let before = total(&times, &sites);
            let mut moved = Vec::new();
            for unit in [step % 40, (step * 7 + 1) % 40, (step * 3 + 2) % 40] {
                if moved.iter().all(|(other, _)| *other != unit as u32) {
                    moved.push((unit as u32, sites[unit]));
                    sites[unit] = place();
                }
            }
            let change = f64::from(times.moved(&moved, &sites));
            assert!((before + change - total(&times, &sites)).abs() < 0.01, "{step}: {change}");
        }
        // What was far is now near: other wires are on long ways, slowly.
        let dearest = |times: &Times| times.costs.iter().copied().fold(0.0, f32::max);
        let was = dearest(&times);
        (0..40).for_each(|_| times.weigh(&sites));
        assert!(dearest(&times) > was && (dearest(&times) - DEAREST).abs() < 0.1, "{}", dearest(&times));
    }
}
