//! Fills the tables of a hash with what a seed stands for.
//!
//! ```text
//!  seed ──> 288 bits of state, 26 steps per clock ──> word, 26 bits
//!             (the generator of Trivium)
//!  64 clocks to mix, then 32 words for each table: row (one-hot), at
//! ```
//!
//! The generator is that of the stream cipher Trivium with the seed as 32 bits of
//! its key and everything else zero, and its first 1,664 steps dropped (the cipher
//! drops 1,152): no word follows from others, whatever the seed, 0 too. A plain
//! LFSR would not do: some of its words always add up to zero, and keys that name
//! just those would collide under every seed.
//!
//! Contract: the clock after `load`, `keyed` is low. Then `row` and `at` name the
//! word that is to be stored, clock by clock, nothing for 64 clocks and each table
//! for 32, and `keyed` rises, 65 + 32 clocks per table after `load`. A `load`
//! meanwhile begins anew.
//!
//! Verified by `testbenches/tests/lookup/hashes.rs`.

use crate::prelude::*;

#[derive(LogicBlock)]
pub struct HashSeed {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub load: Signal<In, Bit>,
    pub seed: Signal<In, Bits<32>>,
    pub keyed: Signal<Out, Bit>,
    /// Tables that take `word`, at `at`.
    pub row: Signal<Out, Bits<33>>,
    pub at: Signal<Out, Bits<5>>,
    pub word: Signal<Out, Bits<26>>,
    // The youngest bit of each register lowest.
    a: Dff<Bits<93>>,
    b: Dff<Bits<84>>,
    c: Dff<Bits<111>>,
    /// One-hot: two turns of mixing, the tables, over.
    turn: Dff<Bits<36>>,
    place: Dff<Bits<5>>,
    over: Signal<Local, Bit>,
    // 26 bits of each register's sum, the first on top.
    sum_a: Signal<Local, Bits<26>>,
    sum_b: Signal<Local, Bits<26>>,
    sum_c: Signal<Local, Bits<26>>,
    last: Constant<Bits<36>>,
    ones: Constant<Bits<111>>,
}

impl HashSeed {
    /// For so many tables.
    ///
    /// # Panics
    /// When there are more than 33.
    pub fn new(tables: usize) -> Self {
        assert!(tables <= 33, "{tables} tables are more than a row has");
        Self {
            clk: Default::default(),
            rst: Default::default(),
            load: Default::default(),
            seed: Default::default(),
            keyed: Default::default(),
            row: Default::default(),
            at: Default::default(),
            word: Default::default(),
            a: Default::default(),
            b: Default::default(),
            c: Default::default(),
            turn: Default::default(),
            place: Default::default(),
            over: Default::default(),
            sum_a: Default::default(),
            sum_b: Default::default(),
            sum_c: Default::default(),
            last: Constant::new((1u64 << (tables + 2)).into()),
            ones: Constant::new(Bits::<111>::from(7u64) << 108u64),
        }
    }
}

impl Logic for HashSeed {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, a, b, c, turn, place);
        self.over.next = (self.turn.q.val() & self.last.val()).any();
        self.keyed.next = self.over.val();
        self.row.next = self.turn.q.val().get_bits::<33>(2);
        self.at.next = self.place.q.val();

        self.sum_a.next = self.a.q.val().get_bits::<26>(40) ^ self.a.q.val().get_bits::<26>(67);
        self.sum_b.next = self.b.q.val().get_bits::<26>(43) ^ self.b.q.val().get_bits::<26>(58);
        self.sum_c.next = self.c.q.val().get_bits::<26>(40) ^ self.c.q.val().get_bits::<26>(85);
        self.word.next = self.sum_a.val() ^ self.sum_b.val() ^ self.sum_c.val();
        if !self.over.val() {
            self.a.d.next = (self.a.q.val() << 26)
                | bit_cast::<93, 26>(
                    self.sum_c.val()
                        ^ (self.c.q.val().get_bits::<26>(83) & self.c.q.val().get_bits::<26>(84))
                        ^ self.a.q.val().get_bits::<26>(43),
                );
            self.b.d.next = (self.b.q.val() << 26)
                | bit_cast::<84, 26>(
                    self.sum_a.val()
                        ^ (self.a.q.val().get_bits::<26>(65) & self.a.q.val().get_bits::<26>(66))
                        ^ self.b.q.val().get_bits::<26>(52),
                );
            self.c.d.next = (self.c.q.val() << 26)
                | bit_cast::<111, 26>(
                    self.sum_b.val()
                        ^ (self.b.q.val().get_bits::<26>(56) & self.b.q.val().get_bits::<26>(57))
                        ^ self.c.q.val().get_bits::<26>(61),
                );
            self.place.d.next = self.place.q.val() + 1;
            if self.place.q.val().all() {
                self.turn.d.next = self.turn.q.val() << 1;
            }
        }
        if self.load.val() {
            // Where it is behind the new bits, so that those need no choice.
            self.a.d.next = bit_cast::<93, 32>(self.seed.val()) << 26;
            self.b.d.next = 0.into();
            self.c.d.next = self.ones.val();
            self.place.d.next = 0.into();
            self.turn.d.next = 1.into();
        }

        if self.rst.val() {
            self.turn.d.next = 0.into();
        }
    }
}
