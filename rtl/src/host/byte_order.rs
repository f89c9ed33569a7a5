//! Reverses sixteen bytes: addresses inside queue entries are in network order,
//! Tessera's words hold the first byte in the most significant position.
//!
//! Contract: combinational, wires only. A shorter string is placed in the upper
//! bytes of `value` and comes out in the lower ones.
//!
//! Verified by `testbenches/tests/sq_fetch` and `cq_writer.rs`.

use crate::prelude::*;

#[derive(LogicBlock)]
pub struct ByteReverse {
    pub value: Signal<In, Bits<128>>,
    pub reversed: Signal<Out, Bits<128>>,
    pairs: Signal<Local, Bits<128>>,
    fours: Signal<Local, Bits<128>>,
    eights: Signal<Local, Bits<128>>,
    of_16: Constant<Bits<128>>,
    of_32: Constant<Bits<128>>,
    of_64: Constant<Bits<128>>,
}

impl ByteReverse {
    pub fn new() -> Self {
        let mask = |word: u64| (Bits::<128>::from(word) << 64u64) | Bits::<128>::from(word);
        Self {
            value: Default::default(),
            reversed: Default::default(),
            pairs: Default::default(),
            fours: Default::default(),
            eights: Default::default(),
            of_16: Constant::new(mask(0x00FF_00FF_00FF_00FF)),
            of_32: Constant::new(mask(0x0000_FFFF_0000_FFFF)),
            of_64: Constant::new(mask(0x0000_0000_FFFF_FFFF)),
        }
    }
}

impl Logic for ByteReverse {
    #[hdl_gen]
    fn update(&mut self) {
        self.pairs.next =
            ((self.value.val() & self.of_16.val()) << 8) | ((self.value.val() >> 8) & self.of_16.val());
        self.fours.next =
            ((self.pairs.val() & self.of_32.val()) << 16) | ((self.pairs.val() >> 16) & self.of_32.val());
        self.eights.next =
            ((self.fours.val() & self.of_64.val()) << 32) | ((self.fours.val() >> 32) & self.of_64.val());
        self.reversed.next = (self.eights.val() << 64) | (self.eights.val() >> 64);
    }
}
