//! Drivers and monitors of `valid`/`ready` streams.
//!
//! A stream named `x` is the ports `x_valid`, `x_ready`, optionally `x_last`,
//! and its payload: `x_data` (a number or a record), or ports listed by name.
//! A stream without `x_ready` cannot be held back: each valid clock moves a
//! word.

use super::{Agent, Gate, Pattern, Rng};
use crate::verilator::{Dut, Model, ModelError, PortId};
use std::collections::VecDeque;

/// The payload of one transfer: bits, least significant word first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Word(pub Vec<u64>);

impl From<u64> for Word {
    fn from(value: u64) -> Self {
        Word(vec![value])
    }
}

impl From<Vec<u64>> for Word {
    fn from(words: Vec<u64>) -> Self {
        Word(words)
    }
}

impl Word {
    /// The `width` bits (1 to 64) from bit `lsb` on.
    pub fn bits(&self, lsb: usize, width: usize) -> u64 {
        let at = |i: usize| self.0.get(i).copied().unwrap_or(0);
        let (word, shift) = (lsb / 64, lsb % 64);
        let high = if shift == 0 { 0 } else { at(word + 1) << (64 - shift) };
        (at(word) >> shift | high) & (u64::MAX >> (64 - width))
    }

    /// Replaces the `width` bits (1 to 64) from bit `lsb` on.
    pub fn set_bits(&mut self, lsb: usize, width: usize, value: u64) {
        for i in 0..width {
            let (word, bit) = ((lsb + i) / 64, (lsb + i) % 64);
            if self.0.len() <= word {
                self.0.resize(word + 1, 0);
            }
            self.0[word] = self.0[word] & !(1 << bit) | (value >> i & 1) << bit;
        }
    }
}

/// Which ports make up a payload and what its fields are called.
#[derive(Clone, Debug)]
pub struct Shape {
    /// (port, its lowest bit in the word), in pieces of at most 64 bits.
    pieces: Vec<(PortId, usize)>,
    /// (name, lowest bit in the word, width).
    fields: Vec<(String, usize, usize)>,
    width: usize,
}

impl Shape {
    /// The payload `<prefix>_data` with its fields.
    ///
    /// # Errors
    /// [`ModelError::NoSuchPort`].
    pub fn of_data(model: &Model, prefix: &str) -> Result<Shape, ModelError> {
        let mut shape = Shape::of_ports(model, prefix, &["data"])?;
        shape.fields = model.fields(&format!("{prefix}_data"));
        Ok(shape)
    }

    /// The payload `<prefix>_<name>` for each name, the first lowest; each is
    /// a field of its name.
    ///
    /// # Errors
    /// [`ModelError::NoSuchPort`].
    pub fn of_ports(model: &Model, prefix: &str, names: &[&str]) -> Result<Shape, ModelError> {
        let mut shape = Shape { pieces: Vec::new(), fields: Vec::new(), width: 0 };
        for name in names {
            let port = model.port(&format!("{prefix}_{name}"))?;
            for lsb in (0..port.width()).step_by(64) {
                let piece = port.bits(lsb, (port.width() - lsb).min(64));
                shape.pieces.push((piece, shape.width + lsb));
            }
            shape.fields.push((name.to_string(), shape.width, port.width()));
            shape.width += port.width();
        }
        Ok(shape)
    }

    /// Width of the payload in bits.
    pub fn width(&self) -> usize {
        self.width
    }

    fn field(&self, name: &str) -> (usize, usize) {
        let found = self.fields.iter().find(|(n, ..)| n == name);
        let Some(&(_, lsb, width)) = found else {
            let known: Vec<&str> = self.fields.iter().map(|(n, ..)| n.as_str()).collect();
            panic!("the payload has no field {name}; it has {}", known.join(", "))
        };
        (lsb, width)
    }

    /// A word with these fields, all others zero.
    ///
    /// # Panics
    /// If there is no such field, or it is too narrow for its value.
    pub fn pack(&self, fields: &[(&str, u64)]) -> Word {
        let mut word = Word(vec![0; self.width.div_ceil(64)]);
        for (name, value) in fields {
            let (lsb, width) = self.field(name);
            assert!(width >= 64 || value >> width == 0, "{value:#x} does not fit {name} of {width} bits");
            word.set_bits(lsb, width.min(64), *value);
        }
        word
    }

    /// The value of a field of up to 64 bits.
    ///
    /// # Panics
    /// If there is no such field, or it is wider.
    pub fn get(&self, word: &Word, name: &str) -> u64 {
        let (lsb, width) = self.field(name);
        assert!(width <= 64, "{name} has {width} bits, take it with Word::bits");
        word.bits(lsb, width)
    }

    /// All fields of up to 64 bits by name, for messages and comparisons.
    pub fn unpack(&self, word: &Word) -> Vec<(&str, u64)> {
        let narrow = self.fields.iter().filter(|(_, _, width)| *width <= 64);
        narrow.map(|(name, lsb, width)| (name.as_str(), word.bits(*lsb, *width))).collect()
    }

    fn set(&self, dut: &mut Dut, word: &Word) {
        for (port, lsb) in &self.pieces {
            dut.set(*port, word.bits(*lsb, port.width()));
        }
    }

    fn sampled(&self, dut: &Dut) -> Word {
        let mut word = Word(vec![0; self.width.div_ceil(64)]);
        for (port, lsb) in &self.pieces {
            let value = dut.sampled(*port);
            match lsb % 64 {
                0 => word.0[lsb / 64] |= value,
                _ => word.set_bits(*lsb, port.width(), value),
            }
        }
        word
    }
}

/// One word with its `last` flag.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transfer {
    /// The payload.
    pub word: Word,
    /// `<prefix>_last`, or true in a stream without one.
    pub last: bool,
}

/// The ports of one stream.
struct Ports {
    valid: PortId,
    ready: Option<PortId>,
    last: Option<PortId>,
    shape: Shape,
}

impl Ports {
    fn new(model: &Model, prefix: &str, shape: Shape) -> Result<Self, ModelError> {
        Ok(Ports {
            valid: model.port(&format!("{prefix}_valid"))?,
            ready: model.port(&format!("{prefix}_ready")).ok(),
            last: model.port(&format!("{prefix}_last")).ok(),
            shape,
        })
    }

    /// Whether a word moved at the last edge.
    fn moved(&self, dut: &Dut) -> bool {
        dut.sampled(self.valid) != 0 && self.ready.is_none_or(|ready| dut.sampled(ready) != 0)
    }

    fn sampled(&self, dut: &Dut) -> Transfer {
        let last = self.last.is_none_or(|last| dut.sampled(last) != 0);
        Transfer { word: self.shape.sampled(dut), last }
    }
}

/// Feeds a stream input of the design from a queue. Once it offers a word it
/// holds it until it is taken.
pub struct StreamDriver {
    ports: Ports,
    gate: Gate,
    queue: VecDeque<Transfer>,
    offering: bool,
    /// For how many clocks the payload is up before it is valid, and has been.
    ahead: u32,
    shown: u32,
    sent: u64,
}

impl StreamDriver {
    /// Drives `<prefix>_valid`, `_data` and, if there is one, `_last`.
    ///
    /// # Errors
    /// [`ModelError::NoSuchPort`].
    pub fn new(dut: &Dut, prefix: &str, idle: Pattern, rng: &mut Rng) -> Result<Self, ModelError> {
        StreamDriver::with_shape(dut, prefix, Shape::of_data(dut.model(), prefix)?, idle, rng)
    }

    /// The same with a payload described by the caller.
    ///
    /// # Errors
    /// [`ModelError::NoSuchPort`].
    pub fn with_shape(
        dut: &Dut,
        prefix: &str,
        shape: Shape,
        idle: Pattern,
        rng: &mut Rng,
    ) -> Result<Self, ModelError> {
        let ports = Ports::new(dut.model(), prefix, shape)?;
        Ok(StreamDriver {
            ports,
            gate: idle.gate(rng.fork()),
            queue: VecDeque::new(),
            offering: false,
            ahead: 0,
            shown: 0,
            sent: 0,
        })
    }

    /// The same for a design that wants each word's payload to stand for so many clocks before it is offered.
    pub fn ahead(mut self, clocks: u32) -> Self {
        self.ahead = clocks;
        self
    }

    /// What the payload looks like.
    pub fn shape(&self) -> &Shape {
        &self.ports.shape
    }

    /// Queues one word; `last` is low.
    pub fn send(&mut self, word: impl Into<Word>) {
        self.queue.push_back(Transfer { word: word.into(), last: false });
    }

    /// Queues one word given by its fields; `last` is low.
    ///
    /// # Panics
    /// As [`Shape::pack`].
    pub fn send_fields(&mut self, fields: &[(&str, u64)]) {
        self.send(self.ports.shape.pack(fields));
    }

    /// Queues a frame: `last` is high on its last word only.
    pub fn send_frame<W: Into<Word>>(&mut self, words: impl IntoIterator<Item = W>) {
        self.queue.extend(words.into_iter().map(|w| Transfer { word: w.into(), last: false }));
        if let Some(transfer) = self.queue.back_mut() {
            transfer.last = true;
        }
    }

    /// Words not yet taken, the one on offer included.
    pub fn pending(&self) -> usize {
        self.queue.len()
    }

    /// Words taken so far.
    pub fn sent(&self) -> u64 {
        self.sent
    }
}

impl Agent for StreamDriver {
    fn drive(&mut self, dut: &mut Dut) {
        // The gate is asked every clock, so that a pattern is one of clocks and
        // not of words.
        let open = self.gate.is_open();
        self.offering = !self.queue.is_empty() && (self.offering || open && self.shown >= self.ahead);
        dut.set(self.ports.valid, self.offering);
        let up = self.offering || self.ahead > 0;
        if let Some(transfer) = self.queue.front().filter(|_| up) {
            self.shown += 1;
            self.ports.shape.set(dut, &transfer.word);
            if let Some(last) = self.ports.last {
                dut.set(last, transfer.last);
            }
        }
    }

    fn sample(&mut self, dut: &Dut) {
        if self.ports.moved(dut) {
            self.queue.pop_front();
            self.offering = false;
            self.shown = 0;
            self.sent += 1;
        }
    }
}

/// Takes what a stream output of the design delivers, and checks that it keeps
/// what it offers until it is taken.
pub struct StreamMonitor {
    ports: Ports,
    name: String,
    gate: Gate,
    received: VecDeque<(u64, Transfer)>,
    /// Offered at the last edge and not taken.
    waiting: Option<Transfer>,
    holds: bool,
    /// Clocks for which it takes nothing, whatever its gate says.
    closed: u64,
    total: u64,
}

impl StreamMonitor {
    /// Watches `<prefix>_valid`, `_data`, `_last` and drives `_ready`.
    ///
    /// # Errors
    /// [`ModelError::NoSuchPort`].
    pub fn new(dut: &Dut, prefix: &str, stall: Pattern, rng: &mut Rng) -> Result<Self, ModelError> {
        StreamMonitor::with_shape(dut, prefix, Shape::of_data(dut.model(), prefix)?, stall, rng)
    }

    /// The same with a payload described by the caller.
    ///
    /// # Errors
    /// [`ModelError::NoSuchPort`].
    pub fn with_shape(
        dut: &Dut,
        prefix: &str,
        shape: Shape,
        stall: Pattern,
        rng: &mut Rng,
    ) -> Result<Self, ModelError> {
        Ok(StreamMonitor {
            ports: Ports::new(dut.model(), prefix, shape)?,
            name: prefix.to_string(),
            gate: stall.gate(rng.fork()),
            received: VecDeque::new(),
            waiting: None,
            holds: true,
            closed: 0,
            total: 0,
        })
    }

    /// Takes nothing in the next so many clocks.
    pub fn close(&mut self, clocks: u64) {
        self.closed = self.closed.max(clocks);
    }

    /// For a stream that may change or withdraw what it offers.
    pub fn without_hold_check(mut self) -> Self {
        self.holds = false;
        self
    }

    /// What the payload looks like.
    pub fn shape(&self) -> &Shape {
        &self.ports.shape
    }

    /// The oldest word not yet taken from here.
    pub fn take(&mut self) -> Option<Transfer> {
        self.received.pop_front().map(|(_, transfer)| transfer)
    }

    /// The same with the clock ([`Dut::cycles`] after it) in which it came.
    pub fn take_timed(&mut self) -> Option<(u64, Transfer)> {
        self.received.pop_front()
    }

    /// The words of the oldest complete frame.
    pub fn take_frame(&mut self) -> Option<Vec<Word>> {
        let end = self.received.iter().position(|(_, transfer)| transfer.last)?;
        Some(self.received.drain(..=end).map(|(_, transfer)| transfer.word).collect())
    }

    /// Words received and not taken from here.
    pub fn available(&self) -> usize {
        self.received.len()
    }

    /// Words received so far.
    pub fn total(&self) -> u64 {
        self.total
    }
}

impl Agent for StreamMonitor {
    fn drive(&mut self, dut: &mut Dut) {
        if let Some(ready) = self.ports.ready {
            let open = self.gate.is_open() && self.closed == 0;
            dut.set(ready, open);
        }
        self.closed = self.closed.saturating_sub(1);
    }

    fn sample(&mut self, dut: &Dut) {
        let offered = (dut.sampled(self.ports.valid) != 0).then(|| self.ports.sampled(dut));
        if let Some(before) = self.waiting.take().filter(|_| self.holds) {
            let (name, cycle) = (&self.name, dut.cycles());
            match &offered {
                None => panic!("{name}: valid fell in clock {cycle} before {before:x?} was taken"),
                Some(now) => {
                    assert_eq!(
                        *now, before,
                        "{name}: the word on offer changed in clock {cycle} before it was taken"
                    );
                }
            }
        }
        let Some(transfer) = offered else { return };
        if self.ports.moved(dut) {
            self.total += 1;
            self.received.push_back((dut.cycles(), transfer));
        } else {
            self.waiting = Some(transfer);
        }
    }
}
