//! Which statements have to share an `always` block.
//!
//! Two statements belong together when they assign the same net, when one reads
//! a variable that the other assigns later, and when their drivers would
//! otherwise read each other in a circle: in the order of the statements there
//! is no circle, between separate drivers there would be one.

use super::design::{Design, Event, Stmt};
use super::expr::NetId;
use std::collections::{HashMap, HashSet};

/// What one top-level statement reads and assigns.
pub(super) struct Footprint {
    pub(super) reads: HashSet<NetId>,
    pub(super) writes: HashSet<NetId>,
}

pub(super) fn access(stmt: &Stmt) -> Footprint {
    let mut access = Footprint { reads: HashSet::new(), writes: HashSet::new() };
    stmt.walk(&mut |event| match event {
        Event::Read(value) => value.for_each_read(&mut |net, _, _| {
            access.reads.insert(net);
        }),
        Event::Write(net) => {
            access.writes.insert(net);
        }
    });
    access
}

/// Sets of statements; a set goes by its first statement.
struct Sets(Vec<usize>);

impl Sets {
    fn of(&mut self, mut at: usize) -> usize {
        while self.0[at] != at {
            self.0[at] = self.0[self.0[at]];
            at = self.0[at];
        }
        at
    }

    fn unite(&mut self, a: usize, b: usize) {
        let (a, b) = (self.of(a), self.of(b));
        self.0[a.max(b)] = a.min(b);
    }
}

/// The group of each statement, by its first member.
pub(super) fn group(design: &Design, body: &[Stmt]) -> Vec<usize> {
    let accesses: Vec<Footprint> = body.iter().map(access).collect();
    let mut writers: HashMap<NetId, Vec<usize>> = HashMap::new();
    for (at, access) in accesses.iter().enumerate() {
        for net in &access.writes {
            writers.entry(*net).or_default().push(at);
        }
    }
    let mut sets = Sets((0..body.len()).collect());
    for list in writers.values() {
        list.windows(2).for_each(|pair| sets.unite(pair[0], pair[1]));
    }
    // From each statement that assigns a variable to those that read it.
    let mut readers: Vec<Vec<usize>> = vec![Vec::new(); body.len()];
    for (at, access) in accesses.iter().enumerate() {
        for net in access.reads.iter().filter(|net| design.nets[**net].role.reads_as_variable()) {
            if let Some(last) = writers.get(net).and_then(|list| list.last()) {
                if *last > at {
                    sets.unite(at, *last);
                } else {
                    readers[*last].push(at);
                }
            }
        }
    }
    unite_circles(&mut sets, &readers);
    (0..body.len()).map(|at| sets.of(at)).collect()
}

/// Unites all groups of each circle: the strongly connected components of the
/// graph between groups, found in two passes of depth-first search.
fn unite_circles(sets: &mut Sets, readers: &[Vec<usize>]) {
    let count = readers.len();
    let mut forward: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut backward: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (writer, list) in readers.iter().enumerate() {
        let writer = sets.of(writer);
        for reader in list {
            let reader = sets.of(*reader);
            if reader != writer {
                forward[writer].push(reader);
                backward[reader].push(writer);
            }
        }
    }
    let mut finished = Vec::new();
    let mut seen = vec![false; count];
    for start in 0..count {
        visit(start, &forward, &mut seen, &mut |group| finished.push(group));
    }
    seen.fill(false);
    for start in finished.into_iter().rev() {
        visit(start, &backward, &mut seen, &mut |group| sets.unite(start, group));
    }
}

/// Reports every unseen node that `start` reaches, after those beyond it.
fn visit(start: usize, graph: &[Vec<usize>], seen: &mut [bool], done: &mut dyn FnMut(usize)) {
    if std::mem::replace(&mut seen[start], true) {
        return;
    }
    let mut path = vec![(start, 0)];
    while let Some((node, next)) = path.last_mut() {
        match graph[*node].get(*next) {
            Some(&beyond) => {
                *next += 1;
                if !std::mem::replace(&mut seen[beyond], true) {
                    path.push((beyond, 0));
                }
            }
            None => {
                done(*node);
                path.pop();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circles_become_one_group() {
        let mut sets = Sets((0..7).collect());
        sets.unite(1, 4);
        // 0 -> {1,4} -> 2 -> 3 -> {1,4}; 5 -> 6.
        let readers = [vec![1], vec![2], vec![3], vec![4], vec![], vec![6], vec![]];
        unite_circles(&mut sets, &readers);
        let groups: Vec<usize> = (0..7).map(|at| sets.of(at)).collect();
        assert_eq!(groups, [0, 1, 1, 1, 1, 5, 6]);
    }
}
