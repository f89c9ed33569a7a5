//! The leaf cells: the Rust `update` against the hand-written Verilog.

use crate::bench::{agree, random_vectors, FromBits};
use num_bigint::BigUint;
use tessera_rtl::emit::{export, with_big_stack};
use tessera_rtl::prelude::*;
use tessera_sim::tb::{self, Rng};

/// A word as blocks store it.
#[derive(Copy, Clone, Debug, Default, PartialEq, LogicStruct)]
pub struct Word {
    pub valid: Bit,
    pub value: Bits<70>,
}

impl FromBits for Word {
    fn from_bits(value: &BigUint) -> Self {
        Word { valid: value.bit(0), value: Bits::from_bits(&(value >> 1usize)) }
    }
}

#[derive(LogicBlock)]
struct Cells {
    pub clock: Signal<In, Clock>,
    pub word: Signal<In, Word>,
    pub narrow: Signal<In, Bit>,
    pub write: Signal<In, Bit>,
    pub write_address: Signal<In, Bits<5>>,
    pub read_address: Signal<In, Bits<5>>,
    pub word_q: Signal<Out, Word>,
    pub narrow_q: Signal<Out, Bit>,
    pub full: Signal<Out, Word>,
    pub folded: Signal<Out, Bits<3>>,
    pub enables: Signal<In, Bits<4>>,
    pub bytes: Signal<Out, Bits<32>>,
    pub folded_bytes: Signal<Out, Bits<16>>,
    word_dff: Dff<Word>,
    narrow_dff: Dff<Bit>,
    full_ram: SdpRam<Word, 5>,
    folded_ram: SdpRam<Bits<3>, 5>,
    pub forwarded: Signal<Out, Word>,
    pub forwarded_deep: Signal<Out, Word>,
    forward_ram: ForwardRam<Word, 5>,
    forward_ram_deep: ForwardRam<Word, 7>,
    pub read_now: Signal<Out, Word>,
    lut_ram: LutRam<Word, 5>,
    byte_ram: ByteRam<32, 4, 5>,
    folded_byte_ram: ByteRam<16, 2, 5>,
    pub cleared: Signal<Out, Bits<32>>,
    byte_dff: ByteDff<32, 4>,
}

impl Default for Cells {
    fn default() -> Self {
        Self {
            clock: Default::default(),
            word: Default::default(),
            narrow: Default::default(),
            write: Default::default(),
            write_address: Default::default(),
            read_address: Default::default(),
            word_q: Default::default(),
            narrow_q: Default::default(),
            full: Default::default(),
            folded: Default::default(),
            enables: Default::default(),
            bytes: Default::default(),
            folded_bytes: Default::default(),
            word_dff: Default::default(),
            narrow_dff: Default::default(),
            full_ram: SdpRam::new(5).reads_old(),
            folded_ram: SdpRam::new(2).with_style("distributed").reads_old(),
            forwarded: Default::default(),
            forwarded_deep: Default::default(),
            forward_ram: ForwardRam::new(3),
            forward_ram_deep: ForwardRam::new(7),
            read_now: Default::default(),
            lut_ram: LutRam::new(),
            byte_ram: ByteRam::new(5),
            folded_byte_ram: ByteRam::new(2),
            cleared: Default::default(),
            byte_dff: ByteDff::new(),
        }
    }
}

impl Logic for Cells {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, word_dff, narrow_dff, full_ram, folded_ram, byte_ram, folded_byte_ram);
        clock!(self, clock, forward_ram, forward_ram_deep, lut_ram, byte_dff);
        self.byte_dff.enable.next = self.narrow.val();
        self.byte_dff.clear.next = self.enables.val();
        self.byte_dff.d.next = self.word.val().value.get_bits::<32>(30);
        self.cleared.next = self.byte_dff.q.val();
        self.lut_ram.write_enable.next = self.write.val();
        self.lut_ram.write_address.next = self.write_address.val();
        self.lut_ram.read_address.next = self.read_address.val();
        self.lut_ram.write_data.next = self.word.val();
        self.read_now.next = self.lut_ram.read_data.val();
        self.forward_ram.write_enable.next = self.write.val();
        self.forward_ram.write_address.next = self.write_address.val();
        self.forward_ram.read_address.next = self.read_address.val();
        self.forward_ram.write_data.next = self.word.val();
        self.forward_ram_deep.write_enable.next = self.write.val();
        self.forward_ram_deep.write_address.next = bit_cast::<7, 5>(self.write_address.val());
        self.forward_ram_deep.read_address.next = bit_cast::<7, 5>(self.read_address.val());
        self.forward_ram_deep.write_data.next = self.word.val();
        self.forwarded.next = self.forward_ram.read_data.val();
        self.forwarded_deep.next = self.forward_ram_deep.read_data.val();
        self.word_dff.d.next = self.word.val();
        self.narrow_dff.d.next = self.narrow.val();
        self.full_ram.write_enable.next = self.write.val();
        self.full_ram.write_address.next = self.write_address.val();
        self.full_ram.read_address.next = self.read_address.val();
        self.full_ram.write_data.next = self.word.val();
        self.folded_ram.write_enable.next = self.write.val();
        self.folded_ram.write_address.next = self.write_address.val();
        self.folded_ram.read_address.next = self.read_address.val();
        self.folded_ram.write_data.next = self.word.val().value.get_bits::<3>(0);
        self.byte_ram.write_enable.next = self.enables.val();
        self.byte_ram.write_address.next = self.write_address.val();
        self.byte_ram.read_address.next = self.read_address.val();
        self.byte_ram.write_data.next = self.word.val().value.get_bits::<32>(8);
        self.folded_byte_ram.write_enable.next = self.enables.val().get_bits::<2>(1);
        self.folded_byte_ram.write_address.next = self.write_address.val();
        self.folded_byte_ram.read_address.next = self.read_address.val();
        self.folded_byte_ram.write_data.next = self.word.val().value.get_bits::<16>(20);
        self.bytes.next = self.byte_ram.read_data.val();
        self.folded_bytes.next = self.folded_byte_ram.read_data.val();
        self.word_q.next = self.word_dff.q.val();
        self.narrow_q.next = self.narrow_dff.q.val();
        self.full.next = self.full_ram.read_data.val();
        self.folded.next = self.folded_ram.read_data.val();
    }
}

drive!(Cells: word, narrow, write, write_address, read_address, enables);

#[test]
fn leaf_cells_behave_as_their_text() {
    let mut rng = Rng::for_test("leaf_cells_behave_as_their_text");
    with_big_stack(|| {
        let mut cells = Cells::default();
        let export = export(&mut cells, "cells").unwrap();
        assert!(export.verilog.contains("module tessera_sdp_ram_71x32 "));
        assert!(export.verilog.contains("ram_style = \"distributed\""));
        assert!(export.verilog.contains("module tessera_byte_ram_32x32 "));
        assert!(export.verilog.contains("module tessera_byte_dff_32 "));
        assert!(export.verilog.contains("module tessera_lut_ram_71x32 "));
        assert!(export.verilog.contains("module tessera_forward_ram_71x8 "));
        assert!(export.verilog.contains("module tessera_forward_ram_71x128 "));
        // Small address space: reads of the word being written happen often.
        let vectors = random_vectors(&mut rng, &export, 3000);
        agree(&mut cells, &export, &vectors);
    });
}

/// Who uses a word that is read where it is written finds out under Verilator, whatever the RAM is made of.
#[test]
fn what_is_read_where_it_is_written_is_of_no_use() {
    let rams = [("ram_block", "block", ", no_rw_check"), ("ram_distributed", "distributed", "")];
    for (top, style, attribute) in rams {
        let design = tessera_testbenches::design(top, || SdpRam::<Bits<16>, 4>::new(3).with_style(style));
        assert!(design.verilog.contains(&format!("(* ram_style = \"{style}\"{attribute} *)")));
        tb::run(&format!("emit::{top}"), &design, |dut, rng| {
            let ports = ["write_enable", "write_address", "write_data", "read_address", "read_data"];
            let [enable, at, data, from, word] = ports.map(|name| dut.port(name).unwrap());
            let mut words: [Option<u64>; 8] = [None; 8];
            let mut judged = 0;
            for _ in 0..2000 {
                let (writes, to, value, read) =
                    (rng.chance(0.7), rng.below(8) as usize, rng.bits(16), rng.below(8) as usize);
                dut.set(enable, writes);
                dut.set(at, to as u64);
                dut.set(data, value);
                dut.set(from, read as u64);
                dut.clock();
                let garbled = writes && to == read;
                if let Some(old) = words[read] {
                    let due = if garbled { !old & 0xffff } else { old };
                    assert_eq!(dut.get(word), due, "word {read}, written then: {garbled}");
                    judged += usize::from(garbled);
                }
                if writes {
                    words[to] = Some(value);
                }
            }
            assert!(judged > 50, "{judged}");
        });
    }
}

/// Whole words of [`SliceRam`]; what is seen between slices is nobody's business.
#[derive(LogicBlock)]
struct Sliced {
    pub clock: Signal<In, Clock>,
    pub word: Signal<In, Word>,
    pub write: Signal<In, Bit>,
    pub write_address: Signal<In, Bits<4>>,
    pub write_slice: Signal<In, Bits<2>>,
    pub read: Signal<In, Bit>,
    pub read_address: Signal<In, Bits<4>>,
    pub read_slice: Signal<In, Bits<2>>,
    pub shown: Signal<In, Bit>,
    pub q: Signal<Out, Word>,
    ram: SliceRam<Word, 4>,
}

impl Logic for Sliced {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, ram);
        self.ram.write_data.next = self.word.val();
        self.ram.write_enable.next = self.write.val();
        self.ram.write_address.next = self.write_address.val();
        self.ram.write_slice.next = self.write_slice.val();
        self.ram.read_enable.next = self.read.val();
        self.ram.read_address.next = self.read_address.val();
        self.ram.read_slice.next = self.read_slice.val();
        self.q.next.valid = false;
        self.q.next.value = 0.into();
        if self.shown.val() {
            self.q.next = self.ram.read_data.val();
        }
    }
}

drive!(Sliced: word, write, write_address, write_slice, read, read_address, read_slice, shown);

#[test]
fn words_in_slices_behave_as_their_text() {
    let mut rng = Rng::for_test("words_in_slices_behave_as_their_text");
    with_big_stack(|| {
        let mut cells = Sliced {
            clock: Default::default(),
            word: Default::default(),
            write: Default::default(),
            write_address: Default::default(),
            write_slice: Default::default(),
            read: Default::default(),
            read_address: Default::default(),
            read_slice: Default::default(),
            shown: Default::default(),
            q: Default::default(),
            ram: SliceRam::new(3),
        };
        let export = export(&mut cells, "sliced").unwrap();
        assert!(export.verilog.contains("module tessera_slice_ram_71x8 "));
        // Slices of 18 bits, the last of 17: eight words of four.
        assert!(export.verilog.contains("reg [17:0] mem [0:31];"));
        let mut vectors = Vec::new();
        let mut now = |of: [BigUint; 8]| vectors.push(of.to_vec());
        let number = |value: u64| BigUint::from(value);
        let word = |rng: &mut Rng| {
            let [low, high] = [rng.bits(64), rng.bits(7)];
            BigUint::from(high) << 64usize | BigUint::from(low)
        };
        // Every word, then reads beside writes of others.
        for address in 0..8u64 {
            let value = word(&mut rng);
            for slice in 0..4 {
                let [at, slice] = [number(address), number(slice)];
                let nothing = || number(0);
                now([value.clone(), number(1), at, slice, nothing(), nothing(), nothing(), nothing()]);
            }
        }
        for _ in 0..300 {
            let (value, to) = (word(&mut rng), rng.below(8));
            let from = (to + 1 + rng.below(7)) % 8;
            // What is beside the depth does not matter.
            let [to, from] = [to, from].map(|at| number(at + 8 * rng.below(2)));
            let writes = number(rng.below(2));
            for slice in 0..4 {
                let slice = number(slice);
                now([
                    value.clone(),
                    writes.clone(),
                    to.clone(),
                    slice.clone(),
                    number(1),
                    from.clone(),
                    slice,
                    number(0),
                ]);
            }
            for shown in [0, 1, 1] {
                let other = [word(&mut rng), number(0), to.clone(), number(3), number(0)];
                let [a, b, c, d, e] = other;
                now([a, b, c, d, e, to.clone(), number(rng.below(4)), number(shown)]);
            }
        }
        agree(&mut cells, &export, &vectors);
    });
}
