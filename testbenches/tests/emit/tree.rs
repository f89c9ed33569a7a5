//! Random expressions, well typed as rustc would have them.

use crate::values::*;
use num_bigint::BigUint;
use rust_hdl::core::ast::{VerilogExpression as Ast, VerilogOp, VerilogOpUnary};
use tessera_sim::tb::Rng;

/// A signal a tree may read.
#[derive(Clone, Debug)]
pub struct Source {
    pub name: String,
    pub width: usize,
}

/// An expression over `Bits`; where it passes through `Signed`, the casts are
/// part of the node.
#[derive(Clone, Debug)]
pub enum Tree {
    Read(usize),
    Arithmetic(Arithmetic, Box<Tree>, Box<Tree>),
    WithLiteral(Arithmetic, Box<Tree>, u64, bool),
    AddFlag(Box<Tree>, Box<Tree>),
    SignedArithmetic(Arithmetic, Box<Tree>, Box<Tree>),
    Compare(Order, bool, Box<Tree>, Box<Tree>),
    Logical(bool, Box<Tree>, Box<Tree>),
    ShiftLiteral(bool, Box<Tree>, u64),
    Shift(bool, Box<Tree>, Box<Tree>),
    Invert(Box<Tree>),
    Reduce(char, Box<Tree>),
    GetBit(Box<Tree>, usize),
    GetBitAt(Box<Tree>, Box<Tree>),
    ReplaceBit(Box<Tree>, usize, Box<Tree>),
    ReplaceBitAt(Box<Tree>, Box<Tree>, Box<Tree>),
    Cast(usize, Box<Tree>),
    GetBits(usize, Box<Tree>, usize),
    GetBitsAt(usize, Box<Tree>, Box<Tree>),
    Multiply(bool, Box<Tree>, Box<Tree>),
}

const ARITHMETIC: [Arithmetic; 5] =
    [Arithmetic::Add, Arithmetic::Sub, Arithmetic::And, Arithmetic::Or, Arithmetic::Xor];
const ORDERS: [Order; 6] = [Order::Eq, Order::Ne, Order::Lt, Order::Le, Order::Gt, Order::Ge];

/// Bits of an index that cannot leave a value of `width` bits.
fn safe_index_width(width: usize) -> Option<usize> {
    [1, 2, 3, 4, 5, 7].into_iter().rfind(|bits| (1 << bits) <= width)
}

impl Tree {
    /// A tree of exactly `width` bits.
    pub fn random(rng: &mut Rng, sources: &[Source], width: usize, depth: usize) -> Tree {
        let fitting: Vec<usize> = (0..sources.len()).filter(|at| sources[*at].width == width).collect();
        if depth == 0 || rng.chance(0.12) {
            if !fitting.is_empty() && (depth == 0 || rng.chance(0.7)) {
                return Tree::Read(*rng.pick(&fitting));
            }
            if depth == 0 {
                let known: Vec<usize> = (0..sources.len()).filter(|at| sources[*at].width > 0).collect();
                return Tree::Cast(width, Tree::Read(*rng.pick(&known)).into());
            }
        }
        let other = *rng.pick(&WIDTHS);
        let child = |rng: &mut Rng, width| Box::new(Tree::random(rng, sources, width, depth - 1));
        if width == 1 && rng.chance(0.7) {
            return Self::random_flag(rng, sources, depth);
        }
        match rng.below(14) {
            0..=2 => {
                let op = *rng.pick(&ARITHMETIC);
                Tree::Arithmetic(op, child(rng, width), child(rng, width))
            }
            3 => {
                let literal = rng.bits(width.min(64)) >> rng.below(width.min(64) as u64);
                let op = *rng.pick(&ARITHMETIC);
                Tree::WithLiteral(op, child(rng, width), literal, rng.chance(0.3))
            }
            4 => Tree::AddFlag(child(rng, width), child(rng, 1)),
            5 if width > 1 => {
                let op = *rng.pick(&[Arithmetic::Add, Arithmetic::Sub, Arithmetic::Xor]);
                Tree::SignedArithmetic(op, child(rng, width), child(rng, width))
            }
            6 => {
                let amount = rng.below(width as u64 + 2);
                Tree::ShiftLiteral(rng.chance(0.5), child(rng, width), amount)
            }
            7 => {
                let amount = *rng.pick(&[1, 2, 3, 4, 5, 7, 8, 9]);
                Tree::Shift(rng.chance(0.5), child(rng, width), child(rng, amount))
            }
            8 => Tree::Invert(child(rng, width)),
            9 => {
                let bit = rng.below(width as u64) as usize;
                Tree::ReplaceBit(child(rng, width), bit, child(rng, 1))
            }
            10 if width > 1 => {
                let index = safe_index_width(width).expect("two bits or more");
                let index = Box::new(Tree::Cast(index, child(rng, other)));
                Tree::ReplaceBitAt(child(rng, width), index, child(rng, 1))
            }
            11 => {
                let wider: Vec<usize> = WIDTHS.into_iter().filter(|w| *w >= width).collect();
                let of = *rng.pick(&wider);
                let offset = rng.below((of - width) as u64 + 1) as usize;
                Tree::GetBits(width, child(rng, of), offset)
            }
            12 => {
                let of = (*rng.pick(&WIDTHS)).max(2);
                let index = safe_index_width(of).expect("two bits or more");
                let index = Box::new(Tree::Cast(index, child(rng, other)));
                Tree::GetBitsAt(width, child(rng, of), index)
            }
            _ if width == 32 => Tree::Multiply(rng.chance(0.5), child(rng, 16), child(rng, 16)),
            _ => Tree::Cast(width, child(rng, other)),
        }
    }

    fn random_flag(rng: &mut Rng, sources: &[Source], depth: usize) -> Tree {
        let child = |rng: &mut Rng, width| Box::new(Tree::random(rng, sources, width, depth - 1));
        let (width, other) = (*rng.pick(&WIDTHS), *rng.pick(&WIDTHS));
        match rng.below(5) {
            0 | 1 => {
                let order = *rng.pick(&ORDERS);
                Tree::Compare(order, rng.chance(0.3), child(rng, width), child(rng, width))
            }
            2 => Tree::Logical(rng.chance(0.5), child(rng, 1), child(rng, 1)),
            3 => Tree::Reduce(*rng.pick(&['&', '|', '^']), child(rng, width)),
            _ => match safe_index_width(width) {
                Some(index) if rng.chance(0.6) => {
                    let index = Box::new(Tree::Cast(index, child(rng, other)));
                    Tree::GetBitAt(child(rng, width), index)
                }
                _ => Tree::GetBit(child(rng, width), rng.below(width as u64) as usize),
            },
        }
    }

    pub fn evaluate(&self, env: &[Word]) -> Word {
        let at = |index: &Tree| index.evaluate(env).bits.try_into().expect("a small index");
        match self {
            Tree::Read(source) => env[*source].clone(),
            Tree::Arithmetic(op, l, r) => arithmetic(*op, &l.evaluate(env), &r.evaluate(env)),
            Tree::WithLiteral(op, l, literal, first) => with_literal(*op, &l.evaluate(env), *literal, *first),
            Tree::AddFlag(l, r) => add_flag(&l.evaluate(env), &r.evaluate(env)),
            Tree::SignedArithmetic(op, l, r) => signed_arithmetic(*op, &l.evaluate(env), &r.evaluate(env)),
            Tree::Compare(order, signed, l, r) => {
                compare(*order, &l.evaluate(env), &r.evaluate(env), *signed)
            }
            Tree::Logical(and, l, r) => {
                let (l, r) = (l.evaluate(env).is_set(), r.evaluate(env).is_set());
                Word::flag(if *and { l && r } else { l || r })
            }
            Tree::ShiftLiteral(left, value, amount) => shift(*left, &value.evaluate(env), *amount),
            Tree::Shift(left, value, amount) => {
                let amount: usize = at(amount);
                shift(*left, &value.evaluate(env), amount as u64)
            }
            Tree::Invert(value) => invert(&value.evaluate(env)),
            Tree::Reduce(symbol, value) => reduce(*symbol, &value.evaluate(env)),
            Tree::GetBit(value, index) => get_bit(&value.evaluate(env), *index),
            Tree::GetBitAt(value, index) => get_bit(&value.evaluate(env), at(index)),
            Tree::ReplaceBit(value, index, bit) => {
                replace_bit(&value.evaluate(env), *index, &bit.evaluate(env))
            }
            Tree::ReplaceBitAt(value, index, bit) => {
                replace_bit(&value.evaluate(env), at(index), &bit.evaluate(env))
            }
            Tree::Cast(width, value) => cast(&value.evaluate(env), *width),
            Tree::GetBits(width, value, offset) => get_bits(&value.evaluate(env), *width, *offset),
            Tree::GetBitsAt(width, value, index) => get_bits(&value.evaluate(env), *width, at(index)),
            Tree::Multiply(false, l, r) => multiply(&l.evaluate(env), &r.evaluate(env)),
            Tree::Multiply(true, l, r) => multiply_signed(&l.evaluate(env), &r.evaluate(env)),
        }
    }

    /// The tree as `#[hdl_gen]` would hand it over: no parentheses beyond the
    /// structure, literals as 64 bits.
    pub fn ast(&self, sources: &[Source]) -> Ast {
        let boxed = |tree: &Tree| Box::new(tree.ast(sources));
        let signed = |tree: &Tree| Box::new(Ast::Signed(boxed(tree)));
        let binary = |l, op, r| Ast::Binary(l, op, r);
        match self {
            Tree::Read(source) => Ast::Signal(sources[*source].name.clone()),
            Tree::Arithmetic(op, l, r) => binary(boxed(l), arithmetic_op(*op), boxed(r)),
            Tree::WithLiteral(op, l, literal, false) => {
                binary(boxed(l), arithmetic_op(*op), Box::new(Ast::Literal((*literal).into())))
            }
            Tree::WithLiteral(op, l, literal, true) => {
                binary(Box::new(Ast::Literal((*literal).into())), arithmetic_op(*op), boxed(l))
            }
            Tree::AddFlag(l, r) => binary(boxed(l), VerilogOp::Add, boxed(r)),
            Tree::SignedArithmetic(op @ (Arithmetic::Add | Arithmetic::Sub), l, r) => {
                Ast::Unsigned(Box::new(binary(signed(l), arithmetic_op(*op), signed(r))))
            }
            Tree::SignedArithmetic(_, _, r) => {
                Ast::Unsigned(Box::new(Ast::Unary(VerilogOpUnary::Neg, signed(r))))
            }
            Tree::Compare(order, true, l, r) => binary(signed(l), order_op(*order), signed(r)),
            Tree::Compare(order, false, l, r) => binary(boxed(l), order_op(*order), boxed(r)),
            Tree::Logical(true, l, r) => binary(boxed(l), VerilogOp::LogicalAnd, boxed(r)),
            Tree::Logical(false, l, r) => binary(boxed(l), VerilogOp::LogicalOr, boxed(r)),
            Tree::ShiftLiteral(left, value, amount) => {
                binary(boxed(value), shift_op(*left), Box::new(Ast::Literal((*amount).into())))
            }
            Tree::Shift(left, value, amount) => binary(boxed(value), shift_op(*left), boxed(amount)),
            Tree::Invert(value) => Ast::Unary(VerilogOpUnary::Not, boxed(value)),
            Tree::Reduce(symbol, value) => {
                let op = match symbol {
                    '&' => VerilogOpUnary::All,
                    '|' => VerilogOpUnary::Any,
                    _ => VerilogOpUnary::Xor,
                };
                Ast::Unary(op, boxed(value))
            }
            Tree::GetBit(value, index) => Ast::Index(boxed(value), Box::new(Ast::Literal((*index).into()))),
            Tree::GetBitAt(value, index) => Ast::Index(boxed(value), boxed(index)),
            Tree::ReplaceBit(value, index, bit) => {
                Ast::IndexReplace(boxed(value), Box::new(Ast::Literal((*index).into())), boxed(bit))
            }
            Tree::ReplaceBitAt(value, index, bit) => {
                Ast::IndexReplace(boxed(value), boxed(index), boxed(bit))
            }
            Tree::Cast(width, value) => Ast::Cast(boxed(value), *width),
            Tree::GetBits(width, value, offset) => {
                Ast::Slice(boxed(value), *width, Box::new(Ast::Literal((*offset).into())))
            }
            Tree::GetBitsAt(width, value, index) => Ast::Slice(boxed(value), *width, boxed(index)),
            Tree::Multiply(true, l, r) => {
                Ast::Unsigned(Box::new(binary(signed(l), VerilogOp::Mul, signed(r))))
            }
            Tree::Multiply(false, l, r) => binary(boxed(l), VerilogOp::Mul, boxed(r)),
        }
    }
}

fn arithmetic_op(op: Arithmetic) -> VerilogOp {
    match op {
        Arithmetic::Add => VerilogOp::Add,
        Arithmetic::Sub => VerilogOp::Sub,
        Arithmetic::And => VerilogOp::BitAnd,
        Arithmetic::Or => VerilogOp::BitOr,
        Arithmetic::Xor => VerilogOp::BitXor,
    }
}

fn order_op(order: Order) -> VerilogOp {
    match order {
        Order::Eq => VerilogOp::Eq,
        Order::Ne => VerilogOp::Ne,
        Order::Lt => VerilogOp::Lt,
        Order::Le => VerilogOp::Le,
        Order::Gt => VerilogOp::Gt,
        Order::Ge => VerilogOp::Ge,
    }
}

fn shift_op(left: bool) -> VerilogOp {
    if left {
        VerilogOp::Shl
    } else {
        VerilogOp::Shr
    }
}

/// Zero, as the value a signal starts with.
pub fn zero(width: usize) -> Word {
    Word::new(BigUint::default(), width)
}
