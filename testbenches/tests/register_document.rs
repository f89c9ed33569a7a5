//! `docs/registers.md` is what `abi` says. `TESSERA_BLESS=1` rewrites it.

use std::path::Path;

#[test]
fn the_register_document_is_up_to_date() {
    let mut text = String::new();
    tessera_abi::document::registers(&mut text).unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/registers.md");
    if std::env::var_os("TESSERA_BLESS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = kept.lines().zip(text.lines()).position(|(a, b)| a != b);
    assert!(
        kept == text,
        "docs/registers.md is out of date from line {}: run this test with TESSERA_BLESS=1",
        differs.map_or(kept.lines().count().min(text.lines().count()), |line| line) + 1
    );
}
