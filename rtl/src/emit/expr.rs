//! Sized expressions.
//!
//! Every node knows its width, and the constructors accept only operands whose
//! widths make Verilog compute exactly what Rust computed:
//!
//! - operands of arithmetic, bitwise and comparison operators are equally
//!   wide, so Verilog's widening to the context never changes a result;
//! - everything that makes an operand wider or narrower is a concatenation or
//!   a slice, both self-determined in Verilog;
//! - a slice of something that is not a plain net is pushed down to the nets
//!   where that is an identity; where it is not, the caller lands the
//!   expression in a temporary.

use num_bigint::{BigInt, BigUint, Sign};
use std::fmt;

/// Index of a net in its module.
pub(super) type NetId = usize;
/// Index of a localparam in its module.
pub(super) type ParamId = usize;

/// Why an expression has no faithful Verilog.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// Operands of an operator, or the two sides of an assignment.
    WidthMismatch {
        /// Bits on the left.
        left: usize,
        /// Bits on the right.
        right: usize,
    },
    /// An integer literal does not fit the width of what it meets.
    LiteralTooWide {
        /// The literal.
        value: BigInt,
        /// Bits it has to fit.
        width: usize,
    },
    /// A literal with nothing beside it that gives it a width.
    NoWidth(BigInt),
    /// A constant index or slice past the end.
    OutOfRange {
        /// First bit asked for.
        lsb: usize,
        /// Number of bits asked for.
        width: usize,
        /// Bits there are.
        of: usize,
    },
    /// An operator on a type for which it has no or another meaning.
    Meaning(&'static str),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WidthMismatch { left, right } => {
                write!(f, "{left} bits on the left meet {right} bits on the right")
            }
            Self::LiteralTooWide { value, width } => {
                write!(f, "the literal {value:#x} does not fit {width} bits")
            }
            Self::NoWidth(value) => {
                write!(f, "nothing gives the literal {value} a width; use `bits::<N>(..)`")
            }
            Self::OutOfRange { lsb, width, of } => {
                write!(f, "bits {lsb} to {} of a value of {of} bits", lsb + width - 1)
            }
            Self::Meaning(why) => f.write_str(why),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Add,
    Sub,
    Mul,
    And,
    Or,
    Xor,
    LogicalAnd,
    LogicalOr,
    Shl,
    Shr,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    SignedLt,
    SignedLe,
    SignedGt,
    SignedGe,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Expr {
    pub(super) width: usize,
    pub(super) kind: Kind,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    Const(BigUint),
    /// A whole localparam.
    Param(ParamId),
    /// `width` bits of a net from `lsb` on.
    Net {
        net: NetId,
        lsb: usize,
    },
    /// `net[index +: width]`; `index` has just enough bits for the net.
    Select {
        net: NetId,
        index: Box<Expr>,
    },
    /// Most significant part first.
    Concat(Vec<Expr>),
    /// The operand several times over.
    Repeat(Box<Expr>),
    Not(Box<Expr>),
    Neg(Box<Expr>),
    /// `&`, `|` or `^` over all bits.
    Reduce(char, Box<Expr>),
    Binary(Op, Box<Expr>, Box<Expr>),
}

pub(super) fn mask(width: usize) -> BigUint {
    (BigUint::from(1u8) << width) - 1u8
}

/// Bits needed to tell `count` things apart, at least one.
pub(super) fn index_width(count: usize) -> usize {
    (usize::BITS - count.saturating_sub(1).leading_zeros()).max(1) as usize
}

impl Expr {
    pub(super) fn constant(value: BigUint, width: usize) -> Self {
        Self { width, kind: Kind::Const(value & mask(width)) }
    }

    pub(super) fn bit(value: bool) -> Self {
        Self::constant(BigUint::from(u8::from(value)), 1)
    }

    pub(super) fn net(net: NetId, lsb: usize, width: usize) -> Self {
        Self { width, kind: Kind::Net { net, lsb } }
    }

    pub(super) fn as_const(&self) -> Option<&BigUint> {
        match &self.kind {
            Kind::Const(value) => Some(value),
            _ => None,
        }
    }

    /// An integer literal as a value of `width` bits, refused when it does not
    /// fit: Rust panics or wraps there, and neither is meant.
    pub(super) fn literal(value: &BigInt, width: usize, signed: bool) -> Result<Self, Refusal> {
        let refused = || Refusal::LiteralTooWide { value: value.clone(), width };
        let bits = usize::try_from(value.bits()).map_err(|_| refused())?;
        if !signed {
            let fits = value.sign() != Sign::Minus && bits <= width;
            return if fits { Ok(Self::constant(value.magnitude().clone(), width)) } else { Err(refused()) };
        }
        let half = BigInt::from(1) << (width - 1);
        if *value >= half || *value < -half {
            return Err(refused());
        }
        let modulus = BigInt::from(1) << width;
        let wrapped = if value.sign() == Sign::Minus { value + modulus } else { value.clone() };
        Ok(Self::constant(wrapped.magnitude().clone(), width))
    }

    pub(super) fn concat(parts: Vec<Self>) -> Self {
        let mut flat: Vec<Self> = Vec::new();
        for part in parts {
            let pieces = match part.kind {
                Kind::Concat(inner) => inner,
                _ => vec![part],
            };
            for piece in pieces {
                let merged = flat.last().and_then(|last| join(last, &piece));
                match merged {
                    Some(whole) => *flat.last_mut().expect("merged with it") = whole,
                    None => flat.push(piece),
                }
            }
        }
        if flat.len() == 1 {
            return flat.swap_remove(0);
        }
        let width = flat.iter().map(|part| part.width).sum();
        Self { width, kind: Kind::Concat(flat) }
    }

    pub(super) fn zero_extend(self, width: usize) -> Self {
        let missing = width - self.width;
        if missing == 0 {
            return self;
        }
        Self::concat(vec![Self::constant(BigUint::default(), missing), self])
    }

    /// `width` bits from `lsb` on without a temporary, or the expression back
    /// when only a temporary will do.
    pub(super) fn slice(self, lsb: usize, width: usize) -> Result<Self, Self> {
        if width == self.width {
            return Ok(self);
        }
        let push = |operand: &Self| operand.clone().slice(lsb, width).ok();
        let sliced = match &self.kind {
            Kind::Const(value) => Some(Self::constant(value >> lsb, width)),
            Kind::Net { net, lsb: base } => Some(Self::net(*net, base + lsb, width)),
            Kind::Concat(parts) => slice_parts(parts, lsb, width),
            Kind::Not(operand) => push(operand).map(|o| Self { width, kind: Kind::Not(o.into()) }),
            Kind::Neg(operand) if lsb == 0 => {
                push(operand).map(|o| Self { width, kind: Kind::Neg(o.into()) })
            }
            Kind::Binary(op, l, r)
                if matches!(op, Op::And | Op::Or | Op::Xor)
                    || (lsb == 0 && matches!(op, Op::Add | Op::Sub)) =>
            {
                match (push(l), push(r)) {
                    (Some(l), Some(r)) => Some(Self { width, kind: Kind::Binary(*op, l.into(), r.into()) }),
                    _ => None,
                }
            }
            Kind::Binary(op @ (Op::Shl | Op::Shr), operand, amount) => amount
                .as_const()
                .and_then(|amount| usize::try_from(amount).ok())
                .and_then(|amount| slice_shifted(*op, operand, amount, lsb, width)),
            _ => None,
        };
        sliced.ok_or(self)
    }

    pub(super) fn binary(op: Op, l: Self, r: Self) -> Result<Self, Refusal> {
        let equal = l.width == r.width;
        let width = match op {
            Op::Shl | Op::Shr => l.width,
            _ if !equal => {
                return Err(Refusal::WidthMismatch { left: l.width, right: r.width });
            }
            Op::Add | Op::Sub | Op::Mul | Op::And | Op::Or | Op::Xor => l.width,
            _ => 1,
        };
        if matches!(op, Op::Shl | Op::Shr) {
            if let Some(amount) = r.as_const() {
                if *amount >= BigUint::from(width) {
                    return Ok(Self::constant(BigUint::default(), width));
                }
                if *amount == BigUint::default() {
                    return Ok(l);
                }
            }
        }
        if let (Some(a), Some(b)) = (l.as_const(), r.as_const()) {
            if let Some(value) = folded(op, a, b, width) {
                return Ok(Self::constant(value, width));
            }
        }
        if let Some(answer) = settled_compare(op, &l, &r) {
            return Ok(Self::bit(answer));
        }
        Ok(Self { width, kind: Kind::Binary(op, l.into(), r.into()) })
    }

    /// Calls `visit(net, lsb, width)` for every bit range the value depends on;
    /// `usize::MAX` as width means the whole net.
    pub(super) fn for_each_read(&self, visit: &mut dyn FnMut(NetId, usize, usize)) {
        match &self.kind {
            Kind::Const(_) | Kind::Param(_) => {}
            Kind::Net { net, lsb } => visit(*net, *lsb, self.width),
            Kind::Select { net, index } => {
                visit(*net, 0, usize::MAX);
                index.for_each_read(visit);
            }
            Kind::Concat(parts) => parts.iter().for_each(|part| part.for_each_read(visit)),
            Kind::Repeat(e) | Kind::Not(e) | Kind::Neg(e) | Kind::Reduce(_, e) => {
                e.for_each_read(visit);
            }
            Kind::Binary(_, l, r) => {
                l.for_each_read(visit);
                r.for_each_read(visit);
            }
        }
    }

    pub(super) fn for_each_param(&self, visit: &mut dyn FnMut(ParamId)) {
        match &self.kind {
            Kind::Const(_) | Kind::Net { .. } => {}
            Kind::Param(param) => visit(*param),
            Kind::Select { index, .. } => index.for_each_param(visit),
            Kind::Concat(parts) => parts.iter().for_each(|part| part.for_each_param(visit)),
            Kind::Repeat(e) | Kind::Not(e) | Kind::Neg(e) | Kind::Reduce(_, e) => {
                e.for_each_param(visit);
            }
            Kind::Binary(_, l, r) => {
                l.for_each_param(visit);
                r.for_each_param(visit);
            }
        }
    }
}

/// Two neighbours of a concatenation as one part, when they are constants or
/// adjoining bits of one net.
fn join(high: &Expr, low: &Expr) -> Option<Expr> {
    let width = high.width + low.width;
    match (&high.kind, &low.kind) {
        (Kind::Const(h), Kind::Const(l)) => Some(Expr::constant((h << low.width) | l, width)),
        (Kind::Net { net: a, lsb: h }, Kind::Net { net: b, lsb: l }) if a == b && l + low.width == *h => {
            Some(Expr::net(*a, *l, width))
        }
        _ => None,
    }
}

fn slice_parts(parts: &[Expr], lsb: usize, width: usize) -> Option<Expr> {
    let mut chosen = Vec::new();
    let mut base = 0;
    for part in parts.iter().rev() {
        let (from, to) = (lsb.max(base), (lsb + width).min(base + part.width));
        if from < to {
            chosen.push(part.clone().slice(from - base, to - from).ok()?);
        }
        base += part.width;
    }
    chosen.reverse();
    Some(Expr::concat(chosen))
}

/// Bits of `operand << amount` or `operand >> amount`, the shifted-in zeros
/// included.
fn slice_shifted(op: Op, operand: &Expr, amount: usize, lsb: usize, width: usize) -> Option<Expr> {
    let zeros = |n| Expr::constant(BigUint::default(), n);
    // Position of the result's bit 0 within the operand, which may lie outside.
    let start = match op {
        Op::Shl => i64::try_from(lsb).ok()? - i64::try_from(amount).ok()?,
        _ => i64::try_from(lsb + amount).ok()?,
    };
    let end = start + i64::try_from(width).ok()?;
    let of = i64::try_from(operand.width).ok()?;
    let (from, to) = (start.clamp(0, of), end.clamp(0, of));
    let count = |n: i64| usize::try_from(n).ok();
    let mut parts = Vec::new();
    if end > to {
        parts.push(zeros(count(end - to.max(start))?));
    }
    if to > from {
        parts.push(operand.clone().slice(count(from)?, count(to - from)?).ok()?);
    }
    if from > start {
        parts.push(zeros(count(from.min(end) - start)?));
    }
    Some(Expr::concat(parts))
}

/// Arithmetic on two constants: unrolled loops leave some behind.
fn folded(op: Op, a: &BigUint, b: &BigUint, width: usize) -> Option<BigUint> {
    Some(match op {
        Op::Add => a + b,
        Op::Sub => a + (mask(width) - b) + 1u8,
        Op::And | Op::LogicalAnd => a & b,
        Op::Or | Op::LogicalOr => a | b,
        Op::Xor => a ^ b,
        _ => return None,
    })
}

/// Comparisons that one constant operand already decides. Tools warn about
/// them, and a kernel written for several sizes contains them.
fn settled_compare(op: Op, l: &Expr, r: &Expr) -> Option<bool> {
    if let (Some(a), Some(b)) = (l.as_const(), r.as_const()) {
        return match op {
            Op::Eq => Some(a == b),
            Op::Ne => Some(a != b),
            Op::Lt => Some(a < b),
            Op::Le => Some(a <= b),
            Op::Gt => Some(a > b),
            Op::Ge => Some(a >= b),
            _ => None,
        };
    }
    let signed = matches!(op, Op::SignedLt | Op::SignedLe | Op::SignedGt | Op::SignedGe);
    let (lowest, highest) = if signed {
        (BigUint::from(1u8) << (l.width - 1), mask(l.width - 1))
    } else {
        (BigUint::default(), mask(l.width))
    };
    let is = |e: &Expr, bound: &BigUint| e.as_const() == Some(bound);
    match op {
        Op::Lt | Op::SignedLt => (is(r, &lowest) || is(l, &highest)).then_some(false),
        Op::Ge | Op::SignedGe => (is(r, &lowest) || is(l, &highest)).then_some(true),
        Op::Gt | Op::SignedGt => (is(r, &highest) || is(l, &lowest)).then_some(false),
        Op::Le | Op::SignedLe => (is(r, &highest) || is(l, &lowest)).then_some(true),
        _ => None,
    }
}
