//! Counts the packets of every slot that are between their read and the wire,
//! and says when an ended slot has none left.
//!
//! ```text
//!  up / end / down ──> read ──> the latest, ──> new count ──> write ──┬── the latest of the next two
//!  landed ──> FIFO ──^          in a register                         └── ended and 0 ──> done
//! ```
//!
//! Kept apart from the slots so that the end of a packet does not occupy them:
//! a message of small packets has as many of these as packets.
//!
//! Contract: one operation of the slots per clock, which is never refused and
//! goes before the packets that landed; those wait in a FIFO of 256. `done`
//! comes three clocks after the operation that makes it true, once per `op_end`.
//! After it the slot counts from zero again. `clear` writes zero to a slot; it
//! goes before everything else. `in_flight` and `landed_at` follow `query_slot` by
//! two clocks. They know of an `op_up` in the clock before the query, and of a packet
//! counted as landed two clocks before it; until then it is on its way. `landed_at`
//! means something once a packet of the slot has left and none is on its way.
//!
//! Verified by `testbenches/tests/flight.rs`, and as part of `tx_slots/`: rule TX-12.

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
    flying: SdpRam<Bit, 12>,
    times: SdpRam<Bits<24>, 12>,
    // Read.
    landing: Dff<Bit>,
    valid: Dff<Bit>,
    slot: Dff<Bits<12>>,
    up: Dff<Bit>,
    ends: Dff<Bit>,
    down: Dff<Bit>,
    // Counted. The operation before may have been of this slot, too.
    counts: Dff<Bit>,
    count_slot: Dff<Bits<12>>,
    more: Dff<Bit>,
    fewer: Dff<Bit>,
    closes: Dff<Bit>,
    held: Dff<FlightState>,
    again: Dff<Bit>,
    last: Dff<FlightState>,
    last_slot: Dff<Bits<12>>,
    last_valid: Dff<Bit>,
    done_now: Dff<Bit>,
    // Asked about: a clock later it is compared with the slots of the operation counted now, and
    // of the one written meanwhile.
    asked: Dff<Bits<12>>,
    /// Some were left by what was counted last.
    flew: Dff<Bit>,
    seen: Dff<Bit>,
    left_at: Dff<Bits<24>>,
    was: Signal<Local, FlightState>,
    step: Signal<Local, Bits<9>>,
    /// Not zero.
    some: Signal<Local, Bit>,
    ended: Signal<Local, Bit>,
    over: Signal<Local, Bit>,
    known: Signal<Local, Bit>,
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
            flying: SdpRam::new(slots_log2),
            times: SdpRam::new(slots_log2),
            landing: Default::default(),
            valid: Default::default(),
            slot: Default::default(),
            up: Default::default(),
            ends: Default::default(),
            down: Default::default(),
            counts: Default::default(),
            count_slot: Default::default(),
            more: Default::default(),
            fewer: Default::default(),
            closes: Default::default(),
            held: Default::default(),
            again: Default::default(),
            last: Default::default(),
            last_slot: Default::default(),
            last_valid: Default::default(),
            done_now: Default::default(),
            asked: Default::default(),
            flew: Default::default(),
            seen: Default::default(),
            left_at: Default::default(),
            was: Default::default(),
            step: Default::default(),
            some: Default::default(),
            ended: Default::default(),
            over: Default::default(),
            known: Default::default(),
            op: Default::default(),
        }
    }
}

impl Logic for Flight {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, valid, slot, up, ends, down, landing, counts, count_slot, more, fewer, closes);
        dff_setup!(self, clk, held, again, last, last_slot, last_valid, done_now, asked, flew, seen, left_at);
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

        // What comes out of the memory goes into a register: two operations are behind it by then.
        self.counts.d.next = self.valid.q.val();
        self.count_slot.d.next = self.slot.q.val();
        self.more.d.next = self.up.q.val() & !self.down.q.val();
        self.fewer.d.next = self.down.q.val() & !self.up.q.val();
        self.closes.d.next = self.ends.q.val();
        self.held.d.next = self.ram.read_data.val();
        if self.last_valid.q.val() & (self.last_slot.q.val() == self.slot.q.val()) {
            self.held.d.next = self.last.q.val();
        }
        self.again.d.next = self.counts.q.val() & (self.count_slot.q.val() == self.slot.q.val());

        self.was.next = self.held.q.val();
        if self.again.q.val() {
            self.was.next = self.last.q.val();
        }
        self.step.next = 0.into();
        if self.more.q.val() {
            self.step.next = 1.into();
        }
        if self.fewer.q.val() {
            self.step.next = 0x1FF.into();
        }
        // Beside the sum.
        self.some.next = self.more.q.val()
            | self.was.val().count.get_bits::<8>(1).any()
            | (self.was.val().count.get_bit(0) & !self.fewer.q.val());
        self.ended.next = self.was.val().ended | self.closes.q.val();
        self.over.next = self.counts.q.val() & self.ended.val() & !self.some.val();
        self.last.d.next.count = self.was.val().count + self.step.val();
        self.last.d.next.ended = self.ended.val() & self.some.val();
        self.last_slot.d.next = self.count_slot.q.val();
        self.last_valid.d.next = self.counts.q.val();
        self.done_now.d.next = self.over.val();
        self.done.next = self.done_now.q.val();
        self.done_slot.next = self.last_slot.q.val();

        self.ram.write_enable.next = self.counts.q.val();
        self.ram.write_address.next = self.count_slot.q.val();
        self.ram.write_data.next.count = self.was.val().count + self.step.val();
        self.ram.write_data.next.ended = self.ended.val() & self.some.val();
        if self.clear.val() {
            self.ram.write_enable.next = true;
            self.ram.write_address.next = self.clear_slot.val();
            self.ram.write_data.next.count = 0.into();
            self.ram.write_data.next.ended = false;
        }

        // A packet on its way is known of at once, that it landed when its time can be read.
        self.flying.write_enable.next = self.ram.write_enable.val();
        self.flying.write_address.next = self.ram.write_address.val();
        self.flying.write_data.next = self.some.val() & !self.clear.val();
        self.flying.read_address.next = self.query_slot.val();
        self.asked.d.next = self.query_slot.val();
        self.flew.d.next = self.some.val();
        self.known.next = self.flying.read_data.val();
        if self.last_valid.q.val() & (self.last_slot.q.val() == self.asked.q.val()) {
            self.known.next = self.flew.q.val();
        }
        self.seen.d.next = self.known.val()
            | (self.counts.q.val() & (self.count_slot.q.val() == self.asked.q.val()) & self.some.val());
        self.in_flight.next = self.seen.q.val();
        self.times.write_enable.next = self.landing.q.val();
        self.times.write_address.next = self.slot.q.val();
        self.times.write_data.next = self.now.val();
        self.times.read_address.next = self.query_slot.val();
        self.left_at.d.next = self.times.read_data.val();
        self.landed_at.next = self.left_at.q.val();

        if self.rst.val() {
            self.landing.d.next = false;
            self.valid.d.next = false;
            self.counts.d.next = false;
            self.last_valid.d.next = false;
            self.done_now.d.next = false;
        }
    }
}
