//! Turns frames from the MAC into verified words and aligned payload, 16 bytes
//! per clock.
//!
//! ```text
//!  s_axis ─> vlan_strip ─> beat ─┬─> rx_heads ─> rx_address, rx_judge ──────┐ verdict
//!                                ├─> icrc ─────────────^                    v
//!                                └─> 6 clocks of delay ───> rx_payload ─────────> payload
//!                                                              │ commit, roll back
//!                   heads: what is overwritten first is held ──┴─> words ──> data, feedback
//! ```
//!
//! Contract: that of `wire/rx_parse`, to the clock but for an answer, which comes at
//! clock 19 (it is stored in slices). Frames of four beats, and
//! shorter ones that cannot be right, may follow each other.
//!
//! What a word needs of its frame's heads stands until the verdict, six clocks
//! behind the last beat, without a delay of its width:
//! - beat k of the next frame comes k + 1 clocks behind that beat at the earliest,
//!   and shows a clock later. So all of the tail from its fourth word on stays, for
//!   nothing of it comes with a beat before the sixth (k = 5).
//! - what comes before goes to `held` one clock behind the frame's end, there to
//!   be until the next frame that does so: one of at least five beats, so its end
//!   is five clocks later at the earliest, and `held` changes one clock behind the
//!   verdict. A frame of four beats is shorter than any that is accepted.
//!
//! Verified by `testbenches/tests/rx_parse` and `packet_loop.rs`.

use super::super::cells::{Delay, KeepCount};
use super::super::layout::{DataWord, FeedbackWord, FromWire, TransportWord};
use super::super::rx_address::{RxAddress, SenderAddress};
use super::super::rx_heads::Start;
use super::super::rx_judge::RxJudge;
use super::super::rx_verdict::Verdict;
use super::super::vlan_strip::Tag;
use super::icrc::NarrowIcrc;
use super::rx_heads::NarrowRxHeads;
use super::rx_payload::NarrowRxPayload;
use super::vlan_strip::NarrowVlanStrip;
use crate::prelude::*;
use crate::stream::{LateFifo, SliceFifo};
use crate::types::{NarrowBeat, RxData, RxFeedback, Settings, TableWrite};
use tessera_abi::params::{Config, MAX_UNTAGGED_FRAME};
use tessera_abi::wire;

// What the page says of frames that are accepted, and what is sliced by literals.
const _: () = {
    let [v4, _, _, _] = wire::Form::ALL;
    assert!(v4.trh_at() + wire::ICRC_LEN > 4 * 16);
    // The tail's fourth word is in the beats from the sixth on.
    assert!(v4.udp_at() + 3 * 16 >= 5 * 16);
    assert!(v4.trh_at() - v4.udp_at() + 20 == 3 * 16);
    assert!(MAX_UNTAGGED_FRAME < 511 * 16);
};

/// The beginning of a tail's TRH and what else the next frame overwrites first.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct NarrowHeld {
    pub trh: Bits<160>,
    pub src_endpoint: Bits<24>,
    pub endpoint: Bits<8>,
    pub arrival: Bits<32>,
}

#[derive(LogicBlock)]
pub struct NarrowRxParse {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub s_axis_tdata: Signal<In, Bits<128>>,
    pub s_axis_tkeep: Signal<In, Bits<16>>,
    pub s_axis_tvalid: Signal<In, Bit>,
    pub s_axis_tready: Signal<Out, Bit>,
    pub s_axis_tlast: Signal<In, Bit>,
    /// With the last beat: the MAC found the frame bad.
    pub s_axis_tuser: Signal<In, Bit>,
    pub settings: Signal<In, Settings>,
    /// Ticks.
    pub now: Signal<In, Bits<32>>,
    pub table_write: Signal<In, TableWrite>,
    /// The endpoint table is cleared: what is written to it is kept.
    pub ready: Signal<Out, Bit>,
    pub data_valid: Signal<Out, Bit>,
    pub data_data: Signal<Out, RxData>,
    pub data_ready: Signal<In, Bit>,
    pub feedback_valid: Signal<Out, Bit>,
    pub feedback_data: Signal<Out, RxFeedback>,
    pub feedback_ready: Signal<In, Bit>,
    pub payload_valid: Signal<Out, Bit>,
    pub payload_data: Signal<Out, NarrowBeat>,
    pub payload_ready: Signal<In, Bit>,
    pub rx_frames: Signal<Out, Bit>,
    pub rx_data: Signal<Out, Bit>,
    pub rx_probe: Signal<Out, Bit>,
    pub rx_feedback: Signal<Out, Bit>,
    pub rx_release: Signal<Out, Bit>,
    pub rx_ud: Signal<Out, Bit>,
    pub drop_overflow: Signal<Out, Bit>,
    pub drop_frame: Signal<Out, Bit>,
    pub drop_not_ours: Signal<Out, Bit>,
    pub drop_ip_header: Signal<Out, Bit>,
    pub drop_length: Signal<Out, Bit>,
    pub drop_icrc: Signal<Out, Bit>,
    pub drop_cnp: Signal<Out, Bit>,
    pub drop_bth: Signal<Out, Bit>,
    pub drop_p_key: Signal<Out, Bit>,
    pub drop_endpoint: Signal<Out, Bit>,
    pub drop_q_key: Signal<Out, Bit>,
    pub drop_trh: Signal<Out, Bit>,
    pub drop_fields: Signal<Out, Bit>,
    pub drop_disabled: Signal<Out, Bit>,

    strip: NarrowVlanStrip,
    // The beat without its frame's tag, and its number in the frame.
    beat_valid: Dff<Bit>,
    beat: Dff<Bits<128>>,
    keep: Dff<Bits<16>>,
    last: Dff<Bit>,
    bad: Dff<Bit>,
    arrival: Dff<Bits<32>>,
    tag: Dff<Tag>,
    /// Saturating.
    number: Dff<Bits<9>>,
    bytes: KeepCount<16, 4>,
    icrc: NarrowIcrc,

    // One clock on: the end of a frame, its heads are known.
    ended: Dff<Bit>,
    ended_bad: Dff<Bit>,
    ended_arrival: Dff<Bits<32>>,
    // The judge counts in pieces of 64 bytes.
    last_beat: Dff<Bits<7>>,
    last_bytes: Dff<Bits<6>>,
    heads: NarrowRxHeads,
    addressed: RxAddress,
    judge: RxJudge,
    held: Dff<NarrowHeld>,
    held_sender: Dff<SenderAddress>,

    // Six clocks on, with the verdict.
    late_beat: Delay<Bits<128>>,
    late_start: Delay<Start>,
    valids: Dff<Bits<6>>,
    lasts: Dff<Bits<6>>,
    transport: FromWire<TransportWord, 224>,
    trh: FromWire<DataWord, 320>,
    answer: FromWire<FeedbackWord, 480>,
    payload: NarrowRxPayload,

    words: LateFifo<RxData, 12>,
    answers: SliceFifo<RxFeedback, 12>,
    /// The last that came, on its way into it.
    answered: Dff<RxFeedback>,
    answering: Dff<Bit>,
    counted: Dff<Verdict>,
    event_overflow: Dff<Bit>,
    event_frame: Dff<Bit>,

    has_payload: Signal<Local, Bit>,
    fits: Signal<Local, Bit>,
    right: Signal<Local, Bit>,
    accepted: Signal<Local, Bit>,
    place: Signal<Local, Bits<4>>,
    in_group: Signal<Local, Bits<6>>,
    imm_flag: Constant<Bits<8>>,
    /// What a NIC without rounds does not see of a packet.
    flag_bits: Constant<Bits<8>>,
    round_bits: Constant<Bits<16>>,
}

impl NarrowRxParse {
    pub fn new(config: &Config) -> Self {
        // Answers carry no payload, so they are taken at once. Their frames are nine beats at least, a word
        // takes five clocks into its FIFO.
        let words_log2 = config.rx_packets_log2.max(3);
        let answers_log2 = config.rx_packets_log2.saturating_sub(3).max(3);
        Self {
            clk: Default::default(),
            rst: Default::default(),
            s_axis_tdata: Default::default(),
            s_axis_tkeep: Default::default(),
            s_axis_tvalid: Default::default(),
            s_axis_tready: Default::default(),
            s_axis_tlast: Default::default(),
            s_axis_tuser: Default::default(),
            settings: Default::default(),
            now: Default::default(),
            table_write: Default::default(),
            ready: Default::default(),
            data_valid: Default::default(),
            data_data: Default::default(),
            data_ready: Default::default(),
            feedback_valid: Default::default(),
            feedback_data: Default::default(),
            feedback_ready: Default::default(),
            payload_valid: Default::default(),
            payload_data: Default::default(),
            payload_ready: Default::default(),
            rx_frames: Default::default(),
            rx_data: Default::default(),
            rx_probe: Default::default(),
            rx_feedback: Default::default(),
            rx_release: Default::default(),
            rx_ud: Default::default(),
            drop_overflow: Default::default(),
            drop_frame: Default::default(),
            drop_not_ours: Default::default(),
            drop_ip_header: Default::default(),
            drop_length: Default::default(),
            drop_icrc: Default::default(),
            drop_cnp: Default::default(),
            drop_bth: Default::default(),
            drop_p_key: Default::default(),
            drop_endpoint: Default::default(),
            drop_q_key: Default::default(),
            drop_trh: Default::default(),
            drop_fields: Default::default(),
            drop_disabled: Default::default(),
            strip: NarrowVlanStrip::new(config),
            beat_valid: Default::default(),
            beat: Default::default(),
            keep: Default::default(),
            last: Default::default(),
            bad: Default::default(),
            arrival: Default::default(),
            tag: Default::default(),
            number: Default::default(),
            bytes: Default::default(),
            icrc: NarrowIcrc::new(config.ipv6),
            ended: Default::default(),
            ended_bad: Default::default(),
            ended_arrival: Default::default(),
            last_beat: Default::default(),
            last_bytes: Default::default(),
            heads: NarrowRxHeads::new(config),
            addressed: RxAddress::new(config),
            judge: RxJudge::new(config, 16),
            held: Default::default(),
            held_sender: Default::default(),
            late_beat: Delay::new(6),
            late_start: Delay::new(5),
            valids: Default::default(),
            lasts: Default::default(),
            transport: Default::default(),
            trh: Default::default(),
            answer: Default::default(),
            payload: NarrowRxPayload::new(config),
            words: LateFifo::new(words_log2).of_wide_words(),
            answers: SliceFifo::new(answers_log2),
            answered: Default::default(),
            answering: Default::default(),
            counted: Default::default(),
            event_overflow: Default::default(),
            event_frame: Default::default(),
            has_payload: Default::default(),
            fits: Default::default(),
            right: Default::default(),
            accepted: Default::default(),
            place: Default::default(),
            in_group: Default::default(),
            imm_flag: Constant::new(u64::from(wire::flag::IMM).into()),
            flag_bits: Constant::new(u64::from(if config.rounds { !0 } else { !wire::flag::ROUND }).into()),
            round_bits: Constant::new(if config.rounds { 0xFFFFu64 } else { 0 }.into()),
        }
    }
}

impl Logic for NarrowRxParse {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, beat_valid, beat, keep, last, bad, arrival, tag, number);
        dff_setup!(self, clk, ended, ended_bad, ended_arrival, last_beat, last_bytes, valids, lasts);
        dff_setup!(self, clk, held, held_sender, counted, event_overflow, event_frame, answered, answering);
        self.strip.clk.next = self.clk.val();
        self.strip.rst.next = self.rst.val();
        self.icrc.clk.next = self.clk.val();
        self.heads.clk.next = self.clk.val();
        self.judge.clk.next = self.clk.val();
        self.judge.rst.next = self.rst.val();
        self.payload.clk.next = self.clk.val();
        self.payload.rst.next = self.rst.val();
        self.late_beat.clock.next = self.clk.val();
        self.late_start.clock.next = self.clk.val();
        self.words.clk.next = self.clk.val();
        self.words.rst.next = self.rst.val();
        self.answers.clk.next = self.clk.val();
        self.answers.rst.next = self.rst.val();

        // Clock 0: the beat is in its register.
        self.s_axis_tready.next = true;
        self.strip.now.next = self.now.val();
        self.strip.in_valid.next = self.s_axis_tvalid.val();
        self.strip.in_data.next = self.s_axis_tdata.val();
        self.strip.in_keep.next = self.s_axis_tkeep.val();
        self.strip.in_last.next = self.s_axis_tlast.val();
        self.strip.in_user.next = self.s_axis_tuser.val();
        self.beat_valid.d.next = self.strip.out_valid.val();
        if self.strip.out_valid.val() {
            self.beat.d.next = self.strip.out_data.val();
            self.keep.d.next = self.strip.out_keep.val();
            self.last.d.next = self.strip.out_last.val();
            self.bad.d.next = self.strip.out_user.val();
            self.arrival.d.next = self.strip.out_arrival.val();
            self.tag.d.next = self.strip.out_tag.val();
        }
        self.bytes.keep.next = self.keep.q.val();
        self.icrc.valid.next = self.beat_valid.q.val();
        self.icrc.first.next = self.number.q.val() == 0;
        self.icrc.data.next = self.beat.q.val();
        self.icrc.keep.next = self.keep.q.val();
        self.heads.table_write.next = self.table_write.val();
        self.heads.beat_valid.next = self.beat_valid.q.val();
        self.heads.beat.next = self.beat.q.val();
        self.place.next = self.number.q.val().get_bits::<4>(0);
        if self.number.q.val().get_bits::<5>(4).any() {
            self.place.next = 15.into();
        }
        self.heads.number.next = self.place.val();
        self.heads.beat_tag.next = self.tag.q.val();
        if self.beat_valid.q.val() {
            if self.last.q.val() {
                self.number.d.next = 0.into();
            } else if self.number.q.val() != 511 {
                self.number.d.next = self.number.q.val() + 1;
            }
        }

        // Clock 1: a frame has ended, its heads stand.
        self.ended.d.next = self.beat_valid.q.val() & self.last.q.val();
        self.ended_bad.d.next = self.bad.q.val();
        self.ended_arrival.d.next = self.arrival.q.val();
        self.last_beat.d.next = self.number.q.val().get_bits::<7>(2);
        self.in_group.next = bit_cast::<6, 2>(self.number.q.val().get_bits::<2>(0)) << 4;
        self.last_bytes.d.next = self.in_group.val() + bit_cast::<6, 4>(self.bytes.q.val());
        if self.bytes.q.val() == 0 {
            self.last_bytes.d.next = self.in_group.val() + 16;
        }
        self.transport.d.next = self.heads.tail.val().get_bits::<224>(0);
        self.addressed.settings.next = self.settings.val();
        self.addressed.ip4.next = self.heads.ip4.val();
        self.addressed.ip6.next = self.heads.ip6.val();
        self.addressed.transport.next = self.transport.q.val();
        self.addressed.v6.next = self.heads.start.val().v6;
        self.addressed.tag.next = self.heads.tag.val();
        self.judge.settings.next = self.settings.val();
        self.judge.table_write.next = self.table_write.val();
        self.ready.next = self.judge.ready.val();
        self.judge.ended.next = self.ended.q.val();
        self.judge.bad.next = self.ended_bad.q.val();
        self.judge.last_beat.next = self.last_beat.q.val();
        self.judge.last_bytes.next = self.last_bytes.q.val();
        self.judge.not_ours.next = self.addressed.not_ours.val();
        self.judge.odd.next = self.addressed.odd.val();
        self.judge.said_frame.next = self.addressed.frame_len.val();
        self.judge.said_udp.next = self.addressed.udp_len.val();
        self.judge.transport.next = self.transport.q.val();
        self.judge.trh_bytes.next = self.heads.tail.val().get_bits::<320>(224);
        self.judge.start.next = self.heads.start.val();
        self.judge.crc_state.next = self.icrc.state.val();
        self.late_start.d.next = self.heads.start.val();
        if self.ended.q.val() & self.last_beat.q.val().any() {
            self.held.d.next.trh = self.heads.tail.val().get_bits::<160>(224);
            self.held.d.next.src_endpoint = self.transport.q.val().src_endpoint;
            self.held.d.next.endpoint = self.transport.q.val().dst_endpoint.get_bits::<8>(0);
            self.held.d.next.arrival = self.ended_arrival.q.val();
            self.held_sender.d.next = self.addressed.sender.val();
        }
        self.late_beat.d.next = self.beat.q.val();
        self.valids.d.next = (self.valids.q.val() << 1) | bit_cast::<6, 1>(self.beat_valid.q.val().into());
        self.lasts.d.next = (self.lasts.q.val() << 1) | bit_cast::<6, 1>(self.last.q.val().into());

        // Clock 6: payload is written; with the last beat comes the verdict.
        self.has_payload.next = self.judge.verdict.val().ud
            | (self.judge.verdict.val().data & self.judge.verdict.val().payload_len.any());
        self.fits.next = false;
        if self.judge.verdict.val().feedback {
            self.fits.next = !self.answering.q.val();
        } else {
            self.fits.next = self.words.in_ready.val() & (!self.has_payload.val() | self.payload.fits.val());
        }
        self.right.next = self.judge.verdict.val().data
            | self.judge.verdict.val().probe
            | self.judge.verdict.val().feedback
            | self.judge.verdict.val().release
            | self.judge.verdict.val().ud;
        self.accepted.next = self.judge.done.val() & self.fits.val() & self.right.val();
        self.payload.late_valid.next = self.valids.q.val().get_bit(5);
        self.payload.late_last.next = self.lasts.q.val().get_bit(5);
        self.payload.late_beat.next = self.late_beat.q.val();
        self.payload.late_start.next = self.late_start.q.val();
        self.payload.verdict.next = self.judge.verdict.val();
        self.payload.accept.next = self.accepted.val() & self.has_payload.val();
        self.payload_valid.next = self.payload.payload_valid.val();
        self.payload_data.next = self.payload.payload_data.val();
        self.payload.payload_ready.next = self.payload_ready.val();

        // The words, from what was held and what nothing has overwritten yet.
        self.trh.d.next = bit_cast::<320, 160>(self.held.q.val().trh)
            | (bit_cast::<320, 160>(self.heads.tail.val().get_bits::<160>(384)) << 160);
        self.answer.d.next = bit_cast::<480, 160>(self.held.q.val().trh)
            | (bit_cast::<480, 320>(self.heads.tail.val().get_bits::<320>(384)) << 160);

        self.words.in_valid.next = self.accepted.val() & !self.judge.verdict.val().feedback;
        self.words.in_data.next.src_mac = self.held_sender.q.val().mac;
        self.words.in_data.next.vlan = self.held_sender.q.val().vlan;
        self.words.in_data.next.vlan_valid = self.held_sender.q.val().vlan_valid;
        self.words.in_data.next.src_gid = self.held_sender.q.val().gid;
        self.words.in_data.next.src_endpoint = self.held.q.val().src_endpoint;
        self.words.in_data.next.endpoint = self.held.q.val().endpoint;
        self.words.in_data.next.ce = self.held_sender.q.val().ce;
        self.words.in_data.next.ud = self.judge.verdict.val().ud;
        self.words.in_data.next.probe = self.judge.verdict.val().probe;
        self.words.in_data.next.release = self.judge.verdict.val().release;
        self.words.in_data.next.flags = self.trh.q.val().flags & self.flag_bits.val();
        self.words.in_data.next.ev = self.trh.q.val().ev;
        self.words.in_data.next.payload_log2 = self.trh.q.val().payload_log2;
        self.words.in_data.next.traffic_class = self.trh.q.val().traffic_class;
        self.words.in_data.next.slot = self.trh.q.val().slot;
        self.words.in_data.next.generation = self.trh.q.val().generation;
        self.words.in_data.next.index = self.trh.q.val().index;
        self.words.in_data.next.initial_window = self.trh.q.val().initial_window;
        self.words.in_data.next.length = self.trh.q.val().length;
        self.words.in_data.next.count = self.judge.verdict.val().count;
        self.words.in_data.next.tag = self.trh.q.val().tag;
        self.words.in_data.next.rkey = self.trh.q.val().rkey;
        self.words.in_data.next.denied = false;
        self.words.in_data.next.imm = self.trh.q.val().imm;
        self.words.in_data.next.round = self.trh.q.val().round & self.round_bits.val();
        self.words.in_data.next.rtt = self.trh.q.val().rtt;
        self.words.in_data.next.timestamp = self.trh.q.val().timestamp;
        self.words.in_data.next.arrival = self.held.q.val().arrival;
        self.words.in_data.next.payload_len = self.judge.verdict.val().payload_len;
        if self.judge.verdict.val().release {
            self.words.in_data.next.flags = 0.into();
        }
        if self.judge.verdict.val().ud {
            self.words.in_data.next.flags = 0.into();
            if self.late_start.q.val().imm {
                self.words.in_data.next.flags = self.imm_flag.val();
            }
            // The immediate stands where a TRH begins.
            self.words.in_data.next.imm = (bit_cast::<32, 4>(self.trh.q.val().trh_version) << 28)
                | (bit_cast::<32, 4>(self.trh.q.val().kind) << 24)
                | (bit_cast::<32, 8>(self.trh.q.val().flags) << 16)
                | (bit_cast::<32, 8>(self.trh.q.val().ev) << 8)
                | (bit_cast::<32, 4>(self.trh.q.val().payload_log2) << 4)
                | bit_cast::<32, 4>(self.trh.q.val().traffic_class);
        }
        self.words.out_ready.next = self.data_ready.val();
        self.data_valid.next = self.words.out_valid.val();
        self.data_data.next = self.words.out_data.val();

        self.answers.in_valid.next = self.answering.q.val();
        self.answers.in_data.next = self.answered.q.val();
        if self.answers.in_ready.val() {
            self.answering.d.next = false;
        }
        if !self.answering.q.val() {
            self.answering.d.next = self.accepted.val() & self.judge.verdict.val().feedback;
            self.answered.d.next.src_mac = self.held_sender.q.val().mac;
            self.answered.d.next.vlan = self.held_sender.q.val().vlan;
            self.answered.d.next.vlan_valid = self.held_sender.q.val().vlan_valid;
            self.answered.d.next.src_gid = self.held_sender.q.val().gid;
            self.answered.d.next.src_endpoint = self.held.q.val().src_endpoint;
            self.answered.d.next.endpoint = self.held.q.val().endpoint;
            self.answered.d.next.flags = self.answer.q.val().flags;
            self.answered.d.next.ev = self.answer.q.val().ev;
            self.answered.d.next.status = self.answer.q.val().status;
            self.answered.d.next.slot = self.answer.q.val().slot;
            self.answered.d.next.generation = self.answer.q.val().generation;
            self.answered.d.next.cumulative = self.answer.q.val().cumulative;
            self.answered.d.next.sequence = self.answer.q.val().sequence;
            self.answered.d.next.grant = self.answer.q.val().grant;
            self.answered.d.next.duplicates = self.answer.q.val().duplicates;
            self.answered.d.next.base = self.answer.q.val().base;
            self.answered.d.next.limit = self.answer.q.val().limit;
            self.answered.d.next.delay = self.answer.q.val().delay;
            self.answered.d.next.echo = self.answer.q.val().echo;
            self.answered.d.next.bitmap = self.answer.q.val().bitmap;
            self.answered.d.next.arrival = self.held.q.val().arrival;
        }
        self.answers.out_ready.next = self.feedback_ready.val();
        self.feedback_valid.next = self.answers.out_valid.val();
        self.feedback_data.next = self.answers.out_data.val();

        self.counted.d.next = self.judge.verdict.val();
        self.event_frame.d.next = self.judge.done.val();
        self.event_overflow.d.next = self.right.val() & !self.fits.val();
        self.rx_frames.next = self.event_frame.q.val();
        self.rx_data.next =
            self.event_frame.q.val() & self.counted.q.val().data & !self.event_overflow.q.val();
        self.rx_probe.next =
            self.event_frame.q.val() & self.counted.q.val().probe & !self.event_overflow.q.val();
        self.rx_feedback.next =
            self.event_frame.q.val() & self.counted.q.val().feedback & !self.event_overflow.q.val();
        self.rx_release.next =
            self.event_frame.q.val() & self.counted.q.val().release & !self.event_overflow.q.val();
        self.rx_ud.next = self.event_frame.q.val() & self.counted.q.val().ud & !self.event_overflow.q.val();
        self.drop_overflow.next = self.event_frame.q.val() & self.event_overflow.q.val();
        self.drop_frame.next = self.event_frame.q.val() & self.counted.q.val().frame;
        self.drop_not_ours.next = self.event_frame.q.val() & self.counted.q.val().not_ours;
        self.drop_ip_header.next = self.event_frame.q.val() & self.counted.q.val().ip_header;
        self.drop_length.next = self.event_frame.q.val() & self.counted.q.val().length;
        self.drop_icrc.next = self.event_frame.q.val() & self.counted.q.val().icrc;
        self.drop_cnp.next = self.event_frame.q.val() & self.counted.q.val().cnp;
        self.drop_bth.next = self.event_frame.q.val() & self.counted.q.val().bth;
        self.drop_p_key.next = self.event_frame.q.val() & self.counted.q.val().p_key;
        self.drop_endpoint.next = self.event_frame.q.val() & self.counted.q.val().endpoint;
        self.drop_q_key.next = self.event_frame.q.val() & self.counted.q.val().q_key;
        self.drop_trh.next = self.event_frame.q.val() & self.counted.q.val().trh;
        self.drop_fields.next = self.event_frame.q.val() & self.counted.q.val().fields;
        self.drop_disabled.next = self.event_frame.q.val() & self.counted.q.val().disabled;

        if self.rst.val() {
            self.beat_valid.d.next = false;
            self.number.d.next = 0.into();
            self.ended.d.next = false;
            self.valids.d.next = 0.into();
            self.answering.d.next = false;
            self.event_frame.d.next = false;
        }
    }
}
