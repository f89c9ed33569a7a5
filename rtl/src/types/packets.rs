//! Packets, as they came and as they are to be built.

use rust_hdl::prelude::*;

/// A verified DATA, PROBE or RELEASE packet: ICRC, lengths, keys and endpoint are right,
/// index and payload length agree with the message.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct RxData {
    pub src_mac: Bits<48>,
    /// Tag control information of its 802.1Q tag, and whether there is one.
    pub vlan: Bits<16>,
    pub vlan_valid: Bit,
    pub src_gid: Bits<128>,
    pub src_endpoint: Bits<24>,
    /// Local endpoint's table index.
    pub endpoint: Bits<8>,
    pub ce: Bit,
    /// A plain UD packet: of the following only `imm` (valid with `flag::IMM`)
    /// and `payload_len` count, which includes its GRH area.
    pub ud: Bit,
    pub probe: Bit,
    /// A RELEASE: of the following only slot and generation count; `flags` is 0.
    pub release: Bit,
    pub flags: Bits<8>,
    pub ev: Bits<8>,
    pub payload_log2: Bits<4>,
    pub traffic_class: Bits<4>,
    pub slot: Bits<12>,
    pub generation: Bits<20>,
    pub index: Bits<24>,
    /// Wire value, 0 = 256.
    pub initial_window: Bits<8>,
    pub length: Bits<32>,
    /// Packets in the message, computed from length and payload_log2.
    pub count: Bits<24>,
    /// Of a send; of a write, the address of its first byte.
    pub tag: Bits<64>,
    pub rkey: Bits<32>,
    /// A write that its key does not permit: `access` says so.
    pub denied: Bit,
    pub imm: Bits<32>,
    pub round: Bits<16>,
    pub rtt: Bits<16>,
    pub timestamp: Bits<32>,
    /// NIC time of the frame's last beat, ticks.
    pub arrival: Bits<32>,
    /// Bytes of payload, pad excluded; 0 = none waits in the payload stream.
    pub payload_len: Bits<13>,
}

/// A verified FEEDBACK packet. Source, slot and numbers are for the sender to judge.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct RxFeedback {
    pub src_mac: Bits<48>,
    /// Tag control information of its 802.1Q tag, and whether there is one.
    pub vlan: Bits<16>,
    pub vlan_valid: Bit,
    pub src_gid: Bits<128>,
    pub src_endpoint: Bits<24>,
    /// Local endpoint's table index.
    pub endpoint: Bits<8>,
    pub flags: Bits<8>,
    pub ev: Bits<8>,
    pub status: Bits<8>,
    pub slot: Bits<12>,
    pub generation: Bits<20>,
    pub cumulative: Bits<24>,
    pub sequence: Bits<8>,
    pub grant: Bits<24>,
    pub duplicates: Bits<8>,
    pub base: Bits<24>,
    pub limit: Bits<24>,
    pub delay: Bits<16>,
    pub echo: Bits<32>,
    pub bitmap: Bits<256>,
    pub arrival: Bits<32>,
}

/// A FEEDBACK or RELEASE packet to build. The Q_Key and endpoint number are looked up by
/// `endpoint`, the entropy value by the path scheduler.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct TxFeedback {
    /// A RELEASE: of the fields behind the addresses only slot and generation count.
    pub release: Bit,
    pub dst_mac: Bits<48>,
    /// Tag control information of its 802.1Q tag, and whether there is one.
    pub vlan: Bits<16>,
    pub vlan_valid: Bit,
    pub dst_gid: Bits<128>,
    pub dst_endpoint: Bits<24>,
    pub endpoint: Bits<8>,
    pub flags: Bits<8>,
    pub ev_echo: Bits<8>,
    pub status: Bits<8>,
    pub slot: Bits<12>,
    pub generation: Bits<20>,
    pub cumulative: Bits<24>,
    pub sequence: Bits<8>,
    pub grant: Bits<24>,
    pub duplicates: Bits<8>,
    pub base: Bits<24>,
    pub limit: Bits<24>,
    /// Whether `arrival` and `echo` are a round-trip sample; else delay goes
    /// out as 0xFFFF and echo as 0.
    pub sample: Bit,
    /// Arrival of the packet answered, ticks; delay = time of sending - arrival.
    pub arrival: Bits<32>,
    pub echo: Bits<32>,
    pub bitmap: Bits<256>,
}

/// A DATA or PROBE packet to build. The entropy value is drawn later, the
/// timestamp and source numbers are filled in by the builder.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct TxPacket {
    pub dst_mac: Bits<48>,
    /// Tag control information of its 802.1Q tag, and whether there is one.
    pub vlan: Bits<16>,
    pub vlan_valid: Bit,
    pub dst_gid: Bits<128>,
    pub dst_endpoint: Bits<24>,
    pub qkey: Bits<32>,
    pub endpoint: Bits<8>,
    /// A datagram: no TRH. `tag` as in `TxRequest`; `index` is its PSN,
    /// `imm` valid with `flag::IMM`, `slot` its place in `tx/datagram`.
    pub ud: Bit,
    pub probe: Bit,
    pub flags: Bits<8>,
    pub payload_log2: Bits<4>,
    pub traffic_class: Bits<4>,
    pub slot: Bits<12>,
    pub generation: Bits<20>,
    pub index: Bits<24>,
    pub initial_window: Bits<8>,
    pub length: Bits<32>,
    pub tag: Bits<64>,
    pub rkey: Bits<32>,
    pub imm: Bits<32>,
    pub round: Bits<16>,
    pub rtt: Bits<16>,
    /// Host address of this packet's payload.
    pub address: Bits<64>,
    /// Bytes of payload, 0 = nothing to read.
    pub payload_len: Bits<13>,
}

/// A `TxPacket` has left (or was dropped because its read failed). One per
/// `TxPacket`, in the same order.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct TxSent {
    pub valid: Bit,
    /// A datagram's: `slot` as in its `TxPacket`.
    pub ud: Bit,
    pub slot: Bits<12>,
    /// The host read failed; the packet was not sent.
    pub error: Bit,
}

/// The echo of a packet's entropy value, from FEEDBACK the sender accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct PathEcho {
    pub valid: Bit,
    /// The packet carried congestion-experienced.
    pub ce: Bit,
    pub ev: Bits<8>,
    /// Where the packet went.
    pub gid: Bits<128>,
}

/// What happened to entropy values, for their counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct PathUse {
    /// A packet of any kind takes `sent_ev`.
    pub sent: Bit,
    pub sent_ev: Bits<8>,
    /// `echo_ev` came back clean, or with congestion-experienced.
    pub clean: Bit,
    pub ce: Bit,
    pub echo_ev: Bits<8>,
}
