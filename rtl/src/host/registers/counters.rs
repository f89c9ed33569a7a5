//! Sixty-four event counters of 32 bits, in four RAMs of sixteen.
//!
//! ```text
//!   events ──> 4 x 16 small pending counts ──(walk: one of each four per clock)──> + ──> RAM
//!                                                                                  └──> value, when asked for
//! ```
//!
//! Every clock one counter of each RAM is brought up to date, so each one is every 16
//! clocks, and a pending count never holds more than 16 events. A read waits for
//! the walk to come by and takes the sum as it is stored: nothing counted more
//! than two clocks before is missing.
//!
//! Contract: one event per counter and clock; `value_valid` pulses 3 to 19 clocks
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
    rams: [SdpRam<Bits<32>, 4>; 4],
    arrived: Dff<Bits<64>>,
    pending: [[Dff<Bits<5>>; 16]; 4],
    /// The counter of each RAM whose turn it is, as a number and as one bit.
    walk: Dff<Bits<4>>,
    turn: Dff<Bits<16>>,
    /// Every counter has been written since reset.
    written: Dff<Bit>,
    index: Dff<Bits<4>>,
    adds: [Dff<Bits<5>>; 4],
    keep: Dff<Bit>,
    waiting: Dff<Bit>,
    wanted: Dff<Bits<6>>,
    found: Dff<Bit>,
    result: Dff<Bits<32>>,
    /// What of a pending count is not stored now, and the bits of it that one more changes.
    left: [[Signal<Local, Bits<5>>; 16]; 4],
    flips: [[Signal<Local, Bits<5>>; 16]; 4],
    taken: [[Signal<Local, Bits<5>>; 16]; 4],
    chosen: [Signal<Local, Bits<5>>; 4],
    old: [Signal<Local, Bits<32>>; 4],
    sum: [Signal<Local, Bits<32>>; 4],
    last: Constant<Bits<4>>,
    first_turn: Constant<Bits<16>>,
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
            rams: std::array::from_fn(|_| SdpRam::new(4)),
            arrived: Default::default(),
            pending: std::array::from_fn(|_| std::array::from_fn(|_| Dff::default())),
            walk: Default::default(),
            turn: Default::default(),
            written: Default::default(),
            index: Default::default(),
            adds: Default::default(),
            keep: Default::default(),
            waiting: Default::default(),
            wanted: Default::default(),
            found: Default::default(),
            result: Default::default(),
            left: Default::default(),
            flips: Default::default(),
            taken: Default::default(),
            chosen: Default::default(),
            old: Default::default(),
            sum: Default::default(),
            last: Constant::new(15u64.into()),
            first_turn: Constant::new(1u64.into()),
        }
    }
}

impl Logic for Counters {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, arrived, walk, turn, written, index, keep, waiting, wanted, found, result);

        self.arrived.d.next = self.events.val();
        for g in 0..4 {
            self.chosen[g].next = 0.into();
            for i in 0..16 {
                self.pending[g][i].clock.next = self.clk.val();
                self.left[g][i].next = self.pending[g][i].q.val();
                self.taken[g][i].next = 0.into();
                if self.turn.q.val().get_bit(i) {
                    self.left[g][i].next = 0.into();
                    self.taken[g][i].next = self.pending[g][i].q.val();
                }
                // One of them is taken: no choice, which would go through all of them in turn.
                self.chosen[g].next = self.chosen[g].val() | self.taken[g][i].val();
                // One more, in gates: a carry chain for five bits is twice as large.
                self.flips[g][i].next = 0.into();
                if self.arrived.q.val().get_bit(16 * g + i) {
                    self.flips[g][i].next = 1.into();
                    if self.left[g][i].val().get_bit(0) {
                        self.flips[g][i].next = 3.into();
                    }
                    if self.left[g][i].val().get_bits::<2>(0) == 3 {
                        self.flips[g][i].next = 7.into();
                    }
                    if self.left[g][i].val().get_bits::<3>(0) == 7 {
                        self.flips[g][i].next = 15.into();
                    }
                    if self.left[g][i].val().get_bits::<4>(0) == 15 {
                        self.flips[g][i].next = 31.into();
                    }
                }
                self.pending[g][i].d.next = self.left[g][i].val() ^ self.flips[g][i].val();
                if self.rst.val() {
                    self.pending[g][i].d.next = 0.into();
                }
            }
        }

        self.walk.d.next = self.walk.q.val() + 1;
        self.turn.d.next = (self.turn.q.val() << 1) | (self.turn.q.val() >> 15);
        if self.walk.q.val() == self.last.val() {
            self.written.d.next = true;
        }
        self.index.d.next = self.walk.q.val();
        self.keep.d.next = self.written.q.val();
        for g in 0..4 {
            self.rams[g].clock.next = self.clk.val();
            self.adds[g].clock.next = self.clk.val();
            self.rams[g].read_address.next = self.walk.q.val();
            self.adds[g].d.next = self.chosen[g].val();
            self.old[g].next = 0.into();
            if self.keep.q.val() {
                self.old[g].next = self.rams[g].read_data.val();
            }
            self.rams[g].write_enable.next = true;
            self.rams[g].write_address.next = self.index.q.val();
            if self.rst.val() {
                self.adds[g].d.next = 0.into();
            }
        }

        self.sum[0].next = self.old[0].val() + bit_cast::<32, 5>(self.adds[0].q.val());
        self.sum[1].next = self.old[1].val() + bit_cast::<32, 5>(self.adds[1].q.val());
        self.sum[2].next = self.old[2].val() + bit_cast::<32, 5>(self.adds[2].q.val());
        self.sum[3].next = self.old[3].val() + bit_cast::<32, 5>(self.adds[3].q.val());
        for g in 0..4 {
            self.rams[g].write_data.next = self.sum[g].val();
        }

        self.found.d.next = false;
        if self.waiting.q.val() & (self.index.q.val() == self.wanted.q.val().get_bits::<4>(0)) {
            self.waiting.d.next = false;
            self.found.d.next = true;
            match self.wanted.q.val().get_bits::<2>(4).index() {
                0 => self.result.d.next = self.sum[0].val(),
                1 => self.result.d.next = self.sum[1].val(),
                2 => self.result.d.next = self.sum[2].val(),
                _ => self.result.d.next = self.sum[3].val(),
            }
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
            self.waiting.d.next = false;
            self.found.d.next = false;
        }
    }
}
