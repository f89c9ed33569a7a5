//! Which memories there are, read from the Verilog.

use tessera_rtl::emit;
use tessera_rtl::memories::{memories, Memory};
use tessera_rtl::prelude::*;
use tessera_rtl::stream::Fifo;

#[test]
fn a_fifo_declares_its_words() {
    let export = emit::export(&mut Fifo::<Bits<40>, 10>::new(10), "fifo").unwrap();
    let found = memories(&export.verilog, "fifo");
    let expected = Memory { path: "ram".into(), style: "block".into(), width: 40, depth: 1024 };
    assert_eq!(found, [expected]);
    assert_eq!(found[0].bits(), 40960);
    // 18 bits wide at this depth, so three beside each other.
    assert_eq!(found[0].block_rams(), 3);
    assert!(found[0].is_in("ram") && !found[0].is_in("ra"));
}

#[test]
fn small_memories_take_no_block() {
    let export = emit::export(&mut Fifo::<Bits<40>, 5>::new(5), "fifo").unwrap();
    assert_eq!(memories(&export.verilog, "fifo")[0].block_rams(), 0);
}
