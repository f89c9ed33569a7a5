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
//!   `cumulative`, two more when it opens the message, seven more when it fills
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
mod states;
mod stock;
mod whole_chunk;
mod window;
mod wires;

pub use arrival::Arrival;
pub use block_slot::BlockSlot;
pub use ending::Ending;
pub use intake::Intake;
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
use tessera_abi::params::Config;
use tessera_abi::status::Status;
use tessera_abi::wire::fb;

#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum ContextState {
    Idle,
    /// Throw the payload of the packet away.
    Drop,
    // A packet.
    Open,
    Ask,
    AskSecond,
    Wait,
    Advance,
    Commit,
    // Of a host-recovered message: it opens; is the packet's chunk complete?
    Header,
    Chunk,
    // Reading the block of `cumulative` anew, for a packet or a grant.
    Reread,
    // An abort: its blocks go back one per clock.
    Release,
    Abort,
    // A fence came back.
    Report,
    Answer,
    Bury,
    // An expiry.
    Nack,
    NackWait,
    NackSend,
    NackDone,
    /// The host orders a NACK: of which block?
    OrderBlock,
    // The head of the grant queue.
    Room,
    Quota,
    Judge,
    FirstBlock,
    SecondBlock,
    Bytes,
    Apply,
    Granted,
}

/// What is being handled.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum ContextEvent {
    Packet,
    Fence,
    Expiry,
    Freed,
    Grant,
    Order,
}

/// What is counted, one pulse each.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct ContextPulses {
    pub not_granted: Bit,
    pub duplicate: Bit,
    pub mismatch: Bit,
    pub rx_new: Bit,
    pub rx_completed: Bit,
    pub rx_aborted: Bit,
    pub remote_access: Bit,
    pub grants_sent: Bit,
    pub judged: Bit,
}

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
    done_now: Signal<Local, Bit>,
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

impl Context {
    /// A receiver of `2^rx_contexts_log2` messages.
    ///
    /// # Panics
    /// When the configuration asks for more than 4096 contexts.
    pub fn new(config: &Config) -> Self {
        let contexts = config.rx_contexts_log2;
        assert!((1..=12).contains(&contexts), "2^{contexts} receive contexts: 2..=4096 are supported");
        let code = |value: u8| Constant::new(u64::from(value).into());
        Self {
            clk: Default::default(),
            rst: Default::default(),
            settings: Default::default(),
            now: Default::default(),
            doorbell: Default::default(),
            work_valid: Default::default(),
            work_data: Default::default(),
            work_ready: Default::default(),
            block_ready: Default::default(),
            low: Default::default(),
            op_valid: Default::default(),
            op: Default::default(),
            result_valid: Default::default(),
            result: Default::default(),
            alloc_available: Default::default(),
            alloc_block: Default::default(),
            alloc_take: Default::default(),
            free_valid: Default::default(),
            free_block: Default::default(),
            insert_valid: Default::default(),
            insert_data: Default::default(),
            insert_ready: Default::default(),
            pop_valid: Default::default(),
            pop_node: Default::default(),
            pop_ready: Default::default(),
            place_valid: Default::default(),
            place_data: Default::default(),
            place_ready: Default::default(),
            fence_valid: Default::default(),
            fence_data: Default::default(),
            fence_ready: Default::default(),
            crowded: Default::default(),
            feedback_valid: Default::default(),
            feedback_data: Default::default(),
            feedback_ready: Default::default(),
            done_valid: Default::default(),
            done_data: Default::default(),
            done_ready: Default::default(),
            retire_valid: Default::default(),
            retire_data: Default::default(),
            retire_ready: Default::default(),
            header_valid: Default::default(),
            header_data: Default::default(),
            header_ready: Default::default(),
            chunk_valid: Default::default(),
            chunk_data: Default::default(),
            chunk_ready: Default::default(),
            order_valid: Default::default(),
            order_data: Default::default(),
            order_ready: Default::default(),
            order_met: Default::default(),
            outstanding: Default::default(),
            not_granted: Default::default(),
            duplicate: Default::default(),
            mismatch: Default::default(),
            rx_new: Default::default(),
            rx_completed: Default::default(),
            rx_aborted: Default::default(),
            remote_access: Default::default(),
            nack_expiries: Default::default(),
            grants_sent: Default::default(),
            rounds_done: Default::default(),
            round_pulls: Default::default(),
            judged: Default::default(),
            ready: Default::default(),
            interval: Interval::new(config),
            rounds: Rounds::new(config),
            grant: Grant::new(config),
            feedback: Feedback::new(),
            intake: Intake::new(contexts),
            stock: Stock::new(),
            arrival: Arrival::new(),
            ending: Ending::new(),
            own: BlockSlot::new(),
            other: BlockSlot::new(),
            next_own: BlockSlot::new(),
            next_other: BlockSlot::new(),
            whole_chunk: WholeChunk::new(),
            window: Window::new(),
            state: Default::default(),
            cause: Default::default(),
            owner: Default::default(),
            packet: Default::default(),
            fixed: Default::default(),
            live: Default::default(),
            expiry: Default::default(),
            fence_failed: Default::default(),
            opened: Default::default(),
            hash: Default::default(),
            wants_answer: Default::default(),
            retx: Default::default(),
            is_new: Default::default(),
            is_again: Default::default(),
            late: Default::default(),
            sets: Default::default(),
            flying: Default::default(),
            own_done: Default::default(),
            reading: Default::default(),
            cumulative_then: Default::default(),
            offset: Default::default(),
            address: Default::default(),
            bits: Default::default(),
            left: Default::default(),
            chunk_bits: Default::default(),
            chunk_done: Default::default(),
            header: Default::default(),
            header_full: Default::default(),
            chunk: Default::default(),
            chunk_full: Default::default(),
            ordered: Default::default(),
            met: Default::default(),
            ack_behind: Default::default(),
            step: Default::default(),
            nacks: Default::default(),
            nack_limit: Default::default(),
            room: Default::default(),
            pause: Default::default(),
            quota: Default::default(),
            bytes_to: Default::default(),
            bytes_from: Default::default(),
            place: Default::default(),
            place_full: Default::default(),
            job: Default::default(),
            job_full: Default::default(),
            done: Default::default(),
            done_full: Default::default(),
            retire: Default::default(),
            retire_full: Default::default(),
            total: Default::default(),
            total_up: Default::default(),
            total_down: Default::default(),
            pulse: Default::default(),
            answers: Default::default(),
            ends: Default::default(),
            starts: Default::default(),
            restored: Default::default(),
            next_packet: Default::default(),
            next_fixed: Default::default(),
            next_live: Default::default(),
            next_word: Default::default(),
            next_same_block: Default::default(),
            next_beyond: Default::default(),
            next_open: Default::default(),
            next_sets: Default::default(),
            next_limit: Default::default(),
            place_waits: Default::default(),
            enters: Default::default(),
            store: Default::default(),
            pool_take: Default::default(),
            pool_for_grants: Default::default(),
            is_data: Default::default(),
            cumulative: Default::default(),
            granted: Default::default(),
            count: Default::default(),
            index: Default::default(),
            first_gap: Default::default(),
            past_index: Default::default(),
            own_limit: Default::default(),
            same_block: Default::default(),
            set_slot: Default::default(),
            in_window: Default::default(),
            expected: Default::default(),
            place_room: Default::default(),
            job_room: Default::default(),
            chunk_room: Default::default(),
            host: Default::default(),
            recovers: Constant::new(config.host_recovery),
            has_v6: Constant::new(config.ipv6),
            has_tags: Constant::new(config.vlan),
            has_rounds: Constant::new(config.rounds),
            block_bits: Constant::new(((1u64 << config.bitmap_blocks_log2) - 1).into()),
            by_order: Default::default(),
            order_last: Default::default(),
            order_ahead: Default::default(),
            order_stood: Default::default(),
            meets: Default::default(),
            order: Default::default(),
            commit: Default::default(),
            complete: Default::default(),
            answer: Default::default(),
            since: Default::default(),
            may_grant: Default::default(),
            ample: Default::default(),
            credit_up: Default::default(),
            credit_down: Default::default(),
            nack_more: Default::default(),
            nack_ask: Default::default(),
            new_grant: Default::default(),
            to_edge: Default::default(),
            crosses: Default::default(),
            granted_bytes: Default::default(),
            start: Default::default(),
            loose: Default::default(),
            lends: Default::default(),
            done_now: Default::default(),
            ran_bits: Default::default(),
            ran_chunk_done: Default::default(),
            ran_nack_limit: Default::default(),
            ran_cumulative_then: Default::default(),
            ran_is_again: Default::default(),
            ran_is_new: Default::default(),
            ran_left: Default::default(),
            ran_live: Default::default(),
            ran_nacks: Default::default(),
            ran_own_done: Default::default(),
            ran_pulse: Default::default(),
            ran_reading: Default::default(),
            ran_state: Default::default(),
            ran_step: Default::default(),
            ran_op: Default::default(),
            ran_op_valid: Default::default(),
            ran_leave: Default::default(),
            ran_take: Default::default(),
            say_nack: code(fb::NACK),
            say_grant: code(fb::GRANT),
            say_ce: code(fb::CE),
            gave_up: code(Status::GaveUp as u8),
            replaced: code(Status::Replaced as u8),
            released: code(Status::Released as u8),
            destroyed: code(Status::Destroyed as u8),
            partial: code(Status::Partial as u8),
            remote_access_status: code(Status::RemoteAccess as u8),
            nothing: Constant::new(Bits::<256>::default()),
            no_live: Constant::new(ContextLive::default()),
        }
    }
}

kernel_of_parts!(Context: wires::Wires, states::States, begins::Begins);
