//! Which statements have to share an `always` block.
//!
//! Two statements belong together when they assign the same net, when one reads
//! a variable that the other assigns later, and when their drivers would
//! otherwise read each other in a circle: in the order of the statements there
//! is no circle, between separate drivers there would be one.

use super::circles::{unite_circles, Sets};
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

/// The group of each statement, by its first member.
pub(super) fn group(design: &Design, body: &[Stmt]) -> Vec<usize> {
    let accesses: Vec<Footprint> = body.iter().map(access).collect();
    let mut writers: HashMap<NetId, Vec<usize>> = HashMap::new();
    for (at, access) in accesses.iter().enumerate() {
        for net in &access.writes {
            writers.entry(*net).or_default().push(at);
        }
    }
    let mut sets = Sets::of_one(body.len());
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
