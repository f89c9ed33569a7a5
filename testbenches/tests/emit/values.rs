//! rust-hdl's arithmetic on widths chosen at run time.
//!
//! `Bits<N>` wants its width at compile time; these functions pick the
//! instance that belongs to a width, so that random expressions are evaluated
//! by the very operators kernels use.

use num_bigint::BigUint;
use tessera_rtl::prelude::*;

/// The widths there are instances for: around every limit of the
/// representations on both sides (32 for rust-hdl; 8, 16, 32, 64 and every
/// multiple of 32 for Verilator).
pub const WIDTHS: [usize; 24] =
    [1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 33, 48, 63, 64, 65, 96, 127, 128, 130];

/// Runs `$body` with `$n` as the constant that equals `$width`.
macro_rules! at_width {
    ($width:expr, $n:ident => $body:expr) => {
        at_width!(@ $width, $n, $body;
            1 2 3 4 5 7 8 9 12 15 16 17 24 31 32 33 48 63 64 65 96 127 128 130)
    };
    (@ $width:expr, $n:ident, $body:expr; $($w:literal)*) => {
        match $width {
            $($w => { const $n: usize = $w; $body })*
            other => panic!("no instance for {other} bits"),
        }
    };
}

/// A value with its width. `bool` and `Bits<1>` are one.
#[derive(Clone, Debug, PartialEq)]
pub struct Word {
    pub bits: BigUint,
    pub width: usize,
}

impl Word {
    pub fn new(bits: BigUint, width: usize) -> Self {
        Self { bits, width }
    }

    pub fn flag(value: bool) -> Self {
        Self::new(BigUint::from(u8::from(value)), 1)
    }

    pub fn is_set(&self) -> bool {
        self.bits.bit(0)
    }

    fn get<const N: usize>(&self) -> Bits<N> {
        assert_eq!(self.width, N, "the width was looked up for this value");
        self.bits.clone().into()
    }

    fn of<const N: usize>(value: Bits<N>) -> Self {
        Self::new(value.into(), N)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arithmetic {
    Add,
    Sub,
    And,
    Or,
    Xor,
}

pub fn arithmetic(op: Arithmetic, l: &Word, r: &Word) -> Word {
    at_width!(l.width, N => {
        let (l, r): (Bits<N>, Bits<N>) = (l.get(), r.get());
        Word::of(match op {
            Arithmetic::Add => l + r,
            Arithmetic::Sub => l - r,
            Arithmetic::And => l & r,
            Arithmetic::Or => l | r,
            Arithmetic::Xor => l ^ r,
        })
    })
}

/// `Bits` with an integer literal, through rust-hdl's own conversion.
pub fn with_literal(op: Arithmetic, l: &Word, literal: u64, literal_first: bool) -> Word {
    at_width!(l.width, N => {
        let l: Bits<N> = l.get();
        Word::of(match (op, literal_first) {
            (Arithmetic::Add, false) => l + literal,
            (Arithmetic::Sub, false) => l - literal,
            (Arithmetic::And, false) => l & literal,
            (Arithmetic::Or, false) => l | literal,
            (Arithmetic::Xor, false) => l ^ literal,
            (Arithmetic::Add, true) => literal + l,
            (Arithmetic::Sub, true) => literal - l,
            (Arithmetic::And, true) => literal & l,
            (Arithmetic::Or, true) => literal | l,
            (Arithmetic::Xor, true) => literal ^ l,
        })
    })
}

pub fn add_flag(l: &Word, r: &Word) -> Word {
    at_width!(l.width, N => Word::of(l.get::<N>() + r.is_set()))
}

/// Signed sum, difference or negation of the right operand.
pub fn signed_arithmetic(op: Arithmetic, l: &Word, r: &Word) -> Word {
    at_width!(l.width, N => {
        let (l, r): (Signed<N>, Signed<N>) = (signed_cast(l.get()), signed_cast(r.get()));
        Word::of(unsigned_cast(match op {
            Arithmetic::Add => l + r,
            Arithmetic::Sub => l - r,
            _ => -r,
        }))
    })
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Order {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

fn ordered<T: PartialOrd>(order: Order, l: &T, r: &T) -> Word {
    Word::flag(match order {
        Order::Eq => l == r,
        Order::Ne => l != r,
        Order::Lt => l < r,
        Order::Le => l <= r,
        Order::Gt => l > r,
        Order::Ge => l >= r,
    })
}

pub fn compare(order: Order, l: &Word, r: &Word, signed: bool) -> Word {
    at_width!(l.width, N => {
        if signed {
            let (l, r): (Signed<N>, Signed<N>) = (signed_cast(l.get()), signed_cast(r.get()));
            ordered(order, &l, &r)
        } else {
            ordered(order, &l.get::<N>(), &r.get::<N>())
        }
    })
}

/// The amount may come from `Bits` of any width; rust-hdl converts it to u64.
pub fn shift(left: bool, value: &Word, amount: u64) -> Word {
    at_width!(value.width, N => {
        let value: Bits<N> = value.get();
        Word::of(if left { value << amount } else { value >> amount })
    })
}

pub fn invert(value: &Word) -> Word {
    at_width!(value.width, N => Word::of(!value.get::<N>()))
}

/// `all`, `any` or `xor`, by the symbol Verilog has for it.
pub fn reduce(symbol: char, value: &Word) -> Word {
    at_width!(value.width, N => {
        let value: Bits<N> = value.get();
        Word::flag(match symbol {
            '&' => value.all(),
            '|' => value.any(),
            _ => value.xor(),
        })
    })
}

pub fn get_bit(value: &Word, index: usize) -> Word {
    at_width!(value.width, N => Word::flag(value.get::<N>().get_bit(index)))
}

pub fn replace_bit(value: &Word, index: usize, bit: &Word) -> Word {
    at_width!(value.width, N => Word::of(value.get::<N>().replace_bit(index, bit.is_set())))
}

pub fn cast(value: &Word, width: usize) -> Word {
    at_width!(value.width, N => {
        let value: Bits<N> = value.get();
        at_width!(width, M => Word::of(bit_cast::<M, N>(value)))
    })
}

pub fn get_bits(value: &Word, width: usize, offset: usize) -> Word {
    at_width!(value.width, N => {
        let value: Bits<N> = value.get();
        at_width!(width, M => Word::of(value.get_bits::<M>(offset)))
    })
}

pub fn multiply(l: &Word, r: &Word) -> Word {
    Word::of(l.get::<16>() * r.get::<16>())
}

pub fn multiply_signed(l: &Word, r: &Word) -> Word {
    let (l, r): (Signed<16>, Signed<16>) = (signed_cast(l.get()), signed_cast(r.get()));
    Word::of(unsigned_cast(l * r))
}
