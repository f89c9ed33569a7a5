//! All-reduce up a binary tree and down again; or two trees, each with half of it.
//!
//! ```text
//!   0 ─── 4 ─┬─ 2 ─┬─ 1       stage 0  awaits its children's sums
//!            │     └─ 3       stage 1  sends its own up, awaits the result
//!            └─ 6 ─┬─ 5       stage 2  sends that down
//!                  └─ 7
//! ```
//!
//! A rank's lowest set bit says how high it stands, so odd ranks are leaves. The
//! second tree has ranks mirrored, or turned by one if their number is odd: there,
//! even ranks are leaves, and a rank that forwards in one tree only hands in at the
//! other, whereby no link carries much more than the data once each way. Chunks
//! follow one another up and down: a lane each, alternately of either tree.

use std::ops::Range;

use super::super::plan::{check, cut, At, Plan, PlanError, Send};

/// Up and down one binary tree, or two.
#[derive(Clone, Debug)]
pub struct Tree {
    bytes: u64,
    lanes: u32,
    /// By tree, by rank: above it, below it.
    trees: Vec<Vec<Node>>,
}

#[derive(Clone, Debug, Default)]
struct Node {
    parent: Option<u32>,
    children: Vec<u32>,
}

/// The place above a place in the tree of so many.
fn above(place: u32, ranks: u32) -> Option<u32> {
    let height = place & place.wrapping_neg();
    let up = (place ^ height) | height << 1;
    (place > 0).then_some(if up < ranks { up } else { place ^ height })
}

impl Tree {
    /// `bytes` of data in `chunks` per tree; two trees if `double`.
    ///
    /// # Errors
    /// If chunks would be empty or too long.
    pub fn new(ranks: u32, bytes: u64, chunks: u32, double: bool) -> Result<Self, PlanError> {
        let trees = if double { 2 } else { 1 };
        let lanes = chunks as u64 * trees;
        check(ranks, bytes, lanes, bytes.div_ceil(lanes.max(1)))?;
        let lanes = u32::try_from(lanes).map_err(|_| PlanError::Senseless("a tree of so many chunks"))?;
        let trees = (0..trees).map(|tree| nodes(ranks, tree == 1)).collect();
        Ok(Self { bytes, lanes, trees })
    }

    fn node(&self, at: &At) -> &Node {
        &self.trees[at.lane as usize % self.trees.len()][at.rank as usize]
    }

    fn range(&self, at: &At) -> Range<u64> {
        let (lane, lanes) = (at.lane as u64, self.lanes as u64);
        cut(self.bytes, lane, lanes)..cut(self.bytes, lane + 1, lanes)
    }
}

fn nodes(ranks: u32, second: bool) -> Vec<Node> {
    let rank_at = |place: u32| match (second, ranks % 2) {
        (false, _) => place,
        (true, 0) => ranks - 1 - place,
        (true, _) => (place + 1) % ranks,
    };
    let mut nodes = vec![Node::default(); ranks as usize];
    for place in 0..ranks {
        let Some(up) = above(place, ranks) else { continue };
        let (child, parent) = (rank_at(place), rank_at(up));
        nodes[child as usize].parent = Some(parent);
        nodes[parent as usize].children.push(child);
    }
    nodes
}

impl Plan for Tree {
    fn ranks(&self) -> u32 {
        self.trees[0].len() as u32
    }

    fn lanes(&self) -> u32 {
        self.lanes
    }

    fn stages(&self) -> u32 {
        3
    }

    fn awaits(&self, at: &At) -> u32 {
        let node = self.node(at);
        match at.stage {
            0 => node.children.len() as u32,
            1 => node.parent.is_some().into(),
            _ => 0,
        }
    }

    fn send(&self, at: &At, index: u32) -> Option<Send> {
        let node = self.node(at);
        let (to, into) = match at.stage {
            1 if index == 0 => (node.parent?, 0),
            2 => (*node.children.get(index as usize)?, 1),
            _ => return None,
        };
        let range = self.range(at);
        Some(Send { to, bytes: (range.end - range.start) as u32, into })
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::plan::tests::bytes_of;
    use super::super::tests::sums;
    use super::*;

    #[test]
    fn every_rank_ends_with_the_sum() {
        for ranks in [2, 3, 4, 5, 8, 13, 31, 64] {
            for double in [false, true] {
                let tree = Tree::new(ranks, 9, 2, double).unwrap();
                sums(&tree, 9, |at, _| tree.range(at));
            }
        }
    }

    #[test]
    fn trees_are_binary_and_low() {
        for ranks in 2..200 {
            for second in [false, true] {
                let nodes = nodes(ranks, second);
                assert_eq!(nodes.iter().filter(|node| node.parent.is_none()).count(), 1);
                assert!(nodes.iter().all(|node| node.children.len() <= 2));
                for node in &nodes {
                    let up = |node: &Node| node.parent.map(|parent| nodes[parent as usize].clone());
                    let depth = std::iter::successors(Some(node.clone()), up).count() as u32;
                    assert!(depth <= ranks.ilog2() + 2, "{ranks} ranks, {depth} deep");
                }
            }
        }
    }

    #[test]
    fn who_forwards_in_one_tree_is_a_leaf_of_the_other() {
        for ranks in 3..100 {
            let (first, second) = (nodes(ranks, false), nodes(ranks, true));
            let inner = |node: &Node| !node.children.is_empty();
            let both = first.iter().zip(&second).filter(|(a, b)| inner(a) && inner(b)).count();
            assert!(both <= 1, "{both} of {ranks}");
        }
    }

    #[test]
    fn bytes_go_up_once_and_down_once_per_child() {
        // Of rank 4 of 8: up to 0, down to 2 and 6.
        let bytes = bytes_of(&Tree::new(8, 1000, 4, false).unwrap(), 0);
        assert_eq!(bytes[4], (3000, 3000));
        assert_eq!(bytes[0], (1000, 1000));
        assert_eq!(bytes[7], (1000, 1000));
        // Two trees: what it hands in to either, and what it forwards in one.
        let bytes = bytes_of(&Tree::new(8, 1000, 4, true).unwrap(), 0);
        assert_eq!(bytes.iter().map(|bytes| bytes.0).sum::<u64>(), 2 * 7 * 1000);
        assert!(bytes.iter().all(|bytes| bytes.0 <= 2000), "{bytes:?}");
    }
}
