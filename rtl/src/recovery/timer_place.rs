//! In which slot of the wheel a deadline belongs.
//!
//! ```text
//!  due ──┬── not after cursor ─────────> level 0: the next slot
//!        ├── within a turn, or before ──> level 0: its own
//!        │   the horizon
//!        ├── within the span ───────────> level 1: its turn's
//!        └── beyond ────────────────────> level 1: the last turn's
//! ```
//!
//! Contract: `slot` and `slot_due` follow by one clock. A deadline before the
//! horizon but more than a turn ahead shares its slot with one a turn earlier:
//! it is met early, and placed again.
//!
//! Verified as part of `testbenches/tests/timer_wheel.rs`.

use crate::prelude::*;
use tessera_abi::params::Config;

#[derive(LogicBlock)]
pub struct TimerPlace {
    pub clk: Signal<In, Clock>,
    /// As all takes ahead left it.
    pub cursor: Signal<In, Bits<32>>,
    /// One wheel tick after `cursor`.
    pub next_tick: Signal<In, Bits<32>>,
    /// The first turn that level 0 does not hold yet.
    pub horizon: Signal<In, Bits<32>>,
    /// A whole slot: that of `due` on the level given.
    pub take: Signal<In, Bit>,
    pub take_level1: Signal<In, Bit>,
    /// A past deadline is moved to the next wheel tick.
    pub fresh: Signal<In, Bit>,
    pub due: Signal<In, Bits<32>>,
    /// A clock later: where; level 1 lies behind level 0.
    pub slot: Signal<Out, Bits<12>>,
    /// A clock later: the deadline as moved.
    pub slot_due: Signal<Out, Bits<32>>,

    its_due: Dff<Bits<32>>,
    is_past: Dff<Bit>,
    /// Level 0 holds its turn.
    is_near: Dff<Bit>,
    /// Beyond level 1.
    is_far: Dff<Bit>,
    slot_next: Dff<Bits<12>>,
    slot0: Dff<Bits<12>>,
    slot1: Dff<Bits<12>>,
    slot_far: Dff<Bits<12>>,

    ahead: Signal<Local, Bits<32>>,
    beyond: Signal<Local, Bits<32>>,
    last_turn: Signal<Local, Bits<32>>,
    past: Signal<Local, Bit>,
    at_next: Signal<Local, Bits<32>>,
    at0: Signal<Local, Bits<32>>,
    at1: Signal<Local, Bits<32>>,
    at_far: Signal<Local, Bits<32>>,

    turn: Constant<Bits<32>>,
    slot0_mask: Constant<Bits<32>>,
    slot1_mask: Constant<Bits<32>>,
    level1: Constant<Bits<32>>,
    tick_shift: Constant<Bits<5>>,
    turn_shift: Constant<Bits<5>>,
    span_shift: Constant<Bits<5>>,
}

impl TimerPlace {
    /// For the wheel of a configuration.
    pub fn new(config: &Config) -> Self {
        let (tick, l0, l1) = (config.wheel_tick_log2, config.wheel_l0_log2, config.wheel_l1_log2);
        let slots = l0.max(l1);
        Self {
            clk: Default::default(),
            cursor: Default::default(),
            next_tick: Default::default(),
            horizon: Default::default(),
            take: Default::default(),
            take_level1: Default::default(),
            fresh: Default::default(),
            due: Default::default(),
            slot: Default::default(),
            slot_due: Default::default(),
            its_due: Default::default(),
            is_past: Default::default(),
            is_near: Default::default(),
            is_far: Default::default(),
            slot_next: Default::default(),
            slot0: Default::default(),
            slot1: Default::default(),
            slot_far: Default::default(),
            ahead: Default::default(),
            beyond: Default::default(),
            last_turn: Default::default(),
            past: Default::default(),
            at_next: Default::default(),
            at0: Default::default(),
            at1: Default::default(),
            at_far: Default::default(),
            turn: Constant::new((1u64 << (tick + l0)).into()),
            slot0_mask: Constant::new(((1u64 << l0) - 1).into()),
            slot1_mask: Constant::new(((1u64 << l1) - 1).into()),
            level1: Constant::new((1u64 << slots).into()),
            tick_shift: Constant::new((tick as u64).into()),
            turn_shift: Constant::new(((tick + l0) as u64).into()),
            span_shift: Constant::new(((tick + l0 + l1) as u64).into()),
        }
    }
}

impl Logic for TimerPlace {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, its_due, is_past, is_near, is_far, slot_next, slot0, slot1, slot_far);
        self.ahead.next = self.due.val() - self.cursor.val();
        self.past.next = (self.ahead.val() == 0) | self.ahead.val().get_bit(31);
        self.beyond.next = self.due.val() - self.horizon.val();
        self.last_turn.next = self.horizon.val() - self.turn.val();
        self.at_next.next = (self.next_tick.val() >> self.tick_shift.val()) & self.slot0_mask.val();
        self.at0.next = (self.due.val() >> self.tick_shift.val()) & self.slot0_mask.val();
        self.at1.next =
            ((self.due.val() >> self.turn_shift.val()) & self.slot1_mask.val()) | self.level1.val();
        self.at_far.next =
            ((self.last_turn.val() >> self.turn_shift.val()) & self.slot1_mask.val()) | self.level1.val();
        self.its_due.d.next = self.due.val();
        if self.fresh.val() & self.past.val() {
            self.its_due.d.next = self.next_tick.val();
        }
        self.is_past.d.next = self.past.val();
        self.is_near.d.next =
            self.beyond.val().get_bit(31) | ((self.ahead.val() >> self.turn_shift.val()) == 0);
        self.is_far.d.next = (self.beyond.val() >> self.span_shift.val()) != 0;
        if self.take.val() {
            self.is_past.d.next = false;
            self.is_near.d.next = !self.take_level1.val();
            self.is_far.d.next = false;
        }
        self.slot_next.d.next = self.at_next.val().get_bits::<12>(0);
        self.slot0.d.next = self.at0.val().get_bits::<12>(0);
        self.slot1.d.next = self.at1.val().get_bits::<12>(0);
        self.slot_far.d.next = self.at_far.val().get_bits::<12>(0);

        self.slot.next = self.slot1.q.val();
        if self.is_far.q.val() {
            self.slot.next = self.slot_far.q.val();
        }
        if self.is_near.q.val() {
            self.slot.next = self.slot0.q.val();
        }
        if self.is_past.q.val() {
            self.slot.next = self.slot_next.q.val();
        }
        self.slot_due.next = self.its_due.q.val();
    }
}
