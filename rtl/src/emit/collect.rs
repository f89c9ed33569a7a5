//! Walks a rust-hdl block and writes down its hierarchy.

use num_bigint::BigUint;
use rust_hdl::prelude::{Atom, AtomKind, Block, Probe, TypeDescriptor, Verilog, VerilogLiteral};

/// A port, local signal or constant as rust-hdl declares it.
#[derive(Clone, Debug)]
pub(super) struct AtomInfo {
    /// Field name; parts of an interface or array are joined by `$`.
    pub(super) key: String,
    pub(super) kind: AtomKind,
    pub(super) width: usize,
    pub(super) shape: TypeDescriptor,
    pub(super) value: BigUint,
}

impl AtomInfo {
    pub(super) fn is_clock(&self) -> bool {
        self.shape.name == "clock"
    }
}

/// One instance of a block.
#[derive(Clone, Debug)]
pub(super) struct Instance {
    /// Field name in the parent; array elements carry `$index`.
    pub(super) key: String,
    /// Dotted path from the top, for messages.
    pub(super) path: String,
    pub(super) code: Verilog,
    pub(super) atoms: Vec<AtomInfo>,
    pub(super) children: Vec<Instance>,
}

/// The number inside a rust-hdl literal. Its fields are private; the
/// hexadecimal form `8'h1f` is the only complete way out.
pub(super) fn literal_value(literal: &VerilogLiteral) -> BigUint {
    let text = format!("{literal:x}");
    let digits = text.rsplit_once('h').map_or("", |(_, digits)| digits);
    BigUint::parse_bytes(digits.as_bytes(), 16).unwrap_or_default()
}

/// True for a `bool` literal, which has a width already.
pub(super) fn literal_is_bool(literal: &VerilogLiteral) -> bool {
    format!("{literal:x}").starts_with("1'")
}

#[derive(Default)]
struct Collector {
    open: Vec<Instance>,
    namespace: Vec<String>,
    done: Option<Instance>,
}

impl Probe for Collector {
    fn visit_start_scope(&mut self, name: &str, node: &dyn Block) {
        let path = match self.open.last() {
            Some(parent) => format!("{}.{}", parent.path, name.replace('$', ".")),
            None => name.to_owned(),
        };
        self.open.push(Instance {
            key: name.to_owned(),
            path,
            code: node.hdl(),
            atoms: Vec::new(),
            children: Vec::new(),
        });
    }

    fn visit_start_namespace(&mut self, name: &str, _node: &dyn Block) {
        self.namespace.push(name.to_owned());
    }

    fn visit_atom(&mut self, name: &str, signal: &dyn Atom) {
        let mut key = self.namespace.join("$");
        if !key.is_empty() {
            key.push('$');
        }
        key.push_str(name);
        if let Some(instance) = self.open.last_mut() {
            instance.atoms.push(AtomInfo {
                key,
                kind: signal.kind(),
                width: signal.bits(),
                shape: signal.descriptor(),
                value: literal_value(&signal.verilog()),
            });
        }
    }

    fn visit_end_namespace(&mut self, _name: &str, _node: &dyn Block) {
        self.namespace.pop();
    }

    fn visit_end_scope(&mut self, _name: &str, _node: &dyn Block) {
        if let Some(instance) = self.open.pop() {
            match self.open.last_mut() {
                Some(parent) => parent.children.push(instance),
                None => self.done = Some(instance),
            }
        }
    }
}

/// The hierarchy of `block`, its kernels included. `None` when the block has
/// no scope of its own (a bare signal).
pub(super) fn collect(block: &dyn Block, top: &str) -> Option<Instance> {
    let mut collector = Collector::default();
    block.accept(top, &mut collector);
    collector.done
}
