//! Turns frames from the MAC into verified words and aligned payload.
//!
//! ```text
//!  s_axis ─> beat ─┬─> first two beats ──> rx_judge ──────────┐ verdict
//!                  ├─> icrc ─────────────────^                v
//!                  └─> 6 clocks of delay ─> shift by 38 ─> payload buffer ─> payload
//!                                                             │ commit, roll back
//!                                            heads ─> words ──┴─> data, feedback
//! ```
//!
//! Contract:
//! - `s_axis_tready` is always high; beats come with any gaps; `tuser` counts
//!   at the last beat. Minimal frames of two beats may follow each other.
//! - The verdict stands 7 clocks after the last beat; only then do words,
//!   payload and events appear (RX-2). A last beat accepted at clock 0 gives
//!   `data_valid` or `feedback_valid` at clock 8, and the first `payload_valid`
//!   too (11 when the last payload bytes need a beat of their own).
//! - `payload` carries one frame for each `data` word with `payload_len` > 0,
//!   in the same order, `tkeep` exactly the payload's bytes.
//! - `overflow` is judged last, of a frame that is right in everything else: no
//!   place for its payload (a place must be free at each of its beats), or for
//!   its word. The order of the other reasons is that of `rx_judge`.
//! - Events are pulses, one reason or kind and one `rx_frames` per frame.
//!
//! Verified by `testbenches/tests/rx_parse.rs` and `packet_loop.rs`.

use super::cells::{Delay, KeepCount};
use super::icrc::Icrc;
use super::layout::{DataWord, FeedbackWord, FromWire, RouteWord};
use super::rx_judge::{RxJudge, Verdict};
use crate::prelude::*;
use crate::stream::{CommitFifo, Fifo};
use crate::types::{Beat, RxData, RxFeedback, Settings, TableWrite};
use tessera_abi::params::Config;
use tessera_abi::wire;

/// A buffered payload beat; the count takes less room than `tkeep`.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct StoredBeat {
    pub tdata: Bits<512>,
    pub tlast: Bit,
    /// Bytes of a last beat, 0 = 64.
    pub bytes: Bits<6>,
}

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
    pub drop_unsupported: Signal<Out, Bit>,
    pub drop_fields: Signal<Out, Bit>,
    pub drop_disabled: Signal<Out, Bit>,

    // The beat as it came, and its number in the frame.
    beat_valid: Dff<Bit>,
    beat: Dff<Bits<512>>,
    keep: Dff<Bits<64>>,
    last: Dff<Bit>,
    bad: Dff<Bit>,
    arrival: Dff<Bits<32>>,
    number: Dff<Bits<7>>,
    bytes: KeepCount,
    icrc: Icrc,

    // One clock on: the end of a frame and its heads.
    ended: Dff<Bit>,
    ended_bad: Dff<Bit>,
    last_beat: Dff<Bits<7>>,
    last_bytes: Dff<Bits<6>>,
    head0: Dff<Bits<512>>,
    head1: Dff<Bits<512>>,
    judge: RxJudge,

    // Six clocks on, with the verdict.
    late_beat: Delay<Bits<512>>,
    late_arrival: Delay<Bits<32>>,
    late_head0: Delay<Bits<512>>,
    late_head1: Delay<Bits<512>>,
    valids: Dff<Bits<6>>,
    lasts: Dff<Bits<6>>,
    route: FromWire<RouteWord, 496>,
    trh: FromWire<DataWord, 320>,
    answer: FromWire<FeedbackWord, 480>,

    // Payload buffer.
    depth: Dff<Bits<2>>,
    carry: Dff<Bits<208>>,
    lost: Dff<Bit>,
    flush: Dff<Bit>,
    flush_bytes: Dff<Bits<6>>,
    buffer: CommitFifo<StoredBeat, 15>,
    words: Fifo<RxData, 12>,
    answers: Fifo<RxFeedback, 12>,
    counted: Dff<Verdict>,
    event_overflow: Dff<Bit>,
    event_frame: Dff<Bit>,

    whole: Signal<Local, Bits<1024>>,
    late_valid: Signal<Local, Bit>,
    late_last: Signal<Local, Bit>,
    write: Signal<Local, Bit>,
    has_payload: Signal<Local, Bit>,
    fits: Signal<Local, Bit>,
    accepted: Signal<Local, Bit>,
    gid: Signal<Local, Bits<128>>,
    stored: Signal<Local, StoredBeat>,
    gid_prefix: Constant<Bits<128>>,
    congested: Constant<Bits<2>>,
    all_bytes: Constant<Bits<64>>,
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
            drop_unsupported: Default::default(),
            drop_fields: Default::default(),
            drop_disabled: Default::default(),
            beat_valid: Default::default(),
            beat: Default::default(),
            keep: Default::default(),
            last: Default::default(),
            bad: Default::default(),
            arrival: Default::default(),
            number: Default::default(),
            bytes: Default::default(),
            icrc: Icrc::new(),
            ended: Default::default(),
            ended_bad: Default::default(),
            last_beat: Default::default(),
            last_bytes: Default::default(),
            head0: Default::default(),
            head1: Default::default(),
            judge: RxJudge::new(config.endpoints_log2),
            late_beat: Delay::new(6),
            late_arrival: Delay::new(6),
            late_head0: Delay::new(5),
            late_head1: Delay::new(5),
            valids: Default::default(),
            lasts: Default::default(),
            route: Default::default(),
            trh: Default::default(),
            answer: Default::default(),
            depth: Default::default(),
            carry: Default::default(),
            lost: Default::default(),
            flush: Default::default(),
            flush_bytes: Default::default(),
            buffer: CommitFifo::new(config.rx_buffer_beats_log2),
            words: Fifo::new(words_log2),
            answers: Fifo::new(answers_log2),
            counted: Default::default(),
            event_overflow: Default::default(),
            event_frame: Default::default(),
            whole: Default::default(),
            late_valid: Default::default(),
            late_last: Default::default(),
            write: Default::default(),
            has_payload: Default::default(),
            fits: Default::default(),
            accepted: Default::default(),
            gid: Default::default(),
            stored: Default::default(),
            gid_prefix: Constant::new(Bits::<128>::from(0xFFFFu64) << 32u64),
            congested: Constant::new(u64::from(wire::ECN_CE).into()),
            all_bytes: Constant::new(u64::MAX.into()),
        }
    }
}

impl Logic for RxParse {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, beat_valid, beat, keep, last, bad, arrival, number);
        dff_setup!(self, clk, ended, ended_bad, last_beat, last_bytes, head0, head1, valids, lasts);
        dff_setup!(self, clk, depth, carry, lost, flush, flush_bytes);
        dff_setup!(self, clk, counted, event_overflow, event_frame);
        self.icrc.clk.next = self.clk.val();
        self.judge.clk.next = self.clk.val();
        self.judge.rst.next = self.rst.val();
        self.late_beat.clock.next = self.clk.val();
        self.late_arrival.clock.next = self.clk.val();
        self.late_head0.clock.next = self.clk.val();
        self.late_head1.clock.next = self.clk.val();
        self.buffer.clk.next = self.clk.val();
        self.buffer.rst.next = self.rst.val();
        self.words.clk.next = self.clk.val();
        self.words.rst.next = self.rst.val();
        self.answers.clk.next = self.clk.val();
        self.answers.rst.next = self.rst.val();

        // Clock 0: the beat is in its register.
        self.s_axis_tready.next = true;
        self.beat_valid.d.next = self.s_axis_tvalid.val();
        if self.s_axis_tvalid.val() {
            self.beat.d.next = self.s_axis_tdata.val();
            self.keep.d.next = self.s_axis_tkeep.val();
            self.last.d.next = self.s_axis_tlast.val();
            self.bad.d.next = self.s_axis_tuser.val();
            self.arrival.d.next = self.now.val();
        }
        self.bytes.keep.next = self.keep.q.val();
        self.icrc.valid.next = self.beat_valid.q.val();
        self.icrc.first.next = self.number.q.val() == 0;
        self.icrc.data.next = self.beat.q.val();
        self.icrc.keep.next = self.keep.q.val();
        if self.beat_valid.q.val() {
            if self.last.q.val() {
                self.number.d.next = 0.into();
            } else if self.number.q.val() != 127 {
                self.number.d.next = self.number.q.val() + 1;
            }
            if self.number.q.val() == 0 {
                self.head0.d.next = self.beat.q.val();
            }
            if self.number.q.val() == 1 {
                self.head1.d.next = self.beat.q.val();
            }
        }

        // Clock 1: a frame has ended, both heads stand.
        self.ended.d.next = self.beat_valid.q.val() & self.last.q.val();
        self.ended_bad.d.next = self.bad.q.val();
        self.last_beat.d.next = self.number.q.val();
        self.last_bytes.d.next = self.bytes.q.val();
        self.judge.settings.next = self.settings.val();
        self.judge.table_write.next = self.table_write.val();
        self.judge.ended.next = self.ended.q.val();
        self.judge.bad.next = self.ended_bad.q.val();
        self.judge.last_beat.next = self.last_beat.q.val();
        self.judge.last_bytes.next = self.last_bytes.q.val();
        self.judge.head0.next = self.head0.q.val();
        self.judge.head1.next = self.head1.q.val();
        self.judge.crc_state.next = self.icrc.state.val();
        self.late_head0.d.next = self.head0.q.val();
        self.late_head1.d.next = self.head1.q.val();
        self.late_beat.d.next = self.beat.q.val();
        self.late_arrival.d.next = self.arrival.q.val();
        self.valids.d.next = (self.valids.q.val() << 1) | bit_cast::<6, 1>(self.beat_valid.q.val().into());
        self.lasts.d.next = (self.lasts.q.val() << 1) | bit_cast::<6, 1>(self.last.q.val().into());

        // Clock 6: payload is written beat by beat; with the last one comes
        // the verdict that keeps it or takes it back. A frame's last bytes may
        // need one more write: the next frame's first two beats write nothing.
        self.late_valid.next = self.valids.q.val().get_bit(5);
        self.late_last.next = self.lasts.q.val().get_bit(5);
        self.write.next = self.late_valid.val() & (self.depth.q.val() == 2);
        self.has_payload.next = self.judge.verdict.val().data & self.judge.verdict.val().payload_len.any();
        self.fits.next = false;
        if self.judge.verdict.val().feedback {
            self.fits.next = self.answers.in_ready.val();
        } else {
            self.fits.next = self.words.in_ready.val()
                & (!self.has_payload.val() | (self.buffer.room.val() & !self.lost.q.val()));
        }
        self.accepted.next = self.judge.done.val()
            & self.fits.val()
            & (self.judge.verdict.val().data
                | self.judge.verdict.val().probe
                | self.judge.verdict.val().feedback);
        if self.late_valid.val() {
            self.carry.d.next = self.late_beat.q.val().get_bits::<208>(304);
            if self.depth.q.val() != 2 {
                self.depth.d.next = self.depth.q.val() + 1;
            }
            if self.write.val() & !self.buffer.room.val() {
                self.lost.d.next = true;
            }
            if self.late_last.val() {
                self.depth.d.next = 0.into();
                self.lost.d.next = false;
            }
        }
        self.stored.next.tdata = (bit_cast::<512, 304>(self.late_beat.q.val().get_bits::<304>(0)) << 208)
            | bit_cast::<512, 208>(self.carry.q.val());
        self.stored.next.tlast =
            (self.late_last.val() & !self.judge.verdict.val().spill) | self.flush.q.val();
        self.stored.next.bytes = self.judge.verdict.val().payload_len.get_bits::<6>(0);
        if self.flush.q.val() {
            self.stored.next.bytes = self.flush_bytes.q.val();
        }
        self.flush.d.next = self.accepted.val() & self.has_payload.val() & self.judge.verdict.val().spill;
        self.flush_bytes.d.next = self.judge.verdict.val().payload_len.get_bits::<6>(0);
        self.buffer.in_data.next = self.stored.val();
        self.buffer.in_valid.next =
            (self.write.val() & self.buffer.room.val() & !self.lost.q.val()) | self.flush.q.val();
        self.buffer.commit.next = self.flush.q.val()
            | (self.accepted.val() & self.has_payload.val() & !self.judge.verdict.val().spill);
        self.buffer.rollback.next =
            self.late_valid.val() & self.late_last.val() & !(self.accepted.val() & self.has_payload.val());
        self.buffer.out_ready.next = self.payload_ready.val();
        self.payload_valid.next = self.buffer.out_valid.val();
        self.payload_data.next.tdata = self.buffer.out_data.val().tdata;
        self.payload_data.next.tlast = self.buffer.out_data.val().tlast;
        self.payload_data.next.tkeep = self.all_bytes.val();
        if self.buffer.out_data.val().tlast & self.buffer.out_data.val().bytes.any() {
            self.payload_data.next.tkeep = !(self.all_bytes.val() << self.buffer.out_data.val().bytes);
        }

        // The words, from heads that waited beside the verdict.
        self.whole.next = (bit_cast::<1024, 512>(self.late_head1.q.val()) << 512)
            | bit_cast::<1024, 512>(self.late_head0.q.val());
        self.route.d.next = self.whole.val().get_bits::<496>(0);
        self.trh.d.next = self.whole.val().get_bits::<320>(496);
        self.answer.d.next = self.whole.val().get_bits::<480>(496);
        self.gid.next = self.gid_prefix.val() | bit_cast::<128, 32>(self.route.q.val().src_ip);

        self.words.in_valid.next = self.accepted.val() & !self.judge.verdict.val().feedback;
        self.words.in_data.next.src_mac = self.route.q.val().src_mac;
        self.words.in_data.next.src_gid = self.gid.val();
        self.words.in_data.next.src_endpoint = self.route.q.val().src_endpoint;
        self.words.in_data.next.endpoint = self.route.q.val().dst_endpoint.get_bits::<8>(0);
        self.words.in_data.next.ce = self.route.q.val().tos.get_bits::<2>(0) == self.congested.val();
        self.words.in_data.next.probe = self.judge.verdict.val().probe;
        self.words.in_data.next.flags = self.trh.q.val().flags;
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
        self.words.in_data.next.round = self.trh.q.val().round;
        self.words.in_data.next.rtt = self.trh.q.val().rtt;
        self.words.in_data.next.timestamp = self.trh.q.val().timestamp;
        self.words.in_data.next.arrival = self.late_arrival.q.val();
        self.words.in_data.next.payload_len = self.judge.verdict.val().payload_len;
        self.words.out_ready.next = self.data_ready.val();
        self.data_valid.next = self.words.out_valid.val();
        self.data_data.next = self.words.out_data.val();

        self.answers.in_valid.next = self.accepted.val() & self.judge.verdict.val().feedback;
        self.answers.in_data.next.src_gid = self.gid.val();
        self.answers.in_data.next.src_endpoint = self.route.q.val().src_endpoint;
        self.answers.in_data.next.endpoint = self.route.q.val().dst_endpoint.get_bits::<8>(0);
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
        self.event_overflow.d.next = (self.judge.verdict.val().data
            | self.judge.verdict.val().probe
            | self.judge.verdict.val().feedback)
            & !self.fits.val();
        self.rx_frames.next = self.event_frame.q.val();
        self.rx_data.next =
            self.event_frame.q.val() & self.counted.q.val().data & !self.event_overflow.q.val();
        self.rx_probe.next =
            self.event_frame.q.val() & self.counted.q.val().probe & !self.event_overflow.q.val();
        self.rx_feedback.next =
            self.event_frame.q.val() & self.counted.q.val().feedback & !self.event_overflow.q.val();
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
        self.drop_unsupported.next = self.event_frame.q.val() & self.counted.q.val().unsupported;
        self.drop_fields.next = self.event_frame.q.val() & self.counted.q.val().fields;
        self.drop_disabled.next = self.event_frame.q.val() & self.counted.q.val().disabled;

        if self.rst.val() {
            self.beat_valid.d.next = false;
            self.number.d.next = 0.into();
            self.ended.d.next = false;
            self.valids.d.next = 0.into();
            self.depth.d.next = 0.into();
            self.lost.d.next = false;
            self.flush.d.next = false;
            self.event_frame.d.next = false;
        }
    }
}
