//! How far the rounds of collectives have come: registered by doorbells, counted
//! by messages that end well, asked by the interval block (RD-1..RD-3).
//!
//! ```text
//!  doorbell ──> one register ──┐
//!  done ──> read ──> count ────┴──> 256 places, twice ──> halvings, of `query`
//!                      ├──> advanced: what is left has halved
//!                      └──> finished: it was the last
//! ```
//!
//! Contract: one `done` per two clocks; the answer to `query_*` follows a clock
//! later. A registration is in place before the next doorbell, four clocks on, unless
//! a message is done every second clock; then it waits for a gap. After reset the
//! places are cleared, 256 clocks, until `ready`.
//!
//! Verified by `testbenches/tests/rx_context/`.

use crate::host::cleared_ram::ClearedRam;
use crate::host::registers::DOORBELL_KIND_ROUND;
use crate::prelude::*;
use crate::types::Doorbell;
use tessera_abi::params::Config;

/// A registered round, at place endpoint XOR low half of id.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct RoundEntry {
    pub valid: Bit,
    pub endpoint: Bits<8>,
    pub id: Bits<16>,
    /// Messages.
    pub needed: Bits<16>,
    pub left: Bits<16>,
    /// How often `left` has halved; 15 when nothing is left.
    pub halvings: Bits<4>,
}

#[derive(LogicBlock)]
pub struct Rounds {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub doorbell: Signal<In, Doorbell>,
    /// A message of a round ended well.
    pub done_valid: Signal<In, Bit>,
    pub done_endpoint: Signal<In, Bits<8>>,
    pub done_id: Signal<In, Bits<16>>,
    pub query_endpoint: Signal<In, Bits<8>>,
    pub query_id: Signal<In, Bits<16>>,
    /// Of the round asked for a clock ago; 0 when it is not registered.
    pub halvings: Signal<Out, Bits<4>>,
    pub advanced: Signal<Out, Bit>,
    pub finished: Signal<Out, Bit>,
    pub ready: Signal<Out, Bit>,
    counts: ClearedRam<RoundEntry, 8>,
    answers: ClearedRam<RoundEntry, 8>,
    /// A registration that waits to be written.
    bell: Dff<Doorbell>,
    counting: Dff<Bit>,
    endpoint: Dff<Bits<8>>,
    id: Dff<Bits<16>>,
    asked_endpoint: Dff<Bits<8>>,
    asked_id: Dff<Bits<16>>,
    has_advanced: Dff<Bit>,
    has_finished: Dff<Bit>,
    counted: Signal<Local, RoundEntry>,
    known: Signal<Local, RoundEntry>,
    mine: Signal<Local, Bit>,
    next_left: Signal<Local, Bits<16>>,
    threshold: Signal<Local, Bits<16>>,
    halves: Signal<Local, Bit>,
    write: Signal<Local, Bit>,
    write_at: Signal<Local, Bits<8>>,
    entry: Signal<Local, RoundEntry>,
    this_doorbell: Constant<Bits<2>>,
    exists: Constant<Bit>,
}

impl Rounds {
    /// No rounds; none that can be registered in a configuration without.
    pub fn new(config: &Config) -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            doorbell: Default::default(),
            done_valid: Default::default(),
            done_endpoint: Default::default(),
            done_id: Default::default(),
            query_endpoint: Default::default(),
            query_id: Default::default(),
            halvings: Default::default(),
            advanced: Default::default(),
            finished: Default::default(),
            ready: Default::default(),
            counts: ClearedRam::new(8, "block"),
            answers: ClearedRam::new(8, "block"),
            bell: Default::default(),
            counting: Default::default(),
            endpoint: Default::default(),
            id: Default::default(),
            asked_endpoint: Default::default(),
            asked_id: Default::default(),
            has_advanced: Default::default(),
            has_finished: Default::default(),
            counted: Default::default(),
            known: Default::default(),
            mine: Default::default(),
            next_left: Default::default(),
            threshold: Default::default(),
            halves: Default::default(),
            write: Default::default(),
            write_at: Default::default(),
            entry: Default::default(),
            this_doorbell: Constant::new(DOORBELL_KIND_ROUND.into()),
            exists: Constant::new(config.rounds),
        }
    }
}

impl Logic for Rounds {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self,
            clk,
            bell,
            counting,
            endpoint,
            id,
            asked_endpoint,
            asked_id,
            has_advanced,
            has_finished
        );
        self.counts.clk.next = self.clk.val();
        self.counts.rst.next = self.rst.val();
        self.answers.clk.next = self.clk.val();
        self.answers.rst.next = self.rst.val();
        self.ready.next = self.counts.ready.val() & self.answers.ready.val();
        self.advanced.next = self.has_advanced.q.val();
        self.finished.next = self.has_finished.q.val();
        self.has_advanced.d.next = false;
        self.has_finished.d.next = false;

        // A message is done.
        self.counts.read_address.next = self.done_endpoint.val() ^ self.done_id.val().get_bits::<8>(0);
        self.counting.d.next = self.done_valid.val();
        self.endpoint.d.next = self.done_endpoint.val();
        self.id.d.next = self.done_id.val();
        self.counted.next = self.counts.read_data.val();
        self.mine.next = self.exists.val()
            & self.counted.val().valid
            & (self.counted.val().endpoint == self.endpoint.q.val())
            & (self.counted.val().id == self.id.q.val())
            & self.counted.val().left.any();
        self.next_left.next = self.counted.val().left - 1;
        self.threshold.next = (self.counted.val().needed >> self.counted.val().halvings) >> 1;
        self.halves.next = self.next_left.val() <= self.threshold.val();
        self.write.next = self.counting.q.val() & self.mine.val();
        self.write_at.next = self.endpoint.q.val() ^ self.id.q.val().get_bits::<8>(0);
        self.entry.next = self.counted.val();
        self.entry.next.left = self.next_left.val();
        if self.halves.val() {
            self.entry.next.halvings = self.counted.val().halvings + 1;
        }
        if self.next_left.val() == 0 {
            self.entry.next.halvings = 15.into();
        }
        if self.write.val() {
            self.has_advanced.d.next = self.halves.val();
            self.has_finished.d.next = self.next_left.val() == 0;
        }

        // A registration is written when nothing is being counted.
        if self.bell.q.val().valid & !self.counting.q.val() & !self.done_valid.val() {
            self.bell.d.next.valid = false;
            self.write.next = true;
            self.write_at.next = self.bell.q.val().index ^ self.bell.q.val().value.get_bits::<8>(0);
            self.entry.next.valid = self.bell.q.val().more.any();
            self.entry.next.endpoint = self.bell.q.val().index;
            self.entry.next.id = self.bell.q.val().value;
            self.entry.next.needed = self.bell.q.val().more;
            self.entry.next.left = self.bell.q.val().more;
            self.entry.next.halvings = 0.into();
        }
        if self.exists.val()
            & self.doorbell.val().valid
            & (self.doorbell.val().kind == self.this_doorbell.val())
        {
            self.bell.d.next = self.doorbell.val();
        }
        self.counts.write_enable.next = self.write.val();
        self.counts.write_address.next = self.write_at.val();
        self.counts.write_data.next = self.entry.val();
        self.answers.write_enable.next = self.write.val();
        self.answers.write_address.next = self.write_at.val();
        self.answers.write_data.next = self.entry.val();

        self.answers.read_address.next = self.query_endpoint.val() ^ self.query_id.val().get_bits::<8>(0);
        self.asked_endpoint.d.next = self.query_endpoint.val();
        self.asked_id.d.next = self.query_id.val();
        self.known.next = self.answers.read_data.val();
        self.halvings.next = 0.into();
        if self.exists.val()
            & self.known.val().valid
            & (self.known.val().endpoint == self.asked_endpoint.q.val())
            & (self.known.val().id == self.asked_id.q.val())
        {
            self.halvings.next = self.known.val().halvings;
        }

        if self.rst.val() {
            self.bell.d.next.valid = false;
        }
        if self.rst.val() {
            self.counting.d.next = false;
            self.has_advanced.d.next = false;
            self.has_finished.d.next = false;
        }
    }
}
