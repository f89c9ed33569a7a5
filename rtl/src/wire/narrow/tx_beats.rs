//! The last stage of `narrow/tx_build`: headers and their payload become beats of 16
//! bytes, the payload turned to meet the headers.
//!
//! ```text
//!  headers, held ─┬─ Ethernet and IP: beat `at` of them ───────────────┐
//!                 └─ UDP and behind: a beat, four bytes later over IPv6 ┼─> output ─> frame
//!  payload ─> turned by `turn` bytes ─┬─ its front now ────────────────┤   register
//!                                     └─ its end, with the next beat ──┘
//! ```
//!
//! | place | packet | payload begins at byte | of beat |
//! |---|---|---|---|
//! | 0, 1 | RM over IPv4, IPv6 | 6, 10 | 6, 7 |
//! | 2, 3 | plain UD over IPv4, with immediate | 14, 2 | 3, 4 |
//! | 4, 5 | plain UD over IPv6, with immediate | 2, 6 | 5 |
//!
//! A header is never shifted: each beat is chosen from where it stands. UDP begins at
//! byte 34, over IPv6 at 54, which is 14 and 6 of a beat: one choice of beats serves
//! both, and over IPv6 each passes its last four bytes on to the next.
//!
//! `tag` pulses with each frame's first beat, for `narrow/vlan_insert`.
//!
//! Contract: one beat per clock, from packet to packet too. `head_ready` is high in the
//! clock of a packet's last beat, `soon` in the one before too. `checksum` is that of the
//! packet taken, from the second clock behind that on. `payload` ends a packet's
//! bytes by `tlast`; bytes of it outside `tkeep` count as zeros. `sent` pulses in the clock
//! after `frame_ready` took the last beat of a DATA or PROBE packet, events when that beat
//! goes into the output register. What lies behind a frame's end means nothing.
//!
//! Verified by `testbenches/tests/tx_build.rs`.

use super::super::cells::KeepBytes;
use super::super::tx_beats::Ticket;
use super::super::tx_fields::HeadParts;
use super::super::vlan_strip::Tag;
use crate::prelude::*;
use crate::types::{NarrowBeat, TxSent};

#[derive(LogicBlock)]
pub struct NarrowTxBeats {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub head_valid: Signal<In, Bit>,
    pub head: Signal<In, HeadParts>,
    pub ticket: Signal<In, Ticket>,
    pub head_ready: Signal<Out, Bit>,
    /// At most one beat follows this one, or none.
    pub soon: Signal<Out, Bit>,
    /// Of the IPv4 header, its first byte in the upper half.
    pub checksum: Signal<In, Bits<16>>,
    pub payload_valid: Signal<In, Bit>,
    pub payload_data: Signal<In, NarrowBeat>,
    pub payload_ready: Signal<Out, Bit>,
    pub frame_valid: Signal<Out, Bit>,
    pub frame_data: Signal<Out, NarrowBeat>,
    pub frame_ready: Signal<In, Bit>,
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

    head_kept: KeepBytes<128, 16>,
    carry_kept: KeepBytes<128, 16>,
    fresh_kept: KeepBytes<128, 16>,
    valid: Dff<Bit>,
    parts: Dff<HeadParts>,
    packet: Dff<Ticket>,
    /// The number of the next beat, no further than 9, and of the one with the first payload byte.
    at: Dff<Bits<4>>,
    begins: Dff<Bits<4>>,
    /// At which byte of it, in fours and two more.
    turn: Dff<Bits<2>>,
    /// Beats behind the next one, and how much of the last, in fours and two more.
    more: Dff<Bits<9>>,
    tail: Dff<Bits<2>>,
    /// Payload is to be fetched.
    fetching: Dff<Bit>,
    carry: Dff<Bits<128>>,
    carry_keep: Dff<Bits<16>>,
    /// The header bytes that the next beat of an IPv6 frame begins with.
    over: Dff<Bits<32>>,
    out_valid: Dff<Bit>,
    out: Dff<NarrowBeat>,
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
    take: Signal<Local, Bit>,
    step: Signal<Local, Bit>,
    is_last: Signal<Local, Bit>,
    ends: Signal<Local, Bit>,
    need: Signal<Local, Bit>,
    /// Ethernet and IP; what is behind, by number of the beat from UDP's on.
    front: Signal<Local, Bits<128>>,
    behind: Signal<Local, Bits<480>>,
    part: Signal<Local, Bits<4>>,
    rear: Signal<Local, Bits<128>>,
    rear6: Signal<Local, Bits<128>>,
    head_part: Signal<Local, Bits<128>>,
    turned: Signal<Local, Bits<128>>,
    turned_keep: Signal<Local, Bits<16>>,
    /// Bytes before the payload's first, in the beat that it is in, and all of its place.
    leading: Signal<Local, Bits<16>>,
    head_bytes: Signal<Local, Bits<16>>,
    fresh_bytes: Signal<Local, Bits<16>>,
    all_bytes: Constant<Bits<16>>,
}

impl NarrowTxBeats {
    pub fn new() -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            head_valid: Default::default(),
            head: Default::default(),
            ticket: Default::default(),
            head_ready: Default::default(),
            soon: Default::default(),
            checksum: Default::default(),
            payload_valid: Default::default(),
            payload_data: Default::default(),
            payload_ready: Default::default(),
            frame_valid: Default::default(),
            frame_data: Default::default(),
            frame_ready: Default::default(),
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
            head_kept: Default::default(),
            carry_kept: Default::default(),
            fresh_kept: Default::default(),
            valid: Default::default(),
            parts: Default::default(),
            packet: Default::default(),
            at: Default::default(),
            begins: Default::default(),
            turn: Default::default(),
            more: Default::default(),
            tail: Default::default(),
            fetching: Default::default(),
            carry: Default::default(),
            carry_keep: Default::default(),
            over: Default::default(),
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
            take: Default::default(),
            step: Default::default(),
            is_last: Default::default(),
            ends: Default::default(),
            need: Default::default(),
            front: Default::default(),
            behind: Default::default(),
            part: Default::default(),
            rear: Default::default(),
            rear6: Default::default(),
            head_part: Default::default(),
            turned: Default::default(),
            turned_keep: Default::default(),
            leading: Default::default(),
            head_bytes: Default::default(),
            fresh_bytes: Default::default(),
            all_bytes: Constant::new(0xFFFFu64.into()),
        }
    }
}

impl Logic for NarrowTxBeats {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, valid, parts, packet, at, begins, turn, more, tail, fetching);
        dff_setup!(self, clk, carry, carry_keep, over, out_valid, out, out_slot, out_feedback, out_ud, done);
        dff_setup!(self, clk, event_data, event_retransmitted, event_probe, event_feedback, event_nack);
        dff_setup!(self, clk, event_release, event_ud, tags, new_tag);

        // When.
        self.out_free.next = !self.out_valid.q.val() | self.frame_ready.val();
        self.need.next = self.fetching.q.val() & (self.at.q.val() >= self.begins.q.val());
        self.payload_ready.next = self.valid.q.val() & self.out_free.val() & self.need.val();
        self.step.next =
            self.valid.q.val() & self.out_free.val() & (!self.need.val() | self.payload_valid.val());
        self.is_last.next = self.more.q.val() == 0;
        self.ends.next = self.step.val() & self.is_last.val();
        self.soon.next = !self.valid.q.val() | (self.more.q.val().get_bits::<8>(1) == 0);

        // The headers' part.
        self.front.next = 0.into();
        if self.packet.q.val().v6 {
            match self.at.q.val().index() {
                0 => self.front.next = self.parts.q.val().six.get_bits::<128>(0),
                1 => self.front.next = self.parts.q.val().six.get_bits::<128>(128),
                2 => self.front.next = self.parts.q.val().six.get_bits::<128>(256),
                3 => self.front.next = bit_cast::<128, 48>(self.parts.q.val().six.get_bits::<48>(384)),
                _ => {}
            }
        } else {
            match self.at.q.val().index() {
                0 => self.front.next = self.parts.q.val().four.get_bits::<128>(0),
                1 => {
                    self.front.next = self.parts.q.val().four.get_bits::<128>(128)
                        | (bit_cast::<128, 8>(self.checksum.val().get_bits::<8>(8)) << 64)
                        | (bit_cast::<128, 8>(self.checksum.val().get_bits::<8>(0)) << 72);
                }
                2 => self.front.next = bit_cast::<128, 16>(self.parts.q.val().four.get_bits::<16>(256)),
                _ => {}
            }
        }
        self.behind.next = self.parts.q.val().answer;
        self.part.next = self.at.q.val() - 2 - bit_cast::<4, 1>(self.packet.q.val().v6.into());
        self.rear.next = 0.into();
        match self.part.val().index() {
            0 => {
                self.rear.next = bit_cast::<128, 112>(self.parts.q.val().transport.get_bits::<112>(0)) << 16;
            }
            1 => {
                self.rear.next = bit_cast::<128, 112>(self.parts.q.val().transport.get_bits::<112>(112))
                    | (bit_cast::<128, 16>(self.behind.val().get_bits::<16>(0)) << 112);
            }
            2 => self.rear.next = self.behind.val().get_bits::<128>(16),
            3 => self.rear.next = self.behind.val().get_bits::<128>(144),
            4 => self.rear.next = self.behind.val().get_bits::<128>(272),
            5 => self.rear.next = bit_cast::<128, 80>(self.behind.val().get_bits::<80>(400)),
            _ => {}
        }
        self.rear6.next = self.rear.val();
        if self.packet.q.val().v6 {
            self.rear6.next = (self.rear.val() << 32) | bit_cast::<128, 32>(self.over.q.val());
        }
        self.head_part.next = self.front.val() | self.rear6.val();

        // The payload's part.
        match self.turn.q.val().index() {
            0 => {
                self.leading.next = 0x0003.into();
                self.turned.next =
                    (self.payload_data.val().tdata << 16) | (self.payload_data.val().tdata >> 112);
                self.turned_keep.next =
                    (self.payload_data.val().tkeep << 2) | (self.payload_data.val().tkeep >> 14);
            }
            1 => {
                self.leading.next = 0x003F.into();
                self.turned.next =
                    (self.payload_data.val().tdata << 48) | (self.payload_data.val().tdata >> 80);
                self.turned_keep.next =
                    (self.payload_data.val().tkeep << 6) | (self.payload_data.val().tkeep >> 10);
            }
            2 => {
                self.leading.next = 0x03FF.into();
                self.turned.next =
                    (self.payload_data.val().tdata << 80) | (self.payload_data.val().tdata >> 48);
                self.turned_keep.next =
                    (self.payload_data.val().tkeep << 10) | (self.payload_data.val().tkeep >> 6);
            }
            _ => {
                self.leading.next = 0x3FFF.into();
                self.turned.next =
                    (self.payload_data.val().tdata << 112) | (self.payload_data.val().tdata >> 16);
                self.turned_keep.next =
                    (self.payload_data.val().tkeep << 14) | (self.payload_data.val().tkeep >> 2);
            }
        }
        self.head_bytes.next = 0.into();
        if self.packet.q.val().feedback | (self.at.q.val() < self.begins.q.val()) {
            self.head_bytes.next = self.all_bytes.val();
        } else if self.at.q.val() == self.begins.q.val() {
            self.head_bytes.next = self.leading.val();
        }
        self.fresh_bytes.next = 0.into();
        if self.need.val() {
            self.fresh_bytes.next = self.turned_keep.val() & !self.leading.val();
        }
        self.head_kept.d.next = self.head_part.val();
        self.head_kept.keep.next = self.head_bytes.val();
        self.carry_kept.d.next = self.carry.q.val();
        self.carry_kept.keep.next = self.carry_keep.q.val();
        self.fresh_kept.d.next = self.turned.val();
        self.fresh_kept.keep.next = self.fresh_bytes.val();

        // A beat goes.
        self.out_valid.d.next = self.out_valid.q.val() & !self.frame_ready.val();
        self.tags.d.next = self.step.val() & (self.at.q.val() == 0);
        if self.step.val() {
            self.out_valid.d.next = true;
            self.out_slot.d.next = self.packet.q.val().slot;
            self.out_feedback.d.next = self.packet.q.val().feedback;
            self.out_ud.d.next = self.packet.q.val().ud;
            self.new_tag.d.next = self.packet.q.val().tag;
            self.out.d.next.tdata =
                self.head_kept.q.val() | self.carry_kept.q.val() | self.fresh_kept.q.val();
            self.out.d.next.tkeep = self.all_bytes.val();
            self.out.d.next.tlast = self.is_last.val();
            if self.is_last.val() {
                match self.tail.q.val().index() {
                    0 => self.out.d.next.tkeep = 0x0003.into(),
                    1 => self.out.d.next.tkeep = 0x003F.into(),
                    2 => self.out.d.next.tkeep = 0x03FF.into(),
                    _ => self.out.d.next.tkeep = 0x3FFF.into(),
                }
            }
            self.carry.d.next = self.turned.val();
            self.carry_keep.d.next = 0.into();
            if self.need.val() {
                self.carry_keep.d.next = self.turned_keep.val() & self.leading.val();
            }
            if self.need.val() & self.payload_data.val().tlast {
                self.fetching.d.next = false;
            }
            self.over.d.next = self.rear.val().get_bits::<32>(96);
            self.more.d.next = self.more.q.val() - 1;
            if self.at.q.val() != 9 {
                self.at.d.next = self.at.q.val() + 1;
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
        self.event_nack.d.next = self.ends.val() & self.packet.q.val().feedback & self.packet.q.val().nack;
        self.event_ud.d.next = self.ends.val() & self.packet.q.val().ud;
        self.tx_release.next = self.event_release.q.val();
        self.tx_ud.next = self.event_ud.q.val();
        self.tx_data.next = self.event_data.q.val();
        self.tx_retransmitted.next = self.event_retransmitted.q.val();
        self.tx_probe.next = self.event_probe.q.val();
        self.tx_feedback.next = self.event_feedback.q.val();
        self.tx_nack.next = self.event_nack.q.val();

        // The next packet.
        self.take.next = !self.valid.q.val() | self.ends.val();
        self.head_ready.next = self.take.val();
        if self.take.val() {
            self.valid.d.next = self.head_valid.val();
            // One of the two is zero: one place does for both.
            self.parts.d.next = self.head.val();
            self.parts.d.next.answer = bit_cast::<480, 320>(self.head.val().trh) | self.head.val().answer;
            self.packet.d.next = self.ticket.val();
            self.at.d.next = 0.into();
            self.over.d.next = 0.into();
            self.carry_keep.d.next = 0.into();
            self.more.d.next = self.ticket.val().total.get_bits::<9>(4);
            self.tail.d.next = self.ticket.val().total.get_bits::<2>(2);
            self.fetching.d.next = self.ticket.val().payload_len.any();
            match self.ticket.val().place.index() {
                1 => {
                    self.begins.d.next = 7.into();
                    self.turn.d.next = 2.into();
                }
                2 => {
                    self.begins.d.next = 3.into();
                    self.turn.d.next = 3.into();
                }
                3 => {
                    self.begins.d.next = 4.into();
                    self.turn.d.next = 0.into();
                }
                4 => {
                    self.begins.d.next = 5.into();
                    self.turn.d.next = 0.into();
                }
                5 => {
                    self.begins.d.next = 5.into();
                    self.turn.d.next = 1.into();
                }
                _ => {
                    self.begins.d.next = 6.into();
                    self.turn.d.next = 1.into();
                }
            }
        }

        if self.rst.val() {
            self.valid.d.next = false;
            self.tags.d.next = false;
            self.out_valid.d.next = false;
            self.done.d.next.valid = false;
            self.event_data.d.next = false;
            self.event_retransmitted.d.next = false;
            self.event_probe.d.next = false;
            self.event_feedback.d.next = false;
            self.event_nack.d.next = false;
            self.event_release.d.next = false;
            self.event_ud.d.next = false;
        }
    }
}
