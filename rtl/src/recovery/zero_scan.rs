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
    fives: [Signal<Local, Bits<5>>; 3],
    /// What is one of each place of the fives, and the last bit.
    ones: Signal<Local, Bits<6>>,
    /// What is two.
    twos: Signal<Local, Bits<5>>,
    // Sums and carries of the ones, in threes, then of both; the same of the twos.
    one: [Signal<Local, Bit>; 3],
    one_over: [Signal<Local, Bit>; 3],
    two: [Signal<Local, Bit>; 3],
    two_over: [Signal<Local, Bit>; 3],
    /// Twos and fours of the ones, fours and eights of the twos.
    more_twos: Signal<Local, Bit>,
    fours: Signal<Local, Bit>,
    more_fours: Signal<Local, Bit>,
    eights: Signal<Local, Bit>,
    four_over: Signal<Local, Bit>,
    eight_over: Signal<Local, Bit>,
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
            fives: Default::default(),
            ones: Default::default(),
            twos: Default::default(),
            one: Default::default(),
            one_over: Default::default(),
            two: Default::default(),
            two_over: Default::default(),
            more_twos: Default::default(),
            fours: Default::default(),
            more_fours: Default::default(),
            eights: Default::default(),
            four_over: Default::default(),
            eight_over: Default::default(),
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
        for i in 0..3 {
            self.fives[i].next = self.counted.val().get_bits::<5>(5 * i);
        }
        self.ones.next = bit_cast::<6, 5>(self.fives[0].val() ^ self.fives[1].val() ^ self.fives[2].val())
            | (bit_cast::<6, 1>(self.counted.val().get_bits::<1>(15)) << 5);
        self.twos.next = (self.fives[0].val() & self.fives[1].val())
            | (self.fives[2].val() & (self.fives[0].val() | self.fives[1].val()));
        for i in 0..2 {
            self.one[i].next = self.ones.val().get_bit(3 * i)
                ^ self.ones.val().get_bit(3 * i + 1)
                ^ self.ones.val().get_bit(3 * i + 2);
            self.one_over[i].next = (self.ones.val().get_bit(3 * i) & self.ones.val().get_bit(3 * i + 1))
                | (self.ones.val().get_bit(3 * i + 2)
                    & (self.ones.val().get_bit(3 * i) | self.ones.val().get_bit(3 * i + 1)));
        }
        self.one[2].next = self.one[0].val() ^ self.one[1].val();
        self.one_over[2].next = self.one[0].val() & self.one[1].val();
        self.more_twos.next = self.one_over[0].val() ^ self.one_over[1].val() ^ self.one_over[2].val();
        self.fours.next = (self.one_over[0].val() & self.one_over[1].val())
            | (self.one_over[2].val() & (self.one_over[0].val() | self.one_over[1].val()));
        self.two[0].next =
            self.twos.val().get_bit(0) ^ self.twos.val().get_bit(1) ^ self.twos.val().get_bit(2);
        self.two_over[0].next = (self.twos.val().get_bit(0) & self.twos.val().get_bit(1))
            | (self.twos.val().get_bit(2) & (self.twos.val().get_bit(0) | self.twos.val().get_bit(1)));
        self.two[1].next = self.twos.val().get_bit(3) ^ self.twos.val().get_bit(4);
        self.two_over[1].next = self.twos.val().get_bit(3) & self.twos.val().get_bit(4);
        self.two[2].next = self.two[0].val() ^ self.two[1].val();
        self.two_over[2].next = self.two[0].val() & self.two[1].val();
        self.more_fours.next = self.two_over[0].val() ^ self.two_over[1].val() ^ self.two_over[2].val();
        self.eights.next = (self.two_over[0].val() & self.two_over[1].val())
            | (self.two_over[2].val() & (self.two_over[0].val() | self.two_over[1].val()));
        self.four_over.next = self.more_twos.val() & self.two[2].val();
        self.eight_over.next = (self.fours.val() & self.more_fours.val())
            | (self.four_over.val() & (self.fours.val() | self.more_fours.val()));
        self.count.next = bit_cast::<9, 1>(self.one[2].val().into())
            | (bit_cast::<9, 1>((self.more_twos.val() ^ self.two[2].val()).into()) << 1)
            | (bit_cast::<9, 1>((self.fours.val() ^ self.more_fours.val() ^ self.four_over.val()).into())
                << 2)
            | (bit_cast::<9, 1>((self.eights.val() ^ self.eight_over.val()).into()) << 3)
            | (bit_cast::<9, 1>((self.eights.val() & self.eight_over.val()).into()) << 4);
    }
}
