//! Finds the message of a packet, and opens, refuses or repeats.
//!
//! ```text
//!  packet ─> hash ─> read 2 x 4 ways ─> compare ─> choose ─> act ──> work      to context
//!                          ^      ask ─> rq_fetch ─> answer ──┤ ├──> feedback  BUSY, ABORT, COMPLETE
//!                          └──────────── write entry ─────────┘ └──> events
//!  retire ─> bury: the entry becomes a tombstone, the number free
//!  sweep:    tombstones past their time are cleared, a set per step
//! ```
//!
//! One packet at a time: the next one is read after the last one's entry is
//! written, so two first packets of a message open once. Verdicts leave in the
//! order of the packets.
//!
//! Contract:
//! - a packet occupies the block for 4 clocks, one that opens or is refused for
//!   want of a receive for 5 (an answer 3 clocks after `ask_valid`); its outputs
//!   are offered 5 or 6 clocks after it was taken. An end takes 2, a sweep step
//!   4, at least one per 64 clocks and more while nothing else is to do;
//! - `work` has verdict 2 only for packets with a payload: nothing is to be
//!   dropped of others;
//! - after `bury` is taken, no packet taken later is found in the context; work
//!   words on their way still name it. `free` comes when none can be left. Every
//!   context is buried once, not before its opening word was taken, and then
//!   freed, in one `Retire` or two;
//! - RO-4: a context that is sent away (verdict 3, once) is held until it is
//!   buried; its tombstone then yields to the newer generation. Packets of
//!   either generation meanwhile: the same is found, newer ones are BUSY;
//! - reasons are judged in the order conflict, resources, receive, length;
//! - a tombstone lives at least `time_wait`, at most 256 ticks and one sweep of
//!   the table longer;
//! - the seed is taken when `enable` rises and nothing is remembered; packets
//!   wait for the 387 clocks of its expansion. With entries in the tables the
//!   old one stays: they could not be found under another;
//! - `ready` rises when the tables are cleared after reset, one set per clock.
//!
//! Verified by `testbenches/tests/lookup.rs`.

mod hash;
mod way;

pub use hash::LookupHash;
pub use way::{LookupHeld, LookupName, LookupWay};

use crate::prelude::*;
use crate::stream::Fifo;
use crate::types::{Receive, Retire, RxData, RxWork, Settings, TxFeedback};
use tessera_abi::params::Config;
use tessera_abi::status::Status;
use tessera_abi::wire::{fb, flag};

/// Where an entry is.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct LookupPlace {
    /// One bit per way.
    pub way: Bits<8>,
    pub set_at: Bits<13>,
}

#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
enum State {
    Idle,
    Read,
    Compare,
    Choose,
    Act,
    Bury,
    SweepRead,
    SweepCompare,
    SweepClear,
}

#[derive(LogicBlock)]
pub struct Lookup {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    /// `enable`, `seed` and `time_wait` are used.
    pub settings: Signal<In, Settings>,
    /// Ticks.
    pub now: Signal<In, Bits<32>>,
    pub packet_valid: Signal<In, Bit>,
    pub packet_data: Signal<In, RxData>,
    pub packet_ready: Signal<Out, Bit>,
    pub ask_valid: Signal<Out, Bit>,
    pub ask_endpoint: Signal<Out, Bits<8>>,
    pub answer_valid: Signal<In, Bit>,
    pub answer: Signal<In, Receive>,
    /// The receive last answered is taken.
    pub consume: Signal<Out, Bit>,
    /// Enough bitmap blocks are free for every opening on its way.
    pub block_available: Signal<In, Bit>,
    pub work_valid: Signal<Out, Bit>,
    pub work_data: Signal<Out, RxWork>,
    pub work_ready: Signal<In, Bit>,
    pub feedback_valid: Signal<Out, Bit>,
    pub feedback_data: Signal<Out, TxFeedback>,
    pub feedback_ready: Signal<In, Bit>,
    pub retire_valid: Signal<In, Bit>,
    pub retire_data: Signal<In, Retire>,
    pub retire_ready: Signal<Out, Bit>,
    /// Context numbers not given out.
    pub free_contexts: Signal<Out, Bits<13>>,
    pub tombstones: Signal<Out, Bits<17>>,
    /// Event pulses.
    pub stale: Signal<Out, Bit>,
    pub busy_receive: Signal<Out, Bit>,
    pub busy_resources: Signal<Out, Bit>,
    pub busy_conflict: Signal<Out, Bit>,
    pub no_context: Signal<Out, Bit>,
    pub finished: Signal<Out, Bit>,
    pub opened: Signal<Out, Bit>,
    /// The tables are empty and every context number is free.
    pub ready: Signal<Out, Bit>,

    hash: LookupHash,
    /// Four of table 0, then four of table 1.
    ways: [LookupWay; 8],
    /// Where a context's entry is.
    places: SdpRam<LookupPlace, 12>,
    /// Free context numbers.
    pool: Fifo<Bits<12>, 12>,

    state: Dff<State>,
    was_enabled: Dff<Bit>,
    want_key: Dff<Bit>,
    /// Set to clear next, then the number of sets.
    clear_at: Dff<Bits<14>>,
    /// Context number to free next, then their number.
    fill_at: Dff<Bits<13>>,
    cleared: Dff<Bit>,
    // The packet at hand.
    packet: Dff<RxData>,
    set0: Dff<Bits<13>>,
    set1: Dff<Bits<13>>,
    answered: Dff<Bit>,
    receive: Dff<Receive>,
    // Chosen: the entry found, and the place for a new one.
    /// One bit per way, as all places here.
    found: Dff<Bits<8>>,
    found_generation: Dff<Bits<20>>,
    found_held: Dff<LookupHeld>,
    vacancy: Dff<Bits<8>>,
    // Outputs.
    work: Dff<RxWork>,
    work_waits: Dff<Bit>,
    feedback: Dff<TxFeedback>,
    feedback_waits: Dff<Bit>,
    is_consume: Dff<Bit>,
    is_stale: Dff<Bit>,
    is_busy_receive: Dff<Bit>,
    is_busy_resources: Dff<Bit>,
    is_busy_conflict: Dff<Bit>,
    is_no_context: Dff<Bit>,
    is_finished: Dff<Bit>,
    is_opened: Dff<Bit>,
    // Ends and the sweep.
    retire: Dff<Retire>,
    retire_waits: Dff<Bit>,
    sweep_set: Dff<Bits<13>>,
    /// Clocks until a sweep step goes first.
    sweep_in: Dff<Bits<6>>,
    sweep_due: Dff<Bit>,
    /// Tombstones cleared in the last clock.
    swept: Dff<Bits<4>>,
    /// Contexts and tombstones.
    remembered: Dff<Bits<17>>,
    /// Tombstones.
    buried: Dff<Bits<17>>,
    free: Dff<Bits<13>>,

    in_act: Signal<Local, Bit>,
    in_bury: Signal<Local, Bit>,
    in_clear: Signal<Local, Bit>,
    sweeping: Signal<Local, Bit>,
    /// The next thing to do is chosen in this clock.
    pick: Signal<Local, Bit>,
    accept: Signal<Local, Bit>,
    /// The packet is decided in this clock.
    act: Signal<Local, Bit>,
    est: Signal<Local, Bit>,
    name: Signal<Local, LookupName>,
    hits: Signal<Local, Bits<8>>,
    vacant: Signal<Local, Bits<8>>,
    expired: Signal<Local, Bits<8>>,
    vacant0: Signal<Local, Bits<4>>,
    vacant1: Signal<Local, Bits<4>>,
    room0: Signal<Local, Bits<3>>,
    room1: Signal<Local, Bits<3>>,
    lowest0: Signal<Local, Bits<4>>,
    lowest1: Signal<Local, Bits<4>>,
    hit_generation: [Signal<Local, Bits<20>>; 9],
    hit_held: [Signal<Local, LookupHeld>; 9],
    is_found: Signal<Local, Bit>,
    same: Signal<Local, Bit>,
    newer: Signal<Local, Bit>,
    difference: Signal<Local, Bits<20>>,
    is_tombstone: Signal<Local, Bit>,
    replaces: Signal<Local, Bit>,
    /// RO-5, RO-6: nothing stands in the way yet.
    opens: Signal<Local, Bit>,
    place: Signal<Local, Bits<8>>,
    /// Remembered besides the tombstone to replace.
    others: Signal<Local, Bits<17>>,
    resources: Signal<Local, Bit>,
    /// Only the posted receive decides.
    asks: Signal<Local, Bit>,
    fits: Signal<Local, Bit>,
    do_open: Signal<Local, Bit>,
    /// A tombstone for a message longer than its receive.
    do_short: Signal<Local, Bit>,
    /// RO-4: the context found is sent away.
    do_away: Signal<Local, Bit>,
    give_work: Signal<Local, Bit>,
    verdict: Signal<Local, Bits<2>>,
    reply: Signal<Local, Bit>,
    reply_flags: Signal<Local, Bits<8>>,
    reply_status: Signal<Local, Bits<8>>,
    ce_flag: Signal<Local, Bits<8>>,
    reply_count: Signal<Local, Bits<24>>,
    write_hot: Signal<Local, Bits<8>>,
    write_held: Signal<Local, LookupHeld>,
    write_names: Signal<Local, Bit>,
    write_set0: Signal<Local, Bits<13>>,
    write_set1: Signal<Local, Bits<13>>,
    lives_to: Signal<Local, Bits<32>>,
    bury_set: Signal<Local, Bits<13>>,
    gone: [Signal<Local, Bits<4>>; 9],
    put: Signal<Local, Bit>,
    take: Signal<Local, Bit>,

    est_flag: Constant<Bits<8>>,
    complete: Constant<Bits<8>>,
    abort_flag: Constant<Bits<8>>,
    busy: Constant<Bits<8>>,
    ce: Constant<Bits<8>>,
    success: Constant<Bits<8>>,
    length: Constant<Bits<8>>,
    no_context_status: Constant<Bits<8>>,
    limit: Constant<Bits<17>>,
    sets: Constant<Bits<14>>,
    contexts: Constant<Bits<13>>,
}

impl Lookup {
    /// The tables, context numbers and limits of a configuration.
    ///
    /// # Panics
    /// When the configuration is larger than the words between blocks can name.
    pub fn new(config: &Config) -> Self {
        assert!(
            config.table_sets_log2 <= 13 && config.rx_contexts_log2 <= 12 && config.tombstones < 1 << 17,
            "lookup of 2^{} sets, 2^{} contexts, {} tombstones: at most 2^13, 2^12, 131071",
            config.table_sets_log2,
            config.rx_contexts_log2,
            config.tombstones
        );
        Self {
            clk: Default::default(),
            rst: Default::default(),
            settings: Default::default(),
            now: Default::default(),
            packet_valid: Default::default(),
            packet_data: Default::default(),
            packet_ready: Default::default(),
            ask_valid: Default::default(),
            ask_endpoint: Default::default(),
            answer_valid: Default::default(),
            answer: Default::default(),
            consume: Default::default(),
            block_available: Default::default(),
            work_valid: Default::default(),
            work_data: Default::default(),
            work_ready: Default::default(),
            feedback_valid: Default::default(),
            feedback_data: Default::default(),
            feedback_ready: Default::default(),
            retire_valid: Default::default(),
            retire_data: Default::default(),
            retire_ready: Default::default(),
            free_contexts: Default::default(),
            tombstones: Default::default(),
            stale: Default::default(),
            busy_receive: Default::default(),
            busy_resources: Default::default(),
            busy_conflict: Default::default(),
            no_context: Default::default(),
            finished: Default::default(),
            opened: Default::default(),
            ready: Default::default(),
            hash: LookupHash::new(),
            ways: std::array::from_fn(|_| LookupWay::new(config.table_sets_log2)),
            places: SdpRam::new(config.rx_contexts_log2),
            pool: Fifo::new(config.rx_contexts_log2),
            state: Default::default(),
            was_enabled: Default::default(),
            want_key: Default::default(),
            clear_at: Default::default(),
            fill_at: Default::default(),
            cleared: Default::default(),
            packet: Default::default(),
            set0: Default::default(),
            set1: Default::default(),
            answered: Default::default(),
            receive: Default::default(),
            found: Default::default(),
            found_generation: Default::default(),
            found_held: Default::default(),
            vacancy: Default::default(),
            work: Default::default(),
            work_waits: Default::default(),
            feedback: Default::default(),
            feedback_waits: Default::default(),
            is_consume: Default::default(),
            is_stale: Default::default(),
            is_busy_receive: Default::default(),
            is_busy_resources: Default::default(),
            is_busy_conflict: Default::default(),
            is_no_context: Default::default(),
            is_finished: Default::default(),
            is_opened: Default::default(),
            retire: Default::default(),
            retire_waits: Default::default(),
            sweep_set: Default::default(),
            sweep_in: Default::default(),
            sweep_due: Default::default(),
            swept: Default::default(),
            remembered: Default::default(),
            buried: Default::default(),
            free: Default::default(),
            in_act: Default::default(),
            in_bury: Default::default(),
            in_clear: Default::default(),
            sweeping: Default::default(),
            pick: Default::default(),
            accept: Default::default(),
            act: Default::default(),
            est: Default::default(),
            name: Default::default(),
            hits: Default::default(),
            vacant: Default::default(),
            expired: Default::default(),
            vacant0: Default::default(),
            vacant1: Default::default(),
            room0: Default::default(),
            room1: Default::default(),
            lowest0: Default::default(),
            lowest1: Default::default(),
            hit_generation: Default::default(),
            hit_held: Default::default(),
            is_found: Default::default(),
            same: Default::default(),
            newer: Default::default(),
            difference: Default::default(),
            is_tombstone: Default::default(),
            replaces: Default::default(),
            opens: Default::default(),
            place: Default::default(),
            others: Default::default(),
            resources: Default::default(),
            asks: Default::default(),
            fits: Default::default(),
            do_open: Default::default(),
            do_short: Default::default(),
            do_away: Default::default(),
            give_work: Default::default(),
            verdict: Default::default(),
            reply: Default::default(),
            reply_flags: Default::default(),
            reply_status: Default::default(),
            ce_flag: Default::default(),
            reply_count: Default::default(),
            write_hot: Default::default(),
            write_held: Default::default(),
            write_names: Default::default(),
            write_set0: Default::default(),
            write_set1: Default::default(),
            lives_to: Default::default(),
            bury_set: Default::default(),
            gone: Default::default(),
            put: Default::default(),
            take: Default::default(),
            est_flag: Constant::new((u64::from(flag::EST)).into()),
            complete: Constant::new((u64::from(fb::COMPLETE)).into()),
            abort_flag: Constant::new((u64::from(fb::ABORT)).into()),
            busy: Constant::new((u64::from(fb::BUSY)).into()),
            ce: Constant::new((u64::from(fb::CE)).into()),
            success: Constant::new((Status::Success as u64).into()),
            length: Constant::new((Status::Length as u64).into()),
            no_context_status: Constant::new((Status::NoContext as u64).into()),
            limit: Constant::new((config.tombstones as u64).into()),
            sets: Constant::new((1u64 << config.table_sets_log2).into()),
            contexts: Constant::new((1u64 << config.rx_contexts_log2).into()),
        }
    }
}

impl Logic for Lookup {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self,
            clk,
            state,
            was_enabled,
            want_key,
            clear_at,
            fill_at,
            cleared,
            packet,
            set0,
            set1,
            answered,
            receive,
            found,
            found_generation,
            found_held,
            vacancy,
            work,
            work_waits,
            feedback,
            feedback_waits,
            is_consume,
            is_stale,
            is_busy_receive,
            is_busy_resources,
            is_busy_conflict,
            is_no_context,
            is_finished,
            is_opened,
            retire,
            retire_waits,
            sweep_set,
            sweep_in,
            sweep_due,
            swept,
            remembered,
            buried,
            free
        );
        self.places.clock.next = self.clk.val();
        self.pool.clk.next = self.clk.val();
        self.pool.rst.next = self.rst.val();
        self.hash.clk.next = self.clk.val();
        self.hash.rst.next = self.rst.val();

        // What state we are in.
        self.in_act.next = self.state.q.val() == State::Act;
        self.in_bury.next = self.state.q.val() == State::Bury;
        self.in_clear.next = self.state.q.val() == State::SweepClear;
        self.sweeping.next = (self.state.q.val() == State::SweepRead)
            | (self.state.q.val() == State::SweepCompare)
            | self.in_clear.val();
        self.est.next = (self.packet.q.val().flags & self.est_flag.val()) != 0;
        self.ask_valid.next = (self.state.q.val() == State::Read) & !self.est.val();
        self.ask_endpoint.next = self.packet.q.val().endpoint;

        // The hash of the packet on offer.
        self.hash.seed.next = self.settings.val().seed;
        self.hash.gid.next = self.packet_data.val().src_gid;
        self.hash.endpoint.next = self.packet_data.val().src_endpoint;
        self.hash.slot.next = self.packet_data.val().slot;

        // Ways: the set of the packet, or of the sweep.
        for i in 0..4 {
            if self.sweeping.val() {
                self.ways[i].set_at.next = self.sweep_set.q.val();
            } else {
                self.ways[i].set_at.next = self.set0.q.val();
            }
        }
        for i in 4..8 {
            if self.sweeping.val() {
                self.ways[i].set_at.next = self.sweep_set.q.val();
            } else {
                self.ways[i].set_at.next = self.set1.q.val();
            }
        }
        self.name.next.gid = self.packet.q.val().src_gid;
        self.name.next.endpoint = self.packet.q.val().src_endpoint;
        self.name.next.slot = self.packet.q.val().slot;
        self.name.next.generation = self.packet.q.val().generation;
        self.hit_generation[0].next = 0.into();
        self.hit_held[0].next.state = 0.into();
        self.hit_held[0].next.value = 0.into();
        self.hit_held[0].next.status = 0.into();
        for i in 0..8 {
            self.ways[i].clk.next = self.clk.val();
            self.ways[i].present.next = self.now.val().get_bits::<24>(8);
            self.ways[i].key.next = self.name.val();
            // At most one way is hit.
            if self.ways[i].hit.val() {
                self.hit_generation[i + 1].next = self.ways[i].generation.val();
                self.hit_held[i + 1].next = self.ways[i].held.val();
            } else {
                self.hit_generation[i + 1].next = self.hit_generation[i].val();
                self.hit_held[i + 1].next = self.hit_held[i].val();
            }
        }
        self.hits.next = bit_cast::<8, 1>(self.ways[0].hit.val().into())
            | (bit_cast::<8, 1>(self.ways[1].hit.val().into()) << 1)
            | (bit_cast::<8, 1>(self.ways[2].hit.val().into()) << 2)
            | (bit_cast::<8, 1>(self.ways[3].hit.val().into()) << 3)
            | (bit_cast::<8, 1>(self.ways[4].hit.val().into()) << 4)
            | (bit_cast::<8, 1>(self.ways[5].hit.val().into()) << 5)
            | (bit_cast::<8, 1>(self.ways[6].hit.val().into()) << 6)
            | (bit_cast::<8, 1>(self.ways[7].hit.val().into()) << 7);
        self.vacant.next = bit_cast::<8, 1>(self.ways[0].vacant.val().into())
            | (bit_cast::<8, 1>(self.ways[1].vacant.val().into()) << 1)
            | (bit_cast::<8, 1>(self.ways[2].vacant.val().into()) << 2)
            | (bit_cast::<8, 1>(self.ways[3].vacant.val().into()) << 3)
            | (bit_cast::<8, 1>(self.ways[4].vacant.val().into()) << 4)
            | (bit_cast::<8, 1>(self.ways[5].vacant.val().into()) << 5)
            | (bit_cast::<8, 1>(self.ways[6].vacant.val().into()) << 6)
            | (bit_cast::<8, 1>(self.ways[7].vacant.val().into()) << 7);
        self.expired.next = bit_cast::<8, 1>(self.ways[0].expired.val().into())
            | (bit_cast::<8, 1>(self.ways[1].expired.val().into()) << 1)
            | (bit_cast::<8, 1>(self.ways[2].expired.val().into()) << 2)
            | (bit_cast::<8, 1>(self.ways[3].expired.val().into()) << 3)
            | (bit_cast::<8, 1>(self.ways[4].expired.val().into()) << 4)
            | (bit_cast::<8, 1>(self.ways[5].expired.val().into()) << 5)
            | (bit_cast::<8, 1>(self.ways[6].expired.val().into()) << 6)
            | (bit_cast::<8, 1>(self.ways[7].expired.val().into()) << 7);

        // Choose: the entry found, and the emptier set's lowest free way.
        self.vacant0.next = self.vacant.val().get_bits::<4>(0);
        self.vacant1.next = self.vacant.val().get_bits::<4>(4);
        self.room0.next = bit_cast::<3, 1>(self.vacant0.val().get_bits::<1>(0))
            + bit_cast::<3, 1>(self.vacant0.val().get_bits::<1>(1))
            + bit_cast::<3, 1>(self.vacant0.val().get_bits::<1>(2))
            + bit_cast::<3, 1>(self.vacant0.val().get_bits::<1>(3));
        self.room1.next = bit_cast::<3, 1>(self.vacant1.val().get_bits::<1>(0))
            + bit_cast::<3, 1>(self.vacant1.val().get_bits::<1>(1))
            + bit_cast::<3, 1>(self.vacant1.val().get_bits::<1>(2))
            + bit_cast::<3, 1>(self.vacant1.val().get_bits::<1>(3));
        self.lowest0.next = self.vacant0.val() & (!self.vacant0.val() + 1);
        self.lowest1.next = self.vacant1.val() & (!self.vacant1.val() + 1);
        if self.state.q.val() == State::Choose {
            self.found.d.next = self.hits.val();
            self.found_generation.d.next = self.hit_generation[8].val();
            self.found_held.d.next = self.hit_held[8].val();
            if self.room0.val() >= self.room1.val() {
                self.vacancy.d.next = bit_cast::<8, 4>(self.lowest0.val());
            } else {
                self.vacancy.d.next = bit_cast::<8, 4>(self.lowest1.val()) << 4;
            }
        }

        // The receive on offer.
        if self.answer_valid.val() {
            self.answered.d.next = true;
            self.receive.d.next = self.answer.val();
        }

        // Act: what the packet is.
        self.is_found.next = self.found.q.val().any();
        self.difference.next = self.packet.q.val().generation - self.found_generation.q.val();
        self.same.next = self.is_found.val() & (self.difference.val() == 0);
        self.newer.next =
            self.is_found.val() & (self.difference.val() != 0) & !self.difference.val().get_bit(19);
        self.is_tombstone.next = self.found_held.q.val().state == 2;
        self.replaces.next = self.newer.val() & self.is_tombstone.val();
        self.opens.next = (!self.is_found.val() | self.replaces.val()) & !self.est.val();
        if self.replaces.val() {
            self.place.next = self.found.q.val();
            self.others.next = self.remembered.q.val() - 1;
        } else {
            self.place.next = self.vacancy.q.val();
            self.others.next = self.remembered.q.val();
        }
        self.resources.next =
            self.pool.out_valid.val() & self.block_available.val() & (self.others.val() < self.limit.val());
        self.asks.next = self.opens.val() & self.place.val().any() & self.resources.val();
        self.fits.next = self.receive.q.val().length >= self.packet.q.val().length;
        self.act.next = self.in_act.val()
            & !self.work_waits.q.val()
            & !self.feedback_waits.q.val()
            & (self.answered.q.val() | !self.asks.val());

        self.do_open.next = false;
        self.do_short.next = false;
        self.do_away.next = false;
        self.give_work.next = false;
        self.verdict.next = 2.into();
        self.reply.next = false;
        self.reply_flags.next = self.busy.val();
        self.reply_status.next = 0.into();
        self.reply_count.next = 0.into();
        self.is_consume.d.next = false;
        self.is_stale.d.next = false;
        self.is_busy_receive.d.next = false;
        self.is_busy_resources.d.next = false;
        self.is_busy_conflict.d.next = false;
        self.is_no_context.d.next = false;
        self.is_finished.d.next = false;
        self.is_opened.d.next = false;
        if self.act.val() {
            self.give_work.next = self.packet.q.val().payload_len != 0;
            if self.same.val() {
                if self.is_tombstone.val() {
                    // RO-2
                    self.is_finished.d.next = true;
                    self.reply.next = true;
                    self.reply_status.next = self.found_held.q.val().status;
                    if self.found_held.q.val().status == self.success.val() {
                        self.reply_flags.next = self.complete.val();
                        self.reply_count.next = self.packet.q.val().count;
                    } else {
                        self.reply_flags.next = self.abort_flag.val();
                    }
                } else {
                    self.give_work.next = true;
                    self.verdict.next = 0.into();
                }
            } else {
                if self.is_found.val() & !self.newer.val() {
                    // RO-3
                    self.is_stale.d.next = true;
                } else {
                    self.reply.next = true;
                    if self.newer.val() & !self.is_tombstone.val() {
                        // RO-4
                        self.is_busy_resources.d.next = true;
                        if self.found_held.q.val().state == 1 {
                            self.do_away.next = true;
                            self.give_work.next = true;
                            self.verdict.next = 3.into();
                        }
                    } else {
                        if self.est.val() {
                            // RO-5
                            self.is_no_context.d.next = true;
                            self.reply_flags.next = self.abort_flag.val();
                            self.reply_status.next = self.no_context_status.val();
                        } else {
                            // RO-6
                            if !self.place.val().any() {
                                self.is_busy_conflict.d.next = true;
                            } else {
                                if !self.resources.val() {
                                    self.is_busy_resources.d.next = true;
                                } else {
                                    if !self.receive.q.val().available {
                                        self.is_busy_receive.d.next = true;
                                    } else {
                                        if self.fits.val() {
                                            self.do_open.next = true;
                                            self.is_opened.d.next = true;
                                            self.is_consume.d.next = true;
                                            self.reply.next = false;
                                            self.give_work.next = true;
                                            self.verdict.next = 1.into();
                                        } else {
                                            self.do_short.next = true;
                                            self.reply_flags.next = self.abort_flag.val();
                                            self.reply_status.next = self.length.val();
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }

        // Work.
        if self.work_ready.val() {
            self.work_waits.d.next = false;
        }
        if self.act.val() {
            self.work_waits.d.next = self.give_work.val();
            self.work.d.next.verdict = self.verdict.val();
            if self.do_open.val() {
                self.work.d.next.context = self.pool.out_data.val();
            } else {
                self.work.d.next.context = self.found_held.q.val().value.get_bits::<12>(0);
            }
            self.work.d.next.buffer = self.receive.q.val().address;
            self.work.d.next.entry = self.receive.q.val().entry;
            self.work.d.next.src_mac = self.packet.q.val().src_mac;
            self.work.d.next.src_gid = self.packet.q.val().src_gid;
            self.work.d.next.src_endpoint = self.packet.q.val().src_endpoint;
            self.work.d.next.endpoint = self.packet.q.val().endpoint;
            self.work.d.next.ce = self.packet.q.val().ce;
            self.work.d.next.probe = self.packet.q.val().probe;
            self.work.d.next.flags = self.packet.q.val().flags;
            self.work.d.next.ev = self.packet.q.val().ev;
            self.work.d.next.payload_log2 = self.packet.q.val().payload_log2;
            self.work.d.next.traffic_class = self.packet.q.val().traffic_class;
            self.work.d.next.slot = self.packet.q.val().slot;
            self.work.d.next.generation = self.packet.q.val().generation;
            self.work.d.next.index = self.packet.q.val().index;
            self.work.d.next.initial_window = self.packet.q.val().initial_window;
            self.work.d.next.length = self.packet.q.val().length;
            self.work.d.next.count = self.packet.q.val().count;
            self.work.d.next.tag = self.packet.q.val().tag;
            self.work.d.next.imm = self.packet.q.val().imm;
            self.work.d.next.rtt = self.packet.q.val().rtt;
            self.work.d.next.timestamp = self.packet.q.val().timestamp;
            self.work.d.next.arrival = self.packet.q.val().arrival;
            self.work.d.next.payload_len = self.packet.q.val().payload_len;
        }
        self.work_valid.next = self.work_waits.q.val();
        self.work_data.next = self.work.q.val();

        // RO-7
        if self.packet.q.val().ce {
            self.ce_flag.next = self.ce.val();
        } else {
            self.ce_flag.next = 0.into();
        }
        if self.feedback_ready.val() {
            self.feedback_waits.d.next = false;
        }
        if self.act.val() {
            self.feedback_waits.d.next = self.reply.val();
            self.feedback.d.next.dst_mac = self.packet.q.val().src_mac;
            self.feedback.d.next.dst_gid = self.packet.q.val().src_gid;
            self.feedback.d.next.dst_endpoint = self.packet.q.val().src_endpoint;
            self.feedback.d.next.endpoint = self.packet.q.val().endpoint;
            self.feedback.d.next.flags = self.reply_flags.val() | self.ce_flag.val();
            self.feedback.d.next.ev_echo = self.packet.q.val().ev;
            self.feedback.d.next.status = self.reply_status.val();
            self.feedback.d.next.slot = self.packet.q.val().slot;
            self.feedback.d.next.generation = self.packet.q.val().generation;
            self.feedback.d.next.cumulative = self.reply_count.val();
            self.feedback.d.next.sequence = 0.into();
            self.feedback.d.next.grant = self.reply_count.val();
            self.feedback.d.next.duplicates = 0.into();
            self.feedback.d.next.base = 0.into();
            self.feedback.d.next.limit = 0.into();
            self.feedback.d.next.sample = true;
            self.feedback.d.next.arrival = self.packet.q.val().arrival;
            self.feedback.d.next.echo = self.packet.q.val().timestamp;
            self.feedback.d.next.bitmap = 0.into();
        }
        self.feedback_valid.next = self.feedback_waits.q.val();
        self.feedback_data.next = self.feedback.q.val();
        self.consume.next = self.is_consume.q.val();
        self.stale.next = self.is_stale.q.val();
        self.busy_receive.next = self.is_busy_receive.q.val();
        self.busy_resources.next = self.is_busy_resources.q.val();
        self.busy_conflict.next = self.is_busy_conflict.q.val();
        self.no_context.next = self.is_no_context.q.val();
        self.finished.next = self.is_finished.q.val();
        self.opened.next = self.is_opened.q.val();

        // Entries: opened, sent away, too short; buried; swept; cleared.
        self.lives_to.next = self.now.val() + bit_cast::<32, 24>(self.settings.val().time_wait);
        self.places.read_address.next = self.retire.q.val().context;
        self.bury_set.next = self.places.read_data.val().set_at;
        self.write_set0.next = self.set0.q.val();
        self.write_set1.next = self.set1.q.val();
        self.write_hot.next = 0.into();
        self.write_names.next = self.do_open.val() | self.do_short.val();
        self.write_held.next.state = 2.into();
        self.write_held.next.value = self.lives_to.val().get_bits::<24>(8);
        self.write_held.next.status = self.length.val();
        if self.do_open.val() {
            self.write_hot.next = self.place.val();
            self.write_held.next.state = 1.into();
            self.write_held.next.value = bit_cast::<24, 12>(self.pool.out_data.val());
        }
        if self.do_short.val() {
            self.write_hot.next = self.place.val();
        }
        if self.do_away.val() {
            self.write_hot.next = self.found.q.val();
            self.write_held.next.state = 3.into();
            self.write_held.next.value = self.found_held.q.val().value;
        }
        if self.in_bury.val() & self.retire.q.val().bury {
            self.write_hot.next = self.places.read_data.val().way;
            self.write_held.next.status = self.retire.q.val().status;
        }
        if self.in_bury.val() {
            self.write_set0.next = self.bury_set.val();
            self.write_set1.next = self.bury_set.val();
        }
        if self.in_clear.val() {
            self.write_hot.next = self.expired.val();
            self.write_held.next.state = 0.into();
            self.write_set0.next = self.sweep_set.q.val();
            self.write_set1.next = self.sweep_set.q.val();
        }
        if !self.cleared.q.val() {
            self.write_hot.next = 0xff.into();
            self.write_held.next.state = 0.into();
            self.write_set0.next = self.clear_at.q.val().get_bits::<13>(0);
            self.write_set1.next = self.clear_at.q.val().get_bits::<13>(0);
        }
        for i in 0..4 {
            self.ways[i].write_set.next = self.write_set0.val();
        }
        for i in 4..8 {
            self.ways[i].write_set.next = self.write_set1.val();
        }
        for i in 0..8 {
            self.ways[i].write_held.next = self.write_hot.val().get_bit(i);
            self.ways[i].write_name.next = self.write_hot.val().get_bit(i) & self.write_names.val();
            self.ways[i].new_held.next = self.write_held.val();
        }
        self.places.write_enable.next = self.do_open.val();
        self.places.write_address.next = self.pool.out_data.val();
        self.places.write_data.next.way = self.place.val();
        if self.place.val().get_bits::<4>(0).any() {
            self.places.write_data.next.set_at = self.set0.q.val();
        } else {
            self.places.write_data.next.set_at = self.set1.q.val();
        }

        // Ends.
        if !self.retire_waits.q.val() {
            self.retire.d.next = self.retire_data.val();
            self.retire_waits.d.next = self.retire_valid.val() & self.cleared.q.val();
        }
        if self.in_bury.val() {
            self.retire_waits.d.next = false;
        }
        self.retire_ready.next = !self.retire_waits.q.val() & self.cleared.q.val();

        // Context numbers.
        if self.cleared.q.val() {
            self.pool.in_valid.next = self.in_bury.val() & self.retire.q.val().free;
            self.pool.in_data.next = self.retire.q.val().context;
        } else {
            self.pool.in_valid.next = self.fill_at.q.val() != self.contexts.val();
            self.pool.in_data.next = self.fill_at.q.val().get_bits::<12>(0);
        }
        self.put.next = self.pool.in_valid.val() & self.pool.in_ready.val();
        self.pool.out_ready.next = self.do_open.val();
        self.take.next = self.pool.out_valid.val() & self.do_open.val();
        if self.put.val() & !self.take.val() {
            self.free.d.next = self.free.q.val() + 1;
        }
        if !self.put.val() & self.take.val() {
            self.free.d.next = self.free.q.val() - 1;
        }
        self.free_contexts.next = self.free.q.val();

        // Counts. A sweep step, a packet and an end are never in one clock.
        self.gone[0].next = 0.into();
        for i in 0..8 {
            if self.expired.val().get_bit(i) {
                self.gone[i + 1].next = self.gone[i].val() + 1;
            } else {
                self.gone[i + 1].next = self.gone[i].val();
            }
        }
        self.swept.d.next = 0.into();
        if self.in_clear.val() {
            self.swept.d.next = self.gone[8].val();
        }
        if self.swept.q.val() != 0 {
            self.remembered.d.next = self.remembered.q.val() - bit_cast::<17, 4>(self.swept.q.val());
            self.buried.d.next = self.buried.q.val() - bit_cast::<17, 4>(self.swept.q.val());
        } else {
            if (self.do_open.val() | self.do_short.val()) & !self.replaces.val() {
                self.remembered.d.next = self.remembered.q.val() + 1;
            }
            if (self.do_short.val() & !self.replaces.val()) | (self.in_bury.val() & self.retire.q.val().bury)
            {
                self.buried.d.next = self.buried.q.val() + 1;
            }
            if self.do_open.val() & self.replaces.val() {
                self.buried.d.next = self.buried.q.val() - 1;
            }
        }
        self.tombstones.next = self.buried.q.val();

        // What comes next.
        self.pick.next = self.cleared.q.val() & ((self.state.q.val() == State::Idle) | self.act.val());
        self.was_enabled.d.next = self.settings.val().enable;
        if self.settings.val().enable & !self.was_enabled.q.val() {
            self.want_key.d.next = true;
        }
        self.hash.load.next = false;
        self.packet_ready.next = self.pick.val()
            & self.hash.keyed.val()
            & !self.want_key.q.val()
            & !self.retire_waits.q.val()
            & !self.sweep_due.q.val();
        self.accept.next = self.packet_ready.val() & self.packet_valid.val();
        self.sweep_in.d.next = self.sweep_in.q.val() - 1;
        if self.sweep_in.q.val() == 0 {
            self.sweep_due.d.next = true;
        }
        match self.state.q.val() {
            State::Idle => {}
            State::Read => {
                self.state.d.next = State::Compare;
            }
            State::Compare => {
                self.state.d.next = State::Choose;
            }
            State::Choose => {
                self.state.d.next = State::Act;
            }
            State::Act => {}
            State::Bury => {
                self.state.d.next = State::Idle;
            }
            State::SweepRead => {
                self.state.d.next = State::SweepCompare;
            }
            State::SweepCompare => {
                self.state.d.next = State::SweepClear;
            }
            State::SweepClear => {
                self.sweep_set.d.next = self.sweep_set.q.val() + 1;
                self.state.d.next = State::Idle;
            }
            _ => {
                self.state.d.next = State::Idle;
            }
        }
        if self.pick.val() {
            self.state.d.next = State::Idle;
            if self.retire_waits.q.val() {
                self.state.d.next = State::Bury;
            } else {
                if self.sweep_due.q.val() {
                    self.state.d.next = State::SweepRead;
                    self.sweep_due.d.next = false;
                } else {
                    if self.want_key.q.val() {
                        self.want_key.d.next = false;
                        self.hash.load.next = self.remembered.q.val() == 0;
                    } else {
                        if self.accept.val() {
                            self.state.d.next = State::Read;
                            self.answered.d.next = false;
                        } else {
                            self.state.d.next = State::SweepRead;
                        }
                    }
                }
            }
        }
        if self.accept.val() {
            self.packet.d.next = self.packet_data.val();
            self.set0.d.next = self.hash.hash0.val();
            self.set1.d.next = self.hash.hash1.val();
        }

        if self.clear_at.q.val() != self.sets.val() {
            self.clear_at.d.next = self.clear_at.q.val() + 1;
        }
        if self.put.val() & !self.cleared.q.val() {
            self.fill_at.d.next = self.fill_at.q.val() + 1;
        }
        if (self.clear_at.q.val() == self.sets.val()) & (self.fill_at.q.val() == self.contexts.val()) {
            self.cleared.d.next = true;
        }
        self.ready.next = self.cleared.q.val();

        if self.rst.val() {
            self.state.d.next = State::Idle;
            self.was_enabled.d.next = false;
            self.want_key.d.next = false;
            self.clear_at.d.next = 0.into();
            self.fill_at.d.next = 0.into();
            self.cleared.d.next = false;
            self.answered.d.next = false;
            self.work_waits.d.next = false;
            self.feedback_waits.d.next = false;
            self.is_consume.d.next = false;
            self.retire_waits.d.next = false;
            self.sweep_set.d.next = 0.into();
            self.sweep_in.d.next = 0.into();
            self.sweep_due.d.next = false;
            self.swept.d.next = 0.into();
            self.remembered.d.next = 0.into();
            self.buried.d.next = 0.into();
            self.free.d.next = 0.into();
        }
    }
}
