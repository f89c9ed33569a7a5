//! The lists step by step, and the search beside them; the picture is the module's.

use super::{GrantOrder, GrantStep};
use crate::prelude::*;

impl Logic for GrantOrder {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self, clk, step, bell, entering, count, lists, grew, shrank, offered, leaving, head, serving,
            by_ring, tail, picked, last, known, oldest, oldest_age, turn, scanning, scan_at, fresh
        );
        dff_setup!(
            self,
            clk,
            fronts,
            front,
            looked,
            age,
            is_mine,
            waits,
            rest_ringed,
            next_rest,
            next_is_lowest,
            serving_rest,
            rest_turn,
            above
        );
        self.line.clk.next = self.clk.val();
        self.line.rst.next = self.rst.val();
        self.links.clock.next = self.clk.val();
        self.names.clk.next = self.clk.val();
        self.names.rst.next = self.rst.val();
        self.places.clk.next = self.clk.val();
        self.places.rst.next = self.rst.val();
        self.ring.clk.next = self.clk.val();
        self.ring.rst.next = self.rst.val();
        self.ready.next = self.names.ready.val() & self.places.ready.val();
        self.head_valid.next = self.offered.q.val();
        self.head_context.next = self.head.q.val();
        self.line.in_valid.next = self.enter.val();
        self.line.in_data.next = self.enter_data.val();
        self.line.out_ready.next = false;
        self.ring.in_valid.next = false;
        self.ring.in_data.next = self.serving.q.val();
        self.takes_front.next = false;
        self.links.read_address.next = self.head.q.val();
        self.links.write_enable.next = false;
        self.links.write_data.next = self.entering.q.val().context;

        // The place that the step works on is asked for before it, and stays until its end.
        self.bell_at.next = self.bell.q.val().index ^ self.bell.q.val().value.get_bits::<8>(0);
        self.enter_at.next = self.entering.q.val().endpoint ^ self.entering.q.val().round.get_bits::<8>(0);
        self.at.next = self.serving.q.val().get_bits::<8>(0);
        if (self.step.q.val() == GrantStep::Look) | (self.step.q.val() == GrantStep::Enter) {
            self.at.next = self.enter_at.val();
        }
        if (self.step.q.val() == GrantStep::Register)
            | ((self.step.q.val() == GrantStep::Idle) & self.bell.q.val().valid)
        {
            self.at.next = self.bell_at.val();
        }
        self.read_at.next = self.scan_at.q.val();
        self.fetches.next = self.at.val() != self.scan_at.q.val();
        self.place.next = self.places.read_data.val();
        self.age.d.next = self.names.read_data.val().age;
        self.mine.next = self.has_rounds.val() & self.is_mine.q.val();
        // The list of the step: of what was read only who enters depends.
        self.serves_round.next = self.has_rounds.val() & !self.serving.q.val().get_bit(8);
        // Of no round.
        self.rest_at.next = self.serving_rest.q.val();
        if self.step.q.val() == GrantStep::Pick {
            self.rest_at.next = self.next_rest.q.val();
        }
        if self.step.q.val() == GrantStep::Enter {
            self.rest_at.next = (bits::<8>(1) << self.entering.q.val().rest_list) & self.rest_lists.val();
        }
        self.rest_some.next = (self.waits.q.val() & self.rest_at.val()).any();
        self.rest_head.next = 0.into();
        self.rest_tail.next = 0.into();
        for i in 0..8 {
            if self.next_rest.q.val().get_bit(i) {
                self.rest_head.next = self.rest_head.val() | self.firsts[i].q.val();
            }
            if self.rest_at.val().get_bit(i) {
                self.rest_tail.next = self.rest_tail.val() | self.lasts[i].q.val();
            }
        }
        self.alone.next = !(self.waits.q.val() & !self.rest_at.val()).any();
        self.joins.next = (self.serving_rest.q.val() & self.rest_at.val()).any() & !self.serves_round.val();
        if self.mine.val() {
            self.joins.next =
                self.serves_round.val() & (self.serving.q.val().get_bits::<8>(0) == self.enter_at.val());
        }
        self.links.write_address.next = self.rest_tail.val();
        if self.mine.val() {
            self.links.write_address.next = self.place.val().tail;
        }
        self.is_oldest.next = self.known.q.val()
            & (self.serves_round.val() | (self.step.q.val() == GrantStep::Register))
            & (self.at.val() == self.oldest.q.val());
        self.left.next = self.place.val();
        self.write_place.next = false;
        self.enters_rest.next = false;
        self.leaves_rest.next = false;
        self.search.next = false;
        self.grew.d.next = false;
        self.shrank.d.next = false;

        // A round that is forgotten keeps its age as long as somebody waits.
        self.names.write_enable.next = self.step.q.val() == GrantStep::Register;
        self.names.write_address.next = self.bell_at.val();
        self.names.write_data.next.valid = self.bell.q.val().more.any();
        self.names.write_data.next.id = self.bell.q.val().value;
        self.names.write_data.next.age = self.names.read_data.val().age;
        if self.bell.q.val().more.any() {
            self.names.write_data.next.age = self.count.q.val();
        }

        // Whether the round of the step, or the one the search looks at, is older. The search looks
        // in Idle only, and not at what the step that follows is about.
        self.looks.next = self.scanning.q.val()
            & self.fresh.q.val()
            & !((self.bell.q.val().valid | self.leaving.q.val()) & (self.at.val() == self.scan_at.q.val()));
        // Less one: with a sign alone, and no test for zero beside it.
        self.behind.next = self.oldest_age.q.val() + !self.age.q.val();
        self.older.next = !self.known.q.val() | !self.behind.val().get_bit(15);

        self.ring_is_oldest.next =
            self.known.q.val() & (self.front.q.val() == bit_cast::<9, 8>(self.oldest.q.val()));

        // GR-7: which of the lists of no round is next. A clock passes between what changes
        // them and a pick.
        self.first_of_waits.d.next = self.waits.q.val();
        self.lowest.next = self.first_of_waits.q.val();
        self.higher.next = self.waits.q.val() & !self.lowest.val();
        self.higher_above.next = self.higher.val() & self.above.q.val();
        self.first_of_higher.d.next = self.higher.val();
        self.first_above.d.next = self.higher_above.val();
        self.next_rest.d.next = self.lowest.val();
        self.next_is_lowest.d.next = (self.rest_turn.q.val() != 3) | !self.higher.val().any();
        if (self.rest_turn.q.val() == 3) & self.higher.val().any() {
            self.next_rest.d.next = self.first_of_higher.q.val();
            if self.higher_above.val().any() {
                self.next_rest.d.next = self.first_above.q.val();
            }
        }

        // The last step is not in `lists` yet.
        self.several.next = ((self.lists.q.val() > 1) & !((self.lists.q.val() == 2) & self.shrank.q.val()))
            | ((self.lists.q.val() == 1) & self.grew.q.val());
        if self.grew.q.val() {
            self.lists.d.next = self.lists.q.val() + 1;
        }
        if self.shrank.q.val() {
            self.lists.d.next = self.lists.q.val() - 1;
        }
        self.wants_other.next = !self.known.q.val() | ((self.turn.q.val() == 3) & self.several.val());

        // What a pick read lies in registers; nobody enters in the clock after it.
        self.picked.d.next = false;
        if self.picked.q.val() {
            self.last.d.next = self.head.q.val() == self.tail.q.val();
        }

        match self.step.q.val() {
            GrantStep::Idle => {
                self.fetches.next = true;
                // What is taken from the ring and is not picked goes to its end.
                self.ring.in_data.next = self.front.q.val();
                if self.bell.q.val().valid {
                    self.fetches.next = false;
                    self.read_at.next = self.bell_at.val();
                    self.step.d.next = GrantStep::Register;
                } else if self.leaving.q.val() {
                    self.leaving.d.next = false;
                    self.fetches.next = false;
                    self.read_at.next = self.serving.q.val().get_bits::<8>(0);
                    self.step.d.next = GrantStep::Leave;
                } else if self.line.out_valid.val() {
                    self.line.out_ready.next = true;
                    self.fetches.next = false;
                    self.entering.d.next = self.line.out_data.val();
                    self.read_at.next =
                        self.line.out_data.val().endpoint ^ self.line.out_data.val().round.get_bits::<8>(0);
                    self.is_mine.d.next = false;
                    self.step.d.next = GrantStep::Enter;
                    if self.has_rounds.val() & self.line.out_data.val().in_round {
                        self.step.d.next = GrantStep::Look;
                    }
                } else if !self.offered.q.val() {
                    if self.wants_other.val() {
                        if self.fronts.q.val() {
                            self.takes_front.next = true;
                            // Read in either case.
                            self.fetches.next = false;
                            self.read_at.next = self.front.q.val().get_bits::<8>(0);
                            if self.ring_is_oldest.val() {
                                self.ring.in_valid.next = true;
                            } else {
                                self.serving.d.next = self.front.q.val();
                                self.by_ring.d.next = true;
                                self.step.d.next = GrantStep::Pick;
                            }
                        }
                    } else {
                        self.fetches.next = false;
                        self.read_at.next = self.oldest.q.val();
                        self.serving.d.next = bit_cast::<9, 8>(self.oldest.q.val());
                        self.by_ring.d.next = false;
                        self.step.d.next = GrantStep::Pick;
                    }
                }
            }
            GrantStep::Register => {
                if self.bell.q.val().more.any() {
                    self.count.d.next = self.count.q.val() + 1;
                    self.search.next = self.is_oldest.val();
                }
                self.bell.d.next.valid = false;
                self.step.d.next = GrantStep::Idle;
            }
            GrantStep::Look => {
                self.fetches.next = false;
                self.read_at.next = self.enter_at.val();
                self.is_mine.d.next = self.names.read_data.val().valid
                    & (self.names.read_data.val().id == self.entering.q.val().round);
                self.step.d.next = GrantStep::Enter;
            }
            GrantStep::Enter => {
                self.links.write_enable.next = self.rest_some.val();
                self.grew.d.next = !self.rest_some.val() & self.alone.val();
                self.ring.in_valid.next = !self.rest_ringed.q.val();
                self.ring.in_data.next = self.no_round.val();
                if self.mine.val() {
                    self.links.write_enable.next = self.place.val().some;
                    self.grew.d.next = !self.place.val().some;
                    self.ring.in_valid.next = !self.place.val().ringed;
                    self.ring.in_data.next = bit_cast::<9, 8>(self.enter_at.val());
                } else {
                    self.enters_rest.next = true;
                    self.rest_ringed.d.next = true;
                    self.waits.d.next = (self.waits.q.val() | self.rest_at.val()) & self.rest_lists.val();
                }
                if !self.place.val().some {
                    self.left.next.head = self.entering.q.val().context;
                }
                self.left.next.tail = self.entering.q.val().context;
                self.left.next.some = true;
                self.left.next.ringed = true;
                if self.joins.val() {
                    self.last.d.next = false;
                }
                if self.mine.val() & self.older.val() {
                    self.known.d.next = true;
                    self.oldest.d.next = self.enter_at.val();
                    self.oldest_age.d.next = self.age.q.val();
                }
                self.write_place.next = self.mine.val();
                self.step.d.next = GrantStep::Idle;
                // So that a bell and who enters with a round take four clocks between them.
                if self.bell.q.val().valid {
                    self.fetches.next = false;
                    self.read_at.next = self.bell_at.val();
                    self.step.d.next = GrantStep::Register;
                }
            }
            GrantStep::Leave => {
                self.turn.d.next = 0.into();
                if self.is_oldest.val() {
                    self.turn.d.next = 3.into();
                    if self.turn.q.val() != 3 {
                        self.turn.d.next = self.turn.q.val() + 1;
                    }
                }
                if self.last.q.val() {
                    self.left.next.some = false;
                    self.shrank.d.next = self.alone.val() | self.serves_round.val();
                    self.search.next = self.is_oldest.val();
                    if !self.serves_round.val() {
                        self.waits.d.next = self.waits.q.val() & !self.rest_at.val() & self.rest_lists.val();
                    }
                }
                self.left.next.head = self.links.read_data.val();
                self.write_place.next = self.serves_round.val();
                self.leaves_rest.next = !self.serves_round.val();
                self.step.d.next = GrantStep::Idle;
            }
            GrantStep::Pick => {
                self.offered.d.next = self.rest_some.val();
                self.head.d.next = self.rest_head.val();
                self.tail.d.next = self.rest_tail.val();
                self.picked.d.next = true;
                if self.serves_round.val() {
                    self.offered.d.next = self.place.val().some;
                    self.head.d.next = self.place.val().head;
                    self.tail.d.next = self.place.val().tail;
                }
                self.serving_rest.d.next = self.next_rest.q.val();
                if !self.serves_round.val() & self.rest_some.val() {
                    if self.next_is_lowest.q.val() {
                        if self.rest_turn.q.val() != 3 {
                            self.rest_turn.d.next = self.rest_turn.q.val() + 1;
                        }
                    } else {
                        self.rest_turn.d.next = 0.into();
                        self.above.d.next = !(self.next_rest.q.val() | (self.next_rest.q.val() - 1));
                    }
                }
                if self.by_ring.q.val() {
                    // A list whose messages were all served as the oldest's is dropped here.
                    self.left.next.ringed = self.place.val().some;
                    self.write_place.next = self.serves_round.val();
                    if self.serves_round.val() {
                        self.ring.in_valid.next = self.place.val().some;
                    } else {
                        self.ring.in_valid.next = self.rest_some.val();
                        self.rest_ringed.d.next = self.rest_some.val();
                    }
                }
                self.step.d.next = GrantStep::Idle;
            }
        }

        self.names.read_address.next = self.read_at.val();
        self.places.read_address.next = self.read_at.val();
        self.places.write_enable.next = self.write_place.val();
        self.places.write_address.next = self.at.val();
        self.places.write_data.next = self.left.val();
        // What of it is zero in the beginning; of a list in which nobody waits no more is looked at.
        if !self.places.ready.val() {
            self.places.write_data.next.some = false;
            self.places.write_data.next.ringed = false;
        }
        self.ring.out_ready.next = self.takes_front.val() | !self.fronts.q.val();
        if self.ring.out_ready.val() {
            self.fronts.d.next = self.ring.out_valid.val();
            self.front.d.next = self.ring.out_data.val();
        }
        // One value for all of them.
        self.rest_first.next = self.entering.q.val().context;
        if self.step.q.val() == GrantStep::Leave {
            self.rest_first.next = self.links.read_data.val();
        }
        for i in 0..8 {
            self.firsts[i].clock.next = self.clk.val();
            self.firsts[i].d.next = self.firsts[i].q.val();
            self.lasts[i].clock.next = self.clk.val();
            self.lasts[i].d.next = self.lasts[i].q.val();
            if (self.leaves_rest.val() | (self.enters_rest.val() & !self.waits.q.val().get_bit(i)))
                & self.rest_at.val().get_bit(i)
            {
                self.firsts[i].d.next = self.rest_first.val();
            }
            if self.enters_rest.val() & self.rest_at.val().get_bit(i) {
                self.lasts[i].d.next = self.entering.q.val().context;
            }
        }

        // The search: a place per two clocks. It is read while nothing else is, and what a step is
        // at may be written in it.
        self.fresh.d.next = self.scanning.q.val() & !self.fresh.q.val() & self.fetches.val();
        self.looked.d.next = self.looks.val() & self.place.val().some;
        if self.looked.q.val() & self.older.val() {
            self.known.d.next = true;
            self.oldest.d.next = self.scan_at.q.val() - 1;
            self.oldest_age.d.next = self.age.q.val();
        }
        if self.looks.val() {
            self.scan_at.d.next = self.scan_at.q.val() + 1;
            if self.scan_at.q.val() == 255 {
                self.scanning.d.next = false;
            }
        }
        if self.has_rounds.val() & self.search.val() {
            self.known.d.next = false;
            self.scanning.d.next = true;
            self.scan_at.d.next = 0.into();
            self.fresh.d.next = false;
        }

        if !self.has_rounds.val() {
            self.known.d.next = false;
        }
        if self.leave.val() {
            self.offered.d.next = false;
            self.leaving.d.next = true;
        }
        if self.has_rounds.val()
            & self.doorbell.val().valid
            & (self.doorbell.val().kind == self.this_doorbell.val())
        {
            self.bell.d.next = self.doorbell.val();
        }

        if self.rst.val() {
            self.waits.d.next = 0.into();
            self.rest_ringed.d.next = false;
            self.rest_turn.d.next = 0.into();
            self.above.d.next = 255.into();
            self.bell.d.next.valid = false;
        }
        if self.rst.val() {
            self.step.d.next = GrantStep::Idle;
            self.count.d.next = 0.into();
            self.lists.d.next = 0.into();
            self.grew.d.next = false;
            self.shrank.d.next = false;
            self.offered.d.next = false;
            self.picked.d.next = false;
            self.leaving.d.next = false;
            self.known.d.next = false;
            self.turn.d.next = 0.into();
            self.scanning.d.next = false;
            self.fresh.d.next = false;
            self.looked.d.next = false;
            self.fronts.d.next = false;
        }
    }
}
