//! What the sources of this crate say about a block, by the name of its type.
//!
//! rust-hdl hands out instance names only. The build script reads types and
//! doc comments of all fields from the sources; a block from elsewhere is
//! simply not in the list and goes by its instance name.

/// Struct name; its fields with name, type and doc comment.
type Entry = (&'static str, &'static [(&'static str, &'static str, &'static str)]);

const BLOCKS: &[Entry] = include!(concat!(env!("OUT_DIR"), "/catalogue.rs"));

/// Name of a type of this crate, without its path and parameters.
pub fn type_name<T: ?Sized>() -> Option<&'static str> {
    let full = std::any::type_name::<T>();
    let path = full.split('<').next().unwrap_or(full);
    let own = concat!(env!("CARGO_CRATE_NAME"), "::");
    path.starts_with(own).then(|| path.rsplit("::").next().unwrap_or(path))
}

fn field(block: &str, key: &str) -> Option<(&'static str, &'static str)> {
    let name = key.split('$').next().unwrap_or(key);
    let (_, fields) = BLOCKS.iter().find(|(known, _)| *known == block)?;
    let (_, kind, doc) = fields.iter().find(|(known, _, _)| *known == name)?;
    Some((kind, doc))
}

/// Type of the instance `key` of `block`, if `block` is known.
pub fn kind_of(block: Option<&str>, key: &str) -> Option<&'static str> {
    field(block?, key).map(|(kind, _)| kind).filter(|kind| !kind.is_empty())
}

/// Doc comment of the port `key` of `block`.
pub fn doc_of(block: Option<&str>, key: &str) -> Option<&'static str> {
    field(block?, key).map(|(_, doc)| doc).filter(|doc| !doc.is_empty())
}
