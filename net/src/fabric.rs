//! What a network's links and switches are: rates, delays, buffers, loss, failures.

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};

use crate::network::MakeError;
use crate::topology::Topology;
use crate::Ps;

/// Bytes of the largest packet of any protocol here, with framing.
pub const LARGEST: u32 = 4096 + 160;

/// How fast a link is: picoseconds of 64 bytes, so that 128 Gb/s, a beat of 64 bytes in a
/// clock of 4 ns, is a whole number too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate(u32);

impl Rate {
    /// So many Gb/s, if they divide 512,000 as all usual rates do.
    pub fn of_gbps(gbps: u32) -> Option<Self> {
        (gbps > 0 && 512_000 % gbps == 0).then(|| Self(512_000 / gbps))
    }

    /// How long so many bytes take.
    #[inline]
    pub fn time_of(self, bytes: u64) -> Ps {
        (bytes * self.0 as u64) >> 6
    }

    /// How many bytes go in a time.
    pub fn bytes_in(self, time: Ps) -> u64 {
        (time << 6) / self.0 as u64
    }
}

/// What a host's bus and software add to every message, whatever the transport.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latency {
    /// From a post until the NIC has the request.
    pub post: Ps,
    /// From a NIC's choice of a packet with payload until it has read that. Reads of many packets
    /// are under way at once, so that it is late and not slow.
    pub read: Ps,
    /// From the last packet's arrival until the host knows.
    pub tell: Ps,
}

/// Links.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Links {
    /// Rate of hosts' links, Gb/s.
    pub host_gbps: u32,
    /// Rate between switches, Gb/s.
    pub fabric_gbps: u32,
    /// Delay of a host's link, with what its NIC and its end of the switch add.
    pub host_delay: Ps,
    /// Delay of a link between switches, with a switch's own.
    pub fabric_delay: Ps,
    /// The ways up of a switch differ by up to so much: the first has none more, the last all.
    pub skew: Ps,
}

impl Default for Links {
    /// 400 Gb/s everywhere, 500 ns a link.
    fn default() -> Self {
        Self { host_gbps: 400, fabric_gbps: 400, host_delay: 500_000, fabric_delay: 500_000, skew: 0 }
    }
}

impl Links {
    pub(crate) fn check(&self) -> Result<(), MakeError> {
        self.rates()?;
        if self.host_delay == 0 || self.fabric_delay == 0 {
            return Err(MakeError::Senseless("a link's delay must be above 0"));
        }
        Ok(())
    }

    /// Of hosts' links, and of those between switches.
    pub fn rates(&self) -> Result<(Rate, Rate), MakeError> {
        match (Rate::of_gbps(self.host_gbps), Rate::of_gbps(self.fabric_gbps)) {
            (Some(host), Some(fabric)) => Ok((host, fabric)),
            _ => Err(MakeError::Senseless(
                "a rate must divide 512000 Gb/s, as 25, 40, 100, 128, 200, 400 and 800 do",
            )),
        }
    }

    /// Rate and delay, by port.
    pub(crate) fn of(&self, topology: &Topology) -> Result<Vec<(Rate, Ps)>, MakeError> {
        let (host, fabric) = self.rates()?;
        let mut links = vec![(host, self.host_delay); topology.ports() as usize];
        for switch in 0..topology.switches() {
            let ways = topology.ports_up(switch);
            let count = (ways.end - ways.start) as u64;
            for (number, port) in ways.enumerate() {
                let more = if count > 1 { self.skew * number as u64 / (count - 1) } else { 0 };
                let link = (fabric, self.fabric_delay + more);
                links[port as usize] = link;
                links[topology.peer(port).1 as usize] = link;
            }
        }
        Ok(links)
    }
}

/// When packets are marked, by the bytes that wait in front of them: never below
/// `least`, always above `most`, in between ever more often.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ecn {
    /// Bytes.
    pub least: u64,
    /// Bytes.
    pub most: u64,
}

impl Ecn {
    #[inline]
    pub(crate) fn marks(&self, queued: u64, rng: &mut Pcg64Mcg) -> bool {
        if queued <= self.least {
            return false;
        }
        queued >= self.most || {
            let share = (queued - self.least) << 32;
            (rng.next_u32() as u64) < share / (self.most - self.least)
        }
    }
}

/// Switches.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Switching {
    /// Bytes of buffer that all ports of a switch share.
    pub buffer: u64,
    /// A queue of payload has at most so many times what is free of the buffer.
    pub alpha: f64,
    /// Marks.
    pub ecn: Option<Ecn>,
    /// Payloads without room are cut off, and the headers go on in front of all else.
    pub trim: bool,
    /// Packets without payload go in front of those with: else all share one queue.
    pub control_first: bool,
    /// Payload is never dropped: a port by which too much has come in pauses the other end.
    pub pfc: bool,
}

impl Default for Switching {
    /// 32 MB, a queue up to as much as is free; marks from 100 to 400 KB.
    fn default() -> Self {
        Self {
            buffer: 32 << 20,
            alpha: 1.0,
            ecn: Some(Ecn { least: 100 << 10, most: 400 << 10 }),
            trim: false,
            control_first: false,
            pfc: false,
        }
    }
}

impl Switching {
    pub(crate) fn check(&self) -> Result<(), MakeError> {
        if self.buffer < 2 * LARGEST as u64 || self.alpha.is_nan() || self.alpha <= 0.0 {
            return Err(MakeError::Senseless("a switch needs a buffer of two packets and an alpha above 0"));
        }
        if self.ecn.is_some_and(|ecn| ecn.most <= ecn.least) {
            return Err(MakeError::Senseless("marks must begin at fewer bytes than they are certain at"));
        }
        Ok(())
    }
}

/// Loss on purpose, drawn once per packet as it leaves its host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Losses {
    /// Chance of a packet.
    pub uniform: f64,
    /// Chance that a burst begins at a packet of a host; all of it is lost.
    pub bursts: f64,
    /// Packets of a burst, in the mean.
    pub burst_len: f64,
}

impl Losses {
    pub(crate) fn check(&self) -> Result<(), MakeError> {
        let chances = [self.uniform, self.bursts];
        if chances.iter().any(|chance| !(0.0..1.0).contains(chance)) {
            return Err(MakeError::Senseless("a chance of loss must be at least 0 and below 1"));
        }
        if self.bursts > 0.0 && (self.burst_len.is_nan() || self.burst_len < 1.0) {
            return Err(MakeError::Senseless("a burst has at least one packet"));
        }
        Ok(())
    }
}

/// Draws losses: instead of one number per packet one per loss.
#[derive(Clone, Debug)]
pub(crate) struct Lottery {
    losses: Losses,
    rng: Pcg64Mcg,
    /// Packets until the next one.
    next: u64,
    next_burst: u64,
    /// Packets of each host's burst that are still to come.
    bursts: Vec<u32>,
}

impl Lottery {
    pub(crate) fn new(losses: Losses, seed: u64, hosts: u32) -> Self {
        let rng = Pcg64Mcg::seed_from_u64(seed ^ 0x0010_55E5);
        let mut lottery = Self { losses, rng, next: 0, next_burst: 0, bursts: vec![0; hosts as usize] };
        lottery.next = lottery.gap(losses.uniform);
        lottery.next_burst = lottery.gap(losses.bursts);
        lottery
    }

    /// Packets before the next one that has a chance.
    fn gap(&mut self, chance: f64) -> u64 {
        if chance <= 0.0 {
            return u64::MAX;
        }
        // Above 0, so that its logarithm is finite.
        let drawn = (self.rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        ((1.0 - drawn).ln() / (1.0 - chance).ln()) as u64
    }

    #[inline]
    pub(crate) fn loses(&mut self, host: u32) -> bool {
        let mut lost = false;
        if self.losses.bursts > 0.0 {
            if self.next_burst == 0 {
                self.next_burst = self.gap(self.losses.bursts);
                let more = self.gap(1.0 / self.losses.burst_len.max(1.0 + f64::EPSILON)) as u32;
                self.bursts[host as usize] = more.saturating_add(1);
            } else {
                self.next_burst -= 1;
            }
            let left = &mut self.bursts[host as usize];
            lost = *left > 0;
            *left = left.saturating_sub(1);
        }
        if self.next == 0 {
            self.next = self.gap(self.losses.uniform);
            return true;
        }
        self.next -= 1;
        lost
    }
}

/// A link goes down, or comes up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// When.
    pub at: Ps,
    /// A port of the link.
    pub port: u32,
    /// It works from then on.
    pub up: bool,
}

/// Failures.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Faults {
    /// In any order.
    pub list: Vec<Fault>,
    /// How long it takes until switches choose other ways.
    pub known_after: Ps,
}

impl Faults {
    /// A link that is down for `down` of every `period`, from `from` until `until`.
    pub fn flapping(port: u32, from: Ps, until: Ps, period: Ps, down: Ps, known_after: Ps) -> Self {
        let mut list = Vec::new();
        let mut at = from;
        while at < until && period > 0 {
            list.push(Fault { at, port, up: false });
            list.push(Fault { at: at + down.min(period - 1), port, up: true });
            at += period;
        }
        Self { list, known_after }
    }
}
