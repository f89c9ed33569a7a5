//! Assembles the feedback of a context: what every feedback carries (RC-8) from
//! the context's words, the rest from the request.
//!
//! ```text
//!  fixed, live ──┐
//!  request ──────┴─> assemble ──> one register ──> feedback
//! ```
//!
//! Contract: `make` while `room` takes the words of this clock; the feedback is
//! offered from the next clock on, one per two clocks. `room` depends on a
//! register only. The
//! sequence number sent is `live.sequence` + 1; the caller counts it.
//!
//! Verified by `testbenches/tests/rx_context/`.

use crate::prelude::*;
use crate::rx::{ContextFixed, ContextLive};
use crate::types::TxFeedback;

/// What differs from feedback to feedback.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct FeedbackRequest {
    pub flags: Bits<8>,
    pub status: Bits<8>,
    pub base: Bits<24>,
    pub limit: Bits<24>,
    pub bitmap: Bits<256>,
    /// Answers a packet: its entropy value, arrival and timestamp follow.
    pub sample: Bit,
    pub ev: Bits<8>,
    pub arrival: Bits<32>,
    pub timestamp: Bits<32>,
}

#[derive(LogicBlock)]
pub struct Feedback {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub fixed: Signal<In, ContextFixed>,
    pub live: Signal<In, ContextLive>,
    pub request: Signal<In, FeedbackRequest>,
    pub make: Signal<In, Bit>,
    pub room: Signal<Out, Bit>,
    pub feedback_valid: Signal<Out, Bit>,
    pub feedback_data: Signal<Out, TxFeedback>,
    pub feedback_ready: Signal<In, Bit>,
    valid: Dff<Bit>,
    word: Dff<TxFeedback>,
}

impl Feedback {
    /// An empty register.
    pub fn new() -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            fixed: Default::default(),
            live: Default::default(),
            request: Default::default(),
            make: Default::default(),
            room: Default::default(),
            feedback_valid: Default::default(),
            feedback_data: Default::default(),
            feedback_ready: Default::default(),
            valid: Default::default(),
            word: Default::default(),
        }
    }
}

impl Logic for Feedback {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, valid, word);
        self.room.next = !self.valid.q.val();
        self.feedback_valid.next = self.valid.q.val();
        self.feedback_data.next = self.word.q.val();
        if self.feedback_ready.val() {
            self.valid.d.next = false;
        }
        if self.make.val() & self.room.val() {
            self.valid.d.next = true;
            self.word.d.next.release = false;
            self.word.d.next.dst_mac = self.live.val().src_mac;
            self.word.d.next.vlan = self.live.val().vlan;
            self.word.d.next.vlan_valid = self.live.val().vlan_valid;
            self.word.d.next.dst_gid = self.fixed.val().src_gid;
            self.word.d.next.dst_endpoint = self.fixed.val().src_endpoint;
            self.word.d.next.endpoint = self.fixed.val().endpoint;
            self.word.d.next.flags = self.request.val().flags;
            self.word.d.next.ev_echo = self.request.val().ev;
            self.word.d.next.status = self.request.val().status;
            self.word.d.next.slot = self.fixed.val().slot;
            self.word.d.next.generation = self.fixed.val().generation;
            self.word.d.next.cumulative = self.live.val().cumulative;
            self.word.d.next.sequence = self.live.val().sequence + 1;
            self.word.d.next.grant = self.live.val().grant;
            self.word.d.next.duplicates = self.live.val().duplicates;
            self.word.d.next.base = self.request.val().base;
            self.word.d.next.limit = self.request.val().limit;
            self.word.d.next.sample = self.request.val().sample;
            self.word.d.next.arrival = self.request.val().arrival;
            self.word.d.next.echo = self.request.val().timestamp;
            self.word.d.next.bitmap = self.request.val().bitmap;
            if !self.request.val().sample {
                self.word.d.next.ev_echo = 0.into();
                self.word.d.next.arrival = 0.into();
                self.word.d.next.echo = 0.into();
            }
        }
        if self.rst.val() {
            self.valid.d.next = false;
        }
    }
}
