//! One way of a table: names and what is held of them.
//!
//! ```text
//!  set ──> names  ──> equal to key, in parts? ────────┐ registered
//!      └─> holds  ──> free? its time, low half below? ┴──> all parts: hit; vacant; high half too: expired
//!                └──> generation, held          of the set read a clock ago
//! ```
//!
//! Contract: `generation` and `held` belong to the set of one clock ago, `hit`,
//! `vacant` and `expired` to that of two clocks ago. Names and holdings are
//! written apart, so that an end needs no read. Only holdings are cleared after
//! reset, by the owner.
//!
//! Verified as part of `testbenches/tests/lookup/`.

use crate::prelude::*;

/// Whose message an entry is.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct LookupName {
    pub gid: Bits<128>,
    pub endpoint: Bits<24>,
    pub slot: Bits<12>,
    pub generation: Bits<20>,
}

/// What is held of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct LookupHeld {
    /// 0 nothing, 1 a context, 2 a tombstone, 3 a context that a newer
    /// generation has sent away.
    pub state: Bits<2>,
    /// Context number, or the tombstone's last unit of time (256 ticks), modulo 2^18: it lives 2^16 of them and
    /// a sweep at most. Of the match table what that says.
    pub value: Bits<24>,
    /// Of a tombstone.
    pub status: Bits<8>,
}

#[derive(LogicBlock)]
pub struct LookupWay {
    pub clk: Signal<In, Clock>,
    pub set_at: Signal<In, Bits<13>>,
    /// Its generation is not compared.
    pub key: Signal<In, LookupName>,
    /// Units of 256 ticks.
    pub present: Signal<In, Bits<18>>,
    /// Its high part as it was a clock ago.
    pub was_high: Signal<In, Bits<10>>,
    pub hit: Signal<Out, Bit>,
    pub vacant: Signal<Out, Bit>,
    pub expired: Signal<Out, Bit>,
    pub generation: Signal<Out, Bits<20>>,
    pub held: Signal<Out, LookupHeld>,
    pub write_set: Signal<In, Bits<13>>,
    /// Writes `key` as the name.
    pub write_name: Signal<In, Bit>,
    pub write_held: Signal<In, Bit>,
    pub new_held: Signal<In, LookupHeld>,
    names: SdpRam<LookupName, 13>,
    holds: SdpRam<LookupHeld, 13>,
    /// A name is long and comes out of its memory late: each part of it is compared by itself.
    are_equal: [Dff<Bit>; 17],
    is_held: Dff<Bit>,
    is_tombstone: Dff<Bit>,
    /// Its time comes as late: that the low part need not borrow, and the high part for the next clock.
    reaches: Dff<Bit>,
    until_high: Dff<Bits<10>>,
    since_low: Signal<Local, Bits<9>>,
    since_high: Signal<Local, Bits<10>>,
    equal: Signal<Local, Bit>,
    /// Who sends, endpoint and slot, as seventeen parts.
    name: Signal<Local, Bits<170>>,
    wanted: Signal<Local, Bits<170>>,
}

impl LookupWay {
    /// A way of `2^sets_log2` sets.
    pub fn new(sets_log2: usize) -> Self {
        Self {
            clk: Default::default(),
            set_at: Default::default(),
            key: Default::default(),
            present: Default::default(),
            was_high: Default::default(),
            hit: Default::default(),
            vacant: Default::default(),
            expired: Default::default(),
            generation: Default::default(),
            held: Default::default(),
            write_set: Default::default(),
            write_name: Default::default(),
            write_held: Default::default(),
            new_held: Default::default(),
            names: SdpRam::new(sets_log2),
            holds: SdpRam::new(sets_log2).reads_old(),
            are_equal: std::array::from_fn(|_| Dff::default()),
            is_held: Default::default(),
            is_tombstone: Default::default(),
            reaches: Default::default(),
            until_high: Default::default(),
            since_low: Default::default(),
            since_high: Default::default(),
            equal: Default::default(),
            name: Default::default(),
            wanted: Default::default(),
        }
    }
}

impl Logic for LookupWay {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, is_held, is_tombstone, reaches, until_high);
        self.names.clock.next = self.clk.val();
        self.holds.clock.next = self.clk.val();
        self.names.read_address.next = self.set_at.val();
        self.holds.read_address.next = self.set_at.val();
        self.names.write_enable.next = self.write_name.val();
        self.names.write_address.next = self.write_set.val();
        self.names.write_data.next = self.key.val();
        self.holds.write_enable.next = self.write_held.val();
        self.holds.write_address.next = self.write_set.val();
        self.holds.write_data.next = self.new_held.val();

        self.generation.next = self.names.read_data.val().generation;
        self.held.next = self.holds.read_data.val();
        self.name.next = (bit_cast::<170, 128>(self.names.read_data.val().gid) << 36)
            | (bit_cast::<170, 24>(self.names.read_data.val().endpoint) << 12)
            | bit_cast::<170, 12>(self.names.read_data.val().slot);
        self.wanted.next = (bit_cast::<170, 128>(self.key.val().gid) << 36)
            | (bit_cast::<170, 24>(self.key.val().endpoint) << 12)
            | bit_cast::<170, 12>(self.key.val().slot);
        self.equal.next = self.is_held.q.val();
        for i in 0..17 {
            self.are_equal[i].clock.next = self.clk.val();
            self.are_equal[i].d.next =
                self.name.val().get_bits::<10>(10 * i) == self.wanted.val().get_bits::<10>(10 * i);
            self.equal.next = self.equal.val() & self.are_equal[i].q.val();
        }
        self.is_held.d.next = self.holds.read_data.val().state != 0;
        self.is_tombstone.d.next = self.holds.read_data.val().state == 2;
        // Less one: with a sign alone, and no test for zero behind it.
        self.since_low.next = bit_cast::<9, 8>(self.present.val().get_bits::<8>(0))
            + bit_cast::<9, 8>(!self.holds.read_data.val().value.get_bits::<8>(0));
        self.reaches.d.next = self.since_low.val().get_bit(8);
        self.until_high.d.next = self.holds.read_data.val().value.get_bits::<10>(8);
        self.since_high.next =
            self.was_high.val() + !self.until_high.q.val() + bit_cast::<10, 1>(self.reaches.q.val().into());
        self.hit.next = self.equal.val();
        self.vacant.next = !self.is_held.q.val();
        self.expired.next = self.is_tombstone.q.val() & !self.since_high.val().get_bit(9);
    }
}
