//! Keeps the holes that receivers asked for, and turns them into packets one
//! by one, apart from the transmission of anything else.
//!
//! ```text
//!               ┌── compare with every key ──> merge into the running walk
//!  walk ──> held┤                          ──> merge into its entry ─┐
//!               └──────────────────────────> new entry at the tail ──┤ <── the rest,
//!                                                                    v   │   if others wait
//!  step <── output <── 16 bits, lowest set first <── 256 bits <── RAM, oldest first
//! ```
//!
//! There is one walk per (slot, block): a second one for a block that is
//! queued or running is merged into it, so a bit that was sent a moment ago
//! may be asked for, and sent, again. A walk of another generation replaces
//! the bits of the old one, whose message is gone.
//!
//! Walks take turns: while others wait, one gives way when the sixteenth it took from
//! its 256 bits is sent, however many were merged into it meanwhile, and what it has
//! left goes to the tail, in a place that is there because the oldest entry leaves its
//! own. A slot that has a quarter of the entries, at least one, gets no further one.
//!
//! Contract:
//! - `walk_ready` comes back two clocks after a walk is taken, three when it is
//!   merged into a waiting entry, or when the oldest entry is being loaded;
//! - `walk_refused` pulses three clocks after a walk was taken that found every
//!   entry in use, or too many of them its own slot's; `full` says that one not
//!   merging would be refused;
//! - entries leave in the order in which they came, bits of an entry in rising
//!   order; a step in two clocks inside a walk while the output is taken, six
//!   clocks between the last step of a walk and the first of the next, four at most
//!   between two turns;
//! - a walk that finds the queue empty offers its first step seven clocks after
//!   it is taken;
//! - `step_data.done` marks the last packet of a walk; a walk merged later runs
//!   as a new one;
//! - `query_queued` answers one clock after `query_slot` whether any packet of
//!   that slot waits here.
//!
//! Verified by `testbenches/tests/retransmit_queue.rs`.

use crate::prelude::*;
use crate::types::{Walk, WalkStep};
use tessera_abi::params::Config;

/// What happens to the walk that was taken last.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
enum Intake {
    /// None, or it is being compared with the keys.
    Compare,
    /// The comparison is there.
    Place,
    /// The entry it merges into is there.
    Merge,
}

#[derive(LogicBlock)]
pub struct RetransmitQueue {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub walk_valid: Signal<In, Bit>,
    pub walk_data: Signal<In, Walk>,
    pub walk_ready: Signal<Out, Bit>,
    /// Pulse: the walk found no entry and was dropped.
    pub walk_refused: Signal<Out, Bit>,
    pub full: Signal<Out, Bit>,
    pub step_valid: Signal<Out, Bit>,
    pub step_data: Signal<Out, WalkStep>,
    pub step_ready: Signal<In, Bit>,
    pub query_slot: Signal<In, Bits<12>>,
    pub query_queued: Signal<Out, Bit>,

    // The walk that was taken.
    held: Dff<Walk>,
    held_valid: Dff<Bit>,
    /// Its sixteenths that hold a bit.
    held_any: Dff<Bits<16>>,
    taken: Signal<Local, Bits<256>>,
    taken_any: [Signal<Local, Bits<16>>; 17],
    intake: Dff<Intake>,
    found: Dff<Bit>,
    found_at: Dff<Bits<5>>,
    found_running: Dff<Bit>,
    /// Entries of its slot, counted by fours.
    own: [Dff<Bits<6>>; 8],
    own_sum: [Signal<Local, Bits<6>>; 8],
    /// Of its slot.
    same: [Signal<Local, Bit>; 32],
    /// Of the first two of four, of the others: just one, both.
    one_of: [Signal<Local, Bit>; 16],
    two_of: [Signal<Local, Bit>; 16],
    owned: Signal<Local, Bits<6>>,
    refused: Dff<Bit>,

    // Entries.
    entries: SdpRam<Walk, 5>,
    /// Sixteenths of each that hold a bit.
    marks: SdpRam<Bits<16>, 5>,
    key_slot: [Dff<Bits<12>>; 32],
    key_block: [Dff<Bits<16>>; 32],
    used: [Dff<Bit>; 32],
    head: Dff<Bits<5>>,
    tail: Dff<Bits<5>>,
    count: Dff<Bits<6>>,
    match_any: Signal<Local, Bit>,
    match_at: Signal<Local, Bits<5>>,
    put: Signal<Local, Bit>,
    /// The rest of the walk that ran goes to the tail.
    returns: Signal<Local, Bit>,
    load: Signal<Local, Bit>,
    /// The oldest entry is on its way out of the RAM.
    loading: Dff<Bit>,

    // The walk that runs.
    running: Dff<Bit>,
    /// It has taken no sixteenth yet.
    fresh: Dff<Bit>,
    slot: Dff<Bits<12>>,
    generation: Dff<Bits<20>>,
    base: Dff<Bits<24>>,
    left: Dff<Bits<256>>,
    /// Which sixteenths of `left` hold a bit.
    left_any: Dff<Bits<16>>,
    /// The sixteenth at work.
    part: Dff<Bits<16>>,
    part_at: Dff<Bits<4>>,
    merging: Signal<Local, Bit>,
    replaced: Signal<Local, Bit>,
    added: Signal<Local, Bits<256>>,
    added_any: Signal<Local, Bits<16>>,
    shifted: Signal<Local, Bits<256>>,
    /// Sixteenths that stay.
    stays: Signal<Local, Bits<16>>,
    row: Signal<Local, Bits<16>>,
    mask: [Signal<Local, Bits<256>>; 17],
    sixteenth: Signal<Local, Bits<4>>,
    shift: Signal<Local, Bits<8>>,
    fetch: Signal<Local, Bit>,
    /// A sixteenth is wanted.
    spent: Signal<Local, Bit>,
    /// Another walk's turn.
    yields: Signal<Local, Bit>,
    bit_at: Signal<Local, Bits<4>>,
    one_bit: Signal<Local, Bits<16>>,
    rest: Signal<Local, Bits<16>>,
    last: Signal<Local, Bit>,
    issue: Signal<Local, Bit>,
    offset: Signal<Local, Bits<8>>,

    step: Dff<WalkStep>,
    step_held: Dff<Bit>,
    queued: Dff<Bit>,

    one: Constant<Bits<16>>,
    all_parts: Constant<Bits<16>>,
    depth: Constant<Bits<6>>,
    quarter: Constant<Bits<6>>,
    last_place: Constant<Bits<5>>,
}

impl RetransmitQueue {
    /// A queue of `2^retransmit_entries_log2` entries.
    ///
    /// # Panics
    /// When the configuration asks for more than 32 entries: every entry's key
    /// is compared in one clock.
    pub fn new(config: &Config) -> Self {
        let log2 = config.retransmit_entries_log2;
        assert!((1..=5).contains(&log2), "2^{log2} retransmit entries: the queue is built for 2 to 32");
        Self {
            clk: Default::default(),
            rst: Default::default(),
            walk_valid: Default::default(),
            walk_data: Default::default(),
            walk_ready: Default::default(),
            walk_refused: Default::default(),
            full: Default::default(),
            step_valid: Default::default(),
            step_data: Default::default(),
            step_ready: Default::default(),
            query_slot: Default::default(),
            query_queued: Default::default(),
            held: Default::default(),
            held_valid: Default::default(),
            held_any: Default::default(),
            taken: Default::default(),
            taken_any: Default::default(),
            intake: Default::default(),
            found: Default::default(),
            found_at: Default::default(),
            found_running: Default::default(),
            own: Default::default(),
            own_sum: Default::default(),
            same: Default::default(),
            one_of: Default::default(),
            two_of: Default::default(),
            owned: Default::default(),
            refused: Default::default(),
            entries: SdpRam::new(log2).with_style("distributed"),
            marks: SdpRam::new(log2).with_style("distributed"),
            key_slot: Default::default(),
            key_block: Default::default(),
            used: Default::default(),
            head: Default::default(),
            tail: Default::default(),
            count: Default::default(),
            match_any: Default::default(),
            match_at: Default::default(),
            put: Default::default(),
            returns: Default::default(),
            load: Default::default(),
            loading: Default::default(),
            running: Default::default(),
            fresh: Default::default(),
            slot: Default::default(),
            generation: Default::default(),
            base: Default::default(),
            left: Default::default(),
            left_any: Default::default(),
            part: Default::default(),
            part_at: Default::default(),
            merging: Default::default(),
            replaced: Default::default(),
            added: Default::default(),
            added_any: Default::default(),
            shifted: Default::default(),
            stays: Default::default(),
            row: Default::default(),
            mask: Default::default(),
            sixteenth: Default::default(),
            shift: Default::default(),
            fetch: Default::default(),
            spent: Default::default(),
            yields: Default::default(),
            bit_at: Default::default(),
            one_bit: Default::default(),
            rest: Default::default(),
            last: Default::default(),
            issue: Default::default(),
            offset: Default::default(),
            step: Default::default(),
            step_held: Default::default(),
            queued: Default::default(),
            one: Constant::new(1u64.into()),
            all_parts: Constant::new(0xFFFFu64.into()),
            depth: Constant::new((1u64 << log2).into()),
            quarter: Constant::new((1u64 << log2 >> 2).max(1).into()),
            last_place: Constant::new(((1u64 << log2) - 1).into()),
        }
    }
}

impl Logic for RetransmitQueue {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self,
            clk,
            held,
            held_valid,
            held_any,
            intake,
            found,
            found_at,
            found_running,
            refused,
            head,
            tail,
            count,
            loading,
            running,
            fresh,
            slot,
            generation,
            base,
            left,
            left_any,
            part,
            part_at,
            step,
            step_held,
            queued
        );
        self.entries.clock.next = self.clk.val();
        self.marks.clock.next = self.clk.val();
        for i in 0..8 {
            self.own[i].clock.next = self.clk.val();
        }
        for i in 0..32 {
            self.key_slot[i].clock.next = self.clk.val();
            self.key_block[i].clock.next = self.clk.val();
            self.used[i].clock.next = self.clk.val();
            self.key_slot[i].d.next = self.key_slot[i].q.val();
            self.key_block[i].d.next = self.key_block[i].q.val();
            self.used[i].d.next = self.used[i].q.val();
        }

        // Take a walk and look for its key. Not while an entry is being loaded:
        // the comparison would find it in the place it is leaving.
        self.walk_ready.next = !self.held_valid.q.val();
        self.taken.next = self.walk_data.val().bits;
        self.taken_any[0].next = 0.into();
        for i in 0..16 {
            self.taken_any[i + 1].next = self.taken_any[i].val() >> 1;
            if self.taken.val().get_bits::<16>(16 * i).any() {
                self.taken_any[i + 1].next = (self.taken_any[i].val() >> 1) | 0x8000;
            }
        }
        if self.walk_valid.val() & !self.held_valid.q.val() {
            self.held.d.next = self.walk_data.val();
            self.held_any.d.next = self.taken_any[16].val();
            self.held_valid.d.next = true;
        }
        self.match_any.next = false;
        self.match_at.next = 0.into();
        for i in 0..32 {
            if self.used[i].q.val()
                & (self.key_slot[i].q.val() == self.held.q.val().slot)
                & (self.key_block[i].q.val() == self.held.q.val().base.get_bits::<16>(8))
            {
                self.match_any.next = true;
                self.match_at.next = i.to_bits();
            }
        }
        for i in 0..32 {
            self.same[i].next = self.used[i].q.val() & (self.key_slot[i].q.val() == self.held.q.val().slot);
        }
        for i in 0..16 {
            self.one_of[i].next = self.same[2 * i].val() ^ self.same[2 * i + 1].val();
            self.two_of[i].next = self.same[2 * i].val() & self.same[2 * i + 1].val();
        }
        for i in 0..8 {
            self.own_sum[i].next = 0.into();
            if self.one_of[2 * i].val() ^ self.one_of[2 * i + 1].val() {
                self.own_sum[i].next = self.own_sum[i].val() | 1;
            }
            if (self.one_of[2 * i].val() & self.one_of[2 * i + 1].val())
                ^ self.two_of[2 * i].val()
                ^ self.two_of[2 * i + 1].val()
            {
                self.own_sum[i].next = self.own_sum[i].val() | 2;
            }
            if self.two_of[2 * i].val() & self.two_of[2 * i + 1].val() {
                self.own_sum[i].next = self.own_sum[i].val() | 4;
            }
            self.own[i].d.next = self.own_sum[i].val();
        }
        self.owned.next = 0.into();
        for i in 0..8 {
            self.owned.next = self.owned.val() + self.own[i].q.val();
        }
        self.put.next = false;
        self.merging.next = false;
        self.refused.d.next = false;
        self.entries.read_address.next = self.head.q.val();
        match self.intake.q.val() {
            Intake::Compare => {
                self.found.d.next = self.match_any.val();
                self.found_at.d.next = self.match_at.val();
                self.found_running.d.next = self.running.q.val()
                    & (self.slot.q.val() == self.held.q.val().slot)
                    & (self.base.q.val() == self.held.q.val().base);
                if self.held_valid.q.val() & !self.loading.q.val() {
                    self.intake.d.next = Intake::Place;
                }
            }
            Intake::Place => {
                self.entries.read_address.next = self.found_at.q.val();
                if self.found.q.val() {
                    self.intake.d.next = Intake::Merge;
                } else {
                    self.intake.d.next = Intake::Compare;
                    self.held_valid.d.next = false;
                    // The walk it was to merge into may have ended just now.
                    if self.found_running.q.val() & self.running.q.val() {
                        self.merging.next = true;
                    } else {
                        //= TX-7
                        if (self.count.q.val() == self.depth.val()) | (self.owned.val() >= self.quarter.val())
                        {
                            self.refused.d.next = true;
                        } else {
                            self.put.next = true;
                        }
                    }
                }
            }
            Intake::Merge => {
                self.intake.d.next = Intake::Compare;
                self.held_valid.d.next = false;
            }
        }
        self.walk_refused.next = self.refused.q.val();
        self.full.next = self.count.q.val() == self.depth.val();

        // A walk that runs while another is loaded has had its turn. Nothing is placed
        // or merged meanwhile.
        self.returns.next = self.loading.q.val() & self.running.q.val();
        self.entries.write_enable.next =
            self.put.val() | self.returns.val() | (self.intake.q.val() == Intake::Merge);
        self.entries.write_address.next = self.tail.q.val();
        self.entries.write_data.next = self.held.q.val();
        self.marks.write_data.next = self.held_any.q.val();
        if self.returns.val() {
            self.entries.write_data.next.slot = self.slot.q.val();
            self.entries.write_data.next.generation = self.generation.q.val();
            self.entries.write_data.next.base = self.base.q.val();
            self.entries.write_data.next.bits = self.left.q.val();
            self.marks.write_data.next = self.left_any.q.val();
        }
        if self.intake.q.val() == Intake::Merge {
            self.entries.write_address.next = self.found_at.q.val();
            if self.entries.read_data.val().generation == self.held.q.val().generation {
                self.entries.write_data.next.bits =
                    self.entries.read_data.val().bits | self.held.q.val().bits;
                self.marks.write_data.next = self.marks.read_data.val() | self.held_any.q.val();
            }
        }
        self.marks.read_address.next = self.entries.read_address.val();
        self.marks.write_enable.next = self.entries.write_enable.val();
        self.marks.write_address.next = self.entries.write_address.val();
        for i in 0..32 {
            if self.loading.q.val() & (self.head.q.val() == i.to_bits()) {
                self.used[i].d.next = false;
            }
            // Of a full queue the tail is the place that becomes free.
            if (self.put.val() | self.returns.val()) & (self.tail.q.val() == i.to_bits()) {
                self.key_slot[i].d.next = self.entries.write_data.val().slot;
                self.key_block[i].d.next = self.entries.write_data.val().base.get_bits::<16>(8);
                self.used[i].d.next = true;
            }
            if self.rst.val() {
                self.used[i].d.next = false;
            }
        }
        if self.put.val() | self.returns.val() {
            self.tail.d.next = (self.tail.q.val() + 1) & self.last_place.val();
        }
        if self.loading.q.val() {
            self.head.d.next = (self.head.q.val() + 1) & self.last_place.val();
        }
        if self.put.val() & !self.loading.q.val() {
            self.count.d.next = self.count.q.val() + 1;
        }
        if !self.put.val() & self.loading.q.val() & !self.running.q.val() {
            self.count.d.next = self.count.q.val() - 1;
        }

        // The lowest sixteenth that holds a bit.
        self.sixteenth.next = 15.into();
        for i in 0..15 {
            if self.left_any.q.val().get_bit(14 - i) {
                self.sixteenth.next = (14 - i).to_bits();
            }
        }
        self.shift.next = bit_cast::<8, 4>(self.sixteenth.val()) << 4;
        self.shifted.next = self.left.q.val() >> self.shift.val();

        // The lowest bit of the sixteenth at work.
        self.bit_at.next = 15.into();
        for i in 0..15 {
            if self.part.q.val().get_bit(14 - i) {
                self.bit_at.next = (14 - i).to_bits();
            }
        }
        self.one_bit.next = self.one.val() << self.bit_at.val();
        self.rest.next = self.part.q.val() & !self.one_bit.val();
        self.issue.next = self.part.q.val().any() & !self.step_held.q.val();
        self.spent.next = !self.part.q.val().any() | (self.issue.val() & !self.rest.val().any());
        //= TX-8
        self.yields.next = !self.fresh.q.val() & (self.count.q.val() != 0);
        self.fetch.next =
            self.left_any.q.val().any() & self.spent.val() & !self.yields.val() & !self.loading.q.val();
        self.load.next = (!self.running.q.val()
            | (self.left_any.q.val().any() & self.spent.val() & self.yields.val()))
            & !self.loading.q.val()
            & !self.held_valid.q.val()
            & (self.count.q.val() != 0);
        self.loading.d.next = self.load.val();

        // What a merge or a load adds, and what a fetch takes.
        self.added.next = 0.into();
        self.added_any.next = 0.into();
        if self.merging.val() {
            self.added.next = self.held.q.val().bits;
            self.added_any.next = self.held_any.q.val();
        }
        if self.loading.q.val() {
            self.added.next = self.entries.read_data.val().bits;
            self.added_any.next = self.marks.read_data.val();
        }
        self.replaced.next = self.merging.val() & (self.generation.q.val() != self.held.q.val().generation);
        self.stays.next = self.all_parts.val();
        if self.fetch.val() {
            self.stays.next = !(self.one.val() << self.sixteenth.val());
        }
        if self.replaced.val() | self.loading.q.val() {
            self.stays.next = 0.into();
        }
        self.mask[0].next = 0.into();
        for i in 0..16 {
            self.row.next = 0.into();
            if self.stays.val().get_bit(i) {
                self.row.next = self.all_parts.val();
            }
            self.mask[i + 1].next = (self.mask[i].val() >> 16) | (bit_cast::<256, 16>(self.row.val()) << 240);
        }
        self.left.d.next = (self.left.q.val() & self.mask[16].val()) | self.added.val();
        self.left_any.d.next = (self.left_any.q.val() & self.stays.val()) | self.added_any.val();
        if self.issue.val() {
            self.part.d.next = self.rest.val();
        }
        if self.fetch.val() {
            self.part.d.next = self.shifted.val().get_bits::<16>(0);
            self.part_at.d.next = self.sixteenth.val();
            self.fresh.d.next = false;
        }
        if self.replaced.val() {
            self.generation.d.next = self.held.q.val().generation;
            self.part.d.next = 0.into();
        }

        // The output. A walk ends when its last bit gets there, unless more
        // bits are merged in this very clock.
        self.offset.next =
            (bit_cast::<8, 4>(self.part_at.q.val()) << 4) | bit_cast::<8, 4>(self.bit_at.val());
        self.last.next = self.issue.val()
            & !self.rest.val().any()
            & !self.left_any.q.val().any()
            & !self.added_any.val().any();
        if self.step_ready.val() {
            self.step_held.d.next = false;
        }
        if self.issue.val() {
            self.step_held.d.next = true;
            self.step.d.next.slot = self.slot.q.val();
            self.step.d.next.generation = self.generation.q.val();
            self.step.d.next.index = self.base.q.val() | bit_cast::<24, 8>(self.offset.val());
            self.step.d.next.done = self.last.val();
        }
        if self.last.val()
            | (!self.part.q.val().any() & !self.left_any.q.val().any() & !self.added_any.val().any())
        {
            self.running.d.next = false;
        }
        self.step_valid.next = self.step_held.q.val();
        self.step_data.next = self.step.q.val();

        // The oldest entry starts to run.
        if self.loading.q.val() {
            self.running.d.next = true;
            self.fresh.d.next = true;
            self.slot.d.next = self.entries.read_data.val().slot;
            self.generation.d.next = self.entries.read_data.val().generation;
            self.base.d.next = self.entries.read_data.val().base;
        }

        self.queued.d.next = (self.held_valid.q.val() & (self.held.q.val().slot == self.query_slot.val()))
            | (self.running.q.val() & (self.slot.q.val() == self.query_slot.val()))
            | (self.step_held.q.val() & (self.step.q.val().slot == self.query_slot.val()));
        for i in 0..32 {
            if self.used[i].q.val() & (self.key_slot[i].q.val() == self.query_slot.val()) {
                self.queued.d.next = true;
            }
        }
        self.query_queued.next = self.queued.q.val();

        if self.rst.val() {
            self.held_valid.d.next = false;
            self.intake.d.next = Intake::Compare;
            self.refused.d.next = false;
            self.head.d.next = 0.into();
            self.tail.d.next = 0.into();
            self.count.d.next = 0.into();
            self.loading.d.next = false;
            self.running.d.next = false;
            self.left.d.next = 0.into();
            self.left_any.d.next = 0.into();
            self.part.d.next = 0.into();
            self.step_held.d.next = false;
        }
    }
}
