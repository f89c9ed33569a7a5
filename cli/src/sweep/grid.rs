//! The points of a sweep: service x size x reordering x loss.

use std::fmt;

use serde::{Deserialize, Serialize};
use tessera_sim::fabric::{FabricOptions, Faults, Loss};

/// Shortest path's delay, clocks: 1 us.
const BASE_DELAY: u64 = 250;
/// Most bytes of a datagram.
pub const MOST_PATH_MTU: usize = 4096;
/// How much longer a point takes when the counterparts are measured too: of a
/// full run of sends they had 29 minutes of 47.
const WITH_COUNTERPARTS: f64 = 2.6;
/// Mean frames per burst of bursty loss.
const BURST: f64 = 4.0;

/// What is asked of the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Service {
    /// Tagged sends into posted receives.
    Send,
    /// RDMA writes with immediate, each to a place of its own; the immediate's
    /// completion tells the receiver.
    Write,
    /// Datagrams of plain UD endpoints, which nobody recovers.
    Datagram,
}

impl Service {
    /// Every service that the block has.
    pub const ALL: [Self; 3] = [Self::Send, Self::Write, Self::Datagram];

    /// Most bytes of a message.
    const fn most(self) -> usize {
        match self {
            Self::Send | Self::Write => usize::MAX,
            Self::Datagram => MOST_PATH_MTU,
        }
    }
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Send => "send",
            Self::Write => "write",
            Self::Datagram => "datagram",
        })
    }
}

/// How frames are lost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LossRate {
    /// Fraction of frames.
    pub rate: f64,
    /// In bursts.
    pub bursty: bool,
}

impl LossRate {
    /// No loss.
    pub const NONE: Self = Self { rate: 0.0, bursty: false };

    const fn uniform(rate: f64) -> Self {
        Self { rate, bursty: false }
    }

    const fn bursty(rate: f64) -> Self {
        Self { rate, bursty: true }
    }

    fn loss(self) -> Loss {
        match self {
            Self { rate: 0.0, .. } => Loss::None,
            Self { rate, bursty: false } => Loss::Uniform(rate),
            Self { rate, bursty: true } => Loss::Bursty { mean: rate, burst: BURST },
        }
    }
}

impl fmt::Display for LossRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rate {
            0.0 => f.write_str("0"),
            rate => write!(f, "{rate:e}{}", if self.bursty { " bursty" } else { "" }),
        }
    }
}

/// How the paths differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Reordering {
    /// Paths.
    pub paths: usize,
    /// Delay of the slowest beyond the fastest, in delays of the fastest.
    pub skew: u64,
}

impl fmt::Display for Reordering {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.paths {
            1 => f.write_str("one path"),
            paths => write!(f, "{paths} paths skew {}x", self.skew),
        }
    }
}

const ONE_PATH: Reordering = Reordering { paths: 1, skew: 0 };
const fn paths(paths: usize, skew: u64) -> Reordering {
    Reordering { paths, skew }
}

/// One cell of the matrix, and how much is sent to measure it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    pub service: Service,
    /// Bytes per message.
    pub size: usize,
    pub reordering: Reordering,
    pub loss: LossRate,
    /// Messages that each NIC sends.
    pub messages: usize,
    /// Of these, at most so many at a time.
    pub open: usize,
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} B, {}, loss {}", self.service, self.size, self.reordering, self.loss)
    }
}

impl Point {
    fn new(
        service: Service,
        size: usize,
        reordering: Reordering,
        loss: LossRate,
        bytes: usize,
        most: usize,
    ) -> Self {
        // Enough open to keep the link busy and to have company, few enough for
        // the time of a message to say something about that message.
        let open = ((2 << 20) / size.max(1)).clamp(1, 256);
        let messages = (bytes / size.max(1)).clamp(2, most);
        Self { service, size, reordering, loss, messages, open }
    }

    /// The fabric of this point.
    pub fn fabric(&self, seed: u64) -> FabricOptions {
        let Reordering { paths, skew } = self.reordering;
        let faults = Faults { loss: self.loss.loss(), ..Faults::default() };
        FabricOptions { faults, ..FabricOptions::new(paths, BASE_DELAY, skew * BASE_DELAY, seed) }
    }

    /// Packets per message.
    pub fn packets(&self, payload: usize) -> usize {
        match self.service {
            Service::Send | Service::Write => self.size.div_ceil(payload).max(1),
            Service::Datagram => 1,
        }
    }

    /// Whether so much is sent that figures of goodput and retransmissions are
    /// judged; else, and of datagrams, only delivery is.
    pub fn is_telling(&self, payload: usize) -> bool {
        self.service != Service::Datagram
            && self.messages >= 2 * self.open
            && self.messages * self.packets(payload) >= 4000
    }

    /// Whether `other` differs in loss only.
    pub fn same_but_loss(&self, other: &Self) -> bool {
        (self.service, self.size, self.reordering) == (other.service, other.size, other.reordering)
    }

    /// What the point takes, in beats that NICs send, to estimate what is left.
    pub fn cost(&self, nics: usize, payload: usize) -> f64 {
        let full = (payload + 110).div_ceil(64);
        let beats = (self.size / payload * full).max(8) + 8;
        let block = (nics * self.messages * beats) as f64 * (1.0 + 4.0 * self.loss.rate) + 40_000.0;
        match self.service {
            Service::Send => block * WITH_COUNTERPARTS,
            Service::Write | Service::Datagram => block,
        }
    }
}

/// How much of the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Extent {
    /// Every kind of fault and size, and the points of the targets.
    Quick,
    /// A small copy of the full matrix.
    Normal,
    /// docs/verification.md's matrix, which also says how long each takes.
    Full,
}

/// The sizes that every kind of loss and reordering meets.
fn sizes(payload: usize) -> Vec<usize> {
    let mut sizes = vec![0, 1, 16 << 20, 1 << 20];
    for around in [payload, 4096, 65_536] {
        sizes.extend([around - 1, around, around + 1]);
    }
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// The points, cheap and telling ones first.
pub fn points(extent: Extent, payload: usize) -> Vec<Point> {
    use Service::{Datagram, Send, Write};
    let mut points = Vec::new();
    let mut add = |service: Service,
                   sizes: &[usize],
                   reorderings: &[Reordering],
                   losses: &[LossRate],
                   bytes: usize,
                   most: usize| {
        for &size in sizes.iter().filter(|&&size| size <= service.most()) {
            for &reordering in reorderings {
                for &loss in losses {
                    points.push(Point::new(service, size, reordering, loss, bytes, most));
                }
            }
        }
    };
    match extent {
        Extent::Quick => {
            let losses = [LossRate::NONE, LossRate::uniform(1e-3), LossRate::uniform(1e-2)];
            add(Send, &[65_536], &[paths(4, 2)], &losses, 4 << 20, 64);
            let losses = [LossRate::NONE, LossRate::uniform(0.05), LossRate::bursty(0.1)];
            let small = [0, 1, payload - 1, payload + 1, 4097];
            add(Send, &small, &[ONE_PATH, paths(8, 10)], &losses, 256 << 10, 256);
            add(Send, &[65_537], &[ONE_PATH, paths(8, 10)], &losses, 512 << 10, 8);
            add(Send, &[1 << 20], &[paths(4, 10)], &[LossRate::uniform(1e-2)], 2 << 20, 2);
            let losses = [LossRate::NONE, LossRate::bursty(0.1)];
            add(Write, &[0, 4097], &[paths(8, 10)], &losses, 256 << 10, 256);
            add(Write, &[65_537], &[paths(4, 2)], &[LossRate::uniform(0.05)], 512 << 10, 8);
            add(Datagram, &[1, 4096], &[paths(8, 10)], &losses, 256 << 10, 256);
        }
        Extent::Normal => {
            let losses = [0.0, 1e-3, 1e-2, 0.05].map(LossRate::uniform);
            let reorderings = [ONE_PATH, paths(4, 1), paths(4, 10)];
            for service in [Send, Write] {
                add(service, &[1, 4097, 65_536, 1 << 20], &reorderings, &losses, 4 << 20, 2_000);
            }
            add(Datagram, &[1, payload, 4096], &reorderings, &losses, 4 << 20, 2_000);
        }
        Extent::Full => {
            let rates = [1e-4, 1e-3, 1e-2, 0.05, 0.1];
            let mut losses = vec![LossRate::NONE];
            losses.extend(rates.map(LossRate::uniform));
            losses.extend(rates.map(LossRate::bursty));
            let reorderings = [ONE_PATH, paths(4, 1), paths(4, 10), paths(8, 1), paths(8, 10)];
            for service in [Send, Write] {
                add(service, &sizes(payload), &reorderings, &losses, 8 << 20, 10_000);
            }
            add(Datagram, &sizes(payload), &reorderings, &losses, 4 << 20, 5_000);
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_full_matrix_is_the_documented_one() {
        let points = points(Extent::Full, 1024);
        for (service, sizes) in [(Service::Send, 13), (Service::Write, 13), (Service::Datagram, 7)] {
            let of = points.iter().filter(|point| point.service == service);
            assert_eq!(of.count(), sizes * 5 * 11, "{service}");
        }
        for size in [0, 1, 1023, 1025, 4095, 4097, 65_535, 65_537, 1 << 20, 16 << 20] {
            for rate in [0.0, 1e-4, 1e-3, 1e-2, 5e-2, 1e-1] {
                for bursty in [false, true] {
                    let of = |point: &&Point| {
                        point.size == size
                            && point.loss.rate == rate
                            && (rate == 0.0 || point.loss.bursty == bursty)
                    };
                    let services = if size <= 4096 { 3 } else { 2 };
                    assert_eq!(points.iter().filter(of).count(), services * 5, "{size} {rate} {bursty}");
                }
            }
        }
        assert!(points.iter().any(|point| point.reordering == paths(8, 10)));
    }

    #[test]
    fn labels_tell_points_apart() {
        for extent in [Extent::Quick, Extent::Normal, Extent::Full] {
            let mut labels: Vec<String> = points(extent, 1024).iter().map(Point::to_string).collect();
            let count = labels.len();
            labels.sort();
            labels.dedup();
            assert_eq!(labels.len(), count);
        }
        let point = &points(Extent::Quick, 1024)[2];
        assert_eq!(point.to_string(), "send 65536 B, 4 paths skew 2x, loss 1e-2");
    }
}
