//! Two clients on one DMA write port: `cq` (completions) and `area` (chunk areas).
//!
//! ```text
//!   cq_desc, cq_beat ─────┐ turns, write by write
//!   area_desc, area_beat ─┴──────────────> write_desc, write_beat
//!                        status, by tag ─> cq_status, area_status
//! ```
//!
//! Every write of both is one beat, offered together with its descriptor, so the
//! port belongs to one client until both are taken; then to the other one, if it
//! waits. Bit 7 of the tag says whose a status is.
//!
//! Contract: no delay and no clock between writes. What is offered stays on offer
//! until it is taken. Tags of `cq` have bit 7 clear, those of `area` set.
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
    /// A write was offered and is not taken whole; whose.
    kept: Dff<Bit>,
    kept_area: Dff<Bit>,
    /// `area` comes first now.
    turn: Dff<Bit>,
    chosen: Signal<Local, Bit>,
    offers: Signal<Local, Bit>,
    left: Signal<Local, Bit>,
    desc_valid: Signal<Local, Bit>,
    beat_valid: Signal<Local, Bit>,
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
            kept: Default::default(),
            kept_area: Default::default(),
            turn: Default::default(),
            chosen: Default::default(),
            offers: Default::default(),
            left: Default::default(),
            desc_valid: Default::default(),
            beat_valid: Default::default(),
        }
    }
}

impl Logic for CtrlWriteMux {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, kept, kept_area, turn);
        self.chosen.next = self.area_desc_valid.val() & (self.turn.q.val() | !self.cq_desc_valid.val());
        if self.kept.q.val() {
            self.chosen.next = self.kept_area.q.val();
        }
        self.desc_valid.next = self.cq_desc_valid.val();
        self.beat_valid.next = self.cq_beat_valid.val();
        self.write_desc_data.next = self.cq_desc_data.val();
        self.write_beat_data.next = self.cq_beat_data.val();
        self.cq_desc_ready.next = !self.chosen.val() & self.write_desc_ready.val();
        self.cq_beat_ready.next = !self.chosen.val() & self.write_beat_ready.val();
        self.area_desc_ready.next = self.chosen.val() & self.write_desc_ready.val();
        self.area_beat_ready.next = self.chosen.val() & self.write_beat_ready.val();
        if self.chosen.val() {
            self.desc_valid.next = self.area_desc_valid.val();
            self.beat_valid.next = self.area_beat_valid.val();
            self.write_desc_data.next = self.area_desc_data.val();
            self.write_beat_data.next = self.area_beat_data.val();
        }
        self.write_desc_valid.next = self.desc_valid.val();
        self.write_beat_valid.next = self.beat_valid.val();
        self.offers.next = self.desc_valid.val() | self.beat_valid.val();
        self.left.next = (self.desc_valid.val() & !self.write_desc_ready.val())
            | (self.beat_valid.val() & !self.write_beat_ready.val());
        self.kept.d.next = self.left.val();
        self.kept_area.d.next = self.chosen.val();
        if self.offers.val() & !self.left.val() {
            self.turn.d.next = !self.chosen.val();
        }

        self.cq_status_valid.next =
            self.write_status_valid.val() & !self.write_status_data.val().tag.get_bit(7);
        self.cq_status_data.next = self.write_status_data.val();
        self.area_status_valid.next =
            self.write_status_valid.val() & self.write_status_data.val().tag.get_bit(7);
        self.area_status_data.next = self.write_status_data.val();

        if self.rst.val() {
            self.kept.d.next = false;
            self.turn.d.next = false;
        }
    }
}
