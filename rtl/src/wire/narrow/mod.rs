//! The packet path in beats of 16 bytes, for streams of 64 and 128 bits.
//!
//! Each block has the ports and the contract of its wide sibling, but for the
//! beat (`types::NarrowBeat`) and what its page says.

mod icrc;
mod icrc_insert;
mod tx_beats;
mod tx_build;
mod vlan_insert;

pub use icrc::NarrowIcrc;
pub use icrc_insert::NarrowIcrcInsert;
pub use tx_beats::NarrowTxBeats;
pub use tx_build::NarrowTxBuild;
pub use vlan_insert::NarrowVlanInsert;
