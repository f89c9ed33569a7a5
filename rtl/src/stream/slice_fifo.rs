//! A FIFO of wide words that pass through a quarter as wide a block RAM.
//!
//! ```text
//!              slice  ┌─────┐ slice  ┌────────┐
//!  in_valid  ── ─/4──> │ RAM │ ─/4──> │ joined │ ──> out_valid
//!  in_data             └─────┘        └────────┘     out_data
//! ```
//!
//! For words of some hundred bits of which one comes in many clocks: a fourth of the block RAMs that
//! they would take side by side, and of the wires from the producer to the consumer, which stands beside
//! `joined`.
//!
//! Contract: `2^depth_log2` words in the RAM, one in `joined`. A word is shown until it is taken, which
//! is in its fourth clock at best: no copy of it is kept. At best one comes out in six clocks, ten
//! after it was shown when empty. `in_ready`, `out_valid` and `out_data` are registers.
//!
//! Verified by `testbenches/tests/slice_fifo.rs`.

use crate::prelude::*;

#[derive(LogicBlock)]
pub struct SliceFifo<T: Synth, const A: usize> {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub in_valid: Signal<In, Bit>,
    pub in_data: Signal<In, T>,
    pub in_ready: Signal<Out, Bit>,
    pub out_valid: Signal<Out, Bit>,
    pub out_data: Signal<Out, T>,
    pub out_ready: Signal<In, Bit>,
    ram: SliceRam<T, A>,
    write_at: Dff<Bits<A>>,
    write_slice: Dff<Bits<2>>,
    read_at: Dff<Bits<A>>,
    read_slice: Dff<Bits<2>>,
    /// Slices are asked for; the last one was, a clock ago; the word is there.
    reading: Dff<Bit>,
    landing: Dff<Bit>,
    joined: Dff<Bit>,
    /// There are whole words in the RAM, and as many as it holds.
    filled: Dff<Bit>,
    full: Dff<Bit>,
    writing: Signal<Local, Bit>,
    put: Signal<Local, Bit>,
    take: Signal<Local, Bit>,
    starts: Signal<Local, Bit>,
    behind_read: Signal<Local, Bits<A>>,
    behind_write: Signal<Local, Bits<A>>,
    /// There is one word only; there is room for one only.
    one_left: Signal<Local, Bit>,
    one_free: Signal<Local, Bit>,
    /// Address bits that the RAM has.
    mask: Constant<Bits<A>>,
}

impl<T: Synth, const A: usize> SliceFifo<T, A> {
    /// A FIFO of `2^depth_log2` words, `1 <= depth_log2 <= A`, and two.
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
            ram: SliceRam::new(depth_log2),
            write_at: Default::default(),
            write_slice: Default::default(),
            read_at: Default::default(),
            read_slice: Default::default(),
            reading: Default::default(),
            landing: Default::default(),
            joined: Default::default(),
            filled: Default::default(),
            full: Default::default(),
            writing: Default::default(),
            put: Default::default(),
            take: Default::default(),
            starts: Default::default(),
            behind_read: Default::default(),
            behind_write: Default::default(),
            one_left: Default::default(),
            one_free: Default::default(),
            mask: Constant::new(((1u64 << depth_log2) - 1).into()),
        }
    }
}

impl<T: Synth, const A: usize> Logic for SliceFifo<T, A> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, write_at, write_slice, read_at, read_slice);
        dff_setup!(self, clk, reading, landing, joined, filled, full);
        self.ram.clock.next = self.clk.val();

        self.writing.next = self.in_valid.val() & !self.full.q.val();
        // A slice is written only where there is room for the word: so of the last there is.
        self.in_ready.next = self.write_slice.q.val() == 3;
        self.put.next = self.writing.val() & (self.write_slice.q.val() == 3);
        self.ram.write_enable.next = self.writing.val();
        self.ram.write_address.next = self.write_at.q.val();
        self.ram.write_slice.next = self.write_slice.q.val();
        self.ram.write_data.next = self.in_data.val();
        if self.writing.val() {
            self.write_slice.d.next = self.write_slice.q.val() + 1;
        }
        self.behind_write.next = self.write_at.q.val() + 1;
        if self.put.val() {
            self.write_at.d.next = self.behind_write.val();
        }

        // The word in front is overwritten from the second clock of the next one's reading on.
        self.out_valid.next = self.joined.q.val();
        self.out_data.next = self.ram.read_data.val();
        if self.out_ready.val() {
            self.joined.d.next = false;
        }
        self.starts.next = self.filled.q.val()
            & !self.reading.q.val()
            & !self.landing.q.val()
            & (!self.joined.q.val() | self.out_ready.val());
        self.ram.read_enable.next = self.reading.q.val();
        self.ram.read_address.next = self.read_at.q.val();
        self.ram.read_slice.next = self.read_slice.q.val();
        self.behind_read.next = self.read_at.q.val() + 1;
        self.take.next = self.reading.q.val() & (self.read_slice.q.val() == 3);
        self.landing.d.next = self.take.val();
        if self.starts.val() {
            self.reading.d.next = true;
        }
        if self.reading.q.val() {
            self.read_slice.d.next = self.read_slice.q.val() + 1;
        }
        if self.take.val() {
            self.reading.d.next = false;
            self.read_at.d.next = self.behind_read.val();
        }
        if self.landing.q.val() {
            self.joined.d.next = true;
        }

        self.one_left.next = ((self.behind_read.val() ^ self.write_at.q.val()) & self.mask.val()) == 0;
        self.one_free.next = ((self.behind_write.val() ^ self.read_at.q.val()) & self.mask.val()) == 0;
        if self.put.val() & !self.take.val() {
            self.filled.d.next = true;
            self.full.d.next = self.one_free.val();
        }
        if self.take.val() & !self.put.val() {
            self.filled.d.next = !self.one_left.val();
            self.full.d.next = false;
        }

        if self.rst.val() {
            self.write_at.d.next = 0.into();
            self.write_slice.d.next = 0.into();
            self.read_at.d.next = 0.into();
            self.read_slice.d.next = 0.into();
            self.reading.d.next = false;
            self.landing.d.next = false;
            self.joined.d.next = false;
            self.filled.d.next = false;
            self.full.d.next = false;
        }
    }
}
