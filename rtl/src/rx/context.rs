//! Receives messages: which packet is new, where its bytes go, what the sender
//! is told, and how a message ends.
//!
//! ```text
//!  work ─────┐                    bitmap op / result
//!  fence ────┤                         │   ^
//!  expiry ───┼─> load ─> check ─> ask ─┴───┘─> commit ──> place (write, drop, fence)
//!  freed ────┤     ^                              ├─────> feedback ─> TxFeedback
//!  grant ────┘     └── words of the context <─────┤─────> interval ─> timer wheel
//!                                                 └─────> done, retire
//! ```
//!
//! One event at a time: an arriving packet, a fence reached, an expired
//! interval, a context whose timers are unlinked, or the head of the grant
//! queue. A packet and one of the others take turns when both wait. An event is
//! done with its words written back, so the next sees what this one left.
//! Times and estimates are the interval block's, the choice of whom to grant is
//! the grant block's.
//!
//! End of a message (RC-6, LD-7, RO-4): blocks and credit go back, a fence
//! follows the last write; when it returns the completion is handed over, then
//! COMPLETE or ABORT, then the table entry is buried. The number is free when no
//! timer node is linked and the grant queue does not name it.
//!
//! Contract:
//! - PACKET_CLOCKS clocks per packet of an open message with the bitmap's four
//!   clocks; one more when it is not of the block of `cumulative`, one more when
//!   it opens the message, seven more when it fills that block;
//! - `work` with verdict 1 needs `block_ready` to have been seen: up to
//!   three opened messages may be on their way;
//! - `retire` has to be taken whatever else waits, and so have `place`,
//!   `feedback` and `done`, or packets wait;
//! - a packet that comes while a give-up is on its way from the interval block
//!   does not stop it;
//! - `outstanding` is the sum over open contexts of granted bytes not arrived;
//! - events are one-clock pulses.
//!
//! Verified by `testbenches/tests/rx_context.rs`.

use super::{ContextFixed, ContextLive, Grant};
use crate::prelude::*;
use crate::recovery::{Expiry, Feedback, Interval, IntervalJob};
use crate::types::{
    BitmapOp, BitmapResult, Done, PlaceCommand, PlaceFence, Retire, RxWork, Settings, TimerInsert, TxFeedback,
};
use tessera_abi::params::Config;
use tessera_abi::status::Status;
use tessera_abi::wire::{fb, flag};

#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum ContextState {
    Idle,
    Load,
    /// Throw the payload of the packet away.
    Drop,
    // A packet.
    Check,
    Ask,
    AskSecond,
    Wait,
    Advance,
    Commit,
    /// The fence behind the last write.
    Fence,
    // Reading the block of `cumulative` anew, for a packet or a grant.
    Reread,
    // An abort: its blocks go back one per clock.
    Release,
    Abort,
    // A fence came back.
    Report,
    Answer,
    Bury,
    Retire,
    // An expiry.
    Nack,
    NackWait,
    NackSend,
    NackDone,
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
}

#[derive(LogicBlock)]
pub struct Context {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub settings: Signal<In, Settings>,
    /// Ticks.
    pub now: Signal<In, Bits<32>>,
    pub work_valid: Signal<In, Bit>,
    pub work_data: Signal<In, RxWork>,
    pub work_ready: Signal<Out, Bit>,
    /// A block is at hand for a message to open.
    pub block_ready: Signal<Out, Bit>,
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
    pub feedback_valid: Signal<Out, Bit>,
    pub feedback_data: Signal<Out, TxFeedback>,
    pub feedback_ready: Signal<In, Bit>,
    pub done_valid: Signal<Out, Bit>,
    pub done_data: Signal<Out, Done>,
    pub done_ready: Signal<In, Bit>,
    pub retire_valid: Signal<Out, Bit>,
    pub retire_data: Signal<Out, Retire>,
    pub retire_ready: Signal<In, Bit>,
    /// Bytes.
    pub outstanding: Signal<Out, Bits<32>>,
    pub not_granted: Signal<Out, Bit>,
    pub duplicate: Signal<Out, Bit>,
    pub mismatch: Signal<Out, Bit>,
    pub rx_new: Signal<Out, Bit>,
    pub rx_completed: Signal<Out, Bit>,
    pub rx_aborted: Signal<Out, Bit>,
    pub nack_expiries: Signal<Out, Bit>,
    pub grants_sent: Signal<Out, Bit>,
    pub ready: Signal<Out, Bit>,

    interval: Interval,
    grant: Grant,
    feedback: Feedback,
    fixed_words: SdpRam<ContextFixed, 12>,
    live_words: SdpRam<ContextLive, 12>,

    state: Dff<ContextState>,
    cause: Dff<ContextEvent>,
    other_turn: Dff<Bit>,
    owner: Dff<Bits<12>>,
    packet: Dff<RxWork>,
    fixed: Dff<ContextFixed>,
    live: Dff<ContextLive>,
    expiry: Dff<Expiry>,
    fence_failed: Dff<Bit>,

    // Blocks at hand for messages to open; the first is `stock0`.
    stock0: Dff<Bits<13>>,
    stock1: Dff<Bits<13>>,
    stock2: Dff<Bits<13>>,
    stock3: Dff<Bits<13>>,
    stocked: Dff<Bits<3>>,

    hash: Dff<Bits<8>>,
    opened: Dff<Bit>,
    is_new: Dff<Bit>,
    is_again: Dff<Bit>,
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

    // An expiry's walk over blocks.
    step: Dff<Bits<3>>,
    nacks: Dff<Bits<3>>,
    nack_limit: Dff<Bits<24>>,

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
    total: Dff<Bits<32>>,
    sum_not_granted: Dff<Bit>,
    sum_duplicate: Dff<Bit>,
    sum_mismatch: Dff<Bit>,
    sum_new: Dff<Bit>,
    sum_completed: Dff<Bit>,
    sum_aborted: Dff<Bit>,
    sum_grant: Dff<Bit>,

    idle: Signal<Local, Bit>,
    others: Signal<Local, Bit>,
    take_work: Signal<Local, Bit>,
    take_fence: Signal<Local, Bit>,
    take_expiry: Signal<Local, Bit>,
    take_freed: Signal<Local, Bit>,
    take_grant: Signal<Local, Bit>,
    chosen: Signal<Local, Bits<12>>,
    gid: Signal<Local, Bits<128>>,
    fold64: Signal<Local, Bits<64>>,
    fold32: Signal<Local, Bits<32>>,
    fold16: Signal<Local, Bits<16>>,
    fold8: Signal<Local, Bits<8>>,
    loaded: Signal<Local, ContextLive>,
    store: Signal<Local, ContextLive>,
    stock_take: Signal<Local, Bit>,
    pool_take: Signal<Local, Bit>,
    pool_for_grants: Signal<Local, Bit>,
    is_data: Signal<Local, Bit>,
    wants_answer: Signal<Local, Bit>,
    differs: Signal<Local, Bit>,
    window: Signal<Local, Bits<24>>,
    first_grant: Signal<Local, Bits<24>>,
    cumulative: Signal<Local, Bits<24>>,
    granted: Signal<Local, Bits<24>>,
    count: Signal<Local, Bits<24>>,
    index: Signal<Local, Bits<24>>,
    base: Signal<Local, Bits<24>>,
    next_base: Signal<Local, Bits<24>>,
    first_gap: Signal<Local, Bits<24>>,
    past_index: Signal<Local, Bits<24>>,
    last_index: Signal<Local, Bits<24>>,
    /// Slot of the block of `cumulative`, and another one by state.
    own_slot: Signal<Local, Bits<2>>,
    own_mask: Signal<Local, Bits<4>>,
    own_block: Signal<Local, Bits<13>>,
    own_held: Signal<Local, Bit>,
    own_full: Signal<Local, Bit>,
    own_limit: Signal<Local, Bits<9>>,
    slot: Signal<Local, Bits<2>>,
    slot_mask: Signal<Local, Bits<4>>,
    slot_block: Signal<Local, Bits<13>>,
    slot_held: Signal<Local, Bit>,
    same_block: Signal<Local, Bit>,
    set_slot: Signal<Local, Bit>,
    in_window: Signal<Local, Bit>,
    expected: Signal<Local, Bit>,
    place_room: Signal<Local, Bit>,
    job_room: Signal<Local, Bit>,
    commit: Signal<Local, Bit>,
    complete: Signal<Local, Bit>,
    answer: Signal<Local, Bit>,
    since: Signal<Local, Bits<8>>,
    more: Signal<Local, Bits<8>>,
    reach: Signal<Local, Bits<24>>,
    may_grant: Signal<Local, Bit>,
    enters: Signal<Local, Bit>,
    gap_to_reach: Signal<Local, Bits<24>>,
    credit_up: Signal<Local, Bits<32>>,
    credit_down: Signal<Local, Bits<32>>,
    nack_at: Signal<Local, Bits<24>>,
    nack_more: Signal<Local, Bit>,
    nack_ask: Signal<Local, Bits<9>>,
    new_grant: Signal<Local, Bits<24>>,
    to_edge: Signal<Local, Bits<9>>,
    crosses: Signal<Local, Bit>,
    granted_bytes: Signal<Local, Bits<32>>,
    loose: Signal<Local, Bit>,
    done_now: Signal<Local, Bit>,

    flag_ar: Constant<Bits<8>>,
    flag_retx: Constant<Bits<8>>,
    flag_imm: Constant<Bits<8>>,
    say_complete: Constant<Bits<8>>,
    say_nack: Constant<Bits<8>>,
    say_grant: Constant<Bits<8>>,
    say_abort: Constant<Bits<8>>,
    say_ce: Constant<Bits<8>>,
    gave_up: Constant<Bits<8>>,
    replaced: Constant<Bits<8>>,
    remote_dma: Constant<Bits<8>>,
    local_dma: Constant<Bits<8>>,
    nothing: Constant<Bits<256>>,
    everything: Constant<Bits<256>>,
    contexts_mask: Constant<Bits<12>>,
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
            work_valid: Default::default(),
            work_data: Default::default(),
            work_ready: Default::default(),
            block_ready: Default::default(),
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
            feedback_valid: Default::default(),
            feedback_data: Default::default(),
            feedback_ready: Default::default(),
            done_valid: Default::default(),
            done_data: Default::default(),
            done_ready: Default::default(),
            retire_valid: Default::default(),
            retire_data: Default::default(),
            retire_ready: Default::default(),
            outstanding: Default::default(),
            not_granted: Default::default(),
            duplicate: Default::default(),
            mismatch: Default::default(),
            rx_new: Default::default(),
            rx_completed: Default::default(),
            rx_aborted: Default::default(),
            nack_expiries: Default::default(),
            grants_sent: Default::default(),
            ready: Default::default(),
            interval: Interval::new(config),
            grant: Grant::new(config),
            feedback: Feedback::new(),
            fixed_words: SdpRam::new(contexts),
            live_words: SdpRam::new(contexts),
            state: Default::default(),
            cause: Default::default(),
            other_turn: Default::default(),
            owner: Default::default(),
            packet: Default::default(),
            fixed: Default::default(),
            live: Default::default(),
            expiry: Default::default(),
            fence_failed: Default::default(),
            stock0: Default::default(),
            stock1: Default::default(),
            stock2: Default::default(),
            stock3: Default::default(),
            stocked: Default::default(),
            hash: Default::default(),
            opened: Default::default(),
            is_new: Default::default(),
            is_again: Default::default(),
            sets: Default::default(),
            flying: Default::default(),
            own_done: Default::default(),
            reading: Default::default(),
            cumulative_then: Default::default(),
            offset: Default::default(),
            address: Default::default(),
            bits: Default::default(),
            left: Default::default(),
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
            total: Default::default(),
            sum_not_granted: Default::default(),
            sum_duplicate: Default::default(),
            sum_mismatch: Default::default(),
            sum_new: Default::default(),
            sum_completed: Default::default(),
            sum_aborted: Default::default(),
            sum_grant: Default::default(),
            idle: Default::default(),
            others: Default::default(),
            take_work: Default::default(),
            take_fence: Default::default(),
            take_expiry: Default::default(),
            take_freed: Default::default(),
            take_grant: Default::default(),
            chosen: Default::default(),
            gid: Default::default(),
            fold64: Default::default(),
            fold32: Default::default(),
            fold16: Default::default(),
            fold8: Default::default(),
            loaded: Default::default(),
            store: Default::default(),
            stock_take: Default::default(),
            pool_take: Default::default(),
            pool_for_grants: Default::default(),
            is_data: Default::default(),
            wants_answer: Default::default(),
            differs: Default::default(),
            window: Default::default(),
            first_grant: Default::default(),
            cumulative: Default::default(),
            granted: Default::default(),
            count: Default::default(),
            index: Default::default(),
            base: Default::default(),
            next_base: Default::default(),
            first_gap: Default::default(),
            past_index: Default::default(),
            last_index: Default::default(),
            own_slot: Default::default(),
            own_mask: Default::default(),
            own_block: Default::default(),
            own_held: Default::default(),
            own_full: Default::default(),
            own_limit: Default::default(),
            slot: Default::default(),
            slot_mask: Default::default(),
            slot_block: Default::default(),
            slot_held: Default::default(),
            same_block: Default::default(),
            set_slot: Default::default(),
            in_window: Default::default(),
            expected: Default::default(),
            place_room: Default::default(),
            job_room: Default::default(),
            commit: Default::default(),
            complete: Default::default(),
            answer: Default::default(),
            since: Default::default(),
            more: Default::default(),
            reach: Default::default(),
            may_grant: Default::default(),
            enters: Default::default(),
            gap_to_reach: Default::default(),
            credit_up: Default::default(),
            credit_down: Default::default(),
            nack_at: Default::default(),
            nack_more: Default::default(),
            nack_ask: Default::default(),
            new_grant: Default::default(),
            to_edge: Default::default(),
            crosses: Default::default(),
            granted_bytes: Default::default(),
            loose: Default::default(),
            done_now: Default::default(),
            flag_ar: code(flag::AR),
            flag_retx: code(flag::RETX),
            flag_imm: code(flag::IMM),
            say_complete: code(fb::COMPLETE),
            say_nack: code(fb::NACK),
            say_grant: code(fb::GRANT),
            say_abort: code(fb::ABORT),
            say_ce: code(fb::CE),
            gave_up: code(Status::GaveUp as u8),
            replaced: code(Status::Replaced as u8),
            remote_dma: code(Status::RemoteDma as u8),
            local_dma: code(Status::LocalDma as u8),
            nothing: Constant::new(Bits::<256>::default()),
            everything: Constant::new(!Bits::<256>::default()),
            contexts_mask: Constant::new(((1u64 << contexts) - 1).into()),
        }
    }
}

impl Logic for Context {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self,
            clk,
            state,
            cause,
            other_turn,
            owner,
            packet,
            fixed,
            live,
            expiry,
            fence_failed,
            stock0,
            stock1,
            stock2,
            stock3,
            stocked,
            hash,
            opened,
            is_new,
            is_again,
            sets,
            flying,
            own_done,
            reading,
            cumulative_then,
            offset,
            address,
            bits,
            left,
            step,
            nacks,
            nack_limit,
            room,
            pause,
            quota,
            bytes_to,
            bytes_from,
            place,
            place_full,
            job,
            job_full,
            done,
            done_full,
            retire,
            total,
            sum_not_granted,
            sum_duplicate,
            sum_mismatch,
            sum_new,
            sum_completed,
            sum_aborted,
            sum_grant
        );
        self.fixed_words.clock.next = self.clk.val();
        self.live_words.clock.next = self.clk.val();
        self.interval.clk.next = self.clk.val();
        self.interval.rst.next = self.rst.val();
        self.interval.settings.next = self.settings.val();
        self.interval.now.next = self.now.val();
        self.insert_valid.next = self.interval.insert_valid.val();
        self.insert_data.next = self.interval.insert_data.val();
        self.interval.insert_ready.next = self.insert_ready.val();
        self.interval.pop_valid.next = self.pop_valid.val();
        self.interval.pop_node.next = self.pop_node.val();
        self.pop_ready.next = self.interval.pop_ready.val();
        self.nack_expiries.next = self.interval.expired.val();
        self.ready.next = self.interval.ready.val();
        self.grant.clk.next = self.clk.val();
        self.grant.rst.next = self.rst.val();
        self.grant.settings.next = self.settings.val();
        self.grant.tick.next = self.now.val().get_bit(0);
        self.feedback.clk.next = self.clk.val();
        self.feedback.rst.next = self.rst.val();
        self.feedback_valid.next = self.feedback.feedback_valid.val();
        self.feedback_data.next = self.feedback.feedback_data.val();
        self.feedback.feedback_ready.next = self.feedback_ready.val();

        // Registered outputs.
        self.place_valid.next = self.place_full.q.val();
        self.place_data.next = self.place.q.val();
        self.place_room.next = !self.place_full.q.val() | self.place_ready.val();
        if self.place_ready.val() {
            self.place_full.d.next = false;
        }
        self.interval.job_valid.next = self.job_full.q.val();
        self.interval.job_data.next = self.job.q.val();
        self.job_room.next = !self.job_full.q.val() | self.interval.job_ready.val();
        if self.interval.job_ready.val() {
            self.job_full.d.next = false;
        }
        self.done_valid.next = self.done_full.q.val();
        self.done_data.next = self.done.q.val();
        self.done_now.next = self.done_full.q.val() & self.done_ready.val();
        if self.done_now.val() {
            self.done_full.d.next = false;
        }
        self.retire_valid.next = self.state.q.val() == ContextState::Retire;
        self.retire_data.next = self.retire.q.val();
        self.outstanding.next = self.total.q.val();
        self.not_granted.next = self.sum_not_granted.q.val();
        self.duplicate.next = self.sum_duplicate.q.val();
        self.mismatch.next = self.sum_mismatch.q.val();
        self.rx_new.next = self.sum_new.q.val();
        self.rx_completed.next = self.sum_completed.q.val();
        self.rx_aborted.next = self.sum_aborted.q.val();
        self.grants_sent.next = self.sum_grant.q.val();
        self.sum_not_granted.d.next = false;
        self.sum_duplicate.d.next = false;
        self.sum_mismatch.d.next = false;
        self.sum_new.d.next = false;
        self.sum_completed.d.next = false;
        self.sum_aborted.d.next = false;
        self.sum_grant.d.next = false;

        // Which event comes next.
        self.idle.next = (self.state.q.val() == ContextState::Idle) & self.interval.ready.val();
        self.others.next = self.fence_valid.val()
            | self.interval.expiry_valid.val()
            | self.interval.freed_valid.val()
            | self.grant.head_valid.val();
        self.take_work.next =
            self.idle.val() & self.work_valid.val() & (!self.others.val() | !self.other_turn.q.val());
        self.take_fence.next = self.idle.val() & !self.take_work.val() & self.fence_valid.val();
        self.take_expiry.next = self.idle.val()
            & !self.take_work.val()
            & !self.fence_valid.val()
            & self.interval.expiry_valid.val();
        self.take_freed.next = self.idle.val()
            & !self.take_work.val()
            & !self.fence_valid.val()
            & !self.interval.expiry_valid.val()
            & self.interval.freed_valid.val();
        self.take_grant.next = self.idle.val()
            & !self.take_work.val()
            & !self.fence_valid.val()
            & !self.interval.expiry_valid.val()
            & !self.interval.freed_valid.val()
            & self.grant.head_valid.val();
        self.work_ready.next = self.take_work.val();
        self.fence_ready.next = self.take_fence.val();
        self.interval.expiry_ready.next = self.take_expiry.val();
        self.interval.freed_ready.next = self.take_freed.val();
        self.chosen.next = self.work_data.val().context;
        if self.take_fence.val() {
            self.chosen.next = self.fence_data.val().context;
        }
        if self.take_expiry.val() {
            self.chosen.next = self.interval.expiry_data.val().context;
        }
        if self.take_freed.val() {
            self.chosen.next = self.interval.freed_data.val();
        }
        if self.take_grant.val() {
            self.chosen.next = self.grant.head_context.val();
        }

        // Blocks at hand.
        self.stock_take.next = false;
        self.pool_take.next = false;
        self.pool_for_grants.next = self.alloc_available.val() & self.stocked.q.val().get_bit(2);
        self.block_ready.next = (self.stocked.q.val() == 3) | self.stocked.q.val().get_bit(2);

        // The words of the event.
        self.fixed_words.read_address.next = self.owner.q.val();
        self.fixed_words.write_enable.next = false;
        self.fixed_words.write_address.next = self.owner.q.val();
        self.fixed_words.write_data.next = self.fixed.q.val();
        self.live_words.read_address.next = self.owner.q.val();
        self.live_words.write_enable.next = false;
        self.live_words.write_address.next = self.owner.q.val();
        self.store.next = self.live.q.val();
        self.loaded.next = self.live_words.read_data.val();
        self.cumulative.next = self.live.q.val().cumulative;
        self.granted.next = self.live.q.val().grant;
        self.count.next = self.fixed.q.val().count;
        self.index.next = self.packet.q.val().index;
        self.is_data.next = !self.packet.q.val().probe;
        self.wants_answer.next = (self.packet.q.val().flags & self.flag_ar.val()).any();
        self.gid.next = self.packet.q.val().src_gid;
        self.fold64.next = self.gid.val().get_bits::<64>(0) ^ self.gid.val().get_bits::<64>(64);
        self.fold32.next = self.fold64.val().get_bits::<32>(0) ^ self.fold64.val().get_bits::<32>(32);
        self.fold16.next = self.fold32.val().get_bits::<16>(0) ^ self.fold32.val().get_bits::<16>(16);
        self.fold8.next = self.fold16.val().get_bits::<8>(0) ^ self.fold16.val().get_bits::<8>(8);
        self.window.next = bit_cast::<24, 8>(self.packet.q.val().initial_window);
        if self.packet.q.val().initial_window == 0 {
            self.window.next = 256.into();
        }
        self.first_grant.next = self.window.val();
        if self.packet.q.val().count < self.window.val() {
            self.first_grant.next = self.packet.q.val().count;
        }
        self.differs.next = (self.packet.q.val().length != self.fixed.q.val().length)
            | (self.packet.q.val().payload_log2 != self.fixed.q.val().payload_log2)
            | (self.packet.q.val().tag != self.fixed.q.val().tag)
            | (self.packet.q.val().imm != self.fixed.q.val().imm)
            | ((self.packet.q.val().flags & self.flag_imm.val()).any() ^ self.fixed.q.val().has_imm)
            | (self.packet.q.val().initial_window != self.fixed.q.val().initial_window)
            | (self.packet.q.val().endpoint != self.fixed.q.val().endpoint)
            | (self.packet.q.val().src_endpoint != self.fixed.q.val().src_endpoint);

        // The block of `cumulative`.
        self.base.next = (self.cumulative.val() >> 8) << 8;
        self.next_base.next = self.base.val() + 256;
        if (self.count.val() >> 8) == (self.cumulative.val() >> 8) {
            self.next_base.next = self.count.val();
        }
        self.first_gap.next = self.base.val() | bit_cast::<24, 8>(self.result.val().first_zero);
        self.past_index.next = self.index.val() + 1;
        self.last_index.next = self.count.val() - 1;
        self.own_limit.next = 256.into();
        if (self.granted.val() >> 8) == (self.cumulative.val() >> 8) {
            self.own_limit.next = bit_cast::<9, 8>(self.granted.val().get_bits::<8>(0));
        }
        self.own_slot.next = self.cumulative.val().get_bits::<2>(8);
        self.own_mask.next = 1.into();
        self.own_block.next = self.live.q.val().block0;
        if self.own_slot.val() == 1 {
            self.own_mask.next = 2.into();
            self.own_block.next = self.live.q.val().block1;
        }
        if self.own_slot.val() == 2 {
            self.own_mask.next = 4.into();
            self.own_block.next = self.live.q.val().block2;
        }
        if self.own_slot.val() == 3 {
            self.own_mask.next = 8.into();
            self.own_block.next = self.live.q.val().block3;
        }
        self.own_held.next = (self.live.q.val().held & self.own_mask.val()).any();
        self.own_full.next = (self.live.q.val().full & self.own_mask.val()).any();

        // Another block: of the packet, of a NACK, of an abort, of a grant.
        self.nack_at.next = self.base.val() + (bit_cast::<24, 3>(self.step.q.val()) << 8);
        self.new_grant.next = self.granted.val() + bit_cast::<24, 9>(self.quota.q.val());
        self.slot.next = self.index.val().get_bits::<2>(8);
        if (self.state.q.val() == ContextState::Nack) | (self.state.q.val() == ContextState::NackWait) {
            self.slot.next = self.nack_at.val().get_bits::<2>(8);
        }
        if self.state.q.val() == ContextState::Release {
            self.slot.next = bit_cast::<2, 3>(self.step.q.val());
        }
        if self.state.q.val() == ContextState::FirstBlock {
            self.slot.next = self.granted.val().get_bits::<2>(8);
        }
        if self.state.q.val() == ContextState::SecondBlock {
            self.slot.next = self.new_grant.val().get_bits::<2>(8);
        }
        self.slot_mask.next = 1.into();
        self.slot_block.next = self.live.q.val().block0;
        if self.slot.val() == 1 {
            self.slot_mask.next = 2.into();
            self.slot_block.next = self.live.q.val().block1;
        }
        if self.slot.val() == 2 {
            self.slot_mask.next = 4.into();
            self.slot_block.next = self.live.q.val().block2;
        }
        if self.slot.val() == 3 {
            self.slot_mask.next = 8.into();
            self.slot_block.next = self.live.q.val().block3;
        }
        self.slot_held.next = (self.live.q.val().held & self.slot_mask.val()).any();
        self.same_block.next = (self.index.val() >> 8) == (self.cumulative.val() >> 8);
        self.in_window.next = (self.index.val() >= self.cumulative.val())
            & (self.index.val() < self.granted.val())
            & self.slot_held.val();
        self.expected.next = (self.flying.q.val() == 1)
            | ((self.flying.q.val() == 2) & self.reading.q.val() & !self.own_done.q.val());
        self.set_slot.next = false;

        self.op_valid.next = false;
        self.op.next.kind = 0.into();
        self.op.next.block = self.own_block.val();
        self.op.next.index = self.packet.q.val().index.get_bits::<8>(0);
        self.op.next.limit = self.own_limit.val();
        self.free_valid.next = false;
        self.free_block.next = self.slot_block.val();

        // Grants: how far this message may be granted, and whether it waits.
        self.reach.next = self.base.val() + 1024;
        if self.count.val() < self.reach.val() {
            self.reach.next = self.count.val();
        }
        self.may_grant.next = self.granted.val() < self.reach.val();
        self.gap_to_reach.next = self.reach.val() - self.granted.val();
        self.enters.next = self.may_grant.val() & !self.live.q.val().queued;
        self.grant.enter.next = false;
        self.grant.enter_context.next = self.owner.q.val();
        self.grant.leave.next = false;
        self.grant.hold_off.next = false;
        self.grant.room.next = self.room.q.val();
        self.grant.payload_log2.next = self.fixed.q.val().payload_log2;
        self.grant.outstanding.next = self.total.q.val();
        self.to_edge.next = bits::<9>(256) - bit_cast::<9, 8>(self.granted.val().get_bits::<8>(0));
        self.crosses.next = ((self.new_grant.val() >> 8) != (self.granted.val() >> 8))
            & (self.new_grant.val().get_bits::<8>(0) != 0);
        self.granted_bytes.next = self.bytes_to.q.val() - self.bytes_from.q.val();
        self.credit_up.next = 0.into();
        self.credit_down.next = 0.into();

        // What a packet leads to.
        self.complete.next = self.is_new.q.val() & (self.cumulative.val() == self.count.val());
        self.more.next = self.live.q.val().since + 1;
        self.since.next = self.live.q.val().since;
        if self.is_new.q.val() & (self.live.q.val().since != 255) {
            self.since.next = self.more.val();
        }
        self.answer.next = self.packet.q.val().probe | (self.is_again.q.val() & self.wants_answer.val());
        if self.is_new.q.val() {
            self.answer.next = self.wants_answer.val()
                | self.packet.q.val().ce
                | (self.since.val() >= self.settings.val().ack_every);
        }
        self.commit.next = self.place_room.val() & self.job_room.val() & self.feedback.room.val();

        self.feedback.fixed.next = self.fixed.q.val();
        self.feedback.live.next = self.live.q.val();
        self.feedback.make.next = false;
        self.feedback.request.next.flags = 0.into();
        self.feedback.request.next.status = 0.into();
        self.feedback.request.next.base = self.base.val();
        self.feedback.request.next.limit = 0.into();
        self.feedback.request.next.bitmap = self.bits.q.val();
        self.feedback.request.next.sample = false;
        self.feedback.request.next.ev = self.packet.q.val().ev;
        self.feedback.request.next.arrival = self.packet.q.val().arrival;
        self.feedback.request.next.timestamp = self.packet.q.val().timestamp;

        // A NACK stops at its limit, at the burst, and at the first block unless the expiry says more.
        self.nack_more.next = (self.nack_at.val() < self.nack_limit.q.val())
            & (self.step.q.val() < 4)
            & (self.nacks.q.val() < self.settings.val().nack_burst)
            & ((self.step.q.val() == 0) | self.expiry.q.val().burst);
        self.nack_ask.next = 256.into();
        if (self.nack_limit.q.val() >> 8) == (self.nack_at.val() >> 8) {
            self.nack_ask.next = bit_cast::<9, 8>(self.nack_limit.q.val().get_bits::<8>(0));
        }
        self.loose.next = (!self.live.q.val().timed | self.live.q.val().untied) & !self.live.q.val().queued;

        match self.state.q.val() {
            ContextState::Idle => {
                self.fixed_words.read_address.next = self.chosen.val() & self.contexts_mask.val();
                self.live_words.read_address.next = self.chosen.val() & self.contexts_mask.val();
                self.owner.d.next = self.chosen.val() & self.contexts_mask.val();
                self.expiry.d.next = self.interval.expiry_data.val();
                self.fence_failed.d.next = self.fence_data.val().error;
                self.own_done.d.next = false;
                self.is_new.d.next = false;
                self.is_again.d.next = false;
                self.step.d.next = 0.into();
                self.nacks.d.next = 0.into();
                self.bits.d.next = self.nothing.val();
                self.left.d.next = 0.into();
                if self.take_work.val() {
                    self.packet.d.next = self.work_data.val();
                    self.cause.d.next = ContextEvent::Packet;
                    self.other_turn.d.next = true;
                    self.state.d.next = ContextState::Load;
                    if self.work_data.val().verdict == 2 {
                        self.state.d.next = ContextState::Drop;
                    }
                }
                if self.take_fence.val() {
                    self.cause.d.next = ContextEvent::Fence;
                }
                if self.take_expiry.val() {
                    self.cause.d.next = ContextEvent::Expiry;
                }
                if self.take_freed.val() {
                    self.cause.d.next = ContextEvent::Freed;
                }
                if self.take_grant.val() {
                    self.cause.d.next = ContextEvent::Grant;
                }
                if self.idle.val() & !self.take_work.val() & self.others.val() {
                    self.other_turn.d.next = false;
                    self.state.d.next = ContextState::Load;
                }
            }
            ContextState::Drop => {
                self.place.d.next.kind = 0.into();
                if self.packet.q.val().payload_len == 0 {
                    self.state.d.next = ContextState::Idle;
                } else {
                    if self.place_room.val() {
                        self.place_full.d.next = true;
                        self.state.d.next = ContextState::Idle;
                    }
                }
            }
            ContextState::Load => {
                self.fixed.d.next = self.fixed_words.read_data.val();
                self.live.d.next = self.loaded.val();
                self.hash.d.next = self.fold8.val();
                self.opened.d.next = false;
                match self.cause.q.val() {
                    ContextEvent::Packet => {
                        self.state.d.next = ContextState::Check;
                        if self.packet.q.val().verdict == 3 {
                            self.live.d.next.status = self.replaced.val();
                            self.state.d.next = ContextState::Drop;
                            if self.loaded.val().state == 1 {
                                self.state.d.next = ContextState::Release;
                            }
                        }
                        if self.packet.q.val().verdict == 1 {
                            self.opened.d.next = true;
                            self.fixed.d.next.src_gid = self.packet.q.val().src_gid;
                            self.fixed.d.next.src_endpoint = self.packet.q.val().src_endpoint;
                            self.fixed.d.next.endpoint = self.packet.q.val().endpoint;
                            self.fixed.d.next.slot = self.packet.q.val().slot;
                            self.fixed.d.next.generation = self.packet.q.val().generation;
                            self.fixed.d.next.length = self.packet.q.val().length;
                            self.fixed.d.next.count = self.packet.q.val().count;
                            self.fixed.d.next.payload_log2 = self.packet.q.val().payload_log2;
                            self.fixed.d.next.tag = self.packet.q.val().tag;
                            self.fixed.d.next.has_imm =
                                (self.packet.q.val().flags & self.flag_imm.val()).any();
                            self.fixed.d.next.imm = self.packet.q.val().imm;
                            self.fixed.d.next.initial_window = self.packet.q.val().initial_window;
                            self.fixed.d.next.buffer = self.packet.q.val().buffer;
                            self.fixed.d.next.entry = self.packet.q.val().entry;
                            self.live.d.next.state = 1.into();
                            self.live.d.next.status = 0.into();
                            self.live.d.next.queued = false;
                            self.live.d.next.timed = false;
                            self.live.d.next.untied = false;
                            self.live.d.next.cumulative = 0.into();
                            self.live.d.next.highest = 0.into();
                            self.live.d.next.grant = self.first_grant.val();
                            self.live.d.next.sequence = 0.into();
                            self.live.d.next.duplicates = 0.into();
                            self.live.d.next.since = 0.into();
                            self.live.d.next.block0 = self.stock0.q.val();
                            self.live.d.next.held = 1.into();
                            self.live.d.next.full = 0.into();
                            self.stock_take.next = true;
                        }
                    }
                    ContextEvent::Fence => {
                        self.state.d.next = ContextState::Report;
                    }
                    ContextEvent::Expiry => {
                        self.live.d.next.status = self.gave_up.val();
                        self.state.d.next = ContextState::Nack;
                        if self.expiry.q.val().gave_up {
                            self.state.d.next = ContextState::Release;
                        }
                        if self.loaded.val().state != 1 {
                            self.state.d.next = ContextState::Idle;
                        }
                        // The limit never exceeds the grant: LD-4.
                        self.nack_limit.d.next = self.loaded.val().grant;
                        if !self.expiry.q.val().to_grant
                            & (self.expiry.q.val().limit < self.loaded.val().grant)
                        {
                            self.nack_limit.d.next = self.expiry.q.val().limit;
                        }
                    }
                    ContextEvent::Freed => {
                        self.live.d.next.untied = true;
                        self.state.d.next = ContextState::Bury;
                    }
                    ContextEvent::Grant => {
                        self.state.d.next = ContextState::Room;
                        if self.loaded.val().state != 1 {
                            self.grant.leave.next = true;
                            self.live.d.next.queued = false;
                            self.state.d.next = ContextState::Bury;
                        }
                    }
                }
            }

            ContextState::Check => {
                self.cumulative_then.d.next = self.cumulative.val();
                self.offset.d.next = bit_cast::<32, 24>(self.index.val()) << self.fixed.q.val().payload_log2;
                self.live.d.next.src_mac = self.packet.q.val().src_mac;
                self.sets.d.next = self.is_data.val() & self.in_window.val();
                self.state.d.next = ContextState::Ask;
                if self.opened.q.val() {
                    self.op_valid.next = true;
                    self.op.next.kind = 2.into();
                    if (self.count.val() >> 8) != 0 {
                        self.op.next.limit = 256.into();
                    } else {
                        self.op.next.limit = bit_cast::<9, 8>(self.count.val().get_bits::<8>(0));
                    }
                    self.credit_up.next =
                        bit_cast::<32, 24>(self.granted.val()) << self.fixed.q.val().payload_log2;
                    if self.granted.val() == self.count.val() {
                        self.credit_up.next = self.fixed.q.val().length;
                    }
                    self.live.d.next.credit = bit_cast::<24, 32>(self.credit_up.val());
                }
                if self.is_data.val() & (self.index.val() >= self.granted.val()) {
                    self.sum_not_granted.d.next = true;
                    self.state.d.next = ContextState::Drop;
                    // A message may open with a packet beyond its grant, and waits for the others then.
                    if self.opened.q.val() {
                        self.state.d.next = ContextState::Ask;
                    }
                }
                if self.live.q.val().state != 1 {
                    self.sum_not_granted.d.next = false;
                    self.sum_duplicate.d.next = self.is_data.val();
                    self.state.d.next = ContextState::Drop;
                }
                if !self.opened.q.val() & self.differs.val() {
                    self.sum_not_granted.d.next = false;
                    self.sum_duplicate.d.next = false;
                    self.sum_mismatch.d.next = true;
                    self.state.d.next = ContextState::Drop;
                }
            }
            ContextState::Ask => {
                self.address.d.next = self.fixed.q.val().buffer + bit_cast::<64, 32>(self.offset.q.val());
                self.reading.d.next = self.own_held.val();
                if self.sets.q.val() {
                    self.op_valid.next = true;
                    self.op.next.kind = 1.into();
                    self.op.next.block = self.slot_block.val();
                    self.reading.d.next = !self.same_block.val();
                    self.state.d.next = ContextState::Wait;
                    if !self.same_block.val() {
                        self.state.d.next = ContextState::AskSecond;
                    }
                } else {
                    self.op_valid.next = self.own_held.val();
                    self.own_done.d.next = true;
                    self.state.d.next = ContextState::Wait;
                    if !self.own_held.val() {
                        self.state.d.next = ContextState::Commit;
                    }
                    if self.is_data.val() & (self.index.val() < self.granted.val()) {
                        self.is_again.d.next = true;
                    }
                }
            }
            ContextState::AskSecond => {
                // Packets above `cumulative` exist only with its block in use.
                self.op_valid.next = true;
                self.state.d.next = ContextState::Wait;
            }
            ContextState::Wait => {
                if self.result_valid.val() {
                    if self.expected.val() {
                        if !self.own_done.q.val() {
                            self.own_done.d.next = true;
                            self.is_new.d.next = !self.result.val().was_set;
                            self.is_again.d.next = self.result.val().was_set;
                            if !self.result.val().was_set {
                                if self.past_index.val() > self.live.q.val().highest {
                                    self.live.d.next.highest = self.past_index.val();
                                }
                                self.credit_down.next = bit_cast::<32, 13>(self.packet.q.val().payload_len);
                                self.live.d.next.credit = self.live.q.val().credit
                                    - bit_cast::<24, 13>(self.packet.q.val().payload_len);
                                if self.result.val().full {
                                    self.free_valid.next = true;
                                    self.live.d.next.held = self.live.q.val().held & !self.slot_mask.val();
                                    if !self.same_block.val() {
                                        self.live.d.next.full = self.live.q.val().full | self.slot_mask.val();
                                    }
                                }
                            }
                            if self.same_block.val() {
                                self.bits.d.next = self.result.val().bits;
                                self.left.d.next = self.result.val().missing;
                                self.live.d.next.cumulative = self.first_gap.val();
                                self.state.d.next = ContextState::Commit;
                                if self.result.val().full {
                                    self.live.d.next.cumulative = self.next_base.val();
                                    self.state.d.next = ContextState::Advance;
                                }
                            }
                        } else {
                            self.bits.d.next = self.result.val().bits;
                            self.left.d.next = self.result.val().missing;
                            self.state.d.next = ContextState::Commit;
                        }
                    }
                }
            }
            ContextState::Advance => {
                // Over blocks that filled cumulative_then, to the first with a gap.
                self.bits.d.next = self.nothing.val();
                self.left.d.next = 0.into();
                self.state.d.next = ContextState::Commit;
                if self.cumulative.val() != self.count.val() {
                    if self.own_full.val() {
                        self.live.d.next.full = self.live.q.val().full & !self.own_mask.val();
                        self.live.d.next.cumulative = self.next_base.val();
                        self.state.d.next = ContextState::Advance;
                    } else {
                        if self.own_held.val() {
                            self.op_valid.next = true;
                            self.state.d.next = ContextState::Reread;
                        }
                    }
                }
            }
            ContextState::Reread => {
                if self.result_valid.val() {
                    if self.flying.q.val() == 1 {
                        self.bits.d.next = self.result.val().bits;
                        self.left.d.next = self.result.val().missing;
                        self.live.d.next.cumulative = self.first_gap.val();
                        self.state.d.next = ContextState::Commit;
                        if self.cause.q.val() == ContextEvent::Grant {
                            self.state.d.next = ContextState::Granted;
                        }
                    }
                }
            }
            ContextState::Commit => {
                self.place.d.next.kind = 0.into();
                if self.is_new.q.val() {
                    self.place.d.next.kind = 1.into();
                }
                self.place.d.next.address = self.address.q.val();
                self.place.d.next.length = self.packet.q.val().payload_len;
                self.place.d.next.context = self.owner.q.val();
                self.job.d.next.kind = 0.into();
                if self.complete.val() {
                    self.job.d.next.kind = 3.into();
                }
                self.job.d.next.opened = self.opened.q.val();
                self.job.d.next.fresh =
                    self.is_new.q.val() & !(self.packet.q.val().flags & self.flag_retx.val()).any();
                self.job.d.next.probe = self.packet.q.val().probe;
                self.job.d.next.limit = self.index.val();
                if self.granted.val() < self.index.val() {
                    self.job.d.next.limit = self.granted.val();
                }
                self.store.next.since = self.since.val();
                if self.is_again.q.val() & (self.live.q.val().duplicates != 255) {
                    self.store.next.duplicates = self.live.q.val().duplicates + 1;
                }
                self.feedback.live.next = self.store.val();
                self.feedback.request.next.sample = true;
                if self.packet.q.val().ce {
                    self.feedback.request.next.flags = self.say_ce.val();
                }
                if self.complete.val() {
                    self.store.next.state = 2.into();
                    self.store.next.last_ce = self.packet.q.val().ce;
                    self.store.next.last_ev = self.packet.q.val().ev;
                    self.store.next.last_timestamp = self.packet.q.val().timestamp;
                    self.store.next.last_arrival = self.packet.q.val().arrival;
                } else {
                    self.store.next.timed = true;
                    if self.answer.val() {
                        self.store.next.since = 0.into();
                        self.store.next.sequence = self.live.q.val().sequence + 1;
                    }
                    if self.enters.val() {
                        self.store.next.queued = true;
                    }
                }
                if self.commit.val() {
                    self.feedback.make.next = self.answer.val() & !self.complete.val();
                    self.grant.enter.next = self.enters.val() & !self.complete.val();
                    self.place_full.d.next = self.packet.q.val().payload_len != 0;
                    // A message that arrived whole with its first packet was never timed.
                    self.job_full.d.next = !self.complete.val() | self.live.q.val().timed;
                    self.fixed_words.write_enable.next = self.opened.q.val();
                    self.live_words.write_enable.next = true;
                    self.sum_new.d.next = self.is_new.q.val();
                    self.sum_duplicate.d.next = self.is_again.q.val();
                    self.state.d.next = ContextState::Idle;
                    if self.complete.val() {
                        self.state.d.next = ContextState::Fence;
                    }
                }
            }
            ContextState::Fence => {
                self.place.d.next.kind = 2.into();
                self.place.d.next.context = self.owner.q.val();
                if self.place_room.val() {
                    self.place_full.d.next = true;
                    self.state.d.next = ContextState::Idle;
                }
            }

            ContextState::Release => {
                self.free_valid.next = self.slot_held.val();
                self.live.d.next.held = self.live.q.val().held & !self.slot_mask.val();
                self.step.d.next = self.step.q.val() + 1;
                if self.step.q.val() == 3 {
                    self.state.d.next = ContextState::Abort;
                }
            }
            ContextState::Abort => {
                self.place.d.next.kind = 2.into();
                self.place.d.next.context = self.owner.q.val();
                self.job.d.next.kind = 3.into();
                self.job.d.next.opened = false;
                self.job.d.next.fresh = false;
                self.store.next.state = 2.into();
                self.store.next.credit = 0.into();
                if self.place_room.val() & self.job_room.val() {
                    self.place_full.d.next = true;
                    self.job_full.d.next = true;
                    self.credit_down.next = bit_cast::<32, 24>(self.live.q.val().credit);
                    self.live_words.write_enable.next = true;
                    self.sum_aborted.d.next = true;
                    self.state.d.next = ContextState::Idle;
                    // The packet that replaces it is not for this message.
                    if self.cause.q.val() == ContextEvent::Packet {
                        self.state.d.next = ContextState::Drop;
                    }
                }
            }

            ContextState::Report => {
                self.done.d.next.receive = true;
                self.done.d.next.status = self.live.q.val().status;
                self.done.d.next.has_imm = self.fixed.q.val().has_imm;
                self.done.d.next.endpoint = self.fixed.q.val().endpoint;
                self.done.d.next.entry = self.fixed.q.val().entry;
                self.done.d.next.length = self.fixed.q.val().length;
                self.done.d.next.imm = self.fixed.q.val().imm;
                self.done.d.next.tag = self.fixed.q.val().tag;
                self.done.d.next.slot = self.fixed.q.val().slot;
                self.done.d.next.generation = self.fixed.q.val().generation;
                self.done.d.next.peer_endpoint = self.fixed.q.val().src_endpoint;
                self.done.d.next.peer_gid = self.fixed.q.val().src_gid;
                // A failed write is this host's doing: told so here, and as remote to the sender.
                if self.fence_failed.q.val() & (self.live.q.val().status == 0) {
                    self.done.d.next.status = self.local_dma.val();
                    self.live.d.next.status = self.remote_dma.val();
                }
                self.done_full.d.next = true;
                self.state.d.next = ContextState::Answer;
            }
            ContextState::Answer => {
                // COMPLETE is never said before the completion is handed over.
                self.feedback.request.next.base = (self.last_index.val() >> 8) << 8;
                self.feedback.request.next.flags = self.say_complete.val();
                self.feedback.request.next.bitmap = self.everything.val();
                self.feedback.request.next.sample = true;
                self.feedback.request.next.ev = self.live.q.val().last_ev;
                self.feedback.request.next.arrival = self.live.q.val().last_arrival;
                self.feedback.request.next.timestamp = self.live.q.val().last_timestamp;
                if self.live.q.val().last_ce {
                    self.feedback.request.next.flags = self.say_complete.val() | self.say_ce.val();
                }
                if self.live.q.val().status != 0 {
                    self.feedback.request.next.base = self.base.val();
                    self.feedback.request.next.flags = self.say_abort.val();
                    self.feedback.request.next.status = self.live.q.val().status;
                    self.feedback.request.next.bitmap = self.nothing.val();
                    self.feedback.request.next.sample = false;
                }
                if (!self.done_full.q.val() | self.done_now.val()) & self.feedback.room.val() {
                    self.feedback.make.next = self.live.q.val().status != self.replaced.val();
                    self.live.d.next.state = 3.into();
                    self.live.d.next.sequence = self.live.q.val().sequence + 1;
                    self.sum_completed.d.next = self.live.q.val().status == 0;
                    self.sum_aborted.d.next = self.live.q.val().status == self.remote_dma.val();
                    self.state.d.next = ContextState::Bury;
                }
            }
            ContextState::Bury => {
                // Also from a freed context or a queue's stale head: then only `free` is news.
                self.live_words.write_enable.next = true;
                self.retire.d.next.context = self.owner.q.val();
                self.retire.d.next.bury = self.cause.q.val() == ContextEvent::Fence;
                self.retire.d.next.status = self.live.q.val().status;
                self.retire.d.next.free = self.loose.val();
                self.state.d.next = ContextState::Idle;
                if (self.cause.q.val() == ContextEvent::Fence)
                    | (self.loose.val() & (self.live.q.val().state == 3))
                {
                    self.state.d.next = ContextState::Retire;
                }
            }
            ContextState::Retire => {
                if self.retire_ready.val() {
                    self.state.d.next = ContextState::Idle;
                }
            }

            ContextState::Nack => {
                self.op.next.block = self.slot_block.val();
                self.op.next.limit = self.nack_ask.val();
                if self.nack_more.val() {
                    if self.slot_held.val() {
                        self.op_valid.next = true;
                        self.state.d.next = ContextState::NackWait;
                    } else {
                        self.step.d.next = self.step.q.val() + 1;
                    }
                } else {
                    self.state.d.next = ContextState::NackDone;
                }
            }
            ContextState::NackWait => {
                if self.result_valid.val() {
                    self.bits.d.next = self.result.val().bits;
                    self.step.d.next = self.step.q.val() + 1;
                    self.state.d.next = ContextState::Nack;
                    if self.result.val().missing != 0 {
                        self.step.d.next = self.step.q.val();
                        self.state.d.next = ContextState::NackSend;
                    }
                }
            }
            ContextState::NackSend => {
                self.feedback.request.next.flags = self.say_nack.val();
                self.feedback.request.next.base = self.nack_at.val();
                self.feedback.request.next.limit = self.nack_limit.q.val();
                if self.feedback.room.val() {
                    self.feedback.make.next = true;
                    self.live.d.next.sequence = self.live.q.val().sequence + 1;
                    self.live.d.next.since = 0.into();
                    self.nacks.d.next = self.nacks.q.val() + 1;
                    self.step.d.next = self.step.q.val() + 1;
                    self.state.d.next = ContextState::Nack;
                }
            }
            ContextState::NackDone => {
                // The status was prepared for a give-up.
                self.store.next.status = 0.into();
                self.job.d.next.kind = 2.into();
                self.job.d.next.opened = false;
                self.job.d.next.fresh = false;
                self.job.d.next.probe = false;
                self.job.d.next.sent = self.nacks.q.val() != 0;
                self.job.d.next.limit = self.nack_limit.q.val();
                if self.job_room.val() {
                    self.job_full.d.next = true;
                    self.live_words.write_enable.next = true;
                    self.state.d.next = ContextState::Idle;
                }
            }

            ContextState::Room => {
                self.room.d.next = bit_cast::<11, 24>(self.gap_to_reach.val());
                self.pause.d.next = 0.into();
                self.state.d.next = ContextState::Quota;
                if !self.may_grant.val() {
                    self.grant.leave.next = true;
                    self.store.next.queued = false;
                    self.live_words.write_enable.next = true;
                    self.state.d.next = ContextState::Idle;
                }
            }
            ContextState::Quota => {
                self.pause.d.next = self.pause.q.val() + 1;
                if self.pause.q.val() == 2 {
                    self.state.d.next = ContextState::Judge;
                }
            }
            ContextState::Judge => {
                self.quota.d.next = bit_cast::<9, 8>(self.grant.quota.val());
                self.state.d.next = ContextState::FirstBlock;
                if !self.grant.allowed.val() {
                    self.grant.hold_off.next = true;
                    self.state.d.next = ContextState::Idle;
                }
            }
            ContextState::FirstBlock => {
                self.op.next.kind = 2.into();
                self.op.next.block = self.alloc_block.val();
                self.op.next.limit = 256.into();
                if (self.count.val() >> 8) == (self.granted.val() >> 8) {
                    self.op.next.limit = bit_cast::<9, 8>(self.count.val().get_bits::<8>(0));
                }
                self.state.d.next = ContextState::SecondBlock;
                if self.granted.val().get_bits::<8>(0) == 0 {
                    if self.pool_for_grants.val() {
                        self.pool_take.next = true;
                        self.op_valid.next = true;
                        self.set_slot.next = true;
                    } else {
                        self.quota.d.next = 0.into();
                    }
                }
            }
            ContextState::SecondBlock => {
                self.op.next.kind = 2.into();
                self.op.next.block = self.alloc_block.val();
                self.op.next.limit = 256.into();
                if (self.count.val() >> 8) == (self.new_grant.val() >> 8) {
                    self.op.next.limit = bit_cast::<9, 8>(self.count.val().get_bits::<8>(0));
                }
                self.state.d.next = ContextState::Bytes;
                if self.crosses.val() {
                    if self.pool_for_grants.val() {
                        self.pool_take.next = true;
                        self.op_valid.next = true;
                        self.set_slot.next = true;
                    } else {
                        self.quota.d.next = self.to_edge.val();
                    }
                }
            }
            ContextState::Bytes => {
                self.bytes_from.d.next =
                    bit_cast::<32, 24>(self.granted.val()) << self.fixed.q.val().payload_log2;
                self.bytes_to.d.next =
                    bit_cast::<32, 24>(self.new_grant.val()) << self.fixed.q.val().payload_log2;
                if self.new_grant.val() == self.count.val() {
                    self.bytes_to.d.next = self.fixed.q.val().length;
                }
                self.state.d.next = ContextState::Apply;
                if self.quota.q.val() == 0 {
                    // No block: to the tail, and not again before something moves.
                    self.grant.leave.next = true;
                    self.grant.enter.next = true;
                    self.grant.hold_off.next = true;
                    self.state.d.next = ContextState::Idle;
                }
            }
            ContextState::Apply => {
                self.live.d.next.grant = self.new_grant.val();
                self.live.d.next.credit =
                    self.live.q.val().credit + bit_cast::<24, 32>(self.granted_bytes.val());
                self.credit_up.next = self.granted_bytes.val();
                self.cumulative_then.d.next = self.cumulative.val();
                self.quota.d.next = 0.into();
                self.state.d.next = ContextState::Granted;
                if self.own_held.val() {
                    self.pause.d.next = 0.into();
                    self.state.d.next = ContextState::Advance;
                }
            }
            ContextState::Granted => {
                self.job.d.next.kind = 1.into();
                self.job.d.next.opened = false;
                self.job.d.next.fresh = false;
                self.job.d.next.probe = false;
                self.store.next.since = 0.into();
                self.store.next.sequence = self.live.q.val().sequence + 1;
                self.store.next.queued = self.may_grant.val();
                self.feedback.request.next.flags = self.say_grant.val();
                if self.job_room.val() & self.feedback.room.val() {
                    self.feedback.make.next = true;
                    self.job_full.d.next = true;
                    self.grant.leave.next = true;
                    self.grant.enter.next = self.may_grant.val();
                    self.live_words.write_enable.next = true;
                    self.sum_grant.d.next = true;
                    self.state.d.next = ContextState::Idle;
                }
            }
        }

        if self.set_slot.val() {
            self.live.d.next.held = self.live.q.val().held | self.slot_mask.val();
            if self.slot.val() == 0 {
                self.live.d.next.block0 = self.alloc_block.val();
            }
            if self.slot.val() == 1 {
                self.live.d.next.block1 = self.alloc_block.val();
            }
            if self.slot.val() == 2 {
                self.live.d.next.block2 = self.alloc_block.val();
            }
            if self.slot.val() == 3 {
                self.live.d.next.block3 = self.alloc_block.val();
            }
        }

        // What every job says.
        if (self.state.q.val() == ContextState::Commit)
            | (self.state.q.val() == ContextState::Granted)
            | (self.state.q.val() == ContextState::NackDone)
            | (self.state.q.val() == ContextState::Abort)
        {
            if !self.job_full.q.val() | self.interval.job_ready.val() {
                self.job.d.next.context = self.owner.q.val();
                self.job.d.next.hash = self.hash.q.val();
                self.job.d.next.index = self.index.val();
                self.job.d.next.timestamp = self.packet.q.val().timestamp;
                self.job.d.next.arrival = self.packet.q.val().arrival;
                self.job.d.next.rtt = self.packet.q.val().rtt;
                self.job.d.next.cumulative = self.cumulative.val();
                self.job.d.next.highest = self.live.q.val().highest;
                self.job.d.next.left = self.left.q.val();
                self.job.d.next.moved = self.cumulative.val() != self.cumulative_then.q.val();
                self.job.d.next.hole = self.cumulative.val() < self.live.q.val().highest;
                self.job.d.next.tail = self.live.q.val().highest == self.granted.val();
                self.job.d.next.missing = self.cumulative.val() < self.granted.val();
            } else {
                self.job.d.next = self.job.q.val();
            }
        }
        if self.place_full.q.val() & !self.place_ready.val() {
            self.place.d.next = self.place.q.val();
        }

        if self.op_valid.val() & !self.result_valid.val() {
            self.flying.d.next = self.flying.q.val() + 1;
        }
        if !self.op_valid.val() & self.result_valid.val() {
            self.flying.d.next = self.flying.q.val() - 1;
        }
        self.live_words.write_data.next = self.store.val();
        self.total.d.next = self.total.q.val() + self.credit_up.val() - self.credit_down.val();
        self.grant.released.next = self.credit_down.val().any();

        // The stock is filled when no message opens in this clock.
        self.alloc_take.next = self.pool_take.val();
        if self.stock_take.val() {
            self.stock0.d.next = self.stock1.q.val();
            self.stock1.d.next = self.stock2.q.val();
            self.stock2.d.next = self.stock3.q.val();
            self.stocked.d.next = self.stocked.q.val() - 1;
        } else {
            if self.alloc_available.val() & !self.stocked.q.val().get_bit(2) {
                self.alloc_take.next = true;
                self.stocked.d.next = self.stocked.q.val() + 1;
                if self.stocked.q.val() == 0 {
                    self.stock0.d.next = self.alloc_block.val();
                }
                if self.stocked.q.val() == 1 {
                    self.stock1.d.next = self.alloc_block.val();
                }
                if self.stocked.q.val() == 2 {
                    self.stock2.d.next = self.alloc_block.val();
                }
                if self.stocked.q.val() == 3 {
                    self.stock3.d.next = self.alloc_block.val();
                }
            }
        }

        if self.rst.val() {
            self.state.d.next = ContextState::Idle;
            self.other_turn.d.next = false;
            self.stocked.d.next = 0.into();
            self.flying.d.next = 0.into();
            self.place_full.d.next = false;
            self.job_full.d.next = false;
            self.done_full.d.next = false;
            self.total.d.next = 0.into();
            self.sum_not_granted.d.next = false;
            self.sum_duplicate.d.next = false;
            self.sum_mismatch.d.next = false;
            self.sum_new.d.next = false;
            self.sum_completed.d.next = false;
            self.sum_aborted.d.next = false;
            self.sum_grant.d.next = false;
        }
    }
}
