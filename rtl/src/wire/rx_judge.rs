//! Judges a frame that has ended: rules RX-3 .. RX-6, first reason only.
//!
//! ```text
//!  clock  1            2                 3                4             5         6
//!   head ─> fields, ──> lengths, keys, ──> payload bytes, ─> index and ──> first ─> verdict
//!           addresses   offset, count     ICRC             size          reason
//! ```
//!
//! Contract: `ended` with the frame's first two beats, the number of its last
//! beat and the bytes in it, all in one clock (clock 1); `crc_state` in the
//! clock 3. `verdict` stands five clocks after `ended`, with `done`; one frame
//! per clock at most. Exactly one field of the reasons and kinds is set.
//!
//! Order of judgement (RX-1): that of `abi::status::Drop` from `frame` on, with
//! `disabled` behind `fields`. `overflow` is not judged here: it depends on
//! room, and `rx_parse` asks for room only for a frame that is right.
//!
//! Verified by `testbenches/tests/rx_parse.rs`.

use super::cells::Rom;
use super::crc;
use super::endpoint_keys::EndpointKeys;
use super::layout::{DataWord, FromWire, RouteWord};
use crate::prelude::*;
use crate::types::{Settings, TableWrite};
use tessera_abi::{params, wire};

/// What became of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct Verdict {
    pub disabled: Bit,
    pub frame: Bit,
    pub not_ours: Bit,
    pub ip_header: Bit,
    pub length: Bit,
    pub icrc: Bit,
    pub cnp: Bit,
    pub bth: Bit,
    pub p_key: Bit,
    pub endpoint: Bit,
    pub q_key: Bit,
    pub trh: Bit,
    pub unsupported: Bit,
    pub fields: Bit,
    pub data: Bit,
    pub probe: Bit,
    pub feedback: Bit,
    /// Packets of the message.
    pub count: Bits<24>,
    /// Bytes, pad excluded.
    pub payload_len: Bits<13>,
    /// The payload reaches past byte 37 of the frame's last beat.
    pub spill: Bit,
}

/// Every reason that holds, whatever the order.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct Wrong {
    pub frame: Bit,
    pub not_ours: Bit,
    pub ip_header: Bit,
    pub length: Bit,
    pub icrc: Bit,
    pub cnp: Bit,
    pub bth: Bit,
    pub p_key: Bit,
    pub endpoint: Bit,
    pub q_key: Bit,
    pub trh: Bit,
    pub unsupported: Bit,
    pub fields: Bit,
}

/// What a later stage still needs of the header.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct Kept {
    pub data: Bit,
    pub probe: Bit,
    pub feedback: Bit,
    pub pad: Bits<2>,
    /// log2 payload size - 8.
    pub scale: Bits<3>,
    pub index: Bits<24>,
    pub spill: Bit,
}

#[derive(LogicBlock)]
pub struct RxJudge {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub settings: Signal<In, Settings>,
    pub table_write: Signal<In, TableWrite>,
    pub ended: Signal<In, Bit>,
    pub head0: Signal<In, Bits<512>>,
    pub head1: Signal<In, Bits<512>>,
    /// Number of the last beat, from 0, saturating at 127.
    pub last_beat: Signal<In, Bits<7>>,
    /// Bytes in it, 0 = 64.
    pub last_bytes: Signal<In, Bits<6>>,
    /// The MAC marked the frame bad.
    pub bad: Signal<In, Bit>,
    pub crc_state: Signal<In, Bits<32>>,
    pub done: Signal<Out, Bit>,
    pub verdict: Signal<Out, Verdict>,

    route: FromWire<RouteWord, 496>,
    trh: FromWire<DataWord, 320>,
    keys: EndpointKeys,
    residues: Rom<6, 32>,

    valid2: Dff<Bit>,
    valid3: Dff<Bit>,
    valid4: Dff<Bit>,
    valid5: Dff<Bit>,
    valid6: Dff<Bit>,
    wrong2: Dff<Wrong>,
    wrong3: Dff<Wrong>,
    wrong4: Dff<Wrong>,
    wrong5: Dff<Wrong>,
    kept2: Dff<Kept>,
    kept3: Dff<Kept>,
    kept4: Dff<Kept>,
    kept5: Dff<Kept>,

    // Clock 1 to 2.
    frame_len: Dff<Bits<13>>,
    last_bytes2: Dff<Bits<6>>,
    ip_length: Dff<Bits<16>>,
    udp_length: Dff<Bits<16>>,
    number_hi: Dff<Bits<16>>,
    qkey: Dff<Bits<32>>,
    message_len2: Dff<Bits<32>>,
    offset: Dff<Bits<40>>,
    rounded: Dff<Bits<33>>,
    // Clock 2 to 3.
    residue: Dff<Bits<32>>,
    raw: Dff<Bits<13>>,
    rest: Dff<Bits<41>>,
    quotient: Dff<Bits<25>>,
    // Clock 3 to 4.
    payload4: Dff<Bits<13>>,
    count4: Dff<Bits<24>>,
    too_many: Dff<Bit>,
    pad_wrong: Dff<Bit>,
    empty: Dff<Bit>,
    full: Dff<Bit>,
    tail: Dff<Bits<13>>,
    // Clock 4 to 6.
    payload5: Dff<Bits<13>>,
    count5: Dff<Bits<24>>,
    outcome: Dff<Verdict>,

    whole: Signal<Local, Bits<1024>>,
    beats: Signal<Local, Bits<7>>,
    type_known: Signal<Local, Bit>,
    key_diff: Signal<Local, Bits<16>>,
    scale: Signal<Local, Bits<3>>,
    size_mask: Signal<Local, Bits<33>>,
    spill_from: Signal<Local, Bits<7>>,
    bytes: Signal<Local, Bits<7>>,
    ip_frame: Signal<Local, Bits<17>>,
    udp_ip: Signal<Local, Bits<17>>,
    shifted: Signal<Local, Bits<33>>,
    size: Signal<Local, Bits<13>>,
    expected: Signal<Local, Bits<13>>,
    above: Signal<Local, Bits<41>>,

    ethertype: Constant<Bits<16>>,
    udp: Constant<Bits<8>>,
    port: Constant<Bits<16>>,
    send_only: Constant<Bits<8>>,
    cnp: Constant<Bits<8>>,
    trh_version: Constant<Bits<4>>,
    kind_data: Constant<Bits<4>>,
    kind_probe: Constant<Bits<4>>,
    kind_feedback: Constant<Bits<4>>,
    refused_flags: Constant<Bits<8>>,
    shortest: Constant<Bits<13>>,
    longest: Constant<Bits<13>>,
    data_overhead: Constant<Bits<13>>,
    feedback_len: Constant<Bits<13>>,
    spill_base: Constant<Bits<7>>,
    everywhere: Constant<Bits<32>>,
}

impl RxJudge {
    pub fn new(endpoints_log2: usize) -> Self {
        let data_overhead = wire::DATA_HEADER_LEN + wire::ICRC_LEN;
        Self {
            clk: Default::default(),
            rst: Default::default(),
            settings: Default::default(),
            table_write: Default::default(),
            ended: Default::default(),
            head0: Default::default(),
            head1: Default::default(),
            last_beat: Default::default(),
            last_bytes: Default::default(),
            bad: Default::default(),
            crc_state: Default::default(),
            done: Default::default(),
            verdict: Default::default(),
            route: Default::default(),
            trh: Default::default(),
            keys: EndpointKeys::new(endpoints_log2),
            residues: Rom::new(crc::residues()),
            valid2: Default::default(),
            valid3: Default::default(),
            valid4: Default::default(),
            valid5: Default::default(),
            valid6: Default::default(),
            wrong2: Default::default(),
            wrong3: Default::default(),
            wrong4: Default::default(),
            wrong5: Default::default(),
            kept2: Default::default(),
            kept3: Default::default(),
            kept4: Default::default(),
            kept5: Default::default(),
            frame_len: Default::default(),
            last_bytes2: Default::default(),
            ip_length: Default::default(),
            udp_length: Default::default(),
            number_hi: Default::default(),
            qkey: Default::default(),
            message_len2: Default::default(),
            offset: Default::default(),
            rounded: Default::default(),
            residue: Default::default(),
            raw: Default::default(),
            rest: Default::default(),
            quotient: Default::default(),
            payload4: Default::default(),
            count4: Default::default(),
            too_many: Default::default(),
            pad_wrong: Default::default(),
            empty: Default::default(),
            full: Default::default(),
            tail: Default::default(),
            payload5: Default::default(),
            count5: Default::default(),
            outcome: Default::default(),
            whole: Default::default(),
            beats: Default::default(),
            type_known: Default::default(),
            key_diff: Default::default(),
            scale: Default::default(),
            size_mask: Default::default(),
            spill_from: Default::default(),
            bytes: Default::default(),
            ip_frame: Default::default(),
            udp_ip: Default::default(),
            shifted: Default::default(),
            size: Default::default(),
            expected: Default::default(),
            above: Default::default(),
            ethertype: Constant::new(u64::from(wire::ETHERTYPE_IPV4).into()),
            udp: Constant::new(u64::from(wire::IP_UDP).into()),
            port: Constant::new(u64::from(wire::UDP_PORT).into()),
            send_only: Constant::new(u64::from(wire::OPCODE_UD_SEND).into()),
            cnp: Constant::new(u64::from(wire::OPCODE_CNP).into()),
            trh_version: Constant::new(u64::from(wire::TRH_VERSION).into()),
            kind_data: Constant::new(u64::from(wire::TYPE_DATA).into()),
            kind_probe: Constant::new(u64::from(wire::TYPE_PROBE).into()),
            kind_feedback: Constant::new(u64::from(wire::TYPE_FEEDBACK).into()),
            refused_flags: Constant::new(u64::from(wire::flag::HOST_RECOVERY).into()),
            // Up to the DETH: what is looked at before the TRH must be there.
            shortest: Constant::new(((wire::TRH_AT + wire::ICRC_LEN) as u64).into()),
            longest: Constant::new((params::MAX_FRAME as u64).into()),
            data_overhead: Constant::new((data_overhead as u64).into()),
            feedback_len: Constant::new((wire::FEEDBACK_FRAME_LEN as u64).into()),
            // Payload of the second beat begins at byte 38; ICRC follows the pad.
            spill_base: Constant::new((data_overhead as u64 - 64).into()),
            everywhere: Constant::new(u64::from(u32::MAX).into()),
        }
    }
}

impl Logic for RxJudge {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, valid2, valid3, valid4, valid5, valid6);
        dff_setup!(self, clk, wrong2, wrong3, wrong4, wrong5, kept2, kept3, kept4, kept5);
        dff_setup!(self, clk, frame_len, last_bytes2, ip_length, udp_length, number_hi, qkey);
        dff_setup!(self, clk, message_len2, offset, rounded, residue, raw, rest, quotient);
        dff_setup!(self, clk, payload4, count4, too_many, pad_wrong, empty, full, tail);
        dff_setup!(self, clk, payload5, count5, outcome);
        self.keys.clk.next = self.clk.val();
        self.keys.rst.next = self.rst.val();
        self.keys.table_write.next = self.table_write.val();

        // Clock 1: fields, and whatever a comparison with registers decides.
        self.whole.next =
            (bit_cast::<1024, 512>(self.head1.val()) << 512) | bit_cast::<1024, 512>(self.head0.val());
        self.route.d.next = self.whole.val().get_bits::<496>(0);
        self.trh.d.next = self.whole.val().get_bits::<320>(496);
        self.valid2.d.next = self.ended.val();

        self.wrong2.d.next.frame = self.bad.val();
        self.wrong2.d.next.not_ours = (self.route.q.val().dst_mac != self.settings.val().local_mac)
            | (self.route.q.val().ethertype != self.ethertype.val())
            | (self.route.q.val().version != 4)
            | (self.route.q.val().protocol != self.udp.val())
            | (self.route.q.val().dst_ip != self.settings.val().local_ip)
            | (self.route.q.val().dst_port != self.port.val());
        self.wrong2.d.next.ip_header = (self.route.q.val().ihl != 5)
            | (self.route.q.val().fragment_offset != 0)
            | self.route.q.val().more_fragments.any()
            | (self.route.q.val().src_ip.get_bits::<4>(28) == 14)
            | (self.route.q.val().src_ip == 0)
            | (self.route.q.val().src_ip == self.everywhere.val());
        self.wrong2.d.next.length = false;
        self.wrong2.d.next.icrc = false;
        self.wrong2.d.next.cnp = self.route.q.val().opcode == self.cnp.val();
        self.wrong2.d.next.bth =
            (self.route.q.val().opcode != self.send_only.val()) | (self.route.q.val().bth_version != 0);
        self.key_diff.next = self.route.q.val().pkey ^ self.settings.val().pkey;
        self.wrong2.d.next.p_key = self.key_diff.val().get_bits::<15>(0).any()
            | !(self.route.q.val().pkey.get_bit(15) | self.settings.val().pkey.get_bit(15));
        self.wrong2.d.next.endpoint = false;
        self.wrong2.d.next.q_key = false;
        self.kept2.d.next.data = self.trh.q.val().kind == self.kind_data.val();
        self.kept2.d.next.probe = self.trh.q.val().kind == self.kind_probe.val();
        self.kept2.d.next.feedback = self.trh.q.val().kind == self.kind_feedback.val();
        self.type_known.next = (self.trh.q.val().kind == self.kind_data.val())
            | (self.trh.q.val().kind == self.kind_probe.val())
            | (self.trh.q.val().kind == self.kind_feedback.val());
        self.wrong2.d.next.trh =
            (self.trh.q.val().trh_version != self.trh_version.val()) | !self.type_known.val();
        self.wrong2.d.next.unsupported = (self.trh.q.val().kind != self.kind_feedback.val())
            & (self.trh.q.val().flags & self.refused_flags.val()).any();
        self.wrong2.d.next.fields =
            (self.trh.q.val().payload_log2 < 8) | (self.trh.q.val().payload_log2 > 12);

        self.kept2.d.next.pad = self.route.q.val().pad_count;
        self.scale.next = self.trh.q.val().payload_log2.get_bits::<3>(0);
        self.kept2.d.next.scale = self.scale.val();
        self.kept2.d.next.index = self.trh.q.val().index;
        self.beats.next = self.last_beat.val();
        self.bytes.next = bit_cast::<7, 6>(self.last_bytes.val());
        if self.last_bytes.val() == 0 {
            self.beats.next = self.last_beat.val() + 1;
            self.bytes.next = 64.into();
        }
        self.spill_from.next = self.spill_base.val() + bit_cast::<7, 2>(self.route.q.val().pad_count);
        self.kept2.d.next.spill = self.bytes.val() > self.spill_from.val();
        self.frame_len.d.next =
            (bit_cast::<13, 7>(self.beats.val()) << 6) | bit_cast::<13, 6>(self.last_bytes.val());
        self.last_bytes2.d.next = self.last_bytes.val();
        self.ip_length.d.next = self.route.q.val().ip_length;
        self.udp_length.d.next = self.route.q.val().udp_length;
        self.keys.index.next = self.route.q.val().dst_endpoint.get_bits::<8>(0);
        self.number_hi.d.next = self.route.q.val().dst_endpoint.get_bits::<16>(8);
        self.qkey.d.next = self.route.q.val().qkey;
        self.message_len2.d.next = self.trh.q.val().length;
        self.offset.d.next = (bit_cast::<40, 24>(self.trh.q.val().index) << 8) << self.scale.val();
        self.size_mask.next = 255.into();
        match self.scale.val().index() {
            1 => {
                self.size_mask.next = 511.into();
            }
            2 => {
                self.size_mask.next = 1023.into();
            }
            3 => {
                self.size_mask.next = 2047.into();
            }
            4 => {
                self.size_mask.next = 4095.into();
            }
            _ => {}
        }
        self.rounded.d.next = bit_cast::<33, 32>(self.trh.q.val().length) + self.size_mask.val();

        // Clock 2: lengths against each other, keys, the packet's place.
        self.valid3.d.next = self.valid2.q.val();
        self.wrong3.d.next = self.wrong2.q.val();
        self.kept3.d.next = self.kept2.q.val();
        self.wrong3.d.next.frame = self.wrong2.q.val().frame
            | (self.frame_len.q.val() < self.shortest.val())
            | (self.frame_len.q.val() > self.longest.val());
        self.ip_frame.next = bit_cast::<17, 16>(self.ip_length.q.val()) + 14;
        self.udp_ip.next = bit_cast::<17, 16>(self.udp_length.q.val()) + 20;
        self.wrong3.d.next.length = (self.ip_frame.val() != bit_cast::<17, 13>(self.frame_len.q.val()))
            | (self.udp_ip.val() != bit_cast::<17, 16>(self.ip_length.q.val()));
        self.wrong3.d.next.endpoint =
            !self.keys.valid.val() | (self.keys.entry.val().number_hi != self.number_hi.q.val());
        self.wrong3.d.next.q_key = self.keys.entry.val().qkey != self.qkey.q.val();
        if self.kept2.q.val().feedback {
            self.wrong3.d.next.trh =
                self.wrong2.q.val().trh | (self.frame_len.q.val() < self.feedback_len.val());
        } else {
            self.wrong3.d.next.trh =
                self.wrong2.q.val().trh | (self.frame_len.q.val() < self.data_overhead.val());
        }
        self.raw.d.next = self.frame_len.q.val() - self.data_overhead.val();
        self.rest.d.next =
            bit_cast::<41, 32>(self.message_len2.q.val()) - bit_cast::<41, 40>(self.offset.q.val());
        self.shifted.next = (self.rounded.q.val() >> 8) >> self.kept2.q.val().scale;
        self.quotient.d.next = self.shifted.val().get_bits::<25>(0);
        self.residues.address.next = self.last_bytes2.q.val();
        self.residue.d.next = self.residues.q.val();

        // Clock 3: payload bytes, what is left of the message here, the ICRC.
        self.valid4.d.next = self.valid3.q.val();
        self.wrong4.d.next = self.wrong3.q.val();
        self.kept4.d.next = self.kept3.q.val();
        self.wrong4.d.next.icrc = self.crc_state.val() != self.residue.q.val();
        self.payload4.d.next = self.raw.q.val() - bit_cast::<13, 2>(self.kept3.q.val().pad);
        self.empty.d.next = self.raw.q.val() == 0;
        self.pad_wrong.d.next = self.raw.q.val().get_bits::<2>(0).any()
            | ((self.raw.q.val() == 0) & self.kept3.q.val().pad.any());
        self.too_many.d.next = self.quotient.q.val().get_bit(24);
        self.count4.d.next = self.quotient.q.val().get_bits::<24>(0);
        if self.quotient.q.val() == 0 {
            self.count4.d.next = 1.into();
        }
        self.above.next = (self.rest.q.val() >> 8) >> self.kept3.q.val().scale;
        self.full.d.next = self.above.val().any();
        self.tail.d.next = self.rest.q.val().get_bits::<13>(0);

        // Clock 4: index and size against the message.
        self.valid5.d.next = self.valid4.q.val();
        self.wrong5.d.next = self.wrong4.q.val();
        self.kept5.d.next = self.kept4.q.val();
        self.payload5.d.next = self.payload4.q.val();
        self.count5.d.next = self.count4.q.val();
        self.size.next = bit_cast::<13, 9>(256.into()) << self.kept4.q.val().scale;
        self.expected.next = self.tail.q.val();
        if self.full.q.val() {
            self.expected.next = self.size.val();
        }
        if self.kept4.q.val().data {
            self.wrong5.d.next.fields = self.wrong4.q.val().fields
                | self.too_many.q.val()
                | (self.kept4.q.val().index >= self.count4.q.val())
                | self.pad_wrong.q.val()
                | (self.payload4.q.val() != self.expected.val());
        } else {
            self.wrong5.d.next.fields = self.wrong4.q.val().fields
                | self.too_many.q.val()
                | (self.kept4.q.val().index > self.count4.q.val())
                | self.pad_wrong.q.val()
                | !self.empty.q.val();
        }

        // Clock 5: the first reason.
        self.valid6.d.next = self.valid5.q.val();
        self.outcome.d.next.disabled = false;
        self.outcome.d.next.frame = false;
        self.outcome.d.next.not_ours = false;
        self.outcome.d.next.ip_header = false;
        self.outcome.d.next.length = false;
        self.outcome.d.next.icrc = false;
        self.outcome.d.next.cnp = false;
        self.outcome.d.next.bth = false;
        self.outcome.d.next.p_key = false;
        self.outcome.d.next.endpoint = false;
        self.outcome.d.next.q_key = false;
        self.outcome.d.next.trh = false;
        self.outcome.d.next.unsupported = false;
        self.outcome.d.next.fields = false;
        self.outcome.d.next.data = false;
        self.outcome.d.next.probe = false;
        self.outcome.d.next.feedback = false;
        self.outcome.d.next.count = self.count5.q.val();
        self.outcome.d.next.payload_len = self.payload5.q.val();
        self.outcome.d.next.spill = self.kept5.q.val().spill;
        if self.wrong5.q.val().frame {
            self.outcome.d.next.frame = true;
        } else if self.wrong5.q.val().not_ours {
            self.outcome.d.next.not_ours = true;
        } else if self.wrong5.q.val().ip_header {
            self.outcome.d.next.ip_header = true;
        } else if self.wrong5.q.val().length {
            self.outcome.d.next.length = true;
        } else if self.wrong5.q.val().icrc {
            self.outcome.d.next.icrc = true;
        } else if self.wrong5.q.val().cnp {
            self.outcome.d.next.cnp = true;
        } else if self.wrong5.q.val().bth {
            self.outcome.d.next.bth = true;
        } else if self.wrong5.q.val().p_key {
            self.outcome.d.next.p_key = true;
        } else if self.wrong5.q.val().endpoint {
            self.outcome.d.next.endpoint = true;
        } else if self.wrong5.q.val().q_key {
            self.outcome.d.next.q_key = true;
        } else if self.wrong5.q.val().trh {
            self.outcome.d.next.trh = true;
        } else if self.kept5.q.val().feedback {
            self.outcome.d.next.feedback = self.settings.val().enable;
            self.outcome.d.next.disabled = !self.settings.val().enable;
        } else if self.wrong5.q.val().unsupported {
            self.outcome.d.next.unsupported = true;
        } else if self.wrong5.q.val().fields {
            self.outcome.d.next.fields = true;
        } else if !self.settings.val().enable {
            self.outcome.d.next.disabled = true;
        } else if self.kept5.q.val().probe {
            self.outcome.d.next.probe = true;
        } else {
            self.outcome.d.next.data = true;
        }
        self.done.next = self.valid6.q.val();
        self.verdict.next = self.outcome.q.val();

        if self.rst.val() {
            self.valid2.d.next = false;
            self.valid3.d.next = false;
            self.valid4.d.next = false;
            self.valid5.d.next = false;
            self.valid6.d.next = false;
        }
    }
}
