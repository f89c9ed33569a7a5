//! The receiver's state of messages: contexts, bitmap and timer wheel, wired.
//!
//! ```text
//!  work ──> contexts ──> place, feedback, done, retire, header, chunk
//!  fence ─>  │ ^ │ ^
//!      ops ──┘ │ │ └── pops ──┐
//!   bitmap ────┘ └─ inserts ──┴─ timer_wheel
//! ```
//!
//! Contract: that of [`Context`] and the two others; nothing is decided here.
//! `wheel_pop` and `wheel_late` pulse for a timer popped and for one popped late.
//!
//! Verified by `testbenches/tests/rx_context/`.

use super::Context;
use crate::prelude::*;
use crate::recovery::{Bitmap, TimerWheel};
use crate::types::{
    ChunkBits, ChunkHeader, Done, Doorbell, PlaceCommand, PlaceFence, RecoverOrder, Retire, RxWork, Settings,
    TimerInsert, TxFeedback,
};
use tessera_abi::params::Config;

#[derive(LogicBlock)]
pub struct Receiver {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub settings: Signal<In, Settings>,
    /// Ticks.
    pub now: Signal<In, Bits<32>>,
    /// A round's registers it.
    pub doorbell: Signal<In, Doorbell>,
    pub work_valid: Signal<In, Bit>,
    pub work_data: Signal<In, RxWork>,
    pub work_ready: Signal<Out, Bit>,
    /// A block is at hand for a message to open.
    pub block_ready: Signal<Out, Bit>,
    /// COMPLETE is to ask for a RELEASE.
    pub low: Signal<In, Bit>,
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
    /// What host-recovered messages tell of themselves, to `chunks`.
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
    pub free_blocks: Signal<Out, Bits<14>>,
    pub wheel_pop: Signal<Out, Bit>,
    pub wheel_late: Signal<Out, Bit>,
    /// A timer node was linked, popped: for testbenches.
    pub linked: Signal<Out, Bit>,
    pub linked_data: Signal<Out, TimerInsert>,
    pub popped: Signal<Out, Bit>,
    pub popped_node: Signal<Out, Bits<13>>,
    pub ready: Signal<Out, Bit>,
    contexts: Context,
    bitmap: Bitmap,
    wheel: TimerWheel,
    pop: Dff<Bit>,
}

impl Receiver {
    /// The receiver of a configuration.
    pub fn new(config: &Config) -> Self {
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
            free_blocks: Default::default(),
            wheel_pop: Default::default(),
            wheel_late: Default::default(),
            linked: Default::default(),
            linked_data: Default::default(),
            popped: Default::default(),
            popped_node: Default::default(),
            ready: Default::default(),
            contexts: Context::new(config),
            bitmap: Bitmap::new(config),
            wheel: TimerWheel::new(config),
            pop: Default::default(),
        }
    }
}

impl Logic for Receiver {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, pop);
        self.contexts.clk.next = self.clk.val();
        self.contexts.rst.next = self.rst.val();
        self.bitmap.clk.next = self.clk.val();
        self.bitmap.rst.next = self.rst.val();
        self.wheel.clk.next = self.clk.val();
        self.wheel.rst.next = self.rst.val();
        self.wheel.now.next = self.now.val();
        self.contexts.now.next = self.now.val();
        self.contexts.settings.next = self.settings.val();
        self.contexts.doorbell.next = self.doorbell.val();
        self.rounds_done.next = self.contexts.rounds_done.val();
        self.round_pulls.next = self.contexts.round_pulls.val();
        self.contexts.work_valid.next = self.work_valid.val();
        self.contexts.work_data.next = self.work_data.val();
        self.work_ready.next = self.contexts.work_ready.val();
        self.block_ready.next = self.contexts.block_ready.val();
        self.contexts.low.next = self.low.val();
        self.place_valid.next = self.contexts.place_valid.val();
        self.place_data.next = self.contexts.place_data.val();
        self.contexts.place_ready.next = self.place_ready.val();
        self.contexts.fence_valid.next = self.fence_valid.val();
        self.contexts.fence_data.next = self.fence_data.val();
        self.fence_ready.next = self.contexts.fence_ready.val();
        self.contexts.crowded.next = self.crowded.val();
        self.feedback_valid.next = self.contexts.feedback_valid.val();
        self.feedback_data.next = self.contexts.feedback_data.val();
        self.contexts.feedback_ready.next = self.feedback_ready.val();
        self.done_valid.next = self.contexts.done_valid.val();
        self.done_data.next = self.contexts.done_data.val();
        self.contexts.done_ready.next = self.done_ready.val();
        self.retire_valid.next = self.contexts.retire_valid.val();
        self.retire_data.next = self.contexts.retire_data.val();
        self.contexts.retire_ready.next = self.retire_ready.val();
        self.header_valid.next = self.contexts.header_valid.val();
        self.header_data.next = self.contexts.header_data.val();
        self.contexts.header_ready.next = self.header_ready.val();
        self.chunk_valid.next = self.contexts.chunk_valid.val();
        self.chunk_data.next = self.contexts.chunk_data.val();
        self.contexts.chunk_ready.next = self.chunk_ready.val();
        self.contexts.order_valid.next = self.order_valid.val();
        self.contexts.order_data.next = self.order_data.val();
        self.order_ready.next = self.contexts.order_ready.val();
        self.order_met.next = self.contexts.order_met.val();
        self.outstanding.next = self.contexts.outstanding.val();
        self.not_granted.next = self.contexts.not_granted.val();
        self.duplicate.next = self.contexts.duplicate.val();
        self.mismatch.next = self.contexts.mismatch.val();
        self.rx_new.next = self.contexts.rx_new.val();
        self.rx_completed.next = self.contexts.rx_completed.val();
        self.rx_aborted.next = self.contexts.rx_aborted.val();
        self.remote_access.next = self.contexts.remote_access.val();
        self.nack_expiries.next = self.contexts.nack_expiries.val();
        self.grants_sent.next = self.contexts.grants_sent.val();
        self.judged.next = self.contexts.judged.val();

        self.bitmap.op_valid.next = self.contexts.op_valid.val();
        self.bitmap.op.next = self.contexts.op.val();
        self.contexts.result_valid.next = self.bitmap.result_valid.val();
        self.contexts.result.next = self.bitmap.result.val();
        self.contexts.alloc_available.next = self.bitmap.alloc_available.val();
        self.contexts.alloc_block.next = self.bitmap.alloc_block.val();
        self.bitmap.alloc_take.next = self.contexts.alloc_take.val();
        self.bitmap.free_valid.next = self.contexts.free_valid.val();
        self.bitmap.free_block.next = self.contexts.free_block.val();
        self.free_blocks.next = self.bitmap.free_count.val();

        self.wheel.insert_valid.next = self.contexts.insert_valid.val();
        self.wheel.insert_data.next = self.contexts.insert_data.val();
        self.contexts.insert_ready.next = self.wheel.insert_ready.val();
        self.contexts.pop_valid.next = self.wheel.pop_valid.val();
        self.contexts.pop_node.next = self.wheel.pop_node.val();
        self.wheel.pop_ready.next = self.contexts.pop_ready.val();
        self.linked.next = self.contexts.insert_valid.val() & self.wheel.insert_ready.val();
        self.linked_data.next = self.contexts.insert_data.val();
        self.popped.next = self.wheel.pop_valid.val() & self.contexts.pop_ready.val();
        self.popped_node.next = self.wheel.pop_node.val();
        self.pop.d.next = self.popped.val();
        self.wheel_pop.next = self.pop.q.val();
        self.wheel_late.next = self.wheel.late.val();
        self.ready.next = self.contexts.ready.val() & self.bitmap.ready.val() & self.wheel.ready.val();
    }
}
