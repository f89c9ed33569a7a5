//! Entropy values that came back clean, by destination: policy `recycle`
//! (spec section 6).
//!
//! ```text
//!                 ┌──── ring of a destination: 8 × (value, uses left) ────┐
//!  take ─> hash ─>│ RAM ─> first, whether it asks                         │─> this packet's
//!  echo ─> hash ─>│     ─> where its value stands                         │
//!                 └───────────────────────────┬───────────────────────────┘
//!                                             v
//!     RAM <─ out when its uses end, else last, a use less <─ registers
//!            of an echo: clean: all uses again, or a new last; CE: out
//! ```
//!
//! A value is in a ring at most once, and the uses it has left tell that it is
//! there. It asks for its next echo while it still has some, so a living path
//! stays and a dead one leaves after `RECYCLE_USES` packets. A PROBE takes its
//! value out at once: only an answer brings it back, so a row of PROBEs gets
//! through all the values that do not work.
//!
//! Contract: the outputs belong to the packet of the `take` in the clock
//! before. `take` comes every second clock at most, `echo_valid` every third;
//! an echo waits for a clock without `take`. Rings empty themselves (1024
//! clocks, in which no value is recycled) after `rst` and when `enable` rises
//! or the range of values changes. A configuration without `recycle` has none of this: no value is
//! recycled, and no packet asks.
//!
//! Verified by `testbenches/tests/path_scheduler.rs`.

use super::DestinationHash;
use crate::prelude::*;
use crate::types::{PathEcho, Settings};
use tessera_abi::params::{Config, RECYCLE_RING, RECYCLE_USES};

/// `kind` of a PROBE.
pub const PROBE: u64 = 2;
/// `kind` of a FEEDBACK.
pub const FEEDBACK: u64 = 3;

#[derive(LogicBlock)]
pub struct RecycleRings {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub settings: Signal<In, Settings>,
    pub take: Signal<In, Bit>,
    pub gid: Signal<In, Bits<128>>,
    /// 0 new DATA, 1 retransmission, 2 PROBE, 3 FEEDBACK.
    pub kind: Signal<In, Bits<2>>,
    pub echo: Signal<In, PathEcho>,
    /// The packet is one of those that look for further paths, if it is new.
    pub explores: Signal<In, Bit>,
    /// The packet goes by `ev`.
    pub recycled: Signal<Out, Bit>,
    pub ev: Signal<Out, Bits<8>>,
    /// The packet is to ask for its echo.
    pub asks: Signal<Out, Bit>,
    take_hash: DestinationHash,
    echo_hash: DestinationHash,
    /// Value in bits 0 to 7, uses left above, and above those (14) whether there are any. Bit 15
    /// of the first says that the ring is as full as it can be, bit 16 that the uses left are such
    /// that the value asks for its echo: behind the RAM both would be late to find out.
    rings: [SdpRam<Bits<17>, 10>; 8],
    used: Dff<Bit>,
    used_kind: Dff<Bits<2>>,
    waiting: Dff<Bit>,
    waiting_ce: Dff<Bit>,
    waiting_ev: Dff<Bits<8>>,
    waiting_at: Dff<Bits<10>>,
    echoed: Dff<Bit>,
    at: Dff<Bits<10>>,
    // What was read and is written, and what was in the clock before: the RAM shows neither yet. A
    // packet or an echo changes it on the way there: that is late behind the RAM.
    last: [Dff<Bits<17>>; 8],
    /// A packet has used the first; it is a PROBE, which takes it out.
    uses_first: Dff<Bit>,
    takes_out: Dff<Bit>,
    mends: Dff<Bit>,
    mends_ce: Dff<Bit>,
    mends_ev: Dff<Bits<8>>,
    /// The echo's value is here: parts of the comparison, and that there is one.
    held_low: [Dff<Bit>; 8],
    held_mid: [Dff<Bit>; 8],
    held_high: [Dff<Bit>; 8],
    held: [Signal<Local, Bit>; 8],
    last_at: Dff<Bits<10>>,
    last_valid: Dff<Bit>,
    older: [Dff<Bits<17>>; 8],
    older_full: Dff<Bit>,
    older_at: Dff<Bits<10>>,
    older_valid: Dff<Bit>,
    sweeping: Dff<Bit>,
    sweep_at: Dff<Bits<10>>,
    enabled: Dff<Bit>,
    base: Dff<Bits<8>>,
    count: Dff<Bits<9>>,
    place: Signal<Local, Bits<10>>,
    old: [Signal<Local, Bits<17>>; 8],
    live: [Signal<Local, Bit>; 8],
    hit: [Signal<Local, Bit>; 9],
    written: [Signal<Local, Bits<17>>; 8],
    kept: Signal<Local, Bits<17>>,
    left: Signal<Local, Bits<6>>,
    /// One less, in gates: a carry chain is late behind the memory. Of each bit whether all below are zero.
    none_below: [Signal<Local, Bit>; 7],
    less: Signal<Local, Bits<6>>,
    due: [Signal<Local, Bit>; 3],
    /// That was its last use.
    spent: Signal<Local, Bit>,
    clean: Signal<Local, Bits<17>>,
    /// What is written, without the echo, fills the ring, or with one more value does, counted
    /// place by place.
    filled: [Signal<Local, Bit>; 9],
    nearly: [Signal<Local, Bit>; 8],
    /// It fills the ring; the ring read is full.
    written_full: Signal<Local, Bit>,
    full: Signal<Local, Bit>,
    use_first: Signal<Local, Bit>,
    data: Signal<Local, Bit>,
    wanted: Signal<Local, Bit>,
    on: Signal<Local, Bit>,
    writes: Signal<Local, Bit>,
    offset: Signal<Local, Bits<8>>,
    /// Numbers of values with which the ring is as full as it can be.
    whole: [Constant<Bits<9>>; 8],
    uses: Constant<Bits<17>>,
    /// A value, its uses, and that there are any.
    word: Constant<Bits<17>>,
    /// Uses left before one behind which a value asks for its echo: every eighth of the second half.
    asking: [Constant<Bits<6>>; 2],
    sweep_last: Constant<Bits<10>>,
    probe: Constant<Bits<2>>,
    feedback: Constant<Bits<2>>,
    exists: Constant<Bit>,
}

const _: () = assert!(RECYCLE_RING == 8 && RECYCLE_USES / 2 == 16);

impl RecycleRings {
    pub fn new(config: &Config) -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            settings: Default::default(),
            take: Default::default(),
            gid: Default::default(),
            kind: Default::default(),
            echo: Default::default(),
            explores: Default::default(),
            recycled: Default::default(),
            ev: Default::default(),
            asks: Default::default(),
            take_hash: DestinationHash::new(),
            echo_hash: DestinationHash::new(),
            rings: std::array::from_fn(|_| SdpRam::new(10)),
            used: Default::default(),
            used_kind: Default::default(),
            waiting: Default::default(),
            waiting_ce: Default::default(),
            waiting_ev: Default::default(),
            waiting_at: Default::default(),
            echoed: Default::default(),
            at: Default::default(),
            last: std::array::from_fn(|_| Dff::default()),
            uses_first: Default::default(),
            takes_out: Default::default(),
            mends: Default::default(),
            mends_ce: Default::default(),
            mends_ev: Default::default(),
            held_low: std::array::from_fn(|_| Dff::default()),
            held_mid: std::array::from_fn(|_| Dff::default()),
            held_high: std::array::from_fn(|_| Dff::default()),
            held: Default::default(),
            last_at: Default::default(),
            last_valid: Default::default(),
            older: std::array::from_fn(|_| Dff::default()),
            older_full: Default::default(),
            older_at: Default::default(),
            older_valid: Default::default(),
            sweeping: Default::default(),
            sweep_at: Default::default(),
            enabled: Default::default(),
            base: Default::default(),
            count: Default::default(),
            place: Default::default(),
            old: Default::default(),
            live: Default::default(),
            hit: Default::default(),
            written: Default::default(),
            kept: Default::default(),
            left: Default::default(),
            none_below: Default::default(),
            less: Default::default(),
            due: Default::default(),
            spent: Default::default(),
            clean: Default::default(),
            filled: Default::default(),
            nearly: Default::default(),
            written_full: Default::default(),
            full: Default::default(),
            use_first: Default::default(),
            data: Default::default(),
            wanted: Default::default(),
            on: Default::default(),
            writes: Default::default(),
            offset: Default::default(),
            whole: std::array::from_fn(|i| Constant::new((i as u64 + 1).into())),
            uses: Constant::new((1 << 14 | u64::from(RECYCLE_USES) << 8).into()),
            word: Constant::new(0x1_7FFFu64.into()),
            asking: [1, 2].map(|eighths| Constant::new((8u64 * eighths + 1).into())),
            sweep_last: Constant::new(1023u64.into()),
            probe: Constant::new(PROBE.into()),
            feedback: Constant::new(FEEDBACK.into()),
            exists: Constant::new(config.recycle),
        }
    }
}

impl Logic for RecycleRings {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, used, used_kind, waiting, waiting_ce, waiting_ev, waiting_at, echoed, at);
        dff_setup!(
            self,
            clk,
            last_at,
            last_valid,
            older_at,
            older_valid,
            older_full,
            uses_first,
            takes_out,
            mends,
            mends_ce,
            mends_ev,
            sweeping,
            sweep_at,
            enabled,
            base,
            count
        );

        // Which ring is read: that of a packet, else that of an echo.
        self.on.next = self.exists.val() & (self.settings.val().path_policy == 3);
        self.take_hash.gid.next = self.gid.val();
        self.echo_hash.gid.next = self.echo.val().gid;
        self.used.d.next = self.take.val();
        self.used_kind.d.next = self.kind.val();
        self.echoed.d.next = !self.take.val() & self.waiting.q.val();
        self.place.next = self.waiting_at.q.val();
        if self.take.val() {
            self.place.next = self.take_hash.place.val();
        } else {
            self.waiting.d.next = false;
        }
        self.offset.next = self.echo.val().ev - self.settings.val().path_base;
        if self.echo.val().valid & self.on.val() & (bit_cast::<9, 8>(self.offset.val()) < self.count.q.val())
        {
            self.waiting.d.next = true;
            self.waiting_ce.d.next = self.echo.val().ce;
            self.waiting_ev.d.next = self.echo.val().ev;
            self.waiting_at.d.next = self.echo_hash.place.val();
        }
        self.at.d.next = self.place.val();

        // What is written. An echo's value, if it is there, has its uses again or leaves; else it is a
        // new last. A packet's value leaves if its uses end.
        self.clean.next = self.uses.val() | bit_cast::<17, 8>(self.mends_ev.q.val());
        self.hit[0].next = false;
        self.filled[0].next = self.last[7].q.val().get_bit(14);
        self.nearly[0].next = (self.count.q.val() == 1) | self.last[6].q.val().get_bit(14);
        for i in 0..8 {
            self.held[i].next =
                self.held_low[i].q.val() & self.held_mid[i].q.val() & self.held_high[i].q.val();
            self.hit[i + 1].next = self.hit[i].val() | self.held[i].val();
            self.filled[i + 1].next = self.filled[i].val()
                | (self.last[i].q.val().get_bit(14) & (self.count.q.val() == self.whole[i].val()));
            self.written[i].next = self.last[i].q.val();
        }
        for i in 0..7 {
            self.nearly[i + 1].next = self.nearly[i].val()
                | (self.last[i].q.val().get_bit(14) & (self.count.q.val() == self.whole[i + 1].val()));
        }
        self.written_full.next = self.filled[8].val();
        if self.mends.q.val() & self.mends_ce.q.val() {
            for i in 0..7 {
                if self.hit[i + 1].val() {
                    self.written[i].next = self.last[i + 1].q.val();
                }
            }
            if self.hit[8].val() {
                self.written[7].next = 0.into();
                self.written_full.next = false;
            }
        } else if self.mends.q.val() {
            if self.held[0].val() | !self.last[0].q.val().get_bit(14) {
                self.written[0].next = self.clean.val();
            }
            for i in 1..8 {
                if self.held[i].val()
                    | (!self.hit[8].val()
                        & !self.last[i].q.val().get_bit(14)
                        & self.last[i - 1].q.val().get_bit(14))
                {
                    self.written[i].next = self.clean.val();
                }
            }
            if !self.hit[8].val() & self.nearly[7].val() {
                self.written_full.next = true;
            }
        }
        // The first, used once more, is the last now, or gone. A PROBE takes it out.
        self.left.next = self.last[0].q.val().get_bits::<6>(8);
        self.none_below[0].next = true;
        self.less.next = 0.into();
        for i in 0..6 {
            self.none_below[i + 1].next = self.none_below[i].val() & !self.left.val().get_bit(i);
            self.less.next =
                self.less.val().replace_bit(i, self.left.val().get_bit(i) ^ self.none_below[i].val());
        }
        self.due[0].next = false;
        for i in 0..2 {
            self.due[i + 1].next = self.due[i].val() | (self.left.val() == self.asking[i].val());
        }
        self.spent.next = self.takes_out.q.val() | (self.left.val() == 1);
        self.kept.next = bit_cast::<17, 8>(self.last[0].q.val().get_bits::<8>(0))
            | (bit_cast::<17, 6>(self.less.val()) << 8)
            | (bit_cast::<17, 1>((!self.spent.val()).into()) << 14)
            | (bit_cast::<17, 1>(self.due[2].val().into()) << 16);
        if self.uses_first.q.val() {
            for i in 0..7 {
                if self.last[i + 1].q.val().get_bit(14) {
                    self.written[i].next = self.last[i + 1].q.val();
                } else if self.last[i].q.val().get_bit(14) {
                    self.written[i].next = self.kept.val();
                }
            }
            if self.last[7].q.val().get_bit(14) {
                self.written[7].next = self.kept.val();
            }
            if self.spent.val() {
                self.written_full.next = false;
            }
        }

        // What is in it.
        self.full.next = self.rings[0].read_data.val().get_bit(15);
        if self.older_valid.q.val() & (self.older_at.q.val() == self.at.q.val()) {
            self.full.next = self.older_full.q.val();
        }
        if self.last_valid.q.val() & (self.last_at.q.val() == self.at.q.val()) {
            self.full.next = self.written_full.val();
        }
        for i in 0..8 {
            self.rings[i].clock.next = self.clk.val();
            self.rings[i].read_address.next = self.place.val();
            self.old[i].next = self.rings[i].read_data.val();
            if self.older_valid.q.val() & (self.older_at.q.val() == self.at.q.val()) {
                self.old[i].next = self.older[i].q.val();
            }
            if self.last_valid.q.val() & (self.last_at.q.val() == self.at.q.val()) {
                self.old[i].next = self.written[i].val();
            }
            self.old[i].next = self.old[i].val() & self.word.val();
            self.live[i].next = self.old[i].val().get_bit(14) & !self.sweeping.q.val();
            self.held_low[i].clock.next = self.clk.val();
            self.held_low[i].d.next =
                self.old[i].val().get_bits::<3>(0) == self.waiting_ev.q.val().get_bits::<3>(0);
            self.held_mid[i].clock.next = self.clk.val();
            self.held_mid[i].d.next =
                self.old[i].val().get_bits::<3>(3) == self.waiting_ev.q.val().get_bits::<3>(3);
            self.held_high[i].clock.next = self.clk.val();
            self.held_high[i].d.next = self.live[i].val()
                & (self.old[i].val().get_bits::<2>(6) == self.waiting_ev.q.val().get_bits::<2>(6));
        }

        // A packet.
        self.data.next =
            (self.used_kind.q.val() != self.probe.val()) & (self.used_kind.q.val() != self.feedback.val());
        self.wanted.next = self.explores.val() & (self.used_kind.q.val() == 0) & !self.full.val();
        self.use_first.next = self.used.q.val() & self.on.val() & self.live[0].val() & !self.wanted.val();
        self.recycled.next = self.use_first.val();
        self.ev.next = self.old[0].val().get_bits::<8>(0);
        self.asks.next = self.used.q.val()
            & self.on.val()
            & self.data.val()
            & (!self.use_first.val() | self.old[0].val().get_bit(16));
        self.uses_first.d.next = self.use_first.val();
        self.takes_out.d.next = self.used_kind.q.val() == self.probe.val();
        self.mends.d.next = self.echoed.q.val() & !self.sweeping.q.val();
        self.mends_ce.d.next = self.waiting_ce.q.val();
        self.mends_ev.d.next = self.waiting_ev.q.val();
        self.writes.next = self.use_first.val() | self.echoed.q.val();
        self.last_at.d.next = self.at.q.val();
        self.last_valid.d.next = self.writes.val();
        if self.sweeping.q.val() {
            self.last_at.d.next = self.sweep_at.q.val();
            self.last_valid.d.next = true;
        }
        self.older_at.d.next = self.last_at.q.val();
        self.older_valid.d.next = self.last_valid.q.val();
        for i in 0..8 {
            self.last[i].clock.next = self.clk.val();
            self.last[i].d.next = self.old[i].val();
            if self.sweeping.q.val() {
                self.last[i].d.next = 0.into();
            }
            self.older[i].clock.next = self.clk.val();
            self.older[i].d.next = self.written[i].val();
            self.rings[i].write_enable.next = self.last_valid.q.val();
            self.rings[i].write_address.next = self.last_at.q.val();
            self.rings[i].write_data.next = self.written[i].val();
        }
        self.rings[0].write_data.next =
            self.written[0].val() | (bit_cast::<17, 1>(self.written_full.val().into()) << 15);
        self.older_full.d.next = self.written_full.val();

        // Emptying.
        self.enabled.d.next = self.settings.val().enable;
        self.base.d.next = self.settings.val().path_base;
        self.count.d.next = self.settings.val().path_count;
        if self.sweeping.q.val() {
            self.sweep_at.d.next = self.sweep_at.q.val() + 1;
            self.sweeping.d.next = self.sweep_at.q.val() != self.sweep_last.val();
        }
        if self.rst.val()
            | (self.settings.val().enable & !self.enabled.q.val())
            | (self.settings.val().path_base != self.base.q.val())
            | (self.settings.val().path_count != self.count.q.val())
        {
            self.sweeping.d.next = true;
            self.sweep_at.d.next = 0.into();
        }

        if self.rst.val() {
            self.used.d.next = false;
            self.waiting.d.next = false;
            self.echoed.d.next = false;
            self.last_valid.d.next = false;
            self.older_valid.d.next = false;
            self.enabled.d.next = false;
        }
    }
}
