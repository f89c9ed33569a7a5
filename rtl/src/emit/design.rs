//! One module between the kernel and the text: nets, constants, statements.

use super::collect::Instance;
use super::error::EmitError;
use super::expr::{Expr, NetId, ParamId};
use super::names::objection;
use num_bigint::BigUint;
use rust_hdl::prelude::{AtomKind, TypeDescriptor, TypeKind};
use std::collections::HashMap;

/// What a net is to its module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Input,
    Output,
    Local,
    /// Input of the instance with this index, driven here.
    ChildInput(usize),
    /// Output of the instance with this index, read here.
    ChildOutput(usize),
    /// Made by the emitter for a part of an expression.
    Temporary,
}

impl Role {
    /// True when rust-hdl reads the value assigned last, as a variable, and
    /// not the settled one.
    pub(super) fn reads_as_variable(self) -> bool {
        matches!(self, Self::Output | Self::Local | Self::Temporary)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Net {
    pub(super) key: String,
    pub(super) width: usize,
    pub(super) role: Role,
    pub(super) shape: Option<TypeDescriptor>,
}

/// A `Constant` field or an enum label.
#[derive(Clone, Debug)]
pub(super) struct Param {
    pub(super) key: String,
    pub(super) value: BigUint,
    pub(super) width: usize,
    pub(super) shape: Option<TypeDescriptor>,
    /// Name of the enum and its number of labels.
    pub(super) label_of: Option<(String, usize)>,
}

#[derive(Clone, Debug)]
pub(super) enum Stmt {
    Assign {
        net: NetId,
        lsb: usize,
        value: Expr,
    },
    If {
        test: Expr,
        then: Vec<Stmt>,
        otherwise: Vec<Stmt>,
    },
    /// `default` always stands; labels are constants or localparams.
    Case {
        test: Expr,
        arms: Vec<(Expr, Vec<Stmt>)>,
        default: Vec<Stmt>,
        note: Option<String>,
    },
    Comment(String),
}

impl Stmt {
    /// Calls `visit` for each expression and target in the order Rust runs
    /// them: what a statement reads before what it assigns.
    pub(super) fn walk<'s>(&'s self, visit: &mut dyn FnMut(Event<'s>)) {
        match self {
            Self::Assign { net, value, .. } => {
                visit(Event::Read(value));
                visit(Event::Write(*net));
            }
            Self::If { test, then, otherwise } => {
                visit(Event::Read(test));
                then.iter().chain(otherwise).for_each(|stmt| stmt.walk(visit));
            }
            Self::Case { test, arms, default, .. } => {
                visit(Event::Read(test));
                for (label, body) in arms {
                    visit(Event::Read(label));
                    body.iter().for_each(|stmt| stmt.walk(visit));
                }
                default.iter().for_each(|stmt| stmt.walk(visit));
            }
            Self::Comment(_) => {}
        }
    }
}

pub(super) enum Event<'s> {
    Read(&'s Expr),
    Write(NetId),
}

#[derive(Clone, Debug)]
pub(super) struct Design {
    pub(super) path: String,
    pub(super) nets: Vec<Net>,
    pub(super) params: Vec<Param>,
    pub(super) body: Vec<Stmt>,
    nets_by_key: HashMap<String, NetId>,
    params_by_key: HashMap<String, ParamId>,
    /// Labels that two visible enums define differently.
    ambiguous: Vec<String>,
    child_keys: Vec<String>,
}

pub(super) fn width_of(shape: &TypeDescriptor) -> usize {
    match &shape.kind {
        TypeKind::Bits(width) | TypeKind::Signed(width) => *width,
        TypeKind::Enum(labels) => rust_hdl::prelude::clog2(labels.len()),
        TypeKind::Composite(fields) => fields.iter().map(|field| width_of(&field.kind)).sum(),
    }
}

/// Offset, width and type of a field of a `LogicStruct`; the first field is
/// the least significant.
pub(super) fn field_of<'t>(shape: &'t TypeDescriptor, name: &str) -> Option<(usize, &'t TypeDescriptor)> {
    let TypeKind::Composite(fields) = &shape.kind else { return None };
    let mut lsb = 0;
    for field in fields {
        if field.fieldname == name {
            return Some((lsb, &field.kind));
        }
        lsb += width_of(&field.kind);
    }
    None
}

/// Type of the field that covers exactly these bits.
pub(super) fn field_at(shape: &TypeDescriptor, lsb: usize, width: usize) -> Option<TypeDescriptor> {
    let TypeKind::Composite(fields) = &shape.kind else { return None };
    let mut base = 0;
    for field in fields {
        let bits = width_of(&field.kind);
        if base == lsb && bits == width {
            return Some(field.kind.clone());
        }
        base += bits;
    }
    None
}

impl Design {
    /// Declares everything the kernel of `instance` can name.
    pub(super) fn declare(instance: &Instance) -> Result<Self, EmitError> {
        let mut design = Self {
            path: instance.path.clone(),
            nets: Vec::new(),
            params: Vec::new(),
            body: Vec::new(),
            nets_by_key: HashMap::new(),
            params_by_key: HashMap::new(),
            ambiguous: Vec::new(),
            child_keys: Vec::new(),
        };
        for atom in &instance.atoms {
            design.check_name(&atom.key)?;
            if atom.width == 0 {
                return Err(EmitError::NoBits { path: design.path.clone(), signal: atom.key.clone() });
            }
            let role = match atom.kind {
                AtomKind::InputParameter => Role::Input,
                AtomKind::OutputParameter => Role::Output,
                AtomKind::LocalSignal => Role::Local,
                AtomKind::Constant => {
                    design.add_param(Param {
                        key: atom.key.clone(),
                        value: atom.value.clone(),
                        width: atom.width,
                        shape: Some(atom.shape.clone()),
                        label_of: None,
                    });
                    design.add_labels(&atom.shape);
                    continue;
                }
                _ => {
                    return Err(EmitError::Unsupported {
                        path: design.path.clone(),
                        construct: format!("the in-out signal `{}`", atom.key),
                        remedy: "use separate `In` and `Out` signals".to_owned(),
                    });
                }
            };
            design.add_net(atom.key.clone(), atom.width, role, Some(atom.shape.clone()));
            design.add_labels(&atom.shape);
        }
        for (index, child) in instance.children.iter().enumerate() {
            design.check_name(&child.key)?;
            design.child_keys.push(child.key.clone());
            for atom in &child.atoms {
                let role = match atom.kind {
                    AtomKind::InputParameter => Role::ChildInput(index),
                    AtomKind::OutputParameter => Role::ChildOutput(index),
                    _ => continue,
                };
                let key = format!("{}${}", child.key, atom.key);
                design.add_net(key, atom.width, role, Some(atom.shape.clone()));
                design.add_labels(&atom.shape);
            }
        }
        Ok(design)
    }

    fn check_name(&self, key: &str) -> Result<(), EmitError> {
        for part in key.split('$').filter(|part| part.parse::<usize>().is_err()) {
            if let Some(why) = objection(part) {
                return Err(EmitError::BadName { path: self.path.clone(), name: part.to_owned(), why });
            }
        }
        Ok(())
    }

    pub(super) fn add_net(
        &mut self,
        key: String,
        width: usize,
        role: Role,
        shape: Option<TypeDescriptor>,
    ) -> NetId {
        let id = self.nets.len();
        if role != Role::Temporary {
            self.nets_by_key.insert(key.clone(), id);
        }
        self.nets.push(Net { key, width, role, shape });
        id
    }

    fn add_param(&mut self, param: Param) {
        self.params_by_key.insert(param.key.clone(), self.params.len());
        self.params.push(param);
    }

    fn add_labels(&mut self, shape: &TypeDescriptor) {
        match &shape.kind {
            TypeKind::Enum(labels) => {
                for (value, label) in labels.iter().enumerate() {
                    let param = Param {
                        key: label.replace("::", "$"),
                        value: BigUint::from(value),
                        width: width_of(shape),
                        shape: None,
                        label_of: Some((shape.name.clone(), labels.len())),
                    };
                    match self.params_by_key.get(&param.key).map(|id| &self.params[*id]) {
                        Some(known)
                            if known.value == param.value
                                && known.width == param.width
                                && known.label_of == param.label_of => {}
                        Some(_) => self.ambiguous.push(param.key),
                        None => self.add_param(param),
                    }
                }
            }
            TypeKind::Composite(fields) => {
                fields.iter().for_each(|field| self.add_labels(&field.kind));
            }
            _ => {}
        }
    }

    pub(super) fn net(&self, key: &str) -> Option<NetId> {
        self.nets_by_key.get(key).copied()
    }

    /// A `Constant` field or enum label; `module::State::Idle` is found by its
    /// last two parts.
    pub(super) fn param(&self, key: &str) -> Option<ParamId> {
        let mut starts = std::iter::once(0).chain(key.match_indices('$').map(|(at, _)| at + 1));
        starts.find_map(|start| {
            let tail = &key[start..];
            let id = *self.params_by_key.get(tail)?;
            (!self.ambiguous.iter().any(|label| label == tail)).then_some(id)
        })
    }

    /// True for a name a loop variable must not have: rust-hdl cannot tell
    /// `self.i` from `i`.
    pub(super) fn names_a_field(&self, name: &str) -> bool {
        let is = |key: &String| key.split('$').next() == Some(name);
        self.nets_by_key.keys().any(is) || self.params_by_key.keys().any(is) || self.child_keys.iter().any(is)
    }
}
