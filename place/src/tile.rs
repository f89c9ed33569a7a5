//! What may lie in one tile: eight places, each of a table and a flip-flop, two to a slice.

/// Nothing is there.
pub const NONE: u32 = u32::MAX;

/// Places in a tile.
pub const PLACES: usize = 8;

/// What a cell lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A table, alone or of a carry chain, a LUT RAM or a wide multiplexer
    Comb,
    /// A flip-flop
    Ff,
    /// What writes the LUT RAM of a tile, in its third slice
    Write,
}

/// A table or a flip-flop, as far as its neighbours must agree with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    pub unit: u32,
    /// Uses the place's wire M, as a wide multiplexer's select or a flip-flop's data: one of both does.
    pub uses_m: bool,
    /// Of a carry chain: both tables of a slice are, or none.
    pub carry: bool,
    /// A LUT RAM, whose clock and enable are inverted as the flip-flops' of its tile are.
    pub ram: bool,
    /// Keeps a place where the third slice writes LUT RAM.
    pub writes: bool,
    /// Clock (1) and reset (2) inverted.
    pub inverts: u8,
    /// Enable and what belongs to it: one for a slice's flip-flops.
    pub slice_key: u32,
    /// Clock and reset: one for a tile's flip-flops.
    pub tile_key: u32,
}

impl Slot {
    pub const EMPTY: Self = Self {
        unit: NONE,
        uses_m: false,
        carry: false,
        ram: false,
        writes: false,
        inverts: 0,
        slice_key: 0,
        tile_key: 0,
    };

    pub fn is_empty(&self) -> bool {
        self.unit == NONE
    }
}

/// A tile, by what lies in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile {
    pub comb: [Slot; PLACES],
    pub ff: [Slot; PLACES],
    pub write: u32,
}

impl Tile {
    pub const EMPTY: Self = Self { comb: [Slot::EMPTY; PLACES], ff: [Slot::EMPTY; PLACES], write: NONE };

    /// Who is at a place.
    pub fn at(&self, kind: Kind, place: usize) -> u32 {
        match kind {
            Kind::Comb => self.comb[place].unit,
            Kind::Ff => self.ff[place].unit,
            Kind::Write => self.write,
        }
    }

    pub fn set(&mut self, kind: Kind, place: usize, slot: Slot) {
        match kind {
            Kind::Comb => self.comb[place] = slot,
            Kind::Ff => self.ff[place] = slot,
            Kind::Write => self.write = slot.unit,
        }
    }

    /// Whether all that is in it may be in one tile.
    pub fn is_legal(&self) -> bool {
        let mut of_tile = None;
        let mut inverts = None;
        let agrees = |seen: &mut Option<u32>, key: u32| *seen.get_or_insert(key) == key;
        for slice in 0..PLACES / 2 {
            let mut of_slice = None;
            for half in 0..2 {
                let place = slice * 2 + half;
                let (comb, ff) = (&self.comb[place], &self.ff[place]);
                if !comb.is_empty() {
                    let first = &self.comb[slice * 2];
                    if slice == 2 && self.write != NONE && !comb.writes
                        || half == 1 && !first.is_empty() && first.carry != comb.carry
                        || comb.ram && !agrees(&mut inverts, u32::from(comb.inverts))
                    {
                        return false;
                    }
                }
                if !ff.is_empty()
                    && (!comb.is_empty() && comb.uses_m && ff.uses_m
                        || !agrees(&mut of_slice, ff.slice_key)
                        || !agrees(&mut of_tile, ff.tile_key)
                        || !agrees(&mut inverts, u32::from(ff.inverts)))
                {
                    return false;
                }
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(unit: u32) -> Slot {
        Slot { unit, ..Slot::EMPTY }
    }

    /// Two flip-flops, changed, at two places.
    fn pair(a: usize, b: usize, change: impl Fn(&mut Slot)) -> bool {
        let mut tile = Tile::EMPTY;
        tile.ff[a] = slot(0);
        tile.ff[b] = slot(1);
        change(&mut tile.ff[b]);
        tile.is_legal()
    }

    #[test]
    fn flip_flops_share_an_enable_by_slice_and_a_reset_by_tile() {
        assert!(pair(2, 3, |_| ()));
        assert!(!pair(2, 3, |ff| ff.slice_key = 1));
        assert!(pair(2, 4, |ff| ff.slice_key = 1));
        assert!(!pair(2, 4, |ff| ff.tile_key = 1));
        assert!(!pair(0, 7, |ff| ff.inverts = 2));
    }

    #[test]
    fn a_place_has_one_wire_m() {
        let with = |comb, ff| {
            let mut tile = Tile::EMPTY;
            tile.comb[4] = Slot { uses_m: comb, ..slot(0) };
            tile.ff[4] = Slot { uses_m: ff, ..slot(1) };
            tile.is_legal()
        };
        assert_eq!([with(false, true), with(true, false), with(true, true)], [true, true, false]);
    }

    #[test]
    fn carries_fill_a_slice_and_ram_keeps_the_third() {
        let mut tile = Tile::EMPTY;
        tile.comb[0] = Slot { carry: true, ..slot(0) };
        assert!(tile.is_legal());
        tile.comb[1] = slot(1);
        assert!(!tile.is_legal());
        let mut tile = Tile::EMPTY;
        tile.write = 0;
        tile.comb[0] = Slot { ram: true, ..slot(0) };
        tile.comb[4] = Slot { writes: true, ..slot(0) };
        assert!(tile.is_legal());
        tile.comb[5] = slot(1);
        assert!(!tile.is_legal());
        tile.comb[5] = Slot::EMPTY;
        tile.ff[7] = Slot { inverts: 1, ..slot(2) };
        assert!(!tile.is_legal());
    }
}
