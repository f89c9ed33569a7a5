//! What no transport can beat: lower bounds, without a run.
//!
//! ```text
//!   alone   │post│▒▒▒▒▒▒▒▒▒▒ all packets over the host's link
//!                          │ delay, ▒ the smallest over each other link, delays │tell│
//!   all     per link of a host, and per bundle of links above an edge switch:
//!           when its work begins to come ─> all that comes from then on ─> the rest of the way
//! ```
//!
//! Bounded is every transport that cuts messages into packets of [`PAYLOAD`] bytes and
//! gives each no less than the headers of RC ([`OVERHEAD`]). [`Ideal::message`] supposes
//! that nothing else is in the network: its packet that leaves last has all others in
//! front of it, and then its own way. [`Ideal::all`] supposes that every way up is used
//! evenly and that nothing is ever lost or answered: then the end is that of the
//! busiest link, as in a fluid. Neither says that the bound can be met: for a message
//! alone it can, for many at once only if no two ever meet in front of a third link.

use super::{HEADERS, PAYLOAD};
use crate::fabric::{Latency, Links, Rate};
use crate::network::{Make, MakeError};
use crate::topology::Topology;
use crate::transport::{Message, FRAMING};
use crate::Ps;

/// Bytes around a packet's payload, at least.
pub const OVERHEAD: u32 = HEADERS + FRAMING;

/// See the module's page.
#[derive(Clone, Debug)]
pub struct Ideal {
    topology: Topology,
    links: Links,
    latency: Latency,
    host: Rate,
    fabric: Rate,
}

/// A message's times on links of one rate, and its bytes there.
#[derive(Clone, Copy, Debug)]
struct Size {
    /// All packets.
    bytes: u64,
    all: Ps,
    /// The smallest packet, on a host's link and between switches.
    least: [Ps; 2],
}

/// What has to cross a link or bundle of links: from when on, and for how long.
#[derive(Clone, Debug, Default)]
struct Load {
    jobs: Vec<(Ps, Ps)>,
    /// From the link to the host, at least.
    rest: Option<Ps>,
}

impl Load {
    fn add(&mut self, from: Ps, work: Ps, rest: Ps) {
        self.jobs.push((from, work));
        self.rest = Some(self.rest.map_or(rest, |least| least.min(rest)));
    }

    /// Whatever comes from some time on takes its time from then on.
    fn end(&mut self) -> Ps {
        self.jobs.sort_unstable();
        let mut work = 0;
        let ends = self.jobs.iter().rev().map(|&(from, more)| {
            work += more;
            from + work
        });
        ends.max().unwrap_or(0) + self.rest.unwrap_or(0)
    }
}

impl Ideal {
    /// Of a network as it is made: without its losses and failures.
    ///
    /// # Errors
    /// If there is no such network.
    pub fn new(make: &Make) -> Result<Self, MakeError> {
        let shape = make.shape.ok_or(MakeError::Senseless("a network needs a shape"))?;
        let (host, fabric) = make.links.rates()?;
        let topology = Topology::new(shape, make.seed)?;
        Ok(Self { topology, links: make.links, latency: make.latency, host, fabric })
    }

    fn size(&self, bytes: u32) -> Size {
        let packets = bytes.div_ceil(PAYLOAD).max(1) as u64;
        let last = (bytes - (packets as u32 - 1) * PAYLOAD + OVERHEAD) as u64;
        let full = (PAYLOAD + OVERHEAD) as u64;
        Size {
            bytes: (packets - 1) * full + last,
            all: (packets - 1) * self.host.time_of(full) + self.host.time_of(last),
            least: [self.host.time_of(last), self.fabric.time_of(last)],
        }
    }

    /// From the end of a host's link to the beginning of the other's.
    fn between(&self, message: &Message, size: &Size) -> Ps {
        let hops = self.topology.hops(message.from, message.to) as Ps;
        self.links.host_delay + (hops - 2) * (size.least[1] + self.links.fabric_delay)
    }

    /// From the post of a message until its first packet may leave.
    fn before(&self, message: &Message) -> Ps {
        self.latency.post + if message.bytes > 0 { self.latency.read } else { 0 }
    }

    /// From the post of a message to its delivery, at least.
    pub fn message(&self, message: &Message) -> Ps {
        let size = self.size(message.bytes);
        let last = size.least[0] + self.links.host_delay;
        self.before(message) + size.all + self.between(message, &size) + last + self.latency.tell
    }

    /// When the last of these messages, each posted at its time, is delivered, at least.
    pub fn all(&self, messages: impl IntoIterator<Item = (Ps, Message)>) -> Ps {
        let hosts = self.topology.hosts() as usize;
        let edges = self.topology.switches() as usize;
        // Out of hosts and into them; up from edge switches and down to them.
        let mut loads = vec![Load::default(); 2 * hosts + 2 * edges];
        let mut latest = 0;
        for (posted, message) in messages {
            latest = latest.max(posted + self.message(&message));
            let size = self.size(message.bytes);
            let begin = posted + self.before(&message);
            let between = self.between(&message, &size);
            let end = size.least[0] + self.links.host_delay + self.latency.tell;
            loads[message.from as usize].add(begin, size.all, between + end);
            let last = self.links.host_delay + self.latency.tell;
            loads[hosts + message.to as usize].add(begin + size.least[0] + between, size.all, last);
            let edge = |host| (self.topology.peer(host).0 - self.topology.hosts()) as usize;
            let (from, to) = (edge(message.from), edge(message.to));
            if from == to {
                continue;
            }
            let share = |edge: usize| {
                let ways = self.topology.ports_up(edge as u32).len() as Ps;
                self.fabric.time_of(size.bytes) / ways.max(1)
            };
            let up = begin + size.least[0] + self.links.host_delay;
            let down = self.links.fabric_delay + end;
            loads[2 * hosts + from].add(up, share(from), down);
            loads[2 * hosts + edges + to].add(up, share(to), down);
        }
        loads.iter_mut().filter(|load| !load.jobs.is_empty()).map(Load::end).fold(latest, Ps::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::Switching;
    use crate::network::Network;
    use crate::raw::Raw;
    use crate::topology::Shape;
    use crate::traffic::List;

    fn make(shape: Shape) -> Make {
        let links = Links { fabric_delay: 700_000, ..Links::default() };
        let latency = Latency { post: 200_000, read: 100_000, tell: 200_000 };
        let switching = Switching { buffer: 1 << 40, ecn: None, ..Switching::default() };
        Make { shape: Some(shape), links, latency, switching, seed: 1, ..Make::default() }
    }

    /// The end of a run of bare packets, and the bound on it.
    fn run(make: &Make, mut list: List) -> (Ps, Ps) {
        let ideal = Ideal::new(make).unwrap();
        let bound = ideal.all(list.records.iter().map(|record| (record.posted, record.message)));
        let mut network = Network::new(make, |_| Raw::new(PAYLOAD, OVERHEAD, 64)).unwrap();
        assert!(network.run(&mut list, Ps::MAX, |_| true));
        for record in &list.records {
            let took = record.delivered.unwrap() - record.posted;
            assert!(took >= ideal.message(&record.message), "{record:?}");
        }
        (list.records.iter().filter_map(|record| record.delivered).max().unwrap(), bound)
    }

    #[test]
    fn a_message_alone_meets_its_bound() {
        let shapes = [
            Shape::Star { hosts: 2 },
            Shape::LeafSpine { leaves: 2, hosts: 2, spines: 2 },
            Shape::FatTree { k: 4 },
        ];
        for shape in shapes {
            for bytes in [0, 1, 4096, 40_960, 40_961] {
                let mut list = List::default();
                let make = make(shape);
                let to = Topology::new(shape, 1).unwrap().hosts() - 1;
                list.add(12_345, 0, to, bytes);
                let message = list.records[0].message;
                let (end, bound) = run(&make, list);
                let alone = 12_345 + Ideal::new(&make).unwrap().message(&message);
                assert_eq!(bound, alone);
                // A short last packet waits behind a long one at every switch.
                let waits = if bytes > 4096 && bytes % 4096 != 0 { 5 * 4096 * 20 } else { 0 };
                assert!(end >= bound && end <= bound + waits, "{shape:?} {bytes}: {end} {bound}");
            }
        }
    }

    #[test]
    fn an_incast_and_a_shift_end_when_the_busiest_link_does() {
        for k in [4, 8] {
            let make = make(Shape::FatTree { k });
            let mut incast = List::default();
            for from in 1..16 {
                incast.add(0, from, 0, 1 << 20);
            }
            incast.add(900_000_000, 5, 0, 1 << 20);
            let (end, bound) = run(&make, incast);
            assert!(end >= bound && end - bound < bound / 50, "{end} for {bound}");
            let mut within = List::default();
            for from in 0..4 {
                within.add(0, from, from ^ 1, 1 << 20);
            }
            let (end, bound) = run(&make, within);
            assert_eq!(end, bound);
        }
    }

    #[test]
    fn too_few_ways_up_bound_what_leaves_a_switch() {
        let make = make(Shape::LeafSpine { leaves: 2, hosts: 8, spines: 2 });
        let mut list = List::default();
        for from in 0..8 {
            list.add(0, from, from + 8, 1 << 20);
        }
        let (end, bound) = run(&make, list);
        // 8 MiB and headers over two links.
        let work = 4 * 256 * (PAYLOAD + OVERHEAD) as Ps * 20;
        assert!(bound > work && bound < work * 11 / 10, "{bound} for {work}");
        assert!(end >= bound && end < bound * 13 / 10, "{end} for {bound}");
    }
}
