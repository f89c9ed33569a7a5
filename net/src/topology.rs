//! Who is wired to whom, and which way a packet may go.
//!
//! ```text
//!   leaf-spine                      fat tree of k ports per switch (3 tiers)
//!     S0   S1   S2                    core    (k/2)^2
//!     │╲ ╱ │ ╲ ╱│                     aggregation, edge: k/2 of each per pod, k pods
//!     L0   L1   L2                    k^3/4 hosts
//!    hhhh hhhh hhhh
//! ```
//!
//! Ports are numbered through: host `h` has port `h`, then every switch has its
//! ports in a row, those down first. Up, a packet's flow label chooses (ECMP);
//! down there is one way. A link that is known to be dead is no choice, nor is one
//! from which the destination cannot be reached any more.

use serde::{Deserialize, Serialize};

/// A network's shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// Two tiers: every leaf is wired to every spine.
    LeafSpine {
        /// Leaves.
        leaves: u32,
        /// Hosts per leaf.
        hosts: u32,
        /// Spines: as many as hosts per leaf for full bisection.
        spines: u32,
    },
    /// Three tiers of switches with `k` ports each.
    FatTree {
        /// Ports of a switch: even.
        k: u32,
    },
    /// Hosts at one switch.
    Star {
        /// Hosts.
        hosts: u32,
    },
}

/// No such shape.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    /// A count is zero.
    #[error("{0:?} has no hosts or no ways between them; counts must be above 0")]
    Empty(Shape),
    /// A fat tree of an odd number of ports.
    #[error("a fat tree of switches with {0} ports; the number must be even")]
    Odd(u32),
}

/// Where a packet goes from a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Down(u32),
    /// Any of the ports up.
    Up,
}

/// A wired network: see the module's page.
#[derive(Clone, Debug)]
pub struct Topology {
    /// Shape.
    pub shape: Shape,
    hosts: u32,
    /// First port of each switch, and one past the last of the last.
    base: Vec<u32>,
    /// First port up of each switch.
    up: Vec<u32>,
    /// By port: the node at the other end (hosts first, then switches), and its port.
    peer: Vec<(u32, u32)>,
    /// Tier of each switch, 0 next to the hosts.
    tier: Vec<u8>,
    /// Salt of each switch's choice.
    salt: Vec<u32>,
    /// Ports whose link is known to be dead.
    dead: Vec<bool>,
    known_dead: u32,
}

impl Topology {
    /// Wires a network. `salt` makes the choices of switches differ from seed to seed.
    pub fn new(shape: Shape, salt: u64) -> Result<Self, ShapeError> {
        let (hosts, tiers): (u32, Vec<(u32, u32, u32)>) = match shape {
            Shape::LeafSpine { leaves, hosts, spines } => {
                (leaves * hosts, vec![(leaves, hosts, spines), (spines, leaves, 0)])
            }
            Shape::FatTree { k } if k % 2 == 1 => return Err(ShapeError::Odd(k)),
            Shape::FatTree { k } => {
                let half = k / 2;
                (k * half * half, vec![(k * half, half, half), (k * half, half, half), (half * half, k, 0)])
            }
            Shape::Star { hosts } => (hosts, vec![(1, hosts, 0)]),
        };
        if hosts == 0 || tiers.iter().any(|&(switches, ..)| switches == 0) {
            return Err(ShapeError::Empty(shape));
        }
        let mut base = vec![hosts];
        let (mut up, mut tier) = (Vec::new(), Vec::new());
        for (level, &(switches, down, above)) in tiers.iter().enumerate() {
            for _ in 0..switches {
                let first = base[base.len() - 1];
                up.push(first + down);
                base.push(first + down + above);
                tier.push(level as u8);
            }
        }
        let ports = base[base.len() - 1] as usize;
        let salt = (0..up.len() as u64).map(|switch| mix(salt ^ switch << 32 | switch)).collect();
        let mut built = Self {
            shape,
            hosts,
            base,
            up,
            peer: vec![(u32::MAX, u32::MAX); ports],
            tier,
            salt,
            dead: vec![false; ports],
            known_dead: 0,
        };
        built.wire();
        Ok(built)
    }

    fn wire(&mut self) {
        let hosts = self.hosts;
        let per_edge = self.up[0] - self.base[0];
        for host in 0..hosts {
            let port = self.base[(host / per_edge) as usize] + host % per_edge;
            self.join((host, host), (hosts + host / per_edge, port));
        }
        match self.shape {
            Shape::Star { .. } => {}
            Shape::LeafSpine { leaves, spines, .. } => {
                for leaf in 0..leaves {
                    for spine in 0..spines {
                        let other = leaves + spine;
                        let (low, high) = (self.up[leaf as usize] + spine, self.base[other as usize] + leaf);
                        self.join((hosts + leaf, low), (hosts + other, high));
                    }
                }
            }
            Shape::FatTree { k } => {
                let half = k / 2;
                let edges = k * half;
                for edge in 0..edges {
                    for i in 0..half {
                        let other = edges + edge / half * half + i;
                        let low = self.up[edge as usize] + i;
                        let high = self.base[other as usize] + edge % half;
                        self.join((hosts + edge, low), (hosts + other, high));
                        // The i-th aggregation switch of a pod has the i-th group of cores.
                        let aggregation = edges + edge;
                        let core = 2 * edges + edge % half * half + i;
                        let low = self.up[aggregation as usize] + i;
                        let high = self.base[core as usize] + edge / half;
                        self.join((hosts + aggregation, low), (hosts + core, high));
                    }
                }
            }
        }
    }

    fn join(&mut self, a: (u32, u32), b: (u32, u32)) {
        self.peer[a.1 as usize] = b;
        self.peer[b.1 as usize] = a;
    }

    /// Hosts.
    pub fn hosts(&self) -> u32 {
        self.hosts
    }

    /// Switches.
    pub fn switches(&self) -> u32 {
        self.up.len() as u32
    }

    /// Ports, of hosts and switches.
    pub fn ports(&self) -> u32 {
        self.peer.len() as u32
    }

    /// The node and its port at the other end of a port's link.
    #[inline]
    pub fn peer(&self, port: u32) -> (u32, u32) {
        self.peer[port as usize]
    }

    /// Ports of a switch.
    pub fn ports_of(&self, switch: u32) -> std::ops::Range<u32> {
        self.base[switch as usize]..self.base[switch as usize + 1]
    }

    /// Ports up of a switch.
    pub fn ports_up(&self, switch: u32) -> std::ops::Range<u32> {
        self.up[switch as usize]..self.base[switch as usize + 1]
    }

    /// Tier of a switch, 0 next to hosts.
    pub fn tier(&self, switch: u32) -> u8 {
        self.tier[switch as usize]
    }

    /// Links from one host to another.
    pub fn hops(&self, from: u32, to: u32) -> u32 {
        let per_edge = self.up[0] - self.base[0];
        if from / per_edge == to / per_edge {
            return 2;
        }
        match self.shape {
            Shape::FatTree { k } if from / per_edge / (k / 2) != to / per_edge / (k / 2) => 6,
            _ => 4,
        }
    }

    #[inline]
    fn way(&self, switch: u32, to: u32) -> Way {
        let per_edge = self.up[0] - self.base[0];
        let edge = to / per_edge;
        match (self.shape, self.tier[switch as usize]) {
            (_, 0) if edge == switch => Way::Down(to % per_edge),
            (Shape::LeafSpine { .. }, 1) => Way::Down(edge),
            (Shape::FatTree { k }, 1) if edge / (k / 2) == (switch - k * (k / 2)) / (k / 2) => {
                Way::Down(edge % (k / 2))
            }
            (Shape::FatTree { k }, 2) => Way::Down(edge / (k / 2)),
            _ => Way::Up,
        }
    }

    /// The port by which a packet of this flow label leaves a switch; none if every
    /// way is known to be dead.
    #[inline]
    pub fn route(&self, switch: u32, to: u32, label: u32) -> Option<u32> {
        match self.way(switch, to) {
            Way::Down(port) => Some(self.base[switch as usize] + port),
            Way::Up => {
                let ports = self.ports_up(switch);
                let hash = (label ^ self.salt[switch as usize]).wrapping_mul(0x9E37_79B1);
                let hash = (hash ^ hash >> 15).wrapping_mul(0x85EB_CA77);
                let count = ports.end - ports.start;
                if self.known_dead == 0 {
                    return Some(ports.start + ((hash as u64 * count as u64) >> 32) as u32);
                }
                let alive = ports.clone().filter(|&port| self.reaches(port, to)).count() as u64;
                let chosen = (hash as u64 * alive) >> 32;
                ports.clone().filter(|&port| self.reaches(port, to)).nth(chosen as usize)
            }
        }
    }

    /// Whether a packet sent out of this port can come to a host, as far as is known.
    fn reaches(&self, port: u32, to: u32) -> bool {
        if self.dead[port as usize] {
            return false;
        }
        let (node, _) = self.peer[port as usize];
        if node < self.hosts {
            return true;
        }
        let switch = node - self.hosts;
        match self.way(switch, to) {
            Way::Down(down) => self.reaches(self.base[switch as usize] + down, to),
            Way::Up => self.ports_up(switch).any(|port| self.reaches(port, to)),
        }
    }

    /// What is known of the link of a port, both ways.
    pub fn set_known(&mut self, port: u32, alive: bool) {
        for port in [port, self.peer[port as usize].1] {
            let dead = &mut self.dead[port as usize];
            self.known_dead = self.known_dead + u32::from(!alive) - u32::from(*dead);
            *dead = !alive;
        }
    }
}

/// Spreads a number over 32 bits.
pub fn mix(value: u64) -> u32 {
    let mut hash = value.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    hash = (hash ^ hash >> 31).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    (hash ^ hash >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shapes() -> Vec<Shape> {
        vec![
            Shape::Star { hosts: 5 },
            Shape::LeafSpine { leaves: 4, hosts: 3, spines: 2 },
            Shape::FatTree { k: 4 },
            Shape::FatTree { k: 8 },
        ]
    }

    /// The links that a packet takes.
    fn walk(topology: &Topology, from: u32, to: u32, label: u32) -> Option<Vec<u32>> {
        let mut links = vec![from];
        let mut node = topology.peer(from).0;
        while node >= topology.hosts() {
            let port = topology.route(node - topology.hosts(), to, label)?;
            links.push(port);
            node = topology.peer(port).0;
            assert!(links.len() <= 6, "{links:?} goes round");
        }
        assert_eq!(node, to);
        Some(links)
    }

    #[test]
    fn every_host_reaches_every_other_in_as_few_links_as_there_are() {
        for shape in shapes() {
            let topology = Topology::new(shape, 1).unwrap();
            for from in 0..topology.hosts() {
                for to in (0..topology.hosts()).filter(|&to| to != from) {
                    for label in 0..8 {
                        let links = walk(&topology, from, to, mix(label)).expect("nothing is dead");
                        assert_eq!(links.len() as u32, topology.hops(from, to), "{shape:?} {from} {to}");
                    }
                }
            }
        }
    }

    #[test]
    fn links_join_two_ports_each() {
        for shape in shapes() {
            let topology = Topology::new(shape, 1).unwrap();
            for port in 0..topology.ports() {
                let (node, other) = topology.peer(port);
                assert_eq!(topology.peer(other).1, port, "{shape:?}");
                assert!(node < topology.hosts() + topology.switches());
            }
        }
    }

    #[test]
    fn labels_spread_over_all_ways() {
        let topology = Topology::new(Shape::FatTree { k: 8 }, 3).unwrap();
        let mut used = std::collections::BTreeMap::new();
        for label in 0..4096 {
            let links = walk(&topology, 0, 127, mix(label)).unwrap();
            *used.entry((links[1], links[2])).or_insert(0u32) += 1;
        }
        assert_eq!(used.len(), 16);
        assert!(used.values().all(|&times| (150..400).contains(&times)), "{used:?}");
    }

    #[test]
    fn what_is_known_to_be_dead_is_gone_round_at_both_ends() {
        for shape in [Shape::LeafSpine { leaves: 4, hosts: 3, spines: 2 }, Shape::FatTree { k: 4 }] {
            let mut topology = Topology::new(shape, 1).unwrap();
            let last = topology.hosts() - 1;
            // A link up of the last host's own switch: others must not come down it.
            let edge = topology.peer(last).0 - topology.hosts();
            let dead = topology.ports_up(edge).start;
            let down = topology.peer(dead).1;
            topology.set_known(dead, false);
            for label in 0..64 {
                let links = walk(&topology, 0, last, mix(label)).expect("another way");
                assert!(!links.contains(&down), "{shape:?}");
                assert!(!walk(&topology, last, 0, mix(label)).unwrap().contains(&dead));
            }
            topology.set_known(dead, true);
            let back = (0..64).any(|label| walk(&topology, last, 0, mix(label)).unwrap().contains(&dead));
            assert!(back, "{shape:?}");
            for port in topology.ports_up(edge) {
                topology.set_known(port, false);
            }
            assert_eq!(topology.route(edge, 0, 1), None);
        }
    }

    #[test]
    fn senseless_shapes_are_refused() {
        assert_eq!(Topology::new(Shape::FatTree { k: 5 }, 1).err(), Some(ShapeError::Odd(5)));
        let empty = Shape::LeafSpine { leaves: 2, hosts: 4, spines: 0 };
        assert_eq!(Topology::new(empty, 1).err(), Some(ShapeError::Empty(empty)));
    }
}
