//! Two seeded hashes of an endpoint and a tag.
//!
//! ```text
//!  key 72 ──> 15 pieces of 5 bits ──> a table each: 32 words of 26 bits ──> XOR ──> hash0, hash1
//! ```
//!
//! As [`crate::rx::LookupHash`], of fewer bits.
//!
//! Contract: `hash0` and `hash1` follow the key combinationally. `load` starts
//! filling the tables; `keyed` falls with it and rises 545 clocks later.
//!
//! Verified by `testbenches/tests/match_table/hashes.rs`.

use crate::prelude::*;
use crate::rx::HashSeed;

#[derive(LogicBlock)]
pub struct TagHash {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub load: Signal<In, Bit>,
    pub seed: Signal<In, Bits<32>>,
    pub keyed: Signal<Out, Bit>,
    pub endpoint: Signal<In, Bits<8>>,
    pub tag: Signal<In, Bits<64>>,
    pub hash0: Signal<Out, Bits<13>>,
    pub hash1: Signal<Out, Bits<13>>,
    filler: HashSeed,
    tables: [LutRam<Bits<26>, 5>; 15],
    key: Signal<Local, Bits<75>>,
    /// Sums of every third table up to here.
    sums: [Signal<Local, Bits<26>>; 18],
    total: Signal<Local, Bits<26>>,
}

impl Default for TagHash {
    fn default() -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            load: Default::default(),
            seed: Default::default(),
            keyed: Default::default(),
            endpoint: Default::default(),
            tag: Default::default(),
            hash0: Default::default(),
            hash1: Default::default(),
            filler: HashSeed::new(15),
            tables: std::array::from_fn(|_| LutRam::new()),
            key: Default::default(),
            sums: std::array::from_fn(|_| Default::default()),
            total: Default::default(),
        }
    }
}

impl Logic for TagHash {
    #[hdl_gen]
    fn update(&mut self) {
        self.filler.clk.next = self.clk.val();
        self.filler.rst.next = self.rst.val();
        self.filler.load.next = self.load.val();
        self.filler.seed.next = self.seed.val();
        self.keyed.next = self.filler.keyed.val();

        self.key.next = (bit_cast::<75, 64>(self.tag.val()) << 8) | bit_cast::<75, 8>(self.endpoint.val());
        for i in 0..3 {
            self.sums[i].next = 0.into();
        }
        for i in 0..15 {
            self.tables[i].clock.next = self.clk.val();
            self.tables[i].write_enable.next = self.filler.row.val().get_bit(i);
            self.tables[i].write_address.next = self.filler.at.val();
            self.tables[i].write_data.next = self.filler.word.val();
            self.tables[i].read_address.next = self.key.val().get_bits::<5>(5 * i);
            self.sums[i + 3].next = self.sums[i].val() ^ self.tables[i].read_data.val();
        }
        self.total.next = self.sums[15].val() ^ self.sums[16].val() ^ self.sums[17].val();
        self.hash0.next = self.total.val().get_bits::<13>(0);
        self.hash1.next = self.total.val().get_bits::<13>(13);
    }
}
