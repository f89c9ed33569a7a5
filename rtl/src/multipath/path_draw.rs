//! The entropy value a packet takes when nothing is known of its destination:
//! policies `single`, `round_robin`, `random` and `weighted` (spec section 6).
//!
//! ```text
//!  take ─> LFSR, counter ─────────────> k, place ─> + path_base ─────────────> drawn
//!             └─ at the end of a round ─> offset ──^    └─> table of places ──^
//! ```
//!
//! Contract: `take` says that a packet took its value; `drawn` and `explores`
//! are that packet's in the clock after it, and in that clock only. Two clocks
//! lie between one `take` and the next, which no packet undercuts: the shortest
//! has two beats. Changed settings show two clocks later. When `enable` rises,
//! the LFSR takes the seed (1 instead of 0, in which it would stay), the counter
//! and the offset 0: the first packet after it sees exactly those. `ready`: the
//! places are zeros or written.
//!
//! A round of `round_robin` visits every path once, from an offset drawn anew
//! for each: a message whose tries are a whole number of rounds apart would
//! otherwise take the same dead path for ever. A round of `weighted` visits
//! every place of the table.
//!
//! Verified by `testbenches/tests/path_scheduler.rs`.

use crate::host::cleared_ram::ClearedRam;
use crate::prelude::*;
use crate::types::{Settings, TableWrite};
use tessera_abi::params::{EXPLORE_LOG2, LFSR_MASK};
use tessera_abi::regs;

#[derive(LogicBlock)]
pub struct PathDraw {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub settings: Signal<In, Settings>,
    pub table_write: Signal<In, TableWrite>,
    pub take: Signal<In, Bit>,
    pub drawn: Signal<Out, Bits<8>>,
    /// This packet is one of those that look for further paths.
    pub explores: Signal<Out, Bit>,
    pub ready: Signal<Out, Bit>,
    places: ClearedRam<Bits<8>, 8>,
    lfsr: Dff<Bits<32>>,
    counter: Dff<Bits<9>>,
    offset: Dff<Bits<8>>,
    enabled: Dff<Bit>,
    /// The path of the next packet, or its place in the table.
    chosen: Dff<Bits<8>>,
    offer: Dff<Bits<8>>,
    exploring: Dff<Bit>,
    /// Of the clock before: settings come out of a memory.
    round: Dff<Bits<9>>,
    weighted: Signal<Local, Bit>,
    stepped: Signal<Local, Bits<9>>,
    turned: Signal<Local, Bits<9>>,
    over: Signal<Local, Bits<9>>,
    scaled: Signal<Local, Bits<32>>,
    mask: Constant<Bits<32>>,
    unexplored: Constant<Bits<32>>,
    path_table: Constant<Bits<4>>,
}

impl PathDraw {
    pub fn new() -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            settings: Default::default(),
            table_write: Default::default(),
            take: Default::default(),
            drawn: Default::default(),
            explores: Default::default(),
            ready: Default::default(),
            places: ClearedRam::new(8, "distributed"),
            lfsr: Default::default(),
            counter: Default::default(),
            offset: Default::default(),
            enabled: Default::default(),
            chosen: Default::default(),
            offer: Default::default(),
            exploring: Default::default(),
            round: Default::default(),
            weighted: Default::default(),
            stepped: Default::default(),
            turned: Default::default(),
            over: Default::default(),
            scaled: Default::default(),
            mask: Constant::new(u64::from(LFSR_MASK).into()),
            // The bits of the LFSR that no path is drawn from.
            unexplored: Constant::new((((1u64 << EXPLORE_LOG2) - 1) << 16).into()),
            path_table: Constant::new(u64::from(regs::table::PATH).into()),
        }
    }
}

impl Logic for PathDraw {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, lfsr, counter, offset, enabled, chosen, offer, exploring, round);
        self.places.clk.next = self.clk.val();
        self.places.rst.next = self.rst.val();
        self.ready.next = self.places.ready.val();

        self.weighted.next = self.settings.val().path_policy == 4;
        self.round.d.next = self.settings.val().path_count;
        if self.weighted.val() {
            self.round.d.next = 256.into();
        }
        self.scaled.next = self.lfsr.q.val().get_bits::<16>(0) * bit_cast::<16, 9>(self.round.q.val());
        self.stepped.next = self.counter.q.val() + 1;
        if self.take.val() {
            if self.lfsr.q.val().get_bit(0) {
                self.lfsr.d.next = (self.lfsr.q.val() >> 1) ^ self.mask.val();
            } else {
                self.lfsr.d.next = self.lfsr.q.val() >> 1;
            }
            self.counter.d.next = self.stepped.val();
            if self.stepped.val() >= self.round.q.val() {
                self.counter.d.next = 0.into();
                self.offset.d.next = self.scaled.val().get_bits::<8>(16);
            }
        }

        self.turned.next = self.counter.q.val() + bit_cast::<9, 8>(self.offset.q.val());
        self.over.next = self.turned.val() - self.round.q.val();
        // Above a count that was lowered meanwhile: the first path. Of a round more or less the sum is
        // compared beside what is taken from it.
        self.chosen.d.next = 0.into();
        if self.turned.val() < self.round.q.val() {
            self.chosen.d.next = self.turned.val().get_bits::<8>(0);
        } else if bit_cast::<10, 9>(self.turned.val()) < (bit_cast::<10, 9>(self.round.q.val()) << 1) {
            self.chosen.d.next = self.over.val().get_bits::<8>(0);
        }
        if self.settings.val().path_policy == 2 {
            self.chosen.d.next = self.scaled.val().get_bits::<8>(16);
        }
        if self.settings.val().path_policy == 0 {
            self.chosen.d.next = 0.into();
        }
        self.offer.d.next = self.chosen.q.val();
        self.exploring.d.next = (self.lfsr.q.val() & self.unexplored.val()) == 0;
        self.explores.next = self.exploring.q.val();

        self.places.write_enable.next =
            self.table_write.val().valid & (self.table_write.val().table == self.path_table.val());
        self.places.write_address.next = self.table_write.val().index;
        self.places.write_data.next = self.table_write.val().entry.get_bits::<8>(0);
        self.places.read_address.next = self.chosen.q.val();
        self.drawn.next = self.settings.val().path_base + self.offer.q.val();
        if self.weighted.val() {
            self.drawn.next = self.settings.val().path_base + self.places.read_data.val();
        }

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
