//! The same load for every transport: each NIC keeps a number of messages open
//! towards its peers in turn until all have arrived, each compared byte for byte.
//!
//! *Goodput* is steady state: the first whole copies of packets that reach a
//! NIC between the first and the last quarter of all of its packets, over the
//! time from one to the other; the mean over NICs. Opening, learning and the
//! wait for the last message are outside; what recovery costs is inside.
//! *Times* are from post to receive completion; those of the messages that
//! everybody starts with at once are left out when there are others.
//! *Retransmissions* count from the first quarter to the end.

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tessera_sim::fabric::{Fabric, Fresh};
use tessera_sim::tb::Rng;

use super::grid::Point;
use crate::output::RunError;

/// Messages start at this many different places of their NIC's bytes; a prime.
const PLACES: usize = 4093;

/// The bytes that messages are made of.
pub struct Bytes {
    size: usize,
    nics: usize,
    of: Vec<Arc<Vec<u8>>>,
}

impl Bytes {
    pub fn new(nics: usize, size: usize, seed: u64) -> Self {
        let mut rng = Rng::new(seed ^ 0x4279_7465);
        let of = (0..nics).map(|_| Arc::new(rng.bytes(size + PLACES))).collect();
        Self { size, nics, of }
    }

    /// All of a NIC's bytes.
    pub fn of(&self, nic: usize) -> &Arc<Vec<u8>> {
        &self.of[nic]
    }

    /// Which of them a message consists of. Neighbours differ.
    pub fn range(&self, to: usize, number: usize) -> Range<usize> {
        let start = (number * self.nics + to) % PLACES;
        start..start + self.size
    }

    pub fn are(&self, from: usize, to: usize, number: usize, bytes: &[u8]) -> bool {
        self.of[from][self.range(to, number)] == *bytes
    }
}

/// A message that arrived, as sent.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    pub from: usize,
    pub to: usize,
    pub number: usize,
    /// Clock of its completion.
    pub at: u64,
}

/// NICs with a transport, ready to carry messages.
pub trait Bed {
    fn clock(&self) -> u64;
    /// Whether one more message may be posted now.
    fn has_room(&self, from: usize, to: usize) -> bool;
    /// Posts message `number` of `from`.
    fn post(&mut self, from: usize, to: usize, number: usize) -> Result<(), RunError>;
    /// Lets a little time pass; what arrived, compared with what was sent.
    fn step(&mut self) -> Result<Vec<Arrival>, RunError>;
    /// Whether senders know of the end of all.
    fn is_quiet(&self) -> bool;
    fn with_fabric<T>(&mut self, look: impl FnOnce(&mut Fabric) -> T) -> T;
}

/// What a transport made of a point.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Outcome {
    /// All arrived within the time given; else figures are of what had.
    pub finished: bool,
    /// Messages delivered, each once and as sent.
    pub messages: u64,
    /// Of datagrams, those that the fabric brought to a NIC.
    #[serde(default)]
    pub carried: u64,
    /// Packets per clock and NIC that arrived for the first time.
    pub packets_per_clock: f64,
    /// The payload bytes of these.
    pub bytes_per_clock: f64,
    /// Messages that the times below are of.
    #[serde(default)]
    pub timed: u64,
    /// Completion times, microseconds.
    pub p50_us: f64,
    pub p99_us: f64,
    pub p999_us: f64,
    /// Packets sent for the first time; retransmissions that made up for a loss
    /// and that did not.
    pub data: u64,
    pub needed: u64,
    pub spurious: u64,
    /// Clocks from the first post to the end.
    pub clocks: u64,
}

impl Outcome {
    /// Spurious retransmissions per first sending.
    pub fn spurious_share(&self) -> f64 {
        self.spurious as f64 / self.data.max(1) as f64
    }

    /// With figures of these times, clocks.
    pub fn with_times(self, mut times: Vec<u64>) -> Self {
        times.sort_unstable();
        let us = |q| crate::demo::us(crate::demo::quantile(&times, q));
        let timed = times.len() as u64;
        Self { timed, p50_us: us(0.5), p99_us: us(0.99), p999_us: us(0.999), ..self }
    }
}

/// Whom message `number` of `from` goes to: its peers in turn.
pub fn receiver(from: usize, number: usize, nics: usize) -> usize {
    (from + 1 + number % (nics - 1)) % nics
}

/// Packets per clock in the middle half of a port's first arrivals.
fn middle(fresh: &[Fresh], port: usize) -> Option<f64> {
    let of: Vec<u64> = fresh.iter().filter(|fresh| fresh.port == port).map(|fresh| fresh.at).collect();
    let (first, last) = (of.len() / 4, of.len() * 3 / 4);
    let (from, to) = (*of.get(first)?, *of.get(last)?);
    (to > from).then(|| (last - first) as f64 / (to - from) as f64)
}

/// The same, the mean over NICs.
pub fn goodput(fresh: &[Fresh], nics: usize) -> f64 {
    (0..nics).filter_map(|port| middle(fresh, port)).sum::<f64>() / nics as f64
}

/// Sends what `point` asks for in packets of `payload` bytes; stops early after
/// `patience` clocks.
pub fn run(
    bed: &mut impl Bed,
    point: &Point,
    nics: usize,
    payload: usize,
    patience: u64,
) -> Result<Outcome, RunError> {
    let begun = bed.clock();
    let count = point.messages;
    let mut sent = vec![0; nics];
    let mut posted = vec![vec![0u64; count]; nics];
    let mut arrived = vec![vec![false; count]; nics];
    let mut open = vec![0; nics];
    let mut times = Vec::new();
    let mut left = nics * count;
    let packets = point.packets(payload);
    let quarter = nics * count * packets / 4;
    let mut mark: Option<[u64; 3]> = None;
    bed.with_fabric(|fabric| fabric.tracker_mut().measure_goodput());
    let counts = |fabric: &mut Fabric| {
        let tracker = fabric.tracker();
        [tracker.data, tracker.needed, tracker.spurious]
    };
    while left > 0 && bed.clock() - begun < patience {
        for from in 0..nics {
            while sent[from] < count && open[from] < point.open {
                let number = sent[from];
                let to = receiver(from, number, nics);
                if !bed.has_room(from, to) {
                    break;
                }
                posted[from][number] = bed.clock();
                bed.post(from, to, number)?;
                sent[from] += 1;
                open[from] += 1;
            }
        }
        for Arrival { from, to, number, at } in bed.step()? {
            if std::mem::replace(&mut arrived[from][number], true) {
                return Err(RunError::Twice { what: format!("message {from}->{to} #{number}") });
            }
            left -= 1;
            open[from] -= 1;
            if number >= point.open || count < 4 * point.open {
                times.push(at.saturating_sub(posted[from][number]));
            }
        }
        if mark.is_none() && bed.with_fabric(|fabric| fabric.tracker().fresh().len()) > quarter {
            mark = Some(bed.with_fabric(counts));
        }
    }
    let finished = left == 0;
    let end = bed.clock();
    for from in 0..nics {
        for number in (0..sent[from]).filter(|&number| !arrived[from][number]) {
            times.push(end - posted[from][number]);
        }
    }
    while finished && !bed.is_quiet() {
        if let Some(Arrival { from, to, number, .. }) = bed.step()?.first() {
            return Err(RunError::Twice { what: format!("message {from}->{to} #{number}") });
        }
    }
    let all = bed.with_fabric(counts);
    let mark = mark.unwrap_or_default();
    let packets_per_clock = bed.with_fabric(|fabric| {
        let fresh = fabric.tracker().fresh();
        if finished {
            goodput(fresh, nics)
        } else {
            // Of what stands still, the middle half would tell the pace before.
            fresh.len() as f64 / (end - begun) as f64 / nics as f64
        }
    });
    let outcome = Outcome {
        finished,
        messages: (nics * count - left) as u64,
        packets_per_clock,
        bytes_per_clock: packets_per_clock * point.size as f64 / packets as f64,
        data: all[0] - mark[0],
        needed: all[1] - mark[1],
        spurious: all[2] - mark[2],
        clocks: end - begun,
        ..Outcome::default()
    };
    Ok(outcome.with_times(times))
}
