//! Tests of what is inside of the crate. The crate is a minute's work for a compiler, and would be once more with
//! tests in it: files that have tests are compiled here by themselves, with these, and what needs the crate is here.

// Of those files their tests use some.
#![allow(dead_code)]

mod catalogue;
mod memories;
mod parts;
mod registers;

#[path = "../../src/emit/circles.rs"]
mod circles;
#[path = "../../src/wire/crc.rs"]
mod crc;
#[path = "../../src/wire/layout.rs"]
mod layout;
#[path = "../../src/emit/names.rs"]
mod names;
#[path = "../../src/wire/xor.rs"]
mod xor;

use std::path::Path;

/// Files below `folder` that have tests.
fn with_tests(folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            with_tests(&path, found);
        } else if std::fs::read_to_string(&path).unwrap().contains("#[test]") {
            found.push(path.display().to_string());
        }
    }
}

#[test]
fn no_test_is_left_out() {
    let mut found = Vec::new();
    with_tests(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut found);
    assert_eq!(found.len(), 5, "{found:?}");
    for file in found {
        let (_, name) = file.rsplit_once("/src/").unwrap();
        assert!(
            include_str!("main.rs").contains(&format!("#[path = \"../../src/{name}\"]")),
            "{file} is not run"
        );
    }
}
