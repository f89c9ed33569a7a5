//! Resets the core of a NIC that is at work, rules RS-1 to RS-3.
//!
//! ```text
//!   start ──> drain ── all quiet ──> reset, 8 clocks ──> run, ended
//!               │                      └─> core_rst ──> every block but this, gates and registers
//!             closed ──> DMA gates, frames to the MAC; frames from it end here
//! ```
//!
//! The ports of the NIC have neighbours that are not reset with it: a MAC in the
//! middle of a frame, a DMA engine with descriptors open. So the ports close
//! first, at the next border of a frame and behind descriptors that were
//! offered ([`DmaGate`](super::dma_gate::DmaGate)), while the core goes on working
//! behind them: it has the beats and the room for what is under way. Only when
//! every descriptor is answered and no frame is half out does `core_rst` rise.
//! Frames that come in meanwhile are thrown away, and so is the rest of one that
//! had begun.
//!
//! Contract:
//! - `core_rst` is a register. It is high for 8 clocks and more, and with `rst`
//!   from the clock after on. `keeps` holds around it: this reset is not that of
//!   power-on, so what outlives it must;
//! - `start` counts while nothing is being reset; `ended` pulses in the first clock
//!   without `core_rst`;
//! - `waits` says who has not ended: bit 0 a frame to the MAC, the others those of
//!   `quiet` that are low. There is no bound: a neighbour that never answers may
//!   still do so, and the host has its own patience;
//! - open, the handshakes pass in the clock they come.
//!
//! Verified by `testbenches/tests/soft_reset.rs`, on whole NICs by `nic_reset.rs`.

use crate::prelude::*;

#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
enum Phase {
    Reset,
    Run,
    Drain,
}

#[derive(LogicBlock)]
pub struct SoftReset {
    pub clk: Signal<In, Clock>,
    /// That of power-on.
    pub rst: Signal<In, Bit>,
    pub start: Signal<In, Bit>,
    pub ended: Signal<Out, Bit>,
    pub core_rst: Signal<Out, Bit>,
    pub keeps: Signal<Out, Bit>,
    /// Of the DMA gates: ring reads, ring writes, payload reads, payload writes.
    pub closed: Signal<Out, Bit>,
    pub quiet: Signal<In, Bits<4>>,
    pub waits: Signal<Out, Bits<5>>,
    /// Frames from the MAC, which is never stalled.
    pub rx_valid: Signal<In, Bit>,
    pub rx_last: Signal<In, Bit>,
    pub core_rx_valid: Signal<Out, Bit>,
    /// Frames to the MAC.
    pub core_tx_valid: Signal<In, Bit>,
    pub core_tx_last: Signal<In, Bit>,
    pub core_tx_ready: Signal<Out, Bit>,
    pub tx_valid: Signal<Out, Bit>,
    pub tx_ready: Signal<In, Bit>,
    phase: Dff<Phase>,
    shut: Dff<Bit>,
    count: Dff<Bits<3>>,
    resets: Dff<Bit>,
    kept: Dff<Bit>,
    over: Dff<Bit>,
    /// Inside a frame from the MAC, which the core has seen from its beginning.
    rx_inside: Dff<Bit>,
    rx_passes: Dff<Bit>,
    rx_open: Signal<Local, Bit>,
    tx_inside: Dff<Bit>,
    tx_held: Dff<Bit>,
    tx_passes: Signal<Local, Bit>,
    tx_busy: Signal<Local, Bit>,
}

impl SoftReset {
    pub fn new() -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            start: Default::default(),
            ended: Default::default(),
            core_rst: Default::default(),
            keeps: Default::default(),
            closed: Default::default(),
            quiet: Default::default(),
            waits: Default::default(),
            rx_valid: Default::default(),
            rx_last: Default::default(),
            core_rx_valid: Default::default(),
            core_tx_valid: Default::default(),
            core_tx_last: Default::default(),
            core_tx_ready: Default::default(),
            tx_valid: Default::default(),
            tx_ready: Default::default(),
            phase: Default::default(),
            shut: Default::default(),
            count: Default::default(),
            resets: Default::default(),
            kept: Default::default(),
            over: Default::default(),
            rx_inside: Default::default(),
            rx_passes: Default::default(),
            rx_open: Default::default(),
            tx_inside: Default::default(),
            tx_held: Default::default(),
            tx_passes: Default::default(),
            tx_busy: Default::default(),
        }
    }
}

impl Logic for SoftReset {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, phase, shut, count, resets, kept, over);
        dff_setup!(self, clk, rx_inside, rx_passes, tx_inside, tx_held);

        // Frames to the MAC, one begun or offered to its end.
        self.tx_passes.next = !self.shut.q.val() | self.tx_inside.q.val() | self.tx_held.q.val();
        self.tx_valid.next = self.core_tx_valid.val() & self.tx_passes.val();
        self.core_tx_ready.next = self.tx_ready.val() & self.tx_passes.val();
        self.tx_held.d.next = self.tx_valid.val() & !self.tx_ready.val();
        if self.tx_valid.val() & self.tx_ready.val() {
            self.tx_inside.d.next = !self.core_tx_last.val();
        }
        self.tx_busy.next = self.tx_inside.q.val() | self.tx_held.q.val();

        // Frames from the MAC, whole or not at all.
        self.rx_open.next = !self.shut.q.val() & (!self.rx_inside.q.val() | self.rx_passes.q.val());
        self.core_rx_valid.next = self.rx_valid.val() & self.rx_open.val();
        if self.rx_valid.val() {
            self.rx_inside.d.next = !self.rx_last.val();
            self.rx_passes.d.next = self.rx_open.val();
        }
        if self.shut.q.val() {
            self.rx_passes.d.next = false;
        }

        self.over.d.next = false;
        self.resets.d.next = false;
        match self.phase.q.val() {
            Phase::Reset => {
                self.resets.d.next = true;
                self.count.d.next = self.count.q.val() + 1;
                if self.count.q.val() == 7 {
                    self.phase.d.next = Phase::Run;
                }
            }
            Phase::Run => {
                self.over.d.next = self.resets.q.val() & !self.start.val();
                self.shut.d.next = self.start.val();
                if self.start.val() {
                    self.phase.d.next = Phase::Drain;
                }
            }
            Phase::Drain => {
                if self.quiet.val().all() & !self.tx_busy.val() {
                    self.phase.d.next = Phase::Reset;
                    self.count.d.next = 0.into();
                    self.kept.d.next = true;
                }
            }
        }
        self.core_rst.next = self.resets.q.val();
        self.keeps.next = self.kept.q.val();
        self.closed.next = self.shut.q.val();
        self.ended.next = self.over.q.val();
        self.waits.next = 0.into();
        if self.phase.q.val() == Phase::Drain {
            self.waits.next =
                (bit_cast::<5, 4>(!self.quiet.val()) << 1) | bit_cast::<5, 1>(self.tx_busy.val().into());
        }

        if self.rst.val() {
            self.phase.d.next = Phase::Reset;
            self.shut.d.next = true;
            self.count.d.next = 0.into();
            self.resets.d.next = true;
            self.kept.d.next = false;
            self.over.d.next = false;
            self.rx_inside.d.next = false;
            self.rx_passes.d.next = false;
            self.tx_inside.d.next = false;
            self.tx_held.d.next = false;
        }
    }
}
