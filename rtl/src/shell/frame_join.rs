//! The NIC's frames into a port's stream, and its completions out of the other direction.
//!
//! ```text
//!  s_axis (host) ─┐
//!  ours ──────────┴─ frame by frame ─> FIFO ─> m_axis
//!  s_cpl ─ tags of the host's ─> m_cpl; ours end here
//! ```
//!
//! A frame's tag is in `tuser` above bit 0, its completion brings it back. The host sets the tag's
//! top bit (`tag_top`, one bit of 31) and ignores completions without it, so that ours have none.
//!
//! Contract:
//! - one beat per clock; frames of one side stay in order, the sides alternate while both wait. Whose
//!   beats are taken is a register: a side that comes while the other has nothing waits a clock;
//! - what comes from the host is as it came; our frames have `tuser` 0;
//! - `injected` and `passed`: the last beat of a frame left. `ended`: a frame of ours was sent, at
//!   `ended_ts`;
//! - every output but `s_cpl_ready` and `m_cpl_*`, which follow their stream, depends on registers
//!   only.
//!
//! Verified by `testbenches/tests/frames.rs`.

use crate::prelude::*;
use crate::stream::Fifo;

/// A beat with its side band: bit 0 of `user` marks a bad frame, above it is the tag.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct TxBeat {
    pub ours: Bit,
    pub data: Bits<512>,
    pub keep: Bits<64>,
    pub last: Bit,
    pub user: Bits<32>,
}

#[derive(LogicBlock)]
pub struct FrameJoin {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    /// The bit of a tag that says it is the host's.
    pub tag_top: Signal<In, Bits<31>>,
    pub s_axis_tdata: Signal<In, Bits<512>>,
    pub s_axis_tkeep: Signal<In, Bits<64>>,
    pub s_axis_tvalid: Signal<In, Bit>,
    pub s_axis_tready: Signal<Out, Bit>,
    pub s_axis_tlast: Signal<In, Bit>,
    pub s_axis_tuser: Signal<In, Bits<32>>,
    pub ours_tdata: Signal<In, Bits<512>>,
    pub ours_tkeep: Signal<In, Bits<64>>,
    pub ours_tvalid: Signal<In, Bit>,
    pub ours_tready: Signal<Out, Bit>,
    pub ours_tlast: Signal<In, Bit>,
    pub m_axis_tdata: Signal<Out, Bits<512>>,
    pub m_axis_tkeep: Signal<Out, Bits<64>>,
    pub m_axis_tvalid: Signal<Out, Bit>,
    pub m_axis_tready: Signal<In, Bit>,
    pub m_axis_tlast: Signal<Out, Bit>,
    pub m_axis_tuser: Signal<Out, Bits<32>>,
    pub s_cpl_ts: Signal<In, Bits<96>>,
    pub s_cpl_tag: Signal<In, Bits<31>>,
    pub s_cpl_valid: Signal<In, Bit>,
    pub s_cpl_ready: Signal<Out, Bit>,
    pub m_cpl_ts: Signal<Out, Bits<96>>,
    pub m_cpl_tag: Signal<Out, Bits<31>>,
    pub m_cpl_valid: Signal<Out, Bit>,
    pub m_cpl_ready: Signal<In, Bit>,
    pub injected: Signal<Out, Bit>,
    pub passed: Signal<Out, Bit>,
    pub ended: Signal<Out, Bit>,
    pub ended_ts: Signal<Out, Bits<96>>,
    beats: Fifo<TxBeat, 3>,
    /// Whose beats are taken, and whether one of them is within a frame.
    own: Dff<Bit>,
    begun: Dff<Bit>,
    valid: Signal<Local, Bit>,
    other: Signal<Local, Bit>,
    last: Signal<Local, Bit>,
    put: Signal<Local, Bit>,
    leaves: Signal<Local, Bit>,
    is_host: Signal<Local, Bit>,
}

impl FrameJoin {
    pub fn new() -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            tag_top: Default::default(),
            s_axis_tdata: Default::default(),
            s_axis_tkeep: Default::default(),
            s_axis_tvalid: Default::default(),
            s_axis_tready: Default::default(),
            s_axis_tlast: Default::default(),
            s_axis_tuser: Default::default(),
            ours_tdata: Default::default(),
            ours_tkeep: Default::default(),
            ours_tvalid: Default::default(),
            ours_tready: Default::default(),
            ours_tlast: Default::default(),
            m_axis_tdata: Default::default(),
            m_axis_tkeep: Default::default(),
            m_axis_tvalid: Default::default(),
            m_axis_tready: Default::default(),
            m_axis_tlast: Default::default(),
            m_axis_tuser: Default::default(),
            s_cpl_ts: Default::default(),
            s_cpl_tag: Default::default(),
            s_cpl_valid: Default::default(),
            s_cpl_ready: Default::default(),
            m_cpl_ts: Default::default(),
            m_cpl_tag: Default::default(),
            m_cpl_valid: Default::default(),
            m_cpl_ready: Default::default(),
            injected: Default::default(),
            passed: Default::default(),
            ended: Default::default(),
            ended_ts: Default::default(),
            beats: Fifo::new(3),
            own: Default::default(),
            begun: Default::default(),
            valid: Default::default(),
            other: Default::default(),
            last: Default::default(),
            put: Default::default(),
            leaves: Default::default(),
            is_host: Default::default(),
        }
    }
}

impl Logic for FrameJoin {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, own, begun);
        self.beats.clk.next = self.clk.val();
        self.beats.rst.next = self.rst.val();

        // One side's beats at a time, whose is known beforehand.
        self.s_axis_tready.next = self.beats.in_ready.val() & !self.own.q.val();
        self.ours_tready.next = self.beats.in_ready.val() & self.own.q.val();
        self.valid.next = self.s_axis_tvalid.val();
        self.other.next = self.ours_tvalid.val();
        self.beats.in_data.next.data = self.s_axis_tdata.val();
        self.beats.in_data.next.keep = self.s_axis_tkeep.val();
        self.beats.in_data.next.user = self.s_axis_tuser.val();
        self.last.next = self.s_axis_tlast.val();
        if self.own.q.val() {
            self.valid.next = self.ours_tvalid.val();
            self.other.next = self.s_axis_tvalid.val();
            self.beats.in_data.next.data = self.ours_tdata.val();
            self.beats.in_data.next.keep = self.ours_tkeep.val();
            self.beats.in_data.next.user = 0.into();
            self.last.next = self.ours_tlast.val();
        }
        self.beats.in_data.next.last = self.last.val();
        self.beats.in_data.next.ours = self.own.q.val();
        self.beats.in_valid.next = self.valid.val();
        self.put.next = self.valid.val() & self.beats.in_ready.val();
        if self.put.val() {
            self.begun.d.next = !self.last.val();
        }
        // The other's turn: behind a frame, or where there is none. An offer that waits for room stays.
        if self.other.val() & ((self.put.val() & self.last.val()) | (!self.valid.val() & !self.begun.q.val()))
        {
            self.own.d.next = !self.own.q.val();
        }

        self.m_axis_tvalid.next = self.beats.out_valid.val();
        self.m_axis_tdata.next = self.beats.out_data.val().data;
        self.m_axis_tkeep.next = self.beats.out_data.val().keep;
        self.m_axis_tlast.next = self.beats.out_data.val().last;
        self.m_axis_tuser.next = self.beats.out_data.val().user;
        self.beats.out_ready.next = self.m_axis_tready.val();
        self.leaves.next =
            self.beats.out_valid.val() & self.m_axis_tready.val() & self.beats.out_data.val().last;
        self.injected.next = self.leaves.val() & self.beats.out_data.val().ours;
        self.passed.next = self.leaves.val() & !self.beats.out_data.val().ours;

        self.is_host.next = (self.s_cpl_tag.val() & self.tag_top.val()) != 0;
        self.m_cpl_ts.next = self.s_cpl_ts.val();
        self.m_cpl_tag.next = self.s_cpl_tag.val();
        self.m_cpl_valid.next = self.s_cpl_valid.val() & self.is_host.val();
        // By `valid`, so that a tag that nobody has driven yet leaves no ready unknown.
        self.s_cpl_ready.next = self.m_cpl_ready.val() | !self.m_cpl_valid.val();
        self.ended.next = self.s_cpl_valid.val() & !self.is_host.val();
        self.ended_ts.next = self.s_cpl_ts.val();

        if self.rst.val() {
            self.own.d.next = false;
            self.begun.d.next = false;
        }
    }
}
