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
//! - a packet's data stands at `packet_data` for two clocks before `packet_valid`, so that
//!   it is hashed when it is taken;
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
//!   (verdict 3); such a step, of five clocks, gives way to no packet;
//! - `low` follows a change of what is remembered by two clocks;
//! - the seed is taken when `enable` rises and nothing is remembered; packets
//!   wait for the 1,121 clocks of its expansion. With entries in the tables, or
//!   when a packet at hand leaves one, the old one stays: they could not be found
//!   under another;
//! - `ready` rises when the tables are cleared after reset, one set per clock.
//!
//! Verified by `testbenches/tests/lookup/`.

mod acting;
mod ends;
mod entries;
mod hash;
mod judge;
mod numbers;
mod reply;
mod seed;
mod steps;
mod tables;
mod tally;
mod tenants;
mod way;
mod wires;

pub use ends::LookupEnds;
pub use hash::LookupHash;
pub use judge::LookupJudge;
pub use numbers::LookupNumbers;
pub use reply::LookupReply;
pub use seed::HashSeed;
pub use tables::LookupTables;
pub use tally::LookupTally;
pub use tenants::{LookupTenant, LookupTenants};
pub use way::{LookupHeld, LookupName, LookupWay};

use crate::kernel_of_parts;
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
    ReclaimChoose,
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
    // The context to look at next, its way (the set is in `set0` and `set1`) and endpoint,
    // and whose turn it is.
    reclaim_at: Dff<Bits<12>>,
    reclaim_way: Dff<Bits<8>>,
    reclaim_of: Dff<Bits<8>>,
    reclaim_turn: Dff<Bit>,
    /// Until when a tombstone of this clock lives, units of 256 ticks; one whose message was released.
    lives_to: Dff<Bits<18>>,
    released_to: Dff<Bits<18>>,
    /// `by_tag` of the packet at hand, a clock later.
    is_tagged: Dff<Bit>,
    /// A context was opened in the last clock.
    has_opened: Dff<Bit>,

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
    /// The entry of the context to look at is taken over, is there; either, or it is read.
    reclaim_chooses: Signal<Local, Bit>,
    reclaim_acts: Signal<Local, Bit>,
    reclaim_reads: Signal<Local, Bit>,
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
    /// Ways that are written: a new entry, the one found, an end, cleared ones.
    new_hot: Signal<Local, Bits<8>>,
    found_hot: Signal<Local, Bits<8>>,
    bury_hot: Signal<Local, Bits<8>>,
    clear_hot: Signal<Local, Bits<8>>,
    write_held: Signal<Local, LookupHeld>,
    write_set0: Signal<Local, Bits<13>>,
    write_set1: Signal<Local, Bits<13>>,
    lives: Signal<Local, Bits<32>>,
    released: Signal<Local, Bits<32>>,
    sooner: Signal<Local, Bits<18>>,
    /// The packet is looked up again, but for this clock's end.
    stays: Signal<Local, Bit>,
    /// The packet is decided in this clock, or waits for a receive.
    may_act: Signal<Local, Bit>,
    /// And nothing is written of it unless it opens a context, or would but for its room.
    may_open: Signal<Local, Bit>,
    /// The receive it needs is known.
    has_answer: Signal<Local, Bit>,
    /// The entry found is an open context: what is written of it sends it away.
    goes_away: Signal<Local, Bit>,
    places_left: Signal<Local, Bits<17>>,
    too_few: Signal<Local, Bits<17>>,
    bury_set: Signal<Local, Bits<13>>,

    est_flag: Constant<Bits<8>>,
    write_flag: Constant<Bits<8>>,
    sets: Constant<Bits<14>>,
    limit: Constant<Bits<17>>,
    released_status: Constant<Bits<8>>,
    length: Constant<Bits<8>>,
    remote_access: Constant<Bits<8>>,
    /// Bits of a hash that choose the set.
    set_bits: Constant<Bits<13>>,
    last_context: Constant<Bits<12>>,
    has_datagrams: Constant<Bit>,
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
            hash: LookupHash::new(config.table_sets_log2, config.ipv6),
            tables: LookupTables::new(config.table_sets_log2),
            ends: LookupEnds::new(config.rx_contexts_log2),
            tally: LookupTally::new(config),
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
            reclaim_way: Default::default(),
            reclaim_of: Default::default(),
            reclaim_turn: Default::default(),
            lives_to: Default::default(),
            released_to: Default::default(),
            is_tagged: Default::default(),
            has_opened: Default::default(),
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
            reclaim_chooses: Default::default(),
            reclaim_acts: Default::default(),
            reclaim_reads: Default::default(),
            reclaimable: Default::default(),
            reclaims: Default::default(),
            sweeping: Default::default(),
            pick: Default::default(),
            accept: Default::default(),
            act: Default::default(),
            place: Default::default(),
            new_hot: Default::default(),
            found_hot: Default::default(),
            bury_hot: Default::default(),
            clear_hot: Default::default(),
            write_held: Default::default(),
            write_set0: Default::default(),
            write_set1: Default::default(),
            lives: Default::default(),
            released: Default::default(),
            sooner: Default::default(),
            stays: Default::default(),
            may_act: Default::default(),
            may_open: Default::default(),
            has_answer: Default::default(),
            goes_away: Default::default(),
            places_left: Default::default(),
            too_few: Default::default(),
            bury_set: Default::default(),
            est_flag: Constant::new((u64::from(flag::EST)).into()),
            write_flag: Constant::new((u64::from(flag::WRITE)).into()),
            sets: Constant::new((1u64 << config.table_sets_log2).into()),
            limit: Constant::new((config.tombstones as u64).into()),
            released_status: Constant::new((Status::Released as u64).into()),
            length: Constant::new((Status::Length as u64).into()),
            remote_access: Constant::new((Status::RemoteAccess as u64).into()),
            set_bits: Constant::new(((1u64 << config.table_sets_log2) - 1).into()),
            last_context: Constant::new(((1u64 << config.rx_contexts_log2) - 1).into()),
            has_datagrams: Constant::new(config.datagrams),
        }
    }
}

kernel_of_parts!(Lookup: wires::Wires, acting::Acting, entries::Entries, steps::Steps);
