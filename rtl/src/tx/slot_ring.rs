//! A FIFO of slot numbers that hands on a lone one at once.
//!
//! ```text
//!  push ──┬── nothing waits ──────────────> head ──> head_valid, head_slot
//!         └──> RAM of one place per slot ──^
//! ```
//!
//! A slot is in a ring at most once, so with a place for each it never fills
//! and `push` needs no answer.
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
    pub head_valid: Signal<Out, Bit>,
    pub head_slot: Signal<Out, Bits<12>>,
    pub take: Signal<In, Bit>,
    ram: SdpRam<Bits<12>, 12>,
    head: Dff<Bits<12>>,
    held: Dff<Bit>,
    fetching: Dff<Bit>,
    read_at: Dff<Bits<12>>,
    write_at: Dff<Bits<12>>,
    used: Dff<Bits<13>>,
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
            head_valid: Default::default(),
            head_slot: Default::default(),
            take: Default::default(),
            ram: SdpRam::new(slots_log2),
            head: Default::default(),
            held: Default::default(),
            fetching: Default::default(),
            read_at: Default::default(),
            write_at: Default::default(),
            used: Default::default(),
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
        dff_setup!(self, clk, head, held, fetching, read_at, write_at, used);
        self.ram.clock.next = self.clk.val();

        self.open.next = !self.held.q.val() | self.take.val();
        self.bypass.next =
            self.push.val() & self.open.val() & !self.fetching.q.val() & (self.used.q.val() == 0);
        self.store.next = self.push.val() & !self.bypass.val();
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

        if self.take.val() {
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
        self.head_valid.next = self.held.q.val();
        self.head_slot.next = self.head.q.val();

        if self.rst.val() {
            self.held.d.next = false;
            self.fetching.d.next = false;
            self.read_at.d.next = 0.into();
            self.write_at.d.next = 0.into();
            self.used.d.next = 0.into();
        }
    }
}
