//! Tells when every payload that was checked before a moment has left the NIC.
//!
//! ```text
//!  entered ──> count ──start──> goal ──┐
//!  issued ───> count ──────────────────┴─reached──> end of placement's ring ──passed──> not busy
//! ```
//!
//! Payloads go from `access` to `placement` in one order, one frame per packet
//! whatever becomes of its message, so a count of frames is a place in that
//! order. Frames that are written take a place in placement's ring, which
//! retires in order when the write's status is back. A host that has revoked a
//! key begins a fence and, once `busy` is low, no packet that was checked
//! against the old key is on its way to its memory.
//!
//! Contract: `start` at least two clocks after the last packet judged by the old
//! tables was taken (a table write and `start` are four clocks apart); a `start`
//! while busy waits for what is later. `busy` rises a clock after `start`, and
//! falls within the time that placement needs for what is ahead, three clocks
//! later at best.
//!
//! Verified by `testbenches/tests/access.rs`.

use crate::prelude::*;

#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum FenceStep {
    Idle,
    /// Until the frames ahead are written or dropped.
    Frames,
    /// Until the statuses of those written are back.
    Statuses,
}

#[derive(LogicBlock)]
pub struct RxFence {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub start: Signal<In, Bit>,
    /// A packet with a payload was checked.
    pub entered: Signal<In, Bit>,
    /// The command for a payload was carried out.
    pub issued: Signal<In, Bit>,
    /// Placement's ring: where the next entry goes, and the oldest one.
    pub ring_head: Signal<In, Bits<7>>,
    pub ring_tail: Signal<In, Bits<7>>,
    pub busy: Signal<Out, Bit>,
    state: Dff<FenceStep>,
    /// Frames checked and not yet issued.
    ahead: Dff<Bits<16>>,
    /// Of those, the ones waited for.
    awaited: Dff<Bits<16>>,
    ring_end: Dff<Bits<7>>,
    left: Signal<Local, Bits<7>>,
    more: Signal<Local, Bits<16>>,
}

impl RxFence {
    /// No fence, nothing on its way.
    pub fn new() -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            start: Default::default(),
            entered: Default::default(),
            issued: Default::default(),
            ring_head: Default::default(),
            ring_tail: Default::default(),
            busy: Default::default(),
            state: Default::default(),
            ahead: Default::default(),
            awaited: Default::default(),
            ring_end: Default::default(),
            left: Default::default(),
            more: Default::default(),
        }
    }
}

impl Logic for RxFence {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, state, ahead, awaited, ring_end);
        self.more.next = self.ahead.q.val();
        if self.entered.val() & !self.issued.val() {
            self.more.next = self.ahead.q.val() + 1;
        }
        if !self.entered.val() & self.issued.val() {
            self.more.next = self.ahead.q.val() - 1;
        }
        self.ahead.d.next = self.more.val();
        self.left.next = self.ring_end.q.val() - self.ring_tail.val();
        match self.state.q.val() {
            FenceStep::Idle => {}
            FenceStep::Frames => {
                if self.issued.val() & (self.awaited.q.val() != 0) {
                    self.awaited.d.next = self.awaited.q.val() - 1;
                }
                if self.awaited.q.val() == 0 {
                    self.ring_end.d.next = self.ring_head.val();
                    self.state.d.next = FenceStep::Statuses;
                }
            }
            FenceStep::Statuses => {
                // The ring holds 64 entries at most: more are behind, not ahead.
                if (self.left.val() == 0) | (self.left.val() > 64) {
                    self.state.d.next = FenceStep::Idle;
                }
            }
        }
        if self.start.val() {
            self.awaited.d.next = self.more.val();
            self.state.d.next = FenceStep::Frames;
        }
        self.busy.next = self.state.q.val() != FenceStep::Idle;

        if self.rst.val() {
            self.state.d.next = FenceStep::Idle;
            self.ahead.d.next = 0.into();
        }
    }
}
