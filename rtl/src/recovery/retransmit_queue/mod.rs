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

mod entries;
mod running;
mod taking;

use crate::kernel_of_parts;
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

kernel_of_parts!(RetransmitQueue: taking::Taking, entries::Entries, running::Running);
