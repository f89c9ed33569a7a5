//! Keeps the holes that receivers asked for, and turns them into packets one
//! by one, apart from the transmission of anything else.
//!
//! ```text
//!         ┌── compare with every key ──> its entry, or a free one ─┐
//!  walk ──┤                                                        v
//!         └─ its sixteenths, one by one ── or ──> rows of the entry, 16 × 16 bits
//!                                          └─ what is there ─┘ │
//!  step <── output <── 16 bits, lowest set first <─────────────┘ of the entry that runs
//!
//!  order of those that wait: new ones to the tail, and who had a turn
//! ```
//!
//! There is one walk per (slot, block): a second one for a block that is
//! queued or running is merged into it, so a bit that was sent a moment ago
//! may be asked for, and sent, again. A walk of another generation replaces
//! the bits of the old one, whose message is gone.
//!
//! A walk stays in its entry while it runs, too. Of each entry it is known which
//! rows hold something: a row that was taken is not cleared, but known to be empty.
//!
//! Walks take turns: while others wait, one gives way when the sixteenth it took from
//! its 256 bits is sent, however many were merged into it meanwhile, and goes to the tail.
//! A slot that has a quarter of the entries, at least one, beside the walk that runs, gets
//! no further one.
//!
//! Contract:
//! - `walk_bits` is the sixteenth `walk_row`, of the clock before, of the walk that is offered;
//! - a walk of n sixteenths that are not empty is taken n + 5 clocks after it is offered, one
//!   that is refused after three; until then it stays as it is;
//! - `walk_refused` pulses in the clock after a walk was taken that found every
//!   entry in use, or too many of them its own slot's; `full` says that one not
//!   merging would be refused;
//! - entries leave in the order in which they came, bits of an entry in rising
//!   order; a step in two clocks inside a walk while the output is taken (a sixteenth is
//!   fetched later while one is merged, the last step comes later while the entry for a walk
//!   is looked for), six clocks between the last step of a walk and the first of the next,
//!   five at most between two turns;
//! - a walk of one packet that finds the queue empty offers its step nine clocks after
//!   it is offered;
//! - `step_data.done` marks the last packet of a walk; a walk merged later runs
//!   as a new one;
//! - `query_queued` answers one clock after `query_slot` whether any packet of
//!   that slot waits here.
//!
//! Verified by `testbenches/tests/retransmit_queue/`.

mod entries;
mod running;
mod taking;

use crate::kernel_of_parts;
use crate::prelude::*;
use crate::types::{Walk, WalkKey, WalkStep};
use tessera_abi::params::Config;

/// What happens to the walk that is offered.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
enum Intake {
    Idle,
    /// It is compared with the keys. From here on no entry begins or ends to run.
    Compare,
    /// The comparison is there.
    Place,
    /// What its entry holds is there.
    Mark,
    /// Its sixteenths go to the rows.
    Rows,
}

#[derive(LogicBlock)]
pub struct RetransmitQueue {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub walk_valid: Signal<In, Bit>,
    pub walk_data: Signal<In, Walk>,
    pub walk_ready: Signal<Out, Bit>,
    /// The sixteenth wanted in the next clock.
    pub walk_row: Signal<Out, Bits<4>>,
    /// 1 = send again.
    pub walk_bits: Signal<In, Bits<16>>,
    /// Pulse: the walk found no entry and was dropped.
    pub walk_refused: Signal<Out, Bit>,
    pub full: Signal<Out, Bit>,
    pub step_valid: Signal<Out, Bit>,
    pub step_data: Signal<Out, WalkStep>,
    pub step_ready: Signal<In, Bit>,
    pub query_slot: Signal<In, Bits<12>>,
    pub query_queued: Signal<Out, Bit>,

    // The walk that is offered.
    intake: Dff<Intake>,
    found: Dff<Bit>,
    found_at: Dff<Bits<5>>,
    /// Its entry, which is the one that runs.
    place: Dff<Bits<5>>,
    into_running: Dff<Bit>,
    /// Sixteenths still to be merged; rows that held something before.
    todo: Dff<Bits<16>>,
    old: Dff<Bits<16>>,
    /// The row that is there.
    row: Dff<Bits<4>>,
    row_valid: Dff<Bit>,
    row_old: Dff<Bit>,
    next_row: Signal<Local, Bits<4>>,
    /// Entries of its slot that wait, counted by fours.
    own: [Dff<Bits<6>>; 8],
    own_sum: [Signal<Local, Bits<6>>; 8],
    /// Of its slot.
    same: [Signal<Local, Bit>; 32],
    /// Of the first two of four, of the others: just one, both.
    one_of: [Signal<Local, Bit>; 16],
    two_of: [Signal<Local, Bit>; 16],
    owned: Signal<Local, Bits<6>>,
    refused: Dff<Bit>,
    refuses: Signal<Local, Bit>,
    match_any: Signal<Local, Bit>,
    match_at: Signal<Local, Bits<5>>,
    /// The entry is of the same message.
    keeps: Signal<Local, Bit>,
    kept: Signal<Local, Bits<16>>,
    merged: Signal<Local, Bits<16>>,
    put: Signal<Local, Bit>,
    /// Who runs stays so.
    locked: Signal<Local, Bit>,

    // Entries.
    entries: SdpRam<WalkKey, 5>,
    /// Rows of each that hold a bit; not of the one that runs.
    marks: SdpRam<Bits<16>, 5>,
    rows: SdpRam<Bits<16>, 9>,
    key_slot: [Dff<Bits<12>>; 32],
    key_block: [Dff<Bits<16>>; 32],
    used: [Dff<Bit>; 32],
    /// It does not run.
    waits: [Dff<Bit>; 32],
    /// The lowest that is not used.
    free: Dff<Bit>,
    free_at: Dff<Bits<5>>,
    free_any: Signal<Local, Bit>,
    free_first: Signal<Local, Bits<5>>,
    /// Those that wait.
    order: LutRam<Bits<5>, 5>,
    head: Dff<Bits<5>>,
    tail: Dff<Bits<5>>,
    count: Dff<Bits<6>>,
    load: Signal<Local, Bit>,
    /// The oldest entry is on its way out of the RAM, to run.
    loading: Dff<Bit>,
    next_at: Dff<Bits<5>>,
    /// The one that ran goes to the tail.
    returns: Signal<Local, Bit>,

    // The walk that runs.
    running: Dff<Bit>,
    /// It has taken no sixteenth yet.
    fresh: Dff<Bit>,
    run_at: Dff<Bits<5>>,
    slot: Dff<Bits<12>>,
    generation: Dff<Bits<20>>,
    block: Dff<Bits<16>>,
    /// Rows that hold a bit.
    left: Dff<Bits<16>>,
    /// The sixteenth at work.
    part: Dff<Bits<16>>,
    part_at: Dff<Bits<4>>,
    sixteenth: Signal<Local, Bits<4>>,
    fetch: Signal<Local, Bit>,
    /// The sixteenth is on its way out of the RAM.
    fetching: Dff<Bit>,
    /// A sixteenth is wanted.
    spent: Signal<Local, Bit>,
    /// Another walk's turn.
    yields: Signal<Local, Bit>,
    bit_at: Signal<Local, Bits<4>>,
    one_bit: Signal<Local, Bits<16>>,
    rest: Signal<Local, Bits<16>>,
    /// The only one that is left.
    only: Signal<Local, Bit>,
    last: Signal<Local, Bit>,
    issue: Signal<Local, Bit>,
    ends: Signal<Local, Bit>,

    step: Dff<WalkStep>,
    step_held: Dff<Bit>,
    queued: Dff<Bit>,

    one: Constant<Bits<16>>,
    quarter: Constant<Bits<6>>,
    last_place: Constant<Bits<5>>,
    /// Entries that there are.
    exists: [Constant<Bit>; 32],
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
            walk_row: Default::default(),
            walk_bits: Default::default(),
            walk_refused: Default::default(),
            full: Default::default(),
            step_valid: Default::default(),
            step_data: Default::default(),
            step_ready: Default::default(),
            query_slot: Default::default(),
            query_queued: Default::default(),
            intake: Default::default(),
            found: Default::default(),
            found_at: Default::default(),
            place: Default::default(),
            into_running: Default::default(),
            todo: Default::default(),
            old: Default::default(),
            row: Default::default(),
            row_valid: Default::default(),
            row_old: Default::default(),
            next_row: Default::default(),
            own: Default::default(),
            own_sum: Default::default(),
            same: Default::default(),
            one_of: Default::default(),
            two_of: Default::default(),
            owned: Default::default(),
            refused: Default::default(),
            refuses: Default::default(),
            match_any: Default::default(),
            match_at: Default::default(),
            keeps: Default::default(),
            kept: Default::default(),
            merged: Default::default(),
            put: Default::default(),
            locked: Default::default(),
            entries: SdpRam::new(log2).with_style("distributed"),
            marks: SdpRam::new(log2).with_style("distributed"),
            rows: SdpRam::new(log2 + 4),
            key_slot: Default::default(),
            key_block: Default::default(),
            used: Default::default(),
            waits: Default::default(),
            free: Default::default(),
            free_at: Default::default(),
            free_any: Default::default(),
            free_first: Default::default(),
            order: LutRam::new(),
            head: Default::default(),
            tail: Default::default(),
            count: Default::default(),
            load: Default::default(),
            loading: Default::default(),
            next_at: Default::default(),
            returns: Default::default(),
            running: Default::default(),
            fresh: Default::default(),
            run_at: Default::default(),
            slot: Default::default(),
            generation: Default::default(),
            block: Default::default(),
            left: Default::default(),
            part: Default::default(),
            part_at: Default::default(),
            sixteenth: Default::default(),
            fetch: Default::default(),
            fetching: Default::default(),
            spent: Default::default(),
            yields: Default::default(),
            bit_at: Default::default(),
            one_bit: Default::default(),
            rest: Default::default(),
            only: Default::default(),
            last: Default::default(),
            issue: Default::default(),
            ends: Default::default(),
            step: Default::default(),
            step_held: Default::default(),
            queued: Default::default(),
            one: Constant::new(1u64.into()),
            quarter: Constant::new((1u64 << log2 >> 2).max(1).into()),
            last_place: Constant::new(((1u64 << log2) - 1).into()),
            exists: std::array::from_fn(|i| Constant::new(i < 1 << log2)),
        }
    }
}

kernel_of_parts!(RetransmitQueue: taking::Taking, running::Running, entries::Entries);
