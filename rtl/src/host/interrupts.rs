//! A level interrupt: high while host memory has completions that the host has not
//! looked for.
//!
//! ```text
//!  written ──> count ──┐
//!  INTERRUPT_SEEN ─────┴─> differ for INTERRUPT_DELAY ──> irq
//! ```
//!
//! The host reads `count`, looks through its queues, and writes what it read as seen:
//! for what came meanwhile `irq` falls and rises again, so that none is missed, also by
//! who waits for it to rise, and none is told that was seen. An entry counts when its
//! write is over.
//!
//! Contract: `irq` rises two clocks after `written` without a delay, else once what
//! was last written as seen has not been all for `delay` ticks; it falls a clock after
//! `seen` or `enable` changed, for one clock at least. `count` follows `written` by a clock.
//!
//! Verified by `testbenches/tests/interrupts.rs` and `nic_interrupts.rs`.

use crate::prelude::*;

#[derive(LogicBlock)]
pub struct Interrupts {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    /// A completion entry is in host memory.
    pub written: Signal<In, Bit>,
    pub enable: Signal<In, Bit>,
    pub seen: Signal<In, Bits<16>>,
    /// Ticks.
    pub delay: Signal<In, Bits<16>>,
    pub now: Signal<In, Bits<32>>,
    pub count: Signal<Out, Bits<16>>,
    pub irq: Signal<Out, Bit>,
    entries: Dff<Bits<16>>,
    last_seen: Dff<Bits<16>>,
    since: Dff<Bits<16>>,
    out: Dff<Bit>,
    differs: Signal<Local, Bit>,
    waited: Signal<Local, Bits<16>>,
}

impl Interrupts {
    pub fn new() -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            written: Default::default(),
            enable: Default::default(),
            seen: Default::default(),
            delay: Default::default(),
            now: Default::default(),
            count: Default::default(),
            irq: Default::default(),
            entries: Default::default(),
            last_seen: Default::default(),
            since: Default::default(),
            out: Default::default(),
            differs: Default::default(),
            waited: Default::default(),
        }
    }
}

impl Logic for Interrupts {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, entries, last_seen, since, out);
        if self.written.val() {
            self.entries.d.next = self.entries.q.val() + 1;
        }
        self.count.next = self.entries.q.val();
        self.last_seen.d.next = self.seen.val();
        self.differs.next = self.enable.val() & (self.entries.q.val() != self.seen.val());
        // Ticks go on in 32 bits, of which a wait needs those of the longest delay: past
        // it `out` keeps what was reached.
        self.waited.next = self.now.val().get_bits::<16>(0) - self.since.q.val();
        if !self.differs.val() | (self.seen.val() != self.last_seen.q.val()) {
            self.since.d.next = self.now.val().get_bits::<16>(0);
            self.out.d.next = false;
        }
        // What the host says that it has seen ends the interrupt for a clock, even if there is more by
        // then: who waits for it to rise (the frame that wakes a kernel) is told anew.
        if self.differs.val()
            & (self.seen.val() == self.last_seen.q.val())
            & ((self.delay.val() == 0) | (self.waited.val() >= self.delay.val()))
        {
            self.out.d.next = true;
        }
        self.irq.next = self.out.q.val();

        if self.rst.val() {
            self.entries.d.next = 0.into();
            self.out.d.next = false;
        }
    }
}
