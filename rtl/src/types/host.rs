//! Words between the host's side and the others.

use rust_hdl::prelude::*;

/// Registers that blocks read. Quasi-static: changed only while disabled,
/// but for the path policy and the intervals, which may change at any time.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct Settings {
    /// Packets may be sent and are accepted.
    pub enable: Bit,
    pub local_mac: Bits<48>,
    pub local_ip: Bits<32>,
    /// Zeros: no IPv6.
    pub local_ip6: Bits<128>,
    /// The VLAN whose tagged frames are accepted, 0 = none.
    pub vlan_id: Bits<12>,
    /// ... those of any VLAN are.
    pub vlan_any: Bit,
    pub pkey: Bits<16>,
    pub seed: Bits<32>,
    /// 0 single, 1 round_robin, 2 random, 3 recycle, 4 weighted.
    pub path_policy: Bits<3>,
    /// 1..=256.
    pub path_count: Bits<9>,
    pub path_base: Bits<8>,
    /// 1/16 tick.
    pub gap0: Bits<16>,
    /// Ticks, as all that follow.
    pub skew0: Bits<16>,
    pub skew_max: Bits<16>,
    pub guard: Bits<16>,
    pub d_min: Bits<16>,
    pub rtt_default: Bits<16>,
    /// 0 fixed, 1 moving, 2 moving and pulled in by rounds.
    pub ld_policy: Bits<2>,
    pub ld_fixed: Bits<16>,
    pub answer0: Bits<16>,
    pub rto_round: Bits<24>,
    pub rto: Bits<24>,
    /// Probes.
    pub max_retry: Bits<8>,
    pub t_open: Bits<24>,
    pub grant_wait: Bits<24>,
    pub rx_give_up: Bits<24>,
    pub time_wait: Bits<24>,
    pub mpl: Bits<24>,
    /// A RELEASE is asked for while fewer places for messages received than a
    /// share of `2^-release_low` are free; 0 = never.
    pub release_low: Bits<3>,
    pub busy_wait: Bits<24>,
    pub nack_burst: Bits<3>,
    /// Packets.
    pub ack_every: Bits<8>,
    pub initial_window: Bits<8>,
    /// Bytes.
    pub unsolicited_limit: Bits<32>,
    /// Bytes.
    pub credit_limit: Bits<32>,
    /// Of one message, bytes.
    pub credit_each: Bits<24>,
    /// What shrinks the credit: bit 0 CE, bit 1 delay; bit 2: silent messages lend theirs.
    pub credit_policy: Bits<3>,
    /// Ticks.
    pub credit_delay: Bits<16>,
    /// Packets.
    pub grant_quantum: Bits<8>,
    /// Bit 0: turns, bit 1: grants, by what is left of a message.
    pub turn_policy: Bits<2>,
    /// Of what is no DATA; of DATA by class, four times.
    pub dscp: Bits<30>,
    /// Three logarithms of bytes.
    pub class_sizes: Bits<15>,
    /// Completion entries that the host has looked for.
    pub interrupt_seen: Bits<16>,
    pub interrupt_enable: Bit,
    /// Ticks.
    pub interrupt_delay: Bits<16>,
}

/// A whole table entry, broadcast for one clock; blocks keep copies of the
/// fields they use. `entry` is zero while they are cleared after a reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct TableWrite {
    pub valid: Bit,
    /// `abi::regs::table`.
    pub table: Bits<4>,
    pub index: Bits<8>,
    pub entry: Bits<512>,
}

/// An endpoint that is to hold nothing in the NIC any more.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct Reclaim {
    pub active: Bit,
    pub endpoint: Bits<8>,
}

/// A doorbell, broadcast for one clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct Doorbell {
    pub valid: Bit,
    /// 0 send queue tail, 1 receive queue tail, 2 completion queue head, 3 a round.
    pub kind: Bits<2>,
    /// Endpoint or completion queue.
    pub index: Bits<8>,
    /// 16-bit running index, or a round's id.
    pub value: Bits<16>,
    /// Messages a round needs.
    pub more: Bits<16>,
}

/// A completion to write. `endpoint` and `receive` choose the queue; of a
/// receive, `endpoint` and `own` the ring.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct Done {
    /// `abi::queue::DONE_RECV` (else DONE_SEND).
    pub receive: Bit,
    pub status: Bits<8>,
    pub has_imm: Bit,
    /// The message was a write.
    pub write: Bit,
    /// A datagram received; `tag` holds source MAC address and tag control
    /// information as the entry does.
    pub grh: Bit,
    /// ... which came tagged.
    pub vlan_valid: Bit,
    pub endpoint: Bits<8>,
    /// The receive is of the endpoint's own ring, even if it uses a shared one.
    pub own: Bit,
    /// 0 a request ended, 1 a tagged receive is posted, 2 a message is
    /// unexpected, 3 a cancel ended; but 0 only with `receive`.
    pub event: Bits<2>,
    pub entry: Bits<16>,
    pub length: Bits<32>,
    pub imm: Bits<32>,
    pub tag: Bits<64>,
    pub slot: Bits<12>,
    pub generation: Bits<20>,
    pub peer_endpoint: Bits<24>,
    pub peer_gid: Bits<128>,
}

/// A tagged receive whose key and bounds are right, or a cancel.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct TaggedPost {
    pub cancel: Bit,
    pub endpoint: Bits<8>,
    pub entry: Bits<16>,
    pub tag: Bits<64>,
    pub address: Bits<64>,
    pub length: Bits<32>,
    /// Of a cancel: the handle and the entry of the receive, as the host wrote them.
    pub handle: Bits<16>,
    pub target: Bits<16>,
}

/// The receive entry at the head of an endpoint's prefetched ring.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct Receive {
    /// One is there. Its key, bounds and rights are right: a bad one ends in
    /// an error completion and is never offered.
    pub available: Bit,
    /// None is there, but one the host posted is on its way.
    pub coming: Bit,
    pub address: Bits<64>,
    /// What a datagram must fit in; of a long one of a ring 2^13 - 1.
    pub length: Bits<32>,
    pub entry: Bits<16>,
    /// It begins with a chunk area of `64 << area_log2` bytes, a bit of it for
    /// `2^chunk_log2` packets, of `capacity` blocks of packets.
    pub chunks: Bit,
    pub chunk_log2: Bits<3>,
    pub area_log2: Bits<4>,
    pub capacity: Bits<21>,
    /// Bytes behind the area.
    pub room: Bits<32>,
}

/// Asks the DMA engine for `length` bytes at `address`.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct DmaDescriptor {
    pub address: Bits<64>,
    pub length: Bits<13>,
    pub tag: Bits<8>,
}

/// The end of a DMA descriptor.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct DmaStatus {
    pub tag: Bits<8>,
    pub error: Bit,
}
