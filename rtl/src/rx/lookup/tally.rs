//! How much is remembered: contexts and tombstones, and tombstones alone.
//!
//! ```text
//!  opened, barred, buried ────> +1 / -1 ─┐
//!  sweep: ways cleared ──> count ────────┴──> remembered, tombstones
//! ```
//!
//! Contract: a change shows in the next clock, that of a sweep step one later;
//! in the clock between (`settling`) nothing else may change.
//!
//! Verified as part of `testbenches/tests/lookup`.

use crate::prelude::*;

#[derive(LogicBlock)]
pub struct LookupTally {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    /// A context was opened, a message that is never to open was remembered.
    pub open: Signal<In, Bit>,
    pub barred: Signal<In, Bit>,
    /// Either in the place of a tombstone.
    pub replaces: Signal<In, Bit>,
    /// A context became a tombstone.
    pub bury: Signal<In, Bit>,
    /// A sweep step clears tombstones, a bit each.
    pub sweep: Signal<In, Bit>,
    pub expired: Signal<In, Bits<8>>,
    pub settling: Signal<Out, Bit>,
    /// Contexts and tombstones.
    pub remembered: Signal<Out, Bits<17>>,
    pub tombstones: Signal<Out, Bits<17>>,

    /// Tombstones cleared in the last clock.
    swept: Dff<Bits<4>>,
    all: Dff<Bits<17>>,
    tombs: Dff<Bits<17>>,
    gone: [Signal<Local, Bits<4>>; 9],
}

impl LookupTally {
    pub fn new() -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            open: Default::default(),
            barred: Default::default(),
            replaces: Default::default(),
            bury: Default::default(),
            sweep: Default::default(),
            expired: Default::default(),
            settling: Default::default(),
            remembered: Default::default(),
            tombstones: Default::default(),
            swept: Default::default(),
            all: Default::default(),
            tombs: Default::default(),
            gone: Default::default(),
        }
    }
}

impl Logic for LookupTally {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, swept, all, tombs);
        self.gone[0].next = 0.into();
        for i in 0..8 {
            if self.expired.val().get_bit(i) {
                self.gone[i + 1].next = self.gone[i].val() + 1;
            } else {
                self.gone[i + 1].next = self.gone[i].val();
            }
        }
        self.swept.d.next = 0.into();
        if self.sweep.val() {
            self.swept.d.next = self.gone[8].val();
        }
        self.settling.next = self.swept.q.val() != 0;
        if self.swept.q.val() != 0 {
            self.all.d.next = self.all.q.val() - bit_cast::<17, 4>(self.swept.q.val());
            self.tombs.d.next = self.tombs.q.val() - bit_cast::<17, 4>(self.swept.q.val());
        } else {
            if (self.open.val() | self.barred.val()) & !self.replaces.val() {
                self.all.d.next = self.all.q.val() + 1;
            }
            if (self.barred.val() & !self.replaces.val()) | self.bury.val() {
                self.tombs.d.next = self.tombs.q.val() + 1;
            }
            if self.open.val() & self.replaces.val() {
                self.tombs.d.next = self.tombs.q.val() - 1;
            }
        }
        self.remembered.next = self.all.q.val();
        self.tombstones.next = self.tombs.q.val();

        if self.rst.val() {
            self.swept.d.next = 0.into();
            self.all.d.next = 0.into();
            self.tombs.d.next = 0.into();
        }
    }
}
