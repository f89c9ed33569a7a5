//! How far the rounds of collectives have come: registered by doorbells, counted
//! by messages that end well, asked by the interval block (RD-1..RD-3).
//!
//! ```text
//!  doorbell ──> one register ────────────┐
//!  done ──> read ──> at hand ──> count ──┴──> 256 places, twice ──> halvings, of `query`
//!                        ^         ├──> advanced: what is left has halved
//!                        └─ again ─┴──> finished: it was the last
//! ```
//!
//! A place is counted in the clock after that in which its word comes out of the memory. A
//! message that comes two clocks behind another one of the same place finds it at hand. A
//! registration that is written in between stays: the count of before is not written over it.
//!
//! Contract: one `done` per two clocks, its pulses three clocks later; the answer to `query_*`
//! follows a clock later, of a place that is not written in that clock. A registration is in
//! place before the next doorbell, four clocks on. After reset the places are cleared, 256
//! clocks, until `ready`.
//!
//! Verified by `testbenches/tests/rounds.rs` and `rx_context/`.

use crate::host::cleared_ram::ClearedRam;
use crate::host::registers::DOORBELL_KIND_ROUND;
use crate::prelude::*;
use crate::types::Doorbell;
use tessera_abi::params::Config;

/// How far a registered round is, at place endpoint XOR low half of id: in its place the id says
/// the endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct RoundCount {
    /// Messages are left: the next one, and so many behind it.
    pub some: Bit,
    pub further: Bits<16>,
    pub id: Bits<16>,
    /// As many as may be left for the next halving.
    pub half: Bits<15>,
    /// How often what is left has halved; 15 when nothing is.
    pub halvings: Bits<4>,
}

/// What is said of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct RoundAnswer {
    pub valid: Bit,
    pub id: Bits<16>,
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
    /// Of the round asked for a clock ago, if it is registered.
    pub halvings: Signal<Out, Bits<4>>,
    pub registered: Signal<Out, Bit>,
    pub advanced: Signal<Out, Bit>,
    pub finished: Signal<Out, Bit>,
    pub ready: Signal<Out, Bit>,
    counts: ClearedRam<RoundCount, 8>,
    answers: ClearedRam<RoundAnswer, 8>,
    /// A registration that waits to be written.
    bell: Dff<Doorbell>,
    /// A message is done: its place is read, is at hand.
    reading: Dff<Bit>,
    counting: Dff<Bit>,
    /// Where, and whose it is.
    at: Dff<Bits<8>>,
    id: Dff<Bits<16>>,
    at_hand: Dff<RoundCount>,
    /// The place being read was at hand, and written as it was read.
    again: Dff<Bit>,
    /// The place at hand was registered since it was read.
    replaced: Dff<Bit>,
    asked_id: Dff<Bits<16>>,
    has_advanced: Dff<Bit>,
    has_finished: Dff<Bit>,
    done_at: Signal<Local, Bits<8>>,
    bell_at: Signal<Local, Bits<8>>,
    known: Signal<Local, RoundAnswer>,
    mine: Signal<Local, Bit>,
    halves: Signal<Local, Bit>,
    finishes: Signal<Local, Bit>,
    /// The place at hand as it is to be.
    counted: Signal<Local, RoundCount>,
    registers: Signal<Local, Bit>,
    count: Signal<Local, RoundCount>,
    answer: Signal<Local, RoundAnswer>,
    write: Signal<Local, Bit>,
    write_at: Signal<Local, Bits<8>>,
    this_doorbell: Constant<Bits<2>>,
    exists: Constant<Bit>,
    /// Of what is known of a round: all, or nothing where there are none.
    kept: Constant<Bits<4>>,
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
            registered: Default::default(),
            advanced: Default::default(),
            finished: Default::default(),
            ready: Default::default(),
            counts: ClearedRam::new(8, "block"),
            answers: ClearedRam::new(8, "block"),
            bell: Default::default(),
            reading: Default::default(),
            counting: Default::default(),
            at: Default::default(),
            id: Default::default(),
            at_hand: Default::default(),
            again: Default::default(),
            replaced: Default::default(),
            asked_id: Default::default(),
            has_advanced: Default::default(),
            has_finished: Default::default(),
            done_at: Default::default(),
            bell_at: Default::default(),
            known: Default::default(),
            mine: Default::default(),
            halves: Default::default(),
            finishes: Default::default(),
            counted: Default::default(),
            registers: Default::default(),
            count: Default::default(),
            answer: Default::default(),
            write: Default::default(),
            write_at: Default::default(),
            this_doorbell: Constant::new(DOORBELL_KIND_ROUND.into()),
            exists: Constant::new(config.rounds),
            kept: Constant::new((if config.rounds { 15u64 } else { 0 }).into()),
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
            reading,
            counting,
            at,
            id,
            at_hand,
            again,
            replaced,
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

        // A message is done: its place is read in the first clock, is there in the second, and
        // is counted in the third, in which that of the next one may be read.
        self.done_at.next = self.done_endpoint.val() ^ self.done_id.val().get_bits::<8>(0);
        self.bell_at.next = self.bell.q.val().index ^ self.bell.q.val().value.get_bits::<8>(0);
        self.counts.read_address.next = self.done_at.val();
        self.reading.d.next = self.done_valid.val();
        self.counting.d.next = self.reading.q.val();
        if self.done_valid.val() {
            self.at.d.next = self.done_at.val();
            self.id.d.next = self.done_id.val();
        }
        self.mine.next = self.exists.val()
            & self.counting.q.val()
            & self.at_hand.q.val().some
            & (self.at_hand.q.val().id == self.id.q.val());
        self.halves.next = self.at_hand.q.val().further <= bit_cast::<16, 15>(self.at_hand.q.val().half);
        self.finishes.next = self.at_hand.q.val().further == 0;
        self.counted.next = self.at_hand.q.val();
        self.counted.next.further = self.at_hand.q.val().further - 1;
        if self.halves.val() {
            self.counted.next.half = self.at_hand.q.val().half >> 1;
            self.counted.next.halvings = self.at_hand.q.val().halvings + 1;
        }
        if self.finishes.val() {
            self.counted.next.some = false;
            self.counted.next.halvings = 15.into();
        }
        self.has_advanced.d.next = self.mine.val() & self.halves.val();
        self.has_finished.d.next = self.mine.val() & self.finishes.val();

        // A registration is written when nothing else is written or read.
        self.registers.next = self.bell.q.val().valid & !self.counting.q.val() & !self.done_valid.val();
        self.replaced.d.next = self.registers.val() & (self.bell_at.val() == self.at.q.val());
        self.again.d.next =
            (self.done_at.val() == self.at.q.val()) & self.counting.q.val() & !self.replaced.q.val();
        if self.mine.val() {
            self.at_hand.d.next = self.counted.val();
        }
        if self.reading.q.val() & !self.again.q.val() {
            self.at_hand.d.next = self.counts.read_data.val();
        }
        self.write.next = self.mine.val() & !self.replaced.q.val();
        self.write_at.next = self.at.q.val();
        self.count.next = self.counted.val();
        self.answer.next.valid = true;
        self.answer.next.id = self.at_hand.q.val().id;
        self.answer.next.halvings = self.counted.val().halvings;
        if self.registers.val() {
            self.bell.d.next.valid = false;
            self.write.next = true;
            self.write_at.next = self.bell_at.val();
            self.count.next.some = self.bell.q.val().more.any();
            self.count.next.further = self.bell.q.val().more - 1;
            self.count.next.id = self.bell.q.val().value;
            self.count.next.half = self.bell.q.val().more.get_bits::<15>(1);
            self.count.next.halvings = 0.into();
            self.answer.next.valid = self.bell.q.val().more.any();
            self.answer.next.id = self.bell.q.val().value;
            self.answer.next.halvings = 0.into();
        }
        if self.exists.val()
            & self.doorbell.val().valid
            & (self.doorbell.val().kind == self.this_doorbell.val())
        {
            self.bell.d.next = self.doorbell.val();
        }
        self.counts.write_enable.next = self.write.val();
        self.counts.write_address.next = self.write_at.val();
        self.counts.write_data.next = self.count.val();
        self.answers.write_enable.next = self.write.val();
        self.answers.write_address.next = self.write_at.val();
        self.answers.write_data.next = self.answer.val();

        self.answers.read_address.next = self.query_endpoint.val() ^ self.query_id.val().get_bits::<8>(0);
        self.asked_id.d.next = self.query_id.val();
        self.known.next = self.answers.read_data.val();
        // A choice by a constant, with nothing else in its block, is none that Icarus Verilog ever makes.
        self.halvings.next = self.known.val().halvings & self.kept.val();
        self.registered.next =
            self.exists.val() & self.known.val().valid & (self.known.val().id == self.asked_id.q.val());

        if self.rst.val() {
            self.bell.d.next.valid = false;
        }
        if self.rst.val() {
            self.reading.d.next = false;
            self.counting.d.next = false;
            self.has_advanced.d.next = false;
            self.has_finished.d.next = false;
        }
    }
}
