//! What new messages know about their way: smoothed round-trip times by a hash
//! of the destination. Collisions only blur.
//!
//! Contract: `known` follows `ask` by one clock; `learn` stores in its clock.
//! `clear` writes 0 (unknown) to place `clear_at`, and goes before `learn`.
//!
//! Verified as part of `testbenches/tests/tx_slots`, rule TX-5.

use crate::multipath::DestinationHash;
use crate::prelude::*;

#[derive(LogicBlock)]
pub struct RttTable {
    pub clk: Signal<In, Clock>,
    pub clear: Signal<In, Bit>,
    pub clear_at: Signal<In, Bits<10>>,
    pub ask: Signal<In, Bits<128>>,
    pub known: Signal<Out, Bits<16>>,
    pub learn: Signal<In, Bit>,
    pub learn_gid: Signal<In, Bits<128>>,
    pub learn_rtt: Signal<In, Bits<16>>,
    ask_hash: DestinationHash,
    learn_hash: DestinationHash,
    ram: SdpRam<Bits<16>, 10>,
}

impl RttTable {
    pub fn new() -> Self {
        Self {
            clk: Default::default(),
            clear: Default::default(),
            clear_at: Default::default(),
            ask: Default::default(),
            known: Default::default(),
            learn: Default::default(),
            learn_gid: Default::default(),
            learn_rtt: Default::default(),
            ask_hash: DestinationHash::new(),
            learn_hash: DestinationHash::new(),
            // Asked at any time, also in that of a change.
            ram: SdpRam::new(10).reads_old(),
        }
    }
}

impl Logic for RttTable {
    #[hdl_gen]
    fn update(&mut self) {
        self.ram.clock.next = self.clk.val();
        self.ask_hash.gid.next = self.ask.val();
        self.learn_hash.gid.next = self.learn_gid.val();
        self.ram.read_address.next = self.ask_hash.place.val();
        self.known.next = self.ram.read_data.val();
        self.ram.write_enable.next = self.learn.val() | self.clear.val();
        self.ram.write_address.next = self.learn_hash.place.val();
        self.ram.write_data.next = self.learn_rtt.val();
        if self.clear.val() {
            self.ram.write_address.next = self.clear_at.val();
            self.ram.write_data.next = 0.into();
        }
    }
}
