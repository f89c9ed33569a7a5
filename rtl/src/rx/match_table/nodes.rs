//! The receives themselves, each a link of its key's list.
//!
//! ```text
//!  insert ──> free number ──> node, live     behind[tail] = it
//!  unlink ──> `at` given back                behind[before] = behind, before[behind] = before
//! ```
//!
//! Contract: `node`, `links`, `live` follow `at` one clock later. One insert or
//! one unlink (of `at`) per clock; the next number is offered three clocks later.
//!
//! Verified as part of `testbenches/tests/match_table/main.rs`.

use crate::host::cleared_ram::ClearedRam;
use crate::prelude::*;
use crate::rx::LookupNumbers;

/// A tagged receive.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct MatchNode {
    pub address: Bits<64>,
    pub length: Bits<32>,
    pub entry: Bits<16>,
    pub endpoint: Bits<8>,
    /// Of the endpoint, when it was posted.
    pub life: Bits<16>,
    pub tag: Bits<64>,
}

/// Its neighbours; of the first and last of a list one means nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct MatchLinks {
    pub before: Bits<12>,
    pub behind: Bits<12>,
}

#[derive(LogicBlock)]
pub struct MatchNodes {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub at: Signal<In, Bits<12>>,
    pub node: Signal<Out, MatchNode>,
    pub links: Signal<Out, MatchLinks>,
    pub live: Signal<Out, Bit>,
    pub available: Signal<Out, Bit>,
    pub number: Signal<Out, Bits<12>>,
    /// Numbers not in use.
    pub free: Signal<Out, Bits<13>>,
    pub insert: Signal<In, Bit>,
    pub new_node: Signal<In, MatchNode>,
    /// It goes behind `tail`.
    pub joins: Signal<In, Bit>,
    pub tail: Signal<In, Bits<12>>,
    pub unlink: Signal<In, Bit>,
    pub is_head: Signal<In, Bit>,
    pub is_tail: Signal<In, Bit>,
    pub ready: Signal<Out, Bit>,

    words: SdpRam<MatchNode, 12>,
    befores: SdpRam<Bits<12>, 12>,
    behinds: SdpRam<Bits<12>, 12>,
    lives: ClearedRam<Bit, 12>,
    numbers: LookupNumbers,
}

impl MatchNodes {
    /// `2^nodes_log2` of them.
    pub fn new(nodes_log2: usize) -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            at: Default::default(),
            node: Default::default(),
            links: Default::default(),
            live: Default::default(),
            available: Default::default(),
            number: Default::default(),
            free: Default::default(),
            insert: Default::default(),
            new_node: Default::default(),
            joins: Default::default(),
            tail: Default::default(),
            unlink: Default::default(),
            is_head: Default::default(),
            is_tail: Default::default(),
            ready: Default::default(),
            words: SdpRam::new(nodes_log2),
            befores: SdpRam::new(nodes_log2),
            behinds: SdpRam::new(nodes_log2),
            lives: ClearedRam::new(nodes_log2, "block"),
            numbers: LookupNumbers::new(nodes_log2),
        }
    }
}

impl Logic for MatchNodes {
    #[hdl_gen]
    fn update(&mut self) {
        self.words.clock.next = self.clk.val();
        self.befores.clock.next = self.clk.val();
        self.behinds.clock.next = self.clk.val();
        self.lives.clk.next = self.clk.val();
        self.lives.rst.next = self.rst.val();
        self.numbers.clk.next = self.clk.val();
        self.numbers.rst.next = self.rst.val();
        self.ready.next = self.lives.ready.val() & self.numbers.ready.val();
        self.available.next = self.numbers.available.val();
        self.number.next = self.numbers.number.val();
        self.free.next = self.numbers.free.val();

        self.words.read_address.next = self.at.val();
        self.befores.read_address.next = self.at.val();
        self.behinds.read_address.next = self.at.val();
        self.lives.read_address.next = self.at.val();
        self.node.next = self.words.read_data.val();
        self.links.next.before = self.befores.read_data.val();
        self.links.next.behind = self.behinds.read_data.val();
        self.live.next = self.lives.read_data.val();

        self.words.write_enable.next = self.insert.val();
        self.words.write_address.next = self.numbers.number.val();
        self.words.write_data.next = self.new_node.val();
        self.lives.write_enable.next = self.insert.val() | self.unlink.val();
        self.lives.write_address.next = self.at.val();
        self.lives.write_data.next = self.insert.val();
        self.behinds.write_enable.next = self.unlink.val() & !self.is_head.val() & !self.is_tail.val();
        self.behinds.write_address.next = self.befores.read_data.val();
        self.behinds.write_data.next = self.behinds.read_data.val();
        self.befores.write_enable.next = self.unlink.val() & !self.is_head.val() & !self.is_tail.val();
        self.befores.write_address.next = self.behinds.read_data.val();
        self.befores.write_data.next = self.befores.read_data.val();
        if self.insert.val() {
            self.lives.write_address.next = self.numbers.number.val();
            self.behinds.write_enable.next = self.joins.val();
            self.behinds.write_address.next = self.tail.val();
            self.behinds.write_data.next = self.numbers.number.val();
            self.befores.write_enable.next = true;
            self.befores.write_address.next = self.numbers.number.val();
            self.befores.write_data.next = self.tail.val();
        }
        self.numbers.take.next = self.insert.val();
        self.numbers.give.next = self.unlink.val();
        self.numbers.given.next = self.at.val();
    }
}
