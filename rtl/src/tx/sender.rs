//! The sender's control: slots, retransmit queue and timer wheel, wired.
//!
//! ```text
//!  request ──> slots ──> packet          slots ──walks──> retransmit_queue
//!  feedback ──>  │  ──> done, release          <──steps──
//!  sent, failed ─┘                       slots ──inserts──> timer_wheel
//!                                              <──pops────
//! ```
//!
//! Contract: that of [`Slots`] and the two others; nothing is decided here.
//! `wheel_pop` and `wheel_late` pulse for a timer popped and for one popped late.
//!
//! Verified by `testbenches/tests/tx_slots/`.

use super::Slots;
use crate::prelude::*;
use crate::recovery::{RetransmitQueue, TimerWheel};
use crate::types::{Done, PathEcho, Reclaim, RxFeedback, Settings, TxFeedback, TxPacket, TxRequest, TxSent};
use tessera_abi::params::Config;

#[derive(LogicBlock)]
pub struct Sender {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    /// With `rst`: slots keep their generations.
    pub keeps: Signal<In, Bit>,
    pub settings: Signal<In, Settings>,
    pub now: Signal<In, Bits<32>>,
    pub reclaim: Signal<In, Reclaim>,
    pub request_valid: Signal<In, Bit>,
    pub request_data: Signal<In, TxRequest>,
    pub request_ready: Signal<Out, Bit>,
    pub feedback_valid: Signal<In, Bit>,
    pub feedback_data: Signal<In, RxFeedback>,
    pub feedback_ready: Signal<Out, Bit>,
    pub packet_valid: Signal<Out, Bit>,
    pub packet_data: Signal<Out, TxPacket>,
    pub packet_ready: Signal<In, Bit>,
    pub sent: Signal<In, TxSent>,
    pub failed: Signal<In, TxSent>,
    pub echo: Signal<Out, PathEcho>,
    pub done_valid: Signal<Out, Bit>,
    pub done_data: Signal<Out, Done>,
    pub done_ready: Signal<In, Bit>,
    pub release_valid: Signal<Out, Bit>,
    pub release_data: Signal<Out, TxFeedback>,
    pub release_ready: Signal<In, Bit>,
    pub unsolicited: Signal<Out, Bits<32>>,
    pub free_slots: Signal<Out, Bits<13>>,
    pub ready: Signal<Out, Bit>,
    pub heard: Signal<Out, Bit>,
    pub feedback_stale: Signal<Out, Bit>,
    pub feedback_forged: Signal<Out, Bit>,
    pub feedback_nonsense: Signal<Out, Bit>,
    pub nack_overflow: Signal<Out, Bit>,
    pub tx_opened: Signal<Out, Bit>,
    pub tx_completed: Signal<Out, Bit>,
    pub tx_failed: Signal<Out, Bit>,
    pub backstop_expiries: Signal<Out, Bit>,
    pub wheel_pop: Signal<Out, Bit>,
    pub wheel_late: Signal<Out, Bit>,
    slots: Slots,
    retransmit: RetransmitQueue,
    wheel: TimerWheel,
    popped: Dff<Bit>,
}

impl Sender {
    /// The sender of a configuration.
    pub fn new(config: &Config) -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            keeps: Default::default(),
            settings: Default::default(),
            now: Default::default(),
            reclaim: Default::default(),
            request_valid: Default::default(),
            request_data: Default::default(),
            request_ready: Default::default(),
            feedback_valid: Default::default(),
            feedback_data: Default::default(),
            feedback_ready: Default::default(),
            packet_valid: Default::default(),
            packet_data: Default::default(),
            packet_ready: Default::default(),
            sent: Default::default(),
            failed: Default::default(),
            echo: Default::default(),
            done_valid: Default::default(),
            done_data: Default::default(),
            done_ready: Default::default(),
            release_valid: Default::default(),
            release_data: Default::default(),
            release_ready: Default::default(),
            unsolicited: Default::default(),
            free_slots: Default::default(),
            ready: Default::default(),
            heard: Default::default(),
            feedback_stale: Default::default(),
            feedback_forged: Default::default(),
            feedback_nonsense: Default::default(),
            nack_overflow: Default::default(),
            tx_opened: Default::default(),
            tx_completed: Default::default(),
            tx_failed: Default::default(),
            backstop_expiries: Default::default(),
            wheel_pop: Default::default(),
            wheel_late: Default::default(),
            slots: Slots::new(config),
            retransmit: RetransmitQueue::new(config),
            wheel: TimerWheel::new(config),
            popped: Default::default(),
        }
    }
}

impl Logic for Sender {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, popped);
        self.slots.clk.next = self.clk.val();
        self.slots.rst.next = self.rst.val();
        self.slots.keeps.next = self.keeps.val();
        self.retransmit.clk.next = self.clk.val();
        self.retransmit.rst.next = self.rst.val();
        self.wheel.clk.next = self.clk.val();
        self.wheel.rst.next = self.rst.val();
        self.slots.settings.next = self.settings.val();
        self.slots.now.next = self.now.val();
        self.slots.reclaim.next = self.reclaim.val();
        self.wheel.now.next = self.now.val();

        self.slots.request_valid.next = self.request_valid.val();
        self.slots.request_data.next = self.request_data.val();
        self.request_ready.next = self.slots.request_ready.val();
        self.slots.feedback_valid.next = self.feedback_valid.val();
        self.slots.feedback_data.next = self.feedback_data.val();
        self.feedback_ready.next = self.slots.feedback_ready.val();
        self.packet_valid.next = self.slots.packet_valid.val();
        self.packet_data.next = self.slots.packet_data.val();
        self.slots.packet_ready.next = self.packet_ready.val();
        self.slots.sent.next = self.sent.val();
        self.slots.failed.next = self.failed.val();
        self.echo.next = self.slots.echo.val();
        self.done_valid.next = self.slots.done_valid.val();
        self.done_data.next = self.slots.done_data.val();
        self.slots.done_ready.next = self.done_ready.val();
        self.release_valid.next = self.slots.release_valid.val();
        self.release_data.next = self.slots.release_data.val();
        self.slots.release_ready.next = self.release_ready.val();

        self.retransmit.walk_valid.next = self.slots.walk_valid.val();
        self.retransmit.walk_data.next = self.slots.walk_data.val();
        self.slots.walk_ready.next = self.retransmit.walk_ready.val();
        self.slots.walk_row.next = self.retransmit.walk_row.val();
        self.retransmit.walk_bits.next = self.slots.walk_bits.val();
        self.slots.walk_refused.next = self.retransmit.walk_refused.val();
        self.slots.step_valid.next = self.retransmit.step_valid.val();
        self.slots.step_data.next = self.retransmit.step_data.val();
        self.retransmit.step_ready.next = self.slots.step_ready.val();
        self.retransmit.query_slot.next = self.slots.query_slot.val();
        self.slots.query_queued.next = self.retransmit.query_queued.val();
        self.wheel.insert_valid.next = self.slots.insert_valid.val();
        self.wheel.insert_data.next = self.slots.insert_data.val();
        self.slots.insert_ready.next = self.wheel.insert_ready.val();
        self.slots.pop_valid.next = self.wheel.pop_valid.val();
        self.slots.pop_node.next = self.wheel.pop_node.val();
        self.wheel.pop_ready.next = self.slots.pop_ready.val();
        self.popped.d.next = self.wheel.pop_valid.val() & self.slots.pop_ready.val();

        self.unsolicited.next = self.slots.unsolicited.val();
        self.free_slots.next = self.slots.free_slots.val();
        self.ready.next = self.slots.ready.val() & self.wheel.ready.val();
        self.heard.next = self.slots.heard.val();
        self.feedback_stale.next = self.slots.feedback_stale.val();
        self.feedback_forged.next = self.slots.feedback_forged.val();
        self.feedback_nonsense.next = self.slots.feedback_nonsense.val();
        self.nack_overflow.next = self.slots.nack_overflow.val();
        self.tx_opened.next = self.slots.tx_opened.val();
        self.tx_completed.next = self.slots.tx_completed.val();
        self.tx_failed.next = self.slots.tx_failed.val();
        self.backstop_expiries.next = self.slots.backstop_expiries.val();
        self.wheel_pop.next = self.popped.q.val();
        self.wheel_late.next = self.wheel.late.val();
    }
}
