//! The two tables: eight ways read at once, the entry found and a place for a
//! new one.
//!
//! ```text
//!  set 0 ──> ways 0..4 ─┬─> hit ──────> found, its generation and holding
//!  set 1 ──> ways 4..8 ─┼─> vacant ───> vacancy
//!  key ─────────────────┘   expired ──> for the sweep
//! ```
//!
//! Contract: sets held for three clocks; `choose` in the third, or `choose_way` in the second;
//! `found` and `vacancy` stand from the next clock to the next of either. A key is in at most
//! one way. A write is seen by reads of later clocks.
//!
//! Verified as part of `testbenches/tests/lookup`.

use super::{LookupHeld, LookupName, LookupWay};
use crate::prelude::*;
use crate::stream::Lowest;

#[derive(LogicBlock)]
pub struct LookupTables {
    pub clk: Signal<In, Clock>,
    /// Of table 0.
    pub set0: Signal<In, Bits<13>>,
    /// Of table 1.
    pub set1: Signal<In, Bits<13>>,
    pub key: Signal<In, LookupName>,
    /// Units of 256 ticks, modulo 2^18.
    pub present: Signal<In, Bits<18>>,
    /// Two clocks after the sets were applied: takes what was found over.
    pub choose: Signal<In, Bit>,
    /// One bit per way, as all places here.
    pub found: Signal<Out, Bits<8>>,
    pub found_generation: Signal<Out, Bits<20>>,
    pub found_held: Signal<Out, LookupHeld>,
    /// The lowest free way of the emptier set, of table 0 on a tie.
    pub vacancy: Signal<Out, Bits<8>>,
    /// Of the sets of two clocks ago.
    pub expired: Signal<Out, Bits<8>>,
    /// One clock after the sets were applied: takes this way over, as if it were found.
    pub choose_way: Signal<In, Bit>,
    pub way: Signal<In, Bits<8>>,
    /// Ways to write.
    pub write: Signal<In, Bits<8>>,
    /// Their names too: `key`.
    pub write_names: Signal<In, Bit>,
    pub write_set0: Signal<In, Bits<13>>,
    pub write_set1: Signal<In, Bits<13>>,
    pub new_held: Signal<In, LookupHeld>,

    ways: [LookupWay; 8],

    was_high: Dff<Bits<10>>,

    is_found: Dff<Bits<8>>,
    its_generation: Dff<Bits<20>>,
    its_held: Dff<LookupHeld>,
    is_vacant: Dff<Bits<8>>,

    hits: Signal<Local, Bits<8>>,
    vacant: Signal<Local, Bits<8>>,
    vacant0: Signal<Local, Bits<4>>,
    vacant1: Signal<Local, Bits<4>>,
    room0: Signal<Local, Bits<3>>,
    room1: Signal<Local, Bits<3>>,
    lowest0: Lowest<4>,
    lowest1: Lowest<4>,
    /// At most one way: the one hit, or else the one named.
    asked: Signal<Local, Bits<8>>,
    generation: Signal<Local, Bits<20>>,
    held: Signal<Local, LookupHeld>,
    of_asked: Signal<Local, LookupHeld>,
    generation_of_hit: Signal<Local, Bits<20>>,
}

impl LookupTables {
    /// Two tables of `2^sets_log2` sets of four ways.
    pub fn new(sets_log2: usize) -> Self {
        Self {
            clk: Default::default(),
            set0: Default::default(),
            set1: Default::default(),
            key: Default::default(),
            present: Default::default(),
            choose: Default::default(),
            found: Default::default(),
            found_generation: Default::default(),
            found_held: Default::default(),
            vacancy: Default::default(),
            expired: Default::default(),
            choose_way: Default::default(),
            way: Default::default(),
            write: Default::default(),
            write_names: Default::default(),
            write_set0: Default::default(),
            write_set1: Default::default(),
            new_held: Default::default(),
            ways: std::array::from_fn(|_| LookupWay::new(sets_log2)),
            was_high: Default::default(),
            is_found: Default::default(),
            its_generation: Default::default(),
            its_held: Default::default(),
            is_vacant: Default::default(),
            hits: Default::default(),
            vacant: Default::default(),
            vacant0: Default::default(),
            vacant1: Default::default(),
            room0: Default::default(),
            room1: Default::default(),
            lowest0: Default::default(),
            lowest1: Default::default(),
            asked: Default::default(),
            generation: Default::default(),
            held: Default::default(),
            of_asked: Default::default(),
            generation_of_hit: Default::default(),
        }
    }
}

impl Logic for LookupTables {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, was_high, is_found, its_generation, its_held, is_vacant);
        for i in 0..4 {
            self.ways[i].set_at.next = self.set0.val();
            self.ways[i].write_set.next = self.write_set0.val();
        }
        for i in 4..8 {
            self.ways[i].set_at.next = self.set1.val();
            self.ways[i].write_set.next = self.write_set1.val();
        }
        self.was_high.d.next = self.present.val().get_bits::<10>(8);
        for i in 0..8 {
            self.ways[i].was_high.next = self.was_high.q.val();
            self.ways[i].clk.next = self.clk.val();
            self.ways[i].present.next = self.present.val();
            self.ways[i].write_held.next = self.write.val().get_bit(i);
            self.ways[i].write_name.next = self.write.val().get_bit(i) & self.write_names.val();
            self.ways[i].new_held.next = self.new_held.val();
            self.ways[i].key.next = self.key.val();
        }
        self.hits.next = bit_cast::<8, 1>(self.ways[0].hit.val().into())
            | (bit_cast::<8, 1>(self.ways[1].hit.val().into()) << 1)
            | (bit_cast::<8, 1>(self.ways[2].hit.val().into()) << 2)
            | (bit_cast::<8, 1>(self.ways[3].hit.val().into()) << 3)
            | (bit_cast::<8, 1>(self.ways[4].hit.val().into()) << 4)
            | (bit_cast::<8, 1>(self.ways[5].hit.val().into()) << 5)
            | (bit_cast::<8, 1>(self.ways[6].hit.val().into()) << 6)
            | (bit_cast::<8, 1>(self.ways[7].hit.val().into()) << 7);
        // An OR of ANDs: a chain of choices would be as long as there are ways.
        self.asked.next = self.hits.val();
        if self.choose_way.val() {
            self.asked.next = self.way.val();
        }
        self.generation_of_hit.next = 0.into();
        self.of_asked.next.state = 0.into();
        self.of_asked.next.value = 0.into();
        self.of_asked.next.status = 0.into();
        for i in 0..8 {
            self.generation.next = self.ways[i].generation.val();
            self.held.next = self.ways[i].held.val();
            if self.asked.val().get_bit(i) {
                self.generation_of_hit.next = self.generation_of_hit.val() | self.generation.val();
                self.of_asked.next.state = self.of_asked.val().state | self.held.val().state;
                self.of_asked.next.value = self.of_asked.val().value | self.held.val().value;
                self.of_asked.next.status = self.of_asked.val().status | self.held.val().status;
            }
        }
        self.vacant.next = bit_cast::<8, 1>(self.ways[0].vacant.val().into())
            | (bit_cast::<8, 1>(self.ways[1].vacant.val().into()) << 1)
            | (bit_cast::<8, 1>(self.ways[2].vacant.val().into()) << 2)
            | (bit_cast::<8, 1>(self.ways[3].vacant.val().into()) << 3)
            | (bit_cast::<8, 1>(self.ways[4].vacant.val().into()) << 4)
            | (bit_cast::<8, 1>(self.ways[5].vacant.val().into()) << 5)
            | (bit_cast::<8, 1>(self.ways[6].vacant.val().into()) << 6)
            | (bit_cast::<8, 1>(self.ways[7].vacant.val().into()) << 7);
        self.expired.next = bit_cast::<8, 1>(self.ways[0].expired.val().into())
            | (bit_cast::<8, 1>(self.ways[1].expired.val().into()) << 1)
            | (bit_cast::<8, 1>(self.ways[2].expired.val().into()) << 2)
            | (bit_cast::<8, 1>(self.ways[3].expired.val().into()) << 3)
            | (bit_cast::<8, 1>(self.ways[4].expired.val().into()) << 4)
            | (bit_cast::<8, 1>(self.ways[5].expired.val().into()) << 5)
            | (bit_cast::<8, 1>(self.ways[6].expired.val().into()) << 6)
            | (bit_cast::<8, 1>(self.ways[7].expired.val().into()) << 7);

        // Choose: the entry found, and the emptier set's lowest free way.
        self.vacant0.next = self.vacant.val().get_bits::<4>(0);
        self.vacant1.next = self.vacant.val().get_bits::<4>(4);
        self.room0.next = bit_cast::<3, 1>(self.vacant0.val().get_bits::<1>(0))
            + bit_cast::<3, 1>(self.vacant0.val().get_bits::<1>(1))
            + bit_cast::<3, 1>(self.vacant0.val().get_bits::<1>(2))
            + bit_cast::<3, 1>(self.vacant0.val().get_bits::<1>(3));
        self.room1.next = bit_cast::<3, 1>(self.vacant1.val().get_bits::<1>(0))
            + bit_cast::<3, 1>(self.vacant1.val().get_bits::<1>(1))
            + bit_cast::<3, 1>(self.vacant1.val().get_bits::<1>(2))
            + bit_cast::<3, 1>(self.vacant1.val().get_bits::<1>(3));
        self.lowest0.d.next = self.vacant0.val();
        self.lowest1.d.next = self.vacant1.val();
        if self.choose.val() | self.choose_way.val() {
            self.is_found.d.next = self.asked.val();
            self.its_generation.d.next = self.generation_of_hit.val();
            self.its_held.d.next = self.of_asked.val();
            if self.room0.val() >= self.room1.val() {
                self.is_vacant.d.next = bit_cast::<8, 4>(self.lowest0.q.val());
            } else {
                self.is_vacant.d.next = bit_cast::<8, 4>(self.lowest1.q.val()) << 4;
            }
        }

        self.found.next = self.is_found.q.val();
        self.found_generation.next = self.its_generation.q.val();
        self.found_held.next = self.its_held.q.val();
        self.vacancy.next = self.is_vacant.q.val();
    }
}
