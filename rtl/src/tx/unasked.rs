//! The bytes a message sends unasked: its initial window, or all of it when it
//! no more packets.
//!
//! Contract: combinational; packets are compared, and only then is the window made bytes. Verified as part of
//! `testbenches/tests/tx_slots/`, rule TX-1.

use crate::prelude::*;

#[derive(LogicBlock)]
pub struct Unasked {
    /// Wire value, 0 = 256.
    pub initial_window: Signal<In, Bits<8>>,
    pub payload_log2: Signal<In, Bits<4>>,
    pub length: Signal<In, Bits<32>>,
    /// Packets of `length`: one at least.
    pub count: Signal<In, Bits<24>>,
    pub bytes: Signal<Out, Bits<32>>,
    window: Signal<Local, Bits<9>>,
}

impl Unasked {
    pub fn new() -> Self {
        Self {
            initial_window: Default::default(),
            payload_log2: Default::default(),
            length: Default::default(),
            count: Default::default(),
            bytes: Default::default(),
            window: Default::default(),
        }
    }
}

impl Logic for Unasked {
    #[hdl_gen]
    fn update(&mut self) {
        if self.initial_window.val() == 0 {
            self.window.next = 256.into();
        } else {
            self.window.next = bit_cast::<9, 8>(self.initial_window.val());
        }
        if self.count.val() <= bit_cast::<24, 9>(self.window.val()) {
            self.bytes.next = self.length.val();
        } else {
            self.bytes.next = bit_cast::<32, 9>(self.window.val()) << self.payload_log2.val();
        }
    }
}
