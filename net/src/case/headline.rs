//! The cases whose figures docs/scale.md has, and what is demanded of them.
//!
//! | extent | network | cases | for |
//! |---|---|---|---|
//! | quick | leaf-spine of 32 hosts | few | a look, minutes |
//! | usual | fat tree of 128 hosts | | the figures |
//! | full | the same | more loads and losses, parts of our NIC switched off | the whole table |
//! | full and quick | leaf-spine of 32 hosts | those of full | the same in an hour |
//!
//! All links have 400 Gb/s, switches 2 MB of buffer per port, of which a queue may have
//! what is free, and mark from 100 to 400 KB.

use super::{Case, Load, Protocol};
use crate::fabric::{Faults, Losses, Switching};
use crate::network::Make;
use crate::topology::Shape;
use crate::traffic::alltoall::Mixture;
use crate::traffic::sizes::Published;

/// How much is run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// 32 hosts in place of 128, and fewer messages.
    pub quick: bool,
    /// More loads and losses, and our NIC less one of its mechanisms each.
    pub full: bool,
}

impl Extent {
    /// Minutes.
    pub const QUICK: Self = Self { quick: true, full: false };
    /// The figures.
    pub const USUAL: Self = Self { quick: false, full: false };
    /// Everything.
    pub const FULL: Self = Self { quick: false, full: true };
}

/// Numbers of peers at which goodput is looked at.
pub const PEERS: [u32; 4] = [16, 1024, 16_384, 100_000];
/// Whom it is looked at.
const AT_PEERS: [Protocol; 5] =
    [Protocol::Tessera, Protocol::Rc, Protocol::Irn, Protocol::Falcon, Protocol::Srd];
/// The name of those groups.
const PEERS_GROUP: &str = "peers";

/// The network of an extent, without loss.
pub fn make(extent: Extent, seed: u64) -> Make {
    let (shape, ports) = if extent.quick {
        (Shape::LeafSpine { leaves: 4, hosts: 8, spines: 8 }, 16)
    } else {
        (Shape::FatTree { k: 8 }, 8)
    };
    let switching = Switching { buffer: ports * (2 << 20), ..Switching::default() };
    Make { shape: Some(shape), switching, seed, ..Make::default() }
}

struct Groups {
    extent: Extent,
    make: Make,
    cases: Vec<Case>,
}

impl Groups {
    fn add(&mut self, group: impl Into<String>, load: &Load, make: &Make, who: &[Protocol]) {
        let group = group.into();
        self.cases.extend(who.iter().map(|&protocol| Case {
            group: group.clone(),
            protocol,
            make: make.clone(),
            load: load.clone(),
            // Nothing here takes a tenth of that; what has not ended then never does.
            until: Some(1_000_000_000_000),
        }));
    }

    fn with_loss(&self, uniform: f64) -> Make {
        Make { losses: Losses { uniform, ..Losses::default() }, ..self.make.clone() }
    }

    fn arrivals(&mut self, all: &[Protocol]) {
        let Extent { quick, full } = self.extent;
        let make = self.make.clone();
        let mut kinds = vec![(Published::WebSearch, "web search", 80, if quick { 2000 } else { 10_000 })];
        kinds.push((Published::AliStorage, "storage", 80, if quick { 6000 } else { 40_000 }));
        if !quick {
            kinds.push((Published::Hadoop, "Hadoop", 80, 40_000));
        }
        if full {
            for percent in [30, 50, 90] {
                kinds.push((Published::WebSearch, "web search", percent, if quick { 2000 } else { 10_000 }));
            }
        }
        for (sizes, name, percent, messages) in kinds {
            let load = Load::Poisson { sizes, percent, messages };
            self.add(format!("{name}, load {percent} %"), &load, &make, all);
        }
    }

    fn collectives(&mut self, all: &[Protocol]) {
        let Extent { quick, full } = self.extent;
        let iterations = if quick { 3 } else { 5 };
        let losses: &[f64] = if full { &[0.0, 0.001, 0.01] } else { &[0.0, 0.001] };
        for &loss in losses {
            let make = self.with_loss(loss);
            let lost = if loss > 0.0 { format!(", loss {} %", loss * 100.0) } else { String::new() };
            let mut loads = vec![
                // The last packet that is lost decides about a whole one: enough for a median.
                ("all to all of 64 KiB", Load::AllToAll { bytes: 65_536, iterations: 3 * iterations }),
                ("mixture of experts", Load::Experts { mixture: Mixture::default(), iterations }),
            ];
            if !quick || full {
                let bytes = 64 << 20;
                loads.push(("ring all-reduce of 64 MiB", Load::Ring { bytes, lanes: 1, iterations: 1 }));
                loads.push(("halving and doubling, 64 MiB", Load::Halving { bytes, iterations: 1 }));
            }
            if full {
                loads.push(("two trees, 64 MiB", Load::Tree { bytes: 64 << 20, chunks: 64, iterations: 1 }));
            }
            for (name, load) in loads {
                self.add(format!("{name}{lost}"), &load, &make, all);
            }
        }
    }

    fn patterns(&mut self, all: &[Protocol]) {
        let quick = self.extent.quick;
        let make = self.make.clone();
        let fan_in = if quick { 24 } else { 64 };
        let incast = Load::Incast { fan_in, bytes: 200_000, times: if quick { 3 } else { 10 } };
        self.add(format!("incast {fan_in} to 1"), &incast, &make, all);
        let permutation = Load::Permutation { bytes: 4 << 20, messages: 1 };
        self.add("permutation of 4 MiB", &permutation, &make, all);
        if !quick {
            // A way up of the first edge switch: down for 20 us of every 200.
            let first_up = 128 + 4;
            let us = 1_000_000;
            let faults = Faults::flapping(first_up, 50 * us, 5000 * us, 200 * us, 20 * us, 50 * us);
            let make = Make { faults, ..make };
            self.add("permutation of 4 MiB, a link flaps", &permutation, &make, all);
        }
    }

    fn peers(&mut self) {
        let make = self.make.clone();
        let messages = if self.extent.quick { 20_000 } else { 100_000 };
        for peers in PEERS {
            // A packet per message, and each to another peer: what a cache of connections likes least.
            let load = Load::Peers { peers, bytes: 4096, under_way: 128, messages };
            self.add(format!("{PEERS_GROUP} {peers}"), &load, &make, &AT_PEERS);
        }
    }
}

/// All cases of an extent, of so many seeds from the first on: one seed after the other, so
/// that of what is stopped some seeds are whole.
pub fn cases_of_seeds(extent: Extent, first: u64, seeds: u32) -> Vec<Case> {
    (0..u64::from(seeds)).flat_map(|more| cases(extent, first.wrapping_add(more))).collect()
}

/// All cases of an extent, of one seed.
pub fn cases(extent: Extent, seed: u64) -> Vec<Case> {
    let mut all = vec![Protocol::Tessera];
    all.extend(Protocol::COUNTERPARTS);
    if extent.full {
        // One of them is among the counterparts.
        all.extend(&Protocol::ABLATIONS[1..]);
    }
    let mut groups = Groups { extent, make: make(extent, seed), cases: Vec::new() };
    groups.arrivals(&all);
    groups.collectives(&all);
    groups.patterns(&all);
    groups.peers();
    groups.cases
}

/// The peers of a group of those that differ in nothing else.
pub fn peers_of(group: &str) -> Option<u32> {
    group.strip_prefix(PEERS_GROUP)?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_case_has_a_name_of_its_own_and_can_be_made() {
        let both = Extent { quick: true, full: true };
        for extent in [Extent::QUICK, Extent::USUAL, Extent::FULL, both] {
            let cases = cases_of_seeds(extent, 1, 3);
            let names: BTreeSet<_> = cases.iter().map(Case::id).collect();
            assert_eq!(names.len(), cases.len());
            for case in &cases {
                case.make.round_trip(4226, 150).unwrap();
                assert!(case.load.messages(case.hosts()) > 0, "{}", case.name());
            }
        }
    }

    #[test]
    fn a_group_of_peers_says_how_many() {
        assert_eq!(peers_of("peers 1024"), Some(1024));
        assert_eq!(peers_of("incast 24 to 1"), None);
    }
}
