//! A window that never changes.
//!
//! IRN's BDP-FC (R. Mittal et al., *Revisiting Network Support for RDMA*, SIGCOMM
//! 2018, section 3.2): at most one bandwidth-delay product of the longest path is in
//! flight, in packets of the full size. It keeps queues bounded, not short.

use super::{Congestion, Sample};
use crate::Ps;

/// See the module's page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixed {
    packets: u32,
}

impl Fixed {
    /// So many packets, at least one.
    pub fn new(packets: u32) -> Self {
        Self { packets: packets.max(1) }
    }
}

impl Congestion for Fixed {
    fn on_ack(&mut self, _now: Ps, _sample: &Sample) {}

    fn window(&self) -> u32 {
        self.packets
    }
}
