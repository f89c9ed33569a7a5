//! Turns a NACK into a walk: the zeros of its bitmap that may be sent again.
//!
//! ```text
//!  bitmap ─ not ─────────────────────────────────┐         ┌─ any? ──> walk, its bits by sixteens
//!    └─ highest one below limit ─┐               ├─ below ─┤
//!  below - base ──┬─ smaller ────┴─ greater ─> bound       └─ none ──> idle: a PROBE shall ask again
//!  limit - base ──┘
//! ```
//!
//! An index may be sent again when the NACK has heard of it or a later one overtook
//! it, so all below one bound: the greater of how far the NACK has heard and the
//! highest that arrived. Ones beyond the limit are no packets that arrived: a block
//! is full of them behind the message's end. The highest is looked for in groups
//! of sixteen, that of the limit first and then the highest group below it. All that is
//! looked at of a group comes out of one multiplexer; what the walk sends does, too.
//!
//! Contract: `launch` only while `free`; the walk or `idle` comes eight clocks
//! later and stands until it is taken; then `free` rises again. While a walk stands,
//! `walk_bits` is its sixteenth `walk_row`, of the clock before.
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
    pub walk_row: Signal<In, Bits<4>>,
    /// 1 = send again.
    pub walk_bits: Signal<Out, Bits<16>>,
    pub idle_valid: Signal<Out, Bit>,
    pub idle_slot: Signal<Out, Bits<12>>,
    pub idle_generation: Signal<Out, Bits<20>>,
    pub idle_ready: Signal<In, Bit>,
    walk: Dff<Walk>,
    /// 1 = has not arrived.
    bits: Dff<Bits<256>>,
    /// Indexes below are asked for and were sent, 0..=256.
    reach: Dff<Bits<9>>,
    /// Indexes below may be sent again.
    bound: Dff<Bits<9>>,
    /// Groups wholly below `reach` with a packet that arrived.
    lower: Dff<Bits<16>>,
    /// The group with the highest that arrived, and what of it arrived.
    group: Dff<Bits<4>>,
    arrived: Dff<Bits<16>>,
    found: Dff<Bit>,
    /// The group is not that of `reach`.
    whole: Dff<Bit>,
    measured: Dff<Bit>,
    masked: Dff<Bit>,
    smeared: Dff<Bit>,
    known: Dff<Bit>,
    looked: Dff<Bit>,
    told: Dff<Bit>,
    marked: Dff<Bit>,
    row: Dff<Bits<16>>,
    walking: Dff<Bit>,
    idling: Dff<Bit>,
    /// Modulo 2^25: the top bit is a borrow.
    heard: Signal<Local, Bits<25>>,
    asked: Signal<Local, Bits<25>>,
    look_at: Signal<Local, Bits<8>>,
    there: Signal<Local, Bits<16>>,
    any_of: [Signal<Local, Bits<16>>; 17],
    missing_of: [Signal<Local, Bits<16>>; 17],
    partly: Signal<Local, Bits<16>>,
    // The highest one of sixteen.
    searched: Signal<Local, Bits<16>>,
    half: Signal<Local, Bits<8>>,
    quarter: Signal<Local, Bits<4>>,
    pair: Signal<Local, Bits<2>>,
    in_half: Signal<Local, Bit>,
    in_quarter: Signal<Local, Bit>,
    in_pair: Signal<Local, Bit>,
    highest: Signal<Local, Bits<4>>,
    arrived_to: Signal<Local, Bits<9>>,
    // Ones below `bound`: groups wholly below, the group it is in, places of that below.
    groups: Signal<Local, Bits<16>>,
    last_group: Signal<Local, Bits<16>>,
    places: Signal<Local, Bits<16>>,
    in_last: Signal<Local, Bits<16>>,
    at: Signal<Local, Bits<5>>,
    one: Constant<Bits<16>>,
    ones: Constant<Bits<16>>,
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
            walk_row: Default::default(),
            walk_bits: Default::default(),
            idle_valid: Default::default(),
            idle_slot: Default::default(),
            idle_generation: Default::default(),
            idle_ready: Default::default(),
            walk: Default::default(),
            bits: Default::default(),
            reach: Default::default(),
            bound: Default::default(),
            lower: Default::default(),
            group: Default::default(),
            arrived: Default::default(),
            found: Default::default(),
            whole: Default::default(),
            measured: Default::default(),
            masked: Default::default(),
            smeared: Default::default(),
            known: Default::default(),
            looked: Default::default(),
            told: Default::default(),
            marked: Default::default(),
            row: Default::default(),
            walking: Default::default(),
            idling: Default::default(),
            heard: Default::default(),
            asked: Default::default(),
            look_at: Default::default(),
            there: Default::default(),
            any_of: Default::default(),
            missing_of: Default::default(),
            partly: Default::default(),
            searched: Default::default(),
            half: Default::default(),
            quarter: Default::default(),
            pair: Default::default(),
            in_half: Default::default(),
            in_quarter: Default::default(),
            in_pair: Default::default(),
            highest: Default::default(),
            arrived_to: Default::default(),
            groups: Default::default(),
            last_group: Default::default(),
            places: Default::default(),
            in_last: Default::default(),
            at: Default::default(),
            one: Constant::new(1u64.into()),
            ones: Constant::new(0xffffu64.into()),
        }
    }
}

impl Logic for Nack {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, walk, bits, reach, bound, lower, group, arrived, found, whole, row);
        dff_setup!(self, clk, measured, masked, smeared, known, looked, told, marked, walking, idling);

        self.heard.next = bit_cast::<25, 24>(self.below.val()) - bit_cast::<25, 24>(self.base.val());
        self.asked.next = bit_cast::<25, 24>(self.limit.val()) - bit_cast::<25, 24>(self.base.val());
        self.measured.d.next = self.launch.val();
        if self.launch.val() {
            self.walk.d.next.slot = self.slot.val();
            self.walk.d.next.generation = self.generation.val();
            self.walk.d.next.base = self.base.val();
            self.bits.d.next = !self.bitmap.val();
            self.bound.d.next = bit_cast::<9, 8>(self.heard.val().get_bits::<8>(0));
            if self.heard.val().get_bits::<16>(8).any() {
                self.bound.d.next = 256.into();
            }
            if self.heard.val().get_bit(24) {
                self.bound.d.next = 0.into();
            }
            self.reach.d.next = bit_cast::<9, 8>(self.asked.val().get_bits::<8>(0));
            if self.asked.val().get_bits::<16>(8).any() {
                self.reach.d.next = 256.into();
            }
            if self.asked.val().get_bit(24) {
                self.reach.d.next = 0.into();
            }
        }

        // The group of `reach`; the groups below.
        self.look_at.next = bit_cast::<8, 4>(self.group.q.val()) << 4;
        if self.measured.q.val() {
            self.look_at.next = bit_cast::<8, 4>(self.reach.q.val().get_bits::<4>(4)) << 4;
        }
        if self.looked.q.val() {
            self.look_at.next = bit_cast::<8, 4>(self.bound.q.val().get_bits::<4>(4)) << 4;
        }
        if self.walking.q.val() {
            self.look_at.next = bit_cast::<8, 4>(self.walk_row.val()) << 4;
        }
        self.there.next = !self.bits.q.val().get_bits::<16>(self.look_at.val().index());
        self.any_of[0].next = 0.into();
        self.missing_of[0].next = 0.into();
        for i in 0..16 {
            self.any_of[i + 1].next = self.any_of[i].val() >> 1;
            if !self.bits.q.val().get_bits::<16>(16 * i).all() {
                self.any_of[i + 1].next = (self.any_of[i].val() >> 1) | 0x8000;
            }
            self.missing_of[i + 1].next = self.missing_of[i].val() >> 1;
            if self.bits.q.val().get_bits::<16>(16 * i).any() {
                self.missing_of[i + 1].next = (self.missing_of[i].val() >> 1) | 0x8000;
            }
        }
        self.masked.d.next = self.measured.q.val();
        if self.measured.q.val() {
            self.arrived.d.next = self.there.val();
            self.lower.d.next =
                self.any_of[16].val() & !(self.ones.val() << self.reach.q.val().get_bits::<5>(4));
            if self.reach.q.val() < self.bound.q.val() {
                self.bound.d.next = self.reach.q.val();
            }
        }
        self.searched.next = self.lower.q.val();
        if self.known.q.val() {
            self.searched.next = self.arrived.q.val();
        }
        self.in_half.next = self.searched.val().get_bits::<8>(8).any();
        self.half.next = self.searched.val().get_bits::<8>(0);
        if self.in_half.val() {
            self.half.next = self.searched.val().get_bits::<8>(8);
        }
        self.in_quarter.next = self.half.val().get_bits::<4>(4).any();
        self.quarter.next = self.half.val().get_bits::<4>(0);
        if self.in_quarter.val() {
            self.quarter.next = self.half.val().get_bits::<4>(4);
        }
        self.in_pair.next = self.quarter.val().get_bits::<2>(2).any();
        self.pair.next = self.quarter.val().get_bits::<2>(0);
        if self.in_pair.val() {
            self.pair.next = self.quarter.val().get_bits::<2>(2);
        }
        self.highest.next = (bit_cast::<4, 1>(self.in_half.val().into()) << 3)
            | (bit_cast::<4, 1>(self.in_quarter.val().into()) << 2)
            | (bit_cast::<4, 1>(self.in_pair.val().into()) << 1)
            | bit_cast::<4, 1>(self.pair.val().get_bits::<1>(1));
        // Does the group of `reach` have it? At 256 all groups are wholly below.
        self.partly.next = self.arrived.q.val() & !(self.ones.val() << self.reach.q.val().get_bits::<4>(0));
        self.smeared.d.next = self.masked.q.val();
        if self.masked.q.val() {
            self.arrived.d.next = self.partly.val();
            self.group.d.next = self.reach.q.val().get_bits::<4>(4);
            self.found.d.next = true;
            self.whole.d.next = false;
            if !self.partly.val().any() {
                self.group.d.next = self.highest.val();
                self.found.d.next = self.lower.q.val().any();
                self.whole.d.next = true;
            }
        }
        self.known.d.next = self.smeared.q.val();
        if self.smeared.q.val() & self.whole.q.val() {
            self.arrived.d.next = self.there.val();
        }
        self.arrived_to.next =
            (bit_cast::<9, 4>(self.group.q.val()) << 4) | bit_cast::<9, 4>(self.highest.val());
        self.looked.d.next = self.known.q.val();
        if self.known.q.val() & self.found.q.val() & (self.bound.q.val() < self.arrived_to.val()) {
            self.bound.d.next = self.arrived_to.val();
        }
        self.groups.next = !(self.ones.val() << self.bound.q.val().get_bits::<5>(4));
        self.last_group.next = self.one.val() << self.bound.q.val().get_bits::<5>(4);
        self.places.next = !(self.ones.val() << self.bound.q.val().get_bits::<4>(0));
        // What is missing below `bound`: of the group it is in, then of all.
        self.in_last.next = !self.arrived.q.val() & self.places.val();
        self.told.d.next = self.looked.q.val();
        if self.looked.q.val() {
            self.arrived.d.next = self.there.val();
        }
        self.marked.d.next = self.told.q.val();
        if self.told.q.val() {
            self.walk.d.next.marks = self.missing_of[16].val() & self.groups.val();
            if self.in_last.val().any() {
                self.walk.d.next.marks =
                    (self.missing_of[16].val() & self.groups.val()) | self.last_group.val();
            }
        }
        self.at.next = bit_cast::<5, 4>(self.walk_row.val());
        self.row.d.next = 0.into();
        if self.at.val() < self.bound.q.val().get_bits::<5>(4) {
            self.row.d.next = !self.there.val();
        }
        if self.at.val() == self.bound.q.val().get_bits::<5>(4) {
            self.row.d.next = !self.there.val() & self.places.val();
        }
        self.walk_bits.next = self.row.q.val();
        if self.walk_ready.val() {
            self.walking.d.next = false;
        }
        if self.idle_ready.val() {
            self.idling.d.next = false;
        }
        if self.marked.q.val() {
            self.walking.d.next = self.walk.q.val().marks.any();
            self.idling.d.next = !self.walk.q.val().marks.any();
        }

        self.free.next = !self.measured.q.val()
            & !self.masked.q.val()
            & !self.smeared.q.val()
            & !self.known.q.val()
            & !self.looked.q.val()
            & !self.told.q.val()
            & !self.marked.q.val()
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
            self.marked.d.next = false;
            self.walking.d.next = false;
            self.idling.d.next = false;
        }
    }
}
