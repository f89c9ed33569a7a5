//! Two clients on one DMA write port: `cq` (completions) and `area` (chunk areas).
//!
//! ```text
//!   cq_desc, cq_beat ─────┐ turns, write by write
//!   area_desc, area_beat ─┴────────────────────> write_desc, write_beat
//!                              status, by tag ─> cq_status, area_status
//! ```
//!
//! Every write of both is one beat, offered together with its descriptor. The
//! engine may take one of the two first: nothing else is offered until it has the
//! other one too. Bit 7 of the tag says whose a status is.
//!
//! Contract: whose write is shown is a register, which stands at `cq` while nothing is
//! there: those of `cq` are not delayed then, those of `area` by a clock, and none is lost
//! between writes of both. A client's `ready` is the engine's, for what is shown. What is
//! offered stays on offer until it is taken; a client offers its next write when both parts
//! of the last one are gone, and lets nothing but that depend on `ready`, which comes late.
//! Tags of `cq` have bit 7 clear, those of `area` set.
//!
//! Verified by `testbenches/tests/ctrl_write_mux.rs`.

use crate::prelude::*;
use crate::types::{Beat, DmaDescriptor, DmaStatus};

#[derive(LogicBlock)]
pub struct CtrlWriteMux {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub cq_desc_valid: Signal<In, Bit>,
    pub cq_desc_data: Signal<In, DmaDescriptor>,
    pub cq_desc_ready: Signal<Out, Bit>,
    pub cq_beat_valid: Signal<In, Bit>,
    pub cq_beat_data: Signal<In, Beat>,
    pub cq_beat_ready: Signal<Out, Bit>,
    pub cq_status_valid: Signal<Out, Bit>,
    pub cq_status_data: Signal<Out, DmaStatus>,
    pub area_desc_valid: Signal<In, Bit>,
    pub area_desc_data: Signal<In, DmaDescriptor>,
    pub area_desc_ready: Signal<Out, Bit>,
    pub area_beat_valid: Signal<In, Bit>,
    pub area_beat_data: Signal<In, Beat>,
    pub area_beat_ready: Signal<Out, Bit>,
    pub area_status_valid: Signal<Out, Bit>,
    pub area_status_data: Signal<Out, DmaStatus>,
    pub write_desc_valid: Signal<Out, Bit>,
    pub write_desc_data: Signal<Out, DmaDescriptor>,
    pub write_desc_ready: Signal<In, Bit>,
    pub write_beat_valid: Signal<Out, Bit>,
    pub write_beat_data: Signal<Out, Beat>,
    pub write_beat_ready: Signal<In, Bit>,
    pub write_status_valid: Signal<In, Bit>,
    pub write_status_data: Signal<In, DmaStatus>,
    /// `area` is shown, or else `cq`.
    chosen: Dff<Bit>,
    desc_there: Signal<Local, Bit>,
    beat_there: Signal<Local, Bit>,
}

impl CtrlWriteMux {
    /// Nothing on offer.
    pub fn new() -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            cq_desc_valid: Default::default(),
            cq_desc_data: Default::default(),
            cq_desc_ready: Default::default(),
            cq_beat_valid: Default::default(),
            cq_beat_data: Default::default(),
            cq_beat_ready: Default::default(),
            cq_status_valid: Default::default(),
            cq_status_data: Default::default(),
            area_desc_valid: Default::default(),
            area_desc_data: Default::default(),
            area_desc_ready: Default::default(),
            area_beat_valid: Default::default(),
            area_beat_data: Default::default(),
            area_beat_ready: Default::default(),
            area_status_valid: Default::default(),
            area_status_data: Default::default(),
            write_desc_valid: Default::default(),
            write_desc_data: Default::default(),
            write_desc_ready: Default::default(),
            write_beat_valid: Default::default(),
            write_beat_data: Default::default(),
            write_beat_ready: Default::default(),
            write_status_valid: Default::default(),
            write_status_data: Default::default(),
            chosen: Default::default(),
            desc_there: Default::default(),
            beat_there: Default::default(),
        }
    }
}

impl Logic for CtrlWriteMux {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, chosen);
        self.write_desc_data.next = self.cq_desc_data.val();
        self.write_beat_data.next = self.cq_beat_data.val();
        self.desc_there.next = self.cq_desc_valid.val();
        self.beat_there.next = self.cq_beat_valid.val();
        if self.chosen.q.val() {
            self.write_desc_data.next = self.area_desc_data.val();
            self.write_beat_data.next = self.area_beat_data.val();
            self.desc_there.next = self.area_desc_valid.val();
            self.beat_there.next = self.area_beat_valid.val();
        }
        self.write_desc_valid.next = self.desc_there.val();
        self.write_beat_valid.next = self.beat_there.val();
        self.cq_desc_ready.next = self.write_desc_ready.val() & !self.chosen.q.val();
        self.cq_beat_ready.next = self.write_beat_ready.val() & !self.chosen.q.val();
        self.area_desc_ready.next = self.write_desc_ready.val() & self.chosen.q.val();
        self.area_beat_ready.next = self.write_beat_ready.val() & self.chosen.q.val();
        // Turns: behind a write of the one comes one of the other, if it is there.
        if (!self.desc_there.val() | self.write_desc_ready.val())
            & (!self.beat_there.val() | self.write_beat_ready.val())
        {
            self.chosen.d.next =
                !self.chosen.q.val() & (self.area_desc_valid.val() | self.area_beat_valid.val());
        }

        self.cq_status_valid.next =
            self.write_status_valid.val() & !self.write_status_data.val().tag.get_bit(7);
        self.cq_status_data.next = self.write_status_data.val();
        self.area_status_valid.next =
            self.write_status_valid.val() & self.write_status_data.val().tag.get_bit(7);
        self.area_status_data.next = self.write_status_data.val();

        if self.rst.val() {
            self.chosen.d.next = false;
        }
    }
}
