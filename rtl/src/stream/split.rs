//! The core's 64-byte beats become narrow ones.
//!
//! ```text
//!  in (512 bits) ──> ┌──────────┐ lowest part
//!                    │ one beat │──> out (W bits), then shifted down
//!                    └──────────┘
//! ```
//!
//! Contract:
//! - one narrow beat per clock as long as beats wait at `in`: the clock in which
//!   the last part leaves takes the next beat;
//! - the first part is offered one clock after its beat is taken;
//! - a frame's last beat leaves in as many parts as its `tkeep` (contiguous from
//!   bit 0, not zero) fills, `out_tlast` is on the last of them; any other beat
//!   leaves in 512/W parts;
//! - `in_tready` follows `out_tready` within the clock.
//!
//! Verified by `testbenches/tests/gears.rs`.

use crate::prelude::*;
use crate::types::Beat;

/// `W` bits, `K = W / 8` bytes.
#[derive(LogicBlock)]
pub struct Split<const W: usize, const K: usize> {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub in_tvalid: Signal<In, Bit>,
    pub in_tdata: Signal<In, Bits<512>>,
    pub in_tkeep: Signal<In, Bits<64>>,
    pub in_tlast: Signal<In, Bit>,
    pub in_tready: Signal<Out, Bit>,
    pub out_tvalid: Signal<Out, Bit>,
    pub out_tdata: Signal<Out, Bits<W>>,
    pub out_tkeep: Signal<Out, Bits<K>>,
    pub out_tlast: Signal<Out, Bit>,
    pub out_tready: Signal<In, Bit>,
    word: Dff<Beat>,
    busy: Dff<Bit>,
    /// What `keep` leaves for the parts behind this one.
    rest: Signal<Local, Bits<64>>,
    more: Signal<Local, Bit>,
    room: Signal<Local, Bit>,
    bits: Constant<Bits<10>>,
    bytes: Constant<Bits<7>>,
}

impl<const W: usize, const K: usize> Split<W, K> {
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
            in_tready: Default::default(),
            out_tvalid: Default::default(),
            out_tdata: Default::default(),
            out_tkeep: Default::default(),
            out_tlast: Default::default(),
            out_tready: Default::default(),
            word: Default::default(),
            busy: Default::default(),
            rest: Default::default(),
            more: Default::default(),
            room: Default::default(),
            bits: Constant::new((W as u64).into()),
            bytes: Constant::new((K as u64).into()),
        }
    }
}

impl<const W: usize, const K: usize> Logic for Split<W, K> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, word, busy);
        self.out_tvalid.next = self.busy.q.val();
        self.out_tdata.next = self.word.q.val().tdata.get_bits::<W>(0);
        self.out_tkeep.next = self.word.q.val().tkeep.get_bits::<K>(0);
        self.rest.next = self.word.q.val().tkeep >> self.bytes.val();
        self.more.next = self.rest.val().any();
        self.out_tlast.next = self.word.q.val().tlast & !self.more.val();
        self.room.next = !self.busy.q.val() | (self.out_tready.val() & !self.more.val());
        self.in_tready.next = self.room.val();

        if self.out_tready.val() {
            self.word.d.next.tdata = self.word.q.val().tdata >> self.bits.val();
            self.word.d.next.tkeep = self.rest.val();
        }
        if self.room.val() {
            self.word.d.next.tdata = self.in_tdata.val();
            self.word.d.next.tkeep = self.in_tkeep.val();
            self.word.d.next.tlast = self.in_tlast.val();
            self.busy.d.next = self.in_tvalid.val();
        }
        if self.rst.val() {
            self.busy.d.next = false;
        }
    }
}
