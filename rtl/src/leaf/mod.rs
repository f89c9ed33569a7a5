//! Leaf cells: the only places where Verilog text is written by hand.
//!
//! A leaf carries the same behaviour twice, as a Rust `update` for rust-hdl's
//! simulator and as Verilog for the export; `testbenches/tests/emit/leaf.rs` runs
//! one stimulus through both.

mod byte_dff;
mod byte_ram;
mod forward_ram;
mod lut_ram;
mod sdp_ram;
mod slice_ram;

pub use byte_dff::ByteDff;
pub use byte_ram::ByteRam;
pub use forward_ram::ForwardRam;
pub use lut_ram::LutRam;
use rust_hdl::prelude::*;
pub use sdp_ram::SdpRam;
pub use slice_ram::SliceRam;

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
