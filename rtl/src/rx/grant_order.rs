//! Whose turn it is to be granted more packets: the oldest registered round's
//! messages three times, then one of the others' (GR-6). Of no round there are
//! eight lists, by what is left of a message (GR-7).
//!
//! ```text
//!  doorbell ──> places of rounds: name, age, list ──┐
//!  enter ──> line ──> list of its round, or of none ┼──> pick ──> head
//!                        ^                          │
//!                        └── links, one per message ┘
//!  ring: every list once that somebody waits in; scan: the oldest of them
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
//! turns move as it is picked from.
//!
//! Contract:
//! - `enter` at most every third clock on average, four in a row; a context is
//!   entered once at a time;
//! - the head stays until `leave`, whoever comes; with `enter` of it in the same
//!   clock it goes to the tail;
//! - a context is offered 7 clocks after it entered when nobody else waits, and 10 clocks
//!   after the last one left else, two more for each list that emptied meanwhile;
//! - the oldest is known 1024 clocks after the list of the one before went empty,
//!   or was registered anew, if `enter` and `leave` come every eighth clock at most;
//! - after reset the places are cleared, 256 clocks, until `ready`.
//!
//! Verified by `testbenches/tests/grant_order.rs`.

use crate::host::cleared_ram::ClearedRam;
use crate::host::registers::DOORBELL_KIND_ROUND;
use crate::prelude::*;
use crate::stream::Fifo;
use crate::types::Doorbell;
use tessera_abi::params::Config;

/// A round, at place endpoint XOR low half of id, and who waits in its list.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct GrantPlace {
    pub valid: Bit,
    pub endpoint: Bits<8>,
    pub id: Bits<16>,
    /// Running number of its registration.
    pub age: Bits<16>,
    /// Somebody waits.
    pub some: Bit,
    /// Stands in the ring of lists, whatever became of it.
    pub ringed: Bit,
    pub head: Bits<12>,
    pub tail: Bits<12>,
}

/// What the search looks at.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct GrantAge {
    pub some: Bit,
    pub age: Bits<16>,
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
    places: ClearedRam<GrantPlace, 8>,
    ages: ClearedRam<GrantAge, 8>,
    /// Lists by place; those of no round are 256.
    ring: Fifo<Bits<9>, 9>,
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
    /// Registrations.
    count: Dff<Bits<16>>,
    /// Lists that somebody waits in.
    lists: Dff<Bits<9>>,
    offered: Dff<Bit>,
    leaving: Dff<Bit>,
    head: Dff<Bits<12>>,
    /// The list of the head, or the one being picked from.
    serving: Dff<Bits<9>>,
    by_ring: Dff<Bit>,
    /// The oldest round that somebody waits in.
    known: Dff<Bit>,
    oldest: Dff<Bits<8>>,
    oldest_age: Dff<Bits<16>>,
    /// Heads of it in a row, up to 3.
    turn: Dff<Bits<2>>,
    scanning: Dff<Bit>,
    scan_at: Dff<Bits<8>>,
    /// The place being looked at is on the RAM's output.
    fresh: Dff<Bit>,
    at: Signal<Local, Bits<8>>,
    place: Signal<Local, GrantPlace>,
    /// The list of no round that the step works on, one bit, and as a row.
    rest_at: Signal<Local, Bits<8>>,
    rest: Signal<Local, GrantPlace>,
    lowest: Signal<Local, Bits<8>>,
    higher: Signal<Local, Bits<8>>,
    higher_above: Signal<Local, Bits<8>>,
    /// Nobody waits in another list that counts as the same.
    alone: Signal<Local, Bit>,
    row: Signal<Local, GrantPlace>,
    write_place: Signal<Local, Bit>,
    write_rest: Signal<Local, Bit>,
    mine: Signal<Local, Bit>,
    list_at: Signal<Local, Bits<9>>,
    behind: Signal<Local, Bits<16>>,
    older: Signal<Local, Bit>,
    age: Signal<Local, Bits<16>>,
    search: Signal<Local, Bit>,
    looks: Signal<Local, Bit>,
    is_oldest: Signal<Local, Bit>,
    ring_is_oldest: Signal<Local, Bit>,
    wants_other: Signal<Local, Bit>,
    grows: Signal<Local, Bit>,
    shrinks: Signal<Local, Bit>,
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
            places: ClearedRam::new(8, "block"),
            ages: ClearedRam::new(8, "block"),
            ring: Fifo::new(9),
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
            count: Default::default(),
            lists: Default::default(),
            offered: Default::default(),
            leaving: Default::default(),
            head: Default::default(),
            serving: Default::default(),
            by_ring: Default::default(),
            known: Default::default(),
            oldest: Default::default(),
            oldest_age: Default::default(),
            turn: Default::default(),
            scanning: Default::default(),
            scan_at: Default::default(),
            fresh: Default::default(),
            at: Default::default(),
            place: Default::default(),
            rest_at: Default::default(),
            rest: Default::default(),
            lowest: Default::default(),
            higher: Default::default(),
            higher_above: Default::default(),
            alone: Default::default(),
            row: Default::default(),
            write_place: Default::default(),
            write_rest: Default::default(),
            mine: Default::default(),
            list_at: Default::default(),
            behind: Default::default(),
            older: Default::default(),
            age: Default::default(),
            search: Default::default(),
            looks: Default::default(),
            is_oldest: Default::default(),
            ring_is_oldest: Default::default(),
            wants_other: Default::default(),
            grows: Default::default(),
            shrinks: Default::default(),
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
            self, clk, step, bell, entering, count, lists, offered, leaving, head, serving, by_ring, known,
            oldest, oldest_age, turn, scanning, scan_at, fresh
        );
        dff_setup!(self, clk, waits, rest_ringed, next_rest, next_is_lowest, serving_rest, rest_turn, above);
        self.line.clk.next = self.clk.val();
        self.line.rst.next = self.rst.val();
        self.links.clock.next = self.clk.val();
        self.places.clk.next = self.clk.val();
        self.places.rst.next = self.rst.val();
        self.ages.clk.next = self.clk.val();
        self.ages.rst.next = self.rst.val();
        self.ring.clk.next = self.clk.val();
        self.ring.rst.next = self.rst.val();
        self.ready.next = self.places.ready.val() & self.ages.ready.val();
        self.head_valid.next = self.offered.q.val();
        self.head_context.next = self.head.q.val();
        self.line.in_valid.next = self.enter.val();
        self.line.in_data.next = self.enter_data.val();
        self.line.out_ready.next = false;
        self.ring.in_valid.next = false;
        self.ring.in_data.next = self.serving.q.val();
        self.ring.out_ready.next = false;
        self.links.read_address.next = self.head.q.val();
        self.links.write_enable.next = false;
        self.links.write_data.next = self.entering.q.val().context;

        // The place that the step works on is asked for before it, and stays until its end.
        self.at.next = self.serving.q.val().get_bits::<8>(0);
        if self.step.q.val() == GrantStep::Enter {
            self.at.next = self.entering.q.val().endpoint ^ self.entering.q.val().round.get_bits::<8>(0);
        }
        if self.step.q.val() == GrantStep::Register {
            self.at.next = self.bell.q.val().index ^ self.bell.q.val().value.get_bits::<8>(0);
        }
        self.places.read_address.next = self.at.val();
        self.place.next = self.places.read_data.val();
        if !self.has_rounds.val() {
            self.place.next.valid = false;
            self.place.next.endpoint = 0.into();
            self.place.next.id = 0.into();
            self.place.next.age = 0.into();
            self.place.next.some = false;
            self.place.next.ringed = false;
            self.place.next.head = 0.into();
            self.place.next.tail = 0.into();
        }
        self.mine.next = self.has_rounds.val()
            & self.entering.q.val().in_round
            & self.place.val().valid
            & (self.place.val().endpoint == self.entering.q.val().endpoint)
            & (self.place.val().id == self.entering.q.val().round);
        // The list of the step.
        self.list_at.next = self.serving.q.val();
        if self.step.q.val() == GrantStep::Register {
            self.list_at.next = bit_cast::<9, 8>(self.at.val());
        }
        if self.step.q.val() == GrantStep::Enter {
            self.list_at.next = self.no_round.val();
            if self.mine.val() {
                self.list_at.next = bit_cast::<9, 8>(self.at.val());
            }
        }
        if !self.has_rounds.val() {
            self.list_at.next = self.no_round.val();
        }
        // Of no round.
        self.rest_at.next = self.serving_rest.q.val();
        if self.step.q.val() == GrantStep::Pick {
            self.rest_at.next = self.next_rest.q.val();
        }
        if self.step.q.val() == GrantStep::Enter {
            self.rest_at.next = bits::<8>(1) << self.entering.q.val().rest_list;
        }
        self.rest.next.valid = false;
        self.rest.next.endpoint = 0.into();
        self.rest.next.id = 0.into();
        self.rest.next.age = 0.into();
        self.rest.next.some = (self.waits.q.val() & self.rest_at.val()).any();
        self.rest.next.ringed = self.rest_ringed.q.val();
        self.rest.next.head = 0.into();
        self.rest.next.tail = 0.into();
        for i in 0..8 {
            if self.rest_at.val().get_bit(i) {
                self.rest.next.head = self.firsts[i].q.val();
                self.rest.next.tail = self.lasts[i].q.val();
            }
        }
        self.row.next = self.place.val();
        self.alone.next = true;
        if self.list_at.val().get_bit(8) {
            self.row.next = self.rest.val();
            self.alone.next = !(self.waits.q.val() & !self.rest_at.val()).any();
        }
        self.links.write_address.next = self.row.val().tail;
        self.is_oldest.next =
            self.known.q.val() & (self.list_at.val() == bit_cast::<9, 8>(self.oldest.q.val()));
        self.write_place.next = false;
        self.write_rest.next = false;
        self.search.next = false;
        self.grows.next = false;
        self.shrinks.next = false;

        // Whether the round of the step, or the one the search looks at, is older.
        self.looks.next = self.scanning.q.val() & self.fresh.q.val() & (self.step.q.val() == GrantStep::Idle);
        self.age.next = self.place.val().age;
        if self.looks.val() {
            self.age.next = self.ages.read_data.val().age;
        }
        self.behind.next = self.oldest_age.q.val() - self.age.val();
        self.older.next = !self.known.q.val() | (self.behind.val().any() & !self.behind.val().get_bit(15));
        self.ages.read_address.next = self.scan_at.q.val();

        self.ring_is_oldest.next =
            self.known.q.val() & (self.ring.out_data.val() == bit_cast::<9, 8>(self.oldest.q.val()));

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

        self.wants_other.next = !self.known.q.val() | ((self.turn.q.val() == 3) & (self.lists.q.val() > 1));

        match self.step.q.val() {
            GrantStep::Idle => {
                if self.bell.q.val().valid {
                    self.at.next = self.bell.q.val().index ^ self.bell.q.val().value.get_bits::<8>(0);
                    self.step.d.next = GrantStep::Register;
                } else if self.leaving.q.val() {
                    self.leaving.d.next = false;
                    self.step.d.next = GrantStep::Leave;
                } else if self.line.out_valid.val() {
                    self.line.out_ready.next = true;
                    self.entering.d.next = self.line.out_data.val();
                    self.at.next =
                        self.line.out_data.val().endpoint ^ self.line.out_data.val().round.get_bits::<8>(0);
                    self.step.d.next = GrantStep::Enter;
                } else if !self.offered.q.val() {
                    if self.wants_other.val() {
                        if self.ring.out_valid.val() {
                            self.ring.out_ready.next = true;
                            if self.ring_is_oldest.val() {
                                self.ring.in_valid.next = true;
                                self.ring.in_data.next = self.ring.out_data.val();
                            } else {
                                self.at.next = self.ring.out_data.val().get_bits::<8>(0);
                                self.serving.d.next = self.ring.out_data.val();
                                self.by_ring.d.next = true;
                                self.step.d.next = GrantStep::Pick;
                            }
                        }
                    } else {
                        self.at.next = self.oldest.q.val();
                        self.serving.d.next = bit_cast::<9, 8>(self.oldest.q.val());
                        self.by_ring.d.next = false;
                        self.step.d.next = GrantStep::Pick;
                    }
                }
                self.places.read_address.next = self.at.val();
            }
            GrantStep::Register => {
                self.row.next.valid = self.bell.q.val().more.any();
                self.row.next.endpoint = self.bell.q.val().index;
                self.row.next.id = self.bell.q.val().value;
                if self.bell.q.val().more.any() {
                    self.row.next.age = self.count.q.val();
                    self.count.d.next = self.count.q.val() + 1;
                    self.search.next = self.is_oldest.val();
                }
                self.bell.d.next.valid = false;
                self.write_place.next = true;
                self.step.d.next = GrantStep::Idle;
            }
            GrantStep::Enter => {
                self.links.write_enable.next = self.row.val().some;
                self.grows.next = !self.row.val().some & self.alone.val();
                self.ring.in_valid.next = !self.row.val().ringed;
                self.ring.in_data.next = self.list_at.val();
                if !self.row.val().some {
                    self.row.next.head = self.entering.q.val().context;
                }
                self.row.next.tail = self.entering.q.val().context;
                self.row.next.some = true;
                self.row.next.ringed = true;
                if self.mine.val() & self.older.val() {
                    self.known.d.next = true;
                    self.oldest.d.next = self.at.val();
                    self.oldest_age.d.next = self.place.val().age;
                }
                self.write_place.next = self.mine.val();
                self.write_rest.next = !self.mine.val();
                self.step.d.next = GrantStep::Idle;
            }
            GrantStep::Leave => {
                self.turn.d.next = 0.into();
                if self.is_oldest.val() {
                    self.turn.d.next = 3.into();
                    if self.turn.q.val() != 3 {
                        self.turn.d.next = self.turn.q.val() + 1;
                    }
                }
                if self.row.val().head == self.row.val().tail {
                    self.row.next.some = false;
                    self.shrinks.next = self.alone.val();
                    self.search.next = self.is_oldest.val();
                }
                self.row.next.head = self.links.read_data.val();
                self.write_place.next = !self.list_at.val().get_bit(8);
                self.write_rest.next = self.list_at.val().get_bit(8);
                self.step.d.next = GrantStep::Idle;
            }
            GrantStep::Pick => {
                self.offered.d.next = self.row.val().some;
                self.head.d.next = self.row.val().head;
                self.serving_rest.d.next = self.next_rest.q.val();
                if self.list_at.val().get_bit(8) & self.row.val().some {
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
                    self.ring.in_valid.next = self.row.val().some;
                    self.row.next.ringed = self.row.val().some;
                    self.write_place.next = !self.list_at.val().get_bit(8);
                    self.write_rest.next = self.list_at.val().get_bit(8);
                }
                self.step.d.next = GrantStep::Idle;
            }
        }

        self.places.write_enable.next = self.write_place.val();
        self.places.write_address.next = self.list_at.val().get_bits::<8>(0);
        self.places.write_data.next = self.row.val();
        self.ages.write_enable.next = self.write_place.val();
        self.ages.write_address.next = self.list_at.val().get_bits::<8>(0);
        self.ages.write_data.next.some = self.row.val().some;
        self.ages.write_data.next.age = self.row.val().age;
        if self.write_rest.val() {
            self.rest_ringed.d.next = self.row.val().ringed;
            self.waits.d.next = self.waits.q.val() & !self.rest_at.val();
            if self.row.val().some {
                self.waits.d.next = self.waits.q.val() | self.rest_at.val();
            }
        }
        for i in 0..8 {
            self.firsts[i].clock.next = self.clk.val();
            self.firsts[i].d.next = self.firsts[i].q.val();
            self.lasts[i].clock.next = self.clk.val();
            self.lasts[i].d.next = self.lasts[i].q.val();
            if self.write_rest.val() & self.rest_at.val().get_bit(i) {
                self.firsts[i].d.next = self.row.val().head;
                self.lasts[i].d.next = self.row.val().tail;
            }
        }
        if self.grows.val() {
            self.lists.d.next = self.lists.q.val() + 1;
        }
        if self.shrinks.val() {
            self.lists.d.next = self.lists.q.val() - 1;
        }

        // The search: a place per two clocks in which nothing else is done.
        self.fresh.d.next = self.scanning.q.val() & !self.looks.val() & !self.write_place.val();
        if self.looks.val() {
            self.scan_at.d.next = self.scan_at.q.val() + 1;
            if self.scan_at.q.val() == 255 {
                self.scanning.d.next = false;
            }
            if self.ages.read_data.val().some & self.older.val() {
                self.known.d.next = true;
                self.oldest.d.next = self.scan_at.q.val();
                self.oldest_age.d.next = self.age.val();
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
            self.offered.d.next = false;
            self.leaving.d.next = false;
            self.known.d.next = false;
            self.turn.d.next = 0.into();
            self.scanning.d.next = false;
            self.fresh.d.next = false;
        }
    }
}
