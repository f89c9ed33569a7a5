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
//! included, visible at the output three clocks later; `rollback` forgets
//! them, that of the same clock included. Never both in one clock. One word in
//! and one out per clock.
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
    /// The RAM's output holds a word that was asked for last clock.
    fetched: Dff<Bit>,
    /// Output word and the one behind it.
    front: Dff<T>,
    front_valid: Dff<Bit>,
    back: Dff<T>,
    back_valid: Dff<Bit>,
    take: Signal<Local, Bit>,
    fetch: Signal<Local, Bit>,
    /// Words that are or will be in the two output places after this clock.
    ahead: Signal<Local, Bits<2>>,
    opened: Signal<Local, Bits<16>>,
    added: Signal<Local, Bits<16>>,
    total: Signal<Local, Bits<16>>,
    after_write: Signal<Local, Bits<A>>,
    limit: Constant<Bits<16>>,
}

impl<T: Synth, const A: usize> CommitFifo<T, A> {
    /// A FIFO of `2^depth_log2` words (plus two), `3 <= depth_log2 <= A <= 15`.
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
            fetched: Default::default(),
            front: Default::default(),
            front_valid: Default::default(),
            back: Default::default(),
            back_valid: Default::default(),
            take: Default::default(),
            fetch: Default::default(),
            ahead: Default::default(),
            opened: Default::default(),
            added: Default::default(),
            total: Default::default(),
            after_write: Default::default(),
            // Two words are promised, and one may be stored while `roomy` is computed.
            limit: Constant::new(((1u64 << depth_log2) - 3).into()),
        }
    }
}

impl<T: Synth, const A: usize> Logic for CommitFifo<T, A> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self,
            clk,
            write_at,
            commit_at,
            read_at,
            open,
            held,
            roomy,
            fetched,
            front,
            front_valid,
            back,
            back_valid
        );
        self.ram.clock.next = self.clk.val();

        self.room.next = self.roomy.q.val();
        self.out_valid.next = self.front_valid.q.val();
        self.out_data.next = self.front.q.val();
        self.take.next = self.front_valid.q.val() & self.out_ready.val();

        self.ram.write_enable.next = self.in_valid.val();
        self.ram.write_address.next = self.write_at.q.val();
        self.ram.write_data.next = self.in_data.val();
        self.ram.read_address.next = self.read_at.q.val();

        // A fetch needs a free output place when its word arrives next clock.
        self.ahead.next = 0.into();
        if self.front_valid.q.val() & !self.take.val() {
            if self.back_valid.q.val() | self.fetched.q.val() {
                self.ahead.next = 2.into();
            } else {
                self.ahead.next = 1.into();
            }
        } else {
            // Never both: three words would have been ahead.
            if self.back_valid.q.val() | self.fetched.q.val() {
                self.ahead.next = 1.into();
            }
        }
        self.fetch.next = (self.held.q.val() != 0) & (self.ahead.val() != 2);
        self.fetched.d.next = self.fetch.val();
        if self.fetch.val() {
            self.read_at.d.next = self.read_at.q.val() + 1;
        }

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
        if self.fetch.val() {
            self.held.d.next = self.held.q.val() + self.added.val() - 1;
        } else {
            self.held.d.next = self.held.q.val() + self.added.val();
        }
        self.total.next = self.held.q.val() + self.open.q.val();
        self.roomy.d.next = self.total.val() < self.limit.val();

        if !self.front_valid.q.val() | self.take.val() {
            // The front moves up: from the back if it holds a word, else from the RAM.
            if self.back_valid.q.val() {
                self.front.d.next = self.back.q.val();
                self.front_valid.d.next = true;
                self.back.d.next = self.ram.read_data.val();
                self.back_valid.d.next = self.fetched.q.val();
            } else {
                self.front.d.next = self.ram.read_data.val();
                self.front_valid.d.next = self.fetched.q.val();
            }
        } else {
            if self.fetched.q.val() {
                self.back.d.next = self.ram.read_data.val();
                self.back_valid.d.next = true;
            }
        }

        if self.rst.val() {
            self.write_at.d.next = 0.into();
            self.commit_at.d.next = 0.into();
            self.read_at.d.next = 0.into();
            self.open.d.next = 0.into();
            self.held.d.next = 0.into();
            self.roomy.d.next = false;
            self.fetched.d.next = false;
            self.front_valid.d.next = false;
            self.back_valid.d.next = false;
        }
    }
}
