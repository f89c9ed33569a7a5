//! Judges a frame that has ended: rules RX-3 .. RX-9 and UD-2, first reason only.
//!
//! ```text
//!  clock  1            2                 3                4             5         6
//!   heads ─> fields, ──> lengths, keys, ──> payload bytes, ─> index and ──> first ─> verdict
//!            addresses   offset, count     ICRC             size          reason
//! ```
//!
//! Contract: `ended` with what `rx_heads` and `rx_address` say of the frame, the
//! number of its last 64 bytes and how many they are, all in one clock (clock 1);
//! `crc_state` in the clock 3. `verdict` stands five clocks after `ended`, with `done`; one frame
//! per clock at most. Exactly one field of the reasons and kinds is set.
//!
//! Order of judgement (RX-1): that of `abi::status::Drop` from `frame` to
//! `fields`, then `disabled`. `overflow` is not judged here: it depends on
//! room, and `rx_parse` asks for room only for a frame that is right.
//!
//! Verified by `testbenches/tests/rx_parse`.

use super::cells::Rom;
use super::crc;
use super::endpoint_keys::EndpointKeys;
use super::layout::{DataWord, FromWire, TransportWord};
use super::rx_heads::Start;
use super::rx_verdict::{places, Kept, Verdict, Wrong};
use crate::prelude::*;
use crate::types::{Settings, TableWrite};
use tessera_abi::{params, wire};

#[derive(LogicBlock)]
pub struct RxJudge {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub settings: Signal<In, Settings>,
    pub table_write: Signal<In, TableWrite>,
    /// The endpoint table is cleared.
    pub ready: Signal<Out, Bit>,
    pub ended: Signal<In, Bit>,
    pub not_ours: Signal<In, Bit>,
    pub odd: Signal<In, Bit>,
    /// Bytes of the frame and from the UDP header on, as IP says.
    pub said_frame: Signal<In, Bits<17>>,
    pub said_udp: Signal<In, Bits<17>>,
    /// UDP to DETH, and what follows.
    pub transport: Signal<In, TransportWord>,
    pub trh_bytes: Signal<In, Bits<320>>,
    pub start: Signal<In, Start>,
    /// Of the frame's last 64 bytes: their number, from 0, saturating at 127.
    pub last_beat: Signal<In, Bits<7>>,
    /// ... how many they are, 0 = 64.
    pub last_bytes: Signal<In, Bits<6>>,
    /// The MAC marked the frame bad.
    pub bad: Signal<In, Bit>,
    pub crc_state: Signal<In, Bits<32>>,
    pub done: Signal<Out, Bit>,
    pub verdict: Signal<Out, Verdict>,

    trh: FromWire<DataWord, 320>,
    keys: EndpointKeys,
    residues: Rom<6, 32>,
    places: Rom<4, 22>,

    valid2: Dff<Bit>,
    valid3: Dff<Bit>,
    valid4: Dff<Bit>,
    valid5: Dff<Bit>,
    valid6: Dff<Bit>,
    wrong2: Dff<Wrong>,
    wrong3: Dff<Wrong>,
    /// What a comparison of many bits gives, a part of it: the endpoint's number, half of its Q_Key.
    number_wrong: Dff<Bit>,
    qkey_wrong: Dff<Bit>,
    wrong4: Dff<Wrong>,
    wrong5: Dff<Wrong>,
    kept2: Dff<Kept>,
    kept3: Dff<Kept>,
    kept4: Dff<Kept>,
    kept5: Dff<Kept>,

    // Clock 1 to 2.
    frame_len: Dff<Bits<13>>,
    last_bytes2: Dff<Bits<6>>,
    said_frame2: Dff<Bits<17>>,
    said_udp2: Dff<Bits<17>>,
    udp_length: Dff<Bits<16>>,
    start2: Dff<Start>,
    bytes2: Dff<Bits<7>>,
    number_hi: Dff<Bits<16>>,
    qkey: Dff<Bits<32>>,
    message_len2: Dff<Bits<32>>,
    offset: Dff<Bits<40>>,
    rounded: Dff<Bits<33>>,
    // Clock 2 to 3.
    residue: Dff<Bits<32>>,
    raw: Dff<Bits<13>>,
    cut: Dff<Bit>,
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

    beats: Signal<Local, Bits<7>>,
    type_known: Signal<Local, Bit>,
    key_diff: Signal<Local, Bits<16>>,
    scale: Signal<Local, Bits<3>>,
    size_mask: Signal<Local, Bits<33>>,
    least: Signal<Local, Bits<13>>,
    overhead: Signal<Local, Bits<13>>,
    spill_from: Signal<Local, Bits<7>>,
    too_large: Signal<Local, Bit>,
    shifted: Signal<Local, Bits<33>>,
    size: Signal<Local, Bits<13>>,
    expected: Signal<Local, Bits<13>>,
    above: Signal<Local, Bits<41>>,
    in_beat: Signal<Local, Bits<6>>,

    beat_mask: Constant<Bits<6>>,
    beat_bytes: Constant<Bits<7>>,
    send_only: Constant<Bits<8>>,
    send_imm: Constant<Bits<8>>,
    cnp: Constant<Bits<8>>,
    trh_version: Constant<Bits<4>>,
    kind_data: Constant<Bits<4>>,
    kind_probe: Constant<Bits<4>>,
    kind_feedback: Constant<Bits<4>>,
    kind_release: Constant<Bits<4>>,
    longest: Constant<Bits<13>>,
    grh_len: Constant<Bits<13>>,
    largest: Constant<Bits<13>>,
    has_datagrams: Constant<Bit>,
}

impl RxJudge {
    /// A judge of frames that come in beats of `beat` bytes, 64 or a lower power of two.
    pub fn new(config: &params::Config, beat: usize) -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            settings: Default::default(),
            table_write: Default::default(),
            ready: Default::default(),
            ended: Default::default(),
            not_ours: Default::default(),
            odd: Default::default(),
            said_frame: Default::default(),
            said_udp: Default::default(),
            transport: Default::default(),
            trh_bytes: Default::default(),
            start: Default::default(),
            last_beat: Default::default(),
            last_bytes: Default::default(),
            bad: Default::default(),
            crc_state: Default::default(),
            done: Default::default(),
            verdict: Default::default(),
            trh: Default::default(),
            keys: EndpointKeys::new(config),
            residues: Rom::new(crc::residues(beat)),
            places: Rom::new(places(beat)),
            valid2: Default::default(),
            valid3: Default::default(),
            valid4: Default::default(),
            valid5: Default::default(),
            valid6: Default::default(),
            wrong2: Default::default(),
            wrong3: Default::default(),
            number_wrong: Default::default(),
            qkey_wrong: Default::default(),
            wrong4: Default::default(),
            wrong5: Default::default(),
            kept2: Default::default(),
            kept3: Default::default(),
            kept4: Default::default(),
            kept5: Default::default(),
            frame_len: Default::default(),
            last_bytes2: Default::default(),
            said_frame2: Default::default(),
            said_udp2: Default::default(),
            udp_length: Default::default(),
            start2: Default::default(),
            bytes2: Default::default(),
            number_hi: Default::default(),
            qkey: Default::default(),
            message_len2: Default::default(),
            offset: Default::default(),
            rounded: Default::default(),
            residue: Default::default(),
            raw: Default::default(),
            cut: Default::default(),
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
            beats: Default::default(),
            type_known: Default::default(),
            key_diff: Default::default(),
            scale: Default::default(),
            size_mask: Default::default(),
            least: Default::default(),
            overhead: Default::default(),
            spill_from: Default::default(),
            too_large: Default::default(),
            shifted: Default::default(),
            size: Default::default(),
            expected: Default::default(),
            above: Default::default(),
            in_beat: Default::default(),
            beat_mask: Constant::new((beat as u64 - 1).into()),
            beat_bytes: Constant::new((beat as u64).into()),
            send_only: Constant::new(u64::from(wire::OPCODE_UD_SEND).into()),
            send_imm: Constant::new(u64::from(wire::OPCODE_UD_SEND_IMM).into()),
            cnp: Constant::new(u64::from(wire::OPCODE_CNP).into()),
            trh_version: Constant::new(u64::from(wire::TRH_VERSION).into()),
            kind_data: Constant::new(u64::from(wire::TYPE_DATA).into()),
            kind_probe: Constant::new(u64::from(wire::TYPE_PROBE).into()),
            kind_feedback: Constant::new(u64::from(wire::TYPE_FEEDBACK).into()),
            kind_release: Constant::new(u64::from(wire::TYPE_RELEASE).into()),
            longest: Constant::new((params::MAX_UNTAGGED_FRAME as u64).into()),
            grh_len: Constant::new((wire::GRH_LEN as u64).into()),
            largest: Constant::new((1u64 << params::MAX_PAYLOAD_LOG2).into()),
            has_datagrams: Constant::new(config.datagrams),
        }
    }
}

impl Logic for RxJudge {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, valid2, valid3, valid4, valid5, valid6);
        dff_setup!(self, clk, wrong2, wrong3, wrong4, wrong5, kept2, kept3, kept4, kept5);
        dff_setup!(self, clk, number_wrong, qkey_wrong);
        dff_setup!(self, clk, frame_len, last_bytes2, said_frame2, said_udp2, udp_length, number_hi, qkey);
        dff_setup!(self, clk, start2, bytes2, cut);
        dff_setup!(self, clk, message_len2, offset, rounded, residue, raw, rest, quotient);
        dff_setup!(self, clk, payload4, count4, too_many, pad_wrong, empty, full, tail);
        dff_setup!(self, clk, payload5, count5, outcome);
        self.keys.clk.next = self.clk.val();
        self.keys.rst.next = self.rst.val();
        self.keys.table_write.next = self.table_write.val();
        self.ready.next = self.keys.ready.val();

        // Clock 1: fields, and whatever a comparison with registers decides.
        self.trh.d.next = self.trh_bytes.val();
        self.valid2.d.next = self.ended.val();

        self.wrong2.d.next.frame = self.bad.val();
        self.wrong2.d.next.not_ours = self.not_ours.val();
        self.wrong2.d.next.ip_header = self.odd.val();
        self.wrong2.d.next.length = false;
        self.wrong2.d.next.icrc = false;
        self.wrong2.d.next.cnp = self.transport.val().opcode == self.cnp.val();
        self.wrong2.d.next.bth = ((self.transport.val().opcode != self.send_only.val())
            & (self.transport.val().opcode != self.send_imm.val()))
            | (self.transport.val().bth_version != 0);
        self.key_diff.next = self.transport.val().pkey ^ self.settings.val().pkey;
        self.wrong2.d.next.p_key = self.key_diff.val().get_bits::<15>(0).any()
            | !(self.transport.val().pkey.get_bit(15) | self.settings.val().pkey.get_bit(15));
        // Only plain UD endpoints take an immediate of that opcode.
        self.wrong2.d.next.endpoint = self.start.val().imm & !self.start.val().ud;
        self.kept2.d.next.ud = self.start.val().ud;
        self.start2.d.next = self.start.val();
        self.wrong2.d.next.q_key = false;
        self.kept2.d.next.data = self.trh.q.val().kind == self.kind_data.val();
        self.kept2.d.next.probe = self.trh.q.val().kind == self.kind_probe.val();
        self.kept2.d.next.feedback = self.trh.q.val().kind == self.kind_feedback.val();
        self.kept2.d.next.release = self.trh.q.val().kind == self.kind_release.val();
        self.type_known.next = (self.trh.q.val().kind == self.kind_data.val())
            | (self.trh.q.val().kind == self.kind_probe.val())
            | (self.trh.q.val().kind == self.kind_feedback.val())
            | (self.trh.q.val().kind == self.kind_release.val());
        self.wrong2.d.next.trh =
            (self.trh.q.val().trh_version != self.trh_version.val()) | !self.type_known.val();
        self.wrong2.d.next.fields = (self.trh.q.val().kind != self.kind_release.val())
            & ((self.trh.q.val().payload_log2 < 8) | (self.trh.q.val().payload_log2 > 12));

        self.kept2.d.next.pad = self.transport.val().pad_count;
        self.scale.next = self.trh.q.val().payload_log2.get_bits::<3>(0);
        self.kept2.d.next.scale = self.scale.val();
        self.kept2.d.next.index = self.trh.q.val().index;
        self.beats.next = self.last_beat.val();
        if self.last_bytes.val() == 0 {
            self.beats.next = self.last_beat.val() + 1;
        }
        self.in_beat.next = self.last_bytes.val() & self.beat_mask.val();
        self.bytes2.d.next = bit_cast::<7, 6>(self.in_beat.val());
        if self.in_beat.val() == 0 {
            self.bytes2.d.next = self.beat_bytes.val();
        }
        self.kept2.d.next.spill = false;
        self.frame_len.d.next =
            (bit_cast::<13, 7>(self.beats.val()) << 6) | bit_cast::<13, 6>(self.last_bytes.val());
        self.last_bytes2.d.next = self.last_bytes.val();
        self.said_frame2.d.next = self.said_frame.val();
        self.said_udp2.d.next = self.said_udp.val();
        self.udp_length.d.next = self.transport.val().udp_length;
        self.keys.index.next = self.transport.val().dst_endpoint.get_bits::<8>(0);
        self.number_hi.d.next = self.transport.val().dst_endpoint.get_bits::<16>(8);
        self.qkey.d.next = self.transport.val().qkey;
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
        self.places.address.next = bit_cast::<4, 1>(self.start2.q.val().v6.into())
            | (bit_cast::<4, 1>(self.start2.q.val().ud.into()) << 1)
            | (bit_cast::<4, 1>(self.start2.q.val().imm.into()) << 2)
            | (bit_cast::<4, 1>(self.kept2.q.val().feedback.into()) << 3);
        self.least.next = bit_cast::<13, 7>(self.places.q.val().get_bits::<7>(0));
        self.overhead.next = bit_cast::<13, 8>(self.places.q.val().get_bits::<8>(7));
        self.wrong3.d.next.frame = self.wrong2.q.val().frame
            | (self.frame_len.q.val() < self.least.val())
            | (self.frame_len.q.val() > self.longest.val());
        self.wrong3.d.next.length = (self.said_frame2.q.val() != bit_cast::<17, 13>(self.frame_len.q.val()))
            | (self.said_udp2.q.val() != bit_cast::<17, 16>(self.udp_length.q.val()));
        self.wrong3.d.next.endpoint = self.wrong2.q.val().endpoint
            | !self.keys.valid.val()
            // Written since the frame was steered: it is of neither kind.
            | ((self.has_datagrams.val() & self.keys.entry.val().datagram) != self.start2.q.val().ud);
        // Out of a memory: compared in parts, joined a clock later.
        self.number_wrong.d.next = self.keys.entry.val().number_hi != self.number_hi.q.val();
        self.wrong3.d.next.q_key =
            self.keys.entry.val().qkey.get_bits::<16>(0) != self.qkey.q.val().get_bits::<16>(0);
        self.qkey_wrong.d.next =
            self.keys.entry.val().qkey.get_bits::<16>(16) != self.qkey.q.val().get_bits::<16>(16);
        self.cut.d.next = self.frame_len.q.val() < self.overhead.val();
        self.wrong3.d.next.trh = self.wrong2.q.val().trh | (self.frame_len.q.val() < self.overhead.val());
        self.spill_from.next =
            self.places.q.val().get_bits::<7>(15) + bit_cast::<7, 2>(self.kept2.q.val().pad);
        self.kept3.d.next.spill = self.bytes2.q.val() > self.spill_from.val();
        self.raw.d.next = self.frame_len.q.val() - self.overhead.val();
        self.rest.d.next =
            bit_cast::<41, 32>(self.message_len2.q.val()) - bit_cast::<41, 40>(self.offset.q.val());
        self.shifted.next = (self.rounded.q.val() >> 8) >> self.kept2.q.val().scale;
        self.quotient.d.next = self.shifted.val().get_bits::<25>(0);
        self.residues.address.next = self.last_bytes2.q.val();
        self.residue.d.next = self.residues.q.val();

        // Clock 3: payload bytes, what is left of the message here, the ICRC.
        self.valid4.d.next = self.valid3.q.val();
        self.wrong4.d.next = self.wrong3.q.val();
        self.wrong4.d.next.endpoint = self.wrong3.q.val().endpoint | self.number_wrong.q.val();
        self.wrong4.d.next.q_key = self.wrong3.q.val().q_key | self.qkey_wrong.q.val();
        self.kept4.d.next = self.kept3.q.val();
        self.wrong4.d.next.icrc = self.crc_state.val() != self.residue.q.val();
        if self.kept3.q.val().ud {
            self.wrong4.d.next.fields = self.cut.q.val();
        }
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
        self.too_large.next = self.payload4.q.val() > self.largest.val();
        if self.kept4.q.val().ud {
            self.payload5.d.next = self.payload4.q.val() + self.grh_len.val();
            self.wrong5.d.next.fields =
                self.wrong4.q.val().fields | self.pad_wrong.q.val() | self.too_large.val();
        } else if self.kept4.q.val().data {
            self.wrong5.d.next.fields = self.wrong4.q.val().fields
                | self.too_many.q.val()
                | (self.kept4.q.val().index >= self.count4.q.val())
                | self.pad_wrong.q.val()
                | (self.payload4.q.val() != self.expected.val());
        } else if self.kept4.q.val().release {
            self.wrong5.d.next.fields =
                self.wrong4.q.val().fields | self.pad_wrong.q.val() | !self.empty.q.val();
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
        self.outcome.d.next.fields = false;
        self.outcome.d.next.data = false;
        self.outcome.d.next.probe = false;
        self.outcome.d.next.feedback = false;
        self.outcome.d.next.release = false;
        self.outcome.d.next.ud = false;
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
        } else if self.kept5.q.val().ud {
            self.outcome.d.next.fields = self.wrong5.q.val().fields;
            self.outcome.d.next.disabled = !self.wrong5.q.val().fields & !self.settings.val().enable;
            self.outcome.d.next.ud = !self.wrong5.q.val().fields & self.settings.val().enable;
        } else if self.wrong5.q.val().trh {
            self.outcome.d.next.trh = true;
        } else if self.kept5.q.val().feedback {
            self.outcome.d.next.feedback = self.settings.val().enable;
            self.outcome.d.next.disabled = !self.settings.val().enable;
        } else if self.wrong5.q.val().fields {
            self.outcome.d.next.fields = true;
        } else if !self.settings.val().enable {
            self.outcome.d.next.disabled = true;
        } else if self.kept5.q.val().probe {
            self.outcome.d.next.probe = true;
        } else if self.kept5.q.val().release {
            self.outcome.d.next.release = true;
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
            // Else it is the end of a shift register's table, whose output is late for what is counted by it.
            self.outcome.d.next.spill = false;
        }
    }
}
