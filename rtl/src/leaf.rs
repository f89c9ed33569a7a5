//! Leaf cells: the only places where Verilog text is written by hand.
//!
//! A leaf carries the same behaviour twice, as a Rust `update` for rust-hdl's
//! simulator and as Verilog for the export; `testbenches/tests/emit/leaf.rs` runs
//! one stimulus through both.

use rust_hdl::prelude::*;

/// A register without reset, zero at configuration. `q` follows `d` one clock
/// later.
///
/// Control state is reset by its block's kernel (`if self.rst.val() { .. }`
/// at its end), data path registers are not reset at all.
/// `dff_setup!(self, clk, a, b)` wires the clock and makes each register hold.
#[derive(Clone, Debug, Default, LogicBlock)]
pub struct Dff<T: Synth> {
    /// Rising edge samples `d`.
    pub clock: Signal<In, Clock>,
    /// Next value.
    pub d: Signal<In, T>,
    /// Present value.
    pub q: Signal<Out, T>,
}

impl<T: Synth> Logic for Dff<T> {
    fn update(&mut self) {
        if self.clock.pos_edge() {
            self.q.next = self.d.val();
        }
    }

    fn connect(&mut self) {
        self.q.connect();
    }

    fn hdl(&self) -> Verilog {
        let width = T::BITS;
        Verilog::Custom(format!(
            "// cell: dff_{width}\ninitial q = {width}'h0;\nalways @(posedge clock) q <= d;\n"
        ))
    }
}

/// Tells a synthesiser that no read is used whose word is written in the same clock.
pub(crate) const UNCHECKED: &str = ", no_rw_check";

/// Verilog that makes such a read useless in simulation.
fn garbled(register: &str, top: usize) -> String {
    format!(
        "`ifdef VERILATOR\n\
         \x20 if (write_enable && write_address[{top}:0] == read_address[{top}:0])\n\
         \x20   {register} <= ~mem[read_address[{top}:0]];\n\
         `endif\n"
    )
}

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
    _words: std::collections::BTreeMap<u64, T>,
}

impl<T: Synth, const A: usize> SdpRam<T, A> {
    /// A RAM of `2^depth_log2` words. Up to 32 of them lie in LUTs, up to 128 if that are no more
    /// than 4 kbit, and 256 of one bit: a block RAM would stay nearly empty. From 4096 words of at
    /// least 24 bits on they lie in UltraRAM, which has that many of 72 bits.
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
            } else if depth_log2 >= 12 && T::BITS >= 24 {
                "ultra"
            } else {
                "block"
            },
            _old: false,
            _words: std::collections::BTreeMap::new(),
        }
    }

    /// The same RAM, of which a read of the address being written returns the old word.
    pub fn reads_old(self) -> Self {
        Self { _old: true, ..self }
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
        // LUT RAM is read first and registered then, which gives the old word for nothing.
        let checked = self._old || self._style == "distributed";
        Verilog::Custom(format!(
            "// cell: sdp_ram_{width}x{words}\n\
             (* ram_style = \"{style}\"{unchecked} *) reg [{msb}:0] mem [0:{last}];\n\
             always @(posedge clock) begin\n\
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
    /// gives the inverted word, as that of an [`SdpRam`] does.
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

/// A RAM in LUTs, read in the clock of its address: `2^A` words.
///
/// A read of the address being written returns the old word. Contents are unknown
/// until written. It may keep some bits of a word only ([`of_bits`](Self::of_bits)).
#[derive(Clone, Debug, LogicBlock)]
pub struct LutRam<T: Synth, const A: usize> {
    /// Rising edge writes.
    pub clock: Signal<In, Clock>,
    /// High to store `write_data`.
    pub write_enable: Signal<In, Bit>,
    /// Word to store to.
    pub write_address: Signal<In, Bits<A>>,
    /// Word to store.
    pub write_data: Signal<In, T>,
    /// Word to read.
    pub read_address: Signal<In, Bits<A>>,
    /// The word.
    pub read_data: Signal<Out, T>,
    _kept: Option<Vec<bool>>,
    _words: std::collections::BTreeMap<u64, T>,
}

impl<T: Synth, const A: usize> LutRam<T, A> {
    /// # Panics
    /// When it would not lie in LUTs: above 64 words, or 256 of one bit.
    pub fn new() -> Self {
        let most = if T::BITS == 1 { 8 } else { 6 };
        assert!((1..=most).contains(&A), "2^{A} words are too many to be read in the clock of their address");
        Self {
            clock: Signal::default(),
            write_enable: Signal::default(),
            write_address: Signal::default(),
            write_data: Signal::default(),
            read_address: Signal::default(),
            read_data: Signal::default(),
            _kept: None,
            _words: std::collections::BTreeMap::new(),
        }
    }

    /// The same RAM of the bits for which `keeps` holds; the others are written zero by its owner, and read
    /// as that. They take no memory.
    ///
    /// # Panics
    /// When it keeps none.
    pub fn of_bits(self, keeps: impl Fn(usize) -> bool) -> Self {
        let kept: Vec<bool> = (0..T::BITS).map(keeps).collect();
        assert!(kept.contains(&true), "a RAM of no bits");
        Self { _kept: Some(kept), ..self }
    }
}

impl<T: Synth, const A: usize> Default for LutRam<T, A> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Synth, const A: usize> Logic for LutRam<T, A> {
    fn update(&mut self) {
        if self.clock.pos_edge() && self.write_enable.val() {
            self._words.insert(self.write_address.val().index() as u64, self.write_data.val());
        }
        let read = self.read_address.val().index() as u64;
        self.read_data.next = self._words.get(&read).copied().unwrap_or_default();
    }

    fn connect(&mut self) {
        self.read_data.connect();
    }

    fn hdl(&self) -> Verilog {
        let words = 1usize << A;
        let kept: Vec<usize> = match &self._kept {
            Some(kept) => (0..T::BITS).filter(|&bit| kept[bit]).collect(),
            None => (0..T::BITS).collect(),
        };
        let width = kept.len();
        let (mut stored, mut shown) = ("write_data".to_owned(), "mem[read_address]".to_owned());
        let mut word = String::new();
        if width < T::BITS {
            let highest_first = |text: &dyn Fn(usize) -> String, bits: &mut dyn Iterator<Item = usize>| {
                format!("{{{}}}", bits.map(text).collect::<Vec<_>>().join(", "))
            };
            stored = highest_first(&|bit| format!("write_data[{bit}]"), &mut kept.iter().rev().copied());
            let place = |bit: usize| match kept.binary_search(&bit) {
                Ok(at) => format!("word[{at}]"),
                Err(_) => "1'b0".to_owned(),
            };
            word = format!("wire [{}:0] word = {shown};\n", width - 1);
            shown = highest_first(&place, &mut (0..T::BITS).rev());
            let unused = highest_first(
                &|bit| format!("write_data[{bit}]"),
                &mut (0..T::BITS).filter(|bit| kept.binary_search(bit).is_err()),
            );
            word += &format!("wire unused_bits = &{{1'b0, {unused}}};\n");
        }
        Verilog::Custom(format!(
            "// cell: lut_ram_{width}x{words}\n\
             (* ram_style = \"distributed\" *) reg [{msb}:0] mem [0:{last}];\n\
             always @(posedge clock) if (write_enable) mem[write_address] <= {stored};\n\
             {word}assign read_data = {shown};\n",
            msb = width - 1,
            last = words - 1,
        ))
    }
}

/// A simple-dual-port block RAM whose bytes are written one by one: `W` bits, `K = W / 8` bytes.
///
/// Otherwise as [`SdpRam`].
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
            _words: std::collections::BTreeMap::new(),
        }
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
             (* ram_style = \"block\" *) reg [{msb}:0] mem [0:{last}];\n\
             integer i;\n\
             always @(posedge clock) begin\n\
             \x20 for (i = 0; i < {K}; i = i + 1)\n\
             \x20   if (write_enable[i]) mem[write_address[{top}:0]][i*8 +: 8] <= write_data[i*8 +: 8];\n\
             \x20 read_data <= mem[read_address[{top}:0]];\n\
             end\n{unused}",
            words = 1usize << depth,
            msb = W - 1,
            last = (1usize << depth) - 1,
            top = depth - 1,
        ))
    }
}

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
