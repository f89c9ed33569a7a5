//! Payload of frames to be judged: aligned to byte 0, buffered, kept or taken
//! back. In front of a datagram's goes its GRH area.
//!
//! ```text
//!  beat, 6 clocks late ─> turned by 6, 10 or 14 bytes ─┬────────┬─> lanes ─> buffer ─> payload
//!                                                      │ before │     ^        ^
//!                                                      └> its before ─┘        │ commit, roll back
//!                                                  end of the GRH area ────────┘
//! ```
//!
//! A payload begins 6, 10 or 14 bytes inside a beat, so a word of it takes its
//! first lanes from the beat before and the rest from the beat that is there.
//! Where it is 14, the beat that ends a frame might hold nothing but the ICRC: such
//! a word is written a beat later, from the two beats before (`places` of
//! `rx_verdict` counts so, too).
//!
//! The first two words of a datagram are GRH area, its IP header behind 20 bytes
//! of zeros or none, and so is half of the third. The header is turned to its place
//! as payload is, by 10 (IPv6: 14), and each word written a beat later, in the
//! order that all words have. Whether the frame is a datagram is known only behind
//! them: of one that is not they are taken back, before anything else is written.
//!
//! | beat of IPv4 (IPv6 one more) | 1 | 2 | 3 | 4 and on | 7 and on |
//! |---|---|---|---|---|---|
//! | written | area 0 | area 1 | nothing; area 2 is held, or all taken back | words of a datagram | words of a message |
//!
//! Of a configuration without datagrams no area is written.
//!
//! Contract: `verdict` and `done` with a frame's last late beat. Payload is
//! written beat by beat; a frame's last bytes may need one more write, for
//! which a frame's first beat leaves room: it writes nothing. `lost`: a beat of
//! the frame found no room. `accept` decides; without it the frame never was.
//! In the clock of that one more write the frame behind may end, too, if it is
//! of one beat: nothing of it was written, so nothing is taken back.
//!
//! Verified by `testbenches/tests/rx_parse`.

use super::super::rx_heads::Start;
use super::super::rx_verdict::Verdict;
use crate::prelude::*;
use crate::stream::CommitFifo;
use crate::types::NarrowBeat;
use tessera_abi::params::{Config, CORE_BITS};
use tessera_abi::wire;

/// A buffered payload beat; the count takes less room than `tkeep`.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct NarrowStoredBeat {
    pub tdata: Bits<128>,
    pub tlast: Bit,
    /// Bytes of a last beat, 0 = 16.
    pub bytes: Bits<4>,
}

// The kernel slices by literals; this is what they must be.
const _: () = {
    let [v4, _, v6, _] = wire::Form::ALL;
    let (message4, message6) = (v4.trh_at() + wire::TRH_DATA_LEN, v6.trh_at() + wire::TRH_DATA_LEN);
    assert!(message4 == 6 * 16 + 6 && message6 == 7 * 16 + 10);
    assert!(v4.trh_at() - wire::GRH_LEN == 16 + 6 && v6.trh_at() - wire::GRH_LEN == 2 * 16 + 10);
    assert!(wire::IMM_LEN == 4 && wire::GRH_LEN == 40);
    // The IP header ends where the area does, at half of its third word.
    assert!(v4.udp_at() == 2 * 16 + 2 && v6.udp_at() == 3 * 16 + 6 && wire::IP_AT == 14);
};

#[derive(LogicBlock)]
pub struct NarrowRxPayload {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub late_valid: Signal<In, Bit>,
    pub late_last: Signal<In, Bit>,
    pub late_beat: Signal<In, Bits<128>>,
    /// Of the beat's frame: `v6` from its first beat on, the others from its
    /// fourth (IPv6: fifth).
    pub late_start: Signal<In, Start>,
    pub verdict: Signal<In, Verdict>,
    /// The frame has payload and is kept.
    pub accept: Signal<In, Bit>,
    /// There was room for the whole frame.
    pub fits: Signal<Out, Bit>,
    pub payload_valid: Signal<Out, Bit>,
    pub payload_data: Signal<Out, NarrowBeat>,
    pub payload_ready: Signal<In, Bit>,

    /// Beats of the frame seen, no further than 8.
    depth: Dff<Bits<4>>,
    /// The beat before, turned, and of the one before that the lanes used.
    prior: Dff<Bits<128>>,
    earlier: Dff<Bits<48>>,
    /// The last 8 bytes of a datagram's area wait for their word.
    rest: Dff<Bits<64>>,
    rest_due: Dff<Bit>,
    lost: Dff<Bit>,
    flush: Dff<Bit>,
    flush_bytes: Dff<Bits<4>>,
    flush_start: Dff<Start>,
    buffer: CommitFifo<NarrowStoredBeat, 15>,

    /// Number of the beat, counted so that the beat at which the kind is known is 4.
    place: Signal<Local, Bits<4>>,
    in_area: Signal<Local, Bit>,
    decided: Signal<Local, Bit>,
    by14: Signal<Local, Bit>,
    by10: Signal<Local, Bit>,
    turned: Signal<Local, Bits<128>>,
    area: Signal<Local, Bit>,
    stream: Signal<Local, Bit>,
    write: Signal<Local, Bit>,
    undone: Signal<Local, Bit>,
    begins: Signal<Local, Start>,
    /// The word is of the two beats before.
    delayed: Signal<Local, Bit>,
    word: Signal<Local, Bits<128>>,
    lanes0: Signal<Local, Bits<16>>,
    lanes2: Signal<Local, Bits<32>>,
    lanes6: Signal<Local, Bits<32>>,
    lanes10: Signal<Local, Bits<48>>,
    stored: Signal<Local, NarrowStoredBeat>,
    header4: Constant<Bits<128>>,
    header6: Constant<Bits<128>>,
    all_bytes: Constant<Bits<16>>,
    has_datagrams: Constant<Bit>,
}

impl NarrowRxPayload {
    pub fn new(config: &Config) -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            late_valid: Default::default(),
            late_last: Default::default(),
            late_beat: Default::default(),
            late_start: Default::default(),
            verdict: Default::default(),
            accept: Default::default(),
            fits: Default::default(),
            payload_valid: Default::default(),
            payload_data: Default::default(),
            payload_ready: Default::default(),
            depth: Default::default(),
            prior: Default::default(),
            earlier: Default::default(),
            rest: Default::default(),
            rest_due: Default::default(),
            lost: Default::default(),
            flush: Default::default(),
            flush_bytes: Default::default(),
            flush_start: Default::default(),
            // The same bytes in smaller beats.
            buffer: CommitFifo::new(config.rx_buffer_beats_log2 + (CORE_BITS / 128).ilog2() as usize),
            place: Default::default(),
            in_area: Default::default(),
            decided: Default::default(),
            by14: Default::default(),
            by10: Default::default(),
            turned: Default::default(),
            area: Default::default(),
            stream: Default::default(),
            write: Default::default(),
            undone: Default::default(),
            begins: Default::default(),
            delayed: Default::default(),
            word: Default::default(),
            lanes0: Default::default(),
            lanes2: Default::default(),
            lanes6: Default::default(),
            lanes10: Default::default(),
            stored: Default::default(),
            // Bytes 14 and 15 of a frame, turned.
            header4: Constant::new(Bits::from(0xFFFFu64) << 32),
            header6: Constant::new(0xFFFFu64.into()),
            all_bytes: Constant::new(0xFFFFu64.into()),
            has_datagrams: Constant::new(config.datagrams),
        }
    }
}

impl Logic for NarrowRxPayload {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, depth, prior, earlier, rest, rest_due, lost, flush, flush_bytes, flush_start);
        self.buffer.clk.next = self.clk.val();
        self.buffer.rst.next = self.rst.val();

        self.place.next = self.depth.q.val() + 1;
        if self.late_start.val().v6 {
            self.place.next = self.depth.q.val();
        }
        self.in_area.next = self.has_datagrams.val() & (self.place.val() < 4);
        self.decided.next = self.has_datagrams.val() & self.late_valid.val() & (self.place.val() == 4);

        // Headers are turned to the area's lanes, all behind them to the payload's.
        self.by14.next = self.late_start.val().ud & self.late_start.val().v6 & self.late_start.val().imm;
        self.by10.next = self.late_start.val().v6 | (self.late_start.val().ud & self.late_start.val().imm);
        if self.in_area.val() {
            self.by14.next = self.late_start.val().v6;
            self.by10.next = true;
        }
        self.turned.next = (self.late_beat.val() >> 48) | (self.late_beat.val() << 80);
        if self.by14.val() {
            self.turned.next = (self.late_beat.val() >> 112) | (self.late_beat.val() << 16);
        } else if self.by10.val() {
            self.turned.next = (self.late_beat.val() >> 80) | (self.late_beat.val() << 48);
        }

        self.area.next = self.has_datagrams.val()
            & self.late_valid.val()
            & ((self.place.val() == 2) | (self.place.val() == 3));
        self.stream.next = self.late_valid.val() & (self.place.val() >= 8);
        if self.late_start.val().ud {
            self.stream.next = self.late_valid.val()
                & (self.place.val() >= 5)
                & !((self.place.val() == 5) & self.late_start.val().v6 & self.late_start.val().imm);
        }
        self.write.next = self.area.val() | self.stream.val();
        self.undone.next = self.decided.val() & !self.late_start.val().ud;
        self.fits.next = self.buffer.room.val() & !self.lost.q.val();
        if self.late_valid.val() {
            self.prior.d.next = self.turned.val();
            self.earlier.d.next = self.prior.q.val().get_bits::<48>(0);
            if self.has_datagrams.val() & (self.depth.q.val() == 0) {
                // Nothing but the header's first bytes, and zeros in front of them.
                self.earlier.d.next = 0.into();
                self.prior.d.next = self.turned.val() & self.header4.val();
                if self.late_start.val().v6 {
                    self.prior.d.next = self.turned.val() & self.header6.val();
                }
            }
            if self.depth.q.val() != 8 {
                self.depth.d.next = self.depth.q.val() + 1;
            }
            if self.write.val() & !self.buffer.room.val() {
                self.lost.d.next = true;
            }
            if self.undone.val() {
                self.lost.d.next = false;
            }
            if self.late_last.val() {
                self.depth.d.next = 0.into();
                self.lost.d.next = false;
            }
        }

        self.begins.next = self.late_start.val();
        if self.flush.q.val() {
            self.begins.next = self.flush_start.q.val();
        }
        self.delayed.next = (self.begins.val().ud & self.begins.val().v6 & self.begins.val().imm)
            | (self.has_datagrams.val() & !self.flush.q.val() & (self.place.val() <= 4));
        self.lanes0.next = self.prior.q.val().get_bits::<16>(0);
        self.lanes2.next = self.prior.q.val().get_bits::<32>(16);
        self.lanes6.next = self.prior.q.val().get_bits::<32>(48);
        self.lanes10.next = self.turned.val().get_bits::<48>(80);
        if self.delayed.val() {
            self.lanes0.next = self.earlier.q.val().get_bits::<16>(0);
            self.lanes10.next = self.prior.q.val().get_bits::<48>(80);
            if !self.flush.q.val() & (self.place.val() <= 4) & !self.begins.val().v6 {
                self.lanes2.next = self.earlier.q.val().get_bits::<32>(16);
            }
        } else if self.begins.val().v6 | (self.begins.val().ud & self.begins.val().imm) {
            self.lanes6.next = self.turned.val().get_bits::<32>(48);
        }
        self.word.next = bit_cast::<128, 16>(self.lanes0.val())
            | (bit_cast::<128, 32>(self.lanes2.val()) << 16)
            | (bit_cast::<128, 32>(self.lanes6.val()) << 48)
            | (bit_cast::<128, 48>(self.lanes10.val()) << 80);
        self.stored.next.tdata = self.word.val();
        if self.rest_due.q.val() {
            self.stored.next.tdata = (bit_cast::<128, 64>(self.word.val().get_bits::<64>(64)) << 64)
                | bit_cast::<128, 64>(self.rest.q.val());
        }
        if self.decided.val() {
            self.rest.d.next = self.word.val().get_bits::<64>(0);
        }
        if self.decided.val() {
            self.rest_due.d.next = self.late_start.val().ud;
        } else if self.stream.val() | self.flush.q.val() | (self.late_valid.val() & (self.depth.q.val() == 0))
        {
            self.rest_due.d.next = false;
        }

        self.stored.next.tlast = (self.late_last.val() & !self.verdict.val().spill) | self.flush.q.val();
        self.stored.next.bytes = self.verdict.val().payload_len.get_bits::<4>(0);
        if self.flush.q.val() {
            self.stored.next.bytes = self.flush_bytes.q.val();
        }
        self.flush.d.next = self.accept.val() & self.verdict.val().spill;
        self.flush_bytes.d.next = self.verdict.val().payload_len.get_bits::<4>(0);
        self.flush_start.d.next = self.late_start.val();
        self.buffer.in_data.next = self.stored.val();
        self.buffer.in_valid.next =
            (self.write.val() & self.buffer.room.val() & !self.lost.q.val()) | self.flush.q.val();
        self.buffer.commit.next = self.flush.q.val() | (self.accept.val() & !self.verdict.val().spill);
        // What is open while the spilled bytes are written is the accepted frame's.
        self.buffer.rollback.next = self.undone.val()
            | (self.late_valid.val() & self.late_last.val() & !self.accept.val() & !self.flush.q.val());

        self.buffer.out_ready.next = self.payload_ready.val();
        self.payload_valid.next = self.buffer.out_valid.val();
        self.payload_data.next.tdata = self.buffer.out_data.val().tdata;
        self.payload_data.next.tlast = self.buffer.out_data.val().tlast;
        self.payload_data.next.tkeep = self.all_bytes.val();
        if self.buffer.out_data.val().tlast & self.buffer.out_data.val().bytes.any() {
            self.payload_data.next.tkeep = !(self.all_bytes.val() << self.buffer.out_data.val().bytes);
        }

        if self.rst.val() {
            self.depth.d.next = 0.into();
            self.lost.d.next = false;
            self.flush.d.next = false;
        }
    }
}
