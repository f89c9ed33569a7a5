//! One Verilated NIC with its host: registers, host memory behind two DMA
//! classes, and its frames in and out.
//!
//! ```text
//!   host program ── Device ──> axil ──> s_axil ┌──────────┐ m_axis ──> frames out (clock of last beat)
//!   mapped memory <── dma (delays) <── dma_*   │ Verilog  │
//!                                              └──────────┘ s_axis <── frames in (clock of first beat)
//! ```
//!
//! Contract: one foreign call per clock. Every output of the NIC depends on
//! registers only, so what is read after a clock is what the next clock's
//! handshakes see.
//!
//! Verified by the whole-NIC tests in `testbenches`.

mod axi;
mod axil;
mod corundum;
mod dma;
mod memory;
mod record;

pub use axil::RegisterError;
pub use corundum::CorundumHost;
pub use dma::{DmaClass, DmaHold, DmaOptions, DmaRead, DmaWrite};
pub use memory::{HostMemory, HostRegion};
pub use record::{Change, Record, ReplayError, Step, Stream, RESET_CLOCKS};

use std::collections::VecDeque;
use std::sync::Arc;

use crate::verilator::{Dut, Model, ModelError, Port, PortId};
use axi::AxiHost;
use axil::AxiLite;
use dma::DmaPort;

/// Bytes of the widest beat.
const MAX_BEAT: usize = 64;

/// How a NIC's surroundings behave.
#[derive(Clone, Copy, Debug)]
pub struct NicOptions {
    /// Ring accesses.
    pub dma_ctrl: DmaOptions,
    /// Payload accesses.
    pub dma_data: DmaOptions,
    /// Probability that the MAC does not take a beat in a clock.
    pub tx_stall: f64,
    /// Seed of delays and stalls.
    pub seed: u64,
}

impl Default for NicOptions {
    /// PCIe-like: reads take about 1 us, writes about 0.5 us.
    fn default() -> Self {
        let dma = DmaOptions { read_delay: (225, 275), write_delay: (100, 150), ready: 1.0 };
        Self { dma_ctrl: dma, dma_data: dma, tx_stall: 0.0, seed: 1 }
    }
}

/// A frame that left the NIC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentFrame {
    /// Clock of its first beat.
    pub first: u64,
    /// Clock of its last beat.
    pub last: u64,
    /// From the Ethernet header to the ICRC.
    pub bytes: Vec<u8>,
}

/// What a whole-NIC observer (the scoreboard) is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NicEvent {
    /// The host queued a register write.
    Register {
        /// Clock.
        at: u64,
        /// Its address.
        offset: u32,
        /// Its value.
        value: u32,
    },
    /// A frame's last beat entered.
    Received {
        /// Clock.
        at: u64,
        /// The frame.
        bytes: Vec<u8>,
    },
    /// A frame left.
    Sent(SentFrame),
    /// A DMA read was answered.
    Read(DmaRead),
    /// A DMA write became visible.
    Wrote(DmaWrite),
}

impl NicEvent {
    /// Clock.
    pub fn at(&self) -> u64 {
        match self {
            Self::Register { at, .. } | Self::Received { at, .. } => *at,
            Self::Sent(frame) => frame.last,
            Self::Read(read) => read.at,
            Self::Wrote(write) => write.at,
        }
    }
}

/// Is told of a register write.
type Watch = Box<dyn FnMut(u32, u32) + Send>;

struct Axis {
    tvalid: PortId,
    tready: PortId,
    tdata: PortId,
    tkeep: PortId,
    tlast: PortId,
}

impl Axis {
    fn new(dut: &Dut, prefix: &str) -> Result<Self, ModelError> {
        Self::of(|name| dut.port(&format!("{prefix}_{name}")))
    }

    /// Ports of a Corundum, which are side by side.
    fn lanes(dut: &Dut) -> Result<usize, ModelError> {
        Ok(dut.port("s_axis_sync_rx_tvalid")?.width())
    }

    /// One of them.
    fn lane(dut: &Dut, name: &str, lane: usize) -> Result<PortId, ModelError> {
        let port = dut.port(name)?;
        let width = port.width() / Self::lanes(dut)?;
        Ok(port.bits(lane * width, width))
    }

    fn at_lane(dut: &Dut, prefix: &str, lane: usize) -> Result<Self, ModelError> {
        Self::of(|name| Self::lane(dut, &format!("{prefix}_{name}"), lane))
    }

    fn of(port: impl Fn(&str) -> Result<PortId, ModelError>) -> Result<Self, ModelError> {
        Ok(Self {
            tvalid: port("tvalid")?,
            tready: port("tready")?,
            tdata: port("tdata")?,
            tkeep: port("tkeep")?,
            tlast: port("tlast")?,
        })
    }
}

/// A frame going in, beat by beat.
struct Incoming {
    at: u64,
    bytes: Vec<u8>,
    offset: usize,
}

/// Which way its host memory is reached.
enum Host {
    /// The thin ports: rings, payload.
    Thin(Box<[DmaPort; 2]>),
    /// One AXI4 master.
    Axi(Box<AxiHost>),
    /// A Corundum's DMA engine.
    Corundum(Box<CorundumHost>),
}

impl Host {
    fn new(dut: &Dut, options: &NicOptions) -> Result<Self, ModelError> {
        let NicOptions { dma_ctrl: ctrl, dma_data: data, seed, .. } = *options;
        if dut.port("m_axi_arvalid").is_ok() {
            return Ok(Self::Axi(Box::new(AxiHost::new(dut, [ctrl, data], seed)?)));
        }
        if dut.port("m_axis_ctrl_dma_read_desc_valid").is_ok() {
            return Ok(Self::Corundum(Box::new(CorundumHost::new(dut, [ctrl, data], seed)?)));
        }
        let ctrl = DmaPort::new(dut, DmaClass::Ctrl, ctrl, seed)?;
        Ok(Self::Thin(Box::new([ctrl, DmaPort::new(dut, DmaClass::Data, data, seed)?])))
    }

    fn before_clock(&mut self, dut: &mut Dut, now: u64, memory: &HostMemory) {
        match self {
            Self::Thin(ports) => ports.iter_mut().for_each(|port| port.before_clock(dut, now, memory)),
            Self::Axi(host) => host.before_clock(dut, now, memory),
            Self::Corundum(host) => host.before_clock(dut, now, memory),
        }
    }

    fn faults(&self) -> u64 {
        match self {
            Self::Thin(ports) => ports.iter().map(DmaPort::faults).sum(),
            Self::Axi(host) => host.faults(),
            Self::Corundum(host) => host.faults(),
        }
    }

    fn taken_back(&self) -> u64 {
        match self {
            Self::Thin(ports) => ports.iter().map(DmaPort::taken_back).sum(),
            Self::Axi(host) => host.taken_back(),
            Self::Corundum(host) => host.taken_back(),
        }
    }

    fn open(&self) -> usize {
        match self {
            Self::Thin(ports) => ports.iter().map(DmaPort::open).sum(),
            Self::Axi(host) => host.open(),
            Self::Corundum(host) => host.open(),
        }
    }

    fn hold(&mut self, holds: [DmaHold; 2]) {
        match self {
            Self::Thin(ports) => ports.iter_mut().zip(holds).for_each(|(port, hold)| port.hold(hold)),
            Self::Axi(host) => host.hold(holds),
            Self::Corundum(host) => host.hold(holds),
        }
    }
}

/// One NIC. See the module's page.
pub struct SimNic {
    dut: Dut,
    /// Bytes of a beat.
    beat: usize,
    clock: u64,
    axil: AxiLite,
    host: Host,
    memory: Arc<HostMemory>,
    rx: Axis,
    rx_tuser: PortId,
    tx: Axis,
    /// Where there is a side band: bad, and the tag above.
    tx_tuser: Option<PortId>,
    incoming: VecDeque<Incoming>,
    outgoing: Vec<u8>,
    outgoing_first: u64,
    sent: Vec<SentFrame>,
    tx_stall: f64,
    tx_ready: bool,
    /// The MAC takes nothing.
    tx_hold: bool,
    /// A beat was shown and not taken; beats so taken back by the NIC.
    tx_refused: bool,
    tx_taken_back: u64,
    rng: rand_pcg::Pcg64Mcg,
    /// Beats in and out, of which the benchmarks speak.
    beats_in: u64,
    beats_out: u64,
    observe: bool,
    events: Vec<NicEvent>,
    watch: Option<Watch>,
    recorder: Option<record::Recorder>,
}

impl SimNic {
    /// An instance out of reset, its tables still clearing.
    ///
    /// # Errors
    /// If the model lacks a port of a whole NIC.
    pub fn new(model: &Model, options: &NicOptions) -> Result<Self, ModelError> {
        use rand::SeedableRng;
        let mut dut = model.instance()?;
        let rst = dut.port("rst")?;
        let host = Host::new(&dut, options)?;
        let ([rx, tx], rx_tuser, axil) = if let Host::Corundum(host) = &host {
            host.tie(&mut dut)?;
            let lane = Axis::lanes(&dut)? - 1;
            let axes =
                [Axis::at_lane(&dut, "s_axis_sync_rx", lane)?, Axis::at_lane(&dut, "m_axis_sync_tx", lane)?];
            let tuser = Axis::lane(&dut, "s_axis_sync_rx_tuser", lane)?;
            (axes, tuser, AxiLite::new(&dut, "s_axil_app_ctrl", tessera_abi::corundum::WINDOW)?)
        } else {
            let axes = [Axis::new(&dut, "s_axis")?, Axis::new(&dut, "m_axis")?];
            (axes, dut.port("s_axis_tuser")?, AxiLite::new(&dut, "s_axil", 0)?)
        };
        let tx_tuser = match &host {
            Host::Corundum(_) => Some(Axis::lane(&dut, "m_axis_sync_tx_tuser", Axis::lanes(&dut)? - 1)?),
            _ => None,
        };
        dut.reset(rst, RESET_CLOCKS);
        let mut nic = Self {
            clock: 0,
            beat: rx.tdata.width() / 8,
            axil,
            host,
            memory: Arc::default(),
            rx,
            rx_tuser,
            tx,
            tx_tuser,
            incoming: VecDeque::new(),
            outgoing: Vec::new(),
            outgoing_first: 0,
            sent: Vec::new(),
            tx_stall: options.tx_stall,
            tx_ready: true,
            tx_hold: false,
            tx_refused: false,
            tx_taken_back: 0,
            rng: rand_pcg::Pcg64Mcg::seed_from_u64(options.seed ^ 0x7878),
            beats_in: 0,
            beats_out: 0,
            observe: false,
            watch: None,
            events: Vec::new(),
            recorder: None,
            dut,
        };
        nic.dut.set(nic.tx.tready, 1u64);
        Ok(nic)
    }

    /// Clocks since reset.
    pub fn clock(&self) -> u64 {
        self.clock
    }

    /// Bytes that a beat of its streams holds.
    pub fn beat_bytes(&self) -> usize {
        self.beat
    }

    /// Whether it interrupts its host; `None` of a shell without that pin.
    pub fn irq(&self) -> Option<bool> {
        self.dut.port("irq").ok().map(|irq| self.dut.is_high(irq))
    }

    /// Host memory that its DMA reaches.
    pub fn memory(&self) -> &Arc<HostMemory> {
        &self.memory
    }

    /// Beats that entered and left since reset.
    pub fn beats(&self) -> (u64, u64) {
        (self.beats_in, self.beats_out)
    }

    /// DMA accesses outside mapped memory so far: always a fault of NIC or host.
    pub fn dma_faults(&self) -> u64 {
        self.host.faults()
    }

    /// Makes the MAC take nothing and DMA not end, or go on: of ring accesses, of
    /// payload.
    pub fn hold(&mut self, mac: bool, ctrl: DmaHold, data: DmaHold) {
        self.tx_hold = mac;
        self.host.hold([ctrl, data]);
    }

    /// What its neighbours have begun with it and not ended: DMA accesses, and a
    /// frame of which the end is missing.
    pub fn open_accesses(&self) -> usize {
        self.host.open() + usize::from(!self.outgoing.is_empty())
    }

    /// Descriptors and beats that it showed and took back before they were taken:
    /// always a fault of the NIC.
    pub fn offers_taken_back(&self) -> u64 {
        self.tx_taken_back + self.host.taken_back()
    }

    /// Starts a waveform file.
    ///
    /// # Errors
    /// If the model was built without traces or the file cannot be written.
    pub fn open_trace(&mut self, path: &std::path::Path) -> Result<(), ModelError> {
        self.dut.open_trace(path)
    }

    /// Collects [`NicEvent`]s from here on; of an AXI bus, which knows no descriptors, none of DMA.
    pub fn observe(&mut self) {
        self.observe = true;
        if let Host::Thin(ports) = &mut self.host {
            ports.iter_mut().for_each(DmaPort::observe);
        }
    }

    /// What surrounds an application block: the host's own frames.
    pub fn corundum(&mut self) -> Option<&mut CorundumHost> {
        match &mut self.host {
            Host::Corundum(host) => Some(host),
            _ => None,
        }
    }

    /// Calls `watch` with offset and value of every register write from here on, while
    /// host memory still is as it was: places of rings are used again later.
    pub fn watch(&mut self, watch: impl FnMut(u32, u32) + Send + 'static) {
        self.watch = Some(Box::new(watch));
    }

    /// Records every port from here on, which must be before the first clock.
    ///
    /// # Errors
    /// If a port is not one of the model's.
    pub fn record(&mut self, ports: &[Port]) -> Result<(), ModelError> {
        self.recorder = Some(record::Recorder::new(&self.dut, ports)?);
        Ok(())
    }

    /// Ends the recording.
    pub fn take_record(&mut self) -> Option<Record> {
        self.recorder.take().map(record::Recorder::finish)
    }

    /// Events since the last call, in order of time.
    pub fn take_events(&mut self) -> Vec<NicEvent> {
        std::mem::take(&mut self.events)
    }

    /// Hands in a frame whose first beat enters at clock `at` or, if the input
    /// is taken by an earlier one, right behind that.
    pub fn receive(&mut self, at: u64, bytes: Vec<u8>) {
        self.incoming.push_back(Incoming { at, bytes, offset: 0 });
    }

    /// Frames that left since the last call.
    pub fn take_sent(&mut self) -> Vec<SentFrame> {
        std::mem::take(&mut self.sent)
    }

    /// Queues a register write; it goes out in order, one per few clocks.
    pub fn write_register(&mut self, offset: u32, value: u32) {
        if self.observe {
            self.events.push(NicEvent::Register { at: self.clock, offset, value });
        }
        if let Some(watch) = &mut self.watch {
            watch(offset, value);
        }
        self.axil.write(offset, value);
    }

    /// Queues a register read behind all writes; its answer comes with
    /// [`take_read`](Self::take_read).
    pub fn start_read(&mut self, offset: u32) {
        self.axil.read(offset);
    }

    /// The answer of the read started last, once it is there.
    pub fn take_read(&mut self) -> Option<Result<u32, RegisterError>> {
        self.axil.take_read()
    }

    /// The first write that was refused, if any.
    pub fn take_write_error(&mut self) -> Option<RegisterError> {
        self.axil.take_write_error()
    }

    /// Whether register accesses are still on their way.
    pub fn registers_busy(&self) -> bool {
        self.axil.is_busy()
    }

    /// Runs until clock `until`.
    ///
    /// # Errors
    /// If the simulation gives up.
    pub fn run(&mut self, until: u64) -> Result<(), ModelError> {
        while self.clock < until {
            self.step()?;
        }
        Ok(())
    }

    fn step(&mut self) -> Result<(), ModelError> {
        use rand::RngExt;
        let now = self.clock;
        // Outputs as of the last edge, and the inputs this edge will see.
        self.axil.before_clock(&mut self.dut);
        self.host.before_clock(&mut self.dut, now, &self.memory);
        self.transmit(now);
        self.feed(now);
        if let Some(recorder) = &mut self.recorder {
            recorder.before_clock(&self.dut);
        }
        self.dut.try_clock(1)?;
        if let Some(recorder) = &mut self.recorder {
            recorder.after_clock(&self.dut);
        }
        self.clock += 1;
        if self.tx_stall > 0.0 || self.tx_ready == self.tx_hold {
            self.tx_ready = !self.tx_hold && self.rng.random::<f64>() >= self.tx_stall;
            self.dut.set(self.tx.tready, self.tx_ready);
        }
        if let Host::Thin(ports) = &mut self.host {
            if self.observe {
                self.events.extend(ports.iter_mut().flat_map(DmaPort::take_reads).map(NicEvent::Read));
                self.events.extend(ports.iter_mut().flat_map(DmaPort::take_writes).map(NicEvent::Wrote));
            }
        }
        Ok(())
    }

    /// Offers the next beat of the frame going in.
    fn feed(&mut self, now: u64) {
        let dut = &mut self.dut;
        let Some(frame) = self.incoming.front_mut().filter(|frame| frame.at <= now) else {
            dut.set(self.rx.tvalid, 0u64);
            return;
        };
        let rest = frame.bytes.len() - frame.offset;
        let len = rest.min(self.beat);
        show_beat(dut, &self.rx, &frame.bytes[frame.offset..]);
        // Beside the mark of a bad frame, when it came.
        let bits = self.rx_tuser.width().min(64);
        dut.set(self.rx_tuser, if bits > 1 { now << 1 & (u64::MAX >> (64 - bits)) } else { 0 });
        if !dut.is_high(self.rx.tready) {
            return;
        }
        self.beats_in += 1;
        frame.offset += len;
        if rest <= self.beat {
            if let Some(frame) = self.incoming.pop_front() {
                if self.observe {
                    self.events.push(NicEvent::Received { at: now, bytes: frame.bytes });
                }
            }
        }
    }

    /// Takes the beat that the NIC shows, if the MAC is ready for it.
    fn transmit(&mut self, now: u64) {
        let shown = self.dut.is_high(self.tx.tvalid);
        self.tx_taken_back += u64::from(self.tx_refused && !shown);
        self.tx_refused = shown && !self.tx_ready;
        if !shown || !self.tx_ready {
            return;
        }
        if self.outgoing.is_empty() {
            self.outgoing_first = now;
        }
        self.beats_out += 1;
        take_beat(&self.dut, &self.tx, self.beat, &mut self.outgoing);
        if self.dut.is_high(self.tx.tlast) {
            if let (Host::Corundum(host), Some(user)) = (&mut self.host, self.tx_tuser) {
                host.sent(now, self.dut.get(user));
            }
            let bytes = std::mem::take(&mut self.outgoing);
            self.outgoing.reserve(bytes.len());
            let frame = SentFrame { first: self.outgoing_first, last: now, bytes };
            if self.observe {
                self.events.push(NicEvent::Sent(frame.clone()));
            }
            self.sent.push(frame);
        }
    }
}

/// Puts the next beat of what is left of a frame on a stream. Whether it is the last.
fn show_beat(dut: &mut Dut, axis: &Axis, rest: &[u8]) -> bool {
    let bytes = axis.tdata.width() / 8;
    let len = rest.len().min(bytes);
    let mut words = [0u64; MAX_BEAT / 8];
    for (word, bytes) in words.iter_mut().zip(rest[..len].chunks(8)) {
        let mut whole = [0; 8];
        whole[..bytes.len()].copy_from_slice(bytes);
        *word = u64::from_le_bytes(whole);
    }
    dut.set(axis.tvalid, 1u64);
    dut.set_wide(axis.tdata, &words[..bytes / 8]);
    dut.set(axis.tkeep, u64::MAX >> (64 - len));
    dut.set(axis.tlast, rest.len() <= bytes);
    rest.len() <= bytes
}

/// Appends the beat that a stream shows.
fn take_beat(dut: &Dut, axis: &Axis, bytes: usize, frame: &mut Vec<u8>) {
    let mut words = [0u64; MAX_BEAT / 8];
    let words = &mut words[..bytes / 8];
    dut.get_wide(axis.tdata, words);
    let len = dut.get(axis.tkeep).trailing_ones() as usize;
    let start = frame.len();
    frame.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    frame.truncate(start + len);
}
