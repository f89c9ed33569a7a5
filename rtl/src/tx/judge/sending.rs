//! The comparisons, second part: what may be sent, and what of the message is left.

use super::Judge;
use crate::parts::Part;
use crate::prelude::*;

pub(super) struct Sending;

impl Part<Sending> for Judge {
    #[hdl_gen]
    fn update(&mut self) {
        // What may be sent.
        if self.message.val().initial_window == 0 {
            self.window.next = 256.into();
        } else {
            self.window.next = bit_cast::<24, 8>(self.message.val().initial_window);
        }
        if self.job.val().accept {
            self.asked.next = self.window.val();
        } else {
            self.asked.next = self.feedback.val().grant;
        }
        self.enough.next = self.asked.val() >= self.message.val().count;
        self.out.d.next.grant = self.asked.val();
        if self.enough.val() {
            self.out.d.next.grant = self.message.val().count;
        }
        self.bounded.next = self.state.val().limit < self.message.val().count;
        self.room.next =
            bit_cast::<25, 24>(self.state.val().limit) - bit_cast::<25, 24>(self.state.val().sent);
        self.unsent.next = !self.room.val().get_bit(24) & self.room.val().get_bits::<24>(0).any();
        self.out.d.next.cumulative_up = self.feedback.val().cumulative > self.state.val().cumulative;
        // Of FEEDBACK.
        self.out.d.next.limit_up = self.bounded.val() & (self.feedback.val().grant > self.state.val().limit);
        self.out.d.next.unsent = self.unsent.val();
        self.out.d.next.unsent_then =
            self.unsent.val() | (self.unfinished.val() & (self.state.val().sent < self.feedback.val().grant));
        self.out.d.next.unsent_after = !self.room.val().get_bit(24) & self.room.val().get_bits::<23>(1).any();
        // TX-17. A state that is accepted into is still the last message's. One sum: the
        // complement of what was sent before, and one more where this job sends nothing new.
        self.gone.next = self.state.val().sent;
        if self.job.val().accept {
            self.gone.next = 0.into();
        }
        self.stays.next = !self.job.val().turn | self.state.val().probe;
        self.left.next =
            self.message.val().count + !self.gone.val() + bit_cast::<24, 1>(self.stays.val().into());
        self.out.d.next.few_after = self.left.val() <= 4;
        self.out.d.next.list = 0.into();
        if self.settings.val().turn_policy.get_bit(0) {
            if self.left.val().get_bits::<2>(2).any() {
                self.out.d.next.list = 1.into();
            }
            if self.left.val().get_bits::<2>(4).any() {
                self.out.d.next.list = 2.into();
            }
            if self.left.val().get_bits::<2>(6).any() {
                self.out.d.next.list = 3.into();
            }
            if self.left.val().get_bits::<2>(8).any() {
                self.out.d.next.list = 4.into();
            }
            if self.left.val().get_bits::<2>(10).any() {
                self.out.d.next.list = 5.into();
            }
            if self.left.val().get_bits::<2>(12).any() {
                self.out.d.next.list = 6.into();
            }
            if self.left.val().get_bits::<10>(14).any() {
                self.out.d.next.list = 7.into();
            }
        }
        self.out.d.next.starved = (self.state.val().cumulative == self.state.val().sent)
            & self.unsent.val()
            & (self.state.val().busy == 0);
        self.out.d.next.again = (self.job.val().index < self.state.val().sent)
            & (self.job.val().index >= self.state.val().cumulative);
        self.unasked.initial_window.next = self.message.val().initial_window;
        self.unasked.cap.next = 0.into();
        self.unasked.payload_log2.next = self.message.val().payload_log2;
        self.unasked.length.next = self.message.val().length;
        self.unasked.count.next = self.message.val().count;
        self.out.d.next.unasked = self.unasked.bytes.val();
    }
}
