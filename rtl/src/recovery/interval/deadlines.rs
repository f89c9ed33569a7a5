//! The judgement, third part: how the times stand to each other, and what the timer is aimed by.

use super::{Interval, IntervalState};
use crate::parts::Part;
use crate::prelude::*;

pub(super) struct Deadlines;

impl Part<Deadlines> for Interval {
    #[hdl_gen]
    fn update(&mut self) {
        self.eased.next = self.span.q.val() >> self.halved.q.val();
        self.since_mark.next = self.at.q.val() - self.word.q.val().mark_time;
        self.answered_at.next = self.at.q.val() + self.pause.q.val();
        self.hold_sooner.next = self.answered_at.val() - self.word.q.val().hold;
        self.probe_at.next = self.at.q.val() + self.tail_span.q.val();
        self.hold_to_probe.next = self.probe_at.val() - self.word.q.val().hold;
        self.probe_sooner.next = self.probe_at.val() - self.word.q.val().probe_time;
        self.silence.next = self.at.q.val() - self.silent_at.q.val();
        self.marks_tail.next = self.word.q.val().tail & self.is_packet.val();
        self.sees_tail.next = self.marks_tail.val() & (self.job.q.val().highest != self.word.q.val().mark0);

        // Choose: LD-2, LD-3.
        self.base.next = self.silent_at.q.val();
        if self.word.q.val().hole {
            self.base.next = self.hole_at.q.val();
            if self.word.q.val().tail & (self.settings.val().ld_policy != 0) {
                self.base.next = self.mark_tail_at.q.val();
                if self.sees_tail.val() {
                    self.base.next = self.probe_at.val();
                }
            }
        }
        // What the timer is aimed by.
        self.aim.aim_valid.next = self.state.q.val() == IntervalState::Choose;
        self.aim.aim_data.next.context = self.owner.q.val();
        self.aim.aim_data.next.popping = self.popping.q.val();
        self.aim.aim_data.next.node = self.node.q.val();
        self.aim.aim_data.next.opened = self.job.q.val().opened;
        self.aim.aim_data.next.answer = self.is_answer.val();
        self.aim.aim_data.next.ends = self.is_end.val();
        self.aim.aim_data.next.open = self.word.q.val().open;
        self.aim.aim_data.next.missing = self.word.q.val().missing;
        self.aim.aim_data.next.hole = self.word.q.val().hole;
        // Until then some of what is missing may be on a slower path than the last.
        self.aim.aim_data.next.tail = self.word.q.val().tail
            & ((self.settings.val().ld_policy == 0) | (self.mark_due.q.val() & !self.sees_tail.val()));
        self.aim.aim_data.next.silent = !self.word.q.val().hole | !self.silence.val().get_bit(31);
        self.aim.aim_data.next.probed = self.word.q.val().probed;
        self.aim.aim_data.next.probe_armed = self.word.q.val().probe_armed;
        self.aim.aim_data.next.probe_time = self.word.q.val().probe_time;
        self.aim.aim_data.next.probe_limit = self.word.q.val().probe_limit;
        self.aim.aim_data.next.halved = self.halved.q.val().any();
        self.aim.aim_data.next.holding = self.word.q.val().holding;
        self.aim.aim_data.next.hold = self.word.q.val().hold;
        self.aim.aim_data.next.recent = self.word.q.val().mark1;
        if self.mark_due.q.val() {
            self.aim.aim_data.next.recent = self.word.q.val().mark0;
        }
        self.aim.aim_data.next.at = self.at.q.val();
        self.aim.aim_data.next.tail_span = self.tail_span.q.val();
        self.aim.aim_data.next.look_at = self.probe_at.val();
        self.aim.aim_data.next.deadline = self.base.val();
        self.aim.aim_data.next.hole_tail_at = self.hole_tail_at.q.val();
        self.aim.aim_data.next.give_up_at = self.give_up_at.q.val();
    }
}
