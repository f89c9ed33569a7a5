//! What is compared: shapes of 32 to 256 hosts, and what their hosts send.

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tessera_net::fabric::{Ecn, Links};
use tessera_net::topology::Shape;
use tessera_net::Ps;

use crate::plan::{Plan, Posted, Protocol};

/// Numbers of hosts for which there is a shape.
pub const HOSTS: [u32; 4] = [32, 64, 128, 256];

/// Other hosts that each sends to, all to all, at most: 256 hosts would take ns-3 minutes.
const PARTNERS: u32 = 31;
/// Hosts that send to one.
const FAN_IN: u32 = 16;
/// Messages begin within so long of each other: a machine's processes do not start
/// in the same picosecond.
const SPREAD: Ps = 1_000_000;
/// More than any load fills.
const PLENTY: u64 = 1 << 40;
/// Less than an incast fills, in a switch of 16 or 32 ports.
const LITTLE: u64 = 500_000;
/// The longest way is so much longer than the shortest.
const SKEW: Ps = 9_973;
/// Loss of the case that has some.
const LOSS: f64 = 0.005;

/// What hosts send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pattern {
    /// 64 KiB to each of 31 others.
    AllToAll,
    /// 1 MiB to one host each, another's.
    Permutation,
    /// 256 KiB from 16 hosts to each of a few.
    Incast,
    /// Few at a time: up to 64 KiB to a host at random, 30 % load.
    Mixed,
}

use Pattern::{AllToAll, Incast, Mixed, Permutation};

/// Two tiers of full bisection.
fn leaf_spine(hosts: u32) -> Option<Shape> {
    let per_leaf = match hosts {
        32 | 64 => 8,
        128 | 256 => 16,
        _ => return None,
    };
    Some(Shape::LeafSpine { leaves: hosts / per_leaf, hosts: per_leaf, spines: per_leaf })
}

struct Draw(Pcg64Mcg);

impl Draw {
    fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(end)) >> 64) as u64
    }

    /// Exponential of that mean.
    fn gap(&mut self, mean: f64) -> Ps {
        let drawn = (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        (-(1.0 - drawn).ln() * mean) as Ps
    }
}

fn messages(pattern: Pattern, hosts: u32, seed: u64) -> Vec<Posted> {
    let mut draw = Draw(Pcg64Mcg::seed_from_u64(seed ^ 0x0005_3E0D));
    let mut messages = Vec::new();
    match pattern {
        AllToAll => {
            for step in 1..=PARTNERS.min(hosts - 1) {
                for from in 0..hosts {
                    let to = (from + step * (hosts / (PARTNERS + 1))) % hosts;
                    messages.push(Posted { at: draw.below(SPREAD), from, to, bytes: 64 << 10 });
                }
            }
        }
        Permutation => {
            for from in 0..hosts {
                let to = (from + hosts / 2 + 3) % hosts;
                messages.push(Posted { at: draw.below(SPREAD), from, to, bytes: 1 << 20 });
            }
        }
        Incast => {
            for group in 0..hosts / 32 {
                let to = group * 32;
                for number in 0..FAN_IN {
                    let from = (to + 1 + number * (hosts / FAN_IN - 1)) % hosts;
                    messages.push(Posted { at: draw.below(SPREAD), from, to, bytes: 256 << 10 });
                }
            }
        }
        Mixed => {
            // 400 Gb/s are 50,000 bytes a microsecond.
            let mean = f64::from(32 << 10) / 50_000.0 / 0.3 * 1e6;
            for from in 0..hosts {
                let mut at = 0;
                for _ in 0..32 {
                    at += draw.gap(mean);
                    let to = (from + 1 + draw.below(u64::from(hosts) - 1) as u32) % hosts;
                    let bytes = 1 + draw.below(64 << 10) as u32;
                    messages.push(Posted { at, from, to, bytes });
                }
            }
        }
    }
    messages.sort_by_key(|message| message.at);
    messages
}

/// The plans for so many hosts; none if there is no shape of that size.
pub fn plans(hosts: u32, seed: u64) -> Option<Vec<Plan>> {
    // Marked by a step, so that nothing is drawn.
    let ecn = Some(Ecn { least: 100 << 10, most: (100 << 10) + 1 });
    let shape = leaf_spine(hosts)?;
    let plan = |name: &str, pattern| Plan {
        name: name.to_owned(),
        protocol: Protocol::Tessera,
        shape,
        links: Links { skew: SKEW, ..Links::default() },
        buffer: PLENTY,
        ecn: None,
        loss: 0.0,
        seed,
        messages: messages(pattern, hosts, seed),
    };
    let mut plans = vec![
        Plan { protocol: Protocol::Raw, ..plan("network alone, all to all", AllToAll) },
        Plan { protocol: Protocol::Raw, ..plan("network alone, mixed", Mixed) },
        plan("all to all", AllToAll),
        Plan { ecn, ..plan("all to all, marks", AllToAll) },
        plan("permutation", Permutation),
        Plan { ecn, ..plan("permutation, marks", Permutation) },
        plan("incast", Incast),
        Plan { buffer: LITTLE, ..plan("incast, little buffer", Incast) },
        plan("mixed", Mixed),
        Plan { loss: LOSS, ..plan("mixed, loss", Mixed) },
        // What each network settles in a way of its own: who is first of those that come
        // in one picosecond, and which packets are marked when that is drawn.
        Plan { links: Links::default(), ..plan("all to all, ties", AllToAll) },
        Plan {
            ecn: Some(Ecn { least: 100 << 10, most: 400 << 10 }),
            ..plan("all to all, marks drawn", AllToAll)
        },
    ];
    if hosts == 128 {
        plans.push(Plan { shape: Shape::FatTree { k: 8 }, ..plan("fat tree, all to all", AllToAll) });
    }
    Some(plans)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tessera_net::topology::Topology;

    #[test]
    fn every_plan_is_of_as_many_hosts_and_can_be_run() {
        for hosts in HOSTS {
            for plan in plans(hosts, 3).unwrap() {
                let topology = Topology::new(plan.shape, plan.seed).unwrap();
                assert_eq!(topology.hosts(), hosts, "{}", plan.name);
                // The model's hosts are large.
                if plan.protocol == Protocol::Raw || hosts == HOSTS[0] {
                    assert_eq!(plan.hosts(hosts).unwrap().len() as u32, hosts, "{}", plan.name);
                }
                let text = serde_json::to_string(&plan).unwrap();
                assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
            }
        }
        assert!(plans(33, 1).is_none());
    }

    #[test]
    fn messages_are_as_described() {
        for hosts in HOSTS {
            let all = messages(AllToAll, hosts, 1);
            assert_eq!(all.len() as u32, hosts * 31);
            let incast = messages(Incast, hosts, 1);
            for to in (0..hosts).step_by(32) {
                let mut from: Vec<_> = incast.iter().filter(|m| m.to == to).map(|m| m.from).collect();
                from.sort_unstable();
                from.dedup();
                assert_eq!(from.len(), 16, "{hosts} hosts, to {to}");
                assert!(!from.contains(&to));
            }
            let mut to: Vec<_> = messages(Permutation, hosts, 1).iter().map(|m| m.to).collect();
            to.sort_unstable();
            assert_eq!(to, (0..hosts).collect::<Vec<_>>());
        }
        assert_ne!(messages(Mixed, 32, 1), messages(Mixed, 32, 2));
    }

    #[test]
    fn plans_that_make_no_sense_are_refused() {
        let mut plan = plans(32, 1).unwrap().remove(0);
        plan.messages[0].to = 32;
        assert!(plan.hosts(32).is_err());
        plan.messages.truncate(2);
        plan.messages[0].to = plan.messages[0].from;
        assert!(plan.hosts(32).is_err());
        plan.messages.clear();
        assert!(plan.hosts(32).is_ok());
    }
}
