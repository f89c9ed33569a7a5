//! Turns frames from the MAC into verified words and aligned payload.
//!
//! ```text
//!  s_axis ─> vlan_strip ─> beat ─┬─> rx_heads ─> rx_address, rx_judge ──┐ verdict
//!                                ├─> icrc ───────────────────^          v
//!                                └─> 6 clocks of delay ─> rx_payload ─────────> payload
//!                                                             │ commit, roll back
//!                                            heads ─> words ──┴─> data, feedback
//! ```
//!
//! Contract:
//! - `s_axis_tready` is always high; beats come with any gaps; `tuser` counts
//!   at the last beat. Minimal frames of two beats may follow each other.
//! - The verdict stands 8 clocks after the last beat; only then do words,
//!   payload and events appear (RX-2). A last beat accepted at clock 0 gives
//!   `feedback_valid` and `data_valid` at clock 10, and the first `payload_valid`
//!   at 10 (11 when the last payload bytes need a beat of their own).
//! - a RELEASE comes as a word among the others, its flags 0, so that it stays
//!   behind packets that came before it.
//! - `payload` carries one frame for each `data` word with `payload_len` > 0,
//!   in the same order, `tkeep` exactly the payload's bytes; of a datagram 40
//!   bytes of GRH area come first and count.
//! - `overflow` is judged last, of a frame that is right in everything else: no
//!   place for its payload (a place must be free at each of its beats), or for
//!   its word. The order of the other reasons is that of `rx_judge`.
//! - Events are pulses, one reason or kind and one `rx_frames` per frame.
//!
//! Verified by `testbenches/tests/rx_parse` and `packet_loop.rs`.

use super::cells::{Delay, KeepCount};
use super::icrc::Icrc;
use super::layout::{DataWord, FeedbackWord, FromWire, TransportWord};
use super::rx_address::{RxAddress, SenderAddress};
use super::rx_heads::{RxHeads, Start};
use super::rx_judge::RxJudge;
use super::rx_payload::RxPayload;
use super::rx_verdict::Verdict;
use super::vlan_strip::{Tag, VlanStrip};
use crate::prelude::*;
use crate::stream::LateFifo;
use crate::types::{Beat, RxData, RxFeedback, Settings, TableWrite};
use tessera_abi::params::Config;
use tessera_abi::wire;

#[derive(LogicBlock)]
pub struct RxParse {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub s_axis_tdata: Signal<In, Bits<512>>,
    pub s_axis_tkeep: Signal<In, Bits<64>>,
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
    pub payload_data: Signal<Out, Beat>,
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

    strip: VlanStrip,
    // The beat without its frame's tag, and its number in the frame.
    beat_valid: Dff<Bit>,
    beat: Dff<Bits<512>>,
    keep: Dff<Bits<64>>,
    last: Dff<Bit>,
    bad: Dff<Bit>,
    arrival: Dff<Bits<32>>,
    tag: Dff<Tag>,
    number: Dff<Bits<7>>,
    bytes: KeepCount,
    icrc: Icrc,

    // One clock on: the end of a frame, its heads are known.
    ended: Dff<Bit>,
    ended_bad: Dff<Bit>,
    last_beat: Dff<Bits<7>>,
    last_bytes: Dff<Bits<6>>,
    heads: RxHeads,
    addressed: RxAddress,
    judge: RxJudge,

    // Six clocks on, with the verdict.
    /// Of six clocks, the last of them in a register: a block RAM's output would be late for the shifter.
    stored_beat: Delay<Bits<512>>,
    late_beat: Dff<Bits<512>>,
    late_arrival: Delay<Bits<32>>,
    // Where a payload begins, a clock before: a delay's output is late for what is decided by it.
    next_start: Delay<Start>,
    late_start: Dff<Start>,
    late_tail: Delay<Bits<704>>,
    late_sender: Delay<SenderAddress>,
    valids: Dff<Bits<6>>,
    lasts: Dff<Bits<6>>,
    transport: FromWire<TransportWord, 224>,
    late_transport: FromWire<TransportWord, 224>,
    trh: FromWire<DataWord, 320>,
    answer: FromWire<FeedbackWord, 480>,
    payload: RxPayload,

    words: LateFifo<RxData, 12>,
    answers: LateFifo<RxFeedback, 12>,
    counted: Dff<Verdict>,
    event_overflow: Dff<Bit>,
    event_frame: Dff<Bit>,

    has_payload: Signal<Local, Bit>,
    fits: Signal<Local, Bit>,
    right: Signal<Local, Bit>,
    accepted: Signal<Local, Bit>,
    imm_flag: Constant<Bits<8>>,
    /// What a NIC without rounds does not see of a packet.
    flag_bits: Constant<Bits<8>>,
    round_bits: Constant<Bits<16>>,
}

impl RxParse {
    pub fn new(config: &Config) -> Self {
        // Answers carry no payload, so they are taken at once.
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
            strip: VlanStrip::new(config),
            beat_valid: Default::default(),
            beat: Default::default(),
            keep: Default::default(),
            last: Default::default(),
            bad: Default::default(),
            arrival: Default::default(),
            tag: Default::default(),
            number: Default::default(),
            bytes: Default::default(),
            icrc: Icrc::new(config.ipv6),
            ended: Default::default(),
            ended_bad: Default::default(),
            last_beat: Default::default(),
            last_bytes: Default::default(),
            heads: RxHeads::new(config),
            addressed: RxAddress::new(config),
            judge: RxJudge::new(config, 64),
            stored_beat: Delay::new(5).in_block(),
            late_beat: Default::default(),
            late_arrival: Delay::new(6),
            next_start: Delay::new(4),
            late_start: Default::default(),
            late_tail: if config.has_ultra_ram() { Delay::new(5).in_ultra() } else { Delay::new(5) },
            late_sender: if config.has_ultra_ram() { Delay::new(5).in_ultra() } else { Delay::new(5) },
            valids: Default::default(),
            lasts: Default::default(),
            transport: Default::default(),
            late_transport: Default::default(),
            trh: Default::default(),
            answer: Default::default(),
            payload: RxPayload::new(config),
            words: LateFifo::new(words_log2),
            answers: LateFifo::new(answers_log2).of_wide_words(),
            counted: Default::default(),
            event_overflow: Default::default(),
            event_frame: Default::default(),
            has_payload: Default::default(),
            fits: Default::default(),
            right: Default::default(),
            accepted: Default::default(),
            imm_flag: Constant::new(u64::from(wire::flag::IMM).into()),
            flag_bits: Constant::new(u64::from(if config.rounds { !0 } else { !wire::flag::ROUND }).into()),
            round_bits: Constant::new(if config.rounds { 0xFFFFu64 } else { 0 }.into()),
        }
    }
}

impl Logic for RxParse {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, beat_valid, beat, keep, last, bad, arrival, tag, number);
        dff_setup!(self, clk, ended, ended_bad, last_beat, last_bytes, valids, lasts, late_start);
        dff_setup!(self, clk, counted, event_overflow, event_frame, late_beat);
        self.strip.clk.next = self.clk.val();
        self.strip.rst.next = self.rst.val();
        self.icrc.clk.next = self.clk.val();
        self.heads.clk.next = self.clk.val();
        self.heads.rst.next = self.rst.val();
        self.judge.clk.next = self.clk.val();
        self.judge.rst.next = self.rst.val();
        self.payload.clk.next = self.clk.val();
        self.payload.rst.next = self.rst.val();
        self.stored_beat.clock.next = self.clk.val();
        self.late_arrival.clock.next = self.clk.val();
        self.next_start.clock.next = self.clk.val();
        self.late_tail.clock.next = self.clk.val();
        self.late_sender.clock.next = self.clk.val();
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
        self.heads.table_write.next = self.table_write.val();
        self.heads.beat_valid.next = self.beat_valid.q.val();
        self.heads.beat.next = self.beat.q.val();
        self.heads.number.next = self.number.q.val();
        self.heads.beat_tag.next = self.tag.q.val();
        if self.beat_valid.q.val() {
            if self.last.q.val() {
                self.number.d.next = 0.into();
            } else if self.number.q.val() != 127 {
                self.number.d.next = self.number.q.val() + 1;
            }
        }

        // Clock 1: a frame has ended, its heads stand.
        self.ended.d.next = self.beat_valid.q.val() & self.last.q.val();
        self.ended_bad.d.next = self.bad.q.val();
        self.last_beat.d.next = self.number.q.val();
        self.last_bytes.d.next = self.bytes.q.val();
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
        self.next_start.d.next = self.heads.start.val();
        self.late_start.d.next = self.next_start.q.val();
        self.late_tail.d.next = self.heads.tail.val();
        self.late_sender.d.next = self.addressed.sender.val();
        self.stored_beat.d.next = self.beat.q.val();
        self.late_beat.d.next = self.stored_beat.q.val();
        self.late_arrival.d.next = self.arrival.q.val();
        self.valids.d.next = (self.valids.q.val() << 1) | bit_cast::<6, 1>(self.beat_valid.q.val().into());
        self.lasts.d.next = (self.lasts.q.val() << 1) | bit_cast::<6, 1>(self.last.q.val().into());

        // Clock 6: payload is written; with the last beat comes the verdict.
        self.has_payload.next = self.judge.verdict.val().ud
            | (self.judge.verdict.val().data & self.judge.verdict.val().payload_len.any());
        self.fits.next = false;
        if self.judge.verdict.val().feedback {
            self.fits.next = self.answers.in_ready.val();
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
        self.payload.next_valid.next = self.valids.q.val().get_bit(4);
        self.payload.next_ud.next = self.next_start.q.val().ud;
        self.payload.verdict.next = self.judge.verdict.val();
        self.payload.accept.next = self.accepted.val() & self.has_payload.val();
        self.payload_valid.next = self.payload.payload_valid.val();
        self.payload_data.next = self.payload.payload_data.val();
        self.payload.payload_ready.next = self.payload_ready.val();

        // The words, from heads that waited beside the verdict.
        self.late_transport.d.next = self.late_tail.q.val().get_bits::<224>(0);
        self.trh.d.next = self.late_tail.q.val().get_bits::<320>(224);
        self.answer.d.next = self.late_tail.q.val().get_bits::<480>(224);

        self.words.in_valid.next = self.accepted.val() & !self.judge.verdict.val().feedback;
        self.words.in_data.next.src_mac = self.late_sender.q.val().mac;
        self.words.in_data.next.vlan = self.late_sender.q.val().vlan;
        self.words.in_data.next.vlan_valid = self.late_sender.q.val().vlan_valid;
        self.words.in_data.next.src_gid = self.late_sender.q.val().gid;
        self.words.in_data.next.src_endpoint = self.late_transport.q.val().src_endpoint;
        self.words.in_data.next.endpoint = self.late_transport.q.val().dst_endpoint.get_bits::<8>(0);
        self.words.in_data.next.ce = self.late_sender.q.val().ce;
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
        self.words.in_data.next.arrival = self.late_arrival.q.val();
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

        self.answers.in_valid.next = self.accepted.val() & self.judge.verdict.val().feedback;
        self.answers.in_data.next.src_mac = self.late_sender.q.val().mac;
        self.answers.in_data.next.vlan = self.late_sender.q.val().vlan;
        self.answers.in_data.next.vlan_valid = self.late_sender.q.val().vlan_valid;
        self.answers.in_data.next.src_gid = self.late_sender.q.val().gid;
        self.answers.in_data.next.src_endpoint = self.late_transport.q.val().src_endpoint;
        self.answers.in_data.next.endpoint = self.late_transport.q.val().dst_endpoint.get_bits::<8>(0);
        self.answers.in_data.next.flags = self.answer.q.val().flags;
        self.answers.in_data.next.ev = self.answer.q.val().ev;
        self.answers.in_data.next.status = self.answer.q.val().status;
        self.answers.in_data.next.slot = self.answer.q.val().slot;
        self.answers.in_data.next.generation = self.answer.q.val().generation;
        self.answers.in_data.next.cumulative = self.answer.q.val().cumulative;
        self.answers.in_data.next.sequence = self.answer.q.val().sequence;
        self.answers.in_data.next.grant = self.answer.q.val().grant;
        self.answers.in_data.next.duplicates = self.answer.q.val().duplicates;
        self.answers.in_data.next.base = self.answer.q.val().base;
        self.answers.in_data.next.limit = self.answer.q.val().limit;
        self.answers.in_data.next.delay = self.answer.q.val().delay;
        self.answers.in_data.next.echo = self.answer.q.val().echo;
        self.answers.in_data.next.bitmap = self.answer.q.val().bitmap;
        self.answers.in_data.next.arrival = self.late_arrival.q.val();
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
            self.event_frame.d.next = false;
        }
    }
}
