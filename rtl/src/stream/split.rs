//! Wide beats become narrow ones.
//!
//! ```text
//!  in (V bits) ──> ┌──────────┐ lowest part
//!                  │ one beat │──> out (W bits), then shifted down
//!                  └──────────┘
//! ```
//!
//! Contract, where `V` is more than `W`; where it is as much, everything passes in
//! the clock it comes:
//! - one narrow beat per clock as long as beats wait at `in`: the clock in which
//!   the last part leaves takes the next beat;
//! - the first part is offered one clock after its beat is taken;
//! - a frame's last beat leaves in as many parts as its `tkeep` (contiguous from
//!   bit 0, not zero) fills, `out_tlast` is on the last of them; any other beat
//!   leaves in V/W parts;
//! - `in_tready` follows `out_tready` within the clock.
//!
//! Verified by `testbenches/tests/gears.rs`.

use crate::prelude::*;

/// To `W` bits, `K = W / 8` bytes, from `V` bits, `L = V / 8` bytes.
#[derive(LogicBlock)]
pub struct Split<const W: usize, const K: usize, const V: usize, const L: usize> {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub in_tvalid: Signal<In, Bit>,
    pub in_tdata: Signal<In, Bits<V>>,
    pub in_tkeep: Signal<In, Bits<L>>,
    pub in_tlast: Signal<In, Bit>,
    pub in_tready: Signal<Out, Bit>,
    pub out_tvalid: Signal<Out, Bit>,
    pub out_tdata: Signal<Out, Bits<W>>,
    pub out_tkeep: Signal<Out, Bits<K>>,
    pub out_tlast: Signal<Out, Bit>,
    pub out_tready: Signal<In, Bit>,
    word: Dff<Bits<V>>,
    keep: Dff<Bits<L>>,
    last: Dff<Bit>,
    busy: Dff<Bit>,
    /// What `keep` leaves for the parts behind this one.
    rest: Signal<Local, Bits<L>>,
    more: Signal<Local, Bit>,
    room: Signal<Local, Bit>,
    bits: Constant<Bits<10>>,
    bytes: Constant<Bits<7>>,
    same: Constant<Bit>,
}

impl<const W: usize, const K: usize, const V: usize, const L: usize> Split<W, K, V, L> {
    /// # Panics
    /// Unless `W` is 64, 128 or 256, `V` 128 or 512 and no less, `K` and `L` their bytes.
    pub fn new() -> Self {
        assert!(matches!(W, 64 | 128 | 256) && W == 8 * K, "no gear for {W} bits of {K} bytes");
        assert!(matches!(V, 128 | 512) && V >= W && V == 8 * L, "no gear from {V} bits of {L} bytes");
        Self {
            clk: Default::default(),
            rst: Default::default(),
            in_tvalid: Default::default(),
            in_tdata: Default::default(),
            in_tkeep: Default::default(),
            in_tlast: Default::default(),
            in_tready: Default::default(),
            out_tvalid: Default::default(),
            out_tdata: Default::default(),
            out_tkeep: Default::default(),
            out_tlast: Default::default(),
            out_tready: Default::default(),
            word: Default::default(),
            keep: Default::default(),
            last: Default::default(),
            busy: Default::default(),
            rest: Default::default(),
            more: Default::default(),
            room: Default::default(),
            bits: Constant::new((W as u64).into()),
            bytes: Constant::new((K as u64).into()),
            same: Constant::new(W == V),
        }
    }
}

impl<const W: usize, const K: usize, const V: usize, const L: usize> Logic for Split<W, K, V, L> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, word, keep, last, busy);
        self.out_tvalid.next = self.busy.q.val();
        self.out_tdata.next = self.word.q.val().get_bits::<W>(0);
        self.out_tkeep.next = self.keep.q.val().get_bits::<K>(0);
        self.rest.next = self.keep.q.val() >> self.bytes.val();
        self.more.next = self.rest.val().any();
        self.out_tlast.next = self.last.q.val() & !self.more.val();
        self.room.next = !self.busy.q.val() | (self.out_tready.val() & !self.more.val());
        self.in_tready.next = self.room.val();

        if self.out_tready.val() {
            self.word.d.next = self.word.q.val() >> self.bits.val();
            self.keep.d.next = self.rest.val();
        }
        if self.room.val() {
            self.word.d.next = self.in_tdata.val();
            self.keep.d.next = self.in_tkeep.val();
            self.last.d.next = self.in_tlast.val();
            self.busy.d.next = self.in_tvalid.val();
        }
        if self.same.val() {
            self.in_tready.next = self.out_tready.val();
            self.out_tvalid.next = self.in_tvalid.val();
            self.out_tdata.next = self.in_tdata.val().get_bits::<W>(0);
            self.out_tkeep.next = self.in_tkeep.val().get_bits::<K>(0);
            self.out_tlast.next = self.in_tlast.val();
        }
        if self.rst.val() {
            self.busy.d.next = false;
        }
    }
}
