//! How much is remembered: contexts and tombstones, and tombstones alone.
//!
//! ```text
//!  opened, barred, buried ────> +1 / -1 ─┐
//!  sweep: ways cleared ──> count ────────┴──> remembered, tombstones
//! ```
//!
//! Contract: a change shows two clocks later, that of a sweep step one later; in the
//! clock of a step and the next (`settling`) nothing else may come.
//!
//! Verified as part of `testbenches/tests/lookup`.

use crate::prelude::*;
use tessera_abi::params::Config;

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
    /// Another may be remembered: a change shows a clock later than in `remembered`.
    pub below: Signal<Out, Bit>,

    // What came in the last clock: it is decided late.
    adds: Dff<Bit>,
    adds_tomb: Dff<Bit>,
    revives: Dff<Bit>,
    /// Ways cleared in the last clock, and how many in that before.
    cleared: Dff<Bits<8>>,
    swept: Dff<Bits<4>>,
    all: Dff<Bits<17>>,
    tombs: Dff<Bits<17>>,
    is_below: Dff<Bit>,
    limit: Constant<Bits<17>>,
    gone: [Signal<Local, Bits<4>>; 9],
}

impl LookupTally {
    /// With the tombstone limit of a configuration.
    pub fn new(config: &Config) -> Self {
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
            below: Default::default(),
            adds: Default::default(),
            adds_tomb: Default::default(),
            revives: Default::default(),
            cleared: Default::default(),
            swept: Default::default(),
            all: Default::default(),
            tombs: Default::default(),
            is_below: Default::default(),
            limit: Constant::new((config.tombstones as u64).into()),
            gone: Default::default(),
        }
    }
}

impl Logic for LookupTally {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, adds, adds_tomb, revives, cleared, swept, all, tombs, is_below);
        self.gone[0].next = 0.into();
        for i in 0..8 {
            if self.cleared.q.val().get_bit(i) {
                self.gone[i + 1].next = self.gone[i].val() + 1;
            } else {
                self.gone[i + 1].next = self.gone[i].val();
            }
        }
        self.adds.d.next = (self.open.val() | self.barred.val()) & !self.replaces.val();
        self.adds_tomb.d.next = (self.barred.val() & !self.replaces.val()) | self.bury.val();
        self.revives.d.next = self.open.val() & self.replaces.val();
        self.cleared.d.next = 0.into();
        if self.sweep.val() {
            self.cleared.d.next = self.expired.val();
        }
        self.settling.next = self.cleared.q.val().any();
        self.swept.d.next = self.gone[8].val();
        if self.swept.q.val() != 0 {
            self.all.d.next = self.all.q.val() - bit_cast::<17, 4>(self.swept.q.val());
            self.tombs.d.next = self.tombs.q.val() - bit_cast::<17, 4>(self.swept.q.val());
        } else {
            if self.adds.q.val() {
                self.all.d.next = self.all.q.val() + 1;
            }
            if self.adds_tomb.q.val() {
                self.tombs.d.next = self.tombs.q.val() + 1;
            }
            if self.revives.q.val() {
                self.tombs.d.next = self.tombs.q.val() - 1;
            }
        }
        // In front of a comparison with what is found it would be late.
        self.is_below.d.next = self.all.q.val() < self.limit.val();
        self.below.next = self.is_below.q.val();
        self.remembered.next = self.all.q.val();
        self.tombstones.next = self.tombs.q.val();

        if self.rst.val() {
            self.adds.d.next = false;
            self.adds_tomb.d.next = false;
            self.revives.d.next = false;
            self.cleared.d.next = 0.into();
            self.swept.d.next = 0.into();
            self.all.d.next = 0.into();
            self.tombs.d.next = 0.into();
            self.is_below.d.next = false;
        }
    }
}
