//! Narrow beats become wide ones.
//!
//! ```text
//!  in (W bits) ──> lane `part` of ┌──────────┐
//!                                 │ one beat │──> out (V bits)
//!                                 └──────────┘
//! ```
//!
//! Contract, where `V` is more than `W`; where it is as much, everything passes in
//! the clock it comes:
//! - one narrow beat per clock as long as `out_tready` is high, over the ends of
//!   frames too: the beat that leaves makes room for the first part of the next;
//! - a wide beat is offered one clock after its last part, which is the
//!   V/W-th or the frame's last;
//! - `in_tready` follows `out_tready` within the clock and is high whenever it is;
//! - `tuser` is that of the frame's last part; `tkeep` is carried along, bytes
//!   past a frame's end are zero.
//!
//! Verified by `testbenches/tests/gears.rs`.

use crate::prelude::*;

/// From `W` bits, `K = W / 8` bytes, to `V` bits, `L = V / 8` bytes.
#[derive(LogicBlock)]
pub struct Widen<const W: usize, const K: usize, const V: usize, const L: usize> {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub in_tvalid: Signal<In, Bit>,
    pub in_tdata: Signal<In, Bits<W>>,
    pub in_tkeep: Signal<In, Bits<K>>,
    pub in_tlast: Signal<In, Bit>,
    pub in_tuser: Signal<In, Bit>,
    pub in_tready: Signal<Out, Bit>,
    pub out_tvalid: Signal<Out, Bit>,
    pub out_tdata: Signal<Out, Bits<V>>,
    pub out_tkeep: Signal<Out, Bits<L>>,
    pub out_tlast: Signal<Out, Bit>,
    pub out_tuser: Signal<Out, Bit>,
    pub out_tready: Signal<In, Bit>,
    word: Dff<Bits<V>>,
    keep: Dff<Bits<L>>,
    last: Dff<Bit>,
    user: Dff<Bit>,
    full: Dff<Bit>,
    /// Parts gathered so far.
    part: Dff<Bits<3>>,
    room: Signal<Local, Bit>,
    put: Signal<Local, Bit>,
    bit_shift: Signal<Local, Bits<9>>,
    byte_shift: Signal<Local, Bits<6>>,
    placed: Signal<Local, Bits<V>>,
    placed_keep: Signal<Local, Bits<L>>,
    bits_log2: Constant<Bits<4>>,
    bytes_log2: Constant<Bits<4>>,
    last_part: Constant<Bits<3>>,
    same: Constant<Bit>,
}

impl<const W: usize, const K: usize, const V: usize, const L: usize> Widen<W, K, V, L> {
    /// # Panics
    /// Unless `W` is 64, 128 or 256, `V` 128 or 512 and no less, `K` and `L` their bytes.
    pub fn new() -> Self {
        assert!(matches!(W, 64 | 128 | 256) && W == 8 * K, "no gear for {W} bits of {K} bytes");
        assert!(matches!(V, 128 | 512) && V >= W && V == 8 * L, "no gear to {V} bits of {L} bytes");
        Self {
            clk: Default::default(),
            rst: Default::default(),
            in_tvalid: Default::default(),
            in_tdata: Default::default(),
            in_tkeep: Default::default(),
            in_tlast: Default::default(),
            in_tuser: Default::default(),
            in_tready: Default::default(),
            out_tvalid: Default::default(),
            out_tdata: Default::default(),
            out_tkeep: Default::default(),
            out_tlast: Default::default(),
            out_tuser: Default::default(),
            out_tready: Default::default(),
            word: Default::default(),
            keep: Default::default(),
            last: Default::default(),
            user: Default::default(),
            full: Default::default(),
            part: Default::default(),
            room: Default::default(),
            put: Default::default(),
            bit_shift: Default::default(),
            byte_shift: Default::default(),
            placed: Default::default(),
            placed_keep: Default::default(),
            bits_log2: Constant::new(u64::from(W.ilog2()).into()),
            bytes_log2: Constant::new(u64::from(K.ilog2()).into()),
            last_part: Constant::new((V as u64 / W as u64 - 1).into()),
            same: Constant::new(W == V),
        }
    }
}

impl<const W: usize, const K: usize, const V: usize, const L: usize> Logic for Widen<W, K, V, L> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, word, keep, last, user, full, part);
        self.room.next = !self.full.q.val() | self.out_tready.val();
        self.in_tready.next = self.room.val();
        self.put.next = self.in_tvalid.val() & self.room.val();
        self.out_tvalid.next = self.full.q.val();
        self.out_tdata.next = self.word.q.val();
        self.out_tkeep.next = self.keep.q.val();
        self.out_tlast.next = self.last.q.val();
        self.out_tuser.next = self.user.q.val();

        self.bit_shift.next = bit_cast::<9, 3>(self.part.q.val()) << self.bits_log2.val();
        self.byte_shift.next = bit_cast::<6, 3>(self.part.q.val()) << self.bytes_log2.val();
        self.placed.next = bit_cast::<V, W>(self.in_tdata.val()) << self.bit_shift.val();
        self.placed_keep.next = bit_cast::<L, K>(self.in_tkeep.val()) << self.byte_shift.val();
        if self.out_tready.val() {
            self.full.d.next = false;
        }
        if self.put.val() {
            if self.part.q.val() == 0 {
                self.word.d.next = self.placed.val();
                self.keep.d.next = self.placed_keep.val();
            } else {
                self.word.d.next = self.word.q.val() | self.placed.val();
                self.keep.d.next = self.keep.q.val() | self.placed_keep.val();
            }
            self.last.d.next = self.in_tlast.val();
            self.user.d.next = self.in_tuser.val();
            if self.in_tlast.val() | (self.part.q.val() == self.last_part.val()) {
                self.full.d.next = true;
                self.part.d.next = 0.into();
            } else {
                self.part.d.next = self.part.q.val() + 1;
            }
        }
        if self.same.val() {
            self.in_tready.next = self.out_tready.val();
            self.out_tvalid.next = self.in_tvalid.val();
            self.out_tdata.next = bit_cast::<V, W>(self.in_tdata.val());
            self.out_tkeep.next = bit_cast::<L, K>(self.in_tkeep.val());
            self.out_tlast.next = self.in_tlast.val();
            self.out_tuser.next = self.in_tuser.val();
        }
        if self.rst.val() {
            self.full.d.next = false;
            self.part.d.next = 0.into();
        }
    }
}
