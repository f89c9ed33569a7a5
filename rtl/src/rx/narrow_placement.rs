//! Puts payload into host memory in beats of 16 bytes and tells when a message's bytes are all there.
//!
//! ```text
//!  place, payload ─> placement, of whose beats 16 bytes are used ─> write_desc, write_beat
//!  write_status ──>                                              ─> fence
//! ```
//!
//! Lengths are in bytes and beats only pass: it is `placement`, whose registers for
//! the other 48 bytes hold zeros for ever and are none in an FPGA.
//!
//! Contract: that of `placement`.
//!
//! Verified by `testbenches/tests/placement.rs`.

use super::Placement;
use crate::prelude::*;
use crate::types::{DmaDescriptor, DmaStatus, NarrowBeat, PlaceCommand, PlaceFence};
use tessera_abi::params::Config;

#[derive(LogicBlock)]
pub struct NarrowPlacement {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub place_valid: Signal<In, Bit>,
    pub place_data: Signal<In, PlaceCommand>,
    pub place_ready: Signal<Out, Bit>,
    pub payload_valid: Signal<In, Bit>,
    pub payload_data: Signal<In, NarrowBeat>,
    pub payload_ready: Signal<Out, Bit>,
    pub write_desc_valid: Signal<Out, Bit>,
    pub write_desc_data: Signal<Out, DmaDescriptor>,
    pub write_desc_ready: Signal<In, Bit>,
    pub write_beat_valid: Signal<Out, Bit>,
    pub write_beat_data: Signal<Out, NarrowBeat>,
    pub write_beat_ready: Signal<In, Bit>,
    pub write_status_valid: Signal<In, Bit>,
    pub write_status: Signal<In, DmaStatus>,
    pub fence_valid: Signal<Out, Bit>,
    pub fence_data: Signal<Out, PlaceFence>,
    pub fence_ready: Signal<In, Bit>,
    /// For `fence`: a payload's command was carried out, and the ends of the ring.
    pub issued: Signal<Out, Bit>,
    pub ring_head: Signal<Out, Bits<7>>,
    pub ring_tail: Signal<Out, Bits<7>>,
    pub dma_error: Signal<Out, Bit>,
    pub ready: Signal<Out, Bit>,

    wide: Placement,
}

impl NarrowPlacement {
    /// Placement with `2^write_tags_log2` ring entries.
    ///
    /// # Panics
    /// As [`Placement::new`].
    pub fn new(config: &Config) -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            place_valid: Default::default(),
            place_data: Default::default(),
            place_ready: Default::default(),
            payload_valid: Default::default(),
            payload_data: Default::default(),
            payload_ready: Default::default(),
            write_desc_valid: Default::default(),
            write_desc_data: Default::default(),
            write_desc_ready: Default::default(),
            write_beat_valid: Default::default(),
            write_beat_data: Default::default(),
            write_beat_ready: Default::default(),
            write_status_valid: Default::default(),
            write_status: Default::default(),
            fence_valid: Default::default(),
            fence_data: Default::default(),
            fence_ready: Default::default(),
            issued: Default::default(),
            ring_head: Default::default(),
            ring_tail: Default::default(),
            dma_error: Default::default(),
            ready: Default::default(),
            wide: Placement::new(config),
        }
    }
}

impl Logic for NarrowPlacement {
    #[hdl_gen]
    fn update(&mut self) {
        self.wide.clk.next = self.clk.val();
        self.wide.rst.next = self.rst.val();
        self.wide.place_valid.next = self.place_valid.val();
        self.wide.place_data.next = self.place_data.val();
        self.wide.payload_valid.next = self.payload_valid.val();
        self.wide.write_desc_ready.next = self.write_desc_ready.val();
        self.wide.write_beat_ready.next = self.write_beat_ready.val();
        self.wide.write_status_valid.next = self.write_status_valid.val();
        self.wide.write_status.next = self.write_status.val();
        self.wide.fence_ready.next = self.fence_ready.val();
        self.wide.payload_data.next.tdata = bit_cast::<512, 128>(self.payload_data.val().tdata);
        self.wide.payload_data.next.tkeep = bit_cast::<64, 16>(self.payload_data.val().tkeep);
        self.wide.payload_data.next.tlast = self.payload_data.val().tlast;
        self.place_ready.next = self.wide.place_ready.val();
        self.payload_ready.next = self.wide.payload_ready.val();
        self.write_desc_valid.next = self.wide.write_desc_valid.val();
        self.write_desc_data.next = self.wide.write_desc_data.val();
        self.write_beat_valid.next = self.wide.write_beat_valid.val();
        self.fence_valid.next = self.wide.fence_valid.val();
        self.fence_data.next = self.wide.fence_data.val();
        self.issued.next = self.wide.issued.val();
        self.ring_head.next = self.wide.ring_head.val();
        self.ring_tail.next = self.wide.ring_tail.val();
        self.dma_error.next = self.wide.dma_error.val();
        self.ready.next = self.wide.ready.val();
        self.write_beat_data.next.tdata = self.wide.write_beat_data.val().tdata.get_bits::<128>(0);
        self.write_beat_data.next.tkeep = self.wide.write_beat_data.val().tkeep.get_bits::<16>(0);
        self.write_beat_data.next.tlast = self.wide.write_beat_data.val().tlast;
    }
}
