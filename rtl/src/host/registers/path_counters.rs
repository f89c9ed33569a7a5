//! What happened to each entropy value: packets sent, echoes that came back
//! clean, echoes with congestion-experienced. Three banks of 256 counters of 32
//! bits in one RAM.
//!
//! ```text
//!  sent ───────────> bank 0, value ─┐
//!  clean, CE ─ held > bank 1, 2     ├─> RAM ─> register ─> + 1 ─> RAM
//!  read ────── held > any          ─┘              └──> value
//! ```
//!
//! Contract: `sent` at most every second clock, an echo at most every third;
//! nothing is lost, and no counter counts in two clocks in a row. `value_valid` comes 3 clocks after `read` or soon after: a
//! read waits for a clock without an event. Counters start from 0 after reset
//! (`ready`: 1024 clocks later; what happens before is not counted) and wrap.
//!
//! Verified by `testbenches/tests/registers/`.

use crate::host::cleared_ram::ClearedRam;
use crate::prelude::*;
use crate::types::PathUse;

#[derive(LogicBlock)]
pub struct PathCounters {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub used: Signal<In, PathUse>,
    /// One clock: fetch a counter, bank in the upper two bits.
    pub read: Signal<In, Bit>,
    pub read_index: Signal<In, Bits<10>>,
    pub value_valid: Signal<Out, Bit>,
    pub value: Signal<Out, Bits<32>>,
    pub ready: Signal<Out, Bit>,
    ram: ClearedRam<Bits<32>, 10>,
    echo: Dff<Bit>,
    echo_at: Dff<Bits<10>>,
    asked: Dff<Bit>,
    asked_at: Dff<Bits<10>>,
    counts: Dff<Bit>,
    looks: Dff<Bit>,
    at: Dff<Bits<10>>,
    // What was read, and goes back with one more.
    found: Dff<Bits<32>>,
    found_at: Dff<Bits<10>>,
    adds: Dff<Bit>,
    shows: Dff<Bit>,
    // What was written last, in the clock in which a counter was read. A counter counts every
    // second clock at most: what is written now is of another one, or read without it.
    last: Dff<Bits<32>>,
    last_at: Dff<Bits<10>>,
    last_valid: Dff<Bit>,
    more: Signal<Local, Bits<32>>,
    place: Signal<Local, Bits<10>>,
    old: Signal<Local, Bits<32>>,
    clean_bank: Constant<Bits<10>>,
    ce_bank: Constant<Bits<10>>,
}

impl PathCounters {
    pub fn new() -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            used: Default::default(),
            read: Default::default(),
            read_index: Default::default(),
            value_valid: Default::default(),
            value: Default::default(),
            ready: Default::default(),
            ram: ClearedRam::new(10, "block"),
            echo: Default::default(),
            echo_at: Default::default(),
            asked: Default::default(),
            asked_at: Default::default(),
            counts: Default::default(),
            looks: Default::default(),
            at: Default::default(),
            found: Default::default(),
            found_at: Default::default(),
            adds: Default::default(),
            shows: Default::default(),
            last: Default::default(),
            last_at: Default::default(),
            last_valid: Default::default(),
            more: Default::default(),
            place: Default::default(),
            old: Default::default(),
            clean_bank: Constant::new(256u64.into()),
            ce_bank: Constant::new(512u64.into()),
        }
    }
}

impl Logic for PathCounters {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, echo, echo_at, asked, asked_at, counts, looks, at);
        dff_setup!(self, clk, found, found_at, adds, shows, last, last_at, last_valid);
        self.ram.clk.next = self.clk.val();
        self.ram.rst.next = self.rst.val();
        self.ready.next = self.ram.ready.val();

        self.counts.d.next = self.used.val().sent | self.echo.q.val();
        self.looks.d.next = false;
        self.place.next = bit_cast::<10, 8>(self.used.val().sent_ev);
        if !self.used.val().sent {
            self.echo.d.next = false;
            self.place.next = self.echo_at.q.val();
            if !self.echo.q.val() {
                self.asked.d.next = false;
                self.looks.d.next = self.asked.q.val();
                self.place.next = self.asked_at.q.val();
            }
        }
        if self.used.val().clean | self.used.val().ce {
            self.echo.d.next = true;
            self.echo_at.d.next = bit_cast::<10, 8>(self.used.val().echo_ev) | self.clean_bank.val();
            if self.used.val().ce {
                self.echo_at.d.next = bit_cast::<10, 8>(self.used.val().echo_ev) | self.ce_bank.val();
            }
        }
        if self.read.val() {
            self.asked.d.next = true;
            self.asked_at.d.next = self.read_index.val();
        }
        self.at.d.next = self.place.val();
        self.ram.read_address.next = self.place.val();

        self.more.next = self.found.q.val() + 1;
        self.old.next = self.ram.read_data.val();
        if self.last_valid.q.val() & (self.last_at.q.val() == self.at.q.val()) {
            self.old.next = self.last.q.val();
        }
        self.found.d.next = self.old.val();
        self.found_at.d.next = self.at.q.val();
        self.adds.d.next = self.counts.q.val() & self.ram.ready.val();
        self.shows.d.next = self.looks.q.val();
        self.value_valid.next = self.shows.q.val();
        self.value.next = self.found.q.val();

        self.ram.write_enable.next = self.adds.q.val();
        self.ram.write_address.next = self.found_at.q.val();
        self.ram.write_data.next = self.more.val();
        self.last.d.next = self.more.val();
        self.last_at.d.next = self.found_at.q.val();
        self.last_valid.d.next = self.adds.q.val();

        if self.rst.val() {
            self.echo.d.next = false;
            self.asked.d.next = false;
            self.counts.d.next = false;
            self.looks.d.next = false;
            self.adds.d.next = false;
            self.shows.d.next = false;
            self.last_valid.d.next = false;
        }
    }
}
