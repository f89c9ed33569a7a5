//! A FIFO whose input can take back what was not committed yet.
//!
//! ```text
//!  in_valid ──>┌─────────────────────────────────────┐──> out_valid
//!  in_data  ──>│ ..committed..│..open..│    free     │──> out_data
//!  commit   ──>│              ^        ^             │<── out_ready
//!  rollback ──>└───────── commit_at  write_at ───────┘──> room
//! ```
//!
//! Contract: a word of `in_valid` is stored in that clock, unasked: the writer
//! looks at `room` first, which is a register and promises place for this and
//! the next word. `commit` makes every open word, that of the same clock
//! included, visible at the output two clocks later; `rollback` forgets
//! them, that of the same clock included. Never both in one clock. One word in
//! and one out per clock. `out_data` is the RAM's output: it is asked in every
//! clock for the word that will be in front in the next one.
//!
//! Verified by `testbenches/tests/commit_fifo.rs`.

use crate::prelude::*;

#[derive(LogicBlock)]
pub struct CommitFifo<T: Synth, const A: usize> {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub in_valid: Signal<In, Bit>,
    pub in_data: Signal<In, T>,
    pub commit: Signal<In, Bit>,
    pub rollback: Signal<In, Bit>,
    pub room: Signal<Out, Bit>,
    pub out_valid: Signal<Out, Bit>,
    pub out_data: Signal<Out, T>,
    pub out_ready: Signal<In, Bit>,
    ram: SdpRam<T, A>,
    write_at: Dff<Bits<A>>,
    commit_at: Dff<Bits<A>>,
    read_at: Dff<Bits<A>>,
    /// Words of the RAM behind `commit_at`, and before it.
    open: Dff<Bits<16>>,
    held: Dff<Bits<16>>,
    roomy: Dff<Bit>,
    /// Words committed last clock, which the RAM is asked for in this one, and those before them.
    coming: Dff<Bits<16>>,
    ready: Dff<Bits<16>>,
    filled: Dff<Bit>,
    take: Signal<Local, Bit>,
    next_at: Signal<Local, Bits<A>>,
    opened: Signal<Local, Bits<16>>,
    added: Signal<Local, Bits<16>>,
    total: Signal<Local, Bits<16>>,
    after_write: Signal<Local, Bits<A>>,
    left: Signal<Local, Bits<16>>,
    limit: Constant<Bits<16>>,
}

impl<T: Synth, const A: usize> CommitFifo<T, A> {
    /// A FIFO of `2^depth_log2` words, `3 <= depth_log2 <= A <= 15`.
    pub fn new(depth_log2: usize) -> Self {
        assert!(A <= 15, "a FIFO of 2^{A} words does not fit its counter");
        assert!(depth_log2 >= 3, "a FIFO of 2^{depth_log2} words has no place for its reserve");
        Self {
            clk: Default::default(),
            rst: Default::default(),
            in_valid: Default::default(),
            in_data: Default::default(),
            commit: Default::default(),
            rollback: Default::default(),
            room: Default::default(),
            out_valid: Default::default(),
            out_data: Default::default(),
            out_ready: Default::default(),
            ram: SdpRam::new(depth_log2),
            write_at: Default::default(),
            commit_at: Default::default(),
            read_at: Default::default(),
            open: Default::default(),
            held: Default::default(),
            roomy: Default::default(),
            coming: Default::default(),
            ready: Default::default(),
            filled: Default::default(),
            take: Default::default(),
            next_at: Default::default(),
            opened: Default::default(),
            added: Default::default(),
            total: Default::default(),
            after_write: Default::default(),
            left: Default::default(),
            // Two words are promised, and one may be stored while `roomy` is computed.
            limit: Constant::new(((1u64 << depth_log2) - 3).into()),
        }
    }
}

impl<T: Synth, const A: usize> Logic for CommitFifo<T, A> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, write_at, commit_at, read_at, open, held, roomy, coming, ready, filled);
        self.ram.clock.next = self.clk.val();

        self.room.next = self.roomy.q.val();
        self.out_valid.next = self.filled.q.val();
        self.out_data.next = self.ram.read_data.val();
        self.take.next = self.filled.q.val() & self.out_ready.val();

        self.ram.write_enable.next = self.in_valid.val();
        self.ram.write_address.next = self.write_at.q.val();
        self.ram.write_data.next = self.in_data.val();
        self.next_at.next = self.read_at.q.val();
        if self.take.val() {
            self.next_at.next = self.read_at.q.val() + 1;
        }
        self.read_at.d.next = self.next_at.val();
        self.ram.read_address.next = self.next_at.val();

        self.opened.next = self.open.q.val();
        self.after_write.next = self.write_at.q.val();
        if self.in_valid.val() {
            self.opened.next = self.open.q.val() + 1;
            self.after_write.next = self.write_at.q.val() + 1;
        }
        self.open.d.next = self.opened.val();
        self.write_at.d.next = self.after_write.val();
        self.added.next = 0.into();
        if self.rollback.val() {
            self.open.d.next = 0.into();
            self.write_at.d.next = self.commit_at.q.val();
        } else {
            if self.commit.val() {
                self.open.d.next = 0.into();
                self.commit_at.d.next = self.after_write.val();
                self.added.next = self.opened.val();
            }
        }
        self.coming.d.next = self.added.val();
        self.left.next = self.ready.q.val() + self.coming.q.val();
        if self.take.val() {
            self.held.d.next = self.held.q.val() + self.added.val() - 1;
            self.left.next = self.ready.q.val() + self.coming.q.val() - 1;
        } else {
            self.held.d.next = self.held.q.val() + self.added.val();
        }
        self.ready.d.next = self.left.val();
        self.filled.d.next = self.left.val() != 0;
        self.total.next = self.held.q.val() + self.open.q.val();
        self.roomy.d.next = self.total.val() < self.limit.val();

        if self.rst.val() {
            self.write_at.d.next = 0.into();
            self.commit_at.d.next = 0.into();
            self.read_at.d.next = 0.into();
            self.open.d.next = 0.into();
            self.held.d.next = 0.into();
            self.roomy.d.next = false;
            self.coming.d.next = 0.into();
            self.ready.d.next = 0.into();
            self.filled.d.next = false;
        }
    }
}
