//! What is carried.

use serde::{Deserialize, Serialize};

use super::CaseError;
use crate::counterpart::ideal::Ideal;
use crate::network::Make;
use crate::stats::Histogram;
use crate::traffic::allreduce::{Halving, Ring, Tree};
use crate::traffic::alltoall::{AllToAll, Experts, Mixture};
use crate::traffic::course::{Between, Course, Options};
use crate::traffic::pairs::{self, Pairs};
use crate::traffic::patterns::{self, Incast, Receiver};
use crate::traffic::plan::{At, Group, Plan};
use crate::traffic::poisson::{self, Counted, Poisson};
use crate::traffic::replay::Replay;
use crate::traffic::sizes::Published;
use crate::traffic::trace::Trace;
use crate::traffic::{Act, List, Record, Traffic};
use crate::transport::{Done, Message};
use crate::Ps;

use super::protocol::{ANSWER, PACKET};

/// A load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Load {
    /// All to all, so many bytes per pair.
    AllToAll {
        /// Bytes from each to each.
        bytes: u32,
        /// Times, one after the other.
        iterations: u32,
    },
    /// Mixtures of experts: dispatch and combine.
    Experts {
        /// Tokens and experts.
        mixture: Mixture,
        /// Layers.
        iterations: u32,
    },
    /// All-reduce round a ring.
    Ring {
        /// Bytes that are reduced.
        bytes: u64,
        /// Lanes.
        lanes: u32,
        /// Times.
        iterations: u32,
    },
    /// All-reduce up and down two trees.
    Tree {
        /// Bytes that are reduced.
        bytes: u64,
        /// Chunks per tree.
        chunks: u32,
        /// Times.
        iterations: u32,
    },
    /// All-reduce by halving and doubling.
    Halving {
        /// Bytes that are reduced.
        bytes: u64,
        /// Times.
        iterations: u32,
    },
    /// Many to one, again and again.
    Incast {
        /// Senders.
        fan_in: u32,
        /// Bytes from each.
        bytes: u32,
        /// Times.
        times: u32,
    },
    /// Each to one other.
    Permutation {
        /// Bytes of a message.
        bytes: u32,
        /// Messages from each, posted at once.
        messages: u32,
    },
    /// Arrivals at random, of published sizes.
    Poisson {
        /// Sizes.
        sizes: Published,
        /// Per cent of hosts' links, in bytes of the wire.
        percent: u32,
        /// Messages.
        messages: u32,
    },
    /// Host 0 talks to very many peers.
    Peers {
        /// Peers.
        peers: u32,
        /// Bytes of a message.
        bytes: u32,
        /// Messages under way.
        under_way: u32,
        /// Messages.
        messages: u32,
    },
    /// A trace, as text.
    Trace {
        /// See [`crate::traffic::trace`].
        text: String,
    },
}

/// What a load has come to.
#[derive(Clone, Debug, Default)]
pub struct Carried {
    /// Messages posted, delivered and given up.
    pub posted: u64,
    /// See `posted`.
    pub delivered: u64,
    /// See `posted`.
    pub failed: u64,
    /// Delivered again.
    pub twice: u64,
    /// Payload delivered.
    pub bytes: u64,
    /// Latest delivery.
    pub last: Ps,
    /// From post to delivery.
    pub times: Histogram,
    /// From a round's first post to its last delivery.
    pub rounds: Histogram,
    /// Times of iterations that are over.
    pub iterations: Vec<Ps>,
    /// Of each message, if few enough.
    pub records: Vec<Record>,
}

/// A load at work.
pub trait Carrying: Traffic {
    /// What it has come to.
    fn carried(&self) -> Carried;
}

/// A load behind a pointer, as the network wants its traffic.
pub struct AnyLoad(pub Box<dyn Carrying>);

impl Traffic for AnyLoad {
    fn next_at(&mut self) -> Option<Ps> {
        self.0.next_at()
    }

    fn next(&mut self) -> Option<Act> {
        self.0.next()
    }

    fn done(&mut self, now: Ps, done: &Done) {
        self.0.done(now, done);
    }
}

fn of_book<M: Copy>(book: &crate::traffic::book::Book<M>) -> Carried {
    Carried {
        posted: book.posted(),
        delivered: book.delivered,
        failed: book.failed,
        twice: book.twice,
        bytes: book.received.iter().sum(),
        last: book.last,
        times: book.times.clone(),
        records: book.records().copied().collect(),
        ..Carried::default()
    }
}

impl<P: Plan> Carrying for Course<P> {
    fn carried(&self) -> Carried {
        Carried { rounds: self.rounds.clone(), iterations: self.took().collect(), ..of_book(&self.book) }
    }
}

impl Carrying for Poisson {
    fn carried(&self) -> Carried {
        of_book(&self.book)
    }
}

impl Carrying for Pairs {
    fn carried(&self) -> Carried {
        of_book(&self.book)
    }
}

impl Carrying for Replay {
    fn carried(&self) -> Carried {
        let iterations = self.ended().into_iter().collect();
        Carried { iterations, ..of_book(&self.book) }
    }
}

impl Carrying for List {
    fn carried(&self) -> Carried {
        let mut carried = Carried { posted: self.records.len() as u64, ..Carried::default() };
        for record in &self.records {
            carried.failed += u64::from(record.failed);
            let Some(delivered) = record.delivered else { continue };
            carried.delivered += 1;
            carried.bytes += record.message.bytes as u64;
            carried.last = carried.last.max(delivered);
            carried.times.add(delivered - record.posted);
        }
        if carried.delivered == carried.posted {
            carried.iterations.push(carried.last);
        }
        carried.records.clone_from(&self.records);
        carried
    }
}

/// Time that an iteration takes at least if all ranks are in step: the sum over its
/// stages of what all messages of a stage take when posted at once.
fn in_step(ideal: &Ideal, plan: &impl Plan, hosts: &Group) -> Ps {
    let stage = |stage| {
        let cells = (0..plan.ranks()).flat_map(|rank| (0..plan.lanes()).map(move |lane| (rank, lane)));
        let sends = cells.flat_map(|(rank, lane)| {
            let at = At { rank, lane, iteration: 0, stage };
            let sends: Vec<_> = (0..).map_while(|index| plan.send(&at, index)).collect();
            sends.into_iter().filter(|send| send.bytes > 0).map(move |send| (rank, send))
        });
        let messages = sends.map(|(rank, send)| {
            let (from, to) = (hosts.host(rank), hosts.host(send.to));
            (0, Message { id: 0, from, to, bytes: send.bytes, round: None, process: 0 })
        });
        ideal.all(messages)
    };
    (0..plan.stages()).map(stage).sum()
}

impl Load {
    /// The load at work on a network, and the time that one iteration takes at least, if
    /// that is known.
    pub(super) fn start(&self, make: &Make, hosts: u32) -> Result<(AnyLoad, Option<Ps>), CaseError> {
        let group = Group::all(hosts);
        let ideal = Ideal::new(make)?;
        let seed = make.seed;
        // A rank waits for all others: so each iteration is a round of its own.
        let options =
            |iterations| Options { iterations, between: Between::Barrier, seed, ..Options::default() };
        macro_rules! course {
            ($plan:expr, $iterations:expr) => {
                course!($plan, in options($iterations))
            };
            ($plan:expr, in $options:expr) => {{
                let plan = $plan;
                let least = in_step(&ideal, &plan, &group);
                (AnyLoad(Box::new(Course::new(plan, group, $options)?)), Some(least))
            }};
        }
        Ok(match *self {
            Self::AllToAll { bytes, iterations } => course!(AllToAll::new(hosts, bytes)?, iterations),
            Self::Experts { ref mixture, iterations } => {
                course!(Experts::new(hosts, &Mixture { seed, ..*mixture })?, iterations)
            }
            Self::Ring { bytes, lanes, iterations } => course!(Ring::new(hosts, bytes, lanes)?, iterations),
            Self::Tree { bytes, chunks, iterations } => {
                // In step would be far above what its pipeline takes.
                let plan = Tree::new(hosts, bytes, chunks, true)?;
                (AnyLoad(Box::new(Course::new(plan, group, options(iterations))?)), None)
            }
            Self::Halving { bytes, iterations } => {
                // A step is a send and a receive, and over with both, as in MPI_Sendrecv.
                let options = Options { window: Some(1), ..options(iterations) };
                course!(Halving::new(hosts, bytes, 1)?, in options)
            }
            Self::Incast { fan_in, bytes, times } => {
                let plan = Incast::new(hosts, fan_in, bytes, Receiver::AtRandom, times, seed)?;
                course!(plan, times)
            }
            Self::Permutation { bytes, messages } => {
                let list = patterns::permutation(hosts, bytes, messages, 0, seed)?;
                let posted = list.records.iter().map(|record| (record.posted, record.message));
                let least = ideal.all(posted);
                (AnyLoad(Box::new(list)), Some(least))
            }
            Self::Poisson { sizes, percent, messages } => {
                let counted = Counted::Wire { payload: 4096, overhead: (PACKET - 4096) as u32 };
                let options = poisson::Options {
                    load: percent as f64 / 100.0,
                    counted,
                    gbps: make.links.host_gbps,
                    until: Ps::MAX,
                    messages,
                    processes: 1 << 20,
                    keep: true,
                    seed,
                };
                (AnyLoad(Box::new(Poisson::new(hosts, sizes.sizes()?, options)?)), None)
            }
            Self::Peers { peers, bytes, under_way, messages } => {
                let options = pairs::Options {
                    peers,
                    bytes,
                    under_way,
                    messages,
                    turn: pairs::Turn::AtRandom,
                    start: 0,
                    keep: false,
                    seed,
                };
                (AnyLoad(Box::new(Pairs::new(hosts, &Group::of(vec![0], hosts)?, options)?)), None)
            }
            Self::Trace { ref text } => (AnyLoad(Box::new(Replay::new(Trace::parse(text, hosts)?, 0))), None),
        })
    }

    /// Messages that it will post, about.
    pub fn messages(&self, hosts: u32) -> u64 {
        let hosts = hosts as u64;
        match *self {
            Self::AllToAll { iterations, .. } => hosts * hosts * iterations as u64,
            Self::Experts { iterations, .. } => 2 * hosts * hosts * iterations as u64,
            Self::Ring { lanes, iterations, .. } => 2 * hosts * hosts * lanes as u64 * iterations as u64,
            Self::Tree { chunks, iterations, .. } => 4 * hosts * chunks as u64 * iterations as u64,
            Self::Halving { iterations, .. } => 2 * hosts * hosts.ilog2().max(1) as u64 * iterations as u64,
            Self::Incast { fan_in, times, .. } => fan_in as u64 * times as u64,
            Self::Permutation { messages, .. } => hosts * messages as u64,
            Self::Poisson { messages, .. } | Self::Peers { messages, .. } => messages as u64,
            Self::Trace { ref text } => text.lines().count() as u64,
        }
    }
}

impl Load {
    /// Packets with payload that it will send, about.
    pub fn packets(&self, hosts: u32) -> f64 {
        let ranks = hosts as f64;
        let bytes = match *self {
            Self::AllToAll { bytes, .. }
            | Self::Incast { bytes, .. }
            | Self::Permutation { bytes, .. }
            | Self::Peers { bytes, .. } => bytes as f64,
            Self::Poisson { sizes, .. } => sizes.sizes().map_or(0.0, |sizes| sizes.mean()),
            Self::Ring { bytes, lanes, .. } => bytes as f64 / ranks / lanes as f64,
            Self::Halving { bytes, .. } => bytes as f64 / ranks.log2(),
            Self::Tree { bytes, chunks, .. } => bytes as f64 / chunks as f64,
            Self::Experts { ref mixture, .. } => {
                let tokens = (mixture.tokens * mixture.top_k) as f64 / ranks;
                tokens * (mixture.dispatch_bytes + mixture.combine_bytes) as f64 / 2.0
            }
            Self::Trace { .. } => 0.0,
        };
        self.messages(hosts) as f64 * (bytes / 4096.0).max(1.0)
    }
}

/// A round trip with a full packet.
pub(super) fn round_trip(make: &Make) -> Result<Ps, CaseError> {
    Ok(make.round_trip(PACKET, ANSWER)?)
}
