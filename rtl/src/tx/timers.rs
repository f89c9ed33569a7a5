//! Between the slots and their timer wheel: pops wait for their turn, inserts
//! for the wheel.
//!
//! ```text
//!  wheel ── pop ──> held ──> job
//!  wheel <── insert ── FIFO of 16 <── action
//! ```
//!
//! A job that may insert is let in only while a place of the FIFO is left for
//! it, so the pipeline never has to stop for the wheel.
//!
//! Contract: one insert per clock. A job that may insert is chosen only while `room`,
//! `starts` tells of it a clock later: who is chosen is known late. For each one
//! `finished` with or without `insert`.
//!
//! Verified as part of `testbenches/tests/tx_slots/`.

use crate::prelude::*;
use crate::stream::Fifo;
use crate::types::TimerInsert;

#[derive(LogicBlock)]
pub struct Timers {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub insert_valid: Signal<Out, Bit>,
    pub insert_data: Signal<Out, TimerInsert>,
    pub insert_ready: Signal<In, Bit>,
    pub pop_valid: Signal<In, Bit>,
    pub pop_node: Signal<In, Bits<13>>,
    pub pop_ready: Signal<Out, Bit>,
    pub held: Signal<Out, Bit>,
    pub held_node: Signal<Out, Bits<13>>,
    pub take: Signal<In, Bit>,
    pub room: Signal<Out, Bit>,
    pub starts: Signal<In, Bit>,
    pub finished: Signal<In, Bit>,
    pub insert: Signal<In, Bit>,
    pub insert_node: Signal<In, Bits<13>>,
    pub insert_at: Signal<In, Bits<32>>,
    inserts: Fifo<TimerInsert, 4>,
    /// Places in use or promised.
    owed: Dff<Bits<6>>,
    more: Signal<Local, Bits<6>>,
    unused: Signal<Local, Bits<6>>,
    moved: Signal<Local, Bits<6>>,
    popped: Dff<Bit>,
    node: Dff<Bits<13>>,
}

impl Timers {
    pub fn new() -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            insert_valid: Default::default(),
            insert_data: Default::default(),
            insert_ready: Default::default(),
            pop_valid: Default::default(),
            pop_node: Default::default(),
            pop_ready: Default::default(),
            held: Default::default(),
            held_node: Default::default(),
            take: Default::default(),
            room: Default::default(),
            starts: Default::default(),
            finished: Default::default(),
            insert: Default::default(),
            insert_node: Default::default(),
            insert_at: Default::default(),
            inserts: Fifo::new(4),
            owed: Default::default(),
            more: Default::default(),
            unused: Default::default(),
            moved: Default::default(),
            popped: Default::default(),
            node: Default::default(),
        }
    }
}

impl Logic for Timers {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, owed, popped, node);
        self.inserts.clk.next = self.clk.val();
        self.inserts.rst.next = self.rst.val();

        self.pop_ready.next = !self.popped.q.val() | self.take.val();
        if self.take.val() {
            self.popped.d.next = false;
        }
        if self.pop_valid.val() & (!self.popped.q.val() | self.take.val()) {
            self.popped.d.next = true;
            self.node.d.next = self.pop_node.val();
        }
        self.held.next = self.popped.q.val();
        self.held_node.next = self.node.q.val();

        self.inserts.in_valid.next = self.insert.val();
        self.inserts.in_data.next.node = self.insert_node.val();
        self.inserts.in_data.next.deadline = self.insert_at.val();
        self.insert_valid.next = self.inserts.out_valid.val();
        self.insert_data.next = self.inserts.out_data.val();
        self.inserts.out_ready.next = self.insert_ready.val();

        self.more.next = 0.into();
        if self.starts.val() {
            self.more.next = 1.into();
        }
        self.unused.next = 0.into();
        if self.finished.val() & !self.insert.val() {
            self.unused.next = 1.into();
        }
        self.moved.next = 0.into();
        if self.inserts.out_valid.val() & self.insert_ready.val() {
            self.moved.next = 1.into();
        }
        self.owed.d.next = self.owed.q.val() + self.more.val() - self.unused.val() - self.moved.val();
        // One may have been chosen that is not counted yet.
        self.room.next = self.owed.q.val() < 15;

        if self.rst.val() {
            self.owed.d.next = 0.into();
            self.popped.d.next = false;
        }
    }
}
