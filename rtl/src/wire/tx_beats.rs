//! The last stage of `tx_build`: a finished header and its payload become
//! beats, the payload moved to meet the header.
//!
//! ```text
//!  head ─> header register, a beat further each time ─┐
//!                                                     ├─ or ─> output ─> frame
//!  payload ─> moved, its end carried to the next beat ┘       register
//! ```
//!
//! | place | packet | payload begins at byte | of beat |
//! |---|---|---|---|
//! | 0, 1 | RM over IPv4, IPv6 | 38, 58 | 1 |
//! | 2, 3 | plain UD over IPv4, with immediate | 62, 2 | 0, 1 |
//! | 4, 5 | plain UD over IPv6, with immediate | 18, 22 | 1 |
//!
//! `tag` pulses with each frame's first beat, for `vlan_insert`.
//!
//! Contract: one beat per clock, from packet to packet too. `head_ready` is
//! high in the clock of a packet's last beat; `step` with each beat that goes
//! into the output register. `sent` pulses in the clock after `frame_ready`
//! took the last beat of a DATA or PROBE packet, events when that beat goes
//! into the output register. Bytes of `payload` outside `tkeep` count as zeros; those
//! behind the end of a frame are zeros.
//!
//! Verified by `testbenches/tests/tx_build.rs`.

use super::cells::KeepBytes;
use super::vlan_strip::Tag;
use crate::prelude::*;
use crate::types::{Beat, TxSent};

/// What travels beside a header through the stages.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct Ticket {
    /// FEEDBACK or RELEASE.
    pub feedback: Bit,
    pub release: Bit,
    pub nack: Bit,
    pub probe: Bit,
    pub retransmission: Bit,
    pub ud: Bit,
    pub slot: Bits<12>,
    pub v6: Bit,
    pub tag: Tag,
    /// Where the payload begins, see the module's page.
    pub place: Bits<3>,
    pub payload_len: Bits<13>,
    /// Bytes of the frame without tag and ICRC.
    pub total: Bits<13>,
}

#[derive(LogicBlock)]
pub struct TxBeats {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub head_valid: Signal<In, Bit>,
    pub head: Signal<In, Bits<1152>>,
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
    pub tx_release: Signal<Out, Bit>,
    pub tx_ud: Signal<Out, Bit>,
    pub tag_valid: Signal<Out, Bit>,
    pub tag_data: Signal<Out, Tag>,

    kept: KeepBytes,
    valid: Dff<Bit>,
    header: Dff<Bits<1152>>,
    packet: Dff<Ticket>,
    /// The next beat is not the packet's first.
    begun: Dff<Bit>,
    /// Payload bytes to fetch, bytes of the frame to go; of a packet begun.
    left: Dff<Bits<13>>,
    to_go: Dff<Bits<13>>,
    carry: Dff<Bits<512>>,
    out_valid: Dff<Bit>,
    out: Dff<Beat>,
    out_slot: Dff<Bits<12>>,
    out_feedback: Dff<Bit>,
    out_ud: Dff<Bit>,
    done: Dff<TxSent>,
    event_data: Dff<Bit>,
    event_retransmitted: Dff<Bit>,
    event_probe: Dff<Bit>,
    event_feedback: Dff<Bit>,
    event_nack: Dff<Bit>,
    event_release: Dff<Bit>,
    event_ud: Dff<Bit>,
    tags: Dff<Bit>,
    new_tag: Dff<Tag>,

    out_free: Signal<Local, Bit>,
    ends: Signal<Local, Bit>,
    need: Signal<Local, Bit>,
    now_left: Signal<Local, Bits<13>>,
    now_to_go: Signal<Local, Bits<13>>,
    bytes: Signal<Local, Bits<512>>,
    /// The payload beat's part of this beat of the frame, and of the next.
    fresh: Signal<Local, Bits<512>>,
    later: Signal<Local, Bits<512>>,

    all_bytes: Constant<Bits<64>>,
}

impl TxBeats {
    pub fn new() -> Self {
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
            tx_release: Default::default(),
            tx_ud: Default::default(),
            tag_valid: Default::default(),
            tag_data: Default::default(),
            kept: Default::default(),
            valid: Default::default(),
            header: Default::default(),
            packet: Default::default(),
            begun: Default::default(),
            left: Default::default(),
            to_go: Default::default(),
            carry: Default::default(),
            out_valid: Default::default(),
            out: Default::default(),
            out_slot: Default::default(),
            out_feedback: Default::default(),
            out_ud: Default::default(),
            done: Default::default(),
            event_data: Default::default(),
            event_retransmitted: Default::default(),
            event_probe: Default::default(),
            event_feedback: Default::default(),
            event_nack: Default::default(),
            event_release: Default::default(),
            event_ud: Default::default(),
            tags: Default::default(),
            new_tag: Default::default(),
            out_free: Default::default(),
            ends: Default::default(),
            need: Default::default(),
            now_left: Default::default(),
            now_to_go: Default::default(),
            bytes: Default::default(),
            fresh: Default::default(),
            later: Default::default(),
            all_bytes: Constant::new(u64::MAX.into()),
        }
    }
}

impl Logic for TxBeats {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, valid, header, packet, begun, left, to_go, carry);
        dff_setup!(self, clk, out_valid, out, out_slot, out_feedback, out_ud, done, event_ud, tags, new_tag);
        dff_setup!(self, clk, event_data, event_retransmitted, event_probe, event_feedback, event_nack);
        dff_setup!(self, clk, event_release);

        self.out_free.next = !self.out_valid.q.val() | self.frame_ready.val();
        self.now_left.next = self.left.q.val();
        self.now_to_go.next = self.to_go.q.val();
        if !self.begun.q.val() {
            self.now_left.next = self.packet.q.val().payload_len;
            self.now_to_go.next = self.packet.q.val().total;
        }
        self.need.next = self.now_left.val().any() & (self.begun.q.val() | (self.packet.q.val().place == 2));
        self.kept.d.next = self.payload_data.val().tdata;
        self.kept.keep.next = self.payload_data.val().tkeep;
        self.bytes.next = 0.into();
        if self.need.val() {
            self.bytes.next = self.kept.q.val();
        }
        match self.packet.q.val().place.index() {
            1 => {
                self.fresh.next = bit_cast::<512, 48>(self.bytes.val().get_bits::<48>(0)) << 464;
                self.later.next = bit_cast::<512, 464>(self.bytes.val().get_bits::<464>(48));
            }
            2 => {
                self.fresh.next = bit_cast::<512, 16>(self.bytes.val().get_bits::<16>(0)) << 496;
                self.later.next = bit_cast::<512, 496>(self.bytes.val().get_bits::<496>(16));
            }
            3 => {
                self.fresh.next = bit_cast::<512, 496>(self.bytes.val().get_bits::<496>(0)) << 16;
                self.later.next = bit_cast::<512, 16>(self.bytes.val().get_bits::<16>(496));
            }
            4 => {
                self.fresh.next = bit_cast::<512, 368>(self.bytes.val().get_bits::<368>(0)) << 144;
                self.later.next = bit_cast::<512, 144>(self.bytes.val().get_bits::<144>(368));
            }
            5 => {
                self.fresh.next = bit_cast::<512, 336>(self.bytes.val().get_bits::<336>(0)) << 176;
                self.later.next = bit_cast::<512, 176>(self.bytes.val().get_bits::<176>(336));
            }
            _ => {
                self.fresh.next = bit_cast::<512, 208>(self.bytes.val().get_bits::<208>(0)) << 304;
                self.later.next = bit_cast::<512, 304>(self.bytes.val().get_bits::<304>(208));
            }
        }
        self.payload_ready.next = self.valid.q.val() & self.out_free.val() & self.need.val();
        self.step.next =
            self.valid.q.val() & self.out_free.val() & (!self.need.val() | self.payload_valid.val());
        self.ends.next = self.step.val() & (self.now_to_go.val() <= 64);
        self.out_valid.d.next = self.out_valid.q.val() & !self.frame_ready.val();
        self.tags.d.next = self.step.val() & !self.begun.q.val();
        if self.step.val() {
            self.out_valid.d.next = true;
            self.out_slot.d.next = self.packet.q.val().slot;
            self.out_feedback.d.next = self.packet.q.val().feedback;
            self.out_ud.d.next = self.packet.q.val().ud;
            self.new_tag.d.next = self.packet.q.val().tag;
            self.out.d.next.tdata =
                self.header.q.val().get_bits::<512>(0) | self.carry.q.val() | self.fresh.val();
            self.out.d.next.tkeep = self.all_bytes.val();
            self.out.d.next.tlast = false;
            self.header.d.next = self.header.q.val() >> 512;
            self.carry.d.next = self.later.val();
            self.left.d.next = self.now_left.val();
            if self.need.val() {
                self.left.d.next = self.now_left.val() - 64;
                if self.now_left.val() <= 64 {
                    self.left.d.next = 0.into();
                }
            }
            self.to_go.d.next = self.now_to_go.val() - 64;
            self.begun.d.next = true;
            if self.ends.val() {
                self.out.d.next.tkeep = !(self.all_bytes.val() << self.now_to_go.val());
                self.out.d.next.tlast = true;
                self.carry.d.next = 0.into();
                self.begun.d.next = false;
            }
        }
        self.tag_valid.next = self.tags.q.val();
        self.tag_data.next = self.new_tag.q.val();
        self.frame_valid.next = self.out_valid.q.val();
        self.frame_data.next = self.out.q.val();

        self.done.d.next.valid = self.out_valid.q.val()
            & self.frame_ready.val()
            & self.out.q.val().tlast
            & !self.out_feedback.q.val();
        self.done.d.next.slot = self.out_slot.q.val();
        self.done.d.next.error = false;
        self.done.d.next.ud = self.out_ud.q.val();
        self.sent.next = self.done.q.val();
        self.event_data.d.next = self.ends.val()
            & !self.packet.q.val().feedback
            & !self.packet.q.val().ud
            & !self.packet.q.val().probe
            & !self.packet.q.val().retransmission;
        self.event_retransmitted.d.next = self.ends.val()
            & !self.packet.q.val().feedback
            & !self.packet.q.val().ud
            & !self.packet.q.val().probe
            & self.packet.q.val().retransmission;
        self.event_probe.d.next = self.ends.val() & !self.packet.q.val().feedback & self.packet.q.val().probe;
        self.event_feedback.d.next =
            self.ends.val() & self.packet.q.val().feedback & !self.packet.q.val().release;
        self.event_release.d.next = self.ends.val() & self.packet.q.val().release;
        self.tx_release.next = self.event_release.q.val();
        self.event_nack.d.next = self.ends.val() & self.packet.q.val().feedback & self.packet.q.val().nack;
        self.event_ud.d.next = self.ends.val() & self.packet.q.val().ud;
        self.tx_ud.next = self.event_ud.q.val();
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
            self.begun.d.next = false;
            self.carry.d.next = 0.into();
            self.tags.d.next = false;
            self.event_ud.d.next = false;
            self.out_valid.d.next = false;
            self.done.d.next.valid = false;
            self.event_data.d.next = false;
            self.event_retransmitted.d.next = false;
            self.event_probe.d.next = false;
            self.event_feedback.d.next = false;
            self.event_nack.d.next = false;
            self.event_release.d.next = false;
        }
    }
}
