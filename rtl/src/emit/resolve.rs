//! What the names in a kernel stand for.

use super::design::{field_of, width_of};
use super::error::EmitError;
use super::expr::NetId;
use super::lower::Lowerer;
use super::names::evaluate_index;
use num_bigint::BigUint;
use rust_hdl::prelude::TypeDescriptor;

/// What a name stands for.
pub(super) enum Meaning {
    Net { net: NetId, lsb: usize, shape: Option<TypeDescriptor>, width: usize },
    Fixed { value: BigUint, width: usize, shape: Option<TypeDescriptor> },
    Label(usize),
    Integer(usize),
}

impl Lowerer<'_> {
    /// Looks up a name as rust-hdl spells it: `slices[i+1]$d$next`,
    /// `header$val()$inner$field`. `accessor` separates a signal from the
    /// fields of its value.
    pub(super) fn resolve(&self, name: &str, accessor: &str) -> Result<Meaning, EmitError> {
        let unknown =
            || EmitError::UnknownName { path: self.design.path.clone(), name: name.replace('$', ".") };
        let mut parts = Vec::new();
        for part in split_outside_brackets(name) {
            if part == "next" && accessor != "next" {
                return Err(self.unsupported(format!("reading `{name}`"), "read `.val()`"));
            }
            let (word, mut rest) = part.split_at(part.find('[').unwrap_or(part.len()));
            parts.push(word.to_owned());
            while let Some(open) = rest.strip_prefix('[') {
                let (text, tail) = open.split_once(']').ok_or_else(unknown)?;
                let index = evaluate_index(text, &self.loops).ok_or_else(|| {
                    self.unsupported(
                        format!("the array index `{text}` in `{name}`"),
                        "index arrays by literals and loop variables; choose with `match`",
                    )
                })?;
                parts.push(index.to_string());
                rest = tail;
            }
        }
        let at = parts.iter().position(|part| part == accessor);
        let fields = at.map_or(&[][..], |at| &parts[at + 1..]);
        let key = parts[..at.unwrap_or(parts.len())].join("$");
        if let Some((_, value)) = self.loops.iter().rev().find(|(name, _)| *name == key) {
            return Ok(Meaning::Integer(*value));
        }
        let descend = |mut shape: Option<TypeDescriptor>, mut width: usize| {
            let mut lsb = 0;
            for field in fields {
                let outer = shape.as_ref().ok_or_else(unknown)?;
                let (offset, inner) = field_of(outer, field).ok_or_else(unknown)?;
                lsb += offset;
                width = width_of(inner);
                shape = Some(inner.clone());
            }
            Ok((lsb, width, shape))
        };
        if let Some(net) = self.design.net(&key) {
            let known = &self.design.nets[net];
            let (lsb, width, shape) = descend(known.shape.clone(), known.width)?;
            return Ok(Meaning::Net { net, lsb, shape, width });
        }
        let id = self.design.param(&key).ok_or_else(unknown)?;
        if fields.is_empty() {
            return Ok(Meaning::Label(id));
        }
        let param = &self.design.params[id];
        let (lsb, width, shape) = descend(param.shape.clone(), param.width)?;
        Ok(Meaning::Fixed { value: &param.value >> lsb, width, shape })
    }
}

fn split_outside_brackets(name: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0usize, 0);
    for (at, c) in name.char_indices() {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            '$' if depth == 0 => {
                parts.push(&name[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&name[start..]);
    parts.retain(|part| !part.is_empty());
    parts
}
