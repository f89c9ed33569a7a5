//! Small kernels, each around one construct that a careless printer gets wrong.
//!
//! All of them sit in one block, so one Verilation covers them.

use crate::bench::{agree, corner_or_random, random_vectors};
use num_bigint::BigUint;
use tessera_rtl::emit::{export, with_big_stack};
use tessera_rtl::prelude::*;
use tessera_sim::tb::Rng;

#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum Colour {
    Red,
    Green,
    Blue,
}

#[derive(Copy, Clone, Debug, Default, PartialEq, LogicStruct)]
pub struct Pair {
    pub low: Bits<6>,
    pub delta: Bits<9>,
}

#[derive(Copy, Clone, Debug, Default, PartialEq, LogicStruct)]
pub struct Nest {
    pub flag: Bit,
    pub pair: Pair,
    pub rest: Bits<10>,
}

/// One output per kernel; the locals are named after the output they serve.
#[derive(LogicBlock, Default)]
pub struct Kernels {
    pub clock: Signal<In, Clock>,
    pub a: Signal<In, Bits<8>>,
    pub b: Signal<In, Bits<8>>,
    pub n: Signal<In, Bits<3>>,
    pub w: Signal<In, Bits<16>>,
    pub x: Signal<In, Bits<16>>,
    pub l: Signal<In, Bits<70>>,
    pub f: Signal<In, Bit>,
    pub g: Signal<In, Bit>,
    pub s: Signal<In, Bits<12>>,
    pub t: Signal<In, Bits<12>>,
    pub and_equal: Signal<Out, Bit>,
    pub sum_eq: Signal<Out, Bit>,
    pub not_eq_zero: Signal<Out, Bit>,
    pub window: Signal<Out, Bit>,
    pub widened_sum: Signal<Out, Bits<9>>,
    pub sum_shifted: Signal<Out, Bits<8>>,
    pub xor_slice: Signal<Out, Bits<4>>,
    pub sum_slice: Signal<Out, Bits<4>>,
    pub sum_bit: Signal<Out, Bit>,
    pub sum_bit_dynamic: Signal<Out, Bit>,
    pub bit_dynamic: Signal<Out, Bit>,
    pub bit_of_long: Signal<Out, Bit>,
    pub wide_index: Signal<Out, Bit>,
    pub slice_dynamic: Signal<Out, Bits<9>>,
    pub slice_past_end: Signal<Out, Bits<5>>,
    pub slice_of_sum: Signal<Out, Bits<6>>,
    pub narrow_sum: Signal<Out, Bits<5>>,
    pub narrow_product: Signal<Out, Bits<20>>,
    pub product: Signal<Out, Bits<32>>,
    pub product_of_sums: Signal<Out, Bits<32>>,
    pub product_wider: Signal<Out, Bits<40>>,
    pub sum_plus_carry: Signal<Out, Bits<8>>,
    pub literal_left: Signal<Out, Bits<8>>,
    pub literal_less: Signal<Out, Bit>,
    pub bits_literal: Signal<Out, Bits<8>>,
    pub shift_left: Signal<Out, Bits<8>>,
    pub shift_by_sum: Signal<Out, Bits<8>>,
    pub shift_far: Signal<Out, Bits<8>>,
    pub shift_const: Signal<Out, Bits<16>>,
    pub one_hot: Signal<Out, Bits<8>>,
    pub shift_of_cast: Signal<Out, Bits<3>>,
    pub reductions: Signal<Out, Bits<3>>,
    pub not_any: Signal<Out, Bit>,
    pub circle: Signal<Out, Bits<8>>,
    pub staged_right: Signal<Out, Bits<16>>,
    pub staged_left: Signal<Out, Bits<16>>,
    pub xor_not: Signal<Out, Bit>,
    pub all_not: Signal<Out, Bit>,
    pub logical: Signal<Out, Bit>,
    pub chain: Signal<Out, Bit>,
    pub bool_compare: Signal<Out, Bit>,
    pub settled_compares: Signal<Out, Bits<4>>,
    pub long_sum: Signal<Out, Bits<70>>,
    pub long_compare: Signal<Out, Bit>,
    pub replace_const: Signal<Out, Bits<8>>,
    pub replace_top: Signal<Out, Bits<8>>,
    pub replace_dynamic: Signal<Out, Bits<8>>,
    pub signed_less: Signal<Out, Bit>,
    pub signed_difference: Signal<Out, Bit>,
    pub signed_negate: Signal<Out, Bits<12>>,
    pub signed_bits: Signal<Out, Bits<5>>,
    pub signed_product: Signal<Out, Signed<32>>,
    pub signed_field: Signal<Out, Bit>,
    pub struct_fields: Signal<Out, Nest>,
    pub struct_part: Signal<Out, Bits<6>>,
    pub struct_equal: Signal<Out, Bit>,
    pub enum_cycle: Signal<Out, Bits<2>>,
    pub match_index: Signal<Out, Bits<8>>,
    pub match_bool: Signal<Out, Bits<8>>,
    pub else_if: Signal<Out, Bits<8>>,
    pub last_wins: Signal<Out, Bits<8>>,
    pub reused: Signal<Out, Bits<8>>,
    pub reused_in_branch: Signal<Out, Bits<4>>,
    pub unrolled: Signal<Out, Bits<8>>,
    pub loop_choice: Signal<Out, Bits<4>>,
    pub not_not: Signal<Out, Bits<8>>,
    pub deep: Signal<Out, Bits<16>>,
    wide_index_i: Signal<Local, Bits<16>>,
    circle_v: Signal<Local, Bits<8>>,
    circle_u: Signal<Local, Bits<8>>,
    staged_r: Signal<Local, Bits<16>>,
    staged_l: Signal<Local, Bits<16>>,
    reductions_p: Signal<Local, Bits<3>>,
    reductions_q: Signal<Local, Bits<3>>,
    reductions_r: Signal<Local, Bits<3>>,
    settled_compares_p: Signal<Local, Bits<4>>,
    signed_difference_d: Signal<Local, Signed<12>>,
    signed_bits_d: Signal<Local, Signed<12>>,
    signed_bits_e: Signal<Local, Signed<5>>,
    signed_product_p: Signal<Local, Signed<16>>,
    signed_product_q: Signal<Local, Signed<16>>,
    signed_field_p: Signal<Local, Pair>,
    signed_field_q: Signal<Local, Pair>,
    struct_part_v: Signal<Local, Nest>,
    struct_equal_p: Signal<Local, Pair>,
    struct_equal_q: Signal<Local, Pair>,
    enum_cycle_c: Signal<Local, Colour>,
    enum_cycle_d: Signal<Local, Colour>,
    reused_v: Signal<Local, Bits<8>>,
    reused_u: Signal<Local, Bits<8>>,
    reused_in_branch_v: Signal<Local, Bits<8>>,
    unrolled_v: Signal<Local, Bits<8>>,
    loop_choice_v: Signal<Local, Bits<4>>,
}

impl Logic for Kernels {
    #[hdl_gen]
    fn update(&mut self) {
        // What rust-hdl's own printer gets wrong.
        self.and_equal.next = self.a.val() & self.b.val() == self.b.val();
        self.sum_eq.next = (self.a.val() + 1) == self.b.val();
        self.not_eq_zero.next = !self.a.val() == 0;
        self.window.next = (self.a.val() - self.b.val()) < 0x80;
        self.widened_sum.next = bit_cast::<9, 8>(self.a.val() + self.b.val());
        self.sum_shifted.next = (self.a.val() + 1) >> self.b.val();
        self.xor_slice.next = (self.a.val() ^ self.b.val()).get_bits::<4>(2);
        // Widths, precedence, landing.
        self.sum_slice.next = (self.a.val() + self.b.val()).get_bits::<4>(3);
        self.sum_bit.next = (self.a.val() + self.b.val()).get_bit(7);
        self.sum_bit_dynamic.next = (self.a.val() - self.b.val()).get_bit(self.n.val().index());
        self.bit_dynamic.next = self.a.val().get_bit(self.n.val().index());
        self.bit_of_long.next = self.l.val().get_bit(self.n.val().index());
        self.wide_index_i.next = bit_cast::<16, 3>(self.n.val());
        self.wide_index.next = self.w.val().get_bit(self.wide_index_i.val().index());
        self.slice_dynamic.next = self.l.val().get_bits::<9>(self.n.val().index());
        // Partly past the end: Rust fills with zeros.
        self.slice_past_end.next = self.a.val().get_bits::<5>(self.n.val().index());
        self.slice_of_sum.next = (self.a.val() + self.b.val()).get_bits::<6>(self.n.val().index());
        self.narrow_sum.next = bit_cast::<5, 16>(self.w.val() + self.x.val());
        self.narrow_product.next = bit_cast::<20, 32>(self.w.val() * self.x.val());
        self.product.next = self.w.val() * self.x.val();
        self.product_of_sums.next = (self.w.val() + 1) * (self.x.val() - self.w.val());
        self.product_wider.next = bit_cast::<40, 32>(self.w.val() * self.x.val()) + 1;
        self.sum_plus_carry.next = self.a.val() + (self.f.val() & self.g.val());
        self.literal_left.next = 200 - self.a.val();
        self.literal_less.next = 200 < self.a.val();
        self.bits_literal.next = (self.a.val() ^ bits::<8>(0x5a)) + Bits::<8>::from(3);
        self.shift_left.next = self.a.val() << self.n.val();
        self.shift_by_sum.next = self.a.val() << (self.n.val() + 1);
        self.shift_far.next = (self.a.val() >> 9) | (self.b.val() << 8);
        self.shift_const.next = bit_cast::<16, 8>(self.a.val()) << 8 | bit_cast::<16, 8>(self.b.val());
        self.one_hot.next = bit_cast::<8, 64>(1_u64 << self.n.val());
        self.shift_of_cast.next = bit_cast::<3, 16>(bit_cast::<16, 8>(self.a.val()) >> 2);
        self.reductions_p.next = 0.into();
        if self.a.val().all() {
            self.reductions_p.next = 1.into();
        }
        self.reductions_q.next = 0.into();
        if (self.a.val() & self.b.val()).any() {
            self.reductions_q.next = 2.into();
        }
        self.reductions_r.next = 0.into();
        if (self.a.val() + self.b.val()).xor() {
            self.reductions_r.next = 4.into();
        }
        self.reductions.next = self.reductions_p.val() | self.reductions_q.val() | self.reductions_r.val();
        // Between separate drivers this would be a combinational loop.
        self.circle_v.next = self.a.val();
        self.circle.next = self.b.val();
        if self.f.val() {
            self.circle_v.next = self.b.val();
            self.circle.next = self.a.val();
        }
        self.circle_u.next = self.circle_v.val() + 1;
        if self.g.val() {
            self.circle.next = self.circle_u.val();
        }

        // A barrel shifter in stages: amounts must not be added in three bits.
        self.staged_r.next = self.w.val() >> self.n.val();
        self.staged_right.next = self.staged_r.val() >> (self.n.val() | 4);
        self.staged_l.next = self.x.val() << 7;
        self.staged_left.next = (self.staged_l.val() << self.n.val()) << self.n.val();

        // `^~` and `&~` are operators of their own in Verilog.
        self.xor_not.next = (!self.a.val()).xor();
        self.all_not.next = !(!self.a.val()).all() ^ (!self.b.val()).any();

        self.not_any.next = !self.a.val().any() & !(!self.b.val()).all();
        self.logical.next = self.f.val() && self.a.val() < self.b.val() || !self.g.val();
        self.chain.next = self.f.val() ^ self.g.val() & self.f.val() | !self.g.val() ^ self.f.val();
        self.bool_compare.next = (self.f.val() == self.g.val()) != (self.a.val() <= self.b.val());
        self.settled_compares_p.next = 0.into();
        if self.a.val() >= 0 {
            self.settled_compares_p.next = 1.into();
        }
        if self.a.val() > 0xff {
            self.settled_compares_p.next = 2.into();
        }
        if self.b.val() <= 0xff {
            self.settled_compares_p.next = self.settled_compares_p.val() | 4;
        }
        self.settled_compares.next = self.settled_compares_p.val();
        self.long_sum.next = self.l.val() + (self.l.val() >> 3) - 1;
        self.long_compare.next = (self.l.val() + 0xffff_ffff_u64) < self.l.val();
        self.replace_const.next = self.a.val().replace_bit(3, self.f.val());
        self.replace_top.next = (self.a.val() + 1).replace_bit(7, self.f.val()).replace_bit(0, self.g.val());
        self.replace_dynamic.next = (self.a.val() - 1).replace_bit(self.n.val().index(), self.f.val());
        // Signed values.
        self.signed_less.next = signed_cast(self.s.val()) < signed_cast(self.t.val());
        self.signed_difference_d.next = signed_cast(self.s.val()) - signed_cast(self.t.val());
        self.signed_difference.next = self.signed_difference_d.val() >= signed_cast(self.s.val() + 5);
        self.signed_negate.next = unsigned_cast(-signed_cast(self.s.val())) + 1;
        self.signed_bits_d.next = signed_cast(self.s.val());
        self.signed_bits_e.next = self.signed_bits_d.val().get_bits::<5>(7);
        self.signed_bits.next = unsigned_cast(self.signed_bits_e.val());
        self.signed_product_p.next = signed_cast(self.w.val());
        self.signed_product_q.next = signed_cast(self.x.val());
        self.signed_product.next =
            self.signed_product_p.val() * (self.signed_product_q.val() + self.signed_product_p.val());
        self.signed_field_p.next.low = bit_cast::<6, 8>(self.a.val());
        self.signed_field_p.next.delta = bit_cast::<9, 12>(self.s.val());
        self.signed_field_q.next.low = bit_cast::<6, 8>(self.b.val());
        self.signed_field_q.next.delta = bit_cast::<9, 12>(self.t.val());
        self.signed_field.next = (self.signed_field_p.val().delta < self.signed_field_q.val().delta)
            & (self.signed_field_p.val().low > self.signed_field_q.val().low);
        // Structs and enums.
        self.struct_fields.next.flag = self.f.val();
        self.struct_fields.next.pair.low = bit_cast::<6, 8>(self.a.val());
        self.struct_fields.next.pair.delta = bit_cast::<9, 12>(self.s.val() + self.t.val());
        self.struct_fields.next.rest = bit_cast::<10, 16>(self.w.val());
        self.struct_part_v.next.flag = self.f.val();
        self.struct_part_v.next.pair.low = bit_cast::<6, 8>(self.a.val());
        self.struct_part_v.next.pair.delta = bit_cast::<9, 12>(self.s.val());
        self.struct_part_v.next.rest = 7.into();
        if self.g.val() {
            self.struct_part_v.next.pair.low = self.struct_part_v.val().pair.low + 1;
        }
        self.struct_part.next = self.struct_part_v.val().pair.low;
        self.struct_equal_p.next.low = bit_cast::<6, 8>(self.a.val());
        self.struct_equal_p.next.delta = bit_cast::<9, 12>(self.s.val());
        self.struct_equal_q.next = self.struct_equal_p.val();
        self.struct_equal_q.next.low = bit_cast::<6, 8>(self.b.val());
        self.struct_equal.next = self.struct_equal_p.val() == self.struct_equal_q.val();
        self.enum_cycle_c.next = Colour::Red;
        if self.f.val() {
            self.enum_cycle_c.next = Colour::Green;
        } else if self.g.val() {
            self.enum_cycle_c.next = Colour::Blue;
        }
        match self.enum_cycle_c.val() {
            Colour::Red => self.enum_cycle_d.next = Colour::Blue,
            Colour::Green => self.enum_cycle_d.next = Colour::Red,
            Colour::Blue => self.enum_cycle_d.next = Colour::Green,
        }
        self.enum_cycle.next = 0.into();
        if self.enum_cycle_d.val() == Colour::Green {
            self.enum_cycle.next = 1.into();
        }
        if self.enum_cycle_c.val() != Colour::Red {
            self.enum_cycle.next = self.enum_cycle.val() | 2;
        }
        // Statements.
        match self.n.val().index() {
            0 => self.match_index.next = self.a.val(),
            0x1 => self.match_index.next = self.b.val(),
            0b10 => {
                self.match_index.next = self.a.val() + self.b.val();
            }
            7 => self.match_index.next = 0xff.into(),
            _ => {
                self.match_index.next = self.a.val();
                if self.f.val() {
                    self.match_index.next = !self.b.val();
                }
            }
        }
        match self.f.val() {
            true => self.match_bool.next = self.a.val(),
            false => self.match_bool.next = self.b.val(),
        }
        if self.a.val() + self.b.val() == 0 {
            self.else_if.next = 1.into();
        } else if (self.a.val() - self.b.val()).get_bit(7) {
            self.else_if.next = 2.into();
        } else if self.f.val() {
            self.else_if.next = 3.into();
        } else {
            self.else_if.next = 4.into();
        }
        self.last_wins.next = self.a.val();
        if self.f.val() {
            self.last_wins.next = self.b.val();
        }
        if self.g.val() {
            self.last_wins.next = self.last_wins.val() + 1;
        }
        // `v` is read between its assignments: a variable, not a net.
        self.reused_v.next = self.a.val();
        self.reused_u.next = self.reused_v.val() + 1;
        self.reused_v.next = self.b.val();
        if self.f.val() {
            self.reused_v.next = self.reused_u.val() ^ self.reused_v.val();
        }
        self.reused.next = self.reused_v.val() - self.reused_u.val();
        // A temporary that depends on how far its block has run.
        self.reused_in_branch_v.next = self.a.val();
        self.reused_in_branch.next = 0.into();
        if self.f.val() {
            self.reused_in_branch_v.next = self.reused_in_branch_v.val() + self.b.val();
            self.reused_in_branch.next = (self.reused_in_branch_v.val() + 3).get_bits::<4>(4);
            if self.g.val() {
                self.reused_in_branch_v.next = self.reused_in_branch_v.val() + 1;
                self.reused_in_branch.next =
                    ((self.reused_in_branch_v.val() ^ self.w.val().get_bits::<8>(0)) + 3).get_bits::<4>(4);
            }
        }
        self.unrolled_v.next = 0.into();
        for i in 0..4 {
            if self.a.val().get_bit(2 * i + 1) & (self.n.val().index() != i) {
                self.unrolled_v.next = self.unrolled_v.val() + self.x.val().get_bits::<8>(i);
            }
        }
        self.unrolled.next = self.unrolled_v.val();
        self.loop_choice_v.next = 0.into();
        for i in 0..4 {
            if i == 2 {
                self.loop_choice_v.next = self.loop_choice_v.val().replace_bit(i, self.f.val());
            } else {
                self.loop_choice_v.next =
                    self.loop_choice_v.val().replace_bit(i, self.a.val().get_bit(i) ^ self.g.val());
            }
        }
        self.loop_choice.next = self.loop_choice_v.val();
        self.not_not.next = !(!self.a.val() + 1) - (!self.b.val());
        self.deep.next = ((bit_cast::<16, 8>(self.a.val() + self.b.val()) << 3)
            - bit_cast::<16, 8>(self.a.val() - self.b.val()))
            ^ (self.w.val() + (self.x.val() & 0xff) - 1);
    }
}

drive!(Kernels: a, b, n, w, x, l, f, g, s, t);

#[test]
fn every_kernel_behaves_as_its_export() {
    let mut rng = Rng::for_test("every_kernel_behaves_as_its_export");
    with_big_stack(|| {
        let mut kernels = Kernels::default();
        let export = export(&mut kernels, "kernels").unwrap();
        let mut vectors = random_vectors(&mut rng, &export, 2000);
        // Both bytes in full, with everything else at random.
        for a in 0..=255u8 {
            for b in [0u8, 1, 0x55, 0x7f, 0x80, 0xfe, 0xff, a, a.wrapping_add(1), a.wrapping_sub(128)] {
                let mut vector: Vec<BigUint> = [8, 8, 3, 16, 16, 70, 1, 1, 12, 12]
                    .iter()
                    .map(|width| corner_or_random(&mut rng, *width))
                    .collect();
                vector[0] = BigUint::from(a);
                vector[1] = BigUint::from(b);
                vectors.push(vector);
            }
        }
        agree(&mut kernels, &export, &vectors);
    });
}
