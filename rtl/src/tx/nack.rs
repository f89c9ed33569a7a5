//! Turns a NACK into a walk: the zeros of its bitmap that may be sent again.
//!
//! ```text
//!  bitmap ─ not ─┐
//!  limit - base ─┼─ and ─> any? ──> walk
//!                │   └────────────> idle: a PROBE shall ask again
//!  below - base ─┤ or
//!  bitmap ───────┘ what a later one overtook
//! ```
//!
//! Contract: `launch` only while `free`; the walk or `idle` comes seven clocks
//! later and stands until it is taken; then `free` rises again.
//!
//! Verified as part of `testbenches/tests/tx_slots/`, rules TX-6 and TX-7.

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
    /// Indexes below are asked for, and were sent.
    pub limit: Signal<In, Bits<24>>,
    /// Indexes below left so long ago that the NACK has heard of them.
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
    reach: Dff<Bits<9>>,
    /// Indexes that a later one overtook: a one for each below the highest that arrived.
    overtaken: Dff<Bits<256>>,
    measured: Dff<Bit>,
    masked: Dff<Bit>,
    smeared: Dff<Bit>,
    known: Dff<Bit>,
    looked: Dff<Bit>,
    told: Dff<Bit>,
    distance: Signal<Local, Bits<24>>,
    farthest: Signal<Local, Bits<24>>,
    mask: Signal<Local, Bits<256>>,
    closely: Signal<Local, Bits<256>>,
    widely: Signal<Local, Bits<256>>,
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
            limit: Default::default(),
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
            reach: Default::default(),
            overtaken: Default::default(),
            measured: Default::default(),
            masked: Default::default(),
            smeared: Default::default(),
            known: Default::default(),
            looked: Default::default(),
            told: Default::default(),
            distance: Default::default(),
            farthest: Default::default(),
            mask: Default::default(),
            closely: Default::default(),
            widely: Default::default(),
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
        dff_setup!(
            self, clk, walk, width, reach, overtaken, measured, masked, smeared, known, looked, told,
            walking, idling, any
        );

        self.distance.next = self.below.val() - self.base.val();
        self.farthest.next = self.limit.val() - self.base.val();
        self.mask.next = !(self.ones.val() << self.reach.q.val());
        self.closely.next = self.overtaken.q.val()
            | (self.overtaken.q.val() >> 1)
            | (self.overtaken.q.val() >> 2)
            | (self.overtaken.q.val() >> 3);
        self.widely.next = self.overtaken.q.val()
            | (self.overtaken.q.val() >> 16)
            | (self.overtaken.q.val() >> 32)
            | (self.overtaken.q.val() >> 48);
        self.measured.d.next = self.launch.val();
        if self.launch.val() {
            self.walk.d.next.slot = self.slot.val();
            self.walk.d.next.generation = self.generation.val();
            self.walk.d.next.base = self.base.val();
            self.walk.d.next.bits = !self.bitmap.val();
            self.overtaken.d.next = self.bitmap.val();
            if self.below.val() <= self.base.val() {
                self.width.d.next = 0.into();
            } else {
                if self.distance.val() >= 256 {
                    self.width.d.next = 256.into();
                } else {
                    self.width.d.next = self.distance.val().get_bits::<9>(0);
                }
            }
            if self.limit.val() <= self.base.val() {
                self.reach.d.next = 0.into();
            } else {
                if self.farthest.val() >= 256 {
                    self.reach.d.next = 256.into();
                } else {
                    self.reach.d.next = self.farthest.val().get_bits::<9>(0);
                }
            }
        }
        self.masked.d.next = self.measured.q.val();
        if self.measured.q.val() {
            // Ones beyond are no packets that arrived: a block is full of them behind the
            // message's end.
            self.walk.d.next.bits = self.walk.q.val().bits & self.mask.val();
            self.overtaken.d.next = self.overtaken.q.val() & self.mask.val();
        }
        self.smeared.d.next = self.masked.q.val();
        if self.masked.q.val() {
            self.overtaken.d.next = self.closely.val()
                | (self.closely.val() >> 4)
                | (self.closely.val() >> 8)
                | (self.closely.val() >> 12);
        }
        self.known.d.next = self.smeared.q.val();
        if self.smeared.q.val() {
            self.overtaken.d.next = self.widely.val()
                | (self.widely.val() >> 64)
                | (self.widely.val() >> 128)
                | (self.widely.val() >> 192);
        }
        self.looked.d.next = self.known.q.val();
        if self.known.q.val() {
            self.walk.d.next.bits =
                self.walk.q.val().bits & (self.overtaken.q.val() | !(self.ones.val() << self.width.q.val()));
        }
        self.told.d.next = self.looked.q.val();
        self.any.d.next = self.walk.q.val().bits.any();
        if self.walk_ready.val() {
            self.walking.d.next = false;
        }
        if self.idle_ready.val() {
            self.idling.d.next = false;
        }
        if self.told.q.val() {
            self.walking.d.next = self.any.q.val();
            self.idling.d.next = !self.any.q.val();
        }

        self.free.next = !self.measured.q.val()
            & !self.masked.q.val()
            & !self.smeared.q.val()
            & !self.known.q.val()
            & !self.looked.q.val()
            & !self.told.q.val()
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
            self.smeared.d.next = false;
            self.known.d.next = false;
            self.looked.d.next = false;
            self.told.d.next = false;
            self.walking.d.next = false;
            self.idling.d.next = false;
        }
    }
}
