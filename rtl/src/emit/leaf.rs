//! Leaf cells with hand-written text.
//!
//! The text stands between the port list and `endmodule`. Its first line may
//! be `// cell: dff_12`, which names the module.

use super::collect::Instance;
use super::error::EmitError;
use super::names::objection;
use super::print::{port_list, port_names, PortText};
use rust_hdl::prelude::AtomKind;

const MARK: &str = "// cell: ";

/// Kind and size of the cell, from its first line.
pub(super) fn kind(text: &str) -> Option<String> {
    let kind = text.lines().next()?.strip_prefix(MARK)?.trim();
    objection(kind).is_none().then(|| kind.to_owned())
}

/// The module behind its name: ports and the text, checked for what its author
/// may have forgotten. Lint does the rest.
pub(super) fn text(instance: &Instance, text: &str) -> Result<String, EmitError> {
    let wrong = |why: String| EmitError::Custom { path: instance.path.clone(), why };
    if !instance.children.is_empty() {
        return Err(wrong("a leaf has no instances below it".to_owned()));
    }
    let code: String = text.lines().filter(|line| !line.starts_with(MARK)).collect::<Vec<_>>().join("\n");
    let words: Vec<&str> = code
        .lines()
        .map(|line| line.split("//").next().unwrap_or(""))
        .flat_map(|line| line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')))
        .filter(|word| !word.is_empty())
        .collect();
    for word in ["module", "endmodule", "input", "output", "inout"] {
        if words.contains(&word) {
            return Err(wrong(format!("`{word}` is the exporter's business")));
        }
    }
    let count = |word: &str| words.iter().filter(|w| **w == word).count();
    if count("begin") != count("end") {
        return Err(wrong("`begin` and `end` do not pair".to_owned()));
    }
    if let Some(index) = computed_index(&code) {
        return Err(wrong(format!(
            "`[{index}]` is counted wider than its operands by Icarus Verilog: a wire wraps"
        )));
    }
    let mut ports = Vec::new();
    for ((_, name), atom) in
        port_names(instance)?.into_iter().zip(instance.atoms.iter().filter(|atom| atom.kind.is_parameter()))
    {
        if let Some(why) = objection(&name) {
            return Err(EmitError::BadName { path: instance.path.clone(), name, why });
        }
        if atom.width == 0 {
            return Err(EmitError::NoBits { path: instance.path.clone(), signal: name });
        }
        if atom.kind == AtomKind::InOutParameter {
            return Err(wrong(format!("in-out port `{name}`")));
        }
        if !words.contains(&name.as_str()) {
            return Err(wrong(format!("port `{name}` does not occur in it")));
        }
        let wired = words.windows(2).any(|pair| pair[0] == "assign" && pair[1] == name);
        ports.push(PortText {
            output: atom.kind == AtomKind::OutputParameter,
            width: atom.width,
            variable: !wired,
            doc: None,
            name,
        });
    }
    let body: String = code.lines().map(|line| format!("  {line}").trim_end().to_owned() + "\n").collect();
    Ok(format!("{}{body}", port_list(&ports)))
}

/// An index that is a sum or a difference. Its width is that of its operands by the standard, so that it
/// wraps; Icarus Verilog counts wider, and finds no word there.
fn computed_index(code: &str) -> Option<String> {
    let mut open: Vec<String> = Vec::new();
    for line in code.lines() {
        for c in line.split("//").next().unwrap_or("").chars() {
            match c {
                '[' => open.push(String::new()),
                ']' => {
                    let index = open.pop()?;
                    // `[a +: 8]` and `[7:0]` are no single place.
                    if index.contains(['+', '-', '*']) && !index.contains(':') {
                        return Some(index);
                    }
                }
                _ => {
                    if let Some(index) = open.last_mut() {
                        index.push(c);
                    }
                }
            }
        }
    }
    None
}
