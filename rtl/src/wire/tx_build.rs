//! Builds frames: headers in front of the payload, which moves up to meet them.
//!
//! ```text
//!  feedback ─┐first                                         payload ──┐
//!  built ────┴─> A: packet, ─> B: header ─> C: IP sum, ─> D: IP ─> ┌──┴────┐
//!                   time, keys    words, EV    EV placed     check- │ beats │─> frame
//!                                                            sum    └───────┘   sent
//! ```
//!
//! Contract:
//! - One beat per clock, from packet to packet too: two-beat packets follow
//!   each other, and 4096 bytes of payload take 66 beats (the ICRC comes later,
//!   the tag of `tag` last of all).
//!   `built` accepted at clock 0 gives its first `frame` beat at clock 5.
//! - A packet is taken, and its time read, only when at most
//!   eight beats of others are ahead of it (and one packet in stage A): enough
//!   to hide the stages, so that feedback waits for one long packet at most.
//! - `ev` and `ev_asks` belong to a packet from the clock after its `ev_take`
//!   until the next one.
//! - `built` promises its payload: once `built_ready`, the beats must come
//!   without waiting for anything. FEEDBACK goes first whenever both wait, and so
//!   does a RELEASE, which comes as FEEDBACK's word.
//! - `sent` pulses in the clock after the last beat of a DATA or PROBE packet
//!   was taken by `frame_ready`; events when it goes into the output register.
//! - Bytes of `payload` outside `tkeep` count as zeros. Stage A is `tx_choice`,
//!   stage D `tx_beats`.
//!
//! Verified by `testbenches/tests/tx_build.rs` against `abi::wire::emit`.

use super::tx_beats::{Ticket, TxBeats};
use super::tx_choice::TxChoice;
use super::tx_head::TxHead;
use super::vlan_strip::Tag;
use crate::prelude::*;
use crate::types::{Beat, Settings, TableWrite, TxFeedback, TxPacket, TxSent};
use tessera_abi::params::Config;
use tessera_abi::wire;

/// Where the entropy value stands, and AR, by the first bit of the byte: the low byte of the source port
/// and of the flow label, and in the TRH.
const _: () = {
    let [v4, _, v6, _] = wire::Form::ALL;
    assert!(wire::SPORT_BASE & 0xFF == 0 && wire::flag::AR == 1);
    assert!(8 * (v4.udp_at() + 1) == 280 && 8 * (v6.udp_at() + 1) == 440 && 8 * (v6.ip_at() + 3) == 136);
    assert!(8 * (v4.trh_at() + wire::data::FLAGS) == 504 && 8 * (v4.trh_at() + wire::data::EV) == 512);
    assert!(8 * (v6.trh_at() + wire::data::FLAGS) == 664 && 8 * (v6.trh_at() + wire::data::EV) == 672);
};

#[derive(LogicBlock)]
pub struct TxBuild {
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
    pub payload_data: Signal<In, Beat>,
    pub payload_ready: Signal<Out, Bit>,
    /// The entropy value of the packet in stage A, and whether it is to carry AR: a new DATA packet or a
    /// retransmission.
    pub ev: Signal<In, Bits<8>>,
    pub ev_asks: Signal<In, Bit>,
    /// A packet enters stage A: its destination and kind (0 new DATA, 1
    /// retransmission, 2 PROBE, 3 FEEDBACK, RELEASE or datagram).
    pub ev_take: Signal<Out, Bit>,
    pub ev_gid: Signal<Out, Bits<128>>,
    pub ev_kind: Signal<Out, Bits<2>>,
    pub frame_valid: Signal<Out, Bit>,
    pub frame_data: Signal<Out, Beat>,
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
    beats_out: TxBeats,
    headers: TxHead,

    b_valid: Dff<Bit>,
    b_head: Dff<Bits<1152>>,
    /// They come late, out of a memory, and go into the words a stage behind them.
    b_ev: Dff<Bits<8>>,
    b_asks: Dff<Bit>,
    b_ticket: Dff<Ticket>,
    b_src_sum: Dff<Bits<20>>,
    b_dst_sum: Dff<Bits<20>>,
    b_length: Dff<Bits<16>>,
    b_tos_ttl: Dff<Bits<16>>,
    c_valid: Dff<Bit>,
    c_head: Dff<Bits<1152>>,
    c_ticket: Dff<Ticket>,
    c_sum: Dff<Bits<20>>,
    /// Beats of packets behind stage A that have not left stage D.
    ahead: Dff<Bits<8>>,

    port_ev: Signal<Local, Bits<1152>>,
    trh_ev: Signal<Local, Bits<1152>>,
    ar: Signal<Local, Bits<1152>>,
    marks: Signal<Local, Bits<1152>>,
    a_go: Signal<Local, Bit>,
    b_free: Signal<Local, Bit>,
    c_free: Signal<Local, Bit>,
    d_free: Signal<Local, Bit>,
    folded: Signal<Local, Bits<17>>,
    checksum: Signal<Local, Bits<16>>,
}

impl TxBuild {
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
            choice: TxChoice::new(config),
            beats_out: TxBeats::new(),
            headers: TxHead::new(),
            b_valid: Default::default(),
            b_head: Default::default(),
            b_ev: Default::default(),
            b_asks: Default::default(),
            port_ev: Default::default(),
            trh_ev: Default::default(),
            ar: Default::default(),
            marks: Default::default(),
            b_ticket: Default::default(),
            b_src_sum: Default::default(),
            b_dst_sum: Default::default(),
            b_length: Default::default(),
            b_tos_ttl: Default::default(),
            c_valid: Default::default(),
            c_head: Default::default(),
            c_ticket: Default::default(),
            c_sum: Default::default(),
            ahead: Default::default(),
            a_go: Default::default(),
            b_free: Default::default(),
            c_free: Default::default(),
            d_free: Default::default(),
            folded: Default::default(),
            checksum: Default::default(),
        }
    }
}

impl Logic for TxBuild {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self, clk, b_valid, b_head, b_ev, b_asks, b_ticket, b_src_sum, b_dst_sum, b_length, b_tos_ttl
        );
        dff_setup!(self, clk, c_valid, c_head, c_ticket, c_sum, ahead);
        self.beats_out.clk.next = self.clk.val();
        self.beats_out.rst.next = self.rst.val();
        self.choice.clk.next = self.clk.val();
        self.choice.rst.next = self.rst.val();
        self.choice.table_write.next = self.table_write.val();

        // Stage D and the beats.
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

        // Stages move up where there is room.
        self.d_free.next = self.beats_out.head_ready.val();
        self.c_free.next = !self.c_valid.q.val() | self.d_free.val();
        self.b_free.next = !self.b_valid.q.val() | self.c_free.val();
        self.a_go.next = self.choice.valid.val() & self.b_free.val();

        // Stage C to D: the checksum.
        self.folded.next = bit_cast::<17, 16>(self.c_sum.q.val().get_bits::<16>(0))
            + bit_cast::<17, 4>(self.c_sum.q.val().get_bits::<4>(16));
        self.checksum.next =
            self.folded.val().get_bits::<16>(0) + bit_cast::<16, 1>(self.folded.val().get_bits::<1>(16));
        self.beats_out.head_valid.next = self.c_valid.q.val();
        self.beats_out.ticket.next = self.c_ticket.q.val();
        self.beats_out.head.next = self.c_head.q.val();
        if !self.c_ticket.q.val().v6 {
            self.beats_out.head.next = self.c_head.q.val()
                | (bit_cast::<1152, 8>(!self.checksum.val().get_bits::<8>(8)) << 192)
                | (bit_cast::<1152, 8>(!self.checksum.val().get_bits::<8>(0)) << 200);
        }

        // Stage B to C: the sum, the entropy value and AR. FEEDBACK has the value of the packet it answers
        // in its TRH, a datagram has no TRH.
        self.port_ev.next = bit_cast::<1152, 8>(self.b_ev.q.val());
        self.trh_ev.next = 0.into();
        self.ar.next = bit_cast::<1152, 1>(self.b_asks.q.val().into());
        if !self.b_ticket.q.val().ud & (!self.b_ticket.q.val().feedback | self.b_ticket.q.val().release) {
            self.trh_ev.next = bit_cast::<1152, 8>(self.b_ev.q.val());
        }
        self.marks.next = (self.port_ev.val() << 280) | (self.ar.val() << 504) | (self.trh_ev.val() << 512);
        if self.b_ticket.q.val().v6 {
            self.marks.next = (self.port_ev.val() << 136)
                | (self.port_ev.val() << 440)
                | (self.ar.val() << 664)
                | (self.trh_ev.val() << 672);
        }
        if self.c_free.val() {
            self.c_valid.d.next = self.b_valid.q.val();
            self.c_ticket.d.next = self.b_ticket.q.val();
            self.c_head.d.next = self.b_head.q.val() | self.marks.val();
            self.c_sum.d.next = self.b_src_sum.q.val()
                + self.b_dst_sum.q.val()
                + bit_cast::<20, 16>(self.b_length.q.val())
                + bit_cast::<20, 16>(self.b_tos_ttl.q.val());
        }

        // Stage A to B: the words.
        self.headers.settings.next = self.settings.val();
        self.headers.is_feedback.next = self.choice.is_feedback.val();
        self.headers.v6.next = self.choice.v6.val();
        self.headers.packet.next = self.choice.packet.val();
        self.headers.response.next = self.choice.response.val();
        self.headers.stamp.next = self.choice.stamp.val();
        self.headers.endpoint.next = self.choice.endpoint.val();
        self.headers.keys.next = self.choice.keys.val();
        if self.b_free.val() {
            self.b_valid.d.next = self.choice.valid.val();
            self.b_head.d.next = self.headers.head.val();
            self.b_ev.d.next = self.ev.val();
            self.b_asks.d.next = self.ev_asks.val();
            self.b_ticket.d.next = self.headers.ticket.val();
            self.b_length.d.next = self.headers.ip_length.val();
            self.b_tos_ttl.d.next = self.headers.tos_ttl.val();
            self.b_src_sum.d.next = self.headers.source_sum.val();
            self.b_dst_sum.d.next = bit_cast::<20, 16>(self.headers.dst_ip.val().get_bits::<16>(0))
                + bit_cast::<20, 16>(self.headers.dst_ip.val().get_bits::<16>(16));
        }
        self.said.next = self.a_go.val() & self.choice.is_feedback.val();
        // Whether a packet goes and whether a beat leaves is known last.
        if self.a_go.val() & self.beats_out.step.val() {
            self.ahead.d.next = self.ahead.q.val() + self.headers.more_beats.val();
        } else if self.a_go.val() {
            self.ahead.d.next = self.ahead.q.val() + self.headers.more_beats.val() + 1;
        } else if self.beats_out.step.val() {
            self.ahead.d.next = self.ahead.q.val() - 1;
        }

        // Stage A: the choice.
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
        self.choice.open.next = self.ahead.q.val() <= 8;
        self.choice.go.next = self.a_go.val();

        if self.rst.val() {
            self.b_valid.d.next = false;
            self.c_valid.d.next = false;
            self.ahead.d.next = 0.into();
        }
    }
}
