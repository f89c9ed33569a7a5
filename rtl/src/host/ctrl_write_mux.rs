//! Two clients on one DMA write port: `cq` (completions) and `area` (chunk areas).
//!
//! ```text
//!   cq_desc, cq_beat ─────┐ turns, write by write
//!   area_desc, area_beat ─┴─┬────────────> write_desc, write_beat
//!                           └─ kept ─────> (what of it is not taken at once)
//!                        status, by tag ─> cq_status, area_status
//! ```
//!
//! Every write of both is one beat, offered together with its descriptor, and both
//! are taken at once. What the engine does not take in the same clock is kept
//! here, and nothing else taken until it has gone. Bit 7 of the tag says whose a
//! status is.
//!
//! Contract: no delay and no clock between writes while the engine is ready; what it
//! says is in no `ready` of this clock, since the ways behind those are long. What is
//! offered stays on offer until it is taken. Tags of `cq` have bit 7 clear, those of
//! `area` set.
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
    /// What of a write is not taken yet.
    kept_desc: Dff<Bit>,
    kept_beat: Dff<Bit>,
    desc: Dff<DmaDescriptor>,
    beat: Dff<Beat>,
    /// `area` comes first now.
    turn: Dff<Bit>,
    cq_there: Signal<Local, Bit>,
    area_there: Signal<Local, Bit>,
    chosen: Signal<Local, Bit>,
    open: Signal<Local, Bit>,
    offers: Signal<Local, Bit>,
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
            kept_desc: Default::default(),
            kept_beat: Default::default(),
            desc: Default::default(),
            beat: Default::default(),
            turn: Default::default(),
            cq_there: Default::default(),
            area_there: Default::default(),
            chosen: Default::default(),
            open: Default::default(),
            offers: Default::default(),
        }
    }
}

impl Logic for CtrlWriteMux {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, kept_desc, kept_beat, desc, beat, turn);
        self.cq_there.next = self.cq_desc_valid.val() & self.cq_beat_valid.val();
        self.area_there.next = self.area_desc_valid.val() & self.area_beat_valid.val();
        self.chosen.next = self.area_there.val() & (self.turn.q.val() | !self.cq_there.val());
        self.open.next = !self.kept_desc.q.val() & !self.kept_beat.q.val();
        self.offers.next = self.open.val() & (self.cq_there.val() | self.area_there.val());
        self.cq_desc_ready.next = self.open.val() & self.cq_there.val() & !self.chosen.val();
        self.cq_beat_ready.next = self.open.val() & self.cq_there.val() & !self.chosen.val();
        self.area_desc_ready.next = self.open.val() & self.chosen.val();
        self.area_beat_ready.next = self.open.val() & self.chosen.val();
        if self.open.val() {
            self.desc.d.next = self.cq_desc_data.val();
            self.beat.d.next = self.cq_beat_data.val();
            if self.chosen.val() {
                self.desc.d.next = self.area_desc_data.val();
                self.beat.d.next = self.area_beat_data.val();
            }
        }
        // What is kept goes on as it is, so that the next value of its register is what is shown.
        self.write_desc_data.next = self.desc.d.val();
        self.write_beat_data.next = self.beat.d.val();
        self.write_desc_valid.next = self.offers.val() | self.kept_desc.q.val();
        self.write_beat_valid.next = self.offers.val() | self.kept_beat.q.val();
        self.kept_desc.d.next = (self.offers.val() | self.kept_desc.q.val()) & !self.write_desc_ready.val();
        self.kept_beat.d.next = (self.offers.val() | self.kept_beat.q.val()) & !self.write_beat_ready.val();
        if self.offers.val() {
            self.turn.d.next = !self.chosen.val();
        }

        self.cq_status_valid.next =
            self.write_status_valid.val() & !self.write_status_data.val().tag.get_bit(7);
        self.cq_status_data.next = self.write_status_data.val();
        self.area_status_valid.next =
            self.write_status_valid.val() & self.write_status_data.val().tag.get_bit(7);
        self.area_status_data.next = self.write_status_data.val();

        if self.rst.val() {
            self.kept_desc.d.next = false;
            self.kept_beat.d.next = false;
            self.turn.d.next = false;
        }
    }
}
