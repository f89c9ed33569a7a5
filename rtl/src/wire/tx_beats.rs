//! The last stage of `tx_build`: a finished header and its payload become
//! beats, the payload moved up by 38 bytes to meet the header.
//!
//! ```text
//!  head ─> header register ─┐
//!                           ├─> beat 0: header, beat 1: header | payload, ─> output ─> frame
//!  payload ─> carry ────────┘   then: carry | payload                        register
//! ```
//!
//! Contract: one beat per clock, from packet to packet too. `head_ready` is
//! high in the clock of a packet's last beat; `step` with each beat that goes
//! into the output register. `sent` pulses in the clock after `frame_ready`
//! took the last beat of a DATA or PROBE packet, events when that beat goes
//! into the output register. Bytes of `payload` outside `tkeep` count as zeros.
//!
//! Verified by `testbenches/tests/tx_build.rs`.

use super::cells::KeepBytes;
use crate::prelude::*;
use crate::types::{Beat, TxSent};
use tessera_abi::wire;

/// What travels beside a header through the stages.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct Ticket {
    pub feedback: Bit,
    pub nack: Bit,
    pub probe: Bit,
    pub retransmission: Bit,
    pub slot: Bits<12>,
    /// Bytes of payload without and with pad.
    pub payload_len: Bits<13>,
    pub padded: Bits<13>,
}

#[derive(LogicBlock)]
pub struct TxBeats {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub head_valid: Signal<In, Bit>,
    pub head: Signal<In, Bits<1024>>,
    pub ticket: Signal<In, Ticket>,
    pub head_ready: Signal<Out, Bit>,
    pub payload_valid: Signal<In, Bit>,
    pub payload_data: Signal<In, Beat>,
    pub payload_ready: Signal<Out, Bit>,
    pub frame_valid: Signal<Out, Bit>,
    pub frame_data: Signal<Out, Beat>,
    pub frame_ready: Signal<In, Bit>,
    pub step: Signal<Out, Bit>,
    pub sent: Signal<Out, TxSent>,
    pub tx_data: Signal<Out, Bit>,
    pub tx_retransmitted: Signal<Out, Bit>,
    pub tx_probe: Signal<Out, Bit>,
    pub tx_feedback: Signal<Out, Bit>,
    pub tx_nack: Signal<Out, Bit>,

    kept: KeepBytes,
    valid: Dff<Bit>,
    header: Dff<Bits<1024>>,
    packet: Dff<Ticket>,
    /// Beat of the packet: 0, 1, 2 = all later ones.
    beat: Dff<Bits<2>>,
    /// Payload bytes still to go, without and with pad.
    left: Dff<Bits<13>>,
    left_padded: Dff<Bits<13>>,
    carry: Dff<Bits<304>>,
    out_valid: Dff<Bit>,
    out: Dff<Beat>,
    out_slot: Dff<Bits<12>>,
    out_feedback: Dff<Bit>,
    done: Dff<TxSent>,
    event_data: Dff<Bit>,
    event_retransmitted: Dff<Bit>,
    event_probe: Dff<Bit>,
    event_feedback: Dff<Bit>,
    event_nack: Dff<Bit>,

    out_free: Signal<Local, Bit>,
    ends: Signal<Local, Bit>,
    need: Signal<Local, Bit>,
    fresh: Signal<Local, Bits<208>>,
    bytes: Signal<Local, Bits<13>>,
    next_left: Signal<Local, Bits<13>>,
    next_padded: Signal<Local, Bits<13>>,

    all_bytes: Constant<Bits<64>>,
    feedback_keep: Constant<Bits<64>>,
}

impl TxBeats {
    pub fn new() -> Self {
        let feedback_tail = wire::FEEDBACK_FRAME_LEN - wire::ICRC_LEN - 64;
        Self {
            clk: Default::default(),
            rst: Default::default(),
            head_valid: Default::default(),
            head: Default::default(),
            ticket: Default::default(),
            head_ready: Default::default(),
            payload_valid: Default::default(),
            payload_data: Default::default(),
            payload_ready: Default::default(),
            frame_valid: Default::default(),
            frame_data: Default::default(),
            frame_ready: Default::default(),
            step: Default::default(),
            sent: Default::default(),
            tx_data: Default::default(),
            tx_retransmitted: Default::default(),
            tx_probe: Default::default(),
            tx_feedback: Default::default(),
            tx_nack: Default::default(),
            kept: Default::default(),
            valid: Default::default(),
            header: Default::default(),
            packet: Default::default(),
            beat: Default::default(),
            left: Default::default(),
            left_padded: Default::default(),
            carry: Default::default(),
            out_valid: Default::default(),
            out: Default::default(),
            out_slot: Default::default(),
            out_feedback: Default::default(),
            done: Default::default(),
            event_data: Default::default(),
            event_retransmitted: Default::default(),
            event_probe: Default::default(),
            event_feedback: Default::default(),
            event_nack: Default::default(),
            out_free: Default::default(),
            ends: Default::default(),
            need: Default::default(),
            fresh: Default::default(),
            bytes: Default::default(),
            next_left: Default::default(),
            next_padded: Default::default(),
            all_bytes: Constant::new(u64::MAX.into()),
            feedback_keep: Constant::new(((1u64 << feedback_tail) - 1).into()),
        }
    }
}

impl Logic for TxBeats {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, valid, header, packet, beat, left, left_padded, carry);
        dff_setup!(self, clk, out_valid, out, out_slot, out_feedback, done);
        dff_setup!(self, clk, event_data, event_retransmitted, event_probe, event_feedback, event_nack);

        self.out_free.next = !self.out_valid.q.val() | self.frame_ready.val();
        self.kept.d.next = self.payload_data.val().tdata;
        self.kept.keep.next = self.payload_data.val().tkeep;
        self.need.next = false;
        if self.beat.q.val() == 1 {
            self.need.next = self.packet.q.val().payload_len.any();
        } else if self.beat.q.val() == 2 {
            self.need.next = self.left.q.val() > 38;
        }
        self.fresh.next = 0.into();
        if self.need.val() {
            self.fresh.next = self.kept.q.val().get_bits::<208>(0);
        }
        self.payload_ready.next = self.valid.q.val() & self.out_free.val() & self.need.val();
        self.step.next =
            self.valid.q.val() & self.out_free.val() & (!self.need.val() | self.payload_valid.val());
        self.ends.next = false;
        self.bytes.next = 0.into();
        self.next_left.next = 0.into();
        self.next_padded.next = 0.into();
        self.out_valid.d.next = self.out_valid.q.val() & !self.frame_ready.val();
        if self.step.val() {
            self.out_valid.d.next = true;
            self.out_slot.d.next = self.packet.q.val().slot;
            self.out_feedback.d.next = self.packet.q.val().feedback;
            self.out.d.next.tkeep = self.all_bytes.val();
            self.out.d.next.tlast = false;
            self.carry.d.next = self.kept.q.val().get_bits::<304>(208);
            if self.beat.q.val() == 0 {
                self.out.d.next.tdata = self.header.q.val().get_bits::<512>(0);
                self.beat.d.next = 1.into();
            } else if self.beat.q.val() == 1 {
                self.out.d.next.tdata = self.header.q.val().get_bits::<512>(512)
                    | (bit_cast::<512, 208>(self.fresh.val()) << 304);
                self.beat.d.next = 2.into();
                if self.packet.q.val().feedback {
                    self.out.d.next.tkeep = self.feedback_keep.val();
                    self.ends.next = true;
                } else if self.packet.q.val().padded <= 26 {
                    self.bytes.next = self.packet.q.val().padded + 38;
                    self.out.d.next.tkeep = !(self.all_bytes.val() << self.bytes.val());
                    self.ends.next = true;
                }
                if self.packet.q.val().payload_len > 26 {
                    self.next_left.next = self.packet.q.val().payload_len - 26;
                }
                self.next_padded.next = self.packet.q.val().padded - 26;
            } else {
                self.out.d.next.tdata = bit_cast::<512, 304>(self.carry.q.val())
                    | (bit_cast::<512, 208>(self.fresh.val()) << 304);
                if self.left_padded.q.val() <= 64 {
                    self.bytes.next = self.left_padded.q.val();
                    self.out.d.next.tkeep = !(self.all_bytes.val() << self.bytes.val());
                    self.ends.next = true;
                }
                if self.left.q.val() > 64 {
                    self.next_left.next = self.left.q.val() - 64;
                }
                self.next_padded.next = self.left_padded.q.val() - 64;
            }
            self.left.d.next = self.next_left.val();
            self.left_padded.d.next = self.next_padded.val();
            if self.ends.val() {
                self.out.d.next.tlast = true;
                self.beat.d.next = 0.into();
            }
        }
        self.frame_valid.next = self.out_valid.q.val();
        self.frame_data.next = self.out.q.val();

        self.done.d.next.valid = self.out_valid.q.val()
            & self.frame_ready.val()
            & self.out.q.val().tlast
            & !self.out_feedback.q.val();
        self.done.d.next.slot = self.out_slot.q.val();
        self.done.d.next.error = false;
        self.sent.next = self.done.q.val();
        self.event_data.d.next = self.ends.val()
            & !self.packet.q.val().feedback
            & !self.packet.q.val().probe
            & !self.packet.q.val().retransmission;
        self.event_retransmitted.d.next = self.ends.val()
            & !self.packet.q.val().feedback
            & !self.packet.q.val().probe
            & self.packet.q.val().retransmission;
        self.event_probe.d.next = self.ends.val() & !self.packet.q.val().feedback & self.packet.q.val().probe;
        self.event_feedback.d.next = self.ends.val() & self.packet.q.val().feedback;
        self.event_nack.d.next = self.ends.val() & self.packet.q.val().feedback & self.packet.q.val().nack;
        self.tx_data.next = self.event_data.q.val();
        self.tx_retransmitted.next = self.event_retransmitted.q.val();
        self.tx_probe.next = self.event_probe.q.val();
        self.tx_feedback.next = self.event_feedback.q.val();
        self.tx_nack.next = self.event_nack.q.val();

        self.head_ready.next = !self.valid.q.val() | self.ends.val();
        if !self.valid.q.val() | self.ends.val() {
            self.valid.d.next = self.head_valid.val();
            self.header.d.next = self.head.val();
            self.packet.d.next = self.ticket.val();
        }

        if self.rst.val() {
            self.valid.d.next = false;
            self.beat.d.next = 0.into();
            self.out_valid.d.next = false;
            self.done.d.next.valid = false;
            self.event_data.d.next = false;
            self.event_retransmitted.d.next = false;
            self.event_probe.d.next = false;
            self.event_feedback.d.next = false;
            self.event_nack.d.next = false;
        }
    }
}
