//! Words inside the sender, and to the timers.

use rust_hdl::prelude::*;

/// A send request whose key, bounds and form are right.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct TxRequest {
    pub endpoint: Bits<8>,
    /// A datagram: `tag` holds its traffic class (bits 0..8) and hop limit
    /// (8..16), nothing of the message counts but `length`.
    pub ud: Bit,
    /// Running index of its send queue entry.
    pub entry: Bits<16>,
    pub dst_mac: Bits<48>,
    /// Tag control information of its 802.1Q tag, and whether there is one.
    pub vlan: Bits<16>,
    pub vlan_valid: Bit,
    pub dst_gid: Bits<128>,
    pub dst_endpoint: Bits<24>,
    pub qkey: Bits<32>,
    pub address: Bits<64>,
    pub length: Bits<32>,
    /// Packets in the message.
    pub count: Bits<24>,
    pub payload_log2: Bits<4>,
    pub traffic_class: Bits<4>,
    /// 1..=255; 0 (wire value of 256) is not requested by hosts.
    pub initial_window: Bits<8>,
    /// Of a send; of a write, the remote address of its first byte.
    pub tag: Bits<64>,
    pub rkey: Bits<32>,
    /// A write, else a send.
    pub write: Bit,
    pub imm: Bits<32>,
    /// The immediate is valid.
    pub has_imm: Bit,
    pub round: Bits<16>,
    /// It is part of that round.
    pub in_round: Bit,
    /// Its packets carry HOST_RECOVERY.
    pub host_recovery: Bit,
}

/// Links a timer node. A node is linked at most once at a time; its owner
/// knows, because every linked node is popped exactly once.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct TimerInsert {
    /// Message number, and in bit 12 which of its two nodes.
    pub node: Bits<13>,
    /// Ticks; in the past means the next wheel tick.
    pub deadline: Bits<32>,
}

/// A block's retransmissions to make. Which they are is asked for by sixteens, beside it.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct Walk {
    pub slot: Bits<12>,
    pub generation: Bits<20>,
    /// Index of bit 0, a multiple of 256.
    pub base: Bits<24>,
    /// Sixteenths of the block in which there are any.
    pub marks: Bits<16>,
}

/// A walk that is kept, without what it is to send.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct WalkKey {
    pub slot: Bits<12>,
    pub generation: Bits<20>,
    /// The walk's base, by 256.
    pub block: Bits<16>,
}

/// One packet of a walk.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct WalkStep {
    pub slot: Bits<12>,
    pub generation: Bits<20>,
    pub index: Bits<24>,
    /// The walk holds no further packet.
    pub done: Bit,
}
