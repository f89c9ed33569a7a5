//! What is on its way through the NIC, whoever's it is, for an endpoint that is
//! reclaimed (RE-3).
//!
//! ```text
//!  mark 0   words (parser to lookup), FEEDBACK (parser to slots), reads of rings
//!  mark 1   datagrams (lookup to completion)
//!  mark 2   answers (lookup, context, sender to where tx_build reads the keys)
//! ```
//!
//! Each mark is behind what the one before it let through: a word may become a
//! datagram on its way into memory, or an answer; FEEDBACK may draw a RELEASE.
//!
//! Contract: `left[i]` is high from the second clock after `mark[i]` on until all
//! that was counted at the mark has left; an answer has a clock after `said`. A thing on offer
//! counts from the clock in which it is first seen.
//!
//! Verified by `testbenches/tests/reclaim_marks.rs` and `nic_reclaim.rs`.

use super::mark_count::MarkCount;
use crate::prelude::*;

#[derive(LogicBlock)]
pub struct ReclaimMarks {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub mark: Signal<In, Bits<3>>,
    pub left: Signal<Out, Bits<3>>,
    /// A word for lookup was accepted; lookup has judged one.
    pub word: Signal<In, Bit>,
    pub judged: Signal<In, Bit>,
    /// FEEDBACK was accepted; the sender has dealt with one.
    pub feedback: Signal<In, Bit>,
    pub heard: Signal<In, Bit>,
    /// Descriptors of `sq_fetch` and `rq_fetch`, and the statuses of both.
    pub sq_valid: Signal<In, Bit>,
    pub sq_ready: Signal<In, Bit>,
    pub rq_valid: Signal<In, Bit>,
    pub rq_ready: Signal<In, Bit>,
    pub read: Signal<In, Bit>,
    /// A datagram in lookup's work; one's completion is handed over.
    pub datagram_valid: Signal<In, Bit>,
    pub datagram_ready: Signal<In, Bit>,
    pub datagram_done: Signal<In, Bit>,
    /// Answers of lookup, of the receiver, RELEASEs; one has its keys.
    pub lookup_valid: Signal<In, Bit>,
    pub lookup_ready: Signal<In, Bit>,
    pub context_valid: Signal<In, Bit>,
    pub context_ready: Signal<In, Bit>,
    pub release_valid: Signal<In, Bit>,
    pub release_ready: Signal<In, Bit>,
    pub said: Signal<In, Bit>,
    words: MarkCount,
    feedbacks: MarkCount,
    reads: MarkCount,
    datagrams: MarkCount,
    answers: MarkCount,
    /// On offer in the last clock, and not taken.
    held: Dff<Bits<6>>,
    /// `said` of the last clock: that a beat leaves is known late.
    gone: Dff<Bit>,
    offered: Signal<Local, Bits<6>>,
    waits: Signal<Local, Bits<6>>,
    fresh: Signal<Local, Bits<6>>,
}

impl ReclaimMarks {
    pub fn new() -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            mark: Default::default(),
            left: Default::default(),
            word: Default::default(),
            judged: Default::default(),
            feedback: Default::default(),
            heard: Default::default(),
            sq_valid: Default::default(),
            sq_ready: Default::default(),
            rq_valid: Default::default(),
            rq_ready: Default::default(),
            read: Default::default(),
            datagram_valid: Default::default(),
            datagram_ready: Default::default(),
            datagram_done: Default::default(),
            lookup_valid: Default::default(),
            lookup_ready: Default::default(),
            context_valid: Default::default(),
            context_ready: Default::default(),
            release_valid: Default::default(),
            release_ready: Default::default(),
            said: Default::default(),
            words: MarkCount::new(0),
            feedbacks: MarkCount::new(0),
            // A choice that alternates lies between a descriptor and the port; two others take
            // turns with an answer.
            reads: MarkCount::new(4),
            datagrams: MarkCount::new(0),
            answers: MarkCount::new(2),
            held: Default::default(),
            gone: Default::default(),
            offered: Default::default(),
            waits: Default::default(),
            fresh: Default::default(),
        }
    }
}

impl Logic for ReclaimMarks {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, held, gone);
        self.words.clk.next = self.clk.val();
        self.words.rst.next = self.rst.val();
        self.feedbacks.clk.next = self.clk.val();
        self.feedbacks.rst.next = self.rst.val();
        self.reads.clk.next = self.clk.val();
        self.reads.rst.next = self.rst.val();
        self.datagrams.clk.next = self.clk.val();
        self.datagrams.rst.next = self.rst.val();
        self.answers.clk.next = self.clk.val();
        self.answers.rst.next = self.rst.val();

        self.offered.next = bit_cast::<6, 1>(self.sq_valid.val().into())
            | (bit_cast::<6, 1>(self.rq_valid.val().into()) << 1)
            | (bit_cast::<6, 1>(self.datagram_valid.val().into()) << 2)
            | (bit_cast::<6, 1>(self.lookup_valid.val().into()) << 3)
            | (bit_cast::<6, 1>(self.context_valid.val().into()) << 4)
            | (bit_cast::<6, 1>(self.release_valid.val().into()) << 5);
        self.waits.next = bit_cast::<6, 1>((!self.sq_ready.val()).into())
            | (bit_cast::<6, 1>((!self.rq_ready.val()).into()) << 1)
            | (bit_cast::<6, 1>((!self.datagram_ready.val()).into()) << 2)
            | (bit_cast::<6, 1>((!self.lookup_ready.val()).into()) << 3)
            | (bit_cast::<6, 1>((!self.context_ready.val()).into()) << 4)
            | (bit_cast::<6, 1>((!self.release_ready.val()).into()) << 5);
        self.held.d.next = self.offered.val() & self.waits.val();
        self.fresh.next = self.offered.val() & !self.held.q.val();

        self.words.enter.next = bit_cast::<3, 1>(self.word.val().into());
        self.words.leave.next = self.judged.val();
        self.words.mark.next = self.mark.val().get_bit(0);
        self.feedbacks.enter.next = bit_cast::<3, 1>(self.feedback.val().into());
        self.feedbacks.leave.next = self.heard.val();
        self.feedbacks.mark.next = self.mark.val().get_bit(0);
        self.reads.enter.next = bit_cast::<3, 2>(self.fresh.val().get_bits::<2>(0));
        self.reads.leave.next = self.read.val();
        self.reads.mark.next = self.mark.val().get_bit(0);
        self.datagrams.enter.next = bit_cast::<3, 1>(self.fresh.val().get_bits::<1>(2));
        self.datagrams.leave.next = self.datagram_done.val();
        self.datagrams.mark.next = self.mark.val().get_bit(1);
        self.answers.enter.next = self.fresh.val().get_bits::<3>(3);
        self.gone.d.next = self.said.val();
        self.answers.leave.next = self.gone.q.val();
        self.answers.mark.next = self.mark.val().get_bit(2);

        self.left.next = bit_cast::<3, 1>(
            (self.words.left.val() | self.feedbacks.left.val() | self.reads.left.val()).into(),
        ) | (bit_cast::<3, 1>(self.datagrams.left.val().into()) << 1)
            | (bit_cast::<3, 1>(self.answers.left.val().into()) << 2);

        if self.rst.val() {
            self.held.d.next = 0.into();
            self.gone.d.next = false;
        }
    }
}
