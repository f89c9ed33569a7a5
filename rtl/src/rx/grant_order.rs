//! Whose turn it is to be granted more packets: the oldest registered round's
//! messages three times, then one of the others' (GR-6). Of no round there are
//! eight lists, by what is left of a message (GR-7).
//!
//! ```text
//!  doorbell ──> names and ages, by place ───────────┐
//!  enter ──> line ──> list of its round, or of none ┼──> pick ──> head
//!                        ^                          │
//!                        └── links, one per message ┘
//!  ring: every list once that somebody waits in, its front in a register; scan: the oldest of them
//!  no round: eight lists in registers ──> the lowest three times, then one of the others
//! ```
//!
//! Every message waits in one list only, so that it costs one link: that of its
//! round, if the round is registered when it comes to wait, else that of no round.
//! A list is served in the order in which its messages came. The lists other than
//! the oldest round's take turns. While a list goes empty that was the oldest's, the
//! places are searched for the next, and meanwhile all lists take turns: nobody
//! waits for the search.
//!
//! To the ring the eight lists of no round are one. Which of them is next is kept in a
//! register, so that choosing costs no clock and is no part of a longer way; its
//! turns move as it is picked from. Names and lists lie in memories of their own, so that a list
//! is not changed by what is found out about a name in the same clock; and whether the head is the
//! last of its list is known before it leaves. An age is compared a clock after it was read, by
//! when the search may be at the next place; a place that a step is about to change is not looked at.
//!
//! Contract:
//! - `enter` at most every third clock on average, four in a row; a context is
//!   entered once at a time;
//! - the head stays until `leave`, whoever comes; with `enter` of it in the same
//!   clock it goes to the tail;
//! - a context is offered 9 clocks after it entered when nobody else waits (10 if it says a
//!   round), and 11 clocks after the last one left else, two more for each list that emptied
//!   meanwhile;
//! - the oldest is known 1024 clocks after the list of the one before went empty,
//!   or was registered anew, if `enter` and `leave` come every eighth clock at most;
//! - after reset the places are cleared, 256 clocks, until `ready`.
//!
//! Verified by `testbenches/tests/grant_order`.

use crate::host::cleared_ram::ClearedRam;
use crate::host::registers::DOORBELL_KIND_ROUND;
use crate::prelude::*;
use crate::stream::{Fifo, LateFifo};
use crate::types::Doorbell;
use tessera_abi::params::Config;

/// A registered round, at place endpoint XOR low half of id: in its place the id says the
/// endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct GrantName {
    pub valid: Bit,
    pub id: Bits<16>,
    /// Running number of its registration.
    pub age: Bits<16>,
}

/// Who waits in a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct GrantList {
    /// Somebody does.
    pub some: Bit,
    /// Stands in the ring of lists, whatever became of it.
    pub ringed: Bit,
    pub head: Bits<12>,
    pub tail: Bits<12>,
}

/// Who comes to wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct GrantEnter {
    pub context: Bits<12>,
    pub in_round: Bit,
    pub endpoint: Bits<8>,
    pub round: Bits<16>,
    /// Which of the lists of no round, if it has none that is registered.
    pub rest_list: Bits<3>,
}

#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum GrantStep {
    Idle,
    Register,
    Leave,
    /// Whether the round of who enters is registered: into a register, for the name comes out of a
    /// memory.
    Look,
    Enter,
    Pick,
}

#[derive(LogicBlock)]
pub struct GrantOrder {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    /// A round's registers it.
    pub doorbell: Signal<In, Doorbell>,
    pub enter: Signal<In, Bit>,
    pub enter_data: Signal<In, GrantEnter>,
    pub head_valid: Signal<Out, Bit>,
    pub head_context: Signal<Out, Bits<12>>,
    pub leave: Signal<In, Bit>,
    pub ready: Signal<Out, Bit>,
    line: Fifo<GrantEnter, 4>,
    links: SdpRam<Bits<12>, 12>,
    names: ClearedRam<GrantName, 8>,
    places: ClearedRam<GrantList, 8>,
    /// Lists by place; those of no round are 256.
    ring: LateFifo<Bits<9>, 9>,
    /// The one in front.
    fronts: Dff<Bit>,
    front: Dff<Bits<9>>,
    /// The lists of no round: who is first and last, where somebody waits, and whether
    /// they stand in the ring.
    firsts: [Dff<Bits<12>>; 8],
    lasts: [Dff<Bits<12>>; 8],
    waits: Dff<Bits<8>>,
    rest_ringed: Dff<Bit>,
    /// Which of them is next, one bit, and whether it is as the lowest.
    next_rest: Dff<Bits<8>>,
    next_is_lowest: Dff<Bit>,
    /// That of the head.
    serving_rest: Dff<Bits<8>>,
    /// Heads of the lowest in a row, up to 3.
    rest_turn: Dff<Bits<2>>,
    /// Those above the last of the others that had a turn.
    above: Dff<Bits<8>>,
    step: Dff<GrantStep>,
    bell: Dff<Doorbell>,
    entering: Dff<GrantEnter>,
    is_mine: Dff<Bit>,
    /// Registrations.
    count: Dff<Bits<16>>,
    /// Lists that somebody waits in, until the last step, and what became of them in it.
    lists: Dff<Bits<9>>,
    grew: Dff<Bit>,
    shrank: Dff<Bit>,
    offered: Dff<Bit>,
    leaving: Dff<Bit>,
    head: Dff<Bits<12>>,
    /// The list of the head, or the one being picked from.
    serving: Dff<Bits<9>>,
    by_ring: Dff<Bit>,
    /// Nobody waits behind the head in its list: the halves of its number are those of the tail's.
    last_low: Dff<Bit>,
    last_high: Dff<Bit>,
    /// The oldest round that somebody waits in.
    known: Dff<Bit>,
    oldest: Dff<Bits<8>>,
    oldest_age: Dff<Bits<16>>,
    /// Heads of it in a row, up to 3.
    turn: Dff<Bits<2>>,
    scanning: Dff<Bit>,
    scan_at: Dff<Bits<8>>,
    /// The place being looked at is on the RAMs' outputs.
    fresh: Dff<Bit>,
    /// Somebody waits in the place that was looked at; the age that was read.
    looked: Dff<Bit>,
    age: Dff<Bits<16>>,
    at: Signal<Local, Bits<8>>,
    read_at: Signal<Local, Bits<8>>,
    bell_at: Signal<Local, Bits<8>>,
    enter_at: Signal<Local, Bits<8>>,
    /// The list of a round that the step may be about, and what becomes of it.
    place: Signal<Local, GrantList>,
    left: Signal<Local, GrantList>,
    /// The list of no round that it may be about, one bit; whether somebody waits, who is first
    /// at a pick, and last.
    rest_at: Signal<Local, Bits<8>>,
    rest_some: Signal<Local, Bit>,
    rest_head: Signal<Local, Bits<12>>,
    rest_tail: Signal<Local, Bits<12>>,
    /// Who is first in it from now on.
    rest_first: Signal<Local, Bits<12>>,
    lowest: Signal<Local, Bits<8>>,
    higher: Signal<Local, Bits<8>>,
    higher_above: Signal<Local, Bits<8>>,
    /// Nobody waits in another list of no round.
    alone: Signal<Local, Bit>,
    write_place: Signal<Local, Bit>,
    enters_rest: Signal<Local, Bit>,
    leaves_rest: Signal<Local, Bit>,
    /// Who enters is of a registered round; who is served is.
    mine: Signal<Local, Bit>,
    serves_round: Signal<Local, Bit>,
    /// Who enters comes to the list that is served.
    joins: Signal<Local, Bit>,
    behind: Signal<Local, Bits<16>>,
    older: Signal<Local, Bit>,
    /// The place to look at is read; begin anew.
    fetches: Signal<Local, Bit>,
    search: Signal<Local, Bit>,
    looks: Signal<Local, Bit>,
    is_oldest: Signal<Local, Bit>,
    ring_is_oldest: Signal<Local, Bit>,
    takes_front: Signal<Local, Bit>,
    wants_other: Signal<Local, Bit>,
    /// Somebody waits in two lists.
    several: Signal<Local, Bit>,
    no_round: Constant<Bits<9>>,
    this_doorbell: Constant<Bits<2>>,
    /// Rounds may be registered.
    has_rounds: Constant<Bit>,
}

impl GrantOrder {
    /// Lists of `2^rx_contexts_log2` contexts.
    pub fn new(config: &Config) -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            doorbell: Default::default(),
            enter: Default::default(),
            enter_data: Default::default(),
            head_valid: Default::default(),
            head_context: Default::default(),
            leave: Default::default(),
            ready: Default::default(),
            line: Fifo::new(4),
            links: SdpRam::new(config.rx_contexts_log2),
            names: ClearedRam::new(8, "block"),
            places: ClearedRam::new(8, "block").fed_zeros(),
            ring: LateFifo::new(9),
            fronts: Default::default(),
            front: Default::default(),
            firsts: std::array::from_fn(|_| Dff::default()),
            lasts: std::array::from_fn(|_| Dff::default()),
            waits: Default::default(),
            rest_ringed: Default::default(),
            next_rest: Default::default(),
            next_is_lowest: Default::default(),
            serving_rest: Default::default(),
            rest_turn: Default::default(),
            above: Default::default(),
            step: Default::default(),
            bell: Default::default(),
            entering: Default::default(),
            is_mine: Default::default(),
            count: Default::default(),
            lists: Default::default(),
            grew: Default::default(),
            shrank: Default::default(),
            offered: Default::default(),
            leaving: Default::default(),
            head: Default::default(),
            serving: Default::default(),
            by_ring: Default::default(),
            last_low: Default::default(),
            last_high: Default::default(),
            known: Default::default(),
            oldest: Default::default(),
            oldest_age: Default::default(),
            turn: Default::default(),
            scanning: Default::default(),
            scan_at: Default::default(),
            fresh: Default::default(),
            looked: Default::default(),
            at: Default::default(),
            read_at: Default::default(),
            bell_at: Default::default(),
            enter_at: Default::default(),
            place: Default::default(),
            left: Default::default(),
            rest_at: Default::default(),
            rest_some: Default::default(),
            rest_head: Default::default(),
            rest_tail: Default::default(),
            rest_first: Default::default(),
            lowest: Default::default(),
            higher: Default::default(),
            higher_above: Default::default(),
            alone: Default::default(),
            write_place: Default::default(),
            enters_rest: Default::default(),
            leaves_rest: Default::default(),
            mine: Default::default(),
            serves_round: Default::default(),
            joins: Default::default(),
            behind: Default::default(),
            older: Default::default(),
            age: Default::default(),
            fetches: Default::default(),
            search: Default::default(),
            looks: Default::default(),
            is_oldest: Default::default(),
            ring_is_oldest: Default::default(),
            takes_front: Default::default(),
            wants_other: Default::default(),
            several: Default::default(),
            no_round: Constant::new(256u64.into()),
            this_doorbell: Constant::new(DOORBELL_KIND_ROUND.into()),
            has_rounds: Constant::new(config.rounds),
        }
    }
}

impl Logic for GrantOrder {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self, clk, step, bell, entering, count, lists, grew, shrank, offered, leaving, head, serving,
            by_ring, last_low, last_high, known, oldest, oldest_age, turn, scanning, scan_at, fresh
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
            self.rest_at.next = bits::<8>(1) << self.entering.q.val().rest_list;
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
        self.lowest.next = self.waits.q.val() & (!self.waits.q.val() + 1);
        self.higher.next = self.waits.q.val() & !self.lowest.val();
        self.higher_above.next = self.higher.val() & self.above.q.val();
        self.next_rest.d.next = self.lowest.val();
        self.next_is_lowest.d.next = (self.rest_turn.q.val() != 3) | !self.higher.val().any();
        if (self.rest_turn.q.val() == 3) & self.higher.val().any() {
            self.next_rest.d.next = self.higher.val() & (!self.higher.val() + 1);
            if self.higher_above.val().any() {
                self.next_rest.d.next = self.higher_above.val() & (!self.higher_above.val() + 1);
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
                    self.waits.d.next = self.waits.q.val() | self.rest_at.val();
                }
                if !self.place.val().some {
                    self.left.next.head = self.entering.q.val().context;
                }
                self.left.next.tail = self.entering.q.val().context;
                self.left.next.some = true;
                self.left.next.ringed = true;
                if self.joins.val() {
                    self.last_low.d.next = false;
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
                if self.last_low.q.val() & self.last_high.q.val() {
                    self.left.next.some = false;
                    self.shrank.d.next = self.alone.val() | self.serves_round.val();
                    self.search.next = self.is_oldest.val();
                    if !self.serves_round.val() {
                        self.waits.d.next = self.waits.q.val() & !self.rest_at.val();
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
                self.last_low.d.next =
                    self.rest_head.val().get_bits::<6>(0) == self.rest_tail.val().get_bits::<6>(0);
                self.last_high.d.next =
                    self.rest_head.val().get_bits::<6>(6) == self.rest_tail.val().get_bits::<6>(6);
                if self.serves_round.val() {
                    self.offered.d.next = self.place.val().some;
                    self.head.d.next = self.place.val().head;
                    self.last_low.d.next =
                        self.place.val().head.get_bits::<6>(0) == self.place.val().tail.get_bits::<6>(0);
                    self.last_high.d.next =
                        self.place.val().head.get_bits::<6>(6) == self.place.val().tail.get_bits::<6>(6);
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
