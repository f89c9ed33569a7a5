//! Expressions, well typed as rustc would have them.

use crate::values::*;
use num_bigint::BigUint;
use rust_hdl::core::ast::{VerilogExpression as Ast, VerilogOp, VerilogOpUnary};

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

impl Tree {
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
