//! Receives messages: which packet is new, where its bytes go, what the sender
//! is told, and how a message ends.
//!
//! ```text
//!  work ─────┐                      bitmap op / result
//!  fence ────┤                             │   ^
//!  expiry ───┼─> intake: choose, read ─> begin ┴─> wait ─> commit ──> place (write, drop, fence)
//!  freed ────┤      ^                                        ├──────> feedback ─> TxFeedback
//!  grant ────┘      └────── words of the context <───────────┼──────> interval ─> timer wheel
//!                                                            └──────> done, retire
//! ```
//!
//! One event at a time: an arriving packet, a fence reached, an expired
//! interval, a context whose timers are unlinked, or the head of the grant
//! queue. The words of the next are read meanwhile, and it begins in the last
//! clock of most events, with what they left. Times and estimates are the
//! interval block's, the choice of whom to grant is the grant block's.
//!
//! End of a message (RC-6, LD-7, RO-4, WR-1, RL-2): blocks and credit go back, a fence
//! follows the last write; when it returns the completion is handed over, then
//! COMPLETE or ABORT, then the table entry is buried. The number is free when no
//! timer node is linked and the grant queue does not name it. A message of one
//! packet is whole as it opens: no block, no bitmap, no timer, and `outstanding`
//! does not move.
//!
//! Contract:
//! - 5 clocks per packet of an open message, of the same or of another one, with
//!   the bitmap's four clocks; one more when it is not of the block of
//!   `cumulative`, four more when it opens the message, seven more when it fills
//!   that block. A message of one packet takes 1, its fence 2; an event is taken
//!   every second clock;
//! - a packet taken is committed 7 clocks later at the earliest, 3 if it is the
//!   whole message;
//! - `work` with verdict 1 needs `block_ready` to have been seen: up to
//!   three opened messages may be on their way;
//! - `retire` has to be taken whatever else waits, and so have `place`,
//!   `feedback` and `done`, or packets wait;
//! - a packet that comes while a give-up is on its way from the interval block
//!   does not stop it;
//! - `outstanding` is the sum, up to 2^32 - 1, over open contexts that do not lend of granted bytes
//!   not arrived;
//! - events are one-clock pulses.
//!
//! Verified by `testbenches/tests/rx_context/`.

mod arrival;
mod begins;
mod block_slot;
mod ending;
mod intake;
mod kinds;
mod start;
mod states;
mod stock;
mod whole_chunk;
mod window;
mod wires;

pub use arrival::Arrival;
pub use block_slot::BlockSlot;
pub use ending::Ending;
pub use intake::Intake;
pub use kinds::{ContextEvent, ContextPulses, ContextState};
pub use stock::Stock;
pub use whole_chunk::WholeChunk;
pub use window::Window;

use super::{ContextFixed, ContextLive, Grant};
use crate::kernel_of_parts;
use crate::prelude::*;
use crate::recovery::{Expiry, Feedback, Interval, IntervalJob, Rounds};
use crate::types::{
    BitmapOp, BitmapResult, ChunkBits, ChunkHeader, Done, Doorbell, PlaceCommand, PlaceFence, RecoverOrder,
    Retire, RxWork, Settings, TimerInsert, TxFeedback,
};

#[derive(LogicBlock)]
pub struct Context {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub settings: Signal<In, Settings>,
    /// Ticks.
    pub now: Signal<In, Bits<32>>,
    pub doorbell: Signal<In, Doorbell>,
    pub work_valid: Signal<In, Bit>,
    pub work_data: Signal<In, RxWork>,
    pub work_ready: Signal<Out, Bit>,
    /// A block is at hand for a message to open.
    pub block_ready: Signal<Out, Bit>,
    /// COMPLETE is to ask for a RELEASE.
    pub low: Signal<In, Bit>,
    pub op_valid: Signal<Out, Bit>,
    pub op: Signal<Out, BitmapOp>,
    pub result_valid: Signal<In, Bit>,
    pub result: Signal<In, BitmapResult>,
    pub alloc_available: Signal<In, Bit>,
    pub alloc_block: Signal<In, Bits<13>>,
    pub alloc_take: Signal<Out, Bit>,
    pub free_valid: Signal<Out, Bit>,
    pub free_block: Signal<Out, Bits<13>>,
    pub insert_valid: Signal<Out, Bit>,
    pub insert_data: Signal<Out, TimerInsert>,
    pub insert_ready: Signal<In, Bit>,
    pub pop_valid: Signal<In, Bit>,
    pub pop_node: Signal<In, Bits<13>>,
    pub pop_ready: Signal<Out, Bit>,
    pub place_valid: Signal<Out, Bit>,
    pub place_data: Signal<Out, PlaceCommand>,
    pub place_ready: Signal<In, Bit>,
    pub fence_valid: Signal<In, Bit>,
    pub fence_data: Signal<In, PlaceFence>,
    pub fence_ready: Signal<Out, Bit>,
    /// Many fences wait: nothing else is taken.
    pub crowded: Signal<In, Bit>,
    pub feedback_valid: Signal<Out, Bit>,
    pub feedback_data: Signal<Out, TxFeedback>,
    pub feedback_ready: Signal<In, Bit>,
    pub done_valid: Signal<Out, Bit>,
    pub done_data: Signal<Out, Done>,
    pub done_ready: Signal<In, Bit>,
    pub retire_valid: Signal<Out, Bit>,
    pub retire_data: Signal<Out, Retire>,
    pub retire_ready: Signal<In, Bit>,
    /// What a host-recovered message tells of itself, to `chunks`.
    pub header_valid: Signal<Out, Bit>,
    pub header_data: Signal<Out, ChunkHeader>,
    pub header_ready: Signal<In, Bit>,
    pub chunk_valid: Signal<Out, Bit>,
    pub chunk_data: Signal<Out, ChunkBits>,
    pub chunk_ready: Signal<In, Bit>,
    /// The host's order; whether it met its message, in the clock it is taken.
    pub order_valid: Signal<In, Bit>,
    pub order_data: Signal<In, RecoverOrder>,
    pub order_ready: Signal<Out, Bit>,
    pub order_met: Signal<Out, Bit>,
    /// Bytes.
    pub outstanding: Signal<Out, Bits<32>>,
    pub not_granted: Signal<Out, Bit>,
    pub duplicate: Signal<Out, Bit>,
    pub mismatch: Signal<Out, Bit>,
    pub rx_new: Signal<Out, Bit>,
    pub rx_completed: Signal<Out, Bit>,
    pub rx_aborted: Signal<Out, Bit>,
    pub remote_access: Signal<Out, Bit>,
    pub nack_expiries: Signal<Out, Bit>,
    pub grants_sent: Signal<Out, Bit>,
    pub rounds_done: Signal<Out, Bit>,
    pub round_pulls: Signal<Out, Bit>,
    /// A packet was judged: what it leads to is offered from this clock on.
    pub judged: Signal<Out, Bit>,
    pub ready: Signal<Out, Bit>,

    interval: Interval,
    rounds: Rounds,
    grant: Grant,
    feedback: Feedback,
    intake: Intake,
    stock: Stock,
    arrival: Arrival,
    ending: Ending,
    /// The block of `cumulative`, and another one by state.
    own: BlockSlot,
    other: BlockSlot,
    /// The same of the next event.
    next_own: BlockSlot,
    next_other: BlockSlot,
    whole_chunk: WholeChunk,
    window: Window,

    state: Dff<ContextState>,
    cause: Dff<ContextEvent>,
    owner: Dff<Bits<12>>,
    packet: Dff<RxWork>,
    fixed: Dff<ContextFixed>,
    live: Dff<ContextLive>,
    expiry: Dff<Expiry>,
    fence_failed: Dff<Bit>,

    opened: Dff<Bit>,
    hash: Dff<Bits<8>>,
    wants_answer: Dff<Bit>,
    /// The packet has no payload: known with it, for the next event begins by it.
    is_empty: Dff<Bit>,
    retx: Dff<Bit>,
    is_new: Dff<Bit>,
    is_again: Dff<Bit>,
    /// A packet of a message that has ended.
    late: Dff<Bit>,
    /// The packet's bit is to be set; the block of `cumulative` is to be read.
    sets: Dff<Bit>,
    /// Bitmap operations without a result yet: the last one's is recognised by it.
    flying: Dff<Bits<3>>,
    /// The packet's own result has come.
    own_done: Dff<Bit>,
    reading: Dff<Bit>,
    cumulative_then: Dff<Bits<24>>,
    offset: Dff<Bits<32>>,
    address: Dff<Bits<64>>,
    bits: Dff<Bits<256>>,
    left: Dff<Bits<9>>,

    /// The packet's own block with its bit; its chunk is complete with it.
    chunk_bits: Dff<Bits<256>>,
    chunk_done: Dff<Bit>,
    header: Dff<ChunkHeader>,
    header_full: Dff<Bit>,
    chunk: Dff<ChunkBits>,
    chunk_full: Dff<Bit>,
    /// The order is taken; it met its message.
    ordered: Dff<Bit>,
    met: Dff<Bit>,

    /// Packets before this one from which on it is answered.
    ack_behind: Dff<Bits<8>>,

    // An expiry's walk over blocks.
    step: Dff<Bits<3>>,
    nacks: Dff<Bits<3>>,
    nack_limit: Dff<Bits<24>>,
    /// Blocks from the first that is missing to the last that was ordered, a clock after `nack_limit`.
    order_ahead: Dff<Bits<24>>,
    order_stood: Dff<Bit>,

    room: Dff<Bits<11>>,
    pause: Dff<Bits<2>>,
    quota: Dff<Bits<9>>,
    bytes_to: Dff<Bits<32>>,
    bytes_from: Dff<Bits<32>>,

    place: Dff<PlaceCommand>,
    place_full: Dff<Bit>,
    job: Dff<IntervalJob>,
    job_full: Dff<Bit>,
    done: Dff<Done>,
    done_full: Dff<Bit>,
    retire: Dff<Retire>,
    retire_full: Dff<Bit>,
    /// Below 2^36: 4096 contexts of 24 bits.
    total: Dff<Bits<36>>,
    /// What comes to it, and what goes.
    total_up: Dff<Bits<32>>,
    total_down: Dff<Bits<32>>,
    pulse: Dff<ContextPulses>,

    answers: Signal<Local, Bit>,
    ends: Signal<Local, Bit>,
    starts: Signal<Local, Bit>,
    /// The event that begins finds its words stored in this clock.
    restored: Signal<Local, Bit>,
    next_packet: Signal<Local, RxWork>,
    next_fixed: Signal<Local, ContextFixed>,
    next_live: Signal<Local, ContextLive>,
    next_word: Signal<Local, ContextLive>,
    next_same_block: Signal<Local, Bit>,
    next_beyond: Signal<Local, Bit>,
    next_open: Signal<Local, Bit>,
    next_sets: Signal<Local, Bit>,
    next_limit: Signal<Local, Bits<9>>,
    place_waits: Signal<Local, Bit>,
    enters: Signal<Local, Bit>,
    store: Signal<Local, ContextLive>,
    pool_take: Signal<Local, Bit>,
    pool_for_grants: Signal<Local, Bit>,
    is_data: Signal<Local, Bit>,
    cumulative: Signal<Local, Bits<24>>,
    granted: Signal<Local, Bits<24>>,
    count: Signal<Local, Bits<24>>,
    index: Signal<Local, Bits<24>>,
    first_gap: Signal<Local, Bits<24>>,
    past_index: Signal<Local, Bits<24>>,
    own_limit: Signal<Local, Bits<9>>,
    same_block: Signal<Local, Bit>,
    set_slot: Signal<Local, Bit>,
    in_window: Signal<Local, Bit>,
    expected: Signal<Local, Bit>,
    place_room: Signal<Local, Bit>,
    job_room: Signal<Local, Bit>,
    chunk_room: Signal<Local, Bit>,
    host: Signal<Local, Bit>,
    /// The host may recover messages at all.
    recovers: Constant<Bit>,
    has_v6: Constant<Bit>,
    has_tags: Constant<Bit>,
    has_rounds: Constant<Bit>,
    /// Bits that a block's number has.
    block_bits: Constant<Bits<13>>,
    by_order: Signal<Local, Bit>,
    order_last: Signal<Local, Bits<24>>,
    meets: Signal<Local, Bit>,
    order: Signal<Local, RecoverOrder>,
    commit: Signal<Local, Bit>,
    complete: Signal<Local, Bit>,
    answer: Signal<Local, Bit>,
    since: Signal<Local, Bits<8>>,
    may_grant: Signal<Local, Bit>,
    ample: Signal<Local, Bit>,
    credit_up: Signal<Local, Bits<32>>,
    credit_down: Signal<Local, Bits<32>>,
    nack_more: Signal<Local, Bit>,
    nack_ask: Signal<Local, Bits<9>>,
    new_grant: Signal<Local, Bits<24>>,
    to_edge: Signal<Local, Bits<9>>,
    crosses: Dff<Bit>,
    granted_bytes: Signal<Local, Bits<32>>,
    start: Signal<Local, Bits<64>>,
    loose: Signal<Local, Bit>,
    lends: Signal<Local, Bit>,
    // What the running event leaves.
    ran_bits: Signal<Local, Bits<256>>,
    ran_chunk_done: Signal<Local, Bit>,
    ran_nack_limit: Signal<Local, Bits<24>>,
    ran_cumulative_then: Signal<Local, Bits<24>>,
    ran_is_again: Signal<Local, Bit>,
    ran_is_new: Signal<Local, Bit>,
    ran_left: Signal<Local, Bits<9>>,
    ran_live: Signal<Local, ContextLive>,
    ran_nacks: Signal<Local, Bits<3>>,
    ran_own_done: Signal<Local, Bit>,
    ran_pulse: Signal<Local, ContextPulses>,
    ran_reading: Signal<Local, Bit>,
    ran_state: Signal<Local, ContextState>,
    ran_step: Signal<Local, Bits<3>>,
    ran_op: Signal<Local, BitmapOp>,
    ran_op_valid: Signal<Local, Bit>,
    ran_leave: Signal<Local, Bit>,
    ran_take: Signal<Local, Bit>,

    say_nack: Constant<Bits<8>>,
    say_grant: Constant<Bits<8>>,
    say_ce: Constant<Bits<8>>,
    gave_up: Constant<Bits<8>>,
    replaced: Constant<Bits<8>>,
    released: Constant<Bits<8>>,
    destroyed: Constant<Bits<8>>,
    partial: Constant<Bits<8>>,
    remote_access_status: Constant<Bits<8>>,
    nothing: Constant<Bits<256>>,
    no_live: Constant<ContextLive>,
}

kernel_of_parts!(Context: wires::Wires, states::States, begins::Begins);
