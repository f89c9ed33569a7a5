//! Appends the ICRC to frames on their way to the MAC.
//!
//! ```text
//!  frame ─┬─> icrc ─> rewind the filling of the last beat ─┐
//!         └─> 5 clocks of delay ───────────────────────────┴─> insert ─> FIFO ─> m_axis
//! ```
//!
//! Contract:
//! - One beat per clock. A last beat of 62 bytes leaves no place for the ICRC:
//!   the frame grows by a beat, and `frame_ready` is low for the clock after.
//! - Frames are 2 modulo 4 bytes long, as headers and padding make them. Bytes of a
//!   beat outside `tkeep` are zeros: `tx_beats` makes them so. On `m_axis` they mean nothing.
//! - Nothing waits inside: a beat is accepted only when the FIFO has a place
//!   for everything on its way. A beat accepted at clock 0 is on `m_axis` at
//!   clock 9; beats of a frame that come without a gap leave without one.
//!
//! Verified by `testbenches/tests/icrc.rs`.

use super::cells::{Delay, KeepCount};
use super::crc;
use super::icrc::Icrc;
use super::xor::{XorMatrix, XorRegister};
use crate::prelude::*;
use crate::stream::LateFifo;
use crate::types::Beat;
use tessera_abi::params::Config;

/// What a last beat may be filled up with, in words of 32 bits: its first two bytes and its last two are none.
const BACK: usize = 15;

#[derive(LogicBlock)]
pub struct IcrcInsert {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub frame_valid: Signal<In, Bit>,
    pub frame_data: Signal<In, Beat>,
    pub frame_ready: Signal<Out, Bit>,
    pub m_axis_tdata: Signal<Out, Bits<512>>,
    pub m_axis_tkeep: Signal<Out, Bits<64>>,
    pub m_axis_tvalid: Signal<Out, Bit>,
    pub m_axis_tready: Signal<In, Bit>,
    pub m_axis_tlast: Signal<Out, Bit>,

    count: KeepCount,
    beat: Dff<Bits<512>>,
    beat_valid: Dff<Bit>,
    beat_last: Dff<Bit>,
    beat_bytes: Dff<Bits<6>>,
    first: Dff<Bit>,
    skip: Dff<Bit>,
    /// Beats accepted, extra ones included, that have not left the FIFO.
    occupied: Dff<Bits<6>>,
    icrc: Icrc,
    late_beat: Delay<Bits<512>>,
    late_bytes: Delay<Bits<6>>,
    valids: Dff<Bits<5>>,
    lasts: Dff<Bits<5>>,
    /// Bytes to take back, by four, beside each stage.
    filling: [Dff<Bits<4>>; 4],
    /// The state, and what came before it; the window on that at the frame's end.
    back: XorRegister<32, { 32 + BACK }>,
    rewound: Dff<Bits<32>>,
    ended: XorMatrix<32, 32>,
    put: Dff<Bit>,
    word: Dff<Bits<544>>,
    word_last: Dff<Bit>,
    word_bytes: Dff<Bits<6>>,
    extra: Dff<Bit>,
    extra_bytes: Dff<Bits<16>>,
    out: LateFifo<Beat, 5>,

    go: Signal<Local, Bit>,
    grows: Signal<Local, Bit>,
    added: Signal<Local, Bits<6>>,
    window: Signal<Local, Bits<{ 32 + BACK }>>,
    crc: Signal<Local, Bits<32>>,
    spread: Signal<Local, Bits<544>>,
    sealed: [Signal<Local, Bits<544>>; 17],
    lowest: Signal<Local, Bits<16>>,
    bytes: Signal<Local, Bits<7>>,
    shifts: [Constant<Bits<10>>; 16],
    limit: Constant<Bits<6>>,
    all_bytes: Constant<Bits<64>>,
}

impl IcrcInsert {
    /// Of a configuration it asks for IPv6 alone.
    pub fn new(config: &Config) -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            frame_valid: Default::default(),
            frame_data: Default::default(),
            frame_ready: Default::default(),
            m_axis_tdata: Default::default(),
            m_axis_tkeep: Default::default(),
            m_axis_tvalid: Default::default(),
            m_axis_tready: Default::default(),
            m_axis_tlast: Default::default(),
            count: Default::default(),
            beat: Default::default(),
            beat_valid: Default::default(),
            beat_last: Default::default(),
            beat_bytes: Default::default(),
            first: Default::default(),
            skip: Default::default(),
            occupied: Default::default(),
            icrc: Icrc::new(config.ipv6),
            late_beat: Delay::new(5).in_block(),
            late_bytes: Delay::new(5),
            valids: Default::default(),
            lasts: Default::default(),
            filling: Default::default(),
            back: XorRegister::new(crc::back_rows(BACK)),
            rewound: Default::default(),
            ended: XorMatrix::new(crc::ended_rows()),
            put: Default::default(),
            word: Default::default(),
            word_last: Default::default(),
            word_bytes: Default::default(),
            extra: Default::default(),
            extra_bytes: Default::default(),
            out: LateFifo::new(5).of_wide_words(),
            go: Default::default(),
            grows: Default::default(),
            added: Default::default(),
            window: Default::default(),
            crc: Default::default(),
            spread: Default::default(),
            sealed: Default::default(),
            lowest: Default::default(),
            bytes: Default::default(),
            shifts: core::array::from_fn(|i| Constant::new((32 * i as u64 + 16).into())),
            // Two per clock may be added before the count shows the first.
            limit: Constant::new(28.into()),
            all_bytes: Constant::new(u64::MAX.into()),
        }
    }
}

impl Logic for IcrcInsert {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, beat, beat_valid, beat_last, beat_bytes, first, skip, occupied);
        dff_setup!(self, clk, valids, lasts, rewound, put, word, word_last, word_bytes, extra, extra_bytes);
        self.icrc.clk.next = self.clk.val();
        self.late_beat.clock.next = self.clk.val();
        self.late_bytes.clock.next = self.clk.val();
        self.out.clk.next = self.clk.val();
        self.out.rst.next = self.rst.val();

        // Acceptance: room in the FIFO, and a clock for a beat that will grow.
        self.frame_ready.next = !self.skip.q.val() & (self.occupied.q.val() <= self.limit.val());
        self.go.next = self.frame_valid.val() & self.frame_ready.val();
        self.count.keep.next = self.frame_data.val().tkeep;
        self.grows.next =
            self.go.val() & self.frame_data.val().tlast & self.frame_data.val().tkeep.get_bit(60);
        self.skip.d.next = self.grows.val();
        self.beat_valid.d.next = self.go.val();
        if self.go.val() {
            self.beat.d.next = self.frame_data.val().tdata;
            self.beat_last.d.next = self.frame_data.val().tlast;
            self.beat_bytes.d.next = self.count.q.val();
        }
        if self.beat_valid.q.val() {
            self.first.d.next = self.beat_last.q.val();
        }

        self.icrc.valid.next = self.beat_valid.q.val();
        self.icrc.first.next = self.first.q.val();
        self.icrc.data.next = self.beat.q.val();
        self.late_beat.d.next = self.beat.q.val();
        self.late_bytes.d.next = self.beat_bytes.q.val();
        self.valids.d.next = (self.valids.q.val() << 1) | bit_cast::<5, 1>(self.beat_valid.q.val().into());
        self.lasts.d.next = (self.lasts.q.val() << 1) | bit_cast::<5, 1>(self.beat_last.q.val().into());

        // The state is there after 3 clocks. A frame ends 2 modulo 4, so its filling is a multiple of four, taken
        // back as a window, and 2 bytes.
        self.filling[0].clock.next = self.clk.val();
        self.filling[0].d.next = !self.beat_bytes.q.val().get_bits::<4>(2);
        for i in 0..3 {
            self.filling[i + 1].clock.next = self.clk.val();
            self.filling[i + 1].d.next = self.filling[i].q.val();
        }
        self.back.clock.next = self.clk.val();
        self.back.enable.next = self.valids.q.val().get_bit(2) & self.lasts.q.val().get_bit(2);
        self.back.d.next = self.icrc.state.val();
        self.window.next = self.back.q.val() >> self.filling[3].q.val();
        self.rewound.d.next = self.window.val().get_bits::<32>(0);
        self.ended.d.next = self.rewound.q.val();
        self.crc.next = !self.ended.q.val();

        // Clock 5: the ICRC goes behind the last byte.
        self.put.d.next = self.valids.q.val().get_bit(4);
        self.word_last.d.next = self.lasts.q.val().get_bit(4);
        self.word_bytes.d.next = self.late_bytes.q.val();
        // Sixteen places for it: the beat shows through at all others.
        self.spread.next = bit_cast::<544, 32>(self.crc.val());
        self.sealed[0].next = bit_cast::<544, 512>(self.late_beat.q.val());
        for i in 0..16 {
            self.sealed[i + 1].next = self.sealed[i].val();
            if self.lasts.q.val().get_bit(4) & (self.late_bytes.q.val().get_bits::<4>(2).index() == i) {
                self.sealed[i + 1].next = self.sealed[i].val() | (self.spread.val() << self.shifts[i].val());
            }
        }
        self.word.d.next = self.sealed[16].val();

        // Clock 6: into the FIFO, and once more for what stuck out.
        self.extra.d.next = self.put.q.val() & self.word_last.q.val() & (self.word_bytes.q.val() == 62);
        self.extra_bytes.d.next = self.word.q.val().get_bits::<16>(512);
        self.bytes.next = bit_cast::<7, 6>(self.word_bytes.q.val()) + 4;
        self.out.in_valid.next = self.put.q.val() | self.extra.q.val();
        self.lowest.next = self.word.q.val().get_bits::<16>(0);
        if self.extra.q.val() {
            self.lowest.next = self.extra_bytes.q.val();
        }
        self.out.in_data.next.tdata = (bit_cast::<512, 496>(self.word.q.val().get_bits::<496>(16)) << 16)
            | bit_cast::<512, 16>(self.lowest.val());
        self.out.in_data.next.tkeep = self.all_bytes.val();
        self.out.in_data.next.tlast = false;
        if self.extra.q.val() {
            self.out.in_data.next.tkeep = 3.into();
            self.out.in_data.next.tlast = true;
        } else if self.word_last.q.val() & (self.word_bytes.q.val() != 62) {
            self.out.in_data.next.tkeep = !(self.all_bytes.val() << self.bytes.val());
            self.out.in_data.next.tlast = true;
        }

        self.m_axis_tvalid.next = self.out.out_valid.val();
        self.m_axis_tdata.next = self.out.out_data.val().tdata;
        self.m_axis_tkeep.next = self.out.out_data.val().tkeep;
        self.m_axis_tlast.next = self.out.out_data.val().tlast;
        self.out.out_ready.next = self.m_axis_tready.val();

        self.added.next = 0.into();
        if self.grows.val() {
            self.added.next = 2.into();
        } else if self.go.val() {
            self.added.next = 1.into();
        }
        if self.out.out_valid.val() & self.m_axis_tready.val() {
            self.occupied.d.next = self.occupied.q.val() + self.added.val() - 1;
        } else {
            self.occupied.d.next = self.occupied.q.val() + self.added.val();
        }

        if self.rst.val() {
            self.beat_valid.d.next = false;
            self.first.d.next = true;
            self.skip.d.next = false;
            self.occupied.d.next = 0.into();
            self.valids.d.next = 0.into();
            self.put.d.next = false;
            self.extra.d.next = false;
        }
    }
}
