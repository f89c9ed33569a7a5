//! A FIFO of slot numbers that hands on a lone one at once, and those that go on
//! with their turns before all others.
//!
//! ```text
//!         ┌── on ───────────────────> second ─> ahead ──┐
//!  push ──┼── nothing waits ──────────────> head ───────┴──> head_valid, head_slot
//!         └──> RAM of one place per slot ──^
//! ```
//!
//! A slot is in a ring at most once, so with a place for each it never fills
//! and `push` needs no answer. Two places are ahead, who finds both taken goes
//! last. That is enough while one packet at a time is made: the head is taken
//! only while nobody is ahead, at the earliest in the clock in which the packet
//! before comes back, so of those two slots each has a place.
//!
//! Contract: one push per clock; a push into the empty ring is at the head in
//! the next clock, else the head is renewed two clocks after `take`, which is
//! ignored while `head_valid` is low.
//!
//! Verified as part of `testbenches/tests/tx_slots/`.

use crate::prelude::*;

#[derive(LogicBlock)]
pub struct SlotRing {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub push: Signal<In, Bit>,
    pub push_slot: Signal<In, Bits<12>>,
    /// Its turn is not over.
    pub push_on: Signal<In, Bit>,
    pub head_valid: Signal<Out, Bit>,
    pub head_slot: Signal<Out, Bits<12>>,
    pub take: Signal<In, Bit>,
    ram: SdpRam<Bits<12>, 12>,
    ahead: Dff<Bits<12>>,
    is_ahead: Dff<Bit>,
    /// Behind that, before all others.
    second: Dff<Bits<12>>,
    is_second: Dff<Bit>,
    head: Dff<Bits<12>>,
    held: Dff<Bit>,
    fetching: Dff<Bit>,
    read_at: Dff<Bits<12>>,
    write_at: Dff<Bits<12>>,
    used: Dff<Bits<13>>,
    /// What is taken is what is ahead; the head.
    take_ahead: Signal<Local, Bit>,
    take_head: Signal<Local, Bit>,
    /// Where the push goes.
    goes_on: Signal<Local, Bit>,
    goes_last: Signal<Local, Bit>,
    open: Signal<Local, Bit>,
    bypass: Signal<Local, Bit>,
    store: Signal<Local, Bit>,
    fetch: Signal<Local, Bit>,
}

impl SlotRing {
    /// A ring for `2^slots_log2` slots.
    pub fn new(slots_log2: usize) -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            push: Default::default(),
            push_slot: Default::default(),
            push_on: Default::default(),
            head_valid: Default::default(),
            head_slot: Default::default(),
            take: Default::default(),
            ram: SdpRam::new(slots_log2),
            ahead: Default::default(),
            is_ahead: Default::default(),
            second: Default::default(),
            is_second: Default::default(),
            head: Default::default(),
            held: Default::default(),
            fetching: Default::default(),
            read_at: Default::default(),
            write_at: Default::default(),
            used: Default::default(),
            take_ahead: Default::default(),
            take_head: Default::default(),
            goes_on: Default::default(),
            goes_last: Default::default(),
            open: Default::default(),
            bypass: Default::default(),
            store: Default::default(),
            fetch: Default::default(),
        }
    }
}

impl Logic for SlotRing {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self, clk, ahead, is_ahead, second, is_second, head, held, fetching, read_at, write_at, used
        );
        self.ram.clock.next = self.clk.val();

        self.take_ahead.next = self.take.val() & self.is_ahead.q.val();
        self.take_head.next = self.take.val() & !self.is_ahead.q.val();
        self.goes_on.next =
            self.push.val() & self.push_on.val() & (!self.is_second.q.val() | self.take.val());
        self.goes_last.next = self.push.val() & !self.goes_on.val();
        if self.take_ahead.val() {
            self.is_ahead.d.next = self.is_second.q.val();
            self.ahead.d.next = self.second.q.val();
            self.is_second.d.next = false;
        }
        if self.goes_on.val() {
            if self.is_second.q.val() | (self.is_ahead.q.val() & !self.take.val()) {
                self.is_second.d.next = true;
                self.second.d.next = self.push_slot.val();
            } else {
                self.is_ahead.d.next = true;
                self.ahead.d.next = self.push_slot.val();
            }
        }

        self.open.next = !self.held.q.val() | self.take_head.val();
        self.bypass.next =
            self.goes_last.val() & self.open.val() & !self.fetching.q.val() & (self.used.q.val() == 0);
        self.store.next = self.goes_last.val() & !self.bypass.val();
        self.fetch.next = self.open.val() & !self.fetching.q.val() & (self.used.q.val() != 0);

        self.ram.write_enable.next = self.store.val();
        self.ram.write_address.next = self.write_at.q.val();
        self.ram.write_data.next = self.push_slot.val();
        self.ram.read_address.next = self.read_at.q.val();
        if self.store.val() {
            self.write_at.d.next = self.write_at.q.val() + 1;
        }
        if self.fetch.val() {
            self.read_at.d.next = self.read_at.q.val() + 1;
        }
        if self.store.val() & !self.fetch.val() {
            self.used.d.next = self.used.q.val() + 1;
        }
        if !self.store.val() & self.fetch.val() {
            self.used.d.next = self.used.q.val() - 1;
        }
        self.fetching.d.next = self.fetch.val();

        if self.take_head.val() {
            self.held.d.next = false;
        }
        if self.bypass.val() {
            self.held.d.next = true;
            self.head.d.next = self.push_slot.val();
        }
        if self.fetching.q.val() {
            self.held.d.next = true;
            self.head.d.next = self.ram.read_data.val();
        }
        self.head_valid.next = self.held.q.val() | self.is_ahead.q.val();
        self.head_slot.next = self.head.q.val();
        if self.is_ahead.q.val() {
            self.head_slot.next = self.ahead.q.val();
        }

        if self.rst.val() {
            self.is_ahead.d.next = false;
            self.is_second.d.next = false;
            self.held.d.next = false;
            self.fetching.d.next = false;
            self.read_at.d.next = 0.into();
            self.write_at.d.next = 0.into();
            self.used.d.next = 0.into();
        }
    }
}
