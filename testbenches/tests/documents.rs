//! Documents agree with the code: `docs/registers.md` and `docs/wire.md` are what `abi`
//! says (`TESSERA_BLESS=1` rewrites them), and what sources and pages point to is there.

use std::path::{Path, PathBuf};

fn is_up_to_date(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name);
    if std::env::var_os("TESSERA_BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = kept.lines().zip(text.lines()).position(|(a, b)| a != b);
    assert!(
        kept == text,
        "docs/{name} is out of date from line {}: run this test with TESSERA_BLESS=1",
        differs.map_or(kept.lines().count().min(text.lines().count()), |line| line) + 1
    );
}

#[test]
fn the_register_document_is_up_to_date() {
    let mut text = String::new();
    tessera_abi::document::registers(&mut text).unwrap();
    is_up_to_date("registers.md", &text);
}

#[test]
fn the_wire_document_is_up_to_date() {
    let mut text = String::new();
    tessera_abi::document::wire(&mut text).unwrap();
    is_up_to_date("wire.md", &text);
}

/// Rust and Markdown files below `folder`, build products aside.
fn texts(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with('.') || name == "target" {
            continue;
        }
        if path.is_dir() {
            texts(&path, found);
        } else if name.ends_with(".rs") || name.ends_with(".md") {
            found.push(path);
        }
    }
}

/// The paths of `crates` that `line` names: `<crate>/(src|tests|benches)/...`.
fn pointers<'a>(line: &'a str, crates: &'a [&str]) -> impl Iterator<Item = &'a str> + 'a {
    line.split(|c: char| !(c.is_ascii_alphanumeric() || "/_-.".contains(c)))
        .map(|word| word.trim_end_matches(['.', '-']))
        .filter(move |word| {
            let mut parts = word.split('/');
            crates.contains(&parts.next().unwrap_or_default())
                && matches!(parts.next(), Some("src" | "tests" | "benches"))
                && parts.next().is_some()
        })
}

#[test]
fn what_texts_point_to_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let crates = ["abi", "model", "rtl", "driver", "driver-tokio", "sim", "testbenches", "cli", "fpga"];
    let mut files = Vec::new();
    texts(&root, &mut files);
    let (mut seen, mut stale) = (0, Vec::new());
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        for (number, line) in text.lines().enumerate() {
            for pointer in pointers(line, &crates) {
                seen += 1;
                if !root.join(pointer).exists() {
                    stale.push(format!("{}:{}: {pointer}", file.display(), number + 1));
                }
            }
        }
    }
    assert!(seen > 20, "only {seen} pointers found: does the search still work?");
    assert!(stale.is_empty(), "these name files that are not there:\n{}", stale.join("\n"));
}

#[test]
fn every_decision_is_in_the_index() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/decisions");
    let index = std::fs::read_to_string(folder.join("README.md")).unwrap();
    let names =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let missing: Vec<String> =
        names.filter(|name| name != "README.md" && !index.contains(&format!("({name})"))).collect();
    assert!(missing.is_empty(), "docs/decisions/README.md lacks {missing:?}");
}

#[test]
fn the_tests_of_the_bug_classes_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = std::fs::read_to_string(root.join("docs/bug-classes.md")).unwrap();
    let (mut seen, mut missing) = (0, Vec::new());
    for named in page.split('`').filter(|word| word.contains(".rs::")) {
        let (file, test) = named.split_once("::").unwrap();
        let path = match file.split_once('/') {
            Some(("T", rest)) => format!("testbenches/tests/{rest}"),
            Some(("M", rest)) => format!("model/tests/{rest}"),
            _ => file.to_owned(),
        };
        let text = std::fs::read_to_string(root.join(&path)).unwrap_or_default();
        seen += 1;
        if !is_a_test(&text, test) {
            missing.push(named);
        }
    }
    assert!(seen > 60, "only {seen} tests found on the page");
    assert!(missing.is_empty(), "these tests are not there: {missing:#?}");
}

/// A function of that name stands in the text, and `cargo test` runs it, itself or by
/// `both_widths!`.
fn is_a_test(text: &str, name: &str) -> bool {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let Some(at) = lines.iter().position(|line| line.starts_with(&format!("fn {name}("))) else {
        return false;
    };
    let above = lines[..at].iter().rev().take_while(|line| line.starts_with('#') || line.starts_with("//"));
    let above: Vec<&str> = above.copied().collect();
    let widths = text.split_once("both_widths!(").and_then(|(_, rest)| rest.split_once(')'));
    let on_both = widths.is_some_and(|(names, _)| names.split(',').any(|word| word.trim() == name));
    (above.contains(&"#[test]") || on_both) && !above.iter().any(|line| line.starts_with("#[ignore"))
}

#[test]
fn no_text_holds_both_sides_of_a_merge() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    texts(&root, &mut files);
    let markers = ["<", "=", ">"].map(|sign| sign.repeat(7));
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let line = text.lines().position(|line| markers.iter().any(|marker| line.starts_with(marker)));
        assert!(line.is_none(), "{}:{}: a marker of a merge", file.display(), line.unwrap_or(0) + 1);
    }
}
