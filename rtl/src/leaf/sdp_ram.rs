//! A RAM with a port for writes and one for reads.

use super::{garbled, UNCHECKED};
use rust_hdl::prelude::*;

/// A simple-dual-port RAM: one write port, one read port, one clock.
///
/// `read_data` is the word at `read_address` one clock later. What a read of the
/// address being written in the same clock returns is not to be used: block RAMs of
/// some FPGAs know neither the old word nor the new one then, and a synthesiser would
/// put two registers and a multiplexer beside each bit. Under Verilator it is the
/// inverted word, so that a block which uses it is found out. An owner that needs the
/// old word asks for it ([`reads_old`](Self::reads_old)), one that needs the new one
/// forwards it. Contents are unknown until written, so owners clear their RAM after
/// reset.
///
/// The depth is data of the configuration; address bits above it are ignored.
#[derive(Clone, Debug, LogicBlock)]
pub struct SdpRam<T: Synth, const A: usize> {
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
    _style: &'static str,
    _old: bool,
    _zeros: bool,
    _words: std::collections::BTreeMap<u64, T>,
}

impl<T: Synth, const A: usize> SdpRam<T, A> {
    /// A RAM of `2^depth_log2` words. Up to 32 of them lie in LUTs, up to 128 if that are no more
    /// than 4 kbit, and 256 of one bit: a block RAM would stay nearly empty. From 4096 words of at
    /// least 24 bits on, or of 512 kbit, they lie in UltraRAM, which has that many of 72 bits.
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
            _style: if depth_log2 <= 5
                || (depth_log2 <= 7 && T::BITS << depth_log2 <= 4096)
                || T::BITS << depth_log2 <= 256
            {
                "distributed"
            } else if (depth_log2 >= 12 && T::BITS >= 24) || T::BITS << depth_log2 >= 1 << 19 {
                "ultra"
            } else {
                "block"
            },
            _old: false,
            _zeros: false,
            _words: std::collections::BTreeMap::new(),
        }
    }

    /// The same RAM, of which a read of the address being written returns the old word.
    pub fn reads_old(self) -> Self {
        Self { _old: true, ..self }
    }

    /// The same RAM, whose words are 0 until they are written: for one that a neighbour outside of the
    /// NIC reads, which chokes in a four-state simulator on what nobody wrote. In simulation only: such
    /// RAMs of an FPGA power up so by themselves, and UltraRAM has no initial words to be told.
    pub fn from_zeros(self) -> Self {
        Self { _zeros: true, ..self }
    }

    /// The same RAM with another `ram_style` hint (`"ultra"`, `"distributed"`).
    pub fn with_style(self, style: &'static str) -> Self {
        Self { _style: style, ..self }
    }

    fn word(&self, address: Bits<A>) -> u64 {
        let mut value = 0;
        for bit in 0..self._depth_log2 {
            value |= u64::from(address.get_bit(bit)) << bit;
        }
        value
    }
}

impl<T: Synth, const A: usize> Logic for SdpRam<T, A> {
    fn update(&mut self) {
        if self.clock.pos_edge() {
            let read = self.word(self.read_address.val());
            self.read_data.next = self._words.get(&read).copied().unwrap_or_default();
            if self.write_enable.val() {
                let write = self.word(self.write_address.val());
                self._words.insert(write, self.write_data.val());
            }
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
        let collision = if self._old { String::new() } else { garbled("read_data", depth - 1) };
        let zeros = if self._zeros {
            format!(
                "`ifndef SYNTHESIS\ninteger word;\n\
                 initial for (word = 0; word < {words}; word = word + 1) mem[word] = {width}'h0;\n`endif\n",
                words = 1usize << depth
            )
        } else {
            String::new()
        };
        // LUT RAM is read first and registered then, which gives the old word for nothing.
        let checked = self._old || self._style == "distributed";
        Verilog::Custom(format!(
            "// cell: sdp_ram_{width}x{words}\n\
             (* ram_style = \"{style}\"{unchecked} *) reg [{msb}:0] mem [0:{last}];\n\
             {zeros}always @(posedge clock) begin\n\
             \x20 if (write_enable) mem[write_address[{top}:0]] <= write_data;\n\
             \x20 read_data <= mem[read_address[{top}:0]];\n\
             {collision}end\n{unused}",
            words = 1usize << depth,
            style = self._style,
            unchecked = if checked { "" } else { UNCHECKED },
            msb = width - 1,
            last = (1usize << depth) - 1,
            top = depth - 1,
        ))
    }
}
