//! Builds frames: headers in front of the payload, which moves up to meet them.
//!
//! ```text
//!  feedback ─┐first                                     payload ─────┐
//!  built ────┴─> A: packet, EV, ─> B: header ─> C: IP ─> D: IP ─> ┌──┴────┐
//!                   time, keys       words        sum      check- │ beats │─> frame
//!                                                          sum    └───────┘   sent
//! ```
//!
//! Contract:
//! - One beat per clock, from packet to packet too: two-beat packets follow
//!   each other, and 4096 bytes of payload take 66 beats (the ICRC comes later).
//!   `built` accepted at clock 0 gives its first `frame` beat at clock 5.
//! - A packet is taken, and its time read, only when at most
//!   eight beats of others are ahead of it (and one packet in stage A): enough
//!   to hide the stages, so that feedback waits for one long packet at most.
//! - `ev` and `ev_asks` belong to a packet from the clock after its `ev_take`
//!   until the next one.
//! - `built` promises its payload: once `built_ready`, the beats must come
//!   without waiting for anything. FEEDBACK goes first whenever both wait.
//! - `sent` pulses in the clock after the last beat of a DATA or PROBE packet
//!   was taken by `frame_ready`; events when it goes into the output register.
//! - Bytes of `payload` outside `tkeep` count as zeros. Stage D is `tx_beats`.
//!
//! Verified by `testbenches/tests/tx_build.rs` against `abi::wire::emit`.

use super::endpoint_keys::EndpointKeys;
use super::layout::{DataWord, FeedbackWord, RouteWord, ToWire};
use super::tx_beats::{Ticket, TxBeats};
use crate::prelude::*;
use crate::types::{Beat, Settings, TableWrite, TxFeedback, TxPacket, TxSent};
use tessera_abi::params::Config;
use tessera_abi::wire;

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
    /// The entropy value of the packet in stage A, and whether it is to carry AR.
    pub ev: Signal<In, Bits<8>>,
    pub ev_asks: Signal<In, Bit>,
    /// A packet enters stage A: its destination and kind (0 new DATA, 1
    /// retransmission, 2 PROBE, 3 FEEDBACK).
    pub ev_take: Signal<Out, Bit>,
    pub ev_gid: Signal<Out, Bits<128>>,
    pub ev_kind: Signal<Out, Bits<2>>,
    pub frame_valid: Signal<Out, Bit>,
    pub frame_data: Signal<Out, Beat>,
    pub frame_ready: Signal<In, Bit>,
    pub sent: Signal<Out, TxSent>,
    pub tx_data: Signal<Out, Bit>,
    pub tx_retransmitted: Signal<Out, Bit>,
    pub tx_probe: Signal<Out, Bit>,
    pub tx_feedback: Signal<Out, Bit>,
    pub tx_nack: Signal<Out, Bit>,

    keys: EndpointKeys,
    beats_out: TxBeats,
    route: ToWire<RouteWord, 496>,
    trh: ToWire<DataWord, 320>,
    answer: ToWire<FeedbackWord, 480>,

    a_valid: Dff<Bit>,
    a_feedback: Dff<Bit>,
    a_packet: Dff<TxPacket>,
    a_answer: Dff<TxFeedback>,
    a_endpoint: Dff<Bits<8>>,
    a_time: Dff<Bits<32>>,
    b_valid: Dff<Bit>,
    b_head: Dff<Bits<1024>>,
    b_ticket: Dff<Ticket>,
    b_src_sum: Dff<Bits<20>>,
    b_dst_sum: Dff<Bits<20>>,
    b_length: Dff<Bits<16>>,
    c_valid: Dff<Bit>,
    c_head: Dff<Bits<1024>>,
    c_ticket: Dff<Ticket>,
    c_sum: Dff<Bits<20>>,
    /// Beats of packets behind stage A that have not left stage D.
    ahead: Dff<Bits<8>>,

    open: Signal<Local, Bit>,
    take_feedback: Signal<Local, Bit>,
    take_built: Signal<Local, Bit>,
    a_go: Signal<Local, Bit>,
    b_free: Signal<Local, Bit>,
    c_free: Signal<Local, Bit>,
    d_free: Signal<Local, Bit>,
    pad: Signal<Local, Bits<2>>,
    padded: Signal<Local, Bits<13>>,
    to_round: Signal<Local, Bits<13>>,
    beats: Signal<Local, Bits<8>>,
    ip_length: Signal<Local, Bits<16>>,
    dst_gid: Signal<Local, Bits<128>>,
    age: Signal<Local, Bits<32>>,
    head: Signal<Local, Bits<1024>>,
    folded: Signal<Local, Bits<17>>,
    checksum: Signal<Local, Bits<16>>,

    ethertype: Constant<Bits<16>>,
    tos: Constant<Bits<8>>,
    ttl: Constant<Bits<8>>,
    udp: Constant<Bits<8>>,
    port: Constant<Bits<16>>,
    source_port: Constant<Bits<16>>,
    opcode: Constant<Bits<8>>,
    trh_version: Constant<Bits<4>>,
    kind_data: Constant<Bits<4>>,
    kind_probe: Constant<Bits<4>>,
    kind_feedback: Constant<Bits<4>>,
    data_ip_length: Constant<Bits<16>>,
    feedback_ip_length: Constant<Bits<16>>,
    fixed_sum: Constant<Bits<20>>,
    no_sample: Constant<Bits<16>>,
    retx: Constant<Bits<8>>,
    ar: Constant<Bits<8>>,
    nack: Constant<Bits<8>>,
}

impl TxBuild {
    pub fn new(config: &Config) -> Self {
        let ttl_protocol = u64::from(wire::TTL) << 8 | u64::from(wire::IP_UDP);
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
            tx_data: Default::default(),
            tx_retransmitted: Default::default(),
            tx_probe: Default::default(),
            tx_feedback: Default::default(),
            tx_nack: Default::default(),
            keys: EndpointKeys::new(config.endpoints_log2),
            beats_out: TxBeats::new(),
            route: Default::default(),
            trh: Default::default(),
            answer: Default::default(),
            a_valid: Default::default(),
            a_feedback: Default::default(),
            a_packet: Default::default(),
            a_answer: Default::default(),
            a_endpoint: Default::default(),
            a_time: Default::default(),
            b_valid: Default::default(),
            b_head: Default::default(),
            b_ticket: Default::default(),
            b_src_sum: Default::default(),
            b_dst_sum: Default::default(),
            b_length: Default::default(),
            c_valid: Default::default(),
            c_head: Default::default(),
            c_ticket: Default::default(),
            c_sum: Default::default(),
            ahead: Default::default(),
            open: Default::default(),
            take_feedback: Default::default(),
            take_built: Default::default(),
            a_go: Default::default(),
            b_free: Default::default(),
            c_free: Default::default(),
            d_free: Default::default(),
            pad: Default::default(),
            padded: Default::default(),
            to_round: Default::default(),
            beats: Default::default(),
            ip_length: Default::default(),
            dst_gid: Default::default(),
            age: Default::default(),
            head: Default::default(),
            folded: Default::default(),
            checksum: Default::default(),
            ethertype: Constant::new(u64::from(wire::ETHERTYPE_IPV4).into()),
            tos: Constant::new(u64::from(wire::TOS).into()),
            ttl: Constant::new(u64::from(wire::TTL).into()),
            udp: Constant::new(u64::from(wire::IP_UDP).into()),
            port: Constant::new(u64::from(wire::UDP_PORT).into()),
            source_port: Constant::new(u64::from(wire::SPORT_BASE).into()),
            opcode: Constant::new(u64::from(wire::OPCODE_UD_SEND).into()),
            trh_version: Constant::new(u64::from(wire::TRH_VERSION).into()),
            kind_data: Constant::new(u64::from(wire::TYPE_DATA).into()),
            kind_probe: Constant::new(u64::from(wire::TYPE_PROBE).into()),
            kind_feedback: Constant::new(u64::from(wire::TYPE_FEEDBACK).into()),
            data_ip_length: Constant::new(
                ((wire::DATA_HEADER_LEN + wire::ICRC_LEN - wire::ETH_LEN) as u64).into(),
            ),
            feedback_ip_length: Constant::new(((wire::FEEDBACK_FRAME_LEN - wire::ETH_LEN) as u64).into()),
            // Version, header length and TOS; the don't-fragment flag; TTL and protocol.
            fixed_sum: Constant::new((0x4500 + u64::from(wire::TOS) + 0x4000 + ttl_protocol).into()),
            no_sample: Constant::new(u64::from(wire::NO_SAMPLE).into()),
            retx: Constant::new(u64::from(wire::flag::RETX).into()),
            ar: Constant::new(u64::from(wire::flag::AR).into()),
            nack: Constant::new(u64::from(wire::fb::NACK).into()),
        }
    }
}

impl Logic for TxBuild {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, a_valid, a_feedback, a_packet, a_answer, a_endpoint, a_time);
        dff_setup!(self, clk, b_valid, b_head, b_ticket, b_src_sum, b_dst_sum, b_length);
        dff_setup!(self, clk, c_valid, c_head, c_ticket, c_sum, ahead);
        self.beats_out.clk.next = self.clk.val();
        self.beats_out.rst.next = self.rst.val();
        self.keys.clk.next = self.clk.val();
        self.keys.rst.next = self.rst.val();
        self.keys.table_write.next = self.table_write.val();

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

        // Stages move up where there is room.
        self.d_free.next = self.beats_out.head_ready.val();
        self.c_free.next = !self.c_valid.q.val() | self.d_free.val();
        self.b_free.next = !self.b_valid.q.val() | self.c_free.val();
        self.a_go.next = self.a_valid.q.val() & self.b_free.val();

        // Stage C to D: the checksum.
        self.folded.next = bit_cast::<17, 16>(self.c_sum.q.val().get_bits::<16>(0))
            + bit_cast::<17, 4>(self.c_sum.q.val().get_bits::<4>(16));
        self.checksum.next =
            self.folded.val().get_bits::<16>(0) + bit_cast::<16, 1>(self.folded.val().get_bits::<1>(16));
        self.beats_out.head_valid.next = self.c_valid.q.val();
        self.beats_out.ticket.next = self.c_ticket.q.val();
        self.beats_out.head.next = self.c_head.q.val()
            | (bit_cast::<1024, 8>(!self.checksum.val().get_bits::<8>(8)) << 192)
            | (bit_cast::<1024, 8>(!self.checksum.val().get_bits::<8>(0)) << 200);

        // Stage B to C: the sum.
        if self.c_free.val() {
            self.c_valid.d.next = self.b_valid.q.val();
            self.c_ticket.d.next = self.b_ticket.q.val();
            self.c_head.d.next = self.b_head.q.val();
            self.c_sum.d.next = self.b_src_sum.q.val()
                + self.b_dst_sum.q.val()
                + bit_cast::<20, 16>(self.b_length.q.val())
                + self.fixed_sum.val();
        }

        // Stage A to B: the words.
        self.pad.next = !self.a_packet.q.val().payload_len.get_bits::<2>(0) + 1;
        self.padded.next = self.a_packet.q.val().payload_len + bit_cast::<13, 2>(self.pad.val());
        self.to_round.next = self.padded.val() + 165;
        self.beats.next = bit_cast::<8, 7>(self.to_round.val().get_bits::<7>(6));
        self.ip_length.next = bit_cast::<16, 13>(self.padded.val()) + self.data_ip_length.val();
        self.dst_gid.next = self.a_packet.q.val().dst_gid;
        self.route.d.next.dst_mac = self.a_packet.q.val().dst_mac;
        self.route.d.next.pad_count = self.pad.val();
        self.route.d.next.dst_endpoint = self.a_packet.q.val().dst_endpoint;
        self.route.d.next.psn = self.a_packet.q.val().index;
        self.route.d.next.qkey = self.a_packet.q.val().qkey;
        if self.a_feedback.q.val() {
            self.beats.next = 2.into();
            self.ip_length.next = self.feedback_ip_length.val();
            self.dst_gid.next = self.a_answer.q.val().dst_gid;
            self.route.d.next.dst_mac = self.a_answer.q.val().dst_mac;
            self.route.d.next.pad_count = 0.into();
            self.route.d.next.dst_endpoint = self.a_answer.q.val().dst_endpoint;
            self.route.d.next.psn = 0.into();
            self.route.d.next.qkey = self.keys.entry.val().qkey;
        }
        self.route.d.next.src_mac = self.settings.val().local_mac;
        self.route.d.next.ethertype = self.ethertype.val();
        self.route.d.next.version = 4.into();
        self.route.d.next.ihl = 5.into();
        self.route.d.next.tos = self.tos.val();
        self.route.d.next.ip_length = self.ip_length.val();
        self.route.d.next.ip_id = 0.into();
        self.route.d.next.ip_reserved = 0.into();
        self.route.d.next.dont_fragment = 1.into();
        self.route.d.next.more_fragments = 0.into();
        self.route.d.next.fragment_offset = 0.into();
        self.route.d.next.ttl = self.ttl.val();
        self.route.d.next.protocol = self.udp.val();
        self.route.d.next.ip_checksum = 0.into();
        self.route.d.next.src_ip = self.settings.val().local_ip;
        self.route.d.next.dst_ip = self.dst_gid.val().get_bits::<32>(0);
        self.route.d.next.src_port = self.source_port.val() + bit_cast::<16, 8>(self.ev.val());
        self.route.d.next.dst_port = self.port.val();
        self.route.d.next.udp_length = self.ip_length.val() - 20;
        self.route.d.next.udp_checksum = 0.into();
        self.route.d.next.opcode = self.opcode.val();
        self.route.d.next.se_migreq = 0.into();
        self.route.d.next.bth_version = 0.into();
        self.route.d.next.pkey = self.settings.val().pkey;
        self.route.d.next.bth_masked = 0.into();
        self.route.d.next.ack_request = 0.into();
        self.route.d.next.deth_reserved = 0.into();
        self.route.d.next.src_endpoint = (bit_cast::<24, 16>(self.keys.entry.val().number_hi) << 8)
            | bit_cast::<24, 8>(self.a_endpoint.q.val());

        self.trh.d.next.trh_version = self.trh_version.val();
        self.trh.d.next.kind = self.kind_data.val();
        if self.a_packet.q.val().probe {
            self.trh.d.next.kind = self.kind_probe.val();
        }
        self.trh.d.next.flags = self.a_packet.q.val().flags;
        if self.ev_asks.val() {
            self.trh.d.next.flags = self.a_packet.q.val().flags | self.ar.val();
        }
        self.trh.d.next.ev = self.ev.val();
        self.trh.d.next.payload_log2 = self.a_packet.q.val().payload_log2;
        self.trh.d.next.traffic_class = self.a_packet.q.val().traffic_class;
        self.trh.d.next.slot = self.a_packet.q.val().slot;
        self.trh.d.next.generation = self.a_packet.q.val().generation;
        self.trh.d.next.index = self.a_packet.q.val().index;
        self.trh.d.next.initial_window = self.a_packet.q.val().initial_window;
        self.trh.d.next.length = self.a_packet.q.val().length;
        self.trh.d.next.tag = self.a_packet.q.val().tag;
        self.trh.d.next.rkey = self.a_packet.q.val().rkey;
        self.trh.d.next.imm = self.a_packet.q.val().imm;
        self.trh.d.next.round = self.a_packet.q.val().round;
        self.trh.d.next.rtt = self.a_packet.q.val().rtt;
        self.trh.d.next.timestamp = self.a_time.q.val();

        self.age.next = self.a_time.q.val() - self.a_answer.q.val().arrival;
        self.answer.d.next.trh_version = self.trh_version.val();
        self.answer.d.next.kind = self.kind_feedback.val();
        self.answer.d.next.flags = self.a_answer.q.val().flags;
        self.answer.d.next.ev = self.a_answer.q.val().ev_echo;
        self.answer.d.next.status = self.a_answer.q.val().status;
        self.answer.d.next.slot = self.a_answer.q.val().slot;
        self.answer.d.next.generation = self.a_answer.q.val().generation;
        self.answer.d.next.cumulative = self.a_answer.q.val().cumulative;
        self.answer.d.next.sequence = self.a_answer.q.val().sequence;
        self.answer.d.next.grant = self.a_answer.q.val().grant;
        self.answer.d.next.duplicates = self.a_answer.q.val().duplicates;
        self.answer.d.next.base = self.a_answer.q.val().base;
        self.answer.d.next.limit = self.a_answer.q.val().limit;
        self.answer.d.next.delay = self.no_sample.val();
        self.answer.d.next.echo = 0.into();
        if self.a_answer.q.val().sample {
            self.answer.d.next.echo = self.a_answer.q.val().echo;
            if self.age.val() < bit_cast::<32, 16>(self.no_sample.val()) {
                self.answer.d.next.delay = self.age.val().get_bits::<16>(0);
            } else {
                // A delay that long says no more than that it was long.
                self.answer.d.next.delay = self.no_sample.val() - 1;
            }
        }
        self.answer.d.next.bitmap = self.a_answer.q.val().bitmap;

        if self.a_feedback.q.val() {
            self.head.next = (bit_cast::<1024, 480>(self.answer.q.val()) << 496)
                | bit_cast::<1024, 496>(self.route.q.val());
        } else {
            self.head.next =
                (bit_cast::<1024, 320>(self.trh.q.val()) << 496) | bit_cast::<1024, 496>(self.route.q.val());
        }
        if self.b_free.val() {
            self.b_valid.d.next = self.a_valid.q.val();
            self.b_head.d.next = self.head.val();
            self.b_length.d.next = self.ip_length.val();
            self.b_src_sum.d.next = bit_cast::<20, 16>(self.settings.val().local_ip.get_bits::<16>(0))
                + bit_cast::<20, 16>(self.settings.val().local_ip.get_bits::<16>(16));
            self.b_dst_sum.d.next = bit_cast::<20, 16>(self.dst_gid.val().get_bits::<16>(0))
                + bit_cast::<20, 16>(self.dst_gid.val().get_bits::<16>(16));
            self.b_ticket.d.next.feedback = self.a_feedback.q.val();
            self.b_ticket.d.next.nack = (self.a_answer.q.val().flags & self.nack.val()).any();
            self.b_ticket.d.next.probe = self.a_packet.q.val().probe;
            self.b_ticket.d.next.retransmission = (self.a_packet.q.val().flags & self.retx.val()).any();
            self.b_ticket.d.next.slot = self.a_packet.q.val().slot;
            self.b_ticket.d.next.payload_len = self.a_packet.q.val().payload_len;
            self.b_ticket.d.next.padded = self.padded.val();
            if self.a_feedback.q.val() {
                self.b_ticket.d.next.payload_len = 0.into();
                self.b_ticket.d.next.padded = 0.into();
            }
        }
        if self.a_go.val() {
            self.a_valid.d.next = false;
        }
        if self.a_go.val() & self.beats_out.step.val() {
            self.ahead.d.next = self.ahead.q.val() + self.beats.val() - 1;
        } else if self.a_go.val() {
            self.ahead.d.next = self.ahead.q.val() + self.beats.val();
        } else if self.beats_out.step.val() {
            self.ahead.d.next = self.ahead.q.val() - 1;
        }

        // Stage A: the choice.
        self.open.next = !self.a_valid.q.val() & (self.ahead.q.val() <= 8);
        self.take_feedback.next = self.open.val() & self.feedback_valid.val();
        self.take_built.next = self.open.val() & !self.feedback_valid.val() & self.built_valid.val();
        self.feedback_ready.next = self.open.val();
        self.built_ready.next = self.open.val() & !self.feedback_valid.val();
        self.ev_take.next = self.take_feedback.val() | self.take_built.val();
        if self.take_feedback.val() {
            self.a_valid.d.next = true;
            self.a_feedback.d.next = true;
            self.a_answer.d.next = self.feedback_data.val();
            self.a_endpoint.d.next = self.feedback_data.val().endpoint;
        } else if self.take_built.val() {
            self.a_valid.d.next = true;
            self.a_feedback.d.next = false;
            self.a_packet.d.next = self.built_data.val();
            self.a_endpoint.d.next = self.built_data.val().endpoint;
        }
        self.ev_gid.next = self.built_data.val().dst_gid;
        self.ev_kind.next = 0.into();
        if self.built_data.val().probe {
            self.ev_kind.next = 2.into();
        } else if (self.built_data.val().flags & self.retx.val()).any() {
            self.ev_kind.next = 1.into();
        }
        if self.feedback_valid.val() {
            self.ev_gid.next = self.feedback_data.val().dst_gid;
            self.ev_kind.next = 3.into();
        }
        if self.ev_take.val() {
            self.a_time.d.next = self.now.val();
        }
        // The keys of the packet that stage A holds in the next clock.
        self.keys.index.next = self.a_endpoint.q.val();
        if self.take_feedback.val() {
            self.keys.index.next = self.feedback_data.val().endpoint;
        } else if self.take_built.val() {
            self.keys.index.next = self.built_data.val().endpoint;
        }

        if self.rst.val() {
            self.a_valid.d.next = false;
            self.b_valid.d.next = false;
            self.c_valid.d.next = false;
            self.ahead.d.next = 0.into();
        }
    }
}
