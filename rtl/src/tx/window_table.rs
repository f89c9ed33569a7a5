//! Initial windows cut short by BUSY or congestion, by a hash of the
//! destination: rule TX-14. Collisions only blur.
//!
//! Contract: `cap` follows `ask` by one clock, 0 = as asked. `halve` and `grow`
//! act in their clock on the place of `gid`, which has stood for two clocks;
//! `halve` goes first. `clear` forgets place `clear_at`, and goes before both.
//!
//! Verified as part of `testbenches/tests/tx_slots`, rule TX-14.

use crate::multipath::DestinationHash;
use crate::prelude::*;

#[derive(LogicBlock)]
pub struct WindowTable {
    pub clk: Signal<In, Clock>,
    pub clear: Signal<In, Bit>,
    pub clear_at: Signal<In, Bits<10>>,
    pub ask: Signal<In, Bits<128>>,
    pub cap: Signal<Out, Bits<8>>,
    pub gid: Signal<In, Bits<128>>,
    /// A message of this window (0 = 256) met congestion or was refused.
    pub halve: Signal<In, Bit>,
    pub window: Signal<In, Bits<8>>,
    /// A message was heard of for the first time, and all is well.
    pub grow: Signal<In, Bit>,
    ask_hash: DestinationHash,
    change_hash: DestinationHash,
    asked: SdpRam<Bits<8>, 10>,
    changed: SdpRam<Bits<8>, 10>,
    /// Out of the memory into a register first: what becomes of it is decided by it.
    held: Dff<Bits<8>>,
    half: Signal<Local, Bits<8>>,
    fresh: Signal<Local, Bits<8>>,
}

impl WindowTable {
    pub fn new() -> Self {
        Self {
            clk: Default::default(),
            clear: Default::default(),
            clear_at: Default::default(),
            ask: Default::default(),
            cap: Default::default(),
            gid: Default::default(),
            halve: Default::default(),
            window: Default::default(),
            grow: Default::default(),
            ask_hash: DestinationHash::new(),
            change_hash: DestinationHash::new(),
            // Asked at any time, also in that of a change.
            asked: SdpRam::new(10).reads_old(),
            changed: SdpRam::new(10),
            held: Default::default(),
            half: Default::default(),
            fresh: Default::default(),
        }
    }
}

impl Logic for WindowTable {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, held);
        self.asked.clock.next = self.clk.val();
        self.changed.clock.next = self.clk.val();
        self.ask_hash.gid.next = self.ask.val();
        self.change_hash.gid.next = self.gid.val();
        self.asked.read_address.next = self.ask_hash.place.val();
        self.changed.read_address.next = self.change_hash.place.val();
        self.cap.next = self.asked.read_data.val();

        self.held.d.next = self.changed.read_data.val();
        self.half.next = self.window.val() >> 1;
        if self.window.val() == 0 {
            self.half.next = 128.into();
        }
        if self.window.val() == 1 {
            self.half.next = 1.into();
        }
        self.fresh.next = self.held.q.val() + 1;
        if self.halve.val() {
            self.fresh.next = self.half.val();
        }
        // A window never shortened stays so, and the longest one is none.
        self.asked.write_enable.next = self.clear.val()
            | self.halve.val()
            | (self.grow.val() & (self.held.q.val() != 0) & (self.held.q.val() != 255));
        self.asked.write_address.next = self.change_hash.place.val();
        self.asked.write_data.next = self.fresh.val();
        if self.clear.val() {
            self.asked.write_address.next = self.clear_at.val();
            self.asked.write_data.next = 0.into();
        }
        self.changed.write_enable.next = self.asked.write_enable.val();
        self.changed.write_address.next = self.asked.write_address.val();
        self.changed.write_data.next = self.asked.write_data.val();
    }
}
