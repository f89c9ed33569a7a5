//! The blocks a message is at: how far it may be granted (GR-2), by how much it
//! waits for it (GR-7), and which block a NACK asks for.
//!
//! ```text
//!  cumulative ──> base, next_base ──┬─ + 1024, or count ──> less granted: gap, may_grant
//!                                   └─ + 256 * step ──> at
//!  blocks the limit is ahead of `cumulative` ──> step is below: asked
//!  count less granted ──> half the logarithm: rest_list
//! ```
//!
//! A message may have 2^24 - 1 packets, and its window then ends beyond what 24
//! bits hold: what is added to `base` has a bit more, except for `next_base`,
//! which is never beyond `count`.
//!
//! Combinational. Verified by `testbenches/tests/rx_context/window.rs`.

use crate::prelude::*;
use tessera_abi::params::WINDOW_PACKETS;

#[derive(LogicBlock)]
pub struct Window {
    pub cumulative: Signal<In, Bits<24>>,
    pub granted: Signal<In, Bits<24>>,
    pub count: Signal<In, Bits<24>>,
    /// First packet of the block of `cumulative`, and of the next or `count`.
    pub base: Signal<Out, Bits<24>>,
    pub next_base: Signal<Out, Bits<24>>,
    pub may_grant: Signal<Out, Bit>,
    /// Packets it may be granted, if it may be.
    pub gap: Signal<Out, Bits<11>>,
    /// The list of those that have so much left.
    pub rest_list: Signal<Out, Bits<3>>,
    /// Blocks behind that of `cumulative`, and packets a NACK may ask for: no more than may be
    /// granted.
    pub step: Signal<In, Bits<3>>,
    pub limit: Signal<In, Bits<24>>,
    /// First packet of that block; meaningless if not `asked`.
    pub at: Signal<Out, Bits<24>>,
    pub asked: Signal<Out, Bit>,
    /// Blocks that the grant is ahead of `base`.
    ahead: Signal<Local, Bits<3>>,
    to_reach: Signal<Local, Bits<11>>,
    to_count: Signal<Local, Bits<24>>,
    reach: Signal<Local, Bits<25>>,
    /// Blocks that the limit is ahead of `base`, if it is.
    limit_ahead: Signal<Local, Bits<3>>,
}

const _: () = assert!(WINDOW_PACKETS == 1024);

impl Window {
    /// One look.
    pub fn new() -> Self {
        Self {
            cumulative: Default::default(),
            granted: Default::default(),
            count: Default::default(),
            base: Default::default(),
            next_base: Default::default(),
            may_grant: Default::default(),
            gap: Default::default(),
            rest_list: Default::default(),
            step: Default::default(),
            limit: Default::default(),
            at: Default::default(),
            asked: Default::default(),
            ahead: Default::default(),
            to_reach: Default::default(),
            to_count: Default::default(),
            reach: Default::default(),
            limit_ahead: Default::default(),
        }
    }
}

impl Logic for Window {
    #[hdl_gen]
    fn update(&mut self) {
        self.base.next = (self.cumulative.val() >> 8) << 8;
        self.next_base.next = self.base.val() + 256;
        if (self.count.val() >> 8) == (self.cumulative.val() >> 8) {
            self.next_base.next = self.count.val();
        }

        // Each bound by itself: the smaller of both would be late.
        // Nothing arrives beyond the grant (RC-1), which is at most four blocks ahead: three bits tell whether
        // it is all four.
        self.ahead.next = self.granted.val().get_bits::<3>(8) - self.cumulative.val().get_bits::<3>(8);
        self.may_grant.next = (self.granted.val() < self.count.val()) & (self.ahead.val() != 4);
        self.to_reach.next = self.base.val().get_bits::<11>(0) + 1024 - self.granted.val().get_bits::<11>(0);
        self.to_count.next = self.count.val() - self.granted.val();
        self.reach.next = bit_cast::<25, 24>(self.base.val()) + 1024;
        self.gap.next = self.to_reach.val();
        if bit_cast::<25, 24>(self.count.val()) < self.reach.val() {
            self.gap.next = self.to_count.val().get_bits::<11>(0);
        }
        // The highest pair of bits that is not 0; 7 for all of the upper ones.
        self.rest_list.next = 0.into();
        if self.to_count.val().get_bits::<2>(2).any() {
            self.rest_list.next = 1.into();
        }
        if self.to_count.val().get_bits::<2>(4).any() {
            self.rest_list.next = 2.into();
        }
        if self.to_count.val().get_bits::<2>(6).any() {
            self.rest_list.next = 3.into();
        }
        if self.to_count.val().get_bits::<2>(8).any() {
            self.rest_list.next = 4.into();
        }
        if self.to_count.val().get_bits::<2>(10).any() {
            self.rest_list.next = 5.into();
        }
        if self.to_count.val().get_bits::<2>(12).any() {
            self.rest_list.next = 6.into();
        }
        if self.to_count.val().get_bits::<10>(14).any() {
            self.rest_list.next = 7.into();
        }

        self.at.next = self.base.val() + (bit_cast::<24, 3>(self.step.val()) << 8);
        // So is the limit.
        self.limit_ahead.next = self.limit.val().get_bits::<3>(8) - self.cumulative.val().get_bits::<3>(8);
        self.asked.next = (self.limit.val().get_bits::<16>(8) >= self.cumulative.val().get_bits::<16>(8))
            & ((self.limit_ahead.val() > self.step.val())
                | ((self.limit_ahead.val() == self.step.val()) & self.limit.val().get_bits::<8>(0).any()));
    }
}
