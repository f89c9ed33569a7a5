//! Two seeded hashes of a message's key.
//!
//! ```text
//!  key 164 ──> 33 pieces of 5 bits ──> a table each: 32 words of 26 bits ──> six XORs, registered ──> XOR ──> hash0, hash1
//!  seed ─────> HashSeed ─────────────> fills the tables
//! ```
//!
//! Tabulation (decision 0062): any three keys hash independently of one another
//! over the seeds, and numbered hosts, endpoints and slots spread as if at random.
//! Which keys collide cannot be worked out without the seed.
//!
//! Contract: `hash0` and `hash1` follow the key by a clock. `load` starts filling the tables; `keyed` falls with it and rises 1,121
//! clocks later.
//!
//! Verified by `testbenches/tests/lookup/`, which computes the same hashes.

use super::HashSeed;
use crate::prelude::*;

/// Bits of a piece of the key.
const PIECE: usize = 5;
/// Where the GID stands in it.
const GID_AT: usize = 36;

#[derive(LogicBlock)]
pub struct LookupHash {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub load: Signal<In, Bit>,
    pub seed: Signal<In, Bits<32>>,
    pub keyed: Signal<Out, Bit>,
    pub gid: Signal<In, Bits<128>>,
    pub endpoint: Signal<In, Bits<24>>,
    pub slot: Signal<In, Bits<12>>,
    pub hash0: Signal<Out, Bits<13>>,
    pub hash1: Signal<Out, Bits<13>>,
    filler: HashSeed,
    tables: [LutRam<Bits<26>, 5>; 33],
    key: Signal<Local, Bits<165>>,
    /// Sums of every sixth table up to here.
    sums: [Signal<Local, Bits<26>>; 39],
    /// The last six of these: the key comes out of a memory.
    parts: [Dff<Bits<26>>; 6],
    total: Signal<Local, Bits<26>>,
    /// Bits of both hashes that are wanted of each piece.
    wanted: [Constant<Bits<26>>; 33],
}

impl LookupHash {
    /// Hashes of `bits` bits each, 13 at most; above are zeros, and no memory for them.
    ///
    /// Without IPv6 the upper bits of a GID are zeros, and the pieces of key that have no others count for
    /// nothing.
    pub fn new(bits: usize, ipv6: bool) -> Self {
        assert!((1..=13).contains(&bits), "a hash of {bits} bits: from 1 to 13 are there");
        let one = (1u64 << bits) - 1;
        let wanted = one << 13 | one;
        Self {
            clk: Default::default(),
            rst: Default::default(),
            load: Default::default(),
            seed: Default::default(),
            keyed: Default::default(),
            gid: Default::default(),
            endpoint: Default::default(),
            slot: Default::default(),
            hash0: Default::default(),
            hash1: Default::default(),
            filler: HashSeed::new(33),
            tables: std::array::from_fn(|_| LutRam::new().of_bits(|bit| wanted >> bit & 1 != 0)),
            key: Default::default(),
            sums: std::array::from_fn(|_| Default::default()),
            parts: std::array::from_fn(|_| Dff::default()),
            total: Default::default(),
            wanted: std::array::from_fn(|at| {
                let counts = ipv6 || PIECE * at < GID_AT + 32;
                Constant::new(if counts { wanted } else { 0 }.into())
            }),
        }
    }
}

impl Logic for LookupHash {
    #[hdl_gen]
    fn update(&mut self) {
        self.filler.clk.next = self.clk.val();
        self.filler.rst.next = self.rst.val();
        self.filler.load.next = self.load.val();
        self.filler.seed.next = self.seed.val();
        self.keyed.next = self.filler.keyed.val();

        self.key.next = (bit_cast::<165, 128>(self.gid.val()) << 36)
            | (bit_cast::<165, 24>(self.endpoint.val()) << 12)
            | bit_cast::<165, 12>(self.slot.val());
        for i in 0..6 {
            self.sums[i].next = 0.into();
        }
        for i in 0..33 {
            self.tables[i].clock.next = self.clk.val();
            self.tables[i].write_enable.next = self.filler.row.val().get_bit(i);
            self.tables[i].write_address.next = self.filler.at.val();
            self.tables[i].write_data.next = self.filler.word.val() & self.wanted[0].val();
            self.tables[i].read_address.next = self.key.val().get_bits::<5>(5 * i);
            self.sums[i + 6].next =
                self.sums[i].val() ^ (self.tables[i].read_data.val() & self.wanted[i].val());
        }
        self.total.next = 0.into();
        for i in 0..6 {
            self.parts[i].clock.next = self.clk.val();
            self.parts[i].d.next = self.sums[i + 33].val();
            self.total.next = self.total.val() ^ self.parts[i].q.val();
        }
        self.hash0.next = self.total.val().get_bits::<13>(0);
        self.hash1.next = self.total.val().get_bits::<13>(13);
    }
}
