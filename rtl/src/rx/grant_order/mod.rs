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

mod engine;

use crate::host::cleared_ram::ClearedRam;
use crate::host::registers::DOORBELL_KIND_ROUND;
use crate::prelude::*;
use crate::stream::{Fifo, LateFifo, Lowest};
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
    /// Who was last in its list as the head was picked, in the clock before.
    tail: Dff<Bits<12>>,
    picked: Dff<Bit>,
    /// Nobody waits behind the head in its list.
    last: Dff<Bit>,
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
    first_of_waits: Lowest<8>,
    first_of_higher: Lowest<8>,
    first_above: Lowest<8>,
    /// Lists of no round that are there: all, or where grants go by nothing else, the first.
    rest_lists: Constant<Bits<8>>,
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
            tail: Default::default(),
            picked: Default::default(),
            last: Default::default(),
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
            first_of_waits: Default::default(),
            first_of_higher: Default::default(),
            first_above: Default::default(),
            rest_lists: Constant::new(if config.classes { 0xFFu64 } else { 1 }.into()),
        }
    }
}
