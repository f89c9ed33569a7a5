//! Verilog from rust-hdl blocks.
//!
//! rust-hdl simulates kernels faithfully and prints them carelessly: operator
//! precedence and operand widths get lost, so a block can be right in Rust and
//! wrong in Verilog without a word from either. This module prints the same
//! kernels from rust-hdl's public tree with every width decided:
//!
//! ```text
//!  block ── collect ── declare ── lower ──── flow ───── print ── text
//!           hierarchy  nets,      sized      latches,   one module per
//!           and trees  labels     exprs      drivers    distinct text
//! ```
//!
//! Contract: whatever rust-hdl's simulator computes from a kernel, the
//! exported module computes too, for every input that does not make the
//! kernel panic; what cannot be printed with that guarantee is an
//! [`EmitError`]. The text is Verilog-2005 with one flat ANSI port per signal,
//! and `verilator --lint-only -Wall` has nothing to say about it.
//!
//! `docs/kernel-rules.md` lists what kernels may contain. Verified by
//! `testbenches/tests/emit/`, which runs kernels and Verilated exports side by
//! side, and by `rtl/tests/kernel_rules.rs`.

#[doc(hidden)] // For its test.
pub mod catalogue;
mod choice;
mod circles;
mod collect;
mod design;
mod error;
mod expr;
mod flow;
mod groups;
mod leaf;
mod lower;
mod names;
mod operand;
mod print;
mod resolve;

pub use error::EmitError;
pub use expr::Refusal;

use collect::{collect, Instance};
use design::{width_of, Design};
use names::{objection, snake_case, Names};
use rust_hdl::prelude::{check_all, AtomKind, Block, TypeKind, Verilog};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// A block as Verilog.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Export {
    /// Name of the top module.
    pub top: String,
    /// The whole file: header, top module, the modules below it.
    pub verilog: String,
    /// Ports of the top module, in the order of the block's fields.
    pub ports: Vec<Port>,
}

/// A port of the top module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Port {
    /// Verilog name.
    pub name: String,
    /// Seen from the block.
    pub direction: Direction,
    /// Width in bits.
    pub width: usize,
    /// True for `Signal<In, Clock>`.
    pub is_clock: bool,
    /// Fields of a `LogicStruct` port, least significant first; empty for
    /// every other type.
    pub fields: Vec<Field>,
    /// What the port is for, when known.
    pub doc: Option<String>,
}

/// Direction of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Direction {
    /// Driven from outside.
    In,
    /// Driven by the block.
    Out,
}

/// A field of a port that is a `LogicStruct`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    /// Rust field name.
    pub name: String,
    /// Lowest bit within the port.
    pub lsb: usize,
    /// Width in bits.
    pub width: usize,
}

/// What the head of the file says.
#[derive(Clone, Copy, Debug, Default)]
pub struct Header<'a> {
    /// Name of the configuration, such as `nic512`.
    pub configuration: &'a str,
    /// Source revision the text was made from.
    pub revision: &'a str,
    /// What the names of all modules but the top begin with, before an underscore; empty for `tessera`.
    pub prefix: &'a str,
    /// Comments of top-level ports, by port name. A port not listed gets the
    /// doc comment of its field, if the block is one of this crate.
    pub docs: &'a [(&'a str, &'a str)],
}

/// Exports `block` as module `top`, without a configuration in its header.
///
/// Connects the block and runs rust-hdl's checks first. Wide blocks are large
/// values (a `Bits<512>` is 512 bytes, several times over): call this inside
/// [`with_big_stack`].
///
/// # Errors
/// See [`EmitError`]: unknown names, width mismatches, latches, reserved words.
pub fn export<B: Block>(block: &mut B, top: &str) -> Result<Export, EmitError> {
    export_with_header(block, top, &Header::default())
}

/// Exports `block` as module `top` under `header`.
///
/// # Errors
/// As [`export`].
pub fn export_with_header<B: Block>(block: &mut B, top: &str, header: &Header) -> Result<Export, EmitError> {
    block.connect_all();
    check_all(block).map_err(|error| EmitError::from_check(top, error))?;
    let bad_name = |why| EmitError::BadName { path: top.to_owned(), name: top.to_owned(), why };
    if let Some(why) = objection(top) {
        return Err(bad_name(why));
    }
    let instance = collect(block, top).ok_or_else(|| bad_name("a bare signal is not a block"))?;
    let prefix = if header.prefix.is_empty() { "tessera" } else { header.prefix };
    if let Some(why) = objection(prefix) {
        let name = prefix.to_owned();
        return Err(EmitError::BadName { path: top.to_owned(), name, why });
    }
    let mut library = Library { prefix: prefix.to_owned(), ..Library::default() };
    library.names.claim(top);
    let kind = catalogue::type_name::<B>();
    let text = library.module(&instance, kind, header.docs)?;
    let mut verilog = head(header);
    verilog.push_str(&format!("module {top}{text}endmodule\n"));
    for (name, text) in &library.modules {
        verilog.push_str(&format!("\nmodule {name}{text}endmodule\n"));
    }
    Ok(Export { top: top.to_owned(), verilog, ports: ports(&instance, kind, header)? })
}

/// Runs `work` on a thread whose stack holds the widest configuration.
///
/// # Panics
/// When `work` panics, with the same payload, or when the system has no
/// thread left.
pub fn with_big_stack<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    // Reserved, not used: the system maps pages as they are touched.
    const BYTES: usize = 1 << 30;
    std::thread::scope(|scope| {
        let worker = std::thread::Builder::new()
            .name("big-stack".to_owned())
            .stack_size(BYTES)
            .spawn_scoped(scope, work)
            .expect("a thread for the export");
        worker.join().unwrap_or_else(|payload| std::panic::resume_unwind(payload))
    })
}

fn head(header: &Header) -> String {
    let mut out = String::from("// SPDX-License-Identifier: MIT OR Apache-2.0\n");
    out.push_str("// Generated by `cargo tessera export`, do not edit.\n");
    if !header.configuration.is_empty() {
        out.push_str(&format!("// Configuration: {}\n", header.configuration));
    }
    if !header.revision.is_empty() {
        out.push_str(&format!("// Source revision: {}\n", header.revision));
    }
    // Verilator wants one file per module; users want one file per block.
    out.push_str("\n/* verilator lint_off DECLFILENAME */ // all modules stand in one file\n\n");
    // Nothing here takes time, but simulators refuse a design of which only some modules have a time scale.
    out.push_str("`timescale 1ns / 1ps\n\n");
    out
}

fn ports(instance: &Instance, kind: Option<&str>, header: &Header) -> Result<Vec<Port>, EmitError> {
    let names = print::port_names(instance)?;
    let atoms = instance.atoms.iter().filter(|atom| atom.kind.is_parameter());
    Ok(atoms
        .zip(names)
        .map(|(atom, (_, name))| {
            let mut lsb = 0;
            let fields = match &atom.shape.kind {
                TypeKind::Composite(fields) => fields
                    .iter()
                    .map(|field| {
                        let width = width_of(&field.kind);
                        lsb += width;
                        Field { name: field.fieldname.clone(), lsb: lsb - width, width }
                    })
                    .collect(),
                _ => Vec::new(),
            };
            let doc = header.docs.iter().find(|(port, _)| *port == name).map(|(_, doc)| *doc);
            let doc = doc.or_else(|| catalogue::doc_of(kind, &atom.key));
            Port {
                direction: match atom.kind {
                    AtomKind::InputParameter => Direction::In,
                    _ => Direction::Out,
                },
                width: atom.width,
                is_clock: atom.is_clock(),
                fields,
                doc: doc.map(str::to_owned),
                name,
            }
        })
        .collect())
}

/// The modules of one file; equal texts are one module.
#[derive(Default)]
struct Library {
    prefix: String,
    modules: Vec<(String, String)>,
    by_text: HashMap<String, String>,
    names: Names,
}

impl Library {
    /// Text of one module behind its name, its children filed on the way.
    fn module(
        &mut self,
        instance: &Instance,
        kind: Option<&str>,
        docs: &[(&str, &str)],
    ) -> Result<String, EmitError> {
        let mut children = Vec::new();
        for child in &instance.children {
            children.push(self.file(child, catalogue::kind_of(kind, &child.key))?);
        }
        match &instance.code {
            Verilog::Combinatorial(kernel) => {
                let mut design = Design::declare(instance)?;
                lower::lower(&mut design, kernel)?;
                let plan = flow::plan(&mut design)?;
                let mut printer = print::Printer::new(&design, &plan, instance)?;
                let ports = print::port_list(&printer.ports(instance, kind, docs));
                Ok(format!("{ports}{}", printer.body(instance, &children)))
            }
            Verilog::Custom(text) => leaf::text(instance, text),
            other => Err(EmitError::Unsupported {
                path: instance.path.clone(),
                construct: match other {
                    Verilog::Empty => "a block without a kernel",
                    Verilog::Blackbox(_) => "a black box",
                    _ => "a wrapper",
                }
                .to_owned(),
                remedy: "write a `#[hdl_gen]` kernel or a leaf with `Verilog::Custom`".to_owned(),
            }),
        }
    }

    /// Name of the module for an instance below the top.
    fn file(&mut self, instance: &Instance, kind: Option<&str>) -> Result<String, EmitError> {
        let text = self.module(instance, kind, &[])?;
        if let Some(name) = self.by_text.get(&text) {
            return Ok(name.clone());
        }
        let cell = match &instance.code {
            Verilog::Custom(text) => leaf::kind(text),
            _ => None,
        };
        let field = instance.key.split('$').next().unwrap_or(&instance.key);
        let kind = cell.unwrap_or_else(|| snake_case(kind.unwrap_or(field)));
        let name = self.names.invent(&format!("{}_{kind}", self.prefix));
        self.by_text.insert(text.clone(), name.clone());
        self.modules.push((name.clone(), text));
        Ok(name)
    }
}
