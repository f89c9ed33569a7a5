//! The headers of a frame about to be built, one beside the other: which fields,
//! with which values.
//!
//! ```text
//!  packet or feedback, entropy value, time, keys ─┬─> ethernet, IPv4
//!                                                 ├─> ethernet, IPv6
//!                                                 ├─> UDP to DETH
//!                                                 ├─> TRH of DATA, PROBE, RELEASE; immediate
//!                                                 └─> TRH of FEEDBACK
//! ```
//!
//! Where they stand in the frame is `tx_head`'s business, or `narrow/tx_beats`'s.
//! The destination GID decides between IPv4 and IPv6. A datagram whose Q_Key
//! has its uppermost bit set goes out with the endpoint's own.
//!
//! Contract: combinational; the IPv4 checksum is left 0, its sum is that of `source_sum` (of constants
//! and the source), the destination, the length and `tos_ttl`. `packet` and `response` are as
//! `tx_choice` gives them: what is not to be sent is zero. So is one of `trh` and
//! `answer`; of a datagram `trh` holds the immediate and, behind it, anything.
//!
//! Verified by `testbenches/tests/tx_build.rs` against `abi::wire`.

use super::endpoint_keys::KeyWord;
use super::layout::{DataWord, FeedbackWord, Ip4Word, Ip6Word, ToWire, TransportWord};
use super::tx_beats::Ticket;
use crate::prelude::*;
use crate::types::{Settings, TxFeedback, TxPacket};
use tessera_abi::wire;

/// Headers in the order of their bytes, none where it belongs yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct HeadParts {
    pub four: Bits<272>,
    pub six: Bits<432>,
    pub transport: Bits<224>,
    pub trh: Bits<320>,
    pub answer: Bits<480>,
}

#[derive(LogicBlock)]
pub struct TxFields {
    pub settings: Signal<In, Settings>,
    /// `response` is to be built, FEEDBACK or a RELEASE, else `packet`.
    pub is_feedback: Signal<In, Bit>,
    /// Its destination's GID holds no IPv4 address.
    pub v6: Signal<In, Bit>,
    pub packet: Signal<In, TxPacket>,
    pub response: Signal<In, TxFeedback>,
    pub ev: Signal<In, Bits<8>>,
    /// The packet is to carry AR.
    pub asks: Signal<In, Bit>,
    /// Ticks.
    pub stamp: Signal<In, Bits<32>>,
    /// Of the local endpoint.
    pub endpoint: Signal<In, Bits<8>>,
    pub keys: Signal<In, KeyWord>,
    pub parts: Signal<Out, HeadParts>,
    /// A datagram with an immediate.
    pub immediate: Signal<Out, Bit>,
    pub ticket: Signal<Out, Ticket>,
    /// Above bit 5: beats of 64 bytes of the frame without ICRC, less one.
    pub reach: Signal<Out, Bits<13>>,
    pub ip_length: Signal<Out, Bits<16>>,
    /// Into the IPv4 checksum.
    pub source_sum: Signal<Out, Bits<20>>,
    pub tos_ttl: Signal<Out, Bits<16>>,
    /// The IPv4 address of a GID that holds one.
    pub dst_ip: Signal<Out, Bits<32>>,

    four: ToWire<Ip4Word, 272>,
    six: ToWire<Ip6Word, 432>,
    transport: ToWire<TransportWord, 224>,
    trh: ToWire<DataWord, 320>,
    answer: ToWire<FeedbackWord, 480>,

    gid: Signal<Local, Bits<128>>,
    mac: Signal<Local, Bits<48>>,
    ud: Signal<Local, Bit>,
    is_release: Signal<Local, Bit>,
    with_imm: Signal<Local, Bit>,
    pad: Signal<Local, Bits<2>>,
    place: Signal<Local, Bits<3>>,
    start: Signal<Local, Bits<13>>,
    total: Signal<Local, Bits<13>>,
    udp_length: Signal<Local, Bits<13>>,
    port: Signal<Local, Bits<16>>,
    tos: Signal<Local, Bits<8>>,
    /// The message is longer than where this class ends.
    above: [Signal<Local, Bit>; 3],
    /// An odd number of them, most of them.
    odd: Signal<Local, Bit>,
    most: Signal<Local, Bit>,
    /// Which of the DSCPs; it.
    size_class: Signal<Local, Bits<3>>,
    dscp: Signal<Local, Bits<6>>,
    ttl: Signal<Local, Bits<8>>,
    age: Signal<Local, Bits<32>>,

    ethertype4: Constant<Bits<16>>,
    ethertype6: Constant<Bits<16>>,
    tos_rm: Constant<Bits<8>>,
    one: Constant<Bits<32>>,
    ttl_rm: Constant<Bits<8>>,
    udp: Constant<Bits<8>>,
    roce_port: Constant<Bits<16>>,
    source_port: Constant<Bits<16>>,
    send: Constant<Bits<8>>,
    send_imm: Constant<Bits<8>>,
    imm_flag: Constant<Bits<8>>,
    /// A byte behind where the payload begins, by place; of FEEDBACK a byte behind its end.
    starts: [Constant<Bits<13>>; 6],
    answers: [Constant<Bits<13>>; 2],
    trh_version: Constant<Bits<4>>,
    kind_data: Constant<Bits<4>>,
    kind_probe: Constant<Bits<4>>,
    kind_feedback: Constant<Bits<4>>,
    kind_release: Constant<Bits<4>>,
    fixed: Constant<Bits<20>>,
    no_sample: Constant<Bits<16>>,
    first_four: Constant<Bits<320>>,
    retx: Constant<Bits<8>>,
    ar: Constant<Bits<8>>,
    nack: Constant<Bits<8>>,
}

impl TxFields {
    pub fn new() -> Self {
        let [v4, _, v6, _] = wire::Form::ALL;
        let starts = [
            v4.trh_at() + wire::TRH_DATA_LEN,
            v6.trh_at() + wire::TRH_DATA_LEN,
            v4.trh_at(),
            v4.trh_at() + wire::IMM_LEN,
            v6.trh_at(),
            v6.trh_at() + wire::IMM_LEN,
        ];
        Self {
            settings: Default::default(),
            is_feedback: Default::default(),
            v6: Default::default(),
            packet: Default::default(),
            response: Default::default(),
            ev: Default::default(),
            asks: Default::default(),
            stamp: Default::default(),
            endpoint: Default::default(),
            keys: Default::default(),
            parts: Default::default(),
            immediate: Default::default(),
            ticket: Default::default(),
            reach: Default::default(),
            ip_length: Default::default(),
            source_sum: Default::default(),
            tos_ttl: Default::default(),
            dst_ip: Default::default(),
            four: Default::default(),
            six: Default::default(),
            transport: Default::default(),
            trh: Default::default(),
            answer: Default::default(),
            gid: Default::default(),
            mac: Default::default(),
            ud: Default::default(),
            is_release: Default::default(),
            with_imm: Default::default(),
            pad: Default::default(),
            place: Default::default(),
            start: Default::default(),
            total: Default::default(),
            udp_length: Default::default(),
            port: Default::default(),
            tos: Default::default(),
            above: Default::default(),
            odd: Default::default(),
            most: Default::default(),
            size_class: Default::default(),
            dscp: Default::default(),
            ttl: Default::default(),
            age: Default::default(),
            ethertype4: Constant::new(u64::from(wire::ETHERTYPE_IPV4).into()),
            ethertype6: Constant::new(u64::from(wire::ETHERTYPE_IPV6).into()),
            tos_rm: Constant::new(u64::from(wire::TOS).into()),
            one: Constant::new(1u64.into()),
            ttl_rm: Constant::new(u64::from(wire::TTL).into()),
            udp: Constant::new(u64::from(wire::IP_UDP).into()),
            roce_port: Constant::new(u64::from(wire::UDP_PORT).into()),
            source_port: Constant::new(u64::from(wire::SPORT_BASE).into()),
            send: Constant::new(u64::from(wire::OPCODE_UD_SEND).into()),
            send_imm: Constant::new(u64::from(wire::OPCODE_UD_SEND_IMM).into()),
            imm_flag: Constant::new(u64::from(wire::flag::IMM).into()),
            starts: starts.map(|start| Constant::new((start as u64 + 1).into())),
            answers: [v4, v6]
                .map(|form| Constant::new(((form.trh_at() + wire::TRH_FEEDBACK_LEN) as u64 + 1).into())),
            trh_version: Constant::new(u64::from(wire::TRH_VERSION).into()),
            kind_data: Constant::new(u64::from(wire::TYPE_DATA).into()),
            kind_probe: Constant::new(u64::from(wire::TYPE_PROBE).into()),
            kind_feedback: Constant::new(u64::from(wire::TYPE_FEEDBACK).into()),
            kind_release: Constant::new(u64::from(wire::TYPE_RELEASE).into()),
            // Version and header length; the don't-fragment flag; the protocol.
            fixed: Constant::new((0x4500 + 0x4000 + u64::from(wire::IP_UDP)).into()),
            no_sample: Constant::new(u64::from(wire::NO_SAMPLE).into()),
            first_four: Constant::new(u64::from(u32::MAX).into()),
            ar: Constant::new(u64::from(wire::flag::AR).into()),
            retx: Constant::new(u64::from(wire::flag::RETX).into()),
            nack: Constant::new(u64::from(wire::fb::NACK).into()),
        }
    }
}

impl Logic for TxFields {
    #[hdl_gen]
    fn update(&mut self) {
        // Whom to, in which form.
        self.gid.next = self.packet.val().dst_gid | self.response.val().dst_gid;
        self.mac.next = self.packet.val().dst_mac | self.response.val().dst_mac;
        self.ticket.next.tag.valid = self.packet.val().vlan_valid | self.response.val().vlan_valid;
        self.ticket.next.tag.tci = self.packet.val().vlan | self.response.val().vlan;
        self.ud.next = self.packet.val().ud;
        self.is_release.next = self.response.val().release;
        self.with_imm.next = self.ud.val() & (self.packet.val().flags & self.imm_flag.val()).any();
        self.immediate.next = self.with_imm.val();
        self.place.next = bit_cast::<3, 1>(self.v6.val().into());
        if self.ud.val() {
            self.place.next = 2
                + (bit_cast::<3, 1>(self.v6.val().into()) << 1)
                + bit_cast::<3, 1>(self.with_imm.val().into());
        }

        // Lengths.
        self.pad.next = !self.packet.val().payload_len.get_bits::<2>(0) + 1;
        self.start.next = self.starts[0].val();
        for i in 1..6 {
            if self.place.val().index() == i {
                self.start.next = self.starts[i].val();
            }
        }
        if self.is_feedback.val() & !self.is_release.val() {
            self.start.next = self.answers[0].val();
            if self.v6.val() {
                self.start.next = self.answers[1].val();
            }
        }
        // Headers end two bytes behind a multiple of four, and so does the frame. One sum has
        // its bytes and its beats, for both are rounded up: of its lowest two bits 2 is made.
        self.reach.next = self.packet.val().payload_len + self.start.val();
        self.total.next = (self.reach.val() & 0x1FFC) | 2;
        self.udp_length.next = self.total.val() - 30;
        if self.v6.val() {
            self.udp_length.next = self.total.val() - 50;
        }
        self.ip_length.next = bit_cast::<16, 13>(self.total.val()) - 10;

        // Ethernet and IP, both ways.
        self.port.next = self.source_port.val() + bit_cast::<16, 8>(self.ev.val());
        for i in 0..3 {
            // Above two to the power of n: something at or over bit n, and not that bit alone.
            self.above[i].next =
                (self.packet.val().length >> self.settings.val().class_sizes.get_bits::<5>(5 * i)).any()
                    & (self.packet.val().length
                        != (self.one.val() << self.settings.val().class_sizes.get_bits::<5>(5 * i)));
        }
        // One more than the number of them. Not as a sum, of which Yosys makes a carry chain.
        self.odd.next = self.above[0].val() ^ self.above[1].val() ^ self.above[2].val();
        self.most.next = (self.above[0].val() & self.above[1].val())
            | (self.above[0].val() & self.above[2].val())
            | (self.above[1].val() & self.above[2].val());
        self.size_class.next = 0.into();
        if !self.is_feedback.val() {
            self.size_class.next = bit_cast::<3, 1>((!self.odd.val()).into())
                | (bit_cast::<3, 1>((self.odd.val() ^ self.most.val()).into()) << 1)
                | (bit_cast::<3, 1>((self.odd.val() & self.most.val()).into()) << 2);
        }
        self.dscp.next = self.settings.val().dscp.get_bits::<6>(0);
        for i in 1..5 {
            if self.size_class.val().index() == i {
                self.dscp.next = self.settings.val().dscp.get_bits::<6>(6 * i);
            }
        }
        self.tos.next = self.tos_rm.val() | (bit_cast::<8, 6>(self.dscp.val()) << 2);
        self.ttl.next = self.ttl_rm.val();
        if self.ud.val() {
            self.tos.next = self.packet.val().tag.get_bits::<8>(0);
            self.ttl.next = self.packet.val().tag.get_bits::<8>(8);
        }
        self.dst_ip.next = self.gid.val().get_bits::<32>(0);
        self.source_sum.next = self.fixed.val()
            + bit_cast::<20, 16>(self.settings.val().local_ip.get_bits::<16>(0))
            + bit_cast::<20, 16>(self.settings.val().local_ip.get_bits::<16>(16));
        self.tos_ttl.next = bit_cast::<16, 8>(self.tos.val()) | (bit_cast::<16, 8>(self.ttl.val()) << 8);
        self.four.d.next.dst_mac = self.mac.val();
        self.four.d.next.src_mac = self.settings.val().local_mac;
        self.four.d.next.ethertype = self.ethertype4.val();
        self.four.d.next.version = 4.into();
        self.four.d.next.ihl = 5.into();
        self.four.d.next.tos = self.tos.val();
        self.four.d.next.length = self.ip_length.val();
        self.four.d.next.id = 0.into();
        self.four.d.next.reserved = 0.into();
        self.four.d.next.dont_fragment = 1.into();
        self.four.d.next.more_fragments = 0.into();
        self.four.d.next.fragment_offset = 0.into();
        self.four.d.next.ttl = self.ttl.val();
        self.four.d.next.protocol = self.udp.val();
        self.four.d.next.checksum = 0.into();
        self.four.d.next.src = self.settings.val().local_ip;
        self.four.d.next.dst = self.dst_ip.val();
        self.six.d.next.dst_mac = self.mac.val();
        self.six.d.next.src_mac = self.settings.val().local_mac;
        self.six.d.next.ethertype = self.ethertype6.val();
        self.six.d.next.version = 6.into();
        self.six.d.next.tos = self.tos.val();
        self.six.d.next.flow_label = bit_cast::<20, 16>(self.port.val());
        self.six.d.next.length = bit_cast::<16, 13>(self.udp_length.val());
        self.six.d.next.next_header = self.udp.val();
        self.six.d.next.hop_limit = self.ttl.val();
        self.six.d.next.src = self.settings.val().local_ip6;
        self.six.d.next.dst = self.gid.val();

        // UDP to DETH.
        self.transport.d.next.src_port = self.port.val();
        self.transport.d.next.dst_port = self.roce_port.val();
        self.transport.d.next.udp_length = bit_cast::<16, 13>(self.udp_length.val());
        self.transport.d.next.udp_checksum = 0.into();
        self.transport.d.next.opcode = self.send.val();
        if self.with_imm.val() {
            self.transport.d.next.opcode = self.send_imm.val();
        }
        self.transport.d.next.se_migreq = 0.into();
        self.transport.d.next.pad_count = self.pad.val();
        self.transport.d.next.bth_version = 0.into();
        self.transport.d.next.pkey = self.settings.val().pkey;
        self.transport.d.next.bth_masked = 0.into();
        self.transport.d.next.dst_endpoint =
            self.packet.val().dst_endpoint | self.response.val().dst_endpoint;
        self.transport.d.next.ack_request = 0.into();
        self.transport.d.next.psn = self.packet.val().index;
        self.transport.d.next.qkey = self.packet.val().qkey;
        self.transport.d.next.deth_reserved = 0.into();
        self.transport.d.next.src_endpoint =
            (bit_cast::<24, 16>(self.keys.val().number_hi) << 8) | bit_cast::<24, 8>(self.endpoint.val());
        if self.is_feedback.val() {
            self.transport.d.next.pad_count = 0.into();
        }
        if self.is_feedback.val() | (self.ud.val() & self.packet.val().qkey.get_bit(31)) {
            self.transport.d.next.qkey = self.keys.val().qkey;
        }

        self.trh.d.next.trh_version = self.trh_version.val();
        self.trh.d.next.kind = self.kind_data.val();
        if self.packet.val().probe {
            self.trh.d.next.kind = self.kind_probe.val();
        }
        self.trh.d.next.flags = self.packet.val().flags;
        if self.asks.val() & !self.is_feedback.val() {
            self.trh.d.next.flags = self.packet.val().flags | self.ar.val();
        }
        self.trh.d.next.ev = self.ev.val();
        self.trh.d.next.payload_log2 = self.packet.val().payload_log2;
        self.trh.d.next.traffic_class = self.packet.val().traffic_class;
        self.trh.d.next.slot = self.packet.val().slot;
        self.trh.d.next.generation = self.packet.val().generation;
        self.trh.d.next.index = self.packet.val().index;
        self.trh.d.next.initial_window = self.packet.val().initial_window;
        self.trh.d.next.length = self.packet.val().length;
        self.trh.d.next.tag = self.packet.val().tag;
        self.trh.d.next.rkey = self.packet.val().rkey;
        self.trh.d.next.imm = self.packet.val().imm;
        self.trh.d.next.round = self.packet.val().round;
        self.trh.d.next.rtt = self.packet.val().rtt;
        self.trh.d.next.timestamp = self.stamp.val();
        if self.is_release.val() {
            self.trh.d.next.kind = self.kind_release.val();
            self.trh.d.next.slot = self.response.val().slot;
            self.trh.d.next.generation = self.response.val().generation;
        } else if self.is_feedback.val() {
            self.trh.d.next.trh_version = 0.into();
            self.trh.d.next.kind = 0.into();
            self.trh.d.next.ev = 0.into();
            self.trh.d.next.timestamp = 0.into();
        }

        self.age.next = self.stamp.val() - self.response.val().arrival;
        self.answer.d.next.trh_version = 0.into();
        self.answer.d.next.kind = 0.into();
        self.answer.d.next.slot = 0.into();
        self.answer.d.next.generation = 0.into();
        if self.is_feedback.val() & !self.is_release.val() {
            self.answer.d.next.trh_version = self.trh_version.val();
            self.answer.d.next.kind = self.kind_feedback.val();
            self.answer.d.next.slot = self.response.val().slot;
            self.answer.d.next.generation = self.response.val().generation;
        }
        self.answer.d.next.flags = self.response.val().flags;
        self.answer.d.next.ev = self.response.val().ev_echo;
        self.answer.d.next.status = self.response.val().status;
        self.answer.d.next.cumulative = self.response.val().cumulative;
        self.answer.d.next.sequence = self.response.val().sequence;
        self.answer.d.next.grant = self.response.val().grant;
        self.answer.d.next.duplicates = self.response.val().duplicates;
        self.answer.d.next.base = self.response.val().base;
        self.answer.d.next.limit = self.response.val().limit;
        self.answer.d.next.delay = 0.into();
        self.answer.d.next.echo = 0.into();
        if self.response.val().sample {
            self.answer.d.next.echo = self.response.val().echo;
            if self.age.val() < bit_cast::<32, 16>(self.no_sample.val()) {
                self.answer.d.next.delay = self.age.val().get_bits::<16>(0);
            } else {
                // A delay that long says no more than that it was long.
                self.answer.d.next.delay = self.no_sample.val() - 1;
            }
        } else if self.is_feedback.val() & !self.is_release.val() {
            self.answer.d.next.delay = self.no_sample.val();
        }
        self.answer.d.next.bitmap = self.response.val().bitmap;

        self.parts.next.answer = self.answer.q.val();
        self.parts.next.four = self.four.q.val();
        self.parts.next.six = self.six.q.val();
        self.parts.next.transport = self.transport.q.val();
        self.parts.next.trh = self.trh.q.val();
        if self.ud.val() {
            // An immediate, its first byte first.
            self.parts.next.trh = (self.trh.q.val() & !self.first_four.val())
                | bit_cast::<320, 8>(self.packet.val().imm.get_bits::<8>(24))
                | (bit_cast::<320, 8>(self.packet.val().imm.get_bits::<8>(16)) << 8)
                | (bit_cast::<320, 8>(self.packet.val().imm.get_bits::<8>(8)) << 16)
                | (bit_cast::<320, 8>(self.packet.val().imm.get_bits::<8>(0)) << 24);
        }

        self.ticket.next.feedback = self.is_feedback.val();
        self.ticket.next.release = self.is_release.val();
        self.ticket.next.nack = (self.response.val().flags & self.nack.val()).any();
        self.ticket.next.probe = self.packet.val().probe;
        self.ticket.next.retransmission = (self.packet.val().flags & self.retx.val()).any();
        self.ticket.next.ud = self.ud.val();
        self.ticket.next.slot = self.packet.val().slot;
        self.ticket.next.v6 = self.v6.val();
        self.ticket.next.place = self.place.val();
        self.ticket.next.total = self.total.val();
        self.ticket.next.payload_len = self.packet.val().payload_len;
    }
}
