//! Values whose width may still be open: integer literals and loop variables.

use super::expr::{Expr, Kind, Op, Refusal};
use num_bigint::{BigInt, Sign};
use rust_hdl::core::ast::{VerilogExpression, VerilogOp, VerilogOpUnary};
use rust_hdl::prelude::{TypeDescriptor, TypeKind};

#[derive(Clone, Debug)]
pub(super) enum Value {
    /// An integer known now; its neighbour gives it a width.
    Integer(BigInt),
    Sized {
        expr: Expr,
        signed: bool,
        /// A whole struct: Rust may order it otherwise than a bit vector.
        opaque: bool,
    },
}

impl Value {
    pub(super) fn unsigned(expr: Expr) -> Self {
        Self::Sized { expr, signed: false, opaque: false }
    }

    pub(super) fn of_shape(expr: Expr, shape: Option<&TypeDescriptor>) -> Self {
        let kind = shape.map(|shape| &shape.kind);
        Self::Sized {
            expr,
            signed: matches!(kind, Some(TypeKind::Signed(_))),
            opaque: matches!(kind, Some(TypeKind::Composite(_))),
        }
    }

    pub(super) fn sized(self, width: usize, signed: bool) -> Result<Expr, Refusal> {
        match self {
            Self::Integer(number) => Expr::literal(&number, width, signed),
            Self::Sized { expr, .. } => Ok(expr),
        }
    }

    pub(super) fn into_signed(self) -> Result<Self, Refusal> {
        match self {
            Self::Sized { signed: true, .. } => {
                Err(Refusal::Meaning("`signed_bit_cast` loses its width on the way; extend the bits by hand"))
            }
            Self::Sized { expr, .. } => Ok(Self::Sized { expr, signed: true, opaque: false }),
            Self::Integer(_) => Ok(self),
        }
    }

    pub(super) fn into_unsigned(self) -> Result<Self, Refusal> {
        match self {
            Self::Sized { expr, .. } => Ok(Self::Sized { expr, signed: false, opaque: false }),
            Self::Integer(number) => Err(Refusal::NoWidth(number)),
        }
    }

    pub(super) fn unary(self, op: &VerilogOpUnary) -> Result<Self, Refusal> {
        let reduction = match op {
            VerilogOpUnary::Neg => return -self,
            VerilogOpUnary::Not => None,
            VerilogOpUnary::All => Some('&'),
            VerilogOpUnary::Any => Some('|'),
            VerilogOpUnary::Xor => Some('^'),
        };
        let expr = match self {
            Self::Sized { signed: true, .. } => {
                return Err(Refusal::Meaning("a bitwise operator on a signed value"));
            }
            Self::Sized { opaque: true, .. } => {
                return Err(Refusal::Meaning("an operator on a whole struct; use its fields"));
            }
            Self::Sized { expr, .. } => expr,
            Self::Integer(number) => return Err(Refusal::NoWidth(number)),
        };
        let expr = match reduction {
            None => Expr { width: expr.width, kind: Kind::Not(expr.into()) },
            Some(_) if expr.width == 1 => expr,
            Some(symbol) => Expr { width: 1, kind: Kind::Reduce(symbol, expr.into()) },
        };
        Ok(Self::Sized { expr, signed: false, opaque: false })
    }

    pub(super) fn binary(op: &VerilogOp, l: Self, r: Self) -> Result<Self, Refusal> {
        let plain = |expr| Ok(Self::unsigned(expr));
        let (l, r) = match (l, r) {
            (Self::Integer(a), Self::Integer(b)) => return fold(op, &a, &b),
            // Rust shifts a bare integer as 64 bits.
            (Self::Integer(a), r) if is_shift(op) => {
                let expr = Expr::literal(&a, 64, false)?;
                (Self::Sized { expr, signed: false, opaque: false }, r)
            }
            (Self::Sized { expr, signed, .. }, Self::Integer(b)) if is_shift(op) => {
                if signed || b.sign() == Sign::Minus {
                    return Err(Refusal::Meaning("a shift of or by a signed value"));
                }
                let width = usize::try_from(b.bits()).unwrap_or(usize::MAX).max(1);
                let amount = Expr::constant(b.magnitude().clone(), width);
                return plain(Expr::binary(translate(op, false)?, expr, amount)?);
            }
            (Self::Integer(a), Self::Sized { expr, signed, opaque }) => {
                let a = Expr::literal(&a, expr.width, signed)?;
                (Self::Sized { expr: a, signed, opaque }, Self::Sized { expr, signed, opaque })
            }
            (Self::Sized { expr, signed, opaque }, Self::Integer(b)) => {
                let b = Expr::literal(&b, expr.width, signed)?;
                (Self::Sized { expr, signed, opaque }, Self::Sized { expr: b, signed, opaque })
            }
            both => both,
        };
        let (Self::Sized { expr: l, signed, opaque }, Self::Sized { expr: r, signed: other, .. }) = (l, r)
        else {
            return Err(Refusal::Meaning("an operator between two integers"));
        };
        if is_shift(op) {
            if signed || other {
                return Err(Refusal::Meaning("a shift of or by a signed value"));
            }
            return plain(Expr::binary(translate(op, false)?, l, r)?);
        }
        if signed != other {
            return Err(Refusal::Meaning("a signed operand beside an unsigned one"));
        }
        let translated = translate(op, signed)?;
        if opaque && !matches!(translated, Op::Eq | Op::Ne) {
            return Err(Refusal::Meaning(
                "an order between structs or an operator of their own; use their fields",
            ));
        }
        match translated {
            // `Bits + bool` is the one operator with unequal operands.
            Op::Add if r.width == 1 && l.width > 1 && !signed => {
                let r = r.zero_extend(l.width);
                plain(Expr::binary(Op::Add, l, r)?)
            }
            Op::Add | Op::Sub | Op::Mul => {
                Ok(Self::Sized { expr: Expr::binary(translated, l, r)?, signed, opaque: false })
            }
            Op::LogicalAnd | Op::LogicalOr if l.width != 1 => {
                Err(Refusal::WidthMismatch { left: l.width, right: 1 })
            }
            _ => plain(Expr::binary(translated, l, r)?),
        }
    }
}

impl std::ops::Neg for Value {
    type Output = Result<Value, Refusal>;

    fn neg(self) -> Self::Output {
        match self {
            Self::Integer(number) => Ok(Self::Integer(match number.sign() {
                Sign::NoSign => number,
                _ => -number,
            })),
            Self::Sized { expr, signed: true, opaque } => Ok(Self::Sized {
                expr: Expr { width: expr.width, kind: Kind::Neg(expr.into()) },
                signed: true,
                opaque,
            }),
            Self::Sized { .. } => Err(Refusal::Meaning("`-` of an unsigned value")),
        }
    }
}

fn is_shift(op: &VerilogOp) -> bool {
    matches!(op, VerilogOp::Shl | VerilogOp::Shr)
}

fn translate(op: &VerilogOp, signed: bool) -> Result<Op, Refusal> {
    Ok(match (op, signed) {
        (VerilogOp::Add, _) => Op::Add,
        (VerilogOp::Sub, _) => Op::Sub,
        (VerilogOp::Mul, _) => Op::Mul,
        (VerilogOp::Eq, _) => Op::Eq,
        (VerilogOp::Ne, _) => Op::Ne,
        (VerilogOp::Lt, true) => Op::SignedLt,
        (VerilogOp::Le, true) => Op::SignedLe,
        (VerilogOp::Gt, true) => Op::SignedGt,
        (VerilogOp::Ge, true) => Op::SignedGe,
        (_, true) => return Err(Refusal::Meaning("a bitwise operator on a signed value")),
        (VerilogOp::LogicalAnd, _) => Op::LogicalAnd,
        (VerilogOp::LogicalOr, _) => Op::LogicalOr,
        (VerilogOp::BitXor, _) => Op::Xor,
        (VerilogOp::BitAnd, _) => Op::And,
        (VerilogOp::BitOr, _) => Op::Or,
        (VerilogOp::Shl, _) => Op::Shl,
        (VerilogOp::Shr, _) => Op::Shr,
        (VerilogOp::Lt, _) => Op::Lt,
        (VerilogOp::Le, _) => Op::Le,
        (VerilogOp::Gt, _) => Op::Gt,
        (VerilogOp::Ge, _) => Op::Ge,
    })
}

/// Arithmetic on literals and loop variables, as Rust's `usize` does it.
fn fold(op: &VerilogOp, a: &BigInt, b: &BigInt) -> Result<Value, Refusal> {
    let truth = |value| Ok(Value::Sized { expr: Expr::bit(value), signed: false, opaque: false });
    let shift = || u32::try_from(b).map_err(|_| Refusal::Meaning("a shift by far too much"));
    let number = match op {
        VerilogOp::Add => a + b,
        VerilogOp::Sub => a - b,
        VerilogOp::Mul => a * b,
        VerilogOp::BitXor => a ^ b,
        VerilogOp::BitAnd => a & b,
        VerilogOp::BitOr => a | b,
        VerilogOp::Shl => a << shift()?,
        VerilogOp::Shr => a >> shift()?,
        VerilogOp::Eq => return truth(a == b),
        VerilogOp::Ne => return truth(a != b),
        VerilogOp::Lt => return truth(a < b),
        VerilogOp::Le => return truth(a <= b),
        VerilogOp::Gt => return truth(a > b),
        VerilogOp::Ge => return truth(a >= b),
        VerilogOp::LogicalAnd | VerilogOp::LogicalOr => {
            return Err(Refusal::Meaning("`&&` or `||` between integers"));
        }
    };
    Ok(Value::Integer(number))
}

/// True for an index expression whose arithmetic may have been done on `Bits`
/// (and wrapped) or, after `.index()`, on `usize` (and not).
pub(super) fn index_is_undecided(index: &VerilogExpression) -> bool {
    match index {
        VerilogExpression::Paren(inner) => index_is_undecided(inner),
        VerilogExpression::Unary(..) => true,
        VerilogExpression::Binary(..) => true,
        _ => false,
    }
}
