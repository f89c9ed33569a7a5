//! Chooses the entropy value of each packet (spec section 6).
//!
//! ```text
//!  take ─> LFSR, counter ──────────────> policy ─> k ─> + path_base ─> ev
//!             └─ at the end of a round ─> offset ──^
//! ```
//!
//! Contract: `ev` is a register and belongs to the next packet; `take` says it
//! was used. Two clocks lie between one `take` and the next, which no packet
//! undercuts: the shortest has two beats. Changed settings show one clock
//! later. When `enable` rises, the LFSR takes the seed (1 instead of 0, in
//! which it would stay), the counter and the offset 0: the first packet after
//! it sees exactly those.
//!
//! A round of `round_robin` visits every path once, from an offset drawn anew
//! for each: a message whose tries are a whole number of rounds apart would
//! otherwise take the same dead path for ever.
//!
//! Verified by `testbenches/tests/path_scheduler.rs`.

use crate::prelude::*;
use crate::types::Settings;
use tessera_abi::params::LFSR_MASK;

#[derive(LogicBlock)]
pub struct PathScheduler {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub settings: Signal<In, Settings>,
    pub take: Signal<In, Bit>,
    pub ev: Signal<Out, Bits<8>>,
    lfsr: Dff<Bits<32>>,
    counter: Dff<Bits<9>>,
    offset: Dff<Bits<8>>,
    enabled: Dff<Bit>,
    chosen: Dff<Bits<8>>,
    stepped: Signal<Local, Bits<9>>,
    turned: Signal<Local, Bits<9>>,
    wrapped: Signal<Local, Bits<9>>,
    scaled: Signal<Local, Bits<32>>,
    path: Signal<Local, Bits<8>>,
    mask: Constant<Bits<32>>,
}

impl PathScheduler {
    pub fn new() -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            settings: Default::default(),
            take: Default::default(),
            ev: Default::default(),
            lfsr: Default::default(),
            counter: Default::default(),
            offset: Default::default(),
            enabled: Default::default(),
            chosen: Default::default(),
            stepped: Default::default(),
            turned: Default::default(),
            wrapped: Default::default(),
            scaled: Default::default(),
            path: Default::default(),
            mask: Constant::new(u64::from(LFSR_MASK).into()),
        }
    }
}

impl Logic for PathScheduler {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, lfsr, counter, offset, enabled, chosen);

        self.scaled.next =
            self.lfsr.q.val().get_bits::<16>(0) * bit_cast::<16, 9>(self.settings.val().path_count);
        self.stepped.next = self.counter.q.val() + 1;
        if self.take.val() {
            if self.lfsr.q.val().get_bit(0) {
                self.lfsr.d.next = (self.lfsr.q.val() >> 1) ^ self.mask.val();
            } else {
                self.lfsr.d.next = self.lfsr.q.val() >> 1;
            }
            self.counter.d.next = self.stepped.val();
            if self.stepped.val() >= self.settings.val().path_count {
                self.counter.d.next = 0.into();
                self.offset.d.next = self.scaled.val().get_bits::<8>(16);
            }
        }

        self.turned.next = self.counter.q.val() + bit_cast::<9, 8>(self.offset.q.val());
        self.wrapped.next = self.turned.val();
        if self.turned.val() >= self.settings.val().path_count {
            self.wrapped.next = self.turned.val() - self.settings.val().path_count;
        }
        self.path.next = 0.into();
        if self.settings.val().path_policy == 2 {
            self.path.next = self.scaled.val().get_bits::<8>(16);
        }
        // Above a count that was lowered meanwhile: the first path.
        if (self.settings.val().path_policy == 1) & (self.wrapped.val() < self.settings.val().path_count) {
            self.path.next = self.wrapped.val().get_bits::<8>(0);
        }
        self.chosen.d.next = self.settings.val().path_base + self.path.val();
        self.ev.next = self.chosen.q.val();

        self.enabled.d.next = self.settings.val().enable;
        if self.settings.val().enable & !self.enabled.q.val() {
            self.counter.d.next = 0.into();
            self.offset.d.next = 0.into();
            self.lfsr.d.next = self.settings.val().seed;
            if self.settings.val().seed == 0 {
                self.lfsr.d.next = 1.into();
            }
        }

        if self.rst.val() {
            self.lfsr.d.next = 1.into();
            self.counter.d.next = 0.into();
            self.offset.d.next = 0.into();
            self.enabled.d.next = false;
        }
    }
}
