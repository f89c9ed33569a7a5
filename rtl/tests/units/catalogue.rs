//! What the sources say of a block.

use tessera_rtl::emit::catalogue::{doc_of, kind_of, type_name};
use tessera_rtl::prelude::{Bits, Dff};

#[test]
fn sources_are_read() {
    let dff = type_name::<Dff<Bits<3>>>();
    assert_eq!(dff, Some("Dff"));
    assert_eq!(kind_of(dff, "d"), Some("Signal"));
    assert_eq!(doc_of(dff, "q"), Some("Present value."));
    assert_eq!(kind_of(dff, "none"), None);
    assert_eq!(kind_of(Some("NoSuchBlock"), "d"), None);
    assert_eq!(type_name::<Vec<u8>>(), None);
}
