//! The last stage of `tx_build`: a finished header and its payload become
//! beats, the payload moved to meet the header.
//!
//! ```text
//!  head ─> header register: its first beat, then its second ───┐
//!                                                              ├─ choose ─> output ─> frame
//!  payload ─> register ─> turned ──┬─> from where it begins ───┤           register
//!                                  └─> kept a beat, up to ─────┘
//!                                      where it begins
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
//! into the output register. A beat of `payload` is taken as soon as there is room for it,
//! and can be in the frame from the next clock on. `sent` pulses in the clock after `frame_ready`
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

    masked: KeepBytes,
    valid: Dff<Bit>,
    header: Dff<Bits<1152>>,
    packet: Dff<Ticket>,
    /// The next beat is not the packet's first.
    begun: Dff<Bit>,
    /// The payload's next beat: it comes out of a memory, which leaves no time for a turn.
    beat_valid: Dff<Bit>,
    beat: Dff<Beat>,
    /// Payload bytes to fetch, bytes of the frame to go.
    left: Dff<Bits<13>>,
    to_go: Dff<Bits<13>>,
    /// The next beat is behind the packet's second; it is the last.
    behind: Dff<Bit>,
    last: Dff<Bit>,
    /// What was turned with the beat before.
    kept: Dff<Bits<512>>,
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
    takes: Signal<Local, Bit>,
    /// Each payload begins two bytes and a multiple of four behind a beat's first. Of the six
    /// multiples three are five times four more than the other three, so that two steps
    /// make them all: none or five, then none, nine or fifteen.
    five: Signal<Local, Bit>,
    nine: Signal<Local, Bit>,
    fifteen: Signal<Local, Bit>,
    raised: Signal<Local, Bits<512>>,
    stepped: Signal<Local, Bits<512>>,
    placed: Signal<Local, Bits<512>>,
    raised_keep: Signal<Local, Bits<64>>,
    stepped_keep: Signal<Local, Bits<64>>,
    placed_keep: Signal<Local, Bits<64>>,
    /// The payload beat, its first byte where it belongs, its end in front of that.
    turned: Signal<Local, Bits<512>>,
    /// Where the payload begins.
    begins: Signal<Local, Bits<512>>,
    /// Which of four a bit of the frame is: the header's first beat (0), its second or the
    /// payload kept (1) or turned (3), or the payload kept alone (2).
    high: Signal<Local, Bits<512>>,
    low: Signal<Local, Bits<512>>,

    all_bytes: Constant<Bits<64>>,
    no_bits: Constant<Bits<512>>,
    all_bits: Constant<Bits<512>>,
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
            masked: Default::default(),
            valid: Default::default(),
            header: Default::default(),
            packet: Default::default(),
            begun: Default::default(),
            beat_valid: Default::default(),
            beat: Default::default(),
            left: Default::default(),
            to_go: Default::default(),
            behind: Default::default(),
            last: Default::default(),
            kept: Default::default(),
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
            takes: Default::default(),
            five: Default::default(),
            nine: Default::default(),
            fifteen: Default::default(),
            raised: Default::default(),
            stepped: Default::default(),
            placed: Default::default(),
            raised_keep: Default::default(),
            stepped_keep: Default::default(),
            placed_keep: Default::default(),
            turned: Default::default(),
            begins: Default::default(),
            high: Default::default(),
            low: Default::default(),
            all_bytes: Constant::new(u64::MAX.into()),
            no_bits: Constant::new(0u64.into()),
            all_bits: Constant::new(!Bits::<512>::default()),
        }
    }
}

impl Logic for TxBeats {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, valid, header, packet, begun, left, to_go, behind, last, kept);
        dff_setup!(self, clk, out_valid, out, out_slot, out_feedback, out_ud, done, event_ud, tags, new_tag);
        dff_setup!(self, clk, event_data, event_retransmitted, event_probe, event_feedback, event_nack);
        dff_setup!(self, clk, event_release, beat_valid, beat);

        self.out_free.next = !self.out_valid.q.val() | self.frame_ready.val();
        self.need.next = self.left.q.val().any() & (self.begun.q.val() | (self.packet.q.val().place == 2));

        // The payload, turned, and which of its bytes count.
        self.five.next = (self.packet.q.val().place == 1)
            | (self.packet.q.val().place == 4)
            | (self.packet.q.val().place == 5);
        self.nine.next = (self.packet.q.val().place == 0) | (self.packet.q.val().place == 1);
        self.fifteen.next = (self.packet.q.val().place == 2) | (self.packet.q.val().place == 4);
        self.raised.next = (bit_cast::<512, 496>(self.beat.q.val().tdata.get_bits::<496>(0)) << 16)
            | bit_cast::<512, 16>(self.beat.q.val().tdata.get_bits::<16>(496));
        self.stepped.next = self.raised.val();
        if self.five.val() {
            self.stepped.next = (bit_cast::<512, 352>(self.raised.val().get_bits::<352>(0)) << 160)
                | bit_cast::<512, 160>(self.raised.val().get_bits::<160>(352));
        }
        self.placed.next = self.stepped.val();
        if self.nine.val() {
            self.placed.next = (bit_cast::<512, 224>(self.stepped.val().get_bits::<224>(0)) << 288)
                | bit_cast::<512, 288>(self.stepped.val().get_bits::<288>(224));
        } else if self.fifteen.val() {
            self.placed.next = (bit_cast::<512, 32>(self.stepped.val().get_bits::<32>(0)) << 480)
                | bit_cast::<512, 480>(self.stepped.val().get_bits::<480>(32));
        }
        self.raised_keep.next = (bit_cast::<64, 62>(self.beat.q.val().tkeep.get_bits::<62>(0)) << 2)
            | bit_cast::<64, 2>(self.beat.q.val().tkeep.get_bits::<2>(62));
        self.stepped_keep.next = self.raised_keep.val();
        if self.five.val() {
            self.stepped_keep.next = (bit_cast::<64, 44>(self.raised_keep.val().get_bits::<44>(0)) << 20)
                | bit_cast::<64, 20>(self.raised_keep.val().get_bits::<20>(44));
        }
        self.placed_keep.next = self.stepped_keep.val();
        if self.nine.val() {
            self.placed_keep.next = (bit_cast::<64, 28>(self.stepped_keep.val().get_bits::<28>(0)) << 36)
                | bit_cast::<64, 36>(self.stepped_keep.val().get_bits::<36>(28));
        } else if self.fifteen.val() {
            self.placed_keep.next = (bit_cast::<64, 4>(self.stepped_keep.val().get_bits::<4>(0)) << 60)
                | bit_cast::<64, 60>(self.stepped_keep.val().get_bits::<60>(4));
        }
        self.masked.d.next = self.placed.val();
        self.masked.keep.next = 0.into();
        if self.need.val() {
            self.masked.keep.next = self.placed_keep.val();
        }
        self.turned.next = self.masked.q.val();
        match self.packet.q.val().place.index() {
            1 => {
                self.begins.next = self.all_bits.val() << 464;
            }
            2 => {
                self.begins.next = self.all_bits.val() << 496;
            }
            3 => {
                self.begins.next = self.all_bits.val() << 16;
            }
            4 => {
                self.begins.next = self.all_bits.val() << 144;
            }
            5 => {
                self.begins.next = self.all_bits.val() << 176;
            }
            _ => {
                self.begins.next = self.all_bits.val() << 304;
            }
        }
        // A header that ends behind the second beat has no payload, and one with payload ends
        // where that begins.
        self.high.next = self.all_bits.val();
        self.low.next = self.no_bits.val();
        if !self.begun.q.val() {
            self.high.next = self.no_bits.val();
            if self.packet.q.val().place == 2 {
                self.high.next = self.begins.val();
                self.low.next = self.begins.val();
            }
        } else if !self.behind.q.val() {
            self.high.next = self.begins.val();
            self.low.next = self.all_bits.val();
        } else if self.packet.q.val().payload_len.any() {
            self.low.next = self.begins.val();
        }
        self.step.next =
            self.valid.q.val() & self.out_free.val() & (!self.need.val() | self.beat_valid.q.val());
        self.takes.next = self.valid.q.val() & self.out_free.val() & self.need.val();
        self.payload_ready.next = !self.beat_valid.q.val() | self.takes.val();
        if !self.beat_valid.q.val() | self.takes.val() {
            self.beat_valid.d.next = self.payload_valid.val();
            self.beat.d.next = self.payload_data.val();
        }
        self.ends.next = self.step.val() & self.last.q.val();
        self.out_valid.d.next = self.out_valid.q.val() & !self.frame_ready.val();
        self.tags.d.next = self.step.val() & !self.begun.q.val();
        if self.step.val() {
            self.out_valid.d.next = true;
            self.out_slot.d.next = self.packet.q.val().slot;
            self.out_feedback.d.next = self.packet.q.val().feedback;
            self.out_ud.d.next = self.packet.q.val().ud;
            self.new_tag.d.next = self.packet.q.val().tag;
            self.out.d.next.tdata =
                (self.header.q.val().get_bits::<512>(0) & !self.high.val() & !self.low.val())
                    | (self.header.q.val().get_bits::<512>(512) & self.low.val())
                    | (self.kept.q.val() & (self.high.val() ^ self.low.val()))
                    | (self.turned.val() & self.high.val() & self.low.val());
            self.out.d.next.tkeep = self.all_bytes.val();
            self.out.d.next.tlast = false;
            self.kept.d.next = self.turned.val();
            if self.begun.q.val() & !self.behind.q.val() {
                // The third beat of a header stands where payload would be kept.
                self.kept.d.next =
                    self.turned.val() | bit_cast::<512, 128>(self.header.q.val().get_bits::<128>(1024));
            }
            if self.need.val() {
                self.left.d.next = self.left.q.val() - 64;
                if self.left.q.val() <= 64 {
                    self.left.d.next = 0.into();
                }
            }
            self.to_go.d.next = self.to_go.q.val() - 64;
            self.begun.d.next = true;
            self.behind.d.next = self.begun.q.val();
            self.last.d.next = self.to_go.q.val() <= 128;
            if self.ends.val() {
                // Never all 64: a frame has two bytes more than a multiple of four.
                self.out.d.next.tkeep = !(self.all_bytes.val() << self.to_go.q.val().get_bits::<6>(0));
                self.out.d.next.tlast = true;
                self.begun.d.next = false;
                self.behind.d.next = false;
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
            self.left.d.next = self.ticket.val().payload_len;
            self.to_go.d.next = self.ticket.val().total;
            self.last.d.next = self.ticket.val().total <= 64;
        }

        if self.rst.val() {
            self.valid.d.next = false;
            self.beat_valid.d.next = false;
            self.begun.d.next = false;
            self.behind.d.next = false;
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
