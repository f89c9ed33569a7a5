//! The bytes a message sends unasked: its initial window, or all of it when it
//! is shorter.
//!
//! Contract: combinational, a shift and a comparison. Verified as part of
//! `testbenches/tests/tx_slots/`, rule TX-1.

use crate::prelude::*;

#[derive(LogicBlock)]
pub struct Unasked {
    /// Wire value, 0 = 256.
    pub initial_window: Signal<In, Bits<8>>,
    pub payload_log2: Signal<In, Bits<4>>,
    pub length: Signal<In, Bits<32>>,
    pub bytes: Signal<Out, Bits<32>>,
    window: Signal<Local, Bits<32>>,
    size: Signal<Local, Bits<32>>,
}

impl Unasked {
    pub fn new() -> Self {
        Self {
            initial_window: Default::default(),
            payload_log2: Default::default(),
            length: Default::default(),
            bytes: Default::default(),
            window: Default::default(),
            size: Default::default(),
        }
    }
}

impl Logic for Unasked {
    #[hdl_gen]
    fn update(&mut self) {
        if self.initial_window.val() == 0 {
            self.window.next = 256.into();
        } else {
            self.window.next = bit_cast::<32, 8>(self.initial_window.val());
        }
        self.size.next = self.window.val() << self.payload_log2.val();
        if self.length.val() < self.size.val() {
            self.bytes.next = self.length.val();
        } else {
            self.bytes.next = self.size.val();
        }
    }
}
