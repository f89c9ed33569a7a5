//! Sets of numbered things, and what is in a circle united to one set.

/// Sets of numbered things; a set goes by its first.
pub(super) struct Sets(Vec<usize>);

impl Sets {
    /// So many, each a set of its own.
    pub(super) fn of_one(count: usize) -> Self {
        Self((0..count).collect())
    }

    /// The set that this is in.
    pub(super) fn of(&mut self, mut at: usize) -> usize {
        while self.0[at] != at {
            self.0[at] = self.0[self.0[at]];
            at = self.0[at];
        }
        at
    }

    pub(super) fn unite(&mut self, a: usize, b: usize) {
        let (a, b) = (self.of(a), self.of(b));
        self.0[a.max(b)] = a.min(b);
    }
}

/// Unites all groups of each circle: the strongly connected components of the
/// graph between groups, found in two passes of depth-first search.
pub(super) fn unite_circles(sets: &mut Sets, readers: &[Vec<usize>]) {
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
        let mut sets = Sets::of_one(7);
        sets.unite(1, 4);
        // 0 -> {1,4} -> 2 -> 3 -> {1,4}; 5 -> 6.
        let readers = [vec![1], vec![2], vec![3], vec![4], vec![], vec![6], vec![]];
        unite_circles(&mut sets, &readers);
        let groups: Vec<usize> = (0..7).map(|at| sets.of(at)).collect();
        assert_eq!(groups, [0, 1, 1, 1, 1, 5, 6]);
    }
}
