//! The NIC's frames out of a port's stream; all others go on as they are.
//!
//! ```text
//!  s_axis ─┬─> beats FIFO ────────────┬─ others ─> m_axis
//!          └─> heads ─> verdict FIFO ─┴─ ours ───> ours
//! ```
//!
//! Ours are the frames to `mac` that carry UDP port 4791 in IPv4 without options to `ip4`, or in
//! IPv6 without extensions to `ip6`, 802.1Q tag or not, and of whose queue pair number the bits
//! `qpn_mask` are those of `qpn_value`. What is wrong with them otherwise, the NIC says. A
//! fragment, a frame of one beat and any other is the host's.
//!
//! Contract:
//! - one beat per clock, three clocks behind the input; frames leave in their order, with their
//!   gaps at most. Bytes, `tkeep` and `tuser` are as they came;
//! - `ours_tvalid` has no ready: whoever is there takes every beat;
//! - `took` and `passed`: the last beat of a frame left; `verdict_valid`: the first did, and whose
//!   frame it is;
//! - every output depends on registers only.
//!
//! Verified by `testbenches/tests/frames.rs`.

use crate::prelude::*;
use crate::stream::Fifo;
use tessera_abi::wire;

/// A beat with its side band: bit 0 of `user` marks a bad frame, above it is the time of arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct RxBeat {
    pub data: Bits<512>,
    pub keep: Bits<64>,
    pub last: Bit,
    pub user: Bits<97>,
}

#[derive(LogicBlock)]
pub struct FrameTap {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub enable: Signal<In, Bit>,
    /// Addresses, the byte that comes first the lowest.
    pub mac: Signal<In, Bits<48>>,
    pub ip4: Signal<In, Bits<32>>,
    pub ip6: Signal<In, Bits<128>>,
    pub qpn_value: Signal<In, Bits<24>>,
    pub qpn_mask: Signal<In, Bits<24>>,
    pub s_axis_tdata: Signal<In, Bits<512>>,
    pub s_axis_tkeep: Signal<In, Bits<64>>,
    pub s_axis_tvalid: Signal<In, Bit>,
    pub s_axis_tready: Signal<Out, Bit>,
    pub s_axis_tlast: Signal<In, Bit>,
    pub s_axis_tuser: Signal<In, Bits<97>>,
    pub m_axis_tdata: Signal<Out, Bits<512>>,
    pub m_axis_tkeep: Signal<Out, Bits<64>>,
    pub m_axis_tvalid: Signal<Out, Bit>,
    pub m_axis_tready: Signal<In, Bit>,
    pub m_axis_tlast: Signal<Out, Bit>,
    pub m_axis_tuser: Signal<Out, Bits<97>>,
    pub ours_tdata: Signal<Out, Bits<512>>,
    pub ours_tkeep: Signal<Out, Bits<64>>,
    pub ours_tvalid: Signal<Out, Bit>,
    pub ours_tlast: Signal<Out, Bit>,
    pub ours_tuser: Signal<Out, Bits<97>>,
    pub took: Signal<Out, Bit>,
    pub passed: Signal<Out, Bit>,
    pub verdict_valid: Signal<Out, Bit>,
    pub verdict_ours: Signal<Out, Bit>,
    beats: Fifo<RxBeat, 4>,
    verdicts: Fifo<Bit, 5>,
    /// Which beat of its frame the next one is: the first, the second, any later.
    at_first: Dff<Bit>,
    at_second: Dff<Bit>,
    /// What the first beat said.
    v4: Dff<Bit>,
    v6: Dff<Bit>,
    has_tag: Dff<Bit>,
    /// Inside a frame that leaves, of which `ours` is known.
    begun: Dff<Bit>,
    ours: Dff<Bit>,
    take: Signal<Local, Bit>,
    tag: Signal<Local, Bit>,
    ethertype: Signal<Local, Bits<16>>,
    /// From the IP header on.
    packet: Signal<Local, Bits<368>>,
    for_us: Signal<Local, Bit>,
    number4: Signal<Local, Bits<24>>,
    number6: Signal<Local, Bits<24>>,
    right4: Signal<Local, Bit>,
    right6: Signal<Local, Bit>,
    said: Signal<Local, Bit>,
    verdict: Signal<Local, Bit>,
    known: Signal<Local, Bit>,
    goes_in: Signal<Local, Bit>,
    leaves: Signal<Local, Bit>,
    type_vlan: Constant<Bits<16>>,
    type_ip4: Constant<Bits<16>>,
    type_ip6: Constant<Bits<16>>,
    udp: Constant<Bits<8>>,
    port: Constant<Bits<16>>,
}

impl FrameTap {
    pub fn new() -> Self {
        // The byte that comes first is the lower one.
        let wire_order = |value: u16| Constant::new(u64::from(value.swap_bytes()).into());
        Self {
            clk: Default::default(),
            rst: Default::default(),
            enable: Default::default(),
            mac: Default::default(),
            ip4: Default::default(),
            ip6: Default::default(),
            qpn_value: Default::default(),
            qpn_mask: Default::default(),
            s_axis_tdata: Default::default(),
            s_axis_tkeep: Default::default(),
            s_axis_tvalid: Default::default(),
            s_axis_tready: Default::default(),
            s_axis_tlast: Default::default(),
            s_axis_tuser: Default::default(),
            m_axis_tdata: Default::default(),
            m_axis_tkeep: Default::default(),
            m_axis_tvalid: Default::default(),
            m_axis_tready: Default::default(),
            m_axis_tlast: Default::default(),
            m_axis_tuser: Default::default(),
            ours_tdata: Default::default(),
            ours_tkeep: Default::default(),
            ours_tvalid: Default::default(),
            ours_tlast: Default::default(),
            ours_tuser: Default::default(),
            took: Default::default(),
            passed: Default::default(),
            verdict_valid: Default::default(),
            verdict_ours: Default::default(),
            beats: Fifo::new(4),
            verdicts: Fifo::new(5),
            at_first: Default::default(),
            at_second: Default::default(),
            v4: Default::default(),
            v6: Default::default(),
            has_tag: Default::default(),
            begun: Default::default(),
            ours: Default::default(),
            take: Default::default(),
            tag: Default::default(),
            ethertype: Default::default(),
            packet: Default::default(),
            for_us: Default::default(),
            number4: Default::default(),
            number6: Default::default(),
            right4: Default::default(),
            right6: Default::default(),
            said: Default::default(),
            verdict: Default::default(),
            known: Default::default(),
            goes_in: Default::default(),
            leaves: Default::default(),
            type_vlan: wire_order(wire::ETHERTYPE_VLAN),
            type_ip4: wire_order(wire::ETHERTYPE_IPV4),
            type_ip6: wire_order(wire::ETHERTYPE_IPV6),
            udp: Constant::new(u64::from(wire::IP_UDP).into()),
            port: wire_order(wire::UDP_PORT),
        }
    }
}

impl Logic for FrameTap {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, at_first, at_second, v4, v6, has_tag, begun, ours);
        self.beats.clk.next = self.clk.val();
        self.beats.rst.next = self.rst.val();
        self.verdicts.clk.next = self.clk.val();
        self.verdicts.rst.next = self.rst.val();

        // There are never more frames than beats, so that verdicts have room.
        self.s_axis_tready.next = self.beats.in_ready.val();
        self.take.next = self.s_axis_tvalid.val() & self.beats.in_ready.val();
        self.beats.in_valid.next = self.take.val();
        self.beats.in_data.next.data = self.s_axis_tdata.val();
        self.beats.in_data.next.keep = self.s_axis_tkeep.val();
        self.beats.in_data.next.last = self.s_axis_tlast.val();
        self.beats.in_data.next.user = self.s_axis_tuser.val();

        // The first beat: addresses and ports.
        self.tag.next = self.s_axis_tdata.val().get_bits::<16>(96) == self.type_vlan.val();
        self.ethertype.next = self.s_axis_tdata.val().get_bits::<16>(96);
        self.packet.next = self.s_axis_tdata.val().get_bits::<368>(112);
        if self.tag.val() {
            self.ethertype.next = self.s_axis_tdata.val().get_bits::<16>(128);
            self.packet.next = self.s_axis_tdata.val().get_bits::<368>(144);
        }
        self.for_us.next = self.enable.val() & (self.s_axis_tdata.val().get_bits::<48>(0) == self.mac.val());
        self.number4.next = self.packet.val().get_bits::<24>(264) ^ self.qpn_value.val();
        self.right4.next = (self.ethertype.val() == self.type_ip4.val())
            & (self.packet.val().get_bits::<8>(0) == 0x45)
            & ((self.packet.val().get_bits::<16>(48) & 0xFF3F) == 0)
            & (self.packet.val().get_bits::<8>(72) == self.udp.val())
            & (self.packet.val().get_bits::<32>(128) == self.ip4.val())
            & (self.packet.val().get_bits::<16>(176) == self.port.val())
            & ((self.number4.val() & self.qpn_mask.val()) == 0);
        self.right6.next = (self.ethertype.val() == self.type_ip6.val())
            & (self.packet.val().get_bits::<8>(48) == self.udp.val())
            & (self.packet.val().get_bits::<128>(192) == self.ip6.val())
            & (self.packet.val().get_bits::<16>(336) == self.port.val());

        // The second: of IPv6, the number.
        self.number6.next = self.s_axis_tdata.val().get_bits::<24>(24) ^ self.qpn_value.val();
        if self.has_tag.q.val() {
            self.number6.next = self.s_axis_tdata.val().get_bits::<24>(56) ^ self.qpn_value.val();
        }
        self.said.next = false;
        self.verdict.next = false;
        if self.take.val() {
            self.at_first.d.next = self.s_axis_tlast.val();
            self.at_second.d.next = self.at_first.q.val() & !self.s_axis_tlast.val();
            if self.at_first.q.val() {
                self.v4.d.next = self.for_us.val() & self.right4.val();
                self.v6.d.next = self.for_us.val() & self.right6.val();
                self.has_tag.d.next = self.tag.val();
                self.said.next = self.s_axis_tlast.val();
            }
            if self.at_second.q.val() {
                self.said.next = true;
                self.verdict.next =
                    self.v4.q.val() | (self.v6.q.val() & ((self.number6.val() & self.qpn_mask.val()) == 0));
            }
        }
        self.verdicts.in_valid.next = self.said.val();
        self.verdicts.in_data.next = self.verdict.val();

        // What leaves.
        self.known.next = self.beats.out_valid.val() & (self.begun.q.val() | self.verdicts.out_valid.val());
        self.goes_in.next = self.verdicts.out_data.val();
        if self.begun.q.val() {
            self.goes_in.next = self.ours.q.val();
        }
        self.leaves.next = self.known.val() & (self.goes_in.val() | self.m_axis_tready.val());
        self.beats.out_ready.next = self.leaves.val();
        self.verdicts.out_ready.next = self.leaves.val() & !self.begun.q.val();
        if self.leaves.val() {
            self.begun.d.next = !self.beats.out_data.val().last;
            self.ours.d.next = self.goes_in.val();
        }
        self.m_axis_tvalid.next = self.known.val() & !self.goes_in.val();
        self.m_axis_tdata.next = self.beats.out_data.val().data;
        self.m_axis_tkeep.next = self.beats.out_data.val().keep;
        self.m_axis_tlast.next = self.beats.out_data.val().last;
        self.m_axis_tuser.next = self.beats.out_data.val().user;
        self.ours_tvalid.next = self.known.val() & self.goes_in.val();
        self.ours_tdata.next = self.beats.out_data.val().data;
        self.ours_tkeep.next = self.beats.out_data.val().keep;
        self.ours_tlast.next = self.beats.out_data.val().last;
        self.ours_tuser.next = self.beats.out_data.val().user;
        self.took.next = self.known.val() & self.goes_in.val() & self.beats.out_data.val().last;
        self.passed.next = self.leaves.val() & !self.goes_in.val() & self.beats.out_data.val().last;

        self.verdict_valid.next = self.verdicts.out_ready.val();
        self.verdict_ours.next = self.goes_in.val();

        if self.rst.val() {
            self.at_first.d.next = true;
            self.at_second.d.next = false;
            self.begun.d.next = false;
        }
    }
}
