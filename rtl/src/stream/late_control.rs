//! The counting of a [`LateFifo`](super::LateFifo) and of a [`PairFifo`](super::PairFifo): where a word goes,
//! and which is read so that it stands in front in the next clock.
//!
//! Contract: as theirs; `put` and `put_at` write a word, `next_at` is read in every clock.
//!
//! Verified by `testbenches/tests/late_fifo.rs`.

use crate::prelude::*;

#[derive(LogicBlock)]
pub struct LateControl<const A: usize> {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub in_valid: Signal<In, Bit>,
    pub in_ready: Signal<Out, Bit>,
    pub out_valid: Signal<Out, Bit>,
    pub out_ready: Signal<In, Bit>,
    pub put: Signal<Out, Bit>,
    pub put_at: Signal<Out, Bits<A>>,
    pub next_at: Signal<Out, Bits<A>>,
    write_at: Dff<Bits<A>>,
    read_at: Dff<Bits<A>>,
    /// A word was stored in the last clock: the reader may have it from now on; and where those end.
    came: Dff<Bit>,
    seen_at: Dff<Bits<A>>,
    /// There are words to be read, and as many in the RAM as it holds.
    filled: Dff<Bit>,
    full: Dff<Bit>,
    take: Signal<Local, Bit>,
    behind_read: Signal<Local, Bits<A>>,
    behind_write: Signal<Local, Bits<A>>,
    /// There is one word to be read only; there is room for one only.
    one_left: Signal<Local, Bit>,
    one_free: Signal<Local, Bit>,
    /// Address bits that the RAM has.
    mask: Constant<Bits<A>>,
}

impl<const A: usize> LateControl<A> {
    /// That of a FIFO of `2^depth_log2` words, `1 <= depth_log2 <= A`.
    pub fn new(depth_log2: usize) -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            in_valid: Default::default(),
            in_ready: Default::default(),
            out_valid: Default::default(),
            out_ready: Default::default(),
            put: Default::default(),
            put_at: Default::default(),
            next_at: Default::default(),
            write_at: Default::default(),
            read_at: Default::default(),
            came: Default::default(),
            seen_at: Default::default(),
            filled: Default::default(),
            full: Default::default(),
            take: Default::default(),
            behind_read: Default::default(),
            behind_write: Default::default(),
            one_left: Default::default(),
            one_free: Default::default(),
            mask: Constant::new(((1u64 << depth_log2) - 1).into()),
        }
    }
}

impl<const A: usize> Logic for LateControl<A> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, write_at, read_at, came, seen_at, filled, full);

        self.in_ready.next = !self.full.q.val();
        self.put.next = self.in_valid.val() & !self.full.q.val();
        self.put_at.next = self.write_at.q.val();
        self.out_valid.next = self.filled.q.val();
        self.take.next = self.filled.q.val() & self.out_ready.val();

        self.behind_read.next = self.read_at.q.val() + 1;
        self.behind_write.next = self.write_at.q.val() + 1;
        self.next_at.next = self.read_at.q.val();
        if self.take.val() {
            self.next_at.next = self.behind_read.val();
        }
        self.read_at.d.next = self.next_at.val();
        if self.put.val() {
            self.write_at.d.next = self.behind_write.val();
        }
        self.came.d.next = self.put.val();
        self.seen_at.d.next = self.write_at.q.val();

        // Of registers alone, since `out_ready` and `in_valid` come late.
        self.one_left.next = ((self.behind_read.val() ^ self.seen_at.q.val()) & self.mask.val()) == 0;
        self.one_free.next = ((self.behind_write.val() ^ self.read_at.q.val()) & self.mask.val()) == 0;
        if self.came.q.val() & !self.take.val() {
            self.filled.d.next = true;
        }
        if self.take.val() & !self.came.q.val() {
            self.filled.d.next = !self.one_left.val();
        }
        if self.put.val() & !self.take.val() {
            self.full.d.next = self.one_free.val();
        }
        if self.take.val() & !self.put.val() {
            self.full.d.next = false;
        }

        if self.rst.val() {
            self.write_at.d.next = 0.into();
            self.read_at.d.next = 0.into();
            self.came.d.next = false;
            self.filled.d.next = false;
            self.full.d.next = false;
            self.next_at.next = 0.into();
        }
    }
}
