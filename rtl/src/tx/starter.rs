//! Clears the sender's tables after reset, and gives every slot a random
//! generation when the block is enabled for the first time.
//!
//! ```text
//!  rst ──────────────────> clear ──> ready ── first enable ──> clear again ──> ready, seeded
//!   └─ with keeps ──> clear, generations stay ──> ready, seeded     └── LFSR ──> generation
//! ```
//!
//! The seed is a register that software writes after reset, so generations
//! are drawn when CONTROL.enable rises first. Later rises draw none: a slot
//! only counts on, or a message of before could meet its own generation again.
//! A reset with `keeps` is not that of power-on (RS-2): what was drawn before it
//! is written back.
//!
//! Contract: `clear` is high for max(slots, 1024) clocks after reset and again
//! after the first rise of `enable`, as long as the pipeline is `idle`;
//! `clear_give` says that `clear_slot` is to be put into the free list, highest
//! slot first. `restart` precedes a clearing by a clock. Nothing else may
//! happen while `ready` is low. With `writes_back` a slot's generation is the one it
//! had, which is to be read at `next_slot`, a clock ahead; such a reset takes two clocks
//! at least.
//!
//! Verified as part of `testbenches/tests/tx_slots/`, rule TX-1.

use crate::prelude::*;
use tessera_abi::params::{Config, LFSR_MASK};

#[derive(LogicBlock)]
pub struct Starter {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    /// With `rst`: generations that were drawn stay.
    pub keeps: Signal<In, Bit>,
    pub enable: Signal<In, Bit>,
    pub seed: Signal<In, Bits<32>>,
    pub busy_wait: Signal<In, Bits<24>>,
    /// Nothing is in the pipeline.
    pub idle: Signal<In, Bit>,
    pub ready: Signal<Out, Bit>,
    /// Generations are drawn: requests may be taken.
    pub seeded: Signal<Out, Bit>,
    pub restart: Signal<Out, Bit>,
    pub clear: Signal<Out, Bit>,
    pub clear_give: Signal<Out, Bit>,
    pub clear_at: Signal<Out, Bits<12>>,
    pub clear_slot: Signal<Out, Bits<12>>,
    pub generation: Signal<Out, Bits<20>>,
    /// `clear_slot` of the next clock.
    pub next_slot: Signal<Out, Bits<12>>,
    /// A slot keeps its generation.
    pub writes_back: Signal<Out, Bit>,
    /// 0..=BUSY_WAIT, a new one every clock.
    pub jitter: Signal<Out, Bits<24>>,
    clearing: Dff<Bit>,
    drawn: Dff<Bit>,
    /// This clearing leaves the generations.
    kept: Dff<Bit>,
    at: Dff<Bits<12>>,
    /// Every slot is in the free list.
    given: Dff<Bit>,
    random: Dff<Bits<32>>,
    jitter_mask: Dff<Bits<24>>,
    smear1: Signal<Local, Bits<24>>,
    smear2: Signal<Local, Bits<24>>,
    smear4: Signal<Local, Bits<24>>,
    smear8: Signal<Local, Bits<24>>,
    smear16: Signal<Local, Bits<24>>,
    begins: Signal<Local, Bit>,
    next_at: Signal<Local, Bits<12>>,
    step: Signal<Local, Bit>,
    lfsr_mask: Constant<Bits<32>>,
    last_slot: Constant<Bits<12>>,
    last_at: Constant<Bits<12>>,
}

impl Starter {
    pub fn new(config: &Config) -> Self {
        let slots = 1u64 << config.tx_slots_log2;
        Self {
            clk: Default::default(),
            rst: Default::default(),
            keeps: Default::default(),
            enable: Default::default(),
            seed: Default::default(),
            busy_wait: Default::default(),
            idle: Default::default(),
            ready: Default::default(),
            seeded: Default::default(),
            restart: Default::default(),
            clear: Default::default(),
            clear_give: Default::default(),
            clear_at: Default::default(),
            clear_slot: Default::default(),
            generation: Default::default(),
            next_slot: Default::default(),
            writes_back: Default::default(),
            jitter: Default::default(),
            clearing: Default::default(),
            drawn: Default::default(),
            kept: Default::default(),
            at: Default::default(),
            given: Default::default(),
            random: Default::default(),
            jitter_mask: Default::default(),
            smear1: Default::default(),
            smear2: Default::default(),
            smear4: Default::default(),
            smear8: Default::default(),
            smear16: Default::default(),
            begins: Default::default(),
            next_at: Default::default(),
            step: Default::default(),
            lfsr_mask: Constant::new(u64::from(LFSR_MASK).into()),
            last_slot: Constant::new((slots - 1).into()),
            last_at: Constant::new((slots.max(1024) - 1).into()),
        }
    }
}

impl Logic for Starter {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, clearing, drawn, kept, at, given, random, jitter_mask);

        self.begins.next = self.enable.val() & !self.drawn.q.val() & !self.clearing.q.val();
        // Nothing is written in a reset: what a slot had is read in its last clock.
        self.step.next = self.clearing.q.val() & self.idle.val() & !self.rst.val();
        self.random.d.next = self.random.q.val() >> 1;
        if self.random.q.val().get_bit(0) {
            self.random.d.next = (self.random.q.val() >> 1) ^ self.lfsr_mask.val();
        }
        if self.begins.val() {
            self.clearing.d.next = true;
            self.drawn.d.next = true;
            self.kept.d.next = false;
            self.given.d.next = false;
            self.random.d.next = self.seed.val();
            if self.seed.val() == 0 {
                self.random.d.next = 1.into();
            }
        }
        if self.step.val() {
            if self.at.q.val() == self.last_slot.val() {
                self.given.d.next = true;
            }
            if self.at.q.val() == self.last_at.val() {
                self.clearing.d.next = false;
            }
        }
        self.ready.next = !self.clearing.q.val();
        self.seeded.next = self.drawn.q.val();
        self.restart.next = self.begins.val();
        self.clear.next = self.step.val();
        self.clear_give.next = self.step.val() & !self.given.q.val();
        self.clear_at.next = self.at.q.val();
        self.clear_slot.next = self.last_slot.val() - self.at.q.val();
        self.generation.next = self.random.q.val().get_bits::<20>(0);

        // Ones below the highest bit of BUSY_WAIT.
        self.smear1.next = self.busy_wait.val() | (self.busy_wait.val() >> 1);
        self.smear2.next = self.smear1.val() | (self.smear1.val() >> 2);
        self.smear4.next = self.smear2.val() | (self.smear2.val() >> 4);
        self.smear8.next = self.smear4.val() | (self.smear4.val() >> 8);
        self.smear16.next = self.smear8.val() | (self.smear8.val() >> 16);
        self.jitter_mask.d.next = self.smear16.val() >> 1;
        self.jitter.next = self.random.q.val().get_bits::<24>(0) & self.jitter_mask.q.val();

        if self.rst.val() {
            self.clearing.d.next = true;
            self.drawn.d.next = self.drawn.q.val() & self.keeps.val();
            self.kept.d.next = self.drawn.q.val() & self.keeps.val();
            self.given.d.next = false;
            self.random.d.next = 1.into();
        }
        self.next_at.next = self.at.q.val();
        if self.rst.val() | self.begins.val() {
            self.next_at.next = 0.into();
        } else if self.step.val() {
            self.next_at.next = self.at.q.val() + 1;
        }
        self.at.d.next = self.next_at.val();
        self.next_slot.next = self.last_slot.val() - self.next_at.val();
        self.writes_back.next = self.kept.q.val();
    }
}
