//! The bytes a message sends unasked: its initial window, cut to a cap, or all of it when it has
//! no more packets.
//!
//! Contract: combinational; packets are compared, with the window and the cap apart, and only then is the
//! shorter one made bytes. Verified as part of `testbenches/tests/tx_slots/`, rules TX-1 and TX-14.

use crate::prelude::*;

#[derive(LogicBlock)]
pub struct Unasked {
    /// Wire value, 0 = 256.
    pub initial_window: Signal<In, Bits<8>>,
    /// 0 = none.
    pub cap: Signal<In, Bits<8>>,
    pub payload_log2: Signal<In, Bits<4>>,
    pub length: Signal<In, Bits<32>>,
    /// Packets of `length`: one at least.
    pub count: Signal<In, Bits<24>>,
    pub bytes: Signal<Out, Bits<32>>,
    /// The shorter one, as it came.
    pub window: Signal<Out, Bits<8>>,
    asked: Signal<Local, Bits<9>>,
    packets: Signal<Local, Bits<9>>,
    enough: Signal<Local, Bit>,
}

impl Unasked {
    pub fn new() -> Self {
        Self {
            initial_window: Default::default(),
            cap: Default::default(),
            payload_log2: Default::default(),
            length: Default::default(),
            count: Default::default(),
            bytes: Default::default(),
            window: Default::default(),
            asked: Default::default(),
            packets: Default::default(),
            enough: Default::default(),
        }
    }
}

impl Logic for Unasked {
    #[hdl_gen]
    fn update(&mut self) {
        if self.initial_window.val() == 0 {
            self.asked.next = 256.into();
        } else {
            self.asked.next = bit_cast::<9, 8>(self.initial_window.val());
        }
        self.window.next = self.initial_window.val();
        self.packets.next = self.asked.val();
        if (self.cap.val() != 0)
            & ((self.initial_window.val() == 0) | (self.cap.val() < self.initial_window.val()))
        {
            self.window.next = self.cap.val();
            self.packets.next = bit_cast::<9, 8>(self.cap.val());
        }
        self.enough.next = (self.count.val() <= bit_cast::<24, 9>(self.asked.val()))
            & ((self.cap.val() == 0) | (self.count.val() <= bit_cast::<24, 8>(self.cap.val())));
        if self.enough.val() {
            self.bytes.next = self.length.val();
        } else {
            self.bytes.next = bit_cast::<32, 9>(self.packets.val()) << self.payload_log2.val();
        }
    }
}
