//! A RAM that writes zeros over itself after reset: what every table copy and
//! every per-endpoint index is kept in.
//!
//! ```text
//!   write_* ──┬──> SdpRam ──> read_data, one clock after read_address
//!   walk of ──┘
//!   zeros after rst           ready: the walk is over
//! ```
//!
//! Contract: `ready` rises `2^depth_log2` clocks after the end of reset; writes
//! before are lost. Read and write as in [`SdpRam`], a read in the clock of a
//! write of the same word too. Of a RAM that is fed zeros, `write_data` is zero
//! from the second clock of reset until `ready`: registers that reset to zero are
//! wired to it, and no gate stands in front of each bit.
//!
//! Verified by the testbenches of the blocks that hold one.

use crate::prelude::*;
use tessera_abi::params::Config;

#[derive(LogicBlock)]
pub struct ClearedRam<T: Synth, const A: usize> {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub write_enable: Signal<In, Bit>,
    pub write_address: Signal<In, Bits<A>>,
    pub write_data: Signal<In, T>,
    pub read_address: Signal<In, Bits<A>>,
    pub read_data: Signal<Out, T>,
    /// Every word is zero or was written since reset.
    pub ready: Signal<Out, Bit>,
    ram: SdpRam<T, A>,
    walk: Dff<Bits<A>>,
    cleared: Dff<Bit>,
    last: Constant<Bits<A>>,
    gated: Constant<Bit>,
    zero: Constant<T>,
}

impl<T: Synth, const A: usize> ClearedRam<T, A> {
    /// A RAM of `2^depth_log2` words with a `ram_style` hint; `"block"` leaves
    /// small ones in LUTs.
    pub fn new(depth_log2: usize, style: &'static str) -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            write_enable: Default::default(),
            write_address: Default::default(),
            write_data: Default::default(),
            read_address: Default::default(),
            read_data: Default::default(),
            ready: Default::default(),
            ram: if style == "block" {
                SdpRam::new(depth_log2)
            } else {
                SdpRam::new(depth_log2).with_style(style)
            },
            walk: Default::default(),
            cleared: Default::default(),
            last: Constant::new(((1u64 << depth_log2) - 1).into()),
            gated: Constant::new(true),
            zero: Constant::new(T::default()),
        }
    }

    /// A word for each endpoint, of which a read of the address being written returns the old one. Where
    /// block RAMs are plenty it lies in one, whose output is late in the clock: what is read goes to a register
    /// or near it. Small FPGAs have more LUTs to spare.
    pub fn of_endpoints(config: &Config) -> Self {
        let ram = Self::new(config.endpoints_log2, "distributed").reads_old();
        if config.has_ultra_ram() {
            ram.in_block()
        } else {
            ram
        }
    }

    /// The same RAM in a block RAM, however small.
    pub fn in_block(self) -> Self {
        Self { ram: self.ram.with_style("block"), ..self }
    }

    /// The same RAM, of which a read of the address being written returns the old word.
    pub fn reads_old(self) -> Self {
        Self { ram: self.ram.reads_old(), ..self }
    }

    /// The same RAM, fed zeros while it is cleared.
    pub fn fed_zeros(self) -> Self {
        Self { gated: Constant::new(false), ..self }
    }
}

impl<T: Synth, const A: usize> Logic for ClearedRam<T, A> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, walk, cleared);
        self.ram.clock.next = self.clk.val();
        self.ready.next = self.cleared.q.val();
        self.ram.read_address.next = self.read_address.val();
        self.read_data.next = self.ram.read_data.val();

        self.ram.write_data.next = self.write_data.val();
        if self.cleared.q.val() {
            self.ram.write_enable.next = self.write_enable.val();
            self.ram.write_address.next = self.write_address.val();
        } else {
            self.ram.write_enable.next = true;
            self.ram.write_address.next = self.walk.q.val();
            if self.gated.val() {
                self.ram.write_data.next = self.zero.val();
            }
            self.walk.d.next = self.walk.q.val() + 1;
            self.cleared.d.next = self.walk.q.val() == self.last.val();
        }

        if self.rst.val() {
            self.walk.d.next = 0.into();
            self.cleared.d.next = false;
        }
    }
}
