//! Builds frames in beats of 16 bytes: headers in front of the payload, which turns to meet them.
//!
//! ```text
//!  feedback ─┐first                             payload ────┐
//!  built ────┴─> A: packet, EV, ─> headers ─> B: held ─> ┌──┴────┐
//!                   time, keys      └─> IP sum ────────> │ beats │─> frame
//!                                                        └───────┘   sent
//! ```
//!
//! A frame has four beats or more, and its checksum is in the second: the sum is made while
//! beats leave already, and the next packet need not be ahead by more than stage A.
//!
//! Contract: that of `wire/tx_build`, but:
//! - `built` accepted at clock 0 gives its first `frame` beat at clock 3;
//! - a packet is taken, and its time read, only when at most two beats of others are
//!   ahead of it: enough to hide the stages, so that feedback waits for the packet being
//!   sent and one in stage A;
//! - `payload` ends a packet's bytes by `tlast`; what lies behind a frame's end means nothing.
//!
//! Stage A is `tx_choice`, stage B `narrow/tx_beats`.
//!
//! Verified by `testbenches/tests/tx_build.rs` against `abi::wire::emit`.

use super::super::tx_choice::TxChoice;
use super::super::tx_fields::TxFields;
use super::super::vlan_strip::Tag;
use super::NarrowTxBeats;
use crate::prelude::*;
use crate::types::{NarrowBeat, Settings, TableWrite, TxFeedback, TxPacket, TxSent};
use tessera_abi::params::Config;

#[derive(LogicBlock)]
pub struct NarrowTxBuild {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub settings: Signal<In, Settings>,
    /// Ticks.
    pub now: Signal<In, Bits<32>>,
    pub table_write: Signal<In, TableWrite>,
    pub feedback_valid: Signal<In, Bit>,
    pub feedback_data: Signal<In, TxFeedback>,
    pub feedback_ready: Signal<Out, Bit>,
    pub built_valid: Signal<In, Bit>,
    pub built_data: Signal<In, TxPacket>,
    pub built_ready: Signal<Out, Bit>,
    pub payload_valid: Signal<In, Bit>,
    pub payload_data: Signal<In, NarrowBeat>,
    pub payload_ready: Signal<Out, Bit>,
    /// The entropy value of the packet in stage A, and whether it is to carry AR.
    pub ev: Signal<In, Bits<8>>,
    pub ev_asks: Signal<In, Bit>,
    /// A packet enters stage A: its destination and kind (0 new DATA, 1
    /// retransmission, 2 PROBE, 3 FEEDBACK, RELEASE or datagram).
    pub ev_take: Signal<Out, Bit>,
    pub ev_gid: Signal<Out, Bits<128>>,
    pub ev_kind: Signal<Out, Bits<2>>,
    pub frame_valid: Signal<Out, Bit>,
    pub frame_data: Signal<Out, NarrowBeat>,
    pub frame_ready: Signal<In, Bit>,
    pub sent: Signal<Out, TxSent>,
    /// FEEDBACK or a RELEASE has its number and Q_Key: the table may change.
    pub said: Signal<Out, Bit>,
    pub tx_data: Signal<Out, Bit>,
    pub tx_retransmitted: Signal<Out, Bit>,
    pub tx_probe: Signal<Out, Bit>,
    pub tx_feedback: Signal<Out, Bit>,
    pub tx_nack: Signal<Out, Bit>,
    pub tx_release: Signal<Out, Bit>,
    pub tx_ud: Signal<Out, Bit>,
    /// One per frame, with its first beat.
    pub tag_valid: Signal<Out, Bit>,
    pub tag_data: Signal<Out, Tag>,

    choice: TxChoice,
    fields: TxFields,
    beats_out: NarrowTxBeats,

    src_sum: Dff<Bits<20>>,
    dst_sum: Dff<Bits<20>>,
    length: Dff<Bits<16>>,
    tos_ttl: Dff<Bits<16>>,
    sum: Dff<Bits<20>>,

    go: Signal<Local, Bit>,
    folded: Signal<Local, Bits<17>>,
    checksum: Signal<Local, Bits<16>>,
}

impl NarrowTxBuild {
    pub fn new(config: &Config) -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            settings: Default::default(),
            now: Default::default(),
            table_write: Default::default(),
            feedback_valid: Default::default(),
            feedback_data: Default::default(),
            feedback_ready: Default::default(),
            built_valid: Default::default(),
            built_data: Default::default(),
            built_ready: Default::default(),
            payload_valid: Default::default(),
            payload_data: Default::default(),
            payload_ready: Default::default(),
            ev: Default::default(),
            ev_asks: Default::default(),
            ev_take: Default::default(),
            ev_gid: Default::default(),
            ev_kind: Default::default(),
            frame_valid: Default::default(),
            frame_data: Default::default(),
            frame_ready: Default::default(),
            sent: Default::default(),
            said: Default::default(),
            tx_data: Default::default(),
            tx_retransmitted: Default::default(),
            tx_probe: Default::default(),
            tx_feedback: Default::default(),
            tx_nack: Default::default(),
            tx_release: Default::default(),
            tx_ud: Default::default(),
            tag_valid: Default::default(),
            tag_data: Default::default(),
            choice: TxChoice::without_copies(config),
            fields: TxFields::new(),
            beats_out: NarrowTxBeats::new(),
            src_sum: Default::default(),
            dst_sum: Default::default(),
            length: Default::default(),
            tos_ttl: Default::default(),
            sum: Default::default(),
            go: Default::default(),
            folded: Default::default(),
            checksum: Default::default(),
        }
    }
}

impl Logic for NarrowTxBuild {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, src_sum, dst_sum, length, tos_ttl, sum);
        self.beats_out.clk.next = self.clk.val();
        self.beats_out.rst.next = self.rst.val();
        self.choice.clk.next = self.clk.val();
        self.choice.rst.next = self.rst.val();
        self.choice.table_write.next = self.table_write.val();

        // Stage A: the choice, and its headers.
        self.choice.now.next = self.now.val();
        self.choice.feedback_valid.next = self.feedback_valid.val();
        self.choice.feedback_data.next = self.feedback_data.val();
        self.feedback_ready.next = self.choice.feedback_ready.val();
        self.choice.built_valid.next = self.built_valid.val();
        self.choice.built_data.next = self.built_data.val();
        self.built_ready.next = self.choice.built_ready.val();
        self.ev_take.next = self.choice.ev_take.val();
        self.ev_gid.next = self.choice.ev_gid.val();
        self.ev_kind.next = self.choice.ev_kind.val();
        self.choice.open.next = self.beats_out.soon.val();
        self.go.next = self.choice.valid.val() & self.beats_out.head_ready.val();
        self.choice.go.next = self.go.val();
        self.said.next = self.go.val() & self.choice.is_feedback.val();
        self.fields.settings.next = self.settings.val();
        self.fields.is_feedback.next = self.choice.is_feedback.val();
        self.fields.v6.next = self.choice.v6.val();
        self.fields.packet.next = self.choice.packet.val();
        self.fields.response.next = self.choice.response.val();
        self.fields.ev.next = self.ev.val();
        self.fields.asks.next = self.ev_asks.val();
        self.fields.stamp.next = self.choice.stamp.val();
        self.fields.endpoint.next = self.choice.endpoint.val();
        self.fields.keys.next = self.choice.keys.val();

        // Stage B: the checksum, in time for the second beat.
        if self.go.val() {
            self.src_sum.d.next = self.fields.source_sum.val();
            self.dst_sum.d.next = bit_cast::<20, 16>(self.fields.dst_ip.val().get_bits::<16>(0))
                + bit_cast::<20, 16>(self.fields.dst_ip.val().get_bits::<16>(16));
            self.length.d.next = self.fields.ip_length.val();
            self.tos_ttl.d.next = self.fields.tos_ttl.val();
        }
        self.sum.d.next = self.src_sum.q.val()
            + self.dst_sum.q.val()
            + bit_cast::<20, 16>(self.length.q.val())
            + bit_cast::<20, 16>(self.tos_ttl.q.val());
        self.folded.next = bit_cast::<17, 16>(self.sum.q.val().get_bits::<16>(0))
            + bit_cast::<17, 4>(self.sum.q.val().get_bits::<4>(16));
        self.checksum.next =
            self.folded.val().get_bits::<16>(0) + bit_cast::<16, 1>(self.folded.val().get_bits::<1>(16));

        // Stage B: the beats.
        self.beats_out.head_valid.next = self.choice.valid.val();
        self.beats_out.head.next = self.fields.parts.val();
        self.beats_out.ticket.next = self.fields.ticket.val();
        self.beats_out.checksum.next = !self.checksum.val();
        self.beats_out.payload_valid.next = self.payload_valid.val();
        self.beats_out.payload_data.next = self.payload_data.val();
        self.payload_ready.next = self.beats_out.payload_ready.val();
        self.frame_valid.next = self.beats_out.frame_valid.val();
        self.frame_data.next = self.beats_out.frame_data.val();
        self.beats_out.frame_ready.next = self.frame_ready.val();
        self.sent.next = self.beats_out.sent.val();
        self.tx_data.next = self.beats_out.tx_data.val();
        self.tx_retransmitted.next = self.beats_out.tx_retransmitted.val();
        self.tx_probe.next = self.beats_out.tx_probe.val();
        self.tx_feedback.next = self.beats_out.tx_feedback.val();
        self.tx_nack.next = self.beats_out.tx_nack.val();
        self.tx_release.next = self.beats_out.tx_release.val();
        self.tx_ud.next = self.beats_out.tx_ud.val();
        self.tag_valid.next = self.beats_out.tag_valid.val();
        self.tag_data.next = self.beats_out.tag_data.val();
    }
}
