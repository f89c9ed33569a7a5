//! Counts and finds the zeros of 16 bits.
//!
//! ```text
//!  bits  ─16─> lowest zero by halving ──> any, first
//!  below ─16─> zeros below, pairwise sums ──> count
//! ```
//!
//! Contract: combinational, about five LUT levels. Verified as part of
//! `testbenches/tests/bitmap.rs`.

use crate::prelude::*;

#[derive(LogicBlock)]
pub struct ZeroScan {
    pub bits: Signal<In, Bits<16>>,
    /// Positions that count.
    pub below: Signal<In, Bits<16>>,
    /// There is a zero.
    pub any: Signal<Out, Bit>,
    /// The lowest zero; 15 without one. As wide as the index it becomes.
    pub first: Signal<Out, Bits<8>>,
    /// Zeros where `below` is set, 0..=16. As wide as the sums it goes into.
    pub count: Signal<Out, Bits<9>>,
    zeros: Signal<Local, Bits<16>>,
    /// The lowest zero is in the lower of the two.
    in_half: Signal<Local, Bit>,
    half: Signal<Local, Bits<8>>,
    in_quarter: Signal<Local, Bit>,
    quarter: Signal<Local, Bits<4>>,
    in_pair: Signal<Local, Bit>,
    pair: Signal<Local, Bits<2>>,
    counted: Signal<Local, Bits<16>>,
    twos: Signal<Local, Bits<16>>,
    fours: Signal<Local, Bits<16>>,
    eights: Signal<Local, Bits<16>>,
    sum: Signal<Local, Bits<16>>,
}

impl ZeroScan {
    pub fn new() -> Self {
        Self {
            bits: Default::default(),
            below: Default::default(),
            any: Default::default(),
            first: Default::default(),
            count: Default::default(),
            zeros: Default::default(),
            in_half: Default::default(),
            half: Default::default(),
            in_quarter: Default::default(),
            quarter: Default::default(),
            in_pair: Default::default(),
            pair: Default::default(),
            counted: Default::default(),
            twos: Default::default(),
            fours: Default::default(),
            eights: Default::default(),
            sum: Default::default(),
        }
    }
}

impl Logic for ZeroScan {
    #[hdl_gen]
    fn update(&mut self) {
        self.zeros.next = !self.bits.val();
        self.any.next = self.zeros.val().any();

        // A local is read only after its last assignment: rust-hdl's own
        // simulator would otherwise see a value that never settles.
        self.in_half.next = self.zeros.val().get_bits::<8>(0).any();
        if self.in_half.val() {
            self.half.next = self.zeros.val().get_bits::<8>(0);
        } else {
            self.half.next = self.zeros.val().get_bits::<8>(8);
        }
        self.in_quarter.next = self.half.val().get_bits::<4>(0).any();
        if self.in_quarter.val() {
            self.quarter.next = self.half.val().get_bits::<4>(0);
        } else {
            self.quarter.next = self.half.val().get_bits::<4>(4);
        }
        self.in_pair.next = self.quarter.val().get_bits::<2>(0).any();
        if self.in_pair.val() {
            self.pair.next = self.quarter.val().get_bits::<2>(0);
        } else {
            self.pair.next = self.quarter.val().get_bits::<2>(2);
        }
        self.first.next = (bit_cast::<8, 1>((!self.in_half.val()).into()) << 3)
            | (bit_cast::<8, 1>((!self.in_quarter.val()).into()) << 2)
            | (bit_cast::<8, 1>((!self.in_pair.val()).into()) << 1)
            | bit_cast::<8, 1>((!self.pair.val().get_bit(0)).into());

        self.counted.next = self.zeros.val() & self.below.val();
        self.twos.next = (self.counted.val() & 0x5555) + ((self.counted.val() >> 1) & 0x5555);
        self.fours.next = (self.twos.val() & 0x3333) + ((self.twos.val() >> 2) & 0x3333);
        self.eights.next = (self.fours.val() + (self.fours.val() >> 4)) & 0x0f0f;
        self.sum.next = (self.eights.val() + (self.eights.val() >> 8)) & 0x1f;
        self.count.next = self.sum.val().get_bits::<9>(0);
    }
}
