//! Says when another packet may be tried, and offers the one that is to go.
//!
//! One packet at a time is between its job and the next block, so that the
//! packet maker's register needs no copy; and fewer than 252 are on their way,
//! so that their ends, which cannot be refused, always have a place.
//!
//! Contract: `start` (a job that may send enters the pipeline) only while
//! `room`; four clocks later `tried`, with `send` if it does send, in which clock
//! the packet is offered. `landed` and `failed`: one packet fewer on its way.
//!
//! Verified as part of `testbenches/tests/tx_slots`.

use crate::prelude::*;

#[derive(LogicBlock)]
pub struct Outlet {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub room: Signal<Out, Bit>,
    pub start: Signal<In, Bit>,
    pub tried: Signal<In, Bit>,
    pub send: Signal<In, Bit>,
    pub landed: Signal<In, Bit>,
    pub failed: Signal<In, Bit>,
    pub packet_valid: Signal<Out, Bit>,
    pub packet_ready: Signal<In, Bit>,
    busy: Dff<Bit>,
    held: Dff<Bit>,
    in_air: Dff<Bits<9>>,
    offered: Signal<Local, Bit>,
    over: Signal<Local, Bit>,
    rises: Signal<Local, Bits<9>>,
    lands: Signal<Local, Bits<9>>,
    fails: Signal<Local, Bits<9>>,
}

impl Outlet {
    pub fn new() -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            room: Default::default(),
            start: Default::default(),
            tried: Default::default(),
            send: Default::default(),
            landed: Default::default(),
            failed: Default::default(),
            packet_valid: Default::default(),
            packet_ready: Default::default(),
            busy: Default::default(),
            held: Default::default(),
            in_air: Default::default(),
            offered: Default::default(),
            over: Default::default(),
            rises: Default::default(),
            lands: Default::default(),
            fails: Default::default(),
        }
    }
}

impl Logic for Outlet {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, busy, held, in_air);
        self.offered.next = self.held.q.val() | self.send.val();
        self.over.next =
            (self.offered.val() & self.packet_ready.val()) | (self.tried.val() & !self.send.val());
        self.room.next = (!self.busy.q.val() | self.over.val()) & (self.in_air.q.val() < 250);
        if self.over.val() {
            self.busy.d.next = false;
        }
        if self.start.val() {
            self.busy.d.next = true;
        }
        self.held.d.next = self.offered.val() & !self.packet_ready.val();
        self.packet_valid.next = self.offered.val();

        self.rises.next = bit_cast::<9, 1>(self.send.val().into());
        self.lands.next = bit_cast::<9, 1>(self.landed.val().into());
        self.fails.next = bit_cast::<9, 1>(self.failed.val().into());
        self.in_air.d.next = self.in_air.q.val() + self.rises.val() - self.lands.val() - self.fails.val();

        if self.rst.val() {
            self.busy.d.next = false;
            self.held.d.next = false;
            self.in_air.d.next = 0.into();
        }
    }
}
