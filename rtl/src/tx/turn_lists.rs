//! Whose turn it is to send: eight lists of slots, those that go on with their
//! turns before all (TX-8, TX-17).
//!
//! ```text
//!         ┌── on ──────────────────────────> second ─> ahead ──┐
//!         │                                                    ├──> head_valid, head_slot
//!  push ──┼── nobody waits ───────────────────────────> head ──┘
//!         │                                              ^
//!         └──> tail of list 0, 1, .. 7 ──> firsts ──> pick
//!                     └─> links, one per slot ─^
//! ```
//!
//! A slot waits in one list only, so it costs one link, and the lists never fill:
//! `push` needs no answer. The first of every list is in a register, so a pick waits
//! for no memory; the one behind it comes from the links in the clock after a take.
//! The lowest list has three heads, then one of the others, which take turns upwards.
//! What is offered may change until it is taken, and counts only then.
//!
//! Two places are ahead, who finds both taken goes to its list. That is enough while
//! one packet at a time is made: the head is taken only while nobody is ahead, at the
//! earliest in the clock in which the packet before comes back, so of those two slots
//! each has a place.
//!
//! Contract: one push per clock, of a slot that is not here; a push while nobody waits
//! is at the head in the next clock, else the head is renewed two clocks after `take`,
//! which is ignored while `head_valid` is low. A take in the clock of a push into a list,
//! or in the next one, is as if the push came later; who goes on is offered in the next.
//!
//! Of a NIC whose messages all wait in list 0 (`Config::classes` false: TURN_POLICY stays zero) the others are not
//! there, and nothing may name one of them.
//!
//! Verified by `testbenches/tests/turn_lists.rs`.

use crate::prelude::*;
use crate::stream::Lowest;

#[derive(LogicBlock)]
pub struct TurnLists {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub push: Signal<In, Bit>,
    pub push_slot: Signal<In, Bits<12>>,
    pub push_list: Signal<In, Bits<3>>,
    /// Its turn is not over.
    pub push_on: Signal<In, Bit>,
    pub head_valid: Signal<Out, Bit>,
    pub head_slot: Signal<Out, Bits<12>>,
    pub take: Signal<In, Bit>,
    /// Who is behind a slot in its list.
    links: SdpRam<Bits<12>, 12>,
    ahead: Dff<Bits<12>>,
    is_ahead: Dff<Bit>,
    /// Behind that, before all others.
    second: Dff<Bits<12>>,
    is_second: Dff<Bit>,
    head: Dff<Bits<12>>,
    held: Dff<Bit>,
    /// The list that the head is the first of.
    offer: Dff<Bits<8>>,
    /// It is the lowest.
    leads: Dff<Bit>,
    firsts: [Dff<Bits<12>>; 8],
    tails: [Dff<Bits<12>>; 8],
    /// Lists that somebody waits in.
    some: Dff<Bits<8>>,
    /// The one whose first comes from the links.
    fills: Dff<Bits<8>>,
    /// Heads of the lowest list, up to three, since one of the others had a turn.
    row: Dff<Bits<2>>,
    /// Lists above the one of the others that had the last turn.
    above: Dff<Bits<8>>,
    /// What is taken is what is ahead; the head.
    take_ahead: Signal<Local, Bit>,
    take_head: Signal<Local, Bit>,
    /// Where the push goes.
    goes_on: Signal<Local, Bit>,
    goes_last: Signal<Local, Bit>,
    bypass: Signal<Local, Bit>,
    /// The list that it names; the list it comes to.
    named: Signal<Local, Bits<8>>,
    /// The last one of that.
    link_at: Signal<Local, Bits<12>>,
    comes: Signal<Local, Bits<8>>,
    lowest: Signal<Local, Bits<8>>,
    others: Signal<Local, Bits<8>>,
    next_others: Signal<Local, Bits<8>>,
    pick: Signal<Local, Bits<8>>,
    picked: Signal<Local, Bits<12>>,
    /// The last one of the head's list.
    its_tail: Signal<Local, Bits<12>>,
    /// The head is that.
    last: Signal<Local, Bit>,
    /// Lists that somebody waits in after the take.
    stays: Signal<Local, Bits<8>>,
    first_of_some: Lowest<8>,
    first_of_others: Lowest<8>,
    one: Constant<Bits<8>>,
    /// Lists that are there.
    lists: Constant<Bits<8>>,
}

impl TurnLists {
    /// Lists of `2^slots_log2` slots: eight, or one.
    pub fn new(slots_log2: usize, several: bool) -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            push: Default::default(),
            push_slot: Default::default(),
            push_list: Default::default(),
            push_on: Default::default(),
            head_valid: Default::default(),
            head_slot: Default::default(),
            take: Default::default(),
            links: SdpRam::new(slots_log2),
            ahead: Default::default(),
            is_ahead: Default::default(),
            second: Default::default(),
            is_second: Default::default(),
            head: Default::default(),
            held: Default::default(),
            offer: Default::default(),
            leads: Default::default(),
            firsts: Default::default(),
            tails: Default::default(),
            some: Default::default(),
            fills: Default::default(),
            row: Default::default(),
            above: Default::default(),
            take_ahead: Default::default(),
            take_head: Default::default(),
            goes_on: Default::default(),
            goes_last: Default::default(),
            bypass: Default::default(),
            named: Default::default(),
            link_at: Default::default(),
            comes: Default::default(),
            lowest: Default::default(),
            others: Default::default(),
            next_others: Default::default(),
            pick: Default::default(),
            picked: Default::default(),
            its_tail: Default::default(),
            last: Default::default(),
            stays: Default::default(),
            first_of_some: Default::default(),
            first_of_others: Default::default(),
            one: Constant::new(1u64.into()),
            lists: Constant::new(if several { 0xFFu64 } else { 1 }.into()),
        }
    }
}

impl Logic for TurnLists {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self, clk, ahead, is_ahead, second, is_second, head, held, offer, leads, some, fills, row, above
        );
        self.links.clock.next = self.clk.val();

        self.take_ahead.next = self.take.val() & self.is_ahead.q.val();
        self.take_head.next = self.take.val() & !self.is_ahead.q.val() & self.held.q.val();
        self.goes_on.next =
            self.push.val() & self.push_on.val() & (!self.is_second.q.val() | self.take.val());
        self.goes_last.next = self.push.val() & !self.goes_on.val();
        if self.take_ahead.val() {
            self.is_ahead.d.next = self.is_second.q.val();
            self.ahead.d.next = self.second.q.val();
            self.is_second.d.next = false;
        }
        if self.goes_on.val() {
            if self.is_second.q.val() | (self.is_ahead.q.val() & !self.take.val()) {
                self.is_second.d.next = true;
                self.second.d.next = self.push_slot.val();
            } else {
                self.is_ahead.d.next = true;
                self.ahead.d.next = self.push_slot.val();
            }
        }

        // Whose first is next.
        self.first_of_some.d.next = self.some.q.val();
        self.lowest.next = self.first_of_some.q.val();
        self.others.next = self.some.q.val() & !self.lowest.val();
        self.next_others.next = self.others.val();
        if (self.others.val() & self.above.q.val()).any() {
            self.next_others.next = self.others.val() & self.above.q.val();
        }
        self.first_of_others.d.next = self.next_others.val();
        self.pick.next = self.lowest.val();
        self.leads.d.next = true;
        if (self.row.q.val() == 3) & self.others.val().any() {
            self.pick.next = self.first_of_others.q.val();
            self.leads.d.next = false;
        }
        self.picked.next = 0.into();
        self.its_tail.next = 0.into();
        for i in 0..8 {
            if self.pick.val().get_bit(i) {
                self.picked.next = self.picked.val() | self.firsts[i].q.val();
            }
            if self.offer.q.val().get_bit(i) {
                self.its_tail.next = self.its_tail.val() | self.tails[i].q.val();
            }
        }
        if (self.pick.val() & self.fills.q.val()).any() {
            self.picked.next = self.links.read_data.val();
        }

        // Who leaves: the list has a first again one clock later.
        self.links.read_address.next = self.head.q.val();
        self.last.next = self.head.q.val() == self.its_tail.val();
        self.stays.next = self.some.q.val();
        if self.take_head.val() & self.last.val() {
            self.stays.next = self.some.q.val() & !self.offer.q.val();
        }
        self.fills.d.next = 0.into();
        if self.take_head.val() {
            if !self.last.val() {
                self.fills.d.next = self.offer.q.val();
            }
            if self.leads.q.val() {
                if self.row.q.val() != 3 {
                    self.row.d.next = self.row.q.val() + 1;
                }
            } else {
                self.row.d.next = 0.into();
                self.above.d.next = !(self.offer.q.val() | (self.offer.q.val() - 1));
            }
        }

        // Who comes. What is taken is known late: the last of a list gets a link, and an empty list a
        // first, without a look at that. Nobody asks for them if the one leaves, or the other goes on.
        self.named.next = 0.into();
        if self.push.val() {
            self.named.next = (self.one.val() << self.push_list.val()) & self.lists.val();
        }
        self.comes.next = 0.into();
        if self.goes_last.val() {
            self.comes.next = self.named.val();
        }
        self.bypass.next = self.goes_last.val()
            & (!self.some.q.val().any()
                | (self.take_head.val()
                    & self.last.val()
                    & !(self.some.q.val() & !self.offer.q.val()).any()));
        self.some.d.next = (self.stays.val() | self.comes.val()) & self.lists.val();
        self.links.write_enable.next = (self.named.val() & self.some.q.val()).any();
        self.link_at.next = 0.into();
        self.links.write_data.next = self.push_slot.val();
        for i in 0..8 {
            self.firsts[i].clock.next = self.clk.val();
            self.firsts[i].d.next = self.firsts[i].q.val();
            self.tails[i].clock.next = self.clk.val();
            self.tails[i].d.next = self.tails[i].q.val();
            if self.fills.q.val().get_bit(i) {
                self.firsts[i].d.next = self.links.read_data.val();
            }
            if self.named.val().get_bit(i) {
                self.link_at.next = self.link_at.val() | self.tails[i].q.val();
                if !self.stays.val().get_bit(i) {
                    self.firsts[i].d.next = self.push_slot.val();
                }
            }
            if self.comes.val().get_bit(i) {
                self.tails[i].d.next = self.push_slot.val();
            }
        }
        self.links.write_address.next = self.link_at.val();

        self.held.d.next = self.some.q.val().any() & !self.take_head.val();
        self.head.d.next = self.picked.val();
        self.offer.d.next = self.pick.val();
        if self.bypass.val() {
            self.held.d.next = true;
            self.head.d.next = self.push_slot.val();
            self.offer.d.next = self.comes.val();
            self.leads.d.next = true;
        }
        self.head_valid.next = self.held.q.val() | self.is_ahead.q.val();
        self.head_slot.next = self.head.q.val();
        if self.is_ahead.q.val() {
            self.head_slot.next = self.ahead.q.val();
        }

        if self.rst.val() {
            self.is_ahead.d.next = false;
            self.is_second.d.next = false;
            self.held.d.next = false;
            self.some.d.next = 0.into();
            self.fills.d.next = 0.into();
            self.row.d.next = 0.into();
            self.above.d.next = 0xFE.into();
        }
    }
}
