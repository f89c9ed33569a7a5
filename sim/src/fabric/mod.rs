//! A lossy multipath fabric between NICs.
//!
//! ```text
//!  port a ──frame──> path = hash(addresses, UDP source port) mod paths
//!                      │ fault? (loss, corruption, duplication, dead path)
//!                      v
//!            path link (rate, delay) ──> queue of port b (rate, limit, CE mark) ──> port b
//! ```
//!
//! Contract: a frame handed in when its last beat left, at clock `t`, reaches
//! the far port at `t + delay of its path` at the earliest, later by what it
//! waits for the path's and the port's link. Frames of one path keep their
//! order; frames of different paths do not. Everything random comes from one
//! seeded generator, so the same calls give the same run.
//!
//! Time is in clocks of the NICs (4 ns), sizes in bytes.

mod capture;
mod faults;
mod tracker;

pub use capture::{Capture, CaptureError};
pub use faults::{DeadPath, Faults, Loss, PacketClass, Script, Verdict};
pub use tracker::{Arrival, Fresh, Tracker, BIN_CLOCKS};

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use tessera_abi::wire::{self, Form};

use faults::{Fate, FaultState};

/// How the fabric is built.
#[derive(Clone, Debug)]
pub struct FabricOptions {
    /// Delay of each path, clocks. One entry per path; at least one, each at
    /// least 1.
    pub path_delays: Vec<u64>,
    /// Bytes per clock of each path's link; `None` = no limit.
    pub path_rate: Option<f64>,
    /// Bytes per clock of each port's link towards its NIC.
    pub port_rate: f64,
    /// Bytes that a frame on that link is rounded up to: its beats.
    pub port_beat: usize,
    /// Most bytes waiting for a port's link; beyond that frames are dropped.
    pub queue_limit: usize,
    /// Bytes waiting from which frames are marked congestion-experienced;
    /// `None` = never.
    pub mark_above: Option<usize>,
    /// What goes wrong.
    pub faults: Faults,
    /// Seed of everything random.
    pub seed: u64,
}

impl FabricOptions {
    /// `paths` paths whose delays go evenly from `base` to `base + skew`
    /// clocks; no limits but the ports' 64 bytes per clock; no faults.
    ///
    /// # Panics
    /// If `paths` or `base` is 0.
    pub fn new(paths: usize, base: u64, skew: u64, seed: u64) -> Self {
        assert!(paths > 0 && base > 0, "a fabric needs a path, and a path a delay");
        let delay = |path: usize| match paths {
            1 => base,
            _ => base + skew * path as u64 / (paths as u64 - 1),
        };
        Self {
            path_delays: (0..paths).map(delay).collect(),
            path_rate: None,
            port_rate: 64.0,
            port_beat: 64,
            queue_limit: 4 << 20,
            mark_above: None,
            faults: Faults::default(),
            seed,
        }
    }
}

/// What the fabric did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FabricStats {
    /// Frames handed in.
    pub frames: u64,
    /// Bytes handed in.
    pub bytes: u64,
    /// Frames lost by the loss model.
    pub lost: u64,
    /// Frames lost on a dead path.
    pub dead_path: u64,
    /// Frames dropped by a full queue.
    pub queue_drops: u64,
    /// Frames for an address that no port has.
    pub unroutable: u64,
    /// Frames with a flipped bit.
    pub corrupted: u64,
    /// Extra copies made.
    pub duplicated: u64,
    /// Frames marked congestion-experienced.
    pub marked: u64,
}

impl FabricStats {
    /// Frames that did not arrive whole: lost, dropped or corrupted.
    pub fn dropped(&self) -> u64 {
        self.lost + self.dead_path + self.queue_drops + self.corrupted
    }
}

/// A frame on its way to a port.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Flight {
    at: u64,
    sequence: u64,
    port: usize,
    path: usize,
    /// Not damaged on the way.
    whole: bool,
    frame: Vec<u8>,
}

impl Ord for Flight {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.sequence).cmp(&(other.at, other.sequence))
    }
}
impl PartialOrd for Flight {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// A frame that reaches its port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Clock at which its first beat may enter the NIC.
    pub at: u64,
    /// Which NIC.
    pub port: usize,
    /// From the Ethernet header to the ICRC.
    pub frame: Vec<u8>,
}

/// The fabric. See the module's page.
pub struct Fabric {
    options: FabricOptions,
    faults: FaultState,
    ports: HashMap<[u8; 6], usize>,
    /// The port where all addresses are that no other has.
    outside: Option<usize>,
    flights: BinaryHeap<Reverse<Flight>>,
    sequence: u64,
    /// When each path's link is free again, clocks.
    path_free: Vec<f64>,
    /// When each port's link is free again, clocks.
    port_free: Vec<f64>,
    stats: FabricStats,
    tracker: Tracker,
    capture: Option<Capture>,
    script: Option<Script>,
}

impl std::fmt::Debug for Fabric {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { options, stats, .. } = self;
        f.debug_struct("Fabric").field("options", options).field("stats", stats).finish_non_exhaustive()
    }
}

impl Fabric {
    /// A fabric between NICs of these MAC addresses; a NIC's place in the list
    /// is its port number.
    pub fn new(macs: &[[u8; 6]], options: FabricOptions) -> Self {
        Self {
            faults: FaultState::new(&options.faults, options.seed, options.path_delays.len()),
            ports: macs.iter().enumerate().map(|(port, mac)| (*mac, port)).collect(),
            outside: None,
            flights: BinaryHeap::new(),
            sequence: 0,
            path_free: vec![0.0; options.path_delays.len()],
            port_free: vec![0.0; macs.len()],
            stats: FabricStats::default(),
            tracker: Tracker::default(),
            capture: None,
            script: None,
            options,
        }
    }

    /// Adds a port, behind all others, to which frames go whose address no other has; its
    /// number.
    pub fn open_outside(&mut self) -> usize {
        *self.outside.get_or_insert_with(|| {
            self.port_free.push(0.0);
            self.port_free.len() - 1
        })
    }

    /// The shortest path's delay, clocks: a frame handed in at `t` cannot
    /// arrive before `t` plus this.
    pub fn min_delay(&self) -> u64 {
        self.options.path_delays.iter().copied().min().unwrap_or(1)
    }

    /// Paths.
    pub fn paths(&self) -> usize {
        self.options.path_delays.len()
    }

    /// What happened so far.
    pub fn stats(&self) -> &FabricStats {
        &self.stats
    }

    /// Which retransmissions were needed, and how one message arrived.
    pub fn tracker(&self) -> &Tracker {
        &self.tracker
    }

    /// The same, to ask it to watch a message.
    pub fn tracker_mut(&mut self) -> &mut Tracker {
        &mut self.tracker
    }

    /// Writes every frame that leaves a NIC, and every one that reaches one,
    /// to a capture file.
    pub fn start_capture(&mut self, capture: Capture) {
        self.capture = Some(capture);
    }

    /// Ends the capture file.
    ///
    /// # Errors
    /// If the last bytes cannot be written.
    pub fn finish_capture(&mut self) -> Result<(), CaptureError> {
        self.capture.take().map_or(Ok(()), Capture::finish)
    }

    /// Lets `script` decide on every frame from here on, or no longer.
    pub fn set_script(&mut self, script: Option<Script>) {
        self.script = script;
    }

    /// Whether nothing is on its way.
    pub fn is_idle(&self) -> bool {
        self.flights.is_empty()
    }

    /// The path that a frame takes: a hash of its addresses and source port.
    pub fn path_of(&self, frame: &[u8]) -> usize {
        let paths = self.options.path_delays.len();
        let Some(form) = Form::of(frame) else { return 0 };
        let (ip, udp) = (form.ip_at(), form.udp_at());
        let sport = frame.get(udp..udp + 2).map_or(0, |b| u16::from_be_bytes([b[0], b[1]]));
        let addresses = frame.get(ip + if form.v6 { 8 } else { 12 }..udp).unwrap_or(&[]);
        // Consecutive entropy values take consecutive paths, from an offset
        // that differs between pairs of hosts, as with a linear switch hash.
        let pair =
            addresses.iter().fold(0u64, |hash, &byte| hash.wrapping_mul(131).wrapping_add(byte.into()));
        ((pair.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 48) as usize + usize::from(sport)) % paths
    }

    /// Takes a frame whose last beat left port `from` at clock `now`. Calls
    /// must come in order of `now`.
    ///
    /// # Errors
    /// If the capture file cannot be written.
    pub fn send(&mut self, now: u64, from: usize, frame: Vec<u8>) -> Result<(), CaptureError> {
        self.stats.frames += 1;
        self.stats.bytes += frame.len() as u64;
        if let Some(capture) = &mut self.capture {
            capture.write(now, from, &frame, true)?;
        }
        let class = PacketClass::of(&frame);
        self.tracker.sent(&frame, class);
        let port = frame.first_chunk::<6>().and_then(|mac| self.ports.get(mac)).copied();
        let port = port.or(self.outside).filter(|&port| Some(port) != self.outside || port != from);
        let Some(port) = port else {
            self.stats.unroutable += 1;
            return Ok(());
        };
        let path = self.path_of(&frame);
        let verdict = self.script.as_mut().map_or(Verdict::Pass, |script| script(now, from, &frame));
        let fate = match verdict {
            Verdict::Lose => Fate::Lost,
            _ => self.faults.judge(class, path, now),
        };
        match fate {
            Fate::Deliver => {}
            Fate::Lost => self.stats.lost += 1,
            Fate::DeadPath => self.stats.dead_path += 1,
        }
        if fate != Fate::Deliver {
            self.tracker.dropped(&frame, class);
            return Ok(());
        }
        let (late, ordered, echo) = match verdict {
            Verdict::Delay(clocks) => (clocks, 0, None),
            Verdict::Copy(copies) => (0, copies, None),
            Verdict::Echo(clocks) => (0, 0, Some(clocks)),
            Verdict::Pass | Verdict::Lose => (0, 0, None),
        };
        for _ in 0..ordered + self.faults.copies() {
            self.stats.duplicated += 1;
            self.launch(now, 0, port, path, true, frame.clone());
        }
        if let Some(clocks) = echo {
            self.stats.duplicated += 1;
            self.launch(now, clocks, port, path, true, frame.clone());
        }
        let mut frame = frame;
        let whole = !self.faults.corrupts();
        if !whole {
            self.stats.corrupted += 1;
            self.tracker.dropped(&frame, class);
            self.faults.flip_a_bit(&mut frame);
        }
        self.launch(now, late, port, path, whole, frame);
        Ok(())
    }

    /// Puts a frame of nobody's on the way to a port over the first path, free from faults
    /// but for marks. `verified`: its receiver takes it for one of a NIC's.
    pub fn stray(&mut self, now: u64, port: usize, frame: Vec<u8>, verified: bool) {
        self.launch(now, 0, port, 0, verified, frame);
    }

    /// Puts a frame on its path; it arrives `extra` clocks later than it would.
    fn launch(&mut self, now: u64, extra: u64, port: usize, path: usize, whole: bool, frame: Vec<u8>) {
        let start = match self.options.path_rate {
            Some(rate) => {
                let start = self.path_free[path].max(now as f64);
                self.path_free[path] = start + frame.len() as f64 / rate;
                start.ceil() as u64
            }
            None => now,
        };
        self.sequence += 1;
        let at = start + self.options.path_delays[path] + extra;
        self.flights.push(Reverse(Flight { at, sequence: self.sequence, port, path, whole, frame }));
    }

    /// Frames that reach the ports' queues before clock `until`, with the clock
    /// at which each may enter its NIC, in that order per port.
    ///
    /// # Errors
    /// If the capture file cannot be written.
    pub fn deliver(&mut self, until: u64) -> Result<Vec<Delivery>, CaptureError> {
        let mut deliveries = Vec::new();
        while self.flights.peek().is_some_and(|Reverse(flight)| flight.at < until) {
            let Some(Reverse(Flight { at, port, path, whole, mut frame, .. })) = self.flights.pop() else {
                break;
            };
            let start = self.port_free[port].max(at as f64);
            let waiting = (start - at as f64) * self.options.port_rate;
            if waiting > self.options.queue_limit as f64 {
                self.stats.queue_drops += 1;
                self.tracker.dropped(&frame, PacketClass::of(&frame));
                continue;
            }
            let marked = self.faults.marks();
            if marked || self.options.mark_above.is_some_and(|limit| waiting > limit as f64) {
                self.stats.marked += 1;
                mark_congestion(&mut frame);
            }
            let bytes = frame.len().next_multiple_of(self.options.port_beat);
            self.port_free[port] = start + bytes as f64 / self.options.port_rate;
            let at = start.ceil() as u64;
            if let Some(capture) = &mut self.capture {
                capture.write(at, port, &frame, false)?;
            }
            self.tracker.arrived(&frame, port, path, at, whole);
            deliveries.push(Delivery { at, port, frame });
        }
        Ok(deliveries)
    }
}

/// Sets the ECN field to "congestion experienced" and mends the IPv4 checksum.
fn mark_congestion(frame: &mut [u8]) {
    let Some(form) = Form::of(frame).filter(|form| frame.len() >= form.udp_at()) else { return };
    let (ip, udp) = (form.ip_at(), form.udp_at());
    if form.v6 {
        frame[ip + 1] |= wire::ECN_CE << 4;
        return;
    }
    frame[ip + 1] |= wire::ECN_CE;
    frame[ip + 10..ip + 12].fill(0);
    let checksum = wire::ipv4_checksum(&frame[ip..udp]);
    frame[ip + 10..ip + 12].copy_from_slice(&checksum.to_be_bytes());
}
