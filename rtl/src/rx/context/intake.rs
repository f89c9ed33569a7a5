//! Takes the next event and has its context's words ready when the engine is.
//!
//! ```text
//!  work ────┐                   ┌────────── words <──── store ────┐
//!  fence ───┤                   v                                 │
//!  expiry ──┼─> choose ─> read ─> one event and its words ──> engine
//!  order ───┤                      ^                              │
//!  freed ───┤                      │                              │
//!  grant ───┘                      └── a store meanwhile ─────────┘
//! ```
//!
//! A packet and one of the others take turns when both wait; while many fences do,
//! only those are taken, as they may be what placement waits for. The words offered
//! are those the engine's last event left, also of the clock it ends in.
//!
//! Contract:
//! - an event is offered two clocks after it was chosen; the next is chosen in
//!   the clock the engine takes it: one per two clocks;
//! - `store` in any clock, for the context of the event the engine took last;
//! - the head of the grant queue stays there until the engine is done with it,
//!   and is not chosen again meanwhile: `granting`;
//! - `ready` rises `2^contexts_log2` clocks after the end of reset: no context is
//!   open then, whatever an order names. Nothing is chosen before (`run`).
//!
//! Verified by `testbenches/tests/rx_context/`.

use super::ContextEvent;
use crate::host::cleared_ram::ClearedRam;
use crate::prelude::*;
use crate::recovery::Expiry;
use crate::rx::{ContextFixed, ContextLive};
use crate::types::{PlaceFence, RecoverOrder, RxWork};

#[derive(LogicBlock)]
pub struct Intake {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    /// Events may be taken.
    pub run: Signal<In, Bit>,
    /// Fences only.
    pub crowded: Signal<In, Bit>,
    pub work_valid: Signal<In, Bit>,
    pub work_data: Signal<In, RxWork>,
    pub work_ready: Signal<Out, Bit>,
    pub fence_valid: Signal<In, Bit>,
    pub fence_data: Signal<In, PlaceFence>,
    pub fence_ready: Signal<Out, Bit>,
    pub expiry_valid: Signal<In, Bit>,
    pub expiry_data: Signal<In, Expiry>,
    pub expiry_ready: Signal<Out, Bit>,
    /// Not shown any more from the clock after the engine took it.
    pub order_valid: Signal<In, Bit>,
    pub order_data: Signal<In, RecoverOrder>,
    pub freed_valid: Signal<In, Bit>,
    pub freed_data: Signal<In, Bits<12>>,
    pub freed_ready: Signal<Out, Bit>,
    pub grant_valid: Signal<In, Bit>,
    pub grant_context: Signal<In, Bits<12>>,
    /// The engine is at the head of the grant queue.
    pub granting: Signal<In, Bit>,
    /// The event on offer is taken.
    pub take: Signal<In, Bit>,
    pub event_valid: Signal<Out, Bit>,
    pub cause: Signal<Out, ContextEvent>,
    pub owner: Signal<Out, Bits<12>>,
    pub packet: Signal<Out, RxWork>,
    pub expiry: Signal<Out, Expiry>,
    pub fence_failed: Signal<Out, Bit>,
    /// As they were before this clock's store.
    pub fixed: Signal<Out, ContextFixed>,
    pub live: Signal<Out, ContextLive>,
    /// The engine works on the event's context.
    pub same: Signal<Out, Bit>,
    pub store: Signal<In, Bit>,
    pub store_at: Signal<In, Bits<12>>,
    pub store_live: Signal<In, ContextLive>,
    /// With `store`: the message opened.
    pub store_opened: Signal<In, Bit>,
    pub store_fixed: Signal<In, ContextFixed>,
    /// No word says that a message of before the reset is open.
    pub ready: Signal<Out, Bit>,

    /// Only looked at where the other word says that a message is open.
    fixed_words: SdpRam<ContextFixed, 12>,
    /// Cleared, because an order names any context: HR-5, RS-1.
    live_words: ClearedRam<ContextLive, 12>,
    /// The words of the event are being read; are there.
    reading: Dff<Bit>,
    full: Dff<Bit>,
    other_turn: Dff<Bit>,
    event_cause: Dff<ContextEvent>,
    event_owner: Dff<Bits<12>>,
    event_packet: Dff<RxWork>,
    event_expiry: Dff<Expiry>,
    event_failed: Dff<Bit>,
    event_fixed: Dff<ContextFixed>,
    event_live: Dff<ContextLive>,
    /// A word was written a clock ago, and where.
    stored: Dff<Bit>,
    stored_at: Dff<Bits<12>>,
    /// The engine works on the same context.
    is_same: Dff<Bit>,

    read_stored: Signal<Local, Bit>,
    may_choose: Signal<Local, Bit>,
    may_any: Signal<Local, Bit>,
    grants: Signal<Local, Bit>,
    orders: Signal<Local, Bit>,
    others: Signal<Local, Bit>,
    named_same: Signal<Local, Bit>,
    fence_same: Signal<Local, Bit>,
    take_work: Signal<Local, Bit>,
    take_fence: Signal<Local, Bit>,
    take_expiry: Signal<Local, Bit>,
    take_order: Signal<Local, Bit>,
    take_freed: Signal<Local, Bit>,
    take_grant: Signal<Local, Bit>,
    takes: Signal<Local, Bit>,
    named: Signal<Local, Bits<12>>,
    chosen: Signal<Local, Bits<12>>,
    worked_on: Signal<Local, Bits<12>>,
    contexts_mask: Constant<Bits<12>>,
}

impl Intake {
    /// The words of `2^contexts_log2` contexts.
    pub fn new(contexts_log2: usize) -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            run: Default::default(),
            crowded: Default::default(),
            work_valid: Default::default(),
            work_data: Default::default(),
            work_ready: Default::default(),
            fence_valid: Default::default(),
            fence_data: Default::default(),
            fence_ready: Default::default(),
            expiry_valid: Default::default(),
            expiry_data: Default::default(),
            expiry_ready: Default::default(),
            order_valid: Default::default(),
            order_data: Default::default(),
            freed_valid: Default::default(),
            freed_data: Default::default(),
            freed_ready: Default::default(),
            grant_valid: Default::default(),
            grant_context: Default::default(),
            granting: Default::default(),
            take: Default::default(),
            event_valid: Default::default(),
            cause: Default::default(),
            owner: Default::default(),
            packet: Default::default(),
            expiry: Default::default(),
            fence_failed: Default::default(),
            fixed: Default::default(),
            live: Default::default(),
            same: Default::default(),
            store: Default::default(),
            store_at: Default::default(),
            store_live: Default::default(),
            store_opened: Default::default(),
            store_fixed: Default::default(),
            ready: Default::default(),
            fixed_words: SdpRam::new(contexts_log2),
            live_words: ClearedRam::new(contexts_log2, "block").fed_zeros(),
            reading: Default::default(),
            full: Default::default(),
            other_turn: Default::default(),
            event_cause: Default::default(),
            event_owner: Default::default(),
            event_packet: Default::default(),
            event_expiry: Default::default(),
            event_failed: Default::default(),
            event_fixed: Default::default(),
            event_live: Default::default(),
            stored: Default::default(),
            stored_at: Default::default(),
            is_same: Default::default(),
            read_stored: Default::default(),
            may_choose: Default::default(),
            may_any: Default::default(),
            grants: Default::default(),
            orders: Default::default(),
            others: Default::default(),
            named_same: Default::default(),
            fence_same: Default::default(),
            take_work: Default::default(),
            take_fence: Default::default(),
            take_expiry: Default::default(),
            take_order: Default::default(),
            take_freed: Default::default(),
            take_grant: Default::default(),
            takes: Default::default(),
            named: Default::default(),
            chosen: Default::default(),
            worked_on: Default::default(),
            contexts_mask: Constant::new(((1u64 << contexts_log2) - 1).into()),
        }
    }
}

impl Logic for Intake {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self,
            clk,
            reading,
            full,
            other_turn,
            event_cause,
            event_owner,
            event_packet,
            event_expiry,
            event_failed,
            event_fixed,
            event_live,
            stored,
            stored_at,
            is_same
        );
        self.fixed_words.clock.next = self.clk.val();
        self.live_words.clk.next = self.clk.val();
        self.live_words.rst.next = self.rst.val();
        self.ready.next = self.live_words.ready.val();
        self.event_valid.next = self.full.q.val();
        self.cause.next = self.event_cause.q.val();
        self.owner.next = self.event_owner.q.val();
        self.packet.next = self.event_packet.q.val();
        self.expiry.next = self.event_expiry.q.val();
        self.fence_failed.next = self.event_failed.q.val();
        self.fixed.next = self.event_fixed.q.val();
        self.live.next = self.event_live.q.val();
        self.same.next = self.is_same.q.val();

        // Which event comes next.
        self.may_choose.next =
            self.run.val() & !self.reading.q.val() & (!self.full.q.val() | self.take.val());
        self.may_any.next = self.may_choose.val() & !self.crowded.val();
        self.grants.next = self.grant_valid.val()
            & !self.granting.val()
            & !(self.full.q.val() & (self.event_cause.q.val() == ContextEvent::Grant));
        self.orders.next =
            self.order_valid.val() & !(self.full.q.val() & (self.event_cause.q.val() == ContextEvent::Order));
        self.others.next = self.fence_valid.val()
            | self.expiry_valid.val()
            | self.orders.val()
            | self.freed_valid.val()
            | self.grants.val();
        self.take_work.next =
            self.may_any.val() & self.work_valid.val() & (!self.others.val() | !self.other_turn.q.val());
        self.take_fence.next = self.may_choose.val() & !self.take_work.val() & self.fence_valid.val();
        self.take_expiry.next =
            self.may_any.val() & !self.take_work.val() & !self.fence_valid.val() & self.expiry_valid.val();
        self.take_order.next = self.may_any.val()
            & !self.take_work.val()
            & !self.fence_valid.val()
            & !self.expiry_valid.val()
            & self.orders.val();
        self.take_freed.next = self.may_any.val()
            & !self.take_work.val()
            & !self.fence_valid.val()
            & !self.expiry_valid.val()
            & !self.orders.val()
            & self.freed_valid.val();
        self.take_grant.next = self.may_any.val()
            & !self.take_work.val()
            & !self.fence_valid.val()
            & !self.expiry_valid.val()
            & !self.orders.val()
            & !self.freed_valid.val()
            & self.grants.val();
        self.takes.next = (self.may_choose.val() & self.fence_valid.val())
            | (self.may_any.val() & (self.work_valid.val() | self.others.val()));
        self.work_ready.next = self.take_work.val();
        self.fence_ready.next = self.take_fence.val();
        self.expiry_ready.next = self.take_expiry.val();
        self.freed_ready.next = self.take_freed.val();
        self.named.next = self.work_data.val().context;
        if self.take_expiry.val() {
            self.named.next = self.expiry_data.val().context;
        }
        if self.take_order.val() {
            self.named.next = self.order_data.val().handle.get_bits::<12>(20);
        }
        if self.take_freed.val() {
            self.named.next = self.freed_data.val();
        }
        if self.take_grant.val() {
            self.named.next = self.grant_context.val();
        }
        self.worked_on.next = self.store_at.val();
        if self.take.val() {
            self.worked_on.next = self.event_owner.q.val();
        }
        // A fence comes latest, out of a memory: it is compared beside the others and not behind them.
        self.named_same.next = (self.named.val() & self.contexts_mask.val()) == self.worked_on.val();
        self.fence_same.next =
            (self.fence_data.val().context & self.contexts_mask.val()) == self.worked_on.val();
        self.chosen.next = self.named.val() & self.contexts_mask.val();
        if self.take_fence.val() {
            self.chosen.next = self.fence_data.val().context & self.contexts_mask.val();
        }

        self.fixed_words.read_address.next = self.chosen.val();
        self.fixed_words.write_enable.next = self.store.val() & self.store_opened.val();
        self.fixed_words.write_address.next = self.store_at.val();
        self.fixed_words.write_data.next = self.store_fixed.val();
        self.live_words.read_address.next = self.chosen.val();
        self.live_words.write_enable.next = self.store.val();
        self.live_words.write_address.next = self.store_at.val();
        self.live_words.write_data.next = self.store_live.val();

        self.stored.d.next = self.store.val();
        self.stored_at.d.next = self.store_at.val();
        self.read_stored.next = self.stored.q.val() & (self.event_owner.q.val() == self.stored_at.q.val());
        if self.take.val() {
            self.full.d.next = false;
        }
        if self.reading.q.val() {
            self.reading.d.next = false;
            self.full.d.next = true;
            // A word written while it was being read is in the register already; so is, of the same
            // context, a fixed one that was not.
            if !self.read_stored.val() {
                self.event_live.d.next = self.live_words.read_data.val();
                self.event_fixed.d.next = self.fixed_words.read_data.val();
            }
        }
        // The engine's context stays the same until it takes the event.
        if self.is_same.q.val() & self.store.val() {
            self.event_live.d.next = self.store_live.val();
            if self.store_opened.val() {
                self.event_fixed.d.next = self.store_fixed.val();
            }
        }

        if self.takes.val() {
            self.reading.d.next = true;
            self.other_turn.d.next = self.take_work.val();
            self.event_owner.d.next = self.chosen.val();
            self.event_packet.d.next = self.work_data.val();
            self.event_expiry.d.next = self.expiry_data.val();
            self.event_failed.d.next = self.fence_data.val().error;
            self.is_same.d.next = self.named_same.val();
            if self.take_fence.val() {
                self.is_same.d.next = self.fence_same.val();
            }
            // A word written in this clock is not read by it; whether it is this one shows in the next.
            self.event_live.d.next = self.store_live.val();
            self.event_fixed.d.next = self.store_fixed.val();
            if self.take_work.val() {
                self.event_cause.d.next = ContextEvent::Packet;
            }
            if self.take_fence.val() {
                self.event_cause.d.next = ContextEvent::Fence;
            }
            if self.take_expiry.val() {
                self.event_cause.d.next = ContextEvent::Expiry;
            }
            if self.take_order.val() {
                self.event_cause.d.next = ContextEvent::Order;
            }
            if self.take_freed.val() {
                self.event_cause.d.next = ContextEvent::Freed;
            }
            if self.take_grant.val() {
                self.event_cause.d.next = ContextEvent::Grant;
            }
        }

        if self.rst.val() {
            self.reading.d.next = false;
            self.full.d.next = false;
            self.other_turn.d.next = false;
        }
    }
}
