//! Chooses the entropy value of each packet (spec section 6).
//!
//! ```text
//!  take ──┬─> path_draw ───── drawn ──┐
//!         └─> recycle_rings ─ first ──┴─> ev, asks, until the next take
//!  echo ────────^
//! ```
//!
//! Contract: `take` says that a packet was chosen, with its destination and
//! kind; `ev` and `asks` are its own from the next clock on, until the next
//! `take`. Two clocks lie between one `take` and the next. `used` tells the
//! counters what happened, a clock later. The rest is in the two blocks.
//!
//! Verified by `testbenches/tests/path_scheduler.rs`.

use super::{PathDraw, RecycleRings};
use crate::prelude::*;
use crate::types::{PathEcho, PathUse, Settings, TableWrite};
use tessera_abi::params::Config;

#[derive(LogicBlock)]
pub struct PathScheduler {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub settings: Signal<In, Settings>,
    pub table_write: Signal<In, TableWrite>,
    pub take: Signal<In, Bit>,
    /// The packet's destination.
    pub gid: Signal<In, Bits<128>>,
    /// 0 new DATA, 1 retransmission, 2 PROBE, 3 FEEDBACK.
    pub kind: Signal<In, Bits<2>>,
    pub echo: Signal<In, PathEcho>,
    pub ev: Signal<Out, Bits<8>>,
    /// The packet is to carry AR.
    pub asks: Signal<Out, Bit>,
    pub used: Signal<Out, PathUse>,
    pub recycled: Signal<Out, Bit>,
    pub ready: Signal<Out, Bit>,
    draw: PathDraw,
    rings: RecycleRings,
    taken: Dff<Bit>,
    kept_ev: Dff<Bits<8>>,
    kept_asks: Dff<Bit>,
    tally: Dff<PathUse>,
    came_back: Dff<Bit>,
    other: Signal<Local, Bits<8>>,
}

impl PathScheduler {
    pub fn new(config: &Config) -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            settings: Default::default(),
            table_write: Default::default(),
            take: Default::default(),
            gid: Default::default(),
            kind: Default::default(),
            echo: Default::default(),
            ev: Default::default(),
            asks: Default::default(),
            used: Default::default(),
            recycled: Default::default(),
            ready: Default::default(),
            draw: PathDraw::new(),
            rings: RecycleRings::new(config),
            taken: Default::default(),
            kept_ev: Default::default(),
            kept_asks: Default::default(),
            tally: Default::default(),
            came_back: Default::default(),
            other: Default::default(),
        }
    }
}

impl Logic for PathScheduler {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, taken, kept_ev, kept_asks, tally, came_back);
        self.draw.clk.next = self.clk.val();
        self.draw.rst.next = self.rst.val();
        self.draw.settings.next = self.settings.val();
        self.draw.table_write.next = self.table_write.val();
        self.draw.take.next = self.take.val();
        self.rings.clk.next = self.clk.val();
        self.rings.rst.next = self.rst.val();
        self.rings.settings.next = self.settings.val();
        self.rings.take.next = self.take.val();
        self.rings.gid.next = self.gid.val();
        self.rings.kind.next = self.kind.val();
        self.rings.echo.next = self.echo.val();
        self.rings.explores.next = self.draw.explores.val();
        self.ready.next = self.draw.ready.val();

        self.taken.d.next = self.take.val();
        // What a ring has comes last, from its memory; a ring is used for a packet only in the clock behind
        // its take.
        self.other.next = self.kept_ev.q.val();
        self.asks.next = self.kept_asks.q.val();
        if self.taken.q.val() {
            self.other.next = self.draw.drawn.val();
            self.asks.next = self.rings.asks.val();
        }
        self.ev.next = self.other.val();
        if self.rings.recycled.val() {
            self.ev.next = self.rings.ev.val();
        }
        self.kept_ev.d.next = self.ev.val();
        self.kept_asks.d.next = self.asks.val();

        self.tally.d.next.sent = self.taken.q.val();
        self.tally.d.next.sent_ev = self.ev.val();
        self.tally.d.next.clean = self.echo.val().valid & !self.echo.val().ce;
        self.tally.d.next.ce = self.echo.val().valid & self.echo.val().ce;
        self.tally.d.next.echo_ev = self.echo.val().ev;
        self.used.next = self.tally.q.val();
        self.came_back.d.next = self.rings.recycled.val();
        self.recycled.next = self.came_back.q.val();

        if self.rst.val() {
            self.taken.d.next = false;
            self.tally.d.next.sent = false;
            self.tally.d.next.clean = false;
            self.tally.d.next.ce = false;
            self.came_back.d.next = false;
        }
    }
}
