//! A register of bytes that are cleared one by one.

use rust_hdl::prelude::*;

/// A register of `W` bits, `K = W / 8` bytes: while enabled each byte follows `d`, or becomes 0.
///
/// Flip-flops have a reset for eight of them, so that a mask costs one signal a byte and no gate a bit.
#[derive(Clone, Debug, Default, LogicBlock)]
pub struct ByteDff<const W: usize, const K: usize> {
    /// Rising edge samples.
    pub clock: Signal<In, Clock>,
    /// Low to hold.
    pub enable: Signal<In, Bit>,
    /// High for a byte that becomes 0.
    pub clear: Signal<In, Bits<K>>,
    /// Next value.
    pub d: Signal<In, Bits<W>>,
    /// Present value.
    pub q: Signal<Out, Bits<W>>,
}

impl<const W: usize, const K: usize> ByteDff<W, K> {
    /// A register.
    ///
    /// # Panics
    /// When `K` is not `W`'s bytes.
    pub fn new() -> Self {
        assert!(W == 8 * K, "{W} bits are not {K} bytes");
        Self::default()
    }
}

impl<const W: usize, const K: usize> Logic for ByteDff<W, K> {
    fn update(&mut self) {
        if self.clock.pos_edge() && self.enable.val() {
            let mut word = self.d.val();
            for bit in (0..W).filter(|bit| self.clear.val().get_bit(bit / 8)) {
                word = word.replace_bit(bit, false);
            }
            self.q.next = word;
        }
    }

    fn connect(&mut self) {
        self.q.connect();
    }

    fn hdl(&self) -> Verilog {
        Verilog::Custom(format!(
            "// cell: byte_dff_{W}\n\
             initial q = {W}'h0;\n\
             integer i;\n\
             always @(posedge clock)\n\
             \x20 if (enable)\n\
             \x20   for (i = 0; i < {K}; i = i + 1)\n\
             \x20     q[i*8 +: 8] <= clear[i] ? 8'h0 : d[i*8 +: 8];\n"
        ))
    }
}
