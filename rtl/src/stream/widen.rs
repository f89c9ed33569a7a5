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
    /// A lane each; `V / W` of them are used. One that is loaded or cleared needs no logic in front.
    words: [Dff<Bits<W>>; 8],
    keeps: [Dff<Bits<K>>; 8],
    last: Dff<Bit>,
    user: Dff<Bit>,
    full: Dff<Bit>,
    /// Parts gathered so far.
    part: Dff<Bits<3>>,
    room: Signal<Local, Bit>,
    put: Signal<Local, Bit>,
    lane: Signal<Local, Bits<W>>,
    lane_keep: Signal<Local, Bits<K>>,
    /// Lanes up to here.
    joined: [Signal<Local, Bits<V>>; 9],
    joined_keep: [Signal<Local, Bits<L>>; 9],
    /// Where each lane begins, bits and bytes; unused ones begin above the word.
    bit_at: [Constant<Bits<12>>; 8],
    byte_at: [Constant<Bits<12>>; 8],
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
            words: std::array::from_fn(|_| Default::default()),
            keeps: std::array::from_fn(|_| Default::default()),
            last: Default::default(),
            user: Default::default(),
            full: Default::default(),
            part: Default::default(),
            room: Default::default(),
            put: Default::default(),
            lane: Default::default(),
            lane_keep: Default::default(),
            joined: std::array::from_fn(|_| Default::default()),
            joined_keep: std::array::from_fn(|_| Default::default()),
            bit_at: std::array::from_fn(|i| Constant::new(((W * i) as u64).into())),
            byte_at: std::array::from_fn(|i| Constant::new(((K * i) as u64).into())),
            last_part: Constant::new((V as u64 / W as u64 - 1).into()),
            same: Constant::new(W == V),
        }
    }
}

impl<const W: usize, const K: usize, const V: usize, const L: usize> Logic for Widen<W, K, V, L> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, last, user, full, part);
        self.room.next = !self.full.q.val() | self.out_tready.val();
        self.in_tready.next = self.room.val();
        self.put.next = self.in_tvalid.val() & self.room.val();
        self.out_tvalid.next = self.full.q.val();
        self.joined[0].next = 0.into();
        self.joined_keep[0].next = 0.into();
        for i in 0..8 {
            self.lane.next = self.words[i].q.val();
            self.lane_keep.next = self.keeps[i].q.val();
            self.joined[i + 1].next =
                self.joined[i].val() | (bit_cast::<V, W>(self.lane.val()) << self.bit_at[i].val());
            self.joined_keep[i + 1].next =
                self.joined_keep[i].val() | (bit_cast::<L, K>(self.lane_keep.val()) << self.byte_at[i].val());
        }
        self.out_tdata.next = self.joined[8].val();
        self.out_tkeep.next = self.joined_keep[8].val();
        self.out_tlast.next = self.last.q.val();
        self.out_tuser.next = self.user.q.val();

        // The first part clears the lanes of the others.
        for i in 0..8 {
            self.words[i].clock.next = self.clk.val();
            self.keeps[i].clock.next = self.clk.val();
            self.words[i].d.next = self.words[i].q.val();
            self.keeps[i].d.next = self.keeps[i].q.val();
            if self.put.val() & (self.part.q.val() == i.to_bits()) {
                self.words[i].d.next = self.in_tdata.val();
                self.keeps[i].d.next = self.in_tkeep.val();
            } else if self.put.val() & (self.part.q.val() == 0) {
                self.words[i].d.next = 0.into();
                self.keeps[i].d.next = 0.into();
            }
        }
        if self.out_tready.val() {
            self.full.d.next = false;
        }
        if self.put.val() {
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
