//! A RAM in LUTs, read without a clock.

use rust_hdl::prelude::*;

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
