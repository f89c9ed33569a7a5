//! Wakes messages at their deadlines: a two-level wheel of linked lists.
//!
//! ```text
//!  insert ─┐
//!          ├─> place ─> seek ─> link ──┬──> heads   one list per slot
//!  again ──┘   which    old     new    │    nodes   next + deadline, one per timer
//!    ^         slot     head    head   │      │
//!    │                                 v      v
//!    └──────────── not yet ── judge <─ walk the list of the slot whose time came ──> pop
//!
//!  level 0: 2^l0 slots of one wheel tick      |<- now .. one turn ->|
//!  level 1: 2^l1 slots of one level-0 turn              |<- 2^l1 turns, the last one for all beyond ->|
//! ```
//!
//! Nothing is ever unlinked early. Taking a slot's list is an operation of the
//! same pipeline as linking, so a timer is linked either before its slot is
//! taken or with the knowledge that it was. A level-1 slot is spread over
//! level 0 a quarter of a turn before its time; a timer of it whose level-0 slot
//! comes round once too early is met there, found early and linked again.
//!
//! Contract (a *wheel tick* is 2^wheel_tick_log2 ticks; deadlines and `now` are
//! compared modulo 2^32, a deadline is less than 2^31 ticks ahead or behind;
//! `now` never goes back):
//! - a timer pops exactly once, never while `now` is before its deadline;
//! - a deadline not after `now` counts as one at the next wheel tick;
//! - one insert per clock, except in the clock of a slot's taking (one per wheel
//!   tick) and while timers are linked again: `insert_ready` is then low. The
//!   spreading of level 1 uses at most every second clock;
//! - the first pop of a slot is offered 9 clocks after `now` reaches the
//!   deadline rounded up to a wheel tick, the k-th k - 1 clocks after it. A slot
//!   that takes longer than a wheel tick delays the next slots, which catch up
//!   in about six clocks per empty slot. Spreading delays nothing as long as
//!   two clocks per timer of a level-1 slot fit a quarter turn: in nic512 all
//!   8192 timers in one do. Nothing is lost, however long `pop_ready` is low;
//! - `late` pulses one clock after the pop of a timer that left more than one
//!   wheel tick after its rounded deadline;
//! - after reset the lists are emptied, one slot per clock; `ready` rises and
//!   inserts are taken from then on.
//!
//! Verified by `testbenches/tests/timer_wheel.rs`.

use super::TimerPlace;
use crate::prelude::*;
use crate::stream::Fifo;
use crate::types::TimerInsert;
use tessera_abi::params::Config;

/// The first timer of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct TimerHead {
    pub some: Bit,
    pub node: Bits<13>,
}

/// A linked timer.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct TimerNode {
    pub follow_some: Bit,
    pub follow_node: Bits<13>,
    /// Deadline rounded up to a wheel tick, ticks.
    pub due: Bits<32>,
}

/// A timer whose time came.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct TimerPop {
    pub node: Bits<13>,
    /// Deadline rounded up to a wheel tick, ticks.
    pub due: Bits<32>,
}

#[derive(LogicBlock)]
pub struct TimerWheel {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    /// Ticks.
    pub now: Signal<In, Bits<32>>,
    pub insert_valid: Signal<In, Bit>,
    pub insert_data: Signal<In, TimerInsert>,
    pub insert_ready: Signal<Out, Bit>,
    pub pop_valid: Signal<Out, Bit>,
    pub pop_node: Signal<Out, Bits<13>>,
    pub pop_ready: Signal<In, Bit>,
    pub late: Signal<Out, Bit>,
    pub ready: Signal<Out, Bit>,

    heads: SdpRam<TimerHead, 12>,
    nodes: SdpRam<TimerNode, 13>,
    out: Fifo<TimerPop, 4>,
    place: TimerPlace,

    // Time, in ticks; the lower bits of a wheel tick are zero.
    present: Dff<Bits<32>>,
    /// The wheel tick whose slot was taken last.
    cursor: Dff<Bits<32>>,
    /// The first turn that level 0 does not hold yet.
    horizon: Dff<Bits<32>>,
    clear_at: Dff<Bits<13>>,
    cleared: Dff<Bit>,
    // Place: which slot.
    place_link: Dff<Bit>,
    place_take: Dff<Bit>,
    /// Of a take.
    place_level1: Dff<Bit>,
    /// From outside: a past deadline is moved to the next wheel tick.
    place_fresh: Dff<Bit>,
    place_node: Dff<Bits<13>>,
    place_due: Dff<Bits<32>>,
    // Seek: read its head.
    seek_link: Dff<Bit>,
    seek_take: Dff<Bit>,
    seek_level1: Dff<Bit>,
    seek_node: Dff<Bits<13>>,
    // Link: write the node and the head.
    link_link: Dff<Bit>,
    link_take: Dff<Bit>,
    link_level1: Dff<Bit>,
    link_node: Dff<Bits<13>>,
    link_due: Dff<Bits<32>>,
    link_at: Dff<Bits<12>>,
    /// The head written a clock ago, which the RAM did not return yet.
    last_valid: Dff<Bit>,
    last_at: Dff<Bits<12>>,
    last_head: Dff<TimerHead>,
    // The lists being walked.
    /// A level's list is on its way or not at its end.
    busy0: Dff<Bit>,
    busy1: Dff<Bit>,
    /// On its way.
    pending0: Dff<Bit>,
    pending1: Dff<Bit>,
    list0: Dff<TimerHead>,
    list1: Dff<TimerHead>,
    // Walk: the node is read; judge; sort: popped or linked again.
    walk_valid: Dff<Bit>,
    walk_level1: Dff<Bit>,
    walk_node: Dff<Bits<13>>,
    judge_valid: Dff<Bit>,
    judge_node: Dff<Bits<13>>,
    judge_due: Dff<Bits<32>>,
    sort_pop: Dff<Bit>,
    sort_again: Dff<Bit>,
    sort_node: Dff<Bits<13>>,
    sort_due: Dff<Bits<32>>,

    /// Nodes between walk and the pop port, but for the one that walks: what it steps to comes late.
    flying: Dff<Bits<5>>,
    was_late: Dff<Bit>,

    want0: Signal<Local, Bit>,
    want1: Signal<Local, Bit>,
    reach: Signal<Local, Bits<32>>,
    round_up: Signal<Local, Bits<32>>,
    next_tick: Signal<Local, Bits<32>>,
    old_head: Signal<Local, TimerHead>,
    /// What is left of a level's list, the node being read included.
    rest0: Signal<Local, TimerHead>,
    rest1: Signal<Local, TimerHead>,
    room: Signal<Local, Bit>,
    step0: Signal<Local, Bit>,
    step1: Signal<Local, Bit>,
    step_node: Signal<Local, Bits<13>>,
    since: Signal<Local, Bits<32>>,
    popped: Signal<Local, Bit>,
    overdue: Signal<Local, Bits<32>>,

    tick: Constant<Bits<32>>,
    tick_mask: Constant<Bits<32>>,
    turn: Constant<Bits<32>>,
    turn_mask: Constant<Bits<32>>,
    lead: Constant<Bits<32>>,
    heads_end: Constant<Bits<13>>,
    room_for: Constant<Bits<5>>,
    /// Bits of a time that is positive and above a wheel tick, rounded as all here are.
    above_tick: Constant<Bits<32>>,
    /// The address bit that a message's second node has instead of bit 12.
    second: Constant<Bits<13>>,
}

impl TimerWheel {
    /// A wheel for the timers of the messages of one direction, two each.
    ///
    /// # Panics
    /// When the levels of the configuration do not fit 32-bit time, or have
    /// more than 2048 or fewer than 4 slots; for more than 4096 messages.
    pub fn new(config: &Config) -> Self {
        let (tick, l0, l1) = (config.wheel_tick_log2, config.wheel_l0_log2, config.wheel_l1_log2);
        let slots = l0.max(l1);
        let messages = config.tx_slots_log2.max(config.rx_contexts_log2);
        assert!(messages <= 12, "timer wheel of 2^{messages} messages: at most 2^12");
        assert!(
            slots <= 11 && l0 >= 2 && l1 >= 2 && tick + l0 + l1 <= 30,
            "timer wheel of 2^{l0} and 2^{l1} slots of 2^{tick} ticks: 4..=2048 slots, at most 2^30 ticks"
        );
        Self {
            clk: Default::default(),
            rst: Default::default(),
            now: Default::default(),
            insert_valid: Default::default(),
            insert_data: Default::default(),
            insert_ready: Default::default(),
            pop_valid: Default::default(),
            pop_node: Default::default(),
            pop_ready: Default::default(),
            late: Default::default(),
            ready: Default::default(),
            heads: SdpRam::new(slots + 1),
            nodes: SdpRam::new(messages + 1),
            out: Fifo::new(4),
            place: TimerPlace::new(config),
            present: Default::default(),
            cursor: Default::default(),
            horizon: Default::default(),
            clear_at: Default::default(),
            cleared: Default::default(),
            place_link: Default::default(),
            place_take: Default::default(),
            place_level1: Default::default(),
            place_fresh: Default::default(),
            place_node: Default::default(),
            place_due: Default::default(),
            seek_link: Default::default(),
            seek_take: Default::default(),
            seek_level1: Default::default(),
            seek_node: Default::default(),
            link_link: Default::default(),
            link_take: Default::default(),
            link_level1: Default::default(),
            link_node: Default::default(),
            link_due: Default::default(),
            link_at: Default::default(),
            last_valid: Default::default(),
            last_at: Default::default(),
            last_head: Default::default(),
            busy0: Default::default(),
            busy1: Default::default(),
            pending0: Default::default(),
            pending1: Default::default(),
            list0: Default::default(),
            list1: Default::default(),
            walk_valid: Default::default(),
            walk_level1: Default::default(),
            walk_node: Default::default(),
            judge_valid: Default::default(),
            judge_node: Default::default(),
            judge_due: Default::default(),
            sort_pop: Default::default(),
            sort_again: Default::default(),
            sort_node: Default::default(),
            sort_due: Default::default(),
            flying: Default::default(),
            was_late: Default::default(),
            want0: Default::default(),
            want1: Default::default(),
            reach: Default::default(),
            round_up: Default::default(),
            next_tick: Default::default(),
            old_head: Default::default(),
            rest0: Default::default(),
            rest1: Default::default(),
            room: Default::default(),
            step0: Default::default(),
            step1: Default::default(),
            step_node: Default::default(),
            since: Default::default(),
            popped: Default::default(),
            overdue: Default::default(),
            tick: Constant::new((1u64 << tick).into()),
            tick_mask: Constant::new(((1u64 << tick) - 1).into()),
            turn: Constant::new((1u64 << (tick + l0)).into()),
            turn_mask: Constant::new(((1u64 << (tick + l0)) - 1).into()),
            lead: Constant::new((1u64 << (tick + l0 - 2)).into()),
            heads_end: Constant::new((2u64 << slots).into()),
            // One less than the places of `out`: for the one that walks.
            room_for: Constant::new((15u64).into()),
            above_tick: Constant::new(((1u64 << 31) - (2 << tick)).into()),
            second: Constant::new((1u64 << messages).into()),
        }
    }
}

impl Logic for TimerWheel {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self,
            clk,
            present,
            cursor,
            horizon,
            clear_at,
            cleared,
            place_link,
            place_take,
            place_level1,
            place_fresh,
            place_node,
            place_due,
            seek_link,
            seek_take,
            seek_level1,
            seek_node,
            link_link,
            link_take,
            link_level1,
            link_node,
            link_due,
            link_at,
            last_valid,
            last_at,
            last_head,
            busy0,
            busy1,
            pending0,
            pending1,
            list0,
            list1,
            walk_valid,
            walk_level1,
            walk_node,
            judge_valid,
            judge_node,
            judge_due,
            sort_pop,
            sort_again,
            sort_node,
            sort_due,
            flying,
            was_late
        );
        self.heads.clock.next = self.clk.val();
        self.nodes.clock.next = self.clk.val();
        self.out.clk.next = self.clk.val();
        self.out.rst.next = self.rst.val();

        self.present.d.next = self.now.val() & !self.tick_mask.val();
        self.next_tick.next = self.cursor.q.val() + self.tick.val();
        self.reach.next = self.cursor.q.val() + self.lead.val() - self.horizon.q.val();
        self.want0.next =
            self.cleared.q.val() & !self.busy0.q.val() & (self.cursor.q.val() != self.present.q.val());
        self.want1.next = self.cleared.q.val() & !self.busy1.q.val() & !self.reach.val().get_bit(31);

        // What enters the pipeline: again, take, insert.
        self.round_up.next = (self.insert_data.val().deadline + self.tick_mask.val()) & !self.tick_mask.val();
        self.insert_ready.next =
            self.cleared.q.val() & !self.sort_again.q.val() & !self.want0.val() & !self.want1.val();
        self.place_link.d.next = false;
        self.place_take.d.next = false;
        self.place_level1.d.next = false;
        self.place_fresh.d.next = false;
        self.place_node.d.next = self.insert_data.val().node;
        self.place_due.d.next = self.round_up.val();
        if self.sort_again.q.val() {
            self.place_link.d.next = true;
            self.place_node.d.next = self.sort_node.q.val();
            self.place_due.d.next = self.sort_due.q.val();
        } else {
            if self.want0.val() {
                self.place_take.d.next = true;
                self.place_due.d.next = self.next_tick.val();
            } else {
                if self.want1.val() {
                    self.place_take.d.next = true;
                    self.place_level1.d.next = true;
                    self.place_due.d.next = self.horizon.q.val();
                } else {
                    self.place_link.d.next = self.insert_valid.val() & self.cleared.q.val();
                    self.place_fresh.d.next = true;
                }
            }
        }

        // Place and seek: the slot, then its head.
        self.place.clk.next = self.clk.val();
        self.place.cursor.next = self.cursor.q.val();
        self.place.next_tick.next = self.next_tick.val();
        self.place.horizon.next = self.horizon.q.val();
        self.place.take.next = self.place_take.q.val();
        self.place.take_level1.next = self.place_level1.q.val();
        self.place.fresh.next = self.place_fresh.q.val();
        self.place.due.next = self.place_due.q.val();
        self.seek_link.d.next = self.place_link.q.val();
        self.seek_take.d.next = self.place_take.q.val();
        self.seek_level1.d.next = self.place_level1.q.val();
        self.seek_node.d.next = self.place_node.q.val();
        self.heads.read_address.next = self.place.slot.val();
        self.link_link.d.next = self.seek_link.q.val();
        self.link_take.d.next = self.seek_take.q.val();
        self.link_level1.d.next = self.seek_level1.q.val();
        self.link_node.d.next = self.seek_node.q.val();
        self.link_due.d.next = self.place.slot_due.val();
        self.link_at.d.next = self.place.slot.val();

        // Link.
        self.old_head.next = self.heads.read_data.val();
        if self.last_valid.q.val() & (self.last_at.q.val() == self.link_at.q.val()) {
            self.old_head.next = self.last_head.q.val();
        }
        self.nodes.write_enable.next = self.link_link.q.val();
        self.nodes.write_address.next = self.link_node.q.val();
        if self.link_node.q.val().get_bit(12) {
            self.nodes.write_address.next = self.link_node.q.val() | self.second.val();
        }
        self.nodes.write_data.next.follow_some = self.old_head.val().some;
        self.nodes.write_data.next.follow_node = self.old_head.val().node;
        self.nodes.write_data.next.due = self.link_due.q.val();
        self.last_valid.d.next = self.link_link.q.val() | self.link_take.q.val();
        self.last_at.d.next = self.link_at.q.val();
        self.last_head.d.next.some = self.link_link.q.val();
        self.last_head.d.next.node = self.link_node.q.val();
        if self.cleared.q.val() {
            self.heads.write_enable.next = self.link_link.q.val() | self.link_take.q.val();
            self.heads.write_address.next = self.link_at.q.val();
        } else {
            self.heads.write_enable.next = true;
            self.heads.write_address.next = self.clear_at.q.val().get_bits::<12>(0);
        }
        self.heads.write_data.next.some = self.link_link.q.val();
        self.heads.write_data.next.node = self.link_node.q.val();

        // Walk. The node read a clock ago names the next one of its list, so
        // that level 0 steps every clock.
        self.rest0.next = self.list0.q.val();
        self.rest1.next = self.list1.q.val();
        if self.walk_valid.q.val() {
            if self.walk_level1.q.val() {
                self.rest1.next.some = self.nodes.read_data.val().follow_some;
                self.rest1.next.node = self.nodes.read_data.val().follow_node;
            } else {
                self.rest0.next.some = self.nodes.read_data.val().follow_some;
                self.rest0.next.node = self.nodes.read_data.val().follow_node;
            }
        }
        self.room.next = self.flying.q.val() < self.room_for.val();
        self.step0.next = self.rest0.val().some & self.room.val();
        self.step1.next = self.list1.q.val().some
            & !self.rest0.val().some
            & self.room.val()
            & !self.want0.val()
            & !self.want1.val();
        self.walk_valid.d.next = self.step0.val() | self.step1.val();
        self.walk_level1.d.next = !self.step0.val();
        self.step_node.next = self.list1.q.val().node;
        if self.step0.val() {
            self.step_node.next = self.rest0.val().node;
        }
        self.walk_node.d.next = self.step_node.val();
        self.nodes.read_address.next = self.step_node.val();
        if self.step_node.val().get_bit(12) {
            self.nodes.read_address.next = self.step_node.val() | self.second.val();
        }
        self.list0.d.next.some = self.rest0.val().some & !self.step0.val();
        self.list0.d.next.node = self.rest0.val().node;
        self.list1.d.next.some = self.rest1.val().some & !self.step1.val();
        self.list1.d.next.node = self.rest1.val().node;
        if !self.pending0.q.val() & !self.rest0.val().some {
            self.busy0.d.next = false;
        }
        if !self.pending1.q.val() & !self.rest1.val().some {
            self.busy1.d.next = false;
        }
        if self.link_take.q.val() {
            if self.link_level1.q.val() {
                self.list1.d.next = self.old_head.val();
                self.pending1.d.next = false;
            } else {
                self.list0.d.next = self.old_head.val();
                self.pending0.d.next = false;
            }
        }
        if !self.sort_again.q.val() {
            if self.want0.val() {
                self.cursor.d.next = self.next_tick.val();
                self.busy0.d.next = true;
                self.pending0.d.next = true;
            } else {
                if self.want1.val() {
                    self.horizon.d.next = self.horizon.q.val() + self.turn.val();
                    self.busy1.d.next = true;
                    self.pending1.d.next = true;
                }
            }
        }

        // Judge and sort.
        self.judge_valid.d.next = self.walk_valid.q.val();
        self.judge_node.d.next = self.walk_node.q.val();
        self.judge_due.d.next = self.nodes.read_data.val().due;
        self.since.next = self.cursor.q.val() - self.judge_due.q.val();
        self.sort_pop.d.next = self.judge_valid.q.val() & !self.since.val().get_bit(31);
        self.sort_again.d.next = self.judge_valid.q.val() & self.since.val().get_bit(31);
        self.sort_node.d.next = self.judge_node.q.val();
        self.sort_due.d.next = self.judge_due.q.val();

        self.out.in_valid.next = self.sort_pop.q.val();
        self.out.in_data.next.node = self.sort_node.q.val();
        self.out.in_data.next.due = self.sort_due.q.val();
        self.out.out_ready.next = self.pop_ready.val();
        self.pop_valid.next = self.out.out_valid.val();
        self.pop_node.next = self.out.out_data.val().node;
        self.popped.next = self.out.out_valid.val() & self.pop_ready.val();
        self.flying.d.next = self.flying.q.val() + bit_cast::<5, 1>(self.walk_valid.q.val().into())
            - bit_cast::<5, 1>(self.sort_again.q.val().into())
            - bit_cast::<5, 1>(self.popped.val().into());
        self.overdue.next = self.present.q.val() - self.out.out_data.val().due;
        self.was_late.d.next = self.popped.val()
            & !self.overdue.val().get_bit(31)
            & (self.overdue.val() & self.above_tick.val()).any();
        self.late.next = self.was_late.q.val();
        self.ready.next = self.cleared.q.val();

        if !self.cleared.q.val() {
            self.cursor.d.next = self.present.q.val();
            self.horizon.d.next = (self.present.q.val() | self.turn_mask.val()) + 1;
            self.clear_at.d.next = self.clear_at.q.val() + 1;
            if self.clear_at.q.val() == self.heads_end.val() {
                self.cleared.d.next = true;
            }
        }
        if self.rst.val() {
            self.clear_at.d.next = 0.into();
            self.cleared.d.next = false;
            self.place_link.d.next = false;
            self.place_take.d.next = false;
            self.seek_link.d.next = false;
            self.seek_take.d.next = false;
            self.link_link.d.next = false;
            self.link_take.d.next = false;
            self.last_valid.d.next = false;
            self.busy0.d.next = false;
            self.busy1.d.next = false;
            self.pending0.d.next = false;
            self.pending1.d.next = false;
            self.list0.d.next.some = false;
            self.list1.d.next.some = false;
            self.walk_valid.d.next = false;
            self.judge_valid.d.next = false;
            self.sort_pop.d.next = false;
            self.sort_again.d.next = false;
            self.flying.d.next = 0.into();
            self.was_late.d.next = false;
        }
    }
}
