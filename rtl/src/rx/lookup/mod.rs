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
//! - a packet occupies the block for 4 clocks, with an answer at most 3 clocks
//!   after `ask_valid`; its outputs are offered 5 clocks after it was taken. An
//!   end takes none: it is written while a packet is looked up, which is read
//!   once more (4 clocks) if the end is in one of its sets. A sweep step takes none
//!   behind a packet: it reads in the two clocks in which the packet is judged and
//!   clears in the next, and the next packet is read once more if it was in the
//!   same set. Steps of 4 clocks come besides while nothing else is to do, and give
//!   way to a packet; at least one per 64 clocks does not;
//! - `work` has verdict 2 only for packets with a payload, nothing is to be
//!   dropped of others, and for writes that are not permitted, to be counted.
//!   With `ud` the payload is not dropped but a datagram's, to be placed in the
//!   receive (UD-3), which no context has a part in;
//! - after `bury` is taken, no packet taken later is found in the context; work
//!   words on their way still name it. `free` comes when none can be left. Every
//!   context is buried once, not before its opening word was taken, and then
//!   freed, in one `Retire` or two;
//! - RO-4: a context that is sent away (verdict 3, once) is held until it is
//!   buried; its tombstone then yields to the newer generation. Packets of
//!   either generation meanwhile: the same is found, newer ones are BUSY;
//! - an endpoint with TAGS asks the match table too, which takes two clocks more
//!   when the answer is needed, and more while the table is at something else;
//! - a receive that is posted and on its way is waited for at most 512 clocks, by
//!   asking for it again every 4 clocks. While a packet stands behind, each ask is
//!   taken from a budget of 63, which grows by one in 16 clocks: so waits cost the
//!   others a quarter of the clocks and 252 more at most, whoever's they are (RO-13);
//! - reasons are judged in the order conflict, resources, quota, access, receive, length;
//! - an endpoint's contexts are counted from opening until their number is free;
//! - a tombstone lives at least `time_wait`, or `mpl` from its RELEASE on, at most
//!   256 ticks and one sweep of the table longer;
//! - RL-2: a RELEASE takes its place in the order of packets. Its context is sent
//!   away as by a newer generation, but for the answer; if that ends as
//!   `released`, the tombstone lives `mpl`;
//! - while an endpoint is reclaimed every second step of the sweep looks at a
//!   context instead, in turn, and sends it away if it is open and the endpoint's
//!   (verdict 3); such a step gives way to no packet;
//! - `low` follows a change of what is remembered by two clocks;
//! - the seed is taken when `enable` rises and nothing is remembered; packets
//!   wait for the 387 clocks of its expansion. With entries in the tables the
//!   old one stays: they could not be found under another;
//! - `ready` rises when the tables are cleared after reset, one set per clock.
//!
//! Verified by `testbenches/tests/lookup/`.

mod ends;
mod hash;
mod judge;
mod numbers;
mod reply;
mod tables;
mod tally;
mod tenants;
mod way;

pub use ends::LookupEnds;
pub use hash::LookupHash;
pub use judge::LookupJudge;
pub use numbers::LookupNumbers;
pub use reply::LookupReply;
pub use tables::LookupTables;
pub use tally::LookupTally;
pub use tenants::{LookupTenant, LookupTenants};
pub use way::{LookupHeld, LookupName, LookupWay};

use crate::prelude::*;
use crate::types::{Receive, Reclaim, Retire, RxData, RxWork, Settings, TableWrite, TxFeedback};
use tessera_abi::params::Config;
use tessera_abi::status::Status;
use tessera_abi::wire::flag;

/// Where an entry is.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct LookupPlace {
    /// One bit per way.
    pub way: Bits<8>,
    pub set_at: Bits<13>,
    /// Whose context it is.
    pub endpoint: Bits<8>,
}

#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
enum State {
    Idle,
    Read,
    /// An end came in between: what was read is too old.
    ReadAgain,
    Compare,
    Choose,
    Act,
    SweepRead,
    SweepCompare,
    SweepClear,
    // A context is looked at for an endpoint that is reclaimed.
    ReclaimPlace,
    ReclaimTake,
    ReclaimRead,
    ReclaimAct,
}

#[derive(LogicBlock)]
pub struct Lookup {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    /// `enable`, `seed`, `time_wait`, `mpl` and `release_low` are used.
    pub settings: Signal<In, Settings>,
    /// Ticks.
    pub now: Signal<In, Bits<32>>,
    pub table_write: Signal<In, TableWrite>,
    /// Its contexts are aborted.
    pub reclaim: Signal<In, Reclaim>,
    /// It holds context numbers, three clocks late at most.
    pub contexts_left: Signal<Out, Bit>,
    pub packet_valid: Signal<In, Bit>,
    pub packet_data: Signal<In, RxData>,
    pub packet_ready: Signal<Out, Bit>,
    pub ask_valid: Signal<Out, Bit>,
    /// Whose receive ring: the packet's endpoint's own or the one it shares.
    pub ask_ring: Signal<Out, Bits<8>>,
    pub answer_valid: Signal<In, Bit>,
    pub answer: Signal<In, Receive>,
    /// The receive last answered is taken.
    pub consume: Signal<Out, Bit>,
    /// To the match table: held until `match_settle`; see there.
    pub match_ask: Signal<Out, Bit>,
    pub match_endpoint: Signal<Out, Bits<8>>,
    pub match_tag: Signal<Out, Bits<64>>,
    pub match_known: Signal<In, Bit>,
    pub match_answer: Signal<In, Receive>,
    pub match_settle: Signal<Out, Bit>,
    pub match_take: Signal<Out, Bit>,
    pub match_unexpected: Signal<Out, Bit>,
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
    /// COMPLETE is to ask for a RELEASE (RL-3).
    pub low: Signal<Out, Bit>,
    /// A packet was judged; an end was written. Never both.
    pub judged: Signal<Out, Bit>,
    pub buried: Signal<Out, Bit>,
    /// Event pulses.
    pub stale: Signal<Out, Bit>,
    pub busy_receive: Signal<Out, Bit>,
    pub busy_resources: Signal<Out, Bit>,
    pub busy_conflict: Signal<Out, Bit>,
    pub busy_quota: Signal<Out, Bit>,
    pub no_context: Signal<Out, Bit>,
    pub finished: Signal<Out, Bit>,
    pub opened: Signal<Out, Bit>,
    pub ud_receive: Signal<Out, Bit>,
    /// The tables are empty and every context number is free.
    pub ready: Signal<Out, Bit>,

    hash: LookupHash,
    tables: LookupTables,
    ends: LookupEnds,
    tally: LookupTally,
    tenants: LookupTenants,
    numbers: LookupNumbers,
    judge: LookupJudge,
    reply: LookupReply,

    state: Dff<State>,
    was_enabled: Dff<Bit>,
    want_key: Dff<Bit>,
    /// Set to clear next, then the number of sets.
    clear_at: Dff<Bits<14>>,
    cleared: Dff<Bit>,
    // The packet at hand.
    packet: Dff<RxData>,
    set0: Dff<Bits<13>>,
    set1: Dff<Bits<13>>,
    answered: Dff<Bit>,
    receive: Dff<Receive>,
    // Pulses.
    is_consume: Dff<Bit>,
    is_settle: Dff<Bit>,
    is_take: Dff<Bit>,
    is_unexpected: Dff<Bit>,
    is_stale: Dff<Bit>,
    is_busy_receive: Dff<Bit>,
    is_busy_resources: Dff<Bit>,
    is_busy_conflict: Dff<Bit>,
    is_busy_quota: Dff<Bit>,
    is_no_context: Dff<Bit>,
    is_finished: Dff<Bit>,
    is_opened: Dff<Bit>,
    is_ud_receive: Dff<Bit>,
    // Ends and the sweep.
    disturbed: Dff<Bit>,
    /// How often the packet's receive may still be asked for.
    tries: Dff<Bits<7>>,
    /// How often while another packet stands behind, whichever packet waits.
    budget: Dff<Bits<6>>,
    /// One stood behind in the last clock.
    pressed: Dff<Bit>,
    sweep_set: Dff<Bits<13>>,
    /// Clocks until a sweep step goes first.
    sweep_in: Dff<Bits<6>>,
    sweep_due: Dff<Bit>,
    /// The step at hand was due.
    sweep_first: Dff<Bit>,
    /// A set was read behind the packet judged in the last clock.
    behind: Dff<Bit>,
    has_judged: Dff<Bit>,
    has_buried: Dff<Bit>,
    is_low: Dff<Bit>,
    // The context to look at next, where it was opened, and whose turn it is.
    reclaim_at: Dff<Bits<12>>,
    reclaim_place: Dff<LookupPlace>,
    reclaim_turn: Dff<Bit>,

    in_act: Signal<Local, Bit>,
    /// A packet is at hand.
    looking: Signal<Local, Bit>,
    /// It is to be matched by its tag.
    by_tag: Signal<Local, Bit>,
    /// A tagged receive matches the packet.
    is_match: Signal<Local, Bit>,
    /// The match table has not answered yet.
    unmatched: Signal<Local, Bit>,
    /// An end is written in this clock, and into the packet's sets.
    buries: Signal<Local, Bit>,
    disturbs: Signal<Local, Bit>,
    /// The sweep step goes on without being seen out.
    yields: Signal<Local, Bit>,
    /// The receive the packet needs is on its way.
    awaits: Signal<Local, Bit>,
    /// It may be waited for at the others' expense a little longer.
    earns: Signal<Local, Bit>,
    spends: Signal<Local, Bit>,
    /// So it is asked for again.
    retries: Signal<Local, Bit>,
    posted: Signal<Local, Receive>,
    /// The step of a sweep for which nothing else is done; of any.
    in_clear: Signal<Local, Bit>,
    clears: Signal<Local, Bit>,
    /// What is cleared now is in a set of the packet at hand.
    clears_here: Signal<Local, Bit>,
    /// The entry of the context to look at is read, is there.
    reclaim_reads: Signal<Local, Bit>,
    reclaim_acts: Signal<Local, Bit>,
    /// It is an open context of the endpoint; and is sent away in this clock.
    reclaimable: Signal<Local, Bit>,
    reclaims: Signal<Local, Bit>,
    sweeping: Signal<Local, Bit>,
    /// The next thing to do is chosen in this clock.
    pick: Signal<Local, Bit>,
    accept: Signal<Local, Bit>,
    /// The packet is decided in this clock.
    act: Signal<Local, Bit>,
    place: Signal<Local, Bits<8>>,
    write_hot: Signal<Local, Bits<8>>,
    write_held: Signal<Local, LookupHeld>,
    write_set0: Signal<Local, Bits<13>>,
    write_set1: Signal<Local, Bits<13>>,
    lives_to: Signal<Local, Bits<32>>,
    /// The same of one whose message was released.
    released_to: Signal<Local, Bits<32>>,
    sooner: Signal<Local, Bits<24>>,
    places_left: Signal<Local, Bits<17>>,
    too_few: Signal<Local, Bits<17>>,
    bury_set: Signal<Local, Bits<13>>,

    est_flag: Constant<Bits<8>>,
    write_flag: Constant<Bits<8>>,
    sets: Constant<Bits<14>>,
    limit: Constant<Bits<17>>,
    released: Constant<Bits<8>>,
    /// Bits of a hash that choose the set.
    set_bits: Constant<Bits<13>>,
    last_context: Constant<Bits<12>>,
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
            table_write: Default::default(),
            reclaim: Default::default(),
            contexts_left: Default::default(),
            packet_valid: Default::default(),
            packet_data: Default::default(),
            packet_ready: Default::default(),
            ask_valid: Default::default(),
            ask_ring: Default::default(),
            answer_valid: Default::default(),
            answer: Default::default(),
            consume: Default::default(),
            match_ask: Default::default(),
            match_endpoint: Default::default(),
            match_tag: Default::default(),
            match_known: Default::default(),
            match_answer: Default::default(),
            match_settle: Default::default(),
            match_take: Default::default(),
            match_unexpected: Default::default(),
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
            low: Default::default(),
            judged: Default::default(),
            buried: Default::default(),
            stale: Default::default(),
            busy_receive: Default::default(),
            busy_resources: Default::default(),
            busy_conflict: Default::default(),
            busy_quota: Default::default(),
            no_context: Default::default(),
            finished: Default::default(),
            opened: Default::default(),
            ud_receive: Default::default(),
            ready: Default::default(),
            hash: LookupHash::new(),
            tables: LookupTables::new(config.table_sets_log2),
            ends: LookupEnds::new(config.rx_contexts_log2),
            tally: LookupTally::new(),
            tenants: LookupTenants::new(config),
            numbers: LookupNumbers::new(config.rx_contexts_log2),
            judge: LookupJudge::new(config),
            reply: LookupReply::new(),
            state: Default::default(),
            was_enabled: Default::default(),
            want_key: Default::default(),
            clear_at: Default::default(),
            cleared: Default::default(),
            packet: Default::default(),
            set0: Default::default(),
            set1: Default::default(),
            answered: Default::default(),
            receive: Default::default(),
            is_consume: Default::default(),
            is_settle: Default::default(),
            is_take: Default::default(),
            is_unexpected: Default::default(),
            is_stale: Default::default(),
            is_busy_receive: Default::default(),
            is_busy_resources: Default::default(),
            is_busy_conflict: Default::default(),
            is_busy_quota: Default::default(),
            is_no_context: Default::default(),
            is_finished: Default::default(),
            is_opened: Default::default(),
            is_ud_receive: Default::default(),
            disturbed: Default::default(),
            tries: Default::default(),
            budget: Default::default(),
            pressed: Default::default(),
            sweep_set: Default::default(),
            sweep_in: Default::default(),
            sweep_due: Default::default(),
            sweep_first: Default::default(),
            behind: Default::default(),
            has_judged: Default::default(),
            has_buried: Default::default(),
            is_low: Default::default(),
            reclaim_at: Default::default(),
            reclaim_place: Default::default(),
            reclaim_turn: Default::default(),
            in_act: Default::default(),
            looking: Default::default(),
            by_tag: Default::default(),
            is_match: Default::default(),
            unmatched: Default::default(),
            buries: Default::default(),
            disturbs: Default::default(),
            yields: Default::default(),
            awaits: Default::default(),
            earns: Default::default(),
            spends: Default::default(),
            retries: Default::default(),
            posted: Default::default(),
            in_clear: Default::default(),
            clears: Default::default(),
            clears_here: Default::default(),
            reclaim_reads: Default::default(),
            reclaim_acts: Default::default(),
            reclaimable: Default::default(),
            reclaims: Default::default(),
            sweeping: Default::default(),
            pick: Default::default(),
            accept: Default::default(),
            act: Default::default(),
            place: Default::default(),
            write_hot: Default::default(),
            write_held: Default::default(),
            write_set0: Default::default(),
            write_set1: Default::default(),
            lives_to: Default::default(),
            released_to: Default::default(),
            sooner: Default::default(),
            places_left: Default::default(),
            too_few: Default::default(),
            bury_set: Default::default(),
            est_flag: Constant::new((u64::from(flag::EST)).into()),
            write_flag: Constant::new((u64::from(flag::WRITE)).into()),
            sets: Constant::new((1u64 << config.table_sets_log2).into()),
            limit: Constant::new((config.tombstones as u64).into()),
            released: Constant::new((Status::Released as u64).into()),
            set_bits: Constant::new(((1u64 << config.table_sets_log2) - 1).into()),
            last_context: Constant::new(((1u64 << config.rx_contexts_log2) - 1).into()),
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
            cleared,
            packet,
            set0,
            set1,
            answered,
            receive,
            is_consume,
            is_settle,
            is_take,
            is_unexpected,
            is_stale,
            is_busy_receive,
            is_busy_resources,
            is_busy_conflict,
            is_busy_quota,
            is_no_context,
            is_finished,
            is_opened,
            is_ud_receive,
            disturbed,
            tries,
            budget,
            pressed,
            sweep_set,
            sweep_in,
            sweep_due,
            sweep_first,
            behind,
            has_judged,
            has_buried,
            is_low,
            reclaim_at,
            reclaim_place,
            reclaim_turn
        );
        self.ends.clk.next = self.clk.val();
        self.ends.rst.next = self.rst.val();
        self.tally.clk.next = self.clk.val();
        self.tally.rst.next = self.rst.val();
        self.tenants.clk.next = self.clk.val();
        self.tenants.rst.next = self.rst.val();
        self.numbers.clk.next = self.clk.val();
        self.numbers.rst.next = self.rst.val();
        self.reply.clk.next = self.clk.val();
        self.reply.rst.next = self.rst.val();
        self.hash.clk.next = self.clk.val();
        self.hash.rst.next = self.rst.val();

        // What state we are in.
        self.in_act.next = self.state.q.val() == State::Act;
        self.in_clear.next = self.state.q.val() == State::SweepClear;
        self.sweeping.next = (self.state.q.val() == State::SweepRead)
            | (self.state.q.val() == State::SweepCompare)
            | self.in_clear.val();
        self.ask_valid.next =
            (self.state.q.val() == State::Read) & ((self.packet.q.val().flags & self.est_flag.val()) == 0);
        self.ask_ring.next = self.tenants.ring.val();
        self.looking.next = (self.state.q.val() == State::Read)
            | (self.state.q.val() == State::ReadAgain)
            | (self.state.q.val() == State::Compare)
            | (self.state.q.val() == State::Choose)
            | self.in_act.val();
        // The tag of a write is an address; a datagram and a RELEASE have none.
        self.by_tag.next = self.tenants.tags.val()
            & !self.packet.q.val().ud
            & !self.packet.q.val().release
            & ((self.packet.q.val().flags & self.write_flag.val()) == 0);
        self.match_ask.next =
            self.looking.val() & self.by_tag.val() & ((self.packet.q.val().flags & self.est_flag.val()) == 0);
        self.match_endpoint.next = self.packet.q.val().endpoint;
        self.match_tag.next = self.packet.q.val().tag;

        // The hash of the packet on offer.
        self.hash.seed.next = self.settings.val().seed;
        self.hash.gid.next = self.packet_data.val().src_gid;
        self.hash.endpoint.next = self.packet_data.val().src_endpoint;
        self.hash.slot.next = self.packet_data.val().slot;

        // The tables: the sets of the packet, or of the sweep, which comes once
        // what was read for the packet has been compared.
        self.clears.next = self.in_clear.val() | self.behind.q.val();
        if self.sweeping.val() | (self.state.q.val() == State::Choose) | self.in_act.val() {
            self.tables.set0.next = self.sweep_set.q.val();
            self.tables.set1.next = self.sweep_set.q.val();
        } else {
            self.tables.set0.next = self.set0.q.val();
            self.tables.set1.next = self.set1.q.val();
        }
        self.reclaim_acts.next = self.state.q.val() == State::ReclaimAct;
        self.reclaim_reads.next = (self.state.q.val() == State::ReclaimRead) | self.reclaim_acts.val();
        if self.reclaim_reads.val() {
            self.tables.set0.next = self.reclaim_place.q.val().set_at;
            self.tables.set1.next = self.reclaim_place.q.val().set_at;
        }
        self.tables.way.next = self.reclaim_place.q.val().way;
        self.ends.look_at.next = self.reclaim_at.q.val();
        self.reclaimable.next = self.reclaim_acts.val()
            & self.reclaim.val().active
            & (self.tables.way_held.val().state == 1)
            & (self.tables.way_held.val().value.get_bits::<12>(0) == self.reclaim_at.q.val())
            & (self.reclaim_place.q.val().endpoint == self.reclaim.val().endpoint);
        self.reclaims.next = self.reclaimable.val() & self.reply.free.val();
        self.tables.clk.next = self.clk.val();
        self.tables.present.next = self.now.val().get_bits::<24>(8);
        self.tables.choose.next = self.state.q.val() == State::Choose;
        self.tables.key.next.gid = self.packet.q.val().src_gid;
        self.tables.key.next.endpoint = self.packet.q.val().src_endpoint;
        self.tables.key.next.slot = self.packet.q.val().slot;
        self.tables.key.next.generation = self.packet.q.val().generation;

        // The receive on offer.
        if self.answer_valid.val() {
            self.answered.d.next = true;
            self.receive.d.next = self.answer.val();
        }

        self.posted.next = self.receive.q.val();
        if self.answer_valid.val() {
            self.posted.next = self.answer.val();
        }

        // A tagged receive comes before those of the ring.
        self.unmatched.next = self.by_tag.val() & !self.match_known.val();
        self.is_match.next = self.by_tag.val() & self.match_known.val() & self.match_answer.val().available;
        if self.is_match.val() {
            self.posted.next = self.match_answer.val();
        }

        // Act.
        self.awaits.next = self.judge.asks.val()
            & !self.posted.val().available
            & !self.unmatched.val()
            & self.posted.val().coming
            & (self.tries.q.val() != 0)
            & (!self.pressed.q.val() | (self.budget.q.val() != 0));
        self.retries.next = self.in_act.val()
            & !self.disturbed.q.val()
            & self.awaits.val()
            & (self.answered.q.val() | self.answer_valid.val());
        self.act.next = self.in_act.val()
            & !self.disturbed.q.val()
            & !self.awaits.val()
            & self.reply.free.val()
            & (((self.answered.q.val() | self.answer_valid.val()) & !self.unmatched.val())
                | !self.judge.asks.val());
        // One try of 4 clocks in 16, and the turns of the sweep tell the time.
        self.pressed.d.next = self.packet_valid.val();
        self.earns.next = (self.sweep_in.q.val().get_bits::<4>(0) == 0) & !self.budget.q.val().all();
        self.spends.next = self.retries.val() & self.pressed.q.val();
        if self.earns.val() & !self.spends.val() {
            self.budget.d.next = self.budget.q.val() + 1;
        }
        if self.spends.val() & !self.earns.val() {
            self.budget.d.next = self.budget.q.val() - 1;
        }
        self.judge.act.next = self.act.val();
        self.judge.packet.next = self.packet.q.val();
        self.judge.found.next = self.tables.found.val().any();
        self.judge.generation.next = self.tables.found_generation.val();
        self.judge.held.next = self.tables.found_held.val();
        self.judge.vacancy.next = self.tables.vacancy.val().any();
        self.judge.context_available.next = self.numbers.available.val();
        self.judge.block_available.next = self.block_available.val();
        self.judge.remembered.next = self.tally.remembered.val();
        self.judge.used_up.next = self.tenants.used_up.val();
        self.judge.low.next = self.is_low.q.val();
        self.judge.receive.next = self.posted.val();
        self.numbers.take.next = self.judge.open.val();
        if self.judge.replaces.val() {
            self.place.next = self.tables.found.val();
        } else {
            self.place.next = self.tables.vacancy.val();
        }
        self.reply.act.next = self.act.val() | self.reclaims.val();
        self.reply.destroyed.next = self.reclaims.val();
        self.reply.packet.next = self.packet.q.val();
        self.reply.receive.next = self.posted.val();
        self.reply.host.next = self.judge.host.val();
        self.reply.own.next = self.is_match.val();
        self.reply.work.next = self.judge.work.val() | self.reclaims.val();
        self.reply.verdict.next = self.judge.verdict.val();
        if self.reclaims.val() {
            self.reply.verdict.next = 3.into();
        }
        self.reply.deliver.next = self.judge.deliver.val();
        self.reply.replies.next = self.judge.replies.val();
        self.reply.flags.next = self.judge.flags.val();
        self.reply.status.next = self.judge.status.val();
        self.reply.all.next = self.judge.all.val();
        self.reply.denied.next = self.judge.denied.val();
        if self.judge.open.val() {
            self.reply.number.next = self.numbers.number.val();
        } else {
            self.reply.number.next = self.tables.found_held.val().value.get_bits::<12>(0);
        }
        if self.reclaims.val() {
            self.reply.number.next = self.reclaim_at.q.val();
        }
        self.work_valid.next = self.reply.work_valid.val();
        self.work_data.next = self.reply.work_data.val();
        self.reply.work_ready.next = self.work_ready.val();
        self.feedback_valid.next = self.reply.feedback_valid.val();
        self.feedback_data.next = self.reply.feedback_data.val();
        self.reply.feedback_ready.next = self.feedback_ready.val();

        self.is_consume.d.next =
            (self.judge.consumes.val() & !self.is_match.val()) | self.judge.deliver.val();
        self.is_ud_receive.d.next = self.judge.ud_receive.val();
        self.ud_receive.next = self.is_ud_receive.q.val();
        // While a receive of the ring is on its way, others may be posted.
        self.is_settle.d.next = self.act.val() | self.retries.val();
        self.match_settle.next = self.is_settle.q.val();
        self.is_take.d.next = self.judge.open.val() & self.is_match.val();
        self.match_take.next = self.is_take.q.val();
        self.is_unexpected.d.next = self.judge.open.val() & !self.is_match.val() & self.by_tag.val();
        self.match_unexpected.next = self.is_unexpected.q.val();
        self.consume.next = self.is_consume.q.val();
        self.is_stale.d.next = self.judge.stale.val();
        self.stale.next = self.is_stale.q.val();
        self.is_busy_receive.d.next = self.judge.busy_receive.val();
        self.busy_receive.next = self.is_busy_receive.q.val();
        self.is_busy_resources.d.next = self.judge.busy_resources.val();
        self.busy_resources.next = self.is_busy_resources.q.val();
        self.is_busy_conflict.d.next = self.judge.busy_conflict.val();
        self.busy_conflict.next = self.is_busy_conflict.q.val();
        self.is_busy_quota.d.next = self.judge.busy_quota.val();
        self.busy_quota.next = self.is_busy_quota.q.val();
        self.is_no_context.d.next = self.judge.no_context.val();
        self.no_context.next = self.is_no_context.q.val();
        self.is_finished.d.next = self.judge.finished.val();
        self.finished.next = self.is_finished.q.val();
        self.is_opened.d.next = self.judge.opened.val();
        self.opened.next = self.is_opened.q.val();

        // Entries: opened, sent away, too short; buried; swept; cleared.
        self.lives_to.next = self.now.val() + bit_cast::<32, 24>(self.settings.val().time_wait);
        self.released_to.next = self.now.val() + bit_cast::<32, 24>(self.settings.val().mpl);
        self.sooner.next = self.released_to.val().get_bits::<24>(8) - self.tables.found_held.val().value;
        self.bury_set.next = self.ends.place.val().set_at;
        // An end is written when nothing else is, also while a packet is looked up.
        self.ends.enable.next = self.cleared.q.val();
        self.ends.retire_valid.next = self.retire_valid.val();
        self.ends.retire_data.next = self.retire_data.val();
        self.retire_ready.next = self.ends.retire_ready.val();
        self.ends.hold.next =
            self.act.val() | self.clears.val() | self.reclaim_reads.val() | self.tally.settling.val();
        self.buries.next = self.ends.go.val();
        self.disturbs.next = (self.ends.place.val().way.get_bits::<4>(0).any()
            & (self.bury_set.val() == self.set0.q.val()))
            | (self.ends.place.val().way.get_bits::<4>(4).any() & (self.bury_set.val() == self.set1.q.val()));
        self.write_set0.next = self.set0.q.val();
        self.write_set1.next = self.set1.q.val();
        self.write_hot.next = 0.into();
        self.write_held.next.state = 2.into();
        self.write_held.next.value = self.lives_to.val().get_bits::<24>(8);
        self.write_held.next.status = self.judge.status.val();
        if self.judge.open.val() {
            self.write_hot.next = self.place.val();
            self.write_held.next.state = 1.into();
            self.write_held.next.value = bit_cast::<24, 12>(self.numbers.number.val());
        }
        if self.judge.barred.val() {
            self.write_hot.next = self.place.val();
        }
        if self.judge.shorten.val() {
            self.write_hot.next = self.tables.found.val();
            self.write_held.next.status = self.tables.found_held.val().status;
            // A RELEASE that comes late, or again, lengthens nothing.
            self.write_held.next.value = self.tables.found_held.val().value;
            if self.sooner.val().get_bit(23) {
                self.write_held.next.value = self.released_to.val().get_bits::<24>(8);
            }
        }
        if self.judge.away.val() {
            self.write_hot.next = self.tables.found.val();
            self.write_held.next.state = 3.into();
            self.write_held.next.value = self.tables.found_held.val().value;
        }
        if self.reclaims.val() {
            self.write_hot.next = self.reclaim_place.q.val().way;
            self.write_held.next.state = 3.into();
            self.write_held.next.value = self.tables.way_held.val().value;
            self.write_set0.next = self.reclaim_place.q.val().set_at;
            self.write_set1.next = self.reclaim_place.q.val().set_at;
        }
        if self.buries.val() & self.ends.word.val().bury {
            self.write_hot.next = self.ends.place.val().way;
            self.write_held.next.status = self.ends.word.val().status;
            if self.ends.word.val().status == self.released.val() {
                self.write_held.next.value = self.released_to.val().get_bits::<24>(8);
            }
        }
        if self.buries.val() {
            self.write_set0.next = self.bury_set.val();
            self.write_set1.next = self.bury_set.val();
        }
        if self.clears.val() {
            self.write_hot.next = self.tables.expired.val();
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
        self.tables.write.next = self.write_hot.val();
        self.tables.write_names.next = self.judge.open.val() | self.judge.barred.val();
        self.tables.write_set0.next = self.write_set0.val();
        self.tables.write_set1.next = self.write_set1.val();
        self.tables.new_held.next = self.write_held.val();
        self.ends.open.next = self.judge.open.val();
        self.ends.number.next = self.numbers.number.val();
        self.ends.opened_at.next.way = self.place.val();
        self.ends.opened_at.next.endpoint = self.packet.q.val().endpoint;
        if self.place.val().get_bits::<4>(0).any() {
            self.ends.opened_at.next.set_at = self.set0.q.val();
        } else {
            self.ends.opened_at.next.set_at = self.set1.q.val();
        }

        // Context numbers, and whose they are.
        self.numbers.give.next = self.buries.val() & self.ends.word.val().free;
        self.numbers.given.next = self.ends.word.val().context;
        self.free_contexts.next = self.numbers.free.val();
        self.tenants.table_write.next = self.table_write.val();
        self.tenants.take.next = self.judge.open.val();
        self.tenants.watched.next = self.reclaim.val().endpoint;
        self.contexts_left.next = self.tenants.holds.val();
        self.tenants.give.next = self.buries.val() & self.ends.word.val().free;
        self.tenants.given.next = self.ends.place.val().endpoint;

        // Counts. A sweep step, a packet and an end are never in one clock.
        self.tally.open.next = self.judge.open.val();
        self.tally.barred.next = self.judge.barred.val();
        self.tally.replaces.next = self.judge.replaces.val();
        self.tally.bury.next = self.buries.val() & self.ends.word.val().bury;
        self.tally.sweep.next = self.clears.val();
        self.tally.expired.next = self.tables.expired.val();
        self.tombstones.next = self.tally.tombstones.val();
        self.places_left.next = self.limit.val() - self.tally.remembered.val();
        self.too_few.next = self.limit.val() >> self.settings.val().release_low;
        self.is_low.d.next =
            self.settings.val().release_low.any() & (self.places_left.val() < self.too_few.val());
        self.low.next = self.is_low.q.val();
        self.has_judged.d.next = self.act.val();
        self.judged.next = self.has_judged.q.val();
        self.has_buried.d.next = self.buries.val();
        self.buried.next = self.has_buried.q.val();

        // What a packet may have made of the set that was read is not cleared.
        self.behind.d.next = self.act.val() & !self.judge.replaces.val();

        // What comes next.
        self.pick.next = self.cleared.q.val()
            & ((self.state.q.val() == State::Idle) | self.act.val() | self.in_clear.val());
        self.yields.next = self.sweeping.val() & !self.in_clear.val() & !self.sweep_first.q.val();
        self.was_enabled.d.next = self.settings.val().enable;
        if self.settings.val().enable & !self.was_enabled.q.val() {
            self.want_key.d.next = true;
        }
        self.hash.load.next = false;
        self.packet_ready.next = (self.pick.val() | self.yields.val())
            & self.hash.keyed.val()
            & !self.want_key.q.val()
            & !self.sweep_due.q.val();
        self.accept.next = self.packet_ready.val() & self.packet_valid.val();
        self.tenants.endpoint.next = self.packet.q.val().endpoint;
        if self.packet_ready.val() {
            self.tenants.endpoint.next = self.packet_data.val().endpoint;
        }
        self.sweep_in.d.next = self.sweep_in.q.val() - 1;
        if self.sweep_in.q.val() == 0 {
            self.sweep_due.d.next = true;
        }
        match self.state.q.val() {
            State::Idle => {}
            State::Read => {
                self.state.d.next = State::Compare;
            }
            State::ReadAgain => {
                self.state.d.next = State::Compare;
            }
            State::Compare => {
                self.state.d.next = State::Choose;
            }
            State::Choose => {
                self.state.d.next = State::Act;
            }
            State::Act => {
                if self.disturbed.q.val() {
                    self.disturbed.d.next = false;
                    self.state.d.next = State::ReadAgain;
                } else {
                    if self.retries.val() {
                        self.tries.d.next = self.tries.q.val() - 1;
                        self.answered.d.next = false;
                        self.state.d.next = State::Read;
                    }
                }
            }
            State::ReclaimPlace => {
                if !self.ends.busy.val() {
                    self.state.d.next = State::ReclaimTake;
                }
            }
            State::ReclaimTake => {
                self.reclaim_place.d.next = self.ends.place.val();
                self.state.d.next = State::ReclaimRead;
            }
            State::ReclaimRead => {
                self.state.d.next = State::ReclaimAct;
            }
            State::ReclaimAct => {
                if self.reclaims.val() | !self.reclaimable.val() {
                    self.reclaim_at.d.next = self.reclaim_at.q.val() + 1;
                    if self.reclaim_at.q.val() == self.last_context.val() {
                        self.reclaim_at.d.next = 0.into();
                    }
                    self.state.d.next = State::Idle;
                }
            }
            State::SweepRead => {
                // The set to read is the one behind that which is cleared now.
                if !self.behind.q.val() {
                    self.state.d.next = State::SweepCompare;
                }
            }
            State::SweepCompare => {
                self.state.d.next = State::SweepClear;
            }
            State::SweepClear => {
                self.state.d.next = State::Idle;
            }
            _ => {
                self.state.d.next = State::Idle;
            }
        }
        if self.pick.val() {
            self.state.d.next = State::SweepRead;
            self.sweep_first.d.next = self.sweep_due.q.val();
            // Every second step of the sweep is one of these.
            self.reclaim_turn.d.next = !self.reclaim_turn.q.val();
            if self.reclaim.val().active & self.reclaim_turn.q.val() {
                self.state.d.next = State::ReclaimPlace;
            }
            if self.sweep_due.q.val() {
                self.sweep_due.d.next = false;
            } else {
                if self.want_key.q.val() {
                    self.want_key.d.next = false;
                    self.hash.load.next = self.tally.remembered.val() == 0;
                    self.state.d.next = State::Idle;
                }
            }
        }
        if self.clears.val() {
            self.sweep_set.d.next = self.sweep_set.q.val() + 1;
        }
        // Four ways of each set are swept at once: to which of the two sets the
        // way belongs would cost more than a second look now and then.
        self.clears_here.next = self.behind.q.val()
            & self.tables.expired.val().any()
            & ((((self.sweep_set.q.val() ^ self.set0.q.val()) & self.set_bits.val()) == 0)
                | (((self.sweep_set.q.val() ^ self.set1.q.val()) & self.set_bits.val()) == 0));
        if (self.buries.val() & self.disturbs.val()) | self.clears_here.val() {
            self.disturbed.d.next = true;
        }
        if self.accept.val() {
            self.state.d.next = State::Read;
            self.answered.d.next = false;
            self.disturbed.d.next = false;
            self.tries.d.next = 127.into();
        }
        if self.accept.val() {
            self.packet.d.next = self.packet_data.val();
            self.set0.d.next = self.hash.hash0.val();
            self.set1.d.next = self.hash.hash1.val();
        }

        if self.clear_at.q.val() != self.sets.val() {
            self.clear_at.d.next = self.clear_at.q.val() + 1;
        }
        if (self.clear_at.q.val() == self.sets.val()) & self.numbers.ready.val() & self.tenants.ready.val() {
            self.cleared.d.next = true;
        }
        self.ready.next = self.cleared.q.val();

        if self.rst.val() {
            self.state.d.next = State::Idle;
            self.was_enabled.d.next = false;
            self.want_key.d.next = false;
            self.clear_at.d.next = 0.into();
            self.cleared.d.next = false;
            self.answered.d.next = false;
            self.is_consume.d.next = false;
            self.is_settle.d.next = false;
            self.is_take.d.next = false;
            self.is_unexpected.d.next = false;
            self.has_judged.d.next = false;
            self.has_buried.d.next = false;
            self.is_low.d.next = false;
            self.reclaim_at.d.next = 0.into();
            self.reclaim_turn.d.next = false;
            self.disturbed.d.next = false;
            self.budget.d.next = 0x3f.into();
            self.pressed.d.next = false;
            self.sweep_first.d.next = false;
            self.behind.d.next = false;
            self.sweep_set.d.next = 0.into();
            self.sweep_in.d.next = 0.into();
            self.sweep_due.d.next = false;
        }
    }
}
