//! Whether a frame is for this NIC, and who sent it: rules RX-3, RX-8 and RX-9
//! up to the lengths.
//!
//! ```text
//!  ethernet, ip4 ──┐
//!  ethernet, ip6 ──┼─ against settings ─> not_ours, odd; sender; lengths
//!  tag, port ──────┘
//! ```
//!
//! Contract: combinational.
//!
//! Verified by `testbenches/tests/rx_parse`.

use super::layout::{Ip4Word, Ip6Word, TransportWord};
use super::vlan_strip::Tag;
use crate::prelude::*;
use crate::types::{gid_prefix, Settings};
use tessera_abi::params::Config;
use tessera_abi::wire;

/// Where a packet came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct SenderAddress {
    pub mac: Bits<48>,
    pub gid: Bits<128>,
    pub ce: Bit,
    pub vlan_valid: Bit,
    pub vlan: Bits<16>,
}

#[derive(LogicBlock)]
pub struct RxAddress {
    pub settings: Signal<In, Settings>,
    pub ip4: Signal<In, Ip4Word>,
    pub ip6: Signal<In, Ip6Word>,
    pub transport: Signal<In, TransportWord>,
    pub v6: Signal<In, Bit>,
    pub tag: Signal<In, Tag>,
    pub not_ours: Signal<Out, Bit>,
    /// A header or a source that no host's packet has.
    pub odd: Signal<Out, Bit>,
    pub sender: Signal<Out, SenderAddress>,
    /// Bytes of the frame, and from the UDP header on, as the IP header says.
    pub frame_len: Signal<Out, Bits<17>>,
    pub udp_len: Signal<Out, Bits<17>>,

    extended: Signal<Local, Bit>,
    foreign4: Signal<Local, Bit>,
    foreign6: Signal<Local, Bit>,
    odd4: Signal<Local, Bit>,
    odd6: Signal<Local, Bit>,
    foreign_vlan: Signal<Local, Bit>,
    wrong_port: Signal<Local, Bit>,
    vlan_id: Signal<Local, Bits<12>>,
    total4: Signal<Local, Bits<17>>,
    total6: Signal<Local, Bits<17>>,

    ethertype4: Constant<Bits<16>>,
    udp: Constant<Bits<8>>,
    port: Constant<Bits<16>>,
    extensions: [Constant<Bits<8>>; 6],
    everywhere: Constant<Bits<32>>,
    mapped: Constant<Bits<96>>,
    /// What an IPv4 address becomes a GID with.
    prefix: Constant<Bits<96>>,
    congested: Constant<Bits<2>>,
    eth_len: Constant<Bits<17>>,
}

impl RxAddress {
    pub fn new(config: &Config) -> Self {
        Self {
            settings: Default::default(),
            ip4: Default::default(),
            ip6: Default::default(),
            transport: Default::default(),
            v6: Default::default(),
            tag: Default::default(),
            not_ours: Default::default(),
            odd: Default::default(),
            sender: Default::default(),
            frame_len: Default::default(),
            udp_len: Default::default(),
            extended: Default::default(),
            foreign4: Default::default(),
            foreign6: Default::default(),
            odd4: Default::default(),
            odd6: Default::default(),
            foreign_vlan: Default::default(),
            wrong_port: Default::default(),
            vlan_id: Default::default(),
            total4: Default::default(),
            total6: Default::default(),
            ethertype4: Constant::new(u64::from(wire::ETHERTYPE_IPV4).into()),
            udp: Constant::new(u64::from(wire::IP_UDP).into()),
            port: Constant::new(u64::from(wire::UDP_PORT).into()),
            extensions: wire::IPV6_EXTENSIONS.map(|next| Constant::new(u64::from(next).into())),
            everywhere: Constant::new(u64::from(u32::MAX).into()),
            mapped: Constant::new(0xFFFFu64.into()),
            prefix: gid_prefix(config),
            congested: Constant::new(u64::from(wire::ECN_CE).into()),
            eth_len: Constant::new((wire::ETH_LEN as u64).into()),
        }
    }
}

impl Logic for RxAddress {
    #[hdl_gen]
    fn update(&mut self) {
        self.extended.next = false;
        for i in 0..6 {
            if self.ip6.val().next_header == self.extensions[i].val() {
                self.extended.next = true;
            }
        }
        self.foreign4.next = (self.ip4.val().ethertype != self.ethertype4.val())
            | (self.ip4.val().version != 4)
            | (self.ip4.val().protocol != self.udp.val())
            | (self.ip4.val().dst != self.settings.val().local_ip);
        self.foreign6.next = (self.ip6.val().version != 6)
            | ((self.ip6.val().next_header != self.udp.val()) & !self.extended.val())
            | (self.ip6.val().dst != self.settings.val().local_ip6)
            | !self.settings.val().local_ip6.any();
        self.odd4.next = (self.ip4.val().ihl != 5)
            | (self.ip4.val().fragment_offset != 0)
            | self.ip4.val().more_fragments.any()
            | (self.ip4.val().src.get_bits::<4>(28) == 14)
            | (self.ip4.val().src == 0)
            | (self.ip4.val().src == self.everywhere.val());
        self.odd6.next = self.extended.val()
            | self.ip6.val().src.get_bits::<8>(120).all()
            | !self.ip6.val().src.any()
            | (self.ip6.val().src.get_bits::<96>(32) == self.mapped.val());
        self.vlan_id.next = self.tag.val().tci.get_bits::<12>(0);
        self.foreign_vlan.next = self.tag.val().valid
            & self.vlan_id.val().any()
            & !self.settings.val().vlan_any
            & (self.vlan_id.val() != self.settings.val().vlan_id);
        self.wrong_port.next = self.transport.val().dst_port != self.port.val();
        self.total4.next = bit_cast::<17, 16>(self.ip4.val().length);
        self.total6.next = bit_cast::<17, 16>(self.ip6.val().length) + 40;

        self.sender.next.mac = self.ip4.val().src_mac;
        self.sender.next.vlan_valid = self.tag.val().valid;
        self.sender.next.vlan = self.tag.val().tci;
        if self.v6.val() {
            // Behind an extension header there is no port to look at.
            self.not_ours.next = (self.ip6.val().dst_mac != self.settings.val().local_mac)
                | self.foreign_vlan.val()
                | self.foreign6.val()
                | (self.wrong_port.val() & !self.extended.val());
            self.odd.next = self.odd6.val();
            self.sender.next.gid = self.ip6.val().src;
            self.sender.next.ce = self.ip6.val().tos.get_bits::<2>(0) == self.congested.val();
            self.frame_len.next = self.total6.val() + self.eth_len.val();
            self.udp_len.next = self.total6.val() - 40;
        } else {
            self.not_ours.next = (self.ip4.val().dst_mac != self.settings.val().local_mac)
                | self.foreign_vlan.val()
                | self.foreign4.val()
                | self.wrong_port.val();
            self.odd.next = self.odd4.val();
            self.sender.next.gid =
                bit_cast::<128, 32>(self.ip4.val().src) | (bit_cast::<128, 96>(self.prefix.val()) << 32);
            self.sender.next.ce = self.ip4.val().tos.get_bits::<2>(0) == self.congested.val();
            self.frame_len.next = self.total4.val() + self.eth_len.val();
            self.udp_len.next = self.total4.val() - 20;
        }
    }
}
