//! The first stage of `tx_build`: which packet is next, when, with whose keys.
//!
//! ```text
//!  feedback ─┐first
//!  built ────┴─> one packet, its time ──> packet or response, stamp
//!                └─> ev_take, ev_gid, ev_kind      └─> endpoint ──> keys
//! ```
//!
//! Contract: a packet is taken while none is held and `open` is high, FEEDBACK (or a
//! RELEASE, which comes as its word) first; `ev_take` pulses with it. It is held from the
//! next clock on until `go`. Of `packet` and `response` the one that was not taken is zero;
//! of a RELEASE `response` keeps its addresses, its message and nothing else.
//! [`TxChoice::without_copies`] leaves it with its producer until `go`, when the `ready` comes.
//!
//! Verified by `testbenches/tests/tx_build.rs`.

use super::endpoint_keys::{EndpointKeys, KeyWord};
use crate::prelude::*;
use crate::types::{gid_prefix, TableWrite, TxFeedback, TxPacket};
use tessera_abi::params::Config;
use tessera_abi::wire;

#[derive(LogicBlock)]
pub struct TxChoice {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    /// Ticks.
    pub now: Signal<In, Bits<32>>,
    pub table_write: Signal<In, TableWrite>,
    pub feedback_valid: Signal<In, Bit>,
    pub feedback_data: Signal<In, TxFeedback>,
    pub feedback_ready: Signal<Out, Bit>,
    pub built_valid: Signal<In, Bit>,
    pub built_data: Signal<In, TxPacket>,
    pub built_ready: Signal<Out, Bit>,
    pub ev_take: Signal<Out, Bit>,
    pub ev_gid: Signal<Out, Bits<128>>,
    pub ev_kind: Signal<Out, Bits<2>>,
    /// Little enough is ahead.
    pub open: Signal<In, Bit>,
    /// A packet is held; it leaves.
    pub valid: Signal<Out, Bit>,
    pub go: Signal<In, Bit>,
    pub is_feedback: Signal<Out, Bit>,
    /// Its destination's GID holds no IPv4 address.
    pub v6: Signal<Out, Bit>,
    pub packet: Signal<Out, TxPacket>,
    pub response: Signal<Out, TxFeedback>,
    pub endpoint: Signal<Out, Bits<8>>,
    /// Ticks.
    pub stamp: Signal<Out, Bits<32>>,
    pub keys: Signal<Out, KeyWord>,

    key_table: EndpointKeys,
    full: Dff<Bit>,
    feedback: Dff<Bit>,
    held: Dff<TxPacket>,
    answer: Dff<TxFeedback>,
    of: Dff<Bits<8>>,
    moment: Dff<Bits<32>>,
    six: Dff<Bit>,

    /// The answer in front, or what a RELEASE has of one.
    said: Signal<Local, TxFeedback>,
    free: Signal<Local, Bit>,
    take_feedback: Signal<Local, Bit>,
    take_built: Signal<Local, Bit>,
    retx: Constant<Bits<8>>,
    /// Above the IPv4 address of a GID that holds one.
    mapped: Constant<Bits<96>>,
    has_v6: Constant<Bit>,
    no_packet: Constant<TxPacket>,
    no_answer: Constant<TxFeedback>,
    /// It keeps a copy of what it took.
    keeps: Constant<Bit>,
}

impl TxChoice {
    /// One that takes a packet only as it goes, where both streams show it until then: a constant in front of its
    /// copies, which a synthesiser drops.
    pub fn without_copies(config: &Config) -> Self {
        Self { keeps: Constant::new(false), ..Self::new(config) }
    }

    pub fn new(config: &Config) -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            now: Default::default(),
            table_write: Default::default(),
            feedback_valid: Default::default(),
            feedback_data: Default::default(),
            feedback_ready: Default::default(),
            built_valid: Default::default(),
            built_data: Default::default(),
            built_ready: Default::default(),
            ev_take: Default::default(),
            ev_gid: Default::default(),
            ev_kind: Default::default(),
            open: Default::default(),
            valid: Default::default(),
            go: Default::default(),
            is_feedback: Default::default(),
            v6: Default::default(),
            packet: Default::default(),
            response: Default::default(),
            endpoint: Default::default(),
            stamp: Default::default(),
            keys: Default::default(),
            key_table: EndpointKeys::new(config),
            full: Default::default(),
            feedback: Default::default(),
            held: Default::default(),
            answer: Default::default(),
            of: Default::default(),
            moment: Default::default(),
            six: Default::default(),
            said: Default::default(),
            free: Default::default(),
            take_feedback: Default::default(),
            take_built: Default::default(),
            retx: Constant::new(u64::from(wire::flag::RETX).into()),
            mapped: gid_prefix(config),
            has_v6: Constant::new(config.ipv6),
            no_packet: Constant::new(TxPacket::default()),
            no_answer: Constant::new(TxFeedback::default()),
            keeps: Constant::new(true),
        }
    }
}

impl Logic for TxChoice {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, full, feedback, held, answer, of, moment, six);
        self.key_table.clk.next = self.clk.val();
        self.key_table.rst.next = self.rst.val();
        self.key_table.table_write.next = self.table_write.val();
        self.keys.next = self.key_table.entry.val();
        self.valid.next = self.full.q.val();
        self.is_feedback.next = self.feedback.q.val();
        self.v6.next = self.six.q.val();
        // Of a RELEASE, what it says.
        self.said.next = self.feedback_data.val();
        if self.feedback_data.val().release {
            self.said.next.flags = 0.into();
            self.said.next.ev_echo = 0.into();
            self.said.next.status = 0.into();
            self.said.next.cumulative = 0.into();
            self.said.next.sequence = 0.into();
            self.said.next.grant = 0.into();
            self.said.next.duplicates = 0.into();
            self.said.next.base = 0.into();
            self.said.next.limit = 0.into();
            self.said.next.sample = false;
            self.said.next.bitmap = 0.into();
        }
        if self.keeps.val() {
            self.packet.next = self.held.q.val();
            self.response.next = self.answer.q.val();
        } else if self.feedback.q.val() {
            self.packet.next = self.no_packet.val();
            self.response.next = self.said.val();
        } else {
            self.packet.next = self.built_data.val();
            self.response.next = self.no_answer.val();
        }
        self.endpoint.next = self.of.q.val();
        self.stamp.next = self.moment.q.val();

        if self.go.val() {
            self.full.d.next = false;
        }
        self.free.next = !self.full.q.val() & self.open.val();
        self.take_feedback.next = self.free.val() & self.feedback_valid.val();
        self.take_built.next = self.free.val() & !self.feedback_valid.val() & self.built_valid.val();
        if self.keeps.val() {
            self.feedback_ready.next = self.free.val();
            self.built_ready.next = self.free.val() & !self.feedback_valid.val();
        } else {
            self.feedback_ready.next = self.go.val() & self.feedback.q.val();
            self.built_ready.next = self.go.val() & !self.feedback.q.val();
        }
        self.ev_take.next = self.take_feedback.val() | self.take_built.val();
        if self.take_feedback.val() {
            self.full.d.next = true;
            self.feedback.d.next = true;
            self.held.d.next = self.no_packet.val();
            self.answer.d.next = self.said.val();
            self.of.d.next = self.feedback_data.val().endpoint;
        } else if self.take_built.val() {
            self.full.d.next = true;
            self.feedback.d.next = false;
            self.held.d.next = self.built_data.val();
            self.answer.d.next = self.no_answer.val();
            self.of.d.next = self.built_data.val().endpoint;
        }
        self.ev_gid.next = self.built_data.val().dst_gid;
        self.ev_kind.next = 0.into();
        if self.built_data.val().probe {
            self.ev_kind.next = 2.into();
        } else if (self.built_data.val().flags & self.retx.val()).any() {
            self.ev_kind.next = 1.into();
        }
        if self.built_data.val().ud {
            self.ev_kind.next = 3.into();
        }
        if self.feedback_valid.val() {
            self.ev_gid.next = self.feedback_data.val().dst_gid;
            self.ev_kind.next = 3.into();
        }
        if self.ev_take.val() {
            self.moment.d.next = self.now.val();
            // How long its headers are hangs on it.
            self.six.d.next = self.has_v6.val() & (self.ev_gid.val().get_bits::<96>(32) != self.mapped.val());
        }
        // The keys of the packet that is held in the next clock.
        self.key_table.index.next = self.of.q.val();
        if self.take_feedback.val() {
            self.key_table.index.next = self.feedback_data.val().endpoint;
        } else if self.take_built.val() {
            self.key_table.index.next = self.built_data.val().endpoint;
        }

        if self.rst.val() {
            self.full.d.next = false;
        }
    }
}
