//! Words inside the receiver.

use rust_hdl::prelude::*;

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
