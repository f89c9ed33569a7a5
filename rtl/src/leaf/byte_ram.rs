//! A RAM of words that are written byte by byte.

use rust_hdl::prelude::*;

/// A simple-dual-port block RAM whose bytes are written one by one: `W` bits, `K = W / 8` bytes.
///
/// Otherwise as [`SdpRam`](super::SdpRam).
#[derive(Clone, Debug, LogicBlock)]
pub struct ByteRam<const W: usize, const K: usize, const A: usize> {
    /// Rising edge writes and reads.
    pub clock: Signal<In, Clock>,
    /// High to store a byte of `write_data`.
    pub write_enable: Signal<In, Bits<K>>,
    /// Word to store to.
    pub write_address: Signal<In, Bits<A>>,
    /// Word to store.
    pub write_data: Signal<In, Bits<W>>,
    /// Word to read.
    pub read_address: Signal<In, Bits<A>>,
    /// The word, one clock after its address.
    pub read_data: Signal<Out, Bits<W>>,
    _depth_log2: usize,
    _style: &'static str,
    _words: std::collections::BTreeMap<u64, Bits<W>>,
}

impl<const W: usize, const K: usize, const A: usize> ByteRam<W, K, A> {
    /// A RAM of `2^depth_log2` words.
    ///
    /// # Panics
    /// When `depth_log2` is 0 or above `A`, or `K` is not `W`'s bytes.
    pub fn new(depth_log2: usize) -> Self {
        assert!((1..=A).contains(&depth_log2), "RAM depth 2^{depth_log2} does not fit {A} address bits");
        assert!(W == 8 * K, "{W} bits are not {K} bytes");
        Self {
            clock: Signal::default(),
            write_enable: Signal::default(),
            write_address: Signal::default(),
            write_data: Signal::default(),
            read_address: Signal::default(),
            read_data: Signal::default(),
            _depth_log2: depth_log2,
            _style: "block",
            _words: std::collections::BTreeMap::new(),
        }
    }

    /// The same RAM with another `ram_style` hint (`"ultra"`).
    pub fn with_style(self, style: &'static str) -> Self {
        Self { _style: style, ..self }
    }

    fn word(&self, address: Bits<A>) -> u64 {
        (0..self._depth_log2).fold(0, |value, bit| value | u64::from(address.get_bit(bit)) << bit)
    }
}

impl<const W: usize, const K: usize, const A: usize> Logic for ByteRam<W, K, A> {
    fn update(&mut self) {
        if self.clock.pos_edge() {
            let read = self.word(self.read_address.val());
            self.read_data.next = self._words.get(&read).copied().unwrap_or_default();
            let write = self.word(self.write_address.val());
            let mut word = self._words.get(&write).copied().unwrap_or_default();
            for bit in (0..W).filter(|bit| self.write_enable.val().get_bit(bit / 8)) {
                word = word.replace_bit(bit, self.write_data.val().get_bit(bit));
            }
            self._words.insert(write, word);
        }
    }

    fn connect(&mut self) {
        self.read_data.connect();
    }

    fn hdl(&self) -> Verilog {
        let depth = self._depth_log2;
        let unused = if depth < A {
            format!(
                "wire unused_address_bits = &{{1'b0, write_address[{top}:{depth}], read_address[{top}:{depth}]}};\n",
                top = A - 1
            )
        } else {
            String::new()
        };
        Verilog::Custom(format!(
            "// cell: byte_ram_{W}x{words}\n\
             (* ram_style = \"{style}\" *) reg [{msb}:0] mem [0:{last}];\n\
             integer i;\n\
             always @(posedge clock) begin\n\
             \x20 for (i = 0; i < {K}; i = i + 1)\n\
             \x20   if (write_enable[i]) mem[write_address[{top}:0]][i*8 +: 8] <= write_data[i*8 +: 8];\n\
             \x20 read_data <= mem[read_address[{top}:0]];\n\
             end\n{unused}",
            style = self._style,
            words = 1usize << depth,
            msb = W - 1,
            last = (1usize << depth) - 1,
            top = depth - 1,
        ))
    }
}
