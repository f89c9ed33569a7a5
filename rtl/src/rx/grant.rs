//! Decides whose turn it is to be granted more packets, and how many: the
//! policy, apart from the bookkeeping, so that another one can take its place.
//!
//! ```text
//!  enter ──> grant_order ──> head ──> quota = min(GRANT_QUANTUM, room)
//!              ^              │       allowed: credit for the quota, or nothing outstanding
//!              └─ again, last ┘
//! ```
//!
//! The messages that have room in their window take turns as `grant_order` says
//! (GR-2). A head without credit keeps its place: `hold_off` hides it until credit came back
//! (`released`) or a tick passed. A head that is owed nothing is allowed one packet
//! when nothing has been granted for `RTT_DEFAULT`: sooner, and every message of an
//! incast would be served a packet at a time beyond the credit. The credit moves
//! once per `RTT_DEFAULT`: down by a quarter if `congested` pulsed since, else up by
//! a 64th of `CREDIT_LIMIT` (GR-4).
//!
//! Contract:
//! - `enter` and `leave` as in `grant_order`;
//! - `quota` and `allowed` follow `room`, `payload_log2`, `idle` and `outstanding` by two
//!   clocks; `quota` is 0 only when `room` is.
//!
//! Verified by `testbenches/tests/rx_context/`.

use super::{GrantEnter, GrantOrder};
use crate::prelude::*;
use crate::types::{Doorbell, Settings};
use tessera_abi::params::Config;
use tessera_abi::regs::CREDIT_FLOOR;

#[derive(LogicBlock)]
pub struct Grant {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub settings: Signal<In, Settings>,
    /// Lowest bit of the time in ticks.
    pub tick: Signal<In, Bit>,
    pub doorbell: Signal<In, Doorbell>,
    pub enter: Signal<In, Bit>,
    pub enter_data: Signal<In, GrantEnter>,
    pub head_valid: Signal<Out, Bit>,
    pub head_context: Signal<Out, Bits<12>>,
    pub leave: Signal<In, Bit>,
    pub hold_off: Signal<In, Bit>,
    pub released: Signal<In, Bit>,
    /// Packets the head may still be granted.
    pub room: Signal<In, Bits<11>>,
    pub payload_log2: Signal<In, Bits<4>>,
    /// The head is owed nothing.
    pub idle: Signal<In, Bit>,
    /// A sign of congestion.
    pub congested: Signal<In, Bit>,
    /// Bytes granted and not arrived, all messages.
    pub outstanding: Signal<In, Bits<36>>,
    /// Packets.
    pub quota: Signal<Out, Bits<8>>,
    pub allowed: Signal<Out, Bit>,
    pub ready: Signal<Out, Bit>,
    order: GrantOrder,
    off: Dff<Bit>,
    last_tick: Dff<Bit>,
    share: Dff<Bits<8>>,
    quota_out: Dff<Bits<8>>,
    /// How much more may be lent, below zero with bit 36; nothing is lent. Of the clock before.
    spare: Dff<Bits<37>>,
    none_lent: Dff<Bit>,
    allowed_out: Dff<Bit>,
    /// How far the credit is below `CREDIT_LIMIT`, bytes.
    below: Dff<Bits<32>>,
    credit: Dff<Bits<32>>,
    sign: Dff<Bit>,
    /// Ticks since the last move.
    age: Dff<Bits<16>>,
    /// Ticks since a head last left, up to `RTT_DEFAULT`.
    still: Dff<Bits<16>>,
    patient: Signal<Local, Bit>,
    ticked: Signal<Local, Bit>,
    fits: Signal<Local, Bit>,
    lowest: Signal<Local, Bits<32>>,
    step: Signal<Local, Bits<32>>,
    moved: Signal<Local, Bits<32>>,
    quantum: Signal<Local, Bits<11>>,
    bytes: Signal<Local, Bits<36>>,
    floor: Constant<Bits<32>>,
}

impl Grant {
    /// Credit for `2^rx_contexts_log2` contexts.
    pub fn new(config: &Config) -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            settings: Default::default(),
            tick: Default::default(),
            doorbell: Default::default(),
            enter: Default::default(),
            enter_data: Default::default(),
            head_valid: Default::default(),
            head_context: Default::default(),
            leave: Default::default(),
            hold_off: Default::default(),
            released: Default::default(),
            room: Default::default(),
            payload_log2: Default::default(),
            idle: Default::default(),
            congested: Default::default(),
            outstanding: Default::default(),
            quota: Default::default(),
            allowed: Default::default(),
            ready: Default::default(),
            order: GrantOrder::new(config),
            off: Default::default(),
            last_tick: Default::default(),
            share: Default::default(),
            quota_out: Default::default(),
            allowed_out: Default::default(),
            below: Default::default(),
            credit: Default::default(),
            sign: Default::default(),
            age: Default::default(),
            still: Default::default(),
            patient: Default::default(),
            ticked: Default::default(),
            fits: Default::default(),
            lowest: Default::default(),
            step: Default::default(),
            moved: Default::default(),
            quantum: Default::default(),
            bytes: Default::default(),
            spare: Default::default(),
            none_lent: Default::default(),
            floor: Constant::new(u64::from(CREDIT_FLOOR).into()),
        }
    }
}

impl Logic for Grant {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self,
            clk,
            spare,
            none_lent,
            off,
            last_tick,
            share,
            quota_out,
            allowed_out,
            below,
            credit,
            sign,
            age,
            still
        );
        self.order.clk.next = self.clk.val();
        self.order.rst.next = self.rst.val();
        self.order.doorbell.next = self.doorbell.val();
        self.order.enter.next = self.enter.val();
        self.order.enter_data.next = self.enter_data.val();
        self.order.leave.next = self.leave.val();
        self.ready.next = self.order.ready.val();
        self.head_valid.next = self.order.head_valid.val() & !self.off.q.val();
        self.head_context.next = self.order.head_context.val();

        self.last_tick.d.next = self.tick.val();
        if self.hold_off.val() {
            self.off.d.next = true;
        }
        self.ticked.next = self.tick.val() ^ self.last_tick.q.val();
        if self.released.val() | self.ticked.val() {
            self.off.d.next = false;
        }

        self.quantum.next = bit_cast::<11, 8>(self.settings.val().grant_quantum);
        self.share.d.next = bit_cast::<8, 11>(self.room.val());
        if self.quantum.val() < self.room.val() {
            self.share.d.next = self.settings.val().grant_quantum;
        }
        self.bytes.next = bit_cast::<36, 8>(self.share.q.val()) << self.payload_log2.val();
        // What is lent before the next is looked at is lent for clocks by then.
        self.spare.d.next =
            bit_cast::<37, 32>(self.credit.q.val()) - bit_cast::<37, 36>(self.outstanding.val());
        self.none_lent.d.next = self.outstanding.val() == 0;
        self.fits.next = self.none_lent.q.val()
            | (!self.spare.q.val().get_bit(36) & (self.bytes.val() <= self.spare.q.val().get_bits::<36>(0)));
        self.quota_out.d.next = self.share.q.val();
        if !self.fits.val() {
            self.quota_out.d.next = 1.into();
        }
        self.patient.next = self.still.q.val() >= self.settings.val().rtt_default;
        if self.ticked.val() & !self.patient.val() {
            self.still.d.next = self.still.q.val() + 1;
        }
        if self.leave.val() | !self.order.head_valid.val() {
            self.still.d.next = 0.into();
        }
        self.allowed_out.d.next = self.fits.val() | (self.idle.val() & self.patient.val());

        // The credit.
        self.lowest.next = 0.into();
        if self.settings.val().credit_limit > self.floor.val() {
            self.lowest.next = self.settings.val().credit_limit - self.floor.val();
        }
        if self.congested.val() {
            self.sign.d.next = true;
        }
        if self.ticked.val() {
            self.age.d.next = self.age.q.val() + 1;
        }
        self.step.next = self.settings.val().credit_limit >> 6;
        self.moved.next = self.below.q.val();
        if self.age.q.val() >= self.settings.val().rtt_default {
            self.age.d.next = 0.into();
            self.sign.d.next = self.congested.val();
            if self.sign.q.val() {
                self.moved.next = self.below.q.val() + (self.credit.q.val() >> 2);
            } else {
                self.moved.next = 0.into();
                if self.below.q.val() > self.step.val() {
                    self.moved.next = self.below.q.val() - self.step.val();
                }
            }
        }
        self.below.d.next = self.moved.val();
        if self.moved.val() > self.lowest.val() {
            self.below.d.next = self.lowest.val();
        }
        self.credit.d.next = self.settings.val().credit_limit - self.below.q.val();
        self.quota.next = self.quota_out.q.val();
        self.allowed.next = self.allowed_out.q.val();

        if self.rst.val() {
            self.off.d.next = false;
            self.below.d.next = 0.into();
            self.sign.d.next = false;
            self.age.d.next = 0.into();
            self.still.d.next = 0.into();
        }
    }
}
