//! Which memories there are, read from the Verilog.

use tessera_rtl::emit;
use tessera_rtl::memories::{memories, within_ultra_rams, Memory};
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

/// A design of modules with a memory each, as the emitter writes them: name, style, width, depth, instances.
fn design(kinds: &[(&str, &str, usize, usize, usize)]) -> String {
    let (mut text, mut top) = (String::new(), "module top (\n);\n".to_owned());
    for (name, style, width, depth, count) in kinds {
        let (msb, last) = (width - 1, depth - 1);
        text += &format!("module {name} (\n);\n  (* ram_style = \"{style}\", no_rw_check *) ");
        text += &format!("reg [{msb}:0] mem [0:{last}];\nendmodule\n");
        for instance in 0..*count {
            top += &format!("  {name} {name}_{instance} (\n  );\n");
        }
    }
    text + &top + "endmodule\n"
}

/// Whatever the limit: no more UltraRAM than that, no other choice of modules saves more block RAM, and what is said
/// of the design is what it declares.
#[test]
fn what_stays_in_ultra_ram_saves_the_most_block_ram() {
    let kinds = [
        ("shallow", "ultra", 512, 512, 3),
        ("wide", "ultra", 447, 4096, 1),
        ("narrow", "ultra", 29, 4096, 2),
        ("deep", "ultra", 143, 16384, 1),
        ("other", "block", 72, 512, 4),
        ("small", "distributed", 8, 16, 5),
    ];
    let text = design(&kinds);
    let cost = |text: &str| {
        let found = memories(text, "top");
        let blocks = found.iter().filter(|memory| memory.style == "block").map(Memory::block_rams);
        (found.iter().map(Memory::ultra_rams).sum::<usize>(), blocks.sum::<usize>())
    };
    let (wanted, before) = cost(&text);
    assert_eq!(wanted, 3 * 8 + 7 + 2 + 8, "UltraRAMs of 4096 words of 72 bits");
    for limit in 0..=wanted + 1 {
        let made = within_ultra_rams(&text, "top", limit);
        let (used, blocks) = cost(&made.verilog);
        assert_eq!((made.wanted, made.used, made.moved), (wanted, used, blocks - before), "{limit}");
        assert!(used <= limit, "{used} of {limit}");
        let best = (0..16).map(|stay| {
            let mut kinds = kinds;
            for (at, kind) in kinds.iter_mut().enumerate().take(4).filter(|(at, _)| stay >> at & 1 == 0) {
                assert_eq!(kind.1, "ultra", "{at}");
                kind.1 = "block";
            }
            cost(&design(&kinds))
        });
        let best = best.filter(|(ultra, _)| *ultra <= limit).map(|(_, blocks)| blocks).min();
        assert_eq!(Some(blocks), best, "{limit}");
        // Nothing but the kind of RAM is another.
        let plain = |text: &str| text.replace("\"ultra\"", "\"block\"");
        assert_eq!(plain(&made.verilog), plain(&text), "{limit}");
    }
    assert_eq!(within_ultra_rams(&text, "top", wanted).verilog, text);
}
