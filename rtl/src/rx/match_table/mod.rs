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

mod hash;
mod nodes;
mod tenants;

pub use hash::TagHash;
pub use nodes::{MatchLinks, MatchNode, MatchNodes};
pub use tenants::{MatchTenant, MatchTenants};

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

impl Logic for MatchTable {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, state, was_enabled, want_key, clear_at, cleared, kind, turn, word, life, set0);
        dff_setup!(
            self, clk, set1, sweep_at, sweep_left, sweep_in, sweep_due, done, done_full, full, stands, shown,
            is_life, is_low, is_high, is_target
        );
        self.hash.clk.next = self.clk.val();
        self.hash.rst.next = self.rst.val();
        self.tables.clk.next = self.clk.val();
        self.nodes.clk.next = self.clk.val();
        self.nodes.rst.next = self.rst.val();
        self.tenants.clk.next = self.clk.val();
        self.tenants.rst.next = self.rst.val();
        self.tenants.table_write.next = self.table_write.val();

        // What to do next: an ask, a post, a sweep step; a step that is due first.
        self.sweeps.next = self.exists.val() & (self.sweep_left.q.val() != 0);
        self.may_start.next = self.cleared.q.val()
            & (self.state.q.val() == State::Idle)
            & (self.hash.keyed.val() | !self.exists.val())
            & !self.want_key.q.val()
            & !self.done_full.q.val()
            & !self.settle.val()
            & !(self.sweeps.val() & self.sweep_due.q.val());
        self.asks.next = self.ask.val() & !(self.turn.q.val() & self.post_valid.val());
        self.starts_ask.next = self.may_start.val() & self.asks.val();
        self.starts_post.next = self.may_start.val() & !self.asks.val() & self.post_valid.val();
        self.post_ready.next = self.starts_post.val();

        // The hash of what starts; a node of a past life brings its own words.
        self.hash.seed.next = self.settings.val().seed;
        self.hash.tag.next = self.post_data.val().tag;
        self.hash.endpoint.next = self.post_data.val().endpoint;
        self.tenants.endpoint.next = self.word.q.val().endpoint;
        if self.state.q.val() == State::Idle {
            self.tenants.endpoint.next = self.post_data.val().endpoint;
            if self.asks.val() {
                self.hash.tag.next = self.ask_tag.val();
                self.hash.endpoint.next = self.ask_endpoint.val();
                self.tenants.endpoint.next = self.ask_endpoint.val();
            }
        }
        if self.state.q.val() == State::SweepHash {
            self.hash.tag.next = self.word.q.val().tag;
            self.hash.endpoint.next = self.word.q.val().endpoint;
        }

        self.tables.set0.next = self.set0.q.val();
        self.tables.set1.next = self.set1.q.val();
        self.tables.present.next = 0.into();
        self.tables.choose_way.next = false;
        self.tables.way.next = 0.into();
        self.tables.choose.next = self.state.q.val() == State::Choose;
        self.tables.key.next.gid = bit_cast::<128, 64>(self.word.q.val().tag);
        self.tables.key.next.endpoint =
            (bit_cast::<24, 16>(self.life.q.val()) << 8) | bit_cast::<24, 8>(self.word.q.val().endpoint);
        self.tables.key.next.slot = 0.into();
        self.tables.key.next.generation = 0.into();
        self.is_found.next = self.exists.val() & self.tables.found.val().any();
        self.head.next = self.tables.found_held.val().value.get_bits::<12>(0);
        self.tail.next = self.tables.found_held.val().value.get_bits::<12>(12);

        // The node at hand: the oldest for an ask, else the one named.
        self.nodes.at.next = self.word.q.val().handle.get_bits::<12>(0);
        if (self.kind.q.val() == 0)
            & ((self.state.q.val() == State::Act) | (self.state.q.val() == State::Held))
        {
            self.nodes.at.next = self.head.val();
        }
        if self.state.q.val() == State::Idle {
            self.nodes.at.next = self.sweep_at.q.val();
        }

        // Act.
        self.act.next = self.state.q.val() == State::Act;
        self.room.next = self.exists.val()
            & self.nodes.available.val()
            & !self.tenants.used_up.val()
            & (self.is_found.val() | self.tables.vacancy.val().any());
        self.insert.next =
            self.act.val() & (self.kind.q.val() == 1) & self.tenants.tags.val() & self.room.val();
        self.is_life.d.next = ((self.word.q.val().handle & self.beyond.val()) == 0)
            & self.nodes.live.val()
            & (self.nodes.node.val().endpoint == self.word.q.val().endpoint)
            & (self.nodes.node.val().life == self.life.q.val());
        self.is_low.d.next =
            self.nodes.node.val().tag.get_bits::<32>(0) == self.word.q.val().tag.get_bits::<32>(0);
        self.is_high.d.next =
            self.nodes.node.val().tag.get_bits::<32>(32) == self.word.q.val().tag.get_bits::<32>(32);
        self.is_target.d.next =
            (self.kind.q.val() == 3) | (self.nodes.node.val().entry == self.word.q.val().target);
        self.holds.next = self.is_found.val()
            & self.is_life.q.val()
            & self.is_low.q.val()
            & self.is_high.q.val()
            & self.is_target.q.val();
        self.unlink.next = (self.act.val() & self.holds.val() & self.kind.q.val().get_bit(1))
            | ((self.state.q.val() == State::Held)
                & self.settle.val()
                & self.take.val()
                & self.is_found.val());

        self.is_head.next = self.nodes.at.val() == self.head.val();
        self.is_tail.next = self.nodes.at.val() == self.tail.val();
        self.new_head.next = self.head.val();
        self.new_tail.next = self.tail.val();
        if self.unlink.val() {
            if self.is_head.val() {
                self.new_head.next = self.nodes.links.val().behind;
            }
            if self.is_tail.val() {
                self.new_tail.next = self.nodes.links.val().before;
            }
        }
        self.write_hot.next = 0.into();
        self.tables.write_names.next = false;
        self.tables.new_held.next.state = 1.into();
        self.tables.new_held.next.status = 0.into();
        if self.insert.val() {
            self.new_tail.next = self.nodes.number.val();
            self.write_hot.next = self.tables.found.val();
            if !self.is_found.val() {
                self.new_head.next = self.nodes.number.val();
                self.write_hot.next = self.tables.vacancy.val();
                self.tables.write_names.next = true;
            }
        }
        if self.unlink.val() {
            self.write_hot.next = self.tables.found.val();
            if self.is_head.val() & self.is_tail.val() {
                self.tables.new_held.next.state = 0.into();
            }
        }
        self.tables.new_held.next.value =
            (bit_cast::<24, 12>(self.new_tail.val()) << 12) | bit_cast::<24, 12>(self.new_head.val());
        self.tables.write_set0.next = self.set0.q.val();
        self.tables.write_set1.next = self.set1.q.val();
        if !self.cleared.q.val() {
            self.write_hot.next = 0xff.into();
            self.tables.new_held.next.state = 0.into();
            self.tables.write_set0.next = self.clear_at.q.val().get_bits::<13>(0);
            self.tables.write_set1.next = self.clear_at.q.val().get_bits::<13>(0);
        }
        self.tables.write.next = self.write_hot.val();

        self.nodes.insert.next = self.insert.val();
        self.nodes.joins.next = self.is_found.val();
        self.nodes.tail.next = self.tail.val();
        self.nodes.new_node.next.address = self.word.q.val().address;
        self.nodes.new_node.next.length = self.word.q.val().length;
        self.nodes.new_node.next.entry = self.word.q.val().entry;
        self.nodes.new_node.next.endpoint = self.word.q.val().endpoint;
        self.nodes.new_node.next.life = self.life.q.val();
        self.nodes.new_node.next.tag = self.word.q.val().tag;
        self.nodes.unlink.next = self.unlink.val();
        self.nodes.is_head.next = self.is_head.val();
        self.nodes.is_tail.next = self.is_tail.val();
        self.tenants.more.next = self.insert.val();
        self.tenants.fewer.next = self.unlink.val();

        // In registers: `lookup` decides by the answer in the clock in which it comes, and the node
        // comes out of a memory late.
        self.stands.d.next = (self.state.q.val() == State::Held) & !self.settle.val();
        self.known.next = self.stands.q.val();
        self.answer.next = self.shown.q.val();
        self.shown.d.next.available = self.is_found.val();
        self.shown.d.next.coming = false;
        self.shown.d.next.address = 0.into();
        self.shown.d.next.length = 0.into();
        self.shown.d.next.entry = 0.into();
        self.shown.d.next.room = 0.into();
        if self.exists.val() {
            self.shown.d.next.address = self.nodes.node.val().address;
            self.shown.d.next.length = self.nodes.node.val().length;
            self.shown.d.next.entry = self.nodes.node.val().entry;
            self.shown.d.next.room = self.nodes.node.val().length;
        }
        self.shown.d.next.chunks = false;
        self.shown.d.next.chunk_log2 = 0.into();
        self.shown.d.next.area_log2 = 0.into();
        self.shown.d.next.capacity = 0.into();

        // What is told.
        if self.done_ready.val() {
            self.done_full.d.next = false;
        }
        self.tells.next = false;
        self.full.d.next = false;
        if self.act.val() & ((self.kind.q.val() == 1) | (self.kind.q.val() == 2)) {
            self.tells.next = true;
            self.done.d.next.receive = true;
            self.done.d.next.own = true;
            self.done.d.next.has_imm = false;
            self.done.d.next.write = false;
            self.done.d.next.grh = false;
            self.done.d.next.vlan_valid = false;
            self.done.d.next.endpoint = self.word.q.val().endpoint;
            self.done.d.next.entry = self.word.q.val().entry;
            self.done.d.next.imm = 0.into();
            self.done.d.next.tag = self.word.q.val().tag;
            self.done.d.next.slot = 0.into();
            self.done.d.next.generation = 0.into();
            self.done.d.next.peer_endpoint = 0.into();
            self.done.d.next.peer_gid = 0.into();
            self.done.d.next.length = bit_cast::<32, 12>(self.nodes.number.val());
            self.done.d.next.status = 0.into();
            self.done.d.next.event = 1.into();
            if self.kind.q.val() == 2 {
                self.done.d.next.event = 3.into();
                self.done.d.next.length = 0.into();
                if !self.unlink.val() {
                    self.done.d.next.status = self.not_posted.val();
                }
            } else {
                if !self.insert.val() {
                    self.done.d.next.event = 0.into();
                    self.done.d.next.length = self.word.q.val().length;
                    self.done.d.next.status = self.bad_request.val();
                    if self.tenants.tags.val() {
                        self.done.d.next.status = self.no_tag_space.val();
                        self.full.d.next = true;
                    }
                }
            }
        }
        if self.settle.val() & self.unexpected.val() {
            self.tells.next = true;
            self.done.d.next.receive = true;
            self.done.d.next.own = false;
            self.done.d.next.event = 2.into();
            self.done.d.next.status = 0.into();
            self.done.d.next.write = false;
            self.done.d.next.grh = false;
            self.done.d.next.vlan_valid = false;
            self.done.d.next.has_imm = (self.opened.val().flags & self.imm_flag.val()) != 0;
            self.done.d.next.endpoint = self.opened.val().endpoint;
            self.done.d.next.entry = self.opened.val().entry;
            self.done.d.next.length = self.opened.val().length;
            self.done.d.next.imm = self.opened.val().imm;
            self.done.d.next.tag = self.opened.val().tag;
            self.done.d.next.slot = self.opened.val().slot;
            self.done.d.next.generation = self.opened.val().generation;
            self.done.d.next.peer_endpoint = self.opened.val().src_endpoint;
            self.done.d.next.peer_gid = self.opened.val().src_gid;
        }
        if self.tells.val() {
            self.done_full.d.next = true;
        }
        self.done_valid.next = self.done_full.q.val();
        self.done_data.next = self.done.q.val();
        self.event_full.next = self.full.q.val();

        // Steps.
        self.sweep_in.d.next = self.sweep_in.q.val() - 1;
        if self.sweep_in.q.val() == 0 {
            self.sweep_due.d.next = true;
        }
        match self.state.q.val() {
            State::Idle => {
                if self.starts_ask.val() {
                    self.state.d.next = State::Read;
                    self.kind.d.next = 0.into();
                    self.turn.d.next = true;
                    self.word.d.next.endpoint = self.ask_endpoint.val();
                    self.word.d.next.tag = self.ask_tag.val();
                } else {
                    if self.starts_post.val() {
                        self.state.d.next = State::Read;
                        self.turn.d.next = false;
                        self.word.d.next = self.post_data.val();
                        self.kind.d.next = 1.into();
                        if self.post_data.val().cancel {
                            self.kind.d.next = 2.into();
                        }
                    } else {
                        if self.sweeps.val() & self.cleared.q.val() & self.hash.keyed.val() {
                            self.state.d.next = State::SweepLook;
                            self.sweep_due.d.next = false;
                        }
                    }
                }
                self.set0.d.next = self.hash.hash0.val();
                self.set1.d.next = self.hash.hash1.val();
            }
            State::Read => {
                self.state.d.next = State::Compare;
                if self.kind.q.val() != 3 {
                    self.life.d.next = self.tenants.life.val();
                } else {
                    if self.tenants.life.val() == self.life.q.val() {
                        self.state.d.next = State::Idle;
                    }
                }
            }
            State::Compare => {
                self.state.d.next = State::Choose;
            }
            State::Choose => {
                self.state.d.next = State::Act;
            }
            State::Act => {
                self.state.d.next = State::Idle;
                if self.kind.q.val() == 0 {
                    self.state.d.next = State::Held;
                }
            }
            State::Held => {}
            State::SweepLook => {
                if self.exists.val() {
                    // Whether its life is past is known two clocks later.
                    self.kind.d.next = 3.into();
                    self.word.d.next.endpoint = self.nodes.node.val().endpoint;
                    self.word.d.next.tag = self.nodes.node.val().tag;
                    self.word.d.next.handle = bit_cast::<16, 12>(self.sweep_at.q.val());
                    self.life.d.next = self.nodes.node.val().life;
                    self.state.d.next = State::Idle;
                    if self.nodes.live.val() {
                        self.state.d.next = State::SweepHash;
                    }
                    self.sweep_left.d.next = self.sweep_left.q.val() - 1;
                    self.sweep_at.d.next = self.sweep_at.q.val() + 1;
                    if self.sweep_at.q.val() == self.last_node.val() {
                        self.sweep_at.d.next = 0.into();
                    }
                }
            }
            State::SweepHash => {
                self.set0.d.next = self.hash.hash0.val();
                self.set1.d.next = self.hash.hash1.val();
                self.state.d.next = State::Read;
            }
        }
        self.asking.next = (self.kind.q.val() == 0)
            & (self.state.q.val() != State::Idle)
            & (self.state.q.val() != State::SweepLook);
        if self.settle.val() & self.asking.val() {
            self.state.d.next = State::Idle;
        }
        if self.tenants.rewritten.val() {
            self.sweep_left.d.next = self.total.val();
        }
        self.purging.next =
            self.sweeps.val() | (self.kind.q.val() == 3) & (self.state.q.val() != State::Idle);

        // The seed, as in `lookup`: taken while nothing is held.
        self.was_enabled.d.next = self.settings.val().enable;
        if self.settings.val().enable & !self.was_enabled.q.val() {
            self.want_key.d.next = true;
        }
        self.hash.load.next = false;
        if self.want_key.q.val() & (self.state.q.val() == State::Idle) & self.cleared.q.val() {
            self.want_key.d.next = false;
            self.hash.load.next = self.nodes.free.val() == self.total.val();
        }

        if self.clear_at.q.val() != self.sets.val() {
            self.clear_at.d.next = self.clear_at.q.val() + 1;
        } else {
            self.cleared.d.next = (self.nodes.ready.val() | !self.exists.val()) & self.tenants.ready.val();
        }
        self.ready.next = self.cleared.q.val();

        if self.rst.val() {
            self.stands.d.next = false;
            self.state.d.next = State::Idle;
            self.was_enabled.d.next = false;
            self.want_key.d.next = false;
            self.clear_at.d.next = 0.into();
            self.cleared.d.next = false;
            self.kind.d.next = 0.into();
            self.turn.d.next = false;
            self.sweep_at.d.next = 0.into();
            self.sweep_left.d.next = 0.into();
            self.sweep_in.d.next = 0.into();
            self.sweep_due.d.next = false;
            self.done_full.d.next = false;
            self.full.d.next = false;
        }
    }
}
