//! Narrow beats become the 64-byte beats of the core.
//!
//! ```text
//!  in (W bits) ──> lane `part` of ┌──────────┐
//!                                 │ one beat │──> out (512 bits)
//!                                 └──────────┘
//! ```
//!
//! Contract:
//! - one narrow beat per clock as long as `out_tready` is high, over the ends of
//!   frames too: the beat that leaves makes room for the first part of the next;
//! - a wide beat is offered one clock after its last part, which is the
//!   512/W-th or the frame's last;
//! - `in_tready` follows `out_tready` within the clock and is high whenever it is;
//! - `tuser` is that of the frame's last part; `tkeep` is carried along, bytes
//!   past a frame's end are zero.
//!
//! Verified by `testbenches/tests/gears.rs`.

use crate::prelude::*;
use crate::types::Beat;

/// `W` bits, `K = W / 8` bytes.
#[derive(LogicBlock)]
pub struct Widen<const W: usize, const K: usize> {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub in_tvalid: Signal<In, Bit>,
    pub in_tdata: Signal<In, Bits<W>>,
    pub in_tkeep: Signal<In, Bits<K>>,
    pub in_tlast: Signal<In, Bit>,
    pub in_tuser: Signal<In, Bit>,
    pub in_tready: Signal<Out, Bit>,
    pub out_tvalid: Signal<Out, Bit>,
    pub out_tdata: Signal<Out, Bits<512>>,
    pub out_tkeep: Signal<Out, Bits<64>>,
    pub out_tlast: Signal<Out, Bit>,
    pub out_tuser: Signal<Out, Bit>,
    pub out_tready: Signal<In, Bit>,
    word: Dff<Beat>,
    user: Dff<Bit>,
    full: Dff<Bit>,
    /// Parts gathered so far.
    part: Dff<Bits<3>>,
    room: Signal<Local, Bit>,
    put: Signal<Local, Bit>,
    bit_shift: Signal<Local, Bits<9>>,
    byte_shift: Signal<Local, Bits<6>>,
    placed: Signal<Local, Bits<512>>,
    placed_keep: Signal<Local, Bits<64>>,
    bits_log2: Constant<Bits<4>>,
    bytes_log2: Constant<Bits<4>>,
    last_part: Constant<Bits<3>>,
}

impl<const W: usize, const K: usize> Widen<W, K> {
    /// # Panics
    /// Unless `W` is 64, 128 or 256 and `K` its bytes.
    pub fn new() -> Self {
        assert!(matches!(W, 64 | 128 | 256) && W == 8 * K, "no gear for {W} bits of {K} bytes");
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
            last_part: Constant::new((512 / W as u64 - 1).into()),
        }
    }
}

impl<const W: usize, const K: usize> Logic for Widen<W, K> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, word, user, full, part);
        self.room.next = !self.full.q.val() | self.out_tready.val();
        self.in_tready.next = self.room.val();
        self.put.next = self.in_tvalid.val() & self.room.val();
        self.out_tvalid.next = self.full.q.val();
        self.out_tdata.next = self.word.q.val().tdata;
        self.out_tkeep.next = self.word.q.val().tkeep;
        self.out_tlast.next = self.word.q.val().tlast;
        self.out_tuser.next = self.user.q.val();

        self.bit_shift.next = bit_cast::<9, 3>(self.part.q.val()) << self.bits_log2.val();
        self.byte_shift.next = bit_cast::<6, 3>(self.part.q.val()) << self.bytes_log2.val();
        self.placed.next = bit_cast::<512, W>(self.in_tdata.val()) << self.bit_shift.val();
        self.placed_keep.next = bit_cast::<64, K>(self.in_tkeep.val()) << self.byte_shift.val();
        if self.out_tready.val() {
            self.full.d.next = false;
        }
        if self.put.val() {
            if self.part.q.val() == 0 {
                self.word.d.next.tdata = self.placed.val();
                self.word.d.next.tkeep = self.placed_keep.val();
            } else {
                self.word.d.next.tdata = self.word.q.val().tdata | self.placed.val();
                self.word.d.next.tkeep = self.word.q.val().tkeep | self.placed_keep.val();
            }
            self.word.d.next.tlast = self.in_tlast.val();
            self.user.d.next = self.in_tuser.val();
            if self.in_tlast.val() | (self.part.q.val() == self.last_part.val()) {
                self.full.d.next = true;
                self.part.d.next = 0.into();
            } else {
                self.part.d.next = self.part.q.val() + 1;
            }
        }
        if self.rst.val() {
            self.full.d.next = false;
            self.part.d.next = 0.into();
        }
    }
}
