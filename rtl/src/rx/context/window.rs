//! The blocks a message is at: how far it may be granted (GR-2), and which block
//! a NACK asks for.
//!
//! ```text
//!  cumulative ──> base, next_base ──┬─ + 1024, or count ──> less granted: gap, may_grant
//!                                   └─ + 256 * step ──> at ──> below limit: asked
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
    /// Blocks behind that of `cumulative`, and packets a NACK may ask for.
    pub step: Signal<In, Bits<3>>,
    pub limit: Signal<In, Bits<24>>,
    /// First packet of that block; meaningless if not `asked`.
    pub at: Signal<Out, Bits<24>>,
    pub asked: Signal<Out, Bit>,
    last: Signal<Local, Bits<25>>,
    reach: Signal<Local, Bits<25>>,
    left: Signal<Local, Bits<25>>,
    from: Signal<Local, Bits<25>>,
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
            step: Default::default(),
            limit: Default::default(),
            at: Default::default(),
            asked: Default::default(),
            last: Default::default(),
            reach: Default::default(),
            left: Default::default(),
            from: Default::default(),
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

        self.last.next = bit_cast::<25, 24>(self.count.val());
        self.reach.next = bit_cast::<25, 24>(self.base.val()) + 1024;
        if self.last.val() < self.reach.val() {
            self.reach.next = self.last.val();
        }
        self.may_grant.next = bit_cast::<25, 24>(self.granted.val()) < self.reach.val();
        self.left.next = self.reach.val() - bit_cast::<25, 24>(self.granted.val());
        self.gap.next = self.left.val().get_bits::<11>(0);

        self.from.next = bit_cast::<25, 24>(self.base.val()) + (bit_cast::<25, 3>(self.step.val()) << 8);
        self.at.next = self.from.val().get_bits::<24>(0);
        self.asked.next = self.from.val() < bit_cast::<25, 24>(self.limit.val());
    }
}
