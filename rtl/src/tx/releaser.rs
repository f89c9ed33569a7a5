//! Says of a message that it will never be emitted again (RL-1).
//!
//! ```text
//!  finish, ended here or the peer asks ──┐
//!  FEEDBACK that asks, message long over ┴──> one word ──> release
//! ```
//!
//! A finished message has no packet on its way, and a slot that is free or in use
//! by a newer generation had none before: so what is said holds whichever way the
//! RELEASE goes out.
//!
//! Contract: `begin_finish` or `begin_answer` only while `free`. The first is
//! decided by the finish job and its words two clocks later, the second with
//! `answered`, which belongs to `feedback`. `was_answer`: the last that began was an
//! answer. A RELEASE is offered one clock after
//! it is decided; `free` returns when it is taken, or when there is none.
//!
//! Verified as part of `testbenches/tests/tx_slots`, rules RL-1 and RL-4.

use super::words::{Job, SlotState};
use crate::prelude::*;
use crate::types::{RxFeedback, TxFeedback, TxRequest};
use tessera_abi::status::Status;

#[derive(LogicBlock)]
pub struct Releaser {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub free: Signal<Out, Bit>,
    pub was_answer: Signal<Out, Bit>,
    pub begin_finish: Signal<In, Bit>,
    pub begin_answer: Signal<In, Bit>,
    pub job: Signal<In, Job>,
    pub state: Signal<In, SlotState>,
    pub message: Signal<In, TxRequest>,
    /// The FEEDBACK at work is done with, and it draws a RELEASE.
    pub answered: Signal<In, Bit>,
    pub answers: Signal<In, Bit>,
    pub feedback: Signal<In, RxFeedback>,
    pub release_valid: Signal<Out, Bit>,
    pub release_data: Signal<Out, TxFeedback>,
    pub release_ready: Signal<In, Bit>,
    word: Dff<TxFeedback>,
    held: Dff<Bit>,
    /// A job that may lead to one is in the pipeline; it is FEEDBACK's.
    begun: Dff<Bit>,
    answering: Dff<Bit>,
    /// It ended here: the first status that is not the wire's.
    ended_here: Signal<Local, Bit>,
    blank: Constant<TxFeedback>,
    first_local: Constant<Bits<8>>,
}

impl Releaser {
    /// Nothing to say.
    pub fn new() -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            free: Default::default(),
            was_answer: Default::default(),
            begin_finish: Default::default(),
            begin_answer: Default::default(),
            job: Default::default(),
            state: Default::default(),
            message: Default::default(),
            answered: Default::default(),
            answers: Default::default(),
            feedback: Default::default(),
            release_valid: Default::default(),
            release_data: Default::default(),
            release_ready: Default::default(),
            word: Default::default(),
            held: Default::default(),
            begun: Default::default(),
            answering: Default::default(),
            ended_here: Default::default(),
            blank: Constant::new(TxFeedback { release: true, ..TxFeedback::default() }),
            first_local: Constant::new(u64::from(Status::FIRST_LOCAL).into()),
        }
    }
}

impl Logic for Releaser {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, word, held, begun, answering);
        self.free.next = !self.begun.q.val() & !self.held.q.val();
        self.was_answer.next = self.answering.q.val();
        if self.release_ready.val() {
            self.held.d.next = false;
        }
        if self.begin_finish.val() | self.begin_answer.val() {
            self.begun.d.next = true;
            self.answering.d.next = self.begin_answer.val();
        }
        // What was never sent needs no word.
        self.ended_here.next = self.state.val().status >= self.first_local.val();
        if self.job.val().finish {
            self.begun.d.next = false;
            self.held.d.next =
                self.state.val().sent.any() & (self.ended_here.val() | self.state.val().release_asked);
            self.word.d.next = self.blank.val();
            self.word.d.next.dst_mac = self.message.val().dst_mac;
            self.word.d.next.vlan = self.message.val().vlan;
            self.word.d.next.vlan_valid = self.message.val().vlan_valid;
            self.word.d.next.dst_gid = self.message.val().dst_gid;
            self.word.d.next.dst_endpoint = self.message.val().dst_endpoint;
            self.word.d.next.endpoint = self.message.val().endpoint;
            self.word.d.next.slot = self.job.val().slot;
            self.word.d.next.generation = self.state.val().generation;
        }
        if self.answered.val() & self.answering.q.val() & self.begun.q.val() {
            self.begun.d.next = false;
            self.held.d.next = self.answers.val();
            self.word.d.next = self.blank.val();
            self.word.d.next.dst_mac = self.feedback.val().src_mac;
            self.word.d.next.vlan = self.feedback.val().vlan;
            self.word.d.next.vlan_valid = self.feedback.val().vlan_valid;
            self.word.d.next.dst_gid = self.feedback.val().src_gid;
            self.word.d.next.dst_endpoint = self.feedback.val().src_endpoint;
            self.word.d.next.endpoint = self.feedback.val().endpoint;
            self.word.d.next.slot = self.feedback.val().slot;
            self.word.d.next.generation = self.feedback.val().generation;
        }
        self.release_valid.next = self.held.q.val();
        self.release_data.next = self.word.q.val();

        if self.rst.val() {
            self.held.d.next = false;
            self.begun.d.next = false;
            self.answering.d.next = false;
        }
    }
}
