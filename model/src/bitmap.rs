//! Which packets of a message have arrived: 256-bit blocks from a shared pool.
//!
//! ```text
//!  packets   0 ........ 255 256 ...... 511 512 ...... 767 768 ..... 1023
//!  window    [   full     ][ block       ][ block       ][ none         ]
//!                            ^ cumulative: lowest zero
//! ```
//!
//! A full block goes back to the pool at once; the window slides over full
//! blocks, so `cumulative` is the lowest zero of its first block.

use bitvec::array::BitArray;
use bitvec::order::Lsb0;
use tessera_abi::params::{BLOCK_PACKETS, WINDOW_BLOCKS};

/// One block of 256 arrival bits; bit `i` is bit `i % 8` of byte `i / 8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Hash)]
pub struct Block(BitArray<[u8; 32], Lsb0>);

impl Block {
    /// A block in which only the first `valid` bits count: the rest read as arrived.
    pub fn new(valid: u32) -> Self {
        let mut bits = BitArray::ZERO;
        if valid < BLOCK_PACKETS {
            bits[valid as usize..].fill(true);
        }
        Self(bits)
    }

    /// Takes a block as the wire carries it.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(BitArray::new(bytes))
    }

    /// The block as the wire carries it.
    pub fn bytes(&self) -> [u8; 32] {
        self.0.into_inner()
    }

    /// Sets a bit; false when it was set.
    pub fn set(&mut self, bit: u32) -> bool {
        !self.0.replace(bit as usize, true)
    }

    /// Reads a bit.
    pub fn get(&self, bit: u32) -> bool {
        self.0[bit as usize]
    }

    /// Number of ones.
    pub fn count(&self) -> u32 {
        self.0.count_ones() as u32
    }

    /// Number of zeros below `end`.
    pub fn zeros_below(&self, end: u32) -> u32 {
        self.0[..end.min(BLOCK_PACKETS) as usize].count_zeros() as u32
    }

    /// Zero bits below `end`, lowest first.
    pub fn zeros(&self, end: u32) -> impl Iterator<Item = u32> + '_ {
        self.0[..end.min(BLOCK_PACKETS) as usize].iter_zeros().map(|bit| bit as u32)
    }

    /// Lowest zero, or `None` when full.
    pub fn first_zero(&self) -> Option<u32> {
        self.0.first_zero().map(|bit| bit as u32)
    }

    /// One past the highest one below `end`.
    pub fn end_below(&self, end: u32) -> u32 {
        self.0[..end.min(BLOCK_PACKETS) as usize].last_one().map_or(0, |bit| bit as u32 + 1)
    }

    /// Whether every bit is one.
    pub fn is_full(&self) -> bool {
        self.0.all()
    }
}

/// The shared pool: only the number of free blocks matters to the protocol.
#[derive(Clone, Debug, Hash)]
pub struct Pool {
    free: u32,
    size: u32,
}

impl Pool {
    /// A pool of `size` free blocks.
    pub fn new(size: u32) -> Self {
        Self { free: size, size }
    }

    /// Takes a block; false when none is free.
    pub fn take(&mut self) -> bool {
        if self.free == 0 {
            return false;
        }
        self.free -= 1;
        true
    }

    /// Gives `blocks` back.
    pub fn give(&mut self, blocks: u32) {
        self.free += blocks;
        debug_assert!(self.free <= self.size, "more blocks returned than the pool has");
    }

    /// Free blocks.
    pub fn free(&self) -> u32 {
        self.free
    }

    /// Whether every block is back.
    pub fn is_whole(&self) -> bool {
        self.free == self.size
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Tile {
    None,
    Open(Block),
    Full,
}

/// The four block pointers of a context and what they point to.
#[derive(Clone, Debug, Hash)]
pub struct Window {
    first: u32,
    tiles: [Tile; WINDOW_BLOCKS as usize],
    count: u32,
}

impl Window {
    /// The window of a message of `count` packets, its first block allocated.
    pub fn new(count: u32) -> Self {
        let mut window = Self { first: 0, tiles: [Tile::None; WINDOW_BLOCKS as usize], count };
        window.tiles[0] = Tile::Open(window.fresh(0));
        window
    }

    fn fresh(&self, block: u32) -> Block {
        //= RC-2
        Block::new((self.count - block * BLOCK_PACKETS).min(BLOCK_PACKETS))
    }

    /// Number of the block of `cumulative`.
    pub fn first(&self) -> u32 {
        self.first
    }

    /// Lowest index that has not arrived.
    pub fn cumulative(&self) -> u32 {
        let start = self.first * BLOCK_PACKETS;
        let within = match &self.tiles[0] {
            Tile::Open(block) => block.first_zero().unwrap_or(BLOCK_PACKETS),
            Tile::None => 0,
            Tile::Full => BLOCK_PACKETS,
        };
        (start + within).min(self.count)
    }

    /// Whether `index` has arrived. Only allocated or passed indexes can have.
    pub fn arrived(&self, index: u32) -> bool {
        let block = index / BLOCK_PACKETS;
        if block < self.first {
            return true;
        }
        match self.tiles.get((block - self.first) as usize) {
            Some(Tile::Open(bits)) => bits.get(index % BLOCK_PACKETS),
            Some(Tile::Full) => true,
            _ => false,
        }
    }

    /// Whether the block of `index` may take bits.
    pub fn allocated(&self, block: u32) -> bool {
        block < self.first
            || self.tiles.get((block - self.first) as usize).is_some_and(|tile| *tile != Tile::None)
    }

    /// Gives block number `block` a block of the pool.
    pub fn allocate(&mut self, block: u32) {
        let fresh = self.fresh(block);
        let tile = &mut self.tiles[(block - self.first) as usize];
        debug_assert_eq!(*tile, Tile::None);
        *tile = Tile::Open(fresh);
    }

    /// Marks `index`; returns the number of blocks freed (0 or 1).
    pub fn set(&mut self, index: u32) -> u32 {
        let place = (index / BLOCK_PACKETS - self.first) as usize;
        let Tile::Open(block) = &mut self.tiles[place] else { return 0 };
        block.set(index % BLOCK_PACKETS);
        if !block.is_full() {
            return 0;
        }
        self.tiles[place] = Tile::Full;
        while self.tiles[0] == Tile::Full {
            self.tiles.rotate_left(1);
            self.tiles[WINDOW_BLOCKS as usize - 1] = Tile::None;
            self.first += 1;
        }
        1
    }

    /// Blocks of the pool this window holds.
    pub fn held(&self) -> u32 {
        self.tiles.iter().filter(|tile| matches!(tile, Tile::Open(_))).count() as u32
    }

    /// The bits of block number `block` as feedback reports them: ones where
    /// full or passed, zeros where nothing is allocated.
    pub fn bits(&self, block: u32) -> Block {
        if block < self.first {
            return Block::new(0);
        }
        match self.tiles.get((block - self.first) as usize) {
            Some(Tile::Open(bits)) => *bits,
            Some(Tile::Full) => Block::new(0),
            _ => Block::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_block_is_full_at_its_count() {
        let mut block = Block::new(3);
        assert_eq!(block.count(), 253);
        assert!(block.set(1) && !block.set(1));
        assert_eq!(block.first_zero(), Some(0));
        assert!(block.set(0) && block.set(2));
        assert!(block.is_full());
    }

    #[test]
    fn window_slides_over_blocks_filled_out_of_order() {
        let mut window = Window::new(600);
        window.allocate(1);
        window.allocate(2);
        assert_eq!((256..512).map(|i| window.set(i)).sum::<u32>(), 1);
        assert_eq!(window.cumulative(), 0);
        assert_eq!(window.held(), 2);
        assert_eq!((0..256).map(|i| window.set(i)).sum::<u32>(), 1);
        assert_eq!(window.first(), 2);
        assert_eq!(window.cumulative(), 512);
        assert!(window.arrived(511) && !window.arrived(512));
        assert_eq!((512..600).map(|i| window.set(i)).sum::<u32>(), 1);
        assert_eq!(window.cumulative(), 600);
        assert_eq!(window.held(), 0);
        assert!(window.bits(2).is_full());
    }
}
