//! Appends the ICRC to frames on their way to the MAC, in beats of 16 bytes.
//!
//! ```text
//!  frame ─┬─> FIFO of beats, each 8 clocks in it or more ──────────────┬─> m_axis
//!         └─> icrc ─> rewind the filling, 4 bytes a clock ─> FIFO ─────┘ at a frame's end
//! ```
//!
//! Beats wait for the ICRC where they wait for the MAC, and meet it on their way out: a delay
//! beside the state's pipeline would be registers for every bit.
//!
//! Contract:
//! - One beat per clock. Behind a last beat of 14 bytes the frame grows by a beat, which is a
//!   clock more at `m_axis`.
//! - Frames are 2 modulo 4 bytes long, as headers and padding make them, and have four beats or more.
//! - A beat accepted at clock 0 is on `m_axis` at clock 8; beats of a frame that
//!   come without a gap leave without one. 16 beats fit.
//! - What lies behind a frame's end means nothing.
//!
//! Verified by `testbenches/tests/icrc.rs`.

use super::super::crc;
use super::super::xor::XorMatrix;
use super::NarrowIcrc;
use crate::prelude::*;
use crate::stream::Fifo;
use crate::types::NarrowBeat;
use tessera_abi::params::Config;

/// A beat that waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct WaitingBeat {
    pub tdata: Bits<128>,
    pub tlast: Bit,
    /// Of a last beat: it has 2 bytes and this many times four.
    pub fours: Bits<2>,
}

#[derive(LogicBlock)]
pub struct NarrowIcrcInsert {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub frame_valid: Signal<In, Bit>,
    pub frame_data: Signal<In, NarrowBeat>,
    pub frame_ready: Signal<Out, Bit>,
    pub m_axis_tdata: Signal<Out, Bits<128>>,
    pub m_axis_tkeep: Signal<Out, Bits<16>>,
    pub m_axis_tvalid: Signal<Out, Bit>,
    pub m_axis_tready: Signal<In, Bit>,
    pub m_axis_tlast: Signal<Out, Bit>,

    icrc: NarrowIcrc,
    beats: Fifo<WaitingBeat, 4>,
    first: Dff<Bit>,
    /// Beats accepted in the clocks before, and those of the FIFO that were long ago.
    accepted: Dff<Bits<7>>,
    ripe: Dff<Bits<5>>,
    /// A last beat, and its `fours`, beside the state's pipeline.
    ends: Dff<Bits<3>>,
    fours: [Dff<Bits<2>>; 3],
    /// The state, four bytes back so many times; then two bytes, and as the wire has it.
    back: XorMatrix<32, 33>,
    ended: XorMatrix<32, 32>,
    code: Dff<Bits<32>>,
    rewinding: Dff<Bit>,
    to_rewind: Dff<Bits<2>>,
    /// One for each last beat in the FIFO: of 16 beats four, as frames have four.
    codes: Fifo<Bits<32>, 2>,
    /// The last two bytes of an ICRC make a beat of their own.
    extra: Dff<Bit>,

    go: Signal<Local, Bit>,
    grown: Signal<Local, Bit>,
    moved: Signal<Local, Bit>,
    leaves: Signal<Local, Bit>,
    ripens: Signal<Local, Bit>,
    front: Signal<Local, WaitingBeat>,
    ends_here: [Signal<Local, Bit>; 4],
    lowest: Signal<Local, Bits<16>>,
    middle: [Signal<Local, Bits<32>>; 3],
    highest: Signal<Local, Bits<16>>,
    all_bytes: Constant<Bits<16>>,
}

impl NarrowIcrcInsert {
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
            icrc: NarrowIcrc::new(config.ipv6),
            beats: Fifo::new(4),
            first: Default::default(),
            accepted: Default::default(),
            ripe: Default::default(),
            ends: Default::default(),
            fours: Default::default(),
            back: XorMatrix::new(crc::back_rows(1)),
            ended: XorMatrix::new(crc::ended_rows()),
            code: Default::default(),
            rewinding: Default::default(),
            to_rewind: Default::default(),
            codes: Fifo::new(2),
            extra: Default::default(),
            go: Default::default(),
            grown: Default::default(),
            moved: Default::default(),
            leaves: Default::default(),
            ripens: Default::default(),
            front: Default::default(),
            ends_here: Default::default(),
            lowest: Default::default(),
            middle: Default::default(),
            highest: Default::default(),
            all_bytes: Constant::new(0xFFFFu64.into()),
        }
    }
}

impl Logic for NarrowIcrcInsert {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, first, accepted, ripe, ends, code, rewinding, to_rewind, extra);
        self.icrc.clk.next = self.clk.val();
        self.beats.clk.next = self.clk.val();
        self.beats.rst.next = self.rst.val();
        self.codes.clk.next = self.clk.val();
        self.codes.rst.next = self.rst.val();

        // In.
        self.frame_ready.next = self.beats.in_ready.val();
        self.go.next = self.frame_valid.val() & self.beats.in_ready.val();
        if self.go.val() {
            self.first.d.next = self.frame_data.val().tlast;
        }
        self.beats.in_valid.next = self.frame_valid.val();
        self.beats.in_data.next.tdata = self.frame_data.val().tdata;
        self.beats.in_data.next.tlast = self.frame_data.val().tlast;
        self.beats.in_data.next.fours = 0.into();
        if self.frame_data.val().tkeep.get_bit(10) {
            self.beats.in_data.next.fours = 3.into();
        } else if self.frame_data.val().tkeep.get_bit(6) {
            self.beats.in_data.next.fours = 2.into();
        } else if self.frame_data.val().tkeep.get_bit(2) {
            self.beats.in_data.next.fours = 1.into();
        }
        self.icrc.valid.next = self.go.val();
        self.icrc.first.next = self.first.q.val();
        self.icrc.data.next = self.frame_data.val().tdata;
        self.icrc.keep.next = self.frame_data.val().tkeep;
        self.accepted.d.next = (self.accepted.q.val() << 1) | bit_cast::<7, 1>(self.go.val().into());
        self.ends.d.next =
            (self.ends.q.val() << 1) | bit_cast::<3, 1>((self.go.val() & self.frame_data.val().tlast).into());
        self.fours[0].clock.next = self.clk.val();
        self.fours[0].d.next = self.beats.in_data.val().fours;
        for i in 0..2 {
            self.fours[i + 1].clock.next = self.clk.val();
            self.fours[i + 1].d.next = self.fours[i].q.val();
        }

        // The state is there after 3 clocks; the filling is 2 bytes and at most
        // three times four. Frames of four beats or more leave the time.
        self.back.d.next = self.code.q.val();
        self.ended.d.next = self.code.q.val();
        self.codes.in_valid.next = self.rewinding.q.val() & (self.to_rewind.q.val() == 0);
        self.codes.in_data.next = !self.ended.q.val();
        if self.codes.in_valid.val() {
            self.rewinding.d.next = false;
        }
        if self.ends.q.val().get_bit(2) {
            self.rewinding.d.next = true;
            self.code.d.next = self.icrc.state.val();
            self.to_rewind.d.next = !self.fours[2].q.val();
        } else if self.to_rewind.q.val().any() {
            self.code.d.next = self.back.q.val().get_bits::<32>(1);
            self.to_rewind.d.next = self.to_rewind.q.val() - 1;
        }

        // Out: the ICRC behind the last byte.
        self.front.next = self.beats.out_data.val();
        self.m_axis_tvalid.next = self.ripe.q.val().any();
        self.moved.next = self.ripe.q.val().any() & self.m_axis_tready.val();
        for i in 0..4 {
            self.ends_here[i].next = self.front.val().tlast & (self.front.val().fours.index() == i);
        }
        self.lowest.next = self.front.val().tdata.get_bits::<16>(0);
        if self.extra.q.val() {
            self.lowest.next = self.codes.out_data.val().get_bits::<16>(16);
        }
        self.middle[0].next = self.front.val().tdata.get_bits::<32>(16);
        self.middle[1].next = self.front.val().tdata.get_bits::<32>(48);
        self.middle[2].next = self.front.val().tdata.get_bits::<32>(80);
        for i in 0..3 {
            if self.ends_here[i].val() {
                self.middle[i].next = self.codes.out_data.val();
            }
        }
        self.highest.next = self.front.val().tdata.get_bits::<16>(112);
        if self.ends_here[3].val() {
            self.highest.next = self.codes.out_data.val().get_bits::<16>(0);
        }
        self.m_axis_tdata.next = bit_cast::<128, 16>(self.lowest.val())
            | (bit_cast::<128, 32>(self.middle[0].val()) << 16)
            | (bit_cast::<128, 32>(self.middle[1].val()) << 48)
            | (bit_cast::<128, 32>(self.middle[2].val()) << 80)
            | (bit_cast::<128, 16>(self.highest.val()) << 112);
        self.m_axis_tkeep.next = self.all_bytes.val();
        if self.extra.q.val() {
            self.m_axis_tkeep.next = 0x0003.into();
        } else if self.ends_here[0].val() {
            self.m_axis_tkeep.next = 0x003F.into();
        } else if self.ends_here[1].val() {
            self.m_axis_tkeep.next = 0x03FF.into();
        } else if self.ends_here[2].val() {
            self.m_axis_tkeep.next = 0x3FFF.into();
        }
        self.grown.next = self.ends_here[3].val() & !self.extra.q.val();
        self.m_axis_tlast.next = self.front.val().tlast & !self.grown.val();
        if self.moved.val() {
            self.extra.d.next = self.grown.val();
        }
        self.leaves.next = self.moved.val() & !self.grown.val();
        self.beats.out_ready.next = self.leaves.val();
        self.codes.out_ready.next = self.leaves.val() & self.front.val().tlast;
        self.ripens.next = self.accepted.q.val().get_bit(6);
        if self.ripens.val() & !self.leaves.val() {
            self.ripe.d.next = self.ripe.q.val() + 1;
        } else if self.leaves.val() & !self.ripens.val() {
            self.ripe.d.next = self.ripe.q.val() - 1;
        }

        if self.rst.val() {
            self.first.d.next = true;
            self.accepted.d.next = 0.into();
            self.ripe.d.next = 0.into();
            self.ends.d.next = 0.into();
            self.rewinding.d.next = false;
            self.to_rewind.d.next = 0.into();
            self.extra.d.next = false;
        }
    }
}
