//! Retransmissions wanted: walks over the zero bits of NACKed blocks.
//!
//! ```text
//!  NACK (slot, generation, base, bits) ──> [walk][walk][walk] ──> (slot, generation, index)
//!                     same slot and block: merged ^      one bit of the head, then to the tail
//! ```
//!
//! TX-8 allows turns of up to sixteen packets; these are of one.

use std::collections::VecDeque;

use tessera_abi::params::BLOCK_PACKETS;

use crate::bitmap::Block;

/// Packets of one block to send again.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Walk {
    /// Slot.
    pub slot: u16,
    /// Generation the NACK was for.
    pub generation: u32,
    /// First index of the block.
    pub base: u32,
    wanted: Block,
}

/// The queue was full, or its slot's share of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("retransmit queue, or the slot's quarter of it, is full; the NACK is dropped and will be repeated")]
pub struct Full;

/// The queue of walks.
#[derive(Clone, Debug, Hash)]
pub struct RetransmitQueue {
    walks: VecDeque<Walk>,
    capacity: usize,
}

impl RetransmitQueue {
    /// A queue of at most `capacity` walks.
    pub fn new(capacity: usize) -> Self {
        Self { walks: VecDeque::new(), capacity }
    }

    /// Adds the bits set in `wanted`.
    //= TX-7
    pub fn push(&mut self, slot: u16, generation: u32, base: u32, wanted: Block) -> Result<(), Full> {
        let same = |walk: &&mut Walk| walk.slot == slot && walk.base == base && walk.generation == generation;
        if let Some(walk) = self.walks.iter_mut().find(same) {
            wanted_bits(&wanted).for_each(|bit| {
                walk.wanted.set(bit);
            });
            return Ok(());
        }
        let own = self.walks.iter().filter(|walk| walk.slot == slot).count();
        if self.walks.len() == self.capacity || own >= (self.capacity / 4).max(1) {
            return Err(Full);
        }
        self.walks.push_back(Walk { slot, generation, base, wanted });
        Ok(())
    }

    /// The next packet to send again, walks taking turns: of one packet each.
    //= TX-8
    pub fn pop(&mut self) -> Option<(u16, u32, u32)> {
        let mut walk = self.walks.pop_front()?;
        let bit = wanted_bits(&walk.wanted).next()?;
        let mut bytes = walk.wanted.bytes();
        bytes[bit as usize / 8] &= !(1 << (bit % 8));
        walk.wanted = Block::from_bytes(bytes);
        let packet = (walk.slot, walk.generation, walk.base + bit);
        if walk.wanted.count() > 0 {
            self.walks.push_back(walk);
        }
        Some(packet)
    }

    /// Whether packets of this message wait here.
    pub fn holds(&self, slot: u16, generation: u32) -> bool {
        self.walks.iter().any(|walk| walk.slot == slot && walk.generation == generation)
    }

    /// Forgets every walk of a message that ended.
    pub fn forget(&mut self, slot: u16) {
        self.walks.retain(|walk| walk.slot != slot);
    }

    /// Walks queued.
    pub fn len(&self) -> usize {
        self.walks.len()
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.walks.is_empty()
    }
}

fn wanted_bits(block: &Block) -> impl Iterator<Item = u32> + '_ {
    (0..BLOCK_PACKETS).filter(|&bit| block.get(bit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(list: &[u32]) -> Block {
        let mut block = Block::default();
        list.iter().for_each(|&bit| {
            block.set(bit);
        });
        block
    }

    #[test]
    fn walks_merge_and_take_turns() {
        let mut queue = RetransmitQueue::new(2);
        queue.push(1, 9, 256, bits(&[0, 200])).unwrap();
        queue.push(2, 9, 0, bits(&[5])).unwrap();
        queue.push(1, 9, 256, bits(&[0, 7])).unwrap();
        assert_eq!(queue.push(3, 9, 0, bits(&[1])), Err(Full));
        let order: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(order, [(1, 9, 256), (2, 9, 5), (1, 9, 263), (1, 9, 456)]);
    }

    //= TX-8 test
    #[test]
    fn a_walk_without_end_lets_the_others_go() {
        let mut queue = RetransmitQueue::new(32);
        for other in 2..20 {
            queue.push(other, 1, 0, bits(&[3])).unwrap();
        }
        let mut others = 0;
        for _ in 0..40 {
            queue.push(1, 1, 0, bits(&[0, 1, 2])).unwrap();
            others += usize::from(queue.pop().is_some_and(|(slot, ..)| slot != 1));
        }
        assert_eq!(others, 18);
    }

    //= TX-7 test
    #[test]
    fn a_slot_has_a_quarter_of_the_places() {
        for (capacity, quarter) in [(2, 1), (4, 1), (8, 2), (32, 8)] {
            let mut queue = RetransmitQueue::new(capacity);
            for block in 0..quarter {
                queue.push(1, 1, 256 * block, bits(&[3])).unwrap();
            }
            assert_eq!(queue.push(1, 1, 256 * quarter, bits(&[3])), Err(Full));
            queue.push(1, 1, 0, bits(&[4])).expect("it merges");
            queue.push(2, 1, 0, bits(&[3])).expect("that of another slot");
        }
    }
}
