//! The writer, second part: whose completion comes next.

use super::{CqWriter, Step};
use crate::parts::Part;
use crate::prelude::*;

pub(super) struct Turns;

impl Part<Turns> for CqWriter {
    #[hdl_gen]
    fn update(&mut self) {
        // Turns: the stream behind the one served last comes first. Of several
        // assignments the last counts, so each list runs from last to first.
        self.choice.next = self.last.q.val();
        match self.last.q.val().index() {
            0 => {
                if self.done_rq_valid.val() {
                    self.choice.next = 3.into();
                }
                if self.done_sq_valid.val() {
                    self.choice.next = 2.into();
                }
                if self.done_tx_valid.val() {
                    self.choice.next = 1.into();
                }
            }
            1 => {
                if self.done_rx_valid.val() {
                    self.choice.next = 0.into();
                }
                if self.done_rq_valid.val() {
                    self.choice.next = 3.into();
                }
                if self.done_sq_valid.val() {
                    self.choice.next = 2.into();
                }
            }
            2 => {
                if self.done_tx_valid.val() {
                    self.choice.next = 1.into();
                }
                if self.done_rx_valid.val() {
                    self.choice.next = 0.into();
                }
                if self.done_rq_valid.val() {
                    self.choice.next = 3.into();
                }
            }
            _ => {
                if self.done_sq_valid.val() {
                    self.choice.next = 2.into();
                }
                if self.done_tx_valid.val() {
                    self.choice.next = 1.into();
                }
                if self.done_rx_valid.val() {
                    self.choice.next = 0.into();
                }
            }
        }
        self.picked.next = self.done_rx_data.val();
        match self.choice.val().index() {
            0 => self.picked.next = self.done_rx_data.val(),
            1 => self.picked.next = self.done_tx_data.val(),
            2 => self.picked.next = self.done_sq_data.val(),
            _ => self.picked.next = self.done_rq_data.val(),
        }
        // What the match table tells of comes before the end of its message.
        if self.done_match_valid.val() {
            self.picked.next = self.done_match_data.val();
        }
        self.wanted.next = self.done_rx_valid.val()
            | self.done_tx_valid.val()
            | self.done_sq_valid.val()
            | self.done_rq_valid.val()
            | self.done_match_valid.val();
        // The last clock of one completion picks the next. Whether it is lost comes late, and
        // the engine's ready too: neither is in the decision. A write that is taken at once is
        // gone when the next one is there.
        self.free.next = !self.desc_valid.q.val() & !self.beat_valid.q.val();
        self.ends.next = (self.state.q.val() == Step::Write)
            & self.free.val()
            & !self.queue_write.val()
            & !self.rewritten.q.val();
        self.pick.next = ((self.state.q.val() == Step::Pick) | self.ends.val()) & self.wanted.val();
        self.turn.next = self.pick.val() & !self.done_match_valid.val();
        self.done_match_ready.next = self.pick.val();
        self.done_rx_ready.next = self.turn.val() & (self.choice.val() == 0);
        self.done_tx_ready.next = self.turn.val() & (self.choice.val() == 1);
        self.done_sq_ready.next = self.turn.val() & (self.choice.val() == 2);
        self.done_rq_ready.next = self.turn.val() & (self.choice.val() == 3);
    }
}
