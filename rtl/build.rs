//! Reads the blocks' own sources for what rust-hdl does not carry to the
//! export: which type a field has, and what a port's doc comment says.
//!
//! Writes `catalogue.rs`, included by `src/emit/catalogue.rs`, and says by a hash which sources an export is made from.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

fn main() {
    println!("cargo::rerun-if-changed=src");
    println!("cargo::rerun-if-changed=build.rs");
    let mut files = Vec::new();
    sources(Path::new("src"), &mut files);
    files.sort();
    say_sources(files.clone());
    let mut structs = BTreeMap::new();
    for file in &files {
        let text = std::fs::read_to_string(file).expect("a readable source");
        // What does not parse is for the compiler to report.
        if let Ok(parsed) = syn::parse_file(&text) {
            collect(&parsed.items, &mut structs);
        }
    }
    let mut out = String::from("&[\n");
    for (name, entry) in &structs {
        // Two structs of one name: the field types do not say which is meant.
        if let Some(entry) = entry {
            let _ = writeln!(out, "({name:?}, &[");
            for (field, kind, doc) in entry {
                let _ = writeln!(out, "    ({field:?}, {kind:?}, {doc:?}),");
            }
            out.push_str("]),\n");
        }
    }
    out.push(']');
    let folder = PathBuf::from(std::env::var_os("OUT_DIR").expect("set by Cargo"));
    std::fs::write(folder.join("catalogue.rs"), out).expect("a writable OUT_DIR");
}

/// All that decides what is exported: the blocks, the numbers they share with software, which rust-hdl it is, and
/// what is put behind them.
fn say_sources(mut files: Vec<PathBuf>) {
    for beside in ["../abi/src", "../fpga/corundum/widths.v", "../Cargo.toml", "Cargo.toml", "build.rs"] {
        println!("cargo::rerun-if-changed={beside}");
        match Path::new(beside) {
            folder if folder.is_dir() => sources(folder, &mut files),
            file => files.push(file.to_owned()),
        }
    }
    files.sort();
    let mut hash = DefaultHasher::new();
    for file in &files {
        (file, std::fs::read(file).expect("a readable source")).hash(&mut hash);
    }
    println!("cargo::rustc-env=TESSERA_RTL_SOURCES={:016x}", hash.finish());
}

type Fields = Vec<(String, String, String)>;

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

fn collect(items: &[syn::Item], structs: &mut BTreeMap<String, Option<Fields>>) {
    for item in items {
        match item {
            syn::Item::Struct(item) => {
                let fields = item.fields.iter().filter_map(|field| {
                    let name = field.ident.as_ref()?.to_string();
                    Some((name, kind(&field.ty).unwrap_or_default(), doc(&field.attrs)))
                });
                let fields = fields.collect();
                structs
                    .entry(item.ident.to_string())
                    .and_modify(|known| *known = None)
                    .or_insert(Some(fields));
            }
            syn::Item::Mod(module) => {
                if let Some((_, items)) = &module.content {
                    collect(items, structs);
                }
            }
            _ => {}
        }
    }
}

/// Name of a field's type; of the elements, for arrays and vectors.
fn kind(of: &syn::Type) -> Option<String> {
    match of {
        syn::Type::Array(array) => kind(&array.elem),
        syn::Type::Path(path) => {
            let last = path.path.segments.last()?;
            if last.ident != "Vec" {
                return Some(last.ident.to_string());
            }
            match &last.arguments {
                syn::PathArguments::AngleBracketed(arguments) => match arguments.args.first()? {
                    syn::GenericArgument::Type(element) => kind(element),
                    _ => None,
                },
                _ => None,
            }
        }
        _ => None,
    }
}

/// First paragraph of a doc comment.
fn doc(attributes: &[syn::Attribute]) -> String {
    let mut lines = Vec::new();
    for attribute in attributes {
        if let syn::Meta::NameValue(pair) = &attribute.meta {
            if let (true, syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. })) =
                (pair.path.is_ident("doc"), &pair.value)
            {
                let line = text.value().trim().to_owned();
                if line.is_empty() && !lines.is_empty() {
                    break;
                }
                lines.push(line);
            }
        }
    }
    lines.join("\n").trim().to_owned()
}
