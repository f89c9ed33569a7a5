//! What a placement costs: wire, where there is much of it, and in how many tiles nets arrive.

use crate::netlist::{Net, Site};

/// Tiles of the largest device in each direction, and one.
const GRID: usize = 129;
/// Nets of so few units are looked at whole.
const SMALL: usize = 5;
/// Of nets with more units it is not kept in which tiles they are: resets and enables of hundreds of tiles.
const MANY: usize = 500;
/// What a wire costs where there is as much as on the mean, beyond its length; four times as much where twice.
const CROWD: f32 = 0.6;
/// What each tile costs that a net arrives in.
const ARRIVAL: f32 = 0.6;

/// By how much a net's tree is longer than half its box, by the tiles that it reaches (C. Cheng, RISA, 1994); above
/// fifty, a straight line.
fn steiner(tiles: usize) -> f32 {
    const AT: [(usize, f32); 13] = [
        (3, 1.0),
        (4, 1.0828),
        (5, 1.1536),
        (6, 1.2206),
        (7, 1.2823),
        (8, 1.3385),
        (10, 1.4493),
        (15, 1.6899),
        (20, 1.8924),
        (25, 2.0743),
        (30, 2.2334),
        (40, 2.5356),
        (50, 2.7933),
    ];
    let Some(after) = AT.iter().position(|(at, _)| *at >= tiles) else {
        return 2.7933 + 0.02616 * (tiles - 50) as f32;
    };
    let (to, high) = AT[after];
    let (from, low) = AT[after.saturating_sub(1)];
    if to == from {
        return high;
    }
    low + (high - low) * (tiles.max(from) - from) as f32 / (to - from) as f32
}

/// A net's box: its edges, and how many units lie on each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Span {
    low: i16,
    high: i16,
    at_low: u16,
    at_high: u16,
}

impl Span {
    const NONE: Self = Self { low: i16::MAX, high: i16::MIN, at_low: 0, at_high: 0 };

    fn add(&mut self, at: i16) {
        if at < self.low {
            (self.low, self.at_low) = (at, 1);
        } else if at == self.low {
            self.at_low += 1;
        }
        if at > self.high {
            (self.high, self.at_high) = (at, 1);
        } else if at == self.high {
            self.at_high += 1;
        }
    }

    /// One goes elsewhere; whether the box must be made anew, for none is left on an edge.
    fn shift(&mut self, from: i16, to: i16) -> bool {
        if from == to {
            return false;
        }
        self.add(to);
        let mut lost = false;
        if from == self.low {
            self.at_low -= 1;
            lost |= self.at_low == 0;
        }
        if from == self.high {
            self.at_high -= 1;
            lost |= self.at_high == 0;
        }
        lost
    }

    fn len(self) -> usize {
        (self.high - self.low) as usize
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Area {
    x: Span,
    y: Span,
}

/// A net that a move touches: its box and cost before.
struct Touched {
    net: u32,
    area: Area,
    cost: f32,
}

/// All nets as they lie.
pub struct Wires {
    nets: Vec<Net>,
    /// Nets of each unit.
    of: Vec<Vec<u32>>,
    areas: Vec<Area>,
    /// The tiles of each net, and how many of its units are there.
    tiles: Vec<Vec<(u16, u16)>>,
    factors: Vec<f32>,
    /// Sums of what wire costs over all tiles below and left of one.
    sums: Vec<f32>,
    stamps: Vec<u32>,
    anew: Vec<bool>,
    now: u32,
    touched: Vec<Touched>,
}

fn tile(site: Site) -> u16 {
    (site.x as u16) << 7 | site.y as u16
}

impl Wires {
    pub fn new(nets: Vec<Net>, units: usize, sites: &[Site]) -> Self {
        let mut of = vec![Vec::new(); units];
        for (number, net) in nets.iter().enumerate() {
            net.units.iter().for_each(|unit| of[*unit as usize].push(number as u32));
        }
        let count = nets.len();
        let most = nets.iter().map(|net| net.units.len() + net.fixed.len()).max().unwrap_or(0);
        let mut wires = Self {
            nets,
            of,
            areas: vec![Area::default(); count],
            tiles: vec![Vec::new(); count],
            factors: (0..=most.max(MANY)).map(steiner).collect(),
            sums: Vec::new(),
            stamps: vec![0; count],
            anew: vec![false; count],
            now: 0,
            touched: Vec::new(),
        };
        for net in 0..count {
            wires.areas[net] = wires.area(net, sites);
            if wires.keeps_tiles(net) {
                for at in 0..wires.nets[net].units.len() {
                    let unit = wires.nets[net].units[at];
                    wires.arrive(net, tile(sites[unit as usize]));
                }
            }
        }
        wires.demand();
        wires
    }

    /// How many nets reach into a unit.
    pub fn pins(&self, unit: u32) -> i32 {
        self.of[unit as usize].len() as i32
    }

    /// The middle of one of a unit's nets, if it has any.
    pub fn middle(&self, unit: u32, which: usize) -> Option<(i16, i16)> {
        let nets = &self.of[unit as usize];
        let area = self.areas[*nets.get(which % nets.len().max(1))? as usize];
        Some(((area.x.low + area.x.high) / 2, (area.y.low + area.y.high) / 2))
    }

    fn keeps_tiles(&self, net: usize) -> bool {
        self.nets[net].units.len() <= MANY
    }

    fn area(&self, net: usize, sites: &[Site]) -> Area {
        let mut area = Area { x: Span::NONE, y: Span::NONE };
        let net = &self.nets[net];
        let moving = net.units.iter().map(|unit| (sites[*unit as usize].x, sites[*unit as usize].y));
        for (x, y) in moving.chain(net.fixed.iter().copied()) {
            area.x.add(x);
            area.y.add(y);
        }
        area
    }

    fn arrive(&mut self, net: usize, tile: u16) {
        let tiles = &mut self.tiles[net];
        match tiles.iter_mut().find(|(at, _)| *at == tile) {
            Some((_, count)) => *count += 1,
            None => tiles.push((tile, 1)),
        }
    }

    fn leave(&mut self, net: usize, tile: u16) {
        let tiles = &mut self.tiles[net];
        let Some(at) = tiles.iter().position(|(at, _)| *at == tile) else { return };
        tiles[at].1 -= 1;
        if tiles[at].1 == 0 {
            tiles.swap_remove(at);
        }
    }

    /// Units are, or are again, in other tiles.
    fn carry_over(&mut self, moved: &[(u32, Site)], sites: &[Site], back: bool) {
        for (unit, old) in moved {
            let (mut from, mut to) = (tile(*old), tile(sites[*unit as usize]));
            if from == to {
                continue;
            }
            if back {
                std::mem::swap(&mut from, &mut to);
            }
            for at in 0..self.of[*unit as usize].len() {
                let net = self.of[*unit as usize][at] as usize;
                if self.keeps_tiles(net) {
                    self.leave(net, from);
                    self.arrive(net, to);
                }
            }
        }
    }

    /// A net's wire: the length of its tree, and of its arrivals.
    fn length(&self, net: usize, area: &Area) -> f32 {
        let tiles = self.tiles[net].len();
        let reached =
            if tiles == 0 { self.nets[net].units.len() } else { tiles } + self.nets[net].fixed.len();
        let arrivals = ARRIVAL * tiles.saturating_sub(1) as f32;
        self.factors[reached] * (area.x.len() + area.y.len()) as f32 + arrivals
    }

    fn cost(&self, net: usize, area: &Area) -> f32 {
        let length = self.length(net, area);
        if length == 0.0 {
            return 0.0;
        }
        let (left, right) = (area.x.low as usize, area.x.high as usize + 1);
        let (down, up) = (area.y.low as usize, area.y.high as usize + 1);
        let sum = |y: usize, x: usize| self.sums[y * GRID + x];
        let costs = sum(up, right) - sum(up, left) - sum(down, right) + sum(down, left);
        length * costs / ((right - left) * (up - down)) as f32
    }

    /// What changes in cost, units having gone to other sites: `moved` has the old ones.
    pub fn moved(&mut self, moved: &[(u32, Site)], sites: &[Site]) -> f32 {
        self.now += 1;
        self.touched.clear();
        for (unit, old) in moved {
            let new = sites[*unit as usize];
            if (old.x, old.y) == (new.x, new.y) {
                continue;
            }
            for at in 0..self.of[*unit as usize].len() {
                let net = self.of[*unit as usize][at] as usize;
                if self.stamps[net] != self.now {
                    self.stamps[net] = self.now;
                    self.anew[net] = self.nets[net].units.len() <= SMALL;
                    let area = self.areas[net];
                    self.touched.push(Touched { net: net as u32, area, cost: self.cost(net, &area) });
                }
                if !self.anew[net] {
                    let area = &mut self.areas[net];
                    self.anew[net] = area.x.shift(old.x, new.x) | area.y.shift(old.y, new.y);
                }
            }
        }
        self.carry_over(moved, sites, false);
        let mut change = 0.0;
        for at in 0..self.touched.len() {
            let net = self.touched[at].net as usize;
            if self.anew[net] {
                self.areas[net] = self.area(net, sites);
            }
            change += self.cost(net, &self.areas[net]) - self.touched[at].cost;
        }
        change
    }

    /// Takes the last move back; `sites` are still those after it.
    pub fn undo(&mut self, moved: &[(u32, Site)], sites: &[Site]) {
        self.carry_over(moved, sites, true);
        for at in 0..self.touched.len() {
            let Touched { net, area, .. } = self.touched[at];
            self.areas[net as usize] = area;
        }
    }

    /// Where the wire is, and from now on costs more: how much in the tile that has more than all but a hundredth, to
    /// the mean.
    pub fn demand(&mut self) -> f32 {
        let mut wire = vec![0.0f32; GRID * GRID];
        let edge = self.areas.iter().map(|area| (area.x.high, area.y.high));
        let (wide, high) = edge.fold((0, 0), |most, edge| (most.0.max(edge.0), most.1.max(edge.1)));
        for (net, area) in self.areas.iter().enumerate() {
            let (left, right) = (area.x.low as usize, area.x.high as usize + 1);
            let (down, up) = (area.y.low as usize, area.y.high as usize + 1);
            let each = self.length(net, area) / ((right - left) * (up - down)) as f32;
            wire[down * GRID + left] += each;
            wire[down * GRID + right] -= each;
            wire[up * GRID + left] -= each;
            wire[up * GRID + right] += each;
        }
        for at in 1..wire.len() {
            if at % GRID != 0 {
                wire[at] += wire[at - 1];
            }
        }
        for at in GRID..wire.len() {
            wire[at] += wire[at - GRID];
        }
        let within = (0..=high as usize).flat_map(|y| (0..=wide as usize).map(move |x| y * GRID + x));
        let mut all: Vec<f32> = within.map(|at| wire[at]).collect();
        let mean = (all.iter().sum::<f32>() / all.len() as f32).max(f32::MIN_POSITIVE);
        all.sort_by(f32::total_cmp);
        self.sums = vec![0.0; GRID * GRID];
        for y in 1..GRID {
            let mut row = 0.0;
            for x in 1..GRID {
                let share = wire[(y - 1) * GRID + x - 1] / mean;
                row += 1.0 + CROWD * share * share;
                self.sums[y * GRID + x] = self.sums[(y - 1) * GRID + x] + row;
            }
        }
        all[all.len() * 99 / 100] / mean
    }

    /// Half perimeters of all boxes.
    pub fn wire(&self) -> u64 {
        self.areas.iter().map(|area| (area.x.len() + area.y.len()) as u64).sum()
    }

    pub fn arrivals(&self) -> u64 {
        self.tiles.iter().map(|tiles| tiles.len().saturating_sub(1) as u64).sum()
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;

    #[test]
    fn trees_are_longer_the_more_they_reach() {
        assert_eq!([steiner(1), steiner(3), steiner(4), steiner(50)], [1.0, 1.0, 1.0828, 2.7933]);
        assert!((steiner(9) - 1.3939).abs() < 0.001 && (steiner(150) - 5.4093).abs() < 0.001);
        assert!((2..400).all(|tiles| steiner(tiles) <= steiner(tiles + 1)));
    }

    /// What moves change, summed up, is what the nets are when they are looked at anew.
    #[test]
    fn moves_are_counted_as_the_whole_is() {
        let mut random = Pcg64Mcg::seed_from_u64(11);
        let mut sites: Vec<Site> = (0..60)
            .map(|_| Site { x: random.random_range(1..40), y: random.random_range(1..30), shift: 0 })
            .collect();
        let mut nets: Vec<Net> = (0..80)
            .map(|_| {
                let mut units: Vec<u32> =
                    (0..random.random_range(1..20)).map(|_| random.random_range(0..60)).collect();
                units.sort_unstable();
                units.dedup();
                Net { units, fixed: vec![(random.random_range(1..40), 3)] }
            })
            .collect();
        nets.push(Net { units: (0..60).collect(), fixed: Vec::new() });
        let mut wires = Wires::new(nets.clone(), 60, &sites);
        let total = |wires: &Wires| -> f64 {
            (0..nets.len()).map(|net| f64::from(wires.cost(net, &wires.areas[net]))).sum()
        };
        for _ in 0..500 {
            let before = total(&wires);
            let mut moved = Vec::new();
            for _ in 0..random.random_range(1..4) {
                let unit = random.random_range(0..60u32);
                if moved.iter().all(|(other, _)| *other != unit) {
                    moved.push((unit, sites[unit as usize]));
                    let site = &mut sites[unit as usize];
                    (site.x, site.y) = (random.random_range(1..40), random.random_range(1..30));
                }
            }
            let change = f64::from(wires.moved(&moved, &sites));
            assert!((before + change - total(&wires)).abs() < 0.01 * before.max(1.0));
            if random.random() {
                wires.undo(&moved, &sites);
                for (unit, old) in &moved {
                    sites[*unit as usize] = *old;
                }
                assert!((before - total(&wires)).abs() < 1e-3 * before);
            }
            let anew = Wires::new(nets.clone(), 60, &sites);
            assert_eq!(
                (&anew.areas, anew.wire(), anew.arrivals()),
                (&wires.areas, wires.wire(), wires.arrivals())
            );
        }
    }

    #[test]
    fn wire_costs_more_where_there_is_much() {
        let at = |x, y| Site { x, y, shift: 0 };
        // Twenty nets side by side, and one far from them, as long.
        let mut sites = vec![at(30, 30), at(34, 30)];
        let mut nets = vec![Net { units: vec![0, 1], fixed: Vec::new() }];
        for net in 0..20 {
            sites.extend([at(5, 5), at(9, 5)]);
            nets.push(Net { units: vec![2 * net + 2, 2 * net + 3], fixed: Vec::new() });
        }
        let wires = Wires::new(nets, 42, &sites);
        let cost = |net: usize| wires.cost(net, &wires.areas[net]);
        assert!(cost(1) > 10.0 * cost(0), "{} {}", cost(1), cost(0));
        assert_eq!((wires.wire(), wires.arrivals()), (84, 21));
    }

    #[test]
    fn a_net_costs_by_the_tiles_it_reaches() {
        let at = |(x, y)| Site { x, y, shift: 0 };
        // One box of ten by ten, by four corners and by two.
        let sites: Vec<_> =
            [(2, 2), (12, 2), (2, 12), (12, 12), (2, 2), (2, 2), (12, 12), (12, 12)].map(at).into();
        let net = |units| Net { units, fixed: Vec::new() };
        let wires = Wires::new(vec![net(vec![0, 1, 2, 3]), net(vec![4, 5, 6, 7])], 8, &sites);
        let length = |net: usize| wires.length(net, &wires.areas[net]);
        assert!((length(0) - (1.0828 * 20.0 + 0.6 * 3.0)).abs() < 1e-4, "{}", length(0));
        assert!((length(1) - (20.0 + 0.6)).abs() < 1e-4, "{}", length(1));
    }
}
