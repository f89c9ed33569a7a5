//! Writes the completion of a message that is over.
//!
//! Contract: `start` only while `free`; two clocks later its job, state and
//! message are here (`job.finish`), and the completion is offered one clock
//! after that. `free` returns when it is taken.
//!
//! Verified as part of `testbenches/tests/tx_slots`, rule TX-12.

use super::words::{Job, SlotState};
use crate::prelude::*;
use crate::types::{Done, TxRequest};

#[derive(LogicBlock)]
pub struct Completer {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub free: Signal<Out, Bit>,
    pub start: Signal<In, Bit>,
    pub job: Signal<In, Job>,
    pub state: Signal<In, SlotState>,
    pub message: Signal<In, TxRequest>,
    pub done_valid: Signal<Out, Bit>,
    pub done_data: Signal<Out, Done>,
    pub done_ready: Signal<In, Bit>,
    done: Dff<Done>,
    held: Dff<Bit>,
    busy: Dff<Bit>,
}

impl Completer {
    pub fn new() -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            free: Default::default(),
            start: Default::default(),
            job: Default::default(),
            state: Default::default(),
            message: Default::default(),
            done_valid: Default::default(),
            done_data: Default::default(),
            done_ready: Default::default(),
            done: Default::default(),
            held: Default::default(),
            busy: Default::default(),
        }
    }
}

impl Logic for Completer {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, done, held, busy);
        self.free.next = !self.busy.q.val();
        if self.held.q.val() & self.done_ready.val() {
            self.held.d.next = false;
            self.busy.d.next = false;
        }
        if self.start.val() {
            self.busy.d.next = true;
        }
        if self.job.val().finish {
            self.held.d.next = true;
            self.done.d.next.receive = false;
            self.done.d.next.status = self.state.val().status;
            self.done.d.next.has_imm = self.message.val().has_imm;
            self.done.d.next.write = self.message.val().write;
            self.done.d.next.grh = false;
            self.done.d.next.vlan_valid = false;
            self.done.d.next.endpoint = self.message.val().endpoint;
            self.done.d.next.own = false;
            self.done.d.next.event = 0.into();
            self.done.d.next.entry = self.message.val().entry;
            self.done.d.next.length = self.message.val().length;
            self.done.d.next.imm = self.message.val().imm;
            self.done.d.next.tag = self.message.val().tag;
            self.done.d.next.slot = self.job.val().slot;
            self.done.d.next.generation = self.state.val().generation;
            self.done.d.next.peer_endpoint = self.message.val().dst_endpoint;
            self.done.d.next.peer_gid = self.message.val().dst_gid;
        }
        self.done_valid.next = self.held.q.val();
        self.done_data.next = self.done.q.val();

        if self.rst.val() {
            self.held.d.next = false;
            self.busy.d.next = false;
        }
    }
}
