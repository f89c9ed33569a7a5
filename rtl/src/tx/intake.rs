//! Holds the oldest request until its unasked bytes may go, rule TX-1.
//!
//! ```text
//!  request ──> held ──> unasked bytes ──> unsolicited + unasked > limit? ──> open
//! ```
//!
//! Contract: `cap` belongs to the request in the clock after it is offered, and in
//! each until it is taken; a window longer than it is cut to it (0 = none is).
//! `open` rises four clocks after a request is taken, three if it had to wait, if its
//! bytes fit or none are in flight, and sees bytes given back two clocks later (only
//! a request's own `take` adds any). `take` lets go of the request; the next
//! one may come in the same clock.
//!
//! Verified as part of `testbenches/tests/tx_slots/`.

use super::Unasked;
use crate::prelude::*;
use crate::types::TxRequest;

#[derive(LogicBlock)]
pub struct RequestIntake {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub request_valid: Signal<In, Bit>,
    pub request_data: Signal<In, TxRequest>,
    pub request_ready: Signal<Out, Bit>,
    /// Unasked bytes in flight.
    pub unsolicited: Signal<In, Bits<32>>,
    pub unsolicited_limit: Signal<In, Bits<32>>,
    pub open: Signal<Out, Bit>,
    pub request: Signal<Out, TxRequest>,
    /// Longest initial window, rule TX-14.
    pub cap: Signal<In, Bits<8>>,
    /// Its unasked bytes, right while `open`.
    pub bytes: Signal<Out, Bits<32>>,
    pub take: Signal<In, Bit>,
    unasked: Unasked,
    held: Dff<TxRequest>,
    valid: Dff<Bit>,
    arrived: Dff<Bit>,
    /// The one on offer was there a clock before.
    stood: Dff<Bit>,
    /// Its cap is in `capped`.
    cutting: Dff<Bit>,
    capped: Dff<Bits<8>>,
    measured: Dff<Bit>,
    needs: Dff<Bits<32>>,
    fits: Dff<Bit>,
    /// What is left of the limit, below zero with its top bit; nothing is in flight.
    left: Dff<Bits<33>>,
    alone: Dff<Bit>,
}

impl RequestIntake {
    pub fn new() -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            request_valid: Default::default(),
            request_data: Default::default(),
            request_ready: Default::default(),
            unsolicited: Default::default(),
            unsolicited_limit: Default::default(),
            open: Default::default(),
            request: Default::default(),
            cap: Default::default(),
            bytes: Default::default(),
            take: Default::default(),
            unasked: Unasked::new(),
            held: Default::default(),
            valid: Default::default(),
            arrived: Default::default(),
            stood: Default::default(),
            cutting: Default::default(),
            capped: Default::default(),
            measured: Default::default(),
            needs: Default::default(),
            fits: Default::default(),
            left: Default::default(),
            alone: Default::default(),
        }
    }
}

impl Logic for RequestIntake {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self, clk, held, valid, arrived, measured, needs, fits, left, alone, capped, cutting, stood
        );

        // Out of a memory into a register first; that of a request that waits is there when it is taken.
        self.capped.d.next = self.cap.val();
        self.unasked.cap.next = 0.into();
        if self.cutting.q.val() {
            self.unasked.cap.next = self.capped.q.val();
        }
        self.held.d.next.initial_window = self.unasked.window.val();
        self.arrived.d.next = false;
        self.cutting.d.next = self.arrived.q.val();
        self.unasked.initial_window.next = self.held.q.val().initial_window;
        self.unasked.payload_log2.next = self.held.q.val().payload_log2;
        self.unasked.length.next = self.held.q.val().length;
        self.unasked.count.next = self.held.q.val().count;
        self.needs.d.next = self.unasked.bytes.val();
        self.measured.d.next = self.valid.q.val() & !self.arrived.q.val();
        // What is left of the limit stands in a register beside `needs`: a message that opens is counted a
        // clock before that of the next one is read.
        self.left.d.next =
            bit_cast::<33, 32>(self.unsolicited_limit.val()) - bit_cast::<33, 32>(self.unsolicited.val());
        self.alone.d.next = self.unsolicited.val() == 0;
        self.fits.d.next = self.measured.q.val()
            & ((!self.left.q.val().get_bit(32)
                & (self.needs.q.val() <= self.left.q.val().get_bits::<32>(0)))
                | self.alone.q.val());

        self.request_ready.next = !self.valid.q.val() | self.take.val();
        if self.take.val() {
            self.valid.d.next = false;
            self.measured.d.next = false;
            self.fits.d.next = false;
        }
        if self.request_valid.val() & (!self.valid.q.val() | self.take.val()) {
            self.held.d.next = self.request_data.val();
            self.valid.d.next = true;
            self.arrived.d.next = !self.stood.q.val();
            self.cutting.d.next = self.stood.q.val();
        }
        self.stood.d.next = self.request_valid.val() & !self.request_ready.val();
        self.open.next = self.fits.q.val();
        self.request.next = self.held.q.val();
        self.bytes.next = self.needs.q.val();

        if self.rst.val() {
            self.valid.d.next = false;
            self.arrived.d.next = false;
            self.cutting.d.next = false;
            self.stood.d.next = false;
            self.measured.d.next = false;
            self.fits.d.next = false;
        }
    }
}
