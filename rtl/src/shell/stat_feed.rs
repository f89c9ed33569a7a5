//! Counts of frames on their way to Corundum's statistics.
//!
//! ```text
//!  pulse 0 ─> sum ─┐
//!  pulse 1 ─> sum ─┴─ in turn, when not 0 ─> stat (sum, ID)
//! ```
//!
//! Contract: nothing is lost below 2^24 pulses per wait; `tid` is `base` and the one behind it;
//! what is offered stays. Outputs depend on registers only.
//!
//! Verified by `testbenches/tests/corundum.rs`.

use crate::prelude::*;

#[derive(LogicBlock)]
pub struct StatFeed {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub base: Signal<In, Bits<12>>,
    pub pulse_0: Signal<In, Bit>,
    pub pulse_1: Signal<In, Bit>,
    pub stat_tdata: Signal<Out, Bits<24>>,
    pub stat_tid: Signal<Out, Bits<12>>,
    pub stat_tvalid: Signal<Out, Bit>,
    pub stat_tready: Signal<In, Bit>,
    sum_0: Dff<Bits<24>>,
    sum_1: Dff<Bits<24>>,
    /// Which is offered, what, and whether.
    which: Dff<Bit>,
    offer: Dff<Bits<24>>,
    offers: Dff<Bit>,
    room: Signal<Local, Bit>,
}

impl StatFeed {
    pub fn new() -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            base: Default::default(),
            pulse_0: Default::default(),
            pulse_1: Default::default(),
            stat_tdata: Default::default(),
            stat_tid: Default::default(),
            stat_tvalid: Default::default(),
            stat_tready: Default::default(),
            sum_0: Default::default(),
            sum_1: Default::default(),
            which: Default::default(),
            offer: Default::default(),
            offers: Default::default(),
            room: Default::default(),
        }
    }
}

impl Logic for StatFeed {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, sum_0, sum_1, which, offer, offers);
        self.stat_tvalid.next = self.offers.q.val();
        self.stat_tdata.next = self.offer.q.val();
        self.stat_tid.next = self.base.val();
        if self.which.q.val() {
            self.stat_tid.next = self.base.val() + 1;
        }
        self.room.next = !self.offers.q.val() | self.stat_tready.val();
        if self.pulse_0.val() {
            self.sum_0.d.next = self.sum_0.q.val() + 1;
        }
        if self.pulse_1.val() {
            self.sum_1.d.next = self.sum_1.q.val() + 1;
        }
        if self.room.val() {
            self.which.d.next = !self.which.q.val();
            if self.which.q.val() {
                self.offer.d.next = self.sum_0.q.val();
                self.offers.d.next = self.sum_0.q.val() != 0;
                self.sum_0.d.next = 0.into();
                if self.pulse_0.val() {
                    self.sum_0.d.next = 1.into();
                }
            } else {
                self.offer.d.next = self.sum_1.q.val();
                self.offers.d.next = self.sum_1.q.val() != 0;
                self.sum_1.d.next = 0.into();
                if self.pulse_1.val() {
                    self.sum_1.d.next = 1.into();
                }
            }
        }
        if self.rst.val() {
            self.sum_0.d.next = 0.into();
            self.sum_1.d.next = 0.into();
            self.which.d.next = false;
            self.offers.d.next = false;
        }
    }
}
