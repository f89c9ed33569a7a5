//! Whether every packet of a packet's chunk has arrived (HR-4).
//!
//! Combinational: a chunk has at most 32 packets and does not cross a multiple of
//! its size. Verified by `testbenches/tests/rx_context/`.

use crate::prelude::*;
use tessera_abi::queue::area;

#[derive(LogicBlock)]
pub struct WholeChunk {
    /// Of the packet's block.
    pub arrived: Signal<In, Bits<256>>,
    /// The packet, in its block.
    pub index: Signal<In, Bits<8>>,
    pub chunk_log2: Signal<In, Bits<3>>,
    pub whole: Signal<Out, Bit>,
    part: Signal<Local, Bits<32>>,
    first: Signal<Local, Bits<5>>,
    others: Signal<Local, Bits<32>>,
    there: Signal<Local, Bits<32>>,
}

const _: () = assert!(area::MAX_CHUNK_LOG2 == 5);

impl WholeChunk {
    /// One look.
    pub fn new() -> Self {
        Self {
            arrived: Default::default(),
            index: Default::default(),
            chunk_log2: Default::default(),
            whole: Default::default(),
            part: Default::default(),
            first: Default::default(),
            others: Default::default(),
            there: Default::default(),
        }
    }
}

impl Logic for WholeChunk {
    #[hdl_gen]
    fn update(&mut self) {
        match self.index.val().get_bits::<3>(5).index() {
            0 => self.part.next = self.arrived.val().get_bits::<32>(0),
            1 => self.part.next = self.arrived.val().get_bits::<32>(32),
            2 => self.part.next = self.arrived.val().get_bits::<32>(64),
            3 => self.part.next = self.arrived.val().get_bits::<32>(96),
            4 => self.part.next = self.arrived.val().get_bits::<32>(128),
            5 => self.part.next = self.arrived.val().get_bits::<32>(160),
            6 => self.part.next = self.arrived.val().get_bits::<32>(192),
            _ => self.part.next = self.arrived.val().get_bits::<32>(224),
        }
        self.first.next =
            (self.index.val().get_bits::<5>(0) >> self.chunk_log2.val()) << self.chunk_log2.val();
        match self.chunk_log2.val().index() {
            0 => self.others.next = 0xFFFF_FFFE_u64.into(),
            1 => self.others.next = 0xFFFF_FFFC_u64.into(),
            2 => self.others.next = 0xFFFF_FFF0_u64.into(),
            3 => self.others.next = 0xFFFF_FF00_u64.into(),
            4 => self.others.next = 0xFFFF_0000_u64.into(),
            _ => self.others.next = 0.into(),
        }
        self.there.next = (self.part.val() >> self.first.val()) | self.others.val();
        self.whole.next = self.there.val().all();
    }
}
