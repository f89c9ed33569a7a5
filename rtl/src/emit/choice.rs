//! `match` as `case`.

use super::design::Stmt;
use super::error::EmitError;
use super::expr::{Expr, Kind, Refusal};
use super::lower::Lowerer;
use super::names::parse_integer;
use super::operand::Value;
use num_bigint::{BigInt, BigUint};
use rust_hdl::core::ast::VerilogMatch;

impl Lowerer<'_> {
    pub(super) fn choice(&mut self, choice: &VerilogMatch, out: &mut Vec<Stmt>) -> Result<(), EmitError> {
        self.subject = "match".to_owned();
        let test = self.offset(&choice.test)?;
        out.append(&mut self.pending);
        let Value::Sized { expr: test, .. } = test else {
            return self.known_choice(&test, choice, out);
        };
        let mut arms: Vec<(Expr, Vec<Stmt>)> = Vec::new();
        let mut default = None;
        let mut seen: Vec<BigUint> = Vec::new();
        let mut labels = None;
        for case in &choice.cases {
            if default.is_some() {
                return Err(self.unsupported("a match arm after `_`", "make `_` the last arm"));
            }
            let mut body = Vec::new();
            self.block(&case.block, &mut body)?;
            self.subject = "match".to_owned();
            if case.condition == "default" {
                default = Some(body);
                continue;
            }
            let (label, value, of) = self.label(&case.condition, test.width)?;
            labels = labels.or(of);
            if !seen.contains(&value) {
                seen.push(value);
                arms.push((label, body));
            }
        }
        let all = match labels {
            Some(labels) => seen.len() == labels,
            None => test.width < 32 && seen.len() == 1 << test.width,
        };
        let mut note = None;
        let default = match default {
            Some(body) => body,
            // Rust takes the arms for complete, Verilog knows 2^n values.
            None if all => match arms.pop() {
                Some((label, body)) => {
                    note = self.note(&label);
                    body
                }
                None => return Ok(()),
            },
            None => return Err(self.unsupported("a match that is not exhaustive", "end it in `_`")),
        };
        out.push(Stmt::Case { test, arms, default, note });
        Ok(())
    }

    fn note(&self, label: &Expr) -> Option<String> {
        match label.kind {
            Kind::Param(id) => Some(self.design.params[id].key.replace('$', "::")),
            _ => None,
        }
    }

    /// A match on a loop variable: only the taken arm exists in hardware.
    fn known_choice(
        &mut self,
        test: &Value,
        choice: &VerilogMatch,
        out: &mut Vec<Stmt>,
    ) -> Result<(), EmitError> {
        let Value::Integer(test) = test else { return Ok(()) };
        let taken = choice.cases.iter().find(|case| {
            case.condition == "default" || parse_integer(&case.condition).as_ref() == Some(test)
        });
        taken.map_or(Ok(()), |case| self.block(&case.block, out))
    }

    /// The label of a match arm, its value, and the number of labels when it
    /// is one of an enum.
    fn label(&self, text: &str, width: usize) -> Result<(Expr, BigUint, Option<usize>), EmitError> {
        let flag = match text {
            "true" => Some(BigInt::from(1)),
            "false" => Some(BigInt::from(0)),
            _ => None,
        };
        if let Some(number) = flag.or_else(|| parse_integer(text)) {
            let label = Expr::literal(&number, width, false).map_err(|r| self.refuse(r))?;
            return Ok((label, number.magnitude().clone(), None));
        }
        let Some(id) = self.design.param(text) else {
            return Err(EmitError::UnknownName {
                path: self.design.path.clone(),
                name: text.replace('$', "::"),
            });
        };
        let param = &self.design.params[id];
        if param.width != width {
            let refusal = Refusal::WidthMismatch { left: width, right: param.width };
            return Err(self.refuse(refusal));
        }
        let count = param.label_of.as_ref().map(|(_, count)| *count);
        Ok((Expr { width, kind: Kind::Param(id) }, param.value.clone(), count))
    }
}
