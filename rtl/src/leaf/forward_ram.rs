//! A RAM for FIFOs, of which a word may be read in the clock in which it is written.

use super::{garbled, UNCHECKED};
use rust_hdl::prelude::*;

/// A simple-dual-port RAM that forwards: `read_data` is the word at
/// `read_address` one clock later, one written in the same clock included.
///
/// A reader that gives the address it will be at, clock by clock, has the word
/// before it as if the RAM's output were a register. Up to 64 words, or 128 of a
/// few bits, lie in LUTs, read at the registered address; more in a block RAM, or
/// what is asked to ([`in_block`](Self::in_block)), and what is written to the
/// address being read goes past it, unless its owner has no use for such a read
/// ([`without_passing`](Self::without_passing)).
#[derive(Clone, Debug, LogicBlock)]
pub struct ForwardRam<T: Synth, const A: usize> {
    /// Rising edge writes and reads.
    pub clock: Signal<In, Clock>,
    /// High to store `write_data`.
    pub write_enable: Signal<In, Bit>,
    /// Word to store to.
    pub write_address: Signal<In, Bits<A>>,
    /// Word to store.
    pub write_data: Signal<In, T>,
    /// Word to read.
    pub read_address: Signal<In, Bits<A>>,
    /// The word, one clock after its address.
    pub read_data: Signal<Out, T>,
    _depth_log2: usize,
    _block: bool,
    _passes: bool,
    _words: std::collections::BTreeMap<u64, T>,
}

impl<T: Synth, const A: usize> ForwardRam<T, A> {
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
            write_data: Signal::default(),
            read_address: Signal::default(),
            read_data: Signal::default(),
            _depth_log2: depth_log2,
            _block: false,
            _passes: true,
            _words: std::collections::BTreeMap::new(),
        }
    }

    /// The same in a block RAM, however few words it has.
    pub fn in_block(mut self) -> Self {
        self._block = true;
        self
    }

    /// The same in a block RAM from `2^least_log2` words on.
    pub fn in_block_from(mut self, least_log2: usize) -> Self {
        self._block = self._depth_log2 >= least_log2;
        self
    }

    /// The same for an owner that uses no word read in the clock in which it is written: nothing goes past the
    /// block RAM, which is two registers and a multiplexer less for each bit. Under Verilator such a read
    /// gives the inverted word, as that of an [`SdpRam`](super::SdpRam) does.
    pub fn without_passing(mut self) -> Self {
        self._passes = false;
        self
    }

    /// Whether it lies in LUTs.
    pub fn is_distributed(&self) -> bool {
        if self._block {
            return false;
        }
        self._depth_log2 <= 6 || (self._depth_log2 <= 7 && T::BITS << self._depth_log2 <= 4096)
    }

    fn word(&self, address: Bits<A>) -> u64 {
        (0..self._depth_log2).fold(0, |value, bit| value | u64::from(address.get_bit(bit)) << bit)
    }
}

impl<T: Synth, const A: usize> Logic for ForwardRam<T, A> {
    fn update(&mut self) {
        if self.clock.pos_edge() {
            if self.write_enable.val() {
                let write = self.word(self.write_address.val());
                self._words.insert(write, self.write_data.val());
            }
            let read = self.word(self.read_address.val());
            self.read_data.next = self._words.get(&read).copied().unwrap_or_default();
        }
    }

    fn connect(&mut self) {
        self.read_data.connect();
    }

    fn hdl(&self) -> Verilog {
        let (width, depth) = (T::BITS, self._depth_log2);
        let unused = if depth < A {
            format!(
                "wire unused_address_bits = &{{1'b0, write_address[{top}:{depth}], read_address[{top}:{depth}]}};\n",
                top = A - 1
            )
        } else {
            String::new()
        };
        let (words, last, msb, top) = (1usize << depth, (1usize << depth) - 1, width - 1, depth - 1);
        let text = if self.is_distributed() {
            format!(
                "// cell: forward_ram_{width}x{words}\n\
                 (* ram_style = \"distributed\" *) reg [{msb}:0] mem [0:{last}];\n\
                 reg [{top}:0] at;\n\
                 always @(posedge clock) begin\n\
                 \x20 if (write_enable) mem[write_address[{top}:0]] <= write_data;\n\
                 \x20 at <= read_address[{top}:0];\n\
                 end\n\
                 assign read_data = mem[at];\n{unused}"
            )
        } else if !self._passes {
            let collision = garbled("stored", top);
            format!(
                "// cell: forward_ram_{width}x{words}\n\
                 (* ram_style = \"block\"{UNCHECKED} *) reg [{msb}:0] mem [0:{last}];\n\
                 reg [{msb}:0] stored;\n\
                 always @(posedge clock) begin\n\
                 \x20 if (write_enable) mem[write_address[{top}:0]] <= write_data;\n\
                 \x20 stored <= mem[read_address[{top}:0]];\n{collision}\
                 end\n\
                 assign read_data = stored;\n{unused}"
            )
        } else {
            let collision = garbled("stored", top);
            format!(
                "// cell: forward_ram_{width}x{words}\n\
                 (* ram_style = \"block\"{UNCHECKED} *) reg [{msb}:0] mem [0:{last}];\n\
                 reg [{msb}:0] stored;\n\
                 reg [{msb}:0] passed;\n\
                 reg passes;\n\
                 always @(posedge clock) begin\n\
                 \x20 if (write_enable) mem[write_address[{top}:0]] <= write_data;\n\
                 \x20 stored <= mem[read_address[{top}:0]];\n{collision}\
                 \x20 passed <= write_data;\n\
                 \x20 passes <= write_enable && write_address[{top}:0] == read_address[{top}:0];\n\
                 end\n\
                 assign read_data = passes ? passed : stored;\n{unused}"
            )
        };
        Verilog::Custom(text)
    }
}
