//! What new messages know about their way: smoothed round-trip times by a hash
//! of the destination. Collisions only blur.
//!
//! Contract: `known` follows `ask` by one clock; `learn` stores in its clock.
//! `clear` writes 0 (unknown) to place `clear_at`, and goes before `learn`.
//! The hash is the XOR of the address in pieces of ten bits.
//!
//! Verified as part of `testbenches/tests/tx_slots/`, rule TX-5.

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
    ram: SdpRam<Bits<16>, 10>,
    ask_folded: Signal<Local, Bits<64>>,
    learn_folded: Signal<Local, Bits<64>>,
    ask_at: Signal<Local, Bits<10>>,
    learn_at: Signal<Local, Bits<10>>,
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
            ram: SdpRam::new(10),
            ask_folded: Default::default(),
            learn_folded: Default::default(),
            ask_at: Default::default(),
            learn_at: Default::default(),
        }
    }
}

impl Logic for RttTable {
    #[hdl_gen]
    fn update(&mut self) {
        self.ram.clock.next = self.clk.val();
        self.ask_folded.next = self.ask.val().get_bits::<64>(0) ^ self.ask.val().get_bits::<64>(64);
        self.learn_folded.next =
            self.learn_gid.val().get_bits::<64>(0) ^ self.learn_gid.val().get_bits::<64>(64);
        self.ask_at.next = self.ask_folded.val().get_bits::<10>(0)
            ^ self.ask_folded.val().get_bits::<10>(10)
            ^ self.ask_folded.val().get_bits::<10>(20)
            ^ self.ask_folded.val().get_bits::<10>(30)
            ^ self.ask_folded.val().get_bits::<10>(40)
            ^ self.ask_folded.val().get_bits::<10>(50)
            ^ bit_cast::<10, 4>(self.ask_folded.val().get_bits::<4>(60));
        self.learn_at.next = self.learn_folded.val().get_bits::<10>(0)
            ^ self.learn_folded.val().get_bits::<10>(10)
            ^ self.learn_folded.val().get_bits::<10>(20)
            ^ self.learn_folded.val().get_bits::<10>(30)
            ^ self.learn_folded.val().get_bits::<10>(40)
            ^ self.learn_folded.val().get_bits::<10>(50)
            ^ bit_cast::<10, 4>(self.learn_folded.val().get_bits::<4>(60));

        self.ram.read_address.next = self.ask_at.val();
        self.known.next = self.ram.read_data.val();
        self.ram.write_enable.next = self.learn.val() | self.clear.val();
        self.ram.write_address.next = self.learn_at.val();
        self.ram.write_data.next = self.learn_rtt.val();
        if self.clear.val() {
            self.ram.write_address.next = self.clear_at.val();
            self.ram.write_data.next = 0.into();
        }
    }
}
