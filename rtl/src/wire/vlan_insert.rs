//! Puts the 802.1Q tag into frames that have one, as the last thing before the MAC.
//!
//! ```text
//!  tag ──> FIFO ──┐ one per frame
//!  frame ─────────┴─> untagged: as it is; tagged: down by four bytes ──> m_axis
//! ```
//!
//! The tag is outside the ICRC, so all before knows frames without.
//!
//! Contract: one `tag` per frame, not later than the frame's first beat, at most
//! 32 of them ahead; it is always taken. One beat per clock and one clock of
//! latency; a tagged frame whose last beat has more than 60 bytes grows by a
//! beat, for which `frame_ready` is low for a clock.
//!
//! Verified by `testbenches/tests/vlan.rs`.

use super::vlan_strip::Tag;
use crate::prelude::*;
use crate::stream::Fifo;
use crate::types::Beat;
use tessera_abi::params::Config;
use tessera_abi::wire;

#[derive(LogicBlock)]
pub struct VlanInsert {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub tag_valid: Signal<In, Bit>,
    pub tag_data: Signal<In, Tag>,
    pub frame_valid: Signal<In, Bit>,
    pub frame_data: Signal<In, Beat>,
    pub frame_ready: Signal<Out, Bit>,
    pub m_axis_tdata: Signal<Out, Bits<512>>,
    pub m_axis_tkeep: Signal<Out, Bits<64>>,
    pub m_axis_tvalid: Signal<Out, Bit>,
    pub m_axis_tready: Signal<In, Bit>,
    pub m_axis_tlast: Signal<Out, Bit>,

    tags: Fifo<Tag, 5>,
    out: Dff<Beat>,
    out_valid: Dff<Bit>,
    /// Inside a frame, of which `has_tag` is said.
    begun: Dff<Bit>,
    has_tag: Dff<Bit>,
    /// The last four bytes of the beat before; they make a beat of their own.
    rest: Dff<Bits<32>>,
    rest_keep: Dff<Bits<4>>,
    grows: Dff<Bit>,

    room: Signal<Local, Bit>,
    known: Signal<Local, Bit>,
    take: Signal<Local, Bit>,
    moves: Signal<Local, Bit>,
    front: Signal<Local, Bits<128>>,
    tci: Signal<Local, Bits<16>>,
    tpid: Constant<Bits<32>>,
    has_tags: Constant<Bit>,
}

impl VlanInsert {
    pub fn new(config: &Config) -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            tag_valid: Default::default(),
            tag_data: Default::default(),
            frame_valid: Default::default(),
            frame_data: Default::default(),
            frame_ready: Default::default(),
            m_axis_tdata: Default::default(),
            m_axis_tkeep: Default::default(),
            m_axis_tvalid: Default::default(),
            m_axis_tready: Default::default(),
            m_axis_tlast: Default::default(),
            tags: Fifo::new(5),
            out: Default::default(),
            out_valid: Default::default(),
            begun: Default::default(),
            has_tag: Default::default(),
            rest: Default::default(),
            rest_keep: Default::default(),
            grows: Default::default(),
            room: Default::default(),
            known: Default::default(),
            take: Default::default(),
            moves: Default::default(),
            front: Default::default(),
            tci: Default::default(),
            // The byte that comes first is the lower one.
            tpid: Constant::new(u64::from(wire::ETHERTYPE_VLAN.swap_bytes()).into()),
            has_tags: Constant::new(config.vlan),
        }
    }
}

impl Logic for VlanInsert {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, out, out_valid, begun, has_tag, rest, rest_keep, grows);
        self.tags.clk.next = self.clk.val();
        self.tags.rst.next = self.rst.val();
        self.tags.in_valid.next = self.tag_valid.val();
        self.tags.in_data.next = self.tag_data.val();

        self.room.next = !self.out_valid.q.val() | self.m_axis_tready.val();
        self.known.next = self.begun.q.val() | self.tags.out_valid.val();
        self.frame_ready.next = self.room.val() & self.known.val() & !self.grows.q.val();
        self.take.next = self.frame_valid.val() & self.frame_ready.val();
        self.tags.out_ready.next = self.take.val() & !self.begun.q.val();
        self.moves.next = self.has_tags.val() & self.has_tag.q.val();
        if !self.begun.q.val() {
            self.moves.next = self.has_tags.val() & self.tags.out_data.val().valid;
        }
        self.tci.next = (self.tags.out_data.val().tci << 8) | (self.tags.out_data.val().tci >> 8);
        self.front.next = bit_cast::<128, 96>(self.frame_data.val().tdata.get_bits::<96>(0))
            | (bit_cast::<128, 32>(self.tpid.val()) << 96)
            | (bit_cast::<128, 16>(self.tci.val()) << 112);

        if self.m_axis_tready.val() {
            self.out_valid.d.next = false;
        }
        if self.room.val() & self.grows.q.val() {
            self.grows.d.next = false;
            self.out_valid.d.next = true;
            self.out.d.next.tdata = bit_cast::<512, 32>(self.rest.q.val());
            self.out.d.next.tkeep = bit_cast::<64, 4>(self.rest_keep.q.val());
            self.out.d.next.tlast = true;
        }
        if self.take.val() {
            self.out_valid.d.next = true;
            self.out.d.next = self.frame_data.val();
            self.begun.d.next = !self.frame_data.val().tlast;
            self.has_tag.d.next = self.moves.val();
            self.rest.d.next = self.frame_data.val().tdata.get_bits::<32>(480);
            self.rest_keep.d.next = self.frame_data.val().tkeep.get_bits::<4>(60);
            if self.moves.val() {
                if self.begun.q.val() {
                    self.out.d.next.tdata =
                        (self.frame_data.val().tdata << 32) | bit_cast::<512, 32>(self.rest.q.val());
                } else {
                    self.out.d.next.tdata =
                        (bit_cast::<512, 416>(self.frame_data.val().tdata.get_bits::<416>(96)) << 128)
                            | bit_cast::<512, 128>(self.front.val());
                }
                self.out.d.next.tkeep = (self.frame_data.val().tkeep << 4) | 15;
                self.grows.d.next = self.frame_data.val().tlast & self.frame_data.val().tkeep.get_bit(60);
                self.out.d.next.tlast =
                    self.frame_data.val().tlast & !self.frame_data.val().tkeep.get_bit(60);
            }
        }
        self.m_axis_tvalid.next = self.out_valid.q.val();
        self.m_axis_tdata.next = self.out.q.val().tdata;
        self.m_axis_tkeep.next = self.out.q.val().tkeep;
        self.m_axis_tlast.next = self.out.q.val().tlast;

        if self.rst.val() {
            self.out_valid.d.next = false;
            self.begun.d.next = false;
            self.grows.d.next = false;
        }
    }
}
