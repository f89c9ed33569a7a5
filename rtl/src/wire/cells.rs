//! Leaf cells of the packet path: delays, byte masks and lookups.
//!
//! Each carries its behaviour twice, as Rust `update` and as Verilog text;
//! `testbenches/tests/wire_cells.rs` compares the two.

use crate::leaf::UNCHECKED;
use rust_hdl::prelude::*;

/// `q` is `d` as it was `depth` clocks ago: a shift register without reset.
///
/// Carries data beside a pipeline whose valid bits live elsewhere; without
/// reset and taps it maps to one LUT per bit, or lies in a memory of eight words.
#[derive(Clone, Debug, LogicBlock)]
pub struct Delay<T: Synth> {
    pub clock: Signal<In, Clock>,
    pub d: Signal<In, T>,
    pub q: Signal<Out, T>,
    _held: std::collections::VecDeque<T>,
    _lies: Lies,
}

/// What a delay is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Lies {
    Registers,
    Block,
    Ultra,
}

impl<T: Synth> Delay<T> {
    /// A delay of `depth` clocks, at least 2 (one is a `Dff`).
    pub fn new(depth: usize) -> Self {
        assert!(depth >= 2, "a delay of {depth} clocks is no shift register");
        Self {
            clock: Default::default(),
            d: Default::default(),
            q: Default::default(),
            _held: vec![T::default(); depth - 1].into(),
            _lies: Lies::Registers,
        }
    }

    /// The same in a block RAM of eight words, for wide ones: `q` is there some 2 ns later in its clock.
    ///
    /// # Panics
    /// For more than eight clocks.
    pub fn in_block(self) -> Self {
        let depth = self._held.len() + 1;
        assert!(depth <= 8, "a delay of {depth} clocks is no block RAM of eight words");
        Self { _lies: Lies::Block, ..self }
    }

    /// The same in an UltraRAM of eight words and a register behind it: where LUTs and block RAMs are scarce, on
    /// devices that have UltraRAM ([`Config::has_ultra_ram`](tessera_abi::params::Config::has_ultra_ram)).
    ///
    /// # Panics
    /// For less than three clocks or more than nine.
    pub fn in_ultra(self) -> Self {
        let depth = self._held.len() + 1;
        assert!(
            (3..=9).contains(&depth),
            "a delay of {depth} clocks is no UltraRAM of eight words and a register"
        );
        Self { _lies: Lies::Ultra, ..self }
    }
}

impl<T: Synth> Logic for Delay<T> {
    fn update(&mut self) {
        if self.clock.pos_edge() {
            self._held.push_back(self.d.val());
            self.q.next = self._held.pop_front().unwrap_or_default();
        }
    }

    fn connect(&mut self) {
        self.q.connect();
    }

    fn hdl(&self) -> Verilog {
        let (msb, last) = (T::BITS - 1, self._held.len());
        let memory = |style: &str, word: &str, last: usize, behind: &str| {
            // Never the word that is being written: `last` is 1 to 7. A wire of three bits, for Icarus
            // Verilog counts wider within an index and finds nothing below 0.
            Verilog::Custom(format!(
                "// cell: delay_{style}_{}x{}\n\
                 (* ram_style = \"{style}\"{UNCHECKED} *) reg [{msb}:0] mem [0:7];\n\
                 reg [2:0] at;\n\
                 initial at = 3'h0;\n\
                 wire [2:0] from = at - 3'h{last};\n\
                 {behind}\
                 always @(posedge clock) begin\n\
                 \x20 at <= at + 3'h1;\n\
                 \x20 mem[at] <= d;\n\
                 \x20 {word} <= mem[from];\n\
                 end\n",
                T::BITS,
                self._held.len() + 1
            ))
        };
        match self._lies {
            Lies::Registers => (),
            Lies::Block => return memory("block", "q", last, ""),
            Lies::Ultra => {
                let behind = format!("reg [{msb}:0] word;\nalways @(posedge clock) q <= word;\n");
                return memory("ultra", "word", last - 1, &behind);
            }
        }
        let mut text = format!("// cell: delay_{}x{}\n", T::BITS, last + 1);
        for stage in 1..=last {
            text += &format!("reg [{msb}:0] stage{stage};\n");
        }
        text += "always @(posedge clock) begin\n  stage1 <= d;\n";
        for stage in 2..=last {
            text += &format!("  stage{stage} <= stage{};\n", stage - 1);
        }
        text += &format!("  q <= stage{last};\nend\n");
        Verilog::Custom(text)
    }
}

/// Sets the bytes of a beat that `keep` leaves out to zero: `W` bits, `K = W / 8` bytes.
#[derive(Clone, Debug, Default, LogicBlock)]
pub struct KeepBytes<const W: usize = 512, const K: usize = 64> {
    pub d: Signal<In, Bits<W>>,
    pub keep: Signal<In, Bits<K>>,
    pub q: Signal<Out, Bits<W>>,
}

impl<const W: usize, const K: usize> Logic for KeepBytes<W, K> {
    fn update(&mut self) {
        let (d, keep) = (self.d.val(), self.keep.val());
        let mut q = Bits::<W>::default();
        for bit in 0..W {
            q = q.replace_bit(bit, d.get_bit(bit) && keep.get_bit(bit / 8));
        }
        self.q.next = q;
    }

    fn connect(&mut self) {
        self.q.connect();
    }

    fn hdl(&self) -> Verilog {
        let mask: Vec<String> = (0..K).rev().map(|byte| format!("{{8{{keep[{byte}]}}}}")).collect();
        Verilog::Custom(format!("// cell: keep_bytes\nassign q = d & {{{}}};\n", mask.join(", ")))
    }
}

/// The number of ones in a contiguous `keep`, modulo its `K = 2^C` bits: 0 stands for all (and
/// for none, which no beat has).
#[derive(Clone, Debug, Default, LogicBlock)]
pub struct KeepCount<const K: usize = 64, const C: usize = 6> {
    pub keep: Signal<In, Bits<K>>,
    pub q: Signal<Out, Bits<C>>,
}

impl<const K: usize, const C: usize> Logic for KeepCount<K, C> {
    fn update(&mut self) {
        let keep = self.keep.val();
        let mut count = 0u64;
        for bit in 0..K - 1 {
            if keep.get_bit(bit) && !keep.get_bit(bit + 1) {
                count |= bit as u64 + 1;
            }
        }
        self.q.next = count.into();
    }

    fn connect(&mut self) {
        self.q.connect();
    }

    fn hdl(&self) -> Verilog {
        assert_eq!(K, 1 << C, "{C} bits count {K} bytes");
        let edges = K - 1;
        let mut text = format!(
            "// cell: keep_count\n\
             wire [{top}:0] edges = keep[{top}:0] & ~keep[{edges}:1];\n\
             assign q = {{",
            top = edges - 1
        );
        let rows: Vec<String> = (0..C)
            .rev()
            .map(|bit| {
                let ends = (0..edges as u64).filter(|at| (at + 1) >> bit & 1 == 1);
                format!("|(edges & {edges}'h{:x})", ends.fold(0u64, |mask, at| mask | 1 << at))
            })
            .collect();
        text += &rows.join(", ");
        text += "};\n";
        Verilog::Custom(text)
    }
}

/// A table of constants, read combinationally.
#[derive(Clone, Debug, LogicBlock)]
pub struct Rom<const A: usize, const D: usize> {
    pub address: Signal<In, Bits<A>>,
    pub q: Signal<Out, Bits<D>>,
    _words: Vec<u64>,
}

impl<const A: usize, const D: usize> Rom<A, D> {
    /// A table of exactly `2^A` words of at most 64 bits.
    pub fn new(words: Vec<u64>) -> Self {
        assert_eq!(words.len(), 1 << A, "a table of {A} address bits");
        Self { address: Default::default(), q: Default::default(), _words: words }
    }
}

impl<const A: usize, const D: usize> Logic for Rom<A, D> {
    fn update(&mut self) {
        self.q.next = self._words[self.address.val().index()].into();
    }

    fn connect(&mut self) {
        self.q.connect();
    }

    fn hdl(&self) -> Verilog {
        let mut text = "always @(*) begin\n  case (address)\n".to_owned();
        for (at, word) in self._words.iter().enumerate() {
            text += &format!("    {A}'h{at:x}: q = {D}'h{word:x};\n");
        }
        text += &format!("    default: q = {D}'h0;\n  endcase\nend\n");
        Verilog::Custom(text)
    }
}
