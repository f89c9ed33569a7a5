//! Tagged receives, and which of them a message's tag matches.
//!
//! ```text
//!  post (rq_fetch) ──┐            keys: (endpoint, life, tag) -> oldest, newest
//!  ask (lookup) ─────┼─> one at a ──> nodes: address, length, entry, next, previous
//!  purge (a node) ───┘    time             │
//!                           └──> done: posted, unexpected, cancel's end, refused
//! ```
//!
//! A key stands for all receives of one endpoint with one tag, oldest first: a
//! list through `nodes`, so that the oldest is taken, the newest put behind and
//! any one taken out in one step. A node's number is the handle that `posted`
//! tells and a cancel names; a cancel's handle counts in all of its 16 bits, however
//! few the table needs.
//!
//! An answer locks the table until `settle`: nothing is posted between "no match"
//! and the opening it led to. Asks and posts that wait take turns. `posted` and `unexpected` leave by one stream in
//! the order of what they tell of, which is what makes a driver's view free of
//! races (docs/decisions/0026).
//!
//! Writing an endpoint's table entry begins a new life of it (a number): what was
//! posted before is never found again, and the sweep takes it out.
//!
//! Contract:
//! - `ask` is held until `settle`, `known` comes 6 clocks later at best, and the
//!   answer stands until then. `settle` ends every ask, also one not yet known; in
//!   the clock before it the packet was judged, and `opened` tells what was opened;
//! - a post takes 5 clocks and waits for one ask at most; `lookup` settles and
//!   asks again while it waits for a receive, which may be behind that post;
//! - a sweep step (two clocks, seven with a node to take out) goes first every 64
//!   clocks, and any time nothing else is to do; `purging` falls when no node of a
//!   past life is left;
//! - without room for the key, a node or within the quota a post is refused with
//!   `no_tag_space`, so that no ring waits for another endpoint.
//!
//! A table for no receives (`tagged_log2` 0) refuses every post and knows of none
//! for every ask. Its tables and hash are still there to read, but nothing hangs on
//! what comes out of them: no synthesiser keeps them.
//!
//! Verified by `testbenches/tests/match_table/main.rs`.

mod acts;
mod hash;
mod nodes;
mod steps;
mod tenants;
mod told;
mod wires;

pub use hash::TagHash;
pub use nodes::{MatchLinks, MatchNode, MatchNodes};
pub use tenants::{MatchTenant, MatchTenants};

use crate::kernel_of_parts;
use crate::prelude::*;
use crate::rx::LookupTables;
use crate::types::{Done, Receive, RxWork, Settings, TableWrite, TaggedPost};
use tessera_abi::params::Config;
use tessera_abi::status::Status;
use tessera_abi::wire::flag;

#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
enum State {
    Idle,
    Read,
    Compare,
    Choose,
    Act,
    /// The answer stands.
    Held,
    SweepLook,
    /// The node is in registers.
    SweepHash,
}

#[derive(LogicBlock)]
pub struct MatchTable {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    /// `enable` and `seed` are used.
    pub settings: Signal<In, Settings>,
    pub table_write: Signal<In, TableWrite>,
    pub post_valid: Signal<In, Bit>,
    pub post_data: Signal<In, TaggedPost>,
    pub post_ready: Signal<Out, Bit>,
    pub ask: Signal<In, Bit>,
    pub ask_endpoint: Signal<In, Bits<8>>,
    pub ask_tag: Signal<In, Bits<64>>,
    /// The answer stands: `answer.available` when a receive matches.
    pub known: Signal<Out, Bit>,
    pub answer: Signal<Out, Receive>,
    /// The packet asked for was judged in the last clock.
    pub settle: Signal<In, Bit>,
    /// It opened with the receive answered, or with one of the ring.
    pub take: Signal<In, Bit>,
    pub unexpected: Signal<In, Bit>,
    /// What was opened.
    pub opened: Signal<In, RxWork>,
    pub done_valid: Signal<Out, Bit>,
    pub done_data: Signal<Out, Done>,
    pub done_ready: Signal<In, Bit>,
    /// A post was refused for want of room.
    pub event_full: Signal<Out, Bit>,
    /// Receives of past lives may still be held.
    pub purging: Signal<Out, Bit>,
    pub ready: Signal<Out, Bit>,

    hash: TagHash,
    tables: LookupTables,
    nodes: MatchNodes,
    tenants: MatchTenants,

    state: Dff<State>,
    was_enabled: Dff<Bit>,
    want_key: Dff<Bit>,
    clear_at: Dff<Bits<14>>,
    cleared: Dff<Bit>,
    /// 0 ask, 1 post, 2 cancel, 3 a node of a past life.
    kind: Dff<Bits<2>>,
    /// The last was an ask: a post that waits comes before the next one.
    turn: Dff<Bit>,
    word: Dff<TaggedPost>,
    life: Dff<Bits<16>>,
    set0: Dff<Bits<13>>,
    set1: Dff<Bits<13>>,
    /// Node to look at, and how many are left to.
    sweep_at: Dff<Bits<12>>,
    sweep_left: Dff<Bits<13>>,
    sweep_in: Dff<Bits<6>>,
    sweep_due: Dff<Bit>,
    done: Dff<Done>,
    done_full: Dff<Bit>,
    /// The answer is out, and is this one.
    stands: Dff<Bit>,
    shown: Dff<Receive>,
    full: Dff<Bit>,
    /// The node named is the one meant, in four parts: it comes out of a memory late, and stands
    /// there for two clocks before it matters.
    is_life: Dff<Bit>,
    is_low: Dff<Bit>,
    is_high: Dff<Bit>,
    is_target: Dff<Bit>,

    sweeps: Signal<Local, Bit>,
    may_start: Signal<Local, Bit>,
    /// An ask goes before a post.
    asks: Signal<Local, Bit>,
    /// An ask is at hand.
    asking: Signal<Local, Bit>,
    starts_ask: Signal<Local, Bit>,
    starts_post: Signal<Local, Bit>,
    is_found: Signal<Local, Bit>,
    head: Signal<Local, Bits<12>>,
    tail: Signal<Local, Bits<12>>,
    act: Signal<Local, Bit>,
    room: Signal<Local, Bit>,
    insert: Signal<Local, Bit>,
    holds: Signal<Local, Bit>,
    unlink: Signal<Local, Bit>,
    is_head: Signal<Local, Bit>,
    is_tail: Signal<Local, Bit>,
    new_head: Signal<Local, Bits<12>>,
    new_tail: Signal<Local, Bits<12>>,
    write_hot: Signal<Local, Bits<8>>,
    tells: Signal<Local, Bit>,

    /// There is room for any receive at all.
    exists: Constant<Bit>,
    sets: Constant<Bits<14>>,
    total: Constant<Bits<13>>,
    last_node: Constant<Bits<12>>,
    /// Handle bits that no receive in a table of this size has.
    beyond: Constant<Bits<16>>,
    imm_flag: Constant<Bits<8>>,
    bad_request: Constant<Bits<8>>,
    no_tag_space: Constant<Bits<8>>,
    not_posted: Constant<Bits<8>>,
}

impl MatchTable {
    /// Room for `2^tagged_log2` receives, and keys for twice as many; with 0 for none.
    pub fn new(config: &Config) -> Self {
        let exists = config.tagged_log2 != 0;
        let tagged_log2 = if exists { config.tagged_log2 } else { 3 };
        assert!(
            (3..=12).contains(&tagged_log2),
            "2^{tagged_log2} tagged receives: from 2^3 to 2^12 are possible, or none (0)"
        );
        let sets_log2 = tagged_log2 - 2;
        let status = |status: Status| Constant::new((status as u64).into());
        Self {
            clk: Default::default(),
            rst: Default::default(),
            settings: Default::default(),
            table_write: Default::default(),
            post_valid: Default::default(),
            post_data: Default::default(),
            post_ready: Default::default(),
            ask: Default::default(),
            ask_endpoint: Default::default(),
            ask_tag: Default::default(),
            known: Default::default(),
            answer: Default::default(),
            settle: Default::default(),
            take: Default::default(),
            unexpected: Default::default(),
            opened: Default::default(),
            done_valid: Default::default(),
            done_data: Default::default(),
            done_ready: Default::default(),
            event_full: Default::default(),
            purging: Default::default(),
            ready: Default::default(),
            hash: Default::default(),
            tables: LookupTables::new(sets_log2),
            nodes: MatchNodes::new(tagged_log2),
            tenants: MatchTenants::new(config.endpoints_log2),
            state: Default::default(),
            was_enabled: Default::default(),
            want_key: Default::default(),
            clear_at: Default::default(),
            cleared: Default::default(),
            kind: Default::default(),
            turn: Default::default(),
            word: Default::default(),
            life: Default::default(),
            set0: Default::default(),
            set1: Default::default(),
            sweep_at: Default::default(),
            sweep_left: Default::default(),
            sweep_in: Default::default(),
            sweep_due: Default::default(),
            done: Default::default(),
            done_full: Default::default(),
            stands: Default::default(),
            shown: Default::default(),
            full: Default::default(),
            is_life: Default::default(),
            is_low: Default::default(),
            is_high: Default::default(),
            is_target: Default::default(),
            sweeps: Default::default(),
            may_start: Default::default(),
            asks: Default::default(),
            asking: Default::default(),
            starts_ask: Default::default(),
            starts_post: Default::default(),
            is_found: Default::default(),
            head: Default::default(),
            tail: Default::default(),
            act: Default::default(),
            room: Default::default(),
            insert: Default::default(),
            holds: Default::default(),
            unlink: Default::default(),
            is_head: Default::default(),
            is_tail: Default::default(),
            new_head: Default::default(),
            new_tail: Default::default(),
            write_hot: Default::default(),
            tells: Default::default(),
            exists: Constant::new(exists),
            sets: Constant::new((1u64 << sets_log2).into()),
            total: Constant::new((1u64 << tagged_log2).into()),
            last_node: Constant::new(((1u64 << tagged_log2) - 1).into()),
            beyond: Constant::new((0xFFFFu64 >> tagged_log2 << tagged_log2).into()),
            imm_flag: Constant::new(u64::from(flag::IMM).into()),
            bad_request: status(Status::BadRequest),
            no_tag_space: status(Status::NoTagSpace),
            not_posted: status(Status::NotPosted),
        }
    }
}

kernel_of_parts!(MatchTable: wires::Wires, acts::Acts, told::Told, steps::Steps);
