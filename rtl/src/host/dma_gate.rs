//! One direction of a DMA port, closed without leaving anything half done.
//!
//! ```text
//!  desc ──────> gate ──> desc          +1 ─> beats owed ──┐
//!  data ──────> gate ──> data, last    -1 ─┘  answers owed├─> quiet
//!  status ────────────────────────────────> -1 ─┘─────────┘
//! ```
//!
//! Only handshakes pass here; addresses and bytes go beside. For reads `data`
//! runs from the host to the NIC, for writes the other way: who offers is `in`.
//!
//! Contract:
//! - open, everything passes in the clock it comes;
//! - closed, no new descriptor passes. One that was offered already stays
//!   offered until it is taken, as AXI-Stream wants it, and so does a beat;
//!   beats pass as far as they belong to descriptors that were taken;
//! - `quiet`: every descriptor taken has had its last beat and its status, and
//!   nothing is offered that was not taken. A status that nobody waits for is
//!   ignored. Up to 32,767 descriptors may be open.
//!
//! Verified by `testbenches/tests/soft_reset.rs`.

use crate::prelude::*;

#[derive(LogicBlock)]
pub struct DmaGate {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub closed: Signal<In, Bit>,
    pub in_desc_valid: Signal<In, Bit>,
    pub in_desc_ready: Signal<Out, Bit>,
    pub out_desc_valid: Signal<Out, Bit>,
    pub out_desc_ready: Signal<In, Bit>,
    pub in_data_valid: Signal<In, Bit>,
    pub in_data_last: Signal<In, Bit>,
    pub in_data_ready: Signal<Out, Bit>,
    pub out_data_valid: Signal<Out, Bit>,
    pub out_data_ready: Signal<In, Bit>,
    pub status: Signal<In, Bit>,
    pub quiet: Signal<Out, Bit>,
    desc_held: Dff<Bit>,
    data_held: Dff<Bit>,
    /// Descriptors taken less last beats: below zero where beats go ahead.
    beats_owed: Dff<Bits<16>>,
    /// Descriptors taken less statuses.
    answers_owed: Dff<Bits<16>>,
    desc_passes: Signal<Local, Bit>,
    data_passes: Signal<Local, Bit>,
    taken: Signal<Local, Bit>,
    ends: Signal<Local, Bit>,
    answered: Signal<Local, Bit>,
}

impl DmaGate {
    pub fn new() -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            closed: Default::default(),
            in_desc_valid: Default::default(),
            in_desc_ready: Default::default(),
            out_desc_valid: Default::default(),
            out_desc_ready: Default::default(),
            in_data_valid: Default::default(),
            in_data_last: Default::default(),
            in_data_ready: Default::default(),
            out_data_valid: Default::default(),
            out_data_ready: Default::default(),
            status: Default::default(),
            quiet: Default::default(),
            desc_held: Default::default(),
            data_held: Default::default(),
            beats_owed: Default::default(),
            answers_owed: Default::default(),
            desc_passes: Default::default(),
            data_passes: Default::default(),
            taken: Default::default(),
            ends: Default::default(),
            answered: Default::default(),
        }
    }
}

impl Logic for DmaGate {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, desc_held, data_held, beats_owed, answers_owed);

        self.desc_passes.next = !self.closed.val() | self.desc_held.q.val();
        self.out_desc_valid.next = self.in_desc_valid.val() & self.desc_passes.val();
        self.in_desc_ready.next = self.out_desc_ready.val() & self.desc_passes.val();
        self.taken.next = self.out_desc_valid.val() & self.out_desc_ready.val();
        self.desc_held.d.next = self.out_desc_valid.val() & !self.out_desc_ready.val();

        self.data_passes.next = !self.closed.val()
            | self.data_held.q.val()
            | (self.beats_owed.q.val().any() & !self.beats_owed.q.val().get_bit(15));
        self.out_data_valid.next = self.in_data_valid.val() & self.data_passes.val();
        self.in_data_ready.next = self.out_data_ready.val() & self.data_passes.val();
        self.data_held.d.next = self.out_data_valid.val() & !self.out_data_ready.val();
        self.ends.next = self.out_data_valid.val() & self.out_data_ready.val() & self.in_data_last.val();

        if self.taken.val() & !self.ends.val() {
            self.beats_owed.d.next = self.beats_owed.q.val() + 1;
        } else if !self.taken.val() & self.ends.val() {
            self.beats_owed.d.next = self.beats_owed.q.val() - 1;
        }
        self.answered.next = self.status.val() & self.answers_owed.q.val().any();
        if self.taken.val() & !self.answered.val() {
            self.answers_owed.d.next = self.answers_owed.q.val() + 1;
        } else if !self.taken.val() & self.answered.val() {
            self.answers_owed.d.next = self.answers_owed.q.val() - 1;
        }
        self.quiet.next = !self.desc_held.q.val()
            & !self.data_held.q.val()
            & !self.beats_owed.q.val().any()
            & !self.answers_owed.q.val().any();

        if self.rst.val() {
            self.desc_held.d.next = false;
            self.data_held.d.next = false;
            self.beats_owed.d.next = 0.into();
            self.answers_owed.d.next = 0.into();
        }
    }
}
