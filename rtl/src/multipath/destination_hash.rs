//! Where a destination keeps what is known about its paths: ten bits of its
//! address. Collisions only blur.
//!
//! Contract: combinational, the XOR of the address in pieces of ten bits.
//!
//! Verified by `testbenches/tests/path_scheduler.rs`.

use crate::prelude::*;

#[derive(LogicBlock)]
pub struct DestinationHash {
    pub gid: Signal<In, Bits<128>>,
    pub place: Signal<Out, Bits<10>>,
}

impl DestinationHash {
    pub fn new() -> Self {
        Self { gid: Default::default(), place: Default::default() }
    }
}

impl Logic for DestinationHash {
    #[hdl_gen]
    fn update(&mut self) {
        self.place.next = self.gid.val().get_bits::<10>(0)
            ^ self.gid.val().get_bits::<10>(10)
            ^ self.gid.val().get_bits::<10>(20)
            ^ self.gid.val().get_bits::<10>(30)
            ^ self.gid.val().get_bits::<10>(40)
            ^ self.gid.val().get_bits::<10>(50)
            ^ self.gid.val().get_bits::<10>(60)
            ^ self.gid.val().get_bits::<10>(70)
            ^ self.gid.val().get_bits::<10>(80)
            ^ self.gid.val().get_bits::<10>(90)
            ^ self.gid.val().get_bits::<10>(100)
            ^ self.gid.val().get_bits::<10>(110)
            ^ bit_cast::<10, 8>(self.gid.val().get_bits::<8>(120));
    }
}
