//! Sixty-four event counters of 32 bits in one RAM.
//!
//! ```text
//!   events ──> 64 small pending counts ──(walk: one per clock)──> + ──> RAM
//!                                                                 └──> value, when asked for
//! ```
//!
//! Every clock one counter is brought up to date, so each one is every 64
//! clocks, and a pending count never holds more than 64 events. A read waits for
//! the walk to come by and takes the sum as it is stored: nothing counted more
//! than two clocks before is missing.
//!
//! Contract: one event per counter and clock; `value_valid` pulses 3 to 67 clocks
//! after `read`. Counters start from 0 at reset and wrap.
//!
//! Verified by `testbenches/tests/registers/`.

use crate::prelude::*;
use tessera_abi::regs;

#[derive(LogicBlock)]
pub struct Counters {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    /// Bit `i` adds one to counter `i`.
    pub events: Signal<In, Bits<64>>,
    /// One clock: fetch counter `read_index`.
    pub read: Signal<In, Bit>,
    pub read_index: Signal<In, Bits<6>>,
    pub value_valid: Signal<Out, Bit>,
    pub value: Signal<Out, Bits<32>>,
    ram: SdpRam<Bits<32>, 6>,
    arrived: Dff<Bits<64>>,
    pending: [Dff<Bits<7>>; 64],
    /// The counter whose turn it is, as a number and as one bit.
    walk: Dff<Bits<6>>,
    turn: Dff<Bits<64>>,
    /// Every counter has been written since reset.
    written: Dff<Bit>,
    index: Dff<Bits<6>>,
    add: Dff<Bits<7>>,
    keep: Dff<Bit>,
    waiting: Dff<Bit>,
    wanted: Dff<Bits<6>>,
    found: Dff<Bit>,
    result: Dff<Bits<32>>,
    chosen: Signal<Local, Bits<7>>,
    old: Signal<Local, Bits<32>>,
    sum: Signal<Local, Bits<32>>,
    last: Constant<Bits<6>>,
    first_turn: Constant<Bits<64>>,
}

const _: () = assert!(regs::COUNTER_COUNT == 64);

impl Counters {
    pub fn new() -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            events: Default::default(),
            read: Default::default(),
            read_index: Default::default(),
            value_valid: Default::default(),
            value: Default::default(),
            ram: SdpRam::new(6).with_style("distributed"),
            arrived: Default::default(),
            pending: std::array::from_fn(|_| Dff::default()),
            walk: Default::default(),
            turn: Default::default(),
            written: Default::default(),
            index: Default::default(),
            add: Default::default(),
            keep: Default::default(),
            waiting: Default::default(),
            wanted: Default::default(),
            found: Default::default(),
            result: Default::default(),
            chosen: Default::default(),
            old: Default::default(),
            sum: Default::default(),
            last: Constant::new(u64::from(regs::COUNTER_COUNT - 1).into()),
            first_turn: Constant::new(1u64.into()),
        }
    }
}

impl Logic for Counters {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, arrived, walk, turn, written, index, add, keep, waiting, wanted, found, result);
        self.ram.clock.next = self.clk.val();

        self.arrived.d.next = self.events.val();
        self.chosen.next = 0.into();
        for i in 0..64 {
            self.pending[i].clock.next = self.clk.val();
            self.pending[i].d.next = self.pending[i].q.val();
            if self.turn.q.val().get_bit(i) {
                self.chosen.next = self.pending[i].q.val();
                self.pending[i].d.next = 0.into();
                if self.arrived.q.val().get_bit(i) {
                    self.pending[i].d.next = 1.into();
                }
            } else {
                if self.arrived.q.val().get_bit(i) {
                    self.pending[i].d.next = self.pending[i].q.val() + 1;
                }
            }
            if self.rst.val() {
                self.pending[i].d.next = 0.into();
            }
        }

        self.walk.d.next = self.walk.q.val() + 1;
        self.turn.d.next = (self.turn.q.val() << 1) | (self.turn.q.val() >> 63);
        if self.walk.q.val() == self.last.val() {
            self.written.d.next = true;
        }
        self.ram.read_address.next = self.walk.q.val();
        self.index.d.next = self.walk.q.val();
        self.add.d.next = self.chosen.val();
        self.keep.d.next = self.written.q.val();

        self.old.next = 0.into();
        if self.keep.q.val() {
            self.old.next = self.ram.read_data.val();
        }
        self.sum.next = self.old.val() + bit_cast::<32, 7>(self.add.q.val());
        self.ram.write_enable.next = true;
        self.ram.write_address.next = self.index.q.val();
        self.ram.write_data.next = self.sum.val();

        self.found.d.next = false;
        if self.waiting.q.val() & (self.index.q.val() == self.wanted.q.val()) {
            self.waiting.d.next = false;
            self.found.d.next = true;
            self.result.d.next = self.sum.val();
        }
        if self.read.val() {
            self.waiting.d.next = true;
            self.wanted.d.next = self.read_index.val();
        }
        self.value_valid.next = self.found.q.val();
        self.value.next = self.result.q.val();

        if self.rst.val() {
            self.arrived.d.next = 0.into();
            self.walk.d.next = 0.into();
            self.turn.d.next = self.first_turn.val();
            self.written.d.next = false;
            self.keep.d.next = false;
            self.add.d.next = 0.into();
            self.waiting.d.next = false;
            self.found.d.next = false;
        }
    }
}
