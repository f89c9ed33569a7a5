//! Counts the packets of every slot that are between their read and the wire,
//! and says when an ended slot has none left.
//!
//! ```text
//!  up / end / down ──> read count ──> new count ──> write ──┬── forwarded to the next
//!  landed ──> FIFO ──^                                      └── ended and 0 ──> done
//! ```
//!
//! Kept apart from the slots so that the end of a packet does not occupy them:
//! a message of small packets has as many of these as packets.
//!
//! Contract: one operation of the slots per clock, which is never refused and
//! goes before the packets that landed; those wait in a FIFO of 256. `done`
//! comes two clocks after the operation that makes it true, once per `op_end`.
//! After it the slot counts from zero again. `clear` writes zero to a slot; it
//! goes before everything else. `in_flight` and `landed` follow `query_slot` by a
//! clock, and know of an operation three clocks after it; `landed` means
//! something once a packet of the slot has left.
//!
//! Verified as part of `testbenches/tests/tx_slots/`, rule TX-12.

use crate::prelude::*;
use crate::stream::Fifo;

/// Packets of a slot on their way.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct FlightState {
    pub count: Bits<9>,
    /// The slot waits for zero.
    pub ended: Bit,
}

#[derive(LogicBlock)]
pub struct Flight {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub clear: Signal<In, Bit>,
    pub clear_slot: Signal<In, Bits<12>>,
    pub op_slot: Signal<In, Bits<12>>,
    /// One more packet on its way.
    pub op_up: Signal<In, Bit>,
    /// The slot ended.
    pub op_end: Signal<In, Bit>,
    /// One packet fewer; may come with `op_end`.
    pub op_down: Signal<In, Bit>,
    /// Pulse: a packet of this slot has left.
    pub landed: Signal<In, Bit>,
    pub landed_slot: Signal<In, Bits<12>>,
    /// Ticks.
    pub now: Signal<In, Bits<24>>,
    pub query_slot: Signal<In, Bits<12>>,
    /// Packets of the slot asked about are on their way.
    pub in_flight: Signal<Out, Bit>,
    /// When the last of them left.
    pub landed_at: Signal<Out, Bits<24>>,
    /// Pulse: a landed packet was counted.
    pub counted: Signal<Out, Bit>,
    pub done: Signal<Out, Bit>,
    pub done_slot: Signal<Out, Bits<12>>,
    ram: SdpRam<FlightState, 12>,
    arrivals: Fifo<Bits<12>, 8>,
    flying: SdpRam<Bits<1>, 12>,
    times: SdpRam<Bits<24>, 12>,
    landing: Dff<Bit>,
    valid: Dff<Bit>,
    slot: Dff<Bits<12>>,
    up: Dff<Bit>,
    ends: Dff<Bit>,
    down: Dff<Bit>,
    last: Dff<FlightState>,
    last_slot: Dff<Bits<12>>,
    last_valid: Dff<Bit>,
    done_now: Dff<Bit>,
    held: Signal<Local, FlightState>,
    counts: Signal<Local, Bits<9>>,
    ended: Signal<Local, Bit>,
    over: Signal<Local, Bit>,
    op: Signal<Local, Bit>,
}

impl Flight {
    /// Counters for `2^slots_log2` slots.
    pub fn new(slots_log2: usize) -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            clear: Default::default(),
            clear_slot: Default::default(),
            op_slot: Default::default(),
            op_up: Default::default(),
            op_end: Default::default(),
            op_down: Default::default(),
            landed: Default::default(),
            landed_slot: Default::default(),
            now: Default::default(),
            query_slot: Default::default(),
            in_flight: Default::default(),
            landed_at: Default::default(),
            counted: Default::default(),
            done: Default::default(),
            done_slot: Default::default(),
            ram: SdpRam::new(slots_log2),
            arrivals: Fifo::new(8),
            // Asked about at any time, also while a packet of the slot leaves.
            flying: SdpRam::new(slots_log2).reads_old(),
            times: SdpRam::new(slots_log2).reads_old(),
            landing: Default::default(),
            valid: Default::default(),
            slot: Default::default(),
            up: Default::default(),
            ends: Default::default(),
            down: Default::default(),
            last: Default::default(),
            last_slot: Default::default(),
            last_valid: Default::default(),
            done_now: Default::default(),
            held: Default::default(),
            counts: Default::default(),
            ended: Default::default(),
            over: Default::default(),
            op: Default::default(),
        }
    }
}

impl Logic for Flight {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, valid, slot, up, ends, down, last, last_slot, last_valid, done_now, landing);
        self.ram.clock.next = self.clk.val();
        self.flying.clock.next = self.clk.val();
        self.times.clock.next = self.clk.val();
        self.arrivals.clk.next = self.clk.val();
        self.arrivals.rst.next = self.rst.val();

        self.op.next = self.op_up.val() | self.op_end.val() | self.op_down.val();
        self.arrivals.in_valid.next = self.landed.val();
        self.arrivals.in_data.next = self.landed_slot.val();
        self.arrivals.out_ready.next = !self.op.val();
        self.counted.next = self.arrivals.out_valid.val() & !self.op.val();

        self.landing.d.next = self.counted.val();
        self.valid.d.next = self.op.val() | self.arrivals.out_valid.val();
        if self.op.val() {
            self.slot.d.next = self.op_slot.val();
            self.up.d.next = self.op_up.val();
            self.ends.d.next = self.op_end.val();
            self.down.d.next = self.op_down.val();
            self.ram.read_address.next = self.op_slot.val();
        } else {
            self.slot.d.next = self.arrivals.out_data.val();
            self.up.d.next = false;
            self.ends.d.next = false;
            self.down.d.next = true;
            self.ram.read_address.next = self.arrivals.out_data.val();
        }

        self.held.next = self.ram.read_data.val();
        if self.last_valid.q.val() & (self.last_slot.q.val() == self.slot.q.val()) {
            self.held.next = self.last.q.val();
        }
        self.counts.next = self.held.val().count;
        if self.up.q.val() & !self.down.q.val() {
            self.counts.next = self.held.val().count + 1;
        }
        if !self.up.q.val() & self.down.q.val() {
            self.counts.next = self.held.val().count - 1;
        }
        self.ended.next = self.held.val().ended | self.ends.q.val();
        self.over.next = self.valid.q.val() & self.ended.val() & (self.counts.val() == 0);
        self.last.d.next.count = self.counts.val();
        self.last.d.next.ended = self.ended.val() & !self.over.val();
        self.last_slot.d.next = self.slot.q.val();
        self.last_valid.d.next = self.valid.q.val();
        self.done_now.d.next = self.over.val();
        self.done.next = self.done_now.q.val();
        self.done_slot.next = self.last_slot.q.val();

        self.ram.write_enable.next = self.valid.q.val();
        self.ram.write_address.next = self.slot.q.val();
        self.ram.write_data.next.count = self.counts.val();
        self.ram.write_data.next.ended = self.ended.val() & !self.over.val();
        if self.clear.val() {
            self.ram.write_enable.next = true;
            self.ram.write_address.next = self.clear_slot.val();
            self.ram.write_data.next.count = 0.into();
            self.ram.write_data.next.ended = false;
        }

        self.flying.write_enable.next = self.ram.write_enable.val();
        self.flying.write_address.next = self.ram.write_address.val();
        self.flying.write_data.next = 0.into();
        if (self.counts.val() != 0) & !self.clear.val() {
            self.flying.write_data.next = 1.into();
        }
        self.flying.read_address.next = self.query_slot.val();
        self.in_flight.next = self.flying.read_data.val().get_bit(0);
        self.times.write_enable.next = self.landing.q.val();
        self.times.write_address.next = self.slot.q.val();
        self.times.write_data.next = self.now.val();
        self.times.read_address.next = self.query_slot.val();
        self.landed_at.next = self.times.read_data.val();

        if self.rst.val() {
            self.landing.d.next = false;
            self.valid.d.next = false;
            self.last_valid.d.next = false;
            self.done_now.d.next = false;
        }
    }
}
