//! The four forms of a frame: with and without a VLAN tag, over IPv4 and IPv6.

use super::{BTH_LEN, DETH_LEN, ETH_LEN, IPV4_LEN, IPV6_LEN, UDP_LEN, VLAN_LEN};

/// EtherType of IPv4.
pub const ETHERTYPE_IPV4: u16 = 0x0800;
/// EtherType of IPv6.
pub const ETHERTYPE_IPV6: u16 = 0x86DD;
/// EtherType of an 802.1Q tag; its TCI and the next EtherType follow.
pub const ETHERTYPE_VLAN: u16 = 0x8100;
/// The VLAN identifier of a TCI.
pub const VLAN_ID: u16 = 0x0FFF;

/// IPv6 next headers that put something between the IPv6 header and UDP:
/// hop-by-hop options, routing, fragment, authentication, destination options,
/// mobility.
pub const IPV6_EXTENSIONS: [u8; 6] = [0, 43, 44, 51, 60, 135];

/// Where a frame's headers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Form {
    /// An 802.1Q tag stands between the addresses and the EtherType.
    pub tagged: bool,
    /// IPv6 (else IPv4).
    pub v6: bool,
}

impl Form {
    /// All four, the commonest first.
    pub const ALL: [Self; 4] = [
        Self { tagged: false, v6: false },
        Self { tagged: true, v6: false },
        Self { tagged: false, v6: true },
        Self { tagged: true, v6: true },
    ];

    /// The form that a frame's EtherTypes announce; `None` for anything but one
    /// tag at most and IP behind it.
    pub fn of(frame: &[u8]) -> Option<Self> {
        let ethertype = |at: usize| Some(u16::from_be_bytes([*frame.get(at)?, *frame.get(at + 1)?]));
        let tagged = ethertype(12)? == ETHERTYPE_VLAN;
        match ethertype(if tagged { 12 + VLAN_LEN } else { 12 })? {
            ETHERTYPE_IPV4 => Some(Self { tagged, v6: false }),
            ETHERTYPE_IPV6 => Some(Self { tagged, v6: true }),
            _ => None,
        }
    }

    /// Offset of the IP header.
    pub const fn ip_at(self) -> usize {
        if self.tagged {
            ETH_LEN + VLAN_LEN
        } else {
            ETH_LEN
        }
    }
    /// Length of the IP header.
    pub const fn ip_len(self) -> usize {
        if self.v6 {
            IPV6_LEN
        } else {
            IPV4_LEN
        }
    }
    /// Offset of the UDP header.
    pub const fn udp_at(self) -> usize {
        self.ip_at() + self.ip_len()
    }
    /// Offset of the BTH.
    pub const fn bth_at(self) -> usize {
        self.udp_at() + UDP_LEN
    }
    /// Offset of the DETH.
    pub const fn deth_at(self) -> usize {
        self.bth_at() + BTH_LEN
    }
    /// Offset of the TRH, or of a plain datagram's immediate or payload.
    pub const fn trh_at(self) -> usize {
        self.deth_at() + DETH_LEN
    }
}

/// A GID that holds an IPv4 address (`::ffff:a.b.c.d`).
pub const fn ipv4_gid(address: [u8; 4]) -> [u8; 16] {
    let [a, b, c, d] = address;
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, a, b, c, d]
}

/// The IPv4 address that a GID holds; `None` for an IPv6 address.
pub const fn gid_ipv4(gid: &[u8; 16]) -> Option<[u8; 4]> {
    match *gid {
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, a, b, c, d] => Some([a, b, c, d]),
        _ => None,
    }
}
