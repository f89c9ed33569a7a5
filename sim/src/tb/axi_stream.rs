//! AXI4-Stream in frames of bytes, at any bus width.
//!
//! Byte 0 of a frame is the lowest byte of its first beat. `tkeep` marks the
//! bytes of the last beat from the bottom; every other beat is full.

use super::{Agent, Gate, Pattern, Rng};
use crate::verilator::{Dut, ModelError, PortId};
use std::collections::VecDeque;

struct Ports {
    data: PortId,
    /// `tdata` in pieces of 64 bits.
    lanes: Vec<PortId>,
    keep: Option<PortId>,
    valid: PortId,
    ready: Option<PortId>,
    last: PortId,
    user: Option<PortId>,
}

impl Ports {
    fn new(dut: &Dut, prefix: &str) -> Result<Self, ModelError> {
        let port = |name: &str| dut.port(&format!("{prefix}_{name}"));
        let data = port("tdata")?;
        let lanes = (0..data.width()).step_by(64).map(|lsb| data.bits(lsb, (data.width() - lsb).min(64)));
        Ok(Ports {
            lanes: lanes.collect(),
            data,
            keep: port("tkeep").ok(),
            valid: port("tvalid")?,
            ready: port("tready").ok(),
            last: port("tlast")?,
            user: port("tuser").ok(),
        })
    }

    /// Bytes of one beat.
    fn bytes(&self) -> usize {
        self.data.width() / 8
    }

    fn moved(&self, dut: &Dut) -> bool {
        dut.sampled(self.valid) != 0 && self.ready.is_none_or(|ready| dut.sampled(ready) != 0)
    }
}

/// A frame as it went over the bus.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// `tuser` of its last beat, 0 where there is none.
    pub user: u128,
    /// The clock ([`Dut::cycles`] after it) of its first beat; 0 in a frame to
    /// send.
    pub first: u64,
    /// The same of its last beat.
    pub last: u64,
}

/// Feeds frames to an AXI-Stream input of the design.
pub struct AxisDriver {
    ports: Ports,
    gate: Gate,
    /// Frames to send; the front one from `offset` on.
    queue: VecDeque<Frame>,
    offset: usize,
    offering: bool,
    beats: u64,
}

impl AxisDriver {
    /// Drives `<prefix>_tdata`, `_tvalid`, `_tlast` and, where they exist,
    /// `_tkeep` and `_tuser`.
    ///
    /// # Errors
    /// [`ModelError::NoSuchPort`].
    pub fn new(dut: &Dut, prefix: &str, idle: Pattern, rng: &mut Rng) -> Result<Self, ModelError> {
        let (ports, gate) = (Ports::new(dut, prefix)?, idle.gate(rng.fork()));
        Ok(AxisDriver { ports, gate, queue: VecDeque::new(), offset: 0, offering: false, beats: 0 })
    }

    /// Queues a frame.
    ///
    /// # Panics
    /// If it is empty: AXI-Stream cannot carry that.
    pub fn send(&mut self, bytes: impl Into<Vec<u8>>) {
        self.send_with_user(bytes, 0u128);
    }

    /// Queues a frame whose beats all carry `user`.
    ///
    /// # Panics
    /// As [`AxisDriver::send`].
    pub fn send_with_user(&mut self, bytes: impl Into<Vec<u8>>, user: impl Into<u128>) {
        let bytes = bytes.into();
        assert!(!bytes.is_empty(), "a frame has at least one byte");
        let whole = self.ports.keep.is_some() || bytes.len() % self.ports.bytes() == 0;
        assert!(whole, "a bus without tkeep carries whole beats of {} bytes only", self.ports.bytes());
        self.queue.push_back(Frame { bytes, user: user.into(), ..Frame::default() });
    }

    /// Frames not yet completely taken.
    pub fn pending(&self) -> usize {
        self.queue.len()
    }

    /// Beats taken so far.
    pub fn beats(&self) -> u64 {
        self.beats
    }
}

impl Agent for AxisDriver {
    fn drive(&mut self, dut: &mut Dut) {
        let open = self.gate.is_open();
        self.offering = !self.queue.is_empty() && (self.offering || open);
        dut.set(self.ports.valid, self.offering);
        let Some(frame) = self.queue.front().filter(|_| self.offering) else { return };
        let rest = &frame.bytes[self.offset..];
        let beat = &rest[..rest.len().min(self.ports.bytes())];
        for (i, lane) in self.ports.lanes.iter().enumerate() {
            let mut eight = [0; 8];
            let here = beat.get(8 * i..).unwrap_or_default();
            let count = here.len().min(8);
            eight[..count].copy_from_slice(&here[..count]);
            dut.set(*lane, u64::from_le_bytes(eight));
        }
        if let Some(keep) = self.ports.keep {
            for lsb in (0..keep.width()).step_by(64) {
                let width = (keep.width() - lsb).min(64);
                let ones = beat.len().saturating_sub(lsb).min(width);
                dut.set(keep.bits(lsb, width), if ones == 0 { 0 } else { u64::MAX >> (64 - ones) });
            }
        }
        dut.set(self.ports.last, beat.len() == rest.len());
        if let Some(user) = self.ports.user {
            let words = [frame.user as u64, (frame.user >> 64) as u64];
            dut.set_wide(user, &words[..user.width().div_ceil(64)]);
        }
    }

    fn sample(&mut self, dut: &Dut) {
        if !self.ports.moved(dut) {
            return;
        }
        self.beats += 1;
        self.offering = false;
        self.offset += self.ports.bytes();
        if self.queue.front().is_some_and(|frame| self.offset >= frame.bytes.len()) {
            self.queue.pop_front();
            self.offset = 0;
        }
    }
}

/// Takes frames from an AXI-Stream output of the design and checks the
/// protocol: what is offered is held, `tkeep` has no holes, only the last beat
/// is partial.
pub struct AxisMonitor {
    ports: Ports,
    name: String,
    gate: Gate,
    frames: VecDeque<Frame>,
    building: Option<Frame>,
    /// Offered at the last edge and not taken: data, keep, last.
    waiting: Option<(Vec<u8>, bool)>,
    beats: u64,
}

impl AxisMonitor {
    /// Watches `<prefix>_t*` and drives `<prefix>_tready`.
    ///
    /// # Errors
    /// [`ModelError::NoSuchPort`].
    pub fn new(dut: &Dut, prefix: &str, stall: Pattern, rng: &mut Rng) -> Result<Self, ModelError> {
        Ok(AxisMonitor {
            ports: Ports::new(dut, prefix)?,
            name: prefix.to_string(),
            gate: stall.gate(rng.fork()),
            frames: VecDeque::new(),
            building: None,
            waiting: None,
            beats: 0,
        })
    }

    /// The oldest frame not yet taken from here.
    pub fn take(&mut self) -> Option<Frame> {
        self.frames.pop_front()
    }

    /// Frames received and not taken from here.
    pub fn available(&self) -> usize {
        self.frames.len()
    }

    /// Whether a frame has begun and not ended.
    pub fn inside_frame(&self) -> bool {
        self.building.is_some()
    }

    /// Beats received so far.
    pub fn beats(&self) -> u64 {
        self.beats
    }

    /// The bytes on the bus at the last edge, and whether they end a frame.
    fn beat(&self, dut: &Dut) -> (Vec<u8>, bool) {
        let mut bytes: Vec<u8> =
            self.ports.lanes.iter().flat_map(|lane| dut.sampled(*lane).to_le_bytes()).collect();
        bytes.truncate(self.ports.bytes());
        let last = dut.sampled(self.ports.last) != 0;
        if let Some(keep) = self.ports.keep {
            let mut kept = 0;
            let mut ended = false;
            for lsb in (0..keep.width()).step_by(64) {
                let mask = dut.sampled(keep.bits(lsb, (keep.width() - lsb).min(64)));
                let ones = mask.trailing_ones() as usize;
                let contiguous = mask.count_ones() as usize == ones && !(ended && ones > 0);
                assert!(contiguous, "{}: tkeep {mask:#x} has a hole in clock {}", self.name, dut.cycles());
                ended = ones < 64;
                kept += ones;
            }
            let full = kept == self.ports.bytes();
            assert!(full || last, "{}: a partial beat inside a frame in clock {}", self.name, dut.cycles());
            bytes.truncate(kept);
        }
        (bytes, last)
    }
}

impl Agent for AxisMonitor {
    fn drive(&mut self, dut: &mut Dut) {
        if let Some(ready) = self.ports.ready {
            dut.set(ready, self.gate.is_open());
        }
    }

    fn sample(&mut self, dut: &Dut) {
        let offered = (dut.sampled(self.ports.valid) != 0).then(|| self.beat(dut));
        if let Some(before) = self.waiting.take() {
            let kept = offered.as_ref() == Some(&before);
            assert!(
                kept,
                "{}: the beat on offer changed in clock {} before it was taken",
                self.name,
                dut.cycles()
            );
        }
        let Some(beat) = offered else { return };
        if !self.ports.moved(dut) {
            self.waiting = Some(beat);
            return;
        }
        self.beats += 1;
        let (bytes, last) = beat;
        let frame = self.building.get_or_insert_with(|| Frame { first: dut.cycles(), ..Frame::default() });
        frame.bytes.extend(bytes);
        if last {
            frame.last = dut.cycles();
            frame.user = self.ports.user.map_or(0, |user| {
                let mut words = [0; 2];
                let words = &mut words[..user.width().div_ceil(64)];
                dut.sampled_wide(user, words);
                words.iter().rev().fold(0, |all, &word| all << 64 | u128::from(word))
            });
            self.frames.extend(self.building.take());
        }
    }
}
