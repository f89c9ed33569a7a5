//! What others do, to be measured beside our block: go-back-N and selective
//! repeat on the same fabric.
//!
//! ```text
//!            Network: nodes in lockstep, as `cluster` runs NICs
//!   post ──> Node: host delays, link of a beat per clock ──frames──> Fabric ──> Node ──> Done
//!             └ one connection per peer: Requester + Responder
//!                 go_back_n          reliable connection of InfiniBand
//!                 selective_repeat   IRN, SIGCOMM 2018
//! ```
//!
//! | file | what it is |
//! |---|---|
//! | `frame` | their packets, of the size those have on a wire |
//! | `go_back_n`, `selective_repeat` | the rules, each with its source |
//! | `node` | host delays, link, one connection per peer |
//! | `sequence` | 24-bit numbers |
//!
//! Protocol logic takes the time as an argument and does no I/O. What is *not*
//! modelled favours them: no cache of queue pairs to miss, no latency of their
//! own (but a packet takes [`PACKET_CLOCKS`] of its node), no congestion control, every path as fast as a port, windows of one and a
//! half bandwidth-delay products of the slowest path, timeouts in proportion
//! to the round trip of the path that a connection has drawn ([`Waits`]).
//!
//! What is theirs and costs them: one connection per pair of nodes, in whose
//! order messages end, so that one packet that is waited for holds up all
//! behind it; the path, drawn once. NICs do not spray such connections: the
//! sprayed ones show what these rules make of reordering.
//!
//! Verified by the tests of the files here and by `sim/tests/counterpart.rs`.

pub(crate) mod frame;
mod go_back_n;
mod node;
mod selective_repeat;
mod sequence;

pub use node::{Content, Done, Node};

use crate::cluster::addresses;
use crate::fabric::{CaptureError, Fabric, FabricOptions};
use frame::Reply;

/// Clocks between two looks of a host at its node, as in `cluster`.
const MAX_WINDOW: u64 = 128;
/// Round trip of the fabric that IRN's timeouts were chosen for, and those
/// timeouts, microseconds: 40 Gb/s, longest path 24 us (section 4.1 of the
/// paper).
const IRN_TIMES_US: [u64; 3] = [24, 100, 320];

/// Clocks of 4 ns that a packet takes at least: IRN's slowest module in an FPGA
/// takes 45 million packets per second (section 6.2 of the paper).
pub const PACKET_CLOCKS: u64 = 6;

/// Whose rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// See [`go_back_n`].
    GoBackN,
    /// See [`selective_repeat`].
    SelectiveRepeat,
}

/// What timeouts follow from besides the delays of paths, clocks.
///
/// IRN's are a multiple of the round trip without queues, which the queue of a
/// full switch is in already; shorter than what a packet and its answer may
/// take here with all queues they would find losses where there are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waits {
    /// Of a packet without company: the read of its payload, and its beats.
    pub own: u64,
    /// In queues at most, there and back.
    pub queues: u64,
}

impl Waits {
    /// Timeouts, low and high, over paths whose delays there and back add up to
    /// `paths`.
    pub fn timeouts(self, paths: u64) -> [u64; 2] {
        let trip = paths + self.own;
        let [paper, low, high] = IRN_TIMES_US;
        [low, high].map(|time| (trip * time / paper).max(trip + self.queues))
    }
}

/// How a node behaves. Times are clocks, windows packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Whose rules.
    pub kind: Kind,
    /// Payload bytes per packet.
    pub payload: usize,
    /// Most packets of a connection sent and unanswered.
    pub window: u64,
    /// Timeout while few are in flight; selective repeat only.
    pub rto_low: u64,
    /// Timeout.
    pub rto_high: u64,
    /// From which connections that keep their path have timeouts of their own;
    /// `None`: they have those above, as sprayed ones always do.
    pub waits: Option<Waits>,
    /// How many are few.
    pub low_flight: u64,
    /// Packets in order per acknowledgement that was not asked for.
    pub ack_every: u32,
    /// Entropy values that packets take in turn. `None`: a connection keeps one.
    pub spray: Option<u16>,
    /// Entropy values that a connection's one is drawn from.
    pub paths: u16,
    /// Clocks from one packet's start to the next one's, at least.
    pub packet_clocks: u64,
    /// Clocks of a read of host memory, least and most.
    pub read_delay: (u64, u64),
    /// The same of a write.
    pub write_delay: (u64, u64),
    /// Seed of delays and paths.
    pub seed: u64,
}

impl Parameters {
    /// Rules with a window and timeouts of some size, for a test to change.
    pub fn bare(kind: Kind, payload: usize) -> Self {
        Self {
            kind,
            payload,
            window: 64,
            rto_low: 5000,
            rto_high: 16_000,
            waits: None,
            low_flight: 3,
            // IRN acknowledges every packet; RC may coalesce, as we do.
            ack_every: if kind == Kind::GoBackN { 16 } else { 1 },
            spray: None,
            paths: 1,
            packet_clocks: PACKET_CLOCKS,
            read_delay: (225, 275),
            write_delay: (100, 150),
            seed: 1,
        }
    }

    /// Beats of a packet with so much payload.
    pub fn beats(kind: Kind, payload: usize) -> u64 {
        frame::request_len(payload, kind == Kind::SelectiveRepeat).div_ceil(64) as u64
    }

    /// What suits a fabric of `nodes` nodes and messages of `message` bytes:
    /// a window of one and a half bandwidth-delay products of the slowest path,
    /// and IRN's timeouts, scaled from the paper's round trip to this one's, of
    /// the slowest path until a connection has drawn its own.
    pub fn for_fabric(
        kind: Kind,
        fabric: &FabricOptions,
        nodes: usize,
        payload: usize,
        message: usize,
    ) -> Self {
        let bare = Self::bare(kind, payload);
        let full = payload.min(message);
        let beats = Self::beats(kind, full).max(bare.packet_clocks);
        let slowest = fabric.path_delays.iter().copied().max().unwrap_or(1);
        let own = bare.read_delay.1 + beats;
        // Acknowledgements that wait for company hold the window up.
        let window = ((2 * slowest + own) * 3 / 2).div_ceil(beats) + u64::from(bare.ack_every) + 4;
        // Everybody else's window at the port there, and again at the port back.
        let ports = 2 * (nodes as u64).saturating_sub(2) * window * beats;
        let waits = Waits { own, queues: node::PREFETCH_CLOCKS + ports };
        let [rto_low, rto_high] = waits.timeouts(2 * slowest);
        Self {
            window,
            rto_low,
            rto_high,
            waits: Some(waits),
            paths: fabric.path_delays.len() as u16,
            seed: fabric.seed,
            ..bare
        }
    }
}

/// A packet to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pick {
    psn: u64,
    /// Has been sent before.
    again: bool,
}

/// What becomes of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Taken {
    /// Its bytes are wanted.
    fresh: bool,
    reply: Option<Reply>,
}

/// The sending end of a connection.
trait Requester: Send {
    /// There are so many more packets to send.
    fn offer(&mut self, packets: u64);
    /// The packet to send now, if any.
    fn next(&mut self, now: u64) -> Option<Pick>;
    fn heard(&mut self, now: u64, reply: Reply);
    /// When to call `expire`, unless something is heard.
    fn deadline(&self) -> Option<u64>;
    fn expire(&mut self, now: u64);
    /// Timeouts from now on, low and high.
    fn set_timeouts(&mut self, timeouts: [u64; 2]);
    /// All before this one has been acknowledged.
    fn acknowledged(&self) -> u64;
}

/// The receiving end.
trait Responder: Send {
    fn arrived(&mut self, psn: u32, ack_request: bool) -> Taken;
    /// All before this one has arrived.
    fn expected(&self) -> u64;
}

/// Nodes on a fabric, in lockstep.
pub struct Network {
    nodes: Vec<Node>,
    fabric: Fabric,
    clock: u64,
    window: u64,
}

impl Network {
    /// `nodes` nodes with the addresses that a [`Cluster`](crate::cluster::Cluster)
    /// gives its NICs.
    pub fn new(nodes: usize, parameters: &Parameters, fabric: FabricOptions) -> Self {
        let macs: Vec<_> = (0..nodes).map(|node| addresses(node).0).collect();
        let delays = fabric.path_delays.clone();
        let fabric = Fabric::new(&macs, fabric);
        let window = fabric.min_delay().min(MAX_WINDOW);
        let mut nodes: Vec<_> = (0..nodes).map(|node| Node::new(node, nodes, parameters)).collect();
        if let (Some(waits), None) = (parameters.waits, parameters.spray) {
            let pairs: Vec<(usize, usize)> =
                (0..nodes.len()).flat_map(|a| (0..a).flat_map(move |b| [(a, b), (b, a)])).collect();
            for (from, to) in pairs {
                let delay = |from: usize, to: usize| delays[fabric.path_of(&nodes[from].sample(to))];
                let paths = delay(from, to) + delay(to, from);
                nodes[from].set_timeouts(to, waits.timeouts(paths));
            }
        }
        Self { nodes, fabric, clock: 0, window }
    }

    /// Clocks since the start.
    pub fn clock(&self) -> u64 {
        self.clock
    }

    /// The fabric.
    pub fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// The fabric.
    pub fn fabric_mut(&mut self) -> &mut Fabric {
        &mut self.fabric
    }

    /// Packets that timeouts have found lost so far, all nodes.
    pub fn timeouts(&self) -> u64 {
        self.nodes.iter().map(Node::timeouts).sum()
    }

    /// Posts a message. Messages between two nodes arrive in this order,
    /// numbered from 0.
    pub fn post(&mut self, from: usize, to: usize, content: Content) {
        self.nodes[from].post(to, content);
    }

    /// Runs one window; what has been delivered meanwhile, by node.
    ///
    /// # Errors
    /// If a capture cannot be written.
    pub fn advance(&mut self) -> Result<Vec<(usize, Done)>, CaptureError> {
        let until = self.clock + self.window;
        for delivery in self.fabric.deliver(until)? {
            self.nodes[delivery.port].receive(delivery.at, delivery.frame);
        }
        let mut frames = Vec::new();
        let mut done = Vec::new();
        for (number, node) in self.nodes.iter_mut().enumerate() {
            node.run(until);
            frames.extend(node.take_sent().into_iter().map(|(last, bytes)| (last, number, bytes)));
            done.extend(node.take_done().into_iter().map(|message| (number, message)));
        }
        frames.sort_by_key(|&(last, node, _)| (last, node));
        for (last, node, bytes) in frames {
            self.fabric.send(last, node, bytes)?;
        }
        self.clock = until;
        Ok(done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_are_the_papers_unless_queues_are_longer() {
        let few = Waits { own: 300, queues: 512 };
        assert_eq!(few.timeouts(500), [800 * 100 / 24, 800 * 320 / 24]);
        let many = Waits { own: 300, queues: 5000 };
        assert_eq!(many.timeouts(500), [5800, 800 * 320 / 24]);
    }
}
