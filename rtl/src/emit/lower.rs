//! From rust-hdl's kernel tree to sized statements.
//!
//! rust-hdl's tree has lost every Rust type: `.val()`, `.into()`, `.index()`
//! and widths of literals are gone, names are text. What is left decides all
//! widths nevertheless, because rustc has accepted the kernel: operands of an
//! operator are equally wide unless one is an integer literal.

use super::collect::{literal_is_bool, literal_value};
use super::design::{field_at, Design, Role, Stmt};
use super::error::EmitError;
use super::expr::{Expr, Kind, NetId, Op, Refusal};
use super::operand::{index_is_undecided, Value};
use super::resolve::Meaning;
use num_bigint::{BigInt, BigUint};
use rust_hdl::core::ast::{
    VerilogBlock, VerilogBlockOrConditional, VerilogConditional, VerilogExpression, VerilogLink, VerilogOp,
    VerilogStatement,
};

/// Fills `design.body` from the kernel.
pub(super) fn lower(design: &mut Design, kernel: &VerilogBlock) -> Result<(), EmitError> {
    let mut lowerer = Lowerer { design, loops: Vec::new(), pending: Vec::new(), subject: String::new() };
    let mut body = Vec::new();
    lowerer.block(kernel, &mut body)?;
    design.body = body;
    Ok(())
}

pub(super) struct Lowerer<'d> {
    pub(super) design: &'d mut Design,
    pub(super) loops: Vec<(String, usize)>,
    /// Temporaries the next statement needs before it.
    pub(super) pending: Vec<Stmt>,
    /// What error messages and temporaries are named after.
    pub(super) subject: String,
}

impl Lowerer<'_> {
    pub(super) fn refuse(&self, refusal: Refusal) -> EmitError {
        EmitError::Expression { path: self.design.path.clone(), signal: self.subject.clone(), refusal }
    }

    pub(super) fn unsupported(&self, construct: impl Into<String>, remedy: &str) -> EmitError {
        EmitError::Unsupported {
            path: self.design.path.clone(),
            construct: construct.into(),
            remedy: remedy.to_owned(),
        }
    }

    pub(super) fn block(&mut self, block: &VerilogBlock, out: &mut Vec<Stmt>) -> Result<(), EmitError> {
        block.iter().try_for_each(|statement| self.statement(statement, out))
    }

    fn statement(&mut self, statement: &VerilogStatement, out: &mut Vec<Stmt>) -> Result<(), EmitError> {
        match statement {
            VerilogStatement::Assignment(target, value) => self.assign(target, value, out),
            VerilogStatement::SliceAssignment { base, width, offset, replacement } => {
                self.assign_field(base, *width, offset, replacement, out)
            }
            VerilogStatement::If(conditional) => self.conditional(conditional, out),
            VerilogStatement::Match(choice) => self.choice(choice, out),
            VerilogStatement::Loop(repeat) => {
                if self.design.names_a_field(&repeat.index) {
                    return Err(EmitError::BadName {
                        path: self.design.path.clone(),
                        name: repeat.index.clone(),
                        why: "it is a loop variable and a field, which rust-hdl cannot tell apart",
                    });
                }
                for index in repeat.from.as_usize()..repeat.to.as_usize() {
                    self.loops.push((repeat.index.clone(), index));
                    self.block(&repeat.block, out)?;
                    self.loops.pop();
                }
                Ok(())
            }
            VerilogStatement::Macro(block) => self.block(block, out),
            VerilogStatement::Comment(text) => {
                out.push(Stmt::Comment(text.split_whitespace().collect::<Vec<_>>().join(" ")));
                Ok(())
            }
            VerilogStatement::Link(links) => links.iter().try_for_each(|link| self.link(link, out)),
        }
    }

    fn link(&mut self, link: &VerilogLink, out: &mut Vec<Stmt>) -> Result<(), EmitError> {
        let (details, forward) = match link {
            VerilogLink::Forward(details) => (details, true),
            VerilogLink::Backward(details) => (details, false),
            VerilogLink::Bidirectional(_) => {
                return Err(self.unsupported("a link of in-out signals", "use `In` and `Out`"));
            }
        };
        let field = details.my_name.replace('.', "$");
        let owner = format!("{}{field}", details.owner_name);
        let other = format!("{}{field}", details.other_name);
        let (target, source) = if forward { (other, owner) } else { (owner, other) };
        self.assign(&VerilogExpression::Signal(target), &VerilogExpression::Signal(source), out)
    }

    fn target(&mut self, target: &VerilogExpression) -> Result<(NetId, usize, usize), EmitError> {
        let VerilogExpression::Signal(name) = target else {
            return Err(self.unsupported("assignment to an expression", "assign `signal.next`"));
        };
        self.subject = name.trim_end_matches("$next").replace('$', ".");
        let not_assignable = |design: &Design, what| EmitError::NotAssignable {
            path: design.path.clone(),
            signal: name.trim_end_matches("$next").replace('$', "."),
            what,
        };
        match self.resolve(name, "next")? {
            Meaning::Net { net, lsb, width, .. } => match self.design.nets[net].role {
                Role::Input => Err(not_assignable(self.design, "an input")),
                Role::ChildOutput(_) => Err(not_assignable(self.design, "an instance's output")),
                _ => Ok((net, lsb, width)),
            },
            _ => Err(not_assignable(self.design, "a constant")),
        }
    }

    fn assign(
        &mut self,
        target: &VerilogExpression,
        value: &VerilogExpression,
        out: &mut Vec<Stmt>,
    ) -> Result<(), EmitError> {
        let (net, lsb, width) = self.target(target)?;
        self.assign_bits(net, lsb, width, value, out)
    }

    fn assign_field(
        &mut self,
        base: &VerilogExpression,
        width: usize,
        offset: &VerilogExpression,
        value: &VerilogExpression,
        out: &mut Vec<Stmt>,
    ) -> Result<(), EmitError> {
        let (net, lsb, of) = self.target(base)?;
        let Value::Integer(offset) = self.value(offset)? else {
            return Err(self.unsupported("assignment to a computed position", "use `replace_bit`"));
        };
        let offset = self.position(&offset, width, of)?;
        self.assign_bits(net, lsb + offset, width, value, out)
    }

    fn assign_bits(
        &mut self,
        net: NetId,
        lsb: usize,
        width: usize,
        value: &VerilogExpression,
        out: &mut Vec<Stmt>,
    ) -> Result<(), EmitError> {
        let value = self.value(value)?;
        let signed = matches!(
            self.design.nets[net].shape.as_ref().map(|shape| &shape.kind),
            Some(rust_hdl::prelude::TypeKind::Signed(_))
        );
        let value = value.sized(width, signed).map_err(|refusal| self.refuse(refusal))?;
        if value.width != width {
            return Err(self.refuse(Refusal::WidthMismatch { left: width, right: value.width }));
        }
        out.append(&mut self.pending);
        out.push(Stmt::Assign { net, lsb, value });
        Ok(())
    }

    /// A constant position, checked against the bits there are.
    fn position(&self, at: &BigInt, width: usize, of: usize) -> Result<usize, EmitError> {
        let lsb = usize::try_from(at)
            .map_err(|_| self.refuse(Refusal::Meaning("an index is negative or far too large")))?;
        if width == 0 {
            return Err(self.refuse(Refusal::Meaning("a slice of no bits")));
        }
        if lsb.saturating_add(width) > of {
            return Err(self.refuse(Refusal::OutOfRange { lsb, width, of }));
        }
        Ok(lsb)
    }

    fn conditional(
        &mut self,
        conditional: &VerilogConditional,
        out: &mut Vec<Stmt>,
    ) -> Result<(), EmitError> {
        self.subject = "if".to_owned();
        let test = self.value(&conditional.test)?;
        let test = test.sized(1, false).map_err(|refusal| self.refuse(refusal))?;
        if test.width != 1 {
            return Err(self.refuse(Refusal::WidthMismatch { left: 1, right: test.width }));
        }
        out.append(&mut self.pending);
        let mut then = Vec::new();
        self.block(&conditional.then, &mut then)?;
        let mut otherwise = Vec::new();
        match &conditional.otherwise {
            VerilogBlockOrConditional::Block(block) => self.block(block, &mut otherwise)?,
            VerilogBlockOrConditional::Conditional(next) => self.statement(next, &mut otherwise)?,
            VerilogBlockOrConditional::None => {}
        }
        match test.as_const() {
            Some(known) if *known == BigUint::default() => out.append(&mut otherwise),
            Some(_) => out.append(&mut then),
            None => out.push(Stmt::If { test, then, otherwise }),
        }
        Ok(())
    }

    pub(super) fn value(&mut self, expression: &VerilogExpression) -> Result<Value, EmitError> {
        use VerilogExpression as Ast;
        match expression {
            Ast::Paren(inner) => self.value(inner),
            Ast::Signal(name) => self.named(name),
            Ast::Literal(literal) => {
                let value = literal_value(literal);
                Ok(if literal_is_bool(literal) {
                    Value::unsigned(Expr::constant(value, 1))
                } else {
                    Value::Integer(BigInt::from(value))
                })
            }
            Ast::Cast(inner, width) => {
                let value = self.value(inner)?;
                self.cast(value, *width)
            }
            Ast::Signed(inner) => self.value(inner)?.into_signed().map_err(|refusal| self.refuse(refusal)),
            Ast::Unsigned(inner) => {
                self.value(inner)?.into_unsigned().map_err(|refusal| self.refuse(refusal))
            }
            Ast::Binary(l, op, r) => {
                let (l, r) = (self.value(l)?, self.value(r)?);
                self.binary(op, l, r)
            }
            Ast::Unary(op, inner) => self.value(inner)?.unary(op).map_err(|refusal| self.refuse(refusal)),
            Ast::Index(base, index) => self.index(base, index),
            Ast::Slice(base, width, offset) => self.slice(base, *width, offset),
            Ast::IndexReplace(base, index, bit) => self.replace_bit(base, index, bit),
        }
    }

    fn named(&mut self, name: &str) -> Result<Value, EmitError> {
        let (expr, shape) = match self.resolve(name, "val()")? {
            Meaning::Net { net, lsb, width, shape } => (Expr::net(net, lsb, width), shape),
            Meaning::Fixed { value, width, shape } => (Expr::constant(value, width), shape),
            Meaning::Label(id) => {
                let param = &self.design.params[id];
                (Expr { width: param.width, kind: Kind::Param(id) }, param.shape.clone())
            }
            Meaning::Integer(value) => return Ok(Value::Integer(BigInt::from(value))),
        };
        Ok(Value::of_shape(expr, shape.as_ref()))
    }

    fn cast(&mut self, value: Value, width: usize) -> Result<Value, EmitError> {
        if width == 0 {
            return Err(self.refuse(Refusal::Meaning("a cast to no bits")));
        }
        let expr = match value {
            Value::Integer(number) => {
                Expr::literal(&number, width, false).map_err(|refusal| self.refuse(refusal))?
            }
            Value::Sized { signed: true, .. } => {
                return Err(
                    self.refuse(Refusal::Meaning("`bit_cast` of a signed value; use `unsigned_cast` first"))
                );
            }
            Value::Sized { expr, .. } if width >= expr.width => expr.zero_extend(width),
            Value::Sized { expr, .. } => self.bits_of(expr, 0, width),
        };
        Ok(Value::unsigned(expr))
    }

    /// Bits of any expression, through a temporary where there is no other way.
    pub(super) fn bits_of(&mut self, expr: Expr, lsb: usize, width: usize) -> Expr {
        let expr = match expr.kind {
            Kind::Param(id) if width < expr.width => {
                Expr::constant(self.design.params[id].value.clone(), expr.width)
            }
            _ => expr,
        };
        expr.slice(lsb, width).unwrap_or_else(|whole| {
            let net = self.land(whole);
            Expr::net(net, lsb, width)
        })
    }

    /// Gives an expression a net of its own.
    fn land(&mut self, expr: Expr) -> NetId {
        let subject: String =
            self.subject.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let key = format!("{}_part", subject.trim_matches('_'));
        let net = self.design.add_net(key, expr.width, Role::Temporary, None);
        self.pending.push(Stmt::Assign { net, lsb: 0, value: expr });
        net
    }

    /// A net that holds exactly `expr`.
    fn whole_net(&mut self, expr: Expr) -> NetId {
        match expr.kind {
            Kind::Net { net, lsb: 0 } if self.design.nets[net].width == expr.width => net,
            _ => self.land(expr),
        }
    }

    /// `index` with exactly the bits that address `count` places.
    fn fit_index(&mut self, index: Expr, count: usize) -> Expr {
        let width = super::expr::index_width(count);
        if index.width <= width {
            index.zero_extend(width)
        } else {
            self.bits_of(index, 0, width)
        }
    }

    fn base(&mut self, base: &VerilogExpression) -> Result<(Expr, bool), EmitError> {
        match self.value(base)? {
            Value::Sized { expr, signed, .. } => Ok((expr, signed)),
            Value::Integer(number) => Err(self.refuse(Refusal::NoWidth(number))),
        }
    }

    pub(super) fn offset(&mut self, index: &VerilogExpression) -> Result<Value, EmitError> {
        let value = self.value(index)?;
        if matches!(value, Value::Sized { .. }) && index_is_undecided(index) {
            return Err(self.refuse(UNDECIDED));
        }
        Ok(value)
    }

    /// An offset into bits, known now if it is a literal or a `Constant`: a
    /// select with a constant index would widen its base for nothing.
    fn place(&mut self, index: &VerilogExpression) -> Result<Value, EmitError> {
        match self.offset(index)? {
            Value::Sized { expr: Expr { kind: Kind::Param(id), .. }, .. } => {
                Ok(Value::Integer(BigInt::from(self.design.params[id].value.clone())))
            }
            other => Ok(other),
        }
    }

    fn index(&mut self, base: &VerilogExpression, index: &VerilogExpression) -> Result<Value, EmitError> {
        let (base, _) = self.base(base)?;
        let bit = match self.place(index)? {
            Value::Integer(at) => {
                let at = self.position(&at, 1, base.width)?;
                self.bits_of(base, at, 1)
            }
            Value::Sized { .. } if base.width == 1 => base,
            Value::Sized { expr, .. } => {
                let index = self.fit_index(expr, base.width).into();
                let net = self.whole_net(base);
                Expr { width: 1, kind: Kind::Select { net, index } }
            }
        };
        Ok(Value::unsigned(bit))
    }

    fn slice(
        &mut self,
        base: &VerilogExpression,
        width: usize,
        offset: &VerilogExpression,
    ) -> Result<Value, EmitError> {
        let whole = match base {
            VerilogExpression::Signal(name) => match self.resolve(name, "val()")? {
                Meaning::Net { shape, .. } | Meaning::Fixed { shape, .. } => shape,
                Meaning::Label(id) => self.design.params[id].shape.clone(),
                Meaning::Integer(_) => None,
            },
            _ => None,
        };
        let mut field = None;
        let (base, signed) = self.base(base)?;
        let expr = match self.place(offset)? {
            Value::Integer(at) => {
                let at = self.position(&at, width, base.width)?;
                field = whole.and_then(|whole| field_at(&whole, at, width));
                self.bits_of(base, at, width)
            }
            Value::Sized { expr, .. } => {
                if width == 0 {
                    return Err(self.refuse(Refusal::Meaning("a slice of no bits")));
                }
                // Rust fills with zeros past the end, Verilog with x: give the
                // base enough zeros unless the offset cannot get there.
                let furthest = match expr.width {
                    bits if bits < 32 => ((1usize << bits) - 1).min(base.width),
                    _ => base.width,
                };
                let padded = base.width.max(furthest + width);
                let base = base.zero_extend(padded);
                let index = self.fit_index(expr, padded).into();
                let net = self.whole_net(base);
                Expr { width, kind: Kind::Select { net, index } }
            }
        };
        Ok(match field {
            Some(shape) => Value::of_shape(expr, Some(&shape)),
            None => Value::Sized { expr, signed, opaque: false },
        })
    }

    fn replace_bit(
        &mut self,
        base: &VerilogExpression,
        index: &VerilogExpression,
        bit: &VerilogExpression,
    ) -> Result<Value, EmitError> {
        let (base, _) = self.base(base)?;
        let index = self.offset(index)?;
        let bit = self.value(bit)?.sized(1, false).map_err(|refusal| self.refuse(refusal))?;
        let width = base.width;
        let expr = match index {
            Value::Integer(at) => {
                let at = self.position(&at, 1, width)?;
                let mut parts = Vec::new();
                if at + 1 < width {
                    parts.push(self.bits_of(base.clone(), at + 1, width - at - 1));
                }
                parts.push(bit);
                if at > 0 {
                    parts.push(self.bits_of(base, 0, at));
                }
                Expr::concat(parts)
            }
            Value::Sized { expr: amount, .. } => {
                let one = Expr::constant(BigUint::from(1u8), width);
                let shifted = |value, amount: &Expr| Expr::binary(Op::Shl, value, amount.clone());
                let hole = shifted(one, &amount).map(|one| Expr { width, kind: Kind::Not(one.into()) });
                let kept = hole.and_then(|hole| Expr::binary(Op::And, base, hole));
                let put = shifted(bit.zero_extend(width), &amount);
                kept.and_then(|kept| Expr::binary(Op::Or, kept, put?))
                    .map_err(|refusal| self.refuse(refusal))?
            }
        };
        Ok(Value::unsigned(expr))
    }

    fn binary(&mut self, op: &VerilogOp, l: Value, r: Value) -> Result<Value, EmitError> {
        if matches!(op, VerilogOp::Mul) {
            if let (Value::Sized { expr: a, signed, .. }, Value::Sized { expr: b, .. }) = (&l, &r) {
                let (a, b, signed) = (a.clone(), b.clone(), *signed);
                if a.width != b.width {
                    let refusal = Refusal::WidthMismatch { left: a.width, right: b.width };
                    return Err(self.refuse(refusal));
                }
                let (a, b) = (self.double(a, signed), self.double(b, signed));
                let expr = Expr::binary(Op::Mul, a, b).map_err(|refusal| self.refuse(refusal))?;
                return Ok(Value::Sized { expr, signed, opaque: false });
            }
        }
        let r = match (op, r) {
            // A known amount is printed as a number; see the printer.
            (
                VerilogOp::Shl | VerilogOp::Shr,
                Value::Sized { expr: Expr { width, kind: Kind::Param(id) }, .. },
            ) => Value::unsigned(Expr::constant(self.design.params[id].value.clone(), width)),
            (_, r) => r,
        };
        Value::binary(op, l, r).map_err(|refusal| self.refuse(refusal))
    }

    /// An operand of a multiplication at the width of the product.
    fn double(&mut self, operand: Expr, signed: bool) -> Expr {
        let width = operand.width;
        if !signed {
            return operand.zero_extend(2 * width);
        }
        let net = self.whole_net(operand);
        let sign = Expr::net(net, width - 1, 1);
        Expr::concat(vec![Expr { width, kind: Kind::Repeat(sign.into()) }, Expr::net(net, 0, width)])
    }
}

const UNDECIDED: Refusal = Refusal::Meaning(
    "arithmetic inside an index: the tree does not tell whether it wraps at the signal's \
     width or at 64 bits; land the index in a `Signal<Local, _>`",
);
