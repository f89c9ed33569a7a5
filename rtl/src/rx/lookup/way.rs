//! One way of a table: names and what is held of them.
//!
//! ```text
//!  set ──> names  ──> equal to key, in parts? ──┐ registered
//!      └─> holds  ──> free? expired? ───────────┴──> all parts: hit; vacant, expired
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
    /// Context number, or the tombstone's last unit of time (256 ticks).
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
    pub present: Signal<In, Bits<24>>,
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
    are_equal: [Dff<Bit>; 4],
    is_held: Dff<Bit>,
    is_expired: Dff<Bit>,
    since: Signal<Local, Bits<24>>,
    /// Who sends, endpoint and slot, as four parts.
    name: Signal<Local, Bits<164>>,
    wanted: Signal<Local, Bits<164>>,
}

impl LookupWay {
    /// A way of `2^sets_log2` sets.
    pub fn new(sets_log2: usize) -> Self {
        Self {
            clk: Default::default(),
            set_at: Default::default(),
            key: Default::default(),
            present: Default::default(),
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
            name: Default::default(),
            wanted: Default::default(),
            is_expired: Default::default(),
            since: Default::default(),
        }
    }
}

impl Logic for LookupWay {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, is_held, is_expired);
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
        self.name.next = (bit_cast::<164, 128>(self.names.read_data.val().gid) << 36)
            | (bit_cast::<164, 24>(self.names.read_data.val().endpoint) << 12)
            | bit_cast::<164, 12>(self.names.read_data.val().slot);
        self.wanted.next = (bit_cast::<164, 128>(self.key.val().gid) << 36)
            | (bit_cast::<164, 24>(self.key.val().endpoint) << 12)
            | bit_cast::<164, 12>(self.key.val().slot);
        for i in 0..4 {
            self.are_equal[i].clock.next = self.clk.val();
            self.are_equal[i].d.next =
                self.name.val().get_bits::<41>(41 * i) == self.wanted.val().get_bits::<41>(41 * i);
        }
        self.is_held.d.next = self.holds.read_data.val().state != 0;
        // Less one: with a sign alone, and no test for zero behind it.
        self.since.next = self.present.val() + !self.holds.read_data.val().value;
        self.is_expired.d.next = (self.holds.read_data.val().state == 2) & !self.since.val().get_bit(23);
        self.hit.next = self.is_held.q.val()
            & self.are_equal[0].q.val()
            & self.are_equal[1].q.val()
            & self.are_equal[2].q.val()
            & self.are_equal[3].q.val();
        self.vacant.next = !self.is_held.q.val();
        self.expired.next = self.is_expired.q.val();
    }
}
