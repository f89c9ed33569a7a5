//! Turns a NACK into a walk: the zeros of its bitmap that may be sent again.
//!
//! ```text
//!  bitmap ─ not ─┐
//!                ├─ and ─> any? ──> walk
//!  below - base ─┘ ones      └────> idle: a PROBE shall ask again
//! ```
//!
//! Contract: `launch` only while `free`; the walk or `idle` comes four clocks
//! later and stands until it is taken; then `free` rises again.
//!
//! Verified as part of `testbenches/tests/tx_slots/`, rule TX-7.

use crate::prelude::*;
use crate::types::Walk;

#[derive(LogicBlock)]
pub struct Nack {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub launch: Signal<In, Bit>,
    pub slot: Signal<In, Bits<12>>,
    pub generation: Signal<In, Bits<20>>,
    pub base: Signal<In, Bits<24>>,
    /// Indexes below may be sent again.
    pub below: Signal<In, Bits<24>>,
    /// 1 = arrived.
    pub bitmap: Signal<In, Bits<256>>,
    pub free: Signal<Out, Bit>,
    pub walk_valid: Signal<Out, Bit>,
    pub walk_data: Signal<Out, Walk>,
    pub walk_ready: Signal<In, Bit>,
    pub idle_valid: Signal<Out, Bit>,
    pub idle_slot: Signal<Out, Bits<12>>,
    pub idle_generation: Signal<Out, Bits<20>>,
    pub idle_ready: Signal<In, Bit>,
    walk: Dff<Walk>,
    /// Indexes of the block that may be sent again, 0..=256.
    width: Dff<Bits<9>>,
    measured: Dff<Bit>,
    masked: Dff<Bit>,
    looked: Dff<Bit>,
    distance: Signal<Local, Bits<24>>,
    walking: Dff<Bit>,
    idling: Dff<Bit>,
    any: Dff<Bit>,
    ones: Constant<Bits<256>>,
}

impl Nack {
    pub fn new() -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            launch: Default::default(),
            slot: Default::default(),
            generation: Default::default(),
            base: Default::default(),
            below: Default::default(),
            bitmap: Default::default(),
            free: Default::default(),
            walk_valid: Default::default(),
            walk_data: Default::default(),
            walk_ready: Default::default(),
            idle_valid: Default::default(),
            idle_slot: Default::default(),
            idle_generation: Default::default(),
            idle_ready: Default::default(),
            walk: Default::default(),
            width: Default::default(),
            measured: Default::default(),
            masked: Default::default(),
            looked: Default::default(),
            distance: Default::default(),
            walking: Default::default(),
            idling: Default::default(),
            any: Default::default(),
            ones: Constant::new(!Bits::<256>::default()),
        }
    }
}

impl Logic for Nack {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, walk, width, measured, masked, looked, walking, idling, any);

        self.distance.next = self.below.val() - self.base.val();
        self.measured.d.next = self.launch.val();
        if self.launch.val() {
            self.walk.d.next.slot = self.slot.val();
            self.walk.d.next.generation = self.generation.val();
            self.walk.d.next.base = self.base.val();
            self.walk.d.next.bits = !self.bitmap.val();
            if self.below.val() <= self.base.val() {
                self.width.d.next = 0.into();
            } else {
                if self.distance.val() >= 256 {
                    self.width.d.next = 256.into();
                } else {
                    self.width.d.next = self.distance.val().get_bits::<9>(0);
                }
            }
        }
        self.masked.d.next = self.measured.q.val();
        if self.measured.q.val() {
            self.walk.d.next.bits = self.walk.q.val().bits & !(self.ones.val() << self.width.q.val());
        }
        self.looked.d.next = self.masked.q.val();
        self.any.d.next = self.walk.q.val().bits.any();
        if self.walk_ready.val() {
            self.walking.d.next = false;
        }
        if self.idle_ready.val() {
            self.idling.d.next = false;
        }
        if self.looked.q.val() {
            self.walking.d.next = self.any.q.val();
            self.idling.d.next = !self.any.q.val();
        }

        self.free.next = !self.measured.q.val()
            & !self.masked.q.val()
            & !self.looked.q.val()
            & !self.walking.q.val()
            & !self.idling.q.val();
        self.walk_valid.next = self.walking.q.val();
        self.walk_data.next = self.walk.q.val();
        self.idle_valid.next = self.idling.q.val();
        self.idle_slot.next = self.walk.q.val().slot;
        self.idle_generation.next = self.walk.q.val().generation;

        if self.rst.val() {
            self.measured.d.next = false;
            self.masked.d.next = false;
            self.looked.d.next = false;
            self.walking.d.next = false;
            self.idling.d.next = false;
        }
    }
}
