//! Random expressions as a proptest strategy.
//!
//! A well-typed expression needs operands of widths that follow from its own,
//! which a recursive strategy cannot give. So the strategy makes recipes that
//! know nothing of widths, and [`Recipe::tree`] reads any recipe as an
//! expression of any width. Whatever proptest simplifies a recipe to is still
//! an expression.

use crate::tree::{Source, Tree};
use crate::values::{Arithmetic, Order, WIDTHS};
use proptest::prelude::*;

#[derive(Clone, Debug)]
pub enum Recipe {
    /// One of the signals that have the width.
    Read(u8),
    /// An operation, a width other than its own where it needs one, the small
    /// choices it leaves open, and its operands.
    Node { operation: u8, other: usize, choices: u64, operands: Box<[Recipe; 3]> },
}

const OPERATIONS: u8 = 14;
const ARITHMETIC: [Arithmetic; 5] =
    [Arithmetic::Add, Arithmetic::Sub, Arithmetic::And, Arithmetic::Or, Arithmetic::Xor];
const ORDERS: [Order; 6] = [Order::Eq, Order::Ne, Order::Lt, Order::Le, Order::Gt, Order::Ge];

/// Recipes of up to `depth` operations above each other.
pub fn recipes(depth: u32) -> BoxedStrategy<Recipe> {
    any::<u8>()
        .prop_map(Recipe::Read)
        .prop_recursive(depth, 48, 3, |operand| {
            (0..OPERATIONS, 0..WIDTHS.len(), any::<u64>(), prop::array::uniform3(operand)).prop_map(
                |(operation, other, choices, operands)| Recipe::Node {
                    operation,
                    other,
                    choices,
                    operands: Box::new(operands),
                },
            )
        })
        .boxed()
}

/// A width and the recipe of an expression that has it.
pub fn expressions(depth: u32) -> impl Strategy<Value = (usize, Recipe)> {
    (prop::sample::select(WIDTHS.as_slice()), recipes(depth))
}

/// Draws several choices from one number.
struct Choices(u64);

impl Choices {
    fn below(&mut self, bound: usize) -> usize {
        let drawn = self.0 % bound as u64;
        self.0 /= bound as u64;
        drawn as usize
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    fn coin(&mut self) -> bool {
        self.below(2) == 1
    }
}

/// Bits of an index that cannot leave a value of `width` bits.
fn safe_index_width(width: usize) -> Option<usize> {
    [1, 2, 3, 4, 5, 7].into_iter().rfind(|bits| (1 << bits) <= width)
}

impl Recipe {
    /// The expression of `width` bits over `sources`.
    pub fn tree(&self, sources: &[Source], width: usize) -> Tree {
        match self {
            Recipe::Read(number) => {
                let having = |test: &dyn Fn(usize) -> bool| -> Vec<usize> {
                    (0..sources.len()).filter(|at| test(sources[*at].width)).collect()
                };
                let fitting = having(&|of| of == width);
                match fitting[..] {
                    [] => {
                        let any = having(&|of| of > 0);
                        Tree::Cast(width, Tree::Read(any[usize::from(*number) % any.len()]).into())
                    }
                    _ => Tree::Read(fitting[usize::from(*number) % fitting.len()]),
                }
            }
            Recipe::Node { operation, other, choices, operands } => {
                let operand = |at: usize, width| Box::new(operands[at].tree(sources, width));
                let (mut choices, other) = (Choices(*choices), WIDTHS[*other]);
                if width == 1 && choices.below(10) < 7 {
                    flag(*operation, other, &mut choices, &operand)
                } else {
                    node(*operation, width, other, &mut choices, &operand)
                }
            }
        }
    }
}

type Operand<'a> = &'a dyn Fn(usize, usize) -> Box<Tree>;

fn node(operation: u8, width: usize, other: usize, choices: &mut Choices, operand: Operand) -> Tree {
    // An index that stays inside a value of `of` bits, cut from an operand.
    let index = |of| Tree::Cast(safe_index_width(of).expect("two bits or more"), operand(1, other)).into();
    match operation {
        0..=2 => Tree::Arithmetic(choices.pick(&ARITHMETIC), operand(0, width), operand(1, width)),
        3 => {
            let (op, first) = (choices.pick(&ARITHMETIC), choices.coin());
            let bits = width.min(64);
            let literal = choices.0 & (u64::MAX >> (64 - bits));
            Tree::WithLiteral(op, operand(0, width), literal, first)
        }
        4 => Tree::AddFlag(operand(0, width), operand(1, 1)),
        5 if width > 1 => {
            let op = choices.pick(&[Arithmetic::Add, Arithmetic::Sub, Arithmetic::Xor]);
            Tree::SignedArithmetic(op, operand(0, width), operand(1, width))
        }
        6 => Tree::ShiftLiteral(choices.coin(), operand(0, width), choices.below(width + 2) as u64),
        7 => {
            let amount = choices.pick(&[1, 2, 3, 4, 5, 7, 8, 9]);
            Tree::Shift(choices.coin(), operand(0, width), operand(1, amount))
        }
        8 => Tree::Invert(operand(0, width)),
        9 => Tree::ReplaceBit(operand(0, width), choices.below(width), operand(1, 1)),
        10 if width > 1 => Tree::ReplaceBitAt(operand(0, width), index(width), operand(2, 1)),
        11 => {
            let wider: Vec<usize> = WIDTHS.into_iter().filter(|of| *of >= width).collect();
            let of = choices.pick(&wider);
            Tree::GetBits(width, operand(0, of), choices.below(of - width + 1))
        }
        12 => {
            let of = choices.pick(&WIDTHS).max(2);
            Tree::GetBitsAt(width, operand(0, of), index(of))
        }
        _ if width == 32 => Tree::Multiply(choices.coin(), operand(0, 16), operand(1, 16)),
        _ => Tree::Cast(width, operand(0, other)),
    }
}

/// A node of one bit that looks at wider ones.
fn flag(operation: u8, other: usize, choices: &mut Choices, operand: Operand) -> Tree {
    match operation {
        0..=5 => {
            let (order, signed) = (choices.pick(&ORDERS), choices.below(3) == 0);
            Tree::Compare(order, signed, operand(0, other), operand(1, other))
        }
        6..=8 => Tree::Logical(choices.coin(), operand(0, 1), operand(1, 1)),
        9..=10 => Tree::Reduce(choices.pick(&['&', '|', '^']), operand(0, other)),
        11 => Tree::GetBit(operand(0, other), choices.below(other)),
        _ => match safe_index_width(other) {
            Some(index) => {
                Tree::GetBitAt(operand(0, other), Tree::Cast(index, operand(1, choices.pick(&WIDTHS))).into())
            }
            None => Tree::GetBit(operand(0, other), choices.below(other)),
        },
    }
}
