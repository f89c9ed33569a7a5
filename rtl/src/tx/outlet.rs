//! Says when another packet may be tried, offers the one that is to go, and
//! measures how long packets take from there to the wire.
//!
//! One packet at a time is between its job and the next block, so that the
//! packet maker's register needs no copy; and fewer than 252 are on their way,
//! so that their ends, which cannot be refused, always have a place.
//!
//! Contract: `start` (a job that may send enters the pipeline) only while
//! `room`; four clocks later `tried`, with `send` if it does send, in which clock
//! the packet is offered. `landed` and `failed`: one packet fewer on its way.
//! `lag` is what the last packet that was timed took, or what the one that is timed
//! has taken until now if that is longer; packets land in the order they are made,
//! so one is timed at a time by those before it.
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
    /// Ticks.
    pub now: Signal<In, Bits<24>>,
    /// From a packet's choice to its departure, ticks.
    pub lag: Signal<Out, Bits<24>>,
    busy: Dff<Bit>,
    held: Dff<Bit>,
    in_air: Dff<Bits<9>>,
    /// A packet is timed: since when, and how many are to land until it has.
    timing: Dff<Bit>,
    timed_at: Dff<Bits<24>>,
    timed: Dff<Bits<9>>,
    took: Dff<Bits<24>>,
    out: Dff<Bits<24>>,
    taking: Signal<Local, Bits<24>>,
    earlier: Signal<Local, Bits<9>>,
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
            now: Default::default(),
            lag: Default::default(),
            busy: Default::default(),
            held: Default::default(),
            in_air: Default::default(),
            timing: Default::default(),
            timed_at: Default::default(),
            timed: Default::default(),
            took: Default::default(),
            out: Default::default(),
            taking: Default::default(),
            earlier: Default::default(),
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
        dff_setup!(self, clk, busy, held, in_air, timing, timed_at, timed, took, out);
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

        self.taking.next = self.now.val() - self.timed_at.q.val();
        self.earlier.next = self.timed.q.val() - self.lands.val() - self.fails.val();
        self.timed.d.next = self.earlier.val();
        self.out.d.next = self.took.q.val();
        if self.timing.q.val() & (self.taking.val() > self.took.q.val()) {
            self.out.d.next = self.taking.val();
        }
        self.lag.next = self.out.q.val();
        if self.timing.q.val() & (self.earlier.val() == 0) {
            self.timing.d.next = false;
            self.took.d.next = self.taking.val();
        }
        if !self.timing.q.val() & self.send.val() {
            self.timing.d.next = true;
            self.timed_at.d.next = self.now.val();
            self.timed.d.next = self.in_air.q.val() + self.rises.val() - self.lands.val() - self.fails.val();
        }

        if self.rst.val() {
            self.busy.d.next = false;
            self.held.d.next = false;
            self.in_air.d.next = 0.into();
            self.timing.d.next = false;
            self.took.d.next = 0.into();
            self.out.d.next = 0.into();
        }
    }
}
