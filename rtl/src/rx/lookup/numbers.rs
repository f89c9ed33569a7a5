//! The context numbers that are not in use, in the order they were freed.
//!
//! ```text
//!  give ─┬─> ring ──> offer ──> number, take
//!        │    ^         ^
//!        │    └ filled with all numbers after reset
//!        └── when none ─┘
//! ```
//!
//! Contract: one give and one take per clock; a number given is offered three
//! clocks later. After reset one number is filled in per clock, then `ready`.
//!
//! Verified as part of `testbenches/tests/lookup`.

use crate::prelude::*;
use crate::stream::Fifo;

#[derive(LogicBlock)]
pub struct LookupNumbers {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub available: Signal<Out, Bit>,
    pub number: Signal<Out, Bits<12>>,
    /// Takes `number`; ignored while none is available.
    pub take: Signal<In, Bit>,
    pub give: Signal<In, Bit>,
    pub given: Signal<In, Bits<12>>,
    /// Numbers not taken.
    pub free: Signal<Out, Bits<13>>,
    pub ready: Signal<Out, Bit>,

    ring: Fifo<Bits<12>, 12>,

    /// Number to fill in next, then how many there are.
    fill_at: Dff<Bits<13>>,
    filled: Dff<Bit>,
    count: Dff<Bits<13>>,
    /// The next one: the ring is a memory, and what is opened is written by it.
    offered: Dff<Bit>,
    offer: Dff<Bits<12>>,

    put: Signal<Local, Bit>,
    taken: Signal<Local, Bit>,
    /// The offer is taken, or none is made; the number given is the next one.
    refills: Signal<Local, Bit>,
    direct: Signal<Local, Bit>,

    total: Constant<Bits<13>>,
    /// Bits that a number has, so that no register or memory behind it keeps the others.
    mask: Constant<Bits<12>>,
}

impl LookupNumbers {
    /// `2^numbers_log2` numbers.
    pub fn new(numbers_log2: usize) -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            available: Default::default(),
            number: Default::default(),
            take: Default::default(),
            give: Default::default(),
            given: Default::default(),
            free: Default::default(),
            ready: Default::default(),
            ring: Fifo::new(numbers_log2),
            fill_at: Default::default(),
            filled: Default::default(),
            count: Default::default(),
            offered: Default::default(),
            offer: Default::default(),
            put: Default::default(),
            taken: Default::default(),
            refills: Default::default(),
            direct: Default::default(),
            total: Constant::new((1u64 << numbers_log2).into()),
            mask: Constant::new(((1u64 << numbers_log2) - 1).into()),
        }
    }
}

impl Logic for LookupNumbers {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, fill_at, filled, count, offered, offer);
        self.ring.clk.next = self.clk.val();
        self.ring.rst.next = self.rst.val();
        self.refills.next = self.filled.q.val() & (self.take.val() | !self.offered.q.val());
        self.direct.next = self.give.val() & self.refills.val() & !self.ring.out_valid.val();
        if self.filled.q.val() {
            self.ring.in_valid.next = self.give.val() & !self.direct.val();
            self.ring.in_data.next = self.given.val();
        } else {
            self.ring.in_valid.next = self.fill_at.q.val() != self.total.val();
            self.ring.in_data.next = self.fill_at.q.val().get_bits::<12>(0);
        }
        self.put.next = (self.ring.in_valid.val() & self.ring.in_ready.val()) | self.direct.val();
        self.ring.out_ready.next = self.refills.val();
        if self.refills.val() {
            self.offered.d.next = self.ring.out_valid.val() | self.direct.val();
            self.offer.d.next = self.ring.out_data.val() & self.mask.val();
            if self.direct.val() {
                self.offer.d.next = self.given.val();
            }
        }
        self.taken.next = self.offered.q.val() & self.take.val();
        if self.put.val() & !self.taken.val() {
            self.count.d.next = self.count.q.val() + 1;
        }
        if !self.put.val() & self.taken.val() {
            self.count.d.next = self.count.q.val() - 1;
        }
        if self.put.val() & !self.filled.q.val() {
            self.fill_at.d.next = self.fill_at.q.val() + 1;
        }
        if self.fill_at.q.val() == self.total.val() {
            self.filled.d.next = true;
        }
        self.available.next = self.offered.q.val();
        self.number.next = self.offer.q.val();
        self.free.next = self.count.q.val();
        self.ready.next = self.filled.q.val();

        if self.rst.val() {
            self.fill_at.d.next = 0.into();
            self.filled.d.next = false;
            self.count.d.next = 0.into();
            self.offered.d.next = false;
        }
    }
}
