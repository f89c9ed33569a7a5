//! One of a context's four block pointers.
//!
//! Combinational. Verified by `testbenches/tests/rx_context/`.

use crate::prelude::*;
use crate::rx::ContextLive;

#[derive(LogicBlock)]
pub struct BlockSlot {
    pub live: Signal<In, ContextLive>,
    /// Bits 9..8 of an index.
    pub slot: Signal<In, Bits<2>>,
    /// The slot, one bit each.
    pub mask: Signal<Out, Bits<4>>,
    pub block: Signal<Out, Bits<13>>,
    pub held: Signal<Out, Bit>,
    pub full: Signal<Out, Bit>,
    word: Signal<Local, ContextLive>,
}

impl BlockSlot {
    /// A choice of one.
    pub fn new() -> Self {
        Self {
            live: Default::default(),
            slot: Default::default(),
            mask: Default::default(),
            block: Default::default(),
            held: Default::default(),
            full: Default::default(),
            word: Default::default(),
        }
    }
}

impl Logic for BlockSlot {
    #[hdl_gen]
    fn update(&mut self) {
        self.word.next = self.live.val();
        self.mask.next = 1.into();
        self.block.next = self.word.val().block0;
        if self.slot.val() == 1 {
            self.mask.next = 2.into();
            self.block.next = self.word.val().block1;
        }
        if self.slot.val() == 2 {
            self.mask.next = 4.into();
            self.block.next = self.word.val().block2;
        }
        if self.slot.val() == 3 {
            self.mask.next = 8.into();
            self.block.next = self.word.val().block3;
        }
        self.held.next = (self.word.val().held & self.mask.val()).any();
        self.full.next = (self.word.val().full & self.mask.val()).any();
    }
}
