//! Which endpoint to visit next: each one with work once, in the order in which
//! the work came.
//!
//! ```text
//!   ring  ─┐                     ┌────────────── again or touched ────────────────┐
//!   poke  ─┼─> not queued yet ───┴─> FIFO ─> next ─> visit ──> (the visitor) ──> finish
//!   skip  ─┘   queued, out: touched                                               │
//!                                                     neither: no longer queued <─┘
//! ```
//!
//! A visitor that finishes without `again` may have looked before a mark came, and the clock before its visit at the
//! earliest; `touched` catches that, so no mark is ever lost. Endpoints take turns because
//! one that has more work goes to the end of the FIFO. The next one stands in a
//! register: it addresses memories of the visitor's, and the FIFO is a block RAM.
//!
//! Contract: a mark is in the FIFO one clock later and offered as `visit` three
//! clocks later at best. Of several that wait, the next is offered as soon as a visit
//! of two clocks or more is finished. `ring` and `poke` are never held back: each comes at
//! most every second clock. `finish_ready` is low in the clock after a mark. After
//! reset the marks are cleared, one per clock; those that come before `ready` are
//! lost.
//!
//! Verified by `testbenches/tests/sq_fetch` and `rq_fetch`.

use crate::prelude::*;
use crate::stream::Fifo;

#[derive(LogicBlock)]
pub struct WorkQueue {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub ring_valid: Signal<In, Bit>,
    pub ring_index: Signal<In, Bits<8>>,
    pub poke_valid: Signal<In, Bit>,
    pub poke_index: Signal<In, Bits<8>>,
    pub skip_valid: Signal<In, Bit>,
    pub skip_index: Signal<In, Bits<8>>,
    pub skip_ready: Signal<Out, Bit>,
    /// `visit_index` stands until it is visited.
    pub stands: Signal<Out, Bit>,
    /// Low while a visit is unfinished.
    pub visit_valid: Signal<Out, Bit>,
    pub visit_index: Signal<Out, Bits<8>>,
    pub visit_ready: Signal<In, Bit>,
    pub finish_valid: Signal<In, Bit>,
    /// The endpoint has more to do.
    pub finish_again: Signal<In, Bit>,
    pub finish_ready: Signal<Out, Bit>,
    /// All 256 marks are cleared.
    pub ready: Signal<Out, Bit>,
    line: Fifo<Bits<8>, 8>,
    /// Out of the FIFO, not visited yet.
    ahead: Dff<Bits<8>>,
    waits: Dff<Bit>,
    /// In the FIFO or being visited.
    queued: LutRam<Bit, 8>,
    /// Mark to clear next, then 256.
    clear_at: Dff<Bits<9>>,
    cleared: Signal<Local, Bit>,
    ring: Dff<Bit>,
    ring_at: Dff<Bits<8>>,
    poke: Dff<Bit>,
    poke_at: Dff<Bits<8>>,
    skip: Dff<Bit>,
    skip_at: Dff<Bits<8>>,
    visited: Dff<Bit>,
    current: Dff<Bits<8>>,
    touched: Dff<Bit>,
    mark: Signal<Local, Bit>,
    at: Signal<Local, Bits<8>>,
    known: Signal<Local, Bit>,
}

impl WorkQueue {
    pub fn new() -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            ring_valid: Default::default(),
            ring_index: Default::default(),
            poke_valid: Default::default(),
            poke_index: Default::default(),
            skip_valid: Default::default(),
            skip_index: Default::default(),
            skip_ready: Default::default(),
            stands: Default::default(),
            visit_valid: Default::default(),
            visit_index: Default::default(),
            visit_ready: Default::default(),
            finish_valid: Default::default(),
            finish_again: Default::default(),
            finish_ready: Default::default(),
            line: Fifo::new(8),
            ahead: Default::default(),
            waits: Default::default(),
            ready: Default::default(),
            queued: LutRam::new(),
            clear_at: Default::default(),
            cleared: Default::default(),
            ring: Default::default(),
            ring_at: Default::default(),
            poke: Default::default(),
            poke_at: Default::default(),
            skip: Default::default(),
            skip_at: Default::default(),
            visited: Default::default(),
            current: Default::default(),
            touched: Default::default(),
            mark: Default::default(),
            at: Default::default(),
            known: Default::default(),
        }
    }
}

impl Logic for WorkQueue {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self, clk, ahead, waits, clear_at, ring, ring_at, poke, poke_at, skip, skip_at, visited, current,
            touched
        );
        self.line.clk.next = self.clk.val();
        self.line.rst.next = self.rst.val();
        self.queued.clock.next = self.clk.val();
        self.cleared.next = self.clear_at.q.val().get_bit(8);
        self.ready.next = self.cleared.val();

        // One mark a clock, rings first: they cannot wait.
        self.mark.next = (self.ring.q.val() | self.poke.q.val() | self.skip.q.val()) & self.cleared.val();
        self.at.next = self.skip_at.q.val();
        if self.poke.q.val() {
            self.at.next = self.poke_at.q.val();
        }
        if self.ring.q.val() {
            self.at.next = self.ring_at.q.val();
        }
        self.ring.d.next = self.ring_valid.val();
        self.ring_at.d.next = self.ring_index.val();
        self.poke.d.next = self.poke_valid.val() | (self.poke.q.val() & self.ring.q.val());
        if self.poke_valid.val() {
            self.poke_at.d.next = self.poke_index.val();
        }
        self.skip_ready.next = !self.skip.q.val();
        if self.skip.q.val() {
            self.skip.d.next = self.ring.q.val() | self.poke.q.val();
        } else {
            self.skip.d.next = self.skip_valid.val();
            self.skip_at.d.next = self.skip_index.val();
        }

        self.queued.read_address.next = self.at.val();
        self.known.next = self.queued.read_data.val();
        // One write a clock: a mark, or the end of a visit.
        self.queued.write_enable.next = self.mark.val();
        self.queued.write_address.next = self.at.val();
        self.queued.write_data.next = self.mark.val();
        self.line.in_valid.next = false;
        self.line.in_data.next = self.current.q.val();
        self.finish_ready.next = !self.mark.val();
        self.stands.next = self.waits.q.val();
        self.visit_valid.next = self.waits.q.val() & !self.visited.q.val();
        self.visit_index.next = self.ahead.q.val();
        self.line.out_ready.next = !self.waits.q.val();
        if !self.waits.q.val() {
            self.waits.d.next = self.line.out_valid.val();
            self.ahead.d.next = self.line.out_data.val();
        }
        if self.waits.q.val() & self.visit_ready.val() & !self.visited.q.val() {
            self.waits.d.next = false;
            self.visited.d.next = true;
            self.current.d.next = self.ahead.q.val();
            // The visitor may have looked a clock ago.
            self.touched.d.next = self.mark.val() & (self.at.val() == self.ahead.q.val());
        }

        if self.mark.val() {
            if self.known.val() {
                if self.visited.q.val() & (self.at.val() == self.current.q.val()) {
                    self.touched.d.next = true;
                }
            } else {
                self.line.in_valid.next = true;
                self.line.in_data.next = self.at.val();
            }
        } else {
            self.queued.write_address.next = self.current.q.val();
            if self.finish_valid.val() {
                self.visited.d.next = false;
                if self.finish_again.val() | self.touched.q.val() {
                    self.line.in_valid.next = true;
                } else {
                    self.queued.write_enable.next = true;
                }
            }
        }

        if !self.cleared.val() {
            self.clear_at.d.next = self.clear_at.q.val() + 1;
            self.queued.write_enable.next = true;
            self.queued.write_address.next = self.clear_at.q.val().get_bits::<8>(0);
        }

        if self.rst.val() {
            self.clear_at.d.next = 0.into();
            self.ring.d.next = false;
            self.poke.d.next = false;
            self.skip.d.next = false;
            self.waits.d.next = false;
            self.visited.d.next = false;
        }
    }
}
