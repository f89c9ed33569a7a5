//! What testbenches share: seeds, patterns, drivers and monitors.
//!
//! ```text
//!            one clock of a testbench                     [`cycle`]
//!   drive()  drivers set valid and data, monitors set ready
//!   clock    the rising edge; what both sides saw at it is `Dut::sampled`
//!   sample() valid & ready at the edge: the word has moved
//! ```
//!
//! Nothing here settles: the values at the edge come with the clock, so a clock
//! costs one foreign call whatever number of agents is attached.
//!
//! Every random choice comes from one seed per test, printed at its start and
//! taken back through `TESSERA_SEED`.
//!
//! Verified by `sim/tests/tb.rs`.

mod axi_lite;
mod axi_stream;
mod pattern;
mod rng;
mod run;
mod stream;

pub use axi_lite::{AxiLite, BusError};
pub use axi_stream::{AxisDriver, AxisMonitor, Frame};
pub use pattern::{Gate, Pattern};
pub use rng::{seed, Rng};
pub use run::{check, run};
pub use stream::{Shape, StreamDriver, StreamMonitor, Transfer, Word};

use crate::verilator::Dut;

/// Something attached to the ports of a design that acts once per clock.
pub trait Agent {
    /// Sets its inputs for the coming clock.
    fn drive(&mut self, dut: &mut Dut);
    /// Looks at what happened at the edge, through [`Dut::sampled`].
    fn sample(&mut self, dut: &Dut);
}

/// One clock with all agents acting around it.
pub fn cycle(dut: &mut Dut, agents: &mut [&mut dyn Agent]) {
    for agent in agents.iter_mut() {
        agent.drive(dut);
    }
    dut.clock();
    for agent in agents.iter_mut() {
        agent.sample(dut);
    }
}

/// A bench that can be clocked by those who wait for something, such as
/// [`AxiLite::read`]. A [`Dut`] is one; a testbench with agents of its own
/// implements it and calls [`cycle`].
pub trait Clocked {
    /// One clock, in which `agent` takes part beside the bench's own.
    fn clock_with(&mut self, agent: &mut dyn Agent);
}

impl Clocked for Dut {
    fn clock_with(&mut self, agent: &mut dyn Agent) {
        cycle(self, &mut [agent]);
    }
}
