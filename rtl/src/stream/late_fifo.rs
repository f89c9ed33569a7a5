//! A FIFO as [`Fifo`](super::Fifo), a clock later: nothing goes past its RAM.
//!
//! ```text
//!  in_valid  ──>┌──────────────────────────┐──> out_valid
//!  in_data   ──>│ RAM, read where the next │──> out_data
//!  in_ready  <──│     word in front is     │<── out_ready
//!               └──────────────────────────┘
//! ```
//!
//! For wide words in a block RAM that are in no hurry: `Fifo` needs two registers and a multiplexer for each
//! bit, so that a word may be read in the clock in which it is written. Here the reader hears of a word a
//! clock after that.
//!
//! Contract: one word in and one word out per clock, sustained; two clocks from
//! input to output when empty. `2^depth_log2` words. `in_ready` and `out_valid`
//! are registers; `out_data` is the RAM's output, of a block RAM or LUT RAM.
//!
//! Verified by `testbenches/tests/late_fifo.rs`.

use crate::prelude::*;

#[derive(LogicBlock)]
pub struct LateFifo<T: Synth, const A: usize> {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub in_valid: Signal<In, Bit>,
    pub in_data: Signal<In, T>,
    pub in_ready: Signal<Out, Bit>,
    pub out_valid: Signal<Out, Bit>,
    pub out_data: Signal<Out, T>,
    pub out_ready: Signal<In, Bit>,
    ram: ForwardRam<T, A>,
    write_at: Dff<Bits<A>>,
    read_at: Dff<Bits<A>>,
    /// A word was stored in the last clock: the reader may have it from now on; and where those end.
    came: Dff<Bit>,
    seen_at: Dff<Bits<A>>,
    /// There are words to be read, and as many in the RAM as it holds.
    filled: Dff<Bit>,
    full: Dff<Bit>,
    take: Signal<Local, Bit>,
    put: Signal<Local, Bit>,
    next_at: Signal<Local, Bits<A>>,
    behind_read: Signal<Local, Bits<A>>,
    behind_write: Signal<Local, Bits<A>>,
    /// There is one word to be read only; there is room for one only.
    one_left: Signal<Local, Bit>,
    one_free: Signal<Local, Bit>,
    /// Address bits that the RAM has.
    mask: Constant<Bits<A>>,
}

impl<T: Synth, const A: usize> LateFifo<T, A> {
    /// A FIFO of `2^depth_log2` words, `1 <= depth_log2 <= A`.
    pub fn new(depth_log2: usize) -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            in_valid: Default::default(),
            in_data: Default::default(),
            in_ready: Default::default(),
            out_valid: Default::default(),
            out_data: Default::default(),
            out_ready: Default::default(),
            ram: ForwardRam::new(depth_log2).without_passing(),
            write_at: Default::default(),
            read_at: Default::default(),
            came: Default::default(),
            seen_at: Default::default(),
            filled: Default::default(),
            full: Default::default(),
            take: Default::default(),
            put: Default::default(),
            next_at: Default::default(),
            behind_read: Default::default(),
            behind_write: Default::default(),
            one_left: Default::default(),
            one_free: Default::default(),
            mask: Constant::new(((1u64 << depth_log2) - 1).into()),
        }
    }

    /// The same with its words in a block RAM, however few: for wide ones where LUTs are scarce.
    pub fn in_block(mut self) -> Self {
        self.ram = self.ram.in_block();
        self
    }
}

impl<T: Synth, const A: usize> Logic for LateFifo<T, A> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, write_at, read_at, came, seen_at, filled, full);
        self.ram.clock.next = self.clk.val();

        self.in_ready.next = !self.full.q.val();
        self.put.next = self.in_valid.val() & !self.full.q.val();
        self.out_valid.next = self.filled.q.val();
        self.out_data.next = self.ram.read_data.val();
        self.take.next = self.filled.q.val() & self.out_ready.val();

        self.behind_read.next = self.read_at.q.val() + 1;
        self.behind_write.next = self.write_at.q.val() + 1;
        self.next_at.next = self.read_at.q.val();
        if self.take.val() {
            self.next_at.next = self.behind_read.val();
        }
        self.read_at.d.next = self.next_at.val();
        self.ram.read_address.next = self.next_at.val();
        self.ram.write_enable.next = self.put.val();
        self.ram.write_address.next = self.write_at.q.val();
        self.ram.write_data.next = self.in_data.val();
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
            self.ram.read_address.next = 0.into();
        }
    }
}
