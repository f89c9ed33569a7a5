//! A RAM of slices of a wide word.

use super::UNCHECKED;
use rust_hdl::prelude::*;

/// A simple-dual-port block RAM of wide words that come and go as four slices, a quarter of the word
/// each: a fourth of the block RAMs, and of the wires to them.
///
/// A word is written by `write_enable` with `write_slice` 0 to 3 at one address, `write_data` the same
/// meanwhile. It is read by `read_enable` with `read_slice` 0 to 3 at one address; two clocks after the
/// last of them `read_data` is the word, until slice 0 of another comes. No word is read while it is
/// written. Contents are unknown until written.
#[derive(Clone, Debug, LogicBlock)]
pub struct SliceRam<T: Synth, const A: usize> {
    /// Rising edge writes and reads.
    pub clock: Signal<In, Clock>,
    /// High to store a slice of `write_data`.
    pub write_enable: Signal<In, Bit>,
    /// Word to store to.
    pub write_address: Signal<In, Bits<A>>,
    /// Which slice of it.
    pub write_slice: Signal<In, Bits<2>>,
    /// Word to store.
    pub write_data: Signal<In, T>,
    /// High to read a slice.
    pub read_enable: Signal<In, Bit>,
    /// Word to read.
    pub read_address: Signal<In, Bits<A>>,
    /// Which slice of it.
    pub read_slice: Signal<In, Bits<2>>,
    /// The word.
    pub read_data: Signal<Out, T>,
    _depth_log2: usize,
    _words: std::collections::BTreeMap<u64, T>,
    _read: Option<T>,
}

impl<T: Synth, const A: usize> SliceRam<T, A> {
    /// A RAM of `2^depth_log2` words.
    ///
    /// # Panics
    /// When `depth_log2` is 0 or above `A`: a configuration error.
    pub fn new(depth_log2: usize) -> Self {
        assert!((1..=A).contains(&depth_log2), "RAM depth 2^{depth_log2} does not fit {A} address bits");
        Self {
            clock: Signal::default(),
            write_enable: Signal::default(),
            write_address: Signal::default(),
            write_slice: Signal::default(),
            write_data: Signal::default(),
            read_enable: Signal::default(),
            read_address: Signal::default(),
            read_slice: Signal::default(),
            read_data: Signal::default(),
            _depth_log2: depth_log2,
            _words: std::collections::BTreeMap::new(),
            _read: None,
        }
    }

    fn word(&self, address: Bits<A>) -> u64 {
        (0..self._depth_log2).fold(0, |value, bit| value | u64::from(address.get_bit(bit)) << bit)
    }
}

impl<T: Synth, const A: usize> Logic for SliceRam<T, A> {
    /// Whole words only: nothing is said of what is seen between slices.
    fn update(&mut self) {
        if self.clock.pos_edge() {
            if let Some(word) = self._read.take() {
                self.read_data.next = word;
            }
            if self.read_enable.val() && self.read_slice.val().index() == 3 {
                let read = self.word(self.read_address.val());
                self._read = Some(self._words.get(&read).copied().unwrap_or_default());
            }
            if self.write_enable.val() && self.write_slice.val().index() == 3 {
                let write = self.word(self.write_address.val());
                self._words.insert(write, self.write_data.val());
            }
        }
    }

    fn connect(&mut self) {
        self.read_data.connect();
    }

    fn hdl(&self) -> Verilog {
        let (bits, depth) = (T::BITS, self._depth_log2);
        let width = bits.div_ceil(4);
        let unused = if depth < A {
            format!(
                "wire unused_address_bits = &{{1'b0, write_address[{top}:{depth}], read_address[{top}:{depth}]}};\n",
                top = A - 1
            )
        } else {
            String::new()
        };
        // Bits of slice `at`; the last may have fewer.
        let range = |at: usize| (at * width, ((at + 1) * width).min(bits));
        let part = |at: usize| {
            let (from, to) = range(at);
            let missing = width - (to - from);
            match missing {
                0 => format!("write_data[{}:{from}]", to - 1),
                _ => format!("{{{missing}'b0, write_data[{}:{from}]}}", to - 1),
            }
        };
        let joins: String = (0..4)
            .map(|at| {
                let (from, to) = range(at);
                format!(
                    "\x20 if (joins && slice == 2'd{at}) read_data[{}:{from}] <= stored[{}:0];\n",
                    to - 1,
                    to - from - 1
                )
            })
            .collect();
        let top = depth - 1;
        Verilog::Custom(format!(
            "// cell: slice_ram_{bits}x{words}\n\
             (* ram_style = \"block\"{UNCHECKED} *) reg [{msb}:0] mem [0:{last}];\n\
             reg [{msb}:0] stored;\n\
             reg [1:0] slice;\n\
             reg joins;\n\
             wire [{above}:0] write_at = {{write_address[{top}:0], write_slice}};\n\
             wire [{above}:0] read_at = {{read_address[{top}:0], read_slice}};\n\
             reg [{msb}:0] part;\n\
             always @(*) case (write_slice)\n\
             \x20 2'd0: part = {};\n\
             \x20 2'd1: part = {};\n\
             \x20 2'd2: part = {};\n\
             \x20 default: part = {};\n\
             endcase\n\
             always @(posedge clock) begin\n\
             \x20 if (write_enable) mem[write_at] <= part;\n\
             \x20 stored <= mem[read_at];\n\
             `ifdef VERILATOR\n\
             \x20 if (write_enable && write_at == read_at) stored <= ~mem[read_at];\n\
             `endif\n\
             \x20 joins <= read_enable;\n\
             \x20 slice <= read_slice;\n\
             {joins}end\n{unused}",
            part(0),
            part(1),
            part(2),
            part(3),
            words = 1usize << depth,
            msb = width - 1,
            last = (4usize << depth) - 1,
            above = depth + 1,
        ))
    }
}
