//! The free slots, last freed first: a slot just used is the one whose timer
//! node is most likely still linked, and reusing it costs no insert.
//!
//! ```text
//!  give ──> top ──> top_valid, top_slot
//!           ^ │
//!           │ v
//!          stack
//! ```
//!
//! Contract: one `give` per clock; `take` (ignored while `top_valid` is low)
//! brings the next top three clocks later, or the slot given meanwhile at once.
//! `count` counts what the list holds. `rst` empties it.
//!
//! Verified as part of `testbenches/tests/tx_slots/`.

use crate::prelude::*;

#[derive(LogicBlock)]
pub struct FreeList {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub give: Signal<In, Bit>,
    pub give_slot: Signal<In, Bits<12>>,
    pub top_valid: Signal<Out, Bit>,
    pub top_slot: Signal<Out, Bits<12>>,
    pub take: Signal<In, Bit>,
    pub count: Signal<Out, Bits<13>>,
    pile: SdpRam<Bits<12>, 12>,
    /// Slots in the stack.
    depth: Dff<Bits<13>>,
    top: Dff<Bits<12>>,
    held: Dff<Bit>,
    fetching: Dff<Bit>,
    total: Dff<Bits<13>>,
    below: Signal<Local, Bits<13>>,
    taken: Signal<Local, Bit>,
}

impl FreeList {
    /// A list for `2^slots_log2` slots.
    pub fn new(slots_log2: usize) -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            give: Default::default(),
            give_slot: Default::default(),
            top_valid: Default::default(),
            top_slot: Default::default(),
            take: Default::default(),
            count: Default::default(),
            pile: SdpRam::new(slots_log2),
            depth: Default::default(),
            top: Default::default(),
            held: Default::default(),
            fetching: Default::default(),
            total: Default::default(),
            below: Default::default(),
            taken: Default::default(),
        }
    }
}

impl Logic for FreeList {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, depth, top, held, fetching, total);
        self.pile.clock.next = self.clk.val();

        self.below.next = self.depth.q.val() - 1;
        self.taken.next = self.take.val() & self.held.q.val();
        self.pile.write_enable.next = false;
        self.pile.write_address.next = self.depth.q.val().get_bits::<12>(0);
        self.pile.write_data.next = self.top.q.val();
        self.pile.read_address.next = self.below.val().get_bits::<12>(0);

        self.fetching.d.next = false;
        if self.give.val() {
            // What a fetch was bringing stays in the stack.
            self.top.d.next = self.give_slot.val();
            self.held.d.next = true;
            if self.held.q.val() & !self.taken.val() {
                self.pile.write_enable.next = true;
                self.depth.d.next = self.depth.q.val() + 1;
            }
        } else {
            if self.taken.val() {
                self.held.d.next = false;
            } else {
                if !self.held.q.val() {
                    if self.fetching.q.val() {
                        self.top.d.next = self.pile.read_data.val();
                        self.held.d.next = true;
                        self.depth.d.next = self.below.val();
                    } else {
                        self.fetching.d.next = self.depth.q.val() != 0;
                    }
                }
            }
        }
        if self.give.val() & !self.taken.val() {
            self.total.d.next = self.total.q.val() + 1;
        }
        if !self.give.val() & self.taken.val() {
            self.total.d.next = self.total.q.val() - 1;
        }
        self.top_valid.next = self.held.q.val();
        self.top_slot.next = self.top.q.val();
        self.count.next = self.total.q.val();

        if self.rst.val() {
            self.depth.d.next = 0.into();
            self.held.d.next = false;
            self.fetching.d.next = false;
            self.total.d.next = 0.into();
        }
    }
}
