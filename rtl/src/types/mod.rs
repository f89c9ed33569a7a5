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

mod host;
mod packets;
mod receiver;
mod sender;

pub use host::{
    DmaDescriptor, DmaStatus, Done, Doorbell, Receive, Reclaim, Settings, TableWrite, TaggedPost,
};
pub use packets::{PathEcho, PathUse, RxData, RxFeedback, TxFeedback, TxPacket, TxSent};
pub use receiver::{
    BitmapOp, BitmapResult, ChunkBits, ChunkHeader, PlaceCommand, PlaceFence, RecoverOrder, Retire, RxWork,
};
use rust_hdl::prelude::*;
pub use sender::{TimerInsert, TxRequest, Walk, WalkKey, WalkStep};
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
