//! The words that travel between blocks.
//!
//! Every stream between two blocks is three ports, `<name>_valid`,
//! `<name>_data`, `<name>_ready`: a word moves on each rising edge where valid
//! and ready are both high, valid never waits for ready, and data holds while
//! valid waits. Frame streams add `<name>_last`. `docs/kernel-rules.md`
//! says what kernels may do with their fields.
//!
//! Byte strings from the wire (MAC, GID) hold their first byte in the most
//! significant position; bitmaps hold index `base + i` in bit `i`.

use rust_hdl::prelude::*;
use tessera_abi::params::Config;

/// What stands above an IPv4 address in a GID inside: what the wire and the host see too, but zeros in a
/// configuration without IPv6, where all that is behind them is dropped.
pub fn gid_prefix(config: &Config) -> Constant<Bits<96>> {
    Constant::new(if config.ipv6 { 0xFFFFu64 } else { 0 }.into())
}

/// One beat of a byte stream. Byte 0 is `tdata[7:0]`; `tkeep` is contiguous
/// from bit 0 and all ones but on the last beat.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct Beat {
    pub tdata: Bits<512>,
    pub tkeep: Bits<64>,
    pub tlast: Bit,
}

/// One beat of a byte stream of the narrow packet path, as [`Beat`].
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct NarrowBeat {
    pub tdata: Bits<128>,
    pub tkeep: Bits<16>,
    pub tlast: Bit,
}

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

/// One operation of the bitmap, one per clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct BitmapOp {
    /// 0 read, 1 set `index`, 2 initialise: bits below `limit` clear, the rest set.
    pub kind: Bits<2>,
    pub block: Bits<13>,
    /// Bit inside the block.
    pub index: Bits<8>,
    /// `missing` counts zeros below this, 0..=256.
    pub limit: Bits<9>,
}

/// The block as the operation left it, a fixed number of clocks later.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct BitmapResult {
    /// Bit `index` before the operation; 0 when it initialised the block.
    pub was_set: Bit,
    pub bits: Bits<256>,
    /// Lowest zero; 0 when `full`.
    pub first_zero: Bits<8>,
    pub full: Bit,
    /// Zeros below `limit`.
    pub missing: Bits<9>,
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

/// What `lookup` made of a packet, for `context`. The packet's fields as in
/// `RxData`.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct RxWork {
    /// 0 found, 1 opened, 2 drop the payload (already answered; counted too unless
    /// `denied`; not sent for a packet without payload unless `denied`),
    /// 3 abort the context without telling the sender (drop the payload).
    pub verdict: Bits<2>,
    /// Of verdict 3: its sender has released the message, or its endpoint was
    /// destroyed, of which the sender is told; else a newer one replaces it.
    pub released: Bit,
    pub destroyed: Bit,
    pub context: Bits<12>,
    /// Opened: where the first byte goes, the receive taken, whether it is tagged.
    pub buffer: Bits<64>,
    pub entry: Bits<16>,
    pub own: Bit,
    /// Opened: it is host-recovered, and its chunk area is in front of `buffer`.
    pub host: Bit,
    pub chunk_log2: Bits<3>,
    pub area_log2: Bits<4>,
    pub src_mac: Bits<48>,
    /// Tag control information of its 802.1Q tag, and whether there is one.
    pub vlan: Bits<16>,
    pub vlan_valid: Bit,
    pub src_gid: Bits<128>,
    pub src_endpoint: Bits<24>,
    pub endpoint: Bits<8>,
    pub ce: Bit,
    /// With verdict 2: the payload is a datagram's and goes to `buffer`. Its
    /// `imm` is valid with `flag::IMM`, `payload_len` counts its GRH area.
    pub ud: Bit,
    pub probe: Bit,
    pub flags: Bits<8>,
    pub ev: Bits<8>,
    pub payload_log2: Bits<4>,
    pub traffic_class: Bits<4>,
    pub slot: Bits<12>,
    pub generation: Bits<20>,
    pub index: Bits<24>,
    pub initial_window: Bits<8>,
    pub length: Bits<32>,
    pub count: Bits<24>,
    pub tag: Bits<64>,
    pub rkey: Bits<32>,
    /// Its write is not permitted: of verdict 0 a reason to abort, of verdict 2
    /// what it is to be counted as.
    pub denied: Bit,
    pub imm: Bits<32>,
    pub round: Bits<16>,
    pub rtt: Bits<16>,
    pub timestamp: Bits<32>,
    pub arrival: Bits<32>,
    pub payload_len: Bits<13>,
}

/// The host's order for a host-recovered message: RECOVER_MESSAGE and the value
/// of RECOVER_ORDER.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct RecoverOrder {
    pub handle: Bits<32>,
    pub value: Bits<32>,
}

/// `context` tells `lookup` that a message ended or a context number is free.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct Retire {
    pub context: Bits<12>,
    /// The message ended: its table entry becomes a tombstone with `status`.
    pub bury: Bit,
    pub status: Bits<8>,
    /// Both timer nodes are unlinked: the number may be given out again.
    pub free: Bit,
}

/// `context` to `placement`, in packet order.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct PlaceCommand {
    /// 0 throw the next payload away, 1 write it, 2 fence: report when every
    /// write before it has its status, 3 write it and fence behind it.
    pub kind: Bits<2>,
    /// Of a datagram: `context` means nothing, the fence goes to `rx/datagram`.
    pub ud: Bit,
    pub address: Bits<64>,
    pub length: Bits<13>,
    pub context: Bits<12>,
    /// Of a fence, and for `chunks`: its message is host-recovered; bits wait for
    /// it; the message goes on behind it, so its mark stays.
    pub area: Bit,
    pub chunk: Bit,
    pub more: Bit,
}

/// A fence was reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct PlaceFence {
    /// Of a datagram; `error` is that of its own write.
    pub ud: Bit,
    pub context: Bits<12>,
    /// A write of this context since it was opened failed.
    pub error: Bit,
    /// As in its `PlaceCommand`.
    pub area: Bit,
    pub chunk: Bit,
    pub more: Bit,
}

/// A host-recovered message opens (HR-3).
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct ChunkHeader {
    /// Where its first byte goes; the area is in front of that.
    pub buffer: Bits<64>,
    pub area_log2: Bits<4>,
    pub chunk_log2: Bits<3>,
    pub context: Bits<12>,
    pub generation: Bits<20>,
    /// Packets.
    pub count: Bits<24>,
    pub length: Bits<32>,
    pub payload_log2: Bits<4>,
    pub tag: Bits<64>,
}

/// A chunk is complete once the payload before it is in host memory (HR-4).
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct ChunkBits {
    pub buffer: Bits<64>,
    pub area_log2: Bits<4>,
    pub chunk_log2: Bits<3>,
    /// Number of its block in the message.
    pub block: Bits<16>,
    /// Packets of the block that arrived.
    pub bits: Bits<256>,
}

/// A block's retransmissions to make.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct Walk {
    pub slot: Bits<12>,
    pub generation: Bits<20>,
    /// Index of bit 0, a multiple of 256.
    pub base: Bits<24>,
    /// 1 = send again.
    pub bits: Bits<256>,
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
