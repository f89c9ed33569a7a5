//! A message being received, as its context keeps it.

use crate::prelude::*;

/// What never changes within a message (RO-9), and where its bytes go.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct ContextFixed {
    pub src_gid: Bits<128>,
    pub src_endpoint: Bits<24>,
    pub endpoint: Bits<8>,
    pub slot: Bits<12>,
    pub generation: Bits<20>,
    pub length: Bits<32>,
    /// Packets.
    pub count: Bits<24>,
    pub payload_log2: Bits<4>,
    pub tag: Bits<64>,
    pub has_imm: Bit,
    pub imm: Bits<32>,
    /// Its round, if it has one.
    pub in_round: Bit,
    pub round: Bits<16>,
    /// Wire value, 0 = 256.
    pub initial_window: Bits<8>,
    /// A write: its bytes go to `tag`.
    pub write: Bit,
    /// Address of the receive taken; of a write, its rkey (a write needs no
    /// address besides `tag`). Its entry; whether it is a tagged one.
    pub buffer: Bits<64>,
    /// The entry of the receive taken.
    pub entry: Bits<16>,
    pub own: Bit,
    /// Its packets carry HOST_RECOVERY; it is host-recovered, and its area is the
    /// `64 << area_log2` bytes in front of `buffer`.
    pub asks_host: Bit,
    pub host: Bit,
    pub chunk_log2: Bits<3>,
    pub area_log2: Bits<4>,
}

/// What moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct ContextLive {
    /// 1 open, 2 a fence is on its way, 3 ended.
    pub state: Bits<2>,
    /// How it ended, `abi::status::Status`.
    pub status: Bits<8>,
    /// Stands in the grant queue.
    pub queued: Bit,
    /// The interval block knows it, and later: no timer node is linked any more.
    pub timed: Bit,
    pub untied: Bit,
    /// Where replies go.
    pub src_mac: Bits<48>,
    pub vlan: Bits<16>,
    pub vlan_valid: Bit,
    /// Lowest index not arrived.
    pub cumulative: Bits<24>,
    /// One past the highest index arrived.
    pub highest: Bits<24>,
    pub grant: Bits<24>,
    /// Granted bytes not arrived.
    pub credit: Bits<24>,
    /// A NACK since the last new packet; and a second one: its credit is lent to
    /// others.
    pub nacked: Bit,
    pub lent: Bit,
    pub sequence: Bits<8>,
    pub duplicates: Bits<8>,
    /// Distinct packets since the last feedback.
    pub since: Bits<8>,
    /// Blocks of 256 packets, at (index >> 8) & 3.
    pub block0: Bits<13>,
    pub block1: Bits<13>,
    pub block2: Bits<13>,
    pub block3: Bits<13>,
    /// Block in use; block full and given back. Neither: not granted.
    pub held: Bits<4>,
    pub full: Bits<4>,
    /// The last packet, which COMPLETE answers.
    pub last_ce: Bit,
    pub last_ev: Bits<8>,
    pub last_timestamp: Bits<32>,
    pub last_arrival: Bits<32>,
}
