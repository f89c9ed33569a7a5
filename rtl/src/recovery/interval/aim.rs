//! Turns a message's times into one deadline and keeps its two nodes in the
//! timer wheel.
//!
//! ```text
//!  aim ──> hold ──> arm ──> set ──> insert ──> wheel
//!           ^                ├────> expiry
//!     nodes ┘<───────────────┴────> freed ──> one of them in a register
//! ```
//!
//! Contract: one aim per 4 clocks, 5 with an insertion, longer by the clocks
//! `insert_ready` is low; what was decided of an aim stands in the nodes before
//! the next of the same message is taken.
//!
//! Verified by `testbenches/tests/rx_context/`.

use super::Expiry;
use crate::prelude::*;
use crate::stream::{Fifo, LateFifo};
use crate::types::TimerInsert;
use tessera_abi::params::Config;

/// Where a message stands when it has been judged. Times in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct IntervalAim {
    pub context: Bits<12>,
    /// A node popped, which one; else a job.
    pub popping: Bit,
    pub node: Bit,
    /// The job opened the message, answered an expiry, ended the message.
    pub opened: Bit,
    pub answer: Bit,
    pub ends: Bit,
    /// As in `IntervalWord`.
    pub open: Bit,
    pub missing: Bit,
    pub hole: Bit,
    pub tail: Bit,
    pub silent: Bit,
    pub probed: Bit,
    pub probe_armed: Bit,
    pub probe_time: Bits<32>,
    pub probe_limit: Bits<24>,
    /// A message of a round whose end is near.
    pub halved: Bit,
    pub holding: Bit,
    pub hold: Bits<32>,
    pub recent: Bits<24>,
    /// Time of the judgement.
    pub at: Bits<32>,
    /// Skew + guard, and the time that is so far ahead.
    pub tail_span: Bits<32>,
    pub look_at: Bits<32>,
    pub deadline: Bits<32>,
    pub hole_tail_at: Bits<32>,
    pub give_up_at: Bits<32>,
}

/// A message's nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct IntervalNodes {
    /// An expiry is with the context.
    pub asked: Bit,
    /// Nodes in the wheel, the earliest pop and which node it is.
    pub linked0: Bit,
    pub linked1: Bit,
    pub armed: Bits<32>,
    pub armed_node: Bit,
}

#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum AimState {
    Idle,
    Hold,
    Arm,
    Set,
    Insert,
}

#[derive(LogicBlock)]
pub struct Aim {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub aim_valid: Signal<In, Bit>,
    pub aim_data: Signal<In, IntervalAim>,
    pub aim_ready: Signal<Out, Bit>,
    /// Room for an expiry, and no pop that could want it.
    pub may_pop: Signal<Out, Bit>,
    pub expiry_valid: Signal<Out, Bit>,
    pub expiry_data: Signal<Out, Expiry>,
    pub expiry_ready: Signal<In, Bit>,
    pub freed_valid: Signal<Out, Bit>,
    pub freed_data: Signal<Out, Bits<12>>,
    pub freed_ready: Signal<In, Bit>,
    pub insert_valid: Signal<Out, Bit>,
    pub insert_data: Signal<Out, TimerInsert>,
    pub insert_ready: Signal<In, Bit>,
    /// A loss-detection deadline fired.
    pub expired: Signal<Out, Bit>,

    words: SdpRam<IntervalNodes, 12>,
    expiries: Fifo<Expiry, 3>,
    freed: LateFifo<Bits<12>, 12>,
    /// The one on offer: the context block looks up its words with it.
    frees: Dff<Bit>,
    freeing: Dff<Bits<12>>,
    state: Dff<AimState>,
    aim: Dff<IntervalAim>,
    nodes: Dff<IntervalNodes>,
    /// The deadline, then the earliest time but for giving up.
    deadline: Dff<Bits<32>>,
    /// When to pop.
    target: Dff<Bits<32>>,
    insert_node: Dff<Bit>,
    was_expired: Dff<Bit>,

    // Of the aim alone, while its nodes are read.
    looked: Dff<Bit>,
    given_up: Dff<Bit>,
    // Of the deadline and the nodes.
    due: Dff<Bit>,
    /// An earlier time than this is worth the second node.
    worth: Dff<Bits<32>>,
    hole_left: Signal<Local, Bits<32>>,
    over_give_up: Signal<Local, Bits<32>>,
    slack: Signal<Local, Bits<32>>,

    kept: Signal<Local, IntervalNodes>,
    with_probe: Signal<Local, Bits<32>>,
    deadline_held: Signal<Local, Bits<32>>,
    probe_held: Signal<Local, Bits<32>>,
    over: Signal<Local, Bits<32>>,
    look_sooner: Signal<Local, Bits<32>>,
    look_early: Signal<Local, Bits<32>>,
    at_hole: Signal<Local, Bit>,
    at_look: Signal<Local, Bit>,
    late: Signal<Local, Bit>,
    earliest: Signal<Local, Bits<32>>,
    pop_at: Signal<Local, Bits<32>>,
    give_up_early: Signal<Local, Bits<32>>,
    shorter_deadline: Signal<Local, Bits<32>>,
    shorter_give_up: Signal<Local, Bits<32>>,
    shorter: Signal<Local, Bit>,
    armed_linked: Signal<Local, Bit>,
    unlinked: Signal<Local, Bit>,
    wants_timer: Signal<Local, Bit>,
    ask: Signal<Local, Bit>,
    insert: Signal<Local, Bit>,
}

impl Aim {
    /// The nodes of `2^rx_contexts_log2` messages.
    pub fn new(config: &Config) -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            aim_valid: Default::default(),
            aim_data: Default::default(),
            aim_ready: Default::default(),
            may_pop: Default::default(),
            expiry_valid: Default::default(),
            expiry_data: Default::default(),
            expiry_ready: Default::default(),
            freed_valid: Default::default(),
            freed_data: Default::default(),
            freed_ready: Default::default(),
            insert_valid: Default::default(),
            insert_data: Default::default(),
            insert_ready: Default::default(),
            expired: Default::default(),
            words: SdpRam::new(config.rx_contexts_log2),
            expiries: Fifo::new(3),
            freed: LateFifo::new(config.rx_contexts_log2),
            frees: Default::default(),
            freeing: Default::default(),
            state: Default::default(),
            aim: Default::default(),
            nodes: Default::default(),
            deadline: Default::default(),
            target: Default::default(),
            insert_node: Default::default(),
            was_expired: Default::default(),
            looked: Default::default(),
            given_up: Default::default(),
            due: Default::default(),
            worth: Default::default(),
            hole_left: Default::default(),
            over_give_up: Default::default(),
            slack: Default::default(),
            kept: Default::default(),
            with_probe: Default::default(),
            deadline_held: Default::default(),
            probe_held: Default::default(),
            over: Default::default(),
            look_sooner: Default::default(),
            look_early: Default::default(),
            at_hole: Default::default(),
            at_look: Default::default(),
            late: Default::default(),
            earliest: Default::default(),
            pop_at: Default::default(),
            give_up_early: Default::default(),
            shorter_deadline: Default::default(),
            shorter_give_up: Default::default(),
            shorter: Default::default(),
            armed_linked: Default::default(),
            unlinked: Default::default(),
            wants_timer: Default::default(),
            ask: Default::default(),
            insert: Default::default(),
        }
    }
}

impl Logic for Aim {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self,
            clk,
            state,
            aim,
            nodes,
            frees,
            freeing,
            deadline,
            target,
            insert_node,
            was_expired,
            looked,
            given_up,
            due,
            worth
        );
        self.words.clock.next = self.clk.val();
        self.expiries.clk.next = self.clk.val();
        self.expiries.rst.next = self.rst.val();
        self.freed.clk.next = self.clk.val();
        self.freed.rst.next = self.rst.val();
        self.expiry_valid.next = self.expiries.out_valid.val();
        self.expiry_data.next = self.expiries.out_data.val();
        self.expiries.out_ready.next = self.expiry_ready.val();
        self.freed_valid.next = self.frees.q.val();
        self.freed_data.next = self.freeing.q.val();
        self.freed.out_ready.next = !self.frees.q.val();
        if self.freed_ready.val() {
            self.frees.d.next = false;
        }
        if !self.frees.q.val() {
            self.frees.d.next = self.freed.out_valid.val();
            self.freeing.d.next = self.freed.out_data.val();
        }
        self.expired.next = self.was_expired.q.val();
        self.was_expired.d.next = false;
        self.aim_ready.next = self.state.q.val() == AimState::Idle;
        self.may_pop.next = self.expiries.in_ready.val()
            & ((self.state.q.val() == AimState::Idle) | !self.aim.q.val().popping);

        self.words.read_address.next = self.aim_data.val().context;
        self.words.write_enable.next = false;
        self.words.write_address.next = self.aim.q.val().context;
        self.words.write_data.next = self.nodes.q.val();
        self.expiries.in_valid.next = false;
        self.expiries.in_data.next.context = self.aim.q.val().context;
        self.expiries.in_data.next.burst =
            self.aim.q.val().tail | self.aim.q.val().silent | self.aim.q.val().probed;
        self.expiries.in_data.next.to_grant = self.aim.q.val().tail | self.aim.q.val().silent;
        self.expiries.in_data.next.limit = self.aim.q.val().recent;
        if self.aim.q.val().probed & (self.aim.q.val().probe_limit > self.aim.q.val().recent) {
            self.expiries.in_data.next.limit = self.aim.q.val().probe_limit;
        }
        self.freed.in_valid.next = false;
        self.freed.in_data.next = self.aim.q.val().context;
        self.insert_valid.next = self.state.q.val() == AimState::Insert;
        self.insert_data.next.node = bit_cast::<13, 12>(self.aim.q.val().context);
        if self.insert_node.q.val() {
            self.insert_data.next.node = bit_cast::<13, 12>(self.aim.q.val().context) | 0x1000;
        }
        self.insert_data.next.deadline = self.target.q.val();

        // Hold: RC-9, then LD-5.
        self.with_probe.next = self.aim.q.val().probe_time - self.aim.q.val().deadline;
        self.deadline_held.next = self.aim.q.val().deadline - self.aim.q.val().hold;
        self.probe_held.next = self.aim.q.val().probe_time - self.aim.q.val().hold;
        self.deadline.d.next = self.aim.q.val().deadline;
        if self.aim.q.val().probe_armed & self.with_probe.val().get_bit(31) {
            self.deadline.d.next = self.aim.q.val().probe_time;
            if self.aim.q.val().holding & self.probe_held.val().get_bit(31) {
                self.deadline.d.next = self.aim.q.val().hold;
            }
        } else {
            if self.aim.q.val().holding & self.deadline_held.val().get_bit(31) {
                self.deadline.d.next = self.aim.q.val().hold;
            }
        }
        self.hole_left.next = self.aim.q.val().at - self.aim.q.val().hole_tail_at;
        self.looked.d.next = !self.hole_left.val().get_bit(31);
        self.over_give_up.next = self.aim.q.val().at - self.aim.q.val().give_up_at;
        self.given_up.d.next = !self.over_give_up.val().get_bit(31);
        self.kept.next = self.words.read_data.val();
        if self.aim.q.val().popping {
            if self.aim.q.val().node {
                self.kept.next.linked1 = false;
            } else {
                self.kept.next.linked0 = false;
            }
        }
        if self.aim.q.val().answer {
            self.kept.next.asked = false;
        }
        if self.aim.q.val().opened {
            self.kept.next.asked = false;
            self.kept.next.linked0 = false;
            self.kept.next.linked1 = false;
        }

        // Arm: what is compared with the deadline, at once; then one of three times.
        self.over.next = self.aim.q.val().at - self.deadline.q.val();
        self.due.d.next = self.given_up.q.val() | !self.over.val().get_bit(31);
        self.look_sooner.next = self.aim.q.val().hole_tail_at - self.deadline.q.val();
        self.look_early.next = self.aim.q.val().look_at - self.deadline.q.val();
        // The deadline of a straggler shrinks with every other message that ends, that
        // of a hole with every packet that arrives: both nodes may stand for what it was.
        self.at_look.next = (self.aim.q.val().halved | (self.aim.q.val().hole & self.looked.q.val()))
            & !self.aim.q.val().holding
            & self.look_early.val().get_bit(31);
        // A hole is first looked at when its tail interval is over: the tail may be
        // seen until then, and shortens the deadline to it.
        self.at_hole.next = self.aim.q.val().hole
            & !self.aim.q.val().holding
            & self.look_sooner.val().get_bit(31)
            & !self.looked.q.val()
            & !self.at_look.val();
        self.earliest.next = self.deadline.q.val();
        // With both nodes linked nothing can be put before them, so the earlier pops
        // within a tail interval: silence that shrinks with the gap may not take from
        // a hole the node that its deadline needs. A hole's tail interval began no later
        // than now, and is over within one.
        self.late.next = self.look_early.val().get_bit(31);
        if self.at_hole.val() {
            self.earliest.next = self.aim.q.val().hole_tail_at;
            self.late.next = false;
        }
        if self.at_look.val() {
            self.earliest.next = self.aim.q.val().look_at;
        }
        self.unlinked.next = !self.nodes.q.val().linked0 & !self.nodes.q.val().linked1;
        // Without a hole the deadline drifts with every packet: less than a tail
        // interval is not worth the second node.
        self.slack.next = 0.into();
        if !self.aim.q.val().hole & !self.aim.q.val().probe_armed {
            self.slack.next = self.aim.q.val().tail_span;
        }
        self.worth.d.next = self.nodes.q.val().armed - self.slack.val();

        // Set: giving up comes first where it is earlier.
        self.give_up_early.next = self.aim.q.val().give_up_at - self.target.q.val();
        self.pop_at.next = self.target.q.val();
        if self.give_up_early.val().get_bit(31) {
            self.pop_at.next = self.aim.q.val().give_up_at;
        }
        self.shorter_deadline.next = self.deadline.q.val() - self.worth.q.val();
        self.shorter_give_up.next = self.aim.q.val().give_up_at - self.worth.q.val();
        self.shorter.next = self.shorter_deadline.val().get_bit(31) | self.shorter_give_up.val().get_bit(31);
        self.expiries.in_data.next.gave_up = self.given_up.q.val();
        self.armed_linked.next = self.nodes.q.val().linked0;
        if self.nodes.q.val().armed_node {
            self.armed_linked.next = self.nodes.q.val().linked1;
        }
        self.wants_timer.next = self.aim.q.val().open & self.aim.q.val().missing & !self.nodes.q.val().asked;
        self.ask.next = false;
        self.insert.next = false;

        match self.state.q.val() {
            AimState::Idle => {
                self.aim.d.next = self.aim_data.val();
                if self.aim_valid.val() {
                    self.state.d.next = AimState::Hold;
                }
            }
            AimState::Hold => {
                self.nodes.d.next = self.kept.val();
                self.state.d.next = AimState::Arm;
            }
            AimState::Arm => {
                self.deadline.d.next = self.earliest.val();
                self.target.d.next = self.earliest.val();
                if !self.unlinked.val() & self.late.val() {
                    self.target.d.next = self.aim.q.val().look_at;
                }
                self.state.d.next = AimState::Set;
            }
            AimState::Set => {
                self.target.d.next = self.pop_at.val();
                self.ask.next = self.aim.q.val().popping & self.wants_timer.val() & self.due.q.val();
                self.insert_node.d.next = self.nodes.q.val().linked0;
                // The earliest node popped, now or at the expiry: what the other stands
                // for is further out. Else the other only for a shorter deadline.
                self.insert.next = self.wants_timer.val()
                    & !self.ask.val()
                    & (!self.armed_linked.val()
                        | (self.shorter.val() & (!self.nodes.q.val().linked0 | !self.nodes.q.val().linked1)));
                if self.insert.val() {
                    self.words.write_data.next.armed = self.pop_at.val();
                    self.words.write_data.next.armed_node = self.nodes.q.val().linked0;
                    if self.nodes.q.val().linked0 {
                        self.words.write_data.next.linked1 = true;
                    } else {
                        self.words.write_data.next.linked0 = true;
                    }
                }
                if self.ask.val() {
                    self.expiries.in_valid.next = true;
                    self.was_expired.d.next = !self.given_up.q.val();
                    self.words.write_data.next.asked = true;
                }
                if !self.aim.q.val().open
                    & self.unlinked.val()
                    & (self.aim.q.val().popping | self.aim.q.val().ends)
                {
                    self.freed.in_valid.next = true;
                }
                self.words.write_enable.next = true;
                self.state.d.next = AimState::Idle;
                if self.insert.val() {
                    self.state.d.next = AimState::Insert;
                }
            }
            AimState::Insert => {
                if self.insert_ready.val() {
                    self.state.d.next = AimState::Idle;
                }
            }
        }

        if self.rst.val() {
            self.state.d.next = AimState::Idle;
            self.frees.d.next = false;
            self.was_expired.d.next = false;
        }
    }
}
