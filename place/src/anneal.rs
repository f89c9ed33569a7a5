//! The moves: a unit to another tile, in turn with who is there; a chain with all in its tiles; a block RAM with another.

use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::netlist::{Error, Netlist, RamSite, Site, Unit};
use crate::tile::{Slot, Tile, NONE, PLACES};
use crate::time::Times;
use crate::wires::Wires;
use crate::Figures;

/// Cost, in tiles, that is taken one time in e: at the first temperature, and at the last but zero.
const HOT: f32 = 5.0;
const COLD: f32 = 0.15;
/// How far moves go, tiles: at first and at most, and at least.
const FAR: f32 = 12.0;
const NEAR: f32 = 2.0;
/// The share of moves that are taken at which these distances stay.
const TAKEN: f32 = 0.44;
/// What the square of how many nets reach into a tile costs.
const PINS: f32 = 0.03;

/// Tiles of tables and flip-flops: those of all rows and columns that have any.
struct Grid {
    columns: Vec<Option<usize>>,
    rows: Vec<Option<usize>>,
    width: usize,
    count: usize,
}

impl Grid {
    fn new(sites: &[Site]) -> Self {
        let number = |used: &dyn Fn(&Site) -> i16| {
            let mut numbers = vec![None; 128];
            sites.iter().for_each(|site| numbers[used(site) as usize] = Some(0));
            let mut next = 0;
            for number in numbers.iter_mut().flatten() {
                *number = next;
                next += 1;
            }
            (numbers, next)
        };
        let ((columns, width), (rows, height)) = (number(&|site| site.x), number(&|site| site.y));
        Self { columns, rows, width, count: width * height }
    }

    fn at(&self, x: i16, y: i16) -> Option<usize> {
        let column = self.columns.get(usize::try_from(x).ok()?).copied().flatten()?;
        let row = self.rows.get(usize::try_from(y).ok()?).copied().flatten()?;
        Some(row * self.width + column)
    }
}

/// A placement on its way.
pub struct Annealer<'a> {
    units: &'a [Unit],
    chains: &'a [Vec<u32>],
    /// Where units are, block RAMs behind them, and what does not move.
    sites: Vec<Site>,
    rams: Vec<RamSite>,
    grid: Grid,
    tiles: Vec<Tile>,
    /// How many nets reach into each tile.
    pins: Vec<i32>,
    wires: Wires,
    times: Times,
    /// Units that are no part of a chain.
    free: Vec<u32>,
    random: Pcg64Mcg,
    radius: f32,
    crowd: f32,
    /// The move that is tried: who goes, and where each was.
    moved: Vec<(u32, Site)>,
}

/// Whether all its places were free, and are its own now.
fn put(tiles: &mut [Tile], unit: &Unit, tile: usize, shift: i8) -> bool {
    let place = |place: u8| (place as i8 + shift) as usize;
    if unit.parts.iter().any(|part| tiles[tile].at(part.kind, place(part.place)) != NONE) {
        return false;
    }
    for part in &unit.parts {
        tiles[tile].set(part.kind, place(part.place), part.slot);
    }
    true
}

fn take(tiles: &mut [Tile], unit: &Unit, tile: usize, shift: i8) {
    for part in &unit.parts {
        tiles[tile].set(part.kind, (part.place as i8 + shift) as usize, Slot::EMPTY);
    }
}

impl<'a> Annealer<'a> {
    /// `time`: what a tile of a wire on the longest way costs.
    pub fn new(netlist: &'a Netlist, seed: u64, time: f32) -> Result<Self, Error> {
        let units = &netlist.units;
        let grid = Grid::new(&netlist.sites);
        let mut tiles = vec![Tile::EMPTY; grid.count];
        let mut sites = netlist.sites.clone();
        let wrong = |site: &Site| Error::Tile { x: site.x, y: site.y };
        let mut used = Vec::new();
        for (unit, site) in units.iter().zip(&sites) {
            let tile = grid.at(site.x, site.y).ok_or_else(|| wrong(site))?;
            if !put(&mut tiles, unit, tile, 0) {
                return Err(wrong(site));
            }
            used.push(tile);
        }
        if let Some(number) = used.iter().position(|tile| !tiles[*tile].is_legal()) {
            return Err(wrong(&sites[number]));
        }
        sites.extend(netlist.ram_sites.iter().map(|ram| Site { x: ram.x, y: ram.y, shift: 0 }));
        sites.extend(netlist.fixed_sites.iter().map(|&(x, y)| Site { x, y, shift: 0 }));
        let times = Times::new(netlist.ways.clone(), time, &sites);
        let wires = Wires::new(netlist.nets.clone(), sites.len(), &sites);
        let mut pins = vec![0; grid.count];
        for (number, tile) in used.iter().enumerate() {
            pins[*tile] += wires.pins(number as u32);
        }
        let free = (0..units.len() as u32).filter(|unit| units[*unit as usize].chain.is_none()).collect();
        let mut annealer = Self {
            units,
            chains: &netlist.chains,
            sites,
            rams: netlist.ram_sites.clone(),
            grid,
            tiles,
            pins,
            wires,
            times,
            free,
            random: Pcg64Mcg::seed_from_u64(seed),
            radius: FAR,
            crowd: 0.0,
            moved: Vec::new(),
        };
        annealer.crowd = annealer.wires.demand();
        Ok(annealer)
    }

    pub fn sites(&self) -> &[Site] {
        &self.sites[..self.units.len()]
    }

    pub fn ram_sites(&self) -> &[RamSite] {
        &self.rams
    }

    pub fn figures(&self) -> Figures {
        let mut pins = self.pins.clone();
        pins.sort_unstable();
        Figures {
            wire: self.wires.wire(),
            arrivals: self.wires.arrivals(),
            crowd: self.crowd,
            longest: self.times.longest(),
            pins: pins.get(pins.len() * 99 / 100).map_or(0, |pins| *pins as u32),
        }
    }

    /// One temperature of so many, the last of which is zero.
    pub fn stage(&mut self, stage: u32, stages: u32, rounds: u32) {
        let last = stage + 1 == stages;
        let heat =
            if last { 0.0 } else { HOT * (COLD / HOT).powf(stage as f32 / (stages - 1).max(1) as f32) };
        let (mut legal, mut taken) = (0u64, 0u64);
        for _ in 0..self.free.len() as u64 * u64::from(rounds) {
            match self.try_unit(heat) {
                Some(true) => (legal, taken) = (legal + 1, taken + 1),
                Some(false) => legal += 1,
                None => (),
            }
        }
        self.try_chains(heat, rounds.div_ceil(2));
        for _ in 0..self.rams.len() as u64 * u64::from(rounds) * 4 {
            self.try_ram(heat);
        }
        let share = taken as f32 / legal.max(1) as f32;
        self.radius = (self.radius * (1.0 - TAKEN + share)).clamp(NEAR, 2.0 * FAR);
        self.crowd = self.wires.demand();
        self.times.weigh(&self.sites);
    }

    fn accepts(&mut self, change: f32, heat: f32) -> bool {
        change <= 0.0 || heat > 0.0 && self.random.random::<f32>() < (-change / heat).exp()
    }

    /// A number from -`radius` to `radius`.
    fn near(&mut self, radius: i16) -> i16 {
        self.random.random_range(-radius..=radius)
    }

    /// The longest way if all wires were as short as they can be, ns.
    pub fn shortest(&self) -> f32 {
        self.times.shortest()
    }

    /// A tile for a unit: near it, or one time in four near the middle of one of its nets, or one in eight near who
    /// stands beside it on a long way.
    fn somewhere(&mut self, unit: u32) -> (i16, i16) {
        let at = self.sites[unit as usize];
        let far = self.radius as i16;
        let which = self.random.next_u32();
        let beside = self.times.beside(unit, (which >> 3) as usize).filter(|_| which & 7 == 1);
        if let Some(other) = beside {
            let at = self.sites[other as usize];
            return (at.x + self.near(3), at.y + self.near(3));
        }
        let (x, y, far) = match self.wires.middle(unit, (which >> 2) as usize) {
            Some((x, y)) if which & 3 == 0 => (x, y, far.min(3)),
            _ => (at.x, at.y, far),
        };
        (x + self.near(far), y + self.near(far))
    }

    /// Whether it was taken, if it was legal.
    fn try_unit(&mut self, heat: f32) -> Option<bool> {
        let number = self.free[self.random.random_range(0..self.free.len())];
        let (x, y) = self.somewhere(number);
        let old = self.sites[number as usize];
        if (x, y) == (old.x, old.y) {
            return None;
        }
        let (from, to) = (self.grid.at(old.x, old.y)?, self.grid.at(x, y)?);
        let units = self.units;
        let unit = &units[number as usize];
        let shift = if unit.step == PLACES as i8 {
            0
        } else {
            let (down, up) = (unit.low / unit.step, (PLACES as i8 - 1 - unit.high) / unit.step);
            self.random.random_range(-down..=up) * unit.step
        };
        // Who is in the way goes where the unit was.
        let back = old.shift - shift;
        self.moved.clear();
        self.moved.push((number, old));
        for part in &unit.parts {
            let there = self.tiles[to].at(part.kind, (part.place as i8 + shift) as usize);
            if there == NONE || self.moved.iter().any(|(other, _)| *other == there) {
                continue;
            }
            let (other, site) = (&units[there as usize], self.sites[there as usize]);
            let after = site.shift + back;
            if other.chain.is_some()
                || back % other.step != 0
                || other.low + after < 0
                || other.high + after >= PLACES as i8
            {
                return None;
            }
            self.moved.push((there, site));
        }
        let (kept_from, kept_to) = (self.tiles[from], self.tiles[to]);
        take(&mut self.tiles, unit, from, old.shift);
        for (other, site) in &self.moved[1..] {
            take(&mut self.tiles, &units[*other as usize], to, site.shift);
        }
        let mut fits = put(&mut self.tiles, unit, to, shift);
        for (other, site) in &self.moved[1..] {
            fits = fits && put(&mut self.tiles, &units[*other as usize], from, site.shift + back);
        }
        if !fits || !self.tiles[from].is_legal() || !self.tiles[to].is_legal() {
            (self.tiles[from], self.tiles[to]) = (kept_from, kept_to);
            return None;
        }
        self.sites[number as usize] = Site { x, y, shift };
        let mut more = self.wires.pins(number);
        for (other, site) in &self.moved[1..] {
            self.sites[*other as usize] = Site { x: old.x, y: old.y, shift: site.shift + back };
            more -= self.wires.pins(*other);
        }
        let square = |pins: i32| (pins * pins) as f32;
        let (here, there) = (self.pins[from], self.pins[to]);
        let crowding = square(here - more) + square(there + more) - square(here) - square(there);
        let change = self.change() + PINS * crowding;
        let taken = self.accepts(change, heat);
        if taken {
            self.pins[from] -= more;
            self.pins[to] += more;
        } else {
            (self.tiles[from], self.tiles[to]) = (kept_from, kept_to);
            self.back();
        }
        Some(taken)
    }

    /// What the move that is tried changes in cost.
    fn change(&mut self) -> f32 {
        self.wires.moved(&self.moved, &self.sites) + self.times.moved(&self.moved, &self.sites)
    }

    /// All who moved are where they were.
    fn back(&mut self) {
        self.wires.undo(&self.moved, &self.sites);
        for (unit, old) in &self.moved {
            self.sites[*unit as usize] = *old;
        }
    }

    /// Each chain so many times: it and all in its tiles change with those in as many others of a row.
    fn try_chains(&mut self, heat: f32, times: u32) {
        let mut within: Vec<Vec<u32>> = vec![Vec::new(); self.tiles.len()];
        for (number, site) in self.sites().iter().enumerate() {
            if let Some(tile) = self.grid.at(site.x, site.y) {
                within[tile].push(number as u32);
            }
        }
        for _ in 0..times {
            for chain in 0..self.chains.len() {
                self.try_chain(chain, heat, &mut within);
            }
        }
    }

    fn try_chain(&mut self, chain: usize, heat: f32, within: &mut [Vec<u32>]) -> Option<()> {
        let of = &self.chains[chain];
        let (first, last) = (self.sites[*of.first()? as usize], self.sites[*of.last()? as usize]);
        let far = (2.0 * self.radius).max(6.0) as i16;
        let (x, y) = (first.x + self.near(far), first.y + self.near(far));
        let len = last.x - first.x;
        if y == first.y && (x - first.x).abs() <= len {
            return None;
        }
        let from: Option<Vec<usize>> = (0..=len).map(|at| self.grid.at(first.x + at, first.y)).collect();
        let to: Option<Vec<usize>> = (0..=len).map(|at| self.grid.at(x + at, y)).collect();
        let (from, to) = (from?, to?);
        self.moved.clear();
        for (tiles, left) in [(&from, first.x), (&to, x)] {
            for unit in tiles.iter().flat_map(|tile| &within[*tile]) {
                let outside = |other: &u32| !(left..=left + len).contains(&self.sites[*other as usize].x);
                let chain = self.units[*unit as usize].chain;
                if chain.is_some_and(|chain| self.chains[chain].iter().any(outside)) {
                    return None;
                }
                self.moved.push((*unit, self.sites[*unit as usize]));
            }
        }
        for (unit, old) in &self.moved {
            let is_from = old.y == first.y && (first.x..=last.x).contains(&old.x);
            let site = &mut self.sites[*unit as usize];
            (site.x, site.y) =
                if is_from { (old.x - first.x + x, y) } else { (old.x - x + first.x, first.y) };
        }
        let change = self.change();
        if self.accepts(change, heat) {
            for (from, to) in from.into_iter().zip(to) {
                self.tiles.swap(from, to);
                self.pins.swap(from, to);
                within.swap(from, to);
            }
        } else {
            self.back();
        }
        Some(())
    }

    /// Two block RAMs change places.
    fn try_ram(&mut self, heat: f32) {
        let (a, b) =
            (self.random.random_range(0..self.rams.len()), self.random.random_range(0..self.rams.len()));
        if a == b {
            return;
        }
        let first = self.units.len();
        self.moved.clear();
        self.moved.push(((first + a) as u32, self.sites[first + a]));
        self.moved.push(((first + b) as u32, self.sites[first + b]));
        self.sites.swap(first + a, first + b);
        let change = self.change();
        if self.accepts(change, heat) {
            self.rams.swap(a, b);
        } else {
            self.back();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::sample;
    use crate::tile::Kind;

    /// Tiles, pins and wires are kept along; made anew of where units are, they are the same. Chains lie in a row, in
    /// their order.
    fn check(netlist: &Netlist, annealer: &Annealer) {
        let mut tiles = vec![Tile::EMPTY; annealer.grid.count];
        let mut pins = vec![0; annealer.grid.count];
        for (number, (unit, site)) in netlist.units.iter().zip(annealer.sites()).enumerate() {
            let tile = annealer.grid.at(site.x, site.y).unwrap();
            assert!(put(&mut tiles, unit, tile, site.shift));
            pins[tile] += annealer.wires.pins(number as u32);
        }
        assert!(tiles == annealer.tiles && tiles.iter().all(Tile::is_legal));
        assert_eq!(pins, annealer.pins);
        let anew = Wires::new(netlist.nets.clone(), annealer.sites.len(), &annealer.sites);
        assert_eq!((anew.wire(), anew.arrivals()), (annealer.wires.wire(), annealer.wires.arrivals()));
        for chain in &netlist.chains {
            let first = annealer.sites[chain[0] as usize];
            for (at, unit) in chain.iter().enumerate() {
                assert_eq!(annealer.sites[*unit as usize], Site { x: first.x + at as i16, ..first });
            }
        }
    }

    #[test]
    fn what_is_kept_along_is_what_is_there() {
        let netlist = Netlist::read(&sample(5, 300)).unwrap();
        assert!(netlist.units.iter().flat_map(|unit| &unit.parts).any(|part| part.kind == Kind::Write));
        let mut annealer = Annealer::new(&netlist, 9, 12.0).unwrap();
        for stage in 0..4 {
            annealer.stage(stage, 4, 5);
            check(&netlist, &annealer);
        }
    }

    /// Where it is so hot that every move is taken.
    #[test]
    fn chains_go_with_all_that_is_in_their_tiles() {
        let netlist = Netlist::read(&sample(5, 300)).unwrap();
        let mut annealer = Annealer::new(&netlist, 9, 12.0).unwrap();
        let first = |annealer: &Annealer| annealer.sites[netlist.chains[1][0] as usize];
        let mut rows = std::collections::BTreeSet::new();
        for _ in 0..40 {
            annealer.try_chains(f32::INFINITY, 1);
            check(&netlist, &annealer);
            rows.insert(first(&annealer).y);
        }
        assert!(rows.len() > 2, "{rows:?}");
    }

    /// By wire alone, all comes together: 16,114.
    #[test]
    fn units_do_not_crowd_in_a_tile() {
        let netlist = Netlist::read(&sample(5, 300)).unwrap();
        let mut annealer = Annealer::new(&netlist, 9, 12.0).unwrap();
        (0..8).for_each(|stage| annealer.stage(stage, 8, 20));
        let squares: i32 = annealer.pins.iter().map(|pins| pins * pins).sum();
        assert!(squares < 14_000, "{squares}");
    }

    #[test]
    fn two_in_one_place_are_refused() {
        let mut design = sample(5, 50);
        let cells = &mut design["modules"]["top"]["cells"];
        cells["ff2"]["attributes"]["NEXTPNR_BEL"] = cells["ff3"]["attributes"]["NEXTPNR_BEL"].clone();
        let netlist = Netlist::read(&design).unwrap();
        assert!(matches!(Annealer::new(&netlist, 1, 0.0), Err(Error::Tile { .. })));
    }
}
