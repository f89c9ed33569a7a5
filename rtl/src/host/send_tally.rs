//! How many send entries of each endpoint are in the NIC: taken from its ring,
//! and not handed to its completion queue.
//!
//! ```text
//!  take ──> +1 ──┐
//!  give ──> -1 ──┴─> counts ──> left, of the endpoint asked about
//! ```
//!
//! What is counted is all that may still read the endpoint's memory or write a
//! completion for it: messages, datagrams, refused entries.
//!
//! A take is counted a clock later, as a give is: it is known late in its own.
//!
//! Contract: takes are three clocks apart, gives two; both may come in one clock.
//! `left` follows `endpoint` by a clock, and a change by five.
//!
//! Verified by `testbenches/tests/send_tally.rs`.

use super::cleared_ram::ClearedRam;
use crate::prelude::*;
use tessera_abi::params::Config;

#[derive(LogicBlock)]
pub struct SendTally {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub take: Signal<In, Bit>,
    pub taker: Signal<In, Bits<8>>,
    /// A completion of a send entry goes to its queue, of either stream.
    pub sent: Signal<In, Bit>,
    pub sender: Signal<In, Bits<8>>,
    pub refused: Signal<In, Bit>,
    pub refuser: Signal<In, Bits<8>>,
    pub endpoint: Signal<In, Bits<8>>,
    pub left: Signal<Out, Bit>,
    pub ready: Signal<Out, Bit>,
    counts: ClearedRam<Bits<16>, 8>,
    /// Whether it is not zero, to be asked.
    shown: ClearedRam<Bit, 8>,
    taken: Dff<Bit>,
    taken_by: Dff<Bits<8>>,
    /// A give that waits for its clock.
    owed: Dff<Bit>,
    owed_to: Dff<Bits<8>>,
    // The count that is changed in this clock.
    changing: Dff<Bit>,
    at: Dff<Bits<8>>,
    up: Dff<Bit>,
    // The one before: too late for what was read.
    changed: Dff<Bit>,
    changed_at: Dff<Bits<8>>,
    changed_to: Dff<Bits<16>>,
    now_at: Signal<Local, Bits<8>>,
    count: Signal<Local, Bits<16>>,
    new_count: Signal<Local, Bits<16>>,
}

impl SendTally {
    /// For the endpoints of a configuration.
    pub fn new(config: &Config) -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            take: Default::default(),
            taker: Default::default(),
            sent: Default::default(),
            sender: Default::default(),
            refused: Default::default(),
            refuser: Default::default(),
            endpoint: Default::default(),
            left: Default::default(),
            ready: Default::default(),
            counts: ClearedRam::new(config.endpoints_log2, "distributed"),
            shown: ClearedRam::of_endpoints(config),
            taken: Default::default(),
            taken_by: Default::default(),
            owed: Default::default(),
            owed_to: Default::default(),
            changing: Default::default(),
            at: Default::default(),
            up: Default::default(),
            changed: Default::default(),
            changed_at: Default::default(),
            changed_to: Default::default(),
            now_at: Default::default(),
            count: Default::default(),
            new_count: Default::default(),
        }
    }
}

impl Logic for SendTally {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self, clk, taken, taken_by, owed, owed_to, changing, at, up, changed, changed_at, changed_to
        );
        self.counts.clk.next = self.clk.val();
        self.counts.rst.next = self.rst.val();
        self.shown.clk.next = self.clk.val();
        self.shown.rst.next = self.rst.val();
        self.ready.next = self.counts.ready.val() & self.shown.ready.val();

        // One count is read per clock, a take's first.
        self.taken.d.next = self.take.val();
        self.taken_by.d.next = self.taker.val();
        self.now_at.next = self.owed_to.q.val();
        if self.taken.q.val() {
            self.now_at.next = self.taken_by.q.val();
        }
        if !self.taken.q.val() {
            self.owed.d.next = false;
        }
        if self.sent.val() | self.refused.val() {
            self.owed.d.next = true;
            self.owed_to.d.next = self.sender.val();
            if self.refused.val() {
                self.owed_to.d.next = self.refuser.val();
            }
        }
        self.counts.read_address.next = self.now_at.val();
        self.changing.d.next = self.taken.q.val() | self.owed.q.val();
        self.at.d.next = self.now_at.val();
        self.up.d.next = self.taken.q.val();

        // And written in the next.
        self.count.next = self.counts.read_data.val();
        if self.changed.q.val() & (self.changed_at.q.val() == self.at.q.val()) {
            self.count.next = self.changed_to.q.val();
        }
        self.new_count.next = self.count.val() - 1;
        if self.up.q.val() {
            self.new_count.next = self.count.val() + 1;
        }
        self.counts.write_enable.next = self.changing.q.val();
        self.counts.write_address.next = self.at.q.val();
        self.counts.write_data.next = self.new_count.val();
        self.changed.d.next = self.changing.q.val();
        self.changed_at.d.next = self.at.q.val();
        self.changed_to.d.next = self.new_count.val();

        self.shown.write_enable.next = self.changed.q.val();
        self.shown.write_address.next = self.changed_at.q.val();
        self.shown.write_data.next = self.changed_to.q.val().any();
        self.shown.read_address.next = self.endpoint.val();
        self.left.next = self.shown.read_data.val();

        if self.rst.val() {
            self.taken.d.next = false;
            self.owed.d.next = false;
            self.changing.d.next = false;
            self.changed.d.next = false;
        }
    }
}
